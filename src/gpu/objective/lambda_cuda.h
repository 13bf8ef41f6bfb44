/* Gradients of the training set on the device: those of all kinds of enum rw_objective_device, and
 * user gradients. The integers before quantisation are identical to those of rw_host_begin_tree.
 *
 * The object holds the data that does not change during a training, which the host makes at load. A
 * run computes the gradients of one tree. It allocates nothing. With one worker it does not wait
 * either, and may be captured into a CUDA graph and run again. With many workers, the function that
 * rw_cuda_lambda_share has set may make it wait. */
#pragma once

#include "gpu/device/tuning.h"
#include "gpu/metric/metric_cuda.h"
#include "objective/neighbours.h"
#include "tree/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cuda_lambda;

/* Facts about the integers of a run, in device memory: their largest magnitudes over the sampled
 * documents, and their units, 2^-exponent. */
struct rw_cuda_lambda_info {
    uint64_t largest_lambda, largest_hessian;
    int32_t lambda_exponent, hessian_exponent;
    /* For gradients that are real numbers (all but LambdaRank's and YetiRank's): the bits of their
     * largest magnitudes as doubles. All bits of gradient_bits are 1 if a gradient or hessian is
     * beyond the limits of rw_gradients_check; the integers are then 0. */
    uint64_t gradient_bits, hessian_bits;
};

/* The inputs and outputs of a run. Pointers are to device memory. */
struct rw_cuda_lambda_run {
    const double *d_scores; /* [n_docs] finite; not read for user gradients */
    /* [n_docs] not 0: the document is in the sample. In a run of LambdaRank or YetiRank, all
     * documents of a query must have equal values. NULL: all are in the sample. */
    const uint8_t *d_sampled;
    struct rw_lambda_pair *d_pair;      /* [n_docs] written for sampled documents, in fixed point */
    struct rw_cuda_lambda_info *d_info; /* written */
};

/* Makes the tables of an objective. gains: [n_docs], or NULL if the objective does not rank. Keeps
 * no reference to rules, dataset or gains. Waits for its copies, which use the device's stream.
 * Fails with RW_ERR_DATA if the objective's check of the data fails (rw_objective_check). device
 * NULL: only counts the bytes of the tables, without that check; gains may be NULL. */
int rw_cuda_lambda_new(struct rw_ctx *ctx, struct rw_device *device,
                       const struct rw_engine_rules *rules, const struct rw_dataset *dataset,
                       const double *gains, struct rw_cuda_lambda **out);
void rw_cuda_lambda_free(struct rw_cuda_lambda *lambda); /* accepts NULL */
/* Returns the bytes of device memory of the object. */
uint64_t rw_cuda_lambda_bytes(const struct rw_cuda_lambda *lambda);
RW_SCOPED_BY(rw_cuda_lambda_free)

/* Sets the user gradients of the next runs, for training without an objective. gradients, hessians:
 * [n_docs] on the host. is_fixed 0: they are doubles without document weights. 1: they are int64_t
 * in fixed point, below 2^62 in magnitude, and include the weights. Waits for the copy. */
int rw_cuda_lambda_set_gradients(struct rw_cuda_lambda *lambda, const void *gradients,
                                 const void *hessians, int is_fixed);

/* Must be called before each run of an objective that draws random numbers. tree: the number of the
 * tree. first_doc: the number of documents that the workers before this one have. */
void rw_cuda_lambda_set_tree(struct rw_cuda_lambda *lambda, uint32_t tree, uint32_t first_doc);

/* Enqueues one tree's gradients on `stream`, a cudaStream_t. An object has one run at a time. */
int rw_cuda_lambdas_run(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                        void *stream);
/* Finds d_info again, and the integers of real numbers, over the documents with d_sampled not 0.
 * For use after a run for whole queries if only some of their documents are in the sample. */
int rw_cuda_lambdas_largest(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                            void *stream);
/* Fails if the last run computed gradients that are beyond the limits of rw_gradients_check. info:
 * of that run. All workers call it. */
int rw_cuda_lambda_check(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_info *info);
/* Replaces each of n numbers on the device by the largest one over all workers. */
typedef int (*rw_cuda_largest_fn)(void *user, uint64_t *d_numbers, uint32_t n);
/* With many workers: sets the function that runs call. NULL, the initial value: one worker. */
void rw_cuda_lambda_share(struct rw_cuda_lambda *lambda, rw_cuda_largest_fn largest, void *user);

/* ---- Arguments of the kernels ----
 *
 * A position is a document's index in its query by falling score. The upper documents of a query
 * are those at positions under the truncation. A pair has an upper document and one at a later
 * position. A spread query has so many documents or pairs that several blocks share it. */
