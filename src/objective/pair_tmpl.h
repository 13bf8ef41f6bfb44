/* The formula of a pair of documents: the logistic loss of their scores, weighed by the change
 * of NDCG if they swap positions (Burges 2010), with the norm of LightGBM and XGBoost. This one
 * text serves every vector type and instruction set, with identical results. It has no include
 * guard, because it is included once for each.
 *
 * The includer defines these macros, and this file undefines them:
 *   PAIR_FN, PAIR_V           specifiers of the function; float, or a vector of floats.
 *   PAIR(name)                the names of the function and the struct.
 *   PAIR_UNIT                 the type of the ideal DCG, in units if the results are in units.
 *   PAIR_OVER(a, unit)        a / unit.
 *   PAIR_NORMED(a, s, unit)   a / (0.01 + |s|).
 *   PAIR_LIMITED(x)           x, limited to [-87, 88].
 *   PAIR_EXP(x, &shifted)     a function from base/exp_tmpl.h.
 *   PAIR_SCALED(p, shifted)   p 2^n.
 *   PAIR_SIGMOID(p, shifted, e)  1 / (1 + e), where e = p 2^n.
 *
 * gain_diff: the larger gain minus the smaller; discount_diff: 0 or more; score_diff: the score
 * of the document with the larger gain minus the other score. A negative gain_diff makes both
 * results negative. toward: sigma, or -sigma if score_diff has the opposite sign; norm: 1: apply
 * PAIR_NORMED; limit: 1: apply PAIR_LIMITED, which is needed if |sigma score_diff| may exceed the
 * range of PAIR_EXP. */
struct PAIR(real) {
    PAIR_V lambda, hessian; /* before rounding */
};

PAIR_FN struct PAIR(real)
    PAIR(real_of_pair)(PAIR_V gain_diff, PAIR_V discount_diff, PAIR_V score_diff, float toward,
                       float sigma, PAIR_UNIT unit, int norm, int limit)
{
    PAIR_V delta = PAIR_OVER(gain_diff * discount_diff, unit);
    if (norm)
        delta = PAIR_NORMED(delta, score_diff, unit);
    PAIR_V x = toward * score_diff, shifted;
    if (limit)
        x = PAIR_LIMITED(x);
    const PAIR_V p = PAIR_EXP(x, &shifted);
    const PAIR_V e = PAIR_SCALED(p, shifted);
    const PAIR_V rho = PAIR_SIGMOID(p, shifted, e);
    struct PAIR(real) real;
    real.lambda = sigma * rho * delta;
    real.hessian = sigma * (e * rho) * real.lambda;
    return real;
}
#undef PAIR_FN
#undef PAIR_V
#undef PAIR
#undef PAIR_UNIT
#undef PAIR_OVER
#undef PAIR_NORMED
#undef PAIR_LIMITED
#undef PAIR_EXP
#undef PAIR_SCALED
#undef PAIR_SIGMOID
