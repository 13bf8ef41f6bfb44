/* rankwood compare: two rankings of the same data, models' or files'. */
#include <stdlib.h>
#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"

enum { SHOWN_MOVED = 10, MOST_METRICS = 64 };

static const char *sides[2]; /* a, b: models or scores */
static const char *groups_file;
static int json;
static const struct rw_option options[] = {
    {"a", 0, "MODEL|SCORES", "a model, a file of scores, or a TREC run (needed)", RW_OPTION_INPUT,
     .value = &sides[0], .needed = 1},
    {"b", 0, "MODEL|SCORES", "the one that is compared with it (needed)", RW_OPTION_INPUT,
     .value = &sides[1], .needed = 1},
    {"groups", 0, "FILE", "compare by groups of queries, too: QUERY GROUP lines", RW_OPTION_INPUT,
     .value = &groups_file},
    {"json", 0, NULL, "print as JSON, every digit", RW_OPTION_FLAG, .value = &json},
    {0},
};

/* ------------------------------------------------------------------ printing */

static const char *signed_figure(double value, char buffer[RW_FIGURE_ROOM])
{
    char plain[RW_FIGURE_ROOM];
    rw_load_figure(value, plain);
    snprintf(buffer, RW_FIGURE_ROOM, "%s%.30s", value >= 0 ? "+" : "", plain);
    return buffer;
}

static void print_row(const struct rw_compared *row, const char *name, int width)
{
    char a[RW_FIGURE_ROOM], b[RW_FIGURE_ROOM], difference[RW_FIGURE_ROOM], low[RW_FIGURE_ROOM],
        high[RW_FIGURE_ROOM];
    printf("%-*s  %8u  %10s  %10s  %10s  %10s  %10s  %7.4f  %6u %6u %6u\n", width, name,
           row->n_queries, rw_load_figure(row->mean_a, a), rw_load_figure(row->mean_b, b),
           signed_figure(row->difference, difference), signed_figure(row->low, low),
           signed_figure(row->high, high), row->p, row->n_wins, row->n_ties, row->n_losses);
}

static void print_table(const struct rw_comparison *comparison, const struct rw_dataset *dataset,
                        int n_metrics)
{
    int width = (int)strlen(comparison->metric);
    for (int i = 0; i < comparison->n_groups; i++) {
        const int n = (int)strlen(comparison->groups[i].name);
        width = n > width ? n : width;
    }
    printf("%-*s  %8s  %10s  %10s  %10s  %10s  %10s  %7s  %6s %6s %6s\n", width, "", "queries", "a",
           "b", "b - a", "2.5 %", "97.5 %", "p", "better", "equal", "worse");
    print_row(&comparison->all, comparison->metric, width);
    for (int i = 0; i < comparison->n_groups; i++)
        print_row(&comparison->groups[i], comparison->groups[i].name, width);
    const int n = comparison->n_moved < SHOWN_MOVED ? comparison->n_moved : SHOWN_MOVED;
    if (n > 0)
        printf("\nqueries that moved most\n%10s  %10s  %10s  query\n", "a", "b", "b - a");
    for (int i = 0; i < n; i++) {
        const struct rw_moved_query *moved = &comparison->moved[i];
        char a[RW_FIGURE_ROOM], b[RW_FIGURE_ROOM], difference[RW_FIGURE_ROOM];
        printf("%10s  %10s  %10s  %s\n", rw_load_figure(moved->a, a), rw_load_figure(moved->b, b),
               signed_figure(moved->b - moved->a, difference),
               rw_dataset_query_id(dataset, moved->query));
    }
    printf(
        "\n%s\ninterval: %d resamples of the queries; p: paired randomisation test, two-sided%s\n"
        "%s\n",
        comparison->lower_is_better ? "lower is better" : "higher is better", comparison->n_samples,
        comparison->n_groups > 1 && n_metrics > 1
            ? ", not corrected for the number of groups and metrics"
        : comparison->n_groups > 1 ? ", not corrected for the number of groups"
        : n_metrics > 1            ? ", not corrected for the number of metrics"
                                   : "",
        comparison->conventions);
}

static json_t *row_json(const struct rw_compared *row)
{
    return json_pack("{s:o,s:I,s:o,s:o,s:o,s:o,s:o,s:o,s:I,s:I,s:I}", "group",
                     *row->name ? rw_load_json_text(row->name) : json_null(), "queries",
                     (json_int_t)row->n_queries, "a", rw_load_json_number(row->mean_a), "b",
                     rw_load_json_number(row->mean_b), "difference",
                     rw_load_json_number(row->difference), "low", rw_load_json_number(row->low),
                     "high", rw_load_json_number(row->high), "p", rw_load_json_number(row->p),
                     "better", (json_int_t)row->n_wins, "equal", (json_int_t)row->n_ties, "worse",
                     (json_int_t)row->n_losses);
}

