/* All dialects of a metric side by side, and what in the data makes them differ. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "metric/dialect.h"

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
