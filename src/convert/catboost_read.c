/* Reading CatBoost's models: to_catboost.c says what they are. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/catboost_model.h"

enum { DEEPEST = 24 }; /* of oblivious trees, which have 2^depth leaves; CatBoost grows 16 levels */

/* A number for each border of each entry. */
struct read_border {
    uint32_t column;
    int64_t feature_index; /* as splits name the entry */
    uint8_t nan;           /* enum rw_nan */
    float at;
};

/* What nodes are read with. */
struct reading {
    struct read_border *border; /* [n] owned */
    size_t n, room;
    struct rw_catboost_tests tests; /* their numbers follow; owned */
};

const json_t *rw_catboost_array(struct rw_source *source, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return !value || json_is_null(value) ? NULL : rw_json_array(source, object, name, -1);
}

/* Losses whose prediction is the sum of the leaves. A model of another program has none. */
static void check_loss(struct rw_source *source, const json_t *root)
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
                                        "YetiRank",
                                        "LambdaMart",
                                        "PairLogitPairwise",
                                        "YetiRankPairwise",
                                        "StochasticFilter",
                                        "StochasticRank",
                                        NULL};
    const json_t *params = json_object_get(json_object_get(root, "model_info"), "params");
    const json_t *loss = json_object_get(params, "loss_function");
    const char *type = loss ? rw_json_text(source, loss, "type") : plain[0];
    if (!rw_is_among(type, plain))
        rw_refuse(source, "loss function '%.60s', whose prediction is not the sum of the leaves",
                  type);
}

static void check_kinds(struct rw_source *source, const json_t *info)
{
    static const struct {
        const char *name, *what;
    } kinds[] = {{"text_features", "text"},
                 {"embedding_features", "embedding"},
                 {"estimated_features", "estimated"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t n = json_array_size(rw_catboost_array(source, info, kinds[i].name));
        if (n > 0)
            rw_refuse(source,
                      "'%s' has %zu: features of numbers and categories are carried, not %s",
                      kinds[i].name, n, kinds[i].what);
    }
}

/* ------------------------------------------------------------------ features */

static uint8_t read_nan(struct rw_source *source, const json_t *entry)
{
    static const char *const treatments[] = {"AsTrue", "AsFalse", "AsIs", NULL};
    const int64_t has_nans = rw_json_integer(source, entry, "has_nans", 0, 1);
    const char *treatment = rw_json_text(source, entry, "nan_value_treatment");
    if (!rw_is_among(treatment, treatments))
        rw_refuse(source, "'nan_value_treatment' is '%.40s'; expected AsIs, AsFalse or AsTrue",
                  treatment);
    return has_nans && strcmp(treatment, "AsTrue") == 0 ? RW_NAN_RIGHT : RW_NAN_LEFT;
}

static void read_borders(struct rw_source *source, struct reading *r, const json_t *entry,
                         struct read_border border)
{
    const json_t *borders = rw_catboost_array(source, entry, "borders");
    const size_t n = json_array_size(borders);
    if (source->status < 0 ||
        rw_keep(source, RW_GROW(source->ctx, r->border, r->room, r->n + n)) < 0)
        return;
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        const double at = rw_json_number_at(source, borders, "borders", i);
        if (!(fabs(at) <= (double)FLT_MAX))
            rw_refuse(source, "feature %u: border %zu is %g, which is no float", border.column, i,
                      at);
        /* CatBoost finds a value's bin by counting the borders below it. */
        else if (i > 0 && (float)at < border.at)
            rw_refuse(source, "feature %u: border %zu is below the one before it", border.column,
                      i);
        border.at = (float)at;
        r->border[r->n++] = border;
    }
}

void rw_catboost_read_name(struct rw_source *source, const json_t *entry, uint32_t column,
                           struct rw_ensemble *out)
{
    const json_t *id = json_object_get(entry, "feature_id");
    const char *name = json_string_value(id);
    if (!id || json_is_null(id))
        return;
    if (!name || strlen(name) != json_string_length(id))
        rw_refuse(source, "feature %u: wrong 'feature_id'; expected a text", column);
    else
        rw_keep(source, rw_ensemble_name(source->ctx, out, column, name));
}

static void read_floats(struct rw_source *source, struct reading *r, const json_t *features,
                        struct rw_ensemble *out)
{
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(features); i++) {
        const json_t *entry = json_array_get(features, i);
        struct read_border border = {
            .column = (uint32_t)rw_json_integer(source, entry, "flat_feature_index", 0,
                                                (int64_t)out->n_columns - 1),
            .feature_index = rw_json_integer(source, entry, "feature_index", 0, RW_MAX_FEATURE)};
        if (source->status < 0)
            return;
        out->column_had[border.column] = 1;
        border.nan = read_nan(source, entry);
        rw_catboost_read_name(source, entry, border.column, out);
        read_borders(source, r, entry, border);
    }
}

