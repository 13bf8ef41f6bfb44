/* Why: a histogram whose speed does not depend on the data. A lane of a warp owns the codes of its
 * word, and its cells stand in its own bank of shared memory: no two lanes of a warp ever meet, in
 * a bank or in a cell. Warps meet rarely, in atomics on 32-bit integers, which the hardware has,
 * one warp's a clock. What is scarce then is instructions, so a cell's address takes one: a code of
 * 8 bits is put into the second byte of the lane's offset.
 *
 * Shapes: a tile's words [n_docs][lanes]; cells in shared memory as struct layout says, packed:
 * count in the high bits, lambda + largest in the low ones. Drained cells in scratch [node][plan
 * row][bin] [code][lane] as 64-bit words (lambda * 2^32 + count, or one word each; then hess),
 * then put into the shape of hist.h.
 *
 * Decomposition: a block = a row of the plan (a tile, some of the codes of its words, some of its
 * bins) and a chunk of a node's documents. A warp takes UNROLL documents at a time. Their places
 * and lambdas come through shared memory, read two turns ahead; of a list, the words too are read
 * while those before are added.
 *
 * A packed cell may overflow after `room` documents in one bin. A block never adds more than
 * room - (its fullest cell) documents before it looks at the cells again; those that are more than
 * 1 / RW_TUNE_LANES_FULL full are drained then. With even data that is a look every 4,000 documents
 * and no drain before the end. A look costs the time in which memory has nothing to do more than
 * its own: what is read next is asked for before it. */
#include <cuda_runtime.h>

#include "gpu/hist/hist_lanes_far.cuh"
#include "gpu/hist/hist_lanes_kernel.cuh"
#include "gpu/hist/hist_lanes_rows.cuh"

/* ---- clean cells ---- */

__global__ void lanes_clear_kernel(unsigned long long *d_cell, uint64_t n_cells)
{
    /* In this order: the launches after read what those before this one wrote, and wait for this
     * one alone. */
    wait_for_launch_before();
    let_next_launch_begin();
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < n_cells;
         i += (uint64_t)gridDim.x * blockDim.x)
        d_cell[i] = 0;
}

/* ---- into the shape of hist.h ---- */

enum : uint64_t { NO_CELL = UINT64_MAX };

/* What finish_kernel writes to. */
struct finished {
    uint32_t n_bins;
    const uint32_t *d_row; /* as the matrix has it */
    uint64_t n_cells;      /* of a histogram */
    struct rw_hist_pool result, parents;
    const uint32_t *d_parent; /* NULL: no siblings */
};

/* A cell of a parent, and where it is. */
struct parent_cell {
    uint64_t at;
    uint32_t count;
    long long lambda, hess;
};

template <bool WEIGHTS>
static __device__ __forceinline__ struct parent_cell parent_of(const struct finished &out,
                                                               uint32_t parent, uint64_t cell)
{
    struct parent_cell p = {parent * out.n_cells + cell, 0, 0, 0};
    p.count = out.parents.d_count[p.at];
    if (out.result.d_lambda_sum)
        p.lambda = out.parents.d_lambda_sum[p.at];
    if (WEIGHTS)
        p.hess = out.parents.d_hess_sum[p.at];
    return p;
}

template <bool WEIGHTS>
static __device__ __forceinline__ void
put_cell(const struct finished &out, uint32_t node, uint64_t cell, bool sibling,
         const struct parent_cell &p, uint32_t count, long long lambda, long long hess)
{
    const uint64_t at = node * out.n_cells + cell;
    out.result.d_count[at] = count;
    if (sibling)
        out.parents.d_count[p.at] = p.count - count;
    if (out.result.d_lambda_sum) {
        out.result.d_lambda_sum[at] = lambda;
        if (sibling)
            out.parents.d_lambda_sum[p.at] = p.lambda - lambda;
    }
    if (WEIGHTS) {
        out.result.d_hess_sum[at] = hess;
        if (sibling)
            out.parents.d_hess_sum[p.at] = p.hess - hess;
    }
}

/* Siblings too: parents are read while the launch before ends. Drained cells are [bin][column]
 * words, a column a code and a lane, in the order of the tile's features. Block: 32 x 8 threads;
 * grid x = 32 bins, y = row of the plan and 32 columns, z = node. The square is turned in shared
 * memory. */
