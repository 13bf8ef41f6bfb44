/* A model prepared for scoring: struct rw_scorer of rankwood_score.h and rankwood.h. It has several
 * forms, and the scorer uses the one that is expected to be fastest. rw_flat serves the plain walk,
 * rw_packed serves blocks of documents, and rw_single and rw_lanes serve one document at a time.
 * Data sets may also be scored on a GPU (rw_device_scorer). shap.c uses the flat form, too. */
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

/* The first trees of a model in the form that scoring reads. The nodes of all trees are in one
 * array, tree after tree, and so are the leaves. Values of a document are numbered by slots: one
 * for each feature that is compared with thresholds, and one for each distinct set of categories by
 * which a feature is split. The model may be freed after the flat form is made. */
struct rw_flat {
    struct rw_arena arena; /* owns all arrays */
    int32_t n_trees;
    float absent;                  /* value of an absent feature, 0 or NaN */
    struct rw_column_rule columns; /* the columns that data must fit */
    uint32_t n_used;               /* number of slots */
    uint32_t *feature;         /* [n_used] feature id of each slot, ascending, with repetitions */
    struct rw_walk_node *node; /* [first_node[n_trees]] */
    float *leaf;               /* [first_leaf[n_trees]] */
    uint64_t *first_node;      /* [n_trees + 1] index of a tree's first node */
    uint64_t *first_leaf;      /* [n_trees + 1] index of a tree's first leaf */
    uint32_t most_leaves;      /* leaves of the largest tree */
    /* [n_trees] levels of a symmetric tree, in which all nodes of a level have one split; else 0 */
    uint8_t *levels;
    int all_symmetric; /* 1: trees with other splits do not exist */
    /* Categorical splits. Each distinct set of a feature's codes has a slot, whose value is 0 for a
     * category in the set, 1 for others, and NaN for a missing value. A node compares the slot's
     * value with 1/2 like any other value. */
    struct rw_categories categories; /* a copy of the model's; owned */
    uint32_t *set_of; /* [n_used] 1 + index of the slot's set, 0: a plain value; NULL: no slot has a
                         set */
    uint32_t n_sets;
    uint32_t set_words; /* 32-bit words per set, as many as the feature with most codes needs */
    uint32_t *set_word; /* [n_sets][set_words] */
};

/* Returns a slot's value from the feature's value, in which a category is its code. */
static inline float rw_flat_of_code(const struct rw_flat *flat, uint32_t slot, float value)
{
    return flat->set_of && flat->set_of[slot]
               ? rw_set_value(flat->set_word + (size_t)(flat->set_of[slot] - 1) * flat->set_words,
                              value)
               : value;
}
/* Returns a slot's value from the feature's value, in which a category is its number in the
 * data. */
float rw_flat_of_row(const struct rw_flat *flat, uint32_t slot, float value);

/* Makes the flat form of the first n_trees trees; 0: all. RW_ERR_ARGUMENT: the model has fewer.
 * The caller releases it, even on failure. */
int rw_flat_init(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                 int n_trees);
/* Does the same for trees whose leaves are added up. RW_ERR_ARGUMENT also if they are a part of a
 * round of bags, whose sum is not a score. */
int rw_flat_init_scores(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                        int n_trees);
void rw_flat_release(struct rw_flat *flat); /* accepts any struct that was zeroed first */

/* Returns 1 if the slot is the first one of its feature. */
static inline int rw_flat_is_next_feature(const struct rw_flat *flat, uint32_t slot)
{
    return slot == 0 || flat->feature[slot] != flat->feature[slot - 1];
}

/* Returns the root for a walk down the tree, as in rw_walk. */
static inline int32_t rw_flat_root(const struct rw_flat *flat, int32_t tree)
{
    return flat->first_node[tree + 1] > flat->first_node[tree] ? 0 : ~0;
}

/* Documents as a matrix [n_docs][n_features] of features first, first + 1, and so on. Other
 * features are absent; NaN is missing. */
struct rw_rows {
    const float *value; /* borrowed */
    uint32_t n_docs, n_features, first;
};

