#include "bench/bench.h"

#include <math.h>
#include <string.h>

#include "gpu/bandwidth.h"
#include "gpu/hist.h"

static const struct rw_bench_suite *const suites[] = {
    &rw_bench_weighted,
    &rw_bench_lanes,
    &rw_bench_contention,
    &rw_bench_generalized,
    &rw_bench_general,
    &rw_bench_nodes,
};
enum { N_SUITES = sizeof(suites) / sizeof(suites[0]), MOST_WORDS = 64 };

int rw_bench_suite_at(int i, const char **name, const char **about)
{
    if (i < 0 || i >= N_SUITES)
        return 0;
    *name = suites[i]->name;
    *about = suites[i]->about;
    return 1;
}

/* ---- names ---- */

/* RW_OK if `word` is one of them; else says which is nearest, or lists them. */
static int find_word(struct rw_ctx *ctx, const char *kind, const char *word,
                     const char *const *words, int n, int *at)
{
    char list[1024] = "";
    const char *nearest = NULL;
    size_t best = strlen(word) / 2 + 1;
    for (int i = 0; i < n; i++) {
        const size_t distance = rw_word_distance(word, words[i]);
        if (distance == 0) {
            *at = i;
            return RW_OK;
        }
        if (distance <= best && (!nearest || distance < best)) {
            best = distance;
            nearest = words[i];
        }
        if (strlen(list) + strlen(words[i]) + 3 < sizeof(list)) {
            strcat(list, list[0] ? ", " : "");
            strcat(list, words[i]);
        }
    }
    if (nearest)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown %s '%s'; the nearest is '%s'", kind, word,
                       nearest);
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown %s '%s'; expected one of: %s", kind, word, list);
}

static int find_suite(struct rw_ctx *ctx, const char *name, const struct rw_bench_suite **out)
{
    const char *words[N_SUITES];
    int at = 0;
    for (int i = 0; i < N_SUITES; i++)
        words[i] = suites[i]->name;
    RW_TRY(find_word(ctx, "suite", name, words, N_SUITES, &at));
    *out = suites[at];
    return RW_OK;
}

static int check_method(struct rw_ctx *ctx, const struct rw_bench_suite *suite, const char *method)
{
    const char *words[MOST_WORDS];
    int n = 0, at;
    if (!method)
        return RW_OK;
    if (suite->methods) {
        for (; suite->methods[n] && n < MOST_WORDS; n++)
            words[n] = suite->methods[n];
    } else {
        for (; rw_hist_method_at(n) && n < MOST_WORDS; n++)
            words[n] = rw_hist_method_at(n)->name;
    }
    return find_word(ctx, "method", method, words, n, &at);
}

static int check_unused(struct rw_ctx *ctx, const struct rw_bench_suite *suite,
                        const struct rw_bench_options *o)
{
    const struct {
        const char *name;
        unsigned bit;
        int given;
    } option[] = {{"method", RW_BENCH_NO_METHOD, o->method != NULL},
                  {"docs", RW_BENCH_NO_DOCS, o->n_docs != 0},
                  {"features", RW_BENCH_NO_FEATURES, o->n_features != 0},
                  {"bins", RW_BENCH_NO_BINS, o->n_bins != 0}};
    for (size_t i = 0; i < sizeof(option) / sizeof(option[0]); i++) {
        if (option[i].given && (suite->unused & option[i].bit))
            return rw_fail(ctx, RW_ERR_ARGUMENT, "option '--%s' has no effect in suite '%s'",
                           option[i].name, suite->name);
    }
    return RW_OK;
}

int rw_bench_wants(const struct rw_bench *bench, const char *method)
{
    return !bench->options->method || strcmp(bench->options->method, method) == 0;
}

uint32_t rw_bench_number(const struct rw_bench *bench, uint32_t option, uint32_t own,
                         uint32_t quick)
{
    return option ? option : bench->options->quick ? quick : own;
}

/* ---- times ---- */

int rw_bench_time(struct rw_bench *bench, int (*run)(void *user), void *user,
                  struct rw_bench_times *out)
{
    return rw_device_time(bench->ctx, bench->device, bench->n_runs, run, user, &out->median_ms,
                          &out->least_ms, &out->most_ms);
}

struct reading {
    struct rw_ctx *ctx;
    void *d_from, *d_sink;
    size_t bytes;
    const struct rw_device *device;
};

