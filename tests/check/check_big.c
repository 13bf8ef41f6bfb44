/* check_big [--docs N] [--shape NAME | --codes FEATURES] [--trees N] [--leaves N] [--seed N]
 *           [--set NAME VALUE]... [DEVICE [DEVICE]]
 *
 * Tests that all devices give identical models when numbers exceed 32 bits. Trains on made data
 * on two devices (default cpu cuda; or on one) and compares model files and training metrics.
 * The default is more than 2^25 documents and more than 2^32 codes, which need about 30 GB in
 * the host and 15 on the GPU, so this check is run by hand. --codes makes codes instead of
 * values, so that the largest possible set fits into memory: --docs 2147483647 --codes 4. Every
 * parameter of training can be set. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "bench/bench.h"
#include "params/params.h"
#include "synth/synth.h"
#include "rankwood.h"

enum { SKIPPED = 77, MOST_SET = 16, MOST_VALUES = 64, MOST_FEATURES = 65535 };
static const uint32_t many_docs = 33600000;
static const uint64_t many_codes = (uint64_t)1 << 32;

struct options {
    uint32_t docs;
    uint32_t n_code_features; /* 0: values, of a shape */
    const char *shape, *device[2];
    int n_devices;
    const char *trees, *leaves;
    uint64_t seed;
    const char *set[MOST_SET][2];
    int n_set;
};

/* The training data. */
struct data {
    struct rw_dataset *set;   /* binned's documents where that is */
    struct rw_binned *binned; /* NULL: the set has values */
};

/* The results of a training. */
struct outcome {
    char *model; /* the file's text; owned */
    size_t bytes;
    double value[MOST_VALUES]; /* training metrics, round by round */
    int n_values, n_leaves;
    unsigned n_features; /* that the engine took */
};

static int parse(int argc, char **argv, struct options *o)
{
    int n_named = 0;
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (argv[i][0] != '-') {
            if (n_named == 2)
                return -1;
            o->device[n_named++] = argv[i];
        } else if (!value) {
            return -1;
        } else if (strcmp(argv[i], "--docs") == 0 && ++i) {
            o->docs = (uint32_t)strtoul(value, NULL, 10);
        } else if (strcmp(argv[i], "--shape") == 0 && ++i) {
            o->shape = value;
        } else if (strcmp(argv[i], "--codes") == 0 && ++i) {
            o->n_code_features = (uint32_t)strtoul(value, NULL, 10);
            if (o->n_code_features < 1 || o->n_code_features > MOST_FEATURES)
                return -1;
        } else if (strcmp(argv[i], "--trees") == 0 && ++i) {
            o->trees = value;
        } else if (strcmp(argv[i], "--leaves") == 0 && ++i) {
            o->leaves = value;
        } else if (strcmp(argv[i], "--seed") == 0 && ++i) {
            o->seed = strtoull(value, NULL, 10);
        } else if (strcmp(argv[i], "--set") == 0 && i + 2 < argc && o->n_set < MOST_SET) {
            o->set[o->n_set][0] = argv[i + 1];
            o->set[o->n_set++][1] = argv[i + 2];
            i += 2;
        } else {
            return -1;
        }
    }
    o->n_devices = n_named ? n_named : 2;
    return o->docs == 0 ? -1 : 0;
}

/* Queries until there are that many documents. */
static int make_values(struct rw_ctx *ctx, const struct options *o, struct rw_dataset **out)
{
    struct rw_synth_options options = {.shape = o->shape, .n_queries = 1, .seed = o->seed};
    struct rw_synth_shape *shape;
    RW_TRY(rw_synth_shape_new(ctx, options.shape, &shape));
    uint64_t n = rw_synth_query_docs(shape, o->seed, 0);
    for (; n < o->docs && options.n_queries < RW_SYNTH_MAX_QUERIES; options.n_queries++)
        n += rw_synth_query_docs(shape, o->seed, options.n_queries);
    rw_mem_free(shape);
    return rw_synth(ctx, &options, NULL, out);
}

static int make_codes(struct rw_ctx *ctx, const struct options *o, struct rw_binned **out)
{
    const struct rw_bench_codes codes = {
        .n_docs = o->docs, .n_features = o->n_code_features, .seed = o->seed};
    struct rw_params *params;
    RW_TRY(rw_params_new(ctx, &params));
    const struct rw_cut_rule rule = {.bins = params->bins,
                                     .absent_missing = params->absent,
                                     .min_docs = (uint32_t)params->min_docs};
    rw_params_free(params);
    return rw_bench_codes_make(ctx, &codes, &rule, out);
}

