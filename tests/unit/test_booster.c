#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "model_looks.h"
#include "base/mem.h"
#include "model/model.h"
#include "same_trees.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *train, *valid;
static char warning[4096];
static int n_warnings;

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    if (level != RW_LOG_WARNING)
        return;
    n_warnings++;
    snprintf(warning, sizeof(warning), "%s", line);
}

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    rw_ctx_set_log(ctx, on_log, NULL);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    train = fixture_data(ctx, 1, 30, 12, 5);
    valid = fixture_data(ctx, 2, 12, 12, 5);
    set("leaves", "6");
    set("rounds", "8");
    set("min-docs", "5");
    n_warnings = 0;
}

static void teardown(void)
{
    rw_dataset_free(train);
    rw_dataset_free(valid);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

#define BOOSTER_TEST(name) Test(booster, name, .init = setup, .fini = teardown)

static int run(const struct rw_train_hooks *hooks, int n_valid, struct rw_model **out)
{
    const struct rw_dataset *sets[] = {valid};
    return rw_train(ctx, params, train, sets, n_valid, hooks, out);
}

static struct rw_model *trained(const struct rw_train_hooks *hooks, int n_valid)
{
    struct rw_model *model;
    cr_assert_eq(run(hooks, n_valid, &model), RW_OK, "%s", rw_last_error(ctx));
    return model;
}

BOOSTER_TEST(learns)
{
    set("early-stop-rule", "best");
    struct rw_model *model = trained(NULL, 1);
    cr_assert_eq(model->best_round, model->n_trees);
    cr_assert_eq(model->n_metrics, 1);
    cr_assert_str_eq(model->metric_name[0], "valid1 ndcg@10");
    cr_assert_eq(model->n_rounds_run, 8);
    cr_assert_gt(model->metric_value[model->best_round - 1], 0.75);
    for (int r = 0; r < 8; r++) /* the kept round is the first of the best */
        cr_assert(r < model->best_round - 1
                      ? model->metric_value[r] < model->metric_value[model->best_round - 1]
                      : model->metric_value[r] <= model->metric_value[model->best_round - 1]);
    rw_model_free(model);
}

BOOSTER_TEST(one_model_whatever_the_engine_and_threads)
{
    set("sample-queries", "0.7");
    set("sample-features", "0.7");
    set("split", "newton");
    rw_ctx_set_threads(ctx, 1);
    set("device", "ref");
    struct rw_model *expected = trained(NULL, 1);
    static const char *const devices[] = {"cpu", "sim", "auto"};
    static const int threads[] = {1, 2, 7};
    for (int d = 0; d < 3; d++) {
        for (int t = 0; t < 3; t++) {
            rw_ctx_set_threads(ctx, threads[t]);
            set("device", devices[d]);
            struct rw_model *model = trained(NULL, 1);
            cr_assert(same_trees(expected, model), "%s, %d threads", devices[d], threads[t]);
            rw_model_free(model);
        }
    }
    set("seed", "2");
    struct rw_model *other = trained(NULL, 1);
    cr_assert(!same_trees(expected, other)); /* the comparison can fail */
    rw_model_free(other);
    rw_model_free(expected);
}

/* Trees, parameters and the metrics of each round. */
static void assert_same(const struct rw_model *a, const struct rw_model *b)
{
    cr_assert(same_trees(a, b));
    cr_assert_eq(a->best_round, b->best_round);
    cr_assert_str_eq(param_of(a, "rounds"), param_of(b, "rounds"));
    cr_assert_eq(a->n_rounds_run, b->n_rounds_run);
    cr_assert_arr_eq(a->metric_value, b->metric_value,
                     (size_t)(a->n_rounds_run * a->n_metrics) * sizeof(*a->metric_value));
}

BOOSTER_TEST(goes_on_as_in_one_run)
{
    const struct rw_dataset *sets[] = {valid};
    struct rw_model *first, *on, *whole;
    set("early-stop", "0");
    set("sample-queries", "0.7");
    set("rounds", "3");
    first = trained(NULL, 1);
    set("rounds", "8");
    whole = trained(NULL, 1);
    set("rounds", "5");
    cr_assert_eq(
        rw_train_on(
            ctx, params,
            &(struct rw_training){.train = train, .init = first, .valid = sets, .n_valid = 1}, &on),
        RW_OK, "%s", rw_last_error(ctx));
    assert_same(on, whole);
    rw_model_free(on);
    /* another model to continue from, another outcome; and trees that no code can walk */
    first->tree[0].cut[0] += 1e-4f;
    cr_assert_eq(
        rw_train_on(
            ctx, params,
            &(struct rw_training){.train = train, .init = first, .valid = sets, .n_valid = 1}, &on),
        RW_OK);
    cr_assert_eq(on->n_trees, 8);
    cr_assert(!same_trees(on, whole));
    rw_model_free(on);
    long n = 0;
    int status = RW_ERR_MEMORY;
    rw_ctx_set_threads(ctx, 1);
    set("rounds", "1");
    while (status != RW_OK && ++n < 5000) {
        rw_mem_fail_from(n);
        status = rw_train_on(
            ctx, params,
            &(struct rw_training){.train = train, .init = first, .valid = sets, .n_valid = 1}, &on);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || (status == RW_ERR_MEMORY && !on));
    }
    cr_assert(status == RW_OK && n > 50);
    rw_model_free(on);
    set("absent", "missing");
    cr_assert_eq(
        rw_train_on(
            ctx, params,
            &(struct rw_training){.train = train, .init = first, .valid = sets, .n_valid = 1}, &on),
        RW_ERR_ARGUMENT);
    cr_assert_null(on);
    rw_model_free(first);
    rw_model_free(whole);
}

