/* Gathers codes that do not fit the device. The rows of a call's documents that are in host memory
 * are copied into a piece of device memory. hist_lanes.cu adds them from there as ranges of
 * documents, while the next piece is gathered. So a row crosses the link to the host once per call,
 * and only if a node of the call needs it. Two alternatives failed: histograms that read host
 * memory themselves (34 to 37 GB/s, and newton read the rows of 256 bins twice), and huge pages or
 * pages of 2 MB by cuMemCreate (no difference). A call of 10,000 to 500,000 documents still takes
 * 0.2 to 0.5 ms more than its bytes would.
 *
 * Shapes: struct lanes_order, struct lanes_piece.
 *
 * Decomposition: a warp takes 32 documents of the order. Each lane finds the position in the piece
 * of one document, and copies its lambda and hessian. Then all lanes copy the 32 rows, with UNROLL
 * elements of the tile in flight each. Few blocks fill the link, and more made calls of few
 * documents slower. The other multiprocessors are left to the histograms of the piece before. */
#include "gpu/hist/hist_lanes_far.cuh"

#include <string.h>

#include "gpu/device/tuning.h"

enum { WARP = 32, THREADS = 1024, UNROLL = 8 };
#define ALL_LANES 0xffffffffu

/* Returns the run that contains document `at` of the order; n_runs for the end. */
static __host__ __device__ uint32_t lanes_run_of(const uint32_t *start, uint32_t n_runs,
                                                 uint32_t at)
{
    return rw_numbers_under(start, n_runs + 1, (uint64_t)at + 1) - 1;
}

/* Returns the sum of n over the lower lanes plus *carried. Then adds the sum of n over all lanes to
 * *carried. */
static __device__ uint32_t lanes_add_before(uint32_t n, uint32_t *carried)
{
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t upto = n;
    for (int step = 1; step < WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(ALL_LANES, upto, step);
        upto += (int)lane >= step ? other : 0;
    }
    const uint32_t before = *carried + upto - n;
    *carried += __shfl_sync(ALL_LANES, upto, 31);
    return before;
}

/* Returns the number of a node's documents before document `at` of the order, which is in `run`. */
static __host__ __device__ uint32_t lanes_node_before(const uint32_t *start, const uint32_t *before,
                                                      uint32_t run, uint32_t at, uint32_t n_nodes,
                                                      uint32_t node)
{
    const uint32_t window = run / n_nodes, in_window = run % n_nodes;
    const uint32_t within = node == in_window ? at - start[run] : 0;
    return before[(window + (node < in_window)) * n_nodes + node] + within;
}

struct gather { /* of documents [first, first + n) of the order */
    struct lanes_piece piece;
    struct lanes_order order; /* only its device pointers are used */
    const struct rw_hist_node *d_node;
    const int32_t *d_lambda, *d_hess;
    const char *far; /* address at which the rows of all documents would start */
    uint32_t first, n, n_nodes;
    int log_units; /* log2 of the units per row, which are the tile's lanes; at most 5 */
};

/* Computes shift[i]: the position of a document in the piece is its number among those of node i
 * plus shift[i], modulo 2^32. The first warp of each block does it. The first block also writes the
 * piece's nodes. */
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

/* Copies the rows of a warp's n documents. doc, place: the lane's document and its position in the
 * piece. */
template <class UNIT>
RW_DEVICE void copy_rows(const struct gather &g, uint32_t n, uint32_t doc, uint32_t place)
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

/* Returns the layout of a piece, with the number of documents for which it has room. n_far:
 * documents of the call whose rows of this tile are in host memory. */
