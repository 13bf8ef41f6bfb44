/* Why: leaf values and figures by query are sums over documents by key: a generalized histogram of
 * vectors, updated number by number (Henriksen et al., sections III-B and IV-D), whose numbers are
 * those of struct rw_sum: documents, and high and low halves of lambdas and weights.
 *
 * Shapes: key, list [n]; shared, where it fits, 9 planes of [n_keys][M] words: the count, and low
 * and high words of the four 64-bit sums, copies of a key side by side; result [n_keys].
 *
 * Decomposition: a thread takes RW_TUNE_MULTI_SUMS_ROW places in a row and adds those of one key in
 * registers; then to copy t % M of its block's sums, which end in the result by 64-bit atomics; or,
 * with too many keys for shared memory, to the result at once. */
#include <cuda_runtime.h>

#include "gpu/generalized_ops.cuh"
#include "gpu/multi_sums.h"
#include "gpu/device/tuning.h"

enum {
    SUMS_THREADS = RW_TUNE_MULTI_SUMS_THREADS,
    SUMS_ROW = RW_TUNE_MULTI_SUMS_ROW,
    SUMS_FIELDS = 4,                  /* of 64 bits, beside the count */
    SUMS_WORDS = 1 + 2 * SUMS_FIELDS, /* of a key in shared memory */
    SUMS_MOST_COPIES = 32
};

struct sums_run {
    uint32_t key, n;
    long long sum[SUMS_FIELDS]; /* lambda_hi, lambda_lo, weight_hi, weight_lo */
};

/* The 64-bit sums of the result, behind its count. */
__device__ __forceinline__ unsigned long long *sums_field(struct rw_sum *sum, int field)
{
    int64_t *const at[SUMS_FIELDS] = {&sum->lambda_hi, &sum->lambda_lo, &sum->weight_hi,
                                      &sum->weight_lo};
    return (unsigned long long *)at[field];
}

/* add(run) for the runs of equal keys in each row of places of this thread. */
template <class Add>
__device__ __forceinline__ void sums_visit(const struct rw_sums_call &call, Add add)
{
    const uint64_t n_rows = (call.n + SUMS_ROW - 1) / SUMS_ROW;
    const uint64_t step = (uint64_t)gridDim.x * SUMS_THREADS;
    for (uint64_t r = (uint64_t)blockIdx.x * SUMS_THREADS + threadIdx.x; r < n_rows; r += step) {
        uint32_t key[SUMS_ROW];
        long long lambda[SUMS_ROW], weight[SUMS_ROW];
#pragma unroll
        for (int j = 0; j < SUMS_ROW; j++) {
            const uint64_t p = r * SUMS_ROW + j;
            key[j] = UINT32_MAX; /* passed over: keys are below n_keys <= UINT32_MAX */
            lambda[j] = weight[j] = 0;
            if (p < call.n) {
                const uint64_t doc = call.d_list ? __ldg(call.d_list + p) : p;
                key[j] = __ldg(call.d_key + p);
                lambda[j] = __ldg((const long long *)call.d_lambda + doc);
                if (call.d_weight)
                    weight[j] = __ldg((const long long *)call.d_weight + doc);
            }
        }
        struct sums_run run = {key[0], 0, {0, 0, 0, 0}};
#pragma unroll
        for (int j = 0; j < SUMS_ROW; j++) {
            if (key[j] != run.key) {
                add(run);
                run = {key[j], 0, {0, 0, 0, 0}};
            }
            run.n++;
            run.sum[0] += lambda[j] >> 32;
            run.sum[1] += lambda[j] & 0xffffffffll;
            run.sum[2] += weight[j] >> 32;
            run.sum[3] += weight[j] & 0xffffffffll;
        }
        add(run);
    }
}

__global__ void __launch_bounds__(SUMS_THREADS)
    sums_global_kernel(const __grid_constant__ struct rw_sums_call call)
{
    sums_visit(call, [&](const struct sums_run &run) {
        if (run.key >= call.n_keys)
            return;
        struct rw_sum *const to = call.d_sum + run.key;
        atomicAdd((unsigned long long *)&to->n, (unsigned long long)run.n);
#pragma unroll
        for (int f = 0; f < SUMS_FIELDS; f++)
            if (run.sum[f] != 0)
                atomicAdd(sums_field(to, f), (unsigned long long)run.sum[f]);
    });
}

