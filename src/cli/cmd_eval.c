/* `rankwood eval` measures the scores of a model or a file, or TREC runs by judgments (--qrels). */
#include "cli/cli.h"

static const char *model, *scores_file, *per_query, *like, *trees, *qrels, *propensities,
    *positions;
static double clip = 1024.0;
static unsigned long long top = 10;
static struct rw_list runs;
static int all_programs;
#define OPERANDS "DATA... (--model MODEL | --scores FILE)"
static const struct rw_option options[] = {
    {"model", "MODEL", "measure the scores of this model", RW_OPTION_INPUT, .value = &model,
     .idle_with = " qrels "},
    {"scores", "FILE", "measure these scores: one number per line, or a TREC run", RW_OPTION_INPUT,
     .value = &scores_file, .idle_with = " qrels "},
    {"qrels", "FILE",
     "measure TREC runs with these judgments instead of DATA: lines of 'query iteration document "
     "label'; --like is trec by default",
     RW_OPTION_INPUT, .value = &qrels},
    {"run", "FILE...", "with --qrels: TREC runs, lines of 'query Q0 document rank score tag'",
     RW_OPTION_INPUTS_AFTER, .value = &runs},
    {"trees", "N", "measure only the first N trees of the model [default: all]", RW_OPTION_TEXT,
     .value = &trees, .idle_with = " scores qrels "},
    {"per-query", "FILE", "write the values of each query, separated by tabs", RW_OPTION_OUTPUT,
     .value = &per_query, .idle_with = " audit "},
    {"like", "PROGRAM",
     "measure as another program does: lightgbm, xgboost, xgboost- (its ndcg@k-), catboost, "
     "ranklib, quickrank, ydf, trec, gdeval or ranx; with --qrels also rankwood",
     RW_OPTION_TEXT, .value = &like},
    {"propensities", "FILE",
     "estimate DCG from clicks, the labels of DATA: lines of POSITION PROPENSITY, as 'judge' "
     "writes "
     "them",
     RW_OPTION_INPUT, .value = &propensities,
     .idle_with = " qrels audit like per-query metric relevant empty ties label-gain "
                  "weights query-weights weight-column "},
    {"positions", "FILE",
     "with --propensities: the displayed position of each document, one per line", RW_OPTION_INPUT,
     .value = &positions, .idle_without = " propensities "},
    {"top", "K", "with --propensities: ranks that count, from 1 [default: 10]", RW_OPTION_NUMBER,
     .value = &top, .range = {1, 1000000}, .idle_without = " propensities "},
    {"clip", "X", "with --propensities: largest weight of a click, at least 1 [default: 1024]",
     RW_OPTION_REAL, .value = &clip, .idle_without = " propensities "},
    {"audit", NULL,
     "print the values that all programs of --like would report, and why they differ",
     RW_OPTION_FLAG, .value = &all_programs, .idle_with = " qrels "},
    {0},
};

static void print(const struct rw_cli *cli, const struct rw_eval *eval)
{
    json_t *metrics = json_array();
    for (int i = 0; i < eval->n_metrics; i++) {
        const struct rw_eval_metric *metric = &eval->metrics[i];
        rw_result_add(metrics, "metric:s mean:n queries:u ties_moved:n", metric->name, metric->mean,
                      metric->n_counted, metric->ties_moved);
    }
    rw_result_rows(NULL, metrics, "metric;mean;queries;-ties_moved");
    rw_result_line(
        "%u documents in %u queries: %u without a relevant document, %u with one document",
        eval->n_docs, eval->n_queries, eval->n_empty, eval->n_single);
    rw_result_line("%s", eval->conventions);
    rw_result_print(cli,
                    rw_result_row("metrics:O documents:u queries:u empty:u single:u conventions:s",
                                  metrics, eval->n_docs, eval->n_queries, eval->n_empty,
                                  eval->n_single, eval->conventions));
}

/* Writes the file of --per-query: a line per query with its id and the metrics' values, "nan" where
 * the query does not count. With --run, the run's name comes first. evals: [n] one per run. */
static int write_per_query(struct rw_cli *cli, const struct rw_dataset *dataset,
                           struct rw_eval *const *evals, int n)
{
    if (!per_query)
        return 0;
    RW_STEP(rw_out_file_open(cli->ctx, &cli->out, per_query));
    FILE *out = cli->out.file;
    fputs(runs.n > 0 ? "run\tqid" : "qid", out);
    for (int m = 0; m < evals[0]->n_metrics; m++)
        fprintf(out, "\t%s", evals[0]->metrics[m].name);
    fputc('\n', out);
    for (int r = 0; r < n; r++) {
        for (uint32_t q = 0; q < evals[r]->n_queries; q++) {
            fprintf(out, "%s%s%s", runs.n > 0 ? runs.text[r] : "", runs.n > 0 ? "\t" : "",
                    rw_dataset_query_id(dataset, q));
            for (int m = 0; m < evals[r]->n_metrics; m++) {
                const double value = evals[r]->metrics[m].per_query[q];
                fprintf(out, "\t%s", isnan(value) ? "nan" : rw_exact(value));
            }
            fputc('\n', out);
        }
    }
    return rw_out_file_commit(cli->ctx, &cli->out);
}

