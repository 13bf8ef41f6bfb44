#include "hist_values_data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

uint64_t values_word(const struct values_case *c, uint64_t i, uint32_t what)
{
    const struct rw_philox r =
        rw_random4(c->run->seed, i, (uint32_t)c->turn, RW_STREAM_SYNTH + what);
    return (uint64_t)r.word[1] << 32 | r.word[0];
}

/* A double anywhere, but more often near 0. */
static double any_double(uint64_t w)
{
    const double unit = (double)(int64_t)w * 0x1p-63;
    return ldexp(unit, (int)(w % 41) - 20);
}

static double special_double(uint64_t w, enum rw_values_type type)
{
    const int narrow = type == RW_VALUES_F32;
    static const double list[] = {0.0,    -0.0,    INFINITY,  -INFINITY, NAN,
                                  1.0,    -1.0,    0x1p-149,  -0x1p-149, 0x1p-126,
                                  1000.0, -1000.0, 0x1p-1074, 0x1p-1022};
    if (w % 16 == 14)
        return narrow ? 3.40282346638528859811704183484516925e38 : 1.7976931348623157e308;
    if (w % 16 == 15)
        return -NAN;
    return list[w % 16];
}

static int64_t special_integer(uint64_t w)
{
    static const int64_t list[] = {INT32_MIN, INT32_MIN + 1, -1,    0,     1,     254,
                                   255,       256,           65534, 65535, 65536, 32767,
                                   INT32_MAX, INT32_MAX - 1};
    return list[w % (uint64_t)LENGTH(list)];
}

/* Number i of an array of the type of values, or of edges. */
static void put(enum rw_values_type type, void *to, uint64_t i, double real, int64_t integer)
{
    if (type == RW_VALUES_F32)
        ((float *)to)[i] = (float)real;
    else if (type == RW_VALUES_F64)
        ((double *)to)[i] = real;
    else if (type == RW_VALUES_U8)
        ((uint8_t *)to)[i] = (uint8_t)integer;
    else if (type == RW_VALUES_U16)
        ((uint16_t *)to)[i] = (uint16_t)integer;
    else
        ((int32_t *)to)[i] = (int32_t)integer;
}

static void put_edge(enum rw_values_type type, void *to, uint64_t i, double real, int64_t integer)
{
    const int floats = type == RW_VALUES_F32 || type == RW_VALUES_F64;
    put(floats ? type : RW_VALUES_I32, to, i, real, integer);
}

