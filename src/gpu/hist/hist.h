/* Weighted histograms on the device: one interface, a method a file (hist_<method>.cu),
 * but for small ones, which hist_atomic.cu has.
 *
 * A method adds, for each node (a list of documents) and each feature of a matrix, every document's
 * count and quantised lambda (and hessian) to the cell of the document's code: Algorithm 1 of Xu et
 * al., "Efficient weighted histogramming on GPUs with CUDA", in exact integers. All methods give
 * the integers of `serial`.
 *
 * To add a method: (1) write hist_<name>.cu, which defines `const struct rw_hist_method
 * rw_hist_<name>`, (2) add the row RW_HIST_METHOD(<name>) to methods.def. That is all: the build,
 * `--hist`, the choice between methods and the tests go by the rows. hist_block.cuh has what most
 * methods need; hist_atomic.cu has the shortest examples.
 *
 * Rules common to all: launches go to the call's stream; nothing is allocated, and the
 * host waits for nothing (but for codes of its own memory: rw_hist_far); scratch is the caller's,
 * of the size that `scratch_bytes` says. Offsets have 64 bits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/ctx.h"
#include "gpu/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A word of codes in a column: 8 of 4 bits, 4 of 8 bits or 2 of 16 bits, the lowest bits first. */
enum { RW_HIST_WORD_BITS = 32 };
/* Codes of a feature: its bins and one code for missing values. */
enum { RW_HIST_MOST_BINS = RW_MAX_BINS + 1 };

/* Row-major codes of the features of one tile. A document has `lanes` elements (a power of 2, 1 to
 * 32), so a warp reads 32 / lanes documents at once and a lane keeps to its features. An element is
 * a word of 8 codes of 4 bits or 4 codes of 8 bits, or one code of 16 bits in 2 bytes. The code in
 * bits [j * bits, (j + 1) * bits) of element l is that of the tile's feature j * lanes + l:
 * neighbouring lanes own neighbouring features, whose cells lie in different banks of shared
 * memory. */
struct rw_hist_tile {
    int bits; /* the matrix's; 4 for features of at most 16 codes in a matrix of 8, under 32 lanes
               */
    uint32_t first_feature, n_features; /* of the matrix; n_features <= lanes * codes an element */
    uint32_t lanes;
    const void
        *d_word; /* [n_docs][lanes] elements; padded with code 0 to a multiple of 128 bytes */
    /* Codes that do not fit the device: d_word has those of documents [0, n_here) alone, and
     * far_word, in page-locked memory of the host, those of the others: [n_docs - n_here][lanes].
     * NULL: d_word has them all. */
    const void *far_word;
    uint32_t n_here;
};

enum { RW_HIST_MAX_TILES = 128 };

/* A group of features whose codes have one width. Both layouts are optional: a method's table entry
 * says which it reads. */
struct rw_hist_matrix {
    int bits; /* 4, 8 or 16 */
    uint32_t n_features, n_docs;
    uint32_t n_bins; /* codes of a feature, at most: 1 to 16, 256 or RW_HIST_MOST_BINS */
    /* Where each feature's cells begin in a histogram, [n_features + 1] multiples of 4, the last
     * their end: a feature has a cell for each code that its documents have, at most n_bins. NULL:
     * every feature has n_bins cells. */
    const uint32_t *d_row;
    uint32_t n_row_cells; /* d_row's end */
    uint32_t n_tiles;
    struct rw_hist_tile tile[RW_HIST_MAX_TILES];
    const uint32_t *d_column; /* [n_features][column_words]; NULL: not there */
    uint64_t
        column_words; /* of a feature: n_docs codes, padded with code 0 to a multiple of 32 words */
};

/* A node's documents: positions [first, first + n) of the list, or, without a list, those
 * documents.
 */
struct rw_hist_node {
    uint64_t first;
    uint64_t n;
};

enum rw_hist_sums {
    RW_HIST_COUNT,  /* counts only */
    RW_HIST_MART,   /* count and lambda */
    RW_HIST_NEWTON, /* count, lambda and hessian */
    RW_HIST_FLOAT   /* count and a float, for the papers' tables only: not exact */
};
/* A method's set of these. */
enum {
    RW_HIST_ANY_SUMS =
        1 << RW_HIST_COUNT | 1 << RW_HIST_MART | 1 << RW_HIST_NEWTON | 1 << RW_HIST_FLOAT
};

enum { RW_HIST_MAX_NODES = 1024 };

