/* Grows a tree (tree/grower.h, which defines frontier, batch and speculative): the features that
 * may split each node, the frontier, the choice of batches, growth, and the finished tree.
 * The last part checks interaction constraints. tree/leaf_values.c has the values of leaves that
 * depend on other leaves.
 *
 * A node is known once the engine has searched for its best split. A candidate is a known node
 * that may be split later (struct grow_entry). */
#include "tree/grower.h"

#include "base/rng.h"
#include "tree/engine_host.h"

/* ---- the features that nodes may be split by ---- */

struct rw_node_features {
    struct rw_engine *engine; /* borrowed */
    uint32_t tree;
    uint8_t *sampled;  /* [n_features] 1: sampled for the tree */
    uint32_t *key;     /* [max_slots] for random numbers (tree/grower.h); the root's is 0 */
    int32_t *above;    /* [max_slots] feature of the parent's split; -1: the root */
    uint64_t *live;    /* [max_slots][n_words] groups that contain all features used above */
    uint32_t *allowed; /* [max_slots][rw_node_words] argument of the engine's `allow` */
    double noise;      /* of the tree, see set_noise */
};

static size_t n_group_words(const struct rw_engine *engine)
{
    return engine->rules.interactions ? engine->rules.interactions->n_words : 0;
}

/* Makes *out, which the arena frees. */
static int node_features_new(struct rw_engine *engine, struct rw_arena *arena,
                             struct rw_node_features **out)
{
    struct rw_ctx *ctx = engine->ctx;
    const size_t n_slots = engine->rules.max_slots, words = rw_node_words(engine);
    struct rw_node_features *nodes;
    RW_TRY(RW_ARENA_NEW(ctx, arena, nodes, 1));
    nodes->engine = engine;
    RW_TRY(RW_ARENA_NEW(ctx, arena, nodes->sampled, engine->info.n_features));
    RW_TRY(RW_ARENA_NEW(ctx, arena, nodes->key, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, nodes->above, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, arena, nodes->live, n_slots * n_group_words(engine)));
    RW_TRY(RW_ARENA_NEW(ctx, arena, nodes->allowed, n_slots * words));
    nodes->above[0] = -1; /* all may be used at the root */
    memset(nodes->live, 0xff, n_group_words(engine) * sizeof(*nodes->live));
    *out = nodes;
    return RW_OK;
}

/* Writes to `to` the groups of `from` that contain the feature. */
static void keep_groups(const struct rw_interactions *interactions, uint32_t feature,
                        const uint64_t *from, uint64_t *to)
{
    for (uint32_t w = 0; w < interactions->n_words; w++)
        to[w] = from[w] & rw_groups_of(interactions, feature)[w];
}

/* Returns 1 if a feature may split a node. above: the feature of the parent's split, which may be
 * used again whatever its groups; -1: any feature may split the root. live: the groups that contain
 * all features used above. */
static int may_follow(const struct rw_interactions *interactions, uint32_t feature, int32_t above,
                      const uint64_t *live)
{
    if (above < 0 || (int32_t)feature == above)
        return 1;
    for (uint32_t w = 0; w < interactions->n_words; w++) {
        if (live[w] & rw_groups_of(interactions, feature)[w])
            return 1;
    }
    return 0;
}

/* Sets the keys and groups of a split's children. */
static void node_features_add(struct rw_node_features *nodes, const struct rw_split *split)
{
    const struct rw_engine_rules *rules = &nodes->engine->rules;
    const size_t words = n_group_words(nodes->engine);
    const int32_t child[2] = {split->left, split->right};
    for (uint32_t side = 0; side < 2; side++) {
        nodes->key[child[side]] =
            rw_random(rules->seed, (uint64_t)side << 32 | nodes->key[split->slot], nodes->tree,
                      RW_STREAM_NODE);
        nodes->above[child[side]] = (int32_t)split->feature;
        if (rules->interactions)
            keep_groups(rules->interactions, split->feature,
                        nodes->live + (size_t)split->slot * words,
                        nodes->live + (size_t)child[side] * words);
    }
}

/* Sets the standard deviation of the noise of a tree. It fades as the model grows: `left` is the
 * number of documents, divided by e to the power of the tree's rate times the number of trees
 * before. If that product is ln(documents), half of the noise is left. Source: "random_strength" of
 * CatBoost. */
