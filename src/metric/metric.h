/* Terms of the whole library:
 *   query, document  a search query (q), and an item that is ranked for it. doc is the index of a
 *                    document in its data set.
 *   feature, bin     a column of the data, and its values between two bin boundaries. The code is
 *                    the stored number of a bin. A tree splits at a threshold.
 *   node, leaf       parts of a tree. An engine keeps each node of the growing tree in a slot. (A
 *                    slot of a scorer is something else: see model/scorer.h.)
 *   label, gain      a relevance judgment, and its value for metrics. The gain of a split is the
 *                    number by which splits are chosen; it rises as the split fits better.
 *   score            the output of a model. Rankings are by falling score, then by input order.
 *   lambda, hessian  first and second derivatives of the loss per document. A weight is a factor
 *                    that the user assigns to a document or a query.
 *   position         index in a ranking, from 0 (variables rank_hi, r). The index of a document in
 *                    its query or data set is doc_hi or i. The side column of positions has the
 *                    positions at which documents were displayed.
 *   n_x, x_bytes, x_ms   counts, sizes and durations. */

/* Metrics of ranked queries. To add one:
 * (1) Write rw_query_<name> in metric/<name>.c.
 * (2) Add a row with the device HOST to metrics.def, which the build follows, and the name to the
 *     help of `metric` in params/params.def.
 * (3) Add its spelling and its definition to tests/unit/naive_metrics.h.
 * The command line, training on any engine, eval and the property tests read the table.
 * tests/recipes adds a metric in this way. To let GPUs compute the metric, write rw_<name>_of in
 * this file instead of step (1), with the device DEVICE in its row.
 *
 * A query's value is summed in rank order in double. For the mean over queries, values are
 * rounded to multiples of 2^-40 and summed as integers, so the order of summation does not
 * change the result.
 *
 * Details in which programs differ (metrics.def defines each metric in a few words; k is the
 * cutoff):
 * `ndcg`: the ideal DCG has the same cutoff.
 * `map`: the sum of precisions at relevant documents is divided by min(relevant, k).
 * `p`: divided by k, even if the list is shorter.
 * `mrr`: 0 if the first relevant document is past the cutoff.
 * `err`: the reader stops with probability gain / (largest gain of the data set + 1).
 * `rbp`: the residual, which documents after the last one could add, is left out.
 * A query is empty if no document has a gain (ndcg, dcg, err) or is relevant (map, mrr, p,
 * recall, rbp). For all of these metrics alike, empty queries count 0 or 1 or are left out.
 * `rmse`, `logloss` (the losses): means over documents, independent of queries, so no query is
 * empty. logloss treats labels >= relevant as 1, and 1 / (1 + exp(-score)) as the probability.
 * Query weights multiply the values of queries, and in the losses the values of all documents of a
 * query. Document weights multiply the values of documents in the losses. In other metrics, a query
 * has the mean weight of its documents.
 * Averaged ties: every metric is the exact mean over all orders within groups of equal scores,
 * in closed form. err takes n x min(n, k) steps for a group of n.
 * Judgments and rankings in separate files (qrels and runs, io/side_files.c): a ranking may leave
 * out judged documents. Ideals and numbers of relevant documents include them, and all other terms
 * use the ranked documents only. */
#pragma once

#include <math.h>

#include "base/exact.h"
#include "base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_dataset;

/* ---- gains, discounts and the ideal DCG: tables that the host computes once ---- */

/* Returns the discount D(r) = 1 / log2(2 + r), r from 0 (Burges 2010, section 1). */
RW_HD double rw_discount(uint32_t r)
{
    return 1.0 / rw_log2(2.0 + (double)r);
}

/* How labels become gains. */
struct rw_gain_rule {
    enum { RW_GAIN_EXP, RW_GAIN_LINEAR, RW_GAIN_TABLE } kind;
    double *table; /* [n_table] gains of labels 0, 1, ..., for RW_GAIN_TABLE; owned */
    uint32_t n_table;
    char text[64]; /* "2^l - 1", "l", "from FILE": for rw_metrics_conventions */
};

