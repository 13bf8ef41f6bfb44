/* `collision-reduced` by warps a block and documents of a thread's buffer, N_warp and N_buffer.
 *
 * Why: Table 6 of weighted histogramming gives the best of both by bins; here is what each takes.
 * Shapes, decomposition: those of gpu/hist/hist_collision_reduced.cu, whose kernel this is. */
#include "lab/kernels/weighted_tuning.h"
#include "gpu/hist/hist_reduced.cuh"

const int rw_tuning_reduced_warps[RW_TUNING_REDUCED_WARPS] = {1, 2, 3, 4, 5, 6};
const int rw_tuning_buffers[RW_TUNING_BUFFERS] = {4, 5, 8, 10, 16, 20};
static_assert(32 * 6 <= HIST_REDUCED_MOST_THREADS, "the kernel is compiled for so many threads");

/* At most 2 * 4 * (20 * 192 + 1024) = 38,912 bytes of shared memory: no need to ask. */
template <int N_BUFFER, int SUMS, int WARPS>
static int launch(const struct rw_hist_args *args, cudaStream_t stream)
{
    const unsigned grid = rw_hist_n_jobs(args) * args->n_features;
    const size_t bytes = hist_reduced_bytes(WARPS, N_BUFFER, args->n_bins, hist_words(SUMS));
    hist_reduced_kernel<N_BUFFER, SUMS><<<grid, 32 * WARPS, bytes, stream>>>(*args);
    return cudaGetLastError();
}

template <int N_BUFFER, int WARPS>
static int run(const struct rw_hist_call *call, cudaStream_t stream)
{
    static const rw_hist_launch_fn launches[] = {NULL, launch<N_BUFFER, RW_HIST_MART, WARPS>, NULL,
                                                 launch<N_BUFFER, RW_HIST_FLOAT, WARPS>};
    return launches[call->sums] ? rw_cuda_hist_in_place(call, launches, stream)
                                : (int)cudaErrorInvalidValue;
}

template <int N_BUFFER>
static int run_warps(const struct rw_hist_call *call, int warps, cudaStream_t stream)
{
    static int (*const runs[])(const struct rw_hist_call *, cudaStream_t) = {
        run<N_BUFFER, 1>, run<N_BUFFER, 2>, run<N_BUFFER, 3>,
        run<N_BUFFER, 4>, run<N_BUFFER, 5>, run<N_BUFFER, 6>};
    return runs[warps](call, stream);
}

extern "C" int rw_cuda_tuned_reduced(const struct rw_hist_call *call, int warps, int buffer,
                                     void *stream)
{
    static int (*const runs[])(const struct rw_hist_call *, int, cudaStream_t) = {
        run_warps<4>, run_warps<5>, run_warps<8>, run_warps<10>, run_warps<16>, run_warps<20>};
    return runs[buffer](call, warps, (cudaStream_t)stream);
}

extern "C" int rw_tuning_reduced_is_own(uint32_t n_bins, int warps, int buffer)
{
    return rw_tuning_reduced_warps[warps] == hist_reduced_warps(n_bins) &&
           rw_tuning_buffers[buffer] == hist_reduced_buffer(n_bins);
}
