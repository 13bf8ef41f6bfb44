/* Suite "text": from LETOR text to a finished model. */
#include <math.h>
#include <unistd.h>

#include "base/ctx.h"
#include "bench/bench.h"

enum { QUERIES = 31531, QUICK_QUERIES = 40, N_SETTINGS = 3 };

/* Of 500 trees, on one H200 with 16 cores; the program's start is not in these. */
static const double must_s = 8.0, aim_s = 4.0;

struct text {
    struct rw_bench *bench;
    const char *shape;
    uint32_t n_queries;
    int is_own;
    struct rw_params *params;   /* owned */
    struct rw_dataset *dataset; /* owned */
    struct rw_model *model;     /* owned */
    double text_bytes, read_ms, write_ms, sum_ms;
    struct rw_bench_training training;
};

static int make_params(struct text *s)
{
    const struct rw_bench_options *o = s->bench->options;
    const struct rw_bench_setting setting[N_SETTINGS] = {
        {"rounds", o->quick ? "5" : "500"}, {"leaves", "255"}, {"bins", "255"}};
    return rw_bench_params_pair(s->bench, setting, N_SETTINGS, &s->params, &s->is_own);
}

/* What is measured. The model takes the text's name; removing the text is not counted. */
static int from_text_to_model(struct text *s, const char *path)
{
    struct rw_ctx *ctx = s->bench->ctx;
    rw_log(ctx, RW_LOG_NOTE, "reading %.0f MB, training %d trees", s->text_bytes / 1e6,
           s->params->rounds);
    const double start = rw_clock_ms();
    RW_TRY(rw_dataset_read(ctx, &path, 1, &s->dataset));
    s->read_ms = rw_clock_ms() - start;
    RW_TRY(rw_bench_time_training(s->bench, s->params, s->dataset, &s->training, &s->model));
    unlink(path);
    const double written = rw_clock_ms();
    RW_TRY(rw_model_write(ctx, s->model, path));
    s->write_ms = rw_clock_ms() - written;
    s->sum_ms = s->read_ms + s->training.total_ms + s->write_ms;
    return RW_OK;
}

static int send_row(struct text *s)
{
    const struct rw_bench_training *t = &s->training;
    struct rw_bench_training plan;
    /* Asked for afterwards, as it opens the device, which is a part of what was measured. */
    RW_TRY(rw_bench_plan_training(s->bench, s->params, s->dataset, &plan));
    RW_TRY(rw_bench_send_row(
        s->bench, "text",
        "shape:s device:s queries:u documents:u features:u text_bytes:n trees:i mean_leaves:1 "
        "read_s:3 load_s:3 train_s:3 write_s:3 other_s:3 sum_s:3",
        s->shape, plan.device, s->n_queries, rw_dataset_n_docs(s->dataset),
        rw_dataset_n_features(s->dataset), s->text_bytes, t->n_trees, t->mean_leaves,
        s->read_ms / 1e3, t->load_ms / 1e3, t->rounds_ms / 1e3, s->write_ms / 1e3,
        (t->total_ms - t->load_ms - t->rounds_ms) / 1e3, s->sum_ms / 1e3));
    if (!s->is_own || !plan.on_gpu)
        return RW_OK;
    return rw_bench_bar(s->bench,
                        &(struct rw_bench_bar){"LETOR text to model, without the start: seconds",
                                               s->sum_ms / 1e3, must_s, aim_s, 1});
}

static int run(struct rw_bench *bench)
{
    const struct rw_bench_options *o = bench->options;
    struct text s = {.bench = bench,
                     .shape = o->shape ? o->shape : "mslr30k",
                     .n_queries = rw_bench_number(bench, o->n_queries, QUERIES, QUICK_QUERIES)};
    int status;
    RW_TRY_OUT(make_params(&s));
    RW_TRY_OUT(rw_bench_send_params(bench, &s.params, 1));
    RW_TRY_OUT(
        rw_bench_write_text(bench, s.shape, s.n_queries, bench->scratch.temporary, &s.text_bytes));
    RW_TRY_OUT(from_text_to_model(&s, bench->scratch.temporary));
    RW_TRY_OUT(send_row(&s));
out:
    rw_params_free(s.params);
    rw_dataset_free(s.dataset);
    rw_model_free(s.model);
    return status;
}

const struct rw_bench_suite rw_bench_text = {
    .bench = "train",
    .name = "text",
    .run = run,
    .writes = 1,
    .is_cold = 1,
};
