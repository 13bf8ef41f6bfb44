/* One real tree, grown by engine `cpu` on made MSLR data, and what its grower asked of the engine:
 * which documents' histograms, in which batches. For the suite `nodes`. */
#pragma once

#include "tests/check/made_codes.h"
#include "tree/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A histogram to build, and the sibling's to derive. Buffers are numbered as the engine for GPUs
 * does: the root's is 0, each build takes the next, the sibling's is the parent's. */
struct rw_asked_node {
    uint64_t first, n;  /* places in its batch's part of `list` */
    uint32_t buffer;    /* built */
    uint32_t parent;    /* of the parent, which becomes the sibling's */
    int has_sibling;    /* 0: the sibling is not asked for */
    uint64_t n_sibling; /* documents of the sibling */
};

struct rw_asked_batch {
    uint32_t first_node, n_nodes;
    uint64_t first_place, n_places; /* in list */
};

/* Zeroed to begin with; released in any state. */
struct rw_asked {
    struct rw_engine *engine; /* cpu, with the data in its bins; owned */
    int32_t *lambda;          /* [n_docs] quantised; owned */
    uint32_t n_docs;
    int n_leaves;
    /* of the tree recorded last */
    struct rw_asked_node *node; /* owned */
    size_t n_nodes, node_room;
    struct rw_asked_batch *batch; /* owned */
    size_t n_batches, batch_room;
    uint32_t *list; /* owned */
    size_t n_places, place_room;
};

/* Makes the data and loads it. */
int rw_asked_init(struct rw_ctx *ctx, struct rw_asked *asked, uint32_t n_queries, uint64_t seed);
/* Grows tree 0 in batches of at most so many nodes. */
int rw_asked_record(struct rw_asked *asked, int32_t leaves, int32_t batch);
/* As rw_made_columns_of_bins. */
int rw_asked_columns(const struct rw_asked *asked, int bits, uint32_t *n_narrow,
                     struct rw_made_columns *out);
void rw_asked_release(struct rw_asked *asked);

#ifdef __cplusplus
}
#endif
