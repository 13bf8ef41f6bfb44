/* Metrics on the device against rw_metric_eval. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_lambda.h"
#include "gpu/metric/metric_cuda.h"
#include "gpu/device/device.h"

static const char *const metric_names[] = {
    "ndcg",  "ndcg@1", "ndcg@10", "ndcg@5000", "dcg",  "dcg@3",     "map",     "map@10", "mrr",
    "mrr@3", "err",    "err@10",  "p@1",       "p@10", "recall@10", "rbp:0.8", "rmse",   "logloss"};

/* The names that the case takes: err over whole lists takes n^2 steps where ties are averaged.
 * first: the index of the first one, which is a mean over queries. */
static int choose_metrics(struct lambda_run *run, const struct lambda_set *set, enum rw_ties ties,
                          double relevant, int first, struct rw_metric *metric)
{
    int n = 0;
    for (int m = 0; m < LENGTH(metric_names); m++) {
        const char *name = metric_names[(first + m) % LENGTH(metric_names)];
        if (ties == RW_TIES_MEAN && set->longest > 3000 && strcmp(name, "err") == 0)
            continue;
        if (rw_metric_parse(run->ctx, name, relevant, &metric[n++]) < 0)
            abort();
    }
    return n;
}

static int same_double(double a, double b)
{
    return memcmp(&a, &b, sizeof(a)) == 0 || (a != a && b != b);
}

static void compare_metrics(struct lambda_run *run, const struct rw_metric_plan *plan,
                            const double *scores, int measured, const struct rw_metric_result *got,
                            const char *what)
{
    int all_good = 1;
    for (int m = 0; m < plan->n_metrics; m++) {
        struct rw_metric_result want;
        char text[200];
        const int status = rw_metric_eval(run->ctx, &plan->metric[m], plan->judgments, scores,
                                          plan->empty, plan->ties, 0, NULL, &want);
        all_good = all_good && status >= 0;
        if (!measured || status < 0)
            continue;
        if (same_double(want.mean, got[m].mean) && want.n_counted == got[m].n_counted &&
            want.n_empty == got[m].n_empty) {
            run->n_equal++;
            continue;
        }
        snprintf(text, sizeof(text), "%s is %.17g (%u, %u), expected %.17g (%u, %u)",
                 plan->metric[m].name, got[m].mean, got[m].n_counted, got[m].n_empty, want.mean,
                 want.n_counted, want.n_empty);
        lambda_failed(run, what, text);
    }
    if (all_good != measured)
        lambda_failed(run, what,
                      measured ? "a mean that is too large" : "left to the host without need");
    else if (!measured)
        run->n_refused++;
}

/* Compares the values of queries of the plan's first metric. got: [n_queries]. */
static void compare_queries(struct lambda_run *run, const struct rw_metric_plan *plan,
                            const double *scores, const double *got, const char *what)
{
    const uint32_t n = plan->judgments->n_queries;
    struct rw_metric_result mean;
    double *want = malloc((n + 1) * sizeof(*want));
    if (!want || rw_metric_eval(run->ctx, &plan->metric[0], plan->judgments, scores, plan->empty,
                                plan->ties, 0, want, &mean) < 0)
        abort();
    uint32_t q = 0;
    while (q < n && same_double(want[q], got[q]))
        q++;
    if (q < n) {
        char text[200];
        snprintf(text, sizeof(text), "%s of query %u is %.17g, expected %.17g",
                 plan->metric[0].name, q, got[q], want[q]);
        lambda_failed(run, what, text);
    }
    free(want);
}

void lambda_check_metrics(struct lambda_run *run, struct lambda_set *set, enum lambda_scores scores,
                          enum rw_empty empty, enum rw_ties ties, double relevant)
{
    const struct rw_gain_rule gains = {.kind = RW_GAIN_EXP};
    struct rw_metric metric[LENGTH(metric_names)];
    struct rw_metric_result got[LENGTH(metric_names)];
    struct rw_judgments judgments;
    struct rw_cuda_metrics *metrics = NULL;
    double *per_query = malloc((set->data.n_queries + 1) * sizeof(*per_query));
    void *d_score = NULL;
    char what[200];
    if (run->dead)
        return;
    snprintf(what, sizeof(what),
             "%u queries, %u documents, scores %d, empty %d, ties %d, relevant %g",
             set->data.n_queries, set->data.n_docs, (int)scores, (int)empty, (int)ties, relevant);
    const int first = ((int)scores + 3 * (int)empty + 5 * (int)ties) % 12;
    const int n = choose_metrics(run, set, ties, relevant, first, metric);
    if (!per_query || rw_judgments_init(run->ctx, &judgments, &set->data, &gains, 1) < 0)
        abort();
    const struct rw_metric_plan plan = {&judgments, metric, n, empty, ties, 1};
    int status = rw_cuda_metrics_new(run->ctx, run->device, &plan, &metrics);
    if (status >= 0)
        status = rw_device_alloc(run->ctx, &d_score, set->data.n_docs * sizeof(double));
    for (int turn = 0; turn < 2 && status >= 0; turn++) {
        lambda_set_scores(set, (enum lambda_scores)((scores + turn) % N_SCORES), run->seed);
        memset(got, 0xA5, sizeof(got));
        status =
            rw_transfer_write(run->device, d_score, set->score, set->data.n_docs * sizeof(double));
        if (status >= 0)
            status = rw_cuda_metrics_run(metrics, d_score, run->device->stream);
        if (status >= 0)
            status = rw_cuda_metrics_read(metrics, got);
        if (status >= 0)
            compare_metrics(run, &plan, set->score, status, got, what);
        if (status <= 0)
            continue;
        status = rw_cuda_metrics_read_queries(metrics, per_query);
        if (status >= 0)
            compare_queries(run, &plan, set->score, per_query, what);
    }
    if (status < 0)
        lambda_device_failed(run, what);
    free(per_query);
    rw_device_free(d_score);
    rw_cuda_metrics_free(metrics);
    rw_judgments_release(&judgments);
}
