#include "hist_multi_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "base/rng.h"
#include "lab/kernels/generalized_serial.h"
#include "tests/check/hist_tools.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { STREAM = RW_STREAM_SYNTH + 128, MOST_SHIFT = 3, POISON = 0xA5, MOST_FENCE = 1024 };

enum spread { UNIFORM, ONE_BIN, RACE_63, OUTSIDE, SORTED, N_SPREADS };
static const char *const spread_name[N_SPREADS] = {"uniform", "one bin", "RF 63", "half outside",
                                                   "sorted"};

struct strategy {
    enum rw_gen_op op;
    enum rw_multi_strategy strategy;
    int ones;
};
/* argmax last: vectors leave it out */
static const struct strategy strategies[] = {
    {RW_GEN_ADD32, RW_MULTI_HARDWARE, 1}, {RW_GEN_ADD32, RW_MULTI_HARDWARE, 0},
    {RW_GEN_ADD64, RW_MULTI_HARDWARE, 1}, {RW_GEN_ADD64, RW_MULTI_HARDWARE, 0},
    {RW_GEN_SAT24, RW_MULTI_CAS, 1},      {RW_GEN_SAT24, RW_MULTI_CAS, 0},
    {RW_GEN_MIN, RW_MULTI_HARDWARE, 0},   {RW_GEN_MAX, RW_MULTI_HARDWARE, 0},
    {RW_GEN_ARGMAX, RW_MULTI_CAS, 0},     {RW_GEN_ARGMAX, RW_MULTI_LOCK, 0}};

/* Memory, M and S asked for; threads and blocks put in place of the plan's, 0: the plan's. */
struct forced {
    enum rw_multi_memory memory;
    uint64_t m, s, threads, blocks;
};
static const struct forced plans[] = {
    {RW_MULTI_AUTO, 0, 0, 0, 0},     {RW_MULTI_SHARED, 0, 0, 0, 0},
    {RW_MULTI_GLOBAL, 0, 0, 0, 0},   {RW_MULTI_SHARED, 1, 0, 0, 0},
    {RW_MULTI_GLOBAL, 1, 0, 0, 0},   {RW_MULTI_SHARED, 3, 0, 96, 5},
    {RW_MULTI_GLOBAL, 4, 3, 0, 0},   {RW_MULTI_SHARED, 33, 2, 0, 0},
    {RW_MULTI_GLOBAL, 13, 2, 64, 9}, {RW_MULTI_SHARED, 297, 0, 0, 0},
    {RW_MULTI_GLOBAL, 32, 1, 0, 0},  {RW_MULTI_SHARED, 0, 3, 0, 0},
    {RW_MULTI_SHARED, 1024, 0, 0, 0}};

struct multi_case {
    struct hist_run *run;
    struct hist_tally *tally;
    uint64_t turn; /* calls asked for so far */
    enum spread spread;
    uint64_t n;
    uint32_t n_bins, n_out, width;
    uint32_t shift; /* of the arrays from 16 bytes, in elements */
    uint32_t *index;
    uint32_t *narrow; /* values of 32 bits */
    uint64_t *wide;   /* of 64 bits */
    struct hist_buffer d_index, d_value, d_out, d_scratch;
    struct strategy strategy;
    struct rw_multi_plan plan;
    void *expected;
    unsigned char *got;
};

__attribute__((format(printf, 2, 3))) static void failed(struct multi_case *c, const char *format,
                                                         ...)
{
    va_list list;
    if (!hist_failed(c->run, c->tally))
        return;
    printf("call %llu, %s by %s%s, %u x %llu elements of %u, %u bins, %s, shift %u, %s memory M "
           "%llu S "
           "%llu, %llu blocks of %llu",
           (unsigned long long)c->turn, rw_gen_op_name(c->strategy.op),
           rw_gen_strategy_name(c->strategy.strategy), c->strategy.ones ? " (ones)" : "", c->n_out,
           (unsigned long long)c->n, c->width, c->n_bins, spread_name[c->spread], c->shift,
           c->plan.memory == RW_MULTI_SHARED ? "shared" : "global", (unsigned long long)c->plan.m,
           (unsigned long long)c->plan.s, (unsigned long long)c->plan.blocks,
           (unsigned long long)c->plan.threads);
    va_start(list, format);
    hist_failed_why(c->tally, format, list);
    va_end(list);
}

