/* ONNX-ML's tree ensembles: a model whose graph is one node, TreeEnsembleRegressor (operator set 3
 * of ai.onnx.ml, and the earlier ones that it grew from) or TreeEnsemble (5). Floats; a node's mode
 * says how it compares, nodes_missing_value_tracks_true that NaN goes where true does. */
#ifndef RW_CONVERT_ONNX_MODEL_H
#define RW_CONVERT_ONNX_MODEL_H

#include "convert/protobuf.h"

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

/* The attributes of both operators, by what they mean: of the model, of nodes from TREE on, of
 * leaves from LEAF_TREE on. IGNORED: hit rates, which change no score. */
enum rw_onnx_slot {
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
    RW_ONNX_SLOTS
};
struct rw_onnx_attribute {
    struct rw_pb_ints ints; /* also of a tensor of bytes, and one number */
    struct rw_pb_reals reals;
    struct rw_pb *text; /* [n_texts] owned */
    size_t n_texts, room;
};
/* A model's one node. Zero-initialise; release in any state. */
struct rw_onnx {
    int five; /* 1: TreeEnsemble */
    int64_t n_columns;
    struct rw_onnx_attribute slot[RW_ONNX_SLOTS];
};
/* to_onnx.c: a model of the one operator or the other. Returns source->status. */
int rw_onnx_read(struct rw_source *source, int five, struct rw_onnx *out);
void rw_onnx_release(struct rw_onnx *onnx);
/* onnx_write.c */
int rw_onnx_write(const struct rw_ensemble *ensemble, int five, struct rw_put *put);
#endif
