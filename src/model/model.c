#include "model/model.h"

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "data/dataset.h"

int rw_model_new(struct rw_ctx *ctx, struct rw_model **out)
{
    return RW_NEW(ctx, *out, 1);
}

void rw_model_free(struct rw_model *model)
{
    if (!model)
        return;
    for (int32_t i = 0; model->tree && i < model->n_trees; i++)
        rw_tree_release(&model->tree[i]);
    for (int32_t i = 0; model->param && i < model->n_params; i++) {
        rw_mem_free(model->param[i].name);
        rw_mem_free(model->param[i].value);
    }
    for (int32_t i = 0; model->name && i < model->n_names; i++)
        rw_mem_free(model->name[i].name);
    for (int32_t i = 0; model->metric_name && i < model->n_metrics; i++)
        rw_mem_free(model->metric_name[i]);
    rw_mem_free(model->tree);
    rw_mem_free(model->param);
    rw_mem_free(model->feature);
    rw_mem_free(model->name);
    rw_mem_free(model->metric_name);
    rw_mem_free(model->metric_value);
    rw_mem_free(model);
}

/* ------------------------------------------------------------------ checks */

static int is_param_name(const char *name)
{
    return name && *name && !name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_")];
}

static int check_params(struct rw_ctx *ctx, const struct rw_model *model)
{
    for (int32_t i = 0; i < model->n_params; i++) {
        const struct rw_param_value *param = &model->param[i];
        if (!is_param_name(param->name))
            return rw_fail(ctx, RW_ERR_FORMAT, "parameter %d: not a name: '%s'", i,
                           param->name ? param->name : "");
        if (!param->value)
            return rw_fail(ctx, RW_ERR_FORMAT, "parameter '%s' has no value", param->name);
        for (int32_t j = 0; j < i; j++)
            if (strcmp(model->param[j].name, param->name) == 0)
                return rw_fail(ctx, RW_ERR_FORMAT, "parameter '%s' stands twice", param->name);
    }
    return RW_OK;
}

static int check_features(struct rw_ctx *ctx, const struct rw_model *model)
{
    for (uint32_t i = 0; i < model->n_features; i++)
        if (model->feature[i] > RW_MAX_FEATURE ||
            (i > 0 && model->feature[i] <= model->feature[i - 1]))
            return rw_fail(ctx, RW_ERR_FORMAT, "feature %u: expected ids that ascend up to %d",
                           model->feature[i], RW_MAX_FEATURE);
    for (int32_t i = 0; i < model->n_names; i++) {
        const struct rw_feature_name *name = &model->name[i];
        if (name->feature > RW_MAX_FEATURE || (i > 0 && name->feature <= name[-1].feature))
            return rw_fail(ctx, RW_ERR_FORMAT,
                           "name of feature %u: expected ids that ascend up to %d", name->feature,
                           RW_MAX_FEATURE);
        if (!name->name || !*name->name)
            return rw_fail(ctx, RW_ERR_FORMAT, "the name of feature %u is empty", name->feature);
    }
    return RW_OK;
}

int rw_model_check(struct rw_ctx *ctx, const struct rw_model *model)
{
    if (model->n_trees < 0 || model->n_params < 0 || model->n_names < 0 || model->n_metrics < 0 ||
        model->n_rounds_run < 0)
        return rw_fail(ctx, RW_ERR_FORMAT, "a count below 0 in a model");
    if (model->best_round < 0 || model->best_round > model->n_trees)
        return rw_fail(ctx, RW_ERR_FORMAT, "best round %d; expected 0 to the number of trees, %d",
                       model->best_round, model->n_trees);
    RW_TRY(check_params(ctx, model));
    RW_TRY(check_features(ctx, model));
    for (int32_t i = 0; i < model->n_metrics; i++)
        if (!model->metric_name[i] || !*model->metric_name[i])
            return rw_fail(ctx, RW_ERR_FORMAT, "metric %d has no name", i);
    for (int32_t i = 0; i < model->n_trees; i++) {
        const int status = rw_tree_check(ctx, &model->tree[i]);
        if (status == RW_ERR_FORMAT && ctx) {
            char text[256];
            strncpy(text, ctx->error, sizeof(text) - 1);
            text[sizeof(text) - 1] = 0;
            return rw_fail(ctx, RW_ERR_FORMAT, "tree %d: %s", i + 1, text);
        }
        RW_TRY(status);
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ looking inside */

int rw_model_n_trees(const struct rw_model *model)
{
    return model->n_trees;
}

int rw_model_best_round(const struct rw_model *model)
{
    return model->best_round;
}

const char *rw_model_param(const struct rw_model *model, const char *name)
{
    for (int32_t i = 0; i < model->n_params; i++)
        if (strcmp(model->param[i].name, name) == 0)
            return model->param[i].value;
    return NULL;
}

int rw_model_n_params(const struct rw_model *model)
{
    return model->n_params;
}

const char *rw_model_param_at(const struct rw_model *model, int i, const char **value)
{
    const int inside = i >= 0 && i < model->n_params;
    if (value)
        *value = inside ? model->param[i].value : NULL;
    return inside ? model->param[i].name : NULL;
}

const char *rw_model_feature_name(const struct rw_model *model, uint32_t feature)
{
    int32_t low = 0, high = model->n_names;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (model->name[middle].feature < feature)
            low = middle + 1;
        else
            high = middle;
    }
    return low < model->n_names && model->name[low].feature == feature ? model->name[low].name : "";
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
    return out;
}

float rw_model_leaf(const struct rw_model *model, int tree, int leaf)
{
    if (leaf < 0 || leaf >= rw_model_n_leaves(model, tree))
        return 0.0f;
    return model->tree[tree].leaf[leaf];
}
