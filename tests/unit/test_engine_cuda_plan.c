/* The dry run of the engine for GPUs, on a device that is only described: no GPU is needed. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/engine/engine_cuda.h"
#include "train_fixture.h"
#include "tree/plan.h"

static struct rw_ctx *ctx;
static struct rw_dataset *train;
static struct rw_cuda *cuda;
static struct rw_device device = {
    .name = "made up", .n_multiprocessors = 132, .shared_bytes = 232448};
static const struct rw_dataset *set[2];

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    train = fixture_data(ctx, 1, 100, 40, 12);
    cr_assert_eq(RW_NEW(ctx, cuda, 1), RW_OK);
    cuda->host.base.ctx = ctx;
    cuda->device = &device;
    cuda->free_bytes = (uint64_t)1 << 36;
    cuda->host.base.rules =
        (struct rw_engine_rules){.cut = {.bins = 255, .min_docs = 2},
                                 .objective = &rw_objective_lambdarank,
                                 .lambda = {.sigma = 1.0f, .truncation = 10, .norm = 1},
                                 .min_docs = 2,
                                 .bits = 8,
                                 .seed = 1,
                                 .query_threshold = (uint64_t)1 << 32,
                                 .feature_threshold = (uint64_t)1 << 32,
                                 .max_slots = 764,
                                 .leaves = 255};
    set[0] = set[1] = train;
}

static void teardown(void)
{
    rw_mem_free(cuda);
    rw_dataset_free(train);
    rw_ctx_free(ctx);
}

#define PLAN_TEST(name) Test(engine_cuda_plan, name, .init = setup, .fini = teardown)

static int plan_of(int n_sets, struct rw_plan *plan)
{
    const struct rw_plan_data data = {.set = set, .n_sets = n_sets, .n_features = train->n_columns};
    memset(plan, 0, sizeof(*plan));
    return rw_cuda_plan(&cuda->host.base, &data, plan);
}

static uint64_t part_of(const struct rw_plan *plan, const char *name)
{
    for (int i = 0; i < plan->n_parts; i++) {
        if (strcmp(plan->part[i].name, name) == 0)
            return plan->part[i].bytes;
    }
    return 0;
}

PLAN_TEST(parts)
{
    struct rw_plan plan, both;
    cr_assert_eq(plan_of(1, &plan), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(plan.on_gpu, 1);
    cr_assert_eq(part_of(&plan, "codes"), 4000 * 16); /* 3 lanes of 4 codes: a tile of 4 lanes */
    cr_assert_eq(part_of(&plan, "scores"), 4000 * 8);
    /* 382 nodes of 12 features, 12 bytes a cell; one feature has missing values */
    cr_assert_eq(part_of(&plan, "histograms"), (uint64_t)382 * 12 * 256 * 12);
    cr_assert_geq(plan.most_bytes, plan.bytes);
    cr_assert_eq(plan_of(2, &both), RW_OK);
    cr_assert_eq(part_of(&both, "codes"), 2 * part_of(&plan, "codes"));
    cr_assert_eq(part_of(&both, "scores"), 2 * part_of(&plan, "scores"));
    cr_assert_eq(part_of(&both, "histograms"), part_of(&plan, "histograms"));
}

PLAN_TEST(newton_has_weights)
{
    struct rw_plan mart, newton;
    cr_assert_eq(plan_of(1, &mart), RW_OK);
    cuda->host.base.rules.newton = 1;
    cr_assert_eq(plan_of(1, &newton), RW_OK);
    cr_assert_eq(part_of(&newton, "histograms"), part_of(&mart, "histograms") / 12 * 20);
}

PLAN_TEST(what_would_fit)
{
    struct rw_plan plan;
    cr_assert_eq(plan_of(1, &plan), RW_OK);
    const uint64_t needed = plan.most_bytes;
    cuda->free_bytes = needed - 1;
    cr_assert_eq(plan_of(1, &plan), RW_ERR_MEMORY);
    char want[256];
    snprintf(want, sizeof(want), "training needs %.1f MB of cuda:0, and %.1f MB are free",
             (double)needed / 1e6, (double)(needed - 1) / 1e6);
    cr_assert(strstr(rw_last_error(ctx), want), "%s", rw_last_error(ctx));
    cr_assert(strstr(rw_last_error(ctx), "--bins 127 or --leaves 127 would fit"), "%s",
              rw_last_error(ctx));
    cr_assert_gt(plan.n_parts, 3); /* it is told all the same */
    cuda->free_bytes = 100000;
    cr_assert_eq(plan_of(1, &plan), RW_ERR_MEMORY);
    cr_assert(strstr(rw_last_error(ctx), "no --bins and no --leaves would fit"), "%s",
              rw_last_error(ctx));
}

PLAN_TEST(time)
{
    const struct rw_plan_data data = {.set = set, .n_sets = 1, .n_features = train->n_columns};
    struct rw_plan_work work;
    rw_plan_work_of(&work, &cuda->host.base.rules, &data);
    const double small = rw_cuda_tree_ms(&cuda->host.base, &work);
    cr_assert_gt(small, 0.5); /* waits */
    cr_assert_lt(small, 3.0);
    work.docs *= 1000;
    cr_assert_gt(rw_cuda_tree_ms(&cuda->host.base, &work), 1.3 * small);
}
