/* Compares rw_number_parse and the fast paths of LETOR's reader with strtof, over random and
 * adversarial decimals. Results must have the same bits, with two deliberate exceptions: the reader
 * returns no -0, and the largest float instead of infinity.
 *
 *   number_check [COUNT [SEED]]        COUNT: default 1000000 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "base/rng.h"
#include "io/text.h"

enum { TEXT_BYTES = 256 };

struct source {
    uint64_t seed, n; /* numbers drawn so far */
};

static uint32_t draw(struct source *source)
{
    return rw_random(source->seed, source->n++, 0, RW_STREAM_SYNTH);
}

static uint32_t below(struct source *source, uint32_t n)
{
    return (uint32_t)((uint64_t)draw(source) * n >> 32);
}

static void random_digits(struct source *source, char *to, int n)
{
    for (int i = 0; i < n; i++)
        to[i] = (char)('0' + below(source, 10));
    to[n] = 0;
}

/* Digits with a point somewhere and, at times, an exponent. */
static void random_decimal(struct source *source, char *text)
{
    char digits[64];
    const int n = 1 + (int)below(source, below(source, 4) ? 12 : 40);
    const int point = (int)below(source, (uint32_t)n + 1);
    random_digits(source, digits, n);
    char *to = text;
    if (below(source, 4) == 0)
        *to++ = '-';
    to += sprintf(to, "%.*s.%s", point, digits, digits + point);
    if (below(source, 2))
        sprintf(to, "e%d", (int)below(source, 110) - 55);
}

static float random_float(struct source *source)
{
    float value;
    do
        value = rw_float_of_bits(draw(source) & 0x7fffffff);
    while (!isfinite(value));
    return value;
}

/* A float as printed with so many digits. */
static void printed_float(struct source *source, char *text)
{
    sprintf(text, "%.*e", (int)below(source, 20), (double)random_float(source));
}

/* The midpoint of two adjacent floats, exact or truncated, or a number next to it: where rounding
 * decides.
 */
static void near_middle(struct source *source, char *text)
{
    const float low = random_float(source);
    const double middle = ((double)low + (double)nextafterf(low, INFINITY)) / 2;
    const int n_digits = below(source, 3) ? 8 + (int)below(source, 30) : 120;
    sprintf(text, "%.*e", n_digits, isinf(middle) ? 3.4028235677973366e38 : middle);
    char *e = strchr(text, 'e');
    char exponent[16];
    snprintf(exponent, sizeof(exponent), "%s", e);
    switch (below(source, 4)) {
    case 0: /* a little more */
        sprintf(e, "%s1%s", below(source, 2) ? "" : "000000000000000000000000000", exponent);
        break;
    case 1: { /* a little less: a digit from the last nonzero one */
        char *last = e - 1;
        while (last > text + 1 && *last == '0')
            last--;
        if (*last > '0' && *last <= '9')
            --*last;
        break;
    }
    default:
        break;
    }
}

/* Whole numbers of 24 to 64 bits with their middles, and the same times a power of ten. */
static void wide_integer(struct source *source, char *text)
{
    const uint64_t base = ((uint64_t)(draw(source) >> 8) | 1u << 23) << below(source, 41);
    const uint64_t half = base & (~base + 1);
    const uint64_t near = base + (below(source, 2) ? half / 2 : 0) + below(source, 3) - 1;
    const int n = sprintf(text, "%" PRIu64, near);
    if (below(source, 3) == 0)
        sprintf(text + n, "e%d", (int)below(source, 60) - 45);
}

/* The smallest and the largest floats. */
static void near_ends(struct source *source, char *text)
{
    if (below(source, 2))
        sprintf(text, "%.*e", (int)below(source, 40),
                (double)rw_float_of_bits(1 + below(source, 64)) * (below(source, 2) ? 1 : 0.5));
    else
        sprintf(text, "%.*e", 6 + (int)below(source, 30),
                3.4028234663852886e38 * (1 + ((int)below(source, 41) - 20) * 1e-8));
}

