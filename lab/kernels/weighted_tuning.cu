/* The collision method of weighted histogramming, section 4.3, by warps a block and words in
 * flight.
 *
 * Why: Figure 8 asks what each does; the method itself has both as constants (tuning.h), chosen by
 * this table.
 * Shapes, decomposition, draining: those of gpu/hist/hist_collision.cu, whose kernel this is. */
#include "lab/kernels/lab_block.cuh"
#include "lab/kernels/weighted_tuning.h"

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

template <int UNROLL, int WARPS>
static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[] = LAB_WITH_SUMS(tuned_collision_kernel, UNROLL);
    return {kernel[call->sums], 32 * WARPS,
            args->n_bins * sizeof(uint32_t) * hist_words(call->sums)};
}

#define BY_WARPS(unroll)                                                                        \
    {                                                                                           \
        launch_of<unroll, 1>, launch_of<unroll, 2>, launch_of<unroll, 4>, launch_of<unroll, 8>, \
            launch_of<unroll, 16>, launch_of<unroll, 32>                                        \
    }

extern "C" int rw_cuda_tuned_collision(const struct rw_hist_call *call, int warps, int unroll,
                                       void *stream)
{
    static const rw_hist_launch_fn launches[][RW_TUNING_WARPS] = {BY_WARPS(1), BY_WARPS(2),
                                                                  BY_WARPS(4), BY_WARPS(8)};
    return rw_cuda_hist_in_place(call, launches[unroll][warps], 0, stream);
}

extern "C" int rw_tuning_is_own(int warps, int unroll)
{
    return 32 * rw_tuning_warps[warps] == RW_TUNE_COLLISION_THREADS &&
           rw_tuning_unrolls[unroll] == RW_TUNE_COLLISION_UNROLL;
}
