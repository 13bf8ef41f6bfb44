/* The first trees of a model in the form that scoring reads: nodes of 16 bytes one tree after
 * another, leaves in one array, features numbered by slots. The model may be freed. */
#pragma once

#include "base/bits.h"
#include "base/mem.h"
#include "model/model.h"
#include "model/walk.h"

struct rw_flat {
    struct rw_arena arena; /* of all arrays */
    int32_t n_trees;
    float absent;                  /* what an absent feature is: 0 or NaN */
    struct rw_column_rule columns; /* which data it is for */
    uint32_t n_used;               /* features that some node asks for */
    uint32_t *feature;         /* [n_used] their ids, ascending: a slot is an index here; one for
                                  each set of categories */
    struct rw_walk_node *node; /* [first_node[n_trees]] */
    float *leaf;               /* [first_leaf[n_trees]] */
    uint64_t *first_node;      /* [n_trees + 1] of a tree in node */
    uint64_t *first_leaf;      /* [n_trees + 1] of a tree in leaf */
    /* Splits by categories: each different set of codes has a slot of its own, whose value is 0 for
     * a category in the set and 1 for others, so that a node compares it with 1/2 like any. */
    struct rw_categories categories; /* the model's; owned */
    uint32_t *set_of; /* [n_used] 1 + the slot's set, 0: none; NULL: no slot has one */
    uint32_t n_sets;
    uint32_t set_words; /* of a set: as many as the feature with most categories needs */
    uint32_t *set_word; /* [n_sets][set_words] */
};

/* A slot's value from the code of the feature's category, or from the feature's own value. */
static inline float rw_flat_of_code(const struct rw_flat *flat, uint32_t slot, float value)
{
    return flat->set_of && flat->set_of[slot]
               ? rw_set_value(flat->set_word + (size_t)(flat->set_of[slot] - 1) * flat->set_words,
                              value)
               : value;
}
/* The same of a row's value: a category is a whole number there. */
float rw_flat_of_row(const struct rw_flat *flat, uint32_t slot, float value);

/* n_trees: the first so many; 0: all. RW_ERR_ARGUMENT if the model has not so many. */
int rw_flat_init(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                 int n_trees);
void rw_flat_release(struct rw_flat *flat); /* in any state after being zeroed */

/* Is the slot its feature's first? The sets of a feature's categories have a slot each. */
static inline int rw_flat_is_next_feature(const struct rw_flat *flat, uint32_t slot)
{
    return slot == 0 || flat->feature[slot] != flat->feature[slot - 1];
}

/* Where a walk down the tree begins. */
static inline int32_t rw_flat_root(const struct rw_flat *flat, int32_t tree)
{
    return flat->first_node[tree + 1] > flat->first_node[tree] ? 0 : ~0;
}

/* Documents as a matrix [n_docs][n_features] of features first, first + 1, ...; others are absent,
 * NaN is missing. */
struct rw_rows {
    const float *value; /* borrowed */
    uint32_t n_docs, n_features, first;
};

/* One document's score. values: [n_values] of features first, first + 1, ...; as above. */
double rw_flat_score(const struct rw_flat *flat, const float *values, size_t n_values,
                     uint32_t first);

/* Nodes that a document is expected to pass in all trees: a tree of n leaves grown best-first is
 * deeper than log2(n). For estimates of time. */
double rw_flat_steps(const struct rw_flat *flat);
double rw_flat_tree_steps(double n_leaves); /* of one tree */
/* Threads that it pays to share the trees among, while another form of the model is made. */
int rw_flat_threads(const struct rw_ctx *ctx, const struct rw_flat *flat);

/* --- distinct thresholds by column: what turns a value into the number of thresholds below it ---
 */
/* A node's column is its slot >> shift: with 0 a feature has a column for each treatment of missing
 * values, with 1 one for both. */
struct rw_thresholds {
    uint32_t n_columns; /* some of which no node may have */
    int shift;
    uint64_t *first; /* [n_columns + 1] of a column in key */
    uint32_t *n;     /* [n_columns] distinct ones */
    uint32_t *key;   /* of a column: numbers that order as the thresholds do; 0 and -0 are one */
};

/* In the arena. */
int rw_thresholds_init(struct rw_ctx *ctx, struct rw_arena *arena, struct rw_thresholds *thresholds,
                       const struct rw_flat *flat, int shift);

static inline uint32_t rw_threshold_key(float threshold)
{
    return rw_key_of_float(threshold == 0.0f ? 0.0f : threshold);
}

/* The column's i-th. */
static inline float rw_threshold(const struct rw_thresholds *thresholds, uint32_t column,
                                 uint32_t i)
{
    return rw_float_of_key(thresholds->key[thresholds->first[column] + i]);
}

/* Which one of its column a node has. */
static inline uint32_t rw_threshold_of(const struct rw_thresholds *thresholds,
                                       const struct rw_walk_node *node)
{
    const uint32_t column = node->slot >> thresholds->shift;
    return rw_numbers_under(thresholds->key + thresholds->first[column], thresholds->n[column],
                            rw_threshold_key(node->cut));
}

/* Scoring on the CPU. */
struct rw_column;

/* Walks down every tree. scores: [n_docs], written. */
int rw_flat_scores(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                   double *scores);

/* counts: [leaves of all trees] added to: the documents that fall into each. */
int rw_flat_count(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                  uint32_t *counts);

/* The data's columns by slot, [n_used]; NULL where the data does not have the feature. Those of
 * features by categories have codes, which rw_flat_of_code takes, and lie behind the array, which
 * is the caller's (rw_mem_free); the others are the dataset's. */
int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out);
/* The leaves of documents [begin, end), by their columns: [end - begin][n_trees], written. */
int rw_flat_leaves(struct rw_ctx *ctx, const struct rw_flat *flat,
                   const struct rw_column *const *column, uint32_t begin, uint32_t end,
                   int32_t *leaves);
/* Values of documents [begin, end) by row: [end - begin][n_used], written. scratch: [end - begin].
 */
void rw_flat_gather(const struct rw_flat *flat, const struct rw_column *const *columns,
                    uint32_t begin, uint32_t end, float *rows, float *scratch);

/* Gauss and Legendre's rule over [0, 1]: exact for polynomials up to degree 2 n - 1. point, weight:
 * [n], written. (shap.c) */
void rw_gauss_legendre(uint32_t n, double *point, double *weight);
