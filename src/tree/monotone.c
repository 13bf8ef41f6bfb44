#include "tree/monotone.h"

#include <float.h>
#include <string.h>

#include "base/mem.h"

int rw_monotone_init(struct rw_ctx *ctx, struct rw_monotone *room, size_t n)
{
    RW_TRY(RW_NEW(ctx, room->sum, n));
    return RW_NEW(ctx, room->bounds, n);
}

void rw_monotone_release(struct rw_monotone *room)
{
    rw_mem_free(room->sum);
    rw_mem_free(room->bounds);
}

/* Where a child's sums and bounds are: splits come first. */
static int32_t index_of(const struct rw_tree *tree, int32_t child)
{
    return child >= 0 ? child : tree->n_leaves - 1 + ~child;
}

static double within(const struct rw_bounds *bounds, double value)
{
    return value < bounds->low ? bounds->low : value > bounds->high ? bounds->high : value;
}

/* The bounds of a split's children. */
static void divide(struct rw_monotone *room, const struct rw_leaf_rule *rule, int direction,
                   int32_t split, int32_t left, int32_t right)
{
    const struct rw_bounds own = room->bounds[split];
    room->bounds[left] = room->bounds[right] = own;
    if (direction == 0)
        return;
    const double l = within(&own, rw_leaf_real(rule, &room->sum[left]));
    const double r = within(&own, rw_leaf_real(rule, &room->sum[right]));
    const double middle = within(&own, 0.5 * l + 0.5 * r);
    room->bounds[direction > 0 ? left : right].high = middle;
    room->bounds[direction > 0 ? right : left].low = middle;
}

void rw_monotone_values(struct rw_monotone *room, const struct rw_leaf_rule *rule,
                        const int8_t *direction, const struct rw_sum *sum, struct rw_tree *tree)
{
    const int32_t n_splits = tree->n_leaves - 1;
    memcpy(room->sum + n_splits, sum, (size_t)tree->n_leaves * sizeof(*sum));
    for (int32_t k = n_splits - 1; k >= 0; k--) {
        room->sum[k] = room->sum[index_of(tree, tree->left[k])];
        rw_sum_merge(&room->sum[k], &room->sum[index_of(tree, tree->right[k])]);
    }
    room->bounds[0] = (struct rw_bounds){-DBL_MAX, DBL_MAX}; /* so that no middle is infinite */
    for (int32_t k = 0; k < n_splits; k++)
        divide(room, rule, direction[tree->feature[k]], k, index_of(tree, tree->left[k]),
               index_of(tree, tree->right[k]));
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        tree->leaf[leaf] =
            rw_leaf_float(within(&room->bounds[n_splits + leaf], rw_leaf_real(rule, &sum[leaf])));
}

/* The extent of the leaves under a node whose children's are known. */
static struct rw_bounds extent_of(const struct rw_bounds *a, const struct rw_bounds *b)
{
    return (struct rw_bounds){a->low < b->low ? a->low : b->low,
                              a->high > b->high ? a->high : b->high};
}

int32_t rw_monotone_broken(struct rw_monotone *room, const int8_t *direction,
                           const struct rw_tree *tree)
{
    const int32_t n_splits = tree->n_leaves - 1;
    int32_t broken = -1;
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        room->bounds[n_splits + leaf] = (struct rw_bounds){tree->leaf[leaf], tree->leaf[leaf]};
    for (int32_t k = n_splits - 1; k >= 0; k--) {
        const struct rw_bounds *left = &room->bounds[index_of(tree, tree->left[k])];
        const struct rw_bounds *right = &room->bounds[index_of(tree, tree->right[k])];
        const int way = direction[tree->feature[k]];
        room->bounds[k] = extent_of(left, right);
        if ((way > 0 && left->high > right->low) || (way < 0 && left->low < right->high))
            broken = k;
    }
    return broken;
}
