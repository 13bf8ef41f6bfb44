/* LightGBM's text model, version 4 (lightgbm_text.h), and its rules. */
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "convert/lightgbm_text.h"

/* The values in training are not known, but thresholds lie among them, and categories are listed.
 */
static void put_info(const struct rw_ensemble *e, uint32_t i, const double *low, const double *high,
                     struct rw_put *put)
{
    const struct rw_ens_categories *of = rw_ens_categories_of(e, i);
    const int is_used = low[i] <= high[i];
    if (!e->column_had[i])
        rw_put_text(put, "none");
    else if (!of || of->n == 0)
        rw_put_format(put, "[%lf:%lf]", is_used ? low[i] : 0.0, is_used ? high[i] : 0.0);
    for (uint32_t k = 0; e->column_had[i] && of && k < of->n; k++)
        rw_put_format(put, "%s%u", k ? ":" : "", of->number[k]);
}

static void put_header(const struct rw_ensemble *e, const double *low, const double *high,
                       const struct rw_put *blocks, struct rw_put *put)
{
    rw_put_format(put,
                  "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\n"
                  "max_feature_idx=%u\nobjective=lambdarank\nfeature_names=",
                  e->n_columns - 1);
    for (uint32_t i = 0; i < e->n_columns; i++) {
        if (e->column_name)
            rw_put_text(put, e->column_name[i]);
        else
            rw_put_format(put, "Column_%u", i);
        rw_put_text(put, i + 1 < e->n_columns ? " " : "\nfeature_infos=");
    }
    for (uint32_t i = 0; i < e->n_columns; i++) {
        put_info(e, i, low, high, put);
        rw_put_text(put, i + 1 < e->n_columns ? " " : "\n");
    }
    rw_put_text(put, "tree_sizes=");
    for (int32_t t = 0; t < e->n_trees; t++)
        rw_put_format(put, "%s%zu", t ? " " : "", blocks[t].n);
    rw_put_text(put, "\n\n");
}

/* Counts are integers there. Those that are not, or too large, are scaled: only their ratios
 * matter. A leaf has 1 or more, a split the sum of its leaves. count: [n_nodes], written. */
static void count_docs(const struct rw_ens_tree *tree, int32_t *count)
{
    enum { MOST = INT32_MAX / 4 }; /* of the root, but for rounding */
    int is_whole = tree->node[0].docs <= MOST;
    for (int32_t i = 0; i < tree->n_nodes; i++)
        is_whole &= tree->node[i].left >= 0 || tree->node[i].docs == floor(tree->node[i].docs);
    const double scale = is_whole ? 1.0 : MOST / tree->node[0].docs;
    for (int32_t i = tree->n_nodes - 1; i >= 0; i--) {
        const struct rw_ens_node *node = &tree->node[i];
        const double docs = node->docs * scale;
        if (node->left >= 0)
            count[i] = count[node->left] + count[node->right];
        else
            count[i] = docs < 1.5 ? 1 : (int32_t)(docs + 0.5);
    }
}

static void put_counts(const char *key, const int32_t *count, int32_t n, struct rw_put *put)
{
    rw_put_text(put, key);
    for (int32_t i = 0; i < n; i++)
        rw_put_format(put, "%s%d", i ? " " : "", count[i]);
    rw_put_text(put, "\n");
}