static void set_noise(struct rw_node_features *nodes, const struct rw_root *root, double rate)
{
    const struct rw_engine *engine = nodes->engine;
    const double log2_e = 0x1.71547652b82fep+0;
    const double left = (double)root->sum.n * rw_exp2(-log2_e * rate * (double)nodes->tree);
    nodes->noise =
        engine->rules.split.gain_noise * sqrt(engine->split_rule.random_gain) * left / (1.0 + left);
}

/* Writes the noise of a feature at a slot: the sum of eight numbers of 16 bits, nearly normal and
 * over 0. */
static void draw_noise(const struct rw_node_features *nodes, int32_t slot, uint32_t f,
                       uint32_t *words)
{
    const double deviation = 53509.92; /* of a sum: 2^16 sqrt(8 / 12) */
    const struct rw_engine *engine = nodes->engine;
    const uint64_t item = (uint64_t)nodes->key[slot] << 32 | engine->cuts->feature[f];
    const struct rw_philox four =
        rw_random4(engine->rules.seed, item, nodes->tree, RW_STREAM_GAIN_NOISE);
    uint32_t sum = 1;
    for (int i = 0; i < 4; i++)
        sum += (four.word[i] >> 16) + (four.word[i] & 0xffff);
    const double noise = nodes->noise * (double)sum / deviation;
    memcpy(words + rw_noise_word(engine) + 2 * (size_t)f, &noise, sizeof(noise));
}

/* Writes the features that may split a slot, and their noise, to allowed: [rw_node_words]. */
static void allow_slot(const struct rw_node_features *nodes, int32_t slot, uint32_t *allowed)
{
    const struct rw_engine_rules *rules = &nodes->engine->rules;
    const struct rw_cuts *cuts = nodes->engine->cuts;
    const uint64_t *live = nodes->live + (size_t)slot * n_group_words(nodes->engine);
    uint32_t lowest = 0, lowest_random = UINT32_MAX, drawn = UINT32_MAX;
    struct rw_philox four = {{0, 0, 0, 0}}; /* random numbers of features 4 drawn to 4 drawn + 3 */
    int n_candidates = 0, n_kept = 0;
    memset(allowed, 0, rw_node_words(nodes->engine) * sizeof(*allowed));
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint32_t feature = cuts->feature[f];
        if (!nodes->sampled[f] || (rules->interactions && !may_follow(rules->interactions, feature,
                                                                      nodes->above[slot], live)))
            continue;
        if (rules->split.gain_noise > 0.0)
            draw_noise(nodes, slot, f, allowed);
        if (rules->node_threshold <= UINT32_MAX && feature / 4 != drawn) {
            drawn = feature / 4;
            four = rw_random4(rules->seed, (uint64_t)nodes->key[slot] << 32 | drawn, nodes->tree,
                              RW_STREAM_SAMPLE_NODE);
        }
        const uint32_t random = four.word[feature % 4];
        if (n_candidates++ == 0 || random < lowest_random) {
            lowest_random = random;
            lowest = f;
        }
        if (random < rules->node_threshold) {
            allowed[f / 32] |= (uint32_t)1 << f % 32;
            n_kept++;
        }
    }
    if (n_candidates > 0 && n_kept == 0)
        allowed[lowest / 32] |= (uint32_t)1 << lowest % 32;
}

/* ---- the state of the grower ---- */

/* The state of a node, at the index of its slot. A node is expanded when it is partitioned and the
 * best splits of its children are found; the children are then known. A node is accepted when its
 * split becomes part of the tree. Its children then belong to the tree, and get numbers, in the
 * order in which growth one node at a time would make them. Nodes that are expanded but never
 * accepted become leaves if they belong to the tree; otherwise the tree does not have them. */
struct grow_node {
    /* Gain of its best split, if it has one. When growing by levels: -depth. */
    double gain;
    uint64_t n;          /* documents */
    int32_t left, right; /* slots of its children, once it is expanded */
    int32_t depth;
    int32_t index;       /* of its split, once accepted; before that -1; at the end, for leaves,
                            ~ the leaf's index */
    uint8_t has_split;   /* 1: its best split is known and exists */
    uint8_t is_begun;    /* 1: it is partitioned, so its children exist */
    uint8_t is_expanded; /* 1: its children's best splits are known */
    uint8_t is_kept;     /* 1: the engine has its histogram */
    uint8_t may_follow;  /* scratch of frontier_release */
};

