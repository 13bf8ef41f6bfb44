/* Reads click logs, CSV or TSV with a line per displayed document. Sessions, queries and documents
 * get numbers in order of arrival. Every check of the log is made here, before any estimation. */
#include "evaluate/click_log.h"

#include <stdlib.h>

#include "io/csv_field.h"
#include "io/data_format.h"
#include "io/text.h"

enum { SESSION, QUERY, DOCUMENT, POSITION, CLICK, N_COLUMNS };
enum { MOST_FIELDS = 256 };
static const char *const column_name[] = {"session", "query", "document", "position", "click"};

struct reading {
    struct rw_ctx *ctx;
    struct rw_click_log *log;
    const char *const *paths;
    struct rw_line_reader lines;
    uint64_t n_lines;      /* number of lines before the next record */
    int column[N_COLUMNS]; /* index of the field; -1: missing */
    char separator;
    int file;
    char *key; /* [key_room] scratch: query and document */
    size_t key_room;
};

/* ---- records ---- */

/* Fails at the current line. */
__attribute__((format(printf, 2, 3))) static int bad(const struct reading *r, const char *format,
                                                     ...)
{
    char text[512];
    RW_FORMAT_ARGS(text, format);
    return rw_fail(r->ctx, RW_ERR_PARSE, "%s:%llu:1: %s", r->lines.name,
                   (unsigned long long)r->lines.number, text);
}

/* Splits the next record into fields, without quotes around them. Returns their number, or a
 * status. */
static int next_record(struct reading *r, struct rw_word field[MOST_FIELDS])
{
    struct rw_line_reader *lines = &r->lines;
    const char *end = lines->text_end;
    struct rw_csv_field part;
    int n = 0;
    lines->begin = lines->next;
    lines->number = r->n_lines + 1;
    if (rw_csv_ends_line(lines->begin, end))
        return bad(r, "expected an impression, found an empty line");
    do {
        part = rw_csv_field_at(lines->next, end, r->separator);
        if (n == MOST_FIELDS)
            return bad(r, "expected at most %d columns", MOST_FIELDS);
        if (part.wrong)
            return bad(r, "expected %s, in column %d", part.expected, n + 1);
        if (memchr(part.begin, 0, (size_t)(part.end - part.begin)))
            return bad(r, "expected text, found a zero byte in column %d", n + 1);
        lines->next += part.next - lines->next + (part.next < end);
        struct rw_word *word = &field[n++];
        *word = (struct rw_word){lines->text + (part.begin - lines->text),
                                 (size_t)(part.end - part.begin)};
        if (part.is_quoted)
            word->n = rw_csv_field_text(&part, word->text);
    } while (part.next < end && *part.next == r->separator);
    r->n_lines += rw_text_newlines(lines->begin, (size_t)(lines->next - lines->begin));
    return n;
}

/* Returns the whole number that the field is, or -1. */
static long whole(const struct rw_word *field)
{
    uint64_t value;
    const char *end = rw_number_digits(field->text, 1000000009, &value);
    return end == field->text + field->n ? (long)value : -1;
}

/* ---- columns ---- */

static int no_column(const struct reading *r, const struct rw_word *name, int column,
                     int is_default, const struct rw_word *field, int n)
{
    char names[480];
    size_t length = 0;
    for (int i = 0; i < n && i < 8; i++)
        length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s", i ? ", " : "",
                                   rw_text_found(field[i].text, field[i].n, "''").text);
    return bad(r, "no column %s%s%s; the columns are %s%s",
               rw_text_found(name->text, name->n, "''").text, is_default ? "" : " for the ",
               is_default ? "" : column_name[column], names, n > 8 ? ", ..." : "");
}

/* Finds the columns by the first record of a file. Returns 1 if it is a header. The default columns
 * have one unless a field is a number, columns given by number unless the click is a number. field:
 * [n] */
static int find_columns(struct reading *r, const char *columns, const struct rw_word *field, int n)
{
    const int is_default = strcmp(columns, RW_JUDGE_COLUMNS) == 0;
    struct rw_word given[N_COLUMNS];
    int n_given = 0, by_number = 1, has_header = 1;
    for (const char *p = columns; n_given < N_COLUMNS; p++) { /* rw_judge_check counts them */
        const size_t length = strcspn(p, ",");
        given[n_given] = (struct rw_word){(char *)(uintptr_t)p, length};
        by_number &= whole(&given[n_given++]) > 0;
        p += length;
        if (!*p)
            break;
    }
    for (int i = 0; i < n && is_default; i++)
        has_header &= whole(&field[i]) < 0;
    const int first = N_COLUMNS - (has_header ? n_given : n); /* 1: without a session column */
    if (first < 0 || first > 1)
        return bad(r, "expected the 5 columns " RW_JUDGE_COLUMNS ", found %d", n);
    r->column[SESSION] = -1;
    for (int c = first; c < N_COLUMNS; c++) {
        const struct rw_word *name = &given[c - first];
        int at = has_header ? -1 : c - first;
        if (by_number)
            at = (int)whole(name) - 1;
        for (int i = 0; i < n && has_header && !by_number; i++) {
            if (field[i].n != name->n || memcmp(field[i].text, name->text, name->n) != 0)
                continue;
            if (at >= 0)
                return bad(r, "two columns have the name %s",
                           rw_text_found(name->text, name->n, "''").text);
            at = i;
        }
        if (at >= n || (at < 0 && !(is_default && c == SESSION)))
            return no_column(r, name, c, is_default, field, n);
        r->column[c] = at;
    }
    return by_number ? whole(&field[r->column[CLICK]]) < 0 : has_header;
}

