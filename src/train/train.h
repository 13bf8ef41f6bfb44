/* What the files of this room share: lists of features, sets, metrics by round, a model to go on
 * from, what a model has besides trees, checkpoints. The public functions are in rankwood.h. */
#pragma once

#include <pthread.h>

#include "io/data_format.h"
#include "model/model_text.h"
#include "params/params.h"
#include "tree/grower.h"

/* The training set's features, and their names. */
struct rw_training_features {
    const struct rw_feature_name *name;
    int32_t n_names;
    const uint32_t *feature; /* [n_features] ascending */
    uint32_t n_features;
};

/* --names, and parameters that are lists of features: --ignore, --features, --monotone,
 * --interactions, --feature-penalty and --categorical. */
/* Those of the file `path`; "": the training set's own, if it has some, as a model can have them.
 */
int rw_names_take(struct rw_ctx *ctx, const char *path, const struct rw_dataset *train,
                  struct rw_feature_name **out, int32_t *n);
/* Warns of names of features that the training set lacks: there may be a slip in the file. */
void rw_names_warn(struct rw_ctx *ctx, const struct rw_training_features *set);

/* Of a list of features to train on, and no others: marks those of the training set that it does
 * not name. ignore: [RW_FEATURE_IDS]. RW_ERR_ARGUMENT: the training set has none that it names. */
int rw_features_limit(struct rw_ctx *ctx, const char *list, const struct rw_training_features *set,
                      uint8_t *ignore);
/* The ignored ids as a list of ids and ranges: the same text for the same set. *out is owned by the
 * caller. */
int rw_ignore_text(struct rw_ctx *ctx, const uint8_t *ignore, char **out);

/* Lists of ids, ranges of ids "3-7" and names, with commas, that give features something: 1 where
 * there is nothing but features (MARKS, GROUP), 1 or -1 by :+ or :- behind an item (MONOTONE), or a
 * number from 0 to RW_MOST_PENALTY behind its : (PENALTY). A feature that comes twice is an error.
 * value: [RW_FEATURE_IDS], 0 where the list does not have the feature. Of the set, names count. */
enum rw_list_kind { RW_LIST_MARKS, RW_LIST_MONOTONE, RW_LIST_PENALTY, RW_LIST_GROUP };
#define RW_MOST_PENALTY 1e30
int rw_list_values(struct rw_ctx *ctx, enum rw_list_kind kind, const char *list,
                   const struct rw_training_features *set, double *value);
/* The same text for the same values. *out is owned by the caller. */
int rw_list_text(struct rw_ctx *ctx, enum rw_list_kind kind, const double *value, char **out);

/* Groups of items, with ';' between groups. */
int rw_interactions_parse(struct rw_ctx *ctx, struct rw_arena *arena, const char *list,
                          const struct rw_training_features *set, struct rw_interactions *out);
int rw_interactions_text(struct rw_ctx *ctx, const struct rw_interactions *interactions,
                         char **out);

/* Of a list that could be parsed, of a parameter: does training use what each item names, of a
 * range at least one? has_values: something stands behind each item's ':'. ignore: what training
 * leaves out; NULL: nothing. */
int rw_feature_list_check(struct rw_ctx *ctx, const char *parameter, int has_values,
                          const char *list, const struct rw_training_features *set,
                          const uint8_t *ignore);

/* What parameters say of single features, by ids, as engines and the grower take it. */
struct rw_feature_rules {
    struct rw_arena arena; /* has the arrays */
    uint8_t *ignore;       /* [RW_FEATURE_IDS] with what `features` does not name; NULL: none */
    int8_t *monotone;      /* [RW_FEATURE_IDS] NULL: no feature has a direction */
    double *penalty;       /* [RW_FEATURE_IDS] NULL: no feature has one */
    struct rw_interactions interactions; /* without groups: all features may be used together */
};

/* From here on the parameters have ids, as the model will. */
int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_training_features *set);

