/* The draining of a block's cells: looks for full ones while documents are being added, and all of
 * them at the end. hist_lanes_finish.cuh takes what was drained on from there. */
#ifndef RW_GPU_HIST_LANES_DRAIN_CUH
#define RW_GPU_HIST_LANES_DRAIN_CUH

#include "gpu/hist/hist_lanes_add.cuh"

/* Rows of cells are dealt to the warps in turn, so a warp keeps to one code of a word. */
enum { WARPS = THREADS / WARP };
/* Rows that a warp reads at once when it looks for full cells. */
enum { LOOK_ROWS = 4 };

/* Sums over the lanes that own the same features. */
template <class T> static __device__ T sum_copies(T v, uint32_t lanes)
{
    for (uint32_t step = lanes; step < WARP; step *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

/* What a packed cell holds, or all 32 copies of it: lambda stays under 2^29. */
struct drained {
    uint32_t count;
    int32_t lambda;
    unsigned long long hess;
};
template <int SUMS>
static __device__ __forceinline__ struct drained drained_of(const struct plan &plan,
                                                            uint32_t packed, uint32_t heavy)
{
    struct drained d = {0, 0, SUMS == ONLY_HESSIANS ? packed : heavy};
    if (SUMS != ONLY_HESSIANS) {
        d.count = packed >> plan.shift;
        d.lambda = (int32_t)(packed & ((1u << plan.shift) - 1)) - plan.largest * (int32_t)d.count;
    }
    return d;
}

template <int SUMS> static __device__ __forceinline__ bool holds_any(const struct drained &d)
{
    return SUMS == ONLY_HESSIANS ? d.hess != 0 : d.count != 0;
}

/* Cells from plane to plane. */
static __device__ __forceinline__ uint64_t plane_cells(const struct plan &plan)
{
    return plan.node_cells * plan.n_nodes;
}

/* The plane of hessians in words of 32 bits. */
static __device__ __forceinline__ uint32_t *hess_plane(const struct plan &plan)
{
    return (uint32_t *)(plan.d_cell + plane_cells(plan));
}

/* Adds it to the drained cell `at`, as struct plan says. */
template <int SUMS>
static __device__ __forceinline__ void add_drained(const struct plan &plan, const struct drained &d,
                                                   uint64_t at)
{
    const unsigned long long lambda = (unsigned long long)(long long)d.lambda;
    unsigned long long *const d_out = plan.d_cell + at;
    if (plan.wide) {
        if (SUMS != ONLY_HESSIANS) {
            atomicAdd(d_out, (unsigned long long)d.count);
            atomicAdd(d_out + plane_cells(plan), lambda);
        }
        if (has_hessians(SUMS))
            atomicAdd(d_out + 2 * plane_cells(plan), d.hess);
    } else if (has_hessians(SUMS) && plan.hess_at) {
        atomicAdd(d_out, (lambda << plan.lambda_at) + (d.hess << plan.hess_at) + d.count);
    } else {
        if (SUMS != ONLY_HESSIANS)
            atomicAdd(d_out, (lambda << plan.lambda_at) + d.count);
        if (has_hessians(SUMS))
            atomicAdd(hess_plane(plan) + at, (uint32_t)d.hess);
    }
}

/* Where a node's drained cells of a row begin. */
static __device__ __forceinline__ uint64_t drained_to(const struct plan &plan,
                                                      const struct plan_row &row, uint32_t node)
{
    return node * plan.node_cells + row.cells;
}

/* The first cell of a thread; the next one is NEXT_CELL words on. */
template <class S, int SUMS> static __device__ __forceinline__ uint32_t *first_cell()
{
    const uint32_t warp = threadIdx.x / WARP;
    return (uint32_t *)shared_cells + cell_at<S, SUMS>(warp / S::CODES, warp % S::CODES) +
           threadIdx.x % WARP;
}
template <class S, int SUMS> static __device__ constexpr uint32_t next_cell()
{
    static_assert(WARPS % S::CODES == 0, "a warp keeps to one code of a word");
    constexpr uint32_t BINS = WARPS / S::CODES;
    return BINS * WARP * (S::BITS == 16 && SUMS == RW_HIST_NEWTON ? 2 : 1);
}

/* Drains the cells that are more than 1 / RW_TUNE_LANES_FULL full, or of a half that holds more
 * than HALVES_LEFT. Returns the largest count that is left, the same for all threads, by way of
 * *fullest, which is 0 before; *fullest_next is 0 after. All threads have added when this is
 * called, and may add again when it returns. */
template <class S, int SUMS>
static __device__ uint32_t drain_full(const struct plan &plan, const struct plan_row &row,
                                      uint32_t node, uint32_t *fullest, uint32_t *fullest_next)
{
    using heavy_cell = struct heavy_cell<S, SUMS>;
    const int shift = SUMS == ONLY_HESSIANS ? 0 : plan.shift;
    const uint32_t full = SUMS == ONLY_HESSIANS ? 0 : plan.room / RW_TUNE_LANES_FULL;
    const uint32_t lane = threadIdx.x % WARP, least = (full + 1) << shift;
    const uint32_t code = threadIdx.x / WARP % S::CODES;
    const uint32_t n = row.n_bins * S::CODES;
    uint32_t *cell = first_cell<S, SUMS>(), most = 0;
    const uint64_t first = drained_to(plan, row, node) + (lane & (row.lanes - 1));
    for (uint32_t i = threadIdx.x / WARP; i < n; i += LOOK_ROWS * WARPS) {
        uint32_t packed[LOOK_ROWS], top = 0, top_heavy = 0;
#pragma unroll
        for (int k = 0; k < LOOK_ROWS; k++) {
            const bool there = i + k * WARPS < n;
            packed[k] = there ? cell[k * next_cell<S, SUMS>()] : 0;
            top = max(top, packed[k]);
            if (in_halves<S, SUMS>() && there)
                top_heavy = max(top_heavy, heavy_cell::read(cell + k * next_cell<S, SUMS>(), code));
        }
        if (top < least && top_heavy <= HALVES_LEFT) {
            most = max(most, top);
        } else {
#pragma unroll
            for (int k = 0; k < LOOK_ROWS; k++) {
                uint32_t *at = cell + k * next_cell<S, SUMS>();
                const uint32_t heavy = packed[k] ? heavy_cell::read(at, code) : 0;
                if (packed[k] < least && (!in_halves<S, SUMS>() || heavy <= HALVES_LEFT)) {
                    most = max(most, packed[k]);
                    continue;
                }
                add_drained<SUMS>(plan, drained_of<SUMS>(plan, packed[k], heavy),
                                  first + (i + k * WARPS) * row.lanes);
                *at = 0;
                heavy_cell::clear(at, code);
            }
        }
        cell += LOOK_ROWS * next_cell<S, SUMS>();
    }
    most = rw_warp_max(most >> shift);
    if (lane == 0 && most)
        atomicMax(fullest, most);
    if (threadIdx.x == 0)
        *fullest_next = 0;
    __syncthreads();
    return *fullest;
}

/* Drains all cells, copies added up first. */
template <class S, int SUMS>
static __device__ void drain_all(const struct plan &plan, const struct plan_row &row, uint32_t node)
{
    using heavy_cell = struct heavy_cell<S, SUMS>;
    const uint32_t lane = threadIdx.x % WARP, n = row.n_bins * S::CODES, lanes = row.lanes;
    const uint32_t code = threadIdx.x / WARP % S::CODES;
    uint32_t *cell = first_cell<S, SUMS>();
    uint32_t i = threadIdx.x / WARP;
    uint64_t to = drained_to(plan, row, node) + (i * lanes + lane);
    if (lanes == WARP) {
#pragma unroll 4
        for (; i < n; i += WARPS) {
            const struct drained d = drained_of<SUMS>(plan, *cell, heavy_cell::read(cell, code));
            if (holds_any<SUMS>(d))
                add_drained<SUMS>(plan, d, to);
            cell += next_cell<S, SUMS>();
            to += WARPS * WARP;
        }
        return;
    }
    for (; i < n; i += WARPS) {
        struct drained d = drained_of<SUMS>(plan, *cell, heavy_cell::read(cell, code));
        d.count = sum_copies(d.count, lanes);
        d.lambda = sum_copies(d.lambda, lanes);
        if (has_hessians(SUMS))
            d.hess = sum_copies(d.hess, lanes);
        if (lane < lanes && holds_any<SUMS>(d))
            add_drained<SUMS>(plan, d, to);
        cell += next_cell<S, SUMS>();
        to += WARPS * lanes;
    }
}

#endif
