/* ONNX-ML: TreeEnsembleRegressor (as operator set 3 of ai.onnx.ml has it) and TreeEnsemble (5), one
 * node a model, a matrix of floats in and a score a document out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/onnx_model.h"

struct reading {
    struct rw_source *source;
    struct rw_onnx *out;
    int n_nodes, n_inputs;
    struct rw_pb node_input, graph_input; /* names */
    int64_t n_columns;
};

static int is_word(const struct rw_pb *text, const char *word)
{
    const size_t n = (size_t)(text->end - text->at);
    return n == strlen(word) && memcmp(text->at, word, n) == 0;
}

/* How much of a text a message shows. */
static int shown(struct rw_pb text)
{
    return text.end - text.at < 60 ? (int)(text.end - text.at) : 60;
}

static const char *text_of(struct rw_pb text)
{
    return text.at ? text.at : "";
}

/* ------------------------------------------------------------------ attributes */

static const struct known {
    const char *name;
    enum rw_onnx_slot slot;
    int type, five; /* five: 1: of TreeEnsemble only, 0: of TreeEnsembleRegressor, -1: of both */
} known[] = {
    {"aggregate_function", RW_ONNX_AGGREGATE, RW_ONNX_STRING, 0},
    {"aggregate_function", RW_ONNX_AGGREGATE, RW_ONNX_INT, 1},
    {"post_transform", RW_ONNX_POST, RW_ONNX_STRING, 0},
    {"post_transform", RW_ONNX_POST, RW_ONNX_INT, 1},
    {"n_targets", RW_ONNX_N_TARGETS, RW_ONNX_INT, -1},
    {"base_values", RW_ONNX_BASE, RW_ONNX_FLOATS, 0},
    {"base_values_as_tensor", RW_ONNX_BASE, RW_ONNX_TENSOR, 0},
    {"nodes_treeids", RW_ONNX_TREE, RW_ONNX_INTS, 0},
    {"nodes_nodeids", RW_ONNX_ID, RW_ONNX_INTS, 0},
    {"nodes_featureids", RW_ONNX_FEATURE, RW_ONNX_INTS, -1},
    {"nodes_modes", RW_ONNX_MODE, RW_ONNX_STRINGS, 0},
    {"nodes_modes", RW_ONNX_MODE, RW_ONNX_TENSOR, 1},
    {"nodes_values", RW_ONNX_VALUE, RW_ONNX_FLOATS, 0},
    {"nodes_values_as_tensor", RW_ONNX_VALUE, RW_ONNX_TENSOR, 0},
    {"nodes_splits", RW_ONNX_VALUE, RW_ONNX_TENSOR, 1},
    {"nodes_truenodeids", RW_ONNX_TRUE, RW_ONNX_INTS, -1},
    {"nodes_falsenodeids", RW_ONNX_FALSE, RW_ONNX_INTS, -1},
    {"nodes_missing_value_tracks_true", RW_ONNX_MISSING_TRUE, RW_ONNX_INTS, -1},
    {"nodes_trueleafs", RW_ONNX_TRUE_LEAF, RW_ONNX_INTS, 1},
    {"nodes_falseleafs", RW_ONNX_FALSE_LEAF, RW_ONNX_INTS, 1},
    {"tree_roots", RW_ONNX_ROOT, RW_ONNX_INTS, 1},
    {"target_treeids", RW_ONNX_LEAF_TREE, RW_ONNX_INTS, 0},
    {"target_nodeids", RW_ONNX_LEAF_NODE, RW_ONNX_INTS, 0},
    {"target_ids", RW_ONNX_LEAF_TARGET, RW_ONNX_INTS, 0},
    {"leaf_targetids", RW_ONNX_LEAF_TARGET, RW_ONNX_INTS, 1},
    {"target_weights", RW_ONNX_LEAF_WEIGHT, RW_ONNX_FLOATS, 0},
    {"target_weights_as_tensor", RW_ONNX_LEAF_WEIGHT, RW_ONNX_TENSOR, 0},
    {"leaf_weights", RW_ONNX_LEAF_WEIGHT, RW_ONNX_TENSOR, 1},
    {"nodes_hitrates", RW_ONNX_IGNORED, RW_ONNX_FLOATS, 0},
    {"nodes_hitrates", RW_ONNX_IGNORED, RW_ONNX_TENSOR, 1},
    {"nodes_hitrates_as_tensor", RW_ONNX_IGNORED, RW_ONNX_TENSOR, 0},
    {"membership_values", RW_ONNX_MEMBERS, RW_ONNX_TENSOR, 1},
};

