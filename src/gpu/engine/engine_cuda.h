/* State of the engine for GPUs. The file engine_cuda.c starts trees and keeps documents and scores.
 * Data is sent to the device in engine_cuda_load.c. Histograms are built and splits found in
 * engine_cuda_hist.c. Many workers (more than one) add up their sums in engine_cuda_workers.c and,
 * if they are threads of one process, in engine_cuda_peers.c. Host memory
 * for codes that do not fit the device, and columns of codes for partitions, are in
 * engine_cuda_far.c. Memory for training is allocated when data is loaded, when metrics are named
 * (cuda_measure) and, once more, in the first tree, when histogram methods are chosen. cu_engine.h
 * defines groups, buffers and answers.
 *
 * The list of documents has two halves. The documents of a node's children are written to the
 * node's positions in the other half. A node's histogram has one buffer in each group's pool. A
 * split takes one more buffer, so a tree of n leaves fills n buffers; speculative splits take
 * more. */
#pragma once

#include "comm/comm.h"
#include "gpu/engine/cuda_memory.h"
#include "gpu/engine/cuda_nodes.h"
#include "gpu/hist/hist.h"
#include "gpu/metric/metric_cuda.h"

/* The location of the training set's codes. It is decided before they are loaded. */
struct rw_cuda_place {
    int is_far;           /* 1: some codes are in host memory */
    uint64_t row_bytes;   /* bytes per document in tiles on the device */
    uint32_t n_columns;   /* number of columns for partitions that fit */
    int keeps_columns;    /* 1: there is ample memory for the columns of all features */
    double far_doc_bytes; /* mean bytes per document in tiles of host memory */
    double link_rate;     /* bytes per second; 0: not measured */
    /* Memory that training needs at least, once the codes do not all fit: with no codes on the
     * device except one column or, if they cannot be in host memory, with all codes. */
    uint64_t least_bytes;
    uint64_t settled_bytes; /* of the training set, once methods are chosen */
};

/* A set's codes in host memory, by feature. */
struct rw_cuda_far {
    char *column;              /* page-locked; owned; NULL: no codes in host memory */
    struct rw_cuda_column *at; /* [n_features] its columns, for kernels and copies */
};

/* A data set. Set 0 is the training set. The others are validation sets, which get scores and
 * metrics. */
struct rw_cuda_set {
    int is_far; /* 1: some of its codes are in host memory */
    struct rw_cuda_far far;
    struct rw_hist_matrix *matrix[RW_CUDA_GROUPS]; /* [n_groups] owned */
    struct rw_cuda_column *d_column;               /* [n_features] where its codes are */
    double *d_score;                               /* [n_docs] */
    struct rw_cuda_metrics *metrics;               /* NULL: not measured; owned */
};

/* The features of one struct rw_hist_matrix. */
struct rw_cuda_group {
    int bits;
    uint32_t n_features, n_bins; /* n_bins: the largest number of codes of a feature */
    uint32_t n_narrow;           /* the last n_narrow features have at most 16 codes */
    uint32_t *column;            /* [n_features] the engine's features */
    uint16_t *d_frequent;        /* [n_features] most frequent codes */
    /* built: the histograms being made. cells: the histograms that are kept and searched. With one
     * worker they are the same. With many workers, `built` has sums over this worker's documents,
     * for all features. `cells` has sums over all documents, for the features that this worker
     * owns, from first_own on. */
    struct rw_cuda_cells built, cells;
    uint32_t first_own;
    struct rw_cuda_categories categories; /* of the features that are searched */
    struct rw_hist_candidates candidates;
    struct rw_hist_choice choice;
    int chosen;       /* 1: `choice` is made */
    int is_rechecked; /* 1: the choice was checked again in a later tree */
    int is_reported;  /* 1: the choice was reported */
};

/* Cached columns: copies of the codes of features that split large nodes most often. */
struct rw_cuda_kept {
    uint32_t n;            /* number of columns that fit */
    uint64_t column_bytes; /* bytes per column */
    void *d;               /* [n] columns */
    int32_t *of;           /* [n] the engine's feature in each; -1: free */
    double *use; /* [n_features] documents in large nodes that the feature split; older trees count
                    less. With codes in host memory, all nodes count */
    uint8_t *drawn; /* [n_features] 1: sampled for the tree */
};

/* A node of all documents, without a parent, as a histogram call reads it on the device (d_node,
 * d_parent). */
struct rw_cuda_whole {
    struct rw_hist_node node;
    uint32_t parent;
};

