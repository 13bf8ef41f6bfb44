/* A training from its first call to its model. */
#include "base/clock.h"
#include "base/fpenv.h"
#include "base/mem.h"
#include "train/booster.h"
#include "train/model_params.h"
#include "train/positions.h"
#include "train/rank_sets.h"
#include "comm/comm.h"
#include "tree/plan.h"

static void booster_release(struct booster *b)
{
    rw_checkpointer_release(&b->checkpointer); /* may be writing what is the others' */
    rw_mem_free(b->feature);
    rw_names_free(b->names, b->n_names);
    rw_feature_rules_release(&b->features);
    rw_category_sets_release(&b->category_sets);
    rw_mem_free(b->gain);
    rw_eval_sets_release(&b->eval_sets);
    rw_engine_close(b->engine);
    rw_grower_free(b->grower);
    rw_mem_free(b->leaf_slot);
    rw_mem_free(b->scores);
    rw_mem_free(b->gradients);
    rw_mem_free(b->hessians);
    rw_gradients_free(b->handed);
    rw_continuation_release(&b->continuation);
    rw_model_free(b->model);
    rw_binned_release(&b->made);
    rw_params_free(b->own);
}

/* ---- the finished model ---- */

/* Keeps the trees up to the best round, without empty ones at the end. Those of the model that
 * training continues from stay. */
static int keep_trees(struct booster *b)
{
    struct rw_model *model = b->model;
    int n_split = 0;
    for (int t = b->first_round; t < model->n_trees; t++)
        n_split += model->tree[t].n_leaves > 1;
    if (n_split == 0) {
        if (!b->no_split[0])
            RW_TRY(rw_booster_explain_no_split(b));
        return rw_fail(b->ctx, RW_ERR_DATA, "training made no trees: %s", b->no_split);
    }
    if (b->no_split[0])
        rw_log(b->ctx, RW_LOG_WARNING, "training stops after %d rounds: %s", b->round, b->no_split);
    const int stops = b->params.early_stop > 0 && b->eval_sets.best_round > 0;
    rw_model_cut(model, b->first_round, stops ? b->eval_sets.best_round : 0);
    return RW_OK;
}

static int finish_model(struct booster *b)
{
    struct rw_model *model = b->model;
    RW_TRY(keep_trees(b));
    model->is_interrupted = b->is_interrupted;
    model->absent_missing = b->params.absent;
    model->columns = b->columns.kind;
    model->width = b->columns.width;
    model->feature = b->feature;
    model->n_features = b->n_features;
    b->feature = NULL;
    model->name = b->names;
    model->n_names = b->n_names;
    b->names = NULL;
    RW_TRY(rw_category_sets_finish(b->ctx, &b->category_sets, model));
    RW_TRY(rw_booster_params(b, &model->params));
    if (b->init)
        RW_TRY(rw_continuation_finish(&b->continuation, model));
    return rw_eval_sets_report(&b->eval_sets, model);
}

static int take_sets(struct booster *b, const struct rw_dataset *const *valid, int n_valid)
{
    if (n_valid < 0 || n_valid > RW_MAX_SETS - 1)
        return rw_fail(b->ctx, RW_ERR_ARGUMENT, "%d validation sets; expected 0 to %d", n_valid,
                       RW_MAX_SETS - 1);
    for (b->n_sets = 1; b->n_sets <= n_valid; b->n_sets++) {
        b->given[b->n_sets] = valid[b->n_sets - 1];
        RW_TRY(rw_category_sets_take(b->ctx, &b->category_sets, b->n_sets, valid[b->n_sets - 1],
                                     &b->set[b->n_sets]));
    }
    const uint32_t *ids = b->train.feature;
    b->n_features = ids ? b->train.n_features : b->set[0]->n_columns;
    RW_TRY(RW_NEW(b->ctx, b->feature, b->n_features));
    for (uint32_t f = 0; f < b->n_features; f++)
        b->feature[f] = ids ? ids[f] : b->set[0]->column[f].feature;
    return RW_OK;
}

