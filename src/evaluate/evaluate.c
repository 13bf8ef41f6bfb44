#include "evaluate/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "metric/metric.h"

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

/* All dialects of a metric side by side, and what in the data makes them differ. */
/* A struct rw_audit and what it owns. */
struct auditing {
    struct rw_audit audit;                   /* first: rw_audit_free gets its address */
    struct rw_audit_row *row;                /* [n_rows] owned */
    char (*text)[512];                       /* [n_rows] conventions or refusals; owned */
    struct rw_metric parsed[RW_MAX_METRICS]; /* owns the names */
};

const char *rw_like_at(int i)
{
    const struct rw_dialect *dialect = rw_dialect_at(i);
    return dialect ? dialect->name : NULL;
}

/* ------------------------------------------------------------------ the queries */

/* Do documents of different labels share a score? order: [n] room. */
static int is_tied(const float *label, const double *score, uint32_t n, uint32_t *order)
{
    rw_rank_query(score, n, 0, order);
    for (uint32_t r = 1; r < n; r++) {
        if (score[order[r]] == score[order[r - 1]] && label[order[r]] != label[order[r - 1]])
            return score[order[r]] != RW_UNRANKED;
    }
    return 0;
}

static int count_queries(struct rw_ctx *ctx, const struct rw_dataset *dataset, const double *scores,
                         struct rw_audit *audit)
{
    uint32_t longest = 0, *order = NULL;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t n = dataset->query_offset[q + 1] - dataset->query_offset[q];
        longest = n > longest ? n : longest;
    }
    RW_TRY(RW_NEW_RAW(ctx, order, longest));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        const float *label = dataset->label + begin;
        int positive = 0, falls = 0, rises = 0;
        for (uint32_t i = 0; i < n; i++) {
            positive |= label[i] > 0;
            falls |= i > 0 && label[i] < label[i - 1];
            rises |= i > 0 && label[i] > label[i - 1];
        }
        audit->n_empty += !positive;
        audit->n_single += n == 1;
        audit->n_falling += falls && !rises;
        audit->n_rising += rises && !falls;
        audit->n_tied += (uint32_t)is_tied(label, scores + begin, n, order);
    }
    rw_mem_free(order);
    audit->n_docs = dataset->n_docs;
    audit->n_queries = dataset->n_queries;
    return RW_OK;
}

/* ------------------------------------------------------------------ the rows */

/* The first line of the last error, without its hints. */
static void copy_error(const struct rw_ctx *ctx, char *buffer, size_t size)
{
    snprintf(buffer, size, "%s", rw_last_error(ctx));
    buffer[strcspn(buffer, "\n")] = 0;
}

static int add_theirs(struct rw_ctx *ctx, const struct rw_eval_params *how,
                      const struct rw_dataset *dataset, const double *scores,
                      const struct rw_dialect *dialect, const struct rw_metric *metric,
                      struct rw_audit_row *row, char *text, size_t size)
{
    const struct rw_dialect_metric *theirs;
    struct rw_dialect_value value;
    /* A gain that was asked for goes to those who let it be chosen. */
    const char *gain = how->label_gain;
    const int is_table = gain && strcmp(gain, "exp") != 0 && strcmp(gain, "linear") != 0;
    if (dialect->gain_choice < 1 + is_table)
        gain = NULL;
    *row = (struct rw_audit_row){.like = dialect->name,
                                 .program = dialect->program,
                                 .metric = metric->name,
                                 .mean = (double)NAN,
                                 .conventions = ""};
    int status = rw_dialect_metric_find(ctx, dialect, metric, &theirs);
    if (status >= 0)
        status = rw_dialect_eval(ctx, dialect, metric, gain, dataset, scores, NULL, &value);
    if (status == RW_ERR_ARGUMENT || status == RW_ERR_DATA) {
        copy_error(ctx, text, size);
        row->refused = text;
        return RW_OK;
    }
    RW_TRY(status);
    row->mean = value.result.mean;
    row->n_counted = value.result.n_counted;
    rw_dialect_conventions(dialect, theirs, theirs->gain ? gain : NULL, metric->at, dataset, text,
                           size);
    row->conventions = text;
    return RW_OK;
}

static int add_rows(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const double *scores,
                    const struct rw_eval *ours, struct auditing *made)
{
    for (int m = 0; m < ours->n_metrics; m++) {
        const struct rw_eval_metric *own = &ours->metrics[m];
        const struct rw_metric *metric = &made->parsed[m];
        int at = made->audit.n_rows++;
        struct rw_gain_rule gains = {0};
        if (metric->kind->uses_gain)
            RW_TRY(rw_eval_gains(ctx, how, &gains));
        rw_metrics_conventions(metric, 1, metric->kind->uses_gain ? &gains : NULL, how->empty,
                               how->ties, dataset->is_qrels, made->text[at], sizeof(*made->text));
        rw_gain_rule_release(&gains);
        made->row[at] = (struct rw_audit_row){.like = "rankwood",
                                              .program = "Rankwood",
                                              .metric = metric->name,
                                              .mean = own->mean,
                                              .n_counted = own->n_counted,
                                              .conventions = made->text[at]};
        for (int d = 0; rw_dialect_at(d); d++) {
            at = made->audit.n_rows++;
            RW_TRY(add_theirs(ctx, how, dataset, scores, rw_dialect_at(d), metric, &made->row[at],
                              made->text[at], sizeof(*made->text)));
        }
    }
    return RW_OK;
}

int rw_audit_new(struct rw_ctx *ctx, const struct rw_eval_params *how,
                 const struct rw_dataset *dataset, const double *scores, struct rw_audit **out)
{
    RW_DEFAULT_FPENV;
    struct auditing *made = NULL;
    struct rw_eval *ours = NULL;
    int status = RW_OK, n_dialects = 0, n_metrics;
    *out = NULL;
    while (rw_dialect_at(n_dialects))
        n_dialects++;
    RW_TRY_OUT(rw_evaluate(ctx, how, dataset, scores, &ours));
    RW_TRY_OUT(RW_NEW(ctx, made, 1));
    RW_TRY_OUT(rw_eval_metrics(ctx, how, made->parsed, &n_metrics));
    const size_t n_rows = (size_t)n_metrics * (size_t)(n_dialects + 1);
    RW_TRY_OUT(RW_NEW(ctx, made->row, n_rows));
    RW_TRY_OUT(RW_NEW(ctx, made->text, n_rows));
    RW_TRY_OUT(count_queries(ctx, dataset, scores, &made->audit));
    RW_TRY_OUT(add_rows(ctx, how, dataset, scores, ours, made));
    made->audit.rows = made->row;
    *out = &made->audit;
    made = NULL;
out:
    rw_eval_free(ours);
    if (made)
        rw_audit_free(&made->audit);
    return status;
}

void rw_audit_free(struct rw_audit *audit)
{
    struct auditing *made = (struct auditing *)audit;
    if (!made)
        return;
    rw_mem_free(made->row);
    rw_mem_free(made->text);
    rw_mem_free(made);
}
