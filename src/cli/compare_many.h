/* compare of several systems with one baseline, and its gate. */
#ifndef RW_CLI_COMPARE_MANY_H
#define RW_CLI_COMPARE_MANY_H

#include "cli/options.h"

struct rw_compare_many {
    const struct rw_list *system;            /* [n] the baseline first */
    struct rw_comparison *const *comparison; /* [n_metrics][n - 1] with the baseline */
    int n_metrics;
    int holm; /* correct p by Holm's step-down, over all of these */
    enum rw_compare_format {
        RW_COMPARE_TEXT,
        RW_COMPARE_CSV,
        RW_COMPARE_LATEX,
        RW_COMPARE_JSON
    } format;
};
/* Prints them. */
int rw_compare_many_print(struct rw_cli *cli, const struct rw_compare_many *many);
/* RW_EXIT_BELOW, and an error for each, where the interval of an
 * improvement begins below `least`; else 0. An improvement is the difference, or its opposite where
 * lower is better. */
int rw_compare_many_gate(const struct rw_compare_many *many, double least);

/* "+0.012764" */
const char *rw_compare_signed(double value, char *buffer);

#endif
