#include "model/flat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/dataset.h"

/* Levels of a tree, of log2 of its leaves. */
#define DEEPER 1.4

static void count_trees(struct rw_flat *flat, const struct rw_model *model)
{
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const uint32_t n_leaves = (uint32_t)model->tree[i].n_leaves;
        flat->first_node[i + 1] = flat->first_node[i] + n_leaves - 1;
        flat->first_leaf[i + 1] = flat->first_leaf[i] + n_leaves;
    }
}

/* How slots are numbered: a feature's own first, then those of its sets. */
struct numbering {
    struct rw_arena arena; /* of all arrays */
    uint32_t *slot_of;     /* [RW_FEATURE_IDS] of features that are compared with thresholds */
    uint64_t n_by_set;     /* nodes that ask for sets */
    struct set_node {
        uint32_t feature;
        const struct rw_code_set *set;
        uint64_t node; /* of all trees */
    } * by_set;        /* [n_by_set] by feature, then set */
    uint32_t *slot_at; /* [nodes of all trees] of those nodes */
};

static int by_feature_and_set(const void *a, const void *b)
{
    const struct set_node *x = a, *y = b;
    if (x->feature != y->feature)
        return x->feature > y->feature ? 1 : -1;
    return memcmp(x->set, y->set, sizeof(*x->set));
}

/* Nodes of one feature and set have one slot. */
static int is_new_set(const struct numbering *numbering, uint64_t i)
{
    return i == 0 || by_feature_and_set(&numbering->by_set[i - 1], &numbering->by_set[i]) != 0;
}

/* Marks features in slot_of, and lists the nodes with sets. */
static int list_sets(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_model *model,
                     struct numbering *numbering)
{
    size_t room = 0;
    RW_TRY(RW_ARENA_NEW(ctx, &numbering->arena, numbering->slot_of, RW_FEATURE_IDS));
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            const uint32_t feature = tree->feature[node] & RW_MAX_FEATURE;
            if (!rw_tree_by_set(tree, node)) {
                numbering->slot_of[feature] = 1;
                continue;
            }
            RW_TRY(RW_ARENA_GROW(ctx, &numbering->arena, numbering->by_set, room,
                                 numbering->n_by_set + 1));
            numbering->by_set[numbering->n_by_set++] =
                (struct set_node){feature, &tree->set[node], flat->first_node[i] + (uint64_t)node};
        }
    }
    if (numbering->n_by_set == 0)
        return RW_OK;
    qsort(numbering->by_set, numbering->n_by_set, sizeof(*numbering->by_set), by_feature_and_set);
    return RW_ARENA_NEW(ctx, &numbering->arena, numbering->slot_at,
                        flat->first_node[flat->n_trees]);
}

/* Slots of a feature's sets from entry i on. Returns where the next feature's begin. */
static uint64_t number_sets(struct rw_flat *flat, struct numbering *numbering, uint32_t feature,
                            uint64_t i, uint32_t *slot)
{
    for (; i < numbering->n_by_set && numbering->by_set[i].feature == feature; i++) {
        if (is_new_set(numbering, i)) {
            flat->feature[*slot] = feature;
            memcpy(flat->set_word + (size_t)flat->n_sets++ * flat->set_words,
                   numbering->by_set[i].set->word, flat->set_words * sizeof(*flat->set_word));
            flat->set_of[(*slot)++] = flat->n_sets;
        }
        numbering->slot_at[numbering->by_set[i].node] = *slot - 1;
    }
    return i;
}

/* Words that the widest set needs: of categories whose codes the caller has made, all that there
 * are.
 */
static uint32_t most_set_words(const struct rw_categories *categories,
                               const struct numbering *numbering)
{
    uint32_t most = 0;
    for (uint64_t i = 0; i < numbering->n_by_set; i++) {
        const struct rw_feature_categories *of =
            rw_categories_find(categories, numbering->by_set[i].feature);
        const uint32_t words = of ? rw_set_words(of->n + 1) : RW_SET_WORDS;
        most = words > most ? words : most;
    }
    return most;
}

