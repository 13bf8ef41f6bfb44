/* Ranks the documents of every query by score, for lambdas and metrics. The order is total: falling
 * score (-0 equals +0), then index. So any correct sort gives the order of the host.
 *
 * Blocks and the large queries use the stable sorts of CUB (a library of the CUDA toolkit), with
 * keys of 64 bits that rise where scores fall (metric/metric.h). A block first tries short keys of
 * 32 bits. A warp sorts words in its registers with a network of shuffles. A word has a document's
 * index in its low bits and a short key in the others. If similar scores with equal short keys are
 * then in the wrong order, the block or warp sorts its query again with keys of 64 bits.
 *
 * Decomposition: one launch sorts all queries of up to RW_RANK_BLOCK_DOCS documents, from the
 * largest to the smallest: blocks with one query each, then warps with one query each. The large
 * queries are sorted together, first by score and then, with a stable sort, by query. */
#include <cub/block/block_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/warp/warp_merge_sort.cuh>

#include "base/bits.h"
#include "gpu/device/kernel.cuh"
#include "gpu/device/tuning.h"
#include "gpu/metric/metric_cuda.h"
#include "metric/metric.h"

enum { THREADS = RW_TUNE_RANK_THREADS, WARPS = THREADS / 32, LARGE_THREADS = 256 };

static_assert(RW_RANK_BLOCK_DOCS % THREADS == 0 && RW_RANK_WARP_DOCS % 32 == 0,
              "queries fill items of threads");

template <class KEY, int ITEMS> using rank_warp_sort = cub::WarpMergeSort<KEY, ITEMS, 32, uint32_t>;
template <class KEY, int ITEMS>
using rank_block_sort = cub::BlockMergeSort<KEY, THREADS, ITEMS, uint32_t>;

enum { WARP_ITEMS = RW_RANK_WARP_DOCS / 32, BLOCK_ITEMS = RW_RANK_BLOCK_DOCS / THREADS };

struct rank_item {
    uint32_t key, index; /* index: of the document in the query */
};

/* The sorted indices of a lane, aligned so that few stores write them. */
template <int ITEMS> struct alignas(ITEMS < 4 ? 4 * ITEMS : 16) rank_lane {
    uint32_t index[ITEMS];
};

union rank_warp_shared {
    typename rank_warp_sort<uint64_t, WARP_ITEMS>::TempStorage sort;
    struct rank_lane<WARP_ITEMS> sorted[32];
};

/* Shared memory for the largest sort of each kind. Smaller sorts need less. */
union rank_shared {
    union rank_warp_shared warp[WARPS];
    typename rank_block_sort<uint64_t, BLOCK_ITEMS>::TempStorage block;
    struct rank_item first[THREADS];
};

/* Returns a key as of rw_falling_key, for the score rounded to float: similar scores have equal
 * keys. */
RW_DEVICE uint32_t rank_short_key(double score)
{
    const uint32_t bits = __float_as_uint((float)score + 0.0f); /* -0 becomes +0 */
    return bits >> 31 ? bits : ~bits ^ 0x80000000u;
}

/* ---- A warp's words ---- */

/* Maps a query's scores to buckets of equal width, whose numbers rise where scores fall, because
 * all roundings are monotone. They are below 2^bits - 1, and all 0 if the range does not fit. */
struct rank_buckets {
    float highest, scale;
};

template <int ITEMS>
RW_DEVICE struct rank_buckets rank_buckets_of(const float (&score)[ITEMS], int bits)
{
    float lowest = score[0], highest = score[0];
#pragma unroll
    for (int k = 1; k < ITEMS; k++) {
        lowest = fminf(lowest, score[k]);
        highest = fmaxf(highest, score[k]);
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) {
        lowest = fminf(lowest, __shfl_xor_sync(~0u, lowest, distance));
        highest = fmaxf(highest, __shfl_xor_sync(~0u, highest, distance));
    }
    const float width = highest - lowest;
    const bool fits = width >= 0x1p-80f && width <= 0x1p120f;
    return {highest, fits ? 0.999f * (float)(1u << bits) / width : 0.0f};
}

/* One step of a bitonic network: compares item i with item i ^ WITH. Item k of lane l has the
 * number l * ITEMS + k. */
template <int ITEMS, int WITH> RW_DEVICE void rank_step(uint32_t (&word)[ITEMS])
{
    constexpr int lanes = WITH / ITEMS, items = WITH % ITEMS;
    if constexpr (lanes == 0) {
#pragma unroll
        for (int k = 0; k < ITEMS; k++) {
            if (k > (k ^ items))
                continue;
            const uint32_t a = word[k], b = word[k ^ items];
            word[k] = min(a, b);
            word[k ^ items] = max(a, b);
        }
    } else {
        /* tests the highest bit of `lanes` */
        const bool is_lower = (threadIdx.x & lanes & ~(lanes >> 1)) == 0;
        uint32_t other[ITEMS];
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            other[k] = __shfl_xor_sync(~0u, word[k ^ items], lanes);
#pragma unroll
        for (int k = 0; k < ITEMS; k++)
            word[k] = is_lower ? min(word[k], other[k]) : max(word[k], other[k]);
    }
}

