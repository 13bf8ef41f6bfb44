/* Weighted histograms on the device: one interface for all methods of training. Each method has a
 * file hist_<method>.cu. The laboratory (lab/) measures more methods with the same interface.
 *
 * A method processes each node (a list of documents) and each feature of a matrix. For every
 * document it adds 1 to the count in the cell of the document's code, and the quantised lambda and
 * hessian to that cell's sums, as far as the call needs them (enum rw_hist_sums). This is algorithm
 * 1 of Xu et al., "Efficient weighted histogramming on GPUs with CUDA". All methods give the
 * integers of tests/check/hist_serial.c; only RW_HIST_FLOAT is not exact. Here, `mart` means counts
 * and sums of lambdas, and `newton` also sums of hessians.
 *
 * To add a method: (1) write hist_<name>.cu, which defines `const struct rw_hist_method
 * rw_hist_<name>`; (2) add the row RW_HIST_METHOD(<name>) to methods.def. The build, `--hist`, the
 * choice between methods and the tests use the rows. hist_block.cuh has the parts that most methods
 * need; hist_global_atomic.cu is the shortest example.
 *
 * Rules for all methods: launches use the stream that `run` gets; with codes in host memory, also
 * that of struct rw_hist_far, and the method waits for the device. A method allocates nothing: the
 * caller owns the scratch. An index into results or codes has 64 bits; one within a histogram fits
 * 32. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/ctx.h"
#include "gpu/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most codes of a feature (its bins and one code for missing values), tiles of a matrix and
 * nodes of a call. */
enum { RW_HIST_MOST_BINS = RW_MAX_BINS + 1, RW_HIST_MAX_TILES = 128, RW_HIST_MAX_NODES = 1024 };

/* The codes of some features of a matrix, document by document. A document has a row of `lanes`
 * elements (a power of 2, 1 to 32), and a warp reads 32 / lanes documents at once. An element is a
 * word of 8 codes of 4 bits or 4 codes of 8 bits, or one code of 16 bits in 2 bytes. Bits [j *
 * bits, (j + 1) * bits) of element l have the code of the tile's feature j * lanes + l. So
 * neighbouring lanes own neighbouring features, whose cells are in different banks of shared
 * memory. */
struct rw_hist_tile {
    int bits; /* as in the matrix. In a matrix of 8 bits, a tile of features with at most 16 codes
                 may have 4; it then has at most 16 lanes */
    uint32_t first_feature, n_features; /* of the matrix; n_features <= lanes * codes per element */
    uint32_t lanes;
    const void *d_word; /* [n_docs][lanes]; padded with code 0 to a multiple of 128 bytes */
    /* [n_docs - n_here][lanes] in page-locked host memory. Then d_word has only the rows of
     * documents [0, n_here). NULL: it has all rows. */
    const void *far_word;
    uint32_t n_here;
};

/* A group of features whose codes have the same width. The codes have two layouts, both optional:
 * tiles, and columns, one per feature. A method reads one of them (rw_hist_method.reads_tiles). */
struct rw_hist_matrix {
    int bits; /* 4, 8 or 16 */
    uint32_t n_features, n_docs;
    uint32_t n_bins; /* largest number of codes of a feature, at least 1; at most 16, 256 or
                        RW_HIST_MOST_BINS for 4, 8 or 16 bits */
    /* Where each feature's cells begin in a histogram: [n_features + 1] multiples of 4. A feature
     * has a cell for each of its codes, and up to 3 cells of padding. NULL: every feature has
     * n_bins cells. */
    const uint32_t *d_row;
    uint32_t n_row_cells; /* the last number of d_row: the cells of a histogram */
    uint32_t n_tiles;
    struct rw_hist_tile tile[RW_HIST_MAX_TILES];
    /* [n_features][column_words]: words of 32 bits with the codes of n_docs documents, the lowest
     * bits first, padded with code 0 to a multiple of 32 words. NULL: no columns. */
    const uint32_t *d_column;
    uint64_t column_words;
};

/* A node's documents: positions [first, first + n) of the list. Without a list, positions are
 * document numbers. */
struct rw_hist_node {
    uint64_t first;
    uint64_t n;
};

enum rw_hist_sums {
    RW_HIST_COUNT,  /* counts only */
    RW_HIST_MART,   /* count and lambda */
    RW_HIST_NEWTON, /* count, lambda and hessian */
    RW_HIST_FLOAT   /* count and the sum of d_float, only for the papers' tables; not exact */
};
/* All of enum rw_hist_sums, as a set of bits for rw_hist_method.sums. */
enum { RW_HIST_ANY_SUMS = (2 << RW_HIST_FLOAT) - 1 };

