/* Reads text in chunks: by ranges of a plain file, or by blocks. A block ends with a complete line,
 * and the incomplete line after it begins the next block. */
#include "io/text.h"

#include <strings.h>

#include "base/system.h"
#include "io/data_format.h"

enum {
    /* limits of rw_text.at_once for blocks, and of few_at_once */
    LEAST_AT_ONCE = 4,
    MOST_AT_ONCE = 64,
    TIMES_THREADS = 16,  /* current ranges per thread in all other cases: with many, threads wait
                            little for the last one */
    LINE_BYTES = 1 << 12 /* bytes read at first after a range, to complete its last line */
};

void rw_builder_list_release(struct rw_builder_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        rw_builder_release(&list->builder[i]);
    rw_early_free(list->early);
    rw_mem_free(list->builder);
    rw_mem_free(list->chunk_docs);
    memset(list, 0, sizeof(*list));
}

int rw_text_chunk_fail(struct rw_text_chunk *chunk, int status)
{
    snprintf(chunk->error, sizeof(chunk->error), "%s",
             status == RW_ERR_MEMORY ? "out of memory" : "too many documents");
    chunk->status = status;
    chunk->error_location = (struct rw_text_location){chunk->n_lines, 1};
    return status;
}

const char *rw_text_wrong(struct rw_text_chunk *chunk, const char *line, const char *at,
                          const char *format, ...)
{
    RW_FORMAT_ARGS(chunk->error, format);
    chunk->status = RW_ERR_PARSE;
    chunk->error_location.line = chunk->n_lines;
    for (const char *p = line; p < at; p++) {
        if (*p == '\n') { /* within a quoted field */
            chunk->error_location.line++;
            line = p + 1;
        }
    }
    chunk->error_location.column = (size_t)(at - line) + 1;
    return NULL;
}

struct rw_text_found rw_text_found(const char *word, size_t n, const char *none)
{
    enum { MOST = 40 };
    struct rw_text_found found;
    char *to = found.text;
    if (n == 0) {
        snprintf(found.text, sizeof(found.text), "%s", none);
        return found;
    }
    *to++ = '\'';
    for (size_t i = 0; i < n && i < MOST; i++)
        *to++ = word[i] == 0 || word[i] == '\n' ? '?' : word[i];
    snprintf(to, 8, "%s'", n > MOST ? "..." : "");
    return found;
}

static size_t sign_bytes(const char *word, size_t n)
{
    return n > 0 && (*word == '-' || *word == '+');
}

int rw_text_is_decimal_comma(const char *word, size_t n)
{
    const size_t begin = sign_bytes(word, n);
    size_t n_digits = 0, n_commas = 0;
    for (size_t i = begin; i < n; i++) {
        n_digits += (unsigned char)(word[i] - '0') < 10;
        n_commas += word[i] == ',';
    }
    return n_commas == 1 && n_digits >= 2 && n_digits + 1 == n - begin;
}

const char *rw_text_value_hint(const char *word, size_t n, const char *missing)
{
    static const char *const words[] = {"null",    "na", "n/a", "none", "nil",
                                        "missing", "?",  "-",   "<na>"};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (n == strlen(words[i]) && strncasecmp(word, words[i], n) == 0)
            return missing;
    }
    const size_t begin = sign_bytes(word, n);
    if (n - begin >= 3 && strncasecmp(word + begin, "inf", 3) == 0)
        return "\nhint: values must be finite, at most 3.4028235e38";
    return rw_text_is_decimal_comma(word, n) ? RW_TEXT_COMMA_HINT : "";
}

int rw_text_query(struct rw_text_chunk *chunk, const char *line, const char *at, const char *id,
                  size_t n)
{
    struct rw_builder *builder = &chunk->worker->builder;
    const uint32_t q = builder->n_queries;
    const struct rw_texts *ids = &builder->query_id;
    const uint64_t last = q ? ids->offset[q - 1] : 0;
    if (q && n == ids->n_bytes - last - 1 && memcmp(id, ids->text + last, n) == 0)
        return RW_OK;
    RW_TRY(RW_GROW(NULL, chunk->query_location, chunk->query_location_room, (size_t)q + 1));
    chunk->query_location[q] = (struct rw_text_location){chunk->n_lines, (size_t)(at - line) + 1};
    return rw_builder_query(NULL, builder, id, n);
}