/* Bytes of a document's codes in a tile. */
static inline uint32_t rw_hist_tile_doc_bytes(const struct rw_hist_matrix *matrix, uint32_t tile)
{
    return matrix->tile[tile].lanes * (matrix->bits == 16 ? 2 : 4);
}

static inline size_t rw_hist_round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Cells of a histogram. */
static inline uint64_t rw_hist_matrix_cells(const struct rw_hist_matrix *matrix)
{
    return matrix->d_row ? matrix->n_row_cells : (uint64_t)matrix->n_features * matrix->n_bins;
}

/* Histograms of the shape of a call's results, one after another. */
struct rw_hist_pool {
    uint32_t *d_count;  /* [][cells] */
    void *d_lambda_sum; /* NULL for counts */
    void *d_hess_sum;   /* newton */
};
#define RW_HIST_NO_PARENT UINT32_MAX

/* Sums are int64_t, or, narrow, int32_t: may they be, of so many documents of numbers up to
 * `largest`? Bytes of one; of a cell of counts and them. The sums from index `at` on; NULL stays
 * NULL. */
static inline int rw_hist_is_narrow(uint64_t n_docs, int32_t largest)
{
    return n_docs * (uint64_t)largest <= INT32_MAX;
}
static inline size_t rw_hist_sum_bytes(int narrow)
{
    return narrow ? sizeof(int32_t) : sizeof(int64_t);
}
static inline size_t rw_hist_cell_bytes(int newton, int narrow)
{
    return sizeof(uint32_t) + (newton ? 2 : 1) * rw_hist_sum_bytes(narrow);
}
static inline void *rw_hist_sums_from(void *d_sum, uint64_t at, int narrow)
{
    return d_sum ? (char *)d_sum + at * rw_hist_sum_bytes(narrow) : NULL;
}

/* What it takes to read codes of the host's memory: two pieces of the device's, a stream of their
 * own on which one is filled while the other is read, and the order in which documents are read:
 * window by window (hist_matrix.c). A call waits for the device, so it cannot be
 * captured, and takes lambdas by document. */
struct rw_hist_far {
    void *d_piece[2]; /* 256-byte aligned */
    uint64_t piece_bytes;
    int log_window;            /* a window is 2^log_window documents */
    uint32_t n_windows;        /* of all documents */
    uint32_t *d_order;         /* [n_docs] */
    struct rw_arena arena;     /* of what is not the caller's */
    uint32_t *d_table, *table; /* [table_words], table: page-locked */
    uint64_t table_words;
    uint64_t *bytes; /* what is read of the host's memory is added */
    void *stream;    /* cudaStream_t */
    void *event[6];  /* cudaEvent_t, by rw_hist_far_event */
};
/* Gathered and added: one more for the second piece. */
enum rw_hist_far_event { RW_FAR_BEGUN, RW_FAR_ORDERED, RW_FAR_GATHERED, RW_FAR_ADDED = 4 };
enum { RW_HIST_FAR_LEAST_BYTES = 8192 }; /* of a piece for 64 nodes */

/* Bytes of the device's memory for codes of n_docs documents; and with that, 256-byte aligned. */
uint64_t rw_hist_far_bytes(uint64_t piece_bytes, uint32_t n_docs, int log_window);
int rw_hist_far_open(struct rw_ctx *ctx, void *d_memory, uint64_t piece_bytes, uint32_t n_docs,
                     int log_window, uint64_t *bytes, struct rw_hist_far *out);
void rw_hist_far_close(struct rw_hist_far *far);

