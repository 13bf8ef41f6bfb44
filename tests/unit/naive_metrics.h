/* A second implementation of every metric, plain and slow, from the definitions; libm
 * arithmetic. Shared by the tests of src/metric. */
#pragma once

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "metric/metric.h"

enum { NAIVE_MOST = 64 };

/* Spellings that cover the table: a row without one here makes the property tests fail. */
static const char *const spellings[] = {
    "ndcg",     "ndcg@1",   "ndcg@3",    "ndcg@10", "dcg",     "dcg@2", "map",     "map@1", "map@3",
    "mrr",      "mrr@2",    "mrr@10",    "err",     "err@1",   "err@3", "p@1",     "p@3",   "p@10",
    "recall@1", "recall@2", "recall@10", "rbp:0.5", "rbp:0.8", "rmse",  "logloss",
};
enum { N_SPELLINGS = sizeof(spellings) / sizeof(spellings[0]) };

/* label, score: [n] in rank order; NaN if empty; exponential gains. rmse comes squared. */
static inline double naive_value(const struct rw_metric *metric, const double *label,
                                 const double *score, int n, double max_label)
{
    const char *name = metric->kind->name;
    const int k = metric->at ? (int)metric->at : n;
    double gain[NAIVE_MOST], best[NAIVE_MOST];
    int relevant[NAIVE_MOST], n_relevant = 0;
    double most = 0.0;
    for (int i = 0; i < n; i++) {
        gain[i] = best[i] = pow(2.0, label[i]) - 1.0;
        relevant[i] = label[i] >= metric->relevant;
        n_relevant += relevant[i];
        most = fmax(most, gain[i]);
    }
    if (!strcmp(name, "rmse") || !strcmp(name, "logloss")) {
        double sum = 0.0;
        for (int i = 0; i < n; i++)
            sum += !strcmp(name, "rmse") ? pow(score[i] - label[i], 2.0)
                   : relevant[i]         ? log(1.0 + exp(-score[i]))
                                         : log(1.0 + exp(score[i]));
        return sum / n;
    }
    if (metric->kind->uses_gain ? most == 0.0 : n_relevant == 0)
        return (double)NAN;
    if (!strcmp(name, "ndcg") || !strcmp(name, "dcg")) {
        for (int i = 0; i < n; i++)
            for (int j = i + 1; j < n; j++)
                if (best[j] > best[i]) {
                    const double swapped = best[i];
                    best[i] = best[j];
                    best[j] = swapped;
                }
        double sum = 0.0, ideal = 0.0;
        for (int i = 0; i < n && i < k; i++) {
            sum += gain[i] / log2(i + 2.0);
            ideal += best[i] / log2(i + 2.0);
        }
        return !strcmp(name, "dcg") ? sum : sum / ideal;
    }
    double value = 0.0, pass = 1.0;
    int seen = 0;
    for (int i = 0; i < n && i < k; i++) {
        seen += relevant[i];
        if (!strcmp(name, "map"))
            value += relevant[i] ? (double)seen / (i + 1) / fmin(n_relevant, k) : 0.0;
        else if (!strcmp(name, "mrr"))
            value += relevant[i] && seen == 1 ? 1.0 / (i + 1) : 0.0;
        else if (!strcmp(name, "p"))
            value += relevant[i] / (double)k;
        else if (!strcmp(name, "recall"))
            value += relevant[i] / (double)n_relevant;
        else if (!strcmp(name, "rbp"))
            value += relevant[i] * (1.0 - metric->persistence) * pow(metric->persistence, i);
        else if (!strcmp(name, "err")) {
            value += pass * gain[i] / pow(2.0, max_label) / (i + 1);
            pass *= 1.0 - gain[i] / pow(2.0, max_label);
        } else
            return -1e9; /* unknown: no test passes */
    }
    return value;
}

/* Every order of the documents that falls in score. */
struct naive_orders {
    double sum, least, most;
    long n;
};
static inline void naive_orders_from(const struct rw_metric *metric, double *label, double *score,
                                     int n, int fixed, double max_label, struct naive_orders *out)
{
    if (fixed == n) {
        const double value = naive_value(metric, label, score, n, max_label);
        out->sum += value;
        out->least = out->n && out->least < value ? out->least : value;
        out->most = out->n && out->most > value ? out->most : value;
        out->n++;
        return;
    }
    for (int i = fixed; i < n && score[i] == score[fixed]; i++) {
        double swapped = label[fixed];
        label[fixed] = label[i];
        label[i] = swapped;
        naive_orders_from(metric, label, score, n, fixed + 1, max_label, out);
        label[i] = label[fixed];
        label[fixed] = swapped;
    }
}

/* Ranks by falling score, then rising place. */
static inline void naive_rank(double *label, double *score, int n)
{
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && score[j] > score[j - 1]; j--) {
            double swapped = score[j];
            score[j] = score[j - 1];
            score[j - 1] = swapped;
            swapped = label[j];
            label[j] = label[j - 1];
            label[j - 1] = swapped;
        }
}

/* A metric over a set of one query, through the library. */
static inline double library_value(struct rw_ctx *ctx, const struct rw_metric *metric,
                                   const double *label, const double *score, int n,
                                   double max_label, enum rw_ties ties)
{
    float labels[NAIVE_MOST];
    uint32_t offset[2] = {0, (uint32_t)n};
    for (int i = 0; i < n; i++)
        labels[i] = (float)label[i];
    struct rw_dataset dataset = {0};
    dataset.n_docs = (uint32_t)n;
    dataset.n_queries = 1;
    dataset.label = labels;
    dataset.query_offset = offset;
    struct rw_gain_rule gains;
    struct rw_judgments judgments;
    struct rw_metric_result result;
    double value = -2e9;
    if (rw_gain_rule_init(ctx, &gains, "exp") == RW_OK &&
        rw_judgments_init(ctx, &judgments, &dataset, &gains, 1) == RW_OK) {
        judgments.max_gain = pow(2.0, max_label) - 1.0;
        if (rw_metric_eval(ctx, metric, &judgments, score, RW_EMPTY_SKIP, ties, 0, NULL, &result) ==
            RW_OK)
            value = metric->kind->root ? result.mean * result.mean : result.mean;
        rw_judgments_release(&judgments);
    }
    return value;
}

static inline uint32_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}
