/* Why: the best split of many nodes in one launch a group of features.
 *
 * Shapes: cells [buffer][feature][bin] of a group; the best of each (node, feature), then of each
 * node.
 *
 * Decomposition: search_kernel: grid y = a node, a warp a feature: 32 bins at a time are summed up
 * from the left by shuffles, and every lane tries the cut at its bin, missing values left and then
 * right. finish_kernel: a block a node.
 *
 * Gains are made by the functions of tree/numbers.h from exact sums, and the choice is by (gain,
 * feature, bin), so that no order of threads matters. */
#include <cuda_runtime.h>

#include "gpu/cu_engine.h"
#include "gpu/tuning.h"

enum { WARP = 32, WARPS = RW_TUNE_SPLIT_WARPS, FINISH_THREADS = 128 };
#define ALL_LANES 0xffffffffu

struct cell {
    uint32_t n;
    long long lambda, weight;
};

static __device__ struct cell load_cell(const struct rw_cuda_cells &cells, uint64_t at)
{
    const struct cell cell = {cells.d_count[at], cells.d_lambda[at],
                              cells.d_weight ? cells.d_weight[at] : 0};
    return cell;
}

/* A side of a split: some bins, and the missing values or not. */
static __device__ struct rw_cell side_of(const struct cell &cell, const struct cell *missing)
{
    struct rw_cell side;
    side.n = cell.n + (missing ? missing->n : 0);
    side.weight = cell.weight + (missing ? missing->weight : 0);
    side.lambda = cell.lambda + (missing ? missing->lambda : 0);
    return side;
}

/* The sum over all lanes, the same for each. */
static __device__ struct cell sum_lanes(struct cell cell)
{
    for (int step = WARP / 2; step > 0; step /= 2) {
        cell.n += __shfl_xor_sync(ALL_LANES, cell.n, step);
        cell.lambda += __shfl_xor_sync(ALL_LANES, cell.lambda, step);
        cell.weight += __shfl_xor_sync(ALL_LANES, cell.weight, step);
    }
    return cell;
}

/* The sum over the lanes up to this one. */
static __device__ struct cell sum_up_to(struct cell cell, uint32_t lane)
{
    for (uint32_t step = 1; step < WARP; step *= 2) {
        const uint32_t n = __shfl_up_sync(ALL_LANES, cell.n, step);
        const long long lambda = __shfl_up_sync(ALL_LANES, cell.lambda, step);
        const long long weight = __shfl_up_sync(ALL_LANES, cell.weight, step);
        if (lane >= step) {
            cell.n += n;
            cell.lambda += lambda;
            cell.weight += weight;
        }
    }
    return cell;
}

/* Tries the cut behind bin `bin`, missing values left before right. */
static __device__ void try_cut(const struct rw_split_rule &rule, const struct cell &left,
                               const struct cell &all, const struct cell &missing, double parent,
                               int zero_goes_left, uint32_t bin, struct rw_cuda_found *best)
{
    const struct cell right = {all.n - left.n - missing.n,
                               all.lambda - left.lambda - missing.lambda,
                               all.weight - left.weight - missing.weight};
    for (int missing_left = 1; missing_left >= 0; missing_left--) {
        if (missing.n == 0 && missing_left != zero_goes_left)
            continue;
        const struct rw_cell l = side_of(left, missing_left ? &missing : NULL);
        const struct rw_cell r = side_of(right, missing_left ? NULL : &missing);
        if (l.n == 0 || r.n == 0)
            continue;
        const double gain = rw_split_gain(&rule, &l, &r, parent);
        if (gain > best->gain) {
            best->gain = gain;
            best->bin = bin;
            best->missing_left = missing_left;
        }
    }
}

/* Higher gain, then lower column, then lower bin. Within one (column, bin) there is one thread. */
static __device__ int beats(const struct rw_cuda_found &a, const struct rw_cuda_found &b)
{
    if (a.gain != b.gain)
        return a.gain > b.gain;
    return a.column != b.column ? a.column < b.column : a.bin < b.bin;
}

static __device__ struct rw_cuda_found best_of_lanes(struct rw_cuda_found best)
{
    for (int step = WARP / 2; step > 0; step /= 2) {
        struct rw_cuda_found other = best;
        other.gain = __shfl_xor_sync(ALL_LANES, best.gain, step);
        other.bin = __shfl_xor_sync(ALL_LANES, best.bin, step);
        other.missing_left = __shfl_xor_sync(ALL_LANES, best.missing_left, step);
        if (beats(other, best))
            best = other;
    }
    return best;
}

