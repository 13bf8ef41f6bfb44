/* Two rankings of the same data: the difference of a metric, whether it may be chance, and
 * where it comes from. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"

enum { MOST_MOVED = 1000 };

/* A struct rw_comparison and what it owns. */
struct comparing {
    struct rw_comparison comparison; /* first: rw_comparison_free gets its address */
    struct rw_query_groups groups;
    struct rw_compared *group;       /* [groups.n] owned */
    struct rw_moved_query *moved;    /* [n_moved] owned */
    struct rw_eval *eval_a, *eval_b; /* owned; names and conventions are borrowed of them */
};

/* The queries that count, side by side. */
struct columns {
    double *a, *b, *weight; /* [n] owned */
    uint32_t *query;        /* [n] owned */
    uint32_t n;
};

static void columns_release(struct columns *columns)
{
    rw_mem_free(columns->a);
    rw_mem_free(columns->b);
    rw_mem_free(columns->weight);
    rw_mem_free(columns->query);
}

/* Weights as the metric's mean has them. */
static int weigh(struct rw_ctx *ctx, const struct rw_metric *metric,
                 const struct rw_dataset *dataset, struct columns *columns)
{
    struct rw_judgments judgments = {0};
    int64_t *weights = NULL;
    int status = RW_OK;
    RW_TRY_OUT(rw_judgments_init(ctx, &judgments, dataset, NULL, 0));
    RW_TRY_OUT(RW_NEW(ctx, weights, dataset->n_queries));
    rw_metric_weights(metric->kind, &judgments, weights);
    for (uint32_t i = 0; i < columns->n; i++)
        columns->weight[i] = (double)weights[columns->query[i]];
out:
    rw_mem_free(weights);
    rw_judgments_release(&judgments);
    return status;
}

static int make_columns(struct rw_ctx *ctx, const struct rw_metric *metric,
                        const struct rw_dataset *dataset, const double *a, const double *b,
                        struct columns *columns)
{
    const uint32_t n = dataset->n_queries;
    RW_TRY(RW_NEW(ctx, columns->a, n));
    RW_TRY(RW_NEW(ctx, columns->b, n));
    RW_TRY(RW_NEW(ctx, columns->weight, n));
    RW_TRY(RW_NEW(ctx, columns->query, n));
    for (uint32_t q = 0; q < n; q++) {
        if (a[q] != a[q] || b[q] != b[q])
            continue; /* empty: in both, for the labels are the same */
        columns->a[columns->n] = a[q];
        columns->b[columns->n] = b[q];
        columns->query[columns->n++] = q;
    }
    return weigh(ctx, metric, dataset, columns);
}

static int compare_columns(struct rw_ctx *ctx, const struct rw_metric *metric,
                           const struct columns *columns, uint64_t seed, const char *name,
                           struct rw_compared *out)
{
    const struct rw_metric_kind *kind = metric->kind;
    double *squares = NULL;
    struct rw_pairs pairs = {.n = columns->n,
                             .a = columns->a,
                             .b = columns->b,
                             .weight = columns->weight,
                             .root = kind->root,
                             .lower_is_better = kind->lower_is_better};
    if (kind->root) { /* a query's value is a root; what is averaged is its square */
        RW_TRY(RW_NEW(ctx, squares, (size_t)columns->n * 2));
        for (uint32_t i = 0; i < columns->n; i++) {
            squares[i] = columns->a[i] * columns->a[i];
            squares[columns->n + i] = columns->b[i] * columns->b[i];
        }
        pairs.a = squares;
        pairs.b = squares + columns->n;
    }
    const int status = rw_significance(ctx, &pairs, seed, out);
    out->name = name;
    rw_mem_free(squares);
    return status;
}

static int compare_groups(struct rw_ctx *ctx, const struct rw_metric *metric,
                          const struct columns *columns, uint64_t seed, struct comparing *made)
{
    struct columns part = {0};
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, made->group, made->groups.n));
    RW_TRY_OUT(RW_NEW(ctx, part.a, columns->n));
    RW_TRY_OUT(RW_NEW(ctx, part.b, columns->n));
    RW_TRY_OUT(RW_NEW(ctx, part.weight, columns->n));
    for (uint32_t g = 0; g < made->groups.n; g++) {
        part.n = 0;
        for (uint32_t i = 0; i < columns->n; i++) {
            if (made->groups.of[columns->query[i]] != g)
                continue;
            part.a[part.n] = columns->a[i];
            part.b[part.n] = columns->b[i];
            part.weight[part.n++] = columns->weight[i];
        }
        RW_TRY_OUT(
            compare_columns(ctx, metric, &part, seed, made->groups.name[g], &made->group[g]));
    }
    made->comparison.n_groups = (int)made->groups.n;
    made->comparison.groups = made->group;
