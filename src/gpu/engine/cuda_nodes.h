/* The documents of nodes: samples, the list of documents, its division among the nodes of a tree,
 * and the sums of leaves.
 *
 * The list has two halves. A node is a range of positions, and the documents of its children are
 * written to the same positions of the other half. Splits are collected in a partition that is
 * launched later; its launch carries the nodes of the next histograms to the device.
 *
 * With many workers, a split states how many documents of all workers go left. How many of this
 * worker's do, only the device knows, once it has divided them. The host does not wait for it: it
 * enqueues the next histograms with estimates, and learns the numbers before the next partition. */
#pragma once

#include "gpu/engine/cuda_replies.h"

struct rw_cuda_nodes {
    struct rw_device *device;
    struct rw_cuda_replies *replies; /* borrowed */
    int is_shared;                   /* 1: many workers */
    uint32_t n_docs, n_slots;
    struct rw_cuda_sample sample; /* d_sampled NULL: all documents */
    uint32_t *d_n_listed;         /* scratch, as d_scratch, to list sampled documents */
    void *d_scratch;              /* [scratch_bytes] */
    size_t scratch_bytes;
    int is_listed; /* 0: the root's positions are document numbers, and the list is not written */
    uint64_t half; /* positions per half */
    /* [max_slots] this worker's documents of each node, and those of all workers. With one worker
     * they are the same array. */
    uint32_t *n, *all_n;
    uint64_t *first;     /* [max_slots] each node's first position */
    int32_t (*child)[2]; /* [max_slots] slots of the children; -1: not partitioned */
    void *d_moved;       /* [2][half] rw_moved_word by position; NULL: no method would read them */
    int moves; /* 1: all chosen methods read d_moved, so it moves with the documents; 0: some do
                  not; -1: before a tree's first partition */
    /* ---- the pending partition ---- */
    struct rw_cuda_partition partition;
    struct rw_cuda_part_sets sets;
    uint32_t n_set_words; /* words of `sets` in use */
    /* The parts of the last partition, while the host does not know how many of this worker's
     * documents their children have. `smaller` is the left child. */
    uint32_t n_uncounted; /* 0: all sizes are known */
    struct rw_sibling uncounted[RW_CUDA_MOST_PARTS];
    /* ---- leaves ---- */
    struct rw_cuda_leaf_sums leaf_sums; /* d_sum: [max_slots] 0 except until an answer arrives */
    struct rw_cuda_leaf *leaf;          /* [leaf_sums.n_leaves] of the last request, in the stage */
    int n_pending;                      /* leaves of the request in progress; 0: none */
    int32_t *summed;  /* [max_slots] slots of the leaves that d_leaf_of refers to, by leaf number */
    int32_t n_summed; /* 0: d_leaf_of is not valid */
};

/* can_move: 1: some methods read lambdas by position. */
int rw_cuda_nodes_allocate(struct rw_cuda_nodes *nodes, struct rw_cuda_memory *memory,
                           struct rw_cuda_replies *replies, const struct rw_dataset *dataset,
                           const struct rw_cuda_quantise *quantise, int can_move);
/* Starts a tree: the root has all documents, until they are listed. */
void rw_cuda_nodes_begin(struct rw_cuda_nodes *nodes);
/* Writes the documents of the tree to the first half of the list. */
int rw_cuda_nodes_list(struct rw_cuda_nodes *nodes);
/* Adds a split to the pending partition, after launching it if it has no room. column: the codes of
 * the split's feature. */
int rw_cuda_nodes_split(struct rw_cuda_nodes *nodes, const struct rw_split *split,
                        uint32_t missing_code, const struct rw_cuda_column *column);
/* Launch the pending partition, if there is one. rw_cuda_nodes_sizes then waits until the sizes of
 * all nodes are known; with one worker they are known at once. */
int rw_cuda_nodes_launch(struct rw_cuda_nodes *nodes);
int rw_cuda_nodes_sizes(struct rw_cuda_nodes *nodes);
/* Sends n nodes of a histogram call and their parents to the device, and launches the pending
 * partition, which carries them if they are small. */
int rw_cuda_nodes_send(struct rw_cuda_nodes *nodes, const struct rw_hist_node *node,
                       const uint32_t *parent, uint32_t n, const struct rw_hist_node **d_node,
                       const uint32_t **d_parent);
/* Returns 1 if the smaller siblings are children of the pending partition. */
int rw_cuda_nodes_are_pending(const struct rw_cuda_nodes *nodes, const struct rw_sibling *siblings,
                              uint32_t n);
/* Launches the pending partition, which writes the ranges of these siblings to *d_node. Writes
 * estimates to `node`, and the most documents that one of them can have to *most_docs. */
int rw_cuda_nodes_estimate(struct rw_cuda_nodes *nodes, const struct rw_sibling *siblings,
                           uint32_t n, struct rw_hist_node *node, uint64_t *most_docs,
                           const struct rw_hist_node **d_node);
/* Start the sums of leaves, and finish them, after starting them if that was not done. leaf_slot:
 * [n_leaves] as in leaf_sums of tree/engine.h. */
int rw_cuda_nodes_start_sums(struct rw_cuda_nodes *nodes, const int32_t *leaf_slot, int n_leaves);
int rw_cuda_nodes_take_sums(struct rw_cuda_nodes *nodes, const int32_t *leaf_slot, int n_leaves,
                            struct rw_sum *sums);
/* Returns 1 if d_leaf_of refers to these leaves. */
int rw_cuda_nodes_have_sums(const struct rw_cuda_nodes *nodes, const int32_t *leaf_slot,
                            int n_leaves);