/* The elements lie in a field of their type's, or raw; the type may stand behind them. */
static void read_tensor(struct reading *r, const struct rw_pb_field *from, struct rw_pb name,
                        struct rw_onnx_attribute *to)
{
    struct rw_pb tensor = rw_pb_message(r->source, from);
    const uint64_t type = rw_pb_find_number(r->source, tensor, RW_ONNX_TENSOR_TYPE);
    struct rw_pb_field field;
    if (rw_pb_find_number(r->source, tensor, RW_ONNX_TENSOR_ELSEWHERE))
        rw_refuse(r->source, "'%.*s': its values stand in another file", shown(name), name.at);
    if (type != RW_ONNX_FLOAT32 && type != RW_ONNX_FLOAT64 && type != RW_ONNX_UINT8)
        rw_refuse(r->source, "'%.*s': elements of type %llu; expected float, double or uint8",
                  shown(name), name.at, (unsigned long long)type);
    const uint32_t own = type == RW_ONNX_FLOAT32   ? RW_ONNX_TENSOR_FLOATS
                         : type == RW_ONNX_FLOAT64 ? RW_ONNX_TENSOR_DOUBLES
                                                   : RW_ONNX_TENSOR_INT32S;
    while (rw_pb_next(r->source, &tensor, &field)) {
        if (field.number != own && field.number != RW_ONNX_TENSOR_RAW)
            continue;
        if (type != RW_ONNX_UINT8) {
            rw_pb_add_reals(r->source, &field, type == RW_ONNX_FLOAT32 ? 4 : 8, &to->reals);
        } else if (field.number == own) {
            rw_pb_add_ints(r->source, &field, &to->ints);
        } else {
            const struct rw_pb raw = rw_pb_message(r->source, &field);
            for (const char *at = raw.at; at < raw.end && r->source->status == RW_OK; at++)
                rw_pb_add_ints(r->source, &(struct rw_pb_field){.value = (unsigned char)*at},
                               &to->ints);
        }
    }
}

static void read_value(struct reading *r, const struct rw_pb_field *field, struct rw_pb name,
                       int type, struct rw_onnx_attribute *to)
{
    static const uint32_t expected[] = {
        [RW_ONNX_INT] = RW_ONNX_ATTRIBUTE_I,     [RW_ONNX_STRING] = RW_ONNX_ATTRIBUTE_S,
        [RW_ONNX_TENSOR] = RW_ONNX_ATTRIBUTE_T,  [RW_ONNX_FLOATS] = RW_ONNX_ATTRIBUTE_FLOATS,
        [RW_ONNX_INTS] = RW_ONNX_ATTRIBUTE_INTS, [RW_ONNX_STRINGS] = RW_ONNX_ATTRIBUTE_STRINGS,
    };
    if (field->number != expected[type])
        rw_refuse(r->source, "'%.*s' is of another type than the operator's", shown(name), name.at);
    else if (type == RW_ONNX_TENSOR)
        read_tensor(r, field, name, to);
    else if (type == RW_ONNX_FLOATS)
        rw_pb_add_reals(r->source, field, 4, &to->reals);
    else if (type == RW_ONNX_INT || type == RW_ONNX_INTS)
        rw_pb_add_ints(r->source, field, &to->ints);
    else if (rw_keep(r->source, RW_GROW(r->source->ctx, to->text, to->room, to->n_texts + 1)) ==
             RW_OK)
        to->text[to->n_texts++] = rw_pb_message(r->source, field);
}

static void read_attribute(struct reading *r, const struct rw_pb_field *from)
{
    struct rw_pb message = rw_pb_message(r->source, from);
    const struct rw_pb name = rw_pb_find(r->source, message, RW_ONNX_ATTRIBUTE_NAME);
    const struct known *is = NULL;
    struct rw_pb_field field;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !is; i++) {
        if (is_word(&name, known[i].name) && known[i].five != !r->out->five)
            is = &known[i];
    }
    if (!is)
        rw_refuse(r->source, "attribute '%.*s', which the operator does not have", shown(name),
                  text_of(name));
    while (rw_pb_next(r->source, &message, &field)) {
        if (field.number != RW_ONNX_ATTRIBUTE_NAME && field.number != RW_ONNX_ATTRIBUTE_TYPE &&
            field.number != RW_ONNX_ATTRIBUTE_DOC)
            read_value(r, &field, name, is->type, &r->out->slot[is->slot]);
    }
}

/* ------------------------------------------------------------------ the graph */

