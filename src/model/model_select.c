/* A copy of a model, of all its trees or of some. */
#include "base/mem.h"
#include "model/model.h"

static int copy_trees(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                      struct rw_model *to)
{
    RW_TRY(RW_NEW(ctx, to->tree, (size_t)from->n_trees));
    for (int32_t t = 0; t < from->n_trees; t++) {
        if (keep && !keep[t])
            continue;
        RW_TRY(rw_tree_copy(ctx, &from->tree[t], &to->tree[to->n_trees]));
        to->n_trees++;
    }
    /* rounds behind the last tree follow it no more where that is gone */
    to->empty_rounds = to->n_trees == from->n_trees ? from->empty_rounds : 0;
    return RW_OK;
}

/* Each training has the trees of its own that are kept. */
static int copy_runs(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                     struct rw_model *to)
{
    int32_t t = 0;
    RW_TRY(rw_model_params_copy(ctx, &from->params, &to->params));
    RW_TRY(RW_NEW(ctx, to->earlier, (size_t)from->n_earlier));
    for (int32_t k = 0; k < from->n_earlier; k++) {
        to->n_earlier = k + 1;
        for (int32_t end = t + from->earlier[k].n_trees; t < end; t++)
            to->earlier[k].n_trees += !keep || keep[t];
        RW_TRY(rw_model_params_copy(ctx, &from->earlier[k].params, &to->earlier[k].params));
    }
    return RW_OK;
}

static int copy_features(struct rw_ctx *ctx, const struct rw_model *from, struct rw_model *to)
{
    RW_TRY(RW_NEW(ctx, to->feature, from->n_features));
    for (; to->n_features < from->n_features; to->n_features++)
        to->feature[to->n_features] = from->feature[to->n_features];
    RW_TRY(RW_NEW(ctx, to->name, (size_t)from->n_names));
    for (int32_t i = 0; i < from->n_names; i++) {
        to->n_names = i + 1;
        to->name[i].feature = from->name[i].feature;
        RW_TRY(rw_mem_copy_text(ctx, &to->name[i].name, from->name[i].name));
    }
    return RW_OK;
}

int rw_model_select(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                    struct rw_model **out)
{
    struct rw_model *to = NULL;
    int status;
    *out = NULL;
    RW_TRY_OUT(rw_model_new(ctx, &to));
    to->is_interrupted = from->is_interrupted;
    to->absent_missing = from->absent_missing;
    to->columns = from->columns;
    to->width = from->width;
    RW_TRY_OUT(copy_trees(ctx, from, keep, to));
    RW_TRY_OUT(copy_runs(ctx, from, keep, to));
    RW_TRY_OUT(copy_features(ctx, from, to));
    RW_TRY_OUT(rw_categories_copy(ctx, &from->categories, &to->categories));
    *out = to;
    to = NULL;
out:
    rw_model_free(to);
    return status;
}
