/* What the engines of many ranks make of theirs together; with one rank, nothing is done. All ranks
 * call these in the same order. */
#ifndef RW_TREE_RANKS_H
#define RW_TREE_RANKS_H

#include "tree/engine.h"
#include "tree/quantise.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where this rank's documents stand among those of all: engine->first_doc and the like. */
int rw_ranks_place(struct rw_engine *engine, const struct rw_dataset *train);

/* If no rank keeps any query (or document), the one with the lowest random number stays, the first
 * of equals. n_kept: this rank's; lowest: the random number of its query `number`, counted from the
 * first rank's on; UINT32_MAX if it has none. *keep: is that query to be kept? */
int rw_ranks_keep_one(struct rw_engine *engine, uint32_t n_kept, uint32_t lowest, uint32_t number,
                      int *keep);
/* The extent of all ranks' documents. */
int rw_ranks_extent(struct rw_engine *engine, struct rw_extent *extent);
/* The best of what the ranks found for each slot: [n]. */
int rw_ranks_best(struct rw_ctx *ctx, struct rw_split *splits, int n);
int rw_ranks_leaf_sums(struct rw_ctx *ctx, struct rw_sum *sums, int n);

#ifdef __cplusplus
}
#endif
#endif
