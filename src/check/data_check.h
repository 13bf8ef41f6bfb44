/* What a careful person looks for in data before training on it: the parts of rw_check_new. Absent
 * features are taken for 0 (as training does by default), missing ones are left out. */
#ifndef RW_CHECK_DATA_CHECK_H
#define RW_CHECK_DATA_CHECK_H

#include "base/ctx.h"

struct rw_dataset;

/* From where on something is a finding. First guesses, on MQ2008, OHSUMED and made data. */
#define RW_CHECK_DRIFT 0.1 /* distance of two distributions, 0 to 1 */
#define RW_CHECK_DISTINCT                                                                          \
    0.9                        /* share of documents, or queries, with a whole number of their own \
                                */
#define RW_CHECK_LEAST_DOCS 50 /* fewer say nothing of identifiers */
#define RW_CHECK_TIES_LEAK  0.05 /* what constant scores gain from the order of the input */
#define RW_CHECK_MISSING    0.5  /* share of documents */

/* A list of names for a message: "7, 9 and 2 more". */
struct rw_check_names {
    uint32_t n;
    size_t at;
    char text[256];
};
/* Adds a name, of which 40 bytes are shown; `most` names are shown. */
void rw_check_name(struct rw_check_names *names, uint32_t most, const char *name);

/* Queries, labels and documents: counts of the public struct that need no features. */
int rw_check_queries(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_check *out);
/* Ids that come back after other queries. */
int rw_check_split(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   struct rw_check_names *split);

/* Each document's values as one number: equal documents have equal ones. 0: no value but zeros.
 * hashes: [n_docs], written. */
void rw_check_hash(const struct rw_dataset *dataset, uint64_t *hashes);
/* Documents of a query that are like another of it, and those of them that have another label. */
int rw_check_twins(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint64_t *hashes,
                   uint32_t *n_twins, uint32_t *n_contradictions);
/* Ids and documents that `other` has too. */
int rw_check_shared(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint64_t *hashes,
                    const struct rw_dataset *other, const uint64_t *other_hashes,
                    uint32_t *n_queries, uint32_t *n_docs);

/* features: [n_columns], written: a row for each feature that appears in `dataset`. other: NULL, or
 * what drift is measured against. */
int rw_check_features(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                      const struct rw_dataset *other, struct rw_feature_check *features);
/* Of out->feature, which `dataset` has by words, and `other` by words or not at all: the word whose
 * share of the documents differs most, and its difference as drift. */
int rw_check_words(const struct rw_dataset *dataset, const struct rw_dataset *other,
                   struct rw_feature_check *out);
/* The largest difference of two distribution functions (Kolmogorov and Smirnov); a: [n], b: [m]
 * keys in rising order; NaN if either has none. */
double rw_check_distance(const uint32_t *a, size_t n, const uint32_t *b, size_t m);
#endif
