/* Turns values into intervals between boundaries, chunk by chunk, then the intervals of all chunks
 * into the codes of one data set. chunks.h explains the method. */
#include "binning/chunks.h"
#include "comm/comm.h"

/* ---- one feature ---- */

/* A feature of the current chunk, with the entries (document and value) of the held documents,
 * which are those sampled, and of the new documents, which are all others. */
struct at_work {
    const struct rw_chunks *chunks;
    const struct rw_chunk *chunk;
    struct rw_chunk_scratch *s;
    struct rw_chunk_feature *feature;
    uint32_t id;           /* the feature's id */
    const float *value;    /* [n] values of the new documents that have the feature */
    const uint32_t *row;   /* [n] rows of these documents in the chunk, ascending */
    uint32_t n;            /* 0: no new document has the feature */
    struct rw_column held; /* entries of the held documents, dense or sparse; empty if none of them
                              has the feature */
    size_t width;          /* bytes per interval index */
    int32_t *most;         /* largest value of each interval of this feature */
};

/* Returns the column of the current feature's held documents. With held->has_rows, the column is
 * sparse, and its values are in the chunk's block if the block stores floats, otherwise in s->line.
 * Without has_rows, the column is dense, with values in s->line; RW_ABSENT_BITS marks a document
 * without the feature. */
static struct rw_column unpacked(const struct at_work *w, const struct rw_held *held)
{
    struct rw_chunk_scratch *s = w->s;
    uint32_t *whose = rw_held_rows(w->chunk, held);
    if (held->has_rows) {
        float *value = (float *)rw_held_values(w->chunk, held, s->line);
        return (struct rw_column){
            .feature = held->feature, .n = held->n, .row = whose, .value = value};
    }
    rw_chunk_unpack(w->chunks->isa, rw_held_values(w->chunk, held, s->packed),
                    (const uint8_t *)whose, w->chunk->n_sampled,
                    held->rest_is_zero ? 0 : RW_ABSENT_BITS, s->line);
    return (struct rw_column){.feature = held->feature, .n = w->chunk->n_sampled, .value = s->line};
}

/* Returns the row in the chunk of the k-th held entry's document. */
static inline uint32_t held_row(const struct at_work *w, uint32_t k)
{
    return w->s->held_row[w->held.row ? w->held.row[k] : k];
}

static void search(const struct at_work *w, const float *value, uint32_t n, void *intervals)
{
    enum { FEW = 64 }; /* for so few values, preparing vectors costs more than it saves */
    rw_code_search_run(n < FEW ? RW_ISA_PLAIN : w->chunks->isa, w->s->search, value, n, w->width,
                       intervals, w->most);
}

/* Collects the values of all documents of the chunk in s->all_values. */
static void gather(const struct at_work *w)
{
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    float *restrict all = w->s->all_values;
    const uint32_t n_docs = w->chunk->n_docs;
    if (w->n + w->held.n < n_docs) {
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&all[i], &absent, sizeof(absent));
    }
    for (uint32_t i = 0; i < w->n; i++)
        memcpy(&all[w->row[i]], &w->value[i], sizeof(*all));
    for (uint32_t i = 0; i < w->held.n; i++)
        memcpy(&all[held_row(w, i)], &w->held.value[i], sizeof(*all));
}

/* Writes the intervals of all documents of the chunk, and passes the values to chunks->take. */
static int add_all(const struct at_work *w, void *intervals)
{
    const struct rw_chunks *chunks = w->chunks;
    const float *values = w->s->all_values;
    gather(w);
    search(w, values, w->chunk->n_docs, intervals);
    return chunks->take ? chunks->take(chunks->take_user, w->id, w->chunk->first_doc, values,
                                       w->chunk->n_docs)
                        : RW_OK;
}

/* Lists the documents whose interval is not that of an absent value: writes their rows in the
 * chunk, ascending, and their intervals. It searches only the entries, so it is faster than add_all
 * and list_others if there are few. row, intervals: room for w->n + w->held.n + 1. Returns the
 * number of listed documents. */