/* Returns the bytes of a document's codes in a tile. */
static inline uint32_t rw_hist_tile_doc_bytes(const struct rw_hist_matrix *matrix, uint32_t tile)
{
    return matrix->tile[tile].lanes * (matrix->bits == 16 ? 2 : 4);
}
/* Rounds up to a multiple of 256. */
static inline size_t rw_hist_round_up(size_t bytes)
{
    return (bytes + 255) / 256 * 256;
}
static inline uint64_t rw_hist_matrix_cells(const struct rw_hist_matrix *matrix)
{
    return matrix->d_row ? matrix->n_row_cells : (uint64_t)matrix->n_features * matrix->n_bins;
}

/* Several histograms, one after another, each with rw_hist_matrix_cells cells. Sums have the type
 * of the call's results. */
struct rw_hist_pool {
    uint32_t *d_count;  /* [n][cells] */
    void *d_lambda_sum; /* [n][cells]; NULL for RW_HIST_COUNT */
    void *d_hess_sum;   /* [n][cells] for RW_HIST_NEWTON; else NULL */
};
/* A value in rw_hist_call.d_parent: the node has no parent. */
#define RW_HIST_NO_PARENT UINT32_MAX

/* Sums are int64_t, or int32_t if they are narrow. Returns 1 if they may be narrow: if sums of
 * n_docs numbers up to `largest` fit 32 bits. */
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
/* Returns the address of the sum with index `at`; NULL if d_sum is NULL. */
static inline void *rw_hist_sums_from(void *d_sum, uint64_t at, int narrow)
{
    return d_sum ? (char *)d_sum + at * rw_hist_sum_bytes(narrow) : NULL;
}

/* Resources for reading codes in host memory (hist_lanes_far.cu). There are two pieces of device
 * memory, and a stream on which one is filled while the other is read. Documents are read in the
 * order `d_order`, window by window: a range of 2^log_window document numbers. A call with these
 * resources waits for the device, and reads lambdas by document. */
struct rw_hist_far {
    void *d_piece[2]; /* 256-byte aligned */
    uint64_t piece_bytes;
    int log_window;            /* log2 of the documents of a window */
    uint32_t n_windows;        /* of all documents */
    uint32_t *d_order;         /* [n_docs] */
    struct rw_arena arena;     /* owns `table`, the stream and the events */
    uint32_t *d_table, *table; /* [table_words] each, on the device and in page-locked memory; see
                                  struct lanes_order */
    uint64_t table_words;
    uint64_t *bytes; /* borrowed counter, to which the bytes read from host memory are added */
    void *stream;    /* cudaStream_t */
    void *event[6];  /* cudaEvent_t, indexed by enum rw_hist_far_event */
};
/* RW_FAR_GATHERED and RW_FAR_ADDED have an event for each piece: add 0 or 1, the piece's index. */
enum rw_hist_far_event { RW_FAR_BEGUN, RW_FAR_ORDERED, RW_FAR_GATHERED, RW_FAR_ADDED = 4 };
/* The least piece_bytes: enough for 64 nodes and about 50 documents with rows of 128 bytes. */
enum { RW_HIST_FAR_LEAST_BYTES = 8192 };

/* Returns the bytes of device memory for two pieces, and for the order and the table of n_docs
 * documents. */
uint64_t rw_hist_far_bytes(uint64_t piece_bytes, uint32_t n_docs, int log_window);
/* Divides d_memory, which has that size and is aligned to 256 bytes, and makes the other resources.
 * bytes: becomes out->bytes. */
int rw_hist_far_open(struct rw_ctx *ctx, void *d_memory, uint64_t piece_bytes, uint32_t n_docs,
                     int log_window, uint64_t *bytes, struct rw_hist_far *out);
void rw_hist_far_close(struct rw_hist_far *far);

