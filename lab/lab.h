/* `rankwood-lab`: histograms measured on the first GPU, a suite a document or a question.
 *
 * A suite is a file, suites/suite_<name>.c. To add one: (1) write it, with one `const struct
 * rw_lab_suite rw_lab_<name>`, (2) declare that below, (3) list it in lab.c's table and the file in
 * meson.build. A suite makes its inputs, times with rw_lab_time, sends rows (bench/bench.h), and
 * ends with a row of the table "bars" for each figure that it must reach (rw_bench_bar).
 *
 * The methods that train are the library's (gpu/hist/hist.h). The laboratory adds methods with the
 * same interface (kernels/lab_methods.h), operators of generalized histograms
 * (kernels/generalized.h), and methods for raw values (kernels/values.h). */
#pragma once

#include "bench/bench.h"
#include "gpu/device/device.h"
#include "gpu/hist/hist.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One that is given, but changes nothing in the suite, is RW_ERR_ARGUMENT. */
struct rw_lab_options {
    uint64_t seed;                       /* of the made inputs */
    int quick;                           /* 1: small inputs and few runs, to see that it works */
    const char *method;                  /* this method only; NULL: all that the suite has */
    uint32_t n_docs, n_features, n_bins; /* 0: the suite's; a suite uses those that it varies not */
    int n_runs;                          /* timings of each row, 1 to 1000; 0: the suite's */
};

/* One run. All borrowed. */
struct rw_lab {
    struct rw_ctx *ctx;
    struct rw_device *device;
    const struct rw_lab_options *options;
    const struct rw_lab_suite *suite;
    double read_gb_s;     /* at which the device read its memory in this run */
    int n_runs;           /* of each timing: the options', else the suite's */
    struct rw_bench rows; /* what sends them */
};

struct rw_lab_suite {
    const char *name, *about; /* "lanes"; one line of help */
    int (*run)(struct rw_lab *lab);
    /* The words that the option `method` may have, NULL at the end; NULL: the names of
     * rw_lab_method_at. */
    const char *const *methods;
    int n_runs;      /* of each timing; 0: RW_LAB_RUNS */
    unsigned unused; /* options that change nothing here: giving one is an error */
};
enum {
    RW_LAB_NO_METHOD = 1,
    RW_LAB_NO_DOCS = 2,
    RW_LAB_NO_FEATURES = 4,
    RW_LAB_NO_BINS = 8,
    RW_LAB_NO_RUNS = 16
};
enum { RW_LAB_RUNS = 15 };

extern const struct rw_lab_suite rw_lab_weighted;
extern const struct rw_lab_suite rw_lab_lanes;
extern const struct rw_lab_suite rw_lab_contention;
extern const struct rw_lab_suite rw_lab_generalized;
extern const struct rw_lab_suite rw_lab_general;
extern const struct rw_lab_suite rw_lab_nodes;

/* The i-th suite; NULL past the end. */
const struct rw_lab_suite *rw_lab_suite_at(int i);
/* Runs a suite on the first GPU. RW_ERR_ARGUMENT: no such method, the nearest is named;
 * RW_ERR_UNSUPPORTED: no GPU, or one too old; RW_ERR_INTERRUPTED: `row` asked to stop. */
int rw_lab_run(struct rw_ctx *ctx, const struct rw_lab_suite *suite,
               const struct rw_lab_options *options, rw_bench_row_fn row, void *user);

/* The library's methods, then the laboratory's (kernels/lab_methods.h); NULL past the end. */
const struct rw_hist_method *rw_lab_method_at(int i);
/* Returns the method that the options name, or `lanes`. */
const struct rw_hist_method *rw_lab_method_asked(const struct rw_lab *lab);
/* 1 if the options leave this method in. */
int rw_lab_wants(const struct rw_lab *lab, const char *method);
/* Times what `run` enqueues on the device's stream: lab->n_runs times after a warm-up. `run`
 * returns 0, or a status after rw_fail. */
int rw_lab_time(struct rw_lab *lab, int (*run)(void *user), void *user, struct rw_bench_times *out);
/* median_ms, least_ms, most_ms, bytes, gb_s, read_share (of the rate at which memory is read).
 * bytes: what has to be moved at least. */
void rw_lab_add_times(const struct rw_lab *lab, struct rw_bench_line *line,
                      const struct rw_bench_times *times, double bytes);

#ifdef __cplusplus
}
#endif
