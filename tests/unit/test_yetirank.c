#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "metric/dcg.h"
#include "objective/objective.h"
#include "objective/yetirank.h"
#include "train_fixture.h"

enum { MOST = 300 };

struct query {
    uint32_t n;
    double score[MOST], gain[MOST], position[MOST], scratch[MOST], space[5 * MOST], ideal;
    uint32_t order[MOST];
    int64_t lambda[MOST], weight[MOST];
};

static void make(struct query *q, uint64_t seed, uint32_t n)
{
    double discount[MOST];
    q->n = n;
    for (uint32_t i = 0; i < n; i++) {
        q->gain[i] = floor(fixture_unit(seed, i) * 4.0);
        q->score[i] = floor(fixture_unit(seed, MOST + i) * 8.0) * 0.5;
        q->position[i] = pow(0.85, i);
        discount[i] = rw_discount(i);
    }
    q->ideal = rw_ideal_dcg(q->gain, n, 0, discount, q->scratch);
}

static void compute(struct query *q, enum rw_isa isa, const struct rw_yetirank_rule *rule,
                    uint32_t tree)
{
    const struct rw_yetirank_query_of of = {.n = q->n,
                                            .first_document = 1000,
                                            .tree = tree,
                                            .scores = q->score,
                                            .gains = q->gain,
                                            .position = q->position,
                                            .ideal = q->ideal,
                                            .scratch = q->space,
                                            .order = q->order,
                                            .lambda = q->lambda,
                                            .weight = q->weight};
    rw_yetirank_query(isa, rule, &of);
}

/* The paper's procedure, one ranking and one position at a time. */
static void plain(const struct query *q, const struct rw_yetirank_rule *rule, uint32_t first,
                  uint32_t tree, int64_t *lambda, int64_t *weight)
{
    const float scale = (float)(0x1p40 / rule->permutations);
    double power[MOST];
    rw_yetirank_powers(q->score, q->n, power);
    memset(lambda, 0, q->n * sizeof(*lambda));
    memset(weight, 0, q->n * sizeof(*weight));
    for (uint32_t p = 0; p < rule->permutations; p++) {
        double noisy[MOST];
        uint8_t taken[MOST] = {0};
        for (uint32_t i = 0; i < q->n; i++)
            noisy[i] = power[i] * rw_yetirank_odds(rule->seed, tree, first + i, p);
        for (uint32_t r = 0, above = 0; r < q->n; r++) {
            uint32_t here = q->n;
            for (uint32_t i = 0; i < q->n; i++) {
                if (!taken[i] && (here == q->n || noisy[i] > noisy[here]))
                    here = i;
            }
            taken[here] = 1;
            if (r > 0 && q->gain[above] != q->gain[here] &&
                (!rule->truncation || r - 1 < rule->truncation)) {
                const uint32_t hi = q->gain[above] > q->gain[here] ? above : here;
                const uint32_t lo = hi == above ? here : above;
                const struct rw_lambda_pair pair = rw_lambda_of_pair(
                    (float)(q->gain[hi] - q->gain[lo]), (float)q->position[r - 1],
                    (float)(q->score[hi] - q->score[lo]), (float)q->ideal, rule->sigma, 0, scale);
                lambda[hi] += pair.lambda;
                lambda[lo] -= pair.lambda;
                weight[hi] += pair.weight;
                weight[lo] += pair.weight;
            }
            above = here;
        }
    }
}

Test(yetirank, as_the_plain_procedure_on_every_path)
{
    static struct query q;
    static int64_t lambda[MOST], weight[MOST];
    for (uint64_t seed = 0; seed < 60; seed++) {
        const struct rw_yetirank_rule rule = {.sigma = seed % 3 ? 1.0f : 2.5f,
                                              .truncation = seed % 4 == 0   ? 0
                                                            : seed % 4 == 1 ? 7
                                                            : seed % 4 == 2 ? 63
                                                                            : 64,
                                              .permutations = 1 + (uint32_t)(seed % 11),
                                              .seed = seed};
        make(&q, seed, 1 + (uint32_t)(seed * 37 % MOST));
        plain(&q, &rule, 1000, 3, lambda, weight);
        for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
            compute(&q, (enum rw_isa)isa, &rule, 3);
            cr_assert_arr_eq(q.lambda, lambda, q.n * sizeof(*lambda), "seed %d, isa %d", (int)seed,
                             isa);
            cr_assert_arr_eq(q.weight, weight, q.n * sizeof(*weight), "seed %d, isa %d", (int)seed,
                             isa);
        }
    }
}