/* ---- rows ---- */

/* Sets *number to the number of a text, and returns 1 if it is new. */
static int number_of(const struct reading *r, struct rw_text_set *texts, const char *text, size_t n,
                     uint32_t *number)
{
    const size_t was = texts->ids.n;
    size_t index = 0;
    if (was >= UINT32_MAX - 1)
        return rw_fail(r->ctx, RW_ERR_DATA, "'%s': too many different documents", r->lines.name);
    RW_TRY(rw_text_set_add(r->ctx, texts, text, n, &index));
    *number = (uint32_t)index;
    return index == was;
}

/* Adds a document of a query, and sets the number of the pair. */
static int add_pair(struct reading *r, const struct rw_word *query, const struct rw_word *document,
                    uint32_t *pair)
{
    struct rw_click_log *log = r->log;
    uint32_t query_number;
    RW_TRY(number_of(r, &log->query, query->text, query->n, &query_number));
    const size_t n_query = query->n + 1, n = n_query + document->n;
    RW_TRY(RW_GROW(r->ctx, r->key, r->key_room, n));
    memcpy(r->key, query->text, query->n);
    r->key[query->n] = '\t'; /* no text contains it */
    memcpy(r->key + n_query, document->text, document->n);
    const int is_new = number_of(r, &log->pair_text, r->key, n, pair);
    if (is_new <= 0)
        return is_new;
    RW_TRY(RW_GROW(r->ctx, log->pair, log->pair_room, (size_t)*pair + 1));
    log->pair[*pair] = (struct rw_click_pair){query_number, log->pair_text.text[*pair] + n_query};
    return RW_OK;
}

/* Fails unless the field is a text that the labels can represent. */
static int check_text(const struct reading *r, const struct rw_word *field, int column)
{
    if (field->n == 0)
        return bad(r, "expected a %s, found an empty column", column_name[column]);
    for (size_t i = 0; i < field->n; i++) {
        if (field->text[i] == '\t' || field->text[i] == '\n' || field->text[i] == '\r')
            return bad(r, "expected a %s without tabs and line ends", column_name[column]);
    }
    return RW_OK;
}

/* Reads a record that is not a header. field: [n] */
static int read_row(struct reading *r, const struct rw_word *field, int n)
{
    struct rw_click_log *log = r->log;
    struct rw_impression row = {.line = (uint32_t)r->lines.number, .file = (uint16_t)r->file};
    for (int c = 0; c < N_COLUMNS; c++) {
        if (r->column[c] >= n)
            return bad(r, "expected a column %d (%s), found %d columns", r->column[c] + 1,
                       column_name[c], n);
        if (c < POSITION && r->column[c] >= 0)
            RW_TRY(check_text(r, &field[r->column[c]], c));
    }
    const struct rw_word *place = &field[r->column[POSITION]], *clicked = &field[r->column[CLICK]];
    const long position = whole(place), click = whole(clicked);
    if (click != 0 && click != 1)
        return rw_line_wrong(r->ctx, &r->lines, clicked, "a click, 0 or 1");
    if (click == 1 && (place->n == 0 || position == 0))
        return bad(r, "click without an impression: its document has no displayed position");
    if (position < 1 || position > RW_MAX_POSITION)
        return rw_line_wrong(r->ctx, &r->lines, place,
                             "a displayed position, 1 to " RW_TEXT(RW_MAX_POSITION));
    RW_TRY(add_pair(r, &field[r->column[QUERY]], &field[r->column[DOCUMENT]], &row.pair));
    if (log->has_sessions) {
        const struct rw_word *session = &field[r->column[SESSION]];
        RW_TRY(number_of(r, &log->session, session->text, session->n, &row.session));
    }
    row.position = (uint16_t)position;
    row.click = (uint8_t)click;
    RW_TRY(RW_GROW(r->ctx, log->row, log->room, log->n + 1));
    log->row[log->n++] = row;
    return RW_OK;
}

