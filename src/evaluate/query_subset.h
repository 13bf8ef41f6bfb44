/* Some queries of a data set, as a data set of their own. */
#ifndef RW_EVALUATE_QUERY_SUBSET_H
#define RW_EVALUATE_QUERY_SUBSET_H

#include "base/ctx.h"

struct rw_dataset;
/* keep: [n_queries], 1: this one. Their order, ids, comments, weights, start scores and positions
 * stay; line numbers and a cache's codes do not. RW_ERR_DATA if none is kept. */
int rw_dataset_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                      struct rw_dataset **out);
#endif
