#include <cuda_runtime_api.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/hist/hist.h"
#include "base/ctx.h"
#include "hist_made_matrix.h"
#include "hist_run.h"

#include "hist_far.h"
#include "hist_serial.h"
#include "hist_siblings.h"
#include "hist_tools.h"

enum { FENCE = 256, POISON = 0xA5 };
/* Cells of a call: nodes are left out beyond. */
static const uint64_t most_cells = (uint64_t)1 << 20;
static const char *const sums_name[] = {"count", "mart", "newton", "float"};
static const char *const list_name[N_LISTS] = {"no list", "ascending list", "shuffled list",
                                               "list of all"};
/* As expected; on the device sums may be narrow. */
static const size_t result_size[HIST_RESULTS] = {sizeof(uint32_t), sizeof(int64_t), sizeof(int64_t),
                                                 sizeof(float)};
static const char *const result_name[HIST_RESULTS] = {"count", "lambda", "weight", "float"};

/* ---- buffers ---- */

void *hist_buffer_at(const struct hist_buffer *buffer)
{
    return buffer->d + FENCE;
}

int hist_buffer_make(struct hist_run *run, struct hist_buffer *buffer, size_t bytes)
{
    if (!buffer->d || bytes > buffer->room) {
        rw_device_free(buffer->d);
        buffer->d = NULL;
        buffer->room = 0;
        const size_t room = bytes + bytes / 4;
        if (rw_device_alloc(run->ctx, (void **)&buffer->d, room + 2 * FENCE) < 0)
            return -1;
        buffer->room = room;
    }
    buffer->bytes = bytes;
    /* The fence follows the content directly; the space after it is not checked. */
    return cudaMemsetAsync(buffer->d, POISON, bytes + 2 * FENCE, run->device->stream) == cudaSuccess
               ? 0
               : -1;
}

int hist_buffer_fill(struct hist_run *run, struct hist_buffer *buffer, const void *from,
                     size_t bytes)
{
    if (hist_buffer_make(run, buffer, bytes) < 0)
        return -1;
    return rw_transfer_write(run->device, hist_buffer_at(buffer), from, bytes) < 0 ? -1 : 0;
}

static int poisoned(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] != POISON)
            return 0;
    return 1;
}

/* ---- a run ---- */

int hist_run_init(struct hist_run *run, struct rw_ctx *ctx, const char *method, uint64_t seed)
{
    memset(run, 0, sizeof(*run));
    run->ctx = ctx;
    run->seed = seed;
    run->every = 1;
    run->stage = "";
    for (int i = 0; rw_hist_method_at(i) && run->n_methods < HIST_MOST_METHODS; i++)
        if (!method || strcmp(method, rw_hist_method_at(i)->name) == 0)
            run->tally[run->n_methods++].method = rw_hist_method_at(i);
    if (run->n_methods == 0) {
        rw_fail(ctx, RW_ERR_ARGUMENT, "no method '%s'", method ? method : "");
        return -1;
    }
    return rw_device_open(ctx, 0, &run->device) < 0 ? -1 : 0;
}

static void drop_call(struct hist_run *run)
{
    free(run->list);
    free(run->lambda);
    free(run->weight);
    free(run->value);
    free(run->magnitude);
    free(run->got);
    for (int r = 0; r < HIST_RESULTS; r++) {
        free(run->expected[r]);
        run->expected[r] = NULL;
    }
    run->list = NULL;
    run->lambda = run->weight = NULL;
    run->value = run->magnitude = NULL;
    run->got = NULL;
}

static void drop_matrix(struct hist_run *run)
{
    if (!run->have_matrix)
        return;
    rw_hist_matrix_free(run->matrix);
    run->matrix = NULL;
    rw_made_columns_release(&run->columns);
    free(run->frequent);
    free(run->row);
    run->frequent = NULL;
    run->row = NULL;
    run->have_matrix = 0;
}

void hist_run_release(struct hist_run *run)
{
    struct hist_buffer *const buffer[] = {
        &run->d_row,  &run->d_frequent, &run->d_list,    &run->d_node,   &run->d_lambda,
        &run->d_hess, &run->d_float,    &run->d_scratch, &run->d_parent, &run->d_moved};
    drop_call(run);
    drop_matrix(run);
    for (size_t i = 0; i < sizeof(buffer) / sizeof(buffer[0]); i++)
        rw_device_free(buffer[i]->d);
    for (int r = 0; r < HIST_RESULTS; r++)
        rw_device_free(run->d_result[r].d);
    for (int r = 0; r < HIST_POOLS; r++)
        rw_device_free(run->d_pool[r].d);
    rw_device_close(run->device);
}

