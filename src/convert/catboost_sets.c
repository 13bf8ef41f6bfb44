/* Splits by categories as CatBoost's tests: catboost_model.h says which. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "convert/catboost_model.h"

/* A category that some test of its column lists. */
struct rw_catboost_word {
    uint32_t column, hash;
    uint32_t category; /* as nodes list it; MISSING */
};
#define MISSING UINT32_MAX

static int lists_missing(const struct rw_ens_node *node)
{
    return node->nan == RW_NAN_RIGHT;
}

static int lists_one(const struct rw_ens_node *node)
{
    return node->n_listed + (uint32_t)lists_missing(node) == 1;
}

static int lists(const struct rw_ens_node *node, uint32_t category)
{
    const uint32_t at = rw_numbers_under(node->listed, node->n_listed, category);
    return category == MISSING ? lists_missing(node)
                               : at < node->n_listed && node->listed[at] == category;
}

/* decimal: room for the word of a category that is a number. */
static const char *word_of(const struct rw_ens_categories *of, uint32_t category, char decimal[16])
{
    if (category == MISSING)
        return "";
    if (of->word)
        return of->word[category];
    snprintf(decimal, 16, "%u", category);
    return decimal;
}

static struct rw_catboost_word word_in(const struct rw_ensemble *ensemble, uint32_t column,
                                       uint32_t category)
{
    char decimal[16];
    const struct rw_ens_categories *of = rw_ens_categories_of(ensemble, column);
    return (struct rw_catboost_word){column, rw_catboost_hash(word_of(of, category, decimal)),
                                     category};
}

/* ------------------------------------------------------------------ all tests, and their words */

static int compare(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int by_test(const void *a, const void *b)
{
    const struct rw_ens_node *x = *(const struct rw_ens_node *const *)a;
    const struct rw_ens_node *y = *(const struct rw_ens_node *const *)b;
    int order = lists_one(y) - lists_one(x);
    order = order ? order : compare(x->column, y->column);
    order = order ? order : lists_missing(x) - lists_missing(y);
    order = order ? order : compare(x->n_listed, y->n_listed);
    for (uint32_t i = 0; order == 0 && i < x->n_listed; i++)
        order = compare(x->listed[i], y->listed[i]);
    return order;
}

static int by_word(const void *a, const void *b)
{
    const struct rw_catboost_word *x = a, *y = b;
    int order = compare(x->column, y->column);
    order = order ? order : compare(x->hash, y->hash);
    return order ? order : compare(x->category, y->category);
}

static int gather_tests(struct rw_ctx *ctx, struct rw_catboost_sets *s)
{
    size_t room = 0, n = 0;
    for (int32_t t = 0; t < s->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &s->ensemble->tree[t];
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            if (tree->node[i].left < 0 || !tree->node[i].by_category)
                continue;
            RW_TRY(RW_GROW(ctx, s->test, room, n + 1));
            s->test[n++] = &tree->node[i];
        }
    }
    if (n > 0)
        qsort(s->test, n, sizeof(*s->test), by_test);
    for (size_t i = 0; i < n; i++) {
        if (s->n_tests == 0 || by_test(&s->test[s->n_tests - 1], &s->test[i]) != 0)
            s->test[s->n_tests++] = s->test[i];
    }
    return RW_OK;
}

/* A missing value is among the words of each column that has a test. */
static int gather_words(struct rw_ctx *ctx, struct rw_catboost_sets *s, size_t *n_words)
{
    size_t room = 0, n = 0, n_kept = 0;
    for (size_t i = 0; i < s->n_tests; i++) {
        const struct rw_ens_node *node = s->test[i];
        RW_TRY(RW_GROW(ctx, s->word, room, n + node->n_listed + 1));
        s->word[n++] = word_in(s->ensemble, node->column, MISSING);
        for (uint32_t k = 0; k < node->n_listed; k++)
            s->word[n++] = word_in(s->ensemble, node->column, node->listed[k]);
    }
    if (n > 0)
        qsort(s->word, n, sizeof(*s->word), by_word);
    for (size_t i = 0; i < n; i++) {
        const struct rw_catboost_word *last = n_kept > 0 ? &s->word[n_kept - 1] : NULL;
        char text[2][16];
        if (last && by_word(last, &s->word[i]) == 0)
            continue;
        if (last && last->column == s->word[i].column && last->hash == s->word[i].hash) {
            const struct rw_ens_categories *of = rw_ens_categories_of(s->ensemble, last->column);
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "feature %u: categories '%.64s' and '%.64s' are the same to CatBoost, "
                           "which knows them by a hash of 32 bits",
                           last->column, word_of(of, last->category, text[0]),
                           word_of(of, s->word[i].category, text[1]));
        }
        s->word[n_kept++] = s->word[i];
    }
    *n_words = n_kept;
    return RW_OK;
}

