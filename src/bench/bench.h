/* `rankwood bench`: suites of measurements on one device. `bench load` and `bench predict` have one
 * suite each.
 *
 * A suite is a function, rw_bench_<name> of suite_<its data>.c. To add one: (1) write it, (2)
 * declare it below, (3) list it in bench.c's table. A suite makes its inputs, times with
 * rw_bench_grow or rw_clock_ms, sends rows (rw_bench_send_row), and ends with a row of the
 * table "bars" for each figure that it must reach (rw_bench_bar). Nothing prints: rows go to the
 * caller of rw_bench.
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "binning/bins.h"
#include "params/params.h"

struct rw_bench_suite;

/* One run. Pointers are borrowed, but for `made`. */
struct rw_bench {
    struct rw_ctx *ctx;
    const struct rw_bench_options *options;
    const struct rw_bench_suite *suite;
    const char *name; /* of the suite, in its rows */
    rw_bench_row_fn row;
    void *user;
    const char *shape; /* of made data: the options', or mslr30k */
    int has_own_data;  /* neither shape nor size is an option's: bars count */
    /* Of a suite that `writes`: scratch.temporary is a file's name in TMPDIR, for the suite to
     * write; it is removed after the run, and by a signal that ends the program. */
    struct rw_out_file scratch;
    /* What suites make, which is freed after the run. */
    struct {
        struct rw_dataset *dataset; /* of so many queries of a shape */
        const char *shape;
        uint32_t n_queries;
        struct rw_params *params[64]; /* [n_params] */
        int n_params;
    } made;
};

struct rw_bench_suite {
    const char *bench, *name; /* "train", "trees" */
    int (*run)(struct rw_bench *bench);
    const char *former; /* the name that it had before, which is still taken; NULL: none */
    int writes;
    int has_workers;    /* takes n_workers */
    int is_cold;        /* train: opening the device is measured, too */
    const char *params; /* load, predict: " bins threads ", the parameters that may be set */
};
enum { RW_BENCH_QUICK_RUNS = 3 };

int rw_bench_trees(struct rw_bench *bench);
int rw_bench_growth(struct rw_bench *bench);
int rw_bench_text(struct rw_bench *bench);
int rw_bench_far(struct rw_bench *bench);
int rw_bench_workers(struct rw_bench *bench);
int rw_bench_loading(struct rw_bench *bench);
int rw_bench_predicting(struct rw_bench *bench);

/* RW_OK if `word` is one of them; else an error with the nearest, or with all of them. */
int rw_bench_find_word(struct rw_ctx *ctx, const char *kind, const char *word,
                       const char *const *words, int n, int *at);
/* The option's number, or the suite's own, or, with `quick`, its small one. */
uint32_t rw_bench_number(const struct rw_bench *bench, uint32_t option, uint32_t own,
                         uint32_t quick);

struct rw_bench_times {
    double median_ms, least_ms, most_ms;
};
/* ms: [n], n > 0; is sorted. */
void rw_bench_spread(double *ms, int n, struct rw_bench_times *out);
/* The first line of a file that begins with `start`, behind a colon if there is one; "" if there is
 * none. */
const char *rw_bench_line_of(const char *path, const char *start, char *line, int size);

/* ---- rows ---- */

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
/* Sends a row; RW_ERR_INTERRUPTED if the caller wants no more. */
int rw_bench_send(struct rw_bench *bench, const char *table, const struct rw_bench_line *line);
/* Sends a row of "name:kind name:kind ..." and a value each, unknown where it is NULL or NaN. s:
 * text; b: int, "yes" or "no"; i: int; u: uint32_t; l: uint64_t; n: a whole number as a double; 0
 * to 9: a double, with so many decimals; S, I, L: unknown also where empty or 0; t: struct
 * rw_bench_training *, whose name is not read: mean_leaves, first_tree, last_tree, median_ms,
 * least_ms, q1_ms, q3_ms, most_ms. */
int rw_bench_send_row(struct rw_bench *bench, const char *table, const char *fields, ...);

/* A row of "bars": what, must, aim, figure, met ("yes", "no"). */
struct rw_bench_bar {
    const char *what;
    double figure;    /* NaN: not measured in this run; no row is sent */
    double must, aim; /* aim: NaN for none */
    int at_most;      /* 1: the figure must not be above; 0: not below */
};
int rw_bench_bar(struct rw_bench *bench, const struct rw_bench_bar *bar);

