/* What lambdarank_fast.c and the paths that are compiled of lambdarank_tmpl.c share. A query's
 * documents stand in the order of the ranking, a block of them at a time; each row of the top meets
 * all of a block. */
#ifndef RW_OBJECTIVE_LAMBDARANK_FAST_H
#define RW_OBJECTIVE_LAMBDARANK_FAST_H

#include "base/isa.h"
#include "objective/objective.h"

enum { RW_LAMBDA_BLOCK = 256, RW_LAMBDA_ROOM = 16 /* for lanes past the last document */ };

struct rw_lambda_block {
    double gain[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM], score[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    double discount[RW_LAMBDA_BLOCK + RW_LAMBDA_ROOM];
    int64_t lambda[RW_LAMBDA_BLOCK], hessian[RW_LAMBDA_BLOCK]; /* of the block's documents */
};

/* The document that is paired with a block's, and what does not change in a query. */
struct rw_lambda_row {
    double score, discount;
    float unit, reciprocal; /* the ideal in units: ideal / 2^(40-e), exact; 1 / unit */
    float sigma;
    int norm;
    int easy; /* sigma is 1, and no score difference beyond what exp takes without limits */
    int64_t lambda, hessian;
    int64_t sum_hi, sum_lo; /* of the pairs' lambdas */
};

/* All pairs of the first `top` documents with the n of the block, which begins at rank `first`. */
typedef void rw_lambda_block_fn(struct rw_lambda_row *row, struct rw_lambda_block *block,
                                uint32_t first, uint32_t n, uint32_t top,
                                const struct rw_objective_query *query);
/* order: documents by rising key, equal ones in the order of the input. key: [n], filled up by
 * RW_LAMBDA_ROOM; under 2^30. n^2 steps, but no branch that could be mispredicted. */
typedef void rw_rank_count_fn(const int32_t *key, uint32_t n, uint32_t *order);
rw_lambda_block_fn rw_lambda_block_plain, rw_lambda_block_avx2, rw_lambda_block_avx512;
rw_rank_count_fn rw_rank_count_plain, rw_rank_count_avx2, rw_rank_count_avx512;
#endif
