/* Divides trees into batches, and shared memory between values and trees (cu_predict.h). It runs on
 * the host only, so that tests need no GPU. */

#include "gpu/predict/cu_predict.h"
#include "model/scorer.h"

/* Bytes of shared memory that the driver reserves for each block. */
enum { KEPT_BYTES = 1024 };

/* Chooses the first layout that leaves at least RW_TUNE_PREDICT_SHARE of a block's memory to the
 * trees, or the last one. If a multiprocessor has too few threads for two blocks, one block gets
 * all the memory. */
static void choose_tile(struct rw_predict_args *args, size_t shared_bytes, int threads)
{
    static const struct {
        uint32_t blocks, tile_docs; /* blocks per multiprocessor */
        int32_t values_in_shared;
    } layouts[] = {{2, RW_TUNE_PREDICT_DOCS, 1},
                   {1, RW_TUNE_PREDICT_DOCS, 1},
                   {1, 32, 1},
                   {2, RW_TUNE_PREDICT_DOCS, 0}};
    const int last = sizeof(layouts) / sizeof(layouts[0]) - 1;
    const uint32_t held = threads < 2 * RW_TUNE_PREDICT_THREADS ? 1 : 2;
    for (int i = 0; i <= last; i++) {
        const uint32_t blocks = layouts[i].blocks < held ? layouts[i].blocks : held;
        const size_t room = (shared_bytes + KEPT_BYTES) / blocks - KEPT_BYTES;
        const size_t rows =
            RW_TUNE_PREDICT_TREES + (layouts[i].values_in_shared ? (size_t)args->n_used : 0);
        const size_t other = rows * layouts[i].tile_docs * sizeof(float);
        const size_t trees = room > other ? room - other : 0;
        if (i < last && (other > room || (double)trees < RW_TUNE_PREDICT_SHARE * (double)room))
            continue;
        args->tile_docs = layouts[i].tile_docs;
        args->values_in_shared = layouts[i].values_in_shared;
        args->tree_bytes = (uint32_t)(trees / 16 * 16);
        return;
    }
}

static size_t bytes_of(uint64_t n_nodes, uint64_t n_leaves)
{
    return n_nodes * sizeof(struct rw_walk_node) + n_leaves * sizeof(float);
}

/* Puts the trees in order into batches, each as large as fits args->tree_bytes, of at most
 * RW_TUNE_PREDICT_TREES trees. A tree that does not fit has a batch by itself. Lowers
 * args->tree_bytes to the bytes of the largest batch that fits. */
static void cut_batches(struct rw_predict_plan *plan, const struct rw_flat *flat)
{
    struct rw_predict_args *args = &plan->args;
    struct rw_predict_batch *batch = NULL;
    size_t most_bytes = 0;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const uint32_t n_nodes = (uint32_t)(flat->first_node[i + 1] - flat->first_node[i]);
        const uint32_t n_leaves = (uint32_t)(flat->first_leaf[i + 1] - flat->first_leaf[i]);
        const int fits = bytes_of(n_nodes, n_leaves) <= args->tree_bytes;
        const int continues = batch && batch->in_shared && fits &&
                              batch->n_trees < RW_TUNE_PREDICT_TREES &&
                              bytes_of((uint64_t)batch->n_nodes + n_nodes,
                                       (uint64_t)batch->n_leaves + n_leaves) <= args->tree_bytes;
        if (!continues) {
            batch = &plan->batch[args->n_batches++];
            *batch = (struct rw_predict_batch){.first_node = flat->first_node[i],
                                               .first_leaf = flat->first_leaf[i],
                                               .first_tree = (uint32_t)i,
                                               .in_shared = fits};
        }
        batch->n_trees++;
        batch->n_nodes += n_nodes;
        batch->n_leaves += n_leaves;
        const size_t bytes = fits ? bytes_of(batch->n_nodes, batch->n_leaves) : 0;
        most_bytes = bytes > most_bytes ? bytes : most_bytes;
        args->most_trees = batch->n_trees > args->most_trees ? batch->n_trees : args->most_trees;
    }
    args->tree_bytes = (uint32_t)((most_bytes + 15) / 16 * 16);
}

size_t rw_predict_shared_bytes(const struct rw_predict_args *args)
{
    const size_t rows = (size_t)args->most_trees + (args->values_in_shared ? args->n_used : 0);
    return args->tree_bytes + rows * args->tile_docs * sizeof(float);
}

int rw_predict_plan_init(struct rw_ctx *ctx, struct rw_predict_plan *plan,
                         const struct rw_flat *flat, size_t shared_bytes, int threads)
{
    const size_t n_trees = (size_t)flat->n_trees;
    memset(plan, 0, sizeof(*plan));
    RW_TRY(RW_ARENA_NEW(ctx, &plan->arena, plan->tree, n_trees));
    RW_TRY(RW_ARENA_NEW(ctx, &plan->arena, plan->batch, n_trees));
    for (int32_t i = 0; i < flat->n_trees; i++)
        plan->tree[i] = (struct rw_predict_tree){.first_node = flat->first_node[i],
                                                 .first_leaf = flat->first_leaf[i],
                                                 .root = rw_flat_root(flat, i)};
    RW_TRY(RW_ARENA_NEW(ctx, &plan->arena, plan->first_slot, flat->n_used));
    if (flat->set_of)
        RW_TRY(RW_ARENA_NEW(ctx, &plan->arena, plan->slot, flat->n_used));
    for (uint32_t slot = 0; slot < flat->n_used; slot++) { /* a feature's slots are consecutive */
        if (slot == 0 || flat->feature[slot] != flat->feature[slot - 1])
            plan->first_slot[plan->n_columns++] = slot;
        if (plan->slot)
            plan->slot[slot] = (struct rw_predict_slot){plan->n_columns - 1, flat->set_of[slot]};
    }
    plan->args.n_used = flat->n_used;
    choose_tile(&plan->args, shared_bytes, threads);
    cut_batches(plan, flat);
    return RW_OK;
}
