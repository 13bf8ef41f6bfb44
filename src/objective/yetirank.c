#include "objective/yetirank.h"

#include <string.h>

#include "base/rng.h"
#include "objective/objective.h"

enum { DRAWN = 4, FEW = 64 };

/* Of a random word: u = (word + 1/2) / 2^32, so that u and 1 - u are exact and not 0. */
static double odds_of(uint32_t word)
{
    const double u = ((double)word + 0.5) * 0x1p-32;
    return u / (1.0 - u);
}

/* Rankings 4 k to 4 k + 3 share a document's draw. */
static struct rw_philox draw(uint64_t seed, uint32_t tree, uint32_t document, uint32_t four)
{
    return rw_random4(seed, (uint64_t)four << 32 | document, tree, RW_STREAM_YETIRANK);
}

double rw_yetirank_odds(uint64_t seed, uint32_t tree, uint32_t document, uint32_t permutation)
{
    return odds_of(draw(seed, tree, document, permutation / DRAWN).word[permutation % DRAWN]);
}

void rw_yetirank_powers(const double *scores, uint32_t n, double *power)
{
    double most = scores[0];
    for (uint32_t i = 1; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < n; i++) {
        const double x = (scores[i] - most) * 1.4426950408889634;
        power[i] = rw_exp2(x > -900.0 ? x : -900.0);
    }
}

/* The first `top` places of rw_rank_query. */
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

/* The pairs of one ranking, of which `top` + 1 places are known. */
static void add_neighbours(const struct rw_yetirank_rule *rule,
                           const struct rw_yetirank_query_of *query, uint32_t top)
{
    const uint32_t *order = query->order;
    const float scale = (float)(rw_pow2(RW_LAMBDA_EXPONENT) / (double)rule->permutations);
    for (uint32_t r = 0; r < top; r++) {
        const uint32_t a = order[r], b = order[r + 1];
        if (query->gains[a] == query->gains[b])
            continue;
        const int up = query->gains[a] > query->gains[b];
        const uint32_t hi = up ? a : b, lo = up ? b : a;
        const struct rw_lambda_pair pair = rw_lambda_of_pair(
            (float)(query->gains[hi] - query->gains[lo]), (float)query->position[r],
            (float)(query->scores[hi] - query->scores[lo]), (float)query->ideal, rule->sigma, 0,
            scale);
        query->lambda[hi] += pair.lambda;
        query->lambda[lo] -= pair.lambda;
        query->weight[hi] += pair.weight;
        query->weight[lo] += pair.weight;
    }
}

void rw_yetirank_query(enum rw_isa isa, const struct rw_yetirank_rule *rule,
                       const struct rw_yetirank_query_of *query)
{
    const uint32_t n = query->n, last = n - 1;
    const uint32_t top = rule->truncation && rule->truncation < last ? rule->truncation : last;
    double *power = query->scratch + (size_t)DRAWN * n;
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->weight, 0, n * sizeof(*query->weight));
    if (!((float)query->ideal > 0.0f)) /* pairs are computed in float */
        return;
    rw_yetirank_powers(query->scores, n, power);
    for (uint32_t p = 0; p < rule->permutations; p++) {
        for (uint32_t i = 0; p % DRAWN == 0 && i < n; i++) {
            const struct rw_philox four =
                draw(rule->seed, query->tree, query->first_document + i, p / DRAWN);
            for (uint32_t k = 0; k < DRAWN; k++)
                query->scratch[(size_t)k * n + i] = power[i] * odds_of(four.word[k]);
        }
        const double *keys = query->scratch + (size_t)(p % DRAWN) * n;
        if (top < FEW)
            rank_top(keys, n, top + 1, query->order);
        else
            rw_rank_query_fast(isa, keys, n, query->order);
        add_neighbours(rule, query, top);
    }
}

/* ---- the row ---- */

enum { PERMUTATIONS = 2, DECAY = 3 }; /* among its parameters */

/* The places' weights, as CatBoost has them. */
static void positions_of(const struct rw_objective_rule *rule, double *position, uint32_t n)
{
    double weight = 1.0;
    for (uint32_t r = 0; r < n; r++) {
        position[r] = weight;
        weight = weight * rule->value[DECAY];
    }
}

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    const struct rw_yetirank_rule own = {.sigma = rule->pair.sigma,
                                         .truncation = rule->pair.truncation,
                                         .permutations = (uint32_t)rule->value[PERMUTATIONS],
                                         .seed = rule->seed};
    const uint32_t n = query->n;
    int64_t *const sums = (int64_t *)(query->scratch + (size_t)(DRAWN + 1) * n);
    const struct rw_yetirank_query_of of = {.n = n,
                                            .first_document = query->first_document,
                                            .tree = query->tree,
                                            .scores = query->scores,
                                            .gains = query->gains,
                                            .position = query->positions,
                                            .ideal = query->ideal,
                                            .scratch = query->scratch,
                                            .order = query->order,
                                            .lambda = sums,
                                            .weight = sums + n};
    rw_yetirank_query(query->isa, &own, &of);
    for (uint32_t i = 0; i < n; i++) {
        query->gradient[i] = (double)of.lambda[i] * 0x1p-40;
        query->hessian[i] = (double)of.weight[i] * 0x1p-40;
    }
}

const struct rw_objective rw_objective_yetirank = {.name = "yetirank",
                                                   .params = "sigma truncation permutations decay",
                                                   .ranks = 1,
                                                   .draws = 1,
                                                   .scratch = DRAWN + 3,
                                                   .device = RW_OBJECTIVE_HOST,
                                                   .positions = positions_of,
                                                   .query = query_of};
