/* Columns out: one data set of many builders.
 *
 * The builders hold values line by line. Their documents, in order, are the data set's; so a group
 * of builders owns a range of documents, and groups write into the columns side by side without
 * meeting. Which thread does which group cannot be seen in the result. Threads take groups from the
 * front, and each builder is released once it is copied: what the columns have not yet filled, the
 * builders still hold, and both together are little more than either.
 *
 * Or columns that fill while text is still read. A builder whose predecessors are all made is
 * placed from the memory that it was made in, which is in the cache. One that comes before them is
 * packed, and placed by whoever makes the last of them: else little would be placed where many
 * threads are at work. */
#include <pthread.h>

#include "base/machine.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "dataset/names.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

enum {
    ALIGN = 64,             /* of a column, in bytes */
    CURSOR_BYTES = 8 << 20, /* of all groups' cursors, unless there are fewer groups than threads */
    TILE = 64,              /* documents that are copied together: their lines fit L1 */
};

/* ---- columns that fill early ---- */

struct rw_early {
    uint64_t n_builders, n_known; /* first[n_known] is known, and all before it */
    uint64_t *first;              /* [n_builders + 1] documents before each; owned */
    uint32_t *n_docs;             /* [n_builders] and 1; 0: not made yet; owned */
    struct rw_builder **waits;    /* [n_builders] packed, till those before it are made; owned */
    uint64_t n_looked;            /* of builders before this one none waits */
    uint64_t room;
    uint32_t n_columns; /* 0: not known yet */
    uint16_t *feature;  /* [n_columns] ascending; owned */
    char *block;        /* [n_columns] columns, `stride` bytes apart; owned */
    size_t stride;
    pthread_mutex_t lock; /* of all above: builders are packed by several threads */
};

static size_t early_bytes(const struct rw_early *early)
{
    return early->n_columns * early->stride;
}

static float *early_column(const struct rw_early *early, uint32_t k)
{
    return (float *)(void *)(early->block + k * early->stride);
}

int rw_early_new(struct rw_ctx *ctx, uint64_t n_builders, uint64_t room, struct rw_early **out)
{
    struct rw_early *early = NULL;
    int status;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, early, 1));
    pthread_mutex_init(&early->lock, NULL);
    RW_TRY_OUT(RW_NEW(ctx, early->first, n_builders + 1));
    RW_TRY_OUT(RW_NEW(ctx, early->n_docs, n_builders));
    RW_TRY_OUT(RW_NEW(ctx, early->waits, n_builders));
    early->n_builders = n_builders;
    early->room = room < RW_MAX_DOCS ? room : RW_MAX_DOCS;
    /* an odd number of lines: the same row of all columns does not fall on the same line of the
     * cache */
    early->stride = ((size_t)early->room * sizeof(float) / ALIGN | 1) * ALIGN + 2 * ALIGN;
    *out = early;
    return RW_OK;
out:
    rw_early_free(early);
    return status;
}

void rw_early_free(struct rw_early *early)
{
    if (!early)
        return;
    pthread_mutex_destroy(&early->lock);
    rw_mem_free_large(early->block, early_bytes(early));
    rw_mem_free(early->feature);
    rw_mem_free(early->first);
    rw_mem_free(early->n_docs);
    rw_mem_free(early->waits);
    rw_mem_free(early);
}

/* The first builder's features are those of the columns. */
static int make_early(struct rw_early *early, const struct rw_builder *builder)
{
    const struct rw_run *run = builder->run;
    RW_TRY(RW_NEW_RAW(NULL, early->feature, run->n));
    memcpy(early->feature, builder->entry_feature + run->feature, run->n * sizeof(uint16_t));
    RW_TRY(rw_mem_new_large(NULL, (void **)&early->block, run->n * early->stride, 0));
    early->n_columns = run->n;
    return RW_OK;
}

/* May the values be placed? One thread at a time; early->first[i] is known. */
static int may_place(struct rw_early *early, uint64_t i, const struct rw_builder *builder)
{
    const struct rw_run *run = builder->run;
    if (builder->n_runs != 1 || run->n == 0 || early->first[i] + builder->n_docs > early->room)
        return 0;
    if (early->n_columns == 0 && (early->feature || make_early(early, builder) < 0))
        return 0; /* packed, as it would be without: if there is no memory, that will say so */
    return run->n == early->n_columns && memcmp(builder->entry_feature + run->feature,
                                                early->feature, run->n * sizeof(uint16_t)) == 0;
}

