/* Files of LETOR text.
 *
 * Where any thread can read anywhere in the file, a chunk is a piece of it: the lines that begin in
 * some range of bytes. The thread that parses a piece also reads it, into a buffer that stays in
 * its cache. Else the text comes in blocks: while the chunks of one block are parsed, one thread
 * fetches (and unpacks) the next; of a gzip file of several members, all threads do. A block ends
 * at the end of a line; the line that is left over begins the next one. */
#include "io/letor_inside.h"

#include "base/mem.h"
#include "base/system.h"
#include "dataset/lexicon.h"
#include "io/columns.h"
#include "io/data_format.h"
#include "io/members.h"

enum {
    LEAST_CHUNKS = 4,
    MOST_CHUNKS = 64,    /* that are wanted soon */
    BATCH_CHUNKS = 16,   /* times the threads: few enough waits for the last to end */
    LINE_BYTES = 1 << 12 /* read at first behind a piece, for its last line */
};

void rw_builder_list_release(struct rw_builder_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        rw_builder_release(&list->builder[i]);
    rw_early_free(list->early);
    rw_mem_free(list->builder);
    memset(list, 0, sizeof(*list));
}

size_t rw_letor_chunk_bytes(const struct rw_ctx *ctx, size_t most)
{
    enum { THREADS = 4, LEAST = 1 << 16 };
    const size_t bytes = most / (size_t)ctx->n_threads * THREADS;
    if (bytes >= most || most < LEAST)
        return most;
    return bytes > LEAST ? bytes : LEAST;
}

/* Bytes of the range, or of the whole file. */
static uint64_t range_bytes(const struct rw_letor *letor, uint64_t n_bytes)
{
    const uint64_t end = n_bytes < letor->end ? n_bytes : letor->end;
    return end > letor->begin ? end - letor->begin : 0;
}

static int open_text(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                     struct rw_seen *seen, size_t chunk_bytes, struct rw_letor **out)
{
    struct rw_letor *letor;
    uint64_t n_bytes;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, letor, 1));
    letor->input = input;
    letor->seen = seen;
    letor->chunk_bytes = chunk_bytes;
    letor->n_threads = ctx->n_threads;
    letor->n_chunks = 2 * ctx->n_threads;
    letor->range = range;
    letor->begin = range ? range->begin : 0;
    letor->end = range ? range->end : UINT64_MAX;
    if (letor->n_chunks < LEAST_CHUNKS)
        letor->n_chunks = LEAST_CHUNKS;
    if (letor->n_chunks > MOST_CHUNKS)
        letor->n_chunks = MOST_CHUNKS;
    letor->by_pieces = rw_input_is_seekable(input, &n_bytes);
    if (letor->by_pieces) {
        letor->n_pieces = (range_bytes(letor, n_bytes) + chunk_bytes - 1) / chunk_bytes;
        /* pieces take no room for text, so there may be many */
        letor->few_chunks = letor->n_chunks;
        letor->n_chunks = BATCH_CHUNKS * ctx->n_threads;
        if (seen || range)
            letor->few_chunks = letor->n_chunks;
        if ((uint64_t)letor->n_chunks > letor->n_pieces)
            letor->n_chunks = (int)letor->n_pieces;
        if (letor->n_threads > letor->n_chunks)
            letor->n_threads = letor->n_chunks > 1 ? letor->n_chunks : 1;
    }
    RW_TRY_OUT(rw_members_open(ctx, input, rw_letor_block_bytes(letor),
                               rw_letor_wanted_members(letor), &letor->members));
    RW_TRY_OUT(RW_NEW(ctx, letor->chunk, (size_t)letor->n_chunks));
    RW_TRY_OUT(RW_NEW(ctx, letor->worker, (size_t)letor->n_threads));
    RW_TRY_OUT(rw_columns_lexicon(ctx, NULL, 0, &letor->lexicon));
    for (int i = 0; i < letor->n_threads && !letor->lexicon; i++)
        letor->worker[i].fast = rw_letor_fast(0);
    *out = letor;
    return RW_OK;
out:
    rw_letor_close(letor);
    return status;
}

