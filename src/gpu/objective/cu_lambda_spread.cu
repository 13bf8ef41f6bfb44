// Why: LambdaRank's gradients for queries of so many pairs that blocks share them: the integers of
// rw_lambda_query to the bit, as cu_lambda.cu's.
//
// Shapes: rw_lambda_args in cu_lambda.h; gains by document.
//
// Decomposition: a kernel clears; a block takes 512 documents, by position, and some of the upper
// ones, and adds to device memory; another kernel finishes, a thread a document.
#include "gpu/objective/cu_lambda.h"
#include "gpu/objective/lambda_block.cuh"
#include "gpu/device/tuning.h"
#include "objective/lambda.h"

enum {
    THREADS = 32 * RW_TUNE_LAMBDA_WARPS,
    SLOTS = RW_TUNE_LAMBDA_SPREAD_SLOTS,
    SPREAD_LOWS = THREADS * SLOTS,
    BEGIN_THREADS = 256
};

static_assert((int)RW_LAMBDA_TILE_DOCS == (int)BEGIN_THREADS, "a thread a document");

__global__ void lambda_begin_kernel(const __grid_constant__ struct rw_lambda_args a)
{
    if (blockIdx.x < a.n_tiles) {
        const struct rw_lambda_tile tile = a.d_tile[blockIdx.x];
        const uint32_t q = a.d_spread[tile.spread];
        const uint32_t doc = a.d_offset[q] + tile.begin + threadIdx.x;
        if (doc < a.d_offset[q + 1])
            a.d_pair[doc].lambda = a.d_pair[doc].hessian = 0;
        return;
    }
    if (threadIdx.x == 0) {
        struct rw_cuda_lambda_info info = {};
        info.lambda_exponent = info.hessian_exponent = RW_LAMBDA_EXPONENT;
        *a.d_info = info;
    }
    for (uint32_t i = threadIdx.x; i < a.n_spread; i += BEGIN_THREADS)
        a.d_total[i].hi = a.d_total[i].lo = 0;
}

struct spread_top {
    struct lambda_item item;
    double gain;
};

struct spread_shared {
    struct spread_top top[RW_LAMBDA_SPREAD_TOPS];
    unsigned long long lambda[RW_LAMBDA_SPREAD_TOPS], hessian[RW_LAMBDA_SPREAD_TOPS];
    unsigned long long total[2];
};

/* Upper documents at positions [top, end) against the thread's: adds to their sums in shared memory
 * and to the thread's own. The pairs' lambdas come as hi and lo. */
__device__ __forceinline__ void spread_meet(const struct lambda_query &query, float sigma,
                                            struct spread_shared &shared, uint32_t top,
                                            uint32_t end, const double (&gain)[SLOTS],
                                            struct lambda_own<SLOTS> &own, long long &hi,
                                            long long &lo)
{
    long long sum = 0; /* at most SLOTS x 128 of n pairs, all of which stay under 2^62 */
    for (uint32_t j = 0; j < end - top; j++) {
        const struct spread_top upper = shared.top[j];
        long long lambda = 0, hessian = 0;
#pragma unroll
        for (int k = 0; k < SLOTS; k++) {
            if (own.position[k] <= top + j || gain[k] == upper.gain)
                continue;
            const struct rw_lambda_pair pair =
                lambda_pair(query, sigma, upper.item, own.item[k], (float)(gain[k] - upper.gain));
            own.lambda[k] += pair.lambda;
            own.hessian[k] += pair.hessian;
            lambda -= pair.lambda;
            hessian += pair.hessian;
            sum += gain[k] > upper.gain ? pair.lambda : -pair.lambda;
        }
        __syncwarp();
        lambda = lambda_warp_sum(lambda);
        hessian = lambda_warp_sum(hessian);
        if (threadIdx.x % 32 == 0) {
            lambda_shared_add(&shared.lambda[j], lambda);
            lambda_shared_add(&shared.hessian[j], hessian);
        }
    }
    hi += sum >> 32;
    lo += sum & 0xffffffff;
}

__device__ __forceinline__ void spread_add(int64_t *d_sum, unsigned long long v)
{
    if (v != 0)
        atomicAdd(reinterpret_cast<unsigned long long *>(d_sum), v);
}

/* The thread's documents of a job. */
__device__ __forceinline__ void spread_take(const struct rw_lambda_args &a,
                                            const struct lambda_query &query, uint32_t low,
                                            double (&gain)[SLOTS], struct lambda_own<SLOTS> &own)
{
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
        const uint32_t t = low + THREADS * k + threadIdx.x;
        own.lambda[k] = own.hessian[k] = 0;
        own.position[k] = 0;
        own.item[k].score = own.item[k].discount = 0.0;
        gain[k] = 0.0;
        if (t >= query.n)
            continue;
        const uint32_t doc = a.d_order[query.first + t];
        own.position[k] = t;
        own.item[k].score = a.d_scores[doc];
        own.item[k].discount = a.d_discount[t];
        gain[k] = a.d_gain[doc];
    }
}

