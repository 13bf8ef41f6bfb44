#include "tree/constraints.h"

#include <float.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tree/engine_host.h"
#include "tree/numbers.h"

struct rw_node_features {
    struct rw_engine *engine; /* borrowed */
    uint32_t tree;
    uint8_t *sampled;  /* [n_features] of the tree */
    uint32_t *key;     /* [max_slots] */
    int32_t *above;    /* [max_slots] feature of the split above; -1: the root */
    uint64_t *live;    /* [max_slots][n_words] groups that have all features used above */
    uint32_t *allowed; /* [max_slots][words] for the engine */
};

static size_t n_group_words(const struct rw_engine *engine)
{
    return engine->rules.interactions ? engine->rules.interactions->n_words : 0;
}

int rw_node_features_new(struct rw_engine *engine, struct rw_node_features **out)
{
    int status = RW_OK;
    struct rw_ctx *ctx = engine->ctx;
    struct rw_node_features *nodes;
    const size_t n_slots = engine->rules.max_slots, words = rw_feature_words(engine);
    *out = NULL;
    RW_TRY(RW_NEW(ctx, nodes, 1));
    nodes->engine = engine;
    RW_TRY_OUT(RW_NEW(ctx, nodes->sampled, engine->info.n_features));
    RW_TRY_OUT(RW_NEW(ctx, nodes->key, n_slots));
    RW_TRY_OUT(RW_NEW(ctx, nodes->above, n_slots));
    RW_TRY_OUT(RW_NEW(ctx, nodes->live, n_slots * n_group_words(engine)));
    RW_TRY_OUT(RW_NEW(ctx, nodes->allowed, n_slots * words));
    *out = nodes;
    return RW_OK;
out:
    rw_node_features_free(nodes);
    return status;
}

void rw_node_features_free(struct rw_node_features *nodes)
{
    if (!nodes)
        return;
    rw_mem_free(nodes->sampled);
    rw_mem_free(nodes->key);
    rw_mem_free(nodes->above);
    rw_mem_free(nodes->live);
    rw_mem_free(nodes->allowed);
    rw_mem_free(nodes);
}

void rw_node_features_begin(struct rw_node_features *nodes, uint32_t tree)
{
    const struct rw_engine *engine = nodes->engine;
    const struct rw_engine_rules *rules = &engine->rules;
    nodes->tree = tree;
    nodes->key[0] = 0;
    nodes->above[0] = -1;
    memset(nodes->live, 0xff, n_group_words(engine) * sizeof(*nodes->live));
    rw_host_draw(nodes->sampled, engine->cuts->n_features, engine->cuts->feature,
                 rules->feature_threshold, rules->seed, tree, RW_STREAM_SAMPLE_FEATURE);
}

/* The groups of `from` that have the feature, too. */
static void keep_groups(const struct rw_interactions *interactions, uint32_t feature,
                        const uint64_t *from, uint64_t *to)
{
    for (uint32_t w = 0; w < interactions->n_words; w++)
        to[w] = from[w] & rw_groups_of(interactions, feature)[w];
}

/* above: the feature of the split above, which may be used again whatever its groups; -1: any may.
 * live: the groups that have all features used above. */
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

void rw_node_features_add(struct rw_node_features *nodes, const struct rw_split *split)
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

