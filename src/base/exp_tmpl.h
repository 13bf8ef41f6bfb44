/* Template of exp in float, within 2 units in the last place for x in [-87, 88]. It uses Cody-Waite
 * reduction, then the Taylor polynomial of degree 7 on [-ln2/2, ln2/2]. The file has no include
 * guard, since it is included once per vector type. The includer defines, and this file undefines:
 *   EXP_FN, EXP_NAME, EXP_V  the function's specifiers and name; float, or a vector of floats
 *   EXP_LESS(c, a, b)        c - a b; the product is exact, so fusing does not change the result
 * The function returns p of exp(x) = p 2^n. The low bits of *shifted, which is 1.5 x 2^23 + n, hold
 * n. */
EXP_FN EXP_V EXP_NAME(EXP_V x, EXP_V *shifted)
{
    *shifted = x * 1.44269504f + 12582912.0f;
    const EXP_V n = *shifted - 12582912.0f;
    const EXP_V r = EXP_LESS(x, n, 0.693359375f) - n * -2.12194440e-4f;
    EXP_V p = r * 1.98412698e-4f + 1.38888889e-3f;
    p = p * r + 8.33333333e-3f;
    p = p * r + 4.16666667e-2f;
    p = p * r + 1.66666667e-1f;
    p = p * r + 0.5f;
    p = p * r * r + r;
    return p + 1.0f;
}
#undef EXP_FN
#undef EXP_NAME
#undef EXP_V
#undef EXP_LESS
