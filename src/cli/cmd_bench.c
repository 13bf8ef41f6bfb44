/* rankwood bench: measures this machine. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/output.h"
#include "cli/talk.h"

/* Numbers in rows are exact up to here. */
static const unsigned long long most_seed = 9007199254740991u;

/* ------------------------------------------------------------------ as a table */

enum { MOST_COLUMNS = 32, CELL_ROOM = 128, DEVICE_COLUMNS = 9, LONGEST_METHOD = 17 };

/* Rows are shown as they come: a column is as wide as its widest cell so far. */
struct shown {
    char table[64]; /* that the last row was of */
    int n_columns, width[MOST_COLUMNS];
};

/* The cell as a person reads it. */
static const char *cell_text(const struct rw_bench_field *field, char buffer[CELL_ROOM])
{
    if (field->kind == RW_BENCH_TEXT)
        snprintf(buffer, CELL_ROOM, "%s", field->text);
    else if (field->kind == RW_BENCH_INTEGER)
        snprintf(buffer, CELL_ROOM, "%.0f", field->number);
    else if (field->kind == RW_BENCH_REAL)
        snprintf(buffer, CELL_ROOM, "%.*f", field->decimals, field->number);
    else
        snprintf(buffer, CELL_ROOM, "-");
    return buffer;
}

static int column_count(const struct rw_bench_row *row)
{
    return row->n_fields < MOST_COLUMNS ? row->n_fields : MOST_COLUMNS;
}

static void print_cell(const struct shown *shown, const struct rw_bench_field *field, int i,
                       const char *text)
{
    const int is_last = i + 1 == shown->n_columns;
    if (field->kind == RW_BENCH_TEXT)
        printf("%s%-*s", i ? "  " : "", is_last ? 0 : shown->width[i], text);
    else
        printf("%s%*s", i ? "  " : "", shown->width[i], text);
}

static void print_head(struct shown *shown, const struct rw_bench_row *row)
{
    char buffer[CELL_ROOM];
    snprintf(shown->table, sizeof(shown->table), "%s", row->table);
    shown->n_columns = column_count(row);
    printf("\n%s\n", row->table);
    for (int i = 0; i < shown->n_columns; i++) {
        static const int least[] = {
            [RW_BENCH_TEXT] = 10, [RW_BENCH_INTEGER] = 6, [RW_BENCH_REAL] = 9, [RW_BENCH_NONE] = 6};
        const struct rw_bench_field *field = &row->field[i];
        const int name = (int)strlen(field->name), cell = (int)strlen(cell_text(field, buffer));
        int width = least[field->kind];
        width = name > width ? name : width;
        if (strcmp(field->name, "method") == 0) /* whichever comes first, the longest must fit */
            width = LONGEST_METHOD;
        shown->width[i] = cell > width ? cell : width;
        print_cell(shown, field, i, field->name);
    }
    putchar('\n');
}

static void print_device(const struct rw_bench_row *row)
{
    char cell[DEVICE_COLUMNS][CELL_ROOM];
    for (int i = 0; i < DEVICE_COLUMNS && i < row->n_fields; i++)
        cell_text(&row->field[i], cell[i]);
    if (row->n_fields < DEVICE_COLUMNS)
        return;
    printf("%s, %s multiprocessors: reads %s GB/s (%s to %s)\n", cell[0], cell[1], cell[4], cell[5],
           cell[6]);
    printf("suite '%s': each figure the median of %s runs, seed %s\n", row->suite, cell[7],
           cell[8]);
}

static int show_row(void *user, const struct rw_bench_row *row)
{
    struct shown *shown = user;
    char buffer[CELL_ROOM];
    if (strcmp(row->table, "device") == 0) {
        print_device(row);
        return fflush(stdout);
    }
    if (strcmp(shown->table, row->table) != 0 || shown->n_columns != column_count(row))
        print_head(shown, row);
    for (int i = 0; i < shown->n_columns; i++) {
        const struct rw_bench_field *field = &row->field[i];
        const int cell = (int)strlen(cell_text(field, buffer));
        if (cell > shown->width[i])
            shown->width[i] = cell;
        print_cell(shown, field, i, buffer);
    }
    putchar('\n');
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
        return rw_load_json_text(field->text);
    case RW_BENCH_INTEGER:
        return json_integer((json_int_t)field->number);
    case RW_BENCH_REAL:
        return isfinite(field->number) ? json_real(field->number) : json_null();
    default:
        return json_null();
    }
}

