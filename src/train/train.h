/* Types and functions that the files of src/train share, and some that feature selection, the
 * import of models and tests use. A training (booster.c) prepares its sets, lists of features,
 * metrics and checkpoints, and lets an engine load the sets. It then continues an earlier model or
 * a checkpoint, if there is one, and runs rounds. refit.c computes new leaf values for a model, and
 * binned_data.c reads sets as codes. The public functions are in rankwood.h. A "set" is the
 * training set or a validation set; each worker has a shard of its documents. A "code" is the
 * stored number of a bin or a category; "all workers call it" marks functions that communicate, so
 * every worker must call them in the same order. */
#pragma once

#include <pthread.h>

#include "io/data_format.h"
#include "model/model_text.h"
#include "params/params.h"
#include "tree/grower.h"

/* The features of the training set and their names. */
struct rw_training_features {
    const struct rw_feature_name *name; /* [n_names] */
    int32_t n_names;
    const uint32_t *feature; /* [n_features] feature ids, ascending */
    uint32_t n_features;
};

/* ---- feature names and lists of features ---- */

/* Returns in *out the feature names of the file `path` (--names). With path "" it copies the
 * names of the training set in the form that a model can store (rw_names_for_model); *out is NULL
 * if the training set has no names. */
int rw_names_take(struct rw_ctx *ctx, const char *path, const struct rw_dataset *train,
                  struct rw_feature_name **out, int32_t *n);
/* Warns of names of features that the training set lacks: the names file may contain a typo. */
void rw_names_warn(struct rw_ctx *ctx, const struct rw_training_features *set);

/* Parses --features, the list of the only features to train on: marks the training set's
 * features that the list does not name. RW_ERR_ARGUMENT: the list is malformed, or it names no
 * feature of the training set. ignore: [RW_FEATURE_IDS] */
int rw_features_limit(struct rw_ctx *ctx, const char *list, const struct rw_training_features *set,
                      uint8_t *ignore);
/* Writes the ignored ids as a list of ids and ranges. Equal sets give equal text. The caller
 * owns *out. */
int rw_ignore_text(struct rw_ctx *ctx, const uint8_t *ignore, char **out);

enum rw_list_kind { RW_LIST_MARKS, RW_LIST_MONOTONE, RW_LIST_PENALTY, RW_LIST_GROUP };
#define RW_MOST_PENALTY 1e30
/* Parses a comma-separated list. An item of the list is an id, a range of ids such as "3-7", or a
 * name. Each kind assigns a value to the features of an item: 1 if items have no value (MARKS,
 * GROUP), 1 or -1 for a trailing :+ or :- (MONOTONE), or a number from 0 to RW_MOST_PENALTY after a
 * colon (PENALTY). RW_ERR_ARGUMENT: the list is malformed, has an unknown name, or has a feature
 * twice. value: [RW_FEATURE_IDS] written, 0 for features not in the list. Only the names of `set`
 * are used. */
int rw_list_values(struct rw_ctx *ctx, enum rw_list_kind kind, const char *list,
                   const struct rw_training_features *set, double *value);
/* Writes the values as a list. Equal values give equal text. The caller owns *out. */
int rw_list_text(struct rw_ctx *ctx, enum rw_list_kind kind, const double *value, char **out);

/* Parses groups that are separated by ';' (--interactions). A group is a list of kind GROUP. The
 * arena owns out->groups. */
int rw_interactions_parse(struct rw_ctx *ctx, struct rw_arena *arena, const char *list,
                          const struct rw_training_features *set, struct rw_interactions *out);
/* Writes the groups as text with ids. The caller owns *out. */
int rw_interactions_text(struct rw_ctx *ctx, const struct rw_interactions *interactions,
                         char **out);

/* Checks that training uses at least one feature of each item of a list. RW_ERR_ARGUMENT: it uses
 * none of an item's features, or the list is malformed. parameter: name of the parameter, for
 * messages; has_values: each item has a value after its ':'; ignore: marks features that training
 * leaves out; NULL: it uses all. */
int rw_feature_list_check(struct rw_ctx *ctx, const char *parameter, int has_values,
                          const char *list, const struct rw_training_features *set,
                          const uint8_t *ignore);

/* Per-feature parameters by feature id, in the form that engines and the grower read. */
struct rw_feature_rules {
    struct rw_arena arena; /* owns the arrays */
    uint8_t *ignore; /* [RW_FEATURE_IDS] includes the features that `features` leaves out; NULL: all
                        are used */
    int8_t *monotone;                    /* [RW_FEATURE_IDS] NULL: no monotone constraints */
    double *penalty;                     /* [RW_FEATURE_IDS] NULL: no feature costs */
    struct rw_interactions interactions; /* no groups: all features may be used together */
};

