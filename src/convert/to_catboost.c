/* The format catboost: CatBoost's model as save_model(format="json") writes it. A feature is an
 * entry of float_features with ascending borders; all borders of all entries, one after the other,
 * have a number each (split_index). A float goes right when it is greater than the border. NaN is
 * minus infinity (AsFalse), infinity (AsTrue), or compared, which is false (AsIs, and without
 * has_nans): a direction for the entry, not for the node. Two entries may name the same column, so
 * a feature whose nodes disagree about NaN is two. Trees are "oblivious_trees" (a split for each
 * level, the last one that of the root) or "trees" (nodes inside one another); leaves are doubles,
 * added in the order of the trees, then scaled, then the bias is added. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/catboost_number.h"
#include "convert/json_in.h"

/* ------------------------------------------------------------------ out */

enum {
    MOST_LEFT = 65534,      /* nodes: the step over them to the right child has 16 bits there */
    BORDERS_A_BUCKET = 254, /* of an entry; buckets have 16 bits too */
    MOST_BUCKETS = 65536
};

struct border {
    uint32_t column;
    uint8_t nan_right;
    float at;
};

struct writing {
    const struct rw_ensemble *ensemble;
    struct border *border; /* [n] ascending, each once; owned */
    size_t n;
};

static int by_border(const void *a, const void *b)
{
    const struct border *x = a, *y = b;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->nan_right != y->nan_right)
        return x->nan_right < y->nan_right ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static struct border border_of(const struct rw_ens_node *node)
{
    return (struct border){node->column, node->nan == RW_NAN_RIGHT, (float)node->threshold};
}

static int same_entry(const struct border *a, const struct border *b)
{
    return a->column == b->column && a->nan_right == b->nan_right;
}

static int number_borders(struct writing *w, struct rw_put *put)
{
    size_t n_splits = 0, n = 0, n_buckets = 0, in_entry = 0;
    for (int32_t t = 0; t < w->ensemble->n_trees; t++)
        n_splits += (size_t)w->ensemble->tree[t].n_nodes / 2;
    put->status = RW_NEW(put->ctx, w->border, n_splits);
    RW_TRY(put->status);
    for (int32_t t = 0; t < w->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &w->ensemble->tree[t];
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            if (tree->node[i].left >= 0)
                w->border[n++] = border_of(&tree->node[i]);
        }
    }
    qsort(w->border, n, sizeof(*w->border), by_border);
    for (size_t i = 0; i < n; i++) {
        struct border *last = w->n > 0 ? &w->border[w->n - 1] : NULL;
        if (last && by_border(last, &w->border[i]) == 0)
            continue;
        in_entry = last && same_entry(last, &w->border[i]) ? in_entry + 1 : 0;
        n_buckets += in_entry % BORDERS_A_BUCKET == 0;
        w->border[w->n++] = w->border[i];
    }
    if (n_buckets > MOST_BUCKETS)
        rw_put_refuse(put, "%zu buckets of %d thresholds of a feature; CatBoost has numbers for %d",
                      n_buckets, BORDERS_A_BUCKET, MOST_BUCKETS);
    return put->status;
}

/* ------------------------------------------------------------------ features */

/* An entry for a column with the borders from `begin` on that are of it; returns their end. */
static size_t put_entry(const struct writing *w, uint32_t column, size_t begin, struct rw_put *put)
{
    const struct border *first = &w->border[begin];
    const int is_used = begin < w->n && first->column == column;
    size_t i = begin;
    rw_put_format(put, "{\"feature_index\":%u,\"flat_feature_index\":%u,\"feature_id\":", column,
                  column);
    rw_put_json_text(put, w->ensemble->column_name ? w->ensemble->column_name[column] : "");
    rw_put_format(put, ",\"has_nans\":%s,\"nan_value_treatment\":\"%s\",\"borders\":[",
                  is_used ? "true" : "false",
                  !is_used           ? "AsIs"
                  : first->nan_right ? "AsTrue"
                                     : "AsFalse");
    for (; is_used && i < w->n && same_entry(&w->border[i], first); i++)
        rw_put_format(put, "%s%lf", i > begin ? "," : "", (double)w->border[i].at);
    rw_put_text(put, "]}");
    return i;
}

