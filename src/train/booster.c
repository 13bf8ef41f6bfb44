/* Runs a training, from its parameters and sets to its model.
 *
 * Before the first round it checks parameters and sets, prepares features, constraints and
 * metrics, opens and loads an engine, and continues a model or a checkpoint, if there is one. Each
 * round then computes gradients, grows one tree, updates scores, measures metrics and decides
 * whether to stop. At the end, all trees become the model, or with early stopping those up to the
 * round that it keeps (early_stop.c). Empty trees at the end are dropped. rw_train_plan stops
 * before the engine loads data, and returns the engine's plan. */
#include "train/train.h"

#include "base/system.h"
#include "io/input.h"

/* The state of a running training. */
struct progress {
    uint64_t bytes_before;       /* bytes sent to other workers before this round */
    int first_round, first_tree; /* rounds and trees of the model that training continues from */
    int start_round;             /* the last round before those of this process */
    int round;                   /* the last round whose tree is in the model */
    int n_complete;              /* the last round whose tree is in the scores and measured */
    int n_empty_rounds;          /* number of last rounds whose trees have no split */
    uint64_t n_pairs;   /* pairs per round, if they are at least MANY (report_pairs); else 0 */
    int is_ended;       /* 1: on_round ended training */
    int is_interrupted; /* 1: the caller interrupted training before its last round */
    char no_split[256]; /* why the last trees could not be split; "": training did not end for this
                           reason */
};

/* A bag's members except its engine. */
struct bag {
    struct rw_engine_rules rules;
    struct rw_objective_rule rule; /* for the objective */
    struct rw_grower *grower;
    struct rw_gradients *gradients; /* NULL: the engine computes them */
    double *scores;     /* [n_docs] copied from the engine, if the host computes gradients */
    int32_t *leaf_slot; /* [rw_grow_max_slots] slot of each leaf of the grown tree */
    /* of the last tree; add_ms: adding it to the bag's scores */
    struct rw_grow_times times;
    double add_ms;
};

struct booster {
    struct rw_arena arena; /* owns the arrays that are not the model's */
    struct rw_ctx *ctx;
    struct rw_params
        *params; /* effective values; parameters without effect have their defaults; owned */
    const struct rw_train_hooks *hooks;
    struct rw_sets in;
    struct rw_feature_rules features; /* owned */
    struct rw_eval_sets eval_sets;
    struct rw_grow_rules grow_rules;
    struct rw_bags bags;          /* their engines; owned */
    struct rw_engine_cache cache; /* shared by the bags, unless the training set has one */
    struct bag *bag;              /* [bags.n] */
    const struct rw_model *init;  /* the model to continue from, or NULL */
    const struct rw_trial *trial; /* as in rw_train_further, or NULL */
    struct rw_model *model;
    size_t tree_room;
    struct rw_checkpointer checkpointer;
    struct rw_model_size size; /* bound of the model file's size, for callers that reserve space */
    double *gain;              /* [n_labels or 1][n_docs] gains, if the objective ranks */
    struct progress run;
};

static void report_stage(const struct booster *b, const char *name, double *start)
{
    const double now = rw_clock_ms();
    if (b->hooks && b->hooks->on_stage)
        b->hooks->on_stage(b->hooks->user, name, now - *start, rw_system_peak_bytes());
    *start = now;
}

/* ---- before the first round ---- */

static int trains_on_gpu(const struct booster *b)
{
    return strcmp(b->bags.engine[0]->ops->name, "cuda") == 0;
}

/* Returns 1 if the user did not choose the device. */
static int is_auto(const struct booster *b)
{
    return strcmp(b->params->device, "auto") == 0;
}

/* Returns the objective, or NULL if the caller computes the gradients. */
static const struct rw_objective *objective_of(const struct booster *b)
{
    return b->hooks && b->hooks->gradients ? NULL : rw_params_objective(b->params);
}

/* Returns 1 if gradients are computed on the host, from scores that the engine returns. */
static int host_gradients(const struct booster *b)
{
    return !b->bags.engine[0]->rules.objective;
}

/* Checks the parameter 'categorical' and replaces its names by ids. RW_ERR_ARGUMENT: training uses
 * none of an item's features, or a categorical feature has a monotone constraint. */
static int prepare_categorical(struct booster *b)
{
    const struct rw_training_features *features = &b->in.features;
    if (!b->in.category_codes)
        return RW_OK;
    RW_TRY(rw_feature_list_check(b->ctx, "categorical", 0, b->params->categorical, features,
                                 b->params->features[0] ? NULL : b->features.ignore));
    char text[RW_FEATURE_TEXT];
    for (uint32_t f = 0; b->features.monotone && f < features->n_features; f++) {
        const uint32_t id = features->feature[f];
        if (b->features.monotone[id] && b->in.category_codes[id])
            return rw_fail(b->ctx, RW_ERR_ARGUMENT,
                           "monotone: %s is categorical, and categories have no order",
                           rw_feature_text(features->name, features->n_names, id, text));
    }
    return rw_params_own_text(b->ctx, b->params, RW_AT_PARAM_categorical,
                              RW_TAKE(b->in.categorical));
}

static int prepare_features(struct booster *b)
{
    struct rw_model *model = b->model;
    RW_TRY(rw_names_take(b->ctx, b->params->names, b->in.set[0], &model->name, &model->n_names));
    b->in.features.name = model->name;
    b->in.features.n_names = model->n_names;
    rw_names_warn(b->ctx, &b->in.features);
    if (b->in.columns.kind == RW_COLUMNS_NUMBERED && model->n_names)
        b->in.columns.kind = RW_COLUMNS_NAMED;
    RW_TRY(rw_feature_rules_init(&b->features, b->ctx, b->params, &b->in.features));
    if (b->in.init)
        RW_TRY(rw_continuation_check(b->ctx, b->in.init, b->features.monotone,
                                     &b->features.interactions));
    return prepare_categorical(b);
}

