#include "evaluate/evaluate.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "dataset/query_ids.h"
#include "io/input.h"

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void rw_query_groups_release(struct rw_query_groups *groups)
{
    for (uint32_t g = 0; groups->name && g < groups->n; g++)
        rw_mem_free(groups->name[g]);
    rw_mem_free(groups->name);
    rw_mem_free(groups->of);
    memset(groups, 0, sizeof(*groups));
}

static char *skip_blanks(char *at)
{
    return at + strspn(at, " \t\r");
}

/* Cuts a line into the id and the group; 0: nothing on it. */
static int take_line(struct rw_ctx *ctx, const char *path, uint32_t number, char *line, char **id,
                     char **group)
{
    size_t n = strlen(line);
    while (n > 0 && strchr(" \t\r", line[n - 1]))
        line[--n] = 0;
    *id = skip_blanks(line);
    if (!**id || **id == '#')
        return 0;
    char *end = *id + strcspn(*id, " \t");
    *group = skip_blanks(end);
    if (!**group)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:%u:%zu: expected 'QUERY GROUP', found '%.60s'", path,
                       number, (size_t)(*id - line) + 1, *id);
    *end = 0;
    return 1;
}

/* given: [n_queries] each query's group, in `text`; NULL: none. */
static int read_lines(struct rw_ctx *ctx, const char *path, char *text,
                      const struct rw_query_ids *ids, const char **given)
{
    uint32_t number = 1;
    for (char *line = text, *next; line; line = next, number++) {
        char *id, *group;
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        const int found = take_line(ctx, path, number, line, &id, &group);
        RW_TRY(found);
        if (!found)
            continue;
        size_t query;
        if (!rw_query_ids_find(ids, id, strlen(id), &query))
            continue;
        if (given[query])
            return rw_fail(ctx, RW_ERR_PARSE, "%s:%u:%zu: query '%.60s' has a group already", path,
                           number, (size_t)(id - line) + 1, id);
        given[query] = group;
    }
    return RW_OK;
}

/* The names once each, and the queries' numbers. */
static int number_groups(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char **given,
                         struct rw_query_groups *out)
{
    const uint32_t n_queries = dataset->n_queries;
    const char **names = NULL;
    uint32_t n = 0, n_given = 0;
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, names, (size_t)n_queries + 1));
    for (uint32_t q = 0; q < n_queries; q++) {
        if (given[q])
            names[n_given++] = given[q];
    }
    if (n_given > 1)
        qsort(names, n_given, sizeof(*names), compare_names);
    for (uint32_t i = 0; i < n_given; i++) {
        if (n == 0 || strcmp(names[n - 1], names[i]) != 0)
            names[n++] = names[i];
    }
    RW_TRY_OUT(RW_NEW(ctx, out->name, (size_t)n + 1));
    RW_TRY_OUT(RW_NEW(ctx, out->of, n_queries));
    for (; out->n < n; out->n++)
        RW_TRY_OUT(rw_mem_copy_text(ctx, &out->name[out->n], names[out->n]));
    if (n_given < n_queries) {
        RW_TRY_OUT(rw_mem_copy_text(ctx, &out->name[out->n], "-"));
        out->n++;
    }
    for (uint32_t q = 0; q < n_queries; q++) {
        const char **at =
            given[q] ? bsearch(&given[q], names, n, sizeof(*names), compare_names) : &names[n];
        out->of[q] = (uint32_t)(at - names);
    }
out:
    rw_mem_free(names);
    return status;
}

int rw_query_groups_read(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                         struct rw_query_groups *out)
{
    struct rw_input *input = NULL;
    struct rw_query_ids ids = {0};
    const char **given = NULL;
    char *text = NULL;
    size_t n_bytes;
    int status = RW_OK;
    memset(out, 0, sizeof(*out));
    RW_TRY_OUT(rw_input_open(ctx, path, &input));
    RW_TRY_OUT(rw_input_read_all(ctx, input, &text, &n_bytes));
    RW_TRY_OUT(rw_dataset_query_ids(ctx, dataset, &ids));
    RW_TRY_OUT(RW_NEW(ctx, given, dataset->n_queries));
    RW_TRY_OUT(read_lines(ctx, rw_input_name(input), text, &ids, given));
    RW_TRY_OUT(number_groups(ctx, dataset, given, out));
out:
    if (status < 0)
        rw_query_groups_release(out);
    rw_query_ids_release(&ids);
    rw_mem_free(given);
    rw_mem_free(text);
    rw_input_close(input);
    return status;
}