/* Fills *out from the parameters. It also rewrites parameters as the model stores them: `monotone`,
 * `interactions` and `feature-penalty` with ids in place of names, and with `features` set,
 * `ignore` as the list of all features that training leaves out. */
int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_training_features *set);

struct rw_trial;
/* The values of queries: for the rule `paired` (early_stop.c) the stopping metric in each round,
 * and for a trial the first metric. */
struct rw_stopping {
    const struct rw_trial *trial; /* borrowed; NULL: no trial */
    double *per_query;            /* [queries of set 1] for the trial, else NULL */
    int is_paired;
    int n_rounds;       /* from the first one that may be kept */
    uint32_t n_queries; /* queries of all workers that count */
    float *value;       /* [n_rounds][n_queries] */
    int *level;         /* [n_rounds] scratch: rounds that are not significantly worse */
    size_t room, level_room;
    double *weight; /* [n_queries] */
};

/* The metrics of each round, the best round and early stopping. */
struct rw_eval_sets {
    struct rw_arena arena;                   /* owns the arrays */
    struct rw_ctx *ctx;                      /* borrowed */
    const struct rw_params *params;          /* borrowed */
    const struct rw_train_hooks *hooks;      /* borrowed; may be NULL */
    struct rw_gain_rule gains;               /* set if a metric or the objective uses gains */
    struct rw_metric metric[RW_MAX_METRICS]; /* [n_metrics] those of the parameter `metric` */
    int n_metrics;                           /* without the custom metric */
    /* Those of `metric` that a device can compute, in the same order; written by
     * rw_eval_sets_plan. */
    struct rw_metric on_device[RW_MAX_METRICS];
    int any_uses_gain;                          /* 1: one of `metric` uses gains */
    int n_sets;                                 /* the training set and the validation sets */
    const struct rw_dataset *set[RW_MAX_SETS];  /* borrowed */
    struct rw_judgments judgments[RW_MAX_SETS]; /* of the measured sets */
    double *scores; /* [documents of the largest measured set] scratch */
    /* NULL: scores are in the engine. Otherwise [n_sets] arrays of scores, and there is no
     * engine. */
    const double *const *given;
    struct rw_metric_value *value; /* [n_values] values of the current round */
    int n_values;
    struct rw_model *model; /* receives the names, "valid1 ndcg@10", and the values of every round;
                               borrowed */
    size_t value_room;
    int is_registered;              /* the engine has the plan of metrics, if it computes some */
    uint8_t by_engine[RW_MAX_SETS]; /* 1: the engine measures the set */
    /* The value that determines the best round, and so early stopping if it is on: its index in
     * `value`, or -1 if no value does; and the index of its set, or 0. */
    int stop_value;
    int stop_set;
    int lower_is_better;
    int best_round;          /* 0: no value yet, or stop_value is -1 */
    double best_value;       /* for `paired`, with ties averaged */
    struct rw_stopping stop; /* owned */
};

/* Initialises *eval. sets[0] is the training set, which is measured only if `params` request it.
 * model: has no metrics yet. */
int rw_eval_sets_init(struct rw_eval_sets *eval, struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_train_hooks *hooks, const struct rw_dataset *const *sets,
                      int n_sets, struct rw_model *model);
/* Makes later rounds report the values of queries to a trial. */
int rw_eval_sets_report_queries(struct rw_eval_sets *eval, const struct rw_trial *trial);
/* Makes later values the means over all workers' queries. RW_ERR_UNSUPPORTED: there are several
 * workers and a custom metric. All workers call it and rw_eval_sets_round. */
int rw_eval_sets_share(struct rw_eval_sets *eval);
/* Writes to *plan the metrics that a device can compute. Returns 1 if the engine is to compute them
 * for this set. Returns 0 if a device can compute no metric, if the set is not measured, or if
 * there are several workers. */
int rw_eval_sets_plan(struct rw_eval_sets *eval, int set, struct rw_metric_plan *plan);
/* Chooses the set that determines the best round: the first validation set that differs from the
 * training set. is_train: [n_sets], from index 1 on 1 if the set equals the training set. If all
 * do, there is no best round, and early stopping is off with a warning. RW_ERR_DATA: early stopping
 * is on, but the set's metric is equal for every ranking or counts no query. A custom metric is not
 * checked. All workers call it, after rw_eval_sets_share. */
