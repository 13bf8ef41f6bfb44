/* State and steps that the engines on the host share: the data of each set, the start of a tree
 * (samples, lambdas, quantised integers), and scores. engine_ref.c adds the plain growing of trees,
 * engine_cpu.c the fast one; neither knows the other. */
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
        /* What is freed with the engine. */
        struct rw_arena arena;
        /* Where the engine's own memory comes from, which is freed with the arena, or by other
         * means; NULL: ordinary memory. */
        int (*alloc)(struct rw_engine *engine, void **out, size_t bytes);
        /* A dry run: loading only counts the bytes that it would allocate, and nothing that it
         * "makes" may be followed. NULL: no dry run. */
        struct rw_plan *plan;
        const char *part; /* of the plan, that memory is asked for */
    } memory;
    struct rw_host_set set[RW_MAX_SETS];
    int is_fixed;    /* gradients come in fixed point: the objective's, or by set_lambdas */
    int fast;        /* lambdas by the fast path, to the same bits; ref has the plain one */
    enum rw_isa isa; /* ref's: plain */
    /* the training set */
    uint32_t n_queries;
    uint32_t *query_offset;     /* [n_queries + 1] */
    float *label;               /* [n_docs] of an objective that does not rank, else NULL */
    double *gain;               /* [n_docs] of one that ranks, else NULL; as order */
    double *ideal;              /* [n_queries] ideal DCG of the top `truncation` */
    double *weight_doc;         /* [n_docs] NULL: all 1 */
    double *discount;           /* [longest query] */
    int8_t *direction;          /* [n_features] of rules.monotone; NULL: no feature has one */
    double *penalty;            /* [n_features] of rules.penalty; NULL: no feature has one */
    double *gradient, *hessian; /* [n_docs] real numbers, else NULL */
    /* the tree */
    uint32_t tree;
    int64_t *lambda, *hess;     /* [n_docs] fixed point, unrounded */
    int32_t *lambda_q, *hess_q; /* [n_docs] quantised; hess_q newton only */
    uint8_t *sampled;           /* [n_docs] */
    uint8_t *query_sampled;     /* [n_queries] where documents are sampled, too; else NULL */
    uint8_t *feature_sampled;   /* [n_features] */
    uint32_t *allowed;          /* [max_slots][rw_feature_words] of rw_rules_by_node, else NULL */
    /* scratch of one query for each thread */
    uint32_t *order; /* [n_threads][longest] */
    uint32_t longest;
    struct rw_root root;
};

/* An engine of `bytes` bytes that begins with a struct rw_host. */
int rw_host_open(struct rw_ctx *ctx, const struct rw_engine_ops *ops, size_t bytes,
                 struct rw_engine **out);
void rw_host_release(struct rw_host *host);
/* Counts bytes in info.bytes and, in a dry run, in the plan's current part. */
void rw_host_count(struct rw_host *host, uint64_t bytes);
/* Memory that lives as long as the engine, counted. raw: not zeroed. */
int rw_host_new(struct rw_host *host, void **out, size_t n, size_t size, int raw);
#define RW_HOST_NEW(host, pointer, n) \
    rw_host_new((host), (void **)&(pointer), (n), sizeof(*(pointer)), 0)
#define RW_HOST_NEW_RAW(host, pointer, n) \
    rw_host_new((host), (void **)&(pointer), (n), sizeof(*(pointer)), 1)

/* For an engine that makes codes itself: those cuts of `ready` that the engine's rule leaves in use
 * (*out and *column, the caller's); column: [n_features] where `ready` has each.
 * RW_ERR_ARGUMENT: they are of another rule. */
int rw_host_ready_cuts(struct rw_host *host, const struct rw_bins *ready, struct rw_cuts **out,
                       uint32_t **column);
/* Cuts for a plan: those, or, if ready is NULL, made ones (*column NULL). */
int rw_host_plan_cuts(struct rw_host *host, const struct rw_dataset *dataset,
                      const struct rw_bins *ready, struct rw_cuts **cuts, uint32_t **column);
/* Bins whose codes are nowhere on the host. */
int rw_host_bins_of_cuts(struct rw_host *host, struct rw_cuts *cuts, int owns_cuts, uint32_t n_docs,
                         struct rw_bins **out);
