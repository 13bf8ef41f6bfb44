/* Several labels a document (parameter 'label-weights'): the lambdas of a training on each label
 * alone are added, each times its weight (objective/objective.h). The first label is the data set's
 * own, and what metrics see; the others are its further ones. */
#ifndef RW_TRAIN_LABELS_H
#define RW_TRAIN_LABELS_H

#include "params/params.h"
#include "dataset/dataset.h"

/* Has a training set as many labels as the parameters have weights? objective: NULL if the caller
 * gives gradients. A warning where it has labels that nothing uses, unless there was a warning of
 * parameter `labels`. */
int rw_labels_check(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_objective *objective, const struct rw_dataset *train);
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