/* kind: v and w of leaves, all others of splits. */
static void put_list(const struct rw_ens_tree *tree, const char *key, char kind, struct rw_put *put)
{
    const int32_t n_splits = rw_ens_n_splits(tree);
    const int of_leaves = kind == 'v' || kind == 'w';
    const int32_t begin = of_leaves ? n_splits : 0;
    const int32_t end = of_leaves ? tree->n_nodes : n_splits;
    int32_t n_sets = 0;
    rw_put_text(put, key);
    for (int32_t i = begin; i < end; i++) {
        const struct rw_ens_node *node = &tree->node[i];
        const int32_t child = kind == 'l' ? node->left : node->right;
        rw_put_text(put, i > begin ? " " : "");
        if (kind == 'f')
            rw_put_format(put, "%u", node->column);
        else if (kind == 'd')
            rw_put_format(put, "%d",
                          RW_LGB_MISSING_NAN | (node->by_category          ? RW_LGB_CATEGORICAL
                                                : node->nan == RW_NAN_LEFT ? RW_LGB_DEFAULT_LEFT
                                                                           : 0));
        else if (kind == 't' && node->by_category)
            rw_put_format(put, "%d", n_sets++);
        else if (kind == 'l' || kind == 'r')
            rw_put_format(put, "%d", child < n_splits ? child : ~(child - n_splits));
        else
            rw_put_format(put, "%lf",
                          kind == 'g'                  ? node->gain
                          : kind == 't'                ? node->threshold
                          : kind == 'w' || kind == 'h' ? node->hessian
                                                       : node->value * tree->weight);
    }
    rw_put_text(put, "\n");
}

static int32_t count_sets(const struct rw_ens_tree *tree)
{
    int32_t n = 0;
    for (int32_t i = 0; i < rw_ens_n_splits(tree); i++)
        n += tree->node[i].by_category;
    return n;
}

/* Bits up to the last category that is listed. */
static uint32_t words_of(const struct rw_ens_node *node)
{
    return node->by_category ? node->listed[node->n_listed - 1] / 32 + 1 : 0;
}

static void put_sets(const struct rw_ens_tree *tree, struct rw_put *put)
{
    uint64_t n = 0;
    rw_put_text(put, "cat_boundaries=0");
    for (int32_t i = 0; i < rw_ens_n_splits(tree); i++) {
        n += words_of(&tree->node[i]);
        if (tree->node[i].by_category)
            rw_put_format(put, " %u", (uint32_t)n);
    }
    if (n > INT32_MAX)
        rw_put_refuse(put, "sets of categories that LightGBM has no numbers for");
    const char *before = "\ncat_threshold=";
    for (int32_t i = 0; i < rw_ens_n_splits(tree); i++) {
        const struct rw_ens_node *node = &tree->node[i];
        for (uint32_t w = 0, k = 0; w < words_of(node); w++) {
            uint32_t bits = 0;
            for (; k < node->n_listed && node->listed[k] / 32 == w; k++)
                bits |= (uint32_t)1 << node->listed[k] % 32;
            rw_put_format(put, "%s%u", before, bits);
            before = " ";
        }
    }
    rw_put_text(put, "\n");
}

/* The lowering puts splits before leaves, which is LightGBM's order too. */
static int put_tree(const struct rw_ens_tree *tree, int32_t number, struct rw_put *put)
{
    const int32_t n_sets = count_sets(tree), n_splits = rw_ens_n_splits(tree);
    int32_t *count; /* [n_nodes] */
    RW_TRY(RW_NEW(put->ctx, count, (size_t)tree->n_nodes));
    count_docs(tree, count);
    rw_put_format(put, "Tree=%d\nnum_leaves=%d\nnum_cat=%d\n", number, (tree->n_nodes + 1) / 2,
                  n_sets);
    if (tree->n_nodes > 1) {
        put_list(tree, "split_feature=", 'f', put);
        put_list(tree, "split_gain=", 'g', put);
        put_list(tree, "threshold=", 't', put);
        put_list(tree, "decision_type=", 'd', put);
        put_list(tree, "left_child=", 'l', put);
        put_list(tree, "right_child=", 'r', put);
    }
    put_list(tree, "leaf_value=", 'v', put);
    put_list(tree, "leaf_weight=", 'w', put);
    put_counts("leaf_count=", count + n_splits, n_splits + 1, put);
    if (tree->n_nodes > 1) {
        put_list(tree, "internal_weight=", 'h', put);
        put_counts("internal_count=", count, n_splits, put);
    }
    if (n_sets > 0)
        put_sets(tree, put);
    rw_put_text(put, "is_linear=0\nshrinkage=1\n\n\n");
    rw_mem_free(count);
    return put->status;
}