/* Returns one document's score. values: [n_values] of features first, first + 1, and so on, as
 * in struct rw_rows. */
double rw_flat_score(const struct rw_flat *flat, const float *values, size_t n_values,
                     uint32_t first);

/* Estimates the number of nodes that a document passes in all trees, for estimates of time. It
 * assumes that a tree of n leaves, which is grown best-first, is deeper than log2(n). */
double rw_flat_steps(const struct rw_flat *flat);
double rw_flat_tree_steps(double n_leaves); /* the estimate for one tree */
/* Returns the number of threads that should share the trees while another form is made from the
 * flat one; 1 if ctx is NULL. */
int rw_flat_threads(const struct rw_ctx *ctx, const struct rw_flat *flat);

/* ---- distinct thresholds by column, which give the number of thresholds below a value ---- */

/* The column of a node is node.slot >> shift. With shift 0, a slot has a column for each direction
 * of missing values; with 1, it has one for both. */
struct rw_thresholds {
    uint32_t n_columns; /* columns, including some that may have no nodes */
    int shift;
    uint64_t *first; /* [n_columns + 1] index in `key` of a column's first threshold */
    uint32_t *n;     /* [n_columns] number of distinct thresholds */
    /* rw_threshold_key of the thresholds by column, distinct and ascending in each. After the n
     * keys of a column there may be a gap. */
    uint32_t *key;
};

/* Computes the thresholds; the arrays are in the arena. */
int rw_thresholds_init(struct rw_ctx *ctx, struct rw_arena *arena, struct rw_thresholds *thresholds,
                       const struct rw_flat *flat, int shift);

/* Returns a number that has the same order as the threshold. 0 and -0 are equal. */
static inline uint32_t rw_threshold_key(float threshold)
{
    return rw_key_of_float(threshold == 0.0f ? 0.0f : threshold);
}

/* Returns threshold i of a column. */
static inline float rw_threshold(const struct rw_thresholds *thresholds, uint32_t column,
                                 uint32_t i)
{
    return rw_float_of_key(thresholds->key[thresholds->first[column] + i]);
}

/* Returns the index of a node's threshold in its column. */
static inline uint32_t rw_threshold_of(const struct rw_thresholds *thresholds,
                                       const struct rw_walk_node *node)
{
    const uint32_t column = node->slot >> thresholds->shift;
    return rw_numbers_under(thresholds->key + thresholds->first[column], thresholds->n[column],
                            rw_threshold_key(node->cut));
}

/* Walks down every tree with each document of a data set, for one of three results. The arguments
 * of the other two are NULL. scores: [n_docs], written. leaves: [n_docs][n_trees], written. counts:
 * [leaves of all trees], each increased by the number of documents that reach the leaf. */
int rw_flat_walk(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                 double *scores, int32_t *leaves, uint32_t *counts);

/* Finds the data's column of each slot. *out: [n_used]; NULL elements: the data lacks the feature.
 * The caller owns *out (rw_mem_free). Columns of categorical features have codes, for
 * rw_flat_of_code, and are stored after the array in the same allocation. Other columns belong to
 * the data set. */
int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out);
/* Writes the values of documents [begin, end) by slot.
 * rows: [end - begin][n_used], written. scratch: [end - begin]. */
void rw_flat_gather(const struct rw_flat *flat, const struct rw_column *const *columns,
                    uint32_t begin, uint32_t end, float *rows, float *scratch);

/* Computes the Gauss-Legendre rule over [0, 1] with n points, which is exact for polynomials up to
 * degree 2 n - 1. point, weight: [n], written. (shap.c) */
void rw_gauss_legendre(uint32_t n, double *point, double *weight);

/* ---- many documents on the CPU, in blocks of 128 ---- */

