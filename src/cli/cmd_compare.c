/* `rankwood compare` compares two rankings, or several with a baseline. A ranking comes from a
 * model, a file of scores, or a TREC run. Each compared ranking is a "system". The queries whose
 * metric changed most between two systems are their "moved" queries. */
#include "cli/cli.h"

enum { SHOWN_MOVED = 10 };

static const char *sides[2]; /* --a and --b: files of models or scores */
static const char *groups_file, *qrels, *like;
enum { HOLM, NONE }; /* the values of --correct */
static int correct = HOLM;
static double least; /* the value of --fail-below */
static struct rw_list baseline, runs;
#define OPERANDS "DATA... --a MODEL|SCORES --b MODEL|SCORES"
static const struct rw_option options[] = {
    {"a", "MODEL|SCORES", "first ranking: a model, a file of scores or a TREC run", RW_OPTION_INPUT,
     .value = &sides[0], .idle_with = " baseline run "},
    {"b", "MODEL|SCORES", "second ranking; differences are b - a", RW_OPTION_INPUT,
     .value = &sides[1], .idle_with = " baseline run "},
    {"baseline", "A B...", "compare each of B... with A; comes after DATA", RW_OPTION_INPUTS_AFTER,
     .value = &baseline},
    {"correct", "holm|none",
     "with --baseline or --run: also print p-values corrected for the number of systems and "
     "metrics, by Holm's method [default: holm]",
     RW_OPTION_CHOICE, .value = &correct, .idle_without = " baseline run "},
    {"fail-below", "X",
     "fail (exit 4) unless the whole 95 % interval of b - a is at least X, such as -0.002; "
     "for rmse and logloss, of a - b",
     RW_OPTION_REAL, .value = &least},
    {"qrels", "FILE",
     "compare TREC runs by these judgments instead of DATA, as 'eval' measures them; --a, --b and "
     "--baseline are then TREC runs",
     RW_OPTION_INPUT, .value = &qrels},
    {"run", "FILE...",
     "with --qrels: TREC runs to compare with the first of them, or with A of --baseline",
     RW_OPTION_INPUTS_AFTER, .value = &runs},
    {"like", "PROGRAM",
     "with --qrels: measure as this program of 'eval --like' or as rankwood [default: trec]",
     RW_OPTION_TEXT, .value = &like},
    {"groups", "FILE", "with --a and --b: also compare groups of queries (lines of QUERY GROUP)",
     RW_OPTION_INPUT, .value = &groups_file, .idle_with = " baseline run "},
    {0},
};

/* ---- scoring ---- */

/* The files of the systems. The first system is compared with each of the others. */
static struct rw_list systems;
static int *is_model;            /* [systems.n] 0: scores or a TREC run; NULL with --qrels */
static struct rw_model **models; /* [systems.n] NULL: not a model */
static const double **scores;    /* [systems.n][documents] */
static const struct rw_dataset *dataset;
static struct rw_qrels *judged; /* owns dataset and scores; NULL: without --qrels */

/* Scores the documents by system i into scores[i]. Tables are read again for each model, because
 * its features determine the ids of their columns. */
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
    for (int i = 0; i < systems.n; i++) {
        if (is_model[i])
            RW_STEP(rw_load_model(cli, systems.text[i], &models[i]));
        /* its features determine the ids of a table's columns */
        cli->model = cli->model ? cli->model : models[i];
    }
    RW_STEP(rw_load_weighted(cli, &cli->operands));
    for (int i = 0; i < systems.n; i++)
        RW_STEP(score(cli, i));
    dataset = cli->dataset;
    return 0;
}

/* ---- the command line ---- */

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
        return rw_wrong(cli, "'%s' has nothing to compare with: pass at least one more",
                        systems.text[0]);
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
    if (qrels)
        return rw_load_check_qrels(cli, &like);
    is_model = rw_need((size_t)systems.n, sizeof(*is_model));
    for (int i = 0; i < systems.n; i++) {
        struct rw_file_kind kind; /* An unreadable file is reported later, by the reader. */
        is_model[i] = rw_file_recognise(cli->ctx, systems.text[i], &kind) && kind.is_model;
        n_models += is_model[i];
    }
    return n_models > 0 ? 0
                        : rw_params_no_effect(cli->ctx, cli->params, "device", "without a model");
}

