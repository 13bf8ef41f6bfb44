/* The sets of a training with features by categories: which words have codes, and views of the sets
 * with codes in place of those features' values. Without such features nothing is made. */
#ifndef RW_TRAIN_CATEGORY_SETS_H
#define RW_TRAIN_CATEGORY_SETS_H

#include "binning/binned.h"
#include "params/params.h"
#include "dataset/categories.h"
#include "model/model.h"
#include "tree/engine.h"

struct rw_category_sets {
    struct rw_categories categories; /* owned */
    uint16_t *codes; /* [RW_FEATURE_IDS] of each such feature, as struct rw_cut_rule has them; NULL:
                        there are no such features; owned */
    char *text;      /* parameter 'categorical' by ids; owned */
    int absent_missing;
    struct rw_recoded *recoded[RW_MAX_SETS]; /* owned */
    struct rw_model init; /* the model to go on from, with these codes: only its trees are owned */
};

/* Which features training takes by categories, as all ranks have it: those that are named, those
 * that the training set has by words, and those that `init` (or NULL) has. wanted:
 * [RW_FEATURE_IDS], zeroed; *any: there are some. All ranks call it. */
int rw_category_features(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *documents, const struct rw_model *init,
                         uint8_t *wanted, int *any);
/* *any: has some document of some rank no value of the feature? All ranks call it. */
int rw_category_has_missing(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                            const struct rw_dataset *documents, int absent_missing, int *any);

/* From the parameters and this rank's training set, of all ranks. train: its codes, if it has some,
 * which is an error; init: the model to go on from, or NULL. *sets: zeroed. All ranks call it. */
int rw_category_sets_make(struct rw_ctx *ctx, const struct rw_params *params,
                          const struct rw_binned *train, const struct rw_dataset *documents,
                          const struct rw_model *init, struct rw_category_sets *sets);
/* The model to go on from, as training sees it: `init` itself or a view of it. */
const struct rw_model *rw_category_sets_init(const struct rw_category_sets *sets,
                                             const struct rw_model *init);
/* Set number `set` as training sees it: *out, `dataset` itself or a view of it. */
int rw_category_sets_take(struct rw_ctx *ctx, struct rw_category_sets *sets, int set,
                          const struct rw_dataset *dataset, const struct rw_dataset **out);
/* What the model needs of them. */
int rw_category_sets_finish(struct rw_ctx *ctx, const struct rw_category_sets *sets,
                            struct rw_model *model);
void rw_category_sets_release(struct rw_category_sets *sets);

#endif
