/* The figures of a report, and the page that shows them. */
#ifndef RW_REPORT_H
#define RW_REPORT_H

#include "model/model.h"
#include "model/model_text.h"

enum {
    RW_REPORT_VALUE_BINS = 20, /* of a metric's values */
    RW_REPORT_SCORE_BINS = 40,
    RW_REPORT_SIZES = 6,   /* groups of queries by size */
    RW_REPORT_LABELS = 10, /* different labels shown one by one; more are put into groups */
    RW_REPORT_QUERIES = 10 /* worst and best ones named */
};

/* Queries of a range of sizes, or documents of a range of labels. */
struct rw_report_group {
    double least, most; /* sizes, or labels: both in the group */
    uint32_t n;         /* queries, or documents */
    uint32_t n_counted; /* that have a value */
    double mean;        /* sizes: what eval says of these queries alone; NaN if none counts */
    double at[5];       /* 5, 25, 50, 75 and 95 % of values are no greater; NaN if none counts */
};
struct rw_report_query {
    uint32_t query, n_docs;
    uint32_t n_relevant; /* labels over 0 */
    double value;
};
struct rw_report_feature {
    struct rw_feature_use use;
    struct rw_permuted permuted; /* if n_repeats > 0 */
};
struct rw_report_tree {
    const struct rw_tree *tree; /* borrowed from the model */
    uint32_t *leaf_docs;        /* [n_leaves] documents of the data; owned */
    uint32_t *node_docs;        /* [n_leaves - 1]; owned */
    int32_t *node_leaves;       /* [n_leaves - 1] leaves below; owned */
};

/* Zeroed at first; names, texts and curves are borrowed of what it was made of. */
struct rw_report {
    const struct rw_model *model;
    const struct rw_dataset *dataset;
    const struct rw_report_options *options;
    /* the model */
    char checksum[RW_CHECKSUM_DIGITS + 1]; /* the last line of its file */
    uint64_t n_leaves;
    uint64_t n_splits;
    double gain;                       /* of all splits */
    struct rw_report_feature *feature; /* [n_features] by falling gain; owned */
    int n_features;
    double permuted_value;       /* of the first metric, by the parameters */
    char permuted_by[512];       /* what that counts */
    struct rw_report_tree *tree; /* [n_trees] owned */
    int n_trees;                 /* drawn */
    /* its ranking of the data */
    double *scores;       /* [n_docs] owned */
    struct rw_eval *eval; /* owned */
    int lower_is_better;  /* the first metric; so are the following */
    double value_from, value_to;
    uint32_t value_bin[RW_REPORT_VALUE_BINS]; /* queries that count; the last bin has its end */
    struct rw_report_query worst[RW_REPORT_QUERIES], best[RW_REPORT_QUERIES];
    int n_queries; /* in either */
    struct rw_report_group size[RW_REPORT_SIZES];
    int n_sizes;
    struct rw_report_group label[RW_REPORT_LABELS];
    int n_labels;
    double score_from, score_to;
    uint32_t score_bin[RW_REPORT_LABELS][RW_REPORT_SCORE_BINS];
};

/* Computes all of it. After a failure *out is to be released, too. */
int rw_report_gather(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_model *model, const struct rw_dataset *dataset,
                     const struct rw_report_options *options, struct rw_report *out);
void rw_report_release(struct rw_report *report);

/* Parts of gathering: what comes of the model (report_model.c). */
int rw_report_model(struct rw_ctx *ctx, const struct rw_eval_params *how, struct rw_report *report);

/* Writes the page; failures are the stream's. The caller has set the "C" locale. */
void rw_report_page(const struct rw_report *report, FILE *out);
#endif
