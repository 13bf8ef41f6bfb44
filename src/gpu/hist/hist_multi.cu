/* `multi`: each block has M histograms in shared memory, and thread t adds to copy t % M.
 *
 * See Henriksen et al., "Compiling generalized histograms for GPU": documents of a warp with the
 * same code queue at one cell, unless the cell has copies. M is as large as fits and as the block's
 * documents pay for (equations 1 and 2): M x bins is at most the documents of the block. A
 * document's (count, lambda) or (count, lambda, hessian) is a vector, added number by number
 * (section IV-D). With at most RW_HIST_MOST_BINS bins one pass is always enough (equation 3).
 *
 * Shapes: shared memory has [hist_words][n_bins][M] words of 32 bits, a count and then the sums.
 * The copies of a bin are adjacent, each in a different bank.
 *
 * Decomposition: as in hist_block.cuh; the jobs of a node are the paper's K blocks (section IV-C).
 * A block adds its copies to the result after every `chunk` documents and at the end. `chunk` is as
 * many documents as a 32-bit sum holds if all have the same code and the largest lambda. */
#include "gpu/hist/hist_block.cuh"

enum {
    HIST_MULTI_THREADS = RW_TUNE_MULTI_HIST_THREADS,
    HIST_MULTI_LANES = 32,
    HIST_MULTI_AT_ONCE = 2 /* blocks that share a multiprocessor's memory */
};

/* Adds up the numbers of the m neighbouring lanes that have the copies of one bin. */
template <int SUMS> RW_DEVICE int32_t hist_multi_sum(int32_t number, uint32_t m)
{
    for (uint32_t step = m / 2; step > 0; step /= 2)
        number = hist_plus<SUMS>(number, __shfl_xor_sync(0xffffffffu, number, step));
    return number;
}

/* Adds the copies of each bin to the result, one cell per lane; lanes after the last cell add
 * zeros. The caller has barriers before and after. */
template <int SUMS>
RW_DEVICE void hist_multi_fold(const struct rw_hist_args &a, const struct hist_work &work,
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

/* Returns M by equations 1 and 2, for the documents of a block and half of a multiprocessor's
 * shared memory. It is a power of 2, so that the lanes of a warp keep to their banks, and at most
 * 32, because the hardware's own atomics gain nothing from more. */
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

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_multi_kernel);
    const uint32_t cell_bytes = hist_words(call->sums) * (uint32_t)sizeof(uint32_t);
    args->copies = copies(call, args, cell_bytes);
    return {kernel[hist_width(call)][call->sums], HIST_MULTI_THREADS,
            (size_t)args->n_bins * args->copies * cell_bytes};
}

const struct rw_hist_method rw_hist_multi = {
    .name = "multi",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = RW_HIST_ANY_SUMS,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = hist_in_place<launch_of>,
};
