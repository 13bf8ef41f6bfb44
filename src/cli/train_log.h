/* train --log: one JSON object a line, whose "record" is its kind: "params" once (what was used,
 * and what was given), "metrics" and "timing" each round, "timing" each stage. A training that
 * resumes adds to the log: "resume", with the round that it goes on from, and "params" again. What
 * differs between machines stands in "timing" and "params" only, so "metrics" lines compare. */
#ifndef RW_CLI_TRAIN_LOG_H
#define RW_CLI_TRAIN_LOG_H

#include "cli/cli.h"

/* Zero-initialise; every function does nothing on a log that is not open. */
struct rw_train_log {
    FILE *file;
    const char *path; /* borrowed */
    char note[32];
    int resumes, is_waiting; /* waiting: for rw_train_log_begin; nothing is written */
    int resumed_round;       /* 0: it began with this training */
    int error;               /* errno of the first write that failed; 0: none */
};

/* resumes: what is there stays until rw_train_log_begin. 0, or the exit code of an error. */
int rw_train_log_open(struct rw_train_log *log, const char *path, int resumes);
/* How much of it there is, "log 1234", for a checkpoint; "" if it is no file. Valid until the next
 * call. */
const char *rw_train_log_note(struct rw_train_log *log);
/* Of a training that resumes after `round`: goes on from there, dropping what was written later; if
 * the note is of no log, or of a longer one, from the beginning. */
void rw_train_log_begin(struct rw_train_log *log, const char *note, int round);
/* used: what training takes; cli->params: as given, before anything was chosen; size: documents and
 * queries, on all ranks. */
void rw_train_log_params(struct rw_train_log *log, struct rw_params *used, const struct rw_cli *cli,
                         const struct rw_list *valid, const uint64_t size[2]);
void rw_train_log_round(struct rw_train_log *log, const struct rw_round *round);
/* "positions", after the last round of a training with --debias. */
void rw_train_log_positions(struct rw_train_log *log, const struct rw_positions *found);
void rw_train_log_stage(struct rw_train_log *log, const char *stage, double ms, size_t peak_bytes);
/* 0, or the exit code of an error. The log of a run that failed is removed, unless it resumed. */
int rw_train_log_close(struct rw_train_log *log, int run_failed);
/* "train", "valid1", ...: the sets' names, as in the model file. */
const char *rw_train_log_set(int set, char buffer[32]);

/* Figures of a training for people: what one would take, and the metrics that are said at the end,
 * of the model that is kept. */
struct rw_train_value {
    int set; /* as in struct rw_metric_value */
    char name[48];
    double value;
};
/* Zeroed at first; its memory is not freed. */
struct rw_train_values {
    struct rw_train_value *last, *best; /* [n] of the last round, and of the best one */
    int n;
};

/* After each round; and of the rounds that a training goes on from. */
void rw_train_values_round(struct rw_train_values *values, const struct rw_round *round);
void rw_train_values_resume(struct rw_train_values *values, const struct rw_resumed *resumed);
/* Those of the validation sets, line by line. set_name: for people. */
void rw_train_values_print(const struct rw_train_values *values, const struct rw_model *model,
                           const char *(*set_name)(int set, char buffer[32]));

/* What a tree read of codes that are not on the GPU: a line for people. */
void rw_train_far_print(const struct rw_round *round);

/* What was found of the positions at which documents were shown: a line each, of the first ones. */
void rw_train_positions_print(const struct rw_positions *found);

void rw_train_plan_print(const struct rw_cli *cli, const struct rw_plan *plan);
/* 0, or, after an error, an exit code: the host has too little memory for it. */
int rw_train_plan_fits(const struct rw_plan *plan);

#endif
