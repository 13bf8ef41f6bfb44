#include "report/report_html.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "io/format.h"

/* Bytes of the well-formed UTF-8 character that `c` begins with (RFC 3629: shortest form, no
 * surrogates, up to U+10FFFF); 0: none. */
static int character_bytes(const unsigned char *c)
{
    if (c[0] < 0x80)
        return 1;
    const int n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    for (int i = 1; i < n; i++) { /* the 0 at the end is no such byte */
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n;
}

/* Controls of C0 and C1. */
static int is_control(const unsigned char *c)
{
    return c[0] < 32 || c[0] == 127 || (c[0] == 0xc2 && c[1] < 0xa0);
}

static void put_character(FILE *out, const unsigned char *c, int n)
{
    if (n == 0 || is_control(c))
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

void rw_html_cut(FILE *out, const char *text, int n)
{
    const unsigned char *c = (const unsigned char *)text;
    for (int used = 0; *c;) {
        const int n_bytes = character_bytes(c);
        const unsigned char *next = c + (n_bytes ? n_bytes : 1);
        used += n_bytes >= 3 && *c >= 0xe3 ? 2 : 1; /* from U+3000 on most are twice as wide */
        if (used > n - (*next ? 1 : 0)) {
            fputs("\xe2\x80\xa6", out);
            break;
        }
        put_character(out, c, n_bytes);
        c = next;
    }
}

void rw_html_text(FILE *out, const char *text)
{
    rw_html_cut(out, text, INT_MAX);
}

void rw_html_name(FILE *out, const char *text)
{
    fputs("<bdi>", out);
    rw_html_text(out, text);
    fputs("</bdi>", out);
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

const char *rw_html_range(double least, double most, char buffer[RW_HTML_ROOM])
{
    if (least == most)
        snprintf(buffer, RW_HTML_ROOM, "%.10g", least);
    else
        snprintf(buffer, RW_HTML_ROOM, "%.10g\xe2\x80\x93%.10g", least, most);
    return buffer;
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