/* The packed form.
 *
 * A column is a slot with a direction of missing values. Its distinct thresholds are sorted,
 * and a value's code is the number of thresholds below it. So value <= threshold j is equivalent
 * to code <= j. A missing value's code is 0 if missing goes left, and the number of thresholds
 * if it goes right. Codes therefore decide as rw_walk does, and they are small integers: one
 * byte if no column has more than 255 thresholds, else two.
 *
 * A tree of few leaves is not walked. Instead, all its nodes are evaluated, children before
 * parents, for all documents of a block at once. Leaves are numbered from left to right within a
 * subtree. A document's leaf below a node is its leaf below the left child, or its leaf below
 * the right child plus the number of leaves of the left child. There are no branches, and with
 * vectors 64 documents of a node take one comparison and one addition. (QuickScorer, Lucchese et
 * al. 2015, also evaluates all nodes, and removes unreachable leaves from a set; a number takes
 * fewer bits.) Nodes of two leaves, about a third of all nodes, are first and have separate code,
 * because they load nothing from below. A tree of many leaves is walked by comparing codes, several
 * documents in parallel.
 *
 * A symmetric tree has one node per level, from the last level up. A code above the level's
 * threshold adds the leaves on the left, as many in all nodes of the level. */

enum {
    RW_PACKED_DOCS = 128,  /* documents per block; a block's codes of a column are adjacent */
    RW_PACKED_HALF = 64,   /* documents of half a block, which is faster if no more are needed */
    RW_PACKED_PIVOTS = 32, /* pivots per column, evenly spaced among its thresholds */
    RW_PACKED_TOP = 5,     /* log2 of RW_PACKED_PIVOTS */
    /* A buffer has a leaf number for each document of a block. */
    RW_PACKED_BUFFERS = 20, /* one of zeros, and 19 for results that wait for the parent node */
    RW_PACKED_LAST = 128,   /* further buffers, one per node of two leaves; if a tree has more such
                               nodes, the rest are treated like other nodes */
    RW_PACKED_SMALL = 32    /* a tree's leaves are padded to a multiple of this number */
};

struct rw_packed_column {
    uint32_t slot;    /* slot in the flat model */
    uint32_t n_cuts;  /* number of distinct thresholds */
    uint32_t missing; /* code of a missing value */
    uint32_t levels;  /* steps of the binary search: 2^levels > n_cuts; at least RW_PACKED_TOP */
    /* Index in `cut` of struct rw_packed. There are RW_PACKED_PIVOTS pivots, the first of which is
     * unused. If levels is above RW_PACKED_TOP, 2^levels thresholds follow. Elements of
     * both after the last threshold are infinity. */
    uint64_t first_cut;
};

/* A node of a tree that is evaluated as a whole. */
struct rw_packed_node {
    uint32_t column; /* offset in bytes of the column's codes within the block's codes */
    uint32_t cut;    /* largest code that goes left; repeated to fill the word, like `skip` */
    uint32_t skip;   /* leaves below the left child */
    /* The buffers of the children, and the buffer into which the node's leaf numbers are written,
     * as offsets in bytes. */
    uint16_t left, right, to;
};

/* A node or a leaf of a tree that is walked. */
struct rw_packed_step {
    uint32_t column; /* as in struct rw_packed_node */
    uint32_t cut;    /* largest code that goes left; UINT32_MAX for a leaf */
    uint32_t left;   /* index of the left child among the tree's steps, after which the right child
                        follows; for a leaf: its own index */
    uint32_t leaf;   /* for a leaf: its number in the tree */
};

struct rw_packed_tree {
    uint64_t first;      /* index of its first node or step in `node` or `step` */
    uint64_t first_leaf; /* index of its first leaf in `leaf` */
    uint32_t n_leaves;
    uint32_t n_nodes; /* nodes that are evaluated: n_leaves - 1, or a symmetric tree's levels */
    uint32_t n_last;  /* the first n_last nodes have two leaves; each has one of the RW_PACKED_LAST
                         buffers */
    uint32_t walked;  /* 1: it is walked and has steps; 0: it is evaluated as a whole */
};

