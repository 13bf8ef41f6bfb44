/* The text of --help: options in a table, every line at most 79 columns wide. */
#ifndef RW_CLI_HELP_H
#define RW_CLI_HELP_H

#include <stdio.h>

struct rw_help_option {
    const char *name; /* NULL: doc is the heading of the options that follow */
    int key;          /* a letter has a short option, "-o" */
    const char *arg, *doc;
    int group; /* groups are printed in this order, their options by name */
};

/* The usage has a line for each line of `operands` (NULL: the command has none). Sorts the table.
 */
void rw_help_print(FILE *out, const char *command, const char *operands, const char *about,
                   struct rw_help_option *table, int n);

#endif
