/* What a training's model has besides trees: its parameters; and how large its file can be at most,
 * known while it grows, for those who reserve space before there is a model to write. */
#ifndef RW_TRAIN_MODEL_PARAMS_H
#define RW_TRAIN_MODEL_PARAMS_H

#include "train/eval_sets.h"

/* Appends a parameter; out->param has room for it. */
int rw_model_params_add(struct rw_ctx *ctx, const char *name, const char *value, int is_auto,
                        struct rw_model_params *out);
/* The same of one that a training has. gains: those of its label-gain, since a file's path is no
 * part of the model; is_custom: gradients are the caller's. */
int rw_model_params_take(struct rw_ctx *ctx, struct rw_params *params, int at,
                         const struct rw_gain_rule *gains, int is_custom,
                         struct rw_model_params *out);

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
