#include "cli/bench_rows.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"
#include "cli/output.h"

/* ------------------------------------------------------------------ as a table */

enum { DEVICE_COLUMNS = 9, LONGEST_METHOD = 21, LONGEST_ROW = 37 };

const char *rw_bench_rows_cell(const struct rw_bench_field *field, char buffer[RW_ROWS_CELL])
{
    if (field->kind == RW_BENCH_TEXT)
        return field->text;
    if (field->kind == RW_BENCH_INTEGER)
        snprintf(buffer, RW_ROWS_CELL, "%.0f", field->number);
    else if (field->kind == RW_BENCH_REAL)
        snprintf(buffer, RW_ROWS_CELL, "%.*f", field->decimals, field->number);
    else
        snprintf(buffer, RW_ROWS_CELL, "-");
    return buffer;
}

static int column_count(const struct rw_bench_row *row)
{
    return row->n_fields < RW_ROWS_MOST_COLUMNS ? row->n_fields : RW_ROWS_MOST_COLUMNS;
}

static void print_cell(const struct rw_shown_rows *shown, const struct rw_bench_field *field, int i,
                       const char *text)
{
    const int is_last = i + 1 == shown->n_columns;
    if (field->kind == RW_BENCH_TEXT)
        printf("%s%-*s", i ? "  " : "", is_last ? 0 : shown->width[i], text);
    else
        printf("%s%*s", i ? "  " : "", shown->width[i], text);
}

static void print_head(struct rw_shown_rows *shown, const struct rw_bench_row *row)
{
    char buffer[RW_ROWS_CELL];
    snprintf(shown->table, sizeof(shown->table), "%s", row->table);
    shown->n_columns = column_count(row);
    printf("\n%s\n", row->table);
    for (int i = 0; i < shown->n_columns; i++) {
        static const int least[] = {
            [RW_BENCH_TEXT] = 10, [RW_BENCH_INTEGER] = 6, [RW_BENCH_REAL] = 9, [RW_BENCH_NONE] = 6};
        const struct rw_bench_field *field = &row->field[i];
        const int name = (int)strlen(field->name),
                  cell = (int)strlen(rw_bench_rows_cell(field, buffer));
        int width = least[field->kind];
        width = name > width ? name : width;
        if (strcmp(field->name, "method") == 0) /* whichever comes first, the longest must fit */
            width = LONGEST_METHOD;
        if (strcmp(field->name, "row") == 0)
            width = LONGEST_ROW;
        shown->width[i] = cell > width ? cell : width;
        print_cell(shown, field, i, field->name);
    }
    putchar('\n');
}

static void print_device(const struct rw_bench_row *row)
{
    char buffer[DEVICE_COLUMNS][RW_ROWS_CELL];
    const char *cell[DEVICE_COLUMNS];
    for (int i = 0; i < DEVICE_COLUMNS && i < row->n_fields; i++)
        cell[i] = rw_bench_rows_cell(&row->field[i], buffer[i]);
    if (row->n_fields < DEVICE_COLUMNS) { /* not the laboratory's */
        printf("suite '%s': device %s, threads %s, data of seed %s", row->suite, cell[0], cell[1],
               cell[2]);
        if (row->n_fields > 3)
            printf(", instructions %s", cell[3]);
        putchar('\n');
        return;
    }
    printf("%s, %s multiprocessors: reads %s GB/s (%s to %s)\n", cell[0], cell[1], cell[4], cell[5],
           cell[6]);
    printf("suite '%s': each figure the median of %s runs, seed %s\n", row->suite, cell[7],
           cell[8]);
}

int rw_bench_rows_show(struct rw_shown_rows *shown, const struct rw_bench_row *row)
{
    char buffer[RW_ROWS_CELL];
    if (strcmp(shown->table, row->table) != 0 || shown->n_columns != column_count(row))
        print_head(shown, row);
    for (int i = 0; i < shown->n_columns; i++) {
        const struct rw_bench_field *field = &row->field[i];
        const char *cell = rw_bench_rows_cell(field, buffer);
        const int length = (int)strlen(cell);
        if (length > shown->width[i])
            shown->width[i] = length;
        print_cell(shown, field, i, cell);
    }
    putchar('\n');
    return fflush(stdout);
}

static int show_row(void *user, const struct rw_bench_row *row)
{
    if (strcmp(row->table, "device") != 0)
        return rw_bench_rows_show(user, row);
    print_device(row);
    return fflush(stdout);
}

/* ------------------------------------------------------------------ as JSON */

struct document {
    json_t *head, *rows; /* owned */
};

static json_t *json_field(const struct rw_bench_field *field)
{
    switch (field->kind) {
    case RW_BENCH_TEXT:
        return rw_result_text(field->text);
    case RW_BENCH_INTEGER:
        return json_integer((json_int_t)field->number);
    case RW_BENCH_REAL:
        return isfinite(field->number) ? json_real(field->number) : json_null();
    default:
        return json_null();
    }
}

void rw_bench_rows_json(const struct rw_bench_row *row, json_t *to)
{
    for (int i = 0; i < row->n_fields; i++)
        json_object_set_new(to, row->field[i].name, json_field(&row->field[i]));
}

static int keep_row(void *user, const struct rw_bench_row *row)
{
    struct document *document = user;
    const int is_device = strcmp(row->table, "device") == 0;
    json_t *to = is_device ? document->head : json_object();
    if (!is_device)
        json_object_set_new(to, "table", json_string(row->table));
    rw_bench_rows_json(row, to);
    if (!is_device && json_array_append_new(document->rows, to) < 0)
        rw_no_memory();
    return 0;
}

/* A row a line: the head without its closing brace, then the rows. */
static void print_document(const struct document *document)
{
    enum { FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(9) };
    char *head = json_dumps(document->head, FLAGS);
    size_t i;
    json_t *row;
    if (!head)
        rw_no_memory();
    printf("%.*s,\"rows\":[", (int)strlen(head) - 1, head);
    free(head);
    json_array_foreach(document->rows, i, row)
    {
        fputs(i ? ",\n" : "\n", stdout);
        json_dumpf(row, stdout, FLAGS);
    }
    fputs("\n]}\n", stdout);
}

static int run_json(struct rw_ctx *ctx, const char *bench, rw_bench_fn run,
                    const struct rw_bench_options *options)
{
    static struct document document;
    const char *suite = options->suite, *about;
    if (!suite)
        rw_bench_suite_at(bench, 0, &suite, &about);
    document.head = json_pack("{s:s,s:o,s:s,s:b}", "bench", bench, "suite", rw_result_text(suite),
                              "version", RW_VERSION, "quick", options->quick);
    document.rows = json_array();
    if (!document.head || !document.rows)
        rw_no_memory();
    RW_STEP(run(ctx, options, keep_row, &document));
    print_document(&document);
    json_decref(document.head);
    json_decref(document.rows);
    return 0;
}

int rw_bench_rows(struct rw_cli *cli, const char *bench, rw_bench_fn run,
                  const struct rw_bench_options *options, int json)
{
    struct rw_shown_rows shown = {.n_columns = 0};
    if (json)
        return run_json(cli->ctx, bench, run, options);
    const int status = run(cli->ctx, options, show_row, &shown);
    return status == RW_ERR_INTERRUPTED ? rw_output_end(RW_EXIT_OK)
                                        : status; /* the reader closed it */
}
