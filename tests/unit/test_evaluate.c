#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "rankwood.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *dataset;

/* Queries for which tools give different metrics, and one of two documents. */
static const float labels[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 1, 2, 2};
static const uint32_t offsets[] = {0, 3, 6, 9, 10, 12};
static const double zeros[12];

static void setup(void)
{
    const float values[12] = {0};
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_from_memory(ctx, values, labels, offsets, 12, 1, 5, 1, &dataset), RW_OK,
                 "%s", rw_last_error(ctx));
}

static void teardown(void)
{
    rw_dataset_free(dataset);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

Test(evaluate, several_metrics, .init = setup, .fini = teardown)
{
    struct rw_eval *eval;
    set("metric", "rmse,ndcg@3,map,rbp:0.5");
    set("empty", "1");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, zeros, &eval), RW_OK, "%s",
                 rw_last_error(ctx));
    cr_assert_eq(eval->n_metrics, 4);
    cr_assert_eq(eval->n_queries, 5u);
    cr_assert_eq(eval->n_docs, 12u);
    cr_assert_eq(eval->n_empty, 1u);
    cr_assert_eq(eval->n_single, 1u);
    const char *names[] = {"rmse", "ndcg@3", "map", "rbp:0.5"};
    const double means[] = {sqrt(11.0 / 12), 4.5 / 5, (4 + 1.0 / 3) / 5,
                            (0.5 + 0.125 + 1 + 0.5 + 0.75) / 5};
    const double reversed[] = {sqrt(11.0 / 12), 4.5 / 5, (4 + 1.0 / 3) / 5,
                               (0.125 + 0.5 + 1 + 0.5 + 0.75) / 5};
    for (int i = 0; i < 4; i++) {
        cr_expect_str_eq(eval->metrics[i].name, names[i]);
        cr_expect_float_eq(eval->metrics[i].mean, means[i], 1e-11);
        cr_expect_float_eq(eval->metrics[i].ties_moved, reversed[i] - means[i], 1e-11);
        cr_expect_eq(eval->metrics[i].n_counted, 5u);
    }
    const double *ndcg = eval->metrics[1].per_query;
    cr_expect(ndcg[0] == 1 && ndcg[1] == 0.5 && ndcg[2] == 1 && ndcg[3] == 1 && ndcg[4] == 1);
    char line[256];
    cr_assert_eq(rw_eval_conventions(ctx, rw_params_eval(params), line, sizeof(line)), RW_OK);
    cr_expect_str_eq(eval->conventions, line);
    cr_expect_not_null(strstr(line, "count 1"));
    rw_free(eval);
    rw_free(NULL);
}

Test(evaluate, empty_queries, .init = setup, .fini = teardown)
{
    const char *const words[] = {"0", "1", "skip"};
    const double means[] = {3.5 / 5, 4.5 / 5, 3.5 / 4};
    set("metric", "ndcg@3");
    for (int i = 0; i < 3; i++) {
        struct rw_eval *eval;
        set("empty", words[i]);
        cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, zeros, &eval), RW_OK);
        cr_expect_float_eq(eval->metrics[0].mean, means[i], 1e-15);
        cr_expect_eq(eval->n_empty, 1u);
        cr_expect_eq(eval->metrics[0].n_counted, i == 2 ? 4u : 5u);
        cr_expect_eq(isnan(eval->metrics[0].per_query[2]), i == 2);
        rw_free(eval);
    }
}

Test(evaluate, ties_moved, .init = setup, .fini = teardown)
{
    struct rw_eval *eval;
    /* Only the first query is tied: 1 in the order of input, .5 reversed. */
    const double scores[] = {0, 0, 0, 3, 2, 1, 3, 2, 1, 0, 2, 1};
    set("metric", "ndcg@3");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, scores, &eval), RW_OK);
    cr_expect_float_eq(eval->metrics[0].ties_moved, -0.5 / 4, 1e-12);
    rw_free(eval);
    set("ties", "mean");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, scores, &eval), RW_OK);
    cr_expect_eq(eval->metrics[0].ties_moved, 0.0);
    cr_expect_not_null(strstr(eval->conventions, "mean over orders of ties"));
    rw_free(eval);
}

Test(evaluate, scores_must_be_finite, .init = setup, .fini = teardown)
{
    const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};
    for (int i = 0; i < 3; i++) {
        double scores[12] = {0};
        scores[11] = bad[i];
        struct rw_eval *eval = (struct rw_eval *)scores;
        cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, scores, &eval), RW_ERR_DATA);
        cr_assert_null(eval);
        cr_expect_not_null(strstr(rw_last_error(ctx), "of document 12: expected a finite number"));
    }
}

