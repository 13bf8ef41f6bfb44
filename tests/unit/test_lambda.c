#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "each.h"
#include "metric/metric.h"
#include "objective/objective.h"
#include "train_fixture.h"

enum { MOST = 64 };

struct query {
    uint32_t n, order[MOST];
    double score[MOST], gain[MOST], discount[MOST], scratch[MOST], ideal;
    int64_t lambda[MOST], weight[MOST];
};

static void make(struct query *q, uint64_t seed, uint32_t n, uint32_t truncation)
{
    q->n = n;
    for (uint32_t i = 0; i < n; i++) {
        q->gain[i] = floor(fixture_unit(seed, i) * 4.0);
        q->score[i] = floor(fixture_unit(seed, MOST + i) * 8.0) * 0.5; /* ties */
        q->discount[i] = rw_discount(i);
    }
    q->ideal = rw_ideal_dcg(q->gain, n, truncation, q->discount, q->scratch);
}

static void compute(struct query *q, const struct rw_lambda_rule *rule, const double *weights)
{
    rw_rank_query(q->score, q->n, 0, q->order);
    const struct rw_objective_query query = {.n = q->n,
                                             .scores = q->score,
                                             .gains = q->gain,
                                             .weights = weights,
                                             .order = q->order,
                                             .discounts = q->discount,
                                             .ideal = q->ideal,
                                             .lambda = q->lambda,
                                             .hess = q->weight};
    rw_lambda_query(rule, &query);
}

Test(lambda, one_pair_by_hand)
{
    /* gains 1 and 0 at positions 1 and 0, scores 0 and 1, no norm: delta = 1 - 1/log2(3),
     * rho = 1 / (1 + e^-1) */
    struct query q = {.n = 2, .score = {0, 1}, .gain = {1, 0}, .ideal = 1};
    q.discount[0] = 1;
    q.discount[1] = 1 / log2(3);
    const struct rw_lambda_rule rule = {.sigma = 1.0f};
    compute(&q, &rule, NULL);
    const double delta = 1 - 1 / log2(3), rho = 1 / (1 + exp(-1));
    cr_assert_float_eq((double)q.lambda[0] * 0x1p-40, rho * delta, 2e-7);
    cr_assert_eq(q.lambda[1], -q.lambda[0]);
    cr_assert_float_eq((double)q.weight[0] * 0x1p-40, rho * (1 - rho) * delta, 2e-7);
    cr_assert_eq(q.weight[1], q.weight[0]);
}

Test(lambda, a_querys_lambdas_sum_to_nothing)
{
    for (uint64_t seed = 0; seed < 200; seed += EACH(11)) {
        struct query q;
        const uint32_t truncation = seed % 3 ? (uint32_t)(seed % 7) : 0;
        const struct rw_lambda_rule rule = {
            .sigma = 1.0f, .truncation = truncation, .norm = seed % 2};
        make(&q, seed, 2 + (uint32_t)(seed % 60), truncation);
        compute(&q, &rule, NULL);
        int64_t sum = 0;
        for (uint32_t i = 0; i < q.n; i++) {
            sum += q.lambda[i];
            cr_assert_geq(q.weight[i], 0);
        }
        /* exactly; with the norm each document is rounded once more, by half a unit at most */
        cr_assert_leq(llabs(sum), rule.norm ? (int64_t)q.n / 2 : 0);
    }
}

Test(lambda, pairs_past_the_truncation_do_not_count)
{
    struct query q;
    const struct rw_lambda_rule rule = {.sigma = 1.0f, .truncation = 3};
    make(&q, 5, 20, 3);
    for (uint32_t i = 0; i < 20; i++)
        q.gain[i] = i < 3 ? 1.0 : i == 10 ? 3.0 : i == 15 ? 2.0 : 1.0;
    for (uint32_t i = 0; i < 20; i++)
        q.score[i] = -(double)i;
    q.ideal = rw_ideal_dcg(q.gain, 20, 3, q.discount, q.scratch);
    compute(&q, &rule, NULL);
    cr_assert_gt(q.lambda[10], 0); /* against positions 0, 1, 2 only */
    cr_assert_gt(q.lambda[15], 0);
    for (uint32_t i = 3; i < 20; i++)
        cr_assert(i == 10 || i == 15 || (q.lambda[i] == 0 && q.weight[i] == 0), "document %u", i);
    const struct rw_lambda_rule one_more = {.sigma = 1.0f, .truncation = 4};
    compute(&q, &one_more, NULL);
    cr_assert_lt(q.lambda[3], 0);
    cr_assert_eq(q.lambda[4], 0);
}

