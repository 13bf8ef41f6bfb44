#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "train_fixture.h"
#include "tree/engine_host.h"

static struct rw_ctx *ctx;
static struct rw_dataset *train;
static double *gains;
static struct rw_engine *engine;

static struct rw_engine_rules plain_rules(void)
{
    return (struct rw_engine_rules){.cut = {.bins = 16, .min_docs = 2},
                                    .objective = &rw_objective_lambdarank,
                                    .lambda = {.sigma = 1.0f, .truncation = 10, .norm = 1},
                                    .min_docs = 2,
                                    .bits = 8,
                                    .seed = 1,
                                    .query_threshold = (uint64_t)1 << 32,
                                    .feature_threshold = (uint64_t)1 << 32,
                                    .max_slots = 7};
}

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    train = fixture_data(ctx, 1, 10, 8, 3);
    gains = malloc(train->n_docs * sizeof(*gains));
    for (uint32_t i = 0; i < train->n_docs; i++)
        gains[i] = train->label[i];
}

static void teardown(void)
{
    rw_engine_close(engine);
    rw_dataset_free(train);
    free(gains);
    rw_ctx_free(ctx);
}

#define ENGINE_TEST(name, ...) Test(engine, name, .init = setup, .fini = teardown, ##__VA_ARGS__)

static void open_engine(const char *device, const struct rw_engine_rules *rules)
{
    rw_engine_close(engine);
    engine = NULL;
    cr_assert_eq(rw_engine_open(ctx, device, rules, &engine), RW_OK, "%s", rw_last_error(ctx));
}

ENGINE_TEST(devices)
{
    const struct rw_engine_rules rules = plain_rules();
    static const char *const good[][2] = {
        {"ref", "ref"}, {"cpu", "cpu"}, {"sim", "sim"}, {"auto", NULL}};
    for (int i = 0; i < 4; i++) {
        open_engine(good[i][0], &rules);
        cr_assert(!good[i][1] || strcmp(engine->ops->name, good[i][1]) == 0);
    }
    /* A batch is at most a quarter of the leaves, if that is 8 or more. */
    static const struct {
        const char *device;
        uint32_t leaves;
        int batch;
    } batches[] = {{"ref", 255, 1}, {"sim", 255, 1}, {"auto", 31, 8}, {"cpu", 2, 8},
                   {"cpu", 31, 8},  {"cpu", 40, 10}, {"cpu", 96, 24}, {"cpu", 65536, 24}};
    for (size_t i = 0; i < sizeof(batches) / sizeof(batches[0]); i++) {
        struct rw_engine_rules of_leaves = rules;
        of_leaves.leaves = batches[i].leaves;
        open_engine(batches[i].device, &of_leaves);
        cr_assert_eq(engine->batch, batches[i].batch, "%s, %u leaves: %d", batches[i].device,
                     batches[i].leaves, engine->batch);
    }
    static const char *const bad[] = {"",        "gpu",        "cp",     "cpus",
                                      "cpu:0",   "cuda:",      "cuda:x", "cuda:-1",
                                      "cuda:1x", "cuda:99999", "sim:1"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct rw_engine *none = (struct rw_engine *)1;
        cr_assert_eq(rw_engine_open(ctx, bad[i], &rules, &none), RW_ERR_ARGUMENT, "'%s'", bad[i]);
        cr_assert_null(none);
        cr_assert(strstr(rw_last_error(ctx), "unknown device"));
    }
    rw_engine_close(NULL);
}

/* Trees that a checkpoint may contain. */
ENGINE_TEST(tree_of_too_many_leaves)
{
    static const char *const devices[] = {"ref", "cpu", "sim"};
    const struct rw_engine_rules rules = plain_rules();
    struct rw_tree tree;
    cr_assert_eq(rw_tree_init(ctx, &tree, 8), RW_OK);
    for (int d = 0; d < 3; d++) {
        open_engine(devices[d], &rules);
        cr_assert_eq(rw_engine_load(engine, 0, train, NULL, gains), RW_OK);
        cr_assert_eq(rw_engine_add_tree(engine, 0, &tree, NULL), RW_ERR_ARGUMENT);
    }
    rw_tree_release(&tree);
}