/* ---- comparing ---- */

static struct rw_comparison **comparison; /* [n_metrics][n_others] */
static int n_metrics, n_others;           /* n_others: all systems except the first */

/* Compares by each metric alone with the same seed, so that a metric's figures do not depend on the
 * other metrics. */
static int compare_all(struct rw_cli *cli)
{
    const struct rw_list metrics = rw_list_of(rw_params_get(cli->params, "metric"));
    n_metrics = metrics.n;
    n_others = systems.n - 1;
    comparison = rw_need((size_t)(metrics.n * n_others), sizeof(struct rw_comparison *));
    for (int m = 0; m < metrics.n; m++) {
        RW_STEP(rw_params_set(cli->ctx, cli->params, "metric", metrics.text[m]));
        struct rw_eval_params how = *rw_params_eval(cli->params);
        how.like = like;
        for (int i = 0; i < n_others; i++)
            RW_STEP(rw_compare(cli->ctx, &how, dataset, scores[0], scores[1 + i], groups_file,
                               &comparison[m * n_others + i]));
    }
    return 0;
}

/* ---- results ---- */

#define INTERVAL "=+;low=2.5 %=+;high=97.5 %=+;p==%.4f;"
#define COUNTS   "better;equal;worse"

/* Appends a copy of `row` for CSV and text, with the metric and the number of its queries in front.
 */
static void add_row(json_t *rows, json_t *row, const struct rw_comparison *of, unsigned queries)
{
    json_object_update(rw_result_add(rows, "metric:s queries:u", of->metric, queries), row);
}

static void add_conventions(const struct rw_comparison *of)
{
    rw_result_line("%s: %s is better; %s", of->metric, of->lower_is_better ? "lower" : "higher",
                   of->conventions);
}

/* Adds a line on the churn between the first system and another one. */
static void add_churn(const struct rw_comparison *of, const char *before, const char *system)
{
    rw_result_line("churn%s%s: the first result changes in %.2f %% of all queries, the set of the "
                   "first 10 in %.2f %%; their mean overlap is %.2f %%; ties in input order",
                   before, system, 100 * of->changed_first, 100 * of->changed_ten,
                   100 * of->overlap_ten);
}

static json_t *compared_row(const struct rw_compared *row)
{
    return rw_result_row(
        "group:s queries:u a:n b:n difference:n low:n high:n p:n better:u equal:u worse:u",
        *row->name ? row->name : NULL, row->n_queries, row->mean_a, row->mean_b, row->difference,
        row->low, row->high, row->p, row->n_wins, row->n_ties, row->n_losses);
}

/* Returns one metric's object. Adds a row for all queries and one per group to `rows`, and the
 * first SHOWN_MOVED moved queries to `first`. */
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
        const char *id = rw_dataset_query_id(dataset, query->query);
        rw_result_add(moved, "query:s a:n b:n", id, query->a, query->b);
        if (i < SHOWN_MOVED)
            rw_result_add(first, "query:s a:n b:n difference:n", id, query->a, query->b,
                          query->b - query->a);
    }
    return rw_result_row("metric:s lower_is_better:b all:o groups:o moved:o changed_first:n "
                         "changed_ten:n overlap_ten:n samples:i conventions:s",
                         of->metric, of->lower_is_better, all, groups, moved, of->changed_first,
                         of->changed_ten, of->overlap_ten, of->n_samples, of->conventions);
}

