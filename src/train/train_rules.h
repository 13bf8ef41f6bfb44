/* The rules of the engine and of the grower that follow from a training's parameters. */
#ifndef RW_TRAIN_TRAIN_RULES_H
#define RW_TRAIN_TRAIN_RULES_H

#include "params/params.h"
#include "tree/grower.h"

/* For a training set of n_docs documents. */
void rw_train_grow_rules(const struct rw_params *params, uint32_t n_docs,
                         struct rw_grow_rules *rules);
/* objective: one that engines compute, or NULL; ignore: [RW_FEATURE_IDS], or NULL. Both, and texts
 * of params, are borrowed. */
void rw_train_engine_rules(const struct rw_params *params, const struct rw_grow_rules *grow,
                           const struct rw_objective *objective, const uint8_t *ignore,
                           struct rw_engine_rules *rules);

#endif
