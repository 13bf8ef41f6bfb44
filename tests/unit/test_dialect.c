#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "metric/metric.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

static struct rw_dataset *make(const float *labels, const uint32_t *offsets, uint32_t n_queries)
{
    static const float values[64];
    struct rw_dataset *dataset;
    cr_assert_eq(rw_dataset_from_memory(ctx, values, labels, offsets, offsets[n_queries], 1,
                                        n_queries, 1, &dataset),
                 RW_OK, "%s", rw_last_error(ctx));
    return dataset;
}

static int evaluate(const char *like, const char *name, const char *gain,
                    const struct rw_dataset *dataset, const double *scores, double *per_query,
                    struct rw_dialect_value *out)
{
    const struct rw_dialect *dialect;
    struct rw_metric metric;
    cr_assert_eq(rw_dialect_find(ctx, like, &dialect), RW_OK);
    cr_assert_eq(rw_metric_parse(ctx, name, 1, &metric), RW_OK);
    return rw_dialect_eval(ctx, dialect, &metric, gain, dataset, scores, per_query, out);
}

static double mean_of(const char *like, const char *name, const struct rw_dataset *dataset,
                      const double *scores)
{
    struct rw_dialect_value value;
    cr_assert_eq(evaluate(like, name, NULL, dataset, scores, NULL, &value), RW_OK, "%s %s: %s",
                 like, name, rw_last_error(ctx));
    return value.result.mean;
}

/* ------------------------------------------------------------------ output of the programs */

/* The set of a name: tests/golden/dialects/NAME.txt, .scores and perhaps .weights. */
static struct rw_dataset *read_set(const char *name, double **scores)
{
    char path[1024];
    const char *paths[] = {path};
    struct rw_dataset *dataset;
    snprintf(path, sizeof(path), "%s/golden/dialects/%s.txt", RW_TESTS_DIR, name);
    cr_assert_eq(rw_dataset_read(ctx, paths, 1, &dataset), RW_OK, "%s", rw_last_error(ctx));
    *scores = calloc(dataset->n_docs, sizeof(**scores));
    snprintf(path, sizeof(path), "%s/golden/dialects/%s.scores", RW_TESTS_DIR, name);
    cr_assert_eq(rw_dataset_read_scores(ctx, dataset, path, *scores, NULL), RW_OK, "%s",
                 rw_last_error(ctx));
    snprintf(path, sizeof(path), "%s/golden/dialects/%s.weights", RW_TESTS_DIR, name);
    FILE *weights = fopen(path, "r");
    if (weights) {
        fclose(weights);
        cr_assert_eq(rw_dataset_read_side_column(ctx, dataset, "query-weights", path), RW_OK);
    }
    return dataset;
}

Test(dialect, output_of_the_programs, .init = setup, .fini = teardown)
{
    char path[1024], name[64], like[32], metric[32], figure[64], last[64] = "";
    struct rw_dataset *dataset = NULL;
    double *scores = NULL;
    int n = 0, n_programs = 0;
    unsigned seen = 0;
    snprintf(path, sizeof(path), "%s/golden/dialects/expected.tsv", RW_TESTS_DIR);
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    while (fscanf(file, "%63s %31s %31s %63s", name, like, metric, figure) == 4) {
        if (strcmp(name, last) != 0) {
            rw_dataset_free(dataset);
            free(scores);
            dataset = read_set(name, &scores);
            snprintf(last, sizeof(last), "%s", name);
        }
        const double theirs = strtod(figure, NULL), ours = mean_of(like, metric, dataset, scores);
        const double slack = strcmp(like, "gdeval") == 0 ? 6e-6 : 1e-8;
        if (isnan(theirs))
            cr_expect(isnan(ours), "%s %s %s: %g", name, like, metric, ours);
        else
            cr_expect_float_eq(ours, theirs, slack * (theirs > 1 ? theirs : 1),
                               "%s %s %s: ours %.12g, theirs %.12g", name, like, metric, ours,
                               theirs);
        for (int d = 0; rw_dialect_at(d); d++)
            seen |= strcmp(rw_dialect_at(d)->name, like) == 0 ? 1u << d : 0;
        n++;
    }
    fclose(file);
    rw_dataset_free(dataset);
    free(scores);
    while (rw_dialect_at(n_programs))
        n_programs++;
    cr_expect_eq(seen, (1u << n_programs) - 1, "each program has figures");
    cr_expect_gt(n, 1000);
}

/* ------------------------------------------------------------------ by hand */

static const float labels[] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 1};
static const uint32_t offsets[] = {0, 3, 6, 9, 10};
static const double zeros[10];

