/* The third document's Table I, Figure 7 and Table II (Henriksen et al., section V): automatic M
 * and S beside fixed ones, CUB beside in the same run. 50 million elements, indexes of section V-A.
 * The values of sums are ones for the hardware's addition, as HistogramEven counts, and 1 or 2 for
 * the saturating one; argmax takes the elements themselves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lab/lab.h"
#include "lab/kernels/generalized_cub.h"
#include "lab/suites/generalized_tables.h"
#include "lab/kernels/generalized.h"
#include "gpu/device/device.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { ELEMENTS = 50000000, QUICK_ELEMENTS = 4000000 };
static const double close_enough = 1.05; /* of the best fixed choice */

static const enum rw_gen_op op_of[RW_MULTI_STRATEGIES] = {RW_GEN_ADD32, RW_GEN_SAT24,
                                                          RW_GEN_ARGMAX};

struct generalized {
    struct rw_lab *lab;
    struct rw_multi_figures figures;
    uint32_t n;
    uint32_t *d_element, *d_index, *d_small;
    uint64_t *d_touched;
    void *d_scratch;
    size_t scratch_bytes;
    void *d_out;
    struct rw_lab_cub cub;
    uint64_t *d_pair;
    int (*cub_run)(struct rw_lab_cub *cub, void *stream);
    /* Of the point at hand. */
    struct rw_gen_call call;
    double race;
    struct rw_multi_sample sample;
    /* What the bars ask. */
    int n_points, n_close;
    double least_beside_cub; /* NaN: none yet */
};

static int cuda(struct generalized *g, int error, const char *what)
{
    return error ? rw_fail(g->lab->ctx, RW_ERR_UNSUPPORTED, "CUDA: %s failed (%d)", what, error)
                 : RW_OK;
}

/* ---- inputs ---- */

static int room(struct generalized *g, size_t bytes)
{
    if (bytes <= g->scratch_bytes)
        return RW_OK;
    rw_device_free(g->d_scratch);
    g->d_scratch = NULL;
    g->scratch_bytes = 0;
    RW_TRY(rw_device_alloc(g->lab->ctx, &g->d_scratch, bytes));
    g->scratch_bytes = bytes;
    return RW_OK;
}

static int init(struct generalized *g)
{
    struct rw_ctx *ctx = g->lab->ctx;
    void *stream = g->lab->device->stream;
    const size_t n = g->n;
    const size_t most = rw_generalized_bins[RW_GENERALIZED_SIZES - 1];
    g->figures = rw_gen_figures(g->lab->device);
    RW_TRY(rw_device_alloc(ctx, (void **)&g->d_element, n * sizeof(uint32_t)));
    RW_TRY(rw_device_alloc(ctx, (void **)&g->d_index, n * sizeof(uint32_t)));
    RW_TRY(rw_device_alloc(ctx, (void **)&g->d_small, n * sizeof(uint32_t)));
    RW_TRY(rw_device_alloc(ctx, (void **)&g->d_pair, n * sizeof(uint64_t)));
    RW_TRY(rw_device_alloc(ctx, (void **)&g->d_touched, sizeof(uint64_t)));
    RW_TRY(rw_device_alloc(ctx, &g->d_out, most * sizeof(uint64_t)));
    RW_TRY(rw_device_alloc(ctx, (void **)&g->cub.d_sorted, n * sizeof(uint32_t)));
    RW_TRY(rw_device_alloc(ctx, &g->cub.d_sorted_value, n * sizeof(uint64_t)));
    RW_TRY(rw_device_alloc(ctx, (void **)&g->cub.d_key, most * sizeof(uint32_t)));
    RW_TRY(rw_device_alloc(ctx, &g->cub.d_result, most * sizeof(uint64_t)));
    RW_TRY(rw_device_alloc(ctx, (void **)&g->cub.d_n_keys, sizeof(uint32_t)));
    RW_TRY(cuda(g, rw_cuda_lab_elements(g->lab->options->seed, g->n, g->d_element, stream),
                "making elements"));
    RW_TRY(cuda(g, rw_cuda_lab_small(g->d_element, g->n, g->d_small, stream), "making values"));
    return cuda(g, rw_cuda_lab_pairs(g->d_element, g->n, g->d_pair, stream), "making pairs");
}

