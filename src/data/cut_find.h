/* The steps of rw_cuts_make on the host, for those who want codes along with the cuts: the values
 * are searched once for both. */
#ifndef RW_DATA_CUT_FIND_H
#define RW_DATA_CUT_FIND_H

#include "data/cut_ranks.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cut_finder {
    enum rw_isa isa;
    int n_threads;
    const struct rw_dataset *dataset; /* borrowed */
    const struct rw_cut_rule *rule;   /* borrowed */
    struct rw_cut_sample sample;
    struct rw_feature_cuts *found;   /* [n_columns] zeroed; owned, and so are its cuts */
    struct rw_rank_scratch *scratch; /* [n_threads]; owned */
};
/* Released also after a failure. */
int rw_cut_finder_init(struct rw_ctx *ctx, struct rw_cut_finder *finder,
                       const struct rw_dataset *dataset, const struct rw_cut_rule *rule);
void rw_cut_finder_release(struct rw_cut_finder *finder);

/* The exact pass over all values, under intervals->bound: fills the rest of *intervals. places:
 * [column->n] uint8_t or uint16_t by `bytes`, the interval of each entry, and n_bounds + 1 for a
 * missing one, which must fit; NULL: not wanted. */
void rw_cuts_exact_pass(enum rw_isa isa, const struct rw_column *column, uint32_t n_docs,
                        int absent_missing, struct rw_cut_intervals *intervals, size_t bytes,
                        void *places);

#ifdef __cplusplus
}
#endif
#endif
