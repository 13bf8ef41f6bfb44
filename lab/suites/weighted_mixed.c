/* Table 7 and section 6.3: made MSLR data, each feature in as many bins as it has, by every method
 * alone and by the hybrids; Table 4: the CPU beside. */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "lab/suites/weighted.h"
#include "gpu/hist/hist.h"
#include "tests/check/hist_serial.h"

/* Groups of 2, 4, ... 1024 bins. */
enum { MOST_GROUPS = 10, MOST_CALLS = 2 * RW_HIST_MOST_CANDIDATES, CPU_RUNS = 3 };

struct mixed {
    struct rw_weighted *w;
    const struct rw_made_set *set;
    const struct rw_lab_docs *docs;
    struct rw_weighted_group group[MOST_GROUPS];
    int n_groups;
    struct rw_hist_candidates all;
    /* Of one kind of sums; NaN: not measured. Call 2 i + zero_skip is of method i. */
    struct rw_bench_times time[MOST_GROUPS][MOST_CALLS], total[MOST_CALLS];
    double hybrid_ms; /* the best that all groups took, for the CPU's row */
};

static uint32_t class_of(uint32_t n_codes)
{
    uint32_t n_bins = 2;
    while (n_bins < n_codes)
        n_bins *= 2;
    return n_bins;
}

static int make_groups(struct mixed *x)
{
    struct rw_lab *lab = x->w->lab;
    const uint32_t n_features = x->set->columns.n_features;
    uint32_t *index;
    int status = RW_OK;
    RW_TRY(RW_NEW(lab->ctx, index, n_features));
    for (uint32_t n_bins = 2; n_bins <= 1024; n_bins *= 2) {
        struct rw_weighted_cut cut = {.index = index,
                                      .n_bins = n_bins,
                                      .bits = n_bins <= 16    ? 4
                                              : n_bins <= 256 ? 8
                                                              : 16,
                                      .layouts = RW_HIST_TILES | RW_HIST_COLUMNS};
        for (uint32_t f = 0; f < n_features; f++) {
            if (class_of(x->set->n_codes[f]) == n_bins)
                index[cut.n++] = f;
        }
        if (cut.n > 0)
            RW_TRY_OUT(
                rw_weighted_group_init(lab, &x->group[x->n_groups++], &x->set->columns, &cut));
    }
out:
    rw_mem_free(index);
    return status;
}

static struct rw_weighted_row row_of(const struct mixed *x, int g, const char *hybrid,
                                     double relative)
{
    struct rw_weighted_row row = {"mixed", 0, 1.0, hybrid, relative};
    if (g >= 0) {
        row.n_bins = x->group[g].columns.n_bins;
        row.share = (double)x->group[g].columns.n_features / x->set->columns.n_features;
    }
    return row;
}

/* ---- one method for all ---- */

static int set_call(struct mixed *x, int g, enum rw_hist_sums sums, int call)
{
    const struct rw_lab_ask ask = {
        .method = x->all.method[call / 2], .sums = sums, .zero_skip = call % 2};
    return rw_lab_call_set(&x->group[g].call, x->docs, &x->group[g].m, &ask);
}

/* Every group by this call, then all groups if it can do them all. */
static int one_method(struct mixed *x, enum rw_hist_sums sums, int call)
{
    struct rw_lab *lab = x->w->lab;
    struct rw_weighted_plan plan = {.n = 0};
    for (int g = 0; g < x->n_groups; g++) {
        struct rw_weighted_plan alone = {.n = 0};
        const struct rw_weighted_row row = row_of(x, g, NULL, NAN);
        const int status = set_call(x, g, sums, call);
        RW_TRY(status);
        if (status > 0)
            continue;
        RW_TRY(rw_weighted_plan_add(lab, &alone, &x->group[g]));
        RW_TRY(rw_weighted_plan_add(lab, &plan, &x->group[g]));
        RW_TRY(rw_weighted_plan_time(lab, &alone, &x->time[g][call]));
        RW_TRY(rw_weighted_plan_row(lab, &alone, &row, &x->time[g][call]));
    }
    if (plan.n < x->n_groups)
        return RW_OK;
    const struct rw_weighted_row row = row_of(x, -1, NULL, NAN);
    RW_TRY(rw_weighted_plan_time(lab, &plan, &x->total[call]));
    return rw_weighted_plan_row(lab, &plan, &row, &x->total[call]);
}