static void read_node(struct reading *r, struct rw_pb message)
{
    const char *expected = r->out->five ? "TreeEnsemble" : "TreeEnsembleRegressor";
    const struct rw_pb op = rw_pb_find(r->source, message, RW_ONNX_NODE_OP);
    const struct rw_pb domain = rw_pb_find(r->source, message, RW_ONNX_NODE_DOMAIN);
    struct rw_pb_field field;
    if (!is_word(&op, expected) || !is_word(&domain, RW_ONNX_DOMAIN))
        rw_refuse(r->source, "operator '%.*s' of '%.*s'; expected %s alone", shown(op), text_of(op),
                  shown(domain), text_of(domain), expected);
    if (r->n_nodes++ > 0)
        rw_refuse(r->source, "several tree ensembles; expected one");
    while (rw_pb_next(r->source, &message, &field)) {
        if (field.number == RW_ONNX_NODE_ATTRIBUTE)
            read_attribute(r, &field);
        else if (field.number == RW_ONNX_NODE_INPUT && !r->node_input.at) /* the first */
            r->node_input = rw_pb_message(r->source, &field);
    }
}

/* The number of columns: the last dimension of the type's shape, where there are two. */
static int64_t read_shape(struct rw_source *source, struct rw_pb type)
{
    const struct rw_pb tensor = rw_pb_find(source, type, RW_ONNX_TYPE_TENSOR);
    struct rw_pb shape = rw_pb_find(source, tensor, RW_ONNX_TENSOR_TYPE_SHAPE);
    struct rw_pb_field field;
    int n_dims = 0;
    int64_t last = 0;
    while (rw_pb_next(source, &shape, &field)) {
        if (field.number != RW_ONNX_SHAPE_DIM)
            continue;
        last = (int64_t)rw_pb_find_number(source, rw_pb_message(source, &field), RW_ONNX_DIM_VALUE);
        n_dims++;
    }
    return n_dims == 2 && last > 0 ? last : 0;
}

static void read_graph(struct reading *r, struct rw_pb message)
{
    struct rw_pb_field field;
    while (rw_pb_next(r->source, &message, &field)) {
        if (field.number != RW_ONNX_GRAPH_NODE && field.number != RW_ONNX_GRAPH_INPUT)
            continue;
        const struct rw_pb inner = rw_pb_message(r->source, &field);
        if (field.number == RW_ONNX_GRAPH_NODE) {
            read_node(r, inner);
            continue;
        }
        if (r->n_inputs++ > 0)
            rw_refuse(r->source, "a graph of several inputs; expected one");
        r->graph_input = rw_pb_find(r->source, inner, RW_ONNX_VALUE_NAME);
        r->n_columns = read_shape(r->source, rw_pb_find(r->source, inner, RW_ONNX_VALUE_TYPE));
    }
}

int rw_onnx_read(struct rw_source *source, int five, struct rw_onnx *out)
{
    struct reading r = {.source = source, .out = out};
    struct rw_pb message = {source->text, source->text + source->n};
    struct rw_pb_field field;
    out->five = five;
    while (rw_pb_next(source, &message, &field)) {
        if (field.number == RW_ONNX_MODEL_GRAPH)
            read_graph(&r, rw_pb_message(source, &field));
    }
    const size_t n = (size_t)(r.graph_input.end - r.graph_input.at);
    if (r.n_nodes == 0)
        rw_refuse(source, "not ONNX: no graph with a node");
    if (r.n_inputs == 0 || n != (size_t)(r.node_input.end - r.node_input.at) ||
        (n > 0 && memcmp(r.graph_input.at, r.node_input.at, n) != 0))
        rw_refuse(source, "the graph's input is not the tree ensemble's");
    out->n_columns = r.n_columns;
    return source->status;
}

void rw_onnx_release(struct rw_onnx *onnx)
{
    for (int i = 0; i < RW_ONNX_SLOTS; i++) {
        rw_mem_free(onnx->slot[i].ints.value);
        rw_mem_free(onnx->slot[i].reals.value);
        rw_mem_free(onnx->slot[i].text);
    }
    memset(onnx, 0, sizeof(*onnx));
}

enum { NONE = -1 }; /* as the child of a leaf, and the position of what is in no tree yet */

struct key {
    int64_t tree, id;
    size_t at; /* index in the attributes */
};

/* A tree's nodes and leaves are items: those of TreeEnsembleRegressor in the order of their keys,
 * those of TreeEnsemble its nodes, then its leaves. */
