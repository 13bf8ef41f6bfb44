/* Finds the split that all nodes of a level share (best_splits in tree/engine.h).
 *
 * Decomposition: in level_kernel, a block per feature of a group; a thread keeps the gains of the
 * candidates of BINS neighbouring bins. The block visits the nodes in the order of slots, so every
 * sum of gains has the order of the reference engine. pick_kernel has one block. In left_kernel and
 * cells_kernel, a block has a node. */
#include "gpu/split/search_end.cuh"

enum { WARPS = 8, THREADS = WARPS * WARP, MOST_BINS = 4 };
static_assert(MOST_BINS * THREADS >= RW_MAX_BINS, "a thread has room for its bins");

/* Returns the sum of the cells of the threads before this one, and adds those of all threads of the
 * block to *all. All threads call it. of_warp: [WARPS] shared memory. */
RW_DEVICE struct rw_cell sum_before(const struct rw_cell &own, struct rw_cell *of_warp,
                                    struct rw_cell *all)
{
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    struct rw_cell sum = own;
    for (uint32_t step = 1; step < WARP; step *= 2) {
        const unsigned long long n = __shfl_up_sync(ALL_LANES, (unsigned long long)sum.n, step);
        const long long hess = __shfl_up_sync(ALL_LANES, (long long)sum.hess, step);
        const long long lambda = __shfl_up_sync(ALL_LANES, (long long)sum.lambda, step);
        if (lane >= step) {
            sum.n += n;
            sum.hess += hess;
            sum.lambda += lambda;
        }
    }
    if (lane == WARP - 1)
        of_warp[warp] = sum;
    __syncthreads();
    sum = rw_cell_less(&sum, &own);
    for (uint32_t w = 0; w < WARPS; w++) {
        if (w < warp)
            rw_cell_add(&sum, &of_warp[w]);
        rw_cell_add(all, &of_warp[w]);
    }
    __syncthreads(); /* before the next call writes of_warp */
    return sum;
}

struct row {
    uint32_t begin, n_bins;
    int has_missing;
};

/* Finds the cells of feature f in a histogram. n_bins is 0 if the feature is not sampled or is
 * categorical. */
RW_DEVICE struct row row_of(const struct rw_cuda_cells &cells, uint32_t f)
{
    const struct rw_cuda_feature feature = cells.d_feature[f];
    const uint32_t begin = cells.d_row ? cells.d_row[f] : f * cells.n_bins;
    return {begin, cells.d_sampled[f] ? feature.n_bins : 0, (int)feature.has_missing};
}

template <int BINS>
static __global__ void __launch_bounds__(THREADS)
    level_kernel(const __grid_constant__ struct rw_cuda_level a,
                 const __grid_constant__ struct rw_cuda_cells cells, uint32_t first_feature)
{
    __shared__ struct rw_cell of_warp[WARPS];
    __shared__ struct rw_cuda_found best_of[WARPS];
    const uint32_t f = blockIdx.x, bin = threadIdx.x * BINS;
    const struct rw_cuda_feature feature = cells.d_feature[f];
    const struct row row = row_of(cells, f);
    const uint32_t n_bins = is_in(a.d_allowed, feature.column) ? row.n_bins : 0;
    const int direction = a.d_direction ? a.d_direction[feature.column] : 0;
    const double penalty = a.d_penalty ? a.d_penalty[feature.column] : 0.0;
    const struct rw_cell none = {0, 0, 0};
    double gain[2][BINS] = {};
    uint32_t breaks = 0; /* bit 2 k + missing_left: candidate of bin k */
    uint64_t n_missing = 0;
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    for (uint32_t i = 0; i < (n_bins ? a.n : 0); i++) {
        const uint64_t first = (uint64_t)a.d_buffer[i] * cells.n_cells + row.begin;
        const struct rw_cell missing = row.has_missing ? cell_at(cells, first + n_bins) : none;
        struct rw_cell cell[BINS], own = none, all = missing;
        for (int k = 0; k < BINS; k++) {
            cell[k] = bin + k < n_bins ? cell_at(cells, first + bin + k) : none;
            rw_cell_add(&own, &cell[k]);
        }
        struct rw_cell left = sum_before(own, of_warp, &all);
        const double share = rw_level_share(&a.rule, &all);
        n_missing += missing.n;
        for (int k = 0; k < BINS; k++) {
            rw_cell_add(&left, &cell[k]);
            for (int missing_left = 0; missing_left < 2; missing_left++) {
                struct rw_cell l = left;
                if (missing_left)
                    rw_cell_add(&l, &missing);
                const struct rw_cell r = rw_cell_less(&all, &l);
                gain[missing_left][k] += rw_level_gain(&a.rule, &l, &r, share);
                breaks |= (uint32_t)rw_level_breaks(&a.rule, direction, &l, &r)
                          << (2 * k + missing_left);
            }
        }
    }
    for (int k = 0; k < BINS && bin + k < n_bins; k++) {
        for (int missing_left = 1; missing_left >= 0; missing_left--) {
            if (breaks >> (2 * k + missing_left) & 1)
                continue;
            if (n_missing == 0 && missing_left != (bin + k >= feature.zero_bin))
                continue;
            const double net =
                rw_net_gain(&a.rule, gain[missing_left][k] * a.rule.gain_scale, penalty);
            if (net > best.gain)
                best = {net, (int32_t)feature.column, bin + k, missing_left, first_feature + f};
        }
    }
    best = best_of_block<WARPS>(best, best_of, NULL);
    if (threadIdx.x == 0)
        a.d_found[first_feature + f] = best;
}

