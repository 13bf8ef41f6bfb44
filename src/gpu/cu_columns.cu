/* Why: a partition of many documents by one feature reads 32 bytes a document from tiles, and one
 * or two from a column: features that split large nodes again and again are worth a copy.
 *
 * Decomposition: copy_kernel: a thread a document, in a grid that strides. */
#include <cuda_runtime.h>

#include "gpu/cu_engine.h"
#include "gpu/tuning.h"

enum { THREADS = RW_TUNE_COLUMNS_THREADS, UNROLL = 4 };

template <class CODE>
static __global__ void __launch_bounds__(THREADS)
    copy_kernel(const __grid_constant__ struct rw_cuda_column from, uint32_t n_docs, CODE *d_to)
{
    const uint64_t step = (uint64_t)gridDim.x * THREADS;
#pragma unroll UNROLL
    for (uint64_t doc = blockIdx.x * (uint64_t)THREADS + threadIdx.x; doc < n_docs; doc += step)
        d_to[doc] = (CODE)rw_cuda_code_of(&from, (uint32_t)doc);
}

extern "C" int rw_cuda_copy_column(const struct rw_cuda_column *from, uint32_t n_docs, void *d_to,
                                   void *stream)
{
    const uint32_t blocks = (n_docs + UNROLL * THREADS - 1) / (UNROLL * THREADS);
    if (blocks == 0)
        return cudaSuccess;
    if (from->bits == 16)
        copy_kernel<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*from, n_docs, (uint16_t *)d_to);
    else
        copy_kernel<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*from, n_docs, (uint8_t *)d_to);
    return cudaGetLastError();
}
