/* Why: rows of the host's memory are read fast if those that are read at about the same time are
 * near each other: on an H200 random rows of 128 bytes came at 51 GB/s out of 128 MB, at 8 to 35
 * out of 2.9 GB. The documents of a node are everywhere, and after a partition they stand in no
 * order. So the documents of a call's nodes are counted by window and node, then written window by
 * window: 12 bytes of the device's memory a document, where its row takes up to 128 of the link.
 * Those that are on the device come first, by node: they are read as any list is. The order within
 * a run changes no sum.
 *
 * Shapes: struct lanes_order. The table of far->table: nodes, `start`, `before`, and on the device
 * where the next document of each run goes.
 *
 * Decomposition: a warp takes SPAN documents. Most spans lie in one run, since lists are nearly
 * ascending: one atomic then; else one for each run among 32 documents. */
#include "gpu/hist/hist_lanes_far.cuh"

#include <string.h>

enum { WARP = 32, THREADS = 256, TURNS = 16, SPAN = WARP * TURNS };
#define ALL_LANES 0xffffffffu
#define NO_RUN    UINT32_MAX

struct ordering {
    const struct rw_hist_node *d_node;
    const uint32_t *d_list;
    uint32_t n_nodes, n_docs, n_here;
    int log_window;
    uint32_t *d_next; /* [n_runs] counts, or where the next document of a run goes */
    uint32_t *d_doc;  /* [n_docs] NULL: only counts */
};

/* Documents of the nodes before each; by the first warp. */
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

/* The run of the i-th of all nodes' documents, and which one it is. */
static __device__ __forceinline__ uint32_t run_of(const struct ordering &o, const uint32_t *before,
                                                  uint32_t i, uint32_t *doc)
{
    if (i >= o.n_docs)
        return NO_RUN;
    const uint32_t node = rw_numbers_under(before, o.n_nodes + 1, (uint64_t)i + 1) - 1;
    *doc = o.d_list[o.d_node[node].first + (i - before[node])];
    const uint32_t window = *doc < o.n_here ? 0 : 1 + ((*doc - o.n_here) >> o.log_window);
    return window * o.n_nodes + node;
}

/* Each lane's place in the run that it names: lanes of one run take it together. */
static __device__ __forceinline__ uint32_t take(const struct ordering &o, uint32_t run)
{
    const uint32_t lane = threadIdx.x % WARP, same = __match_any_sync(ALL_LANES, run);
    const int first = __ffs((int)same) - 1;
    uint32_t at = 0;
    if ((int)lane == first && run != NO_RUN)
        at = atomicAdd(&o.d_next[run], (uint32_t)__popc(same));
    return __shfl_sync(ALL_LANES, at, first) + (uint32_t)__popc(same & ((1u << lane) - 1));
}

/* Counts the documents of each run, or writes them there. */
static __global__ void __launch_bounds__(THREADS)
    order_kernel(const __grid_constant__ struct ordering o)
{
    __shared__ uint32_t before[RW_HIST_MAX_NODES + 1];
    const uint32_t lane = threadIdx.x % WARP;
    const uint64_t warp = (blockIdx.x * (uint64_t)THREADS + threadIdx.x) / WARP;
    const uint64_t warps = (uint64_t)gridDim.x * THREADS / WARP;
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
            const uint32_t to = whole ? at + u * WARP + lane : take(o, run[u]);
            if (o.d_doc && run[u] != NO_RUN)
                o.d_doc[to] = doc[u];
        }
    }
}

/* ---- on the host ---- */

static cudaError_t launch(const struct ordering &o, int n_multiprocessors, cudaStream_t stream)
{
    const uint64_t spans = ((uint64_t)o.n_docs + SPAN - 1) / SPAN;
    const uint64_t blocks = (spans * WARP + THREADS - 1) / THREADS;
    const uint64_t most = (uint64_t)n_multiprocessors * 8;
    order_kernel<<<(unsigned)(blocks < most ? blocks : most), THREADS, 0, stream>>>(o);
    return cudaGetLastError();
}

