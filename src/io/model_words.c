#include "io/model_words.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

/* What stands at the reader's place, up to a blank, as a person can read it. */
static void describe(const struct rw_words *r, char *buffer, size_t size)
{
    if (r->at == r->end) {
        snprintf(buffer, size, "%s", r->after);
        return;
    }
    if (*r->at == '\n') {
        snprintf(buffer, size, "the end of the line");
        return;
    }
    size_t n = 0;
    buffer[n++] = '\'';
    for (const char *c = r->at; n + 8 < size && c < r->end && *c != '\n'; c++) {
        if (*c == ' ' && c > r->at)
            break;
        if (*c >= 32 && *c < 127)
            buffer[n++] = *c;
        else
            n += (size_t)snprintf(buffer + n, 5, "\\x%02x", (unsigned)(unsigned char)*c);
    }
    buffer[n++] = '\'';
    buffer[n] = 0;
}

int rw_words_fail(struct rw_words *r, const char *expected)
{
    char found[48];
    describe(r, found, sizeof(found));
    return rw_fail(r->ctx, RW_ERR_FORMAT, "%s:%u:%zu: expected %s, found %s", r->path, r->line,
                   (size_t)(r->at - r->line_begin) + 1, expected, found);
}

static int starts(const struct rw_words *r, const char *text)
{
    const size_t n = strlen(text);
    return (size_t)(r->end - r->at) >= n && memcmp(r->at, text, n) == 0;
}

int rw_words_accept(struct rw_words *r, const char *text)
{
    if (!starts(r, text))
        return 0;
    r->at += strlen(text);
    return 1;
}

int rw_words_take(struct rw_words *r, const char *text)
{
    if (rw_words_accept(r, text))
        return RW_OK;
    char expected[64];
    const size_t n = strlen(text);
    const size_t begin = *text == ' ';
    snprintf(expected, sizeof(expected), "'%.*s'", (int)(n - begin - (text[n - 1] == ' ')),
             text + begin);
    if (begin && r->at < r->end && *r->at == ' ')
        r->at++;
    return rw_words_fail(r, expected);
}

int rw_words_newline(struct rw_words *r)
{
    if (r->at == r->end || *r->at != '\n')
        return rw_words_fail(r, "the end of the line");
    r->line_begin = ++r->at;
    r->line++;
    return RW_OK;
}

int rw_words_count(struct rw_words *r, const char *what, uint64_t most, uint64_t *out)
{
    const char *c = r->at;
    uint64_t value = 0;
    int fits = c < r->end && *c >= '0' && *c <= '9' &&
               !(*c == '0' && c + 1 < r->end && c[1] >= '0' && c[1] <= '9');
    for (; fits && c < r->end && *c >= '0' && *c <= '9'; c++) {
        value = value * 10 + (uint64_t)(*c - '0');
        fits = value <= most; /* most < 2^60, so no overflow before this is seen */
    }
    if (!fits) {
        char expected[128];
        snprintf(expected, sizeof(expected), "%s, 0 to %llu", what, (unsigned long long)most);
        return rw_words_fail(r, expected);
    }
    r->at = c;
    *out = value;
    return RW_OK;
}

int rw_words_count_of(struct rw_words *r, const char *what, size_t bytes, int32_t *out)
{
    uint64_t most = (uint64_t)(r->end - r->at) / bytes, value;
    if (most > INT32_MAX)
        most = INT32_MAX;
    RW_TRY(rw_words_count(r, what, most, &value));
    *out = (int32_t)value;
    return RW_OK;
}

int rw_words_number_is(struct rw_words *r, uint64_t number)
{
    char expected[24];
    snprintf(expected, sizeof(expected), "%llu", (unsigned long long)number);
    const size_t n = strlen(expected);
    if (!starts(r, expected) || (r->at + n < r->end && r->at[n] != ' ' && r->at[n] != '\n'))
        return rw_words_fail(r, expected);
    r->at += n;
    return RW_OK;
}

int rw_words_real(struct rw_words *r, const char *what, double *out)
{
    int clamped = 0;
    const char *end = rw_number_parse_double(r->at, r->end, out, &clamped);
    if (!end || clamped)
        return rw_words_fail(r, what);
    r->at = end;
    return RW_OK;
}

int rw_words_float(struct rw_words *r, const char *what, float *out)
{
    int clamped = 0;
    const char *end = rw_number_parse(r->at, r->end, out, &clamped);
    if (!end || clamped)
        return rw_words_fail(r, what);
    r->at = end;
    return RW_OK;
}

int rw_words_hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int rw_words_text(struct rw_words *r, const char *what, char **out)
{
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    if (!end || end == r->at)
        return rw_words_fail(r, what);
    RW_TRY(RW_NEW(r->ctx, *out, (size_t)(end - r->at) + 1));
    char *to = *out;
    while (r->at < end) {
        const unsigned char c = (unsigned char)*r->at;
        if (c < 32 || c == 127)
            return rw_words_fail(r, "a printable character");
        if (c != '\\') {
            *to++ = *r->at++;
        } else if (end - r->at >= 2 && r->at[1] == '\\') {
            *to++ = '\\';
            r->at += 2;
        } else {
            const int high =
                end - r->at >= 4 && r->at[1] == 'x' ? rw_words_hex_digit(r->at[2]) : -1;
            const int low = high >= 0 ? rw_words_hex_digit(r->at[3]) : -1;
            const int code = high * 16 + low;
            if (low < 0 || code == 0 || (code >= 32 && code != 127))
                return rw_words_fail(r,
                                     "'\\\\' or '\\x' and two hex digits of a control character");
            *to++ = (char)code;
            r->at += 4;
        }
    }
    return RW_OK;
}