enum fate { PLACE, PACK, WAIT };

/* What is to become of a builder that is made. */
static enum fate fate_of(struct rw_early *early, uint64_t i, const struct rw_builder *builder)
{
    early->n_docs[i] = builder->n_docs + 1;
    for (; early->n_known < early->n_builders && early->n_docs[early->n_known]; early->n_known++)
        early->first[early->n_known + 1] =
            early->first[early->n_known] + early->n_docs[early->n_known] - 1;
    if (i > early->n_known)
        return WAIT;
    return may_place(early, i, builder) ? PLACE : PACK;
}

/* One that need wait no more, and *i; NULL: there is none. */
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

/* n_docs lines of n values each to columns, a few lines at a time, which stay in the cache. */
static void turn_lines(const float *from, uint32_t n_docs, size_t n, char *to, size_t stride)
{
    size_t k = 0;
#if RW_HAS_X86
    const uint32_t n_fours = n_docs / 4 * 4;
    for (; k + 4 <= n; k += 4) {
        float *const column = (float *)(void *)(to + k * stride);
        const size_t next = stride / sizeof(float);
        for (uint32_t i = 0; i < n_fours; i += 4) { /* values are moved as they are, NaN too */
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

static void place(const struct rw_early *early, uint64_t i, struct rw_builder *builder)
{
    const size_t n = builder->run[0].n;
    for (uint32_t doc = 0; doc < builder->n_docs; doc += TILE) {
        const uint32_t n_docs = builder->n_docs - doc < TILE ? builder->n_docs - doc : TILE;
        turn_lines(builder->entry_value + doc * n, n_docs, n,
                   early->block + (early->first[i] + doc) * sizeof(float), early->stride);
    }
    builder->is_placed = 1;
    builder->placed = (uint32_t)early->first[i];
}

int rw_early_pack(struct rw_early *early, uint64_t i, struct rw_builder *from,
                  struct rw_builder *to)
{
    enum fate fate;
    struct rw_builder *other;
    pthread_mutex_lock(&early->lock);
    fate = fate_of(early, i, from);
    pthread_mutex_unlock(&early->lock);
    if (fate == PLACE)
        place(early, i, from);
    RW_TRY(rw_builder_pack(NULL, from, to));
    do {
        pthread_mutex_lock(&early->lock);
        other = NULL;
        if (fate == WAIT && i >= early->n_looked)
            early->waits[i] = to;
        else if (fate == WAIT && may_place(early, i, to)) /* those before it are made now */
            other = to;
        if (!other)
            other = take_waiting(early, &i);
        fate = PACK;
        pthread_mutex_unlock(&early->lock);
        if (other) {
            place(early, i, other);
            rw_mem_free_large(other->entry_value, other->entry_value_room * sizeof(float));
            other->entry_value = NULL;
            other->entry_value_room = 0;
        }
    } while (other);
    return RW_OK;
}

/* ---- columns of builders ---- */

/* Builders that one thread turns into columns: [first, end). */
struct group {
    int first, end;
    uint32_t *cursor; /* [n_ids] entries of each feature; then where its next goes; a view */
};

struct finish {
    struct rw_early *early; /* NULL: none; borrowed */
    struct rw_builder *builders;
    int n_builders;
    uint32_t *first_doc;  /* [n_builders + 1]; owned */
    uint64_t *comment_at; /* [n_builders + 1] where each builder's comments go; owned */
    struct group *group;  /* [n_groups]; owned */
    uint32_t *cursors;    /* [n_groups][n_ids]; owned */
    uint32_t *column_of;  /* [n_ids] UINT32_MAX: no column; owned */
    uint32_t *n_of;       /* [n_ids] entries; owned */
    int n_groups, n_threads;
    uint32_t n_ids;             /* the largest feature and 1 */
    struct rw_dataset *dataset; /* owned until done */
};

static void finish_release(struct finish *finish)
{
    rw_mem_free(finish->group);
    rw_mem_free(finish->cursors);
    rw_mem_free(finish->first_doc);
    rw_mem_free(finish->comment_at);
    rw_mem_free(finish->column_of);
    rw_mem_free(finish->n_of);
    rw_dataset_free(finish->dataset);
}

static const char *query_id(const struct rw_builder *builder, uint32_t query)
{
    return builder->query_id_text + builder->query_id_offset[query];
}

static int query_is_empty(const struct rw_builder *builder, uint32_t query)
{
    return builder->query_offset[query] == builder->query_offset[query + 1];
}

/* Labels, queries, ids and comments: end to end. */
static int join_queries(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t n_queries = 0, id_bytes = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        n_queries += finish->builders[b].n_queries;
        id_bytes += finish->builders[b].query_id_bytes;
    }
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_offset, n_queries + 1));
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_id_offset, n_queries + 1));
    RW_TRY(RW_NEW_RAW(ctx, dataset->query_id_text, id_bytes));
    uint32_t n = 0;
    uint64_t bytes = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        for (uint32_t q = 0; q < builder->n_queries; q++) {
            const char *id = query_id(builder, q);
            const size_t length = strlen(id) + 1;
            if (query_is_empty(builder, q))
                continue;
            if (q == 0 && n > 0 &&
                strcmp(dataset->query_id_text + dataset->query_id_offset[n - 1], id) == 0)
                continue;
            memcpy(dataset->query_id_text + bytes, id, length);
            dataset->query_id_offset[n] = bytes;
            dataset->query_offset[n] = finish->first_doc[b] + builder->query_offset[q];
            bytes += length;
            n++;
        }
    }
    dataset->n_queries = n;
    dataset->query_offset[n] = dataset->n_docs;
    dataset->query_id_offset[n] = bytes;
    return RW_OK;
}

