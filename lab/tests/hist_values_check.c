#include "hist_values_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "gpu/device/device.h"
#include "tests/check/hist_tools.h"
#include "hist_values_data.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

static void case_new(struct values_case *c, struct hist_run *run, uint64_t most_values,
                     uint32_t most_bins)
{
    memset(c, 0, sizeof(*c));
    c->run = run;
    c->value = hist_need(most_values + 64, 8);
    c->mask = hist_need(most_values, 1);
    c->weight = hist_need(most_values, sizeof(*c->weight));
    c->edge = hist_need((uint64_t)most_bins + 1, 8);
    c->count = hist_need(most_bins, sizeof(*c->count));
    c->sum = hist_need(most_bins, sizeof(*c->sum));
    c->got = hist_need((uint64_t)most_bins * 8 + 4096, 1);
}

static void case_free(struct values_case *c)
{
    struct hist_buffer *const buffer[] = {&c->d_value, &c->d_edge, &c->d_mask,   &c->d_weight,
                                          &c->d_count, &c->d_sum,  &c->d_scratch};
    for (int i = 0; i < LENGTH(buffer); i++)
        rw_device_free(buffer[i]->d);
    free(c->value);
    free(c->mask);
    free(c->weight);
    free(c->edge);
    free(c->count);
    free(c->sum);
    free(c->got);
}

static struct hist_tally *tally_of(struct hist_run *run, const char *name)
{
    for (int m = 0; m < run->n_methods; m++)
        if (strcmp(run->tally[m].method->name, name) == 0)
            return &run->tally[m];
    return NULL;
}

__attribute__((format(printf, 3, 4))) static void
failed(struct values_case *c, struct hist_tally *tally, const char *format, ...)
{
    static const char *const filter[] = {"no filter", "range", "mask", "range and mask"};
    static const char *const weights[] = {"no weights", "small weights", "any weights",
                                          "lowest weights", "highest weights"};
    const struct values_spec *s = &c->spec;
    va_list list;
    if (!hist_failed(c->run, tally))
        return;
    printf("case %llu, %llu values %s from %u on, %u %s bins%s, mix %d, %s, %s, %s%s",
           (unsigned long long)c->turn, (unsigned long long)s->n, rw_values_type_name(s->type),
           s->shift, s->n_bins, s->uneven ? "uneven" : "even", s->last_closed ? " (closed)" : "",
           (int)s->mix, filter[s->filter], weights[s->weights],
           s->partition == RW_VALUES_SECTIONED ? "sectioned" : "interleaved",
           s->add ? ", added twice" : "");
    va_start(list, format);
    hist_failed_why(tally, format, list);
    va_end(list);
}

static int fill(struct values_case *c, struct hist_buffer *buffer, const void *from, size_t bytes)
{
    if (hist_buffer_make(c->run, buffer, bytes) < 0)
        return -1;
    return rw_transfer_write(c->run->device, hist_buffer_at(buffer), from, bytes);
}

static int upload(struct values_case *c, struct rw_values_call *call)
{
    const struct values_spec *s = &c->spec;
    const size_t bytes = rw_values_bytes(s->type);
    if (fill(c, &c->d_value, c->value, (s->shift + s->n) * bytes) < 0 ||
        fill(c, &c->d_edge, c->edge, (s->n_bins + (size_t)1) * rw_values_edge_bytes(s->type)) < 0 ||
        fill(c, &c->d_mask, c->mask, s->n) < 0 ||
        fill(c, &c->d_weight, c->weight, s->n * sizeof(*c->weight)) < 0)
        return -1;
    memset(call, 0, sizeof(*call));
    call->type = s->type;
    call->d_value = (const unsigned char *)hist_buffer_at(&c->d_value) + s->shift * bytes;
    call->n = s->n;
    call->d_edge = hist_buffer_at(&c->d_edge);
    call->n_bins = s->n_bins;
    call->last_closed = s->last_closed;
    call->has_range = c->job.has_range;
    call->lo = c->job.lo;
    call->hi = c->job.hi;
    call->d_mask = c->job.mask ? hist_buffer_at(&c->d_mask) : NULL;
    call->d_weight = c->job.weight ? hist_buffer_at(&c->d_weight) : NULL;
    call->partition = s->partition;
    call->n_multiprocessors = c->run->device->n_multiprocessors;
    call->shared_bytes = c->run->device->shared_bytes;
    return 0;
}