/* Metrics by round, and when to stop. */
struct rw_eval_sets {
    struct rw_arena arena;              /* has the arrays */
    struct rw_ctx *ctx;                 /* borrowed */
    const struct rw_params *params;     /* borrowed */
    const struct rw_train_hooks *hooks; /* borrowed; may be NULL */
    struct rw_gain_rule gains;
    struct rw_metric metric[RW_MAX_METRICS];
    int n_metrics; /* of the table's */
    /* Those that a device can measure, in the same order; rw_eval_sets_plan makes them. */
    struct rw_metric on_device[RW_MAX_METRICS];
    int any_uses_gain;
    int n_sets;                                 /* training set and validation sets */
    const struct rw_dataset *set[RW_MAX_SETS];  /* borrowed */
    struct rw_judgments judgments[RW_MAX_SETS]; /* of the sets that are measured */
    double *scores;                             /* [most documents of a measured set] */
    /* NULL: the engine has the scores; else they are here, [n_sets], and there is no engine. */
    const double *const *given;
    struct rw_metric_value *value; /* [n_values] this round's */
    const char **name;             /* [n_values] "valid1 ndcg@10" */
    int n_values;
    int is_registered; /* the engine knows what will be measured */
    int stop_value;    /* which value stops training; -1: none */
    int stop_set;      /* whose value that is, from 1; 0: none */
    int lower_is_better;
    int best_round; /* 0: none yet */
    double best_value;
    /* every round's values, for the model */
    double *history;
    size_t history_room;
    int n_rounds;
};

/* sets[0] is the training set, measured only if params ask for it. */
int rw_eval_sets_init(struct rw_eval_sets *eval, struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_train_hooks *hooks, const struct rw_dataset *const *sets,
                      int n_sets);
/* From here on values are of all workers. All workers call it, and rw_eval_sets_round. */
int rw_eval_sets_share(struct rw_eval_sets *eval);
/* What a device can measure of a set. Returns 0 if that is nothing. */
int rw_eval_sets_plan(struct rw_eval_sets *eval, int set, struct rw_metric_plan *plan);
/* Decides which set stops training: the first validation set that is not the training set
 * (is_train: [n_sets], from 1 on). Without one, early stopping is off, with a warning. RW_ERR_DATA:
 * early stopping is on, and the metric of that set is the same for every ranking, or counts no
 * query. All workers call it, after rw_eval_sets_share. */
int rw_eval_sets_choose(struct rw_eval_sets *eval, const unsigned char *is_train);
void rw_eval_sets_release(struct rw_eval_sets *eval);
/* Measures all measured sets after `round` (from 1). engine: NULL with scores that are given. */
int rw_eval_sets_round(struct rw_eval_sets *eval, struct rw_engine *engine, int round);
/* Goes on from the metrics and the best round of a model so far, whose metrics have these names. */
int rw_eval_sets_restore(struct rw_eval_sets *eval, const struct rw_model *so_far);
/* Do the scores give the metrics of the last round, but for a custom one? RW_ERR_DATA if not. */
int rw_eval_sets_verify(struct rw_eval_sets *eval, struct rw_engine *engine);
/* Has the patience run out after `round`? */
int rw_eval_sets_is_over(const struct rw_eval_sets *eval, int round);
/* Writes names and history into the model. */
int rw_eval_sets_report(struct rw_eval_sets *eval, struct rw_model *model);

/* What tells the data of a training from other data: the same whichever way they were read, on
 * every device, for any number of threads. */
/* What tells sets apart: each part is a sum over documents or queries, modulo 2^64, so that those
 * of shares of a set can be added. */
enum rw_print {
    RW_PRINT_DOCUMENTS, /* their number; the same of queries */
    RW_PRINT_QUERIES,
    RW_PRINT_QUERY_IDS,
    RW_PRINT_LABELS,
    RW_PRINT_WEIGHTS,
    RW_PRINT_VALUES,
    RW_PRINT_SIDES, /* of side columns with parts of their own; 0: the set has none */
    RW_PRINTS = RW_PRINT_SIDES + RW_SIDE_COLUMNS - RW_SIDE_PRINTED
};
struct rw_fingerprint {
    uint64_t part[RW_PRINTS];
};
const char *rw_print_name(int part); /* "query-ids" */

