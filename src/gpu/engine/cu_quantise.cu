/* The start of a tree on the device: the documents of its sample, their lambdas as small integers,
 * and the sums of the root. All integers are identical to those of rw_host_begin_tree.
 *
 * Decomposition: threads stride over queries (sample_kernel) or documents, or warps over queries
 * with lanes over documents (spread_kernel). In quantise_kernel a block adds up its sums before it
 * adds them to struct rw_cuda_begin. Sums are of integers, so their order does not matter. */
#include <cub/block/block_reduce.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/iterator/counting_iterator.h>

#include "gpu/device/kernel.cuh"
#include "gpu/engine/cu_engine.h"
#include "tree/numbers.h"

enum { WARP = 32, THREADS = RW_TUNE_QUANTISE_THREADS, MOST_BLOCKS = RW_TUNE_QUANTISE_BLOCKS };
static_assert(THREADS == 256, "blocks per multiprocessor: device_tuning.c");

/* ---- samples ---- */

static __global__ void sample_kernel(const struct rw_cuda_sample a)
{
    for (uint64_t q = grid_first<THREADS>(); q < a.n_queries; q += grid_step<THREADS>()) {
        const uint64_t query = a.first + q;
        const uint64_t number =
            rw_query_number(rw_cuda_random(a.seed, query, a.tree, RW_STREAM_SAMPLE_QUERY),
                            rw_cuda_random(a.bag_seed, rw_bag_item(a.bag, query), 0, RW_STREAM_BAG),
                            a.bag_threshold);
        const int keep = number < a.threshold;
        a.d_kept[q] = (uint8_t)keep;
        atomicMin(&a.d_lowest[0], (unsigned long long)min(number, (uint64_t)UINT32_MAX) << 32 | q);
        if (keep)
            atomicAdd(&a.d_lowest[1], 1ull);
    }
}

static __global__ void spread_kernel(const struct rw_cuda_sample a)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint64_t n_warps = (uint64_t)gridDim.x * (THREADS / WARP);
    const uint32_t lowest = (uint32_t)a.d_lowest[0];
    const int any = a.d_lowest[1] > 0;
    for (uint64_t q = blockIdx.x * (uint64_t)(THREADS / WARP) + threadIdx.x / WARP; q < a.n_queries;
         q += n_warps) {
        const uint8_t keep = any ? a.d_kept[q] : q == lowest;
        for (uint32_t doc = a.d_query_offset[q] + lane; doc < a.d_query_offset[q + 1]; doc += WARP)
            a.d_sampled[doc] = keep;
    }
}

/* Draws documents among those with d_sampled 1. */
static __global__ void sample_docs_kernel(const struct rw_cuda_sample a)
{
    unsigned long long lowest = ~0ull, n_kept = 0;
    for (uint64_t doc = grid_first<THREADS>(); doc < a.n_docs; doc += grid_step<THREADS>()) {
        if (!a.d_sampled[doc])
            continue;
        const uint64_t number = a.first + doc;
        const uint4 four = rw_cuda_random4(a.seed, number / 4, a.tree, RW_STREAM_SAMPLE_DOC);
        const uint32_t random = number % 4 == 0   ? four.x
                                : number % 4 == 1 ? four.y
                                : number % 4 == 2 ? four.z
                                                  : four.w;
        const int keep = random < a.threshold;
        a.d_sampled[doc] = (uint8_t)keep;
        lowest = min(lowest, (unsigned long long)random << 32 | doc);
        n_kept += (unsigned long long)keep;
    }
    for (uint32_t step = WARP / 2; step > 0; step /= 2) {
        lowest = min(lowest, __shfl_xor_sync(~0u, lowest, step));
        n_kept += __shfl_xor_sync(~0u, n_kept, step);
    }
    if (threadIdx.x % WARP > 0)
        return;
    atomicMin(&a.d_lowest[0], lowest);
    if (n_kept > 0)
        atomicAdd(&a.d_lowest[1], n_kept);
}

/* If no document is kept, keeps the one with the lowest random number. One thread. */
static __global__ void keep_doc_kernel(const struct rw_cuda_sample a)
{
    if (a.d_lowest[1] == 0 && a.d_lowest[0] != ~0ull)
        a.d_sampled[(uint32_t)a.d_lowest[0]] = 1;
}

extern "C" int rw_cuda_draw(const struct rw_cuda_sample *sample, int of_docs, void *stream)
{
    const uint32_t n = of_docs ? sample->n_docs : sample->n_queries;
    unsigned long long *const d = sample->d_lowest;
    /* the largest number: no item yet */
    TRY_CUDA(cudaMemsetAsync(&d[0], 0xff, sizeof(*d), (cudaStream_t)stream));
    TRY_CUDA(cudaMemsetAsync(&d[1], 0, sizeof(*d), (cudaStream_t)stream));
    return launch_grid(of_docs ? sample_docs_kernel : sample_kernel,
                       blocks_up_to(MOST_BLOCKS, n, THREADS), THREADS, stream, *sample);
}

extern "C" int rw_cuda_finish_sample(const struct rw_cuda_sample *sample, int of_docs, void *stream)
{
    const uint64_t threads = (uint64_t)sample->n_queries * WARP;
    if (of_docs)
        return launch_grid(keep_doc_kernel, 1, 1, stream, *sample);
    return launch_grid(spread_kernel, blocks_up_to(MOST_BLOCKS, threads, THREADS), THREADS, stream,
                       *sample);
}

