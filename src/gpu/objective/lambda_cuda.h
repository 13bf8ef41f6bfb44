/* Gradients of the training set on the device: those of all kinds of enum rw_objective_device, and
 * user gradients. The integers before quantisation are identical to those of rw_host_begin_tree.
 * A run computes one tree's. It allocates nothing, and waits only for other workers; with one
 * worker it may be captured into a CUDA graph and run again. */
#pragma once

#include "gpu/device/tuning.h"
#include "gpu/metric/metric_cuda.h"
#include "objective/neighbours.h"
#include "tree/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cuda_lambda;

/* The largest magnitudes of a run's integers over the sampled documents, and their units,
 * 2^-exponent. In device memory. */
struct rw_cuda_lambda_info {
    uint64_t largest_lambda, largest_hessian;
    int32_t lambda_exponent, hessian_exponent;
    /* Of real gradients (all but LambdaRank's and YetiRank's): the bits of their largest magnitudes
     * as doubles. All bits of gradient_bits are 1, and the integers 0, if a gradient or hessian is
     * beyond the limits of rw_gradients_check. */
    uint64_t gradient_bits, hessian_bits;
};

struct rw_cuda_lambda_run {
    const double *d_scores; /* [n_docs] finite; not read for user gradients */
    /* [n_docs] not 0: the document is in the sample; equal for all documents of a query in a run of
     * LambdaRank or YetiRank. NULL: all are in the sample. */
    const uint8_t *d_sampled;
    struct rw_lambda_pair *d_pair;      /* [n_docs] written for sampled documents, in fixed point */
    struct rw_cuda_lambda_info *d_info; /* written */
};

/* Makes the tables of an objective. gains: [n_docs], or NULL if the objective does not rank. Keeps
 * no reference to rules, dataset or gains. Fails with RW_ERR_DATA if rw_objective_check does.
 * device NULL: only counts the bytes of the tables, without that check; gains may be NULL. */
int rw_cuda_lambda_new(struct rw_ctx *ctx, struct rw_device *device,
                       const struct rw_engine_rules *rules, const struct rw_dataset *dataset,
                       const double *gains, struct rw_cuda_lambda **out);
void rw_cuda_lambda_free(struct rw_cuda_lambda *lambda);            /* accepts NULL */
uint64_t rw_cuda_lambda_bytes(const struct rw_cuda_lambda *lambda); /* of device memory */
RW_SCOPED_BY(rw_cuda_lambda_free)

/* Sets the user gradients of the next runs. gradients, hessians: [n_docs] on the host. is_fixed 0:
 * they are doubles without document weights. 1: they are int64_t in fixed point, below 2^62 in
 * magnitude, and include the weights. */
int rw_cuda_lambda_set_gradients(struct rw_cuda_lambda *lambda, const void *gradients,
                                 const void *hessians, int is_fixed);

/* Enqueues the gradients of tree number `tree` on `stream`, a cudaStream_t. first_doc: the number
 * of documents that the workers before this one have. An object has one run at a time. */
int rw_cuda_lambdas_run(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                        uint32_t tree, uint32_t first_doc, void *stream);
/* After a run for whole queries, finds d_info again, and the integers of real numbers, over the
 * documents with d_sampled not 0: some of a query's. */
int rw_cuda_lambdas_largest(const struct rw_cuda_lambda *lambda, void *stream);
/* Fails if the last run's gradients are beyond the limits of rw_gradients_check. info: of that run.
 * All workers call it. */
int rw_cuda_lambda_check(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_info *info);

/* ---- Arguments of the kernels ----
 *
 * A position is a document's index in its query by falling score. The upper documents of a query
 * are those at positions under the truncation. A pair has an upper document and one at a later
 * position. A spread query has so many documents or pairs that several blocks share it. */
enum {
    RW_LAMBDA_WARP_DOCS = 256,   /* a warp computes a query of up to this number of documents */
    RW_LAMBDA_NARROW_DOCS = 128, /* with up to this number, in a launch with less shared memory */
    /* A block computes a larger query of up to this number, unless its documents times its upper
     * documents are over RW_TUNE_LAMBDA_MOST_VISITS. It fits into 64 KB of shared memory, which
     * compute capability 7.5 has. */
    RW_LAMBDA_BLOCK_DOCS = 1536,
    RW_LAMBDA_SPREAD_TOPS = 128, /* upper documents of a spread query that a block has at once */
    /* Documents of a job that are paired with its upper ones. */
    RW_LAMBDA_SPREAD_LOWS = 32 * RW_TUNE_LAMBDA_WARPS * RW_TUNE_LAMBDA_SPREAD_SLOTS,
};

