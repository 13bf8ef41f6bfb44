/* rankwood eval: measures scores, a model's or a file's. */
#include <math.h>
#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"
#include "cli/progress.h"
#include "cli/qrels_files.h"

static const char *model, *scores_file, *per_query, *like, *trees, *qrels;
static struct rw_list runs;
static int json, all_programs;
#define OPERANDS "DATA... (--model MODEL | --scores FILE)"
static const struct rw_option options[] = {
    {"model", 0, "MODEL", "measure this model's scores", RW_OPTION_INPUT, .value = &model},
    {"scores", 0, "FILE", "measure these: a number a line, or a TREC run", RW_OPTION_INPUT,
     .value = &scores_file},
    {"qrels", 0, "FILE",
     "measure runs by these judgments in place of DATA: TREC's 'query iteration document label' "
     "lines. Ideals are of all judged documents; as --like trec does, unless that is given",
     RW_OPTION_INPUT, .value = &qrels},
    {"run", 0, "FILE...", "with --qrels: TREC runs, 'query Q0 document rank score tag' lines",
     RW_OPTION_INPUTS_BEHIND, .value = &runs},
    {"trees", 0, "N", "measure the scores of the model's first N trees [default: all]",
     RW_OPTION_TEXT, .value = &trees},
    {"per-query", 0, "FILE", "write each query's values, separated by tabs", RW_OPTION_OUTPUT,
     .value = &per_query},
    {"like", 0, "PROGRAM",
     "the figures that lightgbm, xgboost, xgboost-, catboost, ranklib, quickrank, ydf, trec, "
     "gdeval or ranx would print; with --qrels, rankwood's own, too",
     RW_OPTION_TEXT, .value = &like},
    {"audit", 0, NULL, "all programs' figures side by side, and what makes them differ",
     RW_OPTION_FLAG, .value = &all_programs},
    {"json", 0, NULL, "print as JSON, every digit", RW_OPTION_FLAG, .value = &json},
    {0},
};

static int widest(const struct rw_eval *eval)
{
    int width = 6;
    for (int i = 0; i < eval->n_metrics; i++) {
        if ((int)strlen(eval->metrics[i].name) > width)
            width = (int)strlen(eval->metrics[i].name);
    }
    return width;
}

static void print_table(const struct rw_eval *eval)
{
    char figure[RW_FIGURE_ROOM];
    const int width = widest(eval);
    printf("%-*s  %10s  %8s\n", width, "metric", "mean", "queries");
    for (int i = 0; i < eval->n_metrics; i++)
        printf("%-*s  %10s  %8u\n", width, eval->metrics[i].name,
               rw_load_figure(eval->metrics[i].mean, figure), eval->metrics[i].n_counted);
    printf("\n%u documents in %u queries: %u empty (nothing relevant), %u of one document\n"
           "%s\n",
           eval->n_docs, eval->n_queries, eval->n_empty, eval->n_single, eval->conventions);
}

static void print_json(const struct rw_eval *eval)
{
    json_t *metrics = json_array();
    for (int i = 0; i < eval->n_metrics; i++) {
        const struct rw_eval_metric *metric = &eval->metrics[i];
        json_array_append_new(metrics,
                              json_pack("{s:s,s:o,s:I,s:o}", "metric", metric->name, "mean",
                                        rw_load_json_number(metric->mean), "queries",
                                        (json_int_t)metric->n_counted, "ties_moved",
                                        rw_load_json_number(metric->ties_moved)));
    }
    rw_load_json_print(json_pack("{s:o,s:I,s:I,s:I,s:I,s:o}", "metrics", metrics, "documents",
                                 (json_int_t)eval->n_docs, "queries", (json_int_t)eval->n_queries,
                                 "empty", (json_int_t)eval->n_empty, "single",
                                 (json_int_t)eval->n_single, "conventions",
                                 rw_load_json_text(eval->conventions)),
                       stdout);
}

