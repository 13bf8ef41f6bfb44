/* LambdaRank's gradients (Burges, "From RankNet to LambdaRank to LambdaMART", 2010, sections 3
 * and 7), with the normalisation of LightGBM and XGBoost, in fixed point.
 *
 * The contribution of a pair is computed in float from differences of doubles. It is rounded to
 * a multiple of the query's unit and summed as an integer, so the order of the pairs does not
 * change the result. The unit is 2^-40. Queries so large that a document's sum might exceed 2^62
 * units have the unit 2^(e-40) (rw_lambda_shift). */
#pragma once

#include "base/ctx.h"
#include "base/exact.h"
#include "base/machine.h"
#include "objective/delta.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_LAMBDA_EXPONENT = 40 };

struct rw_lambda_rule {
    float sigma;
    uint32_t truncation; /* use pairs with a document in the top N; 0: all pairs */
    int norm; /* 1: normalise pairs by score differences, and queries by rw_lambda_norm */
};

struct rw_lambda_pair {
    int64_t lambda, hessian;
};

/* Defines rw_lambda_real_of_pair for the host and for devices. */
#define PAIR_FN                     RW_HD
#define PAIR_V                      float
#define PAIR(name)                  rw_lambda_##name
#define PAIR_UNIT                   float
#define PAIR_OVER(a, unit)          ((a) / (unit))
#define PAIR_NORMED(a, s, unit)     ((a) / (0.01f + ((s) < 0.0f ? -(s) : (s))))
#define PAIR_LIMITED                rw_expf_limited
#define PAIR_EXP                    rw_expf_part
#define PAIR_SCALED(p, shifted)     ((p)*rw_expf_power(shifted))
#define PAIR_SIGMOID(p, shifted, e) (1.0f / (1.0f + (e)))
#include "objective/pair_tmpl.h"

/* Returns the lambda and the hessian of a pair as integers in the query's unit. scale: 2^(40-e);
 * ideal > 0. */
RW_HD struct rw_lambda_pair rw_lambda_of_pair(float gain_diff, float discount_diff,
                                              float score_diff, float ideal, float sigma, int norm,
                                              float scale)
{
    const struct rw_lambda_real real =
        rw_lambda_real_of_pair(gain_diff, discount_diff, score_diff, sigma, sigma, ideal, norm, 1);
    struct rw_lambda_pair pair;
    pair.lambda = rw_round_float(real.lambda * scale);
    pair.hessian = rw_round_float(real.hessian * scale);
    return pair;
}

/* Returns the exponent e of a query of n documents, which keeps a document's sums at 2^22 * 2^e or
 * less. */
RW_HD int rw_lambda_shift(uint32_t n, const struct rw_lambda_rule *rule)
{
    const float sigma = rule->sigma;
    double bound = (double)n * (double)sigma * (sigma > 1.0f ? (double)sigma : 1.0);
    if (rule->norm)
        bound = bound * 100.0;
    int e = 0;
    while (bound > 4194304.0) {
        bound = bound * 0.5;
        e++;
    }
    return e;
}

/* Returns a query's norm log2(1 + S) / S, where S is twice the sum of its pairs' lambdas. */
RW_HD double rw_norm_of_sum(double sum)
{
    return sum > 0.0 ? rw_log2(1.0 + sum) / sum : 1.0;
}

/* Returns rw_norm_of_sum of a sum of integers. The sum of the lambdas is given as hi * 2^32 + lo
 * units. The words are first made canonical, so that the rounding depends only on the total. */
RW_HD double rw_lambda_norm(int64_t hi, int64_t lo, int e)
{
    hi += lo >> 32;
    lo &= 0xffffffff;
    return rw_norm_of_sum(((double)hi * 4294967296.0 + (double)lo) *
                          rw_pow2(e - RW_LAMBDA_EXPONENT + 1));
}

/* Returns the factor that turns a document's sums into its final values before its weight: the
 * query's norm times the unit. */
RW_HD double rw_lambda_factor(const struct rw_lambda_rule *rule, int64_t hi, int64_t lo, int e)
{
    return (rule->norm ? rw_lambda_norm(hi, lo, e) : 1.0) * rw_pow2(e);
}

/* Returns a document's final integer. weight: the document's weight; NULL: 1. */
RW_HD int64_t rw_lambda_final(int64_t sum, double factor, const double *weight)
{
    const double by = weight ? factor * *weight : factor;
    return rw_round_int64((double)sum * by);
}

/* Returns the lambda and the hessian of a pair with weight `delta` in place of NDCG's delta. */
RW_HD struct rw_lambda_real rw_lambda_weighed(float delta, float score_diff, float sigma, int norm)
{
    return rw_lambda_real_of_pair(delta, 1.0f, score_diff, sigma, sigma, 1.0f, norm, 1);
}

struct rw_objective_query; /* objective.h */
/* Computes the gradients of one ranked query: reads `order`, writes lambda and hess in units of
 * 2^-40. */
void rw_lambda_query(const struct rw_lambda_rule *rule, const struct rw_objective_query *query);
/* A faster rw_lambda_query with identical results, with the instructions of the query's `isa`. */
void rw_lambda_query_fast(const struct rw_lambda_rule *rule,
                          const struct rw_objective_query *query);
/* A faster rw_rank_query of scores, for falling order only. */
void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order);

#ifdef __cplusplus
}
#endif
