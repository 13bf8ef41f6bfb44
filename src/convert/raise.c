/* A model of another program's ensemble. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"
#include "dataset/dataset.h"

enum { NOT_REACHED = INT32_MIN };

struct raising {
    struct rw_ctx *ctx;
    const char *path;
    const struct rw_model_format *format;
    const struct rw_rules *rules;
    int base;
    uint8_t *had;       /* [RW_FEATURE_IDS] */
    uint64_t n_rounded; /* leaves that are not floats */
    /* of the tree at hand */
    int32_t *number; /* [n_nodes] ours: a split's, or ~ a leaf's; NOT_REACHED */
    int32_t *stack;  /* [n_nodes] */
};

int64_t rw_column_feature(const struct rw_rules *rules, int base, uint32_t column)
{
    const int64_t first = (int64_t)rules->first_column;
    const int64_t feature = (int64_t)column - first + (base < 0 ? first : base);
    return column < first || feature > RW_MAX_FEATURE ? -1 : feature;
}

/* Numbers splits and leaves. In the order in which they stand if every child stands after its
 * parent, so that what we wrote comes back as it was; else breadth first. */
static void number_nodes(struct raising *r, const struct rw_ens_tree *tree, int32_t *n_leaves)
{
    int32_t begin = 0, end = 1, ordered = 1, n_splits = 0;
    for (int32_t i = 0; i < tree->n_nodes; i++)
        r->number[i] = NOT_REACHED;
    r->stack[0] = 0;
    r->number[0] = 0;
    while (begin < end) {
        const int32_t at = r->stack[begin++];
        const struct rw_ens_node *node = &tree->node[at];
        if (node->left < 0)
            continue;
        const int32_t child[2] = {node->left, node->right};
        for (int side = 0; side < 2; side++) {
            /* Splits only: leaves have numbers of their own. */
            if (tree->node[child[side]].left >= 0 && child[side] < at)
                ordered = 0;
            r->number[child[side]] = 0;
            r->stack[end++] = child[side];
        }
    }
    *n_leaves = 0;
    for (int32_t i = 0; i < (ordered ? tree->n_nodes : end); i++) {
        const int32_t at = ordered ? i : r->stack[i];
        if (r->number[at] != NOT_REACHED)
            r->number[at] = tree->node[at].left < 0 ? ~(*n_leaves)++ : n_splits++;
    }
}

static int raise_split(struct raising *r, const struct rw_ens_tree *tree, int32_t t, int32_t at,
                       struct rw_tree *to)
{
    const struct rw_ens_node *node = &tree->node[at];
    const int32_t i = r->number[at];
    const int64_t feature = rw_column_feature(r->rules, r->base, node->column);
    if (feature < 0)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s: tree %d, node %d: feature %u; expected %u to %d",
                       r->path, t + 1, at, node->column, r->rules->first_column, RW_MAX_FEATURE);
    const char *why = rw_rules_cut(r->rules, node, &to->cut[i], &to->missing_left[i]);
    if (why)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s: tree %d, node %d %s", r->path, t + 1, at, why);
    to->left[i] = r->number[node->left];
    to->right[i] = r->number[node->right];
    to->feature[i] = (uint32_t)feature;
    to->gain[i] = isfinite(node->gain) ? node->gain : 0;
    r->had[feature] = 1;
    return RW_OK;
}

static int raise_tree(struct raising *r, const struct rw_ens_tree *tree, int32_t t,
                      struct rw_tree *to)
{
    int32_t n_leaves;
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW_RAW(r->ctx, r->number, (size_t)tree->n_nodes));
    RW_TRY_OUT(RW_NEW_RAW(r->ctx, r->stack, (size_t)tree->n_nodes));
    number_nodes(r, tree, &n_leaves);
    RW_TRY_OUT(rw_tree_init(r->ctx, to, n_leaves));
    for (int32_t at = 0; at < tree->n_nodes; at++) {
        if (r->number[at] == NOT_REACHED)
            continue;
        if (r->number[at] >= 0) {
            RW_TRY_OUT(raise_split(r, tree, t, at, to));
            continue;
        }
        const double value = tree->node[at].value * tree->weight;
        const float leaf = (float)value;
        r->n_rounded += (double)leaf != value;
        to->leaf[~r->number[at]] = leaf;
    }
