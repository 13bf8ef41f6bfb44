/* Figures 4 to 9, Tables 5 and 7: made codes. The document's sizes: 1000 features of 100,000
 * documents. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lab/suites/weighted.h"
#include "lab/kernels/weighted_tuning.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

enum { N_FEATURES = 1000, N_DOCS = 100000, QUICK_FEATURES = 50, QUICK_DOCS = 10000 };
enum { TUNED_BINS = 64, TUNED_UNROLL = 16, MOST_BINS = 1024, FREE_MOST_BINS = 128 };

/* One made matrix with its documents and a call. */
struct made {
    struct rw_lab_docs docs;
    struct rw_lab_made on; /* the device */
};

static int bits_of(uint32_t n_bins)
{
    return n_bins <= 16 ? 4 : n_bins <= 256 ? 8 : 16;
}

static void made_release(struct made *made)
{
    rw_lab_made_release(&made->on);
    rw_lab_docs_release(&made->docs);
}

static int made_init(struct rw_lab *lab, struct made *made, const struct rw_made_spec *spec,
                     int layouts)
{
    int status;
    *made = (struct made){.docs = {0}};
    RW_TRY_OUT(rw_lab_docs_init(lab, &made->docs, spec->n_docs));
    RW_TRY_OUT(rw_lab_made_init(lab, &made->on, spec, bits_of(spec->n_bins), layouts));
out:
    if (status < 0)
        made_release(made);
    return status;
}

static struct rw_made_spec spec_of(const struct rw_lab *lab, uint32_t n_bins,
                                   enum rw_made_codes codes)
{
    return (struct rw_made_spec){.n_features = lab->options->quick ? QUICK_FEATURES : N_FEATURES,
                                 .n_docs = lab->options->quick ? QUICK_DOCS : N_DOCS,
                                 .n_bins = n_bins,
                                 .codes = codes};
}

/* Sets and times a call: 1 if the method does not declare it. */
static int time_ask(struct made *made, const struct rw_lab_ask *ask, struct rw_bench_times *times)
{
    const int status = rw_lab_call_set(&made->on.call, &made->docs, &made->on.m, ask);
    return status != 0 ? status : rw_lab_call_time(&made->on.call, times);
}

/* Sets, times and sends a call of collision-free with its unrolling stated. */
static int free_row(struct rw_lab *lab, struct made *made, const char *table,
                    const struct rw_lab_ask *ask)
{
    const struct rw_lab_call *c = &made->on.call;
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    const int status = time_ask(made, ask, &times);
    if (status != 0)
        return status < 0 ? status : RW_OK;
    const int own = rw_hist_collision_free_unroll(c->call.matrix->n_bins);
    rw_weighted_add_call(&line, c);
    rw_bench_add_integer(&line, "unroll", ask->unroll);
    rw_bench_add_text(&line, "own", ask->unroll == own ? "yes" : "no");
    rw_weighted_add_rates(lab, &line, c, &times);
    return rw_bench_send(&lab->rows, table, &line);
}

/* Figure 4 and Table 5: the unrolling of each number of bins. */
static int unrolling(struct rw_lab *lab)
{
    for (uint32_t n_bins = 2; n_bins <= FREE_MOST_BINS; n_bins *= 2) {
        const struct rw_made_spec spec = spec_of(lab, n_bins, RW_CODES_UNIFORM);
        struct made made;
        int status = RW_OK;
        RW_TRY(made_init(lab, &made, &spec, RW_HIST_COLUMNS));
        for (int i = 0; i < RW_WEIGHTED_SUMS * 6 && status >= 0; i++) {
            const struct rw_lab_ask ask = {.method = &rw_hist_collision_free,
                                           .sums = rw_weighted_sums[i / 6],
                                           .unroll = 1 << i % 6};
            status = free_row(lab, &made, "unrolling", &ask);
        }
        made_release(&made);
        RW_TRY(status);
    }
    return RW_OK;
}

/* Figures 5 and 6: the first n documents, or features, of what `spec` says; n is doubled. */
static int growing(struct rw_lab *lab, const char *table, const struct rw_made_spec *spec,
                   uint32_t first, int of_docs)
{
    const uint32_t last = of_docs ? spec->n_docs : spec->n_features;
    struct made made;
    int status = RW_OK;
    RW_TRY(made_init(lab, &made, spec, RW_HIST_COLUMNS));
    for (int s = 0; s < RW_WEIGHTED_SUMS; s++) {
        for (uint32_t n = first; n <= last && status >= 0; n *= 2) {
            const struct rw_lab_ask ask = {.method = &rw_hist_collision_free,
                                           .sums = rw_weighted_sums[s],
                                           .unroll = TUNED_UNROLL,
                                           .n_docs = of_docs ? n : 0,
                                           .n_features = of_docs ? 0 : n};
            status = free_row(lab, &made, table, &ask);
        }
    }
    made_release(&made);
    return status;
}

/* Figure 5: documents, 1000 features. Figure 6: features, 100,000 documents. */
static int documents_and_features(struct rw_lab *lab)
{
    enum { LEAST_DOCS = 1000, MOST_DOCS = 1024000, QUICK_MOST_DOCS = 16000 };
    enum { MOST_FEATURES = 4096, QUICK_MOST_FEATURES = 64 };
    const int quick = lab->options->quick;
    struct rw_made_spec docs = spec_of(lab, TUNED_BINS, RW_CODES_UNIFORM), features = docs;
    docs.n_docs = quick ? QUICK_MOST_DOCS : MOST_DOCS;
    features.n_features = quick ? QUICK_MOST_FEATURES : MOST_FEATURES;
    RW_TRY(growing(lab, "documents", &docs, LEAST_DOCS, 1));
    return growing(lab, "features", &features, 1, 0);
}