struct rw_packed {
    const struct rw_flat *flat; /* borrowed */
    const struct rw_packed_ops *ops;
    double doc_ns;       /* expected nanoseconds per document of a whole block */
    uint32_t code_bytes; /* 1 or 2 */
    uint32_t n_columns;
    int32_t n_trees;
    int32_t n_batches;
    struct rw_packed_column *column; /* [n_columns]; all arrays are in its arena (base/mem.h) */
    float *cut;                      /* of all columns: see first_cut */
    struct rw_packed_node *node;     /* of all trees that are not walked, in order of evaluation */
    struct rw_packed_step *step;     /* of all trees that are walked, by levels in each */
    struct rw_packed_tree *tree;     /* [n_trees] */
    int32_t *batch; /* [n_batches + 1] first tree of each batch of trees, then n_trees; all blocks
                       that a thread encoded together go through one batch before the next */
    float *leaf; /* of all trees, from left to right; of a walked tree, in the tree's numbering */
};

/* Makes the packed form. *out is NULL, without a failure, if the model cannot be packed: a
 * column has more than 65535 thresholds, or there are too many columns, or a tree is too large.
 * `flat` stays borrowed. Free it with rw_result_free. */
int rw_packed_new(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_packed_ops *ops,
                  struct rw_packed **out);

/* Returns the bytes of a block's codes, a multiple of 64. */
static inline size_t rw_packed_codes_bytes(const struct rw_packed *packed)
{
    return (size_t)packed->n_columns * RW_PACKED_DOCS * packed->code_bytes;
}
/* Returns the bytes of the buffers. The first buffer contains zeros. */
static inline size_t rw_packed_buffers_bytes(const struct rw_packed *packed)
{
    return (size_t)(RW_PACKED_BUFFERS + RW_PACKED_LAST) * RW_PACKED_DOCS * packed->code_bytes;
}

/* Functions for codes of one width (packed_tmpl.c). */
struct rw_packed_width {
    /* Computes a column's codes [RW_PACKED_DOCS] from values, in which absent features have a
     * value and NaN is missing. */
    void (*encode)(const struct rw_packed *packed, const struct rw_packed_column *column,
                   const float *values, void *codes);
    /* Adds the leaves of trees [first, end) to score [RW_PACKED_DOCS]. Only the first n_docs scores
     * are needed; with at most RW_PACKED_HALF it is faster. n_docs may exceed RW_PACKED_DOCS.
     * All arrays except `score` are 64-byte aligned. */
    void (*add)(const struct rw_packed *packed, int32_t first, int32_t end, const void *codes,
                void *buffers, double *score, uint32_t n_docs);
};

/* Functions and costs of an instruction set. Arrays have index 0 for codes of one byte, 1 for
 * two. */
struct rw_packed_ops {
    const char *name;
    uint32_t most[2]; /* most leaves of a tree that is evaluated as a whole, by width of codes */
    double column_ns; /* approximate nanoseconds per document to encode one column */
    double node_ns;   /* nanoseconds per document and evaluated node, with codes of one byte */
    const struct rw_packed_width *width[2];
};

/* Returns the functions for a processor with these instructions. */
const struct rw_packed_ops *rw_packed_ops(enum rw_isa isa);
extern const struct rw_packed_width rw_packed_plain_8, rw_packed_plain_16, rw_packed_avx2_8,
    rw_packed_avx2_16, rw_packed_avx512_8, rw_packed_avx512_16;

/* Walk down a tree with at least the first n_docs documents of a block, and add the leaves to
 * score. The names end in the bits of a code. All instruction sets use these functions. */
void rw_packed_walk_8(const struct rw_packed *packed, const struct rw_packed_tree *tree,
                      const void *codes, double *score, uint32_t n_docs);
void rw_packed_walk_16(const struct rw_packed *packed, const struct rw_packed_tree *tree,
                       const void *codes, double *score, uint32_t n_docs);

/* Scores a data set. scores: [n_docs], written. */
int rw_packed_scores(struct rw_ctx *ctx, const struct rw_packed *packed,
                     const struct rw_dataset *dataset, double *scores);

/* Scores rows. ctx NULL: uses only the calling thread. scores: [n_docs], written. */
int rw_packed_rows(struct rw_ctx *ctx, const struct rw_packed *packed, const struct rw_rows *rows,
                   double *scores);

/* Scores lines of text that were read but are not yet a data set, in the calling thread. The model
 * has no categorical features. */
int rw_packed_lines(const struct rw_packed *packed, const struct rw_builder *lines, double *scores);

