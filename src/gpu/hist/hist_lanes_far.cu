/* Why: more codes than the device has memory for. The rows of a node's documents are gathered into
 * a piece of the device's memory, whence hist_lanes.cu adds them as a range of documents, while the
 * next piece is being gathered: so a row crosses the link once, whatever reads it after, and only
 * those that a node needs do. A gather of rows of 128 bytes by an ascending list ran at 51 GB/s on
 * an H200, with all rows as with 1.5 % of them; a plain copy at 54. Failed: histograms that read
 * the host's memory themselves (34 to 37 GB/s, and newton read the rows of 256 bins twice).
 *
 * Shapes: struct lanes_piece. Rows of the device's memory are gathered with the others, so that the
 * host knows where everything will be.
 *
 * Decomposition: a warp takes 32 places: a lane finds the document of one and copies what belongs
 * to it; then all lanes copy the rows, UNROLL words in flight each. Half of the multiprocessors are
 * asked for: the rest is left to the histograms of the piece before. */
#include "gpu/hist/hist_lanes_far.cuh"

#include "gpu/device/tuning.h"

enum { WARP = 32, THREADS = 1024, UNROLL = 8 };

/* What gather_kernel is given. */
struct gather {
    struct lanes_piece piece;
    const struct rw_hist_node *d_node;
    const uint32_t *d_list; /* NULL: places are documents */
    const int32_t *d_lambda, *d_hess;
    const char *here, *far; /* both as if they had all documents */
    unsigned long long *d_far_bytes;
    uint64_t first;
    uint32_t n, n_nodes, n_here;
    int by_position;
    int log_units; /* of a document, a power of two, 32 at most */
};

/* before[i]: places of the nodes before i; by the first warp. */
static __device__ void count_before(const struct gather &g, uint64_t *before)
{
    const uint32_t lane = threadIdx.x % WARP;
    uint64_t carried = 0;
    for (uint32_t from = 0; threadIdx.x < WARP && from < g.n_nodes; from += WARP) {
        uint64_t upto = from + lane < g.n_nodes ? g.d_node[from + lane].n : 0;
        for (int step = 1; step < WARP; step *= 2) {
            const uint64_t other = __shfl_up_sync(0xffffffffu, upto, step);
            upto += (int)lane >= step ? other : 0;
        }
        if (from + lane < g.n_nodes)
            before[from + lane + 1] = carried + upto;
        carried += __shfl_sync(0xffffffffu, upto, WARP - 1);
    }
    if (threadIdx.x == 0)
        before[0] = 0;
    __syncthreads();
}

/* The part of each node that is in the piece. */
static __device__ void put_nodes(const struct gather &g, const uint64_t *before)
{
    const uint64_t end = g.first + g.n;
    for (uint32_t i = threadIdx.x; i < g.n_nodes; i += THREADS) {
        const uint64_t from = before[i] > g.first ? before[i] : g.first;
        const uint64_t upto = before[i + 1] < end ? before[i + 1] : end;
        struct rw_hist_node node = {0, 0};
        if (from < upto)
            node = {from - g.first, upto - from};
        g.piece.d_node[i] = node;
    }
}

/* Where a place is in the list. */
static __device__ __forceinline__ uint64_t position_of(const struct gather &g,
                                                       const uint64_t *before, uint64_t place)
{
    uint32_t low = 0, high = g.n_nodes;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (before[middle] <= place)
            low = middle;
        else
            high = middle;
    }
    return g.d_node[low].first + (place - before[low]);
}

/* The rows of the warp's places from `at` on; doc: of this lane's place. */
template <class UNIT>
static __device__ __forceinline__ void copy_rows(const struct gather &g, uint32_t at, uint32_t doc)
{
    const uint32_t lane = threadIdx.x % WARP, units = 1u << g.log_units;
    const uint32_t n = (g.n - at < WARP ? g.n - at : WARP) << g.log_units;
    UNIT *to = (UNIT *)g.piece.d_row + ((uint64_t)at << g.log_units);
    for (uint32_t from = 0; from < units; from += UNROLL) {
        UNIT word[UNROLL];
#pragma unroll
        for (uint32_t u = 0; u < UNROLL; u++) {
            const uint32_t i = (from + u) * WARP + lane;
            const uint32_t of = __shfl_sync(0xffffffffu, doc, i >> g.log_units);
            const UNIT *row =
                (const UNIT *)(of < g.n_here ? g.here : g.far) + ((uint64_t)of << g.log_units);
            word[u] = i < n ? row[i & (units - 1)] : 0;
        }
#pragma unroll
        for (uint32_t u = 0; u < UNROLL; u++) {
            const uint32_t i = (from + u) * WARP + lane;
            if (i < n)
                to[i] = word[u];
        }
    }
}

