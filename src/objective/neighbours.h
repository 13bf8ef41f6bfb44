/* Pairs of neighbours in a ranking, which YetiRank sums (yetirank.c). The host and devices share
 * this arithmetic.
 *
 * Two neighbours i and j are at positions r and r + 1, counted from 0. The effect of a swap on a
 * metric depends only on the two and on the documents above them. It is rw_delta_of (lambda.h) with
 * no documents in between. Below, g is a gain, D the discount of a position (metric/metric.h), IDCG
 * the ideal DCG, and R the probability that a reader stops at a document (rw_neighbours_stop). For
 * map, mrr and err, w(r) = 1 / (1 + r) - 1 / (2 + r).
 *   ndcg  |g_i - g_j| w(r) / IDCG, w(r) = decay^r in place of D(r) - D(r + 1);
 *   dcg   |g_i - g_j| w(r),        w(r) = D(r) - D(r + 1);
 *   map   (1 + relevant documents above) w(r) / relevant documents;
 *   mrr   w(r) if no relevant document is above, else 0;
 *   err   (probability that the reader gets to r) |R_i - R_j| w(r);
 *   p@k   w(r) = 1 / k for the last position of the top k, else 0;
 *   none  w(r) = 1.
 * The file lambda.h defines a document's grade. Neighbours of equal grade form no pair. */
#pragma once

#include "objective/lambda.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_objective_rule;

struct rw_neighbours_rule {
    enum rw_delta_kind kind;
    uint32_t cutoff;     /* of p@k */
    uint32_t truncation; /* use pairs whose upper document is in the top N; 0: all pairs */
    uint32_t permutations;
    float sigma, scale; /* scale: units per ranking, 2^40 / permutations */
    double relevant;    /* the label from which a document is relevant */
    double max_gain;    /* err: the largest gain of all workers' training sets */
};

struct rw_neighbour {
    double grade, score;
};

/* Fills *out. rule: the parameters of yetirank or of one of its variants. */
void rw_neighbours_rule_init(struct rw_neighbours_rule *out, const struct rw_objective_rule *rule);
/* Writes w(r) for r from 0 to n - 1. decay: used by ndcg only. */
void rw_neighbours_weights(const struct rw_neighbours_rule *rule, double decay, double *weight,
                           uint32_t n);
/* Returns the divisor of the query's deltas. A divisor that is not positive as a float means
 * that the query contributes nothing. ideal: the best DCG of the top `truncation`. */
double rw_neighbours_over(const struct rw_neighbours_rule *rule, const double *grade, uint32_t n,
                          double ideal);

/* Returns the odds u / (1 - u) of a random word, with u = (word + 1/2) / 2^32, so that u and 1 -
 * u are exact and not 0. A document's sort key is its softmax power times these odds. The keys
 * order documents as score + log(odds) does, and save a logarithm per document and ranking. */
RW_HD double rw_neighbours_odds(uint32_t word)
{
    const double u = ((double)word + 0.5) * 0x1p-32;
    return u / (1.0 - u);
}

/* Returns the number of neighbours that can form pairs in a ranking of n documents. */
RW_HD uint32_t rw_neighbours_top(const struct rw_neighbours_rule *rule, uint32_t n)
{
    const uint32_t last = n > 0 ? n - 1 : 0;
    return rule->truncation && rule->truncation < last ? rule->truncation : last;
}

/* ---- the state above a position, built from the top downwards ---- */

/* Returns 1 if the delta depends on the documents above. */
RW_HD int rw_neighbours_depends_on_above(const struct rw_neighbours_rule *rule)
{
    return rule->kind == RW_DELTA_MAP || rule->kind == RW_DELTA_MRR || rule->kind == RW_DELTA_ERR;
}

/* Returns the state above the first position: 0 relevant documents or, for err, probability 1. */
RW_HD double rw_neighbours_first(const struct rw_neighbours_rule *rule)
{
    return rule->kind == RW_DELTA_ERR ? 1.0 : 0.0;
}

/* err: returns the probability, under 1, that a reader who reaches the document stops there. */
RW_HD double rw_neighbours_stop(const struct rw_neighbours_rule *rule, double grade)
{
    return grade / (rule->max_gain + 1.0);
}

/* Returns the contribution of a document to the state above the next position. */
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

/* Returns the delta of two neighbours, for all kinds except ndcg. above: the state above the
 * upper one; weight: w(r). */
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

/* Returns the integers of two neighbours. lambda: for the upper document; the lower one gets the
 * negative. */
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
