/* Compares SHAP values with their definition, over all subsets of features (algorithm 1 of
 * Lundberg, Erion and Lee 2018), and with values of the shap package (tests/peers/shap_peer.py). */
#include "model/scorer.h"
#include "model_fixture.h"

TestSuite(shap, .timeout = 60);

/* ------------------------------------------------------------------ by definition */

static int goes_left(const struct rw_tree *tree, int32_t node, const float *values)
{
    const float v = values[tree->feature[node]];
    return v != v ? tree->missing_left[node] : v <= tree->cut[node];
}

/* Documents of `rows` [n][16] that reach each node and leaf. */
static void count_docs(const struct rw_tree *tree, const float *rows, uint32_t n, uint32_t *nodes,
                       uint32_t *leaves)
{
    memset(nodes, 0, (size_t)tree->n_leaves * sizeof(*nodes));
    memset(leaves, 0, (size_t)tree->n_leaves * sizeof(*leaves));
    for (uint32_t d = 0; d < n; d++) {
        int32_t at = tree->n_leaves > 1 ? 0 : ~0;
        while (at >= 0) {
            nodes[at]++;
            at = goes_left(tree, at, rows + (size_t)d * 16) ? tree->left[at] : tree->right[at];
        }
        leaves[~at]++;
    }
}

/* The mean of the tree with the features of `known` (a bit each) as the document has them. */
static double expected(const struct rw_tree *tree, int32_t at, const uint32_t *nodes,
                       const uint32_t *leaves, const float *values, uint32_t known)
{
    if (at < 0)
        return (double)tree->leaf[~at];
    const int32_t left = tree->left[at], right = tree->right[at];
    if (known >> tree->feature[at] & 1)
        return expected(tree, goes_left(tree, at, values) ? left : right, nodes, leaves, values,
                        known);
    const double n_left = left < 0 ? leaves[~left] : nodes[left];
    const double share = nodes[at] ? n_left / nodes[at] : 0.5;
    return share * expected(tree, left, nodes, leaves, values, known) +
           (1.0 - share) * expected(tree, right, nodes, leaves, values, known);
}

/* The mean over all orders of the features 0 to n - 1 of what `feature` adds: weights k! m! / n!.
 */
static double by_subsets(const struct rw_tree *tree, const uint32_t *nodes, const uint32_t *leaves,
                         const float *values, uint32_t feature, uint32_t n)
{
    double factorial[17] = {1.0}, sum = 0.0;
    const int32_t root = tree->n_leaves > 1 ? 0 : ~0;
    for (int i = 1; i <= 16; i++)
        factorial[i] = factorial[i - 1] * i;
    for (uint32_t known = 0; known < 1u << n; known++) {
        if (known >> feature & 1)
            continue;
        const int k = __builtin_popcount(known);
        const double weight = factorial[k] * factorial[(n - (uint32_t)k - 1) & 15] / factorial[n];
        sum += weight * (expected(tree, root, nodes, leaves, values, known | 1u << feature) -
                         expected(tree, root, nodes, leaves, values, known));
    }
    return sum;
}

/* All documents' values, [n_docs][16] by feature id, absent ones as the model takes them. */
static float *dense(const struct rw_dataset *data, float absent)
{
    float *rows = calloc((size_t)data->n_docs * 16, sizeof(*rows));
    float *column = calloc(data->n_docs, sizeof(*column));
    for (uint32_t f = 0; f < 16; f++) {
        rw_dataset_feature(data, f, absent, column);
        for (uint32_t d = 0; d < data->n_docs; d++)
            rows[(size_t)d * 16 + f] = column[d];
    }
    free(column);
    return rows;
}

static struct rw_explainer *explainer_of(struct rw_ctx *ctx, const struct rw_model *model,
                                         const struct rw_dataset *cover)
{
    struct rw_explainer *explainer;
    cr_assert_eq(rw_explainer_new(ctx, model, 0, cover, &explainer), RW_OK, "%s",
                 rw_last_error(ctx));
    return explainer;
}

/* Few documents, so that many nodes are empty; features repeat on a path; values are missing and
 * absent, under both meanings. Random leaves are below 0.11: 13 digits bound the rounding error
 * of 64 subsets with 6 roundings each. */
