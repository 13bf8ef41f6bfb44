/* What a training does about the positions at which its documents were shown (objective/debias.h):
 * whether it has them, propensities from a file, and what was found in the end. */
#ifndef RW_TRAIN_POSITIONS_H
#define RW_TRAIN_POSITIONS_H

#include "params/params.h"

/* Has the training set the positions that the objective asks for? objective: NULL if the caller
 * gives gradients. A warning where it has positions that nothing uses, unless there was a warning
 * of parameter `positions`. */
int rw_positions_check(struct rw_ctx *ctx, const struct rw_params *params,
                       const struct rw_objective *objective, const struct rw_dataset *train);
/* The parameters' propensities, if there are any, are those of the gradients from now on. */
int rw_positions_give(struct rw_ctx *ctx, const struct rw_params *params,
                      struct rw_gradients *gradients);
/* Tells the hooks what was found after n_rounds rounds, which all have a tree. gradients, hooks:
 * may be NULL. */
int rw_positions_tell(struct rw_ctx *ctx, const struct rw_train_hooks *hooks,
                      struct rw_gradients *gradients, int n_rounds);

#endif
