/* The loop: lambdas -> tree -> scores -> metrics -> stop. */
#include "base/clock.h"
#include "base/mem.h"
#include "train/booster.h"
#include "train/no_split.h"
#include "comm/comm.h"

/* After so many empty trees in a row, sampled or by custom gradients, training ends. */
enum { MOST_EMPTY_TREES = 50 };

static int own_gradients(struct booster *b)
{
    RW_TRY(rw_engine_read_scores(b->engine, 0, b->scores));
    if (b->handed) {
        const struct rw_handed *made;
        const double rate = rw_params_rate_of_round(&b->params, (uint32_t)b->round);
        RW_TRY(rw_gradients_run(b->handed, (uint32_t)b->round, rate, b->scores, &made));
        return made->lambda ? rw_engine_set_lambdas(b->engine, made->lambda, made->hess)
                            : rw_engine_set_gradients(b->engine, made->gradient, made->hessian);
    }
    if (b->hooks->gradients(b->hooks->user, b->given[0], b->scores, b->gradients, b->hessians))
        return rw_fail(b->ctx, RW_ERR_INTERRUPTED, "the custom objective gave up");
    return rw_engine_set_gradients(b->engine, b->gradients, b->hessians);
}

int rw_booster_explain_no_split(struct booster *b)
{
    return rw_explain_no_split(b->ctx, &b->params, b->set[0], b->all_docs, b->gain,
                               &b->engine->info, b->no_split, sizeof(b->no_split));
}

static int tell_round(struct booster *b, const struct rw_grow_times *times,
                      const struct rw_far_reads *far, int n_leaves, double start, double scores_ms,
                      double metrics_ms)
{
    if (!b->hooks || !b->hooks->on_round)
        return 0;
    const struct rw_round round = {
        .round = b->round,
        .n_rounds = b->params.rounds,
        .best_round = b->eval_sets.best_round,
        .best_value = b->eval_sets.best_value,
        .n_leaves = n_leaves,
        .ms = rw_clock_ms() - start,
        .ms_lambdas = times->lambdas_ms,
        .ms_histograms = times->histograms_ms,
        .ms_splits = times->splits_ms,
        .ms_partition = times->partition_ms,
        .ms_scores = scores_ms,
        .ms_metrics = metrics_ms,
        .n_docs = b->all_docs,
        .far_bytes = far->bytes,
        .far_hist_bytes = far->hist_bytes,
        .far_hist_ms = far->hist_ms,
        .bytes_sent = rw_comm_bytes_sent(b->ctx) - b->bytes_before,
        .model_bytes = b->size.bytes,
        .next_model_bytes = rw_model_size_with(&b->size, (int32_t)b->engine->rules.leaves),
        .n_metrics = b->eval_sets.n_values,
        .metrics = b->eval_sets.value};
    return b->hooks->on_round(b->hooks->user, &round);
}

/* What the engine chose by itself in this round. */
static void tell_choices(struct booster *b)
{
    char text[1024];
    double ms;
    if (!b->engine->ops->tell || !b->hooks || !b->hooks->on_stage)
        return;
    while (b->engine->ops->tell(b->engine, text, sizeof(text), &ms))
        b->hooks->on_stage(b->hooks->user, text, ms, rw_mem_peak_bytes());
}

static int has_more_rounds(const struct booster *b)
{
    return b->round < b->params.rounds && !b->is_ended &&
           !rw_eval_sets_is_over(&b->eval_sets, b->round);
}

/* Does a rank's caller end training, or interrupt it? */
static int ask_to_stop(struct booster *b, int ends, int *more)
{
    const struct rw_train_hooks *hooks = b->hooks;
    uint64_t wish[2] = {ends != 0, 0};
    if (!ends && has_more_rounds(b) && hooks && hooks->should_stop)
        wish[1] = hooks->should_stop(hooks->user) != 0 || rw_poll_is_stopped(b->ctx);
    RW_TRY(rw_comm_max(b->ctx, wish, 2));
    b->is_ended = wish[0] != 0;
    *more = has_more_rounds(b);
    if (*more && wish[1]) {
        b->is_interrupted = 1;
        *more = 0;
    }
    return RW_OK;
}

/* After a tree without a split: can the next one have one? With sampling, and with gradients that
 * are drawn or that the host or the caller makes; that depends on nothing that a device decides. */
