#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/catboost_model.h"
#include "convert/nested_json.h"

enum {
    MOST_LEFT = 65534,      /* nodes: the step over them to the right child has 16 bits there */
    BORDERS_A_BUCKET = 254, /* of an entry; buckets have 16 bits too */
    MOST_BUCKETS = 65536
};

/* ------------------------------------------------------------------ the borders' numbers */

struct border {
    uint32_t column;
    uint8_t nan_right;
    float at;
};

/* Put after put: the walk of a tree hands on only its text. */
struct emitting {
    struct rw_put put;
    const struct rw_ensemble *ensemble;
    struct border *border; /* [n] ascending, each once; owned */
    size_t n;
};

static int by_place(const void *a, const void *b)
{
    const struct border *x = a, *y = b;
    if (x->column != y->column)
        return x->column < y->column ? -1 : 1;
    if (x->nan_right != y->nan_right)
        return x->nan_right < y->nan_right ? -1 : 1;
    return x->at < y->at ? -1 : x->at > y->at;
}

static struct border border_of(const struct rw_ens_node *node)
{
    return (struct border){node->column, node->nan == RW_NAN_RIGHT, (float)node->threshold};
}

static int same_entry(const struct border *a, const struct border *b)
{
    return a->column == b->column && a->nan_right == b->nan_right;
}

static int number_borders(struct rw_ctx *ctx, struct emitting *e)
{
    size_t n_splits = 0, n = 0, n_buckets = 0, in_entry = 0;
    for (int32_t t = 0; t < e->ensemble->n_trees; t++)
        n_splits += (size_t)e->ensemble->tree[t].n_nodes / 2;
    RW_TRY(RW_NEW(ctx, e->border, n_splits));
    for (int32_t t = 0; t < e->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &e->ensemble->tree[t];
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            if (tree->node[i].left >= 0)
                e->border[n++] = border_of(&tree->node[i]);
        }
    }
    qsort(e->border, n, sizeof(*e->border), by_place);
    for (size_t i = 0; i < n; i++) {
        struct border *last = e->n > 0 ? &e->border[e->n - 1] : NULL;
        if (last && by_place(last, &e->border[i]) == 0)
            continue;
        in_entry = last && same_entry(last, &e->border[i]) ? in_entry + 1 : 0;
        n_buckets += in_entry % BORDERS_A_BUCKET == 0;
        e->border[e->n++] = e->border[i];
    }
    if (n_buckets > MOST_BUCKETS)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "%zu buckets of %d cuts of a feature; CatBoost has numbers for %d",
                       n_buckets, BORDERS_A_BUCKET, MOST_BUCKETS);
    return RW_OK;
}

/* ------------------------------------------------------------------ features */

/* An entry for a column with the borders from `begin` on that are of it; returns their end. */
static size_t put_entry(struct emitting *e, uint32_t column, size_t begin)
{
    struct rw_put *put = &e->put;
    const struct border *first = &e->border[begin];
    const int is_used = begin < e->n && first->column == column;
    size_t i = begin;
    rw_put_format(put, "{\"feature_index\":%u,\"flat_feature_index\":%u,\"feature_id\":", column,
                  column);
    rw_put_json_text(put, e->ensemble->column_name ? e->ensemble->column_name[column] : "");
    rw_put_format(put, ",\"has_nans\":%s,\"nan_value_treatment\":\"%s\",\"borders\":[",
                  is_used ? "true" : "false",
                  !is_used           ? "AsIs"
                  : first->nan_right ? "AsTrue"
                                     : "AsFalse");
    for (; is_used && i < e->n && same_entry(&e->border[i], first); i++) {
        rw_put_text(put, i > begin ? "," : "");
        rw_put_double(put, (double)e->border[i].at);
    }
    rw_put_text(put, "]}");
    return i;
}

static void put_features(struct emitting *e)
{
    size_t at = 0;
    rw_put_text(&e->put, "\"features_info\":{\"float_features\":[");
    for (uint32_t column = 0; column < e->ensemble->n_columns; column++) {
        do {
            rw_put_text(&e->put, column > 0 || at > 0 ? ",\n" : "\n");
            at = put_entry(e, column, at);
        } while (at < e->n && e->border[at].column == column);
    }
    rw_put_text(&e->put, "\n]},\n");
}

