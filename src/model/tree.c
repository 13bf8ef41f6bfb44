#include "model/tree.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"

/* Of a node's values, and of a leaf's: gains first, which is the address of the block. */
enum { NODE_BYTES = 8 + 4 * 4 + 1, LEAF_BYTES = 4 };

int rw_tree_init(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves)
{
    memset(tree, 0, sizeof(*tree));
    if (n_leaves < 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a tree of %d leaves; expected 1 or more", n_leaves);
    const size_t n = (size_t)n_leaves - 1;
    RW_TRY(rw_mem_new(ctx, (void **)&tree->gain, n * NODE_BYTES + (n + 1) * LEAF_BYTES, 1));
    tree->left = (int32_t *)(void *)(tree->gain + n);
    tree->right = tree->left + n;
    tree->feature = (uint32_t *)(void *)(tree->right + n);
    tree->cut = (float *)(void *)(tree->feature + n);
    tree->leaf = tree->cut + n;
    tree->missing_left = (uint8_t *)(tree->leaf + n + 1);
    tree->n_leaves = n_leaves;
    return RW_OK;
}

int rw_tree_add_sets(struct rw_ctx *ctx, struct rw_tree *tree)
{
    const size_t n_nodes = (size_t)tree->n_leaves - 1;
    if (tree->set)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, tree->by_set, n_nodes));
    return RW_NEW(ctx, tree->set, n_nodes);
}

int rw_tree_add_covers(struct rw_ctx *ctx, struct rw_tree *tree)
{
    if (tree->hessian || tree->n_leaves == 1)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, tree->docs, (size_t)tree->n_leaves));
    return RW_NEW(ctx, tree->hessian, (size_t)tree->n_leaves);
}

void rw_tree_release(struct rw_tree *tree)
{
    rw_mem_free(tree->docs);
    rw_mem_free(tree->hessian);
    rw_mem_free(tree->by_set);
    rw_mem_free(tree->set);
    rw_mem_free(tree->gain);
    memset(tree, 0, sizeof(*tree));
}

static int copy_arrays(struct rw_ctx *ctx, const struct rw_tree *from, struct rw_tree *to)
{
    const size_t n = (size_t)from->n_leaves - 1;
    memcpy(to->gain, from->gain, n * NODE_BYTES + (n + 1) * LEAF_BYTES);
    if (from->set) {
        RW_TRY(rw_tree_add_sets(ctx, to));
        memcpy(to->by_set, from->by_set, n * sizeof(*to->by_set));
        memcpy(to->set, from->set, n * sizeof(*to->set));
    }
    if (from->hessian) {
        RW_TRY(rw_tree_add_covers(ctx, to));
        memcpy(to->docs, from->docs, (n + 1) * sizeof(*to->docs));
        memcpy(to->hessian, from->hessian, (n + 1) * sizeof(*to->hessian));
    }
    return RW_OK;
}

int rw_tree_copy(struct rw_ctx *ctx, const struct rw_tree *from, struct rw_tree *to)
{
    RW_TRY(rw_tree_init(ctx, to, from->n_leaves));
    const int status = copy_arrays(ctx, from, to);
    if (status < 0)
        rw_tree_release(to);
    return status;
}

/* Marks a child of `node` as reached. Since a child's number is larger than its parent's, one pass
 * in order of numbers sees every parent before its children, and a cycle cannot be. */
static int reach(struct rw_ctx *ctx, const struct rw_tree *tree, int32_t node, int32_t child,
                 const char *side, uint8_t *node_seen, uint8_t *leaf_seen)
{
    const int32_t n_nodes = tree->n_leaves - 1;
    const int is_leaf = child < 0;
    const int32_t number = is_leaf ? ~child : child;
    const char *kind = is_leaf ? "leaf" : "node";
    if (number >= (is_leaf ? tree->n_leaves : n_nodes))
        return rw_fail(ctx, RW_ERR_FORMAT, "node %d: its %s child is %s %d; expected one below %d",
                       node, side, kind, number, is_leaf ? tree->n_leaves : n_nodes);
    if (!is_leaf && number <= node)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "node %d: its %s child is node %d; expected a larger number", node, side,
                       number);
    uint8_t *seen = is_leaf ? &leaf_seen[number] : &node_seen[number];
    if (*seen)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "node %d: its %s child is %s %d, which has a parent already", node, side,
                       kind, number);
    *seen = 1;
    return RW_OK;
}