static void release(struct generalized *g)
{
    rw_device_free(g->d_element);
    rw_device_free(g->d_index);
    rw_device_free(g->d_small);
    rw_device_free(g->d_pair);
    rw_device_free(g->d_touched);
    rw_device_free(g->d_scratch);
    rw_device_free(g->d_out);
    rw_device_free(g->cub.d_sorted);
    rw_device_free(g->cub.d_sorted_value);
    rw_device_free(g->cub.d_key);
    rw_device_free(g->cub.d_result);
    rw_device_free(g->cub.d_n_keys);
    rw_device_free(g->cub.d_temp);
}

/* ---- the inspector ---- */

static int run_inspector(void *user)
{
    struct generalized *g = user;
    return cuda(g,
                rw_cuda_gen_race(g->d_index, g->call.n_bins, &g->sample, g->d_touched, g->d_scratch,
                                 g->lab->device->stream),
                "the inspector");
}

/* The indexes of one (bins, RF), and the race factor that a sample of them gives. */
static int set_indexes(struct generalized *g, uint32_t n_bins, uint32_t race)
{
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    uint64_t touched = 0;
    g->call.n_bins = n_bins;
    RW_TRY(cuda(
        g,
        rw_cuda_lab_indexes(g->d_element, g->n, n_bins, race, g->d_index, g->lab->device->stream),
        "making indexes"));
    g->sample = rw_multi_sample_of(g->n, n_bins);
    RW_TRY(room(g, rw_gen_race_bytes(&g->sample, n_bins)));
    RW_TRY(rw_lab_time(g->lab, run_inspector, g, &times));
    RW_TRY(rw_transfer_read(g->lab->device, &touched, g->d_touched, sizeof(touched)));
    g->race = rw_multi_race(&g->sample, touched);
    rw_bench_add_integer(&line, "bins", n_bins);
    rw_bench_add_integer(&line, "rf", race);
    rw_bench_add_real(&line, "rf_sampled", g->race, 2);
    rw_bench_add_integer(&line, "groups", (double)g->sample.n_groups);
    rw_lab_add_times(g->lab, &line, &times,
                     (double)(g->sample.n_groups * g->sample.length) * sizeof(uint32_t));
    return rw_bench_send(&g->lab->rows, "inspector", &line);
}

/* ---- times ---- */

static void set_op(struct generalized *g, enum rw_multi_strategy strategy)
{
    g->call.op = op_of[strategy];
    g->call.strategy = strategy;
    g->call.n = g->n;
    g->call.n_out = 1;
    g->call.width = 1;
    g->call.d_index = g->d_index;
    g->call.d_value = strategy == RW_MULTI_HARDWARE ? NULL
                      : strategy == RW_MULTI_CAS    ? (const void *)g->d_small
                                                    : (const void *)g->d_element;
    g->call.d_out = g->d_out;
}

static double bytes_of(const struct generalized *g)
{
    const double values = g->call.d_value ? rw_gen_value_bytes(g->call.op) : 0;
    return g->n * (sizeof(uint32_t) + values) +
           (double)g->call.n_bins * rw_gen_cell_bytes(g->call.op);
}

static int run_call(void *user)
{
    struct generalized *g = user;
    return rw_gen_run(g->lab->ctx, &g->call, g->lab->device->stream);
}

/* M and S asked for, 0: chosen. Returns 1 if shared memory cannot do it. */
static int time_plan(struct generalized *g, enum rw_multi_memory memory, uint64_t m, uint64_t s,
                     struct rw_bench_times *times)
{
    const struct rw_multi_work work = rw_gen_work(&g->call, g->race);
    if (rw_multi_plan_make(&g->figures, &work, 1, memory, m, s, &g->call.plan) != 0)
        return 1;
    RW_TRY(room(g, rw_gen_scratch_bytes(&g->call)));
    g->call.d_scratch = g->d_scratch;
    return rw_lab_time(g->lab, run_call, g, times);
}

/* ---- Figure 7 ---- */

