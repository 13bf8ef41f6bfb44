/* queryrmse, listnet, xendcg and logistic: their gradients are differences of the losses, which are
 * defined here a second time, in long double and by the C library. */
#include <math.h>
#include <string.h>

#include "base/ctx.h"
#include "base/rng.h"
#include "metric/metric.h"
#include "objective/objective.h"
#include "train_fixture.h"

enum { MOST = 60, FIRST = 1000, TREE = 3 };

struct query {
    uint32_t n;
    uint64_t seed;
    float label[MOST];
    double score[MOST], gain[MOST], weight[MOST], scratch[2 * MOST];
    double gradient[MOST], hessian[MOST];
    int is_weighted;
    double relevant;
};

typedef long double loss_of(const struct query *q, const long double *score);

static void make(struct query *q, uint64_t seed, uint32_t n, int is_weighted)
{
    *q = (struct query){.n = n, .seed = seed, .is_weighted = is_weighted, .relevant = 2.0};
    for (uint32_t i = 0; i < n; i++) {
        q->label[i] = (float)floor(fixture_unit(seed, i) * 5.0);
        q->gain[i] = exp2((double)q->label[i]) - 1.0;
        q->score[i] = fixture_unit(seed, MOST + i) * 8.0 - 4.0;
        q->weight[i] = i % 5 == 4 ? 0.0 : fixture_unit(seed, 2 * MOST + i) * 3.0;
    }
    q->gain[n / 2] = 0.3; /* as a table may have it, and so that no query has but one gain */
}

static void compute(const struct rw_objective *objective, struct query *q)
{
    struct rw_objective_rule rule = {.pair = {.sigma = 1.0f}, .seed = q->seed};
    const int relevant = rw_objective_param(objective, "relevant");
    if (relevant >= 0)
        rule.value[relevant] = q->relevant;
    const struct rw_objective_query of = {.n = q->n,
                                          .first_document = FIRST,
                                          .tree = TREE,
                                          .scores = q->score,
                                          .labels = q->label,
                                          .weights = q->is_weighted ? q->weight : NULL,
                                          .gains = q->gain,
                                          .scratch = q->scratch,
                                          .gradient = q->gradient,
                                          .hessian = q->hessian};
    cr_assert(objective->scratch <= 2);
    for (uint32_t i = 0; i < q->n; i++)
        q->gradient[i] = q->hessian[i] = NAN;
    objective->query(&rule, &of);
}

static long double weight_of(const struct query *q, uint32_t i)
{
    return q->is_weighted ? (long double)q->weight[i] : 1.0L;
}

/* ---- the losses ---- */

static long double query_rmse(const struct query *q, const long double *score)
{
    long double sum = 0, weights = 0, loss = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        sum += weight_of(q, i) * (q->label[i] - score[i]);
        weights += weight_of(q, i);
    }
    for (uint32_t i = 0; i < q->n; i++) {
        const long double lacks = q->label[i] - score[i] - sum / weights;
        loss += weight_of(q, i) * lacks * lacks / 2;
    }
    return loss;
}

static long double cross_entropy(const struct query *q, const long double *target,
                                 const long double *score)
{
    long double powers = 0, targets = 0, loss = 0;
    for (uint32_t i = 0; i < q->n; i++) {
        powers += expl(score[i]);
        targets += target[i];
    }
    for (uint32_t i = 0; i < q->n; i++)
        loss -= target[i] / targets * (score[i] - logl(powers));
    return loss;
}

static long double list_net(const struct query *q, const long double *score)
{
    long double target[MOST];
    for (uint32_t i = 0; i < q->n; i++)
        target[i] = q->gain[i];
    return cross_entropy(q, target, score);
}

/* Which number is whose is part of every model. */
static double gamma_of(uint64_t seed, uint32_t tree, uint32_t document)
{
    return ((double)rw_random(seed, document, tree, RW_STREAM_XENDCG) + 0.5) * 0x1p-32;
}

static long double xe_ndcg(const struct query *q, const long double *score)
{
    long double target[MOST];
    for (uint32_t i = 0; i < q->n; i++)
        target[i] = (long double)q->gain[i] + 1 - gamma_of(q->seed, TREE, FIRST + i);
    return cross_entropy(q, target, score);
}

static long double log_loss(const struct query *q, const long double *score)
{
    long double loss = 0;
    for (uint32_t i = 0; i < q->n; i++)
        loss += log1pl(expl(q->label[i] >= q->relevant ? -score[i] : score[i]));
    return loss;
}

/* ---- their differences ---- */

/* Gradients are minus the first derivative, hessians the second, both without the documents'
 * weights, which engines multiply by. given_mean: the second one is 1 by agreement. */
