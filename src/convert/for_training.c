/* What a format would refuse of the model that a training is about to make: a model of stumps, one
 * for each kind of split that trees may have, is given to the exporter, which says so in its own
 * words. */
#include <float.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "binning/binned.h"
#include "train/category_sets.h"
#include "train/features.h"
#include "params/params.h"
#include "convert/convert.h"

/* Lowers and writes, and keeps nothing. */
static int try_export(struct rw_ctx *ctx, const struct rw_model *model,
                      const struct rw_model_format *format, const struct rw_lowering *how)
{
    struct rw_ensemble ensemble;
    struct rw_put put = {.ctx = ctx};
    RW_TRY(rw_lower(ctx, model, format, how, &ensemble));
    const int status = format->write(&ensemble, &put);
    rw_mem_free(put.text);
    rw_ensemble_release(&ensemble);
    return status;
}

static int add_stump(struct rw_ctx *ctx, struct rw_model *model, size_t *room, uint32_t feature,
                     float cut, int missing_left)
{
    RW_TRY(RW_GROW(ctx, model->tree, *room, (size_t)model->n_trees + 1));
    struct rw_tree *tree = &model->tree[model->n_trees];
    RW_TRY(rw_tree_init(ctx, tree, 2));
    model->n_trees++;
    tree->left[0] = ~0;
    tree->right[0] = ~1;
    tree->feature[0] = feature;
    tree->cut[0] = cut;
    tree->missing_left[0] = (uint8_t)missing_left;
    return RW_OK;
}

/* A missing value goes where 0 does, unless training sees some: then either way. */
static int add_cut(struct rw_ctx *ctx, struct rw_model *model, size_t *room,
                   const struct rw_cuts *cuts, uint32_t f, float cut)
{
    const int zero_left = 0.0f <= cut;
    if (cuts->has_missing[f])
        RW_TRY(add_stump(ctx, model, room, cuts->feature[f], cut, !zero_left));
    return add_stump(ctx, model, room, cuts->feature[f], cut, zero_left);
}

/* Of a feature's cuts one on each side of 0, and those that the format has no threshold for. The
 * last one, which parts missing values from all others, only where there is no other. */
static int add_feature(struct rw_ctx *ctx, struct rw_model *model, size_t *room,
                       const struct rw_cuts *cuts, uint32_t f, const struct rw_rules *rules)
{
    const float *cut = cuts->cut + cuts->offset[f];
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f), n = n_bins > 1 ? n_bins - 1 : 1;
    int has[2] = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const int side = 0.0f <= cut[i];
        double threshold;
        if (has[side] && rw_rules_threshold(rules, cut[i], &threshold))
            continue;
        has[side] = 1;
        RW_TRY(add_cut(ctx, model, room, cuts, f, cut[i]));
    }
    return RW_OK;
}

/* The features that training has, and what they are called. */
static int take_features(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_binned *train, struct rw_model *model)
{
    const struct rw_dataset *data = train->documents;
    const uint32_t n = train->feature ? train->n_features : data->n_columns;
    RW_TRY(RW_NEW(ctx, model->feature, n));
    for (; model->n_features < n; model->n_features++)
        model->feature[model->n_features] = train->feature
                                                ? train->feature[model->n_features]
                                                : data->column[model->n_features].feature;
    model->absent_missing = params->absent == 1;
    return rw_names_take(ctx, params->names, data, &model->name, &model->n_names);
}

/* The boundaries of the codes; *made, the caller's, where the values are not binned yet. */
static int find_cuts(struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_binned *train, const uint8_t *ignore, struct rw_cuts **made,
                     const struct rw_cuts **cuts)
{
    struct rw_cut_rule rule = rw_params_cut_rule(params);
    rule.ignore = ignore;
    if (!train->bins)
        RW_TRY(rw_cuts_make(ctx, train->documents, &rule, made));
    *cuts = train->bins ? train->bins->cuts : *made;
    return RW_OK;
}

/* Of each feature by categories a word against all others, a missing value with the others or, if
 * training sees some, with the word. All ranks call it. */