static int keep_row(void *user, const struct rw_bench_row *row)
{
    struct document *document = user;
    const int is_device = strcmp(row->table, "device") == 0;
    json_t *to = is_device ? document->head : json_object();
    int bad = !to;
    if (!is_device)
        bad |= json_object_set_new(to, "table", json_string(row->table));
    for (int i = 0; i < row->n_fields && !bad; i++)
        bad |= json_object_set_new(to, row->field[i].name, json_field(&row->field[i]));
    if (is_device)
        return bad;
    if (bad)
        json_decref(to);
    return bad || json_array_append_new(document->rows, to) < 0;
}

/* A row a line: the head without its closing brace, then the rows. */
static int print_document(const struct document *document)
{
    enum { FLAGS = JSON_COMPACT | JSON_REAL_PRECISION(9) };
    char *head = json_dumps(document->head, FLAGS);
    size_t i;
    json_t *row;
    if (!head)
        return -1;
    head[strlen(head) - 1] = 0;
    printf("%s,\"rows\":[", head);
    free(head);
    json_array_foreach(document->rows, i, row)
    {
        fputs(i ? ",\n" : "\n", stdout);
        if (json_dumpf(row, stdout, FLAGS) < 0)
            return -1;
    }
    fputs("\n]}\n", stdout);
    return 0;
}

static int run_json(struct rw_ctx *ctx, const struct rw_bench_options *options)
{
    struct document document = {json_object(), json_array()};
    int code = RW_EXIT_FAILURE;
    if (!document.head || !document.rows ||
        json_object_set_new(document.head, "bench", json_string("hist")) < 0 ||
        json_object_set_new(document.head, "suite", rw_load_json_text(options->suite)) < 0 ||
        json_object_set_new(document.head, "version", json_string(RW_VERSION)) < 0 ||
        json_object_set_new(document.head, "quick", json_boolean(options->quick)) < 0) {
        rw_talk_error("out of memory");
        goto out;
    }
    const int status = rw_bench_hist(ctx, options, keep_row, &document);
    if (status < 0)
        code = rw_talk_failed(ctx, status, "bench");
    else if (print_document(&document) < 0)
        rw_talk_error("out of memory");
    else
        code = RW_EXIT_OK;
out:
    json_decref(document.head);
    json_decref(document.rows);
    return code;
}

/* ------------------------------------------------------------------ the command */

/* Options as they were given; NULL: not given. */
struct given {
    const char *suite, *method, *docs, *features, *bins, *runs, *seed;
    int quick, json;
};

/* "lanes, contention": those that this program has. */
static void list_suites(char *list, size_t size)
{
    const char *name, *about;
    list[0] = 0;
    for (int i = 0; rw_bench_suite_at(i, &name, &about); i++) {
        const size_t used = strlen(list);
        snprintf(list + used, size - used, "%s%s", i ? ", " : "", name);
    }
}

static int check_subject(const struct rw_usage *usage, const char *subject)
{
    static const char *const later[] = {"train", "load", "predict"};
    static const char *const all[] = {"hist", "train", "load", "predict"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(subject, later[i]) == 0)
            return rw_options_wrong(usage, "'bench %s' is not there yet; there is 'bench hist'",
                                    subject);
    }
    if (strcmp(subject, "hist") == 0)
        return 0;
    const char *near = rw_options_nearest(subject, all, 4);
    return rw_options_wrong(usage,
                            near ? "unknown bench '%s'; the nearest is '%s'"
                                 : "unknown bench '%s'; there is 'hist'",
                            subject, near);
}

