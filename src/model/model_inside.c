/* What a model is made of, for whoever looks inside (rankwood.h). */
#include "model/model.h"

int rw_model_best_round(const struct rw_model *model)
{
    return model->best_round;
}

int rw_model_is_finished(const struct rw_model *model)
{
    return !model->is_interrupted;
}

const char *rw_model_param(const struct rw_model *model, const char *name)
{
    const struct rw_param_value *param = rw_model_params_find(&model->params, name);
    return param ? param->value : NULL;
}

int rw_model_n_params(const struct rw_model *model)
{
    return model->params.n;
}

const char *rw_model_param_at(const struct rw_model *model, int i, const char **value)
{
    struct rw_run_param param;
    const int inside = rw_model_run_param(model, model->n_earlier, i, &param);
    if (value)
        *value = inside ? param.value : NULL;
    return inside ? param.name : NULL;
}

int rw_model_n_runs(const struct rw_model *model)
{
    return model->n_earlier + 1;
}

int rw_model_run_trees(const struct rw_model *model, int run)
{
    if (run < 0 || run > model->n_earlier)
        return 0;
    return run < model->n_earlier ? model->earlier[run].n_trees : rw_model_last_trees(model);
}

int rw_model_run_param(const struct rw_model *model, int run, int i, struct rw_run_param *out)
{
    *out = (struct rw_run_param){0};
    if (run < 0 || run > model->n_earlier)
        return 0;
    const struct rw_model_params *params =
        run < model->n_earlier ? &model->earlier[run].params : &model->params;
    if (i < 0 || i >= params->n)
        return 0;
    const struct rw_param_value *param = &params->param[i];
    *out = (struct rw_run_param){param->name, param->value, param->is_auto};
    return 1;
}

int rw_model_n_leaves(const struct rw_model *model, int tree)
{
    return tree >= 0 && tree < model->n_trees ? model->tree[tree].n_leaves : 0;
}

struct rw_node rw_model_node(const struct rw_model *model, int tree, int node)
{
    struct rw_node out = {0};
    if (node < 0 || node >= rw_model_n_leaves(model, tree) - 1)
        return out;
    const struct rw_tree *t = &model->tree[tree];
    out.left = t->left[node];
    out.right = t->right[node];
    out.feature = t->feature[node];
    out.cut = t->cut[node];
    out.missing_left = t->missing_left[node];
    out.gain = t->gain[node];
    out.by_category = rw_tree_by_set(t, node);
    return out;
}

uint32_t rw_model_n_categorical(const struct rw_model *model)
{
    return model->categories.n;
}

uint32_t rw_model_categorical(const struct rw_model *model, uint32_t i, uint32_t *n_words)
{
    *n_words = model->categories.of[i].n;
    return model->categories.of[i].feature;
}

const char *rw_model_category(const struct rw_model *model, uint32_t i, uint32_t word)
{
    return model->categories.of[i].word[word];
}

double rw_model_leaf_docs(const struct rw_model *model, int tree, int leaf)
{
    const int is_one = leaf >= 0 && leaf < rw_model_n_leaves(model, tree);
    return is_one && model->tree[tree].docs ? model->tree[tree].docs[leaf] : -1.0;
}

float rw_model_leaf(const struct rw_model *model, int tree, int leaf)
{
    if (leaf < 0 || leaf >= rw_model_n_leaves(model, tree))
        return 0.0f;
    return model->tree[tree].leaf[leaf];
}
