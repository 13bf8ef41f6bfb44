/* Runs a bench and prints its rows: as tables, as they come, or in another format at the end. */
#ifndef RW_CLI_BENCH_ROWS_H
#define RW_CLI_BENCH_ROWS_H

#include "cli/options.h"

enum { RW_BENCH_COLUMNS = 4096 };
/* The row's fields. */
json_t *rw_bench_rows_json(const struct rw_bench_row *row);
/* Its columns, with their decimals, as rw_result_rows takes them. */
void rw_bench_rows_columns(const struct rw_bench_row *row, char columns[RW_BENCH_COLUMNS]);
/* rw_result_show of the row. */
int rw_bench_rows_show(struct rw_result_stream *stream, const struct rw_bench_row *row);

typedef int (*rw_bench_fn)(struct rw_ctx *ctx, const struct rw_bench_options *options,
                           rw_bench_row_fn row, void *user);
/* bench: its name, "train". Returns as functions of a command do. */
int rw_bench_rows(struct rw_cli *cli, const char *bench, rw_bench_fn run,
                  const struct rw_bench_options *options);

#endif