/* What suites of trainings share: made data, parameters of a row, and the times of its trees. */
/* bench->made.dataset is of so many queries, and made unless it is. */
int rw_bench_data_make(struct rw_bench *bench, const char *shape, uint32_t n_queries);
/* The same as LETOR text in a file. */
int rw_bench_write_text(struct rw_bench *bench, const char *shape, uint32_t n_queries,
                        const char *path, double *n_bytes);
int rw_bench_file_bytes(struct rw_bench *bench, const char *path, double *n_bytes);
/* As many queries as have n_docs documents, or the least that have more. */
int rw_bench_queries_of(struct rw_bench *bench, const char *shape, uint32_t n_docs,
                        uint32_t *n_queries);

/* ---- parameters ---- */

struct rw_bench_setting {
    const char *name, *value; /* as rw_params_set takes them */
};
/* Rankwood's defaults, what the suite names, and above it, with `given`, what the user did.
 * `leaves` is left out where whole levels grow. The bench's own. */
int rw_bench_params_new(struct rw_bench *bench, const struct rw_bench_setting *setting,
                        int n_settings, int given, struct rw_params **out);
/* Was it given by the user? */
int rw_bench_is_given(const struct rw_bench *bench, const char *name);
/* The rows of the table "parameters": name, value; what differs between the n is "by row". */
int rw_bench_send_params(struct rw_bench *bench, struct rw_params *const *params, int n);

/* ---- times ---- */

/* What training would take, of which an engine without a plan has the device alone. */
int rw_bench_plan(struct rw_bench *bench, struct rw_params *params,
                  const struct rw_dataset *dataset, struct rw_plan *out);
/* Bytes of codes that a plan has on its device: in tiles, and in columns for partitions. */
double rw_bench_code_bytes(const struct rw_plan *plan);

/* A tree of a training. */
struct rw_bench_tree {
    double ms, leaves, histograms_ms, splits_ms, partition_ms, other_ms;
    double far_hist_ms, far_hist_bytes, far_bytes;
    double sent_bytes; /* by all workers */
};
/* All trees of a training, as they were grown. */
struct rw_bench_grown {
    struct rw_ctx *ctx;         /* borrowed */
    struct rw_bench_tree *tree; /* [n] owned */
    double *sorted;             /* [rounds] owned */
    int n;
    int gpu; /* whose memory is looked at; -1: none */
    uint64_t free_before, device_bytes;
    double since; /* the round began */
    double load_ms, rounds_ms, total_ms;
};
/* Trains, and notes the trees; the training has no hooks. Started by {.gpu = -1}, and ended by
 * rw_bench_grown_release in any case. */
int rw_bench_grow(struct rw_ctx *ctx, const struct rw_params *params, struct rw_training training,
                  struct rw_bench_grown *out, struct rw_model **model);
void rw_bench_grown_release(struct rw_bench_grown *grown);
/* The median of a figure of struct rw_bench_tree, at `offset`, over all trees but the first. */
double rw_bench_median(struct rw_bench_grown *grown, size_t offset);
double rw_bench_mean_leaves(const struct rw_bench_grown *grown);

/* Figures of a training, of its trees first .. grown.n, from 1. */
struct rw_bench_training {
    struct rw_plan plan;
    struct rw_bench_grown grown; /* without its trees */
    int first;
    double median_ms, least_ms, q1_ms, q3_ms, most_ms; /* NaN if there is no such tree */
    double mean_leaves;
    double first_tree_ms; /* of the very first, in which engines choose methods */
};

/* A made training set as codes: a set of a size whose values no memory would hold. */
enum { RW_BENCH_CODES_FEATURES = 136, RW_BENCH_CODES_DOCS = 120 /* of a query */ };

/* Some queries of a set of any size, in a row. The last has the documents that are left of n_docs.
 */
struct rw_bench_codes {
    uint32_t first; /* query */
    uint64_t n_docs;
    uint32_t n_features;
    uint64_t seed;
};

/* Features have `bins` value bins, at most 255. One in four says something of the labels 0 to 4.
 * The same for any number of threads. Ended by rw_binned_free. RW_ERR_ARGUMENT: more documents than
 * RW_MAX_DOCS. */
int rw_bench_codes_make(struct rw_ctx *ctx, const struct rw_bench_codes *codes,
                        const struct rw_cut_rule *rule, struct rw_binned **out);
