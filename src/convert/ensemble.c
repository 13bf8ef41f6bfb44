/* Checks ensembles (convert.h), applies the rules of other programs to values and thresholds, and
 * raises an ensemble: makes a model from it. */
#include <float.h>

#include "base/exact.h"
#include "convert/convert.h"

void rw_ensemble_release(struct rw_ensemble *ensemble)
{
    rw_arena_free(&ensemble->arena);
    json_decref(ensemble->config);
    memset(ensemble, 0, sizeof(*ensemble));
}

const char *rw_ens_word(const struct rw_ens_categories *of, uint32_t category, char decimal[16])
{
    snprintf(decimal, 16, "%u", category);
    return of && of->word ? of->word[category] : decimal;
}

/* ---- checks ---- */

enum { NOT_REACHED = INT32_MIN };

/* A tree that is being checked, and the model's numbers of its nodes. */
struct numbering {
    struct rw_ctx *ctx;
    const char *path;
    const struct rw_ensemble *ensemble;
    int32_t t;       /* the tree's index */
    int32_t *number; /* [n_nodes] the model's number of a split, ~ that of a leaf, or NOT_REACHED */
    int32_t *stack;  /* [n_nodes] indexes of the reached nodes, breadth first */
    int32_t n_leaves;
    struct rw_arena *arena; /* owns `number` and `stack` */
};

static int wrong(const struct numbering *c, int32_t at, const char *what)
{
    return rw_fail(c->ctx, RW_ERR_FORMAT, "%s: tree %d, node %d: %s", c->path, c->t + 1, at, what);
}

/* Checks that listed categories ascend, and have words in a column of words. */
static int check_listed(const struct numbering *c, int32_t at)
{
    const struct rw_ens_node *node = &c->ensemble->tree[c->t].node[at];
    const struct rw_ens_categories *of = rw_ens_categories_of(c->ensemble, node->column);
    char text[80];
    for (uint32_t i = 0; i < node->n_listed; i++) {
        if (of && of->word && node->listed[i] >= of->n) {
            snprintf(text, sizeof(text), "category %u of a feature with %u categories",
                     node->listed[i], of->n);
            return wrong(c, at, text);
        }
        if (i > 0 && node->listed[i] <= node->listed[i - 1])
            return wrong(c, at, "categories are not ascending");
    }
    return RW_OK;
}

/* Pushes the children of a split onto the stack, as its elements end and end + 1. */
static int reach(struct numbering *c, int32_t at, int32_t end)
{
    const struct rw_ens_tree *tree = &c->ensemble->tree[c->t];
    const int32_t child[2] = {tree->node[at].left, tree->node[at].right};
    char text[80];
    for (int side = 1; side >= 0; side--) {
        const int exists = child[side] >= 0 && child[side] < tree->n_nodes;
        if (!exists || c->number[child[side]] != NOT_REACHED) {
            snprintf(text, sizeof(text),
                     exists ? "child %d has two parents or is above the node"
                            : "child %d does not exist",
                     child[side]);
            return wrong(c, at, text);
        }
        c->number[child[side]] = 0;
        c->stack[end + side] = child[side];
    }
    return RW_OK;
}

/* Checks a tree and numbers its splits and leaves. If every split follows its parent, numbers
 * follow the order of the file, so that an exported model keeps its order. Otherwise they are
 * breadth first. */
static int number_nodes(struct numbering *c)
{
    const struct rw_ens_tree *tree = &c->ensemble->tree[c->t];
    int32_t end = 1, is_ordered = 1, n_splits = 0;
    if (tree->n_nodes < 1)
        return rw_fail(c->ctx, RW_ERR_FORMAT, "%s: tree %d has no nodes", c->path, c->t + 1);
    if (!isfinite(tree->weight))
        return rw_fail(c->ctx, RW_ERR_FORMAT, "%s: tree %d: the weight is not a number", c->path,
                       c->t + 1);
    RW_TRY(RW_ARENA_NEW(c->ctx, c->arena, c->number, (size_t)tree->n_nodes));
    RW_TRY(RW_ARENA_NEW(c->ctx, c->arena, c->stack, (size_t)tree->n_nodes));
    for (int32_t i = 0; i < tree->n_nodes; i++) {
        c->number[i] = i ? NOT_REACHED : 0;
        /* also in nodes that the root does not reach, since gather_categories reads all lists */
        if (tree->node[i].left >= 0 && tree->node[i].by_category)
            RW_TRY(check_listed(c, i));
    }
    for (int32_t i = 0; i < end; i++) {
        const int32_t at = c->stack[i];
        const struct rw_ens_node *node = &tree->node[at];
        if (node->left < 0 && !rw_fits_float(node->value * tree->weight))
            return wrong(c, at, "the leaf value does not fit a float");
        if (node->left < 0)
            continue;
        if (isnan(node->threshold))
            return wrong(c, at, "the threshold is NaN");
        RW_TRY(reach(c, at, end));
        /* Leaves have separate numbers, so only splits matter. */
        is_ordered &= (tree->node[node->left].left < 0 || node->left > at) &&
                      (tree->node[node->right].left < 0 || node->right > at);
        end += 2;
    }
    for (int32_t i = 0; i < (is_ordered ? tree->n_nodes : end); i++) {
        const int32_t at = is_ordered ? i : c->stack[i];
        if (c->number[at] != NOT_REACHED)
            c->number[at] = tree->node[at].left < 0 ? ~c->n_leaves++ : n_splits++;
    }
    return RW_OK;
}

