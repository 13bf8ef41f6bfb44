/* Suite "ranks": the same training by one worker and by several, each of which makes its own share
 * of the documents, as codes; the models are to be the same bytes. */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/bench.h"
#include "comm/comm.h"

enum { QUERIES = 250000, QUICK_QUERIES = 200, RANKS = 2, MOST_TREES = RW_BENCH_MOST_TREES };

struct text {
    char *text; /* ended by rw_free */
    size_t size;
};

/* What a tree took worker 0, and the bytes that all workers sent. */
struct tree {
    double ms, histograms_ms, splits_ms, partition_ms, other_ms, bytes;
};

/* A training by some workers. What several of them write is a worker's own. */
struct training {
    struct rw_bench *bench;
    const struct rw_params *params;
    uint32_t n_queries;
    int n_workers;
    /* worker 0's: */
    struct tree tree[MOST_TREES];
    int n_trees;
    double since, make_ms, leaves;
    struct text model;
};

struct worker {
    struct training *training;
    struct rw_ctx *ctx;
};

/* ---- a worker ---- */

static int on_round(void *user, const struct rw_round *round)
{
    const struct worker *worker = user;
    struct training *t = worker->training;
    uint64_t bytes = round->bytes_sent;
    const double now = rw_clock_ms();
    if (rw_comm_sum(worker->ctx, &bytes, 1) < 0)
        return 1;
    if (rw_workers_number(worker->ctx) > 0)
        return 0;
    if (t->n_trees < MOST_TREES) {
        struct tree *tree = &t->tree[t->n_trees++];
        *tree = (struct tree){.ms = now - t->since,
                              .histograms_ms = round->ms_histograms,
                              .splits_ms = round->ms_splits,
                              .partition_ms = round->ms_partition,
                              .bytes = (double)bytes};
        tree->other_ms = tree->ms - tree->histograms_ms - tree->splits_ms - tree->partition_ms;
        t->leaves += round->n_leaves;
    }
    t->since = rw_clock_ms();
    return 0;
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    const struct worker *worker = user;
    (void)ms;
    (void)peak_bytes;
    if (rw_workers_number(worker->ctx) == 0 && strcmp(stage, "cuts and codes") == 0)
        worker->training->since = rw_clock_ms();
}

/* The first query of a worker's share. */
static uint32_t share_of(const struct training *t, int worker)
{
    return (uint32_t)((uint64_t)t->n_queries * (uint32_t)worker / (uint32_t)t->n_workers);
}

static int make_share(const struct worker *worker, struct rw_binned **out)
{
    const struct training *t = worker->training;
    const int number = rw_workers_number(worker->ctx);
    const struct rw_cut_rule rule = rw_params_cut_rule(t->params);
    const struct rw_bench_codes codes =
        rw_bench_codes_of(share_of(t, number), share_of(t, number + 1), t->bench->options->seed);
    return rw_bench_codes_make(worker->ctx, &codes, &rule, out);
}

static int run_worker(void *user, struct rw_ctx *ctx, int number)
{
    struct worker worker = {.training = user, .ctx = ctx};
    struct training *t = worker.training;
    const struct rw_train_hooks hooks = {
        .user = &worker, .on_round = on_round, .on_stage = on_stage};
    const double begun = rw_clock_ms();
    RW_SCOPED(rw_binned_free) struct rw_binned *binned = NULL;
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    int status = rw_comm_agree(ctx, make_share(&worker, &binned));
    if (number == 0)
        t->make_ms = rw_clock_ms() - begun;
    if (status >= 0)
        status = rw_train_on(ctx, t->params,
                             &(struct rw_training){.binned = binned, .hooks = &hooks}, &model);
    if (status >= 0 && number == 0)
        status = rw_model_write_memory(ctx, model, &t->model.text, &t->model.size);
    return status;
}

/* ---- rows ---- */