/* These functions estimate nanoseconds of one thread before a model is packed: rw_packed_doc_ns
 * those to score a document in packed form, and rw_packed_make_ns those to pack the model. */
double rw_packed_doc_ns(const struct rw_flat *flat, const struct rw_packed_ops *ops);
double rw_packed_make_ns(const struct rw_flat *flat);

/* ---- blocks of documents from rows or data sets (packed.c, device_scorer.c) ---- */

/* The working memory of a thread. n_blocks, more_values: as in struct rw_packed_job. */
struct rw_packed_room {
    char *codes;   /* [n_blocks][rw_packed_codes_bytes] */
    char *buffers; /* [rw_packed_buffers_bytes] */
    double *score; /* [n_blocks][RW_PACKED_DOCS] */
    float *value;  /* [n_blocks * RW_PACKED_DOCS + more_values] */
};

/* Writes the codes of documents [begin, end), at most n_blocks blocks, to room->codes. */
typedef void rw_packed_encode_fn(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                                 const struct rw_packed_room *room);

/* Reads the values of documents [begin, end), at most one block, into value
 * [n_used][RW_PACKED_DOCS]. */
typedef void rw_packed_transpose_fn(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                                    float *value);

struct rw_packed_job {
    const struct rw_packed *packed; /* borrowed, as all pointers here */
    rw_packed_encode_fn *encode;    /* reads `column`, or calls `transpose` */
    /* for data sets: [n_used] columns by slot; an element is NULL if the data lacks the feature */
    const struct rw_column **column;
    rw_packed_transpose_fn *transpose; /* reads `rows` or `lines`; NULL for data sets */
    const struct rw_rows *rows;        /* NULL for data sets and lines */
    const struct rw_builder *lines;    /* NULL for data sets and rows */
    size_t more_values; /* values that `encode` needs in addition to one per document */
    /* ---- set by rw_packed_run ---- */

    uint32_t n_blocks; /* blocks that a thread encodes together */
    size_t room_bytes; /* of a struct rw_packed_room, per thread */
    char *room;        /* [n_threads][room_bytes] */
};

/* Transposes each block and then encodes it. more_values must be n_used * RW_PACKED_DOCS. */
rw_packed_encode_fn rw_packed_encode_transposed;
/* Runs the job. scores: [n_docs], written. ctx NULL: uses only the calling thread. */
int rw_packed_run(struct rw_ctx *ctx, struct rw_packed_job *job, uint32_t n_docs, double *scores);

struct rw_scorer {
    struct rw_flat flat;
    struct rw_single *single; /* owned; NULL: the model cannot have this form */
    struct rw_packed *packed; /* owned; NULL: not made yet, not worthwhile, or not possible */
    struct rw_score_map map;  /* for the sum of all trees; NONE if the scorer has fewer */
    /* For data sets (device_scorer.c). Documents are walked until the walks so far have taken as
     * long as packing the model would. So the choice costs at most twice the time of the better
     * form, however many documents follow. */
    double walked_ns; /* expected time of the walks so far, divided by the number of threads */
    int settled;      /* 1: the choice between walking and packing is made */
    struct rw_device_scorer *device; /* owned; NULL: the CPU */
    int is_auto;                     /* 1: the caller left the choice of the device open */
    int undecided; /* is_auto, and it is not yet decided whether a GPU is worthwhile */
    double cpu_ms; /* if undecided: expected time of all runs so far on the CPU */
};

/* Makes a scorer without the packed form and without a device. n_trees: 0 for all. */
int rw_scorer_make(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                   struct rw_scorer **out);

/* Returns the packed form if it should score lines as they are read, because it is known to be the
 * fastest, and no split is categorical. Otherwise returns NULL, and the caller scores data sets.
 * n_docs: documents scored since the last call. Valid until the next call with the scorer.
 * (device_scorer.c) */
const struct rw_packed *rw_scorer_packed(struct rw_ctx *ctx, struct rw_scorer *scorer,
                                         uint32_t n_docs);
/* Returns "cpu" or "cuda": the device of the last run, or before any run, the device on which the
 * scorer was opened ("cpu" for auto). */
