/* Refusals of a format are reported before the first round, and only those. */
#include "convert_fixture.h"
#include "scratch_file.h"

TestSuite(for_training, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

/* 40 documents of features 1 and 2; `odd`: a value of feature 2, or nothing. */
static struct rw_binned *trained_on(const char *odd, struct rw_params **params)
{
    FILE *file = fopen("data", "w");
    const char *path = "data";
    struct rw_binned *out;
    cr_assert_not_null(file);
    for (int i = 0; i < 40; i++)
        fprintf(file, "%d qid:%d 1:%d 2:%s\n", i % 3, i / 10, i % 7,
                i % 2 ? (i % 4 == 1 ? "5" : "6") : odd);
    cr_assert_eq(fclose(file), 0);
    cr_assert_eq(rw_params_new(scratch_ctx, params), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, *params, "min-docs", "1"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, *params, "rounds", "5"), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, *params, "leaves", "4"), RW_OK);
    cr_assert_eq(rw_binned_read(scratch_ctx, *params, NULL, &path, 1, &out), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return out;
}

/* expected: the message; NULL: none, and the model is exported, too. */
static void check(const char *format, const char *odd, const struct rw_model *init,
                  const char *expected)
{
    struct rw_params *params;
    struct rw_binned *data = trained_on(odd, &params);
    struct rw_exchange how = convert_exchange(format, 0);
    const int status = rw_exchange_check(scratch_ctx, &how, params, data, init);
    if (expected) {
        cr_assert_eq(status, RW_ERR_UNSUPPORTED, "%s: %s", format, odd);
        cr_expect_str_eq(rw_last_error(scratch_ctx), expected, "%s", rw_last_error(scratch_ctx));
    } else {
        struct rw_model *model;
        cr_assert_eq(status, RW_OK, "%s, %s: %s", format, odd, rw_last_error(scratch_ctx));
        cr_assert_eq(
            rw_train_on(scratch_ctx, params, &(struct rw_training){.binned = data}, &model), RW_OK);
        cr_assert_gt(model->n_trees, 0);
        cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        rw_model_free(model);
    }
    rw_binned_free(data);
    rw_params_free(params);
}

Test(for_training, every_format_takes_plain_data)
{
    struct rw_model_format_info info;
    for (int i = 0; rw_model_format_at(i, &info); i++)
        check(info.name, "3", NULL, NULL);
}

Test(for_training, formats_that_know_missing_values)
{
    const char *const formats[] = {"lightgbm", "xgboost", "catboost", "onnx", "opensearch"};
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        check(formats[i], "nan", NULL, NULL);
}

Test(for_training, refused)
{
    check(
        "ranklib", "nan", NULL,
        "feature 2: a missing value may go right, but 0 the other way; 'ranklib' cannot represent "
        "this\nhint: train without --for, and export with --lossy drops such directions");
    check("solr", "-7", NULL,
          "feature 2: 'solr' cannot represent the threshold -1\n"
          "hint: train without --for, and export with --lossy uses the nearest");
}

Test(for_training, a_model_to_go_on_from)
{
    struct rw_model *init = fixture_model(
        scratch_ctx,
        "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 2\n1-2\n\n"
        "names 0\n\nmetrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 2\n"
        "node 0 feature 2 <= 0.5 left leaf 0 right leaf 1 missing right gain 1\n"
        "leaf 0 -1\nleaf 1 2\n\n");
    check(
        "ranklib", "3", init,
        "tree 1, node 0: a missing value goes right, but 0 the other way; 'ranklib' cannot "
        "represent this\nhint: train without --for, and export with --lossy drops such directions");
    rw_model_free(init);
}

/* Features that training leaves out need no place in the set, nor a direction. */
Test(for_training, ignored_features)
{
    struct rw_params *params;
    struct rw_binned *data = trained_on("nan", &params);
    const struct rw_exchange how = {.format = "ranklib"};
    cr_assert_eq(rw_params_set(scratch_ctx, params, "ignore", "2"), RW_OK);
    cr_assert_eq(rw_exchange_check(scratch_ctx, &how, params, data, NULL), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_binned_free(data);
    rw_params_free(params);
}

Test(for_training, features_of_a_set)
{
    struct rw_params *params;
    struct rw_binned *data = trained_on("3", &params);
    const struct rw_exchange how = {.format = "opensearch", .featureset = "small"};
    scratch_text("small", "{\"features\":[{\"name\":\"a\"}]}");
    cr_assert_eq(rw_exchange_check(scratch_ctx, &how, params, data, NULL), RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "feature 2 is not in the feature set 'small', which has features 1 to 1");
    scratch_text("names", "1 b\n2 a\n");
    cr_assert_eq(rw_params_set(scratch_ctx, params, "names", "names"), RW_OK);
    cr_assert_eq(rw_exchange_check(scratch_ctx, &how, params, data, NULL), RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "feature 1, 'b', is not in the feature set 'small'");
    rw_binned_free(data);
    rw_params_free(params);
}

/* Memory runs out anywhere. */
Test(for_training, out_of_memory)
{
    struct rw_params *params;
    struct rw_binned *data = trained_on("3", &params);
    const struct rw_exchange how = convert_exchange("opensearch", 0);
    long n = 1;
    for (int status = RW_ERR_MEMORY; status != RW_OK; n++) {
        rw_mem_fail_from(n);
        status = rw_exchange_check(scratch_ctx, &how, params, data, NULL);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY, "allocation %ld: %s", n,
                  rw_last_error(scratch_ctx));
    }
    cr_assert_gt(n, 20);
    rw_binned_free(data);
    rw_params_free(params);
}
