/* Files of CSV and TSV. */
#include "io/csv.h"

#include "base/mem.h"
#include "io/columns.h"
#include "io/data_format.h"

/* Where the last whole record ends. */
static size_t whole_records(const char *text, const char *end, char separator)
{
    const char *p = text;
    for (const char *next; (next = rw_csv_record_end(p, end, separator)) != NULL;)
        p = next;
    return (size_t)(p - text);
}

/* The file begins with the header, which tells what separates the columns, and perhaps with a byte
 * order mark. */
static size_t ready(struct rw_text *text, const char *block, size_t n, int is_first)
{
    static const char mark[] = "\xef\xbb\xbf";
    const char *end = block + n;
    if (!is_first)
        return whole_records(block, end, text->layout->separator);
    text->first = n >= 3 && memcmp(block, mark, 3) == 0 ? 3 : 0;
    text->layout->separator = rw_csv_separator(block + text->first, end);
    n = whole_records(block + text->first, end, text->layout->separator);
    return n ? n + text->first : 0;
}

static const char *line_end(const struct rw_text *text, const char *begin, const char *at,
                            const char *end)
{
    while (begin && begin < at)
        begin = rw_csv_record_end(begin, end, text->layout->separator);
    return begin ? begin : end;
}

static int fail(struct rw_ctx *ctx, const struct rw_text *text, const struct rw_text_chunk *chunk)
{
    return rw_fail(ctx, chunk->status, "%s:%llu:%zu: %s", rw_input_name(text->input),
                   (unsigned long long)(text->n_lines + chunk->error_location.line + 1),
                   chunk->error_location.column, chunk->error);
}

static int read_header(struct rw_ctx *ctx, struct rw_text *text)
{
    const char *name = rw_input_name(text->input);
    const struct rw_text_block *block = &text->block[0];
    struct rw_csv_layout *layout = text->layout;
    RW_TRY(rw_text_begin(ctx, text));
    const char *begin = block->text + RW_TEXT_PAD + text->first;
    const char *end = block->text + RW_TEXT_PAD + block->n_ready;
    if (begin >= end)
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:1:1: expected the columns' names, found the end of the file", name);
    const char *record_end = rw_csv_record_end(begin, end, layout->separator);
    if (!record_end)
        record_end = end;
    RW_TRY(rw_csv_layout_make(ctx, name, begin, record_end, layout));
    if (!layout->has_header)
        return RW_OK;
    for (const char *p = begin; p < record_end; p++)
        text->n_lines += *p == '\n';
    text->first += (size_t)(record_end - begin);
    return RW_OK;
}

static int open_text(struct rw_ctx *ctx, struct rw_text *text)
{
    RW_TRY(RW_NEW(ctx, text->layout, 1));
    RW_TRY(read_header(ctx, text));
    text->layout->no_label = ctx->columns && ctx->columns->no_label;
    text->lexicon = text->layout->lexicon;
    ctx->n_tables++;
    return RW_OK;
}

static void close_text(struct rw_text *text)
{
    if (text->layout)
        rw_csv_layout_release(text->layout);
    rw_mem_free(text->layout);
}

/* The file's names are in its first builder. */
static int finish(struct rw_ctx *ctx, const struct rw_text *text, struct rw_builder *builder)
{
    const struct rw_csv_layout *layout = text->layout;
    builder->width = layout->width;
    builder->by_name = layout->by_name;
    if (text->n_docs > 0)
        return RW_OK;
    RW_TRY(rw_names_copy(ctx, layout->name, layout->n_names, &builder->name));
    builder->n_names = layout->n_names;
    return RW_OK;
}

const struct rw_text_kind rw_csv_text = {.most_line = RW_CSV_MOST_RECORD,
                                         .ready = ready,
                                         .line_end = line_end,
                                         .parse = rw_csv_chunk_parse,
                                         .fail = fail,
                                         .open = open_text,
                                         .close = close_text,
                                         .finish = finish};

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

static int format_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                       struct rw_seen *seen, void **state)
{
    return rw_text_open(ctx, &rw_csv_text, input, range, seen,
                        rw_text_chunk_bytes(ctx, RW_TEXT_CHUNK_BYTES / 2),
                        (struct rw_text **)state);
}

static const char *const endings[] = {".csv", ".tsv", NULL};
const struct rw_data_format rw_data_format_csv = {.name = "csv",
                                                  .probe = probe,
                                                  .endings = endings,
                                                  .open = format_open,
                                                  .next = rw_text_format_next,
                                                  .close = rw_text_format_close};
