/* A complete program over rankwood.h: read three data sets, train with early stopping, save, load,
 * score the test set and measure.
 *   cc quickstart.c $(pkg-config --cflags --libs rankwood) && ./a.out train.txt valid.txt test.txt
 * model.txt */
#include <stdio.h>
#include <stdlib.h>

#include "rankwood.h"

int main(int argc, char **argv)
{
    struct rw_ctx *ctx = NULL;
    struct rw_dataset *train = NULL, *valid = NULL, *test = NULL;
    struct rw_params *params = NULL;
    struct rw_model *model = NULL, *loaded = NULL;
    struct rw_eval *eval = NULL;
    double *scores = NULL;
    int failed = 1;

    if (argc != 5) {
        fprintf(stderr, "usage: %s TRAIN VALID TEST MODEL\n", argv[0]);
        return 2;
    }
    if (rw_ctx_new(&ctx) || rw_dataset_read(ctx, (const char *const *)&argv[1], 1, &train) ||
        rw_dataset_read(ctx, (const char *const *)&argv[2], 1, &valid) ||
        rw_dataset_read(ctx, (const char *const *)&argv[3], 1, &test))
        goto out;
    if (rw_params_new(ctx, &params) || rw_params_set(ctx, params, "rounds", "100") ||
        rw_params_set(ctx, params, "early-stop", "20") ||
        rw_train(ctx, params, train, (const struct rw_dataset *const *)&valid, 1, NULL, &model))
        goto out;
    if (rw_model_write(ctx, model, argv[4]) || rw_model_read(ctx, argv[4], &loaded))
        goto out;
    scores = (double *)malloc(rw_dataset_n_docs(test) * sizeof(double));
    if (!scores || rw_predict(ctx, loaded, test, 0, scores) ||
        rw_evaluate(ctx, rw_params_eval(params), test, scores, &eval))
        goto out;
    printf("%d trees; %s of the test set: %.6f\n", rw_model_n_trees(loaded), eval->metrics[0].name,
           eval->metrics[0].mean);
    failed = 0;
out:
    if (failed)
        fprintf(stderr, "quickstart: %s\n", ctx ? rw_last_error(ctx) : "out of memory");
    rw_free(eval);
    rw_model_free(loaded);
    rw_model_free(model);
    rw_params_free(params);
    rw_dataset_free(test);
    rw_dataset_free(valid);
    rw_dataset_free(train);
    rw_ctx_free(ctx);
    free(scores);
    return failed;
}
