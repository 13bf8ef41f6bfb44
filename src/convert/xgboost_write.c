#include <string.h>

#include "base/bits.h"
#include "base/mem.h"
#include "convert/xgboost_model.h"

/* Puts members one after the other, in JSON or in UBJSON. */
struct emitting {
    struct rw_put *put;
    int binary;
    int first; /* JSON: no comma before the next one */
};

static void put_length(struct rw_put *put, uint64_t n)
{
    unsigned char bytes[9] = {'L'};
    for (int i = 0; i < 8; i++)
        bytes[1 + i] = (unsigned char)(n >> (56 - 8 * i));
    rw_put_bytes(put, bytes, sizeof(bytes));
}

static void put_word(struct rw_put *put, uint32_t word)
{
    const unsigned char bytes[4] = {(unsigned char)(word >> 24), (unsigned char)(word >> 16),
                                    (unsigned char)(word >> 8), (unsigned char)word};
    rw_put_bytes(put, bytes, sizeof(bytes));
}

static void emit_text(struct emitting *e, const char *text)
{
    if (e->binary) {
        rw_put_text(e->put, "S");
        put_length(e->put, strlen(text));
        rw_put_text(e->put, text);
    } else {
        rw_put_json_text(e->put, text);
    }
}

static void comma(struct emitting *e)
{
    if (!e->binary && !e->first)
        rw_put_text(e->put, ",");
    e->first = 0;
}

static void emit_key(struct emitting *e, const char *key)
{
    comma(e);
    if (e->binary) {
        put_length(e->put, strlen(key));
        rw_put_text(e->put, key);
    } else {
        rw_put_format(e->put, "\"%s\":", key);
    }
}

static void emit_begin(struct emitting *e, const char *key)
{
    if (key)
        emit_key(e, key);
    rw_put_text(e->put, "{");
    e->first = 1;
}

static void emit_end(struct emitting *e)
{
    rw_put_text(e->put, "}");
    e->first = 0;
}

static void emit_member(struct emitting *e, const char *key, const char *text)
{
    emit_key(e, key);
    emit_text(e, text);
}

static void emit_count(struct emitting *e, const char *key, uint64_t n)
{
    char text[24];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)n);
    emit_member(e, key, text);
}

/* type: UBJSON's, d, l, U or (of any elements) 0. */
static void emit_array(struct emitting *e, const char *key, char type, size_t n)
{
    emit_key(e, key);
    rw_put_text(e->put, "[");
    e->first = 1;
    if (!e->binary)
        return;
    if (type)
        rw_put_format(e->put, "$%c", type);
    rw_put_text(e->put, "#");
    put_length(e->put, n);
}

static void emit_array_end(struct emitting *e)
{
    if (!e->binary)
        rw_put_text(e->put, "]");
    e->first = 0;
}

static void emit_float(struct emitting *e, float value)
{
    comma(e);
    if (e->binary)
        put_word(e->put, rw_bits_of_float(value));
    else
        rw_put_float(e->put, value);
}

/* type: 0 in arrays of any elements, which each have one of their own. */
static void emit_int(struct emitting *e, char type, int32_t value)
{
    comma(e);
    if (!e->binary) {
        rw_put_format(e->put, "%d", value);
    } else if (type == 'U') {
        const unsigned char byte = (unsigned char)value;
        rw_put_bytes(e->put, &byte, 1);
    } else {
        if (!type)
            rw_put_text(e->put, "l");
        put_word(e->put, (uint32_t)value);
    }
}

static void emit_empty(struct emitting *e, const char *key, char type)
{
    emit_array(e, key, type, 0);
    emit_array_end(e);
}

/* ------------------------------------------------------------------ a tree */

/* XGBoost's order: siblings stand side by side, since it finds the right one at left + 1. */
struct layout {
    int32_t n;
    int32_t *node;   /* [n] place in our tree */
    int32_t *parent; /* [n] */
    int32_t *left;   /* [n] -1: a leaf */
};

