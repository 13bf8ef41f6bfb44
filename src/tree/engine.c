#include "tree/engine.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "comm/comm.h"

static const struct {
    const char *name;
    int (*open)(struct rw_ctx *, int, struct rw_engine **);
} engines[] = {
#define RW_ENGINE(name) {#name, rw_engine_open_##name},
#include "tree/engines.def"
#undef RW_ENGINE
};

static int check_rules(struct rw_ctx *ctx, const struct rw_engine_rules *rules)
{
    const int good = rules->cut.bins >= 2 && rules->cut.bins <= RW_MAX_BINS && rules->bits >= 4 &&
                     rules->bits <= 16 && rules->max_slots >= 1 &&
                     rules->max_slots <= RW_MAX_SLOTS &&
                     rules->max_histograms <= rules->max_slots && rules->min_docs >= 1 &&
                     rw_split_params_are_good(&rules->split) && rules->lambda.sigma > 0.0f &&
                     (!rules->objective || rules->objective->device != RW_OBJECTIVE_HOST);
    return good ? RW_OK : rw_fail(ctx, RW_ERR_ARGUMENT, "engine rules are out of range");
}

static int batch_of(const struct rw_engine_ops *ops, const struct rw_engine_rules *rules)
{
    if (ops->large_batch && rules->leaves >= RW_LARGE_TREE)
        return ops->large_batch;
    return ops->batch > 1 ? ops->batch : 1;
}

int rw_device_check(struct rw_ctx *ctx, const char *device)
{
    size_t length;
    const int number = rw_device_number(device, &length);
    if (length != 4 || strncmp(device, "cuda", 4) != 0)
        return RW_OK; /* processors are there, and other names are refused where they are set */
    return rw_device_check_cuda(ctx, number < 0 ? 0 : number);
}

int rw_engine_open(struct rw_ctx *ctx, const char *device, const struct rw_engine_rules *rules,
                   struct rw_engine **out)
{
    *out = NULL;
    RW_TRY(check_rules(ctx, rules));
    const char *name = strcmp(device, "auto") == 0 ? "cpu" : device;
    size_t length;
    int number = rw_device_number(name, &length);
    if (number == 0 && !name[length] && rw_n_ranks(ctx) > 1)
        number = RW_DEVICE_OF_RANK;
    const int is_known = number >= 0 || number == RW_DEVICE_OF_RANK;
    for (size_t i = 0; is_known && i < sizeof(engines) / sizeof(engines[0]); i++) {
        if (strlen(engines[i].name) != length || strncmp(engines[i].name, name, length) != 0)
            continue;
        struct rw_engine *engine;
        RW_TRY(engines[i].open(ctx, number, &engine));
        engine->ctx = ctx;
        engine->n_threads = ctx->n_threads;
        if (engine->batch == 0)
            engine->batch = batch_of(engine->ops, rules);
        engine->rules = *rules;
        if (rules->objective && rules->objective->device == RW_OBJECTIVE_NEIGHBOURS &&
            !engine->ops->neighbours)
            engine->rules.objective = NULL;
        if (rules->doc_threshold == 0)
            engine->rules.doc_threshold = (uint64_t)1 << 32;
        if (rules->node_threshold == 0)
            engine->rules.node_threshold = (uint64_t)1 << 32;
        *out = engine;
        return RW_OK;
    }
    if (strcmp(name, "cuda:all") == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "device cuda:all is for 'train', which starts a rank for each GPU");
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown device '%s'; expected auto, cpu, cuda or cuda:N",
                   device);
}

void rw_engine_close(struct rw_engine *engine)
{
    if (engine)
        engine->ops->close(engine);
}

static int misuse(struct rw_engine *engine, const char *what)
{
    return rw_fail(engine->ctx, RW_ERR_ARGUMENT, "engine %s: %s", engine->ops->name, what);
}

int rw_engine_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                   const struct rw_bins *bins, const double *gains)
{
    if (set != engine->n_sets || set >= RW_MAX_SETS)
        return misuse(engine, "sets must be loaded in order, the training set first");
    if (set == 0 && rw_rules_rank(&engine->rules) && !gains)
        return misuse(engine, "lambdas need the training set's gains");
    if (set == 0)
        RW_TRY(rw_ranks_place(engine, dataset));
    RW_TRY(rw_comm_agree(engine->ctx, engine->ops->load(engine, set, dataset, bins, gains)));
    engine->n_docs[set] = dataset->n_docs;
    engine->n_sets++;
    return RW_OK;
}

static int check_handed(struct rw_engine *engine)
{
    if (engine->rules.objective || engine->n_sets == 0)
        return misuse(engine, "gradients are set only where it computes none, after loading");
    return RW_OK;
}

