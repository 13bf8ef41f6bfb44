#include "model/single.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* One thread of a server of 2024: nanoseconds of a node that is passed, in a model that is not
 * larger than the caches. */
#define STEP_NS 1.0

enum {
    MOST_DEPTH = 255,
    LOOK = 3 /* steps until it is looked whether all are at leaves: of 2, 3, 4, 6 the best */
};

void rw_single_free(struct rw_single *single)
{
    if (!single)
        return;
    rw_lanes_free(single->lanes);
    rw_mem_free(single->node);
    rw_mem_free(single->root);
    rw_mem_free(single->tree_at);
    rw_mem_free(single->steps);
    rw_mem_free(single);
}

/* ---- making ---- */

/* A tree's nodes and leaves by levels. queue: what each is, [2 * leaves - 1]; level: scratch of as
 * many. Returns the depth, or -1 if there is a child too far off. */
static int32_t order_tree(const struct rw_flat *flat, int32_t tree, struct rw_single_node *to,
                          int32_t *queue, int32_t *level)
{
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    const float *values = flat->leaf + flat->first_leaf[tree];
    uint32_t n = 0;
    queue[n] = rw_flat_root(flat, tree);
    level[n++] = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int32_t at = queue[i];
        if (at < 0) {
            to[i] = (struct rw_single_node){values[~at], (uint16_t)(2 * flat->n_used), 0};
            continue;
        }
        if (n - i > UINT16_MAX)
            return -1;
        to[i] = (struct rw_single_node){nodes[at].cut, (uint16_t)nodes[at].slot, (uint16_t)(n - i)};
        queue[n] = nodes[at].left;
        queue[n + 1] = nodes[at].right;
        level[n] = level[n + 1] = level[i] + 1;
        n += 2;
    }
    return level[n - 1];
}

struct start {
    int32_t depth;
    uint32_t root;
    uint8_t tree;
};

static int deeper(const void *a, const void *b)
{
    const struct start *x = a, *y = b;
    if (x->depth != y->depth)
        return x->depth - y->depth;
    return (int)x->tree - (int)y->tree;
}

/* Trees of like depths are walked together. start: [n], of consecutive trees. */
static void order_starts(struct rw_single *single, int32_t first, struct start *start, int32_t n)
{
    qsort(start, (size_t)n, sizeof(*start), deeper);
    for (int32_t i = 0; i < n; i++) {
        single->root[first + i] = start[i].root;
        single->tree_at[first + i] = start[i].tree;
        single->steps[(first + i) / RW_SINGLE_TOGETHER] = (uint8_t)start[i].depth; /* ascends */
    }
}

/* 1: done; 0: the model is not of the kind. */
static int make(struct rw_ctx *ctx, struct rw_single *s, const struct rw_flat *flat)
{
    const size_t n_trees = (size_t)flat->n_trees;
    const uint64_t n_leaves = flat->first_leaf[n_trees];
    int32_t *queue = NULL;
    int status = 1;
    uint64_t most = 0;
    if (2 * (uint64_t)flat->n_used >= RW_SINGLE_VALUES || n_leaves > 1u << 29)
        return 0;
    const size_t n_groups = (n_trees + RW_SINGLE_TOGETHER - 1) / RW_SINGLE_TOGETHER;
    for (size_t i = 0; i < n_trees; i++) {
        const uint64_t n = flat->first_leaf[i + 1] - flat->first_leaf[i];
        most = n > most ? n : most;
    }
    RW_TRY_OUT(RW_NEW(ctx, s->node, 2 * n_leaves));
    RW_TRY_OUT(RW_NEW(ctx, s->root, n_groups * RW_SINGLE_TOGETHER));
    RW_TRY_OUT(RW_NEW(ctx, s->tree_at, n_groups * RW_SINGLE_TOGETHER));
    RW_TRY_OUT(RW_NEW(ctx, s->steps, n_groups));
    RW_TRY_OUT(RW_NEW_RAW(ctx, queue, 4 * most));
    status = 1;
    for (int32_t first = 0; first < flat->n_trees; first += RW_SINGLE_TREES) {
        struct start start[RW_SINGLE_TREES];
        const int32_t rest = flat->n_trees - first;
        const int32_t n = rest < RW_SINGLE_TREES ? rest : RW_SINGLE_TREES;
        for (int32_t i = 0; i < n; i++) {
            const uint64_t root = 2 * flat->first_leaf[first + i];
            const int32_t depth =
                order_tree(flat, first + i, s->node + root, queue, queue + 2 * most);
            if (depth < 0 || depth > MOST_DEPTH) {
                status = 0;
                goto out;
            }
            start[i] = (struct start){depth, (uint32_t)root, (uint8_t)i};
        }
        order_starts(s, first, start, n);
    }
out:
    rw_mem_free(queue);
    return status;
}

