/* Rankwood's scoring: reads a model's file and scores documents with it. This part of the public
 * interface is also a library of its own, librankwood-score, which needs libc and libm alone; the
 * rest is rankwood.h, which includes this file.
 *
 * Rules that hold everywhere, said once:
 * - A function that can fail returns RW_OK (0) or a negative `enum rw_status`; the text stands in
 *   the context: rw_last_error(ctx). Results come by pointers named `out`; after a failure *out is
 *   NULL and nothing needs freeing. The library never prints and never exits.
 * - `_new`/`_read`/`_open` give an object to the caller, who ends it with `_free`/`_close`; these
 *   take NULL. Every other pointer is borrowed for the duration of the call, unless it says so.
 * - A pointer must not be NULL unless its description says what NULL means.
 * - Documents ("docs", rows) are numbered from 0 in the order of the input. Feature ids are those of
 *   the data, 0 to 65,535.
 * - Arrays are row-major; their shape stands beside them: [n_docs].
 * - Thread-safety: a context belongs to one thread at a time. Models and scorers do not change
 *   after they are made and may be used by several threads at once.
 * - Functions that compute take the default floating-point environment (to nearest, no flushing to
 *   zero, no traps) for the call and put the caller's back: results do not depend on it.
 */
#ifndef RANKWOOD_SCORE_H
#define RANKWOOD_SCORE_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define RW_API __attribute__((visibility("default")))
#else
#define RW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define RW_VERSION "0.2.0"

/* Limits. Feature ids are 0 to RW_MAX_FEATURE, so an array by id has RW_FEATURE_IDS elements. */
#define RW_MAX_DOCS    2147483647u /* of a data set, or of a call */
#ifndef RW_MAX_FEATURE /* a library that is fuzzed has fewer */
#define RW_MAX_FEATURE 65535
#endif
#define RW_FEATURE_IDS (RW_MAX_FEATURE + 1)
#define RW_MAX_THREADS 4096

enum rw_status {
    RW_OK = 0,
    RW_ERR_MEMORY = -1,      /* an allocation failed; nothing else changed */
    RW_ERR_IO = -2,          /* the operating system refused: file, reason */
    RW_ERR_PARSE = -3,       /* text that is not what it should be: file, line, column, expected */
    RW_ERR_FORMAT = -4,      /* a cache or model that is damaged, of another version, or hostile */
    RW_ERR_DATA = -5,        /* well-formed data that cannot be used as asked */
    RW_ERR_ARGUMENT = -6,    /* misuse: a parameter out of range or unknown */
    RW_ERR_UNSUPPORTED = -7, /* not built in, or the engine cannot do it */
    RW_ERR_INTERRUPTED = -8, /* a callback asked to give up */
    RW_ERR_INTERNAL = -9,    /* a broken promise of the library; please report */
    RW_ERR_MACHINE = -10     /* a disk is full or fails, a GPU failed: trying again may help */
};

struct rw_ctx;   /* errors, log, threads */
struct rw_model; /* a trained ensemble; needs nothing else */

RW_API int rw_ctx_new(struct rw_ctx **out);
RW_API void rw_ctx_free(struct rw_ctx *ctx);
/* The text of the last failure; valid until the next call with this context. */
RW_API const char *rw_last_error(const struct rw_ctx *ctx);
enum rw_log_level { RW_LOG_DEBUG = 0, RW_LOG_NOTE = 1, RW_LOG_WARNING = 2 };
/* One line without a newline. Called from the calling thread only. */
typedef void (*rw_log_fn)(void *user, enum rw_log_level level, const char *line);
RW_API void rw_ctx_set_log(struct rw_ctx *ctx, rw_log_fn log, void *user);
/* What a call is doing. */
struct rw_progress {
    const char *stage;    /* "cross-validation", "lambdas", ...; static; NULL: nothing that is counted */
    uint64_t done, total; /* of its work */
};
/* Nonzero: the call shall end. */
typedef int (*rw_poll_fn)(void *user, const struct rw_progress *progress);
/* Functions that read or compute call `poll` about ten times a second, from the calling thread only; NULL:
 * never. A call that shall end returns RW_ERR_INTERRUPTED as soon as it can, and so does every later one with
 * this context, until `poll` is set again. A training whose hooks have should_stop ends as if that had said
 * so. `poll` must not use the context. RW_ERR_MEMORY. */
