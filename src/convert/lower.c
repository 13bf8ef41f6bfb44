/* Our trees in another program's terms. What the format cannot represent exactly is refused here,
 * by name. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"
#include "dataset/dataset.h"

struct lowering {
    struct rw_ctx *ctx;
    const struct rw_model *model;
    const struct rw_model_format *format;
    const struct rw_rules *rules;
    int64_t base;
    int lossy;
    uint8_t *had;                                 /* [RW_FEATURE_IDS] known, or in a split; owned */
    uint64_t n_directions, n_thresholds, n_names; /* left out */
};

/* ------------------------------------------------------------------ trees */

static int lower_split(struct lowering *l, int32_t t, int32_t i, struct rw_ens_node *node)
{
    const struct rw_tree *tree = &l->model->tree[t];
    const int32_t n_splits = tree->n_leaves - 1;
    const int64_t column = (int64_t)tree->feature[i] - l->base + l->rules->first_column;
    const char *format = l->format->name;
    if ((int64_t)tree->feature[i] < l->base)
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                       "tree %d, node %d: feature %u has no id in '%s', where ids begin at %u%s",
                       t + 1, i, tree->feature[i], format, l->rules->first_column,
                       l->rules->first_column == l->base
                           ? "\nhint: --feature-base 0 shifts ids, so that feature 0 is the first"
                           : "\nhint: --feature-base 1 leaves feature 0 out");
    node->left = tree->left[i] >= 0 ? tree->left[i] : n_splits + ~tree->left[i];
    node->right = tree->right[i] >= 0 ? tree->right[i] : n_splits + ~tree->right[i];
    node->column = (uint32_t)column;
    l->had[tree->feature[i]] = 1;
    node->less = (uint8_t)l->rules->less;
    node->gain = tree->gain[i];
    if (!rw_rules_threshold(l->rules, tree->cut[i], &node->threshold)) {
        if (!l->lossy || l->rules->slack <= 0)
            return rw_fail(
                l->ctx, RW_ERR_UNSUPPORTED,
                "tree %d, node %d: '%s' has no threshold that splits values where the cut %g "
                "does%s",
                t + 1, i, format, (double)tree->cut[i],
                l->rules->slack > 0 ? "\nhint: --lossy takes the nearest" : "");
        l->n_thresholds++;
    }
    node->nan = tree->missing_left[i] ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (l->rules->nan_by_node)
        return RW_OK;
    node->nan = (uint8_t)l->rules->nan;
    /* Where training saw no missing value, missing goes where 0 does: no direction worth carrying.
     */
    const int carried = l->rules->nan == RW_NAN_FALSE && !tree->missing_left[i];
    if (!carried && tree->missing_left[i] != (0.0f <= tree->cut[i])) {
        if (!l->lossy)
            return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                           "tree %d, node %d: a missing value goes %s, but 0 the other way; '%s' "
                           "cannot say so\nhint: --lossy leaves such directions out",
                           t + 1, i, tree->missing_left[i] ? "left" : "right", format);
        l->n_directions++;
    }
    return RW_OK;
}

static int lower_tree(struct lowering *l, int32_t t, struct rw_ensemble *out)
{
    const struct rw_tree *tree = &l->model->tree[t];
    const int32_t n_splits = tree->n_leaves - 1;
    struct rw_ens_tree *to;
    if (tree->n_leaves > INT32_MAX / 2)
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED, "tree %d: %d leaves", t + 1, tree->n_leaves);
    RW_TRY(rw_ensemble_add_tree(l->ctx, out, n_splits + tree->n_leaves, &to));
    for (int32_t i = 0; i < n_splits; i++)
        RW_TRY(lower_split(l, t, i, &to->node[i]));
    for (int32_t i = 0; i < tree->n_leaves; i++) {
        struct rw_ens_node *leaf = &to->node[n_splits + i];
        leaf->left = leaf->right = -1;
        leaf->value = (double)tree->leaf[i];
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ columns and names */

void rw_made_up_name(const struct rw_model_format *format, uint32_t column, char *name, size_t size)
{
    snprintf(name, size, "%s%u", format->name_prefix ? format->name_prefix : "f", column);
}

static int name_fits(const struct rw_model_format *format, const char *name)
{
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c < 32 || *c == 127 ||
            (format->name_forbids && strchr(format->name_forbids, *c)))
            return 0;
    }
    json_t *text = json_string(name); /* NULL: not UTF-8, which all their readers expect */
    json_decref(text);
    return text != NULL;
}

