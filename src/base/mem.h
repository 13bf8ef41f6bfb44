/* Checked allocation. Every array of the library is allocated here, so that sizes cannot overflow
 * and a test can make any allocation fail. Freed with rw_mem_free (free(NULL) is fine). */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/ctx.h"

/* `n` objects of `size` bytes, zeroed, 64-byte aligned; n = 0 gives a valid pointer.
 * *out is NULL after a failure (RW_ERR_MEMORY, the text says how many bytes). */
int rw_mem_new(struct rw_ctx *ctx, void **out, size_t n, size_t size);
/* The same, not zeroed: for arrays that are written whole, so that the thread that writes first
 * also places the memory. */
int rw_mem_new_raw(struct rw_ctx *ctx, void **out, size_t n, size_t size);
/* Grows (or makes, when *out is NULL) an array to at least `n_needed` objects, geometrically;
 * *n_have is its room. The content is kept, also after a failure. */
int rw_mem_grow(struct rw_ctx *ctx, void **out, size_t *n_have, size_t n_needed, size_t size);
/* A copy of a text. */
int rw_mem_copy_text(struct rw_ctx *ctx, char **out, const char *text);
void rw_mem_free(void *p);

/* What is freed together: first what it owns, the last one first, then its memory. Zeroed before
 * use, and used by one thread at a time. */
struct rw_arena {
    struct rw_arena_entry *last;
};
/* As rw_mem_new. */
int rw_arena_new(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t n, size_t size);
/* As rw_mem_grow; what is outgrown is freed with the arena. */
int rw_arena_grow(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t *room, size_t n,
                  size_t size);
/* A copy of a text. */
int rw_arena_text(struct rw_ctx *ctx, struct rw_arena *arena, const char **out, const char *text);
/* From now on `object`, if it is not NULL, is freed with the arena; at once if this fails. */
int rw_arena_own(struct rw_ctx *ctx, struct rw_arena *arena, void *object,
                 void (*release)(void *object));
void rw_arena_free(struct rw_arena *arena);

/* A result for the caller of the library, zeroed, with an arena for what it points to: rw_free
 * (rankwood.h) frees both. */
int rw_result_new(struct rw_ctx *ctx, void **out, size_t size);
struct rw_arena *rw_result_arena(void *result);
void rw_result_free(void *result);

/* Large arrays of undefined content: a mapping of their own from RW_MEM_LARGE bytes on,
 * so that freeing them gives the memory back to the system at once. written_soon: the pages come
 * with the call, which is cheaper than one by one. */
enum { RW_MEM_LARGE = 1 << 17 };
int rw_mem_new_large(struct rw_ctx *ctx, void **out, size_t n_bytes, int written_soon);
/* n_bytes, or RW_MEM_LARGE if they are not far fewer: what many threads allocate and free in
 * smaller chunks does not go back to the system, and what is not written of a mapping costs
 * nothing. */
static inline size_t rw_mem_large_room(size_t n_bytes)
{
    const size_t large = RW_MEM_LARGE;
    return n_bytes >= large / 8 && n_bytes < large ? large : n_bytes;
}
/* n_bytes: as given to rw_mem_new_large. */
void rw_mem_free_large(void *p, size_t n_bytes);

/* Tests only: the n-th allocation from now on (1 = next), and all after it, fail; 0: none do. */
void rw_mem_fail_from(long n);
/* Tests only: the n-th allocation from now on alone fails. */
void rw_mem_fail_once(long n);

#define RW_NEW(ctx, pointer, n) rw_mem_new((ctx), (void **)&(pointer), (n), sizeof(*(pointer)))
#define RW_NEW_RAW(ctx, pointer, n) \
    rw_mem_new_raw((ctx), (void **)&(pointer), (n), sizeof(*(pointer)))
#define RW_ARENA_NEW(ctx, arena, pointer, n) \
    rw_arena_new((ctx), (arena), (void **)&(pointer), (n), sizeof(*(pointer)))
#define RW_ARENA_GROW(ctx, arena, pointer, room, n) \
    rw_arena_grow((ctx), (arena), (void **)&(pointer), &(room), (n), sizeof(*(pointer)))
#define RW_GROW(ctx, pointer, room, n) \
    rw_mem_grow((ctx), (void **)&(pointer), &(room), (n), sizeof(*(pointer)))

/* The pointer, for whoever owns the object from now on: the variable, one of those below, is NULL
 * then. */
static inline void *rw_take(void *variable)
{
    void *p;
    memcpy(&p, variable, sizeof(p));
    memset(variable, 0, sizeof(p));
    return p;
}
#define RW_TAKE(pointer) ((__typeof__(pointer))rw_take(&(pointer)))

/* ---- variables that are freed where their block ends, however it ends ----
 *
 * RW_FREED: a pointer to memory of rw_mem_new and its kind, from NULL on. RW_RELEASED(f): a struct,
 * by f(&struct). RW_SCOPED(f): a pointer p of an object, from NULL on, by f(p), for which
 * RW_SCOPED_BY(f) stands once in a header. Whoever hands the object on does it by RW_TAKE. */
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
