/* Functions for models and their trees (model/model.h): memory, checks of models and trees, the map
 * of scores to probabilities (the calibration), uses of features, and whether data fits a model. */
#include "model/model.h"

#include <stdlib.h>

#include "base/exact.h"

int rw_model_new(struct rw_ctx *ctx, struct rw_model **out)
{
    return RW_NEW(ctx, *out, 1);
}

void rw_model_params_release(struct rw_model_params *params)
{
    for (int32_t i = 0; params->param && i < params->n; i++) {
        rw_mem_free(params->param[i].name);
        rw_mem_free(params->param[i].value);
    }
    rw_mem_free(params->param);
    *params = (struct rw_model_params){0};
}

int rw_model_params_copy(struct rw_ctx *ctx, const struct rw_model_params *from,
                         struct rw_model_params *to)
{
    *to = (struct rw_model_params){0};
    RW_TRY(RW_NEW(ctx, to->param, (size_t)from->n));
    for (int32_t i = 0; i < from->n; i++) {
        to->n = i + 1;
        to->param[i].is_auto = from->param[i].is_auto;
        RW_TRY(rw_mem_copy_text(ctx, &to->param[i].name, from->param[i].name));
        RW_TRY(rw_mem_copy_text(ctx, &to->param[i].value, from->param[i].value));
    }
    return RW_OK;
}

const struct rw_run_param *rw_model_params_find(const struct rw_model_params *params,
                                                const char *name)
{
    for (int32_t i = 0; i < params->n; i++) {
        if (strcmp(params->param[i].name, name) == 0)
            return &params->param[i];
    }
    return NULL;
}

int32_t rw_model_last_trees(const struct rw_model *model)
{
    int32_t n = model->n_trees;
    for (int32_t k = 0; k < model->n_earlier; k++)
        n -= model->earlier[k].n_trees;
    return n;
}

int32_t rw_model_bags(const struct rw_model_params *params)
{
    const struct rw_run_param *bags = rw_model_params_find(params, "bags");
    const int n = bags ? atoi(bags->value) : 1; /* a model's file may hold any text */
    return n < 1 || n > RW_MAX_BAGS ? 1 : n;
}

int32_t rw_model_round_end(const struct rw_model *model, int32_t t)
{
    int32_t first = 0, k = 0;
    while (k < model->n_earlier && t >= first + model->earlier[k].n_trees)
        first += model->earlier[k++].n_trees;
    const int is_last = k == model->n_earlier;
    const int64_t end = is_last ? model->n_trees : first + model->earlier[k].n_trees;
    const int64_t n = rw_model_bags(is_last ? &model->params : &model->earlier[k].params);
    const int64_t next = first + (t - first) / n * n + n;
    return (int32_t)(next < end ? next : end);
}

int64_t rw_model_n_rounds(const struct rw_model *model)
{
    int64_t n = model->empty_rounds;
    for (int32_t t = 0; t < model->n_trees; t = rw_model_round_end(model, t))
        n++;
    return n;
}

void rw_model_free(struct rw_model *model)
{
    if (!model)
        return;
    for (int32_t i = 0; model->tree && i < model->n_trees; i++)
        rw_tree_release(&model->tree[i]);
    rw_model_params_release(&model->params);
    for (int32_t k = 0; model->earlier && k < model->n_earlier; k++)
        rw_model_params_release(&model->earlier[k].params);
    rw_mem_free(model->earlier);
    for (int32_t i = 0; model->name && i < model->n_names; i++)
        rw_mem_free(model->name[i].name);
    for (int32_t i = 0; model->metric_name && i < model->n_metrics; i++)
        rw_mem_free(model->metric_name[i]);
    rw_score_map_release(&model->map);
    rw_categories_release(&model->categories);
    rw_mem_free(model->tree);
    rw_mem_free(model->feature);
    rw_mem_free(model->name);
    rw_mem_free(model->metric_name);
    rw_mem_free(model->metric_value);
    rw_mem_free(model);
}

/* ---- checks ---- */

/* Checks the parameters. A value set by the user must not read as one chosen by the program.
 * Names and other properties come from params.def or were checked by a reader. */
