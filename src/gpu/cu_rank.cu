// Why: a document's lambda and a query's metric need every document's position. The order is total
// (falling score, -0 as +0, then place), so any sort gives the host's; these are CUB's, stable,
// over integer keys that rise where scores fall (rank/order.h).
//
// Shapes: d_scores, d_order [n_docs], query by query; d_query [n_block + n_warp] by falling size.
//
// Decomposition: one launch for all queries of up to 2,048 documents: first a block a query, then
// a warp a query, the longest first, so that the short ones fill the end. Longer queries are
// sorted together: by score, then, stable, by query.
#include <cub/block/block_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/warp/warp_merge_sort.cuh>

#include "gpu/rank_cuda.h"
#include "gpu/tuning.h"
#include "rank/order.h"

enum {
    RANK_THREADS = RW_TUNE_RANK_THREADS,
    RANK_WARPS = RANK_THREADS / 32,
    RANK_LARGE_THREADS = 256
};

static_assert(RW_RANK_BLOCK_DOCS % RANK_THREADS == 0 && RW_RANK_WARP_DOCS % 32 == 0,
              "queries fill items of threads");

struct rank_less {
    __device__ bool operator()(uint64_t a, uint64_t b) const
    {
        return a < b;
    }
};

template <int ITEMS> using rank_warp_sort = cub::WarpMergeSort<uint64_t, ITEMS, 32, uint32_t>;
template <int ITEMS>
using rank_block_sort = cub::BlockMergeSort<uint64_t, RANK_THREADS, ITEMS, uint32_t>;

enum {
    RANK_WARP_ITEMS = RW_RANK_WARP_DOCS / 32,
    RANK_BLOCK_ITEMS = RW_RANK_BLOCK_DOCS / RANK_THREADS
};

/* The largest of each kind; smaller sorts fit into the same place. */
union rank_shared {
    typename rank_warp_sort<RANK_WARP_ITEMS>::TempStorage warp[RANK_WARPS];
    typename rank_block_sort<RANK_BLOCK_ITEMS>::TempStorage block;
};

/* A query's place in the set. */
struct rank_query {
    uint32_t first, n;
};

/* Item k of thread t is place t * ITEMS + k; what is past the end sorts last. */
template <int ITEMS>
__device__ __forceinline__ void rank_load(const double *d_scores, struct rank_query query,
                                          uint32_t thread, uint64_t (&key)[ITEMS],
                                          uint32_t (&place)[ITEMS])
{
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        place[k] = thread * ITEMS + k;
        key[k] = place[k] < query.n ? rw_falling_key(d_scores[query.first + place[k]]) : UINT64_MAX;
    }
}

template <int ITEMS>
__device__ __forceinline__ void rank_store(uint32_t *d_order, struct rank_query query,
                                           uint32_t thread, const uint32_t (&place)[ITEMS])
{
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const uint32_t r = thread * ITEMS + k;
        if (r < query.n)
            d_order[query.first + r] = query.first + place[k];
    }
}

template <int ITEMS>
__device__ __forceinline__ void rank_by_warp(const double *d_scores, struct rank_query query,
                                             union rank_shared &shared, uint32_t *d_order)
{
    static_assert(sizeof(typename rank_warp_sort<ITEMS>::TempStorage) <= sizeof shared.warp[0],
                  "a smaller sort needs less");
    uint64_t key[ITEMS];
    uint32_t place[ITEMS];
    const uint32_t lane = threadIdx.x % 32;
    auto &storage = reinterpret_cast<typename rank_warp_sort<ITEMS>::TempStorage &>(
        shared.warp[threadIdx.x / 32]);
    rank_load<ITEMS>(d_scores, query, lane, key, place);
    rank_warp_sort<ITEMS>(storage).StableSort(key, place, rank_less());
    rank_store<ITEMS>(d_order, query, lane, place);
}

