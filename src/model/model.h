/* Trees, the ensemble and what is written beside it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/ctx.h"
#include "dataset/categories.h"
#include "dataset/names.h"

/* One document's path down one tree, compiled for the host and for the device: the comparison of a
 * value with a threshold by which every faster method is checked. A node has 16
 * bytes, so that it is one load. */
struct rw_walk_node {
    float cut;
    uint32_t slot;       /* 2 * slot of the feature + (missing goes left) */
    int32_t left, right; /* >= 0: node of the same tree; < 0: ~leaf */
} __attribute__((aligned(16)));

/* The leaf. root: 0, or ~0 in a tree of one leaf, whose nodes are not looked at. The value of slot
 * s is value[s * stride]; NaN is missing, nothing is absent. */
RW_HD int32_t rw_walk(const struct rw_walk_node *nodes, int32_t root, const float *value,
                      uint32_t stride)
{
    int32_t at = root;
    while (at >= 0) {
        const struct rw_walk_node node = nodes[at];
        const float v = value[(size_t)(node.slot >> 1) * stride];
        const int go_left = v != v ? (int)(node.slot & 1) : v <= node.cut;
        at = go_left ? node.left : node.right;
    }
    return ~at;
}

/* A tree as parallel arrays: what training leaves behind. Internal nodes are numbered in the order
 * in which they were split, 0 = root, so a child's number is always larger than its parent's; a
 * child < 0 means leaf ~child. A tree of one leaf has no nodes. Leaves are numbered in the order of
 * their node ids in one-at-a-time growth. */
struct rw_tree {
    int32_t n_leaves; /* >= 1; internal nodes: n_leaves - 1 */
    int32_t *left,
        *right;        /* [n_leaves - 1]; arrays up to `leaf` are one block; owned, as are all */
    uint32_t *feature; /* [n_leaves - 1] ids of the data */
    float *cut;        /* [n_leaves - 1] left when value <= cut */
    uint8_t *missing_left; /* [n_leaves - 1] */
    double *gain;          /* [n_leaves - 1] */
    float *leaf;           /* [n_leaves] */
    /* NULL, or a pair: */
    uint8_t *by_set;         /* [n_leaves - 1] 1: left when the category's code is in `set` */
    struct rw_code_set *set; /* [n_leaves - 1] of the others: empty; and their cuts are 0 */
    /* The covers: NULL, or a pair. Trained and refitted trees with a split have them; a tree of a
     * model of version 1 to 5, or of a format that stores no covers, has none. */
    double *docs;   /* [n_leaves] sampled documents of the leaf, a whole number; in an imported tree
                       what the other program counts, which XGBoost and CatBoost weight */
    float *hessian; /* [n_leaves] sum of their hessians, rounded once; FLT_MAX where it is larger */
};

/* Arrays for n_leaves leaves, zeroed. */
int rw_tree_init(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves);
/* Makes by_set and set, zeroed, unless they are there. */
int rw_tree_add_sets(struct rw_ctx *ctx, struct rw_tree *tree);
/* Makes docs and hessian, zeroed, unless the tree has them or has no split. */
int rw_tree_add_covers(struct rw_ctx *ctx, struct rw_tree *tree);
void rw_tree_release(struct rw_tree *tree);
int rw_tree_copy(struct rw_ctx *ctx, const struct rw_tree *from, struct rw_tree *to);
/* Is it a tree: children in range, each node and leaf reached exactly once from the root, children
 * after parents, thresholds and leaves finite, covers 0 or more? RW_ERR_FORMAT with what is wrong.
 */
int rw_tree_check(struct rw_ctx *ctx, const struct rw_tree *tree);
/* The same; the message begins with `where`. */
int rw_tree_check_at(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where);

/* Of a leaf's documents, at most, so that no sum of them is infinite. */
#define RW_MOST_COVER_DOCS 9007199254740992.0

/* Do the covers say where the documents of each split go? */
static inline int rw_tree_has_covers(const struct rw_tree *tree)
{
    double sum = tree->n_leaves == 1;
    for (int32_t i = 0; tree->hessian && i < tree->n_leaves; i++)
        sum += tree->docs[i];
    return sum > 0.0;
}

