/* Boundaries of one feature from its sampled values' ranks, without sorting them all: values that
 * are few are counted; else they are counted in buckets, and only buckets that hold a rank are
 * sorted. */
#ifndef RW_DATA_CUT_RANKS_H
#define RW_DATA_CUT_RANKS_H

#include "base/isa.h"
#include "binning/cuts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread's memory. */
struct rw_rank_scratch {
    uint32_t *key, *picked; /* [n_sample + a vector] */
    uint32_t *count;        /* of each bucket */
    uint16_t *mark;         /* of each bucket: it holds a rank */
    uint32_t *under;        /* of each boundary found: the sampled values under it */
    uint32_t *below;        /* and the largest of them */
    uint32_t n_values;      /* of them all, missing ones left out */
    uint32_t most;          /* the largest one's key */
    struct rw_rank_counter *counter;
};
/* Released also after a failure. */
int rw_rank_scratch_init(struct rw_ctx *ctx, struct rw_rank_scratch *scratch,
                         const struct rw_cut_sample *sample);
void rw_rank_scratch_release(struct rw_rank_scratch *scratch);

/* bound: [RW_MAX_BOUNDS] keys (base/sort.h), ascending; returns their number. A boundary is the
 * smallest sampled value on its right. */
uint32_t rw_cut_bounds(enum rw_isa isa, const struct rw_column *column,
                       const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                       struct rw_rank_scratch *scratch, uint32_t *bound);

/* ---- The same of values that come part by part, their keys in scratch->key ---- */

/* Values other than 0, and how many are 0: one value is by far the most frequent. */
struct rw_rank_values {
    uint32_t n, n_zeros;
    uint32_t least, most; /* of the keys; UINT32_MAX and 0 at first */
};
/* Missing values are left out. In all no more than the sample that the scratch was made for. */
void rw_rank_add(enum rw_isa isa, struct rw_rank_values *values, const float *value, uint32_t n,
                 int absent_missing, struct rw_rank_scratch *scratch);
/* As rw_cut_bounds. */
uint32_t rw_rank_bounds(enum rw_isa isa, const struct rw_rank_values *values,
                        const struct rw_cut_rule *rule, struct rw_rank_scratch *scratch,
                        uint32_t *bound);

#ifdef __cplusplus
}
#endif
#endif
