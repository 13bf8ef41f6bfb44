#include <math.h>
#include <stdint.h>

#include "train_fixture.h"
#include "tree/numbers.h"

__extension__ typedef __int128 wide;

static int64_t random_int64(uint32_t i)
{
    const struct rw_philox r = rw_random4(11, i, 0, FIXTURE_STREAM);
    const int64_t v = (int64_t)((uint64_t)r.word[0] << 32 | r.word[1]);
    return v >> (2 + r.word[2] % 61);
}

Test(numbers, the_shift_is_the_smallest)
{
    for (uint32_t i = 0; i < 20000; i++) {
        const int64_t v = random_int64(i), largest = v < 0 ? -v : v;
        const int bits = 4 + (int)(i % 13);
        const int64_t most = ((int64_t)1 << (bits - 1)) - 2;
        const int s = rw_quantise_shift(largest, bits);
        cr_assert_leq(largest >> s, most);
        cr_assert(s == 0 || (largest >> (s - 1)) > most);
    }
    cr_assert_eq(rw_quantise_shift(0, 8), 0);
    cr_assert_eq(rw_quantise_shift(126, 8), 0);
    cr_assert_eq(rw_quantise_shift(127, 8), 1);
    cr_assert_eq(rw_quantise_shift(6, 4), 0);
}

Test(numbers, quantised_within_a_unit_and_the_limit)
{
    for (uint32_t i = 0; i < 20000; i++) {
        const int64_t v = random_int64(i);
        const int bits = 4 + (int)(i % 13);
        const int s = rw_quantise_shift(v < 0 ? -v : v, bits);
        const int32_t nearest = rw_quantise(v, s, 1, 0);
        const int32_t stochastic = rw_quantise(v, s, 0, rw_random(3, i, 0, FIXTURE_STREAM));
        const int32_t limit = rw_quantise_limit(bits);
        cr_assert(nearest <= limit && nearest >= -limit && stochastic <= limit &&
                  stochastic >= -limit);
        const double exact = ldexp((double)v, -s);
        cr_assert_leq(fabs(nearest - exact), 0.5000001);
        cr_assert_lt(fabs(stochastic - exact), 1.0000001);
        if (s == 0)
            cr_assert_eq(stochastic, v);
    }
    /* halves go up */
    cr_assert_eq(rw_quantise(3, 1, 1, 0), 2);
    cr_assert_eq(rw_quantise(-3, 1, 1, 0), -1);
}

Test(numbers, stochastic_rounding_is_unbiased)
{
    static const int shifts[] = {1, 5, 20, 32, 33, 40, 53};
    for (size_t k = 0; k < sizeof(shifts) / sizeof(shifts[0]); k++) {
        const int s = shifts[k];
        for (int fraction = 1; fraction < 8; fraction += 3) {
            const int64_t v = -((int64_t)5 << s) + (((int64_t)1 << s) * fraction >> 3);
            const double exact = ldexp((double)v, -s);
            double sum = 0.0;
            enum { N = 20000 };
            for (uint32_t i = 0; i < N; i++)
                sum += rw_quantise(v, s, 0, rw_random(k, i, (uint32_t)fraction, FIXTURE_STREAM));
            cr_assert_float_eq(sum / N, exact, 0.02, "shift %d: %g, expected %g", s, sum / N,
                               exact);
        }
    }
}

Test(numbers, sums_are_exact)
{
    struct rw_sum sum = {0}, half[2] = {{0}, {0}};
    wide lambda = 0, weight = 0;
    for (uint32_t i = 0; i < 50000; i++) {
        const int64_t l = random_int64(i), raw = random_int64(i + 100000), w = raw < 0 ? -raw : raw;
        rw_sum_add(&sum, l, w);
        rw_sum_add(&half[i % 3 == 0], l, w);
        lambda += l;
        weight += w;
    }
    cr_assert((wide)sum.lambda_hi * 4294967296 + sum.lambda_lo == lambda);
    cr_assert((wide)sum.hess_hi * 4294967296 + sum.hess_lo == weight);
    rw_sum_merge(&half[0], &half[1]);
    cr_assert_eq(half[0].n, 50000);
    cr_assert_eq(half[0].lambda_hi, sum.lambda_hi);
    cr_assert_eq(half[0].lambda_lo, sum.lambda_lo);
    cr_assert_float_eq(rw_sum_real(sum.lambda_hi, sum.lambda_lo, 40), ldexp((double)lambda, -40),
                       1e-15 * fabs(ldexp((double)lambda, -40)));
}

/* The nearest double to the total, however it is split into words. */
Test(numbers, sums_are_rounded_once)
{
    for (uint32_t i = 0; i < 20000; i++) {
        const struct rw_philox r = rw_random4(12, i, 0, FIXTURE_STREAM);
        const int64_t hi = random_int64(i) >> 12, lo = r.word[0], moved = r.word[1] >> 2;
        const wide total = (wide)hi * 4294967296 + lo;
        const double expected = ldexp((double)total, -40);
        cr_assert_eq(rw_sum_real(hi, lo, 40), expected);
        cr_assert_eq(rw_sum_real(hi - moved, lo + moved * 4294967296, 40), expected);
        cr_assert_eq(rw_sum_real(hi + moved, lo - moved * 4294967296, 40), expected);
    }
}

/* The largest magnitudes are scaled into [2^60, 2^61), except those that a scale of 2^400 leaves
 * below it.
 */
