/* Scoring on the CPU. */
#ifndef RW_MODEL_PREDICT_H
#define RW_MODEL_PREDICT_H

#include "model/flat.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_column;

/* scores: [n_docs], written. */
int rw_flat_scores(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                   double *scores);

/* The data's columns by slot, [n_used]; NULL where the data does not have the feature. The array is
 * the caller's (rw_mem_free), the columns are the dataset's. */
int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out);

#ifdef __cplusplus
}
#endif
#endif
