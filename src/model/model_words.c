/* Words of a model file: numbers, names and fixed texts. Each function that the grammar uses
 * (model/model_text.h) both reads and writes its word, so that reader and writer cannot differ. */
#include "model/model_text.h"

struct rw_words rw_words_of(struct rw_ctx *ctx, const char *path, const char *text, size_t n)
{
    return (struct rw_words){.ctx = ctx,
                             .path = path,
                             .at = text,
                             .line_begin = text,
                             .end = text + n,
                             .after = "the end of the file",
                             .line = 1};
}

static int put_bytes(struct rw_words *w, const char *bytes, size_t n)
{
    RW_TRY(RW_GROW(w->ctx, w->text, w->room, w->n_bytes + n));
    memcpy(w->text + w->n_bytes, bytes, n);
    w->n_bytes += n;
    return RW_OK;
}

static int put(struct rw_words *w, const char *text)
{
    return put_bytes(w, text, strlen(text));
}

const char *rw_digits_of(uint32_t number, char room[RW_DIGITS_ROOM])
{
    char *first = room + RW_DIGITS_ROOM - 1;
    *first = 0;
    do
        *--first = (char)('0' + number % 10);
    while (number /= 10);
    return first;
}

static int put_number(struct rw_words *w, uint32_t number)
{
    char room[RW_DIGITS_ROOM];
    return put(w, rw_digits_of(number, room));
}

/* Describes the text at the reader's position, up to a blank, for a message. */
static void describe(const struct rw_words *w, char *buffer, size_t size)
{
    if (w->at == w->end) {
        snprintf(buffer, size, "%s", w->after);
        return;
    }
    if (*w->at == '\n') {
        snprintf(buffer, size, "the end of the line");
        return;
    }
    size_t n = 0;
    buffer[n++] = '\'';
    for (const char *c = w->at; n + 8 < size && c < w->end && *c != '\n'; c++) {
        if (*c == ' ' && c > w->at)
            break;
        if (*c >= 32 && *c < 127)
            buffer[n++] = *c;
        else
            n += (size_t)snprintf(buffer + n, 5, "\\x%02x", (unsigned)(unsigned char)*c);
    }
    buffer[n++] = '\'';
    buffer[n] = 0;
}

int rw_words_fail(struct rw_words *w, const char *expected)
{
    char found[48];
    describe(w, found, sizeof(found));
    return rw_fail(w->ctx, RW_ERR_FORMAT, "%s:%u:%zu: expected %s, found %s", w->path, w->line,
                   (size_t)(w->at - w->line_begin) + 1, expected, found);
}

int rw_words_fail_at(struct rw_words *w, const char *at, const char *expected)
{
    w->at = at;
    return rw_words_fail(w, expected);
}

/* Consumes this text if it follows. Returns 1 if it did. The loop is faster than strlen and memcmp,
 * since words are short. */
static int accept(struct rw_words *w, const char *text)
{
    const char *c = w->at;
    for (; *text; text++, c++) {
        if (c == w->end || *c != *text)
            return 0;
    }
    w->at = c;
    return 1;
}

int rw_words_take(struct rw_words *w, const char *text)
{
    if (w->is_writing)
        return put(w, text);
    for (; *text == '\n'; text++)
        RW_TRY(rw_words_newline(w));
    if (accept(w, text))
        return RW_OK;
    char expected[64];
    const size_t n = strlen(text);
    const size_t begin = *text == ' ';
    snprintf(expected, sizeof(expected), "'%.*s'", (int)(n - begin - (text[n - 1] == ' ')),
             text + begin);
    if (begin && w->at < w->end && *w->at == ' ')
        w->at++;
    return rw_words_fail(w, expected);
}

int rw_words_option(struct rw_words *w, const char *text, int *is_there)
{
    if (w->is_writing)
        return *is_there ? put(w, text) : RW_OK;
    *is_there = accept(w, text);
    return RW_OK;
}

