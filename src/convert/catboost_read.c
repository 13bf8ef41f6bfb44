#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/catboost_model.h"
#include "convert/nested_json.h"
#include "dataset/dataset.h"

enum { DEEPEST = 24 }; /* of oblivious trees, which have 2^depth leaves; CatBoost grows 16 levels */

/* A number for each border of each entry. */
struct border {
    uint32_t column;
    int64_t feature_index; /* as splits name the entry */
    uint8_t nan;           /* enum rw_nan */
    float at;
};

/* The source, and what nodes are read with. */
struct reading {
    struct rw_source source; /* first */
    struct border *border;   /* [n] owned */
    size_t n, room;
};

/* An array, or null, as CatBoost writes one without elements; *n is 0 then. */
static int array_or_null(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                         const char *name, json_t **out, size_t *n)
{
    *n = 0;
    *out = json_object_get(object, name);
    if (!*out || json_is_null(*out))
        return RW_OK;
    RW_TRY(rw_json_array(ctx, source, object, name, -1, out));
    *n = json_array_size(*out);
    return RW_OK;
}

/* ------------------------------------------------------------------ what is not carried */

/* Losses whose prediction is the sum of the leaves. */
static int check_loss(struct rw_ctx *ctx, const struct rw_source *source, const json_t *root)
{
    static const char *const plain[] = {"RMSE",
                                        "MAE",
                                        "Quantile",
                                        "GroupQuantile",
                                        "MAPE",
                                        "Lq",
                                        "Huber",
                                        "Expectile",
                                        "LogCosh",
                                        "QueryRMSE",
                                        "QuerySoftMax",
                                        "PairLogit",
                                        "PairLogitPairwise",
                                        "YetiRank",
                                        "YetiRankPairwise",
                                        "LambdaMart",
                                        "StochasticFilter",
                                        "StochasticRank"};
    const json_t *params = json_object_get(json_object_get(root, "model_info"), "params");
    json_t *loss = json_object_get(params, "loss_function");
    const char *type;
    if (!loss) /* made by another program */
        return RW_OK;
    RW_TRY(rw_json_text(ctx, source, loss, "type", &type));
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++) {
        if (strcmp(type, plain[i]) == 0)
            return RW_OK;
    }
    return rw_refuse(ctx, source,
                     "loss function '%.60s', whose prediction is not the sum of the leaves", type);
}