/* The root's sums are those of all documents, as a leaf's. */
ENGINE_TEST(root_as_a_leaf)
{
    static const char *const devices[] = {"ref", "cpu", "sim"};
    const struct rw_engine_rules rules = plain_rules();
    const int32_t leaf = 0;
    for (int d = 0; d < 3; d++) {
        struct rw_root root;
        struct rw_sum sum;
        open_engine(devices[d], &rules);
        cr_assert_eq(rw_engine_load(engine, 0, train, NULL, gains), RW_OK);
        cr_assert_eq(engine->ops->begin_tree(engine, 0, &root), RW_OK);
        cr_assert_eq(root.sum.n, 80);
        cr_assert_eq(rw_engine_leaf_sums(engine, &leaf, 1, &sum), RW_OK);
        cr_assert_eq(memcmp(&sum, &root.sum, sizeof(root.sum)), 0);
    }
}

/* A split says how many documents it sends left; those who count them see that it is right. */
ENGINE_TEST(documents_to_the_left)
{
    const struct rw_engine_rules rules = plain_rules();
    static const char *const devices[] = {"ref", "cpu", "sim"};
    const struct rw_sibling whole = {.parent = -1, .smaller = 0, .larger = -1};
    const int32_t slot = 0, leaf[2] = {2, 1};
    for (int d = 0; d < 3; d++) {
        struct rw_root root;
        struct rw_split split;
        struct rw_sum sums[2];
        open_engine(devices[d], &rules);
        cr_assert_eq(rw_engine_load(engine, 0, train, NULL, gains), RW_OK);
        for (int more = 1; more >= 0; more--) {
            cr_assert_eq(engine->ops->begin_tree(engine, 0, &root), RW_OK);
            cr_assert_eq(engine->ops->histograms(engine, &whole, 1), RW_OK);
            cr_assert_eq(rw_engine_best_splits(engine, &slot, 1, &split), RW_OK);
            split.left = 1;
            split.right = 2;
            split.n_left += (uint32_t)more;
            cr_assert_eq(engine->ops->partition(engine, &split, 1), more ? RW_ERR_INTERNAL : RW_OK);
        }
        cr_assert_eq(rw_engine_leaf_sums(engine, leaf, 2, sums), RW_OK);
        cr_assert_eq(sums[1].n, split.n_left);
        cr_assert_eq(sums[0].n, 80 - split.n_left);
        rw_sum_merge(&sums[0], &sums[1]);
        cr_assert_eq(memcmp(&sums[0], &root.sum, sizeof(root.sum)), 0);
    }
}

ENGINE_TEST(custom_gradients_hold)
{
    struct rw_engine_rules rules = plain_rules();
    rules.objective = NULL;
    double gradients[80], hessians[80], weights[80];
    struct rw_root root[2];
    for (int i = 0; i < 80; i++) {
        gradients[i] = i - 39.5;
        hessians[i] = 1 + i % 2;
        weights[i] = i % 3;
    }
    cr_assert_eq(rw_dataset_set_side_column(ctx, train, "weights", weights, 80, 1), RW_OK);
    static const char *const devices[] = {"ref", "cpu", "sim"};
    for (int d = 0; d < 3; d++) {
        open_engine(devices[d], &rules);
        cr_assert_eq(rw_engine_load(engine, 0, train, NULL, NULL), RW_OK);
        cr_assert_eq(rw_engine_set_gradients(engine, gradients, hessians), RW_OK);
        cr_assert_eq(engine->ops->begin_tree(engine, 0, &root[0]), RW_OK);
        cr_assert_eq(engine->ops->begin_tree(engine, 0, &root[1]), RW_OK);
        cr_assert_eq(memcmp(&root[0], &root[1], sizeof(root[0])), 0); /* weighted once */
        double weight = 0.0;
        for (int i = 0; i < 80; i++)
            weight += hessians[i] * weights[i];
        cr_assert_eq(rw_sum_real(root[0].sum.hess_hi, root[0].sum.hess_lo, root[0].hess_exponent),
                     weight);
    }
}

