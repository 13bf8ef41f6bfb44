/* The method `lanes`, whose speed does not depend on the data. A lane of a warp owns the codes of
 * its word, and its cells are in its own bank of shared memory. So two lanes of a warp never
 * collide in a bank or cell. Warps collide rarely, in 32-bit integer atomics; the hardware does one
 * warp's per clock. Instructions are then the limit, so the address of a cell takes only one.
 *
 * Shapes: a tile's words are [n_docs][lanes]. Cells in shared memory have the order of struct
 * cells (hist_lanes_add.cuh). They are packed: the count in the high bits, the sum of lambda +
 * largest in the low ones. To drain a cell is to add it to its cell in scratch. The cells in
 * scratch are called drained cells, and are [node][plan row][bin][code][lane], in planes as struct
 * plan describes. In the end they are converted to the layout of hist.h.
 *
 * Decomposition: a block has a row of the plan (a tile, some of the codes of its words, some of its
 * bins) and a chunk of a node's documents. Rows of narrow tiles (fewer than 32 lanes) read a few
 * bytes of scattered documents, so their time is hard to predict. They may be carried: the blocks
 * of the first row add them, too. In a tile of 32 lanes, a warp takes UNROLL documents in a turn.
 * Their numbers, lambdas and hessians pass through shared memory. For lists and some ranges (struct
 * listed), a warp starts loads ahead of the turn that it adds: words one turn, lambdas and hessians
 * two, document numbers three.
 *
 * A packed cell may overflow after `room` documents in one bin. A block adds at most room - (its
 * fullest cell) documents before it checks the cells again. It then drains the cells that are more
 * than 1 / RW_TUNE_LANES_FULL full. If lambdas have 8 bits and the data is evenly distributed, it
 * checks every 4,000 documents and drains only at the end. */
#include "gpu/hist/hist_lanes_add.cuh"
#include "gpu/hist/hist_lanes_far.cuh"

/* ---- the kernels ---- */

__global__ void lanes_clear_kernel(unsigned long long *d_cell, uint64_t n_cells)
{
    /* The order matters: the next launch waits only for this one, and reads memory that earlier
     * launches wrote. */
    wait_for_launch_before();
    let_next_launch_begin();
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n_cells;
         i += (uint64_t)gridDim.x * blockDim.x)
        d_cell[i] = 0;
}

/* Returns the row of the plan that a block works on: the last whose first block is not above it.
 * There is always one, so this saves a step of the search in base/bits.h. */
RW_DEVICE uint32_t row_of_block(const struct plan &plan)
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

/* Returns the number of documents per chunk of row r: the planned number or, if nodes turn out to
 * be larger than estimated, the first larger one of a series with which the row's blocks have all
 * chunks. All blocks of a row find the same number. `node` is as in find_chunk. */
static __device__ uint32_t chunk_docs(const struct plan &plan, uint32_t r,
                                      const struct rw_hist_node &node)
{
    uint32_t docs = plan.row[r].docs_per_chunk;
    if (!plan.is_estimated)
        return docs;
    __shared__ uint32_t n_chunks;
    const uint32_t end = r + 1 < plan.n_rows ? plan.row[r + 1].first_block : plan.n_blocks;
    for (;; docs += docs / 16 + 1) {
        __syncthreads();
        if (threadIdx.x == 0)
            n_chunks = 0;
        __syncthreads();
        if (node.n > 0)
            atomicAdd(&n_chunks, (uint32_t)chunks_of_node(node, docs));
        __syncthreads();
        if (n_chunks <= end - plan.row[r].first_block)
            return docs;
    }
}

/* Finds the chunk of the block, of `docs` documents. In thread i, `node` is node i or has no
 * documents. After the call, all threads see the cells that the block wrote before. */
static __device__ struct chunk find_chunk(const struct plan_row &row, uint32_t docs,
                                          struct rw_hist_node node)
{
    __shared__ uint32_t warp_chunks[WARPS];
    __shared__ struct chunk found;
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t block = blockIdx.x - row.first_block;
    const uint32_t chunks = (uint32_t)chunks_of_node(node, docs);
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
        const uint64_t done = (uint64_t)(block - from) * docs;
        found.node = threadIdx.x;
        found.begin = (uint32_t)(node.first + done);
        found.n = (uint32_t)(node.n - done < docs ? node.n - done : docs);
    }
    __syncthreads();
    return found;
}