/* Insignificant zeros, before and after the digits, and an exponent that compensates for them. */
static void many_zeros(struct source *source, char *text)
{
    const int before = (int)below(source, 60), behind = (int)below(source, 60);
    char digits[40];
    random_digits(source, digits, 1 + (int)below(source, 20));
    if (below(source, 2))
        sprintf(text, "0.%0*d%s%0*de%d", before + 1, 0, digits, behind + 1, 0,
                before + (int)below(source, 60) - 30);
    else
        sprintf(text, "%0*d%s%0*d.%0*de-%d", before + 1, 0, digits, behind + 1, 0, 1 + before, 0,
                behind + (int)below(source, 60) - (behind < 30 ? 0 : 30));
}

/* At most 16 bytes, as data sets have them; or the middle of two floats that fits. */
static void short_decimal(struct source *source, char *text)
{
    char digits[24];
    const int negative = below(source, 3) == 0;
    const int n = 1 + (int)below(source, 15u - (uint32_t)negative);
    const int point = (int)below(source, (uint32_t)n + 1);
    random_digits(source, digits, n);
    if (below(source, 4) == 0)
        snprintf(text, 17, "%.1f",
                 ((double)((draw(source) >> 8) | 1u << 23) + 0.5) *
                     (double)(1u << below(source, 8)) / 128);
    else if (below(source, 4) == 0)
        sprintf(text, "%s%.*s", negative ? "-" : "", n, digits);
    else
        sprintf(text, "%s%.*s.%s", negative ? "-" : "", point, digits, digits + point);
}

static void (*const kinds[])(struct source *, char *) = {
    random_decimal, printed_float, near_middle, wide_integer, near_ends, many_zeros, short_decimal,
};

/* The value as an entry of a line, by a fast path; 0: it left it to the careful path. */
static int read_fast(rw_letor_fast_fn fast, const char *text, float *value, int *clamped)
{
    enum { ROOM = 2 * RW_LETOR_SPAN_ENTRIES };
    static uint16_t feature[ROOM];
    static uint64_t known[ROOM];
    static float values[ROOM];
    char line[TEXT_BYTES + 2 * RW_TEXT_PAD + 8] = "";
    struct rw_letor_entries entries = {
        .feature = feature, .text = known, .value = values, .room = ROOM, .last = -1};
    const int n = sprintf(line + RW_TEXT_PAD, "1:%s", text);
    const char *const begin = line + RW_TEXT_PAD, *const end = begin + n;
    if (fast(&entries, begin, end) != end)
        return 0;
    *value = values[0];
    *clamped = (int)entries.n_clamped;
    return entries.n == 1 && entries.last == 1;
}

static int same(const char *text)
{
    float value[3] = {NAN, NAN, NAN};
    int clamped[3] = {-1, -1, -1};
    const char *const end = text + strlen(text);
    const char *const read_to = rw_number_parse(text, end, &value[0], &clamped[0]);
    int n = 1;
    for (; n < 3 && rw_letor_fast(n - 1); n++) {
        if (!read_fast(rw_letor_fast(n - 1), text, &value[n], &clamped[n])) {
            fprintf(stderr, "'%s': not taken by fast path %d\n", text, n - 1);
            return 0;
        }
    }
    float expected = strtof(text, NULL); /* no setlocale: the C locale */
    const int beyond = isinf(expected) != 0;
    if (beyond)
        expected = expected < 0 ? -FLT_MAX : FLT_MAX;
    for (int i = 0; i < n; i++) {
        if (read_to == end && clamped[i] == beyond &&
            rw_bits_of_float(value[i]) == rw_bits_of_float(expected == 0 ? 0.0f : expected))
            continue;
        fprintf(stderr, "'%s', reader %d: %a, clamped %d; strtof %a\n", text, i, (double)value[i],
                clamped[i], (double)expected);
        return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    const long count = argc > 1 ? atol(argv[1]) : 1000000;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct source source = {seed, 0};
    const uint32_t n_kinds = sizeof(kinds) / sizeof(*kinds);
    char text[TEXT_BYTES];
    long n_bad = 0;
    for (long i = 0; i < count && n_bad < 20; i++) {
        kinds[(uint32_t)(i % n_kinds)](&source, text);
        n_bad += !same(text);
    }
    printf("%s number_check: %ld decimals, seed %" PRIu64 "\n", n_bad ? "not ok" : "ok", count,
           seed);
    return n_bad != 0;
}
