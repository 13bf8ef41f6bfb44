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

/* The integers of a run: their largest magnitudes and units, on the device. */
struct rw_cuda_lambda_info {
    /* Largest magnitudes over the sampled documents, for rw_quantise_shift. */
    uint64_t largest_lambda, largest_hessian;
    /* Units are 2^-exponent, as in struct rw_root. */
    int32_t lambda_exponent, hessian_exponent;
    /* For residuals and user gradients: the bits of the largest magnitudes as doubles. */
    uint64_t gradient_bits, hessian_bits;
};

/* The inputs and outputs of a run. Pointers are to device memory. */
struct rw_cuda_lambda_run {
    const double *d_scores; /* [n_docs] finite; not read for user gradients */
    /* [n_docs] not 0: in the sample. It is the same for all documents of a query, except for
     * residuals. NULL: all are. */
    const uint8_t *d_sampled;
    struct rw_lambda_pair *d_pair;      /* [n_docs] written for sampled documents, in fixed point */
    struct rw_cuda_lambda_info *d_info; /* written */
};

/* Makes the tables of an objective. gains: [n_docs], or NULL if the objective does not rank. Keeps
 * no reference to rules, dataset or gains. Waits for its copies, which use the device's stream.
 * Fails with RW_ERR_DATA as the objective's check does. device NULL: only counts the bytes of the
 * tables; gains may be NULL. */
int rw_cuda_lambda_new(struct rw_ctx *ctx, struct rw_device *device,
                       const struct rw_engine_rules *rules, const struct rw_dataset *dataset,
                       const double *gains, struct rw_cuda_lambda **out);
void rw_cuda_lambda_free(struct rw_cuda_lambda *lambda); /* accepts NULL */
/* Returns the bytes of device memory of the object. */
uint64_t rw_cuda_lambda_bytes(const struct rw_cuda_lambda *lambda);
RW_SCOPED_BY(rw_cuda_lambda_free)

/* Sets the user gradients of the next runs, for training without an objective. Call it before the
 * first run. gradients, hessians: [n_docs] on the host. By default they are doubles without
 * document weights. With is_fixed they are int64_t in fixed point, below 2^62 in magnitude, and
 * include the weights. Waits for the copy.
 */
int rw_cuda_lambda_set_gradients(struct rw_cuda_lambda *lambda, const void *gradients,
                                 const void *hessians, int is_fixed);

/* Must be called before a run of RW_OBJECTIVE_NEIGHBOURS. tree: the tree for which it draws. The
 * other argument is the number of documents that earlier workers have. */
void rw_cuda_lambda_set_tree(struct rw_cuda_lambda *lambda, uint32_t tree, uint32_t first_doc);

/* Enqueues one tree's gradients on the cudaStream_t. An object has one run at a time, because it
 * has only one scratch memory. Returns RW_OK or the error of a launch. */
int rw_cuda_lambdas_run(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                        void *stream);
/* Finds the largest magnitudes in d_info again, after a run that saw more documents than count.
 * Only documents with d_sampled not 0 count. */
int rw_cuda_lambdas_largest(struct rw_cuda_lambda *lambda, const struct rw_cuda_lambda_run *run,
                            void *stream);
/* With many workers: runs call `largest` to replace n numbers on the device by the largest ones
 * over all workers. NULL, the initial value: one worker. */
typedef int (*rw_cuda_largest_fn)(void *user, uint64_t *d_numbers, uint32_t n);
void rw_cuda_lambda_share(struct rw_cuda_lambda *lambda, rw_cuda_largest_fn largest, void *user);

/* Arguments of the kernels of cu_lambda.cu and cu_gradient.cu. All pointers are to device memory.
 * Launchers return a cudaError_t. */
enum {
    RW_LAMBDA_WARP_DOCS = 256,   /* up to this size, a warp computes a query */
    RW_LAMBDA_NARROW_DOCS = 128, /* up to this size, in a separate launch */
    /* Up to this size, a block, unless the query has too many visits. It fits into 64 KB of shared
     * memory, which compute capability 7.5 has. */
    RW_LAMBDA_BLOCK_DOCS = 1536,
    RW_LAMBDA_SPREAD_TOPS = 128, /* upper documents that a block holds at once */
    RW_LAMBDA_TILE_DOCS = 256,   /* documents of a block that begins or ends a spread query */
    /* Lower documents of a job. */
    RW_LAMBDA_SPREAD_LOWS = 32 * RW_TUNE_LAMBDA_WARPS * RW_TUNE_LAMBDA_SPREAD_SLOTS,
};