static uint32_t list_few(const struct at_work *w, uint32_t *row, void *intervals)
{
    const struct rw_chunk_scratch *s = w->s;
    uint32_t n = 0, i = 0, k = 0;
    search(w, w->value, w->n, s->new_interval);
    search(w, w->held.value, w->held.n, s->held_interval);
    while (i < w->n || k < w->held.n) {
        const uint32_t held = k < w->held.n ? held_row(w, k) : UINT32_MAX;
        const int is_new = i < w->n && w->row[i] < held;
        const uint32_t one = is_new ? rw_codes_get(s->new_interval, w->width, i)
                                    : rw_codes_get(s->held_interval, w->width, k);
        row[n] = is_new ? w->row[i] : held;
        rw_codes_put(intervals, w->width, n, one);
        n += one != w->feature->absent;
        i += (uint32_t)is_new;
        k += (uint32_t)!is_new;
    }
    return n;
}

/* Writes the same list as list_few, but from s->new_interval, which has the intervals of all
 * documents of the chunk. row, intervals: room for all documents of the chunk. Returns the number
 * of listed documents. */
static uint32_t list_others(const struct at_work *w, uint32_t *row, void *intervals)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < w->chunk->n_docs; i++) {
        const uint32_t one = rw_codes_get(w->s->new_interval, w->width, i);
        row[n] = i;
        rw_codes_put(intervals, w->width, n, one);
        n += one != w->feature->absent;
    }
    return n;
}

/* The sizes of the chunk's lists so far, which are in the thread's scratch memory: number of lists
 * (s->list), rows (s->listed) and bytes of intervals (s->interval). */
struct made {
    uint32_t n_lists, n_rows, n_bytes;
};

static int list_feature(const struct at_work *w, struct made *made)
{
    enum { FEW = 8 }; /* list_few is used if there are more than this many documents per entry */
    struct rw_chunk_scratch *s = w->s;
    const uint32_t n_docs = w->chunk->n_docs;
    const size_t most = made->n_bytes + w->width + (size_t)n_docs * w->width;
    RW_TRY(RW_GROW(NULL, s->list, s->list_room, (size_t)made->n_lists + 1));
    RW_TRY(RW_GROW(NULL, s->interval, s->interval_room, most));
    RW_TRY(RW_GROW(NULL, s->listed, s->listed_room, (size_t)made->n_rows + n_docs));
    made->n_bytes += made->n_bytes % (uint32_t)w->width; /* two-byte values start at an even
                                                            offset */
    struct rw_chunk_list list = {
        .feature = (uint16_t)w->id, .interval_at = made->n_bytes, .row_at = made->n_rows};
    uint32_t *row = s->listed + list.row_at;
    void *intervals = s->interval + list.interval_at;
    if (!w->chunks->take && (uint64_t)(w->n + w->held.n) * FEW < n_docs) {
        list.n = list_few(w, row, intervals);
    } else {
        RW_TRY(add_all(w, s->new_interval));
        list.n = list_others(w, row, intervals);
    }
    s->list[made->n_lists++] = list;
    made->n_rows += list.n;
    made->n_bytes += list.n * (uint32_t)w->width;
    __atomic_fetch_add(&w->feature->n_listed, list.n, __ATOMIC_RELAXED);
    return RW_OK;
}

static int add_feature(const struct at_work *w, struct made *made)
{
    struct rw_chunk_feature *feature = w->feature;
    char *full = feature->interval;
    rw_code_search_init(w->s->search, feature->bound, feature->n_bounds,
                        w->chunks->rule.absent_missing, feature->n_bounds + 1);
    __atomic_fetch_add(&feature->n_present, w->n, __ATOMIC_RELAXED);
    return full ? add_all(w, full + w->chunk->first_doc * w->width) : list_feature(w, made);
}

/* ---- a chunk ---- */

/* Replaces the chunk's held values by the lists made from them. */
static int keep_lists(struct rw_chunk *chunk, const struct rw_chunk_scratch *s,
                      const struct made *made)
{
    const size_t lists = made->n_lists * sizeof(*chunk->list);
    const size_t rows = made->n_rows * sizeof(*chunk->row);
    rw_chunk_release(chunk);
    RW_TRY(rw_chunk_make_room(chunk, lists + rows + made->n_bytes));
    chunk->n_lists = made->n_lists;
    chunk->list = chunk->block;
    chunk->row = (uint32_t *)((char *)chunk->block + lists);
    chunk->interval = (uint8_t *)chunk->row + rows;
    if (lists)
        memcpy(chunk->list, s->list, lists);
    if (rows)
        memcpy(chunk->row, s->listed, rows);
    if (made->n_bytes)
        memcpy(chunk->interval, s->interval, made->n_bytes);
    return RW_OK;
}