static int make(struct rw_ctx *ctx, const struct options *o, struct data *data)
{
    const double start = rw_clock_ms();
    RW_TRY(o->n_code_features ? make_codes(ctx, o, &data->binned)
                              : make_values(ctx, o, &data->set));
    if (data->binned)
        data->set = rw_binned_documents(data->binned);
    printf("made %u documents in %u queries: %.1f s\n", rw_dataset_n_docs(data->set),
           rw_dataset_n_queries(data->set), (rw_clock_ms() - start) / 1000);
    fflush(stdout);
    return RW_OK;
}

static void drop(struct data *data)
{
    if (data->binned)
        rw_binned_free(data->binned);
    else
        rw_dataset_free(data->set);
}

/* ---- a training ---- */

static void on_log(void *user, enum rw_log_level level, const char *line)
{
    struct outcome *outcome = user;
    unsigned n;
    char name[16];
    if (level == RW_LOG_DEBUG && sscanf(line, "engine %15[a-z]: %u features", name, &n) == 2)
        outcome->n_features = n;
}

static int on_round(void *user, const struct rw_round *round)
{
    struct outcome *outcome = user;
    printf("  tree %d of %d leaves: %.2f s\n", round->round, round->n_leaves, round->ms / 1000);
    fflush(stdout);
    outcome->n_leaves += round->n_leaves;
    for (int i = 0; i < round->n_metrics && outcome->n_values < MOST_VALUES; i++)
        outcome->value[outcome->n_values++] = round->metrics[i].value;
    return 0;
}

static void on_stage(void *user, const char *stage, double ms, size_t peak_bytes)
{
    (void)user;
    printf("  %s: %.2f s, peak memory of the host %.1f GB\n", stage, ms / 1000,
           (double)peak_bytes / 1e9);
    fflush(stdout);
}

/* The whole file; 0, or -1. */
static int slurp(const char *path, struct outcome *outcome)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return -1;
    int good = fseek(file, 0, SEEK_END) == 0;
    const long bytes = good ? ftell(file) : -1;
    good = bytes > 0 && fseek(file, 0, SEEK_SET) == 0;
    outcome->model = good ? malloc((size_t)bytes) : NULL;
    outcome->bytes = good ? (size_t)bytes : 0;
    good = outcome->model && fread(outcome->model, 1, outcome->bytes, file) == outcome->bytes;
    return fclose(file) == 0 && good ? 0 : -1;
}

static int keep_text(struct rw_ctx *ctx, const struct rw_model *model, struct outcome *outcome)
{
    char path[256];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof(path), "%.200s/check_big.XXXXXX", folder ? folder : "/tmp");
    const int file = mkstemp(path);
    if (file < 0)
        return rw_fail(ctx, RW_ERR_IO, "no temporary file in '%.200s'", folder ? folder : "/tmp");
    int status = rw_model_write(ctx, model, path);
    if (status >= 0 && slurp(path, outcome) < 0)
        status = rw_fail(ctx, RW_ERR_IO, "'%s' cannot be read back", path);
    remove(path);
    return status;
}

static int set_params(struct rw_ctx *ctx, const struct options *o, const char *device,
                      struct rw_params *params)
{
    RW_TRY(rw_params_set(ctx, params, "device", device));
    RW_TRY(rw_params_set(ctx, params, "rounds", o->trees));
    RW_TRY(rw_params_set(ctx, params, "leaves", o->leaves));
    RW_TRY(rw_params_set(ctx, params, "train-metric", "on"));
    for (int i = 0; i < o->n_set; i++)
        RW_TRY(rw_params_set(ctx, params, o->set[i][0], o->set[i][1]));
    return RW_OK;
}

static int train(struct rw_ctx *ctx, const struct options *o, const char *device,
                 const struct data *data, struct outcome *outcome)
{
    const struct rw_train_hooks hooks = {
        .user = outcome, .on_round = on_round, .on_stage = on_stage};
    struct rw_params *params;
    struct rw_model *model = NULL;
    *outcome = (struct outcome){.model = NULL};
    RW_TRY(rw_params_new(ctx, &params));
    int status = set_params(ctx, o, device, params);
    rw_ctx_set_log(ctx, on_log, outcome);
    if (status >= 0)
        status = data->binned
                     ? rw_train_on(ctx, params,
                                   &(struct rw_training){.binned = data->binned, .hooks = &hooks},
                                   &model)
                     : rw_train(ctx, params, data->set, NULL, 0, &hooks, &model);
    if (status >= 0)
        status = keep_text(ctx, model, outcome);
    rw_ctx_set_log(ctx, NULL, NULL);
    rw_model_free(model);
    rw_params_free(params);
    return status;
}

