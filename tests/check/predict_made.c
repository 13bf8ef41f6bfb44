#include "predict_made.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"

static uint32_t below(struct random *random, uint32_t n)
{
    return rw_random(random->seed, random->next++, 0, 1001) % n;
}

/* ---- models ---- */

/* Values and thresholds come from one small set, so that they are often equal, or neighbours. */
static float pick(const struct spec *spec, struct random *random, int is_cut)
{
    static const float cut[] = {0.0f, -0.0f, FLT_TRUE_MIN, FLT_MAX, -FLT_MAX, 1e-40f, 0.1f};
    const uint32_t kind = below(random, 10);
    const uint32_t distinct = spec->distinct ? spec->distinct : 9;
    const float plain = (float)((int32_t)below(random, distinct) - (int32_t)distinct / 2) * 0.5f;
    if (spec->distinct && is_cut)
        return plain == 0.0f && below(random, 2) ? -0.0f : plain;
    if (kind < 5)
        return plain;
    if (kind == 5)
        return nextafterf(plain, kind % 2 ? INFINITY : -INFINITY);
    if (kind < 8 || is_cut)
        return cut[below(random, sizeof(cut) / sizeof(cut[0]))];
    if (kind == 8)
        return below(random, 2) ? INFINITY : -INFINITY;
    return below(random, 3) ? rw_float_of_bits(RW_ABSENT_BITS) : rw_float_of_bits(RW_MISSING_BITS);
}

/* Of sizes so different that sums round, and another order gives another sum; or, with distinct
 * thresholds, so much alike that no sum rounds. */
static float pick_leaf(const struct spec *spec, struct random *random)
{
    const float number = (float)below(random, 2000001) - 1000000.0f;
    const int exponent = (int)below(random, 61) - 30;
    return spec->distinct ? number * 0x1p-20f : ldexpf(number * 1.1e-5f, exponent);
}

static int make_tree(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves,
                     const struct spec *spec, const struct rw_model *model, struct random *random)
{
    int32_t **open, root, n_open = 1;
    RW_TRY(rw_tree_init(ctx, tree, n_leaves));
    RW_TRY(RW_NEW(ctx, open, (size_t)n_leaves + 1)); /* children that are still to be filled in */
    open[0] = &root;
    for (int32_t i = 0; i < n_leaves - 1; i++) {
        const int32_t at = spec->form == 1 ? n_open - 1 : (int32_t)below(random, (uint32_t)n_open);
        const int right = spec->form == 1 ? i % 7 > 2 : 1;
        *open[at] = i;
        open[at] = right ? &tree->left[i] : &tree->right[i];
        open[n_open++] = right ? &tree->right[i] : &tree->left[i];
        tree->feature[i] = model->feature[n_leaves > 65536 ? (uint32_t)i % model->n_features
                                                           : below(random, model->n_features)];
        tree->cut[i] = pick(spec, random, 1);
        tree->missing_left[i] = (uint8_t)below(random, 2);
    }
    for (int32_t i = 0; i < n_open; i++)
        *open[i] = ~i;
    for (int32_t i = 0; i < n_leaves; i++)
        tree->leaf[i] = pick_leaf(spec, random);
    rw_mem_free(open);
    return rw_tree_check(ctx, tree, "");
}

/* All nodes of a level have the split of its first node. Of some trees, one node does not. */
static int make_symmetric(struct rw_ctx *ctx, struct rw_tree *tree, int with_others,
                          struct random *random)
{
    const int32_t n = tree->n_leaves - 1;
    const int32_t other = with_others && n > 1 && below(random, 3) == 0
                              ? 1 + (int32_t)below(random, (uint32_t)n - 1)
                              : n;
    for (int32_t i = 0, first = 0; i < n; i++) {
        first = i == 2 * first + 1 ? i : first;
        tree->left[i] = 2 * i + 1 < n ? 2 * i + 1 : ~(2 * i + 1 - n);
        tree->right[i] = 2 * i + 2 < n ? 2 * i + 2 : ~(2 * i + 2 - n);
        tree->feature[i] = tree->feature[first];
        tree->cut[i] = tree->cut[first];
        tree->missing_left[i] = tree->missing_left[first] ^ (i == other);
    }
    return rw_tree_check(ctx, tree, "");
}

int make_model(struct rw_ctx *ctx, const struct spec *spec, struct random *random,
               struct rw_model **out)
{
    int n_sizes = 0;
    while (n_sizes < 4 && spec->leaves[n_sizes])
        n_sizes++;
    RW_TRY(rw_model_new(ctx, out));
    struct rw_model *model = *out;
    model->absent_missing = spec->absent_missing;
    RW_TRY(RW_NEW(ctx, model->feature, spec->n_features));
    model->n_features = spec->n_features;
    for (uint32_t i = 0; i < spec->n_features; i++)
        model->feature[i] = 1 + i * spec->gap;
    RW_TRY(RW_NEW(ctx, model->tree, (size_t)spec->n_trees));
    for (int t = 0; t < spec->n_trees; t++) {
        model->n_trees = t + 1;
        RW_TRY(make_tree(ctx, &model->tree[t], spec->leaves[t % n_sizes], spec, model, random));
        if (spec->form >= 2)
            RW_TRY(make_symmetric(ctx, &model->tree[t], spec->form == 3, random));
    }
    return RW_OK;
}