int rw_words_choice(struct rw_words *w, const char *before, const char *yes, const char *no,
                    int *is_yes)
{
    RW_TRY(rw_words_take(w, before));
    RW_TRY(rw_words_option(w, yes, is_yes));
    return *is_yes ? RW_OK : rw_words_take(w, no);
}

/* Fails because the line does not end here. If it continues with a word in a text of the newest
 * version, the message says that a newer program may have written it. */
static int fail_line_end(struct rw_words *w)
{
    const int is_later = w->version >= RW_MODEL_VERSION;
    if (is_later && w->at < w->end && *w->at == ' ')
        w->at++;
    if (!is_later || w->at == w->end || *w->at < 'a' || *w->at > 'z')
        return rw_words_fail(w, "the end of the line");
    int n = 0;
    while (w->end - w->at > n && n < 40 && w->at[n] >= 'a' && w->at[n] <= 'z')
        n++;
    return rw_fail(w->ctx, RW_ERR_FORMAT,
                   "%s:%u:%zu: unknown word '%.*s'; a newer version of rankwood may have "
                   "written this model",
                   w->path, w->line, (size_t)(w->at - w->line_begin) + 1, n, w->at);
}

int rw_words_newline(struct rw_words *w)
{
    if (w->is_writing)
        return put(w, "\n");
    if (w->at == w->end || *w->at != '\n')
        return fail_line_end(w);
    w->line_begin = ++w->at;
    w->line++;
    return RW_OK;
}

int rw_words_count(struct rw_words *w, const char *before, const char *what, int32_t most,
                   int32_t *value)
{
    RW_TRY(rw_words_take(w, before));
    if (w->is_writing)
        return put_number(w, (uint32_t)*value);
    const char *c = w->at;
    int64_t number = 0;
    int fits = c < w->end && *c >= '0' && *c <= '9' &&
               !(*c == '0' && c + 1 < w->end && c[1] >= '0' && c[1] <= '9');
    for (; fits && c < w->end && *c >= '0' && *c <= '9'; c++) {
        number = number * 10 + (*c - '0');
        fits = number <= most;
    }
    if (!fits) {
        char expected[128];
        snprintf(expected, sizeof(expected), "%s, 0 to %d", what, most);
        return rw_words_fail(w, expected);
    }
    w->at = c;
    *value = (int32_t)number;
    return RW_OK;
}

int rw_words_id(struct rw_words *w, const char *before, uint32_t *id)
{
    return rw_words_count(w, before, "a feature id", RW_MAX_FEATURE, (int32_t *)id);
}

int rw_words_count_of(struct rw_words *w, const char *before, const char *what, size_t bytes,
                      int32_t *value)
{
    RW_TRY(rw_words_take(w, before));
    const size_t most = (size_t)(w->end - w->at) / bytes;
    return rw_words_count(w, "", what, most < INT32_MAX ? (int32_t)most : INT32_MAX, value);
}

/* Returns 0 to 15; -1: not a digit. */
static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int rw_words_hex(struct rw_words *w, const char *before, const char *what, uint64_t *value)
{
    enum { MOST_DIGITS = 16 };
    RW_TRY(rw_words_take(w, before));
    if (w->is_writing) {
        char digits[MOST_DIGITS + 1];
        snprintf(digits, sizeof(digits), "%llx", (unsigned long long)*value);
        return put(w, digits);
    }
    const char *c = w->at;
    uint64_t number = 0;
    while (c < w->end && hex_digit(*c) >= 0 && c - w->at <= MOST_DIGITS)
        number = number << 4 | (uint64_t)hex_digit(*c++);
    if (c == w->at || c - w->at > MOST_DIGITS || (*w->at == '0' && c - w->at > 1))
        return rw_words_fail(w, what);
    w->at = c;
    *value = number;
    return RW_OK;
}

int rw_words_number(struct rw_words *w, const char *before, int32_t number)
{
    char room[RW_DIGITS_ROOM];
    RW_TRY(rw_words_take(w, before));
    if (w->is_writing)
        return put_number(w, (uint32_t)number);
    const char *expected = rw_digits_of((uint32_t)number, room), *begin = w->at;
    if (accept(w, expected) && (w->at == w->end || *w->at == ' ' || *w->at == '\n'))
        return RW_OK;
    return rw_words_fail_at(w, begin, expected);
}

