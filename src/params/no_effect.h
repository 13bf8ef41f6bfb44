/* Parameters that have no effect: the one place that judges them, by the column `needs` of
 * params.def.
 *
 * A training judges its parameters once, when `auto` has become a value and it is known what is
 * measured and which device is used. A parameter without effect is one warning, and is at its
 * default from then on, so that model files of equal trees are equal. */
#ifndef RW_PARAMS_NO_EFFECT_H
#define RW_PARAMS_NO_EFFECT_H

#include "params/params.h"

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
#define RW_FACTS_UNKNOWN                                                                   \
    (struct rw_facts)                                                                      \
    {                                                                                      \
        .grows = RW_FACT_UNKNOWN, .trains = RW_FACT_UNKNOWN, .is_custom = RW_FACT_UNKNOWN, \
        .n_valid = RW_FACT_UNKNOWN, .on_gpu = RW_FACT_UNKNOWN, .draws = RW_FACT_UNKNOWN,   \
        .has_table = RW_FACT_UNKNOWN                                                       \
    }

/* Gives parameters without effect their defaults, and reports those that rw_params_set has changed,
 * by rw_params_no_effect. RW_ERR_ARGUMENT: there is one, and they are errors. */
int rw_params_drop_idle(struct rw_ctx *ctx, struct rw_params *params, const struct rw_facts *facts);
/* Only reports them. */
int rw_params_judge(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_facts *facts);
#endif