int rw_eval_sets_choose(struct rw_eval_sets *eval, const unsigned char *is_train);
void rw_eval_sets_release(struct rw_eval_sets *eval);
/* Measures all measured sets after `round` (from 1). engine: NULL if the caller gave the scores. */
int rw_eval_sets_round(struct rw_eval_sets *eval, struct rw_engine *engine, int round);
/* Takes the stopping metric of a round of a resumed training, whose tree was added to all scores.
 * Only the rule `paired` needs it. All workers call it. */
int rw_eval_sets_replay(struct rw_eval_sets *eval, struct rw_engine *engine, int round);
/* Forgets all rounds so far: none of them will be the best or kept. */
void rw_eval_sets_forget(struct rw_eval_sets *eval);
/* Restores the metrics and the best round of the unfinished model `so_far`, which must have the
 * metric names of eval->model. It moves the values out of `so_far`. */
void rw_eval_sets_restore(struct rw_eval_sets *eval, struct rw_model *so_far);
/* Checks that the scores give the stored metrics of the last round; a custom metric is not
 * checked. RW_ERR_DATA: a metric differs. */
int rw_eval_sets_verify(struct rw_eval_sets *eval, struct rw_engine *engine);
/* Returns the stopping metric of a round as it was measured. */
double rw_eval_sets_value(const struct rw_eval_sets *eval, int round);
/* Returns the metric of the best round as it was measured; 0 if no round is the best. */
double rw_eval_sets_best_value(const struct rw_eval_sets *eval);
/* Returns 1 if `round` used up the patience of early stopping. */
int rw_eval_sets_is_over(const struct rw_eval_sets *eval, int round);

/* Prepares the rule of the parameter early-stop-rule. RW_ERR_ARGUMENT: it is `paired`, and the
 * metric has no values of queries. */
int rw_stop_rule_init(struct rw_eval_sets *eval);
/* For the rule `paired`: keeps the values of this round's queries and returns their mean, with ties
 * averaged, in *mean. scores: [n_docs] of the set that stops. All workers call it. */
int rw_stop_rule_round(struct rw_eval_sets *eval, const double *scores, double *mean);
/* Returns the round whose trees the model keeps; 0: no round was the best. least: the first round
 * that may be kept. */
int rw_stop_rule_kept(const struct rw_eval_sets *eval, int least);
void rw_stop_rule_release(struct rw_stopping *stop);
/* Computes the weighted mean of a - b over queries, and its standard error. a, b, weight: [n],
 * n >= 2. */
void rw_paired_difference(const float *a, const float *b, const double *weight, uint32_t n,
                          double *mean, double *error);
/* Returns 1 if a round is not significantly worse than the best one, for the rule `paired`. best,
 * round: [n] values of the metric. sign: 1, or -1 if lower values are better. Writes *noise, the
 * largest difference that is not significant. */
int rw_stop_is_level(const float *best, const float *round, const double *weight, uint32_t n,
                     double sign, double *noise);

/* ---- fingerprints of data sets ---- */

/* Parts of a fingerprint, which detects changed data when a training is resumed. A part is a sum
 * over documents or queries, modulo 2^64, so the parts of shards can be added. It does not
 * depend on the way the data was read, on the device or on the number of threads. */
enum rw_print {
    RW_PRINT_DOCUMENTS, /* number of documents */
    RW_PRINT_QUERIES,   /* first document of each query */
    RW_PRINT_QUERY_IDS,
    RW_PRINT_LABELS,
    RW_PRINT_WEIGHTS, /* weights of documents, and given pairs with their weights */
    RW_PRINT_VALUES,  /* codes of the values, not the bin boundaries */
    RW_PRINT_SIDES,   /* first of the side columns with separate parts (RW_SIDE_PRINTED); 0: the set
                         lacks the column */
    RW_PRINTS = RW_PRINT_SIDES + RW_SIDE_COLUMNS - RW_SIDE_PRINTED
};
struct rw_fingerprint {
    uint64_t part[RW_PRINTS];
};
/* The fingerprints of a training's data, for manifests. */
struct rw_data_record {
    uint64_t boundaries; /* of the training set's bins */
    int n_sets;
    struct rw_fingerprint set[RW_MAX_SETS]; /* [n_sets] the training set first */
};
const char *rw_print_name(int part); /* name in messages and checkpoints, such as "query-ids" */

/* Computes the fingerprint of a set that the engine has loaded. first_doc, first_query: number
 * of documents and queries in the shards before this one. The parts of all shards add up to
 * those of the whole set. */
