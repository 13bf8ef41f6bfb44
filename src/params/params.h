/* The parameters of training and evaluation. The struct, its defaults and the table of rows are
 * generated from params.def. */
#pragma once

#include "binning/bins.h"
#include "metric/metric.h"
#include "objective/objective.h"

enum rw_param_grow { RW_GROW_LEAVES, RW_GROW_LEVELS, RW_GROW_SYMMETRIC };
enum rw_param_split { RW_SPLIT_AUTO, RW_SPLIT_MART, RW_SPLIT_NEWTON };
enum rw_param_stop_rule {
    RW_STOP_AUTO,
    RW_STOP_BEST,
    RW_STOP_PAIRED,
    RW_STOP_SMOOTH,
    RW_STOP_FOLDS
};
enum rw_param_rounding { RW_ROUND_STOCHASTIC, RW_ROUND_NEAREST };

enum { RW_FEW_QUERIES = 1000 }; /* most of them for which `early-stop-rule auto` is `paired` */
enum { RW_AUTO = -1 };          /* `auto` in a numeric field; 0 in `threads` and `batch` */

/* The type of a row's field in the struct, by the type of the row. */
#define RW_FIELD_INT    int
#define RW_FIELD_REAL   double
#define RW_FIELD_CHOICE int
#define RW_FIELD_TEXT   const char *
#define RW_FIELD_SEED   uint64_t

/* The learning-rate schedule A:B:N, or a list A,B,...,Z of a rate for each round. A is in the field
 * `rate`. */
struct rw_rate_schedule {
    double last;        /* B, or Z */
    int n_rounds;       /* N, or the length of the list; 0: the rate is equal in all rounds */
    const double *each; /* [n_rounds] the list; NULL: no list */
    const char *list;   /* the text of the list; NULL: no list */
};

/* A parameter's index in the table, such as RW_AT_PARAM_leaves. */
enum rw_param_at {
#define RW_PARAM(type, field, ...) RW_AT_PARAM_##field,
#include "params/params.def"
    RW_N_PARAMS
};

enum { RW_PARAM_ROOM = 80 }; /* bytes for the text of a number, a word or a schedule */

struct rw_params {
#define RW_PARAM(type, field, ...) RW_FIELD_##type field;
#include "params/params.def"
    uint8_t is_set[RW_N_PARAMS];      /* set by the user */
    uint8_t is_strict[RW_N_PARAMS];   /* set by rw_params_set, so that a parameter without effect is
                                         reported */
    uint8_t is_idle[RW_N_PARAMS];     /* was set but has no effect, so it has its default */
    uint8_t is_chosen[RW_N_PARAMS];   /* was `auto`; the size of the data has chosen the value */
    uint8_t on_no_effect;             /* enum rw_no_effect */
    struct rw_rate_schedule schedule; /* of `rate` */
    char text[RW_PARAM_ROOM];         /* result of rw_params_get */
    struct rw_eval_params eval;       /* result of rw_params_eval */
    struct rw_arena arena;            /* owns the texts, including replaced ones */
};

/* Returns the objective that trains with these parameters: the row of the table of objectives that
 * `objective` names, or a variant of the row that another parameter selects. */
const struct rw_objective *rw_params_objective(const struct rw_params *params);
/* Like rw_params_objective. Also fills the rule of the objective. */
const struct rw_objective *rw_params_objective_rule(const struct rw_params *params,
                                                    struct rw_objective_rule *rule);
/* Parses a number of bytes such as "800M" (800 million), with suffix K, M, G or T or without a
 * suffix. Returns 1 and sets *bytes, to 0 for "auto"; or returns 0 for other text, also for "0". */
int rw_params_bytes(const char *text, uint64_t *bytes);
/* Parses two or more weights such as "1,0.5", at least one of them positive. weight:
 * [RW_MAX_LABELS]. Returns their number; 0 for other text. */
int rw_label_weights(const char *text, double *weight);
/* Returns the settings that bin boundaries depend on, except `ignore` and `categorical`. */
struct rw_cut_rule rw_params_cut_rule(const struct rw_params *params);
/* Returns the maximum number of leaves per tree for a training set of n_docs documents. */
int rw_params_leaves(const struct rw_params *params, uint32_t n_docs);
/* The size of the data, which chooses values for `auto`. Documents and queries are those of all
 * workers. */
