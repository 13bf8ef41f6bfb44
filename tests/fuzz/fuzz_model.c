/* Fuzzes the model reader. An accepted model must be complete and be written back as text that
 * is read and written as the same text. Scoring, show, info and explain must work on it. Each
 * input is also tried with a valid checksum appended, since mutation would never find one. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz_input.h"
#include "model/model_text.h"

static void use(struct rw_ctx *ctx, const struct rw_model *model)
{
    const float values[4] = {0.0f, 1.0f, -1.0f, 1e30f};
    struct rw_feature_use uses[4];
    static FILE *nowhere; /* open as long as the process */
    if (!nowhere && !(nowhere = fopen("/dev/null", "w")))
        abort();
    rw_predict_one(model, values, 4);
    rw_model_features(model, uses, 4);
    struct rw_explainer *explainer = NULL;
    rw_explainer_new(ctx, model, 0, NULL, &explainer);
    if (explainer && !(rw_model_has_covers(model, 0) && isfinite(explainer->base)))
        abort();
    rw_free(explainer);
    double scores[4] = {-1e308, 0.0, 0.75, INFINITY}, p[4];
    if (rw_model_probabilities(ctx, model, scores, 4, p) == RW_OK) {
        for (int i = 0; i < 4; i++)
            if (!(p[i] >= 0.0 && p[i] <= 1.0) ||
                (i > 0 && p[i] < p[i - 1] && model->map.kind == RW_SCORE_MAP_ISOTONIC))
                abort();
    }
    for (int i = 0; i < rw_model_n_trees(model) && i < 4; i++)
        if (rw_model_show(ctx, model, i, i & 1, nowhere) < 0)
            abort();
}

static void print(struct rw_ctx *ctx, const struct rw_model *model, char **text, size_t *n)
{
    if (rw_model_check(ctx, model) < 0 || rw_model_print(ctx, model, text, n) < 0)
        abort();
}

static int try_text(struct rw_ctx *ctx, const char *text, size_t n)
{
    struct rw_model *model, *again;
    const int status = rw_model_parse(ctx, "input", text, n, &model);
    if (status < 0) {
        const char *message = rw_last_error(ctx);
        /* of another kind of file: its name, and a hint */
        const int is_other = strncmp(message, "'input' ", 8) == 0;
        if (status != RW_ERR_FORMAT || model ||
            (!is_other && (strncmp(message, "input:", 6) != 0 || strchr(message, '\n'))))
            abort();
        return 0;
    }
    char *first, *second;
    size_t n_first, n_second;
    print(ctx, model, &first, &n_first);
    if (rw_model_parse(ctx, "input", first, n_first, &again) < 0)
        abort();
    print(ctx, again, &second, &n_second);
    if (n_first != n_second || memcmp(first, second, n_first) != 0)
        abort();
    use(ctx, model);
    rw_mem_free(first);
    rw_mem_free(second);
    rw_model_free(again);
    rw_model_free(model);
    return 1;
}

const char *const fuzz_words[] = {
    "node 0 feature 1 <= 0.5 left leaf 0 right leaf 1 missing left gain 1",
    "node",
    "leaf",
    "left",
    "right",
    "missing",
    "gain",
    "feature",
    "tree",
    "leaves",
    "trees",
    "names",
    "features",
    "metrics",
    "rounds",
    "metric",
    "params",
    "absent",
    "zero",
    "missing",
    "best-round",
    "finished no",
    "finished",
    "earlier",
    "run",
    "nan",
    "inf",
    "-inf",
    "1e39",
    "1e-46",
    "-0",
    "4294967295",
    "2147483648",
    "65535",
    "65536",
    "-1",
    "0",
    "1",
    "2",
    "auto 1",
    "categories",
    "category",
    "in",
    "not in",
    "calibration",
    "logistic",
    "isotonic",
    "knots",
    "checksum",
    "#",
    "=",
    "checkpoint",
    "model",
    "rankwood model 1",
    "0x1",
    "1e308",
    "\t",
    NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    return fuzz_with_checksum(data, size, try_text);
}