int rw_fingerprint_make(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                        uint64_t first_doc, uint64_t first_query, struct rw_fingerprint *out);
/* Computes all parts except the values, which is 0. It needs no engine. */
void rw_fingerprint_sides(const struct rw_dataset *dataset, uint64_t first_doc,
                          uint64_t first_query, struct rw_fingerprint *out);
/* Computes the fingerprint of all workers' shards together. All workers call it. */
int rw_fingerprint_of_all(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                          struct rw_fingerprint *out);
/* Computes the fingerprint of the bin boundaries of a training set. */
uint64_t rw_fingerprint_boundaries(const struct rw_cuts *cuts);

/* ---- categorical features ---- */

/* Marks the categorical features, equally on all workers. These are the features that the parameter
 * names, those whose values the training set has as text, and those of `init` (may be NULL).
 * wanted: [RW_FEATURE_IDS], zeroed; *any: 1 if a feature is marked. All workers call it. */
int rw_category_features(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *documents, const struct rw_model *init,
                         uint8_t *wanted, int *any);
/* Writes 1 to *any if the feature is missing in some document of any worker. All workers call
 * it. */
int rw_category_has_missing(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                            const struct rw_dataset *documents, int absent_missing, int *any);

/* ---- the sets of a training, divided among workers ---- */

/* Marks on every worker each feature that some worker has marked. mark: [RW_FEATURE_IDS]. All
 * workers call it. */
int rw_workers_any(struct rw_ctx *ctx, uint8_t *mark);

/* The training set (index 0) and the validation sets of a training. Each worker has a shard of
 * every set. */
struct rw_sets {
    struct rw_arena arena;                       /* owns category_codes and the views in `set` */
    const struct rw_dataset *given[RW_MAX_SETS]; /* as the caller passed them */
    const struct rw_dataset *set[RW_MAX_SETS];   /* with codes in place of categories */
    int n_sets;
    struct rw_binned train; /* the training set's codes; all members are borrowed, some from `made`;
                               bins NULL: the values are in set[0] */
    struct rw_binned made;  /* with several workers or bags: bins made here from values; owned */
    uint32_t all_docs;      /* documents of the training set on all workers */
    /* queries on all workers of the first validation set that has another size than the training
     * set, or of the first one */
    uint64_t valid_queries;
    struct rw_training_features features; /* of the training set; borrowed */
    struct rw_column_rule columns;        /* kind and width of the columns of the new model */
    const struct rw_model *init; /* the model to continue from, or `recoded` if that model has
                                    categorical features; borrowed; NULL: start from nothing */
    /* ---- vocabularies; empty if no feature is categorical ---- */

    struct rw_categories categories; /* owned */
    uint16_t *category_codes;        /* [RW_FEATURE_IDS] codes of each categorical feature, as in
                                        struct rw_cut_rule; NULL: no categorical features */
    char *categorical;               /* the parameter of this name with ids; owned */
    struct rw_model recoded;         /* the model to continue from, with the codes of `categories`;
                                        only its trees are owned */
};
/* Fills `given` and `set` with the caller's sets. RW_ERR_ARGUMENT: too many validation sets. */
int rw_sets_init(struct rw_sets *sets, struct rw_ctx *ctx, const struct rw_dataset *train,
                 const struct rw_dataset *const *valid, int n_valid);
/* Replaces categories by codes in sets->set, sets sets->init, and counts all_docs and
 * valid_queries. If there are several workers or bags and the training set has values, it also
 * finds bin boundaries over all workers and writes this worker's codes and features to `made` and
 * `train`. It must run before other functions read the sets. init: the model to continue from, or
 * NULL. All workers call it. */
int rw_sets_prepare(struct rw_ctx *ctx, const struct rw_params *params, struct rw_sets *sets,
                    const struct rw_model *init);
/* Finds validation sets that are the training set: equal documents, labels, queries and codes.
 * The engine has loaded all sets. is_train: [n_sets], written from index 1 on. All workers call
 * it. */
int rw_sets_find_train(struct rw_engine *engine, const struct rw_sets *sets,
                       unsigned char *is_train);
/* Checks that sets read as codes belong to this training. RW_ERR_ARGUMENT: a validation set has
 * other bin boundaries than the training set, or it has codes and training is on a GPU or continues
 * from a model (init; may be NULL). Or, with `init`, the training set lacks both values and scores
 * of `init`, or lacks values that are needed: with measures_training, start scores or on_gpu. */