static void read_features(struct rw_source *source, struct reading *r, const json_t *root,
                          struct rw_ensemble *out)
{
    const json_t *info = rw_json_object(source, root, "features_info");
    check_kinds(source, info);
    const json_t *kinds[] = {rw_catboost_array(source, info, "float_features"),
                             rw_catboost_array(source, info, "categorical_features")};
    int64_t last = -1;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < json_array_size(kinds[k]); i++) {
            const int64_t flat = rw_json_integer(source, json_array_get(kinds[k], i),
                                                 "flat_feature_index", 0, RW_MAX_FEATURE);
            last = flat > last ? flat : last;
        }
    }
    rw_set_columns(source, out, (uint64_t)(last + 1));
    if (source->status == RW_OK)
        read_floats(source, r, kinds[0], out);
    if (source->status == RW_OK)
        rw_catboost_read_tests(source, root, info, &r->tests, out);
}

/* ------------------------------------------------------------------ trees */

static void read_border_split(struct rw_source *source, const struct read_border *border,
                              int64_t index, const json_t *split, struct rw_ens_node *node)
{
    /* CatBoost goes by the number alone; the rest must not say something else. */
    if (json_object_get(split, "float_feature_index")) {
        const int64_t feature =
            rw_json_integer(source, split, "float_feature_index", 0, RW_MAX_FEATURE);
        if (feature != border->feature_index)
            rw_refuse(source, "'split_index' %lld is of feature %lld, not %lld", (long long)index,
                      (long long)border->feature_index, (long long)feature);
    }
    if (json_object_get(split, "border")) {
        const double at = rw_json_number(source, split, "border");
        if (!(fabs(at) <= (double)FLT_MAX) || (float)at != border->at)
            rw_refuse(source, "'split_index' %lld is the border %g, not %g", (long long)index,
                      (double)border->at, at);
    }
    node->column = border->column;
    node->nan = border->nan;
    node->threshold = (double)border->at;
}

static void read_test_split(struct rw_source *source, const struct rw_catboost_tests *tests,
                            int64_t index, const struct rw_catboost_test *test, const json_t *split,
                            struct rw_ens_node *node)
{
    if (test->is_one && json_object_get(split, "value")) {
        const int64_t value = rw_json_integer(source, split, "value", INT32_MIN, INT32_MAX);
        if (value != test->value)
            rw_refuse(source, "'split_index' %lld is the value %d, not %lld", (long long)index,
                      test->value, (long long)value);
    }
    node->column = test->column;
    node->by_category = 1;
    node->nan = test->has_missing ? RW_NAN_RIGHT : RW_NAN_LEFT;
    if (source->status == RW_OK && test->n > 0)
        rw_keep(source, rw_ens_list(source->ctx, node, tests->category + test->first, test->n));
}

static void read_split(struct rw_source *source, const struct reading *r, const json_t *split,
                       struct rw_ens_node *node)
{
    const json_t *type = json_object_get(split, "split_type");
    const int64_t index = rw_json_integer(source, split, "split_index", 0, INT32_MAX);
    if ((uint64_t)index >= r->n + r->tests.n)
        rw_refuse(source, "'split_index' is %lld, but there are %zu borders and categories",
                  (long long)index, r->n + r->tests.n);
    if (source->status < 0)
        return;
    const struct rw_catboost_test *test =
        (uint64_t)index < r->n ? NULL : &r->tests.test[(size_t)index - r->n];
    const char *expected = !test ? "FloatFeature" : test->is_one ? "OneHotFeature" : "OnlineCtr";
    const char *kind = json_is_string(type) ? json_string_value(type) : "?";
    if (type && strcmp(kind, expected) != 0)
        rw_refuse(source, "a split of type '%.40s'; expected '%s'", kind, expected);
    else if (test)
        read_test_split(source, &r->tests, index, test, split, node);
    else
        read_border_split(source, &r->border[index], index, split, node);
}

static void read_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                      const void *child[2], void *user)
{
    const json_t *value = json_object_get(from, "value");
    if (value) {
        if (json_is_array(value))
            rw_refuse(source, "leaves of several values");
        if (json_object_get(from, "split"))
            rw_refuse(source, "a node with both 'value' and 'split'");
        node->value = rw_json_number(source, from, "value");
        node->has_cover = json_object_get(from, "weight") != NULL;
        if (node->has_cover)
            node->docs = node->hessian = rw_json_number(source, from, "weight");
        return;
    }
    read_split(source, user, rw_json_object(source, from, "split"), node);
    rw_json_children(source, from, "left", "right", child);
}