/* Fixed choices: the document's, its model's own, and half and twice what is chosen here, where the
 * document's may be far from both. */
enum { DOCUMENTS = 5, MODEL = DOCUMENTS, HALF, TWICE, AUTOMATIC, CHOICES };

/* A round of each choice, so that all share what the device does meanwhile; the runs of a timing
 * are split over them. */
enum { ROUNDS = 3 };
static const double hopeless = 3.0; /* times the best: one round will do */

struct choice {
    struct rw_multi_plan plan;
    int there, same_as; /* an earlier choice with the same plan, or itself */
    int n_rounds;
    struct rw_bench_times round[ROUNDS], times;
};

/* The document's fixed choices of M: shared, 1 and k B / min(H, B); global, 1 to 32. */
static uint64_t fixed_m(const struct generalized *g, enum rw_multi_memory memory, int i)
{
    static const uint64_t global[] = {1, 4, 8, 16, 32}, k[] = {0, 1, 3, 6, 9};
    const uint64_t b = g->figures.block_threads;
    const uint64_t h = g->call.n_bins < b ? g->call.n_bins : b;
    return memory == RW_MULTI_GLOBAL ? global[i] : k[i] == 0 ? 1 : k[i] * b / h;
}

static int send_choice(struct generalized *g, const char *asked, uint32_t race,
                       const struct rw_multi_plan *plan, const struct rw_bench_times *times,
                       double relative)
{
    struct rw_bench_line line = {.n = 0};
    rw_bench_add_text(&line, "op", rw_gen_op_name(g->call.op));
    rw_bench_add_text(&line, "strategy", rw_gen_strategy_name(g->call.strategy));
    rw_bench_add_integer(&line, "bins", g->call.n_bins);
    rw_bench_add_integer(&line, "rf", race);
    rw_bench_add_text(&line, "memory", plan->memory == RW_MULTI_SHARED ? "shared" : "global");
    rw_bench_add_text(&line, "choice", asked);
    rw_bench_add_integer(&line, "m", (double)plan->m);
    rw_bench_add_integer(&line, "s", (double)plan->s);
    rw_bench_add_integer(&line, "blocks", (double)plan->blocks);
    rw_lab_add_times(g->lab, &line, times, bytes_of(g));
    rw_bench_add_real(&line, "g_updates_s", (double)g->n / times->median_ms / 1e6, 1);
    rw_bench_add_real(&line, "relative", relative, 3);
    return rw_bench_send(&g->lab->rows, "figure 7", &line);
}

/* What is asked of choice i; 0: it cannot be had in shared memory. */
static int plan_choice(struct generalized *g, enum rw_multi_memory memory, int i,
                       const struct rw_multi_plan *automatic, struct rw_multi_plan *plan)
{
    const struct rw_multi_work work = rw_gen_work(&g->call, g->race);
    const int global = memory == RW_MULTI_GLOBAL;
    uint64_t m = i < DOCUMENTS ? fixed_m(g, memory, i)
                 : i == HALF   ? (automatic->m + 1) / 2
                 : i == TWICE  ? automatic->m * 2
                               : 0;
    uint64_t s = global && i < DOCUMENTS ? 1 : 0; /* no passes that are not needed */
    if (i == MODEL) {
        const struct rw_multi_choice choice =
            global ? rw_multi_global(&g->figures, &work) : rw_multi_shared(&g->figures, &work);
        m = choice.m;
        s = choice.s;
    }
    if (!global && m > g->figures.block_threads) /* more copies than threads */
        return 0;
    return rw_multi_plan_make(&g->figures, &work, 1, memory, m, s, plan) == 0;
}

static int same_plan(const struct rw_multi_plan *a, const struct rw_multi_plan *b)
{
    return a->memory == b->memory && a->m == b->m && a->s == b->s && a->n_bins == b->n_bins &&
           a->threads == b->threads && a->blocks == b->blocks;
}

static int by_median(const void *a, const void *b)
{
    const double x = ((const struct rw_bench_times *)a)->median_ms;
    const double y = ((const struct rw_bench_times *)b)->median_ms;
    return (x > y) - (x < y);
}

