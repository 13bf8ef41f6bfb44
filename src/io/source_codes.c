/* Runs any source and makes codes of its values. */
#include "io/source.h"

#include "comm/comm.h"

/* Divides n_docs documents into chunks of chunk_docs; the last one may be smaller. */
static int even_chunks(struct rw_source *source, uint32_t n_docs, uint32_t chunk_docs)
{
    source->n_chunks = n_docs ? (n_docs - 1) / chunk_docs + 1 : 0;
    RW_TRY(RW_GROW(source->ctx, source->first_doc, source->first_doc_room,
                   (size_t)source->n_chunks + 1));
    for (uint32_t chunk = 0; chunk < source->n_chunks; chunk++)
        source->first_doc[chunk] = chunk * chunk_docs;
    source->first_doc[source->n_chunks] = n_docs;
    return RW_OK;
}

/* Does the current pass read the document? */
static int wants(const struct rw_source *source, uint32_t doc)
{
    return (source->sample.in ? source->sample.in[doc] : 1) == source->sampled;
}
/* Returns the number of documents of a chunk that it reads. */
static uint32_t count_wanted(const struct rw_source *source, uint32_t chunk)
{
    const struct rw_chunk *held = &source->chunks.chunk[chunk];
    return source->sampled ? held->n_sampled : held->n_docs - held->n_sampled;
}
int rw_source_take(struct rw_source *source, uint32_t chunk, int slot,
                   const struct rw_builder *builder, const uint32_t *row)
{
    return source->sampled ? rw_chunks_hold(&source->chunks, chunk, slot, builder)
                           : rw_chunks_add(&source->chunks, chunk, slot, builder, row);
}

static int add_held(void *user, struct rw_share *share)
{
    static const struct rw_builder nothing;
    for (uint64_t chunk, end; rw_share_next(share, &chunk, &end);)
        RW_TRY(rw_source_take(user, (uint32_t)chunk, share->thread, &nothing, NULL));
    return RW_OK;
}

static int coded(const struct rw_source *source, int status)
{
    return status < 0
               ? rw_fail_memory(source->ctx, status, "out of memory while coding %u documents",
                                source->documents->n_docs)
               : status;
}

static int run_pass(struct rw_source *source, int sampled)
{
    struct rw_ctx *ctx = source->ctx;
    source->sampled = sampled;
    if (sampled || source->sample.in)
        return source->kind->pass(source);
    return coded(source, rw_parallel(ctx, ctx->n_threads, source->n_chunks, 1, add_held, source));
}

static int agree(struct rw_source *source, int status)
{
    return source->kind->agree ? source->kind->agree(source, status)
                               : rw_comm_agree(source->ctx, status);
}

int rw_source_codes(struct rw_source *source, struct rw_binned *out)
{
    struct rw_chunks *chunks = &source->chunks;
    int status = source->kind->open(source);
    if (status <= 0)
        goto out;
    RW_TRY_OUT(rw_cut_sample_init(source->ctx, &source->sample, source->documents));
    status = rw_chunks_init(source->ctx, chunks, &source->sample, source->rule, source->first_doc,
                            source->n_chunks);
    RW_TRY_OUT(agree(source, status < 0 ? status : run_pass(source, 1)));
    RW_TRY_OUT(rw_chunks_find_bounds(chunks));
    status = source->kind->bounded ? source->kind->bounded(source) : 1;
    if (status <= 0)
        goto out;
    RW_TRY_OUT(agree(source, run_pass(source, 0)));
    RW_TRY_OUT(rw_chunks_finish(chunks, out));
    status = source->kind->done ? source->kind->done(source) : 1;
out:
    rw_chunks_release(chunks);
    rw_cut_sample_release(&source->sample);
    rw_mem_free(source->first_doc);
    return status;
}

/* ---- tables whose values arrive in batches, and are never in memory as a whole ----
 *
 * Batches may have any size, so their documents are combined into chunks of one size, as many at a
 * time as there are threads. If all documents are sampled, there is one pass. */
#define MOST_STAGED \
    ((size_t)128 << 20) /* most bytes of values of all current chunks, if more than one */

