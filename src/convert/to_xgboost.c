/* XGBoost's formats.
 *
 * Its saved model has three variants: xgboost (JSON), xgboost-ubj (UBJSON) and eslr-raw. The last
 * is for Elasticsearch and OpenSearch LTR ("model/xgboost+json+raw"), which identify a feature by
 * its index among all names, require all names, and ignore base_score. Values are floats, `value <
 * threshold` goes left, NaN and absent features follow default_left, and base_score is added first.
 * A node is an index into parallel arrays. Children of -1 mark a leaf. The leaf's value is in
 * split_conditions and, for Elasticsearch and OpenSearch LTR, in base_weights. A categorical split
 * has split_type 1. Its number in categories_nodes is at an index s. The split lists
 * categories_sizes[s] elements of `categories`, from element categories_segments[s] on. These
 * categories go right. All others go left, including unseen ones.
 *
 * Its dump, dump_model(dump_format="json"), is an array of trees, with features by name and without
 * a base score. Elasticsearch and OpenSearch LTR read it ("model/xgboost+json"), as does Vespa,
 * which rounds thresholds to float but compares and adds in double.
 *
 * The formats opensearch and elasticsearch are the body of a request to the learning-to-rank
 * plugin, which makes a model of a feature set: POST _ltr/_featureset/SET/_createmodel with
 * {"model":{"name","model":{"type","definition"}}}. The definition is the dump, as a text. Of the
 * plugin's types it is the one with features by name and a direction for missing values. A name
 * that the set lacks fails the request, so the file only has names of the set. */
#include <float.h>

#include "convert/convert.h"

/* The members of a tree, in the order of the file. They are arrays with an element per node, unless
 * a comment says otherwise. */
enum member {
    BASE_WEIGHT,
    CATEGORY,  /* the lists of all categorical splits, concatenated */
    SET_NODE,  /* an element per categorical split: its node */
    SET_BEGIN, /* an element per categorical split: the index of its first category in CATEGORY */
    SET_SIZE,  /* an element per categorical split: the number of its categories */
    DEFAULT,
    ID, /* the number of the tree, not an array */
    LEFT,
    GAIN,
    PARENT,
    RIGHT,
    CONDITION,
    COLUMN,
    TYPE,
    COVER,
    N_MEMBERS
};
static const struct {
    const char *key;
    char type; /* of elements in UBJSON */
    enum { IGNORED, OPTIONAL, NEEDED } read;
} members[N_MEMBERS] = {
    [BASE_WEIGHT] = {"base_weights", 'd', IGNORED},
    [CATEGORY] = {"categories", 'l', OPTIONAL},
    [SET_NODE] = {"categories_nodes", 'l', OPTIONAL},
    [SET_BEGIN] = {"categories_segments", 'L', OPTIONAL},
    [SET_SIZE] = {"categories_sizes", 'L', OPTIONAL},
    [DEFAULT] = {"default_left", 'U', NEEDED},
    [ID] = {"id", 0, IGNORED},
    [LEFT] = {"left_children", 'l', NEEDED},
    [GAIN] = {"loss_changes", 'd', OPTIONAL},
    [PARENT] = {"parents", 'l', IGNORED},
    [RIGHT] = {"right_children", 'l', NEEDED},
    [CONDITION] = {"split_conditions", 'd', NEEDED},
    [COLUMN] = {"split_indices", 'l', NEEDED},
    [TYPE] = {"split_type", 'U', OPTIONAL},
    [COVER] = {"sum_hessian", 'd', OPTIONAL},
};

/* ---- writing ---- */

/* A node in XGBoost's order. Siblings are adjacent, because the right child must be at left + 1. */
struct place {
    int32_t node, parent, left; /* node: of the ensemble; left: -1 for a leaf */
};

/* Writes the nodes that the root reaches to at [n_nodes], in XGBoost's order. Returns their
 * number. */
static int32_t lay_out(const struct rw_ens_tree *tree, struct place *at)
{
    int32_t n = 1;
    at[0] = (struct place){0, INT32_MAX, -1};
    for (int32_t i = 0; i < n; i++) {
        const struct rw_ens_node *node = &tree->node[at[i].node];
        if (node->left < 0)
            continue;
        at[i].left = n;
        at[n++] = (struct place){node->left, i, -1};
        at[n++] = (struct place){node->right, i, -1};
    }
    return n;
}

