/* What export and import share. */
#ifndef RW_CLI_EXCHANGE_HELP_H
#define RW_CLI_EXCHANGE_HELP_H

#include <stdio.h>

enum { RW_BASE_NONE = 2 }; /* --feature-base is not given: ids stay as they are */

/* A line for each format; imports: only of those that can be read. */
void rw_list_formats(FILE *out, int imports);

#endif
