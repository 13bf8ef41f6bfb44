/* Where lines and queries are in a plain file of LETOR text, found by reading a little of it. */
#include "base/mem.h"
#include "io/data_format.h"
#include "io/letor.h"

/* ---- numbers of lines ---- */

static uint64_t count(const char *text, size_t n)
{
    uint64_t n_lines = 0;
    for (size_t i = 0; i < n; i++)
        n_lines += text[i] == '\n';
    return n_lines;
}

uint64_t rw_letor_count_lines(const struct rw_input *input, uint64_t end)
{
    enum { WINDOW_BYTES = 1 << 20 };
    char *text;
    uint64_t n_lines = 0;
    size_t got = 1;
    if (end == 0 || RW_NEW_RAW(NULL, text, WINDOW_BYTES) < 0)
        return 0;
    for (uint64_t at = 0; at < end && got > 0; at += got) {
        const size_t n = end - at < WINDOW_BYTES ? (size_t)(end - at) : WINDOW_BYTES;
        if (rw_input_read_at(input, at, text, n, &got) != 0)
            break;
        n_lines += count(text, got);
    }
    rw_mem_free(text);
    return n_lines;
}

uint64_t rw_letor_guess_lines_of(const struct rw_input *input, uint64_t begin, uint64_t n_bytes)
{
    enum { WINDOWS = 8, WINDOW_BYTES = 1 << 16 };
    char *text;
    uint64_t n_seen = 0, n_lines = 0;
    if (RW_NEW_RAW(NULL, text, WINDOW_BYTES) < 0)
        return 0;
    const int is_small = n_bytes <= (uint64_t)WINDOWS * WINDOW_BYTES;
    for (uint64_t w = 0; w < WINDOWS; w++) {
        const uint64_t at = is_small ? w * WINDOW_BYTES : n_bytes / WINDOWS * w;
        const uint64_t left = at < n_bytes ? n_bytes - at : 0;
        size_t got;
        if (rw_input_read_at(input, begin + at, text,
                             left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES, &got) != 0)
            break;
        n_seen += got;
        n_lines += count(text, got);
    }
    rw_mem_free(text);
    return n_seen ? (uint64_t)((double)n_lines * ((double)n_bytes / (double)n_seen)) : 0;
}

uint64_t rw_letor_guess_packed_lines(const struct rw_input *input)
{
    enum { WINDOW_BYTES = 1 << 22 };
    unsigned char *text;
    uint64_t n_file = 0;
    size_t n_raw = 0;
    if (!rw_input_is_packed(input, &n_file) || RW_NEW_RAW(NULL, text, WINDOW_BYTES) < 0)
        return 0;
    const size_t n = rw_input_peek(input, text, WINDOW_BYTES, &n_raw);
    const uint64_t n_lines = count((const char *)text, n);
    rw_mem_free(text);
    return n_raw ? (uint64_t)((double)n_lines * ((double)n_file / (double)n_raw)) : 0;
}

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

static int open_range(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                      void **state)
{
    return rw_letor_open_range(ctx, input, range,
                               rw_letor_chunk_bytes(ctx, RW_LETOR_CHUNK_BYTES / 2),
                               (struct rw_letor **)state);
}

const struct rw_divided rw_letor_divided = {.can_divide = can_divide,
                                            .query_before = query_before,
                                            .next_query = next_query,
                                            .open = open_range};