/* Room for labels and comments, and where each builder's go. */
static int make_docs(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    uint64_t bytes = 0;
    int any_comment = 0;
    RW_TRY(RW_NEW_RAW(ctx, finish->comment_at, (size_t)finish->n_builders + 1));
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        any_comment |= builder->any_comment;
        finish->comment_at[b] = bytes;
        bytes += builder->any_comment ? builder->comment_bytes : builder->n_docs;
        dataset->n_clamped += builder->n_clamped;
    }
    RW_TRY(RW_NEW_RAW(ctx, dataset->label, dataset->n_docs));
    if (any_comment) {
        RW_TRY(RW_NEW_RAW(ctx, dataset->comment_offset, (size_t)dataset->n_docs + 1));
        RW_TRY(RW_NEW_RAW(ctx, dataset->comment_text, bytes));
        dataset->comment_offset[dataset->n_docs] = bytes;
    }
    return RW_OK;
}

/* Weights, if any builder has some. */
static int join_weights(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    int any = 0;
    for (int b = 0; b < finish->n_builders; b++)
        any |= finish->builders[b].n_docs && finish->builders[b].has_weight;
    if (!any)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, dataset->weight, dataset->n_docs));
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        for (uint32_t i = 0; i < builder->n_docs; i++)
            dataset->weight[finish->first_doc[b] + i] =
                builder->has_weight ? builder->weight[i] : 1.0;
    }
    return RW_OK;
}

static const char *name_of(const struct rw_builder *builder)
{
    return builder->file ? builder->file : "a table";
}

/* Further labels, of which all documents have as many. */
static int join_more_labels(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    const struct rw_builder *first = NULL;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        if (first && builder->n_docs && builder->n_more_labels != first->n_more_labels)
            return rw_fail(ctx, RW_ERR_DATA,
                           "%.400s and %.400s: documents with %d label%s and with %d; expected as "
                           "many of each",
                           name_of(first), name_of(builder), first->n_more_labels + 1,
                           first->n_more_labels ? "s" : "", builder->n_more_labels + 1);
        first = builder->n_docs ? builder : first;
    }
    const int n = first ? first->n_more_labels : 0;
    if (n == 0)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, dataset->more_label, (size_t)n * dataset->n_docs));
    dataset->n_more_labels = n;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        for (size_t i = 0; i < (size_t)builder->n_docs * (size_t)n; i++)
            dataset->more_label[i % (size_t)n * dataset->n_docs + finish->first_doc[b] +
                                i / (size_t)n] = builder->more_label[i];
    }
    return RW_OK;
}