void rw_text_chunk_release(struct rw_text_chunk *chunk)
{
    rw_builder_release(&chunk->builder);
    rw_mem_free(chunk->query_location);
    memset(chunk, 0, sizeof(*chunk));
}

void rw_text_worker_release(struct rw_text_worker *worker)
{
    rw_builder_release(&worker->builder);
    rw_mem_free(worker->entries.feature);
    rw_mem_free(worker->entries.value);
    rw_mem_free(worker->entries.text);
    rw_mem_free_large(worker->text, worker->room);
    rw_mem_free(worker->pick.row);
    rw_mem_free(worker->value);
    rw_mem_free(worker->unquoted[0].text);
    rw_mem_free(worker->unquoted[1].text);
    rw_mem_free(worker->unquoted[2].text);
    memset(worker, 0, sizeof(*worker));
}

size_t rw_text_chunk_bytes(const struct rw_ctx *ctx, size_t most)
{
    enum { THREADS = 4, LEAST = 1 << 16 };
    const size_t bytes = most / (size_t)ctx->n_threads * THREADS;
    if (bytes >= most || most < LEAST)
        return most;
    return bytes > LEAST ? bytes : LEAST;
}

/* ---- the ids of all queries so far, and their locations ---- */

/* Where a query began. */
struct entry {
    const char *file;
    uint64_t line; /* from 1; 0: unknown */
};

struct rw_seen {
    struct rw_query_ids ids;
    struct entry *entry; /* [ids.n] by the number of the id; owned */
    size_t entry_room;
    const char *last;      /* id of the last query */
    const char *file;      /* name of its file, or NULL */
    struct rw_arena files; /* owns the file names, each copied once */
};

int rw_seen_new(struct rw_ctx *ctx, struct rw_seen **out)
{
    return RW_NEW(ctx, *out, 1);
}

void rw_seen_free(struct rw_seen *seen)
{
    if (!seen)
        return;
    rw_arena_free(&seen->files);
    rw_mem_free(seen->entry);
    rw_query_ids_release(&seen->ids);
    rw_mem_free(seen);
}

int rw_seen_add(struct rw_ctx *ctx, struct rw_seen *seen, const char *id, const char *file,
                uint64_t line, size_t column)
{
    size_t index;
    if (seen->last && strcmp(seen->last, id) == 0)
        return RW_OK;
    RW_TRY(RW_GROW(ctx, seen->entry, seen->entry_room, seen->ids.n + 1));
    if (!seen->file || strcmp(seen->file, file) != 0)
        RW_TRY(rw_arena_text(ctx, &seen->files, &seen->file, file));
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
                       "%s%s: query '%.200s' appears again after another query\nhint: it began at "
                       "%s%s; a query's lines must be consecutive",
                       file, here, id, began->file, first);
    }
    seen->entry[index] = (struct entry){seen->file, line};
    seen->last = id;
    return RW_OK;
}

/* ---- reading ranges of a plain file ---- */

/* Returns the number of bytes of the text's range in a file of n_bytes bytes. */
static uint64_t range_bytes(const struct rw_text *text, uint64_t n_bytes)
{
    const uint64_t end = n_bytes < text->end ? n_bytes : text->end;
    return end > text->begin ? end - text->begin : 0;
}

static int grow_text(struct rw_text_worker *worker, size_t n)
{
    char *bigger;
    if (n <= worker->room)
        return RW_OK;
    RW_TRY(rw_mem_new_large(NULL, (void **)&bigger, n, 0));
    if (worker->room)
        memcpy(bigger, worker->text, worker->room);
    rw_mem_free_large(worker->text, worker->room);
    worker->text = bigger;
    worker->room = n;
    return RW_OK;
}

/* Reads up to n bytes of the text from byte `at` of the file on, like rw_input_read_at. */
static int read_at(const struct rw_text *text, uint64_t at, char *buffer, size_t n, size_t *got)
{
    const uint64_t left = at < text->end ? text->end - at : 0;
    return rw_input_read_at(text->input, at, buffer, n < left ? n : (size_t)left, got);
}

/* Reads a chunk: the lines that begin in its range of bytes. The last range ends with the text. The
 * byte before the range is read, too: it shows whether a line begins at the start of the range. */