static struct rw_plan_data plan_data(const struct booster *b,
                                     const struct rw_metric_plan *const *measured)
{
    struct rw_plan_data data = {b->in.set, measured, b->in.n_sets, b->in.train.bins, 0};
    for (uint32_t f = 0; f < b->in.features.n_features; f++)
        data.n_features += !b->features.ignore || !b->features.ignore[b->in.features.feature[f]];
    return data;
}

static void set_engine_rules(struct booster *b)
{
    const struct rw_params *p = b->params;
    const struct rw_grow_rules *grow = &b->grow_rules;
    const struct rw_objective *own = objective_of(b);
    struct rw_objective_rule *rule = &b->bag->rule;
    struct rw_engine_rules *rules = &b->bag->rules;
    rw_params_objective_rule(p, rule);
    *rules = (struct rw_engine_rules){
        .cut = rw_params_cut_rule(p),
        .objective = own && own->device != RW_OBJECTIVE_HOST && !p->label_weights[0] ? own : NULL,
        .gradients_by = own ? own->name : NULL,
        .rule = rule,
        .lambda = rule->pair,
        .newton = p->split == RW_SPLIT_NEWTON,
        .symmetric = grow->symmetric,
        .split = {.l2 = p->split_l2,
                  .category_smoothing = p->category_smoothing,
                  .category_penalty = p->category_penalty,
                  .min_hessian = p->min_hessian,
                  .min_gain = p->min_gain,
                  .gain_noise = p->gain_noise},
        .min_docs = (uint32_t)p->min_docs,
        .bits = p->bits,
        .nearest = p->rounding == RW_ROUND_NEAREST,
        .seed = p->seed,
        .query_threshold = (uint64_t)rw_round_int64(p->sample_queries * 4294967296.0),
        .bag_threshold = (uint64_t)rw_round_int64(p->bag_queries * 4294967296.0),
        .bag_seed = p->seed,
        .n_bags = (uint32_t)p->bags,
        .feature_threshold = (uint64_t)rw_round_int64(p->sample_features * 4294967296.0),
        .doc_threshold = (uint64_t)rw_round_int64(p->sample_docs * 4294967296.0),
        .node_threshold = (uint64_t)rw_round_int64(p->sample_features_node * 4294967296.0),
        .max_slots = rw_grow_max_slots(grow),
        .max_histograms = rw_grow_max_histograms(grow),
        .leaves = grow->levels ? 1u << grow->depth : (uint32_t)grow->leaves,
        .hist = strcmp(p->hist, "auto") == 0 ? NULL : p->hist,
        .monotone = b->features.monotone,
        .penalty = b->features.penalty,
        .interactions = b->features.interactions.groups ? &b->features.interactions : NULL,
        .n_other_sets = (uint32_t)b->in.n_sets - 1};
    rules->cut.ignore = b->features.ignore;
    rules->cut.categories = b->in.category_codes;
    for (int set = 1; set < b->in.n_sets; set++)
        rules->other_docs += b->in.set[set]->n_docs;
    rw_params_bytes(p->gpu_memory, &rules->device_bytes);
    rules->device_bytes /= (uint64_t)p->bags;
}

static int open_engine(struct booster *b, const char *device)
{
    set_engine_rules(b);
    const struct rw_plan_data data = plan_data(b, NULL);
    return rw_choose_device(b->ctx, device, &b->bag->rules, &data,
                            b->params->rounds * b->params->bags, b->bags.engine);
}

/* Opens the engines of all bags after the first, on the device of the first one. */
static int open_other_engines(struct booster *b)
{
    const char *device = is_auto(b) ? b->bags.engine[0]->ops->name : b->params->device;
    for (int k = 1; k < b->bags.n; k++) {
        struct bag *bag = &b->bag[k];
        bag->rule = b->bag->rule;
        bag->rules = b->bag->rules;
        bag->rules.rule = &bag->rule;
        bag->rules.bag = (uint32_t)k;
        bag->rules.seed = bag->rule.seed = rw_bag_seed(b->params->seed, k);
        bag->rules.other_docs = bag->rules.n_other_sets = 0;
        RW_TRY(rw_engine_open(b->ctx, device, &bag->rules, &b->bags.engine[k]));
    }
    return RW_OK;
}

static int load_sets(struct booster *b)
{
    struct rw_engine *const *engine = b->bags.engine;
    for (int k = 0; k < b->bags.n; k++) {
        engine[k]->cache = b->in.train.cache || b->bags.n == 1 ? b->in.train.cache : &b->cache;
        RW_TRY(rw_engine_load(engine[k], 0, b->in.set[0], b->in.train.bins, b->gain));
    }
    for (int set = 1; set < b->in.n_sets; set++)
        RW_TRY(rw_engine_load(engine[0], set, b->in.set[set], b->in.set[set]->codes.bins, NULL));
    for (int set = 0; set < b->in.n_sets; set++) {
        if (b->in.set[set]->start_score)
            RW_TRY(rw_engine_set_scores(engine[0], set, b->in.set[set]->start_score));
    }
    return rw_bags_check_queries(&b->bags, b->ctx, b->in.set[0]->n_queries);
}

