/* What lambda_cuda.c hands to the kernels of cu_lambda.cu and cu_gradient.cu. All pointers are of
 * the device. Launchers return a cudaError_t. */
#ifndef RW_GPU_CU_LAMBDA_H
#define RW_GPU_CU_LAMBDA_H

#include "gpu/objective/lambda_cuda.h"
#include "gpu/metric/rank_cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RW_LAMBDA_WARP_DOCS = 256,   /* queries up to here are a warp's */
    RW_LAMBDA_NARROW_DOCS = 128, /* up to here with those of a launch of their own */
    /* up to here a block's, if their visits are few enough: what 64 KB of shared memory hold, all
     * that compute capability 7.5 has */
    RW_LAMBDA_BLOCK_DOCS = 1536,
    RW_LAMBDA_SPREAD_TOPS = 128, /* upper documents that a block keeps at hand */
    RW_LAMBDA_TILE_DOCS = 256,   /* documents of a block that begins or ends a spread query */
};

/* A part of a spread query's pairs: documents at positions [low, low + a block's), below those at
 * [top, top + spread_tops). */
struct rw_lambda_job {
    uint32_t spread, low, top;
};
/* Documents of a spread query, positions [begin, begin + RW_LAMBDA_TILE_DOCS). */
struct rw_lambda_tile {
    uint32_t spread, begin;
};
/* Sum of a spread query's pairs, as rw_lambda_norm takes it. */
struct rw_lambda_total {
    unsigned long long hi, lo;
};

struct rw_lambda_args {
    struct rw_lambda_rule rule;
    const uint32_t *d_offset; /* [n_queries + 1] */
    const double *d_ideal;    /* [n_queries] */
    const double *d_gain;     /* [n_docs] in queries of a warp or a block by falling gain */
    /* [n_docs] the rank of a document's gain in its query; not of spread ones */
    const uint16_t *d_slot;
    const double *d_discount;           /* [longest] */
    const double *d_doc_weight;         /* [n_docs] NULL: all 1 */
    const uint32_t *d_query;            /* [n_block + n_warp] by falling size */
    uint32_t n_block, n_warp, n_narrow; /* n_narrow of the n_warp: RW_LAMBDA_NARROW_DOCS or less */
    int bounded;                        /* the rule and all gains are bounded (lambda_bounded.h) */
    uint32_t block_docs, warp_docs; /* room for a query of a block, of a warp; multiples of 32 */
    uint32_t n_spread, n_jobs, n_tiles, spread_tops;
    const uint32_t *d_spread; /* [n_spread] their queries */
    const struct rw_lambda_job *d_job;
    const struct rw_lambda_tile *d_tile;
    struct rw_lambda_total *d_total; /* [n_spread] */
    /* of a run */
    const uint32_t *d_order; /* [n_docs] */
    const double *d_scores;
    const uint8_t *d_sampled;
    struct rw_lambda_pair *d_pair; /* [n_docs] */
    struct rw_cuda_lambda_info *d_info;
};

struct rw_gradient_args {
    uint32_t n_docs;
    const float *d_label;                 /* residuals; else NULL */
    const double *d_gradient, *d_hessian; /* handed over; else NULL */
    int is_fixed;                         /* these are integers, the documents' weights within */
    const double *d_doc_weight;           /* NULL: all 1 */
    const double *d_scores;
    const uint8_t *d_sampled;
    struct rw_lambda_pair *d_pair; /* [n_docs] */
    struct rw_cuda_lambda_info *d_info;
};

/* Documents of a job below its upper ones. */
uint32_t rw_cuda_lambda_spread_lows(void);
/* Once, before any run: kernels are loaded, and may take the shared memory that they need. */
int rw_cuda_lambda_prepare(void);
/* Clears d_info, totals, and sums of spread queries. */
int rw_cuda_lambda_begin(const struct rw_lambda_args *args, void *stream);
/* Queries of a block or a warp: from scores and order to the final integers. */
int rw_cuda_lambda_queries(const struct rw_lambda_args *args, void *stream);
/* Pairs of spread queries, and their final integers. */
int rw_cuda_lambda_spread(const struct rw_lambda_args *args, void *stream);
/* In two steps: the largest magnitudes, or, in fixed point, everything; then, of real numbers, what
 * depends on the largest. */
int rw_cuda_gradients_find(const struct rw_gradient_args *args, int n_multiprocessors,
                           void *stream);
int rw_cuda_gradients_round(const struct rw_gradient_args *args, int n_multiprocessors,
                            void *stream);
/* The largest magnitudes of sampled documents' final integers, anew. Of the arguments, these are
 * read: n_docs, d_sampled, d_pair, d_info. */
int rw_cuda_gradients_largest(const struct rw_gradient_args *args, int n_multiprocessors,
                              void *stream);

#ifdef __cplusplus
}
#endif
#endif