int rw_sets_check(struct rw_ctx *ctx, const struct rw_sets *sets, const struct rw_model *init,
                  int measures_training, int on_gpu);
/* Checks that the sets, and the model to continue from (init; may be NULL), fit each other by
 * the columns of all workers. Writes sets->columns, the column rule of the new model; the file of
 * `names` can change its kind later. RW_ERR_DATA: as in rw_model_check_data. All workers call it.
 */
int rw_sets_columns(struct rw_ctx *ctx, struct rw_sets *sets, const struct rw_model *init);
/* Replaces the values of the features in `categories` by codes: sets->set[set] becomes a view of
 * sets->given[set]. */
int rw_sets_recode(struct rw_ctx *ctx, struct rw_sets *sets, int set,
                   const struct rw_categories *categories, int absent_missing);
void rw_sets_release(struct rw_sets *sets);

/* ---- side columns ---- */

/* Checks the training set's side columns (dataset/dataset.h) against the parameters and the
 * objective, which is NULL for user gradients. RW_ERR_ARGUMENT: a column or the given pairs are
 * missing, the number of labels is wrong, or `label-weights` is set for user gradients. Unused
 * positions and further labels cause a warning. */
int rw_train_check_sides(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_objective *objective, const struct rw_dataset *train);
/* Makes only the checks of labels among those of rw_train_check_sides; a refit needs these and
 * rw_train_check_files. With `label-weights`, a document has several labels: the lambdas of each
 * label are computed separately and added, each times its weight (objective/objective.h). The first
 * label is the data set's label, which metrics use; the others are its further labels. */
int rw_labels_check(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_objective *objective, const struct rw_dataset *train);
/* Checks the files of side columns. RW_ERR_ARGUMENT: a parameter that has an effect names such a
 * file, and the training set has documents but not this column. */
int rw_train_check_files(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *train);
/* Returns in *out, owned by the arena, the gains of all labels that the objective trains on, for an
 * objective that ranks: [number of label-weights, or 1][n_docs]. */
int rw_labels_gains(struct rw_ctx *ctx, struct rw_arena *arena, const struct rw_params *params,
                    const struct rw_gain_rule *gains, const struct rw_dataset *train, double **out);
/* Completes the rule with each label's largest gain in all workers' training sets. It also decides
 * how the lambdas of several labels are summed (rw_objective_sum). gains: the result of
 * rw_labels_gains, or NULL if the objective does not rank. All workers call it. */
int rw_labels_rule(struct rw_ctx *ctx, const struct rw_objective *objective,
                   struct rw_objective_rule *rule, const double *gains,
                   const struct rw_dataset *train);

/* ---- continuing from a model ---- */

/* Checks the splits of the model against the constraints of the new training. RW_ERR_ARGUMENT: a
 * split violates a monotone constraint, or a tree combines features across interaction groups.
 * Adding trees could not repair either. direction: [RW_FEATURE_IDS] as in tree/grower.h, or
 * NULL; interactions: without groups, all combinations are allowed. */
int rw_continuation_check(struct rw_ctx *ctx, const struct rw_model *init, const int8_t *direction,
                          const struct rw_interactions *interactions);
size_t rw_most_leaves(const struct rw_model *model); /* leaves of the largest tree; at least 1 */
/* Appends the trees of sets->init to `model`, and an empty tree for each of its later rounds that
 * could not split. Adds the trees to all scores, measures the metrics of these rounds, and reports
 * parameters that differ from the model's training. eval: NULL if these metrics are known.
 * RW_ERR_ARGUMENT: the model and the parameters disagree on the meaning of an absent feature. */
int rw_continue(struct rw_engine *engine, const struct rw_sets *sets, struct rw_params *params,
                struct rw_eval_sets *eval, struct rw_model *model, size_t *tree_room);
/* Adds to the finished model, from the one that it continues: the features that the training set
 * lacks, names if the training set has no names, and the earlier trainings. `model` must already
 * have the parameters of this training. RW_ERR_DATA: the model was continued too often. */
int rw_continuation_finish(struct rw_ctx *ctx, const struct rw_model *init, struct rw_model *model);

/* Writes to `text` the likeliest reason why no tree could be split, and a parameter or column to
 * change. params: the effective ones; gain: the result of rw_labels_gains, or NULL if the objective
 * does not rank; info: the engine's facts about the data. All workers call it. */
int rw_explain_no_split(struct rw_ctx *ctx, const struct rw_params *params,
                        const struct rw_sets *sets, const double *gain,
                        const struct rw_engine_info *info, char *text, size_t size);

