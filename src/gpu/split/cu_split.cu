/* Why: the best split of some nodes in one launch a group of features. Histograms are in the
 * device's cache by then, so what this takes is the time of gains and of steps that wait for one
 * another.
 *
 * Shapes: cells [buffer][cell] of a group, a feature's bins in a row; the best of each (node,
 * block), then of each node.
 *
 * Decomposition: search_kernel: grid y = a node; 1 to WARPS warps a feature, BINS neighbouring bins
 * a thread. Threads add up their bins, warps and then the warps of a feature the threads'. A
 * block's cuts are first told apart roughly, in float; those that may be its best have their gains
 * made by the functions of tree/numbers.h from exact sums, missing values left and then right. How
 * blocks end is in search_end.cuh.
 *
 * The choice is by (gain, feature, bin), so that no order of threads matters. */
#include <cuda_runtime.h>

#include "gpu/engine/cu_engine.h"
#include "gpu/hist/hist.h"
#include "gpu/device/launch_after.cuh"
#include "gpu/split/search_bins.cuh"
#include "gpu/device/tuning.h"

enum { WARPS = RW_TUNE_SPLIT_WARPS, THREADS = WARPS * WARP, MOST_BINS = 8 };
static_assert((WARPS & (WARPS - 1)) == 0, "features share a block evenly");
static_assert(THREADS * MOST_BINS >= RW_HIST_MOST_BINS, "a block holds a feature");

/* The cells of bins `bin` to bin + BINS of the row at `base`, without those from `end` on, asked
 * for at once. */
template <class S, int BINS>
static __device__ void load_bins(const struct rw_cuda_cells &cells, uint64_t base, uint32_t bin,
                                 uint32_t end, tally<S> (&cell)[BINS])
{
    const tally<S> none = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < BINS; i++)
        cell[i] = none;
    if (BINS % 4 == 0 && (cells.d_row || cells.n_bins % 4 == 0)) {
#pragma unroll
        for (int i = 0; i < BINS; i += 4) {
            if (bin + i < end)
                load_four<S>(cells, base + bin + i, &cell[i]);
        }
#pragma unroll
        for (int i = 0; i < BINS; i++) {
            if (bin + i >= end)
                cell[i] = none;
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < BINS; i++) {
        if (bin + i < end)
            cell[i] = load_cell<S>(cells, base + bin + i);
    }
}

/* About a side's value. Each of its five roundings is at most 2^-22 of it. */
template <class S>
static __device__ float rough_value(const struct rw_split_rule &rule, const tally<S> &side)
{
    const float d = (S::NEWTON ? (float)side.hess : (float)side.n) + (float)rule.l2;
    return __fdividef((float)side.lambda, d);
}

/* rough_gain of a cut of a feature with a direction, or 0 for one without; -1 if it surely does not
 * keep to it. *sure rises to that of a cut that surely does. */
template <class S>
static __device__ float rough_ordered_gain(const struct rw_cuda_search &a, int direction,
                                           const tally<S> &left, const tally<S> &right, float *sure)
{
    const float gain = rough_gain<S>(a, left, right);
    const float l = (float)direction * rough_value<S>(a.rule, left);
    const float r = (float)direction * rough_value<S>(a.rule, right);
    const float margin = (fabsf(l) + fabsf(r)) * RW_ORDER_MARGIN;
    if (r - l >= margin)
        *sure = fmaxf(*sure, gain);
    return r - l >= -margin ? gain : -1.0f;
}

/* rough_score in the same way. */
template <class S>
static __device__ float rough_ordered_score(const struct rw_cuda_search &a, int direction,
                                            const tally<S> &left, const tally<S> &right,
                                            const tally<S> &missing, float *sure)
{
    if (missing.n == 0)
        return rough_ordered_gain<S>(a, direction, left, right, sure);
    tally<S> l = left, r = right;
    add_cell<S>(&l, missing);
    add_cell<S>(&r, missing);
    return fmaxf(rough_ordered_gain<S>(a, direction, left, r, sure),
                 rough_ordered_gain<S>(a, direction, l, right, sure));
}

/* The same where features have penalties: what is compared is a score less the feature's penalty,
 * made a little too low, and the largest of these by each feature's own penalty again. What is
 * negative has no gain, so the most that a float penalty can be changes nothing. All threads of a
 * block call it. */
