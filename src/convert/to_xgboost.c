/* The formats that are XGBoost's saved model: xgboost (JSON), xgboost-ubj (UBJSON), and eslr-raw,
 * as which Elasticsearch and OpenSearch LTR take it ("model/xgboost+json+raw"): they know a feature
 * by its index among all, want all names, and leave base_score out. Floats, `value < threshold`
 * left, NaN and what is absent by default_left, base_score added first. A node is an index into
 * parallel arrays; children of -1 make a leaf, whose value stands in split_conditions and, for
 * Elasticsearch LTR, in base_weights. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "convert/json_in.h"
#include "convert/xgboost_rules.h"

/* ------------------------------------------------------------------ out */

/* Puts members one after the other, in JSON or in UBJSON. */
struct emitting {
    struct rw_put *put;
    int binary;
    int first; /* JSON: no comma before the next one */
};

/* n bytes of a number, the highest first. */
static void put_bits(struct rw_put *put, uint64_t bits, int n)
{
    unsigned char bytes[8];
    for (int i = 0; i < n; i++)
        bytes[i] = (unsigned char)(bits >> (8 * (n - 1 - i)));
    rw_put_bytes(put, bytes, (size_t)n);
}

static void put_length(struct rw_put *put, uint64_t n)
{
    rw_put_text(put, "L");
    put_bits(put, n, 8);
}

static void comma(struct emitting *e)
{
    if (!e->binary && !e->first)
        rw_put_text(e->put, ",");
    e->first = 0;
}

static void emit_text(struct emitting *e, const char *text)
{
    if (e->binary) {
        rw_put_text(e->put, "S");
        put_length(e->put, strlen(text));
        rw_put_text(e->put, text);
    } else {
        rw_put_json_text(e->put, text);
    }
}

static void emit_key(struct emitting *e, const char *key)
{
    comma(e);
    if (e->binary) {
        put_length(e->put, strlen(key));
        rw_put_text(e->put, key);
    } else {
        rw_put_format(e->put, "\"%s\":", key);
    }
}

static void emit_begin(struct emitting *e, const char *key)
{
    if (key)
        emit_key(e, key);
    rw_put_text(e->put, "{");
    e->first = 1;
}

static void emit_end(struct emitting *e)
{
    rw_put_text(e->put, "}");
    e->first = 0;
}

static void emit_member(struct emitting *e, const char *key, const char *text)
{
    emit_key(e, key);
    emit_text(e, text);
}

static void emit_count(struct emitting *e, const char *key, uint64_t n)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
    emit_member(e, key, text);
}

/* type: UBJSON's, d, l, L, U or (of any elements) 0. */
static void emit_array(struct emitting *e, const char *key, char type, size_t n)
{
    emit_key(e, key);
    rw_put_text(e->put, "[");
    e->first = 1;
    if (!e->binary)
        return;
    if (type)
        rw_put_format(e->put, "$%c", type);
    rw_put_text(e->put, "#");
    put_length(e->put, n);
}

static void emit_array_end(struct emitting *e)
{
    if (!e->binary)
        rw_put_text(e->put, "]");
    e->first = 0;
}

/* type: the array's, or 0 for whole numbers in an array of any elements, which have one each. */
static void emit_number(struct emitting *e, char type, double value)
{
    comma(e);
    if (!e->binary && type == 'd') {
        rw_put_format(e->put, "%f", value);
    } else if (!e->binary) {
        rw_put_format(e->put, "%d", (int)value);
    } else if (type == 'd') {
        put_bits(e->put, rw_bits_of_float((float)value), 4);
    } else {
        rw_put_text(e->put, type ? "" : "l");
        put_bits(e->put, (uint64_t)(int64_t)value, type == 'U' ? 1 : 4);
    }
}

/* ------------------------------------------------------------------ a tree */

/* XGBoost's order: siblings stand side by side, since it finds the right one at left + 1. Cover is
 * not known: a leaf counts 1, so that contributions can still be computed there. */
struct layout {
    int32_t n;
    struct place {
        int32_t node, parent, left; /* ours; XGBoost's, left: -1: a leaf */
        float cover;
    } * at; /* [n] owned */
};

