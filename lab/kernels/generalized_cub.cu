/* Why: what `multi` is measured against, and on what: the third document's input (section V-A) and
 * its competitor, CUB (section V-B).
 *
 * Decomposition: one thread an element, striding; the rest is CUB's. */
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include "gpu/device/kernel.cuh"
#include "lab/kernels/generalized.h"
#include "lab/kernels/generalized_cub.h"

enum { MADE_THREADS = 256, MADE_BLOCKS = 2112 };

__global__ void made_elements_kernel(uint64_t seed, uint32_t n, uint32_t *d_element)
{
    for (uint64_t i = (uint64_t)blockIdx.x * MADE_THREADS + threadIdx.x; i < n;
         i += (uint64_t)MADE_BLOCKS * MADE_THREADS)
        d_element[i] = rw_cuda_random(seed, i, 0, RW_STREAM_SYNTH + 160);
}

__global__ void made_indexes_kernel(const uint32_t *d_element, uint32_t n, uint32_t active,
                                    uint32_t race, uint32_t *d_index)
{
    for (uint64_t i = (uint64_t)blockIdx.x * MADE_THREADS + threadIdx.x; i < n;
         i += (uint64_t)MADE_BLOCKS * MADE_THREADS)
        d_index[i] = d_element[i] % active * race;
}

__global__ void made_small_kernel(const uint32_t *d_element, uint32_t n, uint32_t *d_value)
{
    for (uint64_t i = (uint64_t)blockIdx.x * MADE_THREADS + threadIdx.x; i < n;
         i += (uint64_t)MADE_BLOCKS * MADE_THREADS)
        d_value[i] = 1 + (d_element[i] >> 31);
}

__global__ void made_pairs_kernel(const uint32_t *d_element, uint32_t n, uint64_t *d_pair)
{
    for (uint64_t i = (uint64_t)blockIdx.x * MADE_THREADS + threadIdx.x; i < n;
         i += (uint64_t)MADE_BLOCKS * MADE_THREADS)
        d_pair[i] = rw_gen_pair((int32_t)d_element[i], (uint32_t)i);
}

extern "C" int rw_cuda_lab_elements(uint64_t seed, uint32_t n, uint32_t *d_element, void *stream)
{
    made_elements_kernel<<<MADE_BLOCKS, MADE_THREADS, 0, (cudaStream_t)stream>>>(seed, n,
                                                                                 d_element);
    return cudaGetLastError();
}

extern "C" int rw_cuda_lab_indexes(const uint32_t *d_element, uint32_t n, uint32_t n_bins,
                                   uint32_t race, uint32_t *d_index, void *stream)
{
    const uint32_t active = n_bins / race > 0 ? n_bins / race : 1;
    made_indexes_kernel<<<MADE_BLOCKS, MADE_THREADS, 0, (cudaStream_t)stream>>>(
        d_element, n, active, race, d_index);
    return cudaGetLastError();
}

extern "C" int rw_cuda_lab_small(const uint32_t *d_element, uint32_t n, uint32_t *d_value,
                                 void *stream)
{
    made_small_kernel<<<MADE_BLOCKS, MADE_THREADS, 0, (cudaStream_t)stream>>>(d_element, n,
                                                                              d_value);
    return cudaGetLastError();
}

extern "C" int rw_cuda_lab_pairs(const uint32_t *d_element, uint32_t n, uint64_t *d_pair,
                                 void *stream)
{
    made_pairs_kernel<<<MADE_BLOCKS, MADE_THREADS, 0, (cudaStream_t)stream>>>(d_element, n, d_pair);
    return cudaGetLastError();
}

/* ---- CUB ---- */

extern "C" int rw_cuda_cub_even(struct rw_lab_cub *cub, void *stream)
{
    return cub::DeviceHistogram::HistogramEven(cub->d_temp, cub->temp_bytes, cub->d_index,
                                               (uint32_t *)cub->d_result, (int)cub->n_bins + 1, 0u,
                                               cub->n_bins, (int)cub->n, (cudaStream_t)stream);
}

struct sat24_op {
    __device__ __forceinline__ uint32_t operator()(uint32_t a, uint32_t b) const
    {
        return min(a + b, (uint32_t)RW_GEN_SAT24_MOST);
    }
};

struct argmax_op {
    __device__ __forceinline__ uint64_t operator()(uint64_t a, uint64_t b) const
    {
        return a > b ? a : b;
    }
};

template <class VALUE, class OP>
static int sort_and_reduce(struct rw_lab_cub *cub, OP op, cudaStream_t stream)
{
    int bits = 1;
    while (bits < 32 && (cub->n_bins - 1) >> bits)
        bits++;
    size_t sort_bytes = cub->temp_bytes, reduce_bytes = cub->temp_bytes;
    cudaError_t error = cub::DeviceRadixSort::SortPairs(
        cub->d_temp, sort_bytes, cub->d_index, cub->d_sorted, (const VALUE *)cub->d_value,
        (VALUE *)cub->d_sorted_value, (int)cub->n, 0, bits, stream);
    if (error != cudaSuccess)
        return error;
    error = cub::DeviceReduce::ReduceByKey(
        cub->d_temp, reduce_bytes, cub->d_sorted, cub->d_key, (const VALUE *)cub->d_sorted_value,
        (VALUE *)cub->d_result, cub->d_n_keys, op, (int)cub->n, stream);
    if (!cub->d_temp)
        cub->temp_bytes = sort_bytes > reduce_bytes ? sort_bytes : reduce_bytes;
    return error;
}

extern "C" int rw_cuda_cub_sat24(struct rw_lab_cub *cub, void *stream)
{
    return sort_and_reduce<uint32_t>(cub, sat24_op(), (cudaStream_t)stream);
}

extern "C" int rw_cuda_cub_argmax(struct rw_lab_cub *cub, void *stream)
{
    return sort_and_reduce<uint64_t>(cub, argmax_op(), (cudaStream_t)stream);
}
