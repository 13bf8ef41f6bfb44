/* What GPUs of some compute capabilities have and others have not, as kernels see it. */
#ifndef RW_GPU_ARCHITECTURE_CUH
#define RW_GPU_ARCHITECTURE_CUH

#include <stdint.h>

/* Threads that a multiprocessor holds at once. */
#if __CUDA_ARCH__ == 750
#define RW_MULTIPROCESSOR_THREADS 1024
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
#define RW_MULTIPROCESSOR_THREADS 1536
#else
#define RW_MULTIPROCESSOR_THREADS 2048
#endif
/* Of the blocks wanted on a multiprocessor, as many as it has threads for: for __launch_bounds__.
 */
#define RW_BLOCKS_HELD(threads, blocks)                           \
    ((threads) * (blocks) <= RW_MULTIPROCESSOR_THREADS ? (blocks) \
                                                       : RW_MULTIPROCESSOR_THREADS / (threads))

/* The sum, modulo 2^32, and the largest over a whole warp, in all lanes: one instruction from 8.0
 * on. */
__device__ __forceinline__ uint32_t rw_warp_add(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(~0u, v);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        v += __shfl_xor_sync(~0u, v, distance);
    return v;
#endif
}

__device__ __forceinline__ uint32_t rw_warp_max(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(~0u, v);
#else
    for (int distance = 16; distance > 0; distance /= 2) {
        const uint32_t other = __shfl_xor_sync(~0u, v, distance);
        v = other > v ? other : v;
    }
    return v;
#endif
}

#endif
