#include <math.h>

#include "base/mem.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *data;
static struct rw_model *model;

static void begin(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    data = fixture_data(ctx, 1, 60, 12, 5);
    cr_assert_eq(rw_params_set(ctx, params, "rounds", "10"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "leaves", "6"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "ignore", "5"), RW_OK);
    cr_assert_eq(rw_train(ctx, params, data, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
}

static void end(void)
{
    rw_model_free(model);
    rw_dataset_free(data);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

TestSuite(permutation, .init = begin, .fini = end, .timeout = 60);

static int permuted(int repeats, double *value, struct rw_permuted *out)
{
    return rw_permutation_importance(ctx, rw_params_eval(params), model, 0, data, repeats, value,
                                     out, 8);
}

Test(permutation, important_features_lose_most)
{
    struct rw_permuted of[8];
    double value, scores[720];
    struct rw_eval *eval;
    const int n = permuted(5, &value, of);
    cr_assert(n >= 3 && n <= 4); /* feature 5 is ignored */
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), data, scores, &eval), RW_OK);
    cr_assert_eq(value, eval->metrics[0].mean);
    rw_free(eval);
    cr_assert_eq(of[0].feature, 1); /* follows the label most */
    cr_assert_gt(of[0].loss, 0.02);
    for (int i = 1; i < n; i++)
        cr_assert(of[i].feature > of[i - 1].feature && of[i].loss < of[0].loss);
    cr_assert(of[0].deviation > 0.0 && of[0].deviation < of[0].loss);
}

/* The data with the values of one feature permuted, by the draws of the first repeat. */
static struct rw_dataset *dealt_by_hand(uint32_t feature)
{
    enum { DOCS = 720, FEATURES = 5 };
    float *values = calloc((size_t)DOCS * FEATURES, sizeof(*values)), column[DOCS];
    struct rw_dataset *dealt;
    for (uint32_t f = 1; f <= FEATURES; f++) {
        rw_dataset_feature(data, f, 0.0f, column);
        for (uint32_t k = DOCS; f == feature && k-- > 1;) {
            const struct rw_philox random = rw_random4(1, k, feature, RW_STREAM_PERMUTE);
            const uint64_t word = (uint64_t)random.word[0] << 32 | random.word[1];
            const uint32_t other = (uint32_t)((double)word * 0x1p-64 * (k + 1));
            const float kept = column[k];
            column[k] = column[other];
            column[other] = kept;
        }
        for (uint32_t d = 0; d < DOCS; d++)
            values[(size_t)d * FEATURES + f - 1] = column[d];
    }
    cr_assert_eq(rw_dataset_from_memory(ctx, values, rw_dataset_labels(data),
                                        rw_dataset_query_offsets(data), DOCS, FEATURES, 60, 1,
                                        &dealt),
                 RW_OK);
    free(values);
    return dealt;
}

static double metric_of(const struct rw_dataset *dataset)
{
    double scores[720];
    struct rw_eval *eval;
    cr_assert_eq(rw_predict(ctx, model, dataset, 0, scores), RW_OK);
    cr_assert_eq(rw_evaluate(ctx, rw_params_eval(params), dataset, scores, &eval), RW_OK);
    const double value = eval->metrics[0].mean;
    rw_free(eval);
    return value;
}

/* By hand: the same draws, and the metric of a data set made of the dealt values. */
Test(permutation, is_a_permutation_of_all_documents)
{
    double value;
    struct rw_permuted of[8];
    struct rw_dataset *dealt = dealt_by_hand(2);
    cr_assert_geq(permuted(1, &value, of), 2);
    cr_assert_eq(of[1].feature, 2);
    cr_assert(isnan(of[1].deviation));
    cr_assert_neq(of[1].loss, 0.0);
    cr_assert_eq(of[1].loss, value - metric_of(dealt));
    rw_dataset_free(dealt);
}

/* Of two repeats, by hand: the loss of the first is known from a run of one. */
Test(permutation, mean_and_deviation_of_the_repeats)
{
    double value;
    struct rw_permuted one[8], two[8];
    const int n = permuted(1, &value, one);
    cr_assert_eq(permuted(2, &value, two), n);
    for (int i = 0; i < n; i++) {
        const double first = one[i].loss, second = 2 * two[i].loss - first;
        cr_expect_float_eq(two[i].deviation, fabs(first - second) / sqrt(2), 1e-14);
    }
    cr_expect_gt(two[0].deviation, 0);
}

/* Positive: the feature helps, whether the metric should rise or fall. For a falling metric, the
 * loss is its increase. */
