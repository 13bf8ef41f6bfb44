/* Metrics of the text retrieval tradition. All but err know only "relevant" (label >= L) and not.
 *
 * With ties to be averaged each gives the exact mean over all orders of the documents within each
 * group of equal scores: the group at positions [begin, end) has n documents, m of them relevant.
 */
#include <math.h>

#include "rank/metric.h"

static int is_relevant(const struct rw_metric *metric, const struct rw_ranked_query *query,
                       uint32_t r)
{
    return (double)query->label[r] >= metric->relevant;
}

static uint32_t count_relevant(const struct rw_metric *metric, const struct rw_ranked_query *query,
                               uint32_t begin, uint32_t end)
{
    uint32_t m = 0;
    for (uint32_t r = begin; r < end; r++)
        m += (uint32_t)is_relevant(metric, query, r);
    return m;
}

/* Relevant documents expected among the first `top`. */
static double relevant_in_top(const struct rw_metric *metric, const struct rw_ranked_query *query,
                              uint32_t top)
{
    double sum = 0.0;
    for (uint32_t begin = 0, end; begin < top; begin = end) {
        end = rw_group_end(query, begin);
        const double m = (double)count_relevant(metric, query, begin, end);
        const uint32_t seen = (end < top ? end : top) - begin;
        sum += m * (double)seen / (double)(end - begin);
    }
    return sum;
}

/* Over k even where the list is shorter, as trec_eval counts. */
double rw_query_precision(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (count_relevant(metric, query, 0, query->n) == 0)
        return (double)NAN;
    return relevant_in_top(metric, query, rw_metric_top(metric, query->n)) / (double)metric->at;
}

double rw_query_recall(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    const uint32_t n_relevant = count_relevant(metric, query, 0, query->n);
    if (n_relevant == 0)
        return (double)NAN;
    return relevant_in_top(metric, query, rw_metric_top(metric, query->n)) / (double)n_relevant;
}

/* Rank-biased precision (Moffat and Zobel 2008). Persistence p; the residual is not added. */
double rw_query_rbp(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (count_relevant(metric, query, 0, query->n) == 0)
        return (double)NAN;
    double sum = 0.0, looks = 1.0;
    for (uint32_t begin = 0, end; begin < query->n; begin = end) {
        end = rw_group_end(query, begin);
        const double share =
            (double)count_relevant(metric, query, begin, end) / (double)(end - begin);
        for (uint32_t r = begin; r < end; r++) {
            sum += share * looks;
            looks *= metric->persistence;
        }
    }
    return sum * (1.0 - metric->persistence);
}

/* Average precision over min(relevant, k), so that a perfect list has 1. The document j places into
 * a group is relevant with probability m/n, and then expects j (m-1)/(n-1) relevant ones of the
 * group above it. */
double rw_query_map(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    const uint32_t n_relevant = count_relevant(metric, query, 0, query->n);
    if (n_relevant == 0)
        return (double)NAN;
    const uint32_t top = rw_metric_top(metric, query->n);
    double sum = 0.0, above = 0.0;
    for (uint32_t begin = 0, end; begin < top; begin = end) {
        end = rw_group_end(query, begin);
        const double n = (double)(end - begin);
        const double m = (double)count_relevant(metric, query, begin, end);
        const double step = end - begin > 1 ? (m - 1.0) / (n - 1.0) : 0.0;
        if (m > 0.0)
            for (uint32_t r = begin; r < end && r < top; r++)
                sum += m / n * (above + 1.0 + (double)(r - begin) * step) / (double)(r + 1);
        above += m;
    }
    return sum / (double)(n_relevant < top ? n_relevant : top);
}

/* One over the rank of the first relevant document; 0 if it is past the cut-off. */
double rw_query_mrr(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (count_relevant(metric, query, 0, query->n) == 0)
        return (double)NAN;
    uint32_t begin = 0, end = 0, m = 0;
    for (; m == 0; m = count_relevant(metric, query, begin, end)) {
        begin = end;
        end = rw_group_end(query, begin);
    }
    /* none: the chance that no relevant document stands before position r. It reaches 0 when only
     * relevant ones are left. */
    const uint32_t n = end - begin, top = rw_metric_top(metric, query->n);
    double sum = 0.0, none = 1.0;
    for (uint32_t r = begin; r < end && r < top && none > 0.0; r++) {
        const double left = (double)(n - (r - begin));
        sum += none * ((double)m / left) / (double)(r + 1);
        none *= (left - (double)m) / left;
    }
    return sum;
}

/* scratch[j], j = 0 .. most: the mean over all orders of the group of the product of (1 - R) over
 * its first j documents. Adding a document to a set of i: it is among the first j of i + 1 with
 * probability j / (i + 1). Terms are positive, so nothing cancels; n x most steps. */
static void mean_products(const struct rw_ranked_query *query, uint32_t begin, uint32_t end,
                          uint32_t most)
{
    double *product = query->scratch;
    product[0] = 1.0;
    for (uint32_t j = 1; j <= most; j++)
        product[j] = 0.0;
    for (uint32_t i = 0; i < end - begin; i++) {
        const double pass = 1.0 - query->gain[begin + i] / (query->max_gain + 1.0);
        const double size = (double)(i + 1);
        for (uint32_t j = i + 1 < most ? i + 1 : most; j >= 1; j--)
            product[j] =
                (size - (double)j) / size * product[j] + (double)j / size * pass * product[j - 1];
    }
}

/* Expected reciprocal rank (Chapelle, Metzler, Zhang and Grinspan 2009): a reader going down stops
 * at a document with probability R = gain / (largest gain of the data set + 1), which is their
 * (2^l - 1) / 2^max under exponential gains. */
double rw_query_err(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (query->n == 0 || !(query->ideal[0] > 0.0))
        return (double)NAN;
    const uint32_t top = rw_metric_top(metric, query->n);
    double sum = 0.0, arrives = 1.0;
    for (uint32_t begin = 0, end; begin < top; begin = end) {
        end = rw_group_end(query, begin);
        if (end == begin + 1) {
            const double stops = query->gain[begin] / (query->max_gain + 1.0);
            sum += arrives * stops / (double)(begin + 1);
            arrives *= 1.0 - stops;
            continue;
        }
        const uint32_t most = (end < top ? end : top) - begin;
        mean_products(query, begin, end, most);
        for (uint32_t j = 0; j < most; j++)
            sum += arrives * (query->scratch[j] - query->scratch[j + 1]) / (double)(begin + j + 1);
        arrives *= query->scratch[most];
    }
    return sum;
}
