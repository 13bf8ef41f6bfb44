/* State and steps that the engines on the host share: the data of each set, the start of a tree and
 * the scores. The start of a tree draws the samples and makes lambdas and quantised integers.
 * tree/ref adds the simplest way to grow trees, and tree/cpu adds the fast way. Neither depends on
 * the other; tree/sim runs the code of ref. The CUDA engine also embeds struct rw_host, for cuts,
 * constraints, the sampling of features, coded trees (splits by codes in place of values) and the
 * arena of its memory, but not for codes, lambdas and scores. */
#pragma once

#include "tree/category_split.h"
#include "tree/engine.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_host_set {
    struct rw_bins *bins; /* owned */
    double *score;        /* [n_docs] owned */
};

struct rw_host {
    struct rw_engine base;
    struct {
        /* Owns the engine's memory, except what `alloc` allocates. */
        struct rw_arena arena;
        /* Allocates the engine's memory, which the engine itself frees. NULL: ordinary memory,
         * which the arena frees. */
        int (*alloc)(struct rw_engine *engine, void **out, size_t bytes);
        /* Set for a dry run: loading then only counts the bytes that it would allocate. The
         * resulting pointers must not be used. NULL: no dry run. */
        struct rw_plan *plan;
        const char *part; /* the plan's part that counts the next allocations */
    } memory;
    struct rw_host_set set[RW_MAX_SETS];
    /* 1: gradients are in fixed point, from the objective or from set_lambdas; 0: real numbers. */
    int is_fixed;
    int fast; /* 1: the objective's fast code; 0: its reference code, with identical results */
    /* Makes the engine's own memory, once the training set is loaded. */
    int (*prepare)(struct rw_engine *engine);
    enum rw_isa isa; /* instruction set; ref uses the plain one */
    /* the training set */
    uint32_t n_queries;
    uint32_t *query_offset; /* [n_queries + 1] */
    float *label;           /* [n_docs] if the objective does not rank, else NULL */
    double *gain;       /* [n_docs] if the objective ranks, else NULL; in the order of documents */
    double *weight_doc; /* [n_docs] NULL: all 1 */
    struct rw_dataset documents;    /* views of these arrays, for the objective */
    struct rw_gradients *gradients; /* of the objective; NULL: user gradients; owned */
    int8_t *direction; /* [n_features] monotone constraints; NULL: no feature has one */
    double *penalty;   /* [n_features] feature costs; NULL: all are 0 */
    /* [n_docs] both: real numbers. NULL if an objective makes fixed point directly. */
    double *gradient, *hessian;
    /* the tree */
    uint32_t tree;
    int64_t *lambda, *hess;     /* [n_docs] fixed point, before quantisation */
    int32_t *lambda_q, *hess_q; /* [n_docs] quantised; hess_q: newton only, else NULL */
    uint8_t *sampled;           /* [n_docs] */
    uint8_t *query_sampled;     /* [n_queries] */
    uint8_t *feature_sampled;   /* [n_features] */
    uint32_t *allowed; /* [max_slots][rw_node_words] see `allow`; NULL: not rw_rules_by_node */
    struct rw_root root;
};

/* Opens an engine whose struct has `bytes` bytes and begins with a struct rw_host. prepare: see
 * its member. */
int rw_host_open(struct rw_ctx *ctx, const struct rw_engine_ops *ops,
                 int (*prepare)(struct rw_engine *), size_t bytes, struct rw_engine **out);
void rw_host_release(struct rw_host *host);
/* Counts bytes in info.bytes and, in a dry run, in the plan's current part. */
void rw_host_count(struct rw_host *host, uint64_t bytes);
/* Allocates [n] of `size` bytes that exist as long as the engine, and counts them. raw: the memory
 * is not zeroed. */
int rw_host_new(struct rw_host *host, void **out, size_t n, size_t size, int raw);
#define RW_HOST_NEW(host, pointer, n) \
    rw_host_new((host), (void **)&(pointer), (n), sizeof(*(pointer)), 0)
#define RW_HOST_NEW_RAW(host, pointer, n) \
    rw_host_new((host), (void **)&(pointer), (n), sizeof(*(pointer)), 1)

