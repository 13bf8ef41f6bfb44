/* Reads CatBoost's models; to_catboost.c describes the format. Of categorical splits it reads two
 * kinds: comparisons with one value, and statistics in the form that to_catboost.c writes. */
#include <float.h>

#include "convert/convert.h"

enum { DEEPEST = 24 }; /* most levels of oblivious trees, with 2^levels leaves; CatBoost grows 16 */

/* The meaning of a split's number (split_index): a border of a numerical feature, one category, or
 * a statistic, which is a set of categories. */
struct numbered {
    enum kind { BORDER, ONE, SET } kind;
    int64_t stated; /* BORDER: its feature_index; ONE: the category's hash, as an int; SET: 0 */
    struct rw_ens_node node; /* the split, without its children */
};
/* The categories for which a test holds. */
struct set {
    uint32_t column, n;
    int has_missing;                      /* 1: it also holds for a missing value */
    uint32_t category[RW_MAX_CATEGORIES]; /* [n] indexes in `word` of struct reading */
};
/* A word of cat_features_hash. */
struct known {
    uint32_t hash;
    const char *text; /* borrowed from the file's JSON */
};
/* An entry of categorical_features. */
struct entry {
    int64_t index; /* its feature_index, by which statistics name it */
    uint32_t column;
};
struct reading {
    struct rw_source *source;
    struct numbered *number; /* [n] by split_index */
    size_t n, room;
    struct known *word; /* [n_words] sorted by hash */
    uint32_t n_words;
    struct entry *entry; /* [n_entries] */
    size_t n_entries;
};

/* Returns an array, or NULL for null, which CatBoost writes for an empty array. */
static const json_t *optional_array(struct rw_source *source, const json_t *object,
                                    const char *name)
{
    const json_t *value = json_object_get(object, name);
    return !value || json_is_null(value) ? NULL : rw_json_array(source, object, name, -1);
}

/* Refuses losses whose prediction is not the sum of the leaves. Files of other programs, such as
 * Rankwood's, state no loss, and are accepted. */
static void check_loss(struct rw_source *source, const json_t *root)
{
    static const char plain[] =
        "RMSE MAE Quantile GroupQuantile MAPE Lq Huber Expectile LogCosh QueryRMSE QuerySoftMax "
        "PairLogit YetiRank LambdaMart PairLogitPairwise YetiRankPairwise StochasticFilter "
        "StochasticRank";
    const json_t *params = json_object_get(json_object_get(root, "model_info"), "params");
    const json_t *loss = json_object_get(params, "loss_function");
    const char *type = loss ? rw_json_text(source, loss, "type") : "RMSE";
    if (!rw_is_among(type, strlen(type), plain))
        rw_refuse(source,
                  "unsupported loss function '%.60s': its prediction is not the sum of the leaves",
                  type);
}

static void check_kinds(struct rw_source *source, const json_t *info)
{
    static const char *const kinds[] = {"text", "embedding", "estimated"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        char name[32];
        snprintf(name, sizeof(name), "%s_features", kinds[i]);
        const size_t n = json_array_size(optional_array(source, info, name));
        if (n > 0)
            rw_refuse(source,
                      "'%s' has %zu features: only numerical and categorical features can be "
                      "imported, not %s",
                      name, n, kinds[i]);
    }
}

/* Reads the entry's feature_id, if it has one. */
static void read_name(struct reading *r, const json_t *entry, uint32_t column)
{
    const json_t *id = json_object_get(entry, "feature_id");
    const char *name = rw_json_plain(id);
    if (!id || json_is_null(id))
        return;
    if (!name)
        rw_refuse(r->source, "feature %u: invalid 'feature_id': expected a string", column);
    else
        rw_add_name(r->source, column, name);
}

/* ---- words ---- */

static int by_hash(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : strcmp(x->text, y->text);
}

static void read_words(struct reading *r, const json_t *info)
{
    struct rw_source *source = r->source;
    const json_t *words = optional_array(source, info, "cat_features_hash");
    const size_t n = json_array_size(words);
    if (RW_READ_NEW(source, r->word, n) < 0)
        return;
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        const json_t *word = json_array_get(words, i);
        const uint32_t hash =
            (uint32_t)rw_json_integer(source, word, "hash", 0, (int64_t)UINT32_MAX);
        const char *text = rw_json_text(source, word, "value");
        if (rw_catboost_hash(text) != hash)
            rw_refuse(source, "'cat_features_hash' has '%.64s' as %u; its hash is %u", text, hash,
                      rw_catboost_hash(text));
        r->word[i] = (struct known){hash, text};
    }
    if (source->status == RW_OK)
        r->n_words = (uint32_t)rw_sort_unique(r->word, n, sizeof(*r->word), by_hash);
}