static int check_kinds(struct rw_ctx *ctx, const struct rw_source *source, const json_t *info)
{
    static const struct {
        const char *name, *what;
    } kinds[] = {{"categorical_features", "categorical"},
                 {"ctrs", "categories' statistics (ctr)"},
                 {"text_features", "text"},
                 {"embedding_features", "embedding"},
                 {"estimated_features", "estimated"}};
    json_t *array;
    size_t n;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        RW_TRY(array_or_null(ctx, source, info, kinds[i].name, &array, &n));
        if (n > 0)
            return rw_refuse(ctx, source, "'%s' has %zu: only float features are carried, not %s",
                             kinds[i].name, n, kinds[i].what);
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ features */

static int read_nan(struct rw_ctx *ctx, const struct rw_source *source, const json_t *entry,
                    uint8_t *nan)
{
    const char *treatment;
    int64_t has_nans;
    RW_TRY(rw_json_integer(ctx, source, entry, "has_nans", 0, 1, &has_nans));
    RW_TRY(rw_json_text(ctx, source, entry, "nan_value_treatment", &treatment));
    const int as_true = strcmp(treatment, "AsTrue") == 0;
    if (!as_true && strcmp(treatment, "AsFalse") != 0 && strcmp(treatment, "AsIs") != 0)
        return rw_refuse(ctx, source,
                         "'nan_value_treatment' is '%.40s'; expected AsIs, AsFalse or AsTrue",
                         treatment);
    *nan = has_nans && as_true ? RW_NAN_RIGHT : RW_NAN_LEFT;
    return RW_OK;
}

static int read_borders(struct rw_ctx *ctx, struct reading *r, const json_t *entry,
                        struct border border)
{
    const struct rw_source *source = &r->source;
    json_t *borders;
    size_t n;
    RW_TRY(array_or_null(ctx, source, entry, "borders", &borders, &n));
    RW_TRY(RW_GROW(ctx, r->border, r->room, r->n + n));
    for (size_t i = 0; i < n; i++) {
        double at;
        RW_TRY(rw_json_number_at(ctx, source, borders, "borders", i, &at));
        if (!(fabs(at) <= (double)FLT_MAX))
            return rw_refuse(ctx, source, "feature %u: border %zu is %g, which is no float",
                             border.column, i, at);
        /* CatBoost finds a value's place by counting the borders below it. */
        if (i > 0 && (float)at < border.at)
            return rw_refuse(ctx, source, "feature %u: border %zu is below the one before it",
                             border.column, i);
        border.at = (float)at;
        r->border[r->n++] = border;
    }
    return RW_OK;
}

static int read_name(struct rw_ctx *ctx, const struct rw_source *source, const json_t *entry,
                     uint32_t column, struct rw_ensemble *out)
{
    const json_t *id = json_object_get(entry, "feature_id");
    const char *name = json_string_value(id);
    if (!id || json_is_null(id))
        return RW_OK;
    if (!name || strlen(name) != json_string_length(id))
        return rw_refuse(ctx, source, "feature %u: strange 'feature_id'; expected a text", column);
    return rw_ensemble_name(ctx, out, column, name);
}

static int read_features(struct rw_ctx *ctx, struct reading *r, const json_t *root,
                         struct rw_ensemble *out)
{
    const struct rw_source *source = &r->source;
    json_t *info, *features;
    size_t n;
    int64_t flat, last = -1;
    RW_TRY(rw_json_object(ctx, source, root, "features_info", &info));
    RW_TRY(check_kinds(ctx, source, info));
    RW_TRY(array_or_null(ctx, source, info, "float_features", &features, &n));
    for (size_t i = 0; i < n; i++) {
        RW_TRY(rw_json_integer(ctx, source, json_array_get(features, i), "flat_feature_index", 0,
                               RW_MAX_FEATURE, &flat));
        last = flat > last ? flat : last;
    }
    RW_TRY(rw_ensemble_set_columns(ctx, out, (uint64_t)(last + 1)));
    for (size_t i = 0; i < n; i++) {
        const json_t *entry = json_array_get(features, i);
        struct border border = {0};
        RW_TRY(rw_json_integer(ctx, source, entry, "flat_feature_index", 0, last, &flat));
        RW_TRY(rw_json_integer(ctx, source, entry, "feature_index", 0, RW_MAX_FEATURE,
                               &border.feature_index));
        border.column = (uint32_t)flat;
        out->column_had[flat] = 1;
        RW_TRY(read_nan(ctx, source, entry, &border.nan));
        RW_TRY(read_name(ctx, source, entry, border.column, out));
        RW_TRY(read_borders(ctx, r, entry, border));
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ trees */

static int read_split(struct rw_ctx *ctx, const struct reading *r, const json_t *split,
                      struct rw_ens_node *node)
{
    const struct rw_source *source = &r->source;
    const json_t *type = json_object_get(split, "split_type");
    int64_t index, feature;
    double at;
    if (type && (!json_is_string(type) || strcmp(json_string_value(type), "FloatFeature") != 0))
        return rw_refuse(ctx, source, "a split of type '%.40s'; expected 'FloatFeature'",
                         json_is_string(type) ? json_string_value(type) : "?");
    RW_TRY(rw_json_integer(ctx, source, split, "split_index", 0, INT32_MAX, &index));
    if ((uint64_t)index >= r->n)
        return rw_refuse(ctx, source, "'split_index' is %lld, but there are %zu borders",
                         (long long)index, r->n);
    const struct border *border = &r->border[index];
    /* CatBoost goes by the number alone; the rest must not say something else. */
    if (json_object_get(split, "float_feature_index")) {
        RW_TRY(rw_json_integer(ctx, source, split, "float_feature_index", 0, RW_MAX_FEATURE,
                               &feature));
        if (feature != border->feature_index)
            return rw_refuse(ctx, source, "'split_index' %lld is of feature %lld, not %lld",
                             (long long)index, (long long)border->feature_index,
                             (long long)feature);
    }
    if (json_object_get(split, "border")) {
        RW_TRY(rw_json_number(ctx, source, split, "border", &at));
        if (!(fabs(at) <= (double)FLT_MAX) || (float)at != border->at)
            return rw_refuse(ctx, source, "'split_index' %lld is the border %g, not %g",
                             (long long)index, (double)border->at, at);
    }
    node->column = border->column;
    node->nan = border->nan;
    node->threshold = (double)border->at;
    return RW_OK;
}

static int read_node(struct rw_ctx *ctx, const struct rw_source *source, const json_t *from,
                     struct rw_ens_node *node, const json_t *child[2])
{
    const struct reading *r = (const struct reading *)(const void *)source; /* its first member */
    const json_t *value = json_object_get(from, "value");
    json_t *object;
    if (value) {
        if (json_is_array(value))
            return rw_refuse(ctx, source, "leaves of several values");
        if (json_object_get(from, "split"))
            return rw_refuse(ctx, source, "a node with both 'value' and 'split'");
        return rw_json_number(ctx, source, from, "value", &node->value);
    }
    RW_TRY(rw_json_object(ctx, source, from, "split", &object));
    RW_TRY(read_split(ctx, r, object, node));
    RW_TRY(rw_json_object(ctx, source, from, "left", &object));
    child[0] = object;
    RW_TRY(rw_json_object(ctx, source, from, "right", &object));
    child[1] = object;
    return RW_OK;
}

/* All 2^depth leaves, those that no document can reach too. Level by level, the last split on top:
 * it decides the highest bit of a leaf's number. */
static int read_oblivious(struct rw_ctx *ctx, const struct reading *r, const json_t *from,
                          struct rw_ensemble *out)
{
    const struct rw_source *source = &r->source;
    json_t *splits, *leaves;
    struct rw_ens_tree *tree;
    size_t depth;
    RW_TRY(array_or_null(ctx, source, from, "splits", &splits, &depth));
    RW_TRY(rw_json_array(ctx, source, from, "leaf_values", -1, &leaves));
    const size_t n_values = json_array_size(leaves);
    const int32_t n_leaves = 1 << (depth <= DEEPEST ? depth : 0);
    if (depth > DEEPEST)
        return rw_refuse(ctx, source, "tree %d: %zu levels; expected at most %d", out->n_trees + 1,
                         depth, DEEPEST);
    if (n_values > (size_t)n_leaves && n_values % (size_t)n_leaves == 0)
        return rw_refuse(ctx, source, "tree %d: leaves of %zu values", out->n_trees + 1,
                         n_values / (size_t)n_leaves);
    if (n_values != (size_t)n_leaves)
        return rw_refuse(ctx, source, "tree %d: %zu 'leaf_values'; %zu splits make %d leaves",
                         out->n_trees + 1, n_values, depth, n_leaves);
    RW_TRY(rw_ensemble_add_tree(ctx, out, 2 * n_leaves - 1, &tree));
    for (int32_t i = 0, level = -1; i < n_leaves - 1; i++) {
        level += (i & (i + 1)) == 0; /* levels begin at 0, 1, 3, 7, ... */
        const json_t *split = json_array_get(splits, depth - 1 - (size_t)level);
        RW_TRY(read_split(ctx, r, split, &tree->node[i]));
        tree->node[i].left = 2 * i + 1;
        tree->node[i].right = 2 * i + 2;
    }
    for (int32_t i = 0; i < n_leaves; i++) {
        struct rw_ens_node *leaf = &tree->node[n_leaves - 1 + i];
        leaf->left = leaf->right = -1;
        RW_TRY(rw_json_number_at(ctx, source, leaves, "leaf_values", (size_t)i, &leaf->value));
    }
    return RW_OK;
}

static int read_trees(struct rw_ctx *ctx, const struct reading *r, const json_t *root,
                      struct rw_ensemble *out)
{
    const struct rw_source *source = &r->source;
    const int is_oblivious = json_object_get(root, "oblivious_trees") != NULL;
    const char *name = is_oblivious ? "oblivious_trees" : "trees";
    json_t *trees;
    size_t n;
    if (is_oblivious == (json_object_get(root, "trees") != NULL))
        return rw_refuse(ctx, source, "expected either 'oblivious_trees' or 'trees'");
    RW_TRY(array_or_null(ctx, source, root, name, &trees, &n));
    for (size_t i = 0; i < n; i++) {
        const json_t *tree = json_array_get(trees, i);
        RW_TRY(is_oblivious ? read_oblivious(ctx, r, tree, out)
                            : rw_nested_parse(ctx, source, tree, read_node, out));
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ the whole */

/* [scale, [bias]], or [scale, bias] of earlier versions: the bias is added to the scaled sum. */
static int read_scale(struct rw_ctx *ctx, const struct rw_source *source, const json_t *root,
                      struct rw_ensemble *out)
{
    json_t *both;
    double scale;
    if (!json_object_get(root, "scale_and_bias"))
        return RW_OK;
    RW_TRY(rw_json_array(ctx, source, root, "scale_and_bias", 2, &both));
    RW_TRY(rw_json_number_at(ctx, source, both, "scale_and_bias", 0, &scale));
    const json_t *bias = json_array_get(both, 1);
    if (json_is_array(bias)) {
        if (json_array_size(bias) > 1)
            return rw_refuse(ctx, source, "'scale_and_bias' of %zu outputs", json_array_size(bias));
        if (json_array_size(bias) == 1)
            RW_TRY(rw_json_number_at(ctx, source, bias, "scale_and_bias", 0, &out->base));
    } else if (!json_is_null(bias)) {
        RW_TRY(rw_json_number_at(ctx, source, both, "scale_and_bias", 1, &out->base));
    }
    for (int32_t t = 0; t < out->n_trees; t++)
        out->tree[t].weight = scale;
    return RW_OK;
}

int rw_catboost_parse(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    struct reading r = {.source = *source};
    json_t *root;
    int status;
    /* Parameters that nobody set are 2^64 - 1 there. */
    RW_TRY(rw_json_load_reals(ctx, source, &root));
    RW_TRY_OUT(check_loss(ctx, source, root));
    RW_TRY_OUT(read_features(ctx, &r, root, out));
    RW_TRY_OUT(read_trees(ctx, &r, root, out));
    RW_TRY_OUT(read_scale(ctx, source, root, out));
out:
    json_decref(root);
    rw_mem_free(r.border);
    return status;
}
