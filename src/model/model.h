/* A model: trees, the trainings that made them, the metrics of each round, and the map of scores
 * to probabilities. Also the plain walk down a tree, and the check whether data fits a model. The
 * rest of the library reads models through this file; model_text.h defines their file format. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/bits.h"
#include "base/ctx.h"
#include "dataset/categories.h"
#include "dataset/names.h"

/* The walk of one document down one tree, compiled for the host and for devices. It compares
 * values with thresholds, and it is the reference for every faster method. A node has 16 bytes,
 * so that it is one load. */
struct rw_walk_node {
    float cut;           /* the threshold; left when value <= cut */
    uint32_t slot;       /* 2 * slot of the feature (model/scorer.h) + (missing goes left) */
    int32_t left, right; /* >= 0: a node of the same tree; < 0: leaf ~child */
} __attribute__((aligned(16)));

/* Returns the document's leaf. root: 0, or ~0 for a tree of one leaf, in which case no node is
 * read. The document's value for slot s is value[s * stride]. NaN is missing; absent features must
 * already have a value. */
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

/* A tree as parallel arrays, in the form that training produces. Internal nodes are numbered in
 * the order of their splits, with the root as 0, so a child's number is larger than its
 * parent's. A child < 0 is leaf ~child. A tree of one leaf has no nodes. In trained trees, leaves
 * are numbered in the order in which splits, one at a time, create them, left before right. */
struct rw_tree {
    int32_t n_leaves; /* >= 1; internal nodes: n_leaves - 1 */
    /* All arrays are owned. Those up to `leaf` share one allocation.
     * left, right: [n_leaves - 1] children of each node. */
    int32_t *left, *right;
    uint32_t *feature;     /* [n_leaves - 1] feature ids of the data */
    float *cut;            /* [n_leaves - 1] thresholds: left when value <= cut */
    uint8_t *missing_left; /* [n_leaves - 1] 1: missing values go left; 0: right */
    double *gain;          /* [n_leaves - 1] gains of the splits */
    float *leaf;           /* [n_leaves] values */
    /* For categorical splits. Both arrays exist, or both are NULL. */
    uint8_t *by_set; /* [n_leaves - 1] 1: left when the category's code is in `set`; `cut` is 0 */
    struct rw_code_set *set; /* [n_leaves - 1] empty for nodes with thresholds */
    /* Covers: the number of documents of each leaf in training, and the sum of their hessians. Both
     * arrays exist, or both are NULL. Trained and refitted trees with a split have covers. Trees
     * from models of version 1 to 5, or from formats without covers, lack them.
     *
     * docs: [n_leaves] the sampled documents of the leaf, a whole number. In an imported tree it is
     * the other program's cover: LightGBM's count, XGBoost's sum of hessians, or CatBoost's sum of
     * weights. */
    double *docs;
    /* [n_leaves] sum of the documents' hessians, or the other program's; at most FLT_MAX */
    float *hessian;
};

/* Allocates the arrays up to `leaf` for n_leaves leaves, zeroed. Sets and covers are NULL.
 * RW_ERR_ARGUMENT: n_leaves is below 1. */
int rw_tree_init(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves);
/* Allocates by_set and set, zeroed, unless they exist. */
int rw_tree_add_sets(struct rw_ctx *ctx, struct rw_tree *tree);
/* Allocates docs and hessian, zeroed, unless they exist or the tree has no split. */
int rw_tree_add_covers(struct rw_ctx *ctx, struct rw_tree *tree);
void rw_tree_release(struct rw_tree *tree);
int rw_tree_copy(struct rw_ctx *ctx, const struct rw_tree *from, struct rw_tree *to);
/* Checks the tree. Children must be in range and follow their parents, and the root must reach
 * each node and leaf exactly once. Thresholds, gains, leaves and covers must be finite, covers must
 * not be negative, and docs at most RW_MOST_COVER_DOCS. Feature ids must be in range.
 * RW_ERR_FORMAT: the tree is invalid; the message begins with `where` and names the reason. */
int rw_tree_check(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where);

/* Maximum of `docs`, 2^53. A leaf's documents are then exact, and no sum of them is infinite. */
#define RW_MOST_COVER_DOCS 9007199254740992.0

/* Returns 1 if the tree has covers of more than 0 documents in total, or only one leaf, which needs
 * no covers. */
static inline int rw_tree_has_covers(const struct rw_tree *tree)
{
    double sum = tree->n_leaves == 1;
    for (int32_t i = 0; tree->hessian && i < tree->n_leaves; i++)
        sum += tree->docs[i];
    return sum > 0.0;
}

