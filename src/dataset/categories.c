/* Copies and frees tables of categories, and looks up the codes of categories, given as words or as
 * numbers (dataset/categories.h).
 * dataset/categories_make.c chooses the codes. */
#include "dataset/categories.h"

#include <stdlib.h>

void rw_categories_release(struct rw_categories *categories)
{
    for (uint32_t i = 0; categories->of && i < categories->n; i++) {
        struct rw_feature_categories *of = &categories->of[i];
        for (uint32_t k = 0; of->word && k < of->n; k++)
            rw_mem_free(of->word[k]);
        rw_mem_free(of->word);
        rw_mem_free(of->number);
    }
    rw_mem_free(categories->of);
    memset(categories, 0, sizeof(*categories));
}

int rw_categories_copy(struct rw_ctx *ctx, const struct rw_categories *from,
                       struct rw_categories *to)
{
    memset(to, 0, sizeof(*to));
    if (from->n == 0)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, to->of, from->n));
    while (to->n < from->n) {
        const struct rw_feature_categories *one = &from->of[to->n];
        struct rw_feature_categories *copy = &to->of[to->n++]; /* counted first, so a partial copy
                                                                  is released, too */
        copy->feature = one->feature;
        RW_TRY(RW_NEW(ctx, copy->word, one->n));
        for (; copy->n < one->n; copy->n++)
            RW_TRY(rw_mem_copy_text(ctx, &copy->word[copy->n], one->word[copy->n]));
    }
    return rw_categories_index(ctx, to);
}

int rw_categories_index(struct rw_ctx *ctx, struct rw_categories *categories)
{
    for (uint32_t i = 0; i < categories->n; i++) {
        struct rw_feature_categories *of = &categories->of[i];
        RW_TRY(RW_NEW(ctx, of->number, of->n));
        for (uint32_t code = 0; code < of->n; code++) {
            const char *word = of->word[code];
            uint64_t number;
            if (!rw_number_whole(word, RW_MAX_CATEGORY_ID, &number) || (word[0] == '0' && word[1]))
                continue;
            of->number[of->n_numbers++] = (struct rw_category_number){(uint32_t)number, code};
        }
        RW_SORT(of->number, of->n_numbers, rw_by_u32);
    }
    return RW_OK;
}

const struct rw_feature_categories *rw_categories_find(const struct rw_categories *categories,
                                                       uint32_t feature)
{
    const uint32_t at =
        rw_records_under(categories->of, sizeof(*categories->of), categories->n, feature);
    return at < categories->n && categories->of[at].feature == feature ? &categories->of[at] : NULL;
}

static int compare_words(const void *key, const void *word)
{
    return strcmp(key, *(char *const *)word);
}

uint32_t rw_category_of_word(const struct rw_feature_categories *of, const char *word)
{
    if (of->n == 0)
        return 0;
    char *const *found = bsearch(word, of->word, of->n, sizeof(*of->word), compare_words);
    return found ? (uint32_t)(found - of->word) : of->n;
}

uint32_t rw_category_of_number(const struct rw_feature_categories *of, float value)
{
    if (!rw_is_category(value) || of->n_numbers == 0)
        return of->n;
    const struct rw_category_number key = {.number = (uint32_t)value};
    const struct rw_category_number *found =
        bsearch(&key, of->number, of->n_numbers, sizeof(key), rw_by_u32);
    return found ? found->code : of->n;
}
