/* `global-atomic`: every document adds to the result in global memory.
 *
 * Why: the straightforward mapping that the papers start from (weighted histogramming, section 4.1;
 * the naive code of privatized histograms): the baseline of the contention table, never chosen.
 * Documents of one code queue at one address of the L2 cache.
 *
 * Shapes: columns [n_features][column_words]; result [n_nodes][n_features][n_bins].
 *
 * Decomposition: a block a (job, feature), see hist_block.cuh; threads over words of codes, or over
 * positions of the list. */
#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

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

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_global_kernel);
    (void)args;
    return {kernel[hist_width(call)][call->sums], RW_TUNE_GLOBAL_ATOMIC_THREADS, 0};
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_in_place(call, launch_of, stream);
}

const struct rw_hist_method rw_hist_global_atomic = {
    .name = "global-atomic",
    .most_bins = 1024,
    .sums = RW_HIST_ANY_SUMS,
    .zero_skip = 1,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
    .is_baseline = 1,
};