static int check_params(struct rw_ctx *ctx, const struct rw_model_params *params)
{
    if (params->n > RW_MODEL_MAX_PARAMS)
        return rw_fail(ctx, RW_ERR_FORMAT, "%d parameters in a model; expected at most %d",
                       params->n, RW_MODEL_MAX_PARAMS);
    for (int32_t i = 0; i < params->n; i++) {
        const struct rw_run_param *param = &params->param[i];
        if (!param->is_auto && strncmp(param->value, "auto ", 5) == 0)
            return rw_fail(ctx, RW_ERR_FORMAT,
                           "parameter '%s': a value that the user set must not begin with 'auto '",
                           param->name);
    }
    return RW_OK;
}

static int check_features(struct rw_ctx *ctx, const struct rw_model *model)
{
    for (uint32_t i = 0; i < model->n_features; i++)
        if (model->feature[i] > RW_MAX_FEATURE ||
            (i > 0 && model->feature[i] <= model->feature[i - 1]))
            return rw_fail(ctx, RW_ERR_FORMAT, "feature %u: expected ids that ascend up to %d",
                           model->feature[i], RW_MAX_FEATURE);
    const int has_width =
        model->columns == RW_COLUMNS_NUMBERED || model->columns == RW_COLUMNS_NAMED;
    if (has_width != (model->width > 0) || (has_width && model->n_features > 0 &&
                                            model->feature[model->n_features - 1] >= model->width))
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%u columns; expected more than the largest feature id, or 0 if features "
                       "are not columns",
                       model->width);
    for (int32_t i = 0; i < model->n_names; i++) {
        const struct rw_feature_name *name = &model->name[i];
        if (name->feature > RW_MAX_FEATURE || (i > 0 && name->feature <= name[-1].feature))
            return rw_fail(ctx, RW_ERR_FORMAT,
                           "name of feature %u: expected ids that ascend up to %d", name->feature,
                           RW_MAX_FEATURE);
        if (!name->name || !*name->name)
            return rw_fail(ctx, RW_ERR_FORMAT, "the name of feature %u is empty", name->feature);
    }
    return RW_OK;
}

/* Checks that categorical features are split by sets of codes and other features by thresholds. */
static int check_sets(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_tree *tree,
                      const char *where)
{
    for (int32_t k = 0; k < tree->n_leaves - 1; k++) {
        const struct rw_feature_categories *of =
            rw_categories_find(&model->categories, tree->feature[k]);
        const int by_set = rw_tree_by_set(tree, k);
        if (by_set != (of != NULL))
            return rw_fail(ctx, RW_ERR_FORMAT, "%snode %d: feature %u has %s", where, k,
                           tree->feature[k],
                           of ? "categories, but the split has a threshold"
                              : "no categories, but the split lists some");
        for (uint32_t code = of ? of->n + 1 : 0; by_set && code <= RW_MAX_CATEGORIES; code++) {
            if (rw_set_has(&tree->set[k], code))
                return rw_fail(ctx, RW_ERR_FORMAT,
                               "%snode %d: code %u; feature %u has codes 0 to %u", where, k, code,
                               tree->feature[k], of->n);
        }
    }
    return RW_OK;
}

static int check_categories(struct rw_ctx *ctx, const struct rw_categories *categories)
{
    for (uint32_t i = 0; i < categories->n; i++) {
        const struct rw_feature_categories *of = &categories->of[i];
        if (of->feature > RW_MAX_FEATURE || (i > 0 && of->feature <= of[-1].feature))
            return rw_fail(ctx, RW_ERR_FORMAT,
                           "categories of feature %u: expected ids that ascend up to %d",
                           of->feature, RW_MAX_FEATURE);
        if (of->n > RW_MAX_CATEGORIES)
            return rw_fail(ctx, RW_ERR_FORMAT, "feature %u: %u categories; expected at most %d",
                           of->feature, of->n, RW_MAX_CATEGORIES);
        for (uint32_t k = 0; k < of->n; k++) {
            if (!of->word[k][0] || (k > 0 && strcmp(of->word[k - 1], of->word[k]) >= 0))
                return rw_fail(ctx, RW_ERR_FORMAT,
                               "feature %u: expected words that ascend, found '%.64s'", of->feature,
                               of->word[k]);
        }
    }
    return RW_OK;
}

