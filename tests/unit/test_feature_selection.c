/* Fewer features: a plain search, by trainings on values and public functions alone, finds the same
 * rows and the same model; and where few features matter, it is these that are found. */
#include <math.h>
#include <time.h>

#include "dataset/dataset.h"
#include "binning/bins.h"
#include "evaluate/evaluate.h"
#include "scratch_file.h"
#include "train_fixture.h"

enum { N_FEATURES = 12, N_QUERIES = 40, LENGTH = 10, N_DOCS = N_QUERIES * LENGTH, N_MATTER = 3 };
static const uint32_t matter[N_MATTER] = {2, 5, 9};

static struct rw_dataset *train, *valid, *test_set;
static struct rw_dataset *half[2]; /* of valid: ranks; measures */
static struct rw_binned binned;    /* with values: the documents are `train` */
static struct rw_params *params;
static struct rw_select_options how;

/* Labels follow from three features, ids from 0; the others are noise. */
static struct rw_dataset *some_matter(uint64_t seed)
{
    static float values[N_DOCS * N_FEATURES], labels[N_DOCS];
    uint32_t offsets[N_QUERIES + 1];
    struct rw_dataset *dataset;
    for (uint32_t q = 0; q <= N_QUERIES; q++)
        offsets[q] = q * LENGTH;
    for (uint32_t i = 0; i < N_DOCS; i++) {
        float sum = 0;
        for (uint32_t f = 0; f < N_FEATURES; f++)
            values[i * N_FEATURES + f] = (float)fixture_unit(seed, i * N_FEATURES + f);
        for (int k = 0; k < N_MATTER; k++)
            sum += values[i * N_FEATURES + matter[k]];
        labels[i] = sum < 1.2f ? 0 : sum < 1.7f ? 1 : sum < 2.1f ? 2 : 3;
    }
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, N_DOCS, N_FEATURES,
                                        N_QUERIES, 0, &dataset),
                 RW_OK);
    return dataset;
}

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(scratch_ctx, params, name, value), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
}

static void halve(uint64_t seed)
{
    uint32_t fold[N_QUERIES];
    uint8_t keep[N_QUERIES];
    cr_assert_eq(rw_folds(scratch_ctx, N_QUERIES, NULL, 2, seed, fold), RW_OK);
    for (uint32_t h = 0; h < 2; h++) {
        for (int q = 0; q < N_QUERIES; q++)
            keep[q] = fold[q] == h;
        rw_dataset_free(half[h]);
        cr_assert_eq(rw_dataset_select(scratch_ctx, valid, keep, &half[h]), RW_OK);
    }
}

static void setup(void)
{
    scratch_begin();
    train = some_matter(1);
    valid = some_matter(2);
    test_set = some_matter(3);
    binned = (struct rw_binned){.documents = train};
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    set("rounds", "30");
    set("leaves", "6");
    set("min-docs", "5");
    set("early-stop", "8");
    set("device", "cpu");
    how = (struct rw_select_options){.most_loss = 0.01, .n_repeats = 3};
    halve(1);
}

static void teardown(void)
{
    rw_params_free(params);
    rw_dataset_free(train);
    rw_dataset_free(valid);
    rw_dataset_free(test_set);
    rw_dataset_free(half[0]);
    rw_dataset_free(half[1]);
    scratch_end();
}

TestSuite(feature_selection, .init = setup, .fini = teardown, .timeout = 60);