/* Adds a block's documents, and checks the cells often enough that none overflows. add: a struct
 * ranged, listed or narrow (hist_lanes_add.cuh). */
template <class S, int SUMS, class ADD>
static RW_DEVICE void add_all(const struct plan &plan, const struct plan_row &row,
                              const struct chunk &chunk, ADD &add)
{
    __shared__ uint32_t fullest_of[2];
    /* In a narrow tile a cell has 32 / lanes copies, which share the documents equally. */
    const uint32_t copies = WARP / row.lanes;
    uint32_t fullest = 0, from = 0;
    if (threadIdx.x == 0)
        fullest_of[0] = 0;
    for (uint32_t look = 0;; look++) {
        uint32_t room = plan.room - fullest - 1;
        if (cells<S, SUMS>::HALVES && row.lanes < WARP)
            room = min(room, HALVES_WARP * WARPS / (uint32_t)plan.largest);
        const uint32_t until = add.pause(from, (uint64_t)room * copies);
        const int more = __syncthreads_or(!add.add(from, until));
        from = until;
        wait_for_launch_before();
        if (!more)
            break;
        fullest = drain_full<S, SUMS>(plan, row, chunk.node, &fullest_of[look % 2],
                                      &fullest_of[(look + 1) % 2]);
    }
    if (plan.wide)
        drain_cells<S, SUMS, true>(plan, row, chunk.node);
    else
        drain_cells<S, SUMS, false>(plan, row, chunk.node);
}

template <class S, int SUMS, bool LIST>
RW_DEVICE void add_ahead(const struct plan &plan, const struct plan_row &row,
                         const struct chunk &chunk, const stage<S, SUMS> &stage, const char *first,
                         uint32_t lane_at)
{
    listed<S, SUMS, LIST> add = {plan, row, stage, first, lane_at, chunk.begin, chunk.n};
    add.heavy = add.heavy_ahead = 0;
    /* A check leaves cells of at most room / FULL, and the next check comes when a cell may be
     * full. */
    add.steady = plan.room - plan.room / RW_TUNE_LANES_FULL - 1 >= 2 * add.STEP;
    add_all<S, SUMS>(plan, row, chunk, add);
}

/* Adds a chunk, in the way that suits its tile. NARROW: compiled for narrow tiles only. */
template <class S, int SUMS, bool NARROW>
RW_DEVICE void add_chunk(const struct plan &plan, const struct plan_row &row,
                         const struct chunk &chunk)
{
    constexpr uint32_t STAGE = stage_bytes(SUMS == RW_HIST_NEWTON) / WARPS;
    const uint32_t warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const stage<S, SUMS> stage = {
        (uint32_t *)((char *)shared_cells + plan.cell_bytes + warp * STAGE), lane};
    const uint32_t lane_at = (uint32_t)__cvta_generic_to_shared(shared_cells) + lane * 4;
    if (NARROW || row.lanes < WARP) {
        narrow<S, SUMS> add = {plan, row, lane_at, chunk.begin, chunk.n};
        add_all<S, SUMS>(plan, row, chunk, add);
        return;
    }
    if constexpr (!NARROW) {
        const char *first = lane_words<S>(row, lane);
        if (plan.d_list)
            add_ahead<S, SUMS, true>(plan, row, chunk, stage, first, lane_at);
        else if constexpr (S::BITS == 16 || cells<S, SUMS>::HALVES)
            add_ahead<S, SUMS, false>(plan, row, chunk, stage, first, lane_at);
        else {
            ranged<S, SUMS> add = {plan, row, stage, first, lane_at, chunk.begin, chunk.n};
            add_all<S, SUMS>(plan, row, chunk, add);
        }
    }
}

template <class S, int SUMS>
RW_DEVICE void clear_cells(const struct plan &plan, const struct plan_row &row)
{
    const size_t bytes = S::BITS == 8 && row.bits == 4
                             ? cell_bytes_of(SUMS == RW_HIST_NEWTON, code_words(4), 16)
                             : (size_t)plan.cell_bytes;
    for (uint32_t i = threadIdx.x; i < bytes / sizeof(uint4); i += THREADS)
        shared_cells[i] = make_uint4(0, 0, 0, 0);
}

/* Adds a block's chunk to the cells of its row of the plan and drains them. The blocks of the first
 * row then do the same for carried rows. */
