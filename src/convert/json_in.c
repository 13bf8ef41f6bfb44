#include "convert/json_in.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

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

static int64_t integer(struct rw_source *source, const json_t *value, const char *name,
                       int64_t least, int64_t most)
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
    return integer(source, value, name, least, most);
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
    return integer(source, json_array_get(array, i), name, least, most);
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
