/* Deltas. lambdarank weighs a pair of documents by the change of a metric if the two swap their
 * positions (Burges 2010, section 4). The metrics are those of metric/metric.h for a single
 * ranking, in which ties keep the order of the input. Only p@k has a cutoff. The host and devices
 * share this arithmetic.
 *
 * A document's grade is the metric's view of its label. It is the gain, or for metrics of
 * relevance 1 for labels of --relevant or more and 0 for others. Documents of equal grade form
 * no pair. */
#pragma once

#include <math.h>

#include "base/exact.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rw_delta_kind {
    RW_DELTA_NDCG, /* 0, the default of the parameter */
    RW_DELTA_DCG,
    RW_DELTA_MAP,
    RW_DELTA_MRR,
    RW_DELTA_ERR,
    RW_DELTA_NONE, /* every pair has the same weight */
    RW_DELTA_P
};

/* Returns a value of the parameter `delta` as one number, the form in which a rule stores
 * parameters; -1: invalid text. */
double rw_delta_number(const char *text);
enum rw_delta_kind rw_delta_kind(double number);
uint32_t rw_delta_cutoff(double number); /* the k of p@k; 0 for other deltas */
/* Returns 1 if grades are relevances (0 or 1), 0 if they are gains. */
RW_HD int rw_delta_is_of_relevance(enum rw_delta_kind kind)
{
    return kind == RW_DELTA_MAP || kind == RW_DELTA_MRR || kind == RW_DELTA_P;
}

/* Writes the grades of n documents. relevant: the label from which a document is relevant. */
void rw_delta_grades(enum rw_delta_kind kind, double relevant, const double *gains,
                     const float *labels, uint32_t n, double *grade);

/* A ranked query, with arrays by position, for the computation of deltas. */
struct rw_delta_query {
    enum rw_delta_kind kind;
    uint32_t n, cutoff;
    const double *grade;     /* [n] */
    const double *discounts; /* [>= n] */
    double ideal;            /* ndcg: the ideal DCG, positive */
    double max_gain;         /* err: the largest gain of all workers' training sets */
    /* ---- written by rw_delta_prepare ---- */

    /* each [n]. map: prefix[0] is the number of relevant documents above a position, and prefix[1]
     * the sum of 1 / (1 + s) over the positions s of these; err: prefix[0] is the probability that
     * the reader gets to a position */
    const double *prefix[2];
    double n_relevant;    /* map */
    uint32_t relevant[2]; /* mrr: positions of the first two relevant documents; n: missing */
};

/* Fills the remaining fields of a query. prefix: [2][n], used until the query's last delta. */
void rw_delta_prepare(struct rw_delta_query *query, double *prefix);

/* err: returns the probability, under 1, that a reader who reaches a document stops there. */
RW_HD double rw_delta_stop(double grade, double max_gain)
{
    return grade / (max_gain + 1.0);
}

/* The deltas of a document with those below it. */
struct rw_delta_row {
    uint32_t above;       /* its position */
    double reciprocal;    /* 1 / (1 + above) */
    double precision;     /* map: at `above`, with a relevant document there */
    uint32_t below;       /* err: passes and stops are of the positions up to here */
    double passes, stops; /* err: sums over the positions between the two documents */
};

RW_HD struct rw_delta_row rw_delta_row(const struct rw_delta_query *query, uint32_t above)
{
    struct rw_delta_row row;
    row.above = above;
    row.below = above + 1;
    row.reciprocal = 1.0 / (double)(above + 1);
    row.precision =
        query->kind == RW_DELTA_MAP ? (query->prefix[0][above] + 1.0) / (double)(above + 1) : 0.0;
    row.passes = 1.0;
    row.stops = 0.0;
    return row;
}

RW_HD double rw_delta_of_dcg(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    return fabs(query->grade[above] - query->grade[below]) *
           (query->discounts[above] - query->discounts[below]);
}

/* Returns the change of average precision, which is a sum over relevant documents. The one
 * relevant document of the two moves between `above` and `below`, which changes its precision.
 * For each relevant document in between, the number of relevant documents above it changes by one,
 * which changes its precision by 1 / (1 + s) at position s. */
RW_HD double rw_delta_of_map(const struct rw_delta_query *query, const struct rw_delta_row *row,
                             uint32_t below)
{
    const double *count = query->prefix[0], *sum = query->prefix[1];
    const int is_above = query->grade[row->above] > query->grade[below];
    const double own = is_above ? row->reciprocal : 0.0; /* included in the sum at `below` */
    const double at_below = (count[below] + (is_above ? 0.0 : 1.0)) / (double)(below + 1);
    return (row->precision - at_below + (sum[below] - sum[row->above] - own)) / query->n_relevant;
}

RW_HD double rw_delta_of_mrr(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    const uint32_t first = query->relevant[0], second = query->relevant[1];
    uint32_t then = first;
    if (above < first) /* so the document below is relevant */
        then = above;
    else if (above == first)
        then = below < second ? below : second;
    return fabs(1.0 / (double)(then + 1) - 1.0 / (double)(first + 1));
}

/* Returns the change of expected reciprocal rank. After the swap, readers stop at `above` with
 * the other document's probability. The more of them stop there, the fewer reach the positions
 * in between and `below`. The number that passes `below` does not change. Products run over the
 * documents in between, so no division by those above is needed. */
RW_HD double rw_delta_of_err(const struct rw_delta_query *query, struct rw_delta_row *row,
                             uint32_t below)
{
    for (; row->below < below; row->below++) {
        const double stop = rw_delta_stop(query->grade[row->below], query->max_gain);
        row->stops += row->passes * stop / (double)(row->below + 1);
        row->passes = row->passes * (1.0 - stop);
    }
    const double gets_earlier = row->reciprocal - row->stops - row->passes / (double)(below + 1);
    return query->prefix[0][row->above] *
           fabs(rw_delta_stop(query->grade[row->above], query->max_gain) -
                rw_delta_stop(query->grade[below], query->max_gain)) *
           gets_earlier;
}

/* Returns the absolute change of the metric if the row's document and the one at position `below`,
 * of different grades, are swapped. `below` must not be smaller than in the row's last call. For
 * err, a call takes a step per position from there on. */
RW_HD double rw_delta_next(const struct rw_delta_query *query, struct rw_delta_row *row,
                           uint32_t below)
{
    switch (query->kind) {
    case RW_DELTA_NDCG:
        return rw_delta_of_dcg(query, row->above, below) / query->ideal;
    case RW_DELTA_DCG:
        return rw_delta_of_dcg(query, row->above, below);
    case RW_DELTA_MAP:
        return rw_delta_of_map(query, row, below);
    case RW_DELTA_MRR:
        return rw_delta_of_mrr(query, row->above, below);
    case RW_DELTA_ERR:
        return rw_delta_of_err(query, row, below);
    case RW_DELTA_P:
        return row->above < query->cutoff && below >= query->cutoff ? 1.0 / (double)query->cutoff
                                                                    : 0.0;
    case RW_DELTA_NONE:
        break;
    }
    return 1.0;
}

/* Returns rw_delta_next of any two positions above < below. */
RW_HD double rw_delta_of(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    struct rw_delta_row row = rw_delta_row(query, above);
    return rw_delta_next(query, &row, below);
}

#ifdef __cplusplus
}
#endif
