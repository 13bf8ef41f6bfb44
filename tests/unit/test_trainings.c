/* Models that come from several trainings, and trees that chance or the caller decides. */
#include <string.h>

#include "model_looks.h"
#include "base/mem.h"
#include "model/model_text.h"
#include "same_trees.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *train;
static char warnings[4096];

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    const size_t n = strlen(warnings);
    if (level == RW_LOG_WARNING)
        snprintf(warnings + n, sizeof(warnings) - n, "%s\n", line);
}

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

static void set_number(const char *name, int value)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", value);
    set(name, text);
}

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    rw_ctx_set_log(ctx, on_log, NULL);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    train = fixture_data(ctx, 1, 30, 12, 5);
    set("leaves", "6");
    set("min-docs", "5");
    set("early-stop", "0");
    warnings[0] = 0;
}

static void teardown(void)
{
    rw_dataset_free(train);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

#define TRAININGS_TEST(name) Test(trainings, name, .init = setup, .fini = teardown)

static struct rw_model *more(const struct rw_model *init, int rounds,
                             const struct rw_train_hooks *hooks)
{
    struct rw_model *model;
    set_number("rounds", rounds);
    cr_assert_eq(rw_train_on(ctx, params,
                             &(struct rw_training){.train = train, .init = init, .hooks = hooks},
                             &model),
                 RW_OK, "%s", rw_last_error(ctx));
    return model;
}

static void same_text(const struct rw_model *a, const struct rw_model *b)
{
    char *text_a, *text_b;
    size_t n_a, n_b;
    cr_assert_eq(rw_model_print(ctx, a, &text_a, &n_a), RW_OK);
    cr_assert_eq(rw_model_print(ctx, b, &text_b, &n_b), RW_OK);
    cr_assert(n_a == n_b && memcmp(text_a, text_b, n_a) == 0, "%s\n---\n%s", text_a, text_b);
    rw_mem_free(text_a);
    rw_mem_free(text_b);
}

/* With the same parameters it is one training, also in the model's record. */
TRAININGS_TEST(two_halves_are_one)
{
    struct rw_model *half = more(NULL, 7, NULL), *both = more(half, 5, NULL);
    struct rw_model *third = more(both, 3, NULL), *whole = more(NULL, 15, NULL);
    cr_assert_eq(rw_model_info(third).n_runs, 1);
    same_text(third, whole);
    rw_model_free(half);
    rw_model_free(both);
    rw_model_free(third);
    rw_model_free(whole);
}

/* Final rounds without a split add no trees, but count when training continues. */
TRAININGS_TEST(two_halves_are_one_over_empty_rounds)
{
    int n_empty = 0;
    set("sample-queries", "0.05");
    set("min-docs", "8");
    for (int seed = 1; seed <= 20; seed++) {
        set_number("seed", seed);
        struct rw_model *half = more(NULL, 20, NULL), *both = more(half, 20, NULL);
        struct rw_model *whole = more(NULL, 40, NULL);
        n_empty += half->empty_rounds > 0;
        same_text(both, whole);
        rw_model_free(half);
        rw_model_free(both);
        rw_model_free(whole);
    }
    cr_assert_gt(n_empty, 0);
}

TRAININGS_TEST(other_parameters_are_another_training)
{
    struct rw_model *first = more(NULL, 4, NULL);
    set("leaves", "3");
    struct rw_model *second = more(first, 2, NULL);
    struct rw_model *third = more(second, 5, NULL);
    cr_assert_eq(rw_model_info(third).n_runs, 2, "the last two are one");
    cr_assert(rw_model_run(third, 0).n_trees == 4 && rw_model_run(third, 1).n_trees == 7);
    const char *const expected[2][2] = {{"4", "6"}, {"7", "3"}};
    for (int run = 0; run < 2; run++) {
        const struct rw_run_view of = rw_model_run(third, run);
        for (int i = 0; i < of.n_params; i++) {
            const struct rw_run_param param = of.params[i];
            if (strcmp(param.name, "rounds") == 0)
                cr_expect_str_eq(param.value, expected[run][0]);
            if (strcmp(param.name, "leaves") == 0)
                cr_expect_str_eq(param.value, expected[run][1]);
        }
    }
    rw_model_free(first);
    rw_model_free(second);
    rw_model_free(third);
}

static int stop_after_2(void *user)
{
    return ++*(int *)user == 2;
}

/* An interrupted training had more rounds to run: continuing from it is a separate training. */
TRAININGS_TEST(an_interrupted_training_is_not_continued_as_one)
{
    int n = 0;
    const struct rw_train_hooks hooks = {.user = &n, .should_stop = stop_after_2};
    struct rw_model *cut = more(NULL, 9, &hooks), *rest = more(cut, 7, NULL);
    cr_assert_eq(cut->n_trees, 2);
    cr_assert(!is_finished(cut) && is_finished(rest));
    cr_assert_eq(rw_model_info(rest).n_runs, 2);
    cr_assert_str_eq(param_of(rest, "rounds"), "7");
    rw_model_free(cut);
    rw_model_free(rest);
}

TRAININGS_TEST(chosen_parameters_are_marked)
{
    char chosen[256] = "";
    set("split", "auto");
    struct rw_model *model = more(NULL, 2, NULL);
    const struct rw_run_view run = rw_model_run(model, 0);
    for (int i = 0; i < run.n_params; i++) {
        const struct rw_run_param param = run.params[i];
        if (param.is_auto)
            strcat(strcat(strcat(strcat(chosen, param.name), " "), param.value), "; ");
    }
    cr_assert_str_eq(chosen, "rate 0.1; split mart; sample-features 0.5; gain-noise 4; ");
    rw_model_free(model);
}

TRAININGS_TEST(features_that_the_data_lack)
{
    struct rw_model *wide = more(NULL, 6, NULL);
    static const uint32_t n_queries[] = {30,
                                         90}; /* of fewer than 1,000 documents, it is not said */
    for (int i = 0; i < 2; i++) {
        rw_dataset_free(train);
        train = fixture_data(ctx, 1, n_queries[i], 12, 2);
        cr_assert_eq(warnings[0], 0);
        struct rw_model *model = more(wide, 2, NULL);
        const char *found = strstr(warnings, "no document has features ");
        cr_assert(i ? found != NULL : !warnings[0], "%s", warnings);
        rw_model_free(model);
    }
    rw_model_free(wide);
}

/* ---- one unlucky draw does not end training ---- */

struct script {
    int calls, n_empty;
};

/* The first n_empty trees find all gradients equal. */
static int late_gradients(void *user, const struct rw_dataset *data, const double *scores,
                          double *gradients, double *hessians)
{
    struct script *script = user;
    for (uint32_t i = 0; i < rw_dataset_n_docs(data); i++) {
        gradients[i] =
            script->calls < script->n_empty ? 0.0 : (double)rw_dataset_labels(data)[i] - scores[i];
        hessians[i] = 1.0;
    }
    script->calls++;
    return 0;
}

TRAININGS_TEST(custom_gradients_may_change)
{
    struct script script = {0, 3};
    const struct rw_train_hooks hooks = {.user = &script, .gradients = late_gradients};
    struct rw_model *model = more(NULL, 10, &hooks);
    cr_assert_eq(model->n_trees, 10);
    for (int t = 0; t < 10; t++)
        cr_assert_eq(model->tree[t].n_leaves == 1, t < 3);
    rw_model_free(model);
    script = (struct script){0, 50};
    struct rw_model *none;
    set("rounds", "100");
    cr_assert_eq(rw_train(ctx, params, train, NULL, 0, &hooks, &none), RW_ERR_DATA);
    cr_assert_eq(script.calls, 50);
}

/* Draws differ in the gain of their best split: some minimum gain is above the first one's and
 * below a later one's. */
TRAININGS_TEST(yetirank_draws_again)
{
    set("objective", "yetirank");
    set("permutations", "1");
    set("leaves", "2");
    int n_found = 0;
    for (int seed = 1; seed <= 40 && n_found == 0; seed++) {
        struct rw_model *model;
        char least[32];
        set_number("seed", seed);
        set("min-gain", "0");
        model = more(NULL, 1, NULL);
        snprintf(least, sizeof(least), "%.17g", model->tree[0].gain[0]);
        rw_model_free(model);
        set("min-gain", least); /* a split must gain more */
        set("rounds", "20");
        if (rw_train(ctx, params, train, NULL, 0, NULL, &model) == RW_OK) {
            cr_assert_eq(model->tree[0].n_leaves, 1);
            n_found += model->tree[model->n_trees - 1].n_leaves > 1;
            rw_model_free(model);
        }
    }
    cr_assert_gt(n_found, 0);
}

static void keep_used(void *user, struct rw_params *used)
{
    static const char *const names[] = {"rounds",          "rate",    "leaves", "depth", "split",
                                        "sample-features", "threads", "device", "batch"};
    char *text = user;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        strcat(text, rw_params_get(used, names[i]));
        strcat(text, " ");
    }
}