static int lay_out(struct rw_ctx *ctx, const struct rw_ens_tree *tree, struct layout *l)
{
    RW_TRY(RW_NEW_RAW(ctx, l->node, (size_t)tree->n_nodes));
    RW_TRY(RW_NEW_RAW(ctx, l->parent, (size_t)tree->n_nodes));
    RW_TRY(RW_NEW_RAW(ctx, l->left, (size_t)tree->n_nodes));
    l->node[0] = 0;
    l->parent[0] = INT32_MAX;
    l->n = 1;
    for (int32_t i = 0; i < l->n; i++) {
        const struct rw_ens_node *node = &tree->node[l->node[i]];
        l->left[i] = -1;
        if (node->left < 0)
            continue;
        l->left[i] = l->n;
        for (int side = 0; side < 2; side++) {
            l->node[l->n] = side ? node->right : node->left;
            l->parent[l->n++] = i;
        }
    }
    return RW_OK;
}

/* Cover is not known: a leaf counts 1, so that contributions can still be computed there. */
static void emit_cover(struct emitting *e, const struct layout *l, float *cover)
{
    emit_array(e, "sum_hessian", 'd', (size_t)l->n);
    for (int32_t i = l->n - 1; i >= 0; i--)
        cover[i] = l->left[i] < 0 ? 1.0f : cover[l->left[i]] + cover[l->left[i] + 1];
    for (int32_t i = 0; i < l->n; i++)
        emit_float(e, cover[i]);
    emit_array_end(e);
}

static void emit_ints(struct emitting *e, const char *key, char type, const struct layout *l,
                      const struct rw_ens_tree *tree)
{
    emit_array(e, key, type, (size_t)l->n);
    for (int32_t i = 0; i < l->n; i++) {
        const struct rw_ens_node *node = &tree->node[l->node[i]];
        const int leaf = node->left < 0;
        emit_int(e, type,
                 key[0] == 'd'   ? !leaf && node->nan == RW_NAN_LEFT /* default_left */
                 : key[0] == 'l' ? l->left[i]
                 : key[0] == 'r' ? (leaf ? -1 : l->left[i] + 1)
                 : key[0] == 'p' ? l->parent[i]
                 : leaf          ? 0
                                 : (int32_t)node->column);
    }
    emit_array_end(e);
}

static void emit_floats(struct emitting *e, const char *key, const struct layout *l,
                        const struct rw_ens_tree *tree)
{
    emit_array(e, key, 'd', (size_t)l->n);
    for (int32_t i = 0; i < l->n; i++) {
        const struct rw_ens_node *node = &tree->node[l->node[i]];
        const double leaf = node->value * tree->weight;
        emit_float(e, (float)(key[0] == 'b'    ? (node->left < 0 ? leaf : 0) /* base_weights */
                              : key[0] == 'l'  ? (node->left < 0 ? 0 : node->gain)
                              : node->left < 0 ? leaf
                                               : node->threshold));
    }
    emit_array_end(e);
}