struct making {
    struct rw_source *source;
    const struct rw_onnx *onnx;
    struct rw_ensemble *out;
    size_t n_nodes, n_items;
    struct key *key;     /* [n_items] of TreeEnsembleRegressor, else NULL; owned */
    size_t *at;          /* [n_items] of a node: its index in the attributes; owned */
    size_t *weight;      /* [n_items] 1 + the index of a leaf's weight, 0: none; owned */
    int32_t (*child)[2]; /* [n_items] items; owned */
    int32_t *next;       /* [n_items] NONE, or the next of tests in a row for categories; owned */
    size_t *members;     /* [n_nodes] of TreeEnsemble: where their sets begin; owned */
    uint32_t *category;  /* of the split at hand; owned */
    size_t n_categories, room, n_folded;
    int32_t *position; /* [n_items] in the tree; owned */
    int32_t *item;     /* [n_of_tree] of the tree at hand: the root, then ascending; owned */
    size_t n_of_tree;
};

static const struct rw_onnx_attribute *slot(const struct making *m, enum rw_onnx_slot which)
{
    return &m->onnx->slot[which];
}

static int64_t int_at(const struct making *m, enum rw_onnx_slot which, size_t i)
{
    return slot(m, which)->ints.value[i];
}

/* ------------------------------------------------------------------ what holds for both */

static void check_word(struct making *m, enum rw_onnx_slot which, const char *name,
                       const char *word, int64_t number)
{
    const struct rw_onnx_attribute *a = slot(m, which);
    const size_t n = m->onnx->five ? a->ints.n : a->n_texts;
    int right = n == 0; /* the default */
    if (n == 1)
        right = m->onnx->five ? a->ints.value[0] == number : is_word(a->text, word);
    if (!right)
        rw_refuse(m->source, "another '%s' than %s: the score is not the sum", name, word);
}

/* As many elements as there are nodes, or leaves. */
static void check_lengths(struct making *m)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        const struct known *is = &known[i];
        const struct rw_onnx_attribute *a = slot(m, is->slot);
        const size_t found = is->type == RW_ONNX_STRINGS                            ? a->n_texts
                             : is->type == RW_ONNX_INTS || is->slot == RW_ONNX_MODE ? a->ints.n
                                                                                    : a->reals.n;
        const size_t expected =
            is->slot < RW_ONNX_LEAF_TREE ? m->n_nodes : slot(m, RW_ONNX_LEAF_TARGET)->ints.n;
        const int may_lack = is->slot == RW_ONNX_MISSING_TRUE && found == 0;
        if (is->slot >= RW_ONNX_TREE && is->slot < RW_ONNX_IGNORED && is->five != !m->onnx->five &&
            found != expected && !may_lack)
            rw_refuse(m->source, "'%s' has %zu elements; expected %zu", is->name, found, expected);
    }
}

static void check_all(struct making *m)
{
    const struct rw_pb_ints *n_targets = &slot(m, RW_ONNX_N_TARGETS)->ints;
    const struct rw_pb_ints *targets = &slot(m, RW_ONNX_LEAF_TARGET)->ints;
    const struct rw_pb_reals *base = &slot(m, RW_ONNX_BASE)->reals;
    check_word(m, RW_ONNX_AGGREGATE, "aggregate_function", "SUM", 1);
    check_word(m, RW_ONNX_POST, "post_transform", "NONE", 0);
    if (n_targets->n != 1 || n_targets->value[0] != 1)
        rw_refuse(m->source, "'n_targets' is not 1");
    if (base->n > 1)
        rw_refuse(m->source, "'base_values' has %zu elements; expected 1", base->n);
    m->out->base = base->n ? base->value[0] : 0;
    check_lengths(m);
    for (size_t i = 0; i < targets->n; i++) {
        if (targets->value[i] != 0)
            rw_refuse(m->source, "a leaf of another target than the first");
    }
    if (m->n_items > INT32_MAX)
        rw_refuse(m->source, "%zu nodes and %zu leaves", m->n_nodes, targets->n);
}

static void read_columns(struct making *m)
{
    struct rw_ensemble *out = m->out;
    const uint64_t n = (uint64_t)m->onnx->n_columns;
    if (n == 0)
        return;
    if (rw_set_columns(m->source, out, n) < 0)
        return;
    memset(out->column_had, 1, out->n_columns);
    rw_mem_free(out->column_name);
    out->column_name = NULL;
}