/* A part of a spread query's pairs: documents from position `low` on, for one block, with
 * spread_tops upper documents from `top` on. */
struct rw_lambda_job {
    uint32_t spread, low, top;
};
/* A part of a spread query: positions [begin, begin + RW_LAMBDA_TILE_DOCS). */
struct rw_lambda_tile {
    uint32_t spread, begin;
};
/* The sum of a spread query's pairs, for rw_lambda_factor. */
struct rw_lambda_total {
    unsigned long long hi, lo;
};

struct rw_lambda_args {
    struct rw_lambda_rule rule;
    const uint32_t *d_offset; /* [n_queries + 1] */
    const double *d_ideal;    /* [n_queries] */
    /* [n_docs] in falling order for queries of warps and blocks, else by document */
    const double *d_gain;
    /* [n_docs] the rank of a document's gain in its query; not for spread queries */
    const uint16_t *d_slot;
    const double *d_discount;   /* [longest] */
    const double *d_doc_weight; /* [n_docs] NULL: all are 1 */
    const uint32_t *d_query;    /* [n_block + n_warp] by falling size */
    /* n_narrow: the last of the n_warp, with up to RW_LAMBDA_NARROW_DOCS documents */
    uint32_t n_block, n_warp, n_narrow;
    int bounded; /* 1: the rule and all gains are bounded (lambda_bounded.h) */
    /* documents for which a block or a warp has room; multiples of 32 */
    uint32_t block_docs, warp_docs;
    uint32_t n_spread, n_jobs, n_tiles, spread_tops;
    const uint32_t *d_spread; /* [n_spread] the spread queries */
    const struct rw_lambda_job *d_job;
    const struct rw_lambda_tile *d_tile;
    struct rw_lambda_total *d_total; /* [n_spread] */
    const uint32_t *d_order;         /* [n_docs] of the current run */
    struct rw_cuda_lambda_run run;
};

struct rw_gradient_args {
    uint32_t n_docs;
    const float *d_label;                 /* for residuals; else NULL */
    const double *d_gradient, *d_hessian; /* user gradients; else NULL */
    int is_fixed; /* 1: user gradients are integers and include the document weights */
    const double *d_doc_weight; /* NULL: all are 1 */
    struct rw_cuda_lambda_run run;
};

/* Loads the kernels and allows them the shared memory that they need. Call it once, before any run.
 */
int rw_cuda_lambda_prepare(void);
/* Enqueues a run: ranks, pairs, final integers and d_info. */
int rw_cuda_lambda_pairs(const struct rw_lambda_args *args, const struct rw_cuda_rank *rank,
                         void *stream);
/* A run in two steps. The first finds the largest magnitudes or, in fixed point, does everything.
 * The second rounds real numbers, which depends on the largest. */
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
    uint32_t n_large;           /* queries with more than RW_RANK_BLOCK_DOCS documents */
    const uint32_t *d_offset;   /* [n_queries + 1] */
    const uint32_t *d_query;    /* [n_queries] the large queries, then the others by falling size */
    const uint32_t *d_order;    /* [n_docs] of the current ranking: each query's, best first */
    const double *d_grade;      /* [n_docs] */
    const double *d_over;       /* [n_queries] */
    const double *d_weight;     /* [longest] w(r) */
    const double *d_doc_weight; /* [n_docs] NULL: all are 1 */
    double *d_power;            /* [n_docs] scratch, as is d_key */
    double *d_key;              /* [n_docs] keys of the current ranking */
    /* Set for each run. */
    uint32_t first_doc, tree;
    struct rw_cuda_lambda_run run; /* d_pair has sums, and in the end the final integers */
};

/* Enqueues a run: pairs of all rankings, final integers and d_info. */
int rw_cuda_neighbours(const struct rw_neighbours_args *args, const struct rw_cuda_rank *rank,
                       int n_multiprocessors, void *stream);

#ifdef __cplusplus
}
#endif