/* Files of one set call its features alike. */
static int join_names(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    for (int b = 0; b < finish->n_builders; b++) {
        struct rw_builder *builder = &finish->builders[b];
        if (!builder->name)
            continue;
        if (!dataset->name) {
            dataset->name = builder->name;
            dataset->n_names = builder->n_names;
            builder->name = NULL;
            builder->n_names = 0;
        } else if (!rw_names_are_same(dataset->name, dataset->n_names, builder->name,
                                      builder->n_names)) {
            return rw_fail(ctx, RW_ERR_DATA,
                           "'%s': its columns are not those of the files before it\n"
                           "hint: files of one set have the same columns in the same order",
                           name_of(builder));
        }
    }
    return RW_OK;
}

/* How the features of a part of the set are counted. */
static const char *width_text(const struct rw_builder *builder, char *text, size_t size)
{
    if (!builder->width)
        return "ids, as in LETOR text";
    snprintf(text, size, "%u columns", builder->width);
    return text;
}

/* Columns of a table count from 0, ids in LETOR text as a rule from 1. */
static int join_widths(struct rw_ctx *ctx, const struct finish *finish)
{
    const struct rw_builder *first = NULL;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        if (builder->n_docs == 0)
            continue;
        char a[24], b_text[24];
        if (first && builder->width != first->width)
            return rw_fail(ctx, RW_ERR_DATA,
                           "'%.400s' has %s, '%.400s' has %s\n"
                           "hint: files of one set have the same columns in the same order",
                           name_of(first), width_text(first, a, sizeof(a)), name_of(builder),
                           width_text(builder, b_text, sizeof(b_text)));
        first = builder;
    }
    finish->dataset->width = first ? first->width : 0;
    finish->dataset->by_name = first ? first->by_name : 0;
    return RW_OK;
}

/* Numbers of words mean nothing beside those of another lexicon, or beside plain numbers. */
static int join_lexicons(struct rw_ctx *ctx, const struct finish *finish)
{
    const struct rw_builder *first = NULL;
    for (int b = 0; b < finish->n_builders; b++) {
        const struct rw_builder *builder = &finish->builders[b];
        if (builder->n_docs == 0)
            continue;
        if (first && builder->lexicon != first->lexicon)
            return rw_fail(ctx, RW_ERR_DATA,
                           "%.400s and %.400s: categories are read as words of the one, and as "
                           "numbers, or words of its own, of the other\n"
                           "hint: name all features that are words, and no others, with the "
                           "parameter 'categorical'",
                           name_of(first), name_of(builder));
        first = builder;
    }
    if (first)
        finish->dataset->lexicon = rw_lexicon_share(first->lexicon);
    return RW_OK;
}

static void fill_docs(const struct finish *finish, int b)
{
    struct rw_dataset *dataset = finish->dataset;
    const struct rw_builder *builder = &finish->builders[b];
    const uint32_t first = finish->first_doc[b];
    const uint64_t at = finish->comment_at[b];
    if (builder->n_docs)
        memcpy(dataset->label + first, builder->label, builder->n_docs * sizeof(float));
    if (!dataset->comment_offset)
        return;
    for (uint32_t i = 0; i < builder->n_docs; i++)
        dataset->comment_offset[first + i] =
            at + (builder->any_comment ? builder->comment_offset[i] : i);
    if (builder->any_comment)
        memcpy(dataset->comment_text + at, builder->comment_text, builder->comment_bytes);
    else
        memset(dataset->comment_text + at, 0, builder->n_docs);
}

static int count_ids(void *job, struct rw_share *share)
{
    struct finish *finish = job;
    uint32_t n_ids = 0;
    for (uint64_t b, end; rw_share_next(share, &b, &end);) {
        for (; b < end; b++) {
            const uint32_t most = rw_builder_n_ids(&finish->builders[b]);
            n_ids = most > n_ids ? most : n_ids;
        }
    }
    rw_share_lock(share);
    finish->n_ids = n_ids > finish->n_ids ? n_ids : finish->n_ids;
    rw_share_unlock(share);
    return RW_OK;
}