/* Of the i-th node of the attributes. */
static enum rw_onnx_mode mode_of(struct making *m, size_t i)
{
    if (m->onnx->five) {
        const int64_t mode = int_at(m, RW_ONNX_MODE, i);
        if (mode < 0 || mode >= RW_ONNX_LEAF)
            rw_refuse(m->source, "node %zu: there is no mode %lld", i, (long long)mode);
        return (enum rw_onnx_mode)mode;
    }
    const struct rw_pb *text = &slot(m, RW_ONNX_MODE)->text[i];
    for (int k = 0; k <= RW_ONNX_LEAF; k++) {
        if (rw_onnx_words[k] && is_word(text, rw_onnx_words[k]))
            return (enum rw_onnx_mode)k;
    }
    rw_refuse(m->source, "node %zu: there is no mode '%.*s'", i,
              text->end - text->at < 40 ? (int)(text->end - text->at) : 40, text->at);
    return RW_ONNX_LEAF;
}

static int tracks_true(const struct making *m, size_t i)
{
    return slot(m, RW_ONNX_MISSING_TRUE)->ints.n > 0 && int_at(m, RW_ONNX_MISSING_TRUE, i) != 0;
}

static void add_category(struct making *m, size_t i, double value)
{
    if (!(value >= 0 && value <= (double)RW_MAX_CATEGORY_ID && value == floor(value)))
        rw_refuse(m->source, "node %zu: %g is no category: a whole number from 0 on", i, value);
    else if (rw_keep(m->source,
                     RW_GROW(m->source->ctx, m->category, m->room, m->n_categories + 1)) == RW_OK)
        m->category[m->n_categories++] = (uint32_t)value;
}

/* What a node tests for: a set of TreeEnsemble, or values, one or of several tests in a row. */
static void make_set(struct making *m, int32_t item, struct rw_ens_node *node)
{
    const struct rw_pb_reals *members = &slot(m, RW_ONNX_MEMBERS)->reals;
    const struct rw_pb_reals *values = &slot(m, RW_ONNX_VALUE)->reals;
    const size_t i = m->at[item];
    int nan_true = tracks_true(m, i);
    m->n_categories = 0;
    if (mode_of(m, i) == RW_ONNX_MEMBER) {
        for (size_t k = m->members[i]; k < members->n && !isnan(members->value[k]); k++)
            add_category(m, i, members->value[k]);
    } else {
        for (int32_t at = item; at != NONE && m->source->status == RW_OK; at = m->next[at]) {
            const size_t test = m->at[at];
            add_category(m, test, values->value[test]);
            nan_true |= tracks_true(m, test);
        }
    }
    node->nan = nan_true ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (m->onnx->n_columns == 0)
        rw_refuse(m->source, "node %zu: a categorical split, but the input's width is not known",
                  i);
    rw_sort_numbers(m->category, m->n_categories);
    rw_read_set(m->source, m->out, node, m->category, m->n_categories);
}

/* x >= t and x > t are x < t and x <= t with the children swapped. NaN: false, whichever child that
 * is, unless it goes where true does. A double that is no float parts floats where `<=` the float
 * below does. */
static void make_split(struct making *m, int32_t item, int32_t true_child, int32_t false_child,
                       struct rw_ens_node *node)
{
    const size_t i = m->at[item];
    const enum rw_onnx_mode mode = mode_of(m, i);
    const int64_t column = int_at(m, RW_ONNX_FEATURE, i);
    const double t = slot(m, RW_ONNX_VALUE)->reals.value[i];
    const int turned = mode == RW_ONNX_GTE || mode == RW_ONNX_GT;
    const int64_t most = m->onnx->n_columns > 0 ? m->onnx->n_columns - 1 : RW_MAX_FEATURE;
    const int nan_true = tracks_true(m, i);
    if (mode == RW_ONNX_NEQ)
        rw_refuse(m->source, "node %zu tests for unequal values", i);
    if (column < 0 || column > most)
        rw_refuse(m->source, "node %zu: feature %lld; expected 0 to %lld", i, (long long)column,
                  (long long)most);
    node->left = turned ? false_child : true_child;
    node->right = turned ? true_child : false_child;
    node->column = (uint32_t)column;
    node->less = mode == RW_ONNX_LT || mode == RW_ONNX_GTE;
    node->nan = nan_true != turned ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (mode == RW_ONNX_EQ || mode == RW_ONNX_MEMBER) {
        make_set(m, item, node);
        return;
    }
    node->threshold = t;
    if (isnan(t) || (double)(float)t == t)
        return;
    node->threshold = (double)rw_float_below(t, 0);
    node->less = 0;
}

/* ------------------------------------------------------------------ trees */

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static int is_leaf(const struct making *m, int32_t item)
{
    return m->onnx->five ? (size_t)item >= m->n_nodes : m->child[item][0] == NONE;
}

