#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "metric/metric.h"
#include "objective/objective.h"
#include "train_fixture.h"

enum { MOST = 300 };

struct query {
    uint32_t n;
    double score[MOST], gain[MOST], position[MOST], scratch[MOST], space[6 * MOST], ideal;
    uint32_t order[MOST];
    int64_t lambda[MOST], hessian[MOST];
    double real_lambda[MOST], real_hessian[MOST]; /* `plain`'s without any rounding */
};

static struct rw_objective_rule rule_of(float sigma, uint32_t truncation, int permutations,
                                        uint64_t seed)
{
    struct rw_objective_rule rule = {.pair = {.sigma = sigma, .truncation = truncation},
                                     .seed = seed};
    rule.value[rw_objective_param(&rw_objective_yetirank, "permutations")] = permutations;
    rule.value[rw_objective_param(&rw_objective_yetirank, "decay")] = 0.5;
    return rule;
}

static uint32_t permutations_of(const struct rw_objective_rule *rule)
{
    return (uint32_t)rule->value[rw_objective_param(&rw_objective_yetirank, "permutations")];
}

static void make(struct query *q, uint64_t seed, uint32_t n)
{
    double discount[MOST];
    q->n = n;
    for (uint32_t i = 0; i < n; i++) {
        q->gain[i] = floor(fixture_unit(seed, i) * 4.0);
        q->score[i] = floor(fixture_unit(seed, MOST + i) * 8.0) * 0.5;
        if (seed % 5 == 0 && i % 3 == 0)
            q->score[i] -= seed % 20 ? 2000.0 : 622.0; /* about the keys' floor, and far below */
        q->position[i] = pow(0.85, i);
        discount[i] = rw_discount(i);
    }
    q->ideal = rw_ideal_dcg(q->gain, n, 0, discount, q->scratch);
}

static void compute(struct query *q, enum rw_isa isa, const struct rw_objective_rule *rule,
                    uint32_t tree, const double *weights)
{
    const struct rw_objective_query of = {.n = q->n,
                                          .first_document = 1000,
                                          .tree = tree,
                                          .isa = isa,
                                          .scores = q->score,
                                          .weights = weights,
                                          .gains = q->gain,
                                          .positions = q->position,
                                          .ideal = q->ideal,
                                          .scratch = q->space,
                                          .order = q->order,
                                          .lambda = q->lambda,
                                          .hess = q->hessian};
    rw_objective_yetirank.query(rule, &of);
}

/* Which number is whose is part of every model: four rankings to a block of the stream's own. */
static double odds_of(uint64_t seed, uint32_t tree, uint32_t document, uint32_t permutation)
{
    const struct rw_philox r =
        rw_random4(seed, (uint64_t)(permutation / 4) << 32 | document, tree, RW_STREAM_YETIRANK);
    const double u = ((double)r.word[permutation % 4] + 0.5) * 0x1p-32;
    return u / (1 - u);
}

/* The paper's procedure, one ranking and one position at a time. A pair's integers are those of the
 * one formula; the sums without rounding have the formula again, by the C library. */
static void plain(struct query *q, const struct rw_objective_rule *rule, uint32_t first,
                  uint32_t tree, int64_t *lambda, int64_t *hessian)
{
    const uint32_t permutations = permutations_of(rule);
    const float scale = (float)(0x1p40 / permutations);
    double most = -INFINITY;
    for (uint32_t i = 0; i < q->n; i++) {
        lambda[i] = hessian[i] = 0;
        q->real_lambda[i] = q->real_hessian[i] = 0;
        most = fmax(most, q->score[i]);
    }
    for (uint32_t p = 0; p < permutations; p++) {
        double noisy[MOST];
        uint8_t taken[MOST] = {0};
        for (uint32_t i = 0; i < q->n; i++)
            noisy[i] = fmax(q->score[i], most - 900 * log(2)) +
                       log(odds_of(rule->seed, tree, first + i, p));
        for (uint32_t r = 0, above = 0; r < q->n; r++) {
            uint32_t here = q->n;
            for (uint32_t i = 0; i < q->n; i++) {
                if (!taken[i] && (here == q->n || noisy[i] > noisy[here]))
                    here = i;
            }
            taken[here] = 1;
            if (r > 0 && q->gain[above] != q->gain[here] &&
                (!rule->pair.truncation || r - 1 < rule->pair.truncation)) {
                const uint32_t hi = q->gain[above] > q->gain[here] ? above : here;
                const uint32_t lo = hi == above ? here : above;
                const struct rw_lambda_pair pair =
                    rw_lambda_of_pair((float)(q->gain[hi] - q->gain[lo]), (float)q->position[r - 1],
                                      (float)(q->score[hi] - q->score[lo]), (float)q->ideal,
                                      rule->pair.sigma, 0, scale);
                lambda[hi] += pair.lambda;
                lambda[lo] -= pair.lambda;
                hessian[hi] += pair.hessian;
                hessian[lo] += pair.hessian;
                const double sigma = (double)rule->pair.sigma;
                const double rho = 1 / (1 + exp(sigma * (q->score[hi] - q->score[lo])));
                const double by = sigma * q->position[r - 1] * (q->gain[hi] - q->gain[lo]) /
                                  (q->ideal * permutations);
                q->real_lambda[hi] += by * rho;
                q->real_lambda[lo] -= by * rho;
                q->real_hessian[hi] += by * sigma * rho * (1 - rho);
                q->real_hessian[lo] += by * sigma * rho * (1 - rho);
            }
            above = here;
        }
    }
}

