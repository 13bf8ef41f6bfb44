/* The steps of rw_cuts_make on the host, for those who want codes along with the cuts: the values
 * are searched once for both. */
#ifndef RW_DATA_CUT_FIND_H
#define RW_DATA_CUT_FIND_H

#include "binning/bins.h"
#include "binning/cut_ranks.h"

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

/* The boundaries, and the counts where the sampled values are all: a dense column's, unsampled. */
void rw_cuts_bound(enum rw_isa isa, const struct rw_column *column,
                   const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                   struct rw_rank_scratch *scratch, struct rw_cut_intervals *intervals);
/* The exact pass over all values, under intervals->bound: fills the rest of *intervals. places:
 * [column->n] uint8_t or uint16_t by `bytes`, the interval of each entry, and n_bounds + 1 for a
 * missing one, which must fit; NULL: not wanted. */
void rw_cuts_exact_pass(enum rw_isa isa, const struct rw_column *column, uint32_t n_docs,
                        int absent_missing, struct rw_cut_intervals *intervals, size_t bytes,
                        void *places);

/* Cuts and, unless found->reason says that there are none, codes from the exact pass: `places` (of
 * `room` bytes each; taken) are those of all documents if column->row is NULL, else of column->n
 * entries, while the others have the place of an absent value. Changes *intervals. */
int rw_codes_of_places(struct rw_cut_intervals *intervals, const struct rw_cut_rule *rule,
                       const struct rw_column *column, uint32_t n_docs, size_t room, void *places,
                       struct rw_feature_cuts *found, struct rw_codes *out);
/* found, codes: [dataset->n_columns]; codes of columns in use are moved into the bins. */
int rw_bins_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_cut_rule *rule, const struct rw_feature_cuts *found,
                   struct rw_codes *codes, struct rw_bins **out);
/* Of n features, and the array itself. */
void rw_codes_free(struct rw_codes *codes, uint32_t n);

#ifdef __cplusplus
}
#endif
#endif
