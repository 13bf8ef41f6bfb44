/* Rounding, exp, log2 and 2^x with reproducible results. They use plain IEEE operations in a fixed
 * order, so gcc, clang and nvcc compute identical bits if contraction is off. exp, log2 and 2^x are
 * not correctly rounded; each function states its error. */
#pragma once

#include "base/bits.h"

/* Returns 2^e, for e in [-1022, 1023]. */
RW_HD double rw_pow2(int e)
{
    return rw_double_of_bits((uint64_t)(e + 1023) << 52);
}

/* Returns 1 if the double rounds to a finite float. The midpoint of the largest float and 2^128
 * does not. */
RW_HD int rw_fits_float(double v)
{
    const double middle = 0x1.ffffffp127;
    return v > -middle && v < middle;
}

/* Returns the nearest integer, ties to even. |v| < 2^63. */
RW_HD int64_t rw_round_int64(double v)
{
#ifdef __CUDA_ARCH__
    return __double2ll_rn(v); /* the same in one instruction */
#else
    const int64_t down = (int64_t)v; /* truncated towards 0 */
    const double rest = v - (double)down;
    if (rest > 0.5 || (rest == 0.5 && (down & 1)))
        return down + 1;
    if (rest < -0.5 || (rest == -0.5 && (down & 1)))
        return down - 1;
    return down;
#endif
}

/* Returns the integer nearest to a float, ties to even. |v| < 2^63. The device has one instruction
 * for it. */
RW_HD int64_t rw_round_float(float v)
{
#ifdef __CUDA_ARCH__
    return __float2ll_rn(v);
#else
    return rw_round_int64((double)v);
#endif
}

#define EXP_FN            RW_HD
#define EXP_NAME          rw_expf_part
#define EXP_V             float
#define EXP_LESS(c, a, b) ((c) - (a) * (b))
#include "base/exp_tmpl.h"

/* Returns 2^n, where n is encoded as in exp_tmpl.h. */
RW_HD float rw_expf_power(float shifted)
{
    return rw_float_of_bits((rw_bits_of_float(shifted) << 23) + (127u << 23));
}

RW_HD float rw_expf_limited(float x)
{
    x = x > -87.0f ? x : -87.0f;
    return x > 88.0f ? 88.0f : x;
}

/* Computes exp in float for x in [-87, 88]. Beyond that range it returns the value at the nearer
 * end. The error is under 2 units in the last place. */
RW_HD float rw_expf(float x)
{
    float shifted;
    const float p = rw_expf_part(rw_expf_limited(x), &shifted);
    return p * rw_expf_power(shifted);
}

/* Computes log2 of a positive normal number, with a relative error under 1e-15, exact at powers of
 * 2. It writes x as 2^e m with m in [sqrt(1/2), sqrt(2)), and computes log m by the odd series in t
 * = (m-1)/(m+1). */
RW_HD double rw_log2(double x)
{
    const uint64_t bits = rw_bits_of_double(x);
    int e = (int)(bits >> 52) - 1023;
    double m = rw_double_of_bits((bits & 0xfffffffffffffull) | 0x3ff0000000000000ull);
    if (m > 1.4142135623730951) {
        m = m * 0.5;
        e = e + 1;
    }
    const double t = (m - 1.0) / (m + 1.0);
    const double t2 = t * t;
    double s = 0.0;
    for (int k = 23; k >= 3; k -= 2)
        s = (s + 1.0 / (double)k) * t2;
    return (double)e + (t + t * s) * 2.8853900817779268;
}

/* Computes 2^x for x in [-1000, 1000]: exact at integers, otherwise with a relative error under
 * 1e-15. */
RW_HD double rw_exp2(double x)
{
    const double n = (x + 6755399441055744.0) - 6755399441055744.0;
    const double r = (x - n) * 0.6931471805599453;
    double p = 0.0;
    for (int k = 16; k >= 1; k--)
        p = (p + 1.0) * (r / (double)k);
    return (p + 1.0) * rw_pow2((int)n);
}
