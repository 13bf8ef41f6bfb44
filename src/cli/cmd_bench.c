/* `rankwood bench` measures this machine. `rankwood doctor` describes it and verifies that all its
 * devices train the same model. Both print the rows that the library sends: text as the rows
 * arrive, other formats at the end. */
#include "cli/cli.h"

/* ---- rows ---- */

/* Sets the fields of the row in an object, and returns the object. */
static json_t *set_row(json_t *json, const struct rw_bench_row *row)
{
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        json_t *value = field->kind == RW_BENCH_TEXT      ? rw_result_text(field->text)
                        : field->kind == RW_BENCH_INTEGER ? json_integer((json_int_t)field->number)
                        : field->kind == RW_BENCH_REAL    ? rw_result_real(field->number)
                                                          : json_null();
        json_object_set_new(json, field->name, value);
    }
    return json;
}

/* Returns the columns of the row with their decimals, in the syntax of rw_result_rows. */
static const char *columns_of(const struct rw_bench_row *row)
{
    const char *columns = "";
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        /* the width of a column, which must fit values of later rows, too */
        const int least = strcmp(field->name, "method") == 0 ? 21
                          : strcmp(field->name, "row") == 0  ? 37
                          : strcmp(field->name, "name") == 0 ? 20
                                                             : 0;
        columns = rw_text(field->kind == RW_BENCH_REAL ? "%s%s%s=%-*s=%%.%df" : "%s%s%s=%-*s",
                          columns, i ? ";" : "", field->name, least, field->name, field->decimals);
    }
    return columns;
}

static const char *field_text(const struct rw_bench_field *field)
{
    return field->kind == RW_BENCH_TEXT   ? field->text
           : field->kind == RW_BENCH_NONE ? "-"
                                          : rw_text("%.*f", field->decimals, field->number);
}

static int show_row(struct rw_result_stream *stream, const struct rw_bench_row *row)
{
    return rw_result_show(stream, row->table, set_row(json_object(), row), columns_of(row));
}

/* ---- bench ---- */

struct bench {
    enum rw_format format;
    struct rw_result_stream stream; /* text */
    json_t *document, *rows;        /* other formats */
    json_t *table;                  /* LaTeX: the rows of the current table */
    const char *columns;            /* CSV: the columns of all rows, ";table;row;" */
};

static int show_device(const struct rw_bench_row *row)
{
    printf("suite '%s':", row->suite);
    for (int i = 0; i < row->n_fields; i++)
        printf("%s %s %s", i ? "," : "", row->field[i].name, field_text(&row->field[i]));
    putchar('\n');
    return fflush(stdout);
}

static int take(void *user, const struct rw_bench_row *row)
{
    struct bench *bench = user;
    const int is_device = strcmp(row->table, "device") == 0;
    if (bench->format == RW_FORMAT_TEXT)
        return is_device ? show_device(row) : show_row(&bench->stream, row);
    if (is_device) {
        json_object_set_new(bench->document, "suite", json_string(row->suite));
        set_row(bench->document, row);
        return 0;
    }
    const json_t *last = json_array_get(bench->rows, json_array_size(bench->rows) - 1);
    const char *table = json_string_value(json_object_get(last, "table")), *key;
    json_t *json = rw_result_add(bench->rows, "table:s", row->table), *value;
    set_row(json, row);
    json_object_foreach(json, key, value)
    {
        if (!strstr(bench->columns, rw_text(";%s;", key)))
            bench->columns = rw_text("%s%s;", bench->columns, key);
    }
    if (bench->format == RW_FORMAT_LATEX && (!table || strcmp(table, row->table) != 0)) {
        bench->table = json_array();
        rw_result_rows(row->table, bench->table, columns_of(row));
    }
    if (bench->format == RW_FORMAT_LATEX)
        json_array_append(bench->table, json);
    return 0;
}

/* Prints JSON with a row per line: first the head without its closing brace, then the rows. */
static void print_json(const struct bench *bench)
{
    enum { FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(9) };
    char *text = json_dumps(bench->document, FLAGS);
    size_t i;
    json_t *row;
    printf("%.*s,\"rows\":[", (int)strlen(text) - 1, text);
    free(text);
    json_array_foreach(bench->rows, i, row)
    {
        fputs(i ? ",\n" : "\n", stdout);
        json_dumpf(row, stdout, FLAGS);
    }
    fputs("\n]}\n", stdout);
}