/* A part of the pairs of d_spread[spread], for one block: up to RW_LAMBDA_SPREAD_LOWS documents
 * from position `low` on, with up to spread_tops upper documents from position `top` on. Jobs with
 * top 0 also clear and finish the sums of as many documents in input order. */
struct rw_lambda_job {
    uint32_t spread, low, top;
};
/* The sum of the lambdas of a spread query's pairs, for rw_lambda_factor. */
struct rw_lambda_total {
    unsigned long long hi, lo;
};

/* Arrays that the objective does not use are NULL. */
struct rw_objective_args {
    enum rw_objective_device kind; /* RW_OBJECTIVE_HOST: user gradients */
    int is_fixed; /* 1: user gradients are int64_t and include the document weights */
    int n_multiprocessors;
    uint32_t n_docs;
    struct rw_cuda_rank rank;   /* of objectives that use queries */
    const float *d_label;       /* [n_docs] */
    const double *d_doc_weight; /* [n_docs] NULL: all are 1 */
    /* [n_docs] in input order; LambdaRank: queries of warps and blocks in falling order */
    const double *d_gain;
    const double *d_grade; /* [n_docs] rw_delta_grades */
    const double *d_ideal; /* [n_queries] ideal DCGs; YetiRank: rw_neighbours_over */
    /* [documents of the largest query] discounts by position; YetiRank: `positions` of struct
     * rw_objective */
    const double *d_discount;
    double *d_gradient, *d_hessian; /* [n_docs] real gradients, of the user or of a kernel */
    struct rw_lambda_rule rule;
    uint64_t seed;
    double relevant; /* the label from which a document is relevant */
    double max_gain; /* err: the largest gain of all workers' training sets */

    /* LambdaRank (cu_lambda.cu) */
    const uint16_t *d_slot; /* [n_docs] index of a document's gain in its query's part of d_gain */
    uint32_t n_block, n_warp, n_narrow; /* queries for blocks; for warps; the last, narrow ones */
    int bounded;                    /* 1: the rule and all gains are bounded (lambda_bounded.h) */
    uint32_t block_docs, warp_docs; /* for which they have room: multiples of 32 */
    uint32_t n_spread, n_jobs, spread_tops; /* spread_tops: upper documents per job */
    const uint32_t *d_spread;               /* [n_spread] the spread queries */
    const struct rw_lambda_job *d_job;      /* [n_jobs] */
    struct rw_lambda_total *d_total;        /* [n_spread] */

    /* LambdaRank with other deltas or drawn pairs (cu_deltas.cu) */
    enum rw_delta_kind delta;
    uint32_t cutoff, draws; /* draws: pairs per document; 0: pairs of the top documents */
    /* Drawn pairs, [n_docs]: each query's documents by falling grade, and for each of them the
     * first index of its grade in the query and the number of documents with its grade. */
    const uint32_t *d_by_grade, *d_begin, *d_same;
    /* Scratch, [n_docs]: grades and prefixes (rw_delta_query) by position; positions of documents,
     * or the relevant positions and the others. */
    double *d_at, *d_prefix[2];
    uint32_t *d_index;

    /* YetiRank (cu_neighbours.cu); both arrays are scratch, [n_docs] */
    struct rw_neighbours_rule neighbours;
    double *d_power; /* exp of a document's score less the best */
    double *d_key;   /* scores with noise, the keys of the current ranking */

    /* Set for each run. */
    uint32_t first_doc, tree;
    struct rw_cuda_lambda_run run;
};

/* Before any run of LambdaRank: allows its kernels the shared memory that they need. */
int rw_cuda_lambda_prepare(void);
/* Enqueue a run: of LambdaRank or YetiRank, or of real gradients for rw_cuda_gradients_find. */
int rw_cuda_lambda_pairs(const struct rw_objective_args *args, void *stream);
int rw_cuda_neighbours(const struct rw_objective_args *args, void *stream);
int rw_cuda_queries(const struct rw_objective_args *args, void *stream);
int rw_cuda_deltas(const struct rw_objective_args *args, void *stream);
/* Finds the largest magnitudes of real gradients, or does the whole run if is_fixed. Otherwise
 * rw_cuda_gradients_round must follow: it converts to fixed point, in units by these magnitudes. */
int rw_cuda_gradients_find(const struct rw_objective_args *args, void *stream);
int rw_cuda_gradients_round(const struct rw_objective_args *args, void *stream);
/* Finds the largest magnitudes of sampled documents' final integers again. */
int rw_cuda_gradients_largest(const struct rw_objective_args *args, void *stream);

#ifdef __cplusplus
}
#endif
