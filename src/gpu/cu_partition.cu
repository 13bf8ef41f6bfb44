/* Why: the documents of many nodes divided between their children, in order, with the exact sums of
 * the left children; the right ones' are the rest.
 *
 * Looking is apart from moving: it follows the search for splits at once, so that the host hears of
 * splits and sums together and waits once a batch of nodes. A node that is never split was looked
 * at in vain; that is one pass over the documents more a tree.
 *
 * Shapes: the list of documents by place; nodes are ranges of places, cut into chunks of
 * RW_CUDA_CHUNK. Children go to the places of their own that the host names, so that nothing is
 * read after it was written over.
 *
 * Decomposition: a block a chunk for looking (look_kernel: codes, sums, a byte a document), for
 * counting (count_kernel: a bit a place) and for moving (move_kernel); a block a node for adding up
 * its chunks (scan_kernel). In a chunk the items of a thread are THREADS apart, so bit i of word w
 * is the item at 32 w + i. */
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
    look_kernel(const __grid_constant__ struct rw_cuda_look a)
{
    using reduce = cub::BlockReduce<long long, THREADS>;
    __shared__ typename reduce::TempStorage shared;
    const uint32_t p = find_chunk(a.d_range, a.n_nodes, blockIdx.x);
    const struct rw_cuda_range range = a.d_range[p];
    const struct rw_cuda_found split = a.d_split[p].found;
    if (split.column < 0) /* the same for the whole block */
        return;
    const struct rw_cuda_column column = a.d_column[split.column];
    const uint32_t missing_code = a.d_feature[split.column].n_bins;
    const uint64_t begin = (uint64_t)(blockIdx.x - range.first_chunk) * RW_CUDA_CHUNK;
    struct rw_sum sum = {0, 0, 0, 0, 0};
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        const uint64_t i = begin + (uint64_t)r * THREADS + threadIdx.x;
        if (i >= range.n)
            break;
        const uint32_t doc = a.d_list[range.from + i];
        const uint32_t code = rw_cuda_code_of(&column, doc);
        const int left = code == missing_code ? split.missing_left != 0 : code <= split.bin;
        a.d_left[doc] = (uint8_t)left;
        if (left)
            rw_sum_add(&sum, a.d_lambda[doc], a.d_weight[doc]);
    }
    const long long mine[5] = {(long long)sum.n, (long long)sum.lambda_hi, (long long)sum.lambda_lo,
                               (long long)sum.weight_hi, (long long)sum.weight_lo};
    struct rw_sum *const d_sum = &a.d_split[p].left;
    unsigned long long *const to[5] = {
        (unsigned long long *)&d_sum->n, (unsigned long long *)&d_sum->lambda_hi,
        (unsigned long long *)&d_sum->lambda_lo, (unsigned long long *)&d_sum->weight_hi,
        (unsigned long long *)&d_sum->weight_lo};
    for (int i = 0; i < 5; i++) {
        const long long all = reduce(shared).Sum(mine[i]);
        if (threadIdx.x == 0 && all != 0)
            atomicAdd(to[i], (unsigned long long)all);
        __syncthreads(); /* the reduction's memory is used again */
    }
}

static __global__ void __launch_bounds__(THREADS)
    count_kernel(const __grid_constant__ struct rw_cuda_partition a)
{
    using reduce = cub::BlockReduce<uint32_t, THREADS>;
    __shared__ typename reduce::TempStorage shared;
    const struct rw_cuda_part part = a.d_part[find_chunk(a.d_part, a.n_parts, blockIdx.x)];
    const uint64_t begin = (uint64_t)(blockIdx.x - part.first_chunk) * RW_CUDA_CHUNK;
    uint32_t n_left = 0;
#pragma unroll
    for (int r = 0; r < ITEMS; r++) {
        const uint64_t i = begin + (uint64_t)r * THREADS + threadIdx.x;
        const int left = i < part.n && a.d_left[a.d_list[part.from + i]];
        const uint32_t flags = __ballot_sync(0xffffffffu, left);
        if (threadIdx.x % WARP == 0)
            a.d_flag[(uint64_t)blockIdx.x * WORDS + (r * THREADS + threadIdx.x) / WARP] = flags;
        n_left += left;
    }
    n_left = reduce(shared).Sum(n_left);
    if (threadIdx.x == 0)
        a.d_chunk_left[blockIdx.x] = n_left;
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
    const struct rw_cuda_part part = a.d_part[find_chunk(a.d_part, a.n_parts, blockIdx.x)];
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
        const uint64_t to = left ? part.to + lefts : part.to + part.n_left + (i - lefts);
        a.d_list[to] = a.d_list[part.from + i];
    }
}

extern "C" int rw_cuda_look(const struct rw_cuda_look *look, void *stream)
{
    if (look->n_chunks == 0)
        return cudaSuccess;
    look_kernel<<<look->n_chunks, THREADS, 0, (cudaStream_t)stream>>>(*look);
    return cudaGetLastError();
}

extern "C" int rw_cuda_partition(const struct rw_cuda_partition *partition, void *stream_)
{
    cudaStream_t stream = (cudaStream_t)stream_;
    if (partition->n_chunks == 0)
        return cudaSuccess;
    count_kernel<<<partition->n_chunks, THREADS, 0, stream>>>(*partition);
    cudaError_t error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    scan_kernel<<<partition->n_parts, THREADS, 0, stream>>>(*partition);
    error = cudaGetLastError();
    if (error != cudaSuccess)
        return error;
    move_kernel<<<partition->n_chunks, THREADS, 0, stream>>>(*partition);
    return cudaGetLastError();
}
