#include "model/flat.h"

#include <math.h>
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

/* slot_of: [RW_FEATURE_IDS] zeroed, written. */
static int number_features(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                           uint32_t *slot_of)
{
    for (int32_t i = 0; i < flat->n_trees; i++)
        for (int32_t node = 0; node < model->tree[i].n_leaves - 1; node++)
            slot_of[model->tree[i].feature[node] & RW_MAX_FEATURE] = 1;
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++)
        flat->n_used += slot_of[f];
    RW_TRY(RW_NEW_RAW(ctx, flat->feature, flat->n_used));
    uint32_t slot = 0;
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++) {
        if (!slot_of[f])
            continue;
        flat->feature[slot] = f;
        slot_of[f] = slot++;
    }
    return RW_OK;
}

static void copy_tree(struct rw_flat *flat, const struct rw_tree *tree, int32_t i,
                      const uint32_t *slot_of)
{
    struct rw_walk_node *nodes = flat->node + flat->first_node[i];
    for (int32_t at = 0; at < tree->n_leaves - 1; at++) {
        const uint32_t slot = slot_of[tree->feature[at] & RW_MAX_FEATURE];
        nodes[at] = (struct rw_walk_node){.cut = tree->cut[at],
                                          .slot = 2 * slot + (tree->missing_left[at] != 0),
                                          .left = tree->left[at],
                                          .right = tree->right[at]};
    }
    memcpy(flat->leaf + flat->first_leaf[i], tree->leaf,
           (size_t)tree->n_leaves * sizeof(*tree->leaf));
}

int rw_flat_init(struct rw_ctx *ctx, struct rw_flat *flat, const struct rw_model *model,
                 int n_trees)
{
    int status = RW_OK;
    uint32_t *slot_of = NULL;
    memset(flat, 0, sizeof(*flat));
    if (n_trees < 0 || n_trees > model->n_trees)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d trees were asked for; the model has %d", n_trees,
                       model->n_trees);
    flat->n_trees = n_trees ? n_trees : model->n_trees;
    flat->absent = rw_model_absent(model);
    const size_t n = (size_t)flat->n_trees;
    RW_TRY_OUT(RW_NEW(ctx, slot_of, RW_FEATURE_IDS));
    RW_TRY_OUT(RW_NEW(ctx, flat->first_node, n + 1));
    RW_TRY_OUT(RW_NEW(ctx, flat->first_leaf, n + 1));
    count_trees(flat, model);
    RW_TRY_OUT(number_features(ctx, flat, model, slot_of));
    RW_TRY_OUT(RW_NEW_RAW(ctx, flat->node, flat->first_node[n]));
    RW_TRY_OUT(RW_NEW_RAW(ctx, flat->leaf, flat->first_leaf[n]));
    for (int32_t i = 0; i < flat->n_trees; i++)
        copy_tree(flat, &model->tree[i], i, slot_of);
out:
    if (status < 0)
        rw_flat_release(flat);
    rw_mem_free(slot_of);
    return status;
}

void rw_flat_release(struct rw_flat *flat)
{
    rw_mem_free(flat->feature);
    rw_mem_free(flat->node);
    rw_mem_free(flat->leaf);
    rw_mem_free(flat->first_node);
    rw_mem_free(flat->first_leaf);
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
            const float v = f < n_values ? values[f] : flat->absent;
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
