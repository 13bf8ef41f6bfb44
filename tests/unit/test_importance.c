#include "model_looks.h"
#include "model_fixture.h"

static const char body[] =
    "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 4\n1\n3\n5\n65535\n\n"
    "names 1\n5 five\n\nmetrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 4\n"
    "node 0 feature 65535 <= 2 left node 1 right node 2 missing left gain 1.5\n"
    "node 1 feature 5 <= 2 left leaf 0 right leaf 1 missing left gain 4 # five\n"
    "node 2 feature 3 <= 2 left leaf 2 right leaf 3 missing left gain 3\n"
    "leaf 0 1\nleaf 1 -1\nleaf 2 0\nleaf 3 0\n\ntree 2 leaves 2\n"
    "node 0 feature 65535 <= 2 left leaf 0 right leaf 1 missing left gain 1.5\n"
    "leaf 0 1\nleaf 1 -1\n\n";

Test(importance, by_falling_gain_then_id)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, body);
    struct rw_feature_use uses[3];
    cr_assert_eq(rw_model_features(model, uses, 3), 3);
    cr_assert(uses[0].feature == 5 && uses[0].gain == 4.0 && uses[0].n_splits == 1);
    cr_assert_str_eq(uses[0].name, "five");
    cr_assert(uses[1].feature == 3 && uses[1].gain == 3.0 && uses[1].n_splits == 1);
    cr_assert_str_eq(uses[1].name, "");
    cr_assert(uses[2].feature == 65535 && uses[2].gain == 3.0 && uses[2].n_splits == 2);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(importance, writes_no_more_than_there_is_room_for)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_model(ctx, body);
    struct rw_feature_use uses[2] = {{.feature = 77}, {.feature = 77}};
    cr_assert_eq(rw_model_features(model, NULL, 0), 3);
    cr_assert_eq(rw_model_features(model, uses, 1), 3);
    cr_assert(uses[0].feature == 5 && uses[1].feature == 77);
    rw_mem_fail_from(1);
    cr_assert_eq(rw_model_features(model, uses, 1), RW_ERR_MEMORY);
    rw_mem_fail_from(0);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(importance, sums_agree_with_the_trees)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 20, 31, 10, 5);
    struct rw_feature_use uses[10];
    const int n = rw_model_features(model, uses, 10);
    uint64_t n_splits = 0, n_nodes = 0;
    for (int i = 0; i < n; i++) {
        n_splits += uses[i].n_splits;
        cr_assert(i == 0 || uses[i].gain <= uses[i - 1].gain);
    }
    for (int i = 0; i < 20; i++)
        n_nodes += (uint64_t)n_leaves_of(model, i) - 1;
    cr_assert_eq(n_splits, n_nodes);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

Test(importance, nothing_in_use)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_model *model = fixture_random_model(ctx, 0, 1, 1, 5);
    cr_assert_eq(rw_model_features(model, NULL, 0), 0);
    rw_model_free(model);
    rw_ctx_free(ctx);
}
