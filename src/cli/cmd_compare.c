/* rankwood compare: rankings of the same data, models' or files': two, or several and a baseline.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum { SHOWN_MOVED = 10 };

static const char *sides[2]; /* a, b: models or scores */
static const char *groups_file, *qrels, *like, *correct, *fail_below;
static struct rw_list baseline, runs;
#define OPERANDS "DATA... --a MODEL|SCORES --b MODEL|SCORES"
static const struct rw_option options[] = {
    {"a", 0, "MODEL|SCORES", "a model, a file of scores, or a TREC run", RW_OPTION_INPUT,
     .value = &sides[0], .idle_with = " baseline run "},
    {"b", 0, "MODEL|SCORES", "the one that is compared with it", RW_OPTION_INPUT,
     .value = &sides[1], .idle_with = " baseline run "},
    {"baseline", 0, "A B...", "compare each of B... with A; behind DATA, if there is any",
     RW_OPTION_INPUTS_BEHIND, .value = &baseline},
    {"correct", 0, "holm|none",
     "with --baseline: the p of all systems and metrics by Holm's step-down [default: holm]",
     RW_OPTION_TEXT, .value = &correct},
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
     .value = &groups_file, .idle_with = " baseline run "},
    {0},
};

/* ------------------------------------------------------------------ the work */

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
    RW_STEP(rw_scorer_open(cli->ctx, cli->model, 0, rw_params_get(cli->params, "device"),
                           &cli->scorer));
    RW_STEP(rw_scorer_run(cli->ctx, cli->scorer, cli->dataset, made));
    rw_scorer_free(cli->scorer);
    cli->scorer = NULL;
    rw_load_warn_lacking(cli);
    return 0;
}

