/* The format catboost: catboost_model.h says what is in it. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/catboost_model.h"
#include "convert/catboost_number.h"
#include "dataset/categories.h"

enum {
    MOST_LEFT = 65534, /* nodes: the step over them to the right child has 16 bits there */
    MOST_BUCKETS = 65536
};

struct border {
    uint32_t column;
    uint8_t nan_right;
    float at;
};

struct writing {
    const struct rw_ensemble *ensemble;
    struct border *border; /* [n] ascending, each once; owned */
    size_t n;
    uint32_t *float_index;        /* [n_columns] floats are counted apart from categories; owned */
    struct rw_catboost_sets sets; /* owned */
};

static int by_border(const void *a, const void *b)
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

static int number_borders(struct writing *w, struct rw_put *put)
{
    size_t n_splits = 0, n = 0, n_buckets = rw_catboost_sets_buckets(&w->sets), in_entry = 0;
    for (int32_t t = 0; t < w->ensemble->n_trees; t++)
        n_splits += (size_t)w->ensemble->tree[t].n_nodes / 2;
    put->status = RW_NEW(put->ctx, w->border, n_splits);
    RW_TRY(put->status);
    for (int32_t t = 0; t < w->ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &w->ensemble->tree[t];
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            if (tree->node[i].left >= 0 && !tree->node[i].by_category)
                w->border[n++] = border_of(&tree->node[i]);
        }
    }
    qsort(w->border, n, sizeof(*w->border), by_border);
    for (size_t i = 0; i < n; i++) {
        struct border *last = w->n > 0 ? &w->border[w->n - 1] : NULL;
        if (last && by_border(last, &w->border[i]) == 0)
            continue;
        in_entry = last && same_entry(last, &w->border[i]) ? in_entry + 1 : 0;
        n_buckets += in_entry % RW_CATBOOST_A_BUCKET == 0;
        w->border[w->n++] = w->border[i];
    }
    if (n_buckets > MOST_BUCKETS)
        rw_put_refuse(put,
                      "%zu buckets of %d thresholds of a feature, or of a set of categories; "
                      "CatBoost has numbers for %d",
                      n_buckets, RW_CATBOOST_A_BUCKET, MOST_BUCKETS);
    return put->status;
}

/* ------------------------------------------------------------------ features */

static int count_floats(struct writing *w, struct rw_put *put)
{
    uint32_t n = 0;
    put->status = RW_NEW(put->ctx, w->float_index, w->ensemble->n_columns);
    for (uint32_t c = 0; put->status == RW_OK && c < w->ensemble->n_columns; c++) {
        w->float_index[c] = n;
        n += !rw_ens_categories_of(w->ensemble, c);
    }
    return put->status;
}

/* An entry for a column with the borders from `begin` on that are of it; returns their end. */
static size_t put_entry(const struct writing *w, uint32_t column, size_t begin, struct rw_put *put)
{
    const struct border *first = &w->border[begin];
    const int is_used = begin < w->n && first->column == column;
    size_t i = begin;
    rw_put_format(put, "{\"feature_index\":%u,\"flat_feature_index\":%u,\"feature_id\":",
                  w->float_index[column], column);
    rw_put_json_text(put, w->ensemble->column_name ? w->ensemble->column_name[column] : "");
    rw_put_format(put, ",\"has_nans\":%s,\"nan_value_treatment\":\"%s\",\"borders\":[",
                  is_used ? "true" : "false",
                  !is_used           ? "AsIs"
                  : first->nan_right ? "AsTrue"
                                     : "AsFalse");
    for (; is_used && i < w->n && same_entry(&w->border[i], first); i++)
        rw_put_format(put, "%s%lf", i > begin ? "," : "", (double)w->border[i].at);
    rw_put_text(put, "]}");
    return i;
}

static void put_features(const struct writing *w, struct rw_put *put)
{
    size_t at = 0;
    rw_put_text(put, "\"features_info\":{\"float_features\":[");
    for (uint32_t column = 0; column < w->ensemble->n_columns; column++) {
        if (rw_ens_categories_of(w->ensemble, column))
            continue;
        do {
            rw_put_text(put, w->float_index[column] > 0 || at > 0 ? ",\n" : "\n");
            at = put_entry(w, column, at, put);
        } while (at < w->n && w->border[at].column == column);
    }
    rw_put_text(put, "\n]");
    rw_catboost_put_sets(&w->sets, put);
    rw_put_text(put, "},\n");
}

