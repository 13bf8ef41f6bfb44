/* Writes ONNX-ML's tree ensembles, TreeEnsembleRegressor (operator set 3 of ai.onnx.ml) and
 * TreeEnsemble (5). The graph has a single node, which maps a matrix of floats to one score per
 * document. First the nodes and leaves of all trees are appended to the lists of onnx_model.h, with
 * the numbers that the operator uses. Then each attribute of the operator's table is written from
 * its list. */

#include "convert/onnx_model.h"

/* ---- attributes ---- */

static const struct rw_onnx_attribute of_regressor[] = {
    {"aggregate_function", ONNX_AGGREGATE, .type = ONNX_STRING, .word = "SUM"},
    {"n_targets", ONNX_N_TARGETS, .type = ONNX_INT},
    {"nodes_falsenodeids", ONNX_FALSE, .type = ONNX_INTS},
    {"nodes_featureids", ONNX_FEATURE, .type = ONNX_INTS},
    {"nodes_missing_value_tracks_true", ONNX_MISSING_TRUE, .type = ONNX_INTS},
    {"nodes_modes", ONNX_MODE, .type = ONNX_STRINGS},
    {"nodes_nodeids", ONNX_ID, .type = ONNX_INTS},
    {"nodes_treeids", ONNX_TREE, .type = ONNX_INTS},
    {"nodes_truenodeids", ONNX_TRUE, .type = ONNX_INTS},
    {"nodes_values", ONNX_VALUE, .type = ONNX_FLOATS},
    {"target_weights", ONNX_LEAF_WEIGHT, .type = ONNX_FLOATS},
    {"post_transform", ONNX_POST, .type = ONNX_STRING, .word = "NONE"},
    {"target_ids", ONNX_LEAF_TARGET, .type = ONNX_INTS},
    {"target_nodeids", ONNX_LEAF_NODE, .type = ONNX_INTS},
    {"target_treeids", ONNX_LEAF_TREE, .type = ONNX_INTS},
    {"base_values", ONNX_BASE, .type = ONNX_FLOATS, .only_read = 1},
    {"base_values_as_tensor", ONNX_BASE, .type = ONNX_TENSOR, .only_read = 1},
    {"nodes_values_as_tensor", ONNX_VALUE, .type = ONNX_TENSOR, .only_read = 1},
    {"target_weights_as_tensor", ONNX_LEAF_WEIGHT, .type = ONNX_TENSOR, .only_read = 1},
    {"nodes_hitrates", ONNX_IGNORED, .type = ONNX_FLOATS, .only_read = 1},
    {"nodes_hitrates_as_tensor", ONNX_IGNORED, .type = ONNX_TENSOR, .only_read = 1},
    {NULL},
};
static const struct rw_onnx_attribute of_ensemble[] = {
    {"aggregate_function", ONNX_AGGREGATE, .type = ONNX_INT},
    {"leaf_weights", ONNX_LEAF_WEIGHT, .type = ONNX_TENSOR},
    {"leaf_targetids", ONNX_LEAF_TARGET, .type = ONNX_INTS},
    {"membership_values", ONNX_MEMBERS, .type = ONNX_TENSOR},
    {"n_targets", ONNX_N_TARGETS, .type = ONNX_INT},
    {"nodes_truenodeids", ONNX_TRUE, .type = ONNX_INTS},
    {"nodes_falsenodeids", ONNX_FALSE, .type = ONNX_INTS},
    {"nodes_trueleafs", ONNX_TRUE_LEAF, .type = ONNX_INTS},
    {"nodes_falseleafs", ONNX_FALSE_LEAF, .type = ONNX_INTS},
    {"nodes_featureids", ONNX_FEATURE, .type = ONNX_INTS},
    {"nodes_missing_value_tracks_true", ONNX_MISSING_TRUE, .type = ONNX_INTS},
    {"nodes_modes", ONNX_MODE, .type = ONNX_TENSOR},
    {"nodes_splits", ONNX_VALUE, .type = ONNX_TENSOR},
    {"post_transform", ONNX_POST, .type = ONNX_INT},
    {"tree_roots", ONNX_ROOT, .type = ONNX_INTS},
    {"nodes_hitrates", ONNX_IGNORED, .type = ONNX_TENSOR, .only_read = 1},
    {NULL},
};

const struct rw_onnx_attribute *rw_onnx_attributes(int five)
{
    return five ? of_ensemble : of_regressor;
}

/* ---- protobuf ---- */

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
    rw_pb_put_number(put, field << 3 | PB_VARINT);
    rw_pb_put_number(put, number);
}

