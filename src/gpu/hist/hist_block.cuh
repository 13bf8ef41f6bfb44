/* The common part of the methods that read columns, all except `lanes`, here and in the laboratory.
 * It has a call's arguments for a kernel, jobs, the loop over a job's documents, and a block's
 * histogram in shared memory. hist_common.cu launches kernels, with a block for each (job,
 * feature). */
#pragma once

#include "gpu/device/kernel.cuh"
#include "gpu/device/tuning.h"
#include "gpu/hist/hist.h"

/* The most numbers per document that a histogram sums. */
enum { RW_HIST_NUMBERS = 2 };

/* Job j of node i has `segment` documents of the node from position first + (j - first_job[i]) *
 * segment on. The last job of a node has the rest. */
struct rw_hist_jobs {
    uint64_t segment; /* documents; a multiple of 32 */
    uint32_t n_nodes;
    uint32_t first_job[RW_HIST_MAX_NODES + 1]; /* [n_nodes + 1]; the last is the number of jobs */
};

/* The arguments of a kernel. The numbers of a document are its lambda and its hessian, or the float
 * of RW_HIST_FLOAT, whose bits are stored in an int32_t. */
struct rw_hist_args {
    const uint32_t *d_column; /* [n_features][column_words] */
    uint64_t column_words;
    uint32_t n_features, n_bins;
    const uint32_t *d_row;                    /* as in struct rw_hist_matrix */
    uint32_t n_cells;                         /* cells of a histogram */
    int bits;                                 /* of a code */
    int wide;                                 /* 1: numbers are aligned for loads of 16 bytes */
    const uint32_t *d_list;                   /* documents; NULL: positions are document numbers */
    const struct rw_hist_node *d_node;        /* [n_nodes] */
    const int32_t *d_number[RW_HIST_NUMBERS]; /* [n_docs] each */
    const uint16_t *d_frequent;               /* [n_features]; NULL: no zero-skip */
    uint32_t *d_count;                        /* [n_nodes][n_cells], as are the sums */
    void *d_sum[RW_HIST_NUMBERS];
    int narrow;      /* 1: the sums of d_sum and d_parent_sum are int32_t */
    uint64_t chunk;  /* documents of one block that fit into its 32-bit sums; a multiple of 32 */
    uint32_t copies; /* `multi` only: copies of a block's histogram */
    /* 1: a job is a whole node, and its block writes all cells and subtracts them from the parent's
     */
    int whole;
    const uint32_t *d_parent; /* [n_nodes]; NULL: no node has a parent; only with whole */
    uint32_t *d_parent_count; /* the call's `parents`, as is d_parent_sum; only with whole */
    void *d_parent_sum[RW_HIST_NUMBERS];
    struct rw_hist_jobs jobs;
};

/* ---- Host ---- */

static inline uint32_t rw_hist_n_jobs(const struct rw_hist_args *args)
{
    return args->jobs.first_job[args->jobs.n_nodes];
}
static inline size_t rw_hist_n_cells(const struct rw_hist_call *call)
{
    return (size_t)call->n_nodes * rw_hist_matrix_cells(call->matrix);
}

/* Returns the bytes of scratch of rw_cuda_hist_in_place: those of zero-skip, else 0. */
size_t rw_hist_derive_bytes(const struct rw_hist_call *call);

/* A method's kernel, which has a block per (job, feature). */
typedef void (*rw_hist_kernel_fn)(const struct rw_hist_args a);
struct rw_hist_launch {
    rw_hist_kernel_fn kernel;
    unsigned threads;
    size_t bytes; /* shared memory per block */
};
/* Returns a method's launch for a call; may set args->copies. */
typedef struct rw_hist_launch (*rw_hist_launch_fn)(const struct rw_hist_call *call,
                                                   struct rw_hist_args *args);

/* A table of kernel instances: a row for each of 4, 8 and 16 bits, in this order, with one instance
 * per enum rw_hist_sums. hist_width returns the index of a call's row. */
#define RW_HIST_WITH_SUMS(kernel, first)                                                          \
    {                                                                                             \
        kernel<first, RW_HIST_COUNT>, kernel<first, RW_HIST_MART>, kernel<first, RW_HIST_NEWTON>, \
            kernel<first, RW_HIST_FLOAT>,                                                         \
    }
#define RW_HIST_ALL_WIDTHS(kernel)                                                                \
    {                                                                                             \
        RW_HIST_WITH_SUMS(kernel, 4), RW_HIST_WITH_SUMS(kernel, 8), RW_HIST_WITH_SUMS(kernel, 16) \
    }
