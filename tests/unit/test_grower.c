#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "each.h"
#include "train_fixture.h"
#include "tree/grower.h"

static struct rw_ctx *ctx;
static struct rw_dataset *train;
static struct rw_tree tree;
static int32_t leaf_slot[RW_MAX_LEAVES];
static struct rw_grow_times times;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    train = fixture_data(ctx, 1, 40, 10, 4);
}

static void teardown(void)
{
    rw_tree_release(&tree);
    rw_dataset_free(train);
    rw_ctx_free(ctx);
}

#define GROWER_TEST(name) Test(grower, name, .init = setup, .fini = teardown)

/* One tree of regression on the labels. */
static int grow(const struct rw_grow_rules *rules, double min_gain, const char *device)
{
    const struct rw_engine_rules engine_rules = {.cut = {.bins = 64, .min_docs = rules->min_docs},
                                                 .objective = &rw_objective_regression,
                                                 .lambda = {.sigma = 1.0f},
                                                 .min_docs = rules->min_docs,
                                                 .split.min_gain = min_gain,
                                                 .symmetric = rules->symmetric,
                                                 .bits = 12,
                                                 .nearest = 1,
                                                 .query_threshold = (uint64_t)1 << 32,
                                                 .feature_threshold = (uint64_t)1 << 32,
                                                 .max_slots = rw_grow_max_slots(rules),
                                                 .max_histograms = rw_grow_max_histograms(rules)};
    struct rw_engine *engine = NULL;
    struct rw_grower *grower = NULL;
    int status = RW_OK;
    rw_tree_release(&tree);
    RW_TRY_OUT(rw_engine_open(ctx, device, &engine_rules, &engine));
    RW_TRY_OUT(rw_engine_load(engine, 0, train, NULL, NULL));
    RW_TRY_OUT(rw_grower_new(ctx, rules, &grower));
    RW_TRY_OUT(rw_grower_grow(grower, engine, 0, &tree, leaf_slot, &times));
    RW_TRY_OUT(rw_tree_check(ctx, &tree, ""));
out:
    rw_free(grower);
    rw_engine_close(engine);
    return status;
}

static int32_t depth_of(int32_t node)
{
    if (node < 0)
        return 0;
    const int32_t left = depth_of(tree.left[node]), right = depth_of(tree.right[node]);
    return 1 + (left > right ? left : right);
}

static void count_leaves(uint32_t *counts)
{
    float *columns[5];
    memset(counts, 0, (size_t)tree.n_leaves * sizeof(*counts));
    for (uint32_t f = 0; f < 5; f++) {
        columns[f] = malloc(train->n_docs * sizeof(float));
        rw_dataset_feature(train, f, 0.0f, columns[f]);
    }
    for (uint32_t i = 0; i < train->n_docs; i++) {
        float values[5];
        for (uint32_t f = 0; f < 5; f++)
            values[f] = columns[f][i];
        counts[rw_tree_leaf(&tree, values, 5, 0.0f)]++;
    }
    for (uint32_t f = 0; f < 5; f++)
        free(columns[f]);
}

GROWER_TEST(limits_of_growth)
{
    for (int32_t leaves = 2; leaves <= 40; leaves += 3) {
        for (uint32_t min_docs = 1; min_docs <= 50; min_docs += 7) {
            const struct rw_grow_rules rules = {
                .leaves = leaves, .min_docs = min_docs, .rate = 1.0, .depth = leaves % 4};
            uint32_t counts[64];
            cr_assert_eq(grow(&rules, 0.0, "cpu"), RW_OK, "%s", rw_last_error(ctx));
            cr_assert_leq(tree.n_leaves, leaves);
            if (rules.depth)
                cr_assert_leq(depth_of(0), rules.depth);
            count_leaves(counts);
            for (int32_t leaf = 0; leaf < tree.n_leaves; leaf++)
                cr_assert_geq(counts[leaf], min_docs);
        }
    }
}