static void allow_slot(const struct rw_node_features *nodes, int32_t slot, uint32_t *allowed)
{
    const struct rw_engine_rules *rules = &nodes->engine->rules;
    const struct rw_cuts *cuts = nodes->engine->cuts;
    const uint64_t *live = nodes->live + (size_t)slot * n_group_words(nodes->engine);
    uint32_t lowest = 0, lowest_random = UINT32_MAX, drawn = UINT32_MAX;
    struct rw_philox four = {{0, 0, 0, 0}}; /* of features 4 drawn to 4 drawn + 3 */
    int n_candidates = 0, n_kept = 0;
    memset(allowed, 0, rw_feature_words(nodes->engine) * sizeof(*allowed));
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint32_t feature = cuts->feature[f];
        if (!nodes->sampled[f] || (rules->interactions && !may_follow(rules->interactions, feature,
                                                                      nodes->above[slot], live)))
            continue;
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

int rw_node_features_allow(struct rw_node_features *nodes, const int32_t *slots, int n)
{
    for (int i = 0; i < n; i++)
        allow_slot(nodes, slots[i], nodes->allowed + (size_t)i * rw_feature_words(nodes->engine));
    return rw_engine_allow(nodes->engine, slots, n, nodes->allowed);
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

int rw_monotone_init(struct rw_ctx *ctx, struct rw_monotone *room, size_t n)
{
    RW_TRY(RW_NEW(ctx, room->sum, n));
    return RW_NEW(ctx, room->bounds, n);
}

void rw_monotone_release(struct rw_monotone *room)
{
    rw_mem_free(room->sum);
    rw_mem_free(room->bounds);
}

/* Where a child's sums and bounds are: splits come first. */
static int32_t index_of(const struct rw_tree *tree, int32_t child)
{
    return child >= 0 ? child : tree->n_leaves - 1 + ~child;
}

static double within(const struct rw_bounds *bounds, double value)
{
    return value < bounds->low ? bounds->low : value > bounds->high ? bounds->high : value;
}

/* The bounds of a split's children. */
static void divide(struct rw_monotone *room, const struct rw_leaf_rule *rule, int direction,
                   int32_t split, int32_t left, int32_t right)
{
    const struct rw_bounds own = room->bounds[split];
    room->bounds[left] = room->bounds[right] = own;
    if (direction == 0)
        return;
    const double l = within(&own, rw_leaf_real(rule, &room->sum[left]));
    const double r = within(&own, rw_leaf_real(rule, &room->sum[right]));
    const double middle = within(&own, 0.5 * l + 0.5 * r);
    room->bounds[direction > 0 ? left : right].high = middle;
    room->bounds[direction > 0 ? right : left].low = middle;
}

void rw_monotone_values(struct rw_monotone *room, const struct rw_leaf_rule *rule,
                        const int8_t *direction, const struct rw_sum *sum, struct rw_tree *tree)
{
    const int32_t n_splits = tree->n_leaves - 1;
    memcpy(room->sum + n_splits, sum, (size_t)tree->n_leaves * sizeof(*sum));
    for (int32_t k = n_splits - 1; k >= 0; k--) {
        room->sum[k] = room->sum[index_of(tree, tree->left[k])];
        rw_sum_merge(&room->sum[k], &room->sum[index_of(tree, tree->right[k])]);
    }
    room->bounds[0] = (struct rw_bounds){-DBL_MAX, DBL_MAX}; /* so that no middle is infinite */
    for (int32_t k = 0; k < n_splits; k++)
        divide(room, rule, direction[tree->feature[k]], k, index_of(tree, tree->left[k]),
               index_of(tree, tree->right[k]));
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        tree->leaf[leaf] =
            rw_leaf_float(within(&room->bounds[n_splits + leaf], rw_leaf_real(rule, &sum[leaf])));
}

/* The extent of the leaves under a node whose children's are known. */
static struct rw_bounds extent_of(const struct rw_bounds *a, const struct rw_bounds *b)
{
    return (struct rw_bounds){a->low < b->low ? a->low : b->low,
                              a->high > b->high ? a->high : b->high};
}

int32_t rw_monotone_broken(struct rw_monotone *room, const int8_t *direction,
                           const struct rw_tree *tree)
{
    const int32_t n_splits = tree->n_leaves - 1;
    int32_t broken = -1;
    for (int32_t leaf = 0; leaf < tree->n_leaves; leaf++)
        room->bounds[n_splits + leaf] = (struct rw_bounds){tree->leaf[leaf], tree->leaf[leaf]};
    for (int32_t k = n_splits - 1; k >= 0; k--) {
        const struct rw_bounds *left = &room->bounds[index_of(tree, tree->left[k])];
        const struct rw_bounds *right = &room->bounds[index_of(tree, tree->right[k])];
        const int way = direction[tree->feature[k]];
        room->bounds[k] = extent_of(left, right);
        if ((way > 0 && left->high > right->low) || (way < 0 && left->low < right->high))
            broken = k;
    }
    return broken;
}

/* Two runs that are in order, [0, middle) and [middle, n), as one; of equal keys those of the first
 * run come first. */
static void merge(const double *key, const uint16_t *from, uint32_t middle, uint32_t n,
                  uint16_t *to)
{
    for (uint32_t i = 0, a = 0, b = middle; i < n; i++)
        to[i] = b == n || (a < middle && key[from[a]] <= key[from[b]]) ? from[a++] : from[b++];
}

/* The codes that the node has, by ascending key, then code. Returns their number. */
static uint32_t sort_codes(const struct rw_split_rule *rule, const struct rw_cell *cell,
                           uint32_t n_codes, uint16_t *sorted)
{
    double key[RW_MAX_CATEGORY_CODES];
    uint16_t scratch[RW_MAX_CATEGORY_CODES], *from = sorted, *to = scratch;
    uint32_t n = 0;
    for (uint32_t code = 0; code < n_codes; code++) {
        if (cell[code].n == 0)
            continue;
        key[code] = rw_category_key(rule, &cell[code]);
        sorted[n++] = (uint16_t)code;
    }
    for (uint32_t run = 1; run < n; run *= 2) {
        for (uint32_t at = 0; at < n; at += 2 * run)
            merge(key, from + at, run < n - at ? run : n - at, 2 * run < n - at ? 2 * run : n - at,
                  to + at);
        uint16_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != sorted)
        memcpy(sorted, from, n * sizeof(*sorted));
    return n;
}

void rw_category_split(const struct rw_split_rule *rule, double penalty, const struct rw_cell *cell,
                       uint32_t n_codes, const struct rw_cell *missing,
                       struct rw_category_split *out)
{
    struct rw_category_node node = {
        .rule = rule, .all = *missing, .missing = *missing, .penalty = penalty};
    struct rw_category_found best = {.gain = 0.0};
    uint16_t sorted[RW_MAX_CATEGORY_CODES], place[RW_MAX_CATEGORY_CODES] = {0};
    memset(out, 0, sizeof(*out));
    for (uint32_t code = 0; code < n_codes; code++)
        rw_cell_add(&node.all, &cell[code]);
    node.parent_gain = rw_side_gain(rule, &node.all);
    const uint32_t n = sort_codes(rule, cell, n_codes, sorted);
    node.n_seen = n;
    struct rw_cell left = {0, 0, 0};
    if (missing->n > 0)
        rw_category_try(&node, RW_CANDIDATE_MISSING, &left, &best);
    for (uint32_t code = 0; code < n_codes; code++) {
        if (cell[code].n > 0)
            rw_category_try(&node, RW_CANDIDATE_ONE + code, &cell[code], &best);
    }
    for (uint32_t k = 0; k < n; k++) {
        place[sorted[k]] = (uint16_t)k;
        rw_cell_add(&left, &cell[sorted[k]]);
        if (k > 0 && k + 2 < n) /* of one code, and of all but one: tried already */
            rw_category_try(&node, RW_CANDIDATE_FIRST + k, &left, &best);
    }
    if (!(best.gain > 0.0))
        return;
    for (uint32_t code = 0; code < n_codes; code++) {
        if (rw_category_goes_left(&best, node.all.n, code, cell[code].n > 0, place[code]))
            rw_set_add(&out->left, code);
    }
    out->gain = best.gain;
    out->n_left = best.n_left;
    out->missing_left = missing->n > 0 ? best.missing_left : rw_set_has(&out->left, n_codes - 1);
}
