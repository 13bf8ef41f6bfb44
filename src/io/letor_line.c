/* One chunk of LETOR lines: label qid:ID feature:value ... # comment. */
#include <stdarg.h>
#include <strings.h>

#include "base/mem.h"
#include "io/format.h"
#include "io/letor.h"

/* A carriage return is a blank, so lines may end with CR LF. */
static inline int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline const char *skip_blanks(const char *p, const char *end)
{
    while (p < end && is_blank(*p))
        p++;
    return p;
}

static const char *word_end(const char *p, const char *end)
{
    while (p < end && !is_blank(*p))
        p++;
    return p;
}

static int bad(struct rw_letor_chunk *chunk, const char *line, const char *at, const char *format,
               ...) __attribute__((format(printf, 4, 5)));

static int bad(struct rw_letor_chunk *chunk, const char *line, const char *at, const char *format,
               ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(chunk->error, sizeof(chunk->error), format, args);
    va_end(args);
    chunk->status = RW_ERR_PARSE;
    chunk->error_place.line = chunk->n_lines;
    chunk->error_place.column = (size_t)(at - line) + 1;
    return chunk->status;
}

static int no_memory(struct rw_letor_chunk *chunk, int status)
{
    snprintf(chunk->error, sizeof(chunk->error), "%s",
             status == RW_ERR_MEMORY ? "out of memory" : "too many documents");
    chunk->status = status;
    chunk->error_place.line = chunk->n_lines;
    chunk->error_place.column = 1;
    return status;
}

struct found {
    char text[64];
};

/* The word at `p` for a message: 'word', shortened, without control characters. */
static struct found found_at(const char *p, const char *end)
{
    enum { MOST = 40 };
    struct found found;
    const size_t n = (size_t)(word_end(p, end) - p);
    if (n == 0) {
        snprintf(found.text, sizeof(found.text), "%s",
                 p == end ? "the end of the line" : "a blank");
        return found;
    }
    char *to = found.text;
    *to++ = '\'';
    for (size_t i = 0; i < n && i < MOST; i++)
        *to++ = (unsigned char)p[i] < 32 || p[i] == 127 ? '?' : p[i];
    snprintf(to, 8, "%s'", n > MOST ? "..." : "");
    return found;
}

static const char *parse_label(struct rw_letor_chunk *chunk, const char *line, const char *p,
                               const char *end, float *label)
{
    int clamped;
    const char *q = rw_number_parse(p, end, label, &clamped);
    if (!q || (q < end && !is_blank(*q))) {
        bad(chunk, line, p, "expected a label (a number), found %s", found_at(p, end).text);
        return NULL;
    }
    if (*label < 0) {
        bad(chunk, line, p,
            "expected a label of 0 or more, found %s\n"
            "hint: -1 means 'not judged' in some sets; leave such documents out",
            found_at(p, end).text);
        return NULL;
    }
    chunk->builder.n_clamped += (uint64_t)clamped;
    return q;
}

static const char *parse_query(struct rw_letor_chunk *chunk, const char *line, const char *p,
                               const char *end, const char **id)
{
    if (end - p < 4 || memcmp(p, "qid:", 4) != 0) {
        bad(chunk, line, p, "expected 'qid:' and the query's id, found %s", found_at(p, end).text);
        return NULL;
    }
    *id = p + 4;
    const char *q = word_end(*id, end);
    if (q == *id) {
        bad(chunk, line, *id, "expected the query's id after 'qid:', found %s",
            found_at(*id, end).text);
        return NULL;
    }
    return q;
}

static const char *bad_value(struct rw_letor_chunk *chunk, const char *line, const char *p,
                             const char *end, uint32_t feature)
{
    const char *hint = "";
    if (end - p >= 4 && strncasecmp(p, "null", 4) == 0)
        hint = "\nhint: a missing value is written 'nan', or left out with its feature";
    bad(chunk, line, p, "expected a number after '%u:', found %s%s", feature, found_at(p, end).text,
        hint);
    return NULL;
}

