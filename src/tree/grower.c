#include "tree/grower_inside.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"

uint32_t rw_grow_max_slots(const struct rw_grow_rules *rules)
{
    const uint32_t leaves = rules->levels ? (uint32_t)1 << rules->depth : (uint32_t)rules->leaves;
    const uint32_t least = 2 * leaves - 1;
    uint32_t more = rules->levels || rules->batch == 1 ? 0 : leaves * 3;
    if (more > RW_MAX_SLOTS - least)
        more = RW_MAX_SLOTS - least;
    return least + more;
}

uint32_t rw_grow_max_histograms(const struct rw_grow_rules *rules)
{
    enum { MOST_SPARE = 64 }; /* a few batches */
    const uint32_t leaves = rules->levels ? (uint32_t)1 << rules->depth : (uint32_t)rules->leaves;
    if (rules->levels || rules->batch == 1)
        return leaves;
    return leaves + (2 * leaves < MOST_SPARE ? 2 * leaves : MOST_SPARE);
}

int rw_grower_new(struct rw_ctx *ctx, const struct rw_grow_rules *rules, struct rw_grower **out)
{
    int status = RW_OK;
    struct rw_grower *grower;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, grower, 1));
    grower->ctx = ctx;
    grower->rules = *rules;
    grower->max_slots = rw_grow_max_slots(rules);
    grower->max_histograms = rw_grow_max_histograms(rules);
    const size_t n = grower->max_slots;
    RW_TRY_OUT(RW_NEW(ctx, grower->node, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->split, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->slot_of, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->frontier, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->prospect, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->ranked, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->batch, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->sum, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->sibling, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->search, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->found, n));
    if (rules->monotone)
        RW_TRY_OUT(rw_monotone_init(ctx, &grower->monotone, n));
    *out = grower;
    return RW_OK;
out:
    rw_grower_free(grower);
    return status;
}

void rw_grower_free(struct rw_grower *grower)
{
    if (!grower)
        return;
    rw_mem_free(grower->node);
    rw_mem_free(grower->split);
    rw_mem_free(grower->slot_of);
    rw_mem_free(grower->frontier);
    rw_mem_free(grower->prospect);
    rw_mem_free(grower->ranked);
    rw_mem_free(grower->batch);
    rw_mem_free(grower->sum);
    rw_mem_free(grower->sibling);
    rw_mem_free(grower->search);
    rw_mem_free(grower->found);
    rw_monotone_release(&grower->monotone);
    rw_node_features_free(grower->nodes);
    rw_mem_free(grower);
}

/* ---- growth ---- */

static int may_split(const struct rw_grower *g, const struct grow_node *node)
{
    return node->n >= 2 * (uint64_t)g->rules.min_docs &&
           (g->rules.depth == 0 || node->depth < g->rules.depth);
}

/* A node at the next slot. */
static int32_t add_node(struct rw_grower *g, uint64_t n, int32_t depth)
{
    g->node[g->n_slots] = (struct grow_node){.n = n, .depth = depth, .index = -1};
    g->split[g->n_slots].column = -1;
    g->split[g->n_slots].is_set = 0;
    return g->n_slots++;
}

/* What the engine keeps once it has made histograms. */
static void keep(struct rw_grower *g, const struct rw_sibling *sibling)
{
    if (sibling->parent >= 0) {
        g->n_histograms -= g->node[sibling->parent].is_kept;
        g->node[sibling->parent].is_kept = 0;
    }
    g->node[sibling->smaller].is_kept = 1;
    g->n_histograms++;
    if (sibling->larger >= 0) {
        g->node[sibling->larger].is_kept = 1;
        g->n_histograms++;
    }
}

/* Finds the best splits of the slots in g->search, with the histograms of g->sibling, and ranks
 * prospects meanwhile. */
static int search(struct rw_grower *g, struct rw_engine *engine, int n_siblings, int n_search,
                  struct rw_grow_times *times)
{
    double start = rw_clock_ms();
    if (g->nodes)
        RW_TRY(rw_node_features_allow(g->nodes, g->search, n_search));
    RW_TRY(rw_engine_histograms(engine, g->sibling, n_siblings));
    for (int i = 0; i < n_siblings; i++)
        keep(g, &g->sibling[i]);
    times->histograms_ms += rw_clock_ms() - start;
    times->n_histograms += n_siblings;
    start = rw_clock_ms();
    RW_TRY(rw_engine_ask_splits(engine, g->search, n_search));
    rw_frontier_rank(g, times);
    RW_TRY(rw_engine_best_splits(engine, g->search, n_search, g->found));
    times->splits_ms += rw_clock_ms() - start;
    for (int i = 0; i < n_search; i++) {
        struct grow_node *node = &g->node[g->search[i]];
        node->has_split = g->found[i].column >= 0;
        node->gain = g->found[i].gain;
        rw_split_copy(&g->split[g->search[i]], &g->found[i]);
    }
    return RW_OK;
}

