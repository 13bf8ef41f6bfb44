/* --names, and parameters that are lists of features: --ignore, --features, --monotone,
 * --interactions, --feature-penalty and --categorical. */
#ifndef RW_TRAIN_FEATURES_H
#define RW_TRAIN_FEATURES_H

#include "io/side_files.h"
#include "model/model.h"
#include "params/params.h"
#include "tree/node_features.h"

/* Those of the file `path`; "": the training set's own, if it has some, as a model can have them.
 */
int rw_names_take(struct rw_ctx *ctx, const char *path, const struct rw_dataset *train,
                  struct rw_feature_name **out, int32_t *n);
/* Warns if the training set has none of the features to leave out. ignore: [RW_FEATURE_IDS];
 * feature: [n_features] the training set's, ascending. */
void rw_ignore_warn(struct rw_ctx *ctx, const uint8_t *ignore, const uint32_t *feature,
                    uint32_t n_features);
/* Warns of names of features that the training set lacks: there may be a slip in the file. */
void rw_names_warn(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                   const uint32_t *feature, uint32_t n_features);

/* list: ids, ranges of ids "3-7" and names, with commas; ignore: [RW_FEATURE_IDS], 1 where left
 * out. */
int rw_ignore_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                    int32_t n_names, uint8_t *ignore);
/* The same of a list of features to train on, and no others: marks those of the training set that
 * it does not name. feature: [n_features], ascending; ignore:
 * [RW_FEATURE_IDS]. RW_ERR_ARGUMENT: the training set has none that it names. */
int rw_features_limit(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, const uint32_t *feature, uint32_t n_features,
                      uint8_t *ignore);
/* The ignored ids as a list of ids and ranges: the same text for the same set. *out is owned by the
 * caller. */
int rw_ignore_text(struct rw_ctx *ctx, const uint8_t *ignore, char **out);

/* The same for items with :+ or :- behind them. direction: [RW_FEATURE_IDS], written: 1, -1, or 0
 * where there is none. A feature that comes twice is an error. */
int rw_monotone_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, int8_t *direction);
int rw_monotone_text(struct rw_ctx *ctx, const int8_t *direction, char **out);

/* Items with : and a number from 0 to RW_MOST_PENALTY behind them. penalty: [RW_FEATURE_IDS],
 * written: 0 where there is none. */
#define RW_MOST_PENALTY 1e30
int rw_penalty_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                     int32_t n_names, double *penalty);
int rw_penalty_text(struct rw_ctx *ctx, const double *penalty, char **out);

/* Groups of items, with ';' between groups. out->groups is owned by the caller, also after an
 * error. */
int rw_interactions_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                          int32_t n_names, struct rw_interactions *out);
int rw_interactions_text(struct rw_ctx *ctx, const struct rw_interactions *interactions,
                         char **out);

/* Of a list that could be parsed, of a parameter: does training use what each item names, of a
 * range at least one? has_values: something stands behind each item's ':'. ignore: what training
 * leaves out; NULL: nothing. feature: [n_features] the training set's, ascending. */
int rw_feature_list_check(struct rw_ctx *ctx, const char *parameter, int has_values,
                          const char *list, const struct rw_feature_name *names, int32_t n_names,
                          const uint8_t *ignore, const uint32_t *feature, uint32_t n_features);

/* ---- what parameters say of single features, by ids, as engines and the grower take it ---- */

struct rw_feature_rules {
    uint8_t *ignore;  /* [RW_FEATURE_IDS] with what `features` does not name; NULL: none */
    int8_t *monotone; /* [RW_FEATURE_IDS] NULL: no feature has a direction */
    double *penalty;  /* [RW_FEATURE_IDS] NULL: no feature has one */
    struct rw_interactions interactions; /* without groups: all features may be used together */
    /* The parameters' values, by ids */
    char *ignore_text, *monotone_text, *penalty_text, *interactions_text;
};

/* The training set's features, and their names. */
struct rw_training_features {
    const struct rw_feature_name *name;
    int32_t n_names;
    const uint32_t *feature; /* [n_features] ascending */
    uint32_t n_features;
};

/* From here on the parameters have ids, as the model will: texts of `out`. */
int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_training_features *set);
void rw_feature_rules_release(struct rw_feature_rules *rules);

#endif
