/* `collision-free`: a private histogram a thread in shared memory, no atomics.
 *
 * Why: weighted histogramming, section 4.2: with few bins each thread can have a histogram of its
 * own, so the speed does not depend on the data. Few threads fit then, so each keeps several words
 * of codes in flight (4.2.3: columns are padded and the loop is unrolled by hand).
 *
 * Shapes: columns [n_features][column_words]; shared [sums][n_bins][threads] of 32 bits: a thread's
 * column is a bank of its own; parts [n_jobs][n_cells] in scratch; result [n_nodes][n_cells].
 *
 * Decomposition: a block a (job, feature): documents in segments (4.2.2); threads over words of
 * codes, or over places of the list. Then each thread takes charge of a bin and adds it up over the
 * threads, starting at its own number so that a warp touches 32 banks (Figure 1, step 2). A second
 * kernel merges the parts of a node's jobs.
 *
 * 32-bit sums of a thread hold rw_hist_most_documents() documents; a job is kept so short that no
 * thread sees more. */
#include "gpu/hist/hist_block.cuh"
#include "gpu/hist/hist_collision_free.h"
#include "gpu/device/tuning.h"

enum { HIST_FREE_MOST_BINS = 128 };
static_assert(RW_TUNE_FREE_MANY_THREADS <= RW_TUNE_FREE_FEW_THREADS, "the bound of the launch");
static_assert(RW_TUNE_FREE_MANY_THREADS % 32 == 0 && RW_TUNE_FREE_FEW_THREADS % 32 == 0, "warps");

template <int UNROLL, int SUMS>
__global__ void __launch_bounds__(RW_TUNE_FREE_FEW_THREADS)
    hist_free_kernel(const __grid_constant__ struct rw_hist_args a,
                     const struct rw_hist_parts parts)
{
    extern __shared__ uint32_t memory[];
    const struct hist_work work = hist_work_of(a, blockIdx.x, a.n_features);
    const uint32_t n_threads = blockDim.x;
    const uint32_t plane = a.n_bins * n_threads; /* of one kind of number */
    uint32_t *const own = memory + threadIdx.x;
    for (uint32_t i = 0; i < hist_words(SUMS) * a.n_bins; i++)
        own[i * n_threads] = 0;
    hist_visit_any<SUMS, UNROLL>(
        a, work, work.lo, work.hi, [&](uint32_t code, const struct hist_item &item) {
            uint32_t *const cell = own + code * n_threads;
            cell[0] += 1;
            if (hist_has_lambda(SUMS))
                cell[plane] += (uint32_t)item.lambda;
            if (SUMS == RW_HIST_NEWTON)
                cell[2 * plane] += (uint32_t)item.weight;
            if (SUMS == RW_HIST_FLOAT)
                cell[plane] = __float_as_uint(__uint_as_float(cell[plane]) + item.value);
        });
    __syncthreads();

    const size_t row = (size_t)work.job * a.n_cells + hist_first(a, work.feature);
    const uint32_t n_bins = hist_length(a, work.feature);
    for (uint32_t b = threadIdx.x; b < n_bins; b += n_threads) {
        uint32_t count = 0;
        long long lambda = 0, weight = 0;
        double value = 0.0;
        uint32_t column = threadIdx.x;
        for (uint32_t i = 0; i < n_threads; i++) {
            const uint32_t *const cell = memory + b * n_threads + column;
            count += cell[0];
            if (hist_has_lambda(SUMS))
                lambda += (int32_t)cell[plane];
            if (SUMS == RW_HIST_NEWTON)
                weight += (int32_t)cell[2 * plane];
            if (SUMS == RW_HIST_FLOAT)
                value += (double)__uint_as_float(cell[plane]);
            column = column + 1 == n_threads ? 0 : column + 1;
        }
        parts.d_count[row + b] = count;
        if (hist_has_lambda(SUMS))
            parts.d_lambda_sum[row + b] = lambda;
        if (SUMS == RW_HIST_NEWTON)
            parts.d_weight_sum[row + b] = weight;
        if (SUMS == RW_HIST_FLOAT)
            parts.d_float_sum[row + b] = (float)value;
    }
}

/* How a call runs: threads a block, shared memory, jobs. */
struct free_plan {
    unsigned threads;
    size_t bytes;
    struct rw_hist_args args;
};

