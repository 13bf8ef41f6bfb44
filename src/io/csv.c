/* Files of CSV and TSV. */
#include "io/csv.h"

#include "base/mem.h"
#include "dataset/lexicon.h"
#include "io/columns.h"
#include "io/data_format.h"

enum { LEAST_CHUNKS = 4, MOST_CHUNKS = 64 };

struct block {
    char *text; /* [room]; owned */
    size_t room;
    size_t n_ready; /* bytes of whole records */
    size_t n_held;  /* the rest, up to here, is a record that continues */
    int at_end;     /* nothing is behind it */
    int status;     /* a failure behind the whole records; RW_ERR_PARSE: the next one has no end */
};

struct rw_csv {
    struct rw_input *input; /* borrowed */
    struct rw_seen *seen;   /* borrowed */
    size_t chunk_bytes;
    int n_threads, n_chunks;
    struct rw_csv_worker *worker; /* [n_threads]; owned */
    struct rw_csv_chunk *chunk;   /* [n_chunks]; owned */
    struct rw_csv_layout layout;
    struct block block[2]; /* the one parsed, the one fetched */
    int current;
    size_t first; /* bytes of the current block that are no documents */
    uint64_t n_lines, n_docs;
    int no_label;
};

static size_t block_bytes(const struct rw_csv *csv)
{
    return csv->chunk_bytes * (size_t)csv->n_chunks;
}

/* Where the last whole record ends. */
static size_t whole_records(const char *text, const char *end, char separator)
{
    const char *p = text;
    for (const char *next; (next = rw_csv_record_end(p, end, separator)) != NULL;)
        p = next;
    return (size_t)(p - text);
}

/* How many bytes of a block are whole records. The first block begins with the header, which tells
 * what separates the columns, and perhaps with a byte order mark. */
static size_t ready_bytes(struct rw_csv *csv, const struct block *block, int is_first)
{
    static const char mark[] = "\xef\xbb\xbf";
    const char *text = block->text, *end = text + block->n_held;
    if (!is_first)
        return whole_records(text, end, csv->layout.separator);
    csv->first = block->n_held >= 3 && memcmp(text, mark, 3) == 0 ? 3 : 0;
    csv->layout.separator = rw_csv_separator(text + csv->first, end);
    const size_t n = whole_records(text + csv->first, end, csv->layout.separator);
    return n ? n + csv->first : 0;
}

/* Fills a block, which begins with what `before` left over (NULL: it is the first), up to the end
 * of a record at least. Never touches the context: other threads are at work. */
static void fetch(struct rw_csv *csv, const struct block *before, struct block *next)
{
    const size_t n_over = before ? before->n_held - before->n_ready : 0;
    size_t wanted = n_over + block_bytes(csv);
    next->n_ready = next->n_held = 0;
    next->at_end = before && before->at_end;
    next->status = before ? before->status : RW_OK;
    while (next->status >= 0 && !next->at_end && next->n_ready == 0) {
        size_t got = 1;
        next->status = RW_GROW(NULL, next->text, next->room, wanted);
        if (next->status < 0)
            return;
        if (next->n_held == 0 && n_over) {
            memcpy(next->text, before->text + before->n_ready, n_over);
            next->n_held = n_over;
        }
        while (got > 0 && next->n_held < wanted && next->status >= 0) {
            next->status = rw_input_read(NULL, csv->input, next->text + next->n_held,
                                         wanted - next->n_held, &got);
            next->n_held += got;
        }
        next->at_end = next->status >= 0 && got == 0;
        next->n_ready = ready_bytes(csv, next, !before);
        if (next->at_end)
            next->n_ready = next->n_held; /* the last line may lack its end */
        else if (next->n_ready == 0 && next->n_held > RW_CSV_MOST_RECORD && next->status >= 0)
            next->status = RW_ERR_PARSE;
        wanted *= 2;
    }
}

