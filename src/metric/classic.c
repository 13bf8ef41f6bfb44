/* Metrics of the text retrieval tradition: metric/metric_query.h has the mathematics. */
#include "metric/metric_query.h"

double rw_query_precision(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_precision_of(metric, query);
}

double rw_query_recall(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_recall_of(metric, query);
}

double rw_query_rbp(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_rbp_of(metric, query);
}

double rw_query_map(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_map_of(metric, query);
}

double rw_query_mrr(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_mrr_of(metric, query);
}

double rw_query_err(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_err_of(metric, query);
}