void rw_pb_put_bytes(struct rw_put *put, uint32_t field, const void *bytes, size_t n)
{
    rw_pb_put_number(put, field << 3 | PB_BYTES);
    rw_pb_put_number(put, n);
    rw_put_bytes(put, bytes, n);
}

void rw_pb_put_text(struct rw_put *put, uint32_t field, const char *text)
{
    rw_pb_put_bytes(put, field, text, strlen(text));
}

/* Appends a message or a packed array, and frees it. */
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
    const int is_mode = row->list == ONNX_MODE;
    if (row->list == ONNX_MEMBERS && n == 0) /* readers refuse empty arrays */
        return;
    rw_pb_put_text(&attribute, ONNX_ATTRIBUTE_NAME, row->name);
    for (size_t i = 0; i < n && row->type >= ONNX_TENSOR; i++) {
        const char byte = (char)value[i];
        if (row->type == ONNX_STRINGS)
            rw_pb_put_text(&attribute, ONNX_ATTRIBUTE_STRINGS, rw_onnx_words[value[i]]);
        else if (row->type == ONNX_INTS)
            rw_pb_put_number(&array, (uint64_t)value[i]);
        else if (is_mode)
            rw_put_bytes(&array, &byte, 1);
        else
            rw_pb_put_fixed32(&array,
                              rw_bits_of_float((float)rw_double_of_bits((uint64_t)value[i])));
    }
    if (row->type == ONNX_INT) {
        rw_pb_put_varint(&attribute, ONNX_ATTRIBUTE_I, (uint64_t)value[0]);
    } else if (row->type == ONNX_STRING) {
        rw_pb_put_text(&attribute, ONNX_ATTRIBUTE_S, row->word);
    } else if (row->type == ONNX_INTS) {
        put_message(&attribute, ONNX_ATTRIBUTE_INTS, &array);
    } else if (row->type == ONNX_FLOATS) {
        put_message(&attribute, ONNX_ATTRIBUTE_FLOATS, &array);
    } else if (row->type == ONNX_TENSOR) {
        rw_pb_put_varint(&tensor, ONNX_TENSOR_DIMS, n);
        rw_pb_put_varint(&tensor, ONNX_TENSOR_TYPE, is_mode ? ONNX_UINT8 : ONNX_FLOAT32);
        put_message(&tensor, ONNX_TENSOR_RAW, &array);
        put_message(&attribute, ONNX_ATTRIBUTE_T, &tensor);
    }
    rw_pb_put_varint(&attribute, ONNX_ATTRIBUTE_TYPE, (uint64_t)row->type);
    put_message(node, ONNX_NODE_ATTRIBUTE, &attribute);
}

/* ---- the layouts ---- */

struct writing {
    const struct rw_ensemble *ensemble;
    struct rw_onnx onnx;
    struct rw_put *put; /* its status covers all lists */
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
    return (int64_t)w->onnx.list[ONNX_MODE].n;
}

/* Adds a node. number: its elements of the lists of nodes, by list. split: sets the elements for
 * feature, missing values and threshold (`value`); NULL for a leaf. */
static void add_node(struct writing *w, const struct rw_ens_node *split, double value,
                     int64_t number[ONNX_LEAF_TREE])
{
    if (split) {
        number[ONNX_FEATURE] = split->column;
        number[ONNX_MISSING_TRUE] = split->nan == RW_NAN_LEFT;
        number[ONNX_VALUE] = (int64_t)rw_bits_of_double(value);
    }
    for (enum rw_onnx_list list = ONNX_TREE; list < ONNX_LEAF_TREE; list++)
        add(w, list, number[list]);
}

static void add_leaf(struct writing *w, const struct rw_ens_node *leaf, int64_t tree, int64_t id)
{
    add(w, ONNX_LEAF_TREE, tree);
    add(w, ONNX_LEAF_NODE, id);
    add(w, ONNX_LEAF_TARGET, 0);
    add_real(w, ONNX_LEAF_WEIGHT, leaf->value);
}

/* Adds the k-th test of a split, as node `id`. next: the node of the test after it.
 * TreeEnsembleRegressor has no sets, so a categorical split becomes a row of tests, one for each
 * listed category. A test that holds leads to the split's left child, which then has several
 * parents. ONNX Runtime accepts this. */
static void add_test(struct writing *w, const struct rw_ens_node *node, int32_t t, int64_t id,
                     uint32_t k, int64_t next)
{
    add_node(w, node, node->by_category ? node->listed[k] : node->threshold,
             (int64_t[ONNX_LEAF_TREE]){
                 [ONNX_TREE] = t,
                 [ONNX_ID] = id,
                 [ONNX_MODE] = node->by_category ? ONNX_EQ : ONNX_LEQ,
                 [ONNX_TRUE] = node->left,
                 [ONNX_FALSE] = k + 1 < node->n_listed ? next : node->right,
             });
}