/* The median of the rounds' medians, the least and the most of all. */
static struct rw_bench_times over_rounds(struct choice *c)
{
    struct rw_bench_times all = c->round[0];
    for (int r = 1; r < c->n_rounds; r++) {
        all.least_ms = fmin(all.least_ms, c->round[r].least_ms);
        all.most_ms = fmax(all.most_ms, c->round[r].most_ms);
    }
    qsort(c->round, (size_t)c->n_rounds, sizeof(c->round[0]), by_median);
    all.median_ms = c->round[c->n_rounds / 2].median_ms;
    return all;
}

/* Room for the largest choice, so that all of all rounds run in the same memory: where it lies
 * moves the time of some. */
static int room_for_all(struct generalized *g, const struct choice *choice)
{
    size_t most = 0;
    for (int i = 0; i < CHOICES; i++) {
        if (!choice[i].there)
            continue;
        g->call.plan = choice[i].plan;
        const size_t bytes = rw_gen_scratch_bytes(&g->call);
        most = bytes > most ? bytes : most;
    }
    RW_TRY(room(g, most));
    g->call.d_scratch = g->d_scratch;
    return RW_OK;
}

/* Rounds over the choices, each plan once a round. */
static int time_rounds(struct generalized *g, struct choice *choice)
{
    const int n_runs = g->lab->n_runs;
    double best = INFINITY;
    int status = RW_OK;
    g->lab->n_runs = (n_runs + ROUNDS - 1) / ROUNDS;
    for (int r = 0; r < ROUNDS && status == RW_OK; r++) {
        for (int i = 0; i < CHOICES && status == RW_OK; i++) {
            struct choice *const c = &choice[i];
            if (!c->there || c->same_as != i || (r > 0 && c->round[0].median_ms > hopeless * best))
                continue;
            g->call.plan = c->plan;
            status = rw_lab_time(g->lab, run_call, g, &c->round[r]);
            c->n_rounds = r + 1;
        }
        for (int i = 0; i < CHOICES; i++)
            if (r == 0 && choice[i].n_rounds > 0 && choice[i].round[0].median_ms < best)
                best = choice[i].round[0].median_ms;
    }
    g->lab->n_runs = n_runs;
    return status;
}

/* Fixed choices and the automatic one; relative: the best fixed time over each. */
static int time_choices(struct generalized *g, enum rw_multi_memory memory, uint32_t race)
{
    static const char *const name[2][CHOICES] = {
        {"M=1", "M1", "M3", "M6", "M9", "model", "half", "twice", "automatic"},
        {"M=1", "M=4", "M=8", "M=16", "M=32", "model", "half", "twice", "automatic"}};
    struct choice choice[CHOICES];
    double best = INFINITY;
    memset(choice, 0, sizeof(choice));
    if (!plan_choice(g, memory, AUTOMATIC, NULL, &choice[AUTOMATIC].plan))
        return rw_fail(g->lab->ctx, RW_ERR_UNSUPPORTED, "no plan for %u bins", g->call.n_bins);
    for (int i = 0; i < CHOICES; i++) {
        struct choice *const c = &choice[i];
        c->there = plan_choice(g, memory, i, &choice[AUTOMATIC].plan, &c->plan);
        c->same_as = 0;
        while (c->same_as < i && !(c->there && choice[c->same_as].there &&
                                   same_plan(&choice[c->same_as].plan, &c->plan)))
            c->same_as++;
    }
    RW_TRY(room_for_all(g, choice));
    RW_TRY(time_rounds(g, choice));
    for (int i = 0; i < CHOICES; i++) {
        struct choice *const c = &choice[i];
        if (!c->there)
            continue;
        c->times = c->same_as < i ? choice[c->same_as].times : over_rounds(c);
        if (i != AUTOMATIC && c->times.median_ms < best)
            best = c->times.median_ms;
    }
    for (int i = 0; i < CHOICES; i++) {
        if (choice[i].there)
            RW_TRY(send_choice(g, name[memory == RW_MULTI_GLOBAL][i], race, &choice[i].plan,
                               &choice[i].times, best / choice[i].times.median_ms));
    }
    g->n_points++;
    g->n_close += choice[AUTOMATIC].times.median_ms <= close_enough * best;
    return RW_OK;
}

