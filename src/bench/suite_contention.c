/* Distinct values 256 down to 1, all methods: the table of Wilt's "Histograms: privatized for fast,
 * level performance", in which atomics collapse and private histograms do not care. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/bench_call.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Few features: the slowest method takes a while. */
enum { N_FEATURES = 32, N_BINS = 256, MOST_METHODS = 32 };
static const enum rw_hist_sums sums[] = {RW_HIST_COUNT, RW_HIST_MART};
/* Those that must not care, and the one that shows the collapse. */
static const char *const level[] = {"packed-private", "lanes"};
static const char collapsing[] = "global-atomic";

struct contention {
    struct rw_bench *bench;
    struct rw_bench_docs docs;
    double full[MOST_METHODS][LENGTH(sums)];   /* G updates/s of 256 values; NaN: not measured */
    double lowest[MOST_METHODS][LENGTH(sums)]; /* relative to that */
};

static int time_call(struct contention *s, struct rw_bench_call *c, int m, int i, uint32_t distinct)
{
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    RW_TRY(rw_bench_call_time(c, &times));
    const double rate = rw_bench_call_rate(c, times.median_ms);
    if (isnan(s->full[m][i]))
        s->full[m][i] = rate;
    const double relative = rate / s->full[m][i];
    if (!(relative >= s->lowest[m][i]))
        s->lowest[m][i] = relative;
    rw_bench_add_integer(&line, "values", distinct);
    rw_bench_add_text(&line, "method", c->ask.method->name);
    rw_bench_add_text(&line, "sums", rw_bench_sums_name(c->ask.sums));
    rw_bench_add_integer(&line, "docs", (double)rw_bench_call_docs(c));
    rw_bench_add_integer(&line, "features", c->call.matrix->n_features);
    rw_bench_add_integer(&line, "bins", c->call.matrix->n_bins);
    rw_bench_add_times(s->bench, &line, &times, rw_bench_call_bytes(c));
    rw_bench_add_real(&line, "g_updates_s", rate, 1);
    rw_bench_add_real(&line, "relative", relative, 3);
    return rw_bench_send(s->bench, "contention", &line);
}

static int time_values(struct contention *s, uint32_t distinct)
{
    const struct rw_bench_options *o = s->bench->options;
    const struct rw_made_spec spec = {.n_features = o->n_features ? o->n_features : N_FEATURES,
                                      .n_docs = s->docs.n_docs,
                                      .n_bins = N_BINS,
                                      .codes = RW_CODES_DISTINCT,
                                      .distinct = distinct};
    struct rw_made_columns columns = {0};
    struct rw_bench_matrix m = {0};
    struct rw_bench_call c = {.bench = s->bench};
    int status;
    RW_TRY_OUT(rw_made_columns_init(s->bench->ctx, &columns, &spec, o->seed));
    RW_TRY_OUT(rw_bench_matrix_init(s->bench, &m, 8, RW_HIST_TILES | RW_HIST_COLUMNS, &columns));
    for (int k = 0; k < MOST_METHODS && rw_hist_method_at(k); k++) {
        const struct rw_hist_method *method = rw_hist_method_at(k);
        for (int i = 0; i < LENGTH(sums) && rw_bench_wants(s->bench, method->name); i++) {
            const struct rw_bench_ask ask = {.method = method, .sums = sums[i]};
            RW_TRY_OUT(rw_bench_call_set(&c, &s->docs, &m, &ask));
            if (status == 0)
                RW_TRY_OUT(time_call(s, &c, k, i, distinct));
        }
    }
    status = RW_OK;
out:
    rw_bench_call_release(&c);
    rw_bench_matrix_release(&m);
    rw_made_columns_release(&columns);
    return status;
}

static int send_bars(struct contention *s)
{
    char what[96];
    for (int k = 0; k < MOST_METHODS && rw_hist_method_at(k); k++) {
        const char *name = rw_hist_method_at(k)->name;
        for (int i = 0; i < LENGTH(sums); i++) {
            for (int l = 0; l < LENGTH(level); l++) {
                if (strcmp(name, level[l]) != 0)
                    continue;
                snprintf(what, sizeof(what), "%s, %s: lowest row beside 256 values", name,
                         rw_bench_sums_name(sums[i]));
                RW_TRY(rw_bench_bar(s->bench, &(struct rw_bench_bar){.what = what,
                                                                     .figure = s->lowest[k][i],
                                                                     .must = 0.95,
                                                                     .aim = NAN}));
            }
            if (strcmp(name, collapsing) != 0)
                continue;
            snprintf(what, sizeof(what), "%s, %s: collapses, lowest row beside 256 values", name,
                     rw_bench_sums_name(sums[i]));
            RW_TRY(rw_bench_bar(s->bench, &(struct rw_bench_bar){.what = what,
                                                                 .figure = s->lowest[k][i],
                                                                 .must = 0.5,
                                                                 .aim = NAN,
                                                                 .at_most = 1}));
        }
    }
    return RW_OK;
}

static int run(struct rw_bench *bench)
{
    struct contention s = {.bench = bench};
    int status;
    for (int k = 0; k < MOST_METHODS; k++)
        for (int i = 0; i < LENGTH(sums); i++)
            s.full[k][i] = s.lowest[k][i] = NAN;
    RW_TRY_OUT(rw_bench_docs_init(
        bench, &s.docs,
        rw_bench_number(bench, bench->options->n_docs, RW_BENCH_DOCS, RW_BENCH_QUICK_DOCS)));
    for (uint32_t distinct = N_BINS; distinct >= 1; distinct /= 2)
        RW_TRY_OUT(time_values(&s, distinct));
    RW_TRY_OUT(send_bars(&s));
out:
    rw_bench_docs_release(&s.docs);
    return status;
}

const struct rw_bench_suite rw_bench_contention = {
    .name = "contention",
    .about = "256 distinct values down to 1: which methods collapse, and which do not care",
    .run = run,
    .unused = RW_BENCH_NO_BINS,
};