/* Initialises the rule. spec: "exp", "linear", or a file with one gain from 0 to 2^31 per line,
 * for labels 0, 1, 2, and so on, at most 65536. "table 0 1 3" gives the gains directly, as a model
 * stores them. The caller releases the rule, unless the call fails. RW_ERR_IO: the file cannot be
 * read. RW_ERR_PARSE: the gains are invalid; the message names the file. */
int rw_gain_rule_init(struct rw_ctx *ctx, struct rw_gain_rule *rule, const char *spec);
/* Returns in *out the spec that a model stores: `spec`, or for a file its gains as "table 0 1
 * 3", since models store no paths. The caller owns *out. */
int rw_gain_rule_spec(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const char *spec,
                      char **out);
void rw_gain_rule_release(struct rw_gain_rule *rule);

/* Writes the gains of a data set's labels, [n_docs]. RW_ERR_DATA: a label is below 0 or over
 * 2^31, over 31 with exp, or with a table not a whole number or past its end. The message names its
 * document. */
int rw_gains(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const struct rw_dataset *dataset,
             double *gains);

/* Sorts values, [n] without NaN, in falling order in place. */
void rw_sort_falling(double *values, uint32_t n);

uint32_t rw_longest_query(const uint32_t *query_offset, uint32_t n_queries);
void rw_discounts(double *discounts, uint32_t n); /* writes D(0) to D(n - 1) */

/* Returns the best DCG of a query's top `truncation` (0: all). gains: [n]; discounts: [>= n];
 * scratch: [n] doubles. Terms are added in falling order of gain. */
double rw_ideal_dcg(const double *gains, uint32_t n, uint32_t truncation, const double *discounts,
                    double *scratch);
/* Computes rw_ideal_dcg of each query. gains: by document; ideal: [n_queries], written. */
int rw_ideal_dcgs(struct rw_ctx *ctx, const double *gains, const uint32_t *query_offset,
                  uint32_t n_queries, uint32_t truncation, const double *discounts, double *ideal);

/* Returns an unsigned integer that rises as the score falls. -0 and +0 give the same key. NaN
 * also has a defined key, so that no input can make a sort leave its array. */
RW_HD uint64_t rw_falling_key(double score)
{
    const uint64_t bits = rw_bits_of_double(score + 0.0);
    return bits >> 63 ? bits : ~(bits | 0x8000000000000000ull);
}

/* Writes for each position the position after the last equal score. end: [n]; score: [n],
 * falling. */
RW_HD void rw_tie_ends(const double *score, uint32_t n, uint32_t *end)
{
    for (uint32_t r = n; r-- > 0;)
        end[r] = r + 1 < n && score[r] == score[r + 1] ? end[r + 1] : r + 1;
}

/* ---- a metric ---- */

enum { RW_MAX_METRICS = 16 };

/* A ranked query. Arrays have [n] elements in rank order, unless noted otherwise. */
struct rw_ranked_query {
    uint32_t n;
    uint32_t n_unranked; /* judged documents that the ranking leaves out; they count in the ideal
                            and among the relevant documents only */
    const double *gain;  /* NULL if the metric does not use gains */
    const float *label;  /* [n + n_unranked] unranked documents are last */
    const double *score;
    const double *discount; /* D(r), by position; [n + n_unranked] */
    const double *ideal;    /* [n + n_unranked] gains in falling order; NULL if `gain` is */
    const double *weight;   /* document weights, for means over documents; NULL: all 1 */
    /* For each position, the position after the last document with an equal score: the value is
     * the mean over all orders within such groups. NULL: the given order counts. */
    const uint32_t *tie_end;
    double *scratch; /* [n + 1] for use by the metric's function */
    double max_gain; /* err: largest gain of the data set, or err_ceiling - 1 of a dialect */
};

