/* Before the first round: parameters and sets are checked, features, rules and metrics made of
 * them, an engine is opened and loaded, and a model or a checkpoint is gone on from. */
#include "base/clock.h"
#include "base/mem.h"
#include "train/booster.h"
#include "train/labels.h"
#include "train/model_params.h"
#include "params/no_effect.h"
#include "train/positions.h"
#include "train/rank_sets.h"
#include "train/train_rules.h"
#include "comm/comm.h"
#include "objective/lambdarank_pairs.h"
#include "tree/plan.h"

void rw_booster_stage(const struct booster *b, const char *name, double *start)
{
    const double now = rw_clock_ms();
    if (b->hooks && b->hooks->on_stage)
        b->hooks->on_stage(b->hooks->user, name, now - *start, rw_mem_peak_bytes());
    *start = now;
}

/* NULL if the caller gives the gradients. */
static const struct rw_objective *objective_by(const struct booster *b,
                                               const struct rw_params *params)
{
    return b->hooks && b->hooks->gradients ? NULL : rw_params_objective(params);
}

const struct rw_objective *rw_booster_objective(const struct booster *b)
{
    return objective_by(b, &b->params);
}

/* One that an engine may compute, or NULL. */
static const struct rw_objective *objective_of_engines(const struct booster *b)
{
    const struct rw_objective *own = rw_booster_objective(b);
    return own && own->device != RW_OBJECTIVE_HOST && !b->params.label_weights[0] ? own : NULL;
}

/* The sets have codes already; from here on the parameter has ids. */
static int prepare_categorical(struct booster *b)
{
    struct rw_category_sets *sets = &b->category_sets;
    if (!sets->codes)
        return RW_OK;
    RW_TRY(rw_feature_list_check(b->ctx, "categorical", 0, b->params.categorical, b->names,
                                 b->n_names, b->params.features[0] ? NULL : b->features.ignore,
                                 b->feature, b->n_features));
    char text[RW_FEATURE_TEXT];
    for (uint32_t f = 0; b->features.monotone && f < b->n_features; f++) {
        if (b->features.monotone[b->feature[f]] && sets->codes[b->feature[f]])
            return rw_fail(b->ctx, RW_ERR_ARGUMENT,
                           "monotone: %s is categorical, and categories have no order",
                           rw_feature_text(b->names, b->n_names, b->feature[f], text));
    }
    b->params.categorical = sets->text;
    return RW_OK;
}

static int prepare_features(struct booster *b)
{
    RW_TRY(rw_names_take(b->ctx, b->params.names, b->set[0], &b->names, &b->n_names));
    rw_names_warn(b->ctx, b->names, b->n_names, b->feature, b->n_features);
    if (b->columns.kind == RW_COLUMNS_NUMBERED && b->n_names)
        b->columns.kind = RW_COLUMNS_NAMED;
    const struct rw_feature_set set = {b->names, b->n_names, b->feature, b->n_features};
    RW_TRY(rw_feature_rules_init(&b->features, b->ctx, &b->params, &set,
                                 rw_category_sets_init(&b->category_sets, b->init)));
    return prepare_categorical(b);
}

static struct rw_plan_data plan_data(const struct booster *b,
                                     const struct rw_metric_plan *const *measured)
{
    struct rw_plan_data data = {b->set, measured, b->n_sets, b->train.bins, 0};
    for (uint32_t f = 0; f < b->n_features; f++)
        data.n_features += !b->features.ignore || !b->features.ignore[b->feature[f]];
    return data;
}

static int open_engine(struct booster *b, const char *device)
{
    rw_train_engine_rules(&b->params, &b->grow_rules, objective_of_engines(b), b->features.ignore,
                          &b->rules);
    rw_params_objective_rule(&b->params, &b->rule);
    b->rules.handed_by = rw_booster_objective(b) ? rw_booster_objective(b)->name : NULL;
    b->rules.rule = &b->rule;
    b->rules.monotone = b->features.monotone;
    b->rules.penalty = b->features.penalty;
    if (b->features.interactions.groups)
        b->rules.interactions = &b->features.interactions;
    b->rules.cut.categories = b->category_sets.codes;
    b->rules.n_other_sets = (uint32_t)b->n_sets - 1;
    for (int set = 1; set < b->n_sets; set++)
        b->rules.other_docs += b->set[set]->n_docs;
    b->choice.rules = &b->rules;
    b->choice.data = plan_data(b, NULL);
    b->choice.rounds = b->params.rounds;
    return rw_choose_device(b->ctx, device, &b->choice, &b->engine);
}

