/* Refits a model: keeps the splits of its trees and computes new leaf values from new data.
 * Documents are routed by the model's splits, and a leaf's value follows from the sums over its
 * documents, as in training, and is mixed with the old value (`refit-decay`). The host does all the
 * work, whatever the device. Sums are integers, so the result does not depend on the number of
 * threads or workers. */
#include "train/train.h"

#include "base/system.h"

/* ---- parameters ---- */

static const double default_decay = 0.9; /* LightGBM's refit_decay_rate */

/* If the caller set a parameter that only shapes trees, warns and sets it to its default, since the
 * model determines the trees. */
static int leave_growth(struct rw_ctx *ctx, struct rw_params *params, int at)
{
    const char *name = rw_param_rows[at].info.name;
    if (!(rw_param_rows[at].info.roles & RW_ROLE_TREES) || !params->is_set[at])
        return RW_OK;
    RW_TRY(rw_params_no_effect(ctx, params, name, "in a refit, which keeps the model's trees"));
    params->is_set[at] = params->is_strict[at] = 0;
    return rw_param_assign(ctx, params, at, rw_param_rows[at].info.default_value);
}

/* Gives the parameters that leaf values depend on, if the caller did not set them, the values of
 * the model's training, and `refit-decay` a number. Parameters that only shape trees get their
 * defaults. is_custom: the caller computes the gradients. RW_ERR_ARGUMENT: the training used user
 * gradients, but now the caller neither computes them nor sets an objective. */
static int take_model_params(struct rw_ctx *ctx, struct rw_params *params,
                             const struct rw_model_params *was, int is_custom)
{
    for (int at = 0; at < RW_N_PARAMS; at++) {
        if (!(rw_param_rows[at].info.roles & RW_ROLE_LEAVES))
            continue;
        const struct rw_run_param *value = rw_model_params_find(was, rw_param_rows[at].info.name);
        RW_TRY(leave_growth(ctx, params, at));
        if (at == RW_AT_PARAM_refit_decay || params->is_set[at] || !value)
            continue;
        if (at == RW_AT_PARAM_objective && strcmp(value->value, "custom") == 0) {
            if (is_custom)
                continue;
            return rw_fail(
                ctx, RW_ERR_ARGUMENT,
                "the model to refit was trained with a custom objective: set 'objective'");
        }
        RW_TRY(rw_param_assign(ctx, params, at, value->value));
        params->is_chosen[at] = value->is_auto != 0;
    }
    if (params->refit_decay == RW_AUTO)
        params->refit_decay = default_decay;
    return RW_OK;
}

int rw_refit_params(struct rw_ctx *ctx, struct rw_params *params, const struct rw_model *model)
{
    RW_DEFAULT_FPENV;
    return take_model_params(ctx, params, &model->params, 0);
}

/* Gives parameters without effect in a refit their defaults, with a warning, and checks the others.
 * RW_ERR_ARGUMENT: a value is invalid, or `absent` contradicts the model. */
static int check_params(struct rw_ctx *ctx, struct rw_params *params, const struct rw_model *model,
                        int is_custom, int n_valid)
{
    const struct rw_facts facts = {.trains = 1, .is_custom = is_custom, .n_valid = n_valid};
    RW_TRY(rw_params_drop_idle(ctx, params, &facts));
    if (params->is_set[RW_AT_PARAM_absent] && params->absent != model->absent_missing)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the model to refit reads an absent feature as %s: set 'absent' to %s",
                       model->absent_missing ? "missing" : "0",
                       model->absent_missing ? "missing" : "zero");
    return rw_params_check(ctx, params, RW_PARAMS_TRAIN);
}

/* Writes the parameters that the refitted model stores. gains: stored as label-gain; was: the
 * model's parameters before the refit; out: zeroed. */