/* Splits the nodes of g->batch: partitions, and, if `look` is set, finds the children's best
 * splits. */
static int expand(struct rw_grower *g, struct rw_engine *engine, int look,
                  struct rw_grow_times *times)
{
    const int n_batch = g->n_batch;
    for (int i = 0; i < n_batch; i++) {
        g->batch[i].left = g->n_slots + 2 * i;
        g->batch[i].right = g->n_slots + 2 * i + 1;
    }
    const double start = rw_clock_ms();
    RW_TRY(rw_engine_partition(engine, g->batch, n_batch));
    times->partition_ms += rw_clock_ms() - start;
    times->n_batches++;
    int n_siblings = 0, n_search = 0;
    for (int i = 0; i < n_batch; i++) {
        const struct rw_split *split = &g->batch[i];
        struct grow_node *parent = &g->node[split->slot];
        parent->is_begun = 1;
        parent->left = split->left;
        parent->right = split->right;
        if (g->nodes)
            rw_node_features_add(g->nodes, split);
        const int32_t child[2] = {split->left, split->right};
        const uint64_t n[2] = {split->n_left, parent->n - split->n_left};
        int wanted[2];
        for (int side = 0; side < 2; side++) {
            add_node(g, n[side], parent->depth + 1);
            wanted[side] = look && may_split(g, &g->node[child[side]]);
            if (wanted[side])
                g->search[n_search++] = child[side];
        }
        const int small = n[0] <= n[1] ? 0 : 1;
        if (wanted[0] || wanted[1])
            g->sibling[n_siblings++] =
                (struct rw_sibling){.parent = split->slot,
                                    .smaller = child[small],
                                    .larger = wanted[!small] ? child[!small] : -1};
    }
    if (n_search)
        RW_TRY(search(g, engine, n_siblings, n_search, times));
    else
        rw_frontier_rank(g, times);
    for (int i = 0; i < n_batch; i++)
        g->node[g->batch[i].slot].is_expanded = 1;
    return RW_OK;
}

static int start_tree(struct rw_grower *g, struct rw_engine *engine, uint32_t tree,
                      struct rw_root *root, struct rw_grow_times *times)
{
    memset(times, 0, sizeof(*times));
    g->n_nodes = g->n_slots = g->n_frontier = g->n_splits = 0;
    g->n_histograms = 0;
    const double start = rw_clock_ms();
    RW_TRY(rw_engine_begin_tree(engine, tree, root));
    if (rw_rules_by_node(&engine->rules) && !g->nodes)
        RW_TRY(rw_node_features_new(engine, &g->nodes));
    if (g->nodes)
        rw_node_features_begin(g->nodes, tree);
    times->lambdas_ms = rw_clock_ms() - start;
    add_node(g, root->sum.n, 0);
    g->sibling[0] = (struct rw_sibling){.parent = -1, .smaller = 0, .larger = -1};
    g->search[0] = 0;
    if (may_split(g, &g->node[0]) && root->n_features > 0)
        RW_TRY(search(g, engine, 1, 1, times));
    rw_frontier_add(g, 0);
    return RW_OK;
}

static int grow_best_first(struct rw_grower *g, struct rw_engine *engine,
                           struct rw_grow_times *times)
{
    g->n_batch = 0;
    rw_frontier_rank(g, times);
    for (;;) {
        int is_last;
        RW_TRY(rw_frontier_forget(g, engine, times));
        rw_frontier_choose(g, &is_last);
        if (g->n_batch == 0)
            break;
        RW_TRY(expand(g, engine, !is_last, times));
    }
    rw_frontier_accept_known(g);
    return RW_OK;
}

/* A level at a time, nodes in the order of their numbers. */
static int grow_levels(struct rw_grower *g, struct rw_engine *engine, struct rw_grow_times *times)
{
    int32_t begin = 0;
    for (int32_t depth = 0; depth < g->rules.depth && g->n_frontier > 0; depth++) {
        const int32_t end = g->n_nodes;
        g->n_batch = 0;
        for (int32_t number = begin; number < end; number++) {
            const int32_t slot = g->slot_of[number];
            if (g->node[slot].has_split)
                rw_split_copy(&g->batch[g->n_batch++], &g->split[slot]);
        }
        g->n_frontier = 0;
        RW_TRY(expand(g, engine, 1, times));
        for (int i = 0; i < g->n_batch; i++)
            rw_frontier_accept(g, g->batch[i].slot);
        begin = end;
    }
    return RW_OK;
}

