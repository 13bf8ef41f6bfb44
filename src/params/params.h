/* Parameters: struct and defaults come from params.def. */
#pragma once

#include "binning/bins.h"
#include "metric/metric.h"
#include "objective/objective.h"

enum rw_param_grow { RW_GROW_LEAVES, RW_GROW_LEVELS };
enum rw_param_split { RW_SPLIT_AUTO, RW_SPLIT_MART, RW_SPLIT_NEWTON };
enum rw_param_rounding { RW_ROUND_STOCHASTIC, RW_ROUND_NEAREST };

enum { RW_AUTO = -1 }; /* a number that is chosen when training begins */

/* What each type of row is in the struct. */
#define RW_FIELD_INT    int
#define RW_FIELD_REAL   double
#define RW_FIELD_CHOICE int
#define RW_FIELD_TEXT   const char *
#define RW_FIELD_SEED   uint64_t

/* A rate of A:B:N: the field has A. */
struct rw_rate_schedule {
    double last;  /* B */
    int n_rounds; /* N; 0: the rate is the same in all rounds */
};

/* A parameter's index in the table: RW_AT_PARAM_leaves. */
enum rw_param_at {
#define RW_PARAM(type, field, ...) RW_AT_PARAM_##field,
#include "params/params.def"
    RW_N_PARAMS
};

enum { RW_PARAM_ROOM = 80 }; /* for the text of a number, a word or a schedule */

struct rw_params {
#define RW_PARAM(type, field, ...) RW_FIELD_##type field;
#include "params/params.def"
    uint8_t is_set[RW_N_PARAMS];    /* by the user */
    uint8_t is_strict[RW_N_PARAMS]; /* and by rw_params_set, so that having no effect is reported */
    uint8_t is_idle[RW_N_PARAMS];   /* it was set, has no effect, and is at its default instead */
    uint8_t is_chosen[RW_N_PARAMS]; /* it was `auto`, and is chosen by the size of the data */
    uint8_t on_no_effect;           /* enum rw_no_effect */
    struct rw_rate_schedule schedule; /* of `rate` */
    char text[RW_PARAM_ROOM];         /* rw_params_get's answer */
    struct rw_eval_params eval;       /* rw_params_eval's */
    struct rw_arena arena;            /* has the texts, also those that were replaced */
};

/* What trains: a row of the table of objectives, or its variant; and the rule of that. */
const struct rw_objective *rw_params_objective(const struct rw_params *params);
const struct rw_objective *rw_params_objective_rule(const struct rw_params *params,
                                                    struct rw_objective_rule *rule);
/* "800M", 800 million bytes; K, M, G and T, or none of them. "auto": 0. Returns 0 for another
 * text. */
int rw_params_bytes(const char *text, uint64_t *bytes);
/* "1,0.5": two weights or more, one of them over 0. weight: [RW_MAX_LABELS]. Returns how many; 0
 * for another text. */
int rw_label_weights(const char *text, double *weight);
/* What bin boundaries depend on, `ignore` aside. */
struct rw_cut_rule rw_params_cut_rule(const struct rw_params *params);
/* Most leaves of a tree, for a training set of n_docs documents. */
int rw_params_leaves(const struct rw_params *params, uint32_t n_docs);
/* What `split`, `rate` and `sample-features` are where they are `auto`. */
void rw_params_choose(struct rw_params *params, uint32_t n_docs, uint32_t n_features);
/* The rate of the tree of a round, from 0, counted from a model's first tree on; of parameters
 * whose rate is not `auto`. It depends on nothing else. */
double rw_params_rate_of_round(const struct rw_params *params, uint32_t round);
/* Does the value of the parameter of that index stand in the model file? */
int rw_params_in_model(struct rw_params *params, int at);
/* Does training tell relevant documents from others, by `relevant`? Metrics apart. */
int rw_params_trains_on_relevance(const struct rw_params *params);
/* Fails with RW_ERR_ARGUMENT if `written` is a file that a parameter names; NULL: nothing is
 * written. */
int rw_params_check_apart(struct rw_ctx *ctx, const struct rw_params *params, const char *written);

/* ---- the rows of params.def as data: what reads, writes and names parameters walks over this ----
 */

struct rw_param_row {
    struct rw_param_info info;
    size_t offset;      /* of the field in struct rw_params */
    double least, most; /* INT and REAL: included in the range */
    const char *word;   /* INT and REAL: may stand for a number; NULL: none */
    int word_value;     /* the field's value for it, outside of the range */
    const char *needs;  /* conditions of an effect, beside its roles': see params.def */
};

extern const struct rw_param_row rw_param_rows[RW_N_PARAMS];

/* The index of a name; -1 if it is unknown. */
int rw_param_find(const char *name);
/* The index of a word in "a|b|c"; -1 if it is not one of them. */
int rw_param_word(const char *words, const char *word);
/* Sets a parameter by its index, without marking it as set by the user. */
int rw_param_assign(struct rw_ctx *ctx, struct rw_params *params, int at, const char *value);
/* Gives a TEXT parameter a text that is not checked, which becomes its own. */
int rw_params_own_text(struct rw_ctx *ctx, struct rw_params *params, int at, char *text);

/* Parameters that have no effect: the one place that judges them, by the column `needs` of
 * params.def.
 *
 * A training judges its parameters once, when `auto` has become a value and it is known what is
 * measured and which device is used. A parameter without effect is one warning, and is at its
 * default from then on, so that model files of equal trees are equal. */
/* What the conditions of params.def ask for beyond the parameters themselves. */
enum { RW_FACT_UNKNOWN = -1 }; /* a condition that depends on it counts as met */
struct rw_facts {
    int grows;     /* 1: trees are grown; 0: those of a model are refitted */
    int trains;    /* 0: nothing is trained, only measured */
    int is_custom; /* 1: the caller computes the gradients */
    int n_valid;   /* validation sets */
    int on_gpu;    /* 1: trained on a GPU */
    int draws;     /* 1: queries are drawn apart from the training, such as folds */
    int has_table; /* 1: some of the data is CSV or TSV; 0: if the context has read some */
};
#define RW_FACTS_UNKNOWN ((struct rw_facts){-1, -1, -1, -1, -1, -1, -1}) /* RW_FACT_UNKNOWN */

/* Gives parameters without effect their defaults, and reports those that rw_params_set has changed,
 * by rw_params_no_effect. RW_ERR_ARGUMENT: there is one, and they are errors. */
int rw_params_drop_idle(struct rw_ctx *ctx, struct rw_params *params, const struct rw_facts *facts);
/* Only reports them. */
int rw_params_judge(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_facts *facts);
