/* The formats that are XGBoost's saved model: xgboost (JSON), xgboost-ubj (UBJSON), and eslr-raw,
 * as which Elasticsearch and OpenSearch LTR take it ("model/xgboost+json+raw"): they know a feature
 * by its index among all, want all names, and leave base_score out. Floats, `value < threshold`
 * left, NaN and what is absent by default_left, base_score added first. A node is an index into
 * parallel arrays; children of -1 make a leaf, whose value stands in split_conditions and, for
 * Elasticsearch LTR, in base_weights.
 *
 * A split by categories has split_type 1: its categories are categories_sizes numbers of
 * `categories` from categories_segments on, and those go right; all others, unseen ones too, go
 * left. */
#ifndef RW_CONVERT_XGBOOST_MODEL_H
#define RW_CONVERT_XGBOOST_MODEL_H

#include "convert/json_in.h"

/* xgboost_read.c. root: owned by the call, NULL: it could not be read; leaf_name: the array that
 * has the leaves. Returns source->status. */
int rw_xgboost_parse(struct rw_source *source, json_t *root, const char *leaf_name,
                     struct rw_ensemble *out);
#endif