/* An entry of a heap: a node of the frontier, or a candidate. The highest gain is first, and among
 * equal gains the lowest number. That is the order of acceptance. A candidate is a node of the
 * frontier, or a node with a split below an expanded node of the frontier. The number of a
 * candidate that is not in the tree yet is the one that it would get. */
struct grow_entry {
    double gain;
    int32_t number, slot;
    /* A candidate's index in the frontier's heap; -1: it is not in the frontier. */
    int32_t heap_index;
};

/* A ranked candidate. Its rank, from 0, is its index in the order in which candidates would be
 * accepted if no further splits became known. */
struct grow_ranked {
    double gain;
    int32_t number, slot;
    int32_t place;      /* its rank once the awaited splits are known, too (frontier_choose) */
    uint8_t is_begun;   /* copy of the node's is_begun, to avoid reading the node */
    uint8_t is_awaited; /* 1: its children exist, but their best splits are not known yet */
};

struct rw_grower {
    struct rw_ctx *ctx; /* borrowed */
    struct rw_grow_rules rules;
    struct rw_engine *engine;    /* engine of the tree being grown; borrowed */
    struct rw_grow_times *times; /* times of the tree being grown; borrowed */
    uint32_t n_histograms;       /* histograms that the engine has */
    /* [max_slots] both. Nodes are separate from splits because ranking candidates reads many nodes,
     * and a split has several cache lines. */
    struct grow_node *node;
    struct rw_split *split;      /* the best split of each node; column -1: no split */
    int32_t n_slots;             /* slots in use; the next node gets this slot */
    int32_t *slot_of;            /* [max_slots] slot of each number */
    int32_t n_nodes;             /* nodes of the tree, which have numbers */
    struct grow_entry *frontier; /* [max_slots] a heap */
    int32_t n_frontier;
    int32_t n_splits; /* accepted splits */
    int has_sets;     /* 1: the tree has splits by categories */
    /* ---- the current batch ---- */
    struct grow_entry *candidate; /* [max_slots] a heap */
    struct grow_ranked *ranked;   /* [max_slots] */
    int32_t n_ranked;
    int32_t n_left;         /* splits that the tree has room for, counted when they were ranked */
    struct rw_split *batch; /* [max_slots] */
    int n_batch;
    struct rw_sum *sum;           /* [max_slots] sums of each leaf, at the end */
    struct rw_sibling *sibling;   /* [max_slots] */
    int32_t *search;              /* [max_slots] slots whose splits are requested, or to release */
    struct rw_split *found;       /* [max_slots] best split of each slot of `search` */
    struct rw_monotone *monotone; /* [max_slots] scratch; monotone or symmetric rules only */
    struct rw_node_features *nodes; /* NULL: all nodes have the same features */
};

/* ---- the frontier ----
 *
 * The frontier is a heap. When growing by levels, the gain of an entry is -depth, so a level is
 * split before the next one. This section decides which split is accepted, which nodes are expanded
 * together before their turn, and which histograms are still useful. */

/* Returns 1 if `a` is accepted before `b`. */
static int before(const struct grow_entry *a, const struct grow_entry *b)
{
    return a->gain > b->gain || (a->gain == b->gain && a->number < b->number);
}

