#include "model_fixture.h"

enum { N_DOCS = 5000, N_FEATURES = 20, N_TREES = 23, SEED = 7 };

static struct rw_ctx *ctx;

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(predict, .init = setup, .fini = teardown);

/* A document's values by feature id, as a model reads them. */
static void values_of(const struct rw_model *model, uint32_t doc, uint32_t n_columns, float *values)
{
    const float absent = model->absent_missing ? NAN : 0.0f;
    for (uint32_t i = 0; i < 2 * n_columns; i++)
        values[i] = absent;
    for (uint32_t i = 0; i < n_columns; i++) {
        const float value = fixture_value(SEED, doc, i);
        values[2 * i + 1] = rw_is_absent(value) ? absent : value;
    }
}

static void compare_with_one(int absent_missing, uint32_t n_columns)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, 31, N_FEATURES, 3);
    model->absent_missing = absent_missing;
    static double scores[2][N_DOCS];
    static int32_t leaves[2][N_DOCS * N_TREES];
    for (int sparse = 0; sparse < 2; sparse++) {
        struct rw_dataset *data = fixture_dataset(ctx, N_DOCS, n_columns, sparse, SEED);
        cr_assert_eq(rw_predict(ctx, model, data, 0, scores[sparse]), RW_OK);
        cr_assert_eq(rw_predict_leaves(ctx, model, data, 0, leaves[sparse]), RW_OK);
        rw_dataset_free(data);
    }
    cr_assert_eq(memcmp(scores[0], scores[1], sizeof(scores[0])), 0, "dense and sparse differ");
    cr_assert_eq(memcmp(leaves[0], leaves[1], sizeof(leaves[0])), 0, "dense and sparse differ");
    for (uint32_t doc = 0; doc < N_DOCS; doc++) {
        float values[2 * N_FEATURES + 4];
        values_of(model, doc, n_columns, values);
        cr_assert_eq(rw_predict_one(model, values, 2 * n_columns), scores[0][doc], "document %u",
                     doc);
        double sum = 0.0;
        for (int i = 0; i < N_TREES; i++) {
            const int32_t leaf = leaves[0][doc * N_TREES + (uint32_t)i];
            cr_assert(leaf >= 0 && leaf < model->tree[i].n_leaves);
            sum += (double)model->tree[i].leaf[leaf];
        }
        cr_assert_eq(sum, scores[0][doc]);
    }
    rw_model_free(model);
}

Test(predict, equals_predict_one)
{
    compare_with_one(0, N_FEATURES);
}

Test(predict, equals_predict_one_when_absent_is_missing)
{
    compare_with_one(1, N_FEATURES);
}

Test(predict, features_that_the_data_lacks_are_absent)
{
    compare_with_one(0, N_FEATURES / 2);
    compare_with_one(1, N_FEATURES / 2);
}

Test(predict, features_that_the_model_does_not_know_do_not_matter)
{
    compare_with_one(0, N_FEATURES + 2);
}

Test(predict, any_number_of_threads)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, 31, N_FEATURES, 3);
    struct rw_dataset *data = fixture_dataset(ctx, N_DOCS, N_FEATURES, 1, SEED);
    static double scores[3][N_DOCS];
    const int n_threads[3] = {1, 2, 7};
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(rw_ctx_set_threads(ctx, n_threads[i]), RW_OK);
        cr_assert_eq(rw_predict(ctx, model, data, 0, scores[i]), RW_OK);
        cr_assert_eq(memcmp(scores[0], scores[i], sizeof(scores[0])), 0);
    }
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(predict, first_trees)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, 8, N_FEATURES, 3);
    struct rw_dataset *data = fixture_dataset(ctx, 40, N_FEATURES, 0, SEED);
    double scores[40];
    int32_t leaves[40 * 2];
    for (int n_trees = 1; n_trees <= N_TREES; n_trees++) {
        struct rw_model some = *model;
        some.n_trees = n_trees;
        cr_assert_eq(rw_predict(ctx, model, data, n_trees, scores), RW_OK);
        for (uint32_t doc = 0; doc < 40; doc++) {
            float values[2 * N_FEATURES];
            values_of(model, doc, N_FEATURES, values);
            cr_assert_eq(rw_predict_one(&some, values, 2 * N_FEATURES), scores[doc]);
        }
    }
    cr_assert_eq(rw_predict_leaves(ctx, model, data, 2, leaves), RW_OK);
    cr_assert_eq(rw_predict(ctx, model, data, 2, scores), RW_OK);
    for (uint32_t doc = 0; doc < 40; doc++)
        cr_assert_eq(scores[doc], (double)model->tree[0].leaf[leaves[2 * doc]] +
                                      (double)model->tree[1].leaf[leaves[2 * doc + 1]]);
    cr_assert_eq(rw_predict(ctx, model, data, N_TREES + 1, scores), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "24 trees requested; the model has 23");
    cr_assert_eq(rw_predict_leaves(ctx, model, data, -1, leaves), RW_ERR_ARGUMENT);
    rw_dataset_free(data);
    rw_model_free(model);
}

/* The last training of a model had this number of bags. The text may be any. */
static void set_bags(struct rw_model *model, char *text)
{
    static struct rw_run_param param = {.name = "bags"};
    param.value = text;
    model->params.param = &param;
    model->params.n = 1;
}

