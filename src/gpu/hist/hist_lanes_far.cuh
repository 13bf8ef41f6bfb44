/* Codes in host memory, for hist_lanes.cu: the order in which they are read, and the pieces into
 * which they are gathered (hist_lanes_far.cu). */
#pragma once

#include "gpu/device/kernel.cuh"
#include "gpu/hist/hist.h"

/* The documents of a call's nodes in the order in which they are read. First come those whose rows
 * of a tile are on the device, as window 0. Then come the others by window, from window 1 on.
 * Within a window they are ordered by node. A run is the part of one node in one window: run w *
 * n_nodes + i is that of node i in window w. */
struct lanes_order {
    uint32_t n_docs, n_here, n_runs; /* n_here: documents in window 0 */
    /* Prefix sums over the runs. start: documents in all runs before each, [n_runs + 1]. before:
     * documents of the same node in earlier runs, [n_runs + n_nodes]; the last n_nodes are the
     * sizes of whole nodes. */
    const uint32_t *start, *before;
    const uint32_t *d_start, *d_before; /* the same on the device */
    const uint32_t *d_doc;              /* [n_docs]; NULL: nodes are ranges of document numbers */
    /* [n_nodes] the part of each node whose rows are on the device, as a range of d_doc or of
     * document numbers */
    const struct rw_hist_node *here, *d_here;
};

/* Makes the order for tiles that have the rows of documents [0, n_here) on the device. It follows
 * all work of `stream` so far, and later work of `stream` waits for it. The host waits until the
 * order before this one is complete and, with a list, until the documents of runs are counted. */
cudaError_t rw_lanes_order(const struct rw_hist_call *call, uint32_t n_here, cudaStream_t stream,
                           struct lanes_order *out);

/* The layout of a piece of device memory. Its documents are ordered by node. */
struct lanes_piece {
    struct rw_hist_node *d_node; /* [n_nodes] range of each node in the piece */
    char *d_row;                 /* [docs] rows of the tile */
    int32_t *d_lambda, *d_hess;  /* [docs] */
    uint32_t docs;               /* the most documents of the piece; 0: no room */
};
/* Returns the layout of piece `which` (0 or 1). n_far: documents of the call whose rows of this
 * tile are in host memory. */
struct lanes_piece rw_lanes_piece(const struct rw_hist_call *call, uint32_t tile, uint32_t n_far,
                                  int which);

/* Finds the content of d_node of a piece that has documents [first, first + n) of the order. */
void rw_lanes_cut_nodes(const struct lanes_order &order, uint32_t n_nodes, uint32_t first,
                        uint32_t n, struct rw_hist_node *node);
/* Fills the piece with these documents, whose rows must all be in host memory. */
cudaError_t rw_cuda_lanes_gather(const struct rw_hist_call *call, const struct lanes_order &order,
                                 uint32_t tile, const struct lanes_piece &piece, uint32_t first,
                                 uint32_t n, cudaStream_t stream);

/* Returns the run that contains document `at` of the order; n_runs for the end. */
static inline __host__ __device__ uint32_t lanes_run_of(const uint32_t *start, uint32_t n_runs,
                                                        uint32_t at)
{
    return rw_numbers_under(start, n_runs + 1, (uint64_t)at + 1) - 1;
}

/* Returns the sum of n over the lower lanes plus *carried. Then adds the sum of n over all lanes to
 * *carried. */
static inline __device__ uint32_t lanes_add_before(uint32_t n, uint32_t *carried)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t upto = n;
    for (int step = 1; step < 32; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, step);
        upto += (int)lane >= step ? other : 0;
    }
    const uint32_t before = *carried + upto - n;
    *carried += __shfl_sync(0xffffffffu, upto, 31);
    return before;
}

/* Returns the number of a node's documents before document `at` of the order, which is in `run`. */
static inline __host__ __device__ uint32_t lanes_node_before(const uint32_t *start,
                                                             const uint32_t *before, uint32_t run,
                                                             uint32_t at, uint32_t n_nodes,
                                                             uint32_t node)
{
    const uint32_t window = run / n_nodes, in_window = run % n_nodes;
    const uint32_t within = node == in_window ? at - start[run] : 0;
    return before[(window + (node < in_window)) * n_nodes + node] + within;
}