static int load_and_score(struct rw_cli *cli)
{
    models = rw_need((size_t)systems.n, sizeof(struct rw_model *));
    scores = rw_need((size_t)systems.n, sizeof(double *));
    if (qrels) {
        RW_STEP(rw_load_qrels(cli, qrels, &systems, &judged));
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

static double least; /* of fail_below */

static int check_many(struct rw_cli *cli)
{
    char *end;
    if (correct && !is_many())
        return rw_wrong(cli, "'--correct' has no effect without '--baseline'");
    if (correct && strcmp(correct, "holm") != 0 && strcmp(correct, "none") != 0)
        return rw_wrong(cli, "option '--correct': expected holm or none, found '%.100s'", correct);
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
        return rw_load_check_qrels(cli, &like);
    is_model = rw_need((size_t)systems.n, sizeof(*is_model));
    for (int i = 0; i < systems.n; i++) {
        struct rw_file_kind kind; /* what cannot be read is found when it is */
        is_model[i] = rw_file_recognise(cli->ctx, systems.text[i], &kind) && kind.is_model;
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
    struct rw_list metrics = {0};
    const int n = systems.n - 1;
    rw_list_split(&metrics, rw_params_get(cli->params, "metric"));
    *n_metrics = metrics.n;
    comparison = rw_need((size_t)(metrics.n * n), sizeof(struct rw_comparison *));
    for (int m = 0; m < metrics.n; m++) {
        RW_STEP(rw_params_set(cli->ctx, cli->params, "metric", metrics.text[m]));
        struct rw_eval_params how = *rw_params_eval(cli->params);
        how.like = like;
        for (int i = 0; i < n; i++)
            RW_STEP(rw_compare(cli->ctx, &how, dataset, scores[0], scores[1 + i], groups_file,
                               &comparison[m * n + i]));
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

/* ------------------------------------------------------------------ the results */

#define INTERVAL "=+;low=2.5 %=+;high=97.5 %=+;p==%.4f;"
#define COUNTS   "better;equal;worse"

/* Adds a row as CSV and people have it: with the metric and its queries. */
static void add_row(json_t *rows, json_t *row, const struct rw_comparison *of, unsigned queries)
{
    json_t *copy = rw_result_row("metric:s queries:u", of->metric, queries);
    json_object_update(copy, row);
    json_array_append_new(rows, copy);
}

static void add_conventions(struct rw_result *result, const struct rw_comparison *of)
{
    rw_result_line(result, "%s: %s is better; %s", of->metric,
                   of->lower_is_better ? "lower" : "higher", of->conventions);
}

static json_t *compared_row(const struct rw_compared *row)
{
    return rw_result_row(
        "group:s queries:u a:n b:n difference:n low:n high:n p:n better:u equal:u worse:u",
        *row->name ? row->name : NULL, row->n_queries, row->mean_a, row->mean_b, row->difference,
        row->low, row->high, row->p, row->n_wins, row->n_ties, row->n_losses);
}

/* One metric's object. rows: its rows are added; first: the rows of the first SHOWN_MOVED queries
 * are added. */
static json_t *compared_document(const struct rw_comparison *of, json_t *rows, json_t *first)
{
    json_t *all = compared_row(&of->all), *groups = json_array(), *moved = json_array();
    add_row(rows, all, of, of->all.n_queries);
    for (int i = 0; i < of->n_groups; i++) {
        json_array_append_new(groups, compared_row(&of->groups[i]));
        add_row(rows, json_array_get(groups, (size_t)i), of, of->groups[i].n_queries);
    }
    for (int i = 0; i < of->n_moved; i++) {
        const struct rw_moved_query *query = &of->moved[i];
        json_t *row = rw_result_row("query:s a:n b:n", rw_dataset_query_id(dataset, query->query),
                                    query->a, query->b);
        json_array_append_new(moved, row);
        if (i < SHOWN_MOVED)
            json_array_append_new(first, json_copy(row));
        if (i < SHOWN_MOVED)
            json_object_set_new(json_array_get(first, (size_t)i), "difference",
                                rw_result_real(query->b - query->a));
    }
    return rw_result_row(
        "metric:s lower_is_better:b all:o groups:o moved:o samples:i conventions:s", of->metric,
        of->lower_is_better, all, groups, moved, of->n_samples, of->conventions);
}

/* One metric's object is the document, or an array of several. */
static void fill_two(struct rw_result *result, int n_metrics)
{
    const int by_group = comparison[0]->n_groups > 0, n_groups = comparison[0]->n_groups;
    json_t *all = json_array(), *rows = json_array();
    rw_result_line(result, "a  %s", sides[0]);
    rw_result_line(result, "b  %s", sides[1]);
    rw_result_rows(result, NULL, rows,
                   by_group ? "metric;group;queries;a;b;difference=b - a" INTERVAL COUNTS
                            : "metric;-group;queries;a;b;difference=b - a" INTERVAL COUNTS);
    for (int i = 0; i < n_metrics; i++) {
        char title[128];
        json_t *moved = json_array();
        json_array_append_new(all, compared_document(comparison[i], rows, moved));
        snprintf(title, sizeof(title), "queries that moved most by %s", comparison[i]->metric);
        if (comparison[i]->n_moved > 0)
            rw_result_rows(result, title, moved, "a;b;difference=b - a=+;query");
        else
            json_decref(moved);
    }
    result->document = n_metrics == 1 ? json_incref(json_array_get(all, 0)) : json_incref(all);
    json_decref(all);
    for (int i = 0; i < n_metrics; i++)
        add_conventions(result, comparison[i]);
    rw_result_line(result,
                   "interval: %d resamples of the queries; p: paired randomisation test, "
                   "two-sided%s%s%s%s",
                   comparison[0]->n_samples,
                   n_groups > 1 || n_metrics > 1 ? ", not corrected for the number of " : "",
                   n_groups > 1 ? "groups" : "", n_groups > 1 && n_metrics > 1 ? " and " : "",
                   n_metrics > 1 ? "metrics" : "");
}

/* A row a system, a column a metric, as a paper has it. */
static void add_pivot(struct rw_result *result, const double *p, int n_metrics)
{
    const int n = systems.n - 1;
    char columns[8192] = "system";
    json_t *rows = json_array();
    for (int m = 0; m < n_metrics; m++) {
        const size_t used = strlen(columns);
        snprintf(columns + used, sizeof(columns) - used, ";%s==*", comparison[m * n]->metric);
    }
    for (int s = 0; s <= n; s++) {
        json_t *row = rw_result_row("system:s", systems.text[s]);
        for (int m = 0; m < n_metrics; m++) {
            const struct rw_comparison *of = comparison[m * n + (s ? s - 1 : 0)];
            const double mean = s ? of->all.mean_b : of->all.mean_a, at = s ? p[m * n + s - 1] : 1;
            char cell[RW_FIGURE_ROOM] = "-";
            if (!isnan(mean))
                snprintf(cell, sizeof(cell), "%.4f%s", mean, at < .01 ? "**" : at < .05 ? "*" : "");
            json_object_set_new(row, of->metric, json_string(cell));
        }
        json_array_append_new(rows, row);
    }
    rw_result_rows(result, NULL, rows, columns);
    rw_result_line(result, "* p < .05, ** p < .01 against the first row, over %u queries",
                   comparison[0]->all.n_queries);
}

/* Adds the baseline's row and the others', which are returned. */
static json_t *others_of(json_t *rows, const double *p, int metric)
{
    const int n = systems.n - 1;
    const struct rw_comparison *first = comparison[metric * n];
    json_t *others = json_array(),
           *base = rw_result_row("system:s mean:n", systems.text[0], first->all.mean_a);
    add_row(rows, base, first, first->all.n_queries);
    json_decref(base);
    for (int i = 0; i < n; i++) {
        const struct rw_compared *all = &comparison[metric * n + i]->all;
        json_t *row = rw_result_row(
            "system:s mean:n difference:n low:n high:n p:n p_corrected:n better:u equal:u worse:u",
            systems.text[1 + i], all->mean_b, all->difference, all->low, all->high, all->p,
            p[metric * n + i], all->n_wins, all->n_ties, all->n_losses);
        json_array_append_new(others, row);
        add_row(rows, row, first, all->n_queries);
    }
    return others;
}

/* p: [n_metrics][systems.n - 1], corrected or not. */
static void fill_many(const struct rw_cli *cli, struct rw_result *result, const double *p,
                      int n_metrics, int is_corrected)
{
    const int n = systems.n - 1;
    json_t *metrics = json_array(), *rows = json_array();
    for (int m = 0; m < n_metrics; m++) {
        const struct rw_comparison *first = comparison[m * n];
        rw_result_add(metrics,
                      "metric:s lower_is_better:b queries:u baseline:n systems:o conventions:s",
                      first->metric, first->lower_is_better, first->all.n_queries,
                      first->all.mean_a, others_of(rows, p, m), first->conventions);
    }
    result->document = rw_result_row("baseline:s correct:s tests:i samples:i metrics:o",
                                     systems.text[0], is_corrected ? "holm" : "none", n * n_metrics,
                                     comparison[0]->n_samples, metrics);
    rw_result_line(result, "baseline  %s", systems.text[0]);
    if (cli->format == RW_FORMAT_LATEX)
        add_pivot(result, p, n_metrics);
    else
        rw_result_rows(result, NULL, json_incref(rows),
                       is_corrected ? "metric;system;queries;mean;difference=" INTERVAL
                                      "p_corrected=p Holm=%.4f;" COUNTS
                                    : "metric;system;queries;mean;difference=" INTERVAL
                                      "-p_corrected;" COUNTS);
    json_decref(rows);
    for (int m = 0; m < n_metrics; m++)
        add_conventions(result, comparison[m * n]);
    rw_result_line(result,
                   "difference: from the baseline; interval: %d resamples of the queries; p: "
                   "paired randomisation test, two-sided%s",
                   comparison[0]->n_samples,
                   is_corrected ? "" : ", not corrected for the number of tests");
    if (is_corrected)
        rw_result_line(result, "p Holm: corrected by Holm's step-down, tests: %d", n * n_metrics);
}

/* RW_EXIT_BELOW, and an error for each, where the interval of an improvement begins below `least`.
 * An improvement is the difference, or its opposite where lower is better. */
static int gate(int n_metrics)
{
    const int n = systems.n - 1;
    int code = RW_EXIT_OK;
    for (int i = 0; i < n * n_metrics; i++) {
        const struct rw_comparison *of = comparison[i];
        const double worst = of->lower_is_better ? -of->all.high : of->all.low;
        char figure[RW_FIGURE_ROOM], limit[RW_FIGURE_ROOM];
        if (worst >= least)
            continue;
        code = RW_EXIT_BELOW;
        rw_exact_text(least, limit);
        if (isnan(worst))
            rw_msg_error("%s: %s: under 2 queries count, which show no improvement of at least %s",
                         systems.text[1 + i % n], of->metric, limit);
        else
            rw_msg_error("%s: %s: the interval of its improvement begins at %s, below %s",
                         systems.text[1 + i % n], of->metric, rw_figure_signed(worst, figure),
                         limit);
    }
    if (code == RW_EXIT_BELOW)
        rw_msg_hint("an improvement is the difference, or where lower is better the opposite; more "
                    "queries narrow its 95 %% interval");
    return code;
}

static int run(struct rw_cli *cli)
{
    const int holm = !correct || strcmp(correct, "holm") == 0;
    struct rw_result result = {0};
    int n_metrics;
    RW_STEP(load_and_score(cli));
    RW_STEP(compare_all(cli, &n_metrics));
    warn_ties(n_metrics);
    if (is_many()) {
        const int n_tests = (systems.n - 1) * n_metrics;
        double *p = rw_need((size_t)n_tests, sizeof(*p));
        for (int i = 0; i < n_tests; i++)
            p[i] = comparison[i]->all.p;
        const int status = holm ? rw_holm(cli->ctx, p, n_tests) : 0;
        if (status >= 0)
            fill_many(cli, &result, p, n_metrics, holm);
        RW_STEP(status);
    } else {
        fill_two(&result, n_metrics);
    }
    rw_result_print(cli, &result, stdout);
    return fail_below ? gate(n_metrics) : 0;
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
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads device ",
    .check = check,
    .run = run,
};