static void add_item(struct making *m, int32_t item)
{
    const int is_node = (size_t)item < m->n_nodes;
    if (m->position[item] != NONE)
        rw_refuse(m->source,
                  is_node ? "node %d is reached twice, or is above itself"
                          : "leaf %d is reached twice",
                  is_node ? item : item - (int32_t)m->n_nodes);
    else
        m->item[m->n_of_tree++] = item;
    m->position[item] = 0;
}

/* TreeEnsemble's; the regressor's are linked before. */
static void find_child(struct making *m, int32_t node, int side)
{
    const int64_t to = int_at(m, side ? RW_ONNX_FALSE : RW_ONNX_TRUE, (size_t)node);
    const int leaf = int_at(m, side ? RW_ONNX_FALSE_LEAF : RW_ONNX_TRUE_LEAF, (size_t)node) != 0;
    const size_t n = leaf ? m->n_items - m->n_nodes : m->n_nodes;
    if (to < 0 || to >= (int64_t)n)
        rw_refuse(m->source, "node %d: there is no %s %lld to be its child", node,
                  leaf ? "leaf" : "node", (long long)to);
    else
        m->child[node][side] = (int32_t)to + (leaf ? (int32_t)m->n_nodes : 0);
}

static void make_leaf(struct making *m, int32_t item, struct rw_ens_node *node)
{
    if (m->weight[item] == 0)
        rw_refuse(m->source, "tree %lld, node %lld: a leaf without a weight",
                  (long long)m->key[item].tree, (long long)m->key[item].id);
    else
        node->value = slot(m, RW_ONNX_LEAF_WEIGHT)->reals.value[m->weight[item] - 1];
    node->left = node->right = -1;
}

/* Tests in a row of one feature that lead to the same child are one split. */
static void fold(struct making *m, int32_t item)
{
    for (int32_t last = item, at; m->source->status == RW_OK; last = at) {
        at = m->child[item][1];
        const size_t i = m->at[item], k = m->at[at];
        if (is_leaf(m, at) || mode_of(m, i) != RW_ONNX_EQ || mode_of(m, k) != RW_ONNX_EQ ||
            m->child[at][0] != m->child[item][0] ||
            int_at(m, RW_ONNX_FEATURE, i) != int_at(m, RW_ONNX_FEATURE, k))
            return;
        if (m->position[at] != NONE) {
            rw_refuse(m->source, "node %d is reached twice, or is above itself", at);
            return;
        }
        m->position[at] = 0;
        m->next[last] = at;
        m->n_folded++;
        m->child[item][1] = m->child[at][1];
    }
}

/* Nodes come in the order of their numbers, so that what we wrote comes back as it was. */
static void make_tree(struct making *m, int32_t root)
{
    m->n_of_tree = m->n_folded = 0;
    add_item(m, root);
    for (size_t i = 0; i < m->n_of_tree && m->source->status == RW_OK; i++) {
        const int32_t item = m->item[i];
        for (int side = 0; side < 2 && !is_leaf(m, item) && m->source->status == RW_OK; side++) {
            if (m->onnx->five)
                find_child(m, item, side);
            else if (side == 1)
                fold(m, item);
            if (m->source->status == RW_OK)
                add_item(m, m->child[item][side]);
        }
    }
    struct rw_ens_tree *tree = rw_add_tree(m->source, m->out, (int32_t)m->n_of_tree);
    if (!tree)
        return;
    qsort(m->item + 1, m->n_of_tree - 1, sizeof(*m->item), by_number);
    for (size_t i = 0; i < m->n_of_tree; i++)
        m->position[m->item[i]] = (int32_t)i;
    for (size_t i = 0; i < m->n_of_tree; i++) {
        const int32_t item = m->item[i], *child = m->child[item];
        if (is_leaf(m, item))
            make_leaf(m, item, &tree->node[i]);
        else
            make_split(m, item, m->position[child[0]], m->position[child[1]], &tree->node[i]);
    }
    for (size_t i = 0; i < m->n_of_tree; i++) { /* trees may share leaves of TreeEnsemble */
        if ((size_t)m->item[i] >= m->n_nodes)
            m->position[m->item[i]] = NONE;
    }
}

/* ------------------------------------------------------------------ TreeEnsembleRegressor */

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static size_t find(struct making *m, int64_t tree, int64_t id)
{
    const struct key wanted = {tree, id, 0};
    const struct key *found =
        m->n_items ? bsearch(&wanted, m->key, m->n_items, sizeof(wanted), by_key) : NULL;
    if (!found)
        rw_refuse(m->source, "tree %lld has no node %lld", (long long)tree, (long long)id);
    return found ? (size_t)(found - m->key) : 0;
}

