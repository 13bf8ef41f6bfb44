/* Implements cuda_nodes.h. */
#include "gpu/engine/cuda_nodes.h"

/* ---- memory ---- */

/* Allocates samples, if trees do not have all documents. */
static int allocate_sample(struct rw_cuda_nodes *nodes, struct rw_cuda_memory *memory,
                           const struct rw_dataset *dataset)
{
    const struct rw_engine_rules *rules = &memory->host->base.rules;
    struct rw_cuda_sample *sample = &nodes->sample;
    sample->seed = rules->seed;
    sample->bag_seed = rules->bag_seed;
    sample->bag_threshold = rules->bag_threshold;
    sample->bag = rules->bag;
    sample->n_queries = dataset->n_queries;
    sample->n_docs = dataset->n_docs;
    if (rw_rules_see_all(rules))
        return RW_OK;
    RW_TRY(RW_HOST_NEW_RAW(memory->host, sample->d_kept, dataset->n_queries));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, sample->d_lowest, 2));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, sample->d_sampled, dataset->n_docs));
    RW_TRY(RW_CUDA_TABLE(memory, sample->d_query_offset, dataset->query_offset,
                         (size_t)dataset->n_queries + 1));
    nodes->scratch_bytes = rw_cuda_list_bytes(dataset->n_docs);
    return rw_host_new(memory->host, &nodes->d_scratch, nodes->scratch_bytes, 1, 1);
}

/* With many workers: allocates the memory through which the host learns the sizes of nodes. */
static int allocate_counts(struct rw_cuda_nodes *nodes, struct rw_cuda_memory *memory)
{
    struct rw_cuda_counted *counted = &nodes->partition.counted;
    RW_TRY(RW_CUDA_ZEROS(memory, counted->d_done, 1));
    RW_TRY(rw_cuda_pinned(memory, &memory->arena, &counted->placed,
                          (RW_CUDA_MOST_PARTS + 1) * sizeof(*counted->placed)));
    counted->word = (uint32_t *)(void *)(counted->placed + RW_CUDA_MOST_PARTS);
    counted->d_node = (void *)nodes->partition.d_carried;
    return RW_ARENA_NEW(memory->host->base.ctx, &memory->arena, nodes->all_n,
                        memory->host->base.rules.max_slots);
}

int rw_cuda_nodes_allocate(struct rw_cuda_nodes *nodes, struct rw_cuda_memory *memory,
                           struct rw_cuda_replies *replies, const struct rw_dataset *dataset,
                           const struct rw_cuda_quantise *quantise, int can_move)
{
    struct rw_host *host = memory->host;
    struct rw_ctx *ctx = host->base.ctx;
    struct rw_cuda_partition *partition = &nodes->partition;
    const uint64_t n_docs = dataset->n_docs, n_slots = host->base.rules.max_slots;
    nodes->device = memory->device;
    nodes->replies = replies;
    nodes->is_shared = rw_n_workers(ctx) > 1;
    nodes->n_docs = dataset->n_docs;
    nodes->half = (n_docs + 63) / 64 * 64;
    nodes->n_slots = (uint32_t)n_slots;
    host->memory.part = "lambdas";
    partition->d_lambda = quantise->d_lambda_q;
    partition->d_hess = quantise->d_hess_q;
    partition->moved =
        rw_moved_of(host->base.rules.newton, rw_quantise_limit(host->base.rules.bits));
    if (can_move)
        RW_TRY(rw_host_new(host, &nodes->d_moved, 2 * nodes->half, rw_moved_bytes(partition->moved),
                           1));
    host->memory.part = "lists";
    RW_TRY(RW_HOST_NEW_RAW(host, partition->d_list, 2 * nodes->half));
    RW_TRY(RW_CUDA_ZEROS(memory, partition->d_placed[0], 2 * RW_CUDA_MOST_PARTS));
    partition->d_placed[1] = partition->d_placed[0] + RW_CUDA_MOST_PARTS;
    RW_TRY(RW_HOST_NEW_RAW(host, partition->d_carried, RW_CUDA_CARRIED));
    RW_TRY(RW_HOST_NEW_RAW(host, nodes->d_n_listed, 1));
    RW_TRY(RW_HOST_NEW_RAW(host, nodes->leaf_sums.d_leaf_of, n_docs));
    RW_TRY(RW_CUDA_ZEROS(memory, nodes->leaf_sums.d_sum, n_slots));
    nodes->leaf_sums.d_list = partition->d_list;
    nodes->leaf_sums.d_pair = quantise->d_pair;
    RW_TRY(allocate_sample(nodes, memory, dataset));
    RW_TRY(RW_ARENA_NEW(ctx, &memory->arena, nodes->n, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, &memory->arena, nodes->first, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, &memory->arena, nodes->child, n_slots));
    RW_TRY(RW_ARENA_NEW(ctx, &memory->arena, nodes->summed, n_slots));
    nodes->all_n = nodes->n;
    return nodes->is_shared ? allocate_counts(nodes, memory) : RW_OK;
}

