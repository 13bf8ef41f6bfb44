#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/exact.h"

static uint64_t next(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

/* Uniform in [low, high). */
static double uniform(uint64_t *state, double low, double high)
{
    return low + (high - low) * ((double)next(state) / 9007199254740992.0);
}

static double relative(double got, long double expected)
{
    if (expected == 0.0L)
        return got == 0.0 ? 0.0 : 1.0;
    return (double)fabsl(((long double)got - expected) / expected);
}

Test(exact, pow2)
{
    for (int e = -1022; e <= 1023; e++)
        cr_assert_eq(rw_pow2(e), ldexp(1.0, e));
}

Test(exact, log2)
{
    uint64_t state = 1;
    double worst = 0.0, at = 0.0;
    for (int i = 0; i < 2000000; i++) {
        double x;
        switch (i % 5) {
        case 0:
            x = uniform(&state, 0.5, 2.0);
            break;
        case 1:
            x = 1.0 + uniform(&state, -1e-6, 1e-6);
            break;
        case 2:
            x = 1.0 + (double)(i - 1000000) * DBL_EPSILON;
            break;
        case 3:
            x = 2.0 + i;
            break; /* discounts */
        default:   /* any normal number */
            x = rw_double_of_bits((uint64_t)(1 + next(&state) % 2046) << 52 | next(&state) >> 1);
            break;
        }
        const double error = relative(rw_log2(x), log2l((long double)x));
        if (error > worst) {
            worst = error;
            at = x;
        }
    }
    cr_assert_lt(worst, 1e-15, "error %g at %.17g", worst, at);
    for (int e = -1022; e <= 1023; e++)
        cr_assert_eq(rw_log2(ldexp(1.0, e)), (double)e);
    const double edges[] = {1.4142135623730949,
                            1.4142135623730951,
                            1.4142135623730954,
                            0.70710678118654746,
                            0.70710678118654757,
                            DBL_MAX,
                            DBL_MIN};
    for (size_t i = 0; i < sizeof(edges) / sizeof(edges[0]); i++)
        cr_assert_lt(relative(rw_log2(edges[i]), log2l((long double)edges[i])), 1e-15);
}

Test(exact, exp2)
{
    uint64_t state = 2;
    double worst = 0.0, at = 0.0;
    for (int i = 0; i < 1000000; i++) {
        const double x = i % 4 == 0   ? uniform(&state, -1000, 1000)
                         : i % 4 == 1 ? uniform(&state, -1, 1)
                         : i % 4 == 2 ? (double)(i % 2000 - 1000) + uniform(&state, -1e-9, 1e-9)
                                      : (double)(i % 1999 - 999) + 0.5;
        if (!(x >= -1000 && x <= 1000))
            continue;
        const double error = relative(rw_exp2(x), exp2l((long double)x));
        if (error > worst) {
            worst = error;
            at = x;
        }
    }
    cr_assert_lt(worst, 1e-15, "error %g at %.17g", worst, at);
    for (int e = -1000; e <= 1000; e++)
        cr_assert_eq(rw_exp2(e), ldexp(1.0, e));
}

Test(exact, expf)
{
    uint64_t state = 3;
    double worst = 0.0, at = 0.0;
    for (int i = 0; i < 4000000; i++) {
        const float x = (float)(i % 3 == 0   ? uniform(&state, -87, 88)
                                : i % 3 == 1 ? uniform(&state, -1, 1)
                                             : -87 + 175.0 * i / 4000000);
        const double expected = exp((double)x);
        /* A unit in the last place of the expected float. */
        const double ulp = ldexp(1.0, ilogb(expected) - 23);
        const double error = fabs((double)rw_expf(x) - expected) / ulp;
        if (error > worst) {
            worst = error;
            at = (double)x;
        }
    }
    cr_assert_lt(worst, 2.0, "error %g units at %.9g", worst, at);
    cr_assert_eq(rw_expf(0.0f), 1.0f);
    cr_assert_eq(rw_expf(-0.0f), 1.0f);
    /* beyond: the value at the end */
    cr_assert_eq(rw_expf(-88.0f), rw_expf(-87.0f));
    cr_assert_eq(rw_expf(-INFINITY), rw_expf(-87.0f));
    cr_assert_eq(rw_expf(89.0f), rw_expf(88.0f));
    cr_assert_eq(rw_expf(INFINITY), rw_expf(88.0f));
    cr_assert(isfinite(rw_expf(88.0f)) && rw_expf(-87.0f) >= FLT_MIN);
}

Test(exact, round_float_is_the_nearest_integer)
{
    for (float v = 0.0f; v < 40.0f; v += 0.25f) {
        cr_assert_eq(rw_round_float(v), llrintf(v), "%.9g", (double)v);
        cr_assert_eq(rw_round_float(-v), llrintf(-v), "%.9g", (double)-v);
    }
    for (int e = 24; e < 63; e++)
        cr_assert_eq(rw_round_float(ldexpf(1.9999999f, e - 1)), (int64_t)ldexpf(1.9999999f, e - 1));
}

Test(exact, round_int64)
{
    const struct {
        double value;
        int64_t expected;
    } cases[] = {
        {0.0, 0},
        {-0.0, 0},
        {0.5, 0},
        {1.5, 2},
        {2.5, 2},
        {-0.5, 0},
        {-1.5, -2},
        {-2.5, -2},
        {0.49999999999999994, 0},
        {4503599627370495.5, 4503599627370496},
        {4503599627370497.5, 4503599627370498},
        {9.2e18, 9200000000000000000},
        {-9.2e18, -9200000000000000000},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        cr_assert_eq(rw_round_int64(cases[i].value), cases[i].expected, "%.17g", cases[i].value);
    uint64_t state = 4;
    for (int i = 0; i < 1000000; i++) {
        const double value = uniform(&state, -1, 1) * rw_pow2(i % 62);
        cr_assert_eq(rw_round_int64(value), llrint(value), "%.17g", value);
    }
}

/* The bits themselves: other compilers, targets and optimisations must give these. */
Test(exact, pinned_bits)
{
    uint64_t hash = 14695981039346656037u, state = 5;
    for (int i = 0; i < 100000; i++) {
        const float f = rw_expf((float)uniform(&state, -90, 90));
        uint32_t word;
        memcpy(&word, &f, sizeof(word));
        hash = (hash ^ word) * 1099511628211u;
        hash = (hash ^ rw_bits_of_double(rw_log2(uniform(&state, 0, 1e6)))) * 1099511628211u;
        hash = (hash ^ rw_bits_of_double(rw_exp2(uniform(&state, -99, 99)))) * 1099511628211u;
    }
    cr_assert_eq(hash, 6484738685305395304u, "the hash is %llu", (unsigned long long)hash);
}