static void add_category(struct reading *r, uint32_t hash, struct set *to)
{
    struct rw_source *source = r->source;
    if (hash == rw_catboost_hash("")) {
        to->has_missing = 1;
        return;
    }
    const uint32_t low = rw_records_under(r->word, sizeof(*r->word), r->n_words, hash);
    if (low == r->n_words || r->word[low].hash != hash)
        rw_refuse(source,
                  "feature %u: 'cat_features_hash' has no category with the hash %u; pass the pool "
                  "to CatBoost's save_model, so that it writes the categories",
                  to->column, hash);
    else if (low + 1 < r->n_words && r->word[low + 1].hash == hash)
        rw_refuse(source, "feature %u: '%.64s' and '%.64s' have the same hash", to->column,
                  r->word[low].text, r->word[low + 1].text);
    else if (to->n == RW_MAX_CATEGORIES)
        rw_refuse(source, "feature %u: a split of more than %d categories, the limit of Rankwood",
                  to->column, RW_MAX_CATEGORIES);
    else
        to->category[to->n++] = low;
}

static void add_number(struct reading *r, enum kind kind, int64_t stated, struct rw_ens_node node)
{
    if (RW_READ_GROW(r->source, r->number, r->room, r->n + 1) == RW_OK)
        r->number[r->n++] = (struct numbered){kind, stated, node};
}

static void add_set(struct reading *r, enum kind kind, int64_t stated, struct set *set)
{
    struct rw_ens_node node = {.left = -1,
                               .right = -1,
                               .column = set->column,
                               .nan = set->has_missing ? RW_NAN_RIGHT : RW_NAN_LEFT};
    RW_SORT(set->category, set->n, rw_by_u32);
    rw_add_set(r->source, &node, set->category, set->n);
    add_number(r, kind, stated, node);
}

/* ---- values ---- */

/* Gives a categorical column the words of the file, which all categorical columns share. Nodes list
 * them by index. */
static void name_words(struct reading *r, uint32_t column)
{
    struct rw_ens_categories *categories = r->source->out->categories;
    const char **text;
    if (r->n_entries > 0)
        categories[column] = categories[r->entry[0].column];
    if (r->n_entries > 0 || RW_READ_NEW(r->source, text, r->n_words) < 0)
        return;
    for (uint32_t i = 0; i < r->n_words; i++)
        text[i] = r->word[i].text;
    rw_add_categories(r->source, column, NULL, text, r->n_words);
}

static void read_entry(struct reading *r, const json_t *from)
{
    struct rw_source *source = r->source;
    const json_t *values = optional_array(source, from, "values");
    const struct entry entry = {rw_json_integer(source, from, "feature_index", 0, INT32_MAX),
                                (uint32_t)rw_json_integer(source, from, "flat_feature_index", 0,
                                                          (int64_t)r->source->out->n_columns - 1)};
    if (source->status == RW_OK)
        name_words(r, entry.column);
    if (source->status < 0)
        return;
    r->entry[r->n_entries++] = entry;
    r->source->out->column_had[entry.column] = 1;
    read_name(r, from, entry.column);
    for (size_t i = 0; i < json_array_size(values) && source->status == RW_OK; i++) {
        struct set set = {.column = entry.column};
        const int64_t value =
            rw_json_whole(source, json_array_get(values, i), "values", INT32_MIN, INT32_MAX);
        add_category(r, (uint32_t)value, &set);
        add_set(r, ONE, value, &set);
    }
}

/* ---- statistics ---- */

/* Returns the entry whose categories a statistic counts. The statistic must be 'Buckets' of one
 * feature, and its test must mean "count above 0". */
