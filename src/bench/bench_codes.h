/* A made training set as codes: a set of a size whose values no memory would hold. */
#ifndef RW_BENCH_CODES_H
#define RW_BENCH_CODES_H

#include "binning/binned.h"

enum { RW_BENCH_CODES_FEATURES = 136, RW_BENCH_CODES_DOCS = 120 /* of a query */ };

/* Some queries of a set of any size, in a row. The last has the documents that are left of n_docs.
 */
struct rw_bench_codes {
    uint32_t first; /* query */
    uint64_t n_docs;
    uint32_t n_features;
    uint64_t seed;
};

/* Queries [first, end) of a set with RW_BENCH_CODES_FEATURES features. */
struct rw_bench_codes rw_bench_codes_of(uint32_t first, uint32_t end, uint64_t seed);

/* Features have `bins` value bins, at most 255. One in four says something of the labels 0 to 4.
 * The same for any number of threads. Ended by rw_binned_free. RW_ERR_ARGUMENT: more documents than
 * RW_MAX_DOCS. */
int rw_bench_codes_make(struct rw_ctx *ctx, const struct rw_bench_codes *codes,
                        const struct rw_cut_rule *rule, struct rw_binned **out);

#endif
