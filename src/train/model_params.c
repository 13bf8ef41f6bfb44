#include "train/model_params.h"

#include <string.h>

#include "base/mem.h"
#include "model/model_text.h"
#include "params/params.h"

int rw_model_params_add(struct rw_ctx *ctx, const char *name, const char *value, int is_auto,
                        struct rw_model_params *out)
{
    struct rw_param_value *param = &out->param[out->n++];
    param->is_auto = is_auto;
    RW_TRY(rw_mem_copy_text(ctx, &param->name, name));
    return rw_mem_copy_text(ctx, &param->value, value);
}

int rw_model_params_take(struct rw_ctx *ctx, struct rw_params *params, int at,
                         const struct rw_gain_rule *gains, int is_custom,
                         struct rw_model_params *out)
{
    const char *name = rw_param_rows[at].info.name;
    const char *value =
        at == RW_AT_PARAM_objective && is_custom ? "custom" : rw_params_get(params, name);
    char *spec = NULL;
    if (at == RW_AT_PARAM_label_gain)
        RW_TRY(rw_gain_rule_spec(ctx, gains, value, &spec));
    const int status =
        rw_model_params_add(ctx, name, spec ? spec : value, params->is_chosen[at], out);
    rw_mem_free(spec);
    return status;
}

enum {
    ESCAPED = 4, /* a byte of a text at most */
    LINE = 64,   /* what else is on the line of a parameter, a name or a metric */
    RANGE = 12,  /* of features */
    HEAD = 4096  /* all other lines */
};

static uint64_t text_line(const char *text)
{
    return LINE + ESCAPED * (uint64_t)strlen(text);
}

static uint64_t params_bytes(const struct rw_model_params *params)
{
    uint64_t bytes = LINE;
    for (int32_t i = 0; i < params->n; i++)
        bytes += text_line(params->param[i].value);
    return bytes;
}

static void add_names(struct rw_model_size *size, const struct rw_feature_name *names,
                      int32_t n_names)
{
    for (int32_t i = 0; i < n_names; i++) {
        const uint64_t length = strlen(names[i].name);
        size->longest_name = length > size->longest_name ? length : size->longest_name;
        size->bytes += text_line(names[i].name);
    }
}

void rw_model_size_init(struct rw_model_size *size, uint32_t n_features, struct rw_params *params,
                        const struct rw_eval_sets *eval, const struct rw_model *init)
{
    *size = (struct rw_model_size){0};
    size->bytes = HEAD + RANGE * (uint64_t)n_features;
    size->round_bytes = LINE + RW_MODEL_VALUE_BYTES * (uint64_t)eval->n_values;
    for (int i = 0; i < RW_N_PARAMS; i++) {
        if (rw_params_in_model(params, i))
            size->bytes += text_line(rw_params_get(params, rw_param_rows[i].info.name));
    }
    size->bytes += RW_MODEL_VALUE_BYTES * (uint64_t)eval->gains.n_table;
    if (params->ignore[0]) /* as ids, from names or ranges of them */
        size->bytes += RANGE * (uint64_t)n_features + text_line(params->ignore);
    for (int v = 0; v < eval->n_values; v++)
        size->bytes += text_line(eval->name[v]);
    if (!init)
        return;
    add_names(size, init->name, init->n_names);
    size->bytes += RANGE * (uint64_t)init->n_features + params_bytes(&init->params);
    for (int32_t k = 0; k < init->n_earlier; k++)
        size->bytes += params_bytes(&init->earlier[k].params);
}

static uint64_t tree_bytes(const struct rw_model_size *size, int32_t n_leaves)
{
    const uint64_t node = RW_MODEL_NODE_BYTES + ESCAPED * size->longest_name;
    return size->round_bytes + LINE + (uint64_t)n_leaves * (node + RW_MODEL_LEAF_BYTES);
}

void rw_model_size_add(struct rw_model_size *size, int32_t n_leaves)
{
    size->bytes += tree_bytes(size, n_leaves);
}

void rw_model_size_start(struct rw_model_size *size, const struct rw_feature_name *names,
                         int32_t n_names, const struct rw_model *model)
{
    add_names(size, names, n_names);
    for (int32_t t = 0; t < model->n_trees; t++)
        rw_model_size_add(size, model->tree[t].n_leaves);
}

uint64_t rw_model_size_with(const struct rw_model_size *size, int32_t n_leaves)
{
    return size->bytes + tree_bytes(size, n_leaves);
}
