/* Reads the formats that are XGBoost's saved model. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/xgboost_model.h"

enum array {
    A_LEFT,
    A_RIGHT,
    A_INDEX,
    A_CONDITION,
    A_DEFAULT,
    A_LEAF,
    A_TYPE,
    A_GAIN,
    A_COVER,
    N_ARRAYS, /* of a node each; those below of sets of categories */
    A_CATEGORY = N_ARRAYS,
    A_SET_NODE,
    A_SET_BEGIN,
    A_SET_SIZE,
    N_ALL_ARRAYS
};

enum { LONGEST_NUMBER = 24 };

struct reading {
    struct rw_source *source;
    const char *name[N_ALL_ARRAYS]; /* of a tree's arrays */
    /* of the tree at hand; A_TYPE, A_GAIN, A_COVER and those of sets: NULL if not there */
    const json_t *array[N_ALL_ARRAYS];
    size_t next_set; /* behind the one read last */
    int32_t number;  /* of the tree, from 1 */
    uint32_t n_columns;
};

/* XGBoost's parameters are texts: "0", "5E-1", "[5E-1]". */
static double number_of(struct reading *r, const char *name, const char *text)
{
    const char *begin = text;
    size_t n = strlen(text);
    double out;
    if (n >= 2 && *begin == '[' && begin[n - 1] == ']') {
        begin++;
        n -= 2;
        if (memchr(begin, ',', n))
            rw_refuse(r->source, "'%s' of several outputs: %.60s", name, text);
    }
    if (!rw_is_number(begin, n, &out))
        rw_refuse(r->source, "'%s': expected a number, found '%.60s'", name, text);
    return out;
}

static double param(struct reading *r, const json_t *object, const char *name, double least,
                    double most)
{
    const char *text = rw_json_text(r->source, object, name);
    const double out = number_of(r, name, text);
    if (out >= least && out <= most && out == floor(out))
        return out;
    rw_refuse(r->source, "'%s' is %.40s; expected %.0f to %.0f", name, text, least, most);
    return least;
}

/* Those whose prediction is base_score and the sum of the leaves. */
static void check_objective(struct rw_source *source, const json_t *learner)
{
    static const char *const plain[] = {"rank:ndcg",         "rank:map",
                                        "rank:pairwise",     "reg:squarederror",
                                        "reg:linear",        "reg:squaredlogerror",
                                        "reg:absoluteerror", "reg:pseudohubererror",
                                        "reg:quantileerror", NULL};
    const char *name = rw_json_text(source, rw_json_object(source, learner, "objective"), "name");
    if (!rw_is_among(name, plain))
        rw_refuse(source, "objective '%.60s', whose prediction is not the sum of the leaves", name);
}

static void read_columns(struct reading *r, const json_t *learner, struct rw_ensemble *out)
{
    struct rw_source *source = r->source;
    const json_t *names = json_object_get(learner, "feature_names");
    if (rw_set_columns(source, out, r->n_columns) < 0)
        return;
    memset(out->column_had, 1, r->n_columns);
    if (!names || json_array_size(names) == 0)
        return;
    names = rw_json_array(source, learner, "feature_names", (int64_t)r->n_columns);
    for (uint32_t i = 0; i < r->n_columns && source->status == RW_OK; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name || strlen(name) != json_string_length(json_array_get(names, i)))
            rw_refuse(source, "'feature_names': element %u is not a text", i);
        else
            rw_keep(source, rw_ensemble_name(source->ctx, out, i, name));
    }
}

/* The words of a column's dictionary into word [n], their bytes into text. Texts stand one after
 * the other, `offsets` says where. XGBoost 3.2 counts the characters of those in pandas' frames,
 * and their bytes in others, so only texts in which these are the same are sure. */
