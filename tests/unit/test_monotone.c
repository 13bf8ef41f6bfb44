/* Features with a direction: no two documents break it, whatever was trained and whoever scores. */
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "same_trees.h"
#include "train/train.h"
#include "train_fixture.h"
#include "tree/grower.h"

enum { N_FEATURES = 5, FIRST = 1, N_PAIRS = 700 };

static struct rw_ctx *ctx;
static struct rw_params *params;
static int8_t direction[RW_FEATURE_IDS];

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
}

static void teardown(void)
{
    rw_params_free(params);
    rw_ctx_free(ctx);
}

TestSuite(monotone, .init = setup, .fini = teardown, .timeout = 60);

static void set(const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(ctx, params, name, value), RW_OK, "%s", rw_last_error(ctx));
}

static uint32_t below(uint64_t seed, uint32_t item, uint32_t n)
{
    return (uint32_t)(fixture_unit(seed, item) * n);
}

/* ---- trainings ---- */

/* Some features rise, some fall, at least one does either. */
static void draw_directions(uint64_t seed)
{
    char list[128] = "";
    memset(direction, 0, sizeof(direction));
    for (uint32_t f = 0; f < N_FEATURES; f++) {
        const uint32_t way = f == 0 ? below(seed, f, 2) : below(seed, f, 3);
        if (way == 2)
            continue;
        direction[FIRST + f] = way ? 1 : -1;
        snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u:%c", list[0] ? "," : "",
                 FIRST + f, way ? '+' : '-');
    }
    set("monotone", list);
}

