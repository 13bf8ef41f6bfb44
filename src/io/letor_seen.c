/* Query ids seen so far: a hash table with open addressing. */
#include "base/mem.h"
#include "io/letor.h"

struct entry {
    const char *id; /* NULL: free */
    const char *file;
    uint64_t hash;
    uint64_t line; /* from 1; 0: none */
};

struct rw_seen {
    struct entry *entry; /* [room], a power of two, at most half full; owned */
    size_t room, n;
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
    rw_mem_free(seen);
}

/* FNV-1a, 64 bits, and a last mix, for some bits choose the slot. */
static uint64_t hash_of(const char *id)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *id; id++)
        hash = (hash ^ (unsigned char)*id) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

/* The entry of an id, or the free one where it belongs. */
static struct entry *slot_of(const struct rw_seen *seen, uint64_t hash, const char *id)
{
    size_t i = (size_t)(hash >> 20) & (seen->room - 1);
    while (seen->entry[i].id && (seen->entry[i].hash != hash || strcmp(seen->entry[i].id, id) != 0))
        i = (i + 1) & (seen->room - 1);
    return &seen->entry[i];
}

static int make_room(struct rw_ctx *ctx, struct rw_seen *seen)
{
    if (seen->n * 2 < seen->room)
        return RW_OK;
    struct rw_seen bigger = *seen;
    bigger.room = seen->room ? seen->room * 2 : 1024;
    RW_TRY(RW_NEW(ctx, bigger.entry, bigger.room));
    for (size_t i = 0; i < seen->room; i++) {
        if (seen->entry[i].id)
            *slot_of(&bigger, seen->entry[i].hash, seen->entry[i].id) = seen->entry[i];
    }
    rw_mem_free(seen->entry);
    *seen = bigger;
    return RW_OK;
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
    if (seen->last && strcmp(seen->last, id) == 0)
        return RW_OK;
    RW_TRY(make_room(ctx, seen));
    const uint64_t hash = hash_of(id);
    struct entry *entry = slot_of(seen, hash, id);
    if (entry->id) {
        char here[64] = "", first[64] = "";
        if (line)
            snprintf(here, sizeof(here), ":%llu:%zu", (unsigned long long)line, column);
        if (entry->line)
            snprintf(first, sizeof(first), ":%llu", (unsigned long long)entry->line);
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s%s: query '%.200s' comes back after another query\n"
                       "hint: it began at %s%s; a query's lines must stand together",
                       file, here, id, entry->file, first);
    }
    RW_TRY(keep_name(ctx, seen, file, &entry->file));
    entry->id = id;
    entry->hash = hash;
    entry->line = line;
    seen->n++;
    seen->last = id;
    return RW_OK;
}
