/* Implements rw_bench, which runs one suite of `rankwood bench`, and the functions that suites
 * share: they make data and parameters, time trainings, and send rows to the caller. The suites are
 * in suite_trees.c, suite_codes.c, suite_load.c and suite_predict.c. */
#include "bench/bench.h"

#include <ctype.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/system.h"
#include "gpu/device/device.h"
#include "synth/synth.h"

/* ---- names ---- */

/* The suites. The first suite of each bench is its default. */
static const struct rw_bench_suite suites[] = {
    {"train", "trees", .run = rw_bench_trees},
    {"train", "grow", .run = rw_bench_growth},
    {"train", "text", rw_bench_text, .writes = 1, .is_cold = 1},
    {"train", "far", .run = rw_bench_far},
    {"train", "workers", rw_bench_workers, .former = "ranks", .has_workers = 1},
    {"load", "load", rw_bench_loading, .writes = 1, .params = " bins threads "},
    {"predict", "predict", rw_bench_predicting, .params = " threads "},
};
enum { N_SUITES = sizeof(suites) / sizeof(suites[0]) };

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

/* Finds a suite by name. name: NULL for the bench's first. */
static int find_suite(struct rw_ctx *ctx, const char *bench, const char *name,
                      const struct rw_bench_suite **out)
{
    const struct rw_bench_suite *own[N_SUITES];
    const char *words[N_SUITES];
    int n = 0, at = 0;
    for (int i = 0; i < N_SUITES; i++) {
        if (strcmp(suites[i].bench, bench) != 0)
            continue;
        own[n] = &suites[i];
        words[n++] = suites[i].name;
        if (name && suites[i].former && strcmp(name, suites[i].former) == 0)
            name = suites[i].name;
    }
    if (n == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown bench '%s'", bench);
    if (name)
        RW_TRY(rw_bench_find_word(ctx, "suite", name, words, n, &at));
    *out = own[at];
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

static void add_training(struct rw_bench_line *line, const struct rw_bench_training *training)
{
    rw_bench_add_real(line, "mean_leaves", training->mean_leaves, 1);
    rw_bench_add_integer(line, "first_tree", training->first);
    rw_bench_add_integer(line, "last_tree", training->grown.n);
    rw_bench_add_real(line, "median_ms", training->median_ms, 3);
    rw_bench_add_real(line, "least_ms", training->least_ms, 3);
    rw_bench_add_real(line, "q1_ms", training->q1_ms, 3);
    rw_bench_add_real(line, "q3_ms", training->q3_ms, 3);
    rw_bench_add_real(line, "most_ms", training->most_ms, 3);
}

/* Adds one field of rw_bench_send_row. The next of `args` is its value. */
static void add_next(struct rw_bench_line *line, const char *name, char kind, va_list *args)
{
    const char *text = NULL;
    double number = NAN;
    switch (kind) {
    case 's':
    case 'S':
        text = va_arg(*args, const char *);
        break;
    case 'b':
        text = va_arg(*args, int) ? "yes" : "no";
        break;
    case 'i':
    case 'I':
        number = va_arg(*args, int);
        break;
    case 'u':
        number = va_arg(*args, unsigned);
        break;
    case 'l':
    case 'L':
        number = (double)va_arg(*args, uint64_t);
        break;
    default:
        number = va_arg(*args, double);
    }
    const int is_known = text ? kind != 'S' || *text : kind == 'I' || kind == 'L' ? number > 0 : 1;
    if (!is_known || (!text && isnan(number)))
        rw_bench_add_none(line, name);
    else if (text)
        rw_bench_add_text(line, name, text);
    else if (isdigit((unsigned char)kind))
        rw_bench_add_real(line, name, number, kind - '0');
    else
        rw_bench_add_integer(line, name, number);
}

int rw_bench_send_row(struct rw_bench *bench, const char *table, const char *fields, ...)
{
    struct rw_bench_line line = {.n = 0};
    char names[1024], *rest = names, *name;
    va_list args;
    snprintf(names, sizeof(names), "%s", fields);
    va_start(args, fields);
    while ((name = strsep(&rest, " ")) != NULL) {
        char *kind = strchr(name, ':');
        *kind++ = 0;
        if (*kind == 't')
            add_training(&line, va_arg(args, const struct rw_bench_training *));
        else
            add_next(&line, name, *kind, &args);
    }
    va_end(args);
    return rw_bench_send(bench, table, &line);
}

int rw_bench_bar(struct rw_bench *bench, const struct rw_bench_bar *bar)
{
    if (isnan(bar->figure))
        return RW_OK;
    return rw_bench_send_row(bench, "bars", "what:s must:3 aim:3 figure:3 met:b", bar->what,
                             bar->must, bar->aim, bar->figure,
                             bar->at_most ? bar->figure <= bar->must : bar->figure >= bar->must);
}

/* ---- the scratch file ---- */

/* Opens a scratch file with a random name, which other programs cannot predict. */
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

void rw_bench_spread(double *ms, int n, struct rw_bench_times *out)
{
    rw_sort_doubles(ms, (size_t)n);
    *out = (struct rw_bench_times){(ms[(n - 1) / 2] + ms[n / 2]) / 2.0, ms[0], ms[n - 1]};
}

/* ---- running a suite ---- */

/* Reports the parameters that the suite ignores (rw_params_no_effect). */
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

/* Checks all options, before any data is made. */
static int check_options(struct rw_bench *bench, const char *name)
{
    const struct rw_bench_options *o = bench->options;
    struct rw_ctx *ctx = bench->ctx;
    if (rw_n_workers(ctx) > 1)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "bench works with one worker only, not with %d",
                       rw_n_workers(ctx));
    RW_TRY(find_suite(ctx, name, o->suite, &bench->suite));
    bench->name = bench->suite->name;
    if (o->shape) {
        struct rw_synth_shape *shape;
        RW_TRY(rw_synth_shape_new(ctx, o->shape, &shape));
        rw_mem_free(shape);
    }
    if (o->n_workers && !bench->suite->has_workers)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'workers' has no effect in '%s'", bench->name);
    if (o->n_workers > RW_MAX_WORKERS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u workers; expected 1 to %d", o->n_workers,
                       RW_MAX_WORKERS);
    RW_TRY(check_params(bench));
    if (!o->params)
        return RW_OK;
    struct rw_facts facts = RW_FACTS_UNKNOWN;
    facts.grows = 1;
    RW_TRY(rw_params_judge(ctx, o->params, &facts));
    return rw_params_check(ctx, o->params, RW_PARAMS_TRAIN);
}

/* Writes the name of the device. For a GPU, the name includes the GPU's model, and the function
 * fails if the GPU is missing. Suites that measure the time to open the device get only the value
 * of parameter `device`, unchecked. */
static int name_device(struct rw_bench *bench, char *name, size_t size)
{
    const struct rw_bench_setting settings[] = {{"leaves", "7"}, {"rounds", "1"}};
    struct rw_params *params = NULL;
    struct rw_plan plan;
    RW_TRY(rw_bench_params_new(bench, settings, 2, 1, &params));
    snprintf(name, size, "%s", params->device);
    if (strncmp(name, "cuda", 4) == 0 && !bench->suite->is_cold) {
        RW_TRY(rw_bench_data_make(bench, "letor", 1));
        RW_TRY(rw_bench_plan(bench, params, bench->made.dataset, &plan));
        snprintf(name, size, "%s", plan.device);
    }
    return RW_OK;
}

static int run_suite(struct rw_bench *bench, int on_cpu)
{
    const struct rw_params *params = bench->options->params;
    char device[160] = "cpu";
    if (params && rw_params_origin(params, "threads") != RW_PARAM_DEFAULT)
        RW_TRY(rw_ctx_set_threads(bench->ctx, params->threads));
    if (!on_cpu)
        RW_TRY(name_device(bench, device, sizeof(device)));
    if (bench->suite->writes)
        RW_TRY(open_scratch(bench));
    RW_TRY(rw_bench_send_row(
        bench, "device",
        on_cpu ? "device:s threads:i data_seed:l instructions:s" : "device:s threads:i data_seed:l",
        device, bench->ctx->n_threads, bench->options->seed, rw_isa_name(rw_isa())));
    return bench->suite->run(bench);
}

int rw_bench(struct rw_ctx *ctx, const char *name, const struct rw_bench_options *options,
             rw_bench_row_fn row, void *user)
{
    RW_DEFAULT_FPENV;
    struct rw_bench bench = {.ctx = ctx,
                             .options = options,
                             .row = row,
                             .user = user,
                             .shape = options->shape ? options->shape : "mslr30k",
                             .has_default_data =
                                 !options->quick && !options->shape && !options->n_queries};
    RW_TRY(check_options(&bench, name));
    const int status = run_suite(&bench, strcmp(name, "train") != 0);
    rw_out_file_abandon(&bench.scratch);
    rw_dataset_free(bench.made.dataset);
    for (int i = 0; i < bench.made.n_params; i++)
        rw_params_free(bench.made.params[i]);
    return status;
}

/* ---- data ---- */

int rw_bench_data_make(struct rw_bench *bench, const char *shape, uint32_t n_queries)
{
    const struct rw_synth_options options = {
        .shape = shape, .n_queries = n_queries, .seed = bench->options->seed};
    if (bench->made.dataset && bench->made.n_queries == n_queries &&
        strcmp(bench->made.shape, shape) == 0)
        return RW_OK;
    rw_dataset_free(bench->made.dataset);
    bench->made.dataset = NULL;
    bench->made.shape = shape;
    bench->made.n_queries = n_queries;
    rw_log(bench->ctx, RW_LOG_NOTE, "generating %u queries of shape %s", n_queries, shape);
    return rw_synth(bench->ctx, &options, NULL, &bench->made.dataset);
}

int rw_bench_write_text(struct rw_bench *bench, const char *shape, uint32_t n_queries,
                        const char *path, double *n_bytes)
{
    const struct rw_synth_options options = {
        .shape = shape, .n_queries = n_queries, .seed = bench->options->seed};
    rw_log(bench->ctx, RW_LOG_NOTE, "writing %u queries of shape %s to %s", n_queries, shape, path);
    RW_TRY(rw_synth(bench->ctx, &options, path, NULL));
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

int rw_bench_queries_of(struct rw_bench *bench, const char *shape, uint32_t n_docs,
                        uint32_t *n_queries)
{
    RW_FREED struct rw_synth_shape *made = NULL;
    uint64_t n = 0;
    RW_TRY(rw_synth_shape_new(bench->ctx, shape, &made));
    *n_queries = 0;
    while (n < n_docs && *n_queries < RW_SYNTH_MAX_QUERIES)
        n += rw_synth_query_docs(made, bench->options->seed, (*n_queries)++);
    return RW_OK;
}

/* ---- parameters ---- */

int rw_bench_is_given(const struct rw_bench *bench, const char *name)
{
    const struct rw_params *given = bench->options->params;
    return given && rw_params_origin(given, name) != RW_PARAM_DEFAULT;
}

/* Returns 1 if the user set a parameter. `rounds=auto` does not count, because the memory for each
 * round's figures is allocated in advance. */
static int is_set(const struct rw_params *user, const char *name)
{
    return user && rw_params_origin(user, name) != RW_PARAM_DEFAULT &&
           !(strcmp(name, "rounds") == 0 && user->rounds == RW_AUTO);
}

int rw_bench_params_new(struct rw_bench *bench, const struct rw_bench_setting *setting,
                        int n_settings, int given, struct rw_params **out)
{
    enum { MOST = sizeof(bench->made.params) / sizeof(bench->made.params[0]) };
    struct rw_ctx *ctx = bench->ctx;
    struct rw_params *params, *user = given ? bench->options->params : NULL;
    const int levels = user && user->grow != RW_GROW_LEAVES;
    if (bench->made.n_params == MOST)
        return rw_fail(ctx, RW_ERR_INTERNAL, "a suite has more than %d sets of parameters", MOST);
    RW_TRY(rw_params_new(ctx, &params));
    bench->made.params[bench->made.n_params++] = *out = params;
    rw_params_on_no_effect(params,
                           RW_NO_EFFECT_SILENT); /* the caller's parameters have been checked */
    /* Trees are timed on all features, without noise, and with the same rate for data of any size. */
    RW_TRY(rw_params_set(ctx, params, "sample-features", "1"));
    RW_TRY(rw_params_set(ctx, params, "gain-noise", "0"));
    RW_TRY(rw_params_set(ctx, params, "rate", "0.1"));
    for (int i = 0; i < n_settings; i++) {
        if (!is_set(user, setting[i].name) && !(levels && strcmp(setting[i].name, "leaves") == 0))
            RW_TRY(rw_params_set(ctx, params, setting[i].name, setting[i].value));
    }
    for (int i = 0; user && rw_param_info(i); i++) {
        const char *name = rw_param_info(i)->name;
        if (is_set(user, name))
            RW_TRY(rw_params_set(ctx, params, name, rw_params_get(user, name)));
    }
    return RW_OK;
}

int rw_bench_send_params(struct rw_bench *bench, struct rw_params *const *params, int n)
{
    for (int i = 0; rw_param_info(i); i++) {
        const struct rw_param_info *info = rw_param_info(i);
        const char *name = info->name, *value = rw_params_get(params[0], name);
        for (int k = 1; k < n; k++) {
            if (strcmp(value, rw_params_get(params[k], name)) != 0) {
                value = "by row";
                break;
            }
        }
        if (!(info->roles & ~(RW_ROLE_WEIGHTS | RW_ROLE_TABLE | RW_ROLE_EVALUATION)) ||
            (info->roles & RW_ROLE_VALIDATION) || !*value) /* not used with synthetic data */
            continue;
        RW_TRY(rw_bench_send_row(bench, "parameters", "name:s value:s", name, value));
    }
    return RW_OK;
}

/* ---- times ---- */

static int on_round(void *user, const struct rw_round *round)
{
    struct rw_bench_grown *grown = user;
    struct rw_bench_tree *tree = &grown->tree[grown->n++];
    uint64_t sent = round->bytes_sent;
    *tree = (struct rw_bench_tree){.ms = rw_clock_ms() - grown->since,
                                   .leaves = round->n_leaves,
                                   .histograms_ms = round->ms_histograms,
                                   .splits_ms = round->ms_splits,
                                   .partition_ms = round->ms_partition,
                                   .far_hist_ms = round->far_hist_ms,
                                   .far_hist_bytes = (double)round->far_hist_bytes,
                                   .far_bytes = (double)round->far_bytes};
    tree->other_ms = tree->ms - tree->histograms_ms - tree->splits_ms - tree->partition_ms;
    if (rw_comm_sum(grown->ctx, &sent, 1) < 0)
        return 1;
    tree->sent_bytes = (double)sent;
    /* The first tree tries several methods and frees their memory, so memory is read after the
     * second. */
    if (grown->gpu >= 0 && (round->round == 2 || round->n_rounds == 1)) {
        const uint64_t left = rw_device_free_bytes(grown->gpu);
        grown->device_bytes = grown->free_before > left ? grown->free_before - left : 0;
    }
    grown->since = rw_clock_ms();
    return 0;
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    struct rw_bench_grown *grown = user;
    (void)peak_bytes;
    if (strcmp(stage, "cuts and codes") == 0) {
        grown->load_ms = ms;
        grown->since = rw_clock_ms();
    } else if (strcmp(stage, "rounds") == 0) {
        grown->rounds_ms = ms;
    }
}

int rw_bench_grow(struct rw_ctx *ctx, const struct rw_params *params, struct rw_training training,
                  struct rw_bench_grown *out, struct rw_model **model)
{
    const struct rw_train_hooks hooks = {.user = out, .on_round = on_round, .on_stage = on_stage};
    out->ctx = ctx;
    RW_TRY(RW_NEW(ctx, out->tree, params->rounds));
    RW_TRY(RW_NEW(ctx, out->sorted, params->rounds));
    if (out->gpu >= 0)
        out->free_before = rw_device_free_bytes(out->gpu);
    const double start = rw_clock_ms();
    out->since = start;
    training.hooks = &hooks;
    RW_TRY(rw_train_on(ctx, params, &training, model));
    out->total_ms = rw_clock_ms() - start;
    return RW_OK;
}

void rw_bench_grown_release(struct rw_bench_grown *grown)
{
    rw_mem_free(grown->tree);
    rw_mem_free(grown->sorted);
}

double rw_bench_median(struct rw_bench_grown *grown, size_t offset)
{
    struct rw_bench_times times;
    if (grown->n < 2)
        return NAN;
    for (int i = 1; i < grown->n; i++)
        memcpy(&grown->sorted[i - 1], (const char *)&grown->tree[i] + offset, sizeof(double));
    rw_bench_spread(grown->sorted, grown->n - 1, &times);
    return times.median_ms;
}

double rw_bench_mean_leaves(const struct rw_bench_grown *grown)
{
    double leaves = 0.0;
    for (int i = 0; i < grown->n; i++)
        leaves += grown->tree[i].leaves;
    return leaves / grown->n;
}

int rw_bench_plan(struct rw_bench *bench, struct rw_params *params,
                  const struct rw_dataset *dataset, struct rw_plan *out)
{
    *out = (struct rw_plan){.n_parts = 0};
    snprintf(out->device, sizeof(out->device), "%s", params->device);
    if (strcmp(params->device, "ref") == 0 || strcmp(params->device, "sim") == 0)
        return RW_OK; /* these devices cannot plan */
    return rw_train_plan(bench->ctx, params, &(struct rw_training){.train = dataset}, out);
}

double rw_bench_code_bytes(const struct rw_plan *plan)
{
    double bytes = 0.0;
    for (int i = 0; i < plan->n_parts; i++) {
        if (strcmp(plan->part[i].name, "codes") == 0 ||
            (plan->far_bytes && strcmp(plan->part[i].name, "column copies") == 0))
            bytes += (double)plan->part[i].bytes;
    }
    return bytes;
}
