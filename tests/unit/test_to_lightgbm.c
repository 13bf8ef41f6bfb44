/* LightGBM's text. */
#include "convert_fixture.h"

#define HEAD                                                                                      \
    "tree\nversion=v4\nnum_class=1\nnum_tree_per_iteration=1\nlabel_index=0\nmax_feature_idx=1\n" \
    "objective=lambdarank\nfeature_names=Column_0 Column_1\nfeature_infos=none [-1:1]\n"
#define TREE                                                                                  \
    "Tree=0\nnum_leaves=3\nnum_cat=0\nsplit_feature=1 1\nthreshold=0.5 0.10000000000000001\n" \
    "decision_type=2 8\nleft_child=1 -1\nright_child=-2 -3\nleaf_value=-1.25 2.5 0.1\n"
#define END "\n\nend of trees\n"

Test(to_lightgbm, round_trip)
{
    convert_round_trip("lightgbm", 1);
}

Test(to_lightgbm, read)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    const char text[] = HEAD "tree_sizes=1\n\n" TREE END;
    cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format("lightgbm"), -1, &model),
                 RW_OK, "%s", rw_last_error(ctx));
    const struct rw_tree *tree = &model->tree[0];
    cr_assert_eq(tree->n_leaves, 3);
    cr_assert_eq(tree->cut[0], 0.5f);
    cr_assert_eq(tree->cut[1], nextafterf(0.1f, 0.0f)); /* 0.1f is more than 0.1 */
    cr_assert_eq(tree->missing_left[0], 1);             /* NaN is 0 there */
    cr_assert_eq(tree->missing_left[1], 0);
    cr_assert_eq(tree->leaf[2], 0.1f);
    cr_assert_eq(model->n_features, 1);
    cr_assert_eq(model->feature[0], 1);
    cr_assert_eq(model->n_names, 0);
    cr_assert_eq(model->absent_missing, 0);
    rw_model_free(model);
    cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format("lightgbm"), 1, &model),
                 RW_OK);
    cr_assert_eq(model->tree[0].feature[0], 2);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* The header's sizes are those of the blocks: LightGBM splits the file by them. */
Test(to_lightgbm, its_text)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 5, 4, 3, 2);
    size_t n;
    char *text = convert_write(ctx, model, convert_format("lightgbm"), -1, &n);
    const char *sizes = strstr(text, "tree_sizes=") + 11, *at = strstr(text, "Tree=0");
    for (int i = 0; i < 5; i++) {
        char *next;
        char head[32];
        snprintf(head, sizeof(head), "Tree=%d\n", i);
        cr_assert_eq(strncmp(at, head, strlen(head)), 0);
        at += strtol(sizes, &next, 10);
        sizes = next;
    }
    cr_assert_eq(strncmp(at, "end of trees\n", 13), 0);
    convert_damaged("lightgbm", text, n);
    rw_mem_free(text);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_lightgbm, names)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 2, 4, 3, 2), *back;
    size_t n;
    cr_assert_eq(RW_NEW(ctx, model->name, 1), RW_OK);
    model->n_names = 1;
    model->name[0].feature = 3;
    cr_assert_eq(rw_mem_copy_text(ctx, &model->name[0].name, "d\xc3\xa9j\xc3\xa0=x"), RW_OK);
    char *text = convert_write(ctx, model, convert_format("lightgbm"), -1, &n);
    cr_assert_not_null(
        strstr(text, "feature_names=Column_0 Column_1 Column_2 d\xc3\xa9j\xc3\xa0=x"));
    cr_assert_eq(convert_read(ctx, text, n, convert_format("lightgbm"), -1, &back), RW_OK);
    cr_assert_eq(back->n_names, 1);
    cr_assert_str_eq(rw_model_feature_name(back, 3), "d\xc3\xa9j\xc3\xa0=x");
    rw_mem_free(text);
    rw_model_free(back);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

/* The text with its first `old` replaced. */
static void refused(const char *old, const char *new, const char *message)
{
    char *text = fixture_replaced(HEAD "\n" TREE END, old, new);
    convert_refused("lightgbm", text, message);
    free(text);
}

Test(to_lightgbm, refused_header)
{
    refused("tree\n", "bush\n", "file: line 1: expected 'tree'");
    refused("version=v4", "version=v9", "file: expected version=v2, v3 or v4");
    refused("num_class=1", "num_class=3", "file: unsupported num_class=3: expected one class");
    refused("iteration=1", "iteration=3",
            "file: unsupported num_tree_per_iteration=3: expected one output");
    refused("max_feature_idx=1", "max_feature_idx=999999999",
            "file: header: 'max_feature_idx': expected whole numbers from 0 to 65535");
    refused("Column_0 ", "", "file: 'feature_names' has 1 names; expected 2");
    refused("none ", "none none ",
            "file: 'feature_names' or 'feature_infos' has more than 2 entries");
    refused("none ", "", "file: 'feature_infos' has 1 entries; expected 2");
    refused("objective=lambdarank", "objective=binary sigmoid:1",
            "file: unsupported objective 'binary sigmoid:1': its prediction is not the sum of the "
            "leaves");
    refused("objective=lambdarank", "average_output",
            "file: unsupported 'average_output': a random forest averages its trees");
    refused("max_feature_idx=1\n", "", "file: header: missing 'max_feature_idx'");
    refused("end of trees", "", "file: no 'end of trees': the file is truncated");
    refused("num_class=1", "num_class=1\nnum_class=1", "file: header: 'num_class' appears twice");
}

