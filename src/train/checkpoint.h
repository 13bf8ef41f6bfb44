/* Checkpoints of a training: written beside it, and what one that is resumed takes from them.
 *
 * The file from which a training is resumed: a model so far, and what it lacks for that.
 *
 *   rankwood checkpoint 2
 *   program 0.2.0                     that wrote it
 *   ended yes|no                      yes: whoever trains ended it after the last round
 *   init none                         or: init HEX rounds N, the model that training continued from
 *                                     (its checksum), and the rounds that came with it
 *   note TEXT                         of whoever trains; or note alone
 *   sets N boundaries HEX             of the training set's bins; then N lines, it first:
 *   documents HEX queries HEX query-ids HEX labels HEX weights HEX values HEX
 *                                     and, of sets that have some but 0, start-scores HEX, and of
 *                                     those that have them, positions HEX and more-labels HEX
 *   state NAME version V lines N      the objective's own; then N lines as it wrote them
 *
 *   and a model's lines from 'absent' to the last tree (model/model_text.h): all trees that were
 *   grown and the metrics of all rounds; best-round is the best one until then, finished is no.
 *
 *   checksum 0badcafe
 *
 * A new version of the model's text makes a new one here. The first two lines stay as they are:
 * they say which program resumes it, and no other does. */
#ifndef RW_TRAIN_CHECKPOINT_H
#define RW_TRAIN_CHECKPOINT_H

#include "model/model_text.h"
#include "train/eval_sets.h"
#include "train/fingerprint.h"

enum { RW_CHECKPOINT_VERSION = 2 };

/* Read, it owns everything; to be written, it borrows. */
struct rw_checkpoint {
    char *program;
    int is_ended;
    int has_init;
    uint64_t init_checksum;
    int32_t init_rounds;
    char *note; /* "": none */
    uint64_t boundaries;
    int32_t n_sets;
    struct rw_fingerprint *set; /* [n_sets] the training set first */
    char *state_name;           /* the objective's */
    int32_t state_version, n_state_lines;
    char **state_line;      /* [n_state_lines] none is empty */
    struct rw_model *model; /* as many trees as rounds */
};
void rw_checkpoint_release(struct rw_checkpoint *checkpoint); /* of one that was read, or zeroed */

/* RW_ERR_FORMAT: the file is no checkpoint, cut or damaged; or of a version that is not read. */
int rw_checkpoint_read(struct rw_ctx *ctx, const char *path, struct rw_checkpoint *out);
/* The same of a text in memory; path is for messages. */
int rw_checkpoint_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                        struct rw_checkpoint *out);
/* Its text, not followed by 0; *out is owned by the caller (rw_mem_free). */
int rw_checkpoint_print(struct rw_ctx *ctx, const struct rw_checkpoint *checkpoint, char **out,
                        size_t *n);

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