int rw_chunks_add(struct rw_chunks *chunks, uint32_t p, int thread,
                  const struct rw_builder *builder, const uint32_t *row)
{
    struct rw_chunk_scratch *s = &chunks->scratch[thread];
    struct rw_chunk *chunk = &chunks->chunk[p];
    const uint32_t *sampled = chunks->sample->row;
    struct made made = {0};
    if (builder)
        RW_TRY(rw_chunk_sort(s, builder, row));
    for (uint32_t i = 0; i < chunk->n_sampled; i++)
        s->held_row[i] =
            sampled ? sampled[chunk->first_sampled + i] - chunk->first_doc : i; /* NULL: all */
    for (uint32_t i = 0, c = 0, k = 0;
         i < s->n_features || c < chunk->n_held || k < chunks->n_full;) {
        const uint32_t new_id = i < s->n_features ? s->feature[i] : UINT32_MAX;
        const uint32_t held_id = c < chunk->n_held ? chunk->held[c].feature : UINT32_MAX;
        const uint32_t full_id = k < chunks->n_full ? chunks->full[k] : UINT32_MAX;
        const uint32_t first = new_id < held_id ? new_id : held_id;
        const uint32_t f = first < full_id ? first : full_id;
        struct at_work w = {.chunks = chunks,
                            .chunk = chunk,
                            .s = s,
                            .feature = &chunks->feature[f],
                            .id = f,
                            .width = chunks->feature[f].width,
                            .most = s->most + chunks->feature[f].most_at};
        if (new_id == f) {
            w.value = s->value + s->begin[i];
            w.row = rw_chunk_rows(s, i);
            w.n = s->next[f] - s->begin[i];
            i++;
        }
        if (held_id == f)
            w.held = unpacked(&w, &chunk->held[c++]);
        k += full_id == f;
        RW_TRY(add_feature(&w, &made));
    }
    return keep_lists(chunk, s, &made);
}

/* ---- all chunks ---- */

struct join {
    struct rw_chunks *chunks; /* borrowed */
    struct rw_arena arena;    /* owns all arrays except `codes` */
    /* [n_columns] only `feature` and `n` are set. If a column of values would be dense, n is the
     * number of all workers' documents, otherwise of those that have the feature. */
    struct rw_column *column;
    uint32_t n_columns;
    struct rw_feature_cuts *found; /* [n_columns] its thresholds are owned */
    struct rw_codes *codes;        /* [n_columns] owned */
    uint64_t *count_at; /* [n_columns + 1] where a column's numbers begin in `own` and `count` */
    /* Both have [count_at[n_columns]] elements. own: for each column, this worker's documents in
     * each interval, then those with a missing value; count: the sums of `own` over all workers */
    uint32_t *own, *count;
};

static void join_release(struct join *join)
{
    for (uint32_t c = 0; join->found && c < join->n_columns; c++)
        rw_mem_free(join->found[c].cut);
    rw_arena_free(&join->arena);
    rw_codes_free(join->codes, join->n_columns);
}

/* Combines the threads' largest values (`most`) in the first thread's memory. */
static void add_threads(struct rw_chunks *chunks)
{
    struct rw_chunk_scratch *sum = &chunks->scratch[0];
    for (int t = 1; t < chunks->n_threads; t++) {
        const struct rw_chunk_scratch *s = &chunks->scratch[t];
        for (uint64_t k = 0; k < chunks->n_most; k++)
            sum->most[k] = s->most[k] > sum->most[k] ? s->most[k] : sum->most[k];
    }
}