static void draw_params(uint64_t seed)
{
    static const char *const words[][4] = {{"split", "mart", "newton", "newton"},
                                           {"leaves", "5", "12", "31"},
                                           {"grow", "leaves", "symmetric", "symmetric"},
                                           {"rate", "0.1", "1", "0.9:0.1:5"},
                                           {"absent", "zero", "missing", "missing"},
                                           {"min-docs", "1", "3", "10"},
                                           {"l2", "0", "1", "300"},
                                           {"bins", "4", "30", "255"},
                                           {"bits", "8", "4", "16"},
                                           {"sample-queries", "1", "0.7", "0.4"},
                                           {"objective", "lambdarank", "queryrmse", "listnet"}};
    for (uint32_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        set(words[i][0], words[i][1 + below(seed, 100 + i, 3)]);
    set("rounds", "8");
    set("sample-features", "0.8");
}

static struct rw_model *trained_on(const char *device, const struct rw_dataset *train)
{
    struct rw_model *model;
    set("device", device);
    cr_assert_eq(rw_train(ctx, params, train, NULL, 0, NULL, &model), RW_OK, "%s",
                 rw_last_error(ctx));
    return model;
}

/* ---- pairs of documents ---- */

/* A value as training has them, or one that it never saw. */
static float value_at(uint64_t seed, uint32_t item)
{
    static const float other[] = {-FLT_MAX, -5.0f, 0.0f, 1e-42f, 20.0f, FLT_MAX};
    const uint32_t kind = below(seed, item, 8);
    if (kind == 0)
        return (float)NAN;
    if (kind == 1)
        return other[below(seed, item + 1, 6)];
    return (float)(fixture_unit(seed, item + 1) * 12.0);
}

/* Draws two documents that differ only in constrained features: `high` is at least `low`
 * wherever scores must rise, and at most `low` wherever they must fall. */
static void draw_pair(uint64_t seed, uint32_t pair, float *low, float *high)
{
    for (uint32_t f = 0; f < N_FEATURES; f++) {
        const uint32_t item = (pair * N_FEATURES + f) * 8;
        const int way = direction[FIRST + f];
        low[f] = high[f] = value_at(seed, item);
        const float other = value_at(seed, item + 4);
        if (way == 0 || low[f] != low[f] || other != other)
            continue;
        low[f] = (way > 0) == (low[f] < other) ? low[f] : other;
        high[f] = low[f] == other ? high[f] : other;
    }
}

/* How many pairs break the order; all three ways to score say the same. */
static uint32_t count_broken(const struct rw_model *model, uint64_t seed)
{
    static float values[2 * N_PAIRS][N_FEATURES];
    static double scores[2 * N_PAIRS], again[2 * N_PAIRS];
    uint32_t offsets[] = {0, 2 * N_PAIRS}, n_broken = 0;
    static float labels[2 * N_PAIRS];
    struct rw_dataset *data;
    struct rw_scorer *scorer;
    for (uint32_t pair = 0; pair < N_PAIRS; pair++)
        draw_pair(seed, pair, values[2 * pair], values[2 * pair + 1]);
    cr_assert_eq(rw_dataset_from_memory(ctx, values[0], labels, offsets, 2 * N_PAIRS, N_FEATURES, 1,
                                        FIRST, &data),
                 RW_OK);
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    cr_assert_eq(rw_scorer_open(ctx, model, 0, "cpu", &scorer), RW_OK);
    for (int time = 0; time < 5; time++) /* until it is packed, if it ever is */
        cr_assert_eq(rw_scorer_rows(ctx, scorer, values[0], 2 * N_PAIRS, N_FEATURES, FIRST, again),
                     RW_OK);
    cr_assert_eq(memcmp(scores, again, sizeof(scores)), 0);
    for (uint32_t pair = 0; pair < N_PAIRS; pair++)
        n_broken += !(scores[2 * pair] <= scores[2 * pair + 1]);
    rw_scorer_free(scorer);
    rw_dataset_free(data);
    return n_broken;
}

/* The same model on all engines; no pair breaks it, and without directions some do. */
Test(monotone, no_pair_breaks_it)
{
    static const char *const devices[] = {"cpu", "sim"};
    uint32_t n_free = 0, n_splits = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        struct rw_dataset *train = fixture_data(ctx, seed, 30, 12, N_FEATURES);
        draw_params(seed);
        draw_directions(seed);
        struct rw_model *model = trained_on("ref", train);
        for (size_t d = 0; d < sizeof(devices) / sizeof(devices[0]); d++) {
            struct rw_model *other = trained_on(devices[d], train);
            cr_assert(same_trees(model, other), "%s, seed %u", devices[d], (unsigned)seed);
            rw_model_free(other);
        }
        struct rw_monotone *room;
        cr_assert_eq(RW_NEW(ctx, room, 127), RW_OK);
        for (int32_t t = 0; t < model->n_trees; t++) {
            cr_assert_eq(rw_monotone_broken(room, direction, &model->tree[t]), -1);
            for (int32_t k = 0; k < model->tree[t].n_leaves - 1; k++)
                n_splits += direction[model->tree[t].feature[k]] != 0;
        }
        rw_mem_free(room);
        cr_assert_eq(count_broken(model, seed), 0, "seed %u", (unsigned)seed);
        rw_model_free(model);
        set("monotone", "");
        model = trained_on("cpu", train);
        n_free += count_broken(model, seed);
        rw_model_free(model);
        rw_dataset_free(train);
    }
    cr_assert_gt(n_free, 100);
    cr_assert_gt(n_splits, 100);
}

/* The cpu engine evaluates boundaries approximately first, of cells that are added up in several
 * ways. */
Test(monotone, cells_of_any_kind)
{
    struct rw_dataset *train = fixture_data(ctx, 3, 100, 20, N_FEATURES);
    static const char *const bits[] = {"8", "16"}, *const splits[] = {"mart", "newton"};
    set("monotone", "1:-,2:+,3:-,5:+");
    set("rounds", "2");
    set("leaves", "40");
    set("min-docs", "2");
    for (int i = 0; i < 4; i++) {
        set("bits", bits[i / 2]);
        set("split", splits[i % 2]);
        struct rw_model *ref = trained_on("ref", train), *cpu = trained_on("cpu", train);
        cr_assert(same_trees(ref, cpu), "%s bits, %s", bits[i / 2], splits[i % 2]);
        rw_model_free(ref);
        rw_model_free(cpu);
    }
    rw_dataset_free(train);
}

