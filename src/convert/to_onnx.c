/* Writes ONNX-ML's tree ensembles, TreeEnsembleRegressor (as operator set 3 of ai.onnx.ml has it)
 * and TreeEnsemble (5): one node a model, a matrix of floats in and a score a document out. The
 * nodes and leaves of all trees are laid out once, as the operator numbers them, in a list for each
 * attribute; then each attribute is a row of a table. */

#include "convert/onnx_model.h"

/* ------------------------------------------------------------------ attributes */

static const struct rw_onnx_attribute of_regressor[] = {
    {"aggregate_function", RW_ONNX_AGGREGATE, .type = RW_ONNX_STRING, .word = "SUM"},
    {"n_targets", RW_ONNX_N_TARGETS, .type = RW_ONNX_INT},
    {"nodes_falsenodeids", RW_ONNX_FALSE, .type = RW_ONNX_INTS},
    {"nodes_featureids", RW_ONNX_FEATURE, .type = RW_ONNX_INTS},
    {"nodes_missing_value_tracks_true", RW_ONNX_MISSING_TRUE, .type = RW_ONNX_INTS},
    {"nodes_modes", RW_ONNX_MODE, .type = RW_ONNX_STRINGS},
    {"nodes_nodeids", RW_ONNX_ID, .type = RW_ONNX_INTS},
    {"nodes_treeids", RW_ONNX_TREE, .type = RW_ONNX_INTS},
    {"nodes_truenodeids", RW_ONNX_TRUE, .type = RW_ONNX_INTS},
    {"nodes_values", RW_ONNX_VALUE, .type = RW_ONNX_FLOATS},
    {"target_weights", RW_ONNX_LEAF_WEIGHT, .type = RW_ONNX_FLOATS},
    {"post_transform", RW_ONNX_POST, .type = RW_ONNX_STRING, .word = "NONE"},
    {"target_ids", RW_ONNX_LEAF_TARGET, .type = RW_ONNX_INTS},
    {"target_nodeids", RW_ONNX_LEAF_NODE, .type = RW_ONNX_INTS},
    {"target_treeids", RW_ONNX_LEAF_TREE, .type = RW_ONNX_INTS},
    {"base_values", RW_ONNX_BASE, .type = RW_ONNX_FLOATS, .only_read = 1},
    {"base_values_as_tensor", RW_ONNX_BASE, .type = RW_ONNX_TENSOR, .only_read = 1},
    {"nodes_values_as_tensor", RW_ONNX_VALUE, .type = RW_ONNX_TENSOR, .only_read = 1},
    {"target_weights_as_tensor", RW_ONNX_LEAF_WEIGHT, .type = RW_ONNX_TENSOR, .only_read = 1},
    {"nodes_hitrates", RW_ONNX_IGNORED, .type = RW_ONNX_FLOATS, .only_read = 1},
    {"nodes_hitrates_as_tensor", RW_ONNX_IGNORED, .type = RW_ONNX_TENSOR, .only_read = 1},
    {NULL},
};
static const struct rw_onnx_attribute of_ensemble[] = {
    {"aggregate_function", RW_ONNX_AGGREGATE, .type = RW_ONNX_INT},
    {"leaf_weights", RW_ONNX_LEAF_WEIGHT, .type = RW_ONNX_TENSOR},
    {"leaf_targetids", RW_ONNX_LEAF_TARGET, .type = RW_ONNX_INTS},
    {"membership_values", RW_ONNX_MEMBERS, .type = RW_ONNX_TENSOR},
    {"n_targets", RW_ONNX_N_TARGETS, .type = RW_ONNX_INT},
    {"nodes_truenodeids", RW_ONNX_TRUE, .type = RW_ONNX_INTS},
    {"nodes_falsenodeids", RW_ONNX_FALSE, .type = RW_ONNX_INTS},
    {"nodes_trueleafs", RW_ONNX_TRUE_LEAF, .type = RW_ONNX_INTS},
    {"nodes_falseleafs", RW_ONNX_FALSE_LEAF, .type = RW_ONNX_INTS},
    {"nodes_featureids", RW_ONNX_FEATURE, .type = RW_ONNX_INTS},
    {"nodes_missing_value_tracks_true", RW_ONNX_MISSING_TRUE, .type = RW_ONNX_INTS},
    {"nodes_modes", RW_ONNX_MODE, .type = RW_ONNX_TENSOR},
    {"nodes_splits", RW_ONNX_VALUE, .type = RW_ONNX_TENSOR},
    {"post_transform", RW_ONNX_POST, .type = RW_ONNX_INT},
    {"tree_roots", RW_ONNX_ROOT, .type = RW_ONNX_INTS},
    {"nodes_hitrates", RW_ONNX_IGNORED, .type = RW_ONNX_TENSOR, .only_read = 1},
    {NULL},
};

