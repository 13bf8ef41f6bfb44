/* What blocks of `lanes` drained, into the shape of hist.h, and siblings by subtraction. */
#ifndef RW_GPU_HIST_LANES_FINISH_CUH
#define RW_GPU_HIST_LANES_FINISH_CUH

#include "gpu/device/launch_after.cuh"
#include "gpu/hist/hist_lanes_drain.cuh"
#include "gpu/hist/hist_lanes_plan.cuh"

enum : uint64_t { NO_CELL = UINT64_MAX };

/* What finish_kernel writes to. */
struct finished {
    uint32_t n_bins;
    const uint32_t *d_row; /* as the matrix has it */
    uint64_t n_cells;      /* of a histogram */
    struct rw_hist_pool result, parents;
    const uint32_t *d_parent; /* NULL: no siblings */
    const uint8_t *d_asked;   /* as the call has it */
};

/* A cell of a parent, and where it is. */
struct parent_cell {
    uint64_t at;
    uint32_t count;
    long long lambda, hess;
};

/* WEIGHTS: there are hessians. SUM: int32_t of narrow sums, else int64_t. */
template <bool WEIGHTS, class SUM>
static __device__ __forceinline__ struct parent_cell parent_of(const struct finished &out,
                                                               uint32_t parent, uint64_t cell)
{
    struct parent_cell p = {parent * out.n_cells + cell, 0, 0, 0};
    p.count = out.parents.d_count[p.at];
    if (out.result.d_lambda_sum)
        p.lambda = ((const SUM *)out.parents.d_lambda_sum)[p.at];
    if (WEIGHTS)
        p.hess = ((const SUM *)out.parents.d_hess_sum)[p.at];
    return p;
}

template <bool WEIGHTS, class SUM>
static __device__ __forceinline__ void
put_cell(const struct finished &out, uint32_t node, uint64_t cell, bool sibling,
         const struct parent_cell &p, uint32_t count, long long lambda, long long hess)
{
    const uint64_t at = node * out.n_cells + cell;
    out.result.d_count[at] = count;
    if (sibling)
        out.parents.d_count[p.at] = p.count - count;
    if (out.result.d_lambda_sum) {
        ((SUM *)out.result.d_lambda_sum)[at] = (SUM)lambda;
        if (sibling)
            ((SUM *)out.parents.d_lambda_sum)[p.at] = (SUM)(p.lambda - lambda);
    }
    if (WEIGHTS) {
        ((SUM *)out.result.d_hess_sum)[at] = (SUM)hess;
        if (sibling)
            ((SUM *)out.parents.d_hess_sum)[p.at] = (SUM)(p.hess - hess);
    }
}

/* Siblings too: parents are read while the launch before ends. Drained cells are [bin][column]
 * in each plane, a column a code and a lane, in the order of the tile's features. Block: 32 x 8
 * threads; grid x = 32 bins, y = row of the plan and 32 columns, z = node. The square is turned in
 * shared memory. */