int rw_catboost_sets_make(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
                          struct rw_catboost_sets *s)
{
    const uint32_t n = ensemble->n_columns;
    size_t n_words = 0;
    s->ensemble = ensemble;
    RW_TRY(gather_tests(ctx, s));
    RW_TRY(gather_words(ctx, s, &n_words));
    RW_TRY(RW_NEW(ctx, s->singles_to, (size_t)n + 1));
    RW_TRY(RW_NEW(ctx, s->sets_to, (size_t)n + 1));
    RW_TRY(RW_NEW(ctx, s->words_to, (size_t)n + 1));
    RW_TRY(RW_NEW(ctx, s->entries_to, (size_t)n + 1));
    for (size_t i = 0; i < s->n_tests; i++)
        (lists_one(s->test[i]) ? s->singles_to : s->sets_to)[s->test[i]->column + 1]++;
    for (size_t i = 0; i < n_words; i++)
        s->words_to[s->word[i].column + 1]++;
    for (uint32_t c = 0; c < n; c++) {
        const uint32_t entries =
            (s->sets_to[c + 1] + RW_CATBOOST_CLASSES - 1) / RW_CATBOOST_CLASSES;
        s->entries_to[c + 1] = s->entries_to[c] + (!rw_ens_categories_of(ensemble, c) ? 0
                                                   : entries                          ? entries
                                                                                      : 1);
        s->singles_to[c + 1] += s->singles_to[c];
        s->sets_to[c + 1] += s->sets_to[c];
        s->words_to[c + 1] += s->words_to[c];
    }
    return RW_OK;
}

void rw_catboost_sets_release(struct rw_catboost_sets *s)
{
    rw_mem_free(s->test);
    rw_mem_free(s->word);
    rw_mem_free(s->singles_to);
    rw_mem_free(s->sets_to);
    rw_mem_free(s->words_to);
    rw_mem_free(s->entries_to);
    memset(s, 0, sizeof(*s));
}

static uint32_t n_singles(const struct rw_catboost_sets *s)
{
    return s->singles_to[s->ensemble->n_columns];
}

size_t rw_catboost_sets_buckets(const struct rw_catboost_sets *s)
{
    size_t n = s->n_tests - n_singles(s);
    for (uint32_t c = 0; c < s->ensemble->n_columns; c++)
        n += (s->singles_to[c + 1] - s->singles_to[c] + RW_CATBOOST_A_BUCKET - 1) /
             RW_CATBOOST_A_BUCKET;
    return n;
}

/* ------------------------------------------------------------------ out */

/* The hash of the only category that a test lists, as CatBoost writes it: an int. */
static int value_of(const struct rw_catboost_sets *s, const struct rw_ens_node *node)
{
    const uint32_t category = lists_missing(node) ? MISSING : node->listed[0];
    return (int)word_in(s->ensemble, node->column, category).hash;
}

static void put_entries(const struct rw_catboost_sets *s, uint32_t column, struct rw_put *put)
{
    const char *name = s->ensemble->column_name ? s->ensemble->column_name[column] : "";
    for (uint32_t e = s->entries_to[column]; e < s->entries_to[column + 1]; e++) {
        const int is_first = e == s->entries_to[column];
        rw_put_format(put, "%s{\"feature_index\":%u,\"flat_feature_index\":%u,\"feature_id\":",
                      e > 0 ? ",\n" : "\n", e, column);
        rw_put_json_text(put, name);
        for (uint32_t i = s->singles_to[column]; is_first && i < s->singles_to[column + 1]; i++)
            rw_put_format(put, "%s%d", i > s->singles_to[column] ? "," : ",\"values\":[",
                          value_of(s, s->test[i]));
        rw_put_text(put,
                    is_first && s->singles_to[column] < s->singles_to[column + 1] ? "]}" : "}");
    }
}

#define ELEMENTS(quote)                                                                     \
    "[{" quote "cat_feature_index" quote ":%u," quote "combination_element" quote ":" quote \
    "cat_feature_value" quote "}]"

/* How a table is known: JSON in a text of JSON. */
static void put_identifier(uint32_t entry, struct rw_put *put)
{
    rw_put_format(put, "\"{\\\"identifier\\\":" ELEMENTS("\\\"") ",\\\"type\\\":\\\"Buckets\\\"}\"",
                  entry);
}

/* Where a set stands: the entry whose statistic it is a class of. */
struct place {
    uint32_t entry, class_of;
};