/* A direction that the data contradict leaves nothing to split. */
Test(monotone, nothing_is_left)
{
    float values[200], labels[200];
    uint32_t offsets[21];
    struct rw_dataset *train;
    struct rw_model *model;
    for (uint32_t i = 0; i < 200; i++)
        values[i] = labels[i] = (float)(i % 10 % 4);
    for (uint32_t q = 0; q <= 20; q++)
        offsets[q] = 10 * q;
    cr_assert_eq(rw_dataset_from_memory(ctx, values, labels, offsets, 200, 1, 20, 1, &train),
                 RW_OK);
    set("monotone", "1:-");
    cr_assert_eq(rw_train(ctx, params, train, NULL, 0, NULL, &model), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(ctx), "training made no trees: no split of 20 documents or more "
                                         "on each side has a gain and satisfies --monotone 1:-");
    set("monotone", "1:+");
    model = trained_on("cpu", train);
    const struct rw_run_param *kept = rw_model_params_find(&model->params, "monotone");
    cr_assert(kept && strcmp(kept->value, "1:+") == 0);
    rw_model_free(model);
    rw_dataset_free(train);
}

/* ---- values ---- */

/* A leaf's value is its lambdas' sum by that of its hessians. */
static const struct rw_leaf_rule plain_rule = {.rate = 1.0, .mean_hess = 1.0};

static struct rw_sum sum_of(int64_t lambda, int64_t hess)
{
    struct rw_sum sum = {0, 0, 0, 0, 0};
    rw_sum_add(&sum, lambda, hess);
    return sum;
}

/* (0: feature 1) -> (1: feature 2) -> leaves 0 and 1; leaf 2. */
static void small_tree(struct rw_tree *tree)
{
    cr_assert_eq(rw_tree_init(ctx, tree, 3), RW_OK);
    tree->feature[0] = 1;
    tree->left[0] = 1;
    tree->right[0] = ~2;
    tree->feature[1] = 2;
    tree->left[1] = ~0;
    tree->right[1] = ~1;
}

static void expect_values(const struct rw_sum *sum, float a, float b, float c)
{
    struct rw_monotone *room;
    struct rw_tree tree;
    small_tree(&tree);
    cr_assert_eq(RW_NEW(ctx, room, 5), RW_OK);
    rw_bounded_values(room, &plain_rule, direction, sum, 0, &tree);
    cr_assert_eq(tree.leaf[0], a, "%g", (double)tree.leaf[0]);
    cr_assert_eq(tree.leaf[1], b, "%g", (double)tree.leaf[1]);
    cr_assert_eq(tree.leaf[2], c, "%g", (double)tree.leaf[2]);
    rw_mem_free(room);
    rw_tree_release(&tree);
}

Test(monotone, bounds_of_leaves)
{
    /* the left node has value (9 - 1) / (1 + 1) = 4, the right leaf 6: the bound is 5, between
     * them */
    const struct rw_sum rising[] = {sum_of(9, 1), sum_of(-1, 1), sum_of(6, 1)};
    expect_values(rising, 9.0f, -1.0f, 6.0f);
    direction[1] = 1;
    expect_values(rising, 5.0f, -1.0f, 6.0f);
    /* below it, the bound holds for both children's values, and so for all values between them */
    direction[2] = -1;
    expect_values(rising, 5.0f, -1.0f, 6.0f);
    direction[2] = 1; /* 5 and -1 in the wrong order: both are worth 2 */
    expect_values(rising, 2.0f, 2.0f, 6.0f);
    /* quantised sums may have said otherwise: all values meet halfway */
    direction[1] = -1;
    direction[2] = 0;
    expect_values(rising, 9.0f, 5.0f, 5.0f);
    const struct rw_sum zero[] = {sum_of(-1, 0), sum_of(0, 0), sum_of(0, 4)};
    expect_values(zero, 0.0f, 0.0f, 0.0f);
}

