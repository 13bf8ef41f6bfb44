#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "convert/onnx_model.h"

/* The node is made from inside out: an array, its attribute, the node. */
struct emitting {
    const struct rw_ensemble *ensemble;
    struct rw_put array, attribute, node;
    /* onnx5: where a tree's nodes and leaves begin among all */
    int64_t *first_node, *first_leaf; /* [n_trees] owned */
};

/* ------------------------------------------------------------------ attributes */

static void begin(struct emitting *e, const char *name)
{
    e->array.n = 0;
    rw_pb_put_text(&e->attribute, RW_ONNX_ATTRIBUTE_NAME, name);
}

static void end(struct emitting *e, int type)
{
    rw_pb_put_varint(&e->attribute, RW_ONNX_ATTRIBUTE_TYPE, (uint64_t)type);
    rw_pb_put_message(&e->node, RW_ONNX_NODE_ATTRIBUTE, &e->attribute);
}

static void put_one(struct emitting *e, const char *name, uint64_t value)
{
    begin(e, name);
    rw_pb_put_varint(&e->attribute, RW_ONNX_ATTRIBUTE_I, value);
    end(e, RW_ONNX_INT);
}

static void put_word(struct emitting *e, const char *name, const char *text)
{
    begin(e, name);
    rw_pb_put_text(&e->attribute, RW_ONNX_ATTRIBUTE_S, text);
    end(e, RW_ONNX_STRING);
}

static void add_float(struct emitting *e, double value)
{
    rw_pb_put_fixed32(&e->array, rw_bits_of_float((float)value));
}

/* Ends an attribute whose values are `array`. */
static void end_array(struct emitting *e, int type)
{
    rw_pb_put_bytes(&e->attribute,
                    type == RW_ONNX_INTS ? RW_ONNX_ATTRIBUTE_INTS : RW_ONNX_ATTRIBUTE_FLOATS,
                    e->array.text, e->array.n);
    end(e, type);
}

static void end_tensor(struct emitting *e, int type, size_t bytes)
{
    struct rw_put tensor = {.ctx = e->node.ctx};
    rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_DIMS, e->array.n / bytes);
    rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_TYPE, (uint64_t)type);
    rw_pb_put_bytes(&tensor, RW_ONNX_TENSOR_RAW, e->array.text, e->array.n);
    rw_pb_put_message(&e->attribute, RW_ONNX_ATTRIBUTE_T, &tensor);
    end(e, RW_ONNX_TENSOR);
}

/* ------------------------------------------------------------------ TreeEnsembleRegressor */

/* From LEAF_TREE on: of leaves only. */
enum field {
    TREE,
    ID,
    FEATURE,
    TRUE_CHILD,
    FALSE_CHILD,
    MISSING_TRUE,
    VALUE,
    MODE_WORD,
    LEAF_TREE,
    LEAF_ID,
    TARGET,
    WEIGHT
};

/* A node of the operator: one of ours, or the test for the k-th category that one lists. Such tests
 * stand in a row, and where one holds all go to the same child: the text of the operator has no
 * word for sets, but ONNX Runtime takes a child with several parents. */
struct place {
    const struct rw_ens_node *node;
    int32_t tree, id, if_false;
    uint32_t k;
};

static void put_field(struct emitting *e, const struct place *at, enum field field)
{
    const struct rw_ens_node *node = at->node;
    const int is_leaf = node->left < 0;
    if (field == MODE_WORD)
        rw_pb_put_text(&e->attribute, RW_ONNX_ATTRIBUTE_STRINGS,
                       is_leaf             ? "LEAF"
                       : node->by_category ? "BRANCH_EQ"
                                           : "BRANCH_LEQ");
    else if (field == VALUE)
        add_float(e, is_leaf ? 0 : node->by_category ? node->listed[at->k] : node->threshold);
    else if (field == WEIGHT)
        add_float(e, node->value);
    else if (field == TREE || field == LEAF_TREE)
        rw_pb_put_number(&e->array, (uint64_t)at->tree);
    else if (field == ID || field == LEAF_ID)
        rw_pb_put_number(&e->array, (uint64_t)at->id);
    else if (is_leaf || field == TARGET)
        rw_pb_put_number(&e->array, 0);
    else
        rw_pb_put_number(&e->array, field == FEATURE       ? node->column
                                    : field == TRUE_CHILD  ? (uint64_t)node->left
                                    : field == FALSE_CHILD ? (uint64_t)at->if_false
                                                           : node->nan == RW_NAN_LEFT);
}