int rw_model_check(struct rw_ctx *ctx, const struct rw_model *model)
{
    int64_t left = model->n_trees;
    for (int32_t k = 0; k < model->n_earlier; k++) {
        left -= model->earlier[k].n_trees;
        RW_TRY(check_params(ctx, &model->earlier[k].params));
    }
    if (left < 0 || model->best_round < 0 || model->best_round > model->n_trees)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "a best round or earlier trainings past the last of %d trees",
                       model->n_trees);
    RW_TRY(check_params(ctx, &model->params));
    RW_TRY(check_features(ctx, model));
    RW_TRY(check_categories(ctx, &model->categories));
    for (int32_t i = 0; i < model->n_trees; i++) {
        char where[32];
        snprintf(where, sizeof(where), "tree %d: ", i + 1);
        RW_TRY(rw_tree_check(ctx, &model->tree[i], where));
        RW_TRY(check_sets(ctx, model, &model->tree[i], where));
    }
    return RW_OK;
}

/* ---- simple properties ---- */

int rw_model_n_trees(const struct rw_model *model)
{
    return model->n_trees;
}

float rw_model_absent(const struct rw_model *model)
{
    return model->absent_missing ? rw_float_of_bits(RW_MISSING_BITS) : 0.0f;
}

const char *rw_model_feature_name(const struct rw_model *model, uint32_t feature)
{
    return rw_name_of(model->name, model->n_names, feature);
}

/* ---- calibration ---- */

int rw_model_calibration(const struct rw_model *model, struct rw_calibration *out)
{
    const struct rw_score_map *map = &model->map;
    memset(out, 0, sizeof(*out));
    if (map->kind == RW_SCORE_MAP_NONE)
        return 0;
    *out = (struct rw_calibration){
        .method = map->kind == RW_SCORE_MAP_ISOTONIC ? "isotonic" : "logistic",
        .relevant = map->relevant,
        .slope = map->slope,
        .intercept = map->intercept,
        .n_knots = map->n_knots,
        .score = map->score,
        .probability = map->probability,
    };
    return 1;
}

int rw_model_probabilities(struct rw_ctx *ctx, const struct rw_model *model, const double *scores,
                           size_t n, double *probabilities)
{
    RW_DEFAULT_FPENV;
    if (model->map.kind == RW_SCORE_MAP_NONE)
        return rw_fail(ctx, RW_ERR_DATA,
                       "the model has no calibration\n"
                       "hint: 'rankwood calibrate' adds one, from documents with labels");
    for (size_t i = 0; i < n; i++)
        probabilities[i] = rw_score_map_of(&model->map, scores[i]);
    return RW_OK;
}

/* ---- which data fits a model ---- */

/* Returns the rule for data whose columns are not found by name. librankwood-score uses it for
 * single rows, too. */
struct rw_column_rule rw_column_rule_of(const struct rw_model *model, uint32_t n_needed)
{
    struct rw_column_rule rule = {
        .of = "the model", .kind = model->columns, .width = model->width, .n_needed = n_needed};
    if (model->n_features)
        rule.n_ids = model->feature[model->n_features - 1] + 1;
    return rule;
}

struct rw_column_view rw_column_view_rows(uint32_t n_features, uint32_t first_feature)
{
    return (struct rw_column_view){.what = "the data",
                                   .width = first_feature ? 0 : n_features,
                                   .n_ids = first_feature ? first_feature + n_features : 0};
}

/* Checks an array against a rule of LETOR text, whose ids usually begin at 1. The array fits if it
 * has a column for each id from 0 on. Otherwise its first column may be feature 0 or feature 1, and
 * the message asks which. */
static int check_array_for_ids(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                               const struct rw_column_view *view)
{
    if (rule->n_ids == 0 || view->width == rule->n_ids)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s has %u columns, numbered from 0; %s has features by id, up to %u, as LETOR "
                   "text has them\n"
                   "hint: of an array, say which feature the first column is: feature_base=1 for "
                   "columns that are features 1 to %u, feature_base=0 for 0 to %u; of a file, "
                   "write LETOR text with these ids, or train the model on such a file",
                   view->what, view->width, rule->of, rule->n_ids - 1, view->width,
                   view->width - 1);
}