int rw_ensemble_check(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, const char *path)
{
    if (!isfinite(ensemble->base))
        return rw_fail(ctx, RW_ERR_FORMAT, "%s: the base score is not a number", path);
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
        struct numbering c = {
            .ctx = ctx, .path = path, .ensemble = ensemble, .t = t, .arena = &arena};
        RW_TRY(number_nodes(&c));
    }
    return RW_OK;
}

/* Returns the number with which the consumer compares values. */
static double effective(const struct rw_rules *rules, double threshold)
{
    double t = rules->threshold == RW_F32 ? (double)(float)threshold : threshold;
    if (rules->slack > 0)
        t = (double)((float)t + rules->slack);
    return t;
}

int rw_rules_left(const struct rw_rules *rules, const struct rw_ens_node *node, float value)
{
    const enum rw_nan nan = rules->nan_by_node ? (enum rw_nan)node->nan : rules->nan;
    const int is_zero_missing = nan == RW_NAN_ZERO_LEFT || nan == RW_NAN_ZERO_RIGHT;
    /* A float is exact as a double, so the width of values matters only to readers of data. */
    double x = (double)value;
    if (node->by_category && isnan(x))
        return rules->missing_unlisted ? rules->listed_right : node->nan == RW_NAN_LEFT;
    if (node->by_category) { /* LightGBM and XGBoost drop the fraction of x */
        const int is_one = x >= 0 && x <= (double)UINT32_MAX;
        return (is_one && rw_ens_lists(node, (uint32_t)x)) != rules->listed_right;
    }
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
    /* Values are floats, so the float after the cut is a valid threshold in any width. */
    const float goal = rules->less ? nextafterf(cut, INFINITY) : cut;
    *threshold = (double)goal;
    if (!(rules->slack > 0))
        return isfinite(goal);
    /* The threshold is near goal - slack. If the goal is smaller than the slack, no float may give
     * it. */
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
    /* LightGBM reads all values within RW_ZERO_BAND of 0 as 0, and writes no threshold in this
     * band. A file that Rankwood exported may have a threshold in the band, which stays as it is.
     * Only if the threshold is the lower end of the band, the value there would go left in the
     * model and right in LightGBM. */
    if (rules->band_is_zero && *cut == -band)
        *cut = below_band;
    if (nan == RW_NAN_ZERO)
        *missing_left = 0.0f <= *cut;
    return NULL;
}

void rw_rules_text(const struct rw_rules *rules, char *text, size_t size)
{
    static const char *const width[] = {"float", "double"};
    static const char *const absent[] = {"are 0", "are missing", "as the caller passes them"};
    char slack[32] = "";
    if (rules->slack > 0)
        snprintf(slack, sizeof(slack), " + %g", (double)rules->slack);
    snprintf(text, size, "%s value %s %s threshold%s goes left, %s, absent features %s, sums in %s",
             width[rules->value], rules->less ? "<" : "<=", width[rules->threshold], slack,
             rules->nan_by_node          ? "each node directs missing values"
             : rules->nan == RW_NAN_ZERO ? "missing values are 0"
                                         : "missing values go right",
             absent[rules->absent], width[rules->sum]);
}

/* ---- the model of an ensemble ---- */

