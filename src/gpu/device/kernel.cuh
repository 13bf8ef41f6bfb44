/* Helpers for kernels and their launchers.
 *
 * A launch by launch_after can begin while the launch before it in the stream ends. Before
 * wait_for_launch_before(), its kernel must not touch memory that the launch before writes. After
 * it, the kernel must read that memory without __ldg, which is only for memory that does not change
 * while the kernel runs. */
#pragma once

#include <atomic>
#include <cuda_runtime.h>
#include <curand_philox4x32_x.h>
#include <stdint.h>

#include "base/rng.h"

#define RW_DEVICE __device__ __forceinline__

enum { MOST_DEVICES = 64 };

static RW_DEVICE void wait_for_launch_before()
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

/* Lets the next launch of the stream begin, if launch_after launches it. */
static RW_DEVICE void let_next_launch_begin()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* For loops in which the threads of a grid stride over items, such as documents. Return a thread's
 * first item, and the distance to its next. THREADS: threads per block. */
template <int THREADS> static RW_DEVICE uint64_t grid_first()
{
    return (uint64_t)blockIdx.x * THREADS + threadIdx.x;
}
template <int THREADS> static RW_DEVICE uint64_t grid_step()
{
    return (uint64_t)gridDim.x * THREADS;
}

/* Makes a call in a function that returns a cudaError_t, or an int that is one. */
#define TRY_CUDA(call)                  \
    do {                                \
        const int failed = (int)(call); \
        if (failed != cudaSuccess)      \
            return (cudaError_t)failed; \
    } while (0)

/* Return a number of blocks for n items: enough for one thread per item, or at least 1 and at most
 * `most`, so that threads must stride over the items. */
static inline unsigned blocks_for(uint64_t n, unsigned threads)
{
    return (unsigned)((n + threads - 1) / threads);
}
static inline unsigned blocks_up_to(uint64_t most, uint64_t n, unsigned threads)
{
    const uint64_t blocks = (n + threads - 1) / threads;
    return (unsigned)(blocks < 1 ? 1 : blocks > most ? most : blocks);
}

/* Launches a kernel, if its grid has any blocks. Returns a cudaError_t. */
template <class... TYPES, class... ARGUMENTS>
static int launch_grid(void (*kernel)(TYPES...), dim3 grid, unsigned threads, void *stream,
                       const ARGUMENTS &...arguments)
{
    if (grid.x == 0 || grid.y == 0)
        return cudaSuccess;
    kernel<<<grid, threads, 0, (cudaStream_t)stream>>>(arguments...);
    return cudaGetLastError();
}

/* Returns the number of the thread's current device; 0 if it is not known or too large. */
static inline int current_device()
{
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess)
        (void)cudaGetLastError(); /* clears the error */
    return device < MOST_DEVICES ? device : 0;
}

/* Returns true if a launch of the kernel may begin while the one before it ends: not if it was
 * compiled for GPUs older than compute capability 9.0, since it does not wait then. The answer is
 * found once per device and template instance, since all kernels are compiled for the same GPUs. */
template <class KERNEL> static bool launches_overlap(KERNEL *kernel)
{
    static std::atomic<int8_t> known_of[MOST_DEVICES]; /* 0: not yet; 1: no; 2: yes */
    std::atomic<int8_t> &known = known_of[current_device()];
    struct cudaFuncAttributes about;
    if (known == 0 && cudaFuncGetAttributes(&about, kernel) == cudaSuccess)
        known = about.ptxVersion >= 90 ? 2 : 1;
    else if (known == 0)
        (void)cudaGetLastError(); /* clears the error, which the next launch would report */
    return known == 2;
}

/* Launches a kernel that calls wait_for_launch_before(); it may begin before the last one ends. */
template <class... TYPES, class... ARGUMENTS>
static cudaError_t launch_after(void (*kernel)(TYPES...), dim3 grid, dim3 block, size_t shared,
                                cudaStream_t stream, ARGUMENTS... arguments)
{
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = launches_overlap(kernel) ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/* ---- differences between GPUs, at compile time ---- */
/* Threads that a multiprocessor holds at once. */
#if __CUDA_ARCH__ == 750
#define RW_MULTIPROCESSOR_THREADS 1024
#elif __CUDA_ARCH__ == 860 || __CUDA_ARCH__ == 870 || __CUDA_ARCH__ == 890 || __CUDA_ARCH__ >= 1200
#define RW_MULTIPROCESSOR_THREADS 1536
#else
#define RW_MULTIPROCESSOR_THREADS 2048
#endif
/* For __launch_bounds__: `blocks`, or as many as a multiprocessor holds. */
#define RW_BLOCKS_HELD(threads, blocks)                           \
    ((threads) * (blocks) <= RW_MULTIPROCESSOR_THREADS ? (blocks) \
                                                       : RW_MULTIPROCESSOR_THREADS / (threads))

/* Return the sum, modulo 2^32, and the largest value over a whole warp, in all lanes. */
RW_DEVICE uint32_t rw_warp_add(uint32_t v)
{
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(~0u, v);
#else
    for (int distance = 16; distance > 0; distance /= 2)
        v += __shfl_xor_sync(~0u, v, distance);
    return v;
#endif
}

RW_DEVICE uint32_t rw_warp_max(uint32_t v)
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

/* ---- random words: cuRAND's Philox4x32-10, with the keys of base/rng.h; `check_hist` tests that
 * they are equal to those of base/rng.h ---- */
/* Return all four words, like rw_random4, or the first, like rw_random. */
static RW_DEVICE uint4 rw_cuda_random4(uint64_t seed, uint64_t item, uint32_t tree, uint32_t stream)
{
    return curand_Philox4x32_10(make_uint4((uint32_t)item, (uint32_t)(item >> 32), tree, stream),
                                make_uint2((uint32_t)seed, (uint32_t)(seed >> 32)));
}

static RW_DEVICE uint32_t rw_cuda_random(uint64_t seed, uint64_t item, uint32_t tree,
                                         uint32_t stream)
{
    return rw_cuda_random4(seed, item, tree, stream).x;
}