/* Of each node: a tree's own, then the further tests of its splits by categories. */
static void put_places(struct emitting *e, enum field field)
{
    for (int32_t t = 0; t < e->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &e->ensemble->tree[t];
        const int32_t n_splits = rw_ens_n_splits(tree);
        int32_t next = tree->n_nodes;
        for (int32_t i = field < LEAF_TREE ? 0 : n_splits; i < tree->n_nodes; i++) {
            const struct rw_ens_node *node = &tree->node[i];
            const int32_t more = node->n_listed > 1 ? (int32_t)node->n_listed - 1 : 0;
            put_field(e, &(struct place){node, t, i, more ? next : node->right, 0}, field);
            next += more;
        }
        next = tree->n_nodes;
        for (int32_t i = 0; i < n_splits && field < LEAF_TREE; i++) {
            const struct rw_ens_node *node = &tree->node[i];
            for (uint32_t k = 1; k < node->n_listed; k++, next++)
                put_field(e,
                          &(struct place){node, t, next,
                                          k + 1 < node->n_listed ? next + 1 : node->right, k},
                          field);
        }
    }
}

static void put_fields(struct emitting *e, const char *name, enum field field)
{
    begin(e, name);
    put_places(e, field);
    if (field == MODE_WORD)
        end(e, RW_ONNX_STRINGS);
    else
        end_array(e, field == VALUE || field == WEIGHT ? RW_ONNX_FLOATS : RW_ONNX_INTS);
}

static void check_size(const struct rw_ensemble *from, struct rw_put *put)
{
    for (int32_t t = 0; t < from->n_trees; t++) {
        int64_t n = from->tree[t].n_nodes;
        for (int32_t i = 0; i < from->tree[t].n_nodes; i++)
            n += from->tree[t].node[i].n_listed;
        if (n > INT32_MAX)
            rw_put_refuse(put, "tree %d: tests for categories that have no numbers", t + 1);
    }
}

static void put_regressor(struct emitting *e)
{
    put_word(e, "aggregate_function", "SUM");
    put_one(e, "n_targets", 1);
    put_fields(e, "nodes_falsenodeids", FALSE_CHILD);
    put_fields(e, "nodes_featureids", FEATURE);
    put_fields(e, "nodes_missing_value_tracks_true", MISSING_TRUE);
    put_fields(e, "nodes_modes", MODE_WORD);
    put_fields(e, "nodes_nodeids", ID);
    put_fields(e, "nodes_treeids", TREE);
    put_fields(e, "nodes_truenodeids", TRUE_CHILD);
    put_fields(e, "nodes_values", VALUE);
    put_fields(e, "target_weights", WEIGHT);
    put_word(e, "post_transform", "NONE");
    put_fields(e, "target_ids", TARGET);
    put_fields(e, "target_nodeids", LEAF_ID);
    put_fields(e, "target_treeids", LEAF_TREE);
}

/* ------------------------------------------------------------------ TreeEnsemble */

/* Every tree must have a node. One of a leaf only gets a node both of whose children are that leaf,
 * which the operator's text has no word for; ONNX Runtime takes it (to 1.31: takes any root whose
 * children have the same number, be they a leaf and a node) for a leaf of the root's own number. So
 * these nodes and their leaves stand first, numbered alike, and no other root has such children. */