static void copy_words(struct reading *r, const json_t *from, uint32_t column, size_t n,
                       const char **word, char *text)
{
    struct rw_source *source = r->source;
    const json_t *offsets = json_object_get(from, "offsets");
    const json_t *values = json_object_get(from, "values");
    const int64_t n_values = (int64_t)json_array_size(values);
    int64_t at = offsets ? rw_json_integer_at(source, offsets, "offsets", 0, 0, 0) : 0;
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        word[i] = text;
        if (!offsets) {
            const int64_t number =
                rw_json_integer_at(source, values, "values", i, INT64_MIN, INT64_MAX);
            text += snprintf(text, LONGEST_NUMBER, "%lld", (long long)number) + 1;
            continue;
        }
        const int64_t end = rw_json_integer_at(source, offsets, "offsets", i + 1, at, n_values);
        for (; at < end && source->status == RW_OK; at++) {
            const int64_t byte =
                rw_json_integer_at(source, values, "values", (size_t)at, -128, 255);
            if (byte < 1 || byte > 127)
                rw_refuse(source,
                          "'cats': feature %u has a word with other characters than ASCII, which "
                          "XGBoost cuts; expected plain ones",
                          column);
            *text++ = (char)byte;
        }
        *text++ = 0;
    }
}

/* XGBoost 3.1 and later: dictionaries of a data frame's columns, whose places are the categories
 * in splits. */
static void read_words(struct reading *r, const json_t *from, uint32_t column,
                       struct rw_ensemble *out)
{
    struct rw_ctx *ctx = r->source->ctx;
    const json_t *values = rw_json_array(r->source, from, "values", -1);
    const json_t *offsets = json_object_get(from, "offsets");
    const size_t n_values = json_array_size(values), n_offsets = json_array_size(offsets);
    const size_t n = !offsets ? n_values : n_offsets > 0 ? n_offsets - 1 : 0;
    const char **word = NULL;
    char *text = NULL;
    if (n == 0 || n > UINT32_MAX)
        return;
    if (rw_keep(r->source, RW_NEW(ctx, word, n)) == RW_OK)
        rw_keep(r->source, RW_NEW(ctx, text, offsets ? n_values + n : n * LONGEST_NUMBER));
    if (r->source->status == RW_OK)
        copy_words(r, from, column, n, word, text);
    if (r->source->status == RW_OK)
        rw_keep(r->source, rw_ensemble_categories(ctx, out, column, NULL, word, (uint32_t)n));
    rw_mem_free(word);
    rw_mem_free(text);
}

static void read_dictionaries(struct reading *r, const json_t *model, struct rw_ensemble *out)
{
    const json_t *all = json_object_get(json_object_get(model, "cats"), "enc");
    const size_t n = json_array_size(all);
    if (n > 0 && n != r->n_columns)
        rw_refuse(r->source, "'cats' has the categories of %zu features; expected %u", n,
                  r->n_columns);
    for (uint32_t i = 0; i < n && r->source->status == RW_OK; i++)
        read_words(r, json_array_get(all, i), i, out);
}

static int64_t integer_at(struct reading *r, enum array of, size_t i, int64_t least, int64_t most)
{
    return rw_json_integer_at(r->source, r->array[of], r->name[of], i, least, most);
}

static double number_at(struct reading *r, enum array of, size_t i)
{
    return rw_json_number_at(r->source, r->array[of], r->name[of], i);
}

/* Sets stand in the order of their nodes. */
static void read_set(struct reading *r, size_t i, struct rw_ens_node *node, struct rw_ensemble *out)
{
    struct rw_ctx *ctx = r->source->ctx;
    const size_t n_sets = json_array_size(r->array[A_SET_NODE]);
    const size_t n_all = json_array_size(r->array[A_CATEGORY]);
    uint32_t *category = NULL;
    int64_t of = -1;
    /* those of nodes that were pruned to leaves may stand between */
    while (r->next_set < n_sets && of < (int64_t)i && r->source->status == RW_OK)
        of = integer_at(r, A_SET_NODE, r->next_set++, 0, INT32_MAX);
    if (of != (int64_t)i) {
        rw_refuse(r->source, "tree %d, node %zu: a categorical split without categories", r->number,
                  i);
        return;
    }
    const size_t set = r->next_set - 1;
    const int64_t begin = integer_at(r, A_SET_BEGIN, set, 0, (int64_t)n_all);
    const int64_t n = integer_at(r, A_SET_SIZE, set, 0, (int64_t)n_all - begin);
    if (r->source->status < 0 || rw_keep(r->source, RW_NEW(ctx, category, (size_t)n)) < 0)
        return;
    for (int64_t k = 0; k < n && r->source->status == RW_OK; k++)
        category[k] = (uint32_t)integer_at(r, A_CATEGORY, (size_t)(begin + k), 0, INT32_MAX);
    rw_read_set(r->source, out, node, category, (size_t)n);
    rw_mem_free(category);
}

