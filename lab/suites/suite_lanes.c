/* `lanes`, or another exact method, over bins, distributions, sums, all documents and a gathered
 * quarter. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/suites/lab_call.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* What the rate of (count, lambda) pairs must be, and should: G updates/s on uniform codes. */
struct width {
    int bits;
    uint32_t n_bins, n_features; /* whole tiles, but for the last row */
    double must[2], aim[2];      /* all documents, gathered; NaN: nothing asked */
};
static const struct width widths[] = {
    {4, 16, 256, {3000, NAN}, {3600, NAN}}, {8, 64, 128, {2600, NAN}, {3200, NAN}},
    {8, 128, 128, {NAN, NAN}, {NAN, NAN}},  {8, 256, 128, {2000, 1700}, {2800, 2200}},
    {16, 512, 128, {NAN, NAN}, {NAN, NAN}}, {16, 1024, 128, {1000, NAN}, {1500, NAN}},
    {8, 256, 136, {NAN, NAN}, {NAN, NAN}}, /* not a multiple of a tile: MSLR's */
};
static const enum rw_hist_sums sums[] = {RW_HIST_MART, RW_HIST_NEWTON};
/* By document: lambdas are looked up by the list, too; by position: they were put in its order
 * before.
 */
enum { ALL, QUARTER, QUARTER_BY_POSITION, N_KINDS };
static const char *const kind_name[N_KINDS] = {"all", "quarter", "quarter by position"};
enum { N_CALLS = LENGTH(sums) * N_KINDS };

struct lanes {
    struct rw_lab *lab;
    const struct rw_hist_method *method;
    struct rw_lab_docs docs;
    struct rw_lab_level level[LENGTH(widths)][N_CALLS]; /* uniform codes come first */
};

static int time_call(struct lanes *s, struct rw_lab_call *c, int w, int i, const char *codes)
{
    const struct rw_hist_matrix *m = c->call.matrix;
    struct rw_bench_line line = {.n = 0};
    rw_bench_add_text(&line, "method", s->method->name);
    rw_bench_add_integer(&line, "bits", m->bits);
    rw_bench_add_integer(&line, "bins", m->n_bins);
    rw_bench_add_integer(&line, "features", m->n_features);
    rw_bench_add_text(&line, "codes", codes);
    rw_bench_add_text(&line, "of", kind_name[i % N_KINDS]);
    rw_bench_add_integer(&line, "docs", (double)rw_lab_call_docs(c));
    rw_bench_add_text(&line, "sums", rw_lab_sums_name(c->ask.sums));
    RW_TRY(rw_lab_level_time(&s->level[w][i], c, &line));
    return rw_bench_send(&s->lab->rows, "lanes", &line);
}

static int time_codes(struct lanes *s, int w, enum rw_made_codes codes)
{
    const struct rw_lab_options *o = s->lab->options;
    const struct rw_made_spec spec = {.n_features =
                                          o->n_features ? o->n_features : widths[w].n_features,
                                      .n_docs = s->docs.n_docs,
                                      .n_bins = widths[w].n_bins,
                                      .codes = codes};
    const int layouts = s->method->reads_tiles ? RW_HIST_TILES : RW_HIST_COLUMNS;
    struct rw_lab_made made;
    int status;
    RW_TRY_OUT(rw_lab_made_init(s->lab, &made, &spec, widths[w].bits, layouts));
    for (int i = 0; i < N_CALLS; i++) {
        const int kind = i % N_KINDS;
        const struct rw_lab_ask ask = {.method = s->method,
                                       .sums = sums[i / N_KINDS],
                                       .gathered = kind != ALL,
                                       .by_position = kind == QUARTER_BY_POSITION};
        RW_TRY_OUT(rw_lab_call_set(&made.call, &s->docs, &made.m, &ask));
        if (status == 0)
            RW_TRY_OUT(time_call(s, &made.call, w, i, rw_made_codes_name(codes)));
    }
    status = RW_OK;
out:
    rw_lab_made_release(&made);
    return status;
}

/* Of all calls; NaN: none was measured. */
static double lowest_of(const struct lanes *s)
{
    double lowest = NAN;
    for (int i = 0; i < LENGTH(widths) * N_CALLS; i++)
        lowest = fmin(lowest, s->level[i / N_CALLS][i % N_CALLS].lowest);
    return lowest;
}

static int send_bars(struct lanes *s)
{
    for (int w = 0; w < LENGTH(widths); w++) {
        for (int kind = 0; kind < N_KINDS; kind++) {
            static const char *const of[N_KINDS] = {"all documents", "a gathered quarter",
                                                    "a gathered quarter, lambdas by position"};
            const int gathered = kind != ALL;
            char what[96];
            if (isnan(widths[w].must[gathered]))
                continue;
            snprintf(what, sizeof(what), "(count, lambda), %u bins, %s: G updates/s",
                     widths[w].n_bins, of[kind]);
            RW_TRY(rw_bench_bar(&s->lab->rows,
                                &(struct rw_bench_bar){.what = what,
                                                       .figure = s->level[w][kind].first,
                                                       .must = widths[w].must[gathered],
                                                       .aim = widths[w].aim[gathered]}));
        }
    }
    return rw_bench_bar(&s->lab->rows,
                        &(struct rw_bench_bar){.what = "lowest distribution against uniform",
                                               .figure = lowest_of(s),
                                               .must = 0.95,
                                               .aim = NAN});
}

static int has_bins(struct rw_ctx *ctx, uint32_t n_bins)
{
    for (int w = 0; w < LENGTH(widths); w++) {
        if (n_bins == 0 || widths[w].n_bins == n_bins)
            return RW_OK;
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "suite 'lanes' has no %u bins; expected 16, 64, 128, 256, 512 or 1024", n_bins);
}

static int run(struct rw_lab *lab)
{
    const struct rw_lab_options *o = lab->options;
    struct lanes s = {.lab = lab};
    int status;
    s.method = rw_lab_method_asked(lab);
    RW_TRY(has_bins(lab->ctx, o->n_bins));
    rw_lab_level_init(s.level[0], LENGTH(widths) * N_CALLS);
    RW_TRY_OUT(rw_lab_docs_asked(lab, &s.docs));
    for (int w = 0; w < LENGTH(widths); w++) {
        if (o->n_bins && o->n_bins != widths[w].n_bins)
            continue;
        for (int codes = 0; codes < RW_N_DISTRIBUTIONS; codes++)
            RW_TRY_OUT(time_codes(&s, w, (enum rw_made_codes)codes)); /* uniform comes first */
    }
    RW_TRY_OUT(send_bars(&s));
out:
    rw_lab_docs_release(&s.docs);
    return status;
}

const struct rw_lab_suite rw_lab_lanes = {
    .name = "lanes",
    .about = "exact packed integers: bins, distributions, gathered documents, one and two sums",
    .run = run,
};
