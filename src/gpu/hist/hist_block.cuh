/* What the histogram methods of the documents share: a call's arguments for a kernel, the split of
 * the nodes into jobs, the walk over a job's documents in the column layout, and the kernels around
 * the histograms (hist_common.cu). */
#ifndef RW_GPU_HIST_BLOCK_CUH
#define RW_GPU_HIST_BLOCK_CUH

#include <cuda_runtime.h>
#include <stddef.h>
#include <stdint.h>

#include "gpu/hist/hist.h"

/* A job is a segment of one node's documents: job j of node i has the places
 * [first + (j - first_job[i]) * segment, ...) of `segment` documents, the node's last one fewer. */
struct rw_hist_jobs {
    uint64_t segment; /* documents; a multiple of 32 */
    uint32_t n_nodes;
    uint32_t first_job[RW_HIST_MAX_NODES + 1]; /* [n_nodes + 1]; the last is the number of jobs */
};

/* A call as a kernel sees it, passed by value: all pointers are the device's. */
struct rw_hist_args {
    const uint32_t *d_column; /* [n_features][column_words] */
    uint64_t column_words;
    uint32_t n_features, n_bins;
    const uint32_t *d_row; /* as the matrix has it */
    uint32_t n_cells;      /* of a histogram */
    int bits;
    int wide; /* lambdas, weights and floats may be read by 16 bytes */
    const uint32_t *d_list;
    const struct rw_hist_node *d_node; /* [n_nodes] */
    const int32_t *d_lambda, *d_weight;
    const float *d_float;
    const uint16_t *d_frequent; /* [n_features]; NULL: no zero-skip */
    uint32_t *d_count;          /* [n_nodes][n_cells], as the sums below */
    unsigned long long *d_lambda_sum, *d_weight_sum;
    float *d_float_sum;
    uint64_t chunk; /* documents of one block that its 32-bit sums can hold; a multiple of 32 */
    int whole;      /* 1: a job is a whole node; its block writes all cells, and takes them from the
                       parent's */
    const uint32_t *d_parent; /* [n_nodes]; NULL: no node has one; whole jobs only */
    struct rw_hist_pool parents;
    struct rw_hist_jobs jobs;
};

/* Sums of one node's documents, for the cell that zero-skip leaves out. */
struct rw_hist_total {
    unsigned long long lambda, weight;
    double value;
};

/* ---- Host ---- */

/* Fills `args` from the call, its jobs cut so that jobs x n_features is about n_blocks, no job
 * under `least` or over `most` documents (both multiples of 32). 0, or a cudaError_t if the grid
 * would be too large. */
int rw_hist_args_init(const struct rw_hist_call *call, uint32_t n_features, uint64_t n_blocks,
                      uint64_t least, uint64_t most, struct rw_hist_args *args);
static inline uint32_t rw_hist_n_jobs(const struct rw_hist_args *args)
{
    return args->jobs.first_job[args->jobs.n_nodes];
}
/* Documents in one bin that a 32-bit sum of their lambdas or weights holds; a multiple of 32. */
uint64_t rw_hist_most_documents(const struct rw_hist_call *call);
static inline size_t rw_hist_round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}
static inline size_t rw_hist_n_cells(const struct rw_hist_call *call)
{
    return (size_t)call->n_nodes * rw_hist_matrix_cells(call->matrix);
}

/* Zeros in the result. */
int rw_cuda_hist_clear(const struct rw_hist_call *call, cudaStream_t stream);

/* Bytes at the front of the scratch that rw_cuda_hist_derive takes: 0 without zero-skip. */
size_t rw_hist_derive_bytes(const struct rw_hist_call *call);
/* With zero-skip: the cells of the frequent codes, from the totals of the nodes. Last of a method's
 * launches. */
int rw_cuda_hist_derive(const struct rw_hist_call *call, cudaStream_t stream);

/* A method's launch for each of enum rw_hist_sums, in its order. */
typedef int (*rw_hist_launch_fn)(const struct rw_hist_args *args, cudaStream_t stream);
#define RW_HIST_ALL_SUMS(launch)                                                                   \
    {                                                                                              \
        launch<RW_HIST_COUNT>, launch<RW_HIST_MART>, launch<RW_HIST_NEWTON>, launch<RW_HIST_FLOAT> \
    }

/* The whole of a method whose blocks add to the result in place: clears it, launches one block a
 * (job, feature) if there is any, and derives what zero-skip left out. */
