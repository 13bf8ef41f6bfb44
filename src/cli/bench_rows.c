#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ rows */

static json_t *field_json(const struct rw_bench_field *field)
{
    return field->kind == RW_BENCH_TEXT      ? rw_result_text(field->text)
           : field->kind == RW_BENCH_INTEGER ? json_integer((json_int_t)field->number)
           : field->kind == RW_BENCH_REAL    ? rw_result_real(field->number)
                                             : json_null();
}

json_t *rw_bench_rows_json(const struct rw_bench_row *row)
{
    json_t *json = json_object();
    for (int i = 0; i < row->n_fields; i++)
        json_object_set_new(json, row->field[i].name, field_json(&row->field[i]));
    return json;
}

void rw_bench_rows_columns(const struct rw_bench_row *row, char columns[RW_BENCH_COLUMNS])
{
    columns[0] = 0;
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        const size_t used = strlen(columns);
        /* whichever row comes first, the longest must fit */
        const int least = strcmp(field->name, "method") == 0 ? 21
                          : strcmp(field->name, "row") == 0  ? 37
                          : strcmp(field->name, "name") == 0 ? 20
                                                             : 0;
        snprintf(columns + used, RW_BENCH_COLUMNS - used,
                 field->kind == RW_BENCH_REAL ? "%s%s=%-*s=%%.%df" : "%s%s=%-*s", i ? ";" : "",
                 field->name, least, field->name, field->decimals);
    }
}

int rw_bench_rows_show(struct rw_result_stream *stream, const struct rw_bench_row *row)
{
    char columns[RW_BENCH_COLUMNS];
    rw_bench_rows_columns(row, columns);
    return rw_result_show(stream, row->table, rw_bench_rows_json(row), columns);
}

/* ------------------------------------------------------------------ a bench */

struct bench {
    enum rw_format format;
    struct rw_result_stream stream; /* of text */
    struct rw_result result;        /* of the others: LaTeX has a table for each of the bench's */
    json_t *rows;                   /* of the document */
    json_t *table;                  /* LaTeX's last one; borrowed */
    char columns[RW_BENCH_COLUMNS]; /* CSV's: those of all rows */
};

static int show_device(const struct rw_bench_row *row)
{
    printf("suite '%s':", row->suite);
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        if (field->kind == RW_BENCH_TEXT)
            printf("%s %s %s", i ? "," : "", field->name, field->text);
        else
            printf("%s %s %.*f", i ? "," : "", field->name, field->decimals, field->number);
    }
    putchar('\n');
    return fflush(stdout);
}

/* Adds the keys that no row had so far. */
static void add_columns(char columns[RW_BENCH_COLUMNS], json_t *row)
{
    const char *key;
    json_t *value;
    json_object_foreach(row, key, value)
    {
        char between[2][RW_BENCH_COLUMNS + 4];
        snprintf(between[0], sizeof(between[0]), ";%s;", columns);
        snprintf(between[1], sizeof(between[1]), ";%s;", key);
        const size_t used = strlen(columns);
        if (!strstr(between[0], between[1]))
            snprintf(columns + used, RW_BENCH_COLUMNS - used, "%s%s", used ? ";" : "", key);
    }
}

static int take(void *user, const struct rw_bench_row *row)
{
    struct bench *bench = user;
    const int is_device = strcmp(row->table, "device") == 0;
    char columns[RW_BENCH_COLUMNS];
    if (bench->format == RW_FORMAT_TEXT)
        return is_device ? show_device(row) : rw_bench_rows_show(&bench->stream, row);
    if (is_device) {
        rw_result_extend(bench->result.document, rw_bench_rows_json(row));
        return 0;
    }
    const size_t n = json_array_size(bench->rows);
    const char *last =
        json_string_value(json_object_get(json_array_get(bench->rows, n - 1), "table"));
    const int is_new = !last || strcmp(last, row->table) != 0;
    json_t *json = rw_result_row("table:s", row->table);
    rw_result_extend(json, rw_bench_rows_json(row));
    json_array_append_new(bench->rows, json);
    add_columns(bench->columns, json);
    if (bench->format == RW_FORMAT_LATEX && is_new) {
        bench->table = json_array();
        rw_bench_rows_columns(row, columns);
        rw_result_rows(&bench->result, row->table, bench->table, columns);
    }
    if (bench->format == RW_FORMAT_LATEX)
        json_array_append(bench->table, json);
    return 0;
}

/* A row a line: the head without its closing brace, then the rows. */
static void print_json(json_t *head, const json_t *rows)
{
    enum { FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(9) };
    char *text = json_dumps(head, FLAGS);
    size_t i;
    json_t *row;
    printf("%.*s,\"rows\":[", (int)strlen(text) - 1, text);
    free(text);
    json_array_foreach(rows, i, row)
    {
        fputs(i ? ",\n" : "\n", stdout);
        json_dumpf(row, stdout, FLAGS);
    }
    fputs("\n]}\n", stdout);
}

int rw_bench_rows(struct rw_cli *cli, const char *name, rw_bench_fn run,
                  const struct rw_bench_options *options)
{
    static struct bench bench;
    const char *suite = options->suite, *about;
    if (!suite)
        rw_bench_suite_at(name, 0, &suite, &about);
    bench.format = cli->format;
    bench.rows = json_array();
    bench.result.document =
        rw_result_row("bench:s suite:s version:s quick:b", name, suite, RW_VERSION, options->quick);
    const int status = run(cli->ctx, options, take, &bench);
    if (status == RW_ERR_INTERRUPTED) /* the reader closed it */
        return rw_output_end(RW_EXIT_OK);
    RW_STEP(status);
    if (cli->format == RW_FORMAT_JSON) {
        print_json(bench.result.document, bench.rows);
        return 0;
    }
    if (cli->format == RW_FORMAT_CSV)
        rw_result_rows(&bench.result, NULL, json_incref(bench.rows), bench.columns);
    if (cli->format != RW_FORMAT_TEXT)
        rw_result_print(cli, &bench.result, stdout);
    return 0;
}