template <bool WEIGHTS>
__global__ void __launch_bounds__(256, WEIGHTS ? 4 : 5)
    finish_kernel(const __grid_constant__ struct plan plan,
                  const __grid_constant__ struct finished out, uint32_t most_groups)
{
    long long(*square)[33] = (long long(*)[33])shared_cells; /* [words * 32][33] */
    const struct plan_row &row = plan.row[blockIdx.y / most_groups];
    const uint32_t columns = row.n_codes * row.lanes, node = blockIdx.z, words = plan.words;
    const uint32_t first = blockIdx.x * 32, first_column = blockIdx.y % most_groups * 32;
    const uint32_t first_feature = row.first_code * row.lanes + first_column; /* of the tile */
    /* a narrow tile has no documents in the bins from row.n_bins on */
    const uint32_t n_bins = row.in_part ? row.n_bins : out.n_bins;
    const uint32_t parent = out.d_parent ? out.d_parent[node] : RW_HIST_NO_PARENT;
    const uint32_t my_bin = first + threadIdx.x;
    struct parent_cell before[4];
    int any = 0;
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
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint64_t cell = cell_of(threadIdx.y + 8 * i);
        any |= cell != NO_CELL;
        if (parent != RW_HIST_NO_PARENT && cell != NO_CELL)
            before[i] = parent_of<WEIGHTS>(out, parent, cell);
    }
    wait_for_launch_before();
    let_next_launch_begin();
    if (first >= n_bins || first_column >= columns)
        return;
    /* No document has a code here. Only bin 0 has something to clear that is of no feature. */
    if (!__syncthreads_or(any || first == 0))
        return;
    unsigned long long *const d_in = plan.d_cell + (node * plan.node_cells + row.cells);
#pragma unroll
    for (uint32_t y = threadIdx.y; y < 32; y += 8) {
        const uint32_t bin = first + y, column = first_column + threadIdx.x;
        const bool counted = bin < row.n_bins && column < columns;
        const unsigned long long *d_at = d_in + ((uint64_t)bin * columns + column) * words;
        square[y][threadIdx.x] = counted ? (long long)d_at[0] : 0;
        if (words > 1)
            square[32 + y][threadIdx.x] = counted ? (long long)d_at[1] : 0;
        if (words > 2)
            square[64 + y][threadIdx.x] = counted ? (long long)d_at[2] : 0;
    }
    for (uint32_t y = threadIdx.y; y < 32 && plan.clean; y += 8) { /* those of no feature, too */
        const uint32_t bin = first + y, column = first_column + threadIdx.x;
        for (uint32_t w = 0; w < words && bin < row.n_bins && column < columns; w++)
            d_in[((uint64_t)bin * columns + column) * words + w] = 0;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const uint32_t k = threadIdx.y + 8 * i;
        const uint64_t cell = cell_of(k);
        if (cell == NO_CELL)
            continue;
        const long long value = square[threadIdx.x][k];
        put_cell<WEIGHTS>(out, node, cell, parent != RW_HIST_NO_PARENT, before[i], (uint32_t)value,
                          plan.wide ? square[32 + threadIdx.x][k] : value >> 32,
                          WEIGHTS ? square[(words - 1) * 32 + threadIdx.x][k] : 0);
    }
}

/* ---- launching ---- */

/* The first launch of a call. What is before it in the stream may be anything; of a graph that is
 * being captured, something that launches cannot overlap. */
static cudaError_t clear(unsigned long long *d_cell, uint64_t n_cells, cudaStream_t stream)
{
    const uint64_t blocks = (n_cells + 1023) / 1024;
    const unsigned grid = (unsigned)(blocks > 4096 ? 4096 : blocks);
    cudaStreamCaptureStatus capturing = cudaStreamCaptureStatusNone;
    const cudaError_t error = cudaStreamIsCapturing(stream, &capturing);
    if (error != cudaSuccess)
        return error;
    if (capturing == cudaStreamCaptureStatusNone)
        return launch_after(lanes_clear_kernel, grid, 256, 0, stream, d_cell, n_cells);
    lanes_clear_kernel<<<grid, 256, 0, stream>>>(d_cell, n_cells);
    return cudaGetLastError();
}

