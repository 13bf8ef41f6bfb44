/* Deltas: what exchanging two documents of a ranked query would change in a metric, by which
 * lambdarank weighs their pair (Burges 2010, section 4). The metrics are those of metric/metric.h,
 * of the whole list but for p@k, and of one ranking: ties stand in the order of the input.
 *
 * A document's grade is what the metric sees of its label: the gain, or 1 for labels of --relevant
 * or more and else 0. Documents of one grade are no pair. */
#ifndef RW_OBJECTIVE_DELTA_H
#define RW_OBJECTIVE_DELTA_H

#include <stdint.h>

enum rw_delta_kind {
    RW_DELTA_NDCG, /* 0, the parameter's default */
    RW_DELTA_DCG,
    RW_DELTA_MAP,
    RW_DELTA_MRR,
    RW_DELTA_ERR,
    RW_DELTA_NONE, /* every pair counts alike */
    RW_DELTA_P
};

/* A value of the parameter `delta` as one number, which is what a rule has of a parameter. -1: it
 * is none. */
double rw_delta_number(const char *text);
enum rw_delta_kind rw_delta_kind(double number);
uint32_t rw_delta_cutoff(double number); /* the k of p@k; else 0 */
/* Are grades relevances? Else they are gains. */
int rw_delta_is_of_relevance(enum rw_delta_kind kind);

/* A query by position, for its deltas. */
struct rw_delta_query {
    enum rw_delta_kind kind;
    uint32_t n, cutoff;
    const double *grade;     /* [n] */
    const double *discounts; /* [>= n] */
    double ideal;            /* ndcg; over 0 */
    double max_gain;         /* err: the largest of the training set */
    /* Made by rw_delta_prepare. */
    double *prefix[2];    /* [n] map: how many relevant documents are above, and the sum of
                             1 / (1 + s) over their positions s; err: the chance to get here */
    double n_relevant;    /* map */
    uint32_t relevant[2]; /* mrr: positions of the first two; n: there is none */
    /* err: of the positions between `above` and `below`, what rw_delta_of has added up so far */
    uint32_t above, below;
    double passes, stops;
};

/* Makes the rest of a query whose first fields are set. prefix: [2][n], kept. */
void rw_delta_prepare(struct rw_delta_query *query, double *prefix);
/* |the metric after the exchange - the metric| of two positions, above < below, of different
 * grades. err takes a step for each position between the two, but goes on from the last call if
 * that had the same `above` and not a greater `below`. */
double rw_delta_of(struct rw_delta_query *query, uint32_t above, uint32_t below);

#endif
