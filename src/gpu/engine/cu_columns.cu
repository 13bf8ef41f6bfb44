/* Why: a partition of many documents by one feature reads 32 bytes a document from tiles, and one
 * or two from a column: features that split large nodes again and again are worth a copy.
 *
 * And sums over columns, which tell data apart.
 *
 * Decomposition: copy_kernel: a block takes DOCS documents, a thread every THREADS-th of them;
 * sum_kernel: as many blocks a column as SUM_BLOCKS, each every SUM_BLOCKS-th run of THREADS. */
#include <cuda_runtime.h>

#include "gpu/engine/cu_engine.h"
#include "gpu/device/tuning.h"

enum { THREADS = RW_TUNE_COLUMNS_THREADS, UNROLL = 8, DOCS = THREADS * UNROLL, SUM_BLOCKS = 64 };

template <class ELEMENT, class CODE>
static __global__ void __launch_bounds__(THREADS)
    copy_kernel(const __grid_constant__ struct rw_cuda_column from, uint32_t n_docs, CODE *d_to)
{
    const uint64_t first = blockIdx.x * (uint64_t)DOCS + threadIdx.x;
    ELEMENT element[UNROLL];
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        const uint64_t doc = first + i * THREADS;
        element[i] = doc < n_docs
                         ? ((const ELEMENT *)from.d_word)[rw_cuda_element_of(&from, (uint32_t)doc)]
                         : 0;
    }
#pragma unroll
    for (int i = 0; i < UNROLL; i++) {
        const uint64_t doc = first + i * THREADS;
        if (doc < n_docs)
            d_to[doc] = (CODE)rw_cuda_code_in(&from, element[i], (uint32_t)doc);
    }
}

/* Tiles have words of narrow codes, or a code of 16 bits in 2 bytes. */
extern "C" int rw_cuda_copy_column(const struct rw_cuda_column *from, uint32_t n_docs, void *d_to,
                                   void *stream)
{
    const uint32_t blocks = n_docs / DOCS + 1;
    if (from->bits == 16)
        copy_kernel<uint16_t>
            <<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*from, n_docs, (uint16_t *)d_to);
    else
        copy_kernel<uint32_t>
            <<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*from, n_docs, (uint8_t *)d_to);
    return cudaGetLastError();
}

static __global__ void __launch_bounds__(THREADS)
    sum_kernel(const struct rw_cuda_column *d_column, uint32_t n_docs, uint64_t first_doc,
               unsigned long long *d_sum)
{
    const struct rw_cuda_column column = d_column[blockIdx.x];
    unsigned long long sum = 0;
    for (uint64_t doc = blockIdx.y * (uint64_t)THREADS + threadIdx.x; doc < n_docs;
         doc += (uint64_t)SUM_BLOCKS * THREADS)
        sum += rw_code_weight(first_doc + doc) * rw_cuda_code_of(&column, (uint32_t)doc);
    for (int distance = 16; distance > 0; distance /= 2)
        sum += __shfl_down_sync(0xffffffffu, sum, distance);
    if (threadIdx.x % 32 == 0)
        atomicAdd(&d_sum[blockIdx.x], sum);
}

extern "C" int rw_cuda_sum_columns(const struct rw_cuda_column *d_column, uint32_t n_features,
                                   uint32_t n_docs, uint64_t first_doc, unsigned long long *d_sum,
                                   void *stream)
{
    const dim3 blocks(n_features, SUM_BLOCKS);
    if (n_features > 0)
        sum_kernel<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(d_column, n_docs, first_doc,
                                                                 d_sum);
    return cudaGetLastError();
}
