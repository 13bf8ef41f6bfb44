#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "metric/metric.h"
#include "rankwood.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *dataset;

/* falling, rising, empty, single, constant and relevant, neither */
static const float labels[] = {2, 1, 0, 0, 1, 0, 0, 1, 1, 1, 0, 1, 0};
static const uint32_t offsets[] = {0, 3, 5, 7, 8, 10, 13};
static const double scores[] = {3, 2, 2, 1, 2, 0, 0, 5, 1, 1, 7, 7, 7};

static void setup(void)
{
    const float values[13] = {0};
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_from_memory(ctx, values, labels, offsets, 13, 1, 6, 1, &dataset),
                 RW_OK);
}

static void teardown(void)
{
    rw_dataset_free(dataset);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

Test(audit, rows_and_counts, .init = setup, .fini = teardown)
{
    struct rw_audit *audit;
    struct rw_eval *eval;
    int n_programs = 0;
    while (rw_dialect_at(n_programs))
        n_programs++;
    cr_assert_eq(rw_params_set(ctx, params, "metric", "ndcg@2,recall@1"), RW_OK);
    cr_assert_eq(rw_audit_new(ctx, rw_params_eval(params), dataset, scores, &audit), RW_OK, "%s",
                 rw_last_error(ctx));
    cr_expect_eq(audit->n_rows, 2 * (n_programs + 1));
    cr_expect(audit->n_docs == 13 && audit->n_queries == 6);
    cr_expect(audit->n_empty == 1 && audit->n_single == 1);
    cr_expect(audit->n_falling == 1 && audit->n_rising == 1);
    cr_expect_eq(audit->n_tied, 2u);
    int refused = 0, compared = 0;
    for (int i = 0; i < audit->n_rows; i++) {
        const struct rw_audit_row *row = &audit->rows[i];
        cr_assert_eq(rw_params_set(ctx, params, "metric", row->metric), RW_OK);
        struct rw_eval_params how = *rw_params_eval(params);
        how.like = strcmp(row->like, "rankwood") == 0 ? NULL : row->like;
        const int status = rw_evaluate(ctx, &how, dataset, scores, &eval);
        if (status < 0) {
            cr_expect(row->refused && isnan(row->mean) && !*row->conventions);
            cr_expect(strncmp(rw_last_error(ctx), row->refused, strlen(row->refused)) == 0);
            refused++;
            continue;
        }
        cr_expect_null(row->refused);
        cr_expect_eq(row->mean, eval->metrics[0].mean, "%s %s", row->like, row->metric);
        cr_expect_eq(row->n_counted, eval->metrics[0].n_counted);
        cr_expect(strstr(eval->conventions, row->conventions));
        compared++;
        rw_free(eval);
    }
    cr_expect(refused == 8 && compared == 14, "%d %d", refused, compared);
    rw_free(audit);
    rw_free(NULL);
}

Test(audit, like_accepts_its_own_conventions, .init = setup, .fini = teardown)
{
    struct rw_eval *eval = (struct rw_eval *)labels;
    struct rw_eval_params how = *rw_params_eval(params);
    how.like = "xgbost";
    cr_expect_eq(rw_evaluate(ctx, &how, dataset, scores, &eval), RW_ERR_ARGUMENT);
    cr_expect(eval == NULL && strstr(rw_last_error(ctx), "did you mean 'xgboost'?"));
    cr_assert_eq(rw_params_set(ctx, params, "metric", "ndcg@3,map@3"), RW_OK);
    how = *rw_params_eval(params);
    how.like = "lightgbm";
    cr_assert_eq(rw_evaluate(ctx, &how, dataset, scores, &eval), RW_OK);
    cr_expect_eq(eval->n_metrics, 2);
    cr_expect_eq(eval->n_empty, 1u);
    cr_expect_str_eq(eval->metrics[1].name, "map@3");
    const char *second = strchr(eval->conventions, '\n');
    cr_assert_not_null(second);
    cr_expect(strncmp(second, "\nLightGBM map@3: ", 17) == 0, "%s", eval->conventions);
    rw_free(eval);
}

Test(audit, fails_as_evaluate_does, .init = setup, .fini = teardown)
{
    struct rw_audit *audit = (struct rw_audit *)labels;
    double bad[13] = {0};
    bad[4] = (double)NAN;
    cr_expect_eq(rw_audit_new(ctx, rw_params_eval(params), dataset, bad, &audit), RW_ERR_DATA);
    cr_assert_null(audit);
    for (long n = 1;; n++) {
        rw_mem_fail_from(n);
        const int status = rw_audit_new(ctx, rw_params_eval(params), dataset, scores, &audit);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            cr_assert_gt(n, 50);
            rw_free(audit);
            break;
        }
        cr_assert_eq(status, RW_ERR_MEMORY);
    }
}
