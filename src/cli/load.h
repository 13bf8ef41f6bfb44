/* What several commands do alike: read data, print figures, warn. */
#ifndef RW_CLI_LOAD_H
#define RW_CLI_LOAD_H

#include "cli/options.h"

/* Functions that return an int return what functions of a command do. */

/* Reads a model that is put to use: warns if its training was interrupted. */
int rw_load_model(struct rw_cli *cli, const char *path, struct rw_model **out);
/* How CSV and TSV are read from now on: by the parameters; features by name, as `like` has them, or
 * else `model`. */
enum rw_load_kind {
    RW_LOAD_ALL,
    RW_LOAD_SCORES_BY_QUERY, /* labels are not read */
    RW_LOAD_SCORES           /* nor need there be query ids */
};
int rw_load_columns(struct rw_cli *cli, const struct rw_dataset *like, const struct rw_model *model,
                    enum rw_load_kind kind);
/* When data was read: options for tables had an effect. */
int rw_load_check_columns(struct rw_cli *cli);
/* Reads files as one dataset: features by name are where cli->dataset has them, if this is another
 * set, or else the model. With --verbose, prints the time and memory. */
int rw_load_dataset(struct rw_cli *cli, const struct rw_list *files, struct rw_dataset **out);
/* A validation set for the training set at hand, which may be without values. */
int rw_load_valid(struct rw_cli *cli, const struct rw_list *files, struct rw_dataset **out);
/* cli->dataset, with the weights that the parameters name. */
int rw_load_weighted(struct rw_cli *cli, const struct rw_list *files);
/* The same of a training on values, by one of many ranks; rw_load_check_columns is for later. */
int rw_load_values(struct rw_cli *cli, const struct rw_list *files);
/* cli->binned, and its documents, with their weights, as cli->dataset. */
int rw_load_training(struct rw_cli *cli, const struct rw_list *files);
/* Documents and queries of all ranks, on a line that ends with `features`; n: written, the numbers.
 */
int rw_load_say_size(struct rw_cli *cli, const char *set, const struct rw_list *files,
                     const struct rw_dataset *data, const char *features, uint64_t n[2]);
/* Of the training set. */
uint32_t rw_load_n_features(const struct rw_cli *cli);
/* Scores of a file for cli->dataset, numbers or a TREC run: [documents], written. Warns of what a
 * run leaves out. */
int rw_load_scores(struct rw_cli *cli, const char *path, double *scores);
/* --trees N: the first N trees of cli->model, all where `text` is NULL. */
int rw_load_n_trees(struct rw_cli *cli, const char *text, int *n_trees);
/* --loss X: 0 or more. */
int rw_load_loss(const struct rw_cli *cli, const char *text, double *loss);
/* An exit code if options that choose how queries and ties count are given; `why` follows "has no
 * effect". */
int rw_load_check_conventions(const struct rw_cli *cli, const char *why);
/* Refuses an unknown program, and parameters that have no effect on its figures. */
int rw_load_check_like(const struct rw_cli *cli, const char *like);

/* Judgments and runs of TREC files in place of data, --qrels and --run. Refuses what has no effect
 * beside judgments. *like: the program as it was given, NULL if none was; then the one that
 * decides: trec_eval's conventions, unless "rankwood" was given: NULL, by the parameters. */
int rw_load_check_qrels(const struct rw_cli *cli, const char **like);
/* Reads them, and warns of queries that a run lacks, or has without judgments. */
int rw_load_qrels(const struct rw_cli *cli, const char *qrels, const struct rw_list *runs,
                  struct rw_qrels **out);

/* What a model's map of scores to probabilities is, in a line, and as JSON with its knots. */
void rw_load_calibration_line(struct rw_result *result, const struct rw_calibration *map);
json_t *rw_load_json_calibration(const struct rw_calibration *map);
/* An array of the metrics of an evaluation. */
json_t *rw_load_json_metrics(const struct rw_eval *eval);

#define RW_TIES_ADVICE "; '--ties mean' does not depend on the order"
/* Warns of a metric, or the first one, that the order of tied documents moves by more than 0.001:
 * once, however many sets and metrics there are. */
void rw_load_warn_moved(const char *set, const char *metric, double moved, const char *advice);
void rw_load_warn_ties(const struct rw_eval *eval, const char *set, const char *advice);
/* Warns of features that matter to cli->model and that cli->dataset, read to its end, lacks.
 * Columns of a table are all there. */
void rw_load_warn_lacking(const struct rw_cli *cli);

/* A stage's line under --verbose; start: by rw_progress_clock. */
void rw_load_stage(const char *stage, double ms, size_t peak_bytes);
void rw_load_stage_since(const char *stage, double start);

#endif
