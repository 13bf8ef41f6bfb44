/* Finds the best splits of some nodes by features that are not categorical, in one or two launches
 * per group of features. Histograms are in the device's cache by then, so gains and dependent steps
 * take most of the time.
 *
 * Shapes: cells [buffer][cell] of a group of features (struct rw_cuda_cells), with the bins of a
 * feature in a row; the best split of each (node, block), then of each node.
 *
 * Decomposition: for many nodes, rough_kernel and exact_kernel (below); for few, search_kernel. In
 * it, grid y is the node, a feature has 1 to WARPS warps, and a thread BINS neighbouring bins. Sums
 * are added up over threads and then warps. A block first scores its splits roughly, in float. For
 * those that may be its best, tree/numbers.h computes gains from exact sums. search_end.cuh has the
 * end of a block. The choice is by (gain, feature, bin), so the order of threads does not matter.
 */
#include "gpu/split/search_end.cuh"

/* The kind of sums of a search. SUM: the type of the cells' sums. ORDERED: features may have
 * monotone constraints. SHAPED, which implies ORDERED: there may also be feature costs, and a set
 * of features that may split each node. */
template <class SUM, int NEWTON_, int ORDERED_, int SHAPED_ = 0> struct sums {
    typedef SUM sum;
    enum { NEWTON = NEWTON_, ORDERED = ORDERED_, SHAPED = SHAPED_ };
    enum { ROUGH_BLOCKS = RW_TUNE_SPLIT_ROUGH_BLOCKS / (sizeof(SUM) > 4 ? 2 : 1) };
};

/* The sums of a cell or of several cells. hess: 0 unless S::NEWTON. */
template <class S> struct tally {
    uint32_t n;
    typename S::sum lambda, hess;
};

template <class S> RW_DEVICE tally<S> load_cell(const struct rw_cuda_cells &cells, uint64_t at)
{
    typedef typename S::sum sum;
    return {cells.d_count[at], ((const sum *)cells.d_lambda)[at],
            S::NEWTON ? ((const sum *)cells.d_hess)[at] : 0};
}

/* Four neighbours, which are loaded by 16 bytes at a time. */
template <class T> struct alignas(16) four {
    T at[4];
};

/* Loads four cells. The index `at` of the first is a multiple of four. */
template <class S>
RW_DEVICE void load_four(const struct rw_cuda_cells &cells, uint64_t at, tally<S> *cell)
{
    typedef typename S::sum sum;
    const four<uint32_t> n = *(const four<uint32_t> *)(cells.d_count + at);
    const four<sum> lambda = *(const four<sum> *)((const sum *)cells.d_lambda + at);
    four<sum> hess = {};
    if (S::NEWTON)
        hess = *(const four<sum> *)((const sum *)cells.d_hess + at);
    cell[0] = tally<S>{n.at[0], lambda.at[0], hess.at[0]};
    cell[1] = tally<S>{n.at[1], lambda.at[1], hess.at[1]};
    cell[2] = tally<S>{n.at[2], lambda.at[2], hess.at[2]};
    cell[3] = tally<S>{n.at[3], lambda.at[3], hess.at[3]};
}

template <class S> RW_DEVICE struct rw_cell side_of(const tally<S> &cell, const tally<S> *missing)
{
    return {cell.n + (missing ? missing->n : 0), cell.hess + (missing ? missing->hess : 0),
            cell.lambda + (missing ? missing->lambda : 0)};
}

template <class S> RW_DEVICE void add_cell(tally<S> *to, const tally<S> &cell)
{
    to->n += cell.n;
    to->lambda += cell.lambda;
    if (S::NEWTON)
        to->hess += cell.hess;
}

template <class S> RW_DEVICE tally<S> without(const tally<S> &from, const tally<S> &cell)
{
    return {from.n - cell.n, from.lambda - cell.lambda, from.hess - cell.hess};
}

template <class S> RW_DEVICE tally<S> sum_up_to(tally<S> cell, uint32_t lane)
{
    for (uint32_t step = 1; step < WARP; step *= 2) {
        const uint32_t n = __shfl_up_sync(ALL_LANES, cell.n, step);
        const typename S::sum lambda = __shfl_up_sync(ALL_LANES, cell.lambda, step);
        const typename S::sum hess = S::NEWTON ? __shfl_up_sync(ALL_LANES, cell.hess, step) : 0;
        if (lane >= step) {
            cell.n += n;
            cell.lambda += lambda;
            cell.hess += hess;
        }
    }
    return cell;
}

