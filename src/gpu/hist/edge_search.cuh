/* Binary search among the ascending edges of bins, on the device. */
#ifndef RW_GPU_EDGE_SEARCH_CUH
#define RW_GPU_EDGE_SEARCH_CUH

#include <stdint.h>

/* Where the search over n ascending numbers begins: the largest power of 2 under n; 0 if n is 1. */
__host__ __device__ __forceinline__ uint32_t rw_edge_top(uint32_t n)
{
    uint32_t top = 0;
    for (uint32_t step = 1; step < n; step *= 2)
        top = step;
    return top;
}

/* The last of n ascending edges that is not over x; the first one is not. Every thread takes the
 * same number of steps, so that a warp does not part. */
template <class E>
__device__ __forceinline__ uint32_t rw_edge_search(const E *edge, uint32_t n, uint32_t top, E x)
{
    uint32_t at = 0;
    for (uint32_t step = top; step > 0; step /= 2)
        if (at + step < n && edge[at + step] <= x)
            at += step;
    return at;
}

#endif
