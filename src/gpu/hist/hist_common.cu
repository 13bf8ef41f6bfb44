/* The kernels around a method's own: clearing the result, merging the histograms of jobs, and the
 * cells that zero-skip left out.
 *
 * Why: a method that skips the most frequent code of a feature (section 4.4.2 of the weighted
 * histogramming document) gets that cell as the node's total less the other cells; and a method
 * whose blocks write one histogram a job (sections 4.2.2 and 4.4.1) needs them added up.
 *
 * Shapes: totals [n_nodes]; parts [n_jobs][n_cells]; the result [n_nodes][n_cells].
 *
 * Decomposition: totals: a block a job, all its features being alike. Derive: a block a (node,
 * feature), threads over bins. Merge: a block has HIST_MERGE_THREADS / n_lanes cells in a row; its
 * lane l adds jobs l, l + n_lanes, ... of the cell's node, so that few cells of many jobs keep a
 * device as busy as many cells of few. */
#include <cub/block/block_reduce.cuh>
#include <string.h>

#include "gpu/hist/hist_block.cuh"
#include "gpu/device/tuning.h"

enum { HIST_TOTALS_THREADS = 256, HIST_DERIVE_THREADS = 128, HIST_MERGE_THREADS = 256 };

/* ---- Host: a call's arguments ---- */

static int aligned(const void *p)
{
    return ((uintptr_t)p & 15) == 0;
}

int rw_hist_args_init(const struct rw_hist_call *call, uint32_t n_features, uint64_t n_blocks,
                      uint64_t least, uint64_t most, struct rw_hist_args *args)
{
    memset(args, 0, sizeof *args);
    args->d_column = call->matrix->d_column;
    args->column_words = call->matrix->column_words;
    args->n_features = call->matrix->n_features;
    args->n_bins = call->matrix->n_bins;
    args->d_row = call->matrix->d_row;
    args->n_cells = (uint32_t)rw_hist_matrix_cells(call->matrix);
    args->bits = call->matrix->bits;
    args->wide = aligned(call->d_lambda) && aligned(call->d_weight) && aligned(call->d_float);
    args->d_list = call->d_list;
    args->d_node = call->d_node;
    args->d_lambda = call->d_lambda;
    args->d_weight = call->d_weight;
    args->d_float = call->d_float;
    args->d_frequent = call->zero_skip ? call->d_frequent : NULL;
    args->d_count = call->d_count;
    args->d_lambda_sum = (unsigned long long *)call->d_lambda_sum;
    args->d_weight_sum = (unsigned long long *)call->d_weight_sum;
    args->d_float_sum = call->d_float_sum;
    args->chunk = rw_hist_most_documents(call);

    uint64_t n_docs = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        n_docs += call->node[i].n;
    const uint64_t wanted = n_features < n_blocks ? n_blocks / (n_features ? n_features : 1) : 1;
    uint64_t segment = n_docs / wanted + 1;
    segment = segment < least ? least : segment;
    segment = segment > most ? most : segment;
    args->jobs.segment = (segment + 31) / 32 * 32;
    args->jobs.n_nodes = call->n_nodes;
    uint64_t n_jobs = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        n_jobs += (call->node[i].n + args->jobs.segment - 1) / args->jobs.segment;
        if (n_jobs * (n_features ? n_features : 1) > INT32_MAX)
            return cudaErrorInvalidConfiguration;
        args->jobs.first_job[i + 1] = (uint32_t)n_jobs;
    }
    return cudaSuccess;
}

uint64_t rw_hist_most_documents(const struct rw_hist_call *call)
{
    if (call->sums == RW_HIST_COUNT || call->sums == RW_HIST_FLOAT || call->largest < 1)
        return (uint64_t)INT32_MAX / 32 * 32;
    return (uint64_t)INT32_MAX / (uint64_t)call->largest / 32 * 32;
}