static int read_range(const struct rw_text *text, uint64_t number, struct rw_text_worker *worker,
                      struct rw_text_chunk *chunk)
{
    const uint64_t from = text->begin + (number ? number * text->chunk_bytes - 1 : 0);
    const int is_last = number + 1 == text->n_chunks;
    const size_t owned = text->chunk_bytes + (number != 0); /* number of bytes up to the end of
                                                               the range */
    size_t n = 0, begin = 0, wanted = owned + LINE_BYTES;
    const char *newline = NULL; /* end of the last line */
    char *to;
    while (1) {
        size_t got;
        RW_TRY(grow_text(worker, wanted + (size_t)2 * RW_TEXT_PAD));
        to = worker->text + RW_TEXT_PAD;
        chunk->read_errno = read_at(text, from + n, to + n, wanted - n, &got);
        if (n == 0 && number) {
            const char *before = memchr(to, '\n', got < owned - 1 ? got : owned - 1);
            if (!before)
                return RW_OK; /* no line begins here, since one long line covers the range */
            begin = (size_t)(before - to) + 1;
        }
        const size_t look = n < owned - 1 ? owned - 1 : n;
        n += got;
        if (!is_last && n > look)
            newline = memchr(to + look, '\n', n - look);
        if (newline || n < wanted)
            break;
        wanted *= 2;
    }
    if (!newline && chunk->read_errno) { /* use complete lines first */
        newline = rw_system_last(to, '\n', n);
        if (!newline || newline < to + begin)
            return RW_OK;
    }
    memset(worker->text, 0, RW_TEXT_PAD);
    memset(to + n, 0, RW_TEXT_PAD);
    chunk->begin = to + begin;
    chunk->end = newline ? newline + 1 : to + n;
    return RW_OK;
}

/* Returns 1 if values can be passed on directly. Words are not values yet, and a table's columns
 * are checked as a whole. */
static int takes_values(const struct rw_text *text)
{
    return text->list && text->list->take && !text->vocabulary && !text->layout;
}

void rw_text_parse(struct rw_text_chunk *chunk, struct rw_text_worker *worker)
{
    const struct rw_text *text = chunk->text;
    struct rw_text_pick *pick = &worker->pick;
    struct rw_builder *builder = &worker->builder;
    chunk->worker = worker;
    pick->n_seen = 0;
    int status = text->kind->parse(chunk);
    if (text->want == RW_TEXT_PICK) {
        if (chunk->status == RW_OK && pick->n_seen != pick->n_docs)
            chunk->status = RW_ERR_DATA;
        return;
    }
    const struct rw_builder_list *list = text->list;
    if (status >= 0 && takes_values(text) && chunk->status == RW_OK)
        status = list->take(list->take_user, builder);
    if (status >= 0)
        status = list && list->early && chunk->status == RW_OK
                     ? rw_early_pack(list->early, chunk->number, builder, &chunk->builder)
                     : rw_builder_pack(NULL, builder, &chunk->builder);
    if (status < 0)
        rw_text_chunk_fail(chunk, status);
}

/* Reads and parses a chunk that is a range. */
static void parse_range(const struct rw_text *text, uint64_t number, struct rw_text_worker *worker,
                        struct rw_text_chunk *chunk)
{
    chunk->status = read_range(text, number, worker, chunk);
    if (chunk->status < 0)
        return;
    rw_text_parse(chunk, worker);
    if ((chunk->status == RW_OK || text->want == RW_TEXT_PICK) && chunk->read_errno)
        chunk->status = RW_ERR_IO;
}

/* ---- counting lines ---- */

uint64_t rw_text_newlines(const char *text, size_t n)
{
    const char *p = text, *end = text + n;
    uint64_t n_lines = 0;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        n_lines++;
        p++;
    }
    return n_lines;
}

/* Counts the lines that end in bytes [at, at + n_bytes). *n_read: number of bytes that could be
 * read.
 */
static uint64_t count_at(const struct rw_input *input, uint64_t at, uint64_t n_bytes,
                         uint64_t *n_read)
{
    enum { WINDOW_BYTES = 1 << 16 };
    RW_FREED char *text = NULL;
    uint64_t n_lines = 0;
    size_t got = WINDOW_BYTES;
    *n_read = 0;
    if (RW_NEW_RAW(NULL, text, WINDOW_BYTES) < 0)
        return 0;
    while (*n_read < n_bytes && got == WINDOW_BYTES) {
        const uint64_t left = n_bytes - *n_read;
        if (rw_input_read_at(input, at + *n_read, text,
                             left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES, &got) != 0)
            break;
        *n_read += got;
        n_lines += rw_text_newlines(text, got);
    }
    return n_lines;
}

