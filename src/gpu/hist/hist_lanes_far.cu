/* Why: more codes than the device has memory for. The rows of a call's documents that it does not
 * have are gathered into a piece of its memory, whence hist_lanes.cu adds them as ranges of
 * documents, while the next piece is being gathered: so a row crosses the link once, whatever reads
 * it after, and only those that a node needs do. They come in the order of hist_lanes_order.cu,
 * without which they crossed it at 34 GB/s. Failed: histograms that read the host's memory
 * themselves (34 to 37 GB/s, and newton read the rows of 256 bins twice); huge pages, and pages of
 * 2 MB by cuMemCreate (no difference). What is left: a call of 10,000 to 500,000 documents takes
 * 0.2 to 0.5 ms more than its bytes would.
 *
 * Shapes: struct lanes_order, struct lanes_piece.
 *
 * Decomposition: a warp takes 32 documents of the order: a lane finds where one goes and copies
 * what belongs to it; then all lanes copy the rows, UNROLL words in flight each. So few blocks
 * fill the link, and more made calls of few documents slower; the other multiprocessors are left to
 * the histograms of the piece before. */
#include "gpu/hist/hist_lanes_far.cuh"

#include "gpu/device/tuning.h"

enum { WARP = 32, THREADS = 1024, UNROLL = 8 };
#define ALL_LANES 0xffffffffu

/* What gather_kernel is given. */
struct gather {
    struct lanes_piece piece;
    struct lanes_order order; /* of which only what the device has is followed */
    const struct rw_hist_node *d_node;
    const int32_t *d_lambda, *d_hess;
    const char *far; /* as if it had all documents */
    uint32_t first, n, n_nodes;
    int log_units; /* of a document, a power of two, 32 at most */
};

/* shift[i]: what is added to the number of a document among node i's to get its place in the piece,
 * modulo 2^32; by the first warp. The first block writes the piece's nodes. */
static __device__ void find_shifts(const struct gather &g, uint32_t *shift)
{
    const struct lanes_order &order = g.order;
    const uint32_t lane = threadIdx.x % WARP, end = g.first + g.n;
    uint32_t carried = 0;
    if (threadIdx.x < WARP) {
        const uint32_t from_run = lanes_run_of(order.d_start, order.n_runs, g.first);
        const uint32_t end_run = lanes_run_of(order.d_start, order.n_runs, end);
        for (uint32_t i = lane; i - lane < g.n_nodes; i += WARP) {
            uint32_t before = 0, n = 0;
            if (i < g.n_nodes) {
                before = lanes_node_before(order.d_start, order.d_before, from_run, g.first,
                                           g.n_nodes, i);
                n = lanes_node_before(order.d_start, order.d_before, end_run, end, g.n_nodes, i) -
                    before;
            }
            const uint32_t sum = lanes_add_before(n, &carried);
            if (i < g.n_nodes) {
                shift[i] = sum - before;
                if (blockIdx.x == 0)
                    g.piece.d_node[i] = {sum, n};
            }
        }
    }
    __syncthreads();
}

/* The rows of the warp's n documents; each lane's document, and its place in the piece. */
template <class UNIT>
static __device__ __forceinline__ void copy_rows(const struct gather &g, uint32_t n, uint32_t doc,
                                                 uint32_t place)
{
    const uint32_t lane = threadIdx.x % WARP, units = 1u << g.log_units;
    for (uint32_t from = 0; from < units; from += UNROLL) {
        UNIT word[UNROLL];
#pragma unroll
        for (uint32_t u = 0; u < UNROLL; u++) {
            const uint32_t i = (from + u) * WARP + lane;
            const uint32_t of = __shfl_sync(ALL_LANES, doc, i >> g.log_units);
            const UNIT *row = (const UNIT *)g.far + ((uint64_t)of << g.log_units);
            word[u] = i < n << g.log_units ? row[i & (units - 1)] : 0;
        }
#pragma unroll
        for (uint32_t u = 0; u < UNROLL; u++) {
            const uint32_t i = (from + u) * WARP + lane;
            const uint64_t to = __shfl_sync(ALL_LANES, place, i >> g.log_units);
            if (i < n << g.log_units)
                ((UNIT *)g.piece.d_row)[(to << g.log_units) + (i & (units - 1))] = word[u];
        }
    }
}

