/* Bin boundaries: where a feature's values may be separated.
 *
 * Over the sampled values of a feature (missing ones left out; an absent one counts as 0 unless
 * absent means missing): if at most `bins` are distinct, one boundary between each two neighbours;
 * else at the values of rank floor(k n / bins), k = 1 .. bins-1, both ends of a run of equal values
 * that holds two ranks or more, ties collapsed. An exact pass over all values finds the boundary's
 * true neighbours a < b, and the cut is a float strictly between them, the one nearest the middle.
 * Neighbours with no float between them are never separated. cut_find.h has the steps. */
#pragma once

#include "base/bits.h"
#include "dataset/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Up to this many documents all are used to find ranks; above it, those whose hash of (query id,
 * position in the query) is under a threshold, about this many. */
enum { RW_CUT_SAMPLE_DOCS = 262144 };
/* That number; tests, which have no larger sets, lower it. */
extern uint32_t rw_cut_sample_docs;

struct rw_cut_rule {
    int bins;              /* value bins, 2 to RW_MAX_BINS */
    int absent_missing;    /* 1: an absent feature is missing; 0: it is 0 */
    uint32_t min_docs;     /* a feature that cannot leave this many on both sides is left out */
    const uint8_t *ignore; /* [RW_FEATURE_IDS] 1: leave the feature out; NULL: none; borrowed */
    /* [RW_FEATURE_IDS] codes of a feature by categories, whose values are 0, 1, ... (dataset/
     * categories.h): each is a bin; 0: its values are numbers; NULL: those of all are; borrowed */
    const uint16_t *categories;
};

static inline uint32_t rw_cut_rule_categories(const struct rw_cut_rule *rule, uint32_t feature)
{
    return rule->categories ? rule->categories[feature] : 0;
}

/* Do the cuts of rule `has` include those of `wanted`? min_docs and `ignore` only leave features
 * out. */
static inline int rw_cut_rule_serves(const struct rw_cut_rule *has,
                                     const struct rw_cut_rule *wanted)
{
    return has->bins == wanted->bins && has->absent_missing == wanted->absent_missing &&
           has->min_docs <= wanted->min_docs;
}

struct rw_cuts {
    uint32_t n_features;  /* columns of codes: features that can be split */
    uint32_t *feature;    /* [n_features] ascending ids; owned */
    uint64_t *offset;     /* [n_features + 1] into cut; a feature's value bins; owned */
    float *cut;           /* upper edge of each value bin; a feature's last one is FLT_MAX; owned */
    uint8_t *has_missing; /* [n_features] the training set has a missing value; owned */
    uint8_t *by_category; /* [n_features] 1: its bins are categories; NULL: no feature's; owned */
    /* features left out: with one value only, by min_docs, by `ignore` */
    uint32_t n_constant, n_few, n_ignored;
};

int rw_cuts_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_cut_rule *rule, struct rw_cuts **out);
void rw_cuts_free(struct rw_cuts *cuts);
/* Can documents be split with min_docs on both sides? counts: [n_bins] of each value bin. */
int rw_cuts_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                      uint32_t min_docs);
/* The same where each bin is a category; 1 also where some sums cannot be. */
int rw_categories_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                            uint32_t min_docs);
/* The float strictly between a < b nearest their middle; NaN if there is none. */
float rw_cut_between(float a, float b);

/* Of a feature: boundaries between its bins, and codes, one of which is for missing values. */
enum { RW_MAX_BOUNDS = RW_MAX_BINS - 1, RW_MAX_CODES = RW_MAX_BINS + 1 };

/* The index of a feature by its id; n_features if it has no cuts. */
static inline uint32_t rw_cuts_index(const struct rw_cuts *cuts, uint32_t feature)
{
    const uint32_t at = rw_numbers_under(cuts->feature, cuts->n_features, feature);
    return at < cuts->n_features && cuts->feature[at] == feature ? at : cuts->n_features;
}

static inline int rw_cuts_by_category(const struct rw_cuts *cuts, uint32_t f)
{
    return cuts->by_category && cuts->by_category[f];
}

/* Number of a feature's value bins. */
static inline uint32_t rw_cuts_n_bins(const struct rw_cuts *cuts, uint32_t f)
{
    return (uint32_t)(cuts->offset[f + 1] - cuts->offset[f]);
}

/* The first value bin whose upper edge is not under `value`. cut: [n_bins], ascending. */
RW_HD uint32_t rw_bin_of(const float *cut, uint32_t n_bins, float value)
{
    uint32_t low = 0, high = n_bins - 1;
    while (low < high) {
        const uint32_t middle = (low + high) / 2;
        if (value <= cut[middle])
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

/* A feature's codes that are not looked up. */
struct rw_special_codes {
    uint32_t missing, absent;
};
static inline struct rw_special_codes rw_cuts_special(const struct rw_cuts *cuts, uint32_t f,
                                                      int absent_missing)
{
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    const uint32_t zero = rw_bin_of(cuts->cut + cuts->offset[f], n_bins, 0.0f);
    const uint32_t other = rw_cuts_by_category(cuts, f) ? n_bins - 1 : zero;
    const uint32_t missing = cuts->has_missing[f] ? n_bins : other;
    const struct rw_special_codes special = {missing, absent_missing ? missing : zero};
    return special;
}

#ifdef __cplusplus
}
#endif
