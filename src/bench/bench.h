/* `rankwood bench`: suites of measurements. `bench train` has five suites, which train models;
 * `bench load` and `bench predict` have one suite each, on the CPU.
 *
 * A suite is a function such as rw_bench_trees, in one of the files suite_*.c. To add a suite,
 * write its function, declare it below, and list it in the table of bench.c. A suite makes its
 * inputs, and times its work with rw_bench_grow or rw_clock_ms. It sends rows with
 * rw_bench_send_row. Figures that have a target are sent last, one row each of the table "bars"
 * (rw_bench_bar). Suites never print: rows go to the caller of rw_bench. `rankwood doctor`
 * (doctor.c) sends its rows in the same way. */
#pragma once

#include "params/params.h"

struct rw_bench_suite;

/* One run of a suite, or of `rankwood doctor`, which uses ctx, name, row and user only. The struct
 * owns `made` and `scratch`; all other pointers are borrowed. */
struct rw_bench {
    struct rw_ctx *ctx;
    const struct rw_bench_options *options;
    const struct rw_bench_suite *suite;
    const char *name; /* name of the suite, or "doctor"; sent with each row */
    rw_bench_row_fn row;
    void *user;
    const char *shape; /* shape of synthetic data: from the options, or mslr30k */
    /* 1: not a quick run, and no option sets the shape or the number of queries; most suites send
     * targets only then */
    int has_default_data;
    /* The scratch file of a suite that `writes`. scratch.temporary is the path of a file in TMPDIR
     * for the suite to write. The file is removed after the run, or by a program that calls
     * rw_out_file_abandon in its handler of a fatal signal. */
    struct rw_out_file scratch;
    /* Objects that suites make; they are freed after the run. */
    struct {
        struct rw_dataset *dataset; /* with n_queries queries of `shape` */
        const char *shape;
        uint32_t n_queries;
        struct rw_params *params[64]; /* [n_params] */
        int n_params;
    } made;
};

struct rw_bench_suite {
    const char *bench, *name; /* "train", "trees" */
    int (*run)(struct rw_bench *bench);
    const char *former; /* an older name that is still accepted, or NULL */
    int writes;         /* 1: writes a scratch file */
    int has_workers;    /* 1: uses n_workers of the options */
    int is_cold;        /* 1: also measures the time to open the device, so do not open it before */
    const char *params; /* the parameters that can be set, as in " bins threads "; NULL: all */
};
enum { RW_BENCH_QUICK_RUNS = 3 }; /* repeats of each measurement in a quick run */

int rw_bench_trees(struct rw_bench *bench);
int rw_bench_growth(struct rw_bench *bench);
int rw_bench_text(struct rw_bench *bench);
int rw_bench_far(struct rw_bench *bench);
int rw_bench_workers(struct rw_bench *bench);
int rw_bench_loading(struct rw_bench *bench);
int rw_bench_predicting(struct rw_bench *bench);

/* Finds `word` in a list, and writes its index to *at. If it is missing, fails with a message that
 * names the nearest word, or all words if no word is near. kind: the noun for `word` in the
 * message, such as "suite". words: [n]. */
int rw_bench_find_word(struct rw_ctx *ctx, const char *kind, const char *word,
                       const char *const *words, int n, int *at);
/* Returns `option` if it is not 0. Otherwise returns `quick` in a quick run, and `own`, the suite's
 * default, in a full run. */
uint32_t rw_bench_number(const struct rw_bench *bench, uint32_t option, uint32_t own,
                         uint32_t quick);

struct rw_bench_times {
    double median_ms, least_ms, most_ms;
};
/* Sorts `ms`, and writes its median, least and greatest value. ms: [n], n > 0. */
void rw_bench_spread(double *ms, int n, struct rw_bench_times *out);
/* Finds the first line of a file that begins with `start`. Returns the text after its first colon,
 * or the whole line if it has no colon. Returns "" if there is no such line. line: [size], holds
 * the result. */
const char *rw_bench_line_of(const char *path, const char *start, char *line, int size);

/* ---- rows ---- */

