/* SHAP values of trees: the effect of each feature of a document on its score, compared with the
 * base. The base is the sum over the trees of the mean leaf value, weighted by the leaves' covers,
 * which are numbers of documents: those of training (model.h), or those counted in a data set. The
 * SHAP values of a document add up to its score minus the base.
 *
 * The values are path-dependent, as Lundberg, Erion and Lee define them ("Consistent
 * individualized feature attribution for tree ensembles", 2018, algorithms 1 and 2). Only the
 * features of a set S are known. At a split on another feature, a document goes to both sides,
 * in the proportions of the covers. The paper's algorithm 2 adds up weights of sets by recurrences.
 * It removes a feature from a path by division, and its subtractions cancel in deep trees. Here the
 * weight of a leaf is an integral of products that are never negative. On the path to a leaf, let
 * z_j be the product, over the splits on feature j, of the share of the split's documents (by the
 * covers) that follow the path. Let o_j be 1 if the explained document follows the path at all
 * splits on feature j, else 0. A leaf of value v gives to feature i
 *
 *     v (o_i - z_i) integral over t in [0, 1] of the product over j != i of ((1 - t) z_j + t o_j).
 *
 * The integral of t^k (1 - t)^m is the Shapley weight k! m! / (k + m + 1)!. The product is
 * a polynomial of t. The Gauss-Legendre rule of n / 2 points, rounded up, is exact for n features.
 * Products of all leaves below a split are added up before they are divided by the split's
 * factor. So a tree takes leaves x points steps (the idea of Yu et al., "Linear TreeShap",
 * 2022). */
#include <float.h>

#include "model/scorer.h"

enum {
    BLOCK_DOCS = 32,     /* documents per pass over a tree's edges */
    MOST_ROOM = 1 << 25, /* most doubles per thread for products; deeper trees are refused */
    RULE_STEPS = 100     /* most iterations of Newton's method, which needs 3 to 6 */
};

/* The edge that leads into a node or leaf. Edges are in the order of a walk, left before right. */
struct edge {
    double share;     /* z of the feature: product of the shares of its edges, root to here */
    float cut;        /* threshold of the node above */
    float leaf;       /* value of the leaf, if the edge leads to one */
    uint32_t slot;    /* of the node above: 2 * slot of the feature + (missing goes left) */
    uint32_t feature; /* index of the feature in the explainer's list */
    uint32_t above;   /* nearest edge above with the same feature; NO_EDGE: none above */
    uint32_t end;     /* the first edge after the subtree of this one */
    uint32_t depth;   /* 0: the node above is the root */
    uint8_t is_left;  /* 1: the edge to the left child */
    uint8_t is_leaf;  /* 1: the edge leads to a leaf */
};
#define NO_EDGE UINT32_MAX

struct explained_tree {
    uint64_t first;    /* index of its first edge; `above` and `end` count from there */
    uint32_t n_edges;  /* 0: the tree has one leaf */
    uint32_t depth;    /* edges on the longest path */
    uint32_t n_points; /* points of the rule: half of the most features on a path, rounded up */
    uint64_t rule;     /* index of the rule's first point in point and weight */
};

/* The state of a struct rw_explainer, which is freed with it. All arrays are in its arena. */
struct explainer {
    struct rw_explainer shown; /* the public part, which rw_explainer_new returns */
    struct rw_flat flat;       /* owned */
    uint32_t n_features;
    uint32_t *feature;           /* [n_features] ids, ascending, without duplicates */
    uint32_t *feature_of;        /* [flat.n_used] index in `feature` of each slot */
    struct edge *edge;           /* of all trees */
    struct explained_tree *tree; /* [flat.n_trees] */
    double *point, *weight;      /* of all rules in use, see make_rules */
    size_t room;                 /* doubles that a thread needs for the deepest tree's products */
    uint32_t most_edges;         /* edges of the largest tree */
};

