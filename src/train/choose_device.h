/* Where a training is done. */
#ifndef RW_TRAIN_CHOOSE_DEVICE_H
#define RW_TRAIN_CHOOSE_DEVICE_H

#include "tree/plan.h"

/* A training that is about to begin. */
struct rw_choice_of_device {
    const struct rw_engine_rules *rules; /* borrowed */
    struct rw_plan_data data;
    int rounds;
    int is_auto; /* written: nobody chose the device */
};

/* Opens the engine of `device`. `auto`: a GPU if training is expected to take less there; else the
 * host's engine. */
int rw_choose_device(struct rw_ctx *ctx, const char *device, struct rw_choice_of_device *choice,
                     struct rw_engine **out);
/* Ranks have engines of one kind: where `auto` chose several, *engine becomes the host's. All ranks
 * call it. */
int rw_choose_agree(struct rw_ctx *ctx, struct rw_choice_of_device *choice,
                    struct rw_engine **engine);

#endif