/* ---- the start of a tree ---- */

void rw_cuda_nodes_begin(struct rw_cuda_nodes *nodes)
{
    struct rw_cuda_partition *partition = &nodes->partition;
    nodes->is_listed = 0;
    nodes->n_summed = nodes->n_pending = 0;
    nodes->n_uncounted = nodes->n_set_words = 0;
    partition->n_parts = partition->n_chunks = partition->n_carried = 0;
    partition->counted.n_parts = 0;
    nodes->moves = -1;
    nodes->first[0] = 0;
    nodes->n[0] = nodes->n_docs;
    nodes->child[0][0] = -1;
}

int rw_cuda_nodes_list(struct rw_cuda_nodes *nodes)
{
    RW_CUDA_LAUNCH(nodes, rw_cuda_list_sampled, nodes->sample.d_sampled, nodes->n_docs,
                   nodes->partition.d_list, nodes->d_n_listed, nodes->d_scratch,
                   nodes->scratch_bytes);
    nodes->is_listed = 1;
    return RW_OK;
}

/* ---- partition ---- */

/* Returns the first position of a node's children: the node's own in the other half. */
static uint64_t children_at(const struct rw_cuda_nodes *nodes, int32_t slot)
{
    const uint64_t at = nodes->first[slot];
    return at < nodes->half ? at + nodes->half : at - nodes->half;
}

/* Sets the children's ranges, given that n_left of this worker's documents go left. */
static void set_children(struct rw_cuda_nodes *nodes, int32_t slot, int32_t left, int32_t right,
                         uint32_t n_left)
{
    const uint64_t to = children_at(nodes, slot);
    nodes->first[left] = to;
    nodes->first[right] = to + n_left;
    nodes->n[left] = n_left;
    nodes->n[right] = nodes->n[slot] - n_left;
    nodes->child[slot][0] = left;
    nodes->child[slot][1] = right;
    nodes->child[left][0] = nodes->child[right][0] = -1;
}

/* Notes a split whose children have an unknown number of this worker's documents. */
static void add_uncounted(struct rw_cuda_nodes *nodes, const struct rw_split *split)
{
    struct rw_cuda_counted *counted = &nodes->partition.counted;
    const uint32_t number = nodes->n_uncounted++;
    nodes->uncounted[number] = (struct rw_sibling){split->slot, split->left, split->right};
    counted->n_parts += nodes->n[split->slot] > 0;
    counted->child[number] = -1;
    counted->placed[number] = 0;
    nodes->all_n[split->left] = split->n_left;
    nodes->all_n[split->right] = nodes->all_n[split->slot] - split->n_left;
}

int rw_cuda_nodes_split(struct rw_cuda_nodes *nodes, const struct rw_split *split,
                        uint32_t missing_code, const struct rw_cuda_column *column)
{
    struct rw_cuda_partition *partition = &nodes->partition;
    const int32_t slot = split->slot;
    const uint32_t n_words = split->is_set ? rw_set_words(missing_code) : 0;
    if (partition->n_parts == RW_CUDA_MOST_PARTS ||
        nodes->n_set_words + n_words > RW_CUDA_PART_SET_WORDS)
        RW_TRY(rw_cuda_nodes_sizes(nodes));
    partition->part[partition->n_parts++] =
        (struct rw_cuda_part){.from = nodes->first[slot],
                              .to = children_at(nodes, slot),
                              .n = nodes->n[slot],
                              .n_left = nodes->is_shared ? RW_CUDA_UNCOUNTED : split->n_left,
                              .first_chunk = partition->n_chunks,
                              .bin = split->bin,
                              .missing_code = missing_code,
                              .missing_left = split->missing_left,
                              .whole = slot == 0 && !nodes->is_listed,
                              .set = n_words ? (int32_t)nodes->n_set_words : -1,
                              .column = *column};
    memcpy(nodes->sets.word + nodes->n_set_words, split->set.word, n_words * sizeof(uint32_t));
    nodes->n_set_words += n_words;
    partition->n_chunks += rw_cuda_chunks(nodes->n[slot]);
    if (split->n_left > nodes->all_n[slot] ||
        partition->n_chunks > nodes->n_docs / RW_CUDA_CHUNK + nodes->n_slots + 1)
        return rw_fail(nodes->device->ctx, RW_ERR_INTERNAL, "more documents than there are");
    if (nodes->is_shared)
        add_uncounted(nodes, split);
    else
        set_children(nodes, slot, split->left, split->right, split->n_left);
    return RW_OK;
}

