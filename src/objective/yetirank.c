/* YetiRank's gradients (Gulin, Kuralenok and Pavlov, "Winning the transfer learning track of
 * Yahoo!'s learning to rank challenge with YetiRank", 2011, section 4), in fixed point.
 *
 * For a tree, each query is ranked several times by its scores with noise: score + log(u / (1 -
 * u)), u uniform in (0, 1). Documents that stand next to each other in such a ranking, at positions
 * r and r + 1 from 0, and whose gains differ, are a pair of weight decay^r |g_i - g_j| / IDCG, and
 * a pair's gradient is that of the logistic loss of their scores without noise: what lambda.h has,
 * summed over the rankings and divided by their number. The paper's weights of positions are 1 / (r
 * + 1); decay^r is what CatBoost has, with the same numbers.
 *
 * The noise depends on (seed, tree, document, ranking) only, and contributions are rounded to
 * multiples of 2^-40 before they are summed: any number of threads gives the same gradients. They
 * are computed on the host for every engine. */
#include "objective/softmax.h"

#include <string.h>

#include "base/rng.h"

enum { DRAWN = 4, FEW = 64 };
enum { PERMUTATIONS = 2, DECAY = 3 }; /* among its parameters */

/* Keys of rankings p to p + 3, which share a document's draw: power x u / (1 - u), where
 * u = (word + 1/2) / 2^32, so that u and 1 - u are exact and not 0. power x odds ranks as score +
 * log(odds) does, for one logarithm less a ranking. keys: [DRAWN][n]. */
static void draw_keys(const struct rw_objective_rule *rule, const struct rw_objective_query *query,
                      uint32_t p, const double *power, double *keys)
{
    for (uint32_t i = 0; i < query->n; i++) {
        const uint64_t item = (uint64_t)(p / DRAWN) << 32 | (query->first_document + i);
        const struct rw_philox four = rw_random4(rule->seed, item, query->tree, RW_STREAM_YETIRANK);
        for (uint32_t k = 0; k < DRAWN; k++) {
            const double u = ((double)four.word[k] + 0.5) * 0x1p-32;
            keys[(size_t)k * query->n + i] = power[i] * (u / (1.0 - u));
        }
    }
}

/* The first `top` positions of rw_rank_query. */
static void rank_top(const double *keys, uint32_t n, uint32_t top, uint32_t *order)
{
    uint32_t have = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (have == top && !(keys[i] > keys[order[have - 1]]))
            continue;
        uint32_t r = have < top ? have++ : have - 1;
        for (; r > 0 && keys[i] > keys[order[r - 1]]; r--)
            order[r] = order[r - 1];
        order[r] = i;
    }
}

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    const uint32_t n = query->n, last = n - 1, truncation = rule->pair.truncation;
    const uint32_t top = truncation && truncation < last ? truncation : last;
    const float scale = (float)(rw_pow2(RW_LAMBDA_EXPONENT) / rule->value[PERMUTATIONS]);
    double *power = query->scratch + (size_t)DRAWN * n;
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->hess, 0, n * sizeof(*query->hess));
    if (!((float)query->ideal > 0.0f)) /* pairs are computed in float */
        return;
    rw_softmax_powers(query->scores, n, power);
    for (uint32_t p = 0; p < (uint32_t)rule->value[PERMUTATIONS]; p++) {
        const double *keys = query->scratch + (size_t)(p % DRAWN) * n;
        if (p % DRAWN == 0)
            draw_keys(rule, query, p, power, query->scratch);
        if (top < FEW)
            rank_top(keys, n, top + 1, query->order);
        else
            rw_rank_query_fast(query->isa, keys, n, query->order);
        for (uint32_t r = 0; r < top; r++)
            rw_lambda_add_pair(query, query->order[r], query->order[r + 1], query->positions[r],
                               rule->pair.sigma, 0, scale);
    }
    rw_lambda_finish(query, 1.0);
}

/* The weights of positions, as CatBoost has them. */
static void positions_of(const struct rw_objective_rule *rule, double *position, uint32_t n)
{
    double weight = 1.0;
    for (uint32_t r = 0; r < n; r++) {
        position[r] = weight;
        weight = weight * rule->value[DECAY];
    }
}

/* A ranking gives a document two pairs at most: sums stay under those that lambdarank's norm
 * bounds. */
static int check(struct rw_ctx *ctx, const struct rw_lambda_rule *rule, uint32_t n_longest,
                 double max_weight)
{
    struct rw_lambda_rule bounded = *rule;
    bounded.norm = 1;
    return rw_lambda_check(ctx, &bounded, n_longest, max_weight);
}

const struct rw_objective rw_objective_yetirank = {.name = "yetirank",
                                                   .params = "sigma truncation permutations decay",
                                                   .ranks = 1,
                                                   .draws = 1,
                                                   .is_fixed = 1,
                                                   .scratch = DRAWN + 1,
                                                   .device = RW_OBJECTIVE_HOST,
                                                   .check = check,
                                                   .positions = positions_of,
                                                   .query = query_of};
