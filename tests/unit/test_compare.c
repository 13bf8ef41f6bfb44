#include <math.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "scratch_file.h"
#include "evaluate/evaluate.h"

static struct rw_params *params;
static struct rw_dataset *dataset;

/* Query 3 is empty. */
static const double a[] = {2, 1, 0, 1, 2, 0, 0, 1, 3, 2, 1};
static const double b[] = {1, 2, 0, 2, 1, 0, 0, 1, 1, 2, 3};

static void setup(void)
{
    const char *paths[] = {"d"};
    scratch_begin();
    scratch_text("d",
                 "1 qid:1 1:0\n0 qid:1 1:0\n0 qid:1 1:0\n1 qid:2 1:0\n0 qid:2 1:0\n"
                 "0 qid:3 1:0\n0 qid:3 1:0\n1 qid:x 1:0\n2 qid:y 1:0\n1 qid:y 1:0\n0 qid:y 1:0\n");
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &dataset), RW_OK);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
}

static void teardown(void)
{
    rw_dataset_free(dataset);
    rw_params_free(params);
    scratch_end();
}

TestSuite(compare, .init = setup, .fini = teardown);

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(scratch_ctx, params, name, value), RW_OK);
}

static struct rw_comparison *compare(const char *groups)
{
    struct rw_comparison *comparison;
    cr_assert_eq(
        rw_compare(scratch_ctx, rw_params_eval(params), dataset, a, b, groups, &comparison), RW_OK,
        "%s", rw_last_error(scratch_ctx));
    return comparison;
}

Test(compare, all_and_by_groups)
{
    set("metric", "mrr");
    scratch_text("g", "# query group\n2 long  name \n1 left\n\n9 unknown\ny left\n");
    struct rw_comparison *comparison = compare("g");
    cr_expect_str_eq(comparison->metric, "mrr");
    cr_expect_eq(comparison->all.n_queries, 4u);
    cr_expect_float_eq(comparison->all.mean_a, (1 + .5 + 1 + 1) / 4, 1e-12);
    cr_expect_float_eq(comparison->all.mean_b, (.5 + 1 + 1 + .5) / 4, 1e-12);
    cr_expect(comparison->all.n_wins == 1 && comparison->all.n_ties == 1 &&
              comparison->all.n_losses == 2);
    cr_expect_eq(comparison->all.p, 1.0); /* -.5 +.5 -.5: any pattern does as much */
    cr_assert_eq(comparison->n_groups, 3);
    cr_expect_str_eq(comparison->groups[0].name, "left");
    cr_expect_str_eq(comparison->groups[1].name, "long  name");
    cr_expect_str_eq(comparison->groups[2].name, "-");
    cr_expect_eq(comparison->groups[0].n_queries, 2u);
    cr_expect_eq(comparison->groups[1].difference, 0.5);
    cr_expect_eq(comparison->groups[2].n_queries, 1u);
    cr_assert_eq(comparison->n_moved, 3);
    const uint32_t moved[] = {0, 1, 4};
    for (int i = 0; i < 3; i++)
        cr_expect_eq(comparison->moved[i].query, moved[i]);
    /* Empty queries count in churn. No query has more than 10 documents. */
    cr_expect(comparison->changed_first == 3. / 5 && comparison->changed_ten == 0 &&
              comparison->overlap_ten == 1);
    rw_free(comparison);
    rw_free(NULL);
}