/* The codes of a training set, shared by engines (engine_cuda_codes.c). */
struct rw_cuda_codes {
    struct rw_device_cache entry;
    struct rw_cut_rule rule;           /* `ignore` is a copy; `categories` is only compared */
    const struct rw_hist_method *hist; /* the forced method; NULL: none */
    struct rw_cuts *cuts;              /* owned */
    /* Memory of `ignore` and of the fields below, except the matrices. */
    struct rw_arena arena;
    uint64_t bytes; /* device memory, without columns */
    int n_groups;
    struct rw_hist_matrix *matrix[RW_CUDA_GROUPS]; /* [n_groups] owned */
    uint32_t n_readers[RW_CUDA_GROUPS];            /* engines that may read the group's columns */
    uint64_t *counts[RW_CUDA_GROUPS];              /* as in the engine */
    uint32_t *column[RW_CUDA_GROUPS];              /* as in the engine */
};

/* State for many workers. */
struct rw_cuda_workers {
    struct rw_cuda_exchange exchange; /* n_nodes, n_each64, n_each32 and d_wire: of the current
                                       * call */
    struct rw_cuda_gather gather;     /* with peers; n_nodes, to and parent: of the current call */
    int is_unread;       /* with peers: 1: a peer may still be reading the sums of the last call */
    uint32_t most_nodes; /* most nodes of a histogram call */
    void *staged;        /* page-locked, for messages through the hosts; NULL: not needed */
};

struct rw_cuda {
    struct rw_host host; /* the part that all engines share; it has the cuts, and counts the bytes
                          * of device memory; it has no codes */
    struct rw_device *device;
    struct rw_cuda_memory memory;
    struct rw_cuda_replies replies;
    struct rw_cuda_nodes nodes;
    struct rw_cuda_lambda *lambda;
    struct rw_cuda_set set[RW_MAX_SETS];
    struct rw_cuda_group group[RW_CUDA_GROUPS]; /* [n_groups] */
    int n_groups;
    struct rw_comm *comm; /* connects the workers' GPUs by NCCL; NULL: not connected; owned */
    struct rw_cuda_peers *peers;     /* NULL: some GPU cannot read another's memory */
    struct rw_cuda_workers *workers; /* NULL: one worker */
    struct rw_cuda_place place;
    /* ---- reads from host memory ---- */
    /* The `far` of histogram calls, if place.is_far; owned. */
    struct rw_hist_far hist_far;
    struct rw_far_reads reads; /* reads of the tree so far; `bytes` excludes the histograms' */
    void *event[2];            /* cudaEvent_t: before and after histograms */
    int is_timed;              /* 1: events are recorded, and their time is not added yet */
    char *d_walk;              /* [walk_bytes] chunks of columns sent for a walk */
    size_t walk_bytes;         /* 0: no set needs d_walk */
    struct rw_cuda_column *walk_column; /* [n_features] scratch */
    /* ---- the training set ---- */
    /* Its codes. NULL: not known yet, or host-resident. */
    struct rw_cuda_codes *codes;
    int has_made_codes;               /* 1: this engine has made `codes`, and counts their memory */
    struct rw_arena codes_arena;      /* of counts, and of the groups' columns, until they are part
                                       * of `codes` */
    uint64_t *counts[RW_CUDA_GROUPS]; /* [group's n_features][n_bins] documents with each code */
    uint32_t n_docs, n_queries;
    uint8_t *d_feature_sampled; /* [n_features] 1: sampled for the tree; group by group */
    int knows_features;         /* 1: d_feature_sampled is the same for all trees */
    /* ---- the tree ---- */
    struct rw_cuda_quantise quantise;
    int32_t *buffer_of; /* [max_slots] buffer of each node's histogram; -1: not built, or no longer
                           useful */
    int32_t *slot_of;   /* [max_slots] scratch: the slot of each buffer */
    int32_t n_buffers, n_used; /* buffers of each pool; those before n_used may be in use */
    /* ---- scratch ---- */
    struct rw_hist_node *node; /* [most_nodes] the nodes of one histogram call */
    uint64_t most_docs;        /* of that call; see struct rw_hist_call */
    uint32_t *parent;          /* [most_nodes] their parents' buffers */
    uint32_t most_nodes;
    struct rw_cuda_whole *d_whole;       /* [1] */
    int root_begun;                      /* 1: rw_cuda_begin_root has begun the root's histogram */
    struct rw_cuda_column *split_column; /* [n_features] columns from which partitions read codes */
    struct rw_cuda_column *tile_column;  /* [n_features] a copy of the training set's d_column, in
                                          * host memory */
    struct rw_cuda_kept kept;
    int is_settled; /* 1: methods are chosen, and memory needed only for the choice is freed */
    struct rw_cuda_search search; /* launch: the number of the last one */
    uint32_t most_searched;       /* most nodes of a search */
    struct rw_cuda_level level;   /* for symmetric trees; d_n_left follows d_best */
    struct { /* scratch of rw_cuda_best_level: the cells of a categorical feature, [n][stride] */
        struct rw_cell *d_cell, *cell; /* on the device and on the host */
        uint32_t stride;               /* cells per node; 0: no categorical features */
    } level_sets;
    uint32_t n_trees;    /* number of trees begun */
    uint32_t n_searched; /* nodes of the search in progress; 0: no search */
    void *d_hist_scratch;
    /* Bytes of d_hist_scratch. Until methods are chosen, it is enough for each candidate. */
    size_t hist_scratch_bytes;
    size_t least_scratch_bytes;  /* scratch that the preferred or forced method needs */
    int clean_scratch;           /* 1: d_hist_scratch is all 0 between histograms */
    struct rw_coded_node *coded; /* [max_slots] */
};

