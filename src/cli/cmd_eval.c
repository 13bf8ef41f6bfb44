/* rankwood eval: measures scores, a model's or a file's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/talk.h"

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

/* JSON knows no NaN: null. */
static json_t *number(double value)
{
    return isnan(value) ? json_null() : json_real(value);
}

static int print_json(const struct rw_eval *eval)
{
    json_t *metrics = json_array();
    for (int i = 0; i < eval->n_metrics; i++) {
        const struct rw_eval_metric *metric = &eval->metrics[i];
        json_array_append_new(metrics, json_pack("{s:s,s:o,s:I,s:o}", "metric", metric->name,
                                                 "mean", number(metric->mean), "queries",
                                                 (json_int_t)metric->n_counted, "ties_moved",
                                                 number(metric->ties_moved)));
    }
    json_t *all = json_pack(
        "{s:o,s:I,s:I,s:I,s:I,s:o}", "metrics", metrics, "documents", (json_int_t)eval->n_docs,
        "queries", (json_int_t)eval->n_queries, "empty", (json_int_t)eval->n_empty, "single",
        (json_int_t)eval->n_single, "conventions", rw_load_json_text(eval->conventions));
    const int result = all ? json_dumpf(all, stdout, JSON_INDENT(1)) : -1;
    json_decref(all);
    putchar('\n');
    return result;
}

