/* What parameters say of single features, by ids, as engines and the grower take it. */
#ifndef RW_TRAIN_FEATURE_RULES_H
#define RW_TRAIN_FEATURE_RULES_H

#include "train/features.h"
#include "params/params.h"

struct rw_feature_rules {
    uint8_t *ignore;  /* [RW_FEATURE_IDS] with what `features` does not name; NULL: none */
    int8_t *monotone; /* [RW_FEATURE_IDS] NULL: no feature has a direction */
    double *penalty;  /* [RW_FEATURE_IDS] NULL: no feature has one */
    struct rw_interactions interactions; /* without groups: all features may be used together */
    /* The parameters' values, by ids */
    char *ignore_text, *monotone_text, *penalty_text, *interactions_text;
};

/* The training set's features, and their names. */
struct rw_feature_set {
    const struct rw_feature_name *name;
    int32_t n_names;
    const uint32_t *feature; /* [n_features] ascending */
    uint32_t n_features;
};

/* From here on the parameters have ids, as the model will: texts of `out`. init: the model that
 * training continues from, which must keep to the same rules; NULL: none. */
int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_feature_set *set,
                          const struct rw_model *init);
void rw_feature_rules_release(struct rw_feature_rules *rules);

#endif