static inline int rw_tree_by_set(const struct rw_tree *tree, int32_t node)
{
    return tree->by_set && tree->by_set[node];
}

/* value: as below. */
static inline int rw_tree_goes_left(const struct rw_tree *tree, int32_t node, float value)
{
    if (value != value)
        return tree->missing_left[node];
    return rw_tree_by_set(tree, node) ? rw_set_has(&tree->set[node], (uint32_t)value)
                                      : value <= tree->cut[node];
}

/* The leaf of a document. values: [n_values] by feature id, absent and missing already resolved
 * (NaN = missing), categories as their codes (dataset/categories.h); ids past the end are `absent`.
 */
static inline int32_t rw_tree_leaf(const struct rw_tree *tree, const float *values, size_t n_values,
                                   float absent)
{
    if (tree->n_leaves == 1)
        return 0;
    int32_t node = 0;
    do {
        const uint32_t f = tree->feature[node];
        const float value = f < n_values ? values[f] : absent;
        node = rw_tree_goes_left(tree, node, value) ? tree->left[node] : tree->right[node];
    } while (node >= 0);
    return ~node;
}

/* The map of a model's scores to the probability that a document's label is at least so much. It is
 * fitted by evaluate/calibrate.c, and stands behind the trees in the model's file. */
enum rw_score_map_kind { RW_SCORE_MAP_NONE, RW_SCORE_MAP_ISOTONIC, RW_SCORE_MAP_LOGISTIC };

struct rw_score_map {
    enum rw_score_map_kind kind; /* NONE: the model has no map, and all else is 0 */
    double relevant;             /* labels from which a document counts */
    double slope, intercept;     /* LOGISTIC: 1 / (1 + exp(-(slope x score + intercept))) */
    /* ISOTONIC: straight lines between knots, constant beyond the ends; at least one */
    int32_t n_knots;
    double *score;       /* [n_knots] ascending strictly; owned */
    double *probability; /* [n_knots] never falling; owned */
};

void rw_score_map_release(struct rw_score_map *map);
/* Notes that a model made from the one with this map has none: its scores are others. */
void rw_score_map_leave_out(struct rw_ctx *ctx, const struct rw_score_map *map);
int rw_score_map_copy(struct rw_ctx *ctx, const struct rw_score_map *from, struct rw_score_map *to);

/* 1 / (1 + exp(-x)), from the project's own exponential: the same bits everywhere. */
double rw_sigmoid(double x);
/* The probability of a score. Isotonic maps never fall, not by a bit: each operation is monotone,
 * and so is its rounding. NaN without a map. */
double rw_score_map_of(const struct rw_score_map *map, double score);

enum {
    RW_MODEL_MAX_PARAMS = 1000, /* of a training: they are compared with one another */
    RW_MODEL_MAX_RUNS = 1000    /* before the last */
};

/* The parameters of one training. */
struct rw_model_params {
    int32_t n;
    struct rw_run_param *param; /* [n] in params.def's order; owned, with the texts */
};
/* A training that a later one went on from. */
struct rw_model_run {
    int32_t n_trees; /* the trees that it added */
    struct rw_model_params params;
};

struct rw_model {
    int32_t n_trees;
    struct rw_tree *tree;          /* [n_trees]; owned */
    int32_t best_round;            /* 0: no validation set; else n_trees */
    int32_t empty_rounds;          /* rounds after the last tree that could split nothing */
    int is_interrupted;            /* training was ended from outside */
    int absent_missing;            /* what an absent feature is: 0 or missing */
    struct rw_model_params params; /* of the last training */
    int32_t n_earlier;
    struct rw_model_run *earlier; /* [n_earlier] trainings before it, the first one first; owned */
    enum rw_columns_kind columns; /* how the training set counted its features */
    uint32_t width;               /* its columns, if they were numbered or named; else 0 */
    uint32_t n_features;
    uint32_t *feature; /* [n_features] ids that the training set had, ascending; owned */
    int32_t n_names;
    struct rw_feature_name *name;    /* [n_names] by ascending id; owned */
    struct rw_categories categories; /* of features that are split by sets of codes; owned */
    /* Metrics by round, all rounds run: value of metric m in round r at [r * n_metrics + m]. */
    int32_t n_metrics, n_rounds_run;
    char **metric_name;   /* [n_metrics] "valid1 ndcg@10"; owned */
    double *metric_value; /* [n_rounds_run][n_metrics]; owned */
    /* Of the sum of these trees and no others: what makes a model of other trees leaves it out. */
    struct rw_score_map map;
};

