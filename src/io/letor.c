/* Reads LETOR text: label qid:ID feature:value ... # comment. An entry is one feature:value.
 *
 * On processors that support it, the fast path (letor_fast.c) parses most entries. It accepts only
 * text that is certainly valid, and leaves the rest to the careful path in this file, which thus
 * writes every message. */
#include "io/text.h"

#include <strings.h>

#include "base/system.h"
#include "dataset/categories.h"
#include "io/data_format.h"

static const char *word_end(const char *p, const char *end)
{
    while (p < end && !rw_is_blank(*p))
        p++;
    return p;
}

/* Returns the word at `p` for a message. */
static struct rw_text_found found_at(const char *p, const char *end)
{
    return rw_text_found(p, (size_t)(word_end(p, end) - p),
                         p == end ? "the end of the line" : "a blank");
}

static const char *label_hint(const char *p, const char *end)
{
    if (end - p > 4 && memcmp(p, "qid:", 4) == 0)
        return "\nhint: a line begins with the label, as in '1 qid:7 3:0.5'";
    const char *colon = memchr(p, ':', (size_t)(word_end(p, end) - p));
    float number;
    int clamped;
    if (colon && rw_number_parse(p, colon, &number, &clamped) == colon)
        return "\nhint: pass weights in a separate file (the parameter 'weights')";
    return rw_text_is_decimal_comma(p, (size_t)(word_end(p, end) - p)) ? RW_TEXT_COMMA_HINT : "";
}

static const char *query_hint(const char *p, const char *end)
{
    static const char *const names[] = {"qid", "query", "queryid", "query-id", "query_id", "group"};
    const char *stop = word_end(p, end), *mark = p;
    while (mark < stop && *mark != ':' && *mark != '=')
        mark++;
    for (size_t i = 0; mark < stop && i < sizeof(names) / sizeof(names[0]); i++) {
        if ((size_t)(mark - p) == strlen(names[i]) &&
            strncasecmp(p, names[i], (size_t)(mark - p)) == 0)
            return "\nhint: write 'qid:', as in '1 qid:7 3:0.5'";
    }
    return "";
}

static const char *entry_hint(const char *p, const char *end)
{
    const char *stop = word_end(p, end);
    const char *colon = memchr(p, ':', (size_t)(stop - p));
    const int is_named = colon && colon > p && (unsigned char)(*p - '0') > 9 && *p != '-';
    if (is_named)
        return "\nhint: features are numbered from 0 to " RW_TEXT(
            RW_MAX_FEATURE) "; pass their names in a separate file (the parameter 'names')";
    return !colon && stop > p && (unsigned char)(*p - '0') > 9
               ? "\nhint: comments, such as document ids, begin with '#'"
               : "";
}

static const char *parse_label(struct rw_text_chunk *chunk, const char *line, const char *p,
                               const char *end, float *label)
{
    int clamped;
    const char *q = rw_number_parse(p, end, label, &clamped);
    if (!q || (q < end && !rw_is_blank(*q)))
        return rw_text_wrong(chunk, line, p, "expected a label (a number), found %s%s",
                             found_at(p, end).text, label_hint(p, end));
    if (*label < 0)
        return rw_text_wrong(chunk, line, p, RW_TEXT_NEGATIVE_LABEL, found_at(p, end).text);
    chunk->worker->builder.n_clamped += (uint64_t)clamped;
    return q;
}

static const char *parse_query(struct rw_text_chunk *chunk, const char *line, const char *p,
                               const char *end, const char **id)
{
    if (end - p < 4 || memcmp(p, "qid:", 4) != 0)
        return rw_text_wrong(chunk, line, p, "expected 'qid:' and the query id, found %s%s",
                             found_at(p, end).text, query_hint(p, end));
    *id = p + 4;
    const char *q = word_end(*id, end);
    if (q == *id)
        return rw_text_wrong(chunk, line, *id, "expected the query id after 'qid:', found %s",
                             found_at(*id, end).text);
    return q;
}

