/* The interface between the grower and the hardware. The grower is written once and runs unchanged
 * on every engine.
 *
 * A set is a data set that the engine has loaded. Trees are grown on set 0, the training set; the
 * other sets only get scores. The data of a set crosses this interface when it is loaded. Growing a
 * tree exchanges one small record per node in each direction, for a batch of nodes at a time. The
 * finished tree crosses once per set. Scores cross only if there are start scores or an initial
 * model, or if the host computes gradients, metrics or the paired stopping rule. Gradients and
 * lambdas cross only if the host computes them (set_gradients, set_lambdas), and in tests
 * (read_integers). Codes cross only in `load`, and histograms never.
 *
 * To add an engine: (1) write tree/<name>/engine_<name>.c with a `struct rw_engine_ops` and
 * rw_engine_open_<name>; (2) add a row to engines.def. The CUDA engine is in gpu/engine;
 * an engine for other devices gets a folder next to gpu. tests/check then compares the engine
 * with ref. Users select it with --device once that parameter accepts the word (params/params.def,
 * and check_text of params/params.c). An engine on the host embeds struct rw_host, the common part
 * of all host engines (tree/engine_host.h). Callers must obey the contract of each operation, which
 * engines need not check. engine.c checks only external input: device names, scores, gradients, the
 * number of leaves of trees, and the splits of other workers.
 *
 * With many workers (comm/comm.h), each worker has an engine with the documents of its shard. The
 * engine itself adds up the sums of begin_tree and the histograms over all workers, and may then
 * search only some of the features. The wrappers (rw_engine_...) add up leaf_sums and choose the
 * best of the splits that the workers found. code_sums and metrics cover only the worker's shard.
 *
 * A slot identifies a node of the tree being grown. The grower chooses it from 0 to max_slots - 1;
 * slot 0 is the root. */
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

/* The largest number of sets, with the training set. */
enum { RW_MAX_SETS = 64 };
/* Slots for the nodes of the largest tree, and for nodes that batches expand but the tree does not
 * use. */
enum { RW_MAX_SLOTS = 2 * RW_MAX_LEAVES - 1 + RW_MAX_LEAVES / 2 * 3 };

/* Settings that stay the same for a whole training. */
struct rw_engine_rules {
    struct rw_cut_rule cut; /* `ignore` and `categories` are borrowed while the engine is open */
    /* For messages: the name of the training's objective. NULL: the caller's own objective. */
    const char *gradients_by;
    /* An objective that the engine computes. NULL: the caller sets user gradients (set_gradients,
     * set_lambdas). */
    const struct rw_objective *objective;
    struct rw_lambda_rule lambda; /* `pair` of the objective's rule */
    /* The objective's whole rule, which RW_OBJECTIVE_NEIGHBOURS needs. Borrowed until the training
     * set is loaded. */
    const struct rw_objective_rule *rule;
    int newton; /* 1: histograms hold hessians too */
    /* 1: all nodes of a level have one split; 0: each has its own (best_splits). */
    int symmetric;
    struct rw_split_params split;
    uint32_t min_docs;
    /* bits: the width of quantised lambdas and hessians. nearest: their rounding. */
    int bits,
        nearest; /* 1: they are rounded to nearest; 0: at random (rw_quantise in tree/numbers.h) */
    uint64_t seed;
    /* A query is sampled for a tree iff its 32-bit random number is less than this. 2^32: all are
     * sampled. If no number is less, the query with the lowest one is sampled. The same holds for
     * the other three thresholds. */
    uint64_t query_threshold;
    /* The queries of the engine's bag, which all its trees are limited to: those whose number,
     * drawn by bag_seed, is under the threshold. 0 means 2^32: all queries. */
    uint64_t bag_threshold, bag_seed;
    uint32_t bag, n_bags;       /* this engine's bag, and the number of engines with one; 0: one */
    uint64_t feature_threshold; /* for the features of a tree */
    /* In the next two, 0 means 2^32; rw_engine_open replaces it. */
    uint64_t doc_threshold; /* for documents of the sampled queries */
    /* For the features of a node, which are sampled from those of the tree (tree/grower.h). */
    uint64_t node_threshold;
    /* max_slots: number of slots, for nodes of a tree and speculative nodes. max_histograms: the
     * largest number of nodes whose histograms exist at a time (see release). 0: half of max_slots,
     * rounded up, which is the number of leaves of a tree with max_slots nodes. */
    uint32_t max_slots, max_histograms;
    uint32_t leaves; /* largest number of leaves; for estimates, messages and batches */
    /* [RW_FEATURE_IDS] Monotone constraints. 1: scores only rise along the feature; -1: they only
     * fall; 0: no constraint. NULL: no feature has one. Borrowed until the training set is
     * loaded. */
    const int8_t *monotone;
    /* Interaction constraints (tree/grower.h). NULL: none. Borrowed. */
    const struct rw_interactions *interactions;
    /* [RW_FEATURE_IDS] Feature costs: a number, 0 or more, that is subtracted from the gain of a
     * split by the feature. NULL: nothing is subtracted. Borrowed until the training set is loaded.
     */
    const double *penalty;
    /* cuda: the histogram method. NULL: the engine chooses. Borrowed until the training set is
     * loaded. */
    const char *hist;
    /* The largest number of bytes that the engine allocates on a device. Codes that do not fit stay
     * in host memory. 0: all free device memory. */
    uint64_t device_bytes;
    /* The sets except the training set, for which the engine reserves memory. n_other_sets: their
     * number. other_docs: the number of all their documents. */
    uint64_t other_docs;
    uint32_t n_other_sets;
};