/* Selects the cuts of `ready` that the engine's rule leaves in use: the features that are not
 * ignored and can be split with its min_docs. The caller owns *out and *column. column: [n_features
 * of *out] the feature's column in `ready`. Fails with RW_ERR_ARGUMENT if the cuts were made for a
 * different rule. All workers must call it. */
int rw_host_ready_cuts(struct rw_host *host, const struct rw_bins *ready, struct rw_cuts **out,
                       uint32_t **column);
/* Makes the cuts for a plan: by rw_host_ready_cuts, or, if `ready` is NULL, from the dataset
 * (*column is NULL then). */
int rw_host_plan_cuts(struct rw_host *host, const struct rw_dataset *dataset,
                      const struct rw_bins *ready, struct rw_cuts **cuts, uint32_t **column);
/* Makes a struct rw_bins for cuts whose codes are not in host memory, or not yet. Its array `codes`
 * has [n_features] zeroed items. owns_cuts: 1: rw_bins_free frees the cuts, too. */
int rw_host_bins_of_cuts(struct rw_host *host, struct rw_cuts *cuts, int owns_cuts, uint32_t n_docs,
                         struct rw_bins **out);
/* Writes the monotone constraints and the costs of set 0's columns, each [n_features]. An array
 * that is NULL is not written. */
void rw_host_set_rules(const struct rw_host *host, int8_t *direction, double *penalty);
void rw_host_count_features(struct rw_host *host,
                            const struct rw_cuts *cuts); /* sets base.info and base.cuts */
/* Draws the features of a tree: those whose random numbers are under the threshold. If no number
 * is, it draws the feature with the lowest one, the first of equals. kept: [n_features],
 * written. */
void rw_host_draw_features(const struct rw_engine *engine, uint32_t tree, uint8_t *kept);
/* Allocates memory for the training set's side columns and for the start of a tree. It needs
 * info.n_features. Loading calls it once set 0's bins exist, and a plan calls it in its dry run. */
int rw_host_allocate(struct rw_host *host, const struct rw_dataset *dataset);
/* Does the work of begin_tree that host engines share. */
int rw_host_begin_tree(struct rw_host *host, uint32_t tree, struct rw_root *out);

/* ---- operations that all host engines share (tree/engine.h) ---- */
/* For set 0 it ends with a call of `prepare`. */
int rw_host_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains);
int rw_host_set_gradients(struct rw_engine *engine, const double *gradients,
                          const double *hessians);
int rw_host_set_lambdas(struct rw_engine *engine, const int64_t *lambda, const int64_t *hessian);
int rw_host_allow(struct rw_engine *engine, const int32_t *slots, int n, const uint32_t *features);
int rw_host_read_scores(struct rw_engine *engine, int set, double *scores);
int rw_host_set_scores(struct rw_engine *engine, int set, const double *scores);
int rw_host_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums);
int rw_host_read_integers(struct rw_engine *engine, int64_t *lambda, int64_t *hessian,
                          int32_t *lambda_q, int32_t *hess_q, uint8_t *sampled);

/* Returns the monotone constraint of a feature: 1, -1 or 0. */
static inline int rw_host_direction(const struct rw_host *host, uint32_t f)
{
    return host->direction ? host->direction[f] : 0;
}

static inline double rw_host_penalty(const struct rw_host *host, uint32_t f)
{
    return host->penalty ? host->penalty[f] : 0.0;
}

/* Returns 1 if the slot may be split by a feature. The feature must be sampled for this tree. */
static inline int rw_host_allows(const struct rw_host *host, int32_t slot, uint32_t f)
{
    return !host->allowed ||
           (host->allowed[(size_t)slot * rw_node_words(&host->base) + f / 32] >> f % 32 & 1);
}

/* Returns the noise of a feature at a slot, see rw_compare_gains. */
static inline double rw_host_noise(const struct rw_host *host, int32_t slot, uint32_t f)
{
    return rw_node_noise(
        &host->base,
        host->allowed ? host->allowed + (size_t)slot * rw_node_words(&host->base) : NULL, f);
}

/* Fails with RW_ERR_INTERNAL unless n_left, the documents that this worker moved left, equals
 * split->n_left. With many workers it does not check, since split->n_left counts the documents of
 * all workers. */
