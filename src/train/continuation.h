/* Training that goes on from a model: its trees come first, scores begin as their sums. */
#ifndef RW_TRAIN_CONTINUATION_H
#define RW_TRAIN_CONTINUATION_H

#include "train/eval_sets.h"
#include "tree/node_features.h"

struct rw_continuation {
    struct rw_ctx *ctx;                   /* borrowed, like all here but the scratch */
    const struct rw_model *init;          /* the trees to continue from, with the codes of sets */
    const struct rw_dataset *const *sets; /* [n_sets] values, codes in place of categories */
    int n_sets;
    const uint32_t *feature; /* [n_features] ids in the training set, ascending */
    uint32_t n_features;
    uint32_t all_docs;          /* of the training set, on all ranks */
    const double *train_scores; /* NULL, or what the model gives the training set, without values */
    double *scores, *leaves;    /* [documents of the largest set] scratch; owned */
};

/* RW_ERR_ARGUMENT: the model takes absent features otherwise than training would. */
int rw_continuation_init(struct rw_continuation *from, struct rw_ctx *ctx,
                         const struct rw_model *init, const struct rw_dataset *const *sets,
                         int n_sets, int absent_missing);
/* RW_ERR_ARGUMENT: a split of the model does not keep a feature's direction, so that training could
 * only make scores that do not either. direction: [RW_FEATURE_IDS] as in tree/monotone.h. */
int rw_continuation_check_order(struct rw_ctx *ctx, const struct rw_model *init,
                                const int8_t *direction);
/* The same for features that may be used together. */
int rw_continuation_check_interactions(struct rw_ctx *ctx, const struct rw_model *init,
                                       const struct rw_interactions *interactions);
void rw_continuation_release(struct rw_continuation *from); /* in any state after being zeroed */

/* Appends copies of all trees to `model`, and an empty tree for each round after them that could
 * split nothing: so that trees have the numbers of their rounds. */
int rw_continuation_trees(const struct rw_continuation *from, struct rw_model *model,
                          size_t *tree_room);
/* Adds all trees to the scores of every set, as rw_model_score does, one after the other: they are
 * rounds like any other, and metrics are those of these sets. But only the last of them can be the
 * best round: what was there is never cut. eval: NULL where these rounds' metrics are known.
 * RW_ERR_UNSUPPORTED: the engine walks by codes, and a
 * threshold of a tree is not among its boundaries, or a missing value would go to the wrong side.
 */
int rw_continuation_replay(const struct rw_continuation *from, struct rw_engine *engine,
                           struct rw_eval_sets *eval);
/* Says which of the parameters that shape trees were others when the model was trained, and which
 * features that matter to it the training set lacks. */
void rw_continuation_warn(const struct rw_continuation *from, struct rw_params *params);
/* What the finished model has of the one it goes on from: its features beside the training set's,
 * its names unless there are others, and its trainings. The model's own parameters are known. */
int rw_continuation_finish(const struct rw_continuation *from, struct rw_model *model);

#endif
