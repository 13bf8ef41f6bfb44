/* YetiRank's gradients (Gulin, Kuralenok and Pavlov, "Winning the transfer learning track of
 * Yahoo!'s learning to rank challenge with YetiRank", 2011, section 4), in fixed point.
 *
 * For each tree, every query is ranked several times by noisy scores: score + log(u / (1 - u)),
 * where u is uniform in (0, 1). Neighbours in such a ranking, at positions r and r + 1 from 0,
 * form a pair if their gains differ. Its weight is decay^r |g_i - g_j| / IDCG, and its gradient
 * is that of the logistic loss of the scores without noise (lambda.h). Gradients are summed over
 * the rankings and divided by their number. The paper weighs positions by 1 / (r + 1); decay^r
 * is CatBoost's weight. With another delta (a metric instead of NDCG, lambda.h), the
 * weight is the change of that metric if the two are swapped (Lyzhin, Ustimenko, Gulin and
 * Prokhorenkova, "Which tricks are important for learning to rank?", 2023): see neighbours.h.
 *
 * The noise depends only on (seed, tree, document, ranking). Contributions are rounded to
 * multiples of 2^-40 before they are summed. So the gradients do not depend on the number of
 * threads. gpu/objective/cu_neighbours.cu does the same on a GPU. */
#include "objective/objective.h"

#include "base/rng.h"
#include "metric/metric.h"
#include "objective/neighbours.h"

/* One draw of random numbers per document serves DRAWN rankings, one number each. For fewer than
 * FEW positions, rank_top is faster than ranking all documents. */
enum { DRAWN = 4, FEW = 64 };
/* Indices among its parameters. by_relevance has RELEVANT in place of DECAY; by_gains has neither.
 */
enum { PERMUTATIONS = 2, DELTA, DECAY, RELEVANT = DECAY };

/* ---- functions of neighbours.h ---- */

void rw_neighbours_rule_init(struct rw_neighbours_rule *out, const struct rw_objective_rule *rule)
{
    const enum rw_delta_kind kind = rw_delta_kind(rule->value[DELTA]);
    *out = (struct rw_neighbours_rule){
        .kind = kind,
        .cutoff = rw_delta_cutoff(rule->value[DELTA]),
        .truncation = rule->pair.truncation,
        .permutations = (uint32_t)rule->value[PERMUTATIONS],
        .sigma = rule->pair.sigma,
        .scale = (float)(rw_pow2(RW_LAMBDA_EXPONENT) / rule->value[PERMUTATIONS]),
        .relevant = rw_delta_is_of_relevance(kind) ? rule->value[RELEVANT] : 0.0,
        .max_gain = rule->max_gain};
}

void rw_neighbours_weights(const struct rw_neighbours_rule *rule, double decay, double *weight,
                           uint32_t n)
{
    double power = 1.0;
    for (uint32_t r = 0; r < n; r++) {
        const double step = 1.0 / ((double)r + 1.0) - 1.0 / ((double)r + 2.0);
        switch (rule->kind) {
        case RW_DELTA_NDCG:
            weight[r] = power;
            power = power * decay;
            break;
        case RW_DELTA_DCG:
            weight[r] = rw_discount(r) - rw_discount(r + 1);
            break;
        case RW_DELTA_P:
            weight[r] = r + 1 == rule->cutoff ? 1.0 / (double)rule->cutoff : 0.0;
            break;
        case RW_DELTA_NONE:
            weight[r] = 1.0;
            break;
        default:
            weight[r] = step;
        }
    }
}

double rw_neighbours_over(const struct rw_neighbours_rule *rule, const double *grade, uint32_t n,
                          double ideal)
{
    double n_relevant = 0.0;
    if (rule->kind == RW_DELTA_NDCG)
        return ideal;
    if (rule->kind != RW_DELTA_MAP)
        return 1.0;
    for (uint32_t i = 0; i < n; i++)
        n_relevant += grade[i];
    return n_relevant;
}

/* ---- a query ---- */

/* Writes the sort keys of rankings p to p + DRAWN - 1, for which each document makes one draw of
 * DRAWN random words. keys: [DRAWN][n]. */
static void draw_keys(const struct rw_objective_rule *rule, const struct rw_objective_query *query,
                      uint32_t p, const double *power, double *keys)
{
    for (uint32_t i = 0; i < query->n; i++) {
        const uint64_t item = (uint64_t)(p / DRAWN) << 32 | (query->first_document + i);
        const struct rw_philox four = rw_random4(rule->seed, item, query->tree, RW_STREAM_YETIRANK);
        for (uint32_t k = 0; k < DRAWN; k++)
            keys[(size_t)k * query->n + i] = power[i] * rw_neighbours_odds(four.word[k]);
    }
}

/* Finds the first `top` positions of rw_rank_query. */
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

