/* Figure 8 and Table 6: the document's two methods for many bins with their configuration stated.
 */
#include <math.h>
#include <stdio.h>

#include "lab/suites/weighted.h"
#include "lab/kernels/weighted_tuning.h"

/* A method's configurations: warps a block, and words in flight (collision) or documents of a
 * thread's buffer (collision-reduced). */
struct family {
    const struct rw_hist_method *method;
    int (*run)(const struct rw_hist_call *call, int warps, int other, void *stream);
    const char *other_name;
    const int *warps, *other; /* [n_warps], [n_other] */
    int n_warps, n_other;
};
static const struct family collision = {.method = &rw_hist_collision,
                                        .run = rw_cuda_tuned_collision,
                                        .other_name = "words in flight",
                                        .warps = rw_tuning_warps,
                                        .other = rw_tuning_unrolls,
                                        .n_warps = RW_TUNING_WARPS,
                                        .n_other = RW_TUNING_UNROLLS};
static const struct family reduced = {.method = &rw_hist_collision_reduced,
                                      .run = rw_cuda_tuned_reduced,
                                      .other_name = "documents a buffer",
                                      .warps = rw_tuning_reduced_warps,
                                      .other = rw_tuning_buffers,
                                      .n_warps = RW_TUNING_REDUCED_WARPS,
                                      .n_other = RW_TUNING_BUFFERS};

struct tuned {
    struct rw_lab *lab;
    const struct family *family;
    const struct rw_hist_call *call;
    int warps, other; /* places in the family's lists */
};

static int run_tuned(void *user)
{
    const struct tuned *t = user;
    const struct family *f = t->family;
    if (f->run(t->call, t->warps, t->other, t->lab->device->stream) != 0)
        return rw_fail(t->lab->ctx, RW_ERR_UNSUPPORTED, "CUDA: %s, %d warps, %d %s",
                       f->method->name, f->warps[t->warps], f->other[t->other], f->other_name);
    return RW_OK;
}

static int is_own(const struct tuned *t)
{
    return t->family == &reduced
               ? rw_tuning_reduced_is_own(t->call->matrix->n_bins, t->warps, t->other)
               : rw_tuning_is_own(t->warps, t->other);
}

/* ---- Figure 8 ---- */

int rw_weighted_tuned_row(struct rw_lab *lab, const struct rw_lab_call *c, int warps, int unroll)
{
    struct tuned tuned = {lab, &collision, &c->call, warps, unroll};
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    RW_TRY(rw_lab_time(lab, run_tuned, &tuned, &times));
    rw_weighted_add_call(&line, c);
    rw_bench_add_integer(&line, "warps", rw_tuning_warps[warps]);
    rw_bench_add_integer(&line, "unroll", rw_tuning_unrolls[unroll]);
    rw_bench_add_text(&line, "own", is_own(&tuned) ? "yes" : "no");
    rw_weighted_add_rates(lab, &line, c, &times);
    return rw_bench_send(&lab->rows, "tuning", &line);
}

/* ---- Table 6 ---- */

/* N_warp and N_buffer of the document; of `collision` N_warp, and N_unroll of Figure 8. */
struct stated {
    uint32_t n_bins;
    int reduced[2], collision[2];
};
static const struct stated table_6[] = {
    {128, {2, 10}, {2, 1}}, {256, {2, 8}, {2, 1}}, {512, {3, 5}, {2, 1}}, {1024, {6, 10}, {4, 1}}};

/* A configuration and what it took; NaN: not measured. */
struct measured {
    int warps, other;
    double ms;
};

static void add_measured(struct rw_bench_line *line, const char *const name[3],
                         const struct measured *m)
{
    if (isnan(m->ms)) {
        rw_bench_add_none(line, name[0]);
        rw_bench_add_none(line, name[1]);
    } else {
        rw_bench_add_integer(line, name[0], m->warps);
        rw_bench_add_integer(line, name[1], m->other);
    }
    rw_bench_add_real(line, name[2], m->ms, 4);
}

/* All configurations of a method. */
static int sweep(struct rw_lab *lab, const struct rw_lab_call *c, const struct family *family,
                 const int *stated)
{
    static const char *const names[3][3] = {{"document_warps", "document_other", "document_ms"},
                                            {"own_warps", "own_other", "own_ms"},
                                            {"best_warps", "best_other", "best_ms"}};
    struct measured documents = {0, 0, NAN}, own = documents, best = documents;
    struct rw_lab_call as = *c; /* for the rows' method */
    struct rw_bench_line line = {.n = 0};
    as.ask.method = family->method;
    for (int i = 0; i < family->n_warps * family->n_other; i++) {
        struct tuned tuned = {lab, family, &c->call, i / family->n_other, i % family->n_other};
        struct measured m = {family->warps[tuned.warps], family->other[tuned.other], NAN};
        const int is_stated = m.warps == stated[0] && m.other == stated[1];
        struct rw_bench_times times;
        struct rw_bench_line row = {.n = 0};
        RW_TRY(rw_lab_time(lab, run_tuned, &tuned, &times));
        m.ms = times.median_ms;
        documents = is_stated ? m : documents;
        own = is_own(&tuned) ? m : own;
        best = m.ms < best.ms || isnan(best.ms) ? m : best;
        rw_weighted_add_call(&row, &as);
        rw_bench_add_integer(&row, "warps", m.warps);
        rw_bench_add_integer(&row, "other", m.other);
        rw_bench_add_text(&row, "own", is_own(&tuned) ? "yes" : "no");
        rw_bench_add_text(&row, "document", is_stated ? "yes" : "no");
        rw_weighted_add_rates(lab, &row, &as, &times);
        RW_TRY(rw_bench_send(&lab->rows, "configurations", &row));
    }
    rw_bench_add_text(&line, "sums", rw_lab_sums_name(c->ask.sums));
    rw_bench_add_text(&line, "method", family->method->name);
    rw_bench_add_integer(&line, "bins", c->call.matrix->n_bins);
    add_measured(&line, names[0], &documents);
    add_measured(&line, names[1], &own);
    add_measured(&line, names[2], &best);
    rw_bench_add_real(&line, "own_by_best", own.ms / best.ms, 3);
    return rw_bench_send(&lab->rows, "best configuration", &line);
}

int rw_weighted_configurations(struct rw_lab *lab, const struct rw_lab_call *c)
{
    for (size_t i = 0; i < sizeof(table_6) / sizeof(table_6[0]); i++) {
        if (table_6[i].n_bins != c->call.matrix->n_bins)
            continue;
        if (rw_lab_wants(lab, rw_hist_collision_reduced.name))
            RW_TRY(sweep(lab, c, &reduced, table_6[i].reduced));
        if (rw_lab_wants(lab, rw_hist_collision.name))
            RW_TRY(sweep(lab, c, &collision, table_6[i].collision));
    }
    return RW_OK;
}
