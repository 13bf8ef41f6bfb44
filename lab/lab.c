#include "lab/lab.h"

#include <cuda_runtime_api.h>
#include <string.h>

#include "base/ctx.h"
#include "gpu/device/cu_check.h"
#include "lab/kernels/bandwidth.h"
#include "lab/kernels/lab_methods.h"

enum { MOST_WORDS = 64 };

const struct rw_lab_suite *rw_lab_suite_at(int i)
{
    static const struct rw_lab_suite *const suites[] = {
        &rw_lab_weighted,    &rw_lab_lanes,   &rw_lab_contention,
        &rw_lab_generalized, &rw_lab_general, &rw_lab_nodes,
    };
    return i >= 0 && i < (int)(sizeof(suites) / sizeof(suites[0])) ? suites[i] : NULL;
}

const struct rw_hist_method *rw_lab_method_at(int i)
{
    static const struct rw_hist_method *const own[] = {
        &rw_hist_collision_free, &rw_hist_collision_reduced, &rw_hist_packed_private};
    const int n_own = (int)(sizeof(own) / sizeof(own[0]));
    int n = 0;
    while (rw_hist_method_at(n))
        n++;
    return i < n ? rw_hist_method_at(i) : i < n + n_own ? own[i - n] : NULL;
}

const struct rw_hist_method *rw_lab_method_asked(const struct rw_lab *lab)
{
    const char *name = lab->options->method;
    int i = 0;
    while (name && strcmp(name, rw_lab_method_at(i)->name) != 0)
        i++;
    return name ? rw_lab_method_at(i) : &rw_hist_lanes;
}

static int check_method(struct rw_ctx *ctx, const struct rw_lab_suite *suite, const char *method)
{
    const char *words[MOST_WORDS];
    int n = 0, at;
    if (!method)
        return RW_OK;
    if (suite->methods) {
        for (; suite->methods[n] && n < MOST_WORDS; n++)
            words[n] = suite->methods[n];
    } else {
        for (; rw_lab_method_at(n) && n < MOST_WORDS; n++)
            words[n] = rw_lab_method_at(n)->name;
    }
    return rw_bench_find_word(ctx, "method", method, words, n, &at);
}

int rw_lab_wants(const struct rw_lab *lab, const char *method)
{
    return !lab->options->method || strcmp(lab->options->method, method) == 0;
}

/* ---- times ---- */

/* Times n_runs runs (1 to 1000) after one warm-up. */
static int time_runs(const struct rw_lab *lab, int n_runs, int (*run)(void *user), void *user,
                     struct rw_bench_times *out)
{
    enum { MOST_RUNS = 1000 };
    double all[1 + MOST_RUNS], *ms = all + 1; /* the first is the warm-up */
    if (n_runs < 1 || n_runs > MOST_RUNS)
        return rw_fail(lab->ctx, RW_ERR_ARGUMENT, "%d runs; expected 1 to %d", n_runs, MOST_RUNS);
    for (int i = 0; i < 1 + n_runs; i++)
        RW_TRY(rw_device_time_once(lab->device, run, user, &all[i]));
    rw_sort_doubles(ms, (size_t)n_runs);
    out->median_ms = ms[n_runs / 2];
    out->least_ms = ms[0];
    out->most_ms = ms[n_runs - 1];
    return RW_OK;
}

int rw_lab_time(struct rw_lab *lab, int (*run)(void *user), void *user, struct rw_bench_times *out)
{
    return time_runs(lab, lab->n_runs, run, user, out);
}

struct reading {
    struct rw_ctx *ctx;
    void *d_from, *d_sink;
    size_t bytes;
    const struct rw_device *device;
};

static int run_reading(void *user)
{
    const struct reading *r = user;
    if (rw_cuda_read(r->d_from, r->bytes, r->d_sink, r->device->n_multiprocessors,
                     r->device->stream) != 0)
        return rw_fail(r->ctx, RW_ERR_UNSUPPORTED, "CUDA: reading memory failed");
    return RW_OK;
}