/* The best DCG of the first `top` documents, one after the other. */
static double ideal_of(const double *gain, uint32_t n, uint32_t top)
{
    uint8_t taken[MOST] = {0};
    double dcg = 0;
    for (uint32_t r = 0; r < n && r < top; r++) {
        uint32_t best = n;
        for (uint32_t i = 0; i < n; i++) {
            if (!taken[i] && (best == n || gain[i] > gain[best]))
                best = i;
        }
        taken[best] = 1;
        dcg += gain[best] * rw_discount(r);
    }
    return dcg;
}

/* As training asks for them, by the table's row. */
static void gradients_of(struct rw_ctx *ctx, const struct rw_yetirank_rule *rule, double decay,
                         const struct rw_dataset *data, const double *gains, uint32_t tree,
                         const double *scores, double *gradients, double *hessians)
{
    const struct rw_objective *objective = &rw_objective_yetirank;
    struct rw_objective_rule own = {.pair = {.sigma = rule->sigma, .truncation = rule->truncation},
                                    .seed = rule->seed};
    own.value[rw_objective_param(objective, "permutations")] = rule->permutations;
    own.value[rw_objective_param(objective, "decay")] = decay;
    struct rw_gradients *made;
    cr_assert_eq(rw_gradients_new(ctx, objective, &own, data, gains, &made), RW_OK);
    rw_gradients_run(made, tree, scores, gradients, hessians);
    rw_gradients_free(made);
}

/* A training set's gradients are the plain procedure's of each query: with the ideal DCG of the
 * truncation, the positions' weights, the documents' numbers and the tree's. */
Test(yetirank, of_a_training_set)
{
    static const uint32_t truncations[] = {1, 3, 13, 0};
    static struct query q;
    static int64_t lambda[MOST], weight[MOST];
    enum { QUERIES = 90, LENGTH = 13 };
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *data = fixture_data(ctx, 3, QUERIES, LENGTH, 1);
    double gains[QUERIES * LENGTH], scores[QUERIES * LENGTH];
    double gradients[QUERIES * LENGTH], hessians[QUERIES * LENGTH];
    for (uint32_t i = 0; i < data->n_docs; i++) {
        gains[i] = exp2((double)data->label[i]) - 1;
        scores[i] = floor(fixture_unit(9, i) * 8) * 0.5;
    }
    for (uint32_t t = 0; t < sizeof(truncations) / sizeof(truncations[0]); t++) {
        const struct rw_yetirank_rule rule = {
            .sigma = 1.5f, .truncation = truncations[t], .permutations = 6, .seed = 21 + t};
        gradients_of(ctx, &rule, 0.5, data, gains, 7, scores, gradients, hessians);
        for (uint32_t query = 0; query < QUERIES; query++) {
            const uint32_t first = query * LENGTH;
            q.n = LENGTH;
            for (uint32_t i = 0; i < LENGTH; i++) {
                q.gain[i] = gains[first + i];
                q.score[i] = scores[first + i];
                q.position[i] = ldexp(1, -(int)i);
            }
            q.ideal = ideal_of(q.gain, LENGTH, rule.truncation ? rule.truncation : LENGTH);
            plain(&q, &rule, first, 7, lambda, weight);
            for (uint32_t i = 0; i < LENGTH; i++) {
                cr_assert_eq(gradients[first + i], (double)lambda[i] * 0x1p-40,
                             "truncation %u, document %u", rule.truncation, first + i);
                cr_assert_eq(hessians[first + i], (double)weight[i] * 0x1p-40);
            }
        }
    }
    rw_dataset_free(data);
    rw_ctx_free(ctx);
}

Test(yetirank, two_documents_by_hand)
{
    /* neighbours in every ranking, at position 0: w = 0.5; |g_i - g_j| / IDCG = 2/3 */
    struct query q = {.n = 2, .score = {0, 1}, .gain = {3, 1}, .position = {0.5, 0.25}, .ideal = 3};
    const struct rw_yetirank_rule rule = {.sigma = 1.0f, .permutations = 10};
    compute(&q, RW_ISA_PLAIN, &rule, 0);
    const double rho = 1 / (1 + exp(-1)), w = 0.5 * 2 / 3;
    cr_assert_float_eq((double)q.lambda[0] * 0x1p-40, rho * w, 2e-7);
    cr_assert_eq(q.lambda[1], -q.lambda[0]);
    cr_assert_float_eq((double)q.weight[0] * 0x1p-40, rho * (1 - rho) * w, 2e-7);
    cr_assert_eq(q.weight[1], q.weight[0]);
}

