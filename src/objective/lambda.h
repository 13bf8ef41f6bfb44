/* LambdaRank's gradients (Burges, "From RankNet to LambdaRank to LambdaMART", 2010, sections 3 and
 * 7), with the normalisation that LightGBM and XGBoost have, in fixed point.
 *
 * A pair's contribution is computed in float from double differences, rounded to a multiple of the
 * query's unit, and summed as integers: the order of pairs cannot matter. The unit is 2^-40, and
 * 2^-40+e for queries so large that a document's sum might pass 2^62 otherwise (rw_lambda_shift).
 */
#pragma once

#include "base/ctx.h"
#include "base/exact.h"
#include "base/machine.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_LAMBDA_EXPONENT = 40 };

struct rw_lambda_rule {
    float sigma;
    uint32_t truncation; /* pairs count if one is in the top so many; 0: all pairs */
    int norm;
};

struct rw_lambda_pair {
    int64_t lambda, hessian;
};

/* rw_lambda_real_of_pair. */
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

/* A pair in units; scale = 2^(40-e); ideal > 0. */
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

/* e of a query of n documents: a document's sums stay under 2^22 * 2^e. */
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

/* log2(1 + S) / S, S = 2 x the sum of the pairs' lambdas, given as hi * 2^32 + lo units. The words
 * are made canonical first, so that the rounding depends on the total only. */
RW_HD double rw_lambda_norm(int64_t hi, int64_t lo, int e)
{
    hi += lo >> 32;
    lo &= 0xffffffff;
    const double sum =
        ((double)hi * 4294967296.0 + (double)lo) * rw_pow2(e - RW_LAMBDA_EXPONENT + 1);
    return sum > 0.0 ? rw_log2(1.0 + sum) / sum : 1.0;
}

/* What a document's sums are multiplied by at the end, before its weight: the query's norm, and the
 * unit. */
RW_HD double rw_lambda_factor(const struct rw_lambda_rule *rule, int64_t hi, int64_t lo, int e)
{
    return (rule->norm ? rw_lambda_norm(hi, lo, e) : 1.0) * rw_pow2(e);
}

/* A document's final integer. weight: the document's, or NULL: 1. */
RW_HD int64_t rw_lambda_final(int64_t sum, double factor, const double *weight)
{
    const double by = weight ? factor * *weight : factor;
    return rw_round_int64((double)sum * by);
}

struct rw_objective_query; /* objective.h */
/* One query, ranked: `order` is read, lambda and hess are written, in units of 2^-40. */
void rw_lambda_query(const struct rw_lambda_rule *rule, const struct rw_objective_query *query);
/* The same to the bit, faster, by the query's `isa`. */
void rw_lambda_query_fast(const struct rw_lambda_rule *rule,
                          const struct rw_objective_query *query);
/* rw_rank_query of scores, not reversed, faster. */
void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order);

/* Deltas: what exchanging two documents of a ranked query would change in a metric, by which
 * lambdarank weighs their pair (Burges 2010, section 4). The metrics are those of metric/metric.h,
 * of the whole list but for p@k, and of one ranking: ties stand in the order of the input.
 *
 * A document's grade is what the metric sees of its label: the gain, or 1 for labels of --relevant
 * or more and else 0. Documents of one grade are no pair. */
enum rw_delta_kind {
    RW_DELTA_NDCG, /* 0, the parameter's default */
    RW_DELTA_DCG,
    RW_DELTA_MAP,
    RW_DELTA_MRR,
    RW_DELTA_ERR,
    RW_DELTA_NONE, /* every pair counts alike */
    RW_DELTA_P
};

/* A value of the parameter `delta` as one number, which is what a rule has of a parameter. -1: it
 * is none. */
double rw_delta_number(const char *text);
enum rw_delta_kind rw_delta_kind(double number);
uint32_t rw_delta_cutoff(double number); /* the k of p@k; else 0 */
/* Are grades relevances? Else they are gains. */
int rw_delta_is_of_relevance(enum rw_delta_kind kind);

/* A query by position, for its deltas. */
struct rw_delta_query {
    enum rw_delta_kind kind;
    uint32_t n, cutoff;
    const double *grade;     /* [n] */
    const double *discounts; /* [>= n] */
    double ideal;            /* ndcg; over 0 */
    double max_gain;         /* err: the largest of the training set */
    /* Made by rw_delta_prepare. */
    double *prefix[2];    /* [n] map: how many relevant documents are above, and the sum of
                             1 / (1 + s) over their positions s; err: the chance to get here */
    double n_relevant;    /* map */
    uint32_t relevant[2]; /* mrr: positions of the first two; n: there is none */
    /* err: of the positions between `above` and `below`, what rw_delta_of has added up so far */
    uint32_t above, below;
    double passes, stops;
};

/* Makes the rest of a query whose first fields are set. prefix: [2][n], kept. */
void rw_delta_prepare(struct rw_delta_query *query, double *prefix);
/* |the metric after the exchange - the metric| of two positions, above < below, of different
 * grades. err takes a step for each position between the two, but goes on from the last call if
 * that had the same `above` and not a greater `below`. */
double rw_delta_of(struct rw_delta_query *query, uint32_t above, uint32_t below);

#ifdef __cplusplus
}
#endif