/* TreeEnsembleRegressor: adds the nodes of a tree, then the further tests of its categorical
 * splits. */
static void lay_out_regressor(struct writing *w, int32_t t)
{
    const struct rw_ens_tree *tree = &w->ensemble->tree[t];
    int64_t next = tree->n_nodes;
    for (int32_t i = 0; i < tree->n_nodes; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        if (node->left >= 0) {
            add_test(w, node, t, i, 0, next);
        } else {
            add_node(
                w, NULL, 0,
                (int64_t[ONNX_LEAF_TREE]){[ONNX_TREE] = t, [ONNX_ID] = i, [ONNX_MODE] = ONNX_LEAF});
            add_leaf(w, node, t, i);
        }
        next += node->n_listed > 1 ? node->n_listed - 1 : 0;
    }
    if (next > INT32_MAX)
        rw_put_refuse(w->put, "tree %d: the category tests need more nodes than can be numbered",
                      t + 1);
    next = tree->n_nodes;
    for (int32_t i = 0; i < rw_ens_n_splits(tree) && w->put->status == RW_OK; i++) {
        for (uint32_t k = 1; k < tree->node[i].n_listed; k++, next++)
            add_test(w, &tree->node[i], t, next, k, next + 1);
    }
}

/* TreeEnsemble: adds a tree, which needs at least one node. A tree of a single leaf gets a node
 * with this leaf as both children, which the operator's specification does not mention. ONNX
 * Runtime up to 1.31 accepts any root whose two children have one number, and uses the leaf with
 * the root's number. These nodes and their leaves therefore come first, with equal numbers. No
 * other root may have such children, so two leaves of a tree may have to swap numbers. */
static void lay_out_ensemble(struct writing *w, int32_t t)
{
    const struct rw_ens_tree *tree = &w->ensemble->tree[t];
    const int64_t first_node = n_nodes(w);
    const int64_t first_leaf = (int64_t)w->onnx.list[ONNX_LEAF_WEIGHT].n;
    const int32_t n_splits = rw_ens_n_splits(tree), left = tree->node[0].left;
    const int32_t right = tree->node[0].right, low = left < right ? left : right;
    const int32_t leaf = (left < right ? right : left) - n_splits;
    int32_t swap[2] = {-1, -1};
    if (n_splits > 1 && low < n_splits && leaf >= 0 && first_node + low == first_leaf + leaf) {
        swap[0] = leaf;
        swap[1] = leaf == 0; /* with at least three leaves */
    }
    for (int32_t i = 0; i < n_splits; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        const int32_t child[2] = {node->left, node->right};
        int64_t number[ONNX_LEAF_TREE] = {[ONNX_MODE] = node->by_category ? ONNX_MEMBER : ONNX_LEQ};
        for (int side = 0; side < 2; side++) {
            const int32_t k = child[side] - n_splits;
            const int32_t moved = k == swap[0] ? swap[1] : k == swap[1] ? swap[0] : k;
            number[ONNX_TRUE + side] = k < 0 ? first_node + child[side] : first_leaf + moved;
            number[ONNX_TRUE_LEAF + side] = k >= 0;
        }
        add_node(w, node, node->threshold, number);
        for (uint32_t k = 0; node->by_category && k < node->n_listed; k++)
            add_real(w, ONNX_MEMBERS, node->listed[k]);
        if (node->by_category) /* ends the set */
            add_real(w, ONNX_MEMBERS, NAN);
    }
    for (int32_t k = 0; k <= n_splits; k++) {
        const int32_t moved = k == swap[0] ? swap[1] : k == swap[1] ? swap[0] : k;
        add_leaf(w, &tree->node[n_splits + moved], t, first_leaf + k);
    }
}

/* Adds an artificial node, both children of which are the leaf with its number. */
static void add_only_leaf(struct writing *w, const struct rw_ens_node *leaf)
{
    const int64_t id = n_nodes(w);
    add_node(w, NULL, 0,
             (int64_t[ONNX_LEAF_TREE]){
                 [ONNX_TRUE] = id, [ONNX_FALSE] = id, [ONNX_TRUE_LEAF] = 1, [ONNX_FALSE_LEAF] = 1});
    add_leaf(w, leaf, 0, id);
}

/* Fills the lists. TreeEnsemble without trees gets a node that is not a root, because readers
 * refuse empty arrays. */
