/* YetiRank by every delta against the metrics' definitions: neighbours of each ranking with noise
 * are exchanged, and the metric measured again. ndcg's gradients are test_yetirank.c's. */
#include <criterion/criterion.h>

#include "base/ctx.h"
#include "base/rng.h"
#include "each.h"
#include "metric/metric.h"
#include "naive_metrics.h"
#include "objective/neighbours.h"
#include "objective/objective.h"
#include "train_fixture.h"

enum { MOST = 60, MOST_LABEL = 4, FIRST = 1000, TREE = 3 };

/* none has no metric: its deltas are 1. */
static const struct {
    const char *delta, *metric;
} deltas[] = {{"dcg", "dcg"}, {"map", "map"}, {"mrr", "mrr"},   {"err", "err"},
              {"p@1", "p@1"}, {"p@5", "p@5"}, {"p@70", "p@70"}, {"none", "rmse"}};
enum { DELTAS = sizeof(deltas) / sizeof(deltas[0]) };

struct query {
    int n;
    float label[MOST];
    double gain[MOST], score[MOST], weight[MOST], space[6 * MOST];
    uint32_t order[MOST];
    int64_t lambda[MOST], hessian[MOST];
    double real_lambda[MOST], real_hessian[MOST];
};

static void make(struct query *q, uint64_t seed)
{
    q->n = 1 + (int)(seed * 7 % MOST);
    for (int i = 0; i < q->n; i++) {
        const double u = fixture_unit(seed, (uint32_t)i);
        q->label[i] = (float)(seed % 3 ? floor(u * (MOST_LABEL + 1)) : floor(u * u * u * 5.0));
        q->gain[i] = pow(2.0, (double)q->label[i]) - 1.0;
        q->score[i] = floor(fixture_unit(seed, MOST + (uint32_t)i) * 8.0) * 0.5;
        q->weight[i] = 0.5 * (i % 4);
    }
}

/* The rule of a delta, and what trains by it. */
static const struct rw_objective *rule_of(struct rw_objective_rule *rule, const char *delta,
                                          uint32_t truncation, int permutations, double relevant)
{
    *rule = (struct rw_objective_rule){.pair = {.sigma = 1.5f, .truncation = truncation},
                                       .seed = 11,
                                       .max_gain = pow(2.0, MOST_LABEL) - 1.0};
    rule->value[rw_objective_param(&rw_objective_yetirank, "delta")] = rw_delta_number(delta);
    const struct rw_objective *objective = rw_objective_for(&rw_objective_yetirank, rule);
    cr_assert_neq(objective, &rw_objective_yetirank, "%s", delta);
    cr_assert_eq(rw_objective_param(objective, "decay"), -1);
    cr_assert_eq(rw_objective_param(objective, "delta"),
                 rw_objective_param(&rw_objective_yetirank, "delta"));
    rule->value[rw_objective_param(objective, "permutations")] = permutations;
    const int at = rw_objective_param(objective, "relevant");
    cr_assert_eq(at >= 0, rw_delta_is_of_relevance(rw_delta_kind(rw_delta_number(delta))));
    if (at >= 0)
        rule->value[at] = relevant;
    return objective;
}

/* |the metric of a ranking's labels with positions r and r + 1 exchanged - the metric|. */
static double exchanged(const struct rw_metric *metric, const double *ranked, int n, int r)
{
    static const double score[MOST] = {0};
    double label[MOST];
    memcpy(label, ranked, (size_t)n * sizeof(*label));
    const double before = naive_value(metric, label, score, n, MOST_LABEL);
    label[r] = ranked[r + 1];
    label[r + 1] = ranked[r];
    const double after = naive_value(metric, label, score, n, MOST_LABEL);
    return isnan(before) ? 0.0 : fabs(after - before);
}

static double odds_of(uint64_t seed, uint32_t document, uint32_t permutation)
{
    const struct rw_philox four =
        rw_random4(seed, (uint64_t)(permutation / 4) << 32 | document, TREE, RW_STREAM_YETIRANK);
    const double u = ((double)four.word[permutation % 4] + 0.5) * 0x1p-32;
    return u / (1 - u);
}

/* The documents by falling score with noise. */
static void rank_noisy(const struct query *q, uint64_t seed, uint32_t permutation, int *ranked)
{
    double noisy[MOST];
    for (int i = 0; i < q->n; i++) {
        int r = i;
        noisy[i] = q->score[i] + log(odds_of(seed, FIRST + (uint32_t)i, permutation));
        for (; r > 0 && noisy[i] > noisy[ranked[r - 1]]; r--)
            ranked[r] = ranked[r - 1];
        ranked[r] = i;
    }
}