static const struct entry *check_statistic(struct reading *r, const json_t *from)
{
    static const struct {
        const char *name;
        int value;
    } parts[] = {{"prior_numerator", 0}, {"prior_denomerator", 1}, {"shift", 0}, {"scale", 1}};
    static const char expected[] =
        "expected 'Buckets' of one feature, above 0 where a category belongs to a class";
    struct rw_source *source = r->source;
    const char *type = rw_json_text(source, from, "ctr_type");
    const json_t *elements = rw_json_array(source, from, "elements", -1);
    const json_t *borders = rw_json_array(source, from, "borders", -1);
    const json_t *element = json_array_get(elements, 0);
    int right = strcmp(type, "Buckets") == 0 && json_array_size(elements) == 1 &&
                json_array_size(borders) == 1 && json_number_value(json_array_get(borders, 0)) == 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        right &= rw_json_number(source, from, parts[i].name) == (double)parts[i].value;
    if (!right) {
        rw_refuse(source, "a statistic (ctr) of type '%.40s'; %s", type, expected);
        return NULL;
    }
    if (strcmp(rw_json_text(source, element, "combination_element"), "cat_feature_value") != 0)
        rw_refuse(source, "a statistic (ctr) of a combination; %s", expected);
    const int64_t index = rw_json_integer(source, element, "cat_feature_index", 0, INT32_MAX);
    for (size_t i = 0; source->status == RW_OK && i < r->n_entries; i++) {
        if (r->entry[i].index == index)
            return &r->entry[i];
    }
    rw_refuse(source, "a statistic of unknown categorical feature %lld", (long long)index);
    return NULL;
}

/* Returns the rows of the statistic's table: a key, and a count for each class. */
static const json_t *find_table(struct reading *r, const json_t *root, const json_t *from,
                                const struct entry *entry, size_t *stride)
{
    struct rw_source *source = r->source;
    const char *identifier = rw_json_text(source, from, "identifier");
    char expected[128];
    rw_catboost_identifier(entry->index, expected);
    if (strcmp(identifier, expected) != 0)
        rw_refuse(source, "a statistic's 'identifier' is '%.120s'; expected '%s'", identifier,
                  expected);
    const json_t *table =
        rw_json_object(source, rw_json_object(source, root, "ctr_data"), identifier);
    *stride = (size_t)rw_json_integer(source, table, "hash_stride", 2, INT32_MAX);
    const json_t *rows = rw_json_array(source, table, "hash_map", -1);
    if (source->status == RW_OK && json_array_size(rows) % *stride != 0)
        rw_refuse(source, "'hash_map' has %zu elements, not a multiple of %zu",
                  json_array_size(rows), *stride);
    return rows;
}

static void read_statistic(struct reading *r, const json_t *root, const json_t *from)
{
    struct rw_source *source = r->source;
    size_t stride = 0;
    const struct entry *entry = check_statistic(r, from);
    const json_t *rows = entry ? find_table(r, root, from, entry, &stride) : NULL;
    if (source->status < 0)
        return;
    const size_t at =
        1 + (size_t)rw_json_integer(source, from, "target_border_idx", 0, (int64_t)stride - 2);
    struct set set = {.column = entry->column};
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(rows); i += stride) {
        const char *text = json_string_value(json_array_get(rows, i));
        uint64_t key = 0;
        uint32_t hash = 0;
        if (!text || !rw_number_whole(text, UINT64_MAX, &key) ||
            !rw_catboost_hash_of_key(key, &hash))
            rw_refuse(source, "'hash_map', element %zu: expected the key of a category", i);
        else if (rw_json_whole(source, json_array_get(rows, i + at), "hash_map", 0, INT32_MAX) > 0)
            add_category(r, hash, &set);
    }
    add_set(r, SET, 0, &set);
}

/* ---- features ---- */

static uint8_t read_nan(struct rw_source *source, const json_t *entry)
{
    const int64_t has_nans = rw_json_integer(source, entry, "has_nans", 0, 1);
    const char *treatment = rw_json_text(source, entry, "nan_value_treatment");
    if (!rw_is_among(treatment, strlen(treatment), "AsTrue AsFalse AsIs"))
        rw_refuse(source, "'nan_value_treatment' is '%.40s'; expected AsIs, AsFalse or AsTrue",
                  treatment);
    return has_nans && strcmp(treatment, "AsTrue") == 0 ? RW_NAN_RIGHT : RW_NAN_LEFT;
}

static void read_floats(struct reading *r, const json_t *entry)
{
    struct rw_source *source = r->source;
    const uint32_t column = (uint32_t)rw_json_integer(source, entry, "flat_feature_index", 0,
                                                      (int64_t)source->out->n_columns - 1);
    const int64_t index = rw_json_integer(source, entry, "feature_index", 0, RW_MAX_FEATURE);
    if (source->status < 0)
        return;
    source->out->column_had[column] = 1;
    const uint8_t nan = read_nan(source, entry);
    read_name(r, entry, column);
    const json_t *borders = optional_array(source, entry, "borders");
    double before = -(double)FLT_MAX;
    for (size_t i = 0; i < json_array_size(borders) && source->status == RW_OK; i++) {
        const double at = rw_json_number_at(source, borders, "borders", i);
        if (!(fabs(at) <= (double)FLT_MAX))
            rw_refuse(source, "feature %u: border %zu is %g, which does not fit a float", column, i,
                      at);
        /* CatBoost finds a value's bin by counting the borders below it, so they must ascend. */
        else if ((double)(float)at < before)
            rw_refuse(source, "feature %u: border %zu is below the previous one", column, i);
        before = (double)(float)at;
        add_number(r, BORDER, index,
                   (struct rw_ens_node){
                       .left = -1, .right = -1, .column = column, .nan = nan, .threshold = before});
    }
}

