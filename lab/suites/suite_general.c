/* The fifth document's figures (Milic et al., "Parallelizing general histogram application for CUDA
 * architectures") on this machine: input size (3), bins (4), types (5, 6), distributions (8, 9),
 * overlap (10), the optimal map (11); and the partitions of "Parallel computation patterns
 * (histogram)". Times on the device hold the transfers there and back, as the document's do. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "lab/suites/general_map.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))
enum { LEAST_LOG2 = 10, FRESH = 24, MOST_LOG2 = 28 };

struct general {
    struct rw_lab *lab;
    struct rw_general *room;
    uint32_t log2_n, most_log2; /* of the figures with one size; of Figure 3's last */
    double overlap;             /* at the point nearest to balance */
    double balance;             /* its |log(kernel / transfer)| */
    struct rw_general_map *map; /* owned */
    double worst;               /* of its choices on fresh points; NaN: not measured */
};

/* ---- rows ---- */

static void add_point(struct rw_bench_line *line, const struct rw_general_point *p)
{
    rw_bench_add_text(line, "type", rw_values_type_name(p->type));
    rw_bench_add_text(line, "distribution", rw_general_distribution_name(p->distribution));
    rw_bench_add_integer(line, "values", (double)p->n);
    rw_bench_add_integer(line, "bins", p->n_bins);
    rw_bench_add_text(line, "method", rw_general_methods[p->method]);
}

static double bytes_of(const struct rw_general_point *p)
{
    return (double)p->n * (double)rw_values_bytes(p->type) + (double)p->n_bins * 8;
}

/* All methods of one point; speedups are over serial. */
static int time_methods(struct general *s, const char *table, struct rw_general_point p)
{
    double serial_ms = NAN;
    for (int m = 0; m < RW_GENERAL_METHODS; m++) {
        struct rw_general_times times;
        struct rw_bench_line line = {.n = 0};
        p.method = m;
        if (!rw_lab_wants(s->lab, rw_general_methods[m]))
            continue;
        RW_TRY(rw_general_time(s->room, &p, &times));
        if (m == RW_GENERAL_SERIAL)
            serial_ms = times.total.median_ms;
        add_point(&line, &p);
        rw_lab_add_times(s->lab, &line, &times.total, bytes_of(&p));
        rw_bench_add_real(&line, "kernel_ms", times.kernel_ms, 4);
        rw_bench_add_real(&line, "speedup", serial_ms / times.total.median_ms, 2);
        rw_bench_add_real(&line, "kernel_speedup", serial_ms / times.kernel_ms, 2);
        rw_bench_add_integer(&line, "values_timed", (double)times.n_timed);
        RW_TRY(rw_bench_send(&s->lab->rows, table, &line));
    }
    return RW_OK;
}

/* ---- Figures 3 to 9 ---- */

static int time_sizes(struct general *s)
{
    for (uint32_t log2_n = 10; log2_n <= s->most_log2; log2_n += 2)
        RW_TRY(time_methods(s, "size",
                            (struct rw_general_point){
                                .type = RW_VALUES_I32, .n = (uint64_t)1 << log2_n, .n_bins = 256}));
    return RW_OK;
}

static int time_types(struct general *s)
{
    static const enum rw_values_type types[] = {RW_VALUES_U8, RW_VALUES_I32, RW_VALUES_F64};
    static const uint32_t bins[] = {16,   64,   200,   255,   512,   1024,   2048,
                                    5120, 8192, 16384, 32768, 65536, 262144, 1048576};
    for (int t = 0; t < LENGTH(types); t++)
        for (int b = 0; b < LENGTH(bins); b++)
            if (types[t] != RW_VALUES_U8 || bins[b] < 256)
                RW_TRY(time_methods(s, "bins",
                                    (struct rw_general_point){.type = types[t],
                                                              .n = (uint64_t)1 << s->log2_n,
                                                              .n_bins = bins[b]}));
    return RW_OK;
}