static struct rw_selected *selected_of(const struct rw_binned *data)
{
    struct rw_selected *selected;
    cr_assert_eq(rw_select(scratch_ctx, params, data, valid, &how, &selected), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return selected;
}

/* ------------------------------------------------------------------ the plain search */

static double measured(const struct rw_model *model, const struct rw_dataset *data)
{
    struct rw_eval *eval;
    static double scores[N_DOCS];
    cr_assert_eq(rw_predict(scratch_ctx, model, data, 0, scores), RW_OK);
    cr_assert_eq(rw_evaluate(scratch_ctx, rw_params_eval(params), data, scores, &eval), RW_OK);
    const double mean = eval->metrics[0].mean;
    rw_free(eval);
    return mean;
}

/* features: NULL: all. */
static struct rw_model *trained_on(const char *features)
{
    struct rw_params *own;
    struct rw_model *model;
    const struct rw_dataset *const sets[] = {valid};
    cr_assert_eq(rw_params_copy(scratch_ctx, params, &own), RW_OK);
    if (features)
        cr_assert_eq(rw_params_set(scratch_ctx, own, "features", features), RW_OK);
    cr_assert_eq(rw_train(scratch_ctx, own, train, sets, 1, NULL, &model), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    rw_params_free(own);
    return model;
}

/* order: [n], overwritten: used features by falling loss, the others by id. Returns the number
 * of used ones. */
static int ranked(const struct rw_model *model, uint32_t *order, int n)
{
    struct rw_permuted permuted[N_FEATURES];
    uint8_t is_kept[N_FEATURES] = {0};
    double value;
    int at = 0;
    const int n_used =
        rw_permutation_importance(scratch_ctx, rw_params_eval(params), model, 0, half[0],
                                  how.n_repeats, &value, permuted, N_FEATURES);
    for (int i = 0; i < n; i++)
        is_kept[order[i]] = 1;
    for (; at < n_used; at++) {
        int best = -1;
        for (int k = 0; k < n_used; k++) {
            if (is_kept[permuted[k].feature] &&
                (best < 0 || permuted[k].loss > permuted[best].loss))
                best = k;
        }
        order[at] = permuted[best].feature;
        is_kept[order[at]] = 0;
    }
    for (uint32_t f = 0; f < N_FEATURES; f++) {
        if (is_kept[f])
            order[at++] = f;
    }
    return n_used;
}

static void list_of(const uint32_t *order, int n, char *text)
{
    *text = 0;
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "%s%u", i ? "," : "", order[i]);
}

static void expect_same_model(const struct rw_model *a, const struct rw_model *b)
{
    char *text[2];
    size_t n[2];
    cr_assert_eq(rw_model_write_memory(scratch_ctx, a, &text[0], &n[0]), RW_OK);
    cr_assert_eq(rw_model_write_memory(scratch_ctx, b, &text[1], &n[1]), RW_OK);
    cr_assert(rw_model_has_covers(a, 0) && rw_model_has_covers(b, 0));
    cr_assert(n[0] == n[1] && memcmp(text[0], text[1], n[0]) == 0, "%.*s\n%.*s", 1200, text[0],
              1200, text[1]);
    rw_free(text[0]);
    rw_free(text[1]);
}

/* One trial more of the plain search, which must be a row of `selected`. */
static int try_row(const struct rw_selected *selected, int row, const uint32_t *order, int n,
                   double whole, struct rw_model **model)
{
    const struct rw_select_row *found = &selected->rows[row];
    char list[64];
    list_of(order, n, list);
    *model = trained_on(list);
    const double mean = measured(*model, half[1]);
    const double sure = selected->lower_is_better ? found->compared.high : -found->compared.low;
    const double lost = how.is_sure                 ? sure
                        : selected->lower_is_better ? mean - whole
                                                    : whole - mean;
    cr_assert_lt(row, selected->n_rows);
    cr_assert_eq(found->n_features, (uint32_t)n);
    cr_assert_eq(found->n_trees, rw_model_n_trees(*model));
    cr_assert_eq(found->compared.mean_a, whole);
    cr_assert_eq(found->compared.mean_b, mean, "%d: %.17g %.17g", n, found->compared.mean_b, mean);
    cr_assert_eq(found->compared.difference, mean - whole);
    cr_assert(found->compared.low <= found->compared.high);
    cr_assert_eq(found->is_within, lost <= how.most_loss);
    return found->is_within;
}

static void expect_plain(void)
{
    struct rw_selected *selected = selected_of(&binned);
    struct rw_model *best = trained_on(NULL);
    const double whole = measured(best, half[1]);
    uint32_t order[N_FEATURES];
    int n = N_FEATURES, too_few = 0, row = 1;
    for (int f = 0; f < N_FEATURES; f++)
        order[f] = (uint32_t)f;
    int n_used = ranked(best, order, n);
    cr_assert_eq(selected->rows[0].n_features, (uint32_t)N_FEATURES);
    cr_assert_eq(selected->rows[0].compared.mean_b, whole);
    while (n - too_few > 1) {
        int next = (n + too_few) / 2;
        struct rw_model *model;
        if (n_used > too_few && n_used < next)
            next = n_used;
        if (try_row(selected, row++, order, next, whole, &model)) {
            rw_model_free(best);
            best = model;
            n_used = ranked(best, order, n = next);
        } else {
            rw_model_free(model);
            too_few = next;
        }
    }
    cr_assert_eq(selected->n_rows, row);
    cr_assert_eq(selected->n_features, (uint32_t)n);
    cr_assert_eq(selected->rows[selected->chosen].n_features, (uint32_t)n);
    for (int i = 0; i < n; i++)
        cr_assert_eq(selected->features[i].feature, order[i]);
    if (n < N_FEATURES)
        expect_same_model(selected->model, best);
    rw_model_free(best);
    rw_free(selected);
}

Test(feature_selection, as_a_plain_search)
{
    static const double losses[] = {0.0, 0.01, 0.1, 0.5};
    for (int k = 0; k < 4; k++) {
        how.most_loss = losses[k];
        expect_plain();
    }
    set("metric", "rmse");
    set("objective", "regression");
    how.most_loss = 0.02;
    expect_plain();
}

/* Which features, and how many there are of these, changes what sampling draws. */
Test(feature_selection, sampled)
{
    set("sample-features", "0.5");
    set("seed", "7");
    halve(7);
    expect_plain();
}

/* The ends of intervals count: those of the other direction with a metric that is better lower. */
Test(feature_selection, sure)
{
    how.is_sure = 1;
    how.most_loss = 0.05;
    expect_plain();
    set("metric", "rmse");
    set("objective", "regression");
    expect_plain();
}

/* Directions of features that are left out are no error, and do not count. */
Test(feature_selection, directions)
{
    set("monotone", "1:-,2:+,5:+,9:+");
    expect_plain();
}

/* ------------------------------------------------------------------ selected features */

Test(feature_selection, those_that_matter)
{
    struct rw_selected *selected = selected_of(&binned);
    cr_assert_eq(selected->n_features, (uint32_t)N_MATTER);
    cr_assert_str_eq(selected->list, "2,5,9");
    cr_assert_str_eq(selected->metric, "ndcg@10");
    cr_assert_null(selected->test);
    for (int i = 0; i < N_MATTER; i++) {
        cr_assert_gt(selected->features[i].loss, 0.0);
        cr_assert_geq(selected->features[i].deviation, 0.0);
        cr_assert(i == 0 || selected->features[i].loss <= selected->features[i - 1].loss);
    }
    rw_free(selected);
}

/* Features excluded at first are never selected. */
Test(feature_selection, of_those_given)
{
    set("ignore", "5");
    set("features", "0-5,7,9");
    struct rw_selected *selected = selected_of(&binned);
    cr_assert_eq(selected->rows[0].n_features, 7u);
    for (uint32_t i = 0; i < selected->n_features; i++)
        cr_assert_neq(selected->features[i].feature, 5u);
    cr_assert(strstr(selected->list, "2") && strstr(selected->list, "9"));
    rw_free(selected);
}

Test(feature_selection, test_set)
{
    how.test = test_set;
    struct rw_selected *selected = selected_of(&binned);
    struct rw_model *whole = trained_on(NULL);
    cr_assert_not_null(selected->test);
    cr_assert_eq(selected->test->mean_a, measured(whole, test_set));
    cr_assert_eq(selected->test->mean_b, measured(selected->model, test_set));
    cr_assert(selected->test->low <= selected->test->difference &&
              selected->test->difference <= selected->test->high);
    rw_model_free(whole);
    rw_free(selected);
}

static void expect_same(const struct rw_selected *a, const struct rw_selected *b)
{
    cr_assert_eq(a->n_rows, b->n_rows);
    for (int i = 0; i < a->n_rows; i++) {
        cr_assert_eq(a->rows[i].n_features, b->rows[i].n_features);
        cr_assert_eq(a->rows[i].compared.mean_b, b->rows[i].compared.mean_b);
        cr_assert_eq(a->rows[i].compared.low, b->rows[i].compared.low);
        cr_assert_eq(a->rows[i].compared.high, b->rows[i].compared.high);
    }
    cr_assert_str_eq(a->list, b->list);
    cr_assert_eq(a->features[0].loss, b->features[0].loss);
    cr_assert_eq(a->features[0].deviation, b->features[0].deviation);
    expect_same_model(a->model, b->model);
}

Test(feature_selection, same_for_any_threads)
{
    struct rw_selected *one, *three;
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1), RW_OK);
    one = selected_of(&binned);
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 3), RW_OK);
    three = selected_of(&binned);
    expect_same(one, three);
    rw_free(one);
    rw_free(three);
}