/* Integers are taken as they are, the documents' weights within, and hold. */
ENGINE_TEST(user_gradients)
{
    struct rw_engine_rules rules = plain_rules();
    rules.objective = NULL;
    double weights[80];
    int64_t lambda[80], hessian[80], out[2][80];
    int32_t quantised[80];
    uint8_t sampled[80];
    struct rw_root root;
    for (int i = 0; i < 80; i++) {
        lambda[i] = ((int64_t)1 << 61) + i * 7 - 280; /* no double represents these */
        hessian[i] = ((int64_t)1 << 60) + i;
        weights[i] = i % 3;
    }
    cr_assert_eq(rw_dataset_set_side_column(ctx, train, "weights", weights, 80, 1), RW_OK);
    static const char *const devices[] = {"ref", "cpu", "sim"};
    for (int d = 0; d < 3; d++) {
        open_engine(devices[d], &rules);
        cr_assert_eq(rw_engine_load(engine, 0, train, NULL, NULL), RW_OK);
        cr_assert_eq(rw_engine_set_gradients(engine, weights, weights), RW_OK); /* replaced */
        cr_assert_eq(engine->ops->begin_tree(engine, 0, &root), RW_OK);
        cr_assert_eq(engine->ops->set_lambdas(engine, lambda, hessian), RW_OK);
        for (uint32_t tree = 0; tree < 2; tree++) {
            cr_assert_eq(engine->ops->begin_tree(engine, tree, &root), RW_OK);
            cr_assert_eq(root.lambda_exponent, RW_LAMBDA_EXPONENT);
            cr_assert_eq(root.hess_exponent, RW_LAMBDA_EXPONENT);
            if (!engine->ops->read_integers)
                continue;
            cr_assert_eq(
                engine->ops->read_integers(engine, out[0], out[1], quantised, quantised, sampled),
                RW_OK);
            cr_assert_arr_eq(out[0], lambda, sizeof(lambda));
            cr_assert_arr_eq(out[1], hessian, sizeof(hessian));
        }
    }
}

/* What lives on the pretended device cannot be touched between operations. */
#if defined(__SANITIZE_ADDRESS__)
ENGINE_TEST(sim_is_closed, .disabled = true)
#else
ENGINE_TEST(sim_is_closed, .signal = SIGSEGV)
#endif
{
    const struct rw_engine_rules rules = plain_rules();
    struct rw_root root;
    open_engine("sim", &rules);
    cr_assert_eq(rw_engine_load(engine, 0, train, NULL, gains), RW_OK);
    cr_assert_eq(engine->ops->begin_tree(engine, 0, &root), RW_OK);
    volatile const int64_t *lambda = ((const struct rw_ref *)engine)->host.lambda;
    cr_assert_eq(lambda[0], 0, "the host has read a lambda");
}

/* The largest number of features, each with one boundary at 0. */
static void make_wide_cuts(struct rw_cuts *cuts, uint32_t n)
{
    memset(cuts, 0, sizeof(*cuts));
    cuts->n_features = n;
    cr_assert_eq(RW_NEW(ctx, cuts->feature, n), RW_OK);
    cr_assert_eq(RW_NEW(ctx, cuts->offset, (size_t)n + 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, cuts->cut, (size_t)n * 2), RW_OK);
    for (uint32_t f = 0; f < n; f++) {
        cuts->feature[f] = f;
        cuts->offset[f + 1] = 2 * ((uint64_t)f + 1);
        cuts->cut[2 * f + 1] = FLT_MAX;
    }
}

/* The largest tree on the most features, forty times over: 10^11 steps for who looks at each
 * feature in turn. */
Test(engine, trees_are_coded_at_the_limits, .init = setup, .fini = teardown, .timeout = 30)
{
    enum { FEATURES = RW_FEATURE_IDS, NODES = RW_MAX_LEAVES - 1 };
    struct rw_cuts cuts;
    make_wide_cuts(&cuts, FEATURES);
    struct rw_bins bins = {.cuts = &cuts};
    struct rw_host host = {.base = {.ctx = ctx}, .set = {{.bins = &bins}}};
    struct rw_tree tree;
    struct rw_coded_node *nodes = calloc(NODES, sizeof(*nodes));
    cr_assert(nodes);
    cr_assert_eq(rw_tree_init(ctx, &tree, RW_MAX_LEAVES), RW_OK);
    for (uint32_t k = 0; k < NODES; k++)
        tree.feature[k] = FEATURES - 1 - k % 7;
    for (int i = 0; i < 40; i++)
        cr_assert_eq(rw_host_code_tree(&host, &tree, nodes), RW_OK);
    for (uint32_t k = 0; k < NODES; k++)
        cr_assert_eq(nodes[k].column, FEATURES - 1 - k % 7);
    cuts.feature[FEATURES - 1] = FEATURES; /* that id no longer exists */
    cr_assert_eq(rw_host_code_tree(&host, &tree, nodes), RW_ERR_UNSUPPORTED);
    rw_tree_release(&tree);
    rw_mem_free(cuts.feature);
    rw_mem_free(cuts.offset);
    rw_mem_free(cuts.cut);
    free(nodes);
}
