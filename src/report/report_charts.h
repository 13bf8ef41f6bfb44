/* Charts of a report: SVG in the page (trees: HTML), coloured by its style sheet, as wide as the
 * page lets them be. Each has a description in words; the figures are in a table beside it. */
#ifndef RW_REPORT_CHARTS_H
#define RW_REPORT_CHARTS_H

#include <stdio.h>

#include "report/report.h"

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
/* The top of a tree, from left to right (report_tree.c). about: as above. */
void rw_chart_tree(FILE *out, const char *about, const struct rw_report *report,
                   const struct rw_report_tree *drawn);
enum { RW_CHART_TREE_LEVELS = 3 }; /* of splits */
/* What a node asks: that the value is at most `number`, or which categories go to "yes". */
void rw_chart_condition(FILE *out, const struct rw_model *model, const struct rw_tree *tree,
                        int32_t node, const char *number);
#endif
