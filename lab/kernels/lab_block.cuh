/* What the laboratory's methods share in addition to gpu/hist/hist_block.cuh. */
#pragma once

#include "gpu/hist/hist_block.cuh"

/* Like hist_visit, for kernels that are not compiled per code width. All threads take the same
 * branch. */
template <int SUMS, int UNROLL, class Add>
__device__ __forceinline__ void hist_visit_any(const struct rw_hist_args &a,
                                               const struct hist_work &work, uint64_t lo,
                                               uint64_t hi, Add add)
{
    if (a.bits == 4)
        hist_visit<4, SUMS, UNROLL>(a, work, lo, hi, add);
    else if (a.bits == 8)
        hist_visit<8, SUMS, UNROLL>(a, work, lo, hi, add);
    else
        hist_visit<16, SUMS, UNROLL>(a, work, lo, hi, add);
}

/* The sums of weighted histogramming, and instances of a kernel for them, by enum rw_hist_sums. */
enum { LAB_WEIGHTED_SUMS = 1 << RW_HIST_MART | 1 << RW_HIST_FLOAT };
#define LAB_WITH_SUMS(kernel, first)                                          \
    {                                                                         \
        NULL, kernel<first, RW_HIST_MART>, NULL, kernel<first, RW_HIST_FLOAT> \
    }
