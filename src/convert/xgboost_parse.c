#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "convert/xgboost_model.h"

struct reading {
    struct rw_ctx *ctx;
    const struct rw_source *source;
    const char *leaf_name;
    int32_t number; /* of the tree, from 1 */
    uint32_t n_columns;
};

/* XGBoost's parameters are texts: "0", "5E-1", "[5E-1]". */
static int number_of(struct reading *r, const char *name, const char *text, double *out)
{
    const char *begin = text, *end = text + strlen(text);
    int clamped = 0;
    if (end - begin >= 2 && *begin == '[' && end[-1] == ']') {
        begin++;
        end--;
        if (memchr(begin, ',', (size_t)(end - begin)))
            return rw_refuse(r->ctx, r->source, "'%s' of several outputs: %.60s", name, text);
    }
    if (rw_number_parse_double(begin, end, out, &clamped) != end || clamped)
        return rw_refuse(r->ctx, r->source, "'%s': expected a number, found '%.60s'", name, text);
    return RW_OK;
}

static int param(struct reading *r, const json_t *object, const char *name, double least,
                 double most, double *out)
{
    const char *text;
    RW_TRY(rw_json_text(r->ctx, r->source, object, name, &text));
    RW_TRY(number_of(r, name, text, out));
    if (*out >= least && *out <= most && *out == floor(*out))
        return RW_OK;
    return rw_refuse(r->ctx, r->source, "'%s' is %.40s; expected %.0f to %.0f", name, text, least,
                     most);
}

/* Those whose prediction is base_score and the sum of the leaves. */
static int check_objective(struct reading *r, const json_t *learner)
{
    static const char *const plain[] = {"rank:ndcg",         "rank:map",
                                        "rank:pairwise",     "reg:squarederror",
                                        "reg:linear",        "reg:squaredlogerror",
                                        "reg:absoluteerror", "reg:pseudohubererror",
                                        "reg:quantileerror"};
    json_t *objective;
    const char *name;
    RW_TRY(rw_json_object(r->ctx, r->source, learner, "objective", &objective));
    RW_TRY(rw_json_text(r->ctx, r->source, objective, "name", &name));
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        if (strcmp(name, plain[i]) == 0)
            return RW_OK;
    return rw_refuse(r->ctx, r->source,
                     "objective '%.60s', whose prediction is not the sum of the leaves", name);
}

static int read_columns(struct reading *r, const json_t *learner, struct rw_ensemble *out)
{
    json_t *names = json_object_get(learner, "feature_names");
    RW_TRY(rw_ensemble_set_columns(r->ctx, out, r->n_columns));
    memset(out->column_had, 1, r->n_columns);
    if (!names || json_array_size(names) == 0)
        return RW_OK;
    RW_TRY(
        rw_json_array(r->ctx, r->source, learner, "feature_names", (int64_t)r->n_columns, &names));
    for (uint32_t i = 0; i < r->n_columns; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        if (!name || strlen(name) != json_string_length(json_array_get(names, i)))
            return rw_refuse(r->ctx, r->source, "'feature_names': element %u is not a text", i);
        RW_TRY(rw_ensemble_name(r->ctx, out, i, name));
    }
    return RW_OK;
}

/* ------------------------------------------------------------------ trees */

struct arrays {
    json_t *left, *right, *index, *condition, *default_left, *leaf;
    json_t *type, *gain; /* NULL: not there */
};

static int get_arrays(struct reading *r, const json_t *tree, int64_t n, struct arrays *a)
{
    struct rw_ctx *ctx = r->ctx;
    const struct rw_source *source = r->source;
    RW_TRY(rw_json_array(ctx, source, tree, "left_children", n, &a->left));
    RW_TRY(rw_json_array(ctx, source, tree, "right_children", n, &a->right));
    RW_TRY(rw_json_array(ctx, source, tree, "split_indices", n, &a->index));
    RW_TRY(rw_json_array(ctx, source, tree, "split_conditions", n, &a->condition));
    RW_TRY(rw_json_array(ctx, source, tree, "default_left", n, &a->default_left));
    RW_TRY(rw_json_array(ctx, source, tree, r->leaf_name, n, &a->leaf));
    a->type = json_object_get(tree, "split_type");
    a->gain = json_object_get(tree, "loss_changes");
    if (a->type)
        RW_TRY(rw_json_array(ctx, source, tree, "split_type", n, &a->type));
    if (a->gain)
        RW_TRY(rw_json_array(ctx, source, tree, "loss_changes", n, &a->gain));
    return RW_OK;
}

static int read_split(struct reading *r, const struct arrays *a, size_t i, struct rw_ens_node *node)
{
    struct rw_ctx *ctx = r->ctx;
    const struct rw_source *source = r->source;
    int64_t index, left, type = 0;
    if (a->type)
        RW_TRY(rw_json_integer_at(ctx, source, a->type, "split_type", i, 0, 255, &type));
    if (type != 0)
        return rw_refuse(ctx, source, "tree %d, node %zu: a categorical split", r->number, i);
    RW_TRY(rw_json_integer_at(ctx, source, a->index, "split_indices", i, 0,
                              (int64_t)r->n_columns - 1, &index));
    RW_TRY(rw_json_number_at(ctx, source, a->condition, "split_conditions", i, &node->threshold));
    node->threshold = (double)rw_json_float(node->threshold);
    RW_TRY(rw_json_integer_at(ctx, source, a->default_left, "default_left", i, 0, 1, &left));
    if (a->gain)
        RW_TRY(rw_json_number_at(ctx, source, a->gain, "loss_changes", i, &node->gain));
    node->column = (uint32_t)index;
    node->less = 1;
    node->nan = left ? RW_NAN_LEFT : RW_NAN_RIGHT;
    return RW_OK;
}

