/* Implements csv_field.h. */
#include "io/csv_field.h"

#include <string.h>

static const char *field_end(const char *p, const char *end, char separator)
{
    while (p < end && *p != separator && *p != '\n')
        p++;
    return p;
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
        field.expected = "a '\"' that closes the field";
        field.found = "none";
        return field;
    }
    field.end = quote++;
    if (rw_csv_ends_line(quote, end)) {
        field.next = quote + (quote < end && *quote == '\r');
    } else {
        field.next = field_end(quote, end, separator);
        if (field.next != quote) {
            field.wrong = quote;
            field.expected = "the end of the field after its closing '\"'";
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
    if (field.end > p && field.end[-1] == '\r' && rw_csv_ends_line(field.end, end))
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

size_t rw_csv_mark(const char *p, const char *end)
{
    return end - p >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
}

size_t rw_csv_field_text(const struct rw_csv_field *field, char *to)
{
    char *begin = to;
    for (const char *p = field->begin; p < field->end; p++) {
        *to++ = *p;
        p += field->is_quoted && *p == '"'; /* skip the second of two quotes */
    }
    *to = 0;
    return (size_t)(to - begin);
}

struct rw_csv_field rw_csv_trimmed(const struct rw_csv_field *field)
{
    struct rw_csv_field inner = *field;
    while (inner.begin < inner.end && (*inner.begin == ' ' || *inner.begin == '\t'))
        inner.begin++;
    while (inner.end > inner.begin && (inner.end[-1] == ' ' || inner.end[-1] == '\t'))
        inner.end--;
    return inner;
}
