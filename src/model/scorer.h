/* A model made ready to score (rankwood_score.h, rankwood.h): its forms for the plain walk
 * (rw_flat), for blocks of documents (rw_packed) and for one document (rw_single, rw_lanes), and
 * the device that data sets go to. */
#pragma once

#include "base/bits.h"
#include "base/machine.h"
#include "base/mem.h"
#include "model/model.h"

struct rw_builder;
struct rw_column;
struct rw_dataset;
struct rw_device_scorer;
struct rw_lanes;
struct rw_packed_job;
struct rw_packed_ops;

/* The first trees of a model in the form that scoring reads: nodes of 16 bytes one tree after
 * another, leaves in one array, features numbered by slots. The model may be freed. */
struct rw_flat {
    struct rw_arena arena; /* of all arrays */
    int32_t n_trees;
    float absent;                  /* what an absent feature is: 0 or NaN */
    struct rw_column_rule columns; /* which data it is for */
    uint32_t n_used;               /* features that some node asks for */
    uint32_t *feature;         /* [n_used] their ids, ascending: a slot is an index here; one for
                                  each set of categories */
    struct rw_walk_node *node; /* [first_node[n_trees]] */
    float *leaf;               /* [first_leaf[n_trees]] */
    uint64_t *first_node;      /* [n_trees + 1] of a tree in node */
    uint64_t *first_leaf;      /* [n_trees + 1] of a tree in leaf */
    uint32_t most_leaves;      /* of a tree */
    /* Splits by categories: each different set of codes has a slot of its own, whose value is 0 for
     * a category in the set and 1 for others, so that a node compares it with 1/2 like any. */
    struct rw_categories categories; /* the model's; owned */
    uint32_t *set_of; /* [n_used] 1 + the slot's set, 0: none; NULL: no slot has one */
    uint32_t n_sets;
    uint32_t set_words; /* of a set: as many as the feature with most categories needs */
    uint32_t *set_word; /* [n_sets][set_words] */
};

/* A slot's value from the code of the feature's category, or from the feature's own value. */
static inline float rw_flat_of_code(const struct rw_flat *flat, uint32_t slot, float value)
{
    return flat->set_of && flat->set_of[slot]
               ? rw_set_value(flat->set_word + (size_t)(flat->set_of[slot] - 1) * flat->set_words,
                              value)
               : value;
}
/* The same of a row's value: a category is a whole number there. */
float rw_flat_of_row(const struct rw_flat *flat, uint32_t slot, float value);

/* n_trees: the first so many; 0: all. RW_ERR_ARGUMENT if the model has not so many. Released by the
 * caller, also after a failure. */
int rw_flat_init(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                 int n_trees);
void rw_flat_release(struct rw_flat *flat); /* in any state after being zeroed */

/* Is the slot its feature's first? The sets of a feature's categories have a slot each. */
static inline int rw_flat_is_next_feature(const struct rw_flat *flat, uint32_t slot)
{
    return slot == 0 || flat->feature[slot] != flat->feature[slot - 1];
}

/* Where a walk down the tree begins. */
static inline int32_t rw_flat_root(const struct rw_flat *flat, int32_t tree)
{
    return flat->first_node[tree + 1] > flat->first_node[tree] ? 0 : ~0;
}

/* Documents as a matrix [n_docs][n_features] of features first, first + 1, ...; others are absent,
 * NaN is missing. */
struct rw_rows {
    const float *value; /* borrowed */
    uint32_t n_docs, n_features, first;
};

/* One document's score. values: [n_values] of features first, first + 1, ...; as above. */
double rw_flat_score(const struct rw_flat *flat, const float *values, size_t n_values,
                     uint32_t first);

/* Nodes that a document is expected to pass in all trees: a tree of n leaves grown best-first is
 * deeper than log2(n). For estimates of time. */
double rw_flat_steps(const struct rw_flat *flat);
double rw_flat_tree_steps(double n_leaves); /* of one tree */
/* Threads that it pays to share the trees among, while another form of the model is made. */
int rw_flat_threads(const struct rw_ctx *ctx, const struct rw_flat *flat);

