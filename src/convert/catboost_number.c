/* Numbers of CatBoost's models: hashes of words, and decimals that its reader takes for the double
 * that was meant. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "convert/catboost_model.h"

/* ------------------------------------------------------------------ hashes */

/* The function's constants, in the order of its authors. */
#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)
#define K3 UINT64_C(0xc949d7c7509e6557)

/* Little-endian on any machine. */
static uint64_t load(const char *at, int n_bytes)
{
    uint64_t value = 0;
    for (int i = n_bytes - 1; i >= 0; i--)
        value = value << 8 | (unsigned char)at[i];
    return value;
}

static uint64_t at8(const char *at)
{
    return load(at, 8);
}

/* by: 1 to 63. */
static uint64_t turn(uint64_t value, int by)
{
    return value >> by | value << (64 - by);
}

static uint64_t fold(uint64_t value)
{
    return value ^ value >> 47;
}

static uint64_t join(uint64_t low, uint64_t high)
{
    const uint64_t factor = UINT64_C(0x9ddfea08eb382d69);
    const uint64_t first = fold((low ^ high) * factor);
    return fold((high ^ first) * factor) * factor;
}

static uint64_t up_to_16(const char *text, size_t n)
{
    if (n > 8) {
        const uint64_t last = at8(text + n - 8);
        return join(at8(text), turn(last + n, (int)n)) ^ last;
    }
    if (n >= 4)
        return join(n + (load(text, 4) << 3), load(text + n - 4, 4));
    if (n == 0)
        return K2;
    const uint64_t low = load(text, 1) + (load(text + n / 2, 1) << 8);
    const uint64_t high = n + (load(text + n - 1, 1) << 2);
    return fold(low * K2 ^ high * K3) * K2;
}

static uint64_t up_to_32(const char *text, size_t n)
{
    const uint64_t a = at8(text) * K1, b = at8(text + 8);
    const uint64_t c = at8(text + n - 8) * K2, d = at8(text + n - 16) * K0;
    return join(turn(a - b, 43) + turn(c, 30) + d, a + turn(b ^ K3, 20) - c + n);
}

struct pair {
    uint64_t low, high;
};

/* Of 32 bytes, and two numbers. */
static struct pair mix_32(const char *text, uint64_t a, uint64_t b)
{
    const uint64_t first = a + at8(text), last = at8(text + 24);
    const uint64_t most = first + at8(text + 8) + at8(text + 16);
    return (struct pair){most + last, turn(b + first + last, 21) + turn(most, 44) + first};
}

static struct pair mix_end(uint64_t a, uint64_t second, uint64_t third, uint64_t fourth)
{
    const uint64_t most = a + second + third;
    return (struct pair){most + fourth,
                         turn(a + fourth, 52) + turn(most, 31) + turn(a, 37) + turn(a + second, 7)};
}

static uint64_t up_to_64(const char *text, size_t n)
{
    const char *end = text + n;
    const struct pair v = mix_end(at8(text) + (n + at8(end - 16)) * K0, at8(text + 8),
                                  at8(text + 16), at8(text + 24));
    const struct pair w =
        mix_end(at8(text + 16) + at8(end - 32), at8(end - 24), at8(end - 16), at8(end - 8));
    return fold(fold((v.low + w.high) * K2 + (w.low + v.high) * K0) * K0 + v.high) * K2;
}

static uint64_t over_64(const char *text, size_t n)
{
    const char *end = text + n;
    uint64_t x = at8(text), y = at8(end - 16) ^ K1, z = at8(end - 56) ^ K0;
    struct pair v = mix_32(end - 64, n, y), w = mix_32(end - 32, n * K1, K0);
    z += fold(v.high) * K1;
    x = turn(z + x, 39) * K1;
    y = turn(y, 33) * K1;
    for (const char *at = text; at < text + (n - 1) / 64 * 64; at += 64) {
        const uint64_t was_z = z;
        x = (turn(x + y + v.low + at8(at + 16), 37) * K1) ^ w.high;
        y = (turn(y + v.high + at8(at + 48), 42) * K1) ^ v.low;
        z = x;
        x = turn(was_z ^ w.low, 33);
        v = mix_32(at, v.high * K1, z + w.low);
        w = mix_32(at + 32, x + w.high, y);
    }
    return join(join(v.low, w.low) + fold(y) * K1 + z, join(v.high, w.high) + x);
}

/* CityHash64 of version 1.0 (Pike and Alakuijala, 2011) of n bytes. */
static uint64_t city_hash(const char *text, size_t n)
{
    return n <= 16   ? up_to_16(text, n)
           : n <= 32 ? up_to_32(text, n)
           : n <= 64 ? up_to_64(text, n)
                     : over_64(text, n);
}

uint32_t rw_catboost_hash(const char *word)
{
    return (uint32_t)city_hash(word, strlen(word));
}

/* As CatBoost mixes the hash, which is an int to it, into an empty combination of features. */
static uint64_t key_factor(void)
{
    const uint64_t once = UINT64_C(0x4906ba494954cb65);
    return once * once;
}

