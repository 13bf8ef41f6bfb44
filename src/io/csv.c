/* CSV and TSV: records of fields between commas or tabs, quoted or not, as RFC 4180 has them. A
 * quote inside a field that does not begin with one is a character as any other. */
#include "io/csv.h"

#include <strings.h>

#include "base/mem.h"
#include "dataset/names.h"
#include "io/data_format.h"

/* ---- fields ---- */

static const char *field_end(const char *p, const char *end, char separator)
{
    while (p < end && *p != separator && *p != '\n')
        p++;
    return p;
}

static int ends_line(const char *p, const char *end)
{
    return p == end || *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] == '\n'));
}

static struct rw_csv_field quoted_at(const char *p, const char *end, char separator)
{
    struct rw_csv_field field = {.begin = p + 1, .end = end, .is_quoted = 1, .next = end};
    const char *quote = p + 1;
    while ((quote = quote < end ? memchr(quote, '"', (size_t)(end - quote)) : NULL) != NULL) {
        if (quote + 1 == end || quote[1] != '"')
            break;
        quote += 2;
    }
    if (!quote) {
        field.wrong = p;
        field.expected = "a '\"' that ends the field";
        field.found = "none";
        return field;
    }
    field.end = quote++;
    if (ends_line(quote, end)) {
        field.next = quote + (quote < end && *quote == '\r');
    } else {
        field.next = field_end(quote, end, separator);
        if (field.next != quote) {
            field.wrong = quote;
            field.expected = "the end of the field behind its '\"'";
        }
    }
    return field;
}

struct rw_csv_field rw_csv_field_at(const char *p, const char *end, char separator)
{
    if (p < end && *p == '"')
        return quoted_at(p, end, separator);
    struct rw_csv_field field = {.begin = p, .end = field_end(p, end, separator)};
    field.next = field.end;
    if (field.end > p && field.end[-1] == '\r' && ends_line(field.end, end))
        field.end--;
    return field;
}

const char *rw_csv_record_end(const char *p, const char *end, char separator)
{
    const char *newline = p < end ? memchr(p, '\n', (size_t)(end - p)) : NULL;
    if (!newline || !memchr(p, '"', (size_t)(newline - p)))
        return newline ? newline + 1 : NULL;
    for (;;) {
        p = rw_csv_field_at(p, end, separator).next;
        if (p >= end)
            return NULL;
        if (*p++ == '\n')
            return p;
    }
}

char rw_csv_separator(const char *p, const char *end)
{
    if (p < end && *p == '"')
        p = quoted_at(p, end, ',').end;
    while (p < end && *p != ',' && *p != '\t' && *p != '\n')
        p++;
    return p < end && *p == '\t' ? '\t' : ',';
}

size_t rw_csv_field_text(const struct rw_csv_field *field, char *to)
{
    char *begin = to;
    for (const char *p = field->begin; p < field->end; p++) {
        *to++ = *p;
        p += field->is_quoted && *p == '"'; /* of two, one */
    }
    *to = 0;
    return (size_t)(to - begin);
}

/* ---- values ---- */

static int is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Without blanks at either end. */
static struct rw_csv_field trimmed(const struct rw_csv_field *field)
{
    struct rw_csv_field inner = *field;
    while (inner.begin < inner.end && is_blank(*inner.begin))
        inner.begin++;
    while (inner.end > inner.begin && is_blank(inner.end[-1]))
        inner.end--;
    return inner;
}

static int is_word(const struct rw_csv_field *field, const char *word)
{
    const size_t n = (size_t)(field->end - field->begin);
    return n == strlen(word) && strncasecmp(field->begin, word, n) == 0;
}

int rw_csv_is_missing(const struct rw_csv_field *field)
{
    const struct rw_csv_field inner = trimmed(field);
    return inner.begin == inner.end || is_word(&inner, "NA") || is_word(&inner, "NaN");
}

int rw_csv_is_number(const struct rw_csv_field *field)
{
    const struct rw_csv_field inner = trimmed(field);
    double value;
    int clamped;
    return rw_number_parse_double(inner.begin, inner.end, &value, &clamped) == inner.end;
}

