/* ONNX-ML's tree ensembles: a model whose graph is one node, TreeEnsembleRegressor (operator set 3
 * of ai.onnx.ml, and the earlier ones that it grew from) or TreeEnsemble (5). Floats; a node's mode
 * says how it compares, nodes_missing_value_tracks_true that NaN goes where true does.
 *
 * Files are in Protocol Buffers' wire format: messages are runs of (number, type, value). It is
 * written and read here since the C libraries of it (protobuf-c, nanopb) want a compiler of their
 * own at build time and code that it makes of ONNX's whole schema, for a dozen fields; the format
 * itself is four kinds of values. */
#pragma once

#include "convert/convert.h"

enum rw_pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };
/* A number alone, as packed arrays hold them. */
void rw_pb_put_number(struct rw_put *put, uint64_t number);
void rw_pb_put_fixed32(struct rw_put *put, uint32_t bits);
/* Fields; a message or a packed array is bytes. */
void rw_pb_put_varint(struct rw_put *put, uint32_t field, uint64_t number);
void rw_pb_put_bytes(struct rw_put *put, uint32_t field, const void *bytes, size_t n);
void rw_pb_put_text(struct rw_put *put, uint32_t field, const char *text);

#define ONNX_DOMAIN "ai.onnx.ml"
/* Numbers of fields in onnx.proto, a line or more for each message. */
enum { ONNX_MODEL_IR = 1, ONNX_MODEL_PRODUCER = 2, ONNX_MODEL_GRAPH = 7, ONNX_MODEL_OPSET = 8 };
enum { ONNX_OPSET_DOMAIN = 1, ONNX_OPSET_VERSION = 2 };
enum { ONNX_GRAPH_NODE = 1, ONNX_GRAPH_NAME = 2, ONNX_GRAPH_INPUT = 11, ONNX_GRAPH_OUTPUT = 12 };
enum { ONNX_NODE_INPUT = 1, ONNX_NODE_OUTPUT = 2 };
enum { ONNX_NODE_OP = 4, ONNX_NODE_ATTRIBUTE = 5, ONNX_NODE_DOMAIN = 7 };
enum { ONNX_ATTRIBUTE_NAME = 1, ONNX_ATTRIBUTE_DOC = 13, ONNX_ATTRIBUTE_TYPE = 20 };
enum { ONNX_ATTRIBUTE_I = 3, ONNX_ATTRIBUTE_S = 4, ONNX_ATTRIBUTE_T = 5 };
enum { ONNX_ATTRIBUTE_FLOATS = 7, ONNX_ATTRIBUTE_INTS = 8, ONNX_ATTRIBUTE_STRINGS = 9 };
enum { ONNX_TENSOR_DIMS = 1, ONNX_TENSOR_TYPE = 2, ONNX_TENSOR_ELSEWHERE = 14 };
enum { ONNX_TENSOR_FLOATS = 4, ONNX_TENSOR_INT32S = 5 };
enum { ONNX_TENSOR_RAW = 9, ONNX_TENSOR_DOUBLES = 10 };
enum { ONNX_VALUE_NAME = 1, ONNX_VALUE_TYPE = 2 };
enum { ONNX_TYPE_TENSOR = 1, ONNX_TENSOR_TYPE_ELEMENT = 1, ONNX_TENSOR_TYPE_SHAPE = 2 };
enum { ONNX_SHAPE_DIM = 1, ONNX_DIM_VALUE = 1, ONNX_DIM_NAME = 2 };
/* Types of attributes, of one value and of several; of tensors' elements. */
enum { ONNX_INT = 2, ONNX_STRING = 3, ONNX_TENSOR = 4 };
enum { ONNX_FLOATS = 6, ONNX_INTS = 7, ONNX_STRINGS = 8 };
enum { ONNX_FLOAT32 = 1, ONNX_UINT8 = 2, ONNX_FLOAT64 = 11 };
/* Modes of nodes, as TreeEnsemble 5 numbers them; LEAF: TreeEnsembleRegressor's only. */
enum rw_onnx_mode {
    ONNX_LEQ,
    ONNX_LT,
    ONNX_GTE,
    ONNX_GT,
    ONNX_EQ,
    ONNX_NEQ,
    ONNX_MEMBER,
    ONNX_LEAF
};
/* The regressor's words for them. */
static const char *const rw_onnx_words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                            "BRANCH_EQ",  "BRANCH_NEQ", NULL,         "LEAF"};

/* The lists that attributes of both operators are read into and written from, by what they mean: of
 * the model, of nodes from TREE on, of leaves from LEAF_TREE on. IGNORED: hit rates, which change
 * no score. */
enum rw_onnx_list {
    ONNX_AGGREGATE,
    ONNX_POST,
    ONNX_N_TARGETS,
    ONNX_BASE,
    ONNX_ROOT,
    ONNX_MEMBERS,
    ONNX_TREE,
    ONNX_ID,
    ONNX_FEATURE,
    ONNX_MODE,
    ONNX_VALUE,
    ONNX_TRUE,
    ONNX_FALSE,
    ONNX_MISSING_TRUE,
    ONNX_TRUE_LEAF,
    ONNX_FALSE_LEAF,
    ONNX_LEAF_TREE,
    ONNX_LEAF_NODE,
    ONNX_LEAF_TARGET,
    ONNX_LEAF_WEIGHT,
    ONNX_IGNORED,
    ONNX_LISTS
};
/* A row for each attribute of an operator, in the order in which they are written; the rows end
 * with a NULL name. */
struct rw_onnx_attribute {
    const char *name;
    enum rw_onnx_list list;
    int type;
    const char *word; /* of a text: the only one taken */
    int only_read;
};
const struct rw_onnx_attribute *rw_onnx_attributes(int five);

/* A model's one node. Zero-initialise; free the arena. */
struct rw_onnx {
    int five; /* 1: TreeEnsemble */
    int64_t n_columns;
    struct {
        int64_t *value; /* [n] reals by their bits, modes and texts by their numbers */
        size_t n, room;
    } list[ONNX_LISTS];
    struct rw_arena arena;
};
static inline int rw_onnx_add(struct rw_ctx *ctx, struct rw_onnx *onnx, enum rw_onnx_list to,
                              int64_t value)
{
    RW_TRY(RW_ARENA_GROW(ctx, &onnx->arena, onnx->list[to].value, onnx->list[to].room,
                         onnx->list[to].n + 1));
    onnx->list[to].value[onnx->list[to].n++] = value;
    return RW_OK;
}
/* onnx_read.c: the node as it stands in the file; the format's `parse`. */
int rw_onnx_read(struct rw_source *source, int five, struct rw_onnx *out);
int rw_onnx_parse(struct rw_source *source);
