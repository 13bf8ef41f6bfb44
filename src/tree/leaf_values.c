/* Sets and checks the values of leaves that depend on other leaves of the tree (tree/grower.h):
 * values under monotone constraints, and those of symmetric trees, whose empty leaves follow an
 * ancestor. Every other leaf gets its value from its own sums, by rw_leaf_value. */
#include <float.h>

#include "tree/grower.h"

/* Returns the index of a child's sums and bounds; splits come before leaves. */
static int32_t index_of(const struct rw_tree *tree, int32_t child)
{
    return child >= 0 ? child : tree->n_leaves - 1 + ~child;
}

/* Sets the bounds of a split's children. */
static void divide(struct rw_monotone *room, const struct rw_leaf_rule *rule, int direction,
                   int32_t split, int32_t left, int32_t right)
{
    const struct rw_bounds own = room[split].bounds;
    room[left].bounds = room[right].bounds = own;
    if (direction == 0)
        return;
    const double l = rw_within(&own, rw_leaf_real(rule, &room[left].sum));
    const double r = rw_within(&own, rw_leaf_real(rule, &room[right].sum));
    const double middle = rw_within(&own, 0.5 * l + 0.5 * r);
    room[direction > 0 ? left : right].bounds.high = middle;
    room[direction > 0 ? right : left].bounds.low = middle;
}

/* Sets the bounds of a split with documents to the range of the leaves below it. An empty side gets
 * the split's own value, limited to the side of the other leaves that `direction` demands. */
static void enclose(struct rw_monotone *room, const struct rw_leaf_rule *rule, int direction,
                    int32_t split, int32_t left, int32_t right)
{
    const int32_t empty = room[left].sum.n == 0 ? left : room[right].sum.n == 0 ? right : -1;
    if (empty >= 0) {
        const struct rw_bounds *other = &room[empty == left ? right : left].bounds;
        double value = (double)rw_leaf_float(
            rw_within(&room[split].bounds, rw_leaf_real(rule, &room[split].sum)));
        if (direction != 0 && (direction > 0) == (empty == left))
            value = fmin(value, other->low);
        else if (direction != 0)
            value = fmax(value, other->high);
        room[empty].bounds = (struct rw_bounds){value, value};
    }
    room[split].bounds = (struct rw_bounds){fmin(room[left].bounds.low, room[right].bounds.low),
                                            fmax(room[left].bounds.high, room[right].bounds.high)};
}

/* Gives empty leaves the values that follow from the others and from the bounds of all nodes. */
static void fill_empty(struct rw_monotone *room, const struct rw_leaf_rule *rule,
                       const int8_t *direction, const struct rw_sum *sum, struct rw_tree *tree)
{
    const int32_t n_splits = tree->n_leaves - 1;
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
        if (sum[leaf].n > 0)
            room[n_splits + leaf].bounds = (struct rw_bounds){tree->leaf[leaf], tree->leaf[leaf]};
    }
    for (int32_t k = n_splits - 1; k >= 0; k--) {
        if (room[k].sum.n > 0)
            enclose(room, rule, direction ? direction[tree->feature[k]] : 0, k,
                    index_of(tree, tree->left[k]), index_of(tree, tree->right[k]));
    }
    for (int32_t k = 0; k < n_splits; k++) { /* below an empty node, all values are equal */
        if (room[k].sum.n == 0)
            room[index_of(tree, tree->left[k])].bounds =
                room[index_of(tree, tree->right[k])].bounds = room[k].bounds;
    }
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        tree->leaf[leaf] = (float)room[n_splits + leaf].bounds.low;
}

void rw_bounded_values(struct rw_monotone *room, const struct rw_leaf_rule *rule,
                       const int8_t *direction, const struct rw_sum *sum, int symmetric,
                       struct rw_tree *tree)
{
    const int32_t n_splits = tree->n_leaves - 1;
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        room[n_splits + leaf].sum = sum[leaf];
    for (int32_t k = n_splits - 1; k >= 0; k--) {
        room[k].sum = room[index_of(tree, tree->left[k])].sum;
        rw_sum_merge(&room[k].sum, &room[index_of(tree, tree->right[k])].sum);
    }
    room[0].bounds =
        (struct rw_bounds){-DBL_MAX, DBL_MAX}; /* finite, so that no mean is infinite */
    for (int32_t k = 0; k < n_splits; k++) {
        const int32_t left = index_of(tree, tree->left[k]), right = index_of(tree, tree->right[k]);
        const int is_free =
            !direction || (symmetric && (room[left].sum.n == 0 || room[right].sum.n == 0));
        divide(room, rule, is_free ? 0 : direction[tree->feature[k]], k, left, right);
    }
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        tree->leaf[leaf] =
            rw_leaf_float(rw_within(&room[n_splits + leaf].bounds, rw_leaf_real(rule, &sum[leaf])));
    if (symmetric)
        fill_empty(room, rule, direction, sum, tree);
}

int32_t rw_monotone_broken(struct rw_monotone *room, const int8_t *direction,
                           const struct rw_tree *tree)
{
    const int32_t n_splits = tree->n_leaves - 1;
    int32_t broken = -1;
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        room[n_splits + leaf].bounds = (struct rw_bounds){tree->leaf[leaf], tree->leaf[leaf]};
    for (int32_t k = n_splits - 1; k >= 0; k--) {
        const struct rw_bounds *left = &room[index_of(tree, tree->left[k])].bounds;
        const struct rw_bounds *right = &room[index_of(tree, tree->right[k])].bounds;
        const int way = direction[tree->feature[k]];
        room[k].bounds =
            (struct rw_bounds){fmin(left->low, right->low), fmax(left->high, right->high)};
        if ((way > 0 && left->high > right->low) || (way < 0 && left->low < right->high))
            broken = k;
    }
    return broken;
}