static int number_features(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                           struct numbering *numbering)
{
    uint32_t n_sets = 0, slot = 0;
    uint64_t next = 0;
    RW_TRY(list_sets(ctx, flat, model, numbering));
    for (uint64_t i = 0; i < numbering->n_by_set; i++)
        n_sets += (uint32_t)is_new_set(numbering, i);
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++)
        flat->n_used += numbering->slot_of[f];
    flat->n_used += n_sets;
    RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->feature, flat->n_used));
    if (n_sets) {
        RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->set_of, flat->n_used));
        RW_TRY(rw_categories_copy(ctx, &model->categories, &flat->categories));
        flat->set_words = most_set_words(&model->categories, numbering);
        RW_TRY(RW_ARENA_NEW(ctx, &flat->arena, flat->set_word, (size_t)n_sets * flat->set_words));
    }
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++) {
        if (numbering->slot_of[f]) {
            flat->feature[slot] = f;
            numbering->slot_of[f] = slot++;
        }
        next = number_sets(flat, numbering, f, next, &slot);
    }
    return RW_OK;
}

static void copy_tree(struct rw_flat *flat, const struct rw_tree *tree, int32_t i,
                      const struct numbering *numbering)
{
    const uint64_t first = flat->first_node[i];
    struct rw_walk_node *nodes = flat->node + first;
    for (int32_t at = 0; at < tree->n_leaves - 1; at++) {
        const int by_set = rw_tree_by_set(tree, at);
        const uint32_t slot = by_set ? numbering->slot_at[first + (uint64_t)at]
                                     : numbering->slot_of[tree->feature[at] & RW_MAX_FEATURE];
        nodes[at] = (struct rw_walk_node){.cut = by_set ? 0.5f : tree->cut[at],
                                          .slot = 2 * slot + (tree->missing_left[at] != 0),
                                          .left = tree->left[at],
                                          .right = tree->right[at]};
    }
    memcpy(flat->leaf + flat->first_leaf[i], tree->leaf,
           (size_t)tree->n_leaves * sizeof(*tree->leaf));
}

float rw_flat_of_row(const struct rw_flat *flat, uint32_t slot, float value)
{
    if (!flat->set_of || !flat->set_of[slot] || value != value)
        return value;
    const struct rw_feature_categories *of =
        rw_categories_find(&flat->categories, flat->feature[slot]);
    return rw_flat_of_code(flat, slot, (float)rw_category_of_number(of, value));
}

int rw_flat_init(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                 int n_trees)
{
    int status = RW_OK;
    struct numbering numbering = {0};
    memset(flat, 0, sizeof(*flat));
    if (n_trees < 0 || n_trees > model->n_trees)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d trees were asked for; the model has %d", n_trees,
                       model->n_trees);
    flat->n_trees = n_trees ? n_trees : model->n_trees;
    flat->absent = rw_model_absent(model);
    const size_t n = (size_t)flat->n_trees;
    RW_TRY_OUT(RW_ARENA_NEW(ctx, &flat->arena, flat->first_node, n + 1));
    RW_TRY_OUT(RW_ARENA_NEW(ctx, &flat->arena, flat->first_leaf, n + 1));
    count_trees(flat, model);
    RW_TRY_OUT(number_features(ctx, flat, model, &numbering));
    flat->columns =
        rw_column_rule_of(model, flat->n_used ? flat->feature[flat->n_used - 1] + 1 : 0);
    RW_TRY_OUT(RW_ARENA_NEW(ctx, &flat->arena, flat->node, flat->first_node[n]));
    RW_TRY_OUT(RW_ARENA_NEW(ctx, &flat->arena, flat->leaf, flat->first_leaf[n]));
    for (int32_t i = 0; i < flat->n_trees; i++)
        copy_tree(flat, &model->tree[i], i, &numbering);