void hist_run_failed(struct hist_run *run, struct hist_tally *tally,
                     const struct hist_call_spec *spec, const char *format, ...)
{
    va_list list;
    if (!hist_failed(run, tally))
        return;
    const struct hist_matrix_spec *m = &run->spec;
    printf("%u documents x %u features, %d bits, %u bins, %s; %s, %s, %s, lambdas %s up to %d%s",
           m->n_docs, m->n_features, m->bits, m->n_bins, rw_made_codes_name(m->codes),
           sums_name[spec->sums], list_name[spec->list], rw_made_nodes_name(spec->nodes),
           rw_made_lambdas_name(spec->lambdas), spec->largest,
           spec->zero_skip ? ", zero-skip" : "");
    va_start(list, format);
    hist_failed_why(tally, format, list);
    va_end(list);
}

void hist_run_matrix(struct hist_run *run, const struct hist_matrix_spec *spec)
{
    drop_matrix(run);
    run->spec = *spec;
}

static uint64_t make_list(struct hist_run *run, const struct hist_call_spec *spec)
{
    const uint32_t n = run->spec.n_docs;
    run->list = NULL;
    if (spec->list == LIST_NONE)
        return n;
    run->list = hist_need(n, sizeof(*run->list));
    const double share = spec->list == LIST_ALL ? 1.0 : 0.6;
    return rw_make_list(run->list, n, share, spec->list == LIST_SHUFFLED, run->seed + run->n_calls);
}

static int make_inputs(struct hist_run *run, const struct hist_call_spec *spec, uint64_t n_list)
{
    const uint64_t n = run->spec.n_docs;
    run->lambda = hist_need(n, sizeof(*run->lambda));
    run->weight = hist_need(n, sizeof(*run->weight));
    run->value = hist_need(n, sizeof(*run->value));
    rw_make_lambdas(run->lambda, n, spec->largest, spec->lambdas, run->seed);
    rw_make_weights(run->weight, n, spec->largest, spec->lambdas, run->seed);
    rw_make_floats(run->value, n, run->seed);
    if (hist_buffer_fill(run, &run->d_lambda, run->lambda, n * sizeof(*run->lambda)) < 0 ||
        hist_buffer_fill(run, &run->d_hess, run->weight, n * sizeof(*run->weight)) < 0 ||
        hist_buffer_fill(run, &run->d_float, run->value, n * sizeof(*run->value)) < 0)
        return -1;
    if (run->list &&
        hist_buffer_fill(run, &run->d_list, run->list, n_list * sizeof(*run->list)) < 0)
        return -1;
    return hist_buffer_fill(run, &run->d_node, run->node, run->call.n_nodes * sizeof(run->node[0]));
}

static int has_result(enum rw_hist_sums sums, int r)
{
    return r == 0 || (r == 1 && (sums == RW_HIST_MART || sums == RW_HIST_NEWTON)) ||
           (r == 2 && sums == RW_HIST_NEWTON) || (r == 3 && sums == RW_HIST_FLOAT);
}

/* Of a number of result r on the device. */
static size_t device_size(const struct hist_run *run, int r)
{
    return r == 1 || r == 2 ? rw_hist_sum_bytes(run->call.narrow) : result_size[r];
}

static int make_results(struct hist_run *run, enum rw_hist_sums sums)
{
    void *d[HIST_RESULTS];
    for (int r = 0; r < HIST_RESULTS; r++) {
        d[r] = NULL;
        if (!has_result(sums, r))
            continue;
        if (hist_buffer_make(run, &run->d_result[r], run->n_cells * device_size(run, r)) < 0)
            return -1;
        d[r] = hist_buffer_at(&run->d_result[r]);
    }
    run->call.d_count = d[0];
    run->call.d_lambda_sum = d[1];
    run->call.d_hess_sum = d[2];
    run->call.d_float_sum = d[3];
    return 0;
}