/* What all launches of a call share. */
static void init_plan(const struct rw_hist_call *call, const struct layout &layout,
                      struct plan *plan)
{
    const int counts = call->sums == RW_HIST_COUNT;
    plan->d_list = call->d_list;
    plan->d_node = call->d_node;
    plan->d_lambda = counts ? NULL : call->d_lambda;
    plan->d_hess = call->sums == RW_HIST_NEWTON ? call->d_hess : NULL;
    plan->by_position = call->by_position && call->d_list;
    plan->d_cell = (unsigned long long *)call->d_scratch;
    plan->node_cells = node_words(call);
    plan->n_nodes = call->n_nodes;
    plan->clean = call->clean_scratch;
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
    struct finished out = {
        call->matrix->n_bins,        call->matrix->d_row, rw_hist_matrix_cells(call->matrix),
        {call->d_count, NULL, NULL}, call->parents,       call->d_parent};
    if (call->sums != RW_HIST_COUNT)
        out.result.d_lambda_sum = call->d_lambda_sum;
    if (call->sums == RW_HIST_NEWTON)
        out.result.d_hess_sum = call->d_hess_sum;
    return out;
}

static int has_far_rows(const struct far_row *row, uint32_t n)
{
    int far = 0;
    for (uint32_t r = 0; r < n; r++)
        far |= row[r].far_word != NULL;
    return far;
}

static int lanes_run(const struct rw_hist_call *call, void *stream_of_call)
{
    cudaStream_t stream = (cudaStream_t)stream_of_call;
    const struct layout layout = layout_of(call);
    const struct finished out = finished_of(call);
    uint32_t most_bins = 1, most_groups = 1; /* of 32 columns */
    static thread_local struct plan_row rows[RW_HIST_MAX_TILES * 16];
    static thread_local struct far_row far_rows[RW_HIST_MAX_TILES * 16];
    const uint32_t n_rows = make_rows(call, &layout, rows, far_rows);
    const int is_far = has_far_rows(far_rows, n_rows);
    struct far_plan far = {};
    struct plan &plan = far.plan;
    init_plan(call, layout, &plan);
    far.d_far_bytes = call->d_far_bytes;
    if (plan.n_nodes == 0 || n_rows == 0)
        return cudaSuccess;
    cudaError_t error =
        plan.clean ? cudaSuccess : clear(plan.d_cell, plan.node_cells * plan.n_nodes, stream);
    for (uint32_t first = 0; first < n_rows && error == cudaSuccess; first += MOST_ROWS) {
        const uint32_t n = n_rows - first < MOST_ROWS ? n_rows - first : MOST_ROWS;
        for (uint32_t r = 0; r < n; r++) {
            const struct plan_row *row = &rows[first + r];
            const uint32_t n_bins = row->in_part ? row->n_bins : out.n_bins;
            plan.row[r] = *row;
            far.row[r] = far_rows[first + r];
            const uint32_t groups = (row->n_codes * row->lanes + 31u) / 32;
            most_groups = groups > most_groups ? groups : most_groups;
            most_bins = n_bins > most_bins ? n_bins : most_bins;
        }
        plan.n_rows = n;
        plan.n_blocks = set_chunks(call, plan.row, n);
        if (plan.n_blocks > 0)
            error = is_far ? rw_cuda_lanes_far(call, layout, far, stream)
                           : launch_bits(call, layout, plan, stream);
        if (error != cudaSuccess)
            break;
        const dim3 grid((most_bins + 31) / 32, n * most_groups, call->n_nodes);
        const size_t square = (size_t)plan.words * 32 * 33 * sizeof(long long);
        error = launch_after(out.result.d_hess_sum ? finish_kernel<true> : finish_kernel<false>,
                             grid, dim3(32, 8), square, stream, plan, out, most_groups);
    }
    return error;
}

const struct rw_hist_method rw_hist_lanes = {
    .name = "lanes",
    .most_bins = RW_HIST_MOST_BINS,
    .sums = 1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON,
    .reads_tiles = 1,
    .scratch_bytes = lanes_scratch,
    .run = lanes_run,
    .by_position = 1,
    .subtracts = 1,
    .leaves_clean = 1,
    .reads_far = 1,
};
