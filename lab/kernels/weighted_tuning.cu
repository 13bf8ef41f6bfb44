/* The collision method of weighted histogramming, section 4.3, by warps a block and words in
 * flight.
 *
 * Why: Figure 8 asks what each does; the method itself has both as constants (tuning.h), chosen by
 * this table.
 * Shapes, decomposition, draining: those of gpu/hist/hist_collision.cu, whose kernel this is. */
#include "lab/kernels/weighted_tuning.h"
#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

enum { MOST_THREADS = 1024 };

const int rw_tuning_warps[RW_TUNING_WARPS] = {1, 2, 4, 8, 16, 32};
const int rw_tuning_unrolls[RW_TUNING_UNROLLS] = {1, 2, 4, 8};

template <int UNROLL, int SUMS>
__global__ void __launch_bounds__(MOST_THREADS)
    tuned_collision_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const struct hist_shared hist = hist_shared_at(memory, a.n_bins);
    hist_shared_clear<SUMS>(hist, a.n_bins);
    __syncthreads();
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) { /* alike for the whole block */
        const uint64_t hi = work.hi - lo < a.chunk ? work.hi : lo + a.chunk;
        hist_visit_any<SUMS, UNROLL>(a, work, lo, hi,
                                     [&](uint32_t code, const struct hist_item &item) {
                                         hist_shared_add<SUMS>(hist, code, 1u, item);
                                     });
        __syncthreads();
        hist_shared_drain<SUMS>(a, work, hist);
        __syncthreads();
    }
}

template <int UNROLL, int SUMS, int WARPS>
static int launch(const struct rw_hist_args *args, cudaStream_t stream)
{
    const unsigned grid = rw_hist_n_jobs(args) * args->n_features;
    const size_t bytes = args->n_bins * sizeof(uint32_t) * hist_words(SUMS);
    tuned_collision_kernel<UNROLL, SUMS><<<grid, 32 * WARPS, bytes, stream>>>(*args);
    return cudaGetLastError();
}

template <int UNROLL, int WARPS>
static int run(const struct rw_hist_call *call, cudaStream_t stream)
{
    static const rw_hist_launch_fn launches[] = {NULL, launch<UNROLL, RW_HIST_MART, WARPS>, NULL,
                                                 launch<UNROLL, RW_HIST_FLOAT, WARPS>};
    return launches[call->sums] ? rw_cuda_hist_in_place(call, launches, stream)
                                : (int)cudaErrorInvalidValue;
}

template <int UNROLL>
static int run_warps(const struct rw_hist_call *call, int warps, cudaStream_t stream)
{
    static int (*const runs[])(const struct rw_hist_call *,
                               cudaStream_t) = {run<UNROLL, 1>, run<UNROLL, 2>,  run<UNROLL, 4>,
                                                run<UNROLL, 8>, run<UNROLL, 16>, run<UNROLL, 32>};
    return runs[warps](call, stream);
}

extern "C" int rw_cuda_tuned_collision(const struct rw_hist_call *call, int warps, int unroll,
                                       void *stream)
{
    static int (*const runs[])(const struct rw_hist_call *, int, cudaStream_t) = {
        run_warps<1>, run_warps<2>, run_warps<4>, run_warps<8>};
    return runs[unroll](call, warps, (cudaStream_t)stream);
}

extern "C" int rw_tuning_is_own(int warps, int unroll)
{
    return 32 * rw_tuning_warps[warps] == RW_TUNE_COLLISION_THREADS &&
           rw_tuning_unrolls[unroll] == RW_TUNE_COLLISION_UNROLL;
}
