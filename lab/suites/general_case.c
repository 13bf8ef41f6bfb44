#include "lab/suites/general_case.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "gpu/device/cu_check.h"
#include "lab/kernels/values_serial.h"

/* A run is cut into so many chunks, but for their size. */
enum { CHUNKS = 16, LEAST_CHUNK = 1 << 20, MOST_CHUNK = 32 << 20 };
enum { SORTED_CHUNK = 1 << 16, LONG_MS = 20, SHORT_RUNS = 51 };
/* Methods that are compared take so many turns, of so many runs if these are short, or longer. */
enum { TURNS = 5, TURN_RUNS = 11, TURN_LONGER_RUNS = 3 };
/* Over so many times the best one's first turn a method has no second one. */
static const double hopeless = 2.0;
/* Values that the host is timed over at most, on one core and on all: beyond, time is in
 * proportion. */
static const uint64_t most_timed[2] = {1 << 21, 1 << 24};
/* Values are in [0, RANGE) before they become their type. */
#define RANGE    0x1p31
#define SHORT_MS 0.5

const char *const rw_general_methods[RW_GENERAL_METHODS + 1] = {"serial", "cpu", "privatized",
                                                                "sort-search", NULL};

struct rw_general {
    struct rw_lab *lab;
    size_t most_bytes;
    uint32_t most_bins;
    void *value;     /* [most_bytes] pinned; owned */
    void *edge;      /* [most_bins + 1] of 8 bytes, pinned; owned */
    uint64_t *count; /* [most_bins] pinned; owned */
    void *d_value, *d_edge, *d_count;
    void *d_scratch[RW_TRANSFER_MOST_STREAMS];
    size_t scratch_room[RW_TRANSFER_MOST_STREAMS];
    struct rw_transfer_pipe *pipe; /* of n_streams and chunk_bytes; owned */
    uint32_t n_streams;
    size_t chunk_bytes;
    /* What `value` holds. */
    int made;
    enum rw_values_type type;
    enum rw_general_distribution distribution;
    uint64_t n_made;
    /* Of the point at hand. */
    const struct rw_values_method *method;
    struct rw_values_call call;
    size_t value_bytes, edge_bytes;
};

const char *rw_general_distribution_name(enum rw_general_distribution distribution)
{
    static const char *const names[] = {"uniform", "narrow normal", "sorted chunks"};
    return names[distribution];
}

/* ---- inputs ---- */

/* A number in [0, 1): the sum of 8 of 16 bits is close to normal, of variance 8 / 12. */
static double fraction(const struct rw_general *g, enum rw_general_distribution distribution,
                       uint64_t i)
{
    const struct rw_philox r = rw_random4(g->lab->options->seed, i, 0, RW_STREAM_SYNTH + 110);
    if (distribution == RW_GENERAL_UNIFORM)
        return r.word[0] * 0x1p-32;
    if (distribution == RW_GENERAL_SORTED)
        return ((double)(i % SORTED_CHUNK) + r.word[0] * 0x1p-32) / SORTED_CHUNK;
    double sum = 0;
    for (int k = 0; k < 4; k++)
        sum += (r.word[k] >> 16) * 0x1p-16 + (r.word[k] & 65535) * 0x1p-16;
    return 0.5 + (sum - 4) * 0x1p-6;
}

struct value_job {
    struct rw_general *g;
    const struct rw_general_point *point;
};

static int make_some(void *user, struct rw_share *share)
{
    const struct value_job *job = user;
    const struct rw_general *g = job->g;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        for (; i < end; i++) {
            const double x = fraction(g, job->point->distribution, i);
            if (job->point->type == RW_VALUES_F64)
                ((double *)g->value)[i] = x * RANGE;
            else if (job->point->type == RW_VALUES_U8)
                ((uint8_t *)g->value)[i] = (uint8_t)(x * 256);
            else
                ((int32_t *)g->value)[i] = (int32_t)(x * RANGE);
        }
    }
    return RW_OK;
}

static void make_values(struct rw_general *g, const struct rw_general_point *point)
{
    if (g->made && g->type == point->type && g->distribution == point->distribution &&
        g->n_made >= point->n)
        return;
    g->made = 1;
    g->type = point->type;
    g->distribution = point->distribution;
    g->n_made = point->n;
    struct value_job job = {g, point};
    rw_parallel(g->lab->ctx, g->lab->ctx->n_threads, g->n_made, 0, make_some, &job);
}

static void make_edges(struct rw_general *g, const struct rw_general_point *point)
{
    const double range = point->type == RW_VALUES_U8 ? 256 : RANGE;
    for (uint32_t i = 0; i <= point->n_bins; i++) {
        const double edge = range * i / point->n_bins;
        if (point->type == RW_VALUES_F64)
            ((double *)g->edge)[i] = edge;
        else
            ((int32_t *)g->edge)[i] = (int32_t)(edge < RANGE ? edge : RANGE - 1);
    }
}

