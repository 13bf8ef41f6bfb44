/* Models whose nodes are all looked at; check_predict compares scores of made models. */
#include <float.h>

#include "model/scorer.h"
#include "model_fixture.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(single_lanes, .init = setup, .fini = teardown);

/* NULL: refused. */
static struct rw_lanes *lanes_of(const struct rw_model *model, enum rw_isa isa)
{
    struct rw_flat flat;
    struct rw_lanes *lanes;
    cr_assert_eq(rw_flat_init(ctx, &flat, model, 0), RW_OK);
    cr_assert_eq(rw_lanes_new(ctx, &flat, isa, &lanes), RW_OK);
    rw_flat_release(&flat);
    return lanes;
}

/* Trees of two leaves. */
static struct rw_model *stumps(int32_t n_trees)
{
    struct rw_model *model = fixture_random_model(ctx, 0, 2, 1, 1);
    rw_mem_free(model->tree);
    cr_assert_eq(RW_NEW(ctx, model->tree, (size_t)n_trees), RW_OK);
    model->n_trees = n_trees;
    for (int32_t i = 0; i < n_trees; i++)
        fixture_tree(ctx, &model->tree[i], 2, 1, (uint64_t)i);
    return model;
}

/* One node per tree: feature 1, thresholds 0.5, 1.5, ..., leaves 0 and 1. */
static struct rw_model *ruler(int32_t n_cuts)
{
    struct rw_model *model = stumps(n_cuts);
    for (int32_t i = 0; i < n_cuts; i++) {
        const int32_t at = (int32_t)((int64_t)i * 7919 % n_cuts); /* a prime: in another order */
        model->tree[i].cut[0] = (float)at + 0.5f;
        model->tree[i].missing_left[0] = i % 3 == 0;
        model->tree[i].leaf[~model->tree[i].left[0]] = 0.0f;
        model->tree[i].leaf[~model->tree[i].right[0]] = 1.0f;
    }
    return model;
}

Test(single_lanes, counts_the_thresholds_below_a_value)
{
    static const int32_t numbers[] = {1,   15,  16,  17,  63,  64,  65,  239, 240,
                                      253, 254, 255, 256, 257, 508, 509, 1000};
    for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]); k++) {
        const int32_t n = numbers[k];
        struct rw_model *model = ruler(n);
        for (int isa = RW_ISA_AVX2; isa <= (int)rw_isa(); isa++) {
            struct rw_lanes *lanes = lanes_of(model, (enum rw_isa)isa);
            cr_assert_not_null(lanes);
            cr_assert_eq(lanes->n_columns, ((uint32_t)n + 253) / 254);
            for (int32_t i = 0; i < n; i++) {
                const float cut = (float)i + 0.5f, above = nextafterf(cut, INFINITY);
                cr_assert_eq(lanes->score(lanes, &cut, 1, 1), i);
                cr_assert_eq(lanes->score(lanes, &above, 1, 1), i + 1);
            }
            const float odd[] = {-INFINITY, INFINITY, NAN};
            cr_assert_eq(lanes->score(lanes, &odd[0], 1, 1), 0);
            cr_assert_eq(lanes->score(lanes, &odd[1], 1, 1), n);
            cr_assert_eq(lanes->score(lanes, &odd[2], 1, 1), n - (n + 2) / 3);
            cr_assert_eq(lanes->score(lanes, odd, 3, 2), 0, "absent: 0");
            rw_result_free(lanes);
        }
        rw_model_free(model);
    }
}

/* The last node of a tree, and the last of 256 columns. */
Test(single_lanes, models_at_the_limits)
{
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        for (int over = 0; over < 2; over++) {
            struct rw_model *leaves = fixture_random_model(ctx, 3, 256 + over, 4, 5);
            struct rw_model *features = stumps(257);
            struct rw_model *none = fixture_random_model(ctx, 5, 1, 1, 7);
            for (int32_t i = 0; i < 257; i++)
                features->tree[i].feature[0] = (uint32_t)(i < 256 ? i : 255 + over) * 3;
            const int is_there = isa != RW_ISA_PLAIN && !over;
            struct rw_lanes *lanes[] = {lanes_of(leaves, (enum rw_isa)isa),
                                        lanes_of(features, (enum rw_isa)isa),
                                        lanes_of(none, (enum rw_isa)isa)};
            cr_assert_eq(lanes[0] != NULL, is_there);
            cr_assert_eq(lanes[1] != NULL, is_there);
            cr_assert_null(lanes[2]);
            for (uint32_t doc = 0; is_there && doc < 300; doc++) {
                float values[768];
                for (uint32_t f = 0; f < 768; f++)
                    values[f] = fixture_value(9, doc, f % 40) + (float)(f / 40 % 3);
                cr_assert_eq(lanes[0]->score(lanes[0], values, 768, 0),
                             rw_predict_one(leaves, values, 768));
                cr_assert_eq(lanes[1]->score(lanes[1], values, 768, 0),
                             rw_predict_one(features, values, 768));
            }
            for (int i = 0; i < 3; i++)
                rw_result_free(lanes[i]);
            rw_model_free(leaves);
            rw_model_free(features);
            rw_model_free(none);
        }
    }
}