Test(lambda, tied_scores_keep_the_order_of_the_input)
{
    struct query q = {.n = 3, .score = {0, 0, 0}, .gain = {0, 0, 1}, .ideal = 1};
    for (uint32_t r = 0; r < 3; r++)
        q.discount[r] = rw_discount(r);
    const struct rw_lambda_rule rule = {.sigma = 1.0f, .norm = 1};
    compute(&q, &rule, NULL);
    /* positions 0, 1, 2: the first is further from the last than the second */
    cr_assert_lt(q.lambda[0], q.lambda[1]);
    /* equal scores: no division by 0.01, and rho = 1/2 */
    const double delta[2] = {1 - 0.5, 1 / log2(3) - 0.5}, sum = (delta[0] + delta[1]) / 2;
    const double factor = log2(1 + 2 * sum) / (2 * sum);
    cr_assert_float_eq((double)q.lambda[2] * 0x1p-40, sum * factor, 3e-7);
}

Test(lambda, nothing_to_gain)
{
    struct query q;
    const struct rw_lambda_rule rule = {.sigma = 1.0f, .norm = 1};
    make(&q, 1, 10, 0);
    memset(q.lambda, 0xA5, sizeof(q.lambda));
    memset(q.weight, 0xA5, sizeof(q.weight));
    q.ideal = 0.0;
    compute(&q, &rule, NULL);
    for (uint32_t i = 0; i < q.n; i++)
        cr_assert(q.lambda[i] == 0 && q.weight[i] == 0);
    /* gains that are no floats: 0 / 0 must not become an integer */
    for (uint32_t i = 0; i < q.n; i++)
        q.gain[i] = i * 1e-60;
    q.ideal = 1e-59;
    compute(&q, &rule, NULL);
    for (uint32_t i = 0; i < q.n; i++)
        cr_assert(q.lambda[i] == 0 && q.weight[i] == 0);
}

Test(lambda, weights_multiply_last)
{
    struct query q, weighted;
    double weights[MOST];
    const struct rw_lambda_rule rule = {.sigma = 2.0f, .norm = 1, .truncation = 10};
    make(&q, 9, 40, 10);
    weighted = q;
    for (uint32_t i = 0; i < 40; i++)
        weights[i] = i % 4 == 0 ? 0.0 : i % 4 == 1 ? 1.0 : 4.0;
    compute(&q, &rule, NULL);
    compute(&weighted, &rule, weights);
    for (uint32_t i = 0; i < 40; i++) {
        cr_assert_leq(llabs(weighted.lambda[i] - (int64_t)weights[i] * q.lambda[i]), 2);
        if (i % 4 == 0)
            cr_assert_eq(weighted.weight[i], 0);
    }
}

Test(lambda, units_grow_with_huge_queries)
{
    struct rw_lambda_rule rule = {.sigma = 1.0f};
    cr_assert_eq(rw_lambda_shift(4194304, &rule), 0);
    cr_assert_eq(rw_lambda_shift(4194305, &rule), 1);
    rule.norm = 1; /* 100 x */
    cr_assert_eq(rw_lambda_shift(41943, &rule), 0);
    cr_assert_eq(rw_lambda_shift(41944, &rule), 1);
    rule.sigma = 100.0f;
    const int e = rw_lambda_shift(2147483647u, &rule);
    cr_assert_leq(2147483647.0 * 1e6, ldexp(1.0, 22 + e));
}

Test(lambda, norm_depends_on_the_total_only)
{
    for (int i = 0; i < 1000; i++) {
        const int64_t hi = (int64_t)(fixture_unit(1, (uint32_t)i) * 1e9);
        const int64_t lo = (int64_t)(fixture_unit(2, (uint32_t)i) * 4e9);
        const int64_t moved = (int64_t)(fixture_unit(3, (uint32_t)i) * 1e9);
        const double expected = rw_lambda_norm(hi + moved, lo, 0);
        cr_assert_eq(rw_lambda_norm(hi, lo + moved * 4294967296, 0), expected);
        const double s = 2.0 * ldexp((double)(hi + moved), -8);
        cr_assert_float_eq(expected, log2(1 + s) / s, 1e-6 * expected);
    }
    cr_assert_eq(rw_lambda_norm(0, 0, 0), 1.0);
}