/* A line a query: its id and the metrics' values, "nan" where the query does not count. */
static int write_per_query(const char *path, const struct rw_dataset *dataset,
                           const struct rw_eval *eval)
{
    struct rw_output output;
    char figure[RW_FIGURE_ROOM];
    if (rw_output_open(&output, path) < 0)
        return -1;
    fputs("qid", output.file);
    for (int m = 0; m < eval->n_metrics; m++)
        fprintf(output.file, "\t%s", eval->metrics[m].name);
    fputc('\n', output.file);
    for (uint32_t q = 0; q < eval->n_queries; q++) {
        fputs(rw_dataset_query_id(dataset, q), output.file);
        for (int m = 0; m < eval->n_metrics; m++) {
            const double value = eval->metrics[m].per_query[q];
            if (!isnan(value))
                rw_load_exact(value, figure);
            fprintf(output.file, "\t%s", isnan(value) ? "nan" : figure);
        }
        fputc('\n', output.file);
    }
    return rw_output_commit(&output);
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

static int print_audit_json(const struct rw_audit *audit)
{
    json_t *rows = json_array();
    for (int i = 0; i < audit->n_rows; i++) {
        const struct rw_audit_row *row = &audit->rows[i];
        json_array_append_new(
            rows, json_pack("{s:s,s:s,s:s,s:o,s:I,s:o,s:o}", "like", row->like, "program",
                            row->program, "metric", row->metric, "mean", number(row->mean),
                            "queries", (json_int_t)row->n_counted, "conventions",
                            rw_load_json_text(row->conventions), "refused",
                            row->refused ? rw_load_json_text(row->refused) : json_null()));
    }
    json_t *all = json_pack(
        "{s:o,s:I,s:I,s:I,s:I,s:I,s:I,s:I}", "rows", rows, "documents", (json_int_t)audit->n_docs,
        "queries", (json_int_t)audit->n_queries, "empty", (json_int_t)audit->n_empty, "single",
        (json_int_t)audit->n_single, "tied", (json_int_t)audit->n_tied, "labels_falling",
        (json_int_t)audit->n_falling, "labels_rising", (json_int_t)audit->n_rising);
    const int result = all ? json_dumpf(all, stdout, JSON_INDENT(1)) : -1;
    json_decref(all);
    putchar('\n');
    return result;
}

struct request {
    const char *model, *scores, *per_query, *like, *trees;
    int json, audit;
};

/* What is scored with, before the data is read, which may take long. -1, or the exit code. */
static int open_model(const struct rw_usage *usage, struct rw_said *said,
                      const struct request *request, struct rw_model **model,
                      struct rw_predictor **predictor)
{
    int n_trees, status = rw_load_model(said->ctx, request->model, model);
    if (status >= 0) {
        const int code = rw_load_n_trees(usage, *model, request->trees, &n_trees);
        if (code != 0)
            return code;
        status = rw_predictor_open(said->ctx, *model, n_trees,
                                   rw_params_get(said->params, "device"), predictor);
    }
    return status < 0 ? rw_talk_failed(said->ctx, status, "eval") : -1;
}

/* Reads the data and gives each document its score, [n_docs]. */
static int score(const struct rw_usage *usage, struct rw_said *said, const struct request *request,
                 struct rw_dataset **dataset, double **scores)
{
    struct rw_ctx *ctx = said->ctx;
    struct rw_model *model = NULL;
    struct rw_predictor *predictor = NULL;
    int status, code = request->model ? open_model(usage, said, request, &model, &predictor) : -1;
    if (code >= 0)
        goto out;
    status = rw_load_weighted(said, &said->operands, dataset);
    if (status >= 0) {
        const uint32_t n_docs = rw_dataset_n_docs(*dataset);
        const double start = rw_progress_clock();
        *scores = calloc((size_t)n_docs + 1, sizeof(**scores));
        if (!*scores) {
            rw_talk_out_of_memory();
            code = RW_EXIT_FAILURE;
            goto out;
        }
        status = predictor ? rw_predictor_run(predictor, *dataset, *scores)
                           : rw_load_scores(ctx, *dataset, request->scores, *scores);
        if (status >= 0)
            rw_load_stage("scores", (rw_progress_clock() - start) * 1e3, rw_load_peak_bytes());
    }
    if (status >= 0 && model) {
        uint32_t n_missing, n_unknown;
        rw_model_unmatched(model, *dataset, &n_missing, &n_unknown);
        rw_load_warn_unmatched(n_missing, n_unknown);
    }
    if (status < 0)
        code = rw_talk_failed(ctx, status, "eval");
out:
    rw_predictor_close(predictor);
    rw_model_free(model);
    return code;
}

static int audit(struct rw_said *said, const struct request *request,
                 const struct rw_dataset *dataset, const double *scores)
{
    struct rw_audit *made = NULL;
    const int status =
        rw_audit_new(said->ctx, rw_params_eval(said->params), dataset, scores, &made);
    if (status < 0)
        return rw_talk_failed(said->ctx, status, "eval");
    int code = RW_EXIT_OK;
    if (!request->json)
        print_audit(made);
    else if (print_audit_json(made) < 0)
        code = RW_EXIT_FAILURE;
    rw_audit_free(made);
    return code;
}

static int measure(const struct rw_usage *usage, struct rw_said *said,
                   const struct request *request)
{
    struct rw_dataset *dataset = NULL;
    struct rw_eval *eval = NULL;
    double *scores = NULL;
    int code = score(usage, said, request, &dataset, &scores);
    if (code < 0 && request->audit)
        code = audit(said, request, dataset, scores);
    if (code >= 0)
        goto out;
    const int status = request->like ? rw_evaluate_like(said->ctx, rw_params_eval(said->params),
                                                        dataset, scores, request->like, &eval)
                                     : rw_evaluate(said->ctx, rw_params_eval(said->params), dataset,
                                                   scores, &eval);
    if (status < 0) {
        code = rw_talk_failed(said->ctx, status, "eval");
        goto out;
    }
    for (int i = 0; request->like && i < eval->n_metrics; i++) {
        if (fabs(eval->metrics[i].ties_moved) > 0.001)
            rw_talk_warn("%s: with tied documents in the opposite order, %s would move by %+.6f",
                         request->like, eval->metrics[i].name, eval->metrics[i].ties_moved);
    }
    if (!request->like)
        rw_load_warn_ties(eval, "");
    code = RW_EXIT_FAILURE;
    if (request->per_query && write_per_query(request->per_query, dataset, eval) < 0)
        goto out;
    code = RW_EXIT_OK;
    if (!request->json)
        print_table(eval);
    else if (print_json(eval) < 0)
        code = RW_EXIT_FAILURE;
out:
    free(scores);
    rw_eval_free(eval);
    rw_dataset_free(dataset);
    return code;
}

/* Options that have no effect under others. -1, or the exit code. */
static int check_like(const struct rw_usage *usage, const struct rw_said *said,
                      const struct request *request)
{
    static const char *const ours[] = {"empty", "ties", "relevant"};
    if (request->like && request->audit)
        return rw_options_wrong(usage, "'--like' has no effect with '--audit': it has all of them");
    if (request->per_query && request->audit)
        return rw_options_wrong(usage, "'--per-query' has no effect with '--audit'");
    for (int i = 0; request->like && i < 3; i++) {
        if (rw_params_origin(said->params, ours[i]) == RW_PARAM_SET)
            return rw_options_wrong(
                usage, "'--%s' has no effect with '--like': the program's conventions decide",
                ours[i]);
    }
    for (int i = 0; request->like; i++) {
        const char *name = rw_like_at(i);
        if (name && strcmp(name, request->like) == 0)
            break;
        if (!name) { /* the library's own words, before the data is read */
            struct rw_eval *none;
            return rw_talk_failed(said->ctx,
                                  rw_evaluate_like(said->ctx, rw_params_eval(said->params), NULL,
                                                   NULL, request->like, &none),
                                  "eval");
        }
    }
    return -1;
}

static int check(const struct rw_usage *usage, struct rw_said *said, struct request *request)
{
    if (!request->model == !request->scores)
        return rw_options_wrong(usage, "'eval' needs one of --model and --scores");
    if (request->scores && request->trees)
        return rw_options_wrong(usage, "'--trees' has no effect with '--scores'");
    if (request->scores && rw_params_must_matter(said->params, "device"))
        return rw_options_wrong(usage, "'--device' has no effect with '--scores'");
    const int wrong = check_like(usage, said, request);
    if (wrong >= 0)
        return wrong;
    const char *weights = rw_params_get(said->params, "weights");
    const char *others[] = {request->model, request->scores, weights};
    const struct rw_list lists[] = {said->operands, {others, 3}};
    const int code = rw_options_check_files(usage, lists, 2, request->per_query);
    if (code != 0)
        return code;
    const int status = rw_params_check_eval(said->ctx, said->params);
    if (status < 0)
        return rw_talk_failed(said->ctx, status, "eval");
    if (request->per_query && rw_output_check(request->per_query) < 0)
        return RW_EXIT_FAILURE;
    return -1;
}

int rw_cmd_eval(int argc, char **argv)
{
    struct request request = {0};
    const struct rw_option options[] = {
        {"model", 0, "MODEL", "measure this model's scores", RW_OPTION_TEXT, &request.model},
        {"scores", 0, "FILE", "measure these: a number a line, or a TREC run", RW_OPTION_TEXT,
         &request.scores},
        {"trees", 0, "N", "measure the scores of the model's first N trees [default: all]",
         RW_OPTION_TEXT, &request.trees},
        {"per-query", 0, "FILE", "write each query's values, separated by tabs", RW_OPTION_TEXT,
         &request.per_query},
        {"like", 0, "PROGRAM",
         "the figures that lightgbm, xgboost, xgboost-, catboost, ranklib, quickrank, ydf, trec, "
         "gdeval or ranx would print",
         RW_OPTION_TEXT, &request.like},
        {"audit", 0, NULL, "all programs' figures side by side, and what makes them differ",
         RW_OPTION_FLAG, &request.audit},
        {"json", 0, NULL, "print as JSON, every digit", RW_OPTION_FLAG, &request.json},
        {0},
    };
    const struct rw_usage usage = {
        .command = "eval",
        .operands = "DATA... (--model MODEL | --scores FILE)",
        .about = "Measures a ranking: the mean of each metric over the queries that count, and "
                 "what was counted.",
        .least = 1,
        .most = -1,
        .options = options,
        .params = " metric empty ties label-gain relevant weights threads device ",
    };
    struct rw_said said;
    int code = rw_options_parse(&usage, argc, argv, &said);
    if (code < 0)
        code = check(&usage, &said, &request);
    if (code < 0)
        code = measure(&usage, &said, &request);
    rw_options_release(&usage, &said);
    return code;
}
