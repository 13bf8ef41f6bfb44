/* The logistic loss of single documents. A label of `--relevant` or more counts as relevant, as
 * in the metric logloss, and a score is the log of the odds of being relevant. With the default
 * of 1, graded labels count as over 0 or not, as in LightGBM's binary. With labels of 0 and 1 it
 * is XGBoost's binary:logistic and CatBoost's Logloss. */
#include "objective/objective.h"

enum { RELEVANT = 0 }; /* index among its parameters */

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    for (uint32_t i = 0; i < query->n; i++) {
        const struct rw_gradient of_one = rw_logistic_gradient(
            query->scores[i], (double)query->labels[i] >= rule->value[RELEVANT]);
        query->gradient[i] = of_one.gradient;
        query->hessian[i] = of_one.hessian;
    }
}

const struct rw_objective rw_objective_logistic = {
    .name = "logistic", .params = "relevant", .device = RW_OBJECTIVE_LOGISTIC, .query = query_of};