int rw_letor_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                  size_t chunk_bytes, struct rw_letor **out)
{
    return open_text(ctx, input, NULL, seen, chunk_bytes, out);
}

int rw_letor_open_range(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                        size_t chunk_bytes, struct rw_letor **out)
{
    return open_text(ctx, input, range, NULL, chunk_bytes, out);
}

void rw_letor_close(struct rw_letor *letor)
{
    if (!letor)
        return;
    for (int i = 0; letor->chunk && i < letor->n_chunks; i++)
        rw_letor_chunk_release(&letor->chunk[i]);
    for (int i = 0; letor->worker && i < letor->n_threads; i++)
        rw_letor_worker_release(&letor->worker[i]);
    rw_members_close(letor->members);
    rw_mem_free(letor->chunk);
    rw_mem_free(letor->worker);
    rw_mem_free(letor->block[0].text);
    rw_mem_free(letor->block[1].text);
    rw_mem_free(letor->piece_docs);
    rw_mem_free(letor);
}

static int grow_text(struct rw_letor_worker *worker, size_t n)
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

/* Up to n bytes of the text from byte `at` of the file on, as rw_input_read_at. */
static int read_at(const struct rw_letor *letor, uint64_t at, char *buffer, size_t n, size_t *got)
{
    const uint64_t left = at < letor->end ? letor->end - at : 0;
    return rw_input_read_at(letor->input, at, buffer, n < left ? n : (size_t)left, got);
}

/* Reads a piece: the lines that begin in its range of bytes; the last piece's range ends with the
 * text. The byte before the range tells whether a line begins with it. */
static int read_piece(const struct rw_letor *letor, uint64_t piece, struct rw_letor_worker *worker,
                      struct rw_letor_chunk *chunk)
{
    const uint64_t from = letor->begin + (piece ? piece * letor->chunk_bytes - 1 : 0);
    const int is_last = piece + 1 == letor->n_pieces;
    const size_t owned = letor->chunk_bytes + (piece != 0); /* bytes to the end of the range */
    size_t n = 0, begin = 0, wanted = owned + LINE_BYTES;
    const char *newline = NULL; /* of the last line */
    char *text;
    while (1) {
        size_t got;
        RW_TRY(grow_text(worker, wanted + (size_t)2 * RW_LETOR_PAD));
        text = worker->text + RW_LETOR_PAD;
        chunk->read_errno = read_at(letor, from + n, text + n, wanted - n, &got);
        if (n == 0 && piece) {
            const char *before = memchr(text, '\n', got < owned - 1 ? got : owned - 1);
            if (!before)
                return RW_OK; /* no line begins here: one long line covers the range */
            begin = (size_t)(before - text) + 1;
        }
        const size_t look = n < owned - 1 ? owned - 1 : n;
        n += got;
        if (!is_last && n > look)
            newline = memchr(text + look, '\n', n - look);
        if (newline || n < wanted)
            break;
        wanted *= 2;
    }
    if (!newline && chunk->read_errno) { /* whole lines count before the failure does */
        newline = rw_system_last(text, '\n', n);
        if (!newline || newline < text + begin)
            return RW_OK;
    }
    memset(worker->text, 0, RW_LETOR_PAD);
    memset(text + n, 0, RW_LETOR_PAD);
    chunk->begin = text + begin;
    chunk->end = newline ? newline + 1 : text + n;
    return RW_OK;
}

static void parse_piece(const struct rw_letor *letor, uint64_t piece,
                        struct rw_letor_worker *worker, struct rw_letor_chunk *chunk)
{
    chunk->status = read_piece(letor, piece, worker, chunk);
    if (chunk->status < 0)
        return;
    rw_letor_chunk_parse(chunk, worker);
    if ((chunk->status == RW_OK || chunk->want == RW_LETOR_PICK) && chunk->read_errno)
        chunk->status = RW_ERR_IO;
}

/* What the file is that a line without a document begins: a model is known by more than its first
 * line. */
static struct rw_recognised kind_of(const struct rw_letor *letor,
                                    const struct rw_letor_chunk *chunk)
{
    size_t n;
    const unsigned char *head = rw_input_head(letor->input, &n);
    const struct rw_recognised kind = rw_recognise_head((const char *)head, (const char *)head + n);
    return kind.from || (kind.what && kind.hint && !kind.is_text) ? kind : chunk->kind;
}

