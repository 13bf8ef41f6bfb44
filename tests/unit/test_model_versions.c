/* What the versions of a model's text say of how it was trained. */
#include "model_bodies.h"

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(model_versions, .init = setup, .fini = teardown);

/* A training with sampling in which no tree could be split made these: ten and more
 * were refused. */
Test(model_versions, the_shortest_trees)
{
    for (int n = 0; n <= 12; n++) {
        struct rw_model *model = fixture_random_model(ctx, n, 1, 1, 1);
        cr_assert_eq(model->n_trees, n);
        for (int t = 0; t < n; t++)
            model->tree[t].leaf[0] = 0.0f;
        round_trip(model);
        rw_model_free(model);
    }
}

/* What version 2 says beside version 1. */
Test(model_versions, trainings_and_how_they_ended)
{
    struct rw_model *model = fixture_model(ctx, body), *old = fixture_model(ctx, old_body);
    struct rw_run_param param;
    cr_assert(!rw_model_is_finished(model) && model->empty_rounds == 3);
    cr_assert_eq(rw_model_n_runs(model), 3);
    cr_assert(rw_model_run_trees(model, 0) == 1 && rw_model_run_trees(model, 1) == 0 &&
              rw_model_run_trees(model, 2) == 0 && rw_model_run_trees(model, 3) == 0);
    cr_assert_eq(rw_model_run_param(model, 2, 0, &param), 1);
    cr_assert(strcmp(param.name, "rate") == 0 && strcmp(param.value, "0.1") == 0 && param.is_auto);
    cr_assert_eq(rw_model_run_param(model, 2, 1, &param), 1);
    cr_assert(strcmp(param.value, "3") == 0 && !param.is_auto);
    cr_assert_eq(rw_model_run_param(model, 2, 2, &param), 0);
    cr_assert_eq(rw_model_run_param(model, 0, 0, &param), 1);
    cr_assert_str_eq(param.value, "0.5");
    cr_assert_str_eq(rw_model_param(model, "rate"), "0.1");
    cr_assert(rw_model_is_finished(old) && old->empty_rounds == 0 && rw_model_n_runs(old) == 1);
    cr_assert_eq(rw_model_run_trees(old, 0), 1);
    rw_model_free(model);
    rw_model_free(old);
}

/* min-hessian was min-weight once. */
Test(model_versions, old_names)
{
    struct rw_model *model =
        fixture_model(ctx, HEAD "params 1\nmin-weight = 3\n\n" FEATURES NAMES METRICS TREES TREE);
    cr_assert_str_eq(rw_model_param(model, "min-hessian"), "3");
    cr_assert_null(rw_model_param(model, "min-weight"));
    rw_model_free(model);
    refused(HEAD "params 2\nmin-weight = 3\nmin-hessian = 3\n\n",
            "m:7:1: expected a parameter that did not stand before, found 'min-hessian'");
}

/* A value that was given is never taken for one that was chosen. */
Test(model_versions, chosen_and_given)
{
    struct rw_model *model = fixture_model(ctx, body);
    char *text, *given;
    size_t n;
    cr_assert_eq(rw_mem_copy_text(ctx, &given, "auto 0.1"), RW_OK);
    rw_mem_free(model->params.param[0].value);
    model->params.param[0].value = given;
    model->params.param[0].is_auto = 0;
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_ERR_FORMAT);
    rw_model_free(model);
}
