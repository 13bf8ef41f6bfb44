/* Reading CatBoost's tests for categories: values to be compared with, and statistics as
 * catboost_sets.c writes them. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "convert/catboost_model.h"
#include "dataset/code_set.h"

/* A word of cat_features_hash. */
struct known {
    uint32_t hash;
    const char *text; /* borrowed of the file's value */
};
/* An entry of categorical_features. */
struct entry {
    int64_t index; /* as splits and statistics name it */
    uint32_t column;
};
/* A word that some test of a column lists. */
struct listed {
    uint32_t column, word;
};

struct reading {
    struct rw_source *source;
    struct rw_catboost_tests *to;
    struct known *word; /* [n_words] by hash; owned */
    uint32_t n_words;
    struct entry *entry; /* [n_entries] owned */
    size_t n_entries;
};

/* ------------------------------------------------------------------ words */

static int by_hash(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    return x->hash != y->hash ? (x->hash > y->hash) - (x->hash < y->hash)
                              : strcmp(x->text, y->text);
}

static void read_words(struct reading *r, const json_t *info)
{
    struct rw_source *source = r->source;
    const json_t *words = rw_catboost_array(source, info, "cat_features_hash");
    const size_t n = json_array_size(words);
    if (rw_keep(source, RW_NEW(source->ctx, r->word, n)) < 0)
        return;
    for (size_t i = 0; i < n && source->status == RW_OK; i++) {
        const json_t *word = json_array_get(words, i);
        const uint32_t hash =
            (uint32_t)rw_json_integer(source, word, "hash", 0, (int64_t)UINT32_MAX);
        const char *text = rw_json_text(source, word, "value");
        if (rw_catboost_hash(text) != hash)
            rw_refuse(source, "'cat_features_hash' has '%.64s' as %u; its hash is %u", text, hash,
                      rw_catboost_hash(text));
        r->word[i] = (struct known){hash, text};
    }
    if (source->status < 0)
        return;
    if (n > 0)
        qsort(r->word, n, sizeof(*r->word), by_hash);
    for (size_t i = 0; i < n; i++) {
        if (r->n_words == 0 || by_hash(&r->word[r->n_words - 1], &r->word[i]) != 0)
            r->word[r->n_words++] = r->word[i];
    }
}

/* Adds the category to the test that is made, the last. */
static void add_category(struct reading *r, uint32_t hash)
{
    struct rw_source *source = r->source;
    struct rw_catboost_tests *to = r->to;
    struct rw_catboost_test *test = &to->test[to->n - 1];
    uint32_t low = 0, high = r->n_words;
    if (hash == rw_catboost_hash("")) {
        test->has_missing = 1;
        return;
    }
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (r->word[middle].hash < hash)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == r->n_words || r->word[low].hash != hash)
        rw_refuse(source,
                  "feature %u: no word of 'cat_features_hash' has the hash %u; CatBoost's "
                  "save_model writes the words if it is given a pool",
                  test->column, hash);
    else if (low + 1 < r->n_words && r->word[low + 1].hash == hash)
        rw_refuse(source, "feature %u: '%.64s' and '%.64s' have the same hash", test->column,
                  r->word[low].text, r->word[low + 1].text);
    else if (test->n == RW_MAX_CATEGORIES)
        rw_refuse(source, "feature %u: a split of over %d categories, and ours have no more",
                  test->column, RW_MAX_CATEGORIES);
    else if (rw_keep(source, RW_GROW(source->ctx, to->category, to->categories_room,
                                     to->n_categories + 1)) == RW_OK) {
        to->category[to->n_categories++] = low;
        test->n++;
    }
}

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static struct rw_catboost_test *begin_test(struct reading *r, uint32_t column)
{
    struct rw_catboost_tests *to = r->to;
    if (rw_keep(r->source, RW_GROW(r->source->ctx, to->test, to->room, to->n + 1)) < 0)
        return NULL;
    to->test[to->n] = (struct rw_catboost_test){.column = column, .first = to->n_categories};
    return &to->test[to->n++];
}

/* ------------------------------------------------------------------ values */