struct rw_data_size {
    uint32_t n_docs, n_features; /* of the training set */
    int n_valid;                 /* number of validation sets */
    int has_custom_metric;       /* 1: a metric of the caller stops training */
    uint64_t n_valid_queries;    /* of the first validation set; 0: unknown */
};
/* Does the work of rw_params_resolve_valid, also for a custom metric. */
int rw_params_resolve_size(struct rw_ctx *ctx, struct rw_params *params,
                           const struct rw_data_size *size);
/* Replaces `auto` in `split`, `rate` and `sample-features` by values. */
void rw_params_choose(struct rw_params *params, uint32_t n_docs, uint32_t n_features);
/* Returns 1 if a cross-validation of the training set chooses the number of rounds (rw_tune). */
int rw_params_by_folds(const struct rw_params *params);
/* Returns 1 if each tree samples queries, documents or features. */
int rw_params_sample(const struct rw_params *params);
/* Returns the learning rate of a round, counted from 0 at the model's first tree. `rate` must
 * not be `auto`. The result depends only on the arguments. */
double rw_params_rate_of_round(const struct rw_params *params, uint32_t round);
/* Returns 1 if the model file stores the parameter with index `at`. */
int rw_params_in_model(struct rw_params *params, int at);
/* Returns 1 if training uses the parameter `relevant`. Metrics are not considered. */
int rw_params_trains_on_relevance(const struct rw_params *params);
/* Fails with RW_ERR_ARGUMENT if `written` is a file that a parameter names. NULL: no file is
 * written. */
int rw_params_check_not_input(struct rw_ctx *ctx, const struct rw_params *params,
                              const char *written);

/* ---- the rows of params.def as data, for code that handles all parameters alike ---- */

struct rw_param_row {
    struct rw_param_info info;
    size_t offset;      /* of the field in struct rw_params */
    double least, most; /* INT and REAL: range, inclusive */
    const char
        *word; /* INT and REAL: a word that is allowed in place of a number; NULL: numbers only */
    int word_value; /* the field's value for the word, outside of the range */
    const char
        *needs; /* conditions of an effect, in addition to those of its roles; see params.def */
};

extern const struct rw_param_row rw_param_rows[RW_N_PARAMS];

/* Returns the index of a name; -1: unknown. */
int rw_param_find(const char *name);
/* Returns the index of a word in "a|b|c"; -1: not found. */
int rw_param_word(const char *words, const char *word);
/* Sets the parameter with index `at` without marking it as set by the user. */
int rw_param_assign(struct rw_ctx *ctx, struct rw_params *params, int at, const char *value);
/* Stores an unchecked text in a TEXT parameter, which takes ownership of it. */
int rw_params_own_text(struct rw_ctx *ctx, struct rw_params *params, int at, char *text);

/* ---- parameters without effect ---- */

/* Facts about a training, for the conditions in the column `needs` of params.def that depend on
 * more than the parameters.
 *
 * A training judges its parameters once, when `auto` values are chosen and the metrics and the
 * device are known. A parameter without effect causes one warning and is reset to its default,
 * so that equal trees give equal model files. */
enum { RW_FACT_UNKNOWN = -1 }; /* conditions on an unknown fact count as met */
struct rw_facts {
    int grows;     /* 1: trees are grown; 0: a model is refitted */
    int trains;    /* 0: only metrics are measured */
    int is_custom; /* 1: the caller computes the gradients */
    int n_valid;   /* number of validation sets */
    int on_gpu;    /* 1: trained on a GPU */
    int draws;     /* 1: queries are sampled outside of the training, for folds for example */
    int has_table; /* 1: some of the data is CSV or TSV; 0: only if the context has read such files
                    */
};
#define RW_FACTS_UNKNOWN ((struct rw_facts){-1, -1, -1, -1, -1, -1, -1}) /* RW_FACT_UNKNOWN */
/* Facts about several trainings that are measured, where the seed also divides the queries. */
#define RW_FACTS_MEASURED(gpu) \
    ((struct rw_facts){.grows = 1, .trains = 1, .n_valid = 1, .on_gpu = (gpu), .draws = 1})

/* Resets parameters without effect to their defaults. It reports those that rw_params_set has
 * changed, in the way that rw_params_on_no_effect has set. RW_ERR_ARGUMENT: a parameter has no
 * effect, and this is an error. */
int rw_params_drop_idle(struct rw_ctx *ctx, struct rw_params *params, const struct rw_facts *facts);
/* Reports parameters without effect, but does not change them. */
int rw_params_judge(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_facts *facts);