int rw_cuda_hist_clear(const struct rw_hist_call *call, cudaStream_t stream)
{
    const size_t n = rw_hist_n_cells(call);
    cudaError_t error = cudaMemsetAsync(call->d_count, 0, n * sizeof *call->d_count, stream);
    if (error == cudaSuccess && hist_has_lambda(call->sums))
        error = cudaMemsetAsync(call->d_lambda_sum, 0, n * sizeof *call->d_lambda_sum, stream);
    if (error == cudaSuccess && call->sums == RW_HIST_NEWTON)
        error = cudaMemsetAsync(call->d_weight_sum, 0, n * sizeof *call->d_weight_sum, stream);
    if (error == cudaSuccess && call->sums == RW_HIST_FLOAT)
        error = cudaMemsetAsync(call->d_float_sum, 0, n * sizeof *call->d_float_sum, stream);
    return error;
}

/* ---- Zero-skip ---- */

template <int SUMS>
__global__ void hist_totals_kernel(const __grid_constant__ struct rw_hist_args a,
                                   struct rw_hist_total *d_total)
{
    using reduce_sum = cub::BlockReduce<unsigned long long, HIST_TOTALS_THREADS>;
    using reduce_value = cub::BlockReduce<double, HIST_TOTALS_THREADS>;
    __shared__ union {
        typename reduce_sum::TempStorage sum;
        typename reduce_value::TempStorage value;
    } shared;

    const struct hist_work work = hist_work_of(a, blockIdx.x, 1);
    long long lambda = 0, weight = 0;
    double value = 0.0;
    for (uint64_t p = work.lo + threadIdx.x; p < work.hi; p += HIST_TOTALS_THREADS) {
        const uint64_t doc = a.d_list ? a.d_list[p] : p;
        const struct hist_item item = hist_item_at<SUMS>(a, doc);
        lambda += item.lambda;
        weight += item.weight;
        value += (double)item.value;
    }
    if (SUMS == RW_HIST_FLOAT) {
        const double total = reduce_value(shared.value).Sum(value);
        if (threadIdx.x == 0)
            atomicAdd(&d_total[work.node].value, total);
        return;
    }
    const unsigned long long lambdas = reduce_sum(shared.sum).Sum((unsigned long long)lambda);
    __syncthreads(); /* the reduction's memory is used again */
    const unsigned long long weights = reduce_sum(shared.sum).Sum((unsigned long long)weight);
    if (threadIdx.x == 0) {
        atomicAdd(&d_total[work.node].lambda, lambdas);
        atomicAdd(&d_total[work.node].weight, weights);
    }
}

template <int SUMS>
__global__ void hist_derive_kernel(const __grid_constant__ struct rw_hist_args a,
                                   const struct rw_hist_total *d_total)
{
    using reduce_sum = cub::BlockReduce<unsigned long long, HIST_DERIVE_THREADS>;
    using reduce_value = cub::BlockReduce<double, HIST_DERIVE_THREADS>;
    __shared__ union {
        typename reduce_sum::TempStorage sum;
        typename reduce_value::TempStorage value;
    } shared;

    const uint32_t node = blockIdx.x / a.n_features, feature = blockIdx.x % a.n_features;
    const size_t row = (size_t)node * a.n_cells + hist_first(a, feature);
    const uint32_t n_bins = hist_length(a, feature), frequent = a.d_frequent[feature];
    if (frequent >= n_bins) /* no document was left out; the same for the whole block */
        return;
    unsigned long long count = 0, lambda = 0, weight = 0;
    double value = 0.0;
    for (uint32_t b = threadIdx.x; b < n_bins; b += HIST_DERIVE_THREADS) {
        if (b == frequent)
            continue;
        count += a.d_count[row + b];
        if (hist_has_lambda(SUMS))
            lambda += a.d_lambda_sum[row + b];
        if (SUMS == RW_HIST_NEWTON)
            weight += a.d_weight_sum[row + b];
        if (SUMS == RW_HIST_FLOAT)
            value += (double)a.d_float_sum[row + b];
    }
    count = reduce_sum(shared.sum).Sum(count);
    if (threadIdx.x == 0)
        a.d_count[row + frequent] = (uint32_t)(a.d_node[node].n - count);
    if (hist_has_lambda(SUMS)) {
        __syncthreads();
        lambda = reduce_sum(shared.sum).Sum(lambda);
        if (threadIdx.x == 0)
            a.d_lambda_sum[row + frequent] = d_total[node].lambda - lambda;
    }
    if (SUMS == RW_HIST_NEWTON) {
        __syncthreads();
        weight = reduce_sum(shared.sum).Sum(weight);
        if (threadIdx.x == 0)
            a.d_weight_sum[row + frequent] = d_total[node].weight - weight;
    }
    if (SUMS == RW_HIST_FLOAT) {
        __syncthreads();
        value = reduce_value(shared.value).Sum(value);
        if (threadIdx.x == 0)
            a.d_float_sum[row + frequent] = (float)(d_total[node].value - value);
    }
}