static void read_split(struct reading *r, size_t i, struct rw_ens_node *node,
                       struct rw_ensemble *out)
{
    node->column = (uint32_t)integer_at(r, A_INDEX, i, 0, (int64_t)r->n_columns - 1);
    node->threshold = (double)rw_json_float(number_at(r, A_CONDITION, i));
    node->nan = integer_at(r, A_DEFAULT, i, 0, 1) ? RW_NAN_LEFT : RW_NAN_RIGHT;
    node->less = 1;
    if (r->array[A_GAIN])
        node->gain = number_at(r, A_GAIN, i);
    if (r->array[A_TYPE] && integer_at(r, A_TYPE, i, 0, 1) && r->source->status == RW_OK)
        read_set(r, i, node, out);
}

static void read_tree(struct reading *r, const json_t *tree, struct rw_ensemble *out)
{
    const json_t *parameters = rw_json_object(r->source, tree, "tree_param");
    const int64_t n = (int64_t)param(r, parameters, "num_nodes", 1, INT32_MAX);
    if (json_object_get(parameters, "size_leaf_vector") &&
        param(r, parameters, "size_leaf_vector", 0, INT32_MAX) > 1)
        rw_refuse(r->source, "tree %d: leaves of several values", r->number);
    for (int a = 0; a < N_ARRAYS; a++) {
        const int is_there = a < A_TYPE || json_object_get(tree, r->name[a]);
        r->array[a] = is_there ? rw_json_array(r->source, tree, r->name[a], n) : NULL;
    }
    for (int a = A_CATEGORY; a < N_ALL_ARRAYS; a++) {
        const int is_there = json_object_get(tree, r->name[a]) != NULL;
        const int64_t sets = a > A_SET_NODE ? (int64_t)json_array_size(r->array[A_SET_NODE]) : -1;
        r->array[a] = is_there ? rw_json_array(r->source, tree, r->name[a], sets) : NULL;
    }
    r->next_set = 0;
    struct rw_ens_tree *to = rw_add_tree(r->source, out, (int32_t)n);
    for (size_t i = 0; to && i < (size_t)n && r->source->status == RW_OK; i++) {
        struct rw_ens_node *node = &to->node[i];
        node->left = (int32_t)integer_at(r, A_LEFT, i, -1, n - 1);
        node->right = (int32_t)integer_at(r, A_RIGHT, i, -1, n - 1);
        if ((node->left < 0) != (node->right < 0))
            rw_refuse(r->source, "tree %d, node %zu: one child only", r->number, i);
        if (node->left >= 0)
            read_split(r, i, node, out);
        else
            node->value = (double)rw_json_float(number_at(r, A_LEAF, i));
        node->has_cover = r->array[A_COVER] != NULL;
        node->docs = node->hessian = node->has_cover ? number_at(r, A_COVER, i) : 0;
    }
}

/* dart: a factor for each tree; only 1 leaves the leaves as they are. */
static void check_weights(struct rw_source *source, const json_t *booster, size_t n)
{
    const json_t *weights = rw_json_array(source, booster, "weight_drop", (int64_t)n);
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        const double weight = rw_json_number_at(source, weights, "weight_drop", i);
        if (weight != 1)
            rw_refuse(source, "dart: tree %zu has the weight %g", i + 1, weight);
    }
}

/* Returns how many of the n trees its own predict uses. XGBModel's (XGBRanker's) ends with the best
 * iteration of a training that stopped early; Booster's uses all. */
