/* `global-atomic`: every document adds to the result in global memory by atomics.
 *
 * This is the straightforward mapping that the papers start from (Xu et al., "Efficient weighted
 * histogramming on GPUs with CUDA", section 4.1), and the shortest example of a method. Documents
 * of one code queue at one address of the L2 cache, so training uses it only if the user names it.
 * The laboratory's suite `contention` has it as the baseline.
 *
 * Shapes and decomposition: as in hist_block.cuh. The threads of a block divide the words of codes,
 * or the positions of the list. */
#include "gpu/hist/hist_block.cuh"

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

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_global_kernel);
    return {kernel[hist_width(call)][call->sums], RW_TUNE_GLOBAL_ATOMIC_THREADS, 0};
}

const struct rw_hist_method rw_hist_global_atomic = {
    .name = "global-atomic",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = RW_HIST_ANY_SUMS,
    .is_baseline = 1,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = hist_in_place<launch_of>,
};
