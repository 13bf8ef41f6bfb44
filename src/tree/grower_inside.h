/* What the files of the grower share: nodes, the frontier, and what is expanded next. */
#ifndef RW_TREE_GROWER_INSIDE_H
#define RW_TREE_GROWER_INSIDE_H

#include "tree/grower.h"
#include "tree/monotone.h"
#include "tree/node_features.h"

/* A node stands at its slot. It is known once its parent was expanded: partitioned, its children's
 * best splits found. It belongs to the tree, and has a number, once its parent was accepted, in the
 * order of one-at-a-time growth; what was expanded too much is left. */
struct grow_node {
    double gain;         /* of its best split, if it has one */
    uint64_t n;          /* documents */
    int32_t left, right; /* slots of its children, once it is expanded */
    int32_t depth;
    int32_t index;       /* among the splits or among the leaves, at the end */
    uint8_t has_split;   /* its best split is known */
    uint8_t is_begun;    /* it has children */
    uint8_t is_expanded; /* whose best splits are known */
    uint8_t is_kept;     /* the engine keeps its histogram */
    uint8_t may_follow;  /* scratch of rw_frontier_forget */
};

/* An entry of a heap: highest gain first, then the lowest number, which is the order of acceptance.
 * Of the frontier; or a prospect, a node that may yet be accepted: one of the frontier, or below
 * one of its nodes that are expanded already, with the number that it would have. */
struct grow_entry {
    double gain;
    int32_t number, slot;
    int32_t heap_index; /* of a prospect: in the frontier's heap; -1: not of the frontier */
};

/* A prospect, in the order in which they would be accepted if no more became known. */
struct grow_ranked {
    double gain;
    int32_t number, slot;
    int32_t place;      /* among all prospects, once more are known */
    uint8_t is_begun;   /* as the node is: it need not be looked at again */
    uint8_t is_awaited; /* its children's best splits are not known yet */
};

struct rw_grower {
    struct rw_ctx *ctx; /* borrowed */
    struct rw_grow_rules rules;
    uint32_t max_slots, max_histograms;
    uint32_t n_histograms; /* that the engine keeps */
    /* [max_slots] both. A batch is chosen while the engine waits: what is asked of all nodes then
     * is apart from their splits, each of which is several lines of the cache. */
    struct grow_node *node;
    struct rw_split *split; /* the best; column -1: none */
    int32_t n_slots;
    int32_t *slot_of; /* [max_slots] of each number */
    int32_t n_nodes;
    struct grow_entry *frontier; /* [max_slots] a heap */
    int32_t n_frontier;
    int32_t n_splits;
    /* one batch */
    struct grow_entry *prospect; /* [max_slots] a heap */
    struct grow_ranked *ranked;  /* [max_slots] */
    int32_t n_ranked;
    int32_t n_left;         /* splits that the tree has room for since they were ranked */
    struct rw_split *batch; /* [max_slots] */
    int n_batch;
    struct rw_sum *sum;             /* [max_slots] of each leaf, at the end */
    struct rw_sibling *sibling;     /* [max_slots] */
    int32_t *search;                /* [max_slots] slots whose split is asked for */
    struct rw_split *found;         /* [max_slots] */
    struct rw_monotone monotone;    /* room; rules.monotone only */
    struct rw_node_features *nodes; /* NULL: all nodes may be split by the same features */
};

/* ---- grower_frontier.c ---- */

/* Makes a known node part of the tree: of its frontier, if it has a split. */
void rw_frontier_add(struct rw_grower *g, int32_t slot);
/* Makes an expanded node a split of the tree. */
void rw_frontier_accept(struct rw_grower *g, int32_t slot);
/* Accepts the best of the frontier, again and again, until its children are not known. */
void rw_frontier_accept_known(struct rw_grower *g);
/* Accepts what can be without knowing more, and ranks what may come then, while the engine finds
 * the best splits of other nodes: as many prospects as the tree has room for, or as a batch takes.
 */
void rw_frontier_rank(struct rw_grower *g, struct rw_grow_times *times);
/* Tells the engine which histograms are of no use any more, if room is short. */
int rw_frontier_forget(struct rw_grower *g, struct rw_engine *engine, struct rw_grow_times *times);
/* The next batch: the next to be accepted that is not expanded, and nodes that will probably be
 * accepted behind it, from the ranked ones and the children that were awaited, whose splits are
 * known now. A node behind which there is no leaf left for its children is chosen alone
 * (*is_last). */
void rw_frontier_choose(struct rw_grower *g, int *is_last);

#endif
