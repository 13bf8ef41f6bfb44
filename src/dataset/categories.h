/* Categorical features: which categories have a separate code, data sets with codes in place of
 * values, and sets of codes, which splits use.
 *
 * A category is identified by a word. If a data set has no vocabulary for the feature
 * (dataset/names.h), its values are integers from 0 on, and the integers written in decimal are the
 * words. The words with a separate code are sorted by their bytes and have codes 0, 1, .... All
 * other words, including those that training has never seen, share the next code. Missing values
 * stay missing. An empty word is a missing value. */
#pragma once

#include "dataset/dataset.h"

/* The largest category that is a number. Only text (LETOR text, models) can contain it: as float32
 * values categories are at most 16777216 (rw_is_category). */
#define RW_MAX_CATEGORY_ID 2147483647u

/* A word that is a decimal from 0 to RW_MAX_CATEGORY_ID without leading zeros. */
struct rw_category_number {
    uint32_t number, code;
};

struct rw_feature_categories {
    uint32_t feature;
    uint32_t n;  /* number of words with a code; also the code of all other words */
    char **word; /* [n] distinct, ascending by bytes; array and words are owned */
    uint32_t n_numbers;
    /* [n_numbers] the words that are numbers, ascending by number; owned */
    struct rw_category_number *number;
};

struct rw_categories {
    uint32_t n;
    struct rw_feature_categories *of; /* [n] ascending by feature; owned */
};
void rw_categories_release(struct rw_categories *categories);
int rw_categories_copy(struct rw_ctx *ctx, const struct rw_categories *from,
                       struct rw_categories *to);
/* Fills `number` of all features. Their words must be set. */
int rw_categories_index(struct rw_ctx *ctx, struct rw_categories *categories);
/* Returns the categories of a feature, or NULL if its values are numbers. */
const struct rw_feature_categories *rw_categories_find(const struct rw_categories *categories,
                                                       uint32_t feature);

/* Returns the code of a word, which is not empty. */
uint32_t rw_category_of_word(const struct rw_feature_categories *of, const char *word);
/* Returns 1 if the value is an integer from 0 to 2^24. A larger float may differ from the integer
 * in the data. */
static inline int rw_is_category(float value)
{
    return value >= 0.0f && value <= 16777216.0f && value == (float)(uint32_t)value;
}
/* Returns the code of a value, which is a number and not missing. A value for which rw_is_category
 * is 0 has the code of all other words. */
uint32_t rw_category_of_number(const struct rw_feature_categories *of, float value);

/* The features with more words than separate codes, for a message. */
struct rw_shared_codes {
    uint32_t n_features; /* number of such features */
    /* the feature with the most words, and how many of its words have a separate code */
    uint32_t feature, n_kept;
    size_t n_words; /* number of its words */
};

/* Chooses the words of a training set that get a separate code. For each wanted feature that some
 * worker's documents have, they are the `most` most frequent words, or RW_MAX_CATEGORIES if that is
 * less; of equally frequent words, those that are first by bytes. wanted: [RW_FEATURE_IDS]. kept:
 * NULL, or the categories of a model, equal on all workers. All its features and words are
 * included, even if no document has them, and its words count towards `most`. absent_missing: as in
 * rw_categories_codes. All workers call it, with the same results in *out and *shared. Fails with
 * RW_ERR_DATA if a value is not a category. */
int rw_categories_make(struct rw_ctx *ctx, const uint8_t *wanted, const struct rw_dataset *dataset,
                       uint32_t most, int absent_missing, const struct rw_categories *kept,
                       struct rw_categories *out, struct rw_shared_codes *shared);

/* Writes the code of each document's category of the feature, or NaN (RW_MISSING_BITS) where it is
 * missing, to values: [n_docs]. absent_missing: 1: an absent value is missing; 0: it is the number
 * 0. Fails with RW_ERR_DATA if a value is not a category. */
int rw_categories_codes(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                        const struct rw_dataset *dataset, int absent_missing, float *values);

/* Does what rw_dataset_set_categories does, but also for the values of a cache. The caller must
 * know that the feature has no words yet. The words are added to the data set's vocabulary, which
 * is created if necessary. */
int rw_categories_set_words(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                            const char *const *words, uint32_t n_words);

/* For a feature whose values a model compares with thresholds: fails with RW_ERR_DATA if a document
 * has a word for the feature. */
int rw_categories_check_numbers(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                uint32_t feature);

/* Writes to *out a data set with codes in place of the values of the features in `categories`, and
 * without a vocabulary. absent_missing: as in rw_categories_codes. Everything else is borrowed from
 * `dataset`, which must outlive *out. The arena owns new arrays. */
int rw_categories_recode(struct rw_ctx *ctx, struct rw_arena *arena,
                         const struct rw_categories *categories, const struct rw_dataset *dataset,
                         int absent_missing, struct rw_dataset *out);

/* ---- sets of codes: the categories that a split sends left ----
 *
 * In this section, a word is a uint32_t that holds 32 bits of a set. */
/* RW_MAX_CATEGORIES: the most categories of a feature that have a separate code. With the code of
 * all others, a feature has at most RW_MAX_BINS codes. RW_SET_WORDS: words of a set of all codes.
 */
enum { RW_MAX_CATEGORIES = 1023, RW_SET_WORDS = 32 };

struct rw_code_set {
    uint32_t word[RW_SET_WORDS]; /* code c: bit c % 32 of word c / 32 */
};

/* Returns the number of words that hold codes below n_codes. Where many sets are stored, each has
 * only as many words as its feature needs. */
RW_HD uint32_t rw_set_words(uint32_t n_codes)
{
    return (n_codes + 31) / 32;
}

/* Returns 1 if the set contains the code. word: the first words of the set, at least as many as the
 * code needs. */
RW_HD int rw_words_have(const uint32_t *word, uint32_t code)
{
    return (int)(word[code / 32] >> code % 32 & 1);
}

RW_HD int rw_set_has(const struct rw_code_set *set, uint32_t code)
{
    return code <= RW_MAX_CATEGORIES && rw_words_have(set->word, code);
}

/* Maps a category's code to 0 if the set contains it, and to 1 if not. NaN, a missing value, is
 * unchanged. word: as for rw_words_have. */
RW_HD float rw_set_value(const uint32_t *word, float code)
{
    return code != code ? code : rw_words_have(word, (uint32_t)code) ? 0.0f : 1.0f;
}

RW_HD void rw_set_add(struct rw_code_set *set, uint32_t code)
{
    set->word[code / 32] |= (uint32_t)1 << code % 32;
}
