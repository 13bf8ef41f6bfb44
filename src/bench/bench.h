/* `rankwood bench`: suites of measurements on one device. `bench load` and `bench predict` have one
 * suite each.
 *
 * A suite is a file, suite_<name>.c. To add one: (1) write it, with one `const struct
 * rw_bench_suite rw_bench_<name>`, (2) declare that below, (3) list it in the table of bench_hist.c
 * (it needs CUDA) or of bench.c (any device) and the file in meson.build. A suite
 * makes its inputs, times with rw_bench_time or rw_bench_time_training, sends rows, and ends with a
 * row of the table "bars" for each figure that it must reach (rw_bench_bar). Nothing prints: rows
 * go to the caller of rw_bench_hist, rw_bench_train, rw_bench_load or rw_bench_predict.
 */
#ifndef RW_BENCH_BENCH_H
#define RW_BENCH_BENCH_H

#include "gpu/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_bench_suite;

/* One run. All borrowed. */
struct rw_bench {
    struct rw_ctx *ctx;
    struct rw_device *device; /* NULL but for hist */
    const struct rw_bench_options *options;
    const struct rw_bench_suite *suite;
    double read_gb_s; /* hist: at which the device read its memory in this run */
    int n_runs;       /* hist: of each timing: the options', else the suite's */
    rw_bench_row_fn row;
    void *user;
};

struct rw_bench_suite {
    const char *name, *about; /* "lanes"; one line of help */
    int (*run)(struct rw_bench *bench);
    /* The words that the option `method` may have, NULL at the end; NULL: the names of
     * gpu/hist/hist.h's table. */
    const char *const *methods;
    int n_runs;         /* of each timing; 0: RW_BENCH_RUNS */
    unsigned unused;    /* options that change nothing here: giving one is an error */
    int is_cold;        /* train: opening the device is a part of what is measured */
    const char *params; /* load, predict: " bins threads ", the parameters that may be set */
};
enum {
    RW_BENCH_NO_METHOD = 1,
    RW_BENCH_NO_DOCS = 2,
    RW_BENCH_NO_FEATURES = 4,
    RW_BENCH_NO_BINS = 8,
    RW_BENCH_NO_RUNS = 16,
    RW_BENCH_NO_SHAPE = 32,
    RW_BENCH_NO_QUERIES = 64
};
enum { RW_BENCH_RUNS = 15, RW_BENCH_QUICK_RUNS = 3 };

extern const struct rw_bench_suite rw_bench_weighted;
extern const struct rw_bench_suite rw_bench_lanes;
extern const struct rw_bench_suite rw_bench_contention;
extern const struct rw_bench_suite rw_bench_generalized;
extern const struct rw_bench_suite rw_bench_general;
extern const struct rw_bench_suite rw_bench_nodes;

extern const struct rw_bench_suite rw_bench_trees;
extern const struct rw_bench_suite rw_bench_grow;
extern const struct rw_bench_suite rw_bench_text;

extern const struct rw_bench_suite rw_bench_loading;
extern const struct rw_bench_suite rw_bench_predicting;

/* The i-th suite of histograms; NULL past the end, and without CUDA. */
const struct rw_bench_suite *rw_bench_hist_suite(int i);
/* RW_OK if `word` is one of them; else says which is nearest, or lists them. */
int rw_bench_find_word(struct rw_ctx *ctx, const char *kind, const char *word,
                       const char *const *words, int n, int *at);
int rw_bench_find_suite(struct rw_ctx *ctx, const char *bench, const char *name,
                        const struct rw_bench_suite **out);
/* An option that is given and that the suite, or `also`, has no use for is an error. */
int rw_bench_check_unused(struct rw_ctx *ctx, const struct rw_bench_suite *suite,
                          const struct rw_bench_options *options, unsigned also);
/* Free memory of a GPU; 0 where it is not known, and without CUDA. */
uint64_t rw_bench_free_bytes(int gpu);

/* 1 if the options leave this method in. */
int rw_bench_wants(const struct rw_bench *bench, const char *method);
/* The option's number, or the suite's own, or, with `quick`, its small one. */
uint32_t rw_bench_number(const struct rw_bench *bench, uint32_t option, uint32_t own,
                         uint32_t quick);

struct rw_bench_times {
    double median_ms, least_ms, most_ms;
};
/* ms: [n], n > 0; is sorted. */
void rw_bench_spread(double *ms, int n, struct rw_bench_times *out);
/* Times what `run` enqueues on the device's stream: bench->n_runs times after a warm-up. `run`
 * returns 0, or a status after rw_fail. */
int rw_bench_time(struct rw_bench *bench, int (*run)(void *user), void *user,
                  struct rw_bench_times *out);

/* ---- rows ---- */

/* Sends a row; RW_ERR_INTERRUPTED if the caller wants no more. Texts are borrowed for the call. */
int rw_bench_emit(struct rw_bench *bench, const char *table, const struct rw_bench_field *field,
                  int n_fields);

/* A row under construction. Names and texts are borrowed until it is sent. A table's rows have the
 * same names in the same order. */
enum { RW_BENCH_MOST_FIELDS = 32 };
struct rw_bench_line {
    struct rw_bench_field field[RW_BENCH_MOST_FIELDS];
    int n;
};
void rw_bench_add_text(struct rw_bench_line *line, const char *name, const char *text);
/* number: exact up to 2^53. */
void rw_bench_add_integer(struct rw_bench_line *line, const char *name, double number);
/* NaN: as rw_bench_add_none. */
void rw_bench_add_real(struct rw_bench_line *line, const char *name, double number, int decimals);
void rw_bench_add_none(struct rw_bench_line *line, const char *name);
/* median_ms, least_ms, most_ms, bytes, gb_s, read_share (of the rate at which memory is read).
 * bytes: what has to be moved at least. */
void rw_bench_add_times(const struct rw_bench *bench, struct rw_bench_line *line,
                        const struct rw_bench_times *times, double bytes);
int rw_bench_send(struct rw_bench *bench, const char *table, const struct rw_bench_line *line);

/* A row of "bars": what, must, aim, figure, met ("yes", "no"). */
struct rw_bench_bar {
    const char *what;
    double figure;    /* NaN: not measured in this run; no row is sent */
    double must, aim; /* aim: NaN for none */
    int at_most;      /* 1: the figure must not be above; 0: not below */
};
int rw_bench_bar(struct rw_bench *bench, const struct rw_bench_bar *bar);

#ifdef __cplusplus
}
#endif
#endif
