#include "model/shap.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "model/flat.h"

enum {
    BLOCK_DOCS = 32,     /* a tree's edges are read once for so many */
    MOST_ROOM = 1 << 25, /* doubles of a thread */
    RULE_STEPS = 100     /* Newton's method needs 3 to 6 */
};

void rw_gauss_legendre(uint32_t n, double *point, double *weight)
{
    const double pi = 3.14159265358979323846;
    for (uint32_t i = 0; i < (n + 1) / 2; i++) {
        double x = 2 * i + 1 == n ? 0.0 : cos(pi * (i + 0.75) / (n + 0.5)), slope = 1.0;
        for (int step = 0; step < RULE_STEPS; step++) {
            double p = x, before = 1.0; /* Legendre's polynomials of degree 1 and 0 */
            for (uint32_t k = 2; k <= n; k++) {
                const double next = ((2.0 * k - 1.0) * x * p - (k - 1.0) * before) / k;
                before = p;
                p = next;
            }
            slope = n * (before - x * p) / ((1.0 - x) * (1.0 + x));
            const double by = p / slope;
            if (fabs(by) <= DBL_EPSILON)
                break;
            x -= by;
        }
        point[i] = (1.0 - x) / 2.0;
        point[n - 1 - i] = (1.0 + x) / 2.0;
        weight[i] = weight[n - 1 - i] = 1.0 / ((1.0 - x) * (1.0 + x) * slope * slope);
    }
}

/* ------------------------------------------------------------------ trees as edges */

struct pending {
    int32_t node; /* above the edge */
    uint32_t depth;
    int is_left;
};

/* Scratch for a tree. */
struct making {
    const double *leaf_count;   /* of the tree */
    double *node_count;         /* [nodes] */
    const uint32_t *feature_of; /* of the explainer */
    uint32_t *last;   /* [n_features] the open edge nearest to the leaf that asks for the feature */
    uint32_t *open;   /* [leaves] edges, from the root down */
    uint32_t *unlike; /* [leaves] different features of the open edges up to each */
    struct pending *pending; /* [leaves + 1] */
    uint32_t n_open;
};

static double count_of(const struct making *making, int32_t child)
{
    return child < 0 ? making->leaf_count[~child] : making->node_count[child];
}

static void count_nodes(const struct rw_walk_node *nodes, int64_t n, struct making *making)
{
    for (int64_t at = n - 1; at >= 0; at--) /* children have larger numbers */
        making->node_count[at] =
            count_of(making, nodes[at].left) + count_of(making, nodes[at].right);
}

static void close_edges(struct making *making, struct rw_shap_edge *edges, uint32_t depth,
                        uint32_t end)
{
    while (making->n_open > depth) {
        struct rw_shap_edge *edge = &edges[making->open[--making->n_open]];
        edge->end = end;
        making->last[edge->feature] = edge->above;
    }
}

/* Writes the edge and returns where it leads. A node that no document comes to sends half of them
 * either way: any shares would do, as long as they are the same for all. */
static int32_t open_edge(struct making *making, const struct rw_walk_node *nodes,
                         const struct pending *from, struct rw_shap_edge *edges, uint32_t at)
{
    const struct rw_walk_node *node = &nodes[from->node];
    const uint32_t feature = making->feature_of[node->slot >> 1];
    const uint32_t above = making->last[feature];
    const double all = making->node_count[from->node];
    const int32_t child = from->is_left ? node->left : node->right;
    const double share = all > 0.0 ? count_of(making, child) / all : 0.5;
    edges[at] =
        (struct rw_shap_edge){.share = above == RW_NO_EDGE ? share : share * edges[above].share,
                              .cut = node->cut,
                              .slot = node->slot,
                              .feature = feature,
                              .above = above,
                              .depth = from->depth,
                              .is_left = (uint8_t)from->is_left,
                              .is_leaf = child < 0};
    making->unlike[from->depth] =
        (from->depth ? making->unlike[from->depth - 1] : 0) + (above == RW_NO_EDGE);
    making->last[feature] = at;
    making->open[making->n_open++] = at;
    return child;
}

