/* The random words of the device: cuRAND's Philox4x32-10, keyed as on the host (base/rng.h), which
 * `check_hist` holds equal. */
#ifndef RW_GPU_CU_RANDOM_CUH
#define RW_GPU_CU_RANDOM_CUH

#include <curand_philox4x32_x.h>

#include "base/rng.h"

/* All four words for (seed, item, tree, stream): rw_random4. */
static __device__ __forceinline__ uint4 rw_cuda_random4(uint64_t seed, uint64_t item, uint32_t tree,
                                                        uint32_t stream)
{
    return curand_Philox4x32_10(make_uint4((uint32_t)item, (uint32_t)(item >> 32), tree, stream),
                                make_uint2((uint32_t)seed, (uint32_t)(seed >> 32)));
}

/* The first word: rw_random. */
static __device__ __forceinline__ uint32_t rw_cuda_random(uint64_t seed, uint64_t item,
                                                          uint32_t tree, uint32_t stream)
{
    return rw_cuda_random4(seed, item, tree, stream).x;
}

#endif
