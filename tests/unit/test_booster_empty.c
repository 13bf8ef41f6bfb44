/* Trees that cannot be split because of an unlucky draw: training continues (train/booster.c).
 */
#include <stdio.h>

#include "same_trees.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *train;
static char warning[4096];
static int n_warnings;

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    (void)user;
    n_warnings += level == RW_LOG_WARNING;
    if (level == RW_LOG_WARNING)
        snprintf(warning, sizeof(warning), "%s", line);
}

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    rw_ctx_set_log(ctx, on_log, NULL);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    set("leaves", "6");
}

static void teardown(void)
{
    rw_dataset_free(train);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

static struct rw_model *trained(void)
{
    struct rw_model *model;
    cr_assert_eq(rw_train(ctx, params, train, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    return model;
}

/* The query (or feature) that is sampled where none is under the threshold. */
static uint32_t lowest_of(uint64_t seed, uint32_t first, uint32_t n, uint32_t round,
                          uint32_t stream)
{
    uint32_t lowest = first;
    for (uint32_t i = first; i < first + n; i++) {
        if (rw_random(seed, i, round, stream) < rw_random(seed, lowest, round, stream))
            lowest = i;
    }
    return lowest;
}

enum { UNLUCKY = 50, LUCKY_QUERIES = 400 };

/* The first seed by which trees are drawn of: a, 49 others, b, 50 others, c; a, b and c are no
 * others. */
static uint64_t seed_of_draws(uint32_t *lucky)
{
    for (uint64_t seed = 1; seed < 1000; seed++) {
        uint32_t drawn[2 * UNLUCKY + 2], n = 0;
        for (uint32_t t = 0; t < 2 * UNLUCKY + 2; t++)
            drawn[t] = lowest_of(seed, 0, LUCKY_QUERIES, t, RW_STREAM_SAMPLE_QUERY);
        lucky[0] = drawn[0];
        lucky[1] = drawn[UNLUCKY];
        lucky[2] = drawn[2 * UNLUCKY + 1];
        for (uint32_t t = 0; t < 2 * UNLUCKY + 2; t++)
            n += drawn[t] == lucky[0] || drawn[t] == lucky[1] || drawn[t] == lucky[2];
        if (n == 3)
            return seed;
    }
    cr_assert_fail("no such seed");
    return 0;
}

/* Trees of one query each; only three queries can be split. After 49 empty trees there is one
 * more tree; after 50 training ends, even if later trees could be split. */
Test(booster_empty, by_sampled_queries, .init = setup, .fini = teardown)
{
    uint32_t lucky[3];
    char seed[24];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)seed_of_draws(lucky));
    train = fixture_data(ctx, 1, LUCKY_QUERIES, 12, 5);
    for (uint32_t i = 0; i < train->n_docs; i++) {
        const uint32_t q = i / 12;
        if (q != lucky[0] && q != lucky[1] && q != lucky[2])
            train->label[i] = 1; /* equal within the query: no document has a lambda */
    }
    set("seed", seed);
    set("sample-queries", "1e-6");
    set("min-docs", "2");
    set("rounds", "51");
    struct rw_model *model = trained();
    cr_assert_eq(n_warnings, 0, "%s", warning);
    cr_assert_eq(model->n_trees, UNLUCKY + 1);
    for (int32_t t = 0; t <= UNLUCKY; t++)
        cr_assert_eq(model->tree[t].n_leaves > 1, t % UNLUCKY == 0, "tree %d", t);
    set("rounds", "1000");
    struct rw_model *longer = trained();
    cr_assert_eq(n_warnings, 1);
    cr_assert(longer->n_trees > UNLUCKY && longer->n_trees <= 2 * UNLUCKY + 1);
    cr_assert_eq(longer->n_trees, UNLUCKY + 1, "empty trees at the end are dropped");
    cr_assert(same_trees(model, longer));
    /* The same in two runs, the first of which ends in the middle of the gap: in the second one. */
    struct rw_model *first, *on;
    set("rounds", "30");
    first = trained();
    set("rounds", "1000");
    cr_assert_eq(
        rw_train_on(ctx, params, &(struct rw_training){.train = train, .init = first}, &on), RW_OK);
    cr_assert(same_trees(on, longer));
    cr_assert_eq(on->empty_rounds, longer->empty_rounds);
    rw_model_free(first);
    rw_model_free(on);
    /* Empty rounds of the first run count: without them the third tree would come. */
    set("rounds", "76");
    first = trained();
    cr_assert_eq(first->empty_rounds, 76 - UNLUCKY - 1);
    set("rounds", "1000");
    cr_assert_eq(
        rw_train_on(ctx, params, &(struct rw_training){.train = train, .init = first}, &on),
        RW_ERR_DATA);
    rw_model_free(first);
    rw_model_free(model);
    rw_model_free(longer);
}

/* Trees of one feature each; only feature 1 has a large enough gain. */
Test(booster_empty, by_sampled_features, .init = setup, .fini = teardown)
{
    enum { FEATURES = 5, ROUNDS = 200 };
    uint32_t drawn[ROUNDS], n_empty = 0;
    int32_t last = 0;
    char rounds[16];
    for (uint32_t t = 0; t < ROUNDS; t++) {
        drawn[t] = lowest_of(1, 1, FEATURES, t, RW_STREAM_SAMPLE_FEATURE);
        last = drawn[t] == 1 ? (int32_t)t : last;
    }
    train = fixture_data(ctx, 1, 30, 12, FEATURES);
    for (uint32_t i = 0; i < train->column[0].n; i++)
        train->column[0].value[i] = train->label[i];
    set("objective", "regression");
    set("rate", "0.001");   /* so that gains hardly fall */
    set("min-gain", "200"); /* of 277 and more with feature 1, of 148 and less with the others */
    set("min-docs", "5");
    set("sample-features", "1e-9");
    snprintf(rounds, sizeof(rounds), "%d", last + 1);
    set("rounds", rounds);
    struct rw_model *model = trained();
    cr_assert_eq(n_warnings, 0, "%s", warning);
    cr_assert_eq(model->n_trees, last + 1);
    for (int32_t t = 0; t <= last; t++) {
        cr_assert_eq(model->tree[t].n_leaves > 1, drawn[t] == 1, "tree %d", t);
        n_empty += model->tree[t].n_leaves == 1;
    }
    cr_assert_gt(n_empty, 100);
    rw_model_free(model);
}

/* Trees that cannot be split, before the last one, which can. */
static uint32_t n_empty_trees(void)
{
    struct rw_model *model = trained();
    uint32_t n = 0;
    cr_assert_eq(n_warnings, 0, "%s", warning);
    cr_assert_gt(model->tree[model->n_trees - 1].n_leaves, 1);
    for (int32_t t = 0; t < model->n_trees; t++)
        n += model->tree[t].n_leaves == 1;
    rw_model_free(model);
    return n;
}

/* Nodes of one feature each; only feature 1 has a large enough gain. */
Test(booster_empty, by_features_of_nodes, .init = setup, .fini = teardown)
{
    train = fixture_data(ctx, 1, 30, 12, 5);
    for (uint32_t i = 0; i < train->column[0].n; i++)
        train->column[0].value[i] = train->label[i];
    set("objective", "regression");
    set("rate", "0.001");
    set("min-gain", "200");
    set("min-docs", "5");
    set("leaves", "2");
    set("rounds", "40");
    cr_assert_eq(n_empty_trees(), 0);
    set("sample-features-node", "1e-9");
    cr_assert_gt(n_empty_trees(), 10);
}

/* Gradients of drawn orders, which only sometimes have a gain that is large enough. */
Test(booster_empty, by_drawn_orders, .init = setup, .fini = teardown)
{
    train = fixture_data(ctx, 1, 30, 12, 5);
    set("objective", "yetirank");
    set("rate", "0.001");
    set("min-gain", "1.7"); /* first splits gain about that */
    set("min-docs", "5");
    set("leaves", "2");
    set("rounds", "40");
    cr_assert_gt(n_empty_trees(), 5);
}
