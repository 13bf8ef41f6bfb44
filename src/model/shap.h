/* SHAP values of trees: how much each feature of a document moves its score away from the mean
 * score, such that they add up to it.
 *
 * Path-dependent values, as Lundberg, Erion and Lee define them ("Consistent individualized feature
 * attribution for tree ensembles", 2018, algorithms 1 and 2): with only the features of a set S
 * known, a document goes to both sides of a split on another feature, in the shares in which the
 * documents of the covers do. Their algorithm 2 adds up weights of sets by recurrences, whose
 * subtractions cancel in deep trees (it takes a feature out of a path by dividing what was added
 * before). Here a leaf's share is an integral of positive products: with z_j the share of documents
 * that pass feature j's splits on the way to the leaf, and o_j = 1 if the document itself does,
 * else 0, feature i gets from a leaf of value v
 *
 *     v (o_i - z_i) integral over t in [0, 1] of the product over j != i of ((1 - t) z_j + t o_j),
 *
 * since the integral of t^k (1 - t)^m is the Shapley weight k! m! / (k + m + 1)!. The product is a
 * polynomial of t, and Gauss and Legendre's rule for n / 2 points is exact for one of n features.
 * Products of all leaves below a split are added up before they are divided by the split's own
 * factor, so a tree takes leaves x points steps (the idea of Yu et al., "Linear TreeShap", 2022).
 */
#ifndef RW_MODEL_SHAP_H
#define RW_MODEL_SHAP_H

#include "model/flat.h"

/* Gauss and Legendre's rule over [0, 1]: exact for polynomials up to degree 2 n - 1. point, weight:
 * [n], written. */
void rw_gauss_legendre(uint32_t n, double *point, double *weight);

/* The edge into a node or leaf from the one above it. In the order of a walk, left before right. */
struct rw_shap_edge {
    double share;     /* z of the feature: of all edges from the root to here that ask for it */
    float cut;        /* of the node above */
    float leaf;       /* its value, if this leads to one */
    uint32_t slot;    /* of the node above: 2 * slot of the feature + (missing goes left) */
    uint32_t feature; /* its index among the explainer's */
    uint32_t above;   /* the nearest edge above that asks for the same feature; RW_NO_EDGE: none */
    uint32_t end;     /* the edge after all those below this one */
    uint32_t depth;   /* from 0 */
    uint8_t is_left, is_leaf;
};
#define RW_NO_EDGE UINT32_MAX

struct rw_shap_tree {
    uint64_t first;   /* edge; all `above` and `end` count from it */
    uint32_t n_edges; /* 0: one leaf */
    uint32_t depth;
    uint32_t n_points; /* of the rule: at least half of the features on any path */
    uint64_t rule;     /* its index in point and weight */
};

struct rw_explainer {
    struct rw_flat flat;
    uint32_t n_features;
    uint32_t *feature;    /* [n_features] ids, ascending, each once; owned, like all arrays */
    uint32_t *feature_of; /* [flat.n_used] of each slot, an index there */
    struct rw_shap_edge *edge;
    struct rw_shap_tree *tree; /* [flat.n_trees] */
    double *point, *weight;    /* of all rules in use */
    size_t room;               /* doubles that a thread needs for the deepest tree's products */
    uint32_t most_edges;       /* of a tree */
    double base, bound;
};

#endif