struct rw_hist_call {
    const struct rw_hist_matrix *matrix;
    enum rw_hist_sums sums;
    const uint32_t *d_list; /* documents of all nodes; NULL: nodes are ranges of documents */
    const struct rw_hist_node *node;   /* [n_nodes] on the host */
    const struct rw_hist_node *d_node; /* [n_nodes] the same on the device */
    uint32_t n_nodes;
    const int32_t *d_lambda; /* [n_docs] quantised, |lambda| <= largest */
    const int32_t *d_hess;   /* [n_docs] newton: hessians, 0 to largest */
    /* 1: in their place d_moved is read, by position in d_list: words of rw_moved_of(newton,
     * largest). */
    int by_position;
    const void *d_moved;
    const float *d_float; /* [n_docs] RW_HIST_FLOAT */
    int32_t largest;      /* 1 to 32767 */
    int zero_skip;        /* leave out each feature's frequent code and derive it from the totals */
    const uint16_t *d_frequent; /* [n_features] the most frequent code; zero_skip only */
    /* The result, cleared by the method: cell (node, feature, bin) is
     * [(node * n_features + feature) * n_bins + bin], or [node * n_row_cells + d_row[feature] +
     * bin]. */
    uint32_t *d_count;  /* [n_nodes][cells] */
    void *d_lambda_sum; /* the same shape; NULL for counts and floats */
    void *d_hess_sum;   /* newton */
    float *d_float_sum; /* RW_HIST_FLOAT */
    int narrow;         /* 1: these sums, and the parents', are int32_t, which hold those of the
                           longest node; 0: int64_t */
    /* [n_features] 0: nobody asks for the feature's cells, which may be left as they were, as may
     * its sibling's. NULL: all are asked for. */
    const uint8_t *d_asked;
    /* Siblings by subtraction: node i's histogram is taken from that of index d_parent[i] of
     * `parents`, which becomes the sibling's; RW_HIST_NO_PARENT: none. NULL: no node has one. Not
     * for floats. */
    const uint32_t *d_parent; /* [n_nodes] */
    struct rw_hist_pool parents;
    void *d_scratch;               /* scratch_bytes(call) bytes, 256-byte aligned */
    int clean_scratch;             /* 1: all of it is 0; methods with leaves_clean leave it so */
    const struct rw_hist_far *far; /* NULL: all codes are on the device */
    int n_multiprocessors;         /* of the device */
    size_t shared_bytes;           /* that a block may take */
};

/* Documents of all nodes. */
static inline uint64_t rw_hist_docs(const struct rw_hist_call *call)
{
    uint64_t docs = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        docs += call->node[i].n;
    return docs;
}

/* Bits of numbers up to `most`. */
static inline uint32_t rw_hist_bits_of(uint64_t most)
{
    uint32_t bits = 0;
    while (most >> bits)
        bits++;
    return bits;
}

struct rw_hist_method {
    const char *name;   /* "lanes" */
    unsigned bits;      /* widths it takes, of 4 | 8 | 16; 0: all of them */
    uint32_t most_bins; /* codes a feature, at most */
    unsigned sums;      /* 1 << RW_HIST_MART | ... */
    int zero_skip;
    int reads_tiles; /* 1: tiles; 0: columns */
    /* Scratch that a call needs. */
    size_t (*scratch_bytes)(const struct rw_hist_call *call);
    /* Enqueues the work. `stream` is a cudaStream_t. Returns a cudaError_t. */
    int (*run)(const struct rw_hist_call *call, void *stream);
    int by_position;  /* takes lambdas and hessians by position in the list */
    int subtracts;    /* derives siblings itself; else rw_hist_run does */
    int leaves_clean; /* makes use of clean scratch, to clear nothing: see rw_hist_call */
    int is_baseline;  /* never chosen, only named: so slow that its timing would be felt */
    int reads_far;    /* takes tiles whose codes are not all on the device */
};

#define RW_HIST_METHOD(name) extern const struct rw_hist_method rw_hist_##name;
#include "gpu/hist/methods.def"
#undef RW_HIST_METHOD

/* The table, by index; NULL past the end. */
const struct rw_hist_method *rw_hist_method_at(int i);
const struct rw_hist_method *rw_hist_method_find(const char *name);

/* RW_OK, or RW_ERR_UNSUPPORTED with what the method does not declare, or RW_ERR_ARGUMENT for a call
 * that no method could take. */
int rw_hist_check(struct rw_ctx *ctx, const struct rw_hist_method *method,
                  const struct rw_hist_call *call);
/* Checks, then enqueues; siblings too. */
int rw_hist_run(struct rw_ctx *ctx, const struct rw_hist_method *method,
                const struct rw_hist_call *call, void *stream);

/* Enqueues the siblings of a call whose histograms are done (hist_common.cu). Returns a
 * cudaError_t. */
int rw_cuda_hist_subtract(const struct rw_hist_call *call, void *stream);
/* As the `run` of `collision-free`, with `unroll` words of codes in flight a thread: 1, 2, 4, 8, 16
 * or 32; and the unrolling that it takes itself for so many bins. */
int rw_cuda_hist_collision_free(const struct rw_hist_call *call, int unroll, void *stream);
int rw_hist_collision_free_unroll(uint32_t n_bins);

/* A group's codes on the device, in the layouts that histogram methods read. */
enum { RW_HIST_TILES = 1, RW_HIST_COLUMNS = 2 };

