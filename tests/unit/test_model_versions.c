/* The record of a model's training in each version of the format. */
#include "model_looks.h"
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

/* The additions of version 2. */
Test(model_versions, trainings_and_how_they_ended)
{
    struct rw_model *model = fixture_model(ctx, body), *old = fixture_model(ctx, old_body);
    cr_assert(!is_finished(model) && model->empty_rounds == 3);
    cr_assert_eq(rw_model_info(model).n_runs, 3);
    cr_assert(rw_model_run(model, 0).n_trees == 1 && rw_model_run(model, 1).n_trees == 0 &&
              rw_model_run(model, 2).n_trees == 0 && rw_model_run(model, 3).n_trees == 0);
    const struct rw_run_view last = rw_model_run(model, 2);
    cr_assert_eq(last.n_params, 2);
    cr_assert_str_eq(last.params[0].name, "rate");
    cr_assert(strcmp(last.params[0].value, "0.1") == 0 && last.params[0].is_auto);
    cr_assert(strcmp(last.params[1].value, "3") == 0 && !last.params[1].is_auto);
    cr_assert_str_eq(rw_model_run(model, 0).params[0].value, "0.5");
    cr_assert_str_eq(param_of(model, "rate"), "0.1");
    cr_assert(is_finished(old) && old->empty_rounds == 0 && rw_model_info(old).n_runs == 1);
    cr_assert_eq(rw_model_run(old, 0).n_trees, 1);
    rw_model_free(model);
    rw_model_free(old);
}

/* min-hessian was min-weight once. */
Test(model_versions, old_names)
{
    struct rw_model *model =
        fixture_model(ctx, HEAD "params 1\nmin-weight = 3\n\n" FEATURES NAMES METRICS TREES TREE);
    cr_assert_str_eq(param_of(model, "min-hessian"), "3");
    cr_assert_null(param_of(model, "min-weight"));
    rw_model_free(model);
    refused(HEAD "params 2\nmin-weight = 3\nmin-hessian = 3\n\n",
            "m:7:1: expected a new parameter, found 'min-hessian'");
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

/* Version 3 has a map and is written as a model of today. */
Test(model_versions, maps_of_scores_to_probabilities)
{
    struct rw_model *isotonic = fixture_model(ctx, isotonic_body);
    struct rw_model *logistic = fixture_model(ctx, logistic_body);
    struct rw_model *plain = fixture_model(ctx, body_2);
    struct rw_calibration map;
    char *text, *plain_text;
    size_t n, n_plain;
    round_trip(isotonic);
    round_trip(logistic);
    cr_assert_eq(rw_model_calibration(isotonic, &map), 1);
    cr_assert_str_eq(map.method, "isotonic");
    cr_assert(map.relevant == 1 && map.n_knots == 3 && map.score[0] == -0.5 && map.score[2] == 2 &&
              map.probability[0] == 0 && map.probability[1] == 0.125);
    cr_assert_eq(rw_model_calibration(logistic, &map), 1);
    cr_assert_str_eq(map.method, "logistic");
    cr_assert(map.relevant == 2 && map.n_knots == 0 && map.slope == 0.5 && map.intercept == -3);
    cr_assert_eq(rw_model_calibration(plain, &map), 0);
    cr_assert(map.method == NULL && map.n_knots == 0);
    cr_assert_eq(rw_model_print(ctx, isotonic, &text, &n), RW_OK);
    static const char added[] = "columns unknown\n";
    char *line = memmem(text, n, added, strlen(added));
    cr_assert_not_null(line);
    cr_assert(n == strlen(isotonic_body) + strlen(added) + RW_CHECKSUM_LINE_BYTES);
    memmove(line, line + strlen(added), n - (size_t)(line - text) - strlen(added));
    text[strlen("rankwood model ")] = '3';
    cr_assert_eq(memcmp(text, isotonic_body, strlen(isotonic_body)), 0);
    rw_mem_free(text);
    rw_score_map_release(&isotonic->map);
    cr_assert_eq(rw_model_print(ctx, isotonic, &text, &n), RW_OK);
    cr_assert_eq(rw_model_print(ctx, plain, &plain_text, &n_plain), RW_OK);
    cr_assert(n == n_plain && memcmp(text, plain_text, n) == 0);
    rw_mem_free(text);
    rw_mem_free(plain_text);
    rw_model_free(isotonic);
    rw_model_free(logistic);
    rw_model_free(plain);
}

#define ISOTONIC(knots) WITH_MAP("calibration isotonic relevant 1 knots 2\n" knots "\n")

Test(model_versions, hostile_maps)
{
    refused(WITH_MAP(""), "m:37:1: expected 'calibration', found the checksum");
    refused(WITH_MAP("calibration sigmoid relevant 1 knots 1\nknot 0 0\n\n"),
            "m:37:13: expected 'logistic', found 'sigmoid'");
    refused(WITH_MAP("calibration isotonic relevant -1 knots 1\nknot 0 0\n\n"),
            "m:37:31: expected a label, 0 to 1e9, found '-1'");
    refused(WITH_MAP("calibration isotonic relevant nan knots 1\nknot 0 0\n\n"),
            "m:37:31: expected a label, 0 to 1e9, found 'nan'");
    refused(WITH_MAP("calibration isotonic relevant 1 knots 0\n\n"),
            "m:37:39: expected 1 knot or more, found '0'");
    refused(WITH_MAP("calibration isotonic relevant 1 knots 2000000000\nknot 0 0\n\n"),
            "m:37:39: expected the number of knots, 0 to 2, found '2000000000'");
    refused(ISOTONIC("knot 1 0.5\nknot 1 0.5\n"),
            "m:39:6: expected a score above that of the knot before, found '1'");
    refused(ISOTONIC("knot 1 0.5\nknot 0.5 0.75\n"),
            "m:39:6: expected a score above that of the knot before, found '0.5'");
    refused(ISOTONIC("knot 1 0.5\nknot 2 0.25\n"),
            "m:39:6: expected a probability that is not below that of the knot before, found '2'");
    refused(ISOTONIC("knot 1 0.5\nknot 2 1.5\n"),
            "m:39:6: expected a probability, 0 to 1, found '2'");
    refused(ISOTONIC("knot 1 -0.5\nknot 2 1\n"),
            "m:38:6: expected a probability, 0 to 1, found '1'");
    refused(ISOTONIC("knot 1 nan\nknot 2 1\n"),
            "m:38:8: expected a probability, 0 to 1, found 'nan'");
    refused(ISOTONIC("knot nan 0\nknot 2 1\n"),
            "m:38:6: expected a score, a finite number, found 'nan'");
    refused(ISOTONIC("knot 1e301 0\nknot 2e301 1\n"),
            "m:38:6: expected a score from -1e300 to 1e300, found '1e301'");
    refused(ISOTONIC("knot 1 0.000000\n"), "m:39:1: expected 'knot', found the end of the line");
    refused(WITH_MAP("calibration logistic relevant 1 slope -1 intercept 0\n\n"),
            "m:37:39: expected a slope that is not below 0, found '-1'");
    refused(WITH_MAP("calibration logistic relevant 1 slope inf intercept 0\n\n"),
            "m:37:39: expected a slope, a finite number, found 'inf'");
    refused(WITH_MAP("calibration logistic relevant 1 slope 1 intercept nan\n\n"),
            "m:37:51: expected an intercept, a finite number, found 'nan'");
    refused(HEAD2 PARAMS2 EARLIER FEATURES NAMES METRICS TREES TREE
            "calibration logistic relevant 1 slope 1 intercept 0\n\n",
            "m:37:1: expected the checksum, found 'calibration'");
}
