/* Compiled when the build is set up, to test whether nvcc works with the host compiler. It includes
 * some headers of the C and C++ libraries, as kernels do, because an nvcc that is too old for its
 * gcc fails on them. */
#include <cstdint>
#include <cstdio>
#include <algorithm>
#include <cuda_runtime.h>

static __global__ void probe_kernel(uint32_t *d_out)
{
    *d_out = threadIdx.x;
}

extern "C" int rw_cuda_probe(uint32_t *d_out)
{
    probe_kernel<<<std::max(1, 2), 32>>>(d_out);
    return cudaGetLastError() == cudaSuccess ? 0 : -1;
}
