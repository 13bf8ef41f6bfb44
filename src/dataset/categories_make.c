/* Chooses the categories of a training set that get a separate code (rw_categories_make): each
 * worker sends the words that its documents have, and all workers select the same ones. Also makes
 * data sets with codes in place of values, and sets the words of a data set (dataset/categories.h).
 */
#include <stdlib.h>

#include "comm/comm.h"
#include "dataset/categories.h"

_Static_assert((int)RW_MAX_CATEGORIES + 1 == (int)RW_MAX_BINS,
               "each separate code, and the code of all other words, needs a bin");

/* A word of a feature, and the number of documents with it. The empty word only records that a
 * worker has the feature. */
struct counted {
    uint32_t feature;
    uint64_t n;
    const char *word; /* borrowed */
};

/* A worker's message, a sequence of records. Each has a feature (4 bytes), the number of documents
 * (8 bytes), a word and a 0. */
struct message {
    char *bytes; /* owned */
    size_t n, room;
};

/* Appends a record to a message. */
static int put(struct rw_ctx *ctx, struct message *m, uint32_t feature, uint64_t n,
               const char *word)
{
    const size_t length = strlen(word) + 1;
    RW_TRY(RW_GROW(ctx, m->bytes, m->room, m->n + sizeof(feature) + sizeof(n) + length));
    memcpy(m->bytes + m->n, &feature, sizeof(feature));
    memcpy(m->bytes + m->n + sizeof(feature), &n, sizeof(n));
    memcpy(m->bytes + m->n + sizeof(feature) + sizeof(n), word, length);
    m->n += sizeof(feature) + sizeof(n) + length;
    return RW_OK;
}

/* Sorts `values`, and appends a record for each distinct value, except that of the empty word.
 * values: [n]. vocabulary: NULL if the values are not numbers of words. */
static int put_numbers(struct rw_ctx *ctx, struct message *m, uint32_t feature,
                       struct rw_vocabulary *vocabulary, float *values, uint32_t n)
{
    RW_SORT(values, n, rw_by_float);
    for (uint32_t i = 0, end; i < n; i = end) {
        char number[16];
        for (end = i + 1; end < n && values[end] == values[i];)
            end++;
        snprintf(number, sizeof(number), "%u", (unsigned)values[i]);
        const char *word =
            vocabulary ? rw_vocabulary_word(vocabulary, (uint32_t)values[i]) : number;
        if (*word)
            RW_TRY(put(ctx, m, feature, end - i, word));
    }
    return RW_OK;
}

/* Appends the records of a feature: an empty word if there is a column, each word and, if absent
 * values are not missing, "0" for the documents without a value. values: [n_docs] scratch. */
static int count_feature(struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t feature,
                         int absent_missing, float *values, struct message *m)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    const struct rw_feature_categories none = {.feature = feature};
    struct rw_vocabulary *vocabulary =
        rw_vocabulary_has(dataset->vocabulary, feature) ? dataset->vocabulary : NULL;
    uint32_t n = 0, n_present = 0;
    /* only a check: fails if a value is not a category */
    RW_TRY(rw_categories_codes(ctx, &none, dataset, absent_missing, values));
    if (column)
        RW_TRY(put(ctx, m, feature, 0, ""));
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        n_present += !rw_is_absent(value);
        if (value == value)
            values[n++] = value;
    }
    RW_TRY(put_numbers(ctx, m, feature, vocabulary, values, n));
    return absent_missing || n_present == dataset->n_docs
               ? RW_OK
               : put(ctx, m, feature, dataset->n_docs - n_present, "0");
}

static int count_all(struct rw_ctx *ctx, const uint8_t *wanted, const struct rw_dataset *dataset,
                     int absent_missing, struct message *m)
{
    RW_FREED float *values = NULL;
    RW_TRY(RW_NEW_RAW(ctx, values, dataset->n_docs));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (wanted[f])
            RW_TRY(count_feature(ctx, dataset, f, absent_missing, values, m));
    }
    return RW_OK;
}

