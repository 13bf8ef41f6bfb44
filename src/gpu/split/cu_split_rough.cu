/* Why: a search of many nodes is the time of its blocks' barriers, at which seven warps wait for
 * one that makes gains in double. Here no warp waits for another before all rough gains are known,
 * and gains in double are asked for once a node, not once a block.
 *
 * Shapes: cells as cu_split.cu has them; rough scores [node][feature].
 *
 * Decomposition: rough_kernel: a warp a feature, grid y = a node; four neighbouring bins a lane, in
 * each of CHUNKS chunks of 128. It notes the largest rough score of the feature's cuts.
 * exact_kernel: a block a node; its warps read the features again whose score may be the best, one
 * or two as a rule, and make the gains of their cuts that may be. */
#include <cuda_runtime.h>

#include "gpu/engine/cu_engine.h"
#include "gpu/device/architecture.cuh"
#include "gpu/device/launch_after.cuh"
#include "gpu/split/search_bins.cuh"
#include "gpu/device/tuning.h"

enum {
    ROUGH_WARPS = RW_TUNE_SPLIT_ROUGH_WARPS,
    EXACT_WARPS = RW_TUNE_SPLIT_EXACT_WARPS,
    LANE_BINS = 4,
    CHUNK_BINS = LANE_BINS * WARP,
    MOST_CHUNKS = 2
};

/* A feature of a tree: its cells in a histogram, and of those the ones of values. */
struct place {
    uint32_t begin, n_bins;
    int has_missing; /* their cell comes next */
    uint32_t column, zero_bin;
};

/* Nothing of it is written by the launch before. n_bins is 0 if there is nothing to search. */
static __device__ struct place place_of(const struct rw_cuda_cells &cells, uint32_t f)
{
    struct place place = {0, 0, 0, 0, 0};
    if (f >= cells.n_features)
        return place;
    const struct rw_cuda_feature feature = cells.d_feature[f];
    const uint32_t begin = cells.d_row[f], length = cells.d_row[f + 1] - begin;
    if (!cells.d_sampled[f])
        return place;
    place.begin = begin;
    place.n_bins = min(feature.n_bins, length);
    place.has_missing = feature.has_missing && feature.n_bins < length;
    place.column = feature.column;
    place.zero_bin = feature.zero_bin;
    return place;
}

/* What a lane knows of a feature: the sums of all bins up to each of its own. */
template <class S, int CHUNKS> struct sums_up_to {
    tally<S> left[CHUNKS][LANE_BINS];
    tally<S> all, missing; /* all: without missing values */
};

static __device__ uint32_t bin_of(int chunk, int i)
{
    return chunk * CHUNK_BINS + threadIdx.x % WARP * LANE_BINS + i;
}

/* A whole warp. first: of the histogram's cells. */
template <class S, int CHUNKS>
static __device__ void add_up(const struct rw_cuda_cells &cells, uint64_t first,
                              const struct place &place, struct sums_up_to<S, CHUNKS> *sums)
{
    const uint32_t lane = threadIdx.x % WARP;
    const tally<S> none = {0, 0, 0};
    sums->all = sums->missing = none;
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
        for (int i = 0; i < LANE_BINS; i++)
            sums->left[c][i] = none;
        if (bin_of(c, 0) < place.n_bins)
            load_four<S>(cells, first + place.begin + bin_of(c, 0), sums->left[c]);
    }
    if (place.has_missing)
        sums->missing = load_cell<S>(cells, first + place.begin + place.n_bins);
#pragma unroll
    for (int c = 0; c < CHUNKS; c++) {
        tally<S> *const left = sums->left[c];
#pragma unroll
        for (int i = 0; i < LANE_BINS; i++) {
            if (bin_of(c, i) >= place.n_bins)
                left[i] = none;
            if (i > 0)
                add_cell<S>(&left[i], left[i - 1]);
        }
        const tally<S> up_to = sum_up_to<S>(left[LANE_BINS - 1], lane);
        tally<S> before = without<S>(up_to, left[LANE_BINS - 1]);
        add_cell<S>(&before, sums->all); /* the chunks before */
#pragma unroll
        for (int i = 0; i < LANE_BINS; i++)
            add_cell<S>(&left[i], before);
        add_cell<S>(&sums->all, of_lane<S>(up_to, WARP - 1));
    }
}