template <class S, int SUMS>
__global__ void __launch_bounds__(THREADS) lanes_kernel(const __grid_constant__ struct plan plan)
{
    const uint32_t first = row_of_block(plan);
    struct rw_hist_node node = {0, 0};
    clear_cells<S, SUMS>(plan, plan.row[first]);
    if (plan.clean) /* the launch before may have written all the memory that is read below */
        wait_for_launch_before();
    /* not earlier, because the next launch reads parents that the launch before this one wrote */
    let_next_launch_begin();
    if (threadIdx.x < plan.n_nodes)
        node = plan.d_node[threadIdx.x];
    const struct chunk chunk = find_chunk(plan.row[first], chunk_docs(plan, first, node), node);
    for (uint32_t r = first;;) {
        const struct plan_row &row = plan.row[r];
        if (S::BITS == 8 && row.bits == 4) {
            if constexpr (S::BITS == 8)
                add_chunk<shape<4, 8, 16, false>, SUMS, true>(plan, row, chunk);
        } else {
            add_chunk<S, SUMS, false>(plan, row, chunk);
        }
        if (!cells<S, SUMS>::HALVES) /* only plans in halves carry rows */
            break;
        r = r == 0 ? plan.n_rows : r + 1;
        if (first != 0 || r >= plan.n_rows + plan.n_carried)
            break;
        __syncthreads(); /* the cells are now those of the next row */
        clear_cells<S, SUMS>(plan, plan.row[r]);
        __syncthreads();
    }
}

/* ---- the end: converts drained cells to the layout of hist.h, and subtracts siblings ---- */

enum : uint64_t { NO_CELL = UINT64_MAX };

/* The outputs of finish_kernel, their layout, and the nodes' parents. */
struct finished {
    uint32_t n_bins;
    const uint32_t *d_row; /* as in struct rw_hist_matrix */
    uint64_t n_cells;      /* cells of a histogram */
    struct rw_hist_pool result, parents;
    const uint32_t *d_parent; /* [n_nodes]; NULL: no siblings */
    const uint8_t *d_needed;  /* as in struct rw_hist_call */
};

struct parent_cell {
    uint64_t at;
    uint32_t count;
    long long lambda, hess;
};

/* WEIGHTS: the call has hessians. SUM: the type of sums, int32_t or int64_t. */
template <bool WEIGHTS, class SUM>
RW_DEVICE struct parent_cell parent_of(const struct finished &out, uint32_t parent, uint64_t cell)
{
    struct parent_cell p = {parent * out.n_cells + cell, 0, 0, 0};
    p.count = out.parents.d_count[p.at];
    if (out.result.d_lambda_sum)
        p.lambda = ((const SUM *)out.parents.d_lambda_sum)[p.at];
    if (WEIGHTS)
        p.hess = ((const SUM *)out.parents.d_hess_sum)[p.at];
    return p;
}

/* Writes a cell of the result. If `sibling`, also subtracts it from the parent's cell, whose old
 * contents are p. */
template <bool WEIGHTS, class SUM>
RW_DEVICE void put_cell(const struct finished &out, uint32_t node, uint64_t cell, bool sibling,
                        const struct parent_cell &p, uint32_t count, long long lambda,
                        long long hess)
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

/* Parents are loaded while the launch before ends. If plan.clean, clears the drained cells. In each
 * plane, the drained cells of a row are [bin][column]. A column is a (code, lane), in the order of
 * the tile's features. A block of 32 x 8 threads has 32 bins and 32 columns, which it transposes in
 * shared memory. Grid x is the bins, y is the row of the plan and the columns, z is the node.
 * most_groups: the largest number of groups of 32 columns of a row. */
