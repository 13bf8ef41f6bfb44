/* ListNet (Cao, Qin, Liu, Tsai and Li, "Learning to rank: from pairwise approach to listwise
 * approach", 2007): the cross entropy of the probabilities of standing first (section 4.2, theorem
 * 6), phi(x_i) / sum phi(x_j). Of scores phi is exp, as in the paper; of labels it is their gain,
 * so that the target is the share of a document's gain in its query's gains, and a document without
 * gain has no part of it. CatBoost's QuerySoftMax is the same for `--label-gain linear`, but that
 * there a query counts by the sum of its labels, here each as much as another. */
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
                                                  .device = RW_OBJECTIVE_HOST,
                                                  .query = query_of};