int rw_engine_set_gradients(struct rw_engine *engine, const double *gradients,
                            const double *hessians)
{
    RW_TRY(check_handed(engine));
    RW_TRY(rw_gradients_check(engine->ctx, engine->rules.handed_by, engine->first_doc,
                              engine->n_docs[0], gradients, hessians));
    RW_TRY(engine->ops->set_gradients(engine, gradients, hessians));
    engine->has_gradients = 1;
    return RW_OK;
}

int rw_engine_set_lambdas(struct rw_engine *engine, const int64_t *lambda, const int64_t *hessian)
{
    RW_TRY(check_handed(engine));
    RW_TRY(engine->ops->set_lambdas(engine, lambda, hessian));
    engine->has_gradients = 1;
    return RW_OK;
}

int rw_engine_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    if (engine->n_sets == 0)
        return misuse(engine, "no training set is loaded");
    if (!engine->rules.objective && !engine->has_gradients)
        return misuse(engine, "a tree before any gradients");
    engine->in_tree = 0;
    RW_TRY(engine->ops->begin_tree(engine, tree, out));
    engine->in_tree = 1;
    return RW_OK;
}

static int slot_ok(const struct rw_engine *engine, int32_t slot)
{
    return slot >= 0 && (uint32_t)slot < engine->rules.max_slots;
}

static int slots_ok(const struct rw_engine *engine, const int32_t *slots, int n)
{
    int ok = 1;
    for (int i = 0; i < n; i++)
        ok &= slot_ok(engine, slots[i]);
    return ok;
}

int rw_engine_allow(struct rw_engine *engine, const int32_t *slots, int n, const uint32_t *features)
{
    if (!engine->in_tree || n < 0 || !rw_rules_by_node(&engine->rules))
        return misuse(engine, "features of nodes outside a tree that asks for them");
    if (!slots_ok(engine, slots, n))
        return misuse(engine, "features of slots out of range");
    return engine->ops->allow(engine, slots, n, features);
}

int rw_engine_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    if (!engine->in_tree || n < 0)
        return misuse(engine, "histograms outside a tree");
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *s = &siblings[i];
        const int root = s->parent == -1 && s->smaller == 0 && s->larger == -1;
        const int child = slot_ok(engine, s->parent) && slot_ok(engine, s->smaller) &&
                          (s->larger == -1 || slot_ok(engine, s->larger)) &&
                          s->smaller != s->larger && s->parent != s->smaller;
        if (!root && !child)
            return misuse(engine, "histograms of slots out of range");
    }
    return engine->ops->histograms(engine, siblings, n);
}

int rw_engine_forget(struct rw_engine *engine, const int32_t *slots, int n)
{
    if (!engine->in_tree || n < 0)
        return misuse(engine, "histograms forgotten outside a tree");
    if (!slots_ok(engine, slots, n))
        return misuse(engine, "histograms of slots out of range forgotten");
    return engine->ops->forget ? engine->ops->forget(engine, slots, n) : RW_OK;
}

/* Can the split of another rank be one of the slot? */
static int is_split_of(const struct rw_cuts *cuts, const struct rw_split *split, int32_t slot)
{
    if (split->column < 0)
        return 1;
    const uint32_t column = (uint32_t)split->column;
    return split->slot == slot && column < cuts->n_features &&
           split->feature == cuts->feature[column] &&
           (split->is_set || split->bin < rw_cuts_n_codes(cuts, column)) && isfinite(split->gain) &&
           isfinite(split->cut);
}

static int check_splits(struct rw_engine *engine, const int32_t *slots, int n)
{
    if (!engine->in_tree || n < 0)
        return misuse(engine, "splits outside a tree");
    return slots_ok(engine, slots, n) ? RW_OK : misuse(engine, "splits of slots out of range");
}

int rw_engine_ask_splits(struct rw_engine *engine, const int32_t *slots, int n)
{
    RW_TRY(check_splits(engine, slots, n));
    return engine->ops->ask_splits ? engine->ops->ask_splits(engine, slots, n) : RW_OK;
}

int rw_engine_best_splits(struct rw_engine *engine, const int32_t *slots, int n,
                          struct rw_split *out)
{
    RW_TRY(check_splits(engine, slots, n));
    RW_TRY(engine->ops->best_splits(engine, slots, n, out));
    RW_TRY(rw_ranks_best(engine->ctx, out, n));
    for (int i = 0; rw_n_ranks(engine->ctx) > 1 && i < n; i++) {
        if (!is_split_of(engine->cuts, &out[i], slots[i]))
            return rw_comm_nonsense(engine->ctx, "splits");
    }
    return RW_OK;
}