static __device__ float least_net_score(const struct rw_split_rule &rule, double penalty,
                                        float largest, float *of_warp)
{
    const float margin = 0x1p-16f;
    const float cost = fminf((float)(penalty / rule.gain_scale), 0x1p100f);
    const float net =
        largest >= 0.0f ? largest * (1.0f - margin) - cost * (1.0f + margin) : -0x1p126f;
    return least_score(largest_of_block<WARPS>(net, of_warp) + cost * (1.0f - margin));
}

/* The best cut at this thread's bins; `warps` warps have the feature's. Nothing if it is not of
 * this tree. All threads of a block call it. */
template <class S, int BINS>
static __device__ void search_bins(const struct rw_cuda_search &a,
                                   const struct rw_cuda_cells &cells, uint32_t f, uint32_t warps,
                                   struct rw_cuda_found *best)
{
    __shared__ tally<S> of_warp[WARPS], of_missing[WARPS];
    __shared__ float largest_of[WARPS];
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t first_warp = warp / warps * warps;
    const tally<S> none = {0, 0, 0};
    const uint64_t first = (uint64_t)a.buffer[blockIdx.y] * cells.n_cells;
    const uint32_t bin = (threadIdx.x - first_warp * WARP) * BINS;
    tally<S> cell[BINS], mine = none;
    struct rw_cuda_feature feature = {INT32_MAX, 0, 0, 0};
    const int there = f < cells.n_features && cells.d_sampled[f];
    uint32_t begin = f * cells.n_bins, length = there ? cells.n_bins : 0;
    if (cells.d_row && there) {
        begin = cells.d_row[f];
        length = min(length, cells.d_row[f + 1] - begin);
    }
    wait_for_launch_before(); /* its cells */
    /* all that is read is asked for before any of it is looked at */
    load_bins<S, BINS>(cells, first + begin, bin, length, cell);
    int direction = 0;
    double penalty = 0.0;
    if (there && (!S::SHAPED || allows(a, cells.d_feature[f].column))) {
        feature = cells.d_feature[f];
        if (S::ORDERED && (!S::SHAPED || a.d_direction))
            direction = a.d_direction[feature.column];
        if (S::SHAPED && a.d_penalty)
            penalty = a.d_penalty[feature.column];
    }
    best->column = (int32_t)feature.column;
#pragma unroll
    for (int i = 0; i < BINS; i++) {
        if (bin + i == feature.n_bins && feature.has_missing)
            of_missing[first_warp] = cell[i];
        if (bin + i >= feature.n_bins)
            cell[i] = none;
        add_cell<S>(&mine, cell[i]);
    }
    tally<S> left = sum_up_to<S>(mine, lane);
    if (lane == WARP - 1)
        of_warp[warp] = left;
    left = without<S>(left, mine);
    __syncthreads();
    const tally<S> missing = feature.has_missing ? of_missing[first_warp] : none;
    tally<S> all = missing;
    for (uint32_t w = first_warp; w < first_warp + warps; w++) {
        if (w < warp)
            add_cell<S>(&left, of_warp[w]);
        add_cell<S>(&all, of_warp[w]);
    }
    struct rw_split_rule rule = a.rule;
    rule.newton = S::NEWTON; /* known when this is compiled */
    const tally<S> before = left;
    float score[BINS], largest = -1.0f;
#pragma unroll
    for (int i = 0; i < BINS; i++) {
        add_cell<S>(&left, cell[i]);
        const tally<S> right = without<S>(without<S>(all, left), missing);
        if (S::ORDERED) {
            score[i] = -1.0f;
            if (bin + i < feature.n_bins)
                score[i] = rough_ordered_score<S>(a, direction, left, right, missing, &largest);
            continue;
        }
        score[i] = bin + i < feature.n_bins ? rough_score<S>(a, left, right, missing) : -1.0f;
        largest = fmaxf(largest, score[i]);
    }
    const float least = S::SHAPED ? least_net_score(rule, penalty, largest, largest_of)
                                  : least_score(largest_of_block<WARPS>(largest, largest_of));
    uint32_t worth = 0; /* bit i: its gain is asked for */
#pragma unroll
    for (int i = 0; i < BINS; i++)
        worth |= (uint32_t)(score[i] >= least) << i;
    const struct rw_cell whole = side_of<S>(all, NULL);
    while (worth) { /* few are */
        const uint32_t at = (uint32_t)__ffs((int)worth) - 1;
        worth &= worth - 1;
        left = before;
#pragma unroll
        for (int i = 0; i < BINS; i++) {
            if (i <= (int)at)
                add_cell<S>(&left, cell[i]);
        }
        try_cut<S>(rule, direction, penalty, left, all, missing, rw_side_gain(&rule, &whole),
                   bin + at >= feature.zero_bin, bin + at, best);
    }
}

