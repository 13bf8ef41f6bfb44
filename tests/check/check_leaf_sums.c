/* leaf_sums: of complete trees, and of trees whose inner nodes act as leaves. */
#include <stdlib.h>

#include "check.h"

void check_sums_of(struct check_run *run, const int32_t *leaf_slot, int n)
{
    struct rw_sum *out[2];
    int status[2];
    for (int side = 0; side < 2; side++) {
        out[side] = check_buffer((size_t)n, sizeof(**out), side);
        status[side] = rw_engine_leaf_sums(side ? run->engine : run->ref, leaf_slot, n, out[side]);
    }
    check_status(run, OP_LEAF_SUMS, status[0], status[1]);
    for (int i = 0; i < n && status[0] >= 0 && status[1] >= 0; i++)
        check_that(run, OP_LEAF_SUMS, check_same_sum(&out[0][i], &out[1][i]),
                   "slot %d: %llu documents, ref has %llu", leaf_slot[i],
                   (unsigned long long)out[1][i].n, (unsigned long long)out[0][i].n);
    check_that(run, OP_LEAF_SUMS, check_fences(out[1], (size_t)n, sizeof(**out)),
               "sums: written past their end");
    check_free(out[0]);
    check_free(out[1]);
}

void check_leaf_sums(struct check_run *run)
{
    int32_t *leaf = calloc(run->c->rules.max_slots, sizeof(*leaf));
    int32_t *stack = calloc(run->c->rules.max_slots, sizeof(*stack));
    if (!leaf || !stack)
        abort();
    const double whole = check_chance(&run->random, 0.5) ? 0.0 : 0.3, left_out = whole / 4;
    int n = 0, n_stack = 1;
    while (n_stack > 0) {
        const struct check_node *node = &run->node[stack[--n_stack]];
        if (node->split >= 0 && !check_chance(&run->random, whole)) {
            stack[n_stack++] = node->right;
            stack[n_stack++] = node->left;
        } else if (!check_chance(&run->random, left_out)) {
            leaf[n++] = node->slot;
        }
    }
    check_sums_of(run, leaf, n);
    free(leaf);
    free(stack);
}