out:
    rw_mem_free(r->number);
    rw_mem_free(r->stack);
    r->number = r->stack = NULL;
    return status;
}

/* A base score is a tree of one leaf, the first. */
static int raise_base(struct raising *r, double base, struct rw_tree *to)
{
    RW_TRY(rw_tree_init(r->ctx, to, 1));
    to->leaf[0] = (float)base;
    r->n_rounded += (double)to->leaf[0] != base;
    if (!isfinite(to->leaf[0]))
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s: a base score of %g", r->path, base);
    return RW_OK;
}

static int raise_columns(struct raising *r, const struct rw_ensemble *from, struct rw_model *model)
{
    size_t n_features = 0, n_names = 0;
    for (uint32_t i = 0; i < from->n_columns; i++) {
        const int64_t feature = rw_column_feature(r->rules, r->base, i + r->rules->first_column);
        if (feature >= 0 && (!from->column_had || from->column_had[i]))
            r->had[feature] = 1;
    }
    if (from->n_columns == 0) { /* the format does not count them: all up to the last used */
        int32_t last = RW_MAX_FEATURE;
        while (last >= 0 && !r->had[last])
            last--;
        for (int32_t f = (int32_t)rw_column_feature(r->rules, r->base, r->rules->first_column);
             f <= last; f++)
            r->had[f] = 1;
    }
    for (int32_t f = 0; f <= RW_MAX_FEATURE; f++)
        n_features += r->had[f];
    RW_TRY(RW_NEW(r->ctx, model->feature, n_features));
    for (int32_t f = 0; f <= RW_MAX_FEATURE; f++) {
        if (r->had[f])
            model->feature[model->n_features++] = (uint32_t)f;
    }
    RW_TRY(RW_NEW(r->ctx, model->name, from->column_name ? from->n_columns : 0));
    for (uint32_t i = 0; from->column_name && i < from->n_columns; i++) {
        const uint32_t column = i + r->rules->first_column;
        const int64_t feature = rw_column_feature(r->rules, r->base, column);
        const char *name = from->column_name[i];
        char made[64];
        rw_made_up_name(r->format, column, made, sizeof(made));
        if (!name || !*name || feature < 0 || strcmp(name, made) == 0)
            continue;
        model->name[n_names].feature = (uint32_t)feature;
        RW_TRY(rw_mem_copy_text(r->ctx, &model->name[n_names].name, name));
        model->n_names = (int32_t)++n_names;
    }
    return RW_OK;
}

int rw_raise(struct rw_ctx *ctx, const struct rw_ensemble *from,
             const struct rw_model_format *format, int base, const char *path,
             struct rw_model **out)
{
    struct raising r = {.ctx = ctx,
                        .path = path,
                        .format = format,
                        .rules = &format->consumer[0].rules,
                        .base = base};
    const int has_base = from->base != 0 && !r.rules->base_ignored;
    struct rw_model *model = NULL;
    int status;
    *out = NULL;
    if (from->n_trees == INT32_MAX)
        return rw_fail(ctx, RW_ERR_FORMAT, "%s: too many trees", path);
    RW_TRY_OUT(rw_model_new(ctx, &model));
    RW_TRY_OUT(RW_NEW(ctx, r.had, RW_FEATURE_IDS));
    RW_TRY_OUT(RW_NEW(ctx, model->tree, (size_t)from->n_trees + (size_t)has_base));
    model->n_trees = from->n_trees + has_base;
    model->absent_missing = r.rules->absent == RW_ABSENT_NAN;
    if (has_base)
        RW_TRY_OUT(raise_base(&r, from->base, &model->tree[0]));
    for (int32_t t = 0; t < from->n_trees; t++)
        RW_TRY_OUT(raise_tree(&r, &from->tree[t], t, &model->tree[t + has_base]));
    RW_TRY_OUT(raise_columns(&r, from, model));
    RW_TRY_OUT(rw_model_check(ctx, model));
    if (r.n_rounded > 0)
        rw_log(ctx, RW_LOG_NOTE,
               "%llu leaves of '%s' are rounded to float: a score moves by at "
               "most 2^-24 of the sum of its leaves' magnitudes",
               (unsigned long long)r.n_rounded, path);
    *out = model;
    model = NULL;
out:
    rw_mem_free(r.had);
    rw_model_free(model);
    return status;
}
