/* A model made ready to score (rankwood_score.h, rankwood.h): its forms for blocks of documents,
 * for one document and for the plain walk, and the device that data sets go to. */
#pragma once

#include "base/machine.h"
#include "model/flat.h"

struct rw_device_scorer;
struct rw_packed;
struct rw_single;

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

struct rw_lanes;

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
/* Nanoseconds that a document is expected to take; infinity where the model is not of the kind. */
double rw_lanes_doc_ns(const struct rw_flat *flat, enum rw_isa isa);

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
 * by model/walk.h and added in tree order, in double.
 *
 * To add a device: (1) fill a `struct rw_device_scorer_ops` (as gpu/predict/predict_cuda.c does),
 * (2) declare its open function here, (3) give it a row in device_scorer.c's table. */
struct rw_device_scorer;

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
