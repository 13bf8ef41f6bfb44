/* Features whose values are categories: which words have a code of their own, and data sets in
 * which the codes stand in place of values.
 *
 * A category is a word. Where a data set has no vocabulary for the feature (dataset/names.h), its
 * values are whole numbers from 0 on, and the words their decimals. The words that have a code are
 * sorted by their bytes and have codes 0, 1, ...; all others, also those that training never saw,
 * share the one behind them. Missing values stay missing; an empty word is a missing value. */
#pragma once

#include "dataset/dataset.h"

/* A category that is a number, as text has them. */
#define RW_MAX_CATEGORY_ID 2147483647u

struct rw_category_number {
    uint32_t number, code;
};

struct rw_feature_categories {
    uint32_t feature;
    uint32_t n;  /* words; also the code of all others */
    char **word; /* [n] ascending by bytes, all different; owned, and so are they */
    uint32_t n_numbers;
    struct rw_category_number
        *number; /* [n_numbers] the words that are decimals, ascending; owned */
};

struct rw_categories {
    uint32_t n;
    struct rw_feature_categories *of; /* [n] by ascending feature; owned */
};
void rw_categories_release(struct rw_categories *categories);
int rw_categories_copy(struct rw_ctx *ctx, const struct rw_categories *from,
                       struct rw_categories *to);
/* Fills `number` of categories whose words are there. */
int rw_categories_index(struct rw_ctx *ctx, struct rw_categories *categories);
/* NULL: the feature's values are numbers. */
const struct rw_feature_categories *rw_categories_find(const struct rw_categories *categories,
                                                       uint32_t feature);

uint32_t rw_category_of_word(const struct rw_feature_categories *of, const char *word);
/* Whole and from 0 on; what is beyond 2^24 need not have been that number in the data. */
static inline int rw_is_category(float value)
{
    return value >= 0.0f && value <= 16777216.0f && value == (float)(uint32_t)value;
}
/* Of a value that is a number and not missing; what is no whole number is none of the words. */
uint32_t rw_category_of_number(const struct rw_feature_categories *of, float value);

/* Features with more words than codes, and the one with most words. */
struct rw_shared_codes {
    uint32_t n_features;
    uint32_t feature, n_kept;
    size_t n_words;
};

/* Finds the words of a training set: of each feature that is wanted and that some worker's
 * documents have, the `most` (RW_MAX_CATEGORIES, at most) that most documents have, of equals those
 * that come first by bytes. wanted: [RW_FEATURE_IDS]. kept: NULL, or categories of a model, on all
 * workers: its features are among those found, whatever documents have, and so are all of its
 * words, which count among the `most`. All workers call it together, and find the same.
 * RW_ERR_DATA: a value is no category. */
int rw_categories_make(struct rw_ctx *ctx, const uint8_t *wanted, const struct rw_dataset *dataset,
                       uint32_t most, int absent_missing, const struct rw_categories *kept,
                       struct rw_categories *out, struct rw_shared_codes *shared);

/* values: [n_docs], written: the codes of a feature's documents, NaN (RW_MISSING_BITS) where
 * missing. RW_ERR_DATA: a value is no category. */
int rw_categories_codes(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                        const struct rw_dataset *dataset, int absent_missing, float *values);

/* As rw_dataset_set_categories, which checks more; also of a cache's values. The data set's
 * vocabulary gets the words, or a new one. */
int rw_categories_set_words(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                            const char *const *words, uint32_t n_words);

/* RW_ERR_DATA: some document has a word of the feature, where a model compares numbers. */
int rw_categories_check_numbers(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                uint32_t feature);

/* out: written, a data set with codes in place of those features' values; all else is borrowed from
 * `dataset`, which must stay. The arena has what is made. */
int rw_categories_recode(struct rw_ctx *ctx, struct rw_arena *arena,
                         const struct rw_categories *categories, const struct rw_dataset *dataset,
                         int absent_missing, struct rw_dataset *out);

/* Some of the codes of a feature whose values are categories: those that a split sends left. */
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