/* The same call with lambdas and weights in the order of the list. Those by document are gone. */
static int use_places(struct hist_run *run)
{
    struct rw_hist_call *call = &run->call;
    const int newton = call->sums == RW_HIST_NEWTON;
    const enum rw_moved moved = rw_moved_of(newton, call->largest);
    const size_t bytes = run->n_list * rw_moved_bytes(moved);
    void *words = hist_need(run->n_list, rw_moved_bytes(moved));
    for (uint64_t i = 0; i < run->n_list; i++) {
        const uint32_t doc = run->list[i];
        rw_moved_set(moved, words, i,
                     rw_moved_word(moved, run->lambda[doc], newton ? run->weight[doc] : 0));
    }
    const int status = hist_buffer_fill(run, &run->d_moved, words, bytes);
    free(words);
    call->d_lambda = call->d_hess = NULL;
    call->d_moved = hist_buffer_at(&run->d_moved);
    call->by_position = 1;
    return status;
}

int hist_run_prepare(struct hist_run *run, const struct hist_call_spec *spec)
{
    drop_call(run);
    if (!run->have_matrix && hist_matrix_make(run) < 0)
        return -1;
    const uint64_t n_list = make_list(run, spec);
    run->n_list = n_list;
    const uint64_t cells = run->row[run->spec.n_features];
    uint64_t most = cells ? most_cells / cells : RW_HIST_MAX_NODES;
    most = most < 1 ? 1 : most > RW_HIST_MAX_NODES ? RW_HIST_MAX_NODES : most;
    struct rw_hist_call *call = &run->call;
    memset(call, 0, sizeof(*call));
    call->n_nodes = rw_make_nodes(run->node, n_list, (uint32_t)most, spec->nodes, run->seed);
    run->n_cells = cells * call->n_nodes;
    if (make_inputs(run, spec, n_list) < 0 || make_results(run, spec->sums) < 0)
        return -1;
    const int mart = spec->sums == RW_HIST_MART || spec->sums == RW_HIST_NEWTON;
    call->matrix = run->matrix;
    call->sums = spec->sums;
    call->d_list = run->list ? hist_buffer_at(&run->d_list) : NULL;
    call->node = run->node;
    call->d_node = hist_buffer_at(&run->d_node);
    call->d_lambda = mart ? hist_buffer_at(&run->d_lambda) : NULL;
    call->d_hess = spec->sums == RW_HIST_NEWTON ? hist_buffer_at(&run->d_hess) : NULL;
    call->d_float = spec->sums == RW_HIST_FLOAT ? hist_buffer_at(&run->d_float) : NULL;
    call->largest = spec->largest;
    call->zero_skip = spec->zero_skip;
    call->d_frequent = spec->zero_skip ? hist_buffer_at(&run->d_frequent) : NULL;
    /* Few multiprocessors give many documents per multiprocessor. */
    call->n_multiprocessors = run->n_calls % 2 ? 2 : run->device->n_multiprocessors;
    call->shared_bytes = run->device->shared_bytes;
    return 0;
}

/* ---- expected results ---- */

int hist_run_may(const struct hist_run *run, const struct rw_hist_method *method)
{
    const struct rw_hist_call *call = &run->call;
    return (method->reads_tiles || !call->far) && run->spec.n_bins <= method->most_bins &&
           (method->sums >> call->sums & 1u) && (!call->zero_skip || !method->reads_tiles) &&
           (!call->by_position || (method->reads_tiles && !call->far));
}

struct expect_job {
    struct hist_run *run;
    const float *absolute; /* [n_docs] RW_HIST_FLOAT, else NULL */
    uint64_t n_cells;
};

static int expect_some(void *user, struct rw_share *share)
{
    const struct expect_job *expected = user;
    struct hist_run *run = expected->run;
    const uint64_t n_features = run->spec.n_features;
    for (uint64_t p, end; rw_share_next(share, &p, &end);) {
        const uint32_t f = (uint32_t)(p % n_features);
        const uint64_t cell = p / n_features * expected->n_cells + run->row[f];
        struct rw_hist_serial job = {
            .n_features = 1,
            .n_bins = run->row[f + 1] - run->row[f],
            .codes = &run->columns.column[f],
            .list = run->list,
            .node = &run->node[p / n_features],
            .n_nodes = 1,
            .lambda = run->lambda,
            .hess = run->weight,
            .value = run->value,
            .count = (uint32_t *)run->expected[0] + cell,
            .lambda_sum = run->expected[1] ? (int64_t *)run->expected[1] + cell : NULL,
            .hess_sum = run->expected[2] ? (int64_t *)run->expected[2] + cell : NULL,
            .float_sum = run->expected[3] ? (float *)run->expected[3] + cell : NULL};
        rw_hist_serial_run(&job);
        if (expected->absolute) {
            job.value = expected->absolute;
            job.count = NULL;
            job.float_sum = run->magnitude + cell;
            rw_hist_serial_run(&job);
        }
    }
    return RW_OK;
}