static int take_number(const struct rw_usage *usage, const char *name, const char *text,
                       unsigned long long least, unsigned long long most,
                       unsigned long long *number)
{
    return text ? rw_options_number(usage, name, text, least, most, number) : 0;
}

static int take_options(const struct rw_usage *usage, const struct given *given,
                        struct rw_bench_options *options)
{
    unsigned long long docs = 0, features = 0, bins = 0, runs = 0, seed = 1;
    int code = take_number(usage, "--docs", given->docs, 1, 2147483647, &docs);
    if (code == 0)
        code = take_number(usage, "--features", given->features, 1, 65536, &features);
    if (code == 0)
        code = take_number(usage, "--bins", given->bins, 1, 2147483647, &bins);
    if (code == 0)
        code = take_number(usage, "--runs", given->runs, 1, 1000, &runs);
    if (code == 0)
        code = take_number(usage, "--seed", given->seed, 0, most_seed, &seed);
    *options = (struct rw_bench_options){.suite = given->suite,
                                         .method = given->method,
                                         .seed = seed,
                                         .n_docs = (uint32_t)docs,
                                         .n_features = (uint32_t)features,
                                         .n_bins = (uint32_t)bins,
                                         .n_runs = (int)runs,
                                         .quick = given->quick};
    return code;
}

static int run(const struct rw_usage *usage, const struct rw_said *said, const struct given *given)
{
    char suites[256];
    struct rw_bench_options options;
    int code = check_subject(usage, said->operands.text[0]);
    if (code == 0 && !given->suite) {
        list_suites(suites, sizeof(suites));
        code = rw_options_wrong(usage, "'bench hist' needs --suite%s%s", suites[0] ? ": " : " NAME",
                                suites);
    }
    if (code == 0)
        code = take_options(usage, given, &options);
    if (code != 0)
        return code;
    if (given->json)
        return run_json(said->ctx, &options);
    struct shown shown = {.n_columns = 0};
    const int status = rw_bench_hist(said->ctx, &options, show_row, &shown);
    if (status == RW_ERR_INTERRUPTED && rw_output_flush() < 0)
        return RW_EXIT_FAILURE; /* nobody reads on */
    return status < 0 ? rw_talk_failed(said->ctx, status, "bench") : RW_EXIT_OK;
}

int rw_cmd_bench(int argc, char **argv)
{
    struct given given = {0};
    char suite_help[512], suites[256];
    list_suites(suites, sizeof(suites));
    snprintf(suite_help, sizeof(suite_help), "what to measure (needed): %s",
             suites[0] ? suites : "none, as this program is built without CUDA");
    const struct rw_option options[] = {
        {"suite", 0, "NAME", suite_help, RW_OPTION_TEXT, &given.suite},
        {"method", 0, "M", "this histogram method only", RW_OPTION_TEXT, &given.method},
        {"docs", 0, "N", "documents, where the suite does not vary them", RW_OPTION_TEXT,
         &given.docs},
        {"features", 0, "N", "features, where the suite does not vary them", RW_OPTION_TEXT,
         &given.features},
        {"bins", 0, "N", "bins: only the suite's rows with so many", RW_OPTION_TEXT, &given.bins},
        {"runs", 0, "N", "timings of each row, 1 to 1000", RW_OPTION_TEXT, &given.runs},
        {"seed", 0, "N", "seed of the made inputs [default 1]", RW_OPTION_TEXT, &given.seed},
        {"quick", 0, NULL, "small inputs and few runs: to see that it works", RW_OPTION_FLAG,
         &given.quick},
        {"json", 0, NULL, "one JSON document, with every digit", RW_OPTION_FLAG, &given.json},
        {0},
    };
    const struct rw_usage usage = {
        .command = "bench",
        .operands = "hist --suite NAME",
        .about = "Measures histogram methods on the first GPU: medians with their spread, beside "
                 "the rate at which the same run reads the device's memory.",
        .least = 1,
        .most = 1,
        .options = options,
    };
    struct rw_said said;
    int code = rw_options_parse(&usage, argc, argv, &said);
    if (code < 0)
        code = run(&usage, &said, &given);
    rw_options_release(&usage, &said);
    return code;
}
