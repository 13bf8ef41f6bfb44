/* What export and import share. */
#ifndef RW_CLI_EXCHANGE_HELP_H
#define RW_CLI_EXCHANGE_HELP_H

#include "rankwood.h"

enum { RW_BASE_NONE = 2 }; /* --feature-base is not given: ids stay as they are */

/* A line for each format; imports: only of those that can be read. */
static inline void rw_list_formats(FILE *out, int imports)
{
    struct rw_model_format_info info;
    fputs("\n\nFormats:\n", out);
    for (int i = 0; rw_model_format_at(i, &info); i++) {
        if (info.imports || !imports)
            fprintf(out, "  %-13s %s\n", info.name, info.about);
    }
}

#endif