static int load_sets(struct booster *b)
{
    b->engine->keep = b->train.keep;
    RW_TRY(rw_engine_load(b->engine, 0, b->set[0], b->train.bins, b->gain));
    for (int set = 1; set < b->n_sets; set++)
        RW_TRY(rw_engine_load(b->engine, set, b->set[set], b->set[set]->codes, NULL));
    for (int set = 0; set < b->n_sets; set++) {
        if (b->set[set]->start_score)
            RW_TRY(rw_engine_set_scores(b->engine, set, b->set[set]->start_score));
    }
    return RW_OK;
}

static int took_gpu(const struct booster *b)
{
    return b->choice.is_auto && strcmp(b->engine->ops->name, "cuda") == 0;
}

/* The host's engine takes over from the one that `auto` chose. */
static int take_cpu(struct booster *b)
{
    rw_engine_close(b->engine);
    b->engine = NULL;
    RW_TRY(open_engine(b, "cpu"));
    return load_sets(b);
}

static int load_engine(struct booster *b)
{
    int status = RW_OK;
    if (rw_booster_objective(b) && rw_booster_objective(b)->ranks)
        status = rw_labels_gains(b->ctx, &b->params, &b->eval_sets.gains, b->set[0], &b->gain);
    if (status >= 0)
        status = rw_rank_sets_check(b->ctx, &b->train, &b->made, b->set, b->n_sets, b->init,
                                    b->params.metric_on_train,
                                    strcmp(b->engine->ops->name, "cuda") == 0);
    RW_TRY(rw_comm_agree(b->ctx, status));
    if (rw_booster_objective(b))
        RW_TRY(rw_labels_rule(b->ctx, rw_booster_objective(b), &b->rule, b->gain, b->set[0]));
    status = load_sets(b);
    /* many ranks have told each other of the failure: for them it is the end */
    if (status != RW_ERR_MEMORY || !took_gpu(b) || rw_n_ranks(b->ctx) > 1)
        return status;
    rw_log(b->ctx, RW_LOG_NOTE, "device cpu: the GPU has too little free memory for this data");
    return take_cpu(b);
}

static int choose_stop_set(struct booster *b)
{
    unsigned char is_train[RW_MAX_SETS];
    RW_TRY(rw_rank_sets_find_train(b->engine, b->set, b->n_sets, is_train));
    return rw_comm_agree(b->ctx, rw_eval_sets_choose(&b->eval_sets, is_train));
}

static struct rw_facts facts_of(const struct booster *b)
{
    return (struct rw_facts){.grows = 1,
                             .trains = 1,
                             .is_custom = b->hooks && b->hooks->gradients,
                             .n_valid = b->n_sets - 1,
                             .on_gpu = b->engine ? strcmp(b->engine->ops->name, "cuda") == 0
                                                 : RW_FACT_UNKNOWN,
                             .has_table = rw_ctx_n_tables(b->ctx) > 0 ? RW_FACT_UNKNOWN : 0};
}

/* The values that train: numbers for `auto`, and defaults for what has no effect. */
static int take_params(struct booster *b, const struct rw_params *given)
{
    const struct rw_facts facts = facts_of(b);
    RW_TRY(rw_params_copy(b->ctx, given, &b->own));
    RW_TRY(rw_params_resolve(b->ctx, b->own, b->all_docs, b->n_features, b->n_sets - 1));
    RW_TRY(rw_params_drop_idle(b->ctx, b->own, &facts));
    b->params = *b->own;
    return RW_OK;
}

