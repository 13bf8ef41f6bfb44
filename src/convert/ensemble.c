#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/bits.h"
#include "base/exact.h"
#include "base/mem.h"
#include "convert/convert.h"
#include "dataset/dataset.h"

/* ------------------------------------------------------------------ trees and columns */

void rw_ensemble_release(struct rw_ensemble *ensemble)
{
    rw_arena_free(&ensemble->arena);
    memset(ensemble, 0, sizeof(*ensemble));
}

/* Makes the tree's nodes from the first-th on leaves. */
static void make_leaves(struct rw_ens_tree *tree, int32_t first)
{
    for (int32_t i = first; i < tree->n_nodes; i++)
        tree->node[i] = (struct rw_ens_node){.left = -1, .right = -1};
}

int rw_ensemble_add_tree(struct rw_ctx *ctx, struct rw_ensemble *ensemble, int32_t n_nodes,
                         struct rw_ens_tree **out)
{
    struct rw_ens_tree tree = {.n_nodes = n_nodes, .room = (size_t)n_nodes, .weight = 1};
    *out = NULL;
    if (ensemble->n_trees == INT32_MAX)
        return rw_fail(ctx, RW_ERR_FORMAT, "more than %d trees", INT32_MAX);
    RW_TRY(RW_ARENA_GROW(ctx, &ensemble->arena, ensemble->tree, ensemble->room,
                         (size_t)ensemble->n_trees + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &ensemble->arena, tree.node, (size_t)n_nodes));
    make_leaves(&tree, 0);
    *out = &ensemble->tree[ensemble->n_trees++];
    **out = tree;
    return RW_OK;
}

int rw_ensemble_split(struct rw_ctx *ctx, struct rw_ensemble *ensemble, struct rw_ens_tree *tree,
                      int32_t at)
{
    const int32_t left = tree->n_nodes;
    if (left > INT32_MAX - 2)
        return rw_fail(ctx, RW_ERR_FORMAT, "a tree of more than %d nodes", INT32_MAX);
    RW_TRY(RW_ARENA_GROW(ctx, &ensemble->arena, tree->node, tree->room, (size_t)left + 2));
    tree->n_nodes += 2;
    make_leaves(tree, left);
    tree->node[at].left = left;
    tree->node[at].right = left + 1;
    return RW_OK;
}

int rw_ensemble_list(struct rw_ctx *ctx, struct rw_ensemble *ensemble, struct rw_ens_node *node,
                     const uint32_t *category, uint32_t n)
{
    RW_TRY(RW_ARENA_NEW(ctx, &ensemble->arena, node->listed, n));
    if (n > 0)
        memcpy(node->listed, category, n * sizeof(*category));
    node->n_listed = n;
    return RW_OK;
}

static int copy_text(struct rw_ctx *ctx, struct rw_ensemble *ensemble, char **out, const char *text)
{
    const size_t n = strlen(text) + 1;
    RW_TRY(RW_ARENA_NEW(ctx, &ensemble->arena, *out, n));
    memcpy(*out, text, n);
    return RW_OK;
}

int rw_ensemble_categories(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint32_t column,
                           const uint32_t *number, const char *const *word, uint32_t n)
{
    struct rw_arena *arena = &ensemble->arena;
    if (!ensemble->categories)
        RW_TRY(RW_ARENA_NEW(ctx, arena, ensemble->categories, ensemble->n_columns));
    struct rw_ens_categories *of = &ensemble->categories[column - ensemble->first_column];
    if (of->is_one)
        return RW_OK;
    of->is_one = 1;
    RW_TRY(RW_ARENA_NEW(ctx, arena, of->number, n));
    if (!number)
        RW_TRY(RW_ARENA_NEW(ctx, arena, of->word, n));
    for (; of->n < n; of->n++) {
        of->number[of->n] = number ? number[of->n] : of->n;
        if (!number)
            RW_TRY(copy_text(ctx, ensemble, &of->word[of->n], word[of->n]));
    }
    return RW_OK;
}

int rw_ensemble_set_columns(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint32_t n)
{
    RW_TRY(RW_ARENA_NEW(ctx, &ensemble->arena, ensemble->column_name, n));
    ensemble->n_columns = n;
    return RW_ARENA_NEW(ctx, &ensemble->arena, ensemble->column_had, n);
}

int rw_ensemble_name(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint32_t column,
                     const char *name)
{
    return copy_text(ctx, ensemble, &ensemble->column_name[column], name);
}

/* ------------------------------------------------------------------ checks */