static int time_distributions(struct general *s)
{
    static const uint32_t bins[] = {64, 256, 1024, 5120, 16384, 32768};
    for (int d = 0; d < RW_GENERAL_DISTRIBUTIONS; d++)
        for (int b = 0; b < LENGTH(bins); b++)
            RW_TRY(time_methods(
                s, "distribution",
                (struct rw_general_point){.type = RW_VALUES_I32,
                                          .distribution = (enum rw_general_distribution)d,
                                          .n = (uint64_t)1 << s->log2_n,
                                          .n_bins = bins[b]}));
    return RW_OK;
}

static int time_partitions(struct general *s)
{
    static const enum rw_values_type types[] = {RW_VALUES_U8, RW_VALUES_I32, RW_VALUES_F64};
    if (!rw_lab_wants(s->lab, "privatized"))
        return RW_OK;
    for (int i = 0; i < LENGTH(types) * RW_GENERAL_DISTRIBUTIONS * 2; i++) {
        struct rw_general_times times;
        struct rw_bench_line line = {.n = 0};
        const struct rw_general_point p = {
            .type = types[i / 2 % LENGTH(types)],
            .distribution = (enum rw_general_distribution)(i / 2 / LENGTH(types)),
            .n = (uint64_t)1 << s->log2_n,
            .n_bins = 255,
            .method = RW_GENERAL_PRIVATIZED,
            .partition = i % 2 ? RW_VALUES_SECTIONED : RW_VALUES_INTERLEAVED};
        RW_TRY(rw_general_time(s->room, &p, &times));
        add_point(&line, &p);
        rw_bench_add_text(&line, "partition", i % 2 ? "sectioned" : "interleaved");
        rw_bench_add_real(&line, "kernel_ms", times.kernel_ms, 4);
        rw_bench_add_real(&line, "g_values_s", (double)p.n / times.kernel_ms * 1e-6, 1);
        RW_TRY(rw_bench_send(&s->lab->rows, "partition", &line));
    }
    return RW_OK;
}

/* ---- Figure 10 ---- */

/* One method with and without overlap. balance: kernel time over transfer time. */
static int time_overlap(struct general *s, struct rw_general_point p, double *balance)
{
    struct rw_general_times plain, piped;
    struct rw_bench_line line = {.n = 0};
    double transfer_ms;
    RW_TRY(rw_general_transfer(s->room, &p, &transfer_ms));
    p.n_streams = 0;
    RW_TRY(rw_general_time(s->room, &p, &plain));
    p.n_streams = 3;
    RW_TRY(rw_general_time(s->room, &p, &piped));
    *balance = plain.kernel_ms / transfer_ms;
    const double gain = plain.total.median_ms / piped.total.median_ms;
    const double off = fabs(log(*balance));
    if (!(off >= s->balance)) {
        s->balance = off;
        s->overlap = gain;
    }
    add_point(&line, &p);
    rw_lab_add_times(s->lab, &line, &piped.total, bytes_of(&p));
    rw_bench_add_real(&line, "not_overlapped_ms", plain.total.median_ms, 4);
    rw_bench_add_real(&line, "kernel_ms", plain.kernel_ms, 4);
    rw_bench_add_real(&line, "transfer_ms", transfer_ms, 4);
    rw_bench_add_real(&line, "kernel_by_transfer", *balance, 3);
    rw_bench_add_real(&line, "overlap_gain", gain, 3);
    return rw_bench_send(&s->lab->rows, p.type == RW_VALUES_F64 ? "overlap_f64" : "overlap", &line);
}

