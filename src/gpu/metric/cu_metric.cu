/* Computes metrics on the device. The value of a query comes from the inline functions that the
 * host uses, and sums are exact, so the means equal the host's by ==.
 *
 * Decomposition: a thread per document gathers the metrics' inputs in rank order. A thread per
 * query (the grid's second axis is the metric) adds the query's terms in that order, as
 * metric/metric.h requires; queries of similar size are in the same warps. A block adds up its
 * queries, and then one block per metric adds up the sums of all these blocks. */
#include "gpu/device/kernel.cuh"
#include "gpu/metric/metric_cuda.h"
#include "metric/metric.h"

enum { GATHER_THREADS = 256, QUERY_THREADS = RW_METRIC_QUERIES, SUM_THREADS = 128 };

/* Adds a number to a sum. Returns 1 if both are at least 0 and the result does not fit. */
RW_DEVICE uint32_t metric_add(rw_int128 &sum, rw_int128 by)
{
    const rw_int128 before = sum;
    sum = (rw_int128)((rw_uint128)before + (rw_uint128)by);
    return before >= 0 && by >= 0 && sum < 0;
}

RW_DEVICE void metric_merge(struct rw_cuda_metric_part &part,
                            const struct rw_cuda_metric_part &other)
{
    part.too_large |= other.too_large;
    part.too_large |= metric_add(part.sums.value, other.sums.value);
    part.too_large |= metric_add(part.sums.weight, other.sums.weight);
    part.sums.n_counted += other.sums.n_counted;
    part.sums.n_empty += other.sums.n_empty;
}

/* Writes the product of a whole number below 2^120 and a weight of 0 to 2^62, and the weight, to
 * part.sums, or sets part.too_large if the product does not fit. */
RW_DEVICE void metric_product(struct rw_cuda_metric_part &part, double whole, uint64_t weight)
{
    const rw_uint128 size = (rw_uint128)fabs(whole);
    const rw_uint128 low = (rw_uint128)(uint64_t)size * weight;
    const rw_uint128 high = (size >> 64) * weight + (low >> 64);
    if ((high >> 63) != 0) {
        part.too_large = 1;
        return;
    }
    const rw_int128 product = (rw_int128)(high << 64 | (uint64_t)low);
    part.sums.value = whole < 0.0 ? -product : product;
    part.sums.weight = weight;
}

/* Adds up the parts of a block; only thread 0's result is valid. */
template <int THREADS>
RW_DEVICE struct rw_cuda_metric_part metric_block_sum(struct rw_cuda_metric_part part)
{
    __shared__ struct rw_cuda_metric_part shared[THREADS];
    shared[threadIdx.x] = part;
    for (int half = THREADS / 2; half > 0; half /= 2) {
        __syncthreads();
        if ((int)threadIdx.x < half) {
            metric_merge(part, shared[threadIdx.x + half]);
            shared[threadIdx.x] = part;
        }
    }
    return part;
}

__global__ void metric_gather_kernel(const __grid_constant__ struct rw_cuda_metric_args a)
{
    const uint64_t i = grid_first<GATHER_THREADS>();
    if (i >= a.rank.n_docs)
        return;
    const uint32_t doc = a.rank.d_order[i];
    if (a.d_ranked_gain)
        a.d_ranked_gain[i] = a.d_gain[doc];
    if (a.d_ranked_label)
        a.d_ranked_label[i] = a.d_label[doc];
    if (a.d_ranked_score)
        a.d_ranked_score[i] = a.d_scores[doc];
    if (a.d_ranked_weight)
        a.d_ranked_weight[i] = a.d_doc_weight[doc];
}

__global__ void metric_ties_kernel(const __grid_constant__ struct rw_cuda_metric_args a)
{
    const uint64_t i = grid_first<QUERY_THREADS>();
    if (i >= a.rank.n_queries)
        return;
    const struct rw_query_range query = rw_query_range(a.rank.d_offset, a.rank.d_by_size[i]);
    rw_tie_ends(a.d_ranked_score + query.first, query.n, a.d_tie_end + query.first);
}

__device__ double metric_value(const struct rw_cuda_metric &m, const struct rw_ranked_query &query)
{
    switch (m.kind) {
#define HOST(name)
#define DEVICE(name)       \
    case RW_METRIC_##name: \
        return rw_##name##_of(&m.metric, &query);
#define RW_METRIC(name, device, ...) device(name)
#include "metric/metrics.def"
    default: /* metrics of the host only, which no plan contains */
        break;
    }
    return (double)NAN;
}