/* A set that came as codes, without values; every engine. */
Test(feature_selection, same_of_codes_and_devices)
{
    static const char *const devices[] = {"cpu", "ref", "sim"};
    const char *const path = "train.rwb";
    struct rw_selected *of_values = selected_of(&binned), *of_codes;
    struct rw_binned *codes;
    cr_assert_eq(rw_dataset_write_cache(scratch_ctx, train, params, path), RW_OK);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &path, 1, &codes), RW_OK);
    cr_assert_not_null(codes->bins);
    for (int d = 0; d < 3; d++) {
        set("device", devices[d]);
        of_codes = selected_of(codes);
        expect_same(of_values, of_codes);
        rw_free(of_codes);
    }
    rw_free(of_values);
    rw_binned_free(codes);
}

/* ------------------------------------------------------------------ what ends it */

static int n_told, end_at;
static int end_some_time(void *user, int number, const struct rw_select_row *row)
{
    cr_assert_eq(user, &n_told);
    cr_assert_eq(number, n_told);
    cr_assert_leq(row->n_features, (uint32_t)N_FEATURES);
    return ++n_told == end_at;
}

static int at_once(void *user, const struct rw_progress *progress)
{
    (void)user;
    (void)progress;
    return 1;
}

Test(feature_selection, interrupted)
{
    const struct timespec interval = {.tv_nsec = 110000000}; /* after which the callback is
                                                              * called */
    struct rw_selected *selected = (struct rw_selected *)&how;
    how.user = &n_told;
    how.on_row = end_some_time;
    rw_free(selected_of(&binned));
    const int all = n_told;
    cr_assert_gt(all, 2);
    for (end_at = 1; end_at <= all; end_at++) {
        n_told = 0;
        cr_assert_eq(rw_select(scratch_ctx, params, &binned, valid, &how, &selected),
                     RW_ERR_INTERRUPTED);
        cr_assert_null(selected);
        cr_assert_eq(n_told, end_at);
    }
    cr_assert_eq(rw_ctx_set_poll(scratch_ctx, at_once, NULL), RW_OK);
    nanosleep(&interval, NULL);
    n_told = 0;
    cr_assert_eq(rw_select(scratch_ctx, params, &binned, valid, &how, &selected),
                 RW_ERR_INTERRUPTED);
    cr_assert_null(selected);
    cr_assert_eq(rw_ctx_set_poll(scratch_ctx, NULL, NULL), RW_OK);
    cr_assert_not_null(scratch_ctx->log); /* was away for the refits */
}

