/* Every operation of every engine against `ref`, by ==.
 *
 * A case is a data set and the rules of a training; a run of it holds two engines, ref with one
 * thread and the engine under test, side by side through the same operations. Outputs are poisoned,
 * differently on each side, and fenced. Plain C, so that it can be carried to a machine with a GPU.
 *
 * To add an engine: its name in check_main.c. To add a case: a row in check_cases.c. To add an
 * operation: check_<op>.c, its name below, a call in check_run.c. */
#pragma once

#include <stdint.h>

#include "dataset/dataset.h"
#include "tree/grower.h"

enum check_op {
    OP_LOAD,
    OP_GRADIENTS,
    OP_BEGIN_TREE,
    OP_SPLITS,
    OP_PARTITION,
    OP_LEAF_SUMS,
    OP_SCORES,
    OP_GROW,
    N_OPS
};

struct check_random {
    uint64_t seed, next;
};
uint32_t check_bits(struct check_random *random);
uint32_t check_below(struct check_random *random, uint32_t n); /* in [0, n), n >= 1 */
double check_unit(struct check_random *random);                /* in [0, 1) */
int check_chance(struct check_random *random, double share);

/* ---- cases ---- */

enum check_labels { LABELS_GRADED, LABELS_EQUAL, LABELS_ONE, LABELS_REAL, LABELS_BY_QUERY };
enum check_weights { WEIGHTS_NONE, WEIGHTS_DOC, WEIGHTS_QUERY, WEIGHTS_LARGE };
enum check_gradients {
    GRADIENTS_PLAIN,
    GRADIENTS_HUGE,
    GRADIENTS_TINY,
    GRADIENTS_ZERO,
    GRADIENTS_MIXED,
    GRADIENTS_ONE_SIGN, /* sums grow as fast as they can */
    GRADIENTS_FIXED,    /* integers, by set_lambdas */

    N_GRADIENTS
};

/* Kinds of columns (check_data.c). */
enum check_column {
    COLUMN_REAL,
    COLUMN_DISTINCT, /* spec.distinct values */
    COLUMN_CONSTANT,
    COLUMN_ALL_MISSING,
    COLUMN_HALF_MISSING,
    COLUMN_DENORMAL,
    COLUMN_EXTREME,    /* +-FLT_MAX and every size between */
    COLUMN_HOT,        /* 99 of 100 values in one bin */
    COLUMN_SPARSE,     /* absent in most documents */
    COLUMN_NEIGHBOURS, /* adjacent floats: some boundaries are impossible */
    COLUMN_BINARY_MISSING,
    COLUMN_HIGH_WITH_MISSING, /* few values; nodes often lack the low ones but not the missing */
    COLUMN_RAMP,              /* rises with the document */
    COLUMN_SPARSE_MISSING,
    N_COLUMNS,
    COLUMN_CATEGORIES = N_COLUMNS, /* spec.categories codes; every other column, if that is not 0 */
    COLUMN_CATEGORIES_MISSING,     /* and in every second of these some values are missing */
};

enum check_objective { CHECK_LAMBDARANK, CHECK_REGRESSION, CHECK_HANDED_OVER };

struct check_spec {
    const char *name;
    uint32_t n_queries, query_min, query_max; /* documents per query */
    uint32_t n_features, first_feature, feature_gap;
    uint32_t columns;  /* set of kinds, 1 << enum check_column; 0: all */
    uint32_t distinct; /* of COLUMN_DISTINCT */
    enum check_labels labels;
    enum check_weights weights;
    enum check_gradients gradients;
    enum check_objective objective;
    int newton, bits, nearest, bins, absent_missing, norm, cached, ignore;
    int monotone;   /* 1: some features rise or fall; 2: all do */
    int groups;     /* of features that may be used together; 0: all may */
    int categories; /* codes of features by categories, 2 to 1024; 0: no such features */
    double sigma, split_l2, min_hessian, min_gain, sample_queries, sample_features;
    int symmetric;                   /* 1: all nodes that are searched together have one split */
    double penalty;                  /* largest feature penalty; 0: no penalties */
    double sample_docs, sample_node; /* 0: all */
    double gain_noise;
    uint32_t truncation, min_docs, leaves, n_trees;
    int n_threads;
    int slow; /* only with --long */
};

