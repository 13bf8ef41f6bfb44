/* A training set and a validation set as codes that are made once, for one training after another,
 * each on features of its own: those that it leaves out cost it nothing. */
#ifndef RW_TRAIN_RESIDENT_H
#define RW_TRAIN_RESIDENT_H

#include "base/ctx.h"

struct rw_binned;
struct rw_dataset;
struct rw_params;
struct rw_resident;
/* For trainings with these `params`, but for what they say of features. Both sets stay borrowed;
 * valid has values. Where a GPU may train, it bins the validation set each time, for it cannot take
 * codes. */
int rw_resident_new(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_binned *train, const struct rw_dataset *valid,
                    struct rw_resident **out);
void rw_resident_free(struct rw_resident *resident);
/* What rw_train_binned takes. */
const struct rw_binned *rw_resident_train(const struct rw_resident *resident);
const struct rw_dataset *rw_resident_valid(const struct rw_resident *resident);

#endif