/* GB/s of reading 1 GiB, more than any cache holds; then the row that says on what this runs. */
static int measure_reading(struct rw_lab *lab)
{
    enum { READINGS = 21 };
    struct reading r = {.ctx = lab->ctx, .bytes = (size_t)1 << 30, .device = lab->device};
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    struct cudaDeviceProp properties;
    int status;
    RW_CU(lab->ctx, cudaGetDeviceProperties(&properties, lab->device->number));
    RW_TRY_OUT(rw_device_alloc(lab->ctx, &r.d_from, r.bytes));
    RW_TRY_OUT(rw_device_alloc(lab->ctx, &r.d_sink, sizeof(uint32_t)));
    RW_TRY_OUT(time_runs(lab, READINGS, run_reading, &r, &times));
    lab->read_gb_s = (double)r.bytes / times.median_ms / 1e6;
    rw_bench_add_text(&line, "device", lab->device->name);
    rw_bench_add_integer(&line, "multiprocessors", lab->device->n_multiprocessors);
    rw_bench_add_integer(&line, "memory_bytes", (double)properties.totalGlobalMem);
    rw_bench_add_integer(&line, "l2_bytes", properties.l2CacheSize);
    rw_bench_add_real(&line, "read_gb_s", lab->read_gb_s, 1);
    rw_bench_add_real(&line, "read_least_gb_s", (double)r.bytes / times.most_ms / 1e6, 1);
    rw_bench_add_real(&line, "read_most_gb_s", (double)r.bytes / times.least_ms / 1e6, 1);
    rw_bench_add_integer(&line, "runs", lab->n_runs);
    rw_bench_add_integer(&line, "seed", (double)lab->options->seed);
    RW_TRY_OUT(rw_bench_send(&lab->rows, "device", &line));
out:
    rw_device_free(r.d_from);
    rw_device_free(r.d_sink);
    return status;
}

void rw_lab_add_times(const struct rw_lab *lab, struct rw_bench_line *line,
                      const struct rw_bench_times *times, double bytes)
{
    const double gb_s = bytes / times->median_ms / 1e6;
    rw_bench_add_real(line, "median_ms", times->median_ms, 4);
    rw_bench_add_real(line, "least_ms", times->least_ms, 4);
    rw_bench_add_real(line, "most_ms", times->most_ms, 4);
    rw_bench_add_integer(line, "bytes", bytes);
    rw_bench_add_real(line, "gb_s", gb_s, 1);
    rw_bench_add_real(line, "read_share", gb_s / lab->read_gb_s, 3);
}

/* ---- the run ---- */

/* What is wrong with the options is said before a device is opened. */
static int check_options(struct rw_lab *lab)
{
    const struct rw_lab_options *o = lab->options;
    const struct {
        const char *name;
        unsigned bit; /* in what a suite has no use for */
        int is_given;
    } option[] = {{"method", RW_LAB_NO_METHOD, o->method != NULL},
                  {"docs", RW_LAB_NO_DOCS, o->n_docs != 0},
                  {"features", RW_LAB_NO_FEATURES, o->n_features != 0},
                  {"bins", RW_LAB_NO_BINS, o->n_bins != 0},
                  {"runs", RW_LAB_NO_RUNS, o->n_runs != 0}};
    RW_TRY(check_method(lab->ctx, lab->suite, o->method));
    for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++) {
        if (option[i].is_given && (lab->suite->unused & option[i].bit))
            return rw_fail(lab->ctx, RW_ERR_ARGUMENT, "option '--%s' has no effect in suite '%s'",
                           option[i].name, lab->suite->name);
    }
    return RW_OK;
}

int rw_lab_run(struct rw_ctx *ctx, const struct rw_lab_suite *suite,
               const struct rw_lab_options *options, rw_bench_row_fn row, void *user)
{
    RW_DEFAULT_FPENV;
    const struct rw_bench_options shared = {.seed = options->seed, .quick = options->quick};
    struct rw_lab lab = {
        .ctx = ctx,
        .options = options,
        .suite = suite,
        .rows = {.ctx = ctx, .options = &shared, .name = suite->name, .row = row, .user = user}};
    int status;
    RW_TRY(check_options(&lab));
    const int own = suite->n_runs ? suite->n_runs : RW_LAB_RUNS;
    lab.n_runs = options->n_runs ? options->n_runs : options->quick ? RW_BENCH_QUICK_RUNS : own;
    RW_TRY(rw_device_open(ctx, 0, &lab.device));
    RW_TRY_OUT(measure_reading(&lab));
    RW_TRY_OUT(suite->run(&lab));
out:
    rw_device_close(lab.device);
    return status;
}