static __global__ void __launch_bounds__(WARPS *WARP)
    search_kernel(const __grid_constant__ struct rw_cuda_search a,
                  const __grid_constant__ struct rw_cuda_cells cells)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint32_t f = blockIdx.x * WARPS + threadIdx.x / WARP;
    if (f >= cells.n_features) /* the same for a whole warp, and no block waits below */
        return;
    const uint32_t column = cells.d_column[f];
    struct rw_cuda_found best = {0.0, (int32_t)column, 0, 0, 0};
    if (a.d_feature_sampled[column]) {
        const struct rw_cuda_feature feature = a.d_feature[column];
        const uint64_t base =
            ((uint64_t)a.d_buffer[blockIdx.y] * cells.n_features + f) * cells.n_bins;
        const struct cell none = {0, 0, 0};
        struct cell all = none, before = none;
        const struct cell missing =
            feature.has_missing ? load_cell(cells, base + feature.n_bins) : none;
        for (uint32_t bin = lane; bin < feature.n_bins; bin += WARP) {
            const struct cell cell = load_cell(cells, base + bin);
            all.n += cell.n;
            all.lambda += cell.lambda;
            all.weight += cell.weight;
        }
        all = sum_lanes(all);
        all.n += missing.n;
        all.lambda += missing.lambda;
        all.weight += missing.weight;
        const struct rw_cell whole = side_of(all, NULL);
        const double parent = rw_side_gain(&a.rule, &whole);
        for (uint32_t first = 0; first < feature.n_bins; first += WARP) {
            const uint32_t bin = first + lane;
            struct cell left =
                sum_up_to(bin < feature.n_bins ? load_cell(cells, base + bin) : none, lane);
            left.n += before.n;
            left.lambda += before.lambda;
            left.weight += before.weight;
            if (bin < feature.n_bins)
                try_cut(a.rule, left, all, missing, parent,
                        0.0f <= a.d_cut[feature.first_cut + bin], bin, &best);
            before.n = __shfl_sync(ALL_LANES, left.n, WARP - 1);
            before.lambda = __shfl_sync(ALL_LANES, left.lambda, WARP - 1);
            before.weight = __shfl_sync(ALL_LANES, left.weight, WARP - 1);
        }
        best = best_of_lanes(best);
    }
    if (lane == 0)
        a.d_best[(uint64_t)blockIdx.y * a.n_features + column] = best;
}

static __global__ void finish_kernel(const __grid_constant__ struct rw_cuda_search a)
{
    __shared__ struct rw_cuda_found found[FINISH_THREADS];
    const struct rw_cuda_found *d_best = a.d_best + (uint64_t)blockIdx.x * a.n_features;
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    for (uint32_t f = threadIdx.x; f < a.n_features; f += FINISH_THREADS) {
        if (beats(d_best[f], best))
            best = d_best[f];
    }
    found[threadIdx.x] = best;
    __syncthreads();
    for (uint32_t step = FINISH_THREADS / 2; step > 0; step /= 2) {
        if (threadIdx.x < step && beats(found[threadIdx.x + step], found[threadIdx.x]))
            found[threadIdx.x] = found[threadIdx.x + step];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        if (!(found[0].gain > 0.0))
            found[0].column = -1;
        const struct rw_sum none = {0, 0, 0, 0, 0};
        a.d_split[blockIdx.x].found = found[0];
        a.d_split[blockIdx.x].left = none;
    }
}

extern "C" int rw_cuda_search_group(const struct rw_cuda_search *search,
                                    const struct rw_cuda_cells *cells, void *stream)
{
    if (search->n == 0 || cells->n_features == 0)
        return cudaSuccess;
    const dim3 grid((cells->n_features + WARPS - 1) / WARPS, search->n);
    search_kernel<<<grid, WARPS * WARP, 0, (cudaStream_t)stream>>>(*search, *cells);
    return cudaGetLastError();
}

extern "C" int rw_cuda_search_finish(const struct rw_cuda_search *search, void *stream)
{
    if (search->n == 0)
        return cudaSuccess;
    finish_kernel<<<search->n, FINISH_THREADS, 0, (cudaStream_t)stream>>>(*search);
    return cudaGetLastError();
}