static void read_features(struct reading *r, const json_t *root)
{
    struct rw_source *source = r->source;
    const json_t *info = rw_json_object(source, root, "features_info");
    check_kinds(source, info);
    const json_t *kinds[] = {optional_array(source, info, "float_features"),
                             optional_array(source, info, "categorical_features")};
    int64_t last = -1;
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < json_array_size(kinds[k]); i++) {
            const int64_t flat = rw_json_integer(source, json_array_get(kinds[k], i),
                                                 "flat_feature_index", 0, RW_MAX_FEATURE);
            last = flat > last ? flat : last;
        }
    }
    rw_set_columns(source, (uint64_t)(last + 1));
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(kinds[0]); i++)
        read_floats(r, json_array_get(kinds[0], i));
    const json_t *statistics = optional_array(source, info, "ctrs");
    if (source->status < 0 || RW_READ_NEW(source, r->entry, json_array_size(kinds[1])) < 0)
        return;
    read_words(r, info);
    for (size_t i = 0; i < json_array_size(kinds[1]) && source->status == RW_OK; i++)
        read_entry(r, json_array_get(kinds[1], i));
    for (size_t i = 0; i < json_array_size(statistics) && source->status == RW_OK; i++)
        read_statistic(r, root, json_array_get(statistics, i));
}

/* ---- trees ---- */

/* Checks members of a split that repeat the meaning of its number. CatBoost uses the number
 * alone. */
static void check_stated(struct reading *r, const json_t *split, int64_t index,
                         const struct numbered *number)
{
    struct rw_source *source = r->source;
    if (number->kind == BORDER && json_object_get(split, "float_feature_index")) {
        const int64_t feature =
            rw_json_integer(source, split, "float_feature_index", 0, RW_MAX_FEATURE);
        if (feature != number->stated)
            rw_refuse(source, "'split_index' %lld belongs to feature %lld, not %lld",
                      (long long)index, (long long)number->stated, (long long)feature);
    }
    if (number->kind == BORDER && json_object_get(split, "border")) {
        const double at = rw_json_number(source, split, "border");
        if (!(fabs(at) <= (double)FLT_MAX) || (double)(float)at != number->node.threshold)
            rw_refuse(source, "'split_index' %lld has the border %g, not %g", (long long)index,
                      number->node.threshold, at);
    }
    if (number->kind == ONE && json_object_get(split, "value")) {
        const int64_t value = rw_json_integer(source, split, "value", INT32_MIN, INT32_MAX);
        if (value != number->stated)
            rw_refuse(source, "'split_index' %lld has the value %lld, not %lld", (long long)index,
                      (long long)number->stated, (long long)value);
    }
}

static void read_split(struct reading *r, const json_t *split, struct rw_ens_node *node)
{
    static const char *const types[] = {"FloatFeature", "OneHotFeature", "OnlineCtr"};
    struct rw_source *source = r->source;
    const json_t *type = json_object_get(split, "split_type");
    const int64_t index = rw_json_integer(source, split, "split_index", 0, INT32_MAX);
    if ((uint64_t)index >= r->n)
        rw_refuse(source, "'split_index' is %lld, but there are %zu borders and categories",
                  (long long)index, r->n);
    if (source->status < 0)
        return;
    const struct numbered *number = &r->number[index];
    const char *kind = json_is_string(type) ? json_string_value(type) : "?";
    if (type && strcmp(kind, types[number->kind]) != 0)
        rw_refuse(source, "a split of type '%.40s'; expected '%s'", kind, types[number->kind]);
    else
        check_stated(r, split, index, number);
    *node = number->node;
}

static void read_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                      const void *child[2], void *user)
{
    const json_t *value = json_object_get(from, "value");
    if (value) {
        if (json_is_array(value))
            rw_refuse(source, "unsupported leaves with several values");
        if (json_object_get(from, "split"))
            rw_refuse(source, "a node with both 'value' and 'split'");
        node->value = rw_json_number(source, from, "value");
        node->has_cover = json_object_get(from, "weight") != NULL;
        if (node->has_cover)
            node->docs = node->hessian = rw_json_number(source, from, "weight");
        return;
    }
    read_split(user, rw_json_object(source, from, "split"), node);
    child[0] = rw_json_object(source, from, "left");
    child[1] = rw_json_object(source, from, "right");
}