Test(yetirank, as_the_plain_procedure_on_every_path)
{
    static struct query q;
    static int64_t lambda[MOST], hessian[MOST];
    for (uint64_t seed = 0; seed < 60; seed++) {
        const uint32_t truncation = seed % 4 == 0 ? 0 : seed % 4 == 1 ? 7 : seed % 4 == 2 ? 63 : 64;
        const struct rw_objective_rule rule =
            rule_of(seed % 3 ? 1.0f : 2.5f, truncation, 1 + (int)(seed % 11), seed);
        make(&q, seed, 1 + (uint32_t)(seed * 37 % MOST));
        plain(&q, &rule, 1000, 3, lambda, hessian);
        for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
            compute(&q, (enum rw_isa)isa, &rule, 3, NULL);
            cr_assert_arr_eq(q.lambda, lambda, q.n * sizeof(*lambda), "seed %d, isa %d", (int)seed,
                             isa);
            cr_assert_arr_eq(q.hessian, hessian, q.n * sizeof(*hessian), "seed %d, isa %d",
                             (int)seed, isa);
        }
        for (uint32_t i = 0; i < q.n; i++) {
            cr_assert_float_eq((double)q.lambda[i] * 0x1p-40, q.real_lambda[i], 1e-5);
            cr_assert_float_eq((double)q.hessian[i] * 0x1p-40, q.real_hessian[i], 1e-5);
        }
    }
}

/* The documents' weights multiply the sums, which are rounded once, halves to even. */
Test(yetirank, weights_multiply_sums)
{
    static struct query q;
    static double weights[MOST];
    static int64_t lambda[MOST], hessian[MOST];
    const struct rw_objective_rule rule = rule_of(1.0f, 0, 7, 5);
    make(&q, 5, MOST);
    plain(&q, &rule, 1000, 2, lambda, hessian);
    for (uint32_t i = 0; i < MOST; i++)
        weights[i] = i % 5 ? fixture_unit(6, i) * 40 : i % 2 ? 0.5 : 0;
    compute(&q, RW_ISA_PLAIN, &rule, 2, weights);
    for (uint32_t i = 0; i < MOST; i++) {
        cr_assert_eq(q.lambda[i], llrint((double)lambda[i] * weights[i]), "document %u", i);
        cr_assert_eq(q.hessian[i], llrint((double)hessian[i] * weights[i]), "document %u", i);
    }
}

/* Weights whose sums could overflow are refused, as lambdarank refuses them. */
Test(yetirank, weights_too_large)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    const struct rw_objective_rule rule = {.pair = {.sigma = 2.0f}};
    cr_assert_eq(rw_objective_yetirank.check(ctx, &rule, 1000, 30000), RW_OK);
    cr_assert_eq(rw_objective_yetirank.check(ctx, &rule, 1000, 40000), RW_ERR_DATA);
    rw_ctx_free(ctx);
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
static void gradients_of(struct rw_ctx *ctx, const struct rw_objective_rule *rule,
                         const struct rw_dataset *data, const double *gains, uint32_t tree,
                         const double *scores, int64_t *lambdas, int64_t *hessians)
{
    struct rw_gradients *made;
    cr_assert_eq(rw_gradients_new(ctx, &rw_objective_yetirank, rule, data, 0, gains, NULL, &made),
                 RW_OK);
    const struct rw_user_gradients *handed;
    cr_assert_eq(rw_gradients_run(made, tree, 0.1, scores, &handed), RW_OK);
    memcpy(lambdas, handed->lambda, data->n_docs * sizeof(*lambdas));
    memcpy(hessians, handed->hess, data->n_docs * sizeof(*hessians));
    rw_gradients_free(made);
}

/* A training set's gradients are the plain procedure's of each query: with the ideal DCG of the
 * truncation, the positions' weights, the documents' numbers and the tree's. */
