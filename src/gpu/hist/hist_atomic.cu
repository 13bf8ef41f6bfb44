/* The papers' methods whose blocks add to a histogram by atomics: `global-atomic`, `collision`,
 * `privatized`, `multi` and `collision-reduced`. Each section below explains one method and names
 * its paper. Sections of "weighted histogramming" are those of the paper in hist.h.
 *
 * Shapes: columns [n_features][column_words]; result [n_nodes][n_cells], as in hist.h.
 *
 * Decomposition: a block per (job, feature), as in hist_block.cuh. Its threads divide the words of
 * codes, or the positions of the list. */
#include "gpu/device/kernel.cuh"
#include "gpu/device/tuning.h"
#include "gpu/hist/hist_block.cuh"
#include "gpu/hist/hist_reduced.cuh"

/* Returns the description of one of these methods. */
static constexpr struct rw_hist_method
atomic_method(const char *name, uint32_t most_bins, int (*run)(const struct rw_hist_call *, void *),
              int subtracts = 0, int is_baseline = 0)
{
    return {.name = name,
            .most_bins = most_bins,
            .sums = RW_HIST_ANY_SUMS,
            .zero_skip = 1,
            .scratch_bytes = rw_hist_derive_bytes,
            .run = run,
            .subtracts = subtracts,
            .is_baseline = is_baseline};
}

/* ---- global-atomic ----
 *
 * Every document adds to the result in global memory: the straightforward mapping that the papers
 * start from (weighted histogramming, section 4.1; the naive code of privatized histograms). It is
 * the baseline of the suite `contention` of rankwood-lab (lab/README.md). Training uses it only if
 * the user names it. Documents of one code queue at one address of the L2 cache. */

template <int BITS, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_GLOBAL_ATOMIC_THREADS)
    hist_global_kernel(const __grid_constant__ struct rw_hist_args a)
{
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const size_t row = hist_row(a, work);
    hist_visit<BITS, SUMS, 1>(a, work, work.lo, work.hi, [&](uint32_t code, struct hist_item item) {
        atomicAdd(a.d_count + row + code, 1u);
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++)
            hist_add_result<SUMS>(a, k, row + code, item.number[k]);
    });
}

static struct rw_hist_launch global_launch(const struct rw_hist_call *call,
                                           struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_global_kernel);
    (void)args;
    return {kernel[hist_width(call)][call->sums], RW_TUNE_GLOBAL_ATOMIC_THREADS, 0};
}

const struct rw_hist_method rw_hist_global_atomic =
    atomic_method("global-atomic", 1024, hist_in_place<global_launch>, 0, 1);

/* ---- a histogram per block ---- */

/* Adds the job's documents to hist, at bin_of(code). Adds hist to the result after every a.chunk
 * documents, which is as many as its words can hold. All threads of the block take part. bin_of
 * sees all that the block wrote to shared memory before the call. */
template <int BITS, int SUMS, class BinOf>
__device__ __forceinline__ void hist_shared_job(const struct rw_hist_args &a,
                                                const struct hist_work &work,
                                                const struct hist_shared &hist, BinOf bin_of)
{
    hist_shared_clear<SUMS>(hist, a.n_bins);
    __syncthreads();
    /* the bounds are the same for the whole block */
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) {
        const uint64_t hi = work.hi - lo < a.chunk ? work.hi : lo + a.chunk;
        hist_visit<BITS, SUMS, RW_TUNE_COLLISION_UNROLL>(
            a, work, lo, hi, [&](uint32_t code, const struct hist_item &item) {
                hist_shared_add<SUMS>(hist, bin_of(code), 1u, item);
            });
        __syncthreads();
        if (a.whole) { /* the node is one chunk */
            hist_shared_write<SUMS>(a, work, hist);
            return;
        }
        hist_shared_drain<SUMS>(a, work, hist);
        __syncthreads();
    }
}

/* Returns the launch of a kernel that keeps a histogram in shared memory, with bin_words words per
 * bin. With at most RW_HIST_MOST_BINS bins this is below 48 KiB. A whole node has only one block
 * per feature, so that block has more threads. */
static struct rw_hist_launch hist_shared_launch(const struct rw_hist_args *args,
                                                rw_hist_kernel_fn kernel, uint32_t bin_words)
{
    const unsigned threads = args->whole ? RW_TUNE_HIST_WHOLE_THREADS : RW_TUNE_COLLISION_THREADS;
    return {kernel, threads, args->n_bins * sizeof(uint32_t) * bin_words};
}