static int check_unique(struct lowering *l, const struct rw_ensemble *out)
{
    json_t *seen = json_object();
    int status = RW_OK;
    for (uint32_t i = 0; i < out->n_columns && status == RW_OK; i++) {
        const char *name = out->column_name[i];
        if (json_object_get(seen, name))
            status = rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                             "two features have the name '%s', which '%s' cannot tell apart", name,
                             l->format->name);
        else if (json_object_set_new(seen, name, json_null()) < 0)
            status = rw_fail(l->ctx, RW_ERR_MEMORY, "out of memory: names of features");
    }
    json_decref(seen);
    return status;
}

static int lower_names(struct lowering *l, struct rw_ensemble *out)
{
    const enum rw_names names = l->format->names;
    if (names == RW_NAMES_NONE || (names == RW_NAMES_GIVEN && l->model->n_names == 0)) {
        rw_mem_free(out->column_name);
        out->column_name = NULL;
        return RW_OK;
    }
    for (uint32_t i = 0; i < out->n_columns; i++) {
        const char *name = rw_model_feature_name(l->model, (uint32_t)((int64_t)i + l->base));
        char made[64];
        if (*name && !name_fits(l->format, name)) {
            if (!l->lossy)
                return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                               "the name of feature %u, '%s', has a character that '%s' cannot "
                               "carry\nhint: --lossy leaves such names out",
                               (uint32_t)((int64_t)i + l->base), name, l->format->name);
            l->n_names++;
            name = "";
        }
        rw_made_up_name(l->format, i + l->rules->first_column, made, sizeof(made));
        RW_TRY(rw_ensemble_name(l->ctx, out, i, *name ? name : made));
    }
    return check_unique(l, out);
}

static int lower_columns(struct lowering *l, struct rw_ensemble *out)
{
    int64_t last = RW_MAX_FEATURE;
    for (uint32_t i = 0; i < l->model->n_features; i++)
        l->had[l->model->feature[i]] = 1;
    while (last >= l->base && !l->had[last])
        last--;
    RW_TRY(rw_ensemble_set_columns(l->ctx, out, (uint64_t)(last - l->base + 1)));
    memcpy(out->column_had, l->had + l->base, out->n_columns);
    return lower_names(l, out);
}

static void warn(const struct lowering *l, uint64_t n, const char *what)
{
    if (n > 0)
        rw_log(l->ctx, RW_LOG_WARNING, "%llu %s", (unsigned long long)n, what);
}

int rw_lower(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_model_format *format,
             const struct rw_lowering *how, struct rw_ensemble *out)
{
    const struct rw_rules *rules = &format->consumer[0].rules;
    struct lowering l = {.ctx = ctx, .model = model, .format = format, .rules = rules};
    int status = RW_OK;
    memset(out, 0, sizeof(*out));
    l.base = how->base < 0 ? (int64_t)rules->first_column : how->base;
    l.lossy = how->lossy;
    RW_TRY(rw_model_check(ctx, model));
    RW_TRY_OUT(RW_NEW(ctx, l.had, RW_FEATURE_IDS));
    for (int32_t t = 0; t < model->n_trees; t++)
        RW_TRY_OUT(lower_tree(&l, t, out));
    RW_TRY_OUT(lower_columns(&l, out));
    warn(&l, l.n_directions, "nodes lose the direction of missing values");
    warn(&l, l.n_thresholds, "thresholds are the nearest that the format has");
    warn(&l, l.n_names, "feature names are left out");
out:
    rw_mem_free(l.had);
    if (status < 0)
        rw_ensemble_release(out);
    return status;
}
