/* Why: a histogram whose speed does not depend on the data. A lane of a warp owns the codes of its
 * word, and its cells stand in its own bank of shared memory: no two lanes of a warp ever meet, in
 * a bank or in a cell. Warps meet rarely, in atomics on 32-bit integers, which the hardware has,
 * one warp's a clock. What is scarce then is instructions, so a cell's address takes one: a code of
 * 8 bits is put into the second byte of the lane's offset.
 *
 * Shapes: a tile's words [n_docs][lanes]; cells in shared memory as struct layout says, packed:
 * count in the high bits, lambda + largest in the low ones. Drained cells in scratch [node][plan
 * row][bin] [code][lane] as 64-bit words (lambda * 2^32 + count, or one word each; then weight),
 * then put into the shape of hist.h.
 *
 * Decomposition: grid y = a row of the plan: a tile, some of the codes of its words, some of its
 * bins; grid x = a chunk of a node's documents. A warp takes UNROLL documents at a time. Their
 * places and lambdas come through shared memory, read two turns ahead; of a list, the words too are
 * read while those before are added.
 *
 * A packed cell may overflow after `room` documents in one bin. A block never adds more than
 * room - (its fullest cell) documents before it looks at the cells again; those that are more than
 * 1 / RW_TUNE_LANES_FULL full are drained then. With even data that is a look every 4,000 documents
 * and no drain before the end. */
#include <atomic>
#include <cuda_runtime.h>

#include "gpu/hist_lanes_add.cuh"
#include "gpu/hist_lanes_plan.cuh"

enum { MOST_DEVICES = 64 };

/* ---- draining ---- */