static void assert_subsets(int32_t n_trees, int32_t n_leaves, uint32_t n_columns, uint32_t n_cover,
                           uint64_t seed)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, n_trees, n_leaves, n_columns, seed);
    struct rw_dataset *cover = fixture_dataset(ctx, n_cover, n_columns, 1, seed);
    struct rw_dataset *data = fixture_dataset(ctx, 40, n_columns, 0, seed + 1);
    model->absent_missing = (int)(seed % 2);
    const float absent = seed % 2 ? rw_float_of_bits(RW_MISSING_BITS) : 0.0f;
    struct rw_explainer *explainer = explainer_of(ctx, model, cover);
    float *cover_rows = dense(cover, absent), *rows = dense(data, absent);
    const uint32_t n = explainer->n_features;
    const uint32_t *id = explainer->features;
    double *values = calloc((size_t)40 * n + 1, sizeof(*values));
    double *truth = calloc((size_t)40 * n + 1, sizeof(*truth)), base = 0.0;
    uint32_t nodes[64], leaves[64];
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 0, 40, values, NULL), RW_OK);
    for (int32_t t = 0; t < n_trees; t++) {
        count_docs(&model->tree[t], cover_rows, n_cover, nodes, leaves);
        for (int32_t leaf = 0; leaf < model->tree[t].n_leaves; leaf++)
            base += (double)model->tree[t].leaf[leaf] * leaves[leaf] / n_cover;
        for (uint32_t d = 0; d < 40; d++) {
            for (uint32_t i = 0; i < n; i++)
                truth[d * n + i] += by_subsets(&model->tree[t], nodes, leaves,
                                               rows + (size_t)d * 16, id[i], 2 * n_columns);
        }
    }
    cr_assert_float_eq(explainer->base, base, 1e-13);
    for (uint32_t k = 0; k < 40 * n; k++)
        cr_assert_float_eq(values[k], truth[k], 1e-13 * n_trees,
                           "seed %u, document %u: %.17g %.17g", (unsigned)seed, k / n, values[k],
                           truth[k]);
    free(cover_rows);
    free(rows);
    free(values);
    free(truth);
    rw_free(explainer);
    rw_dataset_free(cover);
    rw_dataset_free(data);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(shap, the_definition_over_all_subsets)
{
    for (uint64_t seed = 1; seed <= 6; seed++) {
        assert_subsets(3, 12, 4, 60, seed);
        assert_subsets(2, 30, 3, 7, seed + 100); /* most nodes are empty */
        assert_subsets(6, 2, 4, 60, seed + 200);
    }
    assert_subsets(1, 40, 1, 50, 9); /* one feature, many times on a path */
}

/* ------------------------------------------------------------------ sums */

/* A chain: every split leads to a leaf and on; most of the features are different. */
static void make_chain(struct rw_ctx *ctx, struct rw_tree *tree, int32_t n_leaves, uint64_t seed)
{
    cr_assert_eq(rw_tree_init(ctx, tree, n_leaves), RW_OK);
    for (int32_t i = 0; i < n_leaves - 1; i++) {
        const int last = i == n_leaves - 2, left = fixture_below(seed, (uint64_t)i, 2) != 0;
        const int32_t on = last ? ~(n_leaves - 1) : i + 1;
        tree->left[i] = left ? on : ~i;
        tree->right[i] = left ? ~i : on;
        tree->feature[i] = 2 * ((uint32_t)i % 150) + 1;
        tree->cut[i] = left ? 1.9f : -1.9f; /* most values pass */
        tree->missing_left[i] = (uint8_t)left;
        tree->gain[i] = 1.0;
    }
    for (int32_t i = 0; i < n_leaves; i++)
        tree->leaf[i] = ((float)fixture_below(seed, (uint64_t)i + 1000, 2001) - 1000.0f) * 1e-3f;
}

static void assert_sums(struct rw_ctx *ctx, const struct rw_model *model,
                        const struct rw_dataset *data)
{
    struct rw_explainer *explainer = explainer_of(ctx, model, data);
    const uint32_t n = explainer->n_features, n_docs = data->n_docs;
    double *values = calloc((size_t)n_docs * n + 1, sizeof(*values));
    double *again = calloc((size_t)n_docs * n + 1, sizeof(*again));
    double *scores = calloc(n_docs, sizeof(*scores));
    int32_t *leaves = calloc((size_t)n_docs * (size_t)model->n_trees + 1, sizeof(*leaves));
    int32_t *own = calloc((size_t)model->n_trees + 1, sizeof(*own));
    cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
    cr_assert_eq(rw_predict_leaves(ctx, model, data, 0, leaves), RW_OK);
    rw_ctx_set_threads(ctx, 1);
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 0, n_docs, values, NULL), RW_OK);
    rw_ctx_set_threads(ctx, 5);
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 0, n_docs, again, NULL), RW_OK);
    cr_assert_arr_eq(values, again, (size_t)n_docs * n * sizeof(*values));
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 3, 4, again, NULL), RW_OK);
    cr_assert_arr_eq(values + 3 * n, again, 4 * n * sizeof(*values));
    for (uint32_t d = 0; d < n_docs; d++) {
        double sum = explainer->base;
        for (uint32_t i = 0; i < n; i++)
            sum += values[d * n + i];
        cr_assert_leq(fabs(sum - scores[d]), explainer->bound, "%.17g %.17g", sum, scores[d]);
    }
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 5, 1, again, own), RW_OK);
    for (int32_t t = 0; t < model->n_trees; t++)
        cr_assert_eq(own[t], leaves[5 * model->n_trees + t]);
    free(values);
    free(again);
    free(scores);
    free(leaves);
    free(own);
    rw_free(explainer);
}