/* Returns the element of a member for node i in XGBoost's order; for CATEGORY, the k-th one of the
 * node. before: the number of categories that earlier nodes list. */
static double element(const struct rw_ens_tree *tree, const struct place *at, enum member member,
                      int32_t i, uint32_t k, size_t before)
{
    const struct rw_ens_node *node = &tree->node[at[i].node];
    const int is_leaf = at[i].left < 0;
    const double leaf = node->value * tree->weight;
    const double value[N_MEMBERS] = {
        [BASE_WEIGHT] = is_leaf ? leaf : 0,
        [SET_NODE] = i,
        [SET_BEGIN] = (double)before,
        [SET_SIZE] = node->n_listed,
        [DEFAULT] = !is_leaf && node->nan == RW_NAN_LEFT,
        [LEFT] = at[i].left,
        [GAIN] = is_leaf ? 0 : fmax(-FLT_MAX, fmin(node->gain, FLT_MAX)), /* a float in XGBoost */
        [PARENT] = at[i].parent,
        [RIGHT] = is_leaf ? -1 : at[i].left + 1,
        [CONDITION] = is_leaf ? leaf : node->threshold,
        [COLUMN] = is_leaf ? 0 : node->column,
        [TYPE] = !is_leaf && node->by_category,
        [COVER] =
            fmin(node->docs, FLT_MAX), /* weighs XGBoost's SHAP values; Rankwood's use documents */
    };
    return member == CATEGORY ? node->listed[k] : value[member];
}

static int put_tree(const struct rw_ensemble *ensemble, int32_t t, struct rw_put *put)
{
    const struct rw_ens_tree *tree = &ensemble->tree[t];
    RW_FREED struct place *at = NULL;
    RW_TRY(RW_NEW(put->ctx, at, (size_t)tree->n_nodes));
    const int32_t n = lay_out(tree, at);
    for (enum member m = 0; m < N_MEMBERS; m++) {
        const char *comma = "";
        size_t before = 0;
        rw_put_format(put, m == ID ? "%s\"%s\":%d" : "%s\"%s\":[", m ? "," : "{", members[m].key,
                      t);
        for (int32_t i = 0; m != ID && i < n; i++) {
            const struct rw_ens_node *node = &tree->node[at[i].node];
            const uint32_t n_elements = m == CATEGORY                    ? node->n_listed
                                        : m >= SET_NODE && m <= SET_SIZE ? node->by_category
                                                                         : 1;
            for (uint32_t k = 0; k < n_elements; k++, comma = ",") {
                const double value = element(tree, at, m, i, k, before);
                rw_put_text(put, comma);
                if (members[m].type == 'd')
                    rw_put_format(put, "%f", value);
                else
                    rw_put_format(put, "%d", (int)value);
            }
            before += node->n_listed;
        }
        rw_put_text(put, m == ID ? "" : "]");
    }
    rw_put_format(put,
                  ",\"tree_param\":{\"num_deleted\":\"0\",\"num_feature\":\"%u\","
                  "\"num_nodes\":\"%d\",\"size_leaf_vector\":\"1\"}}",
                  ensemble->n_columns, n);
    return put->status;
}

static int write_json(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    const uint32_t n = ensemble->n_columns;
    const int32_t n_trees = ensemble->n_trees;
    rw_put_text(put, "{\"learner\":{\"attributes\":{},\"feature_names\":[");
    rw_put_names(put, ensemble, "", "");
    rw_put_text(put, "],\"feature_types\":[");
    /* without names and categories, types are not needed */
    for (uint32_t i = 0; (ensemble->column_name || ensemble->categories) && i < n; i++)
        rw_put_format(put, "%s\"%s\"", i ? "," : "",
                      rw_ens_categories_of(ensemble, i) ? "c" : "float");
    rw_put_format(put,
                  "],\"gradient_booster\":{\"model\":{\"gbtree_model_param\":{"
                  "\"num_parallel_tree\":\"1\",\"num_trees\":\"%d\"},\"iteration_indptr\":[",
                  n_trees);
    for (int32_t t = 0; t <= n_trees; t++)
        rw_put_format(put, "%s%d", t ? "," : "", t);
    rw_put_text(put, "],\"tree_info\":[");
    for (int32_t t = 0; t < n_trees; t++)
        rw_put_text(put, t ? ",0" : "0");
    rw_put_text(put, "],\"trees\":[");
    for (int32_t t = 0; t < n_trees; t++) {
        rw_put_text(put, t ? "," : "");
        RW_TRY(put_tree(ensemble, t, put));
    }
    rw_put_format(put,
                  "]},\"name\":\"gbtree\"},\"learner_model_param\":{\"base_score\":\"0E0\","
                  "\"boost_from_average\":\"0\",\"num_class\":\"0\",\"num_feature\":\"%u\","
                  "\"num_target\":\"1\"},\"objective\":{\"name\":\"rank:ndcg\"}},"
                  "\"version\":[2,1,0]}\n",
                  n);
    return put->status;
}