/* Returns the document for two rankings: one metric's object, or an array of several. */
static json_t *add_two(void)
{
    const int n_groups = comparison[0]->n_groups;
    static json_t *all;
    json_t *rows = json_array();
    all = json_array();
    rw_result_line("a  %s", sides[0]);
    rw_result_line("b  %s", sides[1]);
    rw_result_rows(NULL, rows,
                   n_groups > 0 ? "metric;group;queries;a;b;difference=b - a" INTERVAL COUNTS
                                : "metric;-group;queries;a;b;difference=b - a" INTERVAL COUNTS);
    for (int i = 0; i < n_metrics; i++) {
        json_t *moved = json_array();
        json_array_append_new(all, compared_document(comparison[i], rows, moved));
        rw_result_rows(rw_text("queries with the largest changes of %s", comparison[i]->metric),
                       moved, "a;b;difference=b - a=+;query");
    }
    add_churn(comparison[0], "", "");
    for (int i = 0; i < n_metrics; i++)
        add_conventions(comparison[i]);
    rw_result_line("interval: %d resamples of the queries; p: paired randomisation test, "
                   "two-sided%s%s%s%s",
                   comparison[0]->n_samples,
                   n_groups > 1 || n_metrics > 1 ? ", not corrected for the number of " : "",
                   n_groups > 1 ? "groups" : "", n_groups > 1 && n_metrics > 1 ? " and " : "",
                   n_metrics > 1 ? "metrics" : "");
    return n_metrics == 1 ? json_array_get(all, 0) : all;
}

/* Adds a table with a row per system and a column per metric. p: [n_metrics][n_others]. */
static void add_pivot(const double *p)
{
    const char *columns = "system";
    json_t *rows = json_array();
    for (int m = 0; m < n_metrics; m++)
        columns = rw_text("%s;%s==*", columns, comparison[m * n_others]->metric);
    for (int s = 0; s <= n_others; s++) {
        json_t *row = rw_result_add(rows, "system:s", systems.text[s]);
        for (int m = 0; m < n_metrics; m++) {
            const struct rw_comparison *of = comparison[m * n_others + (s ? s - 1 : 0)];
            const double mean = s ? of->all.mean_b : of->all.mean_a,
                         at = s ? p[m * n_others + s - 1] : 1;
            const char *cell = isnan(mean) ? "-"
                                           : rw_text("%.4f%s", mean,
                                                     at < .01   ? "**"
                                                     : at < .05 ? "*"
                                                                : "");
            json_object_set_new(row, of->metric, json_string(cell));
        }
    }
    rw_result_rows(NULL, rows, columns);
    rw_result_line("* p < .05, ** p < .01 against the first row, over %u queries",
                   comparison[0]->all.n_queries);
}

/* Adds a metric's rows, of the baseline and of the other systems, to `rows`. Returns those of the
 * other systems as JSON. p: [n_metrics][n_others]. */
static json_t *others_of(json_t *rows, const double *p, int metric)
{
    const struct rw_comparison *first = comparison[metric * n_others];
    json_t *others = json_array();
    rw_result_add(rows, "metric:s queries:u system:s mean:n", first->metric, first->all.n_queries,
                  systems.text[0], first->all.mean_a);
    for (int i = 0; i < n_others; i++) {
        const struct rw_comparison *of = comparison[metric * n_others + i];
        const struct rw_compared *all = &of->all;
        json_t *row = rw_result_add(
            others,
            "system:s mean:n difference:n low:n high:n p:n p_corrected:n better:u equal:u worse:u "
            "changed_first:n changed_ten:n overlap_ten:n",
            systems.text[1 + i], all->mean_b, all->difference, all->low, all->high, all->p,
            p[metric * n_others + i], all->n_wins, all->n_ties, all->n_losses, of->changed_first,
            of->changed_ten, of->overlap_ten);
        add_row(rows, row, first, all->n_queries);
    }
    return others;
}

