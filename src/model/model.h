/* The ensemble and what is written beside it. */
#ifndef RW_MODEL_MODEL_H
#define RW_MODEL_MODEL_H

#include "model/tree.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_param_value {
    char *name, *value; /* owned */
};
struct rw_feature_name {
    uint32_t feature;
    char *name; /* owned */
};

struct rw_model {
    int32_t n_trees;
    struct rw_tree *tree;        /* [n_trees]; owned */
    int32_t best_round;          /* 0: no validation set; else n_trees */
    int absent_missing;          /* what an absent feature is: 0 or missing */
    int32_t n_params;
    struct rw_param_value *param; /* [n_params] those that shape trees, in params.def's order; owned */
    uint32_t n_features;
    uint32_t *feature;           /* [n_features] ids that the training set had, ascending; owned */
    int32_t n_names;
    struct rw_feature_name *name; /* [n_names] by ascending id; owned */
    /* Metrics by round, all rounds run: value of metric m in round r at [r * n_metrics + m]. */
    int32_t n_metrics, n_rounds_run;
    char **metric_name;          /* [n_metrics] "valid1 ndcg@10"; owned */
    double *metric_value;        /* [n_rounds_run][n_metrics]; owned */
};

/* A zeroed model; filled by the booster or a reader. */
int rw_model_new(struct rw_ctx *ctx, struct rw_model **out);

/* Is it whole: every tree is one, ids ascend, names and values can stand in a file? RW_ERR_FORMAT with
 * what is wrong. Writers check before, readers make only such models. */
int rw_model_check(struct rw_ctx *ctx, const struct rw_model *model);

/* The name of a feature; "" without one. */
const char *rw_model_feature_name(const struct rw_model *model, uint32_t feature);

/* The sum of a document's leaves in tree order, in double. values as in rw_tree_leaf. */
double rw_model_score(const struct rw_model *model, int n_trees, const float *values,
                      size_t n_values);

#ifdef __cplusplus
}
#endif
#endif
