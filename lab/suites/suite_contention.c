/* Distinct values 256 down to 1, all methods: the table of Wilt's "Histograms: privatized for fast,
 * level performance", in which atomics collapse and private histograms do not care. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/suites/lab_call.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Few features: the slowest method takes a while. */
enum { N_FEATURES = 32, N_BINS = 256, MOST_METHODS = 32 };
static const enum rw_hist_sums sums[] = {RW_HIST_COUNT, RW_HIST_MART};
/* Those that must not care, and the one that shows the collapse. */
static const struct {
    const char *method, *what;
    double must;
    int at_most;
} bars[] = {{"packed-private", "lowest row against 256 values", 0.95, 0},
            {"lanes", "lowest row against 256 values", 0.95, 0},
            {"global-atomic", "collapses, lowest row against 256 values", 0.5, 1}};

struct contention {
    struct rw_lab *lab;
    struct rw_lab_docs docs;
    struct rw_lab_level level[MOST_METHODS][LENGTH(sums)]; /* 256 values come first */
};

static int time_call(struct contention *s, struct rw_lab_call *c, struct rw_lab_level *level,
                     uint32_t distinct)
{
    struct rw_bench_line line = {.n = 0};
    rw_bench_add_integer(&line, "values", distinct);
    rw_bench_add_text(&line, "method", c->ask.method->name);
    rw_bench_add_text(&line, "sums", rw_lab_sums_name(c->ask.sums));
    rw_bench_add_integer(&line, "docs", (double)rw_lab_call_docs(c));
    rw_bench_add_integer(&line, "features", c->call.matrix->n_features);
    rw_bench_add_integer(&line, "bins", c->call.matrix->n_bins);
    RW_TRY(rw_lab_level_time(level, c, &line));
    return rw_bench_send(&s->lab->rows, "contention", &line);
}

static int time_values(struct contention *s, uint32_t distinct)
{
    const struct rw_lab_options *o = s->lab->options;
    const struct rw_made_spec spec = {.n_features = o->n_features ? o->n_features : N_FEATURES,
                                      .n_docs = s->docs.n_docs,
                                      .n_bins = N_BINS,
                                      .codes = RW_CODES_DISTINCT,
                                      .distinct = distinct};
    struct rw_lab_made made;
    int status;
    RW_TRY_OUT(rw_lab_made_init(s->lab, &made, &spec, 8, RW_HIST_TILES | RW_HIST_COLUMNS));
    for (int k = 0; k < MOST_METHODS && rw_lab_method_at(k); k++) {
        const struct rw_hist_method *method = rw_lab_method_at(k);
        for (int i = 0; i < LENGTH(sums) && rw_lab_wants(s->lab, method->name); i++) {
            const struct rw_lab_ask ask = {.method = method, .sums = sums[i]};
            RW_TRY_OUT(rw_lab_call_set(&made.call, &s->docs, &made.m, &ask));
            if (status == 0)
                RW_TRY_OUT(time_call(s, &made.call, &s->level[k][i], distinct));
        }
    }
    status = RW_OK;
out:
    rw_lab_made_release(&made);
    return status;
}

static int send_bars(struct contention *s)
{
    char what[96];
    for (int k = 0; k < MOST_METHODS && rw_lab_method_at(k); k++) {
        const char *name = rw_lab_method_at(k)->name;
        for (int b = 0; b < LENGTH(bars); b++) {
            for (int i = 0; i < LENGTH(sums) && strcmp(name, bars[b].method) == 0; i++) {
                snprintf(what, sizeof(what), "%s, %s: %s", name, rw_lab_sums_name(sums[i]),
                         bars[b].what);
                RW_TRY(rw_bench_bar(&s->lab->rows,
                                    &(struct rw_bench_bar){.what = what,
                                                           .figure = s->level[k][i].lowest,
                                                           .must = bars[b].must,
                                                           .aim = NAN,
                                                           .at_most = bars[b].at_most}));
            }
        }
    }
    return RW_OK;
}

static int run(struct rw_lab *lab)
{
    struct contention s = {.lab = lab};
    int status;
    rw_lab_level_init(s.level[0], MOST_METHODS * LENGTH(sums));
    RW_TRY_OUT(rw_lab_docs_asked(lab, &s.docs));
    for (uint32_t distinct = N_BINS; distinct >= 1; distinct /= 2)
        RW_TRY_OUT(time_values(&s, distinct));
    RW_TRY_OUT(send_bars(&s));
out:
    rw_lab_docs_release(&s.docs);
    return status;
}

const struct rw_lab_suite rw_lab_contention = {
    .name = "contention",
    .about = "256 distinct values down to 1: which methods collapse, and which do not care",
    .run = run,
    .unused = RW_LAB_NO_BINS,
};
