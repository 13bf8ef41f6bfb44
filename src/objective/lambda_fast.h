/* What the paths of rw_lambda_query_fast and rw_rank_query_fast share. A query's documents stand in
 * the order of the ranking, a block of them at a time; each row of the top meets all of a block. */
#ifndef RW_RANK_LAMBDA_FAST_H
#define RW_RANK_LAMBDA_FAST_H

#include "objective/lambda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_LAMBDA_BLOCK = 256, RW_LAMBDA_ROOM = 16 /* for lanes past the last document */ };

struct rw_lambda_block {
    double gain[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM], score[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    double discount[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    int64_t lambda[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM]; /* of the block's documents */
    int64_t weight[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
};

/* The document that is paired with a block's, and what does not change in a query. */
struct rw_lambda_row {
    double gain, score, discount;
    float unit, reciprocal; /* the ideal in units: ideal / 2^(40-e), exact; 1 / unit */
    float sigma;
    int norm;
    int easy; /* sigma is 1, and no score difference beyond what exp takes without limits */
    int64_t lambda, weight;
    int64_t sum_hi, sum_lo; /* of the pairs' lambdas */
};

struct rw_range {
    double low, high;
    double none; /* 0, unless a value is infinite or no number */
};

/* n >= 1. Four values at a time, for each waits for the one before. */
static inline struct rw_range rw_range_of(const double *value, uint32_t n)
{
    struct rw_range all = {value[0], value[0], 0.0};
    double low[4], high[4], none[4] = {0};
    for (int k = 0; k < 4; k++)
        low[k] = high[k] = value[0];
    for (uint32_t i = 0; i < n / 4 * 4; i += 4) {
        for (int k = 0; k < 4; k++) {
            low[k] = value[i + k] < low[k] ? value[i + k] : low[k];
            high[k] = value[i + k] > high[k] ? value[i + k] : high[k];
            none[k] += value[i + k] * 0.0;
        }
    }
    for (uint32_t i = n / 4 * 4; i < n; i++) {
        all.low = value[i] < all.low ? value[i] : all.low;
        all.high = value[i] > all.high ? value[i] : all.high;
        all.none += value[i] * 0.0;
    }
    for (int k = 0; k < 4; k++) {
        all.low = low[k] < all.low ? low[k] : all.low;
        all.high = high[k] > all.high ? high[k] : all.high;
        all.none += none[k];
    }
    return all;
}

/* All pairs of the first `top` documents with the n of the block, which begins at rank `first`. */
void rw_lambda_block_avx512(struct rw_lambda_row *row, struct rw_lambda_block *block,
                            uint32_t first, uint32_t n, uint32_t top,
                            const struct rw_lambda_query_of *query);
/* rw_lambda_final of all n sums. */
void rw_lambda_finals_avx512(const struct rw_lambda_query_of *query, double factor);

#ifdef __cplusplus
}
#endif
#endif
