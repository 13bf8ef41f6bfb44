/* `collision-free` gives each thread a private histogram in shared memory, so it needs no atomics.
 *
 * With few bins, private histograms fit, and the speed does not depend on the data (weighted
 * histogramming, section 4.2). Shared memory has room for the histograms of few threads only. So
 * with more than two bins each thread has several words of codes in flight. Columns are padded, and
 * the loop is unrolled by hand (section 4.2.3).
 *
 * Shapes: columns [n_features][column_words]. Shared memory has [hist_words][n_bins][threads] words
 * of 32 bits (a count, then the sums), so that the threads of a warp have different banks. Scratch
 * has the totals of zero-skip (hist_common.cu), then the histograms of jobs, [n_jobs][n_cells]. The
 * result is [n_nodes][n_cells].
 *
 * Decomposition: a block per (job, feature), where a job is a segment of a node's documents
 * (section 4.2.2). Threads divide the words of codes, or the positions of the list. Then each
 * thread adds up one bin at a time over the histograms of all threads. It starts with its own
 * histogram, so that a warp reads 32 banks at once (figure 1, step 2). A second kernel adds up the
 * jobs of a node.
 *
 * A thread's 32-bit sums cannot overflow within rw_hist_most_documents() documents. Jobs are so
 * short that no thread has more (plan_make). */
#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

enum { HIST_FREE_MOST_BINS = 128 };
static_assert(RW_TUNE_FREE_MANY_THREADS <= RW_TUNE_FREE_FEW_THREADS, "the bound of the launch");
static_assert(RW_TUNE_FREE_MANY_THREADS % 32 == 0 && RW_TUNE_FREE_FEW_THREADS % 32 == 0, "warps");

template <int UNROLL, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_FREE_FEW_THREADS)
    hist_free_kernel(const __grid_constant__ struct rw_hist_args a)
{
    extern __shared__ uint32_t memory[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const uint32_t n_threads = blockDim.x;
    const uint32_t plane = a.n_bins * n_threads; /* words of one sum */
    uint32_t *const own = memory + threadIdx.x;
    for (uint32_t i = 0; i < hist_words(SUMS) * a.n_bins; i++)
        own[i * n_threads] = 0;
    hist_visit_any<SUMS, UNROLL>(
        a, work, work.lo, work.hi, [&](uint32_t code, const struct hist_item &item) {
            uint32_t *const cell = own + code * n_threads;
            cell[0] += 1;
#pragma unroll
            for (int k = 0; k < hist_numbers(SUMS); k++) {
                uint32_t *const sum = cell + (k + 1) * plane;
                *sum = (uint32_t)hist_plus<SUMS>((int32_t)*sum, item.number[k]);
            }
        });
    __syncthreads();

    const size_t row = (size_t)work.job * a.n_cells + hist_first(a, work.feature);
    const uint32_t n_bins = hist_length(a, work.feature);
    for (uint32_t b = threadIdx.x; b < n_bins; b += n_threads) {
        uint32_t count = 0;
        typename hist_wide<SUMS>::type sum[RW_HIST_NUMBERS] = {};
        uint32_t column = threadIdx.x;
        for (uint32_t i = 0; i < n_threads; i++) {
            const uint32_t *const cell = memory + b * n_threads + column;
            count += cell[0];
#pragma unroll
            for (int k = 0; k < hist_numbers(SUMS); k++)
                sum[k] += hist_widen<SUMS>((int32_t)cell[(k + 1) * plane]);
            column = column + 1 == n_threads ? 0 : column + 1;
        }
        a.parts.d_count[row + b] = count;
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++)
            hist_store_sum<SUMS>(a.parts.d_sum[k], row + b, 0, sum[k]);
    }
}

/* Plans a call: its jobs, threads per block and shared memory. The caller chooses the kernel. */
static int plan_make(const struct rw_hist_call *call, struct rw_hist_args *args,
                     struct rw_hist_launch *launch)
{
    const uint32_t n_bins = call->matrix->n_bins;
    const size_t thread_bytes = n_bins * sizeof(uint32_t) * hist_words(call->sums);
    unsigned threads =
        n_bins <= RW_TUNE_FREE_FEW_BINS ? RW_TUNE_FREE_FEW_THREADS : RW_TUNE_FREE_MANY_THREADS;
    while (threads > 32 && threads * thread_bytes > call->shared_bytes)
        threads -= 32;
    *launch = {NULL, threads, threads * thread_bytes};
    /* A thread has at most segment / threads + 10 documents (hist_visit_range). */
    uint64_t most = (rw_hist_most_documents(call) - 32) * threads;
    most = most < RW_TUNE_HIST_MOST_SEGMENT ? most : RW_TUNE_HIST_MOST_SEGMENT;
    return rw_hist_args_init(call, call->matrix->n_features,
                             (uint64_t)call->n_multiprocessors * RW_TUNE_HIST_BLOCKS,
                             RW_TUNE_HIST_LEAST_SEGMENT, most, args);
}

static size_t scratch_bytes(const struct rw_hist_call *call)
{
    struct rw_hist_args args;
    struct rw_hist_launch launch;
    if (rw_hist_n_cells(call) == 0 || plan_make(call, &args, &launch) != cudaSuccess)
        return 0;
    return rw_hist_derive_bytes(call) + rw_hist_parts_bytes(call, &args, NULL);
}

extern "C" int rw_hist_collision_free_unroll(uint32_t n_bins)
{
    return n_bins <= 2   ? RW_TUNE_FREE_UNROLL_2
           : n_bins <= 8 ? RW_TUNE_FREE_UNROLL_8
                         : RW_TUNE_FREE_UNROLL_MORE;
}

extern "C" int rw_cuda_hist_collision_free(const struct rw_hist_call *call, int unroll,
                                           void *stream_of_call)
{
    static const rw_hist_kernel_fn kernel[][4] = {
        RW_HIST_WITH_SUMS(hist_free_kernel, 1),  RW_HIST_WITH_SUMS(hist_free_kernel, 2),
        RW_HIST_WITH_SUMS(hist_free_kernel, 4),  RW_HIST_WITH_SUMS(hist_free_kernel, 8),
        RW_HIST_WITH_SUMS(hist_free_kernel, 16), RW_HIST_WITH_SUMS(hist_free_kernel, 32)};
    const cudaStream_t stream = (cudaStream_t)stream_of_call;
    struct rw_hist_args args;
    struct rw_hist_launch launch;
    if (rw_hist_n_cells(call) == 0)
        return cudaSuccess;
    TRY_CUDA(plan_make(call, &args, &launch));
    rw_hist_parts_bytes(call, &args, (char *)call->d_scratch + rw_hist_derive_bytes(call));
    launch.kernel = kernel[__builtin_ctz((unsigned)unroll)][call->sums];
    TRY_CUDA(rw_cuda_hist_launch(&args, &launch, stream));
    TRY_CUDA(rw_cuda_hist_merge(call, &args, stream));
    return rw_cuda_hist_derive(call, stream);
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_collision_free(call, rw_hist_collision_free_unroll(call->matrix->n_bins),
                                       stream);
}

const struct rw_hist_method rw_hist_collision_free = {
    .name = "collision-free",
    .most_bins = HIST_FREE_MOST_BINS,
    .sums = RW_HIST_ANY_SUMS,
    .zero_skip = 1,
    .scratch_bytes = scratch_bytes,
    .run = run,
};
