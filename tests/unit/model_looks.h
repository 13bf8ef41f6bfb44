/* What tests look up in a model. */
#pragma once

#include "model/model.h"

/* A parameter of the last training, or NULL. */
static inline const char *param_of(const struct rw_model *model, const char *name)
{
    const struct rw_run_param *param = rw_model_params_find(&model->params, name);
    return param ? param->value : NULL;
}

static inline int is_finished(const struct rw_model *model)
{
    return rw_model_info(model).is_finished;
}

static inline int n_leaves_of(const struct rw_model *model, int tree)
{
    return rw_model_tree(model, tree).n_leaves;
}