template <class S, int BINS>
static __global__ void __launch_bounds__(THREADS, sizeof(typename S::sum) > 4 ? 2
                                                  : S::NEWTON                 ? 3
                                                                              : 4)
    search_kernel(const __grid_constant__ struct rw_cuda_search a,
                  const __grid_constant__ struct rw_cuda_cells cells, uint32_t warps,
                  uint32_t first_block)
{
    __shared__ struct rw_cuda_found of_warp[WARPS];
    const uint32_t f = blockIdx.x * (WARPS / warps) + threadIdx.x / (warps * WARP);
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    search_bins<S, BINS>(a, cells, f, warps, &best);
    best = best_of_block<WARPS>(best, of_warp);
    if (!is_last_of_node(a, best, first_block + blockIdx.x))
        return;
    best = best_of_node<WARPS>(a, of_warp);
    if (threadIdx.x == 0)
        reply(a, best);
}

/* Warps that share a feature: no more than it has bins for, while there are not too many blocks for
 * them to run at once; but so many that a thread has MOST_BINS at most. */
static uint32_t warps_of(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells)
{
    uint32_t warps = 1;
    while (warps < WARPS && warps * WARP < cells->n_bins &&
           (warps * WARP * MOST_BINS < cells->n_bins ||
            (uint64_t)search->n * cells->n_features * warps * 2 <=
                (uint64_t)search->most_blocks * WARPS))
        warps *= 2;
    return warps;
}

extern "C" uint32_t rw_cuda_search_blocks(const struct rw_cuda_search *search,
                                          const struct rw_cuda_cells *cells)
{
    if (rw_cuda_is_rough(search, cells))
        return 1;
    const uint32_t features = WARPS / warps_of(search, cells); /* of a block */
    return (cells->n_features + features - 1) / features;
}

template <class S>
static cudaError_t launch(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells,
                          uint32_t first_block, cudaStream_t stream)
{
    const uint32_t warps = warps_of(search, cells);
    const uint32_t bins = (cells->n_bins + warps * WARP - 1) / (warps * WARP);
    const dim3 grid(rw_cuda_search_blocks(search, cells), search->n);
    return launch_after(bins <= 1   ? search_kernel<S, 1>
                        : bins <= 4 ? search_kernel<S, 4>
                                    : search_kernel<S, MOST_BINS>,
                        grid, THREADS, 0, stream, *search, *cells, warps, first_block);
}

template <class SUM, int NEWTON>
static cudaError_t launch_sums(const struct rw_cuda_search *search,
                               const struct rw_cuda_cells *cells, uint32_t first_block,
                               cudaStream_t stream)
{
    if (search->d_allowed || search->d_penalty)
        return launch<sums<SUM, NEWTON, 1, 1>>(search, cells, first_block, stream);
    return search->d_direction ? launch<sums<SUM, NEWTON, 1>>(search, cells, first_block, stream)
                               : launch<sums<SUM, NEWTON, 0>>(search, cells, first_block, stream);
}

extern "C" int rw_cuda_search_group(const struct rw_cuda_search *search,
                                    const struct rw_cuda_cells *cells, uint32_t first_block,
                                    void *stream)
{
    if (search->n == 0 || cells->n_features == 0)
        return cudaSuccess;
    if (rw_cuda_is_rough(search, cells))
        return rw_cuda_search_rough(search, cells, first_block, stream);
    cudaStream_t const to = (cudaStream_t)stream;
    if (search->rule.newton)
        return cells->narrow ? launch_sums<int32_t, 1>(search, cells, first_block, to)
                             : launch_sums<long long, 1>(search, cells, first_block, to);
    return cells->narrow ? launch_sums<int32_t, 0>(search, cells, first_block, to)
                         : launch_sums<long long, 0>(search, cells, first_block, to);
}