/* Which metric GPU kernels compute. rw_metric_kind.device is RW_METRIC_HOST for each HOST row of
 * metrics.def, and RW_METRIC_<name> for each DEVICE row. */
enum rw_metric_device {
    RW_METRIC_HOST, /* computed by the host */
#define RW_METRIC(name, device, ...) RW_METRIC_##name,
#include "metric/metrics.def"
#undef RW_METRIC
};

struct rw_metric; /* a kind of metric with its arguments */
/* A row of metrics.def. */
struct rw_metric_kind {
    const char *name;
    /* uses_gain: 1: it uses gains. uses_relevance: 1: it distinguishes relevant documents. */
    int uses_gain, uses_relevance;
    int uses_discount, uses_max_gain; /* 1: rw_metrics_conventions mentions this input */
    int lower_is_better;
    int by_document;  /* the mean is over documents and does not depend on their order */
    int root;         /* values are squares; the result is the root of their mean */
    int ties_scratch; /* 1: averaging over the orders of ties needs rw_ranked_query.scratch */
    enum rw_metric_device device;
    /* what follows the name: nothing, "@k" or nothing, "@k", or ":P" */
    enum { RW_AT_NONE, RW_AT_OPTIONAL, RW_AT_REQUIRED, RW_AT_PERSISTENCE } at;
    /* Returns the value (squared if `root`), or NaN if the query is empty for this metric. */
    double (*query)(const struct rw_metric *metric, const struct rw_ranked_query *query);
    const char *help;
};
struct rw_metric {
    const struct rw_metric_kind *kind;
    char name[32];      /* canonical spelling: "ndcg@10", "rbp:0.8" */
    uint32_t at;        /* cutoff; 0: the whole list */
    double persistence; /* rbp */
    double relevant;    /* label from which a document is relevant */
};
/* Parses a metric: the name of a kind, with "@k" or ":P" if the kind's `at` allows it. `out->name`
 * is the canonical spelling. RW_ERR_ARGUMENT: unknown or malformed; the message suggests the
 * nearest metric. */
int rw_metric_parse(struct rw_ctx *ctx, const char *text, double relevant, struct rw_metric *out);
/* Parses up to RW_MAX_METRICS metrics, separated by commas. RW_ERR_ARGUMENT: there are more, one is
 * given twice, or as in rw_metric_parse. */
int rw_metrics_parse(struct rw_ctx *ctx, const char *text, double relevant,
                     struct rw_metric out[RW_MAX_METRICS], int *n);

/* The parts of an evaluation that depend on the data set only, computed once. */
struct rw_judgments {
    struct rw_arena arena; /* owns the arrays that are not borrowed */
    uint32_t n_docs, n_queries;
    const uint32_t *query_offset; /* [n_queries + 1] borrowed */
    const float *label;           /* [n_docs] borrowed */
    double *gain;                 /* [n_docs]; NULL if no metric uses gains */
    double *ideal;    /* [n_docs] each query's gains in falling order; NULL if `gain` is */
    double *discount; /* [longest] D(r) */
    double *weight; /* [n_queries] weights of queries; NULL: all 1. With document weights, the mean
                       of the query's documents. */
    const double *doc_weight; /* [n_docs]; NULL: all 1; borrowed; for means over documents */
    double max_gain;          /* the largest gain; 0 if no metric uses gains */
    double most_weight[2];    /* [0] the largest `weight`; [1] the largest `weight` x documents of
                                 the query; 0 without weights */
    int leaves_out;   /* 1: a score of RW_UNRANKED means that the ranking leaves the document out */
    int is_shared;    /* 1: means are over all workers (rw_judgments_share) */
    uint32_t longest; /* documents of the longest query */
};
/* Computes *judgments. The caller releases it, also after a failure. */
int rw_judgments_init(struct rw_ctx *ctx, struct rw_judgments *judgments,
                      const struct rw_dataset *dataset, const struct rw_gain_rule *gains,
                      int any_uses_gain);
