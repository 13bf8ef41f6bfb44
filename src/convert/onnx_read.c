/* Finds the one node of an ONNX model and its attributes; what they mean is to_onnx.c's. */
#include <string.h>

#include "base/mem.h"
#include "convert/onnx_model.h"

struct reading {
    struct rw_ctx *ctx;
    const struct rw_source *source;
    struct rw_onnx *out;
    int n_nodes;
    struct rw_onnx_text input; /* the node's */
    struct {
        struct rw_onnx_text name;
        int64_t n_columns;
    } graph_input;
    int n_inputs;
};

static int is_word(const struct rw_onnx_text *text, const char *word)
{
    return text->n == strlen(word) && memcmp(text->text, word, text->n) == 0;
}

static int read_text(struct reading *r, const struct rw_pb_field *field, struct rw_onnx_text *out)
{
    struct rw_pb message;
    RW_TRY(rw_pb_message(r->ctx, r->source, field, &message));
    *out = (struct rw_onnx_text){field->bytes, field->n};
    return RW_OK;
}

/* How much of a text a message shows. */
static int shown(const struct rw_onnx_text *text)
{
    return text->n < 60 ? (int)text->n : 60;
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

static int add_bytes(struct reading *r, const struct rw_pb_field *field, struct rw_pb_ints *to)
{
    struct rw_pb raw;
    RW_TRY(rw_pb_message(r->ctx, r->source, field, &raw));
    for (; raw.at < raw.end; raw.at++) {
        RW_TRY(RW_GROW(r->ctx, to->value, to->room, to->n + 1));
        to->value[to->n++] = (unsigned char)*raw.at;
    }
    return RW_OK;
}

/* The elements lie in a field of their type's, or raw; the type may stand behind them. */
static int read_tensor(struct reading *r, const struct rw_pb_field *from,
                       const struct rw_onnx_text *name, struct rw_onnx_attribute *to)
{
    struct rw_pb tensor, again;
    struct rw_pb_field field;
    uint64_t type = 0, elsewhere = 0;
    int more;
    RW_TRY(rw_pb_message(r->ctx, r->source, from, &tensor));
    again = tensor;
    while ((more = rw_pb_next(r->ctx, r->source, &tensor, &field)) > 0) {
        if (field.number == RW_ONNX_TENSOR_TYPE)
            type = field.value;
        if (field.number == RW_ONNX_TENSOR_ELSEWHERE)
            elsewhere = field.value;
    }
    RW_TRY(more);
    if (elsewhere)
        return rw_refuse(r->ctx, r->source, "'%.*s': its values stand in another file", shown(name),
                         name->text);
    if (type != RW_ONNX_FLOAT32 && type != RW_ONNX_FLOAT64 && type != RW_ONNX_UINT8)
        return rw_refuse(r->ctx, r->source,
                         "'%.*s': elements of type %llu; expected float, double or uint8",
                         shown(name), name->text, (unsigned long long)type);
    const uint32_t own = type == RW_ONNX_FLOAT32   ? RW_ONNX_TENSOR_FLOATS
                         : type == RW_ONNX_FLOAT64 ? RW_ONNX_TENSOR_DOUBLES
                                                   : RW_ONNX_TENSOR_INT32S;
    while ((more = rw_pb_next(r->ctx, r->source, &again, &field)) > 0) {
        if (field.number != own && field.number != RW_ONNX_TENSOR_RAW)
            continue;
        if (type != RW_ONNX_UINT8)
            RW_TRY(rw_pb_add_reals(r->ctx, r->source, &field, type == RW_ONNX_FLOAT32 ? 4 : 8,
                                   &to->reals));
        else if (field.number == own)
            RW_TRY(rw_pb_add_ints(r->ctx, r->source, &field, &to->ints));
        else
            RW_TRY(add_bytes(r, &field, &to->ints));
    }
    return more;
}

static int add_text(struct reading *r, const struct rw_pb_field *field,
                    struct rw_onnx_attribute *to)
{
    RW_TRY(RW_GROW(r->ctx, to->text, to->room, to->n_texts + 1));
    return read_text(r, field, &to->text[to->n_texts++]);
}

static int read_value(struct reading *r, const struct rw_pb_field *field,
                      const struct rw_onnx_text *name, int type, struct rw_onnx_attribute *to)
{
    uint32_t expected = 0;
    switch (type) {
    case RW_ONNX_INT:
        expected = RW_ONNX_ATTRIBUTE_I;
        break;
    case RW_ONNX_STRING:
        expected = RW_ONNX_ATTRIBUTE_S;
        break;
    case RW_ONNX_TENSOR:
        expected = RW_ONNX_ATTRIBUTE_T;
        break;
    case RW_ONNX_FLOATS:
        expected = RW_ONNX_ATTRIBUTE_FLOATS;
        break;
    case RW_ONNX_INTS:
        expected = RW_ONNX_ATTRIBUTE_INTS;
        break;
    case RW_ONNX_STRINGS:
        expected = RW_ONNX_ATTRIBUTE_STRINGS;
        break;
    }
    if (field->number != expected)
        return rw_refuse(r->ctx, r->source, "'%.*s' is of another type than the operator's",
                         shown(name), name->text);
    if (type == RW_ONNX_TENSOR)
        return read_tensor(r, field, name, to);
    if (type == RW_ONNX_FLOATS)
        return rw_pb_add_reals(r->ctx, r->source, field, 4, &to->reals);
    if (type == RW_ONNX_STRING || type == RW_ONNX_STRINGS)
        return add_text(r, field, to);
    return rw_pb_add_ints(r->ctx, r->source, field, &to->ints);
}

static int read_attribute(struct reading *r, const struct rw_pb_field *from)
{
    struct rw_pb message, again;
    struct rw_pb_field field;
    struct rw_onnx_text name = {0};
    int more;
    RW_TRY(rw_pb_message(r->ctx, r->source, from, &message));
    again = message;
    while ((more = rw_pb_next(r->ctx, r->source, &message, &field)) > 0) {
        if (field.number == RW_ONNX_ATTRIBUTE_NAME)
            RW_TRY(read_text(r, &field, &name));
    }
    RW_TRY(more);
    const struct known *is = NULL;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !is; i++) {
        if (is_word(&name, known[i].name) && known[i].five != !r->out->five)
            is = &known[i];
    }
    if (!is)
        return rw_refuse(r->ctx, r->source, "attribute '%.*s', which the operator has not",
                         shown(&name), name.n ? name.text : "");
    while ((more = rw_pb_next(r->ctx, r->source, &again, &field)) > 0) {
        if (field.number == RW_ONNX_ATTRIBUTE_NAME || field.number == RW_ONNX_ATTRIBUTE_TYPE ||
            field.number == RW_ONNX_ATTRIBUTE_DOC)
            continue;
        RW_TRY(read_value(r, &field, &name, is->type, &r->out->slot[is->slot]));
    }
    return more;
}