static const char *bad_value(struct rw_text_chunk *chunk, const char *line, const char *p,
                             const char *end, uint32_t feature)
{
    return rw_text_wrong(
        chunk, line, p, "expected a number after '%u:', found %s%s", feature, found_at(p, end).text,
        rw_text_value_hint(
            p, (size_t)(word_end(p, end) - p),
            "\nhint: write 'nan' for a missing value; an omitted feature is 0, unless the parameter 'absent' is missing"));
}

/* Parses a category, a whole number or "nan". The number written without leading zeros is the word,
 * and the number of that word becomes the value. */
static const char *parse_category(struct rw_text_chunk *chunk, const char *line, const char *p,
                                  const char *end, uint32_t feature, float *value)
{
    char word[16];
    uint32_t number;
    uint64_t id = 0;
    const char *q = p;
    while (q < end && (unsigned char)(*q - '0') < 10 && id <= RW_MAX_CATEGORY_ID)
        id = id * 10 + (uint64_t)(*q++ - '0');
    const int is_nan = q == p && end - p >= 3 && strncasecmp(p, "nan", 3) == 0;
    if (is_nan)
        q = p + 3;
    if (q == p || id > RW_MAX_CATEGORY_ID || (q < end && !rw_is_blank(*q) && *q != '#'))
        return rw_text_wrong(
            chunk, line, p,
            "expected a category after '%u:', a whole number from 0 to %u, found %s", feature,
            RW_MAX_CATEGORY_ID, found_at(p, end).text);
    *value = rw_float_of_bits(RW_MISSING_BITS);
    if (is_nan)
        return q;
    const int n = snprintf(word, sizeof(word), "%llu", (unsigned long long)id);
    const int status = rw_vocabulary_add(chunk->text->vocabulary, word, (size_t)n, &number);
    if (status == RW_ERR_DATA)
        return rw_text_wrong(chunk, line, p, "expected at most %d different categories",
                             RW_MAX_WORDS);
    if (status < 0) {
        rw_text_chunk_fail(chunk, status);
        return NULL;
    }
    *value = (float)number;
    return q;
}

/* Parses feature:value. *last is the previous feature, -1 at first; set to this one. Returns the
 * end of the value, or NULL after an error. */
static inline const char *parse_entry(struct rw_text_chunk *chunk, const char *line, const char *p,
                                      const char *end, int32_t *last, float *value)
{
    uint32_t feature = 0;
    const char *q = p;
    while (q < end && (unsigned char)(*q - '0') < 10) {
        if (feature <= RW_MAX_FEATURE)
            feature = feature * 10 + (uint32_t)(*q - '0');
        q++;
    }
    if (q == p || q == end || *q != ':')
        return rw_text_wrong(chunk, line, p, "expected 'feature:value', found %s%s",
                             found_at(p, end).text, entry_hint(p, end));
    if (feature > RW_MAX_FEATURE)
        return rw_text_wrong(chunk, line, p, "expected a feature id from 0 to %d, found %s",
                             RW_MAX_FEATURE, found_at(p, end).text);
    if ((int32_t)feature <= *last)
        return rw_text_wrong(chunk, line, p,
                             (int32_t)feature == *last
                                 ? "expected each feature once, found %u a second time after %d"
                                 : "expected ascending feature ids, found %u after %d",
                             feature, *last);
    *last = (int32_t)feature;
    const char *text = ++q;
    int clamped;
    if (chunk->text->vocabulary && rw_vocabulary_has(chunk->text->vocabulary, feature))
        return parse_category(chunk, line, text, end, feature, value);
    q = rw_number_parse(text, end, value, &clamped);
    if (!q) {
        if (end - text < 3 || strncasecmp(text, "nan", 3) != 0)
            return bad_value(chunk, line, text, end, feature);
        q = text + 3;
        *value = rw_float_of_bits(RW_MISSING_BITS);
    }
    if (q < end && !rw_is_blank(*q) && *q != '#')
        return bad_value(chunk, line, text, end, feature);
    chunk->worker->builder.n_clamped += (uint64_t)clamped;
    return q;
}

