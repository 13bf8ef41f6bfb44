/* A training: what it consists of, for the files that prepare it (booster_prepare.c), run its
 * rounds (booster_rounds.c), and begin and end it (booster.c). */
#ifndef RW_TRAIN_BOOSTER_H
#define RW_TRAIN_BOOSTER_H

#include "binning/binned.h"
#include "train/category_sets.h"
#include "train/checkpoint.h"
#include "train/choose_device.h"
#include "train/continuation.h"
#include "train/eval_sets.h"
#include "train/feature_rules.h"
#include "train/model_size.h"
#include "model/model_columns.h"
#include "tree/grower.h"

struct booster {
    struct rw_ctx *ctx;
    struct rw_params *own; /* the effective values, those without effect at their defaults; owned */
    struct rw_params params; /* a shallow copy of them; its texts are borrowed */
    const struct rw_train_hooks *hooks;
    const struct rw_dataset *given[RW_MAX_SETS]; /* as the caller knows them */
    const struct rw_dataset *set[RW_MAX_SETS];   /* codes in place of categories */
    int n_sets;
    struct rw_binned train;        /* borrowed parts; without bins: the values are in set[0] */
    struct rw_binned made;         /* of many ranks: bins, where there were values; owned */
    uint32_t all_docs;             /* of the training set, on all ranks */
    uint64_t bytes_before;         /* sent to other ranks, before the round */
    uint32_t *feature, n_features; /* [n_features] ids in the training set, ascending */
    struct rw_column_rule columns; /* what validation sets fit; kind and width of the model */
    struct rw_feature_name *names;
    int32_t n_names;
    struct rw_feature_rules features; /* owned; params' lists are its texts */
    struct rw_category_sets category_sets;
    double *gain; /* [n_docs] of an objective that ranks; of several labels one after another */
    struct rw_eval_sets eval_sets;
    struct rw_grow_rules grow_rules;
    struct rw_engine *engine;
    struct rw_engine_rules rules;
    struct rw_objective_rule rule; /* the objective's */
    struct rw_choice_of_device choice;
    struct rw_grower *grower;
    int32_t *leaf_slot;                  /* [max leaves] */
    double *scores;                      /* [n_docs] has_own_gradients only */
    double *gradients, *hessians;        /* [n_docs] the caller's */
    struct rw_gradients *handed;         /* NULL: the caller's, or an engine's own */
    const struct rw_model *init;         /* NULL, or to continue from */
    struct rw_continuation continuation; /* with init only */
    struct rw_model *model;
    size_t tree_room;
    struct rw_checkpointer checkpointer;
    int first_round;   /* rounds of the model to continue from */
    int resumed_round; /* the last one of a checkpoint, else first_round */
    int round;         /* the last one that has its tree */
    int n_complete;    /* and those whose tree is in the scores and measured */
    int n_empty_trees;
    struct rw_model_size size; /* of the model's file, for those who reserve space */
    uint64_t n_pairs;          /* of a round, where they take seconds; else 0 */
    int is_ended;              /* by on_round */
    int is_interrupted;        /* ended by the caller, who would have had more rounds */
    char no_split[256]; /* why training ended: no tree could be split any more; "": otherwise */
};

/* Tells of a stage that began at *start, and begins the next one. */
void rw_booster_stage(const struct booster *b, const char *name, double *start);
/* NULL: the caller gives the gradients. */
const struct rw_objective *rw_booster_objective(const struct booster *b);
/* Gradients are made here, from scores that the engine hands out. */
static inline int rw_booster_hands_gradients(const struct booster *b)
{
    return !b->engine->rules.objective;
}
int rw_booster_params(struct booster *b, struct rw_model_params *out);

/* All that is there before the first round; the sets are taken. */
int rw_booster_prepare(struct booster *b, const struct rw_params *params);
/* What that would need, and nothing is loaded. */
int rw_booster_plan(struct booster *b, const struct rw_params *params, struct rw_plan *out);

/* Until training is over. What was done until then is kept in a checkpoint, also if a round fails.
 */
int rw_booster_run_rounds(struct booster *b);
int rw_booster_explain_no_split(struct booster *b);

#endif