/* 1 if a device is missing. */
static int is_missing(struct rw_ctx *ctx, const char *device)
{
    const float value[2] = {0, 1};
    const uint32_t offset[2] = {0, 2};
    struct rw_dataset *set = NULL;
    struct rw_params *params = NULL;
    struct rw_plan plan;
    int status = rw_dataset_from_memory(ctx, value, value, offset, 2, 1, 1, 1, &set);
    if (status >= 0)
        status = rw_params_new(ctx, &params);
    if (status >= 0)
        status = rw_params_set(ctx, params, "device", device);
    if (status >= 0)
        status = rw_train_plan(ctx, params, &(struct rw_training){.train = set}, &plan);
    rw_params_free(params);
    rw_dataset_free(set);
    return status == RW_ERR_UNSUPPORTED && strncmp(device, "cuda", 4) == 0;
}

/* ---- the program ---- */

static int differ(const struct outcome *a, const struct outcome *b)
{
    size_t at = 0;
    while (at < a->bytes && at < b->bytes && a->model[at] == b->model[at])
        at++;
    if (at < a->bytes || at < b->bytes) {
        printf("not ok: models of %zu and %zu bytes differ from byte %zu on\n", a->bytes, b->bytes,
               at);
        return 1;
    }
    if (a->n_values == 0 || a->n_values != b->n_values ||
        memcmp(a->value, b->value, (size_t)a->n_values * sizeof(a->value[0])) != 0) {
        printf("not ok: training metrics differ: %d and %d of them, the first %.17g and %.17g\n",
               a->n_values, b->n_values, a->value[0], b->value[0]);
        return 1;
    }
    return 0;
}

static int run(struct rw_ctx *ctx, const struct options *o, const struct data *data)
{
    struct outcome outcome[2] = {{.model = NULL}, {.model = NULL}};
    int bad = 0;
    for (int i = 0; i < o->n_devices && !bad; i++) {
        const double start = rw_clock_ms();
        printf("%s:\n", o->device[i]);
        if (train(ctx, o, o->device[i], data, &outcome[i]) < 0) {
            printf("not ok: %s: %s\n", o->device[i], rw_last_error(ctx));
            bad = 1;
            continue;
        }
        const uint64_t n_codes = (uint64_t)outcome[i].n_features * rw_dataset_n_docs(data->set);
        printf("  %.1f s: %d leaves, a model of %zu bytes, %u features: %llu codes\n",
               (rw_clock_ms() - start) / 1000, outcome[i].n_leaves, outcome[i].bytes,
               outcome[i].n_features, (unsigned long long)n_codes);
        if (outcome[i].n_features == 0 || outcome[i].n_leaves < 4 ||
            (o->docs >= many_docs && !data->binned && n_codes <= many_codes)) {
            printf("not ok: %s: the data is too small for what is to be seen\n", o->device[i]);
            bad = 1;
        }
    }
    bad = bad || (o->n_devices == 2 && differ(&outcome[0], &outcome[1]));
    free(outcome[0].model);
    free(outcome[1].model);
    return bad;
}

int main(int argc, char **argv)
{
    struct options o = {.docs = many_docs,
                        .shape = "mslr30k",
                        .device = {"cpu", "cuda"},
                        .trees = "2",
                        .leaves = "15",
                        .seed = 1};
    struct rw_ctx *ctx;
    struct data data = {NULL, NULL};
    if (parse(argc, argv, &o) < 0) {
        fprintf(stderr,
                "usage: %s [--docs N] [--shape NAME | --codes FEATURES] [--trees N] [--leaves N] "
                "[--seed N] [--set NAME VALUE]... [DEVICE [DEVICE]]\n",
                argv[0]);
        return 2;
    }
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    for (int i = 0; i < o.n_devices; i++) {
        if (is_missing(ctx, o.device[i])) {
            const char *why = rw_last_error(ctx); /* its first line; the rest is a hint */
            printf("skip %s: %.*s\n0 passed, 0 failed, 1 skipped\n", o.device[i],
                   (int)strcspn(why, "\n"), why);
            rw_ctx_free(ctx);
            return SKIPPED;
        }
    }
    int bad = make(ctx, &o, &data) < 0;
    if (bad)
        printf("not ok: making the data: %s\n", rw_last_error(ctx));
    else
        bad = run(ctx, &o, &data);
    drop(&data);
    rw_ctx_free(ctx);
    printf("%d passed, %d failed, 0 skipped\n", !bad, bad);
    return bad;
}