static int load_engine(struct booster *b)
{
    int status = RW_OK;
    if (objective_of(b) && objective_of(b)->ranks)
        status = rw_labels_gains(b->ctx, &b->arena, b->params, &b->eval_sets.gains, b->in.set[0],
                                 &b->gain);
    if (status >= 0)
        status =
            rw_sets_check(b->ctx, &b->in, b->init, b->params->metric_on_train, trains_on_gpu(b));
    RW_TRY(rw_comm_agree(b->ctx, status));
    if (objective_of(b))
        RW_TRY(rw_labels_rule(b->ctx, objective_of(b), &b->bag->rule, b->gain, b->in.set[0]));
    status = open_other_engines(b);
    status = status < 0 ? status : load_sets(b);
    const int took_gpu = is_auto(b) && trains_on_gpu(b);
    /* with several workers, all of them know of the failure, so it ends training */
    if (status != RW_ERR_MEMORY || !took_gpu || rw_n_workers(b->ctx) > 1)
        return status;
    rw_log(b->ctx, RW_LOG_NOTE,
           "training on the CPU: the GPU has too little free memory for this data");
    const struct rw_objective_rule rule = b->bag->rule; /* with what rw_labels_rule found */
    rw_bags_close(&b->bags);
    RW_TRY(open_engine(b, "cpu"));
    b->bag->rule = rule;
    RW_TRY(open_other_engines(b));
    return load_sets(b);
}

static struct rw_facts facts_of(const struct booster *b)
{
    return (struct rw_facts){.grows = 1,
                             .trains = 1,
                             .is_custom = b->hooks && b->hooks->gradients,
                             .n_valid = b->in.n_sets - 1,
                             .on_gpu = b->bags.engine[0] ? trains_on_gpu(b) : RW_FACT_UNKNOWN};
}

/* Prepares everything except the engine. */
static int prepare_rules(struct booster *b, const struct rw_params *given, double *start)
{
    RW_TRY(
        rw_params_check(b->ctx, given, b->in.n_sets > 1 ? RW_PARAMS_TRAIN : RW_PARAMS_TRAIN_ALONE));
    if (given->is_set[RW_AT_PARAM_threads])
        RW_TRY(rw_ctx_set_threads(b->ctx, given->threads));
    /* `auto` becomes a number, and parameters without effect get their defaults */
    const struct rw_facts facts = facts_of(b);
    RW_TRY(rw_params_copy(b->ctx, given, &b->params));
    const struct rw_data_size size = {.n_docs = b->in.all_docs,
                                      .n_features = b->in.features.n_features,
                                      .n_valid = b->in.n_sets - 1,
                                      .has_custom_metric = b->hooks && b->hooks->metric,
                                      .n_valid_queries = b->in.valid_queries};
    RW_TRY(rw_params_resolve_size(b->ctx, b->params, &size));
    RW_TRY(rw_params_drop_idle(b->ctx, b->params, &facts));
    RW_TRY(rw_train_check_sides(b->ctx, b->params, objective_of(b), b->in.set[0]));
    if (b->in.all_docs == 0)
        return rw_fail(b->ctx, RW_ERR_DATA, "the training set has no documents");
    RW_TRY(rw_bags_check(b->ctx, b->params, objective_of(b)));
    RW_TRY(RW_ARENA_NEW(b->ctx, &b->arena, b->bag, (size_t)b->params->bags));
    b->bags.n = b->params->bags;
    RW_TRY(prepare_features(b));
    RW_TRY(rw_eval_sets_init(&b->eval_sets, b->ctx, b->params, b->hooks, b->in.given, b->in.n_sets,
                             b->model));
    RW_TRY(rw_stop_rule_init(&b->eval_sets));
    if (b->trial)
        RW_TRY(rw_eval_sets_report_queries(&b->eval_sets, b->trial));
    report_stage(b, "metrics", start);
    b->grow_rules = (struct rw_grow_rules){.levels = b->params->grow != RW_GROW_LEAVES,
                                           .symmetric = b->params->grow == RW_GROW_SYMMETRIC,
                                           .leaves = rw_params_leaves(b->params, b->in.all_docs),
                                           .depth = b->params->depth,
                                           .batch = b->params->batch,
                                           .min_docs = (uint32_t)b->params->min_docs,
                                           .l2 = b->params->l2,
                                           .monotone = b->features.monotone};
    return RW_OK;
}

/* Fills the model's description of data and parameters, except names and features. */
static int describe(struct booster *b)
{
    struct rw_model *model = b->model;
    model->absent_missing = b->params->absent;
    model->columns = b->in.columns.kind;
    model->width = b->in.columns.width;
    RW_TRY(rw_categories_copy(b->ctx, &b->in.categories, &model->categories));
    RW_TRY(RW_NEW(b->ctx, model->params.param, RW_N_PARAMS));
    for (int at = 0; at < RW_N_PARAMS; at++) {
        if (at == RW_AT_PARAM_ignore && b->features.ignore) {
            char *ids RW_FREED = NULL;
            RW_TRY(rw_ignore_text(b->ctx, b->features.ignore, &ids));
            RW_TRY(rw_model_params_add(b->ctx, "ignore", ids, b->params->is_chosen[at],
                                       &model->params));
        } else if (rw_params_in_model(b->params, at)) {
            RW_TRY(rw_model_params_take(b->ctx, b->params, at, &b->eval_sets.gains,
                                        !objective_of(b), &model->params));
        }
    }
    return RW_OK;
}

static int prepare_checkpoints(struct booster *b)
{
    struct rw_checkpointer *c = &b->checkpointer;
    if (b->hooks && b->hooks->checkpoints)
        RW_TRY(rw_params_check_not_input(b->ctx, b->params, b->hooks->checkpoints->path));
    RW_TRY(rw_checkpointer_init(c, b->ctx, b->hooks));
    if (b->trial)
        c->resumed = *b->trial->paused, *b->trial->paused = (struct rw_checkpoint){0};
    RW_TRY(describe(b));
    if (!c->how)
        return RW_OK;
    return rw_checkpointer_take(c, b->model, &b->eval_sets, objective_of(b), b->init);
}

