#include <criterion/criterion.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "base/rng.h"
#include "dataset/dataset.h"
#include "each.h"

static float parse(const char *text, int *clamped)
{
    float value = NAN;
    const char *end = text + strlen(text);
    cr_assert_eq(rw_number_parse(text, end, &value, clamped), end, "%s", text);
    return value;
}

Test(number, nearest_float_as_strtof)
{
    const char *const texts[] = {
        "0",
        "1",
        "-1",
        "+3",
        "007",
        "0.1",
        ".5",
        "5.",
        "1e3",
        "1E-3",
        "1e+05",
        "3.14159265",
        "16777216",
        "16777217",
        "16777218",
        "16777219", /* ties between floats */
        "33554434",
        "33554438",
        "8388608.5",
        "8388609.5",
        "0.3000000119209289550781250",
        "1.00000005960464477539062500",
        "1.00000005960464477539062499999999999999999999999",
        "1.00000005960464477539062500000000000000000000001",
        "1.4e-45",
        "7.006492e-46",
        "7.0064923216240853546186479164495e-46",
        "7.0064923216240853546186479164496e-46",
        "1.17549435e-38",
        "1.1754943e-38",
        "5.87747e-39",
        "3.4028235e38",
        "3.40282346e38",
        "3.4028235677973365e38",
        "1e-400",
        "123456789012345678901234567890",
        "0.000000000000000000000000000000000000000000000000000012345678901234567890",
        "1797693134862315708145274237317e-300",
        "9007199254740993",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        int clamped;
        const float value = parse(texts[i], &clamped), expected = strtof(texts[i], NULL);
        cr_assert_eq(rw_bits_of_float(value), rw_bits_of_float(expected), "%s: %a, %a", texts[i],
                     (double)value, (double)expected);
        cr_assert_eq(clamped, 0);
    }
}

Test(number, beyond_the_range_is_the_largest_float)
{
    const char *const texts[] = {"1e39",
                                 "3.4028236e38",
                                 "3.40282356779733661637539395458142568448e38",
                                 "1.79769313486e+308",
                                 "1e999999999999999999999",
                                 "1e5000"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        int clamped = 0;
        cr_assert_eq(parse(texts[i], &clamped), FLT_MAX, "%s", texts[i]);
        cr_assert_eq(clamped, 1, "%s", texts[i]);
    }
    int clamped = 0;
    cr_assert_eq(parse("-1.79769313486e+308", &clamped), -FLT_MAX);
    cr_assert_eq(clamped, 1);
}

Test(number, zero_has_no_sign)
{
    const char *const texts[] = {"-0",     "-0.0",     "-0e5",
                                 "-1e-60", "-0e99999", "-1e-99999999999999999999"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        int clamped;
        cr_assert_eq(rw_bits_of_float(parse(texts[i], &clamped)), 0, "%s", texts[i]);
    }
}

