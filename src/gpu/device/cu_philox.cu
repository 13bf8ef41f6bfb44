/* Why: the numbers of a training are the same on the host, on the device and in cuRAND (Salmon et
 * al., "Parallel random numbers: as easy as 1, 2, 3", SC'11).
 *
 * Shapes: draws by number. Decomposition: a thread a draw. */
#include <cuda_runtime.h>
#include <curand_kernel.h>

#include "gpu/device/cu_philox.h"

enum { THREADS = 128 };

static __device__ struct rw_philox words_of(uint4 v)
{
    const struct rw_philox out = {{v.x, v.y, v.z, v.w}};
    return out;
}

static __global__ void draws_kernel(const struct rw_philox_draw *d_draw, uint32_t n,
                                    struct rw_philox *d_own, struct rw_philox *d_other)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const struct rw_philox_draw draw = d_draw[i];
    d_own[i] = rw_philox4x32_10(draw.counter, draw.key[0], draw.key[1]);
    d_other[i] =
        words_of(curand_Philox4x32_10(make_uint4(draw.counter.word[0], draw.counter.word[1],
                                                 draw.counter.word[2], draw.counter.word[3]),
                                      make_uint2(draw.key[0], draw.key[1])));
}

static __global__ void states_kernel(const struct rw_philox_draw *d_draw, uint32_t n,
                                     struct rw_philox *d_own, struct rw_philox *d_other)
{
    const uint32_t i = blockIdx.x * THREADS + threadIdx.x;
    if (i >= n)
        return;
    const struct rw_philox_draw draw = d_draw[i];
    const uint64_t seed = (uint64_t)draw.key[1] << 32 | draw.key[0];
    const uint64_t item = (uint64_t)draw.counter.word[1] << 32 | draw.counter.word[0];
    const uint32_t tree = draw.counter.word[2], stream = draw.counter.word[3];
    d_own[i] = rw_random4(seed, item, tree, stream);
    curandStatePhilox4_32_10_t state;
    /* the offset counts words, four a counter */
    curand_init(seed, (uint64_t)stream << 32 | tree, 4 * item, &state);
    d_other[i] = words_of(curand4(&state));
}

extern "C" int rw_cuda_philox_draws(const struct rw_philox_draw *d_draw, uint32_t n,
                                    struct rw_philox *d_own, struct rw_philox *d_other,
                                    void *stream)
{
    if (n == 0)
        return cudaSuccess;
    draws_kernel<<<(n + THREADS - 1) / THREADS, THREADS, 0, (cudaStream_t)stream>>>(d_draw, n,
                                                                                    d_own, d_other);
    return cudaGetLastError();
}

extern "C" int rw_cuda_philox_states(const struct rw_philox_draw *d_draw, uint32_t n,
                                     struct rw_philox *d_own, struct rw_philox *d_other,
                                     void *stream)
{
    if (n == 0)
        return cudaSuccess;
    states_kernel<<<(n + THREADS - 1) / THREADS, THREADS, 0, (cudaStream_t)stream>>>(
        d_draw, n, d_own, d_other);
    return cudaGetLastError();
}
