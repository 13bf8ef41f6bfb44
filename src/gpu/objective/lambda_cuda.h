/* Gradients of the training set on the device: LambdaRank's, YetiRank's, residuals, and custom
 * ones, the integers of rw_host_begin_tree to the bit.
 *
 * The object holds what does not change over a training: offsets, gains, ideal DCGs, weights,
 * discounts, and the lists of work; all is made by the host at load, from the functions that the
 * engines on the host use. A run allocates nothing and waits for nothing; it may be captured into a
 * graph, and run again. */
#ifndef RW_GPU_LAMBDA_CUDA_H
#define RW_GPU_LAMBDA_CUDA_H

#include "gpu/device/device.h"
#include "tree/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cuda_lambda;

/* What a run says about its integers; on the device. */
struct rw_cuda_lambda_info {
    /* Largest magnitudes over the sampled documents: what rw_quantise_shift takes. */
    uint64_t largest_lambda, largest_hessian;
    /* Units are 2^-exponent, as in struct rw_root. */
    int32_t lambda_exponent, hessian_exponent;
    /* Of residuals and custom gradients: the bits of the largest magnitudes as doubles. */
    uint64_t gradient_bits, hessian_bits;
};

/* rules, dataset, gains ([n_docs]; only of an objective that ranks, else NULL) are not kept. Copies
 * go through the device's stream; returns when they are done. RW_ERR_DATA as the objective's
 * check. */
int rw_cuda_lambda_new(struct rw_ctx *ctx, struct rw_device *device,
                       const struct rw_engine_rules *rules, const struct rw_dataset *dataset,
                       const double *gains, struct rw_cuda_lambda **out);
void rw_cuda_lambda_free(struct rw_cuda_lambda *lambda); /* NULL is fine */
/* Bytes of device memory that it holds; and that it would, before there is one. */
uint64_t rw_cuda_lambda_bytes(const struct rw_cuda_lambda *lambda);
uint64_t rw_cuda_lambda_plan_bytes(const struct rw_engine_rules *rules,
                                   const struct rw_dataset *dataset);

/* Without an objective only, before the first run. gradients, hessians: [n_docs], on the host,
 * without the documents' weights. Waits for the copy. */
int rw_cuda_lambda_set_gradients(struct rw_cuda_lambda *lambda, const double *gradients,
                                 const double *hessians);
/* The same in fixed point, of magnitudes under 2^62, with the documents' weights. */
int rw_cuda_lambda_set_lambdas(struct rw_cuda_lambda *lambda, const int64_t *lambdas,
                               const int64_t *hessians);

/* Before a run of RW_OBJECTIVE_NEIGHBOURS: the tree that it draws for, and how many documents other
 * ranks have before these. */
void rw_cuda_lambda_set_tree(struct rw_cuda_lambda *lambda, uint32_t tree, uint32_t first_doc);

/* Enqueues one tree's gradients on the cudaStream_t. Device pointers:
 *   d_scores  [n_docs] finite (not read for custom gradients)
 *   d_sampled [n_docs] by document, the same within a query; not 0: in the sample. NULL: all are
 *   d_pair    [n_docs] written for sampled documents, in fixed point; others unspecified
 *   d_info    written
 * One run at a time of an object: it has scratch of its own. Returns RW_OK or what a launch said.
 */
int rw_cuda_lambdas_run(struct rw_cuda_lambda *lambda, const double *d_scores,
                        const uint8_t *d_sampled, void *stream, struct rw_lambda_pair *d_pair,
                        struct rw_cuda_lambda_info *d_info);
/* After a run, where fewer documents than it saw are to count: d_info's largest magnitudes, of
 * those with d_sampled not 0. */
int rw_cuda_lambdas_largest(struct rw_cuda_lambda *lambda, const uint8_t *d_sampled, void *stream,
                            struct rw_lambda_pair *d_pair, struct rw_cuda_lambda_info *d_info);
/* Of many ranks: runs enqueue `largest` where they have numbers of this rank's on the device, n of
 * them, that are to become the largest of all ranks'. NULL, as at first: one rank. */
typedef int (*rw_cuda_largest_fn)(void *user, uint64_t *d_numbers, uint32_t n);
void rw_cuda_lambda_share(struct rw_cuda_lambda *lambda, rw_cuda_largest_fn largest, void *user);
/* Kernels and fills that one run enqueues. */
uint32_t rw_cuda_lambda_launches(const struct rw_cuda_lambda *lambda);

#ifdef __cplusplus
}
#endif
#endif
