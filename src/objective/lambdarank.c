/* LambdaRank: what lambda.h says, as a row of the table. */
#include "objective/objective.h"

#include <string.h>

#include "metric/metric.h"

int rw_lambda_check(struct rw_ctx *ctx, const struct rw_lambda_rule *rule, uint32_t n_longest,
                    double max_weight)
{
    /* with the norm a document's sum is at most log2(1 + S) / 2, and S is under 2^60 */
    const double sigma = (double)rule->sigma;
    const double bound =
        (rule->norm ? 30.0 : (double)n_longest) * sigma * (sigma > 1.0 ? sigma : 1.0) * max_weight;
    if (bound <= 4194304.0)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "sigma %g, a query of %u documents and a weight of %g could overflow a lambda's "
                   "sum; expected a smaller --sigma, smaller weights%s",
                   sigma, n_longest, max_weight, rule->norm ? "" : " or --norm on");
}

void rw_lambda_query(const struct rw_lambda_rule *rule, uint32_t n, const double *scores,
                     const double *gains, const double *weights, const uint32_t *order,
                     const double *discounts, double ideal, int64_t *lambda, int64_t *weight)
{
    memset(lambda, 0, n * sizeof(*lambda));
    memset(weight, 0, n * sizeof(*weight));
    if (!((float)ideal > 0.0f)) /* pairs are computed in float */
        return;
    const int e = rw_lambda_shift(n, rule);
    const float scale = (float)rw_pow2(RW_LAMBDA_EXPONENT - e);
    const int norm = rule->norm && scores[order[0]] != scores[order[n - 1]];
    const uint32_t top = rule->truncation && rule->truncation < n ? rule->truncation : n;
    int64_t sum_hi = 0, sum_lo = 0;
    for (uint32_t r = 0; r < top; r++) {
        for (uint32_t t = r + 1; t < n; t++) {
            const uint32_t a = order[r], b = order[t];
            if (gains[a] == gains[b])
                continue;
            const uint32_t hi = gains[a] > gains[b] ? a : b, lo = gains[a] > gains[b] ? b : a;
            const struct rw_lambda_pair pair = rw_lambda_of_pair(
                (float)(gains[hi] - gains[lo]), (float)(discounts[r] - discounts[t]),
                (float)(scores[hi] - scores[lo]), (float)ideal, rule->sigma, norm, scale);
            lambda[hi] += pair.lambda;
            lambda[lo] -= pair.lambda;
            weight[hi] += pair.weight;
            weight[lo] += pair.weight;
            sum_hi += pair.lambda >> 32;
            sum_lo += pair.lambda & 0xffffffff;
        }
        sum_hi += sum_lo >> 32; /* 2^31 low words would overflow */
        sum_lo &= 0xffffffff;
    }
    const double factor = rw_lambda_factor(rule, sum_hi, sum_lo, e);
    for (uint32_t i = 0; i < n; i++) {
        const double *own = weights ? weights + i : NULL;
        lambda[i] = rw_lambda_final(lambda[i], factor, own);
        weight[i] = rw_lambda_final(weight[i], factor, own);
    }
}

/* ---- the row ---- */

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    const struct rw_lambda_query_of of = {.n = query->n,
                                          .scores = query->scores,
                                          .gains = query->gains,
                                          .weights = query->weights,
                                          .order = query->order,
                                          .discounts = query->discounts,
                                          .ideal = query->ideal,
                                          .lambda = query->lambda,
                                          .weight = query->weight};
    if (query->ideal > 0.0 && query->fast)
        rw_rank_query_fast(query->isa, of.scores, of.n, query->order);
    else if (query->ideal > 0.0)
        rw_rank_query(of.scores, of.n, 0, query->order);
    if (query->fast)
        rw_lambda_query_fast(query->isa, &rule->pair, &of);
    else
        rw_lambda_query(&rule->pair, of.n, of.scores, of.gains, of.weights, of.order, of.discounts,
                        of.ideal, of.lambda, of.weight);
}

const struct rw_objective rw_objective_lambdarank = {.name = "lambdarank",
                                                     .params = "sigma truncation norm",
                                                     .ranks = 1,
                                                     .is_fixed = 1,
                                                     .device = RW_OBJECTIVE_PAIRS,
                                                     .check = rw_lambda_check,
                                                     .query = query_of};
