/* Why: the documents of many nodes divided between their children, in order, with the exact sums of
 * the left children; the right ones' are the rest.
 *
 * Shapes: the list of documents by place; nodes are ranges of places, cut into chunks of
 * RW_CUDA_CHUNK. The children go to the places of their own that the host names, so that nothing is
 * read after it was written over.
 *
 * Decomposition: a block a chunk for looking (count_kernel: codes, one bit a document, sums) and
 * for moving (move_kernel); a block a node for adding up its chunks (scan_kernel). In a chunk the
 * items of a thread are THREADS apart, so bit i of word w is the item at 32 w + i. */
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>

#include "gpu/cu_engine.h"
#include "gpu/cu_find.cuh"
#include "gpu/tuning.h"

enum {
    WARP = 32,
    THREADS = RW_TUNE_PARTITION_THREADS,
    ITEMS = RW_CUDA_CHUNK / THREADS,
    WORDS = RW_CUDA_CHUNK / WARP
};
static_assert(RW_CUDA_CHUNK % THREADS == 0, "a chunk is whole rounds of its block");
static_assert(WORDS <= THREADS, "a thread for each word of bits");

static __global__ void __launch_bounds__(THREADS)
    count_kernel(const __grid_constant__ struct rw_cuda_partition a)
{
    using reduce = cub::BlockReduce<long long, THREADS>;
    __shared__ typename reduce::TempStorage shared;
    const uint32_t p = find_chunk(a.d_part, a.n_parts, blockIdx.x);
    const struct rw_cuda_part part = a.d_part[p];
    const struct rw_cuda_column column = a.d_column[part.column];
    const uint64_t begin = (uint64_t)(blockIdx.x - part.first_chunk) * RW_CUDA_CHUNK;
    struct rw_sum sum = {0, 0, 0, 0, 0};
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        const uint64_t i = begin + (uint64_t)r * THREADS + threadIdx.x;
        int left = 0;
        if (i < part.n) {
            const uint32_t doc = a.d_list[part.from + i];
            const uint32_t code = rw_cuda_code_of(&column, doc);
            left = code == part.missing_code ? part.missing_left != 0 : code <= part.bin;
            if (left)
                rw_sum_add(&sum, a.d_lambda[doc], a.d_weight[doc]);
        }
        const uint32_t flags = __ballot_sync(0xffffffffu, left);
        if (threadIdx.x % WARP == 0)
            a.d_flag[(uint64_t)blockIdx.x * WORDS + (r * THREADS + threadIdx.x) / WARP] = flags;
    }
    const long long mine[5] = {(long long)sum.n, (long long)sum.lambda_hi, (long long)sum.lambda_lo,
                               (long long)sum.weight_hi, (long long)sum.weight_lo};
    struct rw_sum *const d_sum = &a.d_sum[p];
    unsigned long long *const to[5] = {
        (unsigned long long *)&d_sum->n, (unsigned long long *)&d_sum->lambda_hi,
        (unsigned long long *)&d_sum->lambda_lo, (unsigned long long *)&d_sum->weight_hi,
        (unsigned long long *)&d_sum->weight_lo};
    for (int i = 0; i < 5; i++) {
        const long long all = reduce(shared).Sum(mine[i]);
        if (threadIdx.x == 0) {
            if (i == 0)
                a.d_chunk_left[blockIdx.x] = (uint32_t)all;
            if (all != 0)
                atomicAdd(to[i], (unsigned long long)all);
        }
        __syncthreads(); /* the reduction's memory is used again */
    }
}

/* d_chunk_left: of each chunk, then of the chunks of its node before it. */
static __global__ void __launch_bounds__(THREADS)
    scan_kernel(const __grid_constant__ struct rw_cuda_partition a)
{
    using scan = cub::BlockScan<uint32_t, THREADS>;
    __shared__ typename scan::TempStorage shared;
    const uint32_t first = a.d_part[blockIdx.x].first_chunk;
    const uint32_t end =
        blockIdx.x + 1 < a.n_parts ? a.d_part[blockIdx.x + 1].first_chunk : a.n_chunks;
    uint32_t before = 0;
    for (uint32_t some = first; some < end; some += THREADS) {
        const uint32_t chunk = some + threadIdx.x;
        uint32_t left = chunk < end ? a.d_chunk_left[chunk] : 0, all;
        scan(shared).ExclusiveSum(left, left, all);
        if (chunk < end)
            a.d_chunk_left[chunk] = before + left;
        before += all;
        __syncthreads(); /* the scan's memory is used again */
    }
}

static __global__ void __launch_bounds__(THREADS)
    move_kernel(const __grid_constant__ struct rw_cuda_partition a)
{
    using scan = cub::BlockScan<uint32_t, THREADS>;
    __shared__ typename scan::TempStorage shared;
    __shared__ uint32_t flags[WORDS], left_before[WORDS];
    const uint32_t p = find_chunk(a.d_part, a.n_parts, blockIdx.x);
    const struct rw_cuda_part part = a.d_part[p];
    const uint64_t n_left = a.d_sum[p].n;
    const uint64_t begin = (uint64_t)(blockIdx.x - part.first_chunk) * RW_CUDA_CHUNK;
    const uint32_t word =
        threadIdx.x < WORDS ? a.d_flag[(uint64_t)blockIdx.x * WORDS + threadIdx.x] : 0;
    uint32_t before;
    scan(shared).ExclusiveSum((uint32_t)__popc(word), before);
    if (threadIdx.x < WORDS) {
        flags[threadIdx.x] = word;
        left_before[threadIdx.x] = before;
    }
    __syncthreads();
    const uint64_t chunk_left = a.d_chunk_left[blockIdx.x];
    const uint32_t lane = threadIdx.x % WARP;
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        const uint64_t i = begin + (uint64_t)r * THREADS + threadIdx.x;
        if (i >= part.n)
            break;
        const uint32_t w = (r * THREADS + threadIdx.x) / WARP;
        const uint64_t lefts =
            chunk_left + left_before[w] + (uint32_t)__popc(flags[w] & ((1u << lane) - 1));
        const int left = flags[w] >> lane & 1;
        const uint64_t to = left ? part.to + lefts : part.to + n_left + (i - lefts);
        a.d_list[to] = a.d_list[part.from + i];
    }
}

extern "C" int rw_cuda_partition(const struct rw_cuda_partition *partition, void *stream_)
{
    cudaStream_t stream = (cudaStream_t)stream_;
    if (partition->n_parts == 0)
        return cudaSuccess;
    cudaError_t error = cudaMemsetAsync(partition->d_sum, 0,
                                        partition->n_parts * sizeof(*partition->d_sum), stream);
    if (error != cudaSuccess || partition->n_chunks == 0)
        return error;
    count_kernel<<<partition->n_chunks, THREADS, 0, stream>>>(*partition);
    error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    scan_kernel<<<partition->n_parts, THREADS, 0, stream>>>(*partition);
    error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    move_kernel<<<partition->n_chunks, THREADS, 0, stream>>>(*partition);
    return cudaGetLastError();
}
