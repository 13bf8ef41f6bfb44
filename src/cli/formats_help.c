#include "cli/formats_help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/talk.h"

enum { MOST_FORMATS = 64 };

char *rw_formats_about(const char *about, int imports)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    struct rw_model_format_info info;
    if (!out)
        return NULL;
    fprintf(out, "%s\n\nFormats:\n", about);
    for (int i = 0; rw_model_format_at(i, &info); i++) {
        if (info.imports || !imports)
            fprintf(out, "  %-13s %s\n", info.name, info.about);
    }
    if (fclose(out) == 0)
        return text;
    free(text);
    return NULL;
}

int rw_formats_check(const struct rw_usage *usage, const char *option, const char *name,
                     int imports)
{
    const char *names[MOST_FORMATS];
    int n = 0, export_only = 0;
    struct rw_model_format_info info;
    for (int i = 0; rw_model_format_at(i, &info) && n < MOST_FORMATS; i++) {
        const int is_it = strcmp(info.name, name) == 0;
        if (is_it && (info.imports || !imports))
            return 0;
        export_only |= is_it;
        if (info.imports || !imports)
            names[n++] = info.name;
    }
    if (export_only)
        return rw_options_wrong(usage, "%s '%s': that format is only written", option, name);
    const char *near = rw_options_nearest(name, names, n);
    if (!near)
        return rw_options_wrong(usage, "%s: there is no format '%s'", option, name);
    rw_talk_error("%s: there is no format '%s'", option, name);
    rw_talk_hint("did you mean '%s'?", near);
    return RW_EXIT_USAGE;
}

int rw_formats_base(const struct rw_usage *usage, const char *text, int *base)
{
    *base = -1;
    if (!text)
        return 0;
    unsigned long long number = 0;
    const int code = rw_options_number(usage, "--feature-base", text, 0, 1, &number);
    *base = (int)number;
    return code;
}
