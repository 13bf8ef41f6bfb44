/* What rw_permutation_importance does, with a callback after each feature. */
#ifndef RW_EVALUATE_PERMUTATION_H
#define RW_EVALUATE_PERMUTATION_H

#include "base/ctx.h"

struct rw_permutation {
    const struct rw_eval_params *how; /* all borrowed */
    const struct rw_model *model;
    const struct rw_dataset *dataset;
    int n_trees, n_repeats;
    /* Called after each feature; nonzero gives up (RW_ERR_INTERRUPTED). NULL: none. */
    int (*on_feature)(void *user, int done, int total);
    void *user;
};
/* Contract: rw_permutation_importance. */
int rw_permutation_run(struct rw_ctx *ctx, const struct rw_permutation *permutation, double *value,
                       struct rw_permuted *out, int room);
#endif