/* A metric that only falls: the best round is the last one of the model that was there. */
static int falls(void *user, const struct rw_dataset *dataset, const double *scores, double *value)
{
    (void)dataset;
    (void)scores;
    *value = -(double)++*(int *)user;
    return 0;
}

BOOSTER_TEST(continuing_drops_no_earlier_tree)
{
    const struct rw_dataset *sets[] = {valid};
    struct rw_model *first = trained(NULL, 0), *on;
    int n = 0;
    const struct rw_train_hooks hooks = {.user = &n, .metric = falls};
    set("early-stop", "2");
    cr_assert_eq(
        rw_train_on(
            ctx, params,
            &(struct rw_training){
                .train = train, .init = first, .valid = sets, .n_valid = 1, .hooks = &hooks},
            &on),
        RW_OK);
    cr_assert(same_trees(first, on));
    cr_assert_eq(on->best_round, first->n_trees);
    cr_assert_eq(on->n_rounds_run, first->n_trees + 2);
    rw_model_free(first);
    rw_model_free(on);
}

/* Each allocation of a training fails in turn: an error, and no leaks (sanitized builds detect
 * those). */
static void fail_every_allocation(const char *device, int n_valid)
{
    set("rounds", "2");
    set("device", device);
    set("names", "");
    set("ignore", "4");
    set("train-metric", "on");
    rw_ctx_set_threads(ctx, 1); /* the count of allocations is no thread's own */
    struct rw_model *model = NULL;
    long n = 0;
    int status = RW_ERR_MEMORY;
    while (status != RW_OK && ++n < 5000) {
        rw_mem_fail_from(n);
        status = run(NULL, n_valid, &model);
        rw_mem_fail_from(0);
        if (status == RW_OK)
            break;
        cr_assert_eq(status, RW_ERR_MEMORY, "allocation %ld: status %d, %s", n, status,
                     rw_last_error(ctx));
        cr_assert_null(model);
        cr_assert(strstr(rw_last_error(ctx), "memory"), "%s", rw_last_error(ctx));
    }
    cr_assert_gt(n, 50);
    cr_assert_lt(n, 5000);
    struct rw_model *whole = trained(NULL, n_valid);
    cr_assert(same_trees(model, whole));
    rw_model_free(whole);
    rw_model_free(model);
}

BOOSTER_TEST(no_memory_ref)
{
    fail_every_allocation("ref", 1);
}

BOOSTER_TEST(no_memory_cpu)
{
    fail_every_allocation("cpu", 1);
}

BOOSTER_TEST(no_memory_sim)
{
    fail_every_allocation("sim", 0);
}

BOOSTER_TEST(no_memory_cpu_newton_sampled)
{
    rw_params_free(params); /* leaves has no effect on levels */
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    set("grow", "levels");
    set("depth", "3");
    set("min-docs", "5");
    set("split", "newton");
    set("sample-queries", "0.5");
    fail_every_allocation("cpu", 1);
}

