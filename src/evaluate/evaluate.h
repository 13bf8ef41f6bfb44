/* Internal interface of evaluation. It reads rw_eval_params, and provides functions that
 * comparisons, cross-validation, pruning, feature selection and calibration share: repeated
 * measurement, folds, halves and groups of queries, tests of significance, and fits of score maps
 * (from scores to probabilities). */
#pragma once

#include "metric/metric.h"
#include "model/model_text.h"

struct rw_dataset;

/* Parses the metrics of `how`. Returns RW_ERR_ARGUMENT if a metric is unknown, or if `empty`,
 * `ties` or `relevant` of `how` is outside its range. out: [*n] written */
int rw_eval_metrics(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    struct rw_metric out[RW_MAX_METRICS], int *n);
/* Like rw_eval_metrics, but writes only the first metric to *out. purpose: a verb for the message,
 * such as "compare", if several metrics are an error; NULL if they are allowed. */
int rw_eval_one_metric(struct rw_ctx *ctx, const struct rw_eval_params *how, const char *purpose,
                       struct rw_metric *out);

/* Like rw_evaluate, but the arena owns *out. */
int rw_evaluate_into(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_dataset *dataset, const double *scores, struct rw_arena *arena,
                     const struct rw_eval **out);

/* A metric that is prepared to measure many rankings of one data set: the first metric of `how`.
 * Of the other members, `empty`, `ties`, `label_gain` and `relevant` apply. */
struct rw_measure {
    struct rw_ctx *ctx; /* borrowed, as is `how` */
    const struct rw_eval_params *how;
    struct rw_metric metric;
    struct rw_judgments judgments; /* the caller releases them */
};
/* Prepares *out. purpose: as for rw_eval_one_metric. */
int rw_measure_init(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const char *purpose, struct rw_measure *out);
/* Measures the ranking by `scores`. *value: the mean, NaN if no query counts; scores: [n_docs] */
int rw_measure_scores(const struct rw_measure *measure, const double *scores, double *value);
/* Returns how much worse the value `to` is than `from`; negative if it is better. */
double rw_measure_loss(const struct rw_measure *measure, double from, double to);

/* An item to sort: by its key, then by its id. */
struct rw_keyed {
    double key;
    uint32_t id;
};
/* Compares two struct rw_keyed for qsort: by ascending key, then by ascending id. */
int rw_by_key(const void *a, const void *b);

/* Checks that a call has one worker and a validation set with values. what: the call, for
 * messages; valid: may be NULL. */
int rw_search_check(struct rw_ctx *ctx, const char *what, const struct rw_dataset *valid);
/* Reports parameters without effect once for several trainings, and silences the trainings. Their
 * size decides what `auto` means; each training resolves it again and reports its choices. */
int rw_trainings_judge(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                       uint32_t n_columns);
/* A training among several that do not depend on each other. */
typedef int (*rw_job_fn)(void *user, struct rw_ctx *ctx, int job);
/* Runs the jobs 0 to n_jobs - 1, at most at_once of them at the same time, on separate threads. If
 * jobs run at the same time, logging is off, as their messages would be mixed. */
int rw_jobs_run(struct rw_ctx *ctx, int at_once, int n_jobs, rw_job_fn run, void *user);
/* Divides the queries into folds of nearly equal size, drawn by `seed`. A group is never divided:
 * from the largest on, each goes to the fold with the fewest queries. groups: [n_queries] each below
 * n_queries; NULL: each query is a group. Returns RW_ERR_ARGUMENT for fewer than 2 folds, or more
 * folds than groups. folds: [n_queries] receives the fold of each query, from 0 to n_folds - 1 */
int rw_folds(struct rw_ctx *ctx, uint32_t n_queries, const uint32_t *groups, int n_folds,
             uint64_t seed, uint32_t *folds);
/* Selects the queries of the folds a and b, or with is_in 0 those of all others. fold_of:
 * [n_queries] */
int rw_folds_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint32_t *fold_of,
                    uint32_t a, uint32_t b, int is_in, struct rw_dataset **out);
/* Divides the queries into two halves, drawn by `seed`. The caller frees both, also after a
 * failure. groups: as in rw_folds. what, does: name the data and the use of one half in the error
 * message for data with a single query. */
int rw_halves(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint32_t *groups,
              uint64_t seed, const char *what, const char *does, struct rw_dataset *half[2]);

/* Reads groups of queries from a file. Each line has a query id, blanks, and a group name up to the
 * line's end; '#' begins a comment line. Queries that the data lacks are ignored. Returns
 * RW_ERR_PARSE for a query that is listed twice or a line without a group. *out: [n_queries] in the
 * arena, NULL for queries without a group. */
int rw_query_groups_read(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                         struct rw_arena *arena, const char ***out);

/* ---- significance of the difference between two rankings, from one pair of values per query ----
 */
/* Numbers of resamples and of random sign patterns. A sign pattern keeps or swaps a and b in each
 * query. If only n <= RW_EXACT_SIGNS queries have a difference that is not 0, all 2^n patterns are
 * counted instead of random ones. The results do not depend on the number of threads. */
enum { RW_BOOTSTRAP_SAMPLES = 10000, RW_RANDOM_SIGNS = 10000, RW_EXACT_SIGNS = 16 };

