/* What training makes of side columns (dataset/side_columns.h): whether they are there, and several
 * labels per document (parameter `label-weights`), for which the lambdas of a training on each
 * label alone are added, each times its weight (objective/objective.h). The first label is the data
 * set's own, which metrics see; the others are its further ones. */
#ifndef RW_TRAIN_SIDES_H
#define RW_TRAIN_SIDES_H

#include "params/params.h"
#include "dataset/dataset.h"

/* Do the training set's side columns agree with the parameters and the objective, which is NULL for
 * the caller's gradients? RW_ERR_ARGUMENT: a column is missing; a warning: one has no use. */
int rw_train_check_sides(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_objective *objective, const struct rw_dataset *train);
/* Checks the labels alone, for a refit. */
int rw_labels_check(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_objective *objective, const struct rw_dataset *train);
/* RW_ERR_ARGUMENT: parameters name the file of a column that the training set does not have. */
int rw_train_check_files(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *train);
/* The gains of all labels that train, [n_labels or 1][n_docs], of an objective that ranks. *out is
 * the caller's (rw_mem_free), also after a failure. */
int rw_labels_gains(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_gain_rule *gains, const struct rw_dataset *train, double **out);
/* What a rule has of all ranks' training sets: the largest gains, and how labels are summed
 * (rw_objective_sum). All ranks call it. gains: NULL if the objective does not rank. */
int rw_labels_rule(struct rw_ctx *ctx, const struct rw_objective *objective,
                   struct rw_objective_rule *rule, const double *gains,
                   const struct rw_dataset *train);

#endif