static void push(struct grow_entry *heap, int32_t *n, struct grow_entry added)
{
    int32_t at = (*n)++;
    for (; at > 0 && before(&added, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = added;
}

static struct grow_entry pop(struct grow_entry *heap, int32_t *n)
{
    const struct grow_entry top = heap[0], moved = heap[--*n];
    int32_t at = 0;
    for (int32_t child = 1; child < *n; child = 2 * at + 1) {
        if (child + 1 < *n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return top;
}

/* ---- accepted nodes ---- */

/* Adds a known node to the tree, and to the frontier if it has a split. */
static void frontier_add(struct rw_grower *g, int32_t slot)
{
    const struct grow_node *node = &g->node[slot];
    if (node->has_split)
        push(g->frontier, &g->n_frontier, (struct grow_entry){node->gain, g->n_nodes, slot, -1});
    g->slot_of[g->n_nodes++] = slot;
}

/* Accepts the best node of the frontier, repeatedly, until the best node is not expanded, the
 * frontier is empty, or the tree has all its leaves. */
static void frontier_accept_known(struct rw_grower *g)
{
    while (g->n_frontier > 0 && g->n_splits + 1 < g->rules.leaves &&
           g->node[g->frontier[0].slot].is_expanded) {
        const int32_t slot = pop(g->frontier, &g->n_frontier).slot;
        g->node[slot].index = g->n_splits++;
        g->has_sets |= g->split[slot].is_set;
        frontier_add(g, g->node[slot].left);
        frontier_add(g, g->node[slot].right);
    }
}

/* ---- the choice of the next nodes ---- */

/* Adds the children of a candidate to the *n candidates. rank: the candidate's rank. */
static void add_children(struct rw_grower *g, int32_t slot, int32_t rank, int32_t *n)
{
    const struct grow_node *parent = &g->node[slot];
    for (int side = 0; side < 2; side++) {
        const int32_t child = side ? parent->right : parent->left;
        if (g->node[child].has_split)
            push(g->candidate, n,
                 (struct grow_entry){g->node[child].gain, g->n_nodes + 2 * rank + side, child, -1});
    }
}

/* Adds the node at an index of the frontier's heap to the *n candidates, if there is one. The best
 * node, at index 0, starts a ranking. */
static void add_of_frontier(struct rw_grower *g, int32_t index, int32_t *n)
{
    if (index >= g->n_frontier)
        return;
    struct grow_entry added = g->frontier[index];
    added.heap_index = index;
    push(g->candidate, n, added);
}

/* Adds the candidates that follow `seen`, whose rank is `rank`. They are its two children in the
 * frontier's heap, which cannot precede it, and, if its node is expanded, the node's children in
 * the tree. */
static void add_next(struct rw_grower *g, const struct grow_entry *seen, int32_t rank, int32_t *n)
{
    for (int k = 1; seen->heap_index >= 0 && k <= 2; k++)
        add_of_frontier(g, 2 * seen->heap_index + k, n);
    if (g->node[seen->slot].is_expanded)
        add_children(g, seen->slot, rank, n);
}

/* Accepts the splits that are certain, then ranks candidates. It runs while the engine finds the
 * best splits of other nodes. It ends when no candidate is left, when it has ranked n_left of them,
 * or when as many of them as fit a batch have no children yet. */
static void frontier_rank(struct rw_grower *g)
{
    int32_t n = 0, n_new = 0;
    g->n_ranked = 0;
    frontier_accept_known(g);
    g->n_left = g->rules.leaves - 1 - g->n_splits;
    add_of_frontier(g, 0, &n);
    while (n > 0 && g->n_ranked < g->n_left && n_new < g->rules.batch) {
        const struct grow_entry next = pop(g->candidate, &n);
        const struct grow_node *node = &g->node[next.slot];
        g->ranked[g->n_ranked] =
            (struct grow_ranked){.gain = next.gain,
                                 .number = next.number,
                                 .slot = next.slot,
                                 .is_begun = node->is_begun,
                                 .is_awaited = node->is_begun && !node->is_expanded};
        n_new += !node->is_begun;
        add_next(g, &next, g->n_ranked++, &n);
    }
    g->times->n_speculative += g->n_ranked;
}

/* Releases histograms that cannot be used again, if one batch more might not fit
 * rw_grow_max_histograms. The tree has room for n_left more splits. Of the candidates, only the
 * first n_left in the order of acceptance can be split. Splits that become known later can only
 * come between these candidates, so no other known node will ever be split. */
static int frontier_release(struct rw_grower *g)
{
    int32_t n = 0, n_next = 0;
    int n_released = 0;
    if (g->n_histograms + (uint32_t)g->rules.batch <= rw_grow_max_histograms(&g->rules))
        return RW_OK;
    add_of_frontier(g, 0, &n);
    while (n > 0 && n_next < g->n_left) {
        const struct grow_entry next = pop(g->candidate, &n);
        g->node[next.slot].may_follow = !g->node[next.slot].is_expanded;
        add_next(g, &next, n_next++, &n);
    }
    for (int32_t slot = 0; slot < g->n_slots; slot++) {
        struct grow_node *node = &g->node[slot];
        if (node->is_kept && !node->may_follow) {
            node->is_kept = 0;
            g->search[n_released++] = slot;
        }
        node->may_follow = 0;
    }
    g->n_histograms -= (uint32_t)n_released;
    g->times->n_released += n_released;
    return g->engine->ops->release(g->engine, g->search, n_released);
}

/* Returns a ranked candidate with its number once the awaited splits are known. If its parent is a
 * candidate, the number is computed again from the parent's `place`. */
static struct grow_entry among_all(const struct rw_grower *g, const struct grow_ranked *ranked)
{
    const int32_t after_frontier = ranked->number - g->n_nodes; /* 2 x the parent's rank + side */
    struct grow_entry entry = {ranked->gain, ranked->number, ranked->slot, -1};
    if (after_frontier >= 0)
        entry.number = g->n_nodes + 2 * g->ranked[after_frontier / 2].place + after_frontier % 2;
    return entry;
}

/* Chooses the next batch, g->batch. It starts with the next node to be accepted that is not
 * expanded. Further nodes are those that will probably be accepted after it: ranked candidates, and
 * children of awaited ones, whose splits are now known. The node of the tree's last split is chosen
 * alone (*is_last: 1), since its children will be leaves; when growing by levels, a batch may also
 * end with it (*is_last: 0). Slots are reserved for the nodes that must follow. Each node of a
 * batch needs room for one more histogram: its children have two, and it had one. */
static void frontier_choose(struct rw_grower *g, int *is_last)
{
    int64_t free_slots = 0;
    const int64_t free_histograms = (int64_t)rw_grow_max_histograms(&g->rules) - g->n_histograms;
    int32_t n = 0, n_ranked = 0;
    *is_last = 0;
    g->n_batch = 0;
    for (int32_t place = 0;
         place < g->n_left && g->n_batch < g->rules.batch && g->n_batch < free_histograms;
         place++) {
        struct grow_entry next = {.slot = -1};
        if (n_ranked < g->n_ranked)
            next = among_all(g, &g->ranked[n_ranked]);
        if (n > 0 && (next.slot < 0 || before(&g->candidate[0], &next)))
            next = pop(g->candidate, &n);
        else if (next.slot >= 0) {
            struct grow_ranked *ranked = &g->ranked[n_ranked++];
            ranked->place = place;
            if (ranked->is_awaited)
                add_children(g, ranked->slot, place, &n);
            if (ranked->is_begun)
                continue;
        } else
            return;
        if (g->n_batch == 0) {
            *is_last = place == g->n_left - 1;
            free_slots = (int64_t)rw_grow_max_slots(&g->rules) - g->n_slots -
                         2 * (int64_t)(g->n_left - place);
        } else if (!g->rules.levels && (place == g->n_left - 1 || 2 * g->n_batch > free_slots)) {
            return;
        }
        rw_split_copy(&g->batch[g->n_batch++], &g->split[next.slot]);
    }
}

/* ---- the grower ---- */

static uint32_t most_leaves(const struct rw_grow_rules *rules)
{
    return rules->levels ? (uint32_t)1 << rules->depth : (uint32_t)rules->leaves;
}

uint32_t rw_grow_max_slots(const struct rw_grow_rules *rules)
{
    const uint32_t leaves = most_leaves(rules);
    const uint32_t least = 2 * leaves - 1;
    uint32_t more = rules->levels || rules->batch == 1 ? 0 : leaves * 3;
    if (more > RW_MAX_SLOTS - least)
        more = RW_MAX_SLOTS - least;
    return least + more;
}

uint32_t rw_grow_max_histograms(const struct rw_grow_rules *rules)
{
    enum { MOST_EXTRA = 64 }; /* room for a few batches */
    const uint32_t leaves = most_leaves(rules);
    if (rules->symmetric) /* those of the nodes above the leaves */
        return leaves / 2;
    if (rules->levels || rules->batch == 1)
        return leaves;
    return leaves + (2 * leaves < MOST_EXTRA ? 2 * leaves : MOST_EXTRA);
}

int rw_grower_new(struct rw_ctx *ctx, const struct rw_grow_rules *rules, struct rw_grower **out)
{
    RW_SCOPED(rw_free) struct rw_grower *grower = NULL;
    const size_t n = rw_grow_max_slots(rules);
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&grower, sizeof(*grower)));
    struct rw_arena *arena = rw_result_arena(grower);
    grower->ctx = ctx;
    grower->rules = *rules;
    if (rules->batch < 1)
        grower->rules.batch = 1;
    if (rules->levels) { /* each level is one batch, without speculative splits */
        grower->rules.leaves = (int32_t)most_leaves(rules);
        grower->rules.batch = grower->rules.leaves / 2;
    }
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->node, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->split, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->slot_of, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->frontier, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->candidate, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->ranked, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->batch, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->sum, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->sibling, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->search, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->found, n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, grower->monotone, rules->monotone || rules->symmetric ? n : 0));
    *out = RW_TAKE(grower);
    return RW_OK;
}