/* All 2^depth leaves, those that no document can reach too. Level by level, the last split on top:
 * it decides the highest bit of a leaf's number. */
static void read_oblivious(struct rw_source *source, const struct reading *r, const json_t *from,
                           struct rw_ensemble *out)
{
    const json_t *splits = rw_catboost_array(source, from, "splits");
    const json_t *leaves = rw_json_array(source, from, "leaf_values", -1);
    const json_t *weights = rw_catboost_array(source, from, "leaf_weights");
    const size_t depth = json_array_size(splits), n_values = json_array_size(leaves);
    const int32_t n_leaves = 1 << (depth <= DEEPEST ? depth : 0), t = out->n_trees + 1;
    if (depth > DEEPEST)
        rw_refuse(source, "tree %d: %zu levels; expected at most %d", t, depth, DEEPEST);
    else if (n_values > (size_t)n_leaves && n_values % (size_t)n_leaves == 0)
        rw_refuse(source, "tree %d: leaves of %zu values", t, n_values / (size_t)n_leaves);
    else if (n_values != (size_t)n_leaves)
        rw_refuse(source, "tree %d: %zu 'leaf_values'; %zu splits make %d leaves", t, n_values,
                  depth, n_leaves);
    struct rw_ens_tree *tree = rw_add_tree(source, out, 2 * n_leaves - 1);
    for (int32_t i = 0, level = -1; tree && i < n_leaves - 1; i++) {
        level += (i & (i + 1)) == 0; /* levels begin at 0, 1, 3, 7, ... */
        read_split(source, r, json_array_get(splits, depth - 1 - (size_t)level), &tree->node[i]);
        tree->node[i].left = 2 * i + 1;
        tree->node[i].right = 2 * i + 2;
    }
    for (int32_t i = 0; tree && i < n_leaves; i++) {
        struct rw_ens_node *leaf = &tree->node[n_leaves - 1 + i];
        leaf->left = leaf->right = -1;
        leaf->value = rw_json_number_at(source, leaves, "leaf_values", (size_t)i);
        leaf->has_cover = json_array_size(weights) == (size_t)n_leaves;
        if (leaf->has_cover)
            leaf->docs = leaf->hessian =
                rw_json_number_at(source, weights, "leaf_weights", (size_t)i);
    }
}

static void read_trees(struct rw_source *source, struct reading *r, const json_t *root,
                       struct rw_ensemble *out)
{
    const int is_oblivious = json_object_get(root, "oblivious_trees") != NULL;
    if (is_oblivious == (json_object_get(root, "trees") != NULL))
        rw_refuse(source, "expected either 'oblivious_trees' or 'trees'");
    const json_t *trees =
        rw_catboost_array(source, root, is_oblivious ? "oblivious_trees" : "trees");
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(trees); i++) {
        if (is_oblivious)
            read_oblivious(source, r, json_array_get(trees, i), out);
        else
            rw_read_tree(source, json_array_get(trees, i), read_node, r, out);
    }
}

/* [scale, [bias]], or [scale, bias] of earlier versions: the bias is added to the scaled sum. */
static void read_scale(struct rw_source *source, const json_t *root, struct rw_ensemble *out)
{
    static const char name[] = "scale_and_bias";
    if (!json_object_get(root, name))
        return;
    const json_t *both = rw_json_array(source, root, name, 2);
    const double scale = rw_json_number_at(source, both, name, 0);
    const json_t *bias = json_array_get(both, 1);
    if (json_array_size(bias) > 1)
        rw_refuse(source, "'scale_and_bias' of %zu outputs", json_array_size(bias));
    if (json_array_size(bias) == 1)
        out->base = rw_json_number_at(source, bias, name, 0);
    else if (!json_is_array(bias) && !json_is_null(bias))
        out->base = rw_json_number_at(source, both, name, 1);
    for (int32_t t = 0; t < out->n_trees; t++)
        out->tree[t].weight = scale;
}

int rw_catboost_parse(struct rw_source *source, struct rw_ensemble *out)
{
    struct reading r = {0};
    /* Parameters that nobody set are 2^64 - 1 there. */
    json_t *root = rw_json_load(source, JSON_DECODE_INT_AS_REAL);
    if (root) {
        check_loss(source, root);
        read_features(source, &r, root, out);
        read_trees(source, &r, root, out);
        read_scale(source, root, out);
    }
    json_decref(root);
    rw_mem_free(r.border);
    rw_catboost_tests_release(&r.tests);
    return source->status;
}