static int read_tree(struct reading *r, const json_t *tree, struct rw_ensemble *out)
{
    json_t *parameters;
    struct arrays a;
    struct rw_ens_tree *to;
    double n, leaf_size = 1;
    RW_TRY(rw_json_object(r->ctx, r->source, tree, "tree_param", &parameters));
    RW_TRY(param(r, parameters, "num_nodes", 1, INT32_MAX, &n));
    if (json_object_get(parameters, "size_leaf_vector"))
        RW_TRY(param(r, parameters, "size_leaf_vector", 0, INT32_MAX, &leaf_size));
    if (leaf_size > 1)
        return rw_refuse(r->ctx, r->source, "tree %d: leaves of several values", r->number);
    RW_TRY(get_arrays(r, tree, (int64_t)n, &a));
    RW_TRY(rw_ensemble_add_tree(r->ctx, out, (int32_t)n, &to));
    for (size_t i = 0; i < (size_t)n; i++) {
        struct rw_ens_node *node = &to->node[i];
        int64_t left, right;
        RW_TRY(rw_json_integer_at(r->ctx, r->source, a.left, "left_children", i, -1, (int64_t)n - 1,
                                  &left));
        RW_TRY(rw_json_integer_at(r->ctx, r->source, a.right, "right_children", i, -1,
                                  (int64_t)n - 1, &right));
        if ((left < 0) != (right < 0))
            return rw_refuse(r->ctx, r->source, "tree %d, node %zu: one child only", r->number, i);
        node->left = (int32_t)left;
        node->right = (int32_t)right;
        if (left >= 0) {
            RW_TRY(read_split(r, &a, i, node));
            continue;
        }
        RW_TRY(rw_json_number_at(r->ctx, r->source, a.leaf, r->leaf_name, i, &node->value));
        node->value = (double)rw_json_float(node->value);
    }
    return RW_OK;
}

/* dart: a factor for each tree; only 1 leaves the leaves as they are. */
static int check_weights(struct reading *r, const json_t *booster, size_t n)
{
    json_t *weights;
    double weight;
    RW_TRY(rw_json_array(r->ctx, r->source, booster, "weight_drop", (int64_t)n, &weights));
    for (size_t i = 0; i < n; i++) {
        RW_TRY(rw_json_number_at(r->ctx, r->source, weights, "weight_drop", i, &weight));
        if (weight != 1)
            return rw_refuse(r->ctx, r->source, "dart: tree %zu has the weight %g", i + 1, weight);
    }
    return RW_OK;
}

static int read_trees(struct reading *r, const json_t *booster, struct rw_ensemble *out)
{
    json_t *model, *trees, *groups, *inner;
    const char *name;
    const json_t *holder = booster;
    int64_t group;
    RW_TRY(rw_json_text(r->ctx, r->source, booster, "name", &name));
    const int dart = strcmp(name, "dart") == 0;
    if (!dart && strcmp(name, "gbtree") != 0)
        return rw_refuse(r->ctx, r->source, "booster '%.40s'; expected 'gbtree'", name);
    if (dart) {
        RW_TRY(rw_json_object(r->ctx, r->source, booster, "gbtree", &inner));
        holder = inner;
    }
    RW_TRY(rw_json_object(r->ctx, r->source, holder, "model", &model));
    RW_TRY(rw_json_array(r->ctx, r->source, model, "trees", -1, &trees));
    const size_t n = json_array_size(trees);
    RW_TRY(rw_json_array(r->ctx, r->source, model, "tree_info", (int64_t)n, &groups));
    if (dart)
        RW_TRY(check_weights(r, booster, n));
    for (size_t i = 0; i < n; i++) {
        RW_TRY(rw_json_integer_at(r->ctx, r->source, groups, "tree_info", i, 0, INT32_MAX, &group));
        if (group != 0)
            return rw_refuse(r->ctx, r->source, "tree %zu belongs to output %lld: several classes",
                             i + 1, (long long)group);
        r->number = (int32_t)i + 1;
        RW_TRY(read_tree(r, json_array_get(trees, i), out));
    }
    return RW_OK;
}

int rw_xgboost_parse(struct rw_ctx *ctx, const struct rw_source *source, const json_t *root,
                     const char *leaf_name, struct rw_ensemble *out)
{
    struct reading r = {.ctx = ctx, .source = source, .leaf_name = leaf_name};
    json_t *learner, *parameters, *booster;
    const char *base;
    double number;
    RW_TRY(rw_json_object(ctx, source, root, "learner", &learner));
    RW_TRY(rw_json_object(ctx, source, learner, "learner_model_param", &parameters));
    RW_TRY(rw_json_object(ctx, source, learner, "gradient_booster", &booster));
    RW_TRY(check_objective(&r, learner));
    if (json_object_get(parameters, "num_target"))
        RW_TRY(param(&r, parameters, "num_target", 0, 1, &number));
    RW_TRY(param(&r, parameters, "num_class", 0, 1, &number));
    RW_TRY(param(&r, parameters, "num_feature", 0, RW_FEATURE_IDS, &number));
    r.n_columns = (uint32_t)number;
    RW_TRY(rw_json_text(ctx, source, parameters, "base_score", &base));
    RW_TRY(number_of(&r, "base_score", base, &number));
    out->base = (double)(float)number;
    RW_TRY(read_columns(&r, learner, out));
    RW_TRY(read_trees(&r, booster, out));
    const char *best = json_string_value(
        json_object_get(json_object_get(learner, "attributes"), "best_iteration"));
    if (best)
        rw_log(ctx, RW_LOG_NOTE, "'%s' tells of a best iteration, %.20s; all its trees are taken",
               source->path, best);
    return RW_OK;
}
