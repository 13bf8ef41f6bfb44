/* Scores on the device.
 *
 * A block takes a tile (tile_docs documents) of a chunk (predict_cuda.c), and all trees, one batch
 * at a time. The documents' values are copied to shared memory if there is room for them, and so
 * are the batch's nodes and leaves.
 *
 * A slot is an input of the trees: a feature, or a feature and a set of its categories
 * (model/scorer.h). A feature's codes are sent once, and a separate kernel converts them to the
 * values of its sets' slots. */
#pragma once

#include "base/mem.h"
#include "dataset/categories.h"
#include "gpu/device/tuning.h"
#include "model/model.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_flat;

struct rw_predict_tree {
    uint64_t first_node, first_leaf; /* index among the nodes and leaves of all trees */
    int32_t root;                    /* 0; or ~0 for a tree of one leaf */
};

/* Trees that a block works on at once. */
struct rw_predict_batch {
    uint64_t first_node, first_leaf; /* those of its first tree */
    uint32_t first_tree, n_trees;
    uint32_t n_nodes, n_leaves;
    int32_t in_shared; /* 0: a single tree that does not fit there, read from device memory */
};

struct rw_predict_args {
    const struct rw_walk_node *d_node;
    const float *d_leaf;
    const struct rw_predict_tree *d_tree;   /* [n_trees] */
    const struct rw_predict_batch *d_batch; /* [n_batches] in tree order */
    uint32_t n_batches, n_used;             /* n_used: number of slots */
    uint32_t tile_docs;       /* a multiple of 32 that divides RW_TUNE_PREDICT_THREADS */
    uint32_t tree_bytes;      /* shared memory for a batch's nodes and leaves; a multiple of 16 */
    uint32_t most_trees;      /* largest number of trees in a batch */
    int32_t values_in_shared; /* 1: a tile's values are copied to shared memory */
    const float *d_value;     /* [n_used][n_docs] of a chunk; absent is resolved, NaN is missing */
    uint32_t n_docs;          /* documents of the chunk */
    double *d_score;          /* [n_docs] written */
};

/* The source of a slot's values. */
struct rw_predict_slot {
    uint32_t column; /* index among the columns sent */
    uint32_t set_of; /* 1 + the index of the set; 0: the slot has the column's values */
};

/* The conversion of the columns of one chunk to values by slot. */
struct rw_predict_look_up {
    const float *d_from;                  /* [columns][n_docs] */
    const struct rw_predict_slot *d_slot; /* [n_used] */
    const uint32_t *d_set;                /* [sets][set_words] */
    uint32_t set_words, n_used, n_docs;
    float *d_to; /* [n_used][n_docs] written */
};

/* Returns the bytes of a block's shared memory (struct predict_block). */
size_t rw_predict_shared_bytes(const struct rw_predict_args *args);

struct rw_predict_plan {
    struct rw_arena arena;          /* owns the arrays */
    struct rw_predict_tree *tree;   /* [n_trees] */
    struct rw_predict_batch *batch; /* [args.n_batches] */
    struct rw_predict_args args;    /* without pointers and documents */
    uint32_t n_columns;             /* features that are sent; without sets, as many as slots */
    uint32_t *first_slot;           /* [n_columns] the first slot of each column's feature */
    struct rw_predict_slot *slot;   /* [n_used] NULL: no slot has a set */
};
/* Makes a plan. shared_bytes, threads: as in struct rw_device. The caller frees the plan's arena,
 * even on failure. */
int rw_predict_plan_init(struct rw_ctx *ctx, struct rw_predict_plan *plan,
                         const struct rw_flat *flat, size_t shared_bytes, int threads);

/* Enqueues the scoring of a chunk, 1 document or more, on a cudaStream_t, after the conversion to
 * values by slot if slots have sets; otherwise look_up is NULL. Returns a cudaError_t. */
int rw_cuda_predict(const struct rw_predict_args *args, const struct rw_predict_look_up *look_up,
                    void *stream);

#ifdef __cplusplus
}
#endif

/* ---- phases: the work of a thread between two barriers ----
 *
 * In a phase no thread reads data that another one writes. tests/check/check_predict.c calls these
 * functions on the host for each thread in turn. */
enum { PREDICT_THREADS = RW_TUNE_PREDICT_THREADS };

struct predict_block {
    unsigned char *trees; /* [tree_bytes] nodes of the batch, then its leaves */
    float *found;         /* [most_trees][tile_docs] values of the leaves found */
    float *value;         /* [n_used][tile_docs]; only if values_in_shared */
    uint32_t begin;       /* index in the chunk of the tile's first document */
    uint32_t n_docs;      /* documents of the tile, 1 to tile_docs */
};

