/* Squared error: the gradient of a document is its residual, label minus score. */
#include "objective/objective.h"

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    (void)rule;
    for (uint32_t i = 0; i < query->n; i++) {
        query->gradient[i] = (double)query->labels[i] - query->scores[i];
        query->hessian[i] = 1.0;
    }
}

const struct rw_objective rw_objective_regression = {
    .name = "regression", .params = "", .device = RW_OBJECTIVE_RESIDUALS, .query = query_of};
