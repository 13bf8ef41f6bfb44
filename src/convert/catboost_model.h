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

/* --- numbers (catboost_number.c) --- */
/* Of a category's word; whole numbers are words there, too: their decimals. */
uint32_t rw_catboost_hash(const char *word);
/* The key of a category in the table of a statistic of its feature alone; and back: 0 if it is no
 * such key. */
uint64_t rw_catboost_key(uint32_t hash);
int rw_catboost_hash_of_key(uint64_t key, uint32_t *hash);

/* The format's `parse` (catboost_read.c). */
int rw_catboost_parse(struct rw_source *source, struct rw_ensemble *out);
/* A decimal that CatBoost's reader takes for the same double, as does any other; the shortest if
 * there is none. Finite. (catboost_number.c) */
void rw_catboost_put_double(struct rw_put *put, double value);
#endif