#define RW_CUDA_TRY(cuda, call) RW_CU((cuda)->host.base.ctx, call)

static inline struct rw_cuda *rw_cuda_of(struct rw_engine *engine)
{
    return (struct rw_cuda *)engine;
}

static inline void *rw_cuda_stream(const struct rw_cuda *cuda)
{
    return cuda->device->stream;
}

/* Returns the bytes per node of the features that are allowed there and their noise, as in `allow`
 * in tree/engine.h. 0: all features are allowed, without noise. */
static inline size_t rw_cuda_allowed_bytes(const struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    return rw_rules_by_node(&engine->rules) ? rw_node_words(engine) * sizeof(uint32_t) : 0;
}

/* Returns the bytes of a tile's codes on the device. */
static inline uint64_t rw_cuda_tile_bytes(const struct rw_hist_matrix *matrix, uint32_t tile)
{
    const struct rw_hist_tile *of = &matrix->tile[tile];
    const uint64_t docs = of->far_word ? of->n_here : matrix->n_docs;
    return docs * rw_hist_tile_doc_bytes(matrix, tile);
}

/* Returns the bytes of a column of one feature for partitions, with the widest codes. */
static inline uint64_t rw_cuda_column_bytes(const struct rw_cuts *cuts, uint32_t n_docs)
{
    uint64_t bytes = 1;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        bytes = rw_cuts_code_bytes(cuts, f) > bytes ? rw_cuts_code_bytes(cuts, f) : bytes;
    return rw_hist_round_up(n_docs * bytes);
}

/* Returns the bytes of a matrix's columns. */
static inline uint64_t rw_cuda_columns_bytes(const struct rw_hist_matrix *matrix)
{
    return matrix->column_words * matrix->n_features * sizeof(*matrix->d_column);
}

/* Returns 1 if the sums of every possible node fit 32 bits. */
static inline int rw_cuda_has_narrow_cells(const struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    return rw_hist_is_narrow(cuda->workers ? engine->all_docs : cuda->n_docs,
                             rw_quantise_limit(engine->rules.bits));
}
/* Allocates the counts and sums of n cells. Sums have 32 bits if rw_cuda_has_narrow_cells, else
 * 64. */
int rw_cuda_new_cells(struct rw_cuda *cuda, struct rw_cuda_cells *cells, uint64_t n);

int rw_cuda_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains);
/* The data from which a set is loaded. gains: those of the labels, for the objective. codes: ready
 * codes, or NULL. code_of: [n_features] the index in `codes` of each of the engine's features;
 * NULL: the same index. */
struct rw_cuda_source {
    const struct rw_dataset *dataset;
    const double *gains;
    const struct rw_bins *codes;
    const uint32_t *code_of;
};
/* Sets cuda->codes to the training set's codes in the device-memory cache, if there are codes that
 * this training would make, too. */
void rw_cuda_codes_take(struct rw_cuda *cuda);
/* Makes cuda->codes of the codes that the engine has loaded, and shares them. Does nothing if the
 * engine has taken codes, or if they are host-resident. */