template <class UNIT>
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ struct gather g)
{
    __shared__ uint32_t shift[RW_HIST_MAX_NODES];
    const struct lanes_order &order = g.order;
    const uint32_t lane = threadIdx.x % WARP, warps = THREADS / WARP;
    find_shifts(g, shift);
    for (uint32_t at = (blockIdx.x * warps + threadIdx.x / WARP) * WARP; at < g.n;
         at += gridDim.x * warps * WARP) {
        uint32_t doc = 0, place = 0;
        if (at + lane < g.n) {
            const uint32_t mine = g.first + at + lane;
            const uint32_t run = lanes_run_of(order.d_start, order.n_runs, mine);
            const uint32_t node = run % g.n_nodes;
            const uint32_t of_node = order.d_before[run] + (mine - order.d_start[run]);
            place = of_node + shift[node];
            doc = order.d_doc ? order.d_doc[mine] : (uint32_t)g.d_node[node].first + of_node;
            if (g.d_lambda)
                g.piece.d_lambda[place] = g.d_lambda[doc];
            if (g.d_hess)
                g.piece.d_hess[place] = g.d_hess[doc];
        }
        copy_rows<UNIT>(g, g.n - at < WARP ? g.n - at : WARP, doc, place);
    }
}

/* ---- on the host ---- */

struct lanes_piece rw_lanes_piece(const struct rw_hist_call *call, uint32_t tile, uint32_t n_far,
                                  int which)
{
    const struct rw_hist_far *far = call->far;
    const uint64_t row_bytes = rw_hist_tile_doc_bytes(call->matrix, tile);
    const uint64_t doc_bytes = row_bytes + 2 * sizeof(int32_t);
    const uint64_t nodes = rw_hist_round_up(call->n_nodes * sizeof(struct rw_hist_node)),
                   rounding = 256;
    uint64_t docs = 0;
    if (far->piece_bytes > nodes + rounding)
        docs = (far->piece_bytes - nodes - rounding) / doc_bytes;
    docs = docs < 1u << 30 ? docs : 1u << 30;
    /* the last piece's histograms have no gather to run beside: the smaller, the better */
    const uint64_t share = n_far / RW_TUNE_FAR_LEAST_PIECES + 1;
    const uint64_t enough = share > RW_TUNE_FAR_LEAST_DOCS ? share : RW_TUNE_FAR_LEAST_DOCS;
    docs = docs < enough ? docs : enough;
    docs -= docs > THREADS ? docs % THREADS : 0;
    char *at = (char *)far->d_piece[which];
    struct lanes_piece piece = {(struct rw_hist_node *)at, at + nodes, NULL, NULL, (uint32_t)docs};
    piece.d_lambda = (int32_t *)(piece.d_row + rw_hist_round_up(docs * row_bytes));
    piece.d_hess = piece.d_lambda + docs;
    return piece;
}

cudaError_t rw_cuda_lanes_gather(const struct rw_hist_call *call, const struct lanes_order &order,
                                 uint32_t t, const struct lanes_piece &piece, uint32_t first,
                                 uint32_t n, cudaStream_t stream)
{
    const struct rw_hist_tile *tile = &call->matrix->tile[t];
    const uint64_t doc_bytes = rw_hist_tile_doc_bytes(call->matrix, t);
    struct gather g = {};
    g.piece = piece;
    g.order = order;
    g.d_node = call->d_node;
    g.d_lambda = call->sums == RW_HIST_COUNT ? NULL : call->d_lambda;
    g.d_hess = call->sums == RW_HIST_NEWTON ? call->d_hess : NULL;
    g.far = (const char *)tile->far_word - tile->n_here * doc_bytes;
    g.first = first;
    g.n = n;
    g.n_nodes = call->n_nodes;
    while (1u << g.log_units < tile->lanes)
        g.log_units++;
    const uint32_t most = (n + THREADS - 1) / THREADS;
    const uint32_t share = (uint32_t)call->n_multiprocessors / RW_TUNE_FAR_BLOCKS_SHARE + 1;
    const uint32_t enough = share < RW_TUNE_FAR_BLOCKS ? share : RW_TUNE_FAR_BLOCKS;
    const uint32_t blocks = most < enough ? most : enough;
    if (call->matrix->bits == 16)
        gather_kernel<uint16_t><<<blocks, THREADS, 0, stream>>>(g);
    else
        gather_kernel<uint32_t><<<blocks, THREADS, 0, stream>>>(g);
    return cudaGetLastError();
}