/* Writes n bytes of a number, the highest byte first. */
static void put_bits(struct rw_put *put, uint64_t bits, int n)
{
    unsigned char bytes[8];
    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(bits >> (8 * (n - 1 - i)));
    rw_put_bytes(put, bytes, (size_t)n);
}

static void put_length(struct rw_put *put, const char *before, size_t n)
{
    rw_put_format(put, "%sL", before);
    put_bits(put, n, 8);
}

/* Writes the model's JSON as UBJSON. type: of the enclosing array's elements, which then have no
 * type marks; 0 if the value needs a mark. key: of the array. */
static void put_ubjson(struct rw_put *put, const char *key, const json_t *value, char type)
{
    const char *name;
    json_t *member;
    if (json_is_object(value)) {
        rw_put_text(put, "{");
        json_object_foreach((json_t *)value, name, member)
        {
            put_length(put, "", strlen(name));
            rw_put_text(put, name);
            put_ubjson(put, name, member, 0);
        }
        rw_put_text(put, "}");
    } else if (json_is_array(value)) {
        enum member m = 0;
        while (m < N_MEMBERS && strcmp(members[m].key, key) != 0)
            m++;
        type = m < N_MEMBERS ? members[m].type : 0;
        rw_put_text(put, "[");
        if (type)
            rw_put_format(put, "$%c", type);
        put_length(put, "#", json_array_size(value));
        for (size_t i = 0; i < json_array_size(value); i++)
            put_ubjson(put, "", json_array_get(value, i), type);
    } else if (json_is_string(value)) {
        put_length(put, "S", json_string_length(value));
        rw_put_text(put, json_string_value(value));
    } else if (type == 'd') {
        put_bits(put, rw_bits_of_float(rw_json_float(json_real_value(value))), 4);
    } else {
        rw_put_text(put, type ? "" : "l");
        put_bits(put, (uint64_t)json_integer_value(value), type == 'U' ? 1 : type == 'L' ? 8 : 4);
    }
}

static int write_ubj(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    RW_RELEASED(rw_put_release) struct rw_put text = {.ctx = put->ctx};
    put->status = write_json(ensemble, &text);
    if (put->status == RW_OK) {
        struct rw_source source = {
            .ctx = put->ctx, .path = "the model", .text = text.text, .n = text.n};
        RW_SCOPED(json_decref) json_t *root = rw_json_load(&source, 0);
        put->status = source.status;
        if (root)
            put_ubjson(put, "", root, 0);
    }
    return put->status;
}

/* ---- reading ---- */

enum { LONGEST_NUMBER = 24 };

struct reading {
    struct rw_source *source;
    enum member leaf;               /* the array with the leaves' values */
    const json_t *array[N_MEMBERS]; /* of the current tree; NULL: missing, or not needed */
    size_t next_set;                /* index in SET_NODE of the next set */
    int32_t number;                 /* of the tree, from 1 */
};

/* Parses a parameter, which XGBoost writes as a text: "0", "5E-1", "[5E-1]". */
static double number_of(struct rw_source *source, const char *name, const char *text)
{
    const char *begin = text;
    size_t n = strlen(text);
    double out;
    if (n >= 2 && *begin == '[' && begin[n - 1] == ']') {
        begin++;
        n -= 2;
        if (memchr(begin, ',', n))
            rw_refuse(source, "unsupported '%s' with several outputs: %.60s", name, text);
    }
    if (!rw_is_number(begin, n, &out))
        rw_refuse(source, "'%s': expected a number, found '%.60s'", name, text);
    return out;
}

