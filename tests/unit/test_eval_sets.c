#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "train/train.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *sets[3];
static struct rw_engine *engine;
static struct rw_eval_sets eval_sets;
static struct rw_model *model; /* of the training that is measured */
static int n_warnings;

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    n_warnings += level == RW_LOG_WARNING && strstr(line, "cannot stop early");
}

/* An engine with three sets, whose scores stay 0: metrics come from a callback. */
static void setup(void)
{
    const struct rw_engine_rules rules = {.cut = {.bins = 4, .min_docs = 1},
                                          .objective = &rw_objective_regression,
                                          .lambda = {.sigma = 1.0f},
                                          .min_docs = 1,
                                          .bits = 8,
                                          .query_threshold = (uint64_t)1 << 32,
                                          .feature_threshold = (uint64_t)1 << 32,
                                          .max_slots = 3};
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    rw_ctx_set_log(ctx, on_log, NULL);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    cr_assert_eq(rw_engine_open(ctx, "cpu", &rules, &engine), RW_OK);
    for (int s = 0; s < 3; s++) {
        sets[s] = fixture_data(ctx, (uint64_t)s, 5, 6, 2);
        cr_assert_eq(rw_engine_load(engine, s, sets[s], NULL, NULL), RW_OK);
    }
    model = NULL;
    n_warnings = 0;
}

static void teardown(void)
{
    rw_eval_sets_release(&eval_sets);
    rw_model_free(model);
    rw_engine_close(engine);
    for (int s = 0; s < 3; s++)
        rw_dataset_free(sets[s]);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

#define EVAL_TEST(name) Test(eval_sets, name, .init = setup, .fini = teardown)

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

static void init(const struct rw_train_hooks *hooks, int n_sets)
{
    rw_model_free(model);
    cr_assert_eq(rw_model_new(ctx, &model), RW_OK);
    cr_assert_eq(rw_eval_sets_init(&eval_sets, ctx, params, hooks,
                                   (const struct rw_dataset *const *)sets, n_sets, model),
                 RW_OK, "%s", rw_last_error(ctx));
}

EVAL_TEST(values_and_their_order)
{
    set("metric", "ndcg@5,map");
    set("train-metric", "on");
    init(NULL, 3);
    static const char *const names[] = {"valid1 ndcg@5", "valid1 map",   "valid2 ndcg@5",
                                        "valid2 map",    "train ndcg@5", "train map"};
    cr_assert_eq(eval_sets.n_values, 6);
    for (int v = 0; v < 6; v++)
        cr_assert_str_eq(model->metric_name[v], names[v]);
    cr_assert_eq(eval_sets.stop_value, 0);
    cr_assert_eq(eval_sets.value[4].set, 0);
    cr_assert_str_eq(eval_sets.value[3].name, "map");
    for (int round = 1; round <= 3; round++)
        cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, round), RW_OK);
    cr_assert_eq(eval_sets.best_round, 1); /* scores stay equal: a tie keeps the earlier round */
    cr_assert_eq(model->n_metrics, 6);
    cr_assert_eq(model->n_rounds_run, 3);
    for (int v = 0; v < 6; v++) {
        cr_assert(model->metric_value[v] > 0.0 && model->metric_value[v] <= 1.0);
        cr_assert_eq(model->metric_value[12 + v], model->metric_value[v]);
    }
}

static const struct rw_metric *planned;
static int n_planned;

static int made_measure(struct rw_engine *own, int set_of, const struct rw_metric_plan *plan)
{
    (void)own;
    (void)set_of;
    planned = plan->metric;
    n_planned = plan->n_metrics;
    return RW_OK;
}

/* The results of an engine with a device, whose values differ from the host's. */
static int made_metrics(struct rw_engine *own, int set_of, struct rw_metric_result *out)
{
    (void)own;
    for (int m = 0; m < n_planned; m++)
        out[m] = (struct rw_metric_result){.mean = 10.0 * set_of + m};
    return 1;
}

static double always_a_quarter(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    (void)metric;
    (void)query;
    return 0.25;
}