/* 1: a feature's value. */
static int value_of(const struct rw_csv_field *field, float *value, int *clamped)
{
    const struct rw_csv_field inner = trimmed(field);
    *clamped = 0;
    if (rw_csv_is_missing(&inner))
        *value = rw_float_of_bits(RW_MISSING_BITS);
    else if (is_word(&inner, "true") || is_word(&inner, "false"))
        *value = *inner.begin == 't' || *inner.begin == 'T' ? 1.0F : 0.0F;
    else
        return rw_number_parse(inner.begin, inner.end, value, clamped) == inner.end;
    return 1;
}

/* ---- what is wrong ---- */

static struct rw_text_found found_in(const struct rw_csv_field *field)
{
    return rw_text_found(field->begin, (size_t)(field->end - field->begin), "an empty field");
}

static const char *bad_value(struct rw_text_chunk *chunk, const char *record,
                             const struct rw_csv_field *field, uint32_t column)
{
    const struct rw_csv_layout *layout = chunk->text->layout;
    const struct rw_csv_field inner = trimmed(field);
    const char *hint = rw_text_value_hint(inner.begin, (size_t)(inner.end - inner.begin),
                                          "\nhint: a missing value is an empty field, NA or NaN");
    char name[64];
    if (layout->title)
        snprintf(name, sizeof(name), "column '%.40s'", layout->title[column]);
    else
        snprintf(name, sizeof(name), "column %u", column + 1);
    return rw_text_wrong(chunk, record, field->begin, "expected a number in %s, found %s%s", name,
                         found_in(field).text,
                         *hint ? hint : "\nhint: 'ignore' leaves columns out that are no numbers");
}

/* ---- records ---- */

/* What a record says besides its values. */
struct record {
    const char *begin;
    float label, more_label[RW_MAX_LABELS];
    double weight;
    const char *id, *id_at; /* the query's id: in the text, or in the worker's; where it stands */
    size_t id_bytes;
};

/* Each of these takes a field: where it ends; NULL if it is wrong. label: one of the record's. */
static const char *take_label(struct rw_text_chunk *chunk, const struct record *record,
                              const struct rw_csv_field *field, float *label, uint64_t *n_clamped)
{
    const struct rw_csv_field inner = trimmed(field);
    int clamped;
    if (rw_number_parse(inner.begin, inner.end, label, &clamped) != inner.end)
        return rw_text_wrong(chunk, record->begin, field->begin,
                             "expected a label (a number), found %s", found_in(field).text);
    if (*label < 0)
        return rw_text_wrong(chunk, record->begin, field->begin, RW_TEXT_NEGATIVE_LABEL,
                             found_in(field).text);
    *n_clamped += (uint64_t)clamped;
    return field->next;
}

static const char *take_weight(struct rw_text_chunk *chunk, struct record *record,
                               const struct rw_csv_field *field)
{
    const struct rw_csv_field inner = trimmed(field);
    int clamped;
    if (rw_number_parse_double(inner.begin, inner.end, &record->weight, &clamped) != inner.end ||
        record->weight < 0 || record->weight > RW_MAX_WEIGHT)
        return rw_text_wrong(chunk, record->begin, field->begin,
                             "expected a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT) ", found %s",
                             found_in(field).text);
    return field->next;
}

/* A field's text, "" in it as ", kept as the thread's `which`-th. 0: memory is short. */
static int unquote(struct rw_text_chunk *chunk, struct rw_text_worker *worker, int which,
                   const struct rw_csv_field *field, const char **text, size_t *n)
{
    *text = field->begin;
    *n = (size_t)(field->end - field->begin);
    if (!field->is_quoted || !memchr(*text, '"', *n))
        return 1;
    const int status =
        RW_GROW(NULL, worker->unquoted[which].text, worker->unquoted[which].room, *n + 1);
    if (status < 0) {
        rw_text_chunk_fail(chunk, status);
        return 0;
    }
    *text = worker->unquoted[which].text;
    *n = rw_csv_field_text(field, worker->unquoted[which].text);
    return 1;
}

