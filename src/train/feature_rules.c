#include "train/feature_rules.h"

#include "base/mem.h"
#include "train/continuation.h"

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

static int take_monotone(struct rw_feature_rules *out, struct rw_ctx *ctx,
                         const struct rw_params *params, const struct rw_feature_set *set)
{
    if (!params->monotone[0])
        return RW_OK;
    RW_TRY(RW_NEW(ctx, out->monotone, RW_FEATURE_IDS));
    RW_TRY(rw_monotone_parse(ctx, params->monotone, set->name, set->n_names, out->monotone));
    return check_list(ctx, out, set, "monotone", 1, params->monotone);
}

static int take_interactions(struct rw_feature_rules *out, struct rw_ctx *ctx,
                             const struct rw_params *params, const struct rw_feature_set *set)
{
    if (!params->interactions[0])
        return RW_OK;
    RW_TRY(rw_interactions_parse(ctx, params->interactions, set->name, set->n_names,
                                 &out->interactions));
    return check_list(ctx, out, set, "interactions", 0, params->interactions);
}

static int take_penalty(struct rw_feature_rules *out, struct rw_ctx *ctx,
                        const struct rw_params *params, const struct rw_feature_set *set)
{
    if (!params->feature_penalty[0])
        return RW_OK;
    RW_TRY(RW_NEW(ctx, out->penalty, RW_FEATURE_IDS));
    RW_TRY(rw_penalty_parse(ctx, params->feature_penalty, set->name, set->n_names, out->penalty));
    return check_list(ctx, out, set, "feature-penalty", 1, params->feature_penalty);
}

/* One list of directions, of groups or of costs serves any 'features': what it says of those that
 * these leave out is of no use, and forgotten. */
static int take_limit(struct rw_feature_rules *out, struct rw_ctx *ctx, struct rw_params *params,
                      const struct rw_feature_set *set)
{
    struct rw_interactions *interactions = &out->interactions;
    if (!params->features[0])
        return RW_OK;
    if (!out->ignore)
        RW_TRY(RW_NEW(ctx, out->ignore, RW_FEATURE_IDS));
    RW_TRY(rw_features_limit(ctx, params->features, set->name, set->n_names, set->feature,
                             set->n_features, out->ignore));
    RW_TRY(rw_ignore_text(ctx, out->ignore, &out->ignore_text));
    params->ignore = out->ignore_text;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (!out->ignore[f])
            continue;
        if (out->monotone)
            out->monotone[f] = 0;
        if (out->penalty)
            out->penalty[f] = 0.0;
        for (uint32_t w = 0; interactions->groups && w < interactions->n_words; w++)
            interactions->groups[(size_t)f * interactions->n_words + w] = 0;
    }
    return RW_OK;
}

/* The texts by ids; a list of which nothing is left is none. */
static int make_texts(struct rw_feature_rules *out, struct rw_ctx *ctx, struct rw_params *params)
{
    if (out->monotone) {
        RW_TRY(rw_monotone_text(ctx, out->monotone, &out->monotone_text));
        params->monotone = out->monotone_text;
    }
    if (out->penalty) {
        RW_TRY(rw_penalty_text(ctx, out->penalty, &out->penalty_text));
        params->feature_penalty = out->penalty_text;
    }
    if (out->interactions.groups) {
        RW_TRY(rw_interactions_text(ctx, &out->interactions, &out->interactions_text));
        if (!out->interactions_text[0])
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "interactions: expected a group with some of 'features', found '%.64s'",
                           params->interactions);
        params->interactions = out->interactions_text;
    }
    if (out->monotone && !out->monotone_text[0]) {
        rw_mem_free(out->monotone);
        out->monotone = NULL;
    }
    if (out->penalty && !out->penalty_text[0]) {
        rw_mem_free(out->penalty);
        out->penalty = NULL;
    }
    return RW_OK;
}

int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_feature_set *set,
                          const struct rw_model *init)
{
    RW_TRY(take_ignore(out, ctx, params, set));
    RW_TRY(take_monotone(out, ctx, params, set));
    RW_TRY(take_interactions(out, ctx, params, set));
    RW_TRY(take_penalty(out, ctx, params, set));
    RW_TRY(take_limit(out, ctx, params, set));
    RW_TRY(make_texts(out, ctx, params));
    if (init && out->monotone)
        RW_TRY(rw_continuation_check_order(ctx, init, out->monotone));
    if (init && out->interactions.groups)
        RW_TRY(rw_continuation_check_interactions(ctx, init, &out->interactions));
    return RW_OK;
}

void rw_feature_rules_release(struct rw_feature_rules *rules)
{
    rw_mem_free(rules->ignore);
    rw_mem_free(rules->monotone);
    rw_mem_free(rules->penalty);
    rw_mem_free(rules->interactions.groups);
    rw_mem_free(rules->ignore_text);
    rw_mem_free(rules->monotone_text);
    rw_mem_free(rules->penalty_text);
    rw_mem_free(rules->interactions_text);
}
