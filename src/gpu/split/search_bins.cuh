/* What searches of numeric features share: sums of bins in registers, rough gains in float, by
 * which few cuts are left, and the gains of those by the functions of tree/numbers.h. */
#ifndef RW_GPU_SEARCH_BINS_CUH
#define RW_GPU_SEARCH_BINS_CUH

#include "gpu/split/search_end.cuh"

/* What sums a search adds up: SUM is the cells', int32_t of narrow ones. ORDERED: features may have
 * directions. SHAPED, which is ORDERED, too: and penalties, and nodes features that may not split
 * them. */
template <class SUM, int NEWTON_, int ORDERED_, int SHAPED_ = 0> struct sums {
    typedef SUM sum;
    enum { NEWTON = NEWTON_, ORDERED = ORDERED_, SHAPED = SHAPED_ };
};

template <class S> struct tally {
    uint32_t n;
    typename S::sum lambda, hess;
};

template <class S>
static __device__ tally<S> load_cell(const struct rw_cuda_cells &cells, uint64_t at)
{
    typedef typename S::sum sum;
    const tally<S> cell = {cells.d_count[at], ((const sum *)cells.d_lambda)[at],
                           S::NEWTON ? ((const sum *)cells.d_hess)[at] : 0};
    return cell;
}

static __device__ void load_sums(const int32_t *d_sum, int32_t *sum)
{
    const int4 four = *(const int4 *)d_sum;
    sum[0] = four.x;
    sum[1] = four.y;
    sum[2] = four.z;
    sum[3] = four.w;
}

static __device__ void load_sums(const long long *d_sum, long long *sum)
{
    const longlong2 low = *(const longlong2 *)d_sum, high = *(const longlong2 *)(d_sum + 2);
    sum[0] = low.x;
    sum[1] = low.y;
    sum[2] = high.x;
    sum[3] = high.y;
}

/* Four cells that stand on a multiple of four. */
template <class S>
static __device__ void load_four(const struct rw_cuda_cells &cells, uint64_t at, tally<S> *cell)
{
    typedef typename S::sum sum;
    sum lambda[4], hess[4] = {0, 0, 0, 0};
    const uint4 n = *(const uint4 *)(cells.d_count + at);
    load_sums((const sum *)cells.d_lambda + at, lambda);
    if (S::NEWTON)
        load_sums((const sum *)cells.d_hess + at, hess);
    cell[0] = tally<S>{n.x, lambda[0], hess[0]};
    cell[1] = tally<S>{n.y, lambda[1], hess[1]};
    cell[2] = tally<S>{n.z, lambda[2], hess[2]};
    cell[3] = tally<S>{n.w, lambda[3], hess[3]};
}

/* A side of a split: some bins, and the missing values or not. */
template <class S>
static __device__ struct rw_cell side_of(const tally<S> &cell, const tally<S> *missing)
{
    struct rw_cell side;
    side.n = cell.n + (missing ? missing->n : 0);
    side.hess = cell.hess + (missing ? missing->hess : 0);
    side.lambda = cell.lambda + (missing ? missing->lambda : 0);
    return side;
}

template <class S> static __device__ void add_cell(tally<S> *to, const tally<S> &cell)
{
    to->n += cell.n;
    to->lambda += cell.lambda;
    if (S::NEWTON)
        to->hess += cell.hess;
}

template <class S> static __device__ tally<S> without(const tally<S> &from, const tally<S> &cell)
{
    return {from.n - cell.n, from.lambda - cell.lambda, from.hess - cell.hess};
}

/* The sum over the lanes up to this one. */
template <class S> static __device__ tally<S> sum_up_to(tally<S> cell, uint32_t lane)
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

template <class S> static __device__ tally<S> of_lane(const tally<S> &cell, int lane)
{
    return {__shfl_sync(ALL_LANES, cell.n, lane), __shfl_sync(ALL_LANES, cell.lambda, lane),
            S::NEWTON ? __shfl_sync(ALL_LANES, cell.hess, lane) : 0};
}

/* About (lambda sum)^2 / (n + l2), or its like of newton: what a side adds to a gain. Each of its
 * seven roundings is at most 2^-22 of it. */
template <class S>
static __device__ float rough_side(const struct rw_cuda_search &a, const tally<S> &side)
{
    const float q = (float)side.lambda;
    const float d = (S::NEWTON ? (float)side.hess : (float)side.n) + (float)a.rule.l2;
    return __fdividef(q * q, d);
}

/* rw_side_allowed of a side with documents, in integers. */
template <class S>
static __device__ int is_allowed(const struct rw_cuda_search &a, const tally<S> &side)
{
    return side.n >= a.least_n && (!S::NEWTON || side.hess >= (typename S::sum)a.least_hess);
}

/* About the gain of a cut, without the parent's part; -1 if it is not allowed. */
template <class S>
static __device__ float rough_gain(const struct rw_cuda_search &a, const tally<S> &left,
                                   const tally<S> &right)
{
    return is_allowed<S>(a, left) && is_allowed<S>(a, right)
               ? rough_side<S>(a, left) + rough_side<S>(a, right)
               : -1.0f;
}

/* Of the better cut behind a bin: missing values right, or left. */
template <class S>
static __device__ float rough_score(const struct rw_cuda_search &a, const tally<S> &left,
                                    const tally<S> &right, const tally<S> &missing)
{
    if (missing.n == 0)
        return rough_gain<S>(a, left, right);
    tally<S> l = left, r = right;
    add_cell<S>(&l, missing);
    add_cell<S>(&r, missing);
    return fmaxf(rough_gain<S>(a, left, r), rough_gain<S>(a, l, right));
}

/* All threads of a block of WARPS warps call it. */
template <int WARPS> static __device__ float largest_of_block(float largest, float *of_warp)
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

/* Under the largest rough score of some cuts by so much, a cut cannot have the largest gain, nor an
 * equal one: a score is wrong by at most 2^-19 of itself, and by what float cannot hold. */
static __device__ float least_score(float largest)
{
    return fmaxf(largest * (1.0f - 0x1p-16f) - 0x1p-100f, 0.0f);
}

/* Tries the cut behind bin `bin`, missing values left before right. */
template <class S>
static __device__ void try_cut(const struct rw_split_rule &rule, int direction, double penalty,
                               const tally<S> &left, const tally<S> &all, const tally<S> &missing,
                               double parent, int zero_goes_left, uint32_t bin,
                               struct rw_cuda_found *best)
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

#endif
