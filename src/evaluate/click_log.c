/* Reads click logs, CSV or TSV with a line per displayed document. Sessions, queries and documents
 * get numbers in order of arrival. Every check of the log is made here, before any estimation. */
#include "evaluate/click_log.h"

#include <stdlib.h>

#include "dataset/names.h"
#include "io/data_format.h"

enum { SESSION, QUERY, DOCUMENT, POSITION, CLICK, N_COLUMNS };
enum { MOST_FIELDS = 256 };
static const char *const column_name[] = {"session", "query", "document", "position", "click"};

struct reading {
    struct rw_ctx *ctx;
    struct rw_click_log *log;
    const char *const *paths;
    struct rw_line_reader lines;
    struct rw_query_ids sessions, queries, pairs; /* numbers of texts */
    int column[N_COLUMNS];                        /* index of the field; -1: missing */
    char separator;
    int file;
    char *text; /* room for texts */
    size_t text_room;
    char *key; /* [key_room] scratch: query and document */
    size_t key_room;
};

/* Copies a text. The copies share large blocks of memory. */
static int keep(struct reading *r, const char *text, size_t n, const char **out)
{
    enum { BLOCK = 1 << 20 };
    if (r->text_room < n + 1) {
        r->text_room = n + 1 > BLOCK ? n + 1 : BLOCK;
        RW_TRY(RW_ARENA_NEW(r->ctx, &r->log->arena, r->text, r->text_room));
    }
    memcpy(r->text, text, n);
    r->text[n] = 0;
    *out = r->text;
    r->text += n + 1;
    r->text_room -= n + 1;
    return RW_OK;
}

/* Sets *number to the number of a text. *kept: NULL if the text exists, else the new copy. */
static int number_of(struct reading *r, struct rw_query_ids *ids, const char *text, size_t n,
                     uint32_t *number, const char **kept)
{
    size_t index;
    *kept = NULL;
    if (!rw_query_ids_find(ids, text, n, &index)) {
        RW_TRY(keep(r, text, n, kept));
        RW_TRY(rw_query_ids_add(r->ctx, ids, *kept, &index));
        if (index >= UINT32_MAX - 1)
            return rw_fail(r->ctx, RW_ERR_DATA, "'%s': too many different documents",
                           r->lines.name);
    }
    *number = (uint32_t)index;
    return RW_OK;
}

/* ---- lines ---- */

/* Fails at the current line. */
__attribute__((format(printf, 2, 3))) static int bad(const struct reading *r, const char *format,
                                                     ...)
{
    char text[512];
    RW_FORMAT_ARGS(text, format);
    return rw_fail(r->ctx, RW_ERR_PARSE, "%s:%llu:1: %s", r->lines.name,
                   (unsigned long long)r->lines.number, text);
}

/* Takes the quoted field after the '"' at p, in place. Returns the byte after it, or NULL if its
 * end is wrong. */
static char *take_quoted(char *p, const char *end, char separator, struct rw_word *field)
{
    char *to = ++p;
    field->text = to;
    for (; p < end && (*p != '"' || (p + 1 < end && p[1] == '"')); p++) {
        p += *p == '"';
        *to++ = *p;
    }
    field->n = (size_t)(to - field->text);
    return p < end && (p + 1 == end || p[1] == separator) ? p + 1 : NULL;
}

/* Splits the current line. Returns the number of fields, or a status. */
static int split(const struct reading *r, struct rw_word field[MOST_FIELDS])
{
    char *p = r->lines.begin, *end = r->lines.end;
    int n = 0;
    end -= end > p && end[-1] == '\r';
    if (memchr(p, 0, (size_t)(end - p)))
        return bad(r, "expected text, found a zero byte");
    for (;; p++) {
        if (n == MOST_FIELDS)
            return bad(r, "expected at most %d columns", MOST_FIELDS);
        if (r->separator == ',' && p < end && *p == '"') {
            p = take_quoted(p, end, r->separator, &field[n++]);
            if (!p)
                return bad(r, "expected a '\"' that closes column %d", n);
        } else {
            char *stop = memchr(p, r->separator, (size_t)(end - p));
            stop = stop ? stop : end;
            field[n++] = (struct rw_word){p, (size_t)(stop - p)};
            p = stop;
        }
        if (p >= end)
            return n;
    }
}

/* Returns the whole number that the field is, or -1. */
static long whole(const struct rw_word *field)
{
    long value = 0;
    for (size_t i = 0; i < field->n; i++) {
        const unsigned digit = (unsigned char)field->text[i] - '0';
        if (digit > 9 || value > 100000000)
            return -1;
        value = 10 * value + (long)digit;
    }
    return field->n > 0 ? value : -1;
}