struct raising {
    struct rw_ctx *ctx;
    const char *path;
    const struct rw_ensemble *from;
    const struct rw_model_format *format;
    const struct rw_rules *rules;
    int base;
    uint8_t *had; /* [RW_FEATURE_IDS] 1: the training set had the feature, or a split uses it */
    const struct rw_categories *categories; /* of the model */
    uint64_t n_rounded;                     /* leaves that are not exact as floats */
    const int32_t *number;                  /* of the current tree, as in struct numbering */
    struct rw_arena *arena;                 /* owns all arrays except those of a tree */
};

int64_t rw_column_feature(const struct rw_rules *rules, int base, uint32_t column)
{
    const int64_t first = (int64_t)rules->first_column;
    const int64_t feature = (int64_t)column - first + (base < 0 ? first : base);
    return column < first || feature > RW_MAX_FEATURE ? -1 : feature;
}

/* ---- categories ---- */

/* The categories of a column that its nodes list. */
struct listed {
    int is_one;
    uint32_t n, *number; /* [n] ascending */
    size_t room;
};

static int refuse_feature(const struct raising *r, uint32_t column, const char *what)
{
    return rw_fail(r->ctx, RW_ERR_FORMAT, "%s: categorical feature %u %s", r->path, column, what);
}

/* Collects the listed categories. of_column: [n_columns]. */
static int gather_categories(struct raising *r, struct listed *of_column)
{
    for (int32_t t = 0; t < r->from->n_trees; t++) {
        for (int32_t i = 0; i < r->from->tree[t].n_nodes; i++) {
            const struct rw_ens_node *node = &r->from->tree[t].node[i];
            if (node->left < 0 || !node->by_category)
                continue;
            struct listed *of = &of_column[node->column - r->from->first_column];
            of->is_one = 1;
            RW_TRY(RW_ARENA_GROW(r->ctx, r->arena, of->number, of->room,
                                 (size_t)of->n + node->n_listed));
            for (uint32_t k = 0; k < node->n_listed; k++)
                of->number[of->n++] = node->listed[k];
            of->n = (uint32_t)rw_sort_unique(of->number, of->n, sizeof(*of->number), rw_by_u32);
            if (of->n > RW_MAX_CATEGORIES)
                return rw_fail(r->ctx, RW_ERR_FORMAT,
                               "%s: categorical feature %u has more than %d categories in its "
                               "splits, the limit of Rankwood",
                               r->path, node->column, RW_MAX_CATEGORIES);
        }
    }
    return RW_OK;
}

static int raise_words(struct raising *r, uint32_t column, const struct listed *of,
                       struct rw_feature_categories *to)
{
    RW_TRY(RW_NEW(r->ctx, to->word, of->n));
    for (; to->n < of->n; to->n++) {
        const uint32_t number = of->number[to->n];
        char decimal[16];
        if (number > RW_MAX_CATEGORY_ID)
            return refuse_feature(r, column, "has a category above 2147483647");
        RW_TRY(
            rw_mem_copy_text(r->ctx, &to->word[to->n],
                             rw_ens_word(rw_ens_categories_of(r->from, column), number, decimal)));
    }
    RW_SORT(to->word, to->n, rw_by_text);
    for (uint32_t code = 0; code < to->n; code++) {
        if (!*to->word[code] || (code > 0 && strcmp(to->word[code - 1], to->word[code]) == 0))
            return refuse_feature(r, column, "has an empty or repeated category");
    }
    return RW_OK;
}

static int raise_categories(struct raising *r, struct rw_model *model)
{
    struct listed *of_column;
    uint32_t n = 0;
    if (!r->from->categories)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(r->ctx, r->arena, of_column, r->from->n_columns));
    RW_TRY(gather_categories(r, of_column));
    for (uint32_t i = 0; i < r->from->n_columns; i++)
        n += (uint32_t)of_column[i].is_one;
    RW_TRY(RW_NEW(r->ctx, model->categories.of, n));
    for (uint32_t i = 0; i < r->from->n_columns; i++) {
        if (!of_column[i].is_one)
            continue;
        const uint32_t column = i + r->from->first_column;
        const int64_t feature = rw_column_feature(r->rules, r->base, column);
        struct rw_feature_categories *to = &model->categories.of[model->categories.n];
        if (feature < 0)
            return refuse_feature(r, column, "has an id outside the range of Rankwood");
        to->feature = (uint32_t)feature;
        model->categories.n++;
        RW_TRY(raise_words(r, column, &of_column[i], to));
    }
    return rw_categories_index(r->ctx, &model->categories);
}