static void find_weights(struct making *m)
{
    const size_t n_leaves = slot(m, RW_ONNX_LEAF_TARGET)->ints.n;
    for (size_t i = 0; i < n_leaves && m->source->status == RW_OK; i++) {
        const int64_t tree = int_at(m, RW_ONNX_LEAF_TREE, i), id = int_at(m, RW_ONNX_LEAF_NODE, i);
        const size_t k = find(m, tree, id);
        if (m->source->status < 0)
            return;
        const int is_split = mode_of(m, m->at[k]) != RW_ONNX_LEAF;
        if (is_split || m->weight[k] != 0)
            rw_refuse(m->source, "tree %lld, node %lld: %s", (long long)tree, (long long)id,
                      is_split ? "a weight, but no leaf" : "several weights");
        m->weight[k] = i + 1;
    }
}

/* The tree of the keys from begin to end. */
static void link_tree(struct making *m, size_t begin, size_t end, unsigned char *has_parent)
{
    const int64_t number = m->key[begin].tree;
    size_t n_roots = 0, root = begin;
    for (size_t k = begin; k < end && m->source->status == RW_OK; k++) {
        const size_t at = m->at[k];
        const int is_split = mode_of(m, at) != RW_ONNX_LEAF;
        for (int side = 0; side < 2 && is_split && m->source->status == RW_OK; side++) {
            const int64_t id = int_at(m, side ? RW_ONNX_FALSE : RW_ONNX_TRUE, at);
            m->child[k][side] = (int32_t)find(m, number, id);
            has_parent[m->child[k][side]] = 1;
        }
    }
    for (size_t k = begin; k < end; k++) {
        root = has_parent[k] ? root : k;
        n_roots += !has_parent[k];
    }
    if (n_roots != 1)
        rw_refuse(m->source, "tree %lld has %zu roots", (long long)number, n_roots);
    if (m->source->status < 0)
        return;
    make_tree(m, (int32_t)root);
    if (m->n_of_tree + m->n_folded != end - begin) /* some of them go round in a circle */
        rw_refuse(m->source, "tree %lld has nodes that its root does not reach", (long long)number);
}

static void make_regressor(struct making *m)
{
    struct rw_ctx *ctx = m->source->ctx;
    unsigned char *has_parent = NULL;
    const size_t n = m->n_items;
    if (rw_keep(m->source, RW_NEW(ctx, m->key, n)) < 0 ||
        rw_keep(m->source, RW_NEW(ctx, has_parent, n)) < 0)
        return;
    for (size_t i = 0; i < n; i++)
        m->key[i] = (struct key){int_at(m, RW_ONNX_TREE, i), int_at(m, RW_ONNX_ID, i), i};
    qsort(m->key, n, sizeof(*m->key), by_key);
    for (size_t i = 1; i < n; i++) {
        if (by_key(&m->key[i - 1], &m->key[i]) == 0)
            rw_refuse(m->source, "tree %lld has two nodes %lld", (long long)m->key[i].tree,
                      (long long)m->key[i].id);
    }
    for (size_t k = 0; k < n; k++)
        m->at[k] = m->key[k].at;
    find_weights(m);
    for (size_t begin = 0, end; begin < n && m->source->status == RW_OK; begin = end) {
        for (end = begin + 1; end < n && m->key[end].tree == m->key[begin].tree;)
            end++;
        link_tree(m, begin, end, has_parent);
    }
    rw_mem_free(has_parent);
}

/* ------------------------------------------------------------------ TreeEnsemble */

/* A root with two children of one number stands for a tree of one leaf. ONNX Runtime reads it
 * differently where the leaf has another number than the node, so that such a file means two
 * things. */
static void make_root(struct making *m, int64_t number)
{
    const int32_t root = (int32_t)number, n = (int32_t)m->n_nodes;
    if (number < 0 || number >= n) {
        rw_refuse(m->source, "there is no node %lld to be a root", (long long)number);
        return;
    }
    find_child(m, root, 0);
    find_child(m, root, 1);
    const int32_t left = m->child[root][0], right = m->child[root][1];
    const int32_t left_number = left < n ? left : left - n;
    if (m->source->status < 0 || left_number != (right < n ? right : right - n)) {
        make_tree(m, root);
        return;
    }
    if (left < n || right < n || left_number != root)
        rw_refuse(m->source,
                  "node %d, a root, has two children of the number %d, which ONNX Runtime takes "
                  "for a leaf",
                  root, left_number);
    m->n_of_tree = 0;
    add_item(m, root);
    make_tree(m, left);
}

