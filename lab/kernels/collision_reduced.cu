/* `collision-reduced`: each thread has a small hash buffer before the block's shared histogram.
 *
 * See weighted histogramming, section 4.4 and algorithm 2. Documents of the same code are first
 * added up in the thread's own buffer. Neighbouring threads hold a code in different slots of their
 * buffers, so a warp that empties its buffers slot by slot seldom collides in one cell of the
 * histogram. The method is for clustered data and the paper's floats. Algorithm 2 as printed loses
 * lambdas (line 28 must add), shifts by the wrong amount (line 24) and truncates the count. This
 * file has the intended algorithm. Its kernel is compiled for several sizes of blocks and buffers,
 * from which Table 6 of the paper chooses (weighted_tuning.h).
 *
 * Shapes: shared memory has the buffers [hist_words][N_BUFFER][threads], then the histogram
 * [hist_words][n_bins], all of 32 bits. The first word of a buffer's cell is (code << 16 | count),
 * the others are the sums. The result is [n_nodes][n_cells].
 *
 * Decomposition: a block has a (job, feature), so a job's histogram is a sub-histogram of its
 * node's; they are added up in the result. A thread empties its buffer after N_BUFFER of its
 * documents, so each of them finds a free slot, and at the end of a chunk. That needs no barrier,
 * as a buffer belongs to one thread. */
#include "lab/kernels/lab_block.cuh"
#include "lab/kernels/lab_methods.h"
#include "lab/kernels/weighted_tuning.h"

enum { UNROLL = 2, MOST_WARPS = 6 };
const int rw_tuning_reduced_warps[RW_TUNING_REDUCED_WARPS] = {1, 2, 3, 4, 5, MOST_WARPS};
const int rw_tuning_buffers[RW_TUNING_BUFFERS] = {4, 5, 8, 10, 16, 20};

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
__global__ void __launch_bounds__(32 * MOST_WARPS)
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
        hist_visit_any<SUMS, UNROLL>(a, work, lo, hi,
                                     [&](uint32_t code, const struct hist_item &item) {
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

template <int N_BUFFER, int WARPS>
static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[] = LAB_WITH_SUMS(hist_reduced_kernel, N_BUFFER);
    const size_t cells = (size_t)N_BUFFER * 32 * WARPS + args->n_bins;
    return {kernel[call->sums], 32 * WARPS, cells * sizeof(uint32_t) * hist_words(call->sums)};
}

#define BY_WARPS(n_buffer)                                                         \
    {                                                                              \
        launch_of<n_buffer, 1>, launch_of<n_buffer, 2>, launch_of<n_buffer, 3>,    \
            launch_of<n_buffer, 4>, launch_of<n_buffer, 5>, launch_of<n_buffer, 6> \
    }

int rw_cuda_tuned_reduced(const struct rw_hist_call *call, int warps, int buffer, void *stream)
{
    static const rw_hist_launch_fn launches[][RW_TUNING_REDUCED_WARPS] = {
        BY_WARPS(4), BY_WARPS(5), BY_WARPS(8), BY_WARPS(10), BY_WARPS(16), BY_WARPS(20)};
    return rw_cuda_hist_in_place(call, launches[buffer][warps], 0, stream);
}

/* Writes the indices in the lists above that the method itself uses. They are those of table 6,
 * except 16 in place of 10 documents from 513 bins on: with all floats in one bin, threads wait
 * less. */
static void own(uint32_t n_bins, int *warps, int *buffer)
{
    *warps = n_bins <= 256 ? 1 : n_bins <= 512 ? 2 : 5;
    *buffer = n_bins <= 128 ? 3 : n_bins <= 256 ? 2 : n_bins <= 512 ? 1 : 4;
}

int rw_tuning_reduced_is_own(uint32_t n_bins, int warps, int buffer)
{
    int own_warps, own_buffer;
    own(n_bins, &own_warps, &own_buffer);
    return warps == own_warps && buffer == own_buffer;
}

static int run(const struct rw_hist_call *call, void *stream)
{
    int warps, buffer;
    own(call->matrix->n_bins, &warps, &buffer);
    return rw_cuda_tuned_reduced(call, warps, buffer, stream);
}

const struct rw_hist_method rw_hist_collision_reduced = {
    .name = "collision-reduced",
    .most_bins = 1024,
    .sums = LAB_WEIGHTED_SUMS,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
};
