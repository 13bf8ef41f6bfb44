/* Metrics of a ranked query. To add one: write its function in rank/<name>.c, declare it here, and
 * give it a row in metric.c's table; the command line, training, eval and the property tests read
 * the table.
 *
 * A query's metric is summed in rank order in double; the mean over queries is taken over values
 * rounded to multiples of 2^-40 and summed as integers, so that no order of summation changes it. */
#ifndef RW_RANK_METRIC_H
#define RW_RANK_METRIC_H

#include "rank/dcg.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rw_empty { RW_EMPTY_ZERO, RW_EMPTY_ONE, RW_EMPTY_SKIP };
enum rw_ties { RW_TIES_FILE, RW_TIES_MEAN };

/* One query, ranked. All arrays: [n], in rank order. */
struct rw_ranked_query {
    uint32_t n;
    const double *gain;   /* NULL if the metric does not use gains */
    const float *label;
    const double *score;
    const double *discount; /* D(r), by position */
    const double *ideal;    /* gains by falling order, for ndcg */
    double max_gain;        /* largest gain of the data set, for err */
};

struct rw_metric; /* one asked for: kind + cut-off */
struct rw_metric_kind {
    const char *name;
    int uses_gain, uses_relevance;
    int lower_is_better;
    enum { RW_AT_NONE, RW_AT_OPTIONAL, RW_AT_REQUIRED, RW_AT_PERSISTENCE } at;
    /* The value; NaN if the query is empty for this metric (nothing relevant: no ideal). */
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
/* Table, by index; NULL past the end. */
const struct rw_metric_kind *rw_metric_kind_at(int i);
int rw_metric_parse(struct rw_ctx *ctx, const char *text, double relevant, struct rw_metric *out);

/* What every evaluation needs of a data set, made once. */
struct rw_judged {
    uint32_t n_docs, n_queries;
    const uint32_t *query_offset; /* [n_queries + 1] borrowed */
    const float *label;           /* [n_docs] borrowed */
    double *gain;                 /* [n_docs]; NULL if no metric uses gains; owned */
    double *ideal;                /* [n_docs] each query's gains in falling order; NULL likewise; owned */
    double *discount;             /* [longest] D(r); owned */
    double *weight;               /* [n_queries]; NULL: all 1; owned */
    double max_gain;
    uint32_t longest;
};
struct rw_dataset;
int rw_judged_init(struct rw_ctx *ctx, struct rw_judged *judged, const struct rw_dataset *dataset,
                   const struct rw_gain_rule *gains, int any_uses_gain);
void rw_judged_release(struct rw_judged *judged);

/* Positions to places: order[r] = the document (within the query) at position r, by falling score,
 * then rising place, or falling place if `reversed`. order: [n]. */
void rw_rank_query(const double *scores, uint32_t n, int reversed, uint32_t *order);

/* One metric over a set. scores: [n_docs]; per_query: [n_queries] or NULL. A weighted mean; queries
 * that do not count are left out (skip) or count 0 or 1 by `empty`. Parallel, exact. `reversed`
 * breaks ties by the reversed order of input (to measure how much ties matter). */
struct rw_metric_result {
    double mean;
    uint32_t n_counted, n_empty;
};
int rw_metric_eval(struct rw_ctx *ctx, const struct rw_metric *metric,
                   const struct rw_judged *judged, const double *scores, enum rw_empty empty,
                   enum rw_ties ties, int reversed, double *per_query,
                   struct rw_metric_result *out);

/* The line that says what is counted, e.g. "gain 2^l - 1, discount 1/log2(1 + rank), queries without
 * a relevant document left out, ties in input order". */
void rw_metric_conventions(const struct rw_gain_rule *gains, enum rw_empty empty,
                           enum rw_ties ties, char *buffer, size_t size);

#ifdef __cplusplus
}
#endif
#endif