/* As many groups as cursors allow: small ones keep the threads at the front. */
static int make_groups(struct rw_ctx *ctx, struct finish *finish)
{
    const size_t cursor_bytes = ((size_t)finish->n_ids + 1) * sizeof(uint32_t);
    size_t most = CURSOR_BYTES / cursor_bytes;
    if (most < (size_t)finish->n_threads)
        most = (size_t)finish->n_threads;
    finish->n_groups = (size_t)finish->n_builders < most ? finish->n_builders : (int)most;
    if (finish->n_groups < 1)
        finish->n_groups = 1;
    RW_TRY(RW_NEW(ctx, finish->group, (size_t)finish->n_groups));
    RW_TRY(RW_NEW(ctx, finish->cursors, (size_t)finish->n_groups * finish->n_ids));
    RW_TRY(RW_NEW(ctx, finish->column_of, finish->n_ids));
    RW_TRY(RW_NEW(ctx, finish->n_of, finish->n_ids));
    for (int g = 0; g < finish->n_groups; g++) {
        struct group *group = &finish->group[g];
        group->first = (int)((int64_t)finish->n_builders * g / finish->n_groups);
        group->end = (int)((int64_t)finish->n_builders * (g + 1) / finish->n_groups);
        group->cursor = finish->cursors + (size_t)g * finish->n_ids;
    }
    return RW_OK;
}

static size_t column_bytes(uint32_t n)
{
    return ((size_t)n * sizeof(float) + ALIGN - 1) / ALIGN * ALIGN;
}

/* The early column that is a feature's column as it stands; NULL: there is none. */
static float *early_of(const struct finish *finish, uint32_t f)
{
    const struct rw_early *early = finish->early;
    uint32_t low = 0, high = early ? early->n_columns : 0;
    if (high == 0 || finish->dataset->n_docs > early->room ||
        !rw_column_is_dense(finish->n_of[f], finish->dataset->n_docs))
        return NULL;
    while (low + 1 < high) {
        const uint32_t middle = (low + high) / 2;
        if (early->feature[middle] <= f)
            low = middle;
        else
            high = middle;
    }
    return early->feature[low] == f ? early_column(early, low) : NULL;
}

/* Turns the counts into where each group's first entry goes, decides columns from the totals. */
static int make_columns(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t bytes = 0;
    for (int g = 0; g < finish->n_groups; g++) {
        uint32_t *cursor = finish->group[g].cursor;
        for (uint32_t f = 0; f < finish->n_ids; f++) {
            const uint32_t of_group = cursor[f];
            cursor[f] = finish->n_of[f];
            finish->n_of[f] += of_group;
        }
    }
    for (uint32_t f = 0; f < finish->n_ids; f++) {
        const uint32_t n = finish->n_of[f];
        dataset->n_columns += n > 0;
        if (n && !early_of(finish, f))
            bytes += rw_column_is_dense(n, dataset->n_docs) ? column_bytes(dataset->n_docs)
                                                            : 2 * column_bytes(n);
    }
    RW_TRY(RW_NEW(ctx, dataset->column, dataset->n_columns));
    /* Not in huge pages: one of every column would be touched early, while builders are full; and
     * they made reading 4 GB three times slower (2 threads, a virtual machine, 2 MiB by madvise).
     */
    RW_TRY(rw_mem_new_large(ctx, &dataset->column_block, bytes, 0));
    dataset->column_block_bytes = bytes;
    char *at = dataset->column_block;
    uint32_t c = 0;
    for (uint32_t f = 0; f < finish->n_ids; f++) {
        const uint32_t n = finish->n_of[f];
        finish->column_of[f] = UINT32_MAX;
        if (n == 0)
            continue;
        finish->column_of[f] = c;
        struct rw_column *column = &dataset->column[c++];
        column->feature = f;
        column->n = rw_column_is_dense(n, dataset->n_docs) ? dataset->n_docs : n;
        column->value = early_of(finish, f);
        if (column->value)
            continue;
        column->value = (void *)at;
        at += column_bytes(column->n);
        if (rw_column_is_dense(n, dataset->n_docs))
            continue;
        column->row = (void *)at;
        at += column_bytes(n);
    }
    return RW_OK;
}