Test(permutation, loss_of_metrics_that_fall)
{
    static const char *const metrics[] = {"rmse", "logloss"};
    rw_model_free(model);
    cr_assert_eq(rw_params_set(ctx, params, "objective", "regression"), RW_OK);
    cr_assert_eq(rw_train(ctx, params, data, NULL, 0, NULL, &model), RW_OK);
    struct rw_dataset *dealt[] = {dealt_by_hand(1), dealt_by_hand(2)};
    for (int m = 0; m < 2; m++) {
        double value;
        struct rw_permuted of[8];
        cr_assert_eq(rw_params_set(ctx, params, "metric", metrics[m]), RW_OK);
        cr_assert_geq(permuted(1, &value, of), 2);
        cr_assert_eq(value, metric_of(data));
        for (int i = 0; i < 2; i++) {
            cr_expect_eq(of[i].feature, (uint32_t)i + 1);
            cr_expect_eq(of[i].loss, metric_of(dealt[i]) - value, "%s", metrics[m]);
        }
        cr_expect_gt(of[0].loss, 0.02, "%s: %g", metrics[m], of[0].loss);
        cr_expect_gt(of[0].loss, of[1].loss);
        cr_assert_geq(permuted(5, &value, of), 2);
        cr_expect(of[0].loss > 0.02 && of[0].deviation > 0 && of[0].deviation < of[0].loss);
    }
    rw_dataset_free(dealt[0]);
    rw_dataset_free(dealt[1]);
}

Test(permutation, the_same_for_any_threads_and_by_the_seed)
{
    struct rw_permuted one[8], other[8];
    double value;
    rw_ctx_set_threads(ctx, 1);
    const int n = permuted(3, &value, one);
    rw_ctx_set_threads(ctx, 4);
    cr_assert_eq(permuted(3, &value, other), n);
    for (int i = 0; i < n; i++)
        cr_assert(one[i].loss == other[i].loss && one[i].deviation == other[i].deviation);
    cr_assert_eq(rw_params_set(ctx, params, "seed", "2"), RW_OK);
    permuted(3, &value, other);
    cr_assert_neq(one[0].loss, other[0].loss);
    cr_assert_eq(
        rw_permutation_importance(ctx, rw_params_eval(params), model, 0, data, 1, &value, other, 1),
        n);
}

/* The data's values of a feature become whole numbers. */
static void whole_numbers(uint32_t feature)
{
    enum { DOCS = 720, FEATURES = 5 };
    float *values = calloc((size_t)DOCS * FEATURES, sizeof(*values)), column[DOCS];
    struct rw_dataset *whole;
    for (uint32_t f = 1; f <= FEATURES; f++) {
        rw_dataset_feature(data, f, 0.0f, column);
        for (uint32_t d = 0; d < DOCS; d++)
            values[(size_t)d * FEATURES + f - 1] = f == feature ? floorf(3 * column[d]) : column[d];
    }
    cr_assert_eq(rw_dataset_from_memory(ctx, values, rw_dataset_labels(data),
                                        rw_dataset_query_offsets(data), DOCS, FEATURES, 60, 1,
                                        &whole),
                 RW_OK);
    free(values);
    rw_dataset_free(data);
    data = whole;
}

static int note_total(void *user, const struct rw_progress *progress)
{
    if (progress->stage)
        *(uint64_t *)user = progress->total;
    return 0;
}

/* A feature that is split by several sets of its categories is permuted once, as a whole. */
Test(permutation, a_feature_by_categories_is_one)
{
    double value;
    struct rw_permuted of[8], alone[8];
    whole_numbers(1);
    rw_model_free(model);
    cr_assert_eq(rw_params_set(ctx, params, "categorical", "1"), RW_OK);
    cr_assert_eq(rw_train(ctx, params, data, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    struct rw_dataset *dealt[] = {dealt_by_hand(1), dealt_by_hand(2)};
    struct rw_feature_use uses[8];
    const int n = rw_model_features(model, uses, 8);
    cr_assert(n >= 3 && n <= 4);
    cr_assert_eq(permuted(1, &value, of), n);
    for (int i = 0; i < n; i++) {
        cr_expect_eq(of[i].feature, (uint32_t)i + 1);
        if (i < 2)
            cr_expect_eq(of[i].loss, value - metric_of(dealt[i]));
    }
    cr_expect_eq(
        rw_permutation_importance(ctx, rw_params_eval(params), model, 0, data, 1, &value, alone, 1),
        n);
    cr_expect_eq(alone[0].loss, of[0].loss);
    uint64_t total = 0;
    rw_ctx_set_poll(ctx, note_total, &total);
    cr_assert_eq(permuted(1000, &value, of), n);
    rw_ctx_set_poll(ctx, NULL, NULL);
    cr_expect(total == 0 || total == (uint64_t)n * 1000); /* 0: a very fast machine */
    rw_dataset_free(dealt[0]);
    rw_dataset_free(dealt[1]);
}

Test(permutation, where_nothing_counts)
{
    struct rw_permuted of[8];
    double value;
    cr_assert_eq(rw_params_set(ctx, params, "metric", "map"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "relevant", "9"), RW_OK);
    cr_assert_gt(permuted(2, &value, of), 0);
    cr_assert(isnan(value) && isnan(of[0].loss));
}

Test(permutation, refuses)
{
    struct rw_permuted of[8];
    double value;
    cr_assert_eq(permuted(0, &value, of), RW_ERR_ARGUMENT);
    cr_assert_eq(permuted(1001, &value, of), RW_ERR_ARGUMENT);
    long n = 0;
    int status = RW_ERR_MEMORY;
    rw_ctx_set_threads(ctx, 1);
    while (status < 0 && ++n < 200) {
        rw_mem_fail_from(n);
        status = permuted(1, &value, of);
        rw_mem_fail_from(0);
        cr_assert(status >= 0 || status == RW_ERR_MEMORY);
    }
    cr_assert(n > 5 && status >= 0);
}