/* ---- growth ----
 *
 * A symmetric tree grows by levels. All nodes of a level have one split, so each level is one
 * batch, with its 2^d nodes at depth d in slots from 2^d - 1. Nodes without documents are
 * partitioned like others, but have no histograms. A child without documents is the smaller one of
 * its pair; its histogram is empty, and the other child gets the parent's. */

static int may_split(const struct rw_grower *g, const struct grow_node *node)
{
    return node->n >= 2 * (uint64_t)g->rules.min_docs &&
           (g->rules.depth == 0 || node->depth < g->rules.depth);
}

/* Adds a node at the next slot. */
static int32_t add_node(struct rw_grower *g, uint64_t n, int32_t depth)
{
    g->node[g->n_slots] = (struct grow_node){.n = n, .depth = depth, .index = -1};
    g->split[g->n_slots].column = -1;
    g->split[g->n_slots].is_set = 0;
    return g->n_slots++;
}

/* Records which histograms the engine has after it made those of a pair of siblings. */
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

/* Releases the empty histograms of children without documents. slots: [n_siblings] scratch. */
static int release_empty(struct rw_grower *g, int n_siblings, int32_t *slots)
{
    int n = 0;
    for (int i = 0; i < n_siblings; i++) {
        if (g->node[g->sibling[i].smaller].n == 0)
            slots[n++] = g->sibling[i].smaller;
    }
    g->times->n_released += n;
    return n ? g->engine->ops->release(g->engine, slots, n) : RW_OK;
}