/* count: of each run; may be where `start` goes. */
static void add_up(const uint32_t *count, uint32_t n_runs, uint32_t n_nodes, uint32_t *start,
                   uint32_t *before)
{
    uint32_t docs = 0;
    memset(before, 0, n_nodes * sizeof(*before));
    for (uint32_t r = 0; r < n_runs; r++) {
        const uint32_t n = count[r];
        start[r] = docs;
        docs += n;
        before[r + n_nodes] = before[r] + n;
    }
    start[n_runs] = docs;
}

/* Counts of nodes that are ranges: here, and in one window. */
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
    struct rw_hist_node *const here = (struct rw_hist_node *)far->table;
    uint32_t *const start = far->table + node_words, *const before = start + n_runs + 1;
    uint32_t *const d_start = far->d_table + node_words, *const d_before = d_start + n_runs + 1;
    const uint64_t words = node_words + 2 * (uint64_t)n_runs + 1 + n, run_bytes = n_runs * 4ull;
    struct ordering o = {call->d_node,    call->d_list,         n,   0, n_here,
                         far->log_window, far->d_table + words, NULL};
    uint64_t n_docs = 0;
    for (uint32_t i = 0; i < n; i++)
        n_docs += call->node[i].n;
    *out = {};
    if (words + n_runs > far->table_words || n_docs > UINT32_MAX)
        return cudaErrorInvalidValue;
    if (n_docs == 0)
        return cudaSuccess;
    o.n_docs = (uint32_t)n_docs;
    TRY_CUDA(cudaEventRecord((cudaEvent_t)far->begun, stream));
    TRY_CUDA(cudaStreamWaitEvent(gathering, (cudaEvent_t)far->begun, 0));
    if (call->d_list) {
        TRY_CUDA(cudaMemsetAsync(o.d_next, 0, run_bytes, gathering));
        TRY_CUDA(launch(o, call->n_multiprocessors, gathering));
        TRY_CUDA(cudaMemcpyAsync(start, o.d_next, run_bytes, cudaMemcpyDeviceToHost, gathering));
        TRY_CUDA(cudaEventRecord((cudaEvent_t)far->ordered, gathering));
    }
    /* of the order before, at least: the table is not being read any more */
    TRY_CUDA(cudaEventSynchronize((cudaEvent_t)far->ordered));
    if (!call->d_list)
        count_ranges(call, n_here, start);
    add_up(start, n_runs, n, start, before);
    for (uint32_t i = 0; i < n; i++)
        here[i] = {call->d_list ? start[i] : call->node[i].first, start[i + 1] - start[i]};
    TRY_CUDA(cudaMemcpyAsync(far->d_table, far->table, words * sizeof(uint32_t),
                             cudaMemcpyHostToDevice, gathering));
    if (call->d_list) {
        TRY_CUDA(
            cudaMemcpyAsync(o.d_next, d_start, run_bytes, cudaMemcpyDeviceToDevice, gathering));
        o.d_doc = far->d_order;
        TRY_CUDA(launch(o, call->n_multiprocessors, gathering));
    }
    TRY_CUDA(cudaEventRecord((cudaEvent_t)far->ordered, gathering));
    *out = {o.n_docs, start[n], n_runs,  start, before,
            d_start,  d_before, o.d_doc, here,  (const struct rw_hist_node *)far->d_table};
    return cudaStreamWaitEvent(stream, (cudaEvent_t)far->ordered, 0);
}

void rw_lanes_cut_nodes(const struct lanes_order &order, uint32_t n_nodes, uint32_t first,
                        uint32_t n, struct rw_hist_node *node)
{
    const uint32_t end = first + n;
    const uint32_t from_run = lanes_run_of(order.start, order.n_runs, first);
    const uint32_t end_run = lanes_run_of(order.start, order.n_runs, end);
    uint64_t docs = 0;
    for (uint32_t i = 0; i < n_nodes; i++) {
        const uint32_t before =
            lanes_node_before(order.start, order.before, from_run, first, n_nodes, i);
        const uint32_t upto =
            lanes_node_before(order.start, order.before, end_run, end, n_nodes, i);
        node[i] = {docs, upto - before};
        docs += upto - before;
    }
}