template <int ITEMS, int STEP> RW_DEVICE void rank_steps(uint32_t (&word)[ITEMS])
{
    if constexpr (STEP > 0) {
        rank_step<ITEMS, STEP>(word);
        rank_steps<ITEMS, STEP / 2>(word);
    }
}

/* Sorts the warp's words: merges sorted runs of SIZE / 2 words, then those of SIZE, and so on. The
 * first step of a merge compares each run with the next one in reverse. */
template <int ITEMS, int SIZE = 2> RW_DEVICE void rank_sort_words(uint32_t (&word)[ITEMS])
{
    if constexpr (SIZE <= 32 * ITEMS) {
        rank_step<ITEMS, SIZE - 1>(word);
        rank_steps<ITEMS, SIZE / 4>(word);
        rank_sort_words<ITEMS, 2 * SIZE>(word);
    }
}

/* Loads keys and indices: item k of thread t has the index t * ITEMS + k. */
template <class KEY, int ITEMS>
RW_DEVICE void rank_load(const double *d_scores, struct rw_query_range query, uint32_t thread,
                         KEY (&key)[ITEMS], uint32_t (&index)[ITEMS])
{
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        index[k] = thread * ITEMS + k;
        key[k] = (KEY)-1;
        if (index[k] >= query.n)
            continue;
        const double score = d_scores[query.first + index[k]];
        key[k] = sizeof(KEY) == 8 ? (KEY)rw_falling_key(score) : (KEY)rank_short_key(score);
    }
}

template <int ITEMS>
RW_DEVICE void rank_store(uint32_t *d_order, struct rw_query_range query, uint32_t thread,
                          const uint32_t (&index)[ITEMS])
{
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const uint32_t r = thread * ITEMS + k;
        if (r < query.n)
            d_order[query.first + r] = query.first + index[k];
    }
}

/* Returns true if two neighbours a, b, sorted by short keys, are in the wrong order. */
RW_DEVICE bool rank_is_open(const double *d_scores, struct rw_query_range query,
                            const struct rank_item &a, const struct rank_item &b)
{
    return a.key == b.key && a.index < query.n && b.index < query.n &&
           rw_falling_key(d_scores[query.first + a.index]) >
               rw_falling_key(d_scores[query.first + b.index]);
}

/* Returns true if a thread's sorted documents and the one after them are in the wrong order. */
template <int ITEMS>
RW_DEVICE bool rank_any_open(const double *d_scores, struct rw_query_range query,
                             const uint32_t (&key)[ITEMS], const uint32_t (&index)[ITEMS],
                             const struct rank_item &following)
{
    bool any = rank_is_open(d_scores, query, {key[ITEMS - 1], index[ITEMS - 1]}, following);
#pragma unroll
    for (int k = 0; k + 1 < ITEMS; k++)
        any |= rank_is_open(d_scores, query, {key[k], index[k]}, {key[k + 1], index[k + 1]});
    return any;
}

template <int ITEMS>
RW_DEVICE void rank_by_block(const double *d_scores, struct rw_query_range query,
                             union rank_shared &shared, uint32_t *d_order)
{
    using short_sort = rank_block_sort<uint32_t, ITEMS>;
    using long_sort = rank_block_sort<uint64_t, ITEMS>;
    static_assert(sizeof(typename long_sort::TempStorage) <= sizeof shared.block &&
                      sizeof(typename short_sort::TempStorage) <= sizeof shared.block,
                  "a smaller sort needs less");
    uint32_t key[ITEMS], index[ITEMS];
    void *const storage = &shared.block;
    rank_load<uint32_t, ITEMS>(d_scores, query, threadIdx.x, key, index);
    short_sort(*(typename short_sort::TempStorage *)storage)
        .StableSort(key, index, [](auto a, auto b) { return a < b; });
    struct rank_item following = {0, UINT32_MAX};
    __syncthreads();
    shared.first[threadIdx.x] = {key[0], index[0]};
    __syncthreads();
    if (threadIdx.x + 1 < THREADS)
        following = shared.first[threadIdx.x + 1];
    if (__syncthreads_or(rank_any_open<ITEMS>(d_scores, query, key, index, following))) {
        uint64_t whole[ITEMS];
        rank_load<uint64_t, ITEMS>(d_scores, query, threadIdx.x, whole, index);
        long_sort(*(typename long_sort::TempStorage *)storage)
            .StableSort(whole, index, [](auto a, auto b) { return a < b; });
    }
    rank_store<ITEMS>(d_order, query, threadIdx.x, index);
}