static int emit_tree(struct rw_ctx *ctx, struct emitting *e, const struct rw_ensemble *ensemble,
                     int32_t t)
{
    const struct rw_ens_tree *tree = &ensemble->tree[t];
    struct layout l = {0};
    float *cover = NULL;
    int status;
    RW_TRY_OUT(lay_out(ctx, tree, &l));
    RW_TRY_OUT(RW_NEW(ctx, cover, (size_t)l.n));
    comma(e);
    emit_begin(e, NULL);
    emit_floats(e, "base_weights", &l, tree);
    emit_empty(e, "categories", 'l');
    emit_empty(e, "categories_nodes", 'l');
    emit_empty(e, "categories_segments", 'L');
    emit_empty(e, "categories_sizes", 'L');
    emit_ints(e, "default_left", 'U', &l, tree);
    emit_key(e, "id");
    e->first = 1;
    emit_int(e, 0, t);
    emit_ints(e, "left_children", 'l', &l, tree);
    emit_floats(e, "loss_changes", &l, tree);
    emit_ints(e, "parents", 'l', &l, tree);
    emit_ints(e, "right_children", 'l', &l, tree);
    emit_floats(e, "split_conditions", &l, tree);
    emit_ints(e, "split_indices", 'l', &l, tree);
    emit_array(e, "split_type", 'U', (size_t)l.n);
    for (int32_t i = 0; i < l.n; i++)
        emit_int(e, 'U', 0);
    emit_array_end(e);
    emit_cover(e, &l, cover);
    emit_begin(e, "tree_param");
    emit_count(e, "num_deleted", 0);
    emit_count(e, "num_feature", ensemble->n_columns);
    emit_count(e, "num_nodes", (uint64_t)l.n);
    emit_count(e, "size_leaf_vector", 1);
    emit_end(e);
    emit_end(e);
out:
    rw_mem_free(l.node);
    rw_mem_free(l.parent);
    rw_mem_free(l.left);
    rw_mem_free(cover);
    return status;
}

/* ------------------------------------------------------------------ the whole */

static void emit_names(struct emitting *e, const struct rw_ensemble *ensemble)
{
    const uint32_t n = ensemble->column_name ? ensemble->n_columns : 0;
    emit_array(e, "feature_names", 0, n);
    for (uint32_t i = 0; i < n; i++) {
        comma(e);
        emit_text(e, ensemble->column_name[i]);
    }
    emit_array_end(e);
    emit_array(e, "feature_types", 0, n);
    for (uint32_t i = 0; i < n; i++) {
        comma(e);
        emit_text(e, "float");
    }
    emit_array_end(e);
}

static int emit_model(struct rw_ctx *ctx, struct emitting *e, const struct rw_ensemble *ensemble)
{
    const int32_t n = ensemble->n_trees;
    emit_begin(e, "model");
    emit_begin(e, "gbtree_model_param");
    emit_count(e, "num_parallel_tree", 1);
    emit_count(e, "num_trees", (uint64_t)n);
    emit_end(e);
    emit_array(e, "iteration_indptr", 0, (size_t)n + 1);
    for (int32_t t = 0; t <= n; t++)
        emit_int(e, 0, t);
    emit_array_end(e);
    emit_array(e, "tree_info", 0, (size_t)n);
    for (int32_t t = 0; t < n; t++)
        emit_int(e, 0, 0);
    emit_array_end(e);
    emit_array(e, "trees", 0, (size_t)n);
    for (int32_t t = 0; t < n; t++)
        RW_TRY(emit_tree(ctx, e, ensemble, t));
    emit_array_end(e);
    emit_end(e);
    return RW_OK;
}

int rw_xgboost_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, int binary,
                     struct rw_put *put)
{
    struct emitting e = {put, binary, 1};
    emit_begin(&e, NULL);
    emit_begin(&e, "learner");
    emit_begin(&e, "attributes");
    emit_end(&e);
    emit_names(&e, ensemble);
    emit_begin(&e, "gradient_booster");
    RW_TRY(emit_model(ctx, &e, ensemble));
    emit_member(&e, "name", "gbtree");
    emit_end(&e);
    emit_begin(&e, "learner_model_param");
    emit_member(&e, "base_score", "0E0");
    emit_count(&e, "boost_from_average", 0);
    emit_count(&e, "num_class", 0);
    emit_count(&e, "num_feature", ensemble->n_columns);
    emit_count(&e, "num_target", 1);
    emit_end(&e);
    emit_begin(&e, "objective");
    emit_member(&e, "name", "rank:ndcg");
    emit_end(&e);
    emit_end(&e);
    emit_array(&e, "version", 0, 3);
    emit_int(&e, 0, 2);
    emit_int(&e, 0, 1);
    emit_int(&e, 0, 0);
    emit_array_end(&e);
    emit_end(&e);
    return put->status;
}
