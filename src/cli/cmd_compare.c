/* rankwood compare: rankings of the same data, models' or files': two, or several and a baseline.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/compare_many.h"
#include "cli/load.h"
#include "cli/messages.h"
#include "cli/qrels_files.h"

enum { SHOWN_MOVED = 10, MOST_METRICS = 64 };

static const char *sides[2]; /* a, b: models or scores */
static const char *groups_file, *qrels, *like, *correct, *format, *fail_below;
static struct rw_list baseline, runs;
static int json;
#define OPERANDS "DATA... --a MODEL|SCORES --b MODEL|SCORES"
static const struct rw_option options[] = {
    {"a", 0, "MODEL|SCORES", "a model, a file of scores, or a TREC run", RW_OPTION_INPUT,
     .value = &sides[0]},
    {"b", 0, "MODEL|SCORES", "the one that is compared with it", RW_OPTION_INPUT,
     .value = &sides[1]},
    {"baseline", 0, "A B...", "compare each of B... with A; behind DATA, if there is any",
     RW_OPTION_INPUTS_BEHIND, .value = &baseline},
    {"correct", 0, "holm|none",
     "with --baseline: the p of all systems and metrics by Holm's step-down [default: holm]",
     RW_OPTION_TEXT, .value = &correct},
    {"format", 0, "text|csv|latex", "with --baseline: how the table is printed [default: text]",
     RW_OPTION_TEXT, .value = &format},
    {"fail-below", 0, "X",
     "exit with 4 if the 95 % interval of the difference reaches below X, such as -0.002: if a "
     "loss "
     "of more than 0.002 is not ruled out",
     RW_OPTION_TEXT, .value = &fail_below},
    {"qrels", 0, "FILE",
     "compare TREC runs by these judgments in place of DATA, as eval does; --a, --b and --baseline "
     "are runs then",
     RW_OPTION_INPUT, .value = &qrels},
    {"run", 0, "FILE...", "with --qrels: runs; without --baseline, the first is the baseline",
     RW_OPTION_INPUTS_BEHIND, .value = &runs},
    {"like", 0, "PROGRAM",
     "with --qrels: by this program's conventions [default: trec], or rankwood's own",
     RW_OPTION_TEXT, .value = &like},
    {"groups", 0, "FILE", "compare by groups of queries, too: QUERY GROUP lines", RW_OPTION_INPUT,
     .value = &groups_file},
    {"json", 0, NULL, "print as JSON, every digit", RW_OPTION_FLAG, .value = &json},
    {0},
};

/* ------------------------------------------------------------------ printing */