/* Which number is whose is part of every model: four rankings to a block of the stream's own. */
Test(yetirank, draws_of_its_stream)
{
    const uint64_t seed = 0x123456789abcdefull;
    for (uint32_t p = 0; p < 9; p++) {
        const uint32_t document = 4000000000u + p, tree = 3 + p;
        const struct rw_philox r =
            rw_random4(seed, (uint64_t)(p / 4) << 32 | document, tree, RW_STREAM_YETIRANK);
        const double u = ((double)r.word[p % 4] + 0.5) * 0x1p-32;
        cr_assert_eq(rw_yetirank_odds(seed, tree, document, p), u / (1 - u));
    }
}

Test(yetirank, noise_is_logistic_and_fresh)
{
    double mean = 0, square = 0, across[3] = {0};
    enum { N = 20000 };
    for (uint32_t i = 0; i < N; i++) {
        const double x = log(rw_yetirank_odds(1, 0, i, 0));
        const double other[3] = {rw_yetirank_odds(1, 0, i, 1), rw_yetirank_odds(1, 1, i, 0),
                                 rw_yetirank_odds(1, 0, i, 4)};
        mean += x / N;
        square += x * x / N;
        for (int k = 0; k < 3; k++)
            across[k] += x * log(other[k]) / N;
    }
    const double variance = 3.14159265358979 * 3.14159265358979 / 3;
    cr_assert_float_eq(mean, 0, 4 * sqrt(variance / N));
    cr_assert_float_eq(square, variance, 0.15);
    for (int k = 0; k < 3; k++)
        cr_assert_float_eq(across[k], 0, 4 * variance / sqrt(N), "%d", k);
}

Test(yetirank, ranks_by_score_and_log_odds)
{
    double power[4];
    const double scores[4] = {-3.5, 2.25, -2000, 2.0};
    rw_yetirank_powers(scores, 4, power);
    cr_assert_eq(power[1], 1.0);
    cr_assert_float_eq(log(power[0]), -5.75, 1e-12);
    cr_assert_float_eq(log(power[3]), -0.25, 1e-12);
    cr_assert_eq(power[2], ldexp(1, -900)); /* times any odds it is still no zero */
}

Test(yetirank, nothing_to_gain)
{
    static struct query q;
    const struct rw_yetirank_rule rule = {.sigma = 1.0f, .permutations = 3};
    make(&q, 1, 10);
    q.ideal = 0;
    memset(q.lambda, 0xA5, sizeof(q.lambda));
    memset(q.weight, 0xA5, sizeof(q.weight));
    compute(&q, RW_ISA_PLAIN, &rule, 0);
    for (uint32_t i = 0; i < q.n; i++)
        cr_assert(q.lambda[i] == 0 && q.weight[i] == 0);
}

Test(yetirank, any_threads_the_same_bytes)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *data = fixture_data(ctx, 5, 200, 13, 2);
    const uint32_t n = data->n_docs; /* 2,600: enough to be divided */
    double *gains = malloc(n * sizeof(*gains)), *scores = malloc(n * sizeof(*scores));
    double *out[3][2];
    for (uint32_t i = 0; i < n; i++) {
        gains[i] = (double)data->label[i];
        scores[i] = fixture_unit(9, i);
    }
    for (int k = 0; k < 3; k++) {
        const struct rw_yetirank_rule rule = {
            .sigma = 1.0f, .permutations = 6, .seed = k == 2 ? 8 : 7};
        rw_ctx_set_threads(ctx, k == 1 ? 5 : 1);
        for (int s = 0; s < 2; s++)
            out[k][s] = malloc(n * sizeof(double));
        gradients_of(ctx, &rule, 0.85, data, gains, 4, scores, out[k][0], out[k][1]);
    }
    cr_assert_arr_eq(out[0][0], out[1][0], n * sizeof(double));
    cr_assert_arr_eq(out[0][1], out[1][1], n * sizeof(double));
    cr_assert_arr_neq(out[0][0], out[2][0], n * sizeof(double)); /* another seed */
    for (int k = 0; k < 3; k++) {
        free(out[k][0]);
        free(out[k][1]);
    }
    free(gains);
    free(scores);
    rw_dataset_free(data);
    rw_ctx_free(ctx);
}
