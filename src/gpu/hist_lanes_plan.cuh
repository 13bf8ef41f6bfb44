/* Who does what in hist_lanes.cu: the rows of a launch and the chunks of documents, planned on the host
 * and read by the kernels. */
#ifndef RW_GPU_HIST_LANES_PLAN_CUH
#define RW_GPU_HIST_LANES_PLAN_CUH

#include <cuda_runtime.h>

#include "gpu/hist.h"
#include "gpu/tuning.h"

enum { WARP = 32, THREADS = RW_TUNE_LANES_THREADS };
enum { MOST_ROWS = 64, CHUNK_UNIT = 64 };

/* One row of the plan. */
struct plan_row {
    const void *d_word;      /* of uint32_t, or of uint16_t for codes of 16 bits */
    uint64_t cells;          /* where its drained cells begin within a node's */
    uint32_t docs_a_chunk;
    uint16_t first_bin;
    uint16_t n_bins;
    uint16_t first_feature;  /* of the tile, in the matrix */
    uint16_t n_features;     /* of the tile */
    uint8_t lanes, first_code, n_codes, padding;
};

struct plan {
    struct plan_row row[MOST_ROWS];
    const uint32_t *d_list;
    const struct rw_hist_node *d_node;
    const uint32_t *d_packed; /* by place in the list */
    const uint32_t *d_weight; /* the same; newton */
    unsigned long long *d_cell;
    uint64_t node_cells;      /* drained cells of a node */
    uint32_t n_nodes;
    uint32_t room;            /* documents that fit into a packed cell */
    int shift, largest;
    int wide;                 /* count and lambda in words of their own: sums may pass 2^31 */
    int words;                /* of a drained cell: 1, or 2 if wide; one more for newton */
};

/* Chunks begin at places that are multiples of CHUNK_UNIT, but for a node's first. */
static __host__ __device__ uint64_t chunks_of_node(const struct rw_hist_node &node,
                                                   uint64_t docs_a_chunk)
{
    const uint64_t head = node.first % CHUNK_UNIT;
    return node.n ? (head + node.n + docs_a_chunk - 1) / docs_a_chunk : 0;
}

/* Codes of a lane's word. */
static int code_words(int bits)
{
    return bits == 16 ? 1 : WARP / bits;
}

/* Codes of a word, and bins, that a block's shared memory holds. */
static void fit(const struct rw_hist_call *call, int *n_codes, uint32_t *n_bins)
{
    const size_t cell = call->sums == RW_HIST_NEWTON ? 8 : 4;
    const size_t room = call->shared_bytes - 1024; /* the kernel's own */
    *n_codes = code_words(call->matrix->bits);
    *n_bins = call->matrix->n_bins;
    while (*n_codes > 1 && *n_bins * cell * WARP * (size_t)*n_codes > room)
        *n_codes /= 2;
    while (*n_bins * cell * WARP > room)
        *n_bins = (*n_bins + 1) / 2;
}

static uint64_t list_end(const struct rw_hist_call *call)
{
    uint64_t end = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        const uint64_t last = call->node[i].first + call->node[i].n;
        end = last > end ? last : end;
    }
    return (end + 63) / 64 * 64;
}

static uint64_t longest_node(const struct rw_hist_call *call)
{
    uint64_t longest = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        longest = call->node[i].n > longest ? call->node[i].n : longest;
    return longest;
}

static int is_wide(const struct rw_hist_call *call)
{
    return longest_node(call) * (uint64_t)call->largest >= (uint64_t)1 << 31;
}

static int words_of(const struct rw_hist_call *call)
{
    return 1 + is_wide(call) + (call->sums == RW_HIST_NEWTON);
}

/* Drained cells of one node over all tiles, in 64-bit words. */
static uint64_t node_words(const struct rw_hist_call *call)
{
    uint64_t cells = 0;
    for (uint32_t t = 0; t < call->matrix->n_tiles; t++)
        cells += (uint64_t)call->matrix->tile[t].lanes * code_words(call->matrix->bits) *
                 call->matrix->n_bins;
    return cells * (uint64_t)words_of(call);
}

static size_t lanes_scratch(const struct rw_hist_call *call)
{
    return list_end(call) * 4 * (call->sums == RW_HIST_NEWTON ? 2 : 1) +
           node_words(call) * call->n_nodes * 8;
}

/* All rows of the plan; returns their number. */
static uint32_t make_rows(const struct rw_hist_call *call, struct plan_row *row, int n_codes,
                          uint32_t n_bins)
{
    const struct rw_hist_matrix *matrix = call->matrix;
    const int words = words_of(call);
    uint32_t n = 0;
    uint64_t cells = 0;
    for (uint32_t t = 0; t < matrix->n_tiles; t++) {
        const struct rw_hist_tile *tile = &matrix->tile[t];
        for (int code = 0; code < code_words(matrix->bits); code += n_codes) {
            if (code * tile->lanes >= tile->n_features)
                break;
            for (uint32_t bin = 0; bin < matrix->n_bins; bin += n_bins) {
                struct plan_row r = {};
                r.d_word = tile->d_word;
                r.cells = cells;
                r.first_bin = (uint16_t)bin;
                r.n_bins = (uint16_t)(matrix->n_bins - bin < n_bins ? matrix->n_bins - bin : n_bins);
                r.first_feature = (uint16_t)tile->first_feature;
                r.n_features = (uint16_t)tile->n_features;
                r.lanes = (uint8_t)tile->lanes;
                r.first_code = (uint8_t)code;
                r.n_codes = (uint8_t)n_codes;
                cells += (uint64_t)r.n_bins * n_codes * tile->lanes * words;
                row[n++] = r;
            }
        }
    }
    return n;
}

static uint32_t chunks_of(const struct rw_hist_call *call, uint64_t docs_a_chunk)
{
    uint64_t chunks = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        chunks += chunks_of_node(call->node[i], docs_a_chunk);
    return (uint32_t)chunks;
}

/* Chunks as even as they go with no more blocks than fit on the device at once, where the nodes are few
 * enough for that. Returns the largest number of chunks of a row. */
static uint32_t set_chunks(const struct rw_hist_call *call, struct plan_row *row, uint32_t n_rows,
                           int blocks_at_once)
{
    const uint64_t longest = longest_node(call);
    uint64_t docs = 0;
    double lanes = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        docs += call->node[i].n;
    for (uint32_t r = 0; r < n_rows; r++)
        lanes += row[r].lanes;
    double size = (double)docs * lanes / WARP / blocks_at_once; /* whole rows of 32 lanes */
    if (size < RW_TUNE_LANES_LEAST_DOCS)
        size = RW_TUNE_LANES_LEAST_DOCS;
    for (;;) {
        uint64_t blocks = 0;
        uint32_t most = 0;
        int all_whole = 1;
        for (uint32_t r = 0; r < n_rows; r++) {
            double chunk = size * WARP / row[r].lanes;
            chunk = chunk > 2e9 ? 2e9 : chunk;
            row[r].docs_a_chunk =
                ((uint32_t)chunk + CHUNK_UNIT - 1) / CHUNK_UNIT * CHUNK_UNIT;
            all_whole &= row[r].docs_a_chunk >= longest + CHUNK_UNIT;
            const uint32_t chunks = chunks_of(call, row[r].docs_a_chunk);
            blocks += chunks;
            most = chunks > most ? chunks : most;
        }
        if (blocks <= (uint64_t)blocks_at_once || all_whole ||
            call->n_nodes * n_rows > (uint32_t)blocks_at_once)
            return most;
        size *= 1.01;
    }
}

#endif
