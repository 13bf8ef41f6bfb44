/* A tree as parallel arrays: what training leaves behind. */
#pragma once

#include "base/ctx.h"
#include "dataset/categories.h"

/* Internal nodes are numbered in the order in which they were split, 0 = root, so a child's number
 * is always larger than its parent's; a child < 0 means leaf ~child. A tree of one leaf has no
 * nodes. Leaves are numbered in the order of their node ids in one-at-a-time growth. */
struct rw_tree {
    int32_t n_leaves; /* >= 1; internal nodes: n_leaves - 1 */
    int32_t *left,
        *right;        /* [n_leaves - 1]; arrays up to `leaf` are one block; owned, as are all */
    uint32_t *feature; /* [n_leaves - 1] ids of the data */
    float *cut;        /* [n_leaves - 1] left when value <= cut */
    uint8_t *missing_left; /* [n_leaves - 1] */
    double *gain;          /* [n_leaves - 1] */
    float *leaf;           /* [n_leaves] */
    /* NULL, or a pair: */
    uint8_t *by_set;         /* [n_leaves - 1] 1: left when the category's code is in `set` */
    struct rw_code_set *set; /* [n_leaves - 1] of the others: empty; and their cuts are 0 */
    /* The covers: NULL, or a pair. Trained and refitted trees with a split have them; a tree of a
     * model of version 1 to 5, or of a format that stores no covers, has none. */
    double *docs;   /* [n_leaves] sampled documents of the leaf, a whole number; in an imported tree
                       what the other program counts, which XGBoost and CatBoost weight */
    float *hessian; /* [n_leaves] sum of their hessians, rounded once; FLT_MAX where it is larger */
};

/* Arrays for n_leaves leaves, zeroed. */
int rw_tree_init(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves);
/* Makes by_set and set, zeroed, unless they are there. */
int rw_tree_add_sets(struct rw_ctx *ctx, struct rw_tree *tree);
/* Makes docs and hessian, zeroed, unless the tree has them or has no split. */
int rw_tree_add_covers(struct rw_ctx *ctx, struct rw_tree *tree);
void rw_tree_release(struct rw_tree *tree);
int rw_tree_copy(struct rw_ctx *ctx, const struct rw_tree *from, struct rw_tree *to);
/* Is it a tree: children in range, each node and leaf reached exactly once from the root, children
 * after parents, thresholds and leaves finite, covers 0 or more? RW_ERR_FORMAT with what is wrong.
 */
int rw_tree_check(struct rw_ctx *ctx, const struct rw_tree *tree);
/* The same; the message begins with `where`. */
int rw_tree_check_at(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where);

/* Of a leaf's documents, at most, so that no sum of them is infinite. */
#define RW_MOST_COVER_DOCS 9007199254740992.0

/* Do the covers say where the documents of each split go? */
static inline int rw_tree_has_covers(const struct rw_tree *tree)
{
    double sum = tree->n_leaves == 1;
    for (int32_t i = 0; tree->hessian && i < tree->n_leaves; i++)
        sum += tree->docs[i];
    return sum > 0.0;
}

static inline int rw_tree_by_set(const struct rw_tree *tree, int32_t node)
{
    return tree->by_set && tree->by_set[node];
}

/* value: as below. */
static inline int rw_tree_goes_left(const struct rw_tree *tree, int32_t node, float value)
{
    if (value != value)
        return tree->missing_left[node];
    return rw_tree_by_set(tree, node) ? rw_set_has(&tree->set[node], (uint32_t)value)
                                      : value <= tree->cut[node];
}

/* The leaf of a document. values: [n_values] by feature id, absent and missing already resolved
 * (NaN = missing), categories as their codes (dataset/categories.h); ids past the end are `absent`.
 */
static inline int32_t rw_tree_leaf(const struct rw_tree *tree, const float *values, size_t n_values,
                                   float absent)
{
    if (tree->n_leaves == 1)
        return 0;
    int32_t node = 0;
    do {
        const uint32_t f = tree->feature[node];
        const float value = f < n_values ? values[f] : absent;
        node = rw_tree_goes_left(tree, node, value) ? tree->left[node] : tree->right[node];
    } while (node >= 0);
    return ~node;
}