const char *rw_scorer_device(const struct rw_scorer *scorer);

/* ---- one document at a time on the CPU ---- */

/* A document is scored in the faster of two ways. One evaluates all nodes (struct rw_lanes). The
 * other (struct rw_single) walks several trees in parallel without branches: a leaf is a node that
 * leads to itself. A missing value becomes the infinity that takes the node's direction at every
 * threshold. So each feature has two values, one per direction of missing values. */

/* struct rw_lanes evaluates all nodes of 64 trees in parallel. Each tree has a lane, which is one
 * byte of a vector.
 *
 * A column is a feature with up to RW_LANES_CUTS of its distinct thresholds, sorted. A feature with
 * more thresholds has several columns. The document's code of a column is the number of its
 * thresholds below the value, so value > threshold j is equivalent to code > j. A tree's leaves are
 * numbered from left to right. A lane contains the leftmost leaf that the document can still reach,
 * 0 at first. Consider a node that splits the leaves [start, end) at start + skip, after all nodes
 * above it. It is on the document's path if and only if the lane contains `start`. If the path is
 * to the right of this subtree, the lane has a larger value. If the path is to the left of it, the
 * lane has a smaller value until the end. So a node takes two comparisons of bytes and a masked
 * addition. There are no branches, and the last value of a lane is the document's leaf. If all
 * trees are symmetric, a level has one node, which is always on the path.
 *
 * (QuickScorer, Lucchese et al. 2015, also evaluates nodes in a different order and removes
 * leaves from a set. RapidScorer, Ye et al. 2018, does so for many documents. Here the set is a
 * number, and the lanes are trees.) */
enum {
    RW_LANES = 64,          /* trees in parallel */
    RW_LANES_COLUMNS = 256, /* most columns, since a byte is a column's index */
    RW_LANES_CUTS = 254,    /* most thresholds per column */
    RW_LANES_LEAVES = 256,  /* most leaves per tree */
    RW_LANES_MISSING = 255, /* code of a missing value */
    RW_LANES_PIVOTS = 16    /* thresholds per block, and blocks, each with a pivot, per column */
};

/* Node n of each tree of a group of RW_LANES trees. A tree's nodes follow those above them. In a
 * lane whose tree has fewer nodes, all members are 0, which does not change the lane. */
struct rw_lanes_node {
    uint8_t column[RW_LANES]; /* index of the column */
    uint8_t cut[RW_LANES];    /* index of the threshold in the column */
    uint8_t start[RW_LANES];  /* first leaf below the node */
    uint8_t skip[RW_LANES];   /* leaves of the left side */
};

/* Returns a document's score with one instruction set. */
typedef double (*rw_lanes_fn)(const struct rw_lanes *lanes, const float *values, size_t n_values,
                              uint32_t first);

struct rw_lanes {
    rw_lanes_fn score;
    float absent; /* value of an absent feature */
    int32_t n_trees;
    uint32_t n_groups; /* groups of RW_LANES trees */
    uint32_t n_columns;
    int symmetric; /* 1: all trees are, and each level has one node */
    int any_order; /* 1: all partial sums of leaves are exact, so any order gives the same sum */
    uint32_t *feature; /* [n_columns] feature id of each column, ascending, with repetitions; all
                          arrays are in its arena, 64-byte aligned */
    float *pivot; /* [n_columns][RW_LANES_PIVOTS] the last threshold of each block, or infinity */
    uint32_t *first_cut; /* [n_columns] index in `cut` of the column's first threshold */
    float *cut; /* blocks of RW_LANES_PIVOTS thresholds; infinity after a column's last threshold */
    struct rw_lanes_node *node; /* [first_node[n_groups]] */
    uint64_t *missing_left;     /* [first_node[n_groups]] a bit per lane; 1: missing goes left */
    uint32_t *first_node;       /* [n_groups + 1] index in `node` of a group's first node */
    uint32_t *first_leaf; /* [n_groups][RW_LANES] index in `leaf`; a lane without a tree has one
                             leaf with value 0 */
    float *leaf;          /* of all trees, from left to right in each */
};