uint64_t rw_text_guess_lines(const struct rw_text *text)
{
    enum { WINDOWS = 8, WINDOW_BYTES = 1 << 16, PEEKED_BYTES = 1 << 22 };
    uint64_t n_bytes = 0, n_seen = 0, n_lines = 0, n_read;
    if (rw_input_is_seekable(text->input, &n_bytes)) {
        n_bytes = range_bytes(text, n_bytes);
        const int is_small = n_bytes <= (uint64_t)WINDOWS * WINDOW_BYTES;
        for (uint64_t w = 0; w < WINDOWS; w++) {
            const uint64_t at = is_small ? w * WINDOW_BYTES : n_bytes / WINDOWS * w;
            const uint64_t left = at < n_bytes ? n_bytes - at : 0;
            n_lines += count_at(text->input, text->begin + at,
                                left < WINDOW_BYTES ? left : WINDOW_BYTES, &n_read);
            n_seen += n_read;
        }
    } else if (rw_input_is_packed(text->input, &n_bytes)) {
        unsigned char *first;
        size_t n_raw = 0;
        if (RW_NEW_RAW(NULL, first, PEEKED_BYTES) < 0)
            return 0;
        n_lines = rw_text_newlines((const char *)first,
                                   rw_input_peek(text->input, first, PEEKED_BYTES, &n_raw));
        n_seen = n_raw;
        rw_mem_free(first);
    }
    return n_seen ? (uint64_t)((double)n_lines * ((double)n_bytes / (double)n_seen)) : 0;
}

/* ---- reading blocks ---- */

/* Returns the number of bytes to fetch at a time. */
static size_t block_bytes(const struct rw_text *text)
{
    return text->chunk_bytes * (size_t)text->at_once;
}

/* Returns the least number of gzip members to fetch at a time, large enough that threads finish at
 * about the same time. */
static int wanted_members(const struct rw_text *text)
{
    return 2 * text->n_threads;
}

static int grow_block(struct rw_text_block *block, size_t n_bytes)
{
    return RW_GROW(NULL, block->text, block->room, n_bytes + (size_t)2 * RW_TEXT_PAD);
}

static size_t ready_bytes(struct rw_text *text, const struct rw_text_block *block)
{
    return text->kind->ready(text, block->text + RW_TEXT_PAD, block->n_held, !text->blocks.begun);
}

/* Begins `next` with the incomplete line of `before`, with room for n_more bytes after it. */
static void begin_block(const struct rw_text_block *before, struct rw_text_block *next,
                        size_t n_more)
{
    const size_t n_over = before->n_held - before->n_ready;
    next->n_ready = next->n_held = 0;
    next->status = before->status;
    if (next->status < 0)
        return;
    next->status = grow_block(next, n_over + n_more);
    if (next->status < 0)
        return;
    if (n_over)
        memcpy(next->text + RW_TEXT_PAD, before->text + RW_TEXT_PAD + before->n_ready, n_over);
    next->n_held = n_over;
}

/* Reads input into a block, which begin_block has begun. A line longer than the block makes it
 * grow. Never uses the context, since other threads are running. */
static void fill(struct rw_text *text, struct rw_text_block *next)
{
    const size_t most = text->kind->most_line;
    while (next->status >= 0) {
        const size_t room = next->room - (size_t)2 * RW_TEXT_PAD;
        size_t got = 1;
        while (next->status >= 0 && got > 0 && next->n_held < room) {
            next->status = rw_input_read(NULL, text->input, next->text + RW_TEXT_PAD + next->n_held,
                                         room - next->n_held, &got);
            next->n_held += got;
        }
        next->n_ready = ready_bytes(text, next);
        if (next->status >= 0 && got == 0)
            next->n_ready = next->n_held; /* the last line may lack a newline */
        if (next->status < 0 || got == 0 || next->n_ready > 0)
            return;
        next->status = most && next->n_held > most ? RW_ERR_PARSE : grow_block(next, room * 2);
    }
}

/* Reads the block after `before` in sequence. */
static void fetch(struct rw_text *text, const struct rw_text_block *before,
                  struct rw_text_block *next)
{
    begin_block(before, next, block_bytes(text));
    fill(text, next);
}