static int all_methods(struct mixed *x, enum rw_hist_sums sums)
{
    for (int call = 0; call < MOST_CALLS; call++) {
        x->total[call].median_ms = NAN;
        for (int g = 0; g < MOST_GROUPS; g++)
            x->time[g][call].median_ms = NAN;
    }
    for (int call = 0; call < 2 * x->all.n; call++) {
        const struct rw_hist_method *method = x->all.method[call / 2];
        if (rw_lab_wants(x->w->lab, method->name) && (call % 2 == 0 || !method->reads_tiles))
            RW_TRY(one_method(x, sums, call));
    }
    return RW_OK;
}

/* The shortest of times: [MOST_CALLS], over the calls of these methods. */
static double best_single(const struct mixed *x, const struct rw_bench_times *times,
                          const struct rw_hist_candidates *among)
{
    double best = INFINITY;
    for (int call = 0; call < 2 * x->all.n; call++) {
        for (int i = 0; i < among->n; i++) {
            if (among->method[i] == x->all.method[call / 2] && times[call].median_ms < best)
                best = times[call].median_ms;
        }
    }
    return best;
}

/* ---- hybrids ---- */

/* The group takes what rw_hist_choose says; call: the number of the call that it is. */
static int choose_group(struct mixed *x, const struct rw_hist_candidates *among, int g,
                        enum rw_hist_sums sums, double *choosing_ms, int *call)
{
    struct rw_lab *lab = x->w->lab;
    struct rw_lab_call *c = &x->group[g].call;
    struct rw_hist_choice *choice;
    int status;
    RW_TRY(RW_NEW(lab->ctx, choice, 1));
    RW_TRY_OUT(set_call(x, g, sums, 0)); /* the first method need not take it */
    RW_TRY_OUT(rw_lab_call_choosing(c, among));
    RW_TRY_OUT(rw_weighted_choose(c, among, choice));
    RW_TRY_OUT(rw_transfer_wait(lab->device));
    *choosing_ms = choice->choosing_ms;
    *call = choice->zero_skip;
    for (int i = 0; i < x->all.n; i++)
        *call += x->all.method[i] == choice->method ? 2 * i : 0;
    RW_TRY_OUT(set_call(x, g, sums, *call));
out:
    rw_mem_free(choice);
    return status;
}

/* Group by group, as the trainer does. A group's row is that of the call it chose. gain: of all
 * groups together beside the best single method; lowest: of any row. */
static int hybrid(struct mixed *x, const struct rw_hist_candidates *among, const char *name,
                  enum rw_hist_sums sums, double *gain, double *lowest)
{
    struct rw_lab *lab = x->w->lab;
    struct rw_weighted_plan plan = {.n = 0};
    struct rw_bench_times times;
    *lowest = INFINITY;
    for (int g = 0; g < x->n_groups; g++) {
        struct rw_weighted_plan alone = {.n = 0};
        int call = 0;
        RW_TRY(choose_group(x, among, g, sums, &alone.choosing_ms, &call));
        RW_TRY(rw_weighted_plan_add(lab, &alone, &x->group[g]));
        RW_TRY(rw_weighted_plan_add(lab, &plan, &x->group[g]));
        plan.choosing_ms += alone.choosing_ms;
        const double relative = best_single(x, x->time[g], among) / x->time[g][call].median_ms;
        const struct rw_weighted_row row = row_of(x, g, name, relative);
        *lowest = relative < *lowest ? relative : *lowest;
        RW_TRY(rw_weighted_plan_row(lab, &alone, &row, &x->time[g][call]));
    }
    RW_TRY(rw_weighted_plan_time(lab, &plan, &times));
    *gain = best_single(x, x->total, among) / times.median_ms;
    *lowest = *gain < *lowest ? *gain : *lowest;
    x->hybrid_ms = times.median_ms < x->hybrid_ms ? times.median_ms : x->hybrid_ms;
    const struct rw_weighted_row row = row_of(x, -1, name, *gain);
    return rw_weighted_plan_row(lab, &plan, &row, &times);
}

