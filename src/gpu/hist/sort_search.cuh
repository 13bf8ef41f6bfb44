/* What `sort-search` over codes and that over raw values, of the laboratory, share. */
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

#endif