int rw_engine_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    if (!engine->in_tree || n < 0 || (uint32_t)n > engine->rules.max_slots)
        return misuse(engine, "partition outside a tree");
    for (int i = 0; i < n; i++) {
        const struct rw_split *s = &splits[i];
        if (!slot_ok(engine, s->slot) || !slot_ok(engine, s->left) || !slot_ok(engine, s->right) ||
            s->left == s->right || s->column < 0 || (uint32_t)s->column >= engine->info.n_features)
            return misuse(engine, "partition of slots or columns out of range");
    }
    return engine->ops->partition(engine, splits, n);
}

static int check_leaves(struct rw_engine *engine, const int32_t *leaf_slot, int n)
{
    if (!engine->in_tree || n < 0 || (uint32_t)n > engine->rules.max_slots)
        return misuse(engine, "sums of leaves outside a tree");
    return slots_ok(engine, leaf_slot, n) ? RW_OK : misuse(engine, "sums of slots out of range");
}

int rw_engine_ask_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n)
{
    RW_TRY(check_leaves(engine, leaf_slot, n));
    return engine->ops->ask_leaf_sums ? engine->ops->ask_leaf_sums(engine, leaf_slot, n) : RW_OK;
}

int rw_engine_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n,
                        struct rw_sum *sums)
{
    RW_TRY(check_leaves(engine, leaf_slot, n));
    RW_TRY(engine->ops->leaf_sums(engine, leaf_slot, n, sums));
    return rw_ranks_leaf_sums(engine->ctx, sums, n);
}

int rw_engine_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                       const int32_t *leaf_slot)
{
    if (set < 0 || set >= engine->n_sets)
        return misuse(engine, "no such set");
    if (tree->n_leaves < 1 || (uint32_t)tree->n_leaves > engine->rules.max_slots)
        return misuse(engine, "a tree of too many leaves");
    return engine->ops->add_tree(engine, set, tree, leaf_slot);
}

int rw_engine_read_scores(struct rw_engine *engine, int set, double *scores)
{
    if (set < 0 || set >= engine->n_sets)
        return misuse(engine, "no such set");
    return engine->ops->read_scores(engine, set, scores);
}

int rw_engine_set_scores(struct rw_engine *engine, int set, const double *scores)
{
    if (set < 0 || set >= engine->n_sets)
        return misuse(engine, "no such set");
    for (uint32_t i = 0; i < engine->n_docs[set]; i++) {
        char shard[RW_SHARD_TEXT];
        if (!isfinite(scores[i]))
            return rw_fail(engine->ctx, RW_ERR_DATA,
                           "score of document %u%s is %g; expected a finite number", i,
                           rw_comm_shard(engine->ctx, shard), scores[i]);
    }
    return engine->ops->set_scores(engine, set, scores);
}

int rw_engine_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    if (set < 0 || set >= engine->n_sets)
        return misuse(engine, "no such set");
    return engine->ops->code_sums(engine, set, first_doc, sums);
}

int rw_engine_measure(struct rw_engine *engine, int set, const struct rw_metric_plan *plan)
{
    if (set < 0 || set >= engine->n_sets || plan->n_metrics < 0 ||
        plan->judgments->n_docs != engine->n_docs[set])
        return misuse(engine, "no such set to be measured");
    for (int m = 0; m < plan->n_metrics; m++) {
        if (plan->metric[m].kind->device == RW_METRIC_HOST)
            return misuse(engine, "a metric to be measured that only the host measures");
    }
    engine->measured[set] = 0;
    if (!engine->ops->measure)
        return RW_OK;
    RW_TRY(engine->ops->measure(engine, set, plan));
    engine->measured[set] = 1;
    return RW_OK;
}

int rw_engine_metrics(struct rw_engine *engine, int set, struct rw_metric_result *out)
{
    if (set < 0 || set >= engine->n_sets)
        return misuse(engine, "no such set");
    return engine->measured[set] ? engine->ops->metrics(engine, set, out) : 0;
}

void rw_engine_set_split_rule(struct rw_engine *engine, const struct rw_root *root,
                              const struct rw_quantised_sums *sums)
{
    const struct rw_engine_rules *rules = &engine->rules;
    struct rw_split_rule *rule = &engine->split_rule;
    const int lambda_unit = root->lambda_shift - root->lambda_exponent;
    const int hess_unit = root->hess_shift - root->hess_exponent;
    rule->given = rules->split;
    rule->newton = rules->newton;
    rule->min_docs = rules->min_docs;
    rule->hess_unit = rw_pow2(hess_unit);
    rule->gain_scale = rw_pow2(2 * lambda_unit - (rules->newton ? hess_unit : 0));
    rule->l2 = rules->split.l2;
    rule->category_prior = rules->split.category_smoothing;
    /* what a split that says nothing gains on average: Q^2 / n of a document */
    double chance = root->sum.n ? (double)sums->lambda_squares / (double)root->sum.n : 0.0;
    if (rules->newton && root->sum.n) {
        const double mean = (double)sums->hess / (double)root->sum.n;
        rule->l2 = rules->split.l2 * mean;
        rule->category_prior = rules->split.category_smoothing * mean;
        chance = mean > 0.0 ? chance / mean : 0.0;
    }
    rule->category_cost = rules->split.category_penalty * chance * rule->gain_scale;
}