/* --- distinct thresholds by column: what turns a value into the number of thresholds below it ---
 */
/* A node's column is its slot >> shift: with 0 a feature has a column for each treatment of missing
 * values, with 1 one for both. */
struct rw_thresholds {
    uint32_t n_columns; /* some of which no node may have */
    int shift;
    uint64_t *first; /* [n_columns + 1] of a column in key */
    uint32_t *n;     /* [n_columns] distinct ones */
    uint32_t *key;   /* of a column: numbers that order as the thresholds do; 0 and -0 are one */
};

/* In the arena. */
int rw_thresholds_init(struct rw_ctx *ctx, struct rw_arena *arena, struct rw_thresholds *thresholds,
                       const struct rw_flat *flat, int shift);

static inline uint32_t rw_threshold_key(float threshold)
{
    return rw_key_of_float(threshold == 0.0f ? 0.0f : threshold);
}

/* The column's i-th. */
static inline float rw_threshold(const struct rw_thresholds *thresholds, uint32_t column,
                                 uint32_t i)
{
    return rw_float_of_key(thresholds->key[thresholds->first[column] + i]);
}

/* Which one of its column a node has. */
static inline uint32_t rw_threshold_of(const struct rw_thresholds *thresholds,
                                       const struct rw_walk_node *node)
{
    const uint32_t column = node->slot >> thresholds->shift;
    return rw_numbers_under(thresholds->key + thresholds->first[column], thresholds->n[column],
                            rw_threshold_key(node->cut));
}

/* Walks down every tree for one of three, of which two are NULL. scores: [n_docs], written. leaves:
 * [n_docs][n_trees], written. counts: [leaves of all trees], to which the documents that fall into
 * each are added. */
int rw_flat_walk(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                 double *scores, int32_t *leaves, uint32_t *counts);

/* The data's columns by slot, [n_used]; NULL where the data does not have the feature. Those of
 * features by categories have codes, which rw_flat_of_code takes, and lie behind the array, which
 * is the caller's (rw_mem_free); the others are the dataset's. */
int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out);
/* Values of documents [begin, end) by row: [end - begin][n_used], written. scratch: [end - begin].
 */
void rw_flat_gather(const struct rw_flat *flat, const struct rw_column *const *columns,
                    uint32_t begin, uint32_t end, float *rows, float *scratch);

/* Gauss and Legendre's rule over [0, 1]: exact for polynomials up to degree 2 n - 1. point, weight:
 * [n], written. (shap.c) */
void rw_gauss_legendre(uint32_t n, double *point, double *weight);

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

/* scores: [n_docs], written. */
int rw_packed_scores(struct rw_ctx *ctx, const struct rw_packed *packed,
                     const struct rw_dataset *dataset, double *scores);

int rw_packed_rows(struct rw_ctx *ctx, const struct rw_packed *packed, const struct rw_rows *rows,
                   double *scores);

/* The same of lines that are no data set yet, by the calling thread, of a model without categories.
 */
int rw_packed_lines(const struct rw_packed *packed, const struct rw_builder *lines, double *scores);

/* Expected of a model before it is packed: nanoseconds of a document by one thread, and of packing.
 */
double rw_packed_doc_ns(const struct rw_flat *flat, const struct rw_packed_ops *ops);
double rw_packed_make_ns(const struct rw_flat *flat);

/* --- blocks of documents, wherever their values are: rows, or data sets (packed.c,
 * device_scorer.c) --- */

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

struct rw_scorer {
    struct rw_flat flat;
    struct rw_single *single; /* owned; NULL: the model is not of the kind */
    struct rw_packed *packed; /* owned; NULL: not made, or it does not pay */
    struct rw_score_map map;  /* of all trees; NONE where the scorer has fewer */
    /* Of data sets (device_scorer.c). Documents are walked until so many have come that it would
     * have paid to pack the model, if it ever does: then the choice costs at most twice the better
     * one's time, whatever comes. */
    double walked_ns; /* by this time, as expected; of one thread */
    int settled;
    struct rw_device_scorer *device; /* owned; NULL: the CPU */
    int is_auto;                     /* nobody chose the device */
    int undecided;                   /* auto: whether a GPU pays is yet to be seen */
    double cpu_ms;                   /* auto: what all runs so far should have taken on the CPU */
};

