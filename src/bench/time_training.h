/* What suites of trainings share: made data, parameters of a row, and the times of its trees. */
#ifndef RW_BENCH_TIME_TRAINING_H
#define RW_BENCH_TIME_TRAINING_H

#include "bench/bench.h"
#include "params/params.h"

/* Made data; zero-initialise. */
struct rw_bench_data {
    const char *shape; /* borrowed */
    uint32_t n_queries;
    struct rw_dataset *dataset; /* owned; NULL: none yet */
};
/* The set of so many queries, made unless it is the one that is there. */
int rw_bench_data_make(struct rw_bench *bench, struct rw_bench_data *data, const char *shape,
                       uint32_t n_queries);
void rw_bench_data_release(struct rw_bench_data *data);
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
 * `leaves` is left out where whole levels grow. Ended by rw_params_free. */
int rw_bench_params_new(struct rw_bench *bench, const struct rw_bench_setting *setting,
                        int n_settings, int given, struct rw_params **out);
/* The same with what the user gave. *is_own: nothing of the suite was replaced by an option. */
int rw_bench_params_pair(struct rw_bench *bench, const struct rw_bench_setting *setting,
                         int n_settings, struct rw_params **out, int *is_own);
/* Was it given by the user? */
int rw_bench_is_given(const struct rw_bench *bench, const char *name);
/* Do both grow the same trees, but for the seed? */
int rw_bench_params_same(struct rw_params *a, struct rw_params *b);
/* The rows of the table "parameters": name, value; what differs between the n is "by row". */
int rw_bench_send_params(struct rw_bench *bench, struct rw_params *const *params, int n);
/* Most leaves of a tree. */
int rw_bench_leaves(const struct rw_params *params, uint32_t n_docs);

/* ---- times ---- */

struct rw_bench_training {
    char device[160]; /* "cpu", or "cuda:0, " and the GPU's name */
    int on_gpu;
    uint64_t plan_bytes;   /* that the engine expected to hold; 0: not known */
    uint64_t code_bytes;   /* of that, padded codes */
    uint64_t device_bytes; /* by which the GPU's free memory shrank; 0: not measured */
    int n_trees, first;    /* of the trees first .. n_trees, from 1, are the figures below */
    double median_ms, least_ms, q1_ms, q3_ms, most_ms; /* NaN if there is no such tree */
    double mean_leaves;
    double first_tree_ms;      /* of the very first, in which engines choose methods */
    double load_ms, rounds_ms; /* cuts and codes; all trees */
    double total_ms;           /* rw_train as a whole */
};
/* The plan's part of the figures: device, on_gpu, plan_bytes, code_bytes. */
int rw_bench_plan_training(struct rw_bench *bench, struct rw_params *params,
                           const struct rw_dataset *dataset, struct rw_bench_training *out);
/* The others. Trees from the tenth on count; of under 100, from the second tenth on, but never the
 * first. model: NULL, or to be ended by rw_model_free. */
int rw_bench_time_training(struct rw_bench *bench, struct rw_params *params,
                           const struct rw_dataset *dataset, struct rw_bench_training *out,
                           struct rw_model **model);
/* mean_leaves, first_tree, last_tree, median_ms, least_ms, q1_ms, q3_ms, most_ms. */
void rw_bench_add_training(struct rw_bench_line *line, const struct rw_bench_training *training);
#endif
