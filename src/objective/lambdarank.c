/* LambdaRank: what lambda.h says, as a row of the table. */
#include <string.h>

#include "metric/metric.h"
#include "objective/objective.h"

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

#define ROW(words, by)                                                                 \
    {                                                                                  \
        .name = "lambdarank", .params = words, .ranks = 1, .is_fixed = 1,              \
        .device = RW_OBJECTIVE_PAIRS, .check = check, .query = query_of, .variant = by \
    }

/* NDCG's delta of all pairs is what no truncation is. */
static const struct rw_objective of_all_pairs = ROW("sigma norm delta pairs", NULL);

static const struct rw_objective *variant_of(const struct rw_objective_rule *rule)
{
    const double delta = rule->value[RW_LAMBDARANK_DELTA], pairs = rule->value[RW_LAMBDARANK_PAIRS];
    if (delta == RW_DELTA_NDCG && pairs == RW_PAIRS_TOPK)
        return NULL;
    if (delta == RW_DELTA_NDCG && pairs == RW_PAIRS_ALL)
        return &of_all_pairs;
    return rw_lambdarank_variant(delta, pairs);
}

const struct rw_objective rw_objective_lambdarank =
    ROW("sigma norm delta pairs truncation", variant_of);

/* rw_lambda_query and rw_rank_query for most queries, by the instruction set's path of
 * lambdarank_tmpl.c. */
#if RW_HAS_X86
#include <emmintrin.h>
#endif

/* A row of functions by instruction set. */
#if RW_HAS_X86
#define PATHS(name)                              \
    {                                            \
        name##_plain, name##_avx2, name##_avx512 \
    }
#else
#define PATHS(name)  \
    {                \
        name##_plain \
    }
#endif

/* Integers under it are rounded by adding 1.5 x 2^52. */
#define MOST_ROUND 0x1p50
#define MOST_EASY  80.0

struct range {
    double low, high;
    double none; /* 0, unless a value is infinite or no number */
};

/* n >= 1. Four values at a time, for each waits for the one before. */
static struct range range_of(const double *value, uint32_t n)
{
    struct range all = {value[0], value[0], 0.0};
    double low[4], high[4], none[4] = {0};
    for (int k = 0; k < 4; k++)
        low[k] = high[k] = value[0];
    for (uint32_t i = 0; i < n / 4 * 4; i += 4) {
        for (int k = 0; k < 4; k++) {
            low[k] = value[i + k] < low[k] ? value[i + k] : low[k];
            high[k] = value[i + k] > high[k] ? value[i + k] : high[k];
            none[k] += value[i + k] * 0.0;
        }
    }
    for (uint32_t i = n / 4 * 4; i < n; i++) {
        all.low = value[i] < all.low ? value[i] : all.low;
        all.high = value[i] > all.high ? value[i] : all.high;
        all.none += value[i] * 0.0;
    }
    for (int k = 0; k < 4; k++) {
        all.low = low[k] < all.low ? low[k] : all.low;
        all.high = high[k] > all.high ? high[k] : all.high;
        all.none += none[k];
    }
    return all;
}

/* Are all pairs' numbers small enough for the quick rounding, and does it not matter when the unit
 * is applied? Gains lie under the ideal, the ranking's best document being the ideal's first: as a
 * rule they are. */
static int is_bounded(const struct rw_lambda_rule *rule, const struct rw_objective_query *query,
                      double scale)
{
    const struct range of = range_of(query->gains, query->n);
    const double range = of.high - of.low;
    const double sigma = (double)rule->sigma;
    const double most = range * query->discounts[0] / query->ideal * (rule->norm ? 100.0 : 1.0) *
                        sigma * (sigma > 1.0 ? sigma : 1.0) * scale;
    return most < MOST_ROUND / 4.0 /* roundings are far less than the 4 */
           && query->ideal > 0x1p-20 && query->ideal < 0x1p60 && range < query->ideal * 0x1p20;
}

/* rw_round_int64, by the processor's own where there is one. */
static int64_t round_double(double value)
{
#if RW_HAS_X86
    return _mm_cvtsd_si64(_mm_set_sd(value));
#else
    return rw_round_int64(value);
#endif
}