static struct lanes_piece piece_of(const struct rw_hist_call *call, uint32_t tile, uint32_t n_far,
                                   int which)
{
    const struct rw_hist_far *far = call->far;
    const uint64_t row_bytes = rw_hist_tile_doc_bytes(call->matrix, tile);
    const uint64_t nodes = rw_hist_round_up(call->n_nodes * sizeof(struct rw_hist_node));
    uint64_t docs = 0;
    if (far->piece_bytes > nodes + 256) /* for rounding */
        docs = (far->piece_bytes - nodes - 256) / (row_bytes + 2 * sizeof(int32_t));
    docs = docs < 1u << 30 ? docs : 1u << 30;
    /* No gather runs during the last piece's histograms, so a smaller piece is better. */
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

cudaError_t rw_lanes_gather(const struct rw_hist_call *call, const struct lanes_order &order,
                            uint32_t t, uint32_t first, int which, struct lanes_piece *piece,
                            struct rw_hist_node *node)
{
    const struct rw_hist_tile *tile = &call->matrix->tile[t];
    const uint32_t left = order.n_docs - first;
    *piece = piece_of(call, t, order.n_docs - order.n_here, which);
    piece->n = piece->n < left ? piece->n : left;
    if (piece->n == 0)
        return cudaErrorInvalidValue;
    const uint32_t end = first + piece->n;
    const uint32_t from_run = lanes_run_of(order.start, order.n_runs, first);
    const uint32_t end_run = lanes_run_of(order.start, order.n_runs, end);
    uint64_t docs = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        const uint32_t before =
            lanes_node_before(order.start, order.before, from_run, first, call->n_nodes, i);
        const uint32_t upto =
            lanes_node_before(order.start, order.before, end_run, end, call->n_nodes, i);
        node[i] = {docs, upto - before};
        docs += upto - before;
    }
    struct gather g = {*piece,
                       order,
                       call->d_node,
                       call->sums == RW_HIST_COUNT ? NULL : call->d_lambda,
                       call->sums == RW_HIST_NEWTON ? call->d_hess : NULL,
                       (const char *)tile->far_word -
                           tile->n_here * rw_hist_tile_doc_bytes(call->matrix, t),
                       first,
                       piece->n,
                       call->n_nodes,
                       0};
    while (1u << g.log_units < tile->lanes)
        g.log_units++;
    const uint32_t share = (uint32_t)call->n_multiprocessors / RW_TUNE_FAR_BLOCKS_SHARE + 1;
    const uint32_t enough = share < RW_TUNE_FAR_BLOCKS ? share : RW_TUNE_FAR_BLOCKS;
    auto *const kernel =
        call->matrix->bits == 16 ? gather_kernel<uint16_t> : gather_kernel<uint32_t>;
    return (cudaError_t)launch_grid(kernel, blocks_up_to(enough, piece->n, THREADS), THREADS,
                                    call->far->stream, g);
}

/* ---- the order ----
 *
 * Reads of host memory are fast if rows that are read at about the same time are near each other.
 * On an H200, random rows of 128 bytes came at 51 GB/s out of 128 MB, and at 8 to 35 GB/s out of
 * 2.9 GB. The documents of a node are scattered and unordered. So the documents of a call's nodes
 * are counted by window and node, then written window by window. That reads and writes 12 bytes of
 * device memory per document, whose row takes up to 128 bytes of the link. Documents whose rows are
 * on the device come first. The order within a run (struct lanes_order) changes no sum.
 *
 * Shapes: far->table has the array `here` of struct lanes_order, then `start` and `before`. Its
 * copy on the device also has the next position of each run.
 *
 * Decomposition: a warp takes a span of SPAN documents of the nodes. Most spans are in one run,
 * since lists are nearly ascending; such a span needs one atomic. The others need one atomic for
 * each run among 32 documents. */
enum { ORDER_THREADS = 256, TURNS = 16, SPAN = WARP * TURNS };
#define NO_RUN UINT32_MAX

struct ordering {
    const struct rw_hist_node *d_node;
    const uint32_t *d_list;
    uint32_t n_nodes, n_docs, n_here;
    int log_window;
    uint32_t *d_next; /* [n_runs] counts, or the position of the next document of a run */
    uint32_t *d_doc;  /* [n_docs]; NULL: only count */
};

/* Computes before[i], the number of documents in nodes before node i, in the first warp. */
static __device__ void count_before(const struct ordering &o, uint32_t *before)
{
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t carried = 0;
    for (uint32_t from = 0; threadIdx.x < WARP && from < o.n_nodes; from += WARP) {
        const uint32_t n = from + lane < o.n_nodes ? (uint32_t)o.d_node[from + lane].n : 0;
        const uint32_t sum = lanes_add_before(n, &carried);
        if (from + lane < o.n_nodes)
            before[from + lane + 1] = sum + n;
    }
    if (threadIdx.x == 0)
        before[0] = 0;
    __syncthreads();
}