static __global__ void __launch_bounds__(THREADS)
    pick_kernel(const __grid_constant__ struct rw_cuda_level a, uint32_t n_features)
{
    __shared__ struct rw_cuda_found best_of[WARPS];
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    for (uint32_t f = threadIdx.x; f < n_features; f += THREADS) {
        if (beats(a.d_found[f], best, a.d_noise))
            best = a.d_found[f];
    }
    best = best_of_block<WARPS>(best, best_of, a.d_noise);
    if (threadIdx.x > 0)
        return;
    if (!(best.gain > 0.0))
        best.column = -1;
    *a.d_best = best;
}

static __global__ void __launch_bounds__(THREADS)
    left_kernel(const __grid_constant__ struct rw_cuda_level a,
                const __grid_constant__ struct rw_cuda_cells cells, uint32_t first_feature)
{
    __shared__ uint32_t n_left;
    const struct rw_cuda_found best = *a.d_best;
    const uint32_t f = best.n_left - first_feature;
    if (best.column < 0 || best.n_left < first_feature || f >= cells.n_features)
        return; /* no split, or by a feature of another group */
    const struct row row = row_of(cells, f);
    const uint64_t first = (uint64_t)a.d_buffer[blockIdx.x] * cells.n_cells + row.begin;
    uint32_t n = 0;
    if (threadIdx.x == 0) {
        n_left = 0;
        if (best.missing_left && row.has_missing)
            n = cells.d_count[first + row.n_bins];
    }
    for (uint32_t b = threadIdx.x; b <= best.bin; b += THREADS)
        n += cells.d_count[first + b];
    __syncthreads();
    atomicAdd(&n_left, n);
    __syncthreads();
    if (threadIdx.x == 0)
        a.d_n_left[blockIdx.x] = n_left;
}

static __global__ void __launch_bounds__(THREADS)
    cells_kernel(const __grid_constant__ struct rw_cuda_level a,
                 const __grid_constant__ struct rw_cuda_cells cells, uint32_t f, uint32_t n_cells,
                 uint32_t stride, struct rw_cell *d_cell)
{
    const uint32_t begin = row_of(cells, f).begin;
    const uint64_t first = (uint64_t)a.d_buffer[blockIdx.x] * cells.n_cells + begin;
    const struct rw_cell none = {0, 0, 0};
    for (uint32_t c = threadIdx.x; c < n_cells; c += THREADS)
        d_cell[(uint64_t)blockIdx.x * stride + c] =
            cells.d_sampled[f] ? cell_at(cells, first + c) : none;
}

extern "C" int rw_cuda_level_split(const struct rw_cuda_level *level,
                                   const struct rw_cuda_cells *cells, int n_groups, void *stream)
{
    uint32_t n = 0;
    for (int g = 0; g < n_groups; n += cells[g++].n_features) {
        auto *const kernel = cells[g].n_bins <= THREADS ? level_kernel<1> : level_kernel<MOST_BINS>;
        TRY_CUDA(launch_grid(kernel, cells[g].n_features, THREADS, stream, *level, cells[g], n));
    }
    TRY_CUDA(launch_grid(pick_kernel, 1, THREADS, stream, *level, n));
    n = 0;
    for (int g = 0; g < n_groups; n += cells[g++].n_features)
        TRY_CUDA(launch_grid(left_kernel, level->n, THREADS, stream, *level, cells[g], n));
    return cudaSuccess;
}

extern "C" int rw_cuda_level_cells(const struct rw_cuda_level *level,
                                   const struct rw_cuda_cells *cells, uint32_t f, uint32_t n_cells,
                                   uint32_t stride, struct rw_cell *d_cell, void *stream)
{
    return launch_grid(cells_kernel, level->n, THREADS, stream, *level, *cells, f, n_cells, stride,
                       d_cell);
}