int rw_cuda_nodes_launch(struct rw_cuda_nodes *nodes)
{
    struct rw_cuda_partition *partition = &nodes->partition;
    if (partition->n_parts == 0)
        return RW_OK;
    partition->d_moved = nodes->moves ? nodes->d_moved : NULL;
    partition->counted.value += (uint32_t)nodes->is_shared;
    if (partition->n_chunks > 0) {
        partition->launch++;
        RW_CUDA_LAUNCH(nodes, rw_cuda_partition, partition,
                       nodes->n_set_words ? &nodes->sets : NULL);
    } else if (nodes->is_shared) {
        *partition->counted.word = partition->counted.value;
    }
    partition->n_parts = partition->n_chunks = partition->n_carried = nodes->n_set_words = 0;
    partition->counted.n_parts = 0;
    return RW_OK;
}

int rw_cuda_nodes_sizes(struct rw_cuda_nodes *nodes)
{
    const struct rw_cuda_counted *counted = &nodes->partition.counted;
    RW_TRY(rw_cuda_nodes_launch(nodes));
    if (nodes->n_uncounted > 0)
        RW_TRY(rw_transfer_await(nodes->device, counted->word, 1, 1, counted->value));
    for (uint32_t i = 0; i < nodes->n_uncounted; i++) {
        const struct rw_sibling *s = &nodes->uncounted[i];
        set_children(nodes, s->parent, s->smaller, s->larger, (uint32_t)counted->placed[i]);
    }
    nodes->n_uncounted = 0;
    return RW_OK;
}

int rw_cuda_nodes_send(struct rw_cuda_nodes *nodes, const struct rw_hist_node *node,
                       const uint32_t *parent, uint32_t n, const struct rw_hist_node **d_node,
                       const uint32_t **d_parent)
{
    struct rw_cuda_partition *partition = &nodes->partition;
    const size_t node_bytes = n * sizeof(*node), bytes = node_bytes + n * sizeof(*parent);
    struct rw_cuda_piece piece = {partition->carried, partition->d_carried};
    const int is_carried = partition->n_chunks > 0 && bytes <= sizeof(partition->carried);
    if (!is_carried)
        RW_TRY(rw_cuda_room(nodes->replies, bytes, &piece));
    memcpy(piece.host, node, node_bytes);
    memcpy((char *)piece.host + node_bytes, parent, bytes - node_bytes);
    if (is_carried)
        partition->n_carried = (uint32_t)(bytes / sizeof(uint32_t));
    else
        RW_TRY(rw_cuda_send(nodes->replies, &piece, bytes));
    *d_node = piece.d;
    *d_parent = (const void *)(*d_node + n);
    return rw_cuda_nodes_launch(nodes);
}

/* ---- estimates ---- */

/* Returns the part of the last partition whose child a node is, or -1. */
static int part_of(const struct rw_cuda_nodes *nodes, int32_t slot)
{
    for (uint32_t i = 0; i < nodes->n_uncounted; i++) {
        if (nodes->uncounted[i].smaller == slot || nodes->uncounted[i].larger == slot)
            return (int)i;
    }
    return -1;
}

int rw_cuda_nodes_are_pending(const struct rw_cuda_nodes *nodes, const struct rw_sibling *siblings,
                              uint32_t n)
{
    int are = nodes->partition.n_chunks > 0;
    for (uint32_t i = 0; i < n && are; i++)
        are = part_of(nodes, siblings[i].smaller) >= 0;
    return are;
}

