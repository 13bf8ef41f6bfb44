/* Squared error within queries (CatBoost's QueryRMSE). The residual of a document is its label
 * minus its score. The loss is half the squared difference between the residual and the query's
 * mean residual, weighed by document weights. A constant added to all scores of a query does not
 * change it, so only differences are fitted. The second derivative is taken as 1, as if the mean
 * were fixed. */
#include "objective/objective.h"

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    (void)rule;
    const double first = rw_residual_from(0.0, query->labels[0], query->scores[0]);
    double sum = 0.0, weights = 0.0;
    for (uint32_t i = 0; i < query->n; i++) {
        const double weight = query->weights ? query->weights[i] : 1.0;
        query->gradient[i] = rw_residual_from(first, query->labels[i], query->scores[i]);
        query->hessian[i] = 1.0;
        sum += weight * query->gradient[i];
        weights += weight;
    }
    const double mean = rw_residual_mean(sum, weights);
    for (uint32_t i = 0; i < query->n; i++)
        query->gradient[i] -= mean;
}

const struct rw_objective rw_objective_queryrmse = {
    .name = "queryrmse", .params = "", .device = RW_OBJECTIVE_QUERYRMSE, .query = query_of};
