/* Columns that are filled while text is still being read (struct rw_early in dataset.h). Once all
 * earlier builders are complete, the rows of a builder's documents are known, and its values are
 * copied to the columns while they are in the processor's cache. A builder that is complete before
 * its predecessors is packed (rw_builder_pack) and waits. The thread that completes the last of the
 * predecessors copies its values. Without this, little would be copied early by many threads. */
#include <pthread.h>

#include "base/machine.h"
#include "dataset/dataset.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

enum {
    ALIGN = 64, /* alignment of a column in bytes */
    TILE = 64,  /* number of documents that are copied together, feature by feature: the L1 cache
                   holds the cache lines that they need */
};

struct rw_early {
    struct rw_arena arena;        /* owns all arrays except `block` */
    uint64_t n_builders, n_known; /* first[i] is known for i up to n_known */
    uint64_t *first;              /* [n_builders + 1] number of documents before each builder */
    uint32_t *n_docs;             /* [n_builders] number of documents plus 1; 0: not complete yet */
    struct rw_builder **waits; /* [n_builders] the packed builder, if it waits for earlier ones */
    uint64_t n_looked;         /* builders below this number have been checked, and do not wait */
    uint64_t room;             /* capacity of a column in documents */
    uint32_t n_columns;        /* 0: there are no columns yet, or memory was short */
    uint16_t *feature;         /* [n_columns] ascending */
    char *block;               /* [n_columns] columns at a distance of `stride` bytes; owned */
    size_t stride;
    pthread_mutex_t lock; /* protects decisions, since several threads pack builders. Values are
                             copied without it, to rows that belong to one builder */
};

static size_t early_bytes(const struct rw_early *early)
{
    return early->n_columns * early->stride;
}

int rw_early_new(struct rw_ctx *ctx, uint64_t n_builders, uint64_t room, struct rw_early **out)
{
    RW_SCOPED(rw_early_free) struct rw_early *early = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, early, 1));
    pthread_mutex_init(&early->lock, NULL);
    RW_TRY(RW_ARENA_NEW(ctx, &early->arena, early->first, n_builders + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &early->arena, early->n_docs, n_builders));
    RW_TRY(RW_ARENA_NEW(ctx, &early->arena, early->waits, n_builders));
    early->n_builders = n_builders;
    early->room = room < RW_MAX_DOCS ? room : RW_MAX_DOCS;
    /* an odd number of cache lines, so one row of all columns is spread over the cache's sets */
    early->stride = ((size_t)early->room * sizeof(float) / ALIGN | 1) * ALIGN + 2 * ALIGN;
    *out = RW_TAKE(early);
    return RW_OK;
}

void rw_early_free(struct rw_early *early)
{
    if (!early)
        return;
    pthread_mutex_destroy(&early->lock);
    rw_mem_free_large(early->block, early_bytes(early));
    rw_arena_free(&early->arena);
    rw_mem_free(early);
}

/* Creates columns for the features of a builder, the first one that may be copied. */
static int make_early(struct rw_early *early, const struct rw_builder *builder)
{
    const struct rw_run *run = builder->run;
    RW_TRY(RW_ARENA_NEW(NULL, &early->arena, early->feature, run->n));
    memcpy(early->feature, builder->entry_feature + run->feature, run->n * sizeof(uint16_t));
    RW_TRY(rw_mem_new_large(NULL, (void **)&early->block, run->n * early->stride, 0));
    early->n_columns = run->n;
    return RW_OK;
}

/* Returns 1 if the values of the i-th builder can be copied to the columns, which it creates for
 * the first such builder. The caller must hold the lock, and early->first[i] must be known. */
static int may_place(struct rw_early *early, uint64_t i, const struct rw_builder *builder)
{
    const struct rw_run *run = builder->run;
    if (builder->n_runs != 1 || run->n == 0 || early->first[i] + builder->n_docs > early->room)
        return 0;
    if (early->n_columns == 0 && (early->feature || make_early(early, builder) < 0))
        return 0; /* the builder keeps its values; packing it reports whether memory is short */
    return run->n == early->n_columns && memcmp(builder->entry_feature + run->feature,
                                                early->feature, run->n * sizeof(uint16_t)) == 0;
}

enum action { PLACE, PACK, WAIT };

/* Decides how to continue with the i-th builder, which is complete: copy its values to the columns,
 * pack it with its values, or pack it and let it wait for earlier builders. */
static enum action action_for(struct rw_early *early, uint64_t i, const struct rw_builder *builder)
{
    early->n_docs[i] = builder->n_docs + 1;
    for (; early->n_known < early->n_builders && early->n_docs[early->n_known]; early->n_known++)
        early->first[early->n_known + 1] =
            early->first[early->n_known] + early->n_docs[early->n_known] - 1;
    if (i > early->n_known)
        return WAIT;
    return may_place(early, i, builder) ? PLACE : PACK;
}