size_t rw_hist_derive_bytes(const struct rw_hist_call *call)
{
    return call->zero_skip ? rw_hist_round_up(call->n_nodes * sizeof(struct rw_hist_total)) : 0;
}

template <int SUMS> static int derive_launch(const struct rw_hist_call *call, cudaStream_t stream)
{
    struct rw_hist_total *const d_total = (struct rw_hist_total *)call->d_scratch;
    const uint64_t blocks = (uint64_t)call->n_multiprocessors * RW_TUNE_HIST_TOTALS_BLOCKS;
    struct rw_hist_args args;
    const int status = rw_hist_args_init(call, 1, blocks, RW_TUNE_HIST_LEAST_SEGMENT,
                                         RW_TUNE_HIST_MOST_SEGMENT, &args);
    if (status != cudaSuccess)
        return status;
    if ((uint64_t)call->n_nodes * args.n_features > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    if (SUMS != RW_HIST_COUNT) {
        const cudaError_t error =
            cudaMemsetAsync(d_total, 0, call->n_nodes * sizeof *d_total, stream);
        if (error != cudaSuccess)
            return error;
        if (rw_hist_n_jobs(&args) > 0) {
            hist_totals_kernel<SUMS>
                <<<rw_hist_n_jobs(&args), HIST_TOTALS_THREADS, 0, stream>>>(args, d_total);
            const cudaError_t launched = cudaGetLastError();
            if (launched != cudaSuccess)
                return launched;
        }
    }
    hist_derive_kernel<SUMS>
        <<<call->n_nodes * args.n_features, HIST_DERIVE_THREADS, 0, stream>>>(args, d_total);
    return cudaGetLastError();
}

int rw_cuda_hist_derive(const struct rw_hist_call *call, cudaStream_t stream)
{
    if (!call->zero_skip || rw_hist_n_cells(call) == 0)
        return cudaSuccess;
    switch (call->sums) {
    case RW_HIST_COUNT:
        return derive_launch<RW_HIST_COUNT>(call, stream);
    case RW_HIST_MART:
        return derive_launch<RW_HIST_MART>(call, stream);
    case RW_HIST_NEWTON:
        return derive_launch<RW_HIST_NEWTON>(call, stream);
    case RW_HIST_FLOAT:
        return derive_launch<RW_HIST_FLOAT>(call, stream);
    }
    return cudaErrorInvalidValue;
}

int rw_cuda_hist_in_place(const struct rw_hist_call *call, const rw_hist_launch_fn *launch,
                          cudaStream_t stream)
{
    if (rw_hist_n_cells(call) == 0)
        return cudaSuccess;
    struct rw_hist_args args;
    int status = rw_hist_args_init(call, call->matrix->n_features,
                                   (uint64_t)call->n_multiprocessors * RW_TUNE_HIST_BLOCKS,
                                   RW_TUNE_HIST_LEAST_SEGMENT, RW_TUNE_HIST_MOST_SEGMENT, &args);
    if (status == cudaSuccess)
        status = rw_cuda_hist_clear(call, stream);
    if (status == cudaSuccess && rw_hist_n_jobs(&args) > 0)
        status = launch[call->sums](&args, stream);
    return status == cudaSuccess ? rw_cuda_hist_derive(call, stream) : status;
}

/* Nodes that a block of their own takes at once. */
static int are_small(const struct rw_hist_call *call)
{
    uint64_t most = rw_hist_most_documents(call);
    most = most < RW_TUNE_HIST_WHOLE_NODE ? most : RW_TUNE_HIST_WHOLE_NODE;
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        if (call->node[i].n == 0 || call->node[i].n > most) /* no job would clear an empty one */
            return 0;
    }
    return !call->zero_skip;
}