static size_t trees_in_use(struct reading *r, const json_t *learner, const json_t *model, size_t n)
{
    struct rw_source *source = r->source;
    const json_t *attributes = json_object_get(learner, "attributes");
    const char *text = json_string_value(json_object_get(attributes, "best_iteration"));
    double best;
    if (!text || !rw_is_number(text, strlen(text), &best) || !(best >= 0 && best < (double)n))
        return n;
    const size_t at = (size_t)best + 1;
    const json_t *begin = json_object_get(model, "iteration_indptr");
    size_t used;
    if (begin && at >= json_array_size(begin))
        return n;
    if (begin)
        used = (size_t)rw_json_integer_at(source, begin, "iteration_indptr", at, 0, (int64_t)n);
    else
        used = at * (size_t)param(r, rw_json_object(source, model, "gbtree_model_param"),
                                  "num_parallel_tree", 1, INT32_MAX);
    if (source->status < 0 || used >= n)
        return n;
    if (!json_object_get(attributes, "scikit_learn")) {
        rw_log(source->ctx, RW_LOG_NOTE,
               "'%s' was saved by a Booster, whose predict uses all %zu trees: all are imported. "
               "Its best "
               "iteration is %.20s (from 0), and booster[:%zu] has the trees up to it",
               source->path, n, text, at);
        return n;
    }
    rw_log(
        source->ctx, RW_LOG_NOTE,
        "'%s' stopped early: the first %zu of its %zu trees are imported, those that its predict "
        "uses (best iteration %.20s, from 0)",
        source->path, used, n, text);
    return used;
}

static void read_trees(struct reading *r, const json_t *learner, const json_t *booster,
                       struct rw_ensemble *out)
{
    const char *name = rw_json_text(r->source, booster, "name");
    const int is_dart = strcmp(name, "dart") == 0;
    if (!is_dart && strcmp(name, "gbtree") != 0)
        rw_refuse(r->source, "booster '%.40s'; expected 'gbtree'", name);
    const json_t *holder = is_dart ? rw_json_object(r->source, booster, "gbtree") : booster;
    const json_t *model = rw_json_object(r->source, holder, "model");
    const json_t *trees = rw_json_array(r->source, model, "trees", -1);
    const size_t n = json_array_size(trees);
    const json_t *groups = rw_json_array(r->source, model, "tree_info", (int64_t)n);
    read_dictionaries(r, model, out);
    if (is_dart)
        check_weights(r->source, booster, n);
    const size_t used = trees_in_use(r, learner, model, n);
    for (size_t i = 0; i < used && r->source->status == RW_OK; i++) {
        const int64_t group = rw_json_integer_at(r->source, groups, "tree_info", i, 0, INT32_MAX);
        if (group != 0)
            rw_refuse(r->source, "tree %zu belongs to output %lld: several classes", i + 1,
                      (long long)group);
        r->number = (int32_t)i + 1;
        read_tree(r, json_array_get(trees, i), out);
    }
}

static void read_model(struct reading *r, const json_t *root, struct rw_ensemble *out)
{
    struct rw_source *source = r->source;
    const json_t *learner = rw_json_object(source, root, "learner");
    const json_t *parameters = rw_json_object(source, learner, "learner_model_param");
    const json_t *booster = rw_json_object(source, learner, "gradient_booster");
    check_objective(source, learner);
    if (json_object_get(parameters, "num_target"))
        param(r, parameters, "num_target", 0, 1);
    param(r, parameters, "num_class", 0, 1);
    r->n_columns = (uint32_t)param(r, parameters, "num_feature", 0, RW_FEATURE_IDS);
    out->base =
        (double)(float)number_of(r, "base_score", rw_json_text(source, parameters, "base_score"));
    read_columns(r, learner, out);
    read_trees(r, learner, booster, out);
}

int rw_xgboost_parse(struct rw_source *source, json_t *root, const char *leaf_name,
                     struct rw_ensemble *out)
{
    struct reading r = {.source = source,
                        .name = {"left_children", "right_children", "split_indices",
                                 "split_conditions", "default_left", leaf_name, "split_type",
                                 "loss_changes", "sum_hessian", "categories", "categories_nodes",
                                 "categories_segments", "categories_sizes"}};
    if (root)
        read_model(&r, root, out);
    json_decref(root);
    return source->status;
}