/* ---- collision ----
 *
 * Each block has one histogram in shared memory, [hist_words][n_bins] of 32 bits (a count, then the
 * sums), filled by shared atomics (weighted histogramming, section 4.3). With many bins, a
 * histogram per thread does not fit. This method is fast on evenly distributed data; documents of a
 * warp with the same code queue. The paper's own floats (RW_HIST_FLOAT) are much slower then, since
 * the hardware has no float atomic on shared memory; integers suffer less. */

template <int BITS, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_HIST_WHOLE_THREADS)
    hist_collision_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    /* small trees use this method, and the time between launches matters to them */
    let_next_launch_begin();
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const struct hist_shared hist = hist_shared_at(memory, a.n_bins);
    hist_shared_job<BITS, SUMS>(a, work, hist, [](uint32_t code) { return code; });
}

static struct rw_hist_launch collision_launch(const struct rw_hist_call *call,
                                              struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_collision_kernel);
    return hist_shared_launch(args, kernel[hist_width(call)][call->sums], hist_words(call->sums));
}

const struct rw_hist_method rw_hist_collision =
    atomic_method("collision", 1024, hist_in_place<collision_launch, 1>, 1);

/* ---- privatized ----
 *
 * Like `collision`, but finds the bin by binary search over the edges 0 .. n_bins - 1 stored after
 * the histogram, as if a code were any value. See Milic et al., "Parallelizing general histogram
 * application for CUDA architectures", section III-B and Listing 2, for edges of any width.
 * Privatisation is from "Parallel computation patterns (histogram)". */

template <int BITS, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_HIST_WHOLE_THREADS)
    hist_privatized_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t words[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const struct hist_shared hist = hist_shared_at(words, a.n_bins);
    uint32_t *const edge = words + hist_words(SUMS) * a.n_bins;
    const uint32_t top = rw_edge_top(a.n_bins);
    for (uint32_t b = threadIdx.x; b < a.n_bins; b += blockDim.x)
        edge[b] = b;
    hist_shared_job<BITS, SUMS>(
        a, work, hist, [&](uint32_t code) { return rw_edge_search(edge, a.n_bins, top, code); });
}

static struct rw_hist_launch privatized_launch(const struct rw_hist_call *call,
                                               struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_privatized_kernel);
    return hist_shared_launch(args, kernel[hist_width(call)][call->sums],
                              hist_words(call->sums) + 1);
}

const struct rw_hist_method rw_hist_privatized =
    atomic_method("privatized", RW_HIST_MOST_BINS, hist_in_place<privatized_launch, 1>, 1);

/* ---- multi ----
 *
 * Each block has M histograms in shared memory, [hist_words][n_bins][M] of 32 bits (a count, then
 * the sums). The copies of a bin are adjacent, each in a different bank, and thread t adds to copy
 * t % M.
 *
 * Henriksen et al., "Compiling generalized histograms for GPU": documents of a warp with the same
 * code queue at one cell, unless the cell has copies. M is as large as fits and as the block's
 * documents pay for (equations 1 and 2): M x bins is at most the documents of the block. A
 * document's (count, lambda) or (count, lambda, hessian) is a vector, added number by number
 * (section IV-D). With at most 1024 bins one pass is always enough (equation 3). Batched histograms
 * (section IV-C): the jobs of a node are its K blocks. A block adds its copies to the result after
 * every `chunk` documents and at the end. `chunk` is as many documents as a 32-bit sum holds if all
 * have the same code and the largest lambda. */

enum {
    HIST_MULTI_THREADS = RW_TUNE_MULTI_HIST_THREADS,
    HIST_MULTI_LANES = 32,
    HIST_MULTI_AT_ONCE = 2 /* blocks that share a multiprocessor's memory */
};

/* Adds up the numbers of the m neighbouring lanes that have the copies of one bin; m is a power of
 * 2. */
template <int SUMS> __device__ __forceinline__ int32_t hist_multi_sum(int32_t number, uint32_t m)
{
    for (uint32_t step = m / 2; step > 0; step /= 2)
        number = hist_plus<SUMS>(number, __shfl_xor_sync(0xffffffffu, number, step));
    return number;
}

/* Adds the copies of each bin to the result, one cell per lane. Whole warps take part; lanes after
 * the last cell add zeros. The caller has barriers before and after. */
