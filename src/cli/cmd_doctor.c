/* rankwood doctor: what this machine has, and whether all of it gives the same model. */
#include <string.h>

#include "cli/cli.h"

static const struct rw_option options[] = {{0}};

/* Tables of any number of rows; the others have one. */
static int is_list(const char *table)
{
    return strcmp(table, "gpu") == 0 || strcmp(table, "check") == 0 || strcmp(table, "auto") == 0;
}

/* ------------------------------------------------------------------ text */

/* A field a line, but bytes as gigabytes, and text in full. */
static int print_fields(struct rw_result_stream *stream, const struct rw_bench_row *row)
{
    printf("%s%s\n", stream->title[0] ? "\n" : "", row->table);
    snprintf(stream->title, sizeof(stream->title), "%s", row->table);
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        const int is_bytes = field->kind == RW_BENCH_INTEGER && strstr(field->name, "_bytes");
        printf("  %-20s  ", field->name);
        if (field->kind == RW_BENCH_TEXT)
            puts(field->text);
        else if (field->kind == RW_BENCH_NONE)
            puts("-");
        else
            printf(is_bytes ? "%.*f GB\n" : "%.*f\n", is_bytes ? 2 : field->decimals,
                   field->number / (is_bytes ? 1e9 : 1));
    }
    return fflush(stdout);
}

static int show(void *user, const struct rw_bench_row *row)
{
    return is_list(row->table) ? rw_bench_rows_show(user, row) : print_fields(user, row);
}

/* ------------------------------------------------------------------ other formats */

/* Adds a row to the document, and each of its fields as a row of one table. */
static int keep(void *user, const struct rw_bench_row *row)
{
    struct rw_result *result = user;
    json_t *fields = rw_bench_rows_json(row), *value;
    json_t *list = json_object_get(result->document, row->table);
    const char *name;
    json_t *rows = json_array();
    json_object_foreach(fields, name, value)
        rw_result_add(rows, "table:s row:i field:s value:O", row->table,
                      (int)json_array_size(list) + 1, name, value);
    rw_result_rows(result, NULL, rows, "table;row;field;value");
    if (is_list(row->table))
        json_array_append_new(list, fields);
    else
        json_object_set_new(result->document, row->table, fields);
    return 0;
}

/* ------------------------------------------------------------------ the command */

static int run(struct rw_cli *cli)
{
    const int is_text = cli->format == RW_FORMAT_TEXT;
    struct rw_result_stream stream = {.n = 0};
    static struct rw_result result;
    int n_wrong;
    result.document =
        rw_result_row("gpu:o check:o auto:o", json_array(), json_array(), json_array());
    const int status = rw_doctor(cli->ctx, is_text ? show : keep,
                                 is_text ? (void *)&stream : (void *)&result, &n_wrong);
    if (status == RW_ERR_INTERRUPTED) /* the reader closed it */
        return rw_output_end(RW_EXIT_OK);
    RW_STEP(status);
    json_object_set_new(result.document, "wrong", json_integer(n_wrong));
    if (!is_text)
        rw_result_print(cli, &result, stdout);
    if (n_wrong == 0)
        return 0;
    rw_msg_error("%d check%s failed: this machine does not give the reference's model", n_wrong,
                 n_wrong == 1 ? "" : "s");
    return RW_EXIT_FAILURE;
}

const struct rw_command rw_cmd_doctor = {
    .name = "doctor",
    .brief = "what this machine has, and whether all of it gives one model",
    .about = "Prints what Rankwood finds on this machine: processors, memory and what limits "
             "them, GPUs and their driver, libraries. Then trains two small trees on every "
             "instruction set and GPU, and compares the models' bytes with the reference's: the "
             "exit code is 1 if one differs. Last, what '--device auto' would choose.",
    .least = 0,
    .most = 0,
    .has_results = 1,
    .options = options,
    .run = run,
};