static int lay_out(struct emitting *e)
{
    const struct rw_ensemble *from = e->ensemble;
    struct rw_ctx *ctx = e->node.ctx;
    int64_t n_nodes = 0, n_leaves = 0;
    RW_TRY(RW_NEW(ctx, e->first_node, (size_t)from->n_trees));
    RW_TRY(RW_NEW(ctx, e->first_leaf, (size_t)from->n_trees));
    for (int32_t t = 0; t < from->n_trees; t++) {
        if (from->tree[t].n_nodes > 1)
            continue;
        e->first_node[t] = n_nodes++;
        e->first_leaf[t] = n_leaves++;
    }
    for (int32_t t = 0; t < from->n_trees; t++) {
        const int32_t n_splits = rw_ens_n_splits(&from->tree[t]);
        if (n_splits == 0)
            continue;
        e->first_node[t] = n_nodes;
        e->first_leaf[t] = n_leaves;
        n_nodes += n_splits;
        n_leaves += n_splits + 1;
    }
    return RW_OK;
}

/* Two leaves of a tree may have to swap numbers: which ones, else -1. */
static void swapped_leaves(const struct emitting *e, int32_t t, int32_t pair[2])
{
    const struct rw_ens_tree *tree = &e->ensemble->tree[t];
    const int32_t n_splits = rw_ens_n_splits(tree), left = tree->node[0].left;
    const int32_t right = tree->node[0].right;
    pair[0] = pair[1] = -1;
    if (n_splits < 2 || (left < n_splits) == (right < n_splits))
        return;
    const int32_t split = left < n_splits ? left : right;
    const int32_t leaf = (left < n_splits ? right : left) - n_splits;
    if (e->first_node[t] + split != e->first_leaf[t] + leaf)
        return;
    pair[0] = leaf;
    pair[1] = leaf == 0 ? 1 : 0; /* of three leaves at least */
}

static int32_t leaf_number(const int32_t pair[2], int32_t leaf)
{
    return leaf == pair[0] ? pair[1] : leaf == pair[1] ? pair[0] : leaf;
}

static uint64_t child_of(const struct emitting *e, int32_t t, int32_t child, int *is_leaf)
{
    const int32_t n_splits = rw_ens_n_splits(&e->ensemble->tree[t]);
    int32_t pair[2];
    *is_leaf = child >= n_splits;
    if (!*is_leaf)
        return (uint64_t)(e->first_node[t] + child);
    swapped_leaves(e, t, pair);
    return (uint64_t)(e->first_leaf[t] + leaf_number(pair, child - n_splits));
}

enum what { TRUE_ID, FALSE_ID, TRUE_LEAF, FALSE_LEAF, COLUMN, MISSING, MODE, SPLIT };

/* i < 0: of a tree that is a leaf; t < 0: of no tree. */
static void add_what(struct emitting *e, int32_t t, int32_t i, enum what what)
{
    const struct rw_ens_node *node = i < 0 ? NULL : &e->ensemble->tree[t].node[i];
    const int is_false = what == FALSE_ID || what == FALSE_LEAF;
    int is_leaf = 1;
    if (what <= FALSE_LEAF) {
        const int32_t child = !node ? 0 : is_false ? node->right : node->left;
        const uint64_t number = t < 0 ? 0 : child_of(e, t, child, &is_leaf);
        rw_pb_put_number(&e->array, what >= TRUE_LEAF ? (uint64_t)is_leaf : number);
    } else if (what == COLUMN) {
        rw_pb_put_number(&e->array, node ? node->column : 0);
    } else if (what == MISSING) {
        rw_pb_put_number(&e->array, node && node->nan == RW_NAN_LEFT);
    } else if (what == MODE) {
        const char mode = node && node->by_category ? RW_ONNX_MEMBER : RW_ONNX_LEQ;
        rw_put_bytes(&e->array, &mode, 1);
    } else {
        add_float(e, node ? node->threshold : 0);
    }
}

/* For each node, in the order of their numbers. A model without trees has a node too, which is no
 * root: readers take no empty arrays. */