static double param(struct rw_source *source, const json_t *object, const char *name, double least,
                    double most)
{
    const char *text = rw_json_text(source, object, name);
    const double out = number_of(source, name, text);
    if (out >= least && out <= most && out == floor(out))
        return out;
    rw_refuse(source, "invalid '%s' %.40s: expected %.0f to %.0f", name, text, least, most);
    return least;
}

/* Accepts objectives whose prediction is base_score plus the sum of the leaves. */
static void check_objective(struct rw_source *source, const json_t *learner)
{
    static const char plain[] =
        "rank:ndcg rank:map rank:pairwise reg:squarederror reg:linear reg:squaredlogerror "
        "reg:absoluteerror reg:pseudohubererror reg:quantileerror";
    const char *name = rw_json_text(source, rw_json_object(source, learner, "objective"), "name");
    if (!rw_is_among(name, strlen(name), plain))
        rw_refuse(source,
                  "unsupported objective '%.60s': its prediction is not the sum of the leaves",
                  name);
}

static void read_columns(struct rw_source *source, const json_t *learner, uint32_t n)
{
    const json_t *names = json_object_get(learner, "feature_names");
    if (rw_set_columns(source, n) < 0)
        return;
    memset(source->out->column_had, 1, n);
    if (json_array_size(names) > 0)
        names = rw_json_array(source, learner, "feature_names", (int64_t)n);
    for (uint32_t i = 0; json_array_size(names) > 0 && i < n && source->status == RW_OK; i++) {
        const char *name = rw_json_plain(json_array_get(names, i));
        if (!name)
            rw_refuse(source, "'feature_names': element %u is not a string", i);
        else
            rw_add_name(source, i, name);
    }
}

/* Reads the dictionary of a column, which XGBoost 3.1 and later write for data frames: the words of
 * the column's categories, or whole numbers if it has no `offsets`. Splits list indexes of words.
 * The texts are concatenated in `values`, and `offsets` has 0 and their ends. XGBoost 3.2 counts
 * characters for pandas' frames and bytes for others, so only ASCII texts are accepted, in which
 * both are equal. */
static void read_words(struct rw_source *source, const json_t *from, uint32_t column)
{
    const json_t *values = rw_json_array(source, from, "values", -1);
    const json_t *offsets = json_object_get(from, "offsets");
    const size_t n_values = json_array_size(values), n_offsets = json_array_size(offsets);
    const size_t n = !offsets ? n_values : n_offsets > 0 ? n_offsets - 1 : 0;
    const char **word = NULL;
    char *text = NULL; /* the words, concatenated */
    if (n == 0 || n > UINT32_MAX || RW_READ_NEW(source, word, n) < 0 ||
        RW_READ_NEW(source, text, offsets ? n_values + n : n * LONGEST_NUMBER) < 0)
        return;
    int64_t at = offsets ? rw_json_whole(source, json_array_get(offsets, 0), "offsets", 0, 0) : 0;
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        word[i] = text;
        if (!offsets) {
            const int64_t number =
                rw_json_whole(source, json_array_get(values, i), "values", INT64_MIN, INT64_MAX);
            text += snprintf(text, LONGEST_NUMBER, "%lld", (long long)number) + 1;
            continue;
        }
        const int64_t end =
            rw_json_whole(source, json_array_get(offsets, i + 1), "offsets", at, (int64_t)n_values);
        for (; at < end && source->status == RW_OK; at++) {
            const int64_t byte =
                rw_json_whole(source, json_array_get(values, (size_t)at), "values", -128, 255);
            if (byte < 1 || byte > 127)
                rw_refuse(source,
                          "'cats': feature %u has a category with non-ASCII characters, which "
                          "XGBoost truncates",
                          column);
            *text++ = (char)byte;
        }
        *text++ = 0;
    }
    rw_add_categories(source, column, NULL, word, n);
}

static void read_dictionaries(struct rw_source *source, const json_t *model)
{
    const json_t *all = json_object_get(json_object_get(model, "cats"), "enc");
    const size_t n = json_array_size(all);
    if (n > 0 && n != source->out->n_columns)
        rw_refuse(source, "'cats' has the categories of %zu features; expected %u", n,
                  source->out->n_columns);
    for (uint32_t i = 0; i < n && source->status == RW_OK; i++)
        read_words(source, json_array_get(all, i), i);
}