static int is_pair(const struct rw_metric *metric, const struct query *q, int a, int b)
{
    if (!metric->kind->uses_relevance)
        return q->label[a] != q->label[b];
    return (q->label[a] >= metric->relevant) != (q->label[b] >= metric->relevant);
}

static void plain(struct query *q, const struct rw_objective_rule *rule, const char *delta,
                  const struct rw_metric *metric, int permutations)
{
    const double sigma = (double)rule->pair.sigma;
    memset(q->real_lambda, 0, sizeof(q->real_lambda));
    memset(q->real_hessian, 0, sizeof(q->real_hessian));
    for (int p = 0; p < permutations; p++) {
        int ranked[MOST];
        double label[MOST];
        rank_noisy(q, rule->seed, (uint32_t)p, ranked);
        for (int r = 0; r < q->n; r++)
            label[r] = (double)q->label[ranked[r]];
        for (int r = 0; r + 1 < q->n; r++) {
            const int a = ranked[r], b = ranked[r + 1];
            if (!is_pair(metric, q, a, b) ||
                (rule->pair.truncation && r >= (int)rule->pair.truncation))
                continue;
            const int hi = q->label[a] > q->label[b] ? a : b, lo = hi == a ? b : a;
            const double rho = 1 / (1 + exp(sigma * (q->score[hi] - q->score[lo])));
            const double by = strcmp(delta, "none") == 0 ? 1.0 : exchanged(metric, label, q->n, r);
            q->real_lambda[hi] += sigma * rho * by / permutations * q->weight[hi];
            q->real_lambda[lo] -= sigma * rho * by / permutations * q->weight[lo];
            q->real_hessian[hi] +=
                sigma * sigma * rho * (1 - rho) * by / permutations * q->weight[hi];
            q->real_hessian[lo] +=
                sigma * sigma * rho * (1 - rho) * by / permutations * q->weight[lo];
        }
    }
}

static void compute(struct query *q, const struct rw_objective *objective,
                    const struct rw_objective_rule *rule, enum rw_isa isa)
{
    double position[MOST];
    objective->positions(rule, position, MOST);
    const struct rw_objective_query of = {.n = (uint32_t)q->n,
                                          .first_document = FIRST,
                                          .tree = TREE,
                                          .isa = isa,
                                          .scores = q->score,
                                          .labels = q->label,
                                          .weights = q->weight,
                                          .gains = q->gain,
                                          .positions = position,
                                          .scratch = q->space,
                                          .order = q->order,
                                          .lambda = q->lambda,
                                          .hess = q->hessian};
    objective->query(rule, &of);
}

Test(neighbours, gradients_are_of_the_change_by_an_exchange)
{
    static struct query q;
    for (int d = 0; d < DELTAS; d++) {
        int n_moved = 0;
        for (uint64_t seed = 0; seed < 40; seed += EACH(4)) {
            struct rw_objective_rule rule;
            struct rw_metric metric;
            const double relevant = 1.0 + (double)(seed % 3);
            const int permutations = 1 + (int)(seed % 9);
            const struct rw_objective *objective =
                rule_of(&rule, deltas[d].delta, seed % 3 ? 0 : 7, permutations, relevant);
            cr_assert_eq(rw_metric_parse(NULL, deltas[d].metric, relevant, &metric), RW_OK);
            make(&q, seed);
            plain(&q, &rule, deltas[d].delta, &metric, permutations);
            compute(&q, objective, &rule, rw_isa());
            for (int i = 0; i < q.n; i++) {
                const double size = 1.0 + fabs(q.real_lambda[i]);
                cr_assert_float_eq((double)q.lambda[i] * 0x1p-40, q.real_lambda[i], 2e-6 * size,
                                   "%s, seed %d, document %d: %.17g, not %.17g", deltas[d].delta,
                                   (int)seed, i, (double)q.lambda[i] * 0x1p-40, q.real_lambda[i]);
                cr_assert_float_eq((double)q.hessian[i] * 0x1p-40, q.real_hessian[i], 2e-6 * size);
                n_moved += q.lambda[i] != 0;
            }
        }
        cr_expect_eq(n_moved > 50 / EACH(4), strcmp(deltas[d].delta, "p@70") != 0, "%s: %d",
                     deltas[d].delta, n_moved);
    }
}