/* Poisoned results and scratch. */
static int prepare(struct values_case *c, const struct rw_values_method *method,
                   struct rw_values_call *call)
{
    const size_t bytes = (size_t)c->spec.n_bins * 8;
    if (hist_buffer_make(c->run, &c->d_count, bytes) < 0 ||
        hist_buffer_make(c->run, &c->d_sum, bytes) < 0 ||
        hist_buffer_make(c->run, &c->d_scratch, method->scratch_bytes(call)) < 0)
        return -1;
    call->d_count = hist_buffer_at(&c->d_count);
    call->d_sum = call->d_weight ? hist_buffer_at(&c->d_sum) : NULL;
    call->d_scratch = hist_buffer_at(&c->d_scratch);
    return 0;
}

/* The fences of a buffer are as hist_buffer_make left them; its content goes to `got` if there is
 * one. */
static int kept(struct values_case *c, const struct hist_buffer *buffer, void *got)
{
    enum { MOST_FENCE = 1024, POISON = 0xA5 };
    unsigned char side[2][MOST_FENCE];
    const unsigned char *const at = hist_buffer_at(buffer);
    const size_t fence = (size_t)(at - buffer->d);
    struct hist_run *const run = c->run;
    if (fence > MOST_FENCE || rw_transfer_read(run->device, side[0], buffer->d, fence) < 0 ||
        rw_transfer_read(run->device, side[1], at + buffer->bytes, fence) < 0 ||
        (got && rw_transfer_read(run->device, got, at, buffer->bytes) < 0))
        return 0;
    for (size_t i = 0; i < fence; i++)
        if (side[0][i] != POISON || side[1][i] != POISON)
            return 0;
    return 1;
}

/* times: how often the call was made, adding. */
static void compare(struct values_case *c, struct hist_tally *tally, int weighted, int64_t times)
{
    const uint64_t *got = (const uint64_t *)c->got;
    if (!kept(c, &c->d_count, c->got)) {
        failed(c, tally, "wrote outside of the counts, or reading them failed: %s",
               rw_last_error(c->run->ctx));
        return;
    }
    for (uint32_t b = 0; b < c->spec.n_bins; b++) {
        if (got[b] != c->count[b] * (uint64_t)times) {
            failed(c, tally, "count of bin %u is %llu, not %llu", b, (unsigned long long)got[b],
                   (unsigned long long)(c->count[b] * (uint64_t)times));
            return;
        }
    }
    if (!kept(c, &c->d_sum, weighted ? c->got : NULL) || !kept(c, &c->d_scratch, NULL)) {
        failed(c, tally, "wrote outside of the sums or the scratch");
        return;
    }
    for (uint32_t b = 0; weighted && b < c->spec.n_bins; b++) {
        if ((int64_t)got[b] != c->sum[b] * times) {
            failed(c, tally, "sum of bin %u is %lld, not %lld", b, (long long)got[b],
                   (long long)(c->sum[b] * times));
            return;
        }
    }
    tally->passed++;
}