/* Adds the pairs of the ranking in `order`. */
static void add_pairs(const struct rw_neighbours_rule *rule, const struct rw_objective_query *query,
                      const double *grade, double over, uint32_t top)
{
    double above = rw_neighbours_first(rule);
    for (uint32_t r = 0; r < top; r++) {
        const uint32_t a = query->order[r], b = query->order[r + 1];
        const struct rw_neighbour upper = {grade[a], query->scores[a]};
        const struct rw_neighbour lower = {grade[b], query->scores[b]};
        const struct rw_lambda_pair pair =
            rw_neighbours_pair(rule, query->positions[r], over, above, upper, lower);
        query->lambda[a] += pair.lambda;
        query->lambda[b] -= pair.lambda;
        query->hess[a] += pair.hessian;
        query->hess[b] += pair.hessian;
        if (rw_neighbours_depends_on_above(rule))
            above = rw_neighbours_next(rule, above, rw_neighbours_step(rule, grade[a]));
    }
}

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    struct rw_neighbours_rule own;
    rw_neighbours_rule_init(&own, rule);
    const uint32_t n = query->n, top = rw_neighbours_top(&own, n);
    double *power = query->scratch + (size_t)DRAWN * n, *grade = power + n;
    memset(query->lambda, 0, n * sizeof(*query->lambda));
    memset(query->hess, 0, n * sizeof(*query->hess));
    rw_delta_grades(own.kind, own.relevant, query->gains, query->labels, n, grade);
    const double over = rw_neighbours_over(&own, grade, n, query->ideal);
    if (top == 0 || !((float)over > 0.0f)) /* pairs are computed in float */
        return;
    rw_softmax_powers(query->scores, n, power);
    for (uint32_t p = 0; p < own.permutations; p++) {
        const double *keys = query->scratch + (size_t)(p % DRAWN) * n;
        if (p % DRAWN == 0)
            draw_keys(rule, query, p, power, query->scratch);
        if (top < FEW)
            rank_top(keys, n, top + 1, query->order);
        else
            rw_rank_query_fast(query->isa, keys, n, query->order);
        add_pairs(&own, query, grade, over, top);
    }
    rw_lambda_finish(query, 1.0);
}

/* ---- the table ---- */

static void positions_of(const struct rw_objective_rule *rule, double *position, uint32_t n)
{
    struct rw_neighbours_rule own;
    rw_neighbours_rule_init(&own, rule);
    rw_neighbours_weights(&own, rule->value[DECAY], position, n);
}

/* Checks gains for dcg, the only delta that exceeds 1. A ranking gives a document at most two
 * pairs, each of less than 0.37 times the largest gain. */
static int check_gains(struct rw_ctx *ctx, const struct rw_objective_rule *rule, double max_weight)
{
    const double sigma = (double)rule->pair.sigma;
    double gain = rule->max_gain;
    for (int k = 0; k < rule->n_labels; k++)
        gain = rule->label[k].max_gain > gain ? rule->label[k].max_gain : gain;
    const double weight = max_weight > 1.0 ? max_weight : 1.0; /* sums are weighed at the end */
    if (gain * sigma * (sigma > 1.0 ? sigma : 1.0) * weight <= 4194304.0)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "yetirank by dcg: sigma %g, a gain of %g and a weight of %g could overflow a "
                   "lambda's sum; expected a smaller --sigma, smaller weights, --label-gain linear "
                   "or --delta ndcg",
                   sigma, gain, max_weight);
}

/* Checks the other deltas. A ranking gives a document at most two pairs, so sums are smaller
 * than those that lambdarank's norm bounds. */
static int check(struct rw_ctx *ctx, const struct rw_objective_rule *rule, uint32_t n_longest,
                 double max_weight)
{
    struct rw_objective_rule bounded = *rule;
    bounded.pair.norm = 1;
    if (rw_delta_kind(rule->value[DELTA]) == RW_DELTA_DCG)
        RW_TRY(check_gains(ctx, rule, max_weight));
    return rw_lambda_check(ctx, &bounded, n_longest, max_weight);
}

#define ROW(words, by)                                                              \
    {                                                                               \
        .name = "yetirank", .params = words, .ranks = 1, .draws = 1, .is_fixed = 1, \
        .scratch = DRAWN + 2, .device = RW_OBJECTIVE_NEIGHBOURS, .check = check,    \
        .positions = positions_of, .query = query_of, .variant = by                 \
    }

/* A variant does not read parameters that its grades and positions do not use, so each of them that
 * is set is reported as a parameter without effect. */
static const struct rw_objective by_gains = ROW("sigma truncation permutations delta", NULL);
static const struct rw_objective by_relevance =
    ROW("sigma truncation permutations delta relevant", NULL);

static const struct rw_objective *variant_of(const struct rw_objective_rule *rule)
{
    const enum rw_delta_kind kind = rw_delta_kind(rule->value[DELTA]);
    if (kind == RW_DELTA_NDCG)
        return NULL;
    return rw_delta_is_of_relevance(kind) ? &by_relevance : &by_gains;
}

const struct rw_objective rw_objective_yetirank =
    ROW("sigma truncation permutations delta decay", variant_of);
