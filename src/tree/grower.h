/* Grows one tree: the frontier is kept here, the engine does the work. Written once for all
 * engines. */
#ifndef RW_TREE_GROWER_H
#define RW_TREE_GROWER_H

#include "tree/engine.h"

struct rw_grow_rules {
    int levels;     /* 0: best-first to `leaves`; 1: whole levels to `depth` */
    int32_t leaves; /* most leaves, >= 2 */
    int32_t depth;  /* greatest depth; 0: no limit (not with levels) */
    int32_t batch;  /* best-first: nodes expanded together, at most; the tree is the same for all. 0
                       is for rw_grow_max_slots only: whatever will be chosen */
    uint32_t min_docs;
    double rate, l2;
    /* [RW_FEATURE_IDS] as in tree/constraints.h; NULL: no feature has a direction. Borrowed */
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

/* Scratch for trees under one set of rules: [max nodes] arrays, made once. */
struct rw_grower;
int rw_grower_new(struct rw_ctx *ctx, const struct rw_grow_rules *rules, struct rw_grower **out);
void rw_grower_free(struct rw_grower *grower);
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
#endif
