/* The one hardware boundary. The grower above it is written once and cannot tell which engine runs.
 *
 * What crosses: the data set at load; per batch of nodes one small record a node each way; per tree
 * the finished tree; scores only when a custom objective, a host metric or the user asks. Codes,
 * lambdas and histograms never do.
 *
 * To add an engine: (1) write tree/<name>/engine_<name>.c with a `struct rw_engine_ops` and
 * rw_engine_open_<name>; (2) give it a row in engines.def. (One for a device goes to gpu/engine,
 * and its files to src/gpu/meson.build.) tests/check then compares it with ref. Users name it by
 * --device once that parameter knows the word (params/params.def, and check_text of
 * params/params.c). An engine on the host embeds struct rw_host, the common part of all host
 * engines (tree/engine_host.h). Callers keep to the contract of each operation; engine.c checks
 * only what comes from outside: scores, gradients, trees and other workers' splits.
 *
 * Many workers (comm/comm.h) each have an engine with the documents of the worker. Every sum that
 * crosses the boundary is one over all workers: of begin_tree and histograms by the
 * engine, which may search only some of the features; of leaf_sums, and the best of the splits that
 * the workers found, by the wrappers.
 *
 * A node of the tree being grown is named by a slot, 0 .. max_slots - 1, chosen by the grower; slot
 * 0 is the root. */
#pragma once

#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "binning/bins.h"
#include "comm/comm.h"
#include "metric/metric.h"
#include "model/model.h"
#include "objective/objective.h"
#include "tree/numbers.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_MAX_SETS = 64 };
/* Nodes of the largest tree, and more that batches may expand without need. */
enum { RW_MAX_SLOTS = 2 * RW_MAX_LEAVES - 1 + RW_MAX_LEAVES / 2 * 3 };
/* Leaves of a tree of which few nodes of a large batch are expanded in vain. */
enum { RW_LARGE_TREE = 128 };

/* Everything that stays the same for a whole training. */
struct rw_engine_rules {
    struct rw_cut_rule cut; /* `ignore` borrowed until the training set is loaded */
    const char
        *gradients_by; /* name of an objective whose gradients are handed over, for messages */
    /* One that engines compute. NULL: they are handed over (set_gradients, set_lambdas). */
    const struct rw_objective *objective;
    struct rw_lambda_rule lambda; /* the objective's `pair` */
    /* All of its rule, of RW_OBJECTIVE_NEIGHBOURS; borrowed until the training set is loaded. */
    const struct rw_objective_rule *rule;
    int newton; /* histograms hold hessians too */
    struct rw_split_params split;
    uint32_t min_docs;
    int bits, nearest; /* of quantised lambdas */
    uint64_t seed;
    uint64_t query_threshold;   /* a query is kept iff random < it; 2^32: all */
    uint64_t feature_threshold; /* the same for features */
    /* 0 stands for 2^32 in these two. */
    uint64_t doc_threshold;  /* for documents of the queries that are kept */
    uint64_t node_threshold; /* for the tree's features, at each node anew (tree/grower.h) */
    uint32_t max_slots;      /* nodes of a tree, at most */
    /* Nodes whose histograms are kept at a time, at most (forget); 0: one in two of max_slots, as
     * many as such a tree has leaves. */
    uint32_t max_histograms;
    uint32_t leaves; /* of a tree, at most: for estimates, messages and batches */
    /* [RW_FEATURE_IDS] 1: values only rise along the feature, -1: they only fall, 0: as they like;
     * NULL: all do. Borrowed until the training set is loaded. */
    const int8_t *monotone;
    /* Which features may be used together (tree/grower.h); NULL: all. Borrowed. */
    const struct rw_interactions *interactions;
    /* [RW_FEATURE_IDS] what a split by a feature costs, 0 or more, in units of gain; NULL: nothing.
     * Borrowed until the training set is loaded. */
    const double *penalty;
    /* cuda: the histogram method; NULL: the engine chooses. Borrowed until load. */
    const char *hist;
    /* Bytes of its memory, at most, that a device takes; codes that do not fit stay in the host's.
     * 0: all that is free. */
    uint64_t device_bytes;
    uint64_t other_docs; /* of all sets beside the training set, for which room is left */
    uint32_t n_other_sets;
};