int rw_words_real(struct rw_words *w, const char *before, const char *what, double *value)
{
    char digits[40];
    int clamped;
    RW_TRY(rw_words_take(w, before));
    if (w->is_writing)
        return put_bytes(w, digits, (size_t)rw_number_write_double(*value, digits));
    const char *end = rw_number_parse_double(w->at, w->end, value, &clamped);
    if (!end || clamped)
        return rw_words_fail(w, what);
    w->at = end;
    return RW_OK;
}

int rw_words_any_real(struct rw_words *w, const char *before, const char *what, double *value)
{
    static const struct {
        const char *name;
        double value;
    } others[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    RW_TRY(rw_words_take(w, before));
    for (size_t i = 0; !w->is_writing && i < sizeof(others) / sizeof(others[0]); i++) {
        if (accept(w, others[i].name)) {
            *value = others[i].value;
            return RW_OK;
        }
    }
    return rw_words_real(w, "", what, value);
}

int rw_words_float(struct rw_words *w, const char *before, const char *what, float *value)
{
    char digits[32];
    int clamped;
    RW_TRY(rw_words_take(w, before));
    if (w->is_writing)
        return put_bytes(w, digits, (size_t)rw_number_write(*value, digits));
    const char *end = rw_number_parse(w->at, w->end, value, &clamped);
    if (!end || clamped)
        return rw_words_fail(w, what);
    w->at = end;
    return RW_OK;
}

static int put_escaped(struct rw_words *w, const char *text)
{
    while (*text) {
        char escape[8];
        size_t n = 0;
        while ((unsigned char)text[n] >= 32 && text[n] != 127 && text[n] != '\\')
            n++;
        RW_TRY(put_bytes(w, text, n));
        text += n;
        if (!*text)
            break;
        if (*text == '\\')
            strcpy(escape, "\\\\");
        else
            snprintf(escape, sizeof(escape), "\\x%02x", *text & 255);
        RW_TRY(put(w, escape));
        text++;
    }
    return RW_OK;
}

int rw_words_text(struct rw_words *w, const char *before, const char *what, char **value)
{
    RW_TRY(rw_words_take(w, before));
    if (w->is_writing)
        return put_escaped(w, *value);
    const char *end = memchr(w->at, '\n', (size_t)(w->end - w->at));
    if (!end || end == w->at)
        return rw_words_fail(w, what);
    RW_TRY(RW_NEW(w->ctx, *value, (size_t)(end - w->at) + 1));
    char *to = *value;
    while (w->at < end) {
        const unsigned char c = (unsigned char)*w->at;
        if (c < 32 || c == 127)
            return rw_words_fail(w, "a printable character");
        if (c != '\\') {
            *to++ = *w->at++;
        } else if (end - w->at >= 2 && w->at[1] == '\\') {
            *to++ = '\\';
            w->at += 2;
        } else {
            const int high = end - w->at >= 4 && w->at[1] == 'x' ? hex_digit(w->at[2]) : -1;
            const int low = high >= 0 ? hex_digit(w->at[3]) : -1;
            const int code = high * 16 + low;
            if (low < 0 || code == 0 || (code >= 32 && code != 127))
                return rw_words_fail(w,
                                     "'\\\\' or '\\x' and two hex digits of a control character");
            *to++ = (char)code;
            w->at += 4;
        }
    }
    return RW_OK;
}

int rw_words_text_is(struct rw_words *w, const char *before, const char *what, const char *text)
{
    RW_TRY(rw_words_take(w, before));
    if (w->is_writing)
        return put_escaped(w, text);
    const char *begin = w->at;
    RW_FREED char *found = NULL;
    RW_TRY(rw_words_text(w, "", what, &found));
    return strcmp(found, text) == 0 ? RW_OK : rw_words_fail_at(w, begin, what);
}