/* Of a set that the engine has loaded. first_doc, first_query: how many others stand before these,
 * where the set is a share of one; the shares' parts, added, are those of all. */
int rw_fingerprint_make(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                        uint64_t first_doc, uint64_t first_query, struct rw_fingerprint *out);
/* The same of all workers' documents. All workers call it. */
int rw_fingerprint_of_all(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                          struct rw_fingerprint *out);
/* Of the boundaries of a training set's bins. */
uint64_t rw_fingerprint_boundaries(const struct rw_cuts *cuts);

/* The sets of a training with features by categories: which words have codes, and views of the sets
 * with codes in place of those features' values. Without such features nothing is made. */
struct rw_category_sets {
    struct rw_arena arena;           /* of codes and views */
    struct rw_categories categories; /* owned */
    uint16_t *codes; /* [RW_FEATURE_IDS] of each such feature, as struct rw_cut_rule has them; NULL:
                        there are no such features */
    char *text;      /* parameter 'categorical' by ids; owned */
    int absent_missing;
    struct rw_model init; /* the model to go on from, with these codes: only its trees are owned */
};

/* Which features training takes by categories, as all workers have it: those that are named, those
 * that the training set has by words, and those that `init` (or NULL) has. wanted:
 * [RW_FEATURE_IDS], zeroed; *any: there are some. All workers call it. */
int rw_category_features(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *documents, const struct rw_model *init,
                         uint8_t *wanted, int *any);
/* *any: has some document of some worker no value of the feature? All workers call it. */
int rw_category_has_missing(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                            const struct rw_dataset *documents, int absent_missing, int *any);

/* The sets of a training, of which each of many workers has a part. All workers call these; with
 * one worker there is little to do. */
/* Marks what any worker has marked. mark: [RW_FEATURE_IDS] */
int rw_workers_any(struct rw_ctx *ctx, uint8_t *mark);
/* How many documents the training set has on all workers. RW_ERR_DATA: too many. */
int rw_workers_docs(struct rw_ctx *ctx, const struct rw_dataset *train, uint32_t *all_docs);

/* The sets of a training. */
struct rw_sets {
    const struct rw_dataset
        *given[RW_MAX_SETS]; /* as the caller knows them, the training set first */
    const struct rw_dataset *set[RW_MAX_SETS]; /* codes in place of categories */
    int n_sets;
    struct rw_binned train; /* borrowed parts; without bins: the values are in set[0] */
    struct rw_binned made;  /* of many workers: bins, where there were values; owned */
    uint32_t all_docs;      /* of the training set, on all workers */
    struct rw_training_features features; /* borrowed */
    struct rw_column_rule columns; /* what validation sets fit; kind and width of the model */
    const struct rw_model *init;   /* to go on from, with these sets' codes; NULL: none; borrowed */
    struct rw_category_sets categories;
};
/* As the caller knows them: `given` and `set`. RW_ERR_ARGUMENT: too many validation sets. */
int rw_sets_init(struct rw_sets *sets, struct rw_ctx *ctx, const struct rw_dataset *train,
                 const struct rw_dataset *const *valid, int n_valid);
/* Before anything else, by all workers and of all workers' sets: makes codes of categories, and
 * with them `set` and `init`; all_docs; and where many workers have values, `made` gets the codes
 * of this one's, with boundaries of all, and the features. init: the model to go on from, or NULL.
 */
int rw_sets_prepare(struct rw_ctx *ctx, const struct rw_params *params, struct rw_sets *sets,
                    const struct rw_model *init);
/* Finds validation sets that are the training set: the same documents, labels, queries and codes.
 * The engine has loaded all sets. is_train: [n_sets]; written from 1 on. */
int rw_sets_find_train(struct rw_engine *engine, const struct rw_sets *sets,
                       unsigned char *is_train);
/* Sets that were read as codes are this training's: validation sets have the boundaries of the
 * training set, and what goes on from a model (init, NULL: none) has values, or the model's
 * scores. */
int rw_sets_check(struct rw_ctx *ctx, const struct rw_sets *sets, const struct rw_model *init,
                  int measures_training, int on_gpu);
