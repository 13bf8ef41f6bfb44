/* The kernel with which rw_device_link (device.c) measures the rate of the link to host memory. It
 * reads that memory as histograms read codes there (gpu/hist/hist_lanes_far.cu), so the measured
 * rate is the one that they can reach.
 *
 * Decomposition: a warp reads rows of RW_LINK_ROW_BYTES, UNROLL of them at a time, and only one row
 * in RW_LINK_STEP. */
#include <cuda_runtime.h>

#include "gpu/device/device.h"
#include "gpu/device/kernel.cuh"

enum { WARP = 32, THREADS = 1024, UNROLL = 8 };

static __global__ void __launch_bounds__(THREADS)
    gather_kernel(const uint32_t *from, uint64_t n_rows, uint32_t *d_to)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint64_t warps = (uint64_t)gridDim.x * (THREADS / WARP);
    const uint64_t warp = (uint64_t)blockIdx.x * (THREADS / WARP) + threadIdx.x / WARP;
    uint32_t sum = 0;
    for (uint64_t first = warp * UNROLL; first < n_rows; first += warps * UNROLL) {
        uint32_t word[UNROLL];
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            word[u] = first + u < n_rows ? from[(first + u) * RW_LINK_STEP * WARP + lane] : 0;
#pragma unroll
        for (int u = 0; u < UNROLL; u++)
            sum ^= word[u];
    }
    d_to[warp * WARP + lane] = sum; /* otherwise the compiler would remove the reads */
}

extern "C" size_t rw_cuda_link_bytes(int n_multiprocessors)
{
    return (size_t)n_multiprocessors * THREADS * sizeof(uint32_t);
}

extern "C" int rw_cuda_link_gather(const void *from, uint64_t n_rows, int n_multiprocessors,
                                   void *d_to, void *stream)
{
    return launch_grid(gather_kernel, (unsigned)n_multiprocessors, THREADS, stream,
                       (const uint32_t *)from, n_rows, (uint32_t *)d_to);
}