/* The documents of the current batch that belong to one chunk. */
struct segment {
    uint32_t slot;     /* slot of the chunk */
    uint32_t first, n; /* range in struct streamed's `row` */
    uint32_t at;       /* position in the chunk, after documents of earlier batches */
};

struct streamed {
    struct rw_source source;
    struct rw_arena arena;        /* owns the arrays here */
    const struct rw_table *table; /* borrowed */
    struct rw_table_reader reader;
    uint32_t *feature; /* [n_columns] feature ids */
    uint32_t n_columns, chunk_docs;
    struct rw_binned *out; /* borrowed */
    /* the current chunks: slot k has chunk `chunk` + k */
    uint32_t chunk, n_slots, room;
    uint32_t *staged;        /* [room] number of documents staged so far */
    struct segment *segment; /* [room] documents of the current batch */
    uint32_t n_segments;
    uint32_t *row; /* [chunk_docs * room] documents of the batch */
};

/* ---- from documents to chunks ---- */

/* Replaces the current chunks by the next ones. */
static int begin_chunks(struct streamed *b, uint32_t chunk)
{
    b->chunk = chunk;
    b->n_slots = b->source.n_chunks - chunk < b->room ? b->source.n_chunks - chunk : b->room;
    for (uint32_t k = 0; k < b->n_slots; k++) {
        b->staged[k] = 0;
        if (rw_chunks_stage(&b->source.chunks, (int)k, b->feature, b->n_columns,
                            count_wanted(&b->source, chunk + k)) < 0)
            return rw_fail(b->source.ctx, RW_ERR_MEMORY, "out of memory while reading batches");
    }
    return RW_OK;
}

static int end_some(void *user, struct rw_share *share)
{
    struct streamed *b = user;
    for (uint64_t k, end; rw_share_next(share, &k, &end);)
        RW_TRY(rw_source_take(&b->source, b->chunk + (uint32_t)k, (int)k, NULL, NULL));
    return RW_OK;
}

/* Processes the current chunks once all their documents are staged. */
static int end_chunks(struct streamed *b)
{
    const int status =
        rw_parallel(b->source.ctx, b->source.ctx->n_threads, b->n_slots, 1, end_some, b);
    return status < 0 ? rw_fail_memory(b->source.ctx, status, "out of memory while reading batches")
                      : status;
}

