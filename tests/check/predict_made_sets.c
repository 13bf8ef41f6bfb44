/* Made models whose trees ask for sets of categories, and data for them. */
#include <stdio.h>

#include "base/mem.h"
#include "base/rng.h"
#include "dataset/categories.h"
#include "predict_made.h"

/* Words are FIRST_WORD, FIRST_WORD + 1, ..., so that codes are the numbers above the first one. */
enum { FIRST_WORD = 100, MANY_WORDS = 255, MOST_WORDS = 1023 };

static uint32_t below(struct random *random, uint32_t n)
{
    return rw_random(random->seed, random->next++, 0, 1002) % n;
}

static int make_words(struct rw_ctx *ctx, struct rw_feature_categories *of, uint32_t feature,
                      uint32_t n)
{
    char word[16];
    of->feature = feature;
    RW_TRY(RW_NEW(ctx, of->word, n));
    for (; of->n < n; of->n++) {
        snprintf(word, sizeof(word), "%u", FIRST_WORD + of->n);
        RW_TRY(rw_mem_copy_text(ctx, &of->word[of->n], word));
    }
    return RW_OK;
}

/* The i-th of a feature's sets, with the code of all other words or without. */
static struct rw_code_set set_of(const struct rw_feature_categories *of, uint32_t i)
{
    struct random random = {of->feature, (uint64_t)i << 32};
    struct rw_code_set set = {{0}};
    for (uint32_t code = 0; code <= of->n; code++) {
        if (below(&random, 2))
            rw_set_add(&set, code);
    }
    return set;
}

static int ask_for_sets(struct rw_ctx *ctx, const struct spec *spec, struct random *random,
                        struct rw_model *model)
{
    for (int t = 0; t < model->n_trees; t++) {
        struct rw_tree *tree = &model->tree[t];
        for (int32_t k = 0; k < tree->n_leaves - 1; k++) {
            const struct rw_feature_categories *of =
                rw_categories_find(&model->categories, tree->feature[k]);
            if (!of)
                continue;
            RW_TRY(rw_tree_add_sets(ctx, tree));
            tree->by_set[k] = 1;
            tree->set[k] = set_of(of, below(random, spec->sets));
            tree->cut[k] = 0.0f;
        }
    }
    return RW_OK;
}

/* Words of the model and others; absent and missing ones stay. */
static void number_values(struct rw_column *column, uint32_t n_words, struct random *random)
{
    static const float others[] = {0.0f, 7.0f, 99.0f, 16777216.0f};
    for (uint32_t i = 0; i < column->n; i++) {
        if (rw_is_absent(column->value[i]) || column->value[i] != column->value[i])
            continue;
        column->value[i] = below(random, 10) ? (float)(FIRST_WORD + below(random, n_words))
                                             : others[below(random, 4)];
    }
}

int make_sets(struct rw_ctx *ctx, const struct spec *spec, struct random *random,
              struct rw_model *model, struct rw_dataset *data)
{
    struct rw_categories *categories = &model->categories;
    RW_TRY(RW_NEW(ctx, categories->of, model->n_features));
    for (uint32_t i = 0; i < model->n_features; i += 2) {
        const uint32_t n = i % 4 == 0   ? 1 + below(random, 40)
                           : i % 8 == 2 ? MANY_WORDS
                                        : MOST_WORDS;
        RW_TRY(make_words(ctx, &categories->of[categories->n++], model->feature[i], n));
    }
    RW_TRY(rw_categories_index(ctx, categories));
    for (uint32_t c = 0; c < data->n_columns; c++) {
        const struct rw_feature_categories *of =
            rw_categories_find(categories, data->column[c].feature);
        if (of)
            number_values(&data->column[c], of->n, random);
    }
    return ask_for_sets(ctx, spec, random, model);
}

void codes_of_row(const struct rw_model *model, float *values)
{
    for (uint32_t i = 0; i < model->categories.n; i++) {
        const struct rw_feature_categories *of = &model->categories.of[i];
        float *value = &values[of->feature];
        if (*value == *value)
            *value = *value >= FIRST_WORD && *value < (float)(FIRST_WORD + of->n)
                         ? *value - FIRST_WORD
                         : (float)of->n;
    }
}
