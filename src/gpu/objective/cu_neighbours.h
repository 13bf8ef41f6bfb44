/* What neighbours_cuda.c hands to the kernels of cu_neighbours.cu. All pointers are of the device.
 * Launchers return a cudaError_t. */
#ifndef RW_GPU_CU_NEIGHBOURS_H
#define RW_GPU_CU_NEIGHBOURS_H

#include "gpu/metric/rank_cuda.h"
#include "gpu/objective/lambda_cuda.h"
#include "objective/neighbours.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_neighbours_args {
    struct rw_neighbours_rule rule;
    uint64_t seed;
    uint32_t n_docs, n_queries;
    uint32_t n_large;           /* queries of more than RW_RANK_BLOCK_DOCS documents */
    const uint32_t *d_offset;   /* [n_queries + 1] */
    const uint32_t *d_query;    /* [n_queries] the large ones, then by falling size */
    const uint32_t *d_order;    /* [n_docs] of the ranking at hand */
    const double *d_grade;      /* [n_docs] */
    const double *d_over;       /* [n_queries] */
    const double *d_weight;     /* [longest] w(r) */
    const double *d_doc_weight; /* [n_docs] NULL: all 1 */
    double *d_power;            /* [n_docs] scratch, as d_key */
    double *d_key;              /* [n_docs] of the ranking at hand */
    /* of a run */
    uint32_t first_doc, tree;
    const double *d_scores;
    const uint8_t *d_sampled;
    struct rw_lambda_pair *d_pair; /* [n_docs] sums, in the end the final integers */
    struct rw_cuda_lambda_info *d_info;
};

/* Powers of all documents; sums and d_info cleared. */
int rw_cuda_neighbours_begin(const struct rw_neighbours_args *args, void *stream);
/* Keys of ranking p of the tree. */
int rw_cuda_neighbours_keys(const struct rw_neighbours_args *args, uint32_t p, void *stream);
/* Adds the pairs of the ranking in d_order. */
int rw_cuda_neighbours_add(const struct rw_neighbours_args *args, void *stream);
/* The final integers, and d_info. */
int rw_cuda_neighbours_finish(const struct rw_neighbours_args *args, int n_multiprocessors,
                              void *stream);

#ifdef __cplusplus
}
#endif
#endif
