/* One case on one engine: the same operations on ref and on the engine under test. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

enum { FENCE_BYTES = 64, FENCE = 0xE7 };

int check_that(struct check_run *run, enum check_op op, int equal, const char *format, ...)
{
    run->compared[op]++;
    if (equal)
        return 1;
    if (run->failed[op]++ == 0) {
        va_list args;
        va_start(args, format);
        vsnprintf(run->first_failure[op], sizeof(run->first_failure[op]), format, args);
        va_end(args);
    }
    return 0;
}

int check_status(struct check_run *run, enum check_op op, int ref_status, int status)
{
    return check_that(run, op, ref_status == status, "status %d (%s), ref has %d (%s)", status,
                      status < 0 ? rw_last_error(run->ctx) : "fine", ref_status,
                      ref_status < 0 ? rw_last_error(run->ref_ctx) : "fine");
}

void *check_buffer(size_t n, size_t size, int side)
{
    uint8_t *whole = aligned_alloc(64, (n * size + 3 * FENCE_BYTES) & ~(size_t)63);
    if (!whole)
        abort();
    memset(whole, FENCE, FENCE_BYTES);
    memset(whole + FENCE_BYTES, side ? 0xA5 : 0x3C, n * size);
    memset(whole + FENCE_BYTES + n * size, FENCE, FENCE_BYTES);
    return whole + FENCE_BYTES;
}

int check_fences(const void *buffer, size_t n, size_t size)
{
    const uint8_t *before = (const uint8_t *)buffer - FENCE_BYTES;
    const uint8_t *after = (const uint8_t *)buffer + n * size;
    for (size_t i = 0; i < FENCE_BYTES; i++) {
        if (before[i] != FENCE || after[i] != FENCE)
            return 0;
    }
    return 1;
}

void check_free(void *buffer)
{
    if (buffer)
        free((uint8_t *)buffer - FENCE_BYTES);
}

int check_same_bytes(struct check_run *run, enum check_op op, void *ref, void *other, size_t n,
                     size_t size, const char *what)
{
    const uint8_t *a = ref, *b = other;
    size_t at = 0;
    while (at < n * size && a[at] == b[at])
        at++;
    int equal = check_that(run, op, at == n * size, "%s of item %zu", what, at / size);
    equal &= check_that(run, op, check_fences(ref, n, size) && check_fences(other, n, size),
                        "%s: written past its end", what);
    check_free(ref);
    check_free(other);
    return equal;
}

int check_same_sum(const struct rw_sum *a, const struct rw_sum *b)
{
    /* the words may be split differently between high and low; the total counts */
    return a->n == b->n &&
           a->lambda_hi + (a->lambda_lo >> 32) == b->lambda_hi + (b->lambda_lo >> 32) &&
           (a->lambda_lo & 0xffffffff) == (b->lambda_lo & 0xffffffff) &&
           a->hess_hi + (a->hess_lo >> 32) == b->hess_hi + (b->hess_lo >> 32) &&
           (a->hess_lo & 0xffffffff) == (b->hess_lo & 0xffffffff);
}

/* ---- growing by splits of ref's or at random ---- */

/* Some of the codes. */
static struct rw_code_set random_set(struct check_run *run, uint32_t n_codes)
{
    struct rw_code_set set = {{0}};
    for (uint32_t code = 0; code < n_codes; code++) {
        if (check_chance(&run->random, 0.5))
            rw_set_add(&set, code);
    }
    return set;
}

/* A split at random that leaves documents on both sides; 0 if none was found. */
static int random_split(struct check_run *run, const struct check_node *node,
                        struct rw_split *split)
{
    const struct rw_engine_info *info = &run->ref->info;
    for (int attempt = 0; attempt < 20 && info->n_features; attempt++) {
        *split = (struct rw_split){.slot = node->slot};
        split->column = (int32_t)check_below(&run->random, info->n_features);
        split->bin = check_bits(&run->random);
        split->missing_left = (int)check_below(&run->random, 2);
        split->is_set = rw_cuts_by_category(run->ref->cuts, (uint32_t)split->column);
        if (split->is_set)
            split->set = random_set(run, rw_cuts_n_bins(run->ref->cuts, (uint32_t)split->column));
        const uint32_t left = check_count_left(run, split);
        split->n_left = left;
        if (left > 0 && left < node->n)
            return 1;
    }
    return 0;
}