out:
    if (status < 0)
        rw_flat_release(flat);
    rw_arena_free(&numbering.arena);
    return status;
}

void rw_flat_release(struct rw_flat *flat)
{
    rw_categories_release(&flat->categories);
    rw_arena_free(&flat->arena);
    memset(flat, 0, sizeof(*flat));
}

double rw_flat_score(const struct rw_flat *flat, const float *values, size_t n_values,
                     uint32_t first)
{
    double score = 0.0;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const struct rw_walk_node *nodes = flat->node + flat->first_node[i];
        int32_t at = rw_flat_root(flat, i);
        while (at >= 0) {
            const struct rw_walk_node node = nodes[at];
            const uint32_t f = flat->feature[node.slot >> 1] - first; /* before it: very large */
            const float v =
                rw_flat_of_row(flat, node.slot >> 1, f < n_values ? values[f] : flat->absent);
            const int go_left = v != v ? (int)(node.slot & 1) : v <= node.cut;
            at = go_left ? node.left : node.right;
        }
        score += (double)flat->leaf[flat->first_leaf[i] + (uint32_t)~at];
    }
    return score;
}

double rw_flat_tree_steps(double n_leaves)
{
    return 1.0 + DEEPER * log2(n_leaves);
}

double rw_flat_steps(const struct rw_flat *flat)
{
    double steps = 0.0;
    for (int32_t i = 0; i < flat->n_trees; i++)
        steps += rw_flat_tree_steps((double)(flat->first_leaf[i + 1] - flat->first_leaf[i]));
    return steps;
}

int rw_flat_threads(const struct rw_ctx *ctx, const struct rw_flat *flat)
{
    enum { FEW = 1 << 14 }; /* leaves: a millisecond or two */
    return ctx && flat->first_leaf[flat->n_trees] > FEW ? ctx->n_threads : 1;
}

/* ------------------------------------------------------------------ thresholds */

/* Returns how many are distinct: the first of the array. */
static uint32_t sort_keys(uint32_t *key, uint32_t *scratch, size_t n)
{
    enum { FEW = 128 };
    uint32_t n_kept = 0;
    if (n > FEW)
        rw_sort_keys(key, scratch, n);
    for (size_t i = 1; n <= FEW && i < n; i++) {
        const uint32_t k = key[i];
        size_t j = i;
        for (; j > 0 && key[j - 1] > k; j--)
            key[j] = key[j - 1];
        key[j] = k;
    }
    for (size_t i = 0; i < n; i++) {
        if (n_kept == 0 || key[i] != key[n_kept - 1])
            key[n_kept++] = key[i];
    }
    return n_kept;
}

int rw_thresholds_init(struct rw_ctx *ctx, struct rw_arena *arena, struct rw_thresholds *t,
                       const struct rw_flat *flat, int shift)
{
    const uint64_t n_nodes = flat->first_node[flat->n_trees];
    uint32_t *scratch;
    *t = (struct rw_thresholds){.n_columns = 2 * flat->n_used >> shift, .shift = shift};
    RW_TRY(RW_ARENA_NEW(ctx, arena, t->first, (size_t)t->n_columns + 1));
    RW_TRY(RW_ARENA_NEW(ctx, arena, t->n, t->n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, arena, t->key, n_nodes));
    RW_TRY(RW_ARENA_NEW(ctx, arena, scratch, n_nodes));
    for (uint64_t i = 0; i < n_nodes; i++)
        t->first[(flat->node[i].slot >> shift) + 1]++;
    for (uint32_t c = 0; c < t->n_columns; c++)
        t->first[c + 1] += t->first[c];
    for (uint64_t i = 0; i < n_nodes; i++) {
        const uint32_t c = flat->node[i].slot >> shift;
        t->key[t->first[c] + t->n[c]++] = rw_threshold_key(flat->node[i].cut);
    }
    for (uint32_t c = 0; c < t->n_columns; c++)
        t->n[c] = sort_keys(t->key + t->first[c], scratch, t->n[c]);
    return RW_OK;
}