struct rw_hist_call {
    const struct rw_hist_matrix *matrix;
    enum rw_hist_sums sums;
    const uint32_t *d_list; /* documents of all nodes; NULL: nodes are ranges of document numbers */
    const struct rw_hist_node *node;   /* [n_nodes] on the host */
    const struct rw_hist_node *d_node; /* [n_nodes] the same on the device */
    uint32_t n_nodes;
    /* 0: `node` has the same nodes as d_node. Otherwise the device knows the nodes earlier than the
     * host: `node` has estimates of their sizes, and no node has more documents than this. Only for
     * methods that read tiles. */
    uint64_t most_docs;
    const int32_t *d_lambda; /* [n_docs] quantised, |lambda| <= largest */
    const int32_t *d_hess;   /* [n_docs] newton: hessians, 0 to largest */
    /* 1: instead of d_lambda and d_hess, d_moved is read: words of rw_moved_of(newton, largest), by
     * position in d_list. Without d_list, by_position is ignored. */
    int by_position;
    const void *d_moved;
    const float *d_float; /* [n_docs] RW_HIST_FLOAT */
    int32_t largest;      /* 1 to 32767 */
    int zero_skip; /* 1: leaves out each feature's frequent code and derives its cell from the
                      totals */
    const uint16_t *d_frequent; /* [n_features] the most frequent code; zero_skip only */
    /* The result; its old content does not matter. The cell (node, feature, bin) has the index node
     * * n_row_cells + d_row[feature] + bin. If the matrix has no d_row, the index is (node *
     * n_features + feature) * n_bins + bin. */
    uint32_t *d_count;  /* [n_nodes][cells] */
    void *d_lambda_sum; /* [n_nodes][cells] for mart and newton */
    void *d_hess_sum;   /* [n_nodes][cells] for newton */
    float *d_float_sum; /* [n_nodes][cells] for RW_HIST_FLOAT */
    /* 1: the sums of lambdas and hessians, here and in `parents`, are int32_t, which must fit the
     * longest node's (rw_hist_is_narrow). 0: they are int64_t. */
    int narrow;
    /* [n_features] 0: the feature's cells are not needed. A method may leave them as they were, in
     * the result and in `parents`. NULL: all are needed. */
    const uint8_t *d_needed;
    /* Siblings by subtraction: node i's histogram is subtracted from the one with index d_parent[i]
     * in `parents`, which becomes the sibling's. RW_HIST_NO_PARENT: the node has no parent. NULL:
     * no node has one. Not for floats. */
    const uint32_t *d_parent; /* [n_nodes] */
    struct rw_hist_pool parents;
    void *d_scratch;               /* scratch_bytes(call) bytes, 256-byte aligned */
    int clean_scratch;             /* 1: all of it is 0; methods that read tiles leave it 0 again */
    const struct rw_hist_far *far; /* NULL: all codes are on the device */
    int n_multiprocessors;         /* of the device */
    size_t shared_bytes;           /* largest shared memory of a block */
};

static inline uint64_t rw_hist_docs(const struct rw_hist_call *call)
{
    uint64_t docs = 0;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        docs += call->node[i].n;
    return docs;
}

/* Returns the bits of numbers up to `most`. */
static inline uint32_t rw_hist_bits_of(uint64_t most)
{
    uint32_t bits = 0;
    while (most >> bits)
        bits++;
    return bits;
}

struct rw_hist_method {
    const char *name;   /* "lanes" */
    uint32_t most_bins; /* largest number of codes per feature */
    unsigned sums;      /* accepted sums: 1 << RW_HIST_MART | ... */
    /* 1: reads tiles, and accepts host-resident codes, lambdas by_position, and estimates of nodes
     * (most_docs) for codes on the device. 0: reads columns, and accepts zero_skip. */
    int reads_tiles;
    int is_baseline; /* 1: used only if named; too slow to be timed */
    size_t (*scratch_bytes)(const struct rw_hist_call *call);
    /* Enqueues the work on `stream`, a cudaStream_t, with the subtraction from the parents if the
     * call has d_parent. Returns a cudaError_t. Called by rw_hist_run after its checks. */
    int (*run)(const struct rw_hist_call *call, void *stream);
};

#define RW_HIST_METHOD(name) extern const struct rw_hist_method rw_hist_##name;
#include "gpu/hist/methods.def"
#undef RW_HIST_METHOD

/* Returns a method of methods.def by its index there; NULL after the last. */
const struct rw_hist_method *rw_hist_method_at(int i);

/* Check a call; rw_hist_run then enqueues it. Fail with RW_ERR_ARGUMENT if no method could take the
 * call or it lacks scratch, and with RW_ERR_UNSUPPORTED if this method cannot take it. */
int rw_hist_check(struct rw_ctx *ctx, const struct rw_hist_method *method,
                  const struct rw_hist_call *call);
int rw_hist_run(struct rw_ctx *ctx, const struct rw_hist_method *method,
                const struct rw_hist_call *call, void *stream);

/* The layouts of struct rw_hist_matrix, as a set of bits. */
enum { RW_HIST_TILES = 1, RW_HIST_COLUMNS = 2 };

struct rw_hist_matrix_spec {
    int bits;
    uint32_t n_features, n_docs;
    uint32_t n_bins;   /* largest number of codes of a feature; <= 2^bits */
    uint32_t n_narrow; /* the last n_narrow features have at most 16 codes (8 bits only) */
    int layouts;       /* a set of RW_HIST_TILES and RW_HIST_COLUMNS */
};

