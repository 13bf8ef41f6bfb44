#include "bench/bench.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ctx.h"
#include "base/fpenv.h"
#include "base/isa.h"
#include "base/mem.h"
#include "base/system.h"
#include "bench/time_training.h"
#include "params/no_effect.h"
#include "synth/synth.h"

enum { MOST_SUITES = 16 };

/* ---- names ---- */

static const struct {
    const char *bench;
    const struct rw_bench_suite *suite;
} suites[] = {{"train", &rw_bench_trees},       {"train", &rw_bench_grow},
              {"train", &rw_bench_text},        {"train", &rw_bench_far},
              {"train", &rw_bench_ranks},       {"load", &rw_bench_loading},
              {"predict", &rw_bench_predicting}};

/* NULL past the end, and for an unknown bench. */
static const struct rw_bench_suite *suite_at(const char *bench, int i)
{
    for (size_t k = 0; i >= 0 && k < sizeof(suites) / sizeof(suites[0]); k++) {
        if (strcmp(suites[k].bench, bench) == 0 && i-- == 0)
            return suites[k].suite;
    }
    return NULL;
}

int rw_bench_suite_at(const char *bench, int i, const char **name, const char **about)
{
    const struct rw_bench_suite *suite = suite_at(bench, i);
    *name = suite ? suite->name : NULL;
    *about = suite ? suite->about : NULL;
    return suite != NULL;
}

int rw_bench_find_word(struct rw_ctx *ctx, const char *kind, const char *word,
                       const char *const *words, int n, int *at)
{
    char list[1024] = "";
    size_t used = 0;
    for (*at = 0; *at < n; (*at)++) {
        if (strcmp(word, words[*at]) == 0)
            return RW_OK;
        used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%s", used ? ", " : "",
                                 words[*at]);
        used = used < sizeof(list) ? used : sizeof(list) - 1;
    }
    const char *near = rw_word_nearest(word, words, n);
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   near ? "unknown %s '%s'; the nearest is '%s'"
                        : "unknown %s '%s'; expected one of: %s",
                   kind, word, near ? near : list);
}

static int find_suite(struct rw_ctx *ctx, const char *bench, const char *name,
                      const struct rw_bench_suite **out)
{
    const char *words[MOST_SUITES];
    int n = 0, at = 0;
    for (; n < MOST_SUITES && suite_at(bench, n); n++)
        words[n] = suite_at(bench, n)->name;
    RW_TRY(rw_bench_find_word(ctx, "suite", name, words, n, &at));
    *out = suite_at(bench, at);
    return RW_OK;
}

uint32_t rw_bench_number(const struct rw_bench *bench, uint32_t option, uint32_t own,
                         uint32_t quick)
{
    return option ? option : bench->options->quick ? quick : own;
}

/* ---- rows ---- */

int rw_bench_send(struct rw_bench *bench, const char *table, const struct rw_bench_line *line)
{
    const struct rw_bench_row row = {bench->name, table, line->n, line->field};
    if (bench->row(bench->user, &row) != 0)
        return rw_fail(bench->ctx, RW_ERR_INTERRUPTED, "bench '%s' was stopped", bench->name);
    return RW_OK;
}

static void add(struct rw_bench_line *line, struct rw_bench_field field)
{
    if (line->n < RW_BENCH_MOST_FIELDS)
        line->field[line->n++] = field;
}

void rw_bench_add_text(struct rw_bench_line *line, const char *name, const char *text)
{
    add(line, (struct rw_bench_field){.name = name, .kind = RW_BENCH_TEXT, .text = text});
}

void rw_bench_add_integer(struct rw_bench_line *line, const char *name, double number)
{
    add(line, (struct rw_bench_field){.name = name, .kind = RW_BENCH_INTEGER, .number = number});
}

void rw_bench_add_real(struct rw_bench_line *line, const char *name, double number, int decimals)
{
    if (isnan(number))
        rw_bench_add_none(line, name);
    else
        add(line, (struct rw_bench_field){
                      .name = name, .kind = RW_BENCH_REAL, .number = number, .decimals = decimals});
}

void rw_bench_add_none(struct rw_bench_line *line, const char *name)
{
    add(line, (struct rw_bench_field){.name = name, .kind = RW_BENCH_NONE});
}

int rw_bench_bar(struct rw_bench *bench, const struct rw_bench_bar *bar)
{
    struct rw_bench_line line = {.n = 0};
    if (isnan(bar->figure))
        return RW_OK;
    const int met = bar->at_most ? bar->figure <= bar->must : bar->figure >= bar->must;
    rw_bench_add_text(&line, "what", bar->what);
    rw_bench_add_real(&line, "must", bar->must, 3);
    rw_bench_add_real(&line, "aim", bar->aim, 3);
    rw_bench_add_real(&line, "figure", bar->figure, 3);
    rw_bench_add_text(&line, "met", met ? "yes" : "no");
    return rw_bench_send(bench, "bars", &line);
}

/* ---- the scratch file ---- */

/* A name that nobody can foresee. */
static int open_scratch(struct rw_bench *bench)
{
    const char *folder = getenv("TMPDIR");
    char path[4096];
    uint64_t word = 0;
    if (getentropy(&word, sizeof(word)) != 0)
        return rw_fail_io(bench->ctx, errno, "cannot name a scratch file");
    const int n = snprintf(path, sizeof(path), "%s/rankwood-bench-%016llx",
                           folder && *folder ? folder : "/tmp", (unsigned long long)word);
    if (n < 0 || (size_t)n >= sizeof(path))
        return rw_fail(bench->ctx, RW_ERR_ARGUMENT, "the name of TMPDIR is too long");
    return rw_out_file_open(bench->ctx, &bench->scratch, path);
}