RW_HD struct predict_block predict_block_of(const struct rw_predict_args *args,
                                            unsigned char *shared, uint32_t block)
{
    struct predict_block b;
    b.trees = shared;
    b.found = (float *)(void *)(shared + args->tree_bytes);
    b.value = b.found + (size_t)args->most_trees * args->tile_docs;
    b.begin = block * args->tile_docs;
    b.n_docs = args->n_docs - b.begin < args->tile_docs ? args->n_docs - b.begin : args->tile_docs;
    return b;
}

RW_HD void predict_look_up(const struct rw_predict_look_up *l, uint32_t slot, uint32_t doc)
{
    const struct rw_predict_slot from = l->d_slot[slot];
    const float value = l->d_from[(size_t)from.column * l->n_docs + doc];
    l->d_to[(size_t)slot * l->n_docs + doc] =
        from.set_of ? rw_set_value(l->d_set + (size_t)(from.set_of - 1) * l->set_words, value)
                    : value;
}

RW_HD void predict_load_values(const struct rw_predict_args *args, const struct predict_block *b,
                               uint32_t thread)
{
    const uint32_t doc = thread % args->tile_docs, step = PREDICT_THREADS / args->tile_docs;
    if (doc >= b->n_docs)
        return;
    const float *from = args->d_value + b->begin + doc;
    for (uint32_t slot = thread / args->tile_docs; slot < args->n_used; slot += step)
        b->value[(size_t)slot * args->tile_docs + doc] = from[(size_t)slot * args->n_docs];
}

RW_HD void predict_load_trees(const struct rw_predict_args *args, const struct predict_block *b,
                              const struct rw_predict_batch *batch, uint32_t thread,
                              uint32_t n_threads)
{
    if (!batch->in_shared)
        return;
    struct rw_walk_node *node = (struct rw_walk_node *)(void *)b->trees;
    float *leaf = (float *)(void *)(node + batch->n_nodes);
    for (uint32_t i = thread; i < batch->n_nodes; i += n_threads)
        node[i] = args->d_node[batch->first_node + i];
    for (uint32_t i = thread; i < batch->n_leaves; i += n_threads)
        leaf[i] = args->d_leaf[batch->first_leaf + i];
}

/* Walks a thread's document down the thread's trees of a batch. The 32 documents of a warp walk
 * down one tree; in shared memory, their values are in 32 different banks. value, stride: the value
 * of slot s of document d of the tile is value[s * stride + d]. */
RW_HD void predict_find(const struct rw_predict_args *args, const struct predict_block *b,
                        const struct rw_predict_batch *batch, const struct rw_walk_node *node,
                        const float *leaf, const float *value, uint32_t stride, uint32_t thread)
{
    const uint32_t doc = thread % args->tile_docs, step = PREDICT_THREADS / args->tile_docs;
    for (uint32_t t = thread / args->tile_docs; t < batch->n_trees; t += step) {
        const struct rw_predict_tree *tree = &args->d_tree[batch->first_tree + t];
        const int32_t at =
            rw_walk(node + (tree->first_node - batch->first_node), tree->root, value + doc, stride);
        b->found[(size_t)t * args->tile_docs + doc] =
            leaf[tree->first_leaf - batch->first_leaf + (uint32_t)at];
    }
}

RW_HD void predict_find_batch(const struct rw_predict_args *args, const struct predict_block *b,
                              const struct rw_predict_batch *batch, int values_in_shared,
                              uint32_t thread)
{
    if (thread % args->tile_docs >= b->n_docs)
        return;
    const struct rw_walk_node *node = (const struct rw_walk_node *)(void *)b->trees;
    const float *leaf = (const float *)(const void *)(node + batch->n_nodes);
    const float *value = values_in_shared ? b->value : args->d_value + b->begin;
    const uint32_t stride = values_in_shared ? args->tile_docs : args->n_docs;
    if (batch->in_shared)
        predict_find(args, b, batch, node, leaf, value, stride, thread);
    else
        predict_find(args, b, batch, args->d_node + batch->first_node,
                     args->d_leaf + batch->first_leaf, value, stride, thread);
}

/* Returns the score after the batch of document `thread` of the tile. score: the one before it. */
RW_HD double predict_add(const struct rw_predict_args *args, const struct predict_block *b,
                         const struct rw_predict_batch *batch, uint32_t thread, double score)
{
    if (thread >= b->n_docs)
        return score;
    for (uint32_t t = 0; t < batch->n_trees; t++)
        score += (double)b->found[(size_t)t * args->tile_docs + thread];
    return score;
}