static void make_edges(const struct rw_flat *flat, int32_t t, struct making *making,
                       struct rw_shap_edge *edges, struct rw_shap_tree *tree)
{
    const struct rw_walk_node *nodes = flat->node + flat->first_node[t];
    const float *leaves = flat->leaf + flat->first_leaf[t];
    uint32_t n = 0, n_pending = 0, most_unlike = 0;
    if (rw_flat_root(flat, t) < 0)
        return;
    count_nodes(nodes, (int64_t)(flat->first_node[t + 1] - flat->first_node[t]), making);
    making->pending[n_pending++] = (struct pending){0, 0, 0};
    making->pending[n_pending++] = (struct pending){0, 0, 1};
    while (n_pending > 0) {
        const struct pending from = making->pending[--n_pending];
        close_edges(making, edges, from.depth, n);
        const int32_t child = open_edge(making, nodes, &from, edges, n);
        if (from.depth >= tree->depth)
            tree->depth = from.depth + 1;
        if (making->unlike[from.depth] > most_unlike)
            most_unlike = making->unlike[from.depth];
        if (child < 0) {
            edges[n].leaf = leaves[~child];
        } else {
            making->pending[n_pending++] = (struct pending){child, from.depth + 1, 0};
            making->pending[n_pending++] = (struct pending){child, from.depth + 1, 1};
        }
        n++;
    }
    close_edges(making, edges, 0, n);
    tree->n_edges = n;
    tree->n_points = (most_unlike + 1) / 2;
}

static int make_trees(struct rw_ctx *ctx, struct rw_explainer *e, const double *counts)
{
    int status = RW_OK;
    const struct rw_flat *flat = &e->flat;
    struct making making = {.feature_of = e->feature_of};
    size_t most = 1;
    uint64_t first = 0;
    for (int32_t t = 0; t < flat->n_trees; t++) {
        const size_t n = (size_t)(flat->first_leaf[t + 1] - flat->first_leaf[t]);
        most = n > most ? n : most;
    }
    RW_TRY_OUT(RW_NEW(ctx, making.node_count, most));
    RW_TRY_OUT(RW_NEW(ctx, making.last, e->n_features));
    RW_TRY_OUT(RW_NEW(ctx, making.open, most));
    RW_TRY_OUT(RW_NEW(ctx, making.unlike, most));
    RW_TRY_OUT(RW_NEW(ctx, making.pending, most + 1));
    for (uint32_t f = 0; f < e->n_features; f++)
        making.last[f] = RW_NO_EDGE;
    for (int32_t t = 0; t < flat->n_trees; t++) {
        struct rw_shap_tree *tree = &e->tree[t];
        making.leaf_count = counts + flat->first_leaf[t];
        tree->first = first;
        make_edges(flat, t, &making, e->edge + first, tree);
        first += tree->n_edges;
        e->most_edges = tree->n_edges > e->most_edges ? tree->n_edges : e->most_edges;
        if ((uint64_t)tree->depth * tree->n_points > MOST_ROOM / 3)
            RW_TRY_OUT(rw_fail(ctx, RW_ERR_UNSUPPORTED,
                               "tree %d is %u splits deep: too deep to be explained", t + 1,
                               tree->depth));
        const size_t room = 3 * (size_t)tree->depth * tree->n_points;
        e->room = room > e->room ? room : e->room;
    }
out:
    rw_mem_free(making.node_count);
    rw_mem_free(making.last);
    rw_mem_free(making.open);
    rw_mem_free(making.unlike);
    rw_mem_free(making.pending);
    return status;
}

/* The rule of n points is the n-th of a triangle; only those in use are made. */
static int make_rules(struct rw_ctx *ctx, struct rw_explainer *e)
{
    size_t most = 0;
    for (int32_t t = 0; t < e->flat.n_trees; t++)
        most = e->tree[t].n_points > most ? e->tree[t].n_points : most;
    RW_TRY(RW_NEW(ctx, e->point, most * (most + 1) / 2));
    RW_TRY(RW_NEW(ctx, e->weight, most * (most + 1) / 2));
    for (int32_t t = 0; t < e->flat.n_trees; t++) {
        struct rw_shap_tree *tree = &e->tree[t];
        if (tree->n_points == 0)
            continue;
        tree->rule = (uint64_t)tree->n_points * (tree->n_points - 1) / 2;
        if (e->point[tree->rule] == 0.0)
            rw_gauss_legendre(tree->n_points, e->point + tree->rule, e->weight + tree->rule);
    }
    return RW_OK;
}

/* The mean score by the covers, and how far sums may be off. What a tree's values add
 * up to is within its depth's square in roundings: each comes of as many factors, and there are as
 * many on a path. */
