/* A model made ready for scoring one document at a time on the CPU: by looking at all nodes
 * (model/single_lanes.h), if that is expected to be quicker, else some trees are walked side by
 * side without a branch: a leaf is a node that leads to itself. Missing values become the infinity
 * that lies on the node's side of every threshold, so each feature has two values, by the direction
 * of missing.
 */
#ifndef RW_MODEL_SINGLE_H
#define RW_MODEL_SINGLE_H

#include "model/single_lanes.h"

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
    struct rw_lanes *lanes;     /* owned; not NULL: by these, and the arrays are not there */
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
void rw_single_free(struct rw_single *single);

/* values: [n_values] of features first, first + 1, ..., NaN is missing; others are absent. By any
 * number of threads at once. */
double rw_single_score(const struct rw_single *single, const float *values, size_t n_values,
                       uint32_t first);

#endif
