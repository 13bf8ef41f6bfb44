/* Fuzzes parameters: lines of a parameter file, read as a file and set one by one. Accepted
 * parameters must be the same after writing and reading; a refusal is one line and a hint. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_input.h"
#include "rankwood.h"

static void check_message(struct rw_ctx *ctx)
{
    const char *message = rw_last_error(ctx), *hint = strchr(message, '\n');
    fuzz_check(message[0] != 0 && (!hint || strncmp(hint, "\nhint: ", 7) == 0));
}

/* Each parameter's text is one that it takes. */
static void check_texts(struct rw_ctx *ctx, struct rw_params *params)
{
    struct rw_params *others;
    const struct rw_param_info *info;
    fuzz_check(rw_params_new(ctx, &others) == RW_OK);
    for (int i = 0; (info = rw_param_info(i)) != NULL; i++) {
        char *value = strdup(rw_params_get(params, info->name));
        fuzz_check(value != NULL);
        fuzz_check(!*value || rw_params_set(ctx, others, info->name, value) == RW_OK);
        fuzz_check(strcmp(rw_params_get(others, info->name), value) == 0);
        free(value);
    }
    rw_params_free(others);
}

/* Writes parameters, reads them, and writes those: the same bytes. */
static void write_again(struct rw_ctx *ctx, struct rw_params *params)
{
    struct rw_params *again;
    struct fuzz_file file;
    char *first = NULL, *second = NULL;
    size_t n_first = 0, n_second = 0;
    FILE *out = open_memstream(&first, &n_first);
    fuzz_check(out != NULL);
    const int status = rw_params_write(ctx, params, out);
    fclose(out);
    if (status == RW_OK) {
        fuzz_file_open(&file, (const uint8_t *)first, n_first);
        fuzz_check(rw_params_new(ctx, &again) == RW_OK);
        fuzz_check(rw_params_read(ctx, again, file.path) == RW_OK);
        out = open_memstream(&second, &n_second);
        fuzz_check(out != NULL && rw_params_write(ctx, again, out) == RW_OK);
        fclose(out);
        fuzz_check(n_first == n_second && memcmp(first, second, n_first) == 0);
        rw_params_free(again);
        fuzz_file_close(&file);
    } else {
        fuzz_check(status == RW_ERR_ARGUMENT);
        check_message(ctx);
    }
    free(first);
    free(second);
}

/* As a training would. */
static int use(struct rw_ctx *ctx, struct rw_params *params)
{
    check_texts(ctx, params);
    write_again(ctx, params);
    int status = rw_params_check(ctx, params, RW_PARAMS_TRAIN);
    if (status == RW_OK)
        status = rw_params_resolve(ctx, params, 20000, 136, 1);
    if (status < 0)
        check_message(ctx);
    else
        write_again(ctx, params);
    return status == RW_OK;
}

/* The lines as the command line gives them: each value counts, and one that is refused changes
 * nothing. */
static int set_lines(struct rw_ctx *ctx, char *text)
{
    struct rw_params *params;
    int n_set = 0;
    fuzz_check(rw_params_new(ctx, &params) == RW_OK);
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        char *value = strchr(line, '=');
        if (value)
            *value++ = 0;
        else
            (void)rw_params_nearest(line);
        if (value && rw_params_set(ctx, params, line, value) == RW_OK)
            n_set++;
        else if (value)
            check_message(ctx);
    }
    const int taken = n_set > 0 && use(ctx, params);
    rw_params_free(params);
    return taken;
}

const char *const fuzz_words[] = {"objective",
                                  "lambdarank",
                                  "regression",
                                  "yetirank",
                                  "queryrmse",
                                  "listnet",
                                  "xendcg",
                                  "logistic",
                                  "rounds",
                                  "rate",
                                  "auto",
                                  "0.3:0.01:100",
                                  "leaves",
                                  "depth",
                                  "grow",
                                  "levels",
                                  "split",
                                  "mart",
                                  "newton",
                                  "l2",
                                  "split-l2",
                                  "min-docs",
                                  "min-hessian",
                                  "min-gain",
                                  "bins",
                                  "bits",
                                  "rounding",
                                  "stochastic",
                                  "nearest",
                                  "truncation",
                                  "none",
                                  "sigma",
                                  "norm",
                                  "off",
                                  "on",
                                  "debias",
                                  "additive",
                                  "ipw",
                                  "position-l2",
                                  "position-norm",
                                  "delta",
                                  "ndcg",
                                  "dcg",
                                  "map",
                                  "mrr",
                                  "err",
                                  "p@3",
                                  "pairs",
                                  "topk",
                                  "mean:3",
                                  "all",
                                  "given",
                                  "permutations",
                                  "decay",
                                  "label-gain",
                                  "exp",
                                  "linear",
                                  "label-weights",
                                  "1,0.5",
                                  "absent",
                                  "zero",
                                  "missing",
                                  "categorical",
                                  "ignore",
                                  "features",
                                  "1-3,5",
                                  "monotone",
                                  "1:+,2:-",
                                  "interactions",
                                  "1,2;3-4",
                                  "feature-penalty",
                                  "1:0.5",
                                  "train-metric",
                                  "early-stop-delta",
                                  "category-smoothing",
                                  "category-penalty",
                                  "propensities",
                                  "sample-queries",
                                  "sample-docs",
                                  "sample-features",
                                  "sample-features-node",
                                  "gain-noise",
                                  "metric",
                                  "ndcg@10,map",
                                  "rbp:0.8",
                                  "rmse",
                                  "early-stop",
                                  "empty",
                                  "skip",
                                  "ties",
                                  "file",
                                  "mean",
                                  "relevant",
                                  "seed",
                                  "18446744073709551615",
                                  "threads",
                                  "device",
                                  "cpu",
                                  "cuda:1",
                                  "hist",
                                  "batch",
                                  "gpu-memory",
                                  "4G",
                                  "refit-decay",
                                  "num_leaves",
                                  "learning_rate",
                                  "eta",
                                  "max_depth",
                                  "YetiRank:mode=DCG",
                                  "#",
                                  "=",
                                  "1e-6",
                                  "1e9",
                                  "nan",
                                  "-1",
                                  "0",
                                  "65536",
                                  "1000001",
                                  "NULL",
                                  NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct rw_params *params;
    struct fuzz_file file;
    /* a device, or a pipe, could be named as a file */
    if (size > 8192 || memmem(data, size, "/dev", 4) || memmem(data, size, "/proc", 5))
        return 0;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_check(rw_params_new(ctx, &params) == RW_OK);
    fuzz_file_open(&file, data, size);
    int taken = rw_params_read(ctx, params, file.path) == RW_OK;
    if (taken)
        taken = use(ctx, params);
    else
        check_message(ctx);
    char *text = malloc(size + 1);
    fuzz_check(text != NULL);
    memcpy(text, data, size);
    text[size] = 0;
    taken |= set_lines(ctx, text);
    free(text);
    fuzz_file_close(&file);
    rw_params_free(params);
    rw_ctx_free(ctx);
    return taken;
}