struct check_case {
    struct check_spec spec;
    struct rw_engine_rules rules;
    struct rw_dataset *set[3];
    struct rw_bins *bins; /* the training set's, as a cache would bring them; owned */
    double *gains;
    uint8_t *ignore;
    int8_t *monotone;
    double *penalty;
    uint16_t *categories;
    struct rw_interactions interactions;
    int n_sets;
    int far; /* the device gets too little memory for all codes */
    uint64_t seed;
};

/* The i-th spec; 0 past the end. Beyond the table they are random, `n_random` of them. */
int check_spec_at(int i, int n_random, uint64_t seed, struct check_spec *out);
int check_case_init(struct rw_ctx *ctx, const struct check_spec *spec, uint64_t seed,
                    struct check_case *out);
void check_case_release(struct check_case *c);

/* ---- a run ---- */

struct check_node {
    int32_t slot;
    uint32_t n;
    int can_split;        /* has a histogram that is not forgotten */
    struct rw_split best; /* ref's */
    int32_t split;        /* number of its split; -1: a leaf */
    int32_t left, right;  /* nodes */
};

struct check_run {
    const struct check_case *c;
    struct rw_ctx *ref_ctx, *ctx;
    struct rw_engine *ref, *engine;
    struct check_random random;
    int compared[N_OPS], failed[N_OPS];
    char first_failure[N_OPS][200];
    struct check_node *node; /* [max_slots] of the tree being grown */
    int32_t n_nodes;
    struct rw_split *split; /* [max_slots] in order */
    int32_t n_splits;
    struct rw_plan plan; /* made before loading */
    int has_plan;
    int was_far; /* codes were in the host's memory */
};

/* Records one comparison; the first failure's text is kept. Returns `equal`. */
int check_that(struct check_run *run, enum check_op op, int equal, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Both calls must give the same status. */
int check_status(struct check_run *run, enum check_op op, int ref_status, int status);

/* Fenced outputs. side: 0 ref, 1 the engine under test; content is poisoned, differently. */
void *check_buffer(size_t n, size_t size, int side);
int check_fences(const void *buffer, size_t n, size_t size);
void check_free(void *buffer);
/* Compares and frees a pair of buffers, by bytes. */
int check_same_bytes(struct check_run *run, enum check_op op, void *ref, void *other, size_t n,
                     size_t size, const char *what);

int check_same_sum(const struct rw_sum *a, const struct rw_sum *b);
int check_same_split(const struct rw_split *a, const struct rw_split *b);

void check_load(struct check_run *run);
/* In the first tree, after a histogram: the memory plan made before loading must agree with the
 * engine's buffers. */
void check_plan(struct check_run *run);
void check_gradients(struct check_run *run, uint32_t tree);
/* Returns 0 if no tree was begun. */
int check_begin_tree(struct check_run *run, uint32_t tree);
/* Histograms of the siblings, then the best splits of `slots` in some order, into node[].best. */
void check_splits(struct check_run *run, const struct rw_sibling *siblings, int n_siblings,
                  int32_t *slots, int n_slots);
/* Documents that a split would send left, by ref's own data. */
uint32_t check_count_left(const struct check_run *run, const struct rw_split *split);
void check_partition(struct check_run *run, const struct rw_split *splits, int n);
/* Of some leaves of the tree that has been grown: as it is, or with some of its nodes taken whole.
 */
void check_leaf_sums(struct check_run *run);
/* Of these. */
void check_sums_of(struct check_run *run, const int32_t *leaf_slot, int n);
void check_scores(struct check_run *run);
void check_grow(struct check_run *run, uint32_t tree);

/* Everything of one case on one engine. Returns 0, or 1 if the engine does not open. */
int check_run_case(const struct check_case *c, const char *engine, struct check_run *run);
