/* Parameters: struct and defaults come from params.def. */
#ifndef RW_BOOST_PARAMS_H
#define RW_BOOST_PARAMS_H

#include "metric/metric.h"
#include "objective/objective.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rw_param_grow { RW_GROW_LEAVES, RW_GROW_LEVELS };
enum rw_param_split { RW_SPLIT_AUTO, RW_SPLIT_MART, RW_SPLIT_NEWTON };
enum rw_param_rounding { RW_ROUND_STOCHASTIC, RW_ROUND_NEAREST };

enum { RW_MAX_METRICS = 16 };

struct rw_params {
#define RW_P_INT(field, name, value, least, most, arg, model, help)  int field;
#define RW_P_REAL(field, name, value, least, most, arg, model, help) double field;
#define RW_P_WORD(field, name, value, words, model, help)            int field;
#define RW_P_TEXT(field, name, value, arg, model, help)              char *field;
#define RW_P_SEED(field, name, value, arg, model, help)              uint64_t field;
#include "boost/params.def"
#undef RW_P_INT
#undef RW_P_REAL
#undef RW_P_WORD
#undef RW_P_TEXT
#undef RW_P_SEED
    uint64_t set;    /* bit i: parameter i was set by the user */
    uint64_t strict; /* bit i: and by rw_params_set, so that it must have an effect */
    char text[512];  /* rw_params_get's answer */
};

const struct rw_objective *rw_params_objective(const struct rw_params *params);
void rw_params_objective_rule(const struct rw_params *params, struct rw_objective_rule *rule);
/* Most leaves of a tree, for a training set of n_docs documents. */
int rw_params_leaves(const struct rw_params *params, uint32_t n_docs);
/* RW_SPLIT_MART or RW_SPLIT_NEWTON, for a training set of n_docs documents. */
enum rw_param_split rw_params_split(const struct rw_params *params, uint32_t n_docs);
/* In (0, 1], for a training set of n_docs documents with n_features features. */
double rw_params_rate(const struct rw_params *params, uint32_t n_docs, uint32_t n_features);
double rw_params_sample_features(const struct rw_params *params, uint32_t n_docs,
                                 uint32_t n_features);
/* Parses the metrics (comma-separated in `metric`). */
int rw_params_metrics(struct rw_ctx *ctx, const struct rw_params *params, struct rw_metric *out,
                      int *n);

#ifdef __cplusplus
}
#endif
#endif
