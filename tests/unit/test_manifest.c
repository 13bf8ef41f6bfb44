#include "base/mem.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *data;
static struct rw_model *model;
static char *begun;
static int status_begun;

/* Begins the manifest as training starts. */
static void on_start(void *user, struct rw_params *used)
{
    (void)user;
    status_begun = rw_manifest_new(ctx, params, used, NULL, &begun);
}

static void begin(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    data = fixture_data(ctx, 1, 50, 12, 5);
    cr_assert_eq(rw_params_set(ctx, params, "rounds", "3"), RW_OK);
}

static void end(void)
{
    rw_free(begun);
    rw_model_free(model);
    rw_dataset_free(data);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

TestSuite(manifest, .init = begin, .fini = end, .timeout = 60);

/* Returns the manifest of a training, which the caller frees. */
static char *trained(void)
{
    const struct rw_train_hooks hooks = {.on_start = on_start};
    char *out = NULL;
    rw_free(begun);
    rw_model_free(model);
    begun = NULL;
    model = NULL;
    cr_assert_eq(rw_train(ctx, params, data, NULL, 0, &hooks, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    cr_assert_eq(status_begun, RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_manifest_finish(ctx, begun, model, &out), RW_OK, "%s", rw_last_error(ctx));
    return out;
}

/* Compares, and checks the beginning of the difference; NULL: none. */
static void compare(const char *a, const char *b, const char *expected)
{
    char *found = NULL;
    cr_assert_eq(rw_manifest_compare(ctx, a, b, &found), RW_OK, "%s", rw_last_error(ctx));
    if (expected)
        cr_assert(found && strncmp(found, expected, strlen(expected)) == 0, "%s", found);
    else
        cr_assert_null(found, "%s", found);
    rw_free(found);
}

Test(manifest, describes_data_parameters_and_model)
{
    rw_ctx_record_data(ctx, 1);
    char *first = trained();
    char *data_only = begun;
    begun = NULL;
    char *again = trained();
    cr_assert_str_eq(first, again);
    compare(first, again, NULL);
    rw_free(again);

    cr_assert_eq(rw_params_set(ctx, params, "seed", "2"), RW_OK);
    again = trained();
    compare(first, again, "parameters seed: expected \"1\", found \"2\"");
    compare(first, data_only, NULL); /* the data is equal */
    compare(again, again, NULL);
    rw_free(again);

    rw_dataset_free(data);
    data = fixture_data(ctx, 2, 50, 12, 5);
    again = trained();
    compare(first, again, "data train labels: expected ");
    compare(first, begun, "data train labels: expected ");
    rw_free(again);
    rw_free(first);
    rw_free(data_only);
}

Test(manifest, parameters_of_the_machine_are_left_out)
{
    rw_ctx_record_data(ctx, 1);
    char *first = trained();
    cr_assert_eq(rw_params_set(ctx, params, "threads", "1"), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "device", "sim"), RW_OK);
    char *again = trained();
    cr_assert_str_eq(first, again);
    rw_free(first);
    rw_free(again);
}

Test(manifest, what_fails)
{
    const struct rw_train_hooks hooks = {.on_start = on_start};
    char *out;
    cr_assert_eq(rw_train(ctx, params, data, NULL, 0, &hooks, &model), RW_OK);
    cr_expect_eq(status_begun, RW_ERR_ARGUMENT);
    cr_expect_null(begun);

    rw_ctx_record_data(ctx, 1);
    char *whole = trained();
    static const char *const wrong[] = {"", "{", "[]", "{}", "{\"manifest\": 2}"};
    for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
        cr_expect_eq(rw_manifest_compare(ctx, whole, wrong[i], &out), RW_ERR_FORMAT, "%s",
                     wrong[i]);
        cr_expect_null(out);
        cr_expect_eq(rw_manifest_finish(ctx, wrong[i], model, &out), RW_ERR_FORMAT);
    }
    rw_free(whole);

    /* bytes that are not UTF-8 */
    cr_assert_eq(rw_params_set(ctx, params, "monotone", "\xff:+"), RW_OK);
    struct rw_params *used = NULL;
    cr_assert_eq(rw_params_copy(ctx, params, &used), RW_OK);
    cr_expect_eq(rw_manifest_new(ctx, params, used, NULL, &out), RW_ERR_UNSUPPORTED, "%s",
                 rw_last_error(ctx));
    rw_params_free(used);
}
