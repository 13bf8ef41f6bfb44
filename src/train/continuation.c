/* Continues a model with more rounds. The model must satisfy the constraints of the new training,
 * and its trees are added to the scores of the data. The resulting model records its earlier
 * trainings. The last of them and the new one count as one training if their parameters agree
 * (is_one_training). The end of this file appends parameters to a model and bounds the size of its
 * file. */
#include "train/train.h"

#include <stdlib.h>

size_t rw_most_leaves(const struct rw_model *init)
{
    int32_t most = 1;
    for (int32_t t = 0; t < init->n_trees; t++)
        most = init->tree[t].n_leaves > most ? init->tree[t].n_leaves : most;
    return (size_t)most;
}

int rw_continuation_check(struct rw_ctx *ctx, const struct rw_model *init, const int8_t *direction,
                          const struct rw_interactions *interactions)
{
    struct rw_monotone *room RW_FREED = NULL;
    uint64_t *live RW_FREED = NULL;
    char text[RW_FEATURE_TEXT];
    RW_TRY(RW_NEW(ctx, room, 2 * rw_most_leaves(init) - 1));
    RW_TRY(RW_NEW_RAW(ctx, live, rw_most_leaves(init) * interactions->n_words));
    for (int32_t t = 0; t < init->n_trees; t++) {
        const struct rw_tree *tree = &init->tree[t];
        int32_t broken = direction ? rw_monotone_broken(room, direction, tree) : -1;
        if (broken >= 0)
            RW_TRY(rw_fail(ctx, RW_ERR_ARGUMENT,
                           "the model to continue from violates 'monotone': at its split of %s a "
                           "left leaf is %s a right one (threshold %.9g, tree %d)",
                           rw_feature_text(init->name, init->n_names, tree->feature[broken], text),
                           direction[tree->feature[broken]] > 0 ? "above" : "below",
                           (double)tree->cut[broken], t + 1));
        broken = interactions->groups ? rw_interactions_broken(interactions, tree, live) : -1;
        if (broken >= 0)
            RW_TRY(rw_fail(ctx, RW_ERR_ARGUMENT,
                           "the model to continue from violates 'interactions': %s at node %d of "
                           "tree %d is in no group with the features above it",
                           rw_feature_text(init->name, init->n_names, tree->feature[broken], text),
                           broken, t + 1));
    }
    return RW_OK;
}

/* ---- scores ---- */

/* Adds trees [first, end) to a set's scores, one after the other, by the values of the features,
 * since the engine may not have bins for the trees' thresholds. Categorical features are already
 * codes, so the trees need no vocabulary. If first is 0 and the set has no start scores, the scores
 * of all trees are computed at once, which adds them in the same order. */
static int add_trees(struct rw_engine *engine, const struct rw_sets *sets, int set, int32_t first,
                     int32_t end)
{
    const struct rw_model *init = sets->init;
    const struct rw_dataset *dataset = sets->set[set];
    const int at_once = first == 0 && !dataset->start_score;
    const int32_t n = at_once ? end : 1;
    double *scores RW_FREED = NULL, *leaves RW_FREED = NULL;
    RW_TRY(RW_NEW_RAW(engine->ctx, scores, dataset->n_docs));
    if (!at_once) {
        RW_TRY(RW_NEW_RAW(engine->ctx, leaves, dataset->n_docs));
        RW_TRY(engine->ops->read_scores(engine, set, scores));
    }
    for (int32_t t = first; t < end; t += n) {
        const struct rw_model some = {
            .n_trees = n, .tree = &init->tree[t], .absent_missing = init->absent_missing};
        RW_TRY(rw_predict(engine->ctx, &some, dataset, 0, at_once ? scores : leaves));
        for (uint32_t doc = 0; !at_once && doc < dataset->n_docs; doc++)
            scores[doc] += leaves[doc];
    }
    return rw_engine_set_scores(engine, set, scores);
}

/* Adds all trees to the scores of every set in tree order. These trees are rounds like any other,
 * with metrics of the present sets. Only the last of them can become the best round, so that no
 * tree of the earlier model is dropped. */
static int replay(struct rw_engine *engine, const struct rw_sets *sets, struct rw_eval_sets *eval)
{
    const struct rw_model *init = sets->init;
    const int n = (int)rw_model_n_rounds(init), n_sets = sets->n_sets;
    /* sets from this one on are measured after each round */
    const int measured = !eval ? n_sets : eval->params->metric_on_train ? 0 : 1;
    const double *train_scores =
        sets->train.scores; /* the model's scores, if they are known; else NULL */
    if (train_scores)
        RW_TRY(rw_engine_set_scores(engine, 0, train_scores));
    for (int set = train_scores ? 1 : 0; set < measured; set++)
        RW_TRY(add_trees(engine, sets, set, 0, init->n_trees));
    for (int round = 1, t = 0; round <= n && eval; round++) {
        const int32_t end = t < init->n_trees ? rw_model_round_end(init, t) : t;
        for (int set = measured; set < n_sets && t < end; set++)
            RW_TRY(add_trees(engine, sets, set, t, end));
        t = end;
        if (round == n)
            rw_eval_sets_forget(eval);
        RW_TRY(rw_eval_sets_round(eval, engine, round));
    }
    return RW_OK;
}