static void set_split(struct rw_grower *g, int32_t slot, const struct rw_split *split)
{
    struct grow_node *node = &g->node[slot];
    node->has_split = split->column >= 0;
    node->gain = g->rules.levels ? -(double)node->depth : split->gain;
    rw_split_copy(&g->split[slot], split);
}

/* Completes the splits of a symmetric tree's level, whose nodes with documents have theirs. Empty
 * nodes get the same split, and each node an equal part of the gain. */
static void complete_level(struct rw_grower *g, int32_t first)
{
    for (int32_t slot = first; slot < g->n_slots; slot++) {
        struct rw_split *split = &g->split[slot];
        if (g->node[slot].n == 0) {
            set_split(g, slot, &g->found[0]);
            split->slot = slot;
            split->n_left = 0;
        }
        split->gain /= g->n_slots - first;
    }
}

/* Makes the histograms of g->sibling, and finds the best splits of the slots in g->search. In a
 * symmetric tree these are the nodes of the last level that have documents. Ranks candidates while
 * the engine works. */
static int search(struct rw_grower *g, int n_siblings, int n_search)
{
    struct rw_engine *engine = g->engine;
    struct rw_grow_times *times = g->times;
    const int symmetric = g->rules.symmetric, n_allowed = symmetric ? 1 : n_search;
    const int32_t first = g->n_slots / 2; /* the first slot of a symmetric tree's level */
    double start = rw_clock_ms();
    for (int i = 0; i < n_allowed && g->nodes; i++)
        allow_slot(g->nodes, symmetric ? first : g->search[i],
                   g->nodes->allowed + (size_t)i * rw_node_words(engine));
    if (g->nodes)
        RW_TRY(engine->ops->allow(engine, g->search, n_allowed, g->nodes->allowed));
    RW_TRY(engine->ops->histograms(engine, g->sibling, n_siblings));
    for (int i = 0; i < n_siblings && !symmetric; i++)
        keep(g, &g->sibling[i]);
    if (symmetric)
        RW_TRY(release_empty(g, n_siblings, g->search + n_search));
    times->histograms_ms += rw_clock_ms() - start;
    times->n_histograms += n_siblings;
    start = rw_clock_ms();
    if (engine->ops->start_splits && !symmetric)
        RW_TRY(engine->ops->start_splits(engine, g->search, n_search));
    frontier_rank(g);
    RW_TRY(rw_engine_best_splits(engine, g->search, n_search, g->found));
    times->splits_ms += rw_clock_ms() - start;
    for (int i = 0; i < n_search; i++) {
        if (g->found[i].column >= 0 &&
            g->found[i].n_left > g->node[g->search[i]].n) /* wrong data from another worker */
            return rw_comm_nonsense(engine->ctx, "splits");
        set_split(g, g->search[i], &g->found[i]);
    }
    if (symmetric)
        complete_level(g, first);
    return RW_OK;
}

