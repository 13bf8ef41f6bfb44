/* A model made ready for scoring many documents on the CPU, 128 at a time.
 *
 * A column is a feature and a direction of missing values. Its distinct thresholds are
 * sorted; a value's code is the number of thresholds below it, so value <= threshold j is the same
 * as code <= j. A missing value's code is 0 where missing goes left and the number of thresholds
 * where it goes right. So codes decide as walk.h does, and are small integers: one byte if no
 * column has more than 255 thresholds, else two.
 *
 * A tree of few leaves is not walked. All its nodes are looked at, children before parents, for all
 * documents of a block at once: with leaves numbered from left to right within a subtree, a
 * document's leaf below a node is its leaf below the left child, or that below the right child and
 * as many leaves as the left child has. There is no branch, and with vectors 64 documents of a node
 * cost a comparison and an addition. (QuickScorer, Lucchese et al. 2015, also looks at all nodes,
 * and removes the leaves that a document cannot reach from a set; a number takes fewer bits.) A
 * tree of many leaves is walked by code, some documents side by side. Nodes of two leaves, a third
 * of all, come first, as a kind of their own: nothing below them needs to be loaded. */
#pragma once

#include "base/machine.h"
#include "model/flat.h"

enum {
    RW_PACKED_DOCS = 128, /* of a block; codes of a column lie together */
    RW_PACKED_HALF = 64,
    RW_PACKED_PIVOTS = 32,  /* pivots of a column, evenly among its thresholds, looked at first */
    RW_PACKED_TOP = 5,      /* log2 of it */
    RW_PACKED_BUFFERS = 20, /* of leaf numbers below nodes that wait for their parents */
    RW_PACKED_LAST = 128,   /* and of nodes of two leaves; what more there are go with the others */
    RW_PACKED_SMALL = 32    /* leaves are padded to so many */
};

struct rw_packed_column {
    uint32_t slot; /* of the flat model */
    uint32_t n_cuts;
    uint32_t missing;   /* the code of a missing value */
    uint32_t levels;    /* of the search: 2^levels > n_cuts; at least RW_PACKED_TOP */
    uint64_t first_cut; /* [RW_PACKED_PIVOTS] pivots, the first one unused; [2^levels] thresholds if
                           that is more; what is past the last threshold is infinity */
};

/* A node of a tree that is looked at whole. left, right and to: buffers, as offsets in bytes. */
struct rw_packed_node {
    uint32_t column; /* offset in bytes of its codes in the block's */
    uint32_t cut;    /* greatest code that goes left; repeated to fill the word, like `skip` */
    uint32_t skip;   /* leaves below the left child */
    uint16_t left, right, to;
};

/* A node or a leaf of a tree that is walked. */
struct rw_packed_step {
    uint32_t column;
    uint32_t cut;  /* of a leaf: all codes go left */
    uint32_t left; /* a step of the tree, the right child is the next one; of a leaf: itself */
    uint32_t leaf; /* its number in the tree */
};

struct rw_packed_tree {
    uint64_t first; /* node or step */
    uint64_t first_leaf;
    uint32_t n_leaves;
    uint32_t n_last; /* nodes of two leaves, the first ones; the root is none */
    uint32_t walked;
};

struct rw_packed_ops;

struct rw_packed {
    const struct rw_flat *flat; /* borrowed */
    const struct rw_packed_ops *ops;
    double doc_ns;       /* expected of a document of a whole block */
    uint32_t code_bytes; /* 1 or 2 */
    uint32_t n_columns;
    int32_t n_trees;
    int32_t n_batches;
    struct rw_packed_column *column; /* [n_columns]; all arrays are in its arena (base/mem.h) */
    float *cut;                      /* see first_cut */
    struct rw_packed_node *node;     /* of all trees that are not walked, in the order of work */
    struct rw_packed_step *step;
    struct rw_packed_tree *tree; /* [n_trees] */
    int32_t *batch; /* [n_batches + 1] first trees of what a block's codes meet at once */
    float *leaf;    /* from left to right; of a walked tree, as the tree numbers them */
};

/* *out is NULL, and nothing failed, if the model is not of a kind that can be packed: a column has
 * more than 65535 thresholds, or columns or a tree are too many for the numbers here. flat stays
 * borrowed. Freed with rw_result_free. */
int rw_packed_new(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_packed_ops *ops,
                  struct rw_packed **out);

/* Bytes of a block's codes; a multiple of 64. */
static inline size_t rw_packed_codes_bytes(const struct rw_packed *packed)
{
    return (size_t)packed->n_columns * RW_PACKED_DOCS * packed->code_bytes;
}
/* Bytes of the buffers. The first one holds zeros. */
static inline size_t rw_packed_buffers_bytes(const struct rw_packed *packed)
{
    return (size_t)(RW_PACKED_BUFFERS + RW_PACKED_LAST) * RW_PACKED_DOCS * packed->code_bytes;
}