static const char *take_query(struct rw_text_chunk *chunk, struct rw_text_worker *worker,
                              struct record *record, const struct rw_csv_field *field)
{
    const struct rw_csv_field inner = trimmed(field);
    const size_t n = (size_t)(inner.end - inner.begin);
    record->id_at = field->begin;
    if (n == 0)
        return rw_text_wrong(chunk, record->begin, field->begin, "expected a query's id, found %s",
                             found_in(field).text);
    for (const char *p = inner.begin; p < inner.end; p++) {
        if (*p == 0 || *p == '\t' || *p == '\n' || *p == '\r')
            return rw_text_wrong(
                chunk, record->begin, p,
                "expected a query's id without tabs, line ends and bytes 0, found %s",
                found_in(field).text);
    }
    return unquote(chunk, worker, 0, &inner, &record->id, &record->id_bytes) ? field->next : NULL;
}

/* A feature's word, as its number. */
static const char *take_word(struct rw_text_chunk *chunk, struct rw_text_worker *worker,
                             const struct record *record, const struct rw_csv_field *field,
                             float *value)
{
    const struct rw_csv_field inner = trimmed(field);
    size_t n = (size_t)(inner.end - inner.begin);
    const char *word;
    uint32_t number;
    *value = rw_float_of_bits(RW_MISSING_BITS);
    if (rw_csv_is_missing(&inner))
        return field->next;
    if (memchr(inner.begin, 0, n))
        return rw_text_wrong(chunk, record->begin, field->begin, "expected a word, found a byte 0");
    if (n > RW_MAX_WORD_BYTES)
        return rw_text_wrong(chunk, record->begin, field->begin,
                             "expected a word of at most %d bytes", RW_MAX_WORD_BYTES);
    if (!unquote(chunk, worker, 1, &inner, &word, &n))
        return NULL;
    const int status = rw_vocabulary_add(chunk->text->layout->vocabulary, word, n, &number);
    if (status == RW_ERR_DATA)
        return rw_text_wrong(chunk, record->begin, field->begin,
                             "expected at most %d different words", RW_MAX_WORDS);
    if (status < 0) {
        rw_text_chunk_fail(chunk, status);
        return NULL;
    }
    *value = (float)number;
    return field->next;
}

/* A plain number that ends its field; where it ends, or NULL. */
static inline const char *plain_number(const char *p, const char *end, char separator, float *value,
                                       uint64_t *n_clamped)
{
    int clamped;
    const char *q = rw_number_parse(p, end, value, &clamped);
    if (!q || (q < end && *q != separator && *q != '\n'))
        return NULL;
    *n_clamped += (uint64_t)clamped;
    return q;
}

/* The field of a column at p; where it ends, or NULL. */
static const char *take_field(struct rw_text_chunk *chunk, struct rw_text_worker *worker,
                              struct record *record, const char *p, uint32_t column)
{
    const struct rw_csv_layout *layout = chunk->text->layout;
    uint64_t *n_clamped = &worker->builder.n_clamped;
    const struct rw_csv_column *about = &layout->column[column];
    float *value = &worker->value[about->slot];
    int clamped = 0;
    if (about->role == RW_CSV_FEATURE && !about->is_word) {
        const char *q = plain_number(p, chunk->end, layout->separator, value, n_clamped);
        if (q)
            return q;
    }
    const struct rw_csv_field field = rw_csv_field_at(p, chunk->end, layout->separator);
    if (field.wrong) {
        const struct rw_csv_field rest = {.begin = field.wrong, .end = field.next};
        return rw_text_wrong(chunk, record->begin, field.wrong, "expected %s, found %s",
                             field.expected, field.found ? field.found : found_in(&rest).text);
    }
    if (about->role == RW_CSV_QUERY)
        return take_query(chunk, worker, record, &field);
    if (about->role == RW_CSV_FEATURE && about->is_word)
        return take_word(chunk, worker, record, &field, value);
    if (about->role == RW_CSV_FEATURE) {
        if (!value_of(&field, value, &clamped))
            return bad_value(chunk, record->begin, &field, column);
        *n_clamped += (uint64_t)clamped;
    }
    if (layout->no_label)
        return field.next;
    if (about->role == RW_CSV_LABEL)
        return take_label(chunk, record, &field, &record->label, n_clamped);
    if (about->role == RW_CSV_MORE_LABEL)
        return take_label(chunk, record, &field, &record->more_label[about->slot], n_clamped);
    return about->role == RW_CSV_WEIGHT ? take_weight(chunk, record, &field) : field.next;
}