int rw_cuda_nodes_estimate(struct rw_cuda_nodes *nodes, const struct rw_sibling *siblings,
                           uint32_t n, struct rw_hist_node *node, uint64_t *most_docs,
                           const struct rw_hist_node **d_node)
{
    struct rw_cuda_counted *counted = &nodes->partition.counted;
    *most_docs = 1;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t slot = siblings[i].smaller, parent = siblings[i].parent;
        const int part = part_of(nodes, slot);
        const uint32_t all = nodes->all_n[slot], own = nodes->n[parent];
        const uint32_t most = all < own ? all : own;
        const double n_docs = (double)own * all / (nodes->all_n[parent] + 1.0);
        counted->child[part] = (int8_t)(2 * i + (nodes->uncounted[part].larger == slot));
        node[i] = (struct rw_hist_node){nodes->first[parent], (uint64_t)n_docs + 1};
        *most_docs = most > *most_docs ? most : *most_docs;
    }
    *d_node = counted->d_node;
    return rw_cuda_nodes_launch(nodes);
}

/* ---- leaves ---- */

/* Adds a leaf's ranges: that of its slot or, if that was partitioned, of the slots below it. */
static void list_leaf(struct rw_cuda_nodes *nodes, int32_t slot, uint32_t leaf)
{
    struct rw_cuda_leaf_sums *sums = &nodes->leaf_sums;
    const int32_t *child = nodes->child[slot];
    if (child[0] >= 0) {
        list_leaf(nodes, child[0], leaf);
        list_leaf(nodes, child[1], leaf);
        return;
    }
    nodes->leaf[sums->n_leaves++] = (struct rw_cuda_leaf){.from = nodes->first[slot],
                                                          .n = nodes->n[slot],
                                                          .first_chunk = sums->n_chunks,
                                                          .leaf = leaf};
    sums->n_chunks += rw_cuda_chunks(nodes->n[slot]);
}

int rw_cuda_nodes_start_sums(struct rw_cuda_nodes *nodes, const int32_t *leaf_slot, int n_leaves)
{
    struct rw_cuda_leaf_sums *sums = &nodes->leaf_sums;
    struct rw_cuda_piece piece;
    if (n_leaves == 0)
        return RW_OK;
    RW_TRY(rw_cuda_nodes_sizes(nodes));
    if (nodes->child[0][0] < 0 && !nodes->is_listed) /* a tree of one leaf */
        RW_TRY(rw_cuda_nodes_list(nodes));
    RW_TRY(rw_cuda_room(nodes->replies, nodes->n_slots * sizeof(*nodes->leaf), &piece));
    nodes->leaf = piece.host;
    sums->d_leaf = piece.d;
    sums->n_leaves = sums->n_chunks = 0;
    nodes->n_summed = 0;
    for (int i = 0; i < n_leaves; i++)
        list_leaf(nodes, leaf_slot[i], (uint32_t)i);
    RW_TRY(rw_cuda_send(nodes->replies, &piece, sums->n_leaves * sizeof(*nodes->leaf)));
    RW_CUDA_LAUNCH(nodes, rw_cuda_leaf_sums, sums);
    RW_TRY(rw_cuda_ask(nodes->replies, sums->d_sum, (size_t)n_leaves * sizeof(*sums->d_sum), 1));
    memcpy(nodes->summed, leaf_slot, (size_t)n_leaves * sizeof(*leaf_slot));
    nodes->n_summed = nodes->n_pending = n_leaves;
    return RW_OK;
}

int rw_cuda_nodes_take_sums(struct rw_cuda_nodes *nodes, const int32_t *leaf_slot, int n_leaves,
                            struct rw_sum *sums)
{
    if (n_leaves == 0)
        return RW_OK;
    if (nodes->n_pending == 0)
        RW_TRY(rw_cuda_nodes_start_sums(nodes, leaf_slot, n_leaves));
    if (nodes->n_pending != n_leaves)
        return rw_fail(nodes->device->ctx, RW_ERR_INTERNAL, "sums of the wrong leaves");
    nodes->n_pending = 0;
    RW_TRY(rw_cuda_take(nodes->replies));
    memcpy(sums, nodes->replies->answer, (size_t)n_leaves * sizeof(*sums));
    for (uint32_t i = 0; i < nodes->leaf_sums.n_leaves; i++) /* the stage is not reused yet */
        sums[nodes->leaf[i].leaf].n += nodes->leaf[i].n;
    return RW_OK;
}

int rw_cuda_nodes_have_sums(const struct rw_cuda_nodes *nodes, const int32_t *leaf_slot,
                            int n_leaves)
{
    return leaf_slot && n_leaves == nodes->n_summed && n_leaves <= RW_MAX_LEAVES &&
           memcmp(leaf_slot, nodes->summed, (size_t)n_leaves * sizeof(*leaf_slot)) == 0;
}
