/* Writes ONNX-ML's tree ensembles: the nodes and leaves of all trees are laid out once, as the
 * operator numbers them; then each of its attributes is a row of a table, an array over them. */
#include <math.h>
#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "convert/onnx_model.h"

/* Numbers of a node or leaf; ZERO: what is 0 of all. */
enum field {
    TREE,
    ID,
    TRUE_ID,
    FALSE_ID,
    TRUE_LEAF,
    FALSE_LEAF,
    COLUMN,
    MISSING,
    ZERO,
    MODE,
    N_NUMBERS,
    REAL,
    SET
};

/* A node or a leaf of the operator: one of ours, or the test for the k-th category that one lists.
 * Such tests stand in a row, and where one holds all go to the same child: TreeEnsembleRegressor
 * has no word for sets, but ONNX Runtime takes a child with several parents. */
struct place {
    const struct rw_ens_node *node; /* NULL: none of ours */
    int64_t number[N_NUMBERS];
    double real; /* a threshold, a category or a leaf's value */
};
enum list { NODES, LEAVES, ROOTS, N_LISTS };

/* The operator is made from inside out: an array, its attribute, the operator. */
struct emitting {
    const struct rw_ensemble *ensemble;
    struct rw_put array, attribute, node;
    struct places {
        struct place *at; /* [n] owned */
        size_t n, room;
    } list[N_LISTS];
};

/* ------------------------------------------------------------------ attributes */

/* type: the attribute's; one of a single value has it in the row. */
struct row {
    const char *name;
    int type;
    enum list of;
    enum field field;
    uint64_t number;
    const char *word;
};

static void add_float(struct emitting *e, double value)
{
    rw_pb_put_fixed32(&e->array, rw_bits_of_float((float)value));
}

static void add_element(struct emitting *e, const struct row *row, const struct place *at)
{
    const char mode = (char)at->number[MODE];
    if (row->type == RW_ONNX_STRINGS)
        rw_pb_put_text(&e->attribute, RW_ONNX_ATTRIBUTE_STRINGS, rw_onnx_words[(int)mode]);
    else if (row->field == MODE)
        rw_put_bytes(&e->array, &mode, 1);
    else if (row->field == REAL)
        add_float(e, at->real);
    else if (row->field < N_NUMBERS)
        rw_pb_put_number(&e->array, (uint64_t)at->number[row->field]);
    else if (mode == RW_ONNX_MEMBER) { /* its set, ended by NaN */
        for (uint32_t k = 0; k < at->node->n_listed; k++)
            add_float(e, at->node->listed[k]);
        add_float(e, NAN);
    }
}

static void put_row(struct emitting *e, const struct row *row)
{
    struct rw_put tensor = {.ctx = e->node.ctx};
    e->array.n = 0;
    rw_pb_put_text(&e->attribute, RW_ONNX_ATTRIBUTE_NAME, row->name);
    for (size_t i = 0; row->type >= RW_ONNX_TENSOR && i < e->list[row->of].n; i++)
        add_element(e, row, &e->list[row->of].at[i]);
    if (row->field == SET && e->array.n == 0) { /* readers take no empty arrays */
        e->attribute.n = 0;
        return;
    }
    if (row->type == RW_ONNX_INT)
        rw_pb_put_varint(&e->attribute, RW_ONNX_ATTRIBUTE_I, row->number);
    else if (row->type == RW_ONNX_STRING)
        rw_pb_put_text(&e->attribute, RW_ONNX_ATTRIBUTE_S, row->word);
    else if (row->type == RW_ONNX_INTS || row->type == RW_ONNX_FLOATS)
        rw_pb_put_bytes(&e->attribute,
                        row->type == RW_ONNX_INTS ? RW_ONNX_ATTRIBUTE_INTS
                                                  : RW_ONNX_ATTRIBUTE_FLOATS,
                        e->array.text, e->array.n);
    else if (row->type == RW_ONNX_TENSOR) {
        const int is_byte = row->field == MODE;
        rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_DIMS, e->array.n / (is_byte ? 1 : 4));
        rw_pb_put_varint(&tensor, RW_ONNX_TENSOR_TYPE, is_byte ? RW_ONNX_UINT8 : RW_ONNX_FLOAT32);
        rw_pb_put_bytes(&tensor, RW_ONNX_TENSOR_RAW, e->array.text, e->array.n);
        rw_pb_put_message(&e->attribute, RW_ONNX_ATTRIBUTE_T, &tensor);
    }
    rw_pb_put_varint(&e->attribute, RW_ONNX_ATTRIBUTE_TYPE, (uint64_t)row->type);
    rw_pb_put_message(&e->node, RW_ONNX_NODE_ATTRIBUTE, &e->attribute);
}

