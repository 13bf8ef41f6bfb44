/* CatBoost's model as save_model(format="json") writes it. A feature is an entry of float_features
 * with ascending borders; all borders of all entries, one after the other, have a number each
 * (split_index). A float goes right when it is greater than the border. NaN is minus infinity
 * (AsFalse), infinity (AsTrue), or compared, which is false (AsIs, and without has_nans): a
 * direction for the entry, not for the node. Two entries may name the same column, so a feature
 * whose nodes disagree about NaN is two. Trees are "oblivious_trees" (a split for each level, the
 * last one that of the root) or "trees" (nodes inside one another); leaves are doubles, added in
 * the order of the trees, then scaled, then the bias is added. */
#ifndef RW_CONVERT_CATBOOST_MODEL_H
#define RW_CONVERT_CATBOOST_MODEL_H

#include "convert/json_in.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A decimal that CatBoost's reader takes for the same double, as does any other; the shortest if
 * there is none. Finite. (catboost_number.c) */
void rw_catboost_put_double(struct rw_put *put, double value);

int rw_catboost_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put);
int rw_catboost_parse(struct rw_ctx *ctx, const struct rw_source *source,
                      struct rw_ensemble *ensemble);

#ifdef __cplusplus
}
#endif
#endif