static void threshold_ranges(const struct rw_ensemble *e, double *low, double *high)
{
    for (uint32_t i = 0; i < e->n_columns; i++) {
        low[i] = INFINITY;
        high[i] = -INFINITY;
    }
    for (int32_t t = 0; t < e->n_trees; t++) {
        for (int32_t i = 0; i < rw_ens_n_splits(&e->tree[t]); i++) {
            const struct rw_ens_node *node = &e->tree[t].node[i];
            if (node->by_category)
                continue;
            low[node->column] = fmin(low[node->column], node->threshold);
            high[node->column] = fmax(high[node->column], node->threshold);
        }
    }
}

/* The words of columns by words, a list for each; null without one, as LightGBM has it, for some
 * readers of its models (lleaves) expect the line. */
static void put_words(const struct rw_ensemble *e, struct rw_put *put)
{
    const char *before = "\npandas_categorical:[";
    for (uint32_t i = 0; i < e->n_columns; i++) {
        const struct rw_ens_categories *of = rw_ens_categories_of(e, i);
        if (!of || !of->word)
            continue;
        rw_put_text(put, before);
        for (uint32_t k = 0; k < of->n; k++) {
            rw_put_text(put, k ? ", " : "[");
            rw_put_json_text(put, of->word[k]);
        }
        rw_put_text(put, "]");
        before = ", ";
    }
    rw_put_text(put, *before == ',' ? "]\n" : "\npandas_categorical:null\n");
}

static int write_lightgbm(const struct rw_ensemble *e, struct rw_put *put)
{
    struct rw_put *block = NULL; /* [n_trees] their sizes stand before them */
    double *low = NULL, *high = NULL;
    int status = RW_OK;
    if (e->n_columns == 0)
        return rw_put_refuse(put, "a model without features has no 'lightgbm' form");
    RW_TRY_OUT(RW_NEW(put->ctx, block, (size_t)e->n_trees));
    RW_TRY_OUT(RW_NEW(put->ctx, low, e->n_columns));
    RW_TRY_OUT(RW_NEW(put->ctx, high, e->n_columns));
    threshold_ranges(e, low, high);
    for (int32_t t = 0; t < e->n_trees; t++) {
        block[t].ctx = put->ctx;
        RW_TRY_OUT(put_tree(&e->tree[t], t, &block[t]));
    }
    put_header(e, low, high, block, put);
    for (int32_t t = 0; t < e->n_trees; t++)
        rw_put_bytes(put, block[t].text, block[t].n);
    rw_put_text(put, "end of trees\n\n");
    put_words(e, put);
    status = put->status;
out:
    for (int32_t t = 0; block && t < e->n_trees; t++)
        rw_mem_free(block[t].text);
    rw_mem_free(block);
    rw_mem_free(low);
    rw_mem_free(high);
    return status;
}

const struct rw_model_format rw_to_lightgbm = {
    .name = "lightgbm",
    .about = "LightGBM's text model, version 4",
    .consumer = {{.name = "LightGBM",
                  .rules = {.value = RW_F64,
                            .threshold = RW_F64,
                            .sum = RW_F64,
                            .nan_by_node = 1,
                            .absent = RW_ABSENT_AS_MODEL,
                            .band_is_zero = 1,
                            .missing_unlisted = 1,
                            .unknown_missing = 1}}},
    .names = RW_NAMES_GIVEN,
    .name_prefix = "Column_",
    .name_forbids = " \",:[]{}",
    .imports = 1,
    .covers = 1,
    .categories = RW_SAYS_WORDS,
    .most_category = 1048575, /* each set has a bit for every number up to its last one */
    .write = write_lightgbm,
    .parse = rw_lightgbm_parse,
};