static int make_columns(struct join *join)
{
    struct rw_chunks *chunks = join->chunks;
    struct rw_ctx *ctx = chunks->ctx;
    const uint32_t n_docs = chunks->sample->n_all_docs;
    uint32_t n_columns = 0;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        n_columns += chunks->feature[f].n_present > 0;
    RW_TRY(RW_ARENA_NEW(ctx, &join->arena, join->found, n_columns));
    RW_TRY(RW_NEW(ctx, join->codes, n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, &join->arena, join->column, n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, &join->arena, join->count_at, (size_t)n_columns + 1));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        struct rw_chunk_feature *feature = &chunks->feature[f];
        const uint32_t n = feature->n_present;
        feature->column = n ? join->n_columns++ : UINT32_MAX;
        if (n == 0)
            continue;
        join->column[feature->column] =
            (struct rw_column){.feature = f, .n = rw_column_is_dense(n, n_docs) ? n_docs : n};
        join->count_at[feature->column + 1] =
            join->count_at[feature->column] + feature->n_bounds + 2;
        if (feature->interval)
            continue;
        RW_TRY(RW_NEW_RAW(ctx, feature->row, feature->n_listed));
        RW_TRY(rw_mem_new_raw(ctx, &feature->interval, feature->n_listed, feature->width));
    }
    RW_TRY(RW_ARENA_NEW(ctx, &join->arena, join->own, join->count_at[n_columns]));
    return RW_ARENA_NEW(ctx, &join->arena, join->count, join->count_at[n_columns]);
}

/* ---- joining the lists of chunks into columns ---- */

/* Copies the chunk's entries of data set columns [first, end). */
static void join_chunk(const struct join *join, const struct rw_chunk *chunk, uint32_t first,
                       uint32_t end)
{
    for (uint32_t i = 0; i < chunk->n_lists; i++) {
        const struct rw_chunk_list *list = &chunk->list[i];
        struct rw_chunk_feature *feature = &join->chunks->feature[list->feature];
        const uint32_t to = feature->n_joined;
        if (feature->column < first || feature->column >= end || list->n == 0)
            continue;
        for (uint32_t k = 0; k < list->n; k++)
            feature->row[to + k] = chunk->first_doc + chunk->row[list->row_at + k];
        memcpy((uint8_t *)feature->interval + to * feature->width,
               chunk->interval + list->interval_at, list->n * feature->width);
        feature->n_joined += list->n;
    }
}

struct some_chunks {
    const struct join *join;
    uint32_t first, end; /* the current chunks are first .. end - 1 */
    uint64_t n_parts;    /* number of column ranges */
};

static int join_parts(void *job, struct rw_share *share)
{
    const struct some_chunks *some = job;
    const struct join *join = some->join;
    for (uint64_t part, part_end; rw_share_next(share, &part, &part_end);) {
        const uint32_t first = (uint32_t)(join->n_columns * part / some->n_parts);
        const uint32_t end = (uint32_t)(join->n_columns * (part + 1) / some->n_parts);
        for (uint32_t i = some->first; i < some->end && first < end; i++)
            join_chunk(join, &join->chunks->chunk[i], first, end);
    }
    return RW_OK;
}

/* Joins the lists of some chunks at a time, with a range of columns per thread, and then releases
 * these chunks. All lists and all joined columns are thus never in memory together. */
static void join_chunks(const struct join *join)
{
    enum { AT_A_TIME = 16, PARTS = 4 };
    const struct rw_chunks *chunks = join->chunks;
    struct some_chunks some = {.join = join, .n_parts = (uint64_t)chunks->n_threads * PARTS};
    for (; some.first < chunks->n_chunks; some.first = some.end) {
        const uint32_t left = chunks->n_chunks - some.first;
        some.end = some.first + (left < AT_A_TIME ? left : AT_A_TIME);
        rw_parallel(chunks->ctx, chunks->n_threads, some.n_parts, 1, join_parts, &some);
        for (uint32_t i = some.first; i < some.end; i++)
            rw_chunk_release(&chunks->chunk[i]);
    }
}

/* ---- thresholds and codes ---- */

/* Returns the number of a feature's interval indices: one per listed document, or one per document
 * for a full column. */
static uint32_t n_entries(const struct rw_chunks *chunks, const struct rw_chunk_feature *feature)
{
    return feature->row ? feature->n_listed : chunks->n_docs;
}

static int count_columns(void *job, struct rw_share *share)
{
    const struct join *join = job;
    const struct rw_chunks *chunks = join->chunks;
    for (uint64_t c, end; rw_share_next(share, &c, &end);) {
        const struct rw_chunk_feature *feature = &chunks->feature[join->column[c].feature];
        const uint32_t n = n_entries(chunks, feature);
        uint32_t *count = join->own + join->count_at[c];
        rw_code_count(feature->interval, n, feature->width, feature->n_bounds + 2, count);
        count[feature->absent] += chunks->n_docs - n;
    }
    return RW_OK;
}

/* Fills *intervals for the documents of all workers. count: the feature's numbers in join->count.
 */
