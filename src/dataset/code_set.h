/* Some of the codes of a feature whose values are categories: those that a split sends left. */
#ifndef RW_DATASET_CODE_SET_H
#define RW_DATASET_CODE_SET_H

#include <stdint.h>

#include "base/hd.h"

/* Categories of a feature that have a code of their own, at most; one more code is the others'. */
enum { RW_MAX_CATEGORIES = 255, RW_SET_WORDS = 8 };

struct rw_code_set {
    uint32_t word[RW_SET_WORDS]; /* code c: bit c % 32 of word c / 32 */
};

RW_HD int rw_set_has(const struct rw_code_set *set, uint32_t code)
{
    return code <= RW_MAX_CATEGORIES && (set->word[code / 32] >> code % 32 & 1);
}

/* What a set makes of a category's code: 0 if it is one of them, 1 if not; NaN, a missing value,
 * stays. */
RW_HD float rw_set_value(const struct rw_code_set *set, float code)
{
    return code != code ? code : rw_set_has(set, (uint32_t)code) ? 0.0f : 1.0f;
}

RW_HD void rw_set_add(struct rw_code_set *set, uint32_t code)
{
    set->word[code / 32] |= (uint32_t)1 << code % 32;
}

#endif