/* A bag has each third tree. Its scores are multiplied by 3, so their mean is the model's score. */
Test(predict, bags)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, 8, N_FEATURES, 3);
    struct rw_dataset *data = fixture_dataset(ctx, 40, N_FEATURES, 0, SEED);
    static double scores[3][40];
    struct rw_model some = *model;
    set_bags(&some, "3");
    some.n_trees = 21;
    cr_assert_eq(rw_model_n_bags(&some), 3);
    cr_assert_eq(rw_predict_bags(ctx, &some, data, scores[0]), RW_OK);
    for (int bag = 0; bag < 3; bag++) {
        struct rw_tree trees[7];
        struct rw_model own = *model;
        own.tree = trees;
        own.n_trees = 7;
        for (int round = 0; round < 7; round++)
            trees[round] = model->tree[3 * round + bag];
        for (uint32_t doc = 0; doc < 40; doc++) {
            float values[2 * N_FEATURES];
            values_of(model, doc, N_FEATURES, values);
            cr_assert_eq(scores[bag][doc], 3 * rw_predict_one(&own, values, 2 * N_FEATURES));
        }
    }
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(predict, models_without_whole_bags)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, 8, N_FEATURES, 3);
    struct rw_dataset *data = fixture_dataset(ctx, 40, N_FEATURES, 0, SEED);
    static double scores[64 * 40];
    static const struct {
        char *bags, *message;
    } cases[] = {
        {"1", "the model has one bag, which shows no spread\nhint: train with bags=4"},
        {"-7", "the model has one bag, which shows no spread\nhint: train with bags=4"},
        {"65", "the model has one bag, which shows no spread\nhint: train with bags=4"},
        {"x", "the model has one bag, which shows no spread\nhint: train with bags=4"},
        {"64", "the model has 23 trees, which are not whole rounds of 64 bags"},
        {"3", "the model has 23 trees, which are not whole rounds of 3 bags"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_model some = *model;
        set_bags(&some, cases[i].bags);
        cr_assert_eq(rw_predict_bags(ctx, &some, data, scores), RW_ERR_ARGUMENT, "%s",
                     cases[i].bags);
        cr_assert_str_eq(rw_last_error(ctx), cases[i].message);
    }
    struct rw_model some = *model;
    some.n_trees = 21;
    some.n_earlier = 1;
    some.earlier = &(struct rw_model_run){.n_trees = 6};
    set_bags(&some, "3");
    cr_assert_eq(rw_predict_bags(ctx, &some, data, scores), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "training 1 of the model has bags 1 and the last one has "
                                         "3, so it cannot be scored bag by bag");
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(predict, blocks_of_every_size)
{
    struct rw_model *model = fixture_random_model(ctx, 3, 8, 1, 3);
    static const uint32_t sizes[] = {0, 1, 2, 1023, 1024, 1025, 2049};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct rw_dataset *data = fixture_dataset(ctx, sizes[i], 1, 0, SEED);
        double scores[2050];
        for (uint32_t doc = 0; doc < 2050; doc++)
            scores[doc] = 77.0;
        cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
        for (uint32_t doc = 0; doc < 2050; doc++)
            cr_assert_eq(scores[doc] == 77.0, doc >= sizes[i], "document %u of %u", doc, sizes[i]);
        rw_dataset_free(data);
    }
    rw_model_free(model);
}

Test(predict, no_trees_and_trees_of_one_leaf)
{
    struct rw_model *model = fixture_random_model(ctx, 0, 1, 1, 3);
    struct rw_dataset *data = fixture_dataset(ctx, 3, 1, 0, SEED);
    double scores[3] = {5, 5, 5};
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    cr_assert(scores[0] == 0 && scores[1] == 0 && scores[2] == 0);
    rw_model_free(model);
    model = fixture_random_model(ctx, 2, 1, 1, 3);
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    cr_assert_eq(scores[2], (double)model->tree[0].leaf[0] + (double)model->tree[1].leaf[0]);
    rw_model_free(model);
    rw_dataset_free(data);
}

Test(predict, every_feature_id_in_use)
{
    struct rw_model *model = fixture_random_model(ctx, 1, 65537, 32768, 3);
    for (int32_t i = 0; i < 65536; i++)
        model->tree[0].feature[i] = (uint32_t)i;
    struct rw_dataset *data = fixture_dataset(ctx, 40, 500, 1, SEED);
    double scores[40];
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    for (uint32_t doc = 0; doc < 40; doc++) {
        float values[1000];
        values_of(model, doc, 500, values);
        cr_assert_eq(rw_predict_one(model, values, 1000), scores[doc]);
    }
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(predict, failed_allocations_leave_nothing)
{
    struct rw_model *model = fixture_random_model(ctx, 3, 8, 4, 3);
    struct rw_dataset *data = fixture_dataset(ctx, 10, 4, 0, SEED);
    double scores[10];
    int status = RW_ERR_MEMORY;
    for (int i = 1; status != RW_OK; i++) {
        cr_assert_lt(i, 20);
        rw_mem_fail_from(i);
        status = rw_predict(ctx, model, data, 0, scores);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY);
    }
    rw_mem_fail_from(0);
    rw_dataset_free(data);
    rw_model_free(model);
}
