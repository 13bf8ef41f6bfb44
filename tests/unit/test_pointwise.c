#include <criterion/criterion.h>

#include "naive_metrics.h"

static double query_value(const char *text, double relevant, const float *label,
                          const double *score, const double *weight, uint32_t n)
{
    struct rw_metric metric;
    cr_assert_eq(rw_metric_parse(NULL, text, relevant, &metric), RW_OK);
    const struct rw_ranked_query query = {.n = n, .label = label, .score = score, .weight = weight};
    return metric.kind->query(&metric, &query);
}

Test(pointwise, rmse)
{
    const float label[] = {2, 0, 1};
    const double score[] = {1.5, 0.5, -1}, weight[] = {1, 0, 3};
    /* the mean is that of squares */
    cr_assert_float_eq(query_value("rmse", 1, label, score, NULL, 3), (0.25 + 0.25 + 4) / 3, 1e-15);
    cr_assert_float_eq(query_value("rmse", 1, label, score, weight, 3), (0.25 + 12) / 4, 1e-15);
}

Test(pointwise, logloss)
{
    const float label[] = {2, 0, 1};
    const double score[] = {1.5, 0.5, -1}, weight[] = {1, 0, 3};
    const double losses[] = {log1p(exp(-1.5)), log1p(exp(0.5)), log1p(exp(1.0))};
    cr_assert_float_eq(query_value("logloss", 1, label, score, NULL, 3),
                       (losses[0] + losses[1] + losses[2]) / 3, 1e-15);
    cr_assert_float_eq(query_value("logloss", 1, label, score, weight, 3),
                       (losses[0] + 3 * losses[2]) / 4, 1e-15);
    /* from label 2 on: the last one is irrelevant now */
    cr_assert_float_eq(query_value("logloss", 2, label, score, NULL, 3),
                       (losses[0] + losses[1] + log1p(exp(-1.0))) / 3, 1e-15);
}

Test(pointwise, logloss_far_out)
{
    const float label[] = {1};
    for (double score = -800; score <= 800; score += 0.37) {
        const double expected = score < 0 ? -score + log1p(exp(score)) : log1p(exp(-score));
        cr_assert_float_eq(query_value("logloss", 1, label, &score, NULL, 1), expected,
                           1e-15 + 4e-16 * expected);
    }
    const double huge = -1.7e308;
    cr_assert_eq(query_value("logloss", 1, label, &huge, NULL, 1), 1.7e308);
}

Test(pointwise, nothing_to_average)
{
    const float label[] = {1};
    const double score[] = {1}, weight[] = {0};
    cr_assert(isnan(query_value("rmse", 1, label, score, NULL, 0)));
    cr_assert(isnan(query_value("rmse", 1, label, score, weight, 1)));
    cr_assert(isnan(query_value("logloss", 1, label, score, weight, 1)));
}