static int choose_split(struct check_run *run, const struct check_node *node,
                        struct rw_split *split)
{
    if (node->best.column >= 0 && check_chance(&run->random, 0.6)) {
        *split = node->best;
        return 1;
    }
    if (node->n < 2 || !random_split(run, node, split))
        return 0;
    return 1;
}

/* Leaves that a tree may have here. */
static uint32_t most_leaves(const struct check_run *run)
{
    const uint32_t leaves = (run->c->rules.max_slots + 1) / 2;
    const uint32_t by_docs = run->ref->n_docs[0] / run->c->rules.min_docs + 1;
    return leaves < by_docs ? leaves : by_docs;
}

/* Where no engine can keep the histograms of all leaves: those of no use are forgotten, and of
 * some others at random, half of them if there is no more room. Returns how many more there is room
 * for. */
static uint32_t release(struct check_run *run)
{
    const uint32_t most = run->c->rules.max_histograms;
    uint32_t n_kept = 0;
    int n = 0;
    if (most == 0)
        return UINT32_MAX;
    for (int32_t k = 0; k < run->n_nodes; k++)
        n_kept += run->node[k].can_split && run->node[k].split < 0;
    const double share = n_kept >= most ? 0.5 : 0.1;
    int32_t *slots = calloc((size_t)run->n_nodes, sizeof(*slots));
    if (!slots)
        abort();
    for (int32_t k = 0; k < run->n_nodes; k++) {
        struct check_node *node = &run->node[k];
        const int is_kept = node->can_split && node->split < 0;
        if (is_kept && (n_kept == 1 || !check_chance(&run->random, share)))
            continue;
        n_kept -= is_kept;
        node->can_split = 0;
        slots[n++] = node->slot;
    }
    check_status(run, OP_SPLITS, run->ref->ops->release(run->ref, slots, n),
                 run->engine->ops->release(run->engine, slots, n));
    free(slots);
    return most - n_kept;
}

static uint32_t least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* A batch of nodes to split, no more than `room`; returns their number. */
static int choose_batch(struct check_run *run, uint32_t room, struct rw_split *batch,
                        int32_t *parents)
{
    int n = 0;
    const double share = check_unit(&run->random);
    for (int32_t k = 0; k < run->n_nodes && (uint32_t)n < room; k++) {
        struct check_node *node = &run->node[k];
        if (!node->can_split || node->split >= 0)
            continue;
        if (n > 0 && !check_chance(&run->random, share))
            continue;
        if (!choose_split(run, node, &batch[n])) {
            node->can_split = 0;
            continue;
        }
        parents[n++] = k;
    }
    return n;
}

/* Partitions the batch, then asks for histograms and splits of some children. */
static void split_batch(struct check_run *run, struct rw_split *batch, const int32_t *parents,
                        int n)
{
    struct rw_sibling *siblings = calloc((size_t)n, sizeof(*siblings));
    int32_t *slots = calloc(2 * (size_t)n, sizeof(*slots));
    int n_siblings = 0, n_slots = 0;
    if (!siblings || !slots)
        abort();
    for (int i = 0; i < n; i++) {
        struct check_node *parent = &run->node[parents[i]];
        const uint32_t parts[2] = {batch[i].n_left, parent->n - batch[i].n_left};
        parent->split = run->n_splits;
        parent->left = batch[i].left = run->n_nodes++;
        parent->right = batch[i].right = run->n_nodes++;
        run->split[run->n_splits++] = batch[i];
        for (int side = 0; side < 2; side++) {
            const int32_t slot = side ? parent->right : parent->left;
            run->node[slot] = (struct check_node){
                .slot = slot, .n = parts[side], .best = {.column = -1}, .split = -1};
        }
    }
    check_partition(run, batch, n);
    for (int i = 0; i < n; i++) {
        const int wanted[2] = {check_chance(&run->random, 0.9), check_chance(&run->random, 0.9)};
        const int small = run->node[batch[i].left].n <= run->node[batch[i].right].n ? 0 : 1;
        for (int side = 0; side < 2; side++) {
            const int32_t slot = side ? batch[i].right : batch[i].left;
            run->node[slot].can_split = wanted[side];
            if (wanted[side])
                slots[n_slots++] = slot;
        }
        const int32_t child[2] = {batch[i].left, batch[i].right};
        if (wanted[0] || wanted[1])
            siblings[n_siblings++] =
                (struct rw_sibling){.parent = batch[i].slot,
                                    .smaller = child[small],
                                    .larger = wanted[!small] ? child[!small] : -1};
    }
    if (n_siblings)
        check_splits(run, siblings, n_siblings, slots, n_slots);
    free(siblings);
    free(slots);
}