static inline int hist_width(const struct rw_hist_call *call)
{
    return call->matrix->bits == 4 ? 0 : call->matrix->bits == 8 ? 1 : 2;
}

/* Runs a method: clears the result, launches the kernel with a block for each (job, feature),
 * derives the cells that zero-skip left out, and subtracts nodes from their parents. knows_whole:
 * the kernel can process whole nodes; if all are small enough, one launch replaces these steps. */
int rw_cuda_hist_in_place(const struct rw_hist_call *call, rw_hist_launch_fn launch,
                          int knows_whole, void *stream);
template <rw_hist_launch_fn LAUNCH, int KNOWS_WHOLE = 0>
int hist_in_place(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_in_place(call, LAUNCH, KNOWS_WHOLE, stream);
}

/* Returns how many numbers per document a call sums, in addition to the count. */
__host__ __device__ constexpr int hist_numbers(int sums)
{
    return sums == RW_HIST_COUNT ? 0 : sums == RW_HIST_NEWTON ? 2 : 1;
}
/* Returns the number of 32-bit words per bin in shared memory. */
__host__ __device__ constexpr uint32_t hist_words(int sums)
{
    return 1 + (uint32_t)hist_numbers(sums);
}

/* ---- Device ---- */

/* Return and set the sum of a histogram's cell. Sums have 64 bits, or 32 bits if `narrow`. */
RW_DEVICE long long hist_sum_at(const void *d_sum, uint64_t at, int narrow)
{
    return narrow ? ((const int32_t *)d_sum)[at] : ((const int64_t *)d_sum)[at];
}

RW_DEVICE void hist_set_sum(void *d_sum, uint64_t at, int narrow, long long sum)
{
    if (narrow)
        ((int32_t *)d_sum)[at] = (int32_t)sum;
    else
        ((int64_t *)d_sum)[at] = sum;
}

RW_DEVICE void hist_take_sum(void *d_sum, uint64_t at, int narrow, long long sum)
{
    hist_set_sum(d_sum, at, narrow, hist_sum_at(d_sum, at, narrow) - sum);
}

struct hist_item { /* one document */
    int32_t number[RW_HIST_NUMBERS];
};

/* The type of a sum over many documents. */
template <int SUMS> struct hist_wide {
    using type = unsigned long long; /* sums modulo 2^64 are correct for signed numbers, too */
};
template <> struct hist_wide<RW_HIST_FLOAT> {
    using type = double;
};

template <int SUMS> RW_DEVICE typename hist_wide<SUMS>::type hist_widen(int32_t number)
{
    if constexpr (SUMS == RW_HIST_FLOAT)
        return (double)__int_as_float(number);
    else
        return (unsigned long long)(long long)number;
}

template <int SUMS> RW_DEVICE int32_t hist_plus(int32_t a, int32_t b)
{
    return SUMS == RW_HIST_FLOAT ? __float_as_int(__int_as_float(a) + __int_as_float(b))
                                 : (int32_t)((uint32_t)a + (uint32_t)b);
}

template <int SUMS> RW_DEVICE void hist_add(int32_t *cell, int32_t number)
{
    if constexpr (SUMS == RW_HIST_FLOAT)
        atomicAdd(reinterpret_cast<float *>(cell), __int_as_float(number));
    else
        atomicAdd(cell, number);
}

template <int SUMS>
RW_DEVICE void hist_add_result(const struct rw_hist_args &a, int k, size_t cell, int32_t number)
{
    if constexpr (SUMS == RW_HIST_FLOAT)
        atomicAdd((float *)a.d_sum[k] + cell, __int_as_float(number));
    else if (a.narrow)
        atomicAdd((int32_t *)a.d_sum[k] + cell, number);
    else
        atomicAdd((unsigned long long *)a.d_sum[k] + cell, hist_widen<SUMS>(number));
}

template <int SUMS>
RW_DEVICE typename hist_wide<SUMS>::type hist_load_sum(const void *d_sum, size_t cell, int narrow)
{
    if constexpr (SUMS == RW_HIST_FLOAT)
        return (double)((const float *)d_sum)[cell];
    else
        return (unsigned long long)hist_sum_at(d_sum, cell, narrow);
}
template <int SUMS>
RW_DEVICE void hist_store_sum(void *d_sum, size_t cell, int narrow,
                              typename hist_wide<SUMS>::type sum)
{
    if constexpr (SUMS == RW_HIST_FLOAT)
        ((float *)d_sum)[cell] = (float)sum;
    else
        hist_set_sum(d_sum, cell, narrow, (long long)sum);
}