static void put_features(const struct writing *w, struct rw_put *put)
{
    size_t at = 0;
    rw_put_text(put, "\"features_info\":{\"float_features\":[");
    for (uint32_t column = 0; column < w->ensemble->n_columns; column++) {
        do {
            rw_put_text(put, column > 0 || at > 0 ? ",\n" : "\n");
            at = put_entry(w, column, at, put);
        } while (at < w->n && w->border[at].column == column);
    }
    rw_put_text(put, "\n]},\n");
}

/* ------------------------------------------------------------------ trees */

static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct writing *w = user;
    if (at->node->left < 0) { /* cover is not known: as if each had one document */
        rw_put_text(put, "{\"value\":");
        rw_catboost_put_double(put, at->node->value);
        rw_put_text(put, ",\"weight\":1}");
        return;
    }
    const struct border key = border_of(at->node);
    const struct border *border = bsearch(&key, w->border, w->n, sizeof(key), by_border);
    rw_put_format(put,
                  "{\"split\":{\"border\":%lf,\"float_feature_index\":%u,\"split_index\":%zu,"
                  "\"split_type\":\"FloatFeature\"},\"left\":",
                  (double)key.at, key.column, (size_t)(border - w->border));
}

/* Is no left child the root of more nodes than can be stepped over? */
static int check_left(const struct rw_ens_tree *tree, int32_t t, struct rw_put *put)
{
    int32_t *size = NULL; /* [n_nodes] nodes from each on down; parents stand before children */
    if (tree->n_nodes <= MOST_LEFT)
        return RW_OK;
    put->status = RW_NEW(put->ctx, size, (size_t)tree->n_nodes);
    for (int32_t i = tree->n_nodes - 1; i >= 0 && put->status == RW_OK; i--) {
        const struct rw_ens_node *node = &tree->node[i];
        size[i] = node->left < 0 ? 1 : 1 + size[node->left] + size[node->right];
        if (node->left >= 0 && size[node->left] > MOST_LEFT)
            rw_put_refuse(put, "tree %d, node %d: %d nodes to its left; CatBoost takes at most %d",
                          t + 1, i, size[node->left], MOST_LEFT);
    }
    rw_mem_free(size);
    return put->status;
}

static int put_trees(const struct writing *w, struct rw_put *put)
{
    /* CatBoost's reader recurses; jansson takes 2,048 levels. */
    static const struct rw_walk walk = {begin_node, ",\"right\":", "}", .deepest = 1000};
    rw_put_text(put, "\"trees\":[");
    for (int32_t t = 0; t < w->ensemble->n_trees; t++) {
        RW_TRY(check_left(&w->ensemble->tree[t], t, put));
        rw_put_text(put, t > 0 ? ",\n" : "\n");
        RW_TRY(rw_walk_tree(&walk, w->ensemble, t, w, put));
    }
    rw_put_text(put, "\n],\n");
    return put->status;
}

static int write_catboost(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    struct writing w = {.ensemble = ensemble};
    int status;
    if (ensemble->n_trees == 0) /* loaded there, but not applied: "Empty tree range [0, 0)" */
        return rw_put_refuse(
            put, "a model without trees is none in CatBoost, which needs one to predict");
    RW_TRY_OUT(number_borders(&w, put));
    rw_put_text(put, "{\"model_info\":{},\n");
    put_features(&w, put);
    RW_TRY_OUT(put_trees(&w, put));
    rw_put_text(put, "\"scale_and_bias\":[1,[0]]}\n");
    status = put->status;
out:
    rw_mem_free(w.border);
    return status;
}

/* ------------------------------------------------------------------ in */

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
};

