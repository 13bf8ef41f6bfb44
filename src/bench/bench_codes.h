/* A made training set as codes: a set of a size whose values no memory would hold. */
#ifndef RW_BENCH_CODES_H
#define RW_BENCH_CODES_H

#include "binning/binned.h"

enum { RW_BENCH_CODES_FEATURES = 136, RW_BENCH_CODES_DOCS = 120 /* of a query */ };

/* Queries [first, end) of a set of any size, with RW_BENCH_CODES_FEATURES features of `bins` value bins, at most 255. One
 * in four features says something of the labels 0 to 4. The same for any number of threads. Ended
 * by rw_binned_free. */
int rw_bench_codes_make(struct rw_ctx *ctx, uint32_t first, uint32_t end,
                        const struct rw_cut_rule *rule, uint64_t seed, struct rw_binned **out);

#endif