static int lay_out(const struct rw_ens_tree *tree, struct layout *l, struct rw_put *put)
{
    if (put->status == RW_OK)
        put->status = RW_NEW(put->ctx, l->at, (size_t)tree->n_nodes);
    RW_TRY(put->status);
    l->at[0] = (struct place){0, INT32_MAX, -1, 1.0f};
    l->n = 1;
    for (int32_t i = 0; i < l->n; i++) {
        const struct rw_ens_node *node = &tree->node[l->at[i].node];
        if (node->left < 0)
            continue;
        l->at[i].left = l->n;
        l->at[l->n++] = (struct place){node->left, i, -1, 1.0f};
        l->at[l->n++] = (struct place){node->right, i, -1, 1.0f};
    }
    for (int32_t i = l->n - 1; i >= 0; i--) {
        const int32_t left = l->at[i].left;
        if (left >= 0)
            l->at[i].cover = l->at[left].cover + l->at[left + 1].cover;
    }
    return RW_OK;
}

enum member {
    EMPTY,
    ZERO,
    ID,
    BASE_WEIGHT,
    DEFAULT,
    LEFT,
    GAIN,
    PARENT,
    RIGHT,
    CONDITION,
    COLUMN,
    COVER
};

static double value_of(const struct rw_ens_tree *tree, const struct place *at, enum member member)
{
    const struct rw_ens_node *node = &tree->node[at->node];
    const int is_leaf = at->left < 0;
    const double leaf = node->value * tree->weight;
    if (member == PARENT || member == LEFT)
        return member == PARENT ? at->parent : at->left;
    if (member == COVER)
        return (double)at->cover;
    if (is_leaf)
        return member == BASE_WEIGHT || member == CONDITION ? leaf : member == RIGHT ? -1 : 0;
    return member == RIGHT       ? at->left + 1
           : member == DEFAULT   ? node->nan == RW_NAN_LEFT
           : member == GAIN      ? node->gain
           : member == CONDITION ? node->threshold
           : member == COLUMN    ? node->column
                                 : 0;
}

static void emit_tree(struct emitting *e, const struct rw_ensemble *ensemble, int32_t t)
{
    static const struct {
        const char *key;
        char type;
        enum member member;
    } members[] = {
        {"base_weights", 'd', BASE_WEIGHT},
        {"categories", 'l', EMPTY},
        {"categories_nodes", 'l', EMPTY},
        {"categories_segments", 'L', EMPTY},
        {"categories_sizes", 'L', EMPTY},
        {"default_left", 'U', DEFAULT},
        {"id", 0, ID},
        {"left_children", 'l', LEFT},
        {"loss_changes", 'd', GAIN},
        {"parents", 'l', PARENT},
        {"right_children", 'l', RIGHT},
        {"split_conditions", 'd', CONDITION},
        {"split_indices", 'l', COLUMN},
        {"split_type", 'U', ZERO},
        {"sum_hessian", 'd', COVER},
    };
    const struct rw_ens_tree *tree = &ensemble->tree[t];
    struct layout l = {0};
    if (lay_out(tree, &l, e->put) < 0)
        return;
    comma(e);
    emit_begin(e, NULL);
    for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
        const int32_t n = members[m].member == EMPTY ? 0 : l.n;
        if (members[m].member == ID) {
            emit_key(e, members[m].key);
            e->first = 1;
            emit_number(e, 0, t);
            continue;
        }
        emit_array(e, members[m].key, members[m].type, (size_t)n);
        for (int32_t i = 0; i < n; i++)
            emit_number(e, members[m].type, value_of(tree, &l.at[i], members[m].member));
        emit_array_end(e);
    }
    emit_begin(e, "tree_param");
    emit_count(e, "num_deleted", 0);
    emit_count(e, "num_feature", ensemble->n_columns);
    emit_count(e, "num_nodes", (uint64_t)l.n);
    emit_count(e, "size_leaf_vector", 1);
    emit_end(e);
    emit_end(e);
    rw_mem_free(l.at);
}

/* ------------------------------------------------------------------ the whole */