void rw_judgments_release(struct rw_judgments *judgments);
/* Makes later means cover the queries of all workers, each of which has a shard. All workers must
 * call this function, and must then call rw_metric_eval for the same metrics. */
int rw_judgments_share(struct rw_ctx *ctx, struct rw_judgments *judgments);

/* Ranks a query. order: [n], written; order[r] is the index within the query of the document at
 * position r. Documents are by falling score, then by rising index, or by falling index if
 * `reversed`. */
void rw_rank_query(const double *scores, uint32_t n, int reversed, uint32_t *order);

struct rw_metric_result {
    double mean;
    /* queries in the mean, including empty ones that count 0 or 1; empty queries, 0 for means over
     * documents */
    uint32_t n_counted, n_empty;
};
/* Computes one metric over a set in parallel. The result does not depend on the number of threads.
 * scores: [n_docs], finite. per_query: [n_queries] or NULL; the averaged values, or their roots
 * if kind->root is 1, and NaN for queries that do not count. out->mean is a weighted mean,
 * NaN if no query counts. Empty queries are left out (skip) or count 0 or 1, by `empty`.
 * reversed: 1: ties are in reversed input order, to measure their effect. RW_ERR_DATA: a value is
 * too large to average, as rmse of huge scores is. */
int rw_metric_eval(struct rw_ctx *ctx, const struct rw_metric *metric,
                   const struct rw_judgments *judgments, const double *scores, enum rw_empty empty,
                   enum rw_ties ties, int reversed, double *per_query,
                   struct rw_metric_result *out);
/* Calls rw_metric_eval. With ties in input order, also writes to *moved by how much the mean
 * changes if that order is reversed. With averaged ties, for means over documents, and if no query
 * counts, *moved is unchanged. moved: may be NULL. */
int rw_metric_eval_ties(struct rw_ctx *ctx, const struct rw_metric *metric,
                        const struct rw_judgments *judgments, const double *scores,
                        enum rw_empty empty, enum rw_ties ties, double *per_query,
                        struct rw_metric_result *out, double *moved);

/* The metrics that an engine computes by itself for a data set. */
struct rw_metric_plan {
    const struct rw_judgments *judgments;
    const struct rw_metric
        *metric; /* [n_metrics] only metrics whose device is not RW_METRIC_HOST */
    int n_metrics;
    enum rw_empty empty;
    enum rw_ties ties;
    int by_query; /* 1: the values of queries are read, too, for metric[0] */
};
/* Sums over the counted queries: value is the sum of value x weight in units of 2^-40, and weight
 * that of weights, which are whole numbers (rw_metric_weights). n_counted, n_empty: as in struct
 * rw_metric_result. */
struct rw_metric_sums {
    rw_int128 value, weight;
    uint32_t n_counted, n_empty;
};
/* Writes the queries' weights, scaled and rounded to whole numbers. For means over documents, each
 * weight is multiplied by the query's number of documents. weights: [n_queries], written. */
void rw_metric_weights(const struct rw_metric_kind *kind, const struct rw_judgments *judgments,
                       int64_t *weights);
/* Returns the mean that rw_metric_eval would return for these sums. */
double rw_metric_mean(const struct rw_metric_kind *kind, const struct rw_metric_sums *sums);

/* Writes a line of conventions, for example "gain 2^l - 1, discount 1/log2(1 + rank), queries
 * without a relevant document left out". It mentions only conventions that affect one of the
 * metrics. gains: may be NULL if no metric uses them. is_qrels: 1: the judgments are from a
 * separate file. */
void rw_metrics_conventions(const struct rw_metric *metrics, int n_metrics,
                            const struct rw_gain_rule *gains, enum rw_empty empty,
                            enum rw_ties ties, int is_qrels, char *buffer, size_t size);