static void run_method(struct values_case *c, const struct rw_values_method *method,
                       struct rw_values_call *call)
{
    struct hist_run *const run = c->run;
    struct hist_tally *const tally = tally_of(run, method->name);
    if (!tally)
        return;
    if (prepare(c, method, call) < 0) {
        failed(c, tally, "no memory: %s", rw_last_error(run->ctx));
        return;
    }
    const struct rw_values_call before = *call;
    int status = rw_values_run(run->ctx, method, call, run->device->stream);
    if (call->partition == RW_VALUES_SECTIONED && !method->sectioned) {
        if (status == RW_ERR_UNSUPPORTED)
            tally->refused++;
        else
            failed(c, tally, "undeclared use gave status %d", status);
        return;
    }
    if (status >= 0 && c->spec.add) {
        call->add = 1;
        status = rw_values_run(run->ctx, method, call, run->device->stream);
        call->add = 0;
    }
    if (status < 0) {
        failed(c, tally, "run: %s", rw_last_error(run->ctx));
        return;
    }
    if (rw_transfer_wait(run->device) < 0) {
        failed(c, tally, "the device failed: %s", rw_last_error(run->ctx));
        run->dead = 1;
        return;
    }
    if (memcmp(&before, call, sizeof(before)) != 0)
        failed(c, tally, "changed its call");
    else
        compare(c, tally, call->d_weight != NULL, c->spec.add ? 2 : 1);
}

static int chosen(const struct values_case *c)
{
    const uint64_t hash = (c->run->seed + c->turn) * 0x9E3779B97F4A7C15u;
    return (hash >> 20) % c->run->every == 0;
}

static void run_case(struct values_case *c, const struct values_spec *spec)
{
    struct rw_values_call call;
    struct hist_tally *const first = &c->run->tally[0];
    c->turn++;
    if (!chosen(c) || c->run->dead)
        return;
    c->spec = *spec;
    values_make_edges(c);
    values_make_inputs(c);
    values_make_job(c);
    rw_values_serial_run(&c->job);
    if (rw_values_check_edges(c->run->ctx, spec->type, c->edge, spec->n_bins) < 0 ||
        upload(c, &call) < 0) {
        failed(c, first, "inputs: %s", rw_last_error(c->run->ctx));
        return;
    }
    for (int m = 0; rw_values_method_at(m) && !c->run->dead; m++)
        run_method(c, rw_values_method_at(m), &call);
}

/* ---- stages ---- */

/* All types, bins, sizes; the other axes in rotation, four calls each. */
static void run_shapes(struct values_case *c)
{
    static const uint32_t bins[] = {1, 2, 3, 255, 256, 257, 1000, 6000, 48000, 1 << 20};
    static const uint64_t sizes[] = {0,    1,    2,    3,    15,   16,   17,   31,    32,
                                     33,   63,   64,   65,   255,  256,  257,  1023,  1024,
                                     1025, 4095, 4096, 4097, 8191, 8192, 8193, 65537, 100003};
    enum { CALLS = 4, FEW_SIZES = 5 };
    uint32_t k = 0;
    for (int b = 0; b < LENGTH(bins); b++) {
        for (int s = 0; s < LENGTH(sizes); s++) {
            if (bins[b] > 6000 && s % FEW_SIZES != 1 && s + 1 < LENGTH(sizes))
                continue;
            for (int i = 0; i < RW_VALUES_N_TYPES * CALLS; i++, k++)
                run_case(c,
                         &(struct values_spec){.type = (enum rw_values_type)(i / CALLS),
                                               .n_bins = bins[b],
                                               .uneven = (int)(k % 3 > 0),
                                               .last_closed = (int)(k / 3 % 2),
                                               .n = sizes[s],
                                               .shift = k / 4 % 5 == 0 ? 0 : k % 17,
                                               .filter = (enum values_filter)(k / 2 % N_FILTERS),
                                               .weights = (enum values_weights)(k % 7 % N_WEIGHTS),
                                               .mix = (enum values_mix)(k / 5 % N_MIXES),
                                               .partition = k % 4 == 3 ? RW_VALUES_SECTIONED
                                                                       : RW_VALUES_INTERLEAVED,
                                               .add = k % 11 == 5});
        }
    }
}

