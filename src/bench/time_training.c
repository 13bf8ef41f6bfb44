#include "bench/time_training.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "gpu/device/device.h"
#include "synth/synth.h"

enum { FIRST_TREE = 10, DEFAULT_LEVELS = 6 };

/* ---- data ---- */

int rw_bench_data_make(struct rw_bench *bench, struct rw_bench_data *data, const char *shape,
                       uint32_t n_queries)
{
    if (data->dataset && data->n_queries == n_queries && strcmp(data->shape, shape) == 0)
        return RW_OK;
    rw_bench_data_release(data);
    const struct rw_synth_options options = {
        .shape = shape, .n_queries = n_queries, .seed = bench->options->seed};
    rw_log(bench->ctx, RW_LOG_NOTE, "making %u queries of shape %s", n_queries, shape);
    RW_TRY(rw_synth(bench->ctx, &options, &data->dataset));
    data->shape = shape;
    data->n_queries = n_queries;
    return RW_OK;
}

int rw_bench_write_text(struct rw_bench *bench, const char *shape, uint32_t n_queries,
                        const char *path, double *n_bytes)
{
    const struct rw_synth_options options = {
        .shape = shape, .n_queries = n_queries, .seed = bench->options->seed};
    rw_log(bench->ctx, RW_LOG_NOTE, "writing %u queries of shape %s to %s", n_queries, shape, path);
    RW_TRY(rw_synth_write(bench->ctx, &options, path));
    return rw_bench_file_bytes(bench, path, n_bytes);
}

int rw_bench_file_bytes(struct rw_bench *bench, const char *path, double *n_bytes)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return rw_fail_io(bench->ctx, errno, "cannot read '%s'", path);
    *n_bytes = (double)about.st_size;
    return RW_OK;
}

void rw_bench_data_release(struct rw_bench_data *data)
{
    rw_dataset_free(data->dataset);
    *data = (struct rw_bench_data){0};
}

int rw_bench_queries_of(struct rw_bench *bench, const char *shape, uint32_t n_docs,
                        uint32_t *n_queries)
{
    struct rw_synth_shape *made;
    uint64_t n = 0;
    RW_TRY(rw_synth_shape_new(bench->ctx, shape, &made));
    *n_queries = 0;
    while (n < n_docs && *n_queries < RW_SYNTH_MAX_QUERIES)
        n += rw_synth_query_docs(made, bench->options->seed, (*n_queries)++);
    rw_mem_free(made);
    return RW_OK;
}

/* ---- parameters ---- */

int rw_bench_is_given(const struct rw_bench *bench, const char *name)
{
    const struct rw_params *given = bench->options->params;
    return given && rw_params_is_set(given, name);
}

/* Rounds are never auto here: figures are kept of each. */
static int is_set(const struct rw_params *user, const char *name)
{
    return user && rw_params_is_set(user, name) &&
           !(strcmp(name, "rounds") == 0 && user->rounds == RW_AUTO);
}

int rw_bench_params_new(struct rw_bench *bench, const struct rw_bench_setting *setting,
                        int n_settings, int given, struct rw_params **out)
{
    struct rw_ctx *ctx = bench->ctx;
    struct rw_params *params, *user = given ? bench->options->params : NULL;
    const int levels = user && user->grow == RW_GROW_LEVELS;
    int status = RW_OK;
    *out = NULL;
    RW_TRY(rw_params_new(ctx, &params));
    rw_params_on_no_effect(params, RW_NO_EFFECT_SILENT); /* the caller's were judged */
    /* a tree's time is that of all features, and models are alike whatever their size */
    RW_TRY_OUT(rw_params_set(ctx, params, "sample-features", "1"));
    RW_TRY_OUT(rw_params_set(ctx, params, "rate", "0.1"));
    for (int i = 0; i < n_settings; i++) {
        if (!is_set(user, setting[i].name) && !(levels && strcmp(setting[i].name, "leaves") == 0))
            RW_TRY_OUT(rw_params_set(ctx, params, setting[i].name, setting[i].value));
    }
    for (int i = 0; user && rw_param_info(i); i++) {
        const char *name = rw_param_info(i)->name;
        if (is_set(user, name))
            RW_TRY_OUT(rw_params_set(ctx, params, name, rw_params_get(user, name)));
    }
    *out = params;
    params = NULL;
out:
    rw_params_free(params);
    return status;
}

