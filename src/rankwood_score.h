/* Rankwood scoring: reads a model file and scores documents with it. To serve a model, this header
 * and the library librankwood-score suffice. The library depends on libc and libm alone. rankwood.h
 * includes this header and adds everything else, such as training and evaluation.
 *
 * An example that scores one document of three features:
 *
 *     struct rw_ctx *ctx = NULL;
 *     struct rw_model *model = NULL;
 *     struct rw_scorer *scorer = NULL;
 *     const float values[3] = {0.5f, 12, NAN};
 *     if (rw_ctx_new(&ctx) == RW_OK && rw_model_read(ctx, "model.txt", &model) == RW_OK &&
 *         rw_scorer_new(ctx, model, 0, &scorer) == RW_OK)
 *         printf("%g\n", rw_scorer_one(scorer, values, 3, 0));
 *     else if (ctx)
 *         fprintf(stderr, "%s\n", rw_last_error(ctx));
 *     rw_scorer_free(scorer);
 *     rw_model_free(model);
 *     rw_ctx_free(ctx);
 *
 * Rules for both headers:
 * - Errors: a function that can fail returns RW_OK (0) or a negative `enum rw_status`, unless its
 *   comment says otherwise. The context keeps the message, which rw_last_error returns. The library
 *   never prints, and ends the process only in rw_comm_free (rankwood.h).
 * - Results: a function writes its result through a pointer named `out`. If *out is a pointer, it
 *   is NULL after a failure, and there is nothing to free.
 * - Memory: the caller owns the object that a function returns through `out`, and frees it with the
 *   function that the comment names, which accepts NULL. Other pointers are borrowed for the call,
 *   unless the comment says otherwise. The context owns its messages.
 * - NULL: an argument may be NULL only where its comment explains what NULL means.
 * - Numbering: documents (rows) are numbered from 0 in input order. Feature ids are those of the
 *   data, 0 to 65,535.
 * - Arrays are row-major. Comments give their shape in brackets, such as [n_docs].
 * - Threads: use a context in one thread at a time. Models and the scorers of rw_scorer_new never
 *   change, so several threads may share them. Use a scorer of rw_scorer_open (rankwood.h) in one
 *   thread at a time.
 * - Floating point: functions that compute switch to the default environment for the call and then
 *   restore the caller's. The default rounds to nearest, keeps subnormal numbers and raises no
 *   traps. Results therefore do not depend on the caller's environment. */
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

/* Limits. An array with an element for every feature id has RW_FEATURE_IDS elements. */
#define RW_MAX_DOCS 2147483647u /* documents of a data set or call */
#ifndef RW_MAX_FEATURE          /* fuzzed builds have a lower limit */
#define RW_MAX_FEATURE 65535
#endif
#define RW_FEATURE_IDS (RW_MAX_FEATURE + 1)
#define RW_MAX_THREADS 4096

enum rw_status {
    RW_OK = 0,
    RW_ERR_MEMORY = -1, /* an allocation failed; nothing else changed */
    RW_ERR_IO = -2,     /* an operating-system error; the message names the file and the reason */
    /* malformed text; the message names the file, line, column and the expected text */
    RW_ERR_PARSE = -3,
    /* a cache, model, checkpoint or gzip file that is damaged, hostile or of another version */
    RW_ERR_FORMAT = -4,
    RW_ERR_DATA = -5,        /* well-formed data that does not suit the call */
    RW_ERR_ARGUMENT = -6,    /* an unknown name, a value out of range, or invalid combinations */
    RW_ERR_UNSUPPORTED = -7, /* not built in, or the engine cannot do it */
    RW_ERR_INTERRUPTED = -8, /* a callback ended the call */
    RW_ERR_INTERNAL = -9,    /* a bug in the library; please report it */
    /* a full or failing disk, a failed GPU or other worker, or a shortage such as too many open
     * files; a retry may help */
    RW_ERR_MACHINE = -10
};

struct rw_ctx;   /* holds errors, log function, threads and settings */
struct rw_model; /* a trained ensemble; independent of data and context */

/* Makes a context with default settings. The caller frees it with rw_ctx_free. RW_ERR_MEMORY: out
 * of memory. */
RW_API int rw_ctx_new(struct rw_ctx **out);
RW_API void rw_ctx_free(struct rw_ctx *ctx);
/* Returns the message of the last failure. It is valid until the next call with this context. */
RW_API const char *rw_last_error(const struct rw_ctx *ctx);
enum rw_log_level { RW_LOG_DEBUG = 0, RW_LOG_NOTE = 1, RW_LOG_WARNING = 2 };
/* Receives one line of the log, without a newline. The library calls it from the calling thread
 * only. */
typedef void (*rw_log_fn)(void *user, enum rw_log_level level, const char *line);
/* Sets the function that receives the log. NULL, the default: the log is dropped. */
RW_API void rw_ctx_set_log(struct rw_ctx *ctx, rw_log_fn log, void *user);
/* The progress of a call. */
struct rw_progress {
    /* "cross-validation", "lambdas", ...; static; NULL if the call reports no progress */
    const char *stage;
    uint64_t done, total; /* units of work */
};
/* Returns nonzero to end the call. */
typedef int (*rw_poll_fn)(void *user, const struct rw_progress *progress);
/* Sets a function that long calls run about ten times per second, from the calling thread only.
 * NULL removes it. When `poll` returns nonzero, the call returns RW_ERR_INTERRUPTED as soon as it
 * can. Later calls with this context return it too, until `poll` is set again. A training run with
 * a should_stop hook ends instead as if that hook had returned nonzero, and later calls are not
 * affected. `poll` must not use the context. Returns RW_OK or RW_ERR_MEMORY. */
