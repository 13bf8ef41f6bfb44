/* Metrics of single documents: metric/metric_query.h has the mathematics. */
#include "metric/metric_query.h"

double rw_query_rmse(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_rmse_of(metric, query);
}

double rw_query_logloss(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_logloss_of(metric, query);
}