static struct place place_of(const struct rw_catboost_sets *s, size_t test)
{
    const uint32_t column = s->test[test]->column;
    const uint32_t in_column = (uint32_t)test - n_singles(s) - s->sets_to[column];
    return (struct place){s->entries_to[column] + in_column / RW_CATBOOST_CLASSES,
                          in_column % RW_CATBOOST_CLASSES};
}

static void put_statistic(const struct rw_catboost_sets *s, size_t test, struct rw_put *put)
{
    const struct place at = place_of(s, test);
    rw_put_text(put, test > n_singles(s) ? ",\n{\"identifier\":" : "\n{\"identifier\":");
    put_identifier(at.entry, put);
    rw_put_format(put,
                  ",\"elements\":" ELEMENTS(
                      "\"") ",\"ctr_type\":\"Buckets\",\"target_border_idx\":%u,"
                            "\"prior_numerator\":0,\"prior_denomerator\":1,\"shift\":0,\"scale\":1,"
                            "\"borders\":[0]}",
                  at.entry, at.class_of);
}

static void put_words(const struct rw_catboost_sets *s, struct rw_put *put)
{
    const uint32_t n = s->words_to[s->ensemble->n_columns];
    int any = 0;
    rw_put_text(put, ",\n\"cat_features_hash\":[");
    for (uint32_t i = 0; i < n; i++) {
        const struct rw_catboost_word *word = &s->word[i];
        char decimal[16];
        if (word->category == MISSING)
            continue;
        rw_put_format(put, "%s{\"hash\":%u,\"value\":", any++ ? ",\n" : "\n", word->hash);
        rw_put_json_text(
            put, word_of(rw_ens_categories_of(s->ensemble, word->column), word->category, decimal));
        rw_put_text(put, "}");
    }
    rw_put_text(put, "\n]");
}

void rw_catboost_put_sets(const struct rw_catboost_sets *s, struct rw_put *put)
{
    const uint32_t n_columns = s->ensemble->n_columns;
    if (s->entries_to[n_columns] == 0)
        return;
    rw_put_text(put, ",\n\"categorical_features\":[");
    for (uint32_t c = 0; c < n_columns; c++)
        put_entries(s, c, put);
    rw_put_text(put, "\n]");
    if (s->n_tests > n_singles(s)) {
        rw_put_text(put, ",\n\"ctrs\":[");
        for (size_t i = n_singles(s); i < s->n_tests; i++)
            put_statistic(s, i, put);
        rw_put_text(put, "\n]");
    }
    put_words(s, put);
}

/* A column's sets from the i-th test on that stand in one table. Returns how many. */
static size_t put_table(const struct rw_catboost_sets *s, size_t i, struct rw_put *put)
{
    const uint32_t column = s->test[i]->column, entry = place_of(s, i).entry;
    size_t n = 1;
    while (i + n < s->n_tests && place_of(s, i + n).entry == entry)
        n++;
    put_identifier(entry, put);
    rw_put_text(put, ":{\"hash_map\":[");
    for (uint32_t w = s->words_to[column]; w < s->words_to[column + 1]; w++) {
        char key[24];
        snprintf(key, sizeof(key), "%llu", (unsigned long long)rw_catboost_key(s->word[w].hash));
        rw_put_format(put, "%s\"%s\"", w > s->words_to[column] ? ",\n" : "\n", key);
        for (size_t k = 0; k < n; k++)
            rw_put_text(put, lists(s->test[i + k], s->word[w].category) ? ",1" : ",0");
    }
    rw_put_format(put, "\n],\"hash_stride\":%zu,\"counter_denominator\":0}", n + 1);
    return n;
}

void rw_catboost_put_tables(const struct rw_catboost_sets *s, struct rw_put *put)
{
    const size_t first = n_singles(s);
    if (s->n_tests == first)
        return;
    rw_put_text(put, "\"ctr_data\":{");
    for (size_t i = first; i < s->n_tests;) {
        rw_put_text(put, i > first ? ",\n" : "\n");
        i += put_table(s, i, put);
    }
    rw_put_text(put, "\n},\n");
}

void rw_catboost_put_split(const struct rw_catboost_sets *s, const struct rw_ens_node *node,
                           size_t first, struct rw_put *put)
{
    const struct rw_ens_node **found =
        bsearch(&node, s->test, s->n_tests, sizeof(*s->test), by_test);
    const size_t i = (size_t)(found - s->test);
    if (lists_one(node))
        rw_put_format(put, "{\"cat_feature_index\":%u,\"value\":%d", s->entries_to[node->column],
                      value_of(s, node));
    else
        rw_put_format(put, "{\"ctr_target_border_idx\":%u,\"border\":0.0", place_of(s, i).class_of);
    rw_put_format(put, ",\"split_index\":%zu,\"split_type\":\"%s\"}", first + i,
                  lists_one(node) ? "OneHotFeature" : "OnlineCtr");
}