/* A metric as the recipe makes it, between two that a device has. */
EVAL_TEST(the_host_computes_metrics_that_the_device_lacks)
{
    const struct rw_engine_ops *const own = engine->ops;
    struct rw_engine_ops ops = *own;
    const struct rw_metric_kind made = {
        .name = "made", .query = always_a_quarter, .device = RW_METRIC_HOST};
    ops.measure.begin = made_measure;
    ops.measure.results = made_metrics;
    engine->ops = &ops;
    set("metric", "ndcg@5,mrr,map");
    init(NULL, 3);
    eval_sets.metric[1].kind = &made;
    cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, 1), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(n_planned, 2);
    cr_assert_str_eq(planned[0].name, "ndcg@5");
    cr_assert_str_eq(planned[1].name, "map");
    static const double values[] = {10.0, 0.25, 11.0, 20.0, 0.25, 21.0};
    for (int v = 0; v < 6; v++)
        cr_assert_eq(eval_sets.value[v].value, values[v], "value %d is %g", v,
                     eval_sets.value[v].value);
    engine->ops = own;
}

EVAL_TEST(only_the_host_measures)
{
    const struct rw_engine_ops *const own = engine->ops;
    struct rw_engine_ops ops = *own;
    const struct rw_metric_kind made = {
        .name = "made", .query = always_a_quarter, .device = RW_METRIC_HOST};
    ops.measure.begin = made_measure;
    ops.measure.results = made_metrics;
    engine->ops = &ops;
    init(NULL, 2);
    eval_sets.metric[0].kind = &made;
    n_planned = -1;
    cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, 1), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(n_planned, -1); /* there was nothing to plan */
    cr_assert_eq(eval_sets.value[0].value, 0.25);
    engine->ops = own;
}

static int made_values(struct rw_engine *own, int set_of, double *per_query)
{
    (void)own;
    for (uint32_t q = 0; q < sets[set_of]->n_queries; q++)
        per_query[q] = 100.0 + q;
    return RW_OK;
}

static int see_values(void *user, const double *per_query)
{
    double *first = user;
    *first = per_query[0];
    return per_query[0] == 100.0 ? rw_fail(ctx, RW_ERR_DATA, "seen") : RW_OK;
}

/* A trial receives the values of queries of the first metric from the engine, or else from the
 * host. */
EVAL_TEST(trials_receive_values_of_queries)
{
    const struct rw_engine_ops *const own = engine->ops;
    struct rw_engine_ops ops = *own;
    double first = -1.0;
    const struct rw_trial trial = {.take_values = see_values, .user = &first};
    ops.measure.begin = made_measure;
    ops.measure.results = made_metrics;
    ops.measure.by_query = made_values;
    engine->ops = &ops;
    set("metric", "ndcg@5,map");
    init(NULL, 2);
    cr_assert_eq(rw_eval_sets_report_queries(&eval_sets, &trial), RW_OK);
    cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, 1), RW_ERR_DATA);
    cr_assert_eq(first, 100.0);
    const struct rw_metric_kind made = {
        .name = "made", .query = always_a_quarter, .device = RW_METRIC_HOST};
    eval_sets.metric[0].kind = &made;
    cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, 1), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(first, 0.25);
    engine->ops = own;
}

EVAL_TEST(nothing_to_measure)
{
    init(NULL, 1);
    cr_assert_eq(eval_sets.n_values, 0);
    cr_assert_eq(eval_sets.stop_value, -1);
    cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, 1), RW_OK);
    cr_assert(!rw_eval_sets_is_over(&eval_sets, 1000));
    cr_assert_eq(model->n_metrics, 0);
    cr_assert_eq(model->n_rounds_run, 0);
}

struct script {
    const double *value;
    int at;
};

static int scripted(void *user, const struct rw_dataset *dataset, const double *scores,
                    double *value)
{
    struct script *script = user;
    cr_assert(dataset == sets[1] && scores[0] == 0.0);
    *value = script->value[script->at++];
    return 0;
}