const struct rw_onnx_attribute *rw_onnx_attributes(int five)
{
    return five ? of_ensemble : of_regressor;
}

/* ------------------------------------------------------------------ protobuf */

void rw_pb_put_number(struct rw_put *put, uint64_t number)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (unsigned char)((number & 127) | (number > 127 ? 128 : 0));
        number >>= 7;
    } while (number > 0);
    rw_put_bytes(put, bytes, n);
}

void rw_pb_put_fixed32(struct rw_put *put, uint32_t bits)
{
    const unsigned char bytes[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                    (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
    rw_put_bytes(put, bytes, sizeof(bytes));
}

void rw_pb_put_varint(struct rw_put *put, uint32_t field, uint64_t number)
{
    rw_pb_put_number(put, field << 3 | RW_PB_VARINT);
    rw_pb_put_number(put, number);
}

void rw_pb_put_bytes(struct rw_put *put, uint32_t field, const void *bytes, size_t n)
{
    rw_pb_put_number(put, field << 3 | RW_PB_BYTES);
    rw_pb_put_number(put, n);
    if (n > 0)
        rw_put_bytes(put, bytes, n);
}

void rw_pb_put_text(struct rw_put *put, uint32_t field, const char *text)
{
    rw_pb_put_bytes(put, field, text, strlen(text));
}

/* A message, or a packed array, which is freed. */
static void put_message(struct rw_put *put, uint32_t field, struct rw_put *message)
{
    rw_pb_put_bytes(put, field, message->text, message->n);
    if (put->status == RW_OK)
        put->status = message->status;
    rw_mem_free(message->text);
    *message = (struct rw_put){.ctx = put->ctx};
}

static void put_attribute(struct rw_put *node, const struct rw_onnx *onnx,
                          const struct rw_onnx_attribute *row)
{
    struct rw_put array = {.ctx = node->ctx}, attribute = array, tensor = array;
    const int64_t *value = onnx->list[row->list].value;
    const size_t n = onnx->list[row->list].n;
    const int is_mode = row->list == RW_ONNX_MODE;
    if (row->list == RW_ONNX_MEMBERS && n == 0) /* readers take no empty arrays */
        return;
    rw_pb_put_text(&attribute, RW_ONNX_ATTRIBUTE_NAME, row->name);
    for (size_t i = 0; i < n && row->type >= RW_ONNX_TENSOR; i++) {
        const char byte = (char)value[i];
        if (row->type == RW_ONNX_STRINGS)
            rw_pb_put_text(&attribute, RW_ONNX_ATTRIBUTE_STRINGS, rw_onnx_words[value[i]]);
        else if (row->type == RW_ONNX_INTS)
            rw_pb_put_number(&array, (uint64_t)value[i]);
        else if (is_mode)
            rw_put_bytes(&array, &byte, 1);
        else
            rw_pb_put_fixed32(&array,
                              rw_bits_of_float((float)rw_double_of_bits((uint64_t)value[i])));
    }
    if (row->type == RW_ONNX_INT) {
        rw_pb_put_varint(&attribute, RW_ONNX_ATTRIBUTE_I, (uint64_t)value[0]);
    } else if (row->type == RW_ONNX_STRING) {
        rw_pb_put_text(&attribute, RW_ONNX_ATTRIBUTE_S, row->word);
    } else if (row->type == RW_ONNX_INTS) {
        put_message(&attribute, RW_ONNX_ATTRIBUTE_INTS, &array);
    } else if (row->type == RW_ONNX_FLOATS) {
        put_message(&attribute, RW_ONNX_ATTRIBUTE_FLOATS, &array);
    } else if (row->type == RW_ONNX_TENSOR) {
        rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_DIMS, n);
        rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_TYPE, is_mode ? RW_ONNX_UINT8 : RW_ONNX_FLOAT32);
        put_message(&tensor, RW_ONNX_TENSOR_RAW, &array);
        put_message(&attribute, RW_ONNX_ATTRIBUTE_T, &tensor);
    }
    rw_pb_put_varint(&attribute, RW_ONNX_ATTRIBUTE_TYPE, (uint64_t)row->type);
    put_message(node, RW_ONNX_NODE_ATTRIBUTE, &attribute);
}