/* The two left leaves and the right one, with some of them empty, in a symmetric tree. */
static void expect_symmetric(const struct rw_sum *sum, float a, float b, float c)
{
    struct rw_monotone room[5];
    struct rw_tree tree;
    small_tree(&tree);
    rw_bounded_values(room, &plain_rule, direction, sum, 1, &tree);
    cr_assert_eq(tree.leaf[0], a, "%g", (double)tree.leaf[0]);
    cr_assert_eq(tree.leaf[1], b, "%g", (double)tree.leaf[1]);
    cr_assert_eq(tree.leaf[2], c, "%g", (double)tree.leaf[2]);
    cr_assert_eq(rw_monotone_broken(room, direction, &tree), -1);
    rw_tree_release(&tree);
}

Test(monotone, empty_leaves)
{
    const struct rw_sum none = {0}, a = sum_of(9, 1), b = sum_of(-1, 1), c = sum_of(6, 1);
    const struct rw_sum no_right[] = {a, b, none}, no_left[] = {none, none, c};
    const struct rw_sum no_first[] = {none, b, c}, all[] = {a, b, c};
    expect_symmetric(all, 9.0f, -1.0f, 6.0f);
    expect_symmetric(no_right, 9.0f, -1.0f, 4.0f); /* the root's value: (9 - 1) / 2 */
    expect_symmetric(no_left, 6.0f, 6.0f, 6.0f);
    expect_symmetric(no_first, -1.0f, -1.0f, 6.0f);
    direction[1] = 1; /* the empty right leaf is limited, the others keep their values */
    expect_symmetric(no_right, 9.0f, -1.0f, 9.0f);
    expect_symmetric(no_left, 6.0f, 6.0f, 6.0f);
    direction[1] = -1;
    expect_symmetric(no_right, 9.0f, -1.0f, -1.0f);
    direction[1] = direction[2] = 1;
    expect_symmetric(all, 2.0f, 2.0f, 6.0f);
    expect_symmetric(no_first, -1.0f, -1.0f, 6.0f);
    const struct rw_sum above[] = {none, c, b}; /* 6 and -1 meet at 2.5 */
    expect_symmetric(above, 2.5f, 2.5f, 2.5f);
}

Test(monotone, values_without_end)
{
    /* nothing is lost where a value, or a sum of two, is infinite: the grower refuses such leaves
     */
    struct rw_leaf_rule rule = {.rate = 1.0, .mean_hess = 1.0, .lambda_exponent = -1000};
    const struct rw_sum sum[] = {sum_of(INT64_MAX, 1), sum_of(INT64_MAX, 1), sum_of(INT64_MIN, 1)};
    struct rw_monotone *room;
    struct rw_tree tree;
    direction[1] = 1;
    small_tree(&tree);
    cr_assert_eq(RW_NEW(ctx, room, 5), RW_OK);
    rw_bounded_values(room, &rule, direction, sum, 0, &tree);
    cr_assert_eq(tree.leaf[0], 0.0f);
    cr_assert_eq(tree.leaf[2], 0.0f);
    direction[1] = 0;
    rw_bounded_values(room, &rule, direction, sum, 0, &tree);
    cr_assert(isinf(tree.leaf[0]) && isinf(tree.leaf[2]));
    rw_mem_free(room);
    rw_tree_release(&tree);
}