__global__ void __launch_bounds__(THREADS)
    lambda_spread_kernel(const __grid_constant__ struct rw_lambda_args a)
{
    __shared__ struct spread_shared shared;
    const struct rw_lambda_job job = a.d_job[blockIdx.x];
    const uint32_t q = a.d_spread[job.spread];
    struct lambda_query query;
    query.first = a.d_offset[q];
    query.n = a.d_offset[q + 1] - query.first;
    if (a.d_sampled && !a.d_sampled[query.first])
        return;
    query.n_top = a.rule.truncation && a.rule.truncation < query.n ? a.rule.truncation : query.n;
    query.ideal = (float)a.d_ideal[q];
    query.scale = (float)rw_pow2(RW_LAMBDA_EXPONENT - rw_lambda_shift(query.n, &a.rule));
    query.norm = a.rule.norm && a.d_scores[a.d_order[query.first]] !=
                                    a.d_scores[a.d_order[query.first + query.n - 1]];
    double gain[SLOTS];
    struct lambda_own<SLOTS> own;
    long long hi = 0, lo = 0;
    spread_take(a, query, job.low, gain, own);
    if (threadIdx.x < 2)
        shared.total[threadIdx.x] = 0;
    const uint32_t most = query.n_top - job.top;
    const uint32_t last = job.top + (most < a.spread_tops ? most : a.spread_tops);
    for (uint32_t top = job.top; top < last; top += RW_LAMBDA_SPREAD_TOPS) {
        const uint32_t end =
            last - top < RW_LAMBDA_SPREAD_TOPS ? last : top + RW_LAMBDA_SPREAD_TOPS;
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < end - top; j += THREADS) {
            const uint32_t doc = a.d_order[query.first + top + j];
            shared.top[j].item.score = a.d_scores[doc];
            shared.top[j].item.discount = a.d_discount[top + j];
            shared.top[j].gain = a.d_gain[doc];
            shared.lambda[j] = shared.hessian[j] = 0;
        }
        __syncthreads();
        spread_meet(query, a.rule.sigma, shared, top, end, gain, own, hi, lo);
        __syncthreads();
        for (uint32_t j = threadIdx.x; j < end - top; j += THREADS) {
            const uint32_t doc = a.d_order[query.first + top + j];
            spread_add(&a.d_pair[doc].lambda, shared.lambda[j]);
            spread_add(&a.d_pair[doc].hessian, shared.hessian[j]);
        }
    }
#pragma unroll
    for (int k = 0; k < SLOTS; k++) {
        const uint32_t t = job.low + THREADS * k + threadIdx.x;
        if (t >= query.n)
            continue;
        const uint32_t doc = a.d_order[query.first + t];
        spread_add(&a.d_pair[doc].lambda, (unsigned long long)own.lambda[k]);
        spread_add(&a.d_pair[doc].hessian, (unsigned long long)own.hessian[k]);
    }
    hi = lambda_warp_sum(hi);
    lo = lambda_warp_sum(lo);
    if (threadIdx.x % 32 == 0) {
        lambda_shared_add(&shared.total[0], hi);
        lambda_shared_add(&shared.total[1], lo);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(&a.d_total[job.spread].hi, shared.total[0]);
        atomicAdd(&a.d_total[job.spread].lo, shared.total[1]);
    }
}

__global__ void lambda_end_kernel(const __grid_constant__ struct rw_lambda_args a)
{
    const struct rw_lambda_tile tile = a.d_tile[blockIdx.x];
    const uint32_t q = a.d_spread[tile.spread];
    const uint32_t first = a.d_offset[q], n = a.d_offset[q + 1] - first;
    if (a.d_sampled && !a.d_sampled[first])
        return;
    const struct rw_lambda_total total = a.d_total[tile.spread];
    const double factor = rw_lambda_factor(&a.rule, (int64_t)total.hi, (int64_t)total.lo,
                                           rw_lambda_shift(n, &a.rule));
    const uint32_t doc = first + tile.begin + threadIdx.x;
    uint64_t lambda_size = 0, hessian_size = 0;
    if (tile.begin + threadIdx.x < n) {
        const double *by = a.d_doc_weight ? a.d_doc_weight + doc : NULL;
        const int64_t lambda = rw_lambda_final(a.d_pair[doc].lambda, factor, by);
        const int64_t hessian = rw_lambda_final(a.d_pair[doc].hessian, factor, by);
        a.d_pair[doc].lambda = lambda;
        a.d_pair[doc].hessian = hessian;
        lambda_size = lambda_magnitude(lambda);
        hessian_size = lambda_magnitude(hessian);
    }
    __syncwarp();
    lambda_raise(&a.d_info->largest_lambda, lambda_size);
    lambda_raise(&a.d_info->largest_hessian, hessian_size);
}

/* ---- Launchers ---- */

extern "C" uint32_t rw_cuda_lambda_spread_lows(void)
{
    return SPREAD_LOWS;
}

extern "C" int rw_cuda_lambda_begin(const struct rw_lambda_args *args, void *stream)
{
    lambda_begin_kernel<<<args->n_tiles + 1, BEGIN_THREADS, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}

extern "C" int rw_cuda_lambda_spread(const struct rw_lambda_args *args, void *stream)
{
    if (args->n_tiles == 0)
        return (int)cudaSuccess;
    if (args->n_jobs > 0)
        lambda_spread_kernel<<<args->n_jobs, THREADS, 0, (cudaStream_t)stream>>>(*args);
    const cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        return (int)error;
    lambda_end_kernel<<<args->n_tiles, BEGIN_THREADS, 0, (cudaStream_t)stream>>>(*args);
    return (int)cudaGetLastError();
}