template <int ITEMS>
__device__ __forceinline__ void rank_by_block(const double *d_scores, struct rank_query query,
                                              union rank_shared &shared, uint32_t *d_order)
{
    static_assert(sizeof(typename rank_block_sort<ITEMS>::TempStorage) <= sizeof shared.block,
                  "a smaller sort needs less");
    uint64_t key[ITEMS];
    uint32_t place[ITEMS];
    auto &storage = reinterpret_cast<typename rank_block_sort<ITEMS>::TempStorage &>(shared.block);
    rank_load<ITEMS>(d_scores, query, threadIdx.x, key, place);
    rank_block_sort<ITEMS>(storage).StableSort(key, place, rank_less());
    rank_store<ITEMS>(d_order, query, threadIdx.x, place);
}

__global__ void __launch_bounds__(RANK_THREADS)
    rank_kernel(const __grid_constant__ struct rw_cuda_rank rank, const double *d_scores,
                const uint8_t *d_sampled)
{
    __shared__ union rank_shared shared;
    const bool by_block = blockIdx.x < rank.n_block;
    const uint32_t job =
        by_block ? blockIdx.x
                 : rank.n_block + (blockIdx.x - rank.n_block) * RANK_WARPS + threadIdx.x / 32;
    if (job >= rank.n_block + rank.n_warp)
        return; /* a whole warp, in a block of warps that go their own ways */
    const uint32_t q = rank.d_query[job];
    struct rank_query query;
    query.first = rank.d_offset[q];
    query.n = rank.d_offset[q + 1] - query.first;
    if (d_sampled && !d_sampled[query.first])
        return;
    if (by_block) {
        if (query.n <= 2 * RANK_THREADS)
            rank_by_block<2>(d_scores, query, shared, rank.d_order);
        else if (query.n <= 4 * RANK_THREADS)
            rank_by_block<4>(d_scores, query, shared, rank.d_order);
        else
            rank_by_block<RANK_BLOCK_ITEMS>(d_scores, query, shared, rank.d_order);
    } else if (query.n <= 32) {
        rank_by_warp<1>(d_scores, query, shared, rank.d_order);
    } else if (query.n <= 64) {
        rank_by_warp<2>(d_scores, query, shared, rank.d_order);
    } else if (query.n <= 128) {
        rank_by_warp<4>(d_scores, query, shared, rank.d_order);
    } else {
        rank_by_warp<RANK_WARP_ITEMS>(d_scores, query, shared, rank.d_order);
    }
}

/* ---- Long queries ---- */

/* Which of the large queries item i of their list belongs to: the last that begins at or before it.
 */
