#include "model/single_lanes.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/thread.h"
#include "model/thresholds.h"

/* One thread of a server of 2024: nanoseconds of a group's node, with AVX2 also for each 16
 * columns; of a column. */
#define NODE_NS            2.5
#define NODE_TABLE_NS_AVX2 0.7
#define COLUMN_NS          1.5

enum { MOST_NODES = 1 << 20 }; /* of groups: 256 MiB; leaves then have 32-bit numbers */

void rw_lanes_free(struct rw_lanes *lanes)
{
    if (!lanes)
        return;
    rw_mem_free(lanes->feature);
    rw_mem_free(lanes->pivot);
    rw_mem_free(lanes->first_cut);
    rw_mem_free(lanes->cut);
    rw_mem_free(lanes->node);
    rw_mem_free(lanes->missing_left);
    rw_mem_free(lanes->first_node);
    rw_mem_free(lanes->first_leaf);
    rw_mem_free(lanes->leaf);
    rw_mem_free(lanes);
}

static uint32_t leaves_of(const struct rw_flat *flat, int32_t tree)
{
    return (uint32_t)(flat->first_leaf[tree + 1] - flat->first_leaf[tree]);
}

/* ---- what it takes ---- */

/* *table_ns: what a node takes for each 16 columns. NULL: there is none. */
static rw_lanes_fn function_of(enum rw_isa isa, double *table_ns)
{
    *table_ns = 0.0;
#if RW_HAS_X86
    if (isa >= RW_ISA_AVX512 && __builtin_cpu_supports("avx512vbmi"))
        return rw_lanes_score_avx512;
    *table_ns = NODE_TABLE_NS_AVX2;
    if (isa >= RW_ISA_AVX2)
        return rw_lanes_score_avx2;
#endif
    (void)isa;
    return NULL;
}

/* Nodes of all groups, a group's as many as its largest tree has; 0 if a tree is too large. */
static uint64_t count_nodes(const struct rw_flat *flat)
{
    uint64_t n = 0;
    uint32_t most = 1;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const uint32_t n_leaves = leaves_of(flat, i);
        if (n_leaves > RW_LANES_LEAVES)
            return 0;
        most = n_leaves > most ? n_leaves : most;
        if (i % RW_LANES == RW_LANES - 1 || i == flat->n_trees - 1) {
            n += most - 1;
            most = 1;
        }
    }
    return n;
}

double rw_lanes_doc_ns(const struct rw_flat *flat, enum rw_isa isa)
{
    double table_ns;
    const rw_lanes_fn score = function_of(isa, &table_ns);
    const double node_ns = NODE_NS + table_ns * ceil(flat->n_used / 16.0);
    const uint64_t n_nodes = count_nodes(flat);
    return score && n_nodes > 0 ? node_ns * (double)n_nodes + COLUMN_NS * flat->n_used : INFINITY;
}

/* ---- columns ---- */

/* While a model is made. */
struct maker {
    const struct rw_flat *flat;
    struct rw_lanes *lanes;
    struct rw_thresholds thresholds; /* by slot */
    uint32_t *first_column;          /* [n_used] of a slot; owned */
};

/* 0: there are too many. */
static int count_columns(struct maker *m)
{
    uint64_t n = 0;
    for (uint32_t s = 0; s < m->flat->n_used; s++) {
        m->first_column[s] = (uint32_t)n;
        n += (m->thresholds.n[s] + RW_LANES_CUTS - 1) / RW_LANES_CUTS;
        if (n > RW_LANES_COLUMNS)
            return 0;
    }
    m->lanes->n_columns = (uint32_t)n;
    return 1;
}

/* Blocks of all columns. A search goes past the last pivot that is below a value, so there is a
 * block after each threshold that is a pivot. */
