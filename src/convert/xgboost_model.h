/* XGBoost's model as save_model writes it, in JSON or UBJSON: floats, `value < threshold` left, NaN
 * and what is absent by default_left, base_score added first. A node is a place in parallel arrays;
 * children of -1 make a leaf, whose value stands in split_conditions and, for Elasticsearch LTR, in
 * base_weights. */
#ifndef RW_CONVERT_XGBOOST_MODEL_H
#define RW_CONVERT_XGBOOST_MODEL_H

#include "convert/json_in.h"

#ifdef __cplusplus
extern "C" {
#endif

/* binary: UBJSON. */
int rw_xgboost_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, int binary,
                     struct rw_put *put);
/* leaf_name: the array that has the leaves. */
int rw_xgboost_parse(struct rw_ctx *ctx, const struct rw_source *source, const json_t *root,
                     const char *leaf_name, struct rw_ensemble *out);

#ifdef __cplusplus
}
#endif
#endif