static int stop_after_3(void *user, const struct rw_round *round)
{
    *(int *)user = round->round;
    cr_assert_eq(round->n_metrics, 1);
    return round->round == 3;
}

static int stop_now(void *user)
{
    (void)user;
    return 1;
}

BOOSTER_TEST(hooks_stop)
{
    int last = 0;
    struct rw_train_hooks hooks = {.user = &last, .on_round = stop_after_3};
    set("early-stop", "0");
    struct rw_model *model = trained(&hooks, 1);
    cr_assert_eq(last, 3);
    cr_assert_eq(model->n_trees, 3);
    cr_assert_eq(model->best_round, 0); /* nothing was chosen */
    cr_assert(is_finished(model), "the caller's own rule ended it");
    rw_model_free(model);
    hooks = (struct rw_train_hooks){.should_stop = stop_now};
    model = trained(&hooks, 0);
    cr_assert_eq(model->n_trees, 1); /* the round is finished first */
    cr_assert(!is_finished(model));
    rw_model_free(model);
}

/* A signal that comes in the last round changes nothing. */
BOOSTER_TEST(the_last_round_is_not_interrupted)
{
    struct rw_train_hooks hooks = {.should_stop = stop_now};
    set("rounds", "1");
    struct rw_model *model = trained(&hooks, 0);
    cr_assert(is_finished(model));
    rw_model_free(model);
}

BOOSTER_TEST(early_stop_keeps_the_best)
{
    set("early-stop", "2");
    set("early-stop-rule", "best");
    set("rounds", "200");
    set("rate", "1");
    struct rw_model *model = trained(NULL, 1);
    cr_assert_lt(model->n_rounds_run, 200);
    cr_assert_eq(model->n_rounds_run, model->best_round + 2);
    cr_assert_eq(model->n_trees, model->best_round);
    rw_model_free(model);
}

/* ---- nothing to split ---- */

static void expect_no_split(const char *cause)
{
    struct rw_model *model;
    cr_assert_eq(run(NULL, 0, &model), RW_ERR_DATA);
    cr_assert_null(model);
    cr_assert(strstr(rw_last_error(ctx), "training made no trees: "), "%s", rw_last_error(ctx));
    cr_assert(strstr(rw_last_error(ctx), cause), "%s", rw_last_error(ctx));
    cr_assert_eq(n_warnings, 0);
    const struct rw_train_hooks hooks = {.allow_no_trees = 1};
    cr_assert_eq(run(&hooks, 0, &model), RW_OK);
    cr_assert_eq(model->n_trees, 0);
    cr_assert(strstr(rw_last_error(ctx), cause), "%s", rw_last_error(ctx));
    cr_assert_eq(n_warnings, 0);
    rw_model_free(model);
}

BOOSTER_TEST(no_split_min_docs)
{
    set("min-docs", "181");
    expect_no_split("--min-docs 181 is more than half of the 360 documents");
    n_warnings = 0;
    set("min-docs", "180"); /* just half: it is another one's fault */
    set("min-gain", "1e9");
    expect_no_split("--min-gain 1000000000 (lower them)");
}

BOOSTER_TEST(no_split_weights)
{
    const double zero[360] = {0};
    cr_assert_eq(rw_dataset_set_side_column(ctx, train, "weights", zero, train->n_docs, 1), RW_OK);
    expect_no_split("all weights are 0");
}

BOOSTER_TEST(no_split_equal_labels)
{
    for (uint32_t i = 0; i < train->n_docs; i++)
        train->label[i] = (float)(i / 12 % 2); /* equal within each query */
    expect_no_split("no query has two documents with different gains");
}

BOOSTER_TEST(no_split_none_relevant)
{
    set("delta", "map");
    set("relevant", "2");
    for (uint32_t i = 0; i < train->n_docs; i++)
        train->label[i] = (float)(i % 2 + (i < 12 ? 2 : 0)); /* one query has relevant ones alone */
    n_warnings = 0;
    expect_no_split(
        "no query has both relevant and other documents (check the labels, or --relevant 2)");
}