GROWER_TEST(the_best_node_first)
{
    const struct rw_grow_rules few = {.leaves = 8, .min_docs = 5, .rate = 1.0};
    const struct rw_grow_rules more = {.leaves = 20, .min_docs = 5, .rate = 1.0};
    cr_assert_eq(grow(&more, 0.0, "cpu"), RW_OK);
    struct rw_tree larger = tree;
    memset(&tree, 0, sizeof(tree));
    cr_assert_eq(grow(&few, 0.0, "cpu"), RW_OK);
    cr_assert_eq(tree.n_leaves, 8);
    cr_assert_eq(larger.n_leaves, 20);
    for (int k = 0; k < 7; k++) { /* the larger tree begins as the smaller one does */
        cr_assert_eq(tree.feature[k], larger.feature[k]);
        cr_assert_eq(tree.cut[k], larger.cut[k]);
        cr_assert_eq(tree.gain[k], larger.gain[k]);
    }
    /* a node is split no later than its children, and a better one that was there no later */
    for (int k = 1; k < 19; k++) {
        for (int j = 0; j < k; j++) {
            int parent = 0;
            while (larger.left[parent] != k && larger.right[parent] != k)
                parent++;
            if (parent < j)
                cr_assert_leq(larger.gain[k], larger.gain[j]);
        }
    }
    rw_tree_release(&larger);
}

/* Two halves that mirror each other: their best splits gain the same, and the one that was numbered
 * first is split first. */
GROWER_TEST(equal_gains_in_the_order_of_nodes)
{
    float values[80][2], labels[80];
    const uint32_t offsets[] = {0, 80};
    for (int i = 0; i < 80; i++) {
        values[i][0] = (float)(i / 40);
        values[i][1] = (float)(i % 4);
        labels[i] = 8.0f + values[i][1];
    }
    rw_dataset_free(train);
    cr_assert_eq(rw_dataset_from_memory(ctx, &values[0][0], labels, offsets, 80, 2, 1, 1, &train),
                 RW_OK, "%s", rw_last_error(ctx));
    for (int i = 0; i < 40; i++)
        train->label[i] = -train->label[i];
    const struct rw_grow_rules rules = {.leaves = 4, .min_docs = 1, .rate = 1.0};
    cr_assert_eq(grow(&rules, 0.0, "cpu"), RW_OK);
    cr_assert_eq(tree.n_leaves, 4);
    cr_assert_eq(tree.feature[0], 1);
    cr_assert_eq(tree.gain[1], tree.gain[2]);
    cr_assert_eq(tree.left[0], 1);
    cr_assert_eq(tree.right[0], 2);
}

GROWER_TEST(levels)
{
    const struct rw_grow_rules rules = {.levels = 1, .depth = 3, .min_docs = 5, .rate = 1.0};
    cr_assert_eq(rw_grow_max_slots(&rules), 15);
    cr_assert_eq(grow(&rules, 0.0, "cpu"), RW_OK);
    cr_assert_gt(tree.n_leaves, 4);
    cr_assert_eq(depth_of(0), 3);
    int32_t depth[8] = {0}, next = 1;
    for (int32_t k = 0; k + 1 < tree.n_leaves; k++) { /* nodes level by level, from the left */
        const int32_t child[2] = {tree.left[k], tree.right[k]};
        for (int side = 0; side < 2; side++) {
            if (child[side] < 0)
                continue;
            cr_assert_eq(child[side], next++);
            depth[child[side]] = depth[k] + 1;
        }
        cr_assert(k == 0 || depth[k] >= depth[k - 1]);
    }
    for (int32_t leaf = 0; leaf + 1 < tree.n_leaves; leaf++)
        cr_assert_lt(leaf_slot[leaf], leaf_slot[leaf + 1]);
}

/* The sums of some documents: labels, which are also the lambdas of a first tree, and counts. */
struct part {
    double sum, n;
};

/* The share of a level's gain, from its definition. */
static double share_of(struct part part, double min_docs)
{
    return part.n < min_docs ? 0.0 : part.sum * part.sum / part.n;
}

/* Adds up the documents of each of 2^depth nodes on either side of a split by `feature`. */
static void add_level(const int *node, const float *column, float cut, int missing_left,
                      struct part (*part)[2])
{
    memset(part, 0, 64 * sizeof(*part));
    for (uint32_t i = 0; i < train->n_docs; i++) {
        const int left = isnan(column[i]) ? missing_left : column[i] <= cut;
        part[node[i]][!left].sum += (double)train->label[i];
        part[node[i]][!left].n += 1.0;
    }
}

