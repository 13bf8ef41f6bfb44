/* `collision`: each block has one histogram in shared memory, filled by shared atomics.
 *
 * See Xu et al., "Efficient weighted histogramming on GPUs with CUDA", section 4.3. With many bins,
 * a histogram per thread does not fit. This method is fast on evenly distributed data; documents of
 * a warp with the same code queue. The paper's own floats (RW_HIST_FLOAT) are much slower then,
 * since the hardware has no float atomic on shared memory; integers suffer less.
 *
 * Shapes: shared memory has [hist_words][n_bins] words of 32 bits, a count and then the sums. With
 * at most RW_HIST_MOST_BINS bins they are less than 48 KiB.
 *
 * Decomposition: as in hist_block.cuh. The threads of a block divide the words of codes, or the
 * positions of the list. A node that one block processes alone has more threads. */
#include "gpu/hist/hist_block.cuh"

template <int BITS, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_HIST_WHOLE_THREADS)
    hist_collision_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    /* small trees use this method, and the time between launches matters to them */
    let_next_launch_begin();
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const struct hist_shared hist = hist_shared_at(memory, a.n_bins);
    hist_shared_clear<SUMS>(hist, a.n_bins);
    __syncthreads();
    /* the bounds are the same for the whole block */
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) {
        const uint64_t hi = work.hi - lo < a.chunk ? work.hi : lo + a.chunk;
        hist_visit<BITS, SUMS, RW_TUNE_COLLISION_UNROLL>(
            a, work, lo, hi, [&](uint32_t code, const struct hist_item &item) {
                hist_shared_add<SUMS>(hist, code, 1u, item);
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

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_collision_kernel);
    const unsigned threads = args->whole ? RW_TUNE_HIST_WHOLE_THREADS : RW_TUNE_COLLISION_THREADS;
    return {kernel[hist_width(call)][call->sums], threads,
            args->n_bins * sizeof(uint32_t) * hist_words(call->sums)};
}

const struct rw_hist_method rw_hist_collision = {
    .name = "collision",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = RW_HIST_ANY_SUMS,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = hist_in_place<launch_of, 1>,
};
