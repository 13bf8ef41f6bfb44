/* Sampling of queries and features: which are drawn, and that the others count for nothing. */
#include <stdio.h>

#include "dataset/dataset.h"
#include "same_trees.h"
#include "train_fixture.h"
#include "tree/engine_host.h"

enum { QUERIES = 30, LENGTH = 12, FEATURES = 5, MOST = 100, FENCE = 0xA5 };
#define ALL ((uint64_t)1 << 32)

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *train;

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

/* Few different values: those of some queries are those of all, and so are the boundaries.
 * Nothing else is left to the size of the data, and nothing is rounded by a document's number. */
static void setup(void)
{
    static const char *const fixed[][2] = {
        {"rounds", "1"},         {"leaves", "6"},     {"rate", "0.1"},
        {"min-docs", "3"},       {"l2", "2"},         {"rounding", "nearest"},
        {"split-l2", "3"},       {"split", "newton"}, {"sample-queries", "1"},
        {"sample-features", "1"}};
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        set(fixed[i][0], fixed[i][1]);
    train = fixture_data(ctx, 4, QUERIES, LENGTH, FEATURES);
    for (uint32_t c = 0; c < train->n_columns; c++) {
        float *value = train->column[c].value;
        for (uint32_t i = 0; i < train->column[c].n; i++) {
            if (value[i] == value[i])
                value[i] = (float)((int)value[i] % 6);
        }
    }
}

