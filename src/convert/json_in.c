#include "convert/json_in.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/bits.h"
#include "base/number.h"

/* What jansson could not get. It takes its memory through two functions for the whole process: ours
 * ask whatever was there before, and note what failed, for each thread. */
static json_malloc_t asked;
static _Thread_local int has_failed;

static void *ask(size_t n)
{
    void *made = asked(n);
    has_failed |= !made;
    return made;
}

static void stand_before(void)
{
    json_free_t given_back;
    json_get_alloc_funcs(&asked, &given_back);
    json_set_alloc_funcs(ask, given_back);
}

void rw_json_watch(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, stand_before);
    has_failed = 0;
}

int rw_json_lacked_memory(void)
{
    return has_failed;
}

/* ------------------------------------------------------------------ members */

json_t *rw_json_load(struct rw_source *source, size_t flags)
{
    json_error_t error;
    rw_json_watch();
    json_t *root = json_loadb(source->text, source->n, JSON_REJECT_DUPLICATES | flags, &error);
    if (rw_json_lacked_memory()) {
        rw_source_no_memory(source);
        json_decref(root);
        return NULL;
    }
    if (!root)
        rw_refuse(source, "not JSON: line %d, column %d: %s", error.line, error.column, error.text);
    return root;
}

static void absent(struct rw_source *source, const json_t *object, const char *name,
                   const char *expected)
{
    rw_refuse(source, "%s '%s'; expected %s", json_object_get(object, name) ? "wrong" : "no", name,
              expected);
}

json_t *rw_json_object(struct rw_source *source, const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    if (!json_is_object(value))
        absent(source, object, name, "an object");
    return value;
}

json_t *rw_json_array(struct rw_source *source, const json_t *object, const char *name, int64_t n)
{
    json_t *value = json_object_get(object, name);
    if (!json_is_array(value))
        absent(source, object, name, "an array");
    else if (n >= 0 && (int64_t)json_array_size(value) != n)
        rw_refuse(source, "'%s' has %zu elements; expected %lld", name, json_array_size(value),
                  (long long)n);
    return value;
}

const char *rw_json_text(struct rw_source *source, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    if (!text)
        absent(source, object, name, "a text");
    return text ? text : "";
}

const char *rw_json_plain(const json_t *value)
{
    const char *text = json_string_value(value);
    return text && strlen(text) == json_string_length(value) ? text : NULL;
}

static int64_t whole(struct rw_source *source, const json_t *value, const char *name, int64_t least,
                     int64_t most)
{
    int64_t number = json_is_integer(value) ? json_integer_value(value) : json_is_true(value);
    int is_one = json_is_integer(value) || json_is_boolean(value);
    if (json_is_real(value)) {
        const double real = json_real_value(value);
        is_one = real >= -1e15 && real <= 1e15 && real == (double)(int64_t)real;
        number = is_one ? (int64_t)real : 0;
    }
    if (is_one && number >= least && number <= most)
        return number;
    rw_refuse(source, "'%s': expected a whole number from %lld to %lld", name, (long long)least,
              (long long)most);
    return 0;
}

int64_t rw_json_integer(struct rw_source *source, const json_t *object, const char *name,
                        int64_t least, int64_t most)
{
    const json_t *value = json_object_get(object, name);
    if (!value)
        absent(source, object, name, "a whole number");
    return whole(source, value, name, least, most);
}

double rw_json_number(struct rw_source *source, const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        absent(source, object, name, "a number");
    return json_number_value(value);
}

int64_t rw_json_integer_at(struct rw_source *source, const json_t *array, const char *name,
                           size_t i, int64_t least, int64_t most)
{
    return whole(source, json_array_get(array, i), name, least, most);
}

double rw_json_number_at(struct rw_source *source, const json_t *array, const char *name, size_t i)
{
    const json_t *value = json_array_get(array, i);
    if (!json_is_number(value))
        rw_refuse(source, "'%s', element %zu: expected a number", name, i);
    return json_number_value(value);
}

void rw_json_children(struct rw_source *source, const json_t *object, const char *left,
                      const char *right, const void *child[2])
{
    child[0] = rw_json_object(source, object, left);
    child[1] = rw_json_object(source, object, right);
}

int rw_is_among(const char *text, const char *const *words)
{
    while (*words && strcmp(text, *words) != 0)
        words++;
    return *words != NULL;
}

static int is_written_as(float candidate, double value)
{
    char text[32];
    double read = 0;
    return rw_is_number(text, (size_t)rw_number_write(candidate, text), &read) && read == value;
}

float rw_json_float(double value)
{
    const float near = (float)value;
    const float other = nextafterf(near, value > (double)near ? INFINITY : -INFINITY);
    const int between = fabs(value - (double)near) == fabs((double)other - value);
    return (double)near != value && between && isfinite(other) && !is_written_as(near, value) &&
                   is_written_as(other, value)
               ? other
               : near;
}

/* ------------------------------------------------------------------ UBJSON */

enum { MOST_DEPTH = 256 };

struct reading {
    struct rw_source *source;
    const unsigned char *at, *end;
    int depth;
};

static json_t *value(struct reading *r, int type);

/* Always NULL: the value that could not be read. */
static json_t *wrong(struct reading *r, const char *what)
{
    rw_refuse(r->source, "not UBJSON: byte %zu: %s", r->source->n - (size_t)(r->end - r->at), what);
    return NULL;
}