/* Declares the function of each row. */
#define RW_METRIC(name, ...) \
    double rw_query_##name(const struct rw_metric *metric, const struct rw_ranked_query *query);
#include "metric/metrics.def"
#undef RW_METRIC

/* Returns the number of judged documents, which count in the ideal and as relevant. */
RW_HD uint32_t rw_n_judged(const struct rw_ranked_query *query)
{
    return query->n + query->n_unranked;
}
/* Returns the number of positions that count: the cutoff or the whole list. */
RW_HD uint32_t rw_metric_top(const struct rw_metric *metric, uint32_t n)
{
    return metric->at && metric->at < n ? metric->at : n;
}
/* Returns the end of the tied group that starts at `begin`; begin + 1 unless ties are averaged. */
RW_HD uint32_t rw_group_end(const struct rw_ranked_query *query, uint32_t begin)
{
    return query->tie_end ? query->tie_end[begin] : begin + 1;
}

#ifdef __cplusplus
}
#endif

/* ---- values of metrics for one ranked query, shared by the host and devices ---- */

/* metric.c and the kernels call these functions as listed in metrics.def. DCG and NDCG are those of
 * Jarvelin and Kekalainen 2002, with the discount of Burges et al. 2005. map, mrr, p, recall, rbp
 * and logloss only distinguish relevant documents (label >= metric->relevant) from others. The
 * functions rw_<name>_of, except those of the losses, return NaN if the query is empty.
 *
 * With averaged ties, each function returns the exact mean over all orders within each group of
 * equal scores. The comments call such a group [begin, end), with n documents, m of them relevant.
 */

/* Returns the DCG. Over all orders of a tied group, the expected gain of each position is the
 * group's mean gain (McSherry and Najork 2008, "Computing information retrieval performance
 * measures efficiently in the presence of tied scores"). */