/* Do the data's side columns agree with the parameters? */
static int check_sides(const struct booster *b, const struct rw_params *params)
{
    if ((params->weights[0] || params->query_weights[0]) && !b->set[0]->weight)
        return rw_fail(b->ctx, RW_ERR_ARGUMENT,
                       "parameter '%s' is set, but the training set has none: they are read with "
                       "rw_dataset_read_weights or rw_dataset_read_query_weights",
                       params->weights[0] ? "weights" : "query-weights");
    if (params->start_scores[0] && !b->set[0]->start_score)
        return rw_fail(b->ctx, RW_ERR_ARGUMENT,
                       "parameter 'start-scores' is set, but the training set has none: they are "
                       "read with rw_dataset_read_start_scores");
    RW_TRY(rw_positions_check(b->ctx, params, objective_by(b, params), b->set[0]));
    RW_TRY(rw_labels_check(b->ctx, params, objective_by(b, params), b->set[0]));
    if (strcmp(params->pairs, "given") == 0 && !b->set[0]->pair)
        return rw_fail(
            b->ctx, RW_ERR_ARGUMENT,
            "parameter 'pairs' is given, but the training set has none: they are set with "
            "rw_dataset_set_pairs or read with rw_dataset_read_pairs, and by the program "
            "from '--pairs-file'");
    return RW_OK;
}

/* All but the engine. */
static int prepare_rules(struct booster *b, const struct rw_params *given, double *start)
{
    RW_TRY(rw_params_check(b->ctx, given));
    RW_TRY(rw_params_check_valid(b->ctx, given, b->n_sets - 1));
    if (rw_params_is_set(given, "threads"))
        RW_TRY(rw_ctx_set_threads(b->ctx, given->threads));
    RW_TRY(take_params(b, given));
    RW_TRY(check_sides(b, &b->params));
    if (b->all_docs == 0)
        return rw_fail(b->ctx, RW_ERR_DATA, "the training set has no documents");
    RW_TRY(prepare_features(b));
    RW_TRY(rw_eval_sets_init(&b->eval_sets, b->ctx, &b->params, b->hooks, b->given, b->n_sets));
    rw_booster_stage(b, "metrics", start);
    rw_train_grow_rules(&b->params, b->all_docs, &b->grow_rules);
    b->grow_rules.monotone = b->features.monotone;
    return RW_OK;
}

int rw_booster_params(struct booster *b, struct rw_model_params *out)
{
    return rw_model_params_make(b->ctx, &b->params, &b->eval_sets, b->features.ignore,
                                !rw_booster_objective(b), out);
}

static int prepare_checkpoints(struct booster *b)
{
    struct rw_checkpointer *c = &b->checkpointer;
    if (b->hooks && b->hooks->checkpoints)
        RW_TRY(rw_params_check_apart(b->ctx, &b->params, b->hooks->checkpoints->path));
    RW_TRY(rw_checkpointer_init(c, b->ctx, b->hooks));
    if (!rw_checkpointer_is_on(c))
        return RW_OK;
    RW_TRY(rw_booster_params(b, &c->so_far.params));
    c->so_far.absent_missing = b->params.absent;
    c->so_far.columns = b->columns.kind;
    c->so_far.width = b->columns.width;
    c->so_far.feature = b->feature;
    c->so_far.n_features = b->n_features;
    c->so_far.name = b->names;
    c->so_far.n_names = b->n_names;
    c->so_far.categories = b->category_sets.categories;
    return rw_checkpointer_take(c, &b->eval_sets, rw_booster_objective(b), b->init);
}

static int prepare_own_gradients(struct booster *b)
{
    if (!rw_booster_hands_gradients(b)) /* but another rank's engine may be handed them */
        return rw_comm_agree(b->ctx, RW_OK);
    RW_TRY(RW_NEW_RAW(b->ctx, b->scores, b->set[0]->n_docs));
    if (!rw_booster_objective(b)) {
        RW_TRY(RW_NEW_RAW(b->ctx, b->gradients, b->set[0]->n_docs));
        return RW_NEW_RAW(b->ctx, b->hessians, b->set[0]->n_docs);
    }
    RW_TRY(rw_gradients_new(b->ctx, rw_booster_objective(b), &b->rule, b->set[0],
                            b->engine->first_doc, b->gain, &b->handed));
    int status = rw_positions_give(b->ctx, &b->params, b->handed);
    if (status >= 0)
        status = rw_checkpointer_take_state(&b->checkpointer, b->handed);
    return rw_comm_agree(b->ctx, status);
}

