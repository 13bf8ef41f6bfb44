/* Values of leaves that no document can break: along a feature with a direction, scores only rise
 * or only fall.
 *
 * A node's bounds hold for all leaves under it; the root has none. Where a feature with a direction
 * splits, the values of both children, made like a leaf's from the exact sums of all their
 * documents and kept within the node's bounds, are averaged: the average bounds the one child from
 * above and the other from below. Elsewhere children have the bounds of their parent. A leaf's
 * value is kept within its bounds before it is rounded to a float.
 *
 * So a document on the lower side of such a split never has more of a rising tree than one on the
 * upper side, wherever both go further down. Documents that differ in other features, or of which
 * one misses the feature's value, are not compared: a missing value has no place in the order. Sums
 * of such trees keep the order, too, since rounding does. */
#ifndef RW_TREE_MONOTONE_H
#define RW_TREE_MONOTONE_H

#include "model/tree.h"
#include "tree/numbers.h"

struct rw_bounds {
    double low, high;
};

/* Room for trees of n nodes, splits and leaves together. */
struct rw_monotone {
    struct rw_sum *sum;       /* [n] splits', then leaves'; owned */
    struct rw_bounds *bounds; /* [n] the same; owned */
};

int rw_monotone_init(struct rw_ctx *ctx, struct rw_monotone *room, size_t n);
void rw_monotone_release(struct rw_monotone *room);

/* Writes tree->leaf. tree: its splits, children behind their parents. direction: [RW_FEATURE_IDS]
 * 1: values rise along the feature; -1: they fall; 0: they do as they like. sum: [n_leaves] */
void rw_monotone_values(struct rw_monotone *room, const struct rw_leaf_rule *rule,
                        const int8_t *direction, const struct rw_sum *sum, struct rw_tree *tree);

/* The first split at which a tree of any training has a leaf on the one side that does not keep the
 * order with one on the other; -1: every split keeps it. room: of 2 n_leaves - 1 nodes. */
int32_t rw_monotone_broken(struct rw_monotone *room, const int8_t *direction,
                           const struct rw_tree *tree);
#endif