/* ---- warnings and the finished model ---- */

/* Warns of features that are important in the model but missing from the training set, and notes
 * parameters that shape trees and differ from the model's training. */
static void warn(struct rw_ctx *ctx, const struct rw_sets *sets, struct rw_params *params)
{
    const struct rw_model *init = sets->init;
    const struct rw_training_features *features = &sets->features;
    uint8_t seen[RW_FEATURE_IDS] = {0};
    char text[512] = "";
    size_t n = 0;
    for (uint32_t f = 0; f < features->n_features; f++)
        seen[features->feature[f]] = 1;
    rw_model_warn_lacking(ctx, init, sets->all_docs, seen);
    rw_score_map_leave_out(ctx, &init->map);
    for (int32_t i = 0; i < init->params.n; i++) {
        const struct rw_run_param *was = &init->params.param[i];
        const int at = rw_param_find(was->name);
        /* skips unknown parameters, those that differ naturally or do not shape a tree, and those
         * that are equal */
        if (at < 0 || at == RW_AT_PARAM_rounds || at == RW_AT_PARAM_ignore ||
            (rw_param_rows[at].info.roles & (RW_ROLE_EVALUATION | RW_ROLE_VALIDATION)) ||
            strcmp(was->value, rw_params_get(params, was->name)) == 0)
            continue;
        const int more = snprintf(text + n, sizeof(text) - n, " --%s %s", was->name, was->value);
        n = more > 0 && (size_t)more < sizeof(text) - n ? n + (size_t)more : n;
        text[n] = 0;
    }
    if (text[0])
        rw_log(ctx, RW_LOG_NOTE, "the model to continue from was trained with%s", text);
}

int rw_continue(struct rw_engine *engine, const struct rw_sets *sets, struct rw_params *params,
                struct rw_eval_sets *eval, struct rw_model *model, size_t *tree_room)
{
    struct rw_ctx *ctx = engine->ctx;
    const struct rw_model *init = sets->init;
    if (init->absent_missing != params->absent)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "the model to continue from reads an absent feature as %s: set 'absent' to %s",
            init->absent_missing ? "missing" : "0", init->absent_missing ? "missing" : "zero");
    warn(ctx, sets, params);
    RW_TRY(replay(engine, sets, eval));
    const int32_t n = init->n_trees + init->empty_rounds * rw_model_bags(&init->params);
    RW_TRY(RW_GROW(ctx, model->tree, *tree_room, (size_t)(model->n_trees + n)));
    /* with the empty trees of later rounds that could not split */
    for (int32_t t = 0; t < n; t++, model->n_trees++) {
        struct rw_tree *tree = &model->tree[model->n_trees];
        RW_TRY(t < init->n_trees ? rw_tree_copy(ctx, &init->tree[t], tree)
                                 : rw_tree_init(ctx, tree, 1));
    }
    return RW_OK;
}

/* Returns 1 if the model's last training is the beginning of this one, so that both count as one
 * training: the parameters are equal except for `rounds`, and it ran all its rounds and kept their
 * trees. */
static int is_one_training(const struct rw_model *init, const struct rw_model *model)
{
    const struct rw_run_param *rounds = rw_model_params_find(&init->params, "rounds");
    if (!rounds || rw_model_bags(&init->params) > 1 || init->params.n != model->params.n ||
        init->best_round > 0 || init->is_interrupted ||
        atoi(rounds->value) != rw_model_last_trees(init) + init->empty_rounds)
        return 0;
    for (int32_t i = 0; i < model->params.n; i++) {
        const struct rw_run_param *ours = &model->params.param[i];
        const struct rw_run_param *theirs = rw_model_params_find(&init->params, ours->name);
        if (!theirs ||
            (strcmp(ours->name, "rounds") != 0 &&
             (strcmp(ours->value, theirs->value) != 0 || ours->is_auto != theirs->is_auto)))
            return 0;
    }
    return 1;
}

/* Adds `more` to the parameter `rounds`. */
static int add_rounds(struct rw_ctx *ctx, struct rw_model *model, int32_t more)
{
    struct rw_run_param *rounds =
        (struct rw_run_param *)rw_model_params_find(&model->params, "rounds");
    char text[24], *copy;
    snprintf(text, sizeof(text), "%lld", atoll(rounds->value) + more);
    RW_TRY(rw_mem_copy_text(ctx, &copy, text));
    rw_mem_free(rounds->value);
    rounds->value = copy;
    return RW_OK;
}

/* Stores the earlier trainings in the model. If the last of them and the new one count as one, its
 * rounds are added to the parameter `rounds`. */