template <int SUMS>
__device__ __forceinline__ void hist_multi_fold(const struct rw_hist_args &a,
                                                const struct hist_work &work,
                                                const struct hist_shared &hist, uint32_t m)
{
    const size_t row = hist_row(a, work);
    const uint32_t n = a.n_bins * m, lane = threadIdx.x % HIST_MULTI_LANES;
    for (uint32_t first = threadIdx.x - lane; first < n; first += HIST_MULTI_THREADS) {
        const uint32_t i = first + lane;
        const bool there = i < n;
        const size_t cell = row + i / m;
        const uint32_t count =
            (uint32_t)hist_multi_sum<RW_HIST_COUNT>(there ? (int32_t)hist.count[i] : 0, m);
        const bool leads = there && i % m == 0 && count > 0;
        if (leads)
            atomicAdd(a.d_count + cell, count);
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++) {
            const int32_t sum = hist_multi_sum<SUMS>(there ? hist.sum[k][i] : 0, m);
            if (leads)
                hist_add_result<SUMS>(a, k, cell, sum);
        }
    }
}

template <int BITS, int SUMS>
__global__ void __launch_bounds__(HIST_MULTI_THREADS)
    hist_multi_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    const uint32_t m = a.copies;
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const struct hist_shared hist = hist_shared_at(memory, a.n_bins * m);
    const uint32_t copy = threadIdx.x & (m - 1);
    /* the bounds are the same for the whole block */
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) {
        const uint64_t hi = work.hi - lo < a.chunk ? work.hi : lo + a.chunk;
        hist_shared_clear<SUMS>(hist, a.n_bins * m);
        __syncthreads();
        hist_visit<BITS, SUMS, RW_TUNE_MULTI_HIST_UNROLL>(
            a, work, lo, hi, [&](uint32_t code, const struct hist_item &item) {
                hist_shared_add<SUMS>(hist, code * m + copy, 1u, item);
            });
        __syncthreads();
        hist_multi_fold<SUMS>(a, work, hist, m);
        __syncthreads();
    }
}

/* Returns M, the copies of a block's histogram, by equations 1 and 2, for the documents of a block
 * and half of a multiprocessor's shared memory. It is the largest power of 2 with M x bins at most
 * these documents and cells, so that the lanes of a warp keep to their banks. It is at most 32,
 * because the hardware's own atomics gain nothing from more. */
static uint32_t copies(const struct rw_hist_call *call, const struct rw_hist_args *args,
                       uint32_t cell_bytes)
{
    const uint64_t reserved = 1024; /* reserved by the driver in each block */
    const uint64_t bytes = (call->shared_bytes + reserved) / HIST_MULTI_AT_ONCE - reserved;
    uint64_t cells = rw_hist_docs(call) / rw_hist_n_jobs(args); /* at most the block's documents */
    cells = bytes / cell_bytes < cells ? bytes / cell_bytes : cells;
    uint32_t m = 1;
    while (m < HIST_MULTI_LANES && (uint64_t)m * 2 * args->n_bins <= cells)
        m *= 2;
    return m;
}

static struct rw_hist_launch multi_launch(const struct rw_hist_call *call,
                                          struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_multi_kernel);
    const uint32_t cell_bytes = hist_words(call->sums) * (uint32_t)sizeof(uint32_t);
    args->copies = copies(call, args, cell_bytes);
    return {kernel[hist_width(call)][call->sums], HIST_MULTI_THREADS,
            (size_t)args->n_bins * args->copies * cell_bytes};
}

const struct rw_hist_method rw_hist_multi =
    atomic_method("multi", 1024, hist_in_place<multi_launch>);

/* ---- collision-reduced: hist_reduced.cuh has its kernel ---- */

static struct rw_hist_launch reduced_launch(const struct rw_hist_call *call,
                                            struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn of_5[] = RW_HIST_WITH_SUMS(hist_reduced_kernel, 5);
    static const rw_hist_kernel_fn of_8[] = RW_HIST_WITH_SUMS(hist_reduced_kernel, 8);
    static const rw_hist_kernel_fn of_10[] = RW_HIST_WITH_SUMS(hist_reduced_kernel, 10);
    static const rw_hist_kernel_fn of_16[] = RW_HIST_WITH_SUMS(hist_reduced_kernel, 16);
    const int n_buffer = hist_reduced_buffer(args->n_bins);
    const rw_hist_kernel_fn *const kernel = n_buffer == 5    ? of_5
                                            : n_buffer == 8  ? of_8
                                            : n_buffer == 16 ? of_16
                                                             : of_10;
    return hist_reduced_launch(call, kernel[call->sums], hist_reduced_warps(args->n_bins),
                               n_buffer);
}

const struct rw_hist_method rw_hist_collision_reduced =
    atomic_method("collision-reduced", 1024, hist_in_place<reduced_launch>);