/* All functions build the part above a position in the same way. Deltas are those of lambda.h
 * for two positions, with the same bits, except for map, which has no differences of sums of
 * reciprocals. */
Test(neighbours, deltas_are_those_of_two_positions)
{
    static struct query q;
    double discount[MOST + 1], weight[MOST], prefix[2 * MOST], grade[MOST];
    for (uint32_t r = 0; r <= MOST; r++)
        discount[r] = rw_discount(r);
    for (int d = 0; d < DELTAS; d++) {
        for (uint64_t seed = 0; seed < 40; seed += EACH(4)) {
            struct rw_objective_rule rule;
            struct rw_neighbours_rule own;
            rule_of(&rule, deltas[d].delta, 0, 3, 2.0);
            rw_neighbours_rule_init(&own, &rule);
            rw_neighbours_weights(&own, 0.5, weight, MOST);
            make(&q, seed);
            rw_delta_grades(own.kind, own.relevant, q.gain, q.label, (uint32_t)q.n, grade);
            struct rw_delta_query of = {.kind = own.kind,
                                        .n = (uint32_t)q.n,
                                        .cutoff = own.cutoff,
                                        .grade = grade,
                                        .discounts = discount,
                                        .max_gain = own.max_gain};
            rw_delta_prepare(&of, prefix);
            const double over = rw_neighbours_over(&own, grade, (uint32_t)q.n, 0.0);
            double above = rw_neighbours_first(&own);
            for (uint32_t r = 0; r + 1 < (uint32_t)q.n; r++) {
                const double delta =
                    rw_neighbours_delta(&own, weight[r], over, above, grade[r], grade[r + 1]);
                above = rw_neighbours_next(&own, above, rw_neighbours_step(&own, grade[r]));
                if (grade[r] == grade[r + 1])
                    continue;
                if (own.kind == RW_DELTA_MAP)
                    cr_assert_float_eq(delta, rw_delta_of(&of, r, r + 1), 1e-14);
                else
                    cr_assert_eq(delta, rw_delta_of(&of, r, r + 1), "%s, seed %d, position %u",
                                 deltas[d].delta, (int)seed, r);
            }
        }
    }
}

Test(neighbours, nothing_to_gain)
{
    static struct query q;
    for (int d = 0; d < DELTAS; d++) {
        struct rw_objective_rule rule;
        const struct rw_objective *objective = rule_of(&rule, deltas[d].delta, 0, 4, 1.0);
        for (int n = 0; n < 4; n++) { /* no document, one, and two or three of one label */
            make(&q, 5);
            for (int i = 0; i < MOST; i++) {
                q.label[i] = (float)(n % 2);
                q.gain[i] = (double)q.label[i];
                q.lambda[i] = q.hessian[i] = 77;
            }
            q.n = n;
            compute(&q, objective, &rule, RW_ISA_PLAIN);
            for (int i = 0; i < n; i++)
                cr_assert(q.lambda[i] == 0 && q.hessian[i] == 0, "%s", deltas[d].delta);
            cr_assert_eq(q.lambda[n], 77);
        }
    }
}

/* dcg's deltas are as large as gains are; what would not fit is refused. */
Test(neighbours, gains_too_large)
{
    struct rw_ctx *ctx;
    struct rw_objective_rule rule;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    const struct rw_objective *objective = rule_of(&rule, "dcg", 0, 4, 1.0);
    rule.pair.sigma = 1.0f;
    rule.max_gain = 4194304.0;
    cr_assert_eq(objective->check(ctx, &rule, 1000, 1.0), RW_OK);
    cr_assert_eq(objective->check(ctx, &rule, 1000, 1e-9), RW_OK);
    cr_assert_eq(objective->check(ctx, &rule, 1000, 1.1), RW_ERR_DATA);
    rule.max_gain = 4194305.0;
    cr_assert_eq(objective->check(ctx, &rule, 1000, 1e-9), RW_ERR_DATA);
    rule.n_labels = 2; /* the largest of any label */
    rule.label[0].max_gain = rule.max_gain = 1.0;
    rule.label[1].max_gain = 4194305.0;
    cr_assert_eq(objective->check(ctx, &rule, 1000, 1.0), RW_ERR_DATA);
    objective = rule_of(&rule, "err", 0, 4, 1.0);
    rule.max_gain = 2147483648.0;
    cr_assert_eq(objective->check(ctx, &rule, 1000, 1.0), RW_OK);
    rw_ctx_free(ctx);
}
