/* What of train's options and parameters has no effect, before anything is read. */
#ifndef RW_CLI_TRAIN_CHECK_H
#define RW_CLI_TRAIN_CHECK_H

#include "cli/options.h"

/* Of a training with so many validation sets. */
int rw_train_check_params(struct rw_cli *cli, int n_valid);
/* Options that say nothing of a refit. */
int rw_train_check_refit(struct rw_cli *cli);

#endif