static int plan_make(const struct rw_hist_call *call, struct free_plan *plan)
{
    const uint32_t n_bins = call->matrix->n_bins;
    const size_t thread_bytes = n_bins * sizeof(uint32_t) * hist_words(call->sums);
    plan->threads =
        n_bins <= RW_TUNE_FREE_FEW_BINS ? RW_TUNE_FREE_FEW_THREADS : RW_TUNE_FREE_MANY_THREADS;
    while (plan->threads > 32 && plan->threads * thread_bytes > call->shared_bytes)
        plan->threads -= 32;
    plan->bytes = plan->threads * thread_bytes;
    /* A thread sees at most segment / threads + 10 documents: hist_visit_range. */
    uint64_t most = (rw_hist_most_documents(call) - 32) * plan->threads;
    most = most < RW_TUNE_HIST_MOST_SEGMENT ? most : RW_TUNE_HIST_MOST_SEGMENT;
    return rw_hist_args_init(call, call->matrix->n_features,
                             (uint64_t)call->n_multiprocessors * RW_TUNE_HIST_BLOCKS,
                             RW_TUNE_HIST_LEAST_SEGMENT, most, &plan->args);
}

template <int UNROLL, int SUMS>
static int launch(const struct free_plan *plan, const struct rw_hist_parts *parts,
                  cudaStream_t stream)
{
    if (plan->bytes > 48 * 1024) {
        const cudaError_t error =
            cudaFuncSetAttribute(hist_free_kernel<UNROLL, SUMS>,
                                 cudaFuncAttributeMaxDynamicSharedMemorySize, (int)plan->bytes);
        if (error != cudaSuccess)
            return error;
    }
    const unsigned grid = rw_hist_n_jobs(&plan->args) * plan->args.n_features;
    hist_free_kernel<UNROLL, SUMS>
        <<<grid, plan->threads, plan->bytes, stream>>>(plan->args, *parts);
    return cudaGetLastError();
}

template <int UNROLL>
static int launch_sums(enum rw_hist_sums sums, const struct free_plan *plan,
                       const struct rw_hist_parts *parts, cudaStream_t stream)
{
    switch (sums) {
    case RW_HIST_COUNT:
        return launch<UNROLL, RW_HIST_COUNT>(plan, parts, stream);
    case RW_HIST_MART:
        return launch<UNROLL, RW_HIST_MART>(plan, parts, stream);
    case RW_HIST_NEWTON:
        return launch<UNROLL, RW_HIST_NEWTON>(plan, parts, stream);
    case RW_HIST_FLOAT:
        return launch<UNROLL, RW_HIST_FLOAT>(plan, parts, stream);
    }
    return cudaErrorInvalidValue;
}

static int launch_unroll(int unroll, enum rw_hist_sums sums, const struct free_plan *plan,
                         const struct rw_hist_parts *parts, cudaStream_t stream)
{
    switch (unroll) {
    case 1:
        return launch_sums<1>(sums, plan, parts, stream);
    case 2:
        return launch_sums<2>(sums, plan, parts, stream);
    case 4:
        return launch_sums<4>(sums, plan, parts, stream);
    case 8:
        return launch_sums<8>(sums, plan, parts, stream);
    case 16:
        return launch_sums<16>(sums, plan, parts, stream);
    case 32:
        return launch_sums<32>(sums, plan, parts, stream);
    }
    return cudaErrorInvalidValue;
}

static size_t scratch_bytes(const struct rw_hist_call *call)
{
    struct free_plan plan;
    if (rw_hist_n_cells(call) == 0 || plan_make(call, &plan) != cudaSuccess)
        return 0;
    return rw_hist_derive_bytes(call) +
           rw_hist_parts_bytes(call, rw_hist_n_jobs(&plan.args), NULL, NULL);
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
    const cudaStream_t stream = (cudaStream_t)stream_of_call;
    if (rw_hist_n_cells(call) == 0)
        return cudaSuccess;
    struct free_plan plan;
    int status = plan_make(call, &plan);
    struct rw_hist_parts parts;
    if (status == cudaSuccess)
        rw_hist_parts_bytes(call, rw_hist_n_jobs(&plan.args),
                            (char *)call->d_scratch + rw_hist_derive_bytes(call), &parts);
    if (status == cudaSuccess && rw_hist_n_jobs(&plan.args) > 0)
        status = launch_unroll(unroll, call->sums, &plan, &parts, stream);
    if (status == cudaSuccess)
        status = rw_cuda_hist_merge(call, &plan.args, &parts, stream);
    return status == cudaSuccess ? rw_cuda_hist_derive(call, stream) : status;
}

static int run(const struct rw_hist_call *call, void *stream)
{
    return rw_cuda_hist_collision_free(call, rw_hist_collision_free_unroll(call->matrix->n_bins),
                                       stream);
}

const struct rw_hist_method rw_hist_collision_free = {
    "collision-free",
    "weighted histogramming 4.2",
    4 | 8 | 16,
    HIST_FREE_MOST_BINS,
    1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON | 1u << RW_HIST_FLOAT,
    1,
    1,
    1,
    0,
    scratch_bytes,
    run,
};
