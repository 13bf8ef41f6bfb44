/* Without the device's reciprocal, which check_lambda compares there. */
#include <criterion/criterion.h>
#include <math.h>

#include "base/rng.h"
#include "gpu/objective/lambda_bounded.h"

static double unit(uint64_t seed, uint64_t item)
{
    return (double)rw_random(seed, item, 0, RW_STREAM_SYNTH) * 0x1p-32;
}

static int64_t joined(struct rw_bounded_parts parts)
{
    return rw_bounded_join(parts.high - RW_BOUNDED_HIGH_BIAS, parts.low - RW_BOUNDED_LOW_BIAS);
}

Test(lambda_bounded, pairs_are_the_rules)
{
    static const float sigmas[] = {1.0f, 0x1p-20f, 0.7f, 1.25f};
    for (uint64_t i = 0; i < 2000000; i++) {
        const uint64_t item = 8 * i;
        const float sigma = sigmas[i % 4];
        const int norm = i % 8 < 6;
        const float gain_diff = i % 3 ? (float)(1 + (int)(unit(1, item) * 31.0))
                                      : (float)exp2(unit(1, item) * 71.0 - 40.0);
        const float ideal = (float)((double)gain_diff * exp2(unit(1, item + 1) * 12.0));
        const float discount_diff = (float)exp2(-18.0 * unit(1, item + 2));
        const float far = i % 5 == 0 ? 1e-6f : i % 5 == 1 ? 32.0f : 3.0f;
        const float score_diff = (float)((unit(1, item + 3) - 0.5) * 2.0) * far;
        const float sign = i % 2 ? 1.0f : -1.0f;
        cr_assert(rw_bounded_scores(fabs((double)score_diff), sigma));
        const struct rw_bounded_query query = rw_bounded_query_of(ideal, norm, sigma);
        const struct rw_bounded_pair pair =
            rw_bounded_pair_of(&query, gain_diff, discount_diff, sign * score_diff, sign * sigma);
        const struct rw_lambda_pair want =
            rw_lambda_of_pair(gain_diff, discount_diff, score_diff, ideal, sigma, norm, 0x1p40f);
        cr_assert_eq(joined(pair.lambda), want.lambda, "pair %llu", (unsigned long long)i);
        cr_assert_eq(joined(pair.hessian), want.hessian, "pair %llu", (unsigned long long)i);
    }
}

Test(lambda_bounded, no_gain_or_discount_is_no_pair_and_either_may_be_above)
{
    const struct rw_bounded_query query = rw_bounded_query_of(3.0f, 1, 1.0f);
    const float discounts[] = {0.0f, 1.0f}, gains[] = {7.0f, 0.0f};
    for (int i = 0; i < 2; i++) {
        const struct rw_bounded_pair pair =
            rw_bounded_pair_of(&query, gains[i], discounts[i], 1.0f, 1.0f);
        cr_assert_eq(joined(pair.lambda), 0);
        cr_assert_eq(joined(pair.hessian), 0);
    }
    const struct rw_bounded_pair pair = rw_bounded_pair_of(&query, 7.0f, 0.3f, 1.0f, 1.0f);
    const struct rw_bounded_pair other = rw_bounded_pair_of(&query, 7.0f, -0.3f, 1.0f, 1.0f);
    cr_assert_gt(joined(pair.lambda), 0);
    cr_assert_eq(joined(other.lambda), joined(pair.lambda));
    cr_assert_eq(joined(other.hessian), joined(pair.hessian));
}

/* a / b whose distance from the middle between two floats is `units` / (2^24 b), the least there
 * is: a 2^24 = m b + units, m odd. */
Test(lambda_bounded, quotients_next_to_a_midpoint)
{
    uint32_t n = 0;
    for (uint32_t b = (1u << 23) + 1; b < 1u << 24; b += 26) {
        uint32_t inverse = b;
        for (int i = 0; i < 5; i++)
            inverse *= 2 - b * inverse;
        for (int units = -3; units <= 3; units += 2) {
            const uint64_t m = (uint32_t)-units * inverse % (1u << 24) + (1u << 24);
            const uint64_t a = (uint64_t)((int64_t)(m * b) + units) >> 24;
            if (a < b || a >= 1u << 24)
                continue;
            const float x = (float)a, y = (float)b;
            cr_assert_eq(rw_bounded_quotient(x, y, 1.0f / y), x / y, "%u / %u", (uint32_t)a, b);
            cr_assert_eq(rw_bounded_quotient(x * 0x1p-80f, y, 1.0f / y), x * 0x1p-80f / y);
            n++;
        }
    }
    cr_assert_gt(n, 100000u);
}

Test(lambda_bounded, integers_in_two_parts)
{
    for (uint32_t bits = 0; bits < rw_bits_of_float(0x1p46f); bits += 997) {
        const float v = rw_float_of_bits(bits);
        cr_assert_eq(joined(rw_bounded_round(v)), rw_round_float(v), "%a", (double)v);
    }
    const float halves[] = {0.5f, 1.5f, 2.5f, 4194303.5f, 4194304.5f, 8388607.5f, 12582911.0f};
    for (int i = 0; i < 7; i++)
        cr_assert_eq(joined(rw_bounded_round(halves[i])), rw_round_float(halves[i]));
}

Test(lambda_bounded, exp_is_exp)
{
    for (uint32_t bits = 0; bits <= rw_bits_of_float(40.0f); bits += 499)
        for (int sign = 0; sign < 2; sign++) {
            const float x = rw_float_of_bits(bits | (uint32_t)sign << 31);
            float shifted;
            const float p = rw_bounded_exp(x, &shifted), power = rw_expf_power(shifted);
            cr_assert_eq(p * power, rw_expf(x), "%a", (double)x);
            cr_assert_eq(fmaf(p, power, 1.0f), 1.0f + rw_expf(x));
        }
}