Test(numbers, exponents_of_a_tree)
{
    static const struct {
        double largest;
        int exponent;
    } cases[] = {{1, 60},         {1.9999999999999998, 60}, {2, 59},          {0x1p60, 0},
                 {0x1p-340, 400}, {0x1.8p-340, 400},        {0x1p-339, 399},  {0x1p-341, 400},
                 {5e-324, 400},   {0x1p1023, -963},         {0x1p-1022, 400}, {0, 40},
                 {0x1.fp-20, 80}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        cr_expect_eq(rw_fixed_exponent(cases[i].largest, 40), cases[i].exponent, "%a",
                     cases[i].largest);
}

Test(numbers, gains_of_splits)
{
    struct rw_split_rule rule = {.gain_scale = 0.25, .min_docs = 2, .hess_unit = 1.0};
    const struct rw_cell left = {4, 0, 10}, right = {6, 0, -2}, all = {10, 0, 8};
    const double parent = rw_side_gain(&rule, &all);
    cr_assert_eq(parent, 6.4);
    cr_assert_eq(rw_split_gain(&rule, &left, &right, parent), (25.0 + 4.0 / 6.0 - 6.4) * 0.25);
    rule.min_docs = 4;
    cr_assert_gt(rw_split_gain(&rule, &left, &right, parent), 0.0);
    rule.min_docs = 5;
    cr_assert_eq(rw_split_gain(&rule, &left, &right, parent), 0.0);
    rule.min_docs = 1;
    rule.given.min_gain = rw_split_gain(&rule, &left, &right, parent);
    cr_assert_eq(rw_split_gain(&rule, &left, &right, parent), 0.0); /* more than min_gain */
    rule.given.min_gain = 0.0;
    rule.l2 = 4.0;
    cr_assert_eq(rw_side_gain(&rule, &left), 100.0 / 8.0);
    /* newton: weights in the place of counts, none is no candidate */
    rule.newton = 1;
    rule.l2 = 0.0;
    const struct rw_cell some = {4, 8, 10}, none = {6, 0, -2};
    cr_assert_eq(rw_side_gain(&rule, &some), 12.5);
    cr_assert_eq(rw_split_gain(&rule, &some, &none, 0.0), 0.0);
    rule.hess_unit = 0.5;
    rule.given.min_hessian = 4.0;
    cr_assert(rw_side_allowed(&rule, &some));
    rule.given.min_hessian = 4.000001;
    cr_assert(!rw_side_allowed(&rule, &some));
}

/* Noise decides between features, whose splits have different noise, and never among splits of one
 * feature. A split without a gain is not chosen, whatever its noise. */
Test(numbers, comparison_of_gains_with_noise)
{
    cr_expect_gt(rw_compare_gains(9.0, 0.0, 4.0, 0.0), 0);
    cr_expect_lt(rw_compare_gains(4.0, 0.0, 9.0, 0.0), 0);
    cr_expect_eq(rw_compare_gains(4.0, 0.0, 4.0, 0.0), 0);
    cr_expect_gt(rw_compare_gains(9.0, 1.0, 4.0, 1.5), 0); /* 4 against 3.5 */
    cr_expect_eq(rw_compare_gains(9.0, 1.0, 4.0, 2.0), 0);
    cr_expect_lt(rw_compare_gains(9.0, 1.0, 4.0, 2.5), 0);
    cr_expect_gt(rw_compare_gains(4.0, 2.5, 9.0, 1.0), 0);
    /* With the same noise, gains differ even if their square roots are equal as doubles. */
    const double above = nextafter(4.0, 5.0);
    cr_assert_eq(sqrt(above), 2.0);
    cr_expect_gt(rw_compare_gains(above, 7.0, 4.0, 7.0), 0);
    cr_expect_lt(rw_compare_gains(4.0, 7.0, above, 7.0), 0);
    cr_expect_lt(rw_compare_gains(0.0, 100.0, 1e-300, 0.5), 0);
    cr_expect_gt(rw_compare_gains(1e-300, 0.5, 0.0, 100.0), 0);
    cr_expect_eq(rw_compare_gains(0.0, 100.0, 0.0, 0.5), 0);
}

static struct rw_sum sum_of(uint64_t n, int64_t lambda, int64_t weight)
{
    return (struct rw_sum){n, lambda >> 32, lambda & 0xffffffff, weight >> 32, weight & 0xffffffff};
}

Test(numbers, values_of_leaves)
{
    struct rw_leaf_rule rule = {
        .rate = 0.5, .l2 = 3.0, .mean_hess = 2.0, .lambda_exponent = 4, .hess_exponent = 3};
    struct rw_sum sum = sum_of(5, -160, 32); /* lambda -10, weight 4 */
    cr_assert_eq(rw_leaf_value(&rule, &sum), -0.5f);
    rule.l2 = 0.0;
    cr_assert_eq(rw_leaf_value(&rule, &sum), -1.25f);
    sum = sum_of(5, -160, 0); /* no weight: no value */
    cr_assert_eq(rw_leaf_value(&rule, &sum), 0.0f);
    rule.mean_hess = 1048576.0; /* denominators do not fall under 2^-20 n w = 5 */
    sum = sum_of(5, 160, 8);
    cr_assert_eq(rw_leaf_value(&rule, &sum), 1.0f);
    sum = sum_of(5, 0, 8);
    cr_assert(!signbit(rw_leaf_value(&rule, &sum)));
    rule.rate = 1e-6;
    rule.lambda_exponent = 400;
    sum = sum_of(5, -1, 8);
    cr_assert(!signbit(rw_leaf_value(&rule, &sum))); /* underflow leaves no -0 */
}