static const struct row of_regressor[] = {
    {"aggregate_function", RW_ONNX_STRING, .word = "SUM"},
    {"n_targets", RW_ONNX_INT, .number = 1},
    {"nodes_falsenodeids", RW_ONNX_INTS, NODES, .field = FALSE_ID},
    {"nodes_featureids", RW_ONNX_INTS, NODES, .field = COLUMN},
    {"nodes_missing_value_tracks_true", RW_ONNX_INTS, NODES, .field = MISSING},
    {"nodes_modes", RW_ONNX_STRINGS, NODES, .field = MODE},
    {"nodes_nodeids", RW_ONNX_INTS, NODES, .field = ID},
    {"nodes_treeids", RW_ONNX_INTS, NODES, .field = TREE},
    {"nodes_truenodeids", RW_ONNX_INTS, NODES, .field = TRUE_ID},
    {"nodes_values", RW_ONNX_FLOATS, NODES, .field = REAL},
    {"target_weights", RW_ONNX_FLOATS, LEAVES, .field = REAL},
    {"post_transform", RW_ONNX_STRING, .word = "NONE"},
    {"target_ids", RW_ONNX_INTS, LEAVES, .field = ZERO},
    {"target_nodeids", RW_ONNX_INTS, LEAVES, .field = ID},
    {"target_treeids", RW_ONNX_INTS, LEAVES, .field = TREE},
};
static const struct row of_ensemble[] = {
    {"aggregate_function", RW_ONNX_INT, .number = 1},
    {"leaf_weights", RW_ONNX_TENSOR, LEAVES, .field = REAL},
    {"leaf_targetids", RW_ONNX_INTS, LEAVES, .field = ZERO},
    {"membership_values", RW_ONNX_TENSOR, NODES, .field = SET},
    {"n_targets", RW_ONNX_INT, .number = 1},
    {"nodes_truenodeids", RW_ONNX_INTS, NODES, .field = TRUE_ID},
    {"nodes_falsenodeids", RW_ONNX_INTS, NODES, .field = FALSE_ID},
    {"nodes_trueleafs", RW_ONNX_INTS, NODES, .field = TRUE_LEAF},
    {"nodes_falseleafs", RW_ONNX_INTS, NODES, .field = FALSE_LEAF},
    {"nodes_featureids", RW_ONNX_INTS, NODES, .field = COLUMN},
    {"nodes_missing_value_tracks_true", RW_ONNX_INTS, NODES, .field = MISSING},
    {"nodes_modes", RW_ONNX_TENSOR, NODES, .field = MODE},
    {"nodes_splits", RW_ONNX_TENSOR, NODES, .field = REAL},
    {"post_transform", RW_ONNX_INT, .number = 0},
    {"tree_roots", RW_ONNX_INTS, ROOTS, .field = ID},
};

/* ------------------------------------------------------------------ the layouts */

static struct place place_of(const struct rw_ens_node *node, int64_t tree, int64_t id,
                             enum rw_onnx_mode mode)
{
    struct place at = {.node = node, .number = {[TREE] = tree, [ID] = id, [MODE] = mode}};
    if (node && node->left >= 0) {
        at.number[COLUMN] = node->column;
        at.number[MISSING] = node->nan == RW_NAN_LEFT;
        at.real = node->threshold;
    }
    return at;
}

static void add(struct emitting *e, enum list of, struct place place)
{
    struct places *list = &e->list[of];
    if (e->node.status == RW_OK)
        e->node.status = RW_GROW(e->node.ctx, list->at, list->room, list->n + 1);
    if (e->node.status == RW_OK)
        list->at[list->n++] = place;
}

static void add_leaf(struct emitting *e, const struct rw_ens_node *node, int64_t tree, int64_t id)
{
    struct place leaf = place_of(node, tree, id, RW_ONNX_LEAF);
    leaf.real = node->value;
    add(e, LEAVES, leaf);
}

/* The k-th test of a split. */
static void add_test(struct emitting *e, const struct rw_ens_node *node, int32_t t, int64_t id,
                     uint32_t k, int64_t next)
{
    struct place at = place_of(node, t, id, node->by_category ? RW_ONNX_EQ : RW_ONNX_LEQ);
    at.number[TRUE_ID] = node->left;
    at.number[FALSE_ID] = k + 1 < node->n_listed ? next : node->right;
    if (node->by_category)
        at.real = node->listed[k];
    add(e, NODES, at);
}

/* TreeEnsembleRegressor: a tree's own nodes, then the further tests of its splits by categories. */
static void lay_out_regressor(struct emitting *e, int32_t t)
{
    const struct rw_ens_tree *tree = &e->ensemble->tree[t];
    int64_t next = tree->n_nodes;
    for (int32_t i = 0; i < tree->n_nodes; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        if (node->left >= 0) {
            add_test(e, node, t, i, 0, next);
        } else {
            add(e, NODES, place_of(node, t, i, RW_ONNX_LEAF));
            add_leaf(e, node, t, i);
        }
        next += node->n_listed > 1 ? node->n_listed - 1 : 0;
    }
    if (next > INT32_MAX)
        rw_put_refuse(&e->node, "tree %d: tests for categories that have no numbers", t + 1);
    next = tree->n_nodes;
    for (int32_t i = 0; i < rw_ens_n_splits(tree) && e->node.status == RW_OK; i++) {
        for (uint32_t k = 1; k < tree->node[i].n_listed; k++, next++)
            add_test(e, &tree->node[i], t, next, k, next + 1);
    }
}