static int64_t integer_at(struct reading *r, enum member of, size_t i, int64_t least, int64_t most)
{
    return rw_json_whole(r->source, json_array_get(r->array[of], i), members[of].key, least, most);
}

static double number_at(struct reading *r, enum member of, size_t i)
{
    return rw_json_number_at(r->source, r->array[of], members[of].key, i);
}

/* Reads the categories that node i lists. Sets are in the order of their nodes. */
static void read_set(struct reading *r, size_t i, struct rw_ens_node *node)
{
    const size_t n_sets = json_array_size(r->array[SET_NODE]);
    const size_t n_all = json_array_size(r->array[CATEGORY]);
    uint32_t *category = NULL;
    int64_t of = -1;
    /* SET_NODE may also have nodes that were pruned to leaves. */
    while (r->next_set < n_sets && of < (int64_t)i && r->source->status == RW_OK)
        of = integer_at(r, SET_NODE, r->next_set++, 0, INT32_MAX);
    if (of != (int64_t)i)
        rw_refuse(r->source, "tree %d, node %zu: a categorical split without categories", r->number,
                  i);
    if (r->source->status < 0)
        return;
    const size_t set = r->next_set - 1;
    const int64_t begin = integer_at(r, SET_BEGIN, set, 0, (int64_t)n_all);
    const int64_t n = integer_at(r, SET_SIZE, set, 0, (int64_t)n_all - begin);
    if (r->source->status < 0 || RW_READ_NEW(r->source, category, (size_t)n) < 0)
        return;
    for (int64_t k = 0; k < n && r->source->status == RW_OK; k++)
        category[k] = (uint32_t)integer_at(r, CATEGORY, (size_t)(begin + k), 0, INT32_MAX);
    rw_add_set(r->source, node, category, (size_t)n);
}

static void read_split(struct reading *r, size_t i, struct rw_ens_node *node)
{
    node->column = (uint32_t)integer_at(r, COLUMN, i, 0, (int64_t)r->source->out->n_columns - 1);
    node->threshold = (double)rw_json_float(number_at(r, CONDITION, i));
    node->nan = integer_at(r, DEFAULT, i, 0, 1) ? RW_NAN_LEFT : RW_NAN_RIGHT;
    node->less = 1;
    if (r->array[GAIN])
        node->gain = number_at(r, GAIN, i);
    if (r->array[TYPE] && integer_at(r, TYPE, i, 0, 1) && r->source->status == RW_OK)
        read_set(r, i, node);
}

static void read_tree(struct reading *r, const json_t *tree)
{
    const json_t *parameters = rw_json_object(r->source, tree, "tree_param");
    const int64_t n = (int64_t)param(r->source, parameters, "num_nodes", 1, INT32_MAX);
    if (json_object_get(parameters, "size_leaf_vector") &&
        param(r->source, parameters, "size_leaf_vector", 0, INT32_MAX) > 1)
        rw_refuse(r->source, "tree %d: unsupported leaves with several values", r->number);
    for (enum member m = 0; m < N_MEMBERS; m++) {
        const int needed = members[m].read == NEEDED || m == r->leaf;
        const int64_t n_sets = (int64_t)json_array_size(r->array[SET_NODE]);
        const int64_t expected = m == CATEGORY || m == SET_NODE    ? -1
                                 : m == SET_BEGIN || m == SET_SIZE ? n_sets
                                                                   : n;
        r->array[m] = needed || (members[m].read && json_object_get(tree, members[m].key))
                          ? rw_json_array(r->source, tree, members[m].key, expected)
                          : NULL;
    }
    r->next_set = 0;
    struct rw_ens_tree *to = rw_add_tree(r->source, (int32_t)n);
    for (size_t i = 0; to && i < (size_t)n && r->source->status == RW_OK; i++) {
        struct rw_ens_node *node = &to->node[i];
        node->left = (int32_t)integer_at(r, LEFT, i, -1, n - 1);
        node->right = (int32_t)integer_at(r, RIGHT, i, -1, n - 1);
        if ((node->left < 0) != (node->right < 0))
            rw_refuse(r->source, "tree %d, node %zu: only one child", r->number, i);
        if (node->left >= 0)
            read_split(r, i, node);
        else
            node->value = (double)rw_json_float(number_at(r, r->leaf, i));
        node->has_cover = r->array[COVER] != NULL;
        node->docs = node->hessian = node->has_cover ? number_at(r, COVER, i) : 0;
    }
}