static json_t *comparison_json(const struct rw_comparison *comparison,
                               const struct rw_dataset *dataset)
{
    json_t *groups = json_array(), *moved = json_array();
    for (int i = 0; i < comparison->n_groups; i++)
        json_array_append_new(groups, row_json(&comparison->groups[i]));
    for (int i = 0; i < comparison->n_moved; i++)
        json_array_append_new(
            moved,
            json_pack("{s:o,s:f,s:f}", "query",
                      rw_load_json_text(rw_dataset_query_id(dataset, comparison->moved[i].query)),
                      "a", comparison->moved[i].a, "b", comparison->moved[i].b));
    return json_pack("{s:s,s:b,s:o,s:o,s:o,s:i,s:o}", "metric", comparison->metric,
                     "lower_is_better", comparison->lower_is_better, "all",
                     row_json(&comparison->all), "groups", groups, "moved", moved, "samples",
                     comparison->n_samples, "conventions",
                     rw_load_json_text(comparison->conventions));
}

/* One metric's object, or an array of several. */
static void print_json(struct rw_comparison *const *comparison, const struct rw_dataset *dataset,
                       int n)
{
    json_t *all = n == 1 ? comparison_json(comparison[0], dataset) : json_array();
    for (int i = 0; n > 1 && i < n; i++)
        json_array_append_new(all, comparison_json(comparison[i], dataset));
    rw_load_json_print(all, stdout);
}

/* ------------------------------------------------------------------ the work */

/* A model's file begins with these words; anything else is read as scores. */
static int is_model(const char *path)
{
    static const char begins[] = "rankwood model";
    char head[sizeof(begins)] = "";
    FILE *file = strcmp(path, "-") == 0 ? NULL : fopen(path, "rb");
    if (file) {
        head[fread(head, 1, sizeof(begins) - 1, file)] = 0;
        fclose(file);
    }
    return strcmp(head, begins) == 0;
}

static struct rw_model *models[2]; /* NULL: the side is a file of scores */

/* The data; of a table, the columns are where one of the models has their names. */
static int load(struct rw_cli *cli)
{
    for (int i = 0; i < 2; i++) {
        if (is_model(sides[i]))
            RW_STEP(rw_load_model(cli, sides[i], &models[i]));
    }
    cli->model = models[0] ? models[0] : models[1];
    return rw_load_weighted(cli, &cli->operands);
}

/* One side's scores, [n_docs]. */
static int score(struct rw_cli *cli, int side, double *scores)
{
    if (!models[side])
        return rw_load_scores(cli, sides[side], scores);
    if (models[side] != cli->model && rw_ctx_n_tables(cli->ctx) > 0) {
        rw_dataset_free(cli->dataset);
        cli->dataset = NULL;
        cli->model = models[side];
        RW_STEP(rw_load_weighted(cli, &cli->operands));
    }
    cli->model = models[side];
    RW_STEP(rw_predict_on(cli->ctx, cli->model, cli->dataset, 0,
                          rw_params_get(cli->params, "device"), scores));
    rw_load_warn_unmatched(cli->model, cli->dataset);
    return 0;
}

static int check(struct rw_cli *cli)
{
    if (rw_params_must_matter(cli->params, "device") && !is_model(sides[0]) && !is_model(sides[1]))
        return rw_wrong(cli, "'--device' has no effect without a model");
    return 0;
}

/* Compares by each metric alone, with the same seed: a metric's figures do not depend on which
 * others there are. */
static int run(struct rw_cli *cli)
{
    static struct rw_comparison *comparison[MOST_METRICS];
    static double *scores[2];
    static char metrics[4096];
    char *rest = NULL;
    int n = 0;
    RW_STEP(load(cli));
    for (int i = 0; i < 2; i++) {
        scores[i] = rw_need(rw_dataset_n_docs(cli->dataset), sizeof(double));
        RW_STEP(score(cli, i, scores[i]));
    }
    snprintf(metrics, sizeof(metrics), "%s", rw_params_get(cli->params, "metric"));
    for (char *metric = strtok_r(metrics, ",", &rest); metric && n < MOST_METRICS;
         metric = strtok_r(NULL, ",", &rest), n++) {
        RW_STEP(rw_params_set(cli->ctx, cli->params, "metric", metric));
        RW_STEP(rw_compare(cli->ctx, rw_params_eval(cli->params), cli->dataset, scores[0],
                           scores[1], groups_file, &comparison[n]));
    }
    for (int i = 0; i < n; i++) {
        rw_load_warn_moved("a", comparison[i]->metric, comparison[i]->ties_moved_a, RW_TIES_ADVICE);
        rw_load_warn_moved("b", comparison[i]->metric, comparison[i]->ties_moved_b, RW_TIES_ADVICE);
    }
    if (json) {
        print_json(comparison, cli->dataset, n);
        return 0;
    }
    printf("a  %s\nb  %s\n", sides[0], sides[1]);
    for (int i = 0; i < n; i++) {
        putchar('\n');
        print_table(comparison[i], cli->dataset, n);
    }
    return 0;
}

const struct rw_command rw_cmd_compare = {
    .name = "compare",
    .brief = "is one model better than another, or is it chance",
    .operands = "DATA... --a MODEL|SCORES --b MODEL|SCORES",
    .about = "Compares two rankings of the same queries: the difference of each metric with a 95 % "
             "bootstrap interval, a paired randomisation test, the queries that moved most.",
    .least = 1,
    .most = -1,
    .options = options,
    .params = " metric empty ties label-gain relevant weights query-weights label-column "
              "qid-column weight-column ignore seed threads device ",
    .check = check,
    .run = run,
};