template <bool WEIGHTS, class SUM>
__global__ void __launch_bounds__(256, RW_BLOCKS_HELD(256, WEIGHTS ? 4 : 5))
    finish_kernel(const __grid_constant__ struct plan plan,
                  const __grid_constant__ struct finished out, uint32_t most_groups)
{
    long long(*square)[33] = (long long(*)[33])shared_cells; /* [n_planes * 32][33] */
    const struct plan_row &row = plan.row[blockIdx.y / most_groups];
    const uint32_t columns = row.n_codes * row.lanes, node = blockIdx.z;
    const uint32_t first = blockIdx.x * 32, first_column = blockIdx.y % most_groups * 32;
    /* index in the tile */
    const uint32_t first_feature = row.first_code * row.lanes + first_column;
    /* cells from row.n_bins on, of a tile of 4 bits in a matrix of 8, are written, too */
    const uint32_t n_bins = row.in_part ? row.n_bins : out.n_bins;
    const uint32_t parent = out.d_parent ? out.d_parent[node] : RW_HIST_NO_PARENT;
    const uint32_t my_bin = first + threadIdx.x;
    struct parent_cell before[4];
    int any = 0;
    uint32_t needed_cells = 0; /* bit i: cell i is needed */
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
    const auto is_needed = [&](uint32_t k) -> bool {
        return !out.d_needed || __ldg(out.d_needed + row.first_feature + first_feature + k);
    };
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint64_t cell = cell_of(threadIdx.y + 8 * i);
        any |= cell != NO_CELL;
        if (cell == NO_CELL || !is_needed(threadIdx.y + 8 * i))
            continue;
        needed_cells |= 1u << i;
        if (parent != RW_HIST_NO_PARENT)
            before[i] = parent_of<WEIGHTS, SUM>(out, parent, cell);
    }
    wait_for_launch_before();
    let_next_launch_begin();
    if (first >= n_bins || first_column >= columns)
        return;
    /* Skip squares without any cell of a feature, except from bin 0 on, where cells of padding may
     * have to be cleared. */
    if (!__syncthreads_or(any || first == 0))
        return;
    const uint64_t from = drained_to(plan, row, node), plane = plane_cells(plan);
    const bool wide = sizeof(SUM) == sizeof(int64_t) && plan.wide; /* narrow sums never need it */
    const bool half_plane = WEIGHTS && !wide && plan.hess_at == 0;
    const int whole_planes = wide ? WEIGHTS ? 3 : 2 : 1;
    const bool is_read = first_column + threadIdx.x < columns &&
                         first_feature + threadIdx.x < row.n_features && is_needed(threadIdx.x);
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
    for (uint32_t y = threadIdx.y; y < 32 && plan.clean; y += 8) { /* also the cells of padding */
        const uint32_t bin = first + y, column = first_column + threadIdx.x;
        if (is_read && square[y][threadIdx.x] == 0)
            continue; /* no document was counted, so the other planes are 0, too */
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
        if (!(needed_cells >> i & 1))
            continue;
        const long long value = square[threadIdx.x][k];
        /* subtracting 0 changes nothing */
        const bool is_sibling = parent != RW_HIST_NO_PARENT && value != 0;
        const uint32_t count = (uint32_t)value & (WEIGHTS ? plan.count_mask : UINT32_MAX);
        const int lambda_at = WEIGHTS ? plan.lambda_at : 32;
        const long long bias = (long long)((unsigned long long)(uint32_t)plan.largest * count);
        const long long lambda =
            wide ? square[32 + threadIdx.x][k] - bias
                 : (long long)(value - ((unsigned long long)bias << lambda_at)) >> lambda_at;
        long long hess = 0;
        if (WEIGHTS)
            hess = plan.hess_at ? value >> plan.hess_at & plan.hess_mask
                                : square[(wide ? 64 : 32) + threadIdx.x][k];
        put_cell<WEIGHTS, SUM>(out, node, cell, is_sibling, before[i], count, lambda, hess);
    }
}

static struct finished finished_of(const struct rw_hist_call *call)
{
    const struct rw_hist_matrix *m = call->matrix;
    const struct rw_hist_pool result = {call->d_count,
                                        call->sums != RW_HIST_COUNT ? call->d_lambda_sum : NULL,
                                        call->sums == RW_HIST_NEWTON ? call->d_hess_sum : NULL};
    return {m->n_bins,     m->d_row,       rw_hist_matrix_cells(m), result,
            call->parents, call->d_parent, call->d_needed};
}

/* ---- launching ---- */

/* Launches a kernel, which may overlap with earlier work in the stream if `overlaps`. */
template <class... TYPES, class... ARGUMENTS>
static cudaError_t launch_if(bool overlaps, void (*kernel)(TYPES...), dim3 grid, dim3 block,
                             size_t shared, cudaStream_t stream, ARGUMENTS... arguments)
{
    if (overlaps)
        return launch_after(kernel, grid, block, shared, stream, arguments...);
    kernel<<<grid, block, shared, stream>>>(arguments...);
    return cudaGetLastError();
}