/* ---- what is timed ---- */

static int run_kernel(void *user)
{
    struct rw_general *g = user;
    return rw_values_run(g->lab->ctx, g->method, &g->call, g->lab->device->stream);
}

static int send_values(struct rw_general *g)
{
    return rw_transfer_write_pinned(g->lab->device, g->d_value, g->value, g->value_bytes);
}

static int send_edges(struct rw_general *g)
{
    return rw_transfer_write_pinned(g->lab->device, g->d_edge, g->edge, g->edge_bytes);
}

static int fetch_counts(struct rw_general *g)
{
    RW_CU(g->lab->ctx, cudaMemcpyAsync(g->count, g->d_count, g->call.n_bins * sizeof(*g->count),
                                       cudaMemcpyDeviceToHost, g->lab->device->stream));
    return RW_OK;
}

static int run_transfer(void *user)
{
    struct rw_general *g = user;
    RW_TRY(send_edges(g));
    RW_TRY(send_values(g));
    return fetch_counts(g);
}

static int run_whole(void *user)
{
    struct rw_general *g = user;
    RW_TRY(send_edges(g));
    RW_TRY(send_values(g));
    RW_TRY(run_kernel(g));
    return fetch_counts(g);
}

static int use_chunk(const struct rw_general *g, const struct rw_transfer_chunk *chunk)
{
    struct rw_values_call call = g->call;
    call.d_value = chunk->d_data;
    call.n = chunk->bytes / rw_values_bytes(call.type);
    call.d_scratch = g->d_scratch[chunk->place];
    call.add = 1;
    return rw_values_run(g->lab->ctx, g->method, &call, chunk->stream);
}