int rw_bench_params_pair(struct rw_bench *bench, const struct rw_bench_setting *setting,
                         int n_settings, struct rw_params **out, int *is_own)
{
    const struct rw_bench_options *o = bench->options;
    struct rw_params *own = NULL;
    int status;
    RW_TRY_OUT(rw_bench_params_new(bench, setting, n_settings, 0, &own));
    RW_TRY_OUT(rw_bench_params_new(bench, setting, n_settings, 1, out));
    RW_TRY_OUT(rw_params_check(bench->ctx, *out));
    *is_own = !o->quick && !o->shape && !o->n_queries && rw_bench_params_same(own, *out);
out:
    rw_params_free(own);
    return status;
}

int rw_bench_params_same(struct rw_params *a, struct rw_params *b)
{
    for (int i = 0; rw_param_info(i); i++) {
        const struct rw_param_info *info = rw_param_info(i);
        if (info->model && strcmp(info->name, "seed") != 0 &&
            strcmp(rw_params_get(a, info->name), rw_params_get(b, info->name)) != 0)
            return 0;
    }
    return 1;
}

int rw_bench_send_params(struct rw_bench *bench, struct rw_params *const *params, int n)
{
    for (int i = 0; rw_param_info(i); i++) {
        struct rw_bench_line line = {.n = 0};
        const struct rw_param_info *info = rw_param_info(i);
        const char *name = info->name, *value = rw_params_get(params[0], name);
        for (int k = 1; k < n; k++) {
            if (strcmp(value, rw_params_get(params[k], name)) != 0) {
                value = "by row";
                break;
            }
        }
        if (!(info->roles & ~(RW_ROLE_WEIGHTS | RW_ROLE_TABLE | RW_ROLE_EVALUATION)) ||
            (info->roles & RW_ROLE_VALIDATION) || !*value) /* made data has no use for it */
            continue;
        rw_bench_add_text(&line, "name", name);
        rw_bench_add_text(&line, "value", value);
        RW_TRY(rw_bench_send(bench, "parameters", &line));
    }
    return RW_OK;
}

int rw_bench_leaves(const struct rw_params *params, uint32_t n_docs)
{
    if (params->grow == RW_GROW_LEVELS)
        return 1 << (params->depth > 0 ? params->depth : DEFAULT_LEVELS);
    return rw_params_leaves(params, n_docs);
}

/* ---- times ---- */

/* A training that is being timed. */
struct timing {
    struct rw_bench_training *training;
    double *ms;    /* [rounds] owned */
    int *n_leaves; /* [rounds] owned */
    double since;  /* the round began */
    int gpu;       /* whose memory is looked at; -1: none */
    uint64_t free_before;
};

static int on_round(void *user, const struct rw_round *round)
{
    struct timing *timing = user;
    timing->ms[round->round - 1] = rw_clock_ms() - timing->since;
    timing->n_leaves[round->round - 1] = round->n_leaves;
    timing->training->n_trees = round->round;
    /* The first tree is where methods are chosen, with memory that is given back. */
    if (timing->gpu >= 0 && (round->round == 2 || round->n_rounds == 1)) {
        const uint64_t left = rw_device_free_bytes(timing->gpu);
        timing->training->device_bytes =
            timing->free_before > left ? timing->free_before - left : 0;
    }
    timing->since = rw_clock_ms();
    return 0;
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    struct timing *timing = user;
    (void)peak_bytes;
    if (strcmp(stage, "cuts and codes") == 0) {
        timing->training->load_ms = ms;
        timing->since = rw_clock_ms();
    } else if (strcmp(stage, "rounds") == 0) {
        timing->training->rounds_ms = ms;
    }
}