/* ---- times ---- */

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void rw_bench_spread(double *ms, int n, struct rw_bench_times *out)
{
    qsort(ms, (size_t)n, sizeof(*ms), by_size);
    *out = (struct rw_bench_times){(ms[(n - 1) / 2] + ms[n / 2]) / 2.0, ms[0], ms[n - 1]};
}

double rw_bench_median(const void *record, size_t size, size_t offset, int n)
{
    double figure[RW_BENCH_MOST_TREES];
    struct rw_bench_times times;
    for (int i = 0; i < n; i++)
        memcpy(&figure[i], (const char *)record + (size_t)i * size + offset, sizeof(figure[i]));
    rw_bench_spread(figure, n, &times);
    return times.median_ms;
}

/* ---- trainings, loading, scores ---- */

/* A parameter that the suite does not take has no effect. */
static int check_params(struct rw_bench *bench)
{
    const struct rw_params *params = bench->options->params;
    char why[80];
    snprintf(why, sizeof(why), "in '%s'", bench->suite->name);
    for (int i = 0; params && bench->suite->params && rw_param_info(i); i++) {
        const char *name = rw_param_info(i)->name;
        char word[64];
        snprintf(word, sizeof(word), " %s ", name);
        if (!strstr(bench->suite->params, word))
            RW_TRY(rw_params_no_effect(bench->ctx, params, name, why));
    }
    return RW_OK;
}

/* Options are checked before data is made. */
static int check_options(struct rw_bench *bench, const char *name)
{
    const struct rw_bench_options *o = bench->options;
    struct rw_ctx *ctx = bench->ctx;
    if (o->suite)
        RW_TRY(find_suite(ctx, name, o->suite, &bench->suite));
    else
        bench->suite = suite_at(name, 0);
    bench->name = bench->suite->name;
    if (o->shape) {
        struct rw_synth_shape *shape;
        RW_TRY(rw_synth_shape_new(ctx, o->shape, &shape));
        rw_mem_free(shape);
    }
    if (o->n_ranks && !bench->suite->has_ranks)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'ranks' has no effect in '%s'", bench->name);
    if (o->n_ranks > RW_MAX_RANKS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u ranks; expected 1 to %d", o->n_ranks,
                       RW_MAX_RANKS);
    RW_TRY(check_params(bench));
    if (!o->params)
        return RW_OK;
    struct rw_facts facts = RW_FACTS_UNKNOWN;
    facts.grows = 1;
    RW_TRY(rw_params_judge(ctx, o->params, &facts));
    return rw_params_check(ctx, o->params);
}

/* The device's name, for a GPU with its model: a missing one is an error now, but where
 * opening it is measured. */
static int name_device(struct rw_bench *bench, char *name, size_t size)
{
    const struct rw_synth_options tiny = {.shape = "letor", .n_queries = 1, .seed = 1};
    const struct rw_bench_setting settings[] = {{"leaves", "7"}, {"rounds", "1"}};
    struct rw_params *params;
    struct rw_bench_training plan;
    struct rw_dataset *dataset = NULL;
    int status;
    RW_TRY(rw_bench_params_new(bench, settings, 2, 1, &params));
    snprintf(name, size, "%s", rw_params_get(params, "device"));
    if (strncmp(name, "cuda", 4) == 0 && !bench->suite->is_cold) {
        RW_TRY_OUT(rw_synth(bench->ctx, &tiny, &dataset));
        RW_TRY_OUT(rw_bench_plan_training(bench, params, dataset, &plan));
        snprintf(name, size, "%s", plan.device);
    }
    status = RW_OK;
out:
    rw_dataset_free(dataset);
    rw_params_free(params);
    return status;
}

static int run_suite(struct rw_bench *bench, int on_cpu)
{
    const struct rw_params *params = bench->options->params;
    struct rw_bench_line line = {.n = 0};
    char device[160] = "cpu";
    if (params && rw_params_is_set(params, "threads"))
        RW_TRY(rw_ctx_set_threads(bench->ctx, params->threads));
    if (!on_cpu)
        RW_TRY(name_device(bench, device, sizeof(device)));
    if (bench->suite->writes)
        RW_TRY(open_scratch(bench));
    rw_bench_add_text(&line, "device", device);
    rw_bench_add_integer(&line, "threads", bench->ctx->n_threads);
    rw_bench_add_integer(&line, "data_seed", (double)bench->options->seed);
    if (on_cpu)
        rw_bench_add_text(&line, "instructions", rw_isa_name(rw_isa()));
    int status = rw_bench_send(bench, "device", &line);
    if (status >= 0)
        status = bench->suite->run(bench);
    rw_out_file_abandon(&bench->scratch);
    return status;
}

static int run(struct rw_ctx *ctx, const char *name, const struct rw_bench_options *options,
               rw_bench_row_fn row, void *user)
{
    RW_DEFAULT_FPENV;
    struct rw_bench bench = {.ctx = ctx, .options = options, .row = row, .user = user};
    RW_TRY(check_options(&bench, name));
    return run_suite(&bench, strcmp(name, "train") != 0);
}

int rw_bench_train(struct rw_ctx *ctx, const struct rw_bench_options *options, rw_bench_row_fn row,
                   void *user)
{
    return run(ctx, "train", options, row, user);
}

int rw_bench_load(struct rw_ctx *ctx, const struct rw_bench_options *options, rw_bench_row_fn row,
                  void *user)
{
    return run(ctx, "load", options, row, user);
}

int rw_bench_predict(struct rw_ctx *ctx, const struct rw_bench_options *options,
                     rw_bench_row_fn row, void *user)
{
    return run(ctx, "predict", options, row, user);
}
