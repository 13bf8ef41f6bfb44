/* The logistic loss of single documents. A label of `--relevant` or more counts as relevant, as
 * in the metric logloss, and a score is the log of the odds of being relevant. With the default
 * of 1, graded labels count as over 0 or not, as in LightGBM's binary. With labels of 0 and 1 it
 * is XGBoost's binary:logistic and CatBoost's Logloss. */
#include "objective/objective.h"

enum { RELEVANT = 0 }; /* index among its parameters */

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    for (uint32_t i = 0; i < query->n; i++) {
        const double score = query->scores[i];
        const double x = (score < 0.0 ? score : -score) * 1.4426950408889634;
        const double odds = rw_exp2(x > -900.0 ? x : -900.0); /* of the less likely outcome */
        const double likely = 1.0 / (1.0 + odds), unlikely = odds / (1.0 + odds);
        const int is_relevant = (double)query->labels[i] >= rule->value[RELEVANT];
        const double lacks = is_relevant == (score < 0.0) ? likely : unlikely;
        query->gradient[i] = is_relevant ? lacks : -lacks;
        query->hessian[i] = likely * unlikely;
    }
}

const struct rw_objective rw_objective_logistic = {
    .name = "logistic", .params = "relevant", .device = RW_OBJECTIVE_HOST, .query = query_of};
