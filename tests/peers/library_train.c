/* Does the work of `rankwood train DATA --rounds N -o MODEL` through the library: library.py
 * compares the two. */
#include <stdio.h>
#include <stdlib.h>

#include "rankwood.h"

int main(int argc, char **argv)
{
    struct rw_ctx *ctx = NULL;
    struct rw_dataset *train = NULL;
    struct rw_params *params = NULL;
    struct rw_model *model = NULL;
    if (argc != 4) {
        fprintf(stderr, "usage: %s DATA ROUNDS MODEL\n", argv[0]);
        return 2;
    }
    const int failed = rw_ctx_new(&ctx) || rw_params_new(ctx, &params) ||
                       rw_params_set(ctx, params, "rounds", argv[2]) ||
                       rw_params_set(ctx, params, "device", "cpu") ||
                       rw_dataset_read(ctx, (const char *const *)&argv[1], 1, &train) ||
                       rw_train(ctx, params, train, NULL, 0, NULL, &model) ||
                       rw_model_write(ctx, model, argv[3]);
    if (failed)
        fprintf(stderr, "%s\n", ctx ? rw_last_error(ctx) : "out of memory");
    rw_model_free(model);
    rw_params_free(params);
    rw_dataset_free(train);
    rw_ctx_free(ctx);
    return failed;
}
