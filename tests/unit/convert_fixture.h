/* Functions that the tests of src/convert share: writes models in a format and reads them back,
 * in memory. */
#pragma once

#include "convert/convert.h"
#include "each.h"
#include "model_fixture.h"

static inline const struct rw_model_format *convert_format(const char *name)
{
    const struct rw_model_format *format;
    cr_assert_eq(rw_model_format_find(NULL, name, &format), RW_OK, "%s", name);
    return format;
}

/* Writes a feature set of features 1 to 12 to a file here. */
static inline void convert_use_set(struct rw_exchange *how, const char *members)
{
    FILE *file = fopen("set.json", "w");
    cr_assert_not_null(file);
    for (int i = 1; i <= 12; i++)
        fprintf(file, "%s{\"name\":\"feature %d\",%s}", i > 1 ? "," : "{\"features\":[", i,
                members);
    fputs("]}", file);
    cr_assert_eq(fclose(file), 0);
    how->featureset = "set.json";
    how->name = "ours";
}

/* For the format; with a feature set if it needs one. */
static inline struct rw_exchange convert_exchange(const char *name, int lossy)
{
    struct rw_exchange how = {.format = name, .feature_base = -1, .lossy = lossy};
    if (convert_format(name)->names == RW_NAMES_SET && !convert_format(name)->has_store)
        convert_use_set(&how, "\"template\":{\"match_all\":{}}");
    return how;
}

/* Returns the model as a file of the format, [*n] and a terminating 0; free with rw_mem_free. */
static inline char *convert_write(struct rw_ctx *ctx, const struct rw_model *model,
                                  const struct rw_model_format *format, int base, size_t *n)
{
    const struct rw_lowering how = {.base = base, .lossy = 0};
    struct rw_ensemble ensemble;
    struct rw_put put = {.ctx = ctx};
    cr_assert_eq(rw_lower(ctx, model, format, &how, &ensemble), RW_OK, "%s: %s", format->name,
                 rw_last_error(ctx));
    cr_assert_eq(format->write(&ensemble, &put), RW_OK, "%s: %s", format->name, rw_last_error(ctx));
    rw_ensemble_release(&ensemble);
    *n = put.n;
    rw_put_bytes(&put, "", 1);
    cr_assert_eq(put.status, RW_OK);
    return put.text;
}

/* A status; *out is NULL after a failure. */
static inline int convert_read(struct rw_ctx *ctx, const char *text, size_t n,
                               const struct rw_model_format *format, int base,
                               struct rw_model **out)
{
    struct rw_ensemble ensemble = {0};
    struct rw_source source = {ctx, "file", text, n, NULL, RW_OK, format, &ensemble};
    int status = format->parse(&source);
    *out = NULL;
    if (status == RW_OK)
        status = rw_ensemble_check(ctx, &ensemble, source.path);
    if (status == RW_OK)
        status = rw_raise(ctx, &ensemble, format, base, source.path, out);
    rw_ensemble_release(&ensemble);
    return status;
}

static inline void convert_refused(const char *format, const char *text, const char *message)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format(format), -1, &model),
                 RW_ERR_FORMAT, "expected: %s", message);
    cr_assert_str_eq(rw_last_error(ctx), message);
    rw_ctx_free(ctx);
}

/* Directions as where training saw no missing value: missing goes where 0 does. */
static inline void convert_plain_directions(struct rw_model *model)
{
    for (int32_t t = 0; t < model->n_trees; t++) {
        struct rw_tree *tree = &model->tree[t];
        for (int32_t i = 0; i < tree->n_leaves - 1; i++)
            tree->missing_left[i] = 0.0f <= tree->cut[i];
    }
}

/* Asserts that the trees are the same, whatever the numbers of nodes and leaves. with_gain: also
 * the gains, as floats. */
static inline void convert_same_tree(const struct rw_tree *a, const struct rw_tree *b, int32_t i,
                                     int32_t j, int with_gain)
{
    cr_assert_eq(i < 0, j < 0);
    if (i < 0) {
        cr_assert_eq(rw_bits_of_float(a->leaf[~i]), rw_bits_of_float(b->leaf[~j]));
        return;
    }
    cr_assert_eq(a->feature[i], b->feature[j]);
    cr_assert_eq(rw_bits_of_float(a->cut[i]), rw_bits_of_float(b->cut[j]));
    cr_assert_eq(a->missing_left[i], b->missing_left[j]);
    if (with_gain)
        cr_assert_eq((float)a->gain[i], (float)b->gain[j]);
    convert_same_tree(a, b, a->left[i], b->left[j], with_gain);
    convert_same_tree(a, b, a->right[i], b->right[j], with_gain);
}