void rw_gauss_legendre(uint32_t n, double *point, double *weight)
{
    const double pi = 3.14159265358979323846;
    for (uint32_t i = 0; i < (n + 1) / 2; i++) {
        double x = 2 * i + 1 == n ? 0.0 : cos(pi * (i + 0.75) / (n + 0.5)), slope = 1.0;
        for (int step = 0; step < RULE_STEPS; step++) {
            double p = x, before = 1.0; /* Legendre polynomials of degree 1 and 0 */
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

/* ---- trees as edges ---- */

/* An edge that make_edges has yet to open. */
struct pending {
    int32_t node; /* the node above the edge */
    uint32_t depth;
    int is_left;
};

/* Scratch memory to prepare one tree. An edge is open while the walk is in its subtree. */
struct making {
    const double *leaf_count;   /* [leaves] cover of each leaf of the tree, in documents */
    double *node_count;         /* [nodes] cover of each node */
    const uint32_t *feature_of; /* of the explainer */
    uint32_t *last;             /* [n_features] lowest open edge with the feature; NO_EDGE: none */
    uint32_t *open;             /* [n_open] open edges from the root down, by depth */
    uint32_t *n_distinct;    /* [n_open] number of distinct features in the open edges up to each */
    struct pending *pending; /* [leaves + 1] */
    uint32_t n_open;
};

static double count_of(const struct making *making, int32_t child)
{
    return child < 0 ? making->leaf_count[~child] : making->node_count[child];
}

/* Closes the open edges from this depth on. end: the next edge. */
static void close_edges(struct making *making, struct edge *edges, uint32_t depth, uint32_t end)
{
    while (making->n_open > depth) {
        struct edge *edge = &edges[making->open[--making->n_open]];
        edge->end = end;
        making->last[edge->feature] = edge->above;
    }
}

/* Writes the edge and returns the node or leaf that it leads to. If a node has a cover of 0, both
 * of its edges get the share 1/2. Any shares would do, if they are equal for all documents. */
static int32_t open_edge(struct making *making, const struct rw_walk_node *nodes,
                         const struct pending *from, struct edge *edges, uint32_t at)
{
    const struct rw_walk_node *node = &nodes[from->node];
    const uint32_t feature = making->feature_of[node->slot >> 1];
    const uint32_t above = making->last[feature];
    const double all = making->node_count[from->node];
    const int32_t child = from->is_left ? node->left : node->right;
    const double share = all > 0.0 ? count_of(making, child) / all : 0.5;
    edges[at] = (struct edge){.share = above == NO_EDGE ? share : share * edges[above].share,
                              .cut = node->cut,
                              .slot = node->slot,
                              .feature = feature,
                              .above = above,
                              .depth = from->depth,
                              .is_left = (uint8_t)from->is_left,
                              .is_leaf = child < 0};
    making->n_distinct[from->depth] =
        (from->depth ? making->n_distinct[from->depth - 1] : 0) + (above == NO_EDGE);
    making->last[feature] = at;
    making->open[making->n_open++] = at;
    return child;
}

static void make_edges(const struct rw_flat *flat, int32_t t, struct making *making,
                       struct edge *edges, struct explained_tree *tree)
{
    const struct rw_walk_node *nodes = flat->node + flat->first_node[t];
    const float *leaves = flat->leaf + flat->first_leaf[t];
    uint32_t n = 0, n_pending = 0, most_distinct = 0;
    if (rw_flat_root(flat, t) < 0)
        return;
    const int64_t n_nodes = (int64_t)(flat->first_node[t + 1] - flat->first_node[t]);
    for (int64_t at = n_nodes - 1; at >= 0; at--) /* children have larger numbers */
        making->node_count[at] =
            count_of(making, nodes[at].left) + count_of(making, nodes[at].right);
    making->pending[n_pending++] = (struct pending){0, 0, 0};
    making->pending[n_pending++] = (struct pending){0, 0, 1};
    while (n_pending > 0) {
        const struct pending from = making->pending[--n_pending];
        close_edges(making, edges, from.depth, n);
        const int32_t child = open_edge(making, nodes, &from, edges, n);
        if (from.depth >= tree->depth)
            tree->depth = from.depth + 1;
        if (making->n_distinct[from.depth] > most_distinct)
            most_distinct = making->n_distinct[from.depth];
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
    tree->n_points = (most_distinct + 1) / 2;
}

static int make_trees(struct rw_ctx *ctx, struct explainer *e, const double *counts,
                      struct rw_arena *scratch)
{
    const struct rw_flat *flat = &e->flat;
    struct making making = {.feature_of = e->feature_of};
    const size_t most = flat->most_leaves;
    uint64_t first = 0;
    RW_TRY(RW_ARENA_NEW(ctx, scratch, making.node_count, most));
    RW_TRY(RW_ARENA_NEW(ctx, scratch, making.last, e->n_features));
    RW_TRY(RW_ARENA_NEW(ctx, scratch, making.open, most));
    RW_TRY(RW_ARENA_NEW(ctx, scratch, making.n_distinct, most));
    RW_TRY(RW_ARENA_NEW(ctx, scratch, making.pending, most + 1));
    for (uint32_t f = 0; f < e->n_features; f++)
        making.last[f] = NO_EDGE;
    for (int32_t t = 0; t < flat->n_trees; t++) {
        struct explained_tree *tree = &e->tree[t];
        making.leaf_count = counts + flat->first_leaf[t];
        tree->first = first;
        make_edges(flat, t, &making, e->edge + first, tree);
        first += tree->n_edges;
        e->most_edges = tree->n_edges > e->most_edges ? tree->n_edges : e->most_edges;
        if ((uint64_t)tree->depth * tree->n_points > MOST_ROOM / 3)
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "tree %d is %u splits deep: too deep to be explained", t + 1,
                           tree->depth);
        const size_t room = 3 * (size_t)tree->depth * tree->n_points;
        e->room = room > e->room ? room : e->room;
    }
    return RW_OK;
}

/* Computes the rules that are in use. Rule n has n points, and begins at index n (n - 1) / 2. */
static int make_rules(struct rw_ctx *ctx, struct explainer *e)
{
    size_t most = 0;
    for (int32_t t = 0; t < e->flat.n_trees; t++)
        most = e->tree[t].n_points > most ? e->tree[t].n_points : most;
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(e), e->point, most * (most + 1) / 2));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(e), e->weight, most * (most + 1) / 2));
    for (int32_t t = 0; t < e->flat.n_trees; t++) {
        struct explained_tree *tree = &e->tree[t];
        if (tree->n_points == 0)
            continue;
        tree->rule = (uint64_t)tree->n_points * (tree->n_points - 1) / 2;
        if (e->point[tree->rule] == 0.0)
            rw_gauss_legendre(tree->n_points, e->point + tree->rule, e->weight + tree->rule);
    }
    return RW_OK;
}