/* Reads all 2^depth leaves, including unreachable ones. The last split is the root and decides the
 * highest bit of a leaf's number. */
static void read_oblivious(struct reading *r, const json_t *from)
{
    struct rw_source *source = r->source;
    const json_t *splits = optional_array(source, from, "splits");
    const json_t *leaves = rw_json_array(source, from, "leaf_values", -1);
    const json_t *weights = optional_array(source, from, "leaf_weights");
    const size_t depth = json_array_size(splits), n_values = json_array_size(leaves);
    const int32_t n_leaves = 1 << (depth <= DEEPEST ? depth : 0), t = r->source->out->n_trees + 1;
    if (depth > DEEPEST)
        rw_refuse(source, "tree %d: %zu levels; expected at most %d", t, depth, DEEPEST);
    else if (n_values > (size_t)n_leaves && n_values % (size_t)n_leaves == 0)
        rw_refuse(source, "tree %d: unsupported leaves with %zu values", t,
                  n_values / (size_t)n_leaves);
    else if (n_values != (size_t)n_leaves)
        rw_refuse(source, "tree %d: %zu 'leaf_values' for %zu splits; expected %d", t, n_values,
                  depth, n_leaves);
    struct rw_ens_tree *tree = rw_add_tree(source, 2 * n_leaves - 1);
    for (int32_t i = 0, level = -1; tree && i < n_leaves - 1; i++) {
        level += (i & (i + 1)) == 0; /* levels begin at 0, 1, 3, 7, ... */
        read_split(r, json_array_get(splits, depth - 1 - (size_t)level), &tree->node[i]);
        tree->node[i].left = 2 * i + 1;
        tree->node[i].right = 2 * i + 2;
    }
    for (int32_t i = 0; tree && i < n_leaves; i++) {
        struct rw_ens_node *leaf = &tree->node[n_leaves - 1 + i];
        leaf->value = rw_json_number_at(source, leaves, "leaf_values", (size_t)i);
        leaf->has_cover = json_array_size(weights) == (size_t)n_leaves;
        if (leaf->has_cover)
            leaf->docs = leaf->hessian =
                rw_json_number_at(source, weights, "leaf_weights", (size_t)i);
    }
}

static void read_trees(struct reading *r, const json_t *root)
{
    struct rw_source *source = r->source;
    const int is_oblivious = json_object_get(root, "oblivious_trees") != NULL;
    if (is_oblivious == (json_object_get(root, "trees") != NULL))
        rw_refuse(source, "expected either 'oblivious_trees' or 'trees'");
    const json_t *trees = optional_array(source, root, is_oblivious ? "oblivious_trees" : "trees");
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(trees); i++) {
        if (is_oblivious)
            read_oblivious(r, json_array_get(trees, i));
        else
            rw_read_tree(source, json_array_get(trees, i), read_node, r);
    }
}

/* Reads [scale, [bias]], or [scale, bias] in earlier versions. The bias is added to the scaled
 * sum. */
static void read_scale(struct rw_source *source, const json_t *root)
{
    static const char name[] = "scale_and_bias";
    struct rw_ensemble *out = source->out;
    if (!json_object_get(root, name))
        return;
    const json_t *both = rw_json_array(source, root, name, 2);
    const double scale = rw_json_number_at(source, both, name, 0);
    const json_t *bias = json_array_get(both, 1);
    if (json_array_size(bias) > 1)
        rw_refuse(source, "unsupported 'scale_and_bias' with %zu outputs", json_array_size(bias));
    if (json_array_size(bias) == 1)
        out->base = rw_json_number_at(source, bias, name, 0);
    else if (!json_is_array(bias) && !json_is_null(bias))
        out->base = rw_json_number_at(source, both, name, 1);
    for (int32_t t = 0; t < out->n_trees; t++)
        out->tree[t].weight = scale;
}

int rw_catboost_parse(struct rw_source *source)
{
    struct reading r = {.source = source};
    /* CatBoost writes 2^64 - 1 for parameters that were not set, which jansson's integers cannot
     * represent. */
    RW_SCOPED(json_decref) json_t *root = rw_json_load(source, JSON_DECODE_INT_AS_REAL);
    if (root) {
        check_loss(source, root);
        read_features(&r, root);
        read_trees(&r, root);
        read_scale(source, root);
    }
    return source->status;
}
