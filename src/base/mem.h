/* Checked allocation. The arrays of the library are allocated here (except those of a context and
 * its threads), so sizes cannot overflow, and a test can make any allocation fail. Memory is freed
 * with rw_mem_free, which accepts NULL. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/ctx.h"

/* Allocates `n` objects of `size` bytes, zeroed and 64-byte aligned. n = 0 yields a valid pointer.
 * After a failure *out is NULL, the status is RW_ERR_MEMORY, and the text reports the number of
 * bytes. */
int rw_mem_new(struct rw_ctx *ctx, void **out, size_t n, size_t size);
/* Like rw_mem_new, but not zeroed. It is for arrays that are written completely. The thread that
 * first writes a page then also determines its memory node. */
int rw_mem_new_raw(struct rw_ctx *ctx, void **out, size_t n, size_t size);
/* Grows an array geometrically to at least `n_needed` objects, or allocates it if *out is NULL.
 * *n_have is its capacity. The content is preserved, also after a failure. New objects are not
 * zeroed. */
int rw_mem_grow(struct rw_ctx *ctx, void **out, size_t *n_have, size_t n_needed, size_t size);
/* Copies a text. The caller frees the copy. */
int rw_mem_copy_text(struct rw_ctx *ctx, char **out, const char *text);
void rw_mem_free(void *p);

/* An arena: memory and objects that are freed together. Objects are released first, in reverse
 * order, then the memory. An arena must be zeroed before use, and only one thread at a time may use
 * it. */
struct rw_arena {
    struct rw_arena_entry *last;
};
/* Like rw_mem_new, in the arena. */
int rw_arena_new(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t n, size_t size);
/* Grows an array in the arena to at least n objects, if its capacity *room is less. Outgrown memory
 * is freed with the arena. */
int rw_arena_grow(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t *room, size_t n,
                  size_t size);
/* Copies a text into the arena. */
int rw_arena_text(struct rw_ctx *ctx, struct rw_arena *arena, const char **out, const char *text);
/* Makes the arena own `object`, unless it is NULL: rw_arena_free calls release(object). If
 * rw_arena_own fails, it calls that at once. */
int rw_arena_own(struct rw_ctx *ctx, struct rw_arena *arena, void *object,
                 void (*release)(void *object));
void rw_arena_free(struct rw_arena *arena);

/* Allocates a zeroed result for the caller of the library, with an arena for the memory that it
 * points to. rw_free (rankwood.h) frees both. */
int rw_result_new(struct rw_ctx *ctx, void **out, size_t size);
struct rw_arena *rw_result_arena(void *result);
void rw_result_free(void *result);

enum { RW_MEM_LARGE = 1 << 17 };
/* Allocates a large array of undefined content. From RW_MEM_LARGE bytes on it is a separate
 * mapping, so freeing it returns the memory to the system at once. written_soon: allocate all pages
 * in the call, which is cheaper than one by one. */
int rw_mem_new_large(struct rw_ctx *ctx, void **out, size_t n_bytes, int written_soon);
/* Returns the size to allocate for an array of n_bytes: RW_MEM_LARGE if n_bytes is from an eighth
 * of it to all of it, so that freeing returns the memory to the system; otherwise n_bytes. If many
 * threads use smaller blocks, the allocator keeps freed memory. Pages of a mapping that are never
 * written use no memory. */
static inline size_t rw_mem_large_room(size_t n_bytes)
{
    const size_t large = RW_MEM_LARGE;
    return n_bytes >= large / 8 && n_bytes < large ? large : n_bytes;
}
/* n_bytes: as passed to rw_mem_new_large. */
void rw_mem_free_large(void *p, size_t n_bytes);

/* Tests only: the n-th allocation from now on (1 = next), and all after it, fail. 0 turns this off.
 */
void rw_mem_fail_from(long n);
/* Tests only: just the n-th allocation from now on fails. */
void rw_mem_fail_once(long n);

/* The functions above for a typed pointer, with the size of its objects. */
#define RW_NEW(ctx, pointer, n) rw_mem_new((ctx), (void **)&(pointer), (n), sizeof(*(pointer)))
#define RW_NEW_RAW(ctx, pointer, n) \
    rw_mem_new_raw((ctx), (void **)&(pointer), (n), sizeof(*(pointer)))
#define RW_ARENA_NEW(ctx, arena, pointer, n) \
    rw_arena_new((ctx), (arena), (void **)&(pointer), (n), sizeof(*(pointer)))
#define RW_ARENA_GROW(ctx, arena, pointer, room, n) \
    rw_arena_grow((ctx), (arena), (void **)&(pointer), &(room), (n), sizeof(*(pointer)))
#define RW_GROW(ctx, pointer, room, n) \
    rw_mem_grow((ctx), (void **)&(pointer), &(room), (n), sizeof(*(pointer)))

/* Returns the pointer for its new owner, and sets the variable (declared with one of the macros
 * below) to NULL. */
static inline void *rw_take(void *variable)
{
    void *p;
    memcpy(&p, variable, sizeof(p));
    memset(variable, 0, sizeof(p));
    return p;
}
#define RW_TAKE(pointer) ((__typeof__(pointer))rw_take(&(pointer)))

/* ---- variables that are freed when control leaves their block ----
 *
 * RW_FREED: a pointer to memory of rw_mem_new and similar functions, initialised to NULL.
 * RW_RELEASED(f): a struct, released by f(&struct). RW_SCOPED(f): a pointer p to an object,
 * initialised to NULL and freed by f(p). A header must contain RW_SCOPED_BY(f) once. RW_TAKE passes
 * ownership on. */
#define RW_FREED       RW_SCOPED(rw_mem_free)
#define RW_RELEASED(f) __attribute__((cleanup(f)))
#define RW_SCOPED(f)   __attribute__((cleanup(f##_scoped)))
#ifdef __cplusplus
#define RW_SCOPED_BY(f)
#else
#define RW_SCOPED_BY(f)                           \
    static inline void f##_scoped(void *variable) \
    {                                             \
        void *p;                                  \
        memcpy(&p, variable, sizeof(p));          \
        f(p);                                     \
    }
#endif
RW_SCOPED_BY(rw_mem_free)
RW_SCOPED_BY(rw_free)
RW_SCOPED_BY(rw_binned_free)
RW_SCOPED_BY(rw_dataset_free)
RW_SCOPED_BY(rw_model_free)
RW_SCOPED_BY(rw_params_free)
RW_SCOPED_BY(rw_scorer_free)