/* feature:value; *last is the feature before, -1 at first. */
static inline const char *parse_entry(struct rw_letor_chunk *chunk, const char *line, const char *p,
                                      const char *end, int32_t *last, float *value)
{
    uint32_t feature = 0;
    const char *q = p;
    while (q < end && (unsigned char)(*q - '0') < 10) {
        if (feature <= RW_MAX_FEATURE)
            feature = feature * 10 + (uint32_t)(*q - '0');
        q++;
    }
    if (q == p || q == end || *q != ':') {
        bad(chunk, line, p, "expected 'feature:value', found %s", found_at(p, end).text);
        return NULL;
    }
    if (feature > RW_MAX_FEATURE) {
        bad(chunk, line, p, "expected a feature id from 0 to %d, found %s", RW_MAX_FEATURE,
            found_at(p, end).text);
        return NULL;
    }
    if ((int32_t)feature <= *last) {
        bad(chunk, line, p,
            (int32_t)feature == *last ? "expected each feature once, found %u after %d"
                                      : "expected ascending feature ids, found %u after %d",
            feature, *last);
        return NULL;
    }
    *last = (int32_t)feature;
    const char *text = ++q;
    int clamped;
    q = rw_number_parse(text, end, value, &clamped);
    if (!q) {
        if (end - text < 3 || strncasecmp(text, "nan", 3) != 0)
            return bad_value(chunk, line, text, end, feature);
        q = text + 3;
        *value = rw_float_of_bits(RW_MISSING_BITS);
    }
    if (q < end && !is_blank(*q) && *q != '#')
        return bad_value(chunk, line, text, end, feature);
    chunk->builder.n_clamped += (uint64_t)clamped;
    return q;
}

static int begins_query(const struct rw_builder *builder, const char *id, size_t n)
{
    if (builder->n_queries == 0)
        return 1;
    const char *last = builder->query_id_text + builder->query_id_offset[builder->n_queries - 1];
    const size_t last_n =
        (size_t)(builder->query_id_bytes - builder->query_id_offset[builder->n_queries - 1] - 1);
    return n != last_n || memcmp(id, last, n) != 0;
}

static int add_query(struct rw_letor_chunk *chunk, const char *line, const char *id, size_t n)
{
    const uint32_t q = chunk->builder.n_queries;
    if (!begins_query(&chunk->builder, id, n))
        return RW_OK;
    RW_TRY(RW_GROW(NULL, chunk->query_place, chunk->query_place_room, (size_t)q + 1));
    chunk->query_place[q].line = chunk->n_lines;
    chunk->query_place[q].column = (size_t)(id - line) + 1;
    return rw_builder_query(NULL, &chunk->builder, id, n);
}

/* [line, end): without its newline. */
static int parse_line(struct rw_letor_chunk *chunk, const char *line, const char *end)
{
    if (chunk->has_nul) {
        const char *nul = memchr(line, 0, (size_t)(end - line));
        if (nul)
            return bad(chunk, line, nul, "expected text, found a byte 0");
    }
    const char *p = skip_blanks(line, end);
    if (p == end || *p == '#')
        return RW_OK;
    float label;
    const char *id;
    p = parse_label(chunk, line, p, end, &label);
    if (!p)
        return chunk->status;
    p = parse_query(chunk, line, skip_blanks(p, end), end, &id);
    if (!p)
        return chunk->status;
    const size_t id_bytes = (size_t)(p - id);
    size_t n = 0;
    int32_t last = -1;
    int status;
    for (p = skip_blanks(p, end); p < end && *p != '#'; p = skip_blanks(p, end)) {
        if (n == chunk->feature_room || n == chunk->value_room) {
            if ((status = RW_GROW(NULL, chunk->feature, chunk->feature_room, n + 256)) < 0 ||
                (status = RW_GROW(NULL, chunk->value, chunk->value_room, n + 256)) < 0)
                return no_memory(chunk, status);
        }
        p = parse_entry(chunk, line, p, end, &last, &chunk->value[n]);
        if (!p)
            return chunk->status;
        chunk->feature[n++] = (uint16_t)last;
    }
    const char *comment = p < end ? skip_blanks(p + 1, end) : end;
    while (end > comment && is_blank(end[-1]))
        end--;
    if ((status = add_query(chunk, line, id, id_bytes)) < 0 ||
        (status = rw_builder_line(NULL, &chunk->builder, chunk->n_lines)) < 0 ||
        (status = rw_builder_doc(NULL, &chunk->builder, label, chunk->feature, chunk->value, n,
                                 comment, (size_t)(end - comment))) < 0)
        return no_memory(chunk, status);
    return RW_OK;
}

void rw_letor_chunk_parse(struct rw_letor_chunk *chunk)
{
    const char *p = chunk->begin;
    chunk->has_nul = p < chunk->end && memchr(p, 0, (size_t)(chunk->end - p)) != NULL;
    while (p < chunk->end) {
        const char *newline = memchr(p, '\n', (size_t)(chunk->end - p));
        if (parse_line(chunk, p, newline ? newline : chunk->end) < 0)
            return;
        chunk->n_lines++;
        p = newline ? newline + 1 : chunk->end;
    }
}

void rw_letor_chunk_release(struct rw_letor_chunk *chunk)
{
    rw_builder_release(&chunk->builder);
    rw_mem_free(chunk->query_place);
    rw_mem_free(chunk->feature);
    rw_mem_free(chunk->value);
    memset(chunk, 0, sizeof(*chunk));
}