static void fill_absent(const struct finish *finish, int b)
{
    struct rw_dataset *dataset = finish->dataset;
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    const uint32_t n_docs = finish->builders[b].n_docs;
    const int is_placed = finish->builders[b].is_placed;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (dataset->column[c].row || (is_placed && early_of(finish, dataset->column[c].feature)))
            continue;
        float *value = dataset->column[c].value + finish->first_doc[b];
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&value[i], &absent, sizeof(absent)); /* its bits, whatever the FPU does */
    }
}

/* n_docs lines of `n` values each to the documents from `first` on. */
static void fill_lines(const struct finish *finish, uint32_t *cursor, const uint16_t *feature,
                       size_t n, const float *from, uint32_t first, uint32_t n_docs)
{
    for (size_t k = 0; k < n; k++) {
        struct rw_column *column = &finish->dataset->column[finish->column_of[feature[k]]];
        uint32_t at = first;
        if (column->row) {
            at = cursor[feature[k]];
            cursor[feature[k]] = at + n_docs;
            for (uint32_t i = 0; i < n_docs; i++)
                column->row[at + i] = first + i;
        }
        float *to = column->value + at;
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&to[i], &from[i * n + k], sizeof(float));
    }
}

/* Values that are in early columns: most are where they should be. */
static void fill_placed(const struct finish *finish, uint32_t *cursor, int b)
{
    const struct rw_early *early = finish->early;
    const struct rw_builder *builder = &finish->builders[b];
    const uint32_t first = finish->first_doc[b], n_docs = builder->n_docs;
    for (uint32_t k = 0; k < early->n_columns; k++) {
        const uint32_t f = early->feature[k];
        struct rw_column *column = &finish->dataset->column[finish->column_of[f]];
        const float *from = early_column(early, k) + builder->placed;
        uint32_t at = first;
        if (column->row) {
            at = cursor[f];
            cursor[f] = at + n_docs;
            for (uint32_t i = 0; i < n_docs; i++)
                column->row[at + i] = first + i;
        }
        if (column->value + at != from)
            memcpy(column->value + at, from, n_docs * sizeof(float));
    }
}

static void fill_group(const struct finish *finish, const struct group *group)
{
    for (int b = group->first; b < group->end; b++) {
        struct rw_builder *builder = &finish->builders[b];
        fill_docs(finish, b);
        if (builder->n_runs != 1 || builder->run[0].n != finish->dataset->n_columns)
            fill_absent(finish, b);
        if (builder->is_placed)
            fill_placed(finish, group->cursor, b);
        for (uint32_t r = 0; r < builder->n_runs && !builder->is_placed; r++) {
            const struct rw_run *run = &builder->run[r];
            const uint32_t end = run->doc + rw_builder_run_docs(builder, r);
            if (run->n == 0) /* there may be no entries at all */
                continue;
            const float *value = builder->entry_value + run->value;
            for (uint32_t doc = run->doc; doc < end; doc += TILE) {
                const uint32_t n_docs = end - doc < TILE ? end - doc : TILE;
                fill_lines(finish, group->cursor, builder->entry_feature + run->feature, run->n,
                           value, finish->first_doc[b] + doc, n_docs);
                value += (size_t)n_docs * run->n;
            }
        }
        rw_builder_release(builder); /* so that entries and columns never stand in memory whole */
    }
}

/* Locations of all builders' lines, if all have them; those that go on from one to the next are
 * one. */
static int join_locations(struct rw_ctx *ctx, struct finish *finish)
{
    struct rw_dataset *dataset = finish->dataset;
    size_t n = 0;
    for (int b = 0; b < finish->n_builders; b++) {
        if (finish->builders[b].n_docs && !finish->builders[b].n_locations)
            return RW_OK;
        n += finish->builders[b].n_locations;
    }
    RW_TRY(RW_NEW(ctx, dataset->location, n));
    RW_TRY(RW_NEW(ctx, dataset->file, (size_t)finish->n_builders));
    for (int b = 0; b < finish->n_builders; b++) {
        struct rw_builder *builder = &finish->builders[b];
        if (!builder->n_docs)
            continue;
        if (!dataset->n_files || strcmp(dataset->file[dataset->n_files - 1], builder->file) != 0) {
            dataset->file[dataset->n_files++] = builder->file;
            builder->file = NULL;
        }
        for (uint32_t i = 0; i < builder->n_locations; i++) {
            const struct rw_location location = {.doc = finish->first_doc[b] +
                                                        builder->location[i].doc,
                                                 .file = dataset->n_files - 1,
                                                 .line = builder->location[i].line};
            const struct rw_location *last =
                dataset->n_locations ? &dataset->location[dataset->n_locations - 1] : NULL;
            if (!last || last->file != location.file ||
                location.line != last->line + (location.doc - last->doc))
                dataset->location[dataset->n_locations++] = location;
        }
    }
    return RW_OK;
}