static void take_figures(const struct timing *timing, int rounds)
{
    struct rw_bench_training *t = timing->training;
    const int tenth = rounds / 10 > 2 ? rounds / 10 : 2;
    t->first = tenth < FIRST_TREE ? tenth : FIRST_TREE;
    t->median_ms = t->least_ms = t->q1_ms = t->q3_ms = t->most_ms = t->mean_leaves = NAN;
    t->first_tree_ms = t->n_trees > 0 ? timing->ms[0] : NAN;
    const int n = t->n_trees - t->first + 1;
    if (n < 1)
        return;
    double *ms = timing->ms + t->first - 1, leaves = 0.0;
    struct rw_bench_times times;
    rw_bench_spread(ms, n, &times);
    for (int i = 0; i < n; i++)
        leaves += timing->n_leaves[t->first - 1 + i];
    t->mean_leaves = leaves / n;
    t->median_ms = times.median_ms;
    t->least_ms = times.least_ms;
    t->q1_ms = ms[(n - 1) / 4];
    t->q3_ms = ms[(n - 1) - (n - 1) / 4];
    t->most_ms = times.most_ms;
}

int rw_bench_plan_training(struct rw_bench *bench, struct rw_params *params,
                           const struct rw_dataset *dataset, struct rw_bench_training *out)
{
    struct rw_plan plan;
    *out = (struct rw_bench_training){0};
    if (strcmp(params->device, "ref") == 0 || strcmp(params->device, "sim") == 0) {
        snprintf(out->device, sizeof(out->device), "%s", params->device); /* they have no plan */
        return RW_OK;
    }
    RW_TRY(rw_train_plan(bench->ctx, params, dataset, NULL, 0, &plan));
    snprintf(out->device, sizeof(out->device), "%s", plan.device);
    out->on_gpu = plan.on_gpu;
    out->plan_bytes = plan.bytes;
    for (int i = 0; i < plan.n_parts; i++) {
        if (strcmp(plan.part[i].name, "codes") == 0)
            out->code_bytes = plan.part[i].bytes;
    }
    return RW_OK;
}

int rw_bench_time_training(struct rw_bench *bench, struct rw_params *params,
                           const struct rw_dataset *dataset, struct rw_bench_training *out,
                           struct rw_model **model)
{
    struct rw_ctx *ctx = bench->ctx;
    struct rw_model *made = NULL;
    struct timing timing = {.training = out, .gpu = -1};
    const struct rw_train_hooks hooks = {
        .user = &timing, .on_round = on_round, .on_stage = on_stage};
    int status;
    if (out->on_gpu && sscanf(out->device, "cuda:%d", &timing.gpu) == 1)
        timing.free_before = rw_device_free_bytes(timing.gpu);
    RW_TRY_OUT(RW_NEW(ctx, timing.ms, params->rounds));
    RW_TRY_OUT(RW_NEW(ctx, timing.n_leaves, params->rounds));
    const double start = rw_clock_ms();
    timing.since = start;
    RW_TRY_OUT(rw_train(ctx, params, dataset, NULL, 0, &hooks, &made));
    out->total_ms = rw_clock_ms() - start;
    take_figures(&timing, params->rounds);
    if (model) {
        *model = made;
        made = NULL;
    }
out:
    rw_model_free(made);
    rw_mem_free(timing.ms);
    rw_mem_free(timing.n_leaves);
    return status;
}

void rw_bench_add_training(struct rw_bench_line *line, const struct rw_bench_training *training)
{
    rw_bench_add_real(line, "mean_leaves", training->mean_leaves, 1);
    rw_bench_add_integer(line, "first_tree", training->first);
    rw_bench_add_integer(line, "last_tree", training->n_trees);
    rw_bench_add_real(line, "median_ms", training->median_ms, 3);
    rw_bench_add_real(line, "least_ms", training->least_ms, 3);
    rw_bench_add_real(line, "q1_ms", training->q1_ms, 3);
    rw_bench_add_real(line, "q3_ms", training->q3_ms, 3);
    rw_bench_add_real(line, "most_ms", training->most_ms, 3);
}
