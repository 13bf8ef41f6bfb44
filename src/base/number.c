/* Converts decimal text to the nearest float or double and back, independent of the locale. Also
 * reads whole numbers and device names, and sorts doubles.
 *
 * A float is first computed in double. That needs at most three roundings (digits, power of ten,
 * product), each with a relative error of 2^-53, so the double is within 4 units in the last place
 * of the true value. It determines the nearest float, with two exceptions: it is that close to the
 * middle of two floats, or it is outside the normal floats. Only such texts use strtof in the C
 * locale. A double is computed with one rounding if digits and power of ten are small enough, and
 * by strtod in the C locale otherwise. */
#include "base/ctx.h"

#include <float.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/exact.h"
#include "base/system.h"

enum {
    MOST_POWER = 70,
    EXACT_POWER = 22,  /* 10^22 is the largest power of ten that a double represents exactly */
    EXACT_DIGITS = 19, /* number of decimal digits that always fit into 64 bits */
    /* Digits after this many only mean "slightly more". The middle of two floats has at most 113
     * significant digits, that of two doubles 768. */
    FLOAT_DIGITS = 120,
    DOUBLE_DIGITS = 780,
    PLAIN_LEAD = 9 /* numbers below 10^(this + 1) are written without a positive exponent */
};

#define EXPONENT_LIMIT INT64_C(100000000000000000)

static const double power_of_ten[MOST_POWER + 1] = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14,
    1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27, 1e28, 1e29,
    1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41, 1e42, 1e43, 1e44,
    1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53, 1e54, 1e55, 1e56, 1e57, 1e58, 1e59,
    1e60, 1e61, 1e62, 1e63, 1e64, 1e65, 1e66, 1e67, 1e68, 1e69, 1e70};

/* Returns 5^n, for n from 0 to EXACT_POWER. */
static uint64_t power_of_five(int n)
{
    return (uint64_t)(power_of_ten[n] * rw_pow2(-n));
}

/* The number digits x 10^exponent, and its text for the slow path. */
struct decimal {
    uint64_t digits;
    int64_t exponent;
    int64_t written_exponent; /* the exponent after 'e' */
    int negative;
    int cut;                  /* 1: nonzero digits that did not fit were dropped */
    const char *first, *last; /* digits and decimal point as written */
};

static locale_t c_locale;
static pthread_once_t c_locale_once = PTHREAD_ONCE_INIT;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

static inline int is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

/* Writes the first n_most significant digits to `text`, and their power of ten to *exponent.
 * Returns the number of digits. text: [n_most]. *cut: set to 1 if nonzero digits were dropped. */
static int first_digits(const struct decimal *d, int n_most, char *text, int64_t *exponent,
                        int *cut)
{
    int n = 0, in_fraction = 0;
    *exponent = d->written_exponent;
    for (const char *p = d->first; p < d->last; p++) {
        if (*p == '.') {
            in_fraction = 1;
        } else if (n < n_most) {
            if (n || *p != '0')
                text[n++] = *p;
            *exponent -= in_fraction;
        } else {
            *exponent += !in_fraction;
            *cut |= *p != '0';
        }
    }
    return n;
}

static const char *scan_exponent(const char *p, const char *end, int64_t *exponent)
{
    const char *q = p + 1;
    int negative = 0;
    if (q < end && (*q == '-' || *q == '+'))
        negative = *q++ == '-';
    if (q == end || !is_digit(*q))
        return p;
    int64_t e = 0;
    for (; q < end && is_digit(*q); q++) {
        if (e < EXPONENT_LIMIT)
            e = e * 10 + (*q - '0');
    }
    *exponent = negative ? -e : e;
    return q;
}

static inline const char *scan(const char *p, const char *end, struct decimal *d)
{
    d->negative = 0;
    d->cut = 0;
    d->written_exponent = 0;
    if (p < end && (*p == '-' || *p == '+'))
        d->negative = *p++ == '-';
    d->first = p;
    uint64_t digits = 0;
    while (p < end && is_digit(*p))
        digits = digits * 10 + (uint64_t)(*p++ - '0');
    int64_t n_digits = p - d->first, n_fraction = 0;
    if (p < end && *p == '.') {
        const char *point = p++;
        while (p < end && is_digit(*p))
            digits = digits * 10 + (uint64_t)(*p++ - '0');
        n_fraction = p - point - 1;
        n_digits += n_fraction;
    }
    if (n_digits == 0)
        return NULL;
    d->last = p;
    if (p < end && (*p == 'e' || *p == 'E'))
        p = scan_exponent(p, end, &d->written_exponent);
    d->digits = digits;
    d->exponent = d->written_exponent - n_fraction;
    if (n_digits > EXACT_DIGITS) { /* more than fit into 64 bits */
        char text[EXACT_DIGITS + 1];
        text[first_digits(d, EXACT_DIGITS, text, &d->exponent, &d->cut)] = 0;
        d->digits = strtoull(text, NULL, 10);
    }
    return p;
}