__device__ __forceinline__ uint32_t rank_part(const struct rw_cuda_rank_large &large, uint32_t i)
{
    uint32_t lo = 0, hi = large.n; /* begin[lo] <= i < begin[hi] */
    while (hi - lo > 1) {
        const uint32_t middle = lo + (hi - lo) / 2;
        if (large.d_begin[middle] <= i)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

__global__ void rank_keys_kernel(const __grid_constant__ struct rw_cuda_rank_large large,
                                 const double *d_scores)
{
    const uint32_t i = blockIdx.x * RANK_LARGE_THREADS + threadIdx.x;
    if (i >= large.n_docs)
        return;
    const uint32_t part = rank_part(large, i);
    large.d_key[0][i] = rw_falling_key(d_scores[large.d_first[part] + (i - large.d_begin[part])]);
    large.d_doc[0][i] = i; /* its place in the list */
}

/* From documents by score to the queries that they belong to. */
__global__ void rank_parts_kernel(const __grid_constant__ struct rw_cuda_rank_large large,
                                  const uint32_t *d_doc)
{
    const uint32_t i = blockIdx.x * RANK_LARGE_THREADS + threadIdx.x;
    if (i < large.n_docs)
        large.d_part[0][i] = rank_part(large, d_doc[i]);
}

__global__ void rank_spread_kernel(const __grid_constant__ struct rw_cuda_rank_large large,
                                   const uint32_t *d_doc, uint32_t *d_order)
{
    const uint32_t i = blockIdx.x * RANK_LARGE_THREADS + threadIdx.x;
    if (i >= large.n_docs)
        return;
    /* both the position and the document are of the query in which item i of the list lies */
    const uint32_t part = rank_part(large, i);
    const uint32_t from_list = large.d_first[part] - large.d_begin[part]; /* modulo 2^32 */
    d_order[from_list + i] = from_list + d_doc[i];
}

static int part_bits(uint32_t n_large)
{
    int bits = 0;
    while (bits < 32 && ((n_large - 1) >> bits) != 0)
        bits++;
    return bits;
}

extern "C" size_t rw_cuda_rank_scratch_bytes(uint32_t n_docs, uint32_t n_large)
{
    size_t by_key = 0, by_part = 0;
    cub::DoubleBuffer<uint64_t> key;
    cub::DoubleBuffer<uint32_t> doc, part;
    if (cub::DeviceRadixSort::SortPairs(NULL, by_key, key, doc, (int)n_docs) != cudaSuccess)
        (void)cudaGetLastError();
    if (n_large > 1 && cub::DeviceRadixSort::SortPairs(NULL, by_part, part, doc, (int)n_docs, 0,
                                                       part_bits(n_large)) != cudaSuccess)
        (void)cudaGetLastError();
    return by_key > by_part ? by_key : by_part;
}

static cudaError_t rank_large(const struct rw_cuda_rank *rank, const double *d_scores,
                              cudaStream_t stream)
{
    const struct rw_cuda_rank_large *large = &rank->large;
    const uint32_t grid = (large->n_docs + RANK_LARGE_THREADS - 1) / RANK_LARGE_THREADS;
    size_t bytes = large->scratch_bytes;
    cub::DoubleBuffer<uint64_t> key(large->d_key[0], large->d_key[1]);
    cub::DoubleBuffer<uint32_t> doc(large->d_doc[0], large->d_doc[1]);
    rank_keys_kernel<<<grid, RANK_LARGE_THREADS, 0, stream>>>(*large, d_scores);
    cudaError_t error = cudaGetLastError();
    if (error == cudaSuccess)
        error = cub::DeviceRadixSort::SortPairs(large->d_scratch, bytes, key, doc,
                                                (int)large->n_docs, 0, 64, stream);
    if (error == cudaSuccess && large->n > 1) {
        rank_parts_kernel<<<grid, RANK_LARGE_THREADS, 0, stream>>>(*large, doc.Current());
        error = cudaGetLastError();
        cub::DoubleBuffer<uint32_t> part(large->d_part[0], large->d_part[1]);
        if (error == cudaSuccess)
            error =
                cub::DeviceRadixSort::SortPairs(large->d_scratch, bytes, part, doc,
                                                (int)large->n_docs, 0, part_bits(large->n), stream);
    }
    if (error != cudaSuccess)
        return error;
    rank_spread_kernel<<<grid, RANK_LARGE_THREADS, 0, stream>>>(*large, doc.Current(),
                                                                rank->d_order);
    return cudaGetLastError();
}

extern "C" int rw_cuda_rank_run(const struct rw_cuda_rank *rank, const double *d_scores,
                                const uint8_t *d_sampled, void *stream)
{
    cudaError_t error = cudaSuccess;
    const uint32_t grid = rank->n_block + (rank->n_warp + RANK_WARPS - 1) / RANK_WARPS;
    if (grid > 0) {
        rank_kernel<<<grid, RANK_THREADS, 0, (cudaStream_t)stream>>>(*rank, d_scores, d_sampled);
        error = cudaGetLastError();
    }
    if (error == cudaSuccess && rank->large.n > 0)
        error = rank_large(rank, d_scores, (cudaStream_t)stream);
    return (int)error;
}
