/* Files of LETOR text, and where queries begin in them. */
#include "io/letor.h"

#include "base/mem.h"
#include "base/system.h"
#include "io/columns.h"
#include "io/data_format.h"
#include "io/text.h"

/* ---- a kind of text ---- */

static size_t ready(struct rw_text *text, const char *block, size_t n, int is_first)
{
    (void)text;
    (void)is_first;
    const char *newline = rw_system_last(block, '\n', n);
    return newline ? (size_t)(newline - block) + 1 : 0;
}

static const char *line_end(const struct rw_text *text, const char *begin, const char *at,
                            const char *end)
{
    (void)text;
    (void)begin;
    const char *newline = memchr(at, '\n', (size_t)(end - at));
    return newline ? newline + 1 : end;
}

static int open_text(struct rw_ctx *ctx, struct rw_text *text)
{
    RW_TRY(rw_columns_lexicon(ctx, NULL, 0, &text->lexicon));
    for (int i = 0; i < text->n_threads && !text->lexicon; i++)
        text->worker[i].fast = rw_letor_fast(0);
    return RW_OK;
}

/* What the file is that a line without a document begins: a model is known by more than its first
 * line. */
static struct rw_recognised kind_of(const struct rw_text *text, const struct rw_text_chunk *chunk)
{
    size_t n;
    const unsigned char *head = rw_input_head(text->input, &n);
    const struct rw_recognised kind = rw_recognise_head((const char *)head, (const char *)head + n);
    return kind.from || (kind.what && kind.hint && !kind.is_text) ? kind : chunk->kind;
}

/* What is wrong with a chunk's line, or with the whole file if no document came before. */
static int bad_line(struct rw_ctx *ctx, const struct rw_text *text,
                    const struct rw_text_chunk *chunk)
{
    const char *name = rw_input_name(text->input);
    char line_text[1024], message[2048];
    const struct rw_recognised kind = kind_of(text, chunk);
    /* lines before a range are counted where something is wrong */
    const uint64_t line = rw_text_count_lines(text->input, text->begin) + text->n_lines +
                          chunk->error_location.line + 1;
    snprintf(line_text, sizeof(line_text), "%.400s:%llu:%zu: %s", name, (unsigned long long)line,
             chunk->error_location.column, chunk->error);
    if (text->n_docs > 0 || text->begin > 0 || !kind.what)
        return rw_fail(ctx, chunk->status, "%s", line_text);
    rw_recognised_message(&kind, name, rw_input_is_gzip(text->input), line_text, message,
                          sizeof(message));
    return rw_fail(ctx, chunk->status, "%s", message);
}

const struct rw_text_kind rw_letor_text = {.in_ranges = 1,
                                           .ready = ready,
                                           .line_end = line_end,
                                           .parse = rw_letor_chunk_parse,
                                           .fail = bad_line,
                                           .open = open_text};

/* ---- queries ---- */

/* Lines one after the other, from the first that begins at some byte or behind it. */
struct lines {
    struct rw_ctx *ctx;
    const struct rw_input *input;
    uint64_t at; /* of `text` in the file */
    char *text;  /* [room]; owned */
    size_t room, n, used;
    int at_end; /* nothing is behind `text` */
};

/* More text, behind what is left of the last. */
static int read_more(struct lines *l)
{
    enum { WINDOW_BYTES = 1 << 16 };
    const size_t left = l->n - l->used;
    size_t got;
    if (left)
        memmove(l->text, l->text + l->used, left);
    l->at += l->used;
    l->used = 0;
    l->n = left;
    RW_TRY(RW_GROW(l->ctx, l->text, l->room, left + WINDOW_BYTES));
    const int why = rw_input_read_at(l->input, l->at + left, l->text + left, l->room - left, &got);
    if (why)
        return rw_fail_io(l->ctx, why, "cannot read '%s'", rw_input_name(l->input));
    l->n += got;
    l->at_end = l->n < l->room;
    return RW_OK;
}

/* 1: the line that begins at byte *at of the file, [*line, *end) until the next call; 0: there are
 * no more. */
static int next_line(struct lines *l, uint64_t *at, const char **line, const char **end)
{
    const char *newline = NULL;
    while (1) {
        if (l->used < l->n)
            newline = memchr(l->text + l->used, '\n', l->n - l->used);
        if (newline || l->at_end)
            break;
        RW_TRY(read_more(l));
    }
    if (l->used == l->n)
        return 0;
    *at = l->at + l->used;
    *line = l->text + l->used;
    *end = newline ? newline : l->text + l->n;
    l->used = (size_t)(*end - l->text) + (newline != NULL);
    return 1;
}

/* The byte before the first tells whether a line begins with it. */
static int lines_open(struct rw_ctx *ctx, const struct rw_input *input, uint64_t at,
                      struct lines *l)
{
    const char *line, *end;
    *l = (struct lines){.ctx = ctx, .input = input, .at = at ? at - 1 : 0};
    return at ? next_line(l, &at, &line, &end) : 1;
}

static int query_before(struct rw_ctx *ctx, struct rw_input *input, uint64_t at,
                        struct rw_query_text *query)
{
    enum { FIRST_WINDOW = 1 << 14, WIDER = 4 };
    struct lines l = {.text = NULL};
    int status = RW_OK;
    query->is_known = 0;
    for (uint64_t window = FIRST_WINDOW, from = at; from > 0 && !query->is_known; window *= WIDER) {
        uint64_t place = 0;
        const char *line, *end;
        size_t n;
        from = at > window ? at - window : 0;
        RW_TRY_OUT(lines_open(ctx, input, from, &l));
        while (place < at && (status = next_line(&l, &place, &line, &end)) > 0) {
            const char *id = place < at ? rw_letor_query_id(line, end, &n) : NULL;
            if (id)
                RW_TRY_OUT(rw_query_text_set(ctx, query, id, n));
        }
        RW_TRY_OUT(status);
        rw_mem_free(l.text);
        l.text = NULL;
    }
out:
    rw_mem_free(l.text);
    return status < 0 ? status : RW_OK;
}

static int next_query(struct rw_ctx *ctx, struct rw_input *input, uint64_t at,
                      const struct rw_query_text *before, uint64_t *place)
{
    struct lines l;
    const char *line, *end;
    size_t n;
    int status = lines_open(ctx, input, at, &l);
    while (status >= 0 && (status = next_line(&l, place, &line, &end)) > 0) {
        const char *id = rw_letor_query_id(line, end, &n);
        if (id && !rw_query_text_is(before, id, n))
            break;
    }
    if (status == 0)
        *place = UINT64_MAX;
    rw_mem_free(l.text);
    return status < 0 ? status : RW_OK;
}

static int can_divide(struct rw_input *input)
{
    uint64_t n_bytes;
    return rw_input_is_seekable(input, &n_bytes);
}

static const struct rw_divided divided = {
    .can_divide = can_divide, .query_before = query_before, .next_query = next_query};

/* ---- a format of data ---- */

static int format_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                       struct rw_seen *seen, void **state)
{
    /* A chunk's text and values stay in the cache. Where its values may not be kept, it need not be
     * smaller for many threads: the more documents of a chunk, the quicker they are scored. */
    const size_t most = RW_TEXT_CHUNK_BYTES / 2;
    return rw_text_open(ctx, &rw_letor_text, input, range, seen,
                        seen || range ? rw_text_chunk_bytes(ctx, most) : most,
                        (struct rw_text **)state);
}

const struct rw_data_format rw_data_format_letor = {.name = "letor",
                                                    .open = format_open,
                                                    .next = rw_text_format_next,
                                                    .close = rw_text_format_close,
                                                    .divided = &divided};