/* Reads the decimal by the C library, as "digits e exponent" with at most n_most digits. A final 1
 * represents dropped digits. The result is rounded to float or to double. */
static double read_slowly(const struct decimal *d, int n_most, int as_float)
{
    char text[DOUBLE_DIGITS + 40];
    int64_t exponent;
    int more = 0, n = first_digits(d, n_most, text, &exponent, &more);
    if (more) {
        text[n++] = '1';
        exponent--;
    }
    exponent = exponent > 100000 ? 100000 : exponent < -100000 ? -100000 : exponent;
    snprintf(text + n, 32, "e%d", (int)exponent);
    pthread_once(&c_locale_once, make_c_locale);
    if (as_float)
        return (double)(c_locale ? strtof_l(text, NULL, c_locale) : strtof(text, NULL));
    return c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
}

/* Finds the nearest float if a double near it determines it; otherwise returns 0. digits > 0. */
static inline int float_fast(uint64_t digits, int64_t exponent, float *value)
{
    double x;
    if (exponent < 0) {
        if (exponent < -MOST_POWER) {
            *value = 0; /* under 2^64 x 10^-71, far below the smallest float */
            return 1;
        }
        x = (double)digits / power_of_ten[-exponent];
    } else {
        if (exponent > MOST_POWER)
            return 0;
        x = (double)digits * power_of_ten[exponent];
    }
    if (!(x >= 1.1755e-38 && x <= 3.4028e38))
        return 0;
    /* the bits that a float cannot represent */
    const uint32_t below = (uint32_t)(rw_bits_of_double(x) & 0x1fffffff);
    if (below - (0x10000000u - 8) <= 16)
        return 0;
    *value = (float)x;
    return 1;
}

const char *rw_number_parse(const char *text, const char *end, float *value, int *clamped)
{
    struct decimal d;
    const char *p = scan(text, end, &d);
    *clamped = 0;
    if (!p)
        return NULL;
    float x = 0;
    if (d.digits != 0 && !float_fast(d.digits, d.exponent, &x)) {
        x = d.exponent > MOST_POWER ? INFINITY : (float)read_slowly(&d, FLOAT_DIGITS, 1);
        if (x > FLT_MAX) {
            x = FLT_MAX;
            *clamped = 1;
        }
    }
    *value = d.negative && x != 0 ? -x : x;
    return p;
}

/* Returns the double nearest to digits / 10^power, ties to even. digits > 0, power at most
 * EXACT_DIGITS. The digits are shifted up to the highest bit. The first 64 bits of the quotient and
 * whether a remainder is left determine the result. */
static double nearest_quotient(uint64_t digits, int power)
{
    const uint64_t divisor = (uint64_t)power_of_ten[power];
    const int shift = __builtin_clzll(digits);
    const uint64_t high = (digits << shift) / divisor;
    const rw_uint128 rest = (rw_uint128)((digits << shift) % divisor) << 64, low = rest / divisor;
    /* the lowest bit has the value 2^(-64 - shift) */
    const rw_uint128 all = ((rw_uint128)high << 64) + low;
    const int extra = high ? 64 - __builtin_clzll(high) : 0;
    const uint64_t top = (uint64_t)(all >> extra);
    const int more = (rw_uint128)top << extra != all || low * divisor != rest;
    const uint64_t below = top & 0x7ff, half = 0x400, bits = top >> 11; /* bits: the 53 bits of the
                                                                           result */
    const int exponent = 11 + extra - 64 - shift;
    const int up = below > half || (below == half && (more || bits & 1));
    return (double)(bits + (uint64_t)up) * rw_double_of_bits((uint64_t)(1023 + exponent) << 52);
}

const char *rw_number_parse_double(const char *text, const char *end, double *value, int *clamped)
{
    struct decimal d;
    const char *p = scan(text, end, &d);
    *clamped = 0;
    if (!p)
        return NULL;
    double x = 0;
    if (d.digits != 0) {
        /* both factors are exact, so there is one rounding (Clinger 1990) */
        if (d.digits <= UINT64_C(1) << 53 && !d.cut && d.exponent >= -EXACT_POWER &&
            d.exponent <= EXACT_POWER)
            x = d.exponent < 0 ? (double)d.digits / power_of_ten[-d.exponent]
                               : (double)d.digits * power_of_ten[d.exponent];
        else if (!d.cut && d.exponent <= 0 && d.exponent >= -EXACT_DIGITS)
            x = nearest_quotient(d.digits, (int)-d.exponent);
        else
            x = read_slowly(&d, DOUBLE_DIGITS, 0);
        if (x > DBL_MAX) {
            x = DBL_MAX;
            *clamped = 1;
        }
    }
    *value = d.negative && x != 0 ? -x : x;
    return p;
}

