#include <math.h>
#include <string.h>

#include "train_fixture.h"
#include "tree/engine.h"

static struct rw_ctx *ctx;
static struct rw_dataset *train;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    train = fixture_data(ctx, 1, 20, 30, 6);
}

static void teardown(void)
{
    rw_dataset_free(train);
    rw_ctx_free(ctx);
}

#define PLAN_TEST(name) Test(plan, name, .init = setup, .fini = teardown)

PLAN_TEST(parts_add_up)
{
    struct rw_plan plan = {.n_parts = 0};
    rw_plan_add(&plan, "codes", 5);
    rw_plan_add(&plan, "lists", 7);
    rw_plan_add(&plan, "codes", 1);
    cr_assert_eq(plan.n_parts, 2);
    cr_assert_str_eq(plan.part[0].name, "codes");
    cr_assert_eq(plan.part[0].bytes, 6);
    cr_assert_eq(plan.part[1].bytes, 7);
    cr_assert_eq(plan.bytes, 13);
    static const char *const name[] = {"a", "b", "c", "d", "e", "f", "g",
                                       "h", "i", "j", "k", "l", "m", "n"};
    for (int i = 0; i < 14; i++)
        rw_plan_add(&plan, name[i], 1);
    cr_assert_eq(plan.n_parts, 12);
    cr_assert_eq(plan.bytes, 27);
}

/* A GPU needs half a second to open. */
PLAN_TEST(when_a_gpu_pays)
{
    cr_assert(!rw_plan_gpu_pays(1.0, 0.0, 500));
    cr_assert(rw_plan_gpu_pays(1.0, 0.0, 501));
    cr_assert(!rw_plan_gpu_pays(1.0, 1.0, 1000000));
    cr_assert(!rw_plan_gpu_pays(1.0, 2.0, 1000000));
    cr_assert(rw_plan_gpu_pays(100.0, 3.0, 6));
    cr_assert(!rw_plan_gpu_pays(100.0, 3.0, 5));
}

static struct rw_plan_work work_of(uint32_t leaves, uint64_t queries, uint64_t features, int n_sets)
{
    const struct rw_dataset *set[2] = {train, train};
    const struct rw_plan_data data = {
        .set = set, .n_sets = n_sets, .n_features = train->n_columns - 1}; /* one is ignored */
    const struct rw_engine_rules rules = {.cut = {.bins = 255},
                                          .objective = &rw_objective_lambdarank,
                                          .lambda = {.truncation = 10},
                                          .query_threshold = queries,
                                          .feature_threshold = features,
                                          .leaves = leaves};
    struct rw_plan_work work;
    rw_plan_work_of(&work, &rules, &data);
    return work;
}

PLAN_TEST(work)
{
    const uint64_t all = (uint64_t)1 << 32;
    const struct rw_plan_work work = work_of(8, all, all, 2);
    cr_assert_eq(work.docs, 600.0);
    cr_assert_eq(work.other_docs, 600.0);
    cr_assert_eq(work.features, 5.0); /* one is ignored */
    cr_assert_eq(work.row_bytes, 5.0);
    cr_assert_eq(work.visits, 6000.0); /* 20 queries x 30 documents x the top 10 */
    cr_assert_eq(rw_plan_passes(&work), 2.5);
    const struct rw_plan_work half = work_of(8, all / 2, all, 1);
    cr_assert_eq(half.docs, 300.0);
    cr_assert_eq(half.other_docs, 300.0); /* that only get scores */
    cr_assert_eq(half.visits, 3000.0);
}