static void sum_up(struct rw_explainer *e, const double *counts)
{
    const struct rw_flat *flat = &e->flat;
    double sum = 0.0, largest = 0.0;
    uint32_t depth = 0;
    for (int32_t t = 0; t < flat->n_trees; t++) {
        double tree = 0.0, n_docs = 0.0, most = 0.0;
        for (uint64_t leaf = flat->first_leaf[t]; leaf < flat->first_leaf[t + 1]; leaf++) {
            const double value = (double)flat->leaf[leaf];
            tree += value * counts[leaf];
            n_docs += counts[leaf];
            most = fabs(value) > most ? fabs(value) : most;
        }
        sum += tree / n_docs;
        largest += most;
        depth = e->tree[t].depth > depth ? e->tree[t].depth : depth;
    }
    e->base = sum;
    e->bound = 2 * DBL_EPSILON * largest * (flat->n_trees + (depth + 4.0) * (depth + 4.0));
}

/* Sets of one feature's categories are one feature. */
static int number_features(struct rw_ctx *ctx, struct rw_explainer *e)
{
    const struct rw_flat *flat = &e->flat;
    RW_TRY(RW_NEW(ctx, e->feature, flat->n_used));
    RW_TRY(RW_NEW(ctx, e->feature_of, flat->n_used));
    for (uint32_t slot = 0; slot < flat->n_used; slot++) {
        if (slot == 0 || flat->feature[slot] != flat->feature[slot - 1])
            e->feature[e->n_features++] = flat->feature[slot];
        e->feature_of[slot] = e->n_features - 1;
    }
    return RW_OK;
}

/* The trees' own covers. */
static int take_counts(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_flat *flat,
                       double *counts)
{
    for (int32_t t = 0; t < flat->n_trees; t++) {
        const struct rw_tree *tree = &model->tree[t];
        double *to = counts + flat->first_leaf[t];
        if (!rw_tree_has_covers(tree))
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "tree %d has no document counts, as the model was written by an older "
                           "version or imported: expected documents to count",
                           t + 1);
        to[0] = 1.0;
        if (tree->n_leaves > 1)
            memcpy(to, tree->docs, (size_t)tree->n_leaves * sizeof(*to));
    }
    return RW_OK;
}

/* Those of documents that go down the trees. */
static int count_cover(struct rw_ctx *ctx, const struct rw_flat *flat,
                       const struct rw_dataset *cover, double *counts)
{
    const uint64_t n_leaves = flat->first_leaf[flat->n_trees];
    uint32_t *whole = NULL;
    int status;
    if (cover->n_docs == 0)
        return rw_fail(ctx, RW_ERR_DATA, "no documents to count in the trees");
    RW_TRY_OUT(RW_NEW(ctx, whole, n_leaves));
    RW_TRY_OUT(rw_flat_count(ctx, flat, cover, whole));
    for (uint64_t leaf = 0; leaf < n_leaves; leaf++)
        counts[leaf] = whole[leaf];
out:
    rw_mem_free(whole);
    return status;
}

int rw_model_has_covers(const struct rw_model *model, int n_trees)
{
    int has_all = 1;
    for (int32_t t = 0; t < model->n_trees && (n_trees <= 0 || t < n_trees); t++)
        has_all &= rw_tree_has_covers(&model->tree[t]);
    return has_all;
}

int rw_explainer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                     const struct rw_dataset *cover, struct rw_explainer **out)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    double *counts = NULL;
    struct rw_explainer *e = NULL;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, e, 1));
    RW_TRY_OUT(rw_flat_init(ctx, &e->flat, model, n_trees));
    RW_TRY_OUT(number_features(ctx, e));
    const struct rw_flat *flat = &e->flat;
    RW_TRY_OUT(RW_NEW(ctx, counts, flat->first_leaf[flat->n_trees]));
    RW_TRY_OUT(RW_NEW(ctx, e->tree, (size_t)flat->n_trees));
    RW_TRY_OUT(RW_NEW(ctx, e->edge, 2 * flat->first_node[flat->n_trees]));
    RW_TRY_OUT(cover ? count_cover(ctx, flat, cover, counts)
                     : take_counts(ctx, model, flat, counts));
    RW_TRY_OUT(make_trees(ctx, e, counts));
    RW_TRY_OUT(make_rules(ctx, e));
    sum_up(e, counts);
    *out = e;
    e = NULL;
out:
    rw_mem_free(counts);
    rw_explainer_free(e);
    return status;
}

void rw_explainer_free(struct rw_explainer *explainer)
{
    if (!explainer)
        return;
    rw_flat_release(&explainer->flat);
    rw_mem_free(explainer->feature);
    rw_mem_free(explainer->feature_of);
    rw_mem_free(explainer->edge);
    rw_mem_free(explainer->tree);
    rw_mem_free(explainer->point);
    rw_mem_free(explainer->weight);
    rw_mem_free(explainer);
}

