/* A model made ready for scoring one document at a time: all nodes of 64 trees are looked at side
 * by side, each tree in a lane of one byte.
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
#ifndef RW_MODEL_SINGLE_LANES_H
#define RW_MODEL_SINGLE_LANES_H

#include "base/isa.h"
#include "model/flat.h"

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
    int any_order;     /* all partial sums of leaves are exact, so any order gives the same sum */
    uint32_t *feature; /* [n_columns] ids, ascending; all arrays are owned, 64-byte aligned */
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
 * instructions. Needs the flat model no more. */
int rw_lanes_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                 struct rw_lanes **out);
/* Nanoseconds that a document is expected to take; infinity where the model is not of the kind. */
double rw_lanes_doc_ns(const struct rw_flat *flat, enum rw_isa isa);
void rw_lanes_free(struct rw_lanes *lanes);

/* Of the instruction sets that have one (single_lanes_tmpl.c). AVX-512 here is with the permutation
 * of bytes (vbmi), of 2019: without it AVX2 is quicker. */
double rw_lanes_score_avx2(const struct rw_lanes *lanes, const float *values, size_t n_values,
                           uint32_t first);
double rw_lanes_score_avx512(const struct rw_lanes *lanes, const float *values, size_t n_values,
                             uint32_t first);

#endif