/* ---- the CPU ---- */

/* Cells of a feature: threads do not meet in a cache line. */
enum { CPU_ROOM = 1024 };

/* Results of serial on one group. */
struct cpu {
    uint32_t *count;
    int64_t *lambda_sum;
    float *float_sum;
};

struct serial_job {
    const struct rw_lab_docs *docs;
    const struct rw_weighted_group *group;
    enum rw_hist_sums sums;
    const struct cpu *cpu;
};

static int run_serial(void *user, struct rw_share *share)
{
    const struct serial_job *job = user;
    const struct rw_made_columns *columns = &job->group->columns;
    const struct rw_hist_node node = {0, columns->n_docs};
    const int exact = job->sums == RW_HIST_MART;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        const struct rw_hist_serial serial = {
            .n_features = 1,
            .n_bins = columns->n_bins,
            .codes = &columns->column[f],
            .node = &node,
            .n_nodes = 1,
            .lambda = job->docs->lambda,
            .value = job->docs->value,
            .count = job->cpu->count + f * CPU_ROOM,
            .lambda_sum = exact ? job->cpu->lambda_sum + f * CPU_ROOM : NULL,
            .float_sum = exact ? NULL : job->cpu->float_sum + f * CPU_ROOM,
        };
        rw_hist_serial_run(&serial);
    }
    return RW_OK;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Times of one width of codes on one core or all. */
static int time_serial(const struct mixed *x, int bits, enum rw_hist_sums sums, int all_cores,
                       struct rw_bench_times *out)
{
    struct rw_ctx *ctx = x->w->lab->ctx;
    const uint64_t cells = (uint64_t)x->set->columns.n_features * CPU_ROOM;
    struct cpu cpu = {NULL, NULL, NULL};
    double ms[CPU_RUNS];
    int status;
    RW_TRY_OUT(RW_NEW(ctx, cpu.count, cells));
    RW_TRY_OUT(RW_NEW(ctx, cpu.lambda_sum, cells));
    RW_TRY_OUT(RW_NEW(ctx, cpu.float_sum, cells));
    for (int run = 0; run < CPU_RUNS; run++) {
        const double start = rw_clock_ms();
        for (int g = 0; g < x->n_groups; g++) {
            struct serial_job job = {x->docs, &x->group[g], sums, &cpu};
            if (x->group[g].bits == bits)
                rw_parallel(ctx, all_cores ? ctx->n_threads : 1, x->group[g].columns.n_features, 1,
                            run_serial, &job);
        }
        ms[run] = rw_clock_ms() - start;
    }
    qsort(ms, CPU_RUNS, sizeof(ms[0]), by_size);
    *out = (struct rw_bench_times){ms[CPU_RUNS / 2], ms[0], ms[CPU_RUNS - 1]};
out:
    rw_mem_free(cpu.count);
    rw_mem_free(cpu.lambda_sum);
    rw_mem_free(cpu.float_sum);
    return status;
}

