/* What a training leaves in its model: parameters, and which trees. */
#ifndef RW_TRAIN_MODEL_PARAMS_H
#define RW_TRAIN_MODEL_PARAMS_H

#include "train/eval_sets.h"

/* Those that shape trees. ignore: [RW_FEATURE_IDS], NULL: none; is_custom: gradients are the
 * caller's. out: zeroed. */
int rw_model_params_make(struct rw_ctx *ctx, struct rw_params *params,
                         const struct rw_eval_sets *eval, const uint8_t *ignore, int is_custom,
                         struct rw_model_params *out);

/* Keeps the trees up to the best round (0: all of them), without empty ones at the end; the first
 * `kept` stay. */
void rw_model_cut(struct rw_model *model, int kept, int best_round);

#endif