/* ---- inputs ---- */

static uint32_t bin_of(const struct multi_case *c, uint64_t i, uint32_t random)
{
    const uint32_t h = c->n_bins;
    switch (c->spread) {
    case UNIFORM:
        return h ? random % h : random;
    case ONE_BIN:
        return h ? h - 1 : 0;
    case RACE_63:
        return random % (h / 63 ? h / 63 : 1) * 63;
    case OUTSIDE:
        if (random % 2)
            return random % 4 == 1 ? h : random % 8 == 3 ? UINT32_MAX : h + random / 8 % 1000;
        return h ? random / 2 % h : 0;
    default:
        return (uint32_t)(i * h / (c->n ? c->n : 1));
    }
}

/* Many ties, both ends, and enough that sums saturate or wrap. */
static uint32_t value_of(uint32_t a, uint32_t b)
{
    static const uint32_t edges[] = {0x80000000u, 0x7fffffffu, 0,           1,
                                     0xffffffffu, 0x00ffffffu, 0x01000000u, 5};
    return a % 16 == 0 ? edges[b % 8] : a % 16 < 8 ? b % 5 : a % 16 < 12 ? b % (1u << 22) : b;
}

static int make_some(void *user, struct rw_share *share)
{
    const struct multi_case *c = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        for (; i < end; i++) {
            const struct rw_philox r = rw_random4(c->run->seed, i, c->width, STREAM + 1);
            c->narrow[i] = value_of(r.word[0], r.word[1]);
            c->wide[i] =
                (uint64_t)r.word[2] << 32 | (r.word[3] | (r.word[0] % 2 ? 0xffff0000u : 0));
        }
    }
    return RW_OK;
}

static int make_indices(void *user, struct rw_share *share)
{
    const struct multi_case *c = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        for (; i < end; i++)
            c->index[i] = bin_of(c, i % c->n, rw_random(c->run->seed, i, c->n_bins, STREAM));
    }
    return RW_OK;
}

static void make_input(struct multi_case *c)
{
    const uint64_t n = c->n * c->n_out;
    c->index = hist_need(n, sizeof(*c->index));
    c->narrow = hist_need(n * c->width, sizeof(*c->narrow));
    c->wide = hist_need(n * c->width, sizeof(*c->wide));
    struct rw_ctx *ctx = c->run->ctx;
    rw_parallel(ctx, ctx->n_threads, n, 0, make_indices, c);
    rw_parallel(ctx, ctx->n_threads, n * c->width, 0, make_some, c);
}

static void free_input(struct multi_case *c)
{
    free(c->index);
    free(c->narrow);
    free(c->wide);
}

static int upload(struct multi_case *c, struct hist_buffer *buffer, const void *from, size_t bytes,
                  size_t offset)
{
    if (hist_buffer_make(c->run, buffer, offset + bytes) < 0)
        return -1;
    return rw_transfer_write(c->run->device, (unsigned char *)hist_buffer_at(buffer) + offset, from,
                             bytes);
}

/* ---- one call ---- */

/* The fences are as hist_buffer_make left them. */
static int fenced(struct multi_case *c, const struct hist_buffer *buffer)
{
    unsigned char side[2][MOST_FENCE];
    const size_t fence = (size_t)((unsigned char *)hist_buffer_at(buffer) - buffer->d);
    if (fence > MOST_FENCE || rw_transfer_read(c->run->device, side[0], buffer->d, fence) < 0 ||
        rw_transfer_read(c->run->device, side[1], buffer->d + fence + buffer->bytes, fence) < 0)
        return 0;
    for (size_t i = 0; i < fence; i++)
        if (side[0][i] != POISON || side[1][i] != POISON)
            return 0;
    return 1;
}

