/* ONNX-ML: TreeEnsembleRegressor (as operator set 3 of ai.onnx.ml has it) and TreeEnsemble (5), one
 * node a model, a matrix of floats in and a score a document out. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/onnx_model.h"

struct making {
    struct rw_ctx *ctx;
    const struct rw_source *source;
    const struct rw_onnx *onnx;
    struct rw_ensemble *out;
};

static const struct rw_onnx_attribute *slot(const struct making *m, enum rw_onnx_slot which)
{
    return &m->onnx->slot[which];
}

static int64_t int_at(const struct making *m, enum rw_onnx_slot which, size_t i)
{
    return slot(m, which)->ints.value[i];
}

/* ------------------------------------------------------------------ what holds for both */

static int need(struct making *m, const char *name, size_t found, size_t expected)
{
    if (found == expected)
        return RW_OK;
    return rw_refuse(m->ctx, m->source, "'%s' has %zu elements; expected %zu", name, found,
                     expected);
}

static int check_word(struct making *m, enum rw_onnx_slot which, const char *name, const char *word,
                      int64_t number)
{
    const struct rw_onnx_attribute *a = slot(m, which);
    const size_t n = m->onnx->five ? a->ints.n : a->n_texts;
    int right = n == 0; /* the default */
    if (n == 1 && m->onnx->five)
        right = a->ints.value[0] == number;
    else if (n == 1)
        right = a->text[0].n == strlen(word) && memcmp(a->text[0].text, word, a->text[0].n) == 0;
    return right ? RW_OK
                 : rw_refuse(m->ctx, m->source, "another '%s' than %s: the score is not the sum",
                             name, word);
}

static int check_common(struct making *m)
{
    const struct rw_pb_ints *n_targets = &slot(m, RW_ONNX_N_TARGETS)->ints;
    const struct rw_pb_reals *base = &slot(m, RW_ONNX_BASE)->reals;
    const size_t n = slot(m, RW_ONNX_FEATURE)->ints.n;
    RW_TRY(check_word(m, RW_ONNX_AGGREGATE, "aggregate_function", "SUM", 1));
    RW_TRY(check_word(m, RW_ONNX_POST, "post_transform", "NONE", 0));
    if (n_targets->n != 1 || n_targets->value[0] != 1)
        return rw_refuse(m->ctx, m->source, "'n_targets' is not 1");
    if (base->n > 1)
        return rw_refuse(m->ctx, m->source, "'base_values' has %zu elements; expected 1", base->n);
    m->out->base = base->n ? base->value[0] : 0;
    if (slot(m, RW_ONNX_MEMBERS)->reals.n > 0)
        return rw_refuse(m->ctx, m->source, "'membership_values': categorical splits");
    RW_TRY(need(m, m->onnx->five ? "nodes_splits" : "nodes_values", slot(m, RW_ONNX_VALUE)->reals.n,
                n));
    RW_TRY(need(m, "nodes_truenodeids", slot(m, RW_ONNX_TRUE)->ints.n, n));
    RW_TRY(need(m, "nodes_falsenodeids", slot(m, RW_ONNX_FALSE)->ints.n, n));
    RW_TRY(need(m, "nodes_modes",
                m->onnx->five ? slot(m, RW_ONNX_MODE)->ints.n : slot(m, RW_ONNX_MODE)->n_texts, n));
    if (slot(m, RW_ONNX_MISSING_TRUE)->ints.n > 0)
        RW_TRY(
            need(m, "nodes_missing_value_tracks_true", slot(m, RW_ONNX_MISSING_TRUE)->ints.n, n));
    for (size_t i = 0; i < slot(m, RW_ONNX_LEAF_TARGET)->ints.n; i++) {
        if (int_at(m, RW_ONNX_LEAF_TARGET, i) != 0)
            return rw_refuse(m->ctx, m->source, "a leaf of another target than the first");
    }
    return need(m, "leaf_weights or target_weights", slot(m, RW_ONNX_LEAF_WEIGHT)->reals.n,
                slot(m, RW_ONNX_LEAF_TARGET)->ints.n);
}