/* Cuts whole records into chunks of about equal size; returns how many. */
static int cut(struct rw_csv *csv, const struct block *block)
{
    if (block->n_ready == 0) /* there may be no text at all */
        return 0;
    const char *p = block->text + csv->first, *end = block->text + block->n_ready;
    const size_t even = (size_t)(end - p) / (size_t)csv->n_chunks + 1;
    const size_t chunk_bytes = even > csv->chunk_bytes ? even : csv->chunk_bytes;
    int n = 0;
    while (p < end) {
        struct rw_csv_chunk *chunk = &csv->chunk[n++];
        const char *stop = p;
        while (stop && stop < end && (n == csv->n_chunks || (size_t)(stop - p) < chunk_bytes))
            stop = n == csv->n_chunks ? end : rw_csv_record_end(stop, end, csv->layout.separator);
        *chunk = (struct rw_csv_chunk){.begin = p,
                                       .end = stop ? stop : end,
                                       .layout = &csv->layout,
                                       .no_label = csv->no_label};
        p = chunk->end;
    }
    return n;
}

/* Says why there is no more. */
static int block_failed(struct rw_ctx *ctx, const struct rw_csv *csv, int status)
{
    const char *name = rw_input_name(csv->input);
    size_t got;
    if (status == RW_ERR_PARSE)
        return rw_fail(ctx, status,
                       "%s:%llu:1: expected a line of at most %d bytes\n"
                       "hint: a '\"' at the beginning of a field may lack the one that ends it",
                       name, (unsigned long long)csv->n_lines + 1, RW_CSV_MOST_RECORD);
    RW_TRY(rw_input_read(ctx, csv->input, NULL, 0, &got)); /* it says the same once more */
    return rw_fail(ctx, status, "out of memory: a block of '%s' does not fit", name);
}

static int open_header(struct rw_ctx *ctx, struct rw_csv *csv)
{
    const char *name = rw_input_name(csv->input);
    const struct block *block = &csv->block[0];
    fetch(csv, NULL, &csv->block[0]);
    if (block->n_ready == 0 && block->status < 0)
        return block_failed(ctx, csv, block->status); /* without text, it may be */
    const char *text = block->text + csv->first, *end = block->text + block->n_ready;
    if (text >= end)
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:1:1: expected the columns' names, found the end of the file", name);
    const char *record_end = rw_csv_record_end(text, end, csv->layout.separator);
    if (!record_end)
        record_end = end;
    RW_TRY(rw_csv_layout_make(ctx, name, text, record_end, &csv->layout));
    if (!csv->layout.has_header)
        return RW_OK;
    for (const char *p = text; p < record_end; p++)
        csv->n_lines += *p == '\n';
    csv->first = (size_t)(record_end - block->text);
    return RW_OK;
}

int rw_csv_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                size_t chunk_bytes, struct rw_csv **out)
{
    struct rw_csv *csv;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, csv, 1));
    csv->input = input;
    csv->seen = seen;
    csv->chunk_bytes = chunk_bytes;
    csv->n_threads = ctx->n_threads;
    csv->n_chunks = 2 * ctx->n_threads;
    if (csv->n_chunks < LEAST_CHUNKS)
        csv->n_chunks = LEAST_CHUNKS;
    if (csv->n_chunks > MOST_CHUNKS)
        csv->n_chunks = MOST_CHUNKS;
    RW_TRY_OUT(RW_NEW(ctx, csv->chunk, (size_t)csv->n_chunks));
    RW_TRY_OUT(RW_NEW(ctx, csv->worker, (size_t)csv->n_threads));
    RW_TRY_OUT(open_header(ctx, csv));
    csv->no_label = ctx->columns && ctx->columns->no_label;
    ctx->n_tables++;
    *out = csv;
    return RW_OK;
out:
    rw_csv_close(csv);
    return status;
}

void rw_csv_close(struct rw_csv *csv)
{
    if (!csv)
        return;
    for (int i = 0; csv->chunk && i < csv->n_chunks; i++)
        rw_csv_chunk_release(&csv->chunk[i]);
    for (int i = 0; csv->worker && i < csv->n_threads; i++)
        rw_csv_worker_release(&csv->worker[i]);
    rw_csv_layout_release(&csv->layout);
    rw_mem_free(csv->chunk);
    rw_mem_free(csv->worker);
    rw_mem_free(csv->block[0].text);
    rw_mem_free(csv->block[1].text);
    rw_mem_free(csv);
}