BOOSTER_TEST(no_split_own_queries)
{
    rw_dataset_free(train);
    train = fixture_data(ctx, 1, 360, 1, 5);
    expect_no_split("all 360 documents have different query ids (qid); documents that are "
                    "ranked together must have the same id");
}

BOOSTER_TEST(no_split_nearly_own_queries)
{
    rw_dataset_free(train);
    train = fixture_data(ctx, 1, 360, 1, 5);
    train->n_queries -= 5; /* the last one has six documents, all of one label */
    train->query_offset[train->n_queries] = train->n_docs;
    for (uint32_t i = train->n_docs - 6; i < train->n_docs; i++)
        train->label[i] = 1;
    expect_no_split("nearly all of the 360 documents have different query ids (qid) (355 queries); "
                    "documents that are ranked together must have the same id");
}

BOOSTER_TEST(no_split_constant_features)
{
    for (uint32_t c = 0; c < train->n_columns; c++) {
        for (uint32_t i = 0; i < train->column[c].n; i++)
            train->column[c].value[i] = 3.0f;
    }
    expect_no_split("every feature is constant");
    n_warnings = 0;
    set("sample-queries", "0.5"); /* no draw can change that */
    expect_no_split("every feature is constant");
}

BOOSTER_TEST(no_split_ignored)
{
    set("ignore", "1-5");
    expect_no_split("--ignore");
}

BOOSTER_TEST(no_split_min_gain)
{
    set("min-gain", "1e9");
    expect_no_split("--min-gain 1000000000 (lower them)");
}

BOOSTER_TEST(no_split_of_one_document)
{
    rw_dataset_free(train);
    train = fixture_data(ctx, 3, 1, 1, 2);
    expect_no_split("");
}

/* Trees that could split nothing are dropped at the end, where they only take rounds. */
BOOSTER_TEST(empty_trees_at_the_end_are_dropped)
{
    struct rw_model *model = NULL;
    set("sample-queries", "0.05"); /* one or two queries, often too few documents for a split */
    set("min-docs", "8");
    set("rounds", "40");
    for (int seed = 1; !model || model->empty_rounds == 0; seed++) {
        char text[16];
        snprintf(text, sizeof(text), "%d", seed);
        set("seed", text);
        rw_model_free(model);
        model = trained(NULL, 0);
        cr_assert_lt(seed, 100);
    }
    cr_assert_eq(model->n_trees + model->empty_rounds, 40);
    cr_assert_gt(model->tree[model->n_trees - 1].n_leaves, 1);
    int n_empty = 0;
    for (int t = 0; t < model->n_trees; t++)
        n_empty += model->tree[t].n_leaves == 1;
    cr_assert_gt(n_empty, 0, "those between others stay: a tree's number is its round's");
    rw_model_free(model);
}

/* ---- messages ---- */

