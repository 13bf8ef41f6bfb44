/* The sets of a training, of which each of many ranks has a part. All ranks call these; with one
 * rank there is little to do. */
#ifndef RW_TRAIN_RANK_SETS_H
#define RW_TRAIN_RANK_SETS_H

#include "binning/binned.h"
#include "params/params.h"
#include "tree/engine.h"

/* Before anything else. documents: this rank's training set; bins: its codes, or NULL; categories:
 * as struct rw_cut_rule has them. *all_docs: of all ranks. Where many ranks have values, *made gets
 * the codes of this one's, with boundaries of all, and the features; it is released by the caller.
 */
int rw_rank_sets_take(struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_dataset *documents, const struct rw_bins *bins,
                      const uint16_t *categories, struct rw_binned *made, uint32_t *all_docs);
/* Finds validation sets that are the training set: the same documents, labels, queries and codes.
 * The engine has loaded all sets. is_train: [n_sets]; written from 1 on. */
int rw_rank_sets_find_train(struct rw_engine *engine, const struct rw_dataset *const *sets,
                            int n_sets, unsigned char *is_train);

/* Sets that were read as codes are this training's: validation sets have the boundaries of the
 * training set (train), and what goes on from a model (init, NULL: none) has values, or the model's
 * scores. made: as rw_rank_sets_take left it. */
int rw_rank_sets_check(struct rw_ctx *ctx, const struct rw_binned *train,
                       const struct rw_binned *made, const struct rw_dataset *const *sets,
                       int n_sets, const struct rw_model *init, int measures_training, int on_gpu);
/* A plan is of sets with values. */
int rw_rank_sets_check_plan(struct rw_ctx *ctx, const struct rw_dataset *const *valid, int n_valid);

/* Do the sets fit each other, and the model to go on from (NULL: none), counting the columns of all
 * ranks? RW_ERR_DATA as rw_model_check_data has it. feature: [n_features] of the training set.
 * *out: what the model has of them, without names. All ranks call it. */
struct rw_column_rule;
int rw_rank_sets_columns(struct rw_ctx *ctx, const struct rw_dataset *const *sets, int n_sets,
                         const uint32_t *feature, uint32_t n_features, const struct rw_model *init,
                         struct rw_column_rule *out);

#endif