static int read_columns(struct making *m)
{
    if (m->onnx->n_columns == 0)
        return RW_OK;
    RW_TRY(need(m, "features", m->onnx->n_columns <= 65537, 1));
    RW_TRY(rw_ensemble_set_columns(m->ctx, m->out, (uint64_t)m->onnx->n_columns));
    memset(m->out->column_had, 1, m->out->n_columns);
    rw_mem_free(m->out->column_name);
    m->out->column_name = NULL;
    return RW_OK;
}

static int mode_of(struct making *m, size_t i, enum rw_onnx_mode *out)
{
    static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
    if (m->onnx->five) {
        const int64_t mode = int_at(m, RW_ONNX_MODE, i);
        if (mode < 0 || mode >= RW_ONNX_LEAF)
            return rw_refuse(m->ctx, m->source, "node %zu: there is no mode %lld", i,
                             (long long)mode);
        *out = (enum rw_onnx_mode)mode;
        return RW_OK;
    }
    const struct rw_onnx_text *text = &slot(m, RW_ONNX_MODE)->text[i];
    for (int k = 0; k <= RW_ONNX_LEAF; k++) {
        if (text->n > 0 && text->n == strlen(words[k]) &&
            memcmp(text->text, words[k], text->n) == 0) {
            *out = (enum rw_onnx_mode)k;
            return RW_OK;
        }
    }
    return rw_refuse(m->ctx, m->source, "node %zu: there is no mode '%.*s'", i,
                     text->n < 40 ? (int)text->n : 40, text->text);
}

/* x >= t and x > t are x < t and x <= t the other way round. NaN: false, whichever way that is,
 * unless it goes where true does. A double that is no float parts floats where `<=` the float below
 * does. */
static int make_split(struct making *m, size_t i, enum rw_onnx_mode mode, int32_t true_child,
                      int32_t false_child, struct rw_ens_node *node)
{
    const int64_t column = int_at(m, RW_ONNX_FEATURE, i);
    const double t = slot(m, RW_ONNX_VALUE)->reals.value[i];
    const int turned = mode == RW_ONNX_GTE || mode == RW_ONNX_GT;
    const int64_t most = m->onnx->n_columns > 0 ? m->onnx->n_columns - 1 : RW_MAX_FEATURE;
    const int nan_true =
        slot(m, RW_ONNX_MISSING_TRUE)->ints.n > 0 && int_at(m, RW_ONNX_MISSING_TRUE, i) != 0;
    if (mode == RW_ONNX_EQ || mode == RW_ONNX_NEQ || mode == RW_ONNX_MEMBER)
        return rw_refuse(m->ctx, m->source, "node %zu tests for equal values: a categorical split",
                         i);
    if (column < 0 || column > most)
        return rw_refuse(m->ctx, m->source, "node %zu: feature %lld; expected 0 to %lld", i,
                         (long long)column, (long long)most);
    node->left = turned ? false_child : true_child;
    node->right = turned ? true_child : false_child;
    node->column = (uint32_t)column;
    node->less = mode == RW_ONNX_LT || mode == RW_ONNX_GTE;
    node->nan = nan_true != turned ? RW_NAN_LEFT : RW_NAN_RIGHT;
    node->threshold = t;
    if (isnan(t) || (double)(float)t == t)
        return RW_OK;
    float below = t > (double)FLT_MAX ? FLT_MAX : t < -(double)FLT_MAX ? -INFINITY : (float)t;
    if ((double)below > t)
        below = nextafterf(below, -INFINITY);
    node->threshold = (double)below;
    node->less = 0;
    return RW_OK;
}

/* ------------------------------------------------------------------ TreeEnsembleRegressor */

struct key {
    int64_t tree, id;
    size_t at; /* place in the attributes */
};