template <class S> RW_DEVICE tally<S> of_lane(const tally<S> &cell, int lane)
{
    return {__shfl_sync(ALL_LANES, cell.n, lane), __shfl_sync(ALL_LANES, cell.lambda, lane),
            S::NEWTON ? __shfl_sync(ALL_LANES, cell.hess, lane) : 0};
}

/* Returns approximately (lambda sum)^2 / (n + l2), or its equivalent for newton: a side's
 * contribution to a gain. Each of its seven roundings is at most 2^-22 of it. */
template <class S> RW_DEVICE float rough_side(const struct rw_cuda_search &a, const tally<S> &side)
{
    const float q = (float)side.lambda;
    const float d = (S::NEWTON ? (float)side.hess : (float)side.n) + (float)a.rule.l2;
    return __fdividef(q * q, d);
}

/* Returns the result of rw_side_allowed, in integers, for a side that has documents. */
template <class S> RW_DEVICE int is_allowed(const struct rw_cuda_search &a, const tally<S> &side)
{
    return side.n >= a.least_n && (!S::NEWTON || side.hess >= (typename S::sum)a.least_hess);
}

/* Returns the approximate value of a side. Each of its five roundings is at most 2^-22 of it. */
template <class S>
RW_DEVICE float rough_value(const struct rw_split_rule &rule, const tally<S> &side)
{
    const float d = (S::NEWTON ? (float)side.hess : (float)side.n) + (float)rule.l2;
    return __fdividef((float)side.lambda, d);
}

/* Returns the approximate gain of a split, without the parent's contribution; -1 if it is not
 * allowed. If S::ORDERED, also -1 if it certainly breaks the feature's monotone constraint, which
 * is `direction` or 0. Then *sure is raised to the gain if the split certainly satisfies it. */
template <class S>
RW_DEVICE float rough_gain(const struct rw_cuda_search &a, int direction, const tally<S> &left,
                           const tally<S> &right, float *sure)
{
    const float gain = is_allowed<S>(a, left) && is_allowed<S>(a, right)
                           ? rough_side<S>(a, left) + rough_side<S>(a, right)
                           : -1.0f;
    if (!S::ORDERED)
        return gain;
    const float l = (float)direction * rough_value<S>(a.rule, left);
    const float r = (float)direction * rough_value<S>(a.rule, right);
    const float margin = (fabsf(l) + fabsf(r)) * RW_ORDER_MARGIN;
    if (r - l >= margin)
        *sure = fmaxf(*sure, gain);
    return r - l >= -margin ? gain : -1.0f;
}

/* Returns the better rough gain of the threshold above a bin, with missing values right or left.
 * direction, sure: as in rough_gain. */
template <class S>
RW_DEVICE float rough_score(const struct rw_cuda_search &a, int direction, const tally<S> &left,
                            const tally<S> &right, const tally<S> &missing, float *sure)
{
    if (missing.n == 0)
        return rough_gain<S>(a, direction, left, right, sure);
    tally<S> l = left, r = right;
    add_cell<S>(&l, missing);
    add_cell<S>(&r, missing);
    return fmaxf(rough_gain<S>(a, direction, left, r, sure),
                 rough_gain<S>(a, direction, l, right, sure));
}

/* Returns the largest value of a block of WARPS warps. All of its threads call it. */
template <int WARPS> RW_DEVICE float largest_of_block(float largest, float *of_warp)
{
    for (uint32_t step = WARP / 2; step > 0; step /= 2)
        largest = fmaxf(largest, __shfl_xor_sync(ALL_LANES, largest, step));
    if (threadIdx.x % WARP == 0)
        of_warp[threadIdx.x / WARP] = largest;
    __syncthreads();
    for (int w = 0; w < WARPS; w++)
        largest = fmaxf(largest, of_warp[w]);
    return largest;
}

/* Returns the lowest rough score that can still have the largest gain, or an equal one. A score has
 * a relative error of at most 2^-19, and an absolute error from values too small for float. */
RW_DEVICE float least_score(float largest)
{
    return fmaxf(largest * (1.0f - 0x1p-16f) - 0x1p-100f, 0.0f);
}