/* What the engine made of the training set, for messages. */
struct rw_engine_info {
    uint32_t n_features;                   /* with a column of codes */
    uint64_t n_bins;                       /* of all of them */
    uint32_t n_constant, n_few, n_ignored; /* features left out, and why */
    uint64_t bytes;                        /* that the engine holds */
};

/* What a device read of the host's memory for a tree. */
struct rw_far_reads {
    uint64_t bytes;      /* of codes, in all */
    uint64_t hist_bytes; /* of that, by histograms, in so many milliseconds of the device: */
    double hist_ms;
};

/* The start of a tree. */
struct rw_root {
    struct rw_sum sum;                  /* over the sampled documents */
    int lambda_exponent, hess_exponent; /* units of the sums: 2^-exponent */
    int lambda_shift, hess_shift;       /* s of quantised lambdas and hessians */
    uint32_t n_features;                /* sampled */
};

/* Build the histogram of `smaller`; that of `larger` is the parent's less it, in the parent's
 * memory. For the root: parent = -1, smaller = 0, larger = -1. */
struct rw_sibling {
    int32_t parent, smaller, larger;
};

struct rw_split {
    int32_t slot;
    int32_t column;   /* the engine's feature; -1: no split is possible */
    uint32_t feature; /* its id in the data */
    uint32_t bin;     /* codes <= bin go left, missing aside */
    float cut;
    int is_set; /* 1: set, in place of bin and cut */
    int missing_left;
    uint32_t n_left; /* documents that go left */
    double gain;
    int32_t left, right;    /* slots of the children, filled in by the grower */
    struct rw_code_set set; /* the codes that go left, missing aside; is_set only */
};

/* Of a split by bin without its set, which is two thirds of it. */
static inline void rw_split_copy(struct rw_split *to, const struct rw_split *from)
{
    memcpy(to, from, from->is_set ? sizeof(*to) : offsetof(struct rw_split, set));
}

/* Higher gain, then lower feature; any split is better than none. Of a feature only one is known.
 */
static inline int rw_split_is_better(const struct rw_split *a, const struct rw_split *b)
{
    if (a->column < 0 || b->column < 0)
        return a->column >= 0 && b->column < 0;
    return a->gain > b->gain || (a->gain == b->gain && a->column < b->column);
}

struct rw_engine;
struct rw_interactions;
struct rw_plan_data;
struct rw_plan_work;

