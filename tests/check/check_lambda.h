/* Made training sets without features, for the checks of lambdas and metrics on the device. */
#pragma once

#include "dataset/dataset.h"
#include "gpu/device/device.h"
#include "tree/engine.h"
#include "metric/metric.h"

enum lambda_labels {
    LABELS_SKEWED, /* 0 to 4, as a public set has them */
    LABELS_SAME,
    LABELS_NONE, /* all 0 */
    LABELS_SINGLE,
    LABELS_FRACTIONS, /* nearly all different */
    N_LABELS
};
enum lambda_gains { GAINS_EXP, GAINS_LINEAR, GAINS_WILD, N_GAINS };
enum lambda_scores {
    SCORES_NORMAL, /* and better for better labels */
    SCORES_SAME,
    SCORES_FEW,   /* few distinct values */
    SCORES_ZEROS, /* -0 and +0 among others */
    SCORES_HUGE,  /* differences overflow */
    SCORES_TINY,  /* denormal doubles, and floats when subtracted */
    SCORES_RISING,
    SCORES_FALLING,
    SCORES_CLOSE, /* differences of the last bits */
    N_SCORES
};

struct lambda_set {
    struct rw_dataset data; /* its arrays are owned by this struct */
    uint32_t longest;
    double *gain;
    double *score;
    uint8_t *sampled; /* by document */
    double max_weight;
};

/* sizes: [n_queries] documents of each query, 0 too. */
void lambda_set_init(struct lambda_set *set, const uint32_t *sizes, uint32_t n_queries);
void lambda_set_release(struct lambda_set *set);
void lambda_set_labels(struct lambda_set *set, enum lambda_labels labels, enum lambda_gains gains,
                       uint64_t seed);
void lambda_set_scores(struct lambda_set *set, enum lambda_scores scores, uint64_t seed);
/* kind 0: none, 1: by document, 2: by query, 3: by document, many of them 0. */
void lambda_set_weights(struct lambda_set *set, int kind, uint64_t seed);
void lambda_set_sample(struct lambda_set *set, double share, uint64_t seed);
double lambda_unit(uint64_t seed, uint64_t item); /* in [0, 1) */

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct lambda_run {
    struct rw_ctx *ctx;
    struct rw_device *device;
    uint64_t seed;
    int quick, dead;
    const char *stage;
    uint64_t n_equal, n_failed, n_refused;
};

void lambda_failed(struct lambda_run *run, const char *what, const char *text);
/* The same with the context's text: nothing more can be run. */
void lambda_device_failed(struct lambda_run *run, const char *what);

/* All metrics of a set, twice over other scores. */
void lambda_check_metrics(struct lambda_run *run, struct lambda_set *set, enum lambda_scores scores,
                          enum rw_empty empty, enum rw_ties ties, double relevant);
/* Gradients of rw_cuda_lambda against the host's, twice over other scores. */
void lambda_check_gradients(struct lambda_run *run, struct lambda_set *set,
                            const struct rw_engine_rules *rules, enum lambda_scores scores,
                            const char *what);
/* 0: around every size, 1: tiny queries, 2: as public sets have them, 3: one giant, 4: giants. */
enum { LAMBDA_SHAPES = 5 };
void lambda_make_set(struct lambda_run *run, struct lambda_set *set, int shape);
/* Makes a set with labels, gains, the weights of a turn, and a sample if is_sampled is 1. */
void lambda_make_turn(struct lambda_run *run, struct lambda_set *set, int shape,
                      enum lambda_labels labels, enum lambda_gains gains, uint32_t turn,
                      int is_sampled);
/* Returns the objective that a rule of `base` selects, after adding what depends on the set. */
const struct rw_objective *lambda_objective(const struct lambda_set *set,
                                            const struct rw_objective *base,
                                            struct rw_objective_rule *rule);
/* check_lambda_neighbours.c: the stage of YetiRank's gradients, and their expected values:
 * [n_docs] each, written. */
enum { LAMBDA_TREE = 5, LAMBDA_FIRST_DOC = 123456789 };
void lambda_stage_neighbours(struct lambda_run *run);
int lambda_expect_neighbours(struct rw_ctx *ctx, const struct lambda_set *set,
                             const struct rw_engine_rules *rules, int64_t *lambda,
                             int64_t *hessian);
/* check_lambda_queries.c: the stages of real gradients, and their expected values:
 * [n_docs] each, written. Returns the status of rw_gradients_check, and may set the context's
 * message. */
void lambda_stage_queries(struct lambda_run *run);
void lambda_stage_deltas(struct lambda_run *run);
int lambda_expect_reals(struct rw_ctx *ctx, const struct lambda_set *set,
                        const struct rw_engine_rules *rules, double *gradient, double *hessian);
/* lambda_bounded_check.cu. d_wrong: [4] floats for which the device's reciprocals, quotients,
 * roundings and exp differ from the plain ones, added to. Returns a cudaError_t. */
int lambda_bounded_check_run(unsigned long long *d_wrong, void *stream);
/* --bench: prints milliseconds; 0, or 1 after a failure. quick: lambdas of the public sets' shapes.
 */
int lambda_bench(struct rw_ctx *ctx, struct rw_device *device, int quick);
