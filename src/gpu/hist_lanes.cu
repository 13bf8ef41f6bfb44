/* Why: a histogram whose speed does not depend on the data. A lane of a warp owns the codes of its
 * word, and its cells stand in its own bank of shared memory: no two lanes of a warp ever meet, in a
 * bank or in a cell. Warps meet rarely, in atomics on 32-bit integers, which the hardware has.
 *
 * Shapes: a tile's words [n_docs][lanes]; cells in shared memory [bins][codes][32], packed: count in
 * the high bits, lambda + largest in the low ones. Drained cells in scratch [node][plan row][bin]
 * [code][lane] as 64-bit words (lambda * 2^32 + count, or one word each; then weight), then put into the
 * shape of hist.h.
 *
 * Decomposition: grid y = a row of the plan: a tile, some of the codes of its words, some of its bins;
 * grid x = a chunk of a node's documents. A warp takes UNROLL x 32 words at a time.
 *
 * A packed cell may overflow after `room` documents in one bin. A block never adds more than
 * room - (its fullest cell) documents before it looks at the cells again; those that are more than
 * a quarter full are drained then. With even data that is a look every 4,000 documents and no drain
 * before the end. */
#include <cuda_runtime.h>

#include "gpu/hist_lanes_plan.cuh"

/* ---- packed words by place; and the drained cells cleared ---- */