static void intervals_of(const struct rw_chunks *chunks, uint32_t id,
                         const struct rw_chunk_feature *feature, const uint32_t *count,
                         struct rw_cut_intervals *intervals)
{
    const int32_t *most = chunks->scratch[0].most + feature->most_at;
    const uint32_t n = feature->n_bounds, absent = feature->absent;
    intervals->n_bounds = n;
    if (n)
        memcpy(intervals->bound, feature->bound, n * sizeof(*feature->bound));
    for (uint32_t k = 0; k <= n; k++)
        intervals->below[k] = rw_key_of_ordered(most[k]);
    if (!chunks->rule.absent_missing && feature->n_present < chunks->sample->n_all_docs &&
        RW_KEY_OF_ZERO > intervals->below[absent])
        intervals->below[absent] = RW_KEY_OF_ZERO;
    memcpy(intervals->count, count, (n + 2) * sizeof(intervals->count[0]));
    intervals->n_missing = intervals->count[n + 1];
    intervals->by_category = rw_cut_rule_categories(&chunks->rule, id) > 0;
}

static int end_column(const struct join *join, uint32_t c)
{
    const struct rw_chunks *chunks = join->chunks;
    struct rw_column column = join->column[c];
    struct rw_chunk_feature *feature = &chunks->feature[column.feature];
    struct rw_cut_intervals intervals;
    uint32_t none;
    column.row = column.n < chunks->sample->n_all_docs
                     ? &none
                     : NULL; /* rw_cuts_decided only compares `row` with NULL */
    if (rw_cuts_decided(&column, &chunks->rule, &join->found[c]))
        return RW_OK;
    column.n = n_entries(chunks, feature);
    column.row = feature->row;
    intervals_of(chunks, column.feature, feature, join->count + join->count_at[c], &intervals);
    void *index = RW_TAKE(feature->interval);
    const int status = rw_codes_of_intervals(&intervals, join->own + join->count_at[c],
                                             &chunks->rule, &column, chunks->n_docs, feature->width,
                                             index, &join->found[c], &join->codes[c]);
    rw_mem_free(feature->row);
    feature->row = NULL;
    return status;
}

static int end_columns(void *job, struct rw_share *share)
{
    for (uint64_t c, end; rw_share_next(share, &c, &end);)
        RW_TRY(end_column(job, (uint32_t)c));
    return RW_OK;
}

/* Sets out->feature to all features of the data, and out->bins to the bins of those in use. */
static int end_bins(struct join *join, struct rw_binned *out)
{
    const struct rw_chunks *chunks = join->chunks;
    const struct rw_dataset columns = {
        .n_docs = chunks->n_docs, .n_columns = join->n_columns, .column = join->column};
    RW_TRY(rw_binned_take_features(chunks->ctx, join->column, join->n_columns, out));
    return rw_bins_gather(chunks->ctx, &columns, &chunks->rule, join->found, join->codes,
                          &out->bins);
}

/* Joins the columns of intervals, and counts the documents in each interval. */
static int count_all(struct join *join)
{
    struct rw_chunks *chunks = join->chunks;
    struct rw_ctx *ctx = chunks->ctx;
    RW_TRY(rw_chunks_share_found(chunks));
    int status = make_columns(join);
    if (status >= 0) {
        join_chunks(join);
        status = rw_parallel_long(ctx, chunks->n_threads, join->n_columns, 1, count_columns, join);
    }
    RW_TRY(rw_comm_agree(ctx, status));
    const size_t n = join->count_at[join->n_columns];
    memcpy(join->count, join->own, n * sizeof(*join->count));
    return rw_comm_all_reduce(ctx, join->count, n, RW_COMM_U32, RW_COMM_SUM);
}

int rw_chunks_finish(struct rw_chunks *chunks, struct rw_binned *out)
{
    struct rw_ctx *ctx = chunks->ctx;
    RW_RELEASED(join_release) struct join join = {.chunks = chunks};
    add_threads(chunks);
    RW_TRY(count_all(&join));
    int status = rw_parallel_long(ctx, chunks->n_threads, join.n_columns, 1, end_columns, &join);
    if (status < 0)
        rw_fail_memory(ctx, status, "out of memory while coding %u documents", chunks->n_docs);
    else
        status = end_bins(&join, out);
    return rw_comm_agree(ctx, status);
}
