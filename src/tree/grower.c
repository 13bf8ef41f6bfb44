#include "tree/grower.h"

#include <math.h>

#include "base/clock.h"
#include "base/mem.h"

/* A node's number is its slot; numbers are given in the order of one-at-a-time growth. */
struct node {
    struct rw_sum sum;
    struct rw_split split; /* best split; column -1: a leaf */
    int32_t depth;
    int32_t index; /* number among the splits or among the leaves, at the end */
    int is_split;
};

struct rw_grower {
    struct rw_ctx *ctx; /* borrowed */
    struct rw_grow_rules rules;
    uint32_t max_slots;
    struct node *node; /* [max_slots] */
    int32_t n_nodes;
    int32_t *heap; /* [max_slots] frontier: best gain first, then lower number */
    int32_t n_heap;
    int32_t *split_node; /* [max_slots] node of each split, in order */
    int32_t n_splits;
    /* one batch */
    struct rw_split *batch;     /* [max_slots] */
    struct rw_sum *sums;        /* [max_slots][2] */
    struct rw_sibling *sibling; /* [max_slots] */
    int32_t *search;            /* [max_slots] slots whose split is asked for */
    struct rw_split *found;     /* [max_slots] */
};

uint32_t rw_grow_max_slots(const struct rw_grow_rules *rules)
{
    const uint32_t leaves = rules->levels ? (uint32_t)1 << rules->depth : (uint32_t)rules->leaves;
    return 2 * leaves - 1;
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
    const size_t n = grower->max_slots;
    RW_TRY_OUT(RW_NEW(ctx, grower->node, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->heap, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->split_node, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->batch, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->sums, 2 * n));
    RW_TRY_OUT(RW_NEW(ctx, grower->sibling, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->search, n));
    RW_TRY_OUT(RW_NEW(ctx, grower->found, n));
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
    rw_mem_free(grower->heap);
    rw_mem_free(grower->split_node);
    rw_mem_free(grower->batch);
    rw_mem_free(grower->sums);
    rw_mem_free(grower->sibling);
    rw_mem_free(grower->search);
    rw_mem_free(grower->found);
    rw_mem_free(grower);
}

/* ---- the frontier ---- */

static int before(const struct rw_grower *g, int32_t a, int32_t b)
{
    const double gain_a = g->node[a].split.gain, gain_b = g->node[b].split.gain;
    return gain_a > gain_b || (gain_a == gain_b && a < b);
}