/* ------------------------------------------------------------------ trees */

static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct writing *w = user;
    if (at->node->left < 0) {
        rw_put_text(put, "{\"value\":");
        rw_catboost_put_double(put, at->node->value);
        rw_put_text(put, ",\"weight\":");
        rw_catboost_put_double(put, at->node->docs);
        rw_put_text(put, "}");
        return;
    }
    if (at->node->by_category) {
        rw_put_text(put, "{\"split\":");
        rw_catboost_put_split(&w->sets, at->node, w->n, put);
        rw_put_text(put, ",\"left\":");
        return;
    }
    const struct border key = border_of(at->node);
    const struct border *border = bsearch(&key, w->border, w->n, sizeof(key), by_border);
    rw_put_format(put,
                  "{\"split\":{\"border\":%lf,\"float_feature_index\":%u,\"split_index\":%zu,"
                  "\"split_type\":\"FloatFeature\"},\"left\":",
                  (double)key.at, w->float_index[key.column], (size_t)(border - w->border));
}

/* Is no left child the root of more nodes than can be stepped over? */
static int check_left(const struct rw_ens_tree *tree, int32_t t, struct rw_put *put)
{
    int32_t *size = NULL; /* [n_nodes] nodes from each on down; parents stand before children */
    if (tree->n_nodes <= MOST_LEFT)
        return RW_OK;
    put->status = RW_NEW(put->ctx, size, (size_t)tree->n_nodes);
    for (int32_t i = tree->n_nodes - 1; i >= 0 && put->status == RW_OK; i--) {
        const struct rw_ens_node *node = &tree->node[i];
        size[i] = node->left < 0 ? 1 : 1 + size[node->left] + size[node->right];
        if (node->left >= 0 && size[node->left] > MOST_LEFT)
            rw_put_refuse(put, "tree %d, node %d: %d nodes to its left; CatBoost takes at most %d",
                          t + 1, i, size[node->left], MOST_LEFT);
    }
    rw_mem_free(size);
    return put->status;
}

static int put_trees(const struct writing *w, struct rw_put *put)
{
    /* CatBoost's reader recurses; jansson takes 2,048 levels. */
    static const struct rw_walk walk = {begin_node, ",\"right\":", "}", .deepest = 1000};
    rw_put_text(put, "\"trees\":[");
    for (int32_t t = 0; t < w->ensemble->n_trees; t++) {
        RW_TRY(check_left(&w->ensemble->tree[t], t, put));
        rw_put_text(put, t > 0 ? ",\n" : "\n");
        RW_TRY(rw_walk_tree(&walk, w->ensemble, t, w, put));
    }
    rw_put_text(put, "\n],\n");
    return put->status;
}

static int write_catboost(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    struct writing w = {.ensemble = ensemble};
    int status;
    if (ensemble->n_trees == 0) /* loaded there, but not applied: "Empty tree range [0, 0)" */
        return rw_put_refuse(
            put, "a model without trees is none in CatBoost, which needs one to predict");
    RW_TRY_OUT(rw_catboost_sets_make(put->ctx, ensemble, &w.sets));
    RW_TRY_OUT(count_floats(&w, put));
    RW_TRY_OUT(number_borders(&w, put));
    rw_put_text(put, "{\"model_info\":{},\n");
    put_features(&w, put);
    RW_TRY_OUT(put_trees(&w, put));
    rw_catboost_put_tables(&w.sets, put);
    rw_put_text(put, "\"scale_and_bias\":[1,[0]]}\n");
    status = put->status;
out:
    rw_mem_free(w.border);
    rw_mem_free(w.float_index);
    rw_catboost_sets_release(&w.sets);
    return status;
}

/* Its trees read floats and add doubles; who calls it hands over every column. */
const struct rw_model_format rw_to_catboost = {
    .name = "catboost",
    .about = "CatBoost's saved model, JSON",
    .consumer = {{.name = "CatBoost",
                  .rules = {.sum = RW_F64,
                            .nan_by_node = 1,
                            .absent = RW_ABSENT_AS_MODEL,
                            .listed_right = 1,
                            .lists_none = 1}}},
    .names = RW_NAMES_GIVEN,
    .name_prefix = "", /* a feature without a name is called by its number there */
    .imports = 1,
    .covers = 1,
    .categories = RW_SAYS_WORDS,
    .most_category = RW_MAX_CATEGORY_ID,
    .write = write_catboost,
    .parse = rw_catboost_parse,
};
