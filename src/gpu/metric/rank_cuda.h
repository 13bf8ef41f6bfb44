/* Every query's documents in the order of their scores, on the device: rw_rank_query's order. */
#ifndef RW_GPU_RANK_CUDA_H
#define RW_GPU_RANK_CUDA_H

#include "gpu/device/transfer.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RW_RANK_WARP_DOCS = 256,   /* queries up to here are sorted by a warp */
    RW_RANK_BLOCK_DOCS = 2048, /* up to here by a block; beyond, all together by the whole device */
};

/* Queries beyond a block's size. Their documents stand one after another in a list of their own,
 * query by query. All pointers are of the device, and the tables' owner's. */
struct rw_cuda_rank_large {
    uint32_t n;          /* queries */
    uint32_t n_docs;     /* of all of them */
    uint32_t *d_begin;   /* [n + 1] where each begins in the list */
    uint32_t *d_first;   /* [n] its first document in the set */
    uint64_t *d_key[2];  /* [n_docs] keys of scores */
    uint32_t *d_doc[2];  /* [n_docs] */
    uint32_t *d_part[2]; /* [n_docs] which query; NULL if there is one only */
    void *d_scratch;
    size_t scratch_bytes;
};

struct rw_cuda_rank {
    uint32_t n_docs, n_queries;
    uint32_t *d_offset;  /* [n_queries + 1] */
    uint32_t *d_by_size; /* [n_queries] all queries: the large ones, then by falling size */
    /* In it, those of 1 to RW_RANK_BLOCK_DOCS documents: n_block that a block sorts, then n_warp.
     */
    const uint32_t *d_query;
    uint32_t n_block, n_warp;
    uint32_t *d_order; /* [n_docs] the document of the set at each position, query by query */
    struct rw_cuda_rank_large large;
};

/* Its memory is the tables'. query_offset: [n_queries + 1], not kept. */
int rw_cuda_rank_init(struct rw_device_tables *tables, uint32_t n_docs, uint32_t n_queries,
                      const uint32_t *query_offset, struct rw_cuda_rank *rank);
uint64_t rw_cuda_rank_plan_bytes(uint32_t n_docs, uint32_t n_queries, const uint32_t *query_offset);

/* Enqueues the ranking into rank->d_order. d_scores: [n_docs], finite. d_sampled: [n_docs], by
 * document, or NULL; queries whose first document has 0 may be left out. Allocates nothing, waits
 * for nothing. Returns a cudaError_t, as all launchers. */
int rw_cuda_rank_run(const struct rw_cuda_rank *rank, const double *d_scores,
                     const uint8_t *d_sampled, void *stream);
/* Kernels that a run enqueues; a sort of the whole device counts one. */
uint32_t rw_cuda_rank_launches(const struct rw_cuda_rank *rank);

/* Scratch of the large queries' sorts. */
size_t rw_cuda_rank_scratch_bytes(uint32_t n_docs, uint32_t n_large);

#ifdef __cplusplus
}
#endif
#endif
