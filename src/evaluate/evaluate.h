/* How rw_eval_params are read. */
#ifndef RW_EVALUATE_H
#define RW_EVALUATE_H

#include "metric/metric.h"

/* The metrics; RW_ERR_ARGUMENT where `how` is not what it should be. */
int rw_eval_metrics(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    struct rw_metric out[RW_MAX_METRICS], int *n);
/* The gains of labels by `how`. */
int rw_eval_gains(struct rw_ctx *ctx, const struct rw_eval_params *how, struct rw_gain_rule *out);
#endif