static void add_nodes(struct emitting *e, const char *name, enum what what)
{
    begin(e, name);
    if (e->ensemble->n_trees == 0)
        add_what(e, -1, -1, what);
    for (int32_t t = 0; t < e->ensemble->n_trees; t++)
        if (e->ensemble->tree[t].n_nodes == 1)
            add_what(e, t, -1, what);
    for (int32_t t = 0; t < e->ensemble->n_trees; t++)
        for (int32_t i = 0; i < rw_ens_n_splits(&e->ensemble->tree[t]); i++)
            add_what(e, t, i, what);
    if (what == MODE)
        end_tensor(e, RW_ONNX_UINT8, 1);
    else if (what == SPLIT)
        end_tensor(e, RW_ONNX_FLOAT32, 4);
    else
        end_array(e, RW_ONNX_INTS);
}

static void put_leaf_weights(struct emitting *e)
{
    const struct rw_ensemble *from = e->ensemble;
    begin(e, "leaf_weights");
    if (from->n_trees == 0)
        add_float(e, 0);
    for (int32_t t = 0; t < from->n_trees; t++)
        if (from->tree[t].n_nodes == 1)
            add_float(e, from->tree[t].node[0].value);
    for (int32_t t = 0; t < from->n_trees; t++) {
        const int32_t n_splits = rw_ens_n_splits(&from->tree[t]);
        int32_t pair[2];
        if (n_splits == 0)
            continue;
        swapped_leaves(e, t, pair);
        for (int32_t i = 0; i <= n_splits; i++)
            add_float(e, from->tree[t].node[n_splits + leaf_number(pair, i)].value);
    }
    const size_t n = e->array.n / 4;
    end_tensor(e, RW_ONNX_FLOAT32, 4);
    begin(e, "leaf_targetids");
    for (size_t i = 0; i < n; i++)
        rw_pb_put_number(&e->array, 0);
    end_array(e, RW_ONNX_INTS);
}

static int has_sets(const struct rw_ensemble *from)
{
    int any = 0;
    for (int32_t t = 0; t < from->n_trees && !any; t++) {
        for (int32_t i = 0; i < from->tree[t].n_nodes; i++)
            any |= from->tree[t].node[i].by_category;
    }
    return any;
}

/* Sets in the order of their nodes, each ended by NaN. */
static void put_members(struct emitting *e)
{
    if (!has_sets(e->ensemble)) /* readers take no empty arrays */
        return;
    begin(e, "membership_values");
    for (int32_t t = 0; t < e->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &e->ensemble->tree[t];
        for (int32_t i = 0; i < rw_ens_n_splits(tree); i++) {
            for (uint32_t k = 0; k < tree->node[i].n_listed; k++)
                add_float(e, tree->node[i].listed[k]);
            if (tree->node[i].by_category)
                add_float(e, NAN);
        }
    }
    end_tensor(e, RW_ONNX_FLOAT32, 4);
}

static void put_ensemble(struct emitting *e)
{
    put_one(e, "aggregate_function", 1);
    put_leaf_weights(e);
    put_members(e);
    put_one(e, "n_targets", 1);
    add_nodes(e, "nodes_truenodeids", TRUE_ID);
    add_nodes(e, "nodes_falsenodeids", FALSE_ID);
    add_nodes(e, "nodes_trueleafs", TRUE_LEAF);
    add_nodes(e, "nodes_falseleafs", FALSE_LEAF);
    add_nodes(e, "nodes_featureids", COLUMN);
    add_nodes(e, "nodes_missing_value_tracks_true", MISSING);
    add_nodes(e, "nodes_modes", MODE);
    add_nodes(e, "nodes_splits", SPLIT);
    put_one(e, "post_transform", 0);
    begin(e, "tree_roots");
    for (int32_t t = 0; t < e->ensemble->n_trees; t++)
        rw_pb_put_number(&e->array, (uint64_t)e->first_node[t]);
    end_array(e, RW_ONNX_INTS);
}

/* ------------------------------------------------------------------ the model around it */