/* ------------------------------------------------------------------ the graph */

static int check_operator(struct reading *r, const struct rw_onnx_text *op,
                          const struct rw_onnx_text *domain)
{
    const char *expected = r->out->five ? "TreeEnsemble" : "TreeEnsembleRegressor";
    if (!is_word(op, expected) || !is_word(domain, RW_ONNX_DOMAIN))
        return rw_refuse(r->ctx, r->source, "operator '%.*s' of '%.*s'; expected %s alone",
                         shown(op), op->n ? op->text : "", shown(domain),
                         domain->n ? domain->text : "", expected);
    if (r->n_nodes++ > 0)
        return rw_refuse(r->ctx, r->source, "several tree ensembles; expected one");
    return RW_OK;
}

static int read_node(struct reading *r, const struct rw_pb_field *from)
{
    struct rw_pb message, again;
    struct rw_pb_field field;
    struct rw_onnx_text op = {0}, domain = {0};
    int more, n_inputs = 0;
    RW_TRY(rw_pb_message(r->ctx, r->source, from, &message));
    again = message;
    while ((more = rw_pb_next(r->ctx, r->source, &message, &field)) > 0) {
        if (field.number == RW_ONNX_NODE_OP)
            RW_TRY(read_text(r, &field, &op));
        else if (field.number == RW_ONNX_NODE_DOMAIN)
            RW_TRY(read_text(r, &field, &domain));
        else if (field.number == RW_ONNX_NODE_INPUT && n_inputs++ == 0)
            RW_TRY(read_text(r, &field, &r->input));
    }
    RW_TRY(more);
    RW_TRY(check_operator(r, &op, &domain));
    while ((more = rw_pb_next(r->ctx, r->source, &again, &field)) > 0) {
        if (field.number == RW_ONNX_NODE_ATTRIBUTE)
            RW_TRY(read_attribute(r, &field));
    }
    return more;
}