static int raise_set(struct raising *r, const struct rw_ens_node *node,
                     const struct rw_feature_categories *of, int32_t i, struct rw_tree *to)
{
    const int listed_left = !r->rules->listed_right;
    struct rw_code_set listed = {{0}};
    char decimal[16];
    RW_TRY(rw_tree_add_sets(r->ctx, to));
    to->by_set[i] = 1;
    if (!node->by_category) { /* only a threshold outside all categories is valid */
        const float cut = to->cut[i];
        to->cut[i] = 0;
        if (cut >= 0.0f && cut < (float)RW_MAX_CATEGORY_ID)
            return refuse_feature(r, node->column, "is also compared with a threshold");
        for (uint32_t code = 0; cut >= 0.0f && code <= of->n; code++)
            rw_set_add(&to->set[i], code);
        return RW_OK;
    }
    to->missing_left[i] = r->rules->missing_unlisted ? !listed_left : node->nan == RW_NAN_LEFT;
    for (uint32_t k = 0; k < node->n_listed; k++)
        rw_set_add(&listed,
                   rw_category_of_word(of, rw_ens_word(rw_ens_categories_of(r->from, node->column),
                                                       node->listed[k], decimal)));
    for (uint32_t code = 0; code <= of->n; code++) {
        if (rw_set_has(&listed, code) == listed_left)
            rw_set_add(&to->set[i], code);
    }
    return RW_OK;
}

static int raise_split(struct raising *r, const struct rw_ens_tree *tree, int32_t t, int32_t at,
                       struct rw_tree *to)
{
    const struct rw_ens_node *node = &tree->node[at];
    const int32_t i = r->number[at];
    const int64_t feature = rw_column_feature(r->rules, r->base, node->column);
    if (feature < 0)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s: tree %d, node %d: feature %u; expected %u to %d",
                       r->path, t + 1, at, node->column, r->rules->first_column, RW_MAX_FEATURE);
    const struct rw_feature_categories *of = rw_categories_find(r->categories, (uint32_t)feature);
    const char *why =
        node->by_category ? NULL : rw_rules_cut(r->rules, node, &to->cut[i], &to->missing_left[i]);
    if (why)
        return rw_fail(r->ctx, RW_ERR_FORMAT, "%s: tree %d, node %d %s", r->path, t + 1, at, why);
    if (of)
        RW_TRY(raise_set(r, node, of, i, to));
    const int is_below_all = to->cut[i] == -INFINITY; /* only missing values may go left */
    if (is_below_all) {
        to->cut[i] = FLT_MAX;
        to->missing_left[i] ^= 1;
    }
    to->left[i] = r->number[is_below_all ? node->right : node->left];
    to->right[i] = r->number[is_below_all ? node->left : node->right];
    to->feature[i] = (uint32_t)feature;
    to->gain[i] = isfinite(node->gain) ? node->gain : 0;
    r->had[feature] = 1;
    return RW_OK;
}

/* Returns 1 if the tree has a split and usable covers: each leaf has a count in range, and some
 * count is above 0. */
static int has_covers(const struct raising *r, const struct rw_ens_tree *tree)
{
    double sum = 0.0;
    for (int32_t at = 0; at < tree->n_nodes; at++) {
        const struct rw_ens_node *node = &tree->node[at];
        if (r->number[at] == NOT_REACHED || node->left >= 0)
            continue;
        if (!node->has_cover || !(node->docs >= 0.0 && node->docs <= RW_MOST_COVER_DOCS))
            return 0;
        sum += node->docs;
    }
    return sum > 0.0 && tree->node[0].left >= 0;
}

static int raise_tree(struct raising *r, int32_t t, struct rw_tree *to)
{
    const struct rw_ens_tree *tree = &r->from->tree[t];
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct numbering numbering = {
        .ctx = r->ctx, .path = r->path, .ensemble = r->from, .t = t, .arena = &arena};
    RW_TRY(number_nodes(&numbering));
    r->number = numbering.number;
    RW_TRY(rw_tree_init(r->ctx, to, numbering.n_leaves));
    if (has_covers(r, tree))
        RW_TRY(rw_tree_add_covers(r->ctx, to));
    for (int32_t at = 0; at < tree->n_nodes; at++) {
        const struct rw_ens_node *node = &tree->node[at];
        const double value = node->value * tree->weight;
        const int32_t leaf = ~r->number[at];
        if (r->number[at] == NOT_REACHED)
            continue;
        if (node->left >= 0) {
            RW_TRY(raise_split(r, tree, t, at, to));
            continue;
        }
        to->leaf[leaf] = (float)value;
        r->n_rounded += (double)to->leaf[leaf] != value;
        if (to->hessian) {
            to->docs[leaf] = node->docs;
            to->hessian[leaf] = (float)fmin(fmax(node->hessian, 0.0), (double)FLT_MAX);
        }
    }
    return RW_OK;
}

