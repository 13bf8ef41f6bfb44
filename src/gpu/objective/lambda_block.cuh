/* Device helpers of the kernels of lambdas. */
#pragma once

#include <stdint.h>

#include "gpu/device/kernel.cuh"
#include "gpu/objective/lambda_cuda.h"
#include "objective/lambda.h"

/* The sum over a whole warp, modulo 2^64, in all lanes. Parts of 27 bits: 32 of them fit into the
 * 32 bits that the hardware adds. */
__device__ __forceinline__ long long lambda_warp_sum(long long v)
{
    const unsigned long long bits = (unsigned long long)v;
    const uint32_t part = (1u << 27) - 1;
    const uint32_t low = rw_warp_add((uint32_t)bits & part);
    const uint32_t middle = rw_warp_add((uint32_t)(bits >> 27) & part);
    const uint32_t high = rw_warp_add((uint32_t)(bits >> 54));
    return (long long)((unsigned long long)low + ((unsigned long long)middle << 27) +
                       ((unsigned long long)high << 54));
}

/* Adds to 64 bits of shared memory by two native atomics of 32 bits (64-bit ones are loops): each
 * addition that wraps the low word carries into the high one, in whatever order. */
__device__ __forceinline__ void lambda_shared_add(unsigned long long *sum, long long v)
{
    uint32_t *word = reinterpret_cast<uint32_t *>(sum);
    const uint32_t low = (uint32_t)v;
    const uint32_t old = atomicAdd(&word[0], low);
    const uint32_t high = (uint32_t)((unsigned long long)v >> 32) + (old + low < old);
    if (high != 0)
        atomicAdd(&word[1], high);
}

/* The largest over a whole warp goes to *largest; most warps find that it is not needed. Every lane
 * calls. */
__device__ __forceinline__ void lambda_raise(uint64_t *largest, uint64_t v)
{
    const uint32_t high = (uint32_t)(v >> 32), most = rw_warp_max(high);
    v = (uint64_t)most << 32 | rw_warp_max(high == most ? (uint32_t)v : 0);
    if (threadIdx.x % 32 == 0 && v > __ldcg(reinterpret_cast<unsigned long long *>(largest)))
        atomicMax(reinterpret_cast<unsigned long long *>(largest), (unsigned long long)v);
}

__device__ __forceinline__ uint64_t lambda_magnitude(int64_t v)
{
    return (uint64_t)(v < 0 ? -v : v);
}

/* ---- Queries and pairs ---- */

struct alignas(16) lambda_item { /* one load */
    double score, discount;
};

struct lambda_query {
    uint32_t first, n, n_top;
    float ideal, scale;
    int shift, norm;
    struct lambda_item *item;             /* [n] by place, as the sums and slots */
    unsigned long long *lambda, *hessian; /* [n] sums */
    uint16_t *slot;                       /* [n] */
    uint16_t *to_place;                   /* [n] by document; positions by slot before */
    uint16_t *place_at;                   /* [n] by position */
    uint16_t *gain_end;                   /* [n at most] the slot after the last one of a gain */
};

/* The documents of a thread. */
template <int SLOTS> struct lambda_own {
    struct lambda_item item[SLOTS];
    float gain_diff[SLOTS]; /* own less the upper one's */
    uint32_t position[SLOTS];
    long long lambda[SLOTS], hessian[SLOTS];
};

/* One pair: an upper document and one of the thread's, at whatever positions, whose gain is larger
 * by gain_diff (or, if that is negative, smaller). lambda: the own document's, with its sign.
 * Negating an operand of a difference, a product or a rounding negates the result: nothing else
 * differs from the host's. */
__device__ __forceinline__ struct rw_lambda_pair
lambda_pair(const struct lambda_query &query, float sigma, const struct lambda_item &upper,
            const struct lambda_item &own, float gain_diff)
{
    const float sign = copysignf(1.0f, gain_diff);
    const struct rw_lambda_real real = rw_lambda_real_of_pair(
        fabsf(gain_diff), fabsf((float)(upper.discount - own.discount)),
        sign * (float)(own.score - upper.score), sigma, sigma, query.ideal, query.norm, 1);
    struct rw_lambda_pair pair;
    pair.lambda = rw_round_float(real.lambda * (sign * query.scale));
    pair.hessian = rw_round_float(real.hessian * query.scale);
    return pair;
}
