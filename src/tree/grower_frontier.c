/* The frontier of a tree that grows best-first: what is accepted, which nodes are expanded together
 * before it is their turn, and whose histograms are of use. */
#include "tree/grower_inside.h"

static int before(const struct grow_entry *a, const struct grow_entry *b)
{
    return a->gain > b->gain || (a->gain == b->gain && a->number < b->number);
}

static void push(struct grow_entry *heap, int32_t *n, struct grow_entry added)
{
    int32_t at = (*n)++;
    for (; at > 0 && before(&added, &heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = added;
}

static struct grow_entry pop(struct grow_entry *heap, int32_t *n)
{
    const struct grow_entry top = heap[0], moved = heap[--*n];
    int32_t at = 0;
    for (int32_t child = 1; child < *n; child = 2 * at + 1) {
        if (child + 1 < *n && before(&heap[child + 1], &heap[child]))
            child++;
        if (!before(&heap[child], &moved))
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = moved;
    return top;
}

/* ---- what belongs to the tree ---- */

void rw_frontier_add(struct rw_grower *g, int32_t slot)
{
    const struct grow_node *node = &g->node[slot];
    if (node->has_split)
        push(g->frontier, &g->n_frontier, (struct grow_entry){node->gain, g->n_nodes, slot, -1});
    g->slot_of[g->n_nodes++] = slot;
}

void rw_frontier_accept(struct rw_grower *g, int32_t slot)
{
    g->node[slot].index = g->n_splits++;
    rw_frontier_add(g, g->node[slot].left);
    rw_frontier_add(g, g->node[slot].right);
}

void rw_frontier_accept_known(struct rw_grower *g)
{
    while (g->n_frontier > 0 && g->n_splits + 1 < g->rules.leaves &&
           g->node[g->frontier[0].slot].is_expanded)
        rw_frontier_accept(g, pop(g->frontier, &g->n_frontier).slot);
}

/* ---- what is expanded next ---- */

static int most_of_batch(const struct rw_grower *g)
{
    return g->rules.batch > 1 ? g->rules.batch : 1;
}

/* The children of a node that would be accepted behind `rank` others. */
static void add_children(struct rw_grower *g, int32_t slot, int32_t rank, int32_t *n)
{
    const struct grow_node *parent = &g->node[slot];
    for (int side = 0; side < 2; side++) {
        const int32_t child = side ? parent->right : parent->left;
        if (g->node[child].has_split)
            push(g->prospect, n,
                 (struct grow_entry){g->node[child].gain, g->n_nodes + 2 * rank + side, child, -1});
    }
}

/* The best of the frontier comes first. */
static void begin_prospects(struct rw_grower *g, int32_t *n)
{
    *n = 0;
    if (g->n_frontier == 0)
        return;
    struct grow_entry first = g->frontier[0];
    first.heap_index = 0;
    push(g->prospect, n, first);
}

/* Adds what comes into question only now that `seen` was taken as number `rank`: the nodes under it
 * in the frontier's heap, none of which comes before it, and, if it is expanded, its children. */
static void add_next(struct rw_grower *g, const struct grow_entry *seen, int32_t rank, int32_t *n)
{
    for (int k = 1; seen->heap_index >= 0 && k <= 2; k++) {
        const int32_t index = 2 * seen->heap_index + k;
        if (index < g->n_frontier) {
            struct grow_entry found = g->frontier[index];
            found.heap_index = index;
            push(g->prospect, n, found);
        }
    }
    if (g->node[seen->slot].is_expanded)
        add_children(g, seen->slot, rank, n);
}

void rw_frontier_rank(struct rw_grower *g, struct rw_grow_times *times)
{
    int32_t n, n_new = 0;
    g->n_ranked = 0;
    if (g->rules.levels)
        return;
    rw_frontier_accept_known(g);
    g->n_left = g->rules.leaves - 1 - g->n_splits;
    begin_prospects(g, &n);
    while (n > 0 && g->n_ranked < g->n_left && n_new < most_of_batch(g)) {
        const struct grow_entry next = pop(g->prospect, &n);
        const struct grow_node *node = &g->node[next.slot];
        g->ranked[g->n_ranked] =
            (struct grow_ranked){.gain = next.gain,
                                 .number = next.number,
                                 .slot = next.slot,
                                 .is_begun = node->is_begun,
                                 .is_awaited = node->is_begun && !node->is_expanded};
        n_new += !node->is_begun;
        add_next(g, &next, g->n_ranked++, &n);
    }
    times->n_prospects += g->n_ranked;
}

/* A tree has room for so many splits more; of the nodes that are known, those that would be the
 * next, in their order. What becomes known later can only come between them, so no other one will
 * ever be split: the engine may forget the others' histograms. Asked for when room is short. */
int rw_frontier_forget(struct rw_grower *g, struct rw_engine *engine, struct rw_grow_times *times)
{
    int32_t n, n_next = 0;
    int n_forgotten = 0;
    if (g->n_histograms + (uint32_t)most_of_batch(g) <= g->max_histograms)
        return RW_OK;
    begin_prospects(g, &n);
    while (n > 0 && n_next < g->n_left) {
        const struct grow_entry next = pop(g->prospect, &n);
        g->node[next.slot].may_follow = !g->node[next.slot].is_expanded;
        add_next(g, &next, n_next++, &n);
    }
    for (int32_t slot = 0; slot < g->n_slots; slot++) {
        struct grow_node *node = &g->node[slot];
        if (node->is_kept && !node->may_follow) {
            node->is_kept = 0;
            g->search[n_forgotten++] = slot;
        }
        node->may_follow = 0;
    }
    g->n_histograms -= (uint32_t)n_forgotten;
    times->n_forgotten += n_forgotten;
    return rw_engine_forget(engine, g->search, n_forgotten);
}

/* A ranked prospect among all: its number is counted anew if its parent is a prospect, too. */
static struct grow_entry among_all(const struct rw_grower *g, const struct grow_ranked *ranked)
{
    const int32_t behind = ranked->number - g->n_nodes; /* twice its parent's rank, and its side */
    struct grow_entry entry = {ranked->gain, ranked->number, ranked->slot, -1};
    if (behind >= 0)
        entry.number = g->n_nodes + 2 * g->ranked[behind / 2].place + behind % 2;
    return entry;
}

/* Slots are kept for what must come; each node of a batch takes a histogram more than its parent
 * had. */
void rw_frontier_choose(struct rw_grower *g, int *is_last)
{
    int64_t spare = 0;
    const int64_t spare_histograms = (int64_t)g->max_histograms - g->n_histograms;
    int32_t n = 0, n_ranked = 0;
    *is_last = 0;
    g->n_batch = 0;
    for (int32_t place = 0;
         place < g->n_left && g->n_batch < most_of_batch(g) && g->n_batch < spare_histograms;
         place++) {
        struct grow_entry next = {.slot = -1};
        if (n_ranked < g->n_ranked)
            next = among_all(g, &g->ranked[n_ranked]);
        if (n > 0 && (next.slot < 0 || before(&g->prospect[0], &next)))
            next = pop(g->prospect, &n);
        else if (next.slot >= 0) {
            struct grow_ranked *ranked = &g->ranked[n_ranked++];
            ranked->place = place;
            if (ranked->is_awaited)
                add_children(g, ranked->slot, place, &n);
            if (ranked->is_begun)
                continue;
        } else
            return;
        if (g->n_batch == 0) {
            *is_last = place == g->n_left - 1;
            spare = (int64_t)g->max_slots - g->n_slots - 2 * (int64_t)(g->n_left - place);
        } else if (place == g->n_left - 1 || 2 * g->n_batch > spare)
            return;
        rw_split_copy(&g->batch[g->n_batch++], &g->split[next.slot]);
    }
}
