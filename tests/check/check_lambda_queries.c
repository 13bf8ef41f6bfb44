/* check_lambda, stages queries and deltas: gradients that are real numbers, against rw_gradients,
 * by ==. The first stage has those of softmax, queryrmse and logistic, the second those of
 * lambdarank by every delta except NDCG's or drawn pairs. Gradients beyond the limits are refused
 * with the host's message.
 */
#include <stdio.h>
#include <string.h>

#include "check_lambda.h"

int lambda_expect_reals(struct rw_ctx *ctx, const struct lambda_set *set,
                        const struct rw_engine_rules *rules, double *gradient, double *hessian)
{
    struct rw_gradients *gradients;
    const struct rw_user_gradients *made;
    const size_t bytes = set->data.n_docs * sizeof(*gradient);
    RW_TRY(rw_gradients_new(ctx, rules->objective, rules->rule, &set->data, LAMBDA_FIRST_DOC,
                            set->gain, NULL, &gradients));
    int status = rw_gradients_run(gradients, LAMBDA_TREE, 0.1, set->score, &made);
    if (status >= 0) {
        memcpy(gradient, made->gradient, bytes);
        memcpy(hessian, made->hessian, bytes);
        status = rw_gradients_check(ctx, rules->gradients_by, LAMBDA_FIRST_DOC, set->data.n_docs,
                                    gradient, hessian);
    }
    rw_gradients_free(gradients);
    return status;
}

/* Every objective with every kind of labels, gains and scores; weights and samples in turn. */
void lambda_stage_queries(struct lambda_run *run)
{
    static const struct rw_objective *const objectives[] = {
        &rw_objective_xendcg, &rw_objective_queryrmse, &rw_objective_listnet,
        &rw_objective_logistic};
    uint32_t turn = 0;
    for (int shape = 0; shape < LAMBDA_SHAPES; shape++)
        for (int labels = 0; labels < N_LABELS; labels++)
            for (int scores = 0; scores < N_SCORES; scores++)
                for (int k = 0; k < LENGTH(objectives); k++, turn++) {
                    if ((shape >= 3 && turn % 7) || (run->quick && turn % 5))
                        continue;
                    struct lambda_set set;
                    const struct rw_objective_rule rule = {.value = {labels % 2 ? 1.0 : 2.0},
                                                           .seed = run->seed << 33 | turn};
                    const struct rw_engine_rules rules = {.objective = objectives[k],
                                                          .gradients_by = objectives[k]->name,
                                                          .rule = &rule};
                    lambda_make_turn(run, &set, shape, labels, turn / 4 % N_GAINS, turn,
                                     turn / 4 % 4 == 3);
                    char what[100];
                    snprintf(what, sizeof(what), "%s, shape %d, labels %d, gains %d, scores %d",
                             objectives[k]->name, shape, labels, (int)(turn / 4 % N_GAINS), scores);
                    lambda_check_gradients(run, &set, &rules, scores, what);
                    lambda_set_release(&set);
                }
}

/* Returns the objective of lambdarank with these parameters, and fills the rule. */
static const struct rw_objective *rule_of(const struct lambda_set *set, const char *delta,
                                          const char *pairs, struct rw_objective_rule *rule)
{
    rule->value[rw_objective_param(&rw_objective_lambdarank, "delta")] = rw_delta_number(delta);
    rule->value[rw_objective_param(&rw_objective_lambdarank, "pairs")] = rw_pairs_number(pairs);
    if (strcmp(pairs, "topk") != 0)
        rule->pair.truncation = 0;
    return lambda_objective(set, &rw_objective_lambdarank, rule);
}

/* Every delta with every choice of pairs; labels, gains, scores, truncation, sigma, norm, weights
 * and samples in turn. Takes a seventh of the combinations. */
void lambda_stage_deltas(struct lambda_run *run)
{
    static const char *const deltas[] = {"map", "err", "mrr", "p@5", "dcg", "none", "p@1", "ndcg"};
    static const char *const pairs[] = {"topk", "mean:1", "all", "mean:7", "topk"};
    static const uint32_t truncations[] = {30, 1, 10, 31, 33, 100};
    static const float sigmas[] = {1.0f, 2.5f, 1.0f, 0.001f, 100.0f};
    uint32_t turn = 0;
    for (int shape = 0; shape < LAMBDA_SHAPES; shape++)
        for (int labels = 0; labels < N_LABELS; labels++)
            for (int scores = 0; scores < N_SCORES; scores++)
                for (int k = 0; k < LENGTH(pairs); k++, turn++) {
                    const char *delta = deltas[(turn + turn / LENGTH(deltas)) % LENGTH(deltas)];
                    const int is_drawn = strncmp(pairs[k], "mean", 4) == 0;
                    const int is_err = strcmp(delta, "err") == 0; /* a step per rank between */
                    const int is_quadratic = strcmp(pairs[k], "all") == 0 || (is_err && is_drawn);
                    if ((shape >= 3 && (run->quick || turn % 3 || is_quadratic)) ||
                        turn % (run->quick ? 11 : 7) != 0 ||
                        (strcmp(delta, "ndcg") == 0 && !is_drawn))
                        continue;
                    struct lambda_set set;
                    lambda_make_turn(run, &set, shape, labels, turn / 2 % N_GAINS, turn,
                                     turn % 4 == 3);
                    struct rw_objective_rule rule = {
                        .pair = {sigmas[turn / 2 % LENGTH(sigmas)],
                                 truncations[turn / 3 % LENGTH(truncations)], turn % 3 != 0},
                        .seed = run->seed << 33 | turn};
                    const struct rw_objective *objective = rule_of(&set, delta, pairs[k], &rule);
                    const struct rw_engine_rules rules = {.objective = objective,
                                                          .gradients_by = objective->name,
                                                          .lambda = rule.pair,
                                                          .rule = &rule};
                    char what[120];
                    snprintf(what, sizeof(what), "%s, %s, shape %d, labels %d, gains %d, scores %d",
                             delta, pairs[k], shape, labels, (int)(turn / 2 % N_GAINS), scores);
                    lambda_check_gradients(run, &set, &rules, scores, what);
                    lambda_set_release(&set);
                }
}
