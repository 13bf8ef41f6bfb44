/* Draws of the device, for hist_philox_check.c. Decomposition: a thread a draw. */
#include "gpu/device/kernel.cuh"
#include "philox_draws.h"

enum { THREADS = 128 };

static __global__ void draws_kernel(const struct philox_draw *d_draw, uint32_t n,
                                    struct rw_philox *d_word)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const struct philox_draw draw = d_draw[i];
    const uint4 word = rw_cuda_random4(draw.seed, draw.item, draw.tree, draw.stream);
    d_word[i].word[0] = word.x;
    d_word[i].word[1] = word.y;
    d_word[i].word[2] = word.z;
    d_word[i].word[3] = word.w;
}

extern "C" int philox_draws(const struct philox_draw *d_draw, uint32_t n, struct rw_philox *d_word,
                            void *stream)
{
    draws_kernel<<<(n + THREADS - 1) / THREADS, THREADS, 0, (cudaStream_t)stream>>>(d_draw, n,
                                                                                    d_word);
    return cudaGetLastError();
}
