/* Blocks of LETOR text. While the chunks of one block are parsed, one thread fetches (and unpacks)
 * the next block. A block ends at the end of a line; the line that is left over begins the next
 * one. */
#include "io/letor.h"

#include "base/mem.h"
#include "io/format.h"

enum { LEAST_CHUNKS = 4, MOST_CHUNKS = 64 };

struct block {
    char *text; /* owned */
    size_t room;
    size_t n_ready; /* bytes of whole lines */
    size_t n_held;  /* the rest, up to here, is a line that goes on */
    int status;     /* a failure behind the whole lines */
};

struct rw_letor {
    struct rw_input *input; /* borrowed */
    struct rw_seen *seen;   /* borrowed */
    size_t chunk_bytes;
    int n_chunks;                 /* most of a block */
    struct rw_letor_chunk *chunk; /* [n_chunks]; owned */
    struct block block[2];        /* the one parsed, the one fetched */
    int current;
    int begun;
    uint64_t n_lines; /* before the current block */
    uint64_t n_docs;
};

void rw_builder_list_release(struct rw_builder_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        rw_builder_release(&list->builder[i]);
    rw_mem_free(list->builder);
    memset(list, 0, sizeof(*list));
}

int rw_letor_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                  size_t chunk_bytes, struct rw_letor **out)
{
    struct rw_letor *letor;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, letor, 1));
    letor->input = input;
    letor->seen = seen;
    letor->chunk_bytes = chunk_bytes;
    letor->n_chunks = 2 * ctx->n_threads;
    if (letor->n_chunks < LEAST_CHUNKS)
        letor->n_chunks = LEAST_CHUNKS;
    if (letor->n_chunks > MOST_CHUNKS)
        letor->n_chunks = MOST_CHUNKS;
    RW_TRY_OUT(RW_NEW(ctx, letor->chunk, (size_t)letor->n_chunks));
    *out = letor;
    return RW_OK;
out:
    rw_letor_close(letor);
    return status;
}

void rw_letor_close(struct rw_letor *letor)
{
    if (!letor)
        return;
    for (int i = 0; letor->chunk && i < letor->n_chunks; i++)
        rw_letor_chunk_release(&letor->chunk[i]);
    rw_mem_free(letor->chunk);
    rw_mem_free(letor->block[0].text);
    rw_mem_free(letor->block[1].text);
    rw_mem_free(letor);
}

/* Fills `next` with what `before` left over and what the input gives. A line longer than a block
 * makes the block grow. Never touches the context: another thread may be at work. */
static void fetch(struct rw_letor *letor, const struct block *before, struct block *next)
{
    const size_t block_bytes = letor->chunk_bytes * (size_t)letor->n_chunks;
    const size_t n_over = before->n_held - before->n_ready;
    next->n_ready = next->n_held = 0;
    next->status = before->status;
    if (next->status < 0)
        return;
    next->status = RW_GROW(NULL, next->text, next->room, n_over + block_bytes);
    if (next->status < 0)
        return;
    if (n_over)
        memcpy(next->text, before->text + before->n_ready, n_over);
    next->n_held = n_over;
    while (1) {
        size_t got;
        next->status = rw_input_read(NULL, letor->input, next->text + next->n_held,
                                     next->room - next->n_held, &got);
        if (next->status < 0)
            return;
        if (got == 0) { /* the end: the last line may lack its newline */
            next->n_ready = next->n_held;
            return;
        }
        const char *newline = memrchr(next->text + next->n_held, '\n', got);
        next->n_held += got;
        if (newline)
            next->n_ready = (size_t)(newline - next->text) + 1;
        if (next->n_held < next->room)
            continue; /* the input ends here or fails: ask again to know which */
        if (next->n_ready)
            return;
        next->status = RW_GROW(NULL, next->text, next->room, next->room * 2);
        if (next->status < 0)
            return;
    }
}

/* Cuts the block's lines into chunks of about equal size; returns how many. */
static int cut(struct rw_letor *letor, const struct block *block)
{
    int n = 0;
    size_t at = 0;
    while (at < block->n_ready) {
        size_t end = at + letor->chunk_bytes;
        if (n == letor->n_chunks - 1 || end >= block->n_ready) {
            end = block->n_ready;
        } else {
            const char *newline = memchr(block->text + end, '\n', block->n_ready - end);
            end = newline ? (size_t)(newline - block->text) + 1 : block->n_ready;
        }
        letor->chunk[n].begin = block->text + at;
        letor->chunk[n].end = block->text + end;
        at = end;
        n++;
    }
    return n;
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
        RW_TRY(rw_mem_copy_text(ctx, &builder->file, name));
        for (uint32_t i = 0; i < builder->n_places; i++)
            builder->place[i].line += letor->n_lines + 1; /* in the chunk, from 0, until here */
        letor->n_docs += builder->n_docs;
        for (uint32_t q = 0; letor->seen && q < builder->n_queries; q++)
            RW_TRY(rw_seen_add(
                ctx, letor->seen, builder->query_id_text + builder->query_id_offset[q], name,
                letor->n_lines + chunk->query_place[q].line + 1, chunk->query_place[q].column));
    }
    if (chunk->status < 0)
        return rw_fail(ctx, chunk->status, "%s:%llu:%zu: %s", name,
                       (unsigned long long)(letor->n_lines + chunk->error_place.line + 1),
                       chunk->error_place.column, chunk->error);
    letor->n_lines += chunk->n_lines;
    return RW_OK;
}

int rw_letor_next(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list,
                  int *more)
{
    int status = RW_OK;
    if (!letor->begun)
        fetch(letor, &letor->block[1], &letor->block[0]);
    letor->begun = 1;
    struct block *block = &letor->block[letor->current];
    struct block *next = &letor->block[!letor->current];
    const int n = cut(letor, block);
#pragma omp parallel for schedule(dynamic, 1) num_threads(ctx->n_threads)
    for (int i = 0; i <= n; i++) {
        if (i == 0)
            fetch(letor, block, next);
        else
            rw_letor_chunk_parse(&letor->chunk[i - 1]);
    }
    for (int i = 0; i < n; i++) {
        if (status == RW_OK)
            status = collect(ctx, letor, &letor->chunk[i], list);
        rw_letor_chunk_release(&letor->chunk[i]);
    }
    RW_TRY(status);
    if (block->status < 0) {
        size_t got; /* a failure of the input: it says the same once more, to the context */
        RW_TRY(rw_input_read(ctx, letor->input, NULL, 0, &got));
        return rw_fail(ctx, block->status, "out of memory: a block of '%s' does not fit",
                       rw_input_name(letor->input));
    }
    letor->current = !letor->current;
    *more = next->n_ready > 0 || next->status < 0;
    if (!*more && letor->n_docs == 0)
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:%llu:1: expected a document, found the end of the file",
                       rw_input_name(letor->input), (unsigned long long)letor->n_lines + 1);
    return RW_OK;
}

static int probe(const unsigned char *head, size_t n_bytes)
{
    (void)head;
    (void)n_bytes;
    return 1;
}

static int format_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                       void **state)
{
    return rw_letor_open(ctx, input, seen, RW_LETOR_CHUNK_BYTES, (struct rw_letor **)state);
}

static int format_next(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more)
{
    return rw_letor_next(ctx, state, list, more);
}

static void format_close(void *state)
{
    rw_letor_close(state);
}

const struct rw_format rw_format_letor = {"letor",     probe,        format_open,
                                          format_next, format_close, NULL};
