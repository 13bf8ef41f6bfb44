#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"

void rw_put_bytes(struct rw_put *put, const void *bytes, size_t n)
{
    if (put->status == RW_OK)
        put->status = RW_GROW(put->ctx, put->text, put->room, put->n + n);
    if (put->status != RW_OK)
        return;
    memcpy(put->text + put->n, bytes, n);
    put->n += n;
}

void rw_put_text(struct rw_put *put, const char *text)
{
    rw_put_bytes(put, text, strlen(text));
}

static void put_real(struct rw_put *put, double value, int is_double)
{
    char number[48];
    const int n =
        is_double ? rw_number_write_double(value, number) : rw_number_write((float)value, number);
    rw_put_bytes(put, number, (size_t)n);
    if (!memchr(number, '.', (size_t)n) && !memchr(number, 'e', (size_t)n))
        rw_put_text(put, ".0");
}

void rw_put_format(struct rw_put *put, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        const size_t plain = strcspn(at, "%");
        rw_put_bytes(put, at, plain);
        at += plain;
        if (!*at)
            break;
        char text[32] = "";
        const char size = at[1] == 'l' || at[1] == 'z' ? at[1] : 0, kind = at[1 + (size != 0)];
        if (kind == 's')
            rw_put_text(put, va_arg(args, const char *));
        else if (kind == 'f')
            put_real(put, va_arg(args, double), size == 'l');
        else if (size == 'z')
            snprintf(text, sizeof(text), "%zu", va_arg(args, size_t));
        else if (kind == 'd')
            snprintf(text, sizeof(text), "%d", va_arg(args, int));
        else if (kind == 'c')
            snprintf(text, sizeof(text), "%c", va_arg(args, int));
        else
            snprintf(text, sizeof(text), kind == 'x' ? "%x" : "%u", va_arg(args, unsigned));
        rw_put_text(put, text);
        at += 2 + (size != 0);
    }
    va_end(args);
}

void rw_put_json_text(struct rw_put *put, const char *text)
{
    rw_json_watch();
    json_t *string = json_string(text);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (quoted)
        rw_put_text(put, quoted);
    else if (!rw_json_lacked_memory())
        rw_put_refuse(put, "a name that is not UTF-8: '%s'", text);
    else if (put->status == RW_OK)
        put->status = rw_fail(put->ctx, RW_ERR_MEMORY, "out of memory: a name between quotes");
    free(quoted);
    json_decref(string);
}

int rw_put_refuse(struct rw_put *put, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (put->status == RW_OK)
        put->status = rw_fail(put->ctx, RW_ERR_UNSUPPORTED, "%s", text);
    return put->status;
}

/* ------------------------------------------------------------------ trees */

struct step {
    int32_t node, parent, depth, number;
    enum { BEGIN, MIDDLE, END } part;
};

int rw_walk_tree(const struct rw_walk *walk, const struct rw_ensemble *ensemble, int32_t tree,
                 const void *user, struct rw_put *put)
{
    const struct rw_ens_tree *from = &ensemble->tree[tree];
    struct step *stack;
    size_t n = 1;
    int32_t next = 1; /* the next free number */
    if (put->status == RW_OK)
        put->status = RW_NEW_RAW(put->ctx, stack, 2 * (size_t)from->n_nodes + 4);
    RW_TRY(put->status);
    stack[0] = (struct step){0, -1, 0, 0, BEGIN};
    while (n > 0 && put->status == RW_OK) {
        const struct step at = stack[--n];
        const struct rw_ens_node *node = &from->node[at.node];
        const struct rw_visit visit = {ensemble,  from,     node,      at.node,
                                       at.parent, at.depth, at.number, {next, next + 1}};
        if (at.part == BEGIN && walk->deepest > 0 && at.depth > walk->deepest)
            rw_put_refuse(put,
                          "tree %d: deeper than %d levels, which the format's readers do not take",
                          tree + 1, walk->deepest);
        else if (at.part == BEGIN)
            walk->begin(put, &visit, user);
        else if (at.part == END && walk->finish)
            walk->finish(put, &visit, user);
        else
            rw_put_text(put, at.part == MIDDLE ? walk->middle : walk->end);
        if (at.part != BEGIN || node->left < 0)
            continue;
        stack[n++] = (struct step){at.node, at.parent, at.depth, at.number, END};
        stack[n++] = (struct step){node->right, at.node, at.depth + 1, next + 1, BEGIN};
        stack[n++] = (struct step){at.node, at.parent, at.depth, at.number, MIDDLE};
        stack[n++] = (struct step){node->left, at.node, at.depth + 1, next, BEGIN};
        next += 2;
    }
    rw_mem_free(stack);
    return put->status;
}