struct checking {
    struct rw_ctx *ctx;
    const char *path;
    const struct rw_ensemble *ensemble;
    int32_t number; /* of the tree, from 1 */
    const struct rw_ens_tree *tree;
    uint8_t *seen;  /* [n_nodes] */
    int32_t *stack; /* [n_nodes] */
    int32_t n_stack;
};

static int wrong(const struct checking *c, int32_t at, const char *what)
{
    return rw_fail(c->ctx, RW_ERR_FORMAT, "%s: tree %d, node %d: %s", c->path, c->number, at, what);
}

static int visit(struct checking *c, int32_t parent, int32_t child)
{
    char text[80];
    const int exists = child >= 0 && child < c->tree->n_nodes;
    if (!exists || c->seen[child]) {
        snprintf(text, sizeof(text),
                 exists ? "its child %d is reached twice, or is above it"
                        : "there is no node %d to be its child",
                 child);
        return wrong(c, parent, text);
    }
    c->seen[child] = 1;
    c->stack[c->n_stack++] = child;
    return RW_OK;
}

/* Categories that ascend, and of a column by words have one. */
static int check_listed(const struct checking *c, int32_t at)
{
    const struct rw_ens_node *node = &c->tree->node[at];
    const struct rw_ens_categories *of = rw_ens_categories_of(c->ensemble, node->column);
    char text[80];
    for (uint32_t i = 0; i < node->n_listed; i++) {
        if (of && of->word && node->listed[i] >= of->n) {
            snprintf(text, sizeof(text), "category %u of a feature that has %u words",
                     node->listed[i], of->n);
            return wrong(c, at, text);
        }
        if (i > 0 && node->listed[i] <= node->listed[i - 1])
            return wrong(c, at, "its categories do not ascend");
    }
    return RW_OK;
}

static int check_node(struct checking *c, int32_t at)
{
    const struct rw_ens_node *node = &c->tree->node[at];
    if (node->left < 0)
        return rw_fits_float(node->value * c->tree->weight)
                   ? RW_OK
                   : wrong(c, at, "its leaf is not a number that a float can hold");
    if (isnan(node->threshold))
        return wrong(c, at, "its threshold is NaN");
    RW_TRY(visit(c, at, node->right));
    return visit(c, at, node->left);
}

static int check_tree(struct checking *c)
{
    const size_t n = (size_t)c->tree->n_nodes;
    RW_FREED uint8_t *seen = NULL;
    RW_FREED int32_t *stack = NULL;
    if (c->tree->n_nodes < 1)
        return rw_fail(c->ctx, RW_ERR_FORMAT, "%s: tree %d has no nodes", c->path, c->number);
    if (!isfinite(c->tree->weight))
        return rw_fail(c->ctx, RW_ERR_FORMAT, "%s: tree %d: its weight is not a number", c->path,
                       c->number);
    RW_TRY(RW_NEW(c->ctx, seen, n));
    RW_TRY(RW_NEW(c->ctx, stack, n));
    c->seen = seen;
    c->stack = stack;
    /* those that no split leads to, too: all lists are read */
    for (int32_t i = 0; i < c->tree->n_nodes; i++) {
        if (c->tree->node[i].left >= 0 && c->tree->node[i].by_category)
            RW_TRY(check_listed(c, i));
    }
    c->seen[0] = 1;
    c->n_stack = 1; /* the root, 0 */
    while (c->n_stack > 0)
        RW_TRY(check_node(c, c->stack[--c->n_stack]));
    return RW_OK;
}

int rw_ensemble_check(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, const char *path)
{
    if (!isfinite(ensemble->base))
        return rw_fail(ctx, RW_ERR_FORMAT, "%s: the base score is not a number", path);
    for (int32_t i = 0; i < ensemble->n_trees; i++) {
        struct checking c = {.ctx = ctx,
                             .path = path,
                             .ensemble = ensemble,
                             .number = i + 1,
                             .tree = &ensemble->tree[i]};
        RW_TRY(check_tree(&c));
    }
    return RW_OK;
}

/* The threshold that values are really compared with. */
static double effective(const struct rw_rules *rules, double threshold)
{
    double t = rules->threshold == RW_F32 ? (double)(float)threshold : threshold;
    if (rules->slack > 0)
        t = (double)((float)t + rules->slack);
    return t;
}

/* A fraction is dropped, as LightGBM and XGBoost do; no data of ours have one here. */
static int is_listed(const struct rw_ens_node *node, double x)
{
    if (!(x >= 0 && x <= (double)UINT32_MAX))
        return 0;
    const uint32_t at = rw_numbers_under(node->listed, node->n_listed, (uint64_t)x);
    return at < node->n_listed && node->listed[at] == (uint32_t)x;
}

