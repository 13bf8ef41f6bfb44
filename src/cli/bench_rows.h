/* Runs a bench and shows its rows: as tables, or as one JSON document. */
#ifndef RW_CLI_BENCH_ROWS_H
#define RW_CLI_BENCH_ROWS_H

#include "rankwood.h"

struct rw_bench_subject {
    const char *name;    /* "train" */
    const char *command; /* whose help wrong usage is pointed to */
    int (*run)(struct rw_ctx *ctx, const struct rw_bench_options *options, rw_bench_row_fn row,
               void *user);
};
/* The exit code; what went wrong has been said. */
int rw_bench_rows(struct rw_ctx *ctx, const struct rw_bench_subject *bench,
                  const struct rw_bench_options *options, int json);

#endif
