/* The formats that are XGBoost's saved model (xgboost_model.h): xgboost, xgboost-ubj, eslr-raw. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "convert/xgboost_model.h"
#include "convert/xgboost_rules.h"

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
        put_bits(e->put, (uint64_t)(int64_t)value, type == 'U' ? 1 : type == 'L' ? 8 : 4);
    }
}

/* ------------------------------------------------------------------ a tree */

/* XGBoost's order: siblings stand side by side, since it finds the right one at left + 1. */
struct layout {
    int32_t n;
    struct place {
        int32_t node, parent, left; /* ours; XGBoost's, left: -1: a leaf */
    } * at;                         /* [n] owned */
};

static int lay_out(const struct rw_ens_tree *tree, struct layout *l, struct rw_put *put)
{
    if (put->status == RW_OK)
        put->status = RW_NEW(put->ctx, l->at, (size_t)tree->n_nodes);
    RW_TRY(put->status);
    l->at[0] = (struct place){0, INT32_MAX, -1};
    l->n = 1;
    for (int32_t i = 0; i < l->n; i++) {
        const struct rw_ens_node *node = &tree->node[l->at[i].node];
        if (node->left < 0)
            continue;
        l->at[i].left = l->n;
        l->at[l->n++] = (struct place){node->left, i, -1};
        l->at[l->n++] = (struct place){node->right, i, -1};
    }
    return RW_OK;
}

enum member {
    CATEGORY, /* these four: of splits by categories, one after the other */
    SET_NODE,
    SET_BEGIN,
    SET_SIZE,
    TYPE,
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
    if (member == COVER) /* XGBoost's SHAP values share by it, as ours by documents */
        return fmin(node->docs, FLT_MAX);
    if (is_leaf)
        return member == BASE_WEIGHT || member == CONDITION ? leaf : member == RIGHT ? -1 : 0;
    return member == RIGHT       ? at->left + 1
           : member == DEFAULT   ? node->nan == RW_NAN_LEFT
           : member == GAIN      ? fmax(-FLT_MAX, fmin(node->gain, FLT_MAX)) /* a float there */
           : member == CONDITION ? node->threshold
           : member == COLUMN    ? node->column
           : member == TYPE      ? node->by_category
                                 : 0;
}

static void emit_sets(struct emitting *e, const struct rw_ens_tree *tree, const struct layout *l,
                      const char *key, char type, enum member member)
{
    size_t n = 0, before = 0;
    for (int32_t i = 0; i < l->n; i++) {
        const struct rw_ens_node *node = &tree->node[l->at[i].node];
        n += member == CATEGORY ? node->n_listed : node->by_category;
    }
    emit_array(e, key, type, n);
    for (int32_t i = 0; i < l->n; i++) {
        const struct rw_ens_node *node = &tree->node[l->at[i].node];
        for (uint32_t k = 0; member == CATEGORY && k < node->n_listed; k++)
            emit_number(e, type, node->listed[k]);
        if (member != CATEGORY && node->by_category)
            emit_number(e, type,
                        member == SET_NODE    ? i
                        : member == SET_BEGIN ? (double)before
                                              : node->n_listed);
        before += node->n_listed;
    }
    emit_array_end(e);
}

static void emit_tree(struct emitting *e, const struct rw_ensemble *ensemble, int32_t t)
{
    static const struct {
        const char *key;
        char type;
        enum member member;
    } members[] = {
        {"base_weights", 'd', BASE_WEIGHT},
        {"categories", 'l', CATEGORY},
        {"categories_nodes", 'l', SET_NODE},
        {"categories_segments", 'L', SET_BEGIN},
        {"categories_sizes", 'L', SET_SIZE},
        {"default_left", 'U', DEFAULT},
        {"id", 0, ID},
        {"left_children", 'l', LEFT},
        {"loss_changes", 'd', GAIN},
        {"parents", 'l', PARENT},
        {"right_children", 'l', RIGHT},
        {"split_conditions", 'd', CONDITION},
        {"split_indices", 'l', COLUMN},
        {"split_type", 'U', TYPE},
        {"sum_hessian", 'd', COVER},
    };
    const struct rw_ens_tree *tree = &ensemble->tree[t];
    struct layout l = {0};
    if (lay_out(tree, &l, e->put) < 0)
        return;
    comma(e);
    emit_begin(e, NULL);
    for (size_t m = 0; m < sizeof(members) / sizeof(members[0]); m++) {
        if (members[m].member <= SET_SIZE) {
            emit_sets(e, tree, &l, members[m].key, members[m].type, members[m].member);
            continue;
        }
        if (members[m].member == ID) {
            emit_key(e, members[m].key);
            e->first = 1;
            emit_number(e, 0, t);
            continue;
        }
        emit_array(e, members[m].key, members[m].type, (size_t)l.n);
        for (int32_t i = 0; i < l.n; i++)
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

static void emit_names(struct emitting *e, const struct rw_ensemble *ensemble)
{
    const uint32_t n = ensemble->column_name ? ensemble->n_columns : 0;
    emit_array(e, "feature_names", 0, n);
    for (uint32_t i = 0; i < n; i++) {
        comma(e);
        emit_text(e, ensemble->column_name[i]);
    }
    emit_array_end(e);
}

/* Where there are neither names nor categories, nothing asks for types. */
static void emit_types(struct emitting *e, const struct rw_ensemble *ensemble)
{
    const int some = ensemble->column_name || ensemble->categories;
    const uint32_t n = some ? ensemble->n_columns : 0;
    emit_array(e, "feature_types", 0, n);
    for (uint32_t i = 0; i < n; i++) {
        comma(e);
        emit_text(e, rw_ens_categories_of(ensemble, i) ? "c" : "float");
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
    emit_begin(&e, NULL);
    emit_begin(&e, "learner");
    emit_begin(&e, "attributes");
    emit_end(&e);
    emit_names(&e, ensemble);
    emit_types(&e, ensemble);
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

static int parse_json(struct rw_source *source, struct rw_ensemble *out)
{
    return rw_xgboost_parse(source, rw_json_load(source, 0), "split_conditions", out);
}

static int parse_ubj(struct rw_source *source, struct rw_ensemble *out)
{
    return rw_xgboost_parse(source, rw_ubjson_load(source), "split_conditions", out);
}

static int parse_eslr(struct rw_source *source, struct rw_ensemble *out)
{
    return rw_xgboost_parse(source, rw_json_load(source, 0), "base_weights", out);
}

const struct rw_model_format rw_to_xgboost = {
    .name = "xgboost",
    .about = "XGBoost's saved model, JSON",
    .consumer = {{.name = "XGBoost", .rules = {RW_XGBOOST_RULES}}},
    .names = RW_NAMES_GIVEN,
    .name_forbids = "[]<",
    .imports = 1,
    .covers = 1,
    .categories = RW_SAYS_NUMBERS,
    .most_category = RW_XGBOOST_MOST_CATEGORY,
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
    .covers = 1,
    .categories = RW_SAYS_NUMBERS,
    .most_category = RW_XGBOOST_MOST_CATEGORY,
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