RW_API int rw_ctx_set_poll(struct rw_ctx *ctx, rw_poll_fn poll, void *user);
/* Sets the number of threads, 0 to RW_MAX_THREADS. 0, the default, uses as many as processors,
 * affinity, control groups and SLURM_CPUS_PER_TASK allow. The number never changes a result. A
 * training run in progress keeps the threads it started with. RW_ERR_ARGUMENT: out of range. */
RW_API int rw_ctx_set_threads(struct rw_ctx *ctx, int n_threads);
/* Returns the number of threads, which training with the parameter `threads` sets, too. */
RW_API int rw_ctx_threads(const struct rw_ctx *ctx);

/* ---- models ---- */
/* Reads a model file. The caller frees *out with rw_model_free. RW_ERR_IO: the file cannot be read.
 * RW_ERR_FORMAT: it is damaged or no Rankwood model. */
RW_API int rw_model_read(struct rw_ctx *ctx, const char *path, struct rw_model **out);
/* Reads a model from memory. text: [n_bytes], the contents of a model file. `name` replaces the
 * file name in messages. The caller frees *out with rw_model_free. RW_ERR_FORMAT: as in
 * rw_model_read. */
RW_API int rw_model_read_memory(struct rw_ctx *ctx, const char *name, const char *text,
                                size_t n_bytes, struct rw_model **out);
RW_API void rw_model_free(struct rw_model *model);
RW_API int rw_model_n_trees(const struct rw_model *model);
struct rw_feature_use {
    uint32_t feature;
    const char *name; /* owned by the model; "" for a feature without a name */
    uint64_t n_splits;
    double gain; /* sum of the gains of its splits */
};
/* Lists the features that the trees use, largest gain first. uses: [room], written as far as it
 * reaches. Returns the number of features that the trees use, which may exceed `room`, or
 * RW_ERR_MEMORY. */
RW_API int rw_model_features(const struct rw_model *model, struct rw_feature_use *uses, int room);
/* Returns the name of a feature, or "" for a feature without a name. */
RW_API const char *rw_model_feature_name(const struct rw_model *model, uint32_t feature);

/* ---- from scores to probabilities ---- */
/* A calibration maps scores to probabilities (rw_model_calibrate in rankwood.h adds one to a
 * model). It returns the probability that a document with this score has a label of at least
 * `relevant`. Higher scores never get lower probabilities, except through rounding in the logistic
 * map. */
struct rw_calibration {
    const char *method; /* "isotonic" or "logistic"; static */
    double relevant;
    double slope, intercept; /* logistic: 1 / (1 + exp(-(slope * score + intercept))) */
    /* Isotonic: linear between knots, and constant outside them. The model owns the arrays. */
    int n_knots;
    const double *score;       /* [n_knots] ascending */
    const double *probability; /* [n_knots] */
};
/* Copies the calibration of a model to *out and returns 1. Returns 0 and zeroes *out if the model
 * has no calibration. */
RW_API int rw_model_calibration(const struct rw_model *model, struct rw_calibration *out);
/* Converts scores to probabilities. scores: [n], computed with all trees. probabilities: [n],
 * written; may be the same array as `scores`. RW_ERR_DATA: the model has no calibration. */
RW_API int rw_model_probabilities(struct rw_ctx *ctx, const struct rw_model *model,
                                  const double *scores, size_t n, double *probabilities);

/* ---- scoring rows in memory ---- */
/* A scorer is a model prepared for fast scoring. Any number of threads may score rows at once with
 * a scorer of rw_scorer_new, on the CPU. Only rw_scorer_new takes time to prepare the model. To
 * replace the model of a running server, create the new scorer first. Then swap the pointer that
 * the threads read. */
struct rw_scorer;
/* Prepares the first `n_trees` trees; 0 means all. The scorer keeps no reference to the context
 * or the model. The caller frees it with rw_scorer_free. RW_ERR_ARGUMENT: the model has fewer
 * trees. */
RW_API int rw_scorer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                         struct rw_scorer **out);
RW_API void rw_scorer_free(struct rw_scorer *scorer);
/* Scores dense documents.
 *
 * - values: [n_docs][n_features] of features first_feature, first_feature + 1, ... NaN is missing.
 *   All other features are absent. A category is a whole number.
 * - scores: [n_docs], written; the same doubles as rw_predict.
 * - ctx: its threads share the documents, and it receives error messages. With NULL the calling
 *   thread does all the work, which suits servers with their own threads.
 *
 * RW_ERR_ARGUMENT: too many features or documents, or a feature id above RW_MAX_FEATURE.
 * RW_ERR_DATA: the columns do not match the model's. With first_feature 0, their number must equal
 * the number of columns of the training set (for LETOR text, its greatest id plus 1). If the model
 * does not record this number, the columns must include all features that the trees use. With
 * another first_feature, the last feature must be among the columns of the training set, unless the
 * training set was LETOR text or the model does not record its columns. Also if a feature's
 * categories are words. RW_ERR_MEMORY: out of memory. */
RW_API int rw_scorer_rows(struct rw_ctx *ctx, const struct rw_scorer *scorer, const float *values,
                          uint32_t n_docs, uint32_t n_features, uint32_t first_feature,
                          double *scores);
/* Returns the score of one document. values: [n_values] of features first_feature, first_feature +
 * 1, ... The arguments are not checked; the limits of rw_scorer_rows apply. */
RW_API double rw_scorer_one(const struct rw_scorer *scorer, const float *values, size_t n_values,
                            uint32_t first_feature);
/* Returns the probability for a score of this scorer, as rw_model_probabilities computes it.
 * Returns NaN if the model has no calibration, or if the scorer does not use all trees. */
RW_API double rw_scorer_probability(const struct rw_scorer *scorer, double score);

#ifdef __cplusplus
}
#endif
#endif