static int write_params(struct rw_ctx *ctx, struct rw_params *params,
                        const struct rw_gain_rule *gains, int is_custom,
                        const struct rw_model_params *was, struct rw_model_params *out)
{
    RW_TRY(RW_NEW(ctx, out->param, RW_N_PARAMS + (size_t)was->n));
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const struct rw_run_param *old = rw_model_params_find(was, rw_param_rows[at].info.name);
        if ((rw_param_rows[at].info.roles & RW_ROLE_LEAVES) && rw_params_in_model(params, at))
            RW_TRY(rw_model_params_take(ctx, params, at, gains, is_custom, out));
        else if (old)
            RW_TRY(rw_model_params_add(ctx, old->name, old->value, old->is_auto, out));
    }
    for (int32_t i = 0; i < was->n;
         i++) { /* parameters of other versions, which this one does not know */
        const struct rw_run_param *old = &was->param[i];
        if (rw_param_find(old->name) < 0)
            RW_TRY(rw_model_params_add(ctx, old->name, old->value, old->is_auto, out));
    }
    return RW_OK;
}

/* ---- a refit ---- */

/* With fewer documents, starting a parallel loop costs more than it saves. */
enum { PARALLEL_DOCS = 16384 };

struct refit {
    struct rw_arena arena; /* owns the arrays, except those of `run` */
    struct rw_ctx *ctx;
    const struct rw_train_hooks *hooks; /* may be NULL */
    const struct rw_params *given;      /* as the caller set them */
    const struct rw_model *from;        /* borrowed */
    struct rw_model *model;             /* a copy of `from`, whose leaves change */
    int n_rounds;                       /* of the model */
    struct rw_sets in;
    uint64_t first_doc;       /* number of documents on the workers before this one */
    struct rw_params *params; /* of the model's last training; owned */
    struct rw_eval_sets eval;
    double *score[RW_MAX_SETS]; /* [documents of the set] */
    int32_t *leaf;              /* [documents of the largest set] leaves in the current tree */
    int n_threads;
    struct rw_sum *sum; /* [n_threads][most_leaves] */
    size_t most_leaves;
    float *old;               /* [most_leaves] values of the current tree before the refit */
    struct rw_monotone *room; /* [2 most_leaves] */
    /* The training whose trees are refitted now. */
    struct {
        struct rw_arena arena;    /* owns the arrays */
        struct rw_params *params; /* owned */
        struct rw_gain_rule gains;
        double *gain;     /* [n_docs] gains, if the objective ranks */
        int8_t *monotone; /* [RW_FEATURE_IDS] NULL: no monotone constraints */
        int n_bags;
        int32_t first;                               /* the first tree */
        struct rw_gradients *gradients[RW_MAX_BAGS]; /* [n_bags] */
        /* [n_bags] scores of the training set, [n_docs], from which a bag's gradients are
         * computed. With one bag this is score[0]. */
        double *score[RW_MAX_BAGS];
    } run;
};

static void release_run(struct refit *r)
{
    for (int k = 0; k < r->run.n_bags; k++)
        rw_gradients_free(r->run.gradients[k]);
    rw_gain_rule_release(&r->run.gains);
    rw_params_free(r->run.params);
    rw_arena_free(&r->run.arena);
    memset(&r->run, 0, sizeof(r->run));
}

static void release(struct refit *r)
{
    release_run(r);
    rw_eval_sets_release(&r->eval);
    rw_params_free(r->params);
    rw_sets_release(&r->in);
    rw_model_free(r->model);
    rw_arena_free(&r->arena);
}

/* Returns 1 if the caller computes the gradients. */
static int is_callers(const struct refit *r)
{
    return r->hooks && r->hooks->gradients;
}

/* ---- before the first tree ---- */

/* Returns the parameters of one training of the model; values that it does not store are those
 * of the last training. The caller owns *out. */