static double level_gain(struct part (*part)[2], int n, double min_docs)
{
    double gain = 0.0;
    for (int k = 0; k < n; k++) {
        const struct part all = {part[k][0].sum + part[k][1].sum, part[k][0].n + part[k][1].n};
        gain += share_of(part[k][0], min_docs) + share_of(part[k][1], min_docs) -
                share_of(all, min_docs);
    }
    return gain;
}

/* Each level of a symmetric tree has one split. Its gain follows from the definition, and no split
 * at any document's value has a higher one. Empty leaves have the value of an ancestor. */
GROWER_TEST(symmetric)
{
    const struct rw_grow_rules rules = {
        .levels = 1, .symmetric = 1, .depth = 6, .min_docs = 12, .rate = 1.0};
    enum { DOCS = 300 };
    static float value[DOCS][5], labels[DOCS], column[5][DOCS], *columns[5];
    const uint32_t offsets[] = {0, DOCS};
    int node[DOCS] = {0}, n_empty = 0;
    cr_assert_eq(rw_grow_max_slots(&rules), 127);
    cr_assert_eq(rw_grow_max_histograms(&rules), 32);
    for (int i = 0; i < DOCS; i++) {
        labels[i] = (float)((i * 7919 + i / 7) % 13);
        for (int f = 0; f < 5; f++) {
            value[i][f] = (float)(i * (31 + 12 * f) % (f == 4 ? 7 : 40) - 3);
            if (f >= 3 && i % 11 == f)
                value[i][f] = NAN;
            column[f][i] = value[i][f];
            columns[f] = column[f];
        }
    }
    rw_dataset_free(train);
    cr_assert_eq(rw_dataset_from_memory(ctx, &value[0][0], labels, offsets, DOCS, 5, 1, 0, &train),
                 RW_OK, "%s", rw_last_error(ctx));
    for (int i = 0; i < DOCS; i++)
        train->label[i] -= 6.0f;
    cr_assert_eq(grow(&rules, 0.0, "ref"), RW_OK);
    cr_assert_eq(tree.n_leaves & (tree.n_leaves - 1), 0);
    cr_assert_geq(tree.n_leaves, 8);
    for (int n = 1; n < tree.n_leaves; n *= 2) {
        struct part part[64][2];
        const int first = n - 1;
        const uint32_t own = tree.feature[first];
        for (int k = first; k < first + n; k++) {
            cr_assert_eq(tree.feature[k], own);
            cr_assert_eq(tree.cut[k], tree.cut[first]);
            cr_assert_eq(tree.missing_left[k], tree.missing_left[first]);
            cr_assert_eq(tree.gain[k], tree.gain[first]);
        }
        add_level(node, columns[own], tree.cut[first], tree.missing_left[first], part);
        const double gain = level_gain(part, n, 12.0);
        for (uint32_t f = 0; f < 5; f++) {
            for (uint32_t i = 0; i < train->n_docs; i++) {
                struct part other[64][2];
                for (int missing = 0; missing < 2 && !isnan(columns[f][i]); missing++) {
                    add_level(node, columns[f], columns[f][i], missing, other);
                    cr_assert_leq(level_gain(other, n, 12.0), gain * 1.001);
                }
            }
        }
        for (uint32_t i = 0; i < train->n_docs; i++) {
            const float x = columns[own][i];
            const int left = isnan(x) ? tree.missing_left[first] : x <= tree.cut[first];
            node[i] = 2 * node[i] + !left;
        }
    }
    for (int32_t leaf = 0; leaf < tree.n_leaves; leaf++) {
        double sum = 0.0;
        int n = 0, above = leaf, shift = 0;
        for (; n == 0; above /= 2, shift++) {
            for (uint32_t i = 0; i < train->n_docs; i++) {
                if (node[i] >> shift == above) {
                    n++;
                    sum += (double)train->label[i];
                }
            }
            n_empty += n == 0;
        }
        cr_assert_float_eq(tree.leaf[leaf], sum / n, 1e-5, "leaf %d", leaf);
        cr_assert_eq(tree.docs[leaf] > 0.0, shift == 1);
    }
    cr_assert_gt(n_empty, 0);
}

