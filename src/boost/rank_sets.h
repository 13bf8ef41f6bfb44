/* The sets of a training, of which each of many ranks has a part. All ranks call these; with one
 * rank there is little to do. */
#ifndef RW_BOOST_RANK_SETS_H
#define RW_BOOST_RANK_SETS_H

#include "binning/binned.h"
#include "boost/params.h"

/* Before anything else. documents: this rank's training set; bins: its codes, or NULL. *all_docs:
 * of all ranks. Where many ranks have values, *made gets the codes of this one's, with boundaries
 * of all, and the features; it is released by the caller. */
int rw_rank_sets_take(struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_dataset *documents, const struct rw_bins *bins,
                      struct rw_binned *made, uint32_t *all_docs);
/* Warns of a validation set that has the queries and labels of the training set, on every rank. */
int rw_rank_sets_warn(struct rw_ctx *ctx, const struct rw_dataset *const *sets, int n_sets);

#endif