/* Do the sets fit each other, and the model to go on from (NULL: none), counting the columns of all
 * workers? RW_ERR_DATA as rw_model_check_data has it. Writes `columns`: what the model has of them,
 * without names. All workers call it. */
int rw_sets_columns(struct rw_ctx *ctx, struct rw_sets *sets, const struct rw_model *init);
/* From here on `set` has codes in place of the values of these categories. */
int rw_sets_recode(struct rw_ctx *ctx, struct rw_sets *sets, int set,
                   const struct rw_categories *categories, int absent_missing);
void rw_sets_release(struct rw_sets *sets);

/* What training makes of side columns (dataset/dataset.h): whether they are there, and several
 * labels per document (parameter `label-weights`), for which the lambdas of a training on each
 * label alone are added, each times its weight (objective/objective.h). The first label is the data
 * set's own, which metrics see; the others are its further ones. */
/* Do the training set's side columns agree with the parameters and the objective, which is NULL for
 * the caller's gradients? RW_ERR_ARGUMENT: a column is missing; a warning: one has no use. */
int rw_train_check_sides(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_objective *objective, const struct rw_dataset *train);
/* Checks the labels alone, for a refit. */
int rw_labels_check(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_objective *objective, const struct rw_dataset *train);
/* RW_ERR_ARGUMENT: parameters name the file of a column that the training set does not have. */
int rw_train_check_files(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *train);
/* The gains of all labels that train, [n_labels or 1][n_docs], of an objective that ranks. */
int rw_labels_gains(struct rw_ctx *ctx, struct rw_arena *arena, const struct rw_params *params,
                    const struct rw_gain_rule *gains, const struct rw_dataset *train, double **out);
/* What a rule has of all workers' training sets: the largest gains, and how labels are summed
 * (rw_objective_sum). All workers call it. gains: NULL if the objective does not worker. */
int rw_labels_rule(struct rw_ctx *ctx, const struct rw_objective *objective,
                   struct rw_objective_rule *rule, const double *gains,
                   const struct rw_dataset *train);

/* Training that goes on from a model: its trees come first, scores begin as their sums. */
/* RW_ERR_ARGUMENT: a split of the model does not keep a feature's direction, or uses features
 * together that may not be, so that training could only make scores that do not either. direction:
 * [RW_FEATURE_IDS] as in tree/grower.h, or NULL; interactions: without groups there are none. */
int rw_continuation_check(struct rw_ctx *ctx, const struct rw_model *init, const int8_t *direction,
                          const struct rw_interactions *interactions);
size_t rw_most_leaves(const struct rw_model *model); /* of a tree; at least 1 */
/* Adds the trees of sets->init to all scores and to `model`, and says how its training differed.
 * eval: NULL where these rounds' metrics are known. RW_ERR_ARGUMENT: the model takes absent
 * features otherwise than training would. */
int rw_continue(struct rw_engine *engine, const struct rw_sets *sets, struct rw_params *params,
                struct rw_eval_sets *eval, struct rw_model *model, size_t *tree_room);
/* What the finished model has of the one it goes on from: its features beside the training set's,
 * its names unless there are others, and its trainings. The model's own parameters are known. */
int rw_continuation_finish(struct rw_ctx *ctx, const struct rw_model *init, struct rw_model *model);

/* Why no tree could be split: the likeliest cause and what to change, into `text`, by all workers
 * together. params: of the training, effective; gain: [n_docs], or NULL where the objective has
 * none; info: what the engine made of the data. */
int rw_explain_no_split(struct rw_ctx *ctx, const struct rw_params *params,
                        const struct rw_sets *sets, const double *gain,
                        const struct rw_engine_info *info, char *text, size_t size);

/* What a training's model has besides trees: its parameters; and how large its file can be at most,
 * known while it grows, for those who reserve space before there is a model to write. */
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

/* model: as it is before the first round; init: the one that training goes on from, or NULL. */
void rw_model_size_init(struct rw_model_size *size, const struct rw_model *model,
                        const struct rw_eval_sets *eval, const struct rw_model *init);