/* The document's numbers of bins; then those at which the kernel takes as long as the transfer. */
static int time_overlaps(struct general *s)
{
    static const uint32_t bins[] = {64, 256, 1024, 5120, 16384, 65536, 262144, 1048576};
    static const int methods[] = {RW_GENERAL_PRIVATIZED, RW_GENERAL_SORT};
    static const enum rw_values_type types[] = {RW_VALUES_I32, RW_VALUES_F64};
    for (int i = 0; i < LENGTH(types) * LENGTH(methods); i++) {
        const int m = i % LENGTH(methods);
        struct rw_general_point p = {.type = types[i / LENGTH(methods)],
                                     .n = (uint64_t)1 << s->log2_n,
                                     .method = methods[m]};
        uint32_t below = 0, above = 0;
        double balance = 0;
        if (!rw_lab_wants(s->lab, rw_general_methods[methods[m]]))
            continue;
        for (int b = 0; b < LENGTH(bins); b++) {
            p.n_bins = bins[b];
            RW_TRY(time_overlap(s, p, &balance));
            if (balance < 1)
                below = bins[b];
            else if (!above)
                above = bins[b];
        }
        for (int k = 0; k < 4 && below > 0 && above > below + 1; k++) {
            p.n_bins = below + (above - below) / 2;
            RW_TRY(time_overlap(s, p, &balance));
            *(balance < 1 ? &below : &above) = p.n_bins;
        }
    }
    return RW_OK;
}

/* ---- Figure 11 ---- */

static struct rw_general_point point_of_map(uint64_t n, uint32_t n_bins)
{
    return (struct rw_general_point){.type = RW_VALUES_I32, .n = n, .n_bins = n_bins};
}

static void add_map(struct rw_bench_line *line, uint64_t n, uint32_t n_bins,
                    const double ms[RW_GENERAL_METHODS])
{
    double least;
    rw_bench_add_integer(line, "values", (double)n);
    rw_bench_add_integer(line, "bins", n_bins);
    rw_bench_add_real(line, "cpu", rw_general_map_cpu(ms), 4);
    rw_bench_add_real(line, "privatized", ms[RW_GENERAL_PRIVATIZED], 4);
    rw_bench_add_real(line, "sort-search", ms[RW_GENERAL_SORT], 4);
    rw_bench_add_text(line, "best", rw_general_methods[rw_general_map_best(ms, &least)]);
}

/* What halvings add is a table of its own: "map" is the whole of the first grid. */
static int time_cell(void *user, const struct rw_map_ask *ask, double ms[RW_GENERAL_METHODS])
{
    struct general *s = user;
    const struct rw_general_point p = point_of_map(ask->n, ask->n_bins);
    struct rw_bench_line line = {.n = 0};
    RW_TRY(rw_general_compare(s->room, &p, ask->methods, ms));
    add_map(&line, ask->n, ask->n_bins, ms);
    return rw_bench_send(&s->lab->rows, ask->level ? "map_finer" : "map", &line);
}

/* The first grid as text. */
static int write_map(struct general *s)
{
    for (int i = 0; i < RW_MAP_SIZES; i++) {
        static const char letter[RW_GENERAL_METHODS] = {'c', 'c', 'p', 's'};
        struct rw_bench_line text = {.n = 0};
        char letters[RW_MAP_BINS + 1] = "";
        for (int b = 0; b < RW_MAP_BINS; b++) {
            double least;
            letters[b] =
                letter[rw_general_map_best(s->map->ms[i * RW_MAP_STEP][b * RW_MAP_STEP], &least)];
        }
        rw_bench_add_integer(&text, "values", (double)rw_general_map_size(s->map, i));
        rw_bench_add_text(&text,
                          "bins 16 64 256 1K 4K 16K 32K 64K 128K 256K 512K 1M (c cpu, p "
                          "privatized, s sort-search)",
                          letters);
        RW_TRY(rw_bench_send(&s->lab->rows, "map_text", &text));
    }
    return RW_OK;
}

