/* Is there a relevant document in the top k? A metric that is added to a copy of the tree. */
#include "metric/metric.h"

double rw_query_hit(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    const uint32_t top = rw_metric_top(metric, query->n);
    int any = 0;
    double miss = 1.0; /* the probability, over the orders of ties, that the top has no relevant
                        * document */
    for (uint32_t r = 0; r < query->n; r++)
        any |= rw_is_relevant(metric, query, r);
    if (!any)
        return (double)NAN;
    for (uint32_t begin = 0, end; begin < top; begin = end) {
        uint32_t n_relevant = 0;
        end = rw_group_end(query, begin);
        for (uint32_t r = begin; r < end; r++)
            n_relevant += rw_is_relevant(metric, query, r);
        const uint32_t n = end - begin, n_seen = end < top ? n : top - begin;
        for (uint32_t i = 0; i < n_seen; i++) {
            if (i + n_relevant >= n)
                return 1.0;
            miss = miss * (double)(n - n_relevant - i) / (double)(n - i);
        }
    }
    return 1.0 - miss;
}
