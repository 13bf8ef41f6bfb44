/* Words, as everywhere in the library:
 *   query, document  what is asked (q); what is ranked for it (doc), from 0 in the whole set
 *   feature, bin     a column of the data; its values between two bin boundaries. The code is the
 *                    small number that stands for a bin; a tree splits at a threshold
 *   node, leaf       of a tree; an engine keeps a node of the tree being grown in a slot
 *   label, gain      the judgment; what it is worth
 *   score            what the model says; the order is by falling score, then as in the input
 *   lambda, hessian  first and second derivatives of the loss, by document; a weight is a sample's
 *   position         in the ranking, from 0 (rank_hi, r); an index names a document (doc_hi, i)
 *   n_x counts, x_bytes sizes, x_ms times */

/* Metrics of a ranked query. To add one: (1) write rw_query_<name> in metric/<name>.c, (2) give it
 * a row in metrics.def, with the device HOST, which the build follows, (3) give it a spelling and
 * its definition in tests/unit/naive_metrics.h. The command line, training on any engine, eval and
 * the property tests read the table; tests/recipes adds one in this way. A metric that GPUs are to
 * measure by themselves is written as rw_<name>_of below instead, with the device
 * DEVICE in its row.
 *
 * A query's metric is summed in rank order in double; the mean over queries is taken over values
 * rounded to multiples of 2^-40 and summed as integers, so that no order of summation changes it.
 *
 * What is counted:
 * - ndcg, dcg: the ideal has the same cutoff. map: precisions at relevant documents over
 *   min(relevant, k). p: over k even where the list is shorter. mrr: 0 past the cutoff. err: stops
 *   with probability gain / (largest gain of the data set + 1). rbp: without residual.
 * - A query is empty if nothing in it has a gain (ndcg, dcg, err) or is relevant (map, mrr, p,
 *   recall, rbp); it counts 0, 1 or not at all, the same for all of these.
 * - rmse, logloss: means over documents, whatever their query; no query is empty. logloss takes
 *   labels >= relevant as 1, and 1 / (1 + exp(-score)) as the probability.
 * - Weights one a query weigh queries (and all their documents in the losses). Weights one a
 *   document weigh documents in the losses; elsewhere a query has the mean of its documents'.
 * - Ties averaged: the exact mean over all orders within groups of equal scores, in closed form,
 * for every metric; err takes n x min(n, k) steps for a group of n.
 * - Judgments apart from runs (io/side_files.c): a ranking may leave documents out. Ideals and
 * numbers of relevant documents are of all of them, all else of those ranked. */
#pragma once

#include <math.h>

#include "base/exact.h"
#include "base/mem.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_dataset;

/* ---- gains, discounts and the ideal DCG: tables made once, on the host ---- */

/* D(r) = 1 / log2(2 + r), r from 0 (Burges 2010, section 1). */
RW_HD double rw_discount(uint32_t r)
{
    return 1.0 / rw_log2(2.0 + (double)r);
}

/* How a label becomes a gain. */
struct rw_gain_rule {
    enum { RW_GAIN_EXP, RW_GAIN_LINEAR, RW_GAIN_TABLE } kind;
    double *table; /* [n_table] gain of label 0, 1, ..., for RW_GAIN_TABLE; owned */
    uint32_t n_table;
    char text[64]; /* "2^l - 1", "l", "from FILE": for the conventions line */
};

/* spec: "exp", "linear", or a file with one gain of 0 to 2^31 a line, for labels 0, 1, 2, ...; or
 * "table 0 1 3", the gains of such a file, as a model has them. RW_ERR_IO, RW_ERR_PARSE
 * (file:line:column). The rule is released after a failure. */
int rw_gain_rule_init(struct rw_ctx *ctx, struct rw_gain_rule *rule, const char *spec);
/* `spec`, but of a file "table 0 1 3": so it stands in a model, since a path is no part of one.
 * *out is the caller's. */
int rw_gain_rule_spec(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const char *spec,
                      char **out);
void rw_gain_rule_release(struct rw_gain_rule *rule);

/* Gains of a data set's labels: [n_docs], written. A label that the rule cannot take (over 31 with
 * exp; not whole or past the table's end) is RW_ERR_DATA and names where it stands. */
int rw_gains(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const struct rw_dataset *dataset,
             double *gains);

/* values: [n], sorted in place by falling value; no NaN. */
void rw_sort_falling(double *values, uint32_t n);

uint32_t rw_longest_query(const uint32_t *query_offset, uint32_t n_queries);
void rw_discounts(double *discounts, uint32_t n); /* rw_discount of 0 to n - 1 */

/* Best DCG of the top `truncation` (0: all) of a query. gains: [n]; discounts: [>= n];
 * scratch: [n] doubles. Terms are added in falling order of gain. */