__global__ void pack_kernel(unsigned long long *d_cell, uint64_t n_cells, const uint32_t *d_list, const int32_t *d_lambda, const int32_t *d_weight,
                            const struct rw_hist_node *d_node, int shift, int largest,
                            uint32_t *d_packed, uint32_t *d_packed_weight)
{
    const struct rw_hist_node node = d_node[blockIdx.y];
    const uint64_t n_blocks = (uint64_t)gridDim.x * gridDim.y;
    for (uint64_t i = (blockIdx.y * (uint64_t)gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x;
         i < n_cells; i += n_blocks * blockDim.x)
        d_cell[i] = 0;
    for (uint64_t i = blockIdx.x * (uint64_t)blockDim.x + threadIdx.x; i < node.n;
         i += (uint64_t)gridDim.x * blockDim.x) {
        const uint64_t at = node.first + i;
        const uint64_t doc = d_list ? d_list[at] : at;
        const uint32_t lambda = d_lambda ? (uint32_t)(d_lambda[doc] + largest) : 0;
        d_packed[at] = (1u << shift) + lambda;
        if (d_weight)
            d_packed_weight[at] = (uint32_t)d_weight[doc];
    }
}

/* ---- histograms ---- */

/* Sums of a 64-bit value over the lanes that own the same features. */
static __device__ long long sum_copies(long long v, uint32_t lanes)
{
    for (uint32_t step = lanes; step < WARP; step *= 2)
        v += __shfl_xor_sync(0xffffffffu, v, step);
    return v;
}

/* One cell's sums into global memory. */
template <int SUMS>
static __device__ void drain_cell(const struct plan &plan, const struct plan_row &row, uint32_t i,
                                  uint32_t packed, uint32_t heavy, unsigned long long *d_out)
{
    const uint32_t count = packed >> plan.shift;
    const long long lambda = (long long)(packed & ((1u << plan.shift) - 1)) -
                             (long long)plan.largest * (long long)count;
    const uint64_t at =
        ((uint64_t)(i / WARP) * row.lanes + i % WARP % row.lanes) * plan.words;
    atomicAdd(d_out + at,
              (unsigned long long)(plan.wide ? count : lambda * 4294967296ll + count));
    if (plan.wide)
        atomicAdd(d_out + at + 1, (unsigned long long)lambda);
    if (SUMS == RW_HIST_NEWTON)
        atomicAdd(d_out + at + plan.words - 1, (unsigned long long)heavy);
}

/* Drains the cells whose count is over `full`; returns the largest count that is left, the same for
 * all threads. Few cells are full: one look at four cells at a time. */
template <int SUMS>
static __device__ uint32_t drain_full(const struct plan &plan, const struct plan_row &row,
                                      uint32_t *cell, uint32_t *weight, uint32_t n_cells,
                                      uint32_t full, unsigned long long *d_out)
{
    __shared__ uint32_t fullest;
    if (threadIdx.x == 0)
        fullest = 0;
    __syncthreads();
    uint32_t most = 0;
    for (uint32_t i = threadIdx.x; i < n_cells / 4; i += THREADS) {
        const uint4 four = ((const uint4 *)cell)[i];
        uint32_t top = max(max(four.x, four.y), max(four.z, four.w));
        if (top >> plan.shift > full) {
            top = 0;
            for (uint32_t c = 4 * i; c < 4 * i + 4; c++) {
                const uint32_t packed = cell[c];
                if (packed >> plan.shift <= full) {
                    top = max(top, packed);
                    continue;
                }
                drain_cell<SUMS>(plan, row, c, packed, SUMS == RW_HIST_NEWTON ? weight[c] : 0,
                                 d_out);
                cell[c] = 0;
                if (SUMS == RW_HIST_NEWTON)
                    weight[c] = 0;
            }
        }
        most = max(most, top);
    }
    most = __reduce_max_sync(0xffffffffu, most >> plan.shift);
    if (threadIdx.x % WARP == 0 && most)
        atomicMax(&fullest, most);
    __syncthreads();
    most = fullest;
    __syncthreads();
    return most;
}

/* Drains all cells, copies added up first. */
template <int SUMS>
static __device__ void drain_all(const struct plan &plan, const struct plan_row &row,
                                 const uint32_t *cell, const uint32_t *weight, uint32_t n_cells,
                                 unsigned long long *d_out)
{
    const uint32_t mask = (1u << plan.shift) - 1;
    for (uint32_t i = threadIdx.x; i < n_cells; i += THREADS) {
        const uint32_t packed = cell[i];
        const uint32_t count = packed >> plan.shift;
        if (!__any_sync(0xffffffffu, count > 0))
            continue;
        const long long lambda =
            (long long)(packed & mask) - (long long)plan.largest * (long long)count;
        const uint32_t lane = i % WARP;
        const uint64_t at = ((uint64_t)(i / WARP) * row.lanes + lane) * plan.words;
        const long long sum =
            sum_copies(plan.wide ? count : lambda * 4294967296ll + count, row.lanes);
        if (lane < row.lanes && sum != 0)
            atomicAdd(d_out + at, (unsigned long long)sum);
        if (plan.wide) {
            const long long all = sum_copies(lambda, row.lanes);
            if (lane < row.lanes && all != 0)
                atomicAdd(d_out + at + 1, (unsigned long long)all);
        }
        if (SUMS == RW_HIST_NEWTON) {
            const long long heavy = sum_copies((long long)weight[i], row.lanes);
            if (lane < row.lanes && heavy != 0)
                atomicAdd(d_out + at + plan.words - 1, (unsigned long long)heavy);
        }
    }
}

/* Adds one word's codes. `cells` is the lane's first cell, in bytes. */
template <int BITS, int CODES, int SUMS>
static __device__ __forceinline__ void add_word(char *cells, char *weights, uint32_t word,
                                                uint32_t packed, uint32_t heavy, uint32_t first_bin,
                                                uint32_t n_bins)
{
#pragma unroll
    for (int j = 0; j < CODES; j++) {
        uint32_t code = word >> (j * BITS) & ((1u << BITS) - 1);
        if (BITS == 16) {
            code -= first_bin;
            if (code >= n_bins)
                continue;
        }
        const uint32_t at = (code * CODES + j) * (WARP * 4);
        atomicAdd((uint32_t *)(cells + at), packed);
        if (SUMS == RW_HIST_NEWTON)
            atomicAdd((uint32_t *)(weights + at), heavy);
    }
}

/* Which node and which part of it is this block's? Returns 0 if there is none. */
static __device__ int find_chunk(const struct plan &plan, uint32_t docs_a_chunk, uint32_t *node,
                                 uint64_t *begin, uint64_t *end)
{
    __shared__ uint32_t found_node, found_chunk;
    __shared__ int found;
    if (threadIdx.x == 0)
        found = 0;
    __syncthreads();
    if (threadIdx.x < WARP) {
        uint32_t before = 0;
        for (uint32_t first = 0; first < plan.n_nodes; first += WARP) {
            const uint32_t mine = first + threadIdx.x;
            const uint32_t chunks =
                mine < plan.n_nodes ? (uint32_t)chunks_of_node(plan.d_node[mine], docs_a_chunk) : 0;
            uint32_t upto = chunks;
            for (int step = 1; step < WARP; step *= 2) {
                const uint32_t other = __shfl_up_sync(0xffffffffu, upto, step);
                upto += (int)threadIdx.x >= step ? other : 0;
            }
            const uint32_t from = before + upto - chunks;
            if (blockIdx.x >= from && blockIdx.x < before + upto) {
                found_node = mine;
                found_chunk = blockIdx.x - from;
                found = 1;
            }
            before += __shfl_sync(0xffffffffu, upto, WARP - 1);
        }
    }
    __syncthreads();
    if (!found)
        return 0;
    *node = found_node;
    const struct rw_hist_node whole = plan.d_node[found_node];
    const uint64_t from = whole.first / CHUNK_UNIT * CHUNK_UNIT + (uint64_t)found_chunk * docs_a_chunk;
    const uint64_t last = whole.first + whole.n;
    *begin = from > whole.first ? from : whole.first;
    *end = from + docs_a_chunk < last ? from + docs_a_chunk : last;
    return 1;
}

/* A lane's words: one code of 16 bits, or 32 bits of smaller ones. */
template <int BITS> struct lane_word {
    using type = uint32_t;
};
template <> struct lane_word<16> {
    using type = uint16_t;
};

/* Words, packed lambdas and weights of `N` groups of documents from `place` on, of which those in
 * [begin, end) count; the others add nothing. */
template <int BITS, int N, int SUMS>
static __device__ __forceinline__ void load_some(const struct plan &plan, const struct plan_row &row,
                                                 uint64_t place, uint32_t slot, uint32_t docs_a_warp,
                                                 uint64_t begin, uint64_t end, uint32_t *word,
                                                 uint32_t *packed, uint32_t *heavy)
{
    const auto *d_word = (const typename lane_word<BITS>::type *)row.d_word;
#pragma unroll
    for (int u = 0; u < N; u++, place += docs_a_warp) {
        const bool ok = place >= begin && place < end;
        const uint64_t doc = !ok ? 0 : plan.d_list ? plan.d_list[place] : place;
        word[u] = ok ? d_word[doc * row.lanes + slot] : 0;
        packed[u] = ok ? plan.d_packed[place] : 0;
        heavy[u] = SUMS == RW_HIST_NEWTON && ok ? plan.d_weight[place] : 0;
    }
}

/* The same when all count. ALL_LANES: a document fills the warp, so that what all lanes share is read
 * four documents at a time. */
template <int BITS, int N, int SUMS, bool ALL_LANES>
static __device__ __forceinline__ void load_all(const struct plan &plan, const struct plan_row &row,
                                                uint64_t place, uint32_t slot, uint32_t docs_a_warp,
                                                uint32_t *word, uint32_t *packed, uint32_t *heavy)
{
    const auto *d_word = (const typename lane_word<BITS>::type *)row.d_word;
    if constexpr (ALL_LANES) {
#pragma unroll
        for (int u = 0; u < N; u += 4) {
            *(uint4 *)(packed + u) = *(const uint4 *)(plan.d_packed + place + u);
            if (SUMS == RW_HIST_NEWTON)
                *(uint4 *)(heavy + u) = *(const uint4 *)(plan.d_weight + place + u);
        }
        if (plan.d_list) {
#pragma unroll
            for (int u = 0; u < N; u += 4) {
                const uint4 doc = *(const uint4 *)(plan.d_list + place + u);
                word[u] = d_word[(uint64_t)doc.x * WARP + slot];
                word[u + 1] = d_word[(uint64_t)doc.y * WARP + slot];
                word[u + 2] = d_word[(uint64_t)doc.z * WARP + slot];
                word[u + 3] = d_word[(uint64_t)doc.w * WARP + slot];
            }
        } else {
            const auto *first = d_word + place * WARP + slot;
#pragma unroll
            for (int u = 0; u < N; u++)
                word[u] = __ldcs(first + u * WARP);
        }
    } else {
#pragma unroll
        for (int u = 0; u < N; u++, place += docs_a_warp) {
            const uint64_t doc = plan.d_list ? plan.d_list[place] : place;
            word[u] = d_word[doc * row.lanes + slot];
            packed[u] = plan.d_packed[place];
            heavy[u] = SUMS == RW_HIST_NEWTON ? plan.d_weight[place] : 0;
        }
    }
}

/* Adds the documents at places [begin, end). */
template <int BITS, int CODES, int SUMS, bool ALL_LANES>
static __device__ void add_places(const struct plan &plan, const struct plan_row &row, char *cells,
                                  char *weights, uint64_t begin, uint64_t end)
{
    constexpr int N = SUMS == RW_HIST_NEWTON ? RW_TUNE_LANES_UNROLL / 2 : RW_TUNE_LANES_UNROLL;
    const uint32_t lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const uint32_t lanes = ALL_LANES ? WARP : row.lanes;
    const uint32_t slot = lane % lanes, docs_a_warp = WARP / lanes, mine = lane / lanes;
    const uint32_t step = docs_a_warp * N;
    const int code_shift = row.first_code * BITS;
    for (uint64_t at = begin / N * N + warp * step; at < end; at += THREADS / WARP * step) {
        uint32_t word[N], packed[N], heavy[N];
        if (at >= begin && at + step <= end)
            load_all<BITS, N, SUMS, ALL_LANES>(plan, row, at + mine, slot, docs_a_warp, word, packed,
                                         heavy);
        else
            load_some<BITS, N, SUMS>(plan, row, at + mine, slot, docs_a_warp, begin, end, word, packed,
                               heavy);
#pragma unroll
        for (int u = 0; u < N; u++)
            add_word<BITS, CODES, SUMS>(cells, weights, word[u] >> code_shift, packed[u],
                                        SUMS == RW_HIST_NEWTON ? heavy[u] : 0, row.first_bin,
                                        row.n_bins);
    }
}

template <int BITS, int CODES, int SUMS>
__global__ void __launch_bounds__(THREADS) lanes_kernel(const __grid_constant__ struct plan plan)
{
    extern __shared__ uint4 shared[];
    const struct plan_row &row = plan.row[blockIdx.y];
    const uint32_t n_cells = (uint32_t)row.n_bins * CODES * WARP;
    uint32_t *cell = (uint32_t *)shared, *weight = cell + (SUMS == RW_HIST_NEWTON ? n_cells : 0);
    uint32_t node;
    uint64_t begin, end;
    if (!find_chunk(plan, row.docs_a_chunk, &node, &begin, &end))
        return;
    const uint32_t n_clear = n_cells * (SUMS == RW_HIST_NEWTON ? 2 : 1) / 4;
    for (uint32_t i = threadIdx.x; i < n_clear; i += THREADS)
        shared[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();
    unsigned long long *d_out = plan.d_cell + (node * plan.node_cells + row.cells);
    char *cells = (char *)(cell + threadIdx.x % WARP), *weights = (char *)(weight + threadIdx.x % WARP);
    /* a cell is one of 32 / lanes copies, each with its share of any run of documents */
    const uint32_t copies = WARP / row.lanes;
    for (uint32_t fullest = 0; begin < end;) {
        const uint64_t most = (uint64_t)(plan.room - fullest - 1) * copies;
        const uint64_t until = end - begin < most ? end : begin + most;
        if (row.lanes == WARP)
            add_places<BITS, CODES, SUMS, true>(plan, row, cells, weights, begin, until);
        else
            add_places<BITS, CODES, SUMS, false>(plan, row, cells, weights, begin, until);
        begin = until;
        __syncthreads();
        if (begin == end)
            break;
        fullest = drain_full<SUMS>(plan, row, cell, weight, n_cells, plan.room / 4, d_out);
    }
    drain_all<SUMS>(plan, row, cell, weight, n_cells, d_out);
}

/* ---- into the shape of hist.h ---- */

/* Block: 32 x 8 threads; grid x = 32 bins, y = row of the plan and code, z = node. A 32 x 32 square is
 * turned in shared memory. */
__global__ void finish_kernel(const __grid_constant__ struct plan plan, uint32_t n_features,
                              uint32_t n_bins_out, uint32_t *d_count, int64_t *d_lambda_sum,
                              int64_t *d_weight_sum, int n_codes)
{
    __shared__ long long square[3][32][33];
    const struct plan_row &row = plan.row[blockIdx.y / n_codes];
    const uint32_t j = blockIdx.y % n_codes, lanes = row.lanes, node = blockIdx.z;
    const uint32_t first = blockIdx.x * 32;
    if (first >= row.n_bins)
        return;
    const unsigned long long *d_in = plan.d_cell + (node * plan.node_cells + row.cells);
    for (uint32_t y = threadIdx.y; y < 32; y += 8) {
        const uint32_t bin = first + y;
        if (bin < row.n_bins && threadIdx.x < lanes) {
            const uint64_t at =
                (((uint64_t)bin * n_codes + j) * lanes + threadIdx.x) * plan.words;
            for (int w = 0; w < plan.words; w++)
                square[w][y][threadIdx.x] = (long long)d_in[at + w];
        }
    }
    __syncthreads();
    for (uint32_t slot = threadIdx.y; slot < lanes; slot += 8) {
        const uint32_t feature = (row.first_code + j) * lanes + slot; /* of the tile */
        const uint32_t bin = first + threadIdx.x;
        if (feature >= row.n_features || bin >= row.n_bins)
            continue;
        const uint64_t at =
            ((uint64_t)node * n_features + row.first_feature + feature) * n_bins_out +
            row.first_bin + bin;
        const long long value = square[0][threadIdx.x][slot];
        d_count[at] = (uint32_t)value;
        if (d_lambda_sum)
            d_lambda_sum[at] = plan.wide ? square[1][threadIdx.x][slot] : value >> 32;
        if (d_weight_sum)
            d_weight_sum[at] = square[plan.words - 1][threadIdx.x][slot];
    }
}

/* ---- launching ---- */

template <int BITS, int CODES, int SUMS>
static cudaError_t launch(const struct plan &plan, dim3 grid, size_t shared, cudaStream_t stream)
{
    const cudaError_t error =
        cudaFuncSetAttribute(lanes_kernel<BITS, CODES, SUMS>,
                             cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared);
    if (error != cudaSuccess)
        return error;
    lanes_kernel<BITS, CODES, SUMS><<<grid, THREADS, shared, stream>>>(plan);
    return cudaGetLastError();
}

template <int BITS, int CODES>
static cudaError_t launch_sums(enum rw_hist_sums sums, const struct plan &plan, dim3 grid,
                               size_t shared, cudaStream_t stream)
{
    if (sums == RW_HIST_NEWTON)
        return launch<BITS, CODES, RW_HIST_NEWTON>(plan, grid, shared, stream);
    return launch<BITS, CODES, RW_HIST_MART>(plan, grid, shared, stream);
}

static cudaError_t launch_bits(const struct rw_hist_call *call, int n_codes, const struct plan &plan,
                               dim3 grid, size_t shared, cudaStream_t stream)
{
    switch (call->matrix->bits * 16 + n_codes) {
    case 4 * 16 + 8:
        return launch_sums<4, 8>(call->sums, plan, grid, shared, stream);
    case 8 * 16 + 4:
        return launch_sums<8, 4>(call->sums, plan, grid, shared, stream);
    case 8 * 16 + 2:
        return launch_sums<8, 2>(call->sums, plan, grid, shared, stream);
    case 8 * 16 + 1:
        return launch_sums<8, 1>(call->sums, plan, grid, shared, stream);
    case 16 * 16 + 1:
        return launch_sums<16, 1>(call->sums, plan, grid, shared, stream);
    default:
        return cudaErrorInvalidConfiguration;
    }
}

static int lanes_run(const struct rw_hist_call *call, void *stream_of_call)
{
    cudaStream_t stream = (cudaStream_t)stream_of_call;
    const struct rw_hist_matrix *matrix = call->matrix;
    const int newton = call->sums == RW_HIST_NEWTON;
    struct plan plan = {};
    static thread_local struct plan_row rows[RW_HIST_MAX_TILES * 16];
    int n_codes;
    uint32_t n_bins;
    fit(call, &n_codes, &n_bins);
    const uint32_t n_rows = make_rows(call, rows, n_codes, n_bins);
    const uint64_t end = list_end(call);
    plan.d_list = call->d_list;
    plan.d_node = call->d_node;
    plan.d_packed = (const uint32_t *)call->d_scratch;
    plan.d_weight = plan.d_packed + end;
    plan.d_cell = (unsigned long long *)(plan.d_packed + end * (newton ? 2 : 1));
    plan.node_cells = node_words(call);
    plan.n_nodes = call->n_nodes;
    plan.wide = is_wide(call);
    plan.words = words_of(call);
    /* b bits hold lambda + largest: n of them and a count of n share 32 bits up to 2^((32 - b) / 2) */
    plan.largest = call->sums == RW_HIST_COUNT ? 0 : call->largest;
    int b = 0;
    while ((2 * plan.largest) >> b)
        b++;
    plan.shift = (WARP + b + 1) / 2;
    plan.room = (1u << (WARP - plan.shift)) - 1;
    if (plan.n_nodes == 0 || n_rows == 0)
        return cudaSuccess;
    const uint64_t blocks = (longest_node(call) + 1023) / 1024;
    const dim3 pack_grid((unsigned)(blocks < 1 ? 1 : blocks > 2048 ? 2048 : blocks), call->n_nodes);
    pack_kernel<<<pack_grid, 256, 0, stream>>>(
        plan.d_cell, plan.node_cells * plan.n_nodes, call->d_list, call->sums == RW_HIST_COUNT ? NULL : call->d_lambda,
        newton ? call->d_weight : NULL, call->d_node, plan.shift, plan.largest,
        (uint32_t *)plan.d_packed, (uint32_t *)plan.d_weight);
    cudaError_t error = cudaGetLastError();
    const size_t shared = (size_t)n_bins * n_codes * WARP * (newton ? 8 : 4);
    for (uint32_t first = 0; first < n_rows && error == cudaSuccess; first += MOST_ROWS) {
        const uint32_t n = n_rows - first < MOST_ROWS ? n_rows - first : MOST_ROWS;
        for (uint32_t r = 0; r < n; r++)
            plan.row[r] = rows[first + r];
        const int fit_at_once = (int)(2048 / THREADS < call->shared_bytes / (shared + 1024)
                                          ? 2048 / THREADS
                                          : call->shared_bytes / (shared + 1024));
        const uint32_t chunks =
            set_chunks(call, plan.row, n, call->n_multiprocessors * (fit_at_once ? fit_at_once : 1));
        if (chunks > 0)
            error = launch_bits(call, n_codes, plan, dim3(chunks, n), shared, stream);
        if (error != cudaSuccess)
            break;
        const dim3 grid((n_bins + 31) / 32, n * (unsigned)n_codes, call->n_nodes);
        finish_kernel<<<grid, dim3(32, 8), 0, stream>>>(plan, matrix->n_features, matrix->n_bins,
                                                       call->d_count, call->d_lambda_sum,
                                                       newton ? call->d_weight_sum : NULL, n_codes);
        error = cudaGetLastError();
    }
    return error;
}

extern "C" const struct rw_hist_method rw_hist_lanes = {
    /* name */ "lanes",
    /* origin */ "this project: feature-interleaved cells, exact packed integers",
    /* bits */ 4 | 8 | 16,
    /* most_bins */ 1024,
    /* sums */ 1u << RW_HIST_COUNT | 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON,
    /* lists, many_nodes */ 1,
    1,
    /* zero_skip */ 0,
    /* reads_tiles */ 1,
    lanes_scratch,
    lanes_run,
};
