/* Scoring on the CPU. */
#ifndef RW_MODEL_PREDICT_H
#define RW_MODEL_PREDICT_H

#include "model/flat.h"

struct rw_column;

/* Walks down every tree. scores: [n_docs], written. */
int rw_flat_scores(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                   double *scores);

/* counts: [leaves of all trees] added to: the documents that fall into each. */
int rw_flat_count(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                  uint32_t *counts);

/* The data's columns by slot, [n_used]; NULL where the data does not have the feature. Those of
 * features by categories have codes, which rw_flat_of_code takes, and lie behind the array, which
 * is the caller's (rw_mem_free); the others are the dataset's. */
int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out);
/* The leaves of documents [begin, end), by their columns: [end - begin][n_trees], written. */
int rw_flat_leaves(struct rw_ctx *ctx, const struct rw_flat *flat,
                   const struct rw_column *const *column, uint32_t begin, uint32_t end,
                   int32_t *leaves);
/* Values of documents [begin, end) by row: [end - begin][n_used], written. scratch: [end - begin].
 */
void rw_flat_gather(const struct rw_flat *flat, const struct rw_column *const *columns,
                    uint32_t begin, uint32_t end, float *rows, float *scratch);

#endif