static void frontier_push(struct rw_grower *g, int32_t id)
{
    int32_t at = g->n_heap++;
    while (at > 0 && before(g, id, g->heap[(at - 1) / 2])) {
        g->heap[at] = g->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    g->heap[at] = id;
}

static int32_t frontier_pop(struct rw_grower *g)
{
    const int32_t top = g->heap[0], last = g->heap[--g->n_heap];
    int32_t at = 0;
    for (;;) {
        int32_t child = 2 * at + 1;
        if (child >= g->n_heap)
            break;
        if (child + 1 < g->n_heap && before(g, g->heap[child + 1], g->heap[child]))
            child++;
        if (!before(g, g->heap[child], last))
            break;
        g->heap[at] = g->heap[child];
        at = child;
    }
    g->heap[at] = last;
    return top;
}

/* ---- growth ---- */

static int may_split(const struct rw_grower *g, const struct node *node)
{
    return node->sum.n >= 2 * (uint64_t)g->rules.min_docs &&
           (g->rules.depth == 0 || node->depth < g->rules.depth);
}

/* Splits `batch` nodes: partitions, and, if `look` is set, finds the children's best splits. */
static int expand(struct rw_grower *g, struct rw_engine *engine, int n_batch, int look,
                  struct rw_grow_times *times)
{
    for (int i = 0; i < n_batch; i++) {
        g->batch[i].left = g->n_nodes++;
        g->batch[i].right = g->n_nodes++;
    }
    double start = rw_clock_ms();
    RW_TRY(rw_engine_partition(engine, g->batch, n_batch, g->sums));
    times->partition_ms += rw_clock_ms() - start;
    int n_siblings = 0, n_search = 0;
    for (int i = 0; i < n_batch; i++) {
        const struct rw_split *split = &g->batch[i];
        struct node *parent = &g->node[split->slot];
        parent->is_split = 1;
        g->split_node[g->n_splits++] = split->slot;
        parent->split.left = split->left;
        parent->split.right = split->right;
        const int32_t child[2] = {split->left, split->right};
        int wanted[2];
        for (int side = 0; side < 2; side++) {
            struct node *node = &g->node[child[side]];
            *node = (struct node){
                .sum = g->sums[2 * i + side], .split = {.column = -1}, .depth = parent->depth + 1};
            wanted[side] = look && may_split(g, node);
            if (wanted[side])
                g->search[n_search++] = child[side];
        }
        const int small = g->sums[2 * i].n <= g->sums[2 * i + 1].n ? 0 : 1;
        if (wanted[0] || wanted[1])
            g->sibling[n_siblings++] =
                (struct rw_sibling){.parent = split->slot,
                                    .smaller = child[small],
                                    .larger = wanted[!small] ? child[!small] : -1};
    }
    if (n_search == 0)
        return RW_OK;
    start = rw_clock_ms();
    RW_TRY(rw_engine_histograms(engine, g->sibling, n_siblings));
    times->histograms_ms += rw_clock_ms() - start;
    start = rw_clock_ms();
    RW_TRY(rw_engine_best_splits(engine, g->search, n_search, g->found));
    times->splits_ms += rw_clock_ms() - start;
    for (int i = 0; i < n_search; i++) {
        g->node[g->search[i]].split = g->found[i];
        if (g->found[i].column >= 0)
            frontier_push(g, g->search[i]);
    }
    return RW_OK;
}

static int start_tree(struct rw_grower *g, struct rw_engine *engine, uint32_t tree,
                      struct rw_root *root, struct rw_grow_times *times)
{
    memset(times, 0, sizeof(*times));
    g->n_nodes = 1;
    g->n_heap = g->n_splits = 0;
    double start = rw_clock_ms();
    RW_TRY(rw_engine_begin_tree(engine, tree, root));
    times->lambdas_ms = rw_clock_ms() - start;
    g->node[0] = (struct node){.sum = root->sum, .split = {.column = -1}};
    if (!may_split(g, &g->node[0]) || root->n_features == 0)
        return RW_OK;
    const struct rw_sibling whole = {.parent = -1, .smaller = 0, .larger = -1};
    const int32_t slot = 0;
    start = rw_clock_ms();
    RW_TRY(rw_engine_histograms(engine, &whole, 1));
    times->histograms_ms = rw_clock_ms() - start;
    start = rw_clock_ms();
    RW_TRY(rw_engine_best_splits(engine, &slot, 1, &g->node[0].split));
    times->splits_ms = rw_clock_ms() - start;
    if (g->node[0].split.column >= 0)
        frontier_push(g, 0);
    return RW_OK;
}

static int grow_best_first(struct rw_grower *g, struct rw_engine *engine,
                           struct rw_grow_times *times)
{
    while (g->n_heap > 0 && g->n_splits + 1 < g->rules.leaves) {
        g->batch[0] = g->node[frontier_pop(g)].split;
        RW_TRY(expand(g, engine, 1, g->n_splits + 2 < g->rules.leaves, times));
    }
    return RW_OK;
}

/* A level at a time, nodes in the order of their numbers. */
static int grow_levels(struct rw_grower *g, struct rw_engine *engine, struct rw_grow_times *times)
{
    int32_t begin = 0;
    for (int32_t depth = 0; depth < g->rules.depth && g->n_heap > 0; depth++) {
        const int32_t end = g->n_nodes;
        int n_batch = 0;
        for (int32_t id = begin; id < end; id++) {
            if (g->node[id].split.column >= 0)
                g->batch[n_batch++] = g->node[id].split;
        }
        g->n_heap = 0;
        RW_TRY(expand(g, engine, n_batch, 1, times));
        begin = end;
    }
    return RW_OK;
}

/* ---- the finished tree ---- */

static int make_tree(struct rw_grower *g, const struct rw_root *root, struct rw_tree *tree,
                     int32_t *leaf_slot)
{
    RW_TRY(rw_tree_init(g->ctx, tree, g->n_splits + 1));
    const struct rw_leaf_rule rule = {
        .rate = g->rules.rate,
        .l2 = g->rules.l2,
        .mean_weight =
            rw_sum_real(root->sum.weight_hi, root->sum.weight_lo, root->weight_exponent) /
            (double)root->sum.n,
        .lambda_exponent = root->lambda_exponent,
        .weight_exponent = root->weight_exponent};
    for (int32_t k = 0; k < g->n_splits; k++)
        g->node[g->split_node[k]].index = k;
    int32_t n_leaves = 0;
    for (int32_t id = 0; id < g->n_nodes; id++) {
        struct node *node = &g->node[id];
        if (node->is_split)
            continue;
        node->index = ~n_leaves;
        leaf_slot[n_leaves] = id;
        tree->leaf[n_leaves] = g->n_splits ? rw_leaf_value(&rule, &node->sum) : 0.0f;
        if (!isfinite(tree->leaf[n_leaves])) {
            rw_tree_release(tree);
            return rw_fail(g->ctx, RW_ERR_DATA,
                           "a leaf's value is beyond the largest float: gradients too large for "
                           "their hessians");
        }
        n_leaves++;
    }
    for (int32_t k = 0; k < g->n_splits; k++) {
        const struct rw_split *split = &g->node[g->split_node[k]].split;
        tree->left[k] = g->node[split->left].index;
        tree->right[k] = g->node[split->right].index;
        tree->feature[k] = split->feature;
        tree->cut[k] = split->cut;
        tree->missing_left[k] = (uint8_t)split->missing_left;
        tree->gain[k] = split->gain;
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
    return make_tree(grower, &root, out, leaf_slot);
}