static void print_row(const struct rw_compared *row, const char *name, int width)
{
    char a[RW_FIGURE_ROOM], b[RW_FIGURE_ROOM], difference[RW_FIGURE_ROOM], low[RW_FIGURE_ROOM],
        high[RW_FIGURE_ROOM];
    printf("%-*s  %8u  %10s  %10s  %10s  %10s  %10s  %7.4f  %6u %6u %6u\n", width, name,
           row->n_queries, rw_load_figure(row->mean_a, a), rw_load_figure(row->mean_b, b),
           rw_compare_signed(row->difference, difference), rw_compare_signed(row->low, low),
           rw_compare_signed(row->high, high), row->p, row->n_wins, row->n_ties, row->n_losses);
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
               rw_compare_signed(moved->b - moved->a, difference),
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

/* A model's file begins with these words; anything else is read as scores. One that cannot be
 * looked at is not, but that there is none is found when it is read. */
static int find_kind(const char *path, int *found_model)
{
    static const char begins[] = "rankwood model";
    char head[sizeof(begins)] = "";
    int why = 0;
    *found_model = 0;
    if (strcmp(path, "-") == 0)
        return 0;
    FILE *file = fopen(path, "rb");
    if (!file)
        return errno == ENOENT ? 0 : rw_msg_errno(errno, "cannot open '%s'", path);
    head[fread(head, 1, sizeof(begins) - 1, file)] = 0;
    if (ferror(file))
        why = errno;
    fclose(file);
    *found_model = strcmp(head, begins) == 0;
    return why ? rw_msg_errno(why, "cannot read '%s'", path) : 0;
}

/* What is compared: the first with each of the others. */
static struct rw_list systems;
static int *is_model;            /* [systems.n] 0: scores; NULL with judgments */
static struct rw_model **models; /* [systems.n] NULL: scores */
static const double **scores;    /* [systems.n][documents] */
static const struct rw_dataset *dataset;
static struct rw_qrels *judged; /* owns the data set and the scores; NULL: there is DATA */

/* The data; of a table, the columns are where one of the models has their names. */
static int load(struct rw_cli *cli)
{
    for (int i = 0; i < systems.n; i++) {
        if (is_model[i])
            RW_STEP(rw_load_model(cli, systems.text[i], &models[i]));
        cli->model = cli->model ? cli->model : models[i];
    }
    return rw_load_weighted(cli, &cli->operands);
}

/* One system's scores, [n_docs]. */
static int score(struct rw_cli *cli, int i)
{
    double *made = rw_need(rw_dataset_n_docs(cli->dataset), sizeof(double));
    scores[i] = made;
    if (!models[i])
        return rw_load_scores(cli, systems.text[i], made);
    if (models[i] != cli->model && rw_ctx_n_tables(cli->ctx) > 0) {
        rw_dataset_free(cli->dataset);
        cli->dataset = NULL;
        cli->model = models[i];
        RW_STEP(rw_load_weighted(cli, &cli->operands));
    }
    cli->model = models[i];
    RW_STEP(rw_predict_on(cli->ctx, cli->model, cli->dataset, 0,
                          rw_params_get(cli->params, "device"), made));
    rw_load_warn_lacking(cli);
    return 0;
}

static int load_and_score(struct rw_cli *cli)
{
    models = rw_need((size_t)systems.n, sizeof(struct rw_model *));
    scores = rw_need((size_t)systems.n, sizeof(double *));
    if (qrels) {
        RW_STEP(rw_qrels_files_read(cli, qrels, &systems, &judged));
        for (int i = 0; i < systems.n; i++)
            scores[i] = judged->runs[i].scores;
        dataset = judged->dataset;
        return 0;
    }
    RW_STEP(load(cli));
    for (int i = 0; i < systems.n; i++)
        RW_STEP(score(cli, i));
    dataset = cli->dataset;
    return 0;
}

/* ------------------------------------------------------------------ the command line */

static int is_many(void)
{
    return baseline.n > 0 || runs.n > 0;
}

static int find_systems(struct rw_cli *cli)
{
    const struct rw_list *lists[] = {&baseline, &runs};
    if (!is_many()) {
        if (!sides[0] || !sides[1])
            return rw_wrong(cli, "'compare' needs %s MODEL|SCORES", sides[0] ? "--b" : "--a");
        systems = (struct rw_list){sides, 2};
        return 0;
    }
    if (sides[0] || sides[1])
        return rw_wrong(cli, "'--%s' has no effect with '--%s'", sides[0] ? "a" : "b",
                        baseline.n > 0 ? "baseline" : "run");
    if (rw_is_given(cli, "baseline") > 1)
        return rw_wrong(cli, "option '--baseline' is given twice");
    systems.text = rw_need((size_t)(baseline.n + runs.n), sizeof(*systems.text));
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < lists[i]->n; k++)
            systems.text[systems.n++] = lists[i]->text[k];
    }
    if (systems.n < 2)
        return rw_wrong(cli, "'%s' is compared with nothing: more than one is needed",
                        systems.text[0]);
    return 0;
}

/* An option whose value is one of two or three words; -1: wrong. */
static int word_of(const char *given, const char *const *words, int n)
{
    for (int i = 0; given && i < n; i++) {
        if (strcmp(given, words[i]) == 0)
            return i;
    }
    return given ? -1 : 0;
}

static const char *const corrections[] = {"holm", "none"};
static const char *const formats[] = {"text", "csv", "latex"};
static double least; /* of fail_below */

static int check_many(struct rw_cli *cli)
{
    char *end;
    if (correct && !is_many())
        return rw_wrong(cli, "'--correct' has no effect without '--baseline'");
    if (format && !is_many())
        return rw_wrong(cli, "'--format' has no effect without '--baseline'");
    if (groups_file && is_many())
        return rw_wrong(cli, "'--groups' has no effect with '--%s'",
                        baseline.n > 0 ? "baseline" : "run");
    if (json && format)
        return rw_wrong(cli, "'--format' and '--json' both say how to print: give one of them");
    if (word_of(correct, corrections, 2) < 0)
        return rw_wrong(cli, "option '--correct': expected holm or none, found '%.100s'", correct);
    if (word_of(format, formats, 3) < 0)
        return rw_wrong(cli, "option '--format': expected text, csv or latex, found '%.100s'",
                        format);
    if (fail_below) {
        least = strtod(fail_below, &end);
        if (end == fail_below || *end || !isfinite(least))
            return rw_wrong(cli, "option '--fail-below': expected a number, found '%.100s'",
                            fail_below);
    }
    return 0;
}

