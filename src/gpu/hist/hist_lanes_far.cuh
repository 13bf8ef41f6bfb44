/* Pieces of the codes in the host's memory, for hist_lanes.cu: gathered by hist_lanes_far.cu. */
#ifndef RW_GPU_HIST_LANES_FAR_CUH
#define RW_GPU_HIST_LANES_FAR_CUH

#include <cuda_runtime.h>

#include "gpu/hist/hist.h"

/* A piece of the device's memory: what belongs to some places of a call's nodes, one after
 * another. */
struct lanes_piece {
    struct rw_hist_node *d_node; /* [n_nodes] the part of each node, counted from the first place */
    char *d_row;                 /* [docs] of a tile */
    int32_t *d_lambda, *d_hess;  /* [docs] */
    uint32_t docs;               /* to put there, at most; 0: there is no room for any */
};
/* Of a call with so many places in all nodes together. */
struct lanes_piece rw_lanes_piece(const struct rw_hist_call *call, uint32_t tile, uint64_t n_places,
                                  int which);

/* The part of each node in places [first, first + n) of all nodes: what a piece's d_node has. */
void rw_lanes_cut_nodes(const struct rw_hist_call *call, uint64_t first, uint64_t n,
                        struct rw_hist_node *node);
/* Fills it with places [first, first + n). */
cudaError_t rw_cuda_lanes_gather(const struct rw_hist_call *call, uint32_t tile,
                                 const struct lanes_piece &piece, uint64_t first, uint32_t n,
                                 cudaStream_t stream);
#endif
