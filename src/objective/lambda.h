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

/* Returns the query's norm log2(1 + S) / S, where S is twice the sum of the pairs' lambdas,
 * given as hi * 2^32 + lo units. The words are first made canonical, so that the rounding
 * depends only on the total. */
RW_HD double rw_lambda_norm(int64_t hi, int64_t lo, int e)
{
    hi += lo >> 32;
    lo &= 0xffffffff;
    const double sum =
        ((double)hi * 4294967296.0 + (double)lo) * rw_pow2(e - RW_LAMBDA_EXPONENT + 1);
    return sum > 0.0 ? rw_log2(1.0 + sum) / sum : 1.0;
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

struct rw_objective_query; /* objective.h */
/* Computes the gradients of one ranked query: reads `order`, writes lambda and hess in units of
 * 2^-40. */
void rw_lambda_query(const struct rw_lambda_rule *rule, const struct rw_objective_query *query);
/* A faster rw_lambda_query with identical results, with the instructions of the query's `isa`. */
void rw_lambda_query_fast(const struct rw_lambda_rule *rule,
                          const struct rw_objective_query *query);
/* A faster rw_rank_query of scores, for falling order only. */
void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order);

/* Deltas. lambdarank weighs a pair of documents by the change of a metric if the two swap their
 * positions (Burges 2010, section 4). The metrics are those of metric/metric.h for a single
 * ranking, in which ties keep the order of the input. Only p@k has a cutoff.
 *
 * A document's grade is the metric's view of its label. It is the gain, or for metrics of
 * relevance 1 for labels of --relevant or more and 0 for others. Documents of equal grade form
 * no pair. */
enum rw_delta_kind {
    RW_DELTA_NDCG, /* 0, the default of the parameter */
    RW_DELTA_DCG,
    RW_DELTA_MAP,
    RW_DELTA_MRR,
    RW_DELTA_ERR,
    RW_DELTA_NONE, /* every pair has the same weight */
    RW_DELTA_P
};

/* Returns a value of the parameter `delta` as one number, the form in which a rule stores
 * parameters; -1: invalid text. */
double rw_delta_number(const char *text);
enum rw_delta_kind rw_delta_kind(double number);
uint32_t rw_delta_cutoff(double number); /* the k of p@k; 0 for other deltas */
/* Returns 1 if grades are relevances (0 or 1), 0 if they are gains. */
int rw_delta_is_of_relevance(enum rw_delta_kind kind);

/* A ranked query, with arrays by position, for the computation of deltas. */
struct rw_delta_query {
    enum rw_delta_kind kind;
    uint32_t n, cutoff;
    const double *grade;     /* [n] */
    const double *discounts; /* [>= n] */
    double ideal;            /* ndcg: the ideal DCG, positive */
    double max_gain;         /* err: the largest gain of all workers' training sets */
    /* ---- written by rw_delta_prepare ---- */

    /* each [n]. map: prefix[0] is the number of relevant documents above a position, and prefix[1]
     * the sum of 1 / (1 + s) over the positions s of these; err: prefix[0] is the probability that
     * the reader gets to a position */
    double *prefix[2];
    double n_relevant;    /* map */
    uint32_t relevant[2]; /* mrr: positions of the first two relevant documents; n: missing */
    /* err: sums of the last rw_delta_of over the positions between `above` and `below` */
    uint32_t above, below;
    double passes, stops;
};

/* Fills the remaining fields of a query. prefix: [2][n], used until the query's last delta. */
void rw_delta_prepare(struct rw_delta_query *query, double *prefix);
/* Returns the absolute change of the metric if positions above < below, of different grades, are
 * swapped. For err, a call takes a step per position between the two. It continues from the last
 * call if `above` is as in that call and `below` is not smaller. */
double rw_delta_of(struct rw_delta_query *query, uint32_t above, uint32_t below);

#ifdef __cplusplus
}
#endif