/* A line a query: its id and the metrics' values, "nan" where the query does not count. */
static int write_per_query(struct rw_cli *cli, const struct rw_eval *eval)
{
    char figure[RW_FIGURE_ROOM];
    RW_STEP(rw_out_file_open(cli->ctx, &cli->out, per_query));
    FILE *out = cli->out.file;
    fputs("qid", out);
    for (int m = 0; m < eval->n_metrics; m++)
        fprintf(out, "\t%s", eval->metrics[m].name);
    fputc('\n', out);
    for (uint32_t q = 0; q < eval->n_queries; q++) {
        fputs(rw_dataset_query_id(cli->dataset, q), out);
        for (int m = 0; m < eval->n_metrics; m++) {
            const double value = eval->metrics[m].per_query[q];
            if (!isnan(value))
                rw_exact_text(value, figure);
            fprintf(out, "\t%s", isnan(value) ? "nan" : figure);
        }
        fputc('\n', out);
    }
    return rw_out_file_commit(cli->ctx, &cli->out);
}

/* All programs' figures, those of one metric together. */
static void print_audit(const struct rw_audit *audit)
{
    char figure[RW_FIGURE_ROOM];
    int width = 6;
    for (int i = 0; i < audit->n_rows; i++) {
        const int n = (int)strlen(audit->rows[i].metric);
        width = n > width ? n : width;
    }
    printf("%-12s  %-*s  %10s  %8s  what is counted\n", "program", width, "metric", "mean",
           "queries");
    for (int i = 0; i < audit->n_rows; i++) {
        const struct rw_audit_row *row = &audit->rows[i];
        if (row->refused)
            printf("%-12s  %-*s  %10s  %8s  %s\n", row->program, width, row->metric, "-", "-",
                   row->refused);
        else
            printf("%-12s  %-*s  %10s  %8u  %s\n", row->program, width, row->metric,
                   rw_load_figure(row->mean, figure), row->n_counted, row->conventions);
    }
    printf("\n%u documents in %u queries: %u empty (no label over 0), %u of one document, %u with "
           "tied scores of different labels\n"
           "queries sorted by label in the input: %u from high to low, %u from low to high\n",
           audit->n_docs, audit->n_queries, audit->n_empty, audit->n_single, audit->n_tied,
           audit->n_falling, audit->n_rising);
}

static void print_audit_json(const struct rw_audit *audit)
{
    json_t *rows = json_array();
    for (int i = 0; i < audit->n_rows; i++) {
        const struct rw_audit_row *row = &audit->rows[i];
        json_array_append_new(
            rows, json_pack("{s:s,s:s,s:s,s:o,s:I,s:o,s:o}", "like", row->like, "program",
                            row->program, "metric", row->metric, "mean",
                            rw_load_json_number(row->mean), "queries", (json_int_t)row->n_counted,
                            "conventions", rw_load_json_text(row->conventions), "refused",
                            row->refused ? rw_load_json_text(row->refused) : json_null()));
    }
    rw_load_json_print(json_pack("{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "rows", rows, "documents",
                                 (json_int_t)audit->n_docs, "queries", (json_int_t)audit->n_queries,
                                 "empty", (json_int_t)audit->n_empty, "single",
                                 (json_int_t)audit->n_single, "tied", (json_int_t)audit->n_tied,
                                 "labels_falling", (json_int_t)audit->n_falling, "labels_rising",
                                 (json_int_t)audit->n_rising),
                       stdout);
}

/* Reads the data, and scores each document: *scores, [n_docs]. The model is read first: reading the
 * data may take long. */
