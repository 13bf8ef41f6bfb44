/* What methods with one histogram a block, in shared memory, have in common: a block's job and the
 * launch. */
#ifndef RW_GPU_HIST_SHARED_JOB_CUH
#define RW_GPU_HIST_SHARED_JOB_CUH

#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

/* Adds the job's documents to hist, at bin_of(code), and drains it after every a.chunk of them,
 * which is as many as its words hold. All threads of the block; what they wrote to shared memory
 * before is seen by all. */
template <int BITS, int SUMS, class BinOf>
__device__ __forceinline__ void hist_shared_job(const struct rw_hist_args &a,
                                                const struct hist_work &work,
                                                const struct hist_shared &hist, BinOf bin_of)
{
    hist_shared_clear<SUMS>(hist, a.n_bins);
    __syncthreads();
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) { /* alike for the whole block */
        const uint64_t hi = work.hi - lo < a.chunk ? work.hi : lo + a.chunk;
        hist_visit<BITS, SUMS, RW_TUNE_COLLISION_UNROLL>(
            a, work, lo, hi, [&](uint32_t code, const struct hist_item &item) {
                hist_shared_add<SUMS>(hist, bin_of(code), 1u, item);
            });
        __syncthreads();
        if (a.whole) { /* one turn */
            hist_shared_write<SUMS>(a, work, hist);
            return;
        }
        hist_shared_drain<SUMS>(a, work, hist);
        __syncthreads();
    }
}

/* The launch of such a kernel, with bin_words words of shared memory a bin; under 48 KiB. Whole
 * nodes have no other block to share the work with. */
static inline struct rw_hist_launch hist_shared_launch(const struct rw_hist_args *args,
                                                       rw_hist_kernel_fn kernel, uint32_t bin_words)
{
    const unsigned threads = args->whole ? RW_TUNE_HIST_WHOLE_THREADS : RW_TUNE_COLLISION_THREADS;
    return {kernel, threads, args->n_bins * sizeof(uint32_t) * bin_words};
}

#endif