struct rw_engine_ops {
    const char *name;
    int batch;       /* nodes that it is best asked for at once; 0: one, or as the device has it */
    int large_batch; /* the same for trees of RW_LARGE_TREE leaves and more; 0: `batch` */
    int neighbours; /* 1: computes RW_OBJECTIVE_NEIGHBOURS; else its rules have no objective then */
    void (*close)(struct rw_engine *);
    /* Set 0 is the training set and comes first. bins: its cuts and codes, which must outlive the
     * engine, for then nobody looks at its values; NULL, as of the other sets: the engine makes
     * them. gains: [n_docs] of the training set if the objective ranks, else NULL. Scores start at
     * 0. Of the dataset nothing is kept. */
    int (*load)(struct rw_engine *, int set, const struct rw_dataset *, const struct rw_bins *bins,
                const double *gains);
    /* Without an objective only. gradients, hessians: [n_docs] of the training set; finite. They
     * hold until they are set again; the documents' weights multiply them. */
    int (*set_gradients)(struct rw_engine *, const double *gradients, const double *hessians);
    /* The same in units of 2^-RW_LAMBDA_EXPONENT, the documents' weights within; under 2^62. */
    int (*set_lambdas)(struct rw_engine *, const int64_t *lambda, const int64_t *hessian);
    /* Draws the samples of tree `tree`, computes lambdas from scores, quantises, sums. */
    int (*begin_tree)(struct rw_engine *, uint32_t tree, struct rw_root *out);
    /* If rw_rules_by_node, and then before a slot's histogram is made: the features that may split
     * it, if they are of this tree. features: [n][rw_feature_words], bit f % 32 of word f / 32 for
     * the engine's feature f. */
    int (*allow)(struct rw_engine *, const int32_t *slots, int n, const uint32_t *features);
    int (*histograms)(struct rw_engine *, const struct rw_sibling *, int n);
    /* Nobody will ask for what needs the histograms of these slots: neither for their splits nor
     * for their children's histograms. */
    int (*forget)(struct rw_engine *, const int32_t *slots, int n);
    /* Begins what best_splits waits for, which comes next and is of the same slots, so that there
     * is time for other work between the two. NULL: best_splits does it all. */
    int (*ask_splits)(struct rw_engine *, const int32_t *slots, int n);
    /* The best split of each slot, by gain less the feature's penalty, then lower feature id, lower
     * cut, missing left first; of features with a direction among those that keep to it
     * (rw_ordered_gain). */
    int (*best_splits)(struct rw_engine *, const int32_t *slots, int n, struct rw_split *out);
    /* Sends the documents of split->slot to its children. split->n_left must be right: engines that
     * count refuse what is not (RW_ERR_INTERNAL), others rely on it; with many workers nobody
     * looks.
     */
    int (*partition)(struct rw_engine *, const struct rw_split *, int n);
    /* As ask_splits, for leaf_sums. */
    int (*ask_leaf_sums)(struct rw_engine *, const int32_t *leaf_slot, int n);
    /* The sums over each leaf's documents, of which no two leaves share any. leaf_slot: [n]; sums:
     * [n]. A leaf may have been partitioned, too: its documents are those of the slots below it. */
    int (*leaf_sums)(struct rw_engine *, const int32_t *leaf_slot, int n, struct rw_sum *sums);
    /* Adds the finished tree to a set's scores. leaf_slot: [n_leaves] slot of each leaf, as of
     * leaf_sums. */
    int (*add_tree)(struct rw_engine *, int set, const struct rw_tree *, const int32_t *leaf_slot);
    int (*read_scores)(struct rw_engine *, int set, double *scores); /* [n_docs] */
    /* Between trees. scores: [n_docs], finite. */
    int (*set_scores)(struct rw_engine *, int set, const double *scores);
    /* Tells data apart. sums: [info.n_features], written: for each column of codes the sum over the
     * set's documents of code x rw_code_weight(first_doc + document), modulo 2^64. */
    int (*code_sums)(struct rw_engine *, int set, uint64_t first_doc, uint64_t *sums);
    struct {
        /* What will be measured of a loaded set; nothing of the plan is kept. NULL: the host
         * computes metrics from read_scores. */
        int (*begin)(struct rw_engine *, int set, const struct rw_metric_plan *plan);
        /* The plan's metrics of the set's scores as they are: rw_metric_eval's, to the bit. out:
         * [n_metrics]. Returns 1; or 0: the host has to (a value is too large to be averaged, and
         * the message is its own). */
        int (*results)(struct rw_engine *, int set, struct rw_metric_result *out);
    } measure;
    /* For tests: the integers of the tree begun last. All [n_docs] of the training set; documents
     * outside the sample have sampled 0 and unspecified numbers. quantised hessians: newton only.
     * NULL: the engine does not tell. */
    int (*read_integers)(struct rw_engine *, int64_t *lambda, int64_t *weight, int32_t *lambda_q,
                         int32_t *hess_q, uint8_t *sampled);
    /* What the engine decided for itself since it was asked last, a decision a call, and what
     * deciding cost: for --verbose and the log. Most is decided in the first tree. Returns 0 if
     * there is nothing more. NULL: it decides nothing. */
    int (*tell)(struct rw_engine *, char *text, size_t size, double *ms);
    /* Of the tree that was added last. NULL: all codes are where the work is done. */
    int (*far_reads)(struct rw_engine *, struct rw_far_reads *out);
    /* Before anything is loaded; NULL: the engine has no plan. */
    struct {
        int (*make)(struct rw_engine *, const struct rw_plan_data *, struct rw_plan *out);
        double (*tree_ms)(struct rw_engine *, const struct rw_plan_work *);
    } plan;
};