/* An array, or null, as CatBoost writes one without elements. */
static const json_t *array_or_null(struct rw_source *source, const json_t *object, const char *name)
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
    } kinds[] = {{"categorical_features", "categorical"},
                 {"ctrs", "categories' statistics (ctr)"},
                 {"text_features", "text"},
                 {"embedding_features", "embedding"},
                 {"estimated_features", "estimated"}};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        const size_t n = json_array_size(array_or_null(source, info, kinds[i].name));
        if (n > 0)
            rw_refuse(source, "'%s' has %zu: only float features are carried, not %s",
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
    const json_t *borders = array_or_null(source, entry, "borders");
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

static void read_name(struct rw_source *source, const json_t *entry, uint32_t column,
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

static void read_features(struct rw_source *source, struct reading *r, const json_t *root,
                          struct rw_ensemble *out)
{
    const json_t *info = rw_json_object(source, root, "features_info");
    check_kinds(source, info);
    const json_t *features = array_or_null(source, info, "float_features");
    const size_t n = json_array_size(features);
    int64_t last = -1;
    for (size_t i = 0; i < n; i++) {
        const int64_t flat = rw_json_integer(source, json_array_get(features, i),
                                             "flat_feature_index", 0, RW_MAX_FEATURE);
        last = flat > last ? flat : last;
    }
    rw_set_columns(source, out, (uint64_t)(last + 1));
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        const json_t *entry = json_array_get(features, i);
        struct read_border border = {
            .column = (uint32_t)rw_json_integer(source, entry, "flat_feature_index", 0, last),
            .feature_index = rw_json_integer(source, entry, "feature_index", 0, RW_MAX_FEATURE)};
        out->column_had[border.column] = 1;
        border.nan = read_nan(source, entry);
        read_name(source, entry, border.column, out);
        read_borders(source, r, entry, border);
    }
}

/* ------------------------------------------------------------------ trees */

static void read_split(struct rw_source *source, const struct reading *r, const json_t *split,
                       struct rw_ens_node *node)
{
    const json_t *type = json_object_get(split, "split_type");
    const char *kind = json_is_string(type) ? json_string_value(type) : "?";
    if (type && strcmp(kind, "FloatFeature") != 0)
        rw_refuse(source, "a split of type '%.40s'; expected 'FloatFeature'", kind);
    const int64_t index = rw_json_integer(source, split, "split_index", 0, INT32_MAX);
    if ((uint64_t)index >= r->n)
        rw_refuse(source, "'split_index' is %lld, but there are %zu borders", (long long)index,
                  r->n);
    if (source->status < 0)
        return;
    const struct read_border *border = &r->border[index];
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
    const json_t *splits = array_or_null(source, from, "splits");
    const json_t *leaves = rw_json_array(source, from, "leaf_values", -1);
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
    }
}

static void read_trees(struct rw_source *source, struct reading *r, const json_t *root,
                       struct rw_ensemble *out)
{
    const int is_oblivious = json_object_get(root, "oblivious_trees") != NULL;
    if (is_oblivious == (json_object_get(root, "trees") != NULL))
        rw_refuse(source, "expected either 'oblivious_trees' or 'trees'");
    const json_t *trees = array_or_null(source, root, is_oblivious ? "oblivious_trees" : "trees");
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

static int parse_catboost(struct rw_source *source, struct rw_ensemble *out)
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
    return source->status;
}

/* Its trees read floats and add doubles; who calls it hands over every column. */
const struct rw_model_format rw_to_catboost = {
    .name = "catboost",
    .about = "CatBoost's saved model, JSON",
    .consumer = {{.name = "CatBoost",
                  .rules = {.sum = RW_F64, .nan_by_node = 1, .absent = RW_ABSENT_AS_MODEL}}},
    .names = RW_NAMES_GIVEN,
    .name_prefix = "", /* a feature without a name is called by its number there */
    .imports = 1,
    .write = write_catboost,
    .parse = parse_catboost,
};