/* Tries the threshold above a bin, with missing values on the left before the right. If there are
 * no missing values, tries only the side of 0. left: without missing values. all: with them. */
template <class S>
RW_DEVICE void try_cut(const struct rw_split_rule &rule, int direction, double penalty,
                       const tally<S> &left, const tally<S> &all, const tally<S> &missing,
                       double parent, int zero_goes_left, uint32_t bin, struct rw_cuda_found *best)
{
    const tally<S> right = without<S>(without<S>(all, left), missing);
    for (int missing_left = 1; missing_left >= 0; missing_left--) {
        if (missing.n == 0 && missing_left != zero_goes_left)
            continue;
        const struct rw_cell l = side_of<S>(left, missing_left ? &missing : NULL);
        const struct rw_cell r = side_of<S>(right, missing_left ? NULL : &missing);
        if (l.n == 0 || r.n == 0)
            continue;
        double gain = S::ORDERED ? rw_ordered_gain(&rule, direction, &l, &r, parent)
                                 : rw_split_gain(&rule, &l, &r, parent);
        if (S::SHAPED)
            gain = rw_net_gain(&rule, gain, penalty);
        if (gain > best->gain) {
            best->gain = gain;
            best->bin = bin;
            best->missing_left = missing_left;
            best->n_left = (uint32_t)l.n;
        }
    }
}

/* ---- many nodes ----
 *
 * For many nodes, most of a search's time would be barriers, at which seven warps wait for one that
 * computes gains in double. Here no warp waits for another until all rough gains are known, and
 * gains in double are computed once per node rather than once per block.
 *
 * Decomposition: rough_kernel has a warp per feature, grid y is the node. A lane has four
 * neighbouring bins in each of CHUNKS chunks of 128 bins. The warp writes the largest rough score
 * of the feature's splits: [node][feature]. exact_kernel has a block per node. Its warps read again
 * the features that may have the best split, usually one or two, and compute the exact gains of
 * the splits whose rough scores are large enough. */
enum {
    ROUGH_WARPS = RW_TUNE_SPLIT_ROUGH_WARPS,
    EXACT_WARPS = RW_TUNE_SPLIT_EXACT_WARPS,
    LANE_BINS = 4,
    CHUNK_BINS = LANE_BINS * WARP,
    MOST_CHUNKS = 2
};

struct place {
    uint32_t begin, n_bins;
    int has_missing; /* 1: the cell of missing values follows the bins */
    uint32_t column, zero_bin;
};

/* Finds a feature's cells. It reads nothing that the launch before writes. n_bins of the result is
 * 0 if there is no such feature or if it is not sampled for the tree. */
RW_DEVICE struct place place_of(const struct rw_cuda_cells &cells, uint32_t f)
{
    if (f >= cells.n_features)
        return {0, 0, 0, 0, 0};
    const struct rw_cuda_feature feature = cells.d_feature[f];
    const uint32_t begin = cells.d_row[f], length = cells.d_row[f + 1] - begin;
    if (!cells.d_sampled[f])
        return {0, 0, 0, 0, 0};
    return {begin, min(feature.n_bins, length), feature.has_missing && feature.n_bins < length,
            feature.column, feature.zero_bin};
}

/* A lane's sums for a feature: for each of its bins, the sum of all bins up to it. */
template <class S, int CHUNKS> struct sums_up_to {
    tally<S> left[CHUNKS][LANE_BINS];
    tally<S> all, missing; /* all: sum of all bins, without missing values */
};

RW_DEVICE uint32_t bin_of(int chunk, int i)
{
    return chunk * CHUNK_BINS + threadIdx.x % WARP * LANE_BINS + i;
}

/* A whole warp calls it. first: index of the histogram's first cell. */
template <class S, int CHUNKS>
RW_DEVICE void add_up(const struct rw_cuda_cells &cells, uint64_t first, const struct place &place,
                      struct sums_up_to<S, CHUNKS> *sums)
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
        add_cell<S>(&before, sums->all); /* the sum of earlier chunks */
#pragma unroll
        for (int i = 0; i < LANE_BINS; i++)
            add_cell<S>(&left[i], before);
        add_cell<S>(&sums->all, of_lane<S>(up_to, WARP - 1));
    }
}

