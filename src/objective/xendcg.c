/* XE-NDCG (Bruch, "An alternative cross entropy loss for learning-to-rank", 2021): the cross
 * entropy of the softmax of scores with the target 2^label - gamma, normalised over the query.
 * gamma is drawn from (0, 1) for each tree and document. 2^label is gain + 1 here, so that other
 * gains have a target, too. These are the exact gradients of the loss. LightGBM's rank_xendcg
 * adds terms of an approximate inverse of the whole matrix of second derivatives. */
#include "base/rng.h"
#include "objective/objective.h"

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    double *target = query->scratch;
    for (uint32_t i = 0; i < query->n; i++) {
        const uint32_t word =
            rw_random(rule->seed, query->first_document + i, query->tree, RW_STREAM_XENDCG);
        target[i] = rw_xendcg_target(query->gains[i], word);
    }
    rw_softmax_gradients(query, target, query->scratch + query->n);
}

const struct rw_objective rw_objective_xendcg = {.name = "xendcg",
                                                 .params = "",
                                                 .ranks = 1,
                                                 .draws = 1,
                                                 .scratch = 2,
                                                 .device = RW_OBJECTIVE_XENDCG,
                                                 .query = query_of};