static int run_piped(void *user)
{
    struct rw_general *g = user;
    struct rw_values_call none = g->call;
    none.n = 0; /* clears the result */
    RW_TRY(send_edges(g));
    RW_TRY(rw_values_run(g->lab->ctx, g->method, &none, g->lab->device->stream));
    RW_TRY(rw_transfer_pipe_begin(g->pipe));
    for (size_t at = 0; at < g->value_bytes; at += g->chunk_bytes) {
        const size_t left = g->value_bytes - at;
        struct rw_transfer_chunk chunk;
        RW_TRY(rw_transfer_pipe_send(g->pipe, (const char *)g->value + at,
                                     left < g->chunk_bytes ? left : g->chunk_bytes, &chunk));
        RW_TRY(use_chunk(g, &chunk));
    }
    RW_TRY(rw_transfer_pipe_end(g->pipe));
    return fetch_counts(g);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void sort_times(double *ms, int n)
{
    qsort(ms, (size_t)n, sizeof(ms[0]), by_size);
}

/* One run by the host's clock, from the call to the result. */
static int run_timed(struct rw_general *g, int (*run)(void *user), void *user, int on_device,
                     double *ms)
{
    const double start = rw_clock_ms();
    RW_TRY(run(user));
    if (on_device)
        RW_TRY(rw_transfer_wait(g->lab->device));
    *ms = rw_clock_ms() - start;
    return RW_OK;
}

/* Long runs are repeated less, short ones more. */
static int time_host(struct rw_general *g, int (*run)(void *user), void *user, int on_device,
                     struct rw_bench_times *out)
{
    enum { MOST = 100 };
    double ms[MOST];
    int n = g->lab->n_runs < MOST ? g->lab->n_runs : MOST, done = 0;
    for (int i = on_device ? -1 : 0; i < n; i++) { /* -1: the warm-up */
        double took;
        RW_TRY(run_timed(g, run, user, on_device, &took));
        if (i >= 0)
            ms[done++] = took;
        if (i == 0 && took < SHORT_MS && !g->lab->options->n_runs)
            n = SHORT_RUNS;
        if (took > LONG_MS && n > 3)
            n = 3;
        if (took > 10 * LONG_MS)
            n = 1;
    }
    sort_times(ms, done);
    *out = (struct rw_bench_times){ms[done / 2], ms[0], ms[done - 1]};
    return RW_OK;
}

struct on_cpu {
    struct rw_general *g;
    struct rw_values_job job;
    int all_cores;
};

static int run_cpu(void *user)
{
    struct on_cpu *c = user;
    if (c->all_cores)
        return rw_values_cpu_run(c->g->lab->ctx, &c->job, c->g->lab->ctx->n_threads);
    rw_values_serial_run(&c->job);
    return RW_OK;
}

static struct on_cpu on_cpu_of(struct rw_general *g, const struct rw_general_point *point,
                               int all_cores)
{
    struct on_cpu c = {.g = g, .all_cores = all_cores};
    c.job = (struct rw_values_job){.type = point->type,
                                   .value = g->value,
                                   .n = point->n < most_timed[all_cores] ? point->n
                                                                         : most_timed[all_cores],
                                   .edge = g->edge,
                                   .n_bins = point->n_bins,
                                   .last_closed = 1,
                                   .count = g->count};
    return c;
}

static int time_cpu(struct rw_general *g, const struct rw_general_point *point,
                    struct rw_general_times *out)
{
    struct on_cpu c = on_cpu_of(g, point, point->method == RW_GENERAL_CPU);
    out->n_timed = c.job.n;
    RW_TRY(time_host(g, run_cpu, &c, 0, &out->total));
    const double scale = (double)point->n / (double)c.job.n;
    out->total.median_ms *= scale;
    out->total.least_ms *= scale;
    out->total.most_ms *= scale;
    return RW_OK;
}

/* ---- a point ---- */

static int need_scratch(struct rw_general *g, uint32_t place, size_t bytes)
{
    if (bytes <= g->scratch_room[place] && g->d_scratch[place])
        return RW_OK;
    rw_device_free(g->d_scratch[place]);
    g->d_scratch[place] = NULL;
    g->scratch_room[place] = 0;
    RW_TRY(rw_device_alloc(g->lab->ctx, &g->d_scratch[place], bytes));
    g->scratch_room[place] = bytes;
    return RW_OK;
}

static int need_pipe(struct rw_general *g, uint32_t n_streams)
{
    struct rw_values_call call = g->call;
    size_t bytes = g->value_bytes / CHUNKS / 256 * 256;
    bytes = bytes < LEAST_CHUNK ? LEAST_CHUNK : bytes > MOST_CHUNK ? MOST_CHUNK : bytes;
    call.n = bytes / rw_values_bytes(call.type);
    for (uint32_t i = 0; i < n_streams; i++)
        RW_TRY(need_scratch(g, i, g->method->scratch_bytes(&call)));
    if (g->pipe && g->n_streams == n_streams && g->chunk_bytes == bytes)
        return RW_OK;
    rw_transfer_pipe_free(g->pipe);
    g->pipe = NULL;
    g->n_streams = n_streams;
    g->chunk_bytes = bytes;
    return rw_transfer_pipe_new(g->lab->device, bytes, n_streams, &g->pipe);
}

static int set_point(struct rw_general *g, const struct rw_general_point *point)
{
    const struct rw_device *const device = g->lab->device;
    if (point->n * rw_values_bytes(point->type) > g->most_bytes || point->n_bins > g->most_bins)
        return rw_fail(g->lab->ctx, RW_ERR_ARGUMENT, "a point beyond the suite's room");
    make_values(g, point);
    make_edges(g, point);
    g->value_bytes = point->n * rw_values_bytes(point->type);
    g->edge_bytes = (point->n_bins + (size_t)1) * rw_values_edge_bytes(point->type);
    g->method = rw_values_method_find(rw_general_methods[point->method]); /* NULL on the host */
    g->call = (struct rw_values_call){.type = point->type,
                                      .partition = point->partition,
                                      .d_value = g->d_value,
                                      .n = point->n,
                                      .d_edge = g->d_edge,
                                      .n_bins = point->n_bins,
                                      .last_closed = 1,
                                      .d_count = g->d_count,
                                      .n_multiprocessors = device->n_multiprocessors,
                                      .shared_bytes = device->shared_bytes};
    return RW_OK;
}

int rw_general_transfer(struct rw_general *g, const struct rw_general_point *point, double *ms)
{
    struct rw_bench_times times;
    RW_TRY(set_point(g, point));
    RW_TRY(rw_lab_time(g->lab, run_transfer, g, &times));
    *ms = times.median_ms;
    return RW_OK;
}

int rw_general_time(struct rw_general *g, const struct rw_general_point *point,
                    struct rw_general_times *out)
{
    *out = (struct rw_general_times){.kernel_ms = NAN, .n_timed = point->n};
    RW_TRY(set_point(g, point));
    if (!g->method)
        return time_cpu(g, point, out);
    struct rw_bench_times kernel;
    RW_TRY(need_scratch(g, 0, g->method->scratch_bytes(&g->call)));
    g->call.d_scratch = g->d_scratch[0];
    RW_TRY(send_edges(g));
    RW_TRY(send_values(g));
    RW_TRY(rw_lab_time(g->lab, run_kernel, g, &kernel));
    out->kernel_ms = kernel.median_ms;
    if (point->n_streams == 0)
        return time_host(g, run_whole, g, 1, &out->total);
    RW_TRY(need_pipe(g, point->n_streams));
    g->call.d_scratch = g->d_scratch[0]; /* it may have grown */
    return time_host(g, run_piped, g, 1, &out->total);
}

/* ---- methods side by side ---- */

/* What a method took so far. */
struct turns {
    double ms[TURNS * TURN_RUNS];
    int n;
};

/* Runs of a turn, if the first one, which is not long, took `ms`. */
static int runs_of_turn(const struct rw_lab *lab, double ms)
{
    const int asked = lab->options->n_runs ? (int)lab->options->n_runs / TURNS + 1 : TURN_RUNS;
    const int most = ms < SHORT_MS ? TURN_RUNS : TURN_LONGER_RUNS;
    return asked < most ? asked : most;
}

/* The first run of a turn brings back what the other methods drove out (threads that sleep, caches,
 * what the branch predictor knew): it counts only if it is so long that this does not matter. */
static int take_turn(struct rw_general *g, const struct rw_general_point *point, int method,
                     struct turns *turns)
{
    struct on_cpu c = on_cpu_of(g, point, method == RW_GENERAL_CPU);
    g->method = rw_values_method_find(rw_general_methods[method]); /* NULL on the host */
    const int on_device = g->method != NULL;
    int (*const run)(void *user) = on_device ? run_whole : run_cpu;
    void *const user = on_device ? (void *)g : &c;
    const double scale = on_device ? 1 : (double)point->n / (double)c.job.n;
    double ms;
    if (on_device) {
        RW_TRY(need_scratch(g, 0, g->method->scratch_bytes(&g->call)));
        g->call.d_scratch = g->d_scratch[0];
    }
    RW_TRY(run_timed(g, run, user, on_device, &ms));
    if (ms > LONG_MS) {
        turns->ms[turns->n++] = ms * scale;
        return RW_OK;
    }
    for (int n = runs_of_turn(g->lab, ms); n > 0; n--) {
        RW_TRY(run_timed(g, run, user, on_device, &ms));
        turns->ms[turns->n++] = ms * scale;
    }
    return RW_OK;
}

int rw_general_compare(struct rw_general *g, const struct rw_general_point *point, unsigned methods,
                       double ms[RW_GENERAL_METHODS])
{
    struct turns turns[RW_GENERAL_METHODS] = {{.n = 0}};
    const int n_turns = g->lab->options->quick ? 1 : TURNS;
    double least = INFINITY;
    RW_TRY(set_point(g, point));
    for (int turn = 0; turn < n_turns; turn++) {
        for (int m = 0; m < RW_GENERAL_METHODS; m++) {
            if (!(methods >> m & 1) || (turn > 0 && ms[m] > hopeless * least))
                continue;
            RW_TRY(take_turn(g, point, m, &turns[m]));
            sort_times(turns[m].ms, turns[m].n);
            ms[m] = turns[m].ms[turns[m].n / 2];
            least = ms[m] < least ? ms[m] : least;
        }
    }
    return RW_OK;
}

int rw_general_new(struct rw_lab *lab, size_t most_bytes, uint32_t most_bins,
                   struct rw_general **out)
{
    int status = RW_OK;
    struct rw_general *g = NULL;
    struct rw_ctx *const ctx = lab->ctx;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, g, 1));
    g->lab = lab;
    g->most_bytes = most_bytes;
    g->most_bins = most_bins;
    RW_TRY_OUT(rw_transfer_pinned_alloc(ctx, &g->value, most_bytes));
    RW_TRY_OUT(rw_transfer_pinned_alloc(ctx, &g->edge, (most_bins + (size_t)1) * 8));
    RW_TRY_OUT(rw_transfer_pinned_alloc(ctx, (void **)&g->count, most_bins * sizeof(*g->count)));
    RW_TRY_OUT(rw_device_alloc(ctx, &g->d_value, most_bytes));
    RW_TRY_OUT(rw_device_alloc(ctx, &g->d_edge, (most_bins + (size_t)1) * 8));
    RW_TRY_OUT(rw_device_alloc(ctx, &g->d_count, most_bins * sizeof(*g->count)));
    *out = g;
    return RW_OK;
out:
    rw_general_free(g);
    return status;
}

void rw_general_free(struct rw_general *g)
{
    if (!g)
        return;
    rw_transfer_pipe_free(g->pipe);
    rw_transfer_pinned_free(g->value);
    rw_transfer_pinned_free(g->edge);
    rw_transfer_pinned_free(g->count);
    rw_device_free(g->d_value);
    rw_device_free(g->d_edge);
    rw_device_free(g->d_count);
    for (int i = 0; i < RW_TRANSFER_MOST_STREAMS; i++)
        rw_device_free(g->d_scratch[i]);
    rw_mem_free(g);
}
