/* State of the engine for GPUs. It uses four objects that do not know it: the codes of the data
 * sets (cuda_codes.h), the documents of nodes (cuda_nodes.h), small data and answers
 * (cuda_replies.h) and the other workers (cuda_workers.h). The rest is here: the operations and the
 * start of trees (engine_cuda.c), loading and the plan (engine_cuda_load.c), histograms
 * (engine_cuda_hist.c) and splits (engine_cuda_split.c).
 *
 * Memory is allocated when data is loaded, when metrics are named (cuda_measure) and in the first
 * tree, when histogram methods are chosen. cu_engine.h defines groups, buffers and answers. A split
 * takes one more buffer, so a tree of n leaves fills n buffers, and more if it is speculative. */
#pragma once

#include "gpu/engine/cuda_codes.h"
#include "gpu/engine/cuda_nodes.h"
#include "gpu/engine/cuda_workers.h"
#include "gpu/metric/metric_cuda.h"

/* A node of all documents, without a parent, as a histogram call reads it on the device. */
struct rw_cuda_whole {
    struct rw_hist_node node;
    uint32_t parent;
};

struct rw_cuda {
    struct rw_host host; /* has the cuts, but no codes; counts the bytes of device memory */
    struct rw_device *device;
    struct rw_cuda_memory memory;
    struct rw_cuda_codes codes;
    struct rw_cuda_nodes nodes;
    struct rw_cuda_replies replies;
    struct rw_cuda_workers workers;
    struct rw_cuda_lambda *lambda;
    struct rw_cuda_quantise quantise;
    struct {
        double *d_score;                 /* [n_docs] */
        struct rw_cuda_metrics *metrics; /* NULL: not measured; owned */
    } set[RW_MAX_SETS];
    struct rw_coded_node *coded; /* [max_slots] a finished tree */
    uint32_t n_docs, all_docs;   /* this worker's documents, and those of all workers */
    struct {                     /* the tree's features */
        uint8_t *d_sampled;      /* [n_features] 1: sampled for the tree; group by group */
        int are_known;           /* 1: d_sampled is the same for all trees */
    } features;
    /* ---- histograms; arrays by group have n_groups elements ---- */
    int n_groups;
    struct rw_hist_choice choice[RW_CUDA_GROUPS]; /* its method is NULL until it is chosen */
    int n_reported;                               /* choices that rw_cuda_report has written */
    int read_tiles; /* 1: the methods are chosen, and all read tiles, so lambdas can move */
    /* [n_groups] of workers.exchange: the histograms being built, and those that are kept and
     * searched, of all documents and the worker's own features. With one worker, the same. */
    struct rw_cuda_cells *built, *cells;
    struct {
        void *d; /* all 0 between histograms if read_tiles is 1 */
        size_t bytes;
    } scratch;
    struct { /* one histogram call */
        struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
        uint32_t parent[RW_TUNE_ENGINE_NODES]; /* the parents' buffers */
        uint64_t most_docs;                    /* see struct rw_hist_call */
    } call;
    struct {
        int32_t *of; /* [max_slots] buffer of each node's histogram; -1: not built, or not needed */
        int32_t *slot_of;  /* [max_slots] scratch: the slot of each buffer */
        int32_t n, n_used; /* buffers of each pool; those before n_used may be in use */
    } buffers;
    struct {
        struct rw_cuda_whole *d; /* [1] */
        int is_begun;            /* 1: rw_cuda_begin_root has begun its histogram */
    } root;
    /* ---- splits ---- */
    uint32_t first_own[RW_CUDA_GROUPS]; /* the first feature that this worker owns and searches */
    struct rw_cuda_categories categories[RW_CUDA_GROUPS]; /* of the features that are searched */
    struct rw_cuda_search search;
    uint32_t most_searched, n_searched; /* most nodes of a search; of that in progress, or 0 */
    size_t
        allowed_bytes; /* per node: as in `allow` of tree/engine.h; 0: all features are allowed */
    struct {           /* for symmetric trees */
        struct rw_cuda_level args; /* d_n_left follows d_best */
        /* Scratch: the cells of a categorical feature in all nodes, on the device and on the host,
         * `stride` per node. 0: no categorical features. */
        struct rw_cell *d_cell, *cell;
        uint32_t stride;
    } level;
};

static inline struct rw_cuda *rw_cuda_of(struct rw_engine *engine)
{
    return (struct rw_cuda *)engine;
}

/* ---- loading and the plan ---- */

/* Connects the engine's parts. */
void rw_cuda_init(struct rw_cuda *cuda, struct rw_device *device);
int rw_cuda_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains);
void rw_cuda_unload(struct rw_cuda *cuda);
int rw_cuda_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);
double rw_cuda_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work);

/* ---- histograms ---- */

/* Allocates the scratch of histogram methods, once the codes that they read are made. */
int rw_cuda_plan_histograms(struct rw_cuda *cuda);
int rw_cuda_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n);
/* Starts the histogram of the root before the grower requests it: with one worker, for a tree of
 * all documents and n_features > 0, if all codes are on the device and it chooses no method. */
int rw_cuda_begin_root(struct rw_cuda *cuda, uint32_t n_features);
int rw_cuda_release(struct rw_engine *engine, const int32_t *slots, int n);
int rw_cuda_report(struct rw_engine *engine, char *text, size_t size, double *ms);

/* ---- splits ---- */

/* Allocates the memory of searches and of small data, and host memory for the nodes of trees. */
int rw_cuda_make_search(struct rw_cuda *cuda);
int rw_cuda_ask_splits(struct rw_engine *engine, const int32_t *slots, int n);
int rw_cuda_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                        struct rw_split *out);
