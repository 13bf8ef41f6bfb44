#include "evaluate/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "metric/dialect.h"

/* A struct rw_eval and what it owns: one block, and the queries' values. */
struct evaluation {
    struct rw_eval eval; /* first: rw_eval_free gets its address */
    struct rw_eval_metric metric[RW_MAX_METRICS];
    struct rw_metric parsed[RW_MAX_METRICS]; /* owns the names */
    double *values;                          /* [n_metrics][n_queries]; owned */
    char conventions[RW_MAX_METRICS * 256];
};

int rw_eval_metrics(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    struct rw_metric out[RW_MAX_METRICS], int *n)
{
    if (!how->metric || (unsigned)how->empty > RW_EMPTY_SKIP ||
        (unsigned)how->ties > RW_TIES_MEAN || !(how->relevant >= 0 && how->relevant <= 1e9))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "rw_eval_params: expected a metric, empty and ties of their enums, relevant "
                       "in [0, 1e9]");
    return rw_metrics_parse(ctx, how->metric, how->relevant, out, n);
}

int rw_eval_gains(struct rw_ctx *ctx, const struct rw_eval_params *how, struct rw_gain_rule *out)
{
    return rw_gain_rule_init(ctx, out, how->label_gain ? how->label_gain : "exp");
}

static int conventions_of(struct rw_ctx *ctx, const struct rw_eval_params *how, int is_qrels,
                          char *buffer, size_t size)
{
    struct rw_metric metrics[RW_MAX_METRICS];
    struct rw_gain_rule gains = {0};
    int n, uses_gain = 0;
    RW_TRY(rw_eval_metrics(ctx, how, metrics, &n));
    for (int i = 0; i < n; i++)
        uses_gain |= metrics[i].kind->uses_gain;
    if (uses_gain)
        RW_TRY(rw_eval_gains(ctx, how, &gains));
    rw_metrics_conventions(metrics, n, uses_gain ? &gains : NULL, how->empty, how->ties, is_qrels,
                           buffer, size);
    rw_gain_rule_release(&gains);
    return RW_OK;
}

int rw_eval_conventions(struct rw_ctx *ctx, const struct rw_eval_params *how, char *buffer,
                        size_t size)
{
    RW_DEFAULT_FPENV;
    return conventions_of(ctx, how, 0, buffer, size);
}

static int check_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset, const double *scores)
{
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        if (!isfinite(scores[i]) && !(dataset->is_qrels && scores[i] == RW_UNRANKED))
            return rw_fail(ctx, RW_ERR_DATA, "score %g of document %u: expected a finite number",
                           scores[i], i + 1);
    return RW_OK;
}

static int evaluate_metric(struct rw_ctx *ctx, const struct rw_eval_params *how,
                           const struct rw_judgments *judgments, const double *scores,
                           const struct rw_metric *metric, double *per_query,
                           struct rw_eval_metric *out, uint32_t *n_empty)
{
    const enum rw_empty empty = how->empty;
    const enum rw_ties ties = how->ties;
    struct rw_metric_result result, other;
    RW_TRY(rw_metric_eval(ctx, metric, judgments, scores, empty, ties, 0, per_query, &result));
    out->name = metric->name;
    out->mean = result.mean;
    out->n_counted = result.n_counted;
    out->per_query = per_query;
    *n_empty = result.n_empty;
    if (ties == RW_TIES_MEAN || metric->kind->by_document)
        return RW_OK; /* no order of ties moves it */
    RW_TRY(rw_metric_eval(ctx, metric, judgments, scores, empty, ties, 1, NULL, &other));
    if (result.mean == result.mean)
        out->ties_moved = other.mean - result.mean;
    return RW_OK;
}

/* Ours, by the parameters. */
static int evaluate_ours(struct rw_ctx *ctx, const struct rw_eval_params *how,
                         const struct rw_dataset *dataset, const double *scores,
                         struct evaluation *made, int n_metrics)
{
    int status = RW_OK, any_uses_gain = 0, ranked = 0;
    struct rw_judgments judgments = {0};
    struct rw_gain_rule gains = {0};
    for (int i = 0; i < n_metrics; i++)
        any_uses_gain |= made->parsed[i].kind->uses_gain;
    if (any_uses_gain)
        RW_TRY_OUT(rw_eval_gains(ctx, how, &gains));
    RW_TRY_OUT(rw_judgments_init(ctx, &judgments, dataset, &gains, any_uses_gain));
    for (int i = 0; i < n_metrics; i++) {
        uint32_t n_empty;
        RW_TRY_OUT(evaluate_metric(ctx, how, &judgments, scores, &made->parsed[i],
                                   made->values + (size_t)i * dataset->n_queries, &made->metric[i],
                                   &n_empty));
        /* Empty queries are those of the first metric that ranks. */
        if (!ranked && !made->parsed[i].kind->by_document) {
            made->eval.n_empty = n_empty;
            ranked = 1;
        }
    }
    /* training prints the same line */
    RW_TRY_OUT(
        conventions_of(ctx, how, dataset->is_qrels, made->conventions, sizeof(made->conventions)));
out:
    rw_judgments_release(&judgments);
    rw_gain_rule_release(&gains);
    return status;
}