/* ---- combining the workers' words ---- */

static int by_word(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->feature != y->feature)
        return x->feature > y->feature ? 1 : -1;
    return strcmp(x->word, y->word);
}

static int by_count(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    if (x->n != y->n)
        return x->n < y->n ? 1 : -1;
    return strcmp(x->word, y->word);
}

/* Reads the records of all workers' messages, sorts them by feature and word, and merges those that
 * are equal in both. *n_out: the number of records in `out` afterwards. */
static int unpack(struct rw_ctx *ctx, const char *bytes, size_t n_bytes, struct counted *out,
                  size_t *n_out)
{
    enum { HEAD = sizeof(out->feature) + sizeof(out->n) };
    size_t n = 0, n_different = 0;
    for (size_t at = 0, next; at < n_bytes; at = next, n++) {
        next = rw_received_end(bytes, n_bytes, at, HEAD);
        if (!next)
            return rw_comm_nonsense(ctx, "categories");
        memcpy(&out[n].feature, bytes + at, sizeof(out[n].feature));
        memcpy(&out[n].n, bytes + at + sizeof(out[n].feature), sizeof(out[n].n));
        out[n].word = bytes + at + HEAD;
        if (out[n].feature > RW_MAX_FEATURE)
            return rw_comm_nonsense(ctx, "categories");
    }
    RW_SORT(out, n, by_word);
    for (size_t i = 0; i < n; i++) {
        if (n_different && by_word(&out[n_different - 1], &out[i]) == 0)
            out[n_different - 1].n += out[i].n;
        else
            out[n_different++] = out[i];
    }
    *n_out = n_different;
    return RW_OK;
}

/* Moves the words that are not empty and not in `kept` to the front. Returns their number. */
static size_t new_words(const struct rw_feature_categories *kept, struct counted *words, size_t n)
{
    size_t n_new = 0;
    for (size_t i = 0; i < n; i++) {
        if (words[i].word[0] && (!kept || rw_category_of_word(kept, words[i].word) == kept->n))
            words[n_new++] = words[i];
    }
    return n_new;
}

static void add_shared(struct rw_shared_codes *shared, const struct rw_feature_categories *of,
                       size_t n_words)
{
    if (n_words <= of->n)
        return;
    shared->n_features++;
    if (n_words > shared->n_words) {
        shared->feature = of->feature;
        shared->n_words = n_words;
        shared->n_kept = of->n;
    }
}

/* Selects the words of a feature that get a code: all of `kept`, and then the most frequent ones of
 * `words` until there are `most`. kept: a model's words of the feature, or NULL. words: [n]. */
static int keep_words(struct rw_ctx *ctx, const struct rw_feature_categories *kept,
                      struct counted *words, size_t n, uint32_t most,
                      struct rw_feature_categories *of, struct rw_shared_codes *shared)
{
    const char *chosen[RW_MAX_CATEGORIES];
    const size_t n_kept = kept ? kept->n : 0, room = most > n_kept ? most - n_kept : 0;
    const size_t n_new = new_words(kept, words, n);
    size_t n_chosen = n_new < room ? n_new : room;
    if (n_new > n_chosen)
        RW_SORT(words, n_new, by_count);
    for (size_t i = 0; i < n_chosen; i++)
        chosen[i] = words[i].word;
    for (size_t i = 0; i < n_kept; i++)
        chosen[n_chosen++] = kept->word[i];
    RW_SORT(chosen, n_chosen, rw_by_text);
    RW_TRY(RW_NEW(ctx, of->word, n_chosen));
    for (; of->n < n_chosen; of->n++)
        RW_TRY(rw_mem_copy_text(ctx, &of->word[of->n], chosen[of->n]));
    add_shared(shared, of, n_kept + n_new);
    return RW_OK;
}