/* Checks dart's factors of trees: all must be 1, which leaves the leaves unchanged. */
static void check_weights(struct rw_source *source, const json_t *booster, size_t n)
{
    const json_t *weights = rw_json_array(source, booster, "weight_drop", (int64_t)n);
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        const double weight = rw_json_number_at(source, weights, "weight_drop", i);
        if (weight != 1)
            rw_refuse(source, "unsupported weight of dart: tree %zu has %g", i + 1, weight);
    }
}

/* Returns how many of the n trees XGBoost's predict uses, and logs a note if training stopped
 * early. The predict of XGBModel (such as XGBRanker) then uses the trees up to the best iteration.
 * That of Booster uses all trees. */
static size_t trees_in_use(struct rw_source *source, const json_t *learner, const json_t *model,
                           size_t n)
{
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
        used = (size_t)rw_json_whole(source, json_array_get(begin, at), "iteration_indptr", 0,
                                     (int64_t)n);
    else
        used = at * (size_t)param(source, rw_json_object(source, model, "gbtree_model_param"),
                                  "num_parallel_tree", 1, INT32_MAX);
    if (source->status < 0 || used >= n)
        return n;
    if (!json_object_get(attributes, "scikit_learn")) {
        rw_log(
            source->ctx, RW_LOG_NOTE,
            "'%s' was saved by a Booster, whose predict uses all %zu trees, so all were imported; "
            "its best iteration is %.20s (from 0), and booster[:%zu] keeps only the trees up to it",
            source->path, n, text, at);
        return n;
    }
    rw_log(source->ctx, RW_LOG_NOTE,
           "'%s' stopped early: imported the first %zu of its %zu trees, which its predict uses "
           "(best iteration %.20s, from 0)",
           source->path, used, n, text);
    return used;
}

static void read_trees(struct reading *r, const json_t *learner, const json_t *booster)
{
    const char *name = rw_json_text(r->source, booster, "name");
    const int is_dart = strcmp(name, "dart") == 0;
    if (!is_dart && strcmp(name, "gbtree") != 0)
        rw_refuse(r->source, "unsupported booster '%.40s': expected 'gbtree'", name);
    const json_t *holder = is_dart ? rw_json_object(r->source, booster, "gbtree") : booster;
    const json_t *model = rw_json_object(r->source, holder, "model");
    const json_t *trees = rw_json_array(r->source, model, "trees", -1);
    const size_t n = json_array_size(trees);
    const json_t *groups = rw_json_array(r->source, model, "tree_info", (int64_t)n);
    read_dictionaries(r->source, model);
    if (is_dart)
        check_weights(r->source, booster, n);
    const size_t used = trees_in_use(r->source, learner, model, n);
    for (size_t i = 0; i < used && r->source->status == RW_OK; i++) {
        const int64_t group =
            rw_json_whole(r->source, json_array_get(groups, i), "tree_info", 0, INT32_MAX);
        if (group != 0)
            rw_refuse(r->source,
                      "tree %zu belongs to output %lld: several outputs are not supported", i + 1,
                      (long long)group);
        r->number = (int32_t)i + 1;
        read_tree(r, json_array_get(trees, i));
    }
}

static int parse_model(struct rw_source *source)
{
    const int is_eslr = source->format == &rw_to_eslr_raw;
    struct reading r = {.source = source, .leaf = is_eslr ? BASE_WEIGHT : CONDITION};
    RW_SCOPED(json_decref)
    json_t *root =
        source->format == &rw_to_xgboost_ubj ? rw_ubjson_load(source) : rw_json_load(source, 0);
    const json_t *learner = rw_json_object(source, root, "learner");
    const json_t *parameters = rw_json_object(source, learner, "learner_model_param");
    const json_t *booster = rw_json_object(source, learner, "gradient_booster");
    check_objective(source, learner);
    if (json_object_get(parameters, "num_target"))
        param(source, parameters, "num_target", 0, 1);
    param(source, parameters, "num_class", 0, 1);
    const uint32_t n = (uint32_t)param(source, parameters, "num_feature", 0, RW_FEATURE_IDS);
    const char *base = rw_json_text(source, parameters, "base_score");
    source->out->base = (double)(float)number_of(source, "base_score", base);
    read_columns(source, learner, n);
    read_trees(&r, learner, booster);
    return source->status;
}

