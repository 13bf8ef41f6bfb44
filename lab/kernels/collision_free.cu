/* `collision-free` gives each thread a private histogram in shared memory, so that documents are
 * added without atomics.
 *
 * With few bins, private histograms fit, and the speed does not depend on the data (weighted
 * histogramming, section 4.2). Shared memory has room for the histograms of few threads only. So
 * with more than two bins each thread has several words of codes in flight. Columns are padded, and
 * the loop is unrolled by hand (section 4.2.3).
 *
 * Shapes: shared memory has [hist_words][n_bins][threads] words of 32 bits (a count, then the
 * sums), so that the threads of a warp have different banks. The result is [n_nodes][n_cells].
 *
 * Decomposition: a block per (job, feature), where a job is a segment of a node's documents
 * (section 4.2.2). Threads divide the words of codes, or the positions of the list. After every
 * a.chunk documents, which is as many as the words hold, each thread adds up one bin at a time over
 * the histograms of all threads. It starts with its own histogram, so that a warp reads 32 banks at
 * once (figure 1, step 2). The sums of a block are added to the result. */
#include "lab/kernels/lab_block.cuh"
#include "lab/kernels/lab_methods.h"
#include "lab/kernels/lab_tuning.h"

template <int UNROLL, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_FREE_FEW_THREADS)
    hist_free_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const uint32_t n_threads = blockDim.x;
    const uint32_t plane = a.n_bins * n_threads; /* words of one sum */
    const size_t row = hist_row(a, work);
    uint32_t *const own = memory + threadIdx.x;
    for (uint64_t lo = work.lo; lo < work.hi; lo += a.chunk) { /* the same for the whole block */
        const uint64_t hi = work.hi - lo < a.chunk ? work.hi : lo + a.chunk;
        for (uint32_t i = 0; i < hist_words(SUMS) * a.n_bins; i++)
            own[i * n_threads] = 0;
        hist_visit_any<SUMS, UNROLL>(
            a, work, lo, hi, [&](uint32_t code, const struct hist_item &item) {
                uint32_t *const cell = own + code * n_threads;
                cell[0] += 1;
#pragma unroll
                for (int k = 0; k < hist_numbers(SUMS); k++) {
                    uint32_t *const sum = cell + (k + 1) * plane;
                    *sum = (uint32_t)hist_plus<SUMS>((int32_t)*sum, item.number[k]);
                }
            });
        __syncthreads();
        for (uint32_t b = threadIdx.x; b < a.n_bins; b += n_threads) {
            uint32_t count = 0, column = threadIdx.x;
            struct hist_item all = {};
            for (uint32_t i = 0; i < n_threads; i++) {
                const uint32_t *const cell = memory + b * n_threads + column;
                count += cell[0];
#pragma unroll
                for (int k = 0; k < hist_numbers(SUMS); k++)
                    all.number[k] = hist_plus<SUMS>(all.number[k], (int32_t)cell[(k + 1) * plane]);
                column = column + 1 == n_threads ? 0 : column + 1;
            }
            if (count == 0)
                continue;
            atomicAdd(a.d_count + row + b, count);
#pragma unroll
            for (int k = 0; k < hist_numbers(SUMS); k++)
                hist_add_result<SUMS>(a, k, row + b, all.number[k]);
        }
        __syncthreads(); /* before the histograms are cleared */
    }
}

template <int UNROLL>
static struct rw_hist_launch launch_of(const struct rw_hist_call *call, struct rw_hist_args *args)
{
    static const rw_hist_kernel_fn kernel[] = LAB_WITH_SUMS(hist_free_kernel, UNROLL);
    const size_t thread_bytes = args->n_bins * sizeof(uint32_t) * hist_words(call->sums);
    unsigned threads = args->n_bins <= RW_TUNE_FREE_FEW_BINS ? RW_TUNE_FREE_FEW_THREADS
                                                             : RW_TUNE_FREE_MANY_THREADS;
    while (threads > 32 && threads * thread_bytes > call->shared_bytes)
        threads -= 32;
    return {kernel[call->sums], threads, threads * thread_bytes};
}

int rw_hist_collision_free_unroll(uint32_t n_bins)
{
    return n_bins <= 2   ? RW_TUNE_FREE_UNROLL_2
           : n_bins <= 8 ? RW_TUNE_FREE_UNROLL_8
                         : RW_TUNE_FREE_UNROLL_MORE;
}

int rw_cuda_hist_collision_free(const struct rw_hist_call *call, int unroll, void *stream)
{
    static const rw_hist_launch_fn launches[] = {launch_of<1>, launch_of<2>,  launch_of<4>,
                                                 launch_of<8>, launch_of<16>, launch_of<32>};
    return rw_cuda_hist_in_place(call, launches[__builtin_ctz((unsigned)unroll)], 0, stream);
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_collision_free(call, rw_hist_collision_free_unroll(call->matrix->n_bins),
                                       stream);
}

const struct rw_hist_method rw_hist_collision_free = {
    .name = "collision-free",
    .most_bins = 128,
    .sums = LAB_WEIGHTED_SUMS,
    .scratch_bytes = rw_hist_derive_bytes,
    .run = run,
};