/* What is done with codes of one width (packed_tmpl.c). */
struct rw_packed_width {
    /* A column's codes [RW_PACKED_DOCS] of values; absent is resolved, NaN is missing. */
    void (*encode)(const struct rw_packed *packed, const struct rw_packed_column *column,
                   const float *values, void *codes);
    /* Adds trees [first, end) to score [RW_PACKED_DOCS], of which the first n_docs matter: where
     * half of them are enough, it is quicker. All but `score` are 64-byte aligned. */
    void (*add)(const struct rw_packed *packed, int32_t first, int32_t end, const void *codes,
                void *buffers, double *score, uint32_t n_docs);
};

/* What an instruction set does; the array's index: 0 for codes of one byte, 1 of two. */
struct rw_packed_ops {
    const char *name;
    uint32_t most[2]; /* leaves of a tree that is looked at whole; others are walked */
    double column_ns; /* a document's code of one column, about */
    double node_ns;   /* a document's share of a node that is looked at, codes of one byte */
    const struct rw_packed_width *width[2];
};

/* For a processor that has these instructions. */
const struct rw_packed_ops *rw_packed_ops(enum rw_isa isa);
extern const struct rw_packed_width rw_packed_plain_8, rw_packed_plain_16, rw_packed_avx2_8,
    rw_packed_avx2_16, rw_packed_avx512_8, rw_packed_avx512_16;

/* Walks the tree for the first n_docs documents of a block, or some more. For all instruction sets.
 */
void rw_packed_walk_8(const struct rw_packed *packed, const struct rw_packed_tree *tree,
                      const void *codes, double *score, uint32_t n_docs);
void rw_packed_walk_16(const struct rw_packed *packed, const struct rw_packed_tree *tree,
                       const void *codes, double *score, uint32_t n_docs);

struct rw_dataset;
/* scores: [n_docs], written. */
int rw_packed_scores(struct rw_ctx *ctx, const struct rw_packed *packed,
                     const struct rw_dataset *dataset, double *scores);

int rw_packed_rows(struct rw_ctx *ctx, const struct rw_packed *packed, const struct rw_rows *rows,
                   double *scores);

/* The same of lines that are no data set yet, by the calling thread, of a model without categories.
 */
struct rw_builder;
int rw_packed_lines(const struct rw_packed *packed, const struct rw_builder *lines, double *scores);

/* Expected of a model before it is packed: nanoseconds of a document by one thread, and of packing.
 */
double rw_packed_doc_ns(const struct rw_flat *flat, const struct rw_packed_ops *ops);
double rw_packed_make_ns(const struct rw_flat *flat);

/* --- blocks of documents, wherever their values are: rows, or data sets (packed.c,
 * device_scorer.c) --- */
struct rw_column;
struct rw_packed_job;

/* A thread's room. */
struct rw_packed_room {
    char *codes; /* [n_blocks][codes] */
    char *buffers;
    double *score; /* [n_blocks][RW_PACKED_DOCS] */
    float *value;  /* [n_blocks * RW_PACKED_DOCS + more_values] */
};

/* The codes of documents [begin, end), at most n_blocks blocks of them. */
typedef void rw_packed_encode_fn(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                                 const struct rw_packed_room *room);

/* The values of documents [begin, end), at most one block: value [n_used][RW_PACKED_DOCS]. */
typedef void rw_packed_turn_fn(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                               float *value);

struct rw_packed_job {
    const struct rw_packed *packed;  /* borrowed, as all */
    rw_packed_encode_fn *encode;     /* and what it reads: */
    const struct rw_column **column; /* [n_used] of slots; NULL: the data does not have it */
    rw_packed_turn_fn *turn;         /* or, with rw_packed_encode_turned, this, which reads */
    const struct rw_rows *rows;      /* these */
    const struct rw_builder *lines;  /* or these */
    size_t more_values; /* that `encode` wants room for, beside one for each document */
    /* the run's own */
    uint32_t n_blocks; /* encoded together */
    size_t room_bytes; /* of a thread */
    char *room;        /* [n_threads][room_bytes] */
};

/* By way of columns of a block, n_used * RW_PACKED_DOCS more values. */
rw_packed_encode_fn rw_packed_encode_turned;
/* scores: [n_docs], written. ctx NULL: by the calling thread. */
int rw_packed_run(struct rw_ctx *ctx, struct rw_packed_job *job, uint32_t n_docs, double *scores);