/* Selects the words of all features from the messages of all workers. */
static int keep_all(struct rw_ctx *ctx, const char *bytes, size_t n_bytes, uint32_t most,
                    const struct rw_categories *kept, struct rw_categories *out,
                    struct rw_shared_codes *shared)
{
    enum { LEAST_BYTES = sizeof(uint32_t) + sizeof(uint64_t) + 1 };
    RW_FREED struct counted *words = NULL;
    size_t n = 0, n_features = kept ? kept->n : 0;
    RW_TRY(RW_NEW(ctx, words, n_bytes / LEAST_BYTES + 1));
    RW_TRY(unpack(ctx, bytes, n_bytes, words, &n));
    for (size_t i = 0; i < n; i++)
        n_features += i == 0 || words[i].feature != words[i - 1].feature;
    RW_TRY(RW_NEW(ctx, out->of, n_features));
    uint32_t k = 0;
    for (size_t i = 0, end; i < n || (kept && k < kept->n); i = end) { /* both are sorted */
        const int is_kept =
            kept && k < kept->n && (i == n || kept->of[k].feature <= words[i].feature);
        const uint32_t feature = is_kept ? kept->of[k].feature : words[i].feature;
        for (end = i; end < n && words[end].feature == feature;)
            end++;
        if (is_kept || !words[i].word[0]) { /* the empty word is first: a worker has the feature */
            out->of[out->n].feature = feature;
            out->n++;
            RW_TRY(keep_words(ctx, is_kept ? &kept->of[k] : NULL, words + i, end - i, most,
                              &out->of[out->n - 1], shared));
        }
        k += (uint32_t)is_kept;
    }
    return rw_categories_index(ctx, out);
}

int rw_categories_make(struct rw_ctx *ctx, const uint8_t *wanted, const struct rw_dataset *dataset,
                       uint32_t most, int absent_missing, const struct rw_categories *kept,
                       struct rw_categories *out, struct rw_shared_codes *shared)
{
    struct message own = {0};
    RW_FREED void *all = NULL;
    RW_FREED size_t *begin = NULL;
    int status;
    memset(out, 0, sizeof(*out));
    memset(shared, 0, sizeof(*shared));
    RW_TRY_OUT(rw_comm_agree(ctx, count_all(ctx, wanted, dataset, absent_missing, &own)));
    RW_TRY_OUT(rw_comm_all_gatherv(ctx, own.bytes, own.n, &all, &begin));
    status = keep_all(ctx, all, begin[rw_n_workers(ctx)],
                      most < RW_MAX_CATEGORIES ? most : RW_MAX_CATEGORIES, kept, out, shared);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
out:
    rw_mem_free(own.bytes);
    if (status < 0)
        rw_categories_release(out);
    return status;
}

/* ---- data sets with codes in place of values ---- */

static int no_category(struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t doc,
                       uint32_t feature, float value)
{
    char where[512], number[16], text[RW_FEATURE_TEXT];
    rw_number_write(value, number);
    rw_dataset_where(ctx, dataset, doc, where, sizeof(where));
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s: expected a category in %s, a whole number from 0 to 16777216, found %s",
                   where, rw_feature_text(dataset->name, dataset->n_names, feature, text), number);
}

/* Returns 1 if the document's value is absent. In a column of words an absent value that is not
 * missing is the category "0", as in other columns, and not word number 0. *entry: where to start
 * in a sparse column; advanced to the document. Call it for ascending documents. */
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
    struct rw_vocabulary *vocabulary =
        rw_vocabulary_has(dataset->vocabulary, of->feature) ? dataset->vocabulary : NULL;
    RW_FREED uint16_t *code_of = NULL; /* [n_words] code of each word of the vocabulary */
    uint32_t entry = 0;
    if (vocabulary) {
        const uint32_t n_words = rw_vocabulary_n(vocabulary);
        RW_TRY(RW_NEW_RAW(ctx, code_of, n_words));
        for (uint32_t i = 0; i < n_words; i++)
            code_of[i] = (uint16_t)rw_category_of_word(of, rw_vocabulary_word(vocabulary, i));
    }
    rw_dataset_feature(dataset, of->feature,
                       absent_missing ? rw_float_of_bits(RW_MISSING_BITS) : 0.0f, values);
    for (uint32_t doc = 0; doc < dataset->n_docs; doc++) {
        const float value = values[doc];
        if (value != value)
            continue;
        if (vocabulary && !is_absent(column, &entry, doc)) {
            values[doc] = (float)code_of[(uint32_t)value];
            continue;
        }
        if (!rw_is_category(value))
            return no_category(ctx, dataset, doc, of->feature, value);
        values[doc] = (float)rw_category_of_number(of, value);
    }
    return RW_OK;
}

