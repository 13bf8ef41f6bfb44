/* What export and import share. */
#ifndef RW_CLI_EXCHANGE_HELP_H
#define RW_CLI_EXCHANGE_HELP_H

#include <stdio.h>

#include "cli/options.h"

/* The text of --feature-base, or NULL for none given: ids stay as they are. The exit code. */
int rw_take_feature_base(struct rw_cli *cli, const char *text, struct rw_exchange *how);

/* A line for each format; imports: only of those that can be read. */
void rw_list_formats(FILE *out, int imports);

#endif