/* Facts about the loaded training set, for messages. */
struct rw_engine_info {
    uint32_t n_features; /* features with a column of codes */
    uint64_t n_bins;     /* bins of all these features */
    /* Features left out. n_constant: they have one value only. n_few: no split leaves min_docs
     * documents on both sides. n_ignored: by cut.ignore. */
    uint32_t n_constant, n_few, n_ignored;
    uint64_t bytes; /* memory of the engine */
};

/* The host-resident codes (see the last part) that a device read for a tree. */
struct rw_far_reads {
    uint64_t bytes;      /* bytes of codes, in all */
    uint64_t hist_bytes; /* the part of `bytes` that building histograms read */
    double hist_ms;      /* device time of building these histograms */
};

/* The sums and units of a tree, fixed at its start. */
struct rw_root {
    struct rw_sum sum;                  /* over the sampled documents of all workers */
    int lambda_exponent, hess_exponent; /* units of the sums: 2^-exponent */
    int lambda_shift, hess_shift;       /* the shifts that quantise lambdas and hessians */
    uint32_t n_features;                /* number of sampled features */
};

/* Slots of two children and their parent. The engine builds the histogram of `smaller`, the child
 * with fewer documents. It subtracts this histogram from the parent's to get the one of `larger`,
 * in the parent's memory. larger is -1 if the larger child needs no histogram. In both cases the
 * parent has no histogram afterwards. For the root: parent = -1, smaller = 0, larger = -1. */
struct rw_sibling {
    int32_t parent, smaller, larger;
};

struct rw_split {
    int32_t slot;
    int32_t column;         /* index of the feature in the engine; -1: no split is possible */
    uint32_t feature;       /* feature id in the data */
    uint32_t bin;           /* documents with codes <= bin go left, except missing values */
    float cut;              /* threshold above `bin`: values <= cut go left */
    int is_set;             /* 1: the split is by `set`, in place of bin and cut */
    int missing_left;       /* 1: documents with a missing value go left */
    uint32_t n_left;        /* number of documents that go left */
    double gain;            /* less the feature's cost; rules.symmetric: of the whole level */
    double noise;           /* of the feature at the node, see rw_compare_gains */
    int32_t left, right;    /* slots of the children, filled in by the grower */
    struct rw_code_set set; /* the codes that go left, except missing values; is_set only */
};

/* Copies a split. For a split by bin it leaves out the set, which is two thirds of the record. */
static inline void rw_split_copy(struct rw_split *to, const struct rw_split *from)
{
    memcpy(to, from, from->is_set ? sizeof(*to) : offsetof(struct rw_split, set));
}

