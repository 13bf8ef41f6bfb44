/* The end of the blocks of a search, for cu_split.cu, cu_category.cu and, in part, cu_level.cu. A
 * block writes its best split of a node. The last block of the node to finish, of any launch, picks
 * the best of all blocks and writes it to host memory. Grid y is the index of the node. */
#pragma once

#include "gpu/engine/cu_engine.h"
#include "gpu/hist/hist_block.cuh"

enum { WARP = 32 };
#define ALL_LANES 0xffffffffu

/* Returns 1 if `a` is better: by rw_compare_gains, then lower column, then lower bin. Exactly one
 * thread tries each (column, bin), so no two of the threads' best splits are equal in all three.
 * d_noise: of features at the node; NULL: none. */
RW_DEVICE int beats(const struct rw_cuda_found &a, const struct rw_cuda_found &b,
                    const double *d_noise)
{
    const int by_noise = d_noise && a.gain > 0.0 && b.gain > 0.0;
    const int order = rw_compare_gains(a.gain, by_noise ? d_noise[a.column] : 0.0, b.gain,
                                       by_noise ? d_noise[b.column] : 0.0);
    if (order)
        return order > 0;
    return a.column != b.column ? a.column < b.column : a.bin < b.bin;
}

/* Finds the best split of a block; only thread 0's result is valid. of_warp: [WARPS] shared memory.
 * A warp without a split skips the exchange of its lanes. */
template <int WARPS>
RW_DEVICE struct rw_cuda_found best_of_block(struct rw_cuda_found best,
                                             struct rw_cuda_found *of_warp, const double *d_noise)
{
    const uint32_t lane = threadIdx.x % WARP;
    const int any = __any_sync(ALL_LANES, best.gain > 0.0);
    for (uint32_t step = any ? WARP / 2 : 0; step > 0; step /= 2) {
        struct rw_cuda_found other;
        other.gain = __shfl_xor_sync(ALL_LANES, best.gain, step);
        other.column = __shfl_xor_sync(ALL_LANES, best.column, step);
        other.bin = __shfl_xor_sync(ALL_LANES, best.bin, step);
        other.missing_left = __shfl_xor_sync(ALL_LANES, best.missing_left, step);
        other.n_left = __shfl_xor_sync(ALL_LANES, best.n_left, step);
        if (beats(other, best, d_noise))
            best = other;
    }
    if (lane == 0)
        of_warp[threadIdx.x / WARP] = best;
    __syncthreads();
    for (int w = 0; w < WARPS && threadIdx.x == 0; w++) {
        if (beats(of_warp[w], best, d_noise))
            best = of_warp[w];
    }
    return best;
}

/* Returns 1 if a set of features has the feature. d_allowed: NULL: all features. */
RW_DEVICE int is_in(const uint32_t *d_allowed, uint32_t column)
{
    return !d_allowed || (d_allowed[column / 32] >> column % 32 & 1);
}

RW_DEVICE int allows(const struct rw_cuda_search &a, uint32_t column)
{
    return is_in(a.d_allowed ? a.d_allowed + (uint64_t)blockIdx.y * a.n_allowed_words : NULL,
                 column);
}

/* Returns the noise of features by column, or NULL. */
RW_DEVICE const double *noise_of(const struct rw_cuda_search &a)
{
    return a.noise_word ? (const double *)(a.d_allowed + (uint64_t)blockIdx.y * a.n_allowed_words +
                                           a.noise_word)
                        : NULL;
}

RW_DEVICE struct rw_cell cell_at(const struct rw_cuda_cells &cells, uint64_t at)
{
    return {cells.d_count[at], cells.d_hess ? hist_sum_at(cells.d_hess, at, cells.narrow) : 0,
            hist_sum_at(cells.d_lambda, at, cells.narrow)};
}

/* Writes this block's best split, which thread 0 has. block: its number among the blocks of its
 * node. Returns 1 if it is the last of these to finish. All its threads call this function. */
RW_DEVICE int is_last_of_node(const struct rw_cuda_search &a, const struct rw_cuda_found &best,
                              uint32_t block)
{
    __shared__ uint32_t n_done;
    if (threadIdx.x == 0) {
        a.d_best[(uint64_t)blockIdx.y * a.n_blocks + block] = best;
        __threadfence(); /* the last block reads it */
        n_done = atomicAdd(&a.d_done[blockIdx.y], 1u) + 1;
    }
    __syncthreads();
    return n_done == a.n_blocks;
}

/* Finds the best split of all blocks, in the last one; only thread 0's result is valid. */
template <int WARPS>
RW_DEVICE struct rw_cuda_found best_of_node(const struct rw_cuda_search &a,
                                            struct rw_cuda_found *of_warp, const double *d_noise)
{
    struct rw_cuda_found *const d_best = a.d_best + (uint64_t)blockIdx.y * a.n_blocks;
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    __threadfence();
    for (uint32_t b = threadIdx.x; b < a.n_blocks; b += WARPS * WARP) {
        const volatile struct rw_cuda_found *const d_one = &d_best[b];
        struct rw_cuda_found one;
        one.gain = d_one->gain;
        one.column = d_one->column;
        one.bin = d_one->bin;
        one.missing_left = d_one->missing_left;
        one.n_left = d_one->n_left;
        if (beats(one, best, d_noise))
            best = one;
    }
    return best_of_block<WARPS>(best, of_warp, d_noise);
}

/* Writes a node's result to host memory, each word with the number of the launch, by which the host
 * knows that it is new. A set that this thread has written to host memory is visible before the
 * result. Clears d_done of the node for the next search. */
RW_DEVICE void reply(const struct rw_cuda_search &a, struct rw_cuda_found best)
{
    if (!(best.gain > 0.0))
        best.column = -1;
    a.d_done[blockIdx.y] = 0;
    if (a.n_sets > 0)
        __threadfence_system(); /* a reader who sees the reply sees the set */
    unsigned long long gain;
    memcpy(&gain, &best.gain, sizeof(gain));
    const uint32_t number[RW_CUDA_REPLY_WORDS] = {
        (uint32_t)gain, (uint32_t)(gain >> 32),      (uint32_t)best.column,
        best.bin,       (uint32_t)best.missing_left, best.n_left};
    volatile unsigned long long *const to =
        (volatile unsigned long long *)a.reply->word[blockIdx.y];
    for (int k = 0; k < RW_CUDA_REPLY_WORDS; k++)
        to[k] = (unsigned long long)number[k] << 32 | a.launch;
}
