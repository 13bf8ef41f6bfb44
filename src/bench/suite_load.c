/* `rankwood bench load`: measures reading LETOR text, and the data cache made from it, into values
 * and into codes that are ready for training. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "bench/bench.h"

enum { QUERIES = 3000, QUICK_QUERIES = 40, RUNS = 5 };

/* Targets (rw_bench_bar). One thread must read at least must_mb_s MB of text per second; aim_mb_s
 * is a more ambitious rate. Peak memory until text is ready to train on must be at most code_share
 * times the bytes of the codes, plus 4 bytes per document for labels, plus constant_bytes. */
static const double must_mb_s = 300.0, aim_mb_s = 700.0;
static const double code_share = 1.5, constant_bytes = 67108864.0;

struct loading {
    struct rw_bench *bench;
    const char *path;
    uint32_t n_queries, n_docs;
    int n_runs;
    struct rw_params *params;      /* borrowed */
    double text_bytes, file_bytes; /* sizes of the text, and of the text or cache to read now */
    double code_bytes;             /* 0: not measured */
    double read_mb_s;              /* MB/s of reading text with one thread; NaN: not measured */
    double ready_peak_bytes;       /* peak memory until text is ready to train on; NaN: unknown */
};

/* ---- peak memory ---- */

/* Resets the process's peak memory to the memory in use now. First returns free memory to the
 * system, so that memory of the last run does not count. Returns 0, or -1 if the system cannot
 * reset the peak. */
static int reset_peak(void)
{
    const int file = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
#ifdef __GLIBC__
    enum { LARGE = 128 * 1024 }; /* the initial thresholds; glibc raises them over time */
    mallopt(M_MMAP_THRESHOLD, LARGE);
    mallopt(M_TRIM_THRESHOLD, LARGE);
    malloc_trim(0);
#endif
    if (file < 0)
        return -1;
    const ssize_t n = write(file, "5", 1);
    close(file);
    return n == 1 ? 0 : -1;
}

/* Returns the peak memory of the process, NaN if unknown. */
static double peak_bytes(void)
{
    char line[256];
    const char *kib = rw_bench_line_of("/proc/self/status", "VmHWM", line, sizeof(line));
    return *kib ? strtod(kib, NULL) * 1024.0 : (double)NAN;
}

/* ---- one method ---- */

/* The time (rw_clock_ms) and peak memory when reading ended or, in training, when stage "cuts and
 * codes" ended. */
struct ready {
    double at_ms, peak;
};

static void on_stage(void *user, const char *stage, double ms, size_t bytes)
{
    struct ready *ready = user;
    (void)ms;
    (void)bytes;
    if (strcmp(stage, "cuts and codes") == 0)
        *ready = (struct ready){rw_clock_ms(), peak_bytes()};
}

/* Reads the file once. is_ready 0: measures reading its values. is_ready 1: measures until training
 * could grow its first tree. */
static int load_once(struct loading *s, int is_ready, double *ms, double *peak)
{
    struct rw_ctx *ctx = s->bench->ctx;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    RW_SCOPED(rw_binned_free) struct rw_binned *binned = NULL;
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    struct ready ready = {0};
    const struct rw_train_hooks hooks = {.user = &ready, .on_stage = on_stage};
    const double start = rw_clock_ms();
    RW_TRY(is_ready ? rw_binned_read(ctx, s->params, NULL, &s->path, 1, &binned)
                    : rw_dataset_read(ctx, &s->path, 1, &dataset));
    ready = (struct ready){rw_clock_ms(), peak_bytes()};
    if (is_ready)
        RW_TRY(rw_train_on(ctx, s->params, &(struct rw_training){.binned = binned, .hooks = &hooks},
                           &model));
    *ms = ready.at_ms - start;
    *peak = ready.peak;
    return RW_OK;
}

static int time_method(struct loading *s, const char *method, int is_ready, int n_threads)
{
    struct rw_bench_times times;
    double ms[RUNS], peak = 0.0, one = 0.0;
    char number[16];
    snprintf(number, sizeof(number), "%d", n_threads);
    RW_TRY(rw_params_set(s->bench->ctx, s->params, "threads", number));
    RW_TRY(rw_ctx_set_threads(s->bench->ctx, n_threads));
    for (int i = 0; i < s->n_runs; i++) {
        if (reset_peak() < 0) /* excludes earlier runs */
            peak = NAN;
        RW_TRY(load_once(s, is_ready, &ms[i], &one));
        peak = one > peak || isnan(one) ? one : peak;
    }
    rw_bench_spread(ms, s->n_runs, &times);
    const int is_text = s->file_bytes == s->text_bytes;
    const double mb_s = s->text_bytes / times.median_ms / 1e3;
    if (is_text && !is_ready && n_threads == 1)
        s->read_mb_s = mb_s;
    if (is_text && is_ready)
        s->ready_peak_bytes = peak;
    return rw_bench_send_row(s->bench, "load",
                             "method:s threads:i file_bytes:n runs:i median_ms:1 least_ms:1 "
                             "most_ms:1 text_mb_s:0 peak_mb:1",
                             method, n_threads, s->file_bytes, s->n_runs, times.median_ms,
                             times.least_ms, times.most_ms, mb_s, peak / 1e6);
}

