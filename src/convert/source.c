/* What the parsers of all formats share. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "convert/convert.h"

static int refuse(struct rw_source *source, uint64_t line, const char *format, va_list args)
{
    char text[1024], where[40] = "";
    vsnprintf(text, sizeof(text), format, args);
    for (char *c = text; *c; c++) {
        if (*c == '\n') /* else a hint */
            *c = '?';
    }
    if (line > 0)
        snprintf(where, sizeof(where), "line %llu: ", (unsigned long long)line);
    if (source->status == RW_OK)
        source->status = rw_fail(source->ctx, RW_ERR_FORMAT, "%s: %s%s", source->path, where, text);
    return source->status;
}

int rw_refuse(struct rw_source *source, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(source, 0, format, args);
    va_end(args);
    return source->status;
}

int rw_refuse_line(struct rw_source *source, uint64_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    refuse(source, line, format, args);
    va_end(args);
    return source->status;
}

int rw_keep(struct rw_source *source, int status)
{
    if (source->status == RW_OK && status < 0)
        source->status = status;
    return source->status;
}

int rw_source_no_memory(struct rw_source *source)
{
    if (source->status == RW_OK)
        source->status =
            rw_fail(source->ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", source->path);
    return source->status;
}

int rw_is_number(const char *text, size_t n, double *out)
{
    int clamped = 0;
    *out = 0;
    return rw_number_parse_double(text, text + n, out, &clamped) == text + n && !clamped;
}

/* ------------------------------------------------------------------ trees */

struct rw_ens_tree *rw_add_tree(struct rw_source *source, struct rw_ensemble *out, int32_t n_nodes)
{
    struct rw_ens_tree *tree = NULL;
    if (source->status == RW_OK)
        source->status = rw_ensemble_add_tree(source->ctx, out, n_nodes, &tree);
    return source->status == RW_OK ? tree : NULL;
}

int rw_set_columns(struct rw_source *source, struct rw_ensemble *out, uint64_t n)
{
    if (n > RW_MAX_FEATURE + 2)
        rw_refuse(source, "%llu features; expected at most %d", (unsigned long long)n,
                  RW_FEATURE_IDS);
    return source->status < 0
               ? source->status
               : rw_keep(source, rw_ensemble_set_columns(source->ctx, out, (uint32_t)n));
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

size_t rw_sort_unique(void *all, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    char *at = all;
    size_t kept = 0;
    if (n > 0)
        qsort(all, n, size, compare);
    for (size_t i = 0; i < n; i++) {
        if (kept == 0 || compare(at + (kept - 1) * size, at + i * size) != 0)
            memmove(at + kept++ * size, at + i * size, size);
    }
    return kept;
}

void rw_sort_numbers(uint32_t *number, size_t n)
{
    if (n > 1)
        qsort(number, n, sizeof(*number), by_number);
}

void rw_read_set(struct rw_source *source, struct rw_ensemble *out, struct rw_ens_node *node,
                 const uint32_t *category, size_t n)
{
    node->by_category = 1;
    node->threshold = 0;
    if (source->status < 0)
        return;
    if (n > 0)
        rw_keep(source, rw_ens_list(source->ctx, node, category, (uint32_t)n));
    if (source->status == RW_OK)
        rw_keep(source, rw_ensemble_categories(source->ctx, out, node->column,
                                               (const uint32_t[]){0}, NULL, 0));
}

struct pending {
    const void *from;
    int32_t node;
};

struct rw_ens_tree *rw_read_tree(struct rw_source *source, const void *root, rw_read_node_fn read,
                                 void *user, struct rw_ensemble *out)
{
    struct rw_ens_tree *tree = rw_add_tree(source, out, 0);
    struct pending *stack = NULL;
    size_t room = 0, n = 0;
    int32_t at = 0;
    if (!tree || rw_keep(source, rw_ens_tree_add(source->ctx, tree, &at)) < 0 ||
        rw_keep(source, RW_GROW(source->ctx, stack, room, 2)) < 0)
        return NULL;
    stack[n++] = (struct pending){root, at};
    while (n > 0 && source->status == RW_OK) {
        const struct pending now = stack[--n];
        const void *child[2] = {NULL, NULL};
        read(source, now.from, &tree->node[now.node], child, user);
        if (source->status < 0 || !child[0] ||
            rw_keep(source, rw_ens_tree_split(source->ctx, tree, now.node)) < 0 ||
            rw_keep(source, RW_GROW(source->ctx, stack, room, n + 2)) < 0)
            continue;
        stack[n++] = (struct pending){child[1], tree->node[now.node].right};
        stack[n++] = (struct pending){child[0], tree->node[now.node].left};
    }
    rw_mem_free(stack);
    return source->status == RW_OK ? tree : NULL;
}
