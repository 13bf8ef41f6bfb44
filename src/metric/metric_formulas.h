/* The mathematics of the metrics: one ranked query's value, once for host and device. metric.c's
 * table and the kernels make their calls of these from metrics.def.
 *
 * DCG and NDCG: Jarvelin and Kekalainen 2002, with the discount of Burges et al. 2005. Of the
 * others all but err know only "relevant" (label >= L) and not.
 *
 * With ties to be averaged each gives the exact mean over all orders of the documents within each
 * group of equal scores: the group at positions [begin, end) has n documents, m of them relevant.
 */
#ifndef RW_METRIC_FORMULAS_H
#define RW_METRIC_FORMULAS_H

#include <math.h>

#include "base/exact.h"
#include "metric/metric.h"

/* Over all orders of a tied group every position expects the group's mean gain (McSherry and Najork
 * 2008, "Computing information retrieval performance measures efficiently in the presence of tied
 * scores"). */
RW_HD double rw_dcg_of_order(const struct rw_ranked_query *query, uint32_t top)
{
    double sum = 0.0;
    if (!query->tie_end) { /* groups of one: the same terms without a division */
        for (uint32_t r = 0; r < top; r++)
            sum += query->gain[r] * query->discount[r];
        return sum;
    }
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

RW_HD double rw_dcg_of_ideal(const struct rw_ranked_query *query, uint32_t top)
{
    double sum = 0.0;
    for (uint32_t r = 0; r < top; r++)
        sum += query->ideal[r] * query->discount[r];
    return sum;
}

RW_HD double rw_dcg_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (rw_n_judged(query) == 0 || !(query->ideal[0] > 0.0))
        return (double)NAN;
    return rw_dcg_of_order(query, rw_metric_top(metric, query->n));
}

RW_HD double rw_ndcg_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (rw_n_judged(query) == 0 || !(query->ideal[0] > 0.0))
        return (double)NAN;
    return rw_dcg_of_order(query, rw_metric_top(metric, query->n)) /
           rw_dcg_of_ideal(query, rw_metric_top(metric, rw_n_judged(query)));
}

/* ---- relevant or not ---- */

RW_HD int rw_is_relevant(const struct rw_metric *metric, const struct rw_ranked_query *query,
                         uint32_t r)
{
    return (double)query->label[r] >= metric->relevant;
}

RW_HD uint32_t rw_count_relevant(const struct rw_metric *metric,
                                 const struct rw_ranked_query *query, uint32_t begin, uint32_t end)
{
    uint32_t m = 0;
    for (uint32_t r = begin; r < end; r++)
        m += (uint32_t)rw_is_relevant(metric, query, r);
    return m;
}

/* Ranked or not. */
RW_HD uint32_t rw_count_all_relevant(const struct rw_metric *metric,
                                     const struct rw_ranked_query *query)
{
    return rw_count_relevant(metric, query, 0, rw_n_judged(query));
}

/* Relevant documents expected among the first `top`. */
RW_HD double rw_relevant_in_top(const struct rw_metric *metric, const struct rw_ranked_query *query,
                                uint32_t top)
{
    double sum = 0.0;
    for (uint32_t begin = 0, end; begin < top; begin = end) {
        end = rw_group_end(query, begin);
        const double m = (double)rw_count_relevant(metric, query, begin, end);
        const uint32_t seen = (end < top ? end : top) - begin;
        sum += m * (double)seen / (double)(end - begin);
    }
    return sum;
}

/* Over k even where the list is shorter, as trec_eval counts. */
RW_HD double rw_p_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (rw_count_all_relevant(metric, query) == 0)
        return (double)NAN;
    return rw_relevant_in_top(metric, query, rw_metric_top(metric, query->n)) / (double)metric->at;
}

RW_HD double rw_recall_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    const uint32_t n_relevant = rw_count_all_relevant(metric, query);
    if (n_relevant == 0)
        return (double)NAN;
    return rw_relevant_in_top(metric, query, rw_metric_top(metric, query->n)) / (double)n_relevant;
}

/* Rank-biased precision (Moffat and Zobel 2008). Persistence p; the residual is not added. */
RW_HD double rw_rbp_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (rw_count_all_relevant(metric, query) == 0)
        return (double)NAN;
    double sum = 0.0, looks = 1.0;
    for (uint32_t begin = 0, end; begin < query->n; begin = end) {
        end = rw_group_end(query, begin);
        const double share =
            (double)rw_count_relevant(metric, query, begin, end) / (double)(end - begin);
        for (uint32_t r = begin; r < end; r++) {
            sum += share * looks;
            looks *= metric->persistence;
        }
    }
    return sum * (1.0 - metric->persistence);
}