/* Returns 1 if the node is a categorical split. */
static inline int rw_tree_by_set(const struct rw_tree *tree, int32_t node)
{
    return tree->by_set && tree->by_set[node];
}

/* Returns 1 if the document goes left at the node. value: of the node's feature, as in
 * rw_tree_leaf. */
static inline int rw_tree_goes_left(const struct rw_tree *tree, int32_t node, float value)
{
    if (value != value)
        return tree->missing_left[node];
    return rw_tree_by_set(tree, node) ? rw_set_has(&tree->set[node], (uint32_t)value)
                                      : value <= tree->cut[node];
}

/* Returns a document's leaf. values: [n_values] by feature id, with NaN for missing values and
 * codes for categories (dataset/categories.h). Absent features must already have a value; ids
 * past the end have the value `absent`. */
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

/* The map from a model's scores to the probability that a document's label is at least
 * `relevant`. evaluate/calibrate.c fits it. In the model's file it follows the trees. */
enum rw_score_map_kind { RW_SCORE_MAP_NONE, RW_SCORE_MAP_ISOTONIC, RW_SCORE_MAP_LOGISTIC };

struct rw_score_map {
    enum rw_score_map_kind kind; /* NONE: no map, and all other fields are 0 */
    double relevant;             /* labels from this one on count as relevant */
    double slope, intercept;     /* LOGISTIC: 1 / (1 + exp(-(slope x score + intercept))) */
    /* ISOTONIC: linear between knots, constant beyond the first and last; at least one knot */
    int32_t n_knots;
    double *score;       /* [n_knots] ascending strictly; owned */
    double *probability; /* [n_knots] never falling; owned */
};

void rw_score_map_release(struct rw_score_map *map);
/* Logs a note that the map was dropped, if there is one. For callers that make a model with
 * different scores from the model of this map. */
void rw_score_map_leave_out(struct rw_ctx *ctx, const struct rw_score_map *map);
int rw_score_map_copy(struct rw_ctx *ctx, const struct rw_score_map *from, struct rw_score_map *to);

/* Returns 1 / (1 + exp(-x)). It uses the project's exponential, so results are identical
 * everywhere. */
double rw_sigmoid(double x);
/* Returns the probability of a score; NaN without a map, or if the score is NaN. With an isotonic
 * map, the result never falls as the score rises, because each operation and its rounding are
 * monotone. */
double rw_score_map_of(const struct rw_score_map *map, double score);

enum {
    RW_MODEL_MAX_PARAMS = 1000, /* per training; limited because they are compared pairwise */
    RW_MODEL_MAX_RUNS = 1000    /* most trainings before the last */
};

/* The parameters of one training. */
struct rw_model_params {
    int32_t n;
    struct rw_run_param *param; /* [n] names and values, in params.def's order at the time of the
                                   training; owned, as are the texts */
};
/* A training that a later training continued (parameter `init`). */
struct rw_model_run {
    int32_t n_trees; /* number of trees that this training added */
    struct rw_model_params params;
};

struct rw_model {
    int32_t n_trees;
    struct rw_tree *tree;          /* [n_trees]; owned */
    int32_t best_round;            /* n_trees if early stopping chose the trees; else 0 */
    int32_t empty_rounds;          /* rounds after the last tree in which no split was found */
    int is_interrupted;            /* the caller ended training early */
    int absent_missing;            /* meaning of an absent feature; 0: the value 0, 1: missing */
    struct rw_model_params params; /* of the last training */
    int32_t n_earlier;
    struct rw_model_run *earlier; /* [n_earlier] earlier trainings, in order; owned */
    enum rw_columns_kind columns; /* how the training set identified its features */
    uint32_t width;               /* columns of the training set if they were numbered or named,
                                     else 0 */
    uint32_t n_features;
    uint32_t *feature; /* [n_features] feature ids of the training set, ascending; owned */
    int32_t n_names;
    struct rw_feature_name *name;    /* [n_names] by ascending id; owned */
    struct rw_categories categories; /* vocabularies of the categorical features; owned */
    /* Metrics of all rounds that ran, also of rounds after the best one. */
    int32_t n_metrics, n_rounds_run;
    char **metric_name;   /* [n_metrics] such as "valid1 ndcg@10"; owned */
    double *metric_value; /* [n_rounds_run][n_metrics]; owned */
    /* The map is valid only for the sum of exactly these trees. Functions that make a model with
     * other trees from this model leave the map out. */
    struct rw_score_map map;
};