/* What is wrong with a chunk's line, or with the whole file if no document came before. */
static int bad_line(struct rw_ctx *ctx, const struct rw_letor *letor,
                    const struct rw_letor_chunk *chunk)
{
    const char *name = rw_input_name(letor->input);
    char text[1024], message[2048];
    const struct rw_recognised kind = kind_of(letor, chunk);
    /* lines before a range are counted where something is wrong */
    const uint64_t line = rw_letor_count_lines(letor->input, letor->begin) + letor->n_lines +
                          chunk->error_location.line + 1;
    snprintf(text, sizeof(text), "%.400s:%llu:%zu: %s", name, (unsigned long long)line,
             chunk->error_location.column, chunk->error);
    if (letor->n_docs > 0 || letor->begin > 0 || !kind.what)
        return rw_fail(ctx, chunk->status, "%s", text);
    rw_recognised_message(&kind, name, rw_input_is_gzip(letor->input), text, message,
                          sizeof(message));
    return rw_fail(ctx, chunk->status, "%s", message);
}

/* Checks one chunk's outcome and hands its builder over. */
static int collect(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_letor_chunk *chunk,
                   struct rw_builder_list *list)
{
    const char *name = rw_input_name(letor->input);
    if (chunk->builder.n_docs) {
        RW_TRY(RW_GROW(ctx, list->builder, list->room, list->n + 1));
        struct rw_builder *builder = &list->builder[list->n++];
        *builder = chunk->builder;
        memset(&chunk->builder, 0, sizeof(chunk->builder));
        builder->lexicon = rw_lexicon_share(letor->lexicon);
        RW_TRY(rw_mem_copy_text(ctx, &builder->file, name));
        for (uint32_t i = 0; i < builder->n_locations; i++)
            builder->location[i].line += letor->n_lines + 1; /* in the chunk, from 0, until here */
        letor->n_docs += builder->n_docs;
        for (uint32_t q = 0; letor->seen && q < builder->n_queries; q++)
            RW_TRY(rw_seen_add(ctx, letor->seen,
                               builder->query_id_text + builder->query_id_offset[q], name,
                               letor->n_lines + chunk->query_location[q].line + 1,
                               chunk->query_location[q].column));
    }
    if (chunk->status == RW_ERR_IO)
        return rw_fail_io(ctx, chunk->read_errno, "cannot read '%s'", name);
    if (chunk->status < 0 && !chunk->error[0])
        return rw_fail(ctx, chunk->status, "out of memory: a piece of '%s' does not fit", name);
    if (chunk->status < 0)
        return bad_line(ctx, letor, chunk);
    letor->n_lines += chunk->n_lines;
    return RW_OK;
}

int rw_letor_collect(struct rw_ctx *ctx, struct rw_letor *letor, int n,
                     struct rw_builder_list *list)
{
    int status =
        letor->want == RW_LETOR_SKIM
            ? RW_GROW(ctx, letor->piece_docs, letor->piece_docs_room, letor->n_known + (uint64_t)n)
            : RW_OK;
    for (int i = 0; i < n; i++) {
        if (status == RW_OK && letor->want == RW_LETOR_SKIM)
            letor->piece_docs[letor->n_known++] = letor->chunk[i].builder.n_docs;
        if (status == RW_OK)
            status = collect(ctx, letor, &letor->chunk[i], list);
        rw_letor_chunk_release(&letor->chunk[i]);
    }
    return status;
}

/* Columns for values that are read from here on, if all of the file is. */
static int open_early(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list)
{
    enum { LEAST_PIECES = 2 };
    if (!list->is_whole || list->early || letor->next_piece > 0 || letor->want != RW_LETOR_ALL ||
        letor->n_pieces < LEAST_PIECES)
        return RW_OK;
    const uint64_t n = rw_letor_guess_lines(letor);
    return n ? rw_early_new(ctx, letor->n_pieces, n + n / 16 + 1024, &list->early) : RW_OK;
}

static int parse_pieces(void *job, struct rw_share *share)
{
    struct rw_letor *letor = job;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        parse_piece(letor, letor->next_piece + i, &letor->worker[share->thread], &letor->chunk[i]);
    return RW_OK;
}

