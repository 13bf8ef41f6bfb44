/* check_lambda, stage neighbours: YetiRank's gradients of every delta on the device against
 * rw_gradients, by ==. */
#include <stdio.h>
#include <string.h>

#include "check_lambda.h"
#include "objective/lambda.h"

int lambda_expect_neighbours(struct rw_ctx *ctx, const struct lambda_set *set,
                             const struct rw_engine_rules *rules, int64_t *lambda, int64_t *hessian)
{
    struct rw_gradients *gradients;
    const struct rw_user_gradients *handed;
    const size_t bytes = set->data.n_docs * sizeof(*lambda);
    RW_TRY(rw_gradients_new(ctx, rules->objective, rules->rule, &set->data, LAMBDA_FIRST_DOC,
                            set->gain, NULL, &gradients));
    const int status = rw_gradients_run(gradients, LAMBDA_TREE, 0.1, set->score, &handed);
    if (status >= 0) {
        memcpy(lambda, handed->lambda, bytes);
        memcpy(hessian, handed->hess, bytes);
    }
    rw_gradients_free(gradients);
    return status;
}

/* The rule of a delta of the set, and what trains by it. */
static const struct rw_objective *rule_of(const struct lambda_set *set, const char *delta,
                                          struct rw_objective_rule *rule, int permutations,
                                          double decay)
{
    rule->value[rw_objective_param(&rw_objective_yetirank, "delta")] = rw_delta_number(delta);
    const struct rw_objective *objective = lambda_objective(set, &rw_objective_yetirank, rule);
    const int at = rw_objective_param(objective, "decay");
    rule->value[rw_objective_param(objective, "permutations")] = permutations;
    if (at >= 0)
        rule->value[at] = decay;
    return objective;
}

/* Every delta of every kind of labels, gains and scores; truncation, sigma, rankings, weights and
 * samples in turn. */
void lambda_stage_neighbours(struct lambda_run *run)
{
    static const char *const deltas[] = {"ndcg", "map", "dcg", "err", "mrr", "p@5", "none", "p@1"};
    static const uint32_t truncations[] = {30, 0, 1, 10, 31, 2, 4096, 33, 63, 100};
    static const float sigmas[] = {1.0f, 2.5f, 1.0f, 0.001f, 100.0f};
    static const int permutations[] = {10, 1, 4, 5, 3, 7};
    uint32_t turn = 0;
    for (int shape = 0; shape < LAMBDA_SHAPES; shape++)
        for (int labels = 0; labels < N_LABELS; labels++)
            for (int gains = 0; gains < N_GAINS; gains++)
                for (int scores = 0; scores < N_SCORES; scores++, turn++) {
                    if ((shape >= 3 && turn % 5) || (run->quick && turn % 7))
                        continue;
                    /* so that deltas meet all of the others */
                    const char *delta = deltas[(turn + turn / LENGTH(deltas)) % LENGTH(deltas)];
                    struct lambda_set set;
                    lambda_make_turn(run, &set, shape, labels, gains, turn, turn % 4 == 3);
                    struct rw_objective_rule rule = {
                        .pair = {sigmas[turn / 2 % LENGTH(sigmas)],
                                 truncations[turn / 3 % LENGTH(truncations)], 0},
                        .seed = run->seed << 33 | turn};
                    const int n = permutations[turn / 7 % LENGTH(permutations)];
                    const struct rw_engine_rules rules = {
                        .objective = rule_of(&set, delta, &rule, n, turn % 2 ? 0.85 : 1.0),
                        .lambda = rule.pair,
                        .rule = &rule};
                    char what[100];
                    snprintf(what, sizeof(what),
                             "%s, %d times, shape %d, labels %d, gains %d, scores %d", delta, n,
                             shape, labels, gains, scores);
                    lambda_check_gradients(run, &set, &rules, scores, what);
                    lambda_set_release(&set);
                }
}
