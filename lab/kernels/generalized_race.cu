/* Why: how sparse a histogram's indexes are decides how much of it L2 holds (equation 4 of
 * Henriksen et al.). The document writes ones into an array of H zeros for each sampled group and
 * adds it up; here the array is of bits, and whoever sets a bit first counts it, so there is no
 * second pass.
 *
 * Shapes: index [n]; marks in scratch [n_groups][(n_bins + 31) / 32] words.
 *
 * Decomposition: threads over the elements of all groups. */
#include <cuda_runtime.h>

#include "lab/kernels/generalized.h"

enum { RACE_THREADS = 256, RACE_MOST_BLOCKS = 1024 };

__global__ void __launch_bounds__(RACE_THREADS)
    gen_race_kernel(const uint32_t *d_index, uint32_t n_bins, const struct rw_multi_sample sample,
                    uint32_t *d_mark, unsigned long long *d_touched)
{
    const uint64_t words = ((uint64_t)n_bins + 31) / 32;
    const uint64_t n = sample.n_groups * sample.length;
    uint32_t touched = 0;
    for (uint64_t e = (uint64_t)blockIdx.x * RACE_THREADS + threadIdx.x; e < n;
         e += (uint64_t)gridDim.x * RACE_THREADS) {
        const uint64_t group = e / sample.length;
        const uint32_t at = d_index[group * sample.step + e % sample.length];
        if (at >= n_bins)
            continue;
        uint32_t *const word = d_mark + group * words + at / 32;
        const uint32_t bit = 1u << (at % 32);
        /* bits are only set: one that is there need not be asked for by an atomic */
        if (!(*(volatile uint32_t *)word & bit) && !(atomicOr(word, bit) & bit))
            touched++;
    }
    /* lanes leave the loop at different times, and all meet here */
    touched = __reduce_add_sync(0xffffffffu, touched);
    if (threadIdx.x % 32 == 0 && touched > 0)
        atomicAdd(d_touched, (unsigned long long)touched);
}

extern "C" size_t rw_gen_race_bytes(const struct rw_multi_sample *sample, uint32_t n_bins)
{
    return sample->n_groups * (((size_t)n_bins + 31) / 32) * sizeof(uint32_t);
}

extern "C" int rw_cuda_gen_race(const uint32_t *d_index, uint32_t n_bins,
                                const struct rw_multi_sample *sample, uint64_t *d_touched,
                                void *d_scratch, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    const uint64_t n = sample->n_groups * sample->length;
    const uint64_t blocks = (n + RACE_THREADS - 1) / RACE_THREADS;
    cudaError_t error = cudaMemsetAsync(d_touched, 0, sizeof *d_touched, on);
    if (error != cudaSuccess || n == 0)
        return error;
    error = cudaMemsetAsync(d_scratch, 0, rw_gen_race_bytes(sample, n_bins), on);
    if (error != cudaSuccess)
        return error;
    gen_race_kernel<<<(unsigned)(blocks < RACE_MOST_BLOCKS ? blocks : RACE_MOST_BLOCKS),
                      RACE_THREADS, 0, on>>>(d_index, n_bins, *sample, (uint32_t *)d_scratch,
                                             (unsigned long long *)d_touched);
    return cudaGetLastError();
}
