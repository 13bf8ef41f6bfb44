/* Computes YetiRank's gradients. The integers are identical to those of objective/yetirank.c:
 * random words equal those of the host's generator; keys, deltas and pairs come from the inline
 * functions that the host uses; and pairs are added as integers.
 *
 * Decomposition: a block per query finds the best score. A thread per document computes its power
 * and its key (the power with noise) in each ranking. cu_rank.cu sorts the keys. For pairs, a warp
 * per query takes 32 positions at a time, one per lane. A lane adds its document's pairs with the
 * neighbours above and below to the document's sums. So each pair is computed twice, but each sum
 * belongs to one lane and needs no atomics. The state above a position (objective/neighbours.h) is
 * computed from the top down, as on the host, by every lane. If deltas do not depend on the
 * documents above, LARGE_WARPS warps share a large query's positions. */
#include "gpu/objective/lambda_block.cuh"
#include "objective/objective.h"

enum {
    QUERY_THREADS = 128,
    QUERY_WARPS = QUERY_THREADS / 32,
    DOC_THREADS = 256,
    FINISH_BLOCKS = 8, /* per multiprocessor */
    LARGE_WARPS = 64,  /* per query of over RW_RANK_BLOCK_DOCS documents, if they can share it */
};

/* Writes the best score of the query to d_power of each of its documents. */
__global__ void __launch_bounds__(QUERY_THREADS)
    neighbours_best_kernel(const __grid_constant__ struct rw_objective_args a)
{
    const struct rw_query_range query = rw_query_range(a.rank.d_offset, blockIdx.x);
    if (query.n == 0)
        return; /* the whole block returns */
    const double best = lambda_best<QUERY_THREADS>(a.run.d_scores + query.first, query.n);
    for (uint32_t i = threadIdx.x; i < query.n; i += QUERY_THREADS)
        a.d_power[query.first + i] = best;
}

__global__ void __launch_bounds__(DOC_THREADS)
    neighbours_power_kernel(const __grid_constant__ struct rw_objective_args a)
{
    const uint64_t doc = grid_first<DOC_THREADS>();
    if (doc >= a.n_docs)
        return;
    a.d_power[doc] = rw_softmax_power(a.run.d_scores[doc], a.d_power[doc]);
    a.run.d_pair[doc].lambda = a.run.d_pair[doc].hessian = 0;
}

/* Computes the keys of ranking p. Rankings 4k to 4k + 3 share one draw per document. */
__global__ void __launch_bounds__(DOC_THREADS)
    neighbours_key_kernel(const __grid_constant__ struct rw_objective_args a, uint32_t p)
{
    const uint64_t doc = grid_first<DOC_THREADS>();
    if (doc >= a.n_docs)
        return;
    a.d_key[doc] =
        a.d_power[doc] * rw_neighbours_odds(lambda_draw(a, (uint32_t)doc, p, RW_STREAM_YETIRANK));
}

RW_DEVICE struct rw_neighbour neighbours_at(const struct rw_objective_args &a, uint32_t doc)
{
    return {a.d_grade[doc], a.run.d_scores[doc]};
}

/* Returns the sum of the pairs of the document at position r with its neighbours. top: number of
 * pairs; pair k has positions k and k + 1. above, before: the states above position r and above the
 * one before it. */
RW_DEVICE struct rw_lambda_pair neighbours_sum(const struct rw_objective_args &a,
                                               const uint32_t *order, uint32_t r, uint32_t top,
                                               double over, double above, double before)
{
    const struct rw_neighbour own = neighbours_at(a, order[r]);
    struct rw_lambda_pair sum = {0, 0};
    if (r < top) {
        const struct rw_lambda_pair pair = rw_neighbours_pair(
            &a.neighbours, a.d_discount[r], over, above, own, neighbours_at(a, order[r + 1]));
        sum.lambda += pair.lambda;
        sum.hessian += pair.hessian;
    }
    if (r > 0) {
        const struct rw_lambda_pair pair = rw_neighbours_pair(
            &a.neighbours, a.d_discount[r - 1], over, before, neighbours_at(a, order[r - 1]), own);
        sum.lambda -= pair.lambda;
        sum.hessian += pair.hessian;
    }
    return sum;
}