Test(shap, sums_are_scores_within_the_bound)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 30, 60, 25, 4);
    struct rw_dataset *data = fixture_dataset(ctx, 300, 25, 0, 4);
    assert_sums(ctx, model, data);
    rw_model_free(model);
    model = fixture_random_model(ctx, 2, 1, 3, 4); /* trees of one leaf only */
    assert_sums(ctx, model, data);
    rw_dataset_free(data);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* Where sums of weights of sets would cancel: paths of 150 features. */
Test(shap, deep_trees_keep_their_digits)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 0, 1, 150, 4);
    struct rw_dataset *data = fixture_dataset(ctx, 200, 150, 0, 8);
    rw_mem_free(model->tree);
    cr_assert_eq(RW_NEW(ctx, model->tree, 2), RW_OK);
    model->n_trees = 2;
    make_chain(ctx, &model->tree[0], 151, 1);
    make_chain(ctx, &model->tree[1], 400, 2);
    assert_sums(ctx, model, data);
    rw_dataset_free(data);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(shap, rules_integrate_polynomials)
{
    static double point[400], weight[400];
    for (uint32_t n = 1; n <= 400; n += n < 12 ? 1 : 97) {
        rw_gauss_legendre(n, point, weight);
        for (uint32_t degree = 0; degree < 2 * n; degree++) {
            double sum = 0.0;
            for (uint32_t q = 0; q < n; q++)
                sum += weight[q] * pow(point[q], degree);
            cr_assert_float_eq(sum, 1.0 / (degree + 1), 1e-14, "%u points, degree %u: %.17g", n,
                               degree, sum);
        }
        cr_assert(point[0] > 0.0 && point[n - 1] < 1.0);
    }
    rw_gauss_legendre(3, point, weight);
    double sum = 0.0;
    for (int q = 0; q < 3; q++)
        sum += weight[q] * pow(point[q], 6);
    cr_assert(fabs(sum - 1.0 / 7.0) > 1e-4); /* a degree too many */
}

/* ------------------------------------------------------------------ the shap package */

/* Its first line is the base; then a line a document. Both sides round: 1e-14 for values below 0.1,
 * trees of 5 splits. */
Test(shap, as_the_package_has_it)
{
    static const char *const docs[] = {RW_TESTS_DIR "/golden/shap/small.docs"};
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    struct rw_dataset *data;
    cr_assert_eq(rw_model_read(ctx, RW_TESTS_DIR "/golden/shap/small.model", &model), RW_OK);
    cr_assert_eq(rw_dataset_read(ctx, docs, 1, &data), RW_OK);
    struct rw_explainer *explainer = explainer_of(ctx, model, data);
    const uint32_t n = explainer->n_features, n_docs = data->n_docs;
    double *values = calloc((size_t)n_docs * n, sizeof(*values)), theirs, most = 0.0;
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 0, n_docs, values, NULL), RW_OK);
    FILE *file = fopen(RW_TESTS_DIR "/golden/shap/small.shap", "r");
    cr_assert(file && n_docs > 50 && n > 5);
    cr_assert_eq(fscanf(file, "%lf", &theirs), 1);
    cr_assert_float_eq(explainer->base, theirs, 1e-14);
    for (uint32_t k = 0; k < n_docs * n; k++) {
        cr_assert_eq(fscanf(file, "%lf", &theirs), 1);
        cr_assert_float_eq(values[k], theirs, 1e-14, "document %u, feature %u: %.17g, there %.17g",
                           k / n, explainer->features[k % n], values[k], theirs);
        most = fabs(theirs) > most ? fabs(theirs) : most;
    }
    cr_assert_neq(fscanf(file, "%lf", &theirs), 1);
    cr_assert_gt(most, 0.02);
    fclose(file);
    free(values);
    rw_free(explainer);
    rw_dataset_free(data);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* ------------------------------------------------------------------ refusals */