template <int ITEMS>
RW_DEVICE void rank_by_warp(const double *d_scores, struct rw_query_range query,
                            union rank_shared &shared, uint32_t *d_order)
{
    using long_sort = rank_warp_sort<uint64_t, ITEMS>;
    static_assert(sizeof(typename long_sort::TempStorage) <= sizeof shared.warp[0],
                  "a smaller sort needs less");
    constexpr int BITS = ITEMS == 1 ? 27 : ITEMS == 2 ? 26 : ITEMS == 4 ? 25 : 24;
    constexpr uint32_t MOST = 32 * ITEMS;
    static_assert(MOST == 1u << (32 - BITS), "an index takes the bits that a bucket leaves");
    const uint32_t lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    float score[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) { /* past the end, uses the query's first document */
        const uint32_t i = 32 * k + lane;
        score[k] = (float)d_scores[query.first + (i < query.n ? i : 0)];
    }
    const struct rank_buckets buckets = rank_buckets_of<ITEMS>(score, BITS);
    uint32_t key[ITEMS], index[ITEMS];
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        const uint32_t i = 32 * k + lane;
        const uint32_t bucket =
            buckets.scale > 0.0f ? (uint32_t)((buckets.highest - score[k]) * buckets.scale) : 0;
        key[k] = i < query.n ? bucket * MOST + i : UINT32_MAX;
    }
    rank_sort_words<ITEMS>(key);
#pragma unroll
    for (int k = 0; k < ITEMS; k++) {
        index[k] = key[k] % MOST;
        key[k] /= MOST;
    }
    struct rank_item following = {__shfl_down_sync(~0u, key[0], 1),
                                  __shfl_down_sync(~0u, index[0], 1)};
    if (lane == 31)
        following.index = UINT32_MAX;
    if (__any_sync(~0u, rank_any_open<ITEMS>(d_scores, query, key, index, following))) {
        uint64_t whole[ITEMS];
        rank_load<uint64_t, ITEMS>(d_scores, query, lane, whole, index);
        long_sort(*(typename long_sort::TempStorage *)&shared.warp[warp].sort)
            .StableSort(whole, index, [](auto a, auto b) { return a < b; });
    }
    __syncwarp(); /* before the sort's memory is reused, so that neighbours are written together */
    struct rank_lane<ITEMS> mine;
#pragma unroll
    for (int k = 0; k < ITEMS; k++)
        mine.index[k] = index[k];
    uint32_t *const sorted = (uint32_t *)&shared.warp[warp];
    reinterpret_cast<struct rank_lane<ITEMS> *>(sorted)[lane] = mine;
    __syncwarp();
    for (uint32_t r = lane; r < query.n; r += 32)
        d_order[query.first + r] = query.first + sorted[r];
}

__global__ void __launch_bounds__(THREADS, RW_BLOCKS_HELD(THREADS, RW_TUNE_RANK_BLOCKS))
    rank_kernel(const __grid_constant__ struct rw_cuda_rank rank, const double *d_scores,
                const uint8_t *d_sampled)
{
    __shared__ union rank_shared shared;
    const bool by_block = blockIdx.x < rank.n_block;
    const uint32_t job =
        by_block ? blockIdx.x
                 : rank.n_block + (blockIdx.x - rank.n_block) * WARPS + threadIdx.x / 32;
    if (job >= rank.n_block + rank.n_warp)
        return; /* the whole warp returns; no barrier of the block follows */
    const struct rw_query_range query =
        rw_query_range(rank.d_offset, rank.d_by_size[rank.large.n + job]);
    if (d_sampled && !d_sampled[query.first])
        return;
    if (by_block && query.n <= 2 * THREADS)
        rank_by_block<2>(d_scores, query, shared, rank.d_order);
    else if (by_block && query.n <= 4 * THREADS)
        rank_by_block<4>(d_scores, query, shared, rank.d_order);
    else if (by_block)
        rank_by_block<BLOCK_ITEMS>(d_scores, query, shared, rank.d_order);
    else if (query.n <= 32)
        rank_by_warp<1>(d_scores, query, shared, rank.d_order);
    else if (query.n <= 64)
        rank_by_warp<2>(d_scores, query, shared, rank.d_order);
    else if (query.n <= 128)
        rank_by_warp<4>(d_scores, query, shared, rank.d_order);
    else
        rank_by_warp<WARP_ITEMS>(d_scores, query, shared, rank.d_order);
}

/* ---- Large queries ---- */