uint32_t rw_explainer_n_features(const struct rw_explainer *explainer)
{
    return explainer->n_features;
}

const uint32_t *rw_explainer_features(const struct rw_explainer *explainer)
{
    return explainer->feature;
}

double rw_explainer_base(const struct rw_explainer *explainer)
{
    return explainer->base;
}

double rw_explainer_bound(const struct rw_explainer *explainer)
{
    RW_DEFAULT_FPENV;
    return explainer->bound;
}

/* ------------------------------------------------------------------ values */

/* One document and one tree. */
struct walk {
    const struct rw_shap_edge *edge; /* of the tree */
    const double *point, *weight;    /* [n] */
    uint32_t n;
    const float *value; /* [n_used] of the document */
    double *shap;       /* [n_features] */
    uint8_t *passes; /* [edges] o: the document passes this edge and those above of its feature */
    uint32_t *open;  /* [depth] */
    uint32_t n_open;
    /* [depth][n]: the edge's factor at the rule's points; the product of the factors down to it,
     * one a feature; the sum of value x product of the leaves below */
    double *factor, *product, *sum;
};

/* Fills the edge's arrays. 0: nothing below it counts for this document, as it does not come here,
 * and none of the covers' documents does. */
static int enter(struct walk *w, uint32_t at)
{
    const struct rw_shap_edge *edge = &w->edge[at];
    const float v = w->value[edge->slot >> 1];
    const int goes_left = v != v ? (int)(edge->slot & 1) : v <= edge->cut;
    const int passes =
        goes_left == edge->is_left && (edge->above == RW_NO_EDGE || w->passes[edge->above]);
    w->passes[at] = (uint8_t)passes;
    if (!passes && edge->share == 0.0)
        return 0;
    const size_t row = (size_t)edge->depth * w->n;
    double *factor = w->factor + row, *product = w->product + row, *sum = w->sum + row;
    for (uint32_t q = 0; q < w->n; q++) {
        const double t = w->point[q];
        factor[q] = passes ? (1.0 - t) * edge->share + t : (1.0 - t) * edge->share;
        product[q] = edge->depth ? (product - w->n)[q] * factor[q] : factor[q];
    }
    if (edge->above != RW_NO_EDGE) {
        const double *old = w->factor + (size_t)w->edge[edge->above].depth * w->n;
        for (uint32_t q = 0; q < w->n; q++)
            product[q] /= old[q];
    }
    for (uint32_t q = 0; q < w->n; q++)
        sum[q] = edge->is_leaf ? (double)edge->leaf * product[q] : 0.0;
    w->open[w->n_open++] = at;
    return 1;
}

/* (o - z) x the integral of the sum without the edge's own factor. */
static double integral(const struct walk *w, uint32_t at, const double *sum)
{
    const double *factor = w->factor + (size_t)w->edge[at].depth * w->n;
    double total = 0.0;
    for (uint32_t q = 0; q < w->n; q++)
        total += w->weight[q] * sum[q] / factor[q];
    return (w->passes[at] - w->edge[at].share) * total;
}

/* All below is summed: the feature gets its share, in place of what the edge above of the same
 * feature will give it for the same leaves. */
static void leave(struct walk *w)
{
    const uint32_t at = w->open[--w->n_open];
    const struct rw_shap_edge *edge = &w->edge[at];
    double *sum = w->sum + (size_t)edge->depth * w->n;
    double share = integral(w, at, sum);
    if (edge->above != RW_NO_EDGE)
        share -= integral(w, edge->above, sum);
    w->shap[edge->feature] += share;
    for (uint32_t q = 0; edge->depth > 0 && q < w->n; q++)
        (sum - w->n)[q] += sum[q];
}

static void explain(struct walk *w, uint32_t n_edges)
{
    w->n_open = 0;
    for (uint32_t at = 0; at < n_edges;) {
        while (w->n_open > 0 && w->edge[w->open[w->n_open - 1]].depth >= w->edge[at].depth)
            leave(w);
        at = enter(w, at) ? at + 1 : w->edge[at].end;
    }
    while (w->n_open > 0)
        leave(w);
}

struct explain_job {
    const struct rw_explainer *e;
    const struct rw_column *const *columns;
    char *scratch;        /* [threads][scratch_bytes] */
    size_t scratch_bytes; /* room, rows, open, passes: see explain_block */
    uint32_t begin, n;    /* documents */
    double *values;
};