/* The number of columns: the last dimension of the shape of a tensor type, where there are two. */
static int read_shape(struct reading *r, const struct rw_pb_field *from, int64_t *n_columns)
{
    static const uint32_t path[] = {RW_ONNX_TYPE_TENSOR, RW_ONNX_TENSOR_TYPE_SHAPE,
                                    RW_ONNX_SHAPE_DIM, RW_ONNX_DIM_VALUE};
    struct rw_pb at[4];
    struct rw_pb_field field;
    int depth = 0, n_dims = 0;
    int64_t last = 0;
    RW_TRY(rw_pb_message(r->ctx, r->source, from, &at[0]));
    while (depth >= 0) {
        const int more = rw_pb_next(r->ctx, r->source, &at[depth], &field);
        RW_TRY(more);
        if (more == 0) {
            depth--;
            continue;
        }
        if (field.number != path[depth])
            continue;
        if (depth == 3) {
            last = field.type == RW_PB_VARINT ? (int64_t)field.value : 0;
            continue;
        }
        if (depth == 2) {
            n_dims++;
            last = 0;
        }
        RW_TRY(rw_pb_message(r->ctx, r->source, &field, &at[++depth]));
    }
    *n_columns = n_dims == 2 ? last : 0;
    return RW_OK;
}

static int read_input(struct reading *r, const struct rw_pb_field *from)
{
    struct rw_pb message;
    struct rw_pb_field field;
    int more;
    if (r->n_inputs++ > 0)
        return rw_refuse(r->ctx, r->source, "a graph of several inputs; expected one");
    RW_TRY(rw_pb_message(r->ctx, r->source, from, &message));
    while ((more = rw_pb_next(r->ctx, r->source, &message, &field)) > 0) {
        if (field.number == RW_ONNX_VALUE_NAME)
            RW_TRY(read_text(r, &field, &r->graph_input.name));
        else if (field.number == RW_ONNX_VALUE_TYPE)
            RW_TRY(read_shape(r, &field, &r->graph_input.n_columns));
    }
    return more;
}

static int read_graph(struct reading *r, const struct rw_pb_field *from)
{
    struct rw_pb message;
    struct rw_pb_field field;
    int more;
    RW_TRY(rw_pb_message(r->ctx, r->source, from, &message));
    while ((more = rw_pb_next(r->ctx, r->source, &message, &field)) > 0) {
        if (field.number == RW_ONNX_GRAPH_NODE)
            RW_TRY(read_node(r, &field));
        else if (field.number == RW_ONNX_GRAPH_INPUT)
            RW_TRY(read_input(r, &field));
    }
    return more;
}

int rw_onnx_read(struct rw_ctx *ctx, const struct rw_source *source, int five, struct rw_onnx *out)
{
    struct reading r = {.ctx = ctx, .source = source, .out = out};
    struct rw_pb message = {source->text, source->text + source->n};
    struct rw_pb_field field;
    int more;
    out->five = five;
    while ((more = rw_pb_next(ctx, source, &message, &field)) > 0) {
        if (field.number == RW_ONNX_MODEL_GRAPH)
            RW_TRY(read_graph(&r, &field));
    }
    RW_TRY(more);
    if (r.n_nodes == 0)
        return rw_refuse(ctx, source, "not ONNX: no graph with a node");
    const struct rw_onnx_text *input = &r.graph_input.name;
    if (r.n_inputs == 0 || input->n != r.input.n ||
        (input->n > 0 && memcmp(input->text, r.input.text, input->n) != 0))
        return rw_refuse(ctx, source, "the graph's input is not the tree ensemble's");
    out->n_columns = r.graph_input.n_columns > 0 ? r.graph_input.n_columns : 0;
    return RW_OK;
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