/* Steps over a byte if it is the next one. */
static int skip(struct reading *r, int expected)
{
    const int is_next = r->at < r->end && *r->at == expected;
    r->at += is_next;
    return is_next;
}

/* The next n bytes as a number, the highest first. */
static uint64_t bytes(struct reading *r, size_t n)
{
    uint64_t bits = 0;
    if ((size_t)(r->end - r->at) < n)
        wrong(r, "the file is truncated");
    for (; n > 0 && r->source->status == RW_OK; n--)
        bits = bits << 8 | *r->at++;
    return bits;
}

static int byte(struct reading *r)
{
    return (int)bytes(r, 1);
}

/* Bytes of a number; 0: the type is not one's. */
static size_t size_of(int type)
{
    return type == 'i' || type == 'U'   ? 1
           : type == 'I'                ? 2
           : type == 'l' || type == 'd' ? 4
           : type == 'L' || type == 'D' ? 8
                                        : 0;
}

static int64_t integer(struct reading *r, int type)
{
    const size_t size = type == 'd' || type == 'D' ? 0 : size_of(type);
    if (size == 0)
        wrong(r, "expected a whole number");
    const uint64_t bits = bytes(r, size);
    return type == 'i'   ? (int64_t)(int8_t)bits
           : type == 'I' ? (int64_t)(int16_t)bits
           : type == 'l' ? (int64_t)(int32_t)bits
                         : (int64_t)bits;
}

/* A length or a count: nothing is longer than the bytes that remain. */
static size_t length(struct reading *r)
{
    const int64_t n = integer(r, byte(r));
    if (n >= 0 && (uint64_t)n <= (uint64_t)(r->end - r->at))
        return (size_t)n;
    wrong(r, "a length beyond the end of the file");
    return 0;
}

static json_t *number(struct reading *r, int type)
{
    if (type != 'd' && type != 'D')
        return json_integer(integer(r, type));
    const uint64_t bits = bytes(r, size_of(type));
    const double real =
        type == 'd' ? (double)rw_float_of_bits((uint32_t)bits) : rw_double_of_bits(bits);
    return isfinite(real) ? json_real(real) : wrong(r, "NaN or an infinity");
}

static json_t *text(struct reading *r)
{
    const size_t n = length(r);
    rw_json_watch();
    json_t *out = json_stringn((const char *)r->at, n);
    if (rw_json_lacked_memory())
        rw_source_no_memory(r->source);
    if (!out)
        return wrong(r, "a text that is not UTF-8");
    r->at += n;
    return out;
}

/* "$ type # count" behind [ or {; type 0: each element has its own; counted 0: up to the end mark.
 */
static size_t container(struct reading *r, int *type, int *counted)
{
    *type = 0;
    if (skip(r, '$')) {
        *type = byte(r);
        /* A type without bytes of its own would make any count possible. */
        if (size_of(*type) == 0 && *type != 'S')
            wrong(r, "a container of an unknown type");
    }
    *counted = skip(r, '#');
    if (*type && !*counted)
        wrong(r, "expected a count");
    return *counted ? length(r) : 0;
}

static void array(struct reading *r, json_t *into)
{
    int type, counted;
    const size_t n = container(r, &type, &counted);
    for (size_t i = 0; r->source->status == RW_OK && (!counted || i < n); i++) {
        if (!counted && skip(r, ']'))
            break;
        if (json_array_append_new(into, value(r, type ? type : byte(r))) != 0)
            rw_source_no_memory(r->source);
    }
}

static void object(struct reading *r, json_t *into)
{
    int type, counted;
    const size_t n = container(r, &type, &counted);
    for (size_t i = 0; r->source->status == RW_OK && (!counted || i < n); i++) {
        if (!counted && skip(r, '}'))
            break;
        json_t *key = text(r);
        const int mark = type ? type : byte(r);
        if (key && (!rw_json_plain(key) || json_object_get(into, json_string_value(key))))
            wrong(r, "a key that appears twice, or has a 0 byte");
        json_t *element = value(r, mark);
        if (json_object_set_new(into, json_string_value(key), element) != 0)
            rw_source_no_memory(r->source);
        json_decref(key);
    }
}

/* NULL after a failure. */
static json_t *value(struct reading *r, int type)
{
    json_t *out = NULL;
    if (r->source->status < 0)
        return NULL;
    if (size_of(type)) {
        out = number(r, type);
    } else if (type == 'S') {
        out = text(r);
    } else if (type == 'T' || type == 'F') {
        out = json_boolean(type == 'T');
    } else if (type == 'Z') {
        out = json_null();
    } else if (type != '[' && type != '{') {
        wrong(r, "an unknown type");
    } else if (r->depth == MOST_DEPTH) {
        wrong(r, "nested too deeply");
    } else {
        r->depth++;
        out = type == '[' ? json_array() : json_object();
        (type == '[' ? array : object)(r, out);
        r->depth--;
    }
    if (!out)
        rw_source_no_memory(r->source);
    if (r->source->status == RW_OK)
        return out;
    json_decref(out);
    return NULL;
}

json_t *rw_ubjson_load(struct rw_source *source)
{
    const unsigned char *begin = (const unsigned char *)source->text;
    struct reading r = {source, begin, begin + source->n, 0};
    const int type = byte(&r);
    if (type != '{')
        wrong(&r, "expected an object");
    json_t *out = value(&r, type);
    if (r.at != r.end)
        wrong(&r, "bytes behind the end");
    if (source->status == RW_OK)
        return out;
    json_decref(out);
    return NULL;
}