int rw_rules_left(const struct rw_rules *rules, const struct rw_ens_node *node, float value)
{
    const enum rw_nan nan = rules->nan_by_node ? (enum rw_nan)node->nan : rules->nan;
    const int is_zero_missing = nan == RW_NAN_ZERO_LEFT || nan == RW_NAN_ZERO_RIGHT;
    /* A float is the same number in double: the width of values only matters to a reader of data.
     */
    double x = (double)value;
    if (node->by_category && isnan(x))
        return rules->missing_unlisted ? rules->listed_right : node->nan == RW_NAN_LEFT;
    if (node->by_category)
        return is_listed(node, x) != rules->listed_right;
    const int in_band = fabs(x) <= (double)RW_ZERO_BAND;
    if ((rules->band_is_zero && in_band) || (nan == RW_NAN_ZERO && isnan(x)))
        x = 0;
    if ((isnan(x) && nan != RW_NAN_FALSE) || (is_zero_missing && in_band))
        return nan == RW_NAN_LEFT || nan == RW_NAN_ZERO_LEFT;
    const double t = effective(rules, node->threshold);
    return node->less ? x < t : x <= t;
}

int rw_rules_threshold(const struct rw_rules *rules, float cut, double *threshold)
{
    /* Values are floats, so the next float above the cut splits them in any width. */
    const float goal = rules->less ? nextafterf(cut, INFINITY) : cut;
    *threshold = (double)goal;
    if (!(rules->slack > 0))
        return isfinite(goal);
    /* The float that gives the goal when the slack is added to it is near their difference; where
     * the goal is smaller than the slack there may be none. */
    float near = goal - rules->slack;
    for (int i = 0; i < 4; i++)
        near = nextafterf(near, -INFINITY);
    for (int i = 0; i < 9; i++) {
        if (near + rules->slack == goal) {
            *threshold = (double)near;
            return isfinite(near);
        }
        near = nextafterf(near, INFINITY);
    }
    *threshold = (double)(goal - rules->slack);
    return 0;
}

float rw_float_below(double t, int strictly)
{
    float c = t > (double)FLT_MAX ? FLT_MAX : t < -(double)FLT_MAX ? -INFINITY : (float)t;
    if ((double)c > t || (strictly && (double)c == t))
        c = nextafterf(c, -INFINITY);
    return c == 0.0f ? 0.0f : c;
}

const char *rw_rules_cut(const struct rw_rules *rules, const struct rw_ens_node *node, float *cut,
                         uint8_t *missing_left)
{
    const enum rw_nan nan = rules->nan_by_node ? (enum rw_nan)node->nan : rules->nan;
    const float band = RW_ZERO_BAND, below_band = nextafterf(-RW_ZERO_BAND, -INFINITY);
    const double t = effective(rules, node->threshold);
    *cut = rw_float_below(t, node->less);
    *missing_left = nan == RW_NAN_LEFT || nan == RW_NAN_ZERO_LEFT;
    if (nan == RW_NAN_ZERO_LEFT) {
        if (*cut < below_band)
            return "sends 0 left, but smaller values right (zero_as_missing)";
        *cut = *cut < band ? band : *cut;
    } else if (nan == RW_NAN_ZERO_RIGHT) {
        if (*cut > band)
            return "sends 0 right, but larger values left (zero_as_missing)";
        *cut = *cut > below_band ? below_band : *cut;
    }
    /* LightGBM's own thresholds lie on the band's ends; one inside it parts nothing there, but may
     * be a cut of ours that comes back. */
    if (rules->band_is_zero && *cut == -band)
        *cut = below_band;
    if (!isfinite(*cut))
        return "has a threshold that no float is below";
    if (nan == RW_NAN_ZERO)
        *missing_left = 0.0f <= *cut;
    return NULL;
}

void rw_rules_text(const struct rw_rules *rules, char *text, size_t size)
{
    static const char *const width[] = {"float", "double"};
    static const char *const absent[] = {"absent is 0", "absent is missing",
                                         "absent is what the caller passes"};
    char slack[32] = "";
    if (rules->slack > 0)
        snprintf(slack, sizeof(slack), " + %g", (double)rules->slack);
    snprintf(text, size, "%s value %s %s threshold%s goes left, missing %s, %s, sums in %s",
             width[rules->value], rules->less ? "<" : "<=", width[rules->threshold], slack,
             rules->nan_by_node          ? "by node"
             : rules->nan == RW_NAN_ZERO ? "is 0"
                                         : "goes right",
             absent[rules->absent], width[rules->sum]);
}