Test(number, stops_where_the_number_ends)
{
    const struct {
        const char *text;
        int n; /* bytes read; -1: no number */
    } cases[] = {{"1x", 1},   {"1e", 1},   {"1e+", 1}, {"1.2.3", 3}, {"0x10", 1}, {"1,5", 1},
                 {"inf", -1}, {"nan", -1}, {"", -1},   {"-", -1},    {".", -1},   {"e5", -1},
                 {"--1", -1}, {" 1", -1},  {"+.", -1}, {"1_000", 1}, {"5.e1", 4}, {"NULL", -1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const char *text = cases[i].text;
        float value;
        double wide;
        int clamped;
        const char *end = cases[i].n < 0 ? NULL : text + cases[i].n;
        cr_assert_eq(rw_number_parse(text, text + strlen(text), &value, &clamped), end, "%s", text);
        cr_assert_eq(rw_number_parse_double(text, text + strlen(text), &wide, &clamped), end);
    }
}

Test(number, never_reads_past_the_end)
{
    const char text[] = {'1', '2', '3', '4'};
    float value;
    int clamped;
    for (int n = 1; n <= 4; n++) {
        cr_assert_eq(rw_number_parse(text, text + n, &value, &clamped), text + n);
        cr_assert_eq((int)value, n == 1 ? 1 : n == 2 ? 12 : n == 3 ? 123 : 1234);
    }
}

Test(number, very_many_digits)
{
    enum { N = 300000 };
    char *text = malloc(N + 32);
    int clamped;
    memset(text, '0', N);
    text[1] = '.';
    strcpy(text + N, "15e299999"); /* 0.000...015e299999 */
    float expected = strtof(text, NULL);
    cr_assert_eq(parse(text, &clamped), expected);
    memset(text, '3', N);
    strcpy(text + N, "e-299999");
    cr_assert_float_eq(parse(text, &clamped), 3.3333333f, 0);
    free(text);
}

Test(number, double_as_strtod)
{
    const char *const texts[] = {
        "0.1", "1e22", "1e23", "9007199254740993", "1.7976931348623157e308", "4.9e-324",
        "2.4703282292062327e-324", "2.2250738585072014e-308", "0.30000000000000004",
        "123456789012345678901234567890e-20",
        /* ties of doubles, and numbers next to them */
        "9007199254740995", "18014398509481982", "18014398509481986", "18014398509481986.1",
        "18014398509481985.9", "4503599627370497.5", "4503599627370498.5", "4503599627370498.501",
        "18446744073709551615", "9999999999999999999", "9223372036854775807e-19", "1e-19",
        "10000000000000000000e-19", "9007199254740993e-16"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        double value;
        int clamped;
        rw_number_parse_double(texts[i], texts[i] + strlen(texts[i]), &value, &clamped);
        cr_assert_eq(value, strtod(texts[i], NULL), "%s", texts[i]);
        cr_assert_eq(clamped, 0);
    }
    double value;
    int clamped;
    const char *big = "-1e309";
    cr_assert_eq(rw_number_parse_double(big, big + 6, &value, &clamped), big + 6);
    cr_assert_eq(value, -DBL_MAX);
    cr_assert_eq(clamped, 1);
}

/* Any 16 to 20 digits with up to 21 of them after the point. */
Test(number, long_doubles_as_strtod)
{
    for (uint64_t i = 0; i < 300000; i += EACH(10)) {
        const uint64_t high = rw_random(21, i, 0, 1001), low = rw_random(22, i, 0, 1001);
        const uint64_t digits = (high << 32 | low) >> rw_random(23, i, 0, 1001) % 12;
        const int power = (int)(rw_random(24, i, 0, 1001) % 22);
        char text[64];
        double value;
        int clamped;
        const int n = snprintf(text, sizeof(text), "%llue-%d", (unsigned long long)digits, power);
        cr_assert_eq(rw_number_parse_double(text, text + n, &value, &clamped), text + n);
        cr_assert_eq(value, strtod(text, NULL), "%s", text);
    }
}

Test(number, written_short)
{
    const struct {
        float value;
        const char *text;
    } cases[] = {{0, "0"},
                 {1, "1"},
                 {-2.5f, "-2.5"},
                 {0.1f, "0.1"},
                 {1e-45f, "1e-45"},
                 {FLT_MAX, "3.4028235e38"},
                 {-FLT_MIN, "-1.1754944e-38"},
                 {16777216, "16777216"},
                 {0.00012345678f, "0.00012345678"},
                 {9.8607613e-32f, "9.8607613e-32"}, /* 2^-103: floats stand closer below */
                 {1e10f, "1e10"},
                 {100, "100"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[16];
        const int n = rw_number_write(cases[i].value, text);
        cr_assert_str_eq(text, cases[i].text);
        cr_assert_eq((size_t)n, strlen(text));
    }
    char text[16];
    rw_number_write(NAN, text);
    cr_assert_str_eq(text, "nan");
}

Test(number, what_is_written_reads_back)
{
    uint32_t state = 12345;
    for (int i = 0; i < 300000; i += EACH(10)) {
        state = state * 1664525u + 1013904223u;
        const float value = rw_float_of_bits(state ^ state >> 13);
        if (!isfinite(value))
            continue;
        char text[16];
        int clamped;
        const int n = rw_number_write(value, text);
        cr_assert_lt(n, 16);
        cr_assert_eq(parse(text, &clamped), value, "%s", text);
    }
    const double doubles[] = {0.1, 1.0 / 3, 5e-324, DBL_MAX, -DBL_MIN, 1e15, 123456789.125, 1e-7};
    for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++) {
        char text[32];
        const int n = rw_number_write_double(doubles[i], text);
        double back;
        int clamped;
        cr_assert_lt(n, 32);
        rw_number_parse_double(text, text + n, &back, &clamped);
        cr_assert_eq(back, doubles[i], "%s", text);
    }
}

static void assert_exact(double value)
{
    char text[32], expected[32];
    int length = 0;
    for (int digits = 15; digits <= 17; digits++) {
        length = snprintf(expected, sizeof(expected), "%.*g", digits, value);
        if (strtod(expected, NULL) == value)
            break;
    }
    cr_assert_eq(rw_number_write_exact(value, text), length, "%a", value);
    cr_assert_str_eq(text, expected, "%a", value);
}

/* The value and its neighbours. */
static void assert_exact_near(double value)
{
    double below = value, above = value;
    assert_exact(value);
    for (int i = 0; i < 20; i++) {
        assert_exact(below = nextafter(below, -INFINITY));
        assert_exact(above = nextafter(above, INFINITY));
    }
}

Test(number, exact_as_the_c_library)
{
    const double doubles[] = {0,       -0.0, NAN,  INFINITY, 5e-324, DBL_MIN, DBL_MAX, 0.1, 1.0 / 3,
                              2.0 / 3, 0.3,  1e22, 0.5,      0.375,  1e300,   123456,  1e5, 7};
    for (size_t i = 0; i < sizeof(doubles) / sizeof(*doubles); i++) {
        assert_exact(doubles[i]);
        assert_exact(-doubles[i]);
    }
    for (int power = -7; power < 18; power++) /* where digits become more */
        assert_exact_near(pow(10, power));
    for (int power = -20; power < 60; power++) /* below these, doubles stand closer */
        assert_exact_near(ldexp(1, power));
    uint64_t state = 1;
    for (int i = 0; i < 200000 / EACH(10); i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        const double part = (double)(state >> 11);
        assert_exact(ldexp(part, (int)(state % 70) - 70));
        assert_exact((double)(state >> 40) / 64); /* some lie in the middle of two decimals */
        assert_exact((double)(float)ldexp(part, -53) - (double)(float)ldexp(part, -55));
        assert_exact(rw_double_of_bits(state ^ state >> 29));
    }
}

Test(number, no_locale_matters)
{
    if (!setlocale(LC_ALL, "de_DE.UTF-8") && !setlocale(LC_ALL, "fr_FR.UTF-8"))
        cr_skip_test("no locale with a decimal comma is installed");
    int clamped;
    cr_assert_eq(parse("16777217.5", &clamped), 16777218.0f);
    char text[32];
    rw_number_write_double(1.0 / 3, text);
    cr_assert_str_eq(text, "0.3333333333333333");
    rw_number_write_exact(1.0 / 3, text);
    cr_assert_str_eq(text, "0.3333333333333333");
    rw_number_write_exact(1e20 / 3, text);
    cr_assert_str_eq(text, "3.333333333333333e+19");
    cr_assert_str_eq(localeconv()->decimal_point, ",");
}

Test(number, device_numbers)
{
    static const struct {
        const char *device;
        int number;
        size_t length;
    } cases[] = {
        {"cpu", 0, 3},
        {"cuda", 0, 4},
        {"cuda:0", 0, 4},
        {"cuda:255", 255, 4},
        {"cuda:256", -1, 4},
        {"cuda:", -1, 4},
        {"cuda:-1", -1, 4},
        {"cuda:1x", -1, 4},
        {"cuda: 1", -1, 4},
        {"cpu:0", -1, 3},
        {"cuda:99999999999", -1, 4},
        {"", 0, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t length = 99;
        cr_expect_eq(rw_device_number(cases[i].device, &length), cases[i].number, "%s",
                     cases[i].device);
        cr_expect_eq(length, cases[i].length, "%s", cases[i].device);
    }
}