static int take_params(const struct refit *r, const struct rw_model_params *was,
                       struct rw_params **out)
{
    struct rw_params *params;
    RW_TRY(rw_params_copy(r->ctx, r->given, out));
    params = *out;
    RW_TRY(take_model_params(r->ctx, params, &r->from->params, is_callers(r)));
    RW_TRY(take_model_params(r->ctx, params, was, is_callers(r)));
    if (params->rate == RW_AUTO) {
        struct rw_params chosen = *params; /* texts are borrowed */
        rw_params_choose(&chosen, r->in.all_docs, r->from->n_features);
        params->rate = chosen.rate;
        params->is_chosen[RW_AT_PARAM_rate] = 1;
    }
    return RW_OK;
}

/* Checks that the data of some worker has at least one feature that the model's trees use. */
static int check_features(const struct refit *r)
{
    struct rw_feature_use *use RW_FREED = NULL;
    uint8_t has[RW_FEATURE_IDS] = {0};
    uint32_t n_used = 0, n_found = 0;
    for (uint32_t i = 0; i < r->in.set[0]->n_columns; i++)
        has[r->in.set[0]->column[i].feature] = 1;
    RW_TRY(rw_workers_any(r->ctx, has));
    const int n_ids = rw_model_uses(r->ctx, r->from, &use);
    RW_TRY(rw_comm_agree(r->ctx, n_ids));
    for (int f = 0; f < n_ids; f++) {
        n_used += use[f].n_splits > 0;
        n_found += use[f].n_splits > 0 && has[f];
    }
    rw_model_warn_lacking(r->ctx, r->from, r->in.all_docs, has);
    if (n_found > 0)
        return RW_OK;
    return rw_comm_agree(
        r->ctx, rw_fail(r->ctx, RW_ERR_DATA,
                        "the data lacks all %u features that the model to refit uses", n_used));
}

/* Checks that the set has numbers for features that the model compares with thresholds. */
static int check_numbers(const struct refit *r, const struct rw_dataset *set)
{
    for (int32_t t = 0; t < r->from->n_trees; t++) {
        const struct rw_tree *tree = &r->from->tree[t];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++)
            if (!rw_tree_by_set(tree, node))
                RW_TRY(rw_categories_check_numbers(r->ctx, set, tree->feature[node]));
    }
    return RW_OK;
}

/* Replaces categories by codes once, instead of once per tree. */
static int recode(struct refit *r)
{
    for (int set = 0; r->from->categories.n && set < r->in.n_sets; set++) {
        RW_TRY(check_numbers(r, r->in.set[set]));
        RW_TRY(rw_sets_recode(r->ctx, &r->in, set, &r->from->categories, r->from->absent_missing));
    }
    return RW_OK;
}

static int make_room(struct refit *r)
{
    uint32_t most = 0;
    for (int set = 0; set < r->in.n_sets; set++) {
        const struct rw_dataset *data = r->in.set[set];
        most = data->n_docs > most ? data->n_docs : most;
        RW_TRY(RW_ARENA_NEW(r->ctx, &r->arena, r->score[set], data->n_docs));
        if (data->start_score && data->n_docs)
            memcpy(r->score[set], data->start_score, data->n_docs * sizeof(double));
    }
    r->most_leaves = rw_most_leaves(r->from);
    r->n_threads = r->in.set[0]->n_docs >= PARALLEL_DOCS ? r->ctx->n_threads : 1;
    RW_TRY(RW_ARENA_NEW(r->ctx, &r->arena, r->leaf, most));
    RW_TRY(RW_ARENA_NEW(r->ctx, &r->arena, r->sum, (size_t)r->n_threads * r->most_leaves));
    RW_TRY(RW_ARENA_NEW(r->ctx, &r->arena, r->old, r->most_leaves));
    return RW_ARENA_NEW(r->ctx, &r->arena, r->room, 2 * r->most_leaves);
}

/* If the model does not store `rate`, as models of other programs, logs which parameters the refit
 * uses. */
