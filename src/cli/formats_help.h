/* What export and import share: the formats by name. */
#ifndef RW_CLI_FORMATS_HELP_H
#define RW_CLI_FORMATS_HELP_H

#include "cli/options.h"

/* `about`, then a line for each format (imports: only those that can be read); from malloc, NULL if
 * there is no memory. */
char *rw_formats_about(const char *about, int imports);
/* Is there such a format? 0, or the exit code after having said the nearest. */
int rw_formats_check(const struct rw_usage *usage, const char *option, const char *name,
                     int imports);
/* 0, 1 or (NULL) -1. 0, or the exit code. */
int rw_formats_base(const struct rw_usage *usage, const char *text, int *base);

#endif
