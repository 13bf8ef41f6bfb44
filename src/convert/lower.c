/* Our trees in another program's terms. What the format cannot represent exactly is refused here,
 * by name. */
#include <jansson.h>
#include <stdarg.h>
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
    const struct rw_lowering *how;
    uint8_t *had;                                 /* [RW_FEATURE_IDS] known, or in a split; owned */
    uint8_t *asked;                               /* [RW_FEATURE_IDS] in a split; owned */
    uint64_t n_directions, n_thresholds, n_names; /* left out */
};

/* ------------------------------------------------------------------ trees */

/* A node, or what stands for all the nodes that may ask for a feature. */
static int refuse_split(const struct lowering *l, int32_t t, int32_t i, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
static int refuse_split(const struct lowering *l, int32_t t, int32_t i, const char *format, ...)
{
    char what[512];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return l->how->of_features
               ? rw_fail(l->ctx, RW_ERR_UNSUPPORTED, "feature %u: %s", l->model->tree[t].feature[i],
                         what)
               : rw_fail(l->ctx, RW_ERR_UNSUPPORTED, "tree %d, node %d: %s", t + 1, i, what);
}

static const char *lossy_by(const struct lowering *l)
{
    return l->how->lossy_by ? l->how->lossy_by : "--lossy";
}

static int lower_split(struct lowering *l, int32_t t, int32_t i, struct rw_ens_node *node)
{
    const struct rw_tree *tree = &l->model->tree[t];
    const int32_t n_splits = tree->n_leaves - 1;
    const int64_t column = (int64_t)tree->feature[i] - l->base + l->rules->first_column;
    const char *format = l->format->name;
    if (rw_tree_by_set(tree, i) && !l->format->categories)
        return refuse_split(l, t, i, "feature %u is categorical, and '%s' cannot say which go left",
                            tree->feature[i], format);
    if ((int64_t)tree->feature[i] < l->base)
        return refuse_split(
            l, t, i, "feature %u has no id in '%s', where ids begin at %u%s", tree->feature[i],
            format, l->rules->first_column,
            l->rules->first_column == l->base
                ? "\nhint: --feature-base 0 shifts ids, so that feature 0 is the first"
                : "\nhint: --feature-base 1 leaves feature 0 out");
    node->left = tree->left[i] >= 0 ? tree->left[i] : n_splits + ~tree->left[i];
    node->right = tree->right[i] >= 0 ? tree->right[i] : n_splits + ~tree->right[i];
    node->column = (uint32_t)column;
    l->had[tree->feature[i]] = l->asked[tree->feature[i]] = 1;
    node->less = (uint8_t)l->rules->less;
    node->gain = tree->gain[i];
    if (!rw_rules_threshold(l->rules, tree->cut[i], &node->threshold)) {
        const int may_lose = l->rules->slack > 0;
        if (!l->how->lossy || !may_lose)
            return refuse_split(
                l, t, i, "'%s' has no threshold that splits values where the cut %g does%s%s%s",
                format, (double)tree->cut[i], may_lose ? "\nhint: " : "",
                may_lose ? lossy_by(l) : "", may_lose ? " takes the nearest" : "");
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
        if (!l->how->lossy)
            return refuse_split(l, t, i,
                                "a missing value %s %s, but 0 the other way; '%s' cannot say so"
                                "\nhint: %s leaves such directions out",
                                l->how->of_features ? "may go" : "goes",
                                tree->missing_left[i] ? "left" : "right", format, lossy_by(l));
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
        if (name && json_object_get(seen, name))
            status = rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                             "two features have the name '%s', which '%s' cannot tell apart", name,
                             l->format->name);
        else if (name && json_object_set_new(seen, name, json_null()) < 0)
            status = rw_fail(l->ctx, RW_ERR_MEMORY, "out of memory: names of features");
    }
    json_decref(seen);
    return status;
}

/* The set's name of a column that trees ask for: by the feature's name where the model has names,
 * else by its place. */
static int find_in_set(const struct lowering *l, uint32_t column, const char **found)
{
    const struct rw_feature_set *set = l->how->set;
    const uint32_t feature = (uint32_t)((int64_t)column + l->base);
    const char *name = rw_model_feature_name(l->model, feature);
    *found = NULL;
    if (l->model->n_names == 0 && column >= set->n)
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                       "feature %u is not in the feature set '%s', which has %u, from feature "
                       "%lld on",
                       feature, set->path, set->n, (long long)l->base);
    if (l->model->n_names == 0)
        *found = set->name[column];
    else if (!*name)
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                       "feature %u has no name, but others have one, by which they are found in "
                       "the feature set '%s'",
                       feature, set->path);
    else if (!(*found = rw_feature_set_find(set, name)))
        return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                       "feature %u, '%s', is not in the feature set '%s'", feature, name,
                       set->path);
    return RW_OK;
}

static int lower_set_names(struct lowering *l, struct rw_ensemble *out)
{
    for (uint32_t i = 0; i < out->n_columns; i++) {
        const char *name;
        if (!l->asked[(int64_t)i + l->base])
            continue;
        RW_TRY(find_in_set(l, i, &name));
        RW_TRY(rw_ensemble_name(l->ctx, out, i, name));
    }
    return check_unique(l, out);
}

static int lower_names(struct lowering *l, struct rw_ensemble *out)
{
    const enum rw_names names = l->format->names;
    if (names == RW_NAMES_SET && l->how->set)
        return lower_set_names(l, out);
    if (names == RW_NAMES_NONE || (names == RW_NAMES_GIVEN && l->model->n_names == 0)) {
        rw_mem_free(out->column_name);
        out->column_name = NULL;
        return RW_OK;
    }
    for (uint32_t i = 0; i < out->n_columns; i++) {
        const char *name = rw_model_feature_name(l->model, (uint32_t)((int64_t)i + l->base));
        char made[64];
        if (*name && !name_fits(l->format, name)) {
            if (!l->how->lossy)
                return rw_fail(l->ctx, RW_ERR_UNSUPPORTED,
                               "the name of feature %u, '%s', has a character that '%s' cannot "
                               "carry\nhint: %s leaves such names out",
                               (uint32_t)((int64_t)i + l->base), name, l->format->name,
                               lossy_by(l));
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
    struct lowering l = {.ctx = ctx, .model = model, .format = format, .rules = rules, .how = how};
    int status = RW_OK;
    memset(out, 0, sizeof(*out));
    l.base = how->base < 0 ? (int64_t)rules->first_column : how->base;
    RW_TRY(rw_model_check(ctx, model));
    out->first_column = rules->first_column;
    out->model_name = how->model_name;
    RW_TRY_OUT(RW_NEW(ctx, l.had, RW_FEATURE_IDS));
    RW_TRY_OUT(RW_NEW(ctx, l.asked, RW_FEATURE_IDS));
    for (int32_t t = 0; t < model->n_trees; t++)
        RW_TRY_OUT(lower_tree(&l, t, out));
    RW_TRY_OUT(lower_columns(&l, out));
    warn(&l, l.n_directions, "nodes lose the direction of missing values");
    warn(&l, l.n_thresholds, "thresholds are the nearest that the format has");
    warn(&l, l.n_names, "feature names are left out");
out:
    rw_mem_free(l.had);
    rw_mem_free(l.asked);
    if (status < 0)
        rw_ensemble_release(out);
    return status;
}