/* Expands the nodes of g->batch: partitions them and, if `look` is 1, finds the best splits of
 * their children. If `look` is 0, the children become leaves. A level of a symmetric tree is
 * searched if one of its nodes is large enough for two sides that are allowed. */
static int expand(struct rw_grower *g, int look)
{
    const int n_batch = g->n_batch;
    for (int i = 0; i < n_batch; i++) {
        g->batch[i].left = g->n_slots + 2 * i;
        g->batch[i].right = g->n_slots + 2 * i + 1;
    }
    const double start = rw_clock_ms();
    RW_TRY(g->engine->ops->partition(g->engine, g->batch, n_batch));
    g->times->partition_ms += rw_clock_ms() - start;
    g->times->n_batches++;
    int n_siblings = 0, n_search = 0, may_search = 0;
    for (int i = 0; i < n_batch; i++) {
        const struct rw_split *split = &g->batch[i];
        struct grow_node *parent = &g->node[split->slot];
        parent->is_begun = 1;
        parent->left = split->left;
        parent->right = split->right;
        if (g->nodes)
            node_features_add(g->nodes, split);
        const int32_t child[2] = {split->left, split->right};
        const uint64_t n[2] = {split->n_left, parent->n - split->n_left};
        int wanted[2];
        for (int side = 0; side < 2; side++) {
            add_node(g, n[side], parent->depth + 1);
            wanted[side] = look && may_split(g, &g->node[child[side]]);
            may_search |= wanted[side];
            if (g->rules.symmetric)
                wanted[side] = parent->n > 0;
            if (wanted[side] && n[side] > 0)
                g->search[n_search++] = child[side];
        }
        const int small = n[0] <= n[1] ? 0 : 1;
        if (wanted[0] || wanted[1])
            g->sibling[n_siblings++] =
                (struct rw_sibling){.parent = split->slot,
                                    .smaller = child[small],
                                    .larger = wanted[!small] ? child[!small] : -1};
    }
    if (may_search)
        RW_TRY(search(g, n_siblings, n_search));
    else
        frontier_rank(g);
    for (int i = 0; i < n_batch; i++)
        g->node[g->batch[i].slot].is_expanded = 1;
    return RW_OK;
}

/* Starts a tree: begins it on the engine and finds the best split of the root. */
static int start_tree(struct rw_grower *g, uint32_t tree, struct rw_root *root)
{
    struct rw_engine *engine = g->engine;
    memset(g->times, 0, sizeof(*g->times));
    g->n_nodes = g->n_slots = g->n_frontier = g->n_splits = 0;
    g->has_sets = 0;
    g->n_histograms = 0;
    const double start = rw_clock_ms();
    RW_TRY(engine->ops->begin_tree(engine, tree, root));
    if (rw_rules_by_node(&engine->rules) && !g->nodes)
        RW_TRY(node_features_new(engine, rw_result_arena(g), &g->nodes));
    if (g->nodes) {
        g->nodes->tree = tree;
        rw_host_draw_features(engine, tree, g->nodes->sampled);
        set_noise(g->nodes, root, g->rules.rate);
    }
    g->times->lambdas_ms = rw_clock_ms() - start;
    add_node(g, root->sum.n, 0);
    g->sibling[0] = (struct rw_sibling){.parent = -1, .smaller = 0, .larger = -1};
    g->search[0] = 0;
    if (may_split(g, &g->node[0]) && root->n_features > 0)
        RW_TRY(search(g, 1, 1));
    frontier_add(g, 0);
    return RW_OK;
}