/* Returns 1 if `a` is better: by rw_compare_gains, then a lower feature. A split that is not
 * possible (column -1) is never better. Two possible splits must be of different features. */
static inline int rw_split_is_better(const struct rw_split *a, const struct rw_split *b)
{
    if (a->column < 0 || b->column < 0)
        return a->column >= 0 && b->column < 0;
    const int order = rw_compare_gains(a->gain, a->noise, b->gain, b->noise);
    return order ? order > 0 : a->column < b->column;
}

struct rw_engine;
struct rw_interactions;
struct rw_plan_data;
struct rw_plan_work;

struct rw_engine_ops {
    const char *name;
    /* Best number of nodes per request, for large trees. 0: one, or the device's best number. */
    int batch;
    /* 1: the engine computes all gradients of enum rw_objective_device. 0: those from
     * RW_OBJECTIVE_NEIGHBOURS on are computed by the host; rw_engine_open then clears `objective`
     * of the engine's rules. */
    int all_objectives;
    void (*close)(struct rw_engine *);
    /* Loads a set. Set 0 is the training set and is loaded first. bins: the set's codes and, for
     * set 0, its cuts. They must outlive the engine, which then does not read the values. NULL: the
     * engine bins the values itself. gains: [n_docs] of the training set if the objective ranks,
     * else NULL. Scores start at 0. The engine keeps no reference to the dataset. */
    int (*load)(struct rw_engine *, int set, const struct rw_dataset *, const struct rw_bins *bins,
                const double *gains);
    /* Sets user gradients; only if the rules have no objective. gradients, hessians: [n_docs] of
     * the training set, finite. The engine copies them, multiplies them by the documents' weights,
     * and uses them for all trees until the next call. */
    int (*set_gradients)(struct rw_engine *, const double *gradients, const double *hessians);
    /* Does the work of set_gradients for user gradients in fixed point. lambda, hessian: [n_docs]
     * in units of 2^-RW_LAMBDA_EXPONENT, already multiplied by the documents' weights. Magnitudes
     * are under 2^62. */
    int (*set_lambdas)(struct rw_engine *, const int64_t *lambda, const int64_t *hessian);
    /* Starts a tree: draws its samples, computes lambdas and hessians from the scores unless the
     * caller has set user gradients, quantises them and adds them up over all workers. */
    int (*begin_tree)(struct rw_engine *, uint32_t tree, struct rw_root *out);
    /* Sets the features that may split each slot, among the tree's features, and their noise.
     * Called only if rw_rules_by_node, and before the slot's histogram is built. features:
     * [n][rw_node_words], bit f % 32 of word f / 32 is the engine's feature f. Noise follows the
     * bits (rw_node_noise). */
    int (*allow)(struct rw_engine *, const int32_t *slots, int n, const uint32_t *features);
    /* Makes the histograms of n pairs of siblings (struct rw_sibling). */
    int (*histograms)(struct rw_engine *, const struct rw_sibling *, int n);
    /* Releases the histograms of these slots. The grower will request neither the splits of these
     * slots nor the histograms of their children. */
    int (*release)(struct rw_engine *, const int32_t *slots, int n);
    /* Starts the work that best_splits waits for. best_splits must be the next call and must have
     * the same slots. The caller can do other work between the two. NULL: best_splits does all the
     * work. */
    int (*start_splits)(struct rw_engine *, const int32_t *slots, int n);
    /* Finds the best split of each slot, or with rules.symmetric the best split that all slots
     * share. A gain is less the feature's cost, and rw_compare_gains says which one is better. If
     * they are equal, the lower feature id is better, then the lower threshold or candidate
     * (tree/category_split.h), then missing values to the left. A split by a feature with
     * a monotone constraint must satisfy it (rw_ordered_gain).
     *
     * A shared split is compared in the same order. Its gain is the sum of rw_level_gain over the
     * slots, less the feature's cost. slots: [n] the nodes of a level that have documents, in the
     * order in which gains are added up. The features that may split slots[0] may split the level.
     * If no node has missing values, they go where 0 goes. out: [n], written: the split, with the
     * slot and n_left of each node. n_left may be 0. */
    int (*best_splits)(struct rw_engine *, const int32_t *slots, int n, struct rw_split *out);
    /* Moves the documents of each split's slot to its children. n_left of a split must be right.
     * Engines that count the documents fail with RW_ERR_INTERNAL if it is wrong; other engines rely
     * on it. With many workers no engine checks it. */
    int (*partition)(struct rw_engine *, const struct rw_split *, int n);
    /* Starts the work of leaf_sums, as start_splits does for best_splits. NULL: leaf_sums does all
     * the work. */
    int (*start_leaf_sums)(struct rw_engine *, const int32_t *leaf_slot, int n);
    /* Computes the sums over the documents of each leaf. Leaves share no documents. leaf_slot: [n];
     * sums: [n]. If a leaf was partitioned, its documents are those of the slots below it. */
    int (*leaf_sums)(struct rw_engine *, const int32_t *leaf_slot, int n, struct rw_sum *sums);
    /* Adds the finished tree to a set's scores. leaf_slot: [n_leaves] the slot of each leaf, as for
     * leaf_sums; used for set 0 only. NULL: the tree is not the one that the engine grew last. */
    int (*add_tree)(struct rw_engine *, int set, const struct rw_tree *, const int32_t *leaf_slot);
    int (*read_scores)(struct rw_engine *, int set, double *scores); /* [n_docs] */
    /* Replaces a set's scores between two trees. scores: [n_docs], finite. */
    int (*set_scores)(struct rw_engine *, int set, const double *scores);
    /* Computes checksums of codes. sums: [info.n_features], written: for each column of codes, the
     * sum over the set's documents of code x rw_code_weight(first_doc + document), modulo 2^64. */
    int (*code_sums)(struct rw_engine *, int set, uint64_t first_doc, uint64_t *sums);
    struct {
        /* Names the metrics to compute for a loaded set. The engine keeps no reference to the plan.
         * NULL: the host computes metrics from read_scores. */
        int (*begin)(struct rw_engine *, int set, const struct rw_metric_plan *plan);
        /* Computes the plan's metrics of the set's current scores, bit for bit as rw_metric_eval
         * does. out: [n_metrics]. Returns 1 on success, and a negative status on failure. Returns
         * 0 if a value is too large to be averaged: the host then computes the metrics, to report
         * the error. */
        int (*results)(struct rw_engine *, int set, struct rw_metric_result *out);
        /* Reads what rw_metric_eval writes to per_query, for metric 0 of a plan with by_query, as
         * of the last results that were returned. per_query: [n_queries]. */
        int (*by_query)(struct rw_engine *, int set, double *per_query);
    } measure;
    /* Reads the lambdas and hessians of the tree that was begun last, in fixed point and quantised
     * (_q), for tests. All arrays are [n_docs] of the training set. For documents outside the
     * sample `sampled` is 0 and the numbers are unspecified. hess_q is written only for newton.
     * NULL: the engine has no such operation. */
    int (*read_integers)(struct rw_engine *, int64_t *lambda, int64_t *hessian, int32_t *lambda_q,
                         int32_t *hess_q, uint8_t *sampled);
    /* Reports one decision of the engine (such as the histogram method) that was not reported yet,
     * and the time in ms that it took; for --verbose and the log. Engines make most decisions in
     * the first tree. Returns 1, or 0 if all decisions were reported. NULL: the engine makes no
     * decisions. */
    int (*report)(struct rw_engine *, char *text, size_t size, double *ms);
    /* Prepares the calling thread for this engine's operations, if it is not the one that opened
     * the engine. NULL: any thread may call them. Different engines may be used at the same time.
     */
    int (*use_thread)(struct rw_engine *);
    /* Adds the reads of host-resident codes for the tree that was added last to *sum. NULL: the
     * engine has no such codes. */
    int (*far_reads)(struct rw_engine *, struct rw_far_reads *sum);
    /* Estimates memory and time before any set is loaded. make: writes a whole plan. tree_ms:
     * returns the milliseconds per tree. Both NULL: the engine has no plan. */
    struct {
        int (*make)(struct rw_engine *, const struct rw_plan_data *, struct rw_plan *out);
        double (*tree_ms)(struct rw_engine *, const struct rw_plan_work *);
    } plan;
};