static int next_pieces(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list,
                       int *more)
{
    const uint64_t left = letor->n_pieces - letor->next_piece;
    const int most = letor->take ? letor->n_chunks : letor->few_chunks;
    const int n = left < (uint64_t)most ? (int)left : most;
    RW_TRY(open_early(ctx, letor, list));
    for (int i = 0; i < n; i++) {
        letor->chunk[i].want = letor->want;
        letor->chunk[i].lexicon = letor->lexicon;
        letor->chunk[i].take = letor->take;
        letor->chunk[i].take_user = letor->take_user;
        letor->chunk[i].early = list->early;
        letor->chunk[i].number = letor->next_piece + (uint64_t)i;
    }
    rw_parallel(ctx, letor->n_threads, (uint64_t)n, 1, parse_pieces, letor);
    letor->next_piece += (uint64_t)n;
    *more = letor->next_piece < letor->n_pieces;
    return rw_letor_collect(ctx, letor, n, list);
}

int rw_letor_next(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list,
                  int *more)
{
    letor->take = letor->lexicon ? NULL : list->take; /* words are no values yet */
    letor->take_user = list->take_user;
    if (letor->by_pieces)
        RW_TRY(next_pieces(ctx, letor, list, more));
    else
        RW_TRY(rw_letor_next_block(ctx, letor, list, more));
    if (!*more && letor->range)
        letor->range->n_lines = letor->n_lines;
    const int is_whole = letor->begin == 0 && letor->end == UINT64_MAX;
    if (!*more && letor->n_docs == 0 && is_whole)
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%llu:1: expected a document, found the end of the file",
                       rw_input_name(letor->input), (unsigned long long)letor->n_lines + 1);
    return RW_OK;
}

/* ---- a file that is read several times ---- */

uint64_t rw_letor_n_pieces(const struct rw_letor *letor)
{
    return letor->by_pieces ? letor->n_pieces : 0;
}

void rw_letor_skim(struct rw_letor *letor)
{
    letor->want = RW_LETOR_SKIM;
}

const uint32_t *rw_letor_piece_docs(const struct rw_letor *letor, uint64_t *n_pieces)
{
    *n_pieces = letor->n_known;
    return letor->piece_docs;
}

int rw_letor_pick(const struct rw_letor *letor, uint64_t piece, struct rw_letor_worker *worker)
{
    struct rw_letor_chunk chunk = {.want = RW_LETOR_PICK, .lexicon = letor->lexicon};
    RW_TRY(RW_GROW(NULL, worker->pick.row, worker->pick.row_room, worker->pick.n_docs));
    if (letor->by_pieces) {
        parse_piece(letor, piece, worker, &chunk);
    } else {
        chunk.begin = letor->chunk[piece - letor->n_cut].begin;
        chunk.end = letor->chunk[piece - letor->n_cut].end;
        rw_letor_chunk_parse(&chunk, worker);
    }
    return chunk.status;
}

uint64_t rw_letor_guess_lines(const struct rw_letor *letor)
{
    uint64_t n_bytes;
    if (!rw_input_is_seekable(letor->input, &n_bytes))
        return rw_letor_guess_packed_lines(letor->input);
    return rw_letor_guess_lines_of(letor->input, letor->begin, range_bytes(letor, n_bytes));
}

static int format_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                       void **state)
{
    /* A chunk's text and values stay in the cache. Where its values may not be kept, it need not be
     * smaller for many threads: the more documents of a chunk, the quicker they are scored. */
    const size_t most = RW_LETOR_CHUNK_BYTES / 2;
    return rw_letor_open(ctx, input, seen, seen ? rw_letor_chunk_bytes(ctx, most) : most,
                         (struct rw_letor **)state);
}

static int format_next(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more)
{
    return rw_letor_next(ctx, state, list, more);
}

static void format_close(void *state)
{
    rw_letor_close(state);
}

const struct rw_data_format rw_data_format_letor = {.name = "letor",
                                                    .open = format_open,
                                                    .next = format_next,
                                                    .close = format_close,
                                                    .divided = &rw_letor_divided};