/* Launches the first kernel of a call. It does not overlap while a graph is captured. */
template <class... TYPES, class... ARGUMENTS>
static cudaError_t launch_first(void (*kernel)(TYPES...), unsigned grid, unsigned block,
                                size_t shared, cudaStream_t stream, ARGUMENTS... arguments)
{
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    TRY_CUDA(cudaStreamIsCapturing(stream, &capturing));
    return launch_if(capturing == cudaStreamCaptureStatusNone, kernel, grid, block, shared, stream,
                     arguments...);
}

template <class S, int SUMS> static cudaError_t launch(const struct plan &plan, cudaStream_t stream)
{
    static std::atomic<uint32_t> allowed[MOST_DEVICES]; /* shared memory that this kernel may use */
    const uint32_t shared = plan.cell_bytes + (uint32_t)stage_bytes(SUMS == RW_HIST_NEWTON);
    std::atomic<uint32_t> &bytes = allowed[current_device()];
    if (bytes < shared) {
        TRY_CUDA(cudaFuncSetAttribute(lanes_kernel<S, SUMS>,
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared));
        bytes = shared;
    }
    return plan.clean
               ? launch_first(lanes_kernel<S, SUMS>, plan.n_blocks, THREADS, shared, stream, plan)
               : launch_after(lanes_kernel<S, SUMS>, plan.n_blocks, THREADS, shared, stream, plan);
}

/* A call, or some of its documents, on the host. */
struct work {
    const struct rw_hist_call *call;
    const struct layout layout;
    cudaStream_t stream;
};

/* Launches a plan. If cells with lambdas and hessians do not fit shared memory together, newton
 * takes two launches. */
template <class S> static cudaError_t launch_sums(const struct work &work, struct plan &plan)
{
    if constexpr (S::CODES == 1) {
        if (work.layout.takes_two) {
            const cudaError_t lambdas = launch<S, ONLY_LAMBDAS>(plan, work.stream);
            const uint32_t room = plan.room;
            plan.room = UINT32_MAX / (uint32_t)work.call->largest;
            const cudaError_t hessians = launch<S, ONLY_HESSIANS>(plan, work.stream);
            plan.room = room;
            return lambdas == cudaSuccess ? hessians : lambdas;
        }
    }
    return work.call->sums == RW_HIST_NEWTON ? launch<S, RW_HIST_NEWTON>(plan, work.stream)
                                             : launch<S, RW_HIST_MART>(plan, work.stream);
}

/* Divides the documents into chunks, and launches the plan if there are any. */
static cudaError_t add_documents(const struct work &work, struct plan &plan)
{
    const struct layout &layout = work.layout;
    const struct rw_hist_matrix *matrix = work.call->matrix;
    plan.n_blocks = set_chunks(work.call, &plan);
    if (plan.n_blocks == 0)
        return cudaSuccess;
    if (matrix->bits == 4)
        return launch_sums<shape<4, 8, 16, false>>(work, plan);
    if (matrix->bits == 16)
        return layout.n_bins < matrix->n_bins ? launch_sums<shape<16, 1, 0, true>>(work, plan)
                                              : launch_sums<shape<16, 1, 0, false>>(work, plan);
    switch (layout.n_codes * 1000 + (int)layout.room_bins) {
    case 4064:
        return launch_sums<shape<8, 4, 64, false>>(work, plan);
    case 4128:
        return launch_sums<shape<8, 4, 128, false>>(work, plan);
    case 4256:
        return launch_sums<shape<8, 4, 256, false>>(work, plan);
    case 2128:
        return launch_sums<shape<8, 2, 128, false>>(work, plan);
    case 2256:
        return launch_sums<shape<8, 2, 256, false>>(work, plan);
    case 1256:
        return launch_sums<shape<8, 1, 256, false>>(work, plan);
    default: /* a block has too little shared memory even for the lambdas of one code */
        return cudaErrorInvalidConfiguration;
    }
}

/* Sets the addresses and the encoding of the documents' lambdas and hessians. */
static void set_numbers(const struct rw_hist_call *call, struct plan *plan)
{
    const int newton = call->sums == RW_HIST_NEWTON;
    const enum rw_moved moved = rw_moved_of(newton, call->largest);
    const char *d_moved = (const char *)call->d_moved;
    plan->by_position = call->by_position && call->d_list;
    plan->number_bytes = plan->by_position ? (uint32_t)rw_moved_bytes(moved) : sizeof(int32_t);
    plan->d_lambda = plan->by_position ? d_moved : (const char *)call->d_lambda;
    if (newton && !plan->by_position)
        plan->d_hess = (const char *)call->d_hess;
    else if (moved == RW_MOVED_HALVES)
        plan->d_hess = d_moved + sizeof(uint16_t);
    plan->lambda_up = newton && !plan->d_hess ? 24 : 16;
    plan->hess_down = newton && !plan->d_hess ? 8 : 16;
}