enum {
    RW_LAMBDA_WARP_DOCS = 256, /* a warp computes a query of up to this number of documents */
    /* Warps with queries of up to this number have a separate launch, with less shared memory. */
    RW_LAMBDA_NARROW_DOCS = 128,
    /* A block computes a larger query of up to this number, unless its documents times its upper
     * documents are over RW_TUNE_LAMBDA_MOST_VISITS. This number fits into 64 KB of shared memory,
     * which compute capability 7.5 has. */
    RW_LAMBDA_BLOCK_DOCS = 1536,
    /* The following are for spread queries. */
    RW_LAMBDA_SPREAD_TOPS = 128, /* upper documents that a block holds at once */
    /* Documents of a job that are paired with its upper ones. */
    RW_LAMBDA_SPREAD_LOWS = 32 * RW_TUNE_LAMBDA_WARPS * RW_TUNE_LAMBDA_SPREAD_SLOTS,
};

/* A part of a spread query's pairs, for one block: up to RW_LAMBDA_SPREAD_LOWS documents from
 * position `low` on, with up to spread_tops upper documents from position `top` on. spread: index
 * in d_spread. Jobs with top 0 also clear and finish the sums of as many documents in input
 * order. */
struct rw_lambda_job {
    uint32_t spread, low, top;
};
/* The sum of the lambdas of a spread query's pairs, for rw_lambda_factor. */
struct rw_lambda_total {
    unsigned long long hi, lo;
};

/* All pointers are to device memory. Arrays that the objective does not use are NULL. */
struct rw_objective_args {
    enum rw_objective_device kind; /* RW_OBJECTIVE_HOST: user gradients */
    int is_fixed; /* 1: user gradients are int64_t and include the document weights */
    int n_multiprocessors;
    uint32_t n_docs;
    struct rw_cuda_rank rank;   /* of objectives that use queries */
    const float *d_label;       /* [n_docs] */
    const double *d_doc_weight; /* [n_docs] NULL: all are 1 */
    /* [n_docs] listnet and xendcg: in input order. LambdaRank: each query's gains, in falling order
     * for queries of warps and blocks, in input order for spread queries. */
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
    /* [n_docs] the position of a document's gain in d_gain, from 0; 0 for spread queries */
    const uint16_t *d_slot;
    /* Numbers of queries. n_block: for blocks. n_warp: for warps. n_narrow: the last of the n_warp,
     * with up to RW_LAMBDA_NARROW_DOCS documents. */
    uint32_t n_block, n_warp, n_narrow;
    int bounded; /* 1: the rule and all gains are bounded (lambda_bounded.h) */
    /* Documents for which a block or a warp has room in shared memory: multiples of 32. */
    uint32_t block_docs, warp_docs;
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
    /* Scratch, [n_docs]: grades and prefixes of struct rw_delta_query by position; positions of
     * documents, or the relevant positions and the others. */
    double *d_at, *d_prefix[2];
    uint32_t *d_index;

    /* YetiRank (cu_neighbours.cu), which has several rankings of each query, by scores with noise
     */
    struct rw_neighbours_rule neighbours;
    double *d_power; /* [n_docs] scratch: exp of a document's score less the best */
    double *d_key;   /* [n_docs] scratch: scores with noise, the keys of the current ranking */

    /* Set for each run. */
    uint32_t first_doc, tree;
    struct rw_cuda_lambda_run run;
};

/* Loads the kernels of cu_lambda.cu and allows them the shared memory that they need. Call it once,
 * before any run of them. */
int rw_cuda_lambda_prepare(void);
/* Enqueue a run of LambdaRank or YetiRank: orders by score, pairs, final integers and d_info. */
int rw_cuda_lambda_pairs(const struct rw_objective_args *args, void *stream);
int rw_cuda_neighbours(const struct rw_objective_args *args, void *stream);
/* Enqueue the real gradients of a run, for rw_cuda_gradients_find. */
int rw_cuda_queries(const struct rw_objective_args *args, void *stream); /* cu_queries.cu */
int rw_cuda_deltas(const struct rw_objective_args *args, void *stream);
/* Enqueue a run from real gradients, in two steps. rw_cuda_gradients_find finds the largest
 * magnitudes. If is_fixed, it does the whole run. Otherwise rw_cuda_gradients_round must follow: it
 * converts real numbers to fixed point, in units that depend on the largest magnitudes. */
int rw_cuda_gradients_find(const struct rw_objective_args *args, void *stream);
int rw_cuda_gradients_round(const struct rw_objective_args *args, void *stream);
/* Finds the largest magnitudes of sampled documents' final integers again. */
int rw_cuda_gradients_largest(const struct rw_objective_args *args, void *stream);

#ifdef __cplusplus
}
#endif
