/* The host's part of the methods that read columns (hist_block.cuh), and the kernels around their
 * own, which subtract siblings and derive the cells that zero-skip left out. Zero-skip leaves out
 * the most frequent code of a feature (Xu et al., section 4.4.2). The cell of that code is the
 * node's total minus the feature's other cells.
 *
 * Shapes: totals [n_nodes]; result [n_nodes][n_cells].
 *
 * Decomposition: the totals have a block per job, since all features have the same totals. The
 * derivation has a block per (node, feature), with threads over bins. The subtraction has blocks
 * over the cells of a histogram, and grid y is the node. */
#include <cub/block/block_reduce.cuh>
#include <string.h>

#include "gpu/hist/hist_block.cuh"

enum { HIST_TOTALS_THREADS = 256, HIST_DERIVE_THREADS = 128, HIST_SUBTRACT_THREADS = 256 };
/* Shared memory that a block may have without cudaFuncSetAttribute. */
enum { DEFAULT_SHARED_BYTES = 48 * 1024 };

static int aligned(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

/* Returns the most documents in one bin with which a 32-bit sum cannot overflow, rounded down to a
 * multiple of 32. */
static uint64_t most_documents(const struct rw_hist_call *call)
{
    if (call->sums == RW_HIST_COUNT || call->sums == RW_HIST_FLOAT || call->largest < 1)
        return (uint64_t)INT32_MAX / 32 * 32;
    return (uint64_t)INT32_MAX / (uint64_t)call->largest / 32 * 32;
}

/* Fills `args` from the call. Divides nodes into jobs so that jobs x n_features is about n_blocks;
 * n_features is 1 for kernels with one block per job. A job has at least `least` and at most `most`
 * documents, both multiples of 32, but the last job of a node may have fewer. Returns 0, or a
 * cudaError_t if the grid would be too large. */
static int args_init(const struct rw_hist_call *call, uint32_t n_features, uint64_t n_blocks,
                     uint64_t least, uint64_t most, struct rw_hist_args *args)
{
    const int floats = call->sums == RW_HIST_FLOAT;
    memset(args, 0, sizeof *args);
    args->d_column = call->matrix->d_column;
    args->column_words = call->matrix->column_words;
    args->n_features = call->matrix->n_features;
    args->n_bins = call->matrix->n_bins;
    args->d_row = call->matrix->d_row;
    args->n_cells = (uint32_t)rw_hist_matrix_cells(call->matrix);
    args->bits = call->matrix->bits;
    args->wide = aligned(call->d_lambda) && aligned(call->d_hess) && aligned(call->d_float);
    args->d_list = call->d_list;
    args->d_node = call->d_node;
    args->d_number[0] = floats ? (const int32_t *)call->d_float : call->d_lambda;
    args->d_number[1] = call->d_hess;
    args->d_frequent = call->zero_skip ? call->d_frequent : NULL;
    args->d_count = call->d_count;
    args->d_sum[0] = floats ? (void *)call->d_float_sum : call->d_lambda_sum;
    args->d_sum[1] = call->d_hess_sum;
    args->narrow = call->narrow;
    args->chunk = most_documents(call);

    const uint64_t wanted = n_features < n_blocks ? n_blocks / n_features : 1;
    uint64_t segment = rw_hist_docs(call) / wanted + 1;
    segment = segment < least ? least : segment;
    segment = segment > most ? most : segment;
    args->jobs.segment = (segment + 31) / 32 * 32;
    args->jobs.n_nodes = call->n_nodes;
    uint64_t n_jobs = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        n_jobs += (call->node[i].n + args->jobs.segment - 1) / args->jobs.segment;
        if (n_jobs * n_features > INT32_MAX)
            return cudaErrorInvalidConfiguration;
        args->jobs.first_job[i + 1] = (uint32_t)n_jobs;
    }
    return cudaSuccess;
}

static int clear_result(const struct rw_hist_call *call, const struct rw_hist_args *args,
                        cudaStream_t stream)
{
    const size_t n = rw_hist_n_cells(call), size = call->sums == RW_HIST_FLOAT
                                                       ? sizeof(float)
                                                       : rw_hist_sum_bytes(call->narrow);
    TRY_CUDA(cudaMemsetAsync(call->d_count, 0, n * sizeof *call->d_count, stream));
    for (int k = 0; k < hist_numbers(call->sums); k++)
        TRY_CUDA(cudaMemsetAsync(args->d_sum[k], 0, n * size, stream));
    return cudaSuccess;
}

/* ---- Zero-skip ---- */