double rw_ideal_dcg(const double *gains, uint32_t n, uint32_t truncation, const double *discounts,
                    double *scratch);
/* rw_ideal_dcg of each query. gains: by document; ideal: [n_queries], written. */
int rw_ideal_dcgs(struct rw_ctx *ctx, const double *gains, const uint32_t *query_offset,
                  uint32_t n_queries, uint32_t truncation, const double *discounts, double *ideal);

/* Unsigned integers that rise where scores fall: -0 as +0, and an order even for NaN, so that no
 * input can run a sort out of its array. */
RW_HD uint64_t rw_falling_key(double score)
{
    const uint64_t bits = rw_bits_of_double(score + 0.0);
    return bits >> 63 ? bits : ~(bits | 0x8000000000000000ull);
}

/* Position after the last score equal to the one at a position; end: [n]; score: [n], falling. */
RW_HD void rw_tie_ends(const double *score, uint32_t n, uint32_t *end)
{
    for (uint32_t r = n; r-- > 0;)
        end[r] = r + 1 < n && score[r] == score[r + 1] ? end[r + 1] : r + 1;
}

/* ---- a metric ---- */

enum { RW_MAX_METRICS = 16 };

/* One query, ranked. All arrays: [n], in rank order, unless they say otherwise. */
struct rw_ranked_query {
    uint32_t n;
    uint32_t n_unranked; /* judged documents that the ranking leaves out: they count in the ideal,
                            among the relevant ones, and nowhere else */
    const double *gain;  /* NULL if the metric does not use gains */
    const float *label;  /* [n + n_unranked] those left out are last */
    const double *score;
    const double *discount; /* D(r), by position; [n + n_unranked] */
    const double *ideal;    /* [n + n_unranked] gains by falling order; NULL as gain */
    const double *weight;   /* documents' weights, for means over documents; NULL: all 1 */
    /* Position after the last document with the score of this one: the value wanted is the mean
     * over all orders within such groups. NULL: the order given is the one that counts. */
    const uint32_t *tie_end;
    double *scratch; /* [n + 1] for the function's own use */
    double max_gain; /* largest gain of the data set, for err */
};

/* By these kernels select a metric. */
enum rw_metric_device {
    RW_METRIC_HOST, /* none: the host measures it */
#define RW_METRIC(name, device, ...) RW_METRIC_##name,
#include "metric/metrics.def"
#undef RW_METRIC
};

struct rw_metric; /* one asked for: kind + cutoff */
struct rw_metric_kind {
    const char *name;
    int uses_gain, uses_relevance;
    int uses_discount, uses_max_gain; /* of the gains: for the line of conventions */
    int lower_is_better;
    int by_document;  /* the mean is over documents, not queries, and the order does not matter */
    int root;         /* values are squares; the root is taken of their mean */
    int ties_scratch; /* its mean over the orders of ties needs the scratch */
    enum rw_metric_device device;
    enum { RW_AT_NONE, RW_AT_OPTIONAL, RW_AT_REQUIRED, RW_AT_PERSISTENCE } at;
    /* The value (squared if `root`); NaN if the query is empty for this metric (nothing relevant:
     * no ideal). */
    double (*query)(const struct rw_metric *metric, const struct rw_ranked_query *query);
    const char *help;
};
struct rw_metric {
    const struct rw_metric_kind *kind;
    char name[32];      /* as asked for: "ndcg@10", "rbp:0.8" */
    uint32_t at;        /* 0: the whole list */
    double persistence; /* rbp */
    double relevant;    /* label from which a document is relevant */
};
/* text: a row's name, with "@k" or ":P" where the row takes it. Else RW_ERR_ARGUMENT, which names
 * the nearest metric. `out->name` is the canonical spelling. */
int rw_metric_parse(struct rw_ctx *ctx, const char *text, double relevant, struct rw_metric *out);
/* Several, with commas between them, at most RW_MAX_METRICS. */
int rw_metrics_parse(struct rw_ctx *ctx, const char *text, double relevant,
                     struct rw_metric out[RW_MAX_METRICS], int *n);

/* What every evaluation needs of a data set, made once. */
struct rw_judgments {
    struct rw_arena arena; /* of all arrays that are not borrowed */
    uint32_t n_docs, n_queries;
    const uint32_t *query_offset; /* [n_queries + 1] borrowed */
    const float *label;           /* [n_docs] borrowed */
    double *gain;                 /* [n_docs]; NULL if no metric uses gains */
    double *ideal;                /* [n_docs] each query's gains in falling order; NULL likewise */
    double *discount;             /* [longest] D(r) */
    double *weight;           /* [n_queries]; NULL: all 1. With a weight a document: the mean of the
                                 query's documents' */
    const double *doc_weight; /* [n_docs]; NULL: all 1; borrowed; for means over documents */
    double max_gain;
    double most_weight[2]; /* of a query; of a query, times its documents */
    int leaves_out;        /* a score of RW_UNRANKED is none: the run does not have the document */
    int is_shared;         /* with all workers: rw_judgments_share */
    uint32_t longest;
};
/* Released by the caller, also after a failure. */
int rw_judgments_init(struct rw_ctx *ctx, struct rw_judgments *judgments,
                      const struct rw_dataset *dataset, const struct rw_gain_rule *gains,
                      int any_uses_gain);
