/* What 'explain' found, as text and as JSON. */
#ifndef RW_CLI_EXPLAIN_PRINT_H
#define RW_CLI_EXPLAIN_PRINT_H

#include <jansson.h>
#include <stdio.h>

#include "rankwood.h"

/* Where the counts of documents at each node come from. */
static inline const char *rw_explain_covers(int has_covers)
{
    return has_covers ? "the training documents, as the model counts them"
                      : "the documents of DATA, passed down the trees (the model has no counts)";
}

struct rw_explained_feature {
    uint32_t feature;
    const char *name; /* "" without one; borrowed from the model */
    double mean;      /* of |SHAP| */
    double gain;
    uint64_t n_splits;
    struct rw_permuted permuted;
};

/* All features over all documents. */
struct rw_explain_summary {
    const struct rw_dataset *dataset;
    int has_covers;           /* the model's own */
    double base, most, bound; /* most: the largest |base + values - score| */
    const char *metric, *conventions;
    int n_repeats;                        /* 0: nothing was permuted */
    double value;                         /* of the metric */
    struct rw_explained_feature *feature; /* [n] by falling mean */
    int n;
};
void rw_explain_print_summary(FILE *out, const struct rw_explain_summary *summary, int top);
void rw_explain_json_summary(FILE *out, const struct rw_explain_summary *summary);

/* One document, or two of a query and why the first is above the second. */
struct rw_explain_side {
    char id[512];
    uint32_t doc, position; /* in the query, from 1 */
    double score;
    double *shap;  /* [n] */
    float *value;  /* [n] NaN: absent or missing */
    int32_t *leaf; /* [n_trees] */
};
struct rw_explain_pair {
    const struct rw_dataset *dataset;
    const struct rw_model *model;
    uint32_t query;
    int n_sides;
    struct rw_explain_side side[2];
    const struct rw_explained_feature *feature; /* [n] */
    int n, n_trees;
    int has_covers; /* the model's own */
    double base, bound;
};
/* By feature: by falling |share|; by tree: by falling |difference|, those of one leaf left out. */
void rw_explain_print_pair(FILE *out, const struct rw_explain_pair *pair, int top);
void rw_explain_json_pair(FILE *out, const struct rw_explain_pair *pair);

#endif