/* ------------------------------------------------------------------ the layouts */

struct writing {
    const struct rw_ensemble *ensemble;
    struct rw_onnx onnx;
    struct rw_put *put; /* its status is that of all lists, too */
};

static void add(struct writing *w, enum rw_onnx_list to, int64_t value)
{
    if (w->put->status == RW_OK)
        w->put->status = rw_onnx_add(w->put->ctx, &w->onnx, to, value);
}

static void add_real(struct writing *w, enum rw_onnx_list to, double value)
{
    add(w, to, (int64_t)rw_bits_of_double(value));
}

static int64_t n_nodes(const struct writing *w)
{
    return (int64_t)w->onnx.list[RW_ONNX_MODE].n;
}

/* A node by its numbers in the lists of nodes. split: NULL, or what it compares. */
static void add_node(struct writing *w, const struct rw_ens_node *split, double value,
                     int64_t number[RW_ONNX_LEAF_TREE])
{
    if (split) {
        number[RW_ONNX_FEATURE] = split->column;
        number[RW_ONNX_MISSING_TRUE] = split->nan == RW_NAN_LEFT;
        number[RW_ONNX_VALUE] = (int64_t)rw_bits_of_double(value);
    }
    for (enum rw_onnx_list list = RW_ONNX_TREE; list < RW_ONNX_LEAF_TREE; list++)
        add(w, list, number[list]);
}

static void add_leaf(struct writing *w, const struct rw_ens_node *leaf, int64_t tree, int64_t id)
{
    add(w, RW_ONNX_LEAF_TREE, tree);
    add(w, RW_ONNX_LEAF_NODE, id);
    add(w, RW_ONNX_LEAF_TARGET, 0);
    add_real(w, RW_ONNX_LEAF_WEIGHT, leaf->value);
}

/* The k-th test of a split. Those for the categories that it lists stand in a row, and where one
 * holds all go to the same child: TreeEnsembleRegressor has no word for sets, but ONNX Runtime
 * takes a child with several parents. */
static void add_test(struct writing *w, const struct rw_ens_node *node, int32_t t, int64_t id,
                     uint32_t k, int64_t next)
{
    add_node(w, node, node->by_category ? node->listed[k] : node->threshold,
             (int64_t[RW_ONNX_LEAF_TREE]){
                 [RW_ONNX_TREE] = t,
                 [RW_ONNX_ID] = id,
                 [RW_ONNX_MODE] = node->by_category ? RW_ONNX_EQ : RW_ONNX_LEQ,
                 [RW_ONNX_TRUE] = node->left,
                 [RW_ONNX_FALSE] = k + 1 < node->n_listed ? next : node->right,
             });
}

/* TreeEnsembleRegressor: a tree's own nodes, then the further tests of its splits by categories. */
static void lay_out_regressor(struct writing *w, int32_t t)
{
    const struct rw_ens_tree *tree = &w->ensemble->tree[t];
    int64_t next = tree->n_nodes;
    for (int32_t i = 0; i < tree->n_nodes; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        if (node->left >= 0) {
            add_test(w, node, t, i, 0, next);
        } else {
            add_node(w, NULL, 0,
                     (int64_t[RW_ONNX_LEAF_TREE]){
                         [RW_ONNX_TREE] = t, [RW_ONNX_ID] = i, [RW_ONNX_MODE] = RW_ONNX_LEAF});
            add_leaf(w, node, t, i);
        }
        next += node->n_listed > 1 ? node->n_listed - 1 : 0;
    }
    if (next > INT32_MAX)
        rw_put_refuse(w->put, "tree %d: tests for categories that have no numbers", t + 1);
    next = tree->n_nodes;
    for (int32_t i = 0; i < rw_ens_n_splits(tree) && w->put->status == RW_OK; i++) {
        for (uint32_t k = 1; k < tree->node[i].n_listed; k++, next++)
            add_test(w, &tree->node[i], t, next, k, next + 1);
    }
}