int rw_bench_rows(struct rw_cli *cli, const char *name, rw_bench_fn run,
                  const struct rw_bench_options *options)
{
    static struct bench bench = {.columns = ";"};
    bench.format = cli->format;
    bench.rows = json_array();
    bench.document =
        rw_result_row("bench:s suite:s version:s quick:b", name, "", RW_VERSION, options->quick);
    const int status = run(cli->ctx, name, options, take, &bench);
    if (status == RW_ERR_INTERRUPTED) /* the reader closed the pipe */
        return rw_output_end(RW_EXIT_OK);
    RW_STEP(status);
    if (cli->format == RW_FORMAT_CSV)
        rw_result_rows(NULL, bench.rows,
                       rw_text("%.*s", (int)strlen(bench.columns) - 2, bench.columns + 1));
    if (cli->format == RW_FORMAT_JSON)
        print_json(&bench);
    else if (cli->format != RW_FORMAT_TEXT)
        rw_result_print(cli, bench.document);
    return 0;
}

static struct rw_bench_options how = {.seed = 1};
static unsigned long long queries, workers;
static const struct rw_option of_training[] = {
    {"suite", "NAME", "suite of measurements [default: trees]", RW_OPTION_TEXT,
     .value = &how.suite},
    {"shape", "S", "shape of the synthetic data, as in 'synth' [default: that of the suite]",
     RW_OPTION_TEXT, .value = &how.shape},
    {"queries", "N", "queries of the synthetic data [default: those of the suite]",
     RW_OPTION_NUMBER, .value = &queries, .range = {1, 10000000}},
    {"workers", "N", "suite 'workers': number of workers to compare with one [default: 2]",
     RW_OPTION_NUMBER, .value = &workers, .range = {1, RW_WORKERS_MOST_THREADS}, .former = "ranks"},
    {"quick", NULL, "use small data and few trees, as a test of the command", RW_OPTION_FLAG,
     .value = &how.quick},
    {0},
};
static const struct rw_option of_others[] = {
    {"shape", "S", "shape of the synthetic data, as in 'synth' [default: mslr30k]", RW_OPTION_TEXT,
     .value = &how.shape},
    {"queries", "N",
     "queries of the synthetic data [default: load: 3000; predict: enough for 100000 documents]",
     RW_OPTION_NUMBER, .value = &queries, .range = {1, 10000000}},
    {"quick", NULL, "use small data and few runs, as a test of the command", RW_OPTION_FLAG,
     .value = &how.quick},
    {0},
};

static int run(struct rw_cli *cli)
{
    how.params = cli->params;
    how.n_queries = (uint32_t)queries;
    how.n_workers = (uint32_t)workers;
    return rw_bench_rows(cli, cli->command->name + strlen("bench "), rw_bench, &how);
}

static void list_suites(FILE *out, const struct rw_command *command)
{
    (void)command;
    fputs("\nSuites:\n", out);
    rw_help_lines(
        out, "  trees    time per tree, and memory, for seven combinations of data and parameters\n"
             "  grow     growth of the time with documents, features, bins and leaves\n"
             "  text     time from LETOR text to a finished model\n"
             "  far      training on a GPU with most of the binned data in host memory\n"
             "  workers  time with --workers N compared with one worker\n");
}

static const struct rw_command bench_train = {
    .name = "bench train",
    .about =
        "Measures training on synthetic data on --device. Parameters override those of the suite; "
        "configurations that become equal are run once. See also 'bench load' and 'bench predict'.",
    .more = list_suites,
    .has_results = 1,
    .options = of_training,
    .roles = RW_ROLE_TREES | RW_ROLE_LEAVES | RW_ROLE_MACHINE,
    .params = " absent ",
    .run = run,
};
static const struct rw_command bench_load = {
    .name = "bench load",
    .about =
        "Measures loading synthetic data on the CPU, from LETOR text (a temporary file in "
        "TMPDIR) and from its cache. Reports the time for reading, and the time until training "
        "can begin, with one thread and with all threads.",
    .has_results = 1,
    .options = of_others,
    .params = " bins threads ",
    .run = run,
};
static const struct rw_command bench_predict = {
    .name = "bench predict",
    .about = "Measures prediction on the CPU, for dense documents in memory and models with trees "
             "of 31 and of 255 leaves. Compares a plain tree walk with the code of 'predict', with "
             "one thread, with all threads, and for one document at a time.",
    .has_results = 1,
    .options = of_others,
    .params = " threads ",
    .run = run,
};
static const struct rw_command *const parts[] = {&bench_train, &bench_load, &bench_predict, NULL};