static int by_key(const void *a, const void *b)
{
    const struct key *x = a, *y = b;
    if (x->tree != y->tree)
        return x->tree < y->tree ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int find(struct making *m, const struct key *keys, size_t n, int64_t tree, int64_t id,
                size_t *out)
{
    const struct key wanted = {tree, id, 0};
    const struct key *found = n ? bsearch(&wanted, keys, n, sizeof(*keys), by_key) : NULL;
    if (!found)
        return rw_refuse(m->ctx, m->source, "tree %lld has no node %lld", (long long)tree,
                         (long long)id);
    *out = (size_t)(found - keys);
    return RW_OK;
}

/* The place of the k-th of a tree's nodes, the root being the first. */
static int32_t place_of(size_t k, size_t root)
{
    return (int32_t)(k == root ? 0 : k < root ? k + 1 : k);
}

enum { NONE = -1 }; /* as the child of a leaf */

/* Do all of a tree's nodes hang from its root? Else some of them go round in a circle. queue: [n]
 */
static int check_reached(struct making *m, const struct key *keys, size_t n,
                         const int64_t (*child)[2], size_t root, int64_t *queue)
{
    size_t begin = 0, end = 0;
    queue[end++] = (int64_t)root;
    while (begin < end && end <= n) {
        const int64_t *at = child[queue[begin++]];
        for (int side = 0; at[0] != NONE && side < 2 && end++ < n; side++)
            queue[end - 1] = at[side];
    }
    if (end == n)
        return RW_OK;
    return rw_refuse(m->ctx, m->source, "tree %lld has nodes that do not hang from its root",
                     (long long)keys[0].tree);
}

/* child: [n][2] places among the tree's keys; of a leaf, NONE. */
static int link_tree(struct making *m, const struct key *keys, size_t n, int64_t (*child)[2],
                     unsigned char *reached, size_t *root)
{
    size_t n_roots = 0;
    memset(reached, 0, n);
    for (size_t k = 0; k < n; k++) {
        enum rw_onnx_mode mode;
        RW_TRY(mode_of(m, keys[k].at, &mode));
        child[k][0] = NONE;
        if (mode == RW_ONNX_LEAF)
            continue;
        for (int side = 0; side < 2; side++) {
            const int64_t id = int_at(m, side ? RW_ONNX_FALSE : RW_ONNX_TRUE, keys[k].at);
            size_t to;
            RW_TRY(find(m, keys, n, keys[k].tree, id, &to));
            child[k][side] = (int64_t)to;
            reached[to] = 1;
        }
    }
    for (size_t k = 0; k < n; k++) {
        if (!reached[k]) {
            *root = k;
            n_roots++;
        }
    }
    if (n_roots != 1)
        return rw_refuse(m->ctx, m->source, "tree %lld has %zu roots", (long long)keys[0].tree,
                         n_roots);
    return RW_OK;
}

/* weight: [all nodes] place of its weight; 0: none, else one more. */
static int make_tree(struct making *m, const struct key *keys, size_t n, int64_t (*child)[2],
                     size_t root, const size_t *weight)
{
    struct rw_ens_tree *tree;
    if (n > INT32_MAX)
        return rw_refuse(m->ctx, m->source, "a tree of %zu nodes", n);
    RW_TRY(rw_ensemble_add_tree(m->ctx, m->out, (int32_t)n, &tree));
    for (size_t k = 0; k < n; k++) {
        struct rw_ens_node *node = &tree->node[place_of(k, root)];
        enum rw_onnx_mode mode;
        RW_TRY(mode_of(m, keys[k].at, &mode));
        if (mode != RW_ONNX_LEAF) {
            RW_TRY(make_split(m, keys[k].at, mode, place_of((size_t)child[k][0], root),
                              place_of((size_t)child[k][1], root), node));
            continue;
        }
        if (weight[keys[k].at] == 0)
            return rw_refuse(m->ctx, m->source, "tree %lld, node %lld: a leaf without a weight",
                             (long long)keys[k].tree, (long long)keys[k].id);
        node->left = node->right = -1;
        node->value = slot(m, RW_ONNX_LEAF_WEIGHT)->reals.value[weight[keys[k].at] - 1];
    }
    return RW_OK;
}

static int find_weights(struct making *m, const struct key *keys, size_t n, size_t *weight)
{
    const size_t n_leaves = slot(m, RW_ONNX_LEAF_TARGET)->ints.n;
    RW_TRY(need(m, "target_treeids", slot(m, RW_ONNX_LEAF_TREE)->ints.n, n_leaves));
    RW_TRY(need(m, "target_nodeids", slot(m, RW_ONNX_LEAF_NODE)->ints.n, n_leaves));
    for (size_t i = 0; i < n_leaves; i++) {
        const int64_t tree = int_at(m, RW_ONNX_LEAF_TREE, i), id = int_at(m, RW_ONNX_LEAF_NODE, i);
        enum rw_onnx_mode mode;
        size_t k;
        RW_TRY(find(m, keys, n, tree, id, &k));
        RW_TRY(mode_of(m, keys[k].at, &mode));
        if (mode != RW_ONNX_LEAF || weight[keys[k].at] != 0)
            return rw_refuse(m->ctx, m->source, "tree %lld, node %lld: %s", (long long)tree,
                             (long long)id,
                             mode != RW_ONNX_LEAF ? "a weight, but no leaf" : "several weights");
        weight[keys[k].at] = i + 1;
    }
    return RW_OK;
}

static int make_regressor(struct making *m)
{
    const size_t n = slot(m, RW_ONNX_FEATURE)->ints.n;
    struct key *keys = NULL;
    int64_t(*child)[2] = NULL, *queue = NULL;
    size_t *weight = NULL, root = 0;
    unsigned char *reached = NULL;
    int status;
    RW_TRY_OUT(need(m, "nodes_treeids", slot(m, RW_ONNX_TREE)->ints.n, n));
    RW_TRY_OUT(need(m, "nodes_nodeids", slot(m, RW_ONNX_ID)->ints.n, n));
    RW_TRY_OUT(RW_NEW(m->ctx, keys, n));
    RW_TRY_OUT(RW_NEW(m->ctx, child, n));
    RW_TRY_OUT(RW_NEW(m->ctx, queue, n));
    RW_TRY_OUT(RW_NEW(m->ctx, weight, n));
    RW_TRY_OUT(RW_NEW(m->ctx, reached, n));
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct key){int_at(m, RW_ONNX_TREE, i), int_at(m, RW_ONNX_ID, i), i};
    if (n > 0)
        qsort(keys, n, sizeof(*keys), by_key);
    for (size_t i = 1; i < n; i++) {
        if (by_key(&keys[i - 1], &keys[i]) == 0) {
            status = rw_refuse(m->ctx, m->source, "tree %lld has two nodes %lld",
                               (long long)keys[i].tree, (long long)keys[i].id);
            goto out;
        }
    }
    RW_TRY_OUT(find_weights(m, keys, n, weight));
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && keys[end].tree == keys[begin].tree;)
            end++;
        RW_TRY_OUT(link_tree(m, keys + begin, end - begin, child, reached, &root));
        RW_TRY_OUT(
            check_reached(m, keys + begin, end - begin, (const int64_t(*)[2])child, root, queue));
        RW_TRY_OUT(make_tree(m, keys + begin, end - begin, child, root, weight));
    }
