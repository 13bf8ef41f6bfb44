/* ONNX-ML's tree ensembles: what their writer (to_onnx.c) and reader (onnx_read.c) share. The graph
 * of a model is one node. It is TreeEnsembleRegressor (operator set 3 of ai.onnx.ml; files of sets
 * 1 and 2 are also read) or TreeEnsemble (operator set 5). Values are floats. The mode of a tree
 * node is its comparison, and nodes_missing_value_tracks_true sends NaN where a true comparison
 * goes.
 *
 * Files have the wire format of Protocol Buffers, in which messages are sequences of fields with
 * number, type and value. Rankwood writes and reads this format itself. The C libraries for it
 * (protobuf-c, nanopb) need a compiler at build time and code generated from ONNX's whole schema,
 * of which models use a few dozen fields. The format has only four types of values. */
#pragma once

#include "convert/convert.h"

enum rw_pb_type { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };
/* Append a number without a field, as in packed arrays. */
void rw_pb_put_number(struct rw_put *put, uint64_t number);
void rw_pb_put_fixed32(struct rw_put *put, uint32_t bits);
/* Append fields. Messages and packed arrays are bytes. */
void rw_pb_put_varint(struct rw_put *put, uint32_t field, uint64_t number);
void rw_pb_put_bytes(struct rw_put *put, uint32_t field, const void *bytes, size_t n);
void rw_pb_put_text(struct rw_put *put, uint32_t field, const char *text);

#define ONNX_DOMAIN "ai.onnx.ml"
/* Field numbers of onnx.proto: ONNX_<MESSAGE>_<FIELD>. */
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
/* Types of attributes with one value. */
enum { ONNX_INT = 2, ONNX_STRING = 3, ONNX_TENSOR = 4 };
/* Types of attributes with several values. */
enum { ONNX_FLOATS = 6, ONNX_INTS = 7, ONNX_STRINGS = 8 };
/* Types of tensor elements. */
enum { ONNX_FLOAT32 = 1, ONNX_UINT8 = 2, ONNX_FLOAT64 = 11 };
/* Modes of nodes, with TreeEnsemble's numbers. LEAF exists in TreeEnsembleRegressor only. */
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
/* TreeEnsembleRegressor's words for the modes. */
static const char *const rw_onnx_words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                            "BRANCH_EQ",  "BRANCH_NEQ", NULL,         "LEAF"};

/* The lists that attributes of both operators are read into and written from, named by meaning.
 * Those before ONNX_TREE are of the whole model. Those from ONNX_TREE on have an element per node,
 * and those from ONNX_LEAF_TREE to ONNX_LEAF_WEIGHT an element per leaf. ONNX_IGNORED is for hit
 * rates, which do not change scores. */
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
/* An attribute of an operator. A table lists them in the order of the file, and a NULL name ends
 * it. */
struct rw_onnx_attribute {
    const char *name;
    enum rw_onnx_list list;
    int type;         /* ONNX_INT to ONNX_STRINGS */
    const char *word; /* of ONNX_STRING: the only accepted value */
    int only_read;    /* 1: it is read, but not written */
};
/* Returns the table of an operator. five: 1 for TreeEnsemble, 0 for TreeEnsembleRegressor. */
const struct rw_onnx_attribute *rw_onnx_attributes(int five);

/* A model's one node. Initialise it with zeros, and free the arena. */
struct rw_onnx {
    int five;          /* 1: TreeEnsemble; 0: TreeEnsembleRegressor */
    int64_t n_columns; /* of the graph's input; 0: unknown */
    struct {
        /* [n] integers; reals as the bits of a double; modes as enum rw_onnx_mode */
        int64_t *value;
        size_t n, room;
    } list[ONNX_LISTS];
    struct rw_arena arena;
};
/* Appends a number to a list. */
static inline int rw_onnx_add(struct rw_ctx *ctx, struct rw_onnx *onnx, enum rw_onnx_list to,
                              int64_t value)
{
    RW_TRY(RW_ARENA_GROW(ctx, &onnx->arena, onnx->list[to].value, onnx->list[to].room,
                         onnx->list[to].n + 1));
    onnx->list[to].value[onnx->list[to].n++] = value;
    return RW_OK;
}
/* Reads the graph's node into lists, which keep the file's numbers and order. (onnx_read.c) */
int rw_onnx_read(struct rw_source *source, int five, struct rw_onnx *out);
/* The `parse` of both formats. (onnx_read.c) */
int rw_onnx_parse(struct rw_source *source);