/* bits 0: all widths. */
static int cpu_row(const struct mixed *x, int bits, enum rw_hist_sums sums, int all_cores,
                   const struct rw_bench_times *times)
{
    struct rw_bench_line line = {.n = 0};
    double code_bytes = 0, updates = 0;
    for (int g = 0; g < x->n_groups; g++) {
        const struct rw_made_columns *columns = &x->group[g].columns;
        const double n = (double)columns->n_features * columns->n_docs;
        if (bits && x->group[g].bits != bits)
            continue;
        updates += n;
        code_bytes += n * x->group[g].bits / 8;
    }
    if (updates <= 0)
        return RW_OK;
    rw_bench_add_text(&line, "bits", bits == 4 ? "4" : bits == 8 ? "8" : bits ? "16" : "all");
    rw_bench_add_text(&line, "sums", rw_lab_sums_name(sums));
    rw_bench_add_text(&line, "method", "serial");
    rw_bench_add_text(&line, "cores", all_cores ? "all" : "1");
    rw_bench_add_integer(&line, "docs", x->set->columns.n_docs);
    rw_bench_add_integer(&line, "features", updates / x->set->columns.n_docs);
    rw_bench_add_real(&line, "median_ms", times->median_ms, 2);
    rw_bench_add_real(&line, "least_ms", times->least_ms, 2);
    rw_bench_add_real(&line, "most_ms", times->most_ms, 2);
    rw_bench_add_integer(&line, "bytes", code_bytes);
    rw_bench_add_real(&line, "code_gb_s", code_bytes / times->median_ms / 1e6, 3);
    rw_bench_add_real(&line, "gdoc_s", updates / times->median_ms / 1e6, 3);
    rw_bench_add_real(&line, "hybrid_gain", bits ? NAN : times->median_ms / x->hybrid_ms, 1);
    return rw_bench_send(&x->w->lab->rows, "cpu", &line);
}

static int on_the_cpu(const struct mixed *x, enum rw_hist_sums sums)
{
    static const int widths[] = {4, 8, 16};
    for (int all_cores = 0; all_cores < 2; all_cores++) {
        struct rw_bench_times sum = {0, 0, 0};
        for (int i = 0; i < 3; i++) {
            struct rw_bench_times times;
            RW_TRY(time_serial(x, widths[i], sums, all_cores, &times));
            RW_TRY(cpu_row(x, widths[i], sums, all_cores, &times));
            sum.median_ms += times.median_ms;
            sum.least_ms += times.least_ms;
            sum.most_ms += times.most_ms;
        }
        RW_TRY(cpu_row(x, 0, sums, all_cores, &sum));
    }
    return RW_OK;
}

/* ---- all of it ---- */

static int one_kind(struct mixed *x, enum rw_hist_sums sums)
{
    struct rw_weighted_figures *figures = &x->w->figures;
    const int exact = sums == RW_HIST_MART;
    struct rw_hist_candidates three;
    double gain, lowest;
    rw_weighted_three(&three);
    RW_TRY(all_methods(x, sums));
    x->hybrid_ms = NAN;
    if (!x->w->lab->options->method) {
        x->hybrid_ms = INFINITY;
        RW_TRY(hybrid(x, &three, "hybrid of the three", sums,
                      exact ? &figures->hybrid_exact : &figures->hybrid_float, &lowest));
        if (exact)
            RW_TRY(hybrid(x, &x->all, "hybrid of all", sums, &gain, &figures->lanes_lowest));
    }
    return on_the_cpu(x, sums);
}

int rw_weighted_mixed(struct rw_weighted *w, const struct rw_made_set *set,
                      const struct rw_lab_docs *docs)
{
    struct mixed *x;
    int status;
    RW_TRY(RW_NEW(w->lab->ctx, x, 1));
    x->w = w;
    x->set = set;
    x->docs = docs;
    rw_weighted_all(&x->all);
    RW_TRY_OUT(make_groups(x));
    for (int s = 0; s < RW_WEIGHTED_SUMS; s++)
        RW_TRY_OUT(one_kind(x, rw_weighted_sums[s]));
out:
    for (int g = 0; g < MOST_GROUPS; g++)
        rw_weighted_group_release(&x->group[g]);
    rw_mem_free(x);
    return status;
}
