/* Data sets with codes in place of values. */
#include <stdio.h>

#include "base/mem.h"
#include "base/number.h"
#include "dataset/categories.h"
#include "dataset/lexicon.h"

static int no_category(struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t doc,
                       uint32_t feature, float value)
{
    char where[512], number[16], text[RW_FEATURE_TEXT];
    rw_number_write(value, number);
    rw_dataset_where(ctx, dataset, doc, where, sizeof(where));
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s: expected a category in %s, a whole number from 0 to 16777216, "
                   "found %s",
                   where, rw_feature_text(dataset->name, dataset->n_names, feature, text), number);
}

/* Values of all documents: the column's, or `absent` ones. */
static void values_of(const struct rw_dataset *dataset, uint32_t feature, int absent_missing,
                      float *values)
{
    const float absent = absent_missing ? rw_float_of_bits(RW_MISSING_BITS) : 0.0f;
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    if (column)
        rw_column_values(column, 0, dataset->n_docs, absent, values);
    for (uint32_t doc = 0; !column && doc < dataset->n_docs; doc++)
        values[doc] = absent;
}

/* In a column of words an absent value is the number 0, as it is in others, and not word 0. */
static int is_absent(const struct rw_column *column, uint32_t *entry, uint32_t doc)
{
    if (!column)
        return 1;
    if (!column->row)
        return rw_is_absent(column->value[doc]);
    while (*entry < column->n && column->row[*entry] < doc)
        ++*entry;
    return *entry == column->n || column->row[*entry] != doc || rw_is_absent(column->value[*entry]);
}

int rw_categories_codes(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                        const struct rw_dataset *dataset, int absent_missing, float *values)
{
    const struct rw_column *column = rw_dataset_column(dataset, of->feature);
    struct rw_lexicon *lexicon =
        rw_lexicon_has(dataset->lexicon, of->feature) ? dataset->lexicon : NULL;
    uint16_t *code_of = NULL; /* [n_words] */
    uint32_t entry = 0;
    int status = RW_OK;
    if (lexicon) {
        const uint32_t n_words = rw_lexicon_n(lexicon);
        RW_TRY(RW_NEW_RAW(ctx, code_of, n_words));
        for (uint32_t i = 0; i < n_words; i++)
            code_of[i] = (uint16_t)rw_category_of_word(of, rw_lexicon_word(lexicon, i));
    }
    values_of(dataset, of->feature, absent_missing, values);
    for (uint32_t doc = 0; doc < dataset->n_docs; doc++) {
        const float value = values[doc];
        if (value != value)
            continue;
        if (lexicon && !is_absent(column, &entry, doc)) {
            values[doc] = (float)code_of[(uint32_t)value];
            continue;
        }
        if (!rw_is_category(value)) {
            status = no_category(ctx, dataset, doc, of->feature, value);
            break;
        }
        values[doc] = (float)rw_category_of_number(of, value);
    }
    rw_mem_free(code_of);
    return status;
}

int rw_categories_check_numbers(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                uint32_t feature)
{
    const struct rw_column *column =
        rw_lexicon_has(dataset->lexicon, feature) ? rw_dataset_column(dataset, feature) : NULL;
    char text[RW_FEATURE_TEXT];
    for (uint32_t i = 0; column && i < column->n; i++) {
        if (column->value[i] == column->value[i])
            return rw_fail(ctx, RW_ERR_DATA,
                           "expected numbers in %s, which the model compares with "
                           "thresholds, found categories",
                           rw_feature_text(dataset->name, dataset->n_names, feature, text));
    }
    return RW_OK;
}

void rw_recoded_release(struct rw_recoded *recoded)
{
    for (uint32_t i = 0; recoded->made && i < recoded->n_made; i++)
        rw_mem_free(recoded->made[i]);
    rw_mem_free(recoded->made);
    rw_mem_free(recoded->dataset.column);
    memset(recoded, 0, sizeof(*recoded));
}

int rw_categories_recode(struct rw_ctx *ctx, const struct rw_categories *categories,
                         const struct rw_dataset *dataset, int absent_missing,
                         struct rw_recoded *out)
{
    struct rw_dataset *to = &out->dataset;
    uint32_t c = 0;
    *out = (struct rw_recoded){.dataset = *dataset};
    to->column = NULL;
    to->n_columns = 0;
    to->lexicon = NULL;
    RW_TRY(RW_NEW(ctx, out->made, categories->n));
    RW_TRY(RW_NEW(ctx, to->column, (size_t)dataset->n_columns + categories->n));
    for (uint32_t i = 0; i < categories->n; i++) {
        const struct rw_feature_categories *of = &categories->of[i];
        for (; c < dataset->n_columns && dataset->column[c].feature < of->feature; c++)
            to->column[to->n_columns++] = dataset->column[c];
        c += c < dataset->n_columns && dataset->column[c].feature == of->feature;
        RW_TRY(RW_NEW_RAW(ctx, out->made[i], dataset->n_docs));
        out->n_made++;
        RW_TRY(rw_categories_codes(ctx, of, dataset, absent_missing, out->made[i]));
        to->column[to->n_columns++] =
            (struct rw_column){.feature = of->feature, .n = dataset->n_docs, .value = out->made[i]};
    }
    for (; c < dataset->n_columns; c++)
        to->column[to->n_columns++] = dataset->column[c];
    return RW_OK;
}

/* The numbers of words in the data set's lexicon; RW_MAX_WORDS: missing. */
static int add_words(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                     const char *const *words, uint32_t n_words, uint32_t *number)
{
    for (uint32_t i = 0; i < n_words; i++) {
        const size_t n = strlen(words[i]);
        number[i] = RW_MAX_WORDS;
        if (n == 0)
            continue;
        const int status = n > RW_MAX_WORD_BYTES
                               ? RW_ERR_DATA
                               : rw_lexicon_add(dataset->lexicon, words[i], n, &number[i]);
        if (status < 0)
            return rw_fail(ctx, status,
                           status == RW_ERR_DATA ? "feature %u: expected at most %d words of at "
                                                   "most %d bytes"
                                                 : "out of memory: words of feature %u",
                           feature, RW_MAX_WORDS, RW_MAX_WORD_BYTES);
    }
    return RW_OK;
}

int rw_dataset_set_categories(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                              const char *const *words, uint32_t n_words)
{
    if (feature > RW_MAX_FEATURE || dataset->cache || dataset->codes || !dataset->column)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "categories of feature %u: expected a data set with values, from no cache",
                       feature);
    if (rw_lexicon_has(dataset->lexicon, feature))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "feature %u has categories already", feature);
    return rw_categories_set_words(ctx, dataset, feature, words, n_words);
}

int rw_categories_set_words(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                            const char *const *words, uint32_t n_words)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    uint32_t *number;
    int status;
    if (!dataset->lexicon)
        RW_TRY(rw_lexicon_new(ctx, &dataset->lexicon));
    RW_TRY(RW_NEW(ctx, number, n_words));
    RW_TRY_OUT(add_words(ctx, dataset, feature, words, n_words, number));
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        if (value == value && !(rw_is_category(value) && value < (float)n_words)) {
            status = no_category(ctx, dataset, column->row ? column->row[i] : i, feature, value);
            goto out;
        }
    }
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        if (value != value)
            continue;
        const uint32_t n = number[(uint32_t)value];
        column->value[i] = n == RW_MAX_WORDS ? rw_float_of_bits(RW_MISSING_BITS) : (float)n;
    }
    rw_lexicon_mark(dataset->lexicon, feature);
    status = RW_OK;
out:
    rw_mem_free(number);
    return status;
}