void rw_judgments_release(struct rw_judgments *judgments);
/* These are one worker's; means will be of all workers' queries from now on. All workers call it,
 * and rw_metric_eval afterwards. */
int rw_judgments_share(struct rw_ctx *ctx, struct rw_judgments *judgments);

/* order[r]: the index within the query of the document at position r, by falling score, then by
 * rising index, or by falling index if `reversed`. order: [n]. */
void rw_rank_query(const double *scores, uint32_t n, int reversed, uint32_t *order);

/* One metric over a set. scores: [n_docs], finite; per_query: [n_queries] or NULL: the values that
 * were averaged (roots of them where the metric is a root), NaN where a query does not count. A
 * weighted mean, NaN if no query counts; empty queries are left out (skip) or count 0 or 1 by
 * `empty`, whatever the metric. A value too large to average (rmse of huge scores) is RW_ERR_DATA.
 * Parallel, exact. `reversed` breaks ties by the reversed order of input (to measure how much ties
 * matter). */
struct rw_metric_result {
    double mean;
    uint32_t n_counted, n_empty;
};
int rw_metric_eval(struct rw_ctx *ctx, const struct rw_metric *metric,
                   const struct rw_judgments *judgments, const double *scores, enum rw_empty empty,
                   enum rw_ties ties, int reversed, double *per_query,
                   struct rw_metric_result *out);
/* By the input's order, and how far the mean moves where that is reversed: 0 where no order of ties
 * has a say. moved: NULL: not wanted. */
int rw_metric_eval_ties(struct rw_ctx *ctx, const struct rw_metric *metric,
                        const struct rw_judgments *judgments, const double *scores,
                        enum rw_empty empty, enum rw_ties ties, double *per_query,
                        struct rw_metric_result *out, double *moved);

/* What is to be measured of a set, for engines that measure by themselves. */
struct rw_metric_plan {
    const struct rw_judgments *judgments;
    const struct rw_metric *metric; /* [n_metrics] none whose kind's device is RW_METRIC_HOST */
    int n_metrics;
    enum rw_empty empty;
    enum rw_ties ties;
};
/* Sums over the queries that count, 128 bits each: of value x weight in 2^-40 and of weights. */
struct rw_metric_sums {
    uint64_t value_lo;
    int64_t value_hi;
    uint64_t weight_lo;
    int64_t weight_hi;
};
/* The queries' weights as whole numbers. weights: [n_queries], written. */
void rw_metric_weights(const struct rw_metric_kind *kind, const struct rw_judgments *judgments,
                       int64_t *weights);
/* The mean that rw_metric_eval gives for these sums. */
double rw_metric_mean(const struct rw_metric_kind *kind, const struct rw_metric_sums *sums);

/* The line that says what is counted, e.g. "gain 2^l - 1, discount 1/log2(1 + rank), queries
 * without a relevant document left out, ties in input order": only what touches one of the metrics,
 * and which labels are relevant. gains may be NULL if none uses them. is_qrels: of the data set. */
void rw_metrics_conventions(const struct rw_metric *metrics, int n_metrics,
                            const struct rw_gain_rule *gains, enum rw_empty empty,
                            enum rw_ties ties, int is_qrels, char *buffer, size_t size);

/* The rows' functions. */
#define RW_METRIC(name, ...) \
    double rw_query_##name(const struct rw_metric *metric, const struct rw_ranked_query *query);
#include "metric/metrics.def"
#undef RW_METRIC

/* Documents that can be in the ideal, and be relevant. */
RW_HD uint32_t rw_n_judged(const struct rw_ranked_query *query)
{
    return query->n + query->n_unranked;
}
/* Positions that count: the cutoff, or the whole list. */
RW_HD uint32_t rw_metric_top(const struct rw_metric *metric, uint32_t n)
{
    return metric->at && metric->at < n ? metric->at : n;
}
/* The end of the group of positions, from `begin`, over whose orders the mean is taken. */
RW_HD uint32_t rw_group_end(const struct rw_ranked_query *query, uint32_t begin)
{
    return query->tie_end ? query->tie_end[begin] : begin + 1;
}

#ifdef __cplusplus
}
#endif

