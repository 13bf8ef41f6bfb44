/* Is a difference between two rankings more than chance? Statistics of pairs of values, one pair a
 * query: they know nothing of metrics or data. Repeatable for a seed, whatever the threads. */
#ifndef RW_EVALUATE_SIGNIFICANCE_H
#define RW_EVALUATE_SIGNIFICANCE_H

#include "base/ctx.h"

/* Resamples of the queries; and patterns of signs, unless all 2^n of few differences are tried. */
enum { RW_BOOTSTRAP_SAMPLES = 10000, RW_RANDOM_SIGNS = 10000, RW_EXACT_SIGNS = 16 };

struct rw_pairs {
    uint32_t n;
    const double *a, *b;  /* [n] finite */
    const double *weight; /* [n] >= 0; NULL: all 1 */
    int root;             /* the means are roots of means of the values */
    int lower_is_better;
};
/* All of *out but its name. The interval: percentiles of the differences of resampled
 * queries, drawn with replacement (Efron 1979). p: how often a difference at least as large, of
 * either sign, comes of swapping a and b in each query by a coin (Fisher; Smucker, Allan and
 * Carterette 2007). */
int rw_significance(struct rw_ctx *ctx, const struct rw_pairs *pairs, uint64_t seed,
                    struct rw_compared *out);
#endif