static int make_columns(struct rw_ctx *ctx, struct maker *m)
{
    struct rw_lanes *l = m->lanes;
    uint32_t column = 0, at = 0;
    uint64_t room = 0;
    for (uint32_t s = 0; s < m->flat->n_used; s++)
        room += m->thresholds.n[s] + 2 * RW_LANES_PIVOTS * (m->thresholds.n[s] / RW_LANES_CUTS + 1);
    RW_TRY(RW_NEW(ctx, l->feature, l->n_columns));
    RW_TRY(RW_NEW(ctx, l->pivot, (size_t)l->n_columns * RW_LANES_PIVOTS));
    RW_TRY(RW_NEW(ctx, l->first_cut, l->n_columns));
    RW_TRY(RW_NEW(ctx, l->cut, room));
    for (uint32_t s = 0; s < m->flat->n_used; s++) {
        for (uint32_t done = 0; done < m->thresholds.n[s]; done += RW_LANES_CUTS, column++) {
            const uint32_t rest = m->thresholds.n[s] - done;
            const uint32_t n = rest < RW_LANES_CUTS ? rest : RW_LANES_CUTS;
            const uint32_t n_blocks = n / RW_LANES_PIVOTS + 1;
            l->feature[column] = m->flat->feature[s];
            l->first_cut[column] = at;
            for (uint32_t i = 0; i < n_blocks * RW_LANES_PIVOTS; i++)
                l->cut[at + i] = i < n ? rw_threshold(&m->thresholds, s, done + i) : INFINITY;
            for (uint32_t i = 0; i < RW_LANES_PIVOTS; i++) {
                const uint32_t last = i * RW_LANES_PIVOTS + RW_LANES_PIVOTS - 1;
                l->pivot[column * RW_LANES_PIVOTS + i] = last < n ? l->cut[at + last] : INFINITY;
            }
            at += n_blocks * RW_LANES_PIVOTS;
        }
    }
    return RW_OK;
}

/* ---- trees ---- */

static void put_node(const struct maker *m, struct rw_lanes_node *to, uint64_t *missing_left,
                     uint32_t lane, const struct rw_walk_node *node)
{
    const uint32_t number = rw_threshold_of(&m->thresholds, node);
    to->column[lane] = (uint8_t)(m->first_column[node->slot >> 1] + number / RW_LANES_CUTS);
    to->cut[lane] = (uint8_t)(number % RW_LANES_CUTS);
    *missing_left |= (uint64_t)(node->slot & 1) << lane;
}

/* A tree's nodes, each before those below it and its left side before its right one. */
static void put_tree(const struct maker *m, int32_t tree, struct rw_lanes_node *to,
                     uint64_t *missing_left, float *leaf)
{
    const struct rw_flat *flat = m->flat;
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    const float *values = flat->leaf + flat->first_leaf[tree];
    const uint32_t lane = (uint32_t)tree % RW_LANES;
    struct {
        int32_t at;
        int32_t parent; /* of which it is the right side; or -1 */
    } stack[RW_LANES_LEAVES];
    uint32_t n = 1, n_nodes = 0, n_leaves = 0;
    stack[0].at = rw_flat_root(flat, tree);
    stack[0].parent = -1;
    while (n > 0) {
        int32_t at = stack[--n].at;
        if (stack[n].parent >= 0)
            to[stack[n].parent].right[lane] = (uint8_t)n_leaves;
        for (; at >= 0; at = nodes[at].left) {
            put_node(m, &to[n_nodes], &missing_left[n_nodes], lane, &nodes[at]);
            to[n_nodes].start[lane] = (uint8_t)n_leaves;
            stack[n].at = nodes[at].right;
            stack[n++].parent = (int32_t)n_nodes++;
        }
        leaf[n_leaves++] = values[~at];
    }
}

static int put_groups(void *user, struct rw_share *share)
{
    const struct maker *m = user;
    const struct rw_lanes *l = m->lanes;
    for (uint64_t group, end; rw_share_next(share, &group, &end);) {
        const uint32_t first = l->first_node[group];
        for (int32_t lane = 0; lane < RW_LANES; lane++) {
            const int32_t tree = (int32_t)group * RW_LANES + lane;
            if (tree < l->n_trees)
                put_tree(m, tree, l->node + first, l->missing_left + first,
                         l->leaf + l->first_leaf[tree]);
        }
    }
    return RW_OK;
}