static int take_ranks(struct booster *b, const struct rw_params *params)
{
    struct rw_category_sets *sets = &b->category_sets;
    b->given[0] = b->set[0];
    RW_TRY(rw_category_sets_make(b->ctx, params, &b->train, b->set[0], b->init, sets));
    RW_TRY(rw_comm_agree(b->ctx, rw_category_sets_take(b->ctx, sets, 0, b->set[0], &b->set[0])));
    RW_TRY(rw_rank_sets_take(b->ctx, params, b->set[0], b->train.bins, sets->codes, &b->made,
                             &b->all_docs));
    if (b->made.bins)
        b->train = b->made;
    return RW_OK;
}

static int make_plan(struct booster *b, const struct rw_params *params,
                     const struct rw_dataset *const *valid, int n_valid, struct rw_plan *out)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    memset(out, 0, sizeof(*out));
    RW_TRY_OUT(take_ranks(b, params));
    RW_TRY_OUT(take_sets(b, valid, n_valid));
    RW_TRY_OUT(rw_rank_sets_columns(b->ctx, b->given, b->n_sets, b->feature, b->n_features, NULL,
                                    &b->columns));
    RW_TRY_OUT(rw_rank_sets_check_plan(b->ctx, valid, n_valid));
    RW_TRY_OUT(rw_booster_plan(b, params, out));
out:
    booster_release(b);
    return status;
}

int rw_train_plan(struct rw_ctx *ctx, const struct rw_params *params,
                  const struct rw_dataset *train, const struct rw_dataset *const *valid,
                  int n_valid, struct rw_plan *out)
{
    struct booster b = {.ctx = ctx, .set = {train}};
    return make_plan(&b, params, valid, n_valid, out);
}

int rw_train_plan_binned(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_binned *train, const struct rw_dataset *const *valid,
                         int n_valid, struct rw_plan *out)
{
    struct booster b = {.ctx = ctx, .set = {train->documents}, .train = *train};
    return make_plan(&b, params, valid, n_valid, out);
}

static int run_training(struct booster *b, const struct rw_params *params,
                        const struct rw_dataset *const *valid, int n_valid, struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    *out = NULL;
    RW_TRY_OUT(take_ranks(b, params));
    RW_TRY_OUT(rw_comm_agree(b->ctx, take_sets(b, valid, n_valid)));
    RW_TRY_OUT(rw_rank_sets_columns(b->ctx, b->given, b->n_sets, b->feature, b->n_features, b->init,
                                    &b->columns));
    RW_TRY_OUT(rw_booster_prepare(b, params));
    double start = rw_clock_ms();
    RW_TRY_OUT(rw_booster_run_rounds(b));
    rw_booster_stage(b, "rounds", &start);
    RW_TRY_OUT(rw_positions_tell(b->ctx, b->hooks, b->handed, b->n_complete));
    RW_TRY_OUT(rw_comm_agree(b->ctx, finish_model(b)));
    *out = b->model;
    b->model = NULL;
out:
    status = rw_comm_give_up(b->ctx, status);
    booster_release(b);
    return status;
}

int rw_train(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_dataset *train,
             const struct rw_dataset *const *valid, int n_valid, const struct rw_train_hooks *hooks,
             struct rw_model **out)
{
    return rw_train_from(ctx, params, NULL, train, valid, n_valid, hooks, out);
}

int rw_train_from(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_model *init,
                  const struct rw_dataset *train, const struct rw_dataset *const *valid,
                  int n_valid, const struct rw_train_hooks *hooks, struct rw_model **out)
{
    struct booster b = {.ctx = ctx, .hooks = hooks, .init = init, .set = {train}};
    return run_training(&b, params, valid, n_valid, out);
}

int rw_train_binned(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_binned *train, const struct rw_dataset *const *valid,
                    int n_valid, const struct rw_train_hooks *hooks, struct rw_model **out)
{
    return rw_train_binned_from(ctx, params, NULL, train, valid, n_valid, hooks, out);
}

int rw_train_binned_from(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_model *init, const struct rw_binned *train,
                         const struct rw_dataset *const *valid, int n_valid,
                         const struct rw_train_hooks *hooks, struct rw_model **out)
{
    struct booster b = {
        .ctx = ctx, .hooks = hooks, .init = init, .set = {train->documents}, .train = *train};
    return run_training(&b, params, valid, n_valid, out);
}
