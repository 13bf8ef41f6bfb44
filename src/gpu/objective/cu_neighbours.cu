/* Computes YetiRank's gradients. The integers are identical to those of objective/yetirank.c:
 * random words equal those of the host's generator; keys, deltas and pairs come from the inline
 * functions that the host uses; and pairs are added as integers.
 *
 * Array shapes are documented at struct rw_neighbours_args in lambda_cuda.h.
 *
 * Decomposition: a block per query finds the best score. A thread per document computes its power
 * (exp of its score minus the best, rw_softmax_power) and its key (the power with noise, by which
 * it is ranked) in each ranking. cu_rank.cu sorts the keys. For pairs, a warp per query takes 32
 * positions at a time, one per lane. A lane adds its document's pairs with the neighbours above and
 * below to the document's sums. So each pair is computed twice, but each sum belongs to one lane
 * and needs no atomics. The state above a position (objective/neighbours.h) is computed from the
 * top down, one position after another, as on the host; every lane computes the states of all 32
 * positions. If deltas do not depend on the documents above, LARGE_WARPS warps share a large
 * query's positions. */
#include "gpu/device/kernel.cuh"
#include "gpu/objective/lambda_cuda.h"
#include "gpu/objective/lambda_block.cuh"
#include "objective/objective.h"

enum {
    QUERY_THREADS = 128,
    QUERY_WARPS = QUERY_THREADS / 32,
    DOC_THREADS = 256,
    FINISH_BLOCKS = 8, /* per multiprocessor */
    LARGE_WARPS = 64,  /* per query of over RW_RANK_BLOCK_DOCS documents, if they can share it */
};

/* ---- Keys ---- */

/* Writes the best score of the query to d_power of each of its documents. */
__global__ void __launch_bounds__(QUERY_THREADS)
    neighbours_best_kernel(const __grid_constant__ struct rw_neighbours_args a)
{
    __shared__ double best_of_warp[QUERY_WARPS];
    const uint64_t first = a.d_offset[blockIdx.x], end = a.d_offset[blockIdx.x + 1];
    if (first == end)
        return; /* the whole block returns */
    double best = a.run.d_scores[first];
    for (uint64_t doc = first + threadIdx.x; doc < end; doc += QUERY_THREADS)
        best = a.run.d_scores[doc] > best ? a.run.d_scores[doc] : best;
    __syncwarp();
    for (int lanes = 16; lanes > 0; lanes /= 2) {
        const double other = __shfl_xor_sync(~0u, best, lanes);
        best = other > best ? other : best;
    }
    if (threadIdx.x % 32 == 0)
        best_of_warp[threadIdx.x / 32] = best;
    __syncthreads();
    for (int warp = 0; warp < QUERY_WARPS; warp++)
        best = best_of_warp[warp] > best ? best_of_warp[warp] : best;
    for (uint64_t doc = first + threadIdx.x; doc < end; doc += QUERY_THREADS)
        a.d_power[doc] = best;
}

__global__ void __launch_bounds__(DOC_THREADS)
    neighbours_power_kernel(const __grid_constant__ struct rw_neighbours_args a)
{
    const uint64_t doc = grid_first<DOC_THREADS>();
    if (doc >= a.n_docs)
        return;
    a.d_power[doc] = rw_softmax_power(a.run.d_scores[doc], a.d_power[doc]);
    a.run.d_pair[doc].lambda = a.run.d_pair[doc].hessian = 0;
}

/* Computes the keys of ranking p. Rankings 4k to 4k + 3 share one draw per document. */
__global__ void __launch_bounds__(DOC_THREADS)
    neighbours_key_kernel(const __grid_constant__ struct rw_neighbours_args a, uint32_t p)
{
    const uint64_t doc = grid_first<DOC_THREADS>();
    if (doc >= a.n_docs)
        return;
    const uint64_t item = (uint64_t)(p / 4) << 32 | (a.first_doc + (uint32_t)doc);
    const uint4 four = rw_cuda_random4(a.seed, item, a.tree, RW_STREAM_YETIRANK);
    const uint32_t k = p % 4;
    const uint32_t word = k == 0 ? four.x : k == 1 ? four.y : k == 2 ? four.z : four.w;
    a.d_key[doc] = a.d_power[doc] * rw_neighbours_odds(word);
}

