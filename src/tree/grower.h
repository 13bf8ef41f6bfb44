/* Grows one tree. The grower is written once for all engines (tree/engine.h). It chooses the nodes
 * to split, and the engine does the work on documents.
 *
 * The frontier consists of the tree's nodes that may be split next. To expand a node is to divide
 * its documents and to find the best splits of its children. Nodes that are expanded together are
 * a batch. Some are expanded before it is known that the tree will split them; such splits are
 * speculative. A slot is the number of a node in the engine. docs/explanation/growth.md explains
 * speculative growth in batches. The last two parts are about the features of nodes and about
 * monotone constraints. */
#pragma once

#include "tree/engine.h"

struct rw_grow_rules {
    /* 0: best-first, the split with the highest gain next, up to `leaves`. 1: whole levels, up to
     * `depth`, whatever `leaves` is. */
    int levels;
    /* 1: all nodes of a level have one split. `levels` is 1 then. Nodes without documents are
     * split, too, so the number of leaves is a power of two. */
    int symmetric;
    int32_t leaves; /* largest number of leaves, >= 2 */
    int32_t depth;  /* largest depth; 0: unlimited (not with levels) */
    /* Best-first: the largest number of nodes in a batch. It does not change the tree. 0 means 1
     * for rw_grower_new. For rw_grow_max_slots and rw_grow_max_histograms, 0 means a number that
     * will be chosen later; their results then suffice for any. */
    int32_t batch;
    uint32_t min_docs; /* least documents of a leaf */
    double rate, l2;   /* of leaf values (struct rw_leaf_rule) */
    /* [RW_FEATURE_IDS] monotone constraints, as in rw_bounded_values; NULL: none. Borrowed. */
    const int8_t *monotone;
};

/* Milliseconds per stage of the tree grown last, and counts. lambdas_ms: begin_tree, and the draw
 * of features for nodes. splits_ms includes ranking nodes. partition_ms includes the leaf values.
 */
struct rw_grow_times {
    double lambdas_ms, histograms_ms, splits_ms, partition_ms;
    int n_batches; /* calls of partition */
    /* Requests for the histograms of a pair of siblings, or of one node. In a pair, the larger
     * sibling's can be derived. */
    int n_histograms;
    /* During each search for best splits, the grower ranks the nodes that it may expand next. This
     * is the number of ranked nodes, summed over all rankings of the tree. */
    int n_speculative;
    int n_released; /* histograms that the grower released */
};

struct rw_grower;
/* Makes a grower for trees under these rules, with its scratch memory: rw_grow_max_slots(rules)
 * items per array. Use it with one engine only. Free it with rw_free. */
int rw_grower_new(struct rw_ctx *ctx, const struct rw_grow_rules *rules, struct rw_grower **out);
/* Returns the number of slots that the engine must have for these rules. */
uint32_t rw_grow_max_slots(const struct rw_grow_rules *rules);
/* Returns the number of histograms that the engine must have room for. */
uint32_t rw_grow_max_histograms(const struct rw_grow_rules *rules);
/* Sets the learning rate of the trees grown from now on. */
void rw_grower_set_rate(struct rw_grower *grower, double rate);

/* Grows tree number `tree`, counted from 0 in the training, and writes it to `out`. Free `out` with
 * rw_tree_release. leaf_slot: [largest number of leaves], written: the slot of each leaf, for
 * rw_engine_add_tree. times: written. If no split is possible, the tree has one leaf of value 0. */
int rw_grower_grow(struct rw_grower *grower, struct rw_engine *engine, uint32_t tree,
                   struct rw_tree *out, int32_t *leaf_slot, struct rw_grow_times *times);

/* ---- features that differ from node to node ----
 *
 * Interaction constraints put features into groups. All features on a path from the root to a leaf
 * must be in one group. A feature in no group is used with no other feature. The root may be split
 * by any feature. A lower node may be split by the features of the groups that contain all features
 * used above it, and by these features themselves.
 *
 * Nodes can also sample features. For each node, the grower starts from the tree's features that
 * interaction constraints allow there. Each is kept iff its random number, which depends on seed,
 * tree, feature and the node's key, is under node_threshold (struct rw_engine_rules). If no number
 * is, the grower keeps the feature with the lowest number, the first of equals. A node's key is
 * made from seed, tree, its parent's key and its side. So a key depends on the path from the root,
 * not on the order in which nodes grow. In a symmetric tree, the features of the first node of a
 * level are those of the whole level. */
struct rw_interactions {
    uint32_t n_groups, n_words; /* n_words: 64-bit words of a set of groups */
    uint64_t *groups; /* [RW_FEATURE_IDS][n_words] groups that contain each feature; owned */
};

static inline const uint64_t *rw_groups_of(const struct rw_interactions *interactions,
                                           uint32_t feature)
{
    return interactions->groups + (size_t)feature * interactions->n_words;
}

/* Returns the index of a split whose feature the interaction constraints do not allow at its node,
 * or -1 if there is no such split. live: [n_leaves - 1, or 1 if that is 0][n_words] scratch. */
int32_t rw_interactions_broken(const struct rw_interactions *interactions,
                               const struct rw_tree *tree, uint64_t *live);

/* ---- leaf values under monotone constraints ----
 *
 * Along a feature with a monotone constraint, scores only rise or only fall, for all documents.
 *
 * A node's bounds hold for all leaves under it; the root's are the range of finite doubles. At a
 * split by a constrained feature, each child gets a value. It is computed as for a leaf, from the
 * exact sums of all documents of the child, and clamped to the bounds of the split's node. The mean
 * of the two values bounds one child from above and the other from below. Apart from this bound,
 * children inherit the bounds of their parent. A leaf's value is clamped to its bounds before it is
 * rounded to float.
 *
 * So if scores must rise along a feature, a document on the lower side of a split by it never gets
 * more than one on the upper side, whatever splits follow. The constraint does not compare
 * documents that differ in other features, or documents without a value, since a missing value has
 * no place in the order. Sums of such trees keep the order too, since rounding is monotone. */
struct rw_bounds {
    double low, high;
};

static inline double rw_within(const struct rw_bounds *bounds, double value)
{
    return value < bounds->low ? bounds->low : value > bounds->high ? bounds->high : value;
}

/* Scratch for one node of a tree. In an array of these, the splits come first, then the leaves. */
struct rw_monotone {
    struct rw_sum sum;
    struct rw_bounds bounds;
};

/* Writes tree->leaf. tree: its splits are set, and children follow their parents. room: [2 n_leaves
 * - 1] scratch. direction: [RW_FEATURE_IDS] 1: values rise along the feature; -1: they fall; 0: no
 * constraint; NULL: no constraints. sum: [n_leaves] sums over the documents of each leaf.
 *
 * symmetric: 1: the tree may have empty leaves, which have no documents. An empty leaf gets the
 * value that its nearest ancestor with documents would have as a leaf, limited so that the tree
 * keeps all constraints. Splits with an empty side do not change the bounds of the other side. */
void rw_bounded_values(struct rw_monotone *room, const struct rw_leaf_rule *rule,
                       const int8_t *direction, const struct rw_sum *sum, int symmetric,
                       struct rw_tree *tree);

/* Returns the index of the first split whose monotone constraint is broken by two leaves, one on
 * each side, or -1 if the tree keeps all constraints. The tree may come from any training.
 * direction: as in rw_bounded_values. room: [2 n_leaves - 1] scratch. */
int32_t rw_monotone_broken(struct rw_monotone *room, const int8_t *direction,
                           const struct rw_tree *tree);
