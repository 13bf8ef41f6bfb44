/* rankwood doctor: what this machine has, and whether all of it gives the same model. */
#include <jansson.h>
#include <string.h>

#include "cli/bench_rows.h"
#include "cli/load.h"
#include "cli/messages.h"
#include "cli/output.h"

static int json;
static const struct rw_option options[] = {
    {"json", 0, NULL, "one JSON document, with bytes in full", RW_OPTION_FLAG, .value = &json},
    {0},
};

/* Tables of any number of rows; the others have one. */
static int is_list(const char *table)
{
    return strcmp(table, "gpu") == 0 || strcmp(table, "check") == 0 || strcmp(table, "auto") == 0;
}

/* ------------------------------------------------------------------ lines */

static int ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

/* A field a line, but bytes as gigabytes, and text in full. */
static int print_fields(struct rw_shown_rows *shown, const struct rw_bench_row *row)
{
    char cell[RW_ROWS_CELL];
    printf("%s%s\n", shown->table[0] ? "\n" : "", row->table);
    snprintf(shown->table, sizeof(shown->table), "%s", row->table);
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        const int is_bytes = field->kind == RW_BENCH_INTEGER && ends_with(field->name, "_bytes");
        if (is_bytes)
            snprintf(cell, sizeof(cell), "%.2f GB", field->number / 1e9);
        printf("  %-20s  %s\n", field->name, is_bytes ? cell : rw_bench_rows_cell(field, cell));
    }
    return fflush(stdout);
}

static int show(void *user, const struct rw_bench_row *row)
{
    return is_list(row->table) ? rw_bench_rows_show(user, row) : print_fields(user, row);
}

/* ------------------------------------------------------------------ JSON */

static int keep(void *user, const struct rw_bench_row *row)
{
    json_t *document = user, *fields = json_object();
    if (!fields)
        rw_no_memory();
    rw_bench_rows_json(row, fields);
    if (is_list(row->table)
            ? json_array_append_new(json_object_get(document, row->table), fields) < 0
            : json_object_set_new(document, row->table, fields) < 0)
        rw_no_memory();
    return 0;
}

static int run_json(struct rw_cli *cli, int *n_wrong)
{
    json_t *document = json_pack("{s:[],s:[],s:[]}", "gpu", "check", "auto");
    if (!document)
        rw_no_memory();
    const int status = rw_doctor(cli->ctx, keep, document, n_wrong);
    if (status < 0) {
        json_decref(document);
        return status;
    }
    json_object_set_new(document, "wrong", json_integer(*n_wrong));
    rw_load_json_print(document, stdout);
    return 0;
}

/* ------------------------------------------------------------------ the command */

static int run(struct rw_cli *cli)
{
    struct rw_shown_rows shown = {.n_columns = 0};
    int n_wrong;
    const int status = json ? run_json(cli, &n_wrong) : rw_doctor(cli->ctx, show, &shown, &n_wrong);
    if (status == RW_ERR_INTERRUPTED) /* the reader closed it */
        return rw_output_end(RW_EXIT_OK);
    RW_STEP(status);
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
    .options = options,
    .run = run,
};
