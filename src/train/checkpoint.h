/* Checkpoints of a training: written beside it, and what one that is resumed takes from them. */
#ifndef RW_TRAIN_CHECKPOINT_H
#define RW_TRAIN_CHECKPOINT_H

#include "train/eval_sets.h"
#include "train/fingerprint.h"

struct rw_checkpoint_writer; /* of one file after the other, beside training */

/* Zeroed, it does nothing: there are none. */
struct rw_checkpointer {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_checkpoints *how; /* NULL: nothing is written or read; borrowed */
    void *user;                       /* of its functions */
    struct rw_checkpoint resumed;     /* what was read; its model is NULL: nothing was */
    /* What this training's checkpoints have in common, and its model's parameters; the rest is the
     * trainer's. */
    struct rw_checkpoint content;
    struct rw_model so_far;               /* its parameters are owned */
    struct rw_fingerprint *sets;          /* [n_sets] owned */
    struct rw_checkpoint_writer *writer;  /* NULL: no files are written; owned */
    const struct rw_gradients *gradients; /* whose state is the objective's; NULL: none; borrowed */
    /* since when the next one is waited for */
    int last_round;
    double last_ms;
    int kept_round, kept_is_ended; /* of the file that is there; 0: none */
    int has_failed;                /* the last one, and that was said */
    /* in all */
    int n_written;
    double stopped_ms, written_ms;
};

/* Checks where they go, and reads the one to be resumed. hooks: may be NULL. Of many ranks each
 * reads it, and rank 0 writes. */
int rw_checkpointer_init(struct rw_checkpointer *c, struct rw_ctx *ctx,
                         const struct rw_train_hooks *hooks);
/* Waits for the one being written; in any state after being zeroed. */
void rw_checkpointer_release(struct rw_checkpointer *c);

/* Do all ranks write, or wait for those who do, and resume from the same one? All ranks call it. */
int rw_checkpointer_agree(struct rw_checkpointer *c);

static inline int rw_checkpointer_is_on(const struct rw_checkpointer *c)
{
    return c->how != NULL;
}
static inline int rw_checkpointer_resumes(const struct rw_checkpointer *c)
{
    return c->resumed.model != NULL;
}

/* The training: c->so_far has its parameters, features and names, all but the first borrowed from
 * who calls. init: the model that it continues from, or NULL. RW_ERR_ARGUMENT, RW_ERR_DATA: it is
 * another one than the checkpoint's; the message names what differs. */
int rw_checkpointer_take(struct rw_checkpointer *c, const struct rw_eval_sets *eval,
                         const struct rw_objective *objective, const struct rw_model *init);
/* The same of its data, which are loaded. All ranks call it. */
int rw_checkpointer_take_data(struct rw_checkpointer *c, struct rw_engine *engine,
                              const struct rw_dataset *const *sets, int n_sets);
/* Appends the trees that the checkpoint has beyond those of the model, and adds them to all scores;
 * then the metrics by round, and the best one, are the checkpoint's. n_rounds: that there may be.
 */
int rw_checkpointer_restore(struct rw_checkpointer *c, struct rw_engine *engine,
                            struct rw_eval_sets *eval, int n_rounds, struct rw_model *model,
                            size_t *tree_room);
/* The gradients' state is the checkpoint's, and is written from now on; they stay borrowed. */
int rw_checkpointer_take_state(struct rw_checkpointer *c, struct rw_gradients *gradients);
/* Was the training ended, after the rounds that it had, by whoever trained? */
int rw_checkpointer_was_ended(const struct rw_checkpointer *c, int n_rounds);

/* After n_rounds rounds, which all have a tree in `model`: begins to write one, if it is time. */
void rw_checkpointer_round(struct rw_checkpointer *c, const struct rw_model *model,
                           const struct rw_eval_sets *eval, int n_rounds);
/* The last one, if the file does not say it yet; and says what all of them took. What cannot be
 * written is a warning: the model is not lost by it. */
void rw_checkpointer_end(struct rw_checkpointer *c, const struct rw_model *model,
                         const struct rw_eval_sets *eval, int n_rounds, int is_ended);

#endif
