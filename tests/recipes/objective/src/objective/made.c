/* The logistic loss of labels over 0: an objective that is added to a copy of the tree. */
#include "base/exact.h"
#include "objective/objective.h"

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    (void)rule;
    for (uint32_t i = 0; i < query->n; i++) {
        const double p = 1.0 / (1.0 + (double)rw_expf(-(float)query->scores[i]));
        query->gradient[i] = (query->labels[i] > 0.0f ? 1.0 : 0.0) - p;
        query->hessian[i] = p * (1.0 - p);
    }
}

const struct rw_objective rw_objective_made = {
    .name = "made", .params = "", .device = RW_OBJECTIVE_HOST, .query = query_of};
