/* `collision-reduced`: each thread has a small hash buffer before the block's shared histogram.
 *
 * See weighted histogramming, section 4.4 and algorithm 2. Documents of the same code are first
 * added up in the thread's own buffer. Neighbouring threads hold a code in different slots of their
 * buffers, so a warp that empties its buffers slot by slot seldom collides in one cell of the
 * histogram. The method is for clustered data and the paper's floats. Algorithm 2 as printed loses
 * lambdas (line 28 must add), shifts by the wrong amount (line 24) and truncates the count. This
 * file has the intended algorithm.
 *
 * Shapes: shared memory has the buffers [hist_words][N_BUFFER][threads], then the histogram
 * [hist_words][n_bins], all of 32 bits. The first word of a buffer's cell is (code << 16 | count),
 * the others are the sums. The result is [n_nodes][n_cells].
 *
 * Decomposition: a block has a (job, feature), so a job's histogram is a sub-histogram of its
 * node's; they are added up in the result. A thread empties its buffer after N_BUFFER of its
 * documents, so each of them finds a free slot, and at the end of a chunk. That needs no barrier,
 * as a buffer belongs to one thread. */
#pragma once

#include "gpu/hist/hist_block.cuh"

/* Return the number of warps per block, and the number of documents that fit a thread's buffer.
 * They are from table 6, except 16 in place of 10 documents from 513 bins on: with all floats in
 * one bin, threads wait less. */
static inline int hist_reduced_warps(uint32_t n_bins)
{
    return n_bins <= 256 ? 2 : n_bins <= 512 ? 3 : 6;
}
static inline int hist_reduced_buffer(uint32_t n_bins)
{
    return n_bins <= 128 ? 10 : n_bins <= 256 ? 8 : n_bins <= 512 ? 5 : 16;
}
/* Returns the launch of a kernel of this size. It needs at most 3 * 4 * (16 * 192 + 1024) = 49,152
 * bytes of shared memory, which a block has by default. */
static inline struct rw_hist_launch hist_reduced_launch(const struct rw_hist_call *call,
                                                        rw_hist_kernel_fn kernel, int n_warps,
                                                        int n_buffer)
{
    const unsigned threads = 32 * (unsigned)n_warps;
    const size_t cells = (size_t)n_buffer * threads + call->matrix->n_bins;
    return {kernel, threads, cells * sizeof(uint32_t) * hist_words(call->sums)};
}

enum { HIST_REDUCED_UNROLL = 2, HIST_REDUCED_MOST_THREADS = 192 };

/* Adds the thread's buffer to the block's histogram and clears the buffer. The function is not
 * inlined, because it is called from each of the many places where a document is added. It finds
 * the shared memory by itself, so that the compiler knows which memory the atomics use. */
template <int N_BUFFER, int SUMS> __device__ __noinline__ void buffer_empty(uint32_t n_bins)
{
    extern __shared__ uint32_t memory[];
    uint32_t *const buffer = memory;
    const uint32_t n_threads = blockDim.x;
    const uint32_t plane = N_BUFFER * n_threads; /* words of one sum */
    const struct hist_shared hist = hist_shared_at(memory + hist_words(SUMS) * plane, n_bins);
#pragma unroll
    for (int i = 0; i < N_BUFFER; i++) {
        uint32_t *const cell = buffer + i * n_threads + threadIdx.x;
        const uint32_t key_count = *cell;
        const uint32_t count = key_count & 0xffffu;
        if (count == 0)
            continue;
        struct hist_item item = {};
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++)
            item.number[k] = (int32_t)cell[(k + 1) * plane];
        hist_shared_add<SUMS>(hist, key_count >> 16, count, item);
        *cell = 0;
    }
}

/* Adds one document to the thread's buffer, which holds fewer than N_BUFFER of them. */
template <int N_BUFFER, int SUMS>
__device__ __forceinline__ void buffer_add(uint32_t *buffer, uint32_t code,
                                           const struct hist_item &item)
{
    const uint32_t n_threads = blockDim.x;
    const uint32_t plane = N_BUFFER * n_threads;
    uint32_t slot = (code % N_BUFFER + threadIdx.x) % N_BUFFER;
    uint32_t *cell = buffer + slot * n_threads + threadIdx.x;
    uint32_t key_count = *cell;
    while ((key_count & 0xffffu) != 0 && key_count >> 16 != code) { /* linear probing */
        slot = slot + 1 == N_BUFFER ? 0 : slot + 1;
        cell = buffer + slot * n_threads + threadIdx.x;
        key_count = *cell;
    }
    const bool is_new = (key_count & 0xffffu) == 0;
    *cell = is_new ? (code << 16) + 1 : key_count + 1;
#pragma unroll
    for (int k = 0; k < hist_numbers(SUMS); k++) {
        uint32_t *const sum = cell + (k + 1) * plane;
        *sum = (uint32_t)hist_plus<SUMS>(is_new ? 0 : (int32_t)*sum, item.number[k]);
    }
}

template <int N_BUFFER, int SUMS>
static __global__ void __launch_bounds__(HIST_REDUCED_MOST_THREADS)
    hist_reduced_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    uint32_t *const buffer = memory;
    const struct hist_shared hist =
        hist_shared_at(memory + hist_words(SUMS) * N_BUFFER * blockDim.x, a.n_bins);
    for (int i = 0; i < N_BUFFER; i++)
        buffer[i * blockDim.x + threadIdx.x] = 0;
    hist_shared_clear<SUMS>(hist, a.n_bins);
    __syncthreads();
    /* the bounds are the same for the whole block */
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) {
        const uint64_t hi = work.hi - lo < a.chunk ? work.hi : lo + a.chunk;
        int n_held = 0; /* documents in this thread's buffer */
        hist_visit_any<SUMS, HIST_REDUCED_UNROLL>(
            a, work, lo, hi, [&](uint32_t code, const struct hist_item &item) {
                buffer_add<N_BUFFER, SUMS>(buffer, code, item);
                if (++n_held == N_BUFFER) {
                    buffer_empty<N_BUFFER, SUMS>(a.n_bins);
                    n_held = 0;
                }
            });
        buffer_empty<N_BUFFER, SUMS>(a.n_bins);
        __syncthreads();
        hist_shared_drain<SUMS>(a, work, hist);
        __syncthreads();
    }
}
