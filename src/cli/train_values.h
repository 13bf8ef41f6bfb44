/* Figures of a training: what one would take, and the metrics that are said at the end, of the
 * model that is kept. */
#ifndef RW_CLI_TRAIN_VALUES_H
#define RW_CLI_TRAIN_VALUES_H

#include "cli/options.h"

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