static int continue_model(struct booster *b)
{
    RW_TRY(rw_continuation_init(&b->continuation, b->ctx,
                                rw_category_sets_init(&b->category_sets, b->init), b->set,
                                b->n_sets, b->params.absent));
    b->continuation.feature = b->feature;
    b->continuation.n_features = b->n_features;
    b->continuation.all_docs = b->all_docs;
    b->continuation.train_scores = b->train.scores;
    rw_continuation_warn(&b->continuation, &b->params);
    /* in a checkpoint there are the metrics of these rounds, too */
    struct rw_eval_sets *eval = rw_checkpointer_resumes(&b->checkpointer) ? NULL : &b->eval_sets;
    int status = rw_continuation_replay(&b->continuation, b->engine, eval);
    if (status == RW_ERR_UNSUPPORTED && took_gpu(b)) {
        rw_log(b->ctx, RW_LOG_NOTE, "device cpu: %s", b->ctx->error);
        b->eval_sets.is_registered = 0;
        RW_TRY(take_cpu(b));
        status = rw_continuation_replay(&b->continuation, b->engine, eval);
    }
    RW_TRY(status);
    RW_TRY(rw_continuation_trees(&b->continuation, b->model, &b->tree_room));
    b->first_round = b->model->n_trees;
    b->params.rounds += b->first_round;
    return RW_OK;
}

/* The rounds that were run before. */
static int take_rounds(struct booster *b)
{
    if (b->init)
        RW_TRY(continue_model(b));
    RW_TRY(rw_checkpointer_restore(&b->checkpointer, b->engine, &b->eval_sets, b->params.rounds,
                                   b->model, &b->tree_room));
    b->resumed_round = b->n_complete = b->round = b->model->n_trees;
    for (int t = b->round; t > 0 && b->model->tree[t - 1].n_leaves == 1; t--)
        b->n_empty_trees++;
    b->is_ended = rw_checkpointer_was_ended(&b->checkpointer, b->params.rounds);
    return RW_OK;
}

/* The same on all ranks, whatever GPUs they have. */
static int choose_batch(struct booster *b)
{
    uint64_t batch = (uint64_t)b->engine->batch;
    RW_TRY(rw_comm_max(b->ctx, &batch, 1));
    b->grow_rules.batch = (int32_t)batch;
    return RW_OK;
}

static void tell_start(struct booster *b)
{
    b->ctx->stop_set = b->params.early_stop > 0 ? b->eval_sets.stop_set : 0;
    if (!b->hooks || !b->hooks->on_start)
        return;
    struct rw_params used = b->params;
    used.rounds -= b->first_round;
    used.threads = b->ctx->n_threads;
    if (b->n_sets > 1 && !b->eval_sets.stop_set)
        used.early_stop = 0;
    used.batch = b->grow_rules.batch;
    if (b->choice.is_auto)
        used.device = (char *)b->engine->ops->name;
    b->hooks->on_start(b->hooks->user, &used);
}