/* ------------------------------------------------------------------ the formats */

/* The sets of TreeEnsemble stand in the order of their nodes, parted by NaN. */
static void find_members(struct making *m)
{
    const struct rw_pb_reals *members = &slot(m, RW_ONNX_MEMBERS)->reals;
    size_t at = 0;
    for (size_t i = 0; i < m->n_nodes && m->source->status == RW_OK; i++) {
        if (mode_of(m, i) != RW_ONNX_MEMBER)
            continue;
        if (at >= members->n)
            rw_refuse(m->source, "node %zu: 'membership_values' has no set for it", i);
        m->members[i] = at;
        while (at < members->n && !isnan(members->value[at]))
            at++;
        at++;
    }
}

static void make(struct making *m)
{
    struct rw_ctx *ctx = m->source->ctx;
    const struct rw_pb_ints *roots = &slot(m, RW_ONNX_ROOT)->ints;
    const int five = m->onnx->five;
    m->n_nodes = slot(m, RW_ONNX_FEATURE)->ints.n;
    m->n_items = m->n_nodes + (five ? slot(m, RW_ONNX_LEAF_WEIGHT)->reals.n : 0);
    check_all(m);
    read_columns(m);
    if (m->source->status < 0 || rw_keep(m->source, RW_NEW(ctx, m->at, m->n_items)) < 0 ||
        rw_keep(m->source, RW_NEW(ctx, m->weight, m->n_items)) < 0 ||
        rw_keep(m->source, RW_NEW(ctx, m->child, m->n_items)) < 0 ||
        rw_keep(m->source, RW_NEW(ctx, m->position, m->n_items)) < 0 ||
        rw_keep(m->source, RW_NEW(ctx, m->next, m->n_items)) < 0 ||
        rw_keep(m->source, RW_NEW(ctx, m->members, m->n_nodes)) < 0 ||
        rw_keep(m->source, RW_NEW(ctx, m->item, m->n_items)) < 0)
        return;
    for (size_t i = 0; i < m->n_items; i++) {
        m->at[i] = i;
        m->weight[i] = five && i >= m->n_nodes ? i - m->n_nodes + 1 : 0;
        m->child[i][0] = m->child[i][1] = m->position[i] = m->next[i] = NONE;
    }
    if (!five)
        make_regressor(m);
    else
        find_members(m);
    for (size_t i = 0; five && i < roots->n && m->source->status == RW_OK; i++)
        make_root(m, roots->value[i]);
}

static int parse(struct rw_source *source, int five, struct rw_ensemble *out)
{
    struct rw_onnx onnx = {0};
    struct making m = {.source = source, .onnx = &onnx, .out = out};
    if (rw_onnx_read(source, five, &onnx) == RW_OK)
        make(&m);
    rw_onnx_release(&onnx);
    rw_mem_free(m.key);
    rw_mem_free(m.at);
    rw_mem_free(m.weight);
    rw_mem_free(m.child);
    rw_mem_free(m.next);
    rw_mem_free(m.members);
    rw_mem_free(m.category);
    rw_mem_free(m.position);
    rw_mem_free(m.item);
    return source->status;
}

static int parse_3(struct rw_source *source, struct rw_ensemble *out)
{
    return parse(source, 0, out);
}

static int parse_5(struct rw_source *source, struct rw_ensemble *out)
{
    return parse(source, 1, out);
}

static int write_3(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    return rw_onnx_write(ensemble, 0, put);
}

static int write_5(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    return rw_onnx_write(ensemble, 1, put);
}

/* Categories are whole numbers in float. */
#define ENSEMBLE                                                                               \
    .consumer = {{.name = "ONNX", .rules = {.nan_by_node = 1, .absent = RW_ABSENT_AS_MODEL}}}, \
    .names = RW_NAMES_NONE, .imports = 1, .categories = RW_SAYS_NUMBERS, .most_category = 16777215

const struct rw_model_format rw_to_onnx = {
    .name = "onnx",
    .about = "ONNX-ML's TreeEnsembleRegressor, operator set 3",
    ENSEMBLE,
    .write = write_3,
    .parse = parse_3,
};

const struct rw_model_format rw_to_onnx5 = {
    .name = "onnx5",
    .about = "ONNX-ML's TreeEnsemble, operator set 5",
    ENSEMBLE,
    .write = write_5,
    .parse = parse_5,
};