/* Allocates a zeroed model, which the booster or a reader fills. */
int rw_model_new(struct rw_ctx *ctx, struct rw_model **out);
/* Copies a model by printing and parsing it: equal models have equal texts. */
int rw_model_copy(struct rw_ctx *ctx, const struct rw_model *from, struct rw_model **out);
/* Makes a model of the trees t for which keep[t] is not 0, or of all trees if keep is NULL. keep:
 * [n_trees]. The new model has no metrics and no best round, which belong to a training, and no map
 * of scores. `out` must not be freed, since its parts belong to `from` or to the arena. */
int rw_model_some(struct rw_ctx *ctx, const struct rw_model *from, const uint8_t *keep,
                  struct rw_arena *arena, struct rw_model *out);

/* Returns the number of trees of the last training. */
int32_t rw_model_last_trees(const struct rw_model *model);
enum { RW_MAX_BAGS = 64 };
/* Returns the number of trees that a training with these parameters grew in a round: 1 to
 * RW_MAX_BAGS. */
int32_t rw_model_bags(const struct rw_model_params *params);
/* Returns the end of the round of tree t: the number of the next round's first tree. t: in [0,
 * n_trees). */
int32_t rw_model_round_end(const struct rw_model *model, int32_t t);
/* Returns the number of rounds of all trainings, with the empty ones at the end. */
int64_t rw_model_n_rounds(const struct rw_model *model);
/* Returns the parameter with this name, or NULL. */
const struct rw_run_param *rw_model_params_find(const struct rw_model_params *params,
                                                const char *name);
int rw_model_params_copy(struct rw_ctx *ctx, const struct rw_model_params *from,
                         struct rw_model_params *to);
void rw_model_params_release(struct rw_model_params *params);

/* Checks the whole model. Every tree must be valid (rw_tree_check), and split categorical features
 * by sets of the vocabulary's codes, and other features by thresholds. Ids and vocabularies must
 * ascend, ids be below `width` unless it is 0, and names not be empty. Parameters must read back as
 * they are. The best round and the trees of earlier trainings must not exceed n_trees. Writers
 * check before they write; readers only produce such models. RW_ERR_FORMAT: it is invalid; the
 * message names the reason. */
int rw_model_check(struct rw_ctx *ctx, const struct rw_model *model);

/* Returns the largest feature id of a split plus 1; 0 if the model has no splits. */
uint32_t rw_model_n_ids(const struct rw_model *model);
/* Returns rw_model_n_ids, or RW_ERR_MEMORY. *out: [rw_model_n_ids] number of splits and sum of
 * their gains by feature id; `feature` and `name` are not set. The caller owns *out (rw_mem_free).
 * Gains are added in the order of trees and nodes, so the sums are identical everywhere. */
int rw_model_uses(struct rw_ctx *ctx, const struct rw_model *model, struct rw_feature_use **out);

/* Returns the value of an absent feature: 0, or NaN for missing. */
float rw_model_absent(const struct rw_model *model);

/* Scores one document by the plain walk down all trees, the reference of every scorer. Returns the
 * sum of its leaves in tree order, in double. values: [n_values] as in rw_tree_leaf, but a category
 * is its number in the data, not its code. */
double rw_predict_one(const struct rw_model *model, const float *values, size_t n_values);

/* ---- which data fits a model or a training set ---- */

/* The columns that data must fit. rw_model_check_data (rankwood.h) lists the conditions. Columns
 * of an array are identified by position, named columns by name, and features of LETOR text by
 * id. */
struct rw_column_rule {
    const char *of; /* for messages: "the model" */
    enum rw_columns_kind kind;
    uint32_t width;    /* as in struct rw_model */
    uint32_t n_ids;    /* largest feature id of the training set plus 1; 0: it has no features */
    uint32_t n_needed; /* largest feature id of a split plus 1 */
};
/* The properties of data that the rule checks. */
struct rw_column_view {
    const char *what; /* for messages: "the data" */
    uint32_t width;   /* number of columns of an array; 0: the data has ids */
    int by_name;      /* 1: columns were found by name, so any data fits */
    uint32_t n_ids;   /* largest id of the data plus 1 */
};

struct rw_column_rule rw_column_rule_of(const struct rw_model *model, uint32_t n_needed);
struct rw_column_view rw_column_view_of(const struct rw_dataset *dataset);
/* Checks data against a rule. RW_ERR_DATA: it does not fit. */
int rw_column_rule_check(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                         const struct rw_column_view *view);
/* Checks data against a model's columns. RW_ERR_DATA: it does not fit. */
int rw_model_check_view(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_column_view *view);
/* Describes dense rows: as columns of an array if they begin with feature 0, else as ids. */
struct rw_column_view rw_column_view_rows(uint32_t n_features, uint32_t first_feature);