static void note_params(const struct refit *r)
{
    struct rw_params *p = r->params;
    char rate[RW_PARAM_ROOM], l2[RW_PARAM_ROOM];
    if (rw_model_params_find(&r->from->params, "rate"))
        return;
    snprintf(rate, sizeof(rate), "%s", rw_params_get(p, "rate"));
    snprintf(l2, sizeof(l2), "%s", rw_params_get(p, "l2"));
    rw_log(r->ctx, RW_LOG_NOTE,
           "the model to refit does not store how it was trained; refitting with --objective %s "
           "--rate %s --l2 %s",
           rw_params_objective(p)->name, rate, l2);
}

/* Prepares everything that needs no other worker. */
static int prepare_own(struct refit *r)
{
    RW_TRY(rw_train_check_files(r->ctx, r->given, r->in.set[0]));
    for (int set = 0; set < r->in.n_sets; set++) {
        if (r->in.set[set]->codes.bins)
            return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                           "a refit needs data sets with values (rw_dataset_read)");
    }
    if (rw_model_n_ids(r->from) == 0)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT, "the model to refit has no tree with a split");
    if (r->given->is_set[RW_AT_PARAM_threads])
        RW_TRY(rw_ctx_set_threads(r->ctx, r->given->threads));
    RW_TRY(take_params(r, &r->from->params, &r->params));
    RW_TRY(check_params(r->ctx, r->params, r->from, is_callers(r), r->in.n_sets - 1));
    r->params->absent = r->from->absent_missing;
    r->params->early_stop = 0; /* a refit keeps all trees */
    if (r->in.all_docs == 0)
        return rw_fail(r->ctx, RW_ERR_DATA, "the training set has no documents");
    note_params(r);
    rw_score_map_leave_out(r->ctx, &r->from->map);
    RW_TRY(rw_model_select(r->ctx, r->from, NULL, &r->model));
    r->model->is_interrupted = 0;
    RW_TRY(rw_eval_sets_init(&r->eval, r->ctx, r->params, r->hooks, r->in.given, r->in.n_sets,
                             r->model));
    r->eval.given = (const double *const *)r->score;
    RW_TRY(recode(r));
    return make_room(r);
}

static int prepare(struct refit *r)
{
    uint64_t all_docs;
    RW_TRY(rw_workers_docs(r->ctx, r->in.set[0], &r->in.all_docs));
    RW_TRY(rw_sets_columns(r->ctx, &r->in, r->from));
    RW_TRY(rw_comm_agree(r->ctx, prepare_own(r)));
    RW_TRY(check_features(r));
    RW_TRY(rw_comm_before(r->ctx, r->in.set[0]->n_docs, &r->first_doc, &all_docs));
    RW_TRY(rw_eval_sets_share(&r->eval));
    r->ctx->stop_set = 0;
    if (r->hooks && r->hooks->on_start) {
        struct rw_params used = *r->params;
        used.threads = r->ctx->n_threads;
        used.device = (char *)"cpu";
        r->hooks->on_start(r->hooks->user, &used);
    }
    return RW_OK;
}

/* ---- a training's trees ---- */

/* Reads the monotone constraints of the model's last training. They hold for the trees of earlier
 * trainings, too. If it has no such constraints, reads those of the current training. */
static int take_order(struct refit *r)
{
    const char *text = r->params->monotone[0] ? r->params->monotone : r->run.params->monotone;
    if (!text[0])
        return RW_OK;
    double *value;
    RW_TRY(RW_ARENA_NEW(r->ctx, &r->run.arena, r->run.monotone, RW_FEATURE_IDS));
    RW_TRY(RW_ARENA_NEW(r->ctx, &r->run.arena, value, RW_FEATURE_IDS));
    RW_TRY(rw_list_values(r->ctx, RW_LIST_MONOTONE, text, &r->in.features, value));
    for (int f = 0; f < RW_FEATURE_IDS; f++)
        r->run.monotone[f] = (int8_t)value[f];
    return RW_OK;
}