/* Sums of a 64-bit value over the lanes that own the same features. */
static __device__ long long sum_copies(long long v, uint32_t lanes)
{
    for (uint32_t step = lanes; step < WARP; step *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

/* A cell's sums as 64-bit words: two, or one and zero; newton's weight. */
struct drained {
    long long first, second, weight;
};
template <int SUMS>
static __device__ struct drained drained_of(const struct plan &plan, uint32_t packed,
                                            uint32_t heavy)
{
    struct drained d = {0, 0, SUMS == ONLY_WEIGHTS ? (long long)packed : (long long)heavy};
    if (SUMS == ONLY_WEIGHTS)
        return d;
    const long long count = packed >> plan.shift;
    const long long lambda =
        (long long)(packed & ((1u << plan.shift) - 1)) - (long long)plan.largest * count;
    d.first = plan.wide ? count : lambda * 4294967296ll + count;
    d.second = plan.wide ? lambda : 0;
    return d;
}

template <int SUMS>
static __device__ void add_drained(const struct plan &plan, const struct drained &d,
                                   unsigned long long *d_out)
{
    if (d.first != 0)
        atomicAdd(d_out, (unsigned long long)d.first);
    if (d.second != 0)
        atomicAdd(d_out + 1, (unsigned long long)d.second);
    if ((SUMS == RW_HIST_NEWTON || SUMS == ONLY_WEIGHTS) && d.weight != 0)
        atomicAdd(d_out + plan.words - 1, (unsigned long long)d.weight);
}

/* Drains the cells whose count is over `full`; returns the largest count that is left, the same for
 * all threads. */
template <class S, int SUMS>
static __device__ uint32_t drain_full(const struct plan &plan, const struct plan_row &row,
                                      uint32_t full, unsigned long long *d_out)
{
    __shared__ uint32_t fullest;
    const uint32_t lane = threadIdx.x % WARP;
    uint32_t *cell = (uint32_t *)shared_cells;
    if (threadIdx.x == 0)
        fullest = 0;
    __syncthreads();
    uint32_t most = 0;
#pragma unroll 4
    for (uint32_t i = threadIdx.x / WARP; i < row.n_bins * S::CODES; i += THREADS / WARP) {
        uint32_t *c = cell + cell_at<S, SUMS>(i / S::CODES, i % S::CODES) + lane;
        const uint32_t packed = *c, count = SUMS == ONLY_WEIGHTS ? packed : packed >> plan.shift;
        if (count > full) {
            const uint32_t heavy = SUMS == RW_HIST_NEWTON ? c[weight_from_cell<S>()] : 0;
            add_drained<SUMS>(plan, drained_of<SUMS>(plan, packed, heavy),
                              d_out + ((uint64_t)i * row.lanes + lane % row.lanes) * plan.words);
            *c = 0;
            if (SUMS == RW_HIST_NEWTON)
                c[weight_from_cell<S>()] = 0;
        } else {
            most = max(most, count);
        }
    }
    most = __reduce_max_sync(0xffffffffu, most);
    if (lane == 0 && most)
        atomicMax(&fullest, most);
    __syncthreads();
    most = fullest;
    __syncthreads();
    return most;
}

/* Drains all cells, copies added up first. */
template <class S, int SUMS>
static __device__ void drain_all(const struct plan &plan, const struct plan_row &row,
                                 unsigned long long *d_out)
{
    const uint32_t lane = threadIdx.x % WARP;
    const uint32_t *cell = (const uint32_t *)shared_cells;
#pragma unroll 4
    for (uint32_t i = threadIdx.x / WARP; i < row.n_bins * S::CODES; i += THREADS / WARP) {
        const uint32_t *c = cell + cell_at<S, SUMS>(i / S::CODES, i % S::CODES) + lane;
        struct drained d =
            drained_of<SUMS>(plan, *c, SUMS == RW_HIST_NEWTON ? c[weight_from_cell<S>()] : 0);
        if (row.lanes < WARP) {
            d.first = sum_copies(d.first, row.lanes);
            d.second = sum_copies(d.second, row.lanes);
            d.weight = sum_copies(d.weight, row.lanes);
        }
        if (lane < row.lanes)
            add_drained<SUMS>(plan, d, d_out + ((uint64_t)i * row.lanes + lane) * plan.words);
    }
}

/* ---- the kernels ---- */

/* Waits for the launch before this one, where the two overlap. */
static __device__ __forceinline__ void wait_for_launch_before()
{
#if __CUDA_ARCH__ >= 900
    cudaGridDependencySynchronize();
#endif
}

static __device__ __forceinline__ void let_next_launch_begin()
{
#if __CUDA_ARCH__ >= 900
    cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__global__ void lanes_clear_kernel(unsigned long long *d_cell, uint64_t n_cells)
{
    let_next_launch_begin();
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n_cells;
         i += (uint64_t)gridDim.x * blockDim.x)
        d_cell[i] = 0;
}

/* Which node and which part of it is this block's? A thread looks at a node. Returns 0 if there is
 * none. */
static __device__ int find_chunk(const struct plan &plan, uint32_t docs_a_chunk, uint32_t *node,
                                 uint64_t *begin, uint64_t *end)
{
    __shared__ uint32_t warp_chunks[THREADS / WARP];
    __shared__ uint32_t found_node, found_chunk;
    __shared__ int found;
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t chunks = threadIdx.x < plan.n_nodes
                                ? (uint32_t)chunks_of_node(plan.d_node[threadIdx.x], docs_a_chunk)
                                : 0;
    uint32_t upto = chunks;
    for (int step = 1; step < WARP; step *= 2) {
        const uint32_t other = __shfl_up_sync(0xffffffffu, upto, step);
        upto += (int)lane >= step ? other : 0;
    }
    if (lane == WARP - 1)
        warp_chunks[warp] = upto;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    uint32_t from = upto - chunks;
    for (uint32_t w = 0; w < warp; w++)
        from += warp_chunks[w];
    if (blockIdx.x >= from && blockIdx.x - from < chunks) {
        found_node = threadIdx.x;
        found_chunk = blockIdx.x - from;
        found = 1;
    }
    __syncthreads();
    if (!found)
        return 0;
    *node = found_node;
    const struct rw_hist_node whole = plan.d_node[found_node];
    const uint64_t left = whole.n - (uint64_t)found_chunk * docs_a_chunk;
    *begin = whole.first + (uint64_t)found_chunk * docs_a_chunk;
    *end = *begin + (left < docs_a_chunk ? left : docs_a_chunk);
    return 1;
}

/* A block's documents. NARROW: tiles of under 32 lanes only. */
template <class S, int SUMS, bool NARROW>
static __device__ __forceinline__ void add_chunk(const struct plan &plan, const struct plan_row row,
                                                 uint64_t begin, uint64_t end,
                                                 unsigned long long *d_out)
{
    constexpr uint32_t STAGE = stage_bytes(SUMS == RW_HIST_NEWTON) / (THREADS / WARP);
    const uint32_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const struct stage<S, SUMS> stage = {
        (uint32_t *)((char *)shared_cells + plan.cell_bytes + warp * STAGE), lane
    };
    const uint32_t lane_at = (uint32_t)__cvta_generic_to_shared(shared_cells) + lane * 4;
    const uint32_t full = SUMS == ONLY_WEIGHTS ? 0 : plan.room / RW_TUNE_LANES_FULL;
    /* a cell is one of 32 / lanes copies, each with its share of any run of documents */
    const uint32_t copies = WARP / row.lanes;
    for (uint32_t fullest = 0;;) {
        const uint64_t most = (uint64_t)(plan.room - fullest - 1) * copies;
        const uint64_t until = end - begin < most ? end : begin + most;
        if constexpr (NARROW) {
            add_narrow<S, SUMS>(plan, row, lane_at, begin, until);
        } else if (row.lanes < WARP) {
            add_narrow<S, SUMS>(plan, row, lane_at, begin, until);
        } else if (plan.d_list) {
            struct listed<S, SUMS> turns = {
                plan, row, stage,
                    lane_words<S>(row, lane), lane_at, plan.one, begin + warp *S::UNROLL, until
            };
            turns.run();
        } else {
            add_range<S, SUMS>(plan, row, stage, lane_at, begin, until);
        }
        begin = until;
        __syncthreads();
        wait_for_launch_before();
        if (begin >= end)
            break;
        fullest = drain_full<S, SUMS>(plan, row, full, d_out);
    }
    drain_all<S, SUMS>(plan, row, d_out);
}

template <class S, int SUMS>
__global__ void __launch_bounds__(THREADS) lanes_kernel(const __grid_constant__ struct plan plan)
{
    const struct plan_row row = plan.row[blockIdx.y];
    uint32_t node;
    uint64_t begin, end;
    let_next_launch_begin();
    if (!find_chunk(plan, row.docs_a_chunk, &node, &begin, &end)) {
        wait_for_launch_before();
        return;
    }
    const bool nibbles = S::BITS == 8 && row.bits == 4;
    const size_t bytes =
        nibbles ? narrow_cell_bytes(SUMS == RW_HIST_NEWTON) : (size_t)plan.cell_bytes;
    for (uint32_t i = threadIdx.x; i < bytes / sizeof(uint4); i += THREADS)
        shared_cells[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    unsigned long long *d_out = plan.d_cell + (node * plan.node_cells + row.cells);
    if constexpr (S::BITS == 8) {
        if (nibbles) {
            add_chunk<shape<4, 8, 16, false>, SUMS, true>(plan, row, begin, end, d_out);
            return;
        }
    }
    add_chunk<S, SUMS, false>(plan, row, begin, end, d_out);
}

/* ---- into the shape of hist.h ---- */

enum : uint64_t { NO_CELL = UINT64_MAX };

/* What finish_kernel writes to. */
struct finished {
    uint32_t n_features, n_bins;
    struct rw_hist_pool result, parents;
    const uint32_t *d_parent; /* NULL: no siblings */
};

/* A cell of a parent, and where it is. */
struct parent_cell {
    uint64_t at;
    uint32_t count;
    long long lambda, weight;
};

static __device__ __forceinline__ struct parent_cell parent_of(const struct finished &out,
                                                               uint32_t parent, uint64_t cell)
{
    struct parent_cell p = {parent * ((uint64_t)out.n_features * out.n_bins) + cell, 0, 0, 0};
    p.count = out.parents.d_count[p.at];
    if (out.result.d_lambda_sum)
        p.lambda = out.parents.d_lambda_sum[p.at];
    if (out.result.d_weight_sum)
        p.weight = out.parents.d_weight_sum[p.at];
    return p;
}

static __device__ __forceinline__ void put_cell(const struct finished &out, uint32_t node,
                                                uint64_t cell, bool sibling,
                                                const struct parent_cell &p, uint32_t count,
                                                long long lambda, long long weight)
{
    const uint64_t at = node * ((uint64_t)out.n_features * out.n_bins) + cell;
    out.result.d_count[at] = count;
    if (sibling)
        out.parents.d_count[p.at] = p.count - count;
    if (out.result.d_lambda_sum) {
        out.result.d_lambda_sum[at] = lambda;
        if (sibling)
            out.parents.d_lambda_sum[p.at] = p.lambda - lambda;
    }
    if (out.result.d_weight_sum) {
        out.result.d_weight_sum[at] = weight;
        if (sibling)
            out.parents.d_weight_sum[p.at] = p.weight - weight;
    }
}

/* Siblings too: parents are read while the launch before ends. Block: 32 x 8 threads; grid x = 32
 * bins, y = row of the plan and code, z = node. A 32 x 32 square is turned in shared memory. */
__global__ void finish_kernel(const __grid_constant__ struct plan plan,
                              const __grid_constant__ struct finished out, uint32_t most_codes)
{
    __shared__ long long square[3][32][33];
    const struct plan_row &row = plan.row[blockIdx.y / most_codes];
    const uint32_t j = blockIdx.y % most_codes, lanes = row.lanes, node = blockIdx.z;
    const uint32_t first = blockIdx.x * 32;
    /* a narrow tile has no documents in the bins from row.n_bins on */
    const uint32_t n_bins = row.in_part ? row.n_bins : out.n_bins;
    const uint32_t parent = out.d_parent ? out.d_parent[node] : RW_HIST_NO_PARENT;
    const uint32_t my_bin = first + threadIdx.x;
    struct parent_cell before[4];
    const auto cell_of = [&](uint32_t slot) {
        const uint32_t feature = (row.first_code + j) * lanes + slot; /* of the tile */
        return slot < lanes && feature < row.n_features && my_bin < n_bins && j < row.n_codes
                   ? (uint64_t)(row.first_feature + feature) * out.n_bins + row.first_bin + my_bin
                   : NO_CELL;
    };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint64_t cell = cell_of(threadIdx.y + 8 * i);
        if (parent != RW_HIST_NO_PARENT && cell != NO_CELL)
            before[i] = parent_of(out, parent, cell);
    }
    wait_for_launch_before();
    if (first >= n_bins || j >= row.n_codes)
        return;
    const unsigned long long *d_in = plan.d_cell + (node * plan.node_cells + row.cells);
#pragma unroll
    for (uint32_t y = threadIdx.y; y < 32; y += 8) {
        const uint32_t bin = first + y;
        const bool counted = bin < row.n_bins && threadIdx.x < lanes;
        const uint64_t at =
            (((uint64_t)bin * row.n_codes + j) * lanes + threadIdx.x) * (uint32_t)plan.words;
        square[0][y][threadIdx.x] = counted ? (long long)d_in[at] : 0;
        if (plan.words > 1)
            square[1][y][threadIdx.x] = counted ? (long long)d_in[at + 1] : 0;
        if (plan.words > 2)
            square[2][y][threadIdx.x] = counted ? (long long)d_in[at + 2] : 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t slot = threadIdx.y + 8 * i;
        const uint64_t cell = cell_of(slot);
        if (cell == NO_CELL)
            continue;
        const long long value = square[0][threadIdx.x][slot];
        put_cell(out, node, cell, parent != RW_HIST_NO_PARENT, before[i], (uint32_t)value,
                 plan.wide ? square[1][threadIdx.x][slot] : value >> 32,
                 square[plan.words - 1][threadIdx.x][slot]);
    }
}

/* ---- launching ---- */

/* May a launch begin while the one before it ends? Asked once a device. */
static bool launches_overlap(int device)
{
    static std::atomic<int8_t> known[MOST_DEVICES]; /* 0: not yet; 1: no; 2: yes */
    int major = 0;
    if (known[device] == 0 &&
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) == cudaSuccess)
        known[device] = major >= 9 ? 2 : 1;
    return known[device] == 2;
}

static int current_device()
{
    int device = 0;
    return cudaGetDevice(&device) == cudaSuccess && device < MOST_DEVICES ? device : 0;
}

/* Launches a kernel that waits by itself for the one before it. */
template <class... TYPES, class... ARGUMENTS>
static cudaError_t launch_after(void (*kernel)(TYPES...), dim3 grid, dim3 block, size_t shared,
                                cudaStream_t stream, ARGUMENTS... arguments)
{
    cudaLaunchAttribute overlap = {};
    overlap.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    overlap.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = grid;
    config.blockDim = block;
    config.dynamicSmemBytes = shared;
    config.stream = stream;
    config.attrs = &overlap;
    config.numAttrs = launches_overlap(current_device()) ? 1 : 0;
    return cudaLaunchKernelEx(&config, kernel, arguments...);
}

template <class S, int SUMS>
static cudaError_t launch(const struct plan &plan, dim3 grid, cudaStream_t stream)
{
    static std::atomic<uint32_t> allowed[MOST_DEVICES]; /* bytes that this kernel may take */
    const uint32_t shared = plan.cell_bytes + (uint32_t)stage_bytes(SUMS == RW_HIST_NEWTON);
    std::atomic<uint32_t> &bytes = allowed[current_device()];
    if (bytes < shared) {
        const cudaError_t error = cudaFuncSetAttribute(
            lanes_kernel<S, SUMS>, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
        if (error != cudaSuccess)
            return error;
        bytes = shared;
    }
    return launch_after(lanes_kernel<S, SUMS>, grid, THREADS, shared, stream, plan);
}

/* Newton in one launch, or its weights in a second one. */
template <class S>
static cudaError_t launch_sums(const struct rw_hist_call *call, const struct layout &layout,
                               struct plan &plan, dim3 grid, cudaStream_t stream)
{
    if (call->sums == RW_HIST_NEWTON && !layout.apart)
        return launch<S, RW_HIST_NEWTON>(plan, grid, stream);
    const cudaError_t error = launch<S, RW_HIST_MART>(plan, grid, stream);
    if constexpr (S::BITS == 16) {
        if (layout.apart && error == cudaSuccess) {
            const uint32_t room = plan.room;
            plan.room = UINT32_MAX / (uint32_t)call->largest;
            const cudaError_t weights = launch<S, ONLY_WEIGHTS>(plan, grid, stream);
            plan.room = room;
            return weights;
        }
    }
    return error;
}

static cudaError_t launch_bits(const struct rw_hist_call *call, const struct layout &layout,
                               struct plan &plan, dim3 grid, cudaStream_t stream)
{
    if (call->matrix->bits == 4)
        return launch_sums<shape<4, 8, 16, false>>(call, layout, plan, grid, stream);
    if (call->matrix->bits == 16 && layout.n_bins < call->matrix->n_bins)
        return launch_sums<shape<16, 1, 0, true>>(call, layout, plan, grid, stream);
    if (call->matrix->bits == 16)
        return launch_sums<shape<16, 1, 0, false>>(call, layout, plan, grid, stream);
    switch (layout.n_codes * 1000 + (int)layout.room_bins) {
    case 4064:
        return launch_sums<shape<8, 4, 64, false>>(call, layout, plan, grid, stream);
    case 4128:
        return launch_sums<shape<8, 4, 128, false>>(call, layout, plan, grid, stream);
    case 4256:
        return launch_sums<shape<8, 4, 256, false>>(call, layout, plan, grid, stream);
    case 2128:
        return launch_sums<shape<8, 2, 128, false>>(call, layout, plan, grid, stream);
    case 2256:
        return launch_sums<shape<8, 2, 256, false>>(call, layout, plan, grid, stream);
    case 1256:
        return launch_sums<shape<8, 1, 256, false>>(call, layout, plan, grid, stream);
    default: /* shared memory of under 64 KB */
        return cudaErrorInvalidConfiguration;
    }
}

/* What all launches of a call share. */
static void init_plan(const struct rw_hist_call *call, const struct layout &layout,
                      struct plan *plan)
{
    const int counts = call->sums == RW_HIST_COUNT;
    plan->d_list = call->d_list;
    plan->d_node = call->d_node;
    plan->d_lambda = counts ? NULL : call->d_lambda;
    plan->d_weight = call->sums == RW_HIST_NEWTON ? call->d_weight : NULL;
    plan->by_place = call->by_place && call->d_list;
    plan->d_cell = (unsigned long long *)call->d_scratch;
    plan->node_cells = node_words(call);
    plan->n_nodes = call->n_nodes;
    plan->wide = is_wide(call);
    plan->words = words_of(call);
    plan->cell_bytes = (uint32_t)layout.cell_bytes;
    /* b bits hold lambda + largest: n of them and a count of n share 32 bits up to 2^((32 - b) / 2)
     */
    plan->largest = counts ? 0 : call->largest;
    int b = 0;
    while ((2 * plan->largest) >> b)
        b++;
    plan->shift = (WARP + b + 1) / 2;
    plan->room = (1u << (WARP - plan->shift)) - 1;
    plan->one = (1u << plan->shift) + (uint32_t)plan->largest;
}

static struct finished finished_of(const struct rw_hist_call *call)
{
    struct finished out = {call->matrix->n_features,
                           call->matrix->n_bins,
                           {call->d_count, NULL, NULL},
                           call->parents,
                           call->d_parent};
    if (call->sums != RW_HIST_COUNT)
        out.result.d_lambda_sum = call->d_lambda_sum;
    if (call->sums == RW_HIST_NEWTON)
        out.result.d_weight_sum = call->d_weight_sum;
    return out;
}

static int lanes_run(const struct rw_hist_call *call, void *stream_of_call)
{
    cudaStream_t stream = (cudaStream_t)stream_of_call;
    const struct layout layout = layout_of(call);
    const struct finished out = finished_of(call);
    int most_codes = 1;
    uint32_t most_bins = 1;
    static thread_local struct plan_row rows[RW_HIST_MAX_TILES * 16];
    const uint32_t n_rows = make_rows(call, &layout, rows);
    struct plan plan = {};
    init_plan(call, layout, &plan);
    if (plan.n_nodes == 0 || n_rows == 0)
        return cudaSuccess;
    const uint64_t n_cells = plan.node_cells * plan.n_nodes, blocks = (n_cells + 1023) / 1024;
    lanes_clear_kernel<<<(unsigned)(blocks > 4096 ? 4096 : blocks), 256, 0, stream>>>(plan.d_cell,
                                                                                      n_cells);
    cudaError_t error = cudaGetLastError();
    for (uint32_t first = 0; first < n_rows && error == cudaSuccess; first += MOST_ROWS) {
        const uint32_t n = n_rows - first < MOST_ROWS ? n_rows - first : MOST_ROWS;
        for (uint32_t r = 0; r < n; r++) {
            const struct plan_row *row = &rows[first + r];
            const uint32_t n_bins = row->in_part ? row->n_bins : out.n_bins;
            plan.row[r] = *row;
            most_codes = row->n_codes > most_codes ? row->n_codes : most_codes;
            most_bins = n_bins > most_bins ? n_bins : most_bins;
        }
        const uint32_t chunks = set_chunks(call, plan.row, n);
        if (chunks > 0)
            error = launch_bits(call, layout, plan, dim3(chunks, n), stream);
        if (error != cudaSuccess)
            break;
        const dim3 grid((most_bins + 31) / 32, n * (unsigned)most_codes, call->n_nodes);
        error = launch_after(finish_kernel, grid, dim3(32, 8), 0, stream, plan, out,
                             (uint32_t)most_codes);
    }
    return error;
}

extern "C" const struct rw_hist_method rw_hist_lanes = {
    /* name */ "lanes",
    /* origin */ "this project: feature-interleaved cells, exact packed integers",
    /* bits */ 4 | 8 | 16,
    /* most_bins */ RW_HIST_MOST_BINS,
    /* sums */ 1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON,
    /* lists, many_nodes */ 1,
    1,
    /* zero_skip */ 0,
    /* reads_tiles */ 1,
    lanes_scratch,
    lanes_run,
    /* by_place */ 1,
    /* subtracts */ 1,
};