static inline void convert_same_model(const struct rw_model *a, const struct rw_model *b,
                                      int with_gain)
{
    cr_assert_eq(a->n_trees, b->n_trees);
    for (int32_t t = 0; t < a->n_trees; t++) {
        cr_assert_eq(a->tree[t].n_leaves, b->tree[t].n_leaves);
        const int32_t root = a->tree[t].n_leaves == 1 ? ~0 : 0;
        convert_same_tree(&a->tree[t], &b->tree[t], root, root, with_gain);
    }
}

/* A format may have no word for a model without trees. */
static inline int convert_needs_trees(struct rw_ctx *ctx, const struct rw_model *model,
                                      const struct rw_model_format *format)
{
    const struct rw_lowering how = {.base = -1, .lossy = 0};
    struct rw_ensemble ensemble;
    struct rw_put put = {.ctx = ctx};
    cr_assert_eq(rw_lower(ctx, model, format, &how, &ensemble), RW_OK);
    const int status = format->write(&ensemble, &put);
    rw_mem_free(put.text);
    rw_ensemble_release(&ensemble);
    return status == RW_ERR_UNSUPPORTED;
}

/* Restricts a random model to the capabilities of the format: directions of missing values,
 * thresholds. */
static inline void convert_fit(struct rw_model *model, const struct rw_rules *rules)
{
    if (!rules->nan_by_node)
        convert_plain_directions(model);
    for (int32_t t = 0; t < model->n_trees; t++) {
        struct rw_tree *tree = &model->tree[t];
        for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
            if (rules->nan == RW_NAN_FALSE && !rules->nan_by_node)
                tree->missing_left[i] = 0;
            if (rules->slack > 0 && tree->cut[i] < 0)
                tree->cut[i] *= 0.75f;
        }
    }
}

/* A model that was read is written as the text that it was read from. */
static inline void convert_same_text(struct rw_ctx *ctx, const struct rw_model *back,
                                     const struct rw_model_format *format, int base,
                                     const char *text, size_t n)
{
    size_t n_again;
    char *again = convert_write(ctx, back, format, base, &n_again);
    cr_assert_eq(n, n_again);
    cr_assert_arr_eq(text, again, n);
    rw_mem_free(again);
}

/* Random models through the format and back, and once more: the same trees, then the same bytes. */
static inline void convert_round_trip(const char *name, int with_gain)
{
    struct rw_ctx *ctx = fixture_ctx();
    const struct rw_model_format *format = convert_format(name);
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct rw_model *model = fixture_random_model(
            ctx, (int32_t)(seed % 7), seed == 9 ? 300 : (int32_t)(1 + seed), 6, seed);
        struct rw_model *back;
        size_t n;
        convert_fit(model, &format->consumer[0].rules);
        if (model->n_trees == 0 && convert_needs_trees(ctx, model, format)) {
            rw_model_free(model);
            continue;
        }
        char *text = convert_write(ctx, model, format, -1, &n);
        cr_assert_eq(convert_read(ctx, text, n, format, -1, &back), RW_OK, "%s: %s", name,
                     rw_last_error(ctx));
        convert_same_model(model, back, with_gain);
        if (model->n_trees > 1) /* else a format that counts no columns forgets unused ones */
            convert_same_text(ctx, back, format, -1, text, n);
        else
            rw_mem_free(convert_write(ctx, back, format, -1, &n));
        rw_mem_free(text);
        rw_model_free(model);
        rw_model_free(back);
    }
    rw_ctx_free(ctx);
}

/* Every byte string that differs from a good file in one place, or is truncated, is read or
 * refused with a separate message; nothing else. (Under AddressSanitizer, at every third place.) */
static inline void convert_damaged(const char *name, const char *text, size_t n)
{
    struct rw_ctx *ctx = fixture_ctx();
    const struct rw_model_format *format = convert_format(name);
    char *copy = malloc(n + 1);
    for (size_t i = 0; i < n; i += EACH(3)) {
        struct rw_model *model;
        for (int way = 0; way < 3; way++) {
            size_t length = n;
            memcpy(copy, text, n + 1);
            if (way == 0)
                copy[length = i] = 0;
            else
                copy[i] = (char)(way == 1 ? copy[i] ^ 4 : '9');
            const int status = convert_read(ctx, copy, length, format, -1, &model);
            if (status == RW_OK) {
                cr_assert_eq(rw_model_check(ctx, model), RW_OK);
                rw_model_free(model);
                continue;
            }
            cr_assert_eq(status, RW_ERR_FORMAT);
            cr_assert_null(strchr(rw_last_error(ctx), '\n'), "%s", rw_last_error(ctx));
            cr_assert_eq(strncmp(rw_last_error(ctx), "file: ", 6), 0, "%s", rw_last_error(ctx));
        }
    }
    free(copy);
    rw_ctx_free(ctx);
}
