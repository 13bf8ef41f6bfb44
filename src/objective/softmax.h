/* The softmax of a query's scores, and the cross entropy that listwise objectives have with it:
 * that of a target t and p_i = exp(s_i) / sum exp(s_j) is -sum t_i log p_i; its gradient by a score
 * is p_i - t_i, its second derivative p_i (1 - p_i). Sums are taken in the order of the documents.
 */
#ifndef RW_OBJECTIVE_SOFTMAX_H
#define RW_OBJECTIVE_SOFTMAX_H

#include "objective/objective.h"

/* exp(score - the query's best), not under 2^-900: no score is too large or too small. */
RW_HD double rw_softmax_power(double score, double best)
{
    const double x = (score - best) * 1.4426950408889634;
    return rw_exp2(x > -900.0 ? x : -900.0);
}

static inline void rw_softmax_powers(const double *scores, uint32_t n, double *power)
{
    double most = scores[0];
    for (uint32_t i = 1; i < n; i++)
        most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < n; i++)
        power[i] = rw_softmax_power(scores[i], most);
}

/* Whether some order of the query's documents is better than another. */
static inline int rw_softmax_can_rank(const struct rw_objective_query *query)
{
    for (uint32_t i = 1; i < query->n; i++) {
        if (query->gains[i] != query->gains[0])
            return 1;
    }
    return 0;
}

/* The gradients of a query whose target is the share of each document's amount in their sum. If no
 * order is better than another, the query contributes nothing, as in lambdarank.
 * amounts: [n], none negative, not all 0; power: [n] scratch. */
static inline void rw_softmax_gradients(const struct rw_objective_query *query,
                                        const double *amounts, double *power)
{
    const int counts = rw_softmax_can_rank(query);
    double amount_sum = 0.0, power_sum = 0.0;
    rw_softmax_powers(query->scores, query->n, power);
    for (uint32_t i = 0; i < query->n; i++) {
        amount_sum += amounts[i];
        power_sum += power[i];
    }
    for (uint32_t i = 0; i < query->n; i++) {
        const double p = power[i] / power_sum;
        query->gradient[i] = counts ? amounts[i] / amount_sum - p : 0.0;
        query->hessian[i] = counts ? p * (1.0 - p) : 0.0;
    }
}

#endif
