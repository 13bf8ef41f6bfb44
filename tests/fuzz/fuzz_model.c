/* The model reader: any bytes give a model or an error, and what it takes for a model is written
 * back as the same bytes. Inputs are tried as they are, and with the checksum that belongs to them:
 * no mutation would find that by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz_input.h"
#include "io/model_text.h"

/* Uses every part of the model that a user can reach. */
static void use(struct rw_ctx *ctx, const struct rw_model *model, FILE *nowhere)
{
    struct rw_feature_use features[16];
    float values[64];

    for (int i = 0; i < 64; i++)
        values[i] = (float)(i % 7) - 3.0f;
    values[5] = values[40] = __builtin_nanf("");
    rw_predict_one(model, values, 64);
    rw_predict_one(model, values, 0);
    rw_model_features(model, features, 16);
    for (int i = 0; i < rw_model_n_params(model); i++) {
        const char *value;
        if (!rw_model_param_at(model, i, &value) || !value)
            abort();
    }
    for (int tree = 0; tree < rw_model_n_trees(model) && tree < 4; tree++) {
        rw_model_show(ctx, model, tree, 0, nowhere);
        rw_model_show(ctx, model, tree, 1, nowhere);
    }
}

static void try_text(struct rw_ctx *ctx, const char *text, size_t n, FILE *nowhere)
{
    struct rw_model *model;
    char *again = NULL;
    size_t n_again = 0;
    const int status = rw_model_parse(ctx, "input", text, n, &model);

    if (status != RW_OK) {
        /* A refusal says where and why, and leaves nothing. */
        if (model || !strstr(rw_last_error(ctx), "input"))
            abort();
        return;
    }
    use(ctx, model, nowhere);
    if (rw_model_print(ctx, model, &again, &n_again) != RW_OK || n_again != n ||
        memcmp(again, text, n) != 0)
        abort();
    rw_mem_free(again);
    rw_model_free(model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *nowhere;
    struct rw_ctx *ctx;
    char line[RW_CHECKSUM_LINE_BYTES + 1];
    char *text = malloc(size + RW_CHECKSUM_LINE_BYTES);
    size_t n = size;

    if (!nowhere)
        nowhere = fopen("/dev/null", "w");
    if (!text || !nowhere || rw_ctx_new(&ctx) != RW_OK)
        abort();
    if (size)
        memcpy(text, data, size);
    try_text(ctx, (const char *)data, size, nowhere);
    if (n >= RW_CHECKSUM_LINE_BYTES &&
        memcmp(text + n - RW_CHECKSUM_LINE_BYTES, "checksum ", 9) == 0)
        n -= RW_CHECKSUM_LINE_BYTES;
    rw_model_checksum_line(text, n, line);
    memcpy(text + n, line, RW_CHECKSUM_LINE_BYTES);
    try_text(ctx, text, n + RW_CHECKSUM_LINE_BYTES, nowhere);
    rw_ctx_free(ctx);
    free(text);
    return 0;
}