/* All but `packed`. */
int rw_scorer_make(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                   struct rw_scorer **out);

/* What scores lines as they are read, when it is known that this is the quickest; else NULL: data
 * sets are scored. n_docs: documents that it has scored since the last call. Valid until the
 * scorer's next call. (device_scorer.c) */
const struct rw_packed *rw_scorer_packed(struct rw_ctx *ctx, struct rw_scorer *scorer,
                                         uint32_t n_docs);
/* The device that the last run was on, or the next one will begin on: "cpu" or "cuda". */
const char *rw_scorer_device(const struct rw_scorer *scorer);

/* A model made ready for scoring one document at a time on the CPU: by looking at all nodes
 * (struct rw_lanes), if that is expected to be quicker, else some trees are walked side by
 * side without a branch: a leaf is a node that leads to itself. Missing values become the infinity
 * that lies on the node's side of every threshold, so each feature has two values, by the direction
 * of missing.
 */
/* All nodes of 64 trees are looked at side by side, each tree in a lane of one byte.
 *
 * A column is a feature and up to RW_LANES_CUTS of its distinct thresholds, sorted; the document's
 * code of a column is the number of its thresholds below the value, so value > threshold j is the
 * same as code > j. A tree's leaves are numbered from left to right. A lane holds the leftmost leaf
 * that the document can still reach, 0 at first. A node that splits the leaves [start, end) at
 * `right` is on the document's path if and only if the lane holds `start` once all nodes above it
 * have been looked at: had the path left the node to the right above it, the lane would hold more;
 * had it left to the left, less, for ever. So a node costs two comparisons of bytes and a move
 * under their mask, there is no branch, and what the lane holds in the end is the document's leaf.
 *
 * (QuickScorer, Lucchese et al. 2015, also looks at nodes in an order of its own and removes
 * leaves from a set, RapidScorer, Ye et al. 2018, does so for many documents; here the set is a
 * number, and the lanes are trees.) */
enum {
    RW_LANES = 64,          /* trees side by side */
    RW_LANES_COLUMNS = 256, /* at most: a byte names one */
    RW_LANES_CUTS = 254,    /* of a column, at most */
    RW_LANES_LEAVES = 256,  /* of a tree, at most */
    RW_LANES_MISSING = 255, /* the code of a missing value */
    RW_LANES_PIVOTS =
        16 /* every 16th threshold of a column, and the thresholds between two of them */
};

/* The n-th node of each tree of a group, a node after those above it. Of what is no node all is 0:
 * where the lane holds 0, that stays. */
struct rw_lanes_node {
    uint8_t column[RW_LANES];
    uint8_t cut[RW_LANES]; /* its index in the column's */
    uint8_t start[RW_LANES];
    uint8_t right[RW_LANES]; /* the first leaf of the right side */
};

/* A document's score by an instruction set. */
typedef double (*rw_lanes_fn)(const struct rw_lanes *lanes, const float *values, size_t n_values,
                              uint32_t first);

struct rw_lanes {
    rw_lanes_fn score;
    float absent;
    int32_t n_trees;
    uint32_t n_groups; /* of RW_LANES trees */
    uint32_t n_columns;
    int any_order; /* all partial sums of leaves are exact, so any order gives the same sum */
    uint32_t
        *feature; /* [n_columns] ids, ascending; all arrays are in its arena, 64-byte aligned */
    float *pivot; /* [n_columns][RW_LANES_PIVOTS] the last threshold of each block, or infinity */
    uint32_t *first_cut;        /* [n_columns] in `cut` */
    float *cut;                 /* blocks of RW_LANES_PIVOTS; past a column's last: infinity */
    struct rw_lanes_node *node; /* [first_node[n_groups]] */
    uint64_t *missing_left;     /* beside node: a bit a lane */
    uint32_t *first_node;       /* [n_groups + 1] */
    uint32_t *first_leaf;       /* [n_groups][RW_LANES] in leaf; of no tree: a leaf of 0 */
    float *leaf;                /* from left to right */
};

