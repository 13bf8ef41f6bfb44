/* Which node a chunk of documents belongs to. */
#ifndef RW_GPU_CHUNK_NODE_CUH
#define RW_GPU_CHUNK_NODE_CUH

#include <stdint.h>

/* The last of the parts whose first_chunk is not above the chunk: nodes without documents share
 * their first_chunk with the next. Whole warps call it: their lanes look at 32 parts at once, since
 * what this takes is the time of loads that wait for one another. */
template <class PART>
static __device__ uint32_t find_chunk(const PART *d_part, uint32_t n_parts, uint32_t chunk)
{
    const uint32_t lane = threadIdx.x % 32;
    uint32_t low = 0, n = n_parts; /* it is one of n from low on */
    while (n > 1) {
        const uint32_t step = (n + 31) / 32, at = lane * step;
        const int not_above = at < n && d_part[low + at].first_chunk <= chunk;
        const uint32_t last = (uint32_t)__popc(__ballot_sync(0xffffffffu, not_above)) - 1;
        low += last * step;
        n = n - last * step < step ? n - last * step : step;
    }
    return low;
}

#endif
