#include "convert/json_in.h"

#include <math.h>

#include "base/number.h"

static int load(struct rw_ctx *ctx, const struct rw_source *source, size_t flags, json_t **out)
{
    json_error_t error;
    *out = json_loadb(source->text, source->n, JSON_REJECT_DUPLICATES | flags, &error);
    if (*out)
        return RW_OK;
    if (json_error_code(&error) == json_error_out_of_memory)
        return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", source->path);
    return rw_refuse(ctx, source, "not JSON: line %d, column %d: %s", error.line, error.column,
                     error.text);
}

int rw_json_load(struct rw_ctx *ctx, const struct rw_source *source, json_t **out)
{
    return load(ctx, source, 0, out);
}

int rw_json_load_reals(struct rw_ctx *ctx, const struct rw_source *source, json_t **out)
{
    return load(ctx, source, JSON_DECODE_INT_AS_REAL, out);
}

static int absent(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                  const char *name, const char *expected)
{
    return rw_refuse(ctx, source, "%s '%s'; expected %s",
                     json_object_get(object, name) ? "strange" : "no", name, expected);
}

int rw_json_object(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                   const char *name, json_t **out)
{
    *out = json_object_get(object, name);
    return json_is_object(*out) ? RW_OK : absent(ctx, source, object, name, "an object");
}

int rw_json_array(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                  const char *name, int64_t n, json_t **out)
{
    *out = json_object_get(object, name);
    if (!json_is_array(*out))
        return absent(ctx, source, object, name, "an array");
    if (n >= 0 && (int64_t)json_array_size(*out) != n)
        return rw_refuse(ctx, source, "'%s' has %zu elements; expected %lld", name,
                         json_array_size(*out), (long long)n);
    return RW_OK;
}

int rw_json_text(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                 const char *name, const char **out)
{
    *out = json_string_value(json_object_get(object, name));
    return *out ? RW_OK : absent(ctx, source, object, name, "a text");
}

static int integer(struct rw_ctx *ctx, const struct rw_source *source, const json_t *value,
                   const char *name, int64_t least, int64_t most, int64_t *out)
{
    int64_t number = 0;
    int is_one = json_is_integer(value);
    if (is_one) {
        number = json_integer_value(value);
    } else if (json_is_real(value)) {
        const double real = json_real_value(value);
        is_one = real >= -1e15 && real <= 1e15 && real == (double)(int64_t)real;
        number = is_one ? (int64_t)real : 0;
    } else if (json_is_boolean(value)) {
        is_one = 1;
        number = json_is_true(value);
    }
    if (!is_one || number < least || number > most)
        return rw_refuse(ctx, source, "'%s': expected a whole number from %lld to %lld", name,
                         (long long)least, (long long)most);
    *out = number;
    return RW_OK;
}

int rw_json_integer(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                    const char *name, int64_t least, int64_t most, int64_t *out)
{
    const json_t *value = json_object_get(object, name);
    if (!value)
        return absent(ctx, source, object, name, "a whole number");
    return integer(ctx, source, value, name, least, most, out);
}

int rw_json_number(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                   const char *name, double *out)
{
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        return absent(ctx, source, object, name, "a number");
    *out = json_number_value(value);
    return RW_OK;
}

int rw_json_integer_at(struct rw_ctx *ctx, const struct rw_source *source, const json_t *array,
                       const char *name, size_t i, int64_t least, int64_t most, int64_t *out)
{
    return integer(ctx, source, json_array_get(array, i), name, least, most, out);
}

int rw_json_number_at(struct rw_ctx *ctx, const struct rw_source *source, const json_t *array,
                      const char *name, size_t i, double *out)
{
    const json_t *value = json_array_get(array, i);
    if (!json_is_number(value))
        return rw_refuse(ctx, source, "'%s', element %zu: expected a number", name, i);
    *out = json_number_value(value);
    return RW_OK;
}

static int is_written_as(float candidate, double value)
{
    char text[32];
    double read = 0;
    int clamped = 0;
    const int n = rw_number_write(candidate, text);
    return rw_number_parse_double(text, text + n, &read, &clamped) && read == value;
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
