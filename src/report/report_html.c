#include "report/report.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/utf8.h"

static void put_character(FILE *out, const unsigned char *c, int n)
{
    if (n == 0 || rw_utf8_is_control(c))
        fputs("\xef\xbf\xbd", out);
    else if (*c == '&')
        fputs("&amp;", out);
    else if (*c == '<')
        fputs("&lt;", out);
    else if (*c == '>')
        fputs("&gt;", out);
    else if (*c == '"')
        fputs("&quot;", out);
    else if (*c == '\'')
        fputs("&#39;", out);
    else
        fwrite(c, 1, (size_t)n, out);
}

/* Returns the bytes to advance by. n_bytes: 0 for what is no character. n_letters: 2 for what is
 * twice as wide, as most are from U+3000 on. */
static int next_character(const unsigned char *c, int *n_bytes, int *n_letters)
{
    *n_bytes = rw_utf8_bytes(c);
    *n_letters = *n_bytes >= 3 && *c >= 0xe3 ? 2 : 1;
    return *n_bytes ? *n_bytes : 1;
}

/* 1: all of it is there. breaks: lines may end after '_'. */
static int put_text(FILE *out, const char *text, int n, int breaks)
{
    const unsigned char *c = (const unsigned char *)text;
    int n_bytes, n_letters, n_all = 0, at = 0, n_cut = 0;
    for (; *c && n < INT_MAX; n_all += n_letters)
        c += next_character(c, &n_bytes, &n_letters);
    const int first = n_all <= n ? INT_MAX : n / 2, last = n_all - (n - 1 - n / 2);
    c = (const unsigned char *)text;
    for (int step; *c; c += step, at += n_letters) {
        step = next_character(c, &n_bytes, &n_letters);
        if (n_letters <= first - at || at >= last) {
            put_character(out, c, n_bytes);
            if (breaks && *c == '_')
                fputs("<wbr>", out);
        } else if (n_cut++ == 0) {
            fputs("\xe2\x80\xa6", out);
        }
    }
    return n_cut == 0;
}

void rw_html_text(FILE *out, const char *text)
{
    put_text(out, text, INT_MAX, 0);
}

void rw_html_text_in(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    rw_html_text(out, text);
    fputs(after, out);
}

int rw_html_name_cut(FILE *out, const char *text, int n)
{
    fputs("<bdi>", out);
    const int whole = put_text(out, text, n, 1);
    fputs("</bdi>", out);
    return whole;
}

void rw_html_name(FILE *out, const char *text)
{
    rw_html_name_cut(out, text, INT_MAX);
}

void rw_html_name_in(FILE *out, const char *before, const char *text, const char *after)
{
    fputs(before, out);
    rw_html_name(out, text);
    fputs(after, out);
}

const char *rw_html_figure(double value, char buffer[RW_HTML_ROOM])
{
    if (isnan(value))
        snprintf(buffer, RW_HTML_ROOM, "-");
    else
        snprintf(buffer, RW_HTML_ROOM, fabs(value) < 1e9 ? "%.6f" : "%.9g", value);
    return buffer;
}

const char *rw_html_float(float value, char buffer[RW_HTML_ROOM])
{
    buffer[rw_number_write(value == 0.0f ? 0.0f : value, buffer)] = 0;
    return buffer;
}

/* A size, or a label, which is a float. */
static void write_number(double value, char buffer[RW_HTML_ROOM])
{
    if (value == floor(value))
        snprintf(buffer, RW_HTML_ROOM, "%.10g", value);
    else
        rw_html_float((float)value, buffer);
}

const char *rw_html_range(double least, double most, char buffer[RW_HTML_ROOM])
{
    char end[RW_HTML_ROOM];
    write_number(least, buffer);
    write_number(most, end);
    if (least != most)
        snprintf(buffer + strlen(buffer), 20, "\xe2\x80\x93%.16s", end);
    return buffer;
}

const char *rw_html_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void rw_html_cell(FILE *out, double value)
{
    char figure[RW_HTML_ROOM];
    fprintf(out, "<td>%s</td>", rw_html_figure(value, figure));
}

void rw_html_count(FILE *out, uint64_t count)
{
    fprintf(out, "<td>%" PRIu64 "</td>", count);
}