Test(monotone, gains_in_order)
{
    struct rw_split_rule rule = {.gain_scale = 1.0, .l2 = 1.0, .min_docs = 1};
    const struct rw_cell low = {3, 5, -4}, high = {3, 1, 4};
    const double parent = 0.0, gain = rw_split_gain(&rule, &low, &high, parent);
    cr_assert_eq(gain, 8.0);
    cr_assert_eq(rw_ordered_gain(&rule, 0, &low, &high, parent), gain);
    cr_assert_eq(rw_ordered_gain(&rule, 1, &low, &high, parent), gain);
    cr_assert_eq(rw_ordered_gain(&rule, -1, &low, &high, parent), 0.0);
    cr_assert_eq(rw_ordered_gain(&rule, 1, &high, &low, parent), 0.0);
    cr_assert_eq(rw_ordered_gain(&rule, 1, &low, &low, parent), gain); /* equal values are */
    cr_assert_eq(rw_ordered_gain(&rule, -1, &low, &low, parent), gain);
    /* by counts -4 / 4 is under -4 / 5; by hessians -4 / 6 is above */
    const struct rw_cell a = {3, 5, -4}, b = {4, 2, -4};
    cr_assert_gt(rw_ordered_gain(&rule, 1, &a, &b, parent), 0.0);
    rule.newton = 1;
    rule.hess_unit = 1.0;
    cr_assert_eq(rw_ordered_gain(&rule, 1, &a, &b, parent), 0.0);
    cr_assert_gt(rw_ordered_gain(&rule, -1, &a, &b, parent), 0.0);
}

/* ---- models to continue from ---- */

Test(monotone, broken_splits)
{
    struct rw_monotone *room;
    struct rw_tree tree;
    small_tree(&tree);
    cr_assert_eq(RW_NEW(ctx, room, 5), RW_OK);
    tree.leaf[0] = 1.0f;
    tree.leaf[1] = -1.0f;
    tree.leaf[2] = 0.5f;
    cr_assert_eq(rw_monotone_broken(room, direction, &tree), -1);
    direction[2] = -1;
    cr_assert_eq(rw_monotone_broken(room, direction, &tree), -1);
    direction[2] = 1;
    cr_assert_eq(rw_monotone_broken(room, direction, &tree), 1);
    direction[1] = 1;
    cr_assert_eq(rw_monotone_broken(room, direction, &tree), 0);
    direction[2] = 0;
    tree.leaf[2] = 1.0f; /* equal ones keep it */
    cr_assert_eq(rw_monotone_broken(room, direction, &tree), -1);
    direction[1] = -1;
    cr_assert_eq(rw_monotone_broken(room, direction, &tree), 0);
    rw_mem_free(room);
    rw_tree_release(&tree);
}

Test(monotone, continues)
{
    struct rw_dataset *train = fixture_data(ctx, 1, 30, 12, N_FEATURES);
    struct rw_model *more;
    set("rounds", "3");
    set("min-docs", "3");
    struct rw_model *open = trained_on("cpu", train);
    set("monotone", "2:-,1:+");
    struct rw_model *first = trained_on("cpu", train);
    const struct rw_run_param *kept = rw_model_params_find(&first->params, "monotone");
    cr_assert(kept && strcmp(kept->value, "1:+,2:-") == 0);
    cr_assert_null(rw_model_params_find(&open->params, "monotone"));
    cr_assert_eq(
        rw_train_on(ctx, params, &(struct rw_training){.train = train, .init = open}, &more),
        RW_ERR_ARGUMENT);
    static const char expected[] = "the model to continue from violates 'monotone': at its split "
                                   "of feature 1 a left leaf is above a right one (threshold ";
    cr_assert_eq(strncmp(rw_last_error(ctx), expected, sizeof(expected) - 1), 0, "%s",
                 rw_last_error(ctx));
    cr_assert_eq(
        rw_train_on(ctx, params, &(struct rw_training){.train = train, .init = first}, &more),
        RW_OK);
    direction[1] = 1;
    direction[2] = -1;
    cr_assert_eq(more->n_trees, 6);
    cr_assert_eq(count_broken(more, 5), 0);
    cr_assert_eq(rw_continuation_check(ctx, more, direction, &(struct rw_interactions){0}), RW_OK);
    rw_model_free(more);
    rw_model_free(first);
    rw_model_free(open);
    rw_dataset_free(train);
}