/* Points that the map does not have: is its choice as good as the best? */
static int check_map(struct general *s)
{
    s->worst = 0;
    for (uint32_t k = 0; k < FRESH; k++) {
        const struct rw_philox r = rw_random4(s->lab->options->seed, k, 1, RW_STREAM_SYNTH + 110);
        const double log2_n = LEAST_LOG2 + r.word[0] * 0x1p-32 * (s->log2_n - LEAST_LOG2);
        const double log2_bins = 4 + r.word[1] * 0x1p-32 * 16;
        const uint64_t n = (uint64_t)exp2(log2_n);
        const uint32_t n_bins = (uint32_t)exp2(log2_bins);
        const struct rw_general_point p = point_of_map(n, n_bins);
        double guess[RW_GENERAL_METHODS], ms[RW_GENERAL_METHODS] = {NAN, NAN, NAN, NAN}, least;
        struct rw_bench_line line = {.n = 0};
        rw_general_map_guess(s->map, n, n_bins, guess);
        const int chosen = rw_general_map_best(guess, &least);
        RW_TRY(rw_general_compare(s->room, &p, rw_general_map_methods(n), ms));
        (void)rw_general_map_best(ms, &least);
        const double took = chosen == RW_GENERAL_CPU ? rw_general_map_cpu(ms) : ms[chosen];
        s->worst = took / least > s->worst ? took / least : s->worst;
        add_map(&line, n, n_bins, ms);
        rw_bench_add_text(&line, "chosen", rw_general_methods[chosen]);
        rw_bench_add_real(&line, "chosen_by_best", took / least, 3);
        RW_TRY(rw_bench_send(&s->lab->rows, "map_fresh", &line));
    }
    return RW_OK;
}

static int make_map(struct general *s)
{
    RW_TRY(RW_NEW_RAW(s->lab->ctx, s->map, 1));
    rw_general_map_init(s->map, LEAST_LOG2, s->log2_n);
    RW_TRY(rw_general_map_make(s->map, time_cell, s));
    RW_TRY(write_map(s));
    return check_map(s);
}

static int send_bars(struct general *s)
{
    const struct rw_bench_bar overlap = {.what =
                                             "gain by overlap where kernel and transfer balance",
                                         .figure = s->overlap,
                                         .must = 1.6,
                                         .aim = NAN};
    const struct rw_bench_bar map = {.what =
                                         "the map's choice on fresh points over the best, worst",
                                     .figure = s->worst,
                                     .must = 1.1,
                                     .aim = NAN,
                                     .at_most = 1};
    RW_TRY(rw_bench_bar(&s->lab->rows, &overlap));
    return rw_bench_bar(&s->lab->rows, &map);
}

static int run(struct rw_lab *lab)
{
    int status = RW_OK;
    struct general s = {.lab = lab, .overlap = NAN, .balance = NAN, .worst = NAN};
    const int quick = lab->options->quick;
    s.log2_n = quick ? 18 : 26;
    s.most_log2 = quick ? 18 : MOST_LOG2;
    const size_t f64_bytes = sizeof(double) << s.log2_n, i32_bytes = sizeof(int32_t) << s.most_log2;
    RW_TRY_OUT(
        rw_general_new(lab, f64_bytes > i32_bytes ? f64_bytes : i32_bytes, 1 << 20, &s.room));
    RW_TRY_OUT(time_sizes(&s));
    RW_TRY_OUT(time_types(&s));
    RW_TRY_OUT(time_distributions(&s));
    RW_TRY_OUT(time_partitions(&s));
    RW_TRY_OUT(time_overlaps(&s));
    if (!lab->options->method) /* a map of one method says nothing */
        RW_TRY_OUT(make_map(&s));
    RW_TRY_OUT(send_bars(&s));
out:
    rw_mem_free(s.map);
    rw_general_free(s.room);
    return status;
}

const struct rw_lab_suite rw_lab_general = {
    .name = "general",
    .about = "raw values: size, bins, types, distributions, overlap, the optimal map",
    .run = run,
    .methods = rw_general_methods,
    .n_runs = 7,
    .unused = RW_LAB_NO_DOCS | RW_LAB_NO_FEATURES | RW_LAB_NO_BINS,
};