/* What all engines share; each extends it by embedding it first. */
struct rw_engine {
    const struct rw_engine_ops *ops;
    struct rw_ctx *ctx;   /* borrowed */
    struct rw_keep *keep; /* for what is made of the training set; NULL: for nothing; borrowed */
    int n_threads; /* the context's when the engine was opened: scratch is made for so many */
    int batch;     /* nodes that it is best asked for at once, at least 1 */
    struct rw_engine_rules rules;
    struct rw_engine_info info;
    const struct rw_cuts *cuts; /* of the training set, once it is loaded; the engine's own */
    int n_sets;
    uint32_t n_docs[RW_MAX_SETS];
    /* of the training set, before this worker's, and on all workers; known when an operation loads
     * it
     */
    uint32_t first_doc, first_query, all_docs;
    uint8_t measured[RW_MAX_SETS];   /* measure succeeded */
    struct rw_split_rule split_rule; /* of the tree begun last */
};

/* device: "ref", "cpu", "sim", "cuda", "cuda:N" or "auto". */
int rw_engine_open(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                   struct rw_engine **out);
void rw_engine_close(struct rw_engine *engine);
RW_SCOPED_BY(rw_engine_close)

/* Nodes whose histograms are kept at a time, at most. */
static inline uint32_t rw_rules_histograms(const struct rw_engine_rules *rules)
{
    return rules->max_histograms ? rules->max_histograms : (rules->max_slots + 1) / 2;
}

/* Do the engine's lambdas need the training set's gains? */
static inline int rw_rules_rank(const struct rw_engine_rules *rules)
{
    return rules->objective && rules->objective->ranks;
}

/* Does every tree see all documents? */
static inline int rw_rules_see_all(const struct rw_engine_rules *rules)
{
    return rules->query_threshold > UINT32_MAX && rules->doc_threshold > UINT32_MAX;
}

/* Do the features that may split a node depend on the node? */
static inline int rw_rules_by_node(const struct rw_engine_rules *rules)
{
    return rules->interactions || rules->node_threshold <= UINT32_MAX;
}

/* 32-bit words of a set of the engine's features. */
static inline size_t rw_feature_words(const struct rw_engine *engine)
{
    return ((size_t)engine->info.n_features + 31) / 32;
}

/* Operations with what is the same for every engine: checks of what comes from without, and what
 * workers make of theirs together. The others are called as they are. */
int rw_engine_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                   const struct rw_bins *bins, const double *gains);
int rw_engine_set_gradients(struct rw_engine *engine, const double *gradients,
                            const double *hessians);
int rw_engine_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                          struct rw_split *out);
int rw_engine_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                        struct rw_sum *sums);
int rw_engine_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                       const int32_t *leaf_slot);
int rw_engine_set_scores(struct rw_engine *engine, int set, const double *scores);
/* Does nothing where the engine does not measure. */
int rw_engine_measure(struct rw_engine *engine, int set, const struct rw_metric_plan *plan);
/* 1: out is written; 0: the host has to measure. */
int rw_engine_metrics(struct rw_engine *engine, int set, struct rw_metric_result *out);

/* Each engine's; `device` counts GPUs; or each worker has one of its machine's. */
#define RW_DEVICE_OF_WORKER (-2)
int rw_device_check_cuda(struct rw_ctx *ctx, int number); /* gpu/device/device.h */
#define RW_ENGINE(name) \
    int rw_engine_open_##name(struct rw_ctx *ctx, int device, struct rw_engine **out);
#include "tree/engines.def"
#undef RW_ENGINE

/* Sums over the sampled documents of all workers. */
struct rw_quantised_sums {
    int64_t hess;            /* newton only, else 0 */
    uint64_t lambda_squares; /* 0 where no feature is split by categories */
};

/* The cover of a leaf, of the sums over its documents; none in a tree without a split. */
static inline void rw_tree_set_cover(struct rw_tree *tree, int32_t leaf, const struct rw_sum *sum,
                                     int hess_exponent)
{
    if (!tree->hessian)
        return;
    tree->docs[leaf] = (double)sum->n;
    tree->hessian[leaf] = rw_cover_hessian(sum, hess_exponent);
}

/* Shared by engines (engine.c): the rule of splits of a tree from its root. */
void rw_engine_set_split_rule(struct rw_engine *engine, const struct rw_root *root,
                              const struct rw_quantised_sums *sums);

/* What the engines of many workers make of theirs together; with one worker, nothing is done. All
 * workers call these in the same order. */
