#include "model_fixture.h"

static struct rw_ctx *ctx;
static struct rw_tree tree;

/* 0 -> (1, leaf 2), 1 -> (leaf 0, leaf 1) */
static void setup(void)
{
    ctx = fixture_ctx();
    cr_assert_eq(rw_tree_init(ctx, &tree, 3), RW_OK);
    tree.left[0] = 1;
    tree.right[0] = ~2;
    tree.left[1] = ~0;
    tree.right[1] = ~1;
    tree.feature[0] = 2;
    tree.cut[0] = 0.5f;
    tree.missing_left[1] = 1;
}

static void teardown(void)
{
    rw_tree_release(&tree);
    rw_ctx_free(ctx);
}

TestSuite(tree, .init = setup, .fini = teardown);

static void refused(const char *expected)
{
    cr_assert_eq(rw_tree_check(ctx, &tree, ""), RW_ERR_FORMAT, "accepted: %s", expected);
    cr_assert_str_eq(rw_last_error(ctx), expected);
}

Test(tree, a_tree_is_accepted)
{
    cr_assert_eq(rw_tree_check(ctx, &tree, ""), RW_OK);
}

Test(tree, one_leaf)
{
    struct rw_tree leaf;
    cr_assert_eq(rw_tree_init(ctx, &leaf, 1), RW_OK);
    cr_assert_eq(rw_tree_check(ctx, &leaf, ""), RW_OK);
    cr_assert_eq(rw_tree_leaf(&leaf, NULL, 0, 0.0f), 0);
    leaf.leaf[0] = INFINITY;
    cr_assert_eq(rw_tree_check(ctx, &leaf, ""), RW_ERR_FORMAT);
    rw_tree_release(&leaf);
}

Test(tree, no_leaf)
{
    struct rw_tree none;
    cr_assert_eq(rw_tree_init(ctx, &none, 0), RW_ERR_ARGUMENT);
    cr_assert_null(none.left);
    cr_assert_eq(rw_tree_check(ctx, &none, ""), RW_ERR_FORMAT);
    rw_tree_release(&none);
}

Test(tree, init_survives_every_failed_allocation)
{
    struct rw_tree other;
    rw_mem_fail_from(1);
    cr_assert_eq(rw_tree_init(ctx, &other, 4), RW_ERR_MEMORY);
    cr_assert_null(other.leaf);
    cr_assert_eq(rw_tree_check(ctx, &tree, ""), RW_ERR_MEMORY);
    rw_mem_fail_from(0);
}

Test(tree, child_out_of_range)
{
    tree.left[0] = 2;
    refused("node 0: its left child is node 2; expected one below 2");
    tree.left[0] = INT32_MAX;
    refused("node 0: its left child is node 2147483647; expected one below 2");
    tree.left[0] = 1;
    tree.right[1] = ~3;
    refused("node 1: its right child is leaf 3; expected one below 3");
    tree.right[1] = INT32_MIN;
    refused("node 1: its right child is leaf 2147483647; expected one below 3");
}

Test(tree, cycles)
{
    tree.right[1] = 0;
    refused("node 1: its right child is node 0; expected a larger number");
    tree.right[1] = 1;
    refused("node 1: its right child is node 1; expected a larger number");
}

Test(tree, reached_twice_or_never)
{
    tree.right[0] = 1;
    refused("node 0: its right child is node 1, which has a parent already");
    tree.right[0] = ~2;
    tree.right[1] = ~0;
    refused("node 1: its right child is leaf 0, which has a parent already");
    tree.right[1] = ~1;
    tree.left[0] = ~1;
    refused("node 1: no earlier node has it as a child");
}

Test(tree, invalid_numbers)
{
    tree.cut[1] = NAN;
    refused("node 1: its threshold is not a finite number");
    tree.cut[1] = -INFINITY;
    refused("node 1: its threshold is not a finite number");
    tree.cut[1] = 0;
    tree.gain[0] = NAN;
    refused("node 0: its gain is not a finite number");
    tree.gain[0] = 0;
    tree.leaf[2] = NAN;
    refused("leaf 2: not a finite number");
    tree.leaf[2] = 0;
    tree.feature[0] = 65536;
    refused("node 0: feature 65536; expected at most 65535");
    tree.feature[0] = 65535;
    tree.missing_left[0] = 2;
    refused("node 0: missing goes neither left nor right");
}

Test(tree, routes)
{
    const float nan = rw_float_of_bits(RW_MISSING_BITS);
    float values[3] = {0, 0, 0.5f};
    tree.feature[1] = 0;
    cr_assert_eq(rw_tree_leaf(&tree, values, 3, 0.0f), 0, "equal to both cuts: left, left");
    values[0] = -0.0f;
    cr_assert_eq(rw_tree_leaf(&tree, values, 3, 0.0f), 0, "-0 is 0");
    values[0] = nextafterf(0.0f, 1.0f);
    cr_assert_eq(rw_tree_leaf(&tree, values, 3, 0.0f), 1);
    values[0] = nan;
    cr_assert_eq(rw_tree_leaf(&tree, values, 3, 0.0f), 0, "missing goes left at node 1");
    values[2] = nan;
    cr_assert_eq(rw_tree_leaf(&tree, values, 3, 0.0f), 2, "missing goes right at node 0");
    values[0] = 1;
    cr_assert_eq(rw_tree_leaf(&tree, values, 2, 0.0f), 1, "past the end: absent, 0");
    cr_assert_eq(rw_tree_leaf(&tree, values, 2, nan), 2, "past the end: absent, missing");
}

Test(tree, random_trees_are_trees)
{
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct rw_tree other;
        fixture_tree(ctx, &other, (int32_t)(seed % 40) + 1, 5, seed);
        cr_assert_eq(rw_tree_check(ctx, &other, ""), RW_OK, "%s", rw_last_error(ctx));
        rw_tree_release(&other);
    }
}

Test(tree, covers)
{
    struct rw_tree copy;
    cr_assert_eq(rw_tree_copy(ctx, &tree, &copy), RW_OK);
    cr_assert(!copy.docs && !copy.hessian);
    rw_tree_release(&copy);
    cr_assert_eq(rw_tree_add_covers(ctx, &tree), RW_OK);
    tree.docs[1] = 7;
    tree.hessian[2] = 0.5f;
    cr_assert_eq(rw_tree_add_covers(ctx, &tree), RW_OK);
    cr_assert_eq(rw_tree_check(ctx, &tree, ""), RW_OK);
    for (int i = 1; i <= 3; i++) {
        rw_mem_fail_from(i);
        cr_assert_eq(rw_tree_copy(ctx, &tree, &copy), RW_ERR_MEMORY);
        cr_assert(!copy.leaf && !copy.docs);
    }
    rw_mem_fail_from(0);
    cr_assert_eq(rw_tree_copy(ctx, &tree, &copy), RW_OK);
    cr_assert(copy.docs[0] == 0 && copy.docs[1] == 7 && copy.hessian[2] == 0.5f);
    rw_tree_release(&copy);
    static const double bad[] = {-1.0, NAN, INFINITY};
    for (int i = 0; i < 3; i++) {
        tree.docs[1] = bad[i];
        refused("leaf 1: its documents are not a number from 0 to 2^53");
        tree.docs[1] = 0;
        tree.hessian[2] = (float)bad[i];
        refused("leaf 2: its hessian is not a finite number, 0 or more");
        tree.hessian[2] = 0;
    }
}
