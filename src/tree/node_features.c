#include "tree/node_features.h"

#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "tree/engine_host.h"

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