/* Algorithm 1 of each (node, feature) separately, many at once. */
static void expect(struct hist_run *run)
{
    const struct rw_hist_call *call = &run->call;
    const uint64_t n_features = run->spec.n_features;
    float *absolute = NULL;
    for (int r = 0; r < HIST_RESULTS; r++)
        if (has_result(call->sums, r))
            run->expected[r] = hist_need(run->n_cells, result_size[r]);
    if (call->sums == RW_HIST_FLOAT) {
        absolute = hist_need(run->spec.n_docs, sizeof(*absolute));
        run->magnitude = hist_need(run->n_cells, sizeof(*run->magnitude));
        for (uint32_t i = 0; i < run->spec.n_docs; i++)
            absolute[i] = fabsf(run->value[i]);
    }
    struct expect_job job = {run, absolute, run->row[n_features]};
    rw_parallel(run->ctx, run->ctx->n_threads, call->n_nodes * n_features, 1, expect_some, &job);
    free(absolute);
}

/* ---- comparing ---- */

/* n documents' floats, added in any order, are off by n 2^-24 sum |x| at most; the skipped code is
 * a total less the rest, so that it is off by twice as much of the whole feature. */
static int64_t differs_float(const struct hist_run *run, const float *got)
{
    const float *want = run->expected[3];
    const uint32_t *count = run->expected[0];
    const uint64_t n_features = run->spec.n_features;
    for (uint64_t p = 0; p < run->call.n_nodes * n_features; p++) {
        const uint32_t f = (uint32_t)(p % n_features);
        const uint64_t first = p / n_features * run->row[n_features] + run->row[f];
        const uint64_t n_bins = run->row[f + 1] - run->row[f];
        double all = 0, n = 0;
        for (uint64_t b = 0; b < n_bins; b++) {
            all += (double)run->magnitude[first + b];
            n += count[first + b];
        }
        const uint64_t skipped = run->call.zero_skip ? run->frequent[f] : n_bins;
        for (uint64_t b = 0; b < n_bins; b++) {
            const uint64_t i = first + b;
            const double bound = b == skipped ? 2 * n * ldexp(all, -24)
                                              : count[i] * ldexp((double)run->magnitude[i], -24);
            if (!(fabs((double)got[i] - (double)want[i]) <= bound))
                return (int64_t)i;
        }
    }
    return -1;
}

static int64_t differs(const struct hist_run *run, int r, const void *got)
{
    if (r == 3)
        return differs_float(run, got);
    const size_t size = result_size[r];
    const unsigned char *want = run->expected[r], *other = got;
    if (memcmp(want, other, run->n_cells * size) == 0)
        return -1;
    uint64_t i = 0;
    while (memcmp(want + i * size, other + i * size, size) == 0)
        i++;
    return (int64_t)i;
}

static double number(int r, const void *cells, int64_t i)
{
    if (r == 0)
        return ((const uint32_t *)cells)[i];
    return r == 3 ? (double)((const float *)cells)[i] : (double)((const int64_t *)cells)[i];
}

