/* The bench of histograms: what it has beside other benches is the device. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "base/fpenv.h"
#include "bench/bench.h"
#include "gpu/bandwidth.h"
#include "gpu/hist/hist.h"

enum { MOST_WORDS = 64 };

const struct rw_bench_suite *rw_bench_hist_suite(int i)
{
    static const struct rw_bench_suite *const suites[] = {
        &rw_bench_weighted,    &rw_bench_lanes,   &rw_bench_contention,
        &rw_bench_generalized, &rw_bench_general, &rw_bench_nodes,
    };
    return i < (int)(sizeof(suites) / sizeof(suites[0])) ? suites[i] : NULL;
}

static int check_method(struct rw_ctx *ctx, const struct rw_bench_suite *suite, const char *method)
{
    const char *words[MOST_WORDS];
    int n = 0, at;
    if (!method)
        return RW_OK;
    if (suite->methods) {
        for (; suite->methods[n] && n < MOST_WORDS; n++)
            words[n] = suite->methods[n];
    } else {
        for (; rw_hist_method_at(n) && n < MOST_WORDS; n++)
            words[n] = rw_hist_method_at(n)->name;
    }
    return rw_bench_find_word(ctx, "method", method, words, n, &at);
}

int rw_bench_wants(const struct rw_bench *bench, const char *method)
{
    return !bench->options->method || strcmp(bench->options->method, method) == 0;
}

/* ---- times ---- */

int rw_bench_time(struct rw_bench *bench, int (*run)(void *user), void *user,
                  struct rw_bench_times *out)
{
    return rw_device_time(bench->ctx, bench->device, bench->n_runs, run, user, &out->median_ms,
                          &out->least_ms, &out->most_ms);
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
static int measure_reading(struct rw_bench *bench)
{
    enum { READINGS = 21 };
    struct reading r = {.ctx = bench->ctx, .bytes = (size_t)1 << 30, .device = bench->device};
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    int status;
    RW_TRY_OUT(rw_device_alloc(bench->ctx, &r.d_from, r.bytes));
    RW_TRY_OUT(rw_device_alloc(bench->ctx, &r.d_sink, sizeof(uint32_t)));
    RW_TRY_OUT(rw_device_time(bench->ctx, bench->device, READINGS, run_reading, &r,
                              &times.median_ms, &times.least_ms, &times.most_ms));
    bench->read_gb_s = (double)r.bytes / times.median_ms / 1e6;
    rw_bench_add_text(&line, "device", bench->device->name);
    rw_bench_add_integer(&line, "multiprocessors", bench->device->n_multiprocessors);
    rw_bench_add_integer(&line, "memory_bytes", (double)bench->device->memory_bytes);
    rw_bench_add_integer(&line, "l2_bytes", bench->device->l2_bytes);
    rw_bench_add_real(&line, "read_gb_s", bench->read_gb_s, 1);
    rw_bench_add_real(&line, "read_least_gb_s", (double)r.bytes / times.most_ms / 1e6, 1);
    rw_bench_add_real(&line, "read_most_gb_s", (double)r.bytes / times.least_ms / 1e6, 1);
    rw_bench_add_integer(&line, "runs", bench->n_runs);
    rw_bench_add_integer(&line, "seed", (double)bench->options->seed);
    RW_TRY_OUT(rw_bench_send(bench, "device", &line));
out:
    rw_device_free(r.d_from);
    rw_device_free(r.d_sink);
    return status;
}

void rw_bench_add_times(const struct rw_bench *bench, struct rw_bench_line *line,
                        const struct rw_bench_times *times, double bytes)
{
    const double gb_s = bytes / times->median_ms / 1e6;
    rw_bench_add_real(line, "median_ms", times->median_ms, 4);
    rw_bench_add_real(line, "least_ms", times->least_ms, 4);
    rw_bench_add_real(line, "most_ms", times->most_ms, 4);
    rw_bench_add_integer(line, "bytes", bytes);
    rw_bench_add_real(line, "gb_s", gb_s, 1);
    rw_bench_add_real(line, "read_share", gb_s / bench->read_gb_s, 3);
}

/* ---- the run ---- */

int rw_bench_hist(struct rw_ctx *ctx, const struct rw_bench_options *options, rw_bench_row_fn row,
                  void *user)
{
    RW_DEFAULT_FPENV;
    struct rw_bench bench = {.ctx = ctx, .options = options, .row = row, .user = user};
    int status;
    RW_TRY(rw_bench_find_suite(ctx, "hist", options->suite, &bench.suite));
    RW_TRY(check_method(ctx, bench.suite, options->method));
    RW_TRY(
        rw_bench_check_unused(ctx, bench.suite, options, RW_BENCH_NO_SHAPE | RW_BENCH_NO_QUERIES));
    const int own = bench.suite->n_runs ? bench.suite->n_runs : RW_BENCH_RUNS;
    bench.n_runs = options->n_runs ? options->n_runs : options->quick ? RW_BENCH_QUICK_RUNS : own;
    RW_TRY(rw_device_open(ctx, 0, &bench.device));
    RW_TRY_OUT(measure_reading(&bench));
    RW_TRY_OUT(bench.suite->run(&bench));
out:
    rw_device_close(bench.device);
    return status;
}

uint64_t rw_bench_free_bytes(int gpu)
{
    size_t free_bytes = 0, all_bytes = 0;
    int before;
    if (cudaGetDevice(&before) != cudaSuccess || cudaSetDevice(gpu) != cudaSuccess ||
        cudaMemGetInfo(&free_bytes, &all_bytes) != cudaSuccess ||
        cudaSetDevice(before) != cudaSuccess)
        (void)cudaGetLastError();
    return free_bytes;
}