/* Returns the run of the i-th document of all nodes, and the document's number in *doc. Returns
 * NO_RUN if i is too large. */
RW_DEVICE uint32_t run_of(const struct ordering &o, const uint32_t *before, uint32_t i,
                          uint32_t *doc)
{
    if (i >= o.n_docs)
        return NO_RUN;
    const uint32_t node = rw_numbers_under(before, o.n_nodes + 1, (uint64_t)i + 1) - 1;
    *doc = o.d_list[o.d_node[node].first + (i - before[node])];
    const uint32_t window = *doc < o.n_here ? 0 : 1 + ((*doc - o.n_here) >> o.log_window);
    return window * o.n_nodes + node;
}

/* Takes the next position in each lane's run, and returns it. Lanes with the same run share one
 * atomic. */
RW_DEVICE uint32_t take_places(const struct ordering &o, uint32_t run)
{
    const uint32_t lane = threadIdx.x % WARP, same = __match_any_sync(ALL_LANES, run);
    const int first = __ffs((int)same) - 1;
    uint32_t at = 0;
    if ((int)lane == first && run != NO_RUN)
        at = atomicAdd(&o.d_next[run], (uint32_t)__popc(same));
    return __shfl_sync(ALL_LANES, at, first) + (uint32_t)__popc(same & ((1u << lane) - 1));
}

/* Counts the documents of each run or, with d_doc, writes them in the order. */
static __global__ void __launch_bounds__(ORDER_THREADS)
    order_kernel(const __grid_constant__ struct ordering o)
{
    __shared__ uint32_t before[RW_HIST_MAX_NODES + 1];
    const uint32_t lane = threadIdx.x % WARP;
    const uint64_t warp = (blockIdx.x * (uint64_t)ORDER_THREADS + threadIdx.x) / WARP;
    const uint64_t warps = (uint64_t)gridDim.x * ORDER_THREADS / WARP;
    count_before(o, before);
    for (uint64_t from = warp * SPAN; from < o.n_docs; from += warps * SPAN) {
        uint32_t run[TURNS], doc[TURNS];
        bool one = true;
#pragma unroll
        for (uint32_t u = 0; u < TURNS; u++)
            run[u] = run_of(o, before, (uint32_t)from + u * WARP + lane, &doc[u]);
        const uint32_t first = __shfl_sync(ALL_LANES, run[0], 0);
#pragma unroll
        for (uint32_t u = 0; u < TURNS; u++)
            one &= run[u] == first;
        const bool whole = __all_sync(ALL_LANES, one);
        uint32_t at = 0;
        if (whole && lane == 0)
            at = atomicAdd(&o.d_next[first], (uint32_t)SPAN);
        at = __shfl_sync(ALL_LANES, at, 0);
#pragma unroll
        for (uint32_t u = 0; u < TURNS; u++) {
            const uint32_t to = whole ? at + u * WARP + lane : take_places(o, run[u]);
            if (o.d_doc && run[u] != NO_RUN)
                o.d_doc[to] = doc[u];
        }
    }
}

static cudaError_t launch_order(const struct ordering &o, int n_multiprocessors,
                                cudaStream_t stream)
{
    const uint64_t spans = ((uint64_t)o.n_docs + SPAN - 1) / SPAN;
    const uint64_t most = (uint64_t)n_multiprocessors * 8;
    return (cudaError_t)launch_grid(order_kernel, blocks_up_to(most, spans * WARP, ORDER_THREADS),
                                    ORDER_THREADS, stream, o);
}

/* Computes prefix sums. start: has the documents of each run, which it replaces. */
static void add_up(uint32_t n_runs, uint32_t n_nodes, uint32_t *start, uint32_t *before)
{
    uint32_t docs = 0;
    memset(before, 0, n_nodes * sizeof(*before));
    for (uint32_t r = 0; r < n_runs; r++) {
        const uint32_t n = start[r];
        start[r] = docs;
        docs += n;
        before[r + n_nodes] = before[r] + n;
    }
    start[n_runs] = docs;
}