/* The columns' names, or NULL: "float" for each. */
static void emit_texts(struct emitting *e, const char *key, uint32_t n, char *const *names)
{
    emit_array(e, key, 0, n);
    for (uint32_t i = 0; i < n; i++) {
        comma(e);
        emit_text(e, names ? names[i] : "float");
    }
    emit_array_end(e);
}

/* step 1: 0, 1, ...; 0: zeros */
static void emit_integers(struct emitting *e, const char *key, int32_t n, int32_t step)
{
    emit_array(e, key, 0, (size_t)n);
    for (int32_t i = 0; i < n; i++)
        emit_number(e, 0, i * step);
    emit_array_end(e);
}

static void emit_model(struct emitting *e, const struct rw_ensemble *ensemble)
{
    const int32_t n = ensemble->n_trees;
    emit_begin(e, "model");
    emit_begin(e, "gbtree_model_param");
    emit_count(e, "num_parallel_tree", 1);
    emit_count(e, "num_trees", (uint64_t)n);
    emit_end(e);
    emit_integers(e, "iteration_indptr", n + 1, 1);
    emit_integers(e, "tree_info", n, 0);
    emit_array(e, "trees", 0, (size_t)n);
    for (int32_t t = 0; t < n && e->put->status == RW_OK; t++)
        emit_tree(e, ensemble, t);
    emit_array_end(e);
    emit_end(e);
}

static int write_model(const struct rw_ensemble *ensemble, int binary, struct rw_put *put)
{
    struct emitting e = {put, binary, 1};
    const uint32_t n_names = ensemble->column_name ? ensemble->n_columns : 0;
    emit_begin(&e, NULL);
    emit_begin(&e, "learner");
    emit_begin(&e, "attributes");
    emit_end(&e);
    emit_texts(&e, "feature_names", n_names, ensemble->column_name);
    emit_texts(&e, "feature_types", n_names, NULL);
    emit_begin(&e, "gradient_booster");
    emit_model(&e, ensemble);
    emit_member(&e, "name", "gbtree");
    emit_end(&e);
    emit_begin(&e, "learner_model_param");
    emit_member(&e, "base_score", "0E0");
    emit_count(&e, "boost_from_average", 0);
    emit_count(&e, "num_class", 0);
    emit_count(&e, "num_feature", ensemble->n_columns);
    emit_count(&e, "num_target", 1);
    emit_end(&e);
    emit_begin(&e, "objective");
    emit_member(&e, "name", "rank:ndcg");
    emit_end(&e);
    emit_end(&e);
    emit_array(&e, "version", 0, 3);
    emit_number(&e, 0, 2);
    emit_number(&e, 0, 1);
    emit_number(&e, 0, 0);
    emit_array_end(&e);
    emit_end(&e);
    return put->status;
}

static int write_json(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    write_model(ensemble, 0, put);
    rw_put_text(put, "\n");
    return put->status;
}

static int write_ubj(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    return write_model(ensemble, 1, put);
}

/* ------------------------------------------------------------------ in */

enum array { A_LEFT, A_RIGHT, A_INDEX, A_CONDITION, A_DEFAULT, A_LEAF, A_TYPE, A_GAIN, N_ARRAYS };

