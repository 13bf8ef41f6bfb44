/* Gradients of softmax (listnet, xendcg), queryrmse and logistic. They equal the doubles of the
 * host, because both use the inline functions of objective/objective.h and add a query's numbers in
 * the order of its documents. cu_gradient.cu makes integers of them. Queries outside the sample are
 * computed, too, because all gradients are checked, as on the host.
 *
 * Decomposition: logistic has a thread per document. The others sum two terms per document over the
 * query: a power and a target amount, or a weighted residual and a weight. A warp computes a query,
 * or a block if it has over RW_RANK_BLOCK_DOCS documents. Its threads write the terms to the arrays
 * of the result. One warp adds them in order, each lane both sums. Last, the threads compute the
 * gradients from the terms and the sums. */
#include "gpu/objective/lambda_block.cuh"
#include "objective/objective.h"

enum {
    DOC_THREADS = 256,
    WARP_THREADS = 128,  /* per block, with a query per warp */
    QUERY_THREADS = 512, /* per block, with a query per block */
};

__global__ void __launch_bounds__(DOC_THREADS)
    queries_logistic_kernel(const __grid_constant__ struct rw_objective_args a)
{
    const uint64_t doc = grid_first<DOC_THREADS>();
    if (doc >= a.n_docs)
        return;
    const struct rw_gradient of_one =
        rw_logistic_gradient(a.run.d_scores[doc], (double)a.d_label[doc] >= a.relevant);
    a.d_gradient[doc] = of_one.gradient;
    a.d_hessian[doc] = of_one.hessian;
}

struct query_sums {
    double first, second;
    int can_rank; /* of softmax: 1: gains differ */
};

/* Writes the two terms of a document. origin: the best score, or the first document's residual. */
template <enum rw_objective_device LOSS>
RW_DEVICE void write_terms(const struct rw_objective_args &a, uint32_t doc, double origin)
{
    if (LOSS == RW_OBJECTIVE_QUERYRMSE) {
        const double weight = a.d_doc_weight ? a.d_doc_weight[doc] : 1.0;
        a.d_gradient[doc] = weight * rw_residual_from(origin, a.d_label[doc], a.run.d_scores[doc]);
        a.d_hessian[doc] = weight;
        return;
    }
    a.d_gradient[doc] = rw_softmax_power(a.run.d_scores[doc], origin);
    a.d_hessian[doc] = a.d_gain[doc];
    if (LOSS == RW_OBJECTIVE_XENDCG)
        a.d_hessian[doc] = rw_xendcg_target(
            a.d_gain[doc], rw_cuda_random(a.seed, a.first_doc + doc, a.tree, RW_STREAM_XENDCG));
}

/* Adds the terms of the query's documents in order. Every lane of a warp calls it. */
template <enum rw_objective_device LOSS>
RW_DEVICE struct query_sums add_terms(const struct rw_objective_args &a, uint32_t first, uint32_t n)
{
    struct query_sums sums = {0.0, 0.0, 0};
    for (uint32_t base = 0; base < n; base += 32) {
        const uint32_t doc = first + base + threadIdx.x % 32;
        const bool any = base + threadIdx.x % 32 < n;
        const double term = any ? a.d_gradient[doc] : 0.0;
        const double other = any ? a.d_hessian[doc] : 0.0;
        if (LOSS != RW_OBJECTIVE_QUERYRMSE)
            sums.can_rank |= any && a.d_gain[doc] != a.d_gain[first];
#pragma unroll
        for (int k = 0; k < 32; k++) { /* a term of 0 past the end changes no sum */
            sums.first += __shfl_sync(~0u, term, k);
            sums.second += __shfl_sync(~0u, other, k);
        }
    }
    sums.can_rank = __any_sync(~0u, sums.can_rank);
    return sums;
}

template <enum rw_objective_device LOSS>
RW_DEVICE void write_gradient(const struct rw_objective_args &a, uint32_t doc, double origin,
                              const struct query_sums &sums)
{
    struct rw_gradient of_one;
    if (LOSS == RW_OBJECTIVE_QUERYRMSE) {
        of_one.gradient = rw_residual_from(origin, a.d_label[doc], a.run.d_scores[doc]) -
                          rw_residual_mean(sums.first, sums.second);
        of_one.hessian = 1.0;
    } else {
        of_one = rw_softmax_gradient(a.d_gradient[doc], sums.first, a.d_hessian[doc], sums.second,
                                     sums.can_rank);
    }
    a.d_gradient[doc] = of_one.gradient;
    a.d_hessian[doc] = of_one.hessian;
}

template <enum rw_objective_device LOSS, bool BLOCK>
__global__ void __launch_bounds__(BLOCK ? QUERY_THREADS : WARP_THREADS)
    queries_kernel(const __grid_constant__ struct rw_objective_args a)
{
    constexpr int SIZE = BLOCK ? QUERY_THREADS : 32;
    __shared__ struct query_sums all;
    const uint64_t job = BLOCK ? blockIdx.x : a.rank.large.n + grid_first<WARP_THREADS>() / 32;
    if (job >= a.rank.n_queries)
        return; /* the whole warp or block returns, here and below */
    const struct rw_query_range query = rw_query_range(a.rank.d_offset, a.rank.d_by_size[job]);
    const uint32_t first = query.first, n = query.n;
    const uint32_t thread = threadIdx.x % SIZE;
    if (n == 0)
        return;
    const double *scores = a.run.d_scores + first;
    const double origin = LOSS == RW_OBJECTIVE_QUERYRMSE
                              ? rw_residual_from(0.0, a.d_label[first], scores[0])
                              : lambda_best<SIZE>(scores, n);
    for (uint32_t i = thread; i < n; i += SIZE)
        write_terms<LOSS>(a, first + i, origin);
    if (BLOCK)
        __syncthreads();
    else
        __syncwarp();
    struct query_sums sums = {0.0, 0.0, 0};
    if (thread < 32)
        sums = add_terms<LOSS>(a, first, n);
    if (BLOCK) {
        if (thread == 0)
            all = sums;
        __syncthreads();
        sums = all;
    }
    for (uint32_t i = thread; i < n; i += SIZE)
        write_gradient<LOSS>(a, first + i, origin, sums);
}

template <enum rw_objective_device LOSS>
static int launch_queries(const struct rw_objective_args *args, void *stream)
{
    TRY_CUDA(
        launch_grid(queries_kernel<LOSS, true>, args->rank.large.n, QUERY_THREADS, stream, *args));
    return launch_grid(
        queries_kernel<LOSS, false>,
        blocks_for((uint64_t)(args->rank.n_queries - args->rank.large.n) * 32, WARP_THREADS),
        WARP_THREADS, stream, *args);
}

extern "C" int rw_cuda_queries(const struct rw_objective_args *args, void *stream)
{
    switch (args->kind) {
    case RW_OBJECTIVE_QUERYRMSE:
        return launch_queries<RW_OBJECTIVE_QUERYRMSE>(args, stream);
    case RW_OBJECTIVE_LISTNET:
        return launch_queries<RW_OBJECTIVE_LISTNET>(args, stream);
    case RW_OBJECTIVE_XENDCG:
        return launch_queries<RW_OBJECTIVE_XENDCG>(args, stream);
    default:
        return launch_grid(queries_logistic_kernel, blocks_for(args->n_docs, DOC_THREADS),
                           DOC_THREADS, stream, *args);
    }
}
