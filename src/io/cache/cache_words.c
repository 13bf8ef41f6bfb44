/* A cache's names of features and its words: of each feature whose values are words, those that its
 * documents have, by their bytes. The feature's values are their numbers in that order, from 0,
 * whatever numbers they have in memory, so the file depends on the data alone. */
#include <stdlib.h>

#include "base/mem.h"
#include "base/words.h"
#include "dataset/categories.h"
#include "dataset/names.h"
#include "io/cache/cache.h"
#include "io/data_format.h"

/* ---- to write ---- */

void rw_cache_words_release(struct rw_cache_words *words)
{
    for (uint32_t i = 0; i < words->n_features; i++)
        rw_mem_free(words->made[i]);
    rw_mem_free(words->made);
    rw_mem_free(words->feature);
    rw_mem_free(words->n_words);
    rw_mem_free(words->word);
    rw_mem_free(words->view.column);
    memset(words, 0, sizeof(*words));
}

/* Words in use, sorted, behind those of features before. in_use: [n_lexicon] zeroed. */
static int gather_words(struct rw_ctx *ctx, struct rw_lexicon *lexicon, uint32_t n_lexicon,
                        const struct rw_column *column, uint8_t *in_use,
                        struct rw_cache_words *words)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < column->n; i++) {
        if (column->value[i] == column->value[i])
            in_use[(uint32_t)column->value[i]] = 1;
    }
    for (uint32_t k = 0; k < n_lexicon; k++)
        n += in_use[k];
    RW_TRY(RW_GROW(ctx, words->word, words->word_room, words->n_all + n + 1));
    const char **own = words->word + words->n_all;
    for (uint32_t k = 0, at = 0; k < n_lexicon; k++) {
        if (in_use[k])
            own[at++] = rw_lexicon_word(lexicon, k);
    }
    if (n)
        qsort(own, n, sizeof(*own), rw_words_by_bytes);
    words->n_words[words->n_features] = n;
    words->n_all += n;
    return RW_OK;
}

/* The column with numbers of the feature's own words, which were gathered last. */
static int renumber(struct rw_ctx *ctx, struct rw_lexicon *lexicon, uint32_t n_lexicon,
                    const uint8_t *in_use, struct rw_column *column, struct rw_cache_words *words)
{
    const uint32_t n = words->n_words[words->n_features];
    const char *const *own = words->word + words->n_all - n;
    float *number_of /* [n_lexicon] */, *value = NULL;
    RW_TRY(RW_NEW_RAW(ctx, number_of, n_lexicon));
    const int status = RW_NEW_RAW(ctx, value, column->n);
    for (uint32_t k = 0; status >= 0 && k < n_lexicon; k++) {
        const char *word = in_use[k] ? rw_lexicon_word(lexicon, k) : NULL;
        const char *const *found =
            word ? bsearch(&word, own, n, sizeof(*own), rw_words_by_bytes) : NULL;
        number_of[k] = found ? (float)(found - own) : 0.0f;
    }
    for (uint32_t i = 0; status >= 0 && i < column->n; i++) {
        const float v = column->value[i];
        value[i] = v == v ? number_of[(uint32_t)v] : v;
    }
    rw_mem_free(number_of);
    words->made[words->n_features] = value;
    column->value = value;
    return status;
}

int rw_cache_words_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                        struct rw_cache_words *words)
{
    struct rw_lexicon *lexicon = dataset->lexicon;
    uint8_t *in_use = NULL;
    int status = RW_OK;
    memset(words, 0, sizeof(*words));
    if (!rw_cache_has_words(dataset))
        return RW_OK;
    const uint32_t n_columns = dataset->n_columns, n_lexicon = rw_lexicon_n(lexicon);
    words->view = *dataset;
    words->view.column = NULL;
    RW_TRY_OUT(RW_NEW(ctx, words->view.column, n_columns));
    memcpy(words->view.column, dataset->column, n_columns * sizeof(*dataset->column));
    RW_TRY_OUT(RW_NEW(ctx, words->made, n_columns));
    RW_TRY_OUT(RW_NEW(ctx, words->feature, n_columns));
    RW_TRY_OUT(RW_NEW(ctx, words->n_words, n_columns));
    RW_TRY_OUT(RW_NEW_RAW(ctx, in_use, n_lexicon));
    for (uint32_t c = 0; c < n_columns; c++) {
        struct rw_column *column = &words->view.column[c];
        if (!rw_lexicon_has(lexicon, column->feature))
            continue;
        if (n_lexicon)
            memset(in_use, 0, n_lexicon);
        words->feature[words->n_features] = column->feature;
        RW_TRY_OUT(gather_words(ctx, lexicon, n_lexicon, column, in_use, words));
        RW_TRY_OUT(renumber(ctx, lexicon, n_lexicon, in_use, column, words));
        words->n_features++;
    }
out:
    rw_mem_free(in_use);
    if (status < 0)
        rw_cache_words_release(words);
    return status;
}

int rw_cache_has_words(const struct rw_dataset *dataset)
{
    for (uint32_t c = 0; dataset->lexicon && c < dataset->n_columns; c++) {
        if (rw_lexicon_has(dataset->lexicon, dataset->column[c].feature))
            return 1;
    }
    return 0;
}

/* ---- to read ---- */

/* The texts of a section, [n], which hold all of its bytes; each ended by 0, and not empty. out:
 * owned.
 */