/* Stops using several threads for gzip: reading continues in sequence from the i-th current member
 * on.
 */
static void leave_members(struct rw_text *text, int i)
{
    rw_members_leave(text->members, i);
    rw_members_close(text->members);
    text->members = NULL;
}

/* Finds the gzip members of the next block. Returns their number, or 0 if the next block and all
 * later ones must be fetched in sequence. */
static int find_members(struct rw_text *text, const struct rw_text_block *before,
                        struct rw_text_block *next)
{
    if (!text->members || before->status < 0)
        return 0;
    const int n = rw_members_next(text->members, block_bytes(text), wanted_members(text));
    if (n > 0)
        begin_block(before, next, text->members->n_out);
    if (n > 0 && next->status >= 0)
        return n;
    leave_members(text, 0);
    return 0;
}

/* Completes a block of members. Member n_good, counted from 0, is the first invalid one, if there
 * is one: from it on, the file is read in sequence. */
static void end_members(struct rw_text *text, struct rw_text_block *next, int n_good)
{
    const struct rw_members *members = text->members;
    const int is_good = n_good == members->n;
    next->n_held += is_good ? members->n_out : members->member[n_good].out;
    next->n_ready = ready_bytes(text, next);
    if (is_good && next->n_ready)
        return;
    leave_members(text, n_good);
    if (next->n_ready)
        return;
    if (next->n_held == next->room - (size_t)2 * RW_TEXT_PAD)
        next->status = grow_block(next, next->n_held + block_bytes(text));
    fill(text, next);
}

/* Divides the block's lines into the current chunks, of about equal size, and returns their number.
 */
static int cut(struct rw_text *text, const struct rw_text_block *block)
{
    if (block->n_ready <= text->blocks.first) /* the block may be empty */
        return 0;
    const char *p = block->text + RW_TEXT_PAD + text->blocks.first;
    const char *end = block->text + RW_TEXT_PAD + block->n_ready;
    const size_t even = (size_t)(end - p) / (size_t)text->at_once + 1;
    const size_t chunk_bytes = even > text->chunk_bytes ? even : text->chunk_bytes;
    int n = 0;
    for (; p < end; n++) {
        struct rw_text_chunk *chunk = &text->chunk[n];
        const int is_last = n == text->at_once - 1 || (size_t)(end - p) <= chunk_bytes;
        *chunk = (struct rw_text_chunk){.text = text, .begin = p};
        chunk->end = p = is_last ? end : text->kind->line_end(text, p, p + chunk_bytes, end);
    }
    return n;
}

struct parse_job {
    struct rw_text *text;
    const struct rw_text_block *block; /* the current block */
    struct rw_text_block *next;        /* the block to fetch */
    /* n_members: number of gzip members of `next`, or 0: it is fetched in sequence. n_fetches:
     * number of steps that fetch, n_members or 1 */
    int n_members, n_fetches;
    int n_good; /* number of members before the first damaged one */
};

/* Processes the i-th current chunk. */
static void take_chunk(struct rw_text *text, int i, int thread)
{
    struct rw_text_chunk *chunk = &text->chunk[i];
    const uint64_t number = text->next_chunk + (uint64_t)i;
    if (text->each.call)
        chunk->status = text->each.call(text->each.user, number, thread);
    else if (text->by_ranges)
        parse_range(text, number, &text->worker[thread], chunk);
    else
        rw_text_parse(chunk, &text->worker[thread]);
}

static int parse_or_fetch(void *user, struct rw_share *share)
{
    struct parse_job *job = user;
    struct rw_text *text = job->text;
    for (uint64_t at, end; rw_share_next(share, &at, &end);) {
        const int i = (int)at;
        if (i >= job->n_fetches) {
            take_chunk(text, i - job->n_fetches, share->thread);
        } else if (job->n_members == 0) {
            fetch(text, job->block, job->next);
        } else if (rw_members_unpack(text->members, i,
                                     job->next->text + RW_TEXT_PAD + job->next->n_held) < 0) {
            rw_share_lock(share);
            job->n_good = i < job->n_good ? i : job->n_good;
            rw_share_unlock(share);
        }
    }
    return RW_OK;
}