/* Computes the base (see the head) and a bound of the rounding errors. The sum of a
 * tree's values has at most about depth^2 rounding errors: each value is a product of at most depth
 * factors, and a path has at most depth values. */
static void sum_up(struct explainer *e, const double *counts)
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
    e->shown.base = sum;
    e->shown.bound = 2 * DBL_EPSILON * largest * (flat->n_trees + (depth + 4.0) * (depth + 4.0));
}

/* Numbers the features. All category sets of one feature count as one feature. */
static int number_features(struct rw_ctx *ctx, struct explainer *e)
{
    const struct rw_flat *flat = &e->flat;
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(e), e->feature, flat->n_used));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(e), e->feature_of, flat->n_used));
    for (uint32_t slot = 0; slot < flat->n_used; slot++) {
        if (rw_flat_is_next_feature(flat, slot))
            e->feature[e->n_features++] = flat->feature[slot];
        e->feature_of[slot] = e->n_features - 1;
    }
    return RW_OK;
}

/* Copies the covers of the model's trees. counts: [leaves of all trees], written. */
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

/* Counts the documents of a data set that reach each leaf, as covers. counts: [leaves of all
 * trees], written. */
static int count_cover(struct rw_ctx *ctx, const struct rw_flat *flat,
                       const struct rw_dataset *cover, double *counts)
{
    const uint64_t n_leaves = flat->first_leaf[flat->n_trees];
    RW_FREED uint32_t *whole = NULL;
    if (cover->n_docs == 0)
        return rw_fail(ctx, RW_ERR_DATA, "no documents to count in the trees");
    RW_TRY(RW_NEW(ctx, whole, n_leaves));
    RW_TRY(rw_flat_walk(ctx, flat, cover, NULL, NULL, whole));
    for (uint64_t leaf = 0; leaf < n_leaves; leaf++)
        counts[leaf] = whole[leaf];
    return RW_OK;
}