static void read_entry(struct reading *r, const json_t *from, struct rw_ensemble *out)
{
    struct rw_source *source = r->source;
    const json_t *values = rw_catboost_array(source, from, "values");
    const struct entry entry = {rw_json_integer(source, from, "feature_index", 0, INT32_MAX),
                                (uint32_t)rw_json_integer(source, from, "flat_feature_index", 0,
                                                          (int64_t)out->n_columns - 1)};
    if (source->status < 0)
        return;
    r->entry[r->n_entries++] = entry;
    out->column_had[entry.column] = 1;
    rw_catboost_read_name(source, from, entry.column, out);
    for (size_t i = 0; i < json_array_size(values) && source->status == RW_OK; i++) {
        const int value =
            (int)rw_json_integer_at(source, values, "values", i, INT32_MIN, INT32_MAX);
        struct rw_catboost_test *test = begin_test(r, entry.column);
        if (!test)
            return;
        test->is_one = 1;
        test->value = value;
        add_category(r, (uint32_t)value);
    }
}

/* ------------------------------------------------------------------ statistics */

static const struct entry *find_entry(struct reading *r, int64_t index)
{
    for (size_t i = 0; i < r->n_entries; i++) {
        if (r->entry[i].index == index)
            return &r->entry[i];
    }
    rw_refuse(r->source, "a statistic of category feature %lld, which is not there",
              (long long)index);
    return NULL;
}

/* The entry whose categories it counts: of one feature, by classes, above 0 where there are some.
 */
static const struct entry *check_statistic(struct reading *r, const json_t *from)
{
    static const struct {
        const char *name;
        int value;
    } parts[] = {{"prior_numerator", 0}, {"prior_denomerator", 1}, {"shift", 0}, {"scale", 1}};
    static const char expected[] = "expected 'Buckets' of one feature, above 0 where a category is "
                                   "of a class";
    struct rw_source *source = r->source;
    const char *type = rw_json_text(source, from, "ctr_type");
    const json_t *elements = rw_json_array(source, from, "elements", -1);
    const json_t *borders = rw_json_array(source, from, "borders", -1);
    const json_t *element = json_array_get(elements, 0);
    int right = strcmp(type, "Buckets") == 0 && json_array_size(elements) == 1 &&
                json_array_size(borders) == 1 && json_number_value(json_array_get(borders, 0)) == 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        right &= rw_json_number(source, from, parts[i].name) == (double)parts[i].value;
    if (!right) {
        rw_refuse(source, "a statistic (ctr) of type '%.40s'; %s", type, expected);
        return NULL;
    }
    if (strcmp(rw_json_text(source, element, "combination_element"), "cat_feature_value") != 0)
        rw_refuse(source, "a statistic (ctr) of a combination; %s", expected);
    const int64_t index = rw_json_integer(source, element, "cat_feature_index", 0, INT32_MAX);
    return source->status == RW_OK ? find_entry(r, index) : NULL;
}

/* The table's rows: a key, and a count for each class. */
static const json_t *find_table(struct reading *r, const json_t *root, const json_t *from,
                                const struct entry *entry, size_t *stride)
{
    struct rw_source *source = r->source;
    const char *identifier = rw_json_text(source, from, "identifier");
    char expected[128];
    snprintf(expected, sizeof(expected),
             "{\"identifier\":[{\"cat_feature_index\":%lld,\"combination_element\":"
             "\"cat_feature_value\"}],\"type\":\"Buckets\"}",
             (long long)entry->index);
    if (strcmp(identifier, expected) != 0)
        rw_refuse(source, "a statistic's 'identifier' is '%.120s'; expected '%s'", identifier,
                  expected);
    const json_t *table =
        rw_json_object(source, rw_json_object(source, root, "ctr_data"), identifier);
    *stride = (size_t)rw_json_integer(source, table, "hash_stride", 2, INT32_MAX);
    const json_t *rows = rw_json_array(source, table, "hash_map", -1);
    if (source->status == RW_OK && json_array_size(rows) % *stride != 0)
        rw_refuse(source, "'hash_map' has %zu elements, which are no rows of %zu",
                  json_array_size(rows), *stride);
    return rows;
}

static void read_statistic(struct reading *r, const json_t *root, const json_t *from)
{
    struct rw_source *source = r->source;
    size_t stride = 0;
    const struct entry *entry = check_statistic(r, from);
    const json_t *rows = entry ? find_table(r, root, from, entry, &stride) : NULL;
    if (source->status < 0)
        return;
    const size_t at =
        1 + (size_t)rw_json_integer(source, from, "target_border_idx", 0, (int64_t)stride - 2);
    struct rw_catboost_test *test = source->status == RW_OK ? begin_test(r, entry->column) : NULL;
    for (size_t i = 0; test && source->status == RW_OK && i < json_array_size(rows); i += stride) {
        const char *text = json_string_value(json_array_get(rows, i));
        uint64_t key = 0;
        uint32_t hash = 0;
        if (!text || !rw_number_whole(text, UINT64_MAX, &key) ||
            !rw_catboost_hash_of_key(key, &hash))
            rw_refuse(source, "'hash_map', element %zu: expected the key of a category", i);
        else if (rw_json_integer_at(source, rows, "hash_map", i + at, 0, INT32_MAX) > 0)
            add_category(r, hash);
    }
    if (test && test->n > 1)
        qsort(r->to->category + test->first, test->n, sizeof(*r->to->category), by_number);
}

