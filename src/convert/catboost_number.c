/* Doubles for CatBoost's JSON reader. It (rapidjson without full precision) takes the digits as one
 * double and multiplies it by, or divides it by, a power of ten: two roundings, so that one in
 * eight of the shortest decimals comes out a unit in the last place away. Among the decimals that a
 * right reader takes for the number there is nearly always one that comes out right there as well:
 * with 17 to 19 digits somewhere within half a unit, or with zeros behind them, which bring in
 * other powers. One float in 15,000 or so has none. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "convert/catboost_number.h"

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