/* ------------------------------------------------------------------ trees */

static void begin_node(struct rw_put *put, const struct rw_ensemble *ensemble,
                       const struct rw_ens_node *node, int32_t number, int32_t depth,
                       const int32_t child[2])
{
    const struct emitting *e = (const struct emitting *)(const void *)put; /* its first member */
    (void)ensemble;
    (void)number;
    (void)depth;
    (void)child;
    if (node->left < 0) {
        rw_put_text(put, "{\"value\":");
        rw_catboost_put_double(put, node->value);
        rw_put_text(put, ",\"weight\":1}"); /* cover is not known: as if each had one document */
        return;
    }
    const struct border key = border_of(node);
    const struct border *border = bsearch(&key, e->border, e->n, sizeof(key), by_place);
    rw_put_text(put, "{\"split\":{\"border\":");
    rw_put_double(put, (double)key.at);
    rw_put_format(put,
                  ",\"float_feature_index\":%u,\"split_index\":%zu,\"split_type\":\"FloatFeature\"}"
                  ",\"left\":",
                  key.column, (size_t)(border - e->border));
}

static void middle_node(struct rw_put *put)
{
    rw_put_text(put, ",\"right\":");
}

static void end_node(struct rw_put *put)
{
    rw_put_text(put, "}");
}

/* Is no left child the root of more nodes than can be stepped over? */
static int check_left(struct rw_ctx *ctx, const struct rw_ens_tree *tree, int32_t t)
{
    int32_t *order = NULL, *size = NULL; /* [n_nodes] parents first; nodes from each on down */
    int32_t n = 1;
    int status = RW_OK;
    if (tree->n_nodes <= MOST_LEFT)
        return RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, order, (size_t)tree->n_nodes));
    RW_TRY_OUT(RW_NEW(ctx, size, (size_t)tree->n_nodes));
    for (int32_t i = 0; i < n; i++) {
        const struct rw_ens_node *node = &tree->node[order[i]];
        if (node->left >= 0) {
            order[n++] = node->left;
            order[n++] = node->right;
        }
    }
    while (n > 0 && status == RW_OK) {
        const int32_t at = order[--n];
        const struct rw_ens_node *node = &tree->node[at];
        size[at] = node->left < 0 ? 1 : 1 + size[node->left] + size[node->right];
        if (node->left >= 0 && size[node->left] > MOST_LEFT)
            status = rw_fail(ctx, RW_ERR_UNSUPPORTED,
                             "tree %d, node %d: %d nodes to its left; CatBoost takes at most %d",
                             t + 1, at, size[node->left], MOST_LEFT);
    }
out:
    rw_mem_free(order);
    rw_mem_free(size);
    return status;
}

static int put_trees(struct rw_ctx *ctx, struct emitting *e)
{
    /* CatBoost's reader recurses; jansson takes 2,048 levels. */
    static const struct rw_nested how = {begin_node, middle_node, end_node, 1000};
    rw_put_text(&e->put, "\"trees\":[");
    for (int32_t t = 0; t < e->ensemble->n_trees; t++) {
        RW_TRY(check_left(ctx, &e->ensemble->tree[t], t));
        rw_put_text(&e->put, t > 0 ? ",\n" : "\n");
        RW_TRY(rw_nested_write(ctx, e->ensemble, t, &how, &e->put));
    }
    rw_put_text(&e->put, "\n],\n");
    return RW_OK;
}

int rw_catboost_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    struct emitting e = {.put = *put, .ensemble = ensemble};
    int status;
    if (ensemble->n_trees == 0) /* loaded there, but not applied: "Empty tree range [0, 0)" */
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "a model without trees is none in CatBoost, which needs one to predict");
    RW_TRY_OUT(number_borders(ctx, &e));
    rw_put_text(&e.put, "{\"model_info\":{},\n");
    put_features(&e);
    RW_TRY_OUT(put_trees(ctx, &e));
    rw_put_text(&e.put, "\"scale_and_bias\":[1,[0]]}\n");
    status = e.put.status;
out:
    rw_mem_free(e.border);
    *put = e.put;
    return status;
}