/* [n_features] of the columns, written; or NULL. */
void rw_host_set_rules(const struct rw_host *host, int8_t *direction, double *penalty);
void rw_host_count_features(struct rw_host *host, const struct rw_cuts *cuts); /* info, cuts */
/* Draws the features of a tree: those whose random numbers are under the threshold; if none is, the
 * one with the lowest number, the first of equals. kept: [n_features], written. */
void rw_host_draw_features(const struct rw_engine *engine, uint32_t tree, uint8_t *kept);
int rw_host_load(struct rw_host *host, int set, const struct rw_dataset *dataset,
                 const struct rw_bins *bins, const double *gains);
/* Memory for the start of a tree, given set 0's bins; the first step of loading, or of a plan. */
int rw_host_allocate(struct rw_host *host, const struct rw_dataset *dataset);
/* Everything of begin_tree but what an engine keeps of its own. */
int rw_host_begin_tree(struct rw_host *host, uint32_t tree, struct rw_root *out);

/* Operations that are the same for all (tree/engine.h). */
int rw_host_set_gradients(struct rw_engine *engine, const double *gradients,
                          const double *hessians);
int rw_host_set_lambdas(struct rw_engine *engine, const int64_t *lambda, const int64_t *hessian);
int rw_host_allow(struct rw_engine *engine, const int32_t *slots, int n, const uint32_t *features);
int rw_host_read_scores(struct rw_engine *engine, int set, double *scores);
int rw_host_set_scores(struct rw_engine *engine, int set, const double *scores);
int rw_host_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums);
int rw_host_read_integers(struct rw_engine *engine, int64_t *lambda, int64_t *weight,
                          int32_t *lambda_q, int32_t *hess_q, uint8_t *sampled);

/* Which way values may go along a feature, and what a split by it costs. */
static inline int rw_host_direction(const struct rw_host *host, uint32_t f)
{
    return host->direction ? host->direction[f] : 0;
}

static inline double rw_host_penalty(const struct rw_host *host, uint32_t f)
{
    return host->penalty ? host->penalty[f] : 0.0;
}

/* May the slot be split by a feature, which is of this tree? */
static inline int rw_host_allows(const struct rw_host *host, int32_t slot, uint32_t f)
{
    return !host->allowed ||
           (host->allowed[(size_t)slot * rw_feature_words(&host->base) + f / 32] >> f % 32 & 1);
}

/* RW_ERR_INTERNAL unless so many documents were expected to the left. */
int rw_host_check_left(const struct rw_host *host, const struct rw_split *split, uint64_t n_left);

/* A tree's splits in terms of a set's codes. */
struct rw_coded_node {
    uint32_t column, bin, missing_code;
    int missing_left;
    int32_t left, right;
    const uint32_t *set; /* words, in place of bin; NULL: there are none; borrowed */
};
/* nodes: [n_leaves - 1], written. A split that is none of the engine's is RW_ERR_UNSUPPORTED. */
int rw_host_code_tree(const struct rw_host *host, const struct rw_tree *tree,
                      struct rw_coded_node *nodes);

RW_HD int rw_coded_goes_left(const struct rw_coded_node *node, uint32_t code)
{
    if (code == node->missing_code)
        return node->missing_left;
    return node->set ? rw_words_have(node->set, code) : code <= node->bin;
}

/* What was found of a feature by categories, as a node's split. */
struct rw_category_split;
struct rw_split rw_host_set_split(const struct rw_cuts *cuts, int32_t slot, uint32_t f,
                                  const struct rw_category_split *found);

/* A split as a node without children, for as long as the split is there. */
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

/* The leaf of a document of the set in a tree of more than one. */
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

/* The plain engine's state and operations: sim runs them elsewhere, tests compare with them. */
struct rw_ref {
    struct rw_host host;
    int32_t *parent, *leaf_of; /* [max_slots] slot above; scratch */
    uint8_t *is_kept;          /* [max_slots] its histogram may be asked for */
    uint32_t n_kept;
    int32_t *slot_of_doc;       /* [n_docs] of the tree being grown; -1 outside the sample */
    uint64_t *cell_offset;      /* [n_features + 1] first cell of each feature in a histogram */
    struct rw_cell **cell;      /* [max_slots] histogram of each slot, made when first asked for */
    struct rw_coded_node *node; /* [max_slots] scratch */
};

extern const struct rw_engine_ops rw_ref_ops;

#ifdef __cplusplus
}
#endif