static int score(struct rw_cli *cli, double **scores)
{
    int n_trees;
    if (model) {
        RW_STEP(rw_load_model(cli, model, &cli->model));
        RW_STEP(rw_load_n_trees(cli, trees, &n_trees));
        RW_STEP(rw_predictor_open(cli->ctx, cli->model, n_trees,
                                  rw_params_get(cli->params, "device"), &cli->predictor));
    }
    RW_STEP(rw_load_weighted(cli, &cli->operands));
    const double start = rw_progress_clock();
    *scores = rw_need(rw_dataset_n_docs(cli->dataset), sizeof(**scores));
    RW_STEP(model ? rw_predictor_run(cli->predictor, cli->dataset, *scores)
                  : rw_load_scores(cli, scores_file, *scores));
    rw_load_stage_since("scores", start);
    if (model)
        rw_load_warn_lacking(cli);
    return 0;
}

static int audit(struct rw_cli *cli, const double *scores)
{
    struct rw_audit *made;
    RW_STEP(rw_audit_new(cli->ctx, rw_params_eval(cli->params), cli->dataset, scores, &made));
    if (json)
        print_audit_json(made);
    else
        print_audit(made);
    rw_audit_free(made);
    return 0;
}

static int check_runs(struct rw_cli *cli)
{
    const char *const no_effect[] = {model ? "model" : NULL, scores_file ? "scores" : NULL,
                                     trees ? "trees" : NULL, all_programs ? "audit" : NULL};
    if (!qrels)
        return rw_wrong(cli, "'--run' needs --qrels FILE");
    if (runs.n == 0)
        return rw_wrong(cli, "'--qrels' needs --run FILE...");
    for (int i = 0; i < 4; i++) {
        if (no_effect[i])
            return rw_wrong(cli, "'--%s' has no effect with '--qrels'", no_effect[i]);
    }
    return rw_qrels_files_check(cli, &like);
}

static int check(struct rw_cli *cli)
{
    if (qrels || runs.n > 0)
        return check_runs(cli);
    if (cli->operands.n == 0)
        return rw_wrong(cli, "'eval' needs " OPERANDS);
    if (model && scores_file) {
        rw_msg_error("'--model' and '--scores' are both given; expected one of them");
        rw_msg_hint("rankwood compare DATA --a %s --b %s", model, scores_file);
        return RW_EXIT_USAGE;
    }
    if (!model && !scores_file)
        return rw_wrong(cli, "'eval' needs one of --model and --scores");
    if (scores_file && trees)
        return rw_wrong(cli, "'--trees' has no effect with '--scores'");
    if (scores_file)
        RW_STEP(rw_params_no_effect(cli->ctx, cli->params, "device", "with '--scores'"));
    if (like && all_programs)
        return rw_wrong(cli, "'--like' has no effect with '--audit': it has all of them");
    if (per_query && all_programs)
        return rw_wrong(cli, "'--per-query' has no effect with '--audit'");
    return like ? rw_load_check_like(cli, like) : 0;
}

static int run(struct rw_cli *cli)
{
    static double *scores;
    static struct rw_eval *eval;
    if (qrels) {
        const struct rw_eval_runs wanted = {qrels, like, &runs, per_query, json};
        return rw_eval_runs(cli, &wanted);
    }
    RW_STEP(score(cli, &scores));
    if (all_programs)
        return audit(cli, scores);
    const struct rw_eval_params *how = rw_params_eval(cli->params);
    RW_STEP(like ? rw_evaluate_like(cli->ctx, how, cli->dataset, scores, like, &eval)
                 : rw_evaluate(cli->ctx, how, cli->dataset, scores, &eval));
    rw_load_warn_ties(eval, like ? like : "scores", like ? "" : RW_TIES_ADVICE);
    if (per_query)
        RW_STEP(write_per_query(cli, eval));
    if (json)
        print_json(eval);
    else
        print_table(eval);
    return 0;
}

const struct rw_command rw_cmd_eval = {
    .name = "eval",
    .brief = "measure a model, or a file of scores",
    .operands = OPERANDS "\n--qrels FILE --run FILE...",
    .about = "Measures a ranking: the mean of each metric over the queries that count, and what "
             "was counted.",
    .most = -1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " threads device ",
    .check = check,
    .run = run,
};
