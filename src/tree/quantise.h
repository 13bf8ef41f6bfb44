/* What the start of a tree does with every document's fixed-point lambda and hessian: the largest
 * magnitudes and the sums, and the rounding to quantised integers. Every path gives the bits of
 * tree/numbers.h's arithmetic, document by document. */
#ifndef RW_TREE_QUANTISE_H
#define RW_TREE_QUANTISE_H

#include "base/machine.h"
#include "tree/numbers.h"

/* Of sampled documents. All zeros is the extent of none. */
struct rw_extent {
    int64_t lambda, hess; /* largest magnitudes */
    struct rw_sum sum;
};

/* Adds documents [0, n) that are sampled. Magnitudes under 2^63. */
typedef void rw_extent_fn(uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                          const int64_t *hessian, struct rw_extent *extent);
rw_extent_fn rw_extent_add_plain, rw_extent_add_avx2, rw_extent_add_avx512;
void rw_extent_add(enum rw_isa isa, uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                   const int64_t *hessian, struct rw_extent *extent);
void rw_extent_merge(struct rw_extent *extent, const struct rw_extent *other);

/* rw_quantise of a tree's values. seed, tree, stream: for rw_random, unless `nearest`. */
struct rw_rounding {
    int shift, nearest; /* shift: 0 to 62 */
    uint64_t seed;
    uint32_t tree, stream;
};

/* Documents [first, first + n), of which the arrays are: [n]. out of documents outside the sample
 * may be written, with anything. Returns the sum of the sampled ones' out. */
typedef int64_t rw_quantise_fn(const struct rw_rounding *rounding, uint32_t first, uint32_t n,
                               const uint8_t *sampled, const int64_t *value, int32_t *out);
rw_quantise_fn rw_quantise_docs_plain, rw_quantise_docs_avx2, rw_quantise_docs_avx512;
int64_t rw_quantise_docs(enum rw_isa isa, const struct rw_rounding *rounding, uint32_t first,
                         uint32_t n, const uint8_t *sampled, const int64_t *value, int32_t *out);
#endif