/* Better in every one of 40 queries: no pattern of signs that is drawn does as much. */
Test(compare, p_is_never_0)
{
    enum { QUERIES = 40 };
    double worse[2 * QUERIES], better[2 * QUERIES];
    FILE *file = fopen("many", "w");
    for (int q = 0; q < QUERIES; q++) {
        fprintf(file, "1 qid:%d 1:0\n0 qid:%d 1:0\n", q, q);
        worse[2 * q] = better[2 * q + 1] = 0;
        worse[2 * q + 1] = better[2 * q] = 1;
    }
    fclose(file);
    const char *paths[] = {"many"};
    struct rw_dataset *many;
    struct rw_comparison *comparison;
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &many), RW_OK);
    set("metric", "mrr");
    cr_assert_eq(
        rw_compare(scratch_ctx, rw_params_eval(params), many, worse, better, NULL, &comparison),
        RW_OK);
    cr_expect_eq(comparison->all.n_wins, (uint32_t)QUERIES);
    cr_expect_eq(comparison->all.p, 1.0 / (1 + RW_RANDOM_SIGNS));
    rw_free(comparison);
    rw_dataset_free(many);
}

Test(compare, means_are_those_of_eval)
{
    static const char *const metrics[] = {"ndcg@2", "rmse", "logloss", "dcg", "err"};
    for (int weighted = 0; weighted < 2; weighted++) {
        for (int i = 0; i < 5; i++) {
            struct rw_eval *eval_a, *eval_b;
            set("metric", metrics[i]);
            struct rw_comparison *comparison = compare(NULL);
            cr_assert_eq(rw_evaluate(scratch_ctx, rw_params_eval(params), dataset, a, &eval_a),
                         RW_OK);
            cr_assert_eq(rw_evaluate(scratch_ctx, rw_params_eval(params), dataset, b, &eval_b),
                         RW_OK);
            cr_expect_eq(comparison->all.mean_a, eval_a->metrics->mean);
            cr_expect_eq(comparison->all.difference, eval_b->metrics->mean - eval_a->metrics->mean);
            cr_expect_eq(comparison->all.n_queries, eval_a->metrics->n_counted);
            /* The interval is of the same statistic, weighted alike. */
            cr_expect(comparison->all.low <= comparison->all.difference &&
                      comparison->all.high >= comparison->all.difference);
            rw_free(comparison);
            scratch_text("g", "1 a\n2 a\n3 a\nx a\ny a\n");
            comparison = compare("g");
            cr_assert_eq(comparison->n_groups, 1);
            cr_expect_float_eq(comparison->groups->mean_b, eval_b->metrics->mean, 1e-9);
            cr_expect_eq(comparison->groups->p, comparison->all.p);
            rw_free(comparison);
            rw_free(eval_a);
            rw_free(eval_b);
        }
        const double weights[] = {1, 2, 3, 0.5, 0.25};
        cr_assert_eq(
            rw_dataset_set_side_column(scratch_ctx, dataset, "query-weights", weights, 5, 1),
            RW_OK);
    }
}

Test(compare, refused)
{
    struct rw_comparison *comparison;
    const struct {
        const char *metric, *groups, *says;
    } cases[] = {
        {"ndcg,map", NULL, "expected one metric to compare, found 2"},
        {"ndcg", "1 a\n1 b\n", "g:2:1: query '1' already has a group"},
        {"ndcg", "1 a\n  2\n", "g:2:3: expected 'QUERY GROUP', found '2'"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        set("metric", cases[i].metric);
        if (cases[i].groups)
            scratch_text("g", cases[i].groups);
        cr_expect_lt(rw_compare(scratch_ctx, rw_params_eval(params), dataset, a, b,
                                cases[i].groups ? "g" : NULL, &comparison),
                     0);
        cr_assert_null(comparison);
        cr_expect(strstr(rw_last_error(scratch_ctx), cases[i].says), "%s",
                  rw_last_error(scratch_ctx));
    }
}

Test(compare, every_allocation_may_fail)
{
    scratch_text("g", "1 a\n2 b\n");
    for (long n = 1;; n++) {
        struct rw_comparison *comparison;
        rw_mem_fail_from(n);
        const int status =
            rw_compare(scratch_ctx, rw_params_eval(params), dataset, a, b, "g", &comparison);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            cr_assert_gt(n, 30);
            rw_free(comparison);
            break;
        }
        cr_assert_eq(status, RW_ERR_MEMORY, "%ld: %s", n, rw_last_error(scratch_ctx));
    }
}