static int add_trainings(struct rw_ctx *ctx, const struct rw_model *init, struct rw_model *model)
{
    const int is_one = is_one_training(init, model);
    const int32_t n = init->n_earlier + !is_one;
    if (n > RW_MODEL_MAX_RUNS)
        return rw_fail(ctx, RW_ERR_DATA, "a model can be continued at most %d times",
                       RW_MODEL_MAX_RUNS);
    if (is_one)
        RW_TRY(add_rounds(ctx, model, rw_model_last_trees(init) + init->empty_rounds));
    RW_TRY(RW_NEW(ctx, model->earlier, (size_t)n));
    for (int32_t k = 0; k < n; k++) {
        const struct rw_model_params *params =
            k < init->n_earlier ? &init->earlier[k].params : &init->params;
        model->n_earlier = k + 1;
        model->earlier[k].n_trees =
            k < init->n_earlier ? init->earlier[k].n_trees : rw_model_last_trees(init);
        RW_TRY(rw_model_params_copy(ctx, params, &model->earlier[k].params));
    }
    /* rw_continue has added empty trees for rounds without a split */
    if (!is_one)
        model->earlier[n - 1].n_trees += init->empty_rounds * rw_model_bags(&init->params);
    return RW_OK;
}

int rw_continuation_finish(struct rw_ctx *ctx, const struct rw_model *init, struct rw_model *model)
{
    RW_TRY(add_trainings(ctx, init, model));
    uint32_t *all, n = 0, i = 0, k = 0;
    RW_TRY(RW_NEW(ctx, all, (size_t)model->n_features + init->n_features));
    while (i < model->n_features || k < init->n_features) { /* both lists ascend */
        const uint32_t ours = i < model->n_features ? model->feature[i] : UINT32_MAX;
        const uint32_t theirs = k < init->n_features ? init->feature[k] : UINT32_MAX;
        all[n++] = ours < theirs ? ours : theirs;
        i += ours <= theirs;
        k += theirs <= ours;
    }
    rw_mem_free(model->feature);
    model->feature = all;
    model->n_features = n;
    if (model->n_names > 0 || init->n_names == 0)
        return RW_OK;
    rw_mem_free(model->name);
    RW_TRY(rw_names_copy(ctx, init->name, init->n_names, &model->name));
    model->n_names = init->n_names;
    return RW_OK;
}

int rw_model_params_add(struct rw_ctx *ctx, const char *name, const char *value, int is_auto,
                        struct rw_model_params *out)
{
    struct rw_run_param *param = &out->param[out->n++];
    param->is_auto = is_auto;
    RW_TRY(rw_mem_copy_text(ctx, &param->name, name));
    return rw_mem_copy_text(ctx, &param->value, value);
}

int rw_model_params_take(struct rw_ctx *ctx, struct rw_params *params, int at,
                         const struct rw_gain_rule *gains, int is_custom,
                         struct rw_model_params *out)
{
    const char *name = rw_param_rows[at].info.name;
    const char *value =
        at == RW_AT_PARAM_objective && is_custom ? "custom" : rw_params_get(params, name);
    char *spec RW_FREED = NULL;
    if (at == RW_AT_PARAM_label_gain)
        RW_TRY(rw_gain_rule_spec(ctx, gains, value, &spec));
    return rw_model_params_add(ctx, name, spec ? spec : value, params->is_chosen[at], out);
}

enum {
    ESCAPED = 4, /* bytes per byte of a name, at most */
    LINE = 64,   /* the rest of a tree's lines */
    HEAD = 4096  /* numbers and lists that grow until the model is finished */
};

/* Adds the size of a model's text, and takes its longest feature name into account. */
static int add_model(struct rw_ctx *ctx, struct rw_model_size *size, const struct rw_model *model)
{
    char *text RW_FREED = NULL;
    size_t n;
    RW_TRY(rw_model_print(ctx, model, &text, &n));
    size->bytes += n;
    for (int32_t i = 0; i < model->n_names; i++) {
        const uint64_t length = strlen(model->name[i].name);
        size->longest_name = length > size->longest_name ? length : size->longest_name;
    }
    return RW_OK;
}

uint64_t rw_model_size_with(const struct rw_model_size *size, int32_t n_leaves)
{
    const uint64_t node = RW_MODEL_NODE_BYTES + ESCAPED * size->longest_name;
    return size->bytes + size->round_bytes + LINE +
           (uint64_t)n_leaves * (node + RW_MODEL_LEAF_BYTES);
}

int rw_model_size_init(struct rw_ctx *ctx, struct rw_model_size *size, const struct rw_model *model,
                       const struct rw_model *init)
{
    struct rw_model bare = *model; /* borrows all */
    bare.n_trees = bare.n_rounds_run = 0;
    *size = (struct rw_model_size){
        .bytes = HEAD, .round_bytes = LINE + RW_MODEL_VALUE_BYTES * (uint64_t)model->n_metrics};
    RW_TRY(add_model(ctx, size, &bare));
    if (init)
        RW_TRY(add_model(ctx, size, init));
    for (int32_t t = init ? init->n_trees : 0; t < model->n_trees; t++)
        size->bytes = rw_model_size_with(size, model->tree[t].n_leaves);
    if (init)
        size->bytes += (uint64_t)init->n_trees * size->round_bytes;
    return RW_OK;
}