/* Adds the pairs of queries d_by_size[begin, end), each by gridDim.y warps. */
__global__ void __launch_bounds__(QUERY_THREADS)
    neighbours_add_kernel(const __grid_constant__ struct rw_objective_args a, uint32_t begin,
                          uint32_t end)
{
    const uint64_t job = begin + (uint64_t)blockIdx.x * QUERY_WARPS + threadIdx.x / 32;
    if (job >= end)
        return; /* the whole warp returns, here and below */
    const uint32_t q = a.rank.d_by_size[job];
    const struct rw_query_range query = rw_query_range(a.rank.d_offset, q);
    const uint32_t top = rw_neighbours_top(&a.neighbours, query.n);
    const double over = a.d_ideal[q];
    if (top == 0 || !((float)over > 0.0f) || (a.run.d_sampled && !a.run.d_sampled[query.first]))
        return;
    const uint32_t *order = a.rank.d_order + query.first;
    const int depends_on_above = rw_neighbours_depends_on_above(&a.neighbours);
    /* States above the next 32 positions, and above the one before them. */
    double next = rw_neighbours_first(&a.neighbours), last = 0.0;
    /* Positions 0 to top have pairs. */
    for (uint64_t base = (uint64_t)32 * blockIdx.y; base <= top; base += (uint64_t)32 * gridDim.y) {
        const uint64_t r = base + threadIdx.x % 32;
        double above = next, before = 0.0;
        if (depends_on_above) {
            const double step =
                r <= top ? rw_neighbours_step(&a.neighbours, a.d_grade[order[r]]) : 0.0;
            above = lambda_scan(a.neighbours.kind == RW_DELTA_ERR, step, next);
            before = __shfl_up_sync(~0u, above, 1);
            before = threadIdx.x % 32 == 0 ? last : before;
            last = __shfl_sync(~0u, above, 31);
        }
        if (r <= top) {
            const struct rw_lambda_pair sum =
                neighbours_sum(a, order, (uint32_t)r, top, over, above, before);
            struct rw_lambda_pair *pair = &a.run.d_pair[order[r]];
            pair->lambda += sum.lambda;
            pair->hessian += sum.hessian;
        }
        __syncwarp();
    }
}

__global__ void __launch_bounds__(DOC_THREADS)
    neighbours_finish_kernel(const __grid_constant__ struct rw_objective_args a)
{
    struct lambda_largest largest;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        a.run.d_info->lambda_exponent = a.run.d_info->hessian_exponent = RW_LAMBDA_EXPONENT;
    for (uint64_t doc = grid_first<DOC_THREADS>(); doc < a.n_docs;
         doc += grid_step<DOC_THREADS>()) {
        if (!a.run.d_sampled || a.run.d_sampled[doc])
            lambda_write(a, (uint32_t)doc, a.run.d_pair[doc], 1.0, largest);
    }
    largest.raise(a.run.d_info);
}

extern "C" int rw_cuda_neighbours(const struct rw_objective_args *args, void *stream)
{
    const uint64_t finish_blocks = (uint64_t)args->n_multiprocessors * FINISH_BLOCKS;
    const unsigned docs = blocks_for(args->n_docs, DOC_THREADS);
    const uint32_t n = args->rank.n_queries, large = args->rank.large.n;
    const dim3 large_grid(blocks_for(large, QUERY_WARPS),
                          rw_neighbours_depends_on_above(&args->neighbours) ? 1 : LARGE_WARPS);
    TRY_CUDA(cudaMemsetAsync(args->run.d_info, 0, sizeof *args->run.d_info, (cudaStream_t)stream));
    TRY_CUDA(launch_grid(neighbours_best_kernel, n, QUERY_THREADS, stream, *args));
    TRY_CUDA(launch_grid(neighbours_power_kernel, docs, DOC_THREADS, stream, *args));
    for (uint32_t p = 0; p < args->neighbours.permutations; p++) {
        TRY_CUDA(launch_grid(neighbours_key_kernel, docs, DOC_THREADS, stream, *args, p));
        TRY_CUDA(rw_cuda_rank_run(&args->rank, args->d_key, args->run.d_sampled, stream));
        TRY_CUDA(launch_grid(neighbours_add_kernel, large_grid, QUERY_THREADS, stream, *args, 0u,
                             large));
        TRY_CUDA(launch_grid(neighbours_add_kernel, blocks_for(n - large, QUERY_WARPS),
                             QUERY_THREADS, stream, *args, large, n));
    }
    return launch_grid(neighbours_finish_kernel,
                       blocks_up_to(finish_blocks, args->n_docs, DOC_THREADS), DOC_THREADS, stream,
                       *args);
}
