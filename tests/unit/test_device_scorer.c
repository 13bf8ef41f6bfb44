/* Scores on a chosen device; check_predict compares the numbers themselves. */
#include <float.h>
#include <math.h>

#include "model/scorer.h"
#include "model_fixture.h"

enum { N_DOCS = 300, N_FEATURES = 6, N_TREES = 9 };

static struct rw_ctx *ctx;
static struct rw_model *model;
static struct rw_dataset *data;

static void setup(void)
{
    ctx = fixture_ctx();
    model = fixture_random_model(ctx, N_TREES, 31, N_FEATURES, 3);
    data = fixture_dataset(ctx, N_DOCS, N_FEATURES, 0, 7);
}

static void teardown(void)
{
    rw_dataset_free(data);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

TestSuite(device_scorer, .init = setup, .fini = teardown);

Test(device_scorer, equals_rw_predict)
{
    static const char *const devices[] = {"cpu", "auto"};
    double want[N_DOCS], got[N_DOCS];
    for (int n_trees = 0; n_trees <= N_TREES; n_trees++) {
        cr_assert_eq(rw_predict(ctx, model, data, n_trees, want), RW_OK);
        for (int d = 0; d < 2; d++) {
            memset(got, 0xff, sizeof(got));
            cr_assert_eq(fixture_predict_on(ctx, model, data, n_trees, devices[d], got), RW_OK);
            cr_assert_eq(memcmp(want, got, sizeof(want)), 0);
        }
    }
}

Test(device_scorer, one_document)
{
    float values[2 * N_FEATURES + 2];
    struct rw_scorer *scorer;
    for (int absent_missing = 0; absent_missing < 2; absent_missing++) {
        model->absent_missing = absent_missing;
        cr_assert_eq(rw_scorer_open(ctx, model, 0, "cpu", &scorer), RW_OK);
        for (uint32_t i = 0; i < 50 * (2 * N_FEATURES + 3); i++) {
            const size_t n_values = i % (2 * N_FEATURES + 3); /* those past the end are absent */
            for (uint32_t f = 0; f < n_values; f++)
                values[f] = f % 2 ? fixture_value(7, i, f / 2) : 1e30f;
            cr_assert_eq(rw_scorer_one(scorer, values, n_values, 0),
                         rw_predict_one(model, values, n_values), "document %u", i);
        }
        rw_scorer_free(scorer);
    }
}

Test(device_scorer, rows)
{
    static float values[N_DOCS][N_FEATURES + 1];
    double scores[N_DOCS];
    struct rw_scorer *scorer;
    model->columns = RW_COLUMNS_LETOR; /* of no ids that it knows, so that rows of any width fit */
    model->n_features = 0;
    cr_assert_eq(rw_scorer_open(ctx, model, 0, "cpu", &scorer), RW_OK);
    for (uint32_t doc = 0; doc < N_DOCS; doc++) {
        for (uint32_t i = 0; i <= N_FEATURES; i++)
            values[doc][i] = fixture_value(7, doc, i) + 1.0f;
    }
    for (int time = 0; time < 20; time++) {
        cr_assert_eq(rw_scorer_rows(ctx, scorer, values[0], N_DOCS, N_FEATURES + 1, 0, scores),
                     RW_OK);
        for (uint32_t doc = 0; doc < N_DOCS; doc++)
            cr_assert_eq(scores[doc], rw_predict_one(model, values[doc], N_FEATURES + 1));
    }
    cr_assert_eq(rw_scorer_rows(ctx, scorer, values[0], 0, 5, 1, scores), RW_OK);
    cr_assert_eq(rw_scorer_rows(ctx, scorer, values[0], 1, 2, 65535, scores), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "2 features from 65535 on; expected ids of at most 65535");
    cr_assert_eq(rw_scorer_rows(ctx, scorer, values[0], 1, 1, 65536, scores), RW_ERR_ARGUMENT);
    rw_scorer_free(scorer);
}

Test(device_scorer, rows_infinite)
{
    enum { DOCS = 3000, FEATURES = 70 };
    uint32_t doc = 9, feature = 9;
    float *values = calloc((size_t)DOCS * FEATURES, sizeof(*values));
    cr_assert_not_null(values);
    values[5] = NAN;
    values[6] = -FLT_MAX;
    cr_expect_eq(rw_rows_infinite(ctx, values, DOCS, FEATURES, &doc, &feature), 0);
    cr_expect_eq(rw_rows_infinite(ctx, values, 0, FEATURES, &doc, &feature), 0);
    cr_expect(doc == 9 && feature == 9);
    for (uint32_t at = DOCS * FEATURES; at-- > 0; at -= at > 9999 ? 9999 : at) {
        values[at] = at % 2 ? INFINITY : -INFINITY;
        cr_assert_eq(rw_rows_infinite(ctx, values, DOCS, FEATURES, &doc, &feature), 1);
        cr_assert(doc == at / FEATURES && feature == at % FEATURES, "%u: %u %u", at, doc, feature);
    }
    free(values);
}

Test(device_scorer, needs_its_model_no_more)
{
    double want[N_DOCS], got[N_DOCS];
    struct rw_scorer *scorer;
    cr_assert_eq(rw_predict(ctx, model, data, 0, want), RW_OK);
    cr_assert_eq(rw_scorer_open(ctx, model, 0, "auto", &scorer), RW_OK);
    rw_model_free(model);
    model = NULL;
    for (int run = 0; run < 2; run++) {
        memset(got, 0xff, sizeof(got));
        cr_assert_eq(rw_scorer_run(ctx, scorer, data, got), RW_OK);
        cr_assert_eq(memcmp(want, got, sizeof(want)), 0);
    }
    cr_assert_str_eq(rw_scorer_device(scorer), "cpu", "so little data is no work for a GPU");
    rw_scorer_free(scorer);
}

Test(device_scorer, refusals)
{
    static const char *const devices[] = {"",        "gpu",       "sim",    "ref",
                                          "cpu:0",   "cuda:",     "cuda:x", "cuda:1x",
                                          "cuda:-1", "cuda:1024", "auto:1"};
    struct rw_scorer *scorer;
    double scores[N_DOCS];
    for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
        char text[100];
        snprintf(text, sizeof(text),
                 "device '%s' cannot score; expected auto, cpu, cuda or cuda:N", devices[i]);
        cr_assert_eq(rw_scorer_open(ctx, model, 0, devices[i], &scorer), RW_ERR_ARGUMENT);
        cr_assert_null(scorer);
        cr_assert_str_eq(rw_last_error(ctx), text);
    }
    cr_assert_eq(fixture_predict_on(ctx, model, data, N_TREES + 1, "cpu", scores), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "10 trees requested; the model has 9");
    cr_assert_eq(rw_scorer_open(ctx, model, -1, "auto", &scorer), RW_ERR_ARGUMENT);
}

Test(device_scorer, failed_allocations_leave_nothing)
{
    double scores[N_DOCS];
    int status = RW_ERR_MEMORY;
    for (int i = 1; status != RW_OK; i++) {
        cr_assert_lt(i, 40);
        rw_mem_fail_from(i);
        status = fixture_predict_on(ctx, model, data, 0, "auto", scores);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY);
    }
    rw_mem_fail_from(0);
}