static int stage_some(void *user, struct rw_share *share)
{
    struct streamed *b = user;
    const uint32_t n_groups = (b->n_columns + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    for (uint64_t item, end; rw_share_next(share, &item, &end);) {
        const struct segment *one = &b->segment[item / n_groups];
        const uint32_t first = (uint32_t)(item % n_groups) * RW_TABLE_COLUMNS;
        const uint32_t left = b->n_columns - first;
        const uint32_t stride = count_wanted(&b->source, b->chunk + one->slot);
        float *value = b->source.chunks.scratch[one->slot].value;
        rw_table_values(&b->reader, b->reader.dense + first,
                        left < RW_TABLE_COLUMNS ? left : RW_TABLE_COLUMNS, b->row + one->first, 0,
                        one->n, value + (size_t)first * stride + one->at, stride);
    }
    return RW_OK;
}

/* Stages documents [first, end) of the batch, which belong to the current chunks. The batch begins
 * with document `batch`. */
static void stage_batch(struct streamed *b, uint32_t batch, uint32_t first, uint32_t end)
{
    uint32_t n = 0;
    b->n_segments = 0;
    for (uint32_t doc = first; doc < end;) {
        const uint32_t chunk = doc / b->chunk_docs, slot = chunk - b->chunk;
        const uint32_t chunk_end =
            b->source.first_doc[chunk + 1] < end ? b->source.first_doc[chunk + 1] : end;
        struct segment one = {.slot = slot, .first = n, .at = b->staged[slot]};
        uint32_t *row = b->source.chunks.scratch[slot].row;
        for (; doc < chunk_end; doc++) {
            if (!wants(&b->source, doc))
                continue;
            row[b->staged[slot]++] = doc - b->source.first_doc[chunk];
            b->row[n++] = doc - batch;
        }
        one.n = n - one.first;
        if (one.n)
            b->segment[b->n_segments++] = one;
    }
    const uint32_t n_groups = (b->n_columns + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    enum { FEW = 1 << 12 }; /* fewer values are not worth waking threads */
    const int n_threads = (uint64_t)n * b->n_columns < FEW ? 1 : b->source.ctx->n_threads;
    rw_parallel(b->source.ctx, n_threads, (uint64_t)b->n_segments * n_groups, 1, stage_some, b);
}

static int read_stream(struct rw_source *source)
{
    struct streamed *b = source->self;
    const uint32_t n_docs = source->documents->n_docs;
    uint32_t done = 0, n;
    RW_TRY(begin_chunks(b, 0));
    for (;;) {
        RW_TRY(rw_table_next(source->ctx, &b->reader, done, &n));
        if (n == 0)
            return RW_OK;
        const uint32_t batch = done;
        while (done < batch + n) {
            const uint32_t end = source->first_doc[b->chunk + b->n_slots];
            const uint32_t stop = batch + n < end ? batch + n : end;
            stage_batch(b, batch, done, stop);
            done = stop;
            if (done < end)
                break;
            RW_TRY(end_chunks(b));
            if (done < n_docs)
                RW_TRY(begin_chunks(b, b->chunk + b->n_slots));
        }
        /* in the last pass, all documents before these have already been checked */
        if (!source->sampled || !source->sample.in)
            RW_TRY(rw_table_check(source->ctx, &b->reader));
    }
}

/* ---- entry points ---- */

static int make_room(struct streamed *b)
{
    struct rw_ctx *ctx = b->source.ctx;
    const size_t bytes = (size_t)b->chunk_docs * (b->n_columns + 1) * sizeof(float);
    const uint32_t most = bytes < MOST_STAGED ? (uint32_t)(MOST_STAGED / bytes) : 1;
    b->room = most < (uint32_t)ctx->n_threads ? most : (uint32_t)ctx->n_threads;
    RW_TRY(RW_ARENA_NEW(ctx, &b->arena, b->feature, b->n_columns));
    for (uint32_t i = 0; i < b->n_columns; i++)
        b->feature[i] = b->reader.column[i].feature;
    RW_TRY(RW_ARENA_NEW(ctx, &b->arena, b->staged, b->room));
    RW_TRY(RW_ARENA_NEW(ctx, &b->arena, b->segment, b->room));
    return RW_ARENA_NEW(ctx, &b->arena, b->row, (size_t)b->chunk_docs * b->room);
}

static int open_stream(struct rw_source *source)
{
    struct streamed *b = source->self;
    int status = rw_table_open(source->ctx, &b->reader, b->table);
    status = status < 0 ? status : rw_table_documents(source->ctx, b->table, &b->out->documents);
    source->documents = b->out->documents;
    status = status < 0 ? status : even_chunks(source, b->table->n_docs, b->chunk_docs);
    RW_TRY(rw_comm_agree(source->ctx, status < 0 ? status : make_room(b)));
    return 1;
}

static int end_stream(struct rw_source *source)
{
    const struct streamed *b = source->self;
    rw_table_warn_inexact(source->ctx, &b->reader);
    return 1;
}

int rw_stream_codes(struct rw_ctx *ctx, const struct rw_table *table,
                    const struct rw_cut_rule *rule, uint32_t chunk_docs, struct rw_binned *out)
{
    static const struct rw_source_kind kind = {
        .open = open_stream, .pass = read_stream, .done = end_stream};
    struct streamed b = {.source = {.kind = &kind, .self = &b, .ctx = ctx, .rule = rule},
                         .table = table,
                         .n_columns = table->n_columns,
                         .chunk_docs = chunk_docs,
                         .out = out};
    const int status = rw_source_codes(&b.source, out);
    rw_table_close(&b.reader);
    rw_arena_free(&b.arena);
    return status < 0 ? status : RW_OK;
}

/* ---- the values of a data set in memory, which has the documents of its worker ---- */
enum { CHUNK_DOCS = 1 << 14 };

static int open_documents(struct rw_source *source)
{
    const int status = even_chunks(source, source->documents->n_docs, CHUNK_DOCS);
    return status < 0 ? status : 1;
}

/* Numbers the wanted documents of a chunk: by position in the chunk or, if they are sampled, among
 * the sampled ones. number: [CHUNK_DOCS], written; UINT32_MAX: not wanted. */
static void number_wanted(const struct rw_source *source, uint32_t chunk, uint32_t *number)
{
    const uint32_t first = source->first_doc[chunk], n = source->first_doc[chunk + 1] - first;
    uint32_t n_wanted = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int is_wanted = wants(source, first + i);
        number[i] = !is_wanted ? UINT32_MAX : source->sampled ? n_wanted : i;
        n_wanted += (uint32_t)is_wanted;
    }
}

/* Appends the entries of documents [first, end) to the n in the thread's memory. Returns the new
 * number of entries. */
static uint32_t stage_column(const struct rw_column *column, uint32_t first, uint32_t end,
                             const uint32_t *number, struct rw_chunk_scratch *s, uint32_t n)
{
    uint32_t at = column->row ? rw_numbers_under(column->row, column->n, first) : first;
    for (; at < column->n; at++) {
        const uint32_t doc = column->row ? column->row[at] : at;
        if (doc >= end)
            break;
        if (number[doc - first] == UINT32_MAX || rw_is_absent(column->value[at]))
            continue;
        s->row[n] = number[doc - first];
        memcpy(&s->value[n++], &column->value[at], sizeof(*s->value));
    }
    return n;
}

static int stage_chunk(const struct rw_source *source, uint32_t chunk, const uint32_t *number,
                       struct rw_chunk_scratch *s)
{
    const struct rw_dataset *dataset = source->documents;
    const uint32_t n_wanted = count_wanted(source, chunk);
    uint32_t n = 0;
    s->shares_rows = 0;
    s->n_features = 0;
    RW_TRY(RW_GROW(NULL, s->feature, s->feature_room, dataset->n_columns));
    RW_TRY(RW_GROW(NULL, s->begin, s->begin_room, dataset->n_columns));
    for (uint32_t i = 0; i < dataset->n_columns; i++) {
        const struct rw_column *column = &dataset->column[i];
        const uint32_t begin = n;
        RW_TRY(RW_GROW(NULL, s->value, s->value_room, (size_t)n + n_wanted));
        RW_TRY(RW_GROW(NULL, s->row, s->row_room, (size_t)n + n_wanted));
        n = stage_column(column, source->first_doc[chunk], source->first_doc[chunk + 1], number, s,
                         n);
        if (n == begin)
            continue;
        s->feature[s->n_features] = (uint16_t)column->feature;
        s->begin[s->n_features++] = begin;
        s->next[column->feature] = n;
    }
    return RW_OK;
}

static int read_chunks(void *user, struct rw_share *share)
{
    struct rw_source *source = user;
    uint32_t *number RW_FREED = NULL;
    RW_TRY(RW_NEW_RAW(NULL, number, CHUNK_DOCS));
    for (uint64_t chunk, end; rw_share_next(share, &chunk, &end);) {
        number_wanted(source, (uint32_t)chunk, number);
        RW_TRY(
            stage_chunk(source, (uint32_t)chunk, number, &source->chunks.scratch[share->thread]));
        RW_TRY(rw_source_take(source, (uint32_t)chunk, share->thread, NULL, NULL));
    }
    return RW_OK;
}

static int read_values(struct rw_source *source)
{
    struct rw_ctx *ctx = source->ctx;
    return coded(source,
                 rw_parallel_long(ctx, ctx->n_threads, source->n_chunks, 1, read_chunks, source));
}

int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out)
{
    static const struct rw_source_kind kind = {.open = open_documents, .pass = read_values};
    struct rw_source source = {.kind = &kind, .ctx = ctx, .rule = rule, .documents = dataset};
    const int status = rw_source_codes(&source, out);
    return status < 0 ? status : RW_OK;
}
