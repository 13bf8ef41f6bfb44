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
    return rw_permutation_importance(ctx, params, model, 0, data, repeats, value, out, 8);
}

Test(permutation, what_matters_loses_most)
{
    struct rw_permuted of[8];
    double value, scores[720];
    struct rw_eval *eval;
    const int n = permuted(5, &value, of);
    cr_assert(n >= 3 && n <= 4); /* feature 5 is ignored */
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    cr_assert_eq(rw_evaluate(ctx, params, data, scores, &eval), RW_OK);
    cr_assert_eq(value, eval->metrics[0].mean);
    rw_eval_free(eval);
    cr_assert_eq(of[0].feature, 1); /* follows the label most */
    cr_assert_gt(of[0].loss, 0.02);
    for (int i = 1; i < n; i++)
        cr_assert(of[i].feature > of[i - 1].feature && of[i].loss < of[0].loss);
    cr_assert(of[0].deviation > 0.0 && of[0].deviation < of[0].loss);
}

/* By hand: the same draws, and the metric of a data set made of the dealt values. */
Test(permutation, is_a_permutation_of_all_documents)
{
    const uint32_t n_docs = 720;
    float *values = calloc((size_t)n_docs * 5, sizeof(*values)), *column = calloc(n_docs, 4);
    double value, scores[720];
    struct rw_permuted of[8];
    struct rw_dataset *dealt;
    struct rw_eval *eval;
    for (uint32_t f = 1; f <= 5; f++) {
        rw_dataset_feature(data, f, 0.0f, column);
        for (uint32_t k = n_docs; f == 2 && k-- > 1;) {
            const struct rw_philox random = rw_random4(1, k, 2, RW_STREAM_PERMUTE);
            const uint64_t word = (uint64_t)random.word[0] << 32 | random.word[1];
            const uint32_t other = (uint32_t)((double)word * 0x1p-64 * (k + 1));
            const float kept = column[k];
            column[k] = column[other];
            column[other] = kept;
        }
        for (uint32_t d = 0; d < n_docs; d++)
            values[(size_t)d * 5 + f - 1] = column[d];
    }
    cr_assert_eq(rw_dataset_from_memory(ctx, values, rw_dataset_labels(data),
                                        rw_dataset_query_offsets(data), n_docs, 5, 60, 1, &dealt),
                 RW_OK);
    cr_assert_geq(permuted(1, &value, of), 2);
    cr_assert_eq(of[1].feature, 2);
    cr_assert(isnan(of[1].deviation));
    cr_assert_eq(rw_predict(ctx, model, dealt, 0, scores), RW_OK);
    cr_assert_eq(rw_evaluate(ctx, params, dealt, scores, &eval), RW_OK);
    cr_assert_neq(of[1].loss, 0.0);
    cr_assert_eq(of[1].loss, value - eval->metrics[0].mean);
    rw_eval_free(eval);
    rw_dataset_free(dealt);
    free(values);
    free(column);
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
    cr_assert_eq(rw_permutation_importance(ctx, params, model, 0, data, 1, &value, other, 1), n);
}

Test(permutation, of_a_metric_that_should_be_low_and_of_none)
{
    struct rw_permuted of[8];
    double value;
    cr_assert_eq(rw_params_set(ctx, params, "metric", "rmse"), RW_OK);
    cr_assert_gt(permuted(2, &value, of), 0);
    cr_assert(value > 0.0);
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
