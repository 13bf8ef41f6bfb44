/* Integers of gradients that are real numbers: residuals, user gradients and those of
 * cu_queries.cu and cu_deltas.cu. The unit of a tree is the power of two that brings the largest
 * magnitude into [2^60, 2^61), as in choose_scale of tree/engine_host.c. User gradients can also be
 * in fixed point already.
 *
 * Decomposition: a grid strides over the documents twice. The first pass finds the largest
 * magnitudes by their bits, since doubles of 0 or more are ordered like their bits. The second
 * makes the integers, and computes residuals again, which is cheaper than storing them. Fixed point
 * needs one pass only. */
#include "gpu/objective/lambda_cuda.h"
#include "gpu/objective/lambda_block.cuh"
#include "objective/objective.h"
#include "tree/numbers.h"

enum { THREADS = 256, BLOCKS = 8 };

RW_DEVICE struct rw_gradient gradient_at(const struct rw_objective_args &a, uint32_t doc)
{
    const double by = a.d_doc_weight ? a.d_doc_weight[doc] : 1.0;
    if (a.d_gradient)
        return {a.d_gradient[doc] * by, a.d_hessian[doc] * by};
    return {((double)a.d_label[doc] - a.run.d_scores[doc]) * by, by};
}

__global__ void gradient_largest_kernel(const __grid_constant__ struct rw_objective_args a)
{
    double gradient = 0.0, hessian = 0.0;
    bool wrong = false; /* limits of rw_gradients_check */
    for (uint64_t doc = grid_first<THREADS>(); doc < a.n_docs; doc += grid_step<THREADS>()) {
        wrong |= a.d_gradient && !(fabs(a.d_gradient[doc]) <= 1e30 && a.d_hessian[doc] >= 0.0 &&
                                   a.d_hessian[doc] <= 1e30);
        if (a.run.d_sampled && !a.run.d_sampled[doc])
            continue;
        const struct rw_gradient g = gradient_at(a, (uint32_t)doc);
        gradient = fabs(g.gradient) > gradient ? fabs(g.gradient) : gradient;
        hessian = fabs(g.hessian) > hessian ? fabs(g.hessian) : hessian;
    }
    __syncwarp();
    lambda_raise(&a.run.d_info->gradient_bits, wrong ? UINT64_MAX : rw_bits_of_double(gradient));
    lambda_raise(&a.run.d_info->hessian_bits, rw_bits_of_double(hessian));
}

__global__ void gradient_round_kernel(const __grid_constant__ struct rw_objective_args a)
{
    const bool wrong = a.run.d_info->gradient_bits == UINT64_MAX;
    const double gradient = wrong ? 0.0 : rw_double_of_bits(a.run.d_info->gradient_bits);
    const double hessian = wrong ? 0.0 : rw_double_of_bits(a.run.d_info->hessian_bits);
    const int lambda_exponent = rw_fixed_exponent(gradient, RW_LAMBDA_EXPONENT);
    const int hessian_exponent = rw_fixed_exponent(hessian, RW_LAMBDA_EXPONENT);
    const double lambda_scale = rw_pow2(lambda_exponent), hessian_scale = rw_pow2(hessian_exponent);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        a.run.d_info->lambda_exponent = lambda_exponent;
        a.run.d_info->hessian_exponent = hessian_exponent;
        a.run.d_info->largest_lambda = (uint64_t)rw_round_int64(gradient * lambda_scale);
        a.run.d_info->largest_hessian = (uint64_t)rw_round_int64(hessian * hessian_scale);
    }
    for (uint64_t doc = grid_first<THREADS>(); doc < a.n_docs; doc += grid_step<THREADS>()) {
        if (a.run.d_sampled && !a.run.d_sampled[doc])
            continue;
        const struct rw_gradient g = gradient_at(a, (uint32_t)doc);
        a.run.d_pair[doc].lambda = wrong ? 0 : rw_round_int64(g.gradient * lambda_scale);
        a.run.d_pair[doc].hessian = wrong ? 0 : rw_round_int64(g.hessian * hessian_scale);
    }
}

/* Finds the largest magnitudes of the integers in d_pair. FIXED: these are first copied from user
 * gradients in fixed point. */
template <bool FIXED>
__global__ void pair_largest_kernel(const __grid_constant__ struct rw_objective_args a)
{
    struct lambda_largest largest;
    if (FIXED && blockIdx.x == 0 && threadIdx.x == 0)
        a.run.d_info->lambda_exponent = a.run.d_info->hessian_exponent = RW_LAMBDA_EXPONENT;
    for (uint64_t doc = grid_first<THREADS>(); doc < a.n_docs; doc += grid_step<THREADS>()) {
        if (a.run.d_sampled && !a.run.d_sampled[doc])
            continue;
        if (FIXED)
            a.run.d_pair[doc] = {reinterpret_cast<const int64_t *>(a.d_gradient)[doc],
                                 reinterpret_cast<const int64_t *>(a.d_hessian)[doc]};
        largest.add(a.run.d_pair[doc]);
    }
    largest.raise(a.run.d_info);
}

static int launch(void (*kernel)(struct rw_objective_args), const struct rw_objective_args *args,
                  void *stream)
{
    const uint64_t most = (uint64_t)args->n_multiprocessors * BLOCKS;
    return launch_grid(kernel, blocks_up_to(most, args->n_docs, THREADS), THREADS, stream, *args);
}

extern "C" int rw_cuda_gradients_find(const struct rw_objective_args *args, void *stream)
{
    TRY_CUDA(cudaMemsetAsync(args->run.d_info, 0, sizeof *args->run.d_info, (cudaStream_t)stream));
    return launch(args->is_fixed ? pair_largest_kernel<true> : gradient_largest_kernel, args,
                  stream);
}

extern "C" int rw_cuda_gradients_round(const struct rw_objective_args *args, void *stream)
{
    return launch(gradient_round_kernel, args, stream);
}

extern "C" int rw_cuda_gradients_largest(const struct rw_objective_args *args, void *stream)
{
    TRY_CUDA(cudaMemsetAsync(&args->run.d_info->largest_lambda, 0,
                             2 * sizeof(args->run.d_info->largest_lambda), (cudaStream_t)stream));
    return launch(pair_largest_kernel<false>, args, stream);
}
