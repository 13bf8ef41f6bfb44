/* Models and datasets for the tests of src/model and of the model file. */
#pragma once

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "dataset/dataset.h"
#include "model/model_text.h"

static inline struct rw_ctx *fixture_ctx(void)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    return ctx;
}

/* A model's text with its checksum after it: [*n], from malloc. */
static inline char *fixture_sum(const char *body, size_t n_body, size_t *n)
{
    char *text = malloc(n_body + RW_CHECKSUM_LINE_BYTES + 1);
    memcpy(text, body, n_body);
    rw_model_checksum_line(text, n_body, text + n_body);
    *n = n_body + RW_CHECKSUM_LINE_BYTES;
    return text;
}

static inline struct rw_model *fixture_model(struct rw_ctx *ctx, const char *body)
{
    size_t n;
    struct rw_model *model;
    char *text = fixture_sum(body, strlen(body), &n);
    cr_assert_eq(rw_model_parse(ctx, "fixture", text, n, &model), RW_OK, "%s", rw_last_error(ctx));
    free(text);
    return model;
}

/* Whole numbers in [0, n) from (seed, item). */
static inline uint32_t fixture_below(uint64_t seed, uint64_t item, uint32_t n)
{
    return rw_random(seed, item, 0, 1000) % n;
}

/* A tree of any shape over features 1, 3, 5, ...; thresholds are few, so that values often equal
 * them. */
static inline void fixture_tree(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves,
                                uint32_t n_features, uint64_t seed)
{
    cr_assert_eq(rw_tree_init(ctx, tree, n_leaves), RW_OK);
    int32_t **open = malloc(((size_t)n_leaves + 1) * sizeof(*open));
    int32_t root, n_open = 1;
    uint64_t item = 0;
    open[0] = &root;
    for (int32_t i = 0; i < n_leaves - 1; i++) {
        const uint32_t at = fixture_below(seed, item++, (uint32_t)n_open);
        *open[at] = i;
        open[at] = &tree->left[i];
        open[n_open++] = &tree->right[i];
        tree->feature[i] = 2 * fixture_below(seed, item++, n_features) + 1;
        tree->cut[i] = ((float)fixture_below(seed, item++, 9) - 4.0f) * 0.5f;
        tree->missing_left[i] = (uint8_t)fixture_below(seed, item++, 2);
        tree->gain[i] = (double)fixture_below(seed, item++, 1000) / 3.0;
    }
    for (int32_t i = 0; i < n_open; i++)
        *open[i] = ~i;
    for (int32_t i = 0; i < n_leaves; i++)
        tree->leaf[i] = ((float)fixture_below(seed, item++, 20001) - 10000.0f) * 1.1e-5f;
    free(open);
}

static inline struct rw_model *fixture_random_model(struct rw_ctx *ctx, int32_t n_trees,
                                                    int32_t n_leaves, uint32_t n_features,
                                                    uint64_t seed)
{
    struct rw_model *model;
    cr_assert_eq(rw_model_new(ctx, &model), RW_OK);
    cr_assert_eq(RW_NEW(ctx, model->tree, (size_t)n_trees), RW_OK);
    model->n_trees = n_trees;
    for (int32_t i = 0; i < n_trees; i++)
        fixture_tree(ctx, &model->tree[i], i % 5 == 4 ? 1 : n_leaves, n_features,
                     seed + (uint64_t)i);
    cr_assert_eq(RW_NEW(ctx, model->feature, n_features), RW_OK);
    model->n_features = n_features;
    for (uint32_t i = 0; i < n_features; i++)
        model->feature[i] = 2 * i + 1;
    return model;
}

/* The value of (doc, column): absent, missing, or one of the thresholds. */
static inline float fixture_value(uint64_t seed, uint32_t doc, uint32_t column)
{
    const uint32_t x = fixture_below(seed, ((uint64_t)doc << 20) + column, 13);
    return x < 3    ? rw_float_of_bits(RW_ABSENT_BITS)
           : x == 3 ? rw_float_of_bits(RW_MISSING_BITS)
                    : ((float)(x - 4) - 4.0f) * 0.5f;
}

/* Columns of features 1, 3, 5, ..., dense or sparse; nothing else but n_docs is set. */
static inline struct rw_dataset *fixture_dataset(struct rw_ctx *ctx, uint32_t n_docs,
                                                 uint32_t n_columns, int sparse, uint64_t seed)
{
    struct rw_dataset *data;
    cr_assert_eq(RW_NEW(ctx, data, 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, data->column, n_columns), RW_OK);
    data->n_docs = n_docs;
    data->n_columns = n_columns;
    for (uint32_t i = 0; i < n_columns; i++) {
        struct rw_column *column = &data->column[i];
        column->feature = 2 * i + 1;
        cr_assert_eq(RW_NEW(ctx, column->value, n_docs), RW_OK);
        if (sparse)
            cr_assert_eq(RW_NEW(ctx, column->row, n_docs), RW_OK);
        for (uint32_t doc = 0; doc < n_docs; doc++) {
            const float value = fixture_value(seed, doc, i);
            if (sparse && rw_is_absent(value))
                continue;
            if (sparse)
                column->row[column->n] = doc;
            column->value[column->n++] = value;
        }
    }
    return data;
}

/* A copy of the text with its first `old` replaced; freed by the test's end. */
static inline char *fixture_replaced(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    cr_assert_not_null(at, "%s", old);
    const size_t size = strlen(text) + strlen(new) + 1;
    char *out = malloc(size);
    snprintf(out, size, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    return out;
}

/* Scores by a scorer that is opened on a device for this call. */
static inline int fixture_predict_on(struct rw_ctx *ctx, const struct rw_model *model,
                                     const struct rw_dataset *dataset, int n_trees,
                                     const char *device, double *scores)
{
    struct rw_scorer *scorer;
    int status = rw_scorer_open(ctx, model, n_trees, device, &scorer);
    if (status >= 0)
        status = rw_scorer_run(ctx, scorer, dataset, scores);
    rw_scorer_free(scorer);
    return status;
}