/* Every filter, weights and partition of every type, over bins that fit a block and that do not. */
static void run_product(struct values_case *c)
{
    static const uint32_t bins[] = {17, 300, 60000};
    const int n = LENGTH(bins) * RW_VALUES_N_TYPES * N_FILTERS * N_WEIGHTS * 2;
    for (int i = 0; i < n; i++) {
        const int type = i / LENGTH(bins), filter = type / RW_VALUES_N_TYPES,
                  weights = filter / N_FILTERS, partition = weights / N_WEIGHTS;
        run_case(c, &(struct values_spec){.type = (enum rw_values_type)(type % RW_VALUES_N_TYPES),
                                          .n_bins = bins[i % LENGTH(bins)],
                                          .uneven = 1,
                                          .last_closed = i % 2,
                                          .n = 20011,
                                          .shift = (uint32_t)i % 3,
                                          .filter = (enum values_filter)(filter % N_FILTERS),
                                          .weights = (enum values_weights)(weights % N_WEIGHTS),
                                          .mix = i % 4 == 0 ? MIX_SPECIAL : MIX_ANY,
                                          .partition = partition ? RW_VALUES_SECTIONED
                                                                 : RW_VALUES_INTERLEAVED});
    }
}

/* ---- pipes ---- */

struct piped {
    struct values_case *c;
    const struct rw_values_method *method;
    struct rw_values_call call;
    void *d_scratch[RW_TRANSFER_MOST_STREAMS];
};

static int use_chunk(struct piped *p, const struct rw_transfer_chunk *chunk)
{
    p->call.d_value = chunk->d_data;
    p->call.n = chunk->bytes / rw_values_bytes(p->call.type);
    p->call.d_scratch = p->d_scratch[chunk->place];
    p->call.add = 1;
    return rw_values_run(p->c->run->ctx, p->method, &p->call, chunk->stream);
}

/* Chunk by chunk: from where the values are, if they are page-locked, or through the pipe's
 * buffers.
 */
static int send_chunks(struct piped *p, struct rw_transfer_pipe *pipe, const char *from,
                       size_t bytes, size_t chunk_bytes, int pinned)
{
    for (size_t at = 0; at < bytes; at += chunk_bytes) {
        const size_t n = bytes - at < chunk_bytes ? bytes - at : chunk_bytes;
        const void *sent = from + at;
        struct rw_transfer_chunk chunk;
        void *room;
        if (!pinned) {
            RW_TRY(rw_transfer_pipe_room(pipe, &room));
            rw_transfer_copy_host(p->c->run->ctx, room, sent, n);
            sent = room;
        }
        RW_TRY(rw_transfer_pipe_send(pipe, sent, n, &chunk));
        RW_TRY(use_chunk(p, &chunk));
    }
    return RW_OK;
}

static int run_piped(struct piped *p, size_t chunk_bytes, uint32_t n_streams, int pinned)
{
    struct values_case *const c = p->c;
    struct rw_ctx *const ctx = c->run->ctx;
    struct rw_device *const device = c->run->device;
    const size_t bytes = (size_t)c->spec.n * rw_values_bytes(c->spec.type);
    struct rw_transfer_pipe *pipe = NULL;
    void *page_locked = NULL;
    int status = RW_OK;
    p->call.d_value = hist_buffer_at(&c->d_value);
    p->call.n = 0; /* clears */
    p->call.add = 0;
    RW_TRY_OUT(rw_transfer_pinned_alloc(ctx, &page_locked, bytes));
    memcpy(page_locked, c->job.value, bytes);
    p->call.d_scratch = hist_buffer_at(&c->d_scratch);
    RW_TRY_OUT(rw_values_run(ctx, p->method, &p->call, device->stream));
    p->call.n = chunk_bytes / rw_values_bytes(p->call.type);
    for (uint32_t i = 0; i < n_streams; i++)
        RW_TRY_OUT(rw_device_alloc(ctx, &p->d_scratch[i], p->method->scratch_bytes(&p->call)));
    RW_TRY_OUT(rw_transfer_pipe_new(device, chunk_bytes, n_streams, &pipe));
    RW_TRY_OUT(rw_transfer_pipe_begin(pipe));
    RW_TRY_OUT(
        send_chunks(p, pipe, pinned ? page_locked : c->job.value, bytes, chunk_bytes, pinned));
    RW_TRY_OUT(rw_transfer_pipe_end(pipe));
    RW_TRY_OUT(rw_transfer_wait(device));
out:
    rw_transfer_pipe_free(pipe);
    rw_transfer_pinned_free(page_locked);
    for (uint32_t i = 0; i < n_streams; i++) {
        rw_device_free(p->d_scratch[i]);
        p->d_scratch[i] = NULL;
    }
    return status;
}