/* Parses the n current chunks of `block` while `next` is fetched. */
static int parse_and_fetch(struct rw_ctx *ctx, struct rw_text *text, int n,
                           const struct rw_text_block *block, struct rw_text_block *next)
{
    struct parse_job job = {.text = text, .block = block, .next = next};
    job.n_members = job.n_good = find_members(text, block, next);
    job.n_fetches = job.n_members ? job.n_members : 1;
    const int status =
        rw_parallel(ctx, text->n_threads, (uint64_t)(job.n_fetches + n), 1, parse_or_fetch, &job);
    if (job.n_members)
        end_members(text, next, job.n_good);
    return status;
}

/* Reports why the text has ended, if it ended with an error. */
static int check_block(struct rw_ctx *ctx, const struct rw_text *text)
{
    const int status = text->blocks.block[text->blocks.current].status;
    const char *name = rw_input_name(text->input);
    size_t got;
    if (status >= 0)
        return RW_OK;
    if (status == RW_ERR_PARSE)
        return rw_fail(ctx, status,
                       "%s:%llu:1: expected a line of at most %zu bytes\nhint: a '\"' at the start "
                       "of a field may lack its closing '\"'",
                       name, (unsigned long long)text->n_lines + 1, text->kind->most_line);
    RW_TRY(rw_input_read(ctx, text->input, NULL, 0, &got)); /* fails again with the same message */
    return rw_fail(ctx, status, "out of memory while reading '%s'", name);
}

int rw_text_begin(struct rw_ctx *ctx, struct rw_text *text)
{
    if (!text->blocks.begun)
        parse_and_fetch(ctx, text, 0, &text->blocks.block[1], &text->blocks.block[0]);
    text->blocks.begun = 1;
    return text->blocks.block[0].n_ready > 0 ? RW_OK : check_block(ctx, text);
}

/* ---- collecting the results of chunks ---- */

/* Reports the error in a chunk's line, or in the whole file if no document preceded it. */
static int bad_line(struct rw_ctx *ctx, const struct rw_text *text,
                    const struct rw_text_chunk *chunk)
{
    const char *name = rw_input_name(text->input);
    char line_text[1024], message[2048];
    uint64_t n_read;
    /* only after an error are the lines before a range counted */
    const uint64_t line = count_at(text->input, 0, text->begin, &n_read) + text->n_lines +
                          chunk->error_location.line + 1;
    snprintf(line_text, sizeof(line_text), "%.400s:%llu:%zu: %s", name, (unsigned long long)line,
             chunk->error_location.column, chunk->error);
    if (text->n_docs > 0 || text->begin > 0 || !chunk->kind.what)
        return rw_fail(ctx, chunk->status, "%s", line_text);
    rw_recognised_message(&chunk->kind, name, rw_input_is_gzip(text->input), line_text, message,
                          sizeof(message));
    return rw_fail(ctx, chunk->status, "%s", message);
}

/* Checks one chunk's result and passes its builder on. */
static int collect(struct rw_ctx *ctx, struct rw_text *text, struct rw_text_chunk *chunk,
                   struct rw_builder_list *list)
{
    const char *name = rw_input_name(text->input);
    if (chunk->builder.n_docs) {
        RW_TRY(RW_GROW(ctx, list->builder, list->room, list->n + 1));
        struct rw_builder *builder = &list->builder[list->n++];
        *builder = chunk->builder;
        memset(&chunk->builder, 0, sizeof(chunk->builder));
        builder->vocabulary = rw_vocabulary_share(text->vocabulary);
        RW_TRY(rw_mem_copy_text(ctx, &builder->file, name));
        if (text->kind->finish)
            RW_TRY(text->kind->finish(ctx, text, builder));
        for (uint32_t i = 0; i < builder->n_locations; i++)
            builder->location[i].line += text->n_lines + 1; /* until here relative to the chunk,
                                                               from 0 */
        text->n_docs += builder->n_docs;
        for (uint32_t q = 0; text->seen && q < builder->n_queries; q++)
            RW_TRY(rw_seen_add(ctx, text->seen, rw_builder_query_id(builder, q), name,
                               text->n_lines + chunk->query_location[q].line + 1,
                               chunk->query_location[q].column));
    }
    if (chunk->status == RW_ERR_IO)
        return rw_fail_io(ctx, chunk->read_errno, "cannot read '%s'", name);
    if (chunk->status < 0 && !chunk->error[0])
        return rw_fail(ctx, chunk->status, "out of memory while reading '%s'", name);
    if (chunk->status < 0)
        return bad_line(ctx, text, chunk);
    text->n_lines += chunk->n_lines;
    return RW_OK;
}

