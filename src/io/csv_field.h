/* Fields and records of CSV and TSV, for data files (csv.c) and click logs: fields separated by
 * commas or tabs, quoted or not, according to RFC 4180. A quote within a field that does not begin
 * with a quote is an ordinary character. Positions p are before `end`, or equal to it. */
#pragma once

#include <stddef.h>

struct rw_csv_field {
    const char *begin, *end; /* without surrounding quotes */
    int is_quoted;
    const char *next;             /* the separator, the end of the line, or the end of the text */
    const char *wrong;            /* position of an error, or NULL */
    const char *expected, *found; /* for the message; found NULL: the text from `wrong` to `next` */
};

/* Returns 1 if a line ends at p: with a newline, CR and newline, or the end of the text. */
static inline int rw_csv_ends_line(const char *p, const char *end)
{
    return p == end || *p == '\n' || (*p == '\r' && (p + 1 == end || p[1] == '\n'));
}
/* Returns the field that begins at p. */
struct rw_csv_field rw_csv_field_at(const char *p, const char *end, char separator);
/* Returns the end of the record at p, after its newline, or NULL if it is incomplete. */
const char *rw_csv_record_end(const char *p, const char *end, char separator);
/* Detects the separator: a tab if one follows the first field, otherwise a comma. */
char rw_csv_separator(const char *p, const char *end);
/* Returns the length of the byte order mark at p, or 0. */
size_t rw_csv_mark(const char *p, const char *end);
/* Copies the field's text with "" as ", and a 0. to: [end - begin + 1]; the text of a quoted field
 * may be replaced in place. Returns its length. */
size_t rw_csv_field_text(const struct rw_csv_field *field, char *to);
/* Removes blanks at both ends. */
struct rw_csv_field rw_csv_trimmed(const struct rw_csv_field *field);
