/* Xu et al., "Efficient weighted histogramming on GPUs with CUDA": Figures 4 to 11 and Tables 4 to
 * 7 on this machine, with the document's float weights and with exact ones. */
#include <math.h>

#include "lab/kernels/lab_tuning.h"
#include "lab/suites/weighted.h"

const enum rw_hist_sums rw_weighted_sums[RW_WEIGHTED_SUMS] = {RW_HIST_FLOAT, RW_HIST_MART};

/* Documents a query of made MSLR data, about. */
enum { DOCS_A_QUERY = 119, LEAST_QUERIES = 20, MOST_BINS = 1024 };

void rw_weighted_three(struct rw_hist_candidates *out)
{
    *out = (struct rw_hist_candidates){
        .n = 3,
        .method = {&rw_hist_collision_free, &rw_hist_collision, &rw_hist_collision_reduced}};
}

void rw_weighted_all(struct rw_hist_candidates *out)
{
    *out = (struct rw_hist_candidates){.n = 0};
    for (int i = 0; rw_lab_method_at(i) && out->n < RW_HIST_MOST_CANDIDATES; i++) {
        if (rw_lab_method_at(i) != &rw_hist_global_atomic)
            out->method[out->n++] = rw_lab_method_at(i);
    }
}

int rw_weighted_choose(const struct rw_lab_call *c, const struct rw_hist_candidates *candidates,
                       struct rw_hist_choice *out)
{
    const int by_rule = candidates->method[0] == &rw_hist_collision_free &&
                        c->call.matrix->n_bins <= RW_TUNE_FREE_HYBRID_BINS;
    if (!by_rule)
        return rw_hist_choose(c->lab->device, &c->call, candidates, out);
    *out = (struct rw_hist_choice){.method = &rw_hist_collision_free, .how = RW_HIST_BY_RULE};
    return RW_OK;
}

void rw_weighted_add_call(struct rw_bench_line *line, const struct rw_lab_call *c)
{
    const struct rw_hist_matrix *m = c->call.matrix;
    rw_bench_add_text(line, "sums", rw_lab_sums_name(c->ask.sums));
    rw_bench_add_integer(line, "bins", m->n_bins);
    rw_bench_add_integer(line, "bits", m->bits);
    rw_bench_add_integer(line, "docs", (double)rw_lab_call_docs(c));
    rw_bench_add_integer(line, "features", m->n_features);
    rw_bench_add_text(line, "method", c->ask.method->name);
    rw_bench_add_integer(line, "zero_skip", c->ask.zero_skip);
}

void rw_weighted_add_rates(const struct rw_lab *lab, struct rw_bench_line *line,
                           const struct rw_lab_call *c, const struct rw_bench_times *times)
{
    rw_lab_add_times(lab, line, times, rw_lab_call_bytes(c));
    rw_bench_add_real(line, "code_gb_s", rw_lab_call_code_bytes(c) / times->median_ms / 1e6, 2);
    rw_bench_add_real(line, "gdoc_s", rw_lab_call_rate(c, times->median_ms), 2);
}

static int send_bars(struct rw_weighted *w)
{
    const struct rw_weighted_figures *f = &w->figures;
    /* The document claims its hybrid's gain for what it summed, floats; exact sums are ours. */
    const struct rw_bench_bar bars[] = {
        {"hybrid of the document's three against the best single one, the document's float weights "
         "(its claim)",
         f->hybrid_float, 1.1, NAN, 0},
        {"hybrid of the document's three against the best single one, our exact weights (not its "
         "claim)",
         f->hybrid_exact, 1.1, NAN, 0},
        {"hybrid of all methods against the best single one, lowest row, exact weights",
         f->lanes_lowest, 0.98, NAN, 0},
        {"collision-reduced against collision, equal float values, 1024 bins", f->reduced_equal,
         10.0, NAN, 0},
    };
    for (size_t i = 0; i < sizeof(bars) / sizeof(bars[0]); i++)
        RW_TRY(rw_bench_bar(&w->lab->rows, &bars[i]));
    return RW_OK;
}

static int run(struct rw_lab *lab)
{
    const struct rw_lab_options *o = lab->options;
    struct rw_weighted w = {lab, {NAN, NAN, NAN, NAN}};
    struct rw_made_set set = {0};
    struct rw_lab_docs docs = {0};
    const uint32_t n_docs = rw_bench_number(&lab->rows, o->n_docs, RW_LAB_DOCS, RW_LAB_QUICK_DOCS);
    const uint32_t n_queries = n_docs / DOCS_A_QUERY;
    int status;
    RW_TRY_OUT(rw_weighted_made(&w));
    RW_TRY_OUT(rw_made_set_init(lab->ctx, &set, MOST_BINS,
                                n_queries < LEAST_QUERIES ? LEAST_QUERIES : n_queries, o->seed));
    RW_TRY_OUT(rw_lab_docs_init(lab, &docs, set.columns.n_docs));
    RW_TRY_OUT(rw_weighted_real(&w, &set, &docs));
    RW_TRY_OUT(rw_weighted_mixed(&w, &set, &docs));
    RW_TRY_OUT(send_bars(&w));
out:
    rw_lab_docs_release(&docs);
    rw_made_set_release(&set);
    return status;
}

const struct rw_lab_suite rw_lab_weighted = {
    .name = "weighted",
    .about = "the first document's figures and tables: its three methods, their hybrid, the CPU",
    .run = run,
    .unused = RW_LAB_NO_FEATURES | RW_LAB_NO_BINS,
};
