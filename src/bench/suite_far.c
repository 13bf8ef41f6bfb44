/* Suite "far": codes that do not fit the GPU's memory, and what of the link's rate their reading
 * reaches. A quarter of the codes is on the GPU, or what --gpu-memory leaves room for. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench/bench.h"
#include "gpu/device/device.h"

enum { QUERIES = 250000, QUICK_QUERIES = 2000, MOST_TREES = RW_BENCH_MOST_TREES, STEPS = 24 };

struct tree {
    double ms, hist_ms, hist_bytes, bytes;
};

struct far {
    struct rw_bench *bench;
    struct rw_binned *binned; /* owned */
    struct rw_params *params; /* owned */
    struct rw_plan plan;
    double code_bytes;       /* of all, as the GPU has them */
    double copied, gathered; /* bytes a second */
    struct tree tree[MOST_TREES];
    int n_trees;
    double since, load_ms, leaves;
};

/* ---- memory ---- */

/* Bytes of codes that a plan has on the GPU: in tiles, and in columns for partitions. */
static double codes_of(const struct rw_plan *plan)
{
    double bytes = 0.0;
    for (int i = 0; i < plan->n_parts; i++) {
        if (strcmp(plan->part[i].name, "codes") == 0 ||
            (plan->far_bytes && strcmp(plan->part[i].name, "column copies") == 0))
            bytes += (double)plan->part[i].bytes;
    }
    return bytes;
}

/* The plan with so much memory; *fits 0: it is too little for anything. */
static int plan_with(struct far *s, uint64_t bytes, int *fits)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    RW_TRY(rw_params_set(s->bench->ctx, s->params, "gpu-memory", text));
    const int status = rw_train_plan(s->bench->ctx, s->params,
                                     &(struct rw_training){.binned = s->binned}, &s->plan);
    *fits = status >= 0;
    return status == RW_ERR_MEMORY ? RW_OK : status;
}

/* As much memory as leaves a quarter of the codes on the GPU: found by halving. */
static int find_memory(struct far *s)
{
    uint64_t low = 1, high = s->plan.most_bytes;
    int fits = 0;
    for (int i = 0; i < STEPS || !fits; i++) {
        const uint64_t middle = low + (high - low) / 2;
        RW_TRY(plan_with(s, middle, &fits));
        if (fits && codes_of(&s->plan) > s->code_bytes / 4)
            high = middle;
        else
            low = middle;
        if (i > 2 * STEPS)
            return rw_fail(s->bench->ctx, RW_ERR_MEMORY,
                           "no memory leaves a quarter of the codes on the GPU");
    }
    return RW_OK;
}

/* ---- training ---- */

static int on_round(void *user, const struct rw_round *round)
{
    struct far *s = user;
    if (s->n_trees < MOST_TREES) {
        s->tree[s->n_trees++] = (struct tree){.ms = rw_clock_ms() - s->since,
                                              .hist_ms = round->far_hist_ms,
                                              .hist_bytes = (double)round->far_hist_bytes,
                                              .bytes = (double)round->far_bytes};
        s->leaves += round->n_leaves;
    }
    s->since = rw_clock_ms();
    return 0;
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    struct far *s = user;
    (void)peak_bytes;
    if (strcmp(stage, "cuts and codes") != 0)
        return;
    s->load_ms = ms;
    s->since = rw_clock_ms();
}

/* The median of a figure over all trees but the first, at `offset` in struct tree. */
static double median_of(const struct far *s, size_t offset)
{
    if (s->n_trees < 2)
        return NAN;
    return rw_bench_median(&s->tree[1], sizeof(s->tree[1]), offset, s->n_trees - 1);
}

/* ---- rows ---- */