/* Returns the query id, [*n], of the line [line, end), or NULL if it has no document or no valid
 * id.
 */
static const char *query_id(const char *line, const char *end, size_t *n)
{
    const char *p = rw_skip_blanks(line, end);
    if (p == end || *p == '#')
        return NULL;
    p = rw_skip_blanks(word_end(p, end), end);
    if (end - p < 4 || memcmp(p, "qid:", 4) != 0)
        return NULL;
    *n = (size_t)(word_end(p + 4, end) - (p + 4));
    return *n ? p + 4 : NULL;
}

static int has_nul(const char *begin, const char *end)
{
    return begin < end && memchr(begin, 0, (size_t)(end - begin)) != NULL;
}

static int make_room(struct rw_letor_entries *entries)
{
    size_t room[3] = {entries->room, entries->room, entries->room};
    const size_t n = entries->n + RW_LETOR_SPAN_ENTRIES;
    if (n <= entries->room)
        return RW_OK;
    RW_TRY(RW_GROW(NULL, entries->feature, room[0], n));
    RW_TRY(RW_GROW(NULL, entries->value, room[1], n));
    RW_TRY(RW_GROW(NULL, entries->text, room[2], n));
    memset(entries->text + entries->room, 0, (room[2] - entries->room) * sizeof(*entries->text));
    entries->room = room[2];
    return RW_OK;
}

/* A part of a line that need not be searched for a byte 0: the fast path has parsed it, or it is
 * skipped and another pass parses it. */
struct proven {
    const char *begin, *end;
};

/* Parses the entries from p on, up to the comment. Returns their end, or NULL after an error. */
static const char *parse_entries(struct rw_text_chunk *chunk, const char *line, const char *p,
                                 const char *end, struct proven *proven)
{
    enum { WORTH = 16 };
    struct rw_letor_entries *entries = &chunk->worker->entries;
    rw_letor_fast_fn fast = chunk->worker->fast;
    entries->n = 0;
    entries->last = -1;
    *proven = (struct proven){p, p};
    for (p = rw_skip_blanks(p, end); p < end && *p != '#'; p = rw_skip_blanks(p, end)) {
        const size_t n = entries->n;
        const int status = make_room(entries);
        if (status < 0) {
            rw_text_chunk_fail(chunk, status);
            return NULL;
        }
        if (fast) {
            const char *begin = p;
            p = fast(entries, p, end);
            if (n == 0)
                *proven = (struct proven){begin, p};
            if (entries->n - n < WORTH)
                fast = NULL; /* a line of a different style, on which further attempts would cost
                                more */
            if (entries->n > n)
                continue;
        }
        p = parse_entry(chunk, line, p, end, &entries->last, &entries->value[n]);
        if (!p)
            return NULL;
        entries->feature[n] = (uint16_t)entries->last;
        entries->text[n] = 0;
        entries->n = n + 1;
    }
    return p;
}

/* Ends the chunk because the file has changed since it was skimmed. */
static int changed(struct rw_text_chunk *chunk)
{
    chunk->status = RW_ERR_DATA;
    return chunk->status;
}

/* Adds a selected document: its label and entries to the thread's builder, and its row to
 * pick->row. */
static int add_picked(struct rw_text_chunk *chunk, float label)
{
    struct rw_builder *builder = &chunk->worker->builder;
    struct rw_text_pick *pick = &chunk->worker->pick;
    const struct rw_letor_entries *entries = &chunk->worker->entries;
    const uint32_t doc = pick->n_seen - 1;
    if (rw_bits_of_float(pick->label[doc]) != rw_bits_of_float(label))
        return changed(chunk);
    int status = RW_OK;
    if (builder->n_queries == 0)
        status = rw_builder_query(NULL, builder, "", 0);
    if (status < 0 || (status = rw_builder_doc(NULL, builder, label, entries->feature,
                                               entries->value, entries->n, NULL, 0)) < 0)
        return rw_text_chunk_fail(chunk, status);
    pick->row[builder->n_docs - 1] = doc;
    return RW_OK;
}