/* ---- shared or global ---- */

/* Both memories at a size where either could serve: what the passes' rule says and what it should
 * have said. */
static int time_memories(struct generalized *g, uint32_t race)
{
    enum { MOST_PASSES = 32 };
    struct rw_bench_times times[2];
    struct rw_multi_plan automatic;
    struct rw_bench_line line = {.n = 0};
    const struct rw_multi_work work = rw_gen_work(&g->call, g->race);
    if (rw_multi_plan_make(&g->figures, &work, 1, RW_MULTI_SHARED, 0, 0, &automatic) != 0 ||
        automatic.s > MOST_PASSES)
        return RW_OK;
    const uint64_t s = automatic.s;
    RW_TRY(time_plan(g, RW_MULTI_SHARED, 0, 0, &times[0]));
    RW_TRY(time_plan(g, RW_MULTI_GLOBAL, 0, 0, &times[1]));
    if (rw_multi_plan_make(&g->figures, &work, 1, RW_MULTI_AUTO, 0, 0, &automatic) != 0)
        return RW_OK;
    const int global = automatic.memory == RW_MULTI_GLOBAL;
    const double best = fmin(times[0].median_ms, times[1].median_ms);
    rw_bench_add_text(&line, "op", rw_gen_op_name(g->call.op));
    rw_bench_add_text(&line, "strategy", rw_gen_strategy_name(g->call.strategy));
    rw_bench_add_integer(&line, "bins", g->call.n_bins);
    rw_bench_add_integer(&line, "rf", race);
    rw_bench_add_integer(&line, "passes", (double)s);
    rw_bench_add_real(&line, "shared_ms", times[0].median_ms, 4);
    rw_bench_add_real(&line, "global_ms", times[1].median_ms, 4);
    rw_bench_add_text(&line, "automatic", global ? "global" : "shared");
    rw_bench_add_real(&line, "relative", best / times[global].median_ms, 3);
    return rw_bench_send(&g->lab->rows, "memories", &line);
}

/* ---- Table II ---- */

static int run_cub(void *user)
{
    struct generalized *g = user;
    return cuda(g, g->cub_run(&g->cub, g->lab->device->stream), "CUB");
}

static int time_cub(struct generalized *g, struct rw_bench_times *times)
{
    static int (*const run[RW_MULTI_STRATEGIES])(struct rw_lab_cub *, void *) = {
        rw_cuda_cub_even, rw_cuda_cub_sat24, rw_cuda_cub_argmax};
    g->cub_run = run[g->call.strategy];
    g->cub.n = g->n;
    g->cub.n_bins = g->call.n_bins;
    g->cub.d_index = g->d_index;
    g->cub.d_value =
        g->call.strategy == RW_MULTI_CAS ? (const void *)g->d_small : (const void *)g->d_pair;
    rw_device_free(g->cub.d_temp);
    g->cub.d_temp = NULL;
    g->cub.temp_bytes = 0;
    RW_TRY(run_cub(g));
    RW_TRY(rw_device_alloc(g->lab->ctx, &g->cub.d_temp, g->cub.temp_bytes));
    return rw_lab_time(g->lab, run_cub, g, times);
}

/* Both count the same, or one of the two times means nothing. */
static int compare_counts(struct generalized *g)
{
    struct rw_ctx *ctx = g->lab->ctx;
    const size_t bytes = g->call.n_bins * sizeof(uint32_t);
    uint32_t *ours = NULL, *cubs = NULL;
    int status;
    RW_TRY_OUT(RW_NEW(ctx, ours, g->call.n_bins));
    RW_TRY_OUT(RW_NEW(ctx, cubs, g->call.n_bins));
    RW_TRY_OUT(rw_transfer_read(g->lab->device, ours, g->d_out, bytes));
    RW_TRY_OUT(rw_transfer_read(g->lab->device, cubs, g->cub.d_result, bytes));
    if (memcmp(ours, cubs, bytes) != 0)
        status = rw_fail(ctx, RW_ERR_UNSUPPORTED, "multi and CUB count differently in %u bins",
                         g->call.n_bins);
out:
    rw_mem_free(ours);
    rw_mem_free(cubs);
    return status;
}