static int give_propensities(struct booster *b)
{
    struct rw_input *input RW_SCOPED(rw_input_close) = NULL;
    char *text RW_FREED = NULL;
    size_t n = 0;
    if (!b->params->propensities[0])
        return RW_OK;
    RW_TRY(rw_input_open(b->ctx, b->params->propensities, &input));
    RW_TRY(rw_input_read_all(b->ctx, input, &text, &n));
    return rw_gradients_read(b->bag->gradients, 1, rw_input_name(input), text, n);
}

static int prepare_own_gradients(struct booster *b)
{
    if (!host_gradients(
            b)) /* only this worker: the engine of another worker may use host gradients */
        return rw_comm_agree(b->ctx, RW_OK);
    for (int k = 0; k < b->bags.n; k++) {
        struct bag *bag = &b->bag[k];
        RW_TRY(RW_ARENA_NEW(b->ctx, &b->arena, bag->scores, b->in.set[0]->n_docs));
        RW_TRY(objective_of(b)
                   ? rw_gradients_new(b->ctx, objective_of(b), &bag->rule, b->in.set[0],
                                      b->bags.engine[k]->first_doc, b->gain, NULL, &bag->gradients)
                   : rw_gradients_by_caller(b->ctx, b->hooks, b->in.given[0], &bag->gradients));
    }
    if (!objective_of(b))
        return RW_OK;
    int status = give_propensities(b);
    if (status >= 0)
        status = rw_checkpointer_take_state(&b->checkpointer, b->bag->gradients);
    return rw_comm_agree(b->ctx, status);
}

/* Takes over the rounds of the model or the checkpoint that training continues. */
static int take_rounds(struct booster *b)
{
    /* a checkpoint also stores the metrics of the model's rounds */
    struct rw_eval_sets *eval = rw_checkpointer_resumes(&b->checkpointer) ? NULL : &b->eval_sets;
    if (b->in.init)
        RW_TRY(rw_continue(b->bags.engine[0], &b->in, b->params, eval, b->model, &b->tree_room));
    RW_TRY(rw_bags_share_scores(&b->bags, b->ctx));
    b->run.first_tree = b->model->n_trees;
    b->run.first_round = b->in.init ? (int)rw_model_n_rounds(b->in.init) : 0;
    b->params->rounds += b->run.first_round;
    RW_TRY(rw_checkpointer_restore(&b->checkpointer, &b->bags, &b->eval_sets, b->params->rounds,
                                   b->model, &b->tree_room));
    b->run.n_complete = b->run.round =
        b->run.first_round + (b->model->n_trees - b->run.first_tree) / b->bags.n;
    b->run.start_round = b->run.round;
    int n_empty = 0;
    while (n_empty < b->model->n_trees &&
           b->model->tree[b->model->n_trees - 1 - n_empty].n_leaves == 1)
        n_empty++;
    b->run.n_empty_rounds = n_empty / b->bags.n;
    b->run.is_ended = rw_checkpointer_was_ended(&b->checkpointer, b->params->rounds);
    return RW_OK;
}

static void report_start(struct booster *b)
{
    b->ctx->stop_set = b->params->early_stop > 0 ? b->eval_sets.stop_set : 0;
    b->ctx->valid_is_train = b->in.n_sets > 1 && !b->eval_sets.stop_set;
    if (!b->hooks || !b->hooks->on_start)
        return;
    struct rw_params used = *b->params; /* texts are borrowed */
    used.rounds -= b->run.first_round;
    used.threads = b->ctx->n_threads;
    if (b->in.n_sets > 1 && !b->eval_sets.stop_set)
        used.early_stop = 0;
    used.batch = b->grow_rules.batch;
    if (is_auto(b))
        used.device = (char *)b->bags.engine[0]->ops->name;
    b->hooks->on_start(b->hooks->user, &used);
}

/* Reports a large number of pairs before training, because one long query can make a round take
 * minutes. */
static void report_pairs(struct booster *b)
{
    enum { MANY = 100000000, MANY_OF_A_QUERY = 10000000, BILLION = 1000000000, LONG_SECONDS = 10 };
    const struct rw_objective *objective = objective_of(b);
    const struct rw_dataset *train = b->in.set[0];
    uint64_t most = 0;
    uint32_t longest = 0;
    const uint64_t n = objective
                           ? rw_lambda_count_pairs(objective, &b->bag->rule, train->query_offset,
                                                   train->n_queries, &longest, &most)
                           : 0;
    if (n < MANY)
        return;
    b->run.n_pairs = n;
    char expected[96] = "";
    const int on_gpu = trains_on_gpu(b) && !host_gradients(b);
    double seconds = 0;
    if (!on_gpu) {
        const double one = rw_lambda_pair_seconds(b->ctx, objective, &b->bag->rule);
        const double all = (double)n * one / b->ctx->n_threads, single = (double)most * one;
        seconds = all > single ? all : single; /* one thread computes a whole query */
        snprintf(expected, sizeof(expected), ": about %.*f s per round", seconds < 10, seconds);
    }
    /* without a report: many pairs in short queries, unless rounds take long */
    if (most < MANY_OF_A_QUERY && (on_gpu ? n / BILLION < 10 : seconds < 1))
        return;
    const double number = (double)n / (n < BILLION ? 1e6 : 1e9);
    rw_log(b->ctx, seconds >= LONG_SECONDS ? RW_LOG_WARNING : RW_LOG_NOTE,
           "a round has %.1f %s pairs of documents, %.0f %% of them in the query of %u "
           "documents%s%s",
           number, n < BILLION ? "million" : "billion", 100.0 * (double)most / (double)n, longest,
           expected, seconds >= LONG_SECONDS ? "; 'pairs' topk uses fewer" : "");
}

