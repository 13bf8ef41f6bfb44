/* Finds the one node of an ONNX model and its attributes; what they mean is to_onnx.c's. */
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

int rw_onnx_is_word(const struct rw_pb *text, const char *word)
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
        if (rw_onnx_is_word(&name, known[i].name) && known[i].five != !r->out->five)
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
    if (!rw_onnx_is_word(&op, expected) || !rw_onnx_is_word(&domain, RW_ONNX_DOMAIN))
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