/* ---- the dump ---- */

static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct rw_ens_node *node = at->node;
    (void)user;
    if (node->left < 0) {
        rw_put_format(put, "{\"nodeid\":%d,\"leaf\":%lf}", at->number, node->value);
        return;
    }
    rw_put_format(put,
                  "{\"nodeid\":%d,\"depth\":%d,\"split\":%1s,\"split_condition\":%f,\"yes\":%d,"
                  "\"no\":%d,\"missing\":%d,\"children\":[",
                  at->number, at->depth,
                  at->ensemble->column_name[node->column - at->ensemble->first_column],
                  node->threshold, at->child[0], at->child[1], at->child[node->nan != RW_NAN_LEFT]);
}

static int put_dump(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Jackson, which both readers use, allows 1,000 levels, and a node takes two. */
    static const struct rw_walk walk = {begin_node, ",", "]}", .deepest = 480};
    if (ensemble->n_trees == 0)
        return rw_put_refuse(put, "the model has no trees; readers reject an empty dump");
    rw_put_text(put, "[\n");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        RW_TRY(rw_walk_tree(&walk, ensemble, t, NULL, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? ",\n" : "\n]\n");
    }
    return put->status;
}

static void read_dump_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                           const void *child[2], void *user)
{
    int64_t id[2];
    (void)user;
    if (json_object_get(from, "leaf")) {
        node->value = rw_json_number(source, from, "leaf");
        return;
    }
    node->column = rw_named_column(source, rw_json_text(source, from, "split"));
    node->threshold = (double)rw_json_float(rw_json_number(source, from, "split_condition"));
    const int64_t yes = rw_json_integer(source, from, "yes", 0, INT32_MAX);
    const int64_t no = rw_json_integer(source, from, "no", 0, INT32_MAX);
    const int64_t missing = rw_json_integer(source, from, "missing", 0, INT32_MAX);
    const json_t *children = rw_json_array(source, from, "children", 2);
    for (size_t i = 0; i < 2; i++)
        id[i] = rw_json_integer(source, json_array_get(children, i), "nodeid", 0, INT32_MAX);
    if (id[0] == id[1] || (yes != id[0] && yes != id[1]) || no != (yes == id[0] ? id[1] : id[0]) ||
        (missing != yes && missing != no))
        rw_refuse(source, "'yes', 'no' and 'missing' are not the children's ids");
    child[0] = json_array_get(children, yes == id[1]);
    child[1] = json_array_get(children, yes == id[0]);
    node->less = 1;
    node->nan = missing == yes ? RW_NAN_LEFT : RW_NAN_RIGHT;
}

static int parse_dump(struct rw_source *source)
{
    RW_SCOPED(json_decref) json_t *root = rw_json_load(source, 0);
    if (!json_is_array(root))
        rw_refuse(source, "expected an array of trees");
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(root); i++)
        rw_read_tree(source, json_array_get(root, i), read_dump_node, NULL);
    return source->status;
}

/* ---- requests ---- */

#define LTR_TYPE "model/xgboost+json"

static int write_body(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    RW_RELEASED(rw_put_release) struct rw_put dump = {.ctx = put->ctx};
    RW_TRY(put_dump(ensemble, &dump));
    rw_put_bytes(&dump, "", 1);
    RW_TRY(dump.status);
    rw_put_format(put,
                  "{\"model\":{\"name\":%1s,\n\"model\":{\"type\":\"" LTR_TYPE
                  "\",\n\"definition\":%1s}}}\n",
                  ensemble->model_name ? ensemble->model_name : "rankwood", dump.text);
    return put->status;
}

static int parse_body(struct rw_source *source)
{
    RW_SCOPED(json_decref) json_t *root = rw_json_load(source, 0);
    const json_t *request = rw_json_object(source, root, "model");
    rw_json_text(source, request, "name");
    const json_t *model = rw_json_object(source, request, "model");
    const char *type = rw_json_text(source, model, "type");
    const char *definition = rw_json_text(source, model, "definition");
    if (source->status == RW_OK && strcmp(type, LTR_TYPE) != 0)
        rw_refuse(source, "unsupported 'type' '%.60s': expected " LTR_TYPE, type);
    if (source->status == RW_OK) {
        struct rw_source inner = *source;
        inner.text = definition;
        inner.n = strlen(definition);
        rw_keep(source, parse_dump(&inner));
    }
    return source->status;
}