static int add_doc(struct rw_text_chunk *chunk, float label, const char *comment,
                   const char *comment_end)
{
    struct rw_builder *builder = &chunk->worker->builder;
    const struct rw_letor_entries *entries = &chunk->worker->entries;
    int status;
    if ((status = rw_builder_line(NULL, builder, chunk->n_lines)) < 0 ||
        (status = rw_builder_doc(NULL, builder, label, entries->feature, entries->value, entries->n,
                                 comment, (size_t)(comment_end - comment))) < 0)
        return rw_text_chunk_fail(chunk, status);
    return RW_OK;
}

/* Skips the entries, and returns where the comment begins: at the first '#' after the query. This
 * is right if the line is valid, which another pass checks. */
static const char *skip_entries(struct rw_text_chunk *chunk, const char *p, const char *end,
                                struct proven *proven)
{
    const char *comment = p < end ? memchr(p, '#', (size_t)(end - p)) : NULL;
    *proven = (struct proven){p, comment ? comment : end};
    chunk->worker->entries.n = 0;
    return proven->end;
}

/* Parses [line, end), a line without its newline. */
static int parse_fields(struct rw_text_chunk *chunk, const char *line, const char *end)
{
    struct rw_text_pick *pick = &chunk->worker->pick;
    const int is_picked = chunk->text->want == RW_TEXT_PICK;
    const char *p = rw_skip_blanks(line, end);
    if (p == end || *p == '#')
        return has_nul(p, end) ? RW_ERR_PARSE : RW_OK;
    if (is_picked && pick->n_seen == pick->n_docs)
        return changed(chunk);
    const uint32_t doc = is_picked ? pick->n_seen++ : 0;
    if (is_picked && (pick->in ? pick->in[doc] : 1) != pick->which)
        return RW_OK;
    float label;
    const char *id = NULL;
    struct proven proven;
    const uint64_t n_clamped = chunk->worker->builder.n_clamped;
    p = parse_label(chunk, line, p, end, &label);
    if (!p)
        return chunk->status;
    if (is_picked) /* skimming has already counted the label */
        chunk->worker->builder.n_clamped = n_clamped;
    p = parse_query(chunk, line, rw_skip_blanks(p, end), end, &id);
    if (!p)
        return chunk->status;
    const size_t id_bytes = (size_t)(p - id);
    p = chunk->text->want == RW_TEXT_SKIM ? skip_entries(chunk, p, end, &proven)
                                          : parse_entries(chunk, line, p, end, &proven);
    if (!p)
        return chunk->status;
    if (has_nul(line, proven.begin) || has_nul(proven.end, end))
        return RW_ERR_PARSE;
    if (is_picked)
        return add_picked(chunk, label);
    const char *comment = p < end ? rw_skip_blanks(p + 1, end) : end;
    while (end > comment && rw_is_blank(end[-1]))
        end--;
    const int status = rw_text_query(chunk, line, id, id, id_bytes);
    return status < 0 ? rw_text_chunk_fail(chunk, status) : add_doc(chunk, label, comment, end);
}

/* Recognises the kind of a file in which no document precedes this invalid line: by the first bytes
 * of the file, which may be those of a model, or by the line. If the file is read in blocks, later
 * bytes may have replaced the first ones. */
static struct rw_recognised kind_of(const struct rw_text *text, const char *line, const char *end)
{
    size_t n;
    const char *head = (const char *)rw_input_head(text->input, &n);
    const struct rw_recognised kind = rw_recognise_head(head, head + n);
    return kind.from || (kind.what && kind.hint && !kind.is_text) ? kind : rw_recognise(line, end);
}