/* Collects the first n current chunks in order, up to the first failure, and returns its status.
 * With text->each, chunks have only a status. All n chunks are released. */
static int collect_all(struct rw_ctx *ctx, struct rw_text *text, int n,
                       struct rw_builder_list *list)
{
    const int skims = text->want == RW_TEXT_SKIM && !text->each.call;
    int status = skims
                     ? RW_GROW(ctx, list->chunk_docs, list->chunk_room, list->n_chunks + (size_t)n)
                     : RW_OK;
    for (int i = 0; i < n; i++) {
        if (status == RW_OK && skims)
            list->chunk_docs[list->n_chunks++] = text->chunk[i].builder.n_docs;
        if (status == RW_OK)
            status =
                text->each.call ? text->chunk[i].status : collect(ctx, text, &text->chunk[i], list);
        rw_text_chunk_release(&text->chunk[i]);
    }
    return status;
}

/* ---- parsing the next chunks ---- */

/* Creates early columns if the list receives one whole file of several chunks, with its values. */
static int open_early(struct rw_ctx *ctx, struct rw_text *text, struct rw_builder_list *list)
{
    enum { LEAST_CHUNKS = 2 };
    if (text->want != RW_TEXT_ALL || !list->is_whole || list->early || text->next_chunk > 0 ||
        text->n_chunks < LEAST_CHUNKS)
        return RW_OK;
    const uint64_t n = rw_text_guess_lines(text);
    return n ? rw_early_new(ctx, text->n_chunks, n + n / 16 + 1024, &list->early) : RW_OK;
}

static int parse_ranges(void *job, struct rw_share *share)
{
    struct rw_text *text = job;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        take_chunk(text, (int)i, share->thread);
    return RW_OK;
}

static int next_ranges(struct rw_ctx *ctx, struct rw_text *text, struct rw_builder_list *list,
                       int *more)
{
    const uint64_t left = text->n_chunks - text->next_chunk;
    const int most = takes_values(text) ? text->at_once : text->few_at_once;
    const int n = left < (uint64_t)most ? (int)left : most;
    RW_TRY(open_early(ctx, text, list));
    for (int i = 0; i < n; i++)
        text->chunk[i] =
            (struct rw_text_chunk){.text = text, .number = text->next_chunk + (uint64_t)i};
    RW_TRY(rw_parallel(ctx, text->n_threads, (uint64_t)n, 1, parse_ranges, text));
    text->next_chunk += (uint64_t)n;
    *more = text->next_chunk < text->n_chunks;
    return collect_all(ctx, text, n, list);
}

static int next_block(struct rw_ctx *ctx, struct rw_text *text, struct rw_builder_list *list,
                      int *more)
{
    RW_TRY(rw_text_begin(ctx, text));
    const struct rw_text_block *block = &text->blocks.block[text->blocks.current];
    struct rw_text_block *next = &text->blocks.block[!text->blocks.current];
    const int n = cut(text, block);
    text->blocks.first = 0;
    RW_TRY(parse_and_fetch(ctx, text, n, block, next));
    text->next_chunk += (uint64_t)n;
    RW_TRY(collect_all(ctx, text, n, list));
    RW_TRY(check_block(ctx, text));
    text->blocks.current = !text->blocks.current;
    *more = next->n_ready > 0 || next->status < 0;
    return RW_OK;
}

int rw_text_next(struct rw_ctx *ctx, struct rw_text *text, struct rw_builder_list *list, int *more)
{
    text->list = list;
    RW_TRY(text->by_ranges ? next_ranges(ctx, text, list, more)
                           : next_block(ctx, text, list, more));
    if (!*more && text->range)
        text->range->n_lines = text->n_lines;
    const int is_whole = text->begin == 0 && text->end == UINT64_MAX;
    if (!*more && text->n_docs == 0 && is_whole)
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%llu:1: expected a document, found the end of the file",
                       rw_input_name(text->input), (unsigned long long)text->n_lines + 1);
    return RW_OK;
}

/* ---- opening and closing ---- */