/* The common part of all engines. Each engine embeds it as its first member. */
struct rw_engine {
    const struct rw_engine_ops *ops;
    struct rw_ctx *ctx; /* borrowed */
    /* The cache for data made from the training set. NULL: no cache. Borrowed. */
    struct rw_engine_cache *cache;
    /* The context's n_threads when the engine was opened; it sizes the scratch memory. */
    int n_threads;
    int batch; /* best number of nodes per request, at least 1; fewer for small trees */
    struct rw_engine_rules rules;
    struct rw_engine_info info;
    const struct rw_cuts *cuts; /* of the training set, once loaded; owned by the engine */
    int n_sets;
    uint32_t n_docs[RW_MAX_SETS]; /* of each loaded set, on this worker */
    /* Position of this worker's shard in the whole training set. first_doc, first_query: number of
     * documents and queries of the workers before this one. all_docs: number of documents of all
     * workers. Set by rw_engine_load before the engine loads the set. */
    uint32_t first_doc, first_query, all_docs;
    struct rw_split_rule split_rule; /* of the tree that was begun last */
    int has_all_splits; /* 1: with many workers, best_splits returns the best of all workers */
};

/* Opens an engine. device: "ref", "cpu", "sim", "cuda", "cuda:N", or "auto", which is cpu here
 * (rw_choose_device compares it with a GPU). */