GROWER_TEST(nothing_to_split)
{
    const struct rw_grow_rules rules = {.leaves = 8, .min_docs = 5, .rate = 1.0};
    cr_assert_eq(grow(&rules, 1e20, "ref"), RW_OK);
    cr_assert_eq(tree.n_leaves, 1);
    cr_assert_eq(tree.leaf[0], 0.0f);
    cr_assert_eq(leaf_slot[0], 0);
}

GROWER_TEST(leaves_are_means)
{
    const struct rw_grow_rules rules = {.leaves = 5, .min_docs = 5, .rate = 1.0};
    uint32_t counts[5];
    double sums[5] = {0}, total = 0.0, expected = 0.0;
    cr_assert_eq(grow(&rules, 0.0, "sim"), RW_OK);
    count_leaves(counts);
    for (int k = 0; k < 5; k++)
        total += (sums[k] = (double)tree.leaf[k] * counts[k]);
    for (uint32_t i = 0; i < train->n_docs; i++)
        expected += (double)train->label[i];
    cr_assert_float_eq(total, expected, 1e-4);
}

GROWER_TEST(no_memory)
{
    const struct rw_grow_rules rules = {.leaves = 8, .min_docs = 5, .rate = 1.0};
    rw_ctx_set_threads(ctx, 1);
    int status = RW_ERR_MEMORY;
    long n = 0;
    while (status != RW_OK) {
        rw_mem_fail_from(++n);
        status = grow(&rules, 0.0, "cpu");
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || status == RW_ERR_MEMORY);
        cr_assert_lt(n, 1000);
    }
    cr_assert_gt(n, 20);
}

static void assert_same_tree(const struct rw_tree *one)
{
    const size_t n = (size_t)one->n_leaves - 1;
    cr_assert_eq(tree.n_leaves, one->n_leaves);
    cr_assert_arr_eq(tree.left, one->left, n * sizeof(*one->left));
    cr_assert_arr_eq(tree.right, one->right, n * sizeof(*one->right));
    cr_assert_arr_eq(tree.feature, one->feature, n * sizeof(*one->feature));
    cr_assert_arr_eq(tree.cut, one->cut, n * sizeof(*one->cut));
    cr_assert_arr_eq(tree.gain, one->gain, n * sizeof(*one->gain));
    cr_assert_arr_eq(tree.leaf, one->leaf, (n + 1) * sizeof(*one->leaf));
}

/* Trees grown in batches, node for node the tree that grows one at a time. */
GROWER_TEST(batches_change_nothing)
{
    static const char *const devices[] = {"ref", "cpu", "sim"};
    struct rw_grow_rules rules = {.leaves = 60, .min_docs = 1, .rate = 1.0, .batch = 1};
    cr_assert_eq(grow(&rules, 0.0, "cpu"), RW_OK);
    struct rw_tree one = tree;
    memset(&tree, 0, sizeof(tree));
    cr_assert_gt(one.n_leaves, 20);
    for (rules.batch = 2; rules.batch <= 128; rules.batch *= 2) {
        cr_assert_eq(grow(&rules, 0.0, devices[rules.batch % 3]), RW_OK);
        assert_same_tree(&one);
        cr_assert_lt(times.n_batches, one.n_leaves - 1);
        cr_assert_geq(times.n_histograms, times.n_batches);
    }
    rw_tree_release(&one);
}

/* Blocks that are alike: whichever of equal gains a batch takes first, the tree is the one that
 * grows one node at a time, with room for any number of them. */