/* Sets the fields of the plan that all launches of a call share. */
static void init_plan(const struct rw_hist_call *call, struct plan *plan)
{
    const int counts = call->sums == RW_HIST_COUNT;
    plan->d_list = call->d_list;
    plan->d_node = call->d_node;
    if (!counts)
        set_numbers(call, plan);
    plan->d_cell = (unsigned long long *)call->d_scratch;
    plan->node_cells = node_cells(call);
    plan->n_nodes = call->n_nodes;
    plan->is_estimated = call->most_docs > 0;
    plan->clean = call->clean_scratch;
    set_planes(call, plan);
    /* Let lambda + largest have b bits. The sum of n such numbers and a count of n share 32 bits if
     * n is below 2^((32 - b) / 2). */
    plan->largest = counts ? 0 : call->largest;
    plan->shift = (WARP + (int)rw_hist_bits_of(2 * (uint64_t)plan->largest) + 1) / 2;
    plan->room = (1u << (WARP - plan->shift)) - 1;
    plan->one = (1u << plan->shift) + (uint32_t)plan->largest;
}

/* ---- codes in host memory ---- */

struct far_state {
    struct lanes_order order; /* of a call's documents */
    uint64_t n_here;          /* the tiles' for which it was made; UINT64_MAX: no order yet */
    int turn;                 /* the number of pieces so far */
};

/* Adds the documents whose rows are on the device. plan: the rows of one tile. */
static cudaError_t add_here(const struct work &work, const struct lanes_order &order,
                            struct plan plan)
{
    struct rw_hist_call part = *work.call;
    part.node = order.here;
    part.d_list = plan.d_list = order.d_doc;
    plan.d_node = order.d_here;
    return add_documents({&part, work.layout, work.stream}, plan);
}

/* Adds the documents whose rows of one tile are in host memory. plan: the rows of that tile. The
 * next piece is gathered while one is added. */
static cudaError_t add_far(const struct work &work, struct far_state *state, struct plan plan)
{
    static thread_local struct rw_hist_node node[RW_HIST_MAX_NODES];
    const struct lanes_order &order = state->order;
    const struct rw_hist_far *far = work.call->far;
    cudaStream_t gathering = (cudaStream_t)far->stream;
    const uint32_t tile = plan.row[0].tile;
    struct rw_hist_call part = *work.call;
    part.d_list = plan.d_list = NULL;
    part.node = node;
    for (uint32_t first = order.n_here, n; first < order.n_docs; first += n, state->turn++) {
        const int which = state->turn % 2;
        cudaEvent_t gathered = (cudaEvent_t)far->event[RW_FAR_GATHERED + which];
        cudaEvent_t added = (cudaEvent_t)far->event[RW_FAR_ADDED + which];
        struct lanes_piece piece;
        if (state->turn >= 2)
            TRY_CUDA(cudaStreamWaitEvent(gathering, added, 0));
        TRY_CUDA(rw_lanes_gather(work.call, order, tile, first, which, &piece, node));
        n = piece.n;
        TRY_CUDA(cudaEventRecord(gathered, gathering));
        TRY_CUDA(cudaStreamWaitEvent(work.stream, gathered, 0));
        plan.d_node = piece.d_node;
        plan.d_lambda = plan.d_lambda ? (const char *)piece.d_lambda : NULL;
        plan.d_hess = plan.d_hess ? (const char *)piece.d_hess : NULL;
        for (uint32_t r = 0; r < plan.n_rows; r++)
            plan.row[r].d_word = piece.d_row;
        TRY_CUDA(add_documents({&part, work.layout, work.stream}, plan));
        TRY_CUDA(cudaEventRecord(added, work.stream));
    }
    *far->bytes +=
        (uint64_t)(order.n_docs - order.n_here) * rw_hist_tile_doc_bytes(work.call->matrix, tile);
    return cudaSuccess;
}

/* Adds all rows of a plan: those of tiles whose codes are all on the device together, then each
 * tile with codes in host memory. */