/* Prepares one training's parameters and objective, without other workers. */
static int take_run(struct refit *r, const struct rw_model_params *was)
{
    release_run(r);
    RW_TRY(take_params(r, was, &r->run.params));
    RW_TRY(check_params(r->ctx, r->run.params, r->from, is_callers(r), r->in.n_sets - 1));
    RW_TRY(rw_gain_rule_init(r->ctx, &r->run.gains, r->run.params->label_gain));
    RW_TRY(take_order(r));
    RW_TRY(rw_labels_check(r->ctx, r->run.params,
                           is_callers(r) ? NULL : rw_params_objective(r->run.params),
                           r->in.set[0]));
    if (is_callers(r) || !rw_params_objective(r->run.params)->ranks)
        return RW_OK;
    if (strcmp(r->run.params->pairs, "given") == 0 && !r->in.set[0]->pairs.item)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                       "the model to refit was trained on given pairs: pass pairs for this data "
                       "('pairs-file'), or set 'pairs'");
    return rw_labels_gains(r->ctx, &r->run.arena, r->run.params, &r->run.gains, r->in.set[0],
                           &r->run.gain);
}

/* Starts the bags of a training from the scores of all earlier trees. */
static int take_bags(struct refit *r, const struct rw_model_params *was, int32_t n_trees)
{
    const uint32_t n_docs = r->in.set[0]->n_docs;
    const int n = rw_model_bags(was);
    if (n_trees % n != 0)
        return rw_fail(r->ctx, RW_ERR_DATA,
                       "the model to refit has %d trees, which are not whole rounds of %d bags",
                       n_trees, n);
    r->run.n_bags = n;
    for (int k = 0; k < n && n > 1; k++) {
        RW_TRY(RW_ARENA_NEW(r->ctx, &r->run.arena, r->run.score[k], n_docs));
        if (n_docs)
            memcpy(r->run.score[k], r->score[0], n_docs * sizeof(double));
    }
    if (n == 1)
        r->run.score[0] = r->score[0];
    return RW_OK;
}

static int start_run(struct refit *r, const struct rw_model_params *was, int32_t first,
                     int32_t n_trees)
{
    const struct rw_objective *objective = NULL;
    struct rw_objective_rule rule;
    int status = take_run(r, was);
    r->run.first = first;
    RW_TRY(rw_comm_agree(r->ctx, status < 0 ? status : take_bags(r, was, n_trees)));
    if (!is_callers(r)) {
        objective = rw_params_objective(r->run.params);
        rw_params_objective_rule(r->run.params, &rule);
        RW_TRY(rw_labels_rule(r->ctx, objective, &rule, r->run.gain, r->in.set[0]));
    }
    for (int k = 0; k < r->run.n_bags && status >= 0; k++) {
        rule.seed = rw_bag_seed(r->run.params->seed, k);
        status =
            objective
                ? rw_gradients_new(r->ctx, objective, &rule, r->in.set[0], (uint32_t)r->first_doc,
                                   r->run.gain, NULL, &r->run.gradients[k])
                : rw_gradients_by_caller(r->ctx, r->hooks, r->in.given[0], &r->run.gradients[k]);
    }
    return rw_comm_agree(r->ctx, status);
}

/* Stores the parameters of the refitted training in the model. */
static int end_run(struct refit *r, int run)
{
    struct rw_model_params *own =
        run < r->model->n_earlier ? &r->model->earlier[run].params : &r->model->params;
    struct rw_model_params refitted = {0};
    const int status =
        write_params(r->ctx, r->run.params, &r->run.gains, is_callers(r), own, &refitted);
    rw_model_params_release(status < 0 ? &refitted : own);
    if (status >= 0)
        *own = refitted;
    return status;
}

/* ---- a tree ---- */