static int prepare(struct booster *b, const struct rw_params *params)
{
    double start = rw_clock_ms();
    unsigned char is_train[RW_MAX_SETS];
    int status = prepare_rules(b, params, &start);
    status = status < 0 ? status : prepare_checkpoints(b);
    status = status < 0 ? status : open_engine(b, b->params->device);
    RW_TRY(rw_comm_agree(b->ctx, status));
    RW_TRY(rw_checkpointer_agree(&b->checkpointer));
    RW_TRY(rw_choose_agree(b->ctx, b->params->device, &b->bag->rules, b->bags.engine));
    RW_TRY(rw_eval_sets_share(&b->eval_sets));
    RW_TRY(load_engine(b));
    RW_TRY(rw_sets_find_train(b->bags.engine[0], &b->in, is_train));
    RW_TRY(rw_comm_agree(b->ctx, rw_eval_sets_choose(&b->eval_sets, is_train)));
    if (b->checkpointer.how || b->ctx->records_data)
        RW_TRY(rw_checkpointer_take_data(&b->checkpointer, b->bags.engine[0], &b->in));
    RW_TRY(take_rounds(b));
    if (b->grow_rules.batch == 0) { /* equal on all workers, whatever GPUs they have */
        uint64_t batch = (uint64_t)b->bags.engine[0]->batch;
        RW_TRY(rw_comm_max(b->ctx, &batch, 1));
        b->grow_rules.batch = (int32_t)batch;
    }
    for (int k = 0; k < b->bags.n; k++) {
        RW_TRY(rw_grower_new(b->ctx, &b->grow_rules, &b->bag[k].grower));
        RW_TRY(RW_ARENA_NEW(b->ctx, &b->arena, b->bag[k].leaf_slot,
                            rw_grow_max_slots(&b->grow_rules)));
    }
    RW_TRY(prepare_own_gradients(b));
    status = rw_model_size_init(b->ctx, &b->size, b->model, b->init);
    report_stage(b, "cuts and codes", &start);
    const struct rw_facts facts = facts_of(b);
    /* reports parameters without effect on this device */
    status = status < 0 ? status : rw_params_judge(b->ctx, b->params, &facts);
    RW_TRY(rw_comm_agree(b->ctx, status));
    const struct rw_engine_info *info = &b->bags.engine[0]->info;
    rw_log(b->ctx, RW_LOG_DEBUG,
           "engine %s: %u features in %llu bins; left out: %u constant, %u that cannot leave "
           "--min-docs on both sides, %u ignored",
           b->bags.engine[0]->ops->name, info->n_features, (unsigned long long)info->n_bins,
           info->n_constant, info->n_few, info->n_ignored);
    report_pairs(b);
    report_start(b);
    return RW_OK;
}

/* ---- rounds ---- */

/* Training ends after this number of rounds in a row whose trees are all empty, if the next tree
 * can have a split (next_may_split), otherwise after the first such round. */
enum { MOST_EMPTY_ROUNDS = 50 };

static int own_gradients(struct booster *b, int k)
{
    const double rate = rw_params_rate_of_round(b->params, (uint32_t)b->run.round);
    struct rw_engine *engine = b->bags.engine[k];
    const struct rw_user_gradients *made;
    RW_TRY(engine->ops->read_scores(engine, 0, b->bag[k].scores));
    RW_TRY(rw_gradients_run(b->bag[k].gradients, (uint32_t)b->run.round, rate, b->bag[k].scores,
                            &made));
    return made->lambda ? engine->ops->set_lambdas(engine, made->lambda, made->hess)
                        : rw_engine_set_gradients(engine, made->gradient, made->hessian);
}

static int explain_no_split(struct booster *b)
{
    return rw_explain_no_split(b->ctx, b->params, &b->in, b->gain, &b->bags.engine[0]->info,
                               b->run.no_split, sizeof(b->run.no_split));
}

static int report_round(struct booster *b, const struct rw_grow_times *times,
                        const struct rw_far_reads *far, int n_leaves, double start,
                        double scores_ms, double metrics_ms)
{
    if (!b->hooks || !b->hooks->on_round)
        return 0;
    const struct rw_round round = {
        .round = b->run.round,
        .n_rounds = b->params->rounds,
        .best_round = b->eval_sets.best_round,
        .best_value = rw_eval_sets_best_value(&b->eval_sets),
        .n_leaves = n_leaves,
        .ms = rw_clock_ms() - start,
        .ms_lambdas = times->lambdas_ms,
        .ms_histograms = times->histograms_ms,
        .ms_splits = times->splits_ms,
        .ms_partition = times->partition_ms,
        .ms_scores = scores_ms,
        .ms_metrics = metrics_ms,
        .n_docs = b->in.all_docs,
        .far_bytes = far->bytes,
        .far_hist_bytes = far->hist_bytes,
        .far_hist_ms = far->hist_ms,
        .bytes_sent = rw_comm_bytes_sent(b->ctx) - b->run.bytes_before,
        .model_bytes = b->size.bytes,
        .next_model_bytes =
            b->size.bytes +
            (uint64_t)b->bags.n *
                (rw_model_size_with(&b->size, (int32_t)b->bag->rules.leaves) - b->size.bytes),
        .n_metrics = b->eval_sets.n_values,
        .metrics = b->eval_sets.value};
    return b->hooks->on_round(b->hooks->user, &round);
}

/* Reports the choices that the engine made in this round. */
static void report_choices(struct booster *b)
{
    char text[1024];
    double ms;
    if (!b->bags.engine[0]->ops->report || !b->hooks || !b->hooks->on_stage)
        return;
    while (b->bags.engine[0]->ops->report(b->bags.engine[0], text, sizeof(text), &ms))
        b->hooks->on_stage(b->hooks->user, text, ms, rw_system_peak_bytes());
}