RW_API int rw_ctx_set_poll(struct rw_ctx *ctx, rw_poll_fn poll, void *user);
/* 0: as many as processors, affinity, control groups and SLURM_CPUS_PER_TASK allow, as at first. Never changes a result. A training goes on with those it began with. */
RW_API int rw_ctx_set_threads(struct rw_ctx *ctx, int n_threads);

/* --- models --- */
RW_API int rw_model_read(struct rw_ctx *ctx, const char *path, struct rw_model **out);
/* A model of a file's bytes. text: [n_bytes]; `name` stands for the file's in messages. */
RW_API int rw_model_read_memory(struct rw_ctx *ctx, const char *name, const char *text,
                                size_t n_bytes, struct rw_model **out);
RW_API void rw_model_free(struct rw_model *model);
RW_API int rw_model_n_trees(const struct rw_model *model);
struct rw_feature_use {
    uint32_t feature;
    const char *name; /* "" without a name; the model's */
    uint64_t n_splits;
    double gain;      /* sum of its splits' gains */
};
/* Features in use by falling gain: returns how many there are, or RW_ERR_MEMORY; writes at most `room`. */
RW_API int rw_model_features(const struct rw_model *model, struct rw_feature_use *uses, int room);
/* The name of a feature; "" without one. */
RW_API const char *rw_model_feature_name(const struct rw_model *model, uint32_t feature);

/* --- from scores to probabilities --- */
/* The map that a model was given (rw_model_calibrate in rankwood.h): the probability that a document's
 * label is at least `relevant`, by its score. It never falls as the score rises, but for the rounding of
 * a logistic one. */
struct rw_calibration {
    const char *method; /* "isotonic" or "logistic"; static */
    double relevant;
    double slope, intercept; /* logistic: 1 / (1 + exp(-(slope x score + intercept))) */
    /* Isotonic: straight lines between knots, constant beyond the first and the last; the model's */
    int n_knots;
    const double *score;       /* [n_knots] ascending */
    const double *probability; /* [n_knots] */
};
/* 1; or 0 if the model has none, where *out is zeroed. */
RW_API int rw_model_calibration(const struct rw_model *model, struct rw_calibration *out);
/* Probabilities of scores by all trees. scores: [n]; probabilities: [n], written, and may be `scores`
 * itself. RW_ERR_DATA: the model has no map. */
RW_API int rw_model_probabilities(struct rw_ctx *ctx, const struct rw_model *model,
                                  const double *scores, size_t n, double *probabilities);

/* --- scoring rows in memory --- */
/* A model made ready to score rows on the CPU, by any number of threads at once. All the work of
 * making it ready is done when it is made, none in the calls that score: in a server, load and
 * prepare the next model aside, then swap the pointer that the threads take theirs from. */
struct rw_scorer;
/* The first `n_trees` trees; 0 takes all. Context and model are borrowed for the call only.
 * RW_ERR_ARGUMENT: the model has not so many trees. */
RW_API int rw_scorer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                         struct rw_scorer **out);
RW_API void rw_scorer_free(struct rw_scorer *scorer);
/* Dense documents, values [n_docs][n_features] of features first_feature, first_feature + 1, ...
 * NaN is missing, other features are absent. scores: [n_docs], written: the doubles of rw_predict.
 * ctx: its threads share the documents, and it takes the text of an error; NULL: all is done by the
 * calling thread, as a server with threads of its own wants it. RW_ERR_ARGUMENT: features or
 * documents beyond what ids and data sets have; RW_ERR_DATA: the columns are not those that the
 * model was trained on (with first_feature 0, their number differs from the model's; else, the last
 * feature is beyond its columns); RW_ERR_MEMORY. */
RW_API int rw_scorer_rows(struct rw_ctx *ctx, const struct rw_scorer *scorer, const float *values,
                          uint32_t n_docs, uint32_t n_features, uint32_t first_feature,
                          double *scores);
/* One document. values: [n_values] of features first_feature, ..., which are not checked: as many
 * as rw_scorer_rows accepts. */
RW_API double rw_scorer_one(const struct rw_scorer *scorer, const float *values, size_t n_values,
                            uint32_t first_feature);
/* The probability of a score of these, as rw_model_probabilities has it; NaN where the model has no map,
 * or the scorer not all of its trees. */
RW_API double rw_scorer_probability(const struct rw_scorer *scorer, double score);

#ifdef __cplusplus
}
#endif
#endif