static int make_trees(struct rw_ctx *ctx, struct maker *m, uint64_t n_nodes)
{
    const struct rw_flat *flat = m->flat;
    struct rw_lanes *l = m->lanes;
    const uint32_t n_leaves = (uint32_t)flat->first_leaf[flat->n_trees];
    RW_TRY(RW_NEW(ctx, l->node, n_nodes));
    RW_TRY(RW_NEW(ctx, l->missing_left, n_nodes));
    RW_TRY(RW_NEW(ctx, l->first_node, l->n_groups + 1));
    RW_TRY(RW_NEW(ctx, l->first_leaf, (size_t)l->n_groups * RW_LANES));
    RW_TRY(RW_NEW(ctx, l->leaf, (size_t)n_leaves + 1)); /* the last one of what is no tree */
    for (uint32_t group = 0; group < l->n_groups; group++) {
        uint32_t most = 1;
        for (uint32_t lane = 0; lane < RW_LANES; lane++) {
            const int32_t tree = (int32_t)(group * RW_LANES + lane);
            const uint32_t n = tree < l->n_trees ? leaves_of(flat, tree) : 0;
            most = n > most ? n : most;
            l->first_leaf[tree] = n ? (uint32_t)flat->first_leaf[tree] : n_leaves;
        }
        l->first_node[group + 1] = l->first_node[group] + most - 1;
    }
    (void)rw_parallel(ctx, rw_flat_threads(ctx, flat), l->n_groups, 1, put_groups, m);
    return RW_OK;
}

/* Whether every sum of some trees' leaves is a double, whatever they are: all are multiples of one
 * power of two, and 2^52 of it are more than the largest sum. */
static int is_any_order(const struct rw_flat *flat)
{
    double sum = 0.0;
    int unit = 128; /* its exponent; no leaf is so large */
    for (int32_t i = 0; i < flat->n_trees; i++) {
        float most = 0.0f;
        for (uint64_t j = flat->first_leaf[i]; j < flat->first_leaf[i + 1]; j++) {
            const float size = fabsf(flat->leaf[j]);
            const uint32_t bits = rw_bits_of_float(size);
            most = size > most ? size : most;
            if (bits == 0)
                continue;
            const uint32_t exponent = bits >> 23; /* 0 of the smallest: then without the 2^23 */
            const uint32_t mantissa = (bits & 0x7fffff) | (exponent ? 0x800000 : 0);
            const int lowest = (int)(exponent ? exponent : 1) - 150 + __builtin_ctz(mantissa);
            unit = lowest < unit ? lowest : unit;
        }
        sum += (double)most;
    }
    return sum < ldexp(1.0, unit + 52);
}

/* 1: done; 0: the model is not of the kind. */
static int make(struct rw_ctx *ctx, struct rw_lanes *l, const struct rw_flat *flat,
                uint64_t n_nodes)
{
    struct maker m = {.flat = flat, .lanes = l};
    int status;
    l->absent = flat->absent;
    l->n_trees = flat->n_trees;
    l->n_groups = ((uint32_t)flat->n_trees + RW_LANES - 1) / RW_LANES;
    l->any_order = is_any_order(flat);
    RW_TRY_OUT(rw_thresholds_init(ctx, &m.thresholds, flat, 1));
    RW_TRY_OUT(RW_NEW(ctx, m.first_column, flat->n_used));
    status = count_columns(&m);
    if (!status)
        goto out;
    RW_TRY_OUT(make_columns(ctx, &m));
    RW_TRY_OUT(make_trees(ctx, &m, n_nodes));
    status = 1;
out:
    rw_thresholds_release(&m.thresholds);
    rw_mem_free(m.first_column);
    return status;
}

int rw_lanes_new(struct rw_ctx *ctx, const struct rw_flat *flat, enum rw_isa isa,
                 struct rw_lanes **out)
{
    double table_ns;
    const rw_lanes_fn score = function_of(isa, &table_ns);
    const uint64_t n_nodes = count_nodes(flat);
    struct rw_lanes *lanes;
    *out = NULL;
    if (!score || n_nodes == 0 || n_nodes > MOST_NODES || flat->n_used > RW_LANES_COLUMNS)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, lanes, 1));
    lanes->score = score;
    const int status = make(ctx, lanes, flat, n_nodes);
    if (status > 0)
        *out = lanes;
    else
        rw_lanes_free(lanes);
    return status < 0 ? status : RW_OK;
}