static int check_array(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                       const struct rw_column_view *view)
{
    const int knows_width = rule->kind == RW_COLUMNS_NUMBERED || rule->kind == RW_COLUMNS_NAMED;
    if (rule->kind == RW_COLUMNS_LETOR)
        return check_array_for_ids(ctx, rule, view);
    if (knows_width ? view->width == rule->width : view->width >= rule->n_needed)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s has %u features; %s expects %s%u\n"
                   "hint: columns without names go by position, so there must be as many as in "
                   "training",
                   view->what, view->width, rule->of, knows_width ? "" : "at least ",
                   knows_width ? rule->width : rule->n_needed);
}

int rw_column_rule_check(struct rw_ctx *ctx, const struct rw_column_rule *rule,
                         const struct rw_column_view *view)
{
    if (view->by_name)
        return RW_OK;
    if (view->width)
        return check_array(ctx, rule, view);
    if (rule->width == 0 || view->n_ids <= rule->width)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_DATA,
                   "%s has feature %u; %s has columns 0 to %u\n"
                   "hint: LETOR text counts features from 1, arrays and tables count columns from "
                   "0; a model of another program that was trained on such text is imported with "
                   "--feature-base 1",
                   view->what, view->n_ids - 1, rule->of, rule->width - 1);
}

/* ---- uses of features ---- */

static int by_falling_gain(const void *a, const void *b)
{
    const struct rw_feature_use *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

uint32_t rw_model_n_ids(const struct rw_model *model)
{
    uint32_t end = 0;
    for (int32_t i = 0; i < model->n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++)
            end = tree->feature[node] < end ? end : tree->feature[node] + 1;
    }
    return end;
}

int rw_model_uses(struct rw_ctx *ctx, const struct rw_model *model, struct rw_feature_use **out)
{
    const uint32_t n = rw_model_n_ids(model);
    RW_TRY(RW_NEW(ctx, *out, n));
    for (int32_t i = 0; i < model->n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            struct rw_feature_use *use = &(*out)[tree->feature[node]];
            use->n_splits++;
            use->gain += tree->gain[node];
        }
    }
    return (int)n;
}

int rw_model_features(const struct rw_model *model, struct rw_feature_use *uses, int room)
{
    RW_DEFAULT_FPENV;
    RW_FREED struct rw_feature_use *all = NULL;
    const int end = rw_model_uses(NULL, model, &all);
    RW_TRY(end);
    int n = 0;
    for (uint32_t f = 0; f < (uint32_t)end; f++) {
        if (all[f].n_splits == 0)
            continue;
        all[n] = all[f];
        all[n].feature = f;
        all[n].name = rw_model_feature_name(model, f);
        n++;
    }
    RW_SORT(all, (size_t)n, by_falling_gain);
    for (int i = 0; i < n && i < room; i++)
        uses[i] = all[i];
    return n;
}

/* ---- the map of scores to probabilities ---- */

void rw_score_map_release(struct rw_score_map *map)
{
    rw_mem_free(map->score);
    rw_mem_free(map->probability);
    *map = (struct rw_score_map){0};
}

void rw_score_map_leave_out(struct rw_ctx *ctx, const struct rw_score_map *map)
{
    if (map->kind != RW_SCORE_MAP_NONE)
        rw_log(ctx, RW_LOG_NOTE,
               "the model's calibration was dropped, because the scores of the new model differ");
}

int rw_score_map_copy(struct rw_ctx *ctx, const struct rw_score_map *from, struct rw_score_map *to)
{
    const size_t n = (size_t)from->n_knots;
    *to = *from;
    to->score = to->probability = NULL;
    if (n == 0)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, to->score, n));
    RW_TRY(RW_NEW_RAW(ctx, to->probability, n));
    memcpy(to->score, from->score, n * sizeof(*to->score));
    memcpy(to->probability, from->probability, n * sizeof(*to->probability));
    return RW_OK;
}

double rw_sigmoid(double x)
{
    const double most = 600.0; /* beyond, exp(-|x|) is negligible compared with 1 */
    const double size = fabs(x);
    const double small = size < most ? rw_exp2(size * -1.4426950408889634) : 0.0;
    return (x < 0.0 ? small : 1.0) / (1.0 + small);
}

