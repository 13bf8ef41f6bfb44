/* train --for FORMAT: may the model be one that the format cannot say? */
#ifndef RW_CLI_TRAIN_FOR_H
#define RW_CLI_TRAIN_FOR_H

#include "cli/options.h"

/* Before anything is read: is there such a format (NULL: not asked for), and its feature set? */
int rw_train_for_take(struct rw_cli *cli, const struct rw_exchange *made_for);
/* Before the first round; RW_EXIT_USAGE where the format would refuse the model. init: NULL: none.
 */
int rw_train_for_check(struct rw_cli *cli, const struct rw_exchange *made_for,
                       const struct rw_model *init);

#endif