static int is_any_order(struct rw_model *model, float a, float b)
{
    for (int32_t i = 0; i < model->n_trees; i++) {
        model->tree[i].leaf[0] = a;
        model->tree[i].leaf[1] = i == 0 ? b : 0.0f;
    }
    struct rw_lanes *lanes = lanes_of(model, rw_isa());
    const int any = lanes->any_order;
    rw_result_free(lanes);
    return any;
}

Test(single_lanes, any_order_only_if_no_sum_rounds)
{
    struct rw_model *model = stumps(2);
    if (rw_isa() == RW_ISA_PLAIN)
        cr_skip_test("this processor has no AVX2");
    cr_assert(is_any_order(model, 0.0f, -0.0f));
    cr_assert(is_any_order(model, 1.0f, -0.1f));
    cr_assert(is_any_order(model, 1.0f, 0x1p-50f));
    cr_assert_not(is_any_order(model, 1.0f, -0x1p-52f));
    cr_assert(is_any_order(model, 1.0f, 0x1.000002p-27f), "its last bit is 2^-50");
    cr_assert_not(is_any_order(model, 1.0f, 0x1.000002p-29f), "its last bit is 2^-52");
    cr_assert(is_any_order(model, FLT_TRUE_MIN, 0x1p-99f));
    cr_assert_not(is_any_order(model, 0x1p-96f, 3 * FLT_TRUE_MIN));
    cr_assert(is_any_order(model, FLT_MAX, 1e30f));
    cr_assert_not(is_any_order(model, FLT_MAX, 1.0f));
    rw_model_free(model);
}

static int pays(int32_t n_trees, int32_t n_leaves, enum rw_isa isa)
{
    struct rw_flat flat;
    struct rw_model *model = fixture_random_model(ctx, n_trees, n_leaves, 50, 1);
    cr_assert_eq(rw_flat_init(ctx, &flat, model, 0), RW_OK);
    struct rw_single *single;
    cr_assert_eq(rw_single_new(ctx, &flat, isa, &single), RW_OK);
    const int pay = single && single->lanes;
    rw_result_free(single);
    rw_flat_release(&flat);
    rw_model_free(model);
    return pay;
}

Test(single_lanes, pay_for_many_trees)
{
    cr_assert_not(pays(500, 31, RW_ISA_PLAIN));
    if (rw_isa() == RW_ISA_PLAIN)
        cr_skip_test("this processor has no AVX2");
    cr_assert(pays(500, 31, rw_isa()));
    cr_assert_not(pays(1, 31, rw_isa()));
    cr_assert_not(pays(500, 1, rw_isa()), "there is nothing to look at");
    cr_assert_not(pays(20, 257, rw_isa()), "of trees too large");
    cr_assert_not(pays(3, 255, rw_isa()));
    cr_assert_not(pays(500, 255, RW_ISA_AVX2));
}

Test(single_lanes, failed_allocations_leave_nothing)
{
    struct rw_flat flat;
    struct rw_lanes *lanes = NULL;
    struct rw_model *model = fixture_random_model(ctx, 70, 31, 9, 1);
    if (rw_isa() == RW_ISA_PLAIN)
        cr_skip_test("this processor has no AVX2");
    cr_assert_eq(rw_flat_init(ctx, &flat, model, 0), RW_OK);
    int status = RW_ERR_MEMORY;
    for (int i = 1; status != RW_OK; i++) {
        cr_assert_lt(i, 25);
        rw_mem_fail_from(i);
        status = rw_lanes_new(ctx, &flat, rw_isa(), &lanes);
        cr_assert(status == RW_OK ? lanes != NULL : status == RW_ERR_MEMORY && !lanes);
    }
    rw_mem_fail_from(0);
    rw_result_free(lanes);
    rw_flat_release(&flat);
    rw_model_free(model);
}
