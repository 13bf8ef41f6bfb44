/* Suite "grow": how the time of a tree grows with documents, features, bins and leaves. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "bench/bench.h"
#include "dataset/dataset.h"

enum { QUERIES = 31531, QUICK_QUERIES = 16, MOST_STEPS = 8, MOST_BARS = 32 };

/* What is varied, while the others stay at 1x, all features, 255 bins and 255 leaves. */
enum axis { DOCUMENTS, FEATURES, BINS, LEAVES, N_AXES };
static const struct {
    const char *name;
    const char *step[MOST_STEPS]; /* NULL at the end */
} axes[N_AXES] = {
    [DOCUMENTS] = {"documents", {"0.25", "0.5", "1", "2", "4", "8"}}, /* times the queries */
    [FEATURES] = {"features", {"8", "4", "2", "1"}},                  /* one in so many */
    [BINS] = {"bins", {"15", "31", "63", "127", "255", "511", "1023"}},
    [LEAVES] = {"leaves", {"15", "31", "63", "127", "255", "511", "1023"}},
};

struct bar {
    char what[96];
    double growth;
};

struct grow {
    struct rw_bench *bench;
    const char *shape;
    uint32_t n_queries;        /* 1x */
    struct rw_bench_data data; /* of any size */
    int n_bars;
    struct bar bar[MOST_BARS];
};

struct step {
    enum axis axis;
    const char *text;         /* of the table above */
    struct rw_params *params; /* owned */
    uint32_t n_queries, n_features;
    double size; /* by which the time may grow */
    struct rw_bench_training training;
};

/* The ids of all features but every `keep`th, with commas; owned by the caller. */
static int ignored(struct grow *s, uint32_t keep, char **text, uint32_t *n_kept)
{
    const struct rw_dataset *dataset = s->data.dataset;
    size_t used = 0;
    RW_TRY(RW_NEW(s->bench->ctx, *text, (size_t)dataset->n_columns * 8 + 1));
    *n_kept = 0;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (c % keep == 0)
            (*n_kept)++;
        else
            used += (size_t)snprintf(*text + used, 8, "%s%u", used ? "," : "",
                                     dataset->column[c].feature);
    }
    return RW_OK;
}

static int make_params(struct grow *s, struct step *step)
{
    struct rw_ctx *ctx = s->bench->ctx;
    const struct rw_bench_setting setting[] = {
        {"rounds", s->bench->options->quick ? "4" : "50"}, {"leaves", "255"}, {"bins", "255"}};
    RW_SCOPED(rw_mem_free) char *text = NULL;
    RW_TRY(rw_bench_params_new(s->bench, setting, 3, 1, &step->params));
    if (step->axis == FEATURES) {
        uint32_t keep = 1;
        sscanf(step->text, "%u", &keep);
        RW_TRY(ignored(s, keep, &text, &step->n_features));
        if (*text)
            RW_TRY(rw_params_set(ctx, step->params, "ignore", text));
    } else if (step->axis != DOCUMENTS) {
        RW_TRY(rw_params_set(ctx, step->params, axes[step->axis].name, step->text));
    }
    RW_TRY(rw_params_check(ctx, step->params, RW_PARAMS_TRAIN));
    return RW_OK;
}

static int measure(struct grow *s, struct step *step)
{
    double times = 1.0;
    if (step->axis == DOCUMENTS)
        sscanf(step->text, "%lf", &times);
    const double queries = ceil(s->n_queries * times);
    step->n_queries = queries < 1e7 ? (uint32_t)queries : 10000000u;
    RW_TRY(rw_bench_data_make(s->bench, &s->data, s->shape, step->n_queries));
    step->n_features = rw_dataset_n_features(s->data.dataset);
    RW_TRY(make_params(s, step));
    RW_TRY(rw_bench_plan_training(s->bench, step->params, s->data.dataset, &step->training));
    rw_log(s->bench->ctx, RW_LOG_NOTE, "%s, step '%s' of %s, on %s", s->shape, step->text,
           axes[step->axis].name, step->training.device);
    RW_TRY(rw_bench_time_training(s->bench, step->params, s->data.dataset, &step->training, NULL));
    const double size[N_AXES] = {[DOCUMENTS] = rw_dataset_n_docs(s->data.dataset),
                                 [FEATURES] = step->n_features,
                                 [BINS] = step->params->bins,
                                 [LEAVES] = step->training.mean_leaves};
    step->size = size[step->axis];
    return RW_OK;
}

