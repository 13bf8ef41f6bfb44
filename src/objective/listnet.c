/* ListNet (Cao, Qin, Liu, Tsai and Li, "Learning to rank: from pairwise approach to listwise
 * approach", 2007): the cross entropy of the probabilities of being ranked first, phi(x_i) / sum
 * phi(x_j) (section 4.2, theorem 6). For scores, phi is exp, as in the paper. For labels, phi is
 * the gain, so the target is a document's share of its query's gains, and documents with gain 0
 * have target 0. CatBoost's QuerySoftMax is equal to it with `--label-gain linear`, except that
 * CatBoost weighs a query by the sum of its labels. Here all queries have equal weight. */
#include "objective/objective.h"

static void query_of(const struct rw_objective_rule *rule, const struct rw_objective_query *query)
{
    (void)rule;
    rw_softmax_gradients(query, query->gains, query->scratch);
}

const struct rw_objective rw_objective_listnet = {.name = "listnet",
                                                  .params = "",
                                                  .ranks = 1,
                                                  .scratch = 1,
                                                  .device = RW_OBJECTIVE_LISTNET,
                                                  .query = query_of};