struct plain {
    struct multi_case *c;
    const struct rw_gen_call *call;
};

static int run_plain(void *user)
{
    const struct plain *p = user;
    return rw_gen_run(p->c->run->ctx, p->call, p->c->run->device->stream);
}

static void compare(struct multi_case *c, uint64_t n_cells, size_t bytes)
{
    if (rw_transfer_read(c->run->device, c->got, hist_buffer_at(&c->d_out), n_cells * bytes) < 0) {
        failed(c, "the device failed: %s", rw_last_error(c->run->ctx));
        c->run->dead = 1;
        return;
    }
    const unsigned char *const want = c->expected;
    if (memcmp(c->got, want, n_cells * bytes) != 0) {
        uint64_t i = 0;
        while (memcmp(c->got + i * bytes, want + i * bytes, bytes) == 0)
            i++;
        uint64_t got = 0, wanted = 0;
        memcpy(&got, c->got + i * bytes, bytes);
        memcpy(&wanted, want + i * bytes, bytes);
        failed(c, "cell %llu of %llu is %llx, not %llx", (unsigned long long)i,
               (unsigned long long)n_cells, (unsigned long long)got, (unsigned long long)wanted);
    } else if (!fenced(c, &c->d_out) || !fenced(c, &c->d_scratch)) {
        failed(c, "wrote outside of the result or the scratch of %zu bytes", c->d_scratch.bytes);
    } else {
        c->tally->passed++;
    }
}

static int chosen(struct multi_case *c)
{
    const uint64_t hash = (c->run->seed + ++c->turn) * 0x9E3779B97F4A7C15u;
    return (hash >> 20) % c->run->every == 0;
}

/* 1 if one of the next n calls is wanted; passes over them if none is. */
static int any_chosen(struct multi_case *c, int n)
{
    const uint64_t before = c->turn;
    int any = 0;
    for (int i = 0; i < n; i++)
        any |= chosen(c);
    if (any)
        c->turn = before;
    return any;
}

/* Scratch that a case may take; larger ones say nothing new. */
static const size_t most_scratch = (size_t)1 << 29;

static void run_plan(struct multi_case *c, struct rw_gen_call *call, const struct forced *forced)
{
    const struct rw_multi_figures figures = rw_gen_figures(c->run->device);
    const struct rw_multi_work work = rw_gen_work(call, c->spread == RACE_63 ? 63.0 : 1.0);
    const uint64_t n_cells = (uint64_t)c->n_out * c->n_bins * c->width;
    const size_t bytes = rw_gen_cell_bytes(call->op);
    if (rw_multi_plan_make(&figures, &work, c->n_out, forced->memory, forced->m, forced->s,
                           &call->plan) != 0) {
        failed(c, "no plan");
        return;
    }
    call->plan.threads = forced->threads ? forced->threads : call->plan.threads;
    call->plan.blocks = forced->blocks ? forced->blocks : call->plan.blocks;
    c->plan = call->plan;
    const size_t scratch = rw_gen_scratch_bytes(call);
    if (scratch > most_scratch || call->plan.s > 4096)
        return;
    if (hist_buffer_make(c->run, &c->d_out, n_cells * bytes) < 0 ||
        hist_buffer_make(c->run, &c->d_scratch, scratch) < 0) {
        failed(c, "no memory: %s", rw_last_error(c->run->ctx));
        return;
    }
    call->d_out = hist_buffer_at(&c->d_out);
    call->d_scratch = hist_buffer_at(&c->d_scratch);
    const struct rw_gen_call before = *call;
    struct plain plain = {c, call};
    const int status =
        c->turn % 8 == 0 ? hist_captured(c->run, run_plain, &plain) : run_plain(&plain);
    if (status < 0)
        failed(c, "run: %s", rw_last_error(c->run->ctx));
    else if (memcmp(&before, call, sizeof(before)) != 0)
        failed(c, "changed its call");
    else
        compare(c, n_cells, bytes);
    c->run->dead |= rw_transfer_wait(c->run->device) < 0;
}