/* ---- Pairs ---- */

/* Two states of objective/neighbours.h, which sum up the documents above a position. own: of the
 * lane's position. before: of the preceding position. */
struct neighbours_above {
    double own, before;
};

/* Returns the states of a lane's position, from the steps of 32 positions, one per lane, in order.
 * next: the states for the first of the 32 on entry, and for the first of the next 32 on return.
 * Every lane calls it. */
__device__ __forceinline__ struct neighbours_above
neighbours_scan_above(const struct rw_neighbours_rule &rule, double step,
                      struct neighbours_above &next)
{
    struct neighbours_above mine = next;
    for (uint32_t k = 0; k < 32; k++) {
        const double of_k = __shfl_sync(~0u, step, (int)k);
        if (threadIdx.x % 32 == k)
            mine = next;
        next.before = next.own;
        next.own = rw_neighbours_next(&rule, next.own, of_k);
    }
    return mine;
}

__device__ __forceinline__ struct rw_neighbour neighbours_at(const struct rw_neighbours_args &a,
                                                             uint32_t doc)
{
    const struct rw_neighbour at = {a.d_grade[doc], a.run.d_scores[doc]};
    return at;
}

/* Returns the sum of the pairs of the document at position r with its neighbours. order: the
 * query's documents, best first. top: number of pairs; pair k has positions k and k + 1. */
__device__ __forceinline__ struct rw_lambda_pair
neighbours_sum(const struct rw_neighbours_args &a, const uint32_t *order, uint32_t r, uint32_t top,
               double over, const struct neighbours_above &above)
{
    const struct rw_neighbour own = neighbours_at(a, order[r]);
    struct rw_lambda_pair sum = {0, 0};
    if (r < top) {
        const struct rw_lambda_pair pair = rw_neighbours_pair(
            &a.rule, a.d_weight[r], over, above.own, own, neighbours_at(a, order[r + 1]));
        sum.lambda += pair.lambda;
        sum.hessian += pair.hessian;
    }
    if (r > 0) {
        const struct rw_lambda_pair pair = rw_neighbours_pair(
            &a.rule, a.d_weight[r - 1], over, above.before, neighbours_at(a, order[r - 1]), own);
        sum.lambda -= pair.lambda;
        sum.hessian += pair.hessian;
    }
    return sum;
}

/* Adds the pairs of queries d_query[begin, end). Each has one warp, or gridDim.y warps if its
 * deltas do not depend on the documents above. */
__global__ void __launch_bounds__(QUERY_THREADS)
    neighbours_add_kernel(const __grid_constant__ struct rw_neighbours_args a, uint32_t begin,
                          uint32_t end)
{
    const uint64_t job = begin + (uint64_t)blockIdx.x * QUERY_WARPS + threadIdx.x / 32;
    if (job >= end)
        return; /* the whole warp returns, here and below */
    const uint32_t q = a.d_query[job], first = a.d_offset[q];
    const uint32_t top = rw_neighbours_top(&a.rule, a.d_offset[q + 1] - first);
    const double over = a.d_over[q];
    if (top == 0 || !((float)over > 0.0f) || (a.run.d_sampled && !a.run.d_sampled[first]))
        return;
    const uint32_t *order = a.d_order + first;
    const int depends_on_above = rw_neighbours_depends_on_above(&a.rule);
    struct neighbours_above next = {rw_neighbours_first(&a.rule), 0.0};
    /* Positions 0 to top have pairs. */
    for (uint64_t base = (uint64_t)32 * blockIdx.y; base <= top; base += (uint64_t)32 * gridDim.y) {
        const uint64_t r = base + threadIdx.x % 32;
        struct neighbours_above above = next;
        if (depends_on_above) {
            const double step = r <= top ? rw_neighbours_step(&a.rule, a.d_grade[order[r]]) : 0.0;
            above = neighbours_scan_above(a.rule, step, next);
        }
        if (r <= top) {
            const struct rw_lambda_pair sum =
                neighbours_sum(a, order, (uint32_t)r, top, over, above);
            struct rw_lambda_pair *pair = &a.run.d_pair[order[r]];
            pair->lambda += sum.lambda;
            pair->hessian += sum.hessian;
        }
        __syncwarp();
    }
}