static int run_reading(void *user)
{
    const struct reading *r = user;
    if (rw_cuda_read(r->d_from, r->bytes, r->d_sink, r->device->n_multiprocessors,
                     r->device->stream) != 0)
        return rw_fail(r->ctx, RW_ERR_UNSUPPORTED, "CUDA: reading memory failed");
    return RW_OK;
}

/* GB/s of reading 1 GiB, more than any cache holds; then the row that says on what this runs. */
static int measure_reading(struct rw_bench *bench)
{
    enum { READINGS = 21 };
    struct reading r = {.ctx = bench->ctx, .bytes = (size_t)1 << 30, .device = bench->device};
    struct rw_bench_times times;
    struct rw_bench_line line = {.n = 0};
    int status;
    RW_TRY_OUT(rw_device_alloc(bench->ctx, &r.d_from, r.bytes));
    RW_TRY_OUT(rw_device_alloc(bench->ctx, &r.d_sink, sizeof(uint32_t)));
    RW_TRY_OUT(rw_device_time(bench->ctx, bench->device, READINGS, run_reading, &r,
                              &times.median_ms, &times.least_ms, &times.most_ms));
    bench->read_gb_s = (double)r.bytes / times.median_ms / 1e6;
    rw_bench_add_text(&line, "device", bench->device->name);
    rw_bench_add_integer(&line, "multiprocessors", bench->device->n_multiprocessors);
    rw_bench_add_integer(&line, "memory_bytes", (double)bench->device->memory_bytes);
    rw_bench_add_integer(&line, "l2_bytes", bench->device->l2_bytes);
    rw_bench_add_real(&line, "read_gb_s", bench->read_gb_s, 1);
    rw_bench_add_real(&line, "read_least_gb_s", (double)r.bytes / times.most_ms / 1e6, 1);
    rw_bench_add_real(&line, "read_most_gb_s", (double)r.bytes / times.least_ms / 1e6, 1);
    rw_bench_add_integer(&line, "runs", bench->n_runs);
    rw_bench_add_integer(&line, "seed", (double)bench->options->seed);
    RW_TRY_OUT(rw_bench_send(bench, "device", &line));
out:
    rw_device_free(r.d_from);
    rw_device_free(r.d_sink);
    return status;
}

/* ---- rows ---- */

int rw_bench_emit(struct rw_bench *bench, const char *table, const struct rw_bench_field *field,
                  int n_fields)
{
    const struct rw_bench_row row = {bench->suite->name, table, n_fields, field};
    if (bench->row(bench->user, &row) != 0)
        return rw_fail(bench->ctx, RW_ERR_INTERRUPTED, "bench '%s' was stopped",
                       bench->suite->name);
    return RW_OK;
}

int rw_bench_send(struct rw_bench *bench, const char *table, const struct rw_bench_line *line)
{
    return rw_bench_emit(bench, table, line->field, line->n);
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

void rw_bench_add_times(const struct rw_bench *bench, struct rw_bench_line *line,
                        const struct rw_bench_times *times, double bytes)
{
    const double gb_s = bytes / times->median_ms / 1e6;
    rw_bench_add_real(line, "median_ms", times->median_ms, 4);
    rw_bench_add_real(line, "least_ms", times->least_ms, 4);
    rw_bench_add_real(line, "most_ms", times->most_ms, 4);
    rw_bench_add_integer(line, "bytes", bytes);
    rw_bench_add_real(line, "gb_s", gb_s, 1);
    rw_bench_add_real(line, "read_share", gb_s / bench->read_gb_s, 3);
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

/* ---- the run ---- */

int rw_bench_hist(struct rw_ctx *ctx, const struct rw_bench_options *options, rw_bench_row_fn row,
                  void *user)
{
    struct rw_bench bench = {.ctx = ctx, .options = options, .row = row, .user = user};
    int status;
    RW_TRY(find_suite(ctx, options->suite, &bench.suite));
    RW_TRY(check_method(ctx, bench.suite, options->method));
    RW_TRY(check_unused(ctx, bench.suite, options));
    const int own = bench.suite->n_runs ? bench.suite->n_runs : RW_BENCH_RUNS;
    bench.n_runs = options->n_runs ? options->n_runs : options->quick ? RW_BENCH_QUICK_RUNS : own;
    RW_TRY(rw_device_open(ctx, 0, &bench.device));
    RW_TRY_OUT(measure_reading(&bench));
    RW_TRY_OUT(bench.suite->run(&bench));
out:
    rw_device_close(bench.device);
    return status;
}