/* One operator over the input at hand: `n_plans` of the plans, other ones each time. */
static void run_strategy(struct multi_case *c, const struct strategy *strategy, int n_plans)
{
    const size_t value_bytes = rw_gen_value_bytes(strategy->op);
    const uint64_t n_values = c->n * c->n_out * c->width;
    int ready = 0;
    c->strategy = *strategy;
    struct rw_gen_serial job = {.op = strategy->op,
                                .n = c->n,
                                .n_bins = c->n_bins,
                                .n_out = c->n_out,
                                .width = c->width,
                                .index = c->index,
                                .value = strategy->ones     ? NULL
                                         : value_bytes == 4 ? (const void *)c->narrow
                                                            : (const void *)c->wide,
                                .out = c->expected};
    for (int i = 0; i < n_plans; i++) {
        if (!chosen(c))
            continue;
        if (c->run->dead) {
            c->tally->skipped++;
            continue;
        }
        if (!ready) {
            rw_gen_serial_run(&job);
            const size_t offset = (size_t)c->shift * value_bytes;
            if (!strategy->ones &&
                upload(c, &c->d_value, job.value, n_values * value_bytes, offset) < 0) {
                failed(c, "no memory: %s", rw_last_error(c->run->ctx));
                return;
            }
            ready = 1;
        }
        struct rw_gen_call call;
        memset(&call, 0, sizeof(call));
        call.op = strategy->op;
        call.strategy = strategy->strategy;
        call.n = c->n;
        call.n_bins = c->n_bins;
        call.n_out = c->n_out;
        call.width = c->width;
        call.d_index = (const uint32_t *)hist_buffer_at(&c->d_index) + c->shift;
        if (!strategy->ones)
            call.d_value =
                (const unsigned char *)hist_buffer_at(&c->d_value) + (size_t)c->shift * value_bytes;
        run_plan(c, &call, &plans[c->turn % LENGTH(plans)]);
    }
}

static void check_race(struct multi_case *c)
{
    const struct rw_multi_sample sample = rw_multi_sample_of(c->n, c->n_bins);
    unsigned char *const mark = hist_need(c->n_bins, 1);
    uint64_t got = 1;
    const uint64_t want = rw_gen_serial_touched(c->index, c->n_bins, &sample, mark);
    free(mark);
    if (hist_buffer_make(c->run, &c->d_out, sizeof(got)) < 0 ||
        hist_buffer_make(c->run, &c->d_scratch, rw_gen_race_bytes(&sample, c->n_bins)) < 0 ||
        rw_cuda_gen_race((const uint32_t *)hist_buffer_at(&c->d_index) + c->shift, c->n_bins,
                         &sample, hist_buffer_at(&c->d_out), hist_buffer_at(&c->d_scratch),
                         c->run->device->stream) != 0 ||
        rw_transfer_read(c->run->device, &got, hist_buffer_at(&c->d_out), sizeof(got)) < 0)
        failed(c, "the inspector failed: %s", rw_last_error(c->run->ctx));
    else if (got != want)
        failed(c, "the inspector saw %llu bins, not %llu", (unsigned long long)got,
               (unsigned long long)want);
    else if (!fenced(c, &c->d_out) || !fenced(c, &c->d_scratch))
        failed(c, "the inspector wrote outside of its scratch");
    else
        c->tally->passed++;
}

struct input {
    enum spread spread;
    uint64_t n;
    uint32_t n_bins, n_out, width, shift;
};