/* A zeroed model; filled by the booster or a reader. */
int rw_model_new(struct rw_ctx *ctx, struct rw_model **out);
/* A copy, by way of the model's text: equal models have equal texts. */
int rw_model_copy(struct rw_ctx *ctx, const struct rw_model *from, struct rw_model **out);
/* *out: the model with the trees t that keep[t] names, [n_trees], or all of them (NULL); without
 * metrics by round and the best round, which are those of a training, and without the map of
 * scores. It is never freed: all that it points to is `from`'s or in the arena. */
int rw_model_some(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                  struct rw_arena *arena, struct rw_model *out);
/* The same as a model of its own. */
int rw_model_select(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                    struct rw_model **out);

/* Trees of the last training. */
int32_t rw_model_last_trees(const struct rw_model *model);
/* NULL: there is no such parameter. */
const struct rw_run_param *rw_model_params_find(const struct rw_model_params *params,
                                                const char *name);
int rw_model_params_copy(struct rw_ctx *ctx, const struct rw_model_params *from,
                         struct rw_model_params *to);
void rw_model_params_release(struct rw_model_params *params);

/* Is it whole: every tree is one, ids ascend, names and values of parameters can stand in a file?
 * RW_ERR_FORMAT with what is wrong. Writers check before, readers make only such models. */
int rw_model_check(struct rw_ctx *ctx, const struct rw_model *model);

/* One more than the greatest feature id that a split asks for. */
uint32_t rw_model_n_ids(const struct rw_model *model);
/* Splits and gains of the features of all ids up to that: returns how many; *out is the caller's.
 * Gains are added in the order of trees and nodes, so that the sums are the same everywhere. */
int rw_model_uses(struct rw_ctx *ctx, const struct rw_model *model, struct rw_feature_use **out);

/* The value of a feature that a document does not mention: 0 or NaN, missing. */
float rw_model_absent(const struct rw_model *model);

/* The sum of a document's leaves in tree order, in double. values as in rw_tree_leaf. */
double rw_model_score(const struct rw_model *model, int n_trees, const float *values,
                      size_t n_values);
/* One document by the plain walk down all trees, the reference of every scorer: values as above,
 * but categories as whole numbers. */
double rw_predict_one(const struct rw_model *model, const float *values, size_t n_values);

/* Which data fits a model, or a training set. One rule for all who ask: rw_model_check_data
 * (rankwood.h) lists what it refuses. Columns of an array mean something by their position, columns
 * with names by their name, and features of LETOR text by their id. */
/* What data has to fit. */
struct rw_column_rule {
    const char *of; /* for messages: "the model" */
    enum rw_columns_kind kind;
    uint32_t width;
    uint32_t n_ids;    /* one more than the greatest id that its training set had */
    uint32_t n_needed; /* one more than the greatest id that a tree asks for */
};
/* What the rule sees of data. */
struct rw_column_view {
    const char *what; /* for messages: "the data" */
    uint32_t width;   /* as of struct rw_dataset, as is */
    int by_name;
    uint32_t n_ids; /* one more than its greatest id */
};

struct rw_column_rule rw_column_rule_of(const struct rw_model *model, uint32_t n_needed);
struct rw_column_view rw_column_view_of(const struct rw_dataset *dataset);
int rw_column_rule_check(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                         const struct rw_column_view *view);
/* The same of a model. */
int rw_model_check_view(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_column_view *view);
/* The features of dense rows: columns if they begin with feature 0, else ids. */
struct rw_column_view rw_column_view_rows(uint32_t n_features, uint32_t first_feature);