GROWER_TEST(batches_of_equal_gains)
{
    enum { DOCS = 1024, BLOCK = 64 };
    static float values[DOCS][2], labels[DOCS];
    const uint32_t offsets[] = {0, DOCS};
    for (int i = 0; i < DOCS; i++) {
        values[i][0] = (float)(i / BLOCK);
        values[i][1] = (float)(i % 8);
        labels[i] = (float)((i % 8) * (i % 8));
    }
    rw_dataset_free(train);
    cr_assert_eq(rw_dataset_from_memory(ctx, &values[0][0], labels, offsets, DOCS, 2, 1, 1, &train),
                 RW_OK, "%s", rw_last_error(ctx));
    for (int i = 0; i < DOCS; i++)
        train->label[i] *= i / BLOCK % 2 ? -1.0f : 1.0f;
    int n_equal = 0;
    for (int32_t leaves = 2; leaves < 80; leaves++) {
        struct rw_grow_rules rules = {.leaves = leaves, .min_docs = 1, .rate = 1.0, .batch = 1};
        cr_assert_eq(grow(&rules, 0.0, "cpu"), RW_OK);
        struct rw_tree one = tree;
        memset(&tree, 0, sizeof(tree));
        for (int32_t k = 1; k + 1 < one.n_leaves; k++)
            n_equal += one.gain[k] == one.gain[k - 1];
        for (rules.batch = 2; rules.batch <= 32; rules.batch += 5) {
            cr_assert_eq(grow(&rules, 0.0, "cpu"), RW_OK, "%s", rw_last_error(ctx));
            assert_same_tree(&one);
        }
        rw_tree_release(&one);
    }
    cr_assert_gt(n_equal, 1000, "%d gains equal the one before", n_equal);
}

/* The largest tree is grown in batches, too, and choosing them takes no longer the larger it is. */
GROWER_TEST(the_largest_tree)
{
    const struct rw_grow_rules rules = {
        .leaves = RW_MAX_LEAVES, .min_docs = 1, .rate = 1.0, .batch = 8};
    rw_dataset_free(train);
    train = fixture_data(ctx, 3, 8000, 10, 4);
    for (uint32_t i = 0; i < train->n_docs; i++)
        train->label[i] = (float)fixture_unit(4, i); /* every split gains something */
    cr_assert_eq(grow(&rules, 0.0, "cpu"), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(tree.n_leaves, RW_MAX_LEAVES);
    cr_expect_leq(times.n_batches, RW_MAX_LEAVES / 4, "%d batches", times.n_batches);
    cr_expect_leq(times.n_speculative, 10 * RW_MAX_LEAVES, "%d looked at", times.n_speculative);
}

/* A few documents have nearly all of the labels' sum, so gains grow below a node and speculative
 * expansions are useless. Slots remain for necessary nodes, and room for histograms, because
 * those of impossible nodes are dropped ('ref' reports if one of them is needed, or if too many
 * are kept). */
GROWER_TEST(batches_that_guess_badly)
{
    int n_released = 0;
    for (uint64_t seed = 0; seed < 5; seed += EACH(3)) {
        for (uint32_t i = 0; i < train->n_docs; i++)
            train->label[i] = (float)exp(8 * fixture_unit(seed + 77, i));
        for (int32_t leaves = 20; leaves < 400; leaves *= 2) {
            struct rw_grow_rules rules = {.leaves = leaves, .min_docs = 1, .rate = 1.0, .batch = 1};
            cr_assert_eq(grow(&rules, 0.0, "ref"), RW_OK);
            struct rw_tree one = tree;
            memset(&tree, 0, sizeof(tree));
            for (rules.batch = 8; rules.batch <= 512; rules.batch *= 4) {
                cr_assert_eq(grow(&rules, 0.0, "ref"), RW_OK, "%s", rw_last_error(ctx));
                assert_same_tree(&one);
                n_released += times.n_released;
            }
            rw_tree_release(&one);
        }
    }
    cr_assert_gt(n_released, 1000, "%d histograms were forgotten", n_released);
}

GROWER_TEST(slots_of_batches)
{
    struct rw_grow_rules rules = {.leaves = 31, .batch = 1};
    cr_assert_eq(rw_grow_max_slots(&rules), 61);
    cr_assert_eq(rw_grow_max_histograms(&rules), 31);
    rules.batch = 16;
    cr_assert_eq(rw_grow_max_slots(&rules), 154);
    cr_assert_eq(rw_grow_max_histograms(&rules), 93);
    rules.leaves = 4;
    cr_assert_eq(rw_grow_max_histograms(&rules), 12);
    rules.leaves = 65536; /* as many as engines take */
    cr_assert_eq(rw_grow_max_slots(&rules), RW_MAX_SLOTS);
    cr_assert_eq(rw_grow_max_histograms(&rules), 65600);
    const struct rw_grow_rules levels = {.levels = 1, .depth = 5};
    cr_assert_eq(rw_grow_max_histograms(&levels), 32);
}