static int find_texts(struct rw_ctx *ctx, const struct rw_cache_layout *layout, const char *map,
                      enum rw_cache_section section, uint64_t n, const char ***out)
{
    const char *text = map + layout->offset[section], *end = text + layout->n[section];
    if (n > layout->n[section])
        return RW_ERR_FORMAT;
    RW_TRY(RW_NEW(ctx, *out, n + 1));
    for (uint64_t i = 0; i < n; i++) {
        const char *stop = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
        if (!stop || stop == text)
            return RW_ERR_FORMAT;
        (*out)[i] = text;
        text = stop + 1;
    }
    return text == end ? RW_OK : RW_ERR_FORMAT;
}

int rw_cache_take_names(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                        const struct rw_cache_layout *layout, const char *map,
                        struct rw_dataset *dataset)
{
    const uint32_t *feature = (const void *)(map + layout->offset[RW_CACHE_NAME_FEATURE]);
    const char **text = NULL;
    int status;
    RW_TRY_OUT(find_texts(ctx, layout, map, RW_CACHE_NAME_TEXT, h->n_names, &text));
    if (h->n_names) {
        RW_TRY_OUT(RW_NEW(ctx, dataset->name, h->n_names));
        dataset->width = feature[h->n_names - 1] + 1;
    }
    for (uint32_t i = 0; i < h->n_names; i++) {
        dataset->name[i].feature = feature[i];
        dataset->n_names++;
        RW_TRY_OUT(rw_mem_copy_text(ctx, &dataset->name[i].name, text[i]));
    }
out:
    rw_mem_free(text);
    return status == RW_ERR_FORMAT
               ? rw_cache_damaged(ctx, name, rw_cache_row[RW_CACHE_NAME_FEATURE].wrong)
               : status;
}

/* The words of `n` features, [n_words] each, ascending, end to end in `word`. */
struct found_words {
    const uint32_t *feature, *n_words;
    uint32_t n;
    const char **word; /* owned */
};

static int find_words(struct rw_ctx *ctx, const struct rw_cache_layout *layout, const char *map,
                      struct found_words *found)
{
    uint64_t n_all = 0;
    for (uint32_t i = 0; i < found->n; i++) {
        if (found->n_words[i] > RW_MAX_WORDS)
            return RW_ERR_FORMAT;
        n_all += found->n_words[i];
    }
    RW_TRY(find_texts(ctx, layout, map, RW_CACHE_WORD_TEXT, n_all, &found->word));
    const char **own = found->word;
    for (uint32_t i = 0; i < found->n; own += found->n_words[i++]) {
        for (uint32_t k = 0; k < found->n_words[i]; k++) {
            if (strlen(own[k]) > RW_MAX_WORD_BYTES || (k && strcmp(own[k - 1], own[k]) >= 0))
                return RW_ERR_FORMAT;
        }
    }
    return RW_OK;
}

/* Values are numbers of these words, or missing. */
static int values_are_good(const struct rw_column *column, uint32_t n_words)
{
    for (uint32_t i = 0; i < column->n; i++) {
        const float v = column->value[i];
        if (v == v && !(rw_is_category(v) && v < (float)n_words))
            return 0;
    }
    return 1;
}

/* The context's lexicon, if this file has by words what the context reads so, and no more: else
 * numbers would stand beside those of another file that mean something else. */
static int take_lexicon(struct rw_ctx *ctx, const struct found_words *found,
                        struct rw_dataset *dataset)
{
    struct rw_lexicon *shared;
    uint32_t n_marked = 0, n_both = 0, i = 0;
    RW_TRY(rw_columns_lexicon(ctx, dataset->name, dataset->n_names, &shared));
    for (uint32_t c = 0; shared && c < dataset->n_columns; c++) {
        const uint32_t f = dataset->column[c].feature;
        while (i < found->n && found->feature[i] < f)
            i++;
        const int is_marked = rw_lexicon_has(shared, f);
        n_marked += (uint32_t)is_marked;
        n_both += is_marked && i < found->n && found->feature[i] == f;
    }
    if (shared && n_marked == n_both && n_both == found->n)
        dataset->lexicon = rw_lexicon_share(shared);
    return RW_OK;
}

int rw_cache_take_words(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                        const struct rw_cache_layout *layout, const char *map,
                        struct rw_dataset *dataset)
{
    struct found_words found = {.feature =
                                    (const void *)(map + layout->offset[RW_CACHE_WORD_FEATURE]),
                                .n_words = (const void *)(map + layout->offset[RW_CACHE_WORD_N]),
                                .n = h->n_word_features};
    int status;
    RW_TRY_OUT(find_words(ctx, layout, map, &found));
    if (found.n)
        RW_TRY_OUT(take_lexicon(ctx, &found, dataset));
    const char **own = found.word;
    for (uint32_t i = 0; i < found.n; own += found.n_words[i++]) {
        const struct rw_column *column = rw_dataset_column(dataset, found.feature[i]);
        if (!column || !values_are_good(column, found.n_words[i])) {
            status = RW_ERR_FORMAT;
            goto out;
        }
        RW_TRY_OUT(rw_categories_set_words(ctx, dataset, found.feature[i], own, found.n_words[i]));
    }
out:
    rw_mem_free(found.word);
    return status == RW_ERR_FORMAT
               ? rw_cache_damaged(ctx, name, rw_cache_row[RW_CACHE_WORD_FEATURE].wrong)
               : status;
}
