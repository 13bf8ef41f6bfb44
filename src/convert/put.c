#include <jansson.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "convert/convert.h"

void rw_put_bytes(struct rw_put *put, const void *bytes, size_t n)
{
    if (put->status == RW_OK)
        put->status = RW_GROW(put->ctx, put->text, put->room, put->n + n);
    if (put->status != RW_OK)
        return;
    memcpy(put->text + put->n, bytes, n);
    put->n += n;
}

void rw_put_text(struct rw_put *put, const char *text)
{
    rw_put_bytes(put, text, strlen(text));
}

void rw_put_format(struct rw_put *put, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (n >= 0 && n < (int)sizeof(text))
        rw_put_bytes(put, text, (size_t)n);
    else if (put->status == RW_OK)
        put->status = rw_fail(put->ctx, RW_ERR_INTERNAL, "a line of %d bytes", n);
}

static void put_number(struct rw_put *put, const char *number, int n)
{
    rw_put_bytes(put, number, (size_t)n);
    if (!memchr(number, '.', (size_t)n) && !memchr(number, 'e', (size_t)n))
        rw_put_text(put, ".0");
}

void rw_put_float(struct rw_put *put, float value)
{
    char number[32];
    put_number(put, number, rw_number_write(value, number));
}

void rw_put_double(struct rw_put *put, double value)
{
    char number[48];
    put_number(put, number, rw_number_write_double(value, number));
}

void rw_put_json_text(struct rw_put *put, const char *text)
{
    if (put->status != RW_OK)
        return;
    json_t *string = json_string(text);
    char *quoted = string ? json_dumps(string, JSON_ENCODE_ANY) : NULL;
    if (quoted)
        rw_put_text(put, quoted);
    else
        put->status = rw_fail(put->ctx, RW_ERR_UNSUPPORTED, "a name that is not UTF-8: '%s'", text);
    free(quoted);
    json_decref(string);
}

int rw_refuse(struct rw_ctx *ctx, const struct rw_source *source, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < 32 || *c == 127)
            *c = '?';
    }
    return rw_fail(ctx, RW_ERR_FORMAT, "%s: %s", source->path, text);
}