/* Multiplies real-valued gradients by the documents' weights, and sets the exponents with which
 * they will be scaled to integers. Each tree has its own exponents. */
static int scale_reals(struct refit *r, const struct rw_user_gradients *made,
                       struct rw_leaf_rule *rule)
{
    double largest[2] = {0.0, 0.0};
    const double *weight = r->in.set[0]->weight;
    for (uint32_t i = 0; i < r->in.set[0]->n_docs; i++) {
        if (weight) {
            made->gradient[i] *= weight[i];
            made->hessian[i] *= weight[i];
        }
        const double g = fabs(made->gradient[i]), h = fabs(made->hessian[i]);
        largest[0] = g > largest[0] ? g : largest[0];
        largest[1] = h > largest[1] ? h : largest[1];
    }
    RW_TRY(rw_comm_max_doubles(r->ctx, largest, 2));
    rule->lambda_exponent = rw_fixed_exponent(largest[0], RW_LAMBDA_EXPONENT);
    rule->hess_exponent = rw_fixed_exponent(largest[1], RW_LAMBDA_EXPONENT);
    return RW_OK;
}

struct sum_job {
    const struct refit *refit;
    const struct rw_user_gradients *made;
    double lambda_scale, hess_scale;
};

static int sum_docs(void *user, struct rw_share *share)
{
    const struct sum_job *job = user;
    const struct rw_user_gradients *made = job->made;
    struct rw_sum *sum = job->refit->sum + (size_t)share->thread * job->refit->most_leaves;
    RW_SHARE_EACH(share, doc) {
        const int64_t lambda = made->lambda
                                   ? made->lambda[doc]
                                   : rw_round_int64(made->gradient[doc] * job->lambda_scale);
        const int64_t hess =
            made->lambda ? made->hess[doc] : rw_round_int64(made->hessian[doc] * job->hess_scale);
        rw_sum_add(&sum[job->refit->leaf[doc]], lambda, hess);
    }
    return RW_OK;
}

/* Sums the gradients of each leaf's documents on all workers into the first n_leaves elements of
 * r->sum. */
static int sum_leaves(struct refit *r, const struct rw_user_gradients *made,
                      const struct rw_leaf_rule *rule, size_t n_leaves)
{
    struct sum_job job = {.refit = r,
                          .made = made,
                          .lambda_scale = rw_pow2(rule->lambda_exponent),
                          .hess_scale = rw_pow2(rule->hess_exponent)};
    for (int thread = 0; thread < r->n_threads; thread++)
        memset(r->sum + (size_t)thread * r->most_leaves, 0, n_leaves * sizeof(*r->sum));
    rw_parallel(r->ctx, r->n_threads, r->in.set[0]->n_docs, 0, sum_docs, &job);
    for (int thread = 1; thread < r->n_threads; thread++) {
        for (size_t leaf = 0; leaf < n_leaves; leaf++)
            rw_sum_merge(&r->sum[leaf], &r->sum[(size_t)thread * r->most_leaves + leaf]);
    }
    return rw_workers_leaf_sums(r->ctx, r->sum, (int)n_leaves);
}

/* Computes the leaf values that training would give. Leaves without documents keep their values,
 * limited to the bounds of monotone constraints. Old and new values both satisfy the
 * constraints, and so does every mixture of them. */
static void new_leaves(struct refit *r, const struct rw_leaf_rule *rule, struct rw_tree *tree)
{
    if (r->run.monotone)
        rw_bounded_values(r->room, rule, r->run.monotone, r->sum, 0, tree);
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
        const double old = (double)r->old[leaf];
        const struct rw_bounds *bounds = &r->room[tree->n_leaves - 1 + leaf].bounds;
        if (r->sum[leaf].n == 0 && r->run.monotone)
            tree->leaf[leaf] = (float)rw_within(bounds, old);
        else if (r->sum[leaf].n > 0 && !r->run.monotone)
            tree->leaf[leaf] = rw_leaf_value(rule, &r->sum[leaf]);
    }
}