int rw_cuda_hist_whole(const struct rw_hist_call *call, const rw_hist_launch_fn *launch,
                       cudaStream_t stream)
{
    struct rw_hist_args args;
    int status;
    if (rw_hist_n_cells(call) == 0)
        return cudaSuccess;
    if (!are_small(call)) {
        status = rw_cuda_hist_in_place(call, launch, stream);
        return status == cudaSuccess && call->d_parent ? rw_cuda_hist_subtract(call, stream)
                                                       : status;
    }
    status = rw_hist_args_init(call, call->matrix->n_features, 1, RW_TUNE_HIST_WHOLE_NODE,
                               RW_TUNE_HIST_WHOLE_NODE, &args);
    if (status != cudaSuccess)
        return status;
    args.whole = 1;
    args.d_parent = call->d_parent;
    args.parents = call->parents;
    return launch[call->sums](&args, stream);
}

/* ---- Siblings ---- */

/* Block: cells of a node in a row; grid y = node. */
static __global__ void hist_subtract_kernel(const __grid_constant__ struct rw_hist_call call,
                                            uint64_t n_cells)
{
    const uint32_t parent = call.d_parent[blockIdx.y];
    if (parent == RW_HIST_NO_PARENT)
        return;
    const uint64_t node = blockIdx.y * n_cells, from = parent * n_cells;
    for (uint64_t i = blockIdx.x * (uint64_t)HIST_MERGE_THREADS + threadIdx.x; i < n_cells;
         i += (uint64_t)gridDim.x * HIST_MERGE_THREADS) {
        call.parents.d_count[from + i] -= call.d_count[node + i];
        if (call.d_lambda_sum)
            call.parents.d_lambda_sum[from + i] -= call.d_lambda_sum[node + i];
        if (call.d_weight_sum)
            call.parents.d_weight_sum[from + i] -= call.d_weight_sum[node + i];
    }
}

int rw_cuda_hist_subtract(const struct rw_hist_call *call, void *stream)
{
    const uint64_t n_cells = rw_hist_matrix_cells(call->matrix);
    const uint64_t blocks = (n_cells + HIST_MERGE_THREADS - 1) / HIST_MERGE_THREADS;
    if (n_cells == 0 || call->n_nodes == 0)
        return cudaSuccess;
    const dim3 grid((unsigned)(blocks < 65535 ? blocks : 65535), call->n_nodes);
    hist_subtract_kernel<<<grid, HIST_MERGE_THREADS, 0, (cudaStream_t)stream>>>(*call, n_cells);
    return cudaGetLastError();
}

/* ---- Merging the histograms of jobs ---- */

template <int SUMS>
__global__ void hist_merge_kernel(const __grid_constant__ struct rw_hist_args a,
                                  const struct rw_hist_parts parts, uint32_t n_lanes)
{
    __shared__ uint32_t counts[HIST_MERGE_THREADS];
    __shared__ long long lambdas[HIST_MERGE_THREADS], weights[HIST_MERGE_THREADS];
    __shared__ double values[HIST_MERGE_THREADS];

    const size_t node_cells = a.n_cells;
    const size_t n_cells = a.jobs.n_nodes * node_cells;
    const uint32_t cells = HIST_MERGE_THREADS / n_lanes;
    const uint32_t lane = threadIdx.x / cells;
    const size_t cell = (size_t)blockIdx.x * cells + threadIdx.x % cells;
    uint32_t count = 0;
    long long lambda = 0, weight = 0;
    double value = 0.0;
    if (cell < n_cells) {
        const uint32_t node = (uint32_t)(cell / node_cells);
        const size_t inside = cell % node_cells;
        const uint32_t end = a.jobs.first_job[node + 1];
#pragma unroll 4
        for (uint32_t job = a.jobs.first_job[node] + lane; job < end; job += n_lanes) {
            const size_t part = job * node_cells + inside;
            count += parts.d_count[part];
            if (hist_has_lambda(SUMS))
                lambda += parts.d_lambda_sum[part];
            if (SUMS == RW_HIST_NEWTON)
                weight += parts.d_weight_sum[part];
            if (SUMS == RW_HIST_FLOAT)
                value += (double)parts.d_float_sum[part];
        }
    }
    counts[threadIdx.x] = count;
    lambdas[threadIdx.x] = lambda;
    weights[threadIdx.x] = weight;
    values[threadIdx.x] = value;
    __syncthreads();
    if (lane > 0 || cell >= n_cells)
        return;
    for (uint32_t l = 1; l < n_lanes; l++) {
        count += counts[l * cells + threadIdx.x];
        lambda += lambdas[l * cells + threadIdx.x];
        weight += weights[l * cells + threadIdx.x];
        value += values[l * cells + threadIdx.x];
    }
    a.d_count[cell] = count;
    if (hist_has_lambda(SUMS))
        a.d_lambda_sum[cell] = (unsigned long long)lambda;
    if (SUMS == RW_HIST_NEWTON)
        a.d_weight_sum[cell] = (unsigned long long)weight;
    if (SUMS == RW_HIST_FLOAT)
        a.d_float_sum[cell] = (float)value;
}