static int send(struct far *s)
{
    const uint32_t n_docs = rw_dataset_n_docs(rw_binned_documents(s->binned));
    const double ms = median_of(s, offsetof(struct tree, ms));
    const double hist_ms = median_of(s, offsetof(struct tree, hist_ms));
    const double hist_bytes = median_of(s, offsetof(struct tree, hist_bytes));
    const double rate = hist_bytes / (hist_ms / 1e3);
    const double least_ms = hist_bytes / s->copied * 1e3; /* that the link must take */
    RW_TRY(rw_bench_send_row(
        s->bench, "far",
        "device:s documents:u features:i mean_leaves:1 gpu_memory:s code_bytes:n share_on_gpu:3 "
        "host_bytes:n copy_gb_s:1 gather_gb_s:1 hist_bytes:n read_bytes:n hist_ms:2 hist_gb_s:1 "
        "hist_share:3 tree_ms:2 tree_share:3 planned_ms:2 first_tree_ms:1 load_s:2",
        s->plan.device, n_docs, RW_BENCH_CODES_FEATURES, s->leaves / s->n_trees,
        rw_params_get(s->params, "gpu-memory"), s->code_bytes, codes_of(&s->plan) / s->code_bytes,
        (double)s->plan.far_bytes, s->copied / 1e9, s->gathered / 1e9, hist_bytes,
        median_of(s, offsetof(struct tree, bytes)), hist_ms, rate / 1e9, rate / s->copied, ms,
        least_ms / ms, s->plan.tree_ms, s->tree[0].ms, s->load_ms / 1e3));
    if (s->bench->options->quick)
        return RW_OK;
    const struct rw_bench_bar bar[2] = {
        {"histograms: share of a copy's rate", rate / s->copied, 0.75, 0.9, 0},
        {"a tree: planned time, apart from it by", fabs(s->plan.tree_ms / ms - 1.0), 0.3, NAN, 1}};
    for (int i = 0; i < 2; i++)
        RW_TRY(rw_bench_bar(s->bench, &bar[i]));
    return RW_OK;
}

/* ---- the suite ---- */

static int check_device(struct far *s)
{
    if (strncmp(rw_params_get(s->params, "device"), "cuda", 4) == 0)
        return RW_OK;
    return rw_fail(s->bench->ctx, RW_ERR_UNSUPPORTED,
                   "suite 'far' measures a GPU\nhint: --device cuda");
}

static int make(struct far *s)
{
    struct rw_bench *bench = s->bench;
    const uint32_t n = rw_bench_number(bench, bench->options->n_queries, QUERIES, QUICK_QUERIES);
    const struct rw_cut_rule rule = rw_params_cut_rule(s->params);
    rw_log(bench->ctx, RW_LOG_NOTE, "making codes of %u queries", n);
    const struct rw_bench_codes codes = rw_bench_codes_of(0, n, bench->options->seed);
    return rw_bench_codes_make(bench->ctx, &codes, &rule, &s->binned);
}

static int plan(struct far *s)
{
    int number = 0, fits = 0;
    RW_TRY(plan_with(s, (uint64_t)1 << 60, &fits));
    s->code_bytes = s->plan.far_bytes ? (double)RW_BENCH_CODES_FEATURES *
                                            rw_dataset_n_docs(rw_binned_documents(s->binned))
                                      : codes_of(&s->plan);
    sscanf(s->plan.device, "cuda:%d", &number);
    RW_TRY(rw_device_link(s->bench->ctx, number, &s->copied, &s->gathered));
    if (!rw_bench_is_given(s->bench, "gpu-memory"))
        return find_memory(s);
    RW_TRY(rw_params_set(s->bench->ctx, s->params, "gpu-memory",
                         rw_params_get(s->bench->options->params, "gpu-memory")));
    return rw_train_plan(s->bench->ctx, s->params, &(struct rw_training){.binned = s->binned},
                         &s->plan);
}

static int run(struct rw_bench *bench)
{
    struct far *s;
    struct rw_model *model = NULL;
    const struct rw_bench_setting setting[] = {{"rounds", bench->options->quick ? "3" : "12"},
                                               {"leaves", "255"},
                                               {"bins", "255"},
                                               {"split", "mart"}};
    int status;
    RW_TRY(RW_NEW(bench->ctx, s, 1));
    s->bench = bench;
    const struct rw_train_hooks hooks = {.user = s, .on_round = on_round, .on_stage = on_stage};
    RW_TRY_OUT(rw_bench_params_new(bench, setting, 4, 1, &s->params));
    RW_TRY_OUT(check_device(s));
    RW_TRY_OUT(rw_bench_send_params(bench, &s->params, 1));
    RW_TRY_OUT(make(s));
    RW_TRY_OUT(plan(s));
    rw_log(bench->ctx, RW_LOG_NOTE, "%d trees on %s, --gpu-memory %s", s->params->rounds,
           s->plan.device, rw_params_get(s->params, "gpu-memory"));
    RW_TRY_OUT(rw_train_on(bench->ctx, s->params,
                           &(struct rw_training){.binned = s->binned, .hooks = &hooks}, &model));
    RW_TRY_OUT(send(s));
out:
    rw_model_free(model);
    rw_binned_free(s->binned);
    rw_params_free(s->params);
    rw_mem_free(s);
    return status;
}

const struct rw_bench_suite rw_bench_far = {
    .bench = "train",
    .name = "far",
    .run = run,
};