struct rw_pairs {
    uint32_t n;           /* number of queries */
    const double *a, *b;  /* [n] finite values of the two rankings */
    const double *weight; /* [n] >= 0; NULL: all 1 */
    int root;             /* 1: each mean is the root of the mean of the values */
    int lower_is_better;
};
/* Computes all of *out except its name. The interval's ends are the percentiles 2.5 and 97.5 of the
 * difference over resampled queries (with replacement; Efron 1979). The p value is the probability
 * of a difference at least as large, of either sign, if a coin swaps a and b in each query (Fisher;
 * Smucker, Allan and Carterette 2007). */
int rw_significance(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                    struct rw_compared *out);

/* ---- the space of a tuning (tune_space.c) ---- */
enum { RW_MAX_TUNE_FOLDS = 1000 };
/* A searched parameter: a range of numbers, or a list of values. */
struct rw_tune_axis {
    int at;             /* index of the parameter in the table */
    int draw;           /* number of its random draw: its line among those that were read */
    int n_values;       /* 0: a range */
    const char **value; /* [n_values] texts */
    double least, most; /* of a range, inclusive */
    int is_log;         /* 1: the logarithm is drawn uniformly, else the number */
};
struct rw_tune_space {
    struct rw_tune_axis *axis; /* [n] */
    const char **name;         /* [n] names of the parameters */
    int n;
    int is_default; /* 1: a trial keeps each parameter as given with a probability of 1/2 */
};
/* Parses the space, or makes the default one. The arena owns all arrays of *out. on_no_effect: how
 * to report searched parameters without effect (enum rw_no_effect); params: those of trial 0, which
 * report nothing. For the other arguments and errors, see rw_tune. */
int rw_tune_space_init(struct rw_ctx *ctx, struct rw_arena *arena, const struct rw_params *params,
                       const struct rw_tune_options *options, const struct rw_dataset *train,
                       uint8_t on_no_effect, struct rw_tune_space *out);
/* Sets the searched parameters and `seed` to the values of a trial, from 1. seed: of the tuning. */
int rw_tune_space_draw(struct rw_ctx *ctx, const struct rw_tune_space *space, uint64_t seed,
                       uint32_t trial, struct rw_params *params);

/* ---- the checkpoint of a tuning (tune_checkpoint.c) ---- */

/* The file that is written, and the one that is resumed. Both are texts with a record in each line.
 * The records are those of tune.c. */
struct rw_tune_checkpoint {
    const char *path;       /* NULL: none is written; borrowed */
    struct rw_words record; /* writes the next record; its text is owned */
    struct rw_words resume; /* reads the record that was found */
    struct rw_words first;  /* the same, at the first record */
    char *resumed;          /* their text; owned; NULL: none is resumed */
};
/* Fingerprints that must be equal in both: of parameters and folds, of the space, and of the data.
 */
enum { RW_TUNE_SEARCH, RW_TUNE_SPACE, RW_TUNE_DATA, RW_TUNE_PRINTS };
/* Returns a fingerprint of labels, queries, side columns and values. */
uint64_t rw_tune_print_data(const struct rw_dataset *dataset);
/* Checks the path, and reads the checkpoint to resume from, if there is one. For errors, see
 * rw_tune. The caller releases *out, also after a failure. */
int rw_tune_checkpoint_open(struct rw_tune_checkpoint *out, struct rw_ctx *ctx,
                            const struct rw_checkpoints *how, const uint64_t print[RW_TUNE_PRINTS]);
/* Finds the record with this begin. Returns 1 and moves the reader after the begin, or 0. */
int rw_tune_checkpoint_find(struct rw_tune_checkpoint *checkpoint, const char *begin);
/* Writes the file with all records so far. */
int rw_tune_checkpoint_write(const struct rw_tune_checkpoint *checkpoint, struct rw_ctx *ctx);
void rw_tune_checkpoint_release(struct rw_tune_checkpoint *checkpoint);

/* Fitting maps from scores to probabilities (model/model.h). Sums are integers in units of 2^-40.
 */
#define RW_UNITS_OF_1 0x1p40

/* Returns the nearest integer number of units; |value| < 2^86. */
static inline rw_int128 rw_units(double value)
{
    const double units = value * RW_UNITS_OF_1;
    const double rounds = 0x1p62; /* from 2^53 on every double is an integer */
    return units < rounds && units > -rounds ? rw_round_int64(units) : (rw_int128)units;
}

static inline double rw_of_units(rw_int128 units)
{
    return (double)units / RW_UNITS_OF_1;
}

/* The documents with one score: the sum of their weights, and of the weights of relevant ones, in
 * units. */
struct rw_score_group {
    double score;
    rw_uint128 weight, relevant; /* weight > 0 */
};

/* For both functions, group: [n] by ascending score, n > 0. They set the kind of *out and the
 * members of this kind, but not `relevant`. The caller zeroes *out before, and releases it also
 * after a failure. */

/* Fits the nondecreasing map with the least sum of weighted squared errors, by pooling adjacent
 * violators (Ayer et al. 1955). All comparisons are exact. A block of neighbouring scores with
 * equal probability has a knot (a score and its probability) at either end, or a single one if it
 * has one score. */
int rw_isotonic_fit(struct rw_ctx *ctx, const struct rw_score_group *group, size_t n,
                    struct rw_score_map *out);
/* Fits the logistic function of Platt ("Probabilistic outputs for support vector machines", 1999,
 * section 2.2). N+ is the weight of relevant documents, and N- that of the others. The targets are
 * (N+ + 1) / (N+ + 2) for relevant documents and 1 / (N- + 2) for others. If the slope is not above
 * 0, the map is constant. */
void rw_platt_fit(const struct rw_score_group *group, size_t n, struct rw_score_map *out);
