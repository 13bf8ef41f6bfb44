/* What several commands do alike: read data, say how long it took, print figures. */
#ifndef RW_CLI_LOAD_H
#define RW_CLI_LOAD_H

#include <jansson.h>

#include "cli/options.h"

/* Reads a model that is put to use: warns if its training was interrupted. */
int rw_load_model(struct rw_ctx *ctx, const char *path, struct rw_model **out);
/* Reads files as one dataset. With --verbose, says the time and memory. A status, whose text is in
 * the context. */
int rw_load_dataset(struct rw_ctx *ctx, const struct rw_list *files, struct rw_dataset **out);
/* The same with the weights that the parameter 'weights' names. */
int rw_load_weighted(const struct rw_said *said, const struct rw_list *files,
                     struct rw_dataset **out);

/* The same as rw_load_dataset of a training set: as rw_binned_read. */
int rw_load_binned(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_list *files,
                   struct rw_binned **out);

/* Scores of a file, numbers or a TREC run: [documents], written. Says what a run leaves out. */
int rw_load_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                   double *scores);

/* --trees N: the first N of the model's trees, all where `text` is NULL. 0, or the exit code. */
int rw_load_n_trees(const struct rw_usage *usage, const struct rw_model *model, const char *text,
                    int *n_trees);

/* A figure as people read it, the same wherever it is printed: 6 decimals, "-" for no value. */
enum { RW_FIGURE_ROOM = 32 };
const char *rw_load_figure(double value, char buffer[RW_FIGURE_ROOM]);
/* Fewest digits that read back as the same double; returns their number. */
int rw_load_exact(double value, char buffer[RW_FIGURE_ROOM]);

/* A JSON string of any bytes: what is not UTF-8 is shown as '?'. */
json_t *rw_load_json_text(const char *text);
/* A parameter's value: a number where it is one, true and false for on and off, else a string
 * ("auto", and a seed of 2^63 or more). */
json_t *rw_load_json_param(const char *name, const char *value);

/* Warns of each metric that the order of tied documents moves by more than 0.001. */
void rw_load_warn_ties(const struct rw_eval *eval, const char *set);

/* Warns of features that only the model has, or only the data; nothing if there are none. */
void rw_load_warn_unmatched(uint32_t n_missing, uint32_t n_unknown);

/* A stage's line under --verbose. */
void rw_load_stage(const char *stage, double ms, size_t peak_bytes);
size_t rw_load_peak_bytes(void);

#endif