int rw_engine_open(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                   struct rw_engine **out);
void rw_engine_close(struct rw_engine *engine);
RW_SCOPED_BY(rw_engine_close)

/* Returns the largest number of nodes whose histograms exist at a time. */
static inline uint32_t rw_rules_histograms(const struct rw_engine_rules *rules)
{
    return rules->max_histograms ? rules->max_histograms : (rules->max_slots + 1) / 2;
}

/* Returns rw_rules_histograms or, if that is less, a number that the documents limit. A node that
 * keeps a histogram has at least `least` of the n_docs documents, and no document in common with
 * others. In a symmetric tree it may have a single one, and a sibling without documents. */
static inline uint64_t rw_rules_kept(const struct rw_engine_rules *rules, uint64_t n_docs,
                                     uint32_t least)
{
    const uint64_t most = rules->symmetric ? 2 * n_docs : n_docs / least + 2;
    return most < rw_rules_histograms(rules) ? most : rw_rules_histograms(rules);
}

/* Returns 1 if the engine's lambdas need the training set's gains. */
static inline int rw_rules_rank(const struct rw_engine_rules *rules)
{
    return rules->objective && rules->objective->ranks;
}

/* Returns 1 if some trees lack queries. rules: of an open engine. */
static inline int rw_rules_sample_queries(const struct rw_engine_rules *rules)
{
    return rules->query_threshold <= UINT32_MAX || rules->bag_threshold <= UINT32_MAX;
}

/* Returns 1 if every tree is grown from all documents. rules: of an open engine, as its
 * doc_threshold is not 0. */
static inline int rw_rules_see_all(const struct rw_engine_rules *rules)
{
    return !rw_rules_sample_queries(rules) && rules->doc_threshold > UINT32_MAX;
}

/* Returns 1 if the features that may split a node, or their noise, depend on the node. rules: of an
 * open engine, as its node_threshold is not 0. */
static inline int rw_rules_by_node(const struct rw_engine_rules *rules)
{
    return rules->interactions || rules->node_threshold <= UINT32_MAX ||
           rules->split.gain_noise > 0.0;
}

/* Returns the number of 32-bit words of a set of the engine's features. */
static inline size_t rw_feature_words(const struct rw_engine *engine)
{
    return ((size_t)engine->info.n_features + 31) / 32;
}

/* Returns the position of the noise in the words of a node: after the set of features, at an even
 * word. */
