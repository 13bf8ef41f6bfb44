/* check_lambda, stage queries: gradients that are real numbers and depend on a whole query, or are
 * logistic, against rw_gradients, by ==. Gradients beyond the limits are refused with the host's
 * message. */
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
                    lambda_make_set(run, &set, shape);
                    lambda_set_labels(&set, labels, turn / 4 % N_GAINS, run->seed + turn);
                    lambda_set_weights(&set, (int)(turn / 5 % 4), run->seed + turn);
                    if (turn / 4 % 4 == 3)
                        lambda_set_sample(&set, 0.6, run->seed + turn);
                    char what[100];
                    snprintf(what, sizeof(what), "%s, shape %d, labels %d, gains %d, scores %d",
                             objectives[k]->name, shape, labels, (int)(turn / 4 % N_GAINS), scores);
                    lambda_check_gradients(run, &set, &rules, scores, what);
                    lambda_set_release(&set);
                }
}