/* Prints the metrics by the conventions of all programs. */
static void print_audit(const struct rw_cli *cli, const struct rw_audit *audit)
{
    json_t *rows = json_array(), *shown = json_array();
    for (int i = 0; i < audit->n_rows; i++) {
        const struct rw_audit_row *row = &audit->rows[i];
        json_t *one = rw_result_add(
            rows, "like:s program:s metric:s mean:n queries:u conventions:s refused:s", row->like,
            row->program, row->metric, row->mean, row->n_counted, row->conventions, row->refused);
        json_array_append_new(shown, json_copy(one));
        if (row->refused)
            json_object_set(json_array_get(shown, (size_t)i), "conventions",
                            json_object_get(one, "refused"));
    }
    rw_result_rows(NULL, shown, "-like;program;metric;mean;queries;conventions;-refused");
    rw_result_line(
        "%u documents in %u queries: %u without a label above 0, %u with one document, %u "
        "with tied scores of different labels",
        audit->n_docs, audit->n_queries, audit->n_empty, audit->n_single, audit->n_tied);
    rw_result_line("queries sorted by label in the input: %u from high to low, %u from low to high",
                   audit->n_falling, audit->n_rising);
    rw_result_print(cli, rw_result_row("rows:o documents:u queries:u empty:u single:u tied:u "
                                       "labels_falling:u labels_rising:u",
                                       rows, audit->n_docs, audit->n_queries, audit->n_empty,
                                       audit->n_single, audit->n_tied, audit->n_falling,
                                       audit->n_rising));
}

/* Reads the data and scores each document. Reads the model first, so that its errors are reported
 * before the data is read, which may take long. *scores: [n_docs]. */
static int score(struct rw_cli *cli, double **scores)
{
    int n_trees;
    if (model) {
        RW_STEP(rw_load_model(cli, model, &cli->model));
        RW_STEP(rw_load_n_trees(cli, trees, &n_trees));
        RW_STEP(rw_scorer_open(cli->ctx, cli->model, n_trees, rw_params_get(cli->params, "device"),
                               &cli->scorer));
    }
    RW_STEP(rw_load_weighted(cli, &cli->operands));
    *scores = rw_need(rw_dataset_n_docs(cli->dataset), sizeof(**scores));
    RW_STEP(model ? rw_scorer_run(cli->ctx, cli->scorer, cli->dataset, *scores)
                  : rw_load_scores(cli, scores_file, *scores));
    rw_load_stage_end("scores");
    if (model)
        rw_load_warn_lacking(cli);
    return 0;
}

static void print_runs(const struct rw_cli *cli, const struct rw_qrels *judged,
                       struct rw_eval *const *evals)
{
    const struct rw_eval *first = evals[0];
    json_t *all = json_array(), *rows = json_array();
    rw_result_rows(NULL, rows, "run;metric;mean;queries");
    rw_result_line("%llu judged documents in %u queries: %u without a relevant document",
                   (unsigned long long)judged->n_judged, first->n_queries, first->n_empty);
    for (int r = 0; r < runs.n; r++) {
        const struct rw_qrels_run *run = &judged->runs[r];
        const char *name = runs.text[r];
        json_t *metrics = rw_load_json_metrics(evals[r]), *metric;
        size_t m;
        json_array_foreach(metrics, m, metric)
            json_object_update(rw_result_add(rows, "run:s", name), metric);
        rw_result_add(all, "run:s metrics:o ranked:l unjudged:l unanswered:u unknown_lines:l", name,
                      metrics, run->n_ranked, run->n_unjudged, run->n_unanswered, run->n_unknown);
        rw_result_line("%s: %llu documents ranked, %llu of them not judged (label 0); no "
                       "documents for %u queries",
                       name, (unsigned long long)run->n_ranked, (unsigned long long)run->n_unjudged,
                       run->n_unanswered);
    }
    rw_result_line("%s", first->conventions);
    rw_result_print(cli, rw_result_row("runs:o judged:l queries:u empty:u conventions:s", all,
                                       judged->n_judged, first->n_queries, first->n_empty,
                                       first->conventions));
}

static int measure(struct rw_cli *cli, const struct rw_dataset *dataset, const double *scores,
                   const char *name, struct rw_eval **out)
{
    struct rw_eval_params how = *rw_params_eval(cli->params);
    how.like = like;
    RW_STEP(rw_evaluate(cli->ctx, &how, dataset, scores, out));
    rw_load_warn_ties(*out, name, like ? "" : RW_TIES_ADVICE);
    return 0;
}