/* Sets the leaves of a bag's tree, undivided. */
static int set_leaves(struct refit *r, const struct rw_leaf_rule *rule, struct rw_tree *tree)
{
    const double decay = r->run.params->refit_decay;
    RW_TRY(rw_comm_agree(r->ctx, rw_tree_add_covers(r->ctx, tree)));
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        r->old[leaf] = tree->leaf[leaf] = (float)((double)tree->leaf[leaf] * r->run.n_bags);
    new_leaves(r, rule, tree);
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
        const float value =
            (float)(decay * (double)r->old[leaf] + (1.0 - decay) * (double)tree->leaf[leaf]);
        if (!isfinite(value)) /* all workers find the same values, so all fail */
            return rw_comm_agree(
                r->ctx, rw_fail(r->ctx, RW_ERR_DATA,
                                "a leaf's value is beyond the largest float: gradients too large "
                                "for their hessians"));
        tree->leaf[leaf] = value == 0.0f ? 0.0f : value;
        rw_tree_set_cover(tree, leaf, &r->sum[leaf], rule->hess_exponent);
    }
    return RW_OK;
}

/* Finds the leaf of each document. If the values are codes, the tree is applied without its
 * vocabulary. */
static int route(struct refit *r, int set, struct rw_tree *tree)
{
    const struct rw_dataset *data = r->in.set[set];
    const struct rw_model one = {
        .n_trees = 1, .tree = tree, .absent_missing = r->from->absent_missing};
    if (data->n_docs == 0)
        return RW_OK;
    return rw_predict_leaves(r->ctx, &one, data, 0, r->leaf);
}

/* Refits the tree of bag k in the round `number`, counted from 0. */
static int refit_tree(struct refit *r, int32_t number, int k, struct rw_tree *tree)
{
    struct rw_leaf_rule rule = {.rate = rw_params_rate_of_round(r->run.params, (uint32_t)number),
                                .l2 = r->run.params->l2,
                                .lambda_exponent = RW_LAMBDA_EXPONENT,
                                .hess_exponent = RW_LAMBDA_EXPONENT};
    const struct rw_user_gradients *made;
    struct rw_sum all = {0};
    RW_TRY(route(r, 0, tree));
    RW_TRY(
        rw_gradients_run(r->run.gradients[k], (uint32_t)number, rule.rate, r->run.score[k], &made));
    if (is_callers(r))
        RW_TRY(rw_gradients_check(r->ctx, NULL, (uint32_t)r->first_doc, r->in.set[0]->n_docs,
                                  made->gradient, made->hessian));
    if (!made->lambda)
        RW_TRY(scale_reals(r, made, &rule));
    RW_TRY(sum_leaves(r, made, &rule, (size_t)tree->n_leaves));
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        rw_sum_merge(&all, &r->sum[leaf]);
    rule.mean_hess = rw_sum_real(all.hess_hi, all.hess_lo, rule.hess_exponent) / (double)all.n;
    return set_leaves(r, &rule, tree);
}

/* ---- all trees ---- */

/* Returns the parameters of one of the model's trainings; the last one has number n_earlier. */
static const struct rw_model_params *params_of(const struct refit *r, int run)
{
    return run < r->from->n_earlier ? &r->from->earlier[run].params : &r->from->params;
}

static int report_round(struct refit *r, int32_t n_done, int round, double start)
{
    const struct rw_round now = {.round = round,
                                 .n_rounds = r->n_rounds,
                                 .best_round = r->eval.best_round,
                                 .best_value = r->eval.best_value,
                                 .n_leaves = r->model->tree[n_done - 1].n_leaves,
                                 .ms = rw_clock_ms() - start,
                                 .n_docs = r->in.all_docs,
                                 .n_metrics = r->eval.n_values,
                                 .metrics = r->eval.value};
    return r->hooks && r->hooks->on_round && r->hooks->on_round(r->hooks->user, &now);
}