/* Measures with one thread, then with n_threads. The context has n_threads threads afterwards. */
static int time_both(struct loading *s, const char *method, int is_ready, int n_threads)
{
    if (n_threads > 1)
        RW_TRY(time_method(s, method, is_ready, 1));
    return time_method(s, method, is_ready, n_threads);
}

/* ---- the file ---- */

/* Sends the size of the data. Reading it also puts the file into the system's cache, where all
 * timed runs find it. */
static int send_data(struct loading *s)
{
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    struct rw_plan plan;
    RW_TRY(rw_dataset_read(s->bench->ctx, &s->path, 1, &dataset));
    RW_TRY(rw_bench_plan(s->bench, s->params, dataset, &plan));
    s->n_docs = rw_dataset_n_docs(dataset);
    s->code_bytes = rw_bench_code_bytes(&plan);
    RW_TRY(rw_bench_send_row(
        s->bench, "data",
        "shape:s queries:u documents:u features:u bins:i text_bytes:n code_bytes:n",
        s->bench->shape, s->n_queries, s->n_docs, rw_dataset_n_features(dataset), s->params->bins,
        s->text_bytes, s->code_bytes));
    return RW_OK;
}

static int send_targets(struct loading *s)
{
    const double allowed = code_share * s->code_bytes + 4.0 * s->n_docs + constant_bytes;
    const struct rw_bench_bar memory = {"peak memory / (1.5 x codes + labels + 64 MiB)",
                                        s->ready_peak_bytes / allowed, 1.0, NAN, 1};
    const struct rw_bench_bar reading = {"reading text, one thread: MB/s", s->read_mb_s, must_mb_s,
                                         aim_mb_s, 0};
    /* The longer name is first, because the first row determines the width of the column. */
    if (s->n_docs > RW_CUT_SAMPLE_DOCS)
        RW_TRY(rw_bench_bar(s->bench, &memory));
    return rw_bench_bar(s->bench, &reading);
}

int rw_bench_loading(struct rw_bench *bench)
{
    const struct rw_bench_options *o = bench->options;
    const struct rw_bench_setting setting[] = {
        {"device", "cpu"}, {"rounds", "1"}, {"leaves", "2"}, {"bins", "255"}};
    struct loading s = {.bench = bench,
                        .path = bench->scratch.temporary,
                        .n_queries = rw_bench_number(bench, o->n_queries, QUERIES, QUICK_QUERIES),
                        .n_runs = o->quick ? RW_BENCH_QUICK_RUNS : RUNS,
                        .read_mb_s = NAN,
                        .ready_peak_bytes = NAN};
    const int n_threads = bench->ctx->n_threads;
    RW_SCOPED(rw_dataset_free) struct rw_dataset *dataset = NULL;
    RW_TRY(rw_bench_params_new(bench, setting, 4, 1, &s.params));
    RW_TRY(rw_bench_write_text(bench, bench->shape, s.n_queries, s.path, &s.text_bytes));
    s.file_bytes = s.text_bytes;
    RW_TRY(send_data(&s));
    RW_TRY(time_both(&s, "text, read", 0, n_threads));
    RW_TRY(time_both(&s, "text, ready to train", 1, n_threads));
    /* The cache replaces the text under the same name, so one removal covers both. */
    RW_TRY(rw_dataset_read(bench->ctx, &s.path, 1, &dataset));
    RW_TRY(rw_dataset_write_cache(bench->ctx, dataset, s.params, s.path));
    RW_TRY(rw_bench_file_bytes(bench, s.path, &s.file_bytes));
    rw_dataset_free(RW_TAKE(dataset));
    RW_TRY(time_both(&s, "cache, read", 0, n_threads));
    RW_TRY(time_both(&s, "cache, ready to train", 1, n_threads));
    return bench->has_default_data && !rw_bench_is_given(bench, "bins") ? send_targets(&s) : RW_OK;
}
