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

/* How its readers score it: XGBoost itself, and the plugins that took over its rules. */
#define RW_XGBOOST_RULES                                                              \
    .value = RW_F32, .threshold = RW_F32, .sum = RW_F32, .less = 1, .nan_by_node = 1, \
    .absent = RW_ABSENT_NAN
/* peers: a missing child was not looked at by OpenSearch's plugin until July 2026, and what a
 * document does not have was 0. */
#define RW_OPENSEARCH_OLD_NAME "OpenSearch LTR before July 2026"
#define RW_OPENSEARCH_OLD_RULES                                                          \
    .value = RW_F32, .threshold = RW_F32, .sum = RW_F32, .less = 1, .nan = RW_NAN_FALSE, \
    .absent = RW_ABSENT_ZERO

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