/* Fails if the caller of some worker wants to stop before the last tree, because a partly refitted
 * model is useless. ends: on_round asked for the end. */
static int report_progress(struct refit *r, int32_t number, int ends)
{
    const struct rw_train_hooks *hooks = r->hooks;
    uint64_t wish = ends != 0;
    if (number + 1 == r->model->n_trees)
        return RW_OK;
    if (!wish && hooks && hooks->should_stop)
        wish = hooks->should_stop(hooks->user) != 0;
    RW_TRY(rw_comm_max(r->ctx, &wish, 1));
    if (!wish)
        return RW_OK;
    return rw_comm_agree(
        r->ctx, rw_fail(r->ctx, RW_ERR_INTERRUPTED,
                        "the refit was interrupted after %d of %d trees; it makes no model",
                        number + 1, r->model->n_trees));
}

/* Refits tree number `t`, adds it to all scores, and after the last tree of a round measures the
 * metrics. *round: number of complete rounds. */
static int run_tree(struct refit *r, int32_t t, int *round)
{
    const double start = rw_clock_ms();
    struct rw_tree *tree = &r->model->tree[t];
    const int n_bags = r->run.n_bags, k = (t - r->run.first) % n_bags;
    double *own = r->run.score[k];
    if (tree->n_leaves > 1) {
        RW_TRY(refit_tree(r, *round, k, tree));
        for (uint32_t doc = 0; doc < r->in.set[0]->n_docs && n_bags > 1; doc++)
            own[doc] += (double)tree->leaf[r->leaf[doc]];
        rw_bags_divide(tree, n_bags);
    }
    for (int set = 0; set < r->in.n_sets; set++) {
        if (tree->n_leaves > 1 && set > 0)
            RW_TRY(route(r, set, tree));
        /* a tree of one leaf keeps its value, because it is a base score */
        for (uint32_t doc = 0; doc < r->in.set[set]->n_docs; doc++)
            r->score[set][doc] += (double)tree->leaf[tree->n_leaves > 1 ? r->leaf[doc] : 0];
    }
    if (k + 1 < n_bags)
        return RW_OK;
    ++*round;
    RW_TRY(rw_eval_sets_round(&r->eval, NULL, *round));
    return report_progress(r, t, report_round(r, t + 1, *round, start));
}

static int run(struct refit *r)
{
    int32_t t = 0;
    int round = 0;
    for (int k = 0; k <= r->from->n_earlier; k++)
        r->n_rounds += rw_model_run(r->from, k).n_trees / rw_model_bags(params_of(r, k));
    for (int k = 0; k <= r->from->n_earlier; k++) {
        const int32_t end = t + rw_model_run(r->from, k).n_trees;
        RW_TRY(start_run(r, params_of(r, k), t, end - t));
        for (; t < end; t++)
            RW_TRY(run_tree(r, t, &round));
        RW_TRY(end_run(r, k));
    }
    return RW_OK;
}

int rw_refit(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_model *model,
             const struct rw_dataset *train, const struct rw_dataset *const *valid, int n_valid,
             const struct rw_train_hooks *hooks, struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    struct refit r RW_RELEASED(release) = {
        .ctx = ctx, .hooks = hooks, .given = params, .from = model};
    *out = NULL;
    const double start = rw_clock_ms();
    int status = rw_sets_init(&r.in, ctx, train, valid, n_valid);
    status = status < 0 ? status : prepare(&r);
    RW_TRY(rw_comm_give_up(ctx, status < 0 ? status : run(&r)));
    if (hooks && hooks->on_stage)
        hooks->on_stage(hooks->user, "refit", rw_clock_ms() - start, rw_system_peak_bytes());
    *out = RW_TAKE(r.model);
    return RW_OK;
}