template <class T> RW_DEVICE T *metric_at(T *p, uint64_t i)
{
    return p ? p + i : NULL;
}

/* Like `add_up` in metric/metric.c. *averaged: the query's value, NaN if it does not count. */
RW_DEVICE struct rw_cuda_metric_part metric_of_query(const struct rw_cuda_metric_args &a,
                                                     const struct rw_cuda_metric &m, uint32_t q,
                                                     double *averaged)
{
    struct rw_cuda_metric_part part = {};
    const struct rw_query_range range = rw_query_range(a.rank.d_offset, q);
    const uint32_t first = range.first;
    struct rw_ranked_query query = {};
    query.n = range.n;
    query.gain = metric_at(a.d_ranked_gain, first);
    query.label = metric_at(a.d_ranked_label, first);
    query.score = metric_at(a.d_ranked_score, first);
    query.discount = a.d_discount;
    query.ideal = metric_at(a.d_ideal, first);
    query.weight = metric_at(a.d_ranked_weight, first);
    query.tie_end = metric_at(a.d_tie_end, first);
    query.scratch = metric_at(m.d_scratch, (uint64_t)first + q);
    query.max_gain = a.max_gain;
    double value = metric_value(m, query);
    *averaged = value;
    if (value != value) {
        part.sums.n_empty = !m.by_document;
        if (m.by_document || a.empty == RW_EMPTY_SKIP)
            return part;
        value = a.empty == RW_EMPTY_ONE ? 1.0 : 0.0;
    }
    part.sums.n_counted = 1;
    if (!(value < RW_METRIC_MOST)) {
        part.too_large = 1;
        return part;
    }
    const double whole = rw_to_whole(value * RW_METRIC_UNIT);
    *averaged = whole / RW_METRIC_UNIT;
    metric_product(part, whole, m.d_weight ? (uint64_t)m.d_weight[q] : 1);
    return part;
}

__global__ void __launch_bounds__(QUERY_THREADS)
    metric_query_kernel(const __grid_constant__ struct rw_cuda_metric_args a)
{
    const struct rw_cuda_metric &m = a.d_metric[blockIdx.y];
    const uint64_t i = grid_first<QUERY_THREADS>();
    struct rw_cuda_metric_part part = {};
    if (i < a.rank.n_queries) {
        const uint32_t q = a.rank.d_by_size[i];
        double averaged;
        part = metric_of_query(a, m, q, &averaged);
        if (a.d_per_query && blockIdx.y == 0)
            a.d_per_query[q] = averaged;
    }
    part = metric_block_sum<QUERY_THREADS>(part);
    if (threadIdx.x == 0)
        a.d_part[(uint64_t)blockIdx.y * a.n_parts + blockIdx.x] = part;
}

__global__ void __launch_bounds__(SUM_THREADS)
    metric_sum_kernel(const __grid_constant__ struct rw_cuda_metric_args a)
{
    struct rw_cuda_metric_part part = {};
    for (uint32_t i = threadIdx.x; i < a.n_parts; i += SUM_THREADS)
        metric_merge(part, a.d_part[(uint64_t)blockIdx.x * a.n_parts + i]);
    part = metric_block_sum<SUM_THREADS>(part);
    if (threadIdx.x == 0)
        a.d_result[blockIdx.x] = part;
}

extern "C" int rw_cuda_metric_launch(const struct rw_cuda_metric_args *args, void *stream)
{
    const dim3 queries(args->n_parts, args->n_metrics);
    if (args->n_metrics == 0)
        return cudaSuccess;
    TRY_CUDA(rw_cuda_rank_run(&args->rank, args->d_scores, NULL, stream));
    TRY_CUDA(launch_grid(metric_gather_kernel, blocks_for(args->rank.n_docs, GATHER_THREADS),
                         GATHER_THREADS, stream, *args));
    if (args->d_tie_end)
        TRY_CUDA(launch_grid(metric_ties_kernel, args->n_parts, QUERY_THREADS, stream, *args));
    TRY_CUDA(launch_grid(metric_query_kernel, queries, QUERY_THREADS, stream, *args));
    return launch_grid(metric_sum_kernel, args->n_metrics, SUM_THREADS, stream, *args);
}