static void lay_out(struct writing *w, int five)
{
    static const struct rw_ens_node zero = {.left = -1, .right = -1};
    const struct rw_ensemble *from = w->ensemble;
    int64_t n_leaf_roots = 0;
    add(w, ONNX_AGGREGATE, 1);
    add(w, ONNX_POST, 0);
    add(w, ONNX_N_TARGETS, 1);
    if (five && from->n_trees == 0)
        add_only_leaf(w, &zero);
    for (int32_t t = 0; t < from->n_trees && five; t++) {
        if (from->tree[t].n_nodes == 1)
            add_only_leaf(w, from->tree[t].node);
    }
    for (int32_t t = 0; t < from->n_trees && w->put->status == RW_OK; t++) {
        const int is_leaf = from->tree[t].n_nodes == 1;
        add(w, ONNX_ROOT, is_leaf ? n_leaf_roots++ : n_nodes(w));
        if (!five)
            lay_out_regressor(w, t);
        else if (!is_leaf)
            lay_out_ensemble(w, t);
    }
}

/* ---- the surrounding model ---- */

/* Writes a graph's input or output: a matrix of floats with a row per document. */
static void put_matrix(struct rw_put *graph, uint32_t field, const char *name, uint64_t n_columns)
{
    struct rw_put dim = {.ctx = graph->ctx}, shape = dim, tensor = dim, type = dim, value = dim;
    rw_pb_put_text(&dim, ONNX_DIM_NAME, "N");
    put_message(&shape, ONNX_SHAPE_DIM, &dim);
    rw_pb_put_varint(&dim, ONNX_DIM_VALUE, n_columns);
    put_message(&shape, ONNX_SHAPE_DIM, &dim);
    rw_pb_put_varint(&tensor, ONNX_TENSOR_TYPE_ELEMENT, ONNX_FLOAT32);
    put_message(&tensor, ONNX_TENSOR_TYPE_SHAPE, &shape);
    put_message(&type, ONNX_TYPE_TENSOR, &tensor);
    rw_pb_put_text(&value, ONNX_VALUE_NAME, name);
    put_message(&value, ONNX_VALUE_TYPE, &type);
    put_message(graph, field, &value);
}

/* The format versions (ir_version) of written files. For operator set 3 it is that of ONNX 1.7 to
 * 1.9, so that older readers accept it. For operator set 5 it is that of ONNX 1.16, which
 * introduced the set. */
enum { IR_OF_3 = 7, IR_OF_5 = 10 };

static void put_model(const struct writing *w, int five, struct rw_put *put)
{
    struct rw_put node = {.ctx = put->ctx}, graph = node, opset = node;
    rw_pb_put_text(&node, ONNX_NODE_INPUT, "features");
    rw_pb_put_text(&node, ONNX_NODE_OUTPUT, "score");
    rw_pb_put_text(&node, ONNX_NODE_OP, five ? "TreeEnsemble" : "TreeEnsembleRegressor");
    for (const struct rw_onnx_attribute *row = rw_onnx_attributes(five); row->name; row++) {
        if (!row->only_read)
            put_attribute(&node, &w->onnx, row);
    }
    rw_pb_put_text(&node, ONNX_NODE_DOMAIN, ONNX_DOMAIN);
    put_message(&graph, ONNX_GRAPH_NODE, &node);
    rw_pb_put_text(&graph, ONNX_GRAPH_NAME, "rankwood");
    put_matrix(&graph, ONNX_GRAPH_INPUT, "features",
               w->ensemble->n_columns ? w->ensemble->n_columns : 1);
    put_matrix(&graph, ONNX_GRAPH_OUTPUT, "score", 1);
    rw_pb_put_varint(put, ONNX_MODEL_IR, five ? IR_OF_5 : IR_OF_3);
    rw_pb_put_text(put, ONNX_MODEL_PRODUCER, "rankwood");
    put_message(put, ONNX_MODEL_GRAPH, &graph);
    rw_pb_put_text(&opset, ONNX_OPSET_DOMAIN, ONNX_DOMAIN);
    rw_pb_put_varint(&opset, ONNX_OPSET_VERSION, five ? 5 : 3);
    put_message(put, ONNX_MODEL_OPSET, &opset);
}

static int write_onnx(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    const int five = ensemble->format == &rw_to_onnx5;
    struct writing w = {.ensemble = ensemble, .put = put};
    lay_out(&w, five);
    if (put->status == RW_OK)
        put_model(&w, five, put);
    if (put->n > INT32_MAX)
        rw_put_refuse(put, "the model exceeds 2 GiB, the limit of ONNX");
    rw_arena_free(&w.onnx.arena);
    return put->status;
}

/* ---- the formats ---- */

/* Categories are whole numbers, stored as floats. */
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