RW_HD double rw_dcg_of_order(const struct rw_ranked_query *query, uint32_t top)
{
    double sum = 0.0;
    if (!query->tie_end) { /* groups of one document: the same terms without a division */
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
    return rw_dcg_of(metric, query) /
           rw_dcg_of_ideal(query, rw_metric_top(metric, rw_n_judged(query)));
}

/* ---- metrics of relevance ---- */

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

/* Returns the number of relevant documents, ranked or not. */
RW_HD uint32_t rw_count_all_relevant(const struct rw_metric *metric,
                                     const struct rw_ranked_query *query)
{
    return rw_count_relevant(metric, query, 0, rw_n_judged(query));
}

/* Returns the expected number of relevant documents among the first `top`. */
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

/* Precision, divided by k even if the list is shorter, as in trec_eval. */
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

/* Rank-biased precision (Moffat and Zobel 2008) with persistence p, without the residual. */
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

/* Returns the divisor of average precision, min(relevant, k). */
RW_HD uint32_t rw_map_divisor(const struct rw_metric *metric, const struct rw_ranked_query *query,
                              uint32_t n_relevant)
{
    const uint32_t top = rw_metric_top(metric, rw_n_judged(query));
    return n_relevant < top ? n_relevant : top;
}

/* Average precision divided by min(relevant, k), so that a perfect list has 1. In a tied group,
 * the document at index j is relevant with probability m/n. If it is relevant, the expected number
 * of relevant documents of the group above it is j (m-1)/(n-1). */
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

/* Returns 1 / rank of the first relevant document; 0 if it is past the cutoff or not ranked. */
RW_HD double rw_mrr_of(const struct rw_metric *metric, const struct rw_ranked_query *query)
{
    if (rw_count_all_relevant(metric, query) == 0)
        return (double)NAN;
    uint32_t begin = 0, end = 0, m = 0;
    for (; m == 0 && end < query->n; m = rw_count_relevant(metric, query, begin, end)) {
        begin = end;
        end = rw_group_end(query, begin);
    }
    /* `none` is the probability that no relevant document is above position r. It reaches 0 when
     * only relevant documents remain. */
    const uint32_t n = end - begin, top = rw_metric_top(metric, query->n);
    double sum = 0.0, none = 1.0;
    for (uint32_t r = begin; r < end && r < top && none > 0.0; r++) {
        const double left = (double)(n - (r - begin));
        sum += none * ((double)m / left) / (double)(r + 1);
        none *= (left - (double)m) / left;
    }
    return sum;
}

/* Writes to scratch[j], j = 0 .. most, the mean over all orders of the group of the product of
 * (1 - R) over its first j documents, where R is the probability to stop at a document (rw_err_of).
 * It adds documents to the group one by one. A document added to i others is among the first j of
 * i + 1 with probability j / (i + 1). No term is negative, so there is no cancellation. It takes
 * n x most steps. */
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

/* Expected reciprocal rank (Chapelle, Metzler, Zhang and Grinspan 2009). A reader going down the
 * list stops at a document with probability R = gain / (largest gain of the data set + 1). With
 * exponential gains, this is the paper's (2^l - 1) / 2^max. */
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

/* Returns the squared error of one document. */
RW_HD double rw_squared_error(double score, double label)
{
    return (score - label) * (score - label);
}

/* Returns -log of the probability of the document's class; a document is relevant with
 * probability 1 / (1 + exp(-score)). */
RW_HD double rw_log_loss(double score, double label, double relevant)
{
    const double wrong = label >= relevant ? -score : score;
    const double size = wrong < 0.0 ? -wrong : wrong;
    const double small = size < 600.0 ? rw_exp2(-size * 1.4426950408889634) : 0.0;
    return (wrong > 0.0 ? wrong : 0.0) + rw_log2(1.0 + small) * 0.6931471805599453;
}

/* Returns the mean squared error over the query's documents, weighted if they have weights, or NaN
 * if the weights add up to 0. The root is taken of the mean over all queries. */
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

/* Returns the mean of rw_log_loss in the same way. */
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

/* Values are summed as integers in units of 2^-40. This is 2^40. */
#define RW_METRIC_UNIT 1099511627776.0
/* From 2^80 on, a value is too large to average: it would be 2^120 units. */
#define RW_METRIC_MOST 1208925819614629174706176.0

/* Rounds to the nearest integer, ties to even: after adding 1.5 x 2^52, a double has no fraction.
 * Returns numbers beyond +-2^51 as they are. */
RW_HD double rw_to_whole(double x)
{
    if (x < -2251799813685248.0 || x > 2251799813685248.0)
        return x; /* the sum would exceed 2^53; x has at most one binary digit after the point */
    return (x + 6755399441055744.0) - 6755399441055744.0;
}

/* ---- dialects: metrics as other programs print them ---- */

/* Each program is a row of the table in dialect.c. The row defines how the program reads scores,
 * whether labels must be whole numbers, and which gains its user may choose. For each metric, it
 * has the program's treatment of ties, gains, cutoffs, weights and queries without a relevant
 * document, and the largest label. To add a program: add a row in dialect.c, a function in
 * tests/peers/dialect_peers.py that runs the program, and the name in docs/rankwood.1.in. */

/* How a program orders documents of equal scores. */
enum rw_dialect_ties {
    RW_PUT_FILE,      /* by input order */
    RW_PUT_MEAN,      /* averages over all orders */
    RW_PUT_BY_ID,     /* by falling document id, as text (trec_eval's rule) */
    RW_PUT_LOW_FIRST, /* lower labels first */
    RW_PUT_HIGH_FIRST /* higher labels first */
};
/* Whether a program's metric has a cutoff. */
enum rw_dialect_cut { RW_CUT_MAY, RW_CUT_MUST, RW_CUT_NEVER };
/* How a program uses query weights. */
enum rw_dialect_weights {
    RW_WEIGHED_NOT,
    RW_WEIGHED,
    RW_WEIGHED_BUT_EMPTY /* empty queries have weight 1 */
};

/* A metric of a program. Fields that a row leaves out are 0. */
struct rw_dialect_metric {
    const char *name;   /* Rankwood's name: "ndcg" */
    const char *theirs; /* the program's name, with the text that precedes the cutoff: "NDCG:top=",
                           "pre" (before '@'); NULL: the same as `name` */
    enum rw_dialect_cut cut;
    uint32_t whole_at; /* cutoff if the user gives none; 0: the whole list */
    enum rw_empty empty;
    enum rw_dialect_ties ties;
    enum rw_dialect_weights weights;
    const char *gain;   /* "exp", "linear"; NULL: uses no gains */
    double err_ceiling; /* err: divisor of gains; 0: the data's largest gain plus 1 */
    double relevant;    /* label from which a document is relevant; 0: the default, 1 */
    double most_label;  /* largest label that it accepts; 0: any */
    /* NULL: the function of the metric's row in metrics.def */
    double (*query)(const struct rw_metric *metric, const struct rw_ranked_query *query);
    const char
        *query_says; /* description of that function for the conventions; NULL if it is NULL */
};

struct rw_dialect {
    const char *name;    /* "lightgbm" */
    const char *program; /* "LightGBM" */
    int float_scores;    /* scores are rounded to float before they are compared */
    int whole_labels;    /* labels must be whole numbers */
    int gain_choice; /* gains that the user may choose: 0 none, 1 exp or linear, 2 also a table */
    const struct rw_dialect_metric *metric; /* [n_metrics] */
    int n_metrics;
};

/* Returns row i of the table; NULL past the end. */
const struct rw_dialect *rw_dialect_at(int i);
/* Finds a dialect by name. RW_ERR_ARGUMENT: unknown; the message suggests the nearest name. */
int rw_dialect_find(struct rw_ctx *ctx, const char *name, const struct rw_dialect **out);
/* Returns 1 if the program lets its user choose this gain of labels. */
int rw_dialect_has_gain(const struct rw_dialect *dialect, const char *label_gain);
/* Finds the program's row for one of Rankwood's metrics. RW_ERR_ARGUMENT: the program lacks this
 * metric, or lacks it with (or without) a cutoff. */
int rw_dialect_metric_find(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                           const struct rw_metric *metric, const struct rw_dialect_metric **out);

struct rw_dialect_value {
    const struct rw_dialect_metric *row; /* the row of the program */
    struct rw_metric_result result;
    double ties_moved; /* mean with reversed input order minus the mean; 0 if the order of ties has
                          no effect */
};
/* Computes the mean that the program prints. label_gain: the gain that its user chose, or NULL for
 * the default; ignored if the metric uses no gains or the row has an err_ceiling. scores: [n_docs],
 * finite. per_query: [n_queries] or NULL, as in rw_metric_eval. RW_ERR_ARGUMENT: the program lacks
 * the metric or the gain. RW_ERR_DATA: the program refuses a label. */
int rw_dialect_eval(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                    const struct rw_metric *metric, const char *label_gain,
                    const struct rw_dataset *dataset, const double *scores, double *per_query,
                    struct rw_dialect_value *out);
/* Writes a line of the conventions that the program uses for the metric. at: the cutoff, or 0. */
void rw_dialect_conventions(const struct rw_dialect *dialect, const struct rw_dialect_metric *row,
                            const char *label_gain, uint32_t at, const struct rw_dataset *dataset,
                            char *buffer, size_t size);

/* Writes a document's id as predict --trec does: the id in the document's comment, or else the
 * query's id, '-' and the document's number in the query, from 1. index: the document's index in
 * the query, from 0. */
void rw_dialect_doc_id(const struct rw_dataset *dataset, uint32_t query, uint32_t index,
                       char *buffer, size_t size);
