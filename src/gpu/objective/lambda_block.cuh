/* Functions for the kernels of gradients. */
#pragma once

#include <stdint.h>

#include "gpu/device/kernel.cuh"
#include "gpu/objective/lambda_cuda.h"
#include "objective/lambda.h"

/* Returns the sum over a whole warp, modulo 2^64, in all lanes. It adds parts of 27 bits, 32 of
 * which fit into the 32 bits that the hardware adds. */
RW_DEVICE long long lambda_warp_sum(long long v)
{
    const unsigned long long bits = (unsigned long long)v;
    const uint32_t part = (1u << 27) - 1;
    const uint32_t low = rw_warp_add((uint32_t)bits & part);
    const uint32_t middle = rw_warp_add((uint32_t)(bits >> 27) & part);
    const uint32_t high = rw_warp_add((uint32_t)(bits >> 54));
    return (long long)((unsigned long long)low + ((unsigned long long)middle << 27) +
                       ((unsigned long long)high << 54));
}

/* Adds to 64 bits of shared memory by two atomics of 32 bits, in any order, because atomics of 64
 * bits are loops there. */
RW_DEVICE void lambda_shared_add(unsigned long long *sum, long long v)
{
    uint32_t *word = reinterpret_cast<uint32_t *>(sum);
    const uint32_t low = (uint32_t)v;
    const uint32_t old = atomicAdd(&word[0], low);
    const uint32_t high = (uint32_t)((unsigned long long)v >> 32) + (old + low < old);
    if (high != 0)
        atomicAdd(&word[1], high);
}

/* Raises *largest to the largest value v of a whole warp, every lane of which calls it. Most warps
 * find *largest large enough, and need no atomic. */
RW_DEVICE void lambda_raise(uint64_t *largest, uint64_t v)
{
    const uint32_t high = (uint32_t)(v >> 32), most = rw_warp_max(high);
    v = (uint64_t)most << 32 | rw_warp_max(high == most ? (uint32_t)v : 0);
    if (threadIdx.x % 32 == 0 && v > __ldcg(reinterpret_cast<unsigned long long *>(largest)))
        atomicMax(reinterpret_cast<unsigned long long *>(largest), (unsigned long long)v);
}

/* A thread's largest magnitudes of final integers. */
struct lambda_largest {
    uint64_t lambda = 0, hessian = 0;
    RW_DEVICE void add(const struct rw_lambda_pair &pair)
    {
        lambda = max(lambda, (uint64_t)(pair.lambda < 0 ? -pair.lambda : pair.lambda));
        hessian = max(hessian, (uint64_t)(pair.hessian < 0 ? -pair.hessian : pair.hessian));
    }
    /* Raises the run's largest magnitudes. Every lane of a warp calls it. */
    RW_DEVICE void raise(struct rw_cuda_lambda_info *d_info) const
    {
        __syncwarp();
        lambda_raise(&d_info->largest_lambda, lambda);
        lambda_raise(&d_info->largest_hessian, hessian);
    }
};

/* Writes a document's final integers, from its sums. */
RW_DEVICE void lambda_write(const struct rw_objective_args &a, uint32_t doc,
                            const struct rw_lambda_pair &sum, double factor,
                            struct lambda_largest &largest)
{
    const double *by = a.d_doc_weight ? a.d_doc_weight + doc : NULL;
    const struct rw_lambda_pair pair = {rw_lambda_final(sum.lambda, factor, by),
                                        rw_lambda_final(sum.hessian, factor, by)};
    a.run.d_pair[doc] = pair;
    largest.add(pair);
}

/* Returns the best of n scores to all threads of a warp (THREADS is 32) or block. */
template <int THREADS> RW_DEVICE double lambda_best(const double *scores, uint32_t n)
{
    __shared__ double of_warp[THREADS / 32];
    double best = scores[0];
    for (uint32_t i = threadIdx.x % THREADS; i < n; i += THREADS)
        best = scores[i] > best ? scores[i] : best;
    __syncwarp();
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const double other = __shfl_xor_sync(~0u, best, lanes);
        best = other > best ? other : best;
    }
    if (THREADS == 32)
        return best;
    if (threadIdx.x % 32 == 0)
        of_warp[threadIdx.x / 32] = best;
    __syncthreads();
    for (int warp = 0; warp < THREADS / 32; warp++)
        best = of_warp[warp] > best ? of_warp[warp] : best;
    return best;
}

/* Adds or multiplies the numbers of all lanes of a warp to `next`, one after another as on the
 * host. Returns the result of the lanes before the caller's. */
RW_DEVICE double lambda_scan(bool by_product, double number, double &next)
{
    double mine = next;
    for (int k = 0; k < 32; k++) {
        const double of_k = __shfl_sync(~0u, number, k);
        if (threadIdx.x % 32 == k)
            mine = next;
        next = by_product ? next * of_k : next + of_k;
    }
    return mine;
}

/* Returns random word k of a document. Words 4i to 4i + 3 share one draw. */
RW_DEVICE uint32_t lambda_draw(const struct rw_objective_args &a, uint32_t doc, uint32_t k,
                               uint32_t stream)
{
    const uint64_t item = (uint64_t)(k / 4) << 32 | (a.first_doc + doc);
    const uint4 four = rw_cuda_random4(a.seed, item, a.tree, stream);
    return k % 4 == 0 ? four.x : k % 4 == 1 ? four.y : k % 4 == 2 ? four.z : four.w;
}
