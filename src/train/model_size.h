/* How large the model's file can be at most, known while it grows: for those who reserve space
 * before there is a model to write. */
#ifndef RW_TRAIN_MODEL_SIZE_H
#define RW_TRAIN_MODEL_SIZE_H

#include "train/eval_sets.h"

struct rw_model_size {
    uint64_t bytes;        /* of what has been added */
    uint64_t longest_name; /* of a feature */
    uint64_t round_bytes;  /* the metrics of a round */
};

/* All but names, trees and what they bring; init: the model that training goes on from, or NULL. */
void rw_model_size_init(struct rw_model_size *size, uint32_t n_features, struct rw_params *params,
                        const struct rw_eval_sets *eval, const struct rw_model *init);
/* The names that trees are written with, and the trees that are there from the start. */
void rw_model_size_start(struct rw_model_size *size, const struct rw_feature_name *names,
                         int32_t n_names, const struct rw_model *model);
/* A round whose tree has so many leaves. */
void rw_model_size_add(struct rw_model_size *size, int32_t n_leaves);
/* The bytes with one more such round. */
uint64_t rw_model_size_with(const struct rw_model_size *size, int32_t n_leaves);

#endif