/* TreeEnsemble: every tree must have a node. One of a leaf only gets a node both of whose children
 * are that leaf, which the operator's text has no word for; ONNX Runtime takes it (to 1.31: takes
 * any root whose children have the same number, be they a leaf and a node) for a leaf of the root's
 * own number. So these nodes and their leaves stand first, numbered alike, and no other root has
 * such children: two leaves of a tree may have to swap numbers. */
static void lay_out_ensemble(struct writing *w, int32_t t)
{
    const struct rw_ens_tree *tree = &w->ensemble->tree[t];
    const int64_t first_node = n_nodes(w);
    const int64_t first_leaf = (int64_t)w->onnx.list[RW_ONNX_LEAF_WEIGHT].n;
    const int32_t n_splits = rw_ens_n_splits(tree), left = tree->node[0].left;
    const int32_t right = tree->node[0].right, low = left < right ? left : right;
    const int32_t leaf = (left < right ? right : left) - n_splits;
    int32_t swap[2] = {-1, -1};
    if (n_splits > 1 && low < n_splits && leaf >= 0 && first_node + low == first_leaf + leaf) {
        swap[0] = leaf;
        swap[1] = leaf == 0; /* of three leaves at least */
    }
    for (int32_t i = 0; i < n_splits; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        const int32_t child[2] = {node->left, node->right};
        int64_t number[RW_ONNX_LEAF_TREE] = {[RW_ONNX_MODE] =
                                                 node->by_category ? RW_ONNX_MEMBER : RW_ONNX_LEQ};
        for (int side = 0; side < 2; side++) {
            const int32_t k = child[side] - n_splits;
            const int32_t moved = k == swap[0] ? swap[1] : k == swap[1] ? swap[0] : k;
            number[RW_ONNX_TRUE + side] = k < 0 ? first_node + child[side] : first_leaf + moved;
            number[RW_ONNX_TRUE_LEAF + side] = k >= 0;
        }
        add_node(w, node, node->threshold, number);
        for (uint32_t k = 0; node->by_category && k < node->n_listed; k++)
            add_real(w, RW_ONNX_MEMBERS, node->listed[k]);
        if (node->by_category) /* ends the set */
            add_real(w, RW_ONNX_MEMBERS, NAN);
    }
    for (int32_t k = 0; k <= n_splits; k++) {
        const int32_t moved = k == swap[0] ? swap[1] : k == swap[1] ? swap[0] : k;
        add_leaf(w, &tree->node[n_splits + moved], t, first_leaf + k);
    }
}

/* Adds a node that is none of ours, both of whose children are the leaf of its number. */
static void add_only_leaf(struct writing *w, const struct rw_ens_node *leaf)
{
    const int64_t id = n_nodes(w);
    add_node(w, NULL, 0,
             (int64_t[RW_ONNX_LEAF_TREE]){[RW_ONNX_TRUE] = id,
                                          [RW_ONNX_FALSE] = id,
                                          [RW_ONNX_TRUE_LEAF] = 1,
                                          [RW_ONNX_FALSE_LEAF] = 1});
    add_leaf(w, leaf, 0, id);
}

/* A model without trees has a node too, which is no root: readers take no empty arrays. */
static void lay_out(struct writing *w, int five)
{
    static const struct rw_ens_node zero = {.left = -1, .right = -1};
    const struct rw_ensemble *from = w->ensemble;
    int64_t n_leaf_roots = 0;
    add(w, RW_ONNX_AGGREGATE, 1);
    add(w, RW_ONNX_POST, 0);
    add(w, RW_ONNX_N_TARGETS, 1);
    if (five && from->n_trees == 0)
        add_only_leaf(w, &zero);
    for (int32_t t = 0; t < from->n_trees && five; t++) {
        if (from->tree[t].n_nodes == 1)
            add_only_leaf(w, from->tree[t].node);
    }
    for (int32_t t = 0; t < from->n_trees && w->put->status == RW_OK; t++) {
        const int is_leaf = from->tree[t].n_nodes == 1;
        add(w, RW_ONNX_ROOT, is_leaf ? n_leaf_roots++ : n_nodes(w));
        if (!five)
            lay_out_regressor(w, t);
        else if (!is_leaf)
            lay_out_ensemble(w, t);
    }
}

/* ------------------------------------------------------------------ the model around it */

