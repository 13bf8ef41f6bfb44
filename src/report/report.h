/* The figures of a report and the page that shows them. rw_report_gather computes all figures;
 * report.c and report_charts.c write them as one HTML page without scripts. */
#pragma once

#include <stdio.h>

#include "model/model_text.h"

enum {
    RW_REPORT_VALUE_BINS = 20, /* bars of a metric's values */
    RW_REPORT_SCORE_BINS = 40,
    RW_REPORT_SIZES = 6,   /* query groups by size */
    RW_REPORT_LABELS = 10, /* labels shown one by one; with more, they are grouped */
    RW_REPORT_QUERIES = 10 /* queries listed as worst and as best */
};

/* A group of queries by size, or of documents by label. */
struct rw_report_group {
    double least, most; /* smallest and largest size or label in the group */
    uint32_t n;         /* queries, or documents */
    uint32_t n_counted; /* those with a value */
    double mean;        /* sizes: eval's mean on these queries alone; NaN if no query counts */
    double at[5];       /* quantiles 5, 25, 50, 75 and 95 %; NaN if no value counts */
};
struct rw_report_query {
    uint32_t query, n_docs;
    uint32_t n_relevant; /* documents with labels above 0 */
    double value;
};
struct rw_report_feature {
    struct rw_feature_use use;
    struct rw_permuted permuted; /* if n_repeats > 0 */
};
struct rw_report_tree {
    const struct rw_tree *tree; /* borrowed from the model */
    uint32_t *leaf_docs;        /* [n_leaves] documents per leaf */
    uint32_t *node_docs;        /* [n_leaves - 1] documents per node */
    int32_t *node_leaves;       /* [n_leaves - 1] leaves below */
};

/* All figures of a report. It must be zeroed first. Names, texts and curves are borrowed from the
 * model and the data. */
struct rw_report {
    const struct rw_model *model;
    const struct rw_dataset *dataset;
    const struct rw_report_options *options;
    /* the model */
    char checksum[RW_CHECKSUM_DIGITS + 1]; /* from the last line of its file */
    uint64_t n_leaves;
    uint64_t n_splits;
    double gain;                       /* total of all splits */
    struct rw_report_feature *feature; /* [n_features] by falling gain */
    int n_features;
    double permuted_value;       /* first metric of the whole model, for the permuted losses */
    char permuted_by[512];       /* how that metric is defined */
    struct rw_report_tree *tree; /* [n_trees] */
    int n_trees;                 /* trees drawn */
    struct rw_arena arena;       /* owns all arrays */
    /* the model's ranking of the data */
    double *scores;              /* [n_docs] */
    struct rw_eval *eval;        /* owned */
    double value_from, value_to; /* range of the first metric, as are the members below */
    uint32_t value_bin[RW_REPORT_VALUE_BINS]; /* queries per bin; the last bin includes its end */
    struct rw_report_query worst[RW_REPORT_QUERIES], best[RW_REPORT_QUERIES];
    int n_queries; /* queries in each of the two */
    struct rw_report_group size[RW_REPORT_SIZES];
    int n_sizes;
    struct rw_report_group label[RW_REPORT_LABELS];
    int n_labels;
    double score_from, score_to;
    uint32_t score_bin[RW_REPORT_LABELS][RW_REPORT_SCORE_BINS];
};

/* Computes all figures. The caller releases *out, also after a failure. */
int rw_report_gather(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_model *model, const struct rw_dataset *dataset,
                     const struct rw_report_options *options, struct rw_report *out);
void rw_report_release(struct rw_report *report);

/* ---- HTML: text from files, always shown as text, and figures ---- */
/* Writes HTML, as fprintf with these conversions:
 *   Use %s for text, which is escaped. It may be an attribute's value between double quotes.
 *   Use %1s for a name or an id from a file. It is as %s, but isolated from the writing direction
 *   around it, and a line may end after '_'.
 *   Use %-s for HTML, written as it is.
 *   Use %f for a figure, formatted as by rw_html_figure.
 *   The conversions %d, %u, %lu (a uint64_t) and %g, also with a precision, are as in fprintf.
 * Characters with a meaning in HTML become references. Control characters and invalid UTF-8 become
 * U+FFFD. */
void rw_html(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a name with at most n letters; wide letters count twice. A longer name keeps both ends,
 * with an ellipsis between them. Returns 1 if the whole name was written. */
int rw_html_name_cut(FILE *out, const char *text, int n);

enum { RW_HTML_ROOM = 40 };
/* Formats a figure as 'eval' does: 6 decimals, or "-" for NaN. */
const char *rw_html_figure(double value, char buffer[RW_HTML_ROOM]);
/* Formats a float with the fewest digits that read back as the same float. */
const char *rw_html_float(float value, char buffer[RW_HTML_ROOM]);
/* Formats a range: "3", or "3–7" if the ends differ. */
const char *rw_html_range(double least, double most, char buffer[RW_HTML_ROOM]);

/* Returns the plural ending of a count: "" for 1, else "s". */
const char *rw_html_plural(uint64_t n);

/* ---- charts: SVG (trees: HTML) as wide as the page, each with a description in words ---- */
/* The texts of a chart. id: one word, unique in the page. about: describes the picture, as plain
 * text that is escaped here. A table next to the chart has the figures. */
struct rw_chart_words {
    const char *id, *about;
    const char *x, *y; /* axis titles; y may be "" */
};

/* One metric by round, with a line per data set. column: [n] of the model's metric values; set:
 * names of the data sets. */
struct rw_curves {
    const struct rw_model *model;
    int n;
    int column[RW_REPORT_LABELS];
};
/* Looks of lines, which the style sheet defines as the classes s0 to s5. */
enum { RW_CHART_STYLES = 6 };
void rw_chart_curves(FILE *out, const struct rw_chart_words *words, const struct rw_curves *curves);
/* Draws a histogram of queries by value of the first metric, with its mean. */
void rw_chart_values(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* Draws the first metric by query size: middle half, 90 %, median and mean. */
void rw_chart_sizes(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* Draws scores by label, with a row per label. */
void rw_chart_scores(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* Draws the top of a tree from left to right. about: as in rw_chart_words. */
void rw_chart_tree(FILE *out, const char *about, const struct rw_report *report,
                   const struct rw_report_tree *drawn);
enum { RW_CHART_TREE_LEVELS = 3 }; /* levels of splits */
/* Writes a node's condition: that the value is at most `number`, or which categories lead to
 * "yes". */
void rw_chart_condition(FILE *out, const struct rw_model *model, const struct rw_tree *tree,
                        int32_t node, const char *number);