uint64_t rw_catboost_key(uint32_t hash)
{
    return key_factor() * (uint64_t)(int64_t)(int32_t)hash;
}

/* The factor is odd, so that it has an inverse modulo 2^64; each step doubles the right bits. */
int rw_catboost_hash_of_key(uint64_t key, uint32_t *hash)
{
    uint64_t inverse = 1;
    for (int i = 0; i < 6; i++)
        inverse *= 2 - key_factor() * inverse;
    *hash = (uint32_t)(key * inverse);
    return rw_catboost_key(*hash) == key;
}

/* ------------------------------------------------------------------ decimals */

/* Doubles for CatBoost's JSON reader. It (rapidjson without full precision) takes the digits as one
 * double and multiplies it by, or divides it by, a power of ten: two roundings, so that one in
 * eight of the shortest decimals comes out a unit in the last place away. Among the decimals that a
 * right reader takes for the number there is nearly always one that comes out right there as well:
 * with 17 to 19 digits somewhere within half a unit, or with zeros behind them, which bring in
 * other powers. One float in 15,000 or so has none. */
enum {
    MOST_DIGITS = 17, /* with a point: it counts no more */
    MOST_ZEROS = 24
};

static double right_reader(const char *text)
{
    double value = NAN;
    int clamped = 0;
    rw_number_parse_double(text, text + strlen(text), &value, &clamped);
    return value;
}

/* digits x 10^exponent, as it is computed there. */
static double scaled(double digits, int exponent)
{
    char power[16];
    if (exponent < -308) { /* denormal numbers, in two steps */
        digits /= 1e308;
        exponent += 308;
    }
    snprintf(power, sizeof(power), "1e%d", abs(exponent));
    return exponent < 0 ? digits / right_reader(power) : digits * right_reader(power);
}

/* What that reader makes of a decimal; NaN for more digits than it takes. Digits add up to a whole
 * number as long as it is below a limit (of 64 bits with the sign, of 2^53 after the point), then
 * to a double, rounded at each. */
static double their_reader(const char *text, int is_negative)
{
    uint64_t whole = 0, limit = is_negative ? INT64_MAX / 10 : UINT64_MAX / 10;
    double digits = 0;
    int n = 0, n_after = 0, is_after = 0, is_double = 0;
    for (; *text && *text != 'e'; text++) {
        if (*text == '.') {
            limit = UINT64_C(1) << 53;
            is_after = 1;
            continue;
        }
        n += n > 0 || *text != '0';
        n_after += is_after;
        is_double |= whole >= limit;
        if (is_double)
            digits = digits * 10 + (double)(*text - '0');
        else
            digits = (double)(whole = whole * 10 + (uint64_t)(*text - '0'));
    }
    if (is_after && n > MOST_DIGITS)
        return NAN;
    return scaled(digits, (*text ? (int)strtol(text + 1, NULL, 10) : 0) - n_after);
}

/* Looks for n digits and some zeros without a point, from the nearest on, in steps that reach every
 * double. */
static int find_digits(double value, int is_negative, int n, int n_zeros, char text[64])
{
    char near[48]; /* d.ddde-xx */
    snprintf(near, sizeof(near), "%.*e", n - 1, value);
    near[1] = near[0]; /* over the point */
    const uint64_t digits = strtoull(near + 1, NULL, 10);
    const int exponent = (int)strtol(strchr(near, 'e') + 1, NULL, 10) - (n - 1);
    const uint64_t step = n == 17 ? 1 : n == 18 ? 8 : 64;
    for (uint64_t i = 0; i < 48; i++) {
        const uint64_t away = (i + 1) / 2 * step;
        const uint64_t candidate = i % 2 ? digits - away : digits + away;
        const int length = snprintf(text, 32, "%llu", (unsigned long long)candidate);
        memset(text + length, '0', (size_t)n_zeros);
        snprintf(text + length + n_zeros, 16, "e%d", exponent - n_zeros);
        if (their_reader(text, is_negative) == value && right_reader(text) == value)
            return 1;
    }
    return 0;
}

void rw_catboost_put_double(struct rw_put *put, double value)
{
    char shortest[48], text[64];
    const double magnitude = fabs(value);
    const int is_negative = signbit(value) != 0;
    const int n = rw_number_write_double(magnitude, shortest);
    shortest[n] = 0;
    if (!strpbrk(shortest, ".e"))
        memcpy(shortest + n, ".0", 3);
    int is_found = 0;
    rw_put_text(put, is_negative ? "-" : "");
    if (their_reader(shortest, is_negative) == magnitude) {
        rw_put_text(put, shortest);
        return;
    }
    for (int digits = 17; digits <= 19 && !is_found; digits++)
        is_found = find_digits(magnitude, is_negative, digits, 0, text);
    for (int n_zeros = 1; n_zeros <= MOST_ZEROS && !is_found; n_zeros++)
        is_found = find_digits(magnitude, is_negative, 19, n_zeros, text);
    rw_put_text(put, is_found ? text : shortest);
}
