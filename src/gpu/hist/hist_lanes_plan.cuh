/* The plan of a launch of hist_lanes.cu, which explains lanes, tiles and drained cells. The host
 * makes the plan. Its rows divide the cells, and the chunks divide the documents. A narrow tile is
 * one of fewer than 32 lanes, and a narrow row belongs to a narrow tile. */
#pragma once

#include <string.h>

#include "gpu/hist/hist.h"
#include "gpu/device/tuning.h"

enum { WARP = 32, THREADS = RW_TUNE_LANES_THREADS };
enum { MOST_ROWS = 64 }; /* of a launch */
static_assert((int)THREADS >= (int)RW_HIST_MAX_NODES, "a thread per node finds a block's chunk");

/* A row of the plan: the cells that a block keeps in shared memory. They belong to bins [first_bin,
 * first_bin + n_bins) of codes [first_code, first_code + n_codes) of each lane's word in a tile. */
struct plan_row {
    const void *d_word; /* the tile's words: uint32_t, or uint16_t for codes of 16 bits */
    uint64_t cells;     /* index of the row's first drained cell among those of a node */
    uint32_t docs_per_chunk;
    uint32_t first_block; /* the row's first block in the launch; each block has a chunk */
    uint16_t first_bin, n_bins;
    uint16_t first_feature, n_features; /* of the tile, as are lanes and bits */
    uint8_t lanes, first_code, n_codes, bits;
    uint8_t in_part; /* 1: the row has only some of the tile's bins, so codes must be tested */
    uint8_t tile;    /* index of the tile in the matrix */
};

struct plan {
    struct plan_row row[MOST_ROWS];
    const uint32_t *d_list;            /* as in struct rw_hist_call */
    const struct rw_hist_node *d_node; /* [n_nodes] */
    /* Lambdas and newton's hessians, number_bytes from one to the next. They are read as 16 bits
     * from any layout, so that no read waits for a branch. If d_lambda is NULL, only counts are
     * needed. If d_hess is NULL with newton, the 16 bits at d_lambda are a word of RW_MOVED_BYTES
     * with both. The lambda is these bits in a word of 32, shifted up and then, with its sign, down
     * by lambda_up. The hessian is the bits from hess_down up, which are 0 if d_hess is set. */
    const char *d_lambda, *d_hess;
    int lambda_up, hess_down;
    uint32_t number_bytes;
    int by_position; /* 1: numbers are by position in the list; 0: by document */
    /* Drained cells, in scratch: n_planes planes of [n_nodes][node_cells] cells each; see
     * `wide`. */
    unsigned long long *d_cell;
    uint64_t node_cells;
    uint32_t n_nodes, n_blocks;
    uint32_t n_rows;    /* rows with separate blocks */
    uint32_t n_carried; /* narrow rows after those; the blocks of the first row add them, too */
    uint32_t room;      /* documents that fit into a packed cell */
    int shift;          /* the lowest bit of the count in a packed cell */
    int largest;        /* as in struct rw_hist_call; 0 for counts only */
    int is_estimated;   /* 1: the nodes' sizes were estimated, so chunks may have to be larger */
    int clean;          /* 1: drained cells are 0 before the launch, and are cleared again */
    /* In drained cells, low is the sum of lambda + largest. wide: sums may reach 2^31, so count,
     * low and, for newton, hessian have a plane each, of words of 64 bits. If not wide, the first
     * plane has words of 64 bits: low * 2^lambda_at + hess * 2^hess_at + count. The highest bits of
     * low may be lost, but not those of the lambdas' sum, low - largest * count. If hess_at is 0,
     * this word has no hessian; newton's hessians are then in a second plane, of words of 32 bits.
     * With planes, the words that a warp adds to one plane fill whole sectors, by which the L2
     * cache counts atomics. */
    int wide, n_planes, lambda_at, hess_at;
    uint32_t count_mask;
    long long hess_mask;
    uint32_t one;        /* a document with a lambda of 0, as added to a packed cell */
    uint32_t cell_bytes; /* shared memory for the cells of a block */
};

static __host__ __device__ uint64_t chunks_of_node(const struct rw_hist_node &node,
                                                   uint64_t docs_per_chunk)
{
    return (node.n + docs_per_chunk - 1) / docs_per_chunk;
}

/* Newton with hessians in halves of words. HALVES_CELLS: cells per lane. HALVES_LEFT: the largest
 * value that a check leaves in a half. HALVES_WARP: the largest sum of the hessians that a warp may
 * add between two checks, so that a half cannot overflow even if all warps add to one cell. */