static void check(const struct rw_objective *objective, loss_of *loss, int given_mean)
{
    static struct query q;
    const long double one = 1e-5L, two = 1e-3L;
    for (uint64_t seed = 0; seed < 60; seed++) {
        long double score[MOST];
        make(&q, seed, 2 + (uint32_t)(seed * 37 % (MOST - 1)), given_mean && seed % 2);
        compute(objective, &q);
        for (uint32_t i = 0; i < q.n; i++)
            score[i] = q.score[i];
        const long double here = loss(&q, score);
        for (uint32_t i = 0; i < q.n; i++) {
            long double at[4];
            const long double by[4] = {one, -one, two, -two};
            for (int k = 0; k < 4; k++) {
                score[i] = (long double)q.score[i] + by[k];
                at[k] = loss(&q, score);
            }
            score[i] = q.score[i];
            cr_assert_float_eq(q.gradient[i] * (double)weight_of(&q, i),
                               (double)((at[1] - at[0]) / (2 * one)), 1e-8, "seed %d, %s: %u",
                               (int)seed, objective->name, i);
            cr_assert_float_eq(
                q.hessian[i], given_mean ? 1.0 : (double)((at[2] + at[3] - 2 * here) / (two * two)),
                1e-6, "seed %d, %s: %u", (int)seed, objective->name, i);
        }
    }
}

Test(losses, queryrmse)
{
    check(&rw_objective_queryrmse, query_rmse, 1);
}

Test(losses, listnet)
{
    check(&rw_objective_listnet, list_net, 0);
}

Test(losses, xendcg)
{
    check(&rw_objective_xendcg, xe_ndcg, 0);
}

Test(losses, logistic)
{
    check(&rw_objective_logistic, log_loss, 0);
}

/* ---- by hand ---- */

Test(losses, queryrmse_by_hand)
{
    struct query q = {.n = 3, .label = {2, 0, 1}, .weight = {1, 0, 3}, .score = {7, 7, 7}};
    compute(&rw_objective_queryrmse, &q);
    cr_assert(q.gradient[0] == 1 && q.gradient[1] == -1 && q.gradient[2] == 0);
    q.is_weighted = 1; /* the mean label is 5/4 */
    compute(&rw_objective_queryrmse, &q);
    cr_assert(q.gradient[0] == 0.75 && q.gradient[1] == -1.25 && q.gradient[2] == -0.25);
    cr_assert(q.hessian[0] == 1 && q.hessian[1] == 1 && q.hessian[2] == 1);
}

/* Equal residuals of a query give exactly 0, without rounding errors. */
Test(losses, queryrmse_of_equal_residuals)
{
    struct query q = {.n = 3, .is_weighted = 1, .weight = {0.1, 0.7, 0.3}};
    for (uint32_t i = 0; i < q.n; i++) {
        q.label[i] = (float)(2 * i);
        q.score[i] = 2.0 * i - 0.3125;
    }
    compute(&rw_objective_queryrmse, &q);
    cr_assert(q.gradient[0] == 0 && q.gradient[1] == 0 && q.gradient[2] == 0);
    memset(q.weight, 0, sizeof(q.weight));
    q.label[1] = 9;
    compute(&rw_objective_queryrmse, &q);
    for (uint32_t i = 0; i < q.n; i++)
        cr_assert(isfinite(q.gradient[i]));
}

Test(losses, listnet_by_hand)
{
    struct query q = {.n = 4, .gain = {3, 1, 0, 0}, .score = {5, 5, 5, 5}};
    compute(&rw_objective_listnet, &q);
    cr_assert(q.gradient[0] == 0.5 && q.gradient[1] == 0 && q.gradient[2] == -0.25);
    for (uint32_t i = 0; i < q.n; i++)
        cr_assert_eq(q.hessian[i], 0.1875);
}

Test(losses, logistic_by_hand)
{
    struct query q = {.n = 3, .label = {0, 1, 0.5f}, .relevant = 0.5};
    compute(&rw_objective_logistic, &q);
    cr_assert(q.gradient[0] == -0.5 && q.gradient[1] == 0.5 && q.gradient[2] == 0.5);
    for (uint32_t i = 0; i < q.n; i++)
        cr_assert_eq(q.hessian[i], 0.25);
}

/* ---- what could go wrong ---- */

/* Scores that exp could not take: gradients are at the losses' limits. */
Test(losses, huge_scores)
{
    static const double huge[] = {800, 1e6, 1e300};
    for (size_t k = 0; k < sizeof(huge) / sizeof(huge[0]); k++) {
        struct query q = {.n = 3, .relevant = 1, .label = {1, 0, 3}, .gain = {1, 0, 7}};
        q.score[0] = huge[k];
        q.score[1] = 0;
        q.score[2] = -huge[k];
        compute(&rw_objective_listnet, &q);
        cr_assert_float_eq(q.gradient[0], 0.125 - 1, 1e-15);
        cr_assert_float_eq(q.gradient[1], 0, 1e-15);
        cr_assert_float_eq(q.gradient[2], 0.875, 1e-15);
        compute(&rw_objective_xendcg, &q);
        cr_assert_float_eq(q.gradient[0] + q.gradient[1] + q.gradient[2], 0, 1e-15);
        for (uint32_t i = 0; i < q.n; i++)
            cr_assert(q.hessian[i] >= 0 && q.hessian[i] < 1e-15);
        compute(&rw_objective_logistic, &q);
        cr_assert(q.gradient[0] >= 0 && q.gradient[0] < 1e-200);
        cr_assert(q.gradient[1] == -0.5 && q.gradient[2] == 1);
        cr_assert(q.hessian[0] >= 0 && q.hessian[0] < 1e-200 && q.hessian[1] == 0.25);
    }
}