/* All operators over one input. */
static void run_input(struct multi_case *c, const struct input *input, int n_plans)
{
    c->spread = input->spread;
    c->n = input->n;
    c->n_bins = input->n_bins;
    c->n_out = input->n_out;
    c->width = input->width;
    c->shift = input->shift;
    const uint64_t n_cells = (uint64_t)c->n_out * c->n_bins * c->width;
    if (c->run->dead) {
        c->tally->skipped++;
        return;
    }
    const int n_strategies =
        c->width == 1 ? LENGTH(strategies) : LENGTH(strategies) - 2; /* no argmax of vectors */
    const int inspected = c->n_out == 1 && c->width == 1;
    if (!any_chosen(c, n_strategies * n_plans + inspected))
        return;
    make_input(c);
    c->expected = hist_need(n_cells, sizeof(uint64_t));
    c->got = hist_need(n_cells, sizeof(uint64_t));
    if (upload(c, &c->d_index, c->index, c->n * c->n_out * sizeof(*c->index),
               c->shift * sizeof(*c->index)) < 0) {
        failed(c, "no memory: %s", rw_last_error(c->run->ctx));
    } else {
        for (int w = 0; w < n_strategies; w++)
            run_strategy(c, &strategies[w], n_plans);
        if (inspected && chosen(c) && !c->run->dead)
            check_race(c);
    }
    free(c->expected);
    free(c->got);
    free_input(c);
}

/* ---- lists of inputs ---- All operators meet all plans; of the products of sizes only a part is
 * taken, in rotation: any two of bins, elements and spread meet (but for the largest bins). */

static void check_sizes(struct multi_case *c)
{
    enum { KI = 1024 };
    static const uint32_t bins[] = {0,       1,       2,        31,       32,     33,
                                    127,     505,     1024,     2047,     6 * KI, 12 * KI,
                                    24 * KI, 48 * KI, 192 * KI, 1536 * KI};
    static const uint64_t sizes[] = {0,    1,    3,    31,   32,    33,    255,   257,
                                     1023, 1024, 1025, 4096, 16387, 65535, 65537, 100003};
    uint32_t turn = 0;
    for (int b = 0; b < LENGTH(bins); b++) {
        for (int s = 0; s < LENGTH(sizes); s++) {
            for (int spread = 0; spread < N_SPREADS; spread++, turn++) {
                const int wanted = bins[b] > 48 * KI /* slow to compare */
                                       ? (s + spread) % 8 == 7 && (s / 8 + spread + b) % 2 == 0
                                       : (s + spread + b) % N_SPREADS < 2;
                if (!wanted)
                    continue;
                run_input(c,
                          &(struct input){(enum spread)spread, sizes[s], bins[b], 1, 1, turn % 4},
                          sizes[s] < 2000 ? 2 : 4);
            }
        }
    }
}

static void check_batches(struct multi_case *c)
{
    static const uint32_t bins[] = {1, 31, 505, 6144}, outs[] = {2, 3, 7, 136, 300};
    static const uint64_t sizes[] = {0, 1, 255, 1027, 4099};
    uint32_t turn = 0;
    for (int b = 0; b < LENGTH(bins); b++)
        for (int o = 0; o < LENGTH(outs); o++)
            for (int s = 0; s < LENGTH(sizes); s++, turn++)
                if ((b + o + s) % 2 == 0)
                    run_input(c,
                              &(struct input){(enum spread)(turn % N_SPREADS), sizes[s], bins[b],
                                              outs[o], 1, turn % 3},
                              (uint64_t)outs[o] * bins[b] > 500000 ? 1 : 3);
}

static void check_vectors(struct multi_case *c)
{
    static const uint32_t bins[] = {1, 31, 505, 12288}, widths[] = {2, 3, 5, 33};
    static const uint64_t sizes[] = {0, 1, 1025, 20011};
    uint32_t turn = 0;
    for (int b = 0; b < LENGTH(bins); b++)
        for (int w = 0; w < LENGTH(widths); w++)
            for (int s = 0; s < LENGTH(sizes); s++, turn++)
                if ((b + w + s) % 2 == 0)
                    run_input(c,
                              &(struct input){(enum spread)(turn % N_SPREADS), sizes[s], bins[b],
                                              turn % 3 ? 1 : 3, widths[w], turn % 4},
                              4);
}