/* The work of a block: the documents at positions [lo, hi). */
struct hist_work {
    uint32_t node, feature;
    uint32_t skip; /* the code to leave out; UINT32_MAX: leave out none */
    uint64_t lo, hi;
};

/* Block b takes feature b % n_features of job b / n_features, so that blocks that run together read
 * the same lambdas. */
RW_DEVICE struct hist_work hist_work_of(const struct rw_hist_args &a, uint32_t block,
                                        uint32_t n_features)
{
    struct hist_work work;
    const uint32_t job = block / n_features;
    work.feature = block % n_features;
    work.node = rw_numbers_under(a.jobs.first_job, a.jobs.n_nodes, job + 1) - 1;
    const struct rw_hist_node node = a.d_node[work.node];
    const uint64_t before = (uint64_t)(job - a.jobs.first_job[work.node]) * a.jobs.segment;
    const uint64_t begin = before < node.n ? before : node.n;
    const uint64_t left = node.n - begin;
    work.lo = node.first + begin;
    work.hi = work.lo + (left < a.jobs.segment ? left : a.jobs.segment);
    work.skip = a.d_frequent ? a.d_frequent[work.feature] : UINT32_MAX;
    return work;
}

/* Return a feature's first cell in a histogram, and its number of cells. */
RW_DEVICE uint32_t hist_first(const struct rw_hist_args &a, uint32_t feature)
{
    return a.d_row ? __ldg(a.d_row + feature) : feature * a.n_bins;
}
RW_DEVICE uint32_t hist_length(const struct rw_hist_args &a, uint32_t feature)
{
    if (!a.d_row)
        return a.n_bins;
    const uint32_t length = __ldg(a.d_row + feature + 1) - __ldg(a.d_row + feature);
    return length < a.n_bins ? length : a.n_bins;
}

/* Returns the index in the result of the first cell of the work's node and feature. */
RW_DEVICE size_t hist_row(const struct rw_hist_args &a, const struct hist_work &work)
{
    return (size_t)work.node * a.n_cells + hist_first(a, work.feature);
}

template <int SUMS>
RW_DEVICE struct hist_item hist_item_at(const struct rw_hist_args &a, uint64_t doc)
{
    struct hist_item item = {};
#pragma unroll
    for (int k = 0; k < hist_numbers(SUMS); k++)
        item.number[k] = __ldg(a.d_number[k] + doc);
    return item;
}

/* Loads one number of each of K consecutive documents. */
template <int K> RW_DEVICE void hist_load(const int32_t *from, int wide, int32_t *to)
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

/* Calls add(code, item) for the documents of one word whose code is not `skip`. doc: the word's
 * first document. */
template <int BITS, int SUMS, class Add>
RW_DEVICE void hist_add_word(const struct rw_hist_args &a, uint32_t skip, uint32_t word,
                             uint64_t doc, Add add)
{
    constexpr int K = 32 / BITS; /* codes of a word */
    int32_t number[RW_HIST_NUMBERS][K];
#pragma unroll
    for (int k = 0; k < hist_numbers(SUMS); k++)
        hist_load<K>(a.d_number[k] + doc, a.wide, number[k]);
#pragma unroll
    for (int j = 0; j < K; j++) {
        const uint32_t code = (word >> (j * BITS)) & ((1u << BITS) - 1);
        struct hist_item item = {};
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++)
            item.number[k] = number[k][j];
        if (code != skip)
            add(code, item);
    }
}

template <int BITS> RW_DEVICE uint32_t hist_code_at(const uint32_t *column, uint64_t doc)
{
    constexpr int K = 32 / BITS;
    return (__ldg(column + doc / K) >> ((uint32_t)(doc % K) * BITS)) & ((1u << BITS) - 1);
}

/* Calls add(code, item) for documents [lo, hi), one at a time per thread. */
template <int BITS, int SUMS, class Add>
RW_DEVICE void hist_visit_each(const struct rw_hist_args &a, const uint32_t *column, uint32_t skip,
                               uint64_t lo, uint64_t hi, Add add)
{
    for (uint64_t doc = lo + threadIdx.x; doc < hi; doc += blockDim.x) {
        const uint32_t code = hist_code_at<BITS>(column, doc);
        if (code != skip)
            add(code, hist_item_at<SUMS>(a, doc));
    }
}

/* Calls add for documents [lo, hi): those of whole words, with UNROLL words in flight per thread,
 * then the rest at both ends. A thread sees at most K * ceil((hi - lo) / (K * blockDim.x)) + 2
 * documents, with K codes per word, if a block has at least K threads. */