static int add_doc(struct rw_text_chunk *chunk, struct rw_text_worker *worker,
                   const struct record *record)
{
    const struct rw_csv_layout *layout = chunk->text->layout;
    struct rw_builder *builder = &worker->builder;
    RW_TRY(
        rw_text_query(chunk, worker, record->begin, record->id_at, record->id, record->id_bytes));
    if (!isnan(record->weight))
        RW_TRY(rw_builder_weight(NULL, builder, record->weight));
    if (layout->n_more_labels)
        RW_TRY(rw_builder_more_labels(NULL, builder, record->more_label, layout->n_more_labels));
    RW_TRY(rw_builder_line(NULL, builder, chunk->n_lines));
    return rw_builder_doc(NULL, builder, record->label, layout->feature, worker->value,
                          layout->n_slots, NULL, 0);
}

/* Where the record at p ends; NULL if it is wrong. */
static const char *parse_record(struct rw_text_chunk *chunk, struct rw_text_worker *worker,
                                const char *p)
{
    const struct rw_csv_layout *layout = chunk->text->layout;
    struct record record = {
        .begin = p, .weight = (double)NAN, .id = "1", .id_bytes = 1, .id_at = p};
    const uint32_t n = layout->n_columns;
    const char *end = chunk->end;
    for (uint32_t c = 0;; c++) {
        p = take_field(chunk, worker, &record, p, c);
        if (!p)
            return NULL;
        const int is_last = p == end || *p == '\n';
        if (is_last != (c + 1 == n))
            return rw_text_wrong(chunk, record.begin, p,
                                 "expected %u fields, as the first line has, found %s", n,
                                 is_last ? "fewer" : "more");
        if (is_last)
            break;
        p++;
    }
    const int status = add_doc(chunk, worker, &record);
    if (status < 0) {
        rw_text_chunk_fail(chunk, status);
        return NULL;
    }
    return p < end ? p + 1 : p;
}

static uint64_t lines_in(const char *p, const char *end)
{
    uint64_t n = 0;
    while (p < end && (p = memchr(p, '\n', (size_t)(end - p))) != NULL) {
        n++;
        p++;
    }
    return n;
}

void rw_csv_chunk_parse(struct rw_text_chunk *chunk, struct rw_text_worker *worker)
{
    const char *p = chunk->begin;
    int status =
        RW_GROW(NULL, worker->value, worker->value_room, (size_t)chunk->text->layout->n_slots);
    while (status >= 0 && p < chunk->end) {
        const char *record = p;
        if (ends_line(p, chunk->end)) /* an empty line */
            p = p + (*p == '\r') < chunk->end ? p + (*p == '\r') + 1 : chunk->end;
        else
            p = parse_record(chunk, worker, p);
        if (!p)
            break;
        chunk->n_lines += lines_in(record, p);
    }
    if (status >= 0)
        status = rw_builder_pack(NULL, &worker->builder, &chunk->builder);
    if (status < 0)
        rw_text_chunk_fail(chunk, status);
}

/* ---- a kind of text ---- */

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
    text->layout->no_label = ctx->columns && ctx->columns->given.no_label;
    text->vocabulary = text->layout->vocabulary;
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

static const char *const endings[] = {".csv", ".tsv", NULL};
const struct rw_data_format rw_data_format_csv = {
    .name = "csv", .probe = probe, .endings = endings, .text = &rw_csv_text};