out:
    columns_release(&part);
    return status;
}

/* By falling change, then in the order of the input. */
static int by_change(const void *a, const void *b)
{
    const struct rw_moved_query *x = a, *y = b;
    const double change_x = fabs(x->b - x->a), change_y = fabs(y->b - y->a);
    if (change_x != change_y)
        return change_x > change_y ? -1 : 1;
    return x->query < y->query ? -1 : x->query > y->query;
}

static int list_moved(struct rw_ctx *ctx, const struct columns *columns, struct comparing *made)
{
    uint32_t n = 0;
    RW_TRY(RW_NEW(ctx, made->moved, columns->n));
    for (uint32_t i = 0; i < columns->n; i++) {
        if (columns->a[i] != columns->b[i])
            made->moved[n++] =
                (struct rw_moved_query){columns->query[i], columns->a[i], columns->b[i]};
    }
    if (n > 1)
        qsort(made->moved, n, sizeof(*made->moved), by_change);
    made->comparison.n_moved = (int)(n < MOST_MOVED ? n : MOST_MOVED);
    made->comparison.moved = made->moved;
    return RW_OK;
}

/* program: NULL: by the parameters. */
static int evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const double *scores, const char *program,
                    struct rw_eval **out)
{
    return program ? rw_evaluate_like(ctx, how, dataset, scores, program, out)
                   : rw_evaluate(ctx, how, dataset, scores, out);
}

int rw_compare_like(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_dataset *dataset, const double *scores_a,
                    const double *scores_b, const char *groups, const char *program,
                    struct rw_comparison **out)
{
    RW_DEFAULT_FPENV;
    struct rw_metric metric[RW_MAX_METRICS];
    struct comparing *made = NULL;
    struct columns columns = {0};
    int n_metrics, status = RW_OK;
    *out = NULL;
    RW_TRY(rw_eval_metrics(ctx, how, metric, &n_metrics));
    if (n_metrics != 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'metric': expected one metric to compare, found %d",
                       n_metrics);
    if (program && dataset->weight)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "weights: rankings are compared as '%s' measures them without weights only",
                       program);
    RW_TRY_OUT(RW_NEW(ctx, made, 1));
    RW_TRY_OUT(evaluate(ctx, how, dataset, scores_a, program, &made->eval_a));
    RW_TRY_OUT(evaluate(ctx, how, dataset, scores_b, program, &made->eval_b));
    const struct rw_eval_metric *a = made->eval_a->metrics, *b = made->eval_b->metrics;
    struct rw_comparison *comparison = &made->comparison;
    comparison->metric = a->name;
    comparison->conventions = made->eval_a->conventions;
    comparison->lower_is_better = metric->kind->lower_is_better;
    comparison->ties_moved_a = a->ties_moved;
    comparison->ties_moved_b = b->ties_moved;
    comparison->n_samples = RW_BOOTSTRAP_SAMPLES;
    RW_TRY_OUT(make_columns(ctx, metric, dataset, a->per_query, b->per_query, &columns));
    RW_TRY_OUT(compare_columns(ctx, metric, &columns, how->seed, "", &comparison->all));
    if (groups) {
        RW_TRY_OUT(rw_query_groups_read(ctx, dataset, groups, &made->groups));
        RW_TRY_OUT(compare_groups(ctx, metric, &columns, how->seed, made));
    }
    RW_TRY_OUT(list_moved(ctx, &columns, made));
    /* The means are those that eval prints, to the last digit. */
    comparison->all.mean_a = a->mean;
    comparison->all.mean_b = b->mean;
    comparison->all.difference = b->mean - a->mean;
    *out = comparison;
    made = NULL;
out:
    columns_release(&columns);
    if (made)
        rw_comparison_free(&made->comparison);
    return status;
}

int rw_compare(struct rw_ctx *ctx, const struct rw_eval_params *how,
               const struct rw_dataset *dataset, const double *scores_a, const double *scores_b,
               const char *groups, struct rw_comparison **out)
{
    return rw_compare_like(ctx, how, dataset, scores_a, scores_b, groups, NULL, out);
}

void rw_comparison_free(struct rw_comparison *comparison)
{
    struct comparing *made = (struct comparing *)comparison;
    if (!made)
        return;
    rw_eval_free(made->eval_a);
    rw_eval_free(made->eval_b);
    rw_query_groups_release(&made->groups);
    rw_mem_free(made->group);
    rw_mem_free(made->moved);
    rw_mem_free(made);
}
