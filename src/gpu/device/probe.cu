/* Compiled when the build is set up, to test whether nvcc works with the host compiler. It includes
 * some headers of the C and C++ libraries, as kernels do, because an nvcc that is too old for its
 * gcc fails on them. */
#include <cstdint>
#include <cstdio>
#include <algorithm>
#include <cuda_runtime.h>

__global__ void probe_kernel(const uint32_t *d_in, unsigned long long *d_sum, uint32_t n)
{
    const uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        atomicAdd(d_sum, (unsigned long long)d_in[i]);
}

extern "C" int rw_cuda_probe(const uint32_t *d_in, unsigned long long *d_sum, uint32_t n)
{
    const uint32_t blocks = std::max(1u, (n + 255) / 256);
    probe_kernel<<<blocks, 256>>>(d_in, d_sum, n);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}