EVAL_TEST(patience_counts_from_the_first_best)
{
    static const double values[] = {0.3, 0.5, 0.5, 0.4, 0.5};
    struct script script = {values, 0};
    const struct rw_train_hooks hooks = {.user = &script, .metric = scripted};
    set("early-stop", "3");
    init(&hooks, 2);
    cr_assert_str_eq(model->metric_name[0], "valid1 custom");
    static const int best[] = {1, 2, 2, 2, 2}, over[] = {0, 0, 0, 0, 1};
    for (int round = 1; round <= 5; round++) {
        cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, round), RW_OK);
        cr_assert_eq(eval_sets.best_round, best[round - 1]);
        cr_assert_eq(rw_eval_sets_is_over(&eval_sets, round), over[round - 1], "round %d", round);
    }
    cr_assert_eq(eval_sets.best_value, 0.5);
}

EVAL_TEST(lower_can_be_better)
{
    static const double values[] = {0.3, 0.5, 0.2, 0.2};
    struct script script = {values, 0};
    const struct rw_train_hooks hooks = {
        .user = &script, .metric = scripted, .metric_lower_is_better = 1};
    init(&hooks, 2);
    for (int round = 1; round <= 4; round++)
        cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, round), RW_OK);
    cr_assert_eq(eval_sets.best_round, 3);
}

/* By more than delta than the best so far, not than the last round: 0.375 is by just 0.125. */
EVAL_TEST(better_by_more_than_delta)
{
    static const double up[] = {0.25, 0.375, 0.3125, 0.4375, 0.5, 0.625}, sign[] = {1.0, -1.0};
    static const int best[] = {1, 1, 1, 4, 4, 6};
    for (int k = 0; k < 2; k++) {
        double values[6];
        for (int i = 0; i < 6; i++)
            values[i] = sign[k] * up[i];
        struct script script = {values, 0};
        const struct rw_train_hooks hooks = {
            .user = &script, .metric = scripted, .metric_lower_is_better = sign[k] < 0};
        set("early-stop-delta", "0.125");
        init(&hooks, 2);
        for (int round = 1; round <= 6; round++) {
            cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, round), RW_OK);
            cr_assert_eq(eval_sets.best_round, best[round - 1], "round %d", round);
        }
        cr_assert_eq(eval_sets.best_value, sign[k] * 0.625);
        rw_eval_sets_release(&eval_sets);
        eval_sets = (struct rw_eval_sets){0};
    }
}

static const unsigned char no_set_is_train[3];

static int choose(void)
{
    init(NULL, 2);
    const int status = rw_eval_sets_choose(&eval_sets, no_set_is_train);
    rw_eval_sets_release(&eval_sets);
    memset(&eval_sets, 0, sizeof(eval_sets));
    return status;
}

EVAL_TEST(no_query_that_counts)
{
    for (uint32_t i = 0; i < sets[1]->n_docs; i++)
        sets[1]->label[i] = 0.0f;
    set("early-stop", "1");
    set("empty", "skip");
    cr_assert_eq(choose(), RW_ERR_DATA);
    cr_assert(strstr(rw_last_error(ctx), "no query of validation set 1 counts for ndcg@10"), "%s",
              rw_last_error(ctx));
    set("empty", "1");
    cr_assert_eq(choose(), RW_ERR_DATA);
    cr_assert(strstr(rw_last_error(ctx), "ndcg@10 of validation set 1 is 1 for every ranking"),
              "%s", rw_last_error(ctx));
}

