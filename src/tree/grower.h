/* Grows one tree: the frontier is kept here, the engine does the work. Written once for all
 * engines. */
#pragma once

#include "tree/engine.h"

struct rw_grow_rules {
    int levels;     /* 0: best-first to `leaves`; 1: whole levels to `depth` */
    int32_t leaves; /* most leaves, >= 2 */
    int32_t depth;  /* greatest depth; 0: no limit (not with levels) */
    int32_t batch;  /* best-first: nodes expanded together, at most; the tree is the same for all. 0
                       is for rw_grow_max_slots only: whatever will be chosen */
    uint32_t min_docs;
    double rate, l2;
    /* [RW_FEATURE_IDS] as in rw_monotone_values, below; NULL: no feature has a direction. Borrowed */
    const int8_t *monotone;
};

/* Milliseconds of the tree grown last, by stage, and what was asked of the engine. */
struct rw_grow_times {
    double lambdas_ms, histograms_ms, splits_ms, partition_ms;
    int n_batches;    /* calls of partition */
    int n_histograms; /* built, and as many derived, but for the root's */
    int n_prospects;  /* nodes looked at when batches were chosen */
    int n_forgotten;  /* histograms that it was told to forget */
};

/* Scratch for trees under one set of rules: [max nodes] arrays, made once. rw_free
 * frees them. */
struct rw_grower;
int rw_grower_new(struct rw_ctx *ctx, const struct rw_grow_rules *rules, struct rw_grower **out);
/* Slots that the engine must have for these rules. */
uint32_t rw_grow_max_slots(const struct rw_grow_rules *rules);
/* Histograms that it must have room for. */
uint32_t rw_grow_max_histograms(const struct rw_grow_rules *rules);
/* Of the trees grown from here on. */
void rw_grower_set_rate(struct rw_grower *grower, double rate);

/* Grows tree number `tree` (of the training, from 0) and makes `out` of it; leaf_slot: [max
 * leaves], written, for rw_engine_add_tree. A tree of one leaf of value 0 means that no split was
 * possible. */
int rw_grower_grow(struct rw_grower *grower, struct rw_engine *engine, uint32_t tree,
                   struct rw_tree *out, int32_t *leaf_slot, struct rw_grow_times *times);

/* The features that a node may be split by, where that differs from node to node.
 *
 * Interactions: features are put into groups, and all those that are used on a way from the root to
 * a leaf lie in one of them. A feature that is in no group is used with no other. At the root any
 * feature may be used; below it those of the groups that have all features used so far, and these
 * features themselves.
 *
 * Samples of nodes: of the tree's features that interactions allow, each is kept iff its random
 * number, which depends on seed, tree, feature and the node's key, is under a threshold; if none
 * is, the one with the lowest number, the first of equals. A node's key is made of its parent's and
 * its side, so it depends on the way from the root, never on the order in which nodes grow. */
struct rw_interactions {
    uint32_t n_groups, n_words; /* n_words: 64-bit words of a set of groups */
    uint64_t *groups;           /* [RW_FEATURE_IDS][n_words] those that a feature is in; owned */
};

static inline const uint64_t *rw_groups_of(const struct rw_interactions *interactions,
                                           uint32_t feature)
{
    return interactions->groups + (size_t)feature * interactions->n_words;
}

/* The first split that uses a feature which interactions do not allow there; -1: none does. live:
 * scratch, [n_leaves - 1][n_words]. */
int32_t rw_interactions_broken(const struct rw_interactions *interactions,
                               const struct rw_tree *tree, uint64_t *live);

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
struct rw_bounds {
    double low, high;
};

/* Room for a node: an array of these is for splits, then leaves. */
struct rw_monotone {
    struct rw_sum sum;
    struct rw_bounds bounds;
};

/* Writes tree->leaf. room: [2 n_leaves - 1] scratch. tree: its splits, children behind their
 * parents. direction: [RW_FEATURE_IDS] 1: values rise along the feature; -1: they fall; 0: they do
 * as they like. sum: [n_leaves] */
void rw_monotone_values(struct rw_monotone *room, const struct rw_leaf_rule *rule,
                        const int8_t *direction, const struct rw_sum *sum, struct rw_tree *tree);

/* The first split at which a tree of any training has a leaf on the one side that does not keep the
 * order with one on the other; -1: every split keeps it. room: [2 n_leaves - 1] scratch. */
int32_t rw_monotone_broken(struct rw_monotone *room, const int8_t *direction,
                           const struct rw_tree *tree);
