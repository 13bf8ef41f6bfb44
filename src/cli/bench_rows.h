/* Runs a bench and prints its rows: as tables, or as one JSON document. */
#ifndef RW_CLI_BENCH_ROWS_H
#define RW_CLI_BENCH_ROWS_H

#include <jansson.h>

#include "cli/options.h"

enum { RW_ROWS_MOST_COLUMNS = 32, RW_ROWS_CELL = 128 };
/* Rows are shown as they come: a column is as wide as its widest cell so far. */
struct rw_shown_rows {
    char table[64]; /* that the last row was of */
    int n_columns, width[RW_ROWS_MOST_COLUMNS];
};
/* A row of a table, below the table's name and columns if it is the first. Nonzero: it cannot be
 * written. */
int rw_bench_rows_show(struct rw_shown_rows *shown, const struct rw_bench_row *row);
/* The cell as a person reads it: in `buffer`, or the row's own text. */
const char *rw_bench_rows_cell(const struct rw_bench_field *field, char buffer[RW_ROWS_CELL]);
/* Adds the row's fields to an object. */
void rw_bench_rows_json(const struct rw_bench_row *row, json_t *to);

typedef int (*rw_bench_fn)(struct rw_ctx *ctx, const struct rw_bench_options *options,
                           rw_bench_row_fn row, void *user);
/* bench: its name, "train". Returns as functions of a command do. */
int rw_bench_rows(struct rw_cli *cli, const char *bench, rw_bench_fn run,
                  const struct rw_bench_options *options, int json);

#endif
