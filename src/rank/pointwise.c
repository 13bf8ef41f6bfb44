/* Metrics of single documents; within a query a mean over its documents, weighted if they are. */
#include <math.h>

#include "base/exact.h"
#include "rank/metric.h"

static double document_mean(const struct rw_ranked_query *query, double relevant,
                            double (*loss)(double score, double label, double relevant))
{
    double sum = 0.0, weights = 0.0;
    for (uint32_t r = 0; r < query->n; r++) {
        const double weight = query->weight ? query->weight[r] : 1.0;
        sum += weight * loss(query->score[r], (double)query->label[r], relevant);
        weights += weight;
    }
    return weights > 0.0 ? sum / weights : (double)NAN;
}

static double squared_error(double score, double label, double relevant)
{
    (void)relevant;
    return (score - label) * (score - label);
}

/* -log of the probability that 1 / (1 + exp(-score)) gives to what the document is. */
static double log_loss(double score, double label, double relevant)
{
    const double wrong = label >= relevant ? -score : score;
    const double size = wrong < 0.0 ? -wrong : wrong;
    const double small = size < 600.0 ? rw_exp2(-size * 1.4426950408889634) : 0.0;
    return (wrong > 0.0 ? wrong : 0.0) + rw_log2(1.0 + small) * 0.6931471805599453;
}

double rw_query_rmse(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return document_mean(query, metric->relevant, squared_error);
}

double rw_query_logloss(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return document_mean(query, metric->relevant, log_loss);
}