/* ---- the parameters and the size of a model ---- */

/* Appends a parameter to *out, whose array `param` must have room for it. */
int rw_model_params_add(struct rw_ctx *ctx, const char *name, const char *value, int is_auto,
                        struct rw_model_params *out);
/* Appends the parameter with index `at` of a training. gains: stored as the value of label-gain,
 * because a model stores no file paths; is_custom: 1 for user gradients. */
int rw_model_params_take(struct rw_ctx *ctx, struct rw_params *params, int at,
                         const struct rw_gain_rule *gains, int is_custom,
                         struct rw_model_params *out);

struct rw_model_size {
    uint64_t bytes;        /* upper bound of the file with everything added so far */
    uint64_t longest_name; /* bytes of the longest feature name */
    uint64_t round_bytes;  /* upper bound of the metrics of one round */
};

/* Starts an upper bound of the size of the model's file, for callers that reserve disk space
 * before the model exists. model: the new model before its first round, with the trees of `init`
 * and of a resumed checkpoint; init: the model to continue from, or NULL. */
int rw_model_size_init(struct rw_ctx *ctx, struct rw_model_size *size, const struct rw_model *model,
                       const struct rw_model *init);
/* Returns the bound with one more round, whose tree has n_leaves leaves. */
uint64_t rw_model_size_with(const struct rw_model_size *size, int32_t n_leaves);

/* On the CPU, trainings on more documents than this run one after another. Parallel ones need
 * memory each, and one training on such data keeps all threads busy. */
enum { RW_MOST_DOCS_SIDE_BY_SIDE = 100000 };

/* A training set and a validation set whose codes are made once and serve several trainings,
 * each with its own choice of features. Features that a training leaves out cost no time. */
struct rw_resident {
    struct rw_binned train;  /* as rw_train_on reads it; all members are borrowed, except `made` */
    struct rw_bins *made;    /* train.bins, if it was made here from values; else NULL; owned */
    struct rw_dataset valid; /* all members are borrowed, except `codes` */
    struct rw_bins *codes;   /* valid.codes.bins; NULL: each training bins the set; owned */
    struct rw_engine_cache cache; /* train.cache, unless `train` came with one; owned */
};
/* Makes the codes for trainings with these `params`, whatever features they use. Both sets stay
 * borrowed, and *r must not move; `valid` has values. If a GPU may train, it bins the validation
 * set in each training, because it cannot read these codes. Its codes of the training set are
 * shared by trainings, also by those that run at the same time. With categorical features, each
 * training bins both sets. */
int rw_resident_init(struct rw_resident *r, struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_binned *train, const struct rw_dataset *valid);
/* Trains on the pair, like rw_train_further. hooks, trial: NULL if not needed. */
int rw_resident_train(const struct rw_resident *r, struct rw_ctx *ctx,
                      const struct rw_params *params, const struct rw_train_hooks *hooks,
                      const struct rw_trial *trial, struct rw_model **out);
/* Returns the number of trainings with similar `params` that should run at the same time. On a GPU
 * it is limited by device memory; on the CPU, trainings on much data run one after the other. */
int rw_resident_at_once(const struct rw_resident *r, struct rw_ctx *ctx,
                        const struct rw_params *params);
void rw_resident_release(struct rw_resident *r);

/* ---- bags (bags.c) ---- */

/* The engines of a training, one for each bag. Only the first one has validation sets. */
struct rw_bags {
    int n;
    struct rw_engine *engine[RW_MAX_BAGS]; /* [n] owned */
};

/* Checks that the bags differ and that this training can have several. RW_ERR_ARGUMENT: not so. */
int rw_bags_check(struct rw_ctx *ctx, const struct rw_params *params,
                  const struct rw_objective *objective);
/* Checks that every bag has a query, once the training set is loaded. RW_ERR_ARGUMENT: a bag is
 * empty. n_queries: number of queries of this worker. */
int rw_bags_check_queries(const struct rw_bags *bags, struct rw_ctx *ctx, uint32_t n_queries);
/* Returns the seed of a bag; that of bag 0 is the training's. */
uint64_t rw_bag_seed(uint64_t seed, int bag);
/* Divides the leaves by n, rounded once. */
void rw_bags_divide(struct rw_tree *tree, int n);
/* Adds the trees of a round, [bags->n] with undivided leaves, to the scores of all validation sets,
 * divided. */
