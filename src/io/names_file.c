#include "io/names_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/system.h"
#include "dataset/feature_list.h"

static int by_id(const void *a, const void *b)
{
    const uint32_t x = ((const struct rw_feature_name *)a)->feature;
    const uint32_t y = ((const struct rw_feature_name *)b)->feature;
    return (x > y) - (x < y);
}

static int read_line(struct rw_ctx *ctx, const char *path, size_t number, char *line,
                     struct rw_feature_name *out)
{
    const char *rest;
    const long id = rw_parse_id(line, &rest);
    char *name = line + (rest - line);
    if (id < 0 || (*name != ' ' && *name != '\t'))
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%zu:1: expected 'ID NAME', an id from 0 to %d", path,
                       number, RW_MAX_FEATURE);
    while (*name == ' ' || *name == '\t')
        name++;
    for (const char *c = name; *c; c++) {
        if ((unsigned char)*c <= ' ' || *c == ',')
            return rw_fail(ctx, RW_ERR_PARSE,
                           "%s:%zu:%zu: expected a name without blanks or commas", path, number,
                           (size_t)(c - line) + 1);
    }
    if (*name && strspn(name, "0123456789-") == strlen(name))
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%zu: expected a name that is no id or range, found '%.64s'", path,
                       number, name);
    if (!*name)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%zu: expected a name after the id", path, number);
    out->feature = (uint32_t)id;
    return rw_mem_copy_text(ctx, &out->name, name);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rw_feature_name *)a)->name,
                  ((const struct rw_feature_name *)b)->name);
}

/* Sorts the names by id; a feature named twice, or two with one name, is an error. */
static int order_names(struct rw_ctx *ctx, const char *path, struct rw_feature_name *names,
                       int32_t n)
{
    if (n)
        qsort(names, (size_t)n, sizeof(*names), by_name);
    for (int32_t i = 0; i + 1 < n; i++) {
        if (strcmp(names[i].name, names[i + 1].name) == 0)
            return rw_fail(ctx, RW_ERR_PARSE, "%s: features %u and %u have one name, '%.64s'", path,
                           names[i].feature, names[i + 1].feature, names[i].name);
    }
    if (n)
        qsort(names, (size_t)n, sizeof(*names), by_id);
    for (int32_t i = 0; i + 1 < n; i++) {
        if (names[i].feature == names[i + 1].feature)
            return rw_fail(ctx, RW_ERR_PARSE, "%s: feature %u is named twice", path,
                           names[i].feature);
    }
    return RW_OK;
}

int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n)
{
    int status = RW_OK;
    struct rw_feature_name *names = NULL;
    size_t room = 0, line_room = 0, number = 0;
    char *line = NULL;
    *n = 0;
    *out = NULL;
    FILE *file = rw_system_fopen(path, "r");
    if (!file)
        return rw_fail_io(ctx, errno, "cannot open '%s'", path);
    ssize_t length;
    while ((length = getline(&line, &line_room, file)) >= 0) {
        number++;
        if (strlen(line) != (size_t)length) {
            status = rw_fail(ctx, RW_ERR_PARSE, "%s:%zu:%zu: expected text, found a zero byte",
                             path, number, strlen(line) + 1);
            goto out;
        }
        while (length > 0 && isspace((unsigned char)line[length - 1]))
            line[--length] = 0;
        if (!line[0] || line[0] == '#')
            continue;
        RW_TRY_OUT(RW_GROW(ctx, names, room, (size_t)*n + 1));
        RW_TRY_OUT(read_line(ctx, path, number, line, &names[*n]));
        ++*n;
    }
    if (!feof(file)) { /* getline failed, for want of memory perhaps */
        status = rw_fail_io(ctx, errno, "cannot read '%s'", path);
        goto out;
    }
    RW_TRY_OUT(order_names(ctx, path, names, *n));
out:
    fclose(file);
    free(line);
    if (status < 0) {
        rw_names_free(names, *n);
        names = NULL;
        *n = 0;
    }
    *out = names;
    return status;
}