static int check(struct rw_cli *cli)
{
    int n_models = 0;
    if (!qrels && (runs.n > 0 || like))
        return rw_wrong(cli, "'--%s' needs --qrels FILE", runs.n > 0 ? "run" : "like");
    if (!qrels && cli->operands.n == 0)
        return rw_wrong(cli, baseline.n > 0 ? "'compare' needs DATA... before --baseline"
                                            : "'compare' needs " OPERANDS);
    RW_STEP(find_systems(cli));
    RW_STEP(check_many(cli));
    if (qrels)
        return rw_qrels_files_check(cli, &like);
    is_model = rw_need((size_t)systems.n, sizeof(*is_model));
    for (int i = 0; i < systems.n; i++) {
        RW_STEP(find_kind(systems.text[i], &is_model[i]));
        n_models += is_model[i];
    }
    return n_models > 0 ? 0
                        : rw_params_no_effect(cli->ctx, cli->params, "device", "without a model");
}

/* ------------------------------------------------------------------ the work */

static struct rw_comparison **comparison; /* [n_metrics][systems.n - 1] */

/* Compares by each metric alone, with the same seed: a metric's figures do not depend on which
 * others there are. */
static int compare_all(struct rw_cli *cli, int *n_metrics)
{
    static char metrics[4096];
    char *rest = NULL;
    const int n = systems.n - 1;
    comparison = rw_need((size_t)MOST_METRICS * (size_t)n, sizeof(*comparison));
    *n_metrics = 0;
    snprintf(metrics, sizeof(metrics), "%s", rw_params_get(cli->params, "metric"));
    for (char *metric = strtok_r(metrics, ",", &rest); metric && *n_metrics < MOST_METRICS;
         metric = strtok_r(NULL, ",", &rest), ++*n_metrics) {
        RW_STEP(rw_params_set(cli->ctx, cli->params, "metric", metric));
        for (int i = 0; i < n; i++)
            RW_STEP(rw_compare_like(cli->ctx, rw_params_eval(cli->params), dataset, scores[0],
                                    scores[1 + i], groups_file, like,
                                    &comparison[*n_metrics * n + i]));
    }
    return 0;
}

static void warn_ties(int n_metrics)
{
    const int n = systems.n - 1;
    for (int i = 0; i < n * n_metrics; i++) {
        const struct rw_comparison *of = comparison[i];
        if (i % n == 0)
            rw_load_warn_moved(is_many() ? systems.text[0] : "a", of->metric, of->ties_moved_a,
                               RW_TIES_ADVICE);
        rw_load_warn_moved(is_many() ? systems.text[1 + i % n] : "b", of->metric, of->ties_moved_b,
                           RW_TIES_ADVICE);
    }
}

static void print_two(int n_metrics)
{
    if (json) {
        print_json(comparison, dataset, n_metrics);
        return;
    }
    printf("a  %s\nb  %s\n", sides[0], sides[1]);
    for (int i = 0; i < n_metrics; i++) {
        putchar('\n');
        print_table(comparison[i], dataset, n_metrics);
    }
}

static int run(struct rw_cli *cli)
{
    int n_metrics;
    RW_STEP(load_and_score(cli));
    RW_STEP(compare_all(cli, &n_metrics));
    warn_ties(n_metrics);
    const struct rw_compare_many many = {
        .system = &systems,
        .comparison = comparison,
        .n_metrics = n_metrics,
        .holm = word_of(correct, corrections, 2) == 0,
        .format = json ? RW_COMPARE_JSON : (enum rw_compare_format)word_of(format, formats, 3)};
    if (is_many())
        RW_STEP(rw_compare_many_print(cli, &many));
    else
        print_two(n_metrics);
    return fail_below ? rw_compare_many_gate(&many, least) : 0;
}

const struct rw_command rw_cmd_compare = {
    .name = "compare",
    .brief = "is one model better than another, or is it chance",
    .operands = OPERANDS "\nDATA... --baseline A B...\n--qrels FILE --baseline A B...",
    .about =
        "Compares two rankings of the same queries: the difference of each metric with a 95 % "
        "bootstrap interval, a paired randomisation test, the queries that moved most. Or several "
        "with one baseline.",
    .most = -1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads device ",
    .check = check,
    .run = run,
};
