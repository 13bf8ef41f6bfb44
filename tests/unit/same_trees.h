/* Two models' trees, field by field. */
#pragma once

#include <string.h>

#include "model/model.h"

static inline int same_trees(const struct rw_model *a, const struct rw_model *b)
{
    if (a->n_trees != b->n_trees)
        return 0;
    for (int32_t t = 0; t < a->n_trees; t++) {
        const struct rw_tree *x = &a->tree[t], *y = &b->tree[t];
        const size_t n = (size_t)x->n_leaves - 1;
        if (x->n_leaves != y->n_leaves || memcmp(x->left, y->left, n * sizeof(*x->left)) ||
            memcmp(x->right, y->right, n * sizeof(*x->right)) ||
            memcmp(x->feature, y->feature, n * sizeof(*x->feature)) ||
            memcmp(x->cut, y->cut, n * sizeof(*x->cut)) ||
            memcmp(x->missing_left, y->missing_left, n) ||
            memcmp(x->gain, y->gain, n * sizeof(*x->gain)) ||
            memcmp(x->leaf, y->leaf, (n + 1) * sizeof(*x->leaf)))
            return 0;
    }
    return 1;
}
