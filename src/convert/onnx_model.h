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

enum rw_pb_type { RW_PB_VARINT = 0, RW_PB_FIXED64 = 1, RW_PB_BYTES = 2, RW_PB_FIXED32 = 5 };
/* A number alone, as packed arrays hold them. */
void rw_pb_put_number(struct rw_put *put, uint64_t number);
void rw_pb_put_fixed32(struct rw_put *put, uint32_t bits);
/* Fields; a message or a packed array is bytes. */
void rw_pb_put_varint(struct rw_put *put, uint32_t field, uint64_t number);
void rw_pb_put_bytes(struct rw_put *put, uint32_t field, const void *bytes, size_t n);
void rw_pb_put_text(struct rw_put *put, uint32_t field, const char *text);

#define RW_ONNX_DOMAIN "ai.onnx.ml"
/* Numbers of fields in onnx.proto, a line or more for each message. */
enum {
    RW_ONNX_MODEL_IR = 1,
    RW_ONNX_MODEL_PRODUCER = 2,
    RW_ONNX_MODEL_GRAPH = 7,
    RW_ONNX_MODEL_OPSET = 8
};
enum { RW_ONNX_OPSET_DOMAIN = 1, RW_ONNX_OPSET_VERSION = 2 };
enum {
    RW_ONNX_GRAPH_NODE = 1,
    RW_ONNX_GRAPH_NAME = 2,
    RW_ONNX_GRAPH_INPUT = 11,
    RW_ONNX_GRAPH_OUTPUT = 12
};
enum {
    RW_ONNX_NODE_INPUT = 1,
    RW_ONNX_NODE_OUTPUT = 2,
    RW_ONNX_NODE_OP = 4,
    RW_ONNX_NODE_ATTRIBUTE = 5,
    RW_ONNX_NODE_DOMAIN = 7
};
enum {
    RW_ONNX_ATTRIBUTE_NAME = 1,
    RW_ONNX_ATTRIBUTE_I = 3,
    RW_ONNX_ATTRIBUTE_S = 4,
    RW_ONNX_ATTRIBUTE_T = 5,
    RW_ONNX_ATTRIBUTE_FLOATS = 7,
    RW_ONNX_ATTRIBUTE_INTS = 8,
    RW_ONNX_ATTRIBUTE_STRINGS = 9,
    RW_ONNX_ATTRIBUTE_DOC = 13,
    RW_ONNX_ATTRIBUTE_TYPE = 20
};
enum {
    RW_ONNX_TENSOR_DIMS = 1,
    RW_ONNX_TENSOR_TYPE = 2,
    RW_ONNX_TENSOR_FLOATS = 4,
    RW_ONNX_TENSOR_INT32S = 5,
    RW_ONNX_TENSOR_RAW = 9,
    RW_ONNX_TENSOR_DOUBLES = 10,
    RW_ONNX_TENSOR_ELSEWHERE = 14
};
enum { RW_ONNX_VALUE_NAME = 1, RW_ONNX_VALUE_TYPE = 2 };
enum { RW_ONNX_TYPE_TENSOR = 1, RW_ONNX_TENSOR_TYPE_ELEMENT = 1, RW_ONNX_TENSOR_TYPE_SHAPE = 2 };
enum { RW_ONNX_SHAPE_DIM = 1, RW_ONNX_DIM_VALUE = 1, RW_ONNX_DIM_NAME = 2 };
/* Types of attributes, of tensors' elements. */
enum {
    RW_ONNX_INT = 2,
    RW_ONNX_STRING = 3,
    RW_ONNX_TENSOR = 4,
    RW_ONNX_FLOATS = 6,
    RW_ONNX_INTS = 7,
    RW_ONNX_STRINGS = 8
};
enum { RW_ONNX_FLOAT32 = 1, RW_ONNX_UINT8 = 2, RW_ONNX_FLOAT64 = 11 };
/* Modes of nodes, as TreeEnsemble 5 numbers them; LEAF: TreeEnsembleRegressor's only. */
enum rw_onnx_mode {
    RW_ONNX_LEQ,
    RW_ONNX_LT,
    RW_ONNX_GTE,
    RW_ONNX_GT,
    RW_ONNX_EQ,
    RW_ONNX_NEQ,
    RW_ONNX_MEMBER,
    RW_ONNX_LEAF
};
/* The regressor's words for them. */
static const char *const rw_onnx_words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                            "BRANCH_EQ",  "BRANCH_NEQ", NULL,         "LEAF"};

/* The lists that attributes of both operators are read into and written from, by what they mean: of
 * the model, of nodes from TREE on, of leaves from LEAF_TREE on. IGNORED: hit rates, which change
 * no score. */
enum rw_onnx_list {
    RW_ONNX_AGGREGATE,
    RW_ONNX_POST,
    RW_ONNX_N_TARGETS,
    RW_ONNX_BASE,
    RW_ONNX_ROOT,
    RW_ONNX_MEMBERS,
    RW_ONNX_TREE,
    RW_ONNX_ID,
    RW_ONNX_FEATURE,
    RW_ONNX_MODE,
    RW_ONNX_VALUE,
    RW_ONNX_TRUE,
    RW_ONNX_FALSE,
    RW_ONNX_MISSING_TRUE,
    RW_ONNX_TRUE_LEAF,
    RW_ONNX_FALSE_LEAF,
    RW_ONNX_LEAF_TREE,
    RW_ONNX_LEAF_NODE,
    RW_ONNX_LEAF_TARGET,
    RW_ONNX_LEAF_WEIGHT,
    RW_ONNX_IGNORED,
    RW_ONNX_LISTS
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
    } list[RW_ONNX_LISTS];
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
int rw_onnx_parse(struct rw_source *source, struct rw_ensemble *out);