int rw_host_check_left(const struct rw_host *host, const struct rw_split *split, uint64_t n_left);

/* A split in terms of a set's codes. missing_code: the code of missing values. left, right: the
 * children, as in struct rw_tree: the index of a split, or ~ the index of a leaf. */
struct rw_coded_node {
    uint32_t column, bin, missing_code;
    int missing_left;
    int32_t left, right;
    const uint32_t *set; /* bits of the codes that go left, in place of bin; NULL: a split by bin;
                            borrowed */
};
/* Writes nodes: [n_leaves - 1]. Fails with RW_ERR_UNSUPPORTED if the training set has no column for
 * a split's feature, no such threshold, or numbers where the tree has categories (or the
 * reverse). */
int rw_host_code_tree(const struct rw_host *host, const struct rw_tree *tree,
                      struct rw_coded_node *nodes);

RW_HD int rw_coded_goes_left(const struct rw_coded_node *node, uint32_t code)
{
    if (code == node->missing_code)
        return node->missing_left;
    return node->set ? rw_words_have(node->set, code) : code <= node->bin;
}

struct rw_category_split;
/* Makes a node's split from the best set of categories of a feature. */
struct rw_split rw_host_set_split(const struct rw_host *host, int32_t slot, uint32_t f,
                                  const struct rw_category_split *found);

/* The nodes of a level that have documents, for a split that all of them share (best_splits in
 * tree/engine.h). */
struct rw_level {
    const struct rw_host *host;
    const int32_t *slots; /* [n] in the order in which gains are added up */
    int n;
    /* Writes the sums of a node's documents with each code of feature f: [rw_cuts_n_codes]. */
    void (*read)(const struct rw_level *, int i, uint32_t f, struct rw_cell *cell);
};
/* Searches a categorical feature, and replaces *best by a better split. */
void rw_host_level_sets(const struct rw_level *level, uint32_t f, struct rw_split *best);
/* Writes each node's copy of the split, with its slot and n_left. out: [n]. */
void rw_host_level_splits(const struct rw_level *level, const struct rw_split *best,
                          struct rw_split *out);

/* Returns a split as a node without children. The node borrows the split's set. */
static inline struct rw_coded_node rw_coded_split(const struct rw_cuts *cuts,
                                                  const struct rw_split *split)
{
    struct rw_coded_node node = {0, 0, 0, 0, 0, 0, NULL};
    node.column = (uint32_t)split->column;
    node.bin = split->bin;
    node.missing_code = rw_cuts_n_bins(cuts, node.column);
    node.missing_left = split->missing_left;
    node.set = split->is_set ? split->set.word : NULL;
    return node;
}

/* Returns the leaf of a document of the set. The tree must have two leaves or more. */
static inline int32_t rw_coded_leaf(const struct rw_coded_node *nodes, const struct rw_bins *bins,
                                    uint32_t doc)
{
    int32_t at = 0;
    while (at >= 0) {
        const uint32_t code = rw_bins_code(bins, nodes[at].column, doc);
        at = rw_coded_goes_left(&nodes[at], code) ? nodes[at].left : nodes[at].right;
    }
    return ~at;
}

/* The state and operations of the reference engine. sim runs them in another memory, and tests
 * compare other engines with them. */
struct rw_ref {
    struct rw_host host;
    /* [max_slots] both. parent: slot of the parent; -1: the root, or not in this tree. leaf_of:
     * scratch, the leaf of each slot. */
    int32_t *parent, *leaf_of;
    uint8_t *is_kept;           /* [max_slots] 1: its histogram exists */
    uint32_t n_kept;            /* number of slots with is_kept */
    int32_t *slot_of_doc;       /* [n_docs] in the tree being grown; -1 outside the sample */
    uint64_t *cell_offset;      /* [n_features + 1] first cell of each feature in a histogram */
    struct rw_cell **cell;      /* [max_slots] histogram of each slot, allocated at its first use */
    struct rw_coded_node *node; /* [max_slots] scratch */
    struct rw_cell *left, *all; /* [max_slots] scratch of the search: sums of each node */
};

int rw_ref_prepare(struct rw_engine *engine);
extern const struct rw_engine_ops rw_ref_ops;

#ifdef __cplusplus
}
#endif
