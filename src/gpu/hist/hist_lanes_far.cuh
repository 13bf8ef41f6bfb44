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

/* A piece of device memory. Its documents are ordered by node. */
struct lanes_piece {
    struct rw_hist_node *d_node; /* [n_nodes] range of each node in the piece */
    char *d_row;                 /* [n] rows of the tile */
    int32_t *d_lambda, *d_hess;  /* [n] */
    uint32_t n;
};
/* Fills piece `which` (0 or 1), in far->stream, with the documents of the order from `first` on, as
 * many as it has room for. Their rows in the tile must all be in host memory. Also writes the
 * content of d_node to `node`. Fails if there is no room. */
cudaError_t rw_lanes_gather(const struct rw_hist_call *call, const struct lanes_order &order,
                            uint32_t tile, uint32_t first, int which, struct lanes_piece *piece,
                            struct rw_hist_node *node);