int rw_ranks_place(struct rw_engine *engine, const struct rw_dataset *train)
{
    struct rw_ctx *ctx = engine->ctx;
    const int n_ranks = rw_n_ranks(ctx), rank = rw_rank(ctx);
    RW_FREED uint64_t *docs = NULL, *queries = NULL;
    int status = RW_NEW(ctx, docs, (size_t)n_ranks + 1);
    status = status < 0 ? status : RW_NEW(ctx, queries, (size_t)n_ranks + 1);
    RW_TRY(rw_comm_agree(ctx, status));
    RW_TRY(rw_comm_offsets(ctx, train->n_docs, docs));
    RW_TRY(rw_comm_offsets(ctx, train->n_queries, queries));
    if (docs[n_ranks] > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_DATA, "%llu documents on %d ranks; expected at most %u",
                       (unsigned long long)docs[n_ranks], n_ranks, RW_MAX_DOCS);
    engine->first_doc = (uint32_t)docs[rank];
    engine->first_query = (uint32_t)queries[rank];
    engine->all_docs = (uint32_t)docs[n_ranks];
    return status;
}

int rw_ranks_keep_one(struct rw_engine *engine, uint32_t n_kept, uint32_t lowest, uint32_t number,
                      int *keep)
{
    struct rw_ctx *ctx = engine->ctx;
    uint64_t all_kept = n_kept;
    /* by random number, then by its number among all; a rank without queries comes last,
     * and if it has the number of one, it has none to keep */
    const uint64_t own = (uint64_t)lowest << 32 | number;
    uint64_t least = own;
    *keep = 0;
    RW_TRY(rw_comm_sum(ctx, &all_kept, 1));
    if (all_kept > 0)
        return RW_OK;
    RW_TRY(rw_comm_all_reduce(ctx, &least, 1, RW_COMM_U64, RW_COMM_MIN));
    *keep = least == own;
    return RW_OK;
}

int rw_ranks_extent(struct rw_engine *engine, struct rw_extent *extent)
{
    struct rw_ctx *ctx = engine->ctx;
    const struct rw_extent own = *extent;
    struct rw_sum *sum = &extent->sum;
    uint64_t largest[2] = {(uint64_t)extent->lambda, (uint64_t)extent->hess};
    if (rw_n_ranks(ctx) == 1)
        return RW_OK;
    RW_TRY(rw_comm_max(ctx, largest, 2));
    extent->lambda = (int64_t)largest[0];
    extent->hess = (int64_t)largest[1];
    RW_TRY(rw_ranks_leaf_sums(ctx, sum, 1));
    return extent->lambda >= own.lambda && extent->hess >= own.hess && sum->n >= own.sum.n &&
                   sum->n <= engine->all_docs
               ? RW_OK
               : rw_comm_nonsense(ctx, "sums of gradients");
}

int rw_ranks_leaf_sums(struct rw_ctx *ctx, struct rw_sum *sums, int n)
{
    _Static_assert(sizeof(*sums) == 5 * sizeof(uint64_t), "sums are 64-bit words");
    return rw_comm_sum(ctx, (uint64_t *)(void *)sums, 5 * (size_t)n);
}

/* Higher gain, then lower feature; of a feature one rank's found counts, or all have the same. */
static int is_better(const struct rw_split *a, const struct rw_split *b)
{
    if (a->column < 0 || b->column < 0)
        return a->column >= 0 && b->column < 0;
    return a->gain > b->gain || (a->gain == b->gain && a->column < b->column);
}

int rw_ranks_best(struct rw_ctx *ctx, struct rw_split *splits, int n)
{
    const int n_ranks = rw_n_ranks(ctx);
    struct rw_split *all = NULL;
    if (n_ranks == 1)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, all, (size_t)n * (size_t)n_ranks));
    const int status = rw_comm_all_gather(ctx, splits, all, (size_t)n * sizeof(*splits));
    for (int i = 0; status >= 0 && i < n; i++) {
        splits[i] = all[i];
        for (int r = 1; r < n_ranks; r++) {
            if (is_better(&all[r * n + i], &splits[i]))
                splits[i] = all[r * n + i];
        }
    }
    rw_mem_free(all);
    return status;
}