Test(shap, refuses)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 3, 10, 4, 4);
    struct rw_dataset *data = fixture_dataset(ctx, 20, 4, 0, 4);
    struct rw_dataset *none = fixture_dataset(ctx, 0, 4, 0, 4);
    struct rw_explainer *explainer;
    double values[64];
    cr_assert_eq(rw_explainer_new(ctx, model, 0, none, &explainer), RW_ERR_DATA);
    cr_assert_null(explainer);
    cr_assert_eq(rw_explainer_new(ctx, model, 4, data, &explainer), RW_ERR_ARGUMENT);
    long n = 0;
    int status = RW_ERR_MEMORY;
    while (status != RW_OK && ++n < 100) { /* every allocation fails in its turn */
        rw_mem_fail_from(n);
        status = rw_explainer_new(ctx, model, 2, data, &explainer);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || (status == RW_ERR_MEMORY && !explainer));
    }
    cr_assert(n > 5 && status == RW_OK);
    rw_mem_fail_from(2);
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 0, 1, values, NULL), RW_ERR_MEMORY);
    rw_mem_fail_from(0);
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 20, 1, values, NULL), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 0, 21, values, NULL), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_explainer_run(ctx, explainer, data, 20, 0, values, NULL), RW_OK);
    rw_free(explainer);
    rw_free(NULL);
    rw_dataset_free(data);
    rw_dataset_free(none);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* ------------------------------------------------------------------ the model's own counts */

/* Gives the trees the counts of these documents. */
static void count_into(struct rw_ctx *ctx, struct rw_model *model, const struct rw_dataset *cover)
{
    float *rows = dense(cover, 0.0f);
    uint32_t nodes[64], leaves[64];
    for (int32_t t = 0; t < model->n_trees; t++) {
        struct rw_tree *tree = &model->tree[t];
        cr_assert_eq(rw_tree_add_covers(ctx, tree), RW_OK);
        count_docs(tree, rows, cover->n_docs, nodes, leaves);
        for (int32_t leaf = 0; tree->docs && leaf < tree->n_leaves; leaf++)
            tree->docs[leaf] = leaves[leaf];
    }
    free(rows);
}

/* Few documents, so that many nodes are empty. */
Test(shap, own_counts_are_those_of_the_same_documents)
{
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct rw_ctx *ctx = fixture_ctx();
        struct rw_model *model = fixture_random_model(ctx, 6, 20, 4, seed);
        struct rw_dataset *cover = fixture_dataset(ctx, seed % 2 ? 7 : 60, 4, 1, seed);
        struct rw_dataset *data = fixture_dataset(ctx, 40, 4, 0, seed + 1);
        struct rw_explainer *by_cover = explainer_of(ctx, model, cover), *own;
        cr_assert_eq(rw_model_has_covers(model, 0), 0);
        cr_assert_null(rw_model_tree(model, 0).docs);
        cr_assert_eq(rw_explainer_new(ctx, model, 0, NULL, &own), RW_ERR_UNSUPPORTED);
        cr_assert_str_eq(rw_last_error(ctx),
                         "tree 1 has no document counts, as the model was written by an older "
                         "version or imported: expected documents to count");
        count_into(ctx, model, cover);
        cr_assert_eq(rw_model_has_covers(model, 0), 1);
        own = explainer_of(ctx, model, NULL);
        const size_t n = 40 * (size_t)own->n_features;
        double *expected = calloc(n, sizeof(double)), *values = calloc(n, sizeof(double));
        cr_assert_eq(rw_explainer_run(ctx, by_cover, data, 0, 40, expected, NULL), RW_OK);
        cr_assert_eq(rw_explainer_run(ctx, own, data, 0, 40, values, NULL), RW_OK);
        cr_assert_eq(memcmp(values, expected, n * sizeof(double)), 0);
        cr_assert_eq(own->base, by_cover->base);
        free(expected);
        free(values);
        rw_free(own);
        rw_free(by_cover);
        rw_dataset_free(cover);
        rw_dataset_free(data);
        rw_model_free(model);
        rw_ctx_free(ctx);
    }
}

/* The first trees may have counts and later ones not; a tree of one leaf needs no counts. */
Test(shap, trees_without_counts)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 5, 3, 4, 1);
    struct rw_explainer *own;
    for (int t = 0; t < 2; t++) {
        cr_assert_eq(rw_tree_add_covers(ctx, &model->tree[t]), RW_OK);
        model->tree[t].docs[1] = t == 0; /* all 0 in the second */
    }
    cr_assert(rw_model_has_covers(model, 1) && !rw_model_has_covers(model, 2));
    cr_assert_eq(rw_model_tree(model, 0).docs[1], 1.0);
    cr_assert_eq(rw_explainer_new(ctx, model, 2, NULL, &own), RW_ERR_UNSUPPORTED);
    cr_assert_eq(model->tree[4].n_leaves, 1);
    for (int t = 0; t < 4; t++) {
        cr_assert_eq(rw_tree_add_covers(ctx, &model->tree[t]), RW_OK);
        model->tree[t].docs[1] = 4503599627370496.0;
        model->tree[t].docs[2] = 1e-300;
    }
    own = explainer_of(ctx, model, NULL);
    cr_assert(isfinite(own->base));
    rw_free(own);
    rw_model_free(model);
    rw_ctx_free(ctx);
}
