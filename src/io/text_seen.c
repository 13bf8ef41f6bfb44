/* Query ids seen so far, and where they were. */
#include "base/mem.h"
#include "dataset/query_ids.h"
#include "io/text.h"

struct entry {
    const char *file;
    uint64_t line; /* from 1; 0: none */
};

struct rw_seen {
    struct rw_query_ids ids;
    struct entry *entry; /* [ids.n] where each began; owned */
    size_t entry_room;
    const char *last; /* id of the last query */
    char **file;      /* [n_files] names, copied once; owned */
    size_t file_room, n_files;
};

int rw_seen_new(struct rw_ctx *ctx, struct rw_seen **out)
{
    return RW_NEW(ctx, *out, 1);
}

void rw_seen_free(struct rw_seen *seen)
{
    if (!seen)
        return;
    for (size_t i = 0; i < seen->n_files; i++)
        rw_mem_free(seen->file[i]);
    rw_mem_free(seen->file);
    rw_mem_free(seen->entry);
    rw_query_ids_release(&seen->ids);
    rw_mem_free(seen);
}

/* The library's own copy of a file's name. */
static int keep_name(struct rw_ctx *ctx, struct rw_seen *seen, const char *file, const char **kept)
{
    if (seen->n_files == 0 || strcmp(seen->file[seen->n_files - 1], file) != 0) {
        RW_TRY(RW_GROW(ctx, seen->file, seen->file_room, seen->n_files + 1));
        RW_TRY(rw_mem_copy_text(ctx, &seen->file[seen->n_files], file));
        seen->n_files++;
    }
    *kept = seen->file[seen->n_files - 1];
    return RW_OK;
}

int rw_seen_add(struct rw_ctx *ctx, struct rw_seen *seen, const char *id, const char *file,
                uint64_t line, size_t column)
{
    struct entry entry = {.line = line};
    size_t index;
    if (seen->last && strcmp(seen->last, id) == 0)
        return RW_OK;
    RW_TRY(RW_GROW(ctx, seen->entry, seen->entry_room, seen->ids.n + 1));
    RW_TRY(keep_name(ctx, seen, file, &entry.file));
    const int is_known = rw_query_ids_add(ctx, &seen->ids, id, &index);
    RW_TRY(is_known);
    if (is_known) {
        char here[64] = "", first[64] = "";
        const struct entry *began = &seen->entry[index];
        if (line)
            snprintf(here, sizeof(here), ":%llu:%zu", (unsigned long long)line, column);
        if (began->line)
            snprintf(first, sizeof(first), ":%llu", (unsigned long long)began->line);
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s%s: query '%.200s' comes back after another query\n"
                       "hint: it began at %s%s; a query's lines must stand together",
                       file, here, id, began->file, first);
    }
    seen->entry[index] = entry;
    seen->last = id;
    return RW_OK;
}