static int grow_nodes(struct rw_grower *g)
{
    int is_last;
    frontier_rank(g);
    for (;;) {
        RW_TRY(frontier_release(g));
        frontier_choose(g, &is_last);
        if (g->n_batch == 0)
            break;
        RW_TRY(expand(g, !is_last));
    }
    frontier_accept_known(g);
    return RW_OK;
}

/* ---- the finished tree ---- */

void rw_grower_set_rate(struct rw_grower *grower, double rate)
{
    grower->rules.rate = rate;
}

/* Writes the values and covers of the tree's leaves. */
static int leaf_values(struct rw_grower *g, const struct rw_root *root, const int32_t *leaf_slot,
                       struct rw_tree *tree)
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
    RW_TRY(rw_engine_leaf_sums(g->engine, leaf_slot, tree->n_leaves, g->sum));
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
        if (g->sum[leaf].n != g->node[leaf_slot[leaf]].n)
            return rw_fail(g->ctx, RW_ERR_INTERNAL, "leaf and node document counts differ");
        tree->leaf[leaf] = rw_leaf_value(&rule, &g->sum[leaf]);
        rw_tree_set_cover(tree, leaf, &g->sum[leaf], root->hess_exponent);
    }
    if (g->rules.symmetric || g->rules.monotone)
        rw_bounded_values(g->monotone, &rule, g->rules.monotone, g->sum, g->rules.symmetric, tree);
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++) {
        if (!isfinite(tree->leaf[leaf]))
            return rw_fail(g->ctx, RW_ERR_DATA,
                           "a leaf's value is beyond the largest float: gradients too large for "
                           "their hessians");
    }
    return RW_OK;
}

/* Writes the slots of the leaves to leaf_slot, and each leaf's index to its node. Returns the
 * number of leaves. */
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

/* Writes the tree's splits, each at its index: the order of acceptance. */
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

/* Writes the splits and leaf values of a grown tree. Its memory must be allocated. */
static int finish_tree(struct rw_grower *g, const struct rw_root *root, const int32_t *leaf_slot,
                       struct rw_tree *out)
{
    if (g->has_sets)
        RW_TRY(rw_tree_add_sets(g->ctx, out));
    make_tree(g, out);
    const double start = rw_clock_ms();
    const int status = leaf_values(g, root, leaf_slot, out);
    g->times->partition_ms += rw_clock_ms() - start;
    return status;
}

int rw_grower_grow(struct rw_grower *grower, struct rw_engine *engine, uint32_t tree,
                   struct rw_tree *out, int32_t *leaf_slot, struct rw_grow_times *times)
{
    struct rw_root root;
    memset(out, 0, sizeof(*out));
    grower->engine = engine;
    grower->times = times;
    RW_TRY(start_tree(grower, tree, &root));
    RW_TRY(grow_nodes(grower));
    const int32_t n_leaves = list_leaves(grower, leaf_slot);
    if (n_leaves > 1 && engine->ops->start_leaf_sums)
        RW_TRY(engine->ops->start_leaf_sums(engine, leaf_slot, n_leaves));
    RW_TRY(rw_tree_init(grower->ctx, out, grower->n_splits + 1));
    const int status = finish_tree(grower, &root, leaf_slot, out);
    if (status < 0)
        rw_tree_release(out);
    return status;
}

int32_t rw_interactions_broken(const struct rw_interactions *interactions,
                               const struct rw_tree *tree, uint64_t *live)
{
    const size_t words = interactions->n_words;
    memset(live, 0xff, words * sizeof(*live));
    for (int32_t k = 0; k + 1 < tree->n_leaves; k++) {
        const int32_t child[2] = {tree->left[k], tree->right[k]};
        for (int side = 0; side < 2; side++) {
            if (child[side] < 0)
                continue;
            uint64_t *below = live + (size_t)child[side] * words;
            keep_groups(interactions, tree->feature[k], live + (size_t)k * words, below);
            if (!may_follow(interactions, tree->feature[child[side]], (int32_t)tree->feature[k],
                            below))
                return child[side];
        }
    }
    return -1;
}