/* A row under construction. Names and texts are borrowed until the row is sent. All rows of a table
 * have the same names in the same order. Fields beyond RW_BENCH_MOST_FIELDS are dropped. */
enum { RW_BENCH_MOST_FIELDS = 32 };
struct rw_bench_line {
    struct rw_bench_field field[RW_BENCH_MOST_FIELDS];
    int n;
};
void rw_bench_add_text(struct rw_bench_line *line, const char *name, const char *text);
/* number: a whole number, exact up to 2^53. */
void rw_bench_add_integer(struct rw_bench_line *line, const char *name, double number);
/* NaN is an unknown value, as in rw_bench_add_none. */
void rw_bench_add_real(struct rw_bench_line *line, const char *name, double number, int decimals);
void rw_bench_add_none(struct rw_bench_line *line, const char *name);
/* Sends a row. Returns RW_ERR_INTERRUPTED if the caller stops the suite. */
int rw_bench_send(struct rw_bench *bench, const char *table, const struct rw_bench_line *line);
/* Sends a row. The text `fields` is "name:kind name:kind ...", and each field takes one further
 * argument, of the type of its kind. NULL and NaN are unknown values.
 *   Kind s: text.
 *   Kind b: an int, written as "yes" or "no".
 *   Kind i: an int.
 *   Kind u: a uint32_t.
 *   Kind l: a uint64_t.
 *   Kind n: a whole number as a double.
 *   Kinds 0 to 9: a double with that many decimals.
 *   Kinds S, I, L: as s, i and l, but an empty text, or a number that is not positive, is unknown.
 *   Kind t: a struct rw_bench_training *. The field's name is ignored. In its place, the row gets
 *   the fields mean_leaves, first_tree, last_tree, median_ms, least_ms, q1_ms, q3_ms, most_ms. */
int rw_bench_send_row(struct rw_bench *bench, const char *table, const char *fields, ...);

/* A target, sent as a row of the table "bars": what, must, aim, figure and met ("yes" or "no"). */
struct rw_bench_bar {
    const char *what;
    double figure;    /* NaN: not measured in this run, so that no row is sent */
    double must, aim; /* must: the required value; aim: a more ambitious one, or NaN */
    int at_most;      /* 1: `must` is an upper limit; 0: a lower limit */
};
int rw_bench_bar(struct rw_bench *bench, const struct rw_bench_bar *bar);

/* ---- synthetic data; its seed is that of the options ---- */

/* Makes bench->made.dataset with this shape and number of queries, unless it has them already. */
int rw_bench_data_make(struct rw_bench *bench, const char *shape, uint32_t n_queries);
/* Writes synthetic data of this shape as LETOR text to a file. *n_bytes: the size of the file. */
int rw_bench_write_text(struct rw_bench *bench, const char *shape, uint32_t n_queries,
                        const char *path, double *n_bytes);
/* Writes the size of a file to *n_bytes. */
int rw_bench_file_bytes(struct rw_bench *bench, const char *path, double *n_bytes);
/* Finds the smallest number of queries with at least n_docs documents, up to
 * RW_SYNTH_MAX_QUERIES. */
int rw_bench_queries_of(struct rw_bench *bench, const char *shape, uint32_t n_docs,
                        uint32_t *n_queries);

/* ---- parameters ---- */

struct rw_bench_setting {
    const char *name, *value; /* as in rw_params_set */
};
/* Makes parameters from Rankwood's defaults, except `sample-features` 1 and `rate` 0.1, and from
 * the suite's settings. given 1: the user's parameters override all of these, except that `rounds`
 * auto does not. If these parameters of the user grow whole levels, the suite's `leaves` is
 * ignored. setting: [n_settings]. The bench owns *out. */
int rw_bench_params_new(struct rw_bench *bench, const struct rw_bench_setting *setting,
                        int n_settings, int given, struct rw_params **out);
/* Returns 1 if the user set the parameter. */
int rw_bench_is_given(const struct rw_bench *bench, const char *name);
/* Sends the rows of the table "parameters": name and value of each parameter that is not empty and
 * matters for training on synthetic data. A value that is not the same in all of `params` is "by
 * row". params: [n]. */