int rw_cuda_hist_in_place(const struct rw_hist_call *call, const rw_hist_launch_fn *launch,
                          cudaStream_t stream);
/* The same, siblings too, of a method that knows whole jobs: where all nodes are small that one
 * launch is all. */
int rw_cuda_hist_whole(const struct rw_hist_call *call, const rw_hist_launch_fn *launch,
                       cudaStream_t stream);

/* Histograms of jobs: [n_jobs][n_cells] of each sum; those a call has not are NULL. */
struct rw_hist_parts {
    uint32_t *d_count;
    long long *d_lambda_sum, *d_weight_sum;
    float *d_float_sum;
};
/* Bytes of all parts; parts: NULL, or where they lie from d_scratch on. */
size_t rw_hist_parts_bytes(const struct rw_hist_call *call, uint32_t n_jobs, void *d_scratch,
                           struct rw_hist_parts *parts);
/* The result from the parts of all jobs; writes every cell, so nothing need be cleared. */
int rw_cuda_hist_merge(const struct rw_hist_call *call, const struct rw_hist_args *args,
                       const struct rw_hist_parts *parts, cudaStream_t stream);

/* ---- Device ---- */

#ifdef __CUDACC__

/* One document's numbers; those that a kind of sum does not have stay 0. */
struct hist_item {
    int32_t lambda, weight;
    float value;
};

/* What a block works on: documents at places [lo, hi) of the list, or those documents. */
struct hist_work {
    uint32_t job, node, feature;
    uint32_t skip; /* the code left out; no code if none is */
    uint64_t lo, hi;
};

