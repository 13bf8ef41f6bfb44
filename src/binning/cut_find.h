/* How cuts are found. The host and a device each go through the values in their own manner, and
 * give back the intervals of each column; what is decided without the values, what intervals mean
 * and what becomes of the cuts stands here once (cuts.c). */
#pragma once

#include "base/machine.h"
#include "binning/bins.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The documents whose values decide ranks. */
struct rw_cut_sample {
    uint32_t n;
    uint32_t *row;       /* [n] ascending; NULL: all documents; owned */
    uint8_t *in;         /* [n_docs] 1 if sampled; NULL: all; owned */
    uint32_t n_all;      /* of all workers */
    uint32_t n_all_docs; /* documents of all workers */
};
/* Released also after a failure. All workers call it. */
int rw_cut_sample_init(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset);
void rw_cut_sample_release(struct rw_cut_sample *sample);

/* A feature's values between its boundaries, as keys (base/bits.h). Interval k holds the values
 * from bound[k - 1] on that are under bound[k]. */
struct rw_cut_intervals {
    uint32_t n_bounds, n_missing;
    int by_category; /* each interval is a category, whether documents have it or not */
    uint32_t bound[RW_MAX_BOUNDS + 1];
    uint32_t below[RW_MAX_BOUNDS + 2]; /* largest key of each interval; the last need not be set */
    uint32_t count[RW_MAX_BOUNDS + 3]; /* documents of each interval, and with a missing value */
    uint32_t n_ranked;                 /* values that the boundaries were found from */
};

/* What is found of one feature. */
enum rw_cut_reason { RW_CUT_IN_USE, RW_CUT_CONSTANT, RW_CUT_FEW, RW_CUT_IGNORED };
struct rw_feature_cuts {
    float *cut; /* [n_bins], the last FLT_MAX; owned */
    uint32_t n_bins;
    uint8_t has_missing;
    uint8_t by_category;
    uint8_t reason; /* enum rw_cut_reason */
};

struct rw_cut_finder {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_dataset *dataset; /* borrowed */
    const struct rw_cut_rule *rule;   /* borrowed */
    struct rw_cut_sample sample;
    struct rw_feature_cuts *found; /* [n_columns] zeroed; owned, and so are its cuts */
};
/* Released also after a failure. */
int rw_cut_finder_init(struct rw_ctx *ctx, struct rw_cut_finder *finder,
                       const struct rw_dataset *dataset, const struct rw_cut_rule *rule);
void rw_cut_finder_release(struct rw_cut_finder *finder);

/* Calls rw_cuts_of_intervals for each column but those that rw_cuts_decided leaves out. */
typedef int rw_cuts_find_fn(void *user, struct rw_cut_finder *finder);
/* user: NULL, or a struct rw_codes [n_columns] that gets the codes of the columns in use. */
rw_cuts_find_fn rw_cuts_find_on_host;
/* rw_cuts_make with the intervals that `find` finds. */
int rw_cuts_make_by(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                    const struct rw_cut_rule *rule, rw_cuts_find_fn *find, void *user,
                    struct rw_cuts **out);

/* 1 if the values need not be looked at: out->reason says why. */
int rw_cuts_decided(const struct rw_column *column, const struct rw_cut_rule *rule,
                    struct rw_feature_cuts *out);
/* Cuts from intervals, whose counts are changed: counts of the bins. */
int rw_cuts_of_intervals(struct rw_ctx *ctx, struct rw_cut_intervals *intervals,
                         const struct rw_cut_rule *rule, struct rw_feature_cuts *out);
/* Cuts and, unless found->reason says that there are none, codes: `index` (of `width` bytes each;
 * taken) has the interval of each document if column->row is NULL, else of column->n entries, while
 * the others are in the interval of an absent value. own: NULL, or where `intervals` are those of
 * all workers, the documents of each interval on this one, as intervals->count has them. Changes
 * *intervals. */
int rw_codes_of_intervals(struct rw_cut_intervals *intervals, const uint32_t *own,
                          const struct rw_cut_rule *rule, const struct rw_column *column,
                          uint32_t n_docs, size_t width, void *index, struct rw_feature_cuts *found,
                          struct rw_codes *out);
/* found, codes: [dataset->n_columns]; codes of columns in use are moved into the bins. */
int rw_bins_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_cut_rule *rule, const struct rw_feature_cuts *found,
                   struct rw_codes *codes, struct rw_bins **out);
