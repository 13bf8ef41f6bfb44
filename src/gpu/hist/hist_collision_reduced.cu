/* `collision-reduced`: a small hash buffer a thread in front of the block's shared histogram.
 *
 * Why: weighted histogramming, section 4.4 and Algorithm 2: documents of one code are first added
 * up in the thread's own buffer, and neighbouring threads hold one code in different rows, so that
 * a warp that empties its buffers seldom meets in one cell. For clustered data and the paper's
 * floats. Algorithm 2 as printed loses lambdas (line 28 must add), shifts by the wrong amount (line
 * 24) and cuts the count; here it is as meant.
 *
 * Shapes: buffers [N_BUFFER][threads] of (code << 16 | count) and of each other sum, then the
 * histogram [sums][n_bins], all of 32 bits; result [n_nodes][n_features][n_bins].
 *
 * Decomposition: a block a (job, feature), so that a job's histogram is a sub-histogram of its
 * node's; these are added up in the result. A thread empties its buffers after N_BUFFER documents
 * of its own: so many always find a free slot. No barrier is needed for that, as a buffer is one
 * thread's.
 *
 * The kernel, and N_buffer and N_warp by bins: hist_reduced.cuh. */
#include "gpu/hist/hist_reduced.cuh"

static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
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

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_in_place(call, launch_of, stream);
}

const struct rw_hist_method rw_hist_collision_reduced = {
    .name = "collision-reduced",
    .most_bins = 1024,
    .sums = RW_HIST_ANY_SUMS,
    .zero_skip = 1,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
};
