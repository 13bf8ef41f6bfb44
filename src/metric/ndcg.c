/* DCG and NDCG: metric/metric_query.h has the mathematics. */
#include "metric/metric_query.h"

double rw_query_dcg(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_dcg_of(metric, query);
}

double rw_query_ndcg(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    return rw_ndcg_of(metric, query);
}