static int next_may_split(const struct booster *b)
{
    const struct rw_objective *objective = rw_booster_objective(b);
    return !objective || objective->draws || objective->device == RW_OBJECTIVE_HOST ||
           b->params.sample_queries < 1.0 || b->params.sample_docs < 1.0 ||
           b->params.sample_features < 1.0 || b->params.sample_features_node < 1.0;
}

/* The caller wants no more while the gradients of a round are computed, before anything has
 * changed: training ends as after the round before. */
static int end_within(struct booster *b, int status, int *more)
{
    if (status != RW_ERR_INTERRUPTED || !b->hooks || !b->hooks->should_stop ||
        !rw_poll_is_stopped(b->ctx))
        return status;
    if (b->model->n_trees == 0)
        return rw_fail(b->ctx, RW_ERR_INTERRUPTED,
                       "interrupted in the first round, so there is no model");
    b->is_interrupted = 1;
    *more = 0;
    return RW_OK;
}

/* Gradients, and the tree that is grown by them. */
static int grow(struct booster *b, struct rw_tree *tree, struct rw_grow_times *times)
{
    const int counts = b->n_pairs ? rw_stage_begin(b->ctx, "pairs", b->n_pairs, 1) : 0;
    int status = rw_booster_hands_gradients(b) ? own_gradients(b) : RW_OK;
    if (status >= 0) {
        rw_grower_set_rate(b->grower, rw_params_rate_of_round(&b->params, (uint32_t)b->round));
        status =
            rw_grower_grow(b->grower, b->engine, (uint32_t)b->round, tree, b->leaf_slot, times);
    }
    rw_stage_end(b->ctx, counts);
    return status;
}

/* One round; *more is 0 when training is over. */
static int run_round(struct booster *b, int *more)
{
    const double start = rw_clock_ms();
    struct rw_grow_times times;
    struct rw_far_reads far = {.bytes = 0};
    struct rw_model *model = b->model;
    *more = 0;
    b->bytes_before = rw_comm_bytes_sent(b->ctx);
    RW_TRY(RW_GROW(b->ctx, model->tree, b->tree_room, (size_t)model->n_trees + 1));
    struct rw_tree *tree = &model->tree[model->n_trees];
    const int status = grow(b, tree, &times);
    if (status < 0)
        return end_within(b, status, more);
    tell_choices(b);
    const int may_change = next_may_split(b);
    b->n_empty_trees = tree->n_leaves > 1 ? 0 : b->n_empty_trees + 1;
    if (b->n_empty_trees >= (may_change && b->engine->info.n_features ? MOST_EMPTY_TREES : 1)) {
        rw_tree_release(tree);
        return rw_booster_explain_no_split(b);
    }
    model->n_trees++;
    b->round++;
    rw_model_size_add(&b->size, tree->n_leaves);
    const double grown = rw_clock_ms();
    for (int set = 0; set < b->n_sets; set++)
        RW_TRY(rw_engine_add_tree(b->engine, set, tree, set == 0 ? b->leaf_slot : NULL));
    if (b->engine->ops->far_reads)
        RW_TRY(b->engine->ops->far_reads(b->engine, &far));
    const double added = rw_clock_ms();
    RW_TRY(rw_eval_sets_round(&b->eval_sets, b->engine, b->round));
    const double measured = rw_clock_ms();
    b->n_complete = b->round;
    const int ends =
        tell_round(b, &times, &far, tree->n_leaves, start, added - grown, measured - added) != 0;
    RW_TRY(ask_to_stop(b, ends, more));
    if (*more)
        rw_checkpointer_round(&b->checkpointer, model, &b->eval_sets, b->round);
    return RW_OK;
}

int rw_booster_run_rounds(struct booster *b)
{
    const struct rw_train_hooks *hooks = b->hooks;
    int status = RW_OK;
    /* What has should_stop ends between rounds, and within long ones; not there with other workers,
     * who would wait. */
    if (hooks && hooks->should_stop)
        RW_TRY(rw_poll_hold(b->ctx,
                            b->n_pairs && rw_n_ranks(b->ctx) == 1 ? hooks->should_stop : NULL,
                            hooks->user));
    for (int more = has_more_rounds(b); more && status >= 0;) {
        status = rw_poll(b->ctx);
        status = status < 0 ? status : run_round(b, &more);
    }
    rw_poll_release(b->ctx);
    rw_checkpointer_end(&b->checkpointer, b->model, &b->eval_sets, b->n_complete, b->is_ended);
    return status;
}