/* Reports a round of many pairs before training: one long query makes it take minutes. */
static void tell_pairs(struct booster *b)
{
    enum { MANY = 100000000, MANY_OF_A_QUERY = 10000000, BILLION = 1000000000, LONG_SECONDS = 10 };
    const struct rw_objective *objective = rw_booster_objective(b);
    const struct rw_dataset *train = b->set[0];
    uint64_t most = 0;
    uint32_t longest = 0;
    const uint64_t n = objective ? rw_lambda_count_pairs(objective, &b->rule, train->query_offset,
                                                         train->n_queries, &longest, &most)
                                 : 0;
    if (n < MANY)
        return;
    b->n_pairs = n;
    char expected[96] = "";
    const int on_gpu = strcmp(b->engine->ops->name, "cuda") == 0 && !rw_booster_hands_gradients(b);
    double seconds = 0;
    if (!on_gpu) {
        const double one = rw_lambda_pair_seconds(objective, &b->rule);
        const double all = (double)n * one / b->ctx->n_threads, single = (double)most * one;
        seconds = all > single ? all : single; /* a query is one thread's */
        snprintf(expected, sizeof(expected), ": about %.*f s a round", seconds < 10, seconds);
    }
    /* millions of documents in short queries */
    if (most < MANY_OF_A_QUERY && (on_gpu ? n / BILLION < 10 : seconds < 1))
        return;
    const double number = (double)n / (n < BILLION ? 1e6 : 1e9);
    rw_log(b->ctx, seconds >= LONG_SECONDS ? RW_LOG_WARNING : RW_LOG_NOTE,
           "a round has %.1f %s pairs of documents, %.0f %% of them in the query of %u "
           "documents%s%s",
           number, n < BILLION ? "million" : "billion", 100.0 * (double)most / (double)n, longest,
           expected, seconds >= LONG_SECONDS ? "; 'pairs' topk has fewer" : "");
}

int rw_booster_prepare(struct booster *b, const struct rw_params *params)
{
    double start = rw_clock_ms();
    int status = prepare_rules(b, params, &start);
    status = status < 0 ? status : prepare_checkpoints(b);
    status = status < 0 ? status : open_engine(b, b->params.device);
    RW_TRY(rw_comm_agree(b->ctx, status));
    RW_TRY(rw_checkpointer_agree(&b->checkpointer));
    RW_TRY(rw_choose_agree(b->ctx, &b->choice, &b->engine));
    RW_TRY(rw_eval_sets_share(&b->eval_sets));
    RW_TRY(load_engine(b));
    RW_TRY(choose_stop_set(b));
    if (rw_checkpointer_is_on(&b->checkpointer))
        RW_TRY(rw_checkpointer_take_data(&b->checkpointer, b->engine, b->set, b->n_sets));
    RW_TRY(rw_model_new(b->ctx, &b->model));
    RW_TRY(take_rounds(b));
    if (b->grow_rules.batch == 0)
        RW_TRY(choose_batch(b));
    RW_TRY(rw_grower_new(b->ctx, &b->grow_rules, &b->grower));
    RW_TRY(RW_NEW(b->ctx, b->leaf_slot, rw_grow_max_slots(&b->grow_rules)));
    RW_TRY(prepare_own_gradients(b));
    rw_model_size_init(&b->size, b->n_features, &b->params, &b->eval_sets, b->init);
    rw_model_size_start(&b->size, b->names, b->n_names, b->model);
    rw_booster_stage(b, "cuts and codes", &start);
    const struct rw_facts facts = facts_of(b);
    RW_TRY(rw_comm_agree(b->ctx, rw_params_judge(b->ctx, b->own, &facts))); /* of the device */
    const struct rw_engine_info *info = &b->engine->info;
    rw_log(b->ctx, RW_LOG_DEBUG,
           "engine %s: %u features in %llu bins; left out: %u constant, %u that cannot leave "
           "--min-docs on both sides, %u ignored",
           b->engine->ops->name, info->n_features, (unsigned long long)info->n_bins,
           info->n_constant, info->n_few, info->n_ignored);
    tell_pairs(b);
    tell_start(b);
    return RW_OK;
}

int rw_booster_plan(struct booster *b, const struct rw_params *params, struct rw_plan *out)
{
    struct rw_metric_plan metrics[RW_MAX_SETS];
    const struct rw_metric_plan *measured[RW_MAX_SETS];
    double start = rw_clock_ms();
    RW_TRY(prepare_rules(b, params, &start));
    RW_TRY(open_engine(b, b->params.device));
    for (int set = 0; set < b->n_sets; set++)
        measured[set] = rw_eval_sets_plan(&b->eval_sets, set, &metrics[set]) ? &metrics[set] : NULL;
    const struct rw_plan_data data = plan_data(b, measured);
    return rw_engine_plan(b->engine, &data, out);
}
