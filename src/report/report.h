/* The figures of a report, and the page that shows them. */
#pragma once

#include <stdio.h>

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
    uint32_t *leaf_docs;        /* [n_leaves] documents of the data */
    uint32_t *node_docs;        /* [n_leaves - 1] */
    int32_t *node_leaves;       /* [n_leaves - 1] leaves below */
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
    struct rw_report_feature *feature; /* [n_features] by falling gain */
    int n_features;
    double permuted_value;       /* of the first metric, by the parameters */
    char permuted_by[512];       /* what that counts */
    struct rw_report_tree *tree; /* [n_trees] */
    int n_trees;                 /* drawn */
    struct rw_arena arena;       /* of all arrays */
    /* its ranking of the data */
    double *scores;                           /* [n_docs] */
    struct rw_eval *eval;                     /* owned */
    double value_from, value_to;              /* of the first metric; so are the following */
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

/* HTML of a report: texts that are shown as text whatever is in them, and figures. */
/* As fprintf, but %s is text, escaped: any bytes, also as an attribute's value between double
 * quotes; what HTML would read is written as references, control characters and what is not UTF-8
 * become U+FFFD. %1s is a name or an id from a file: isolated from the direction of the text around
 * it, and a line may end after '_'. %-s is HTML as it is. %f is a figure (below). %d, %u, %lu (a
 * uint64_t) and %g, also with a precision, are fprintf's. */
void rw_html(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A name of at most n letters, wide ones counted twice: where there are more, both ends with an
 * ellipsis between them. Returns 1 if the whole name is there. */
int rw_html_name_cut(FILE *out, const char *text, int n);

enum { RW_HTML_ROOM = 40 };
/* As 'eval' prints it: 6 decimals, "-" for no value. */
const char *rw_html_figure(double value, char buffer[RW_HTML_ROOM]);
/* Fewest digits that read back as the same float. */
const char *rw_html_float(float value, char buffer[RW_HTML_ROOM]);
/* "3", or "3–7" where they differ. */
const char *rw_html_range(double least, double most, char buffer[RW_HTML_ROOM]);

/* What ends "1 document", "2 documents": "" or "s". */
const char *rw_html_plural(uint64_t n);

/* Charts of a report: SVG in the page (trees: HTML), coloured by its style sheet, as wide as the
 * page lets them be. Each has a description in words; the figures are in a table beside it. */
/* id: of the chart in the page, one word. about: what is to be seen, plain text, escaped here. */
struct rw_chart_words {
    const char *id, *about;
    const char *x, *y; /* the axes'; y may be "" */
};

/* One metric by round, a line a set. column: [n] of the model's metric values; set: its names. */
struct rw_curves {
    const struct rw_model *model;
    int n;
    int column[RW_REPORT_LABELS];
};
/* The line's look stands in the style sheet: classes s0 to s5. */
enum { RW_CHART_STYLES = 6 };
void rw_chart_curves(FILE *out, const struct rw_chart_words *words, const struct rw_curves *curves);
/* Queries by value of the first metric, its mean marked. */
void rw_chart_values(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* The first metric by size of the query: middle half, 90 %, median and mean. */
void rw_chart_sizes(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* Scores by label, a row a label. */
void rw_chart_scores(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* The top of a tree, from left to right. about: as above. */
void rw_chart_tree(FILE *out, const char *about, const struct rw_report *report,
                   const struct rw_report_tree *drawn);
enum { RW_CHART_TREE_LEVELS = 3 }; /* of splits */
/* What a node asks: that the value is at most `number`, or which categories go to "yes". */
void rw_chart_condition(FILE *out, const struct rw_model *model, const struct rw_tree *tree,
                        int32_t node, const char *number);
