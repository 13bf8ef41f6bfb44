/* How rw_eval_params are read, and what measures, comparisons and fits share. */
#pragma once

#include "base/exact.h"
#include "metric/metric.h"
#include "model/model.h"

struct rw_dataset;

/* The metrics; RW_ERR_ARGUMENT where `how` is not what it should be. */
int rw_eval_metrics(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    struct rw_metric out[RW_MAX_METRICS], int *n);
/* The first one. purpose: "compare": RW_ERR_ARGUMENT if there are several; NULL: there may be. */
int rw_eval_one_metric(struct rw_ctx *ctx, const struct rw_eval_params *how, const char *purpose,
                       struct rw_metric *out);

/* rw_evaluate; *out is freed with the arena. */
int rw_evaluate_into(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_dataset *dataset, const double *scores, struct rw_arena *arena,
                     const struct rw_eval **out);

/* A metric made ready to measure many scores of one data set, by the parameters: `like` is not
 * looked at. */
struct rw_measure {
    struct rw_ctx *ctx; /* borrowed, as `how` */
    const struct rw_eval_params *how;
    struct rw_metric metric;
    struct rw_judgments judgments; /* released by the caller */
};
/* purpose: as above. */
int rw_measure_init(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const char *purpose, struct rw_measure *out);
/* scores: [n_docs]; *value: the mean, NaN if no query counts. */
int rw_measure_scores(const struct rw_measure *measure, const double *scores, double *value);
/* How much worse `to` is than `from`. */
double rw_measure_loss(const struct rw_measure *measure, double from, double to);

/* What is sorted by a number, then by what it is of. */
struct rw_keyed {
    double key;
    uint32_t id;
};
/* For qsort: both rise. */
int rw_by_key(const void *a, const void *b);

/* folds: [n_queries], written: 0 to n_folds - 1; as even as can be, drawn by `seed`.
 * RW_ERR_ARGUMENT: fewer than 2 folds, or more than queries. */
int rw_folds(struct rw_ctx *ctx, uint32_t n_queries, int n_folds, uint64_t seed, uint32_t *folds);
/* The queries in two halves, drawn by `seed`; each is the caller's, also after a failure. what: the
 * data, and does: what one half does, for the message where there is one query. */
int rw_halves(struct rw_ctx *ctx, const struct rw_dataset *dataset, uint64_t seed, const char *what,
              const char *does, struct rw_dataset *half[2]);

/* The groups of queries in a file: a line has a query id, blanks, the group's name up to the end;
 * '#' begins a comment line. Queries that the data has not are passed over. A query named twice, or
 * a line without a group, is RW_ERR_PARSE. *out: [n_queries] in the arena, NULL: in no group. */
int rw_query_groups_read(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                         struct rw_arena *arena, const char ***out);

/* Is a difference between two rankings more than chance? Statistics of pairs of values, one pair a
 * query: they know nothing of metrics or data. Repeatable for a seed, whatever the threads. */
/* Resamples of the queries; and patterns of signs, unless all 2^n of few differences are tried. */
enum { RW_BOOTSTRAP_SAMPLES = 10000, RW_RANDOM_SIGNS = 10000, RW_EXACT_SIGNS = 16 };

struct rw_pairs {
    uint32_t n;
    const double *a, *b;  /* [n] finite */
    const double *weight; /* [n] >= 0; NULL: all 1 */
    int root;             /* the means are roots of means of the values */
    int lower_is_better;
};
/* All of *out but its name. The interval: percentiles of the differences of resampled
 * queries, drawn with replacement (Efron 1979). p: how often a difference at least as large, of
 * either sign, comes of swapping a and b in each query by a coin (Fisher; Smucker, Allan and
 * Carterette 2007). */
int rw_significance(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                    struct rw_compared *out);

/* Fitting maps of scores to probabilities (model/model.h). Sums are whole numbers of 2^-40.
 */
__extension__ typedef __int128 rw_int128;
__extension__ typedef unsigned __int128 rw_uint128;

#define RW_UNITS_OF_1 0x1p40

/* The nearest whole number of units; |value| < 2^86. */
static inline rw_int128 rw_units(double value)
{
    const double units = value * RW_UNITS_OF_1;
    const double rounds = 0x1p62; /* from 2^53 on all doubles are whole */
    return units < rounds && units > -rounds ? rw_round_int64(units) : (rw_int128)units;
}

static inline double rw_of_units(rw_int128 units)
{
    return (double)units / RW_UNITS_OF_1;
}

/* Documents of one score, pooled: their weights, and those of the relevant ones, in units. */
struct rw_score_group {
    double score;
    rw_uint128 weight, relevant; /* weight > 0 */
};

/* group: [n] by ascending score, n > 0. Both set all of *out but `relevant`; it is zeroed before,
 * and released by the caller, also after a failure. */

/* The map that never falls and has the least sum of weighted squared errors: pool adjacent
 * violators (Ayer et al. 1955), all comparisons exact. Each block of equal probability has a knot
 * at either end. */
int rw_isotonic_fit(struct rw_ctx *ctx, const struct rw_score_group *group, size_t n,
                    struct rw_score_map *out);
/* Platt's: a logistic function, fitted to the targets (N+ + 1) / (N+ + 2) of relevant documents and
 * 1 / (N- + 2) of others, N+ and N- their weights ("Probabilistic outputs for support vector
 * machines", 1999, section 2.2). A slope below 0 becomes 0. */
void rw_platt_fit(const struct rw_score_group *group, size_t n, struct rw_score_map *out);