const struct rw_command rw_cmd_bench = {
    .name = "bench",
    .brief = "measure the speed of loading, training and prediction",
    .operands = "train, load or predict",
    .parts = parts,
};

/* ---- doctor ---- */

/* Returns 1 if the table may have several rows. Other tables have one. */
static int is_list(const char *table)
{
    return strcmp(table, "gpu") == 0 || strcmp(table, "check") == 0 || strcmp(table, "auto") == 0;
}

/* Prints a field per line. Bytes are shown as gigabytes, and text in full. */
static int print_fields(struct rw_result_stream *stream, const struct rw_bench_row *row)
{
    printf("%s%s\n", stream->title[0] ? "\n" : "", row->table);
    snprintf(stream->title, sizeof(stream->title), "%s", row->table);
    for (int i = 0; i < row->n_fields; i++) {
        const struct rw_bench_field *field = &row->field[i];
        const int is_bytes = field->kind == RW_BENCH_INTEGER && strstr(field->name, "_bytes");
        printf("  %-20s  %s\n", field->name,
               is_bytes ? rw_text("%.2f GB", field->number / 1e9) : field_text(field));
    }
    return fflush(stdout);
}

static int show(void *user, const struct rw_bench_row *row)
{
    return is_list(row->table) ? show_row(user, row) : print_fields(user, row);
}

/* Adds a row to the document. Also adds a table with a row for each of its fields. */
static int keep(void *user, const struct rw_bench_row *row)
{
    json_t *document = user, *fields = set_row(json_object(), row), *value, *rows = json_array();
    json_t *list = json_object_get(document, row->table);
    const char *name;
    json_object_foreach(fields, name, value)
        rw_result_add(rows, "table:s row:i field:s value:O", row->table,
                      (int)json_array_size(list) + 1, name, value);
    rw_result_rows(NULL, rows, "table;row;field;value");
    if (is_list(row->table))
        json_array_append_new(list, fields);
    else
        json_object_set_new(document, row->table, fields);
    return 0;
}

static int run_doctor(struct rw_cli *cli)
{
    const int is_text = cli->format == RW_FORMAT_TEXT;
    struct rw_result_stream stream = {.n = 0};
    static json_t *document;
    document = rw_result_row("gpu:o check:o auto:o", json_array(), json_array(), json_array());
    int n_wrong;
    const int status =
        rw_doctor(cli->ctx, is_text ? show : keep, is_text ? (void *)&stream : document, &n_wrong);
    if (status == RW_ERR_INTERRUPTED) /* the reader closed the pipe */
        return rw_output_end(RW_EXIT_OK);
    RW_STEP(status);
    json_object_set_new(document, "wrong", json_integer(n_wrong));
    if (!is_text)
        rw_result_print(cli, document);
    if (n_wrong == 0)
        return 0;
    rw_msg_error("%d check%s failed: this machine does not reproduce the reference model", n_wrong,
                 n_wrong == 1 ? "" : "s");
    return RW_EXIT_FAILURE;
}

const struct rw_command rw_cmd_doctor = {
    .name = "doctor",
    .brief = "check this machine and verify reproducibility",
    .about = "Prints the processors, memory, limits, GPUs, drivers and libraries that Rankwood "
             "finds on this machine. Then it trains two small models on every instruction set and "
             "GPU, and compares the models byte for byte with a reference: the exit code is 1 if "
             "one differs. Finally it prints what '--device auto' selects for four sizes of data.",
    .has_results = 1,
    .run = run_doctor,
};