struct rw_hist_matrix_spec {
    int bits;
    uint32_t n_features, n_docs;
    uint32_t n_bins;   /* codes of a feature, at most; <= 2^bits */
    uint32_t n_narrow; /* the last so many features have at most 16 codes (8 bits only) */
    int layouts;       /* which to make */
};

/* A matrix but for the codes, that is, device memory; d_column is NULL, and where there are to be
 * columns column_words is set. Tiles are cut by powers of two: 136 features of 8 bits are one tile
 * of 32 lanes and one of 2. Narrow features fill up the last wide tile, the others stand in tiles
 * of 4 bits. RW_ERR_UNSUPPORTED for too many features; the matrix is there all the same. */
int rw_hist_matrix_plan(struct rw_ctx *ctx, const struct rw_hist_matrix_spec *spec,
                        struct rw_hist_matrix **out);
/* Its codes, too. NULL is fine. */
void rw_hist_matrix_free(struct rw_hist_matrix *matrix);

/* Which of several methods is the fastest, on a GPU that others may use at the same time, or under
 * a profiler: they run in turns, the least time of each counts, and none replaces the favourite by
 * times that cannot be. */
struct rw_hist_timing {
    const struct rw_hist_method *method;
    int zero_skip;
    double ms; /* the least of its runs */
};

/* Milliseconds of one run. */
typedef int rw_hist_time(void *user, const struct rw_hist_timing *contestant, double *ms);

/* Fills the times of n contestants, RW_TUNE_HYBRID_TURNS runs of each in turns. One that is
 * hopeless after two turns, by the best so far, runs no more; the favourite (NULL: none) always
 * does. */
int rw_hist_time_in_turns(struct rw_hist_timing *timing, int n,
                          const struct rw_hist_method *favourite, rw_hist_time *time, void *user);

/* What the call takes at least, in ms, if reading the device's memory is all that counts: bandwidth
 * in bytes a second. 0: not known, since codes are in the host's memory. */
double rw_hist_expected_ms(const struct rw_hist_call *call, double bandwidth);

/* The timing to go by, the first of equals; n: at least 1. The favourite's, unless another takes
 * less than RW_TUNE_HYBRID_FAVOUR of its time; and the favourite's in any case where it took more
 * than RW_TUNE_HYBRID_BELIEVED times what is expected, for then the times say nothing of methods.
 * expected_ms 0: all are believed. */
const struct rw_hist_timing *rw_hist_pick(const struct rw_hist_timing *timing, int n,
                                          const struct rw_hist_method *favourite,
                                          double expected_ms);

/* `hybrid`: which method builds the histograms of a feature group (Xu et al., "Efficient weighted
 * histogramming on GPUs with CUDA", section 4.5).
 *
 * Few bins by rule; otherwise the methods that can take the call are timed on it, with and without
 * zero-skip where they declare it, and the fastest is kept (rw_hist_pick); one that is not the
 * favourite is looked at again later. All methods give the same integers, so the choice never
 * changes a model.
 *
 * The rule: a group of at most RW_TUNE_HYBRID_FEW_LANES codes takes `lanes`; without `lanes` among
 * the candidates, one of at most RW_TUNE_HYBRID_FEW_FREE codes takes `collision-free`, as the
 * document does. */
enum { RW_HIST_MOST_CANDIDATES = 32 };

struct rw_hist_candidates {
    int n;
    const struct rw_hist_method *method[RW_HIST_MOST_CANDIDATES];
    /* Of many small nodes, of which a timed root says little, it is the best known: another must
     * take less than RW_TUNE_HYBRID_FAVOUR of its time. NULL: none. */
    const struct rw_hist_method *favourite;
};

struct rw_hist_choice {
    const struct rw_hist_method *method;
    int zero_skip;
    enum rw_hist_chosen { RW_HIST_BY_RULE, RW_HIST_BY_TIMING, RW_HIST_FORCED } how;
    double choosing_ms; /* what the choice cost */
    int n_timings;
    struct rw_hist_timing timing[2 * RW_HIST_MOST_CANDIDATES]; /* [n_timings] as they were run */
};

/* The method of that name; RW_ERR_ARGUMENT with the nearest name if there is none. */
int rw_hist_method_named(struct rw_ctx *ctx, const char *name, const struct rw_hist_method **out);

/* Which methods of the table training chooses from: all that have a word to say in it. */
void rw_hist_candidates_of_training(struct rw_hist_candidates *out);