static int is_text(const struct rw_word *field, const char *text, size_t n)
{
    return field->n == n && memcmp(field->text, text, n) == 0;
}

/* ---- columns ---- */

/* Finds the columns in the first line of a file, which is a header if the fields of position and
 * click are not numbers. Returns 1 if it is a header. field: [n] */
static int find_columns(struct reading *r, const char *columns, const struct rw_word *field, int n)
{
    const int is_default = strcmp(columns, RW_JUDGE_COLUMNS) == 0;
    struct rw_word given[N_COLUMNS + 1];
    int n_given = 0, by_number = 1, any_number = 0;
    for (const char *p = columns; n_given <= N_COLUMNS; p++) {
        const size_t length = strcspn(p, ",");
        given[n_given++] = (struct rw_word){(char *)(uintptr_t)p, length};
        p += length;
        if (!*p)
            break;
    }
    for (int i = 0; i < n_given; i++)
        by_number &= whole(&given[i]) > 0;
    for (int i = 0; i < n; i++)
        any_number |= whole(&field[i]) >= 0;
    const int first = N_COLUMNS - n_given; /* 1: without a session column */
    if (first < 0 || first > 1)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                       "expected the columns " RW_JUDGE_COLUMNS ", found %d columns", n_given);
    r->column[SESSION] = -1;
    if (is_default && any_number) { /* no header: the columns in their order */
        if (n != N_COLUMNS && n != N_COLUMNS - 1)
            return bad(r, "expected the 5 columns " RW_JUDGE_COLUMNS ", found %d", n);
        for (int c = N_COLUMNS - n; c < N_COLUMNS; c++)
            r->column[c] = c - (N_COLUMNS - n);
        return 0;
    }
    for (int c = first; c < N_COLUMNS; c++) {
        const struct rw_word *name = &given[c - first];
        int at = 0;
        if (by_number)
            at = (int)whole(name) - 1;
        while (!by_number && at < n && !is_text(&field[at], name->text, name->n))
            at++;
        if (at >= n && !(is_default && c == SESSION))
            return bad(r, "no column '%.*s' (%s)", (int)name->n, name->text, column_name[c]);
        r->column[c] = at < n ? at : -1;
    }
    return !by_number || whole(&field[r->column[CLICK]]) < 0;
}

/* ---- rows ---- */

static int add_session(struct reading *r, const struct rw_word *name, uint32_t query,
                       uint32_t *session)
{
    struct rw_click_log *log = r->log;
    const char *kept;
    RW_TRY(number_of(r, &r->sessions, name->text, name->n, session, &kept));
    if (!kept && log->session_query[*session] != query)
        return bad(r, "session '%s' has two queries, '%s' and '%s'", log->session[*session],
                   log->query[log->session_query[*session]], log->query[query]);
    if (!kept)
        return RW_OK;
    log->n_sessions = *session + 1;
    RW_TRY(RW_ARENA_GROW(r->ctx, &log->arena, log->session, log->session_room, log->n_sessions));
    RW_TRY(RW_ARENA_GROW(r->ctx, &log->arena, log->session_query, log->session_query_room,
                         log->n_sessions));
    log->session[*session] = kept;
    log->session_query[*session] = query;
    return RW_OK;
}

/* Adds the query and its document. */
static int add_pair(struct reading *r, const struct rw_word *query, const struct rw_word *document,
                    uint32_t *query_number, uint32_t *pair)
{
    struct rw_click_log *log = r->log;
    const char *kept;
    RW_TRY(number_of(r, &r->queries, query->text, query->n, query_number, &kept));
    if (kept) {
        log->n_queries = *query_number + 1;
        RW_TRY(RW_ARENA_GROW(r->ctx, &log->arena, log->query, log->query_room, log->n_queries));
        log->query[*query_number] = kept;
    }
    const size_t n = query->n + 1 + document->n;
    RW_TRY(RW_ARENA_GROW(r->ctx, &log->arena, r->key, r->key_room, n));
    memcpy(r->key, query->text, query->n);
    r->key[query->n] = '\t'; /* no text contains it */
    memcpy(r->key + query->n + 1, document->text, document->n);
    RW_TRY(number_of(r, &r->pairs, r->key, n, pair, &kept));
    if (!kept)
        return RW_OK;
    log->n_pairs = *pair + 1;
    RW_TRY(RW_ARENA_GROW(r->ctx, &log->arena, log->pair, log->pair_room, log->n_pairs));
    log->pair[*pair] = (struct rw_click_pair){*query_number, kept + query->n + 1};
    return RW_OK;
}