static int time_beside_cub(struct generalized *g, int size, uint32_t race)
{
    struct rw_bench_times multi, cub;
    struct rw_bench_line line = {.n = 0};
    const enum rw_multi_strategy strategy = g->call.strategy;
    RW_TRY(time_plan(g, RW_MULTI_AUTO, 0, 0, &multi));
    RW_TRY(time_cub(g, &cub));
    if (strategy == RW_MULTI_HARDWARE)
        RW_TRY(compare_counts(g));
    const double speedup = cub.median_ms / multi.median_ms;
    if (strategy == RW_MULTI_HARDWARE && !(speedup >= g->least_beside_cub))
        g->least_beside_cub = speedup;
    rw_bench_add_text(&line, "op", rw_gen_op_name(g->call.op));
    rw_bench_add_text(&line, "strategy", rw_gen_strategy_name(strategy));
    rw_bench_add_integer(&line, "bins", g->call.n_bins);
    rw_bench_add_integer(&line, "rf", race);
    rw_bench_add_text(&line, "memory",
                      g->call.plan.memory == RW_MULTI_SHARED ? "shared" : "global");
    rw_bench_add_integer(&line, "m", (double)g->call.plan.m);
    rw_bench_add_integer(&line, "s", (double)g->call.plan.s);
    rw_lab_add_times(g->lab, &line, &multi, bytes_of(g));
    rw_bench_add_real(&line, "cub_ms", cub.median_ms, 4);
    rw_bench_add_real(&line, "cub_least_ms", cub.least_ms, 4);
    rw_bench_add_real(&line, "speedup", speedup, 3);
    rw_bench_add_real(&line, "document_cub_ms", rw_generalized_cub_ms[strategy][size], 2);
    rw_bench_add_real(&line, "document_speedup", rw_generalized_speedup[strategy][race > 1][size],
                      1);
    return rw_bench_send(&g->lab->rows, "table II", &line);
}

/* ---- Table I ---- */

/* Entries that the model gives from the document's device, and what it says of this one. */
static int send_table_1(struct generalized *g, double *n_same)
{
    *n_same = 0;
    for (int i = 0; i < RW_GENERALIZED_ENTRIES; i++) {
        const struct rw_generalized_entry *e = &rw_generalized_table_1[i];
        struct rw_bench_line line = {.n = 0};
        struct rw_multi_choice choice[2];
        for (int here = 0; here < 2; here++) {
            const struct rw_gen_call call = {.op = op_of[e->strategy],
                                             .strategy = e->strategy,
                                             .n = ELEMENTS,
                                             .n_bins = e->n_bins,
                                             .n_out = 1,
                                             .width = 1};
            const struct rw_multi_work work = rw_gen_work(&call, e->race ? e->race : 1);
            const struct rw_multi_figures *f = here ? &g->figures : &rw_generalized_device;
            choice[here] = e->memory == RW_MULTI_SHARED ? rw_multi_shared(f, &work)
                                                        : rw_multi_global(f, &work);
        }
        const int same = choice[0].m == e->m && choice[0].s == e->s;
        *n_same += same;
        rw_bench_add_text(&line, "memory", e->memory == RW_MULTI_SHARED ? "shared" : "global");
        rw_bench_add_text(&line, "strategy", rw_gen_strategy_name(e->strategy));
        if (e->race)
            rw_bench_add_integer(&line, "rf", e->race);
        else
            rw_bench_add_none(&line, "rf");
        rw_bench_add_integer(&line, "bins", e->n_bins);
        rw_bench_add_integer(&line, "document_m", (double)e->m);
        rw_bench_add_integer(&line, "document_s", (double)e->s);
        rw_bench_add_integer(&line, "m", (double)choice[0].m);
        rw_bench_add_integer(&line, "s", (double)choice[0].s);
        rw_bench_add_text(&line, "same", same ? "yes" : "no");
        rw_bench_add_integer(&line, "here_m", (double)choice[1].m);
        rw_bench_add_integer(&line, "here_s", (double)choice[1].s);
        RW_TRY(rw_bench_send(&g->lab->rows, "table I", &line));
    }
    return RW_OK;
}