template <class S, int CHUNKS>
RW_DEVICE float score_of(const struct rw_cuda_search &a, const struct place &place,
                         const struct sums_up_to<S, CHUNKS> &sums, int chunk, int i)
{
    const tally<S> &left = sums.left[chunk][i];
    return bin_of(chunk, i) < place.n_bins
               ? rough_score<S>(a, 0, left, without<S>(sums.all, left), sums.missing, NULL)
               : -1.0f;
}

template <class S, int CHUNKS>
static __global__ void __launch_bounds__(ROUGH_WARPS *WARP,
                                         RW_BLOCKS_HELD(ROUGH_WARPS *WARP, S::ROUGH_BLOCKS))
    rough_kernel(const __grid_constant__ struct rw_cuda_search a,
                 const __grid_constant__ struct rw_cuda_cells cells)
{
    const uint32_t f = blockIdx.x * ROUGH_WARPS + threadIdx.x / WARP;
    const struct place place = place_of(cells, f);
    let_next_launch_begin();
    wait_for_launch_before(); /* the launch before writes the cells */
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

/* Finds each lane's best threshold among those with a score of at least `least`. A whole warp calls
 * it. */
template <class S, int CHUNKS>
RW_DEVICE struct rw_cuda_found best_of_feature(const struct rw_cuda_search &a,
                                               const struct rw_cuda_cells &cells,
                                               const struct place &place, float least)
{
    enum { BINS = CHUNKS * LANE_BINS };
    struct sums_up_to<S, CHUNKS> sums;
    struct rw_cuda_found best = {0.0, (int32_t)place.column, 0, 0, 0};
    struct rw_split_rule rule = a.rule;
    rule.newton = S::NEWTON; /* a constant, so that the compiler can use it */
    add_up<S, CHUNKS>(cells, (uint64_t)a.buffer[blockIdx.y] * cells.n_cells, place, &sums);
    uint32_t worth = 0; /* bit i: its gain must be computed */
#pragma unroll
    for (int i = 0; i < BINS; i++)
        worth |=
            (uint32_t)(score_of<S, CHUNKS>(a, place, sums, i / LANE_BINS, i % LANE_BINS) >= least)
            << i;
    tally<S> node = sums.all;
    add_cell<S>(&node, sums.missing);
    const struct rw_cell whole = side_of<S>(node, NULL);
    while (worth) { /* seldom more than a few */
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
    __shared__ uint32_t worth_of[EXACT_WARPS]; /* bit l of [w]: feature first + 32 w + l */
    const float *const score = a.d_score + (uint64_t)blockIdx.y * cells.n_features;
    struct rw_cuda_found best = {0.0, INT32_MAX, 0, 0, 0};
    float largest = -1.0f;
    wait_for_launch_before(); /* the launch before writes the scores */
    for (uint32_t f = threadIdx.x; f < cells.n_features; f += EXACT_WARPS * WARP)
        largest = fmaxf(largest, score[f]);
    const float least = least_score(largest_of_block<EXACT_WARPS>(largest, largest_of));
    for (uint32_t first = 0; first < cells.n_features; first += EXACT_WARPS * WARP) {
        const uint32_t f = first + threadIdx.x;
        const uint32_t worth = __ballot_sync(ALL_LANES, f < cells.n_features && score[f] >= least);
        if (threadIdx.x % WARP == 0)
            worth_of[threadIdx.x / WARP] = worth;
        __syncthreads();
        uint32_t turn = 0; /* warps take the features in turn */
        for (uint32_t w = 0; w < EXACT_WARPS; w++) {
            for (uint32_t left = worth_of[w]; left; left &= left - 1, turn++) {
                if (turn % EXACT_WARPS != threadIdx.x / WARP)
                    continue;
                const uint32_t at = first + w * WARP + (uint32_t)__ffs((int)left) - 1;
                const struct rw_cuda_found found =
                    best_of_feature<S, CHUNKS>(a, cells, place_of(cells, at), least);
                if (beats(found, best, NULL))
                    best = found;
            }
        }
        __syncthreads();
    }
    best = best_of_block<EXACT_WARPS>(best, of_warp, NULL);
    if (a.n_blocks > 1) {
        if (!is_last_of_node(a, best, block))
            return;
        best = best_of_node<EXACT_WARPS>(a, of_warp, NULL);
    }
    if (threadIdx.x == 0)
        reply(a, best);
}

/* A group to search. For each node, its blocks are those from first_block on. */
struct group {
    const struct rw_cuda_search *search;
    const struct rw_cuda_cells *cells;
    uint32_t first_block;
    cudaStream_t stream;
};

template <class S, int CHUNKS> static cudaError_t launch_rough(const struct group &g)
{
    const dim3 grid(blocks_for(g.cells->n_features, ROUGH_WARPS), g.search->n);
    TRY_CUDA(launch_after(rough_kernel<S, CHUNKS>, grid, ROUGH_WARPS * WARP, 0, g.stream, *g.search,
                          *g.cells));
    return launch_after(exact_kernel<S, CHUNKS>, dim3(1, g.search->n), EXACT_WARPS * WARP, 0,
                        g.stream, *g.search, *g.cells, g.first_block);
}

/* Returns 1 if the search of a group takes these two launches: from RW_TUNE_SPLIT_ROUGH pairs of
 * node and feature on, since that is faster, and if the kernels can do it. */
static int is_rough(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells)
{
    return !search->d_allowed && !search->d_penalty && !search->d_direction && cells->d_row &&
           cells->n_features > 1 && cells->n_bins <= MOST_CHUNKS * CHUNK_BINS &&
           (uint64_t)search->n * cells->n_features >= RW_TUNE_SPLIT_ROUGH;
}

/* ---- few nodes ---- */

enum { WARPS = RW_TUNE_SPLIT_WARPS, THREADS = WARPS * WARP, MOST_BINS = 8 };
static_assert((WARPS & (WARPS - 1)) == 0, "features share a block evenly");
static_assert(THREADS * MOST_BINS >= RW_HIST_MOST_BINS, "a block holds a feature");

/* Loads the cells of bins `bin` to bin + BINS - 1, all at once. base: index of bin 0. Bins from
 * `end` on are 0. */
template <class S, int BINS>
RW_DEVICE void load_bins(const struct rw_cuda_cells &cells, uint64_t base, uint32_t bin,
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

/* Returns least_score for the thread's feature, in a block with feature costs: the largest net
 * score of the block plus the cost of the thread's own feature, `penalty`. The net score of a
 * thread is its largest score minus its cost, made slightly too low. A split with a negative one is
 * no candidate, so limiting a cost to the range of float changes nothing. */
RW_DEVICE float least_net_score(const struct rw_split_rule &rule, double penalty, float largest,
                                float *of_warp)
{
    const float margin = 0x1p-16f;
    const float cost = fminf((float)(penalty / rule.gain_scale), 0x1p100f);
    const float net =
        largest >= 0.0f ? largest * (1.0f - margin) - cost * (1.0f + margin) : -0x1p126f;
    return least_score(largest_of_block<WARPS>(net, of_warp) + cost * (1.0f - margin));
}

/* Finds the best threshold at this thread's bins, if the feature is sampled for the tree and may
 * split the node. `warps` warps share the feature. All threads of a block call it. */
template <class S, int BINS>
RW_DEVICE void search_bins(const struct rw_cuda_search &a, const struct rw_cuda_cells &cells,
                           uint32_t f, uint32_t warps, struct rw_cuda_found *best)
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
    wait_for_launch_before(); /* the launch before writes the cells */
    /* All data is loaded before any of it is used. */
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
    rule.newton = S::NEWTON; /* a constant, so that the compiler can use it */
    const tally<S> before = left;
    float score[BINS], largest = -1.0f;
#pragma unroll
    for (int i = 0; i < BINS; i++) {
        add_cell<S>(&left, cell[i]);
        const tally<S> right = without<S>(without<S>(all, left), missing);
        if (S::ORDERED) {
            score[i] = -1.0f;
            if (bin + i < feature.n_bins)
                score[i] = rough_score<S>(a, direction, left, right, missing, &largest);
            continue;
        }
        score[i] =
            bin + i < feature.n_bins ? rough_score<S>(a, 0, left, right, missing, NULL) : -1.0f;
        largest = fmaxf(largest, score[i]);
    }
    const float least = S::SHAPED ? least_net_score(rule, penalty, largest, largest_of)
                                  : least_score(largest_of_block<WARPS>(largest, largest_of));
    uint32_t worth = 0; /* bit i: its gain must be computed */
#pragma unroll
    for (int i = 0; i < BINS; i++)
        worth |= (uint32_t)(score[i] >= least) << i;
    const struct rw_cell whole = side_of<S>(all, NULL);
    while (worth) { /* seldom more than a few */
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
    const double *const d_noise = S::SHAPED ? noise_of(a) : NULL;
    search_bins<S, BINS>(a, cells, f, warps, &best);
    best = best_of_block<WARPS>(best, of_warp, d_noise);
    if (!is_last_of_node(a, best, first_block + blockIdx.x))
        return;
    best = best_of_node<WARPS>(a, of_warp, d_noise);
    if (threadIdx.x == 0)
        reply(a, best);
}

/* Returns the number of warps that share a feature: a power of two, no more than the bins need, and
 * no more than can run at once, except to keep a thread's bins within MOST_BINS. With noise, a
 * feature has a block, since rough scores have no noise. */
static uint32_t warps_of(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells)
{
    uint32_t warps = search->noise_word ? WARPS : 1;
    while (warps < WARPS && warps * WARP < cells->n_bins &&
           (warps * WARP * MOST_BINS < cells->n_bins ||
            (uint64_t)search->n * cells->n_features * warps * 2 <=
                (uint64_t)search->most_blocks * WARPS))
        warps *= 2;
    return warps;
}

/* Returns the number of blocks per node that write a result, at most n_features. */
static uint32_t blocks_of(const struct rw_cuda_search *search, const struct rw_cuda_cells *cells)
{
    return is_rough(search, cells) ? 1
                                   : blocks_for(cells->n_features, WARPS / warps_of(search, cells));
}

template <class S> static cudaError_t launch(const struct group &g)
{
    const uint32_t warps = warps_of(g.search, g.cells);
    const uint32_t bins = (g.cells->n_bins + warps * WARP - 1) / (warps * WARP);
    auto *const kernel = bins <= 1   ? search_kernel<S, 1>
                         : bins <= 4 ? search_kernel<S, 4>
                                     : search_kernel<S, MOST_BINS>;
    return launch_after(kernel, dim3(blocks_of(g.search, g.cells), g.search->n), THREADS, 0,
                        g.stream, *g.search, *g.cells, warps, g.first_block);
}

template <class SUM, int NEWTON> static cudaError_t launch_sums(const struct group &g)
{
    typedef sums<SUM, NEWTON, 0> plain;
    if (is_rough(g.search, g.cells))
        return g.cells->n_bins <= CHUNK_BINS ? launch_rough<plain, 1>(g)
                                             : launch_rough<plain, MOST_CHUNKS>(g);
    if (g.search->d_allowed || g.search->d_penalty)
        return launch<sums<SUM, NEWTON, 1, 1>>(g);
    return g.search->d_direction ? launch<sums<SUM, NEWTON, 1>>(g) : launch<plain>(g);
}

static cudaError_t launch_group(const struct group &g)
{
    if (g.search->n == 0 || g.cells->n_features == 0)
        return cudaSuccess;
    if (g.search->rule.newton)
        return g.cells->narrow ? launch_sums<int32_t, 1>(g) : launch_sums<long long, 1>(g);
    return g.cells->narrow ? launch_sums<int32_t, 0>(g) : launch_sums<long long, 0>(g);
}

/* Rough scores are stored after the blocks' results. There is room, since a rough search has one
 * block per node in place of two or more. */
extern "C" int rw_cuda_search_nodes(struct rw_cuda_search *search,
                                    const struct rw_cuda_cells *cells,
                                    const struct rw_cuda_categories *categories, int n_groups,
                                    void *stream)
{
    uint32_t block = 0;
    search->n_blocks = search->n_sets;
    for (int g = 0; g < n_groups; g++)
        search->n_blocks += blocks_of(search, &cells[g]);
    search->d_score = (float *)(search->d_best + (size_t)search->n * search->n_blocks);
    for (int g = 0; g < n_groups; g++) {
        TRY_CUDA(launch_group({search, &cells[g], block, (cudaStream_t)stream}));
        block += blocks_of(search, &cells[g]);
        if (is_rough(search, &cells[g]))
            search->d_score += (size_t)search->n * cells[g].n_features;
    }
    for (int g = 0; g < n_groups; block += categories[g++].n)
        TRY_CUDA(rw_cuda_search_categories(search, &cells[g], &categories[g], block, stream));
    return cudaSuccess;
}