/* What average precision is over: min(relevant, k). */
RW_HD uint32_t rw_map_divisor(const struct rw_metric *metric, const struct rw_ranked_query *query,
                              uint32_t n_relevant)
{
    const uint32_t top = rw_metric_top(metric, rw_n_judged(query));
    return n_relevant < top ? n_relevant : top;
}

/* Average precision over min(relevant, k), so that a perfect list has 1. The document j positions
 * into a group is relevant with probability m/n, and then expects j (m-1)/(n-1) relevant ones of
 * the group above it. */
RW_HD double rw_map_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    const uint32_t n_relevant = rw_count_all_relevant(metric, query);
    if (n_relevant == 0)
        return (double)NAN;
    const uint32_t top = rw_metric_top(metric, query->n);
    double sum = 0.0, above = 0.0;
    for (uint32_t begin = 0, end; begin < top; begin = end) {
        end = rw_group_end(query, begin);
        const double n = (double)(end - begin);
        const double m = (double)rw_count_relevant(metric, query, begin, end);
        const double step = end - begin > 1 ? (m - 1.0) / (n - 1.0) : 0.0;
        if (m > 0.0)
            for (uint32_t r = begin; r < end && r < top; r++)
                sum += m / n * (above + 1.0 + (double)(r - begin) * step) / (double)(r + 1);
        above += m;
    }
    return sum / (double)rw_map_divisor(metric, query, n_relevant);
}

/* One over the rank of the first relevant document; 0 if it is past the cutoff, or not ranked. */
RW_HD double rw_mrr_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (rw_count_all_relevant(metric, query) == 0)
        return (double)NAN;
    uint32_t begin = 0, end = 0, m = 0;
    for (; m == 0 && end < query->n; m = rw_count_relevant(metric, query, begin, end)) {
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
RW_HD void rw_mean_products(const struct rw_ranked_query *query, uint32_t begin, uint32_t end,
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
RW_HD double rw_err_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (rw_n_judged(query) == 0 || !(query->ideal[0] > 0.0))
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
        rw_mean_products(query, begin, end, most);
        for (uint32_t j = 0; j < most; j++)
            sum += arrives * (query->scratch[j] - query->scratch[j + 1]) / (double)(begin + j + 1);
        arrives *= query->scratch[most];
    }
    return sum;
}

/* ---- losses ---- */

/* The losses of one document. */
RW_HD double rw_squared_error(double score, double label)
{
    return (score - label) * (score - label);
}

/* -log of the probability that 1 / (1 + exp(-score)) gives to what the document is. */
RW_HD double rw_log_loss(double score, double label, double relevant)
{
    const double wrong = label >= relevant ? -score : score;
    const double size = wrong < 0.0 ? -wrong : wrong;
    const double small = size < 600.0 ? rw_exp2(-size * 1.4426950408889634) : 0.0;
    return (wrong > 0.0 ? wrong : 0.0) + rw_log2(1.0 + small) * 0.6931471805599453;
}

/* A mean over the query's documents, weighted if they are. */
RW_HD double rw_rmse_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    (void)metric;
    double sum = 0.0, weights = 0.0;
    for (uint32_t r = 0; r < query->n; r++) {
        const double weight = query->weight ? query->weight[r] : 1.0;
        sum += weight * rw_squared_error(query->score[r], (double)query->label[r]);
        weights += weight;
    }
    return weights > 0.0 ? sum / weights : (double)NAN;
}

RW_HD double rw_logloss_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    double sum = 0.0, weights = 0.0;
    for (uint32_t r = 0; r < query->n; r++) {
        const double weight = query->weight ? query->weight[r] : 1.0;
        sum += weight * rw_log_loss(query->score[r], (double)query->label[r], metric->relevant);
        weights += weight;
    }
    return weights > 0.0 ? sum / weights : (double)NAN;
}

/* ---- the mean over queries ---- */

/* Values and weights are whole numbers of 1 / unit: 2^-40. */
#define RW_METRIC_UNIT 1099511627776.0
/* A value from here on is too large to be averaged: it would be 2^120 units. */
#define RW_METRIC_MOST 1208925819614629174706176.0

/* The nearest whole number, ties to even: adding 1.5 x 2^52 leaves no room for a fraction. */
RW_HD double rw_to_whole(double x)
{
    if (x < -2251799813685248.0 || x > 2251799813685248.0)
        return x; /* from 2^51 on the sum would not fit; rounding to halves is harmless there */
    return (x + 6755399441055744.0) - 6755399441055744.0;
}

#endif