/* Writes digits x 10^exponent. If the first digit's power of ten is from -4 to most_lead, the text
 * is plain, otherwise it has an exponent. as_c: the exponent has at least two digits and a sign, as
 * in C. */
static int write_decimal(int negative, uint64_t digits, int exponent, int most_lead, int as_c,
                         char *buffer)
{
    char room[24], *text = room + sizeof(room);
    while (digits % 10 == 0 && digits) {
        digits /= 10;
        exponent++;
    }
    do {
        *--text = (char)('0' + digits % 10);
        digits /= 10;
    } while (digits);
    const int n = (int)(room + sizeof(room) - text);
    const int lead = n - 1 + exponent; /* power of ten of the first digit */
    char *p = buffer;
    if (negative)
        *p++ = '-';
    if (lead < -4 || lead > most_lead) {
        *p++ = text[0];
        if (n > 1) {
            *p++ = '.';
            memcpy(p, text + 1, (size_t)n - 1);
            p += n - 1;
        }
        p += snprintf(p, 8, as_c ? "e%+03d" : "e%d", lead);
    } else if (lead < 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = -1; i > lead; i--)
            *p++ = '0';
        memcpy(p, text, (size_t)n);
        p += n;
    } else {
        for (int i = 0; i <= lead || i < n; i++) {
            if (i == lead + 1)
                *p++ = '.';
            *p++ = i < n ? text[i] : '0';
        }
    }
    *p = 0;
    return (int)(p - buffer);
}

static float float_of(uint64_t digits, int exponent)
{
    char text[24];
    float x;
    if (float_fast(digits, exponent, &x))
        return x;
    const int n = snprintf(text, sizeof(text), "%llu", (unsigned long long)digits);
    const struct decimal d = {digits, exponent, exponent, 0, 0, text, text + n};
    return (float)read_slowly(&d, FLOAT_DIGITS, 1);
}

/* In the normal range, every decimal of 6 digits is restored from its float. Therefore the search
 * starts at 6 digits: shorter decimals appear there with zeros at the end, which are not written.
 * From 6 digits on, the nearest decimal and its neighbour on the other side are tried. The
 * neighbour can be the right one next to a power of two, where floats below are closer together
 * than floats above. */
int rw_number_write(float value, char *buffer)
{
    if (isnan(value))
        return snprintf(buffer, 16, "nan");
    const int negative = value < 0;
    const float x = negative ? -value : value;
    if (x == 0)
        return snprintf(buffer, 16, "0");
    if (isinf(x))
        return snprintf(buffer, 16, "%sinf", negative ? "-" : "");
    if (x < 16777216.0f && x == (float)(uint32_t)x)
        return write_decimal(negative, (uint32_t)x, 0, PLAIN_LEAD, 0, buffer);
    int lead = 0;
    while (lead < 38 && (double)x >= power_of_ten[lead + 1])
        lead++;
    while (lead <= 0 && (double)x * power_of_ten[-lead] < 1)
        lead--;
    for (int n = x < FLT_MIN ? 1 : 6; n <= 9; n++) {
        const int exponent = lead - n + 1;
        const double scaled =
            exponent < 0 ? (double)x * power_of_ten[-exponent] : (double)x / power_of_ten[exponent];
        const uint64_t below = (uint64_t)scaled;
        const int up = scaled - (double)below >= 0.5;
        for (int i = 0; i < 2; i++) {
            const uint64_t digits = below + (uint64_t)(i == 0 ? up : !up);
            if (digits && float_of(digits, exponent) == x)
                return write_decimal(negative, digits, exponent, PLAIN_LEAD, 0, buffer);
        }
    }
    return snprintf(buffer, 16, "nan"); /* unreachable: 9 digits distinguish all floats */
}

/* Rounds x, finite and positive, to n digits by the C library: digits x 10^exponent. Returns
 * whether that reads back as x. */
static int printed_digits(double x, int n, uint64_t *digits, int *exponent)
{
    char text[40], digit_text[24];
    int n_digits = 0, clamped;
    double back;
    snprintf(text, sizeof(text), "%.*e", n - 1, x);
    /* take only the digits before 'e', since the decimal point depends on the locale */
    const char *p = text;
    for (; *p && *p != 'e'; p++) {
        if (is_digit(*p))
            digit_text[n_digits++] = *p;
    }
    digit_text[n_digits] = 0;
    *digits = strtoull(digit_text, NULL, 10);
    *exponent = atoi(p + 1) - (n_digits - 1);
    const int length = write_decimal(0, *digits, *exponent, PLAIN_LEAD, 0, text);
    rw_number_parse_double(text, text + length, &back, &clamped);
    return back == x && !clamped;
}

