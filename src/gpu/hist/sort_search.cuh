/* What both halves of `sort-search` share: parts of a scratch, and prefix sums of weights. */
#ifndef RW_GPU_SORT_SEARCH_CUH
#define RW_GPU_SORT_SEARCH_CUH

#include <cub/block/block_reduce.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>
#include <thrust/iterator/transform_iterator.h>

#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

enum { SORT_SEARCH_THREADS = 256 };

/* Parts of a scratch, one after the other. base NULL: sizes only. */
struct sort_search_layout {
    char *base;
    size_t bytes;
};

template <class P> static P *sort_search_take(struct sort_search_layout *at, uint64_t n)
{
    char *const p = at->base ? at->base + at->bytes : NULL;
    at->bytes += rw_hist_round_up(n * sizeof(P));
    return (P *)p;
}

static inline unsigned sort_search_blocks(uint64_t n, const int n_multiprocessors)
{
    const uint64_t most = (uint64_t)n_multiprocessors * RW_TUNE_SORT_SEARCH_BLOCKS;
    const uint64_t blocks = (n + SORT_SEARCH_THREADS - 1) / SORT_SEARCH_THREADS;
    return (unsigned)(blocks < 1 ? 1 : blocks < most ? blocks : most);
}

struct sort_search_widen {
    __host__ __device__ __forceinline__ long long operator()(int32_t weight) const
    {
        return weight;
    }
};

/* Inclusive sums of 32-bit weights; `bytes` is asked for when d_temp is NULL. */
static inline cudaError_t sort_search_scan(void *d_temp, size_t &bytes, const int32_t *d_weight,
                                           long long *d_prefix, uint64_t n, cudaStream_t stream)
{
    const auto wide = thrust::make_transform_iterator(d_weight, sort_search_widen());
    return cub::DeviceScan::InclusiveSum(d_temp, bytes, wide, d_prefix, n, stream);
}

#endif