static struct rw_model *trained_on_sets(const struct rw_dataset *first,
                                        const struct rw_dataset *second)
{
    const struct rw_dataset *sets[] = {first, second};
    struct rw_model *model;
    n_warnings = 0;
    cr_assert_eq(rw_train(ctx, params, train, sets, second ? 2 : 1, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    return model;
}

/* It never stops training: the next set does, and alone no set does. */
BOOSTER_TEST(a_validation_set_that_is_the_training_set)
{
    struct rw_dataset *copy = fixture_data(ctx, 1, 30, 12, 5);
    set("rounds", "60");
    set("early-stop", "5");
    for (int weighted = 0; weighted < 2; weighted++) {
        double weights[30];
        for (int q = 0; weighted && q < 30; q++)
            weights[q] = 1.0 + q % 3;
        if (weighted) /* the side columns do not matter */
            cr_assert_eq(rw_dataset_set_side_column(ctx, train, "query-weights", weights, 30, 1),
                         RW_OK);
        struct rw_model *expected = trained_on_sets(valid, NULL);
        cr_assert_eq(rw_ctx_stopping_valid_set(ctx), 1);
        cr_assert_lt(expected->best_round, 60);
        struct rw_model *model = trained_on_sets(copy, valid);
        cr_assert_eq(rw_ctx_stopping_valid_set(ctx), 2);
        cr_assert(same_trees(expected, model));
        cr_assert_eq(model->best_round, expected->best_round);
        cr_assert_eq(n_warnings, 0);
        rw_model_free(model);
        model = trained_on_sets(copy, train);
        cr_assert_eq(rw_ctx_stopping_valid_set(ctx), 0);
        cr_assert_eq(model->n_trees, 60);
        cr_assert_eq(model->best_round, 0);
        cr_assert_eq(n_warnings, 1);
        cr_assert(strstr(warning, "validation set 1 is the training set, so early stopping is off"),
                  "%s", warning);
        rw_model_free(model);
        rw_model_free(expected);
    }
    set("early-stop", "0");
    rw_model_free(trained_on_sets(copy, NULL));
    cr_assert_eq(n_warnings, 0);
    set("early-stop", "5");
    copy->label[5] += 1; /* another set */
    rw_model_free(trained_on_sets(copy, NULL));
    cr_assert_eq(rw_ctx_stopping_valid_set(ctx), 1);
    copy->label[5] -= 1;
    copy->column[0].value[5] += 1.0f;
    rw_model_free(trained_on_sets(copy, NULL));
    cr_assert_eq(rw_ctx_stopping_valid_set(ctx), 1);
    cr_assert_eq(n_warnings, 0);
    rw_dataset_free(copy);
}

BOOSTER_TEST(names_of_features_that_are_not_there)
{
    char path[] = "/tmp/rw-names-XXXXXX";
    const int file = mkstemp(path);
    static const char text[] = "1 first\n5 fifth\n7 seventh\n900 far\n";
    cr_assert_eq(write(file, text, sizeof(text) - 1), (ssize_t)sizeof(text) - 1);
    close(file);
    set("names", path);
    struct rw_model *model = trained(NULL, 0);
    cr_assert_eq(n_warnings, 1);
    cr_assert_str_eq(
        warning, "names: 2 of 4 features are not in the training set; the first is 7, 'seventh'");
    rw_model_free(model);
    unlink(path);
}

/* ---- custom objectives and metrics ---- */

enum objective { SQUARE, GIVE_UP, NOT_A_NUMBER, NEGATIVE, LIKE_REGRESSION, HUGE_LEAF };

static int gradients(void *user, const struct rw_dataset *data, const double *scores, double *g,
                     double *h)
{
    const float *labels = rw_dataset_labels(data);
    const enum objective kind = *(enum objective *)user;
    for (uint32_t i = 0; i < rw_dataset_n_docs(data); i++) {
        g[i] = (double)labels[i] - scores[i];
        h[i] = 1.0;
    }
    if (kind == NOT_A_NUMBER)
        g[7] = NAN;
    if (kind == NEGATIVE)
        h[7] = -1.0;
    for (uint32_t i = 0; i < rw_dataset_n_docs(data) && kind == HUGE_LEAF; i++) {
        g[i] *= 1e29;
        h[i] = 1e-29;
    }
    return kind == GIVE_UP;
}

static void expect_failure(enum objective kind, int status, const char *text)
{
    struct rw_model *model = NULL;
    const struct rw_train_hooks hooks = {.user = &kind, .gradients = gradients};
    cr_assert_eq(run(&hooks, 0, &model), status);
    cr_assert_null(model);
    cr_assert(strstr(rw_last_error(ctx), text), "%s", rw_last_error(ctx));
}

BOOSTER_TEST(custom_objectives_that_fail)
{
    expect_failure(GIVE_UP, RW_ERR_INTERRUPTED, "objective failed");
    expect_failure(NOT_A_NUMBER, RW_ERR_DATA, "gradient of document 7");
    expect_failure(NEGATIVE, RW_ERR_DATA, "hessian of document 7 (from 0) is -1");
    expect_failure(HUGE_LEAF, RW_ERR_DATA, "beyond the largest float");
}

BOOSTER_TEST(custom_objective_is_regression_by_hand)
{
    enum objective kind = LIKE_REGRESSION;
    double *weights = malloc(train->n_docs * sizeof(*weights));
    for (uint32_t i = 0; weights && i < train->n_docs; i++)
        weights[i] = 0.5 + (i % 3);
    cr_assert_eq(rw_dataset_set_side_column(ctx, train, "weights", weights, train->n_docs, 1),
                 RW_OK);
    free(weights);
    const struct rw_train_hooks hooks = {.user = &kind, .gradients = gradients};
    set("sample-features", "1"); /* auto depends on the objective, like that of the noise */
    set("gain-noise", "0.5");
    struct rw_model *custom = trained(&hooks, 0);
    set("objective", "regression");
    struct rw_model *built_in = trained(NULL, 0);
    cr_assert(same_trees(custom, built_in));
    cr_assert_str_eq(param_of(custom, "objective"), "custom");
    rw_model_free(custom);
    rw_model_free(built_in);
}

static int falling_metric(void *user, const struct rw_dataset *data, const double *scores,
                          double *value)
{
    (void)data;
    (void)scores;
    *value = 10.0 - ++*(int *)user % 5;
    return *(int *)user > 1000;
}

BOOSTER_TEST(custom_metric_stops_training)
{
    int calls = 0;
    struct rw_train_hooks hooks = {.user = &calls, .metric = falling_metric, .metric_name = "mine"};
    hooks.metric_lower_is_better = 1;
    set("early-stop", "2");
    set("rounds", "100");
    struct rw_model *model = trained(&hooks, 1);
    cr_assert_eq(model->best_round, 4); /* 9 8 7 6 10 9 */
    cr_assert_eq(model->n_rounds_run, 6);
    cr_assert_str_eq(model->metric_name[0], "valid1 mine");
    cr_assert_str_eq(model->metric_name[1], "valid1 ndcg@10");
    rw_model_free(model);
    calls = 1000;
    model = NULL;
    cr_assert_eq(run(&hooks, 1, &model), RW_ERR_INTERRUPTED);
    cr_assert_null(model);
}

BOOSTER_TEST(too_many_validation_sets)
{
    struct rw_model *model = NULL;
    cr_assert_eq(run(NULL, 64, &model), RW_ERR_ARGUMENT);
    cr_assert_null(model);
}

BOOSTER_TEST(deepest_levels)
{
    rw_params_free(params); /* leaves has no effect on levels */
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    set("grow", "levels");
    set("rounds", "1");
    set("depth", "16");
    rw_model_free(trained(NULL, 0));
    struct rw_model *model = NULL;
    set("depth", "17");
    cr_assert_eq(run(NULL, 0, &model), RW_ERR_ARGUMENT);
    cr_assert_null(model);
    cr_assert_str_eq(rw_last_error(ctx), "depth is 17; expected 1 to 16 when growing by levels");
}

BOOSTER_TEST(deepest_symmetric)
{
    rw_params_free(params);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    set("grow", "symmetric");
    set("rounds", "1");
    set("depth", "12");
    rw_model_free(trained(NULL, 0));
    struct rw_model *model = NULL;
    set("depth", "13");
    cr_assert_eq(run(NULL, 0, &model), RW_ERR_ARGUMENT);
    cr_assert_null(model);
    cr_assert_str_eq(rw_last_error(ctx), "depth is 13; expected 1 to 12 for symmetric trees");
}

static int set_more_threads(void *user, const struct rw_round *round)
{
    (void)round;
    return rw_ctx_set_threads(user, 64) < 0;
}

/* An engine's scratch is made for the threads it was opened with. */
Test(booster, threads_may_be_set_while_training)
{
    struct rw_ctx *own = NULL;
    struct rw_params *own_params;
    struct rw_model *model;
    cr_assert_eq(rw_ctx_new(&own), RW_OK);
    cr_assert_eq(rw_ctx_set_threads(own, 2), RW_OK);
    struct rw_dataset *data = fixture_data(own, 5, 200, 40, 6);
    cr_assert_eq(rw_params_new(own, &own_params), RW_OK);
    cr_assert_eq(rw_params_set(own, own_params, "rounds", "4"), RW_OK);
    const struct rw_train_hooks hooks = {.user = own, .on_round = set_more_threads};
    cr_assert_eq(rw_train(own, own_params, data, NULL, 0, &hooks, &model), RW_OK, "%s",
                 rw_last_error(own));
    cr_assert_eq(rw_model_n_trees(model), 4);
    rw_model_free(model);
    cr_assert_eq(rw_params_set(own, own_params, "weights", "w.txt"), RW_OK);
    cr_assert_eq(rw_train(own, own_params, data, NULL, 0, NULL, &model), RW_ERR_ARGUMENT);
    rw_params_free(own_params);
    rw_dataset_free(data);
    rw_ctx_free(own);
}
