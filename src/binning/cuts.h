/* Cut points: where a feature's values may be separated.
 *
 * Over the sampled values of a feature (missing ones left out; what is absent counts as 0 unless it
 * is missing): if at most `bins` are distinct, one boundary between each two neighbours; else at
 * the values of rank floor(k n / bins), k = 1 .. bins-1, both ends of a run of equal values that
 * holds two ranks or more, ties collapsed. An exact pass over all values finds the boundary's true
 * neighbours a < b, and the cut is a float strictly between them, the one nearest the middle.
 * Neighbours with no float between them are never separated. */
#ifndef RW_DATA_CUTS_H
#define RW_DATA_CUTS_H

#include "dataset/dataset.h"
#include "base/search.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Up to this many documents all are used to find ranks; above it, those whose hash of (query id,
 * position in the query) is under a threshold, about this many. */
enum { RW_CUT_SAMPLE_DOCS = 262144 };
/* Tests only: another number; 0: this one again. */
void rw_cut_sample_set_docs(uint32_t n_docs);
uint32_t rw_cut_sample_docs(void);

struct rw_cut_rule {
    int bins;              /* value bins, 2 to RW_MAX_BINS */
    int absent_missing;    /* 1: an absent feature is missing; 0: it is 0 */
    uint32_t min_docs;     /* a feature that cannot leave this many on both sides takes no column */
    const uint8_t *ignore; /* [RW_FEATURE_IDS] 1: leave the feature out; NULL: none; borrowed */
};

/* Do cuts by `has` hold all of those by `wanted`, whose min_docs and `ignore` only leave features
 * out? */
static inline int rw_cut_rule_serves(const struct rw_cut_rule *has,
                                     const struct rw_cut_rule *wanted)
{
    return has->bins == wanted->bins && has->absent_missing == wanted->absent_missing &&
           has->min_docs <= wanted->min_docs;
}

struct rw_cuts {
    uint32_t n_features; /* columns of codes: features that can be split */
    uint32_t *feature;   /* [n_features] ascending ids; owned */
    uint64_t *offset;    /* [n_features + 1] into cut; a feature's value bins; owned */
    float *cut;          /* upper edge of each value bin; the last of a feature is FLT_MAX; owned */
    uint8_t *has_missing; /* [n_features] the training set has a missing value; owned */
    uint32_t n_constant;  /* features left out: one value only */
    uint32_t n_few;       /* features left out: never min_docs on both sides */
    uint32_t n_ignored;
};

/* Can documents be split at all: with value bins' counts [n_bins], n_missing and min_docs? */
int rw_cuts_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                      uint32_t min_docs);

int rw_cuts_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_cut_rule *rule, struct rw_cuts **out);
void rw_cuts_free(struct rw_cuts *cuts);

/* ---- The parts of rw_cuts_make, for an engine that looks at the values itself ---- */

/* The documents whose values decide ranks. */
struct rw_cut_sample {
    uint32_t n;
    uint32_t *row; /* [n] ascending; NULL: all documents; owned */
    uint8_t *in;   /* [n_docs] 1 if sampled; NULL: all; owned */
};
/* Released also after a failure. */
int rw_cut_sample_init(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset);
void rw_cut_sample_release(struct rw_cut_sample *sample);

/* Of a feature: boundaries between its bins, and codes, one of which is for missing values. */
enum { RW_MAX_BOUNDS = RW_MAX_BINS - 1, RW_MAX_CODES = RW_MAX_BINS + 1 };

/* A feature's values between its boundaries, as keys (base/sort.h). Interval k holds the values
 * from bound[k - 1] on that are under bound[k]. */
struct rw_cut_intervals {
    uint32_t n_bounds, n_missing;
    uint32_t bound[RW_MAX_BOUNDS + 1];
    uint32_t below[RW_MAX_BOUNDS + 2]; /* largest key of each interval; the last need not be set */
    uint32_t count[RW_MAX_BOUNDS + 3]; /* documents of each interval */
    int is_counted; /* `below` and `count` are known before the values are gone through */
};

/* What is found of one feature. */
enum rw_cut_reason { RW_CUT_IN_USE, RW_CUT_CONSTANT, RW_CUT_FEW, RW_CUT_IGNORED };
struct rw_feature_cuts {
    float *cut; /* [n_bins], the last FLT_MAX; owned */
    uint32_t n_bins;
    uint8_t has_missing;
    uint8_t reason; /* enum rw_cut_reason */
};
/* 1 if the values need not be looked at: out->reason says why. */
int rw_cuts_decided(const struct rw_column *column, const struct rw_cut_rule *rule,
                    struct rw_feature_cuts *out);
/* Cuts from intervals, whose counts are changed. */
int rw_cuts_of_intervals(struct rw_ctx *ctx, struct rw_cut_intervals *intervals,
                         const struct rw_cut_rule *rule, struct rw_feature_cuts *out);
/* found: [dataset->n_columns]; its cuts stay the caller's. */
int rw_cuts_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_feature_cuts *found, struct rw_cuts **out);

/* The float strictly between a < b nearest their middle; NaN if there is none. */
float rw_cut_between(float a, float b);

/* The index of a feature by its id; n_features if it has no cuts. */
static inline uint32_t rw_cuts_index(const struct rw_cuts *cuts, uint32_t feature)
{
    const uint32_t at = rw_numbers_under(cuts->feature, cuts->n_features, feature);
    return at < cuts->n_features && cuts->feature[at] == feature ? at : cuts->n_features;
}

/* Number of a feature's value bins. */
static inline uint32_t rw_cuts_n_bins(const struct rw_cuts *cuts, uint32_t f)
{
    return (uint32_t)(cuts->offset[f + 1] - cuts->offset[f]);
}

/* The first value bin whose upper edge is not under `value`. cut: [n_bins], ascending. */
static inline uint32_t rw_bin_of(const float *cut, uint32_t n_bins, float value)
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

#ifdef __cplusplus
}
#endif
#endif