/* A graph's input or output: a matrix of floats with a row a document. */
static void put_matrix(struct rw_put *graph, uint32_t field, const char *name, uint64_t n_columns)
{
    struct rw_put dim = {.ctx = graph->ctx}, shape = dim, tensor = dim, type = dim, value = dim;
    rw_pb_put_text(&dim, RW_ONNX_DIM_NAME, "N");
    rw_pb_put_message(&shape, RW_ONNX_SHAPE_DIM, &dim);
    rw_pb_put_varint(&dim, RW_ONNX_DIM_VALUE, n_columns);
    rw_pb_put_message(&shape, RW_ONNX_SHAPE_DIM, &dim);
    rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_TYPE_ELEMENT, RW_ONNX_FLOAT32);
    rw_pb_put_message(&tensor, RW_ONNX_TENSOR_TYPE_SHAPE, &shape);
    rw_pb_put_message(&type, RW_ONNX_TYPE_TENSOR, &tensor);
    rw_pb_put_text(&value, RW_ONNX_VALUE_NAME, name);
    rw_pb_put_message(&value, RW_ONNX_VALUE_TYPE, &type);
    rw_pb_put_message(graph, field, &value);
}

/* The versions of the format that came with the operators: ONNX 1.8 and 1.16. */
enum { IR_OF_3 = 7, IR_OF_5 = 10 };

static void put_model(struct emitting *e, int five, struct rw_put *put)
{
    struct rw_put graph = {.ctx = put->ctx}, opset = graph;
    rw_pb_put_message(&graph, RW_ONNX_GRAPH_NODE, &e->node);
    rw_pb_put_text(&graph, RW_ONNX_GRAPH_NAME, "rankwood");
    put_matrix(&graph, RW_ONNX_GRAPH_INPUT, "features",
               e->ensemble->n_columns ? e->ensemble->n_columns : 1);
    put_matrix(&graph, RW_ONNX_GRAPH_OUTPUT, "score", 1);
    rw_pb_put_varint(put, RW_ONNX_MODEL_IR, five ? IR_OF_5 : IR_OF_3);
    rw_pb_put_text(put, RW_ONNX_MODEL_PRODUCER, "rankwood");
    rw_pb_put_message(put, RW_ONNX_MODEL_GRAPH, &graph);
    rw_pb_put_text(&opset, RW_ONNX_OPSET_DOMAIN, RW_ONNX_DOMAIN);
    rw_pb_put_varint(&opset, RW_ONNX_OPSET_VERSION, five ? 5 : 3);
    rw_pb_put_message(put, RW_ONNX_MODEL_OPSET, &opset);
}

int rw_onnx_write(const struct rw_ensemble *ensemble, int five, struct rw_put *put)
{
    struct emitting e = {.ensemble = ensemble,
                         .array = {.ctx = put->ctx},
                         .attribute = {.ctx = put->ctx},
                         .node = {.ctx = put->ctx}};
    if (five)
        put->status = lay_out(&e);
    else
        check_size(ensemble, put);
    if (put->status == RW_OK) {
        rw_pb_put_text(&e.node, RW_ONNX_NODE_INPUT, "features");
        rw_pb_put_text(&e.node, RW_ONNX_NODE_OUTPUT, "score");
        rw_pb_put_text(&e.node, RW_ONNX_NODE_OP, five ? "TreeEnsemble" : "TreeEnsembleRegressor");
        (five ? put_ensemble : put_regressor)(&e);
        rw_pb_put_text(&e.node, RW_ONNX_NODE_DOMAIN, RW_ONNX_DOMAIN);
        put_model(&e, five, put);
    }
    if (put->status == RW_OK)
        put->status = e.array.status;
    if (put->n > INT32_MAX)
        rw_put_refuse(put, "ONNX has no files of more than 2 GiB");
    rw_mem_free(e.array.text);
    rw_mem_free(e.first_node);
    rw_mem_free(e.first_leaf);
    return put->status;
}
