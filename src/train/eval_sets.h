/* Metrics by round, and when to stop. */
#ifndef RW_TRAIN_EVAL_SETS_H
#define RW_TRAIN_EVAL_SETS_H

#include "params/params.h"
#include "dataset/dataset.h"
#include "model/model.h"
#include "tree/engine.h"

struct rw_eval_sets {
    struct rw_ctx *ctx;                 /* borrowed */
    const struct rw_params *params;     /* borrowed */
    const struct rw_train_hooks *hooks; /* borrowed; may be NULL */
    struct rw_gain_rule gains;
    struct rw_metric metric[RW_MAX_METRICS];
    int n_metrics; /* of the table's */
    /* Those that a device can measure, in the same order; rw_eval_sets_plan makes them. */
    struct rw_metric on_device[RW_MAX_METRICS];
    int any_uses_gain;
    int n_sets;                                 /* training set and validation sets */
    const struct rw_dataset *set[RW_MAX_SETS];  /* borrowed */
    struct rw_judgments judgments[RW_MAX_SETS]; /* of the sets that are measured */
    double *scores;                             /* [most documents of a measured set]; owned */
    /* NULL: the engine has the scores; else they are here, [n_sets], and there is no engine. */
    const double *const *given;
    struct rw_metric_value *value; /* [n_values] this round's; owned */
    char **name;                   /* [n_values] "valid1 ndcg@10"; owned */
    int n_values;
    int is_registered; /* the engine knows what will be measured */
    int stop_value;    /* which value stops training; -1: none */
    int stop_set;      /* whose value that is, from 1; 0: none */
    int lower_is_better;
    int best_round; /* 0: none yet */
    double best_value;
    /* every round's values, for the model */
    double *history;
    size_t history_room;
    int n_rounds;
};

/* sets[0] is the training set, measured only if params ask for it. */
int rw_eval_sets_init(struct rw_eval_sets *eval, struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_train_hooks *hooks, const struct rw_dataset *const *sets,
                      int n_sets);
/* From here on values are of all ranks. All ranks call it, and rw_eval_sets_round. */
int rw_eval_sets_share(struct rw_eval_sets *eval);
/* What a device can measure of a set. Returns 0 if that is nothing. */
int rw_eval_sets_plan(struct rw_eval_sets *eval, int set, struct rw_metric_plan *plan);
/* Decides which set stops training: the first validation set that is not the training set
 * (is_train: [n_sets], from 1 on). Without one, early stopping is off, with a warning. RW_ERR_DATA:
 * early stopping is on, and the metric of that set is the same for every ranking, or counts no
 * query. All workers call it, after rw_eval_sets_share. */
int rw_eval_sets_choose(struct rw_eval_sets *eval, const unsigned char *is_train);
void rw_eval_sets_release(struct rw_eval_sets *eval);
/* Measures all measured sets after `round` (from 1). engine: NULL with scores that are given. */
int rw_eval_sets_round(struct rw_eval_sets *eval, struct rw_engine *engine, int round);
/* Goes on from the metrics and the best round of a model so far, whose metrics have these names. */
int rw_eval_sets_restore(struct rw_eval_sets *eval, const struct rw_model *so_far);
/* Do the scores give the metrics of the last round, but for a custom one? RW_ERR_DATA if not. */
int rw_eval_sets_verify(struct rw_eval_sets *eval, struct rw_engine *engine);
/* Has the patience run out after `round`? */
int rw_eval_sets_is_over(const struct rw_eval_sets *eval, int round);
/* Writes names and history into the model. */
int rw_eval_sets_report(struct rw_eval_sets *eval, struct rw_model *model);
#endif