/* *out is NULL, and nothing failed, if the model is not of a kind that can be so (too many columns,
 * nodes or leaves, or no nodes), or the processor, of which `isa` may be used, has not the
 * instructions. Needs the flat model no more. Freed with rw_result_free, as are the others. */
int rw_lanes_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                 struct rw_lanes **out);

/* Of the instruction sets that have one (single_lanes_tmpl.c). AVX-512 here is with the permutation
 * of bytes (vbmi), of 2019: without it AVX2 is quicker. */
double rw_lanes_score_avx2(const struct rw_lanes *lanes, const float *values, size_t n_values,
                           uint32_t first);
double rw_lanes_score_avx512(const struct rw_lanes *lanes, const float *values, size_t n_values,
                             uint32_t first);

enum {
    RW_SINGLE_VALUES = 4096, /* two of each feature that the model uses, and one more, at most */
    RW_SINGLE_TOGETHER = 16, /* trees that are walked side by side */
    RW_SINGLE_TREES = 64     /* whose leaves are found in any order, then added in the trees' */
};

struct rw_single_node {
    float cut;      /* of a leaf: what it is worth */
    uint16_t value; /* 2 * slot of the feature + (missing goes left); of a leaf: 2 * slots, which is
                       -infinity, so that nothing is added */
    uint16_t skip;  /* nodes to the left child, the right one is the next; of a leaf: 0 */
};

struct rw_single {
    const struct rw_flat *flat; /* borrowed */
    double doc_ns;              /* expected of a document */
    struct rw_lanes
        *lanes; /* in its arena, as the arrays; not NULL: by these, and they are not there */
    struct rw_single_node *node;
    uint32_t *root;   /* [n_trees rounded up] nodes, in the order of work; the last ones are 0 */
    uint8_t *tree_at; /* beside root: the tree's index among the RW_SINGLE_TREES */
    uint8_t *steps;   /* the depth of the deepest of each RW_SINGLE_TOGETHER */
};

/* isa: instructions that may be used. *out is NULL, and nothing failed, if the model is not of a
 * kind that can be so: it asks for categories, uses too many features, has too large or deep a tree
 * or too many nodes. flat stays borrowed. */
int rw_single_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                  struct rw_single **out);

/* values: [n_values] of features first, first + 1, ..., NaN is missing; others are absent. By any
 * number of threads at once. */
double rw_single_score(const struct rw_single *single, const float *values, size_t n_values,
                       uint32_t first);

/* Scores of many documents on a device: the same doubles everywhere. A document's leaves are found
 * by model/model.h and added in tree order, in double.
 *
 * To add a device: (1) fill a `struct rw_device_scorer_ops` (as gpu/predict/predict_cuda.c does),
 * (2) declare its open function here, (3) give it a row in device_scorer.c's table. */

struct rw_device_scorer_ops {
    const char *name;
    void (*close)(struct rw_device_scorer *);
    /* scores: [n_docs], written. RW_ERR_MEMORY: the device has too little, and nothing was lost. */
    int (*run)(struct rw_device_scorer *, const struct rw_dataset *, double *scores);
    /* Milliseconds that a run over so many documents is expected to take. */
    double (*run_ms)(const struct rw_device_scorer *, uint32_t n_docs);
};

struct rw_device_scorer {
    const struct rw_device_scorer_ops *ops;
    struct rw_ctx *ctx;         /* borrowed */
    const struct rw_flat *flat; /* borrowed */
};

/* `device` counts GPUs. */
int rw_device_scorer_open_cuda(struct rw_ctx *ctx, const struct rw_flat *flat, int device,
                               struct rw_device_scorer **out);