struct reading {
    struct rw_source *source;
    const char *name[N_ARRAYS];    /* of a tree's arrays */
    const json_t *array[N_ARRAYS]; /* of the tree at hand; A_TYPE and A_GAIN: NULL if not there */
    int32_t number;                /* of the tree, from 1 */
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

static int64_t integer_at(struct reading *r, enum array of, size_t i, int64_t least, int64_t most)
{
    return rw_json_integer_at(r->source, r->array[of], r->name[of], i, least, most);
}

static double number_at(struct reading *r, enum array of, size_t i)
{
    return rw_json_number_at(r->source, r->array[of], r->name[of], i);
}

static void read_split(struct reading *r, size_t i, struct rw_ens_node *node)
{
    if (r->array[A_TYPE] && integer_at(r, A_TYPE, i, 0, 255) != 0)
        rw_refuse(r->source, "tree %d, node %zu: a categorical split", r->number, i);
    node->column = (uint32_t)integer_at(r, A_INDEX, i, 0, (int64_t)r->n_columns - 1);
    node->threshold = (double)rw_json_float(number_at(r, A_CONDITION, i));
    node->nan = integer_at(r, A_DEFAULT, i, 0, 1) ? RW_NAN_LEFT : RW_NAN_RIGHT;
    node->less = 1;
    if (r->array[A_GAIN])
        node->gain = number_at(r, A_GAIN, i);
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
    struct rw_ens_tree *to = rw_add_tree(r->source, out, (int32_t)n);
    for (size_t i = 0; to && i < (size_t)n && r->source->status == RW_OK; i++) {
        struct rw_ens_node *node = &to->node[i];
        node->left = (int32_t)integer_at(r, A_LEFT, i, -1, n - 1);
        node->right = (int32_t)integer_at(r, A_RIGHT, i, -1, n - 1);
        if ((node->left < 0) != (node->right < 0))
            rw_refuse(r->source, "tree %d, node %zu: one child only", r->number, i);
        if (node->left >= 0)
            read_split(r, i, node);
        else
            node->value = (double)rw_json_float(number_at(r, A_LEAF, i));
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

static void read_trees(struct reading *r, const json_t *booster, struct rw_ensemble *out)
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
    if (is_dart)
        check_weights(r->source, booster, n);
    for (size_t i = 0; i < n && r->source->status == RW_OK; i++) {
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
    read_trees(r, booster, out);
    const char *best = json_string_value(
        json_object_get(json_object_get(learner, "attributes"), "best_iteration"));
    if (best && source->status == RW_OK)
        rw_log(source->ctx, RW_LOG_NOTE,
               "'%s' names a best iteration, %.20s; all its trees are imported", source->path,
               best);
}

/* leaf_name: the array that has the leaves. */
static int parse(struct rw_source *source, json_t *root, const char *leaf_name,
                 struct rw_ensemble *out)
{
    struct reading r = {.source = source,
                        .name = {"left_children", "right_children", "split_indices",
                                 "split_conditions", "default_left", leaf_name, "split_type",
                                 "loss_changes"}};
    if (root)
        read_model(&r, root, out);
    json_decref(root);
    return source->status;
}

static int parse_json(struct rw_source *source, struct rw_ensemble *out)
{
    return parse(source, rw_json_load(source, 0), "split_conditions", out);
}

static int parse_ubj(struct rw_source *source, struct rw_ensemble *out)
{
    return parse(source, rw_ubjson_load(source), "split_conditions", out);
}

static int parse_eslr(struct rw_source *source, struct rw_ensemble *out)
{
    return parse(source, rw_json_load(source, 0), "base_weights", out);
}

const struct rw_model_format rw_to_xgboost = {
    .name = "xgboost",
    .about = "XGBoost's saved model, JSON",
    .consumer = {{.name = "XGBoost", .rules = {RW_XGBOOST_RULES}}},
    .names = RW_NAMES_GIVEN,
    .name_forbids = "[]<",
    .imports = 1,
    .write = write_json,
    .parse = parse_json,
};

const struct rw_model_format rw_to_xgboost_ubj = {
    .name = "xgboost-ubj",
    .about = "the same, UBJSON",
    .consumer = {{.name = "XGBoost", .rules = {RW_XGBOOST_RULES}}},
    .names = RW_NAMES_GIVEN,
    .name_forbids = "[]<",
    .imports = 1,
    .write = write_ubj,
    .parse = parse_ubj,
};

const struct rw_model_format rw_to_eslr_raw = {
    .name = "eslr-raw",
    .about = "XGBoost's JSON as Elasticsearch and OpenSearch LTR take it",
    .consumer = {{.name = "Elasticsearch and OpenSearch LTR",
                  .rules = {RW_XGBOOST_RULES, .base_ignored = 1}},
                 {.name = RW_OPENSEARCH_OLD_NAME,
                  .rules = {RW_OPENSEARCH_OLD_RULES, .base_ignored = 1},
                  .earlier = 1}},
    .names = RW_NAMES_ALL,
    .write = write_json,
    .parse = parse_eslr,
};
