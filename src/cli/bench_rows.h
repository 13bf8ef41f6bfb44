/* Runs a bench and prints its rows: as tables, or as one JSON document. */
#ifndef RW_CLI_BENCH_ROWS_H
#define RW_CLI_BENCH_ROWS_H

#include "cli/options.h"

typedef int (*rw_bench_fn)(struct rw_ctx *ctx, const struct rw_bench_options *options,
                           rw_bench_row_fn row, void *user);
/* bench: its name, "train". Returns as functions of a command do. */
int rw_bench_rows(struct rw_cli *cli, const char *bench, rw_bench_fn run,
                  const struct rw_bench_options *options, int json);

#endif