/* Nothing relevant, one document, one label: no order is better. */
Test(losses, nothing_to_rank)
{
    static const struct rw_objective *const both[] = {&rw_objective_listnet, &rw_objective_xendcg};
    for (int k = 0; k < 2; k++) {
        for (uint32_t n = 1; n < 4; n++) {
            for (double gain = 0; gain < 4; gain += 0.7) {
                struct query q = {.n = n, .score = {3, 1, -2}, .gain = {gain, gain, gain}};
                compute(both[k], &q);
                for (uint32_t i = 0; i < n; i++)
                    cr_assert(q.gradient[i] == 0 && q.hessian[i] == 0);
            }
        }
    }
}

/* gamma is even in (0, 1), and another one for another seed, tree or document. */
Test(losses, gamma)
{
    enum { N = 20000 };
    double mean = 0, square = 0, across[3] = {0};
    for (uint32_t i = 0; i < N; i++) {
        const double x = gamma_of(1, 0, i) - 0.5;
        const double other[3] = {gamma_of(2, 0, i), gamma_of(1, 1, i), gamma_of(1, 0, i + 1)};
        cr_assert(fabs(x) < 0.5);
        mean += x / N;
        square += x * x / N;
        for (int k = 0; k < 3; k++)
            across[k] += x * (other[k] - 0.5) / N;
    }
    cr_assert_float_eq(mean, 0, 4 * sqrt(1.0 / 12 / N));
    cr_assert_float_eq(square, 1.0 / 12, 0.003);
    for (int k = 0; k < 3; k++)
        cr_assert_float_eq(across[k], 0, 4.0 / 12 / sqrt(N), "%d", k);
}

/* As training asks for them, by the table's row: the documents before these belong to other
 * workers. */
static void gradients_of(struct rw_ctx *ctx, const struct rw_objective *objective,
                         const struct rw_dataset *data, const double *gains, uint32_t first_doc,
                         const double *scores, double *out[2])
{
    struct rw_gradients *made;
    const struct rw_objective_rule rule = {.pair = {.sigma = 1.0f}, .value = {1.0}, .seed = 9};
    cr_assert_eq(rw_gradients_new(ctx, objective, &rule, data, first_doc, gains, NULL, &made),
                 RW_OK);
    const struct rw_user_gradients *handed;
    cr_assert_eq(rw_gradients_run(made, TREE, 0.1, scores, &handed), RW_OK);
    for (int k = 0; k < 2; k++) {
        out[k] = malloc(data->n_docs * sizeof(double));
        memcpy(out[k], k ? handed->hessian : handed->gradient, data->n_docs * sizeof(double));
    }
    rw_gradients_free(made);
}

Test(losses, any_threads_the_same_bytes)
{
    static const struct rw_objective *const all[] = {&rw_objective_queryrmse, &rw_objective_listnet,
                                                     &rw_objective_xendcg, &rw_objective_logistic};
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    struct rw_dataset *data = fixture_data(ctx, 5, 200, 13, 2);
    const uint32_t n = data->n_docs; /* 2,600: enough to be divided */
    double *gains = malloc(n * sizeof(*gains)), *scores = malloc(n * sizeof(*scores));
    for (uint32_t i = 0; i < n; i++) {
        gains[i] = (double)data->label[i];
        scores[i] = fixture_unit(9, i);
    }
    for (size_t k = 0; k < sizeof(all) / sizeof(all[0]); k++) {
        double *out[3][2];
        for (int run = 0; run < 3; run++) {
            rw_ctx_set_threads(ctx, run == 1 ? 5 : 1);
            gradients_of(ctx, all[k], data, gains, run == 2 ? 13 : 0, scores, out[run]);
        }
        cr_assert_arr_eq(out[0][0], out[1][0], n * sizeof(double), "%s", all[k]->name);
        cr_assert_arr_eq(out[0][1], out[1][1], n * sizeof(double), "%s", all[k]->name);
        /* a document's number matters where numbers are drawn */
        cr_assert_eq(memcmp(out[0][0], out[2][0], n * sizeof(double)) != 0, all[k]->draws, "%s",
                     all[k]->name);
        for (int run = 0; run < 3; run++) {
            free(out[run][0]);
            free(out[run][1]);
        }
    }
    free(gains);
    free(scores);
    rw_dataset_free(data);
    rw_ctx_free(ctx);
}