static void explain_block(const struct explain_job *job, uint32_t from, uint32_t n, char *scratch)
{
    const struct rw_explainer *e = job->e;
    const size_t n_used = e->flat.n_used;
    double *room = (double *)scratch;        /* factor, product, sum */
    float *rows = (float *)(room + e->room); /* [BLOCK_DOCS][n_used], and a column */
    uint32_t *open = (uint32_t *)(rows + BLOCK_DOCS * (n_used + 1)); /* [most edges] */
    const size_t n_features = e->n_features;
    double *values = job->values + from * n_features;
    rw_flat_gather(&e->flat, job->columns, job->begin + from, job->begin + from + n, rows,
                   rows + BLOCK_DOCS * n_used);
    memset(values, 0, n * n_features * sizeof(*values));
    for (int32_t t = 0; t < e->flat.n_trees; t++) {
        const struct rw_shap_tree *tree = &e->tree[t];
        const size_t n_products = (size_t)tree->depth * tree->n_points;
        struct walk walk = {.edge = e->edge + tree->first,
                            .point = e->point + tree->rule,
                            .weight = e->weight + tree->rule,
                            .n = tree->n_points,
                            .passes = (uint8_t *)(open + e->most_edges),
                            .open = open,
                            .factor = room,
                            .product = room + n_products,
                            .sum = room + 2 * n_products};
        for (uint32_t d = 0; d < n; d++) {
            walk.value = rows + d * n_used;
            walk.shap = values + d * n_features;
            explain(&walk, tree->n_edges);
        }
    }
}

static int explain_blocks(void *user, struct rw_share *share)
{
    const struct explain_job *job = user;
    for (uint64_t block, end; rw_share_next(share, &block, &end);) {
        const uint32_t from = (uint32_t)block * BLOCK_DOCS, left = job->n - from;
        const uint32_t n = left < BLOCK_DOCS ? left : BLOCK_DOCS;
        explain_block(job, from, n, job->scratch + job->scratch_bytes * (size_t)share->thread);
        rw_share_poll(share, n);
    }
    return RW_OK;
}

int rw_explainer_run(struct rw_ctx *ctx, const struct rw_explainer *e,
                     const struct rw_dataset *dataset, uint32_t begin, uint32_t n, double *values)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    const struct rw_column **columns = NULL;
    const size_t bytes = e->room * sizeof(double) +
                         BLOCK_DOCS * ((size_t)e->flat.n_used + 1) * sizeof(float) +
                         e->most_edges * (sizeof(uint32_t) + sizeof(uint8_t));
    struct explain_job job = {.e = e, .begin = begin, .n = n, .values = values};
    if (n > dataset->n_docs || begin > dataset->n_docs - n)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "documents %u to %u of %u", begin, begin + n,
                       dataset->n_docs);
    job.scratch_bytes = (bytes + 127) / 64 * 64; /* two threads write to no line of the cache */
    RW_TRY_OUT(rw_flat_columns(ctx, &e->flat, dataset, &columns));
    RW_TRY_OUT(RW_NEW_RAW(ctx, job.scratch, job.scratch_bytes * (size_t)ctx->n_threads));
    job.columns = columns;
    const int has_begun = rw_stage_begin(ctx, "explanations", n, 1);
    status = rw_parallel_long(ctx, ctx->n_threads, ((uint64_t)n + BLOCK_DOCS - 1) / BLOCK_DOCS, 1,
                              explain_blocks, &job);
    rw_stage_end(ctx, has_begun);
out:
    rw_mem_free(columns);
    rw_mem_free(job.scratch);
    return status;
}

int rw_explainer_leaves(struct rw_ctx *ctx, const struct rw_explainer *e,
                        const struct rw_dataset *dataset, uint32_t doc, int32_t *leaves)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    const struct rw_column **columns = NULL;
    float *row = NULL;
    if (doc >= dataset->n_docs)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "document %u of %u", doc, dataset->n_docs);
    RW_TRY_OUT(rw_flat_columns(ctx, &e->flat, dataset, &columns));
    RW_TRY_OUT(RW_NEW(ctx, row, (size_t)e->flat.n_used + 1));
    rw_flat_gather(&e->flat, columns, doc, doc + 1, row, row + e->flat.n_used);
    for (int32_t t = 0; t < e->flat.n_trees; t++)
        leaves[t] =
            rw_walk(e->flat.node + e->flat.first_node[t], rw_flat_root(&e->flat, t), row, 1);
out:
    rw_mem_free(columns);
    rw_mem_free(row);
    return status;
}
