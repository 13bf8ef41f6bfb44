/* The dry run of the engine for GPUs, on a device that is only described: no GPU is needed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/device/tuning.h"
#include "gpu/engine/engine_cuda.h"
#include "train_fixture.h"

static struct rw_ctx *ctx;
static struct rw_dataset *train;
static struct rw_cuda *cuda;
/* With a GPU, its link is measured, since no plan knows its speed. */
static struct rw_device device = {
    .name = "made up", .n_multiprocessors = 132, .shared_bytes = 232448};
static const struct rw_dataset *set[2];

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    train = fixture_data(ctx, 1, 100, 40, 12);
    cr_assert_eq(RW_NEW(ctx, cuda, 1), RW_OK);
    cuda->host.base.ctx = ctx;
    device.tuning = rw_tuning_row_at(0);
    device.ctx = ctx;
    rw_cuda_init(cuda, &device);
    cuda->memory.free_bytes = (uint64_t)1 << 36;
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
    /* 382 nodes of 12 features, 8 bytes per cell; one feature has missing values */
    cr_assert_eq(part_of(&plan, "histograms"), (uint64_t)382 * 12 * 256 * 8);
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
    cr_assert_eq(part_of(&newton, "histograms"), part_of(&mart, "histograms") / 8 * 12);
}

/* A batch with a large node, whose cells have 12 bytes where small ones' have 8, is one call. */
PLAN_TEST(scratch_of_a_batch)
{
    struct rw_plan plan[3];
    struct rw_engine *engine = &cuda->host.base;
    rw_dataset_free(train);
    set[0] = train = fixture_data(ctx, 1, 500, 40, 12);
    engine->rules.newton = 1;
    engine->rules.bits = 16;
    for (int i = 0; i < 3; i++) {
        engine->batch = (const int[]){0, 21, 24}[i]; /* 32 of 8 bytes take more than 21 of 12 */
        cr_assert_eq(plan_of(1, &plan[i]), RW_OK, "%s", rw_last_error(ctx));
    }
    cr_assert_eq(part_of(&plan[1], "scratch"), part_of(&plan[0], "scratch"));
    cr_assert_gt(part_of(&plan[2], "scratch"), part_of(&plan[0], "scratch"));
}

/* The minimum memory of a training without its codes. */
static uint64_t least_bytes(int n_sets)
{
    struct rw_plan plan;
    cuda->memory.free_bytes = 1;
    cr_assert_eq(plan_of(n_sets, &plan), RW_ERR_MEMORY);
    return plan.most_bytes;
}

/* The least of it that the plan takes whole codes with. Methods that want much scratch are left out
 * where there is little room. */
static uint64_t least_with_codes(void)
{
    struct rw_plan plan;
    uint64_t all = 0;
    while (plan_of(1, &plan) == RW_OK && plan.far_bytes == 0) {
        all = plan.most_bytes;
        cuda->memory.free_bytes = all - 1;
    }
    return all;
}

/* Codes in the host's memory: no more than is allowed is ever taken, and more memory means more
 * codes on the GPU. */
PLAN_TEST(codes_that_do_not_fit)
{
    struct rw_plan plan;
    cr_assert_eq(plan_of(1, &plan), RW_OK);
    cr_assert_eq(plan.far_bytes, 0);
    const uint64_t all = least_with_codes(), codes = part_of(&plan, "codes");
    const uint64_t least = least_bytes(1), step = (all - least) / 40;
    cuda->memory.is_limited = 1;
    uint64_t before = 0;
    /* rows, and columns of 12 features one byte per document, each a multiple of 256 bytes */
    const uint64_t most_far = codes + 12 * 4096;
    int n_parts = 0;
    cr_assert_gt(step, 0);
    for (uint64_t bytes = least; bytes < all; bytes += step) {
        cuda->memory.free_bytes = bytes;
        cr_assert_eq(plan_of(1, &plan), RW_OK, "%llu of %llu bytes: %s", (unsigned long long)bytes,
                     (unsigned long long)all, rw_last_error(ctx));
        cr_assert_leq(plan.most_bytes, bytes);
        cr_assert_gt(plan.far_bytes, 0);
        cr_assert_gt(plan.link_rate, 1e9);
        const uint64_t tiles = part_of(&plan, "codes");
        const uint64_t here = tiles + part_of(&plan, "column copies");
        cr_assert_geq(here, before);
        n_parts += tiles > 0 && tiles < codes;
        before = here;
        cr_assert_leq(plan.far_bytes, most_far);
    }
    cr_assert_gt(n_parts, 2); /* a part of the codes on either side */
    cuda->memory.free_bytes = all;
    cr_assert_eq(plan_of(1, &plan), RW_OK);
    cr_assert_eq(plan.far_bytes, 0);
    cr_assert_eq(part_of(&plan, "codes"), codes);
}

