/* The kernel of hist_lanes.cu and its launch, for codes that are all on the device (struct plan)
 * and for those that are not (struct far_plan): hist_lanes.cu and hist_lanes_far.cu have one each,
 * so that the first is compiled without a thought of the second. */
#ifndef RW_GPU_HIST_LANES_KERNEL_CUH
#define RW_GPU_HIST_LANES_KERNEL_CUH

#include <atomic>
#include <type_traits>
#include <cuda_runtime.h>

#include "gpu/hist/hist_lanes_add.cuh"
#include "gpu/hist/hist_lanes_plan.cuh"
#include "gpu/device/launch_after.cuh"

/* ---- the kernel ---- */

static __host__ __device__ __forceinline__ const struct plan &plan_of(const struct plan &plan)
{
    return plan;
}
static __host__ __device__ __forceinline__ const struct plan &plan_of(const struct far_plan &far)
{
    return far.plan;
}
static __device__ __forceinline__ all_here where_of(const struct plan &, uint32_t)
{
    return all_here{};
}
static __device__ __forceinline__ struct reads<all_here> reads_of(all_here) {
    return {};
} static __device__ __forceinline__ struct reads<far_words>
reads_of(const struct far_words &where) {
    return {where, 0};
} static __device__ __forceinline__ far_words where_of(const struct far_plan &far, uint32_t row)
{
    return far_words{far.row[row].far_word, far.row[row].n_here, far.d_far_bytes};
}

/* The row of the plan that a block belongs to: the last one that begins at it or before. There is
 * one, which saves a step of base/search.h's search. */