/* found: [dataset->n_columns]; its cuts stay the caller's. */
int rw_cuts_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_feature_cuts *found, struct rw_cuts **out);
/* Of n features, and the array itself. */
void rw_codes_free(struct rw_codes *codes, uint32_t n);

/* ---- Boundaries from the sampled values' ranks (cuts.c) ----
 *
 * Without sorting all values: few distinct ones are counted; else all are counted in buckets, and
 * only buckets that hold a rank are sorted. */

/* One thread's memory. */
struct rw_rank_scratch {
    uint32_t *key, *picked; /* [n_sample + a vector] */
    uint32_t *count;        /* of each bucket */
    uint16_t *mark;         /* of each bucket: it holds a rank */
    struct rw_rank_counter *counter;
};
/* Released also after a failure. */
int rw_rank_scratch_init(struct rw_ctx *ctx, struct rw_rank_scratch *scratch,
                         const struct rw_cut_sample *sample);
void rw_rank_scratch_release(struct rw_rank_scratch *scratch);

/* A feature's values of the data set, or of a part of the sample's documents. */
struct rw_cut_part {
    struct rw_column column;
    uint32_t n_zeros; /* documents with 0 that the column leaves out */
};
/* Boundaries of one feature: writes by_category, n_ranked, n_bounds and, of the sampled values and
 * the absent ones, bound, below and count; of a feature by categories by_category, n_bounds and
 * bound alone. A boundary is the smallest value on its right. parts: [n_parts]
 * that are all of the sample; one if sample->in is not NULL. Their values may stand in
 * scratch->picked. */
void rw_cut_bounds(enum rw_isa isa, const struct rw_cut_part *parts, uint32_t n_parts,
                   const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                   struct rw_rank_scratch *scratch, struct rw_cut_intervals *intervals);

/* Finds out about one column, whose values are in memory: finder->found[c] and, unless codes is
 * NULL, its codes. scratch: made for finder->sample; of a feature by categories it may be NULL.
 * Never touches the context. */
int rw_cuts_find_column(struct rw_cut_finder *finder, enum rw_isa isa,
                        const struct rw_column *column, uint32_t c, struct rw_rank_scratch *scratch,
                        struct rw_codes *codes);

#ifdef __cplusplus
}
#endif

/* Where values stand between boundaries: a feature's codes, or its intervals while cuts are being
 * found. One search for both, with AVX2 and AVX-512 where they are; every path gives the same. */
enum { RW_SEARCH_ROOM = RW_MAX_BOUNDS + 1 };

/* A value's position is the number of boundaries that are not above it. */
struct rw_code_search {
    uint32_t n_levels; /* halvings; 5 at least */
    uint32_t missing;  /* the position of a missing value */
    uint32_t absent;   /* bits that stand for an absent value: of 0, or of a missing one */
    int32_t bound[RW_SEARCH_ROOM]; /* [2^n_levels] ordered; those not in use are out of reach */
};

/* An order-keeping key (base/bits.h) as a signed number, which AVX2 can compare. */
static inline int32_t rw_ordered_of_key(uint32_t key)
{
    return (int32_t)(key ^ 0x80000000u);
}

static inline uint32_t rw_key_of_ordered(int32_t ordered)
{
    return (uint32_t)ordered ^ 0x80000000u;
}

/* bound: [n_bounds] keys, ascending; at most RW_MAX_BOUNDS. */
void rw_code_search_init(struct rw_code_search *search, const uint32_t *bound, uint32_t n_bounds,
                         int absent_missing, uint32_t missing);
/* As rw_bin_of has it: boundaries are just above the cuts but the last. */
void rw_code_search_of_cuts(struct rw_code_search *search, const float *cut, uint32_t n_bins,
                            int absent_missing, uint32_t missing);
/* The position of one value. */
uint32_t rw_code_search_one(const struct rw_code_search *search, float value);

/* positions: [n] uint8_t or uint16_t by `bytes`, written. most: NULL, or [n_bounds + 1] ordered,
 * raised to the largest value of each position. */
void rw_code_search_run(enum rw_isa isa, const struct rw_code_search *search, const float *value,
                        size_t n, size_t bytes, void *positions, int32_t *most);
/* Adds to counts: [n_positions] how often each position occurs. */
void rw_code_count(const void *positions, size_t n, size_t bytes, uint32_t n_positions,
                   uint32_t *counts);