/* The rough score of the cut behind bin i of a chunk. */
template <class S, int CHUNKS>
static __device__ float score_of(const struct rw_cuda_search &a, const struct place &place,
                                 const struct sums_up_to<S, CHUNKS> &sums, int chunk, int i)
{
    const tally<S> &left = sums.left[chunk][i];
    return bin_of(chunk, i) < place.n_bins
               ? rough_score<S>(a, left, without<S>(sums.all, left), sums.missing)
               : -1.0f;
}

template <class S, int CHUNKS>
static __global__ void __launch_bounds__(ROUGH_WARPS *WARP,
                                         RW_BLOCKS_HELD(ROUGH_WARPS *WARP,
                                                        sizeof(typename S::sum) > 4
                                                            ? RW_TUNE_SPLIT_ROUGH_BLOCKS / 2
                                                            : RW_TUNE_SPLIT_ROUGH_BLOCKS))
    rough_kernel(const __grid_constant__ struct rw_cuda_search a,
                 const __grid_constant__ struct rw_cuda_cells cells)
{
    const uint32_t f = blockIdx.x * ROUGH_WARPS + threadIdx.x / WARP;
    const struct place place = place_of(cells, f);
    let_next_launch_begin();
    wait_for_launch_before(); /* its cells */
    if (f >= cells.n_features)
        return;
    float largest = -1.0f;
    if (place.n_bins > 0) {
        struct sums_up_to<S, CHUNKS> sums;
        add_up<S, CHUNKS>(cells, (uint64_t)a.buffer[blockIdx.y] * cells.n_cells, place, &sums);
#pragma unroll
        for (int c = 0; c < CHUNKS; c++) {
#pragma unroll
            for (int i = 0; i < LANE_BINS; i++)
                largest = fmaxf(largest, score_of<S, CHUNKS>(a, place, sums, c, i));
        }
        for (uint32_t step = WARP / 2; step > 0; step /= 2)
            largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, step));
    }
    if (threadIdx.x % WARP == 0)
        a.d_score[(uint64_t)blockIdx.y * cells.n_features + f] = largest;
}

/* The best cut of a feature, of those whose score is `least` or more; each lane's own. A whole
 * warp. */
template <class S, int CHUNKS>
static __device__ struct rw_cuda_found best_of_feature(const struct rw_cuda_search &a,
                                                       const struct rw_cuda_cells &cells,
                                                       const struct place &place, float least)
{
    enum { BINS = CHUNKS * LANE_BINS };
    struct sums_up_to<S, CHUNKS> sums;
    struct rw_cuda_found best = {0.0, (int32_t)place.column, 0, 0, 0};
    struct rw_split_rule rule = a.rule;
    rule.newton = S::NEWTON; /* known when this is compiled */
    add_up<S, CHUNKS>(cells, (uint64_t)a.buffer[blockIdx.y] * cells.n_cells, place, &sums);
    uint32_t worth = 0; /* bit i: its gain is asked for */
#pragma unroll
    for (int i = 0; i < BINS; i++)
        worth |=
            (uint32_t)(score_of<S, CHUNKS>(a, place, sums, i / LANE_BINS, i % LANE_BINS) >= least)
            << i;
    tally<S> node = sums.all;
    add_cell<S>(&node, sums.missing);
    const struct rw_cell whole = side_of<S>(node, NULL);
    while (worth) { /* few are */
        const uint32_t at = (uint32_t)__ffs((int)worth) - 1;
        const uint32_t bin = bin_of(at / LANE_BINS, at % LANE_BINS);
        worth &= worth - 1;
        tally<S> left = sums.left[0][0];
#pragma unroll
        for (int i = 1; i < BINS; i++) {
            if (i == (int)at)
                left = sums.left[i / LANE_BINS][i % LANE_BINS];
        }
        try_cut<S>(rule, 0, 0.0, left, node, sums.missing, rw_side_gain(&rule, &whole),
                   bin >= place.zero_bin, bin, &best);
    }
    return best;
}