static int has_more_rounds(const struct booster *b)
{
    return b->run.round < b->params->rounds && !b->run.is_ended &&
           !rw_eval_sets_is_over(&b->eval_sets, b->run.round);
}

/* Ends training if the caller of some worker ended it (`ends`, from on_round), or interrupts it if
 * the caller of some worker wants this (should_stop). Writes 0 to *more if training is over. */
static int check_for_stop(struct booster *b, int ends, int *more)
{
    const struct rw_train_hooks *hooks = b->hooks;
    uint64_t wish[2] = {ends != 0, 0};
    if (!ends && has_more_rounds(b) && hooks && hooks->should_stop)
        wish[1] = hooks->should_stop(hooks->user) != 0 || rw_poll_is_stopped(b->ctx);
    RW_TRY(rw_comm_max(b->ctx, wish, 2));
    b->run.is_ended = wish[0] != 0;
    *more = has_more_rounds(b);
    if (*more && wish[1]) {
        b->run.is_interrupted = 1;
        *more = 0;
    }
    return RW_OK;
}

/* After a tree without a split, returns 1 if the next tree can have one. This is so with
 * sampling, with random gradients, and with gradients that the caller or the host
 * computes for some engine. The answer does not depend on the engine. */
static int next_may_split(const struct booster *b)
{
    const struct rw_objective *objective = objective_of(b);
    const int by_all_engines = objective && (objective->device == RW_OBJECTIVE_PAIRS ||
                                             objective->device == RW_OBJECTIVE_RESIDUALS);
    return !by_all_engines || objective->draws || rw_params_sample(b->params);
}

/* Handles the failed status of `grow`. If the caller interrupted the computation of gradients,
 * before the round changed anything, training ends after the previous round, or fails if the model
 * has no tree yet. After any other error, it fails with `status`. */
static int end_within(struct booster *b, int status, int *more)
{
    if (status != RW_ERR_INTERRUPTED || !b->hooks || !b->hooks->should_stop ||
        !rw_poll_is_stopped(b->ctx))
        return status;
    if (b->model->n_trees == 0)
        return rw_fail(b->ctx, RW_ERR_INTERRUPTED,
                       "interrupted in the first round: there is no model");
    b->run.is_interrupted = 1;
    *more = 0;
    return RW_OK;
}

/* Computes the gradients of bag k, grows its tree from them, and adds the tree to the bag's scores.
 */
static int grow_bag(struct booster *b, int k, struct rw_tree *tree)
{
    struct rw_engine *engine = b->bags.engine[k];
    struct bag *bag = &b->bag[k];
    const double rate = rw_params_rate_of_round(b->params, (uint32_t)b->run.round);
    RW_TRY(host_gradients(b) ? own_gradients(b, k) : RW_OK);
    rw_grower_set_rate(bag->grower, rate);
    RW_TRY(rw_grower_grow(bag->grower, engine, (uint32_t)b->run.round, tree, bag->leaf_slot,
                          &bag->times));
    const double start = rw_clock_ms();
    const int status = rw_engine_add_tree(engine, 0, tree, bag->leaf_slot);
    bag->add_ms = rw_clock_ms() - start;
    if (status < 0)
        rw_tree_release(tree);
    return status;
}

/* The trees of a round, [bags.n]. */
struct round_job {
    struct booster *b;
    struct rw_tree *tree;
};

static int grow_some(void *user, struct rw_share *share)
{
    const struct round_job *job = user;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        struct rw_engine *engine = job->b->bags.engine[k];
        struct rw_tree tree = {0};
        if (engine->ops->use_thread)
            RW_TRY(engine->ops->use_thread(engine));
        RW_TRY(grow_bag(job->b, (int)k, &tree));
        job->tree[k] = tree;
    }
    return RW_OK;
}

/* Returns the number of bags that grow at the same time, each on a thread of its own. In the first
 * round of a GPU this is 1, since engines compare methods by timing. It is also 1 if all threads
 * are better used for one bag after the other, and if the caller must be able to interrupt the
 * gradients, or computes them. */
static int n_at_once(const struct booster *b)
{
    enum { FEW_DOCS = 16384 }; /* trees of fewer documents hardly use several threads */
    const int on_gpu = trains_on_gpu(b), n_threads = b->ctx->n_threads;
    if (b->bags.n == 1 || rw_n_workers(b->ctx) > 1 || b->run.n_pairs || !objective_of(b) ||
        (on_gpu && b->run.round == b->run.start_round))
        return 1;
    if (on_gpu)
        return b->bags.n;
    return n_threads <= b->bags.n || b->in.all_docs < FEW_DOCS ? n_threads : 1;
}

/* Grows the trees of a round. Trees of failed bags are empty structs. */
static int grow(struct booster *b, struct rw_tree *tree)
{
    const int counts = b->run.n_pairs ? rw_stage_begin(b->ctx, "pairs", b->run.n_pairs, 1) : 0;
    const int n = n_at_once(b);
    struct round_job job = {b, tree};
    int status = RW_OK;
    memset(tree, 0, (size_t)b->bags.n * sizeof(*tree));
    if (n > 1)
        status = rw_parallel(b->ctx, n, (uint64_t)b->bags.n, 1, grow_some, &job);
    for (int k = 0; k < b->bags.n && n == 1 && status >= 0; k++)
        status = grow_bag(b, k, &tree[k]);
    rw_stage_end(b->ctx, counts);
    return status;
}

