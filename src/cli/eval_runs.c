/* eval of judgments and runs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"
#include "cli/qrels_files.h"

/* What is printed: a run each. */
struct measured {
    const struct rw_list *runs;
    const struct rw_qrels *qrels;
    struct rw_eval **eval; /* [runs->n] */
};

/* Adds a row for each metric, as CSV and people have it. */
static json_t *run_json(const struct measured *measured, int r, json_t *rows)
{
    const struct rw_eval *eval = measured->eval[r];
    const struct rw_qrels_run *run = &measured->qrels->runs[r];
    const char *name = measured->runs->text[r];
    for (int m = 0; m < eval->n_metrics; m++)
        json_array_append_new(rows, rw_result_row("run:s metric:s mean:n queries:u", name,
                                                  eval->metrics[m].name, eval->metrics[m].mean,
                                                  eval->metrics[m].n_counted));
    return rw_result_row("run:s metrics:o ranked:l unjudged:l unanswered:u unknown_lines:l", name,
                         rw_load_json_metrics(eval), run->n_ranked, run->n_unjudged,
                         run->n_unanswered, run->n_unknown);
}

static void print(const struct rw_cli *cli, const struct measured *measured)
{
    const struct rw_eval *first = measured->eval[0];
    const struct rw_qrels *qrels = measured->qrels;
    struct rw_result result = {0};
    json_t *runs = json_array(), *rows = json_array();
    for (int r = 0; r < measured->runs->n; r++)
        json_array_append_new(runs, run_json(measured, r, rows));
    result.document =
        rw_result_row("runs:o judged:l queries:u empty:u conventions:s", runs, qrels->n_judged,
                      first->n_queries, first->n_empty, first->conventions);
    rw_result_rows(&result, NULL, rows, "run;metric;mean;queries");
    rw_result_line(&result, "%llu judged documents in %u queries: %u empty (nothing relevant)",
                   (unsigned long long)qrels->n_judged, first->n_queries, first->n_empty);
    for (int r = 0; r < measured->runs->n; r++)
        rw_result_line(&result,
                       "%s: %llu documents ranked, %llu of them not judged (label 0); nothing for "
                       "%u queries",
                       measured->runs->text[r], (unsigned long long)qrels->runs[r].n_ranked,
                       (unsigned long long)qrels->runs[r].n_unjudged, qrels->runs[r].n_unanswered);
    rw_result_line(&result, "%s", first->conventions);
    rw_result_print(cli, &result, stdout);
}

/* A line a run and query: the values, "nan" where the query does not count. */
static int write_per_query(struct rw_cli *cli, const struct measured *measured, const char *path)
{
    const struct rw_eval *first = measured->eval[0];
    char figure[RW_FIGURE_ROOM];
    RW_STEP(rw_out_file_open(cli->ctx, &cli->out, path));
    FILE *out = cli->out.file;
    fputs("run\tqid", out);
    for (int m = 0; m < first->n_metrics; m++)
        fprintf(out, "\t%s", first->metrics[m].name);
    fputc('\n', out);
    for (int r = 0; r < measured->runs->n; r++) {
        for (uint32_t q = 0; q < first->n_queries; q++) {
            fprintf(out, "%s\t%s", measured->runs->text[r],
                    rw_dataset_query_id(measured->qrels->dataset, q));
            for (int m = 0; m < first->n_metrics; m++) {
                const double value = measured->eval[r]->metrics[m].per_query[q];
                if (!isnan(value))
                    rw_exact_text(value, figure);
                fprintf(out, "\t%s", isnan(value) ? "nan" : figure);
            }
            fputc('\n', out);
        }
    }
    return rw_out_file_commit(cli->ctx, &cli->out);
}

int rw_eval_runs(struct rw_cli *cli, const struct rw_eval_runs *wanted)
{
    static struct rw_qrels *qrels;
    static struct measured measured;
    const struct rw_eval_params *how = rw_params_eval(cli->params);
    RW_STEP(rw_qrels_files_read(cli, wanted->qrels, wanted->runs, &qrels));
    measured = (struct measured){wanted->runs, qrels,
                                 rw_need((size_t)wanted->runs->n, sizeof(struct rw_eval *))};
    for (int r = 0; r < wanted->runs->n; r++) {
        const double *scores = qrels->runs[r].scores;
        struct rw_eval **out = &measured.eval[r];
        RW_STEP(wanted->like
                    ? rw_evaluate_like(cli->ctx, how, qrels->dataset, scores, wanted->like, out)
                    : rw_evaluate(cli->ctx, how, qrels->dataset, scores, out));
        rw_load_warn_ties(measured.eval[r], wanted->runs->text[r],
                          wanted->like ? "" : RW_TIES_ADVICE);
    }
    if (wanted->per_query)
        RW_STEP(write_per_query(cli, &measured, wanted->per_query));
    print(cli, &measured);
    return 0;
}