/* Returns the next waiting builder whose values can now be copied to the columns, and its number in
 * *i; or NULL. Builders before it that do not fit stop waiting and keep their values. */
static struct rw_builder *take_waiting(struct rw_early *early, uint64_t *i)
{
    for (; early->n_looked < early->n_known; early->n_looked++) {
        struct rw_builder *builder = early->waits[early->n_looked];
        early->waits[early->n_looked] = NULL;
        if (builder && may_place(early, early->n_looked, builder)) {
            *i = early->n_looked++;
            return builder;
        }
    }
    return NULL;
}

/* Transposes n_docs lines of n values into n columns, at a distance of `stride` bytes. The first
 * value of the first column is stored at `to`. n_docs: at most TILE. */
static void transpose_lines(const float *from, uint32_t n_docs, size_t n, char *to, size_t stride)
{
    size_t k = 0;
#if RW_HAS_X86
    const uint32_t n_fours = n_docs / 4 * 4;
    for (; k + 4 <= n; k += 4) {
        float *const column = (float *)(void *)(to + k * stride);
        const size_t next = stride / sizeof(float);
        for (uint32_t i = 0; i < n_fours; i += 4) { /* copies bits, also of NaN */
            const float *line = from + i * n + k;
            __m128 a = _mm_loadu_ps(line), b = _mm_loadu_ps(line + n);
            __m128 c = _mm_loadu_ps(line + 2 * n), d = _mm_loadu_ps(line + 3 * n);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(column + i, a);
            _mm_storeu_ps(column + next + i, b);
            _mm_storeu_ps(column + 2 * next + i, c);
            _mm_storeu_ps(column + 3 * next + i, d);
        }
        for (uint32_t i = n_fours; i < n_docs; i++) {
            for (size_t j = 0; j < 4; j++)
                memcpy(column + j * next + i, from + i * n + k + j, sizeof(float));
        }
    }
#endif
    for (; k < n; k++) {
        float *const column = (float *)(void *)(to + k * stride);
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(column + i, from + i * n + k, sizeof(float));
    }
}

/* Copies the values of the i-th builder to the columns. */
static void place(const struct rw_early *early, uint64_t i, struct rw_builder *builder)
{
    const size_t n = builder->run[0].n;
    for (uint32_t doc = 0; doc < builder->n_docs; doc += TILE) {
        const uint32_t n_docs = builder->n_docs - doc < TILE ? builder->n_docs - doc : TILE;
        transpose_lines(builder->entry_value + doc * n, n_docs, n,
                        early->block + (early->first[i] + doc) * sizeof(float), early->stride);
    }
    builder->is_placed = 1;
    builder->placed = (uint32_t)early->first[i];
}

int rw_early_pack(struct rw_early *early, uint64_t i, struct rw_builder *from,
                  struct rw_builder *to)
{
    enum action action;
    struct rw_builder *other;
    pthread_mutex_lock(&early->lock);
    action = action_for(early, i, from);
    pthread_mutex_unlock(&early->lock);
    if (action == PLACE)
        place(early, i, from);
    RW_TRY(rw_builder_pack(NULL, from, to));
    do {
        pthread_mutex_lock(&early->lock);
        other = NULL;
        if (action == WAIT && i >= early->n_looked)
            early->waits[i] = to;
        else if (action == WAIT && may_place(early, i, to)) /* the builders before it are complete
                                                             by now */
            other = to;
        if (!other)
            other = take_waiting(early, &i);
        action = PACK;
        pthread_mutex_unlock(&early->lock);
        if (other) {
            place(early, i, other);
            rw_mem_free_large(other->entry_value, other->room.entry_value * sizeof(float));
            other->entry_value = NULL;
            other->room.entry_value = 0;
        }
    } while (other);
    return RW_OK;
}

float *rw_early_values(const struct rw_early *early, uint32_t feature)
{
    for (uint32_t low = 0, high = early->n_columns; low < high;) {
        const uint32_t middle = (low + high) / 2;
        if (early->feature[middle] == feature)
            return (float *)(void *)(early->block + middle * early->stride);
        if (early->feature[middle] < feature)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

int rw_early_has_room(const struct rw_early *early, uint64_t n_docs)
{
    return early && early->n_columns && n_docs <= early->room;
}

void *rw_early_take(struct rw_early *early, size_t *n_bytes)
{
    void *block = early->block;
    *n_bytes = early_bytes(early);
    early->block = NULL;
    return block;
}