template <class S, int CHUNKS>
static __global__ void __launch_bounds__(EXACT_WARPS *WARP)
    exact_kernel(const __grid_constant__ struct rw_cuda_search a,
                 const __grid_constant__ struct rw_cuda_cells cells, uint32_t block)
{
    __shared__ struct rw_cuda_found of_warp[EXACT_WARPS];
    __shared__ float largest_of[EXACT_WARPS];
    __shared__ uint32_t worth_of[EXACT_WARPS]; /* bit f: the feature's score may be the best */
    const float *const score = a.d_score + (uint64_t)blockIdx.y * cells.n_features;
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    float largest = -1.0f;
    wait_for_launch_before(); /* its scores */
    for (uint32_t f = threadIdx.x; f < cells.n_features; f += EXACT_WARPS * WARP)
        largest = fmaxf(largest, score[f]);
    const float least = least_score(largest_of_block<EXACT_WARPS>(largest, largest_of));
    for (uint32_t first = 0; first < cells.n_features; first += EXACT_WARPS * WARP) {
        const uint32_t f = first + threadIdx.x;
        const uint32_t worth = __ballot_sync(ALL_LANES, f < cells.n_features && score[f] >= least);
        if (threadIdx.x % WARP == 0)
            worth_of[threadIdx.x / WARP] = worth;
        __syncthreads();
        uint32_t turn = 0; /* a warp takes one of EXACT_WARPS */
        for (uint32_t w = 0; w < EXACT_WARPS; w++) {
            for (uint32_t left = worth_of[w]; left; left &= left - 1, turn++) {
                if (turn % EXACT_WARPS != threadIdx.x / WARP)
                    continue;
                const uint32_t at = first + w * WARP + (uint32_t)__ffs((int)left) - 1;
                const struct rw_cuda_found found =
                    best_of_feature<S, CHUNKS>(a, cells, place_of(cells, at), least);
                if (beats(found, best))
                    best = found;
            }
        }
        __syncthreads();
    }
    best = best_of_block<EXACT_WARPS>(best, of_warp);
    if (a.n_blocks > 1) {
        if (!is_last_of_node(a, best, block))
            return;
        best = best_of_node<EXACT_WARPS>(a, of_warp);
    }
    if (threadIdx.x == 0)
        reply(a, best);
}

template <class S, int CHUNKS>
static cudaError_t launch(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells,
                          uint32_t block, cudaStream_t stream)
{
    const dim3 grid((cells->n_features + ROUGH_WARPS - 1) / ROUGH_WARPS, search->n);
    const cudaError_t error =
        launch_after(rough_kernel<S, CHUNKS>, grid, ROUGH_WARPS * WARP, 0, stream, *search, *cells);
    return error != cudaSuccess
               ? error
               : launch_after(exact_kernel<S, CHUNKS>, dim3(1, search->n), EXACT_WARPS * WARP, 0,
                              stream, *search, *cells, block);
}

template <class SUM, int NEWTON>
static cudaError_t launch_chunks(const struct rw_cuda_search *search,
                                 const struct rw_cuda_cells *cells, uint32_t block,
                                 cudaStream_t stream)
{
    return cells->n_bins <= CHUNK_BINS
               ? launch<sums<SUM, NEWTON, 0>, 1>(search, cells, block, stream)
               : launch<sums<SUM, NEWTON, 0>, MOST_CHUNKS>(search, cells, block, stream);
}

extern "C" int rw_cuda_is_rough(const struct rw_cuda_search *search,
                                const struct rw_cuda_cells *cells)
{
    return !search->d_allowed && !search->d_penalty && !search->d_direction && cells->d_row &&
           cells->n_features > 1 && cells->n_bins <= MOST_CHUNKS * CHUNK_BINS &&
           (uint64_t)search->n * cells->n_features >= RW_TUNE_SPLIT_ROUGH;
}

extern "C" int rw_cuda_search_rough(const struct rw_cuda_search *search,
                                    const struct rw_cuda_cells *cells, uint32_t block, void *stream)
{
    cudaStream_t const to = (cudaStream_t)stream;
    if (search->rule.newton)
        return cells->narrow ? launch_chunks<int32_t, 1>(search, cells, block, to)
                             : launch_chunks<long long, 1>(search, cells, block, to);
    return cells->narrow ? launch_chunks<int32_t, 0>(search, cells, block, to)
                         : launch_chunks<long long, 0>(search, cells, block, to);
}
