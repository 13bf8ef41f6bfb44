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

static int wider(int width, const char *text)
{
    const int n = (int)strlen(text);
    return n > width ? n : width;
}

static void print_table(const struct measured *measured)
{
    const struct rw_eval *first = measured->eval[0];
    const struct rw_qrels *qrels = measured->qrels;
    char figure[RW_FIGURE_ROOM];
    int width = 3, name_width = 6;
    for (int r = 0; r < measured->runs->n; r++)
        width = wider(width, measured->runs->text[r]);
    for (int m = 0; m < first->n_metrics; m++)
        name_width = wider(name_width, first->metrics[m].name);
    printf("%-*s  %-*s  %10s  %8s\n", width, "run", name_width, "metric", "mean", "queries");
    for (int r = 0; r < measured->runs->n; r++) {
        for (int m = 0; m < first->n_metrics; m++) {
            const struct rw_eval_metric *metric = &measured->eval[r]->metrics[m];
            printf("%-*s  %-*s  %10s  %8u\n", width, measured->runs->text[r], name_width,
                   metric->name, rw_load_figure(metric->mean, figure), metric->n_counted);
        }
    }
    printf("\n%llu judged documents in %u queries: %u empty (nothing relevant)\n",
           (unsigned long long)qrels->n_judged, first->n_queries, first->n_empty);
    for (int r = 0; r < measured->runs->n; r++)
        printf("%s: %llu documents ranked, %llu of them not judged (label 0); nothing for %u "
               "queries\n",
               measured->runs->text[r], (unsigned long long)qrels->runs[r].n_ranked,
               (unsigned long long)qrels->runs[r].n_unjudged, qrels->runs[r].n_unanswered);
    printf("%s\n", first->conventions);
}

static json_t *run_json(const struct measured *measured, int r)
{
    const struct rw_eval *eval = measured->eval[r];
    const struct rw_qrels_run *run = &measured->qrels->runs[r];
    json_t *metrics = json_array();
    for (int m = 0; m < eval->n_metrics; m++)
        json_array_append_new(metrics,
                              json_pack("{s:s,s:o,s:I}", "metric", eval->metrics[m].name, "mean",
                                        rw_load_json_number(eval->metrics[m].mean), "queries",
                                        (json_int_t)eval->metrics[m].n_counted));
    return json_pack("{s:o,s:o,s:I,s:I,s:I,s:I}", "run", rw_load_json_text(measured->runs->text[r]),
                     "metrics", metrics, "ranked", (json_int_t)run->n_ranked, "unjudged",
                     (json_int_t)run->n_unjudged, "unanswered", (json_int_t)run->n_unanswered,
                     "unknown_lines", (json_int_t)run->n_unknown);
}

static void print_json(const struct measured *measured)
{
    const struct rw_eval *first = measured->eval[0];
    json_t *runs = json_array();
    for (int r = 0; r < measured->runs->n; r++)
        json_array_append_new(runs, run_json(measured, r));
    rw_load_json_print(json_pack("{s:o,s:I,s:I,s:I,s:o}", "runs", runs, "judged",
                                 (json_int_t)measured->qrels->n_judged, "queries",
                                 (json_int_t)first->n_queries, "empty", (json_int_t)first->n_empty,
                                 "conventions", rw_load_json_text(first->conventions)),
                       stdout);
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
    if (wanted->json)
        print_json(&measured);
    else
        print_table(&measured);
    return 0;
}