PLAN_TEST(time_grows_with_work)
{
    const uint64_t all = (uint64_t)1 << 32;
    const struct rw_plan_work work = work_of(8, all, all, 1), more = work_of(64, all, all, 1),
                              fewer = work_of(8, all, all / 2, 1);
    cr_assert(rw_plan_cpu_ms(&work, 1) > 0.005 && rw_plan_cpu_ms(&work, 1) < 5.0, "milliseconds");
    cr_assert_lt(rw_plan_cpu_ms(&work, 1), rw_plan_cpu_ms(&more, 1));
    cr_assert_gt(rw_plan_cpu_ms(&work, 1), rw_plan_cpu_ms(&fewer, 1));
    cr_assert_gt(rw_plan_cpu_ms(&work, 1), rw_plan_cpu_ms(&work, 4));
    cr_assert_lt(rw_plan_cpu_ms(&work, 1) / 4, rw_plan_cpu_ms(&work, 4));
}

PLAN_TEST(engines_without_one)
{
    const struct rw_dataset *set[1] = {train};
    struct rw_params *params;
    struct rw_plan plan;
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "device", "sim"), RW_OK);
    cr_assert_eq(rw_train_plan(ctx, params, &(struct rw_training){.train = set[0]}, &plan),
                 RW_ERR_UNSUPPORTED);
    cr_assert_str_eq(rw_last_error(ctx), "device 'sim' has no plan; expected cpu, cuda or auto");
    cr_assert_eq(rw_params_set(ctx, params, "device", "cpu"), RW_OK);
    cr_assert_eq(rw_train_plan(ctx, params,
                               &(struct rw_training){.train = set[0], .valid = set, .n_valid = 1},
                               &plan),
                 RW_OK);
    cr_assert_str_eq(plan.device, "cpu");
    cr_assert_eq(plan.on_gpu, 0);
    cr_assert_gt(plan.n_parts, 3);
    uint64_t sum = 0;
    for (int i = 0; i < plan.n_parts; i++) {
        sum += plan.part[i].bytes;
        /* a document's position in the order, twice, and a word; no engine's but its own */
        if (strcmp(plan.part[i].name, "lists") == 0)
            cr_assert_eq(plan.part[i].bytes, 600 * (2 * sizeof(uint32_t) + sizeof(int64_t)));
    }
    cr_assert_eq(plan.bytes, sum);
    /* a feature that is ignored takes no time */
    const double all_ms = plan.tree_ms;
    cr_assert_eq(rw_params_set(ctx, params, "ignore", "2"), RW_OK);
    cr_assert_eq(rw_train_plan(ctx, params,
                               &(struct rw_training){.train = set[0], .valid = set, .n_valid = 1},
                               &plan),
                 RW_OK);
    cr_assert_lt(plan.tree_ms, all_ms * 0.99);
    rw_params_free(params);
}

static uint64_t bytes_of(const struct rw_plan *plan, const char *part)
{
    for (int i = 0; i < plan->n_parts; i++)
        if (strcmp(plan->part[i].name, part) == 0)
            return plan->part[i].bytes;
    return 0;
}

/* Histograms are kept of three nodes a leaf in trees this small, or of all that have documents
 * enough. */
PLAN_TEST(histograms)
{
    static const struct {
        const char *leaves;
        uint64_t n_kept;
    } cases[] = {{"2", 6}, {"3", 8}, {"4", 8}, {"50", 8}};
    struct rw_dataset *many = fixture_data(ctx, 1, 500, 10, 6); /* 6 x 768 documents and some */
    struct rw_params *params;
    struct rw_plan plan;
    uint64_t one = 0;
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    cr_assert_eq(rw_params_set(ctx, params, "device", "cpu"), RW_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        cr_assert_eq(rw_params_set(ctx, params, "leaves", cases[i].leaves), RW_OK);
        cr_assert_eq(rw_train_plan(ctx, params, &(struct rw_training){.train = many}, &plan),
                     RW_OK);
        one = one ? one : bytes_of(&plan, "histograms") / 6;
        cr_assert_eq(bytes_of(&plan, "histograms"), one * cases[i].n_kept,
                     "leaves %s: %llu of %llu", cases[i].leaves,
                     (unsigned long long)bytes_of(&plan, "histograms"), (unsigned long long)one);
    }
    rw_params_free(params);
    rw_dataset_free(many);
}
