/* Scores on the device: how a model lies there, how a block's shared memory is laid out, and the
 * launcher.
 *
 * A block takes a tile of documents, which keep their values in shared memory, and all trees, a
 * batch at a time: the batch's nodes and leaves come to shared memory, every (document, tree) finds
 * its leaf's value, and then each document's values are added in tree order.
 *
 * Of a model with sets of categories (model/flat.h) a feature's codes come once, and become the
 * values of its sets' slots on the device, by a kernel of their own. */
#ifndef RW_GPU_CU_PREDICT_H
#define RW_GPU_CU_PREDICT_H

#include "base/status.h"
#include "dataset/code_set.h"
#include "model/walk.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_flat;

struct rw_predict_tree {
    uint64_t first_node, first_leaf; /* in all trees' */
    int32_t root;                    /* 0; ~0: a tree of one leaf */
};

/* Trees that a block works on at once. */
struct rw_predict_batch {
    uint64_t first_node, first_leaf; /* of its first tree */
    uint32_t first_tree, n_trees;
    uint32_t n_nodes, n_leaves;
    int32_t in_shared; /* 0: one tree that shared memory cannot hold, read where it is */
};

struct rw_predict_args {
    const struct rw_walk_node *d_node;
    const float *d_leaf;
    const struct rw_predict_tree *d_tree;   /* [n_trees] */
    const struct rw_predict_batch *d_batch; /* [n_batches] in tree order */
    uint32_t n_batches, n_used;
    uint32_t
        tile_docs; /* documents of a block: a multiple of 32 that divides RW_TUNE_PREDICT_THREADS */
    uint32_t
        tree_bytes; /* of shared memory, for a batch's nodes, then its leaves; a multiple of 16 */
    uint32_t most_trees; /* of a batch */
    int32_t values_in_shared;
    const float *d_value; /* [n_used][n_docs] of a chunk; absent is resolved, NaN is missing */
    uint32_t n_docs;
    double *d_score; /* [n_docs] written */
};

/* Where a slot's values come from. */
struct rw_predict_slot {
    uint32_t column, set_of; /* of those that are sent; 1 + the set, 0: none */
};

/* A chunk's values by slots, out of those that were sent. */
struct rw_predict_look_up {
    const float *d_from;                  /* [columns][n_docs] */
    const struct rw_predict_slot *d_slot; /* [n_used] */
    const uint32_t *d_set;                /* [sets][set_words] */
    uint32_t set_words, n_used, n_docs;
    float *d_to; /* [n_used][n_docs] written */
};

/* The shared memory of a block: nodes and leaves, found values [most_trees][tile_docs], values
 * [n_used][tile_docs] if they are there. */
size_t rw_predict_shared_bytes(const struct rw_predict_args *args);

struct rw_predict_plan {
    struct rw_predict_tree *tree;   /* [n_trees] owned */
    struct rw_predict_batch *batch; /* [args.n_batches] owned */
    struct rw_predict_args args;    /* without pointers and documents */
    /* What is sent: features, each once. Without sets they are the slots. */
    uint32_t n_columns;
    uint32_t *first_slot;         /* [n_columns] a slot of each; owned */
    struct rw_predict_slot *slot; /* [n_used] NULL: no slot has a set; owned */
};
/* shared_bytes: that a block may ask for; threads: that a multiprocessor holds at once. */
int rw_predict_plan_init(struct rw_ctx *ctx, struct rw_predict_plan *plan,
                         const struct rw_flat *flat, size_t shared_bytes, int threads);
void rw_predict_plan_release(struct rw_predict_plan *plan);

/* Returns a cudaError_t. `stream` is a cudaStream_t. */
int rw_cuda_predict(const struct rw_predict_args *args, void *stream);
int rw_cuda_predict_look_up(const struct rw_predict_look_up *look_up, void *stream);

#ifdef __cplusplus
}
#endif
#endif