Test(evaluate, gains_matter_only_where_used, .init = setup, .fini = teardown)
{
    const float values[2] = {0}, wild[] = {40, 0};
    const uint32_t one[] = {0, 2};
    struct rw_dataset *far;
    struct rw_eval *eval;
    cr_assert_eq(rw_dataset_from_memory(ctx, values, wild, one, 2, 1, 1, 1, &far), RW_OK);
    set("metric", "map,p@1,mrr,recall@1,rbp:0.9,rmse,logloss");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), far, zeros, &eval), RW_OK, "%s",
                 rw_last_error(ctx));
    rw_free(eval);
    const char *const users[] = {"map,ndcg", "dcg@5", "err"};
    for (int i = 0; i < 3; i++) {
        set("metric", users[i]);
        cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), far, zeros, &eval), RW_ERR_DATA);
        cr_expect_not_null(strstr(rw_last_error(ctx), "document 1: label 40 is above 31"));
    }
    set("label-gain", "linear");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), far, zeros, &eval), RW_OK);
    cr_expect_not_null(strstr(eval->conventions, "gain l, "));
    rw_free(eval);
    set("label-gain", "/nonexistent/gains");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), far, zeros, &eval), RW_ERR_IO);
    cr_assert_null(eval);
    rw_dataset_free(far);
}

Test(evaluate, relevant, .init = setup, .fini = teardown)
{
    struct rw_eval *eval;
    set("metric", "map");
    set("relevant", "2");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, zeros, &eval), RW_OK);
    cr_expect_eq(eval->n_empty, 4u);
    cr_expect_eq(eval->metrics[0].n_counted, 1u);
    cr_expect_eq(eval->metrics[0].mean, 1.0);
    rw_free(eval);
    set("relevant", "3");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, zeros, &eval), RW_OK);
    cr_expect(isnan(eval->metrics[0].mean));
    cr_expect_eq(eval->metrics[0].ties_moved, 0.0);
    rw_free(eval);
}

Test(evaluate, weights, .init = setup, .fini = teardown)
{
    struct rw_eval *eval;
    const double weights[] = {1, 4, 7, 3, 0};
    cr_assert_eq(rw_dataset_set_side_column(ctx, dataset, "query-weights", weights, 5, 1), RW_OK);
    set("metric", "ndcg@3");
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, zeros, &eval), RW_OK);
    cr_expect_float_eq(eval->metrics[0].mean, 6.0 / 8, 1e-12);
    rw_free(eval);
}

Test(evaluate, every_allocation_may_fail, .init = setup, .fini = teardown)
{
    set("metric", "ndcg@3,map");
    for (long n = 1;; n++) {
        struct rw_eval *eval;
        rw_mem_fail_from(n);
        const int status = rw_evaluate(ctx, rw_params_eval(params), dataset, zeros, &eval);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            cr_assert_geq(n, 12);
            rw_free(eval);
            break;
        }
        cr_assert_eq(status, RW_ERR_MEMORY);
        cr_assert_null(eval);
    }
}

/* A struct of one's own needs no parameters; one that is not filled in is refused. */
Test(evaluate, by_a_struct, .init = setup, .fini = teardown)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_eval *by_params, *by_struct, *none;
    cr_assert_eq(rw_params_set(ctx, params, "metric", "map,ndcg@3"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "ties", "mean"), RW_OK);
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, zeros, &by_params), RW_OK);
    how.metric = "map,ndcg@3";
    how.ties = RW_TIES_MEAN;
    cr_assert_eq(rw_evaluate(ctx, &how, dataset, zeros, &by_struct), RW_OK);
    cr_assert_eq(by_struct->n_metrics, 2);
    for (int m = 0; m < 2; m++)
        cr_expect_eq(by_struct->metrics[m].mean, by_params->metrics[m].mean);
    cr_expect_str_eq(by_struct->conventions, by_params->conventions);
    rw_free(by_params);
    rw_free(by_struct);
    const struct rw_eval_params wrong[] = {
        {.relevant = 1},
        {"map", (enum rw_empty)3, RW_TIES_FILE, NULL, 1, 1, NULL},
        {"map", RW_EMPTY_ONE, (enum rw_ties)2, NULL, 1, 1, NULL},
        {"map", RW_EMPTY_ONE, RW_TIES_FILE, NULL, -1, 1, NULL}};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        cr_expect_eq(rw_evaluate(ctx, &wrong[i], dataset, zeros, &none), RW_ERR_ARGUMENT);
        cr_expect_null(none);
    }
}