static double between_knots(const struct rw_score_map *map, double score)
{
    int32_t low = 0,
            high = map->n_knots; /* the scores of knots below `low` are at most the score */
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (map->score[middle] <= score)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || low == map->n_knots)
        return map->probability[low == 0 ? 0 : low - 1];
    const double *x = map->score + low - 1, *y = map->probability + low - 1;
    const double value = y[0] + (y[1] - y[0]) * ((score - x[0]) / (x[1] - x[0]));
    return value < y[1] ? value : y[1];
}

double rw_score_map_of(const struct rw_score_map *map, double score)
{
    if (score != score || map->kind == RW_SCORE_MAP_NONE)
        return (double)NAN;
    if (map->kind == RW_SCORE_MAP_LOGISTIC) /* 0 x infinity is NaN */
        return rw_sigmoid((map->slope > 0.0 ? map->slope * score : 0.0) + map->intercept);
    return between_knots(map, score);
}

/* ---- trees ---- */

/* Bytes per node, and per leaf, of the arrays that share an allocation. The gains are first, so
 * their address is that of the allocation. */
enum { NODE_BYTES = 8 + 4 * 4 + 1, LEAF_BYTES = 4 };

int rw_tree_init(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves)
{
    memset(tree, 0, sizeof(*tree));
    if (n_leaves < 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a tree of %d leaves; expected 1 or more", n_leaves);
    const size_t n = (size_t)n_leaves - 1;
    RW_TRY(rw_mem_new(ctx, (void **)&tree->gain, n * NODE_BYTES + (n + 1) * LEAF_BYTES, 1));
    tree->left = (int32_t *)(void *)(tree->gain + n);
    tree->right = tree->left + n;
    tree->feature = (uint32_t *)(void *)(tree->right + n);
    tree->cut = (float *)(void *)(tree->feature + n);
    tree->leaf = tree->cut + n;
    tree->missing_left = (uint8_t *)(tree->leaf + n + 1);
    tree->n_leaves = n_leaves;
    return RW_OK;
}

int rw_tree_add_sets(struct rw_ctx *ctx, struct rw_tree *tree)
{
    const size_t n_nodes = (size_t)tree->n_leaves - 1;
    if (tree->set)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, tree->by_set, n_nodes));
    return RW_NEW(ctx, tree->set, n_nodes);
}

int rw_tree_add_covers(struct rw_ctx *ctx, struct rw_tree *tree)
{
    if (tree->hessian || tree->n_leaves == 1)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, tree->docs, (size_t)tree->n_leaves));
    return RW_NEW(ctx, tree->hessian, (size_t)tree->n_leaves);
}

void rw_tree_release(struct rw_tree *tree)
{
    rw_mem_free(tree->docs);
    rw_mem_free(tree->hessian);
    rw_mem_free(tree->by_set);
    rw_mem_free(tree->set);
    rw_mem_free(tree->gain);
    memset(tree, 0, sizeof(*tree));
}

static int copy_arrays(struct rw_ctx *ctx, const struct rw_tree *from, struct rw_tree *to)
{
    const size_t n = (size_t)from->n_leaves - 1;
    memcpy(to->gain, from->gain, n * NODE_BYTES + (n + 1) * LEAF_BYTES);
    if (from->set) {
        RW_TRY(rw_tree_add_sets(ctx, to));
        memcpy(to->by_set, from->by_set, n * sizeof(*to->by_set));
        memcpy(to->set, from->set, n * sizeof(*to->set));
    }
    if (from->hessian) {
        RW_TRY(rw_tree_add_covers(ctx, to));
        memcpy(to->docs, from->docs, (n + 1) * sizeof(*to->docs));
        memcpy(to->hessian, from->hessian, (n + 1) * sizeof(*to->hessian));
    }
    return RW_OK;
}

int rw_tree_copy(struct rw_ctx *ctx, const struct rw_tree *from, struct rw_tree *to)
{
    RW_TRY(rw_tree_init(ctx, to, from->n_leaves));
    const int status = copy_arrays(ctx, from, to);
    if (status < 0)
        rw_tree_release(to);
    return status;
}

