/* LambdaRank: what lambda.h says, as a row of the table. */
#include "objective/debias.h"
#include "objective/lambdarank_pairs.h"

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

void rw_lambda_query(const struct rw_lambda_rule *rule, const struct rw_objective_query *query)
{
    const uint32_t n = query->n, *order = query->order;
    const double *scores = query->scores;
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->hess, 0, n * sizeof(*query->hess));
    if (!((float)query->ideal > 0.0f)) /* pairs are computed in float */
        return;
    const int e = rw_lambda_shift(n, rule);
    const float scale = (float)rw_pow2(RW_LAMBDA_EXPONENT - e);
    const int norm = rule->norm && scores[order[0]] != scores[order[n - 1]];
    const uint32_t top = rule->truncation && rule->truncation < n ? rule->truncation : n;
    int64_t sum_hi = 0, sum_lo = 0;
    for (uint32_t r = 0; r < top; r++) {
        for (uint32_t t = r + 1; t < n; t++) {
            const int64_t lambda = rw_lambda_add_pair(query, order[r], order[t],
                                                      query->discounts[r] - query->discounts[t],
                                                      rule->sigma, norm, scale);
            sum_hi += lambda >> 32;
            sum_lo += lambda & 0xffffffff;
        }
        if (rw_share_poll(query->share, n - 1 - r))
            return;
        sum_hi += sum_lo >> 32; /* 2^31 low words would overflow */
        sum_lo &= 0xffffffff;
    }
    rw_lambda_finish(query, rw_lambda_factor(rule, sum_hi, sum_lo, e));
}

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    if (query->ideal > 0.0 && query->fast)
        rw_rank_query_fast(query->isa, query->scores, query->n, query->order);
    else if (query->ideal > 0.0)
        rw_rank_query(query->scores, query->n, 0, query->order);
    (query->fast ? rw_lambda_query_fast : rw_lambda_query)(&rule->pair, query);
}

static int check(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                 double max_weight)
{
    return rw_lambda_check(ctx, &rule->pair, n_longest, max_weight);
}

/* NDCG's delta of all pairs is what no truncation is. */
static const struct rw_objective of_all_pairs = {.name = "lambdarank",
                                                 .params = "sigma norm delta pairs",
                                                 .ranks = 1,
                                                 .is_fixed = 1,
                                                 .device = RW_OBJECTIVE_PAIRS,
                                                 .check = check,
                                                 .query = query_of};

enum { DEBIAS = 5 }; /* among its parameters */

static const struct rw_objective *variant_of(const struct rw_objective_rule *rule)
{
    if (rule->value[DEBIAS] != RW_DEBIAS_OFF)
        return &rw_objective_debiased;
    const double delta = rule->value[RW_LAMBDARANK_DELTA], pairs = rule->value[RW_LAMBDARANK_PAIRS];
    if (delta == RW_DELTA_NDCG && pairs == RW_PAIRS_TOPK)
        return NULL;
    if (delta == RW_DELTA_NDCG && pairs == RW_PAIRS_ALL)
        return &of_all_pairs;
    return rw_lambdarank_variant(delta, pairs);
}

const struct rw_objective rw_objective_lambdarank = {.name = "lambdarank",
                                                     .params =
                                                         "sigma norm delta pairs truncation debias",
                                                     .ranks = 1,
                                                     .is_fixed = 1,
                                                     .device = RW_OBJECTIVE_PAIRS,
                                                     .check = check,
                                                     .query = query_of,
                                                     .variant = variant_of};