static int add_categories(struct rw_ctx *ctx, struct rw_model *model, size_t *room,
                          const struct rw_params *params, const struct rw_dataset *data,
                          const uint8_t *categorical, const struct rw_categories *kept)
{
    struct rw_shared_codes shared;
    RW_TRY(rw_categories_make(ctx, categorical, data, (uint32_t)params->bins, model->absent_missing,
                              kept, &model->categories, &shared));
    for (uint32_t i = 0; i < model->categories.n; i++) {
        const struct rw_feature_categories *of = &model->categories.of[i];
        int missing;
        if (!categorical[of->feature]) /* of the model to go on from, and ignored now */
            continue;
        RW_TRY(rw_category_has_missing(ctx, of, data, model->absent_missing, &missing));
        for (int left = 0; left <= missing && of->n > 0; left++) {
            RW_TRY(add_stump(ctx, model, room, of->feature, 0, left));
            struct rw_tree *tree = &model->tree[model->n_trees - 1];
            RW_TRY(rw_tree_add_sets(ctx, tree));
            tree->by_set[0] = 1;
            rw_set_add(&tree->set[0], 0);
        }
    }
    return RW_OK;
}

/* A model that asks for whatever training may ask for. */
static int make_stumps(struct rw_ctx *ctx, const struct rw_params *params,
                       const struct rw_binned *train, const struct rw_model *init,
                       const struct rw_rules *rules, struct rw_model *model)
{
    struct rw_cuts *made = NULL;
    const struct rw_cuts *cuts;
    uint8_t *ignore = NULL, *categorical = NULL;
    size_t room = 0;
    int status, any = 0;
    RW_TRY_OUT(take_features(ctx, params, train, model));
    RW_TRY_OUT(RW_NEW(ctx, ignore, RW_FEATURE_IDS));
    RW_TRY_OUT(rw_ignore_parse(ctx, params->ignore, model->name, model->n_names, ignore));
    RW_TRY_OUT(RW_NEW(ctx, categorical, RW_FEATURE_IDS));
    RW_TRY_OUT(rw_category_features(ctx, params, train->documents, init, categorical, &any));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint8_t ignored = ignore[f];
        ignore[f] |= categorical[f];
        categorical[f] &= !ignored;
    }
    RW_TRY_OUT(find_cuts(ctx, params, train, ignore, &made, &cuts));
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (!ignore[cuts->feature[f]])
            RW_TRY_OUT(add_feature(ctx, model, &room, cuts, f, rules));
    }
    if (any && !train->bins) /* else training says why it cannot begin */
        RW_TRY_OUT(add_categories(ctx, model, &room, params, train->documents, categorical,
                                  init ? &init->categories : NULL));
out:
    rw_mem_free(ignore);
    rw_mem_free(categorical);
    rw_cuts_free(made);
    return status;
}

/* As rw_model_export with RW_FEATURE_BASE_AUTO. */
static int first_feature(const struct rw_model *model, const struct rw_model *init, int by_name)
{
    const int has_0 = (model->n_features > 0 && model->feature[0] == 0) ||
                      (init && init->n_features > 0 && init->feature[0] == 0);
    return !has_0 && !by_name;
}

int rw_exchange_check_training(struct rw_ctx *ctx, const struct rw_exchange *how,
                               const struct rw_params *params, const struct rw_binned *train,
                               const struct rw_model *init)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    struct rw_feature_set set = {0};
    struct rw_lowering lowering = {.of_features = 1,
                                   .lossy_by = "without --for, export with --lossy"};
    struct rw_model *model = NULL;
    int status;
    RW_TRY(rw_model_format_find(ctx, how->format, &format));
    RW_TRY_OUT(rw_model_new(ctx, &model));
    RW_TRY_OUT(make_stumps(ctx, params, train, init, &format->consumer[0].rules, model));
    if (how->featureset) {
        RW_TRY_OUT(rw_feature_set_read(ctx, how->featureset, &set));
        lowering.set = &set;
    }
    lowering.base = first_feature(model, init, lowering.set && model->n_names > 0);
    if (model->n_trees > 0) /* else training says why it cannot begin */
        RW_TRY_OUT(try_export(ctx, model, format, &lowering));
    lowering.of_features = 0;
    lowering.set = NULL; /* the data's features were found there; these may have other names */
    lowering.base = first_feature(model, init, 0);
    if (init && init->n_trees > 0)
        RW_TRY_OUT(try_export(ctx, init, format, &lowering));
out:
    rw_feature_set_release(&set);
    rw_model_free(model);
    return status;
}