static int run_runs(struct rw_cli *cli)
{
    static struct rw_qrels *judged;
    RW_STEP(rw_load_qrels(cli, qrels, &runs, &judged));
    struct rw_eval **evals = rw_need((size_t)runs.n, sizeof(*evals));
    for (int r = 0; r < runs.n; r++)
        RW_STEP(measure(cli, judged->dataset, judged->runs[r].scores, runs.text[r], &evals[r]));
    RW_STEP(write_per_query(cli, judged->dataset, evals, runs.n));
    print_runs(cli, judged, evals);
    return 0;
}

/* Estimates from clicks. scores: [documents] */
static int run_clicks(struct rw_cli *cli, const double *scores)
{
    static const char *const names[] = {"clicks, without weights", "IPS", "SNIPS, per click"};
    struct rw_click_eval eval;
    RW_STEP(rw_dataset_read_side_column(cli->ctx, cli->dataset, "positions", positions));
    RW_STEP(rw_evaluate_clicks(cli->ctx, cli->dataset, scores, propensities, (uint32_t)top, clip,
                               &eval));
    const struct rw_click_estimate *const rows[] = {&eval.plain, &eval.ips, &eval.snips};
    json_t *estimates = json_array();
    for (int i = 0; i < 3; i++)
        rw_result_add(estimates, "estimate:s mean:n low:n high:n", names[i], rows[i]->mean,
                      rows[i]->low, rows[i]->high);
    rw_result_rows(NULL, estimates, "estimate;mean;low=2.5 %;high=97.5 %");
    rw_result_line("%llu clicks in %u queries, worth %.1f of equal weight; %llu clipped to %g",
                   (unsigned long long)eval.n_clicks, eval.n_queries, eval.effective,
                   (unsigned long long)eval.n_clipped, eval.clip);
    rw_result_line("%llu documents without propensity; they are %llu of the %llu at ranks 1 to %u",
                   (unsigned long long)eval.n_uncovered, (unsigned long long)eval.n_top_uncovered,
                   (unsigned long long)eval.n_top, eval.k);
    rw_result_print(
        cli, rw_result_row("estimates:O clicks:l queries:u effective:n clipped:l clip:n "
                           "uncovered:l top:l top_uncovered:l k:u",
                           estimates, eval.n_clicks, eval.n_queries, eval.effective, eval.n_clipped,
                           eval.clip, eval.n_uncovered, eval.n_top, eval.n_top_uncovered, eval.k));
    return 0;
}

static int check(struct rw_cli *cli)
{
    if (propensities && !positions)
        return rw_wrong(cli, "'--propensities' needs --positions FILE");
    if (!(clip >= 1.0))
        return rw_wrong(cli, "option '--clip': expected 1 or more, found %g", clip);
    if (!qrels && runs.n > 0)
        return rw_wrong(cli, "'--run' needs --qrels FILE");
    if (qrels && runs.n == 0)
        return rw_wrong(cli, "'--qrels' needs --run FILE...");
    if (qrels)
        return rw_load_check_qrels(cli, &like);
    if (cli->operands.n == 0)
        return rw_wrong(cli, "'eval' needs " OPERANDS);
    if (model && scores_file) {
        rw_msg_error("'--model' and '--scores' are both given; expected one of them");
        rw_msg_hint("rankwood compare DATA --a %s --b %s", model, scores_file);
        return RW_EXIT_USAGE;
    }
    if (!model && !scores_file)
        return rw_wrong(cli, "'eval' needs one of --model and --scores");
    if (scores_file)
        RW_STEP(rw_params_no_effect(cli->ctx, cli->params, "device", "with '--scores'"));
    if (like && all_programs)
        return rw_wrong(cli, "'--like' has no effect with '--audit', which shows all programs");
    return like ? rw_load_check_like(cli, like) : 0;
}

static int run(struct rw_cli *cli)
{
    static struct rw_eval *eval;
    static struct rw_audit *audit;
    double *scores;
    if (qrels)
        return run_runs(cli);
    RW_STEP(score(cli, &scores));
    if (propensities)
        return run_clicks(cli, scores);
    if (all_programs) {
        RW_STEP(rw_audit_new(cli->ctx, rw_params_eval(cli->params), cli->dataset, scores, &audit));
        print_audit(cli, audit);
        return 0;
    }
    RW_STEP(measure(cli, cli->dataset, scores, like ? like : "scores", &eval));
    RW_STEP(write_per_query(cli, cli->dataset, &eval, 1));
    print(cli, eval);
    return 0;
}

const struct rw_command rw_cmd_eval = {
    .name = "eval",
    .brief = "measure a model or a file of scores",
    .operands = OPERANDS "\n--qrels FILE --run FILE...",
    .about =
        "Measures a ranking. Prints the mean of each metric, the number of queries in this mean, "
        "and the number of queries without a relevant document.",
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " threads device ",
    .check = check,
    .run = run,
};