Test(lambda, limits)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_objective_rule rule = {.pair = {.sigma = 1.0f, .norm = 1}};
    cr_assert_eq(rw_lambda_check(ctx, &rule, 2147483647u, 65536.0), RW_OK);
    rule.pair.sigma = 2.0f;
    cr_assert_eq(rw_lambda_check(ctx, &rule, 10, 65536.0), RW_ERR_DATA);
    cr_assert_eq(rw_lambda_check(ctx, &rule, 10, 1.0), RW_OK);
    rule = (struct rw_objective_rule){.pair = {.sigma = 1.0f}};
    cr_assert_eq(rw_lambda_check(ctx, &rule, 4194304, 1.0), RW_OK);
    cr_assert_eq(rw_lambda_check(ctx, &rule, 4194305, 1.0), RW_ERR_DATA);
    cr_assert(strstr(rw_last_error(ctx), "--norm on"));
    rw_ctx_free(ctx);
}

/* Rankings and integers of a query by every path, against the plain ones; nothing past the query's
 * end is written. given: all but order, lambda and weight. */
static void compare_paths(const struct rw_lambda_rule *rule, const struct rw_objective_query *given,
                          uint64_t seed)
{
    enum { ROOM = 1101 };
    static uint32_t order[ROOM], places[ROOM];
    static int64_t lambda[2][ROOM], weight[2][ROOM];
    struct rw_objective_query query = *given;
    const uint32_t n = query.n;
    cr_assert(n < ROOM);
    query.order = order;
    query.lambda = lambda[0];
    query.hess = weight[0];
    rw_rank_query(query.scores, n, 0, order);
    rw_lambda_query(rule, &query);
    query.lambda = lambda[1];
    query.hess = weight[1];
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        const char *name = rw_isa_name((enum rw_isa)isa);
        memset(lambda[1], 0xA5, sizeof(lambda[1]));
        memset(weight[1], 0xA5, sizeof(weight[1]));
        rw_rank_query_fast((enum rw_isa)isa, query.scores, n, places);
        cr_assert(memcmp(places, order, n * sizeof(*order)) == 0, "%s, seed %d", name, (int)seed);
        query.isa = (enum rw_isa)isa;
        rw_lambda_query_fast(rule, &query);
        for (uint32_t i = 0; i < n; i++)
            cr_assert(lambda[0][i] == lambda[1][i] && weight[0][i] == weight[1][i],
                      "%s, seed %d, document %u of %u: %lld %lld, not %lld %lld", name, (int)seed,
                      i, n, (long long)lambda[1][i], (long long)weight[1][i],
                      (long long)lambda[0][i], (long long)weight[0][i]);
        cr_assert(lambda[1][n] == lambda[1][ROOM - 1] && weight[1][n] == weight[1][ROOM - 1],
                  "%s, seed %d: written past the end", name, (int)seed);
    }
}

/* Every path against the plain one: lengths about those of vectors and blocks, ties, gains that are
 * no integers, weights, and numbers too large for the quick rounding. */
Test(lambda, every_path_gives_the_same_integers)
{
    enum { LONGEST = 600 };
    static const uint32_t lengths[] = {1, 2, 7, 8, 9, 15, 16, 17, 64, 255, 256, 257, 265, 600};
    static double score[LONGEST], gain[LONGEST], weights[LONGEST], discount[LONGEST];
    static double scratch[LONGEST];
    for (uint32_t r = 0; r < LONGEST; r++)
        discount[r] = rw_discount(r);
    for (uint64_t seed = 0; seed < 300; seed += EACH(11)) {
        const uint32_t n = lengths[seed % (sizeof(lengths) / sizeof(lengths[0]))];
        const struct rw_lambda_rule rule = {.sigma = seed % 5 == 4  ? 30.0f
                                                     : seed % 5 > 1 ? 1.0f
                                                                    : 0.7f,
                                            .truncation = seed % 3 ? 1 + (uint32_t)(seed % 40) : 0,
                                            .norm = seed % 4 != 0};
        for (uint32_t i = 0; i < n; i++) {
            gain[i] = fixture_unit(seed, i) * 4.0;
            gain[i] = seed % 7 ? floor(gain[i]) : gain[i];
            score[i] = (fixture_unit(seed, LONGEST + i) - 0.5) * (seed % 6 ? 3.0 : 300.0);
            score[i] = seed % 2 ? floor(score[i] * 4.0) : score[i];
            if (seed % 2 && score[i] == 0.0 && i % 2)
                score[i] = -0.0;
            weights[i] = 0.5 + fixture_unit(seed, 2 * LONGEST + i);
        }
        if (seed % 13 == 2) /* compared with it, the others are roughly equal */
            score[n / 2] = seed % 26 == 2 ? 1e12 : -1e30;
        const struct rw_objective_query query = {
            .n = n,
            .scores = score,
            .gains = gain,
            .weights = seed % 8 == 1 ? weights : NULL,
            .discounts = discount,
            .ideal = rw_ideal_dcg(gain, n, rule.truncation, discount, scratch) *
                     (seed % 11 || seed % 5 == 4 ? 1.0 : 1e-2) /* not bounded */};
        compare_paths(&rule, &query, seed);
    }
}

