/* Sums of lambdas or hessians in histograms' cells: of 64 bits, or of 32 where no node's can pass
 * them (struct rw_hist_call says which). */
#ifndef RW_GPU_HIST_SUMS_CUH
#define RW_GPU_HIST_SUMS_CUH

#include <stdint.h>

static __device__ __forceinline__ long long hist_sum_at(const void *d_sum, uint64_t at, int narrow)
{
    return narrow ? ((const int32_t *)d_sum)[at] : ((const int64_t *)d_sum)[at];
}

static __device__ __forceinline__ void hist_set_sum(void *d_sum, uint64_t at, int narrow,
                                                    long long sum)
{
    if (narrow)
        ((int32_t *)d_sum)[at] = (int32_t)sum;
    else
        ((int64_t *)d_sum)[at] = sum;
}

/* Takes a sum from one. */
static __device__ __forceinline__ void hist_take_sum(void *d_sum, uint64_t at, int narrow,
                                                     long long sum)
{
    hist_set_sum(d_sum, at, narrow, hist_sum_at(d_sum, at, narrow) - sum);
}

#endif