int rw_model_has_covers(const struct rw_model *model, int n_trees)
{
    int has_all = 1;
    for (int32_t t = 0; t < model->n_trees && (n_trees <= 0 || t < n_trees); t++)
        has_all &= rw_tree_has_covers(&model->tree[t]);
    return has_all;
}

/* Frees the parts that are not in the result's arena. */
static void free_flat(void *explainer)
{
    rw_flat_release(&((struct explainer *)explainer)->flat);
}

static int make_explainer(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                          const struct rw_dataset *cover, struct explainer *e,
                          struct rw_arena *scratch)
{
    struct rw_arena *arena = rw_result_arena(e);
    const struct rw_flat *flat = &e->flat;
    double *counts;
    RW_TRY(rw_arena_own(ctx, arena, e, free_flat));
    RW_TRY(rw_flat_init_scores(ctx, &e->flat, model, n_trees));
    RW_TRY(number_features(ctx, e));
    RW_TRY(RW_ARENA_NEW(ctx, scratch, counts, flat->first_leaf[flat->n_trees]));
    RW_TRY(RW_ARENA_NEW(ctx, arena, e->tree, (size_t)flat->n_trees));
    RW_TRY(RW_ARENA_NEW(ctx, arena, e->edge, 2 * flat->first_node[flat->n_trees]));
    RW_TRY(cover ? count_cover(ctx, flat, cover, counts) : take_counts(ctx, model, flat, counts));
    RW_TRY(make_trees(ctx, e, counts, scratch));
    RW_TRY(make_rules(ctx, e));
    sum_up(e, counts);
    e->shown.n_features = e->n_features;
    e->shown.features = e->feature;
    return RW_OK;
}

int rw_explainer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                     const struct rw_dataset *cover, struct rw_explainer **out)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(rw_arena_free) struct rw_arena scratch = {0};
    RW_SCOPED(rw_free) struct explainer *e = NULL;
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&e, sizeof(*e)));
    RW_TRY(make_explainer(ctx, model, n_trees, cover, e, &scratch));
    *out = &RW_TAKE(e)->shown;
    return RW_OK;
}

/* ---- values ---- */

/* The walk of one document over the edges of one tree. o, z and t are those of the head. */
struct walk {
    const struct edge *edge;      /* of the tree */
    const double *point, *weight; /* [n] the rule */
    uint32_t n;
    const float *value; /* [n_used] of the document, by slot */
    double *shap;       /* [n_features] to which the tree's values are added */
    uint8_t *passes; /* [edges] o: 1 if the document passes this edge and those above with the same
                        feature */
    uint32_t *open;  /* [n_open] open edges from the root down */
    uint32_t n_open;
    /* [depth][n] for each open edge, at the points t of the rule. Factors are (1 - t) z + t o.
     * Products are those of the factors down to the edge, with only the lowest factor of each
     * feature. Sums are those of leaf value x product over the leaves below that were walked. */
    double *factor, *product, *sum;
};

/* Opens an edge. Returns 0 if its subtree contributes nothing, because both o and z are 0. */
static int enter(struct walk *w, uint32_t at)
{
    const struct edge *edge = &w->edge[at];
    const float v = w->value[edge->slot >> 1];
    const int goes_left = v != v ? (int)(edge->slot & 1) : v <= edge->cut;
    const int passes =
        goes_left == edge->is_left && (edge->above == NO_EDGE || w->passes[edge->above]);
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
    if (edge->above != NO_EDGE) {
        const double *old = w->factor + (size_t)w->edge[edge->above].depth * w->n;
        for (uint32_t q = 0; q < w->n; q++)
            product[q] /= old[q];
    }
    for (uint32_t q = 0; q < w->n; q++)
        sum[q] = edge->is_leaf ? (double)edge->leaf * product[q] : 0.0;
    w->open[w->n_open++] = at;
    return 1;
}