size_t rw_hist_parts_bytes(const struct rw_hist_call *call, uint32_t n_jobs, void *d_scratch,
                           struct rw_hist_parts *parts)
{
    const size_t n = (size_t)n_jobs * rw_hist_matrix_cells(call->matrix);
    const size_t narrow = rw_hist_round_up(n * sizeof(uint32_t));
    const size_t wide = rw_hist_round_up(n * sizeof(long long));
    char *const base = (char *)d_scratch;
    if (parts) {
        memset(parts, 0, sizeof *parts);
        parts->d_count = (uint32_t *)base;
    }
    size_t bytes = narrow;
    if (hist_has_lambda(call->sums)) {
        if (parts)
            parts->d_lambda_sum = (long long *)(base + bytes);
        bytes += wide;
    }
    if (call->sums == RW_HIST_NEWTON) {
        if (parts)
            parts->d_weight_sum = (long long *)(base + bytes);
        bytes += wide;
    }
    if (call->sums == RW_HIST_FLOAT) {
        if (parts)
            parts->d_float_sum = (float *)(base + bytes);
        bytes += narrow;
    }
    return bytes;
}

int rw_cuda_hist_merge(const struct rw_hist_call *call, const struct rw_hist_args *args,
                       const struct rw_hist_parts *parts, cudaStream_t stream)
{
    uint32_t most = 1; /* jobs of a node */
    for (uint32_t i = 0; i < args->jobs.n_nodes; i++) {
        const uint32_t n = args->jobs.first_job[i + 1] - args->jobs.first_job[i];
        most = n > most ? n : most;
    }
    uint32_t n_lanes = 1;
    while (n_lanes < 32 && n_lanes < most)
        n_lanes *= 2;
    const size_t n_cells = rw_hist_n_cells(call);
    const uint32_t cells = HIST_MERGE_THREADS / n_lanes;
    const size_t blocks = (n_cells + cells - 1) / cells;
    if (blocks > INT32_MAX)
        return cudaErrorInvalidConfiguration;
    const unsigned grid = (unsigned)blocks;
    if (grid == 0)
        return cudaSuccess;
    switch (call->sums) {
    case RW_HIST_COUNT:
        hist_merge_kernel<RW_HIST_COUNT>
            <<<grid, HIST_MERGE_THREADS, 0, stream>>>(*args, *parts, n_lanes);
        break;
    case RW_HIST_MART:
        hist_merge_kernel<RW_HIST_MART>
            <<<grid, HIST_MERGE_THREADS, 0, stream>>>(*args, *parts, n_lanes);
        break;
    case RW_HIST_NEWTON:
        hist_merge_kernel<RW_HIST_NEWTON>
            <<<grid, HIST_MERGE_THREADS, 0, stream>>>(*args, *parts, n_lanes);
        break;
    case RW_HIST_FLOAT:
        hist_merge_kernel<RW_HIST_FLOAT>
            <<<grid, HIST_MERGE_THREADS, 0, stream>>>(*args, *parts, n_lanes);
        break;
    }
    return cudaGetLastError();
}
