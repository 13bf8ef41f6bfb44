#include "model_fixture.h"

enum { N_DOCS = 5000, N_FEATURES = 6, N_TREES = 3, MANY_TREES = 1000 };

static struct rw_ctx *ctx;

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(score_lines, .init = setup, .fini = teardown, .timeout = 60);

static const uint32_t numbers_of_docs[] = {0, 1, 2, 2047, 2048, 2049, 4096, N_DOCS};

Test(score_lines, numbers)
{
    static double values[N_DOCS];
    char line[RW_EXACT_ROOM + 1], expected[RW_EXACT_ROOM];
    for (uint32_t i = 0; i < N_DOCS; i++)
        values[i] = ((double)fixture_below(1, i, 1000000) - 5e5) / 3;
    for (size_t k = 0; k < sizeof(numbers_of_docs) / sizeof(*numbers_of_docs); k++) {
        struct rw_out_file out = {.file = tmpfile()};
        const struct rw_dataset data = {.n_docs = numbers_of_docs[k]};
        rw_ctx_set_threads(ctx, 1 + (int)k % 4);
        cr_assert_eq(rw_score_lines(ctx, NULL, &data, 0, values, &out), RW_OK);
        rewind(out.file);
        for (uint32_t i = 0; i < numbers_of_docs[k]; i++) {
            const int length = rw_exact_text(values[i], expected);
            cr_assert_not_null(fgets(line, sizeof(line), out.file));
            cr_assert_eq(line[length], '\n');
            line[length] = 0;
            cr_assert_str_eq(line, expected);
            cr_assert_eq(strtod(line, NULL), values[i]);
        }
        cr_assert_eq(fgetc(out.file), EOF);
        fclose(out.file);
    }
}

static void assert_leaves(const struct rw_model *model, uint32_t n_docs, int n_trees)
{
    struct rw_dataset *data = fixture_dataset(ctx, n_docs, N_FEATURES, 0, 7);
    int32_t *leaves = malloc((size_t)n_docs * (size_t)n_trees * sizeof(*leaves));
    struct rw_out_file out = {.file = tmpfile()};
    cr_assert_eq(rw_predict_leaves(ctx, model, data, n_trees, leaves), RW_OK);
    cr_assert_eq(rw_score_lines(ctx, model, data, n_trees, NULL, &out), RW_OK);
    rewind(out.file);
    for (size_t i = 0; i < (size_t)n_docs * (size_t)n_trees; i++) {
        int leaf;
        cr_assert_eq(fscanf(out.file, "%d", &leaf), 1);
        cr_assert_eq(leaf, leaves[i]);
        cr_assert_eq(fgetc(out.file), (i + 1) % (size_t)n_trees ? ' ' : '\n');
    }
    cr_assert_eq(fgetc(out.file), EOF);
    fclose(out.file);
    free(leaves);
    rw_dataset_free(data);
}

Test(score_lines, leaves)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, 31, N_FEATURES, 3);
    for (size_t k = 1; k < sizeof(numbers_of_docs) / sizeof(*numbers_of_docs); k++) {
        rw_ctx_set_threads(ctx, 1 + (int)k % 4);
        assert_leaves(model, numbers_of_docs[k], N_TREES);
    }
    assert_leaves(model, N_DOCS, 1);
    rw_model_free(model);
}

/* A block of documents has 4,191 of them. */
Test(score_lines, leaves_of_several_blocks)
{
    struct rw_model *model = fixture_random_model(ctx, MANY_TREES, 20, N_FEATURES, 3);
    rw_ctx_set_threads(ctx, 2);
    assert_leaves(model, 4191, MANY_TREES);
    assert_leaves(model, 4192, MANY_TREES);
    rw_model_free(model);
}

Test(score_lines, more_trees_than_there_are)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, 31, N_FEATURES, 3);
    struct rw_dataset *data = fixture_dataset(ctx, 2, N_FEATURES, 0, 7);
    struct rw_out_file out = {.file = stderr};
    cr_assert_eq(rw_score_lines(ctx, model, data, N_TREES + 1, NULL, &out), RW_ERR_ARGUMENT);
    rw_dataset_free(data);
    rw_model_free(model);
}