/* Makes a matrix without codes or device memory: 136 features of 8 bits are one tile of 32 lanes
 * and one of 2. The n_narrow features first fill the room that the last tile of 8 bits has left;
 * the rest of them are in tiles of 4 bits. Fails with RW_ERR_UNSUPPORTED if the features need more
 * than RW_HIST_MAX_TILES tiles. Even then it writes the matrix, which the caller frees. */
int rw_hist_matrix_plan(struct rw_ctx *ctx, const struct rw_hist_matrix_spec *spec,
                        struct rw_hist_matrix **out);
/* Frees the matrix and its codes, on the device and in host memory. Ignores NULL. */
void rw_hist_matrix_free(struct rw_hist_matrix *matrix);

/* A contestant in the timing of methods: a method with or without zero-skip. */
struct rw_hist_timing {
    const struct rw_hist_method *method;
    int zero_skip;
    double ms; /* its shortest run */
};

/* Returns the time of the call in ms if only the bandwidth of the device memory (bytes per second)
 * and a launch count. */
double rw_hist_expected_ms(const struct rw_hist_call *call, double bandwidth);

/* Returns the timing of the contestant to use, the first of equals; n: at least 1. It is the
 * preferred method's, unless the fastest takes at most RW_TUNE_HYBRID_FAVOUR of that method's time.
 * The preferred method is also used if it took more than RW_TUNE_HYBRID_BELIEVED times the expected
 * time, because then the times are not reliable. If no contestant is the preferred method, the
 * fastest is used. */
const struct rw_hist_timing *rw_hist_pick(const struct rw_hist_timing *timing, int n,
                                          const struct rw_hist_method *favourite,
                                          double expected_ms);

/* ---- `hybrid`: the choice of a group's method ----
 *
 * See Xu et al., section 4.5. A group with at most RW_TUNE_HYBRID_FEW_LANES codes per feature uses
 * `lanes`. For another group, the methods that can take the call are timed on it, with and without
 * zero-skip where they support it. All methods give the same integers, so the choice never changes
 * a model. */
enum { RW_HIST_MOST_CANDIDATES = 16 };

struct rw_hist_candidates {
    int n;
    const struct rw_hist_method *method[RW_HIST_MOST_CANDIDATES];
    /* The preferred method: the best known for many small nodes, which the timed root does not
     * represent. NULL: no preference. */
    const struct rw_hist_method *favourite;
};

/* The method of a group, and how it was chosen. RW_HIST_BY_RULE: without timing. RW_HIST_FORCED:
 * the user named it. */
struct rw_hist_choice {
    const struct rw_hist_method *method;
    int zero_skip;
    enum rw_hist_chosen { RW_HIST_BY_RULE, RW_HIST_BY_TIMING, RW_HIST_FORCED } how;
    double choosing_ms;
    int n_timings; /* in the order of candidates */
    struct rw_hist_timing timing[2 * RW_HIST_MOST_CANDIDATES];
};

/* Finds a method by name; NULL: *out is NULL. Fails with RW_ERR_ARGUMENT if there is no such
 * method. The message suggests the nearest name, or states that the laboratory has the method. */
int rw_hist_method_named(struct rw_ctx *ctx, const char *name, const struct rw_hist_method **out);

/* Chooses a method for calls like this one. The call is run, once or often, so its results are
 * written, and it must not have d_parent. Tries zero-skip if the call has d_frequent, and ignores
 * the call's zero_skip. Waits for the device if it times candidates. If no candidate can take the
 * call, fails as the last one does in rw_hist_check. */
int rw_hist_choose(const struct rw_device *device, const struct rw_hist_call *call,
                   const struct rw_hist_candidates *candidates, struct rw_hist_choice *out);
/* Writes one line, cut to `size`: "histograms: 136 features of 8-bit codes: lanes (timed in 12.1
 * ms; ms: lanes 0.213, collision 3.200, collision zero-skip 2.100)". */
void rw_hist_choice_text(const struct rw_hist_choice *choice, const struct rw_hist_matrix *matrix,
                         char *buffer, size_t size);

/* ---- moved words ----
 *
 * A document's quantised lambda, in the low bits in two's complement, and, for newton, its hessian
 * above it. The word moves with the document in the list of documents. So histograms read it in
 * list order, and partitions copy as few bytes as possible. */
enum rw_moved {
    RW_MOVED_LAMBDA, /* 16 bits: the lambda */
    RW_MOVED_BYTES,  /* 16 bits: lambda and hessian of 8 bits each */
    RW_MOVED_HALVES  /* 32 bits: lambda and hessian of 16 bits each */
};

/* Returns the smallest word for lambdas from -largest to largest and, for newton, hessians from 0
 * to largest. largest: 1 to 32767. */
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

/* Returns word i of an array. */
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

#ifdef __cplusplus
}
#endif