/* Gains and scores of a kind: few grades, one grade, as many gains as documents, grades with some
 * rare ones, gains near the least and the largest floats; scores as near as a step, as far as exp's
 * limits and beyond, tied in runs. */
static void make_kind(uint32_t n, uint64_t seed, double *gain, double *score)
{
    static const double units[] = {1.0, 1.0, 1.0, 0x1p-18, 1e-30, 0x1p55, 1e30, 1e-5};
    static const double spreads[] = {1.0, 1e-6, 30.0, 79.0, 85.0, 400.0, 1e6, 1e200};
    const double unit = units[seed % 8], spread = spreads[seed / 8 % 8];
    const int kind = (int)(seed / 3 % 4), tied = seed % 5 == 1;
    for (uint32_t i = 0; i < n; i++) {
        const double u = fixture_unit(seed, 3 * i), v = fixture_unit(seed, 3 * i + 1);
        gain[i] = unit * (kind == 0   ? floor(u * u * 5.0)
                          : kind == 1 ? 1.0
                          : kind == 2 ? u
                                      : exp2(floor(u * u * u * 12.0)) - 1.0);
        score[i] = (tied ? floor(v * 6.0) / 6.0 : v) * spread - spread / 3.0;
    }
}

Test(lambda, every_path_at_every_length)
{
    enum { LONGEST = 1100 };
    static double score[LONGEST], gain[LONGEST], weights[LONGEST], discount[LONGEST];
    static double scratch[LONGEST];
    static const float sigmas[] = {1.0f, 1.0f, 1.0f, 2.0f, 0.5f, 1e-25f, 20.0f};
    for (uint32_t r = 0; r < LONGEST; r++)
        discount[r] = rw_discount(r);
    for (uint64_t seed = 1; seed < 1400; seed += EACH(13)) {
        const uint32_t n = 1 + (uint32_t)seed * 271 % LONGEST;
        const struct rw_lambda_rule rule = {.sigma = sigmas[seed % 7],
                                            .truncation = seed % 11  ? 30
                                                          : seed % 2 ? 0
                                                                     : 300,
                                            .norm = seed % 3 != 0};
        make_kind(n, seed, gain, score);
        for (uint32_t i = 0; i < n; i++)
            weights[i] = seed % 16 == 3 ? 2.5 : fixture_unit(seed, 3 * i + 2);
        const struct rw_objective_query query = {
            .n = n,
            .scores = score,
            .gains = gain,
            .weights = seed % 4 == 3 ? weights : NULL,
            .discounts = discount,
            .ideal = rw_ideal_dcg(gain, n, rule.truncation, discount, scratch)};
        compare_paths(&rule, &query, seed);
    }
}

/* Scores that have no place between the least and the largest one. */
Test(lambda, every_path_ranks_nan)
{
    double score[40];
    uint32_t order[40], places[40];
    for (int kind = 0; kind < 6; kind++) {
        for (uint32_t i = 0; i < 40; i++)
            score[i] = fixture_unit((uint64_t)kind, i);
        score[20] = kind == 0 ? INFINITY : kind == 1 ? -INFINITY : kind == 2 ? NAN : 1e308;
        score[0] = kind == 3 ? -1e308 : kind == 4 ? NAN : score[0];
        score[20] = kind == 5 ? -NAN : score[20]; /* the last of the ranking */
        rw_rank_query(score, 40, 0, order);
        for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
            rw_rank_query_fast((enum rw_isa)isa, score, 40, places);
            cr_assert(memcmp(places, order, sizeof(order)) == 0, "%s, kind %d",
                      rw_isa_name((enum rw_isa)isa), kind);
        }
    }
}
