#include "base/fpenv.h"
#include "model/model.h"

#include <stdlib.h>

#include "base/mem.h"

static int by_falling_gain(const void *a, const void *b)
{
    const struct rw_feature_use *x = a, *y = b;
    if (x->gain != y->gain)
        return x->gain > y->gain ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

/* One more than the highest feature of a split. */
static uint32_t end_of_features(const struct rw_model *model)
{
    uint32_t end = 0;
    for (int32_t i = 0; i < model->n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            const uint32_t feature = tree->feature[node] % RW_FEATURE_IDS;
            end = feature < end ? end : feature + 1;
        }
    }
    return end;
}

/* Gains are added in the order of trees and nodes, so that the sums are the same everywhere. */
static void add_up(const struct rw_model *model, struct rw_feature_use *uses)
{
    for (int32_t i = 0; i < model->n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            struct rw_feature_use *use = &uses[tree->feature[node] % RW_FEATURE_IDS];
            use->n_splits++;
            use->gain += tree->gain[node];
        }
    }
}

int rw_model_features(const struct rw_model *model, struct rw_feature_use *uses, int room)
{
    RW_DEFAULT_FPENV;
    struct rw_feature_use *all;
    const uint32_t end = end_of_features(model);
    RW_TRY(RW_NEW(NULL, all, end));
    add_up(model, all);
    int n = 0;
    for (uint32_t f = 0; f < end; f++) {
        if (all[f].n_splits == 0)
            continue;
        all[n] = all[f];
        all[n].feature = f;
        all[n].name = rw_model_feature_name(model, f);
        n++;
    }
    qsort(all, (size_t)n, sizeof(*all), by_falling_gain);
    for (int i = 0; i < n && i < room; i++)
        uses[i] = all[i];
    rw_mem_free(all);
    return n;
}
