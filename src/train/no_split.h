/* Why no tree could be split, in words. */
#ifndef RW_TRAIN_NO_SPLIT_H
#define RW_TRAIN_NO_SPLIT_H

#include "params/params.h"
#include "tree/engine.h"

/* The likeliest cause and what to change, into `text`, by all ranks together. params: of the
 * training, effective; train: this rank's; gain: [n_docs], or NULL where the objective has none;
 * info: what the engine made of the data. */
int rw_explain_no_split(struct rw_ctx *ctx, const struct rw_params *params,
                        const struct rw_dataset *train, uint32_t all_docs, const double *gain,
                        const struct rw_engine_info *info, char *text, size_t size);

#endif
