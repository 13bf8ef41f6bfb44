#include "model_fixture.h"

static const char body[] =
    "rankwood model 1\nabsent zero\nbest-round 1\n\n"
    "params 2\nleaves = 3\nignore =\n\n"
    "features 3\n0-1\n9\n\n"
    "names 2\n1 first\n9 last one\n\n"
    "metrics 1 rounds 1\nmetric valid1 ndcg@10\n1 0.5\n\n"
    "trees 1\n\ntree 1 leaves 2\n"
    "node 0 feature 1 <= 2 left leaf 0 right leaf 1 missing left gain 7 # first\n"
    "leaf 0 1\nleaf 1 -1\n\n";

static struct rw_ctx *ctx;
static struct rw_model *model;

static void setup(void)
{
    ctx = fixture_ctx();
    model = fixture_model(ctx, body);
}

static void teardown(void)
{
    rw_model_free(model);
    rw_ctx_free(ctx);
}

TestSuite(model, .init = setup, .fini = teardown);

Test(model, free_takes_null)
{
    rw_model_free(NULL);
}

Test(model, looks_inside)
{
    cr_assert_eq(rw_model_n_trees(model), 1);
    const struct rw_model_info info = rw_model_info(model);
    cr_assert(info.best_round == 1 && info.n_runs == 1 && info.n_categorical == 0);
    const struct rw_run_view run = rw_model_run(model, 0);
    cr_assert(run.n_trees == 1 && run.n_params == 2);
    cr_assert_str_eq(run.params[0].name, "leaves");
    cr_assert_str_eq(run.params[0].value, "3");
    cr_assert_str_eq(run.params[1].name, "ignore");
    cr_assert_str_eq(run.params[1].value, "");
    const struct rw_tree_view tree = rw_model_tree(model, 0);
    cr_assert_eq(tree.n_leaves, 2);
    cr_assert(tree.left[0] == ~0 && tree.right[0] == ~1 && tree.feature[0] == 1 &&
              tree.cut[0] == 2.0f && tree.missing_left[0] == 1 && tree.gain[0] == 7.0);
    cr_assert(tree.leaf[1] == -1.0f && !tree.by_category);
}

Test(model, out_of_range_is_nothing)
{
    cr_assert_eq(rw_model_tree(model, 1).n_leaves, 0);
    cr_assert_eq(rw_model_tree(model, -1).n_leaves, 0);
    cr_assert_eq(rw_model_run(model, 1).n_params, 0);
    cr_assert_eq(rw_model_run(model, -1).n_params, 0);
    cr_assert_eq(rw_model_categorical(model, 0).n_words, 0u);
}

Test(model, names_of_features)
{
    cr_assert_str_eq(rw_model_feature_name(model, 1), "first");
    cr_assert_str_eq(rw_model_feature_name(model, 9), "last one");
    cr_assert_str_eq(rw_model_feature_name(model, 0), "");
    cr_assert_str_eq(rw_model_feature_name(model, 10), "");
}

static void refused(const char *expected)
{
    cr_assert_eq(rw_model_check(ctx, model), RW_ERR_FORMAT, "accepted: %s", expected);
    cr_assert_str_eq(rw_last_error(ctx), expected);
}

Test(model, checks)
{
    cr_assert_eq(rw_model_check(ctx, model), RW_OK);
    model->tree[0].cut[0] = NAN;
    refused("tree 1: node 0: its threshold is not a finite number");
    model->tree[0].cut[0] = 0;
    model->feature[2] = 1;
    refused("feature 1: expected ids that ascend up to 65535");
    model->feature[2] = 65536;
    refused("feature 65536: expected ids that ascend up to 65535");
    model->feature[2] = 65535;
    model->name[1].feature = 1;
    refused("name of feature 1: expected ids that ascend up to 65535");
    model->name[1].feature = 2;
    model->name[1].name[0] = 0;
    refused("the name of feature 2 is empty");
    model->name[1].name[0] = 'x';
    rw_mem_free(model->params.param[1].value);
    cr_assert_eq(rw_mem_copy_text(ctx, &model->params.param[1].value, "auto 7"), RW_OK);
    refused("parameter 'ignore': a value that the user set must not begin with 'auto '");
    model->params.param[1].is_auto = 1;
    cr_assert_eq(rw_model_check(ctx, model), RW_OK);
}