/* ---- the suite ---- */

static int run_points(struct generalized *g)
{
    static const uint32_t races[] = {1, 63};
    for (int size = 0; size < RW_GENERALIZED_SIZES; size++) {
        const uint32_t n_bins = rw_generalized_bins[size];
        if (g->lab->options->n_bins && g->lab->options->n_bins != n_bins)
            continue;
        for (int r = 0; r < LENGTH(races); r++) {
            RW_TRY(set_indexes(g, n_bins, races[r]));
            for (int strategy = 0; strategy < RW_MULTI_STRATEGIES; strategy++) {
                if (!rw_lab_wants(g->lab, rw_gen_strategy_name((enum rw_multi_strategy)strategy)))
                    continue;
                set_op(g, (enum rw_multi_strategy)strategy);
                if (size < RW_GENERALIZED_SHARED)
                    RW_TRY(time_choices(g, RW_MULTI_SHARED, races[r]));
                if (size >= RW_GENERALIZED_SIZES - RW_GENERALIZED_GLOBAL)
                    RW_TRY(time_choices(g, RW_MULTI_GLOBAL, races[r]));
                if (size >= RW_GENERALIZED_SIZES - RW_GENERALIZED_GLOBAL)
                    RW_TRY(time_memories(g, races[r]));
                RW_TRY(time_beside_cub(g, size, races[r]));
            }
        }
    }
    return RW_OK;
}

static int send_bars(struct generalized *g, double n_same)
{
    const struct rw_bench_bar bars[] = {
        {.what = "entries of Table I reproduced from its device's figures",
         .figure = n_same,
         .must = RW_GENERALIZED_ENTRIES,
         .aim = NAN},
        {.what = "share of points where automatic M and S are within 5 % of the best fixed",
         .figure = g->n_points ? (double)g->n_close / g->n_points : NAN,
         .must = 0.95,
         .aim = NAN},
        {.what = "lowest speed against CUB's where the hardware's atomic serves",
         .figure = g->least_beside_cub,
         .must = 0.97,
         .aim = NAN}};
    for (int i = 0; i < LENGTH(bars); i++)
        RW_TRY(rw_bench_bar(&g->lab->rows, &bars[i]));
    return RW_OK;
}

static int check_bins(struct rw_lab *lab)
{
    const uint32_t n_bins = lab->options->n_bins;
    for (int size = 0; size < RW_GENERALIZED_SIZES; size++)
        if (n_bins == 0 || n_bins == rw_generalized_bins[size])
            return RW_OK;
    return rw_fail(lab->ctx, RW_ERR_ARGUMENT,
                   "%u bins are not among the document's; expected 31, 127, 505, 2047, or 6, 12, "
                   "24, 48, 192, 384, 768, 1536 times 1024",
                   n_bins);
}

static int run(struct rw_lab *lab)
{
    struct generalized g = {.lab = lab, .least_beside_cub = NAN};
    double n_same = 0;
    int status;
    g.n = rw_bench_number(&lab->rows, lab->options->n_docs, ELEMENTS, QUICK_ELEMENTS);
    if (g.n > INT32_MAX)
        return rw_fail(lab->ctx, RW_ERR_ARGUMENT, "%u elements; CUB is asked for at most 2^31 - 1",
                       g.n);
    RW_TRY(check_bins(lab));
    RW_TRY_OUT(init(&g));
    RW_TRY_OUT(send_table_1(&g, &n_same));
    RW_TRY_OUT(run_points(&g));
    RW_TRY_OUT(send_bars(&g, n_same));
out:
    release(&g);
    return status;
}

static const char *const methods[] = {"hardware", "cas", "lock", NULL};

const struct rw_lab_suite rw_lab_generalized = {
    .name = "generalized",
    .about = "any operator, 31 to 1.5 million bins: automatic and fixed M and S, against CUB",
    .run = run,
    .methods = methods,
    .unused = RW_LAB_NO_FEATURES,
};