/* Returns the large query that contains item i of the list. */
RW_DEVICE uint32_t rank_part(const struct rw_cuda_rank_large &large, uint32_t i)
{
    return rw_numbers_under(large.d_begin, large.n, (uint64_t)i + 1) - 1;
}

/* Returns the distance, modulo 2^32, from a document of the list to the same one in the set. */
RW_DEVICE uint32_t rank_from_list(const struct rw_cuda_rank &rank, uint32_t part)
{
    return rank.d_offset[rank.d_by_size[part]] - rank.large.d_begin[part];
}

__global__ void rank_keys_kernel(const __grid_constant__ struct rw_cuda_rank rank,
                                 const double *d_scores)
{
    const struct rw_cuda_rank_large &large = rank.large;
    const uint32_t i = blockIdx.x * LARGE_THREADS + threadIdx.x;
    if (i >= large.n_docs)
        return;
    const uint32_t doc = rank_from_list(rank, rank_part(large, i)) + i;
    large.d_key[0][i] = rw_falling_key(d_scores[doc]);
    large.d_doc[0][i] = i; /* index in the list */
}

/* Finds the query of each document of the list, whose documents are in the order of scores. */
__global__ void rank_parts_kernel(const __grid_constant__ struct rw_cuda_rank_large large,
                                  const uint32_t *d_doc)
{
    const uint32_t i = blockIdx.x * LARGE_THREADS + threadIdx.x;
    if (i < large.n_docs)
        large.d_part[0][i] = rank_part(large, d_doc[i]);
}

/* Item i of the list has a position and a document of the same query. */
__global__ void rank_spread_kernel(const __grid_constant__ struct rw_cuda_rank rank,
                                   const uint32_t *d_doc)
{
    const uint32_t i = blockIdx.x * LARGE_THREADS + threadIdx.x;
    if (i >= rank.large.n_docs)
        return;
    const uint32_t from_list = rank_from_list(rank, rank_part(rank.large, i));
    rank.d_order[from_list + i] = from_list + d_doc[i];
}

/* Returns the number of bits of n_large - 1, which must not be 0. */
static int part_bits(uint32_t n_large)
{
    return 32 - __builtin_clz(n_large - 1);
}

extern "C" size_t rw_cuda_rank_scratch_bytes(uint32_t n_docs, uint32_t n_large)
{
    size_t by_key = 0, by_part = 0;
    cub::DoubleBuffer<uint64_t> key;
    cub::DoubleBuffer<uint32_t> doc, part;
    (void)cub::DeviceRadixSort::SortPairs(NULL, by_key, key, doc, (int)n_docs);
    if (n_large > 1)
        (void)cub::DeviceRadixSort::SortPairs(NULL, by_part, part, doc, (int)n_docs, 0,
                                              part_bits(n_large));
    (void)cudaGetLastError(); /* clears their errors */
    return by_key > by_part ? by_key : by_part;
}

static int rank_large(const struct rw_cuda_rank *rank, const double *d_scores, cudaStream_t stream)
{
    const struct rw_cuda_rank_large *large = &rank->large;
    const uint32_t grid = blocks_for(large->n_docs, LARGE_THREADS);
    size_t bytes = large->scratch_bytes;
    cub::DoubleBuffer<uint64_t> key(large->d_key[0], large->d_key[1]);
    cub::DoubleBuffer<uint32_t> doc(large->d_doc[0], large->d_doc[1]);
    TRY_CUDA(launch_grid(rank_keys_kernel, grid, LARGE_THREADS, stream, *rank, d_scores));
    TRY_CUDA(cub::DeviceRadixSort::SortPairs(large->d_scratch, bytes, key, doc, (int)large->n_docs,
                                             0, 64, stream));
    if (large->n > 1) {
        TRY_CUDA(
            launch_grid(rank_parts_kernel, grid, LARGE_THREADS, stream, *large, doc.Current()));
        cub::DoubleBuffer<uint32_t> part(large->d_part[0], large->d_part[1]);
        TRY_CUDA(cub::DeviceRadixSort::SortPairs(large->d_scratch, bytes, part, doc,
                                                 (int)large->n_docs, 0, part_bits(large->n),
                                                 stream));
    }
    return launch_grid(rank_spread_kernel, grid, LARGE_THREADS, stream, *rank, doc.Current());
}

extern "C" int rw_cuda_rank_run(const struct rw_cuda_rank *rank, const double *d_scores,
                                const uint8_t *d_sampled, void *stream)
{
    TRY_CUDA(launch_grid(rank_kernel, rank->n_block + blocks_for(rank->n_warp, WARPS), THREADS,
                         stream, *rank, d_scores, d_sampled));
    return rank->large.n > 0 ? rank_large(rank, d_scores, (cudaStream_t)stream) : cudaSuccess;
}
