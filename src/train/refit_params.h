/* The parameters of a refit: those that leaf values depend on, which are the model's own where they
 * are not given. */
#ifndef RW_TRAIN_REFIT_PARAMS_H
#define RW_TRAIN_REFIT_PARAMS_H

#include "params/params.h"
#include "metric/dcg.h"
#include "model/model.h"

/* What is not set becomes what it was in a training, and refit-decay a number. is_custom: gradients
 * are the caller's; else RW_ERR_ARGUMENT if they were in the training and no objective is set. */
int rw_refit_params_take(struct rw_ctx *ctx, struct rw_params *params,
                         const struct rw_model_params *was, int is_custom);
/* Gives parameters without effect on a refit their defaults, with a warning. RW_ERR_ARGUMENT: one
 * that was set contradicts the model. */
int rw_refit_params_check(struct rw_ctx *ctx, struct rw_params *params,
                          const struct rw_model *model, int is_custom, int n_valid);
/* What a training's parameters become by a refit with these; `gains` are those of their label-gain.
 * out: zeroed. */
int rw_refit_params_write(struct rw_ctx *ctx, struct rw_params *params,
                          const struct rw_gain_rule *gains, int is_custom,
                          const struct rw_model_params *was, struct rw_model_params *out);

#endif