/* Counts the documents of the runs if nodes are ranges of document numbers. There are two runs per
 * node: its documents whose rows are on the device, and the others, as if in one window. */
static void count_ranges(const struct rw_hist_call *call, uint32_t n_here, uint32_t *count)
{
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        const struct rw_hist_node *node = &call->node[i];
        const uint64_t left = node->first < n_here ? n_here - node->first : 0;
        count[i] = (uint32_t)(left < node->n ? left : node->n);
        count[call->n_nodes + i] = (uint32_t)node->n - count[i];
    }
}

cudaError_t rw_lanes_order(const struct rw_hist_call *call, uint32_t n_here, cudaStream_t stream,
                           struct lanes_order *out)
{
    const struct rw_hist_far *far = call->far;
    const uint32_t n = call->n_nodes, n_runs = (1 + (call->d_list ? far->n_windows : 1)) * n;
    const uint64_t node_words = n * sizeof(struct rw_hist_node) / sizeof(uint32_t);
    cudaStream_t gathering = (cudaStream_t)far->stream;
    cudaEvent_t begun = (cudaEvent_t)far->event[RW_FAR_BEGUN];
    cudaEvent_t ordered = (cudaEvent_t)far->event[RW_FAR_ORDERED];
    struct rw_hist_node *const here = (struct rw_hist_node *)far->table;
    uint32_t *const start = far->table + node_words, *const before = start + n_runs + 1;
    uint32_t *const d_start = far->d_table + node_words, *const d_before = d_start + n_runs + 1;
    const uint64_t words = node_words + 2 * (uint64_t)n_runs + 1 + n, run_bytes = n_runs * 4ull;
    struct ordering o = {call->d_node,    call->d_list,         n,   0, n_here,
                         far->log_window, far->d_table + words, NULL};
    const uint64_t n_docs = rw_hist_docs(call);
    *out = {};
    if (words + n_runs > far->table_words || n_docs > UINT32_MAX)
        return cudaErrorInvalidValue;
    if (n_docs == 0)
        return cudaSuccess;
    o.n_docs = (uint32_t)n_docs;
    TRY_CUDA(cudaEventRecord(begun, stream));
    TRY_CUDA(cudaStreamWaitEvent(gathering, begun, 0));
    if (call->d_list) {
        TRY_CUDA(cudaMemsetAsync(o.d_next, 0, run_bytes, gathering));
        TRY_CUDA(launch_order(o, call->n_multiprocessors, gathering));
        TRY_CUDA(cudaMemcpyAsync(start, o.d_next, run_bytes, cudaMemcpyDeviceToHost, gathering));
        TRY_CUDA(cudaEventRecord(ordered, gathering));
    }
    /* At least the order before this one is complete, so the table is no longer being read. With a
     * list, the counts of this one have arrived, too. */
    TRY_CUDA(cudaEventSynchronize(ordered));
    if (!call->d_list)
        count_ranges(call, n_here, start);
    add_up(n_runs, n, start, before);
    for (uint32_t i = 0; i < n; i++)
        here[i] = {call->d_list ? start[i] : call->node[i].first, start[i + 1] - start[i]};
    TRY_CUDA(cudaMemcpyAsync(far->d_table, far->table, words * sizeof(uint32_t),
                             cudaMemcpyHostToDevice, gathering));
    if (call->d_list) {
        TRY_CUDA(
            cudaMemcpyAsync(o.d_next, d_start, run_bytes, cudaMemcpyDeviceToDevice, gathering));
        o.d_doc = far->d_order;
        TRY_CUDA(launch_order(o, call->n_multiprocessors, gathering));
    }
    TRY_CUDA(cudaEventRecord(ordered, gathering));
    *out = {o.n_docs, start[n], n_runs,  start, before,
            d_start,  d_before, o.d_doc, here,  (const struct rw_hist_node *)far->d_table};
    return cudaStreamWaitEvent(stream, ordered, 0);
}