/* Queries of 6 documents. */
EVAL_TEST(a_metric_that_is_the_same_for_every_ranking)
{
    static const char *const metrics[] = {"ndcg@1", "ndcg", "dcg@10", "map",      "map@1",  "mrr",
                                          "mrr@3",  "err",  "p@5",    "recall@5", "rbp:0.8"};
    static const char *const of_all[] = {"p@6", "p@10", "recall@6"}; /* of all documents */
    for (size_t m = 0; m < sizeof(metrics) / sizeof(*metrics); m++) {
        set("metric", metrics[m]);
        for (uint32_t i = 0; i < sets[1]->n_docs; i++)
            sets[1]->label[i] = 2.0f;
        cr_assert_eq(choose(), RW_ERR_DATA, "%s of equal labels", metrics[m]);
        cr_assert(strstr(rw_last_error(ctx), "for every ranking"), "%s", rw_last_error(ctx));
        sets[1]->label[4] = 0.0f;
        cr_assert_eq(choose(), RW_OK, "%s: %s", metrics[m], rw_last_error(ctx));
        sets[1]->label[4] = 1.0f; /* relevant, too */
        const int graded = strstr("ndcg@1 ndcg dcg@10 err", metrics[m]) != NULL;
        cr_assert_eq(choose(), graded ? RW_OK : RW_ERR_DATA, "%s of grades", metrics[m]);
    }
    for (size_t m = 0; m < sizeof(of_all) / sizeof(*of_all); m++) {
        set("metric", of_all[m]);
        sets[1]->label[4] = 0.0f;
        cr_assert_eq(choose(), RW_ERR_DATA, "%s of 6 documents", of_all[m]);
    }
    set("early-stop", "0");
    cr_assert_eq(choose(), RW_OK, "all rounds are kept");
}

/* Their values depend on scores, not on rankings alone. */
EVAL_TEST(errors_of_documents_can_always_change)
{
    static const char *const metrics[] = {"rmse", "logloss"};
    for (uint32_t i = 0; i < sets[1]->n_docs; i++)
        sets[1]->label[i] = 0.0f;
    for (int m = 0; m < 2; m++) {
        set("metric", metrics[m]);
        cr_assert_eq(choose(), RW_OK, "%s: %s", metrics[m], rw_last_error(ctx));
    }
}

EVAL_TEST(a_query_of_weight_0_does_not_count)
{
    for (uint32_t i = 0; i < sets[1]->n_docs; i++)
        sets[1]->label[i] = i == 0 ? 1.0f : 2.0f;
    cr_assert_eq(choose(), RW_OK);
    double weights[5] = {0.0, 1.0, 1.0, 1.0, 1.0};
    cr_assert_eq(sets[1]->n_queries, 5);
    cr_assert_eq(rw_dataset_set_side_column(ctx, sets[1], "query-weights", weights, 5, 1), RW_OK);
    cr_assert_eq(choose(), RW_ERR_DATA);
}

/* Gains of a file may fall with the label. */
EVAL_TEST(gains_that_fall)
{
    set("label-gain", "table 0 5 0");
    for (uint32_t i = 0; i < sets[1]->n_docs; i++)
        sets[1]->label[i] = (float)(i % 3);
    cr_assert_eq(choose(), RW_OK, "%s", rw_last_error(ctx));
}

/* Who does not stop early may have a set that cannot be measured. */
EVAL_TEST(no_query_that_counts_and_no_early_stopping)
{
    for (uint32_t i = 0; i < sets[1]->n_docs; i++)
        sets[1]->label[i] = 0.0f;
    set("early-stop", "0");
    set("empty", "skip");
    init(NULL, 2);
    for (int round = 1; round <= 3; round++)
        cr_assert_eq(rw_eval_sets_round(&eval_sets, engine, round), RW_OK);
    cr_assert(isnan(eval_sets.value[0].value));
    cr_assert_eq(eval_sets.best_round, 0);
    cr_assert(!rw_eval_sets_is_over(&eval_sets, 3));
}

EVAL_TEST(no_memory)
{
    set("train-metric", "on");
    rw_ctx_set_threads(ctx, 1);
    int status = RW_ERR_MEMORY;
    long n = 0;
    while (status != RW_OK) {
        rw_model_free(model);
        cr_assert_eq(rw_model_new(ctx, &model), RW_OK);
        rw_mem_fail_from(++n);
        status = rw_eval_sets_init(&eval_sets, ctx, params, NULL,
                                   (const struct rw_dataset *const *)sets, 3, model);
        if (status == RW_OK)
            status = rw_eval_sets_round(&eval_sets, engine, 1);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY);
        if (status != RW_OK) {
            rw_eval_sets_release(&eval_sets);
            memset(&eval_sets, 0, sizeof(eval_sets));
        }
        cr_assert_lt(n, 1000);
    }
    cr_assert_gt(n, 10);
}
