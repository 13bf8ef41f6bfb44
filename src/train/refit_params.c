#include "train/refit_params.h"

#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "params/no_effect.h"
#include "params/params_table.h"

static const double default_decay = 0.9; /* LightGBM's refit_decay_rate */

/* What leaf values depend on, beside the trees and the data. */
static const enum rw_param_at shaping[] = {
    RW_AT_PARAM_delta,        RW_AT_PARAM_pairs, RW_AT_PARAM_monotone,
    RW_AT_PARAM_objective,    RW_AT_PARAM_rate,  RW_AT_PARAM_l2,
    RW_AT_PARAM_truncation,   RW_AT_PARAM_sigma, RW_AT_PARAM_norm,
    RW_AT_PARAM_permutations, RW_AT_PARAM_decay, RW_AT_PARAM_relevant,
    RW_AT_PARAM_label_gain,   RW_AT_PARAM_seed,  RW_AT_PARAM_refit_decay,
    RW_AT_PARAM_label_weights};

enum { N_SHAPING = sizeof(shaping) / sizeof(shaping[0]) };

static int is_shaping(int at)
{
    int found = 0;
    for (int i = 0; i < N_SHAPING; i++)
        found |= (int)shaping[i] == at;
    return found;
}

/* What only growing trees reads is as the model has it, whatever the caller has set. */
static int leave_growth(struct rw_ctx *ctx, struct rw_params *params, int at)
{
    const char *name = rw_param_rows[at].info.name;
    if (strcmp(rw_param_rows[at].needs, "growth") != 0 || !params->is_set[at])
        return RW_OK;
    RW_TRY(rw_params_no_effect(ctx, params, name, "on a refit: its trees are the model's"));
    params->is_set[at] = params->is_strict[at] = 0;
    return rw_param_assign(ctx, params, at, rw_param_rows[at].info.default_value);
}

int rw_refit_params_take(struct rw_ctx *ctx, struct rw_params *params,
                         const struct rw_model_params *was, int is_custom)
{
    for (int i = 0; i < N_SHAPING; i++) {
        const int at = (int)shaping[i];
        const struct rw_param_value *value = rw_model_params_find(was, rw_param_rows[at].info.name);
        RW_TRY(leave_growth(ctx, params, at));
        if (at == RW_AT_PARAM_refit_decay || params->is_set[at] || !value)
            continue;
        if (at == RW_AT_PARAM_objective && strcmp(value->value, "custom") == 0) {
            if (is_custom)
                continue;
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "the model to refit was trained with an objective of its caller's: set "
                           "'objective'");
        }
        RW_TRY(rw_param_assign(ctx, params, at, value->value));
        params->is_chosen[at] = value->is_auto != 0;
    }
    if (params->refit_decay == RW_AUTO)
        params->refit_decay = default_decay;
    return RW_OK;
}

int rw_refit_params(struct rw_ctx *ctx, struct rw_params *params, const struct rw_model *model)
{
    RW_DEFAULT_FPENV;
    return rw_refit_params_take(ctx, params, &model->params, 0);
}

int rw_refit_params_check(struct rw_ctx *ctx, struct rw_params *params,
                          const struct rw_model *model, int is_custom, int n_valid)
{
    const struct rw_facts facts = {.trains = 1,
                                   .is_custom = is_custom,
                                   .n_valid = n_valid,
                                   .has_table = rw_ctx_n_tables(ctx) > 0 ? RW_FACT_UNKNOWN : 0};
    RW_TRY(rw_params_drop_idle(ctx, params, &facts));
    if (params->is_set[RW_AT_PARAM_absent] && params->absent != model->absent_missing)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the model to refit takes an absent feature as %s: set 'absent' to %s",
                       model->absent_missing ? "missing" : "0",
                       model->absent_missing ? "missing" : "zero");
    return rw_params_check(ctx, params);
}

/* ------------------------------------------------------------------ what the model says of it */

static int add(struct rw_ctx *ctx, struct rw_model_params *out, const char *name, const char *value,
               int is_auto)
{
    struct rw_param_value *param = &out->param[out->n++];
    param->is_auto = is_auto;
    RW_TRY(rw_mem_copy_text(ctx, &param->name, name));
    return rw_mem_copy_text(ctx, &param->value, value);
}

static int add_shaping(struct rw_ctx *ctx, struct rw_params *params, int at,
                       const struct rw_gain_rule *gains, int is_custom, struct rw_model_params *out)
{
    const char *name = rw_param_rows[at].info.name;
    const int is_auto = params->is_chosen[at];
    if (at == RW_AT_PARAM_objective && is_custom)
        return add(ctx, out, name, "custom", 0);
    if (at != RW_AT_PARAM_label_gain)
        return add(ctx, out, name, rw_params_get(params, name), is_auto);
    char *spec = NULL;
    RW_TRY(rw_gain_rule_spec(ctx, gains, params->label_gain, &spec));
    const int status = add(ctx, out, name, spec, 0);
    rw_mem_free(spec);
    return status;
}

int rw_refit_params_write(struct rw_ctx *ctx, struct rw_params *params,
                          const struct rw_gain_rule *gains, int is_custom,
                          const struct rw_model_params *was, struct rw_model_params *out)
{
    RW_TRY(RW_NEW(ctx, out->param, RW_N_PARAMS + (size_t)was->n));
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const struct rw_param_value *old = rw_model_params_find(was, rw_param_rows[at].info.name);
        if (is_shaping(at) && rw_params_in_model(params, at))
            RW_TRY(add_shaping(ctx, params, at, gains, is_custom, out));
        else if (old)
            RW_TRY(add(ctx, out, old->name, old->value, old->is_auto));
    }
    for (int32_t i = 0; i < was->n; i++) { /* of another version */
        const struct rw_param_value *old = &was->param[i];
        if (rw_param_find(old->name) < 0)
            RW_TRY(add(ctx, out, old->name, old->value, old->is_auto));
    }
    return RW_OK;
}
