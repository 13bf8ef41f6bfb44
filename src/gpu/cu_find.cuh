/* Which node a chunk of documents belongs to. */
#ifndef RW_GPU_CU_FIND_CUH
#define RW_GPU_CU_FIND_CUH

#include <stdint.h>

/* The last of the parts whose first_chunk is not above the chunk: nodes without documents share
 * their first_chunk with the next. All threads of a block must call it. */
template <class PART>
static __device__ uint32_t find_chunk(const PART *d_part, uint32_t n_parts, uint32_t chunk)
{
    __shared__ uint32_t found;
    if (threadIdx.x == 0) {
        uint32_t low = 0, high = n_parts - 1;
        while (low < high) {
            const uint32_t middle = low + (high - low + 1) / 2;
            if (d_part[middle].first_chunk <= chunk)
                low = middle;
            else
                high = middle - 1;
        }
        found = low;
    }
    __syncthreads();
    return found;
}

#endif