template <class UNIT>
static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const __grid_constant__ struct gather g)
{
    __shared__ uint64_t before[RW_HIST_MAX_NODES + 1];
    const uint32_t lane = threadIdx.x % WARP, warps = THREADS / WARP;
    uint32_t n_far = 0;
    count_before(g, before);
    if (blockIdx.x == 0)
        put_nodes(g, before);
    for (uint32_t at = (blockIdx.x * warps + threadIdx.x / WARP) * WARP; at < g.n;
         at += gridDim.x * warps * WARP) {
        const uint32_t mine = at + lane;
        uint32_t doc = 0;
        if (mine < g.n) {
            const uint64_t position = position_of(g, before, g.first + mine);
            doc = g.d_list ? g.d_list[position] : (uint32_t)position;
            const uint64_t weights = g.by_position ? position : doc;
            if (g.d_lambda)
                g.piece.d_lambda[mine] = g.d_lambda[weights];
            if (g.d_hess)
                g.piece.d_hess[mine] = g.d_hess[weights];
            n_far += doc >= g.n_here;
        }
        copy_rows<UNIT>(g, at, doc);
    }
    n_far = __reduce_add_sync(0xffffffffu, n_far);
    if (g.d_far_bytes && lane == 0 && n_far)
        atomicAdd(g.d_far_bytes, (unsigned long long)n_far * sizeof(UNIT) << g.log_units);
}

/* ---- on the host ---- */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

struct lanes_piece rw_lanes_piece(const struct rw_hist_call *call, uint32_t tile, uint64_t n_places,
                                  int which)
{
    const struct rw_hist_far *far = call->far;
    const uint64_t row_bytes = rw_hist_tile_doc_bytes(call->matrix, tile);
    const uint64_t doc_bytes = row_bytes + 2 * sizeof(int32_t);
    const uint64_t nodes = aligned(call->n_nodes * sizeof(struct rw_hist_node)), rounding = 256;
    uint64_t docs = 0;
    if (far->piece_bytes > nodes + rounding)
        docs = (far->piece_bytes - nodes - rounding) / doc_bytes;
    docs = docs < 1u << 30 ? docs : 1u << 30;
    /* the last piece's histograms have no gather to run beside: the smaller, the better */
    const uint64_t share = n_places / RW_TUNE_FAR_LEAST_PIECES + 1;
    const uint64_t enough = share > RW_TUNE_FAR_LEAST_DOCS ? share : RW_TUNE_FAR_LEAST_DOCS;
    docs = docs < enough ? docs : enough;
    docs -= docs > THREADS ? docs % THREADS : 0;
    char *at = (char *)far->d_piece[which];
    struct lanes_piece piece = {(struct rw_hist_node *)at, at + nodes, NULL, NULL, (uint32_t)docs};
    piece.d_lambda = (int32_t *)(piece.d_row + aligned(docs * row_bytes));
    piece.d_hess = piece.d_lambda + docs;
    return piece;
}

/* As put_nodes. */
void rw_lanes_cut_nodes(const struct rw_hist_call *call, uint64_t first, uint64_t n,
                        struct rw_hist_node *node)
{
    uint64_t before = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        const uint64_t end = before + call->node[i].n;
        const uint64_t from = before > first ? before : first;
        const uint64_t upto = end < first + n ? end : first + n;
        node[i] = {0, 0};
        if (from < upto)
            node[i] = {from - first, upto - from};
        before = end;
    }
}

cudaError_t rw_cuda_lanes_gather(const struct rw_hist_call *call, uint32_t t,
                                 const struct lanes_piece &piece, uint64_t first, uint32_t n,
                                 cudaStream_t stream)
{
    const struct rw_hist_tile *tile = &call->matrix->tile[t];
    const uint64_t doc_bytes = rw_hist_tile_doc_bytes(call->matrix, t);
    struct gather g = {};
    g.piece = piece;
    g.d_node = call->d_node;
    g.d_list = call->d_list;
    g.d_lambda = call->sums == RW_HIST_COUNT ? NULL : call->d_lambda;
    g.d_hess = call->sums == RW_HIST_NEWTON ? call->d_hess : NULL;
    g.here = (const char *)tile->d_word;
    g.far = (const char *)tile->far_word - tile->n_here * doc_bytes;
    g.d_far_bytes = call->far->d_bytes;
    g.first = first;
    g.n = n;
    g.n_nodes = call->n_nodes;
    g.n_here = tile->n_here;
    g.by_position = call->by_position && call->d_list;
    while (1u << g.log_units < tile->lanes)
        g.log_units++;
    const uint32_t most = (n + THREADS - 1) / THREADS;
    const uint32_t share = call->n_multiprocessors > 1 ? (uint32_t)call->n_multiprocessors / 2 : 1;
    const uint32_t blocks = most < share ? most : share;
    if (call->matrix->bits == 16)
        gather_kernel<uint16_t><<<blocks, THREADS, 0, stream>>>(g);
    else
        gather_kernel<uint32_t><<<blocks, THREADS, 0, stream>>>(g);
    return cudaGetLastError();
}