__global__ void __launch_bounds__(SUMS_THREADS)
    sums_shared_kernel(const __grid_constant__ struct rw_sums_call call, uint32_t m)
{
    extern __shared__ uint32_t word[]; /* counts, then low and high words of each field */
    const uint32_t n = call.n_keys * m;
    for (uint32_t i = threadIdx.x; i < n * SUMS_WORDS; i += SUMS_THREADS)
        word[i] = 0;
    __syncthreads();
    const uint32_t copy = threadIdx.x & (m - 1);
    sums_visit(call, [&](const struct sums_run &run) {
        if (run.key >= call.n_keys)
            return;
        const uint32_t cell = run.key * m + copy;
        atomicAdd(word + cell, run.n);
#pragma unroll
        for (int f = 0; f < SUMS_FIELDS; f++)
            if (run.sum[f] != 0)
                gen_add64::shared_update(word + (1 + 2 * f) * n, n, cell,
                                         (unsigned long long)run.sum[f]);
    });
    __syncthreads();
    for (uint32_t i = threadIdx.x; i < call.n_keys * (1 + SUMS_FIELDS); i += SUMS_THREADS) {
        const uint32_t key = i % call.n_keys;
        const int f = (int)(i / call.n_keys) - 1; /* -1: the count */
        unsigned long long sum = 0;
        for (uint32_t j = 0; j < m; j++) { /* threads begin apart, in different banks */
            const uint32_t cell = key * m + ((key + j) & (m - 1));
            sum += f < 0 ? word[cell] : gen_add64::shared_read(word + (1 + 2 * f) * n, n, cell);
        }
        struct rw_sum *const to = call.d_sum + key;
        if (sum != 0)
            atomicAdd(f < 0 ? (unsigned long long *)&to->n : sums_field(to, f), sum);
    }
}

extern "C" int rw_cuda_sums_by_key(const struct rw_sums_call *call, void *stream)
{
    cudaStream_t on = (cudaStream_t)stream;
    if (call->n_keys == 0)
        return cudaSuccess;
    cudaError_t error = cudaMemsetAsync(call->d_sum, 0, call->n_keys * sizeof *call->d_sum, on);
    if (error != cudaSuccess || call->n == 0)
        return error;
    const uint64_t rows = (call->n + SUMS_ROW - 1) / SUMS_ROW;
    const uint64_t wanted = (uint64_t)call->n_multiprocessors * RW_TUNE_MULTI_SUMS_BLOCKS;
    const uint64_t most = (rows + SUMS_THREADS - 1) / SUMS_THREADS;
    const unsigned blocks = (unsigned)(most < wanted ? most : wanted);
    const uint64_t reserved = 1024; /* of each block, for the device */
    struct rw_multi_figures block = {};
    block.shared_bytes = (call->shared_bytes + reserved) / RW_TUNE_MULTI_SUMS_BLOCKS - reserved;
    block.block_threads = SUMS_THREADS;
    block.n_multiprocessors = 1;
    struct rw_multi_work work = {};
    work.way = RW_MULTI_HARDWARE;
    work.cell_bytes = SUMS_WORDS * sizeof(uint32_t);
    work.n = (call->n + blocks - 1) / blocks;
    work.n_bins = call->n_keys;
    work.race = 1.0;
    const struct rw_multi_choice choice = rw_multi_shared(&block, &work);
    /* A block with fewer places than keys would mostly clear and fold. */
    if (choice.s != 1 || work.n < call->n_keys) {
        const uint64_t all = (uint64_t)call->n_multiprocessors * (2048 / SUMS_THREADS);
        sums_global_kernel<<<(unsigned)(most < all ? most : all), SUMS_THREADS, 0, on>>>(*call);
        return cudaGetLastError();
    }
    uint64_t m = rw_multi_copies(work.way, choice.m);
    m = m < SUMS_MOST_COPIES ? m : SUMS_MOST_COPIES;
    const size_t bytes = (size_t)call->n_keys * m * work.cell_bytes;
    error = cudaFuncSetAttribute(sums_shared_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 (int)bytes);
    if (error != cudaSuccess)
        return error;
    sums_shared_kernel<<<blocks, SUMS_THREADS, bytes, on>>>(*call, (uint32_t)m);
    return cudaGetLastError();
}