/* Instances of a kernel, one per enum rw_hist_sums. */
#define RW_HIST_ALL_SUMS(kernel)                                                                   \
    {                                                                                              \
        kernel<RW_HIST_COUNT>, kernel<RW_HIST_MART>, kernel<RW_HIST_NEWTON>, kernel<RW_HIST_FLOAT> \
    }

/* The sums of one node's documents: integers modulo 2^64, or doubles. */
struct rw_hist_total {
    unsigned long long sum[RW_HIST_NUMBERS];
};

template <int SUMS>
__global__ void hist_totals_kernel(const __grid_constant__ struct rw_hist_args a,
                                   struct rw_hist_total *d_total)
{
    using wide = typename hist_wide<SUMS>::type;
    using reduce = cub::BlockReduce<wide, HIST_TOTALS_THREADS>;
    __shared__ typename reduce::TempStorage shared;

    const struct hist_work work = hist_work_of(a, blockIdx.x, 1);
    wide sum[RW_HIST_NUMBERS] = {};
    for (uint64_t p = work.lo + threadIdx.x; p < work.hi; p += HIST_TOTALS_THREADS) {
        const uint64_t doc = a.d_list ? a.d_list[p] : p;
        const struct hist_item item = hist_item_at<SUMS>(a, doc);
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++)
            sum[k] += hist_widen<SUMS>(item.number[k]);
    }
#pragma unroll
    for (int k = 0; k < hist_numbers(SUMS); k++) {
        const wide total = reduce(shared).Sum(sum[k]);
        if (threadIdx.x == 0)
            atomicAdd((wide *)&d_total[work.node].sum[k], total);
        __syncthreads(); /* before the next reduction reuses the memory */
    }
}

template <int SUMS>
__global__ void hist_derive_kernel(const __grid_constant__ struct rw_hist_args a,
                                   const struct rw_hist_total *d_total)
{
    using wide = typename hist_wide<SUMS>::type;
    using reduce_count = cub::BlockReduce<unsigned long long, HIST_DERIVE_THREADS>;
    using reduce_sum = cub::BlockReduce<wide, HIST_DERIVE_THREADS>;
    __shared__ union {
        typename reduce_count::TempStorage count;
        typename reduce_sum::TempStorage sum;
    } shared;

    const uint32_t node = blockIdx.x / a.n_features, feature = blockIdx.x % a.n_features;
    const size_t row = (size_t)node * a.n_cells + hist_first(a, feature);
    const uint32_t n_bins = hist_length(a, feature), frequent = a.d_frequent[feature];
    if (frequent >= n_bins) /* no document was left out; the whole block returns */
        return;
    unsigned long long count = 0;
    wide sum[RW_HIST_NUMBERS] = {};
    for (uint32_t b = threadIdx.x; b < n_bins; b += HIST_DERIVE_THREADS) {
        if (b == frequent)
            continue;
        count += a.d_count[row + b];
#pragma unroll
        for (int k = 0; k < hist_numbers(SUMS); k++)
            sum[k] += hist_load_sum<SUMS>(a.d_sum[k], row + b, a.narrow);
    }
    count = reduce_count(shared.count).Sum(count);
    if (threadIdx.x == 0)
        a.d_count[row + frequent] = (uint32_t)(a.d_node[node].n - count);
#pragma unroll
    for (int k = 0; k < hist_numbers(SUMS); k++) {
        __syncthreads(); /* before the next reduction reuses the memory */
        sum[k] = reduce_sum(shared.sum).Sum(sum[k]);
        if (threadIdx.x == 0)
            hist_store_sum<SUMS>(a.d_sum[k], row + frequent, a.narrow,
                                 *(const wide *)&d_total[node].sum[k] - sum[k]);
    }
}

size_t rw_hist_derive_bytes(const struct rw_hist_call *call)
{
    return call->zero_skip ? rw_hist_round_up(call->n_nodes * sizeof(struct rw_hist_total)) : 0;
}