static void grow_by_hand(struct check_run *run)
{
    const struct rw_sibling whole = {.parent = -1, .smaller = 0, .larger = -1};
    int32_t slot = 0;
    struct rw_split *batch = calloc(run->c->rules.max_slots, sizeof(*batch));
    int32_t *parents = calloc(run->c->rules.max_slots, sizeof(*parents));
    if (!batch || !parents)
        abort();
    check_splits(run, &whole, 1, &slot, 1);
    for (;;) {
        const uint32_t leaves = (uint32_t)run->n_splits + 1, most = most_leaves(run);
        const uint32_t room = leaves < most ? least_of(most - leaves, release(run)) : 0;
        const int n = room > 0 ? choose_batch(run, room, batch, parents) : 0;
        if (n == 0)
            break;
        split_batch(run, batch, parents, n);
    }
    free(batch);
    free(parents);
}

static int open_engines(struct check_run *run, const char *engine)
{
    int status = RW_OK;
    RW_TRY_OUT(rw_ctx_new(&run->ref_ctx));
    RW_TRY_OUT(rw_ctx_new(&run->ctx));
    RW_TRY_OUT(rw_ctx_set_threads(run->ref_ctx, 1));
    RW_TRY_OUT(rw_ctx_set_threads(run->ctx, run->c->spec.n_threads));
    RW_TRY_OUT(rw_engine_open(run->ref_ctx, "ref", &run->c->rules, &run->ref));
    RW_TRY_OUT(rw_engine_open(run->ctx, engine, &run->c->rules, &run->engine));
out:
    return status;
}

int check_run_case(const struct check_case *c, const char *engine, struct check_run *run)
{
    memset(run, 0, sizeof(*run));
    run->c = c;
    run->random = (struct check_random){c->seed, 1u << 24};
    run->node = calloc(c->rules.max_slots, sizeof(*run->node));
    run->split = calloc(c->rules.max_slots, sizeof(*run->split));
    const int opened = open_engines(run, engine) >= 0;
    if (opened && run->node && run->split)
        check_load(run);
    const int loaded = run->ref && run->engine && run->ref->n_sets == c->n_sets &&
                       run->engine->n_sets == c->n_sets;
    for (uint32_t tree = 0; loaded && tree < c->spec.n_trees; tree++) {
        run->n_splits = 0;
        run->n_nodes = 1;
        run->node[0] = (struct check_node){.can_split = 1, .best = {.column = -1}, .split = -1};
        if (!c->rules.objective)
            check_gradients(run, tree);
        if (!check_begin_tree(run, tree))
            break;
        grow_by_hand(run);
        if (tree == 0)
            check_plan(run);
        check_leaf_sums(run);
        check_scores(run);
        if (!c->rules.objective)
            check_gradients(run, tree);
        check_grow(run, tree);
    }
    rw_engine_close(run->engine);
    rw_engine_close(run->ref);
    rw_ctx_free(run->ctx);
    rw_ctx_free(run->ref_ctx);
    free(run->node);
    free(run->split);
    return !opened;
}