__device__ __forceinline__ uint32_t hist_node_of(const struct rw_hist_jobs &jobs, uint32_t job)
{
    uint32_t lo = 0, hi = jobs.n_nodes; /* first_job[lo] <= job < first_job[hi] */
    while (hi - lo > 1) {
        const uint32_t mid = lo + (hi - lo) / 2;
        if (jobs.first_job[mid] <= job)
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

/* Block b takes feature b % n_features of job b / n_features, so that blocks that run together read
 * the same lambdas. */
__device__ __forceinline__ struct hist_work hist_work_of(const struct rw_hist_args &a,
                                                         uint32_t block, uint32_t n_features)
{
    struct hist_work work;
    work.job = block / n_features;
    work.feature = block % n_features;
    work.node = hist_node_of(a.jobs, work.job);
    const struct rw_hist_node node = a.d_node[work.node];
    const uint64_t before = (uint64_t)(work.job - a.jobs.first_job[work.node]) * a.jobs.segment;
    const uint64_t begin = before < node.n ? before : node.n;
    const uint64_t left = node.n - begin;
    work.lo = node.first + begin;
    work.hi = work.lo + (left < a.jobs.segment ? left : a.jobs.segment);
    work.skip = a.d_frequent ? a.d_frequent[work.feature] : UINT32_MAX;
    return work;
}

/* A feature's first cell in a histogram, and how many it has. */
__device__ __forceinline__ uint32_t hist_first(const struct rw_hist_args &a, uint32_t feature)
{
    return a.d_row ? __ldg(a.d_row + feature) : feature * a.n_bins;
}
__device__ __forceinline__ uint32_t hist_length(const struct rw_hist_args &a, uint32_t feature)
{
    if (!a.d_row)
        return a.n_bins;
    const uint32_t length = __ldg(a.d_row + feature + 1) - __ldg(a.d_row + feature);
    return length < a.n_bins ? length : a.n_bins;
}

__device__ __forceinline__ size_t hist_row(const struct rw_hist_args &a,
                                           const struct hist_work &work)
{
    return (size_t)work.node * a.n_cells + hist_first(a, work.feature);
}

__host__ __device__ constexpr bool hist_has_lambda(int sums)
{
    return sums == RW_HIST_MART || sums == RW_HIST_NEWTON;
}

/* Numbers of 32 bits that the cell of one bin has in shared memory. */
__host__ __device__ constexpr uint32_t hist_words(int sums)
{
    return sums == RW_HIST_COUNT ? 1 : sums == RW_HIST_NEWTON ? 3 : 2;
}

template <int SUMS>
__device__ __forceinline__ struct hist_item hist_item_at(const struct rw_hist_args &a, uint64_t doc)
{
    struct hist_item item = {0, 0, 0.0f};
    if (hist_has_lambda(SUMS))
        item.lambda = __ldg(a.d_lambda + doc);
    if (SUMS == RW_HIST_NEWTON)
        item.weight = __ldg(a.d_weight + doc);
    if (SUMS == RW_HIST_FLOAT)
        item.value = __ldg(a.d_float + doc);
    return item;
}

/* K numbers of documents from `from` on, by the widest loads that K allows. */
template <int K>
__device__ __forceinline__ void hist_load(const int32_t *from, int wide, int32_t *to)
{
    if (wide && K == 2) {
        const int2 v = __ldg(reinterpret_cast<const int2 *>(from));
        to[0] = v.x;
        to[1] = v.y;
    } else if (wide) {
#pragma unroll
        for (int j = 0; j + 3 < K; j += 4) {
            const int4 v = __ldg(reinterpret_cast<const int4 *>(from + j));
            to[j] = v.x;
            to[j + 1] = v.y;
            to[j + 2] = v.z;
            to[j + 3] = v.w;
        }
    } else {
#pragma unroll
        for (int j = 0; j < K; j++)
            to[j] = __ldg(from + j);
    }
}

/* The documents of one whole word. */
template <int BITS, int SUMS, class Add>
__device__ __forceinline__ void hist_add_word(const struct rw_hist_args &a, uint32_t skip,
                                              uint32_t word, uint64_t doc, Add add)
{
    constexpr int K = RW_HIST_WORD_BITS / BITS;
    int32_t lambda[K], weight[K], value[K];
    if (hist_has_lambda(SUMS))
        hist_load<K>(a.d_lambda + doc, a.wide, lambda);
    if (SUMS == RW_HIST_NEWTON)
        hist_load<K>(a.d_weight + doc, a.wide, weight);
    if (SUMS == RW_HIST_FLOAT)
        hist_load<K>(reinterpret_cast<const int32_t *>(a.d_float) + doc, a.wide, value);
#pragma unroll
    for (int j = 0; j < K; j++) {
        const uint32_t code = (word >> (j * BITS)) & ((1u << BITS) - 1);
        struct hist_item item = {0, 0, 0.0f};
        if (hist_has_lambda(SUMS))
            item.lambda = lambda[j];
        if (SUMS == RW_HIST_NEWTON)
            item.weight = weight[j];
        if (SUMS == RW_HIST_FLOAT)
            item.value = __int_as_float(value[j]);
        if (code != skip)
            add(code, item);
    }
}

/* One document, wherever it lies in its word. */
template <int BITS>
__device__ __forceinline__ uint32_t hist_code_at(const uint32_t *column, uint64_t doc)
{
    constexpr int K = RW_HIST_WORD_BITS / BITS;
    return (__ldg(column + doc / K) >> ((uint32_t)(doc % K) * BITS)) & ((1u << BITS) - 1);
}

template <int BITS, int SUMS, class Add>
__device__ __forceinline__ void hist_visit_each(const struct rw_hist_args &a,
                                                const uint32_t *column, uint32_t skip, uint64_t lo,
                                                uint64_t hi, Add add)
{
    for (uint64_t doc = lo + threadIdx.x; doc < hi; doc += blockDim.x) {
        const uint32_t code = hist_code_at<BITS>(column, doc);
        if (code != skip)
            add(code, hist_item_at<SUMS>(a, doc));
    }
}

/* A range of documents: whole words, UNROLL of them in flight a thread, then what is left over at
 * both ends. A thread sees at most K * ceil((hi - lo) / (K * blockDim.x)) + 2 documents, K codes a
 * word, as long as a block has K threads. */
template <int BITS, int SUMS, int UNROLL, class Add>
__device__ __forceinline__ void hist_visit_range(const struct rw_hist_args &a,
                                                 const uint32_t *column, uint32_t skip, uint64_t lo,
                                                 uint64_t hi, Add add)
{
    constexpr int K = RW_HIST_WORD_BITS / BITS;
    const uint64_t word_lo = (lo + K - 1) / K, word_hi = hi / K;
    const uint64_t head_end = hi < word_lo * K ? hi : word_lo * K;
    const uint64_t tail = head_end > word_hi * K ? head_end : word_hi * K;
    const uint32_t step = blockDim.x;

    uint64_t w = word_lo + threadIdx.x;
    for (; w + (uint64_t)(UNROLL - 1) * step < word_hi; w += (uint64_t)UNROLL * step) {
        uint32_t word[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            word[u] = __ldcs(column + w + (uint64_t)u * step);
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            hist_add_word<BITS, SUMS>(a, skip, word[u], (w + (uint64_t)u * step) * K, add);
    }
    for (; w < word_hi; w += step)
        hist_add_word<BITS, SUMS>(a, skip, __ldcs(column + w), w * K, add);
    hist_visit_each<BITS, SUMS>(a, column, skip, lo, head_end, add);
    hist_visit_each<BITS, SUMS>(a, column, skip, tail, hi, add);
}

/* Documents of a list: each thread fetches HIST_GATHER of them before it adds any. A thread sees at
 * most ceil((hi - lo) / blockDim.x) documents. */
enum { HIST_GATHER = 4 };

template <int BITS, int SUMS, class Add>
__device__ __forceinline__ void hist_visit_list(const struct rw_hist_args &a,
                                                const uint32_t *column, uint32_t skip, uint64_t lo,
                                                uint64_t hi, Add add)
{
    const uint32_t step = blockDim.x;
    uint64_t p = lo + threadIdx.x;
    for (; p + (uint64_t)(HIST_GATHER - 1) * step < hi; p += (uint64_t)HIST_GATHER * step) {
        uint32_t doc[HIST_GATHER], code[HIST_GATHER];
        struct hist_item item[HIST_GATHER];
#pragma unroll
        for (int u = 0; u < HIST_GATHER; u++)
            doc[u] = __ldg(a.d_list + p + (uint64_t)u * step);
#pragma unroll
        for (int u = 0; u < HIST_GATHER; u++) {
            code[u] = hist_code_at<BITS>(column, doc[u]);
            item[u] = hist_item_at<SUMS>(a, doc[u]);
        }
#pragma unroll
        for (int u = 0; u < HIST_GATHER; u++)
            if (code[u] != skip)
                add(code[u], item[u]);
    }
    for (; p < hi; p += step) {
        const uint32_t doc = __ldg(a.d_list + p);
        const uint32_t code = hist_code_at<BITS>(column, doc);
        if (code != skip)
            add(code, hist_item_at<SUMS>(a, doc));
    }
}

/* add(code, item) for every document at places [lo, hi) whose code is not left out, by the threads
 * of a block. No barrier inside. */
template <int BITS, int SUMS, int UNROLL, class Add>
__device__ __forceinline__ void hist_visit(const struct rw_hist_args &a,
                                           const struct hist_work &work, uint64_t lo, uint64_t hi,
                                           Add add)
{
    const uint32_t *const column = a.d_column + work.feature * a.column_words;
    if (a.d_list)
        hist_visit_list<BITS, SUMS>(a, column, work.skip, lo, hi, add);
    else
        hist_visit_range<BITS, SUMS, UNROLL>(a, column, work.skip, lo, hi, add);
}

/* The same where the width of the codes is no template parameter of the kernel: one branch that all
 * threads take alike. */
template <int SUMS, int UNROLL, class Add>
__device__ __forceinline__ void hist_visit_any(const struct rw_hist_args &a,
                                               const struct hist_work &work, uint64_t lo,
                                               uint64_t hi, Add add)
{
    if (a.bits == 4)
        hist_visit<4, SUMS, UNROLL>(a, work, lo, hi, add);
    else if (a.bits == 8)
        hist_visit<8, SUMS, UNROLL>(a, work, lo, hi, add);
    else
        hist_visit<16, SUMS, UNROLL>(a, work, lo, hi, add);
}

/* Adds to a 64-bit cell of the result; two's complement makes the unsigned sum the signed one. */
__device__ __forceinline__ void hist_add_wide(unsigned long long *cell, long long v)
{
    atomicAdd(cell, (unsigned long long)v);
}

/* A histogram of a block in shared memory: `n_bins` counts, then as many of each other sum. The
 * 32-bit sums hold a.chunk documents. */
struct hist_shared {
    uint32_t *count;
    int32_t *lambda, *weight; /* floats of RW_HIST_FLOAT lie in `lambda`'s place */
    float *value;
};

__device__ __forceinline__ struct hist_shared hist_shared_at(uint32_t *memory, uint32_t n_bins)
{
    struct hist_shared hist;
    hist.count = memory;
    hist.lambda = reinterpret_cast<int32_t *>(memory + n_bins);
    hist.weight = reinterpret_cast<int32_t *>(memory + 2 * n_bins);
    hist.value = reinterpret_cast<float *>(memory + n_bins);
    return hist;
}

template <int SUMS>
__device__ __forceinline__ void hist_shared_clear(const struct hist_shared &hist, uint32_t n_bins)
{
    for (uint32_t b = threadIdx.x; b < n_bins; b += blockDim.x) {
        hist.count[b] = 0;
        if (hist_has_lambda(SUMS))
            hist.lambda[b] = 0;
        if (SUMS == RW_HIST_NEWTON)
            hist.weight[b] = 0;
        if (SUMS == RW_HIST_FLOAT)
            hist.value[b] = 0.0f;
    }
}

template <int SUMS>
__device__ __forceinline__ void hist_shared_add(const struct hist_shared &hist, uint32_t code,
                                                uint32_t count, const struct hist_item &item)
{
    atomicAdd(hist.count + code, count);
    if (hist_has_lambda(SUMS))
        atomicAdd(hist.lambda + code, item.lambda);
    if (SUMS == RW_HIST_NEWTON)
        atomicAdd(hist.weight + code, item.weight);
    if (SUMS == RW_HIST_FLOAT)
        atomicAdd(hist.value + code, item.value);
}

/* Adds the block's histogram to the result and clears it. Each thread has its own bins, the same as
 * in hist_shared_clear; barriers before and after are the caller's. */
template <int SUMS>
__device__ __forceinline__ void hist_shared_drain(const struct rw_hist_args &a,
                                                  const struct hist_work &work,
                                                  const struct hist_shared &hist)
{
    const size_t row = hist_row(a, work);
    for (uint32_t b = threadIdx.x; b < a.n_bins; b += blockDim.x) {
        const uint32_t count = hist.count[b];
        if (count == 0)
            continue;
        atomicAdd(a.d_count + row + b, count);
        hist.count[b] = 0;
        if (hist_has_lambda(SUMS)) {
            hist_add_wide(a.d_lambda_sum + row + b, hist.lambda[b]);
            hist.lambda[b] = 0;
        }
        if (SUMS == RW_HIST_NEWTON) {
            hist_add_wide(a.d_weight_sum + row + b, hist.weight[b]);
            hist.weight[b] = 0;
        }
        if (SUMS == RW_HIST_FLOAT) {
            atomicAdd(a.d_float_sum + row + b, hist.value[b]);
            hist.value[b] = 0.0f;
        }
    }
}

template <class CELL>
__device__ __forceinline__ void hist_write_cell(CELL *d_cell, size_t at, CELL *d_parent,
                                                size_t parent_at, CELL value)
{
    d_cell[at] = value;
    if (d_parent)
        d_parent[parent_at] -= value;
}

/* The block's histogram, of a whole node, becomes the result, and is taken from the parent's. */
template <int SUMS>
__device__ __forceinline__ void hist_shared_write(const struct rw_hist_args &a,
                                                  const struct hist_work &work,
                                                  const struct hist_shared &hist)
{
    const uint32_t parent = a.d_parent ? a.d_parent[work.node] : RW_HIST_NO_PARENT;
    const bool takes = parent != RW_HIST_NO_PARENT;
    const size_t row = hist_row(a, work);
    const size_t from = takes ? (size_t)parent * a.n_cells + hist_first(a, work.feature) : 0;
    const uint32_t n_bins = hist_length(a, work.feature);
    for (uint32_t b = threadIdx.x; b < n_bins; b += blockDim.x) {
        hist_write_cell(a.d_count, row + b, takes ? a.parents.d_count : NULL, from + b,
                        hist.count[b]);
        if (hist_has_lambda(SUMS))
            hist_write_cell((int64_t *)a.d_lambda_sum, row + b,
                            takes ? a.parents.d_lambda_sum : NULL, from + b,
                            (int64_t)hist.lambda[b]);
        if (SUMS == RW_HIST_NEWTON)
            hist_write_cell((int64_t *)a.d_weight_sum, row + b,
                            takes ? a.parents.d_weight_sum : NULL, from + b,
                            (int64_t)hist.weight[b]);
        if (SUMS == RW_HIST_FLOAT)
            a.d_float_sum[row + b] = hist.value[b];
    }
}

#endif /* __CUDACC__ */
#endif
