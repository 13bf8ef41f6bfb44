/* `collision-reduced` by warps a block and documents of a thread's buffer, N_warp and N_buffer.
 *
 * Why: Table 6 of weighted histogramming gives the best of both by bins; here is what each takes.
 * Shapes, decomposition: those of gpu/hist/hist_reduced.cuh, whose kernel this is. */
#include "lab/kernels/weighted_tuning.h"
#include "gpu/hist/hist_reduced.cuh"

const int rw_tuning_reduced_warps[RW_TUNING_REDUCED_WARPS] = {1, 2, 3, 4, 5, 6};
const int rw_tuning_buffers[RW_TUNING_BUFFERS] = {4, 5, 8, 10, 16, 20};
static_assert(32 * 6 <= HIST_REDUCED_MOST_THREADS, "the kernel is compiled for so many threads");

template <int N_BUFFER, int WARPS>
static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[] = {NULL, hist_reduced_kernel<N_BUFFER, RW_HIST_MART>,
                                               NULL, hist_reduced_kernel<N_BUFFER, RW_HIST_FLOAT>};
    (void)args;
    return hist_reduced_launch(call, kernel[call->sums], WARPS, N_BUFFER);
}

#define BY_WARPS(n_buffer)                                                         \
    {                                                                              \
        launch_of<n_buffer, 1>, launch_of<n_buffer, 2>, launch_of<n_buffer, 3>,    \
            launch_of<n_buffer, 4>, launch_of<n_buffer, 5>, launch_of<n_buffer, 6> \
    }

extern "C" int rw_cuda_tuned_reduced(const struct rw_hist_call *call, int warps, int buffer,
                                     void *stream)
{
    static const rw_hist_launch_fn launches[][RW_TUNING_REDUCED_WARPS] = {
        BY_WARPS(4), BY_WARPS(5), BY_WARPS(8), BY_WARPS(10), BY_WARPS(16), BY_WARPS(20)};
    return rw_cuda_hist_in_place(call, launches[buffer][warps], 0, stream);
}

extern "C" int rw_tuning_reduced_is_own(uint32_t n_bins, int warps, int buffer)
{
    return rw_tuning_reduced_warps[warps] == hist_reduced_warps(n_bins) &&
           rw_tuning_buffers[buffer] == hist_reduced_buffer(n_bins);
}
