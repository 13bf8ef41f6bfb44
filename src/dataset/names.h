/* Names of features: a table's header has them, and so may a model. */
#ifndef RW_DATASET_NAMES_H
#define RW_DATASET_NAMES_H

#include <stdint.h>

#include "base/ctx.h"

struct rw_feature_name {
    uint32_t feature;
    char *name; /* owned */
};
enum { RW_FEATURE_TEXT = 160 };
/* What messages call a feature: "feature 'title'", or "feature 7" where it has no name. */
const char *rw_feature_text(const struct rw_feature_name *names, int32_t n, uint32_t feature,
                            char text[RW_FEATURE_TEXT]);
void rw_names_free(struct rw_feature_name *names, int32_t n);
/* *out: NULL after a failure, and if there are none. */
int rw_names_copy(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                  struct rw_feature_name **out);
int rw_names_are_same(const struct rw_feature_name *a, int32_t n_a, const struct rw_feature_name *b,
                      int32_t n_b);

/* A name as a model's file can hold it: '_' for each blank, control character and comma, and before
 * what could be an id or a range. *out: the caller's. */
int rw_name_for_model(struct rw_ctx *ctx, const char *name, char **out);
/* A copy with such names. RW_ERR_DATA: two have become equal. */
int rw_names_for_model(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                       struct rw_feature_name **out);

#endif
