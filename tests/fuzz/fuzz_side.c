/* Fuzzes side files. Each input is read as every kind: weights of documents and of queries,
 * start scores, positions, further labels, names of features, a feature list, gains of labels.
 * Any bytes give the expected number of values within their range, or an error of one line and a
 * hint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "fuzz_input.h"
#include "io/data_format.h"

enum { DOCS = 5, QUERIES = 3 };

static struct rw_dataset *make(struct rw_ctx *ctx)
{
    static const float values[DOCS] = {1, 2, 3, 4, 5}, labels[DOCS] = {0, 1, 0, 2, 1};
    static const uint32_t offsets[QUERIES + 1] = {0, 2, 4, 5};
    struct rw_dataset *dataset;
    fuzz_check(rw_dataset_from_memory(ctx, values, labels, offsets, DOCS, 1, QUERIES, 1,
                                      &dataset) == RW_OK);
    return dataset;
}

/* 1 if the file was taken; a message of one line, and a hint, if not. */
static int is_taken(struct rw_ctx *ctx, int status)
{
    const char *message = rw_last_error(ctx), *hint = strchr(message, '\n');
    if (status == RW_OK)
        return 1;
    fuzz_check(status == RW_ERR_DATA || status == RW_ERR_PARSE || status == RW_ERR_ARGUMENT);
    fuzz_check(message[0] != 0 && (!hint || strncmp(hint, "\nhint: ", 7) == 0));
    return 0;
}

static void check_weights(const struct rw_dataset *dataset)
{
    for (int i = 0; i < DOCS; i++)
        fuzz_check(dataset->weight[i] >= 0.0 && dataset->weight[i] <= RW_MAX_WEIGHT);
}

static int read_numbers(struct rw_ctx *ctx, const char *path)
{
    struct rw_dataset *dataset = make(ctx);
    double scores[DOCS];
    int taken = 0;
    if (is_taken(ctx, rw_dataset_read_side_column(ctx, dataset, "weights", path))) {
        check_weights(dataset);
        taken = 1;
    }
    if (is_taken(ctx, rw_dataset_read_side_column(ctx, dataset, "query-weights", path))) {
        check_weights(dataset);
        taken = 1;
    }
    if (is_taken(ctx, rw_dataset_read_side_column(ctx, dataset, "start-scores", path))) {
        for (int i = 0; i < DOCS; i++)
            fuzz_check(fabs(dataset->start_score[i]) <= RW_MAX_START_SCORE);
        taken = 1;
    }
    taken |= is_taken(ctx, rw_dataset_read_side_column(ctx, dataset, "positions", path));
    if (is_taken(ctx, rw_dataset_read_side_column(ctx, dataset, "labels", path))) {
        fuzz_check(dataset->n_more_labels >= 1 && dataset->n_more_labels < RW_MAX_LABELS);
        for (int k = 1; k <= dataset->n_more_labels; k++)
            for (int i = 0; i < DOCS; i++)
                fuzz_check(rw_dataset_labels_of(dataset, k)[i] >= 0 &&
                           isfinite(rw_dataset_labels_of(dataset, k)[i]));
        taken = 1;
    }
    if (is_taken(ctx, rw_dataset_read_scores(ctx, dataset, path, scores, NULL))) {
        for (int i = 0; i < DOCS; i++)
            fuzz_check(isfinite(scores[i]));
        taken = 1;
    }
    rw_dataset_free(dataset);
    return taken;
}

static int read_names(struct rw_ctx *ctx, const char *path)
{
    struct rw_feature_name *name = NULL;
    int32_t n = 0;
    const int taken = is_taken(ctx, rw_names_read(ctx, path, &name, &n));
    for (int32_t i = 0; taken && i < n; i++) {
        fuzz_check(name[i].feature <= RW_MAX_FEATURE && name[i].name[0] != 0);
        fuzz_check(i == 0 || name[i - 1].feature < name[i].feature);
    }
    if (taken)
        rw_names_free(name, n);
    return taken && n > 0;
}

/* Gains of labels, and metrics computed with them. */
static int read_gains(struct rw_ctx *ctx, const char *path)
{
    static const double scores[DOCS] = {1, 2, 3, 4, 5};
    struct rw_dataset *dataset = make(ctx);
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    struct rw_eval *eval;
    how.label_gain = path;
    const int taken = is_taken(ctx, rw_evaluate(ctx, &how, dataset, scores, &eval));
    if (taken) {
        const double mean = eval->metrics[0].mean;
        fuzz_check(eval->metrics[0].n_counted == 0 ? isnan(mean) : mean >= 0 && mean <= 1);
        rw_free(eval);
    }
    rw_dataset_free(dataset);
    return taken;
}

const char *const fuzz_words[] = {
    "0",     "1",       "2",   "0.5",       "65536", "65537", "1e30",  "-1e30",      "1e31",
    "65535", "-0",      "nan", "inf",       "1e999", "+1",    "0x1",   "# x",        "1 title",
    "2 b c", "65535 z", "1 1", "1\n2\n3\n", "\r\n",  "\t",    "1 2\n", "1000000000", NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct fuzz_file file;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_file_open(&file, data, size);
    int taken = read_numbers(ctx, file.path);
    taken |= read_names(ctx, file.path);
    taken |= read_gains(ctx, file.path);
    fuzz_file_close(&file);
    rw_ctx_free(ctx);
    return taken;
}
