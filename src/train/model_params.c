#include "train/model_params.h"

#include "base/mem.h"
#include "train/features.h"
#include "params/params_table.h"

int rw_model_params_make(struct rw_ctx *ctx, struct rw_params *params,
                         const struct rw_eval_sets *eval, const uint8_t *ignore, int is_custom,
                         struct rw_model_params *out)
{
    RW_TRY(RW_NEW(ctx, out->param, RW_N_PARAMS));
    for (int i = 0; i < RW_N_PARAMS; i++) {
        const struct rw_param_info *info = &rw_param_rows[i].info;
        if (!rw_params_in_model(params, i))
            continue;
        struct rw_param_value *param = &out->param[out->n];
        RW_TRY(rw_mem_copy_text(ctx, &param->name, info->name));
        out->n++;
        param->is_auto = params->is_chosen[i];
        if (i == RW_AT_PARAM_label_gain)
            RW_TRY(rw_eval_sets_gain_text(eval, &param->value));
        else if (i == RW_AT_PARAM_ignore && ignore)
            RW_TRY(rw_ignore_text(ctx, ignore, &param->value));
        else if (i == RW_AT_PARAM_objective && is_custom)
            RW_TRY(rw_mem_copy_text(ctx, &param->value, "custom"));
        else
            RW_TRY(rw_mem_copy_text(ctx, &param->value, rw_params_get(params, info->name)));
    }
    return RW_OK;
}

void rw_model_cut(struct rw_model *model, int kept, int best_round)
{
    while (best_round > 0 && model->n_trees > best_round)
        rw_tree_release(&model->tree[--model->n_trees]);
    while (model->n_trees > kept && model->tree[model->n_trees - 1].n_leaves == 1) {
        rw_tree_release(&model->tree[--model->n_trees]);
        model->empty_rounds +=
            best_round == 0; /* a training that continues does not repeat these */
    }
    model->best_round = best_round > 0 ? model->n_trees : 0;
}