/* The mathematics of the metrics: one ranked query's value, once for host and device. metric.c's
 * table and the kernels make their calls of these from metrics.def.
 *
 * DCG and NDCG: Jarvelin and Kekalainen 2002, with the discount of Burges et al. 2005. Of the
 * others all but err know only "relevant" (label >= L) and not.
 *
 * With ties to be averaged each gives the exact mean over all orders of the documents within each
 * group of equal scores: the group at positions [begin, end) has n documents, m of them relevant.
 */
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

/* Metrics as other programs print them. Each program is a row of dialect.c's table: how it reads
 * scores, which labels it takes, and for each of its metrics what ties, gains, cutoffs, weights
 * and queries without a relevant document do there. To add a program: a row in dialect.c, a
 * function in tests/peers/dialect_peers.py that asks the program itself, and the name in
 * docs/rankwood.1.in. */
/* Where a program puts documents of equal scores. */
enum rw_dialect_ties {
    RW_PUT_FILE,      /* in the order of the input */
    RW_PUT_MEAN,      /* the mean over all orders */
    RW_PUT_BY_ID,     /* by falling document id, as text (trec_eval's rule) */
    RW_PUT_LOW_FIRST, /* lower labels first */
    RW_PUT_HIGH_FIRST /* higher labels first */
};
enum rw_dialect_cut { RW_CUT_MAY, RW_CUT_MUST, RW_CUT_NEVER };
/* What weights of queries do. */
enum rw_dialect_weights { RW_WEIGHED_NOT, RW_WEIGHED, RW_WEIGHED_BUT_EMPTY /* those add 1 each */ };

/* A program's metric. What a row leaves out is 0. */
struct rw_dialect_metric {
    const char *name;   /* ours: "ndcg" */
    const char *theirs; /* "NDCG:top=", the cutoff follows; NULL: the same as ours */
    enum rw_dialect_cut cut;
    uint32_t whole_at; /* what the metric without a cutoff is cut at; 0: not at all */
    enum rw_empty empty;
    enum rw_dialect_ties ties;
    enum rw_dialect_weights weights;
    const char *gain;   /* "exp", "linear"; NULL: none */
    double err_ceiling; /* err: what gains are divided by; 0: the data's largest and 1 */
    double relevant;    /* label from which a document is relevant; 0: 1 */
    double most_label;  /* largest label that it takes; 0: any */
    /* NULL: as the metric's own row in metrics.def */
    double (*query)(const struct rw_metric *metric, const struct rw_ranked_query *query);
    const char *query_says; /* what that function does otherwise; NULL with it */
};

struct rw_dialect {
    const char *name;    /* "lightgbm" */
    const char *program; /* "LightGBM" */
    int float_scores;    /* scores are rounded to float before they are compared */
    int whole_labels;    /* other labels are refused */
    int gain_choice;     /* its user may choose the gain: 1 exp or linear, 2 a table too */
    const struct rw_dialect_metric *metric; /* [n_metrics] */
    int n_metrics;
};

/* The table, by index; NULL past the end. */
const struct rw_dialect *rw_dialect_at(int i);
/* By name, else RW_ERR_ARGUMENT, which names the nearest. */
int rw_dialect_find(struct rw_ctx *ctx, const char *name, const struct rw_dialect **out);
/* Does it let its user choose this gain of labels? */
int rw_dialect_has_gain(const struct rw_dialect *dialect, const char *label_gain);
/* The program's own row for a metric of ours, or RW_ERR_ARGUMENT: it has none, or none with (or
 * without) a cutoff. */
int rw_dialect_metric_find(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                           const struct rw_metric *metric, const struct rw_dialect_metric **out);

struct rw_dialect_value {
    const struct rw_dialect_metric *row; /* the program's own */
    struct rw_metric_result result;
    double ties_moved; /* mean with the input's order reversed minus the mean; 0 where that has no
                          say */
};
/* The mean that the program prints. label_gain: NULL, or what its user chose instead of its own
 * default (RW_ERR_ARGUMENT if there is no choice). scores: [n_docs], finite. per_query: [n_queries]
 * or NULL, as rw_metric_eval has it. A label that the program refuses is RW_ERR_DATA. */
int rw_dialect_eval(struct rw_ctx *ctx, const struct rw_dialect *dialect,
                    const struct rw_metric *metric, const char *label_gain,
                    const struct rw_dataset *dataset, const double *scores, double *per_query,
                    struct rw_dialect_value *out);
/* What it counts, in one line. */
void rw_dialect_conventions(const struct rw_dialect *dialect, const struct rw_dialect_metric *row,
                            const char *label_gain, uint32_t at, const struct rw_dataset *dataset,
                            char *buffer, size_t size);

/* A document's id as predict --trec writes it: what its comment says, else the query's id, '-', and
 * its number in the query from 1. index: in the query, from 0. */
void rw_dialect_doc_id(const struct rw_dataset *dataset, uint32_t query, uint32_t index,
                       char *buffer, size_t size);