int rw_cuda_codes_share(struct rw_cuda *cuda);
/* Copies the record of a group's matrix. Unless in a dry run, the engine then is a reader of the
 * columns, if there are any. */
void rw_cuda_codes_read(struct rw_cuda_codes *codes, int g, int is_dry, struct rw_hist_matrix *out);
/* Tells that an engine no longer reads a group's columns, which its last reader frees. */
void rw_cuda_codes_drop_columns(struct rw_cuda_codes *codes, int g);
/* Ends the use of cuda->codes when the engine closes. */
void rw_cuda_codes_leave(struct rw_cuda *cuda);
/* rw_cuda_list_candidates lists the methods that may be used, before the layouts that they read are
 * made. rw_cuda_plan_histograms is called after that. It plans and allocates their scratch
 * memory. */
int rw_cuda_list_candidates(struct rw_cuda *cuda);
int rw_cuda_plan_histograms(struct rw_cuda *cuda);
/* Returns the specification of a group's matrix. */
struct rw_hist_matrix_spec rw_cuda_matrix_spec(const struct rw_cuda *cuda, int group,
                                               uint32_t n_docs, int layouts);
/* Returns the bytes reserved for the other sets, except their codes. These are scores, metrics and
 * tables, and memory for walks if their codes do not fit. n_docs: of the training set. */
uint64_t rw_cuda_others_bytes(const struct rw_cuda *cuda, uint32_t n_docs, uint32_t n_features);
/* ---- codes in host memory (engine_cuda_far.c) ---- */

/* A chunk of a walk has a multiple of this many documents. */
enum { RW_CUDA_WALK_ALIGNED = 256 };
/* Returns the bytes of d_walk. n_docs: of the training set. */
uint64_t rw_cuda_far_walk_bytes(uint32_t n_docs, uint32_t n_features);
/* Returns 1 if the codes of a validation set do not fit the device. */
int rw_cuda_is_set_far(const struct rw_cuda *cuda, uint32_t n_docs);
/* Makes the codes of a set that does not fit the device, and its memory for walks. For the training
 * set, also makes the rows that are on the device, and the memory with which histograms read the
 * others. */
int rw_cuda_far_make(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source);
/* Records the time of histograms if place.is_far. They are enqueued between the calls with is_end 0
 * and 1. */
int rw_cuda_far_clock(struct rw_cuda *cuda, int is_end);
int rw_cuda_far_reads(struct rw_engine *engine, struct rw_far_reads *sum);
/* ---- columns for partitions ----
 *
 * Frees columns that no chosen method reads, and allocates those of cuda->kept. Call it once
 * methods are chosen. */
int rw_cuda_settle_columns(struct rw_cuda *cuda);
/* Prepares the codes that a partition reads, and may cache a column. Call it before a feature
 * splits a node of n documents. */
int rw_cuda_use_column(struct rw_cuda *cuda, uint32_t feature, uint32_t n);
/* Lowers the use of all features that the last tree sampled. Call it when a tree begins. */
void rw_cuda_fade_columns(struct rw_cuda *cuda);
/* Copies the most useful columns of features that the tree samples. Call it once they are
 * sampled. */
int rw_cuda_keep_columns(struct rw_cuda *cuda);
int rw_cuda_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums);
int rw_cuda_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);
double rw_cuda_tree_ms(struct rw_engine *engine, const struct rw_plan_work *work);
void rw_cuda_unload(struct rw_cuda *cuda);
int rw_cuda_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n);
/* Starts the histogram of the root before the grower requests it. Does so only with one worker, for
 * a tree of all documents and at least one feature, if all codes are on the device and this tree
 * chooses no method. n_features: the number of the tree's features. */
int rw_cuda_begin_root(struct rw_cuda *cuda, uint32_t n_features);
/* Builds the histograms of the n nodes in cuda->node, in buffers from `buffer` on. Overwrites
 * cuda->node and cuda->parent. have_parents: 1: subtracts them from the parents' histograms, which
 * become the siblings'. d_ready: [n] the nodes on the device; NULL: the function sends them. */
int rw_cuda_build(struct rw_cuda *cuda, uint32_t n, const uint32_t *d_list, int have_parents,
                  int32_t buffer, const struct rw_hist_node *d_ready);
int rw_cuda_release(struct rw_engine *engine, const int32_t *slots, int n);
int rw_cuda_ask_splits(struct rw_engine *engine, const int32_t *slots, int n);
int rw_cuda_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                        struct rw_split *out);
/* Converts a result to a split. set: the codes that go left, for a categorical feature. A split by
 * bin leaves the split's own set unchanged. */
