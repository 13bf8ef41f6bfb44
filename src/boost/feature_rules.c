#include "boost/feature_rules.h"

#include "base/mem.h"
#include "boost/continuation.h"

static int check_list(struct rw_ctx *ctx, const struct rw_feature_rules *rules,
                      const struct rw_feature_set *set, const char *parameter, int has_values,
                      const char *list)
{
    return rw_feature_list_check(ctx, parameter, has_values, list, set->name, set->n_names,
                                 rules->ignore, set->feature, set->n_features);
}

static int take_ignore(struct rw_feature_rules *out, struct rw_ctx *ctx,
                       const struct rw_params *params, const struct rw_feature_set *set)
{
    if (!params->ignore[0])
        return RW_OK;
    RW_TRY(RW_NEW(ctx, out->ignore, RW_FEATURE_IDS));
    RW_TRY(rw_ignore_parse(ctx, params->ignore, set->name, set->n_names, out->ignore));
    rw_ignore_warn(ctx, out->ignore, set->feature, set->n_features);
    return RW_OK;
}

static int take_monotone(struct rw_feature_rules *out, struct rw_ctx *ctx, struct rw_params *params,
                         const struct rw_feature_set *set, const struct rw_model *init)
{
    if (!params->monotone[0])
        return RW_OK;
    RW_TRY(RW_NEW(ctx, out->monotone, RW_FEATURE_IDS));
    RW_TRY(rw_monotone_parse(ctx, params->monotone, set->name, set->n_names, out->monotone));
    RW_TRY(check_list(ctx, out, set, "monotone", 1, params->monotone));
    RW_TRY(rw_monotone_text(ctx, out->monotone, &out->monotone_text));
    params->monotone = out->monotone_text;
    return init ? rw_continuation_check_order(ctx, init, out->monotone) : RW_OK;
}

static int take_interactions(struct rw_feature_rules *out, struct rw_ctx *ctx,
                             struct rw_params *params, const struct rw_feature_set *set,
                             const struct rw_model *init)
{
    if (!params->interactions[0])
        return RW_OK;
    RW_TRY(rw_interactions_parse(ctx, params->interactions, set->name, set->n_names,
                                 &out->interactions));
    RW_TRY(check_list(ctx, out, set, "interactions", 0, params->interactions));
    RW_TRY(rw_interactions_text(ctx, &out->interactions, &out->interactions_text));
    params->interactions = out->interactions_text;
    return init ? rw_continuation_check_interactions(ctx, init, &out->interactions) : RW_OK;
}

static int take_penalty(struct rw_feature_rules *out, struct rw_ctx *ctx, struct rw_params *params,
                        const struct rw_feature_set *set)
{
    if (!params->feature_penalty[0])
        return RW_OK;
    RW_TRY(RW_NEW(ctx, out->penalty, RW_FEATURE_IDS));
    RW_TRY(rw_penalty_parse(ctx, params->feature_penalty, set->name, set->n_names, out->penalty));
    RW_TRY(check_list(ctx, out, set, "feature-penalty", 1, params->feature_penalty));
    RW_TRY(rw_penalty_text(ctx, out->penalty, &out->penalty_text));
    params->feature_penalty = out->penalty_text;
    return RW_OK;
}

int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_feature_set *set,
                          const struct rw_model *init)
{
    RW_TRY(take_ignore(out, ctx, params, set));
    RW_TRY(take_monotone(out, ctx, params, set, init));
    RW_TRY(take_interactions(out, ctx, params, set, init));
    return take_penalty(out, ctx, params, set);
}

void rw_feature_rules_release(struct rw_feature_rules *rules)
{
    rw_mem_free(rules->ignore);
    rw_mem_free(rules->monotone);
    rw_mem_free(rules->penalty);
    rw_mem_free(rules->interactions.groups);
    rw_mem_free(rules->monotone_text);
    rw_mem_free(rules->penalty_text);
    rw_mem_free(rules->interactions_text);
}