/* TreeEnsemble: every tree must have a node. One of a leaf only gets a node both of whose children
 * are that leaf, which the operator's text has no word for; ONNX Runtime takes it (to 1.31: takes
 * any root whose children have the same number, be they a leaf and a node) for a leaf of the root's
 * own number. So these nodes and their leaves stand first, numbered alike, and no other root has
 * such children: two leaves of a tree may have to swap numbers. */
static void lay_out_ensemble(struct emitting *e, int32_t t)
{
    const struct rw_ens_tree *tree = &e->ensemble->tree[t];
    const int64_t first_node = (int64_t)e->list[NODES].n, first_leaf = (int64_t)e->list[LEAVES].n;
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
        struct place at =
            place_of(node, t, first_node + i, node->by_category ? RW_ONNX_MEMBER : RW_ONNX_LEQ);
        for (int side = 0; side < 2; side++) {
            const int32_t k = child[side] - n_splits;
            const int32_t moved = k == swap[0] ? swap[1] : k == swap[1] ? swap[0] : k;
            at.number[TRUE_ID + side] = k < 0 ? first_node + child[side] : first_leaf + moved;
            at.number[TRUE_LEAF + side] = k >= 0;
        }
        add(e, NODES, at);
    }
    for (int32_t k = 0; k <= n_splits; k++) {
        const int32_t moved = k == swap[0] ? swap[1] : k == swap[1] ? swap[0] : k;
        add_leaf(e, &tree->node[n_splits + moved], t, first_leaf + k);
    }
}

/* Adds a node that is none of ours, both of whose children are the leaf of its number. */
static void add_only_leaf(struct emitting *e, const struct rw_ens_node *leaf)
{
    struct place at = place_of(NULL, 0, (int64_t)e->list[NODES].n, RW_ONNX_LEQ);
    at.number[TRUE_ID] = at.number[FALSE_ID] = at.number[ID];
    at.number[TRUE_LEAF] = at.number[FALSE_LEAF] = 1;
    add(e, NODES, at);
    add_leaf(e, leaf, 0, at.number[ID]);
}

/* A model without trees has a node too, which is no root: readers take no empty arrays. */
static void lay_out(struct emitting *e, int five)
{
    static const struct rw_ens_node zero = {.left = -1, .right = -1};
    const struct rw_ensemble *from = e->ensemble;
    int64_t n_roots = 0, n_splits = 0;
    if (five && from->n_trees == 0)
        add_only_leaf(e, &zero);
    for (int32_t t = 0; t < from->n_trees && five; t++) {
        if (from->tree[t].n_nodes == 1)
            add_only_leaf(e, from->tree[t].node);
    }
    n_splits = (int64_t)e->list[NODES].n;
    for (int32_t t = 0; t < from->n_trees && e->node.status == RW_OK; t++) {
        const int is_leaf = from->tree[t].n_nodes == 1;
        add(e, ROOTS, place_of(NULL, t, is_leaf ? n_roots++ : n_splits, RW_ONNX_LEQ));
        n_splits += rw_ens_n_splits(&from->tree[t]);
        if (!five)
            lay_out_regressor(e, t);
        else if (!is_leaf)
            lay_out_ensemble(e, t);
    }
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
    const struct row *rows = five ? of_ensemble : of_regressor;
    const size_t n = sizeof(of_ensemble) / sizeof(of_ensemble[0]);
    _Static_assert(sizeof(of_ensemble) == sizeof(of_regressor),
                   "both operators have 15 attributes");
    lay_out(&e, five);
    rw_pb_put_text(&e.node, RW_ONNX_NODE_INPUT, "features");
    rw_pb_put_text(&e.node, RW_ONNX_NODE_OUTPUT, "score");
    rw_pb_put_text(&e.node, RW_ONNX_NODE_OP, five ? "TreeEnsemble" : "TreeEnsembleRegressor");
    for (size_t i = 0; i < n && e.node.status == RW_OK; i++)
        put_row(&e, &rows[i]);
    rw_pb_put_text(&e.node, RW_ONNX_NODE_DOMAIN, RW_ONNX_DOMAIN);
    put_model(&e, five, put);
    if (put->status == RW_OK)
        put->status = e.array.status;
    if (put->n > INT32_MAX)
        rw_put_refuse(put, "ONNX has no files of more than 2 GiB");
    rw_mem_free(e.array.text);
    for (int i = 0; i < N_LISTS; i++)
        rw_mem_free(e.list[i].at);
    return put->status;
}