/* Figure 8: warps a block and unrolling of collision, 1024 bins, even codes. */
static int tuning(struct rw_lab *lab)
{
    const struct rw_made_spec spec = spec_of(lab, MOST_BINS, RW_CODES_UNIFORM);
    struct made made;
    int status = RW_OK;
    RW_TRY(made_init(lab, &made, &spec, RW_HIST_COLUMNS));
    for (int s = 0; s < RW_WEIGHTED_SUMS && status >= 0; s++) {
        const struct rw_lab_ask ask = {.method = &rw_hist_collision, .sums = rw_weighted_sums[s]};
        status = rw_lab_call_set(&made.on.call, &made.docs, &made.on.m, &ask);
        for (int i = 0; i < RW_TUNING_WARPS * RW_TUNING_UNROLLS && status >= 0; i++)
            status = rw_weighted_tuned_row(lab, &made.on.call, i / RW_TUNING_UNROLLS,
                                           i % RW_TUNING_UNROLLS);
    }
    made_release(&made);
    return status;
}

/* Every method over one matrix. The times are those of float weights, NaN if not measured. */
struct sweep {
    const char *table, *codes;
    double sigma;
    double collision_ms, reduced_ms;
};

static int sweep_row(struct rw_lab *lab, struct made *made, struct sweep *sweep,
                     const struct rw_lab_ask *ask)
{
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    const int status = time_ask(made, ask, &times);
    if (status != 0)
        return status < 0 ? status : RW_OK;
    if (ask->sums == RW_HIST_FLOAT && ask->method == &rw_hist_collision)
        sweep->collision_ms = times.median_ms;
    if (ask->sums == RW_HIST_FLOAT && ask->method == &rw_hist_collision_reduced)
        sweep->reduced_ms = times.median_ms;
    rw_bench_add_text(&line, "codes", sweep->codes);
    rw_bench_add_real(&line, "sigma", sweep->sigma, 1);
    rw_weighted_add_call(&line, &made->on.call);
    rw_weighted_add_rates(lab, &line, &made->on.call, &times);
    return rw_bench_send(&lab->rows, sweep->table, &line);
}

static int sweep_matrix(struct rw_lab *lab, const struct rw_made_spec *spec, struct sweep *sweep)
{
    struct rw_hist_candidates all;
    struct made made;
    int status = RW_OK;
    rw_weighted_all(&all);
    sweep->collision_ms = sweep->reduced_ms = NAN;
    RW_TRY(made_init(lab, &made, spec, RW_HIST_TILES | RW_HIST_COLUMNS));
    for (int s = 0; s < RW_WEIGHTED_SUMS; s++) {
        for (int i = 0; i < all.n && status >= 0; i++) {
            const struct rw_lab_ask ask = {.method = all.method[i], .sums = rw_weighted_sums[s]};
            if (rw_lab_wants(lab, ask.method->name))
                status = sweep_row(lab, &made, sweep, &ask);
        }
    }
    made_release(&made);
    return status;
}

/* Figure 7 and Table 7's throughput: bins 2 to 1024, even codes and equal ones. */
static int bins(struct rw_weighted *w)
{
    static const enum rw_made_codes kinds[] = {RW_CODES_UNIFORM, RW_CODES_EQUAL};
    for (uint32_t n_bins = 2; n_bins <= MOST_BINS; n_bins *= 2) {
        for (int k = 0; k < LENGTH(kinds); k++) {
            const struct rw_made_spec spec = spec_of(w->lab, n_bins, kinds[k]);
            struct sweep sweep = {
                .table = "bins", .codes = rw_made_codes_name(kinds[k]), .sigma = NAN};
            RW_TRY(sweep_matrix(w->lab, &spec, &sweep));
            if (n_bins == MOST_BINS && kinds[k] == RW_CODES_EQUAL)
                w->figures.reduced_equal = sweep.collision_ms / sweep.reduced_ms;
        }
    }
    return RW_OK;
}

/* Figure 9: 1024 bins, normal codes of mean 512, from equal (sigma 0) to uniform (no sigma). */
static int sigmas(struct rw_lab *lab)
{
    static const double sigma[] = {0, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, INFINITY};
    for (int i = 0; i < LENGTH(sigma); i++) {
        const enum rw_made_codes codes = sigma[i] <= 0     ? RW_CODES_EQUAL
                                         : isinf(sigma[i]) ? RW_CODES_UNIFORM
                                                           : RW_CODES_NORMAL;
        struct rw_made_spec spec = spec_of(lab, MOST_BINS, codes);
        struct sweep sweep = {.table = "sigma",
                              .codes = rw_made_codes_name(codes),
                              .sigma = isinf(sigma[i]) ? NAN : sigma[i]};
        spec.sigma = sigma[i];
        RW_TRY(sweep_matrix(lab, &spec, &sweep));
    }
    return RW_OK;
}

int rw_weighted_made(struct rw_weighted *w)
{
    struct rw_lab *lab = w->lab;
    if (rw_lab_wants(lab, rw_hist_collision_free.name)) {
        RW_TRY(unrolling(lab));
        RW_TRY(documents_and_features(lab));
    }
    if (rw_lab_wants(lab, rw_hist_collision.name))
        RW_TRY(tuning(lab));
    RW_TRY(bins(w));
    return sigmas(lab);
}
