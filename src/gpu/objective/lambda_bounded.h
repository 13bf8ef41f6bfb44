/* Computes pairs as objective/lambda.h does, in fewer instructions and without a branch, for
 * queries whose numbers are bounded. The integers are identical.
 *
 * The conditions: sigma is in [2^-20, 1.25]. Gains are in [0, 2^31], and unequal ones differ by at
 * least 2^-40 (lambda_cuda.c). There are at most 2,048 documents. Scores are within 2^20 and within
 * 40 / sigma of one another (rw_bounded_scores). Then no operation overflows or comes near the
 * denormal numbers, exp needs no clamp, and a unit is 2^-40. A pair's lambda and hessian are under
 * 64 (delta, rho, s: objective/pair_tmpl.h), because delta <= 1 / 0.01 (the ideal DCG is at least
 * the largest gain) and rho / (0.01 + |s|) <= 50.
 *
 * Why the integers are identical:
 *
 * Quotients: with y = 1 / b correctly rounded, q = a y, then q + y (a - b q) with two fused
 * multiply-adds is a / b correctly rounded. Its error before the last rounding is under 2^-45 of
 * the result. All 68 million pairs of 24-bit numbers whose quotient is that near to the middle
 * between two floats were tried. The test of lambda_bounded tries the worst of them.
 *
 * Units and exponentials: the unit 2^-40 multiplies the ideal's reciprocal in place of the results.
 * n x 355/512 is exact for |n| <= 58, and so is p 2^n.
 *
 * Rounding: an integer is rounded in two parts by additions of powers of two. Differences are exact
 * except the last, which rounds a float from 2^23 to 2^24.
 *
 * The host's functions are for tests, since fmaf is slow there. */
#pragma once

#include <math.h>
#include <stdint.h>

#include "base/exact.h"
#include "objective/lambda.h"

/* The values that all pairs of a query share. */
struct rw_bounded_query {
    float unit, unit_reciprocal; /* the ideal DCG in units, and its reciprocal */
    float near, slope;           /* the divisor of delta is near + slope |score_diff| */
    float sigma;
};

/* An integer in two parts: (high - RW_BOUNDED_HIGH_BIAS) x 2^23 + (low - RW_BOUNDED_LOW_BIAS), or a
 * sum of n integers with n times the biases. Parts are modulo 2^32. */
struct rw_bounded_parts {
    uint32_t high, low;
};

#define RW_BOUNDED_HIGH_BIAS 0x56800000u /* bits of 2^46, which has a spacing of 2^23 */
#define RW_BOUNDED_LOW_BIAS  0x4b000000u /* bits of 2^23, which has a spacing of 1 */

struct rw_bounded_pair {
    struct rw_bounded_parts lambda, hessian;
};

/* Returns 1 / x, correctly rounded. x must be in [2^-100, 2^100]. On the device this is the code of
 * 1.0f / x without its test of the range. */
RW_HD float rw_bounded_reciprocal(float x)
{
#ifdef __CUDA_ARCH__
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return __fmaf_rn(y, -__fmaf_rn(x, y, -1.0f), y);
#else
    return 1.0f / x;
#endif
}

/* Returns a / b, correctly rounded. y is 1 / b, correctly rounded. b and the quotient must be in
 * [2^-80, 2^80], and so must a unless it is 0. */
RW_HD float rw_bounded_quotient(float a, float b, float y)
{
    const float q = a * y;
    return fmaf(fmaf(-b, q, a), y, q);
}

/* rw_bounded_exp is exp_tmpl.h for |x| <= 40; rw_expf_power returns the power of two. */
#define EXP_FN            RW_HD
#define EXP_NAME          rw_bounded_exp
#define EXP_V             float
#define EXP_LESS(c, a, b) fmaf((a), -(b), (c))
#include "base/exp_tmpl.h"

/* Returns the integer nearest to v, ties to even. v must be in [0, 2^46). Each part is its bias
 * plus 0 to 2^23. */
RW_HD struct rw_bounded_parts rw_bounded_round(float v)
{
#ifdef __CUDA_ARCH__
    const float high = __fadd_rd(v, 0x1p46f);
#else
    const float nearest = v + 0x1p46f;
    const float high = nearest - 0x1p46f > v ? nearest - 0x1p23f : nearest;
#endif
    const float low = v - (high - (0x1p46f + 0x1p23f));
    const struct rw_bounded_parts parts = {rw_bits_of_float(high), rw_bits_of_float(low)};
    return parts;
}

/* high, low: sums of parts without biases, each below 2^31 in magnitude. */
RW_HD int64_t rw_bounded_join(uint32_t high, uint32_t low)
{
    return (int64_t)(int32_t)high * (1 << 23) + (int64_t)(int32_t)low;
}

/* range: largest minus smallest score. */
RW_HD int rw_bounded_scores(double range, float sigma)
{
    return range <= 0x1p20 && range * (double)sigma <= 40.0;
}

RW_HD struct rw_bounded_query rw_bounded_query_of(float ideal, int norm, float sigma)
{
    struct rw_bounded_query query;
    query.unit = ideal * 0x1p-40f; /* 2^-RW_LAMBDA_EXPONENT */
    query.unit_reciprocal = 1.0f / query.unit;
    query.near = norm ? 0.01f : 1.0f;
    query.slope = norm ? 1.0f : 0.0f;
    query.sigma = sigma;
    return query;
}

/* Returns a / (near + slope |score_diff|). */
RW_HD float rw_bounded_normed(const struct rw_bounded_query *query, float a, float score_diff)
{
    const float divisor = fmaf(fabsf(score_diff), query->slope, query->near);
    return rw_bounded_quotient(a, divisor, rw_bounded_reciprocal(divisor));
}

#define PAIR_FN                     RW_HD
#define PAIR_V                      float
#define PAIR(name)                  rw_bounded_##name
#define PAIR_UNIT                   const struct rw_bounded_query *
#define PAIR_OVER(a, query)         rw_bounded_quotient((a), (query)->unit, (query)->unit_reciprocal)
#define PAIR_NORMED(a, s, query)    rw_bounded_normed((query), (a), (s))
#define PAIR_LIMITED(x)             (x)
#define PAIR_EXP                    rw_bounded_exp
#define PAIR_SCALED(p, shifted)     ((p)*rw_expf_power(shifted))
#define PAIR_SIGMOID(p, shifted, e) rw_bounded_reciprocal(fmaf((p), rw_expf_power(shifted), 1.0f))
#include "objective/pair_tmpl.h"

/* Computes a pair. gain_diff: the magnitude of the difference, or 0 for no pair. discount_diff,
 * score_diff: differences with either sign. toward: sigma, or -sigma if score_diff is the lower
 * gain's score minus the higher's. */
RW_HD struct rw_bounded_pair rw_bounded_pair_of(const struct rw_bounded_query *query,
                                                float gain_diff, float discount_diff,
                                                float score_diff, float toward)
{
    const struct rw_bounded_real real = rw_bounded_real_of_pair(
        gain_diff, fabsf(discount_diff), score_diff, toward, query->sigma, query, 1, 0);
    const struct rw_bounded_pair pair = {rw_bounded_round(real.lambda),
                                         rw_bounded_round(real.hessian)};
    return pair;
}
