/* Models of other programs' trees: checks, numbers of nodes, the base score. */
#include <float.h>
#include <math.h>

#include "convert_fixture.h"

static struct rw_ensemble chain(struct rw_ctx *ctx, int reversed)
{
    struct rw_ensemble e = {0};
    struct rw_source source = {.ctx = ctx, .out = &e};
    struct rw_ens_tree *tree = rw_add_tree(&source, 5);
    cr_assert_eq(source.status, RW_OK);
    for (int i = 0; i < 5; i++)
        tree->node[i] = (struct rw_ens_node){.left = -1, .right = -1, .value = i};
    const int second = reversed ? 4 : 1;
    tree->node[0] =
        (struct rw_ens_node){.left = second, .right = 2, .column = 3, .threshold = 1, .less = 1};
    tree->node[second] = (struct rw_ens_node){.left = 3,
                                              .right = reversed ? 1 : 4,
                                              .column = 1,
                                              .threshold = -1,
                                              .less = 1,
                                              .nan = RW_NAN_LEFT};
    return e;
}

static struct rw_model *raised(struct rw_ctx *ctx, const struct rw_ensemble *e)
{
    struct rw_model *model;
    cr_assert_eq(rw_ensemble_check(ctx, e, "file"), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_raise(ctx, e, convert_format("xgboost"), -1, "file", &model), RW_OK, "%s",
                 rw_last_error(ctx));
    return model;
}

Test(raise, any_order_of_nodes)
{
    struct rw_ctx *ctx = fixture_ctx();
    for (int reversed = 0; reversed < 2; reversed++) {
        struct rw_ensemble e = chain(ctx, reversed);
        struct rw_model *model = raised(ctx, &e);
        const float values[4] = {0, -5, 0, 0}, right[4] = {0, 0, 0, 5}, last[4] = {0, 0, 0, 0};
        cr_assert_eq(model->tree[0].n_leaves, 3);
        cr_assert_eq(rw_predict_one(model, values, 4), 3);
        cr_assert_eq(rw_predict_one(model, right, 4), 2);
        cr_assert_eq(rw_predict_one(model, last, 4), reversed ? 1 : 4);
        cr_assert_eq(model->absent_missing, 1);
        cr_assert_eq(model->n_features,
                     4); /* the file does not count them: up to the last in use */
        rw_model_free(model);
        rw_ensemble_release(&e);
    }
    rw_ctx_free(ctx);
}

Test(raise, a_base_score_is_a_first_tree)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_ensemble e = chain(ctx, 0);
    e.base = 0.5;
    e.tree[0].weight = 0.5;
    struct rw_model *model = raised(ctx, &e);
    const float right[4] = {0, 0, 0, 5};
    cr_assert_eq(model->n_trees, 2);
    cr_assert_eq(rw_predict_one(model, right, 4), 1.5);
    rw_model_free(model);
    rw_ensemble_release(&e);
    rw_ctx_free(ctx);
}

Test(raise, an_unreachable_node)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_ensemble e = chain(ctx, 0);
    e.tree[0].node[0].left = 3; /* XGBoost leaves deleted nodes where they were */
    struct rw_model *model = raised(ctx, &e);
    cr_assert_eq(model->tree[0].n_leaves, 2);
    rw_model_free(model);
    rw_ensemble_release(&e);
    rw_ctx_free(ctx);
}

static void checked(const struct rw_ensemble *e)
{
    struct rw_ctx *ctx = fixture_ctx();
    cr_expect_eq(rw_ensemble_check(ctx, e, "file"), RW_OK, "%s", rw_last_error(ctx));
    rw_ctx_free(ctx);
}

static void wrong(const struct rw_ensemble *e, const char *message)
{
    struct rw_ctx *ctx = fixture_ctx();
    cr_assert_eq(rw_ensemble_check(ctx, e, "file"), RW_ERR_FORMAT, "expected: %s", message);
    cr_assert_str_eq(rw_last_error(ctx), message);
    rw_ctx_free(ctx);
}

Test(raise, invalid_trees)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_ensemble e = chain(ctx, 0);
    struct rw_ens_node *node = e.tree[0].node, kept;
    kept = node[1];
    node[1].left = 0;
    wrong(&e, "file: tree 1, node 1: child 0 has two parents or is above the node");
    node[1].left = 2;
    wrong(&e, "file: tree 1, node 1: child 2 has two parents or is above the node");
    node[1].left = 5;
    wrong(&e, "file: tree 1, node 1: child 5 does not exist");
    node[1] = kept;
    node[1].right = -7;
    wrong(&e, "file: tree 1, node 1: child -7 does not exist");
    node[1] = kept;
    node[1].threshold = NAN;
    wrong(&e, "file: tree 1, node 1: the threshold is NaN");
    node[1] = kept;
    node[3].value = INFINITY;
    wrong(&e, "file: tree 1, node 3: the leaf value does not fit a float");
    node[3].value = 1e39;
    wrong(&e, "file: tree 1, node 3: the leaf value does not fit a float");
    const double middle = 0x1.ffffffp127; /* of the largest float and 2^128 */
    for (int sign = -1; sign <= 1; sign += 2) {
        node[3].value = sign * middle;
        wrong(&e, "file: tree 1, node 3: the leaf value does not fit a float");
        node[3].value = sign * nextafter(middle, 0);
        checked(&e);
        node[3].value = sign * (double)FLT_MAX;
        checked(&e);
    }
    node[3].value = 1;
    e.tree[0].weight = NAN;
    wrong(&e, "file: tree 1: the weight is not a number");
    e.tree[0].weight = 1;
    e.base = NAN;
    wrong(&e, "file: the base score is not a number");
    rw_ensemble_release(&e);
    rw_ctx_free(ctx);
}

Test(raise, a_feature_id_beyond_the_limit)
{
    struct rw_ctx *ctx = fixture_ctx();
    struct rw_ensemble e = chain(ctx, 0);
    struct rw_model *model;
    e.tree[0].node[1].column = 65536;
    cr_assert_eq(rw_raise(ctx, &e, convert_format("xgboost"), -1, "file", &model), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(ctx),
                     "file: tree 1, node 1: feature 65536; expected 0 to 65535");
    e.tree[0].node[1].column = 0;
    cr_assert_eq(rw_raise(ctx, &e, convert_format("ranklib"), -1, "file", &model), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(ctx), "file: tree 1, node 1: feature 0; expected 1 to 65535");
    rw_ensemble_release(&e);
    rw_ctx_free(ctx);
}
