/* The grower on both engines: the same tree, whatever the growth. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "tree/grower.h"

static int same_sets(const struct rw_tree *a, const struct rw_tree *b)
{
    const size_t n = (size_t)a->n_leaves - 1;
    if (!a->by_set || !b->by_set)
        return !a->by_set && !b->by_set;
    return memcmp(a->by_set, b->by_set, n) == 0 && memcmp(a->set, b->set, n * sizeof(*a->set)) == 0;
}

static int same_trees(const struct rw_tree *a, const struct rw_tree *b)
{
    const size_t n = (size_t)a->n_leaves - 1;
    return a->n_leaves == b->n_leaves && memcmp(a->left, b->left, n * sizeof(*a->left)) == 0 &&
           memcmp(a->right, b->right, n * sizeof(*a->right)) == 0 &&
           memcmp(a->feature, b->feature, n * sizeof(*a->feature)) == 0 &&
           memcmp(a->cut, b->cut, n * sizeof(*a->cut)) == 0 &&
           memcmp(a->missing_left, b->missing_left, n) == 0 &&
           memcmp(a->gain, b->gain, n * sizeof(*a->gain)) == 0 && same_sets(a, b) &&
           memcmp(a->leaf, b->leaf, (n + 1) * sizeof(*a->leaf)) == 0;
}

static void add_to_sets(struct check_run *run, const struct rw_tree *tree, int32_t **leaf_slot)
{
    for (int set = 0; set < run->c->n_sets; set++)
        check_status(run, OP_GROW,
                     rw_engine_add_tree(run->ref, set, tree, set == 0 ? leaf_slot[0] : NULL),
                     rw_engine_add_tree(run->engine, set, tree, set == 0 ? leaf_slot[1] : NULL));
}

void check_grow(struct check_run *run, uint32_t tree_number)
{
    static const int32_t batches[] = {1, 1, 2, 5, 64};
    const int32_t batch = batches[check_below(&run->random, 5)];
    struct rw_grow_rules rules = {.leaves = (int32_t)(run->c->rules.max_slots + 1) / 2,
                                  .batch = batch,
                                  .depth = (int32_t)check_below(&run->random, 4),
                                  .min_docs = run->c->rules.min_docs,
                                  .rate = 0.1,
                                  .monotone = run->c->rules.monotone,
                                  .l2 = check_chance(&run->random, 0.5) ? 100.0 : 0.0};
    if (rules.leaves >= 4 && check_chance(&run->random, 0.3)) {
        rules.levels = 1;
        rules.depth = 2;
    }
    if (run->c->spec.symmetric) {
        if (rules.leaves < 4)
            return;
        rules.levels = rules.symmetric = 1;
        rules.depth = 1;
        while (2u << (rules.depth + 1) <= run->c->rules.max_slots + 1 &&
               2u << rules.depth <= 2 * rw_rules_histograms(&run->c->rules))
            rules.depth++;
    }
    while (!rules.symmetric && rules.leaves > 1 &&
           (rw_grow_max_slots(&rules) > run->c->rules.max_slots ||
            rw_grow_max_histograms(&rules) > rw_rules_histograms(&run->c->rules)))
        rules.leaves--; /* batches take more of both */
    struct rw_tree tree[2] = {{0}, {0}};
    int32_t *leaf_slot[2];
    int status[2] = {RW_ERR_MEMORY, RW_ERR_MEMORY};
    for (int side = 0; side < 2; side++) {
        struct rw_grower *grower;
        rules.batch = side ? batch : 1; /* ref grows a node at a time */
        struct rw_grow_times times;
        leaf_slot[side] = check_buffer(run->c->rules.max_slots, sizeof(int32_t), side);
        if (rw_grower_new(side ? run->ctx : run->ref_ctx, &rules, &grower) < 0)
            continue;
        status[side] = rw_grower_grow(grower, side ? run->engine : run->ref, tree_number,
                                      &tree[side], leaf_slot[side], &times);
        rw_free(grower);
    }
    if (check_status(run, OP_GROW, status[0], status[1]) && status[0] >= 0) {
        const size_t n_leaves = (size_t)tree[0].n_leaves;
        const int same =
            check_that(run, OP_GROW, same_trees(&tree[0], &tree[1]),
                       "tree %u, batches of %d: %d leaves, ref has %d, or other splits",
                       tree_number, batch, tree[1].n_leaves, tree[0].n_leaves);
        if (same &&
            check_that(run, OP_GROW,
                       (batch > 1 && !rules.levels) ||
                           memcmp(leaf_slot[0], leaf_slot[1], n_leaves * sizeof(int32_t)) == 0,
                       "slots of leaves"))
            add_to_sets(run, &tree[0], leaf_slot);
    }
    for (int side = 0; side < 2; side++) {
        rw_tree_release(&tree[side]);
        check_free(leaf_slot[side]);
    }
}
