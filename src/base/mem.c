/* Checked allocation, arenas and results for callers (base/mem.h). */
#include "base/mem.h"

#include <stdlib.h>

#include "base/system.h"

enum { ALIGNMENT = 64 };

/* The padding after an array is poisoned for AddressSanitizer. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

static long fail_countdown; /* 0: off; used by single-threaded tests only */
static int fail_once;

void rw_mem_fail_from(long n)
{
    fail_countdown = n;
    fail_once = 0;
}

void rw_mem_fail_once(long n)
{
    fail_countdown = n;
    fail_once = 1;
}

static int must_fail(void)
{
    if (fail_countdown == 0)
        return 0;
    if (fail_countdown > 1) {
        fail_countdown--;
        return 0;
    }
    if (fail_once)
        fail_countdown = 0;
    return 1;
}

static int out_of_memory(struct rw_ctx *ctx, size_t n, size_t size)
{
    return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: cannot allocate %zu times %zu bytes", n,
                   size);
}

int rw_mem_new_raw(struct rw_ctx *ctx, void **out, size_t n, size_t size)
{
    *out = NULL;
    if (must_fail() || (size && n > (SIZE_MAX / 2 - ALIGNMENT) / size))
        return out_of_memory(ctx, n, size);
    const size_t bytes = n * size, room = (bytes + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);
    *out = aligned_alloc(ALIGNMENT, room);
    if (!*out)
        return out_of_memory(ctx, n, size);
    ASAN_POISON_MEMORY_REGION((char *)*out + bytes, room - bytes);
    return RW_OK;
}

int rw_mem_new(struct rw_ctx *ctx, void **out, size_t n, size_t size)
{
    RW_TRY(rw_mem_new_raw(ctx, out, n, size));
    memset(*out, 0, n * size);
    return RW_OK;
}

int rw_mem_grow(struct rw_ctx *ctx, void **out, size_t *n_have, size_t n_needed, size_t size)
{
    if (*out && n_needed <= *n_have)
        return RW_OK;
    size_t room = *n_have + *n_have / 2;
    if (room < n_needed)
        room = n_needed;
    if (room < 16)
        room = 16;
    void *bigger;
    RW_TRY(rw_mem_new_raw(ctx, &bigger, room, size));
    if (*out)
        memcpy(bigger, *out, *n_have * size);
    rw_mem_free(*out);
    *out = bigger;
    *n_have = room;
    return RW_OK;
}

int rw_mem_copy_text(struct rw_ctx *ctx, char **out, const char *text)
{
    const size_t n = strlen(text) + 1;
    RW_TRY(rw_mem_new_raw(ctx, (void **)out, n, 1));
    memcpy(*out, text, n);
    return RW_OK;
}

/* ---- arenas ---- */

/* Precedes the memory that the arena owns. For an object it is a separate allocation. */
struct rw_arena_entry {
    struct rw_arena_entry *before;
    void *object;
    void (*release)(void *object); /* NULL: nothing to call */
} __attribute__((aligned(ALIGNMENT)));

static int add_entry(struct rw_ctx *ctx, struct rw_arena *arena, size_t n_bytes,
                     struct rw_arena_entry **out)
{
    RW_TRY(rw_mem_new(ctx, (void **)out, 1, sizeof(**out) + n_bytes));
    (*out)->before = arena->last;
    arena->last = *out;
    return RW_OK;
}

int rw_arena_new(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t n, size_t size)
{
    struct rw_arena_entry *entry;
    *out = NULL;
    if (size && n > SIZE_MAX / 4 / size)
        return out_of_memory(ctx, n, size);
    RW_TRY(add_entry(ctx, arena, n * size, &entry));
    *out = entry + 1;
    return RW_OK;
}

int rw_arena_grow(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t *room, size_t n,
                  size_t size)
{
    const size_t wanted = n > 2 * *room ? n : 2 * *room;
    void *larger;
    if (n <= *room)
        return RW_OK;
    RW_TRY(rw_arena_new(ctx, arena, &larger, wanted, size));
    if (*room > 0)
        memcpy(larger, *out, *room * size);
    *out = larger;
    *room = wanted;
    return RW_OK;
}

int rw_arena_text(struct rw_ctx *ctx, struct rw_arena *arena, const char **out, const char *text)
{
    char *copy;
    RW_TRY(RW_ARENA_NEW(ctx, arena, copy, strlen(text) + 1));
    *out = strcpy(copy, text);
    return RW_OK;
}

int rw_arena_own(struct rw_ctx *ctx, struct rw_arena *arena, void *object,
                 void (*release)(void *object))
{
    struct rw_arena_entry *entry;
    if (!object)
        return RW_OK;
    const int status = add_entry(ctx, arena, 0, &entry);
    if (status < 0) {
        release(object);
        return status;
    }
    entry->object = object;
    entry->release = release;
    return RW_OK;
}

void rw_arena_free(struct rw_arena *arena)
{
    for (struct rw_arena_entry *entry = arena->last; entry; entry = entry->before) {
        if (entry->release)
            entry->release(entry->object);
    }
    while (arena->last) {
        struct rw_arena_entry *entry = arena->last;
        arena->last = entry->before;
        rw_mem_free(entry);
    }
}

/* ---- results, each preceded by its arena ---- */

int rw_result_new(struct rw_ctx *ctx, void **out, size_t size)
{
    char *all;
    *out = NULL;
    RW_TRY(rw_mem_new(ctx, (void **)&all, 1, ALIGNMENT + size));
    *out = all + ALIGNMENT;
    return RW_OK;
}

struct rw_arena *rw_result_arena(void *result)
{
    return (struct rw_arena *)(void *)((char *)result - ALIGNMENT);
}

void rw_result_free(void *result)
{
    if (!result)
        return;
    rw_arena_free(rw_result_arena(result));
    rw_mem_free(rw_result_arena(result));
}

void rw_mem_free(void *p)
{
    free(p);
}

int rw_mem_new_large(struct rw_ctx *ctx, void **out, size_t n_bytes, int written_soon)
{
    if (n_bytes < RW_MEM_LARGE)
        return rw_mem_new_raw(ctx, out, n_bytes, 1);
    *out = NULL;
    if (must_fail() || n_bytes > SIZE_MAX / 2)
        return out_of_memory(ctx, n_bytes, 1);
    void *map = rw_system_map(n_bytes, written_soon);
    if (map == MAP_FAILED)
        return out_of_memory(ctx, n_bytes, 1);
    *out = map;
    return RW_OK;
}

void rw_mem_free_large(void *p, size_t n_bytes)
{
    if (n_bytes < RW_MEM_LARGE)
        rw_mem_free(p);
    else if (p)
        munmap(p, n_bytes);
}