static int by_double(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}
static int by_float(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}
static int by_int(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort_edges(enum rw_values_type type, void *edge, size_t n)
{
    qsort(edge, n, rw_values_edge_bytes(type),
          type == RW_VALUES_F64   ? by_double
          : type == RW_VALUES_F32 ? by_float
                                  : by_int);
}

static const struct {
    int64_t low, high; /* of edges; beyond the values' own where there is room */
} span[RW_VALUES_N_TYPES] = {
    {-3, 259}, {-5, 65540}, {INT32_MIN, INT32_MAX}, {-1000, 1000}, {-1000, 1000}};

void values_make_edges(struct values_case *c)
{
    const struct values_spec *s = &c->spec;
    const int64_t low = span[s->type].low, high = span[s->type].high;
    const uint64_t wide = (uint64_t)(high - low);
    const int whole = c->turn % 3 == 0; /* uneven edges from end to end */
    for (uint64_t i = 0; i <= s->n_bins; i++) {
        const uint64_t w = values_word(c, i, 100);
        if (!s->uneven)
            put_edge(s->type, c->edge, i,
                     (double)low + (double)wide * (double)i / (double)s->n_bins,
                     low + (int64_t)(wide * i / s->n_bins));
        else
            put_edge(s->type, c->edge, i, any_double(w) * 1000, low + (int64_t)(w % (wide + 1)));
    }
    if (!s->uneven)
        return;
    if (whole) {
        put_edge(s->type, c->edge, 0, -INFINITY, low);
        put_edge(s->type, c->edge, s->n_bins, INFINITY, high);
    }
    if (s->n_bins > 4) { /* an empty bin whose edges are the zeros */
        put_edge(s->type, c->edge, 1, -0.0, 0);
        put_edge(s->type, c->edge, 2, 0.0, 0);
    }
    sort_edges(s->type, c->edge, (size_t)s->n_bins + 1);
}

static void make_value(struct values_case *c, uint64_t i)
{
    const struct values_spec *s = &c->spec;
    const uint64_t w = values_word(c, s->mix == MIX_EQUAL ? 0 : i, 101);
    const size_t edge_bytes = rw_values_edge_bytes(s->type);
    unsigned char *const value = c->value;
    const uint64_t at = s->shift + i;
    const unsigned kind =
        s->mix == MIX_SPECIAL ? (unsigned)(w >> 40) % 3 : (unsigned)(w >> 40) % 64;
    if (kind == 1) { /* an edge or its neighbour */
        const unsigned char *e = c->edge + (w >> 8) % (s->n_bins + 1) * edge_bytes;
        const int step = (int)(w % 3) - 1;
        const double to = step * (double)INFINITY;
        if (s->type == RW_VALUES_F64)
            put(s->type, value, at, step ? nextafter(*(const double *)e, to) : *(const double *)e,
                0);
        else if (s->type == RW_VALUES_F32)
            put(s->type, value, at,
                (double)(step ? nextafterf(*(const float *)e, (float)to) : *(const float *)e), 0);
        else
            put(s->type, value, at, 0, (int64_t) * (const int32_t *)e + step);
    } else if (kind == 2) {
        put(s->type, value, at, special_double(w, s->type), special_integer(w));
    } else {
        const int64_t low = span[s->type].low, high = span[s->type].high;
        put(s->type, value, at,
            w >> 63 ? any_double(w) * 1000 : (double)(w % 2400001) * 1e-3 - 1200,
            low + (int64_t)(w % (uint64_t)(high - low + 1)));
    }
}

void values_make_inputs(struct values_case *c)
{
    const struct values_spec *s = &c->spec;
    static const int64_t extreme[] = {INT32_MIN, INT32_MAX};
    for (uint64_t i = 0; i < s->n; i++) {
        const uint64_t w = values_word(c, i, 102);
        make_value(c, i);
        c->mask[i] = c->turn % 11 == 3 ? 0 : c->turn % 11 == 4 ? 255 : (uint8_t)(w % 3);
        c->weight[i] = s->weights == WEIGHTS_SMALL  ? (int32_t)(w >> 8 & 255) - 127
                       : s->weights == WEIGHTS_LOW  ? (int32_t)extreme[0]
                       : s->weights == WEIGHTS_HIGH ? (int32_t)extreme[1]
                                                    : (int32_t)(uint32_t)(w >> 8);
    }
    if (s->mix == MIX_SORTED && (s->type == RW_VALUES_I32))
        qsort(c->value + s->shift * sizeof(int32_t), s->n, sizeof(int32_t), by_int);
}

void values_make_job(struct values_case *c)
{
    const struct values_spec *s = &c->spec;
    const size_t edge_bytes = rw_values_edge_bytes(s->type);
    struct rw_values_job *job = &c->job;
    memset(job, 0, sizeof(*job));
    job->type = s->type;
    job->value = c->value + s->shift * rw_values_bytes(s->type);
    job->n = s->n;
    job->edge = c->edge;
    job->n_bins = s->n_bins;
    job->last_closed = s->last_closed;
    job->has_range = s->filter == FILTER_RANGE || s->filter == FILTER_BOTH;
    if (job->has_range) { /* ends at edges or off them, now and then the wrong way round */
        const uint64_t w = values_word(c, 0, 103);
        memcpy(&job->lo, c->edge + w % (s->n_bins + 1) * edge_bytes, edge_bytes);
        memcpy(&job->hi, c->edge + (w >> 32) % (s->n_bins + 1) * edge_bytes, edge_bytes);
        if (s->type == RW_VALUES_F32)
            job->hi.f = c->turn % 7 == 2 ? NAN : job->hi.f + (float)(c->turn % 2);
        else if (s->type == RW_VALUES_F64)
            job->hi.d = c->turn % 7 == 2 ? NAN : job->hi.d + (double)(c->turn % 2);
        else
            job->hi.i -= (int32_t)(c->turn % 2 && job->hi.i > INT32_MIN);
    }
    job->mask = s->filter == FILTER_MASK || s->filter == FILTER_BOTH ? c->mask : NULL;
    job->weight = s->weights == WEIGHTS_NONE ? NULL : c->weight;
    job->count = c->count;
    job->sum = job->weight ? c->sum : NULL;
}