int rw_bags_add_round(const struct rw_bags *bags, struct rw_ctx *ctx, const struct rw_tree *tree);
/* Gives all bags the scores that bag 0 has of the training set. */
int rw_bags_share_scores(const struct rw_bags *bags, struct rw_ctx *ctx);
/* Makes the plan of all engines together. They share the codes of the training set, except
 * host-resident codes, codes of several workers on GPUs, and codes that a CPU engine makes. */
int rw_bags_plan(const struct rw_bags *bags, const struct rw_plan_data *data, struct rw_plan *out);
void rw_bags_close(struct rw_bags *bags);

/* ---- checkpoints ---- */

/* A checkpoint file holds an unfinished model and the state to resume its training:
 *
 *   rankwood checkpoint 2
 *   program 0.2.0                     the version that wrote the file;
 *   ended yes|no                      yes: the caller ended the training after the last round;
 *   init none                         or "init HEX rounds N": checksum and rounds of the model that
 *                                     training continued from; with " trees N" if it has bags;
 *   note TEXT                         the caller's text, or "note" without text;
 *   sets N boundaries HEX             fingerprint of the training set's bin boundaries; then a line
 *                                     for each of the N sets, the training set first;
 *   documents HEX queries HEX query-ids HEX labels HEX weights HEX values HEX
 *                                     followed by start-scores HEX if some are not 0, and by
 *                                     positions HEX and more-labels HEX if the set has them;
 *   state NAME version V lines N      the objective's state; then N lines in its own format.
 *
 *   The lines of a model follow, from its line "absent" to the end of its last tree. They have
 *   all trees so far, with undivided leaves if there are several bags, and the metrics of all
 *   rounds. The best round is the best so far, and
 *   "finished" is no (model/model_text.h).
 *
 *   checksum 0badcafe
 *
 * A new version of the model's text needs a new version here. The form of the first two lines never
 * changes: they name the program version that can resume the file, and other versions refuse it. */

enum { RW_CHECKPOINT_VERSION = 2 };

/* The content of a checkpoint file, in the order of its lines. If it was read, it owns all members.
 * If it will be written, it borrows them. */
struct rw_checkpoint {
    char *program;
    int is_ended;
    int has_init;
    uint64_t init_checksum;
    int32_t init_rounds, init_trees; /* with the empty ones */
    char *note;                      /* "": no note */
    uint64_t boundaries;
    int32_t n_sets;
    struct rw_fingerprint *set; /* [n_sets] the training set first */
    char *state_name;           /* name of the objective, or "custom" */
    int32_t state_version;
    char *state;            /* the lines of the state; NULL: no state */
    struct rw_model *model; /* all rounds so far, each with a tree for each bag */
};
void rw_checkpoint_release(struct rw_checkpoint *checkpoint); /* of one that was read, or zeroed */
/* A training that is one trial of a search. All members are required. */
struct rw_trial {
    /* Receives the unfinished training. If it has one already, training continues that one: data,
     * hooks and parameters must be the same, except for more `rounds`. The caller releases it. It
     * is lost after a failure. */
    struct rw_checkpoint *paused;
    /* Called after each round with the first metric of each query of the first validation set, as
     * rw_metric_eval writes it: [n_queries], NaN for a query that does not count. A negative
     * status ends training. */
    int (*take_values)(void *user, const double *per_query);
    void *user;
};
/* Trains like rw_train_on. With a trial, *out is NULL, and there is one worker. trial: may be
 * NULL. */
int rw_train_further(struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_training *training, const struct rw_trial *trial,
                     struct rw_model **out);

/* Reads a checkpoint. RW_ERR_FORMAT: the file is not a checkpoint, is truncated or damaged, or
 * has another version. */
int rw_checkpoint_read(struct rw_ctx *ctx, const char *path, struct rw_checkpoint *out);
/* Parses the text of a checkpoint in memory. path: for messages only. */
int rw_checkpoint_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                        struct rw_checkpoint *out);
/* Returns in *out the checkpoint as text, without a terminating 0. The caller owns it
 * (rw_mem_free). */
int rw_checkpoint_print(struct rw_ctx *ctx, const struct rw_checkpoint *checkpoint, char **out,
                        size_t *n);

/* Writes and resumes the checkpoints of one training. A zeroed struct has checkpoints turned
 * off. */
struct rw_checkpointer {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_checkpoints *how; /* NULL: checkpoints are off; borrowed */
    void *user;                       /* argument of the functions in `how` */
    struct rw_checkpoint resumed; /* the checkpoint that was read; its model is NULL if none was */
    struct rw_checkpoint content; /* the checkpoint to write; its `set` is owned */
    const struct rw_model *model; /* the growing model; borrowed */
    const struct rw_gradients
        *gradients; /* they print the objective's state; NULL: no state; borrowed */
    /* ---- the writer: writes one file at a time while training continues ---- */