/* 'auto' is recorded as the value used; the rounds of the initial model are not counted. */
Test(trainings, start_reports_resolved_parameters, .init = setup, .fini = teardown)
{
    char text[256] = "";
    const struct rw_train_hooks hooks = {.on_start = keep_used, .user = text};
    set("rounds", "auto");
    set("leaves", "auto");
    cr_assert_eq(rw_ctx_set_threads(ctx, 3), RW_OK);
    struct rw_model *first, *second;
    cr_assert_eq(rw_train(ctx, params, train, NULL, 0, &hooks, &first), RW_OK);
    cr_expect_str_eq(text, "300 0.1 8 0 mart 0.5 3 cpu 8 ");
    text[0] = 0;
    set("rounds", "4");
    set("grow", "levels");
    cr_assert_eq(rw_train_on(ctx, params,
                             &(struct rw_training){.train = train, .init = first, .hooks = &hooks},
                             &second),
                 RW_OK);
    cr_expect_str_eq(text, "4 0.1 auto 6 mart 0.5 3 cpu 16 ");
    cr_expect_eq(second->n_trees, first->n_trees + 4);
    rw_model_free(first);
    rw_model_free(second);
}

/* Nodes of so many documents that their histograms are kept, until both children are known. */
TRAININGS_TEST(large_nodes)
{
    struct rw_model *model[2];
    rw_dataset_free(train);
    train = fixture_data(ctx, 1, 1200, 10, 3);
    set("leaves", "40");
    for (int i = 0; i < 2; i++) {
        set("device", i ? "ref" : "cpu");
        model[i] = more(NULL, 2, NULL);
    }
    cr_assert(same_trees(model[0], model[1]));
    cr_assert_eq(model[0]->tree[1].n_leaves, 40);
    for (int i = 0; i < 2; i++)
        rw_model_free(model[i]);
}
