/* DCG and NDCG: Jarvelin and Kekalainen 2002, with the discount of Burges et al. 2005. */
#include <math.h>

#include "rank/metric.h"

/* Over all orders of a tied group every position expects the group's mean gain (McSherry and Najork
 * 2008, "Computing information retrieval performance measures efficiently in the presence of tied
 * scores"). */
static double dcg(const struct rw_ranked_query *query, uint32_t top)
{
    double sum = 0.0;
    for (uint32_t begin = 0, end; begin < top; begin = end) {
        end = rw_group_end(query, begin);
        double gain = query->gain[begin];
        for (uint32_t r = begin + 1; r < end; r++)
            gain += query->gain[r];
        gain = gain / (double)(end - begin);
        for (uint32_t r = begin; r < end && r < top; r++)
            sum += gain * query->discount[r];
    }
    return sum;
}

static double ideal_dcg(const struct rw_ranked_query *query, uint32_t top)
{
    double sum = 0.0;
    for (uint32_t r = 0; r < top; r++)
        sum += query->ideal[r] * query->discount[r];
    return sum;
}

double rw_query_dcg(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (query->n == 0 || !(query->ideal[0] > 0.0))
        return (double)NAN;
    return dcg(query, rw_metric_top(metric, query->n));
}

double rw_query_ndcg(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (query->n == 0 || !(query->ideal[0] > 0.0))
        return (double)NAN;
    const uint32_t top = rw_metric_top(metric, query->n);
    return dcg(query, top) / ideal_dcg(query, top);
}
