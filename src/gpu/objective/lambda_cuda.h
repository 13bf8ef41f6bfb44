/* Gradients of the training set on the device: LambdaRank's, YetiRank's, residuals and user
 * gradients. The integers are identical to those of rw_host_begin_tree.
 *
 * The object holds the data that does not change during a training: offsets, gains, ideal DCGs,
 * weights, discounts, and the lists of work. The host makes all of it at load, with the functions
 * of the host's engines. A run allocates nothing. With one worker it does not wait either, and may
 * be captured into a graph and run again. With many workers rw_cuda_lambda_share may make it wait.
 */
#pragma once

#include "gpu/device/tuning.h"
#include "gpu/metric/metric_cuda.h"
#include "objective/neighbours.h"
#include "tree/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cuda_lambda;

/* A run's report about its integers, on the device. */
struct rw_cuda_lambda_info {
    /* Largest magnitudes over the sampled documents: what rw_quantise_shift takes. */
    uint64_t largest_lambda, largest_hessian;
    /* Units are 2^-exponent, as in struct rw_root. */
    int32_t lambda_exponent, hessian_exponent;
    /* Of residuals and custom gradients: the bits of the largest magnitudes as doubles. */
    uint64_t gradient_bits, hessian_bits;
};

/* The inputs and outputs of a run; pointers of the device. */
struct rw_cuda_lambda_run {
    const double *d_scores; /* [n_docs] finite (not read for custom gradients) */
    /* [n_docs] by document, the same within a query; not 0: in the sample. NULL: all are */
    const uint8_t *d_sampled;
    struct rw_lambda_pair *d_pair;      /* [n_docs] written for sampled documents, in fixed point */
    struct rw_cuda_lambda_info *d_info; /* written */
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
int rw_cuda_lambda_plan_bytes(struct rw_ctx *ctx, const struct rw_engine_rules *rules,
                              const struct rw_dataset *dataset, uint64_t *bytes);

/* Without an objective only, before the first run. gradients, hessians: [n_docs], on the host, of
 * double, without the documents' weights; or, is_fixed, in fixed point, of int64_t of magnitudes
 * under 2^62, with them. Waits for the copy. */
int rw_cuda_lambda_set_gradients(struct rw_cuda_lambda *lambda, const void *gradients,
                                 const void *hessians, int is_fixed);

/* Before a run of RW_OBJECTIVE_NEIGHBOURS: the tree that it draws for, and how many documents other
 * workers have before these. */
void rw_cuda_lambda_set_tree(struct rw_cuda_lambda *lambda, uint32_t tree, uint32_t first_doc);

/* Enqueues one tree's gradients on the cudaStream_t. An object has one run at a time, because it
 * has only one scratch memory. Returns RW_OK or the error of a launch. */
int rw_cuda_lambdas_run(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                        void *stream);
/* After a run, where fewer documents than it saw are to count: d_info's largest magnitudes, of
 * those with d_sampled not 0. */
int rw_cuda_lambdas_largest(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                            void *stream);
/* Of many workers: runs enqueue `largest` where they have numbers of this worker's on the device, n
 * of them, that are to become the largest of all workers'. NULL, as at first: one worker. */
typedef int (*rw_cuda_largest_fn)(void *user, uint64_t *d_numbers, uint32_t n);
void rw_cuda_lambda_share(struct rw_cuda_lambda *lambda, rw_cuda_largest_fn largest, void *user);

/* What lambda_cuda.c hands to the kernels of cu_lambda.cu and cu_gradient.cu. All pointers are of
 * the device. Launchers return a cudaError_t. */
enum {
    RW_LAMBDA_WARP_DOCS = 256,   /* queries up to here are a warp's */
    RW_LAMBDA_NARROW_DOCS = 128, /* up to here with those of a launch of their own */
    /* up to here a block's, if their visits are few enough: what 64 KB of shared memory hold, all
     * that compute capability 7.5 has */
    RW_LAMBDA_BLOCK_DOCS = 1536,
    RW_LAMBDA_SPREAD_TOPS = 128, /* upper documents that a block keeps at hand */
    RW_LAMBDA_TILE_DOCS = 256,   /* documents of a block that begins or ends a spread query */
    /* documents of a job below its upper ones */
    RW_LAMBDA_SPREAD_LOWS = 32 * RW_TUNE_LAMBDA_WARPS * RW_TUNE_LAMBDA_SPREAD_SLOTS,
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
    const uint32_t *d_order;         /* [n_docs] of a run, too */
    struct rw_cuda_lambda_run run;
};

struct rw_gradient_args {
    uint32_t n_docs;
    const float *d_label;                 /* residuals; else NULL */
    const double *d_gradient, *d_hessian; /* handed over; else NULL */
    int is_fixed;                         /* these are integers, the documents' weights within */
    const double *d_doc_weight;           /* NULL: all 1 */
    struct rw_cuda_lambda_run run;
};

/* Once, before any run: kernels are loaded, and may take the shared memory that they need. */
int rw_cuda_lambda_prepare(void);
/* A run: ranks, pairs, final integers and d_info. */
int rw_cuda_lambda_pairs(const struct rw_lambda_args *args, const struct rw_cuda_rank *rank,
                         void *stream);
/* In two steps: the largest magnitudes, or, in fixed point, everything; then, of real numbers, what
 * depends on the largest. */
int rw_cuda_gradients_find(const struct rw_gradient_args *args, int n_multiprocessors,
                           void *stream);
int rw_cuda_gradients_round(const struct rw_gradient_args *args, int n_multiprocessors,
                            void *stream);
/* Finds the largest magnitudes of sampled documents' final integers again. Reads only n_docs,
 * d_sampled, d_pair and d_info of the arguments. */
int rw_cuda_gradients_largest(const struct rw_gradient_args *args, int n_multiprocessors,
                              void *stream);

/* The arguments of the kernels of cu_neighbours.cu. For each ranking with noise they compute keys,
 * the order of each query's documents by them (metric_cuda.h), and pairs of neighbours. */
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
    struct rw_cuda_lambda_run run; /* pairs are sums, in the end the final integers */
};

/* A run: sums of the pairs of all rankings, final integers and d_info. */
int rw_cuda_neighbours(const struct rw_neighbours_args *args, const struct rw_cuda_rank *rank,
                       int n_multiprocessors, void *stream);

#ifdef __cplusplus
}
#endif
