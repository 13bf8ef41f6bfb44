/* Launches that begin while the one before them in the stream ends: what such a kernel does before
 * wait_for_launch_before() may touch nothing that the launch before writes, and what it does after
 * reads that without __ldg, which is for what nobody writes while the kernel is there. */
#ifndef RW_GPU_LAUNCH_AFTER_CUH
#define RW_GPU_LAUNCH_AFTER_CUH

#include <atomic>
#include <cuda_runtime.h>
#include <stdint.h>

enum { MOST_DEVICES = 64 };

/* Waits for the launch before this one, where the two overlap. */
static __device__ __forceinline__ void wait_for_launch_before()
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

static __device__ __forceinline__ void let_next_launch_begin()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

/* May a launch begin while the one before it ends? Where kernels wait: not on a newer GPU, if they
 * were compiled for older ones. Asked once a device, for they all were for the same. */
template <class KERNEL> static bool launches_overlap(int device, KERNEL *kernel)
{
    static std::atomic<int8_t> known[MOST_DEVICES]; /* 0: not yet; 1: no; 2: yes */
    struct cudaFuncAttributes about;
    if (known[device] != 0)
        return known[device] == 2;
    if (cudaFuncGetAttributes(&about, kernel) == cudaSuccess)
        known[device] = about.ptxVersion >= 90 ? 2 : 1;
    else
        (void)cudaGetLastError(); /* the launch would be blamed */
    return known[device] == 2;
}

static int current_device()
{
    int device = 0;
    if (cudaGetDevice(&device) != cudaSuccess)
        (void)cudaGetLastError(); /* as above */
    return device < MOST_DEVICES ? device : 0;
}

/* Launches a kernel that waits by itself for the one before it. */
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
    config.numAttrs = launches_overlap(current_device(), kernel) ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

#endif