/* Checks a child of `node`, and marks it as reached. A child's number is larger than its parent's,
 * so one pass in the order of numbers reaches every parent before its children, and there are no
 * cycles. */
static int reach(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where, int32_t node,
                 int32_t child, const char *side, uint8_t *node_seen, uint8_t *leaf_seen)
{
    const int32_t n_nodes = tree->n_leaves - 1;
    const int is_leaf = child < 0;
    const int32_t number = is_leaf ? ~child : child;
    const char *kind = is_leaf ? "leaf" : "node";
    if (number >= (is_leaf ? tree->n_leaves : n_nodes))
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%snode %d: its %s child is %s %d; expected one below %d", where, node, side,
                       kind, number, is_leaf ? tree->n_leaves : n_nodes);
    if (!is_leaf && number <= node)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%snode %d: its %s child is node %d; expected a larger number", where, node,
                       side, number);
    uint8_t *seen = is_leaf ? &leaf_seen[number] : &node_seen[number];
    if (*seen)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%snode %d: its %s child is %s %d, which has a parent already", where, node,
                       side, kind, number);
    *seen = 1;
    return RW_OK;
}

static int check_node(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where,
                      int32_t node)
{
    if (tree->feature[node] > RW_MAX_FEATURE)
        return rw_fail(ctx, RW_ERR_FORMAT, "%snode %d: feature %u; expected at most %d", where,
                       node, tree->feature[node], RW_MAX_FEATURE);
    if (!isfinite(tree->cut[node]))
        return rw_fail(ctx, RW_ERR_FORMAT, "%snode %d: its threshold is not a finite number", where,
                       node);
    if (!isfinite(tree->gain[node]))
        return rw_fail(ctx, RW_ERR_FORMAT, "%snode %d: its gain is not a finite number", where,
                       node);
    if (tree->missing_left[node] > 1)
        return rw_fail(ctx, RW_ERR_FORMAT, "%snode %d: missing goes neither left nor right", where,
                       node);
    return RW_OK;
}

static int check_leaf(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where,
                      int32_t leaf)
{
    if (!isfinite(tree->leaf[leaf]))
        return rw_fail(ctx, RW_ERR_FORMAT, "%sleaf %d: not a finite number", where, leaf);
    if (tree->hessian && !(tree->docs[leaf] >= 0.0 && tree->docs[leaf] <= RW_MOST_COVER_DOCS))
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%sleaf %d: its documents are not a number from 0 to 2^53", where, leaf);
    if (tree->hessian && !(isfinite(tree->hessian[leaf]) && tree->hessian[leaf] >= 0.0f))
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%sleaf %d: its hessian is not a finite number, 0 or more", where, leaf);
    return RW_OK;
}

int rw_tree_check(struct rw_ctx *ctx, const struct rw_tree *tree, const char *where)
{
    if (tree->n_leaves < 1)
        return rw_fail(ctx, RW_ERR_FORMAT, "%sa tree of %d leaves; expected 1 or more", where,
                       tree->n_leaves);
    const int32_t n_nodes = tree->n_leaves - 1;
    RW_FREED uint8_t *seen = NULL; /* [n_nodes] nodes, then [n_leaves] leaves */
    RW_TRY(RW_NEW(ctx, seen, (size_t)n_nodes + (size_t)tree->n_leaves));
    uint8_t *leaf_seen = seen + n_nodes;
    for (int32_t i = 0; i < n_nodes; i++) {
        if (i > 0 && !seen[i])
            return rw_fail(ctx, RW_ERR_FORMAT, "%snode %d: no earlier node has it as a child",
                           where, i);
        RW_TRY(check_node(ctx, tree, where, i));
        RW_TRY(reach(ctx, tree, where, i, tree->left[i], "left", seen, leaf_seen));
        RW_TRY(reach(ctx, tree, where, i, tree->right[i], "right", seen, leaf_seen));
    }
    /* No node or leaf was reached twice. All leaves were reached, because the children are as many
     * as the leaves and the nodes without the root. */
    for (int32_t i = 0; i < tree->n_leaves; i++)
        RW_TRY(check_leaf(ctx, tree, where, i));
    return RW_OK;
}
