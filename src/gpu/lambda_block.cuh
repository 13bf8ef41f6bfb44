/* Device helpers of the kernels of lambdas. */
#ifndef RW_GPU_LAMBDA_BLOCK_CUH
#define RW_GPU_LAMBDA_BLOCK_CUH

#include <stdint.h>

#include "gpu/lambda_cuda.h"

/* The sum over a whole warp, modulo 2^64, in all lanes. Parts of 27 bits: 32 of them fit into the
 * 32 bits that the hardware adds. */
__device__ __forceinline__ long long lambda_warp_sum(long long v)
{
    const unsigned long long bits = (unsigned long long)v;
    const uint32_t part = (1u << 27) - 1;
    const uint32_t low = __reduce_add_sync(~0u, (uint32_t)bits & part);
    const uint32_t middle = __reduce_add_sync(~0u, (uint32_t)(bits >> 27) & part);
    const uint32_t high = __reduce_add_sync(~0u, (uint32_t)(bits >> 54));
    return (long long)((unsigned long long)low + ((unsigned long long)middle << 27) +
                       ((unsigned long long)high << 54));
}

/* Adds to 64 bits of shared memory by two native atomics of 32 bits (64-bit ones are loops): each
 * addition that wraps the low word carries into the high one, in whatever order. */
__device__ __forceinline__ void lambda_shared_add(unsigned long long *sum, long long v)
{
    uint32_t *word = reinterpret_cast<uint32_t *>(sum);
    const uint32_t low = (uint32_t)v;
    const uint32_t old = atomicAdd(&word[0], low);
    const uint32_t high = (uint32_t)((unsigned long long)v >> 32) + (old + low < old);
    if (high != 0)
        atomicAdd(&word[1], high);
}

/* The largest over a whole warp goes to *largest; most warps find that it is not needed. Every lane
 * calls. */
__device__ __forceinline__ void lambda_raise(uint64_t *largest, uint64_t v)
{
    for (int d = 16; d > 0; d /= 2) {
        const uint64_t other = __shfl_xor_sync(~0u, (unsigned long long)v, d);
        v = other > v ? other : v;
    }
    if (threadIdx.x % 32 == 0 && v > __ldcg(reinterpret_cast<unsigned long long *>(largest)))
        atomicMax(reinterpret_cast<unsigned long long *>(largest), (unsigned long long)v);
}

__device__ __forceinline__ uint64_t lambda_magnitude(int64_t v)
{
    return (uint64_t)(v < 0 ? -v : v);
}

#endif