/* ---- the formats ---- */

/* The rules of XGBoost and of the plugins that copied them. */
#define RW_XGBOOST_RULES .less = 1, .nan_by_node = 1, .listed_right = 1, .absent = RW_ABSENT_NAN
/* XGBoost stores categories as floats, and refuses those from 2^24 on. */
#define RW_XGBOOST_MOST_CATEGORY 16777215
/* A consumer for verification, with two old behaviours of OpenSearch's plugin. Before 3.2, it
 * read absent features as 0. From 3.2 to 3.7, missing values went right at every split. */
#define RW_OPENSEARCH_OLD_NAME  "OpenSearch LTR before 3.8"
#define RW_OPENSEARCH_OLD_RULES .less = 1

#define SAVED_MODEL                                                                          \
    .consumer = {{.name = "XGBoost", .rules = {RW_XGBOOST_RULES}}}, .names = RW_NAMES_GIVEN, \
    .name_forbids = "[]<", .imports = 1, .covers = 1, .categories = RW_SAYS_NUMBERS,         \
    .most_category = RW_XGBOOST_MOST_CATEGORY

const struct rw_model_format rw_to_xgboost = {
    .name = "xgboost",
    .about = "XGBoost's saved model, JSON",
    SAVED_MODEL,
    .write = write_json,
    .parse = parse_model,
};

const struct rw_model_format rw_to_xgboost_ubj = {
    .name = "xgboost-ubj",
    .about = "XGBoost's saved model, UBJSON",
    SAVED_MODEL,
    .write = write_ubj,
    .parse = parse_model,
};

const struct rw_model_format rw_to_eslr_raw = {
    .name = "eslr-raw",
    .about = "XGBoost's JSON for model/xgboost+json+raw of OpenSearch and Elasticsearch LTR",
    .consumer = {{.name = "Elasticsearch and OpenSearch LTR",
                  .rules = {RW_XGBOOST_RULES, .base_ignored = 1}},
                 {.name = RW_OPENSEARCH_OLD_NAME,
                  .rules = {RW_OPENSEARCH_OLD_RULES, .base_ignored = 1},
                  .earlier = 1}},
    .names = RW_NAMES_ALL,
    .write = write_json,
    .parse = parse_model,
};

const struct rw_model_format rw_to_xgboost_dump = {
    .name = "xgboost-dump",
    .about = "XGBoost's JSON dump: model/xgboost+json of OpenSearch and Elasticsearch LTR; Vespa",
    .consumer = {{.name = "Elasticsearch and OpenSearch LTR", .rules = {RW_XGBOOST_RULES}},
                 {.name = "Vespa", .rules = {RW_DOUBLE_RULES, .less = 1, .absent = RW_ABSENT_NAN}},
                 {.name = RW_OPENSEARCH_OLD_NAME,
                  .rules = {RW_OPENSEARCH_OLD_RULES},
                  .earlier = 1}},
    .names = RW_NAMES_ALL,
    .write = put_dump,
    .parse = parse_dump,
};

const struct rw_model_format rw_to_opensearch = {
    .name = "opensearch",
    .about = "complete _createmodel request of OpenSearch LTR, model/xgboost+json (--featureset, "
             "--name)",
    .consumer = {{.name = "OpenSearch LTR", .rules = {RW_XGBOOST_RULES, .first_column = 1}},
                 {.name = RW_OPENSEARCH_OLD_NAME,
                  .rules = {RW_OPENSEARCH_OLD_RULES, .first_column = 1},
                  .earlier = 1}},
    .names = RW_NAMES_SET,
    .write = write_body,
    .parse = parse_body,
};

const struct rw_model_format rw_to_elasticsearch = {
    .name = "elasticsearch",
    .about = "complete _createmodel request of Elasticsearch LTR, model/xgboost+json "
             "(--featureset, --name)",
    .consumer = {{.name = "Elasticsearch LTR", .rules = {RW_XGBOOST_RULES, .first_column = 1}}},
    .names = RW_NAMES_SET,
    .write = write_body,
    .parse = parse_body,
};