/* A graph's input or output: a matrix of floats with a row a document. */
static void put_matrix(struct rw_put *graph, uint32_t field, const char *name, uint64_t n_columns)
{
    struct rw_put dim = {.ctx = graph->ctx}, shape = dim, tensor = dim, type = dim, value = dim;
    rw_pb_put_text(&dim, RW_ONNX_DIM_NAME, "N");
    put_message(&shape, RW_ONNX_SHAPE_DIM, &dim);
    rw_pb_put_varint(&dim, RW_ONNX_DIM_VALUE, n_columns);
    put_message(&shape, RW_ONNX_SHAPE_DIM, &dim);
    rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_TYPE_ELEMENT, RW_ONNX_FLOAT32);
    put_message(&tensor, RW_ONNX_TENSOR_TYPE_SHAPE, &shape);
    put_message(&type, RW_ONNX_TYPE_TENSOR, &tensor);
    rw_pb_put_text(&value, RW_ONNX_VALUE_NAME, name);
    put_message(&value, RW_ONNX_VALUE_TYPE, &type);
    put_message(graph, field, &value);
}

/* The versions of the format that came with the operators: ONNX 1.8 and 1.16. */
enum { IR_OF_3 = 7, IR_OF_5 = 10 };

static void put_model(const struct writing *w, int five, struct rw_put *put)
{
    struct rw_put node = {.ctx = put->ctx}, graph = node, opset = node;
    rw_pb_put_text(&node, RW_ONNX_NODE_INPUT, "features");
    rw_pb_put_text(&node, RW_ONNX_NODE_OUTPUT, "score");
    rw_pb_put_text(&node, RW_ONNX_NODE_OP, five ? "TreeEnsemble" : "TreeEnsembleRegressor");
    for (const struct rw_onnx_attribute *row = rw_onnx_attributes(five); row->name; row++) {
        if (!row->only_read)
            put_attribute(&node, &w->onnx, row);
    }
    rw_pb_put_text(&node, RW_ONNX_NODE_DOMAIN, RW_ONNX_DOMAIN);
    put_message(&graph, RW_ONNX_GRAPH_NODE, &node);
    rw_pb_put_text(&graph, RW_ONNX_GRAPH_NAME, "rankwood");
    put_matrix(&graph, RW_ONNX_GRAPH_INPUT, "features",
               w->ensemble->n_columns ? w->ensemble->n_columns : 1);
    put_matrix(&graph, RW_ONNX_GRAPH_OUTPUT, "score", 1);
    rw_pb_put_varint(put, RW_ONNX_MODEL_IR, five ? IR_OF_5 : IR_OF_3);
    rw_pb_put_text(put, RW_ONNX_MODEL_PRODUCER, "rankwood");
    put_message(put, RW_ONNX_MODEL_GRAPH, &graph);
    rw_pb_put_text(&opset, RW_ONNX_OPSET_DOMAIN, RW_ONNX_DOMAIN);
    rw_pb_put_varint(&opset, RW_ONNX_OPSET_VERSION, five ? 5 : 3);
    put_message(put, RW_ONNX_MODEL_OPSET, &opset);
}

static int write_onnx(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    const int five = ensemble->format == &rw_to_onnx5;
    struct writing w = {.ensemble = ensemble, .put = put};
    lay_out(&w, five);
    if (put->status == RW_OK)
        put_model(&w, five, put);
    if (put->n > INT32_MAX)
        rw_put_refuse(put, "ONNX has no files of more than 2 GiB");
    rw_arena_free(&w.onnx.arena);
    return put->status;
}

/* ------------------------------------------------------------------ the formats */

/* Categories are whole numbers in float. */
#define ENSEMBLE                                                                               \
    .consumer = {{.name = "ONNX", .rules = {.nan_by_node = 1, .absent = RW_ABSENT_AS_MODEL}}}, \
    .names = RW_NAMES_NONE, .imports = 1, .categories = RW_SAYS_NUMBERS,                       \
    .most_category = 16777215, .write = write_onnx, .parse = rw_onnx_parse

const struct rw_model_format rw_to_onnx = {
    .name = "onnx",
    .about = "ONNX-ML's TreeEnsembleRegressor, operator set 3",
    ENSEMBLE,
};

const struct rw_model_format rw_to_onnx5 = {
    .name = "onnx5",
    .about = "ONNX-ML's TreeEnsemble, operator set 5",
    ENSEMBLE,
};