/* The median of a figure, at `offset` in struct tree, over all trees but the first. */
static double median_of(const struct training *t, size_t offset)
{
    if (t->n_trees < 2)
        return NAN;
    return rw_bench_median(&t->tree[1], sizeof(t->tree[1]), offset, t->n_trees - 1);
}

static double tree_ms(const struct training *t)
{
    return median_of(t, offsetof(struct tree, ms));
}

static int send(const struct training *t)
{
    return rw_bench_send_row(
        t->bench, "ranks",
        "ranks:i device:s documents:n features:i mean_leaves:1 tree_ms:2 histograms:2 splits:2 "
        "partition:2 other:2 first_tree_ms:1 sent_bytes:n make_s:2",
        t->n_workers, rw_params_get((struct rw_params *)t->params, "device"),
        (double)t->n_queries * RW_BENCH_CODES_DOCS, RW_BENCH_CODES_FEATURES, t->leaves / t->n_trees,
        tree_ms(t), median_of(t, offsetof(struct tree, histograms_ms)),
        median_of(t, offsetof(struct tree, splits_ms)),
        median_of(t, offsetof(struct tree, partition_ms)),
        median_of(t, offsetof(struct tree, other_ms)), t->tree[0].ms,
        median_of(t, offsetof(struct tree, bytes)), t->make_ms / 1e3);
}

/* Of one worker and of several, if the suite is as it is by itself. */
static int send_bars(struct rw_bench *bench, const struct training *one,
                     const struct training *several)
{
    const struct rw_bench_bar bar = {"one worker's time in that of two",
                                     tree_ms(one) / tree_ms(several), 1.6, 1.85, 0};
    const struct rw_bench_options *o = bench->options;
    if (o->quick || o->n_queries || several->n_workers != RANKS)
        return RW_OK;
    return rw_bench_bar(bench, &bar);
}

/* ---- the suite ---- */

static int train(struct rw_bench *bench, struct training *t)
{
    rw_log(bench->ctx, RW_LOG_NOTE, "%d trees by %d worker%s", t->params->rounds, t->n_workers,
           t->n_workers == 1 ? "" : "s");
    RW_TRY(rw_workers_run(bench->ctx, t->n_workers, run_worker, t));
    return send(t);
}

static int compare(struct rw_bench *bench, const struct text *a, const struct text *b)
{
    if (a->size == b->size && memcmp(a->text, b->text, a->size) == 0)
        return RW_OK;
    return rw_fail(bench->ctx, RW_ERR_INTERNAL, "the model of several workers is not that of one");
}

static int run(struct rw_bench *bench)
{
    const struct rw_bench_options *o = bench->options;
    struct training *t;
    struct rw_params *params = NULL;
    const struct rw_bench_setting setting[] = {
        {"rounds", o->quick ? "3" : "12"}, {"leaves", "255"}, {"bins", "255"}, {"split", "mart"}};
    int status;
    RW_TRY(RW_NEW(bench->ctx, t, 2));
    RW_TRY_OUT(rw_bench_params_new(bench, setting, 4, 1, &params));
    RW_TRY_OUT(rw_bench_send_params(bench, &params, 1));
    for (int i = 0; i < 2; i++) {
        t[i].bench = bench;
        t[i].params = params;
        t[i].n_queries = rw_bench_number(bench, o->n_queries, QUERIES, QUICK_QUERIES);
        t[i].n_workers = i == 0 ? 1 : o->n_workers ? (int)o->n_workers : RANKS;
        RW_TRY_OUT(train(bench, &t[i]));
    }
    RW_TRY_OUT(compare(bench, &t[0].model, &t[1].model));
    RW_TRY_OUT(send_bars(bench, &t[0], &t[1]));
out:
    for (int i = 0; i < 2; i++)
        rw_free(t[i].model.text);
    rw_mem_free(t);
    rw_params_free(params);
    return status;
}

const struct rw_bench_suite rw_bench_workers = {
    .bench = "train",
    .name = "ranks",
    .run = run,
    .has_workers = 1,
};
