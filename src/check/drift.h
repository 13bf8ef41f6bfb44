/* Drift: how differently features, labels, query lengths and the scores of a model are distributed
 * in two data sets (struct rw_drift in rankwood.h). `rankwood check` and the report use it. */
#pragma once

#include "dataset/dataset.h"

/* Compares `set[0]`, the data, with `set[1]`, the reference. model: whose scores are compared;
 * NULL: no scores. *out: [*n] rows for labels, query lengths, scores, then features by falling PSI,
 * in `arena`. Texts of `moved` belong to the data sets. RW_ERR_DATA: a set does not fit the model.
 */
int rw_drift_measure(struct rw_ctx *ctx, struct rw_arena *arena,
                     const struct rw_dataset *const set[2], const struct rw_model *model,
                     struct rw_drift **out, uint32_t *n);

/* Writes the sorted keys of the values that are not missing to `key`, and returns their number.
 * value, key, scratch: [n]. */
size_t rw_sort_values(const float *value, size_t n, uint32_t *key, uint32_t *scratch);