static __global__ void count_up_kernel(uint32_t *d_list, uint32_t n)
{
    for (uint64_t i = grid_first<THREADS>(); i < n; i += grid_step<THREADS>())
        d_list[i] = (uint32_t)i;
}

static cudaError_t select_sampled(void *d_scratch, size_t &bytes, const uint8_t *d_sampled,
                                  uint32_t *d_list, uint32_t *d_n, uint32_t n, cudaStream_t stream)
{
    const thrust::counting_iterator<uint32_t> all(0);
    return cub::DeviceSelect::Flagged(d_scratch, bytes, all, d_sampled, d_list, d_n, (int)n,
                                      stream);
}

extern "C" size_t rw_cuda_list_bytes(uint32_t n_docs)
{
    size_t bytes = 0;
    if (select_sampled(NULL, bytes, NULL, NULL, NULL, n_docs, NULL) != cudaSuccess)
        (void)cudaGetLastError();
    return bytes ? bytes : 1;
}

extern "C" int rw_cuda_list_sampled(const uint8_t *d_sampled, uint32_t n_docs, uint32_t *d_list,
                                    uint32_t *d_n_selected, void *d_scratch, size_t scratch_bytes,
                                    void *stream)
{
    if (d_sampled)
        return select_sampled(d_scratch, scratch_bytes, d_sampled, d_list, d_n_selected, n_docs,
                              (cudaStream_t)stream);
    return launch_grid(count_up_kernel, blocks_up_to(MOST_BLOCKS, n_docs, THREADS), THREADS, stream,
                       d_list, n_docs);
}

/* ---- quantised lambdas ---- */

static __global__ void __launch_bounds__(THREADS, RW_BLOCKS_HELD(THREADS, RW_TUNE_QUANTISE_HELD))
    quantise_kernel(const struct rw_cuda_quantise a)
{
    using reduce = cub::BlockReduce<long long, THREADS>;
    __shared__ typename reduce::TempStorage shared;
    __shared__ int shift[2];
    if (threadIdx.x == 0) {
        shift[0] = rw_quantise_shift((int64_t)a.d_begin->info.largest_lambda, a.bits);
        shift[1] = rw_quantise_shift((int64_t)a.d_begin->info.largest_hessian, a.bits);
    }
    __syncthreads();
    struct rw_sum sum = {0, 0, 0, 0, 0};
    struct rw_quantised_sums quantised = {0, 0};
    for (uint64_t doc = grid_first<THREADS>(); doc < a.n_docs; doc += grid_step<THREADS>()) {
        if (a.d_sampled && !a.d_sampled[doc])
            continue;
        const struct rw_lambda_pair pair = pair_at(a.d_pair, doc);
        const int64_t lambda = pair.lambda, hessian = pair.hessian;
        rw_sum_add(&sum, lambda, hessian);
        const int32_t lambda_q = rw_quantise(
            lambda, shift[0], a.nearest,
            a.nearest ? 0
                      : rw_cuda_random(a.seed, a.first_doc + doc, a.tree, RW_STREAM_ROUND_LAMBDA));
        a.d_lambda_q[doc] = lambda_q;
        quantised.lambda_squares += (uint64_t)((int64_t)lambda_q * lambda_q);
        if (!a.d_hess_q)
            continue;
        const int32_t hess_q = rw_quantise(
            hessian, shift[1], a.nearest,
            a.nearest ? 0
                      : rw_cuda_random(a.seed, a.first_doc + doc, a.tree, RW_STREAM_ROUND_HESS));
        a.d_hess_q[doc] = hess_q;
        quantised.hess += hess_q;
    }
    const long long mine[7] = {(long long)sum.n,
                               (long long)sum.lambda_hi,
                               (long long)sum.lambda_lo,
                               (long long)sum.hess_hi,
                               (long long)sum.hess_lo,
                               (long long)quantised.hess,
                               (long long)quantised.lambda_squares};
    unsigned long long *const to[7] = {(unsigned long long *)&a.d_begin->sum.n,
                                       (unsigned long long *)&a.d_begin->sum.lambda_hi,
                                       (unsigned long long *)&a.d_begin->sum.lambda_lo,
                                       (unsigned long long *)&a.d_begin->sum.hess_hi,
                                       (unsigned long long *)&a.d_begin->sum.hess_lo,
                                       (unsigned long long *)&a.d_begin->quantised.hess,
                                       (unsigned long long *)&a.d_begin->quantised.lambda_squares};
    for (int i = 0; i < (a.squares ? 7 : 6); i++) {
        const long long all = reduce(shared).Sum(mine[i]);
        if (threadIdx.x == 0 && all != 0)
            atomicAdd(to[i], (unsigned long long)all);
        __syncthreads(); /* the reduction's memory is used again */
    }
}

extern "C" int rw_cuda_quantise(const struct rw_cuda_quantise *quantise, void *stream)
{
    struct rw_cuda_begin *d_begin = quantise->d_begin;
    TRY_CUDA(
        cudaMemsetAsync(d_begin, 0, offsetof(struct rw_cuda_begin, info), (cudaStream_t)stream));
    return launch_grid(quantise_kernel,
                       blocks_up_to(quantise->most_blocks, quantise->n_docs, THREADS), THREADS,
                       stream, *quantise);
}