static inline size_t rw_noise_word(const struct rw_engine *engine)
{
    return (rw_feature_words(engine) + 1) / 2 * 2;
}

/* Returns the number of words that `allow` sets for a node: a set of features, and, with gain
 * noise, a double for each feature. */
static inline size_t rw_node_words(const struct rw_engine *engine)
{
    return engine->rules.split.gain_noise > 0.0
               ? rw_noise_word(engine) + 2 * (size_t)engine->info.n_features
               : rw_feature_words(engine);
}

/* Returns the noise of a feature. words: of a node, as in `allow`; NULL: there is no noise. */
static inline double rw_node_noise(const struct rw_engine *engine, const uint32_t *words,
                                   uint32_t f)
{
    double noise = 0.0;
    if (words && engine->rules.split.gain_noise > 0.0)
        memcpy(&noise, words + rw_noise_word(engine) + 2 * (size_t)f, sizeof(noise));
    return noise;
}

/* ---- operations with a common part ----
 *
 * These wrappers check external input and combine the results of workers. Call the other operations
 * directly. */
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

/* In place of the number of a GPU: each worker uses one GPU of its machine. */
#define RW_DEVICE_OF_WORKER (-2)
int rw_device_check_cuda(struct rw_ctx *ctx, int number); /* gpu/device/device.h */
/* Opens one kind of engine. device: the number of a GPU, or RW_DEVICE_OF_WORKER. Engines on the
 * host ignore it. */
#define RW_ENGINE(name) \
    int rw_engine_open_##name(struct rw_ctx *ctx, int device, struct rw_engine **out);
#include "tree/engines.def"
#undef RW_ENGINE

/* Sums of quantised values over the sampled documents of all workers. */
struct rw_quantised_sums {
    int64_t hess;            /* newton only, else 0 */
    uint64_t lambda_squares; /* sum of squares; may be 0 unless rw_engine_needs_squares */
};

/* Sets the cover of a leaf, its number of documents and its sum of hessians, from the sums over its
 * documents. Does nothing if the tree has no arrays for covers. */
static inline void rw_tree_set_cover(struct rw_tree *tree, int32_t leaf, const struct rw_sum *sum,
                                     int hess_exponent)
{
    if (!tree->hessian)
        return;
    tree->docs[leaf] = (double)sum->n;
    tree->hessian[leaf] = rw_cover_hessian(sum, hess_exponent);
}

/* Returns 1 if the split rule needs the sum of squared lambdas: the cost of sets and the noise have
 * the unit of a random split's gain. */
static inline int rw_engine_needs_squares(const struct rw_engine *engine)
{
    return engine->cuts->by_category != NULL || engine->rules.split.gain_noise > 0.0;
}

/* Sets engine->split_rule for a tree from the sums at its root. Shared by all engines
 * (engine.c). */
void rw_engine_set_split_rule(struct rw_engine *engine, const struct rw_root *root,
                              const struct rw_quantised_sums *sums);

/* ---- sums and choices over all workers ----
 *
 * All workers call these in the same order. With one worker, rw_workers_best and
 * rw_workers_leaf_sums change nothing. */

/* Decides which item (a query or a document) is sampled if no worker sampled any: the one with the
 * lowest random number, the first of equals.
 *
 * n_kept: number of items that this worker sampled. lowest: the lowest random number of its items.
 * number: the number of the item with that random number, counted from 0 over the items of all
 * workers. Without items, both are UINT32_MAX. Sets *keep to 1 if this worker must sample that item
 * (or, if no worker has items, on all workers), else to 0. */
int rw_workers_keep_one(struct rw_engine *engine, uint32_t n_kept, uint32_t lowest, uint32_t number,
                        int *keep);
/* Replaces each of the n splits by the best split that any worker found for its slot. */
int rw_workers_best(struct rw_ctx *ctx, struct rw_split *splits, int n);
/* Replaces each of the n sums by its total over all workers. */
int rw_workers_leaf_sums(struct rw_ctx *ctx, struct rw_sum *sums, int n);