/* Time grows with the bytes read from host memory. */
PLAN_TEST(time_of_codes_that_do_not_fit)
{
    const struct rw_plan_data data = {.set = set, .n_sets = 1, .n_features = train->n_columns};
    struct rw_plan_work work;
    struct rw_plan plan;
    rw_plan_work_of(&work, &cuda->host.base.rules, &data);
    cr_assert_eq(plan_of(1, &plan), RW_OK);
    const double here_ms = rw_cuda_tree_ms(&cuda->host.base, &work);
    cuda->memory.free_bytes = least_bytes(1);
    cr_assert_eq(plan_of(1, &plan), RW_OK);
    /* 4,000 documents' rows of 16 bytes, twice, and 0.4 of 11 columns */
    const double rows = 16.0 * (1.0 + 0.125 * log2(255)) / RW_TUNE_FAR_GATHER_RATE;
    const double ms = 4000 * (rows + 0.4 * 11.0) / plan.link_rate * 1e3;
    const double more_ms = rw_cuda_tree_ms(&cuda->host.base, &work) - here_ms;
    cr_assert_float_eq(more_ms, ms, 0.01 * ms, "%g, not %g", more_ms, ms);
}

/* Other sets' codes stay in the host's memory as well, and room is left for their scores. */
PLAN_TEST(other_sets_that_do_not_fit)
{
    struct rw_plan one, two;
    cuda->host.base.rules.other_docs = train->n_docs;
    cuda->host.base.rules.n_other_sets = 1;
    cuda->memory.is_limited = 1;
    const uint64_t least = least_bytes(2);
    cuda->memory.free_bytes = least - 1;
    cr_assert_eq(plan_of(2, &two), RW_ERR_MEMORY);
    cuda->memory.free_bytes = least;
    cr_assert_eq(plan_of(1, &one), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(plan_of(2, &two), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(part_of(&two, "codes"), part_of(&one, "codes"));
    cr_assert_gt(two.far_bytes, one.far_bytes);
    cr_assert_leq(two.most_bytes, cuda->memory.free_bytes);
    for (uint64_t more = 1; more < 1 << 20; more = more * 5 / 4 + 1) {
        cuda->memory.free_bytes = least + more;
        cr_assert_eq(plan_of(2, &two), RW_OK, "%llu more: %s", (unsigned long long)more,
                     rw_last_error(ctx));
        cr_assert_leq(two.most_bytes, cuda->memory.free_bytes);
    }
}

/* A small set's tables are more than its documents. */
PLAN_TEST(small_other_set)
{
    struct rw_plan plan;
    struct rw_dataset *small = fixture_data(ctx, 2, 1, 4, 12);
    set[1] = small;
    cuda->host.base.rules.other_docs = small->n_docs;
    cuda->host.base.rules.n_other_sets = 1;
    cuda->memory.is_limited = 1;
    const uint64_t least = least_bytes(2);
    for (uint64_t more = 0; more < 1 << 20; more = more * 5 / 4 + 1) {
        cuda->memory.free_bytes = least + more;
        cr_assert_eq(plan_of(2, &plan), RW_OK, "%llu more: %s", (unsigned long long)more,
                     rw_last_error(ctx));
        cr_assert_leq(plan.most_bytes, cuda->memory.free_bytes);
    }
    rw_dataset_free(small);
}

/* Without codes, all memory has other uses, and the plan does not exceed its limit. */
PLAN_TEST(no_features)
{
    struct rw_plan plan;
    struct rw_dataset *one = fixture_data(ctx, 2, 1, 1, 12);
    set[0] = set[1] = one;
    cuda->host.base.rules.other_docs = 1;
    cuda->host.base.rules.n_other_sets = 1;
    cuda->memory.is_limited = 1;
    cuda->memory.free_bytes = least_bytes(2);
    cr_assert_eq(plan_of(2, &plan), RW_OK, "%s", rw_last_error(ctx));
    cuda->memory.free_bytes--;
    cr_assert_eq(plan_of(2, &plan), RW_ERR_MEMORY);
    rw_dataset_free(one);
}

/* A method that cannot read host-resident codes is an error that names the methods that can. */
PLAN_TEST(method_that_needs_all_codes)
{
    struct rw_plan plan;
    cuda->memory.free_bytes = least_bytes(1);
    cuda->host.base.rules.hist = "lanes";
    cr_assert_eq(plan_of(1, &plan), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_gt(plan.far_bytes, 0);
    cuda->host.base.rules.hist = "multi";
    cuda->memory.free_bytes = (uint64_t)1 << 36;
    cr_assert_eq(plan_of(1, &plan), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_gt(least_with_codes(), 0);
    cr_assert_eq(plan_of(1, &plan), RW_ERR_MEMORY);
    cr_assert(strstr(rw_last_error(ctx), "--hist multi needs all codes in the GPU's memory"), "%s",
              rw_last_error(ctx));
}

/* 3 million documents of 136 features, each of 255 bins and missing values, as ready codes: all
 * features have the same ones. */
enum { MANY_DOCS = 3000000, MANY_FEATURES = 136, MANY_BINS = 255, MANY_QUERY = 120 };
static struct rw_dataset *many_documents(void)
{
    struct rw_dataset *many;
    cr_assert_eq(RW_NEW(ctx, many, 1), RW_OK);
    many->n_docs = MANY_DOCS;
    many->n_queries = MANY_DOCS / MANY_QUERY;
    cr_assert_eq(RW_NEW(ctx, many->query_offset, (size_t)many->n_queries + 1), RW_OK);
    for (uint32_t q = 0; q <= many->n_queries; q++)
        many->query_offset[q] = q * MANY_QUERY;
    return many;
}

static struct rw_bins *many_codes(void)
{
    struct rw_bins *bins;
    uint8_t *code;
    cr_assert_eq(RW_NEW(ctx, bins, 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, bins->cuts, 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, bins->cuts->feature, MANY_FEATURES), RW_OK);
    cr_assert_eq(RW_NEW(ctx, bins->cuts->offset, MANY_FEATURES + 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, bins->cuts->cut, MANY_FEATURES * MANY_BINS), RW_OK);
    cr_assert_eq(RW_NEW(ctx, bins->cuts->has_missing, MANY_FEATURES), RW_OK);
    cr_assert_eq(RW_NEW(ctx, bins->codes, MANY_FEATURES), RW_OK);
    cr_assert_eq(RW_NEW(ctx, code, MANY_DOCS), RW_OK);
    for (uint32_t i = 0; i < MANY_DOCS; i++)
        code[i] = (uint8_t)(i % (MANY_BINS + 1));
    bins->rule = cuda->host.base.rules.cut;
    bins->n_docs = MANY_DOCS;
    bins->owns_cuts = bins->codes_are_views = 1;
    bins->cuts->n_features = MANY_FEATURES;
    for (uint32_t f = 0; f < MANY_FEATURES; f++) {
        bins->cuts->feature[f] = f + 1;
        bins->cuts->offset[f + 1] = (uint64_t)(f + 1) * MANY_BINS;
        bins->cuts->has_missing[f] = 1;
        for (int b = 0; b < MANY_BINS; b++)
            bins->cuts->cut[f * MANY_BINS + b] = (float)b;
        bins->codes[f] = (struct rw_codes){.n = MANY_DOCS, .code = code};
    }
    return bins;
}

/* A GPU of 4 GB, of which what else is on it leaves 3, holds them all, in trees of 255 leaves. */
PLAN_TEST(three_million_documents)
{
    struct rw_dataset *many = many_documents();
    struct rw_bins *bins = many_codes();
    const struct rw_plan_data data = {
        .set = (const struct rw_dataset *const *)&many, .n_sets = 1, .bins = bins};
    cuda->host.base.rules.lambda.truncation = 30;
    cuda->memory.free_bytes = 3000000000;
    for (int newton = 0; newton < 2; newton++) {
        struct rw_plan plan = {.n_parts = 0};
        cuda->host.base.rules.newton = newton;
        cr_assert_eq(rw_cuda_plan(&cuda->host.base, &data, &plan), RW_OK, "%s", rw_last_error(ctx));
        cr_expect_eq(part_of(&plan, "codes"), (uint64_t)MANY_DOCS * MANY_FEATURES);
        cr_expect_eq(plan.far_bytes, 0);
        cr_expect_leq(plan.most_bytes, cuda->memory.free_bytes);
        /* lambdas of 12 bits: sums of so many pass 32 */
        struct rw_plan wide = {.n_parts = 0};
        cuda->host.base.rules.bits = 12;
        cr_assert_eq(rw_cuda_plan(&cuda->host.base, &data, &wide), RW_OK);
        cuda->host.base.rules.bits = 8;
        cr_expect_eq(part_of(&wide, "histograms"),
                     part_of(&plan, "histograms") / (newton ? 12 : 8) * (newton ? 20 : 12));
    }
    rw_mem_free(bins->codes[0].code);
    rw_bins_free(bins);
    rw_dataset_free(many);
}

PLAN_TEST(memory_that_is_missing)
{
    struct rw_plan plan;
    const uint64_t needed = least_bytes(1);
    cuda->memory.free_bytes = needed - 1;
    cr_assert_eq(plan_of(1, &plan), RW_ERR_MEMORY);
    char want[256];
    snprintf(want, sizeof(want),
             "training needs %.1f MB of cuda:0 in addition to the codes, and %.1f MB are free\n"
             "hint: fewer --bins or --leaves need less memory",
             (double)needed / 1e6, (double)(needed - 1) / 1e6);
    cr_assert(strstr(rw_last_error(ctx), want), "%s", rw_last_error(ctx));
    cr_assert_gt(plan.n_parts, 3); /* the plan is reported nevertheless */
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