int rw_categories_check_numbers(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                uint32_t feature)
{
    const struct rw_column *column = rw_vocabulary_has(dataset->vocabulary, feature)
                                         ? rw_dataset_column(dataset, feature)
                                         : NULL;
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

int rw_categories_recode(struct rw_ctx *ctx, struct rw_arena *arena,
                         const struct rw_categories *categories, const struct rw_dataset *dataset,
                         int absent_missing, struct rw_dataset *to)
{
    uint32_t c = 0;
    *to = *dataset;
    to->column = NULL;
    to->n_columns = 0;
    to->vocabulary = NULL;
    RW_TRY(RW_ARENA_NEW(ctx, arena, to->column, (size_t)dataset->n_columns + categories->n));
    for (uint32_t i = 0; i < categories->n; i++) {
        const struct rw_feature_categories *of = &categories->of[i];
        for (; c < dataset->n_columns && dataset->column[c].feature < of->feature; c++)
            to->column[to->n_columns++] = dataset->column[c];
        c += c < dataset->n_columns && dataset->column[c].feature == of->feature;
        struct rw_column *made = &to->column[to->n_columns++];
        *made = (struct rw_column){.feature = of->feature, .n = dataset->n_docs};
        RW_TRY(RW_ARENA_NEW(ctx, arena, made->value, dataset->n_docs));
        RW_TRY(rw_categories_codes(ctx, of, dataset, absent_missing, made->value));
    }
    for (; c < dataset->n_columns; c++)
        to->column[to->n_columns++] = dataset->column[c];
    return RW_OK;
}

/* Adds words to the data set's vocabulary and writes their numbers to number: [n_words]. An empty
 * word gets RW_MAX_WORDS, which means missing. */
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
                               : rw_vocabulary_add(dataset->vocabulary, words[i], n, &number[i]);
        if (status < 0)
            return rw_fail(ctx, status,
                           status == RW_ERR_DATA
                               ? "feature %u: expected at most %d categories of at most %d bytes"
                               : "out of memory: the categories of feature %u",
                           feature, RW_MAX_WORDS, RW_MAX_WORD_BYTES);
    }
    return RW_OK;
}

int rw_dataset_set_categories(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                              const char *const *words, uint32_t n_words)
{
    if (feature > RW_MAX_FEATURE || dataset->cache.p || dataset->codes.bins || !dataset->column)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "cannot set categories of feature %u: expected a data set with values that "
                       "was not read from a cache",
                       feature);
    if (rw_vocabulary_has(dataset->vocabulary, feature))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "feature %u already has categories", feature);
    return rw_categories_set_words(ctx, dataset, feature, words, n_words);
}

int rw_categories_set_words(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                            const char *const *words, uint32_t n_words)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    RW_FREED uint32_t *number = NULL;
    if (!dataset->vocabulary)
        RW_TRY(rw_vocabulary_new(ctx, &dataset->vocabulary));
    RW_TRY(RW_NEW(ctx, number, n_words));
    RW_TRY(add_words(ctx, dataset, feature, words, n_words, number));
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        if (value == value && !(rw_is_category(value) && value < (float)n_words))
            return no_category(ctx, dataset, column->row ? column->row[i] : i, feature, value);
    }
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        if (value != value)
            continue;
        const uint32_t n = number[(uint32_t)value];
        column->value[i] = n == RW_MAX_WORDS ? rw_float_of_bits(RW_MISSING_BITS) : (float)n;
    }
    rw_vocabulary_mark(dataset->vocabulary, feature);
    return RW_OK;
}