static cudaError_t add_rows(const struct work &work, struct plan &plan, struct far_state *state)
{
    const struct rw_hist_tile *tile = work.call->matrix->tile;
    if (!work.call->far) {
        if (work.layout.halves)
            carry_rows(&plan);
        return add_documents(work, plan);
    }
    struct plan near = plan;
    near.n_rows = 0;
    for (uint32_t r = 0; r < plan.n_rows; r++) {
        if (!tile[plan.row[r].tile].far_word)
            near.row[near.n_rows++] = plan.row[r];
    }
    if (near.n_rows > 0)
        TRY_CUDA(add_documents(work, near));
    for (uint32_t r = 0, end; r < plan.n_rows; r = end) {
        const struct rw_hist_tile *of = &tile[plan.row[r].tile];
        struct plan far = plan;
        far.n_rows = 0;
        far.clean = 1; /* its launches wait for all earlier work */
        for (end = r; end < plan.n_rows && plan.row[end].tile == plan.row[r].tile; end++)
            far.row[far.n_rows++] = plan.row[end];
        if (!of->far_word)
            continue;
        if (state->n_here != of->n_here)
            TRY_CUDA(rw_lanes_order(work.call, of->n_here, work.stream, &state->order));
        state->n_here = of->n_here;
        if (state->order.n_here > 0)
            TRY_CUDA(add_here(work, state->order, far));
        TRY_CUDA(add_far(work, state, far));
    }
    return cudaSuccess;
}

static int lanes_run(const struct rw_hist_call *call, void *stream_of_call)
{
    const struct work work = {call, layout_of(call), (cudaStream_t)stream_of_call};
    cudaStream_t stream = work.stream;
    const struct finished out = finished_of(call);
    static void (*const finish[2][2])(const struct plan, const struct finished, uint32_t) = {
        {finish_kernel<false, int64_t>, finish_kernel<false, int32_t>},
        {finish_kernel<true, int64_t>, finish_kernel<true, int32_t>}};
    uint32_t most_bins = 1, most_groups = 1; /* as for finish_kernel, for all rows so far */
    static thread_local struct plan_row rows[RW_HIST_MAX_TILES * 16];
    const uint32_t n_rows = make_rows(call, &work.layout, rows);
    struct plan plan = {};
    init_plan(call, &plan);
    plan.cell_bytes = (uint32_t)work.layout.cell_bytes;
    if (plan.n_nodes == 0 || n_rows == 0)
        return cudaSuccess;
    struct far_state far = {{}, UINT64_MAX, 0};
    if (!plan.clean) {
        const uint64_t n_cells = drained_bytes(plan) / sizeof(*plan.d_cell);
        TRY_CUDA(launch_first(lanes_clear_kernel, blocks_up_to(4096, n_cells, 1024), 256, 0, stream,
                              plan.d_cell, n_cells));
    }
    for (uint32_t first = 0, n; first < n_rows; first += n) {
        n = n_rows - first < MOST_ROWS ? n_rows - first : MOST_ROWS;
        while (call->far && first + n < n_rows && rows[first + n].tile == rows[first + n - 1].tile)
            n--; /* keep the rows of a tile together, so that it is gathered once */
        for (uint32_t r = 0; r < n; r++) {
            const struct plan_row *row = &rows[first + r];
            const uint32_t n_bins = row->in_part ? row->n_bins : out.n_bins;
            plan.row[r] = *row;
            const uint32_t groups = (row->n_codes * row->lanes + 31u) / 32;
            most_groups = groups > most_groups ? groups : most_groups;
            most_bins = n_bins > most_bins ? n_bins : most_bins;
        }
        plan.n_rows = n;
        plan.n_carried = 0;
        TRY_CUDA(add_rows(work, plan, &far));
        const dim3 grid((most_bins + 31) / 32, n * most_groups, call->n_nodes);
        const size_t square = (size_t)plan.n_planes * 32 * 33 * sizeof(long long);
        const auto kernel = finish[out.result.d_hess_sum != NULL][call->narrow];
        /* Without documents, as in a level of a symmetric tree, nothing was added. The launch
         * before may then be the one that writes d_parent, which the kernel reads early. */
        TRY_CUDA(launch_if(plan.n_blocks > 0, kernel, grid, dim3(32, 8), square, stream, plan, out,
                           most_groups));
    }
    return cudaSuccess;
}

const struct rw_hist_method rw_hist_lanes = {
    .name = "lanes",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = 1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON,
    .reads_tiles = 1,
    .scratch_bytes = lanes_scratch,
    .run = lanes_run,
};