/* Returns the times of the round, over all bags. */
static struct rw_grow_times times_of_bags(const struct booster *b, double *add_ms)
{
    struct rw_grow_times sum = {.lambdas_ms = 0};
    for (int k = 0; k < b->bags.n; k++) {
        const struct rw_grow_times *own = &b->bag[k].times;
        sum.lambdas_ms += own->lambdas_ms;
        sum.histograms_ms += own->histograms_ms;
        sum.splits_ms += own->splits_ms;
        sum.partition_ms += own->partition_ms;
        *add_ms += b->bag[k].add_ms;
    }
    return sum;
}

/* Runs one round. Writes 0 to *more if training is over. */
static int run_round(struct booster *b, int *more)
{
    const double start = rw_clock_ms();
    struct rw_far_reads far = {.bytes = 0};
    struct rw_model *model = b->model;
    const int n = b->bags.n;
    int n_leaves = 0;
    *more = 0;
    b->run.bytes_before = rw_comm_bytes_sent(b->ctx);
    RW_TRY(RW_GROW(b->ctx, model->tree, b->tree_room, (size_t)(model->n_trees + n)));
    struct rw_tree *tree = &model->tree[model->n_trees];
    const int status = grow(b, tree);
    if (status >= 0)
        report_choices(b);
    const int may_split = next_may_split(b) && b->bags.engine[0]->info.n_features;
    for (int k = 0; k < n; k++)
        n_leaves += tree[k].n_leaves;
    b->run.n_empty_rounds = n_leaves > n ? 0 : b->run.n_empty_rounds + 1;
    const int is_last = b->run.n_empty_rounds >= (may_split ? MOST_EMPTY_ROUNDS : 1);
    for (int k = 0; k < n && (status < 0 || is_last); k++)
        rw_tree_release(&tree[k]);
    if (status < 0)
        return end_within(b, status, more);
    if (is_last)
        return explain_no_split(b);
    b->run.round++;
    const double grown = rw_clock_ms();
    for (int k = 0; k < n; k++)
        b->size.bytes = rw_model_size_with(&b->size, tree[k].n_leaves);
    model->n_trees += n;
    RW_TRY(rw_bags_add_round(&b->bags, b->ctx, tree));
    for (int k = 0; k < n && b->bags.engine[k]->ops->far_reads; k++)
        RW_TRY(b->bags.engine[k]->ops->far_reads(b->bags.engine[k], &far));
    const double added = rw_clock_ms();
    RW_TRY(rw_eval_sets_round(&b->eval_sets, b->bags.engine[0], b->run.round));
    const double measured = rw_clock_ms();
    b->run.n_complete = b->run.round;
    double added_ms = added - grown;
    const struct rw_grow_times times = times_of_bags(b, &added_ms);
    const int ends =
        report_round(b, &times, &far, n_leaves, start, added_ms, measured - added) != 0;
    RW_TRY(check_for_stop(b, ends, more));
    if (*more)
        rw_checkpointer_round(&b->checkpointer, &b->eval_sets, b->run.round);
    return RW_OK;
}

static int run_rounds(struct booster *b)
{
    const struct rw_train_hooks *hooks = b->hooks;
    int status = RW_OK;
    /* should_stop is called between rounds. It is also called within long loops if a round has many
     * pairs, but not with several workers, because the others would wait. */
    if (hooks && hooks->should_stop)
        RW_TRY(rw_poll_hold(b->ctx,
                            b->run.n_pairs && rw_n_workers(b->ctx) == 1 ? hooks->should_stop : NULL,
                            hooks->user));
    for (int more = has_more_rounds(b); more && status >= 0;) {
        status = rw_poll(b->ctx);
        status = status < 0 ? status : run_round(b, &more);
    }
    rw_poll_release(b->ctx);
    rw_checkpointer_end(&b->checkpointer, &b->eval_sets, b->run.n_complete, b->run.is_ended);
    return status;
}

/* ---- the finished model ---- */

/* Keeps the rounds up to best_round (0: all of them) and drops empty rounds at the end. Divides the
 * leaves of this training's trees by the number of bags. The first rounds are those of an earlier
 * model; they stay even if they are empty. best_round is not below first_round. */
static void cut_model(struct rw_model *model, const struct progress *run, int best_round,
                      int n_bags)
{
    int n_rounds = run->first_round + (model->n_trees - run->first_tree) / n_bags, is_empty = 1;
    while (n_rounds > run->first_round && is_empty) {
        const int is_after = best_round > 0 && n_rounds > best_round;
        for (int k = 1; k <= n_bags && !is_after; k++)
            is_empty &= model->tree[model->n_trees - k].n_leaves == 1;
        if (!is_empty)
            break;
        for (int k = 0; k < n_bags; k++)
            rw_tree_release(&model->tree[--model->n_trees]);
        n_rounds--;
        /* a training that continues the model does not run these rounds again */
        model->empty_rounds += best_round == 0;
    }
    for (int t = run->first_tree; t < model->n_trees; t++)
        rw_bags_divide(&model->tree[t], n_bags);
    model->best_round = best_round > 0 ? n_rounds : 0;
}

static void booster_release(struct booster *b)
{
    rw_checkpointer_release(
        &b->checkpointer); /* first, because the writer may still use the other parts */
    rw_arena_free(&b->features.arena);
    rw_eval_sets_release(&b->eval_sets);
    rw_bags_close(&b->bags);
    if (b->cache.free)
        b->cache.free(&b->cache.data);
    for (int k = 0; k < b->bags.n; k++) {
        rw_free(b->bag[k].grower);
        rw_gradients_free(b->bag[k].gradients);
    }
    rw_model_free(b->model);
    rw_sets_release(&b->in);
    rw_params_free(b->params);
    rw_arena_free(&b->arena);
}

/* Keeps the trees up to the best round, or all without early stopping, and drops empty trees at the
 * end. The trees of the model that training continues from always stay. A training that pauses
 * keeps the model as it is. RW_ERR_DATA: this training made no tree with a split, unless hooks
 * allow it. */