/* Returns 1 if result r is as serial's. */
static int same_result(struct hist_run *run, struct hist_tally *tally,
                       const struct hist_call_spec *spec, int r)
{
    const size_t bytes = run->n_cells * device_size(run, r);
    const uint64_t n_cells = run->row[run->spec.n_features];
    if (rw_transfer_read(run->device, run->got, run->d_result[r].d, bytes + 2 * FENCE) < 0) {
        hist_run_failed(run, tally, spec, "reading: %s", rw_last_error(run->ctx));
        run->dead = 1;
        return 0;
    }
    if (!poisoned(run->got, FENCE) || !poisoned(run->got + FENCE + bytes, FENCE)) {
        hist_run_failed(run, tally, spec, "wrote outside of %s", result_name[r]);
        return 0;
    }
    void *got = run->got + FENCE;
    if (bytes < run->n_cells * result_size[r])
        hist_widen(got, run->n_cells);
    const int64_t i = differs(run, r, got);
    if (i < 0)
        return 1;
    const uint64_t cell = (uint64_t)i % n_cells;
    uint32_t f = 0;
    while (run->row[f + 1] <= cell)
        f++;
    hist_run_failed(run, tally, spec,
                    "%s of node %llu of %u, feature %u, bin %llu is %.17g, not %.17g",
                    result_name[r], (unsigned long long)((uint64_t)i / n_cells), run->call.n_nodes,
                    f, (unsigned long long)(cell - run->row[f]), number(r, got, i),
                    number(r, run->expected[r], i));
    return 0;
}

static int scratch_kept(struct hist_run *run)
{
    unsigned char fence[2][FENCE];
    const struct hist_buffer *s = &run->d_scratch;
    if (rw_transfer_read(run->device, fence[0], s->d, FENCE) < 0 ||
        rw_transfer_read(run->device, fence[1], s->d + FENCE + s->bytes, FENCE) < 0)
        return 0;
    return poisoned(fence[0], FENCE) && poisoned(fence[1], FENCE);
}

/* Checks that the method left its scratch memory cleared, if it promises that. */
static int scratch_clean(struct hist_run *run)
{
    const struct hist_buffer *s = &run->d_scratch;
    unsigned char *bytes = malloc(s->bytes + 1);
    int clean = bytes && rw_transfer_read(run->device, bytes, hist_buffer_at(s), s->bytes) >= 0;
    for (size_t i = 0; clean && i < s->bytes; i++)
        clean = bytes[i] == 0;
    free(bytes);
    return clean;
}

struct capture {
    struct hist_run *run;
    const struct rw_hist_method *method;
};

static int run_plain(void *user)
{
    const struct capture *c = user;
    return rw_hist_run(c->run->ctx, c->method, &c->run->call, c->run->device->stream);
}

/* May all nodes' sums be narrow? */
static int may_be_narrow(const struct rw_hist_call *call)
{
    int may = call->sums == RW_HIST_MART || call->sums == RW_HIST_NEWTON;
    for (uint32_t i = 0; i < call->n_nodes; i++)
        may &=
            rw_hist_is_narrow(call->most_docs ? call->most_docs : call->node[i].n, call->largest);
    return may;
}

static void run_method(struct hist_run *run, struct hist_tally *tally,
                       const struct hist_call_spec *spec)
{
    struct rw_hist_call *call = &run->call;
    call->narrow = tally->passed / 2 % 2 && may_be_narrow(call);
    if (make_results(run, spec->sums) < 0 ||
        hist_buffer_make(run, &run->d_scratch, tally->method->scratch_bytes(call)) < 0) {
        hist_run_failed(run, tally, spec, "no memory: %s", rw_last_error(run->ctx));
        return;
    }
    call->d_scratch = hist_buffer_at(&run->d_scratch);
    call->clean_scratch = tally->method->reads_tiles && tally->passed % 2;
    if (call->clean_scratch && cudaMemsetAsync(call->d_scratch, 0, run->d_scratch.bytes,
                                               run->device->stream) != cudaSuccess) {
        hist_run_failed(run, tally, spec, "scratch cannot be cleared");
        return;
    }
    if (hist_siblings_make(run) < 0) {
        hist_run_failed(run, tally, spec, "no memory: %s", rw_last_error(run->ctx));
        return;
    }
    const struct rw_hist_call before = *call;
    struct capture plain = {run, tally->method};
    if ((run->capture ? hist_captured(run, run_plain, &plain) : run_plain(&plain)) < 0) {
        hist_run_failed(run, tally, spec, "run: %s", rw_last_error(run->ctx));
        run->dead = rw_transfer_wait(run->device) < 0;
        return;
    }
    if (rw_transfer_wait(run->device) < 0) {
        hist_run_failed(run, tally, spec, "the device failed: %s", rw_last_error(run->ctx));
        run->dead = 1;
        return;
    }
    int same = 1;
    for (int r = 0; r < HIST_RESULTS && same && !run->dead; r++)
        if (has_result(spec->sums, r))
            same = same_result(run, tally, spec, r);
    if (same && !scratch_kept(run)) {
        hist_run_failed(run, tally, spec, "wrote outside of its scratch of %zu bytes",
                        run->d_scratch.bytes);
        same = 0;
    }
    if (same && call->clean_scratch && !scratch_clean(run)) {
        hist_run_failed(run, tally, spec, "left clean scratch unclean");
        same = 0;
    }
    if (same && memcmp(&before, call, sizeof(before)) != 0) {
        hist_run_failed(run, tally, spec, "changed its call");
        same = 0;
    }
    same = same && hist_siblings_same(run, tally, spec);
    tally->passed += (uint64_t)same;
    call->d_parent = NULL;
    call->clean_scratch = call->narrow = 0;
}