static int read_file(struct reading *r, const char *columns, int needs_sessions)
{
    struct rw_word field[MOST_FIELDS];
    struct rw_line_reader *lines = &r->lines;
    const size_t n_before = r->log->n;
    RW_TRY(rw_line_reader_open(r->ctx, r->paths[r->file], lines));
    lines->next += rw_csv_mark(lines->next, lines->text_end);
    /* Queries often contain commas, and no text may contain a tab. */
    const size_t first = strcspn(lines->next, "\t\n");
    r->separator = lines->next[first] == '\t' ? '\t' : ',';
    r->n_lines = 0;
    while (lines->next < lines->text_end) {
        const int n = next_record(r, field);
        RW_TRY(n);
        if (lines->number == 1) {
            const int is_header = find_columns(r, columns, field, n);
            RW_TRY(is_header);
            const int has_sessions = r->column[SESSION] >= 0;
            if (needs_sessions && !has_sessions)
                return bad(r, "no column 'session', which the cascade model needs");
            if (r->file > 0 && has_sessions != r->log->has_sessions)
                return bad(r, "only some of the files have sessions");
            r->log->has_sessions = has_sessions;
            if (is_header)
                continue;
        }
        RW_TRY(read_row(r, field, n));
        if (lines->number >= UINT32_MAX)
            return bad(r, "expected fewer lines than 2^32");
        RW_TRY(rw_poll(r->ctx));
    }
    if (r->log->n == n_before)
        return rw_fail(r->ctx, RW_ERR_DATA, "'%s' has no impressions", r->paths[r->file]);
    return RW_OK;
}

/* ---- checks of sessions ---- */

static int is_later(const struct rw_impression *a, const struct rw_impression *b)
{
    return a->file != b->file ? a->file > b->file : a->line > b->line;
}

static int by_session(const void *a, const void *b)
{
    const struct rw_impression *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return is_later(x, y) - is_later(y, x);
}

/* Fails as two rows of a session have the same thing, such as "position 3". */
__attribute__((format(printf, 4, 5))) static int repeated(const struct reading *r,
                                                          const struct rw_impression *a,
                                                          const struct rw_impression *b,
                                                          const char *format, ...)
{
    const struct rw_impression *later = is_later(a, b) ? a : b, *first = later == a ? b : a;
    char what[400];
    RW_FORMAT_ARGS(what, format);
    return rw_fail(r->ctx, RW_ERR_DATA,
                   "%s:%u:1: session '%.300s' has %s twice; it is already in line %u of '%s'",
                   r->paths[later->file], later->line, r->log->session.text[b->session], what,
                   first->line, r->paths[first->file]);
}

static int check_sessions(const struct reading *r)
{
    const struct rw_click_log *log = r->log;
    size_t *last RW_FREED = NULL; /* [n_pairs] 1 + the last row of each pair; 0: none yet */
    RW_TRY(RW_NEW(r->ctx, last, log->n_pairs));
    for (size_t i = 0; i < log->n; i++) {
        const struct rw_impression *row = &log->row[i];
        const struct rw_click_pair *pair = &log->pair[row->pair];
        const size_t before = last[row->pair];
        last[row->pair] = i + 1;
        if (before && log->row[before - 1].session == row->session)
            return repeated(r, &log->row[before - 1], row, "document '%.300s'", pair->document);
        if (i == 0 || row[-1].session != row->session)
            continue;
        if (row[-1].position == row->position)
            return repeated(r, &row[-1], row, "position %d", row->position);
        const uint32_t query = log->pair[row[-1].pair].query;
        if (query != pair->query)
            return rw_fail(r->ctx, RW_ERR_DATA,
                           "%s:%u:1: session '%.300s' has two queries, '%.300s' and '%.300s'",
                           r->paths[row->file], row->line, log->session.text[row->session],
                           log->query.text[query], log->query.text[pair->query]);
    }
    return RW_OK;
}

void rw_click_log_release(void *of)
{
    struct rw_click_log *log = of;
    rw_mem_free(log->row);
    rw_mem_free(log->pair);
    rw_text_set_release(&log->session);
    rw_text_set_release(&log->query);
    rw_text_set_release(&log->pair_text);
}

int rw_click_log_read(struct rw_ctx *ctx, const char *columns, int needs_sessions,
                      const char *const *paths, int n_paths, struct rw_click_log *out)
{
    struct reading r = {.ctx = ctx, .log = out, .paths = paths};
    int status = RW_OK;
    *out = (struct rw_click_log){.n = 0};
    for (; status >= 0 && r.file < n_paths; r.file++) {
        status = read_file(&r, columns, needs_sessions);
        rw_line_reader_close(&r.lines);
        r.lines = (struct rw_line_reader){.number = 0};
    }
    rw_mem_free(r.key);
    out->n_sessions = (uint32_t)out->session.ids.n;
    out->n_queries = (uint32_t)out->query.ids.n;
    out->n_pairs = (uint32_t)out->pair_text.ids.n;
    RW_TRY(status);
    RW_SORT(out->row, out->n, by_session);
    return out->has_sessions ? check_sessions(&r) : RW_OK;
}
