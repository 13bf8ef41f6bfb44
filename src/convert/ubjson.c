#include "convert/ubjson.h"

#include <math.h>
#include <string.h>

#include "base/bits.h"

enum { MOST_DEPTH = 256 };

struct reading {
    struct rw_ctx *ctx;
    const struct rw_source *source;
    const unsigned char *at, *end;
    int depth;
};

static int value(struct reading *r, int type, json_t **out);

static int wrong(struct reading *r, const char *what)
{
    return rw_refuse(r->ctx, r->source, "not UBJSON: byte %zu: %s",
                     r->source->n - (size_t)(r->end - r->at), what);
}

static int no_memory(struct reading *r)
{
    return rw_fail(r->ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", r->source->path);
}

static int byte(struct reading *r, int *out)
{
    if (r->at >= r->end)
        return wrong(r, "the file is cut short");
    *out = *r->at++;
    return RW_OK;
}

/* Bytes of a number; 0: the type is not one's. */
static size_t size_of(int type)
{
    switch (type) {
    case 'i':
    case 'U':
        return 1;
    case 'I':
        return 2;
    case 'l':
    case 'd':
        return 4;
    case 'L':
    case 'D':
        return 8;
    default:
        return 0;
    }
}

static int big_endian(struct reading *r, size_t size, uint64_t *out)
{
    if ((size_t)(r->end - r->at) < size)
        return wrong(r, "the file is cut short");
    *out = 0;
    for (size_t i = 0; i < size; i++)
        *out = *out << 8 | *r->at++;
    return RW_OK;
}

static int integer(struct reading *r, int type, int64_t *out)
{
    uint64_t bits = 0;
    const size_t size = size_of(type);
    if (size == 0 || type == 'd' || type == 'D')
        return wrong(r, "expected a whole number");
    RW_TRY(big_endian(r, size, &bits));
    *out = type == 'i'   ? (int64_t)(int8_t)bits
           : type == 'I' ? (int64_t)(int16_t)bits
           : type == 'l' ? (int64_t)(int32_t)bits
                         : (int64_t)bits;
    return RW_OK;
}

/* A length or a count: nothing is longer than the bytes that remain. */
static int length(struct reading *r, size_t *out)
{
    int type = 0;
    int64_t n = 0;
    RW_TRY(byte(r, &type));
    RW_TRY(integer(r, type, &n));
    if (n < 0 || (uint64_t)n > (uint64_t)(r->end - r->at))
        return wrong(r, "a length beyond the end of the file");
    *out = (size_t)n;
    return RW_OK;
}

static int number(struct reading *r, int type, json_t **out)
{
    uint64_t bits = 0;
    int64_t whole = 0;
    if (type == 'd' || type == 'D') {
        RW_TRY(big_endian(r, size_of(type), &bits));
        const double real =
            type == 'd' ? (double)rw_float_of_bits((uint32_t)bits) : rw_double_of_bits(bits);
        if (!isfinite(real))
            return wrong(r, "NaN or an infinity");
        *out = json_real(real);
    } else {
        RW_TRY(integer(r, type, &whole));
        *out = json_integer(whole);
    }
    return *out ? RW_OK : no_memory(r);
}

static int text(struct reading *r, json_t **out)
{
    size_t n = 0;
    RW_TRY(length(r, &n));
    *out = json_stringn((const char *)r->at, n);
    if (!*out)
        return wrong(r, "a text that is not UTF-8");
    r->at += n;
    return RW_OK;
}

/* "$ type # count" behind [ or {; type 0: each element has its own; counted 0: up to the end mark.
 */
static int container(struct reading *r, int *type, int *counted, size_t *n)
{
    *type = *counted = 0;
    *n = 0;
    if (r->at < r->end && *r->at == '$') {
        r->at++;
        RW_TRY(byte(r, type));
        /* A type without bytes of its own would make any count possible. */
        if (size_of(*type) == 0 && *type != 'S')
            return wrong(r, "a container of an unknown type");
        if (r->at >= r->end || *r->at != '#')
            return wrong(r, "expected a count");
    }
    if (r->at < r->end && *r->at == '#') {
        r->at++;
        *counted = 1;
        return length(r, n);
    }
    return RW_OK;
}

static int array(struct reading *r, json_t *into)
{
    int type, counted, mark;
    size_t n;
    RW_TRY(container(r, &type, &counted, &n));
    for (size_t i = 0; !counted || i < n; i++) {
        json_t *element = NULL;
        mark = type;
        if (!type)
            RW_TRY(byte(r, &mark));
        if (!counted && mark == ']')
            break;
        RW_TRY(value(r, mark, &element));
        if (json_array_append_new(into, element) != 0)
            return no_memory(r);
    }
    return RW_OK;
}

static int object(struct reading *r, json_t *into)
{
    int type, counted, mark;
    size_t n;
    RW_TRY(container(r, &type, &counted, &n));
    for (size_t i = 0; !counted || i < n; i++) {
        json_t *key = NULL, *element = NULL;
        int status;
        if (!counted && r->at < r->end && *r->at == '}') {
            r->at++;
            break;
        }
        RW_TRY(text(r, &key));
        mark = type;
        status = type ? RW_OK : byte(r, &mark);
        if (status == RW_OK && (strlen(json_string_value(key)) != json_string_length(key) ||
                                json_object_get(into, json_string_value(key))))
            status = wrong(r, "a key that stands twice, or has a 0 byte");
        if (status == RW_OK)
            status = value(r, mark, &element);
        if (status == RW_OK && json_object_set_new(into, json_string_value(key), element) != 0)
            status = no_memory(r);
        json_decref(key);
        RW_TRY(status);
    }
    return RW_OK;
}

static int value(struct reading *r, int type, json_t **out)
{
    *out = NULL;
    if (size_of(type))
        return number(r, type, out);
    switch (type) {
    case 'S':
        return text(r, out);
    case 'T':
    case 'F':
        *out = json_boolean(type == 'T');
        return RW_OK;
    case 'Z':
        *out = json_null();
        return RW_OK;
    case '[':
    case '{':
        break;
    default:
        return wrong(r, "an unknown type");
    }
    if (r->depth == MOST_DEPTH)
        return wrong(r, "nested too deeply");
    r->depth++;
    *out = type == '[' ? json_array() : json_object();
    int status = !*out ? no_memory(r) : type == '[' ? array(r, *out) : object(r, *out);
    r->depth--;
    if (status < 0) {
        json_decref(*out);
        *out = NULL;
    }
    return status;
}

int rw_ubjson_load(struct rw_ctx *ctx, const struct rw_source *source, json_t **out)
{
    const unsigned char *text_bytes = (const unsigned char *)source->text;
    struct reading r = {ctx, source, text_bytes, text_bytes + source->n, 0};
    int type = 0;
    *out = NULL;
    RW_TRY(byte(&r, &type));
    if (type != '{')
        return wrong(&r, "expected an object");
    RW_TRY(value(&r, type, out));
    if (r.at == r.end)
        return RW_OK;
    json_decref(*out);
    *out = NULL;
    return wrong(&r, "bytes behind the end");
}