/* If no worker keeps any query (or document), the one with the lowest random number stays, the
 * first of equals. n_kept: this worker's; lowest: the random number of its query `number`, counted
 * from the first worker's on; UINT32_MAX if it has none. *keep: is that query to be kept? */
int rw_workers_keep_one(struct rw_engine *engine, uint32_t n_kept, uint32_t lowest, uint32_t number,
                        int *keep);
/* The best of what the workers found for each slot: [n]. */
int rw_workers_best(struct rw_ctx *ctx, struct rw_split *splits, int n);
int rw_workers_leaf_sums(struct rw_ctx *ctx, struct rw_sum *sums, int n);

/* ---- the plan ---- */

/* What a training will take, before any of it is allocated: bytes of each part, and the time of a
 * tree by a stated model. `train --plan` prints it; `--device auto` decides by the times.
 *
 * The sets that would be loaded, the training set first. */
struct rw_plan_data {
    const struct rw_dataset *const *set;          /* [n_sets] */
    const struct rw_metric_plan *const *measured; /* [n_sets]; NULL: not measured */
    int n_sets;
    const struct rw_bins *bins; /* of the training set, or NULL */
    uint32_t n_features;        /* of the training set, without those that are ignored */
};

/* Adds a part; a part of that name grows. What is taken back is added as 2^64 less. */
void rw_plan_add(struct rw_plan *plan, const char *name, uint64_t bytes);

/* What the time of a tree depends on. */
struct rw_plan_work {
    double docs;       /* that a tree sees */
    double other_docs; /* that only get scores: validation sets, and what is not sampled */
    double features;   /* that a tree sees */
    double row_bytes;  /* of a document's codes */
    double leaves;     /* at most */
    double bins;       /* of all features together */
    double visits;     /* pairs of documents that lambdas look at; 0: there are none */
    int newton;        /* hessians in histograms */
};
void rw_plan_work_of(struct rw_plan_work *work, const struct rw_engine_rules *rules,
                     const struct rw_plan_data *data);

/* How often a tree reads a document's row of codes: once at the root, and at each level below it
 * for the smaller children, which hold at most half of the documents. */
double rw_plan_passes(const struct rw_plan_work *work);
/* Milliseconds of a tree on the host. */
double rw_plan_cpu_ms(const struct rw_plan_work *work, int n_threads);

/* The rule of `auto`: a GPU if all rounds together are expected to take less there, what it takes
 * to open it included. gpu_ms 0: could one be faster at all? */
int rw_plan_gpu_pays(double cpu_ms, double gpu_ms, int rounds);

/* The engine's plan. RW_ERR_UNSUPPORTED if it has none. */
int rw_engine_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);

/* A training that is about to begin. */
struct rw_choice_of_device {
    const struct rw_engine_rules *rules; /* borrowed */
    struct rw_plan_data data;
    int rounds;
    int is_auto; /* written: nobody chose the device */
};

/* Opens the engine of `device`. `auto`: a GPU if training is expected to take less there; else the
 * host's engine. */
int rw_choose_device(struct rw_ctx *ctx, const char *device, struct rw_choice_of_device *choice,
                     struct rw_engine **out);
/* Workers have engines of one kind: where `auto` chose several, *engine becomes the host's. All
 * workers call it. */
int rw_choose_agree(struct rw_ctx *ctx, struct rw_choice_of_device *choice,
                    struct rw_engine **engine);

/* Which codes a device holds that has no room for all of them. The rest stays in the host's memory.
 *
 * Codes come in blocks, tiles or columns, and of each the device holds those of the documents from
 * the first on. Blocks with few bytes a document come first: what crosses a link is at least a
 * sector of it, so they would cost more there than they weigh. */
struct rw_code_place {
    uint32_t doc_bytes; /* of a document's codes, at least 1 */
    uint32_t n_here;    /* written: of so many documents they are on the device */
};

/* n_docs: of each block. whole: a block is not divided. Blocks of one size are filled in their
 * order. Returns how many of `bytes` are used. */
uint64_t rw_place_codes(struct rw_code_place *place, int n, uint32_t n_docs, int whole,
                        uint64_t bytes);

#ifdef __cplusplus
}
#endif