/* Parses a line. A byte 0 takes precedence over any other error in it. */
static int parse_line(struct rw_text_chunk *chunk, const char *line, const char *end)
{
    const int status = parse_fields(chunk, line, end);
    if (status != RW_ERR_PARSE)
        return status;
    if (has_nul(line, end))
        rw_text_wrong(chunk, line, memchr(line, 0, (size_t)(end - line)),
                      "expected text, found a zero byte");
    if (chunk->worker->builder.n_docs == 0)
        chunk->kind = kind_of(chunk->text, line, end);
    return status;
}

static int parse_letor_lines(struct rw_text_chunk *chunk)
{
    struct rw_text_worker *worker = chunk->worker;
    const char *p = chunk->begin;
    while (p < chunk->end) {
        const char *newline = memchr(p, '\n', (size_t)(chunk->end - p));
        if (parse_line(chunk, p, newline ? newline : chunk->end) < 0)
            break;
        chunk->n_lines++;
        p = newline ? newline + 1 : chunk->end;
    }
    worker->builder.n_clamped += worker->entries.n_clamped;
    worker->entries.n_clamped = 0;
    return RW_OK;
}

/* ---- the kind of text ---- */

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
    RW_TRY(rw_columns_vocabulary(ctx, NULL, 0, &text->vocabulary));
    for (int i = 0; i < text->n_threads && !text->vocabulary; i++)
        text->worker[i].fast = rw_letor_fast(0);
    return RW_OK;
}

const struct rw_text_kind rw_letor_text = {.in_ranges = 1,
                                           .ready = ready,
                                           .line_end = line_end,
                                           .parse = parse_letor_lines,
                                           .open = open_text};

/* ---- queries ---- */

/* Searches the complete lines of [p, end) for a document whose query differs from *query. is_all:
 * the last line is complete even without a newline. If *query is NULL, it is first set to the first
 * document's query. Returns 1 and sets *at to the line, or returns 0 and sets *at to the start of
 * the incomplete line, or to `end`. */
static int other_query(struct rw_ctx *ctx, const char *p, const char *end, int is_all, char **query,
                       const char **at)
{
    size_t n;
    for (const char *stop; p < end; p = stop < end ? stop + 1 : end) {
        stop = memchr(p, '\n', (size_t)(end - p));
        if (!stop && !is_all)
            break;
        stop = stop ? stop : end;
        const char *id = query_id(p, stop, &n);
        *at = p;
        if (id && *query && (strlen(*query) != n || memcmp(*query, id, n) != 0))
            return 1;
        if (id && !*query) {
            RW_TRY(RW_NEW(ctx, *query, n + 1));
            memcpy(*query, id, n);
        }
    }
    *at = p;
    return 0;
}

/* Implements rw_divided.next_query. Returns 1 if a document is found. */
static int next_query(struct rw_ctx *ctx, struct rw_input *input, uint64_t at, char **query,
                      uint64_t *place)
{
    enum { WINDOW_BYTES = 1 << 16 };
    RW_FREED char *text = NULL;
    size_t room = 0, n = 0, got = 0;
    /* start of `text`: the byte before `at` shows whether a line begins at `at` */
    uint64_t begin = at ? at - 1 : 0;
    int found = 0;
    for (int is_all = 0, begins = at == 0; !found && !is_all;) {
        RW_TRY(RW_GROW(ctx, text, room, n + WINDOW_BYTES));
        const int why = rw_input_read_at(input, begin + n, text + n, room - n, &got);
        if (why)
            return rw_fail_io(ctx, why, "cannot read '%s'", rw_input_name(input));
        n += got;
        is_all = n < room;
        const char *line = begins ? text : memchr(text, '\n', n), *stop = text + n;
        if (line)
            found = other_query(ctx, begins ? line : line + 1, stop, is_all, query, &stop);
        begins |= line != NULL;
        begin += (uint64_t)(stop - text);
        n -= (size_t)(stop - text);
        memmove(text, stop, n);
    }
    *place = found ? begin : UINT64_MAX;
    return found;
}

static const struct rw_divided divided = {.next_query = next_query};

/* ---- the data format ---- */

const struct rw_data_format rw_data_format_letor = {
    .name = "letor", .text = &rw_letor_text, .divided = &divided};