template <int BITS, int SUMS, int UNROLL, class Add>
RW_DEVICE void hist_visit_range(const struct rw_hist_args &a, const uint32_t *column, uint32_t skip,
                                uint64_t lo, uint64_t hi, Add add)
{
    constexpr int K = 32 / BITS;
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

/* Documents of a list that each thread loads before it adds any of them. */
enum { HIST_GATHER = 4 };

template <int BITS, int SUMS, class Add>
RW_DEVICE void hist_visit_list(const struct rw_hist_args &a, const uint32_t *column, uint32_t skip,
                               uint64_t lo, uint64_t hi, Add add)
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

/* Calls add(code, item) for every document at positions [lo, hi) whose code is not work.skip. All
 * threads of the block call it. It has no barrier. */
template <int BITS, int SUMS, int UNROLL, class Add>
RW_DEVICE void hist_visit(const struct rw_hist_args &a, const struct hist_work &work, uint64_t lo,
                          uint64_t hi, Add add)
{
    const uint32_t *const column = a.d_column + work.feature * a.column_words;
    if (a.d_list)
        hist_visit_list<BITS, SUMS>(a, column, work.skip, lo, hi, add);
    else
        hist_visit_range<BITS, SUMS, UNROLL>(a, column, work.skip, lo, hi, add);
}

/* A block's histogram in shared memory: `n_bins` counts, then as many cells of each sum, which
 * cannot overflow within a.chunk documents. */
struct hist_shared {
    uint32_t *count;
    int32_t *sum[RW_HIST_NUMBERS];
};

RW_DEVICE struct hist_shared hist_shared_at(uint32_t *memory, uint32_t n_bins)
{
    return {memory, {(int32_t *)memory + n_bins, (int32_t *)memory + 2 * n_bins}};
}

template <int SUMS>
RW_DEVICE void hist_shared_clear(const struct hist_shared &hist, uint32_t n_bins)
{
    for (uint32_t b = threadIdx.x; b < n_bins; b += blockDim.x) {
        hist.count[b] = 0;
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++)
            hist.sum[k][b] = 0; /* also the float 0 */
    }
}

template <int SUMS>
RW_DEVICE void hist_shared_add(const struct hist_shared &hist, uint32_t code, uint32_t count,
                               const struct hist_item &item)
{
    atomicAdd(hist.count + code, count);
#pragma unroll
    for (int k = 0; k < hist_numbers(SUMS); k++)
        hist_add<SUMS>(hist.sum[k] + code, item.number[k]);
}

/* Adds the block's histogram to the result and clears it. The caller needs barriers before and
 * after. */
template <int SUMS>
RW_DEVICE void hist_shared_drain(const struct rw_hist_args &a, const struct hist_work &work,
                                 const struct hist_shared &hist)
{
    const size_t row = hist_row(a, work);
    for (uint32_t b = threadIdx.x; b < a.n_bins; b += blockDim.x) {
        const uint32_t count = hist.count[b];
        if (count == 0)
            continue;
        atomicAdd(a.d_count + row + b, count);
        hist.count[b] = 0;
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++) {
            hist_add_result<SUMS>(a, k, row + b, hist.sum[k][b]);
            hist.sum[k][b] = 0;
        }
    }
}

/* Writes the block's histogram of a whole node to the result. If the node has a parent, also
 * subtracts it from the parent's histogram. */
template <int SUMS>
RW_DEVICE void hist_shared_write(const struct rw_hist_args &a, const struct hist_work &work,
                                 const struct hist_shared &hist)
{
    const uint32_t parent = a.d_parent ? a.d_parent[work.node] : RW_HIST_NO_PARENT;
    const bool takes = parent != RW_HIST_NO_PARENT;
    const size_t row = hist_row(a, work);
    const size_t from = takes ? (size_t)parent * a.n_cells + hist_first(a, work.feature) : 0;
    const uint32_t n_bins = hist_length(a, work.feature);
    for (uint32_t b = threadIdx.x; b < n_bins; b += blockDim.x) {
        a.d_count[row + b] = hist.count[b];
        if (takes)
            a.d_parent_count[from + b] -= hist.count[b];
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++) {
            hist_store_sum<SUMS>(a.d_sum[k], row + b, a.narrow, hist_widen<SUMS>(hist.sum[k][b]));
            if (takes) /* floats never have parents */
                hist_take_sum(a.d_parent_sum[k], from + b, a.narrow, hist.sum[k][b]);
        }
    }
}