static int check_node(struct rw_ctx *ctx, const struct rw_tree *tree, int32_t node)
{
    if (tree->feature[node] > RW_MAX_FEATURE)
        return rw_fail(ctx, RW_ERR_FORMAT, "node %d: feature %u; expected at most %d", node,
                       tree->feature[node], RW_MAX_FEATURE);
    if (!isfinite(tree->cut[node]))
        return rw_fail(ctx, RW_ERR_FORMAT, "node %d: its threshold is not a finite number", node);
    if (!isfinite(tree->gain[node]))
        return rw_fail(ctx, RW_ERR_FORMAT, "node %d: its gain is not a finite number", node);
    if (tree->missing_left[node] > 1)
        return rw_fail(ctx, RW_ERR_FORMAT, "node %d: missing goes neither left nor right", node);
    return RW_OK;
}

static int check_leaf(struct rw_ctx *ctx, const struct rw_tree *tree, int32_t leaf)
{
    if (!isfinite(tree->leaf[leaf]))
        return rw_fail(ctx, RW_ERR_FORMAT, "leaf %d: not a finite number", leaf);
    if (tree->hessian && !(tree->docs[leaf] >= 0.0 && tree->docs[leaf] <= RW_MOST_COVER_DOCS))
        return rw_fail(ctx, RW_ERR_FORMAT, "leaf %d: its documents are not a number from 0 to 2^53",
                       leaf);
    if (tree->hessian && !(isfinite(tree->hessian[leaf]) && tree->hessian[leaf] >= 0.0f))
        return rw_fail(ctx, RW_ERR_FORMAT, "leaf %d: its hessian is not a finite number, 0 or more",
                       leaf);
    return RW_OK;
}

int rw_tree_check(struct rw_ctx *ctx, const struct rw_tree *tree)
{
    if (tree->n_leaves < 1)
        return rw_fail(ctx, RW_ERR_FORMAT, "a tree of %d leaves; expected 1 or more",
                       tree->n_leaves);
    const int32_t n_nodes = tree->n_leaves - 1;
    RW_FREED uint8_t *seen = NULL; /* [n_nodes] nodes, then [n_leaves] leaves */
    RW_TRY(RW_NEW(ctx, seen, (size_t)n_nodes + (size_t)tree->n_leaves));
    uint8_t *leaf_seen = seen + n_nodes;
    for (int32_t i = 0; i < n_nodes; i++) {
        if (i > 0 && !seen[i])
            return rw_fail(ctx, RW_ERR_FORMAT, "node %d: no earlier node has it as a child", i);
        RW_TRY(check_node(ctx, tree, i));
        RW_TRY(reach(ctx, tree, i, tree->left[i], "left", seen, leaf_seen));
        RW_TRY(reach(ctx, tree, i, tree->right[i], "right", seen, leaf_seen));
    }
    /* by now each leaf has a parent: none has two, and there are as many children as other nodes
     * and leaves */
    for (int32_t i = 0; i < tree->n_leaves; i++)
        RW_TRY(check_leaf(ctx, tree, i));
    return RW_OK;
}

int rw_tree_check_at(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where)
{
    char what[256];
    const int status = rw_tree_check(ctx, tree);
    if (status != RW_ERR_FORMAT || !ctx)
        return status;
    snprintf(what, sizeof(what), "%.255s", ctx->error);
    return rw_fail(ctx, status, "%s%s", where, what);
}