int rw_bench_send_params(struct rw_bench *bench, struct rw_params *const *params, int n);

/* ---- times ---- */

/* Plans memory and time of a training (rw_train_plan). For devices "ref" and "sim", which cannot
 * plan, only out->device is filled in. */
int rw_bench_plan(struct rw_bench *bench, struct rw_params *params,
                  const struct rw_dataset *dataset, struct rw_plan *out);
/* Returns the bytes of codes that a plan stores on its device: its part "codes" and, with
 * host-resident codes, its part "column copies". */
double rw_bench_code_bytes(const struct rw_plan *plan);

/* The figures of one tree of a training. */
struct rw_bench_tree {
    /* ms: time of the round; other_ms: the part of `ms` that is not in histograms_ms, splits_ms or
     * partition_ms */
    double ms, leaves, histograms_ms, splits_ms, partition_ms, other_ms;
    double far_hist_ms, far_hist_bytes, far_bytes; /* as in struct rw_round */
    double sent_bytes;                             /* by all workers together */
};
/* All trees of a training, in order. */
struct rw_bench_grown {
    struct rw_ctx *ctx;         /* borrowed */
    struct rw_bench_tree *tree; /* [n] owned */
    double *sorted;             /* [rounds] scratch for sorting; owned */
    int n;
    int gpu; /* the GPU whose free memory is measured; -1: measure none */
    /* free_before: free GPU memory before training; device_bytes: GPU memory that training has
     * taken after the second tree (0: unknown) */
    uint64_t free_before, device_bytes;
    double since; /* time at which the current round began (rw_clock_ms) */
    /* durations of the stages "cuts and codes" and "rounds", and of the whole training */
    double load_ms, rounds_ms, total_ms;
};
/* Trains and records each tree. The training must not have hooks. Initialise *out with {.gpu = -1}
 * or the number of a GPU, and call rw_bench_grown_release in any case. The caller frees *model with
 * rw_model_free. */
int rw_bench_grow(struct rw_ctx *ctx, const struct rw_params *params, struct rw_training training,
                  struct rw_bench_grown *out, struct rw_model **model);
void rw_bench_grown_release(struct rw_bench_grown *grown);
/* Returns the median of the member of struct rw_bench_tree at `offset`, over all trees except the
 * first; NaN if there are fewer than two trees. */
double rw_bench_median(struct rw_bench_grown *grown, size_t offset);
/* Returns the mean number of leaves over all trees. */
double rw_bench_mean_leaves(const struct rw_bench_grown *grown);

/* Figures of a training. median_ms, least_ms, q1_ms (first quartile), q3_ms, most_ms and
 * mean_leaves are those of the trees first to grown.n, numbered from 1. */
struct rw_bench_training {
    struct rw_plan plan;
    struct rw_bench_grown grown; /* `tree` and `sorted` are freed */
    int first;
    double median_ms, least_ms, q1_ms, q3_ms, most_ms; /* NaN if there is no such tree */
    double mean_leaves;
    double first_tree_ms; /* of the first tree, during which engines choose methods */
};

/* ---- training sets generated as codes, because their values would not fit in memory ---- */
enum { RW_BENCH_CODES_FEATURES = 136, RW_BENCH_CODES_DOCS = 120 /* of a query */ };

/* A range of consecutive queries of a large set. Each has RW_BENCH_CODES_DOCS documents, except
 * that the last one has the remaining documents of n_docs. */
struct rw_bench_codes {
    uint32_t first; /* number of the first query in the large set */
    uint64_t n_docs;
    uint32_t n_features;
    uint64_t seed;
};

/* Makes a training set of these queries. Each feature has rule->bins bins, at most 255. Labels are
 * 0 to 4. One feature in four depends on the document's quality, from which its label is drawn.
 * The result is identical for any number of threads. The caller frees it with rw_binned_free.
 * Returns RW_ERR_ARGUMENT for more than RW_MAX_DOCS documents. */
int rw_bench_codes_make(struct rw_ctx *ctx, const struct rw_bench_codes *codes,
                        const struct rw_cut_rule *rule, struct rw_binned **out);
