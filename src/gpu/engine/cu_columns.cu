/* Why: a partition of many documents by one feature reads 32 bytes a document from tiles, and one
 * or two from a column: features that split large nodes again and again are worth a copy.
 *
 * And sums over columns, which tell data apart.
 *
 * Decomposition: copy_kernel: a block takes DOCS documents of a column, a thread every THREADS-th
 * of them; blocks of the same documents are neighbours, so that what they share is read once.
 * sum_kernel: as many blocks a column as SUM_BLOCKS, each every SUM_BLOCKS-th run of THREADS. */
#include <cuda_runtime.h>

#include "gpu/engine/cu_engine.h"
#include "gpu/device/tuning.h"

enum { THREADS = RW_TUNE_COLUMNS_THREADS, UNROLL = 8, DOCS = THREADS * UNROLL, SUM_BLOCKS = 64 };

/* Tiles have words of narrow codes, or a code of 16 bits in 2 bytes. */
template <class ELEMENT, class CODE>
static __device__ __forceinline__ void copy_block(const struct rw_cuda_column &from,
                                                  uint32_t n_docs, uint64_t first, CODE *d_to)
{
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

static __global__ void __launch_bounds__(THREADS)
    copy_kernel(const __grid_constant__ struct rw_cuda_copies a)
{
    const uint32_t c = blockIdx.x % a.n;
    const uint64_t first = blockIdx.x / a.n * (uint64_t)DOCS + threadIdx.x;
    if (a.from[c].bits == 16)
        copy_block<uint16_t>(a.from[c], a.n_docs, first, (uint16_t *)a.d_to[c]);
    else
        copy_block<uint32_t>(a.from[c], a.n_docs, first, (uint8_t *)a.d_to[c]);
}

extern "C" int rw_cuda_copy_columns(const struct rw_cuda_copies *copies, void *stream)
{
    const uint32_t blocks = (copies->n_docs / DOCS + 1) * copies->n;
    if (blocks > 0)
        copy_kernel<<<blocks, THREADS, 0, (cudaStream_t)stream>>>(*copies);
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