static int count_groups(void *job, struct rw_share *share)
{
    const struct finish *finish = job;
    for (uint64_t g, end; rw_share_next(share, &g, &end);)
        for (int b = finish->group[g].first; b < finish->group[g].end; b++)
            rw_builder_count(&finish->builders[b], finish->group[g].cursor);
    return RW_OK;
}

static int fill_groups(void *job, struct rw_share *share)
{
    struct finish *finish = job;
    for (uint64_t g, end; rw_share_next(share, &g, &end);)
        fill_group(finish, &finish->group[g]);
    return RW_OK;
}

int rw_early_finish(struct rw_ctx *ctx, struct rw_early *early, struct rw_builder *builders,
                    int n_builders, struct rw_dataset **out)
{
    *out = NULL;
    struct finish finish = {.early = early,
                            .builders = builders,
                            .n_builders = n_builders,
                            .n_threads = ctx && ctx->n_threads > 1 ? ctx->n_threads : 1};
    if (finish.n_threads > n_builders)
        finish.n_threads = n_builders > 1 ? n_builders : 1;
    int status;
    uint64_t n_docs = 0;
    RW_TRY_OUT(RW_NEW(ctx, finish.first_doc, (size_t)n_builders + 1));
    for (int b = 0; b < n_builders; b++) {
        finish.first_doc[b] = (uint32_t)n_docs;
        n_docs += builders[b].n_docs;
        if (n_docs > RW_MAX_DOCS) {
            status = rw_fail(ctx, RW_ERR_DATA, "more than %u documents", RW_MAX_DOCS);
            goto out;
        }
    }
    RW_TRY_OUT(rw_dataset_new(ctx, &finish.dataset));
    finish.dataset->n_docs = (uint32_t)n_docs;
    finish.first_doc[n_builders] = (uint32_t)n_docs;
    RW_TRY_OUT(join_queries(ctx, &finish));
    RW_TRY_OUT(make_docs(ctx, &finish));
    RW_TRY_OUT(join_weights(ctx, &finish));
    RW_TRY_OUT(join_more_labels(ctx, &finish));
    RW_TRY_OUT(join_names(ctx, &finish));
    RW_TRY_OUT(join_widths(ctx, &finish));
    RW_TRY_OUT(join_lexicons(ctx, &finish));
    RW_TRY_OUT(join_locations(ctx, &finish));
    rw_parallel(ctx, finish.n_threads, (uint64_t)n_builders, 0, count_ids, &finish);
    RW_TRY_OUT(make_groups(ctx, &finish));
    rw_parallel(ctx, finish.n_threads, (uint64_t)finish.n_groups, 1, count_groups, &finish);
    RW_TRY_OUT(make_columns(ctx, &finish));
    rw_parallel(ctx, finish.n_threads, (uint64_t)finish.n_groups, 1, fill_groups, &finish);
    if (early && early->n_columns && n_docs <= early->room) {
        finish.dataset->early_block_bytes = early_bytes(early);
        finish.dataset->early_block = early->block;
        early->block = NULL;
    }
    *out = finish.dataset;
    finish.dataset = NULL;
out:
    for (int b = 0; b < n_builders; b++)
        rw_builder_release(&builders[b]);
    finish_release(&finish);
    return status;
}

int rw_builder_finish(struct rw_ctx *ctx, struct rw_builder *builders, int n_builders,
                      struct rw_dataset **out)
{
    return rw_early_finish(ctx, NULL, builders, n_builders, out);
}