/* last: the step before on the axis; NULL: this is the first. */
static int send_step(struct grow *s, const struct step *step, const struct step *last)
{
    const uint32_t n_docs = rw_dataset_n_docs(s->data.dataset);
    const double time_ratio =
        last ? step->training.median_ms / last->training.median_ms : (double)NAN;
    const double size_ratio = last ? step->size / last->size : (double)NAN;
    /* A step that makes nothing larger (no tree has more leaves) is no measure of growth. */
    if (last && size_ratio > 1.0 && s->n_bars < MOST_BARS) {
        struct bar *bar = &s->bar[s->n_bars++];
        snprintf(bar->what, sizeof(bar->what), "%s, %.6g to %.6g: time by size",
                 axes[step->axis].name, last->size, step->size);
        bar->growth = time_ratio / size_ratio;
    }
    return rw_bench_send_row(s->bench, "grow",
                             "axis:s device:s documents:u features:u bins:i leaves:i training:t "
                             "time_ratio:3 size_ratio:3 growth:3",
                             axes[step->axis].name, step->training.device, n_docs, step->n_features,
                             step->params->bins, rw_bench_leaves(step->params, n_docs),
                             &step->training, time_ratio, size_ratio, time_ratio / size_ratio);
}

static int run_axis(struct grow *s, enum axis axis)
{
    struct step last = {.params = NULL};
    int status = RW_OK;
    for (int i = 0; i < MOST_STEPS && axes[axis].step[i]; i++) {
        struct step step = {.axis = axis, .text = axes[axis].step[i]};
        status = measure(s, &step);
        if (status >= 0)
            status = send_step(s, &step, last.params ? &last : NULL);
        rw_params_free(last.params);
        last = step;
        if (status < 0)
            break;
    }
    rw_params_free(last.params);
    return status;
}

/* The axis is not varied if the user has fixed it. */
static int is_fixed(const struct grow *s, enum axis axis)
{
    const struct rw_params *given = s->bench->options->params;
    if (axis == LEAVES && given && given->grow == RW_GROW_LEVELS)
        return 1;
    return axis >= BINS && rw_bench_is_given(s->bench, axes[axis].name);
}

static int send_base(struct grow *s)
{
    struct step base = {.axis = DOCUMENTS};
    int status = make_params(s, &base);
    if (status >= 0)
        status = rw_bench_send_params(s->bench, &base.params, 1);
    rw_params_free(base.params);
    return status;
}

static int run(struct rw_bench *bench)
{
    const struct rw_bench_options *o = bench->options;
    struct grow s = {.bench = bench,
                     .shape = o->shape ? o->shape : "mslr30k",
                     .n_queries = rw_bench_number(bench, o->n_queries, QUERIES, QUICK_QUERIES)};
    int status;
    RW_TRY_OUT(send_base(&s));
    for (int axis = 0; axis < N_AXES; axis++) {
        if (!is_fixed(&s, (enum axis)axis))
            RW_TRY_OUT(run_axis(&s, (enum axis)axis));
    }
    for (int i = 0; i < s.n_bars && !o->quick; i++)
        RW_TRY_OUT(rw_bench_bar(
            bench, &(struct rw_bench_bar){s.bar[i].what, s.bar[i].growth, 1.0, NAN, 1}));
out:
    rw_bench_data_release(&s.data);
    return status;
}

const struct rw_bench_suite rw_bench_grow = {
    .bench = "train",
    .name = "grow",
    .run = run,
};
