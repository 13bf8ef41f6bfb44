/* Functions for the kernels of gradients: sums over a warp, atomics, and one pair of LambdaRank. */
#pragma once

#include <stdint.h>

#include "gpu/device/kernel.cuh"
#include "gpu/objective/lambda_cuda.h"
#include "objective/lambda.h"

/* Returns the sum over a whole warp, modulo 2^64, in all lanes. It adds parts of 27 bits, since the
 * sum of 32 of these fits into the 32 bits that the hardware adds. */
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

/* Adds to 64 bits of shared memory by two atomics of 32 bits, because atomics of 64 bits are loops
 * there. Each addition that wraps the low word carries into the high one, so their order does not
 * matter. */
__device__ __forceinline__ void lambda_shared_add(unsigned long long *sum, long long v)
{
    uint32_t *word = reinterpret_cast<uint32_t *>(sum);
    const uint32_t low = (uint32_t)v;
    const uint32_t old = atomicAdd(&word[0], low);
    const uint32_t high = (uint32_t)((unsigned long long)v >> 32) + (old + low < old);
    if (high != 0)
        atomicAdd(&word[1], high);
}

/* Raises *largest to the largest value v of a whole warp. Most warps find *largest large enough,
 * and need no atomic. Every lane calls this function. */
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

struct alignas(16) lambda_item { /* loaded at once */
    double score, discount;
};

/* A query and its documents, in shared memory. cu_lambda.cu explains slots and places, and
 * lambda_cuda.h positions. */
struct lambda_query {
    uint32_t first, n, n_top;             /* first document, documents, upper documents */
    float ideal, scale;                   /* ideal DCG; 2^(RW_LAMBDA_EXPONENT - shift) */
    int shift, norm;                      /* rw_lambda_shift; 1: divide by score differences */
    struct lambda_item *item;             /* [n] by place, as are the sums and slots */
    unsigned long long *lambda, *hessian; /* [n] sums */
    uint16_t *slot;                       /* [n] */
    uint16_t *to_place; /* [n] places by document; before that, positions by slot */
    uint16_t *place_at; /* [n] by position */
    uint16_t *gain_end; /* [at most n] the end of each gain's slots */
};

/* A thread's documents, for spread queries. */
template <int SLOTS> struct lambda_own {
    struct lambda_item item[SLOTS];
    float gain_diff[SLOTS]; /* own gain minus that of the upper document */
    uint32_t position[SLOTS];
    long long lambda[SLOTS], hessian[SLOTS];
};

/* Computes one pair of an upper document and a document of the thread, at any positions. gain_diff:
 * own gain minus the upper document's. lambda: that of the own document, with its sign. Negating an
 * operand of a difference, a product or a rounding negates the result, so the result equals the
 * host's. */
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
