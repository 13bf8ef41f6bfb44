/* Some of the codes of a feature whose values are categories: those that a split sends left. */
#ifndef RW_DATASET_CODE_SET_H
#define RW_DATASET_CODE_SET_H

#include <stdint.h>

#include "base/hd.h"

/* Categories of a feature that have a code of their own, at most: with the code of all others they
 * are as many as a feature may have bins, RW_MAX_BINS. */
enum { RW_MAX_CATEGORIES = 1023, RW_SET_WORDS = 32 };

struct rw_code_set {
    uint32_t word[RW_SET_WORDS]; /* code c: bit c % 32 of word c / 32 */
};

/* Words that codes under n_codes take: where there are many sets, they have no more than these. */
RW_HD uint32_t rw_set_words(uint32_t n_codes)
{
    return (n_codes + 31) / 32;
}

/* word: a set's, as many as the code needs. */
RW_HD int rw_words_have(const uint32_t *word, uint32_t code)
{
    return (int)(word[code / 32] >> code % 32 & 1);
}

RW_HD int rw_set_has(const struct rw_code_set *set, uint32_t code)
{
    return code <= RW_MAX_CATEGORIES && rw_words_have(set->word, code);
}

/* What a set makes of a category's code: 0 if it is one of them, 1 if not; NaN, a missing value,
 * stays. word: as above. */
RW_HD float rw_set_value(const uint32_t *word, float code)
{
    return code != code ? code : rw_words_have(word, (uint32_t)code) ? 0.0f : 1.0f;
}

RW_HD void rw_set_add(struct rw_code_set *set, uint32_t code)
{
    set->word[code / 32] |= (uint32_t)1 << code % 32;
}

#endif