/* The candidate that the rule gives a group of n_bins codes; NULL: they are to be timed. Timing is
 * also what happens to a call that the rule's method cannot take. */
const struct rw_hist_method *rw_hist_rule(const struct rw_hist_candidates *candidates,
                                          uint32_t n_bins);

/* Chooses for calls like this one, which is run, so that its results are written. Zero-skip is
 * tried where the call has d_frequent; the call's own zero_skip is not looked at. Waits for the
 * device. RW_ERR_UNSUPPORTED if no candidate can take the call, with the last one's reason. */
int rw_hist_choose(struct rw_ctx *ctx, const struct rw_device *device,
                   const struct rw_hist_call *call, const struct rw_hist_candidates *candidates,
                   struct rw_hist_choice *out);
/* Chooses again, between what was chosen and the favourite. Returns 1 if the choice is another one
 * then, 0 if it stays. The call is run as by rw_hist_choose. */
int rw_hist_choose_again(struct rw_ctx *ctx, const struct rw_device *device,
                         const struct rw_hist_call *call,
                         const struct rw_hist_candidates *candidates,
                         struct rw_hist_choice *choice);
/* The choice that the user made. RW_ERR_UNSUPPORTED with the method's limit if it cannot take the
 * call. */
int rw_hist_force(struct rw_ctx *ctx, const struct rw_hist_call *call,
                  const struct rw_hist_method *method, struct rw_hist_choice *out);

/* One line: "136 features of 8-bit codes: lanes (timed in 12.1 ms; ms: lanes 0.213, collision 3.2,
 * collision zero-skip 2.1)". Cut to `size`. */
void rw_hist_choice_text(const struct rw_hist_choice *choice, const struct rw_hist_matrix *matrix,
                         char *buffer, size_t size);

/* A document's quantised lambda and hessian in one word. It moves with the document along the list
 * of documents, so that the histograms of nodes read it in the order in which it stands, and
 * partitions copy no more bytes than there are. */
/* What a word holds: the lambda in the low bits, with two's complement, the hessian above it. */
enum rw_moved {
    RW_MOVED_LAMBDA, /* a lambda of 16 bits */
    RW_MOVED_BYTES,  /* both, of 8 bits */
    RW_MOVED_HALVES  /* both, of 16 bits */
};

/* The least that holds numbers up to `largest`, which is 1 to 32767. */
RW_HD enum rw_moved rw_moved_of(int newton, int32_t largest)
{
    if (!newton)
        return RW_MOVED_LAMBDA;
    return largest <= INT8_MAX ? RW_MOVED_BYTES : RW_MOVED_HALVES;
}

RW_HD size_t rw_moved_bytes(enum rw_moved moved)
{
    return moved == RW_MOVED_HALVES ? sizeof(uint32_t) : sizeof(uint16_t);
}

RW_HD uint32_t rw_moved_word(enum rw_moved moved, int32_t lambda, int32_t hess)
{
    return moved == RW_MOVED_BYTES ? (uint32_t)hess << 8 | ((uint32_t)lambda & 0xffu)
                                   : (uint32_t)hess << 16 | ((uint32_t)lambda & 0xffffu);
}

/* Word i of an array. */
RW_HD uint32_t rw_moved_at(enum rw_moved moved, const void *words, uint64_t i)
{
    return moved == RW_MOVED_HALVES ? ((const uint32_t *)words)[i] : ((const uint16_t *)words)[i];
}

RW_HD void rw_moved_set(enum rw_moved moved, void *words, uint64_t i, uint32_t word)
{
    if (moved == RW_MOVED_HALVES)
        ((uint32_t *)words)[i] = word;
    else
        ((uint16_t *)words)[i] = (uint16_t)word;
}

/* Algorithm 1 of weighted histogramming on the host: what every method on the device must equal. */
/* All arrays are on the host. codes: [n_features] of [n_docs]; list: documents, NULL: ranges; node:
 * [n_nodes]. Results of the shapes in hist.h, cleared first; those that are NULL are left out.
 * Floats are summed in double, in the order of the documents, and rounded once. */
struct rw_hist_serial {
    uint32_t n_features, n_bins;
    const uint16_t *const *codes;
    const uint32_t *list;
    const struct rw_hist_node *node;
    uint32_t n_nodes;
    const int32_t *lambda, *hess;
    const float *value;
    uint32_t *count;
    int64_t *lambda_sum, *hess_sum;
    float *float_sum;
};
void rw_hist_serial_run(const struct rw_hist_serial *job);

#ifdef __cplusplus
}
#endif