/* Makes the document for a comparison of several systems with a baseline. */
static int add_many(const struct rw_cli *cli, json_t **document)
{
    const int n_tests = n_others * n_metrics;
    /* [n_metrics][n_others] corrected if --correct is holm */
    double *p = rw_need((size_t)n_tests, sizeof(*p));
    static json_t *rows; /* not printed in LaTeX */
    json_t *metrics = json_array();
    rows = json_array();
    for (int i = 0; i < n_tests; i++)
        p[i] = comparison[i]->all.p;
    if (correct == HOLM)
        RW_STEP(rw_holm(cli->ctx, p, n_tests));
    rw_result_line("baseline  %s", systems.text[0]);
    if (cli->format == RW_FORMAT_LATEX)
        add_pivot(p);
    else
        rw_result_rows(NULL, rows,
                       correct == HOLM ? "metric;system;queries;mean;difference=" INTERVAL
                                         "p_corrected=p Holm=%.4f;" COUNTS
                                       : "metric;system;queries;mean;difference=" INTERVAL
                                         "-p_corrected;" COUNTS);
    for (int i = 0; i < n_others; i++)
        add_churn(comparison[i], " of ", systems.text[1 + i]);
    for (int m = 0; m < n_metrics; m++) {
        const struct rw_comparison *first = comparison[m * n_others];
        rw_result_add(metrics,
                      "metric:s lower_is_better:b queries:u baseline:n systems:o conventions:s",
                      first->metric, first->lower_is_better, first->all.n_queries,
                      first->all.mean_a, others_of(rows, p, m), first->conventions);
        add_conventions(first);
    }
    *document = rw_result_row("baseline:s correct:s tests:i samples:i metrics:o", systems.text[0],
                              correct == HOLM ? "holm" : "none", n_tests, comparison[0]->n_samples,
                              metrics);
    rw_result_line("difference: from the baseline; interval: %d resamples of the queries; p: "
                   "paired randomisation test, two-sided%s",
                   comparison[0]->n_samples,
                   correct == HOLM ? "" : ", not corrected for the number of tests");
    if (correct == HOLM)
        rw_result_line("p Holm: corrected for %d tests by Holm's step-down method", n_tests);
    return 0;
}

/* Implements --fail-below. Returns RW_EXIT_GATE, after an error for each failing system and
 * metric, if the interval of an improvement extends below `least` or is unknown. An improvement is
 * the difference, negated where lower is better. */
static int gate(void)
{
    int code = RW_EXIT_OK;
    for (int i = 0; i < n_others * n_metrics; i++) {
        const struct rw_comparison *of = comparison[i];
        const double worst = of->lower_is_better ? -of->all.high : of->all.low;
        const char *system = systems.text[1 + i % n_others];
        if (worst >= least)
            continue;
        code = RW_EXIT_GATE;
        if (isnan(worst))
            rw_msg_error("%s: %s: fewer than 2 queries count, so an improvement of at least %s "
                         "cannot be shown",
                         system, of->metric, rw_exact(least));
        else
            rw_msg_error("%s: %s: the interval of the improvement begins at %s, below %s", system,
                         of->metric, rw_figure_signed(worst), rw_exact(least));
    }
    if (code == RW_EXIT_GATE)
        rw_msg_hint("the improvement is the difference, negated where lower is better; with more "
                    "queries, its 95 %% interval is narrower");
    return code;
}

static int run(struct rw_cli *cli)
{
    json_t *document;
    RW_STEP(load_and_score(cli));
    RW_STEP(compare_all(cli));
    for (int i = 0; i < n_others * n_metrics; i++) {
        const struct rw_comparison *of = comparison[i];
        if (i % n_others == 0)
            rw_load_warn_moved(is_many() ? systems.text[0] : "a", of->metric, of->ties_moved_a,
                               RW_TIES_ADVICE);
        rw_load_warn_moved(is_many() ? systems.text[1 + i % n_others] : "b", of->metric,
                           of->ties_moved_b, RW_TIES_ADVICE);
    }
    if (is_many())
        RW_STEP(add_many(cli, &document));
    else
        document = add_two();
    rw_result_print(cli, document);
    return rw_is_given(cli, "fail-below") ? gate() : 0;
}

const struct rw_command rw_cmd_compare = {
    .name = "compare",
    .brief = "test whether one model is better than another",
    .operands =
        OPERANDS "\nDATA... --baseline A B...\n--qrels FILE (--a RUN --b RUN | --run RUN...)",
    .about = "Compares two rankings of the same queries. Prints the difference of each metric with "
             "a 95 % bootstrap interval, the p-value of a paired randomisation test, the "
             "queries that changed most, and how many first results change. --baseline and --run "
             "compare several with the first.",
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads device ",
    .check = check,
    .run = run,
};