/* Enough elements that every thread of the device has many. */
static void check_large(struct multi_case *c)
{
    static const uint32_t bins[] = {31, 505, 2047, 49152, 1572864};
    for (int b = 0; b < LENGTH(bins); b++)
        for (int spread = b % 2; spread < N_SPREADS; spread += 2)
            run_input(c, &(struct input){(enum spread)spread, 3000017, bins[b], 1, 1, 0}, 3);
}

/* ---- wrong arguments ---- */

enum { N_SPOILS = 16 };
static void spoil(struct rw_gen_call *call, int i)
{
    static const enum rw_multi_strategy wrong = RW_MULTI_CAS;
    uint64_t *const field[] = {&call->plan.m, &call->plan.s, &call->plan.n_bins, &call->plan.blocks,
                               &call->plan.threads};
    if (i < 5)
        *field[i] = 0;
    else if (i == 5)
        call->op = (enum rw_gen_op)99;
    else if (i == 6)
        call->strategy = wrong;
    else if (i == 7)
        call->d_index = NULL;
    else if (i == 8)
        call->d_out = NULL;
    else if (i == 9)
        call->width = 0;
    else if (i == 10)
        call->n_out = 0;
    else if (i == 11)
        call->n_bins = 0x80000000u;
    else if (i == 12)
        call->plan.memory = RW_MULTI_AUTO;
    else if (i == 13)
        call->plan.threads = 33;
    else if (i == 14)
        call->plan.s = 1000; /* more passes than bins */
    else
        call->op = RW_GEN_MIN; /* without values */
}

static void check_arguments(struct multi_case *c)
{
    const struct rw_multi_figures figures = rw_gen_figures(c->run->device);
    if (c->run->dead || hist_buffer_make(c->run, &c->d_out, 4096) < 0)
        return;
    for (int i = 0; i < N_SPOILS; i++) {
        struct rw_gen_call call = {.op = RW_GEN_ADD32,
                                   .strategy = RW_MULTI_HARDWARE,
                                   .n = 100,
                                   .n_bins = 31,
                                   .n_out = 1,
                                   .width = 1};
        const struct rw_multi_work work = rw_gen_work(&call, 1.0);
        call.d_index = hist_buffer_at(&c->d_out);
        call.d_out = hist_buffer_at(&c->d_out);
        if (rw_multi_plan_make(&figures, &work, 1, RW_MULTI_AUTO, 0, 0, &call.plan) != 0 ||
            rw_gen_scratch_bytes(&call) > 0) /* so few elements take one block */
            failed(c, "no plan without scratch for 100 elements");
        spoil(&call, i);
        if (rw_gen_run(c->run->ctx, &call, c->run->device->stream) == RW_ERR_ARGUMENT &&
            rw_last_error(c->run->ctx)[0] && !strchr(rw_last_error(c->run->ctx), '\n'))
            c->tally->refused++;
        else
            failed(c, "wrong argument %d was accepted", i);
    }
}

/* ---- the stage ---- */

void stage_multi(struct hist_run *run)
{
    struct multi_case c;
    memset(&c, 0, sizeof(c));
    c.run = run;
    for (int m = 0; m < run->n_methods; m++)
        if (strcmp(run->tally[m].method->name, "multi") == 0)
            c.tally = &run->tally[m];
    if (!c.tally)
        return;
    check_arguments(&c);
    check_sizes(&c);
    check_batches(&c);
    check_vectors(&c);
    check_large(&c);
    rw_device_free(c.d_index.d);
    rw_device_free(c.d_value.d);
    rw_device_free(c.d_out.d);
    rw_device_free(c.d_scratch.d);
}
