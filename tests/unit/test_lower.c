/* Models in other programs' terms: ids, names, directions. */
#include "convert_fixture.h"

static const char two_trees[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\n"
    "features 3\n0\n2-3\n\nnames 2\n2 title\n3 age of page\n\n"
    "metrics 0 rounds 0\n\ntrees 2\n\n"
    "tree 1 leaves 2\n"
    "node 0 feature 2 <= 0.5 left leaf 0 right leaf 1 missing left gain 1 # title\n"
    "leaf 0 -1\nleaf 1 2\n\n"
    "tree 2 leaves 1\nleaf 0 0.25\n\n";

static struct rw_ensemble lowered(struct rw_ctx *ctx, const struct rw_model *model, const char *to,
                                  int base, int lossy)
{
    const struct rw_lowering how = {.base = base, .lossy = lossy};
    struct rw_ensemble out;
    cr_assert_eq(rw_lower(ctx, model, convert_format(to), &how, &out), RW_OK, "%s",
                 rw_last_error(ctx));
    return out;
}

static void refused(const struct rw_model *model, const char *to, int base, const char *message)
{
    struct rw_ctx *ctx = fixture_ctx();
    const struct rw_lowering how = {.base = base, .lossy = 0};
    struct rw_ensemble out;
    cr_assert_eq(rw_lower(ctx, model, convert_format(to), &how, &out), RW_ERR_UNSUPPORTED);
    rw_ensemble_release(&out);
    cr_assert_str_eq(rw_last_error(ctx), message);
    cr_assert_null(out.tree);
    rw_ctx_free(ctx);
}

Test(lower, ids_by_base)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, two_trees);
    const struct {
        const char *to;
        int base;
        uint32_t column, n_columns;
    } cases[] = {{"lightgbm", -1, 2, 4}, {"lightgbm", 0, 2, 4}, {"lightgbm", 1, 1, 3},
                 {"ranklib", -1, 2, 3},  {"ranklib", 1, 2, 3},  {"ranklib", 0, 3, 4}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct rw_ensemble e = lowered(ctx, model, cases[i].to, cases[i].base, 1);
        cr_assert_eq(e.tree[0].node[0].column, cases[i].column, "case %zu", i);
        cr_assert_eq(e.n_columns, cases[i].n_columns, "case %zu", i);
        cr_assert_eq(rw_column_feature(&convert_format(cases[i].to)->consumer[0].rules,
                                       cases[i].base, cases[i].column),
                     2);
        rw_ensemble_release(&e);
    }
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(lower, feature_0_never_is_id_0_where_ids_begin_at_1)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, two_trees);
    model->tree[0].feature[0] = 0;
    refused(model, "ranklib", -1,
            "tree 1, node 0: feature 0 has no id in 'ranklib', whose ids begin at 1\n"
            "hint: --feature-base 0 shifts ids, so that feature 0 is the first");
    refused(model, "xgboost", 1,
            "tree 1, node 0: feature 0 has no id in 'xgboost', whose ids begin at 0\n"
            "hint: --feature-base 1 leaves feature 0 out");
    struct rw_ensemble e = lowered(ctx, model, "quickrank", 0, 0);
    cr_assert_eq(e.tree[0].node[0].column, 1);
    rw_ensemble_release(&e);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(lower, names)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, two_trees);
    refused(model, "lightgbm", -1,
            "the name of feature 3, 'age of page', has a character that 'lightgbm' cannot "
            "represent\nhint: --lossy drops such names");
    struct rw_ensemble e = lowered(ctx, model, "lightgbm", -1, 1);
    cr_assert_str_eq(e.column_name[0], "Column_0");
    cr_assert_str_eq(e.column_name[2], "title");
    cr_assert_str_eq(e.column_name[3], "Column_3");
    cr_assert(e.column_had[0] && !e.column_had[1] && e.column_had[2]);
    rw_ensemble_release(&e);
    e = lowered(ctx, model, "xgboost", -1, 0);
    cr_assert_str_eq(e.column_name[3], "age of page");
    rw_ensemble_release(&e);
    rw_mem_free(model->name[1].name);
    cr_assert_eq(rw_mem_copy_text(ctx, &model->name[1].name, "\xff"), RW_OK);
    refused(model, "vespa", -1,
            "the name of feature 3, '\\xff', has a character that 'vespa' cannot represent\nhint: "
            "--lossy drops such names");
    rw_mem_free(model->name[1].name);
    cr_assert_eq(rw_mem_copy_text(ctx, &model->name[1].name, "f1"), RW_OK);
    refused(model, "xgboost", -1, "two features have the name 'f1'; 'xgboost' needs unique names");
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(lower, directions)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, two_trees);
    struct rw_ensemble e = lowered(ctx, model, "ranklib", -1, 0);
    cr_assert_eq(e.tree[0].node[0].nan, RW_NAN_ZERO);
    rw_ensemble_release(&e);
    model->tree[0].missing_left[0] = 0;
    refused(model, "ranklib", -1,
            "tree 1, node 0: a missing value goes right, but 0 the other way; 'ranklib' cannot "
            "represent this\nhint: --lossy drops such directions");
    e = lowered(ctx, model, "quickrank", -1, 0); /* compares NaN: right */
    rw_ensemble_release(&e);
    e = lowered(ctx, model, "xgboost", -1, 0);
    cr_assert_eq(e.tree[0].node[0].nan, RW_NAN_RIGHT);
    cr_assert_eq(e.tree[0].node[0].threshold, (double)nextafterf(0.5f, 1.0f));
    rw_ensemble_release(&e);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(lower, a_threshold_at_the_largest_float)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, two_trees);
    model->tree[0].cut[0] = 3.4028235e38f;
    struct rw_ensemble plain = lowered(ctx, model, "catboost", -1, 0);
    struct rw_ensemble swapped = lowered(ctx, model, "xgboost", -1, 0);
    const struct rw_ens_node *a = &plain.tree[0].node[0], *b = &swapped.tree[0].node[0];
    cr_assert_eq(b->threshold, -a->threshold);
    cr_assert_eq(b->left, a->right);
    cr_assert_eq(b->right, a->left);
    cr_assert_eq(b->nan == RW_NAN_LEFT, a->nan == RW_NAN_RIGHT);
    rw_ensemble_release(&plain);
    rw_ensemble_release(&swapped);
    rw_model_free(model);
    rw_ctx_free(ctx);
}
