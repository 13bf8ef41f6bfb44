/* Pairs of neighbours in a ranking, as YetiRank adds them up (yetirank.c): one arithmetic for the
 * host and for devices.
 *
 * Two neighbours stand at positions r and r + 1, from 0, and only what is above them can matter to
 * what their exchange would change in a metric: it is rw_delta_of (lambda.h) with nothing between.
 *   ndcg  |g_i - g_j| w(r) / IDCG, w(r) = decay^r in place of D(r) - D(r + 1)
 *   dcg   |g_i - g_j| w(r),        w(r) = D(r) - D(r + 1)
 *   map   (1 + relevant documents above) w(r) / relevant documents,  w(r) = 1 / (1 + r) - 1 / (2 +
 *         r), here and below
 *   mrr   w(r) if no relevant document is above, else 0
 *   err   (the chance to get to r) |R_i - R_j| w(r)
 *   p@k   w(r) = 1 / k at the last of the top k, else 0
 *   none  w(r) = 1
 * A document's grade is what lambda.h says of deltas; neighbours of one grade are no pair. */
#pragma once

#include "objective/lambda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_objective_rule;

struct rw_neighbours_rule {
    enum rw_delta_kind kind;
    uint32_t cutoff;     /* of p@k */
    uint32_t truncation; /* pairs count if the upper one is in the top so many; 0: all */
    uint32_t permutations;
    float sigma, scale; /* a ranking's pair in units: 2^40 / permutations */
    double relevant;    /* the label from which a document is relevant */
    double max_gain;    /* err: the largest of the training set, all workers' */
};

struct rw_neighbour {
    double grade, score;
};

/* rule: of yetirank's parameters, or its variants'. */
void rw_neighbours_rule_init(struct rw_neighbours_rule *out, const struct rw_objective_rule *rule);
/* w(r) of r from 0 to n - 1. decay: ndcg's. */
void rw_neighbours_weights(const struct rw_neighbours_rule *rule, double decay, double *weight,
                           uint32_t n);
/* grade: [n], written. gains, labels: [n]; gains are read, or labels, as the delta wants it. */
void rw_neighbours_grades(const struct rw_neighbours_rule *rule, const double *gains,
                          const float *labels, uint32_t n, double *grade);
/* What deltas of a query are divided by, in float not above 0 if it contributes nothing. ideal: the
 * best DCG of the top `truncation`. */
double rw_neighbours_over(const struct rw_neighbours_rule *rule, const double *grade, uint32_t n,
                          double ideal);

/* A document's key is its power times these odds, u / (1 - u) with u = (word + 1/2) / 2^32, so that
 * u and 1 - u are exact and not 0. power x odds ranks as score + log(odds) does, for one logarithm
 * less a ranking. */
RW_HD double rw_neighbours_odds(uint32_t word)
{
    const double u = ((double)word + 0.5) * 0x1p-32;
    return u / (1.0 - u);
}

/* How many pairs a ranking of n documents has. */
RW_HD uint32_t rw_neighbours_top(const struct rw_neighbours_rule *rule, uint32_t n)
{
    const uint32_t last = n > 0 ? n - 1 : 0;
    return rule->truncation && rule->truncation < last ? rule->truncation : last;
}

/* ---- what is above a position, built from the top downwards ---- */

/* Do deltas depend on it? */
RW_HD int rw_neighbours_look_up(const struct rw_neighbours_rule *rule)
{
    return rule->kind == RW_DELTA_MAP || rule->kind == RW_DELTA_MRR || rule->kind == RW_DELTA_ERR;
}

/* Above the first position: how many relevant documents, or of err the chance to get there. */
RW_HD double rw_neighbours_first(const struct rw_neighbours_rule *rule)
{
    return rule->kind == RW_DELTA_ERR ? 1.0 : 0.0;
}

/* err: readers who come to the document stop there with this probability, under 1. */
RW_HD double rw_neighbours_stop(const struct rw_neighbours_rule *rule, double grade)
{
    return grade / (rule->max_gain + 1.0);
}

/* What a document does to what is above the next position. */
RW_HD double rw_neighbours_step(const struct rw_neighbours_rule *rule, double grade)
{
    if (rule->kind == RW_DELTA_ERR)
        return 1.0 - rw_neighbours_stop(rule, grade);
    return grade > 0.0 ? 1.0 : 0.0;
}

RW_HD double rw_neighbours_next(const struct rw_neighbours_rule *rule, double above, double step)
{
    return rule->kind == RW_DELTA_ERR ? above * step : above + step;
}

/* ---- a pair ---- */

/* Of all deltas but ndcg's. above: what is above the upper one; weight: w(r). */
RW_HD double rw_neighbours_delta(const struct rw_neighbours_rule *rule, double weight, double over,
                                 double above, double grade, double other)
{
    double diff;
    switch (rule->kind) {
    case RW_DELTA_DCG:
        return (grade > other ? grade - other : other - grade) * weight;
    case RW_DELTA_MAP:
        return (above + 1.0) * weight / over;
    case RW_DELTA_MRR:
        return above > 0.0 ? 0.0 : weight;
    case RW_DELTA_ERR:
        diff = rw_neighbours_stop(rule, grade) - rw_neighbours_stop(rule, other);
        return above * (diff < 0.0 ? -diff : diff) * weight;
    default:
        return weight;
    }
}

/* The integers of two neighbours. lambda: the upper one's; the lower one's is its negative. */
RW_HD struct rw_lambda_pair rw_neighbours_pair(const struct rw_neighbours_rule *rule, double weight,
                                               double over, double above, struct rw_neighbour upper,
                                               struct rw_neighbour lower)
{
    struct rw_lambda_pair pair = {0, 0};
    if (upper.grade == lower.grade)
        return pair;
    const int is_up = upper.grade > lower.grade;
    const struct rw_neighbour better = is_up ? upper : lower, worse = is_up ? lower : upper;
    float a = (float)(better.grade - worse.grade), b = (float)weight, ideal = (float)over;
    if (rule->kind != RW_DELTA_NDCG) {
        a = (float)rw_neighbours_delta(rule, weight, over, above, better.grade, worse.grade);
        b = ideal = 1.0f;
    }
    pair = rw_lambda_of_pair(a, b, (float)(better.score - worse.score), ideal, rule->sigma, 0,
                             rule->scale);
    pair.lambda = is_up ? pair.lambda : -pair.lambda;
    return pair;
}

#ifdef __cplusplus
}
#endif