    struct rw_ctx *writer; /* context of the writer's thread; NULL: no files are written; owned */
    struct rw_arena arena; /* owns the arrays of `snapshot` and `content` that were copied */
    struct rw_model snapshot; /* the model to write; its trees are borrowed */
    pthread_t thread;
    int is_running; /* 1: the thread was started and has not been joined */
    int is_done;    /* 1: the write has ended; atomic, written by the writer's thread */
    int status;     /* of the last write */
    double ms;      /* duration of the last write */
    /* Round and time at which the last checkpoint was begun, or training began or resumed. The next
     * one is due a number of rounds or a time later. */
    int last_round;
    double last_ms;
    /* Round and is_ended of the file on disk; round 0: no file yet. */
    int kept_round, kept_is_ended;
    int has_failed; /* 1: the last write failed and was reported */
    /* totals: files written, time in which training waited, and duration of all writes */
    int n_written;
    double stopped_ms, written_ms;
};

/* Checks that the checkpoint's path can be written, and reads the file to resume from, if there is
 * one. Each worker reads it, and only worker 0 checks the path and writes checkpoints. hooks: may
 * be NULL. */
int rw_checkpointer_init(struct rw_checkpointer *c, struct rw_ctx *ctx,
                         const struct rw_train_hooks *hooks);
/* Waits for an unfinished write and frees everything. It may be called in any state after
 * zeroing. */
void rw_checkpointer_release(struct rw_checkpointer *c);

/* Checks that all workers have checkpoints on or all have them off, and that all start afresh or
 * all resume from checkpoints with the same number of trees. RW_ERR_ARGUMENT: they differ. All
 * workers call it. */
int rw_checkpointer_agree(struct rw_checkpointer *c);

static inline int rw_checkpointer_resumes(const struct rw_checkpointer *c)
{
    return c->resumed.model != NULL;
}

/* Compares the training with the checkpoint, if one is resumed, and keeps `model` for later
 * writes. `model` has its parameters, features and names, and will get the trees. init: the
 * model to continue from, or NULL. RW_ERR_ARGUMENT, RW_ERR_DATA, RW_ERR_FORMAT: the checkpoint is
 * of a different training; the message names the difference. */
int rw_checkpointer_take(struct rw_checkpointer *c, const struct rw_model *model,
                         const struct rw_eval_sets *eval, const struct rw_objective *objective,
                         const struct rw_model *init);
/* Computes the fingerprints of the loaded data for later writes, and for the context's record of
 * data. If a checkpoint is resumed, it also compares them with the checkpoint's. RW_ERR_DATA: they
 * differ. All workers call it. */
int rw_checkpointer_take_data(struct rw_checkpointer *c, struct rw_engine *engine,
                              const struct rw_sets *sets);
/* Appends the checkpoint's trees that `model` lacks and adds them to all scores. It also
 * restores the metrics of each round and the best round. n_rounds: the largest number of rounds
 * that `model` can have after this training. RW_ERR_ARGUMENT: the checkpoint has more. RW_ERR_DATA:
 * the scores do not give its metrics. */
int rw_checkpointer_restore(struct rw_checkpointer *c, const struct rw_bags *bags,
                            struct rw_eval_sets *eval, int n_rounds, struct rw_model *model,
                            size_t *tree_room);
/* Restores the state of the objective from the checkpoint, and saves it in later ones.
 * `gradients` stays borrowed. */
int rw_checkpointer_take_state(struct rw_checkpointer *c, struct rw_gradients *gradients);
/* Returns 1 if the caller ended the resumed training early (on_round), and this training may not
 * run more rounds than that one could. n_rounds: as for rw_checkpointer_restore. */
int rw_checkpointer_was_ended(const struct rw_checkpointer *c, int n_rounds);

/* Starts to write a checkpoint if one is due and no write is running. n_rounds: rounds so far, all
 * of which have a tree in the model. */
void rw_checkpointer_round(struct rw_checkpointer *c, const struct rw_eval_sets *eval,
                           int n_rounds);
/* Writes the last checkpoint, unless the file is already up to date or there are no rounds after
 * those of the model to continue from, and logs the total time of all writes. A failed write is a
 * warning, because the model is not affected. */
void rw_checkpointer_end(struct rw_checkpointer *c, const struct rw_eval_sets *eval, int n_rounds,
                         int is_ended);
