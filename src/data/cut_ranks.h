/* Boundaries of one feature from its sampled values' ranks, without sorting them all: values that
 * are few are counted; else they are counted in buckets, and only buckets that hold a rank are
 * sorted. */
#ifndef RW_DATA_CUT_RANKS_H
#define RW_DATA_CUT_RANKS_H

#include "base/isa.h"
#include "data/cuts.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One thread's memory. */
struct rw_rank_scratch {
    uint32_t *key, *picked; /* [n_sample + a vector] */
    uint32_t *count;        /* of each bucket */
    uint8_t *mark;          /* of each bucket: it holds a rank */
    struct rw_rank_counter *counter;
};
/* Released also after a failure. */
int rw_rank_scratch_init(struct rw_ctx *ctx, struct rw_rank_scratch *scratch,
                         const struct rw_cut_sample *sample);
void rw_rank_scratch_release(struct rw_rank_scratch *scratch);

/* bound: [RW_MOST_BOUNDS] keys (base/sort.h), ascending; returns their number. A boundary is the
 * smallest sampled value on its right. */
uint32_t rw_cut_bounds(enum rw_isa isa, const struct rw_column *column,
                       const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                       struct rw_rank_scratch *scratch, uint32_t *bound);

#ifdef __cplusplus
}
#endif
#endif
