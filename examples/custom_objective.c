/* A custom objective and a custom metric, as callbacks.
 *
 * The objective is RankNet's: for each pair of a query with different labels, the logistic loss
 * log(1 + exp(s_low - s_high)); unlike LambdaMART's it weighs all pairs alike. The metric is the
 * share of such pairs in the right order. It stops training on the validation set.
 *   custom_objective TRAIN VALID MODEL */
#include <math.h>
#include <stdio.h>

#include "rankwood.h"

/* gradients: the way each score should move; hessians: the second derivative of the loss. */
static int pairwise_logistic(void *user, const struct rw_dataset *train, const double *scores,
                             double *gradients, double *hessians)
{
    const uint32_t *offsets = rw_dataset_query_offsets(train);
    const float *labels = rw_dataset_labels(train);

    (void)user;
    for (uint32_t doc = 0; doc < rw_dataset_n_docs(train); doc++)
        gradients[doc] = hessians[doc] = 0.0;
    for (uint32_t query = 0; query < rw_dataset_n_queries(train); query++) {
        for (uint32_t i = offsets[query]; i < offsets[query + 1]; i++) {
            for (uint32_t j = offsets[query]; j < offsets[query + 1]; j++) {
                if (!(labels[i] > labels[j]))
                    continue;
                const double rho = 1.0 / (1.0 + exp(scores[i] - scores[j]));
                gradients[i] += rho;
                gradients[j] -= rho;
                hessians[i] += rho * (1.0 - rho);
                hessians[j] += rho * (1.0 - rho);
            }
        }
    }
    return 0;
}

/* A pair with equal scores counts one half. */
static int pairs_in_order(void *user, const struct rw_dataset *dataset, const double *scores,
                          double *value)
{
    const uint32_t *offsets = rw_dataset_query_offsets(dataset);
    const float *labels = rw_dataset_labels(dataset);
    double n_right = 0.0, n_pairs = 0.0;

    (void)user;
    for (uint32_t query = 0; query < rw_dataset_n_queries(dataset); query++) {
        for (uint32_t i = offsets[query]; i < offsets[query + 1]; i++) {
            for (uint32_t j = offsets[query]; j < offsets[query + 1]; j++) {
                if (!(labels[i] > labels[j]))
                    continue;
                n_pairs += 1.0;
                n_right += scores[i] > scores[j] ? 1.0 : scores[i] == scores[j] ? 0.5 : 0.0;
            }
        }
    }
    *value = n_pairs > 0.0 ? n_right / n_pairs : 1.0;
    return 0;
}

static int print_round(void *user, const struct rw_round *round)
{
    (void)user;
    if (round->round % 10 == 0)
        printf("round %d: best %.6f at round %d\n", round->round, round->best_value,
               round->best_round);
    return 0;
}

int main(int argc, char **argv)
{
    struct rw_train_hooks hooks = {0};
    struct rw_ctx *ctx = NULL;
    struct rw_dataset *train = NULL, *valid = NULL;
    struct rw_params *params = NULL;
    struct rw_model *model = NULL;
    int failed = 1;

    if (argc != 4) {
        fprintf(stderr, "usage: %s TRAIN VALID MODEL\n", argv[0]);
        return 2;
    }
    hooks.gradients = pairwise_logistic;
    hooks.metric = pairs_in_order;
    hooks.metric_name = "pairs-in-order";
    hooks.on_round = print_round;
    if (rw_ctx_new(&ctx) || rw_dataset_read(ctx, (const char *const *)&argv[1], 1, &train) ||
        rw_dataset_read(ctx, (const char *const *)&argv[2], 1, &valid))
        goto out;
    if (rw_params_new(ctx, &params) || rw_params_set(ctx, params, "rounds", "50") ||
        rw_params_set(ctx, params, "early-stop", "10") ||
        rw_train(ctx, params, train, (const struct rw_dataset *const *)&valid, 1, &hooks, &model))
        goto out;
    if (rw_model_write(ctx, model, argv[3]))
        goto out;
    printf("%d trees written to '%s'\n", rw_model_n_trees(model), argv[3]);
    failed = 0;
out:
    if (failed)
        fprintf(stderr, "custom_objective: %s\n", ctx ? rw_last_error(ctx) : "out of memory");
    rw_model_free(model);
    rw_params_free(params);
    rw_dataset_free(valid);
    rw_dataset_free(train);
    rw_ctx_free(ctx);
    return failed;
}
