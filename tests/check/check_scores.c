/* add_tree, read_scores and set_scores: a tree just grown is added by the places of its documents,
 * any other by its splits, on every set. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "check.h"
#include "model/model.h"

static float leaf_value(struct check_random *random)
{
    static const float odd[] = {0.0f, 1e-45f, -1e-45f, FLT_MIN, 1e6f, -1e6f, 0x1p-30f};
    if (check_chance(random, 0.1))
        return odd[check_below(random, 7)];
    /* few values: many documents stay tied */
    return check_chance(random, 0.5) ? (float)check_below(random, 3) * 0.25f
                                     : (float)(check_unit(random) * 4.0 - 2.0);
}

/* Leaves in the order of their nodes. */
static int make_tree(struct check_run *run, struct rw_tree *tree, int32_t *leaf_slot)
{
    RW_TRY(rw_tree_init(run->ref_ctx, tree, run->n_splits + 1));
    int32_t n_leaves = 0;
    for (int32_t k = 0; k < run->n_nodes; k++) {
        if (run->node[k].split >= 0)
            continue;
        run->node[k].split = ~n_leaves;
        leaf_slot[n_leaves] = run->node[k].slot;
        tree->leaf[n_leaves++] = leaf_value(&run->random);
    }
    for (int32_t k = 0; k < run->n_nodes; k++) {
        const int32_t s = run->node[k].split;
        if (s < 0)
            continue;
        tree->left[s] = run->node[run->node[k].left].split;
        tree->right[s] = run->node[run->node[k].right].split;
        tree->feature[s] = run->split[s].feature;
        tree->cut[s] = run->split[s].cut;
        tree->missing_left[s] = (uint8_t)run->split[s].missing_left;
        if (run->split[s].is_set) {
            RW_TRY(rw_tree_add_sets(run->ref_ctx, tree));
            tree->by_set[s] = 1;
            tree->set[s] = run->split[s].set;
        }
    }
    return rw_tree_check(run->ref_ctx, tree, "");
}

static void compare(struct check_run *run, int set)
{
    const size_t n = run->ref->n_docs[set];
    double *scores[2] = {check_buffer(n, sizeof(double), 0), check_buffer(n, sizeof(double), 1)};
    check_status(run, OP_SCORES, run->ref->ops->read_scores(run->ref, set, scores[0]),
                 run->engine->ops->read_scores(run->engine, set, scores[1]));
    check_same_bytes(run, OP_SCORES, scores[0], scores[1], n, sizeof(double),
                     set ? "score of a validation set" : "score of the training set");
}

static void add(struct check_run *run, int set, const struct rw_tree *tree,
                const int32_t *leaf_slot)
{
    check_status(run, OP_SCORES, rw_engine_add_tree(run->ref, set, tree, leaf_slot),
                 rw_engine_add_tree(run->engine, set, tree, leaf_slot));
    compare(run, set);
}

/* The scores from which the next tree's gradients are computed. */
static void set_some(struct check_run *run, int set)
{
    const size_t n = run->ref->n_docs[set];
    double *scores = check_buffer(n, sizeof(double), 0);
    for (size_t i = 0; i < n; i++)
        scores[i] = check_chance(&run->random, 0.5) ? (double)check_below(&run->random, 3)
                                                    : check_unit(&run->random) * 0x1p20 - 0x1p19;
    check_status(run, OP_SCORES, rw_engine_set_scores(run->ref, set, scores),
                 rw_engine_set_scores(run->engine, set, scores));
    compare(run, set);
    if (n > 0) { /* refused whole */
        scores[check_below(&run->random, (uint32_t)n)] = (double)NAN;
        check_status(run, OP_SCORES, rw_engine_set_scores(run->ref, set, scores),
                     rw_engine_set_scores(run->engine, set, scores));
        compare(run, set);
    }
    check_free(scores);
}

/* A split that matches no bin boundary of the engine must be refused, and change nothing. */
static void add_foreign(struct check_run *run, struct rw_tree *tree)
{
    const float kept = tree->cut[0];
    tree->cut[0] = 0.123456789f;
    const int status = rw_engine_add_tree(run->engine, 1, tree, NULL);
    const int ref_status = rw_engine_add_tree(run->ref, 1, tree, NULL);
    check_status(run, OP_SCORES, ref_status, status);
    tree->cut[0] = kept;
}

void check_scores(struct check_run *run)
{
    struct rw_tree tree;
    int32_t *leaf_slot = calloc(run->c->rules.max_slots, sizeof(*leaf_slot));
    if (!leaf_slot || !check_that(run, OP_SCORES, make_tree(run, &tree, leaf_slot) >= 0,
                                  "cannot make a tree: %s", rw_last_error(run->ref_ctx))) {
        free(leaf_slot);
        return;
    }
    if (check_chance(&run->random, 0.5)) /* as a grower does */
        check_sums_of(run, leaf_slot, tree.n_leaves);
    add(run, 0, &tree, leaf_slot);
    for (int set = 1; set < run->c->n_sets; set++)
        add(run, set, &tree, NULL);
    if (check_chance(&run->random, 0.3))
        add(run, 0, &tree, NULL);
    if (tree.n_leaves > 1 && !rw_tree_by_set(&tree, 0))
        add_foreign(run, &tree);
    if (check_chance(&run->random, 0.3))
        set_some(run, (int)check_below(&run->random, (uint32_t)run->c->n_sets));
    rw_tree_release(&tree);
    free(leaf_slot);
}