/* Chooses how many chunks are parsed at a time. n_bytes: size of the file, if by_ranges. */
static void set_at_once(const struct rw_ctx *ctx, struct rw_text *text, uint64_t n_bytes)
{
    text->at_once = 2 * ctx->n_threads;
    text->at_once = text->at_once < LEAST_AT_ONCE ? LEAST_AT_ONCE : text->at_once;
    text->at_once = text->at_once > MOST_AT_ONCE ? MOST_AT_ONCE : text->at_once;
    if (!text->by_ranges)
        return;
    text->n_chunks = (range_bytes(text, n_bytes) + text->chunk_bytes - 1) / text->chunk_bytes;
    /* chunks of ranges need no memory for text, so there may be many */
    text->few_at_once = text->at_once;
    text->at_once = TIMES_THREADS * ctx->n_threads;
    if (text->seen || text->range)
        text->few_at_once = text->at_once;
    if ((uint64_t)text->at_once > text->n_chunks)
        text->at_once = (int)text->n_chunks;
    if (text->n_threads > text->at_once)
        text->n_threads = text->at_once > 1 ? text->at_once : 1;
}

int rw_text_open(struct rw_ctx *ctx, const struct rw_text_kind *kind, struct rw_input *input,
                 struct rw_range *range, struct rw_seen *seen, size_t chunk_bytes,
                 struct rw_text **out)
{
    RW_SCOPED(rw_text_close) struct rw_text *text = NULL;
    uint64_t n_bytes = 0;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, text, 1));
    text->kind = kind;
    text->input = input;
    text->seen = seen;
    /* A chunk's text and values should stay in the processor's cache. If its values need not be
     * kept, and any thread can read it, its size need not shrink with the number of threads: larger
     * chunks are scored faster. */
    text->chunk_bytes = chunk_bytes ? chunk_bytes
                        : seen || range || !kind->in_ranges
                            ? rw_text_chunk_bytes(ctx, RW_TEXT_CHUNK_BYTES / 2)
                            : RW_TEXT_CHUNK_BYTES / 2;
    text->n_threads = ctx->n_threads;
    text->range = range;
    text->begin = range ? range->begin : 0;
    text->end = range ? range->end : UINT64_MAX;
    text->by_ranges = kind->in_ranges && rw_input_is_seekable(input, &n_bytes);
    set_at_once(ctx, text, n_bytes);
    RW_TRY(rw_members_open(ctx, input, block_bytes(text), wanted_members(text), &text->members));
    RW_TRY(RW_NEW(ctx, text->chunk, (size_t)text->at_once));
    RW_TRY(RW_NEW(ctx, text->worker, (size_t)text->n_threads));
    RW_TRY(kind->open(ctx, text));
    *out = text;
    text = NULL;
    return RW_OK;
}

void rw_text_close(struct rw_text *text)
{
    if (!text)
        return;
    for (int i = 0; text->chunk && i < text->at_once; i++)
        rw_text_chunk_release(&text->chunk[i]);
    for (int i = 0; text->worker && i < text->n_threads; i++)
        rw_text_worker_release(&text->worker[i]);
    if (text->kind->close)
        text->kind->close(text);
    rw_members_close(text->members);
    rw_mem_free(text->chunk);
    rw_mem_free(text->worker);
    rw_mem_free(text->blocks.block[0].text);
    rw_mem_free(text->blocks.block[1].text);
    rw_mem_free(text);
}

/* ---- reading a file several times ---- */

int rw_text_pick(const struct rw_text *text, uint64_t number, struct rw_text_worker *worker)
{
    struct rw_text_chunk chunk = {.text = text};
    RW_TRY(RW_GROW(NULL, worker->pick.row, worker->pick.row_room, worker->pick.n_docs));
    if (text->by_ranges) {
        parse_range(text, number, worker, &chunk);
    } else {
        chunk.begin = text->chunk[number - text->next_chunk].begin;
        chunk.end = text->chunk[number - text->next_chunk].end;
        rw_text_parse(&chunk, worker);
    }
    return chunk.status;
}

int rw_text_each(struct rw_ctx *ctx, struct rw_text *text, rw_text_each_fn *each, void *user)
{
    text->want = RW_TEXT_PICK;
    text->each.call = each;
    text->each.user = user;
    text->list = NULL;
    for (int more = 1; more;)
        RW_TRY(text->by_ranges ? next_ranges(ctx, text, NULL, &more)
                               : next_block(ctx, text, NULL, &more));
    return RW_OK;
}
