/* `multi`: M histograms a block in shared memory, neighbouring threads on different ones.
 *
 * Why: Henriksen et al., "Compiling generalized histograms for GPU": documents of one code in a
 * warp queue at one cell unless the cell has copies, and M is as many as fit and as the documents
 * of a block pay for (equations 1 and 2; M x bins is no more than the documents of the block). A
 * document's (count, lambda) or (count, lambda, hessian) is a vector, added number by number
 * (section IV-D). With at most 1024 bins one pass always does (equation 3).
 *
 * Shapes: columns [n_features][column_words]; shared [sums][n_bins][M] of 32 bits: the copies of a
 * bin lie side by side, each in its own bank; result [n_nodes][n_features][n_bins].
 *
 * Decomposition: batched histograms (section IV-C): a block a (job, feature), the jobs of a node
 * being its K blocks; threads over words of codes, or over positions of the list; thread t adds to
 * copy t % M. A block folds its copies into the result after every `chunk` documents, which is as
 * many as a 32-bit sum holds if all have one code and the largest lambda, and at the end. */
#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

enum {
    HIST_MULTI_THREADS = RW_TUNE_MULTI_HIST_THREADS,
    HIST_MULTI_LANES = 32,
    HIST_MULTI_AT_ONCE = 2 /* blocks that share a multiprocessor's memory */
};

/* Sums over the m lanes of a bin; m is a power of 2. */
template <int SUMS> __device__ __forceinline__ int32_t hist_multi_sum(int32_t number, uint32_t m)
{
    for (uint32_t step = m / 2; step > 0; step /= 2)
        number = hist_plus<SUMS>(number, __shfl_xor_sync(0xffffffffu, number, step));
    return number;
}

/* Adds the copies of each bin to the result and clears them. A lane a cell: whole warps go on,
 * those behind the last cell with zeros. Barriers before and after are the caller's. */
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
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) { /* alike for the whole block */
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

/* M of the model for one block's share of the documents, in half of a multiprocessor's memory: as
 * many as there are cells for, a power of 2 so that the lanes of a warp keep to their banks, and no
 * more than a warp has lanes: the hardware's own atomics gain nothing from more. */
static uint32_t copies(const struct rw_hist_call *call, const struct rw_hist_args *args,
                       uint32_t cell_bytes)
{
    const uint64_t reserved = 1024; /* of each block, for the device */
    const uint64_t bytes = (call->shared_bytes + reserved) / HIST_MULTI_AT_ONCE - reserved;
    uint64_t cells = 0; /* no more than the block's documents */
    for (uint32_t i = 0; i < call->n_nodes; i++)
        cells += call->node[i].n;
    cells /= rw_hist_n_jobs(args);
    cells = bytes / cell_bytes < cells ? bytes / cell_bytes : cells;
    uint32_t m = 1;
    while (m < HIST_MULTI_LANES && (uint64_t)m * 2 * args->n_bins <= cells)
        m *= 2;
    return m;
}

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_multi_kernel);
    const uint32_t cell_bytes = hist_words(call->sums) * (uint32_t)sizeof(uint32_t);
    args->copies = copies(call, args, cell_bytes);
    return {kernel[hist_width(call)][call->sums], HIST_MULTI_THREADS,
            (size_t)args->n_bins * args->copies * cell_bytes};
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_in_place(call, launch_of, stream);
}

const struct rw_hist_method rw_hist_multi = {
    .name = "multi",
    .most_bins = 1024,
    .sums = RW_HIST_ANY_SUMS,
    .zero_skip = 1,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
};