int rw_single_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                  struct rw_single **out)
{
    struct rw_single *single;
    *out = NULL;
    if (flat->set_of)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, single, 1));
    single->flat = flat;
    int status = RW_OK;
    const double lanes_ns = rw_lanes_doc_ns(flat, isa), walk_ns = STEP_NS * rw_flat_steps(flat);
    if (lanes_ns < walk_ns)
        status = rw_lanes_new(ctx, flat, isa, &single->lanes);
    single->doc_ns = single->lanes ? lanes_ns : walk_ns;
    if (status >= 0)
        status = single->lanes ? 1 : make(ctx, single, flat);
    if (status > 0)
        *out = single;
    else
        rw_single_free(single);
    return status < 0 ? status : RW_OK;
}

/* ---- scoring ---- */

/* found: [RW_SINGLE_TOGETHER] leaves' values. */
static void walk_together(const struct rw_single *s, const uint32_t *root, uint32_t steps,
                          const float *value, float *found)
{
    const struct rw_single_node *at[RW_SINGLE_TOGETHER];
    for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
        at[c] = s->node + root[c];
    for (uint32_t i = 0; i < steps;) {
        const uint32_t end = i + LOOK < steps ? i + LOOK : steps;
        uint32_t goes_on = 0;
        for (; i < end; i++) {
            for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
                at[c] += at[c]->skip + (value[at[c]->value] > at[c]->cut);
        }
        for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
            goes_on |= at[c]->skip;
        if (!goes_on)
            break;
    }
    for (int c = 0; c < RW_SINGLE_TOGETHER; c++)
        found[c] = at[c]->cut;
}

static double score_by_walk(const struct rw_single *s, const float *values, size_t n_values,
                            uint32_t first_feature)
{
    const struct rw_flat *flat = s->flat;
    float value[RW_SINGLE_VALUES];
    double score = 0.0;
    for (uint32_t i = 0; i < flat->n_used; i++) {
        const uint32_t f = flat->feature[i] - first_feature; /* before it: very large */
        const float v = f < n_values ? values[f] : flat->absent;
        value[2 * i] = v != v ? INFINITY : v;
        value[2 * i + 1] = v != v ? -INFINITY : v;
    }
    value[2 * flat->n_used] = -INFINITY;
    for (int32_t first = 0; first < flat->n_trees; first += RW_SINGLE_TREES) {
        const int32_t rest = flat->n_trees - first;
        const int32_t n = rest < RW_SINGLE_TREES ? rest : RW_SINGLE_TREES;
        float found[RW_SINGLE_TOGETHER], leaf[RW_SINGLE_TREES];
        for (int32_t i = 0; i < n; i += RW_SINGLE_TOGETHER) {
            const int32_t at = first + i;
            walk_together(s, s->root + at, s->steps[at / RW_SINGLE_TOGETHER], value, found);
            for (int32_t c = 0; c < RW_SINGLE_TOGETHER && i + c < n; c++)
                leaf[s->tree_at[at + c]] = found[c];
        }
        for (int32_t i = 0; i < n; i++)
            score += (double)leaf[i];
    }
    return score;
}

double rw_single_score(const struct rw_single *single, const float *values, size_t n_values,
                       uint32_t first)
{
    return single->lanes ? single->lanes->score(single->lanes, values, n_values, first)
                         : score_by_walk(single, values, n_values, first);
}
