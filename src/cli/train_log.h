/* train --log: one JSON object a line, whose "record" is its kind: "params" once (what was used,
 * and what was given), "metrics" and "timing" each round, "timing" each stage. What differs between
 * machines stands in "timing" and "params" only, so "metrics" lines compare. */
#ifndef RW_CLI_TRAIN_LOG_H
#define RW_CLI_TRAIN_LOG_H

#include "cli/options.h"

/* Zero-initialise; every function does nothing on a log that is not open. */
struct rw_train_log {
    FILE *file;
    const char *path; /* borrowed */
    int error;        /* errno of the first write that failed; 0: none */
};

/* 0, or the exit code of an error. */
int rw_train_log_open(struct rw_train_log *log, const char *path);
/* used: what training takes; cli->params: as given, before anything was chosen. */
void rw_train_log_params(struct rw_train_log *log, struct rw_params *used, const struct rw_cli *cli,
                         const struct rw_list *valid);
void rw_train_log_round(struct rw_train_log *log, const struct rw_round *round);
void rw_train_log_stage(struct rw_train_log *log, const char *stage, double ms, size_t peak_bytes);
/* 0, or the exit code of an error. The log of a run that failed is removed. */
int rw_train_log_close(struct rw_train_log *log, int run_failed);
/* "train", "valid1", ...: the sets' names, as in the model file. */
const char *rw_train_log_set(int set, char buffer[32]);

#endif