/* Returns (o - z) of the edge times the integral of `sum` without the edge's factor. */
static double integral(const struct walk *w, uint32_t at, const double *sum)
{
    const double *factor = w->factor + (size_t)w->edge[at].depth * w->n;
    double total = 0.0;
    for (uint32_t q = 0; q < w->n; q++)
        total += w->weight[q] * sum[q] / factor[q];
    return (w->passes[at] - w->edge[at].share) * total;
}

/* Closes the lowest open edge, after its subtree: adds its effect to the value of its feature. The
 * edge above with the same feature will add an effect for these leaves as well, which is subtracted
 * here. */
static void leave(struct walk *w)
{
    const uint32_t at = w->open[--w->n_open];
    const struct edge *edge = &w->edge[at];
    double *sum = w->sum + (size_t)edge->depth * w->n;
    double share = integral(w, at, sum);
    if (edge->above != NO_EDGE)
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
    const struct explainer *e;
    const struct rw_column *const *columns;
    char *scratch;        /* [threads][scratch_bytes] */
    size_t scratch_bytes; /* see explain_block for the layout: room, rows, open, passes */
    uint32_t begin, n;    /* the first document, and the number of documents */
    double *values;       /* [n][n_features] */
    int32_t *leaves;      /* [n][n_trees]; NULL: not needed */
};

static void explain_block(const struct explain_job *job, uint32_t from, uint32_t n, char *scratch)
{
    const struct explainer *e = job->e;
    const size_t n_used = e->flat.n_used;
    double *room = (double *)scratch;        /* factor, product, sum */
    float *rows = (float *)(room + e->room); /* [BLOCK_DOCS][n_used], plus one column */
    uint32_t *open = (uint32_t *)(rows + BLOCK_DOCS * (n_used + 1)); /* [most edges] */
    const size_t n_features = e->n_features;
    double *values = job->values + from * n_features;
    rw_flat_gather(&e->flat, job->columns, job->begin + from, job->begin + from + n, rows,
                   rows + BLOCK_DOCS * n_used);
    memset(values, 0, n * n_features * sizeof(*values));
    for (int32_t t = 0; t < e->flat.n_trees; t++) {
        const struct explained_tree *tree = &e->tree[t];
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
            if (job->leaves)
                job->leaves[(size_t)(from + d) * (size_t)e->flat.n_trees + (size_t)t] = rw_walk(
                    e->flat.node + e->flat.first_node[t], rw_flat_root(&e->flat, t), walk.value, 1);
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

int rw_explainer_run(struct rw_ctx *ctx, const struct rw_explainer *explainer,
                     const struct rw_dataset *dataset, uint32_t begin, uint32_t n, double *values,
                     int32_t *leaves)
{
    RW_DEFAULT_FPENV;
    const struct explainer *e = (const struct explainer *)explainer;
    RW_FREED const struct rw_column **columns = NULL;
    RW_FREED char *scratch = NULL;
    const size_t bytes = e->room * sizeof(double) +
                         BLOCK_DOCS * ((size_t)e->flat.n_used + 1) * sizeof(float) +
                         e->most_edges * (sizeof(uint32_t) + sizeof(uint8_t));
    struct explain_job job = {.e = e, .begin = begin, .n = n, .values = values, .leaves = leaves};
    if (n > dataset->n_docs || begin > dataset->n_docs - n)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "documents %u to %u of %u", begin, begin + n,
                       dataset->n_docs);
    job.scratch_bytes = (bytes + 127) / 64 * 64; /* threads share no cache line */
    RW_TRY(rw_flat_columns(ctx, &e->flat, dataset, &columns));
    RW_TRY(RW_NEW_RAW(ctx, scratch, job.scratch_bytes * (size_t)ctx->n_threads));
    job.scratch = scratch;
    job.columns = columns;
    const int has_begun = rw_stage_begin(ctx, "explanations", n, 1);
    const int status = rw_parallel_long(
        ctx, ctx->n_threads, ((uint64_t)n + BLOCK_DOCS - 1) / BLOCK_DOCS, 1, explain_blocks, &job);
    rw_stage_end(ctx, has_begun);
    return status;
}