enum { HALVES_CELLS = 4 * 256, HALVES_LEFT = 511 };
enum : uint32_t { HALVES_WARP = (65535 - HALVES_LEFT) / (THREADS / WARP) };

/* Returns the number of codes in a lane's word. */
static __host__ __device__ constexpr int code_words(int bits)
{
    return bits == 16 ? 1 : WARP / bits;
}

/* How many codes and bins the rows of a plan have, except rows of tiles of 4 bits in a matrix of 8
 * bits. hist_lanes_add.cuh describes the layout of the cells. */
struct layout {
    int n_codes;        /* codes of a word in one row of the plan */
    uint32_t room_bins; /* bins for which each code has room */
    uint32_t n_bins;    /* bins of a row */
    int takes_two;      /* 1: newton takes two launches, for lambdas and for hessians */
    int halves;         /* 1: newton with hessians in halves of words */
    size_t cell_bytes;  /* shared memory for the cells of a row */
};

static __host__ __device__ constexpr size_t cell_bytes_of(int newton, int n_codes, uint32_t bins)
{
    return (size_t)n_codes * bins * WARP * sizeof(uint32_t) * (newton ? 2 : 1);
}

/* Returns the bytes of shared memory through which the documents of all warps of a block pass. */
static __host__ __device__ constexpr size_t stage_bytes(int newton)
{
    return (size_t)THREADS / WARP * RW_TUNE_LANES_RING * RW_TUNE_LANES_UNROLL_16 *
           (newton ? 3 : 2) * sizeof(uint32_t);
}

/* Chooses a layout whose cells fit shared memory, if there is one; otherwise the launch fails. */
static struct layout layout_of(const struct rw_hist_call *call)
{
    const int bits = call->matrix->bits;
    int newton = call->sums == RW_HIST_NEWTON;
    /* the kernel itself uses up to 1024 bytes */
    const size_t room = call->shared_bytes - 1024 - stage_bytes(newton);
    struct layout l = {code_words(bits), 16, call->matrix->n_bins, 0, 0, 0};
    if (bits == 8) {
        l.room_bins = l.n_bins <= 64 ? 64 : l.n_bins <= 128 ? 128 : 256;
        const size_t in_halves = (size_t)HALVES_CELLS * WARP * sizeof(uint32_t) * 3 / 2;
        const bool may_halve = /* two turns of a warp must fit */
            2u * RW_TUNE_LANES_UNROLL * (uint32_t)call->largest <= HALVES_WARP;
        if (newton && l.room_bins == 256 && may_halve && in_halves <= room &&
            rw_hist_docs(call) >= (uint64_t)RW_TUNE_LANES_HALVES_DOCS * call->n_multiprocessors) {
            l.cell_bytes = in_halves;
            l.halves = 1;
            return l;
        }
        /* A block with 64 KB of shared memory has room for one code in each of two launches. */
        l.takes_two = newton && cell_bytes_of(newton, 256 / (int)l.room_bins, l.room_bins) > room;
        if (l.takes_two) {
            newton = 0;
            l.n_codes = 1;
            l.room_bins = 256;
        }
    }
    if (bits == 16) {
        l.takes_two = newton && cell_bytes_of(newton, 1, l.n_bins) > room;
        newton = newton && !l.takes_two;
        while (cell_bytes_of(newton, 1, l.n_bins) > room)
            l.n_bins = (l.n_bins + 1) / 2;
        l.room_bins = l.n_bins;
    }
    while (l.n_codes > 1 && cell_bytes_of(newton, l.n_codes, l.room_bins) > room)
        l.n_codes /= 2;
    l.cell_bytes = cell_bytes_of(newton, l.n_codes, l.room_bins);
    return l;
}

static uint64_t longest_node(const struct rw_hist_call *call)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        longest = call->node[i].n > longest ? call->node[i].n : longest;
    return longest;
}

/* Chooses the planes of drained cells. */
static void set_planes(const struct rw_hist_call *call, struct plan *plan)
{
    const uint64_t n = call->most_docs ? call->most_docs : longest_node(call);
    const int newton = call->sums == RW_HIST_NEWTON;
    const int count_bits = (int)rw_hist_bits_of(n);
    const int sum_bits = (int)rw_hist_bits_of(n * (uint64_t)call->largest);
    const int tight = newton && n > 0 && count_bits + 2 * sum_bits + 1 <= 64;
    plan->wide = n * (uint64_t)call->largest >= (uint64_t)1 << 31;
    plan->n_planes = 1 + plan->wide + (newton && !tight);
    plan->hess_at = tight ? count_bits : 0;
    plan->lambda_at = tight ? count_bits + sum_bits : 32;
    plan->count_mask = tight ? (uint32_t)(((uint64_t)1 << count_bits) - 1) : UINT32_MAX;
    plan->hess_mask = ((long long)1 << sum_bits) - 1;
}

