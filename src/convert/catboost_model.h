/* CatBoost's model as save_model(format="json") writes it. A float feature is an entry of
 * float_features with ascending borders, a categorical one an entry of categorical_features with
 * `values`, each to be compared with (one-hot); `ctrs` are statistics of categories, with borders.
 * All borders of all entries, then all values, then all borders of statistics have a number each,
 * one after the other (split_index).
 *
 * A float goes right when it is greater than the border. NaN is minus infinity (AsFalse), infinity
 * (AsTrue), or compared, which is false (AsIs, and without has_nans): a direction for the entry,
 * not for the node. Two entries may name the same column, so a feature whose nodes disagree about
 * NaN is two. Trees are "oblivious_trees" (a split for each level, the last one that of the root)
 * or "trees" (nodes inside one another); leaves are doubles, added in the order of the trees, then
 * scaled, then the bias is added.
 *
 * A category is known by its word's hash; features_info.cat_features_hash has the words. It goes
 * right when it is the value. Where a split of ours lists several, a chain of such tests would need
 * a copy of the branch for each. It is one test of a statistic instead: `Buckets` counts for each
 * category how many documents of a class had it, and ours is of a class where the set is listed:
 * 1 document, else none, so that (count + 0) / (all counts + 1) is above 0 where the category is
 * listed, and 0 where it is not, or not in the table. The time that reading a table's row takes
 * grows with its classes: a feature by categories is several entries of at most
 * RW_CATBOOST_CLASSES sets each. What is missing is the empty text. */
#ifndef RW_CONVERT_CATBOOST_MODEL_H
#define RW_CONVERT_CATBOOST_MODEL_H

#include "convert/json_in.h"

enum { RW_CATBOOST_CLASSES = 32, RW_CATBOOST_A_BUCKET = 254 /* borders or values of an entry */ };

/* --- hashes (catboost_hash.c) --- */
/* CityHash64 of version 1.0 (Pike and Alakuijala, 2011) of n bytes. */
uint64_t rw_city_hash(const char *text, size_t n);
/* Of a category's word; whole numbers are words there, too: their decimals. */
uint32_t rw_catboost_hash(const char *word);
/* The key of a category in the table of a statistic of its feature alone; and back: 0 if it is no
 * such key. */
uint64_t rw_catboost_key(uint32_t hash);
int rw_catboost_hash_of_key(uint64_t key, uint32_t *hash);

/* --- splits by categories, written (catboost_sets.c) --- */
struct rw_catboost_word;
/* Zero-initialise. Columns are the ensemble's; at a column stands how many there are in columns
 * before it. */
struct rw_catboost_sets {
    const struct rw_ensemble *ensemble;
    /* each once: those that list one category, by column, then the others, by column */
    const struct rw_ens_node **test; /* [n_tests] owned; the nodes are borrowed */
    size_t n_tests;
    struct rw_catboost_word *word; /* those that tests list, by column and hash; owned */
    uint32_t *singles_to, *sets_to, *words_to, *entries_to; /* [n_columns + 1] owned */
};
/* RW_ERR_UNSUPPORTED: two categories have one hash. */
int rw_catboost_sets_make(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
                          struct rw_catboost_sets *out);
void rw_catboost_sets_release(struct rw_catboost_sets *sets);
/* Buckets of 8 bits that CatBoost has a document's values in. */
size_t rw_catboost_sets_buckets(const struct rw_catboost_sets *sets);
/* What follows float_features in features_info, if anything does; the tables; a node's split, whose
 * number is that of the first test and what comes before it. */
void rw_catboost_put_sets(const struct rw_catboost_sets *sets, struct rw_put *put);
void rw_catboost_put_tables(const struct rw_catboost_sets *sets, struct rw_put *put);
void rw_catboost_put_split(const struct rw_catboost_sets *sets, const struct rw_ens_node *node,
                           size_t first, struct rw_put *put);

/* --- read --- */
/* What a number in a tree stands for beyond the borders of floats: is the category one of these? */
struct rw_catboost_test {
    uint32_t column;
    int is_one; /* a value to be compared with, and not a statistic */
    int value;  /* of one: the hash */
    int has_missing;
    uint32_t n;
    size_t first; /* of its n categories among `category` */
};
struct rw_catboost_tests {
    struct rw_catboost_test *test; /* [n] owned */
    size_t n, room;
    uint32_t *category; /* of all tests, as nodes list them: ascending in each; owned */
    size_t n_categories, categories_room;
};
/* catboost_tests.c: categorical_features and ctrs; the ensemble's columns are there, and get their
 * words. Returns source->status. */
int rw_catboost_read_tests(struct rw_source *source, const json_t *root, const json_t *info,
                           struct rw_catboost_tests *tests, struct rw_ensemble *out);
void rw_catboost_tests_release(struct rw_catboost_tests *tests);
/* An array, or NULL for null, as CatBoost writes one without elements. */
const json_t *rw_catboost_array(struct rw_source *source, const json_t *object, const char *name);
/* The entry's feature_id, if it has one. */
void rw_catboost_read_name(struct rw_source *source, const json_t *entry, uint32_t column,
                           struct rw_ensemble *out);
/* The format's `parse` (catboost_read.c). */
int rw_catboost_parse(struct rw_source *source, struct rw_ensemble *out);
#endif