static void expect_refused(enum rw_status status, const char *message)
{
    struct rw_selected *selected;
    cr_assert_eq(rw_select(scratch_ctx, params, &binned, valid, &how, &selected), status, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_null(selected);
    cr_assert_str_eq(rw_last_error(scratch_ctx), message);
}

Test(feature_selection, refused)
{
    static const double zero[N_DOCS];
    how.most_loss = (double)NAN;
    expect_refused(RW_ERR_ARGUMENT, "loss is nan; expected 0 or more");
    how.most_loss = -1;
    expect_refused(RW_ERR_ARGUMENT, "loss is -1; expected 0 or more");
    how.most_loss = 0.01;
    how.n_repeats = 0;
    expect_refused(RW_ERR_ARGUMENT, "repeats is 0; expected 1 to 1000");
    how.n_repeats = 2;
    set("metric", "ndcg,map");
    expect_refused(RW_ERR_ARGUMENT, "'metric': expected one metric to select features by, found 2");
    set("metric", "ndcg");
    set("features", "77");
    expect_refused(RW_ERR_ARGUMENT, "features: the training set has no feature of '77'");
    set("features", "");
    set("metric", "map");
    set("relevant", "50");
    set("early-stop", "0");
    expect_refused(RW_ERR_DATA, "in one half of the validation set no query counts for map");
    set("metric", "ndcg");
    set("relevant", "1");
    how.test = test_set;
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, test_set, "start-scores", zero, N_DOCS, 1),
                 RW_OK);
    expect_refused(RW_ERR_UNSUPPORTED,
                   "the test set has start scores, which feature selection does not support");
}

/* One that no tree can be made of counts as too few. */
Test(feature_selection, one_feature)
{
    set("features", "5");
    struct rw_selected *selected = selected_of(&binned);
    cr_assert_eq(selected->n_rows, 1);
    cr_assert_str_eq(selected->list, "5");
    rw_free(selected);
}

/* A query to rank features by and one to measure by: as few as there may be. */
Test(feature_selection, queries_of_validation)
{
    uint8_t keep[N_QUERIES] = {1};
    for (int n = 1; n <= 2; n++) {
        struct rw_selected *selected = NULL;
        struct rw_dataset *few;
        keep[n - 1] = 1;
        cr_assert_eq(rw_dataset_select(scratch_ctx, valid, keep, &few), RW_OK);
        const int status = rw_select(scratch_ctx, params, &binned, few, &how, &selected);
        cr_assert_eq(status, n == 1 ? RW_ERR_DATA : RW_OK, "%d", n);
        cr_assert_eq(selected != NULL, n == 2);
        rw_free(selected);
        rw_dataset_free(few);
    }
}