void rw_cuda_take_split(const struct rw_host *host, int32_t slot, const struct rw_cuda_found *found,
                        const struct rw_code_set *set, struct rw_split *split);
/* Allocate the memory of rw_cuda_best_level on the device and on the host, for symmetric trees
 * (engine_cuda_level.c). */
int rw_cuda_level_allocate(struct rw_cuda *cuda);
int rw_cuda_level_allocate_host(struct rw_cuda *cuda);
int rw_cuda_best_level(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out);
/* Returns 1 if the group's method may change from `choice` at the root of the current tree. */
int rw_cuda_may_choose(const struct rw_cuda *cuda, const struct rw_cuda_group *group);
int rw_cuda_report(struct rw_engine *engine, char *text, size_t size, double *ms);

/* ---- many workers ----
 *
 * With one worker, these functions do nothing and return RW_OK, unless stated otherwise. */
int rw_cuda_workers_connect(struct rw_cuda *cuda); /* call it before anything is loaded */
/* Ends the connection. */
void rw_cuda_workers_part(struct rw_cuda *cuda);
/* Divides a group's features among workers: sets group->cells from group->built, and
 * workers->exchange. row: [n_features + 1], as rw_hist_matrix.d_row. With one worker, group->cells
 * becomes a copy of group->built. */
int rw_cuda_workers_divide(struct rw_cuda *cuda, int group, const uint32_t *row);
/* Allocates the memory for messages and for group->built. Only with many workers. */
int rw_cuda_workers_allocate(struct rw_cuda *cuda);
/* Synchronises workers before a tree's NCCL calls, after any allocation. */
int rw_cuda_workers_ready(struct rw_cuda *cuda);
/* Called between rw_cuda_draw and rw_cuda_finish_sample. Ensures that a replacement is kept only if
 * no worker kept an item, and only by the worker with the lowest random number. first: the number
 * of this worker's first item among those of all workers. */
int rw_cuda_workers_keep_one(struct rw_cuda *cuda, uint32_t first);
/* Combines the root's sums, and those of quantised numbers, of all workers. */
int rw_cuda_workers_begin(struct rw_cuda *cuda, struct rw_cuda_begin *begin);
/* Replaces each of n numbers on the device, at most 4, by the largest of all workers' numbers.
 * user: the struct rw_cuda. Only with many workers. */
int rw_cuda_workers_max(void *user, uint64_t *d_numbers, uint32_t n);
/* Returns 1 if rw_cuda_workers_histograms can build these nodes from estimates of their sizes. If
 * not, call rw_cuda_nodes_sizes first. */
int rw_cuda_workers_estimates(const struct rw_cuda *cuda, const struct rw_sibling *siblings,
                              uint32_t n);
/* Builds the histograms of siblings. Their nodes and parents are in cuda->node and cuda->parent. */
int rw_cuda_workers_histograms(struct rw_cuda *cuda, const struct rw_sibling *siblings, uint32_t n,
                               const uint32_t *d_list);

/* ---- workers of one process (engine_cuda_peers.c) ----
 *
 * All of these need cuda->peers, except the first, which sets it, and the last. */
/* Sets cuda->peers if all workers are threads of this process and their GPUs can read each other's
 * memory. All workers call it. */
int rw_cuda_peers_connect(struct rw_cuda *cuda);
/* Allocates this worker's events. */
int rw_cuda_peers_allocate(struct rw_cuda *cuda);
/* Returns the arena of the memory that peers read: this worker's sums and replies. The last worker
 * that leaves frees it. */
struct rw_arena *rw_cuda_peers_arena(const struct rw_cuda *cuda);
/* Lets peers read this worker's sums and replies. Call it at the end of loading. */
void rw_cuda_peers_publish(struct rw_cuda *cuda);
/* Waits until no peer reads this worker's sums. Call it before they are overwritten. */
int rw_cuda_peers_finish_reads(struct rw_cuda *cuda);
/* Adds up the sums of all workers, as workers->gather says. */
int rw_cuda_peers_gather(struct rw_cuda *cuda);
/* Replaces n splits by those that other workers found, where these are better. */
int rw_cuda_peers_best(struct rw_cuda *cuda, const int32_t *slots, uint32_t n,
                       struct rw_split *out);
/* Ends the use of cuda->peers. The device's stream must be idle. */
void rw_cuda_peers_leave(struct rw_cuda *cuda);