/* Returns the decimal of n digits (15 to 17) nearest to m x 2^e, ties to even. 10^lead is the power
 * of its first digit. Scaled by 10^p the value is m x 5^p / 2^shift, which fits into 128 bits.
 * *back: no other double is nearer to the decimal, or as near. */
static uint64_t nearest_digits(uint64_t m, int e, int lead, int n, int *back)
{
    const int p = n - 1 - lead, shift = -(e + p);
    const rw_uint128 scaled = (rw_uint128)m * power_of_five(p), unit = (rw_uint128)1 << shift;
    const rw_uint128 rest = scaled & (unit - 1);
    const uint64_t below = (uint64_t)(scaled >> shift);
    const int up = rest * 2 > unit || (rest * 2 == unit && below % 2);
    const rw_uint128 off = up ? unit - rest : rest;
    /* the double below a power of two is half as far away; but those here, 2^-13 to 2^49, have at
     * most 15 digits, so they are exact */
    *back = off * 2 < power_of_five(p);
    return below + (uint64_t)up;
}

/* Finds the fewest digits, from `least` to 17, that read back as x, finite and positive: x is
 * digits x 10^exponent. Returns the number of digits. It uses exact integers if digits and exponent
 * are small enough. As doubles, 1e-4 to 1e-1 are slightly more than these powers of ten, with no
 * double between, so `lead` is exact. */
static int shortest_digits(double x, int least, uint64_t *digits, int *exponent)
{
    enum { LEAST_LEAD = -4, MOST_LEAD = 14 };
    static const double powers[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0,  1e1,  1e2,  1e3,  1e4,  1e5,
                                    1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const int is_exact = x >= powers[0] && x < powers[MOST_LEAD - LEAST_LEAD + 1];
    const uint64_t bits = rw_bits_of_double(x);
    int lead = LEAST_LEAD;
    while (is_exact && x >= powers[lead - LEAST_LEAD + 1])
        lead++;
    for (int n = least;; n++) {
        int back;
        if (is_exact) {
            *digits = nearest_digits((bits & (UINT64_MAX >> 12)) | UINT64_C(1) << 52,
                                     (int)(bits >> 52) - 1023 - 52, lead, n, &back);
            *exponent = lead - n + 1;
        } else {
            back = printed_digits(x, n, digits, exponent);
        }
        if (back || n >= 17)
            return n;
    }
}

int rw_number_write_double(double value, char *buffer)
{
    uint64_t digits;
    int exponent;
    if (isnan(value))
        return snprintf(buffer, 32, "nan");
    if (value == 0)
        return snprintf(buffer, 32, "0");
    if (isinf(value))
        return snprintf(buffer, 32, "%sinf", value < 0 ? "-" : "");
    const double x = fabs(value);
    shortest_digits(x, x < DBL_MIN ? 1 : 15, &digits, &exponent);
    return write_decimal(value < 0, digits, exponent, PLAIN_LEAD, 0, buffer);
}

int rw_number_write_exact(double value, char *buffer)
{
    uint64_t digits;
    int exponent;
    if (!isfinite(value) || value == 0)
        return snprintf(buffer, 32, "%g", value);
    const int n = shortest_digits(fabs(value), 15, &digits, &exponent);
    return write_decimal(value < 0, digits, exponent, n - 1, 1, buffer);
}

const char *rw_number_digits(const char *text, uint64_t most, uint64_t *value)
{
    const char *p = text;
    *value = 0;
    for (; is_digit(*p); p++) {
        const unsigned digit = (unsigned)*p - '0';
        if (digit > most || *value > (most - digit) / 10)
            return NULL;
        *value = *value * 10 + digit;
    }
    return p > text ? p : NULL;
}

int rw_number_whole(const char *text, uint64_t most, uint64_t *value)
{
    const char *end = rw_number_digits(text, most, value);
    return end && *end == 0;
}

int rw_device_number(const char *device, size_t *length)
{
    uint64_t number;
    *length = strcspn(device, ":");
    if (!device[*length])
        return 0;
    return strncmp(device, "cuda:", 5) == 0 &&
                   rw_number_whole(device + *length + 1, RW_MAX_DEVICE, &number)
               ? (int)number
               : -1;
}

void rw_sort(void *all, size_t n, size_t size, int (*compare)(const void *, const void *))
{
    if (n > 1)
        qsort(all, n, size, compare);
}

int rw_by_u32(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

int rw_by_float(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void rw_sort_doubles(double *numbers, size_t n)
{
    RW_SORT(numbers, n, by_size);
}