/* ---- The end ---- */

__global__ void __launch_bounds__(DOC_THREADS)
    neighbours_finish_kernel(const __grid_constant__ struct rw_neighbours_args a)
{
    uint64_t largest_lambda = 0, largest_hessian = 0;
    if (blockIdx.x == 0 && threadIdx.x == 0)
        a.run.d_info->lambda_exponent = a.run.d_info->hessian_exponent = RW_LAMBDA_EXPONENT;
    for (uint64_t doc = grid_first<DOC_THREADS>(); doc < a.n_docs;
         doc += grid_step<DOC_THREADS>()) {
        if (a.run.d_sampled && !a.run.d_sampled[doc])
            continue;
        const double *by = a.d_doc_weight ? a.d_doc_weight + doc : NULL;
        const struct rw_lambda_pair sum = a.run.d_pair[doc];
        const struct rw_lambda_pair pair = {rw_lambda_final(sum.lambda, 1.0, by),
                                            rw_lambda_final(sum.hessian, 1.0, by)};
        a.run.d_pair[doc] = pair;
        largest_lambda = max(largest_lambda, lambda_magnitude(pair.lambda));
        largest_hessian = max(largest_hessian, lambda_magnitude(pair.hessian));
    }
    __syncwarp();
    lambda_raise(&a.run.d_info->largest_lambda, largest_lambda);
    lambda_raise(&a.run.d_info->largest_hessian, largest_hessian);
}

/* ---- The run ---- */

extern "C" int rw_cuda_neighbours(const struct rw_neighbours_args *args,
                                  const struct rw_cuda_rank *rank, int n_multiprocessors,
                                  void *stream)
{
    const unsigned docs = blocks_for(args->n_docs, DOC_THREADS);
    const uint32_t large = args->n_large, others = args->n_queries - large;
    const dim3 large_grid(blocks_for(large, QUERY_WARPS),
                          rw_neighbours_depends_on_above(&args->rule) ? 1 : LARGE_WARPS);
    TRY_CUDA(cudaMemsetAsync(args->run.d_info, 0, sizeof *args->run.d_info, (cudaStream_t)stream));
    TRY_CUDA(launch_grid(neighbours_best_kernel, args->n_queries, QUERY_THREADS, stream, *args));
    TRY_CUDA(launch_grid(neighbours_power_kernel, docs, DOC_THREADS, stream, *args));
    for (uint32_t p = 0; p < args->rule.permutations; p++) {
        TRY_CUDA(launch_grid(neighbours_key_kernel, docs, DOC_THREADS, stream, *args, p));
        TRY_CUDA(rw_cuda_rank_run(rank, args->d_key, args->run.d_sampled, stream));
        TRY_CUDA(launch_grid(neighbours_add_kernel, large_grid, QUERY_THREADS, stream, *args, 0u,
                             large));
        TRY_CUDA(launch_grid(neighbours_add_kernel, blocks_for(others, QUERY_WARPS), QUERY_THREADS,
                             stream, *args, large, args->n_queries));
    }
    return launch_grid(
        neighbours_finish_kernel,
        blocks_up_to((uint64_t)n_multiprocessors * FINISH_BLOCKS, args->n_docs, DOC_THREADS),
        DOC_THREADS, stream, *args);
}
