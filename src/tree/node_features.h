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
#ifndef RW_TREE_NODE_FEATURES_H
#define RW_TREE_NODE_FEATURES_H

#include "tree/engine.h"

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

/* Of the nodes of one tree after another. */
struct rw_node_features;
int rw_node_features_new(struct rw_engine *engine, struct rw_node_features **out);
void rw_node_features_free(struct rw_node_features *nodes); /* NULL is fine */
/* A tree begins, of the root alone. */
void rw_node_features_begin(struct rw_node_features *nodes, uint32_t tree);
/* split: its slot is known; its children are then. */
void rw_node_features_add(struct rw_node_features *nodes, const struct rw_split *split);
/* Tells the engine what the slots may be split by. */
int rw_node_features_allow(struct rw_node_features *nodes, const int32_t *slots, int n);

#endif