/* The bytes with one more round, whose tree has so many leaves. */
uint64_t rw_model_size_with(const struct rw_model_size *size, int32_t n_leaves);

/* A training set and a validation set as codes that are made once, for one training after another,
 * each on features of its own: those that it leaves out cost it nothing. */
struct rw_resident {
    struct rw_binned train;  /* as rw_train_on takes it; parts are borrowed, but for: */
    struct rw_bins *made;    /* train.bins, where the set came with values; owned */
    struct rw_dataset valid; /* all borrowed, but codes */
    struct rw_bins *codes;   /* valid.codes.bins; owned */
};
/* For trainings with these `params`, but for what they say of features. Both sets stay borrowed;
 * valid has values. Where a GPU may train, it bins the validation set each time, for it cannot take
 * codes. */
int rw_resident_init(struct rw_resident *r, struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_binned *train, const struct rw_dataset *valid);
void rw_resident_release(struct rw_resident *r);

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
    int32_t state_version;
    char *state;            /* its lines; NULL: none */
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

/* Zeroed, it does nothing: there are none. */
struct rw_checkpointer {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_checkpoints *how; /* NULL: nothing is written or read; borrowed */
    void *user;                       /* of its functions */
    struct rw_checkpoint resumed;     /* what was read; its model is NULL: nothing was */
    /* what this training's checkpoints have in common, and the one that is written, or was last;
     * its `set` is owned */
    struct rw_checkpoint content;
    const struct rw_model *model;         /* what grows; borrowed */
    const struct rw_gradients *gradients; /* whose state is the objective's; NULL: none; borrowed */
    /* One file after the other, written beside training. */
    struct rw_ctx *writer; /* of its thread; NULL: no files are written; owned */
    struct rw_arena arena; /* has what the snapshot does not borrow */
    struct rw_model snapshot;
    pthread_t thread;
    int is_running;
    int is_done; /* atomic: written by its thread */
    int status;
    double ms; /* that the last one took */
    /* since when the next one is waited for */
    int last_round;
    double last_ms;
    int kept_round, kept_is_ended; /* of the file that is there; 0: none */
    int has_failed;                /* the last one, and that was said */
    /* in all */
    int n_written;
    double stopped_ms, written_ms;
};

/* Checks where they go, and reads the one to be resumed. hooks: may be NULL. Of many workers each
 * reads it, and worker 0 writes. */
int rw_checkpointer_init(struct rw_checkpointer *c, struct rw_ctx *ctx,
                         const struct rw_train_hooks *hooks);
/* Waits for the one being written; in any state after being zeroed. */
void rw_checkpointer_release(struct rw_checkpointer *c);

/* Do all workers write, or wait for those who do, and resume from the same one? All workers call
 * it. */
int rw_checkpointer_agree(struct rw_checkpointer *c);

static inline int rw_checkpointer_resumes(const struct rw_checkpointer *c)
{
    return c->resumed.model != NULL;
}

/* The training: `model` has its parameters, features and names, and will have its trees. init: the
 * model that it continues from, or NULL. RW_ERR_ARGUMENT, RW_ERR_DATA: it is another one than the
 * checkpoint's; the message names what differs. */
int rw_checkpointer_take(struct rw_checkpointer *c, const struct rw_model *model,
                         const struct rw_eval_sets *eval, const struct rw_objective *objective,
                         const struct rw_model *init);
/* The same of its data, which are loaded. All workers call it. */
int rw_checkpointer_take_data(struct rw_checkpointer *c, struct rw_engine *engine,
                              const struct rw_sets *sets);
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

/* After n_rounds rounds, which all have a tree in the model: begins to write one, if it is time. */
void rw_checkpointer_round(struct rw_checkpointer *c, const struct rw_eval_sets *eval,
                           int n_rounds);
/* The last one, if the file does not say it yet; and says what all of them took. What cannot be
 * written is a warning: the model is not lost by it. */
void rw_checkpointer_end(struct rw_checkpointer *c, const struct rw_eval_sets *eval, int n_rounds,
                         int is_ended);