/* With zero-skip, computes the cells of the frequent codes from the totals of the nodes. */
static int derive(const struct rw_hist_call *call, cudaStream_t stream)
{
    static void (*const totals[])(const struct rw_hist_args, struct rw_hist_total *) =
        RW_HIST_ALL_SUMS(hist_totals_kernel);
    static void (*const kernel[])(const struct rw_hist_args, const struct rw_hist_total *) =
        RW_HIST_ALL_SUMS(hist_derive_kernel);
    struct rw_hist_total *const d_total = (struct rw_hist_total *)call->d_scratch;
    const uint64_t blocks = (uint64_t)call->n_multiprocessors * RW_TUNE_HIST_TOTALS_BLOCKS;
    struct rw_hist_args args;
    if (!call->zero_skip)
        return cudaSuccess;
    TRY_CUDA(
        args_init(call, 1, blocks, RW_TUNE_HIST_LEAST_SEGMENT, RW_TUNE_HIST_MOST_SEGMENT, &args));
    if ((uint64_t)call->n_nodes * args.n_features > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    if (call->sums != RW_HIST_COUNT) {
        TRY_CUDA(cudaMemsetAsync(d_total, 0, call->n_nodes * sizeof *d_total, stream));
        TRY_CUDA(launch_grid(totals[call->sums], rw_hist_n_jobs(&args), HIST_TOTALS_THREADS, stream,
                             args, d_total));
    }
    return launch_grid(kernel[call->sums], call->n_nodes * args.n_features, HIST_DERIVE_THREADS,
                       stream, args, d_total);
}

/* ---- Siblings ---- */

static __global__ void hist_subtract_kernel(const __grid_constant__ struct rw_hist_call call,
                                            uint64_t n_cells)
{
    const uint32_t parent = call.d_parent[blockIdx.y];
    if (parent == RW_HIST_NO_PARENT)
        return;
    const uint64_t node = blockIdx.y * n_cells, from = parent * n_cells;
    for (uint64_t i = grid_first<HIST_SUBTRACT_THREADS>(); i < n_cells;
         i += grid_step<HIST_SUBTRACT_THREADS>()) {
        call.parents.d_count[from + i] -= call.d_count[node + i];
        if (call.d_lambda_sum)
            hist_take_sum(call.parents.d_lambda_sum, from + i, call.narrow,
                          hist_sum_at(call.d_lambda_sum, node + i, call.narrow));
        if (call.d_hess_sum)
            hist_take_sum(call.parents.d_hess_sum, from + i, call.narrow,
                          hist_sum_at(call.d_hess_sum, node + i, call.narrow));
    }
}

static int subtract(const struct rw_hist_call *call, cudaStream_t stream)
{
    const uint64_t n_cells = rw_hist_matrix_cells(call->matrix);
    const dim3 grid(blocks_up_to(65535, n_cells, HIST_SUBTRACT_THREADS), call->n_nodes);
    return launch_grid(hist_subtract_kernel, grid, HIST_SUBTRACT_THREADS, stream, *call, n_cells);
}

/* ---- A method's launch ---- */

/* Returns 1 if one block per feature can process each node alone: no node is empty or too large,
 * and the call does not skip codes. */
static int are_small(const struct rw_hist_call *call)
{
    uint64_t most = most_documents(call);
    most = most < RW_TUNE_HIST_WHOLE_NODE ? most : RW_TUNE_HIST_WHOLE_NODE;
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        /* an empty node has no job, so no block would write its cells */
        if (call->node[i].n == 0 || call->node[i].n > most)
            return 0;
    }
    return !call->zero_skip;
}

int rw_cuda_hist_in_place(const struct rw_hist_call *call, rw_hist_launch_fn launch_of,
                          int knows_whole, void *stream_of_call)
{
    cudaStream_t const stream = (cudaStream_t)stream_of_call;
    const int whole = knows_whole && are_small(call);
    const uint64_t blocks = whole ? 1 : (uint64_t)call->n_multiprocessors * RW_TUNE_HIST_BLOCKS;
    struct rw_hist_args args;
    if (rw_hist_n_cells(call) == 0)
        return cudaSuccess;
    TRY_CUDA(args_init(call, call->matrix->n_features, blocks,
                       whole ? RW_TUNE_HIST_WHOLE_NODE : RW_TUNE_HIST_LEAST_SEGMENT,
                       whole ? RW_TUNE_HIST_WHOLE_NODE : RW_TUNE_HIST_MOST_SEGMENT, &args));
    args.whole = whole;
    if (whole) {
        args.d_parent = call->d_parent;
        args.d_parent_count = call->parents.d_count;
        args.d_parent_sum[0] = call->parents.d_lambda_sum;
        args.d_parent_sum[1] = call->parents.d_hess_sum;
    } else {
        TRY_CUDA(clear_result(call, &args, stream));
    }
    const unsigned grid = rw_hist_n_jobs(&args) * args.n_features;
    if (grid > 0) {
        const struct rw_hist_launch launch = launch_of(call, &args);
        if (launch.bytes > DEFAULT_SHARED_BYTES)
            TRY_CUDA(cudaFuncSetAttribute(
                launch.kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)launch.bytes));
        launch.kernel<<<grid, launch.threads, launch.bytes, stream>>>(args);
        TRY_CUDA(cudaGetLastError());
    }
    TRY_CUDA(derive(call, stream));
    return call->d_parent && !whole ? subtract(call, stream) : cudaSuccess;
}