Test(yetirank, of_a_training_set)
{
    static const uint32_t truncations[] = {1, 3, 13, 0};
    static struct query q;
    static int64_t lambda[MOST], hessian[MOST];
    enum { QUERIES = 90, LENGTH = 13 };
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *data = fixture_data(ctx, 3, QUERIES, LENGTH, 1);
    double gains[QUERIES * LENGTH], scores[QUERIES * LENGTH], weights[QUERIES * LENGTH];
    int64_t lambdas[QUERIES * LENGTH], hessians[QUERIES * LENGTH];
    for (uint32_t i = 0; i < data->n_docs; i++) {
        gains[i] = exp2((double)data->label[i]) - 1;
        scores[i] = floor(fixture_unit(9, i) * 8) * 0.5;
        weights[i] = (double)(i % 4) * 0.75;
    }
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "weights", weights, data->n_docs, 1), RW_OK);
    for (uint32_t t = 0; t < sizeof(truncations) / sizeof(truncations[0]); t++) {
        const struct rw_objective_rule rule = rule_of(1.5f, truncations[t], 6, 21 + t);
        gradients_of(ctx, &rule, data, gains, 7, scores, lambdas, hessians);
        for (uint32_t query = 0; query < QUERIES; query++) {
            const uint32_t first = query * LENGTH;
            q.n = LENGTH;
            for (uint32_t i = 0; i < LENGTH; i++) {
                q.gain[i] = gains[first + i];
                q.score[i] = scores[first + i];
                q.position[i] = ldexp(1, -(int)i);
            }
            q.ideal = ideal_of(q.gain, LENGTH, truncations[t] ? truncations[t] : LENGTH);
            plain(&q, &rule, first, 7, lambda, hessian);
            for (uint32_t i = 0; i < LENGTH; i++) {
                const double weight = weights[first + i];
                cr_assert_eq(lambdas[first + i], llrint((double)lambda[i] * weight),
                             "truncation %u, document %u", truncations[t], first + i);
                cr_assert_eq(hessians[first + i], llrint((double)hessian[i] * weight));
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
    const struct rw_objective_rule rule = rule_of(1.0f, 0, 10, 0);
    compute(&q, RW_ISA_PLAIN, &rule, 0, NULL);
    const double rho = 1 / (1 + exp(-1)), w = 0.5 * 2 / 3;
    cr_assert_float_eq((double)q.lambda[0] * 0x1p-40, rho * w, 2e-7);
    cr_assert_eq(q.lambda[1], -q.lambda[0]);
    cr_assert_float_eq((double)q.hessian[0] * 0x1p-40, rho * (1 - rho) * w, 2e-7);
    cr_assert_eq(q.hessian[1], q.hessian[0]);
}

Test(yetirank, noise_is_logistic_and_fresh)
{
    double mean = 0, square = 0, across[3] = {0};
    enum { N = 20000 };
    for (uint32_t i = 0; i < N; i++) {
        const double x = log(odds_of(1, 0, i, 0));
        const double other[3] = {odds_of(1, 0, i, 1), odds_of(1, 1, i, 0), odds_of(1, 0, i, 4)};
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

Test(yetirank, nothing_to_gain)
{
    static struct query q;
    const struct rw_objective_rule rule = rule_of(1.0f, 0, 3, 0);
    make(&q, 1, 10);
    q.ideal = 0;
    memset(q.lambda, 0xA5, sizeof(q.lambda));
    memset(q.hessian, 0xA5, sizeof(q.hessian));
    compute(&q, RW_ISA_PLAIN, &rule, 0, NULL);
    for (uint32_t i = 0; i < q.n; i++)
        cr_assert(q.lambda[i] == 0 && q.hessian[i] == 0);
}

Test(yetirank, any_threads_the_same_bytes)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *data = fixture_data(ctx, 5, 200, 13, 2);
    const uint32_t n = data->n_docs; /* 2,600: enough to be divided */
    double *gains = malloc(n * sizeof(*gains)), *scores = malloc(n * sizeof(*scores));
    int64_t *out[3][2];
    for (uint32_t i = 0; i < n; i++) {
        gains[i] = (double)data->label[i];
        scores[i] = fixture_unit(9, i);
    }
    for (int k = 0; k < 3; k++) {
        const struct rw_objective_rule rule = rule_of(1.0f, 0, 6, k == 2 ? 8 : 7);
        rw_ctx_set_threads(ctx, k == 1 ? 5 : 1);
        for (int s = 0; s < 2; s++)
            out[k][s] = malloc(n * sizeof(int64_t));
        gradients_of(ctx, &rule, data, gains, 4, scores, out[k][0], out[k][1]);
    }
    cr_assert_arr_eq(out[0][0], out[1][0], n * sizeof(int64_t));
    cr_assert_arr_eq(out[0][1], out[1][1], n * sizeof(int64_t));
    cr_assert_arr_neq(out[0][0], out[2][0], n * sizeof(int64_t)); /* another seed */
    for (int k = 0; k < 3; k++) {
        free(out[k][0]);
        free(out[k][1]);
    }
    free(gains);
    free(scores);
    rw_dataset_free(data);
    rw_ctx_free(ctx);
}