const char *rw_ens_own_name(const struct rw_ensemble *ensemble,
                            const struct rw_model_format *format, uint32_t i)
{
    const char *name = ensemble->column_name ? ensemble->column_name[i] : NULL;
    char made[64];
    rw_made_up_name(format, i + format->consumer[0].rules.first_column, made, sizeof(made));
    return name && *name && strcmp(name, made) != 0 ? name : NULL;
}

static int raise_columns(struct raising *r, struct rw_model *model)
{
    const struct rw_ensemble *from = r->from;
    for (uint32_t i = 0; i < from->n_columns; i++) {
        const int64_t feature = rw_column_feature(r->rules, r->base, i + r->rules->first_column);
        if (feature >= 0 && (!from->column_had || from->column_had[i]))
            r->had[feature] = 1;
    }
    int32_t last = RW_MAX_FEATURE;
    while (last >= 0 && !r->had[last])
        last--;
    if (from->n_columns == 0) { /* without a number of columns: all up to the last used one */
        for (int32_t f = (int32_t)rw_column_feature(r->rules, r->base, r->rules->first_column);
             f <= last; f++)
            r->had[f] = 1;
    }
    RW_TRY(RW_NEW(r->ctx, model->feature, (size_t)(last + 1)));
    for (int32_t f = 0; f <= last; f++) {
        if (r->had[f])
            model->feature[model->n_features++] = (uint32_t)f;
    }
    RW_TRY(RW_NEW(r->ctx, model->name, from->column_name ? from->n_columns : 0));
    for (uint32_t i = 0; i < from->n_columns; i++) {
        const int64_t feature = rw_column_feature(r->rules, r->base, i + r->rules->first_column);
        const char *name = rw_ens_own_name(from, r->format, i);
        if (!name || feature < 0)
            continue;
        model->name[model->n_names].feature = (uint32_t)feature;
        RW_TRY(rw_mem_copy_text(r->ctx, &model->name[model->n_names].name, name));
        model->n_names++;
    }
    return RW_OK;
}

int rw_raise(struct rw_ctx *ctx, const struct rw_ensemble *from,
             const struct rw_model_format *format, int base, const char *path,
             struct rw_model **out)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    struct raising r = {.ctx = ctx,
                        .arena = &arena,
                        .path = path,
                        .from = from,
                        .format = format,
                        .rules = &format->consumer[0].rules,
                        .base = base};
    const int has_base = from->base != 0 && !r.rules->base_ignored;
    *out = NULL;
    if (from->n_trees == INT32_MAX)
        return rw_fail(ctx, RW_ERR_FORMAT, "%s: too many trees", path);
    RW_TRY(rw_model_new(ctx, &model));
    r.categories = &model->categories;
    RW_TRY(RW_ARENA_NEW(ctx, &arena, r.had, RW_FEATURE_IDS));
    RW_TRY(RW_NEW(ctx, model->tree, (size_t)from->n_trees + (size_t)has_base));
    RW_TRY(raise_categories(&r, model));
    model->n_trees = from->n_trees + has_base;
    model->absent_missing = r.rules->absent == RW_ABSENT_NAN;
    if (has_base && !rw_fits_float(from->base))
        return rw_fail(ctx, RW_ERR_FORMAT, "%s: a base score of %g", path, from->base);
    if (has_base) { /* a first tree with a single leaf */
        RW_TRY(rw_tree_init(ctx, &model->tree[0], 1));
        model->tree[0].leaf[0] = (float)from->base;
        r.n_rounded += (double)(float)from->base != from->base;
    }
    for (int32_t t = 0; t < from->n_trees; t++)
        RW_TRY(raise_tree(&r, t, &model->tree[t + has_base]));
    RW_TRY(raise_columns(&r, model));
    RW_TRY(rw_model_check(ctx, model));
    if (r.n_rounded > 0)
        rw_log(ctx, RW_LOG_NOTE,
               "%llu leaves of '%s' were rounded to float; a score changes by at most 2^-24 of the "
               "sum of its leaves' magnitudes",
               (unsigned long long)r.n_rounded, path);
    *out = RW_TAKE(model);
    return RW_OK;
}
