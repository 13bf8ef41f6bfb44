/* Features that may be used together, samples of nodes and of documents, and penalties: what
 * trained models show of them. That engines agree is tests/check's. */
#include "base/mem.h"
#include "train/train.h"
#include "train_fixture.h"
#include "tree/grower.h"

enum { N_FEATURES = 9, FIRST = 1 };

static struct rw_ctx *ctx;
static struct rw_params *params;
static struct rw_dataset *train;
static struct rw_interactions groups;
static struct rw_arena arena; /* has the groups */

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    train = fixture_data(ctx, 3, 60, 20, N_FEATURES);
}

static void teardown(void)
{
    rw_arena_free(&arena);
    rw_dataset_free(train);
    rw_params_free(params);
    rw_ctx_free(ctx);
}

TestSuite(node_features, .init = setup, .fini = teardown, .timeout = 60);

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

static struct rw_model *trained(void)
{
    struct rw_model *model;
    set("rounds", "6");
    set("leaves", "24");
    set("min-docs", "2");
    set("device", "cpu");
    cr_assert_eq(rw_train(ctx, params, train, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    return model;
}

/* Features that ways from the root through node k to its leaves use, as bits. */
static void collect(const struct rw_tree *tree, int32_t k, uint32_t above, uint32_t *ways, int *n)
{
    if (k < 0) {
        ways[(*n)++] = above;
        return;
    }
    collect(tree, tree->left[k], above | 1u << tree->feature[k], ways, n);
    collect(tree, tree->right[k], above | 1u << tree->feature[k], ways, n);
}

static int is_one(uint32_t bits)
{
    return (bits & (bits - 1)) == 0;
}

/* Ways that use features of no one group. */
static int n_broken(const struct rw_model *model, const uint32_t *group, int n_groups)
{
    int broken = 0;
    for (int32_t t = 0; t < model->n_trees; t++) {
        uint32_t ways[64];
        int n = 0;
        collect(&model->tree[t], model->tree[t].n_leaves > 1 ? 0 : -1, 0, ways, &n);
        for (int i = 0; i < n; i++) {
            int whole = is_one(ways[i]);
            for (int g = 0; g < n_groups; g++)
                whole |= (ways[i] & ~group[g]) == 0;
            broken += !whole;
        }
    }
    return broken;
}

Test(node_features, ways_stay_in_a_group)
{
    static const uint32_t group[] = {0x6, 0x30, 0xe0}; /* 1-2; 4-5; 5-7: 3, 8 and 9 are alone */
    struct rw_model *free_model = trained();
    cr_assert_gt(n_broken(free_model, group, 3), 0);
    set("interactions", "1-2;4-5;5-7");
    struct rw_model *model = trained();
    cr_assert_eq(n_broken(model, group, 3), 0);
    uint32_t used = 0, mixed = 0;
    for (int32_t t = 0; t < model->n_trees; t++) {
        uint32_t ways[64];
        int n = 0;
        collect(&model->tree[t], 0, 0, ways, &n);
        for (int i = 0; i < n; i++) {
            used |= ways[i];
            mixed += !is_one(ways[i]);
        }
    }
    cr_assert(mixed > 0 && (used & 0x6));
    /* what continues looks at the model first */
    cr_assert_eq(rw_interactions_parse(ctx, &arena, "1-2;4-5;5-7",
                                       &(struct rw_training_features){.name = NULL}, &groups),
                 RW_OK);
    cr_assert_eq(rw_continuation_check(ctx, model, NULL, &groups), RW_OK);
    cr_assert_eq(rw_continuation_check(ctx, free_model, NULL, &groups), RW_ERR_ARGUMENT);
    rw_model_free(free_model);
    rw_model_free(model);
}

/* Larger penalties give fewer splits by the feature; gains are reduced by the penalty. */
Test(node_features, penalties_are_taken_from_gains)
{
    static const char *const lists[] = {"1:0", "1:0.5", "1:4", "1:1e9"};
    int last = 1000000;
    for (int i = 0; i < 4; i++) {
        int n = 0;
        set("feature-penalty", lists[i]);
        set("min-gain", "0.001");
        struct rw_model *model = trained();
        for (int32_t t = 0; t < model->n_trees; t++) {
            for (int32_t k = 0; k + 1 < model->tree[t].n_leaves; k++) {
                n += model->tree[t].feature[k] == 1;
                cr_assert_gt(model->tree[t].gain[k], 0.001);
            }
        }
        cr_assert(n < last, "%s: %d splits, %d before", lists[i], n, last);
        last = n;
        rw_model_free(model);
    }
    cr_assert_eq(last, 0);
}

/* Nodes of a tree are split by different features where one is drawn for each. */
Test(node_features, each_node_has_its_own)
{
    set("sample-features-node", "1e-9");
    set("sample-features", "1");
    struct rw_model *model = trained();
    uint32_t used = 0;
    for (int32_t k = 0; k + 1 < model->tree[0].n_leaves; k++)
        used |= 1u << model->tree[0].feature[k];
    cr_assert_gt(__builtin_popcount(used), 4);
    rw_model_free(model);
}

/* A model's text, with one of these sets of parameters. */
static void text_with(const char *noise, const char *batch, const char *seed, char **text,
                      size_t *n)
{
    set("gain-noise", noise);
    set("batch", batch);
    set("seed", seed);
    set("rounding", "nearest");
    set("sample-features", "1");
    struct rw_model *model = trained();
    cr_assert_eq(rw_model_write_memory(ctx, model, text, n), RW_OK);
    rw_model_free(model);
}

static int differ(const char *a, size_t n_a, const char *b, size_t n_b)
{
    return n_a != n_b || memcmp(a, b, n_a);
}

/* The noise of a node depends on its path and not on the batch in which it is searched. Without
 * noise, the seed has no effect here. */
Test(node_features, noise_does_not_depend_on_batches)
{
    static const char *const noise[] = {"0", "0.5", "4"};
    char *first = NULL;
    size_t n_first = 0;
    for (int i = 0; i < 3; i++) {
        char *text, *other;
        size_t n, n_other;
        text_with(noise[i], "1", "1", &text, &n);
        text_with(noise[i], "16", "1", &other, &n_other);
        cr_expect_not(differ(text, n, other, n_other), "noise %s", noise[i]);
        rw_free(other);
        text_with(noise[i], "1", "2", &other, &n_other);
        cr_expect_eq(differ(text, n, other, n_other), i > 0, "noise %s", noise[i]);
        rw_free(other);
        cr_expect(!first || differ(first, n_first, text, n));
        rw_free(first);
        first = text;
        n_first = n;
    }
    rw_free(first);
}

/* Without a good feature, noise makes nodes use others, and stored gains are without noise: that of
 * the root is at most the best one. */
Test(node_features, noise_is_not_part_of_gains)
{
    double best = 0.0;
    int n_below = 0;
    set("sample-features", "1");
    set("rounding", "nearest");
    for (int seed = 0; seed < 8; seed++) {
        char number[8];
        snprintf(number, sizeof(number), "%d", seed);
        set("seed", number);
        set("gain-noise", seed ? "100" : "0");
        struct rw_model *model = trained();
        const double gain = model->tree[0].gain[0];
        if (!seed)
            best = gain;
        cr_expect(gain > 0.0 && gain <= best, "seed %d: %g, best %g", seed, gain, best);
        n_below += gain < best;
        rw_model_free(model);
    }
    cr_expect_gt(n_below, 0);
}

/* A level of a symmetric tree has one feature, which is drawn for that level among those that
 * the features above allow. */
Test(node_features, each_level_has_its_own)
{
    static const uint32_t group[] = {0x6, 0x30, 0xe0};
    uint32_t used = 0;
    set("grow", "symmetric");
    set("sample-features", "1");
    struct rw_model *free_model = trained();
    cr_assert_gt(n_broken(free_model, group, 3), 0);
    rw_model_free(free_model);
    set("interactions", "1-2;4-5;5-7");
    struct rw_model *model = trained();
    cr_assert_eq(n_broken(model, group, 3), 0);
    rw_model_free(model);
    set("interactions", "");
    set("sample-features-node", "1e-9");
    model = trained();
    for (int32_t k = 0; k + 1 < model->tree[0].n_leaves; k = 2 * k + 1)
        used |= 1u << model->tree[0].feature[k];
    cr_assert_gt(__builtin_popcount(used), 2);
    rw_model_free(model);
}

/* A level pays a feature's cost once, and its splits share the rest of the gain. */
Test(node_features, a_level_pays_once)
{
    set("grow", "symmetric");
    set("depth", "2");
    set("feature-penalty", "1-9:0");
    struct rw_model *model = trained();
    const double gain = model->tree[0].gain[1];
    char costs[32];
    cr_assert_eq(model->tree[0].n_leaves, 4);
    cr_assert_eq(model->tree[0].gain[2], gain);
    snprintf(costs, sizeof(costs), "1-9:%.17g", gain / 2.0);
    rw_model_free(model);
    set("feature-penalty", costs);
    model = trained();
    cr_assert_eq(model->tree[0].gain[1], (2.0 * gain - gain / 2.0) / 2.0);
    rw_model_free(model);
}