/* Of a block's documents and the top ones above them. */
static uint64_t pairs_of(uint32_t first, uint32_t n, uint32_t top)
{
    uint64_t pairs = 0;
    for (uint32_t t = first; t < first + n; t++)
        pairs += t < top ? t : top;
    return pairs;
}

void rw_lambda_query_fast(const struct rw_lambda_rule *rule, const struct rw_objective_query *query)
{
    static rw_lambda_block_fn *const paths[] = PATHS(rw_lambda_block);
    const uint32_t n = query->n, *order = query->order;
    const int e = rw_lambda_shift(n, rule);
    const double scale = rw_pow2(RW_LAMBDA_EXPONENT - e);
    if (!((float)query->ideal > 0.0f) || !is_bounded(rule, query, scale)) {
        rw_lambda_query(rule, query);
        return;
    }
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->hess, 0, n * sizeof(*query->hess));
    const uint32_t top = rule->truncation && rule->truncation < n ? rule->truncation : n;
    const float unit = (float)query->ideal / (float)scale;
    const double spread = query->scores[order[0]] - query->scores[order[n - 1]];
    struct rw_lambda_row row = {.unit = unit,
                                .reciprocal = 1.0f / unit,
                                .sigma = rule->sigma,
                                .norm = rule->norm && spread != 0.0,
                                .easy = rule->sigma == 1.0f && spread < MOST_EASY};
    struct rw_lambda_block block;
    for (uint32_t first = 0; first < n; first += RW_LAMBDA_BLOCK) {
        const uint32_t in_block = n - first < RW_LAMBDA_BLOCK ? n - first : RW_LAMBDA_BLOCK;
        for (uint32_t i = 0; i < in_block; i++) {
            block.gain[i] = query->gains[order[first + i]];
            block.score[i] = query->scores[order[first + i]];
            block.discount[i] = query->discounts[first + i];
            block.lambda[i] = block.hessian[i] = 0;
        }
        for (uint32_t i = in_block; i < in_block + RW_LAMBDA_ROOM; i++)
            block.gain[i] = block.score[i] = block.discount[i] = 0.0;
        if (rw_share_poll(query->share, pairs_of(first, in_block, top)))
            return;
        paths[query->isa](&row, &block, first, in_block, top, query);
        for (uint32_t i = 0; i < in_block; i++) {
            query->lambda[order[first + i]] += block.lambda[i];
            query->hess[order[first + i]] += block.hessian[i];
        }
    }
    const double factor = rw_lambda_factor(rule, row.sum_hi, row.sum_lo, e);
    for (uint32_t i = 0; i < n; i++) {
        const double by = query->weights ? factor * query->weights[i] : factor;
        query->lambda[i] = round_double((double)query->lambda[i] * by);
        query->hess[i] = round_double((double)query->hess[i] * by);
    }
}

void rw_rank_query_fast(enum rw_isa isa, const double *scores, uint32_t n, uint32_t *order)
{
    enum { LONGEST = 1024 };
    static rw_rank_count_fn *const paths[] = PATHS(rw_rank_count);
    static const uint32_t longest[] = {256, 768, LONGEST}; /* beyond, sorting is faster */
    const double most_key = 0x1p30;                        /* one more must not overflow */
    int32_t key[LONGEST + RW_LAMBDA_ROOM];
    if (n == 0)
        return;
    const struct range of = n <= longest[isa] ? range_of(scores, n) : (struct range){0, 0, 1};
    const double range = of.high - of.low;
    if (of.none != 0.0 || !(range < 0x1p500)) {
        rw_rank_query(scores, n, 0, order);
        return;
    }
    /* keys rise, or stay, where scores fall: positions are right but for those of other scores with
     * equal keys */
    const double scale = range > 0x1p-500 ? most_key / range : 0.0;
    for (uint32_t i = 0; i < n; i++)
        key[i] = (int32_t)((of.high - scores[i]) * scale);
    memset(key + n, 0, RW_LAMBDA_ROOM * sizeof(*key));
    paths[isa](key, n, order);
    for (uint32_t r = 1; r < n; r++) {
        const uint32_t doc = order[r];
        uint32_t at = r;
        for (; at > 0 && scores[order[at - 1]] < scores[doc]; at--)
            order[at] = order[at - 1];
        order[at] = doc;
    }
}