/* Values in chunks over several streams, all adding to one result. */
static void run_pipes(struct values_case *c)
{
    static const uint32_t streams[] = {1, 2, 3, 8};
    static const size_t chunks[] = {64, 4096, 40000, 1 << 20};
    struct piped p = {.c = c};
    for (int i = 0; i < LENGTH(streams) * LENGTH(chunks) * 2; i++) {
        const uint64_t n = chunks[i / 2 % 4] == 64 ? 1003 : 100003;
        c->turn++;
        if (!chosen(c) || c->run->dead)
            continue;
        c->spec = (struct values_spec){.type = i % 3 ? RW_VALUES_F32 : RW_VALUES_F64,
                                       .n_bins = 1000,
                                       .uneven = 1,
                                       .last_closed = 1,
                                       .n = n};
        values_make_edges(c);
        values_make_inputs(c);
        values_make_job(c);
        rw_values_serial_run(&c->job);
        for (int m = 0; rw_values_method_at(m) && !c->run->dead; m++) {
            p.method = rw_values_method_at(m);
            struct hist_tally *const tally = tally_of(c->run, p.method->name);
            if (!tally)
                continue;
            if (upload(c, &p.call) < 0 || prepare(c, p.method, &p.call) < 0 ||
                run_piped(&p, chunks[i / 2 % 4], streams[i / 8], i % 2) < 0) {
                failed(c, tally, "pipe: %s", rw_last_error(c->run->ctx));
                c->run->dead = rw_transfer_wait(c->run->device) < 0;
                continue;
            }
            compare(c, tally, 0, 1);
        }
    }
}

static int has_methods(struct hist_run *run)
{
    for (int m = 0; rw_values_method_at(m); m++)
        if (tally_of(run, rw_values_method_at(m)->name))
            return 1;
    return 0;
}

void stage_values(struct hist_run *run)
{
    struct values_case c;
    if (!has_methods(run))
        return;
    case_new(&c, run, 100003, 1 << 20);
    run_shapes(&c);
    run_product(&c);
    run_pipes(&c);
    case_free(&c);
}

void stage_values_big(struct hist_run *run)
{
    const uint64_t n = ((uint64_t)1 << 32) + 12347, period = 1000003;
    struct values_case c;
    struct rw_values_call call;
    if (!has_methods(run) || run->dead)
        return;
    case_new(&c, run, n / 8 + 1, 256);
    free(c.mask);
    free(c.weight);
    c.mask = NULL;
    c.weight = NULL;
    c.spec = (struct values_spec){.type = RW_VALUES_U8, .n_bins = 200, .uneven = 1, .n = n};
    values_make_edges(&c);
    for (uint64_t i = 0; i < period; i++)
        c.value[i] = (uint8_t)values_word(&c, i, 104);
    for (uint64_t i = period; i < n; i += period)
        memcpy(c.value + i, c.value, n - i < period ? n - i : period);
    values_make_job(&c);
    if (rw_values_cpu_run(run->ctx, &c.job, run->ctx->n_threads) < 0 ||
        fill(&c, &c.d_value, c.value, n) < 0 || fill(&c, &c.d_edge, c.edge, 201 * 4) < 0) {
        failed(&c, &run->tally[0], "inputs: %s", rw_last_error(run->ctx));
    } else {
        memset(&call, 0, sizeof(call));
        call.type = RW_VALUES_U8;
        call.d_value = hist_buffer_at(&c.d_value);
        call.n = n;
        call.d_edge = hist_buffer_at(&c.d_edge);
        call.n_bins = 200;
        call.n_multiprocessors = run->device->n_multiprocessors;
        call.shared_bytes = run->device->shared_bytes;
        for (int m = 0; rw_values_method_at(m) && !run->dead; m++)
            run_method(&c, rw_values_method_at(m), &call);
    }
    case_free(&c);
}