static void teardown(void)
{
    rw_dataset_free(train);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

/* ---- the draw ---- */

static void assert_drawn(uint32_t *item, uint32_t n, uint64_t threshold, uint64_t seed,
                         uint32_t tree)
{
    const struct rw_cuts cuts = {.n_features = n, .feature = item};
    const struct rw_engine drawing = {.cuts = &cuts,
                                      .rules = {.seed = seed, .feature_threshold = threshold}};
    uint8_t kept[MOST + 1];
    uint32_t number[MOST], n_under = 0, lowest = 0;
    memset(kept, FENCE, sizeof(kept));
    rw_host_draw_features(&drawing, tree, kept);
    for (uint32_t i = 0; i < n; i++) {
        number[i] = rw_random(seed, item[i], tree, RW_STREAM_SAMPLE_FEATURE);
        n_under += number[i] < threshold;
        lowest = number[i] < number[lowest] ? i : lowest; /* the first of equals */
    }
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(kept[i], n_under ? number[i] < threshold : i == lowest,
                     "%u of %u, tree %u, threshold %llu", i, n, tree,
                     (unsigned long long)threshold);
    cr_assert_eq(kept[n], FENCE);
}

Test(engine_host, draw_keeps_items_below_the_threshold)
{
    static const uint64_t seeds[] = {0, 1, 0x123456789abcdef0ull};
    uint32_t id[MOST], plain[MOST];
    for (uint32_t i = 0; i < MOST; i++) {
        plain[i] = i;
        id[i] = i * 661 + 5; /* up to 65,444 */
    }
    for (uint32_t k = 0; k < 3 * 4 * 2; k++) {
        const uint64_t seed = seeds[k % 3];
        const uint32_t tree = k / 6 * 1000;
        uint32_t *item = k / 3 % 2 ? id : plain;
        const uint64_t fixed[] = {0, 1, ALL / 2, ALL - 1, ALL};
        for (int t = 0; t < 5; t++)
            assert_drawn(item, MOST, fixed[t], seed, tree);
        for (uint32_t i = 0; i < MOST; i++) { /* just without the i-th, and just with it */
            const uint64_t number = rw_random(seed, item[i], tree, RW_STREAM_SAMPLE_FEATURE);
            assert_drawn(item, MOST, number, seed, tree);
            assert_drawn(item, MOST, number + 1, seed, tree);
        }
        for (uint32_t n = 0; n <= 3; n++)
            assert_drawn(item, n, 0, seed, tree);
    }
}

Test(engine_host, draw_keeps_the_first_of_equals)
{
    uint32_t id[MOST];
    for (uint32_t i = 0; i < MOST; i++)
        id[i] = i % 10; /* each number ten times */
    for (uint32_t tree = 0; tree < 20; tree++)
        assert_drawn(id, MOST, 0, 1, tree);
}

/* ---- trees of a sample ---- */

static struct rw_model *trained(const struct rw_dataset *dataset)
{
    struct rw_model *model;
    cr_assert_eq(rw_train(ctx, params, dataset, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    return model;
}

/* A share as a decimal that is read back exactly. */
static void set_share(const char *name, double share)
{
    char text[40];
    snprintf(text, sizeof(text), "%.17g", share);
    set(name, text);
}

/* The model of the queries whose numbers are under the threshold, or of the lowest one. */
static struct rw_model *trained_on_sample(uint64_t threshold)
{
    struct rw_dataset *part;
    uint8_t keep[QUERIES];
    uint32_t lowest = 0, n = 0;
    for (uint32_t q = 0; q < QUERIES; q++) {
        const uint32_t number = rw_random(1, q, 0, RW_STREAM_SAMPLE_QUERY);
        keep[q] = number < threshold;
        n += keep[q];
        lowest = number < rw_random(1, lowest, 0, RW_STREAM_SAMPLE_QUERY) ? q : lowest;
    }
    if (n == 0)
        keep[lowest] = 1;
    set("sample-queries", "1");
    cr_assert_eq(rw_dataset_select(ctx, train, keep, &part), RW_OK);
    struct rw_model *model = trained(part);
    cr_assert_gt(model->n_trees, 0);
    cr_assert_gt(model->tree[0].n_leaves, 1);
    rw_dataset_free(part);
    return model;
}

static void assert_sampled_alone(const char *device, double share, const struct rw_model *expected,
                                 int same)
{
    set("device", device);
    set_share("sample-queries", share);
    struct rw_model *model = trained(train);
    cr_assert_eq(same_trees(model, expected), same, "%s, share %.17g", device, share);
    rw_model_free(model);
}

/* The tree of a sample is that of the sampled queries alone: documents of the others are in no sum,
 * no maximum, no mean. A query is sampled iff its number is under the share of 2^32, rounded. */
static void sample_alone(void)
{
    static const char *const devices[] = {"ref", "cpu", "sim"};
    uint32_t number = 0;
    for (uint32_t q = 0; q < QUERIES; q++) { /* of the query nearest the middle */
        const uint32_t r = rw_random(1, q, 0, RW_STREAM_SAMPLE_QUERY);
        if (fabs(r - 0x1p31) < fabs(number - 0x1p31))
            number = r;
    }
    set("device", "ref");
    struct rw_model *without = trained_on_sample(number);
    struct rw_model *with = trained_on_sample((uint64_t)number + 1);
    struct rw_model *lowest = trained_on_sample(0);
    cr_assert(!same_trees(without, with)); /* so it matters */
    for (int d = 0; d < 3; d++) {
        assert_sampled_alone(devices[d], number * 0x1p-32, without, 1);
        assert_sampled_alone(devices[d], (number + 0.25) * 0x1p-32, without, 1);
        assert_sampled_alone(devices[d], (number + 0.75) * 0x1p-32, with, 1);
        assert_sampled_alone(devices[d], (number + 1.0) * 0x1p-32, with, 1);
        assert_sampled_alone(devices[d], (number + 1.0) * 0x1p-32, without, 0);
        assert_sampled_alone(devices[d], 1e-6, lowest, 1);
    }
    rw_model_free(without);
    rw_model_free(with);
    rw_model_free(lowest);
}

Test(engine_host, sampled_queries_alone_lambdas, .init = setup, .fini = teardown)
{
    sample_alone();
}

/* Documents of large labels, whose residuals are the largest, are in some samples only. */
Test(engine_host, sampled_queries_alone_residuals, .init = setup, .fini = teardown)
{
    double weights[QUERIES * LENGTH];
    for (uint32_t i = 0; i < train->n_docs; i++) {
        train->label[i] *= i / LENGTH % 7 == 3 ? 1000.0f : 1.0f;
        weights[i] = 1 + i % 3 + (i / LENGTH % 5 == 2 ? 100 : 0);
    }
    set("objective", "regression");
    sample_alone();
    cr_assert_eq(rw_dataset_set_side_column(ctx, train, "weights", weights, train->n_docs, 1),
                 RW_OK);
    sample_alone();
    set("split", "mart");
    sample_alone();
}

/* A tree that sees a sample of the features is the tree of those alone: a feature is drawn by its
 * id, and the lowest is kept of those that can be split. */
Test(engine_host, sampled_features_by_id, .init = setup, .fini = teardown)
{
    static const uint32_t id[FEATURES] = {3, 14, 159, 2653, 58979};
    static const char *const devices[] = {"ref", "cpu", "sim"};
    uint32_t number[FEATURES], lowest = 0;
    for (uint32_t f = 0; f < FEATURES; f++) {
        train->column[f].feature = id[f];
        number[f] = rw_random(1, id[f], 0, RW_STREAM_SAMPLE_FEATURE);
        lowest = number[f] < number[lowest] ? f : lowest;
    }
    for (uint32_t i = 0; i < train->n_docs; i++) /* constant: the next lowest is drawn */
        train->column[lowest].value[i] = 2;
    const uint32_t constant = lowest;
    lowest = !constant;
    for (uint32_t f = 0; f < FEATURES; f++)
        lowest = f != constant && number[f] < number[lowest] ? f : lowest;
    for (uint32_t k = 0; k < 2 * FEATURES; k++) {
        const uint64_t threshold = (uint64_t)number[k / 2] + k % 2;
        char ignore[80] = "";
        uint32_t n_kept = 0;
        for (uint32_t f = 0; f < FEATURES; f++)
            n_kept += f != constant && number[f] < threshold;
        for (uint32_t f = 0; f < FEATURES; f++) {
            const size_t n = strlen(ignore);
            if (n_kept ? number[f] >= threshold : f != lowest)
                snprintf(ignore + n, sizeof(ignore) - n, n ? ",%u" : "%u", id[f]);
        }
        set("ignore", ignore);
        set("sample-features", "1");
        set("device", "ref");
        struct rw_model *expected = trained(train);
        set("ignore", "");
        set_share("sample-features", ((double)threshold - 0.25) * 0x1p-32); /* is rounded */
        for (int d = 0; d < 3; d++) {
            set("device", devices[d]);
            struct rw_model *model = trained(train);
            cr_assert_eq(model->n_trees, 1);
            cr_assert_gt(model->tree[0].n_leaves, 1);
            cr_assert(same_trees(model, expected), "%s, ignore %s", devices[d], ignore);
            rw_model_free(model);
        }
        rw_model_free(expected);
    }
}

/* Documents by their numbers, four of a random block, and by the tree's. */
Test(engine_host, sampled_documents, .init = setup, .fini = teardown)
{
    const struct rw_engine_rules rules = {.cut = {.bins = 64, .min_docs = 2},
                                          .objective = &rw_objective_regression,
                                          .lambda = {.sigma = 1.0f},
                                          .min_docs = 2,
                                          .bits = 8,
                                          .seed = 5,
                                          .query_threshold = ALL,
                                          .doc_threshold = ALL / 3,
                                          .feature_threshold = ALL,
                                          .max_slots = 3};
    struct rw_engine *engine;
    cr_assert_eq(rw_engine_open(ctx, "cpu", &rules, &engine), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_engine_load(engine, 0, train, NULL, NULL), RW_OK);
    for (uint32_t tree = 0; tree < 5; tree++) {
        struct rw_root root;
        uint64_t n = 0;
        for (uint32_t doc = 0; doc < train->n_docs; doc++)
            n += rw_random4(5, doc / 4, tree, RW_STREAM_SAMPLE_DOC).word[doc % 4] < ALL / 3;
        cr_assert_eq(engine->ops->begin_tree(engine, tree, &root), RW_OK, "%s", rw_last_error(ctx));
        cr_assert_eq(root.sum.n, n, "tree %u", tree);
    }
    rw_engine_close(engine);
}
