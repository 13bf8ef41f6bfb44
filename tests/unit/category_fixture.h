/* Models some of whose features are split by sets of categories. */
#pragma once

#include "model_fixture.h"

/* By bytes, as a model has them. */
static const char *const category_numbers[] = {"0", "12", "300", "31", "32", "4095", "7"};
static const char *const category_words[] = {"a \"quoted\" one", "b", "x y", "\xc3\xa9t\xc3\xa9?"};
enum { N_CATEGORY_NUMBERS = 7, N_CATEGORY_WORDS = 4 };

/* The feature's splits become sets of codes, of random ones, or (`plain`) such that missing values
 * go where unknown words do. Features by ascending id. */
static inline void fixture_by_category(struct rw_ctx *ctx, struct rw_model *model, uint32_t feature,
                                       const char *const *words, uint32_t n, int plain,
                                       uint64_t seed)
{
    struct rw_categories *all = &model->categories;
    if (!all->of)
        cr_assert_eq(RW_NEW(ctx, all->of, 8), RW_OK);
    struct rw_feature_categories *of = &all->of[all->n++];
    of->feature = feature;
    cr_assert_eq(RW_NEW(ctx, of->word, n), RW_OK);
    for (; of->n < n; of->n++)
        cr_assert_eq(rw_mem_copy_text(ctx, &of->word[of->n], words[of->n]), RW_OK);
    struct rw_categories one = {.n = 1, .of = of};
    cr_assert_eq(rw_categories_index(ctx, &one), RW_OK);
    for (int32_t t = 0; t < model->n_trees; t++) {
        struct rw_tree *tree = &model->tree[t];
        for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
            if (tree->feature[i] != feature)
                continue;
            cr_assert_eq(rw_tree_add_sets(ctx, tree), RW_OK);
            tree->by_set[i] = 1;
            tree->cut[i] = 0;
            const uint32_t draw = fixture_below(seed, (uint64_t)t * 1000 + (uint64_t)i, 1u << 20);
            const uint32_t all_codes = (1u << (n + 1)) - 1, drawn = draw & all_codes;
            /* missing values against all others; a set of all codes or none parts nothing else */
            const int is_all = draw % 11 == 0 || drawn == 0 || drawn == all_codes;
            for (uint32_t code = 0; code <= n; code++) {
                if (is_all || (draw >> code & 1))
                    rw_set_add(&tree->set[i], code);
            }
            if (is_all)
                tree->missing_left[i] = (uint8_t)plain;
            else if (plain)
                tree->missing_left[i] = (uint8_t)rw_set_has(&tree->set[i], n);
        }
    }
}

/* A value of a feature by numbers: one of its words, another number, or missing. */
static inline float fixture_category(uint64_t seed, uint64_t item)
{
    static const float value[] = {0, 12, 300, 31, 32, 4095, 7, 1, 33, 16777215, 64};
    const uint32_t draw = fixture_below(seed, item, 13);
    return draw < 11 ? value[draw] : NAN;
}