/* ---- the finished tree ---- */

void rw_grower_set_rate(struct rw_grower *grower, double rate)
{
    grower->rules.rate = rate;
}

static int leaf_values(struct rw_grower *g, struct rw_engine *engine, const struct rw_root *root,
                       const int32_t *leaf_slot, struct rw_tree *tree)
{
    const struct rw_leaf_rule rule = {
        .rate = g->rules.rate,
        .l2 = g->rules.l2,
        .mean_hess = rw_sum_real(root->sum.hess_hi, root->sum.hess_lo, root->hess_exponent) /
                     (double)root->sum.n,
        .lambda_exponent = root->lambda_exponent,
        .hess_exponent = root->hess_exponent};
    tree->leaf[0] = 0.0f;
    if (g->n_splits == 0)
        return RW_OK;
    RW_TRY(rw_tree_add_covers(g->ctx, tree));
    RW_TRY(rw_engine_leaf_sums(engine, leaf_slot, tree->n_leaves, g->sum));
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
        if (g->sum[leaf].n != g->node[leaf_slot[leaf]].n)
            return rw_fail(g->ctx, RW_ERR_INTERNAL, "a leaf of other documents than its node's");
        tree->leaf[leaf] = rw_leaf_value(&rule, &g->sum[leaf]);
        rw_tree_set_cover(tree, leaf, &g->sum[leaf], root->hess_exponent);
    }
    if (g->rules.monotone)
        rw_monotone_values(&g->monotone, &rule, g->rules.monotone, g->sum, tree);
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
        if (!isfinite(tree->leaf[leaf]))
            return rw_fail(g->ctx, RW_ERR_DATA,
                           "a leaf's value is beyond the largest float: gradients too large for "
                           "their hessians");
    }
    return RW_OK;
}

/* The slots of leaves. Returns their number. */
static int32_t list_leaves(struct rw_grower *g, int32_t *leaf_slot)
{
    int32_t n_leaves = 0;
    for (int32_t number = 0; number < g->n_nodes; number++) {
        struct grow_node *node = &g->node[g->slot_of[number]];
        if (node->index >= 0)
            continue;
        node->index = ~n_leaves;
        leaf_slot[n_leaves++] = g->slot_of[number];
    }
    return n_leaves;
}

/* Splits, in order. */
static void make_tree(struct rw_grower *g, struct rw_tree *tree)
{
    for (int32_t number = 0; number < g->n_nodes; number++) {
        const int32_t slot = g->slot_of[number];
        const struct grow_node *node = &g->node[slot];
        const struct rw_split *split = &g->split[slot];
        const int32_t k = node->index;
        if (k < 0)
            continue;
        tree->left[k] = g->node[node->left].index;
        tree->right[k] = g->node[node->right].index;
        tree->feature[k] = split->feature;
        tree->cut[k] = split->cut;
        tree->missing_left[k] = (uint8_t)split->missing_left;
        tree->gain[k] = split->gain;
        if (split->is_set) {
            tree->by_set[k] = 1;
            tree->set[k] = split->set;
        }
    }
}

/* Room for splits by categories, if there are some. */
static int add_sets(const struct rw_grower *g, struct rw_tree *tree)
{
    for (int32_t number = 0; number < g->n_nodes; number++) {
        const int32_t slot = g->slot_of[number];
        if (g->node[slot].index >= 0 && g->split[slot].is_set)
            return rw_tree_add_sets(g->ctx, tree);
    }
    return RW_OK;
}

int rw_grower_grow(struct rw_grower *grower, struct rw_engine *engine, uint32_t tree,
                   struct rw_tree *out, int32_t *leaf_slot, struct rw_grow_times *times)
{
    struct rw_root root;
    memset(out, 0, sizeof(*out));
    RW_TRY(start_tree(grower, engine, tree, &root, times));
    if (grower->rules.levels)
        RW_TRY(grow_levels(grower, engine, times));
    else
        RW_TRY(grow_best_first(grower, engine, times));
    const int32_t n_leaves = list_leaves(grower, leaf_slot);
    if (n_leaves > 1)
        RW_TRY(rw_engine_ask_leaf_sums(engine, leaf_slot, n_leaves));
    RW_TRY(rw_tree_init(grower->ctx, out, grower->n_splits + 1));
    int status = add_sets(grower, out);
    if (status < 0) {
        rw_tree_release(out);
        return status;
    }
    make_tree(grower, out);
    const double start = rw_clock_ms();
    status = leaf_values(grower, engine, &root, leaf_slot, out);
    times->partition_ms += rw_clock_ms() - start;
    if (status < 0)
        rw_tree_release(out);
    return status;
}