template <bool WEIGHTS, class SUM>
__global__ void __launch_bounds__(256, RW_BLOCKS_HELD(256, WEIGHTS ? 4 : 5))
    finish_kernel(const __grid_constant__ struct plan plan,
                  const __grid_constant__ struct finished out, uint32_t most_groups)
{
    long long(*square)[33] = (long long(*)[33])shared_cells; /* [n_planes * 32][33] */
    const struct plan_row &row = plan.row[blockIdx.y / most_groups];
    const uint32_t columns = row.n_codes * row.lanes, node = blockIdx.z;
    const uint32_t first = blockIdx.x * 32, first_column = blockIdx.y % most_groups * 32;
    const uint32_t first_feature = row.first_code * row.lanes + first_column; /* of the tile */
    /* a narrow tile has no documents in the bins from row.n_bins on */
    const uint32_t n_bins = row.in_part ? row.n_bins : out.n_bins;
    const uint32_t parent = out.d_parent ? out.d_parent[node] : RW_HIST_NO_PARENT;
    const uint32_t my_bin = first + threadIdx.x;
    struct parent_cell before[4];
    int any = 0;
    uint32_t asked = 0; /* bit i: for cell i */
    const auto cell_of = [&](uint32_t k) -> uint64_t {
        const uint32_t feature = row.first_feature + first_feature + k;
        const bool there = first_column + k < columns && first_feature + k < row.n_features;
        if (!there || my_bin >= n_bins)
            return NO_CELL;
        if (!out.d_row)
            return (uint64_t)feature * out.n_bins + row.first_bin + my_bin;
        const uint32_t begin = __ldg(out.d_row + feature), end = __ldg(out.d_row + feature + 1);
        const uint32_t cell = begin + row.first_bin + my_bin;
        return cell < end ? cell : NO_CELL;
    };
    /* of a feature that is there */
    const auto is_asked = [&](uint32_t k) -> bool {
        return !out.d_asked || __ldg(out.d_asked + row.first_feature + first_feature + k);
    };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint64_t cell = cell_of(threadIdx.y + 8 * i);
        any |= cell != NO_CELL;
        if (cell == NO_CELL || !is_asked(threadIdx.y + 8 * i))
            continue;
        asked |= 1u << i;
        if (parent != RW_HIST_NO_PARENT)
            before[i] = parent_of<WEIGHTS, SUM>(out, parent, cell);
    }
    wait_for_launch_before();
    let_next_launch_begin();
    if (first >= n_bins || first_column >= columns)
        return;
    /* No document has a code here. Only bin 0 has something to clear that is of no feature. */
    if (!__syncthreads_or(any || first == 0))
        return;
    const uint64_t from = drained_to(plan, row, node), plane = plane_cells(plan);
    const bool wide = sizeof(SUM) == sizeof(int64_t) && plan.wide; /* narrow sums never are */
    const bool half_plane = WEIGHTS && !wide && plan.hess_at == 0;
    const int whole_planes = wide ? WEIGHTS ? 3 : 2 : 1;
    const bool is_read = first_column + threadIdx.x < columns &&
                         first_feature + threadIdx.x < row.n_features && is_asked(threadIdx.x);
#pragma unroll
    for (uint32_t y = threadIdx.y; y < 32; y += 8) {
        const uint32_t bin = first + y, column = first_column + threadIdx.x;
        const bool counted = bin < row.n_bins && is_read;
        const uint64_t at = from + ((uint64_t)bin * columns + column);
        square[y][threadIdx.x] = counted ? (long long)plan.d_cell[at] : 0;
        if (half_plane)
            square[32 + y][threadIdx.x] = counted ? hess_plane(plan)[at] : 0;
        for (int p = 1; p < whole_planes; p++)
            square[32 * p + y][threadIdx.x] = counted ? (long long)plan.d_cell[p * plane + at] : 0;
    }
    for (uint32_t y = threadIdx.y; y < 32 && plan.clean; y += 8) { /* those of no feature, too */
        const uint32_t bin = first + y, column = first_column + threadIdx.x;
        if (is_read && square[y][threadIdx.x] == 0)
            continue; /* clean, then, as it is in other planes: no document was counted */
        if (bin >= row.n_bins || column >= columns)
            continue;
        const uint64_t at = from + ((uint64_t)bin * columns + column);
        if (half_plane)
            hess_plane(plan)[at] = 0;
        for (int p = 0; p < whole_planes; p++)
            plan.d_cell[p * plane + at] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t k = threadIdx.y + 8 * i;
        const uint64_t cell = cell_of(k);
        if (!(asked >> i & 1))
            continue;
        const long long value = square[threadIdx.x][k];
        const bool is_sibling = parent != RW_HIST_NO_PARENT && value != 0; /* 0 changes nothing */
        const uint32_t count = (uint32_t)value & (WEIGHTS ? plan.count_mask : UINT32_MAX);
        const long long lambda =
            wide ? square[32 + threadIdx.x][k] : value >> (WEIGHTS ? plan.lambda_at : 32);
        long long hess = 0;
        if (WEIGHTS)
            hess = plan.hess_at ? value >> plan.hess_at & plan.hess_mask
                                : square[(wide ? 64 : 32) + threadIdx.x][k];
        put_cell<WEIGHTS, SUM>(out, node, cell, is_sibling, before[i], count, lambda, hess);
    }
}

static struct finished finished_of(const struct rw_hist_call *call)
{
    struct finished out = {call->matrix->n_bins,
                           call->matrix->d_row,
                           rw_hist_matrix_cells(call->matrix),
                           {call->d_count, NULL, NULL},
                           call->parents,
                           call->d_parent,
                           call->d_asked};
    if (call->sums != RW_HIST_COUNT)
        out.result.d_lambda_sum = call->d_lambda_sum;
    if (call->sums == RW_HIST_NEWTON)
        out.result.d_hess_sum = call->d_hess_sum;
    return out;
}

#endif