/* ---- data ---- */

static int make_column(struct rw_ctx *ctx, struct rw_column *column, uint32_t feature,
                       const struct spec *spec, int sparse, struct random *random)
{
    const uint32_t n_docs = spec->n_docs;
    column->feature = feature;
    RW_TRY(RW_NEW(ctx, column->value, n_docs));
    if (sparse)
        RW_TRY(RW_NEW(ctx, column->row, n_docs));
    for (uint32_t doc = 0; doc < n_docs; doc++) {
        const float value = pick(spec, random, 0);
        if (sparse && (rw_is_absent(value) || below(random, 3)))
            continue;
        if (sparse)
            column->row[column->n] = doc;
        column->value[column->n++] = value;
    }
    return RW_OK;
}

int make_data(struct rw_ctx *ctx, const struct spec *spec, struct random *random,
              struct rw_dataset **out)
{
    RW_TRY(RW_NEW(ctx, *out, 1));
    struct rw_dataset *data = *out;
    data->n_docs = spec->n_docs;
    RW_TRY(RW_NEW(ctx, data->column, 2 * (size_t)spec->n_features));
    for (uint32_t i = 0; i < spec->n_features; i++) {
        const uint32_t id = 1 + i * spec->gap;
        if (!spec->lacking || i % 3 != 1)
            RW_TRY(
                make_column(ctx, &data->column[data->n_columns++], id, spec, i % 4 == 3, random));
        if (spec->unknown && spec->gap > 1)
            RW_TRY(make_column(ctx, &data->column[data->n_columns++], id + 1, spec, 0, random));
    }
    return RW_OK;
}

/* ---- the plain walk ---- */

int score_one_by_one(struct rw_ctx *ctx, const struct rw_model *model,
                     const struct rw_dataset *data, one_fn one, const void *user, double *scores)
{
    const float absent = model->absent_missing ? NAN : 0.0f;
    float *values;
    uint32_t *next; /* of each column, the entry that comes next */
    const size_t n_values = RW_FEATURE_IDS;
    RW_TRY(RW_NEW(ctx, values, n_values));
    RW_TRY(RW_NEW(ctx, next, data->n_columns));
    for (uint32_t doc = 0; doc < data->n_docs; doc++) {
        for (size_t f = 0; doc == 0 && f < n_values; f++)
            values[f] = absent;
        for (uint32_t c = 0; c < data->n_columns; c++) {
            const struct rw_column *column = &data->column[c];
            float value = rw_float_of_bits(RW_ABSENT_BITS);
            if (!column->row)
                value = column->value[doc];
            else if (next[c] < column->n && column->row[next[c]] == doc)
                value = column->value[next[c]++];
            values[column->feature] = rw_is_absent(value) ? absent : value;
        }
        scores[doc] = one(user, values, n_values);
    }
    rw_mem_free(next);
    rw_mem_free(values);
    return RW_OK;
}

struct plain {
    const struct rw_model *model;
    int n_trees;
};

static double plain_one(const void *user, const float *values, size_t n_values)
{
    static float coded[RW_FEATURE_IDS];
    const struct plain *plain = user;
    if (plain->model->categories.n) {
        memcpy(coded, values, n_values * sizeof(*coded));
        codes_of_row(plain->model, coded);
        values = coded;
    }
    double score = 0.0;
    for (int t = 0; t < plain->n_trees; t++) {
        const struct rw_tree *tree = &plain->model->tree[t];
        const float absent = rw_model_absent(plain->model);
        score += (double)tree->leaf[rw_tree_leaf(tree, values, n_values, absent)];
    }
    return score;
}

int score_plainly(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_dataset *data,
                  int n_trees, double *scores)
{
    const struct plain plain = {model, n_trees ? n_trees : model->n_trees};
    return score_one_by_one(ctx, model, data, plain_one, &plain, scores);
}

/* ---- comparing ---- */

void compare(struct totals *totals, const struct spec *spec, const char *what, const double *want,
             const double *got, uint32_t n)
{
    uint32_t n_wrong = 0, first = 0;
    for (uint32_t i = n; i-- > 0;) {
        if (want[i] != got[i]) {
            n_wrong++;
            first = i;
        }
    }
    int fenced = 1;
    for (uint32_t i = n; i < n + FENCE; i++)
        fenced &= got[i] == 12345.0;
    if (n_wrong == 0 && fenced) {
        totals->passed++;
        return;
    }
    totals->failed++;
    printf("not ok %s: %s: %u of %u scores differ", spec->name, what, n_wrong, n);
    if (n_wrong)
        printf("; the first is %u: %.17g, not %.17g", first, got[first], want[first]);
    printf("%s\n", fenced ? "" : "; more was written than there are documents");
}

void poison(double *scores, uint32_t n)
{
    for (uint32_t i = 0; i < n + FENCE; i++)
        scores[i] = i < n ? (double)NAN : 12345.0;
}

void fail(struct totals *totals, const struct spec *spec, const char *what, const char *text)
{
    totals->failed++;
    printf("not ok %s: %s: %s\n", spec->name, what, text);
}
