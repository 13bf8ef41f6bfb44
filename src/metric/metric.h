/* Words, as everywhere in the library:
 *   query, doc     what is asked; what is ranked for it. A row is a doc of a whole set
 *   feature, bin   a column of the data; an interval of its values. A cut is a bin's upper edge, a
 *                  code the small number that stands for a bin
 *   node, leaf     of a tree; a slot is where an engine keeps a node of the tree being grown
 *   label, gain    the judgment; what it is worth
 *   score          what the model says; the order is by falling score, then as in the input
 *   lambda, hessian  first and second derivatives of the loss, by document; a weight is a
 *                  sample's
 *   position       in the ranking, from 0 (rank_hi, r); an index names a document (doc_hi, i)
 *   n_x counts, x_bytes sizes, x_ms times */

/* Metrics of a ranked query. To add one: (1) write rw_query_<name> in metric/<name>.c, (2) give it
 * a row in metrics.def, with the device HOST, which the build follows, (3) give it a spelling and
 * its definition in tests/unit/naive_metrics.h. The command line, training on any engine, eval and
 * the property tests read the table; tests/recipes adds one in this way. A metric that GPUs are to
 * measure by themselves is written as rw_<name>_of in metric_formulas.h instead, with the device
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
 * - Judgments apart from runs (io/qrels.c): a ranking may leave documents out. Ideals and numbers
 * of relevant documents are of all of them, all else of those ranked. */
#ifndef RW_METRIC_H
#define RW_METRIC_H

#include "metric/dcg.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    uint32_t n_docs, n_queries;
    const uint32_t *query_offset; /* [n_queries + 1] borrowed */
    const float *label;           /* [n_docs] borrowed */
    double *gain;                 /* [n_docs]; NULL if no metric uses gains; owned */
    double *ideal;    /* [n_docs] each query's gains in falling order; NULL likewise; owned */
    double *discount; /* [longest] D(r); owned */
    double *weight;   /* [n_queries]; NULL: all 1; owned. With a weight a document: the
                         mean of the query's documents' */
    const double *doc_weight; /* [n_docs]; NULL: all 1; borrowed; for means over documents */
    double max_gain;
    double most_weight[2]; /* of a query; of a query, times its documents */
    int leaves_out;        /* a score of RW_UNRANKED is none: the run does not have the document */
    int is_shared;         /* with all ranks: rw_judgments_share */
    uint32_t longest;
};
struct rw_dataset;
int rw_judgments_init(struct rw_ctx *ctx, struct rw_judgments *judgments,
                      const struct rw_dataset *dataset, const struct rw_gain_rule *gains,
                      int any_uses_gain);
void rw_judgments_release(struct rw_judgments *judgments);
/* These are one rank's; means will be of all ranks' queries from now on. All ranks call it, and
 * rw_metric_eval afterwards. */
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
#endif
