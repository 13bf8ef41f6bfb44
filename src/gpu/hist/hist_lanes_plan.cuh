/* What the kernels of hist_lanes.cu are given: the rows of a launch and the chunks of documents.
 * hist_lanes_rows.cuh makes them. */
#ifndef RW_GPU_HIST_LANES_PLAN_CUH
#define RW_GPU_HIST_LANES_PLAN_CUH

#include <cuda_runtime.h>

#include "gpu/hist/hist.h"
#include "gpu/device/tuning.h"

enum { WARP = 32, THREADS = RW_TUNE_LANES_THREADS };
enum { MOST_ROWS = 64 };
static_assert((int)THREADS >= (int)RW_HIST_MAX_NODES, "a thread a node finds a block's chunk");

/* One row of the plan. */
struct plan_row {
    const void *d_word; /* of uint32_t, or of uint16_t for codes of 16 bits */
    uint64_t cells;     /* where its drained cells begin within a node's */
    uint32_t docs_a_chunk;
    uint32_t first_block; /* of the launch; a block takes a chunk */
    uint16_t first_bin;
    uint16_t n_bins;
    uint16_t first_feature; /* of the tile, in the matrix */
    uint16_t n_features;    /* of the tile */
    uint8_t lanes, first_code, n_codes;
    uint8_t bits;    /* the tile's */
    uint8_t in_part; /* some of the tile's bins only: codes are tested */
};

struct plan {
    struct plan_row row[MOST_ROWS];
    const uint32_t *d_list;
    const struct rw_hist_node *d_node;
    const int32_t *d_lambda; /* NULL: counts only */
    const int32_t *d_hess;   /* newton */
    int by_position;         /* these two are by position in the list, not by document */
    unsigned long long *d_cell;
    uint64_t node_cells; /* drained cells of a node */
    uint32_t n_nodes, n_rows, n_blocks;
    uint32_t room; /* documents that fit into a packed cell */
    int shift, largest;
    int clean;           /* drained cells are 0, and are left so */
    int wide;            /* count and lambda in words of their own: sums may pass 2^31 */
    int words;           /* of a drained cell: 1, or 2 if wide; one more for newton */
    uint32_t one;        /* a document of lambda 0, packed */
    uint32_t cell_bytes; /* of a block */
};

/* Codes that are not all on the device: where a row of the plan has those of the documents from
 * n_here on. far_word: as if the others' were before them. */
struct far_row {
    const char *far_word;
    uint32_t n_here;
};

struct far_plan {
    struct plan plan;
    struct far_row row[MOST_ROWS];
    unsigned long long *d_far_bytes; /* NULL: reads are not counted */
};
static_assert(sizeof(struct far_plan) <= 4000, "the arguments of a launch");

static __host__ __device__ __forceinline__ uint64_t chunks_of_node(const struct rw_hist_node &node,
                                                                   uint64_t docs_a_chunk)
{
    return (node.n + docs_a_chunk - 1) / docs_a_chunk;
}

/* How much of the codes a block holds in its cells; where they stand: hist_lanes_add.cuh. */
struct layout {
    int n_codes;        /* of a word, in one row of the plan */
    uint32_t room_bins; /* that a code has room for */
    uint32_t n_bins;    /* of a row */
    int apart;          /* newton: hessians in a launch of their own */
    size_t cell_bytes;
};

/* Of a tile of 4 bits in a matrix of 8. */
static __host__ __device__ constexpr size_t narrow_cell_bytes(int newton)
{
    return (size_t)WARP / 4 * 16 * WARP * sizeof(uint32_t) * (newton ? 2 : 1);
}

/* Documents and lambdas on their way from global memory, for all warps of a block. */
static __host__ __device__ constexpr size_t stage_bytes(int newton)
{
    return (size_t)THREADS / WARP * RW_TUNE_LANES_RING * RW_TUNE_LANES_UNROLL_16 *
           (newton ? 3 : 2) * sizeof(uint32_t);
}

#endif