/* Checks one chunk's outcome and hands its builder over. */
static int collect(struct rw_ctx *ctx, struct rw_csv *csv, struct rw_csv_chunk *chunk,
                   struct rw_builder_list *list)
{
    const char *name = rw_input_name(csv->input);
    if (chunk->builder.n_docs) {
        RW_TRY(RW_GROW(ctx, list->builder, list->room, list->n + 1));
        struct rw_builder *builder = &list->builder[list->n++];
        *builder = chunk->builder;
        memset(&chunk->builder, 0, sizeof(chunk->builder));
        builder->lexicon = rw_lexicon_share(csv->layout.lexicon);
        builder->width = csv->layout.width;
        builder->by_name = csv->layout.by_name;
        RW_TRY(rw_mem_copy_text(ctx, &builder->file, name));
        if (csv->n_docs == 0) {
            RW_TRY(rw_names_copy(ctx, csv->layout.name, csv->layout.n_names, &builder->name));
            builder->n_names = csv->layout.n_names;
        }
        for (uint32_t i = 0; i < builder->n_locations; i++)
            builder->location[i].line += csv->n_lines + 1; /* in the chunk, from 0, until here */
        csv->n_docs += builder->n_docs;
        for (uint32_t q = 0; csv->seen && q < builder->n_queries; q++)
            RW_TRY(rw_seen_add(ctx, csv->seen, builder->query_id_text + builder->query_id_offset[q],
                               name, csv->n_lines + chunk->query_location[q].line + 1,
                               chunk->query_location[q].column));
    }
    if (chunk->status < 0)
        return rw_fail(ctx, chunk->status, "%s:%llu:%zu: %s", name,
                       (unsigned long long)(csv->n_lines + chunk->error_location.line + 1),
                       chunk->error_location.column, chunk->error);
    csv->n_lines += chunk->n_lines;
    return RW_OK;
}

struct parse_job {
    struct rw_csv *csv;
    const struct block *block;
    struct block *next;
};

static int parse_or_fetch(void *user, struct rw_share *share)
{
    struct parse_job *job = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        if (i == 0)
            fetch(job->csv, job->block, job->next);
        else
            rw_csv_chunk_parse(&job->csv->chunk[i - 1], &job->csv->worker[share->thread]);
    }
    return RW_OK;
}

int rw_csv_next(struct rw_ctx *ctx, struct rw_csv *csv, struct rw_builder_list *list, int *more)
{
    const struct block *block = &csv->block[csv->current];
    struct block *next = &csv->block[!csv->current];
    struct parse_job job = {csv, block, next};
    int status = RW_OK;
    const int n = cut(csv, block);
    csv->first = 0;
    rw_parallel(ctx, csv->n_threads, (uint64_t)n + 1, 1, parse_or_fetch, &job);
    for (int i = 0; i < n; i++) {
        if (status == RW_OK)
            status = collect(ctx, csv, &csv->chunk[i], list);
        rw_csv_chunk_release(&csv->chunk[i]);
    }
    RW_TRY(status);
    if (block->status < 0)
        return block_failed(ctx, csv, block->status);
    csv->current = !csv->current;
    *more = next->n_ready > 0 || next->status < 0;
    if (!*more && csv->n_docs == 0)
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%llu:1: expected a document, found the end of the file",
                       rw_input_name(csv->input), (unsigned long long)csv->n_lines + 1);
    return RW_OK;
}

/* ---- as a format ---- */

/* Where columns are given: does the first line look like a table's? */
static int probe(const unsigned char *head, size_t n_bytes)
{
    const char *text = (const char *)head;
    const char *end = n_bytes ? memchr(text, '\n', n_bytes) : NULL;
    const size_t n = end ? (size_t)(end - text) : n_bytes;
    return n > 0 && *text != '#' && !memmem(text, n, "qid:", 4) && !memchr(text, 0, n) &&
           (memchr(text, ',', n) || memchr(text, '\t', n));
}

static int format_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                       void **state)
{
    return rw_csv_open(ctx, input, seen, rw_letor_chunk_bytes(ctx, RW_LETOR_CHUNK_BYTES / 2),
                       (struct rw_csv **)state);
}

static int format_next(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more)
{
    return rw_csv_next(ctx, state, list, more);
}

static void format_close(void *state)
{
    rw_csv_close(state);
}

static const char *const endings[] = {".csv", ".tsv", NULL};
const struct rw_data_format rw_data_format_csv = {.name = "csv",
                                                  .probe = probe,
                                                  .endings = endings,
                                                  .open = format_open,
                                                  .next = format_next,
                                                  .close = format_close};
