/* Bags: several ensembles that a training grows at the same time and averages in one model
 * (parameter `bags`).
 *
 * A bag has its own seed, its own engine and so its own scores of the training set, from which its
 * gradients are computed. All bags share bin boundaries and parameters. A round grows one tree for
 * each bag. In the model, the trees are in order of rounds, and in a round in order of bags. Each
 * leaf of the model is float(leaf / bags), so the sum over all trees is the mean over the bags.
 *
 * The validation sets are loaded only by the engine of bag 0. It adds the divided trees of all bags
 * to their scores, in the order of the model. Metrics during training are therefore those of the
 * written model. While a training runs, its model and its checkpoints hold undivided leaves, since
 * a bag's scores cannot be computed from rounded ones. */
#include "base/rng.h"
#include "train/train.h"

int rw_bags_check(struct rw_ctx *ctx, const struct rw_params *params,
                  const struct rw_objective *objective)
{
    const int draws = (objective && objective->draws) || params->bag_queries < 1.0 ||
                      params->rounding != RW_ROUND_NEAREST || rw_params_sample(params);
    if (params->bags == 1)
        return RW_OK;
    if (!draws)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "all %d bags would be equal, since nothing in this training is random\nhint: "
            "rounding stochastic, or a sample such as sample-queries 0.8",
            params->bags);
    if (objective && objective->state)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "bags cannot be used with '%s', which learns while it "
                       "trains\nhint: bags 1",
                       objective->chosen_by);
    return params->metric_on_train
               ? rw_fail(ctx, RW_ERR_ARGUMENT,
                         "train-metric cannot be used with bags: the training set has scores of "
                         "each bag, not of the model\nhint: name it as a validation set instead")
               : RW_OK;
}

int rw_bags_check_queries(const struct rw_bags *bags, struct rw_ctx *ctx, uint32_t n_queries)
{
    uint64_t any[RW_MAX_BAGS] = {0};
    for (int bag = 0; bag < bags->n; bag++) {
        const struct rw_engine *engine = bags->engine[bag];
        const struct rw_engine_rules *rules = &engine->rules;
        for (uint32_t q = 0; q < n_queries && !any[bag]; q++)
            any[bag] = rw_random(rules->bag_seed,
                                 rw_bag_item(rules->bag, engine->first_query + (uint64_t)q), 0,
                                 RW_STREAM_BAG) < rules->bag_threshold;
    }
    RW_TRY(rw_comm_max(ctx, any, (size_t)bags->n));
    for (int bag = 0; bag < bags->n; bag++) {
        if (!any[bag])
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "bag %d of %d has no queries\nhint: a larger bag-queries than %g",
                           bag + 1, bags->n,
                           (double)bags->engine[bag]->rules.bag_threshold / 4294967296.0);
    }
    return RW_OK;
}

uint64_t rw_bag_seed(uint64_t seed, int bag)
{
    if (bag == 0)
        return seed;
    const struct rw_philox four = rw_random4(seed, (uint64_t)bag, 0, RW_STREAM_BAG);
    return (uint64_t)four.word[0] << 32 | four.word[1];
}

void rw_bags_divide(struct rw_tree *tree, int n)
{
    for (int32_t leaf = 0; leaf < tree->n_leaves && n > 1; leaf++)
        tree->leaf[leaf] = (float)((double)tree->leaf[leaf] / n);
}

int rw_bags_add_round(const struct rw_bags *bags, struct rw_ctx *ctx, const struct rw_tree *tree)
{
    struct rw_engine *engine = bags->engine[0];
    for (int bag = 0; bag < bags->n; bag++) {
        RW_RELEASED(rw_tree_release) struct rw_tree own = {0};
        if (bags->n > 1) {
            RW_TRY(rw_tree_copy(ctx, &tree[bag], &own));
            rw_bags_divide(&own, bags->n);
        }
        for (int set = 1; set < engine->n_sets; set++)
            RW_TRY(rw_engine_add_tree(engine, set, bags->n > 1 ? &own : &tree[bag], NULL));
    }
    return RW_OK;
}

int rw_bags_share_scores(const struct rw_bags *bags, struct rw_ctx *ctx)
{
    double *scores RW_FREED = NULL;
    if (bags->n == 1)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, scores, bags->engine[0]->n_docs[0]));
    RW_TRY(bags->engine[0]->ops->read_scores(bags->engine[0], 0, scores));
    for (int bag = 1; bag < bags->n; bag++)
        RW_TRY(rw_engine_set_scores(bags->engine[bag], 0, scores));
    return RW_OK;
}

int rw_bags_plan(const struct rw_bags *bags, const struct rw_plan_data *data, struct rw_plan *out)
{
    struct rw_ctx *ctx = bags->engine[0]->ctx;
    struct rw_plan_data alone = *data;
    struct rw_plan one;
    const uint64_t more = (uint64_t)bags->n - 1;
    uint64_t shared = 0; /* bytes of codes that other bags do not need */
    alone.n_sets = 1;
    RW_TRY(rw_engine_plan(bags->engine[0], data, out));
    if (more == 0)
        return RW_OK;
    out->free_bytes *= (uint64_t)bags->n; /* each bag may use its share of it */
    RW_TRY(rw_engine_plan(bags->engine[0], &alone, &one));
    const int shares = out->on_gpu ? !out->far_bytes && rw_n_workers(ctx) == 1 : data->bins != NULL;
    for (int i = 0; i < one.n_parts; i++) {
        const int is_shared = shares && strcmp(one.part[i].name, "codes") == 0;
        shared += is_shared ? more * one.part[i].bytes : 0;
        rw_plan_add(out, one.part[i].name, is_shared ? 0 : more * one.part[i].bytes);
    }
    if (out->on_gpu)
        out->free_bytes -= shared; /* counted in the share of the first bag */
    out->most_bytes += out->most_bytes ? more * one.bytes - shared : 0;
    out->far_bytes += more * one.far_bytes;
    out->tree_ms += (double)more * one.tree_ms;
    for (int i = 0; i < 3; i++) {
        out->many[i].tree_ms += (double)more * one.many[i].tree_ms;
        out->many[i].exchange_ms += (double)more * one.many[i].exchange_ms;
    }
    return RW_OK;
}

void rw_bags_close(struct rw_bags *bags)
{
    for (int bag = 0; bag < bags->n; bag++) {
        rw_engine_close(bags->engine[bag]);
        bags->engine[bag] = NULL;
    }
}