static __device__ __forceinline__ uint32_t row_of_block(const struct plan &plan)
{
    uint32_t low = 0, high = plan.n_rows;
    while (high - low > 1) {
        const uint32_t middle = (low + high) / 2;
        if (plan.row[middle].first_block <= blockIdx.x)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* Which node and which part of it is this block's? A thread looks at a node: `node`. All that the
 * block wrote to its cells before can be read after. */
static __device__ struct chunk find_chunk(const struct plan_row &row, struct rw_hist_node node)
{
    __shared__ uint32_t warp_chunks[WARPS];
    __shared__ struct chunk found;
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t block = blockIdx.x - row.first_block;
    const uint32_t chunks = (uint32_t)chunks_of_node(node, row.docs_a_chunk);
    uint32_t upto = chunks;
    for (int step = 1; step < WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, step);
        upto += (int)lane >= step ? other : 0;
    }
    if (lane == WARP - 1)
        warp_chunks[warp] = upto;
    if (threadIdx.x == 0)
        found = {0, 0, 0};
    __syncthreads();
    uint32_t from = upto - chunks;
    for (uint32_t w = 0; w < warp; w++)
        from += warp_chunks[w];
    if (block >= from && block - from < chunks) {
        const uint64_t done = (uint64_t)(block - from) * row.docs_a_chunk;
        found.node = threadIdx.x;
        found.begin = node.first + done;
        found.n = (uint32_t)(node.n - done < row.docs_a_chunk ? node.n - done : row.docs_a_chunk);
    }
    __syncthreads();
    return found;
}

/* A block's documents, with looks at the cells so often that none overflows. What `add` is: see
 * hist_lanes_add.cuh. */
template <class S, int SUMS, class ADD>
static __device__ __forceinline__ void add_all(const struct plan &plan, const struct plan_row &row,
                                               const struct chunk &chunk, ADD &add)
{
    __shared__ uint32_t fullest_of[2];
    /* a cell is one of 32 / lanes copies, each with its share of any run of documents */
    const uint32_t copies = WARP / row.lanes;
    uint32_t fullest = 0, from = 0;
    if (threadIdx.x == 0)
        fullest_of[0] = 0;
    for (uint32_t look = 0;; look++) {
        const uint32_t until = add.pause(from, (uint64_t)(plan.room - fullest - 1) * copies);
        add.add(from, until);
        from = until;
        __syncthreads();
        wait_for_launch_before();
        if (from >= chunk.n)
            break;
        uint32_t *now = &fullest_of[look % 2], *then = &fullest_of[(look + 1) % 2];
        fullest = plan.wide ? drain_full<S, SUMS, true>(plan, row, chunk.node, now, then)
                            : drain_full<S, SUMS, false>(plan, row, chunk.node, now, then);
    }
    if (plan.wide)
        drain_all<S, SUMS, true>(plan, row, chunk.node);
    else
        drain_all<S, SUMS, false>(plan, row, chunk.node);
    add.count();
}

/* Of a list, or (not LIST) a range. */
template <class S, int SUMS, bool LIST, class WHERE>
static __device__ __forceinline__ void
add_ahead(const struct plan &plan, const struct plan_row &row, const struct chunk &chunk,
          const struct stage<S, SUMS> &stage, const struct words<S, WHERE> &words,
          const WHERE &where, uint32_t lane_at)
{
    struct listed<S, SUMS, LIST, WHERE> add = {
        reads_of(where), plan, row, stage, words, lane_at, plan.one, chunk.begin, chunk.n
    };
    /* a look leaves cells of room / FULL, and the next is one document short of the room */
    add.steady = plan.room - plan.room / RW_TUNE_LANES_FULL - 1 >= 2 * add.STEP;
    add_all<S, SUMS>(plan, row, chunk, add);
}

/* NARROW: tiles of under 32 lanes only. */
template <class S, int SUMS, bool NARROW, class WHERE>
static __device__ __forceinline__ void add_chunk(const struct plan &plan,
                                                 const struct plan_row &row,
                                                 const struct chunk &chunk, const WHERE &where)
{
    constexpr uint32_t STAGE = stage_bytes(SUMS == RW_HIST_NEWTON) / WARPS;
    const uint32_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const struct stage<S, SUMS> stage = {
        (uint32_t *)((char *)shared_cells + plan.cell_bytes + warp * STAGE), lane
    };
    const uint32_t lane_at = (uint32_t)__cvta_generic_to_shared(shared_cells) + lane * 4;
    if (NARROW || row.lanes < WARP) {
        struct narrow<S, SUMS, WHERE> add = {
            reads_of(where), plan, row, lane_at, plan.one, chunk.begin, chunk.n
        };
        add_all<S, SUMS>(plan, row, chunk, add);
        return;
    }
    if constexpr (!NARROW) {
        constexpr bool FAR = !std::is_same<WHERE, all_here>::value;
        const struct words<S, WHERE> words(row, lane, where);
        if (plan.d_list)
            add_ahead<S, SUMS, true>(plan, row, chunk, stage, words, where, lane_at);
        else if constexpr (FAR || (S::BITS == 16 && RW_TUNE_LANES_RANGE_AHEAD_16))
            add_ahead<S, SUMS, false>(plan, row, chunk, stage, words, where, lane_at);
        else {
            struct ranged<S, SUMS> add = {
                plan, row, stage, words.first, lane_at, plan.one, chunk.begin, chunk.n
            };
            add_all<S, SUMS>(plan, row, chunk, add);
        }
    }
}

template <class S, int SUMS, class PLAN>
__global__ void __launch_bounds__(THREADS) lanes_kernel(const __grid_constant__ PLAN args)
{
    const struct plan &plan = plan_of(args);
    const uint32_t number = row_of_block(plan);
    const struct plan_row &row = plan.row[number];
    struct rw_hist_node node = {0, 0};
    let_next_launch_begin();
    if (threadIdx.x < plan.n_nodes)
        node = plan.d_node[threadIdx.x];
    const bool nibbles = S::BITS == 8 && row.bits == 4;
    const size_t bytes =
        nibbles ? narrow_cell_bytes(SUMS == RW_HIST_NEWTON) : (size_t)plan.cell_bytes;
    for (uint32_t i = threadIdx.x; i < bytes / sizeof(uint4); i += THREADS)
        shared_cells[i] = make_uint4(0, 0, 0, 0);
    const struct chunk chunk = find_chunk(row, node);
    if constexpr (S::BITS == 8) {
        if (nibbles) {
            add_chunk<shape<4, 8, 16, false>, SUMS, true>(plan, row, chunk, where_of(args, number));
            return;
        }
    }
    add_chunk<S, SUMS, false>(plan, row, chunk, where_of(args, number));
}

/* ---- launching ---- */

template <class S, int SUMS, class PLAN>
static cudaError_t launch(const PLAN &args, cudaStream_t stream)
{
    const struct plan &plan = plan_of(args);
    static std::atomic<uint32_t> allowed[MOST_DEVICES]; /* bytes that this kernel may take */
    const uint32_t shared = plan.cell_bytes + (uint32_t)stage_bytes(SUMS == RW_HIST_NEWTON);
    std::atomic<uint32_t> &bytes = allowed[current_device()];
    if (bytes < shared) {
        const cudaError_t error = cudaFuncSetAttribute(
            lanes_kernel<S, SUMS, PLAN>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
        if (error != cudaSuccess)
            return error;
        bytes = shared;
    }
    if (!plan.clean)
        return launch_after(lanes_kernel<S, SUMS, PLAN>, plan.n_blocks, THREADS, shared, stream,
                            args);
    lanes_kernel<S, SUMS, PLAN><<<plan.n_blocks, THREADS, shared, stream>>>(args);
    return cudaGetLastError();
}

/* Newton in one launch, or its hessians in a second one. */
template <class S, class PLAN>
static cudaError_t launch_sums(const struct rw_hist_call *call, const struct layout &layout,
                               const PLAN &args, cudaStream_t stream)
{
    if (call->sums == RW_HIST_NEWTON && !layout.apart)
        return launch<S, RW_HIST_NEWTON>(args, stream);
    const cudaError_t error = launch<S, RW_HIST_MART>(args, stream);
    if constexpr (S::BITS == 16) {
        if (layout.apart && error == cudaSuccess) {
            PLAN again = args;
            const_cast<struct plan &>(plan_of(again)).room = UINT32_MAX / (uint32_t)call->largest;
            return launch<S, ONLY_HESSIANS>(again, stream);
        }
    }
    return error;
}

template <class PLAN>
static cudaError_t launch_bits(const struct rw_hist_call *call, const struct layout &layout,
                               const PLAN &args, cudaStream_t stream)
{
    if (call->matrix->bits == 4)
        return launch_sums<shape<4, 8, 16, false>>(call, layout, args, stream);
    if (call->matrix->bits == 16 && layout.n_bins < call->matrix->n_bins)
        return launch_sums<shape<16, 1, 0, true>>(call, layout, args, stream);
    if (call->matrix->bits == 16)
        return launch_sums<shape<16, 1, 0, false>>(call, layout, args, stream);
    switch (layout.n_codes * 1000 + (int)layout.room_bins) {
    case 4064:
        return launch_sums<shape<8, 4, 64, false>>(call, layout, args, stream);
    case 4128:
        return launch_sums<shape<8, 4, 128, false>>(call, layout, args, stream);
    case 4256:
        return launch_sums<shape<8, 4, 256, false>>(call, layout, args, stream);
    case 2128:
        return launch_sums<shape<8, 2, 128, false>>(call, layout, args, stream);
    case 2256:
        return launch_sums<shape<8, 2, 256, false>>(call, layout, args, stream);
    case 1256:
        return launch_sums<shape<8, 1, 256, false>>(call, layout, args, stream);
    default: /* shared memory of under 64 KB */
        return cudaErrorInvalidConfiguration;
    }
}

#endif