Test(to_lightgbm, refused_trees)
{
    refused("num_leaves=3", "num_leaves=2000000000",
            "file: tree 1: 'num_leaves': expected whole numbers from 1 to 1073741823");
    refused("num_leaves=3", "num_leaves=1000000000",
            "file: tree 1: 'leaf_value' has too few numbers");
    refused("num_leaves=3", "num_leaves=0",
            "file: tree 1: 'num_leaves': expected whole numbers from 1 to 1073741823");
    refused("num_leaves=3", "num_leaves=2", "file: tree 1: 'leaf_value' has too many numbers");
    refused("num_cat=0", "num_cat=1", "file: tree 1: missing 'cat_boundaries'");
    refused("num_cat=0", "num_cat=0\nis_linear=1", "file: tree 1: unsupported linear leaves");
    refused("decision_type=2", "decision_type=3",
            "file: tree 1: a categorical split by set 0.5, but num_cat is 0");
    refused("decision_type=2", "decision_type=14",
            "file: tree 1: an unknown type of missing values (decision_type 14)");
    refused("decision_type=2", "decision_type=4",
            "file: tree 1, node 0 sends 0 right, but larger values left (zero_as_missing)");
    refused("split_feature=1 1", "split_feature=1 2",
            "file: tree 1: 'split_feature': expected whole numbers from 0 to 1");
    refused("split_feature=1 1", "split_feature=1",
            "file: tree 1: 'split_feature' has too few numbers");
    refused("split_feature=1 1", "split_feature=1 1 1",
            "file: tree 1: 'split_feature' has too many numbers");
    refused("split_feature=1 1\n", "", "file: tree 1: missing 'split_feature'");
    refused("threshold=0.5", "threshold=nan",
            "file: tree 1: 'threshold': 'nan' is not a finite number");
    refused("threshold=0.5", "threshold=inf",
            "file: tree 1: 'threshold': 'inf' is not a finite number");
    refused("left_child=1 -1", "left_child=1 0",
            "file: tree 1, node 1: child 0 has two parents or is above the node");
    refused("left_child=1 -1", "left_child=1 1",
            "file: tree 1, node 1: child 1 has two parents or is above the node");
    refused("right_child=-2 -3", "right_child=-2 -2",
            "file: tree 1, node 1: child 3 has two parents or is above the node");
    refused("right_child=-2 -3", "right_child=-2 -4",
            "file: tree 1: 'right_child': expected whole numbers from -3 to 1");
    refused("leaf_value=-1.25", "leaf_value=1e39",
            "file: tree 1, node 2: the leaf value does not fit a float");
}

/* The counts of a file that has some: those of leaves, NULL if they are not taken. */
static void counts_are(const char *lines, const double *docs, const char *what)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    char text[1024];
    snprintf(text, sizeof(text), HEAD "tree_sizes=1\n\n" TREE "%s" END, lines);
    cr_assert_eq(convert_read(ctx, text, strlen(text), convert_format("lightgbm"), -1, &model),
                 RW_OK, "%s: %s", what, rw_last_error(ctx));
    cr_assert_eq(model->tree[0].docs != NULL, docs != NULL, "%s", what);
    for (int i = 0; docs && i < 3; i++)
        cr_assert_eq(model->tree[0].docs[i], docs[i], "%s", what);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(to_lightgbm, counts)
{
    const double docs[] = {30, 0, 2};
    counts_are("", NULL, "no counts");
    counts_are("leaf_count=30 0 2\ninternal_count=32 2\n", docs, "counts");
    counts_are("leaf_weight=1.5 -1 1e300\nleaf_count=30 0 2\n", docs, "counts and any weights");
    counts_are("leaf_weight=1 2 3\n", NULL, "weights alone");
    counts_are("leaf_count=0 0 0\n", NULL, "no documents");
    counts_are("leaf_count=30 -1 2\n", NULL, "a count below 0");
    counts_are("leaf_count=30 1e300 2\n", NULL, "a count beyond 2^53");
    refused("leaf_value=", "leaf_count=30 2\nleaf_value=",
            "file: tree 1: 'leaf_count' has too few numbers");
    refused("leaf_value=", "leaf_count=30 2 3 4\nleaf_value=",
            "file: tree 1: 'leaf_count' has too many numbers");
    refused("leaf_value=", "leaf_count=30 2 nan\nleaf_value=",
            "file: tree 1: 'leaf_count': 'nan' is not a finite number");
}

/* Whole numbers whose sums are those of the splits; others keep their ratios. */
Test(to_lightgbm, written_counts)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model;
    static const char tree[] = HEAD "tree_sizes=1\n\n" TREE "leaf_count=1 1 1\n" END;
    static const struct {
        double docs[3];
        const char *text;
    } cases[] = {{{30, 0, 2}, "leaf_count=30 1 2\ninternal_weight=0.0 0.0\ninternal_count=33 32\n"},
                 {{0.2, 1.6, 7.4},
                  "leaf_count=11671107 93368854 431830950\ninternal_weight=0.0 0.0\n"
                  "internal_count=536870911 443502057\n"},
                 {{4e9, 1, 4e9},
                  "leaf_count=268435455 1 268435455\ninternal_weight=0.0 0.0\n"
                  "internal_count=536870911 536870910\n"}};
    cr_assert_eq(convert_read(ctx, tree, strlen(tree), convert_format("lightgbm"), -1, &model),
                 RW_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t n;
        memcpy(model->tree[0].docs, cases[i].docs, sizeof(cases[i].docs));
        char *text = convert_write(ctx, model, convert_format("lightgbm"), -1, &n);
        cr_assert_not_null(strstr(text, cases[i].text), "expected %s in %s", cases[i].text, text);
        rw_mem_free(text);
    }
    rw_model_free(model);
    rw_ctx_free(ctx);
}