static int finish_model(struct booster *b)
{
    struct rw_model *model = b->model;
    int n_split = 0;
    for (int t = b->run.first_tree; t < model->n_trees; t++)
        n_split += model->tree[t].n_leaves > 1;
    if (n_split == 0) {
        if (!b->run.no_split[0])
            RW_TRY(explain_no_split(b));
        const int status =
            rw_fail(b->ctx, RW_ERR_DATA, "training made no trees: %s", b->run.no_split);
        if (!b->hooks || !b->hooks->allow_no_trees)
            return status;
    } else if (b->run.no_split[0])
        rw_log(b->ctx, RW_LOG_WARNING, "training stopped after %d rounds: %s", b->run.round,
               b->run.no_split);
    if (b->trial) {
        model->best_round = b->eval_sets.best_round;
        b->trial->paused->model = RW_TAKE(b->model);
        return b->bag->gradients
                   ? rw_gradients_print(b->ctx, b->bag->gradients, (uint32_t)b->run.round,
                                        &b->trial->paused->state)
                   : RW_OK;
    }
    const int stops = b->params->early_stop > 0 && b->eval_sets.best_round > 0;
    const int least = b->run.first_round > 0 ? b->run.first_round : 1;
    cut_model(model, &b->run, stops ? rw_stop_rule_kept(&b->eval_sets, least) : 0, b->bags.n);
    model->is_interrupted = b->run.is_interrupted;
    return b->init ? rw_continuation_finish(b->ctx, b->in.init, model) : RW_OK;
}

/* Creates the model with the list of features of the training set. */
static int take_features(struct booster *b)
{
    const uint32_t *ids = b->in.train.feature;
    RW_TRY(rw_model_new(b->ctx, &b->model));
    struct rw_model *model = b->model;
    model->n_features = ids ? b->in.train.n_features : b->in.set[0]->n_columns;
    RW_TRY(RW_NEW(b->ctx, model->feature, model->n_features));
    for (uint32_t f = 0; f < model->n_features; f++)
        model->feature[f] = ids ? ids[f] : b->in.set[0]->column[f].feature;
    b->in.features =
        (struct rw_training_features){.feature = model->feature, .n_features = model->n_features};
    return RW_OK;
}

static int take_sets(struct booster *b, const struct rw_params *params,
                     const struct rw_training *training)
{
    const struct rw_binned *binned = training->binned;
    RW_TRY(rw_sets_init(&b->in, b->ctx, binned ? binned->documents : training->train,
                        training->valid, training->n_valid));
    if (binned)
        b->in.train = *binned;
    RW_TRY(rw_sets_prepare(b->ctx, params, &b->in, b->init));
    RW_TRY(rw_comm_agree(b->ctx, take_features(b)));
    return rw_sets_columns(b->ctx, &b->in, b->init);
}

int rw_train_plan(struct rw_ctx *ctx, const struct rw_params *params,
                  const struct rw_training *training, struct rw_plan *out)
{
    RW_DEFAULT_FPENV;
    struct booster booster RW_RELEASED(booster_release) = {.ctx = ctx};
    struct booster *b = &booster;
    struct rw_metric_plan metrics[RW_MAX_SETS];
    const struct rw_metric_plan *measured[RW_MAX_SETS];
    double start = rw_clock_ms();
    memset(out, 0, sizeof(*out));
    RW_TRY(take_sets(b, params, training));
    for (int set = 1; set < b->in.n_sets; set++) {
        if (b->in.given[set]->codes.bins)
            RW_TRY(rw_fail(ctx, RW_ERR_ARGUMENT,
                           "a plan needs validation sets with values (rw_dataset_read)"));
    }
    RW_TRY(prepare_rules(b, params, &start));
    RW_TRY(open_engine(b, b->params->device));
    for (int set = 0; set < b->in.n_sets; set++)
        measured[set] = rw_eval_sets_plan(&b->eval_sets, set, &metrics[set]) ? &metrics[set] : NULL;
    const struct rw_plan_data data = plan_data(b, measured);
    return rw_bags_plan(&b->bags, &data, out);
}

static int train(struct booster *b, const struct rw_params *params,
                 const struct rw_training *training)
{
    if (rw_params_by_folds(params))
        return rw_fail(b->ctx, RW_ERR_ARGUMENT,
                       "early-stop-rule 'folds' is only for 'rankwood train' without a validation "
                       "set and for rw_tune");
    RW_TRY(take_sets(b, params, training));
    RW_TRY(prepare(b, params));
    double start = rw_clock_ms();
    RW_TRY(run_rounds(b));
    report_stage(b, "rounds", &start);
    RW_TRY(rw_gradients_report(b->ctx, b->bag->gradients, b->run.n_complete, b->hooks));
    return rw_comm_agree(b->ctx, finish_model(b));
}

int rw_train_further(struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_training *training, const struct rw_trial *trial,
                     struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    struct booster b RW_RELEASED(booster_release) = {
        .ctx = ctx, .hooks = training->hooks, .init = training->init, .trial = trial};
    *out = NULL;
    RW_TRY(rw_comm_give_up(ctx, train(&b, params, training)));
    *out = RW_TAKE(b.model);
    return RW_OK;
}

int rw_train_on(struct rw_ctx *ctx, const struct rw_params *params,
                const struct rw_training *training, struct rw_model **out)
{
    return rw_train_further(ctx, params, training, NULL, out);
}

int rw_train(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_dataset *train,
             const struct rw_dataset *const *valid, int n_valid, const struct rw_train_hooks *hooks,
             struct rw_model **out)
{
    const struct rw_training training = {
        .train = train, .valid = valid, .n_valid = n_valid, .hooks = hooks};
    return rw_train_on(ctx, params, &training, out);
}
