/* The figures (numbers) of a report and the page that shows them. rw_report_gather computes all
 * figures; report.c and report_charts.c write them as one HTML page without scripts. */
#pragma once

#include <stdio.h>

#include "model/model_text.h"

enum {
    RW_REPORT_VALUE_BINS = 20, /* bars of a metric's values */
    RW_REPORT_SCORE_BINS = 40, /* steps of the histogram of a label's scores */
    RW_REPORT_SIZES = 6,       /* most groups of queries by number of documents */
    RW_REPORT_LABELS = 10,     /* labels shown one by one; with more, they are grouped */
    RW_REPORT_QUERIES = 10     /* queries listed as worst and as best */
};

/* A group of queries by their number of documents, or of documents by label. The values of queries
 * are those of the first metric; the values of documents are their scores. */
struct rw_report_group {
    double least, most; /* smallest and largest number of documents, or label, in the group */
    uint32_t n;         /* number of queries, or of documents */
    uint32_t n_counted; /* number of queries with a value of the metric, or of documents */
    double mean;        /* of the values; for queries as rw_evaluate computes it on them alone */
    double at[5];       /* quantiles 5, 25, 50, 75 and 95 % of the values; NaN without values */
};
struct rw_report_query {
    uint32_t query, n_docs; /* query: its number, from 0; n_docs: how many documents it has */
    uint32_t n_relevant;    /* documents with labels above 0 */
    double value;           /* the first metric */
};
struct rw_report_feature {
    struct rw_feature_use use;
    struct rw_permuted permuted; /* if n_repeats > 0 */
};
struct rw_report_tree {
    const struct rw_tree *tree; /* borrowed from the model */
    uint32_t *leaf_docs;        /* [n_leaves] documents of the data set per leaf */
    uint32_t *node_docs;        /* [n_leaves - 1] documents per node */
    int32_t *node_leaves;       /* [n_leaves - 1] leaves below */
};

/* All figures of a report. Names, texts and curves are borrowed from the model and the data. */
struct rw_report {
    const struct rw_model *model; /* borrowed, as are the next two */
    const struct rw_dataset *dataset;
    const struct rw_report_options *options;
    /* the model */
    char checksum[RW_CHECKSUM_DIGITS + 1]; /* from the last line of its file */
    uint64_t n_leaves;
    uint64_t n_splits;
    double gain;                       /* total of all splits */
    struct rw_report_feature *feature; /* [n_features] by falling gain */
    int n_features;
    struct { /* for the permuted losses: the first metric of the whole model */
        double value;
        char by[512]; /* how the metric is defined */
    } permuted;
    struct rw_report_tree *tree; /* [n_trees] */
    int n_trees;                 /* trees drawn */
    struct rw_arena arena;       /* owns all arrays */
    struct {
        struct rw_drift *row; /* [n] from options->against */
        uint32_t n;
    } drift;
    /* the model's ranking of the data */
    double *scores;              /* [n_docs] */
    struct rw_eval *eval;        /* owned */
    double value_from, value_to; /* range of the first metric over queries; includes 0 to 1 */
    uint32_t value_bin[RW_REPORT_VALUE_BINS]; /* queries per bin; the last bin includes its end */
    /* [n_queries] the queries with the worst and the best value of the first metric */
    struct rw_report_query worst[RW_REPORT_QUERIES], best[RW_REPORT_QUERIES];
    int n_queries;
    struct rw_report_group size[RW_REPORT_SIZES]; /* [n_sizes] queries by number of documents */
    int n_sizes;
    struct rw_report_group label[RW_REPORT_LABELS]; /* [n_labels] documents by label, ascending */
    int n_labels;
    double score_from, score_to; /* range of the scores */
    /* documents per group of labels and bin of scores */
    uint32_t score_bin[RW_REPORT_LABELS][RW_REPORT_SCORE_BINS];
};

/* Computes all figures and overwrites *out. The caller releases it, also after a failure. */
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
 *   Use %f, without a flag or precision, for a figure, formatted as by rw_html_figure.
 *   %d, %u, %lu (a uint64_t), %g, and %f with a flag or precision, are as in fprintf; %% is '%'.
 * Characters with a meaning in HTML become references. Control characters and invalid UTF-8 become
 * U+FFFD. */
void rw_html(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Writes a name with at most n letters; wide letters count twice. A longer name keeps both ends,
 * with an ellipsis between them. Returns 1 if the whole name was written. */
int rw_html_name_cut(FILE *out, const char *text, int n);

enum { RW_HTML_ROOM = 40 };
/* Formats a figure as 'eval' does: 6 decimals, 9 significant digits from 1e9 on, "-" for NaN. */
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

/* One metric by round, with a line per data set. */
struct rw_curves {
    const struct rw_model *model;
    int n;                        /* number of data sets with this metric, at most 10 */
    int column[RW_REPORT_LABELS]; /* [n] columns of model->metric_value */
};
/* Looks of lines, which the style sheet defines as the classes s0 to s5. */
enum { RW_CHART_STYLES = 6 };
void rw_chart_curves(FILE *out, const struct rw_chart_words *words, const struct rw_curves *curves);
/* Draws a histogram of queries by value of the first metric, and marks the mean. */
void rw_chart_values(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* Draws the first metric per group of queries of similar size: a box for the middle half with a
 * line for the median, a line from the 5 % to the 95 % quantile, and a dot for the mean. */
void rw_chart_sizes(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* Draws a histogram of scores per label or group of labels, with the middle half and the mean. */
void rw_chart_scores(FILE *out, const struct rw_chart_words *words, const struct rw_report *report);
/* Draws the top RW_CHART_TREE_LEVELS levels of a tree from left to right. about: as in struct
 * rw_chart_words. */
void rw_chart_tree(FILE *out, const char *about, const struct rw_report *report,
                   const struct rw_report_tree *drawn);
enum { RW_CHART_TREE_LEVELS = 3 }; /* levels of splits that are drawn */
/* Writes a node's condition for the branch "yes" (left): that the value is at most `number`, which
 * is its threshold as text, or that the category is in a set, or not in a set. */
void rw_chart_condition(FILE *out, const struct rw_model *model, const struct rw_tree *tree,
                        int32_t node, const char *number);