Test(dialect, the_queries_by_which_they_differ, .init = setup, .fini = teardown)
{
    struct rw_dataset *dataset = make(labels, offsets, 4);
    const struct {
        const char *like;
        double mean;
    } rows[] = {{"lightgbm", 3.5 / 4}, {"xgboost", 3.5 / 4},
                {"xgboost-", 2.5 / 4}, {"catboost", 3.0 / 4},
                {"ranklib", 2.5 / 4},  {"quickrank", 2.5 / 4},
                {"trec", 2.5 / 4},     {"gdeval", 2.5 / 3},
                {"ranx", 2.5 / 4},     {"ydf", (1 + 2 * (1 + 0.63092975357145743 + 0.5) / 3) / 4}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        cr_expect_float_eq(mean_of(rows[i].like, "ndcg@3", dataset, zeros), rows[i].mean, 1e-11,
                           "%s", rows[i].like);
    struct rw_dialect_value value;
    double per_query[4];
    cr_assert_eq(evaluate("lightgbm", "ndcg@3", NULL, dataset, zeros, per_query, &value), RW_OK);
    cr_expect(per_query[0] == 1 && per_query[1] == 0.5 && per_query[2] == 1 && per_query[3] == 1);
    cr_expect_float_eq(value.ties_moved, 0, 1e-12);
    cr_expect_eq(value.result.n_counted, 4u);
    cr_assert_eq(evaluate("gdeval", "ndcg@3", NULL, dataset, zeros, per_query, &value), RW_OK);
    cr_expect(isnan(per_query[2]));
    cr_expect_eq(value.result.n_counted, 3u);
    cr_expect_eq(value.result.n_empty, 1u);
    rw_dataset_free(dataset);
}

/* LightGBM's and XGBoost's empty queries add 1, whatever they weigh; per query they count 1. */
Test(dialect, weights, .init = setup, .fini = teardown)
{
    struct rw_dataset *dataset = make(labels, offsets, 4);
    const double weights[] = {1, 4, 2, 3};
    struct rw_dialect_value value;
    double per_query[4];
    cr_assert_eq(rw_dataset_set_side_column(ctx, dataset, "query-weights", weights, 4, 1), RW_OK);
    cr_assert_eq(evaluate("lightgbm", "ndcg@3", NULL, dataset, zeros, per_query, &value), RW_OK);
    cr_expect_float_eq(value.result.mean, 0.7, 1e-11);
    cr_expect_eq(per_query[2], 1.0);
    cr_expect_eq(value.result.n_empty, 1u);
    cr_expect_float_eq(mean_of("xgboost", "ndcg@3", dataset, zeros), 0.7, 1e-11);
    cr_expect_float_eq(mean_of("xgboost-", "ndcg@3", dataset, zeros), 0.6, 1e-11);
    cr_expect_float_eq(mean_of("lightgbm", "map@3", dataset, zeros), (1 + 4 / 3.0 + 2 + 3) / 10,
                       1e-11);
    cr_expect_float_eq(mean_of("trec", "ndcg@3", dataset, zeros), 2.5 / 4, 1e-11); /* no relevant
                                                                                    * document */
    rw_dataset_free(dataset);
}

Test(dialect, scores_as_float, .init = setup, .fini = teardown)
{
    const float two[] = {0, 1};
    const uint32_t one[] = {0, 2};
    struct rw_dataset *dataset = make(two, one, 1);
    const double close[] = {1, 1 + 1e-9}, huge[] = {1e300, 2e300};
    const double *const scores[] = {close, huge};
    for (int i = 0; i < 2; i++) {
        cr_expect_eq(mean_of("lightgbm", "map@1", dataset, scores[i]), 1.0);
        cr_expect_eq(mean_of("xgboost", "map@1", dataset, scores[i]), 0.0);
    }
    rw_dataset_free(dataset);
}

Test(dialect, refusals, .init = setup, .fini = teardown)
{
    const float odd[] = {0.5f, 0, 5, 0, 31, 0};
    const uint32_t pair[] = {0, 2};
    const struct {
        int label;
        const char *like, *metric, *gain, *says;
        int status;
    } cases[] = {
        {0, "lightgbm", "ndcg@3", NULL,
         "document 1: label 0.5: for 'ndcg' LightGBM takes whole labels, 0 to 30", RW_ERR_DATA},
        {0, "catboost", "ndcg", NULL, "", RW_OK},
        {2, "gdeval", "ndcg@3", NULL, "label 5: for 'ndcg' gdeval.pl takes whole labels, 0 to 4",
         RW_ERR_DATA},
        {2, "xgboost", "map", NULL, "label 5: for 'map' XGBoost takes whole labels, 0 to 1",
         RW_ERR_DATA},
        {2, "xgboost", "map", "linear", "label 5: for 'map' XGBoost takes whole labels, 0 to 1",
         RW_ERR_DATA},
        {4, "lightgbm", "ndcg@3", NULL, "label 31", RW_ERR_DATA},
        {4, "lightgbm", "ndcg@3", "linear", "", RW_OK},
        {4, "xgboost", "ndcg@3", NULL, "", RW_OK},
        {4, "trec", "ndcg", "exp", "trec_eval does not support this gain", RW_ERR_ARGUMENT},
        {4, "lightgbm", "ndcg", NULL,
         "LightGBM has no metric 'ndcg'\nhint: its metrics are ndcg@k map@k", RW_ERR_ARGUMENT},
        {4, "trec", "mrr@3", NULL, "trec_eval has no metric 'mrr@3'", RW_ERR_ARGUMENT},
        {4, "ydf", "recall@3", NULL, "YDF has no metric 'recall@3'", RW_ERR_ARGUMENT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_dataset *dataset = make(odd + cases[i].label, pair, 1);
        struct rw_dialect_value value;
        const int status =
            evaluate(cases[i].like, cases[i].metric, cases[i].gain, dataset, zeros, NULL, &value);
        cr_expect_eq(status, cases[i].status, "%zu: %d", i, status);
        if (cases[i].status < 0)
            cr_expect(strstr(rw_last_error(ctx), cases[i].says), "%zu: %s", i, rw_last_error(ctx));
        rw_dataset_free(dataset);
    }
    const struct rw_dialect *none;
    cr_expect_eq(rw_dialect_find(ctx, "lightgmb", &none), RW_ERR_ARGUMENT);
    cr_expect(strstr(rw_last_error(ctx), "did you mean 'lightgbm'?"));
    cr_assert_null(none);
}

Test(dialect, conventions, .init = setup, .fini = teardown)
{
    const struct {
        const char *like, *metric, *says;
        int weighted;
    } cases[] = {
        {"xgboost-", "ndcg@5",
         "ndcg@5-: gain 2^l - 1, queries without a relevant document count 0, ties in input order, "
         "scores as float",
         1},
        {"xgboost", "ndcg", "ndcg: cut at 32, gain", 0},
        {"lightgbm", "ndcg@5", "count 1, empty ones with weight 1, ties", 1},
        {"catboost", "map@7",
         "MAP:top=7: queries without a relevant document count 0, weights ignored, ties less "
         "relevant first",
         1},
        {"trec", "map", "map: over all relevant documents, queries", 0},
        {"trec", "ndcg@5", ", ties by falling id (QID-1, QID-2, ...)", 0},
        {"trec", "map@5", "map_cut.5: over", 0},
        {"trec", "mrr", "recip_rank: queries", 0},
        {"ydf", "mrr@2",
         "mrr@2: queries without a relevant document count 0, ties more relevant first, scores as "
         "float",
         0},
    };
    struct rw_dataset *plain = make(labels, offsets, 4), *weighted = make(labels, offsets, 4);
    const double weights[] = {1, 4, 2, 3};
    cr_assert_eq(rw_dataset_set_side_column(ctx, weighted, "query-weights", weights, 4, 1), RW_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct rw_dialect *dialect;
        const struct rw_dialect_metric *row;
        struct rw_metric metric;
        char line[256];
        cr_assert_eq(rw_dialect_find(ctx, cases[i].like, &dialect), RW_OK);
        cr_assert_eq(rw_metric_parse(ctx, cases[i].metric, 1, &metric), RW_OK);
        cr_assert_eq(rw_dialect_metric_find(ctx, dialect, &metric, &row), RW_OK);
        rw_dialect_conventions(dialect, row, NULL, metric.at, cases[i].weighted ? weighted : plain,
                               line, sizeof(line));
        cr_expect(strstr(line, cases[i].says), "%zu: %s", i, line);
    }
    rw_dataset_free(plain);
    rw_dataset_free(weighted);
}

Test(dialect, every_allocation_may_fail, .init = setup, .fini = teardown)
{
    struct rw_dataset *dataset = make(labels, offsets, 4);
    const double weights[] = {1, 4, 2, 3};
    cr_assert_eq(rw_dataset_set_side_column(ctx, dataset, "query-weights", weights, 4, 1), RW_OK);
    static const char *const likes[] = {"lightgbm", "trec", "catboost"};
    for (int i = 0; i < 3; i++) {
        for (long n = 1;; n++) {
            struct rw_dialect_value value;
            rw_mem_fail_from(n);
            const int status = evaluate(likes[i], "ndcg@3", NULL, dataset, zeros, NULL, &value);
            rw_mem_fail_from(0);
            if (status == RW_OK) {
                cr_assert_geq(n, 10);
                break;
            }
            cr_assert_eq(status, RW_ERR_MEMORY);
        }
    }
    rw_dataset_free(dataset);
}
