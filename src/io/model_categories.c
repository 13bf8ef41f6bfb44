/* What a model's text has of categories. */
#include <string.h>

#include "base/mem.h"
#include "io/model_text.h"
#include "io/model_words.h"

static int words_of_feature(struct rw_words *w, struct rw_feature_categories *of, int32_t next)
{
    enum { LEAST_BYTES = 11 }; /* category a */
    int32_t feature = (int32_t)of->feature, n = (int32_t)of->n;
    const char *begin = w->at;
    RW_TRY(rw_words_count(w, "feature ", "a feature id", RW_MAX_FEATURE, &feature));
    if (feature < next) {
        w->at = begin;
        return rw_words_fail(w, "ids that ascend");
    }
    RW_TRY(rw_words_count_of(w, " words ", "the number of words", LEAST_BYTES, &n));
    const int32_t most = w->version < RW_MODEL_VERSION_WITH_MANY ? RW_MODEL_FEW_CATEGORIES
                                                                 : (int32_t)RW_MAX_CATEGORIES;
    if (n > most)
        return rw_fail(w->ctx, RW_ERR_FORMAT, "%s:%u: expected at most %d words, found %d", w->path,
                       w->line, most, n);
    RW_TRY(rw_words_newline(w));
    if (!w->is_writing)
        RW_TRY(RW_NEW(w->ctx, of->word, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        if (!w->is_writing)
            of->n = (uint32_t)i + 1;
        begin = w->at;
        RW_TRY(rw_words_text(w, "category ", "a word", &of->word[i]));
        if (i > 0 && strcmp(of->word[i - 1], of->word[i]) >= 0) {
            w->at = begin;
            return rw_words_fail(w, "words that ascend");
        }
        RW_TRY(rw_words_newline(w));
    }
    if (!w->is_writing)
        of->feature = (uint32_t)feature;
    return RW_OK;
}

int rw_categories_grammar(struct rw_words *w, struct rw_categories *categories)
{
    enum { LEAST_BYTES = 18 }; /* feature 0 words 0 */
    int32_t n = (int32_t)categories->n, next = 0;
    RW_TRY(rw_words_count_of(w, "categories ", "the number of features with categories",
                             LEAST_BYTES, &n));
    RW_TRY(rw_words_newline(w));
    if (!w->is_writing)
        RW_TRY(RW_NEW(w->ctx, categories->of, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        if (!w->is_writing)
            categories->n = (uint32_t)i + 1;
        RW_TRY(words_of_feature(w, &categories->of[i], next));
        next = (int32_t)categories->of[i].feature + 1;
    }
    if (!w->is_writing)
        RW_TRY(rw_categories_index(w->ctx, categories));
    return rw_words_newline(w);
}

int rw_code_set_grammar(struct rw_words *w, uint32_t n_codes, struct rw_code_set *set)
{
    int is_none = 1;
    int32_t code = -2, last;
    for (int i = 0; i < RW_SET_WORDS; i++)
        is_none = is_none && set->word[i] == 0;
    RW_TRY(rw_words_take(w, " in "));
    RW_TRY(rw_words_option(w, "none", &is_none));
    for (int more = !is_none; more;) {
        const char *begin = w->at;
        const int32_t least = code + 2;
        for (code = least; w->is_writing && !rw_set_has(set, (uint32_t)code);)
            code++;
        for (last = code; w->is_writing && rw_set_has(set, (uint32_t)last + 1);)
            last++;
        int is_range = last > code;
        RW_TRY(rw_words_count(w, "", "a code", RW_MAX_CATEGORIES, &code));
        RW_TRY(rw_words_option(w, "-", &is_range));
        if (!w->is_writing)
            last = code;
        if (is_range)
            RW_TRY(rw_words_count(w, "", "a code", RW_MAX_CATEGORIES, &last));
        if (code < least || last < code + is_range || (uint32_t)last >= n_codes) {
            w->at = begin;
            return rw_words_fail(w, "codes of the feature that ascend, neighbours as a range");
        }
        for (int32_t c = code; c <= last && !w->is_writing; c++)
            rw_set_add(set, (uint32_t)c);
        code = last;
        for (more = 0, last++; w->is_writing && last <= RW_MAX_CATEGORIES && !more; last++)
            more = rw_set_has(set, (uint32_t)last);
        RW_TRY(rw_words_option(w, ",", &more));
    }
    return RW_OK;
}
