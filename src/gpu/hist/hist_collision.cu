/* `collision`: one histogram a block in shared memory, filled by shared atomics.
 *
 * Why: weighted histogramming, section 4.3: with many bins a histogram a thread does not fit. Fast
 * on even data; documents of one code in a warp queue. The paper's own floats (RW_HIST_FLOAT)
 * fall apart then, since the hardware has no float atomic on shared memory; integers suffer less.
 *
 * Shapes: columns [n_features][column_words]; shared [sums][n_bins] of 32 bits; result
 * [n_nodes][n_features][n_bins].
 *
 * Decomposition: a block a (job, feature); its threads over words of codes, or over positions of
 * the list. A block drains into the result after every `chunk` documents, which is as many as a
 * 32-bit sum holds if all of them have one code and the largest lambda, and at the end. */
#include "gpu/device/launch_after.cuh"
#include "gpu/hist/hist_shared_job.cuh"
#include "gpu/device/tuning.h"

template <int BITS, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_HIST_WHOLE_THREADS)
    hist_collision_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    let_next_launch_begin(); /* small trees take this method, and wait for launches */
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const struct hist_shared hist = hist_shared_at(memory, a.n_bins);
    hist_shared_job<BITS, SUMS>(a, work, hist, [](uint32_t code) { return code; });
}

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[][4] = RW_HIST_ALL_WIDTHS(hist_collision_kernel);
    return hist_shared_launch(args, kernel[hist_width(call)][call->sums], hist_words(call->sums));
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_whole(call, launch_of, stream);
}

const struct rw_hist_method rw_hist_collision = {
    .name = "collision",
    .most_bins = 1024,
    .sums = RW_HIST_ANY_SUMS,
    .zero_skip = 1,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
    .subtracts = 1,
};