/* ------------------------------------------------------------------ columns */

static int by_listed(const void *a, const void *b)
{
    const struct listed *x = a, *y = b;
    return x->column != y->column ? (x->column > y->column) - (x->column < y->column)
                                  : (x->word > y->word) - (x->word < y->word);
}

/* All that tests list, each once. */
static int gather(struct reading *r, struct listed **out, size_t *n)
{
    const struct rw_catboost_tests *to = r->to;
    struct listed *all;
    *n = 0;
    RW_TRY(RW_NEW_RAW(r->source->ctx, all, to->n_categories));
    *out = all;
    for (size_t t = 0; t < to->n; t++) {
        for (uint32_t k = 0; k < to->test[t].n; k++)
            all[to->test[t].first + k] =
                (struct listed){to->test[t].column, to->category[to->test[t].first + k]};
    }
    if (to->n_categories > 0)
        qsort(all, to->n_categories, sizeof(*all), by_listed);
    for (size_t i = 0; i < to->n_categories; i++) {
        if (*n == 0 || by_listed(&all[*n - 1], &all[i]) != 0)
            all[(*n)++] = all[i];
    }
    return RW_OK;
}

/* The column's words are those that its tests list, and tests have their places among these. */
static int name_columns(struct reading *r, struct rw_ensemble *out)
{
    struct rw_catboost_tests *to = r->to;
    struct rw_ctx *ctx = r->source->ctx;
    struct listed *all = NULL;
    const char **text = NULL;
    uint32_t *begin = NULL; /* [n_columns + 1] */
    size_t n = 0;
    int status;
    RW_TRY_OUT(gather(r, &all, &n));
    RW_TRY_OUT(RW_NEW(ctx, text, n));
    RW_TRY_OUT(RW_NEW(ctx, begin, (size_t)out->n_columns + 1));
    for (size_t i = 0; i < n; i++) {
        text[i] = r->word[all[i].word].text;
        begin[all[i].column + 1]++;
    }
    for (uint32_t c = 0; c < out->n_columns; c++)
        begin[c + 1] += begin[c];
    for (size_t e = 0; e < r->n_entries; e++) {
        const uint32_t c = r->entry[e].column;
        RW_TRY_OUT(
            rw_ensemble_categories(ctx, out, c, NULL, text + begin[c], begin[c + 1] - begin[c]));
    }
    for (size_t t = 0; t < to->n; t++) {
        const uint32_t first = begin[to->test[t].column];
        for (uint32_t k = 0; k < to->test[t].n; k++) {
            uint32_t *category = &to->category[to->test[t].first + k];
            const struct listed wanted = {to->test[t].column, *category};
            const struct listed *found = bsearch(&wanted, all, n, sizeof(*all), by_listed);
            *category = (uint32_t)(found - all) - first;
        }
    }
out:
    rw_mem_free(all);
    rw_mem_free(text);
    rw_mem_free(begin);
    return status;
}

int rw_catboost_read_tests(struct rw_source *source, const json_t *root, const json_t *info,
                           struct rw_catboost_tests *tests, struct rw_ensemble *out)
{
    struct reading r = {.source = source, .to = tests};
    const json_t *entries = rw_catboost_array(source, info, "categorical_features");
    const json_t *statistics = rw_catboost_array(source, info, "ctrs");
    if (rw_keep(source, RW_NEW(source->ctx, r.entry, json_array_size(entries))) == RW_OK)
        read_words(&r, info);
    for (size_t i = 0; i < json_array_size(entries) && source->status == RW_OK; i++)
        read_entry(&r, json_array_get(entries, i), out);
    for (size_t i = 0; i < json_array_size(statistics) && source->status == RW_OK; i++)
        read_statistic(&r, root, json_array_get(statistics, i));
    if (source->status == RW_OK)
        rw_keep(source, name_columns(&r, out));
    rw_mem_free(r.word);
    rw_mem_free(r.entry);
    return source->status;
}

void rw_catboost_tests_release(struct rw_catboost_tests *tests)
{
    rw_mem_free(tests->test);
    rw_mem_free(tests->category);
}