/* Returns the number of bins that codes of a tile may have. */
static uint32_t bins_of_tile(const struct rw_hist_matrix *matrix, uint32_t t)
{
    return matrix->tile[t].bits == 4 && matrix->n_bins > 16 ? 16 : matrix->n_bins;
}

/* Returns the number of drained cells of one node in all tiles. */
static uint64_t node_cells(const struct rw_hist_call *call)
{
    uint64_t cells = 0;
    for (uint32_t t = 0; t < call->matrix->n_tiles; t++)
        cells += (uint64_t)call->matrix->tile[t].lanes * code_words(call->matrix->tile[t].bits) *
                 bins_of_tile(call->matrix, t);
    return cells;
}

/* Returns the bytes of all planes, rounded up to words of 64 bits. */
static size_t drained_bytes(const struct plan &plan)
{
    const size_t cell = plan.n_planes == 2 && !plan.wide ? 12 : plan.n_planes * sizeof(uint64_t);
    const size_t bytes = plan.node_cells * plan.n_nodes * cell;
    return (bytes + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

static size_t lanes_scratch(const struct rw_hist_call *call)
{
    struct plan plan = {};
    set_planes(call, &plan);
    plan.node_cells = node_cells(call);
    plan.n_nodes = call->n_nodes;
    return drained_bytes(plan);
}

/* Makes the rows of all tiles; a launch takes at most MOST_ROWS of them. Returns their number. */
static uint32_t make_rows(const struct rw_hist_call *call, const struct layout *layout,
                          struct plan_row *row)
{
    const struct rw_hist_matrix *matrix = call->matrix;
    uint32_t n = 0;
    uint64_t cells = 0;
    for (uint32_t t = 0; t < matrix->n_tiles; t++) {
        const struct rw_hist_tile *tile = &matrix->tile[t];
        const uint32_t all_bins = bins_of_tile(matrix, t);
        const int n_codes = tile->bits == 4 ? code_words(4) : layout->n_codes;
        const uint32_t n_bins = tile->bits == 4 ? all_bins : layout->n_bins;
        for (int code = 0; code < code_words(tile->bits); code += n_codes) {
            if (code * tile->lanes >= tile->n_features)
                break;
            for (uint32_t bin = 0; bin < all_bins; bin += n_bins) {
                struct plan_row &r = row[n++];
                r = {};
                r.d_word = tile->d_word;
                r.cells = cells;
                r.first_bin = (uint16_t)bin;
                r.n_bins = (uint16_t)(all_bins - bin < n_bins ? all_bins - bin : n_bins);
                r.first_feature = (uint16_t)tile->first_feature;
                r.n_features = (uint16_t)tile->n_features;
                r.lanes = (uint8_t)tile->lanes;
                r.first_code = (uint8_t)code;
                r.n_codes = (uint8_t)n_codes;
                r.in_part = n_bins < all_bins;
                r.bits = (uint8_t)tile->bits;
                r.tile = (uint8_t)t;
                cells += (uint64_t)r.n_bins * n_codes * tile->lanes;
            }
        }
    }
    return n;
}

/* Returns the number of chunks of all nodes. */
static uint32_t chunks_of(const struct rw_hist_call *call, uint64_t docs_per_chunk)
{
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        chunks += chunks_of_node(call->node[i], docs_per_chunk);
    return (uint32_t)chunks;
}

/* Returns the cost of a document in this row, relative to a row of 32 lanes. */
static double cost_of(const struct rw_hist_call *call, const struct plan_row *row)
{
    const double own = call->d_list ? RW_TUNE_LANES_NARROW_LISTED : RW_TUNE_LANES_NARROW;
    return row->lanes == WARP ? 1 : own + (1 - own) * row->lanes / WARP;
}

/* Moves narrow rows after the others. Then the blocks of the first row carry them, unless clearing
 * and draining their cells in more blocks would cost too much. */
static void carry_rows(struct plan *plan)
{
    struct plan_row narrow[MOST_ROWS];
    uint32_t n_wide = 0, n_narrow = 0, cells = 0;
    for (uint32_t r = 0; r < plan->n_rows; r++) {
        const struct plan_row row = plan->row[r];
        if (row.lanes == WARP) {
            plan->row[n_wide++] = row;
        } else {
            narrow[n_narrow++] = row;
            cells += (uint32_t)row.n_bins * row.n_codes;
        }
    }
    memcpy(plan->row + n_wide, narrow, n_narrow * sizeof(*narrow));
    if (cells > RW_TUNE_LANES_CARRIED * n_wide)
        return;
    plan->n_rows = n_wide;
    plan->n_carried = n_narrow;
}

/* Returns about the result of chunks_of: one too many for each node that has only full chunks. Many
 * sizes are tried, so this avoids divisions, and the loop can be vectorised. */
static double chunks_about(const double *node_docs, uint32_t n_nodes, double docs_per_chunk)
{
    const double share = 1.0 / docs_per_chunk;
    int32_t chunks = 0; /* a call has fewer than 2^31 */
    for (uint32_t i = 0; i < n_nodes; i++)
        chunks += (int32_t)(node_docs[i] * share);
    return (double)chunks + n_nodes;
}

/* Returns the estimated time of a launch, in units of the time of one document of 32 lanes. size:
 * documents of a chunk of a row of 32 lanes; a row that costs less has larger chunks. With at most
 * as many blocks as multiprocessors, the time is that of the largest chunk. Otherwise it is the
 * mean time of a multiprocessor plus half of the largest, for the blocks that begin last. */
static double time_of(const struct rw_hist_call *call, const double *node_docs, double longest,
                      const double *cost, uint32_t n_rows, double size, double docs)
{
    double largest = 0, sum = 0, blocks = 0, chunks = 0;
    for (uint32_t r = 0; r < n_rows; r++) {
        if (r == 0 || cost[r] != cost[r - 1])
            chunks = chunks_about(node_docs, call->n_nodes, size / cost[r]);
        const double whole = size / cost[r] < longest ? size / cost[r] : longest;
        blocks += chunks;
        sum += docs * cost[r] + chunks * RW_TUNE_LANES_BLOCK_DOCS;
        largest = whole * cost[r] > largest ? whole * cost[r] : largest;
    }
    largest += RW_TUNE_LANES_BLOCK_DOCS;
    const double shared = sum / call->n_multiprocessors;
    if (blocks <= call->n_multiprocessors)
        return largest;
    return shared + largest / 2 > largest ? shared + largest / 2 : largest;
}

/* Returns the size, as in time_of, with which a launch should end earliest. share: the cost of all
 * documents in all rows, divided by the number of multiprocessors. It tries few sizes, because the
 * device may be waiting: large steps up from half of that share, then small steps down from the
 * best of these, because the time jumps where there are as many blocks as multiprocessors. */
static double best_size(const struct rw_hist_call *call, const double *node_docs,
                        const double *cost, uint32_t n_rows, double share, double docs)
{
    enum { LARGE_STEPS = 17, SMALL_STEPS = 8 };
    const double longest = (double)longest_node(call);
    double size = share / 2, best = 0, best_time = 0;
    for (int i = 0; i < LARGE_STEPS + SMALL_STEPS; i++) {
        if (size < RW_TUNE_LANES_LEAST_DOCS)
            size = RW_TUNE_LANES_LEAST_DOCS;
        const double time = time_of(call, node_docs, longest, cost, n_rows, size, docs);
        if (i == 0 || time < best_time) {
            best_time = time;
            best = size;
        }
        if (i + 1 == LARGE_STEPS)
            size = best;
        size *= i + 1 < LARGE_STEPS ? 1.15 : 1 / 1.018;
    }
    return best;
}

/* Divides the documents into chunks of the size that best_size returns. Returns the number of
 * chunks of all rows except carried ones, which is the number of blocks. */
static uint32_t set_chunks(const struct rw_hist_call *call, struct plan *plan)
{
    double node_docs[RW_HIST_MAX_NODES];
    for (uint32_t i = 0; i < call->n_nodes; i++)
        node_docs[i] = (double)(int64_t)call->node[i].n;
    const double docs = (double)rw_hist_docs(call);
    double cost[MOST_ROWS], all_cost = 0;
    uint64_t blocks = 0;
    for (uint32_t r = 0; r < plan->n_rows + plan->n_carried; r++) {
        cost[r] = cost_of(call, &plan->row[r]);
        all_cost += cost[r];
        if (r >= plan->n_rows)
            cost[0] += cost[r];
    }
    const double size = best_size(call, node_docs, cost, plan->n_rows,
                                  docs * all_cost / call->n_multiprocessors, docs);
    for (uint32_t r = 0; r < plan->n_rows; r++) {
        const double chunk = size / cost[r];
        plan->row[r].docs_per_chunk = (uint32_t)(chunk > 2e9 ? 2e9 : chunk) + 1;
        plan->row[r].first_block = (uint32_t)blocks;
        blocks += chunks_of(call, plan->row[r].docs_per_chunk);
    }
    return (uint32_t)blocks;
}