/* ---- the plan ----
 *
 * A plan (struct rw_plan) estimates a training before anything is allocated: the bytes of each part
 * of memory, such as "codes", and the time per tree by a formula whose constants were measured.
 * `train --plan` prints it. `--device auto` compares such times of the host and a GPU. */

/* The data of a plan: the sets that would be loaded, the training set first. */
struct rw_plan_data {
    const struct rw_dataset *const *set;          /* [n_sets] */
    const struct rw_metric_plan *const *measured; /* [n_sets]; NULL: not measured */
    int n_sets;
    const struct rw_bins *bins; /* of the training set, or NULL */
    uint32_t n_features;        /* of the training set, without ignored features */
};

/* Adds bytes to the part of memory with this name and to the sum. An unknown name makes a new part;
 * if the plan has no room for one, the bytes are added to its last part. To subtract x bytes, add
 * 2^64 - x. A part that becomes 0 is removed. */
void rw_plan_add(struct rw_plan *plan, const char *name, uint64_t bytes);

/* The quantities that determine the time of a tree. */
struct rw_plan_work {
    double docs; /* sampled for a tree */
    /* Documents that only get scores: validation sets, and documents outside the sample. */
    double other_docs;
    double features;  /* sampled for a tree */
    double row_bytes; /* bytes of the sampled features' codes per document */
    double leaves;    /* largest number of leaves */
    double bins;      /* of the sampled features, if each has the most bins */
    /* Pairs of documents that lambdas visit, in the sampled queries. A query of n documents has n x
     * min(n, truncation). 0: the objective has no pairs. */
    double visits;
    int newton; /* 1: histograms hold hessians */
};
void rw_plan_work_of(struct rw_plan_work *work, const struct rw_engine_rules *rules,
                     const struct rw_plan_data *data);

/* Estimates how often a tree reads each document's row of codes. It reads all rows at the root. At
 * each level below, it reads the rows of the smaller children, which have at most half of the
 * documents. */
double rw_plan_passes(const struct rw_plan_work *work);
/* Estimates the milliseconds per tree on the host. */
double rw_plan_cpu_ms(const struct rw_plan_work *work, int n_threads);

/* The rule of `auto`. Returns 1 if all rounds are expected to take less time on the GPU, including
 * the time to open it. gpu_ms 0: returns 1 if any GPU could be faster. */
int rw_plan_gpu_pays(double cpu_ms, double gpu_ms, int rounds);

/* Makes the engine's plan. For cuda, it also estimates trees on 2, 4 and 8 GPUs. Fails with
 * RW_ERR_UNSUPPORTED if the engine has no plan. */
int rw_engine_plan(struct rw_engine *engine, const struct rw_plan_data *data, struct rw_plan *out);

/* Opens the engine of `device`. `auto` opens a GPU's engine if there is one and training with this
 * data is expected to take less time there, else the host's. */
int rw_choose_device(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                     const struct rw_plan_data *data, int rounds, struct rw_engine **out);
/* Makes all workers use one kind of engine, a GPU's or the host's. If the workers have different
 * kinds and `device` is "auto", *engine becomes the host's. With different kinds and any other
 * `device`, fails with RW_ERR_ARGUMENT. All workers must call it. */
int rw_choose_agree(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                    struct rw_engine **engine);

/* ---- host-resident codes ----
 *
 * If a device has no room for all codes, it holds some of them and reads the others, the
 * host-resident ones, from host memory.
 *
 * Codes are in blocks: a block has the codes of one or several features. The device holds the first
 * documents of each block. Blocks with few bytes per document are placed first. A read of host
 * memory transfers at least one sector, so reading these blocks there would cost more than their
 * size. */
struct rw_code_place {
    uint32_t doc_bytes; /* bytes of codes per document, at least 1 */
    uint32_t n_here;    /* written: number of documents whose codes are on the device */
};

/* Divides `bytes` of device memory among n blocks. Returns the number of bytes used. n_docs:
 * documents of each block. Blocks with equal bytes per document are filled in order. */
uint64_t rw_place_codes(struct rw_code_place *place, int n, uint32_t n_docs, uint64_t bytes);

#ifdef __cplusplus
}
#endif