/* Reads a line that is not a header. field: [n] */
static int read_row(struct reading *r, struct rw_word *field, int n)
{
    struct rw_click_log *log = r->log;
    struct rw_impression row = {.line = (uint32_t)r->lines.number, .file = (uint16_t)r->file};
    uint32_t query;
    for (int c = 0; c < N_COLUMNS; c++) {
        if (r->column[c] >= n)
            return bad(r, "expected a column %d (%s), found %d columns", r->column[c] + 1,
                       column_name[c], n);
        if (c >= POSITION || r->column[c] < 0)
            continue;
        const struct rw_word *text = &field[r->column[c]];
        if (text->n == 0 || memchr(text->text, '\t', text->n) || memchr(text->text, '\n', text->n))
            return bad(r, "expected a %s without tabs, found %s", column_name[c],
                       text->n ? "a tab" : "an empty column");
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
    RW_TRY(add_pair(r, &field[r->column[QUERY]], &field[r->column[DOCUMENT]], &query, &row.pair));
    if (log->has_sessions)
        RW_TRY(add_session(r, &field[r->column[SESSION]], query, &row.session));
    row.position = (uint16_t)position;
    row.click = (uint8_t)click;
    RW_TRY(RW_GROW(r->ctx, log->row, log->room, log->n + 1));
    log->row[log->n++] = row;
    return RW_OK;
}

static int read_file(struct reading *r, const char *columns, int needs_sessions)
{
    struct rw_word field[MOST_FIELDS];
    RW_TRY(rw_line_reader_open(r->ctx, r->paths[r->file], &r->lines));
    r->separator = 0;
    while (rw_line_reader_next(&r->lines)) {
        const int is_first = !r->separator;
        if (r->lines.begin == r->lines.end)
            return bad(r, "expected an impression, found an empty line");
        if (is_first)
            r->separator = strchr(r->lines.begin, '\t') ? '\t' : ',';
        const int n = split(r, field);
        RW_TRY(n);
        if (is_first) {
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
        if (r->lines.number >= UINT32_MAX)
            return bad(r, "expected fewer lines than 2^32");
        RW_TRY(rw_poll(r->ctx));
    }
    return RW_OK;
}

/* ---- checks of sessions ---- */

static int by_session(const void *a, const void *b)
{
    const struct rw_impression *x = a, *y = b;
    if (x->session != y->session)
        return x->session < y->session ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    if (x->file != y->file)
        return x->file < y->file ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

/* Fails as two rows of a session have the same `what`, such as "position 3". */
static int repeated(const struct reading *r, const struct rw_impression *a,
                    const struct rw_impression *b, const char *what)
{
    const int a_is_later = a->file > b->file || (a->file == b->file && a->line > b->line);
    const struct rw_impression *later = a_is_later ? a : b, *first = a_is_later ? b : a;
    return rw_fail(r->ctx, RW_ERR_DATA,
                   "%s:%u:1: session '%.300s' has %s twice; it is already in line %u of '%s'",
                   r->paths[later->file], later->line, r->log->session[b->session], what,
                   first->line, r->paths[first->file]);
}

static int check_sessions(const struct reading *r)
{
    const struct rw_click_log *log = r->log;
    size_t *last RW_FREED = NULL; /* [n_pairs] 1 + the last row of each pair; 0: none yet */
    RW_TRY(RW_NEW(r->ctx, last, log->n_pairs));
    for (size_t i = 0; i < log->n; i++) {
        const struct rw_impression *row = &log->row[i];
        const size_t before = last[row->pair];
        char what[400];
        snprintf(what, sizeof(what), "document '%.300s'", log->pair[row->pair].document);
        if (before && log->row[before - 1].session == row->session)
            return repeated(r, &log->row[before - 1], row, what);
        snprintf(what, sizeof(what), "position %d", row->position);
        if (i > 0 && row[-1].session == row->session && row[-1].position == row->position)
            return repeated(r, &row[-1], row, what);
        last[row->pair] = i + 1;
    }
    return RW_OK;
}

void rw_click_log_release(struct rw_click_log *log)
{
    rw_mem_free(log->row);
    rw_arena_free(&log->arena);
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
    if (status >= 0) {
        RW_SORT(out->row, out->n, by_session);
        status = out->has_sessions ? check_sessions(&r) : RW_OK;
    }
    rw_query_ids_release(&r.sessions);
    rw_query_ids_release(&r.queries);
    rw_query_ids_release(&r.pairs);
    return status;
}