static void see_refusal(struct hist_run *run, struct hist_tally *tally,
                        const struct hist_call_spec *spec)
{
    const int status = rw_hist_run(run->ctx, tally->method, &run->call, run->device->stream);
    if (status == RW_ERR_UNSUPPORTED && strchr(rw_last_error(run->ctx), '\n') == NULL)
        tally->refused++;
    else
        hist_run_failed(run, tally, spec, "undeclared use gave status %d (%s)", status,
                        status < 0 ? rw_last_error(run->ctx) : "accepted");
}

void hist_run_one(struct hist_run *run, struct hist_tally *tally, const struct hist_call_spec *spec)
{
    const int may = hist_run_may(run, tally->method);
    run->call.d_scratch = NULL;
    if (run->dead)
        tally->skipped++;
    else if (may)
        run_method(run, tally, spec);
    else
        see_refusal(run, tally, spec);
}

/* Runs a method whose host nodes are estimates of their sizes: too small, too large and right. */
static void run_estimated(struct hist_run *run, struct hist_tally *tally,
                          const struct hist_call_spec *spec)
{
    const struct rw_hist_node *const nodes = run->call.node;
    struct rw_hist_node estimate[RW_HIST_MAX_NODES];
    run->call.most_docs = 1;
    for (uint32_t i = 0; i < run->call.n_nodes; i++) {
        const uint64_t n = nodes[i].n;
        estimate[i] = (struct rw_hist_node){0, (i % 3 == 0 ? n / 3 : i % 3 == 1 ? 2 * n : n) + 1};
        run->call.most_docs = n > run->call.most_docs ? n : run->call.most_docs;
    }
    run->call.node = estimate;
    hist_run_one(run, tally, spec);
    run->call.node = nodes;
    run->call.most_docs = 0;
}

static void run_methods(struct hist_run *run, const struct hist_call_spec *spec)
{
    for (int m = 0; m < run->n_methods; m++) {
        hist_run_one(run, &run->tally[m], spec);
        if (!run->dead && run->tally[m].method->reads_tiles && run->call.n_nodes > 0)
            run_estimated(run, &run->tally[m], spec);
        if (!run->dead && run->tally[m].method->reads_tiles)
            hist_far_run(run, &run->tally[m], spec);
    }
}

static int chosen(struct hist_run *run)
{
    const uint64_t hash = (run->seed + ++run->n_calls) * 0x9E3779B97F4A7C15u;
    return (hash >> 20) % run->every == 0;
}

void hist_run_call(struct hist_run *run, const struct hist_call_spec *spec)
{
    if (!chosen(run))
        return;
    if (run->dead) {
        for (int m = 0; m < run->n_methods; m++)
            run->tally[m].skipped++;
        return;
    }
    if (hist_run_prepare(run, spec) < 0) {
        hist_run_failed(run, &run->tally[0], spec, "inputs: %s", rw_last_error(run->ctx));
        return;
    }
    int any = 0;
    for (int m = 0; m < run->n_methods; m++)
        any |= hist_run_may(run, run->tally[m].method);
    if (any)
        expect(run);
    run->got = hist_need(run->n_cells * sizeof(int64_t) + 2 * FENCE, 1);
    run_methods(run, spec);
    const int lambdas = run->call.d_lambda != NULL && run->list != NULL;
    if (!lambdas || run->dead)
        return;
    if (use_places(run) < 0)
        hist_run_failed(run, &run->tally[0], spec, "by position: %s", rw_last_error(run->ctx));
    else
        run_methods(run, spec);
}
