#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "params/params.h"
#include "objective/objective.h"
#include "train_fixture.h"
#include "tree/engine.h"

/* What objective.h asks of a row, or of a variant. */
static void check_row(const struct rw_objective *row, int n)
{
    char params[256];
    cr_assert(strlen(row->params) < sizeof(params));
    cr_expect_eq(rw_param_word(rw_objective_words + 1, row->name), n);
    cr_expect(row->query != NULL);
    cr_expect((row->device != RW_OBJECTIVE_PAIRS && row->device != RW_OBJECTIVE_RESIDUALS) ||
              (!row->scratch && !row->positions));
    strcpy(params, row->params);
    int place = 0;
    for (char *name = strtok(params, " "); name; name = strtok(NULL, " ")) {
        cr_expect(rw_param_find(name) >= 0, "%s: there is no parameter '%s'", row->name, name);
        cr_expect_eq(rw_objective_param(row, name), place++);
    }
    cr_expect(place <= RW_OBJECTIVE_PARAMS);
    cr_expect_eq(rw_objective_param(row, "sig"), -1);
}

Test(objective, rows)
{
    int n = 0;
    for (const struct rw_objective *row; (row = rw_objective_at(n)); n++)
        check_row(row, n);
    cr_expect_geq(n, 3);
    cr_expect_null(rw_objective_at(-1));
}

Test(objective, variants_of_lambdarank)
{
    static const char *const deltas[] = {"ndcg", "dcg", "map", "mrr", "err", "p@3", "none"};
    static const char *const pairs[] = {"topk", "all", "mean:2"};
    const int delta = rw_objective_param(&rw_objective_lambdarank, "delta");
    const int pair = rw_objective_param(&rw_objective_lambdarank, "pairs");
    cr_assert(delta >= 0 && pair >= 0);
    for (int i = 0; i < 7 * 3; i++) {
        struct rw_objective_rule rule = {.pair = {.sigma = 1.0f}};
        rule.value[delta] = rw_delta_number(deltas[i / 3]);
        rule.value[pair] = rw_pairs_number(pairs[i % 3]);
        const struct rw_objective *objective = rw_objective_for(&rw_objective_lambdarank, &rule);
        check_row(objective, 0);
        cr_expect_eq(rw_objective_param(objective, "delta"), delta);
        cr_expect_eq(rw_objective_param(objective, "pairs"), pair);
        cr_expect_eq(objective == &rw_objective_lambdarank, i == 0);
        cr_expect_eq(objective->device == RW_OBJECTIVE_PAIRS, i < 2);
        cr_expect(i == 0 || !objective->variant);
    }
}

static const struct rw_objective steep = {.name = "made", .params = "sigma"};

static const struct rw_objective *steep_from_2_on(const struct rw_objective_rule *rule)
{
    return rule->pair.sigma >= 2.0f ? &steep : NULL;
}

/* A row may be served by another objective for some of its rules. */
Test(objective, variants_go_by_the_rule)
{
    const struct rw_objective row = {
        .name = "made", .params = "sigma norm", .variant = steep_from_2_on};
    struct rw_objective_rule rule = {.pair = {.sigma = 1.0f}};
    cr_expect_eq(rw_objective_for(&row, &rule), &row);
    rule.pair.sigma = 2.0f;
    cr_expect_eq(rw_objective_for(&row, &rule), &steep);
    cr_expect_eq(rw_objective_for(&steep, &rule), &steep);
}

static struct rw_ctx *ctx;
static struct rw_dataset *train;

static void integers(const struct rw_objective *objective, const double *gradients,
                     const double *hessians, int64_t *lambda, int64_t *weight)
{
    const struct rw_engine_rules rules = {.cut = {.bins = 16, .min_docs = 1},
                                          .objective = objective,
                                          .lambda = {.sigma = 1.0f},
                                          .min_docs = 1,
                                          .bits = 8,
                                          .query_threshold = (uint64_t)1 << 32,
                                          .feature_threshold = (uint64_t)1 << 32,
                                          .max_slots = 3};
    struct rw_engine *engine;
    struct rw_root root;
    double *scores = malloc(train->n_docs * sizeof(*scores));
    for (uint32_t i = 0; i < train->n_docs; i++)
        scores[i] = fixture_unit(4, i) * 3.0 - 1.0;
    cr_assert_eq(rw_engine_open(ctx, "ref", &rules, &engine), RW_OK);
    cr_assert_eq(rw_engine_load(engine, 0, train, NULL, NULL), RW_OK);
    cr_assert_eq(rw_engine_set_scores(engine, 0, scores), RW_OK);
    if (!objective)
        cr_assert_eq(rw_engine_set_gradients(engine, gradients, hessians), RW_OK);
    cr_assert_eq(engine->ops->begin_tree(engine, 0, &root), RW_OK);
    int32_t *lambda_q = malloc(train->n_docs * sizeof(*lambda_q));
    uint8_t *sampled = malloc(train->n_docs);
    cr_assert_eq(engine->ops->read_integers(engine, lambda, weight, lambda_q, NULL, sampled),
                 RW_OK);
    rw_engine_close(engine);
    free(lambda_q);
    free(sampled);
    free(scores);
}

/* Gradients computed by an engine and user gradients give the same integers. */
Test(objective, user_gradients_equal_computed_ones)
{
    enum { QUERIES = 300, LENGTH = 9, DOCS = QUERIES * LENGTH };
    static double weights[DOCS], scores[DOCS], gradients[DOCS], hessians[DOCS];
    static int64_t lambda[2][DOCS], weight[2][DOCS];
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    train = fixture_data(ctx, 2, QUERIES, LENGTH, 2);
    for (uint32_t i = 0; i < DOCS; i++) {
        weights[i] = 0.1 + fixture_unit(6, i);
        scores[i] = fixture_unit(4, i) * 3.0 - 1.0;
    }
    cr_assert_eq(rw_mem_new(ctx, (void **)&train->weight, DOCS, sizeof(double)), RW_OK);
    memcpy(train->weight, weights, sizeof(weights));
    const struct rw_objective_rule rule = {.pair = {.sigma = 1.0f}};
    const struct rw_objective_query query = {.n = DOCS,
                                             .scores = scores,
                                             .labels = train->label,
                                             .gradient = gradients,
                                             .hessian = hessians};
    rw_objective_regression.query(&rule, &query);
    integers(&rw_objective_regression, NULL, NULL, lambda[0], weight[0]);
    integers(NULL, gradients, hessians, lambda[1], weight[1]);
    cr_assert_arr_eq(lambda[0], lambda[1], sizeof(lambda[0]));
    cr_assert_arr_eq(weight[0], weight[1], sizeof(weight[0]));
    for (uint32_t i = 1; i < DOCS; i++) /* weighted residuals in one unit */
        cr_assert_float_eq((double)lambda[0][i] / (double)lambda[0][0],
                           ((double)train->label[i] - scores[i]) * weights[i] /
                               (((double)train->label[0] - scores[0]) * weights[0]),
                           1e-12 * (1.0 + fabs((double)lambda[0][i] / (double)lambda[0][0])));
    rw_dataset_free(train);
    rw_ctx_free(ctx);
}