/* Makes struct rw_lanes for a model without categorical splits. *out is NULL, without a failure, if
 * the model has too many columns, nodes or leaves, or no nodes. It is also NULL if `isa`, the
 * instructions that may be used, is not sufficient. The flat model is not needed afterwards. Free
 * *out with rw_result_free, like the other forms. */
int rw_lanes_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                 struct rw_lanes **out);

/* The functions of the two instruction sets that have one (single_lanes_tmpl.c). AVX-512 requires
 * the byte permutation of 2019 (vbmi); without it, AVX2 is faster. */
double rw_lanes_score_avx2(const struct rw_lanes *lanes, const float *values, size_t n_values,
                           uint32_t first);
double rw_lanes_score_avx512(const struct rw_lanes *lanes, const float *values, size_t n_values,
                             uint32_t first);

enum {
    RW_SINGLE_VALUES = 4096, /* most values of a document: two per slot, and one for leaves */
    RW_SINGLE_TOGETHER = 16, /* trees that are walked in parallel */
    RW_SINGLE_TREES = 64     /* trees whose leaves are found in any order, then added in order */
};

struct rw_single_node {
    float cut; /* the threshold; for a leaf: its value */
    /* Index of the document's value: 2 * slot of the feature + (missing goes left). For a leaf:
     * 2 * number of slots, the index of a value of -infinity, which never exceeds `cut`. */
    uint16_t value;
    /* Distance to the left child, which the right child follows. For a leaf: 0. */
    uint16_t skip;
};

struct rw_single {
    const struct rw_flat *flat; /* borrowed */
    double doc_ns;              /* expected nanoseconds per document */
    struct rw_lanes *lanes; /* if not NULL, it scores instead, and the arrays below do not exist;
                               owned by the result's arena (base/mem.h), as are the arrays */
    struct rw_single_node *node; /* of all trees, by levels in each */
    uint32_t *root;   /* [n_trees rounded up to RW_SINGLE_TOGETHER] index in `node` of the roots, in
                         the order of walks; 0 for padding */
    uint8_t *tree_at; /* for each element of `root`, the tree's index among its RW_SINGLE_TREES */
    uint8_t *steps;   /* for each RW_SINGLE_TOGETHER elements of `root`, the deepest tree's depth */
};

/* Makes struct rw_single. isa: instructions that may be used. *out is NULL, without a failure, if
 * the model has categorical splits, too many features or nodes, or a tree that is too large or too
 * deep. `flat` stays borrowed. */
int rw_single_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                  struct rw_single **out);

/* Returns a document's score. values: [n_values] of features first, first + 1, and so on; NaN is
 * missing, and other features are absent. Several threads may call this function at once. */
double rw_single_score(const struct rw_single *single, const float *values, size_t n_values,
                       uint32_t first);

/* ---- many documents on a GPU ---- */

/* Scoring of data sets on a device, with results identical on all devices. A document's
 * leaves are found by rw_walk (model/model.h) and added in tree order, in double.
 *
 * To add a device: (1) fill a `struct rw_device_scorer_ops` as gpu/predict/predict_cuda.c does,
 * (2) declare its open function here, (3) add a row to the table in device_scorer.c. */

struct rw_device_scorer_ops {
    const char *name; /* "cuda" */
    void (*close)(struct rw_device_scorer *);
    /* Scores a data set. scores: [n_docs], written. RW_ERR_MEMORY: the device has too little
     * memory; the scorer remains usable. */
    int (*run)(struct rw_device_scorer *, const struct rw_dataset *, double *scores);
    /* Returns the expected milliseconds of a run with n_docs documents. */
    double (*run_ms)(const struct rw_device_scorer *, uint32_t n_docs);
};

struct rw_device_scorer {
    const struct rw_device_scorer_ops *ops;
    struct rw_ctx *ctx;         /* borrowed */
    const struct rw_flat *flat; /* borrowed */
};

/* Opens a GPU; `device` is its index. The caller closes *out by ops->close. */
int rw_device_scorer_open_cuda(struct rw_ctx *ctx, const struct rw_flat *flat, int device,
                               struct rw_device_scorer **out);