/* As another program does, with a line of conventions for each metric. */
static int evaluate_theirs(struct rw_ctx *ctx, const struct rw_eval_params *how,
                           const struct rw_dataset *dataset, const double *scores,
                           const struct rw_dialect *dialect, struct evaluation *made, int n_metrics)
{
    const char *label_gain = how->label_gain;
    size_t at = 0;
    for (int i = 0; i < n_metrics; i++) {
        const struct rw_metric *metric = &made->parsed[i];
        const struct rw_dialect_metric *row;
        struct rw_dialect_value value;
        double *per_query = made->values + (size_t)i * dataset->n_queries;
        RW_TRY(
            rw_dialect_eval(ctx, dialect, metric, label_gain, dataset, scores, per_query, &value));
        made->metric[i] = (struct rw_eval_metric){.name = metric->name,
                                                  .mean = value.result.mean,
                                                  .ties_moved = value.ties_moved,
                                                  .n_counted = value.result.n_counted,
                                                  .per_query = per_query};
        if (i == 0)
            made->eval.n_empty = value.result.n_empty;
        RW_TRY(rw_dialect_metric_find(ctx, dialect, metric, &row));
        char line[224];
        rw_dialect_conventions(dialect, row, row->gain ? label_gain : NULL, metric->at, dataset,
                               line, sizeof(line));
        const size_t room = sizeof(made->conventions) - at;
        const int n = snprintf(made->conventions + at, room, "%s%s %s", i ? "\n" : "",
                               dialect->program, line);
        at += n > 0 && (size_t)n < room ? (size_t)n : 0;
    }
    return RW_OK;
}

/* What a run gives documents are no predictions of their labels. */
static int check_ranks(struct rw_ctx *ctx, const struct rw_metric *metric, int n_metrics)
{
    for (int i = 0; i < n_metrics; i++) {
        if (metric[i].kind->by_document)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "metric '%s' looks at scores, but a run says only how documents rank",
                           metric[i].name);
    }
    return RW_OK;
}

static int evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const double *scores,
                    const struct rw_dialect *dialect, struct rw_eval **out)
{
    *out = NULL;
    int status = RW_OK, n_metrics = 0;
    struct evaluation *made = NULL;
    RW_TRY_OUT(check_scores(ctx, dataset, scores));
    RW_TRY_OUT(RW_NEW(ctx, made, 1));
    RW_TRY_OUT(rw_eval_metrics(ctx, how, made->parsed, &n_metrics));
    if (dataset->is_qrels)
        RW_TRY_OUT(check_ranks(ctx, made->parsed, n_metrics));
    RW_TRY_OUT(RW_NEW(ctx, made->values, (size_t)n_metrics * dataset->n_queries));
    RW_TRY_OUT(dialect ? evaluate_theirs(ctx, how, dataset, scores, dialect, made, n_metrics)
                       : evaluate_ours(ctx, how, dataset, scores, made, n_metrics));
    struct rw_eval *eval = &made->eval;
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        eval->n_single += dataset->query_offset[q + 1] - dataset->query_offset[q] == 1;
    eval->n_queries = dataset->n_queries;
    eval->n_docs = dataset->n_docs;
    eval->n_metrics = n_metrics;
    eval->metrics = made->metric;
    eval->conventions = made->conventions;
    *out = eval;
    made = NULL;
out:
    if (made)
        rw_eval_free(&made->eval);
    return status;
}

int rw_evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                const struct rw_dataset *dataset, const double *scores, struct rw_eval **out)
{
    RW_DEFAULT_FPENV;
    return evaluate(ctx, how, dataset, scores, NULL, out);
}

int rw_evaluate_like(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_dataset *dataset, const double *scores, const char *program,
                     struct rw_eval **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_dialect *dialect;
    *out = NULL;
    RW_TRY(rw_dialect_find(ctx, program, &dialect));
    return evaluate(ctx, how, dataset, scores, dialect, out);
}

void rw_eval_free(struct rw_eval *eval)
{
    struct evaluation *made = (struct evaluation *)eval;
    if (!made)
        return;
    rw_mem_free(made->values);
    rw_mem_free(made);
}