out:
    rw_mem_free(keys);
    rw_mem_free(child);
    rw_mem_free(queue);
    rw_mem_free(weight);
    rw_mem_free(reached);
    return status;
}

/* ------------------------------------------------------------------ TreeEnsemble */

struct tracing {
    struct making *m;
    unsigned char *seen; /* [n nodes] */
    size_t n_nodes, n_leaves;
    int32_t *node, *leaf; /* of the tree at hand: [n], numbers, ascending but for the root */
    size_t n_node, node_room, n_leaf, leaf_room;
};

static int by_number(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

static int child_at(struct tracing *t, int32_t node, int side, int32_t *number, int *is_leaf)
{
    struct making *m = t->m;
    const size_t i = (size_t)node;
    const int64_t to = int_at(m, side ? RW_ONNX_FALSE : RW_ONNX_TRUE, i);
    const int64_t leaf = int_at(m, side ? RW_ONNX_FALSE_LEAF : RW_ONNX_TRUE_LEAF, i);
    *is_leaf = leaf != 0;
    *number = 0;
    if (to < 0 || to >= (int64_t)(*is_leaf ? t->n_leaves : t->n_nodes))
        return rw_refuse(m->ctx, m->source, "node %d: there is no %s %lld to be its child", node,
                         *is_leaf ? "leaf" : "node", (long long)to);
    *number = (int32_t)to;
    return RW_OK;
}

static int add_number(struct tracing *t, int32_t number, int is_leaf)
{
    struct rw_ctx *ctx = t->m->ctx;
    if (is_leaf) {
        RW_TRY(RW_GROW(ctx, t->leaf, t->leaf_room, t->n_leaf + 1));
        t->leaf[t->n_leaf++] = number;
        return RW_OK;
    }
    if (t->seen[number])
        return rw_refuse(ctx, t->m->source, "node %d is reached twice, or is above itself", number);
    t->seen[number] = 1;
    RW_TRY(RW_GROW(ctx, t->node, t->node_room, t->n_node + 1));
    t->node[t->n_node++] = number;
    return RW_OK;
}

/* Is it a node that stands for a tree of one leaf? ONNX Runtime's reading of it is another one
 * where the leaf has another number than the node, so that such a file means two things. */
static int is_one_leaf(struct tracing *t, int32_t root, int *out)
{
    int32_t number[2];
    int is_leaf[2];
    for (int side = 0; side < 2; side++)
        RW_TRY(child_at(t, root, side, &number[side], &is_leaf[side]));
    *out = number[0] == number[1];
    if (*out && (!is_leaf[0] || !is_leaf[1] || number[0] != root))
        return rw_refuse(t->m->ctx, t->m->source,
                         "node %d, a root, has two children of the number %d, which ONNX Runtime "
                         "takes for a leaf",
                         root, number[0]);
    return RW_OK;
}

static int trace_tree(struct tracing *t, int32_t root)
{
    t->n_node = t->n_leaf = 0;
    RW_TRY(add_number(t, root, 0));
    for (size_t i = 0; i < t->n_node; i++) {
        for (int side = 0; side < 2; side++) {
            int32_t number;
            int is_leaf;
            RW_TRY(child_at(t, t->node[i], side, &number, &is_leaf));
            RW_TRY(add_number(t, number, is_leaf));
        }
    }
    qsort(t->node + 1, t->n_node - 1, sizeof(*t->node), by_number);
    qsort(t->leaf, t->n_leaf, sizeof(*t->leaf), by_number);
    for (size_t i = 1; i < t->n_leaf; i++) {
        if (t->leaf[i - 1] == t->leaf[i])
            return rw_refuse(t->m->ctx, t->m->source, "leaf %d is reached twice", t->leaf[i]);
    }
    return RW_OK;
}

static int32_t place_in(const struct tracing *t, int32_t number, int is_leaf)
{
    const int32_t *found =
        is_leaf ? bsearch(&number, t->leaf, t->n_leaf, sizeof(*t->leaf), by_number)
                : bsearch(&number, t->node + 1, t->n_node - 1, sizeof(*t->node), by_number);
    return (int32_t)(is_leaf ? (found - t->leaf) + (ptrdiff_t)t->n_node : found - t->node);
}

static int make_traced(struct tracing *t)
{
    struct making *m = t->m;
    struct rw_ens_tree *tree;
    if (t->n_node + t->n_leaf > INT32_MAX)
        return rw_refuse(m->ctx, m->source, "a tree of %zu nodes", t->n_node + t->n_leaf);
    RW_TRY(rw_ensemble_add_tree(m->ctx, m->out, (int32_t)(t->n_node + t->n_leaf), &tree));
    for (size_t i = 0; i < t->n_node; i++) {
        int32_t place[2];
        enum rw_onnx_mode mode;
        for (int side = 0; side < 2; side++) {
            int32_t number;
            int is_leaf;
            RW_TRY(child_at(t, t->node[i], side, &number, &is_leaf));
            place[side] = place_in(t, number, is_leaf);
        }
        RW_TRY(mode_of(m, (size_t)t->node[i], &mode));
        RW_TRY(make_split(m, (size_t)t->node[i], mode, place[0], place[1], &tree->node[i]));
    }
    for (size_t i = 0; i < t->n_leaf; i++) {
        struct rw_ens_node *leaf = &tree->node[t->n_node + i];
        leaf->left = leaf->right = -1;
        leaf->value = slot(m, RW_ONNX_LEAF_WEIGHT)->reals.value[t->leaf[i]];
    }
    return RW_OK;
}

static int make_root(struct tracing *t, int64_t root)
{
    struct making *m = t->m;
    struct rw_ens_tree *tree;
    int one_leaf;
    if (root < 0 || root >= (int64_t)t->n_nodes)
        return rw_refuse(m->ctx, m->source, "there is no node %lld to be a root", (long long)root);
    RW_TRY(is_one_leaf(t, (int32_t)root, &one_leaf));
    if (!one_leaf) {
        RW_TRY(trace_tree(t, (int32_t)root));
        return make_traced(t);
    }
    RW_TRY(add_number(t, (int32_t)root, 0));
    RW_TRY(rw_ensemble_add_tree(m->ctx, m->out, 1, &tree));
    tree->node[0].left = tree->node[0].right = -1;
    tree->node[0].value = slot(m, RW_ONNX_LEAF_WEIGHT)->reals.value[root];
    return RW_OK;
}

static int make_ensemble(struct making *m)
{
    struct tracing t = {.m = m,
                        .n_nodes = slot(m, RW_ONNX_FEATURE)->ints.n,
                        .n_leaves = slot(m, RW_ONNX_LEAF_WEIGHT)->reals.n};
    int status;
    RW_TRY_OUT(need(m, "nodes_trueleafs", slot(m, RW_ONNX_TRUE_LEAF)->ints.n, t.n_nodes));
    RW_TRY_OUT(need(m, "nodes_falseleafs", slot(m, RW_ONNX_FALSE_LEAF)->ints.n, t.n_nodes));
    if (t.n_nodes > INT32_MAX || t.n_leaves > INT32_MAX) {
        status = rw_refuse(m->ctx, m->source, "%zu nodes and %zu leaves", t.n_nodes, t.n_leaves);
        goto out;
    }
    RW_TRY_OUT(RW_NEW(m->ctx, t.seen, t.n_nodes));
    for (size_t i = 0; i < slot(m, RW_ONNX_ROOT)->ints.n; i++)
        RW_TRY_OUT(make_root(&t, int_at(m, RW_ONNX_ROOT, i)));
out:
    rw_mem_free(t.seen);
    rw_mem_free(t.node);
    rw_mem_free(t.leaf);
    return status;
}

/* ------------------------------------------------------------------ the formats */

static int parse(struct rw_ctx *ctx, const struct rw_source *source, int five,
                 struct rw_ensemble *out)
{
    struct rw_onnx onnx = {0};
    struct making m = {ctx, source, &onnx, out};
    int status;
    RW_TRY_OUT(rw_onnx_read(ctx, source, five, &onnx));
    RW_TRY_OUT(check_common(&m));
    RW_TRY_OUT(read_columns(&m));
    RW_TRY_OUT(five ? make_ensemble(&m) : make_regressor(&m));
out:
    rw_onnx_release(&onnx);
    return status;
}

static int parse_3(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    return parse(ctx, source, 0, out);
}

static int parse_5(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    return parse(ctx, source, 1, out);
}

static int write_3(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    return rw_onnx_write(ctx, ensemble, 0, put);
}

static int write_5(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    return rw_onnx_write(ctx, ensemble, 1, put);
}

static const struct rw_consumer consumers[] = {
    {.name = "ONNX",
     .rules = {.value = RW_F32,
               .threshold = RW_F32,
               .sum = RW_F32,
               .nan_by_node = 1,
               .absent = RW_ABSENT_AS_MODEL}},
    {0},
};

const struct rw_model_format rw_to_onnx = {
    .name = "onnx",
    .about = "ONNX-ML's TreeEnsembleRegressor, operator set 3",
    .consumer = consumers,
    .names = RW_NAMES_NONE,
    .imports = 1,
    .write = write_3,
    .parse = parse_3,
};

const struct rw_model_format rw_to_onnx5 = {
    .name = "onnx5",
    .about = "ONNX-ML's TreeEnsemble, operator set 5",
    .consumer = consumers,
    .names = RW_NAMES_NONE,
    .imports = 1,
    .write = write_5,
    .parse = parse_5,
};
