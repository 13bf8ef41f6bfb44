/* Makes a packed model (model/scorer.h) from a flat one, and scores blocks of documents with it.
 * The vector code for a block and some trees is in packed_tmpl.c. */
#include "model/scorer.h"

enum {
    MOST_COLUMNS = 16384,   /* codes of a block then take 2 or 4 MiB per thread */
    MOST_STEPS = 1 << 30,   /* per tree, so that indices fit into 32 bits */
    BATCH_BYTES = 128 << 10 /* most bytes of a batch's trees, unless a single tree has more: a part
                               of the second-level cache */
};

struct maker {
    struct rw_ctx *ctx; /* borrowed */
    const struct rw_flat *flat;
    struct rw_packed *packed;
    struct rw_arena arena; /* memory that is only needed until the packed model exists */
    struct rw_thresholds thresholds;
    uint32_t *column_of; /* [2 * n_used] the packed column of a node, by node.slot */
    /* Scratch memory of a thread for one tree at a time. most: leaves of the largest tree. */
    uint32_t *below; /* [most] number of leaves below a node */
    uint32_t *last;  /* [most] number of a node of two leaves, from 0; else RW_PACKED_LAST */
    int32_t *stack;  /* [3 * most + 3] */
};

/* ---- columns ---- */

/* Makes the columns that nodes use, with their thresholds. Returns 1, or 0 if a column has too many
 * thresholds or there are too many columns. */
static int make_columns(struct maker *m)
{
    struct rw_packed *p = m->packed;
    uint64_t n_floats = 0;
    uint32_t most_cuts = 0;
    RW_TRY(rw_thresholds_init(m->ctx, &m->arena, &m->thresholds, m->flat, 0));
    RW_TRY(RW_ARENA_NEW(m->ctx, &m->arena, m->column_of, m->thresholds.n_columns));
    RW_TRY(RW_ARENA_NEW(m->ctx, rw_result_arena(p), p->column, m->thresholds.n_columns));
    for (uint32_t s = 0; s < m->thresholds.n_columns; s++) {
        const uint32_t n = m->thresholds.n[s];
        uint32_t levels = RW_PACKED_TOP;
        if (n == 0)
            continue;
        while (n >> levels)
            levels++;
        m->column_of[s] = p->n_columns;
        p->column[p->n_columns++] = (struct rw_packed_column){.slot = s >> 1,
                                                              .n_cuts = n,
                                                              .missing = s & 1 ? 0 : n,
                                                              .levels = levels,
                                                              .first_cut = n_floats};
        n_floats += RW_PACKED_PIVOTS;
        n_floats += levels > RW_PACKED_TOP ? (uint64_t)1 << levels : 0;
        most_cuts = n > most_cuts ? n : most_cuts;
    }
    if (most_cuts > 65535 || p->n_columns > MOST_COLUMNS)
        return 0;
    p->code_bytes = most_cuts > 255 ? 2 : 1;
    RW_TRY(RW_ARENA_NEW(m->ctx, rw_result_arena(p), p->cut, n_floats));
    for (uint32_t s = 0; s < m->thresholds.n_columns; s++) {
        const struct rw_packed_column *column = &p->column[m->column_of[s]];
        const uint32_t n = m->thresholds.n[s], rest = column->levels - RW_PACKED_TOP;
        float *pivot = p->cut + column->first_cut, *cut = pivot + RW_PACKED_PIVOTS;
        for (uint32_t j = 0; n > 0 && j < RW_PACKED_PIVOTS; j++) {
            const uint32_t at = (j << rest) - 1; /* for j = 0, far past the end */
            pivot[j] = at < n ? rw_threshold(&m->thresholds, s, at) : INFINITY;
        }
        for (uint32_t j = 0; n > 0 && rest > 0 && j < 1u << column->levels; j++)
            cut[j] = j < n ? rw_threshold(&m->thresholds, s, j) : INFINITY;
    }
    return 1;
}

/* ---- trees ---- */

/* Returns a word that repeats a code. */
static uint32_t fill_word(const struct rw_packed *p, uint32_t number)
{
    return p->code_bytes == 1 ? number * 0x01010101u : number * 0x00010001u;
}

static uint32_t leaves_below(const struct maker *m, int32_t child)
{
    return child < 0 ? 1 : m->below[child];
}

static int is_last(const struct maker *m, int32_t child)
{
    return child >= 0 && m->last[child] < RW_PACKED_LAST;
}

/* Returns the offset in bytes of a child's buffer. depth: the number of results that wait while the
 * child is evaluated. The buffer of leaves contains zeros. */
static uint16_t buffer_of(const struct maker *m, int32_t child, int32_t depth)
{
    const uint32_t buffer = child < 0           ? 0
                            : is_last(m, child) ? RW_PACKED_BUFFERS + m->last[child]
                                                : (uint32_t)depth + 1;
    return (uint16_t)(buffer * RW_PACKED_DOCS * m->packed->code_bytes);
}

static struct rw_packed_node node_of(const struct maker *m, const struct rw_walk_node *node)
{
    const uint32_t column = m->column_of[node->slot];
    return (struct rw_packed_node){.column = column * RW_PACKED_DOCS * m->packed->code_bytes,
                                   .cut =
                                       fill_word(m->packed, rw_threshold_of(&m->thresholds, node)),
                                   .skip = fill_word(m->packed, leaves_below(m, node->left))};
}

/* Writes the nodes of two leaves, at most RW_PACKED_LAST, and returns their number. The root is not
 * among them, because rw_packed_width.add reads the result of every root from buffer 1. */
static uint32_t order_last(struct maker *m, int32_t tree, struct rw_packed_node *to)
{
    const struct rw_flat *flat = m->flat;
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    const int32_t n_nodes = (int32_t)(flat->first_node[tree + 1] - flat->first_node[tree]);
    uint32_t n = 0;
    for (int32_t at = 0; at < n_nodes; at++) {
        m->last[at] = at > 0 && m->below[at] == 2 && n < RW_PACKED_LAST ? n : RW_PACKED_LAST;
        if (!is_last(m, at))
            continue;
        to[n] = node_of(m, &nodes[at]);
        to[n++].to = buffer_of(m, at, 0);
    }
    return n;
}

/* Writes the nodes that order_last did not write, in the order of evaluation. The larger subtree of
 * a node is first. Its result then waits in one buffer for that of the smaller subtree, so at most
 * log2(leaves) results wait. An element of the stack has a node, its `depth` for buffer_of, and
 * whether its children were pushed. */
static void order_nodes(struct maker *m, int32_t tree, struct rw_packed_node *to)
{
    const struct rw_flat *flat = m->flat;
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    int32_t n = 0;
    int32_t(*stack)[3] = (int32_t(*)[3])m->stack;
    memcpy(stack[n++], (int32_t[3]){0, 0, 0}, sizeof(stack[0]));
    while (n > 0) {
        int32_t *top = stack[n - 1];
        const int32_t at = top[0], depth = top[1];
        const struct rw_walk_node *node = &nodes[at];
        const int left_first = leaves_below(m, node->left) >= leaves_below(m, node->right);
        const int32_t first = left_first ? node->left : node->right;
        const int32_t second = left_first ? node->right : node->left;
        /* If the first child is a leaf, so is the second. */
        if (!top[2]) {
            top[2] = 1;
            if (second >= 0 && !is_last(m, second))
                memcpy(stack[n++], (int32_t[3]){second, depth + 1, 0}, sizeof(stack[0]));
            if (first >= 0 && !is_last(m, first))
                memcpy(stack[n++], (int32_t[3]){first, depth, 0}, sizeof(stack[0]));
            continue;
        }
        *to = node_of(m, node);
        to->left = buffer_of(m, node->left, left_first ? depth : depth + 1);
        to->right = buffer_of(m, node->right, left_first ? depth + 1 : depth);
        to++->to = buffer_of(m, at, depth);
        n--;
    }
}

/* Writes a node per level of a symmetric tree, the last level first. Each adds to the leaf numbers
 * in buffer 1, and the last level's writes them. */
static void order_levels(struct maker *m, int32_t tree, struct rw_packed_node *to)
{
    const struct rw_walk_node *nodes = m->flat->node + m->flat->first_node[tree];
    int32_t at = 0;
    for (int i = m->flat->levels[tree] - 1; i >= 0; i--, at = nodes[at].left) {
        to[i] = node_of(m, &nodes[at]);
        to[i].left = to[i].right = to[i].to = (uint16_t)(RW_PACKED_DOCS * m->packed->code_bytes);
    }
}

/* Writes the leaves from left to right. The padding after them stays 0. */
static void order_leaves(struct maker *m, int32_t tree, float *to)
{
    const struct rw_flat *flat = m->flat;
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    const float *leaf = flat->leaf + flat->first_leaf[tree];
    int32_t n = 0, *stack = m->stack;
    stack[n++] = rw_flat_root(flat, tree);
    while (n > 0) {
        const int32_t at = stack[--n];
        if (at < 0) {
            *to++ = leaf[~at];
            continue;
        }
        stack[n++] = nodes[at].right;
        stack[n++] = nodes[at].left;
    }
}

/* Writes the steps by levels, so that the first ones, which all documents pass, are adjacent. */
static void order_steps(struct maker *m, int32_t tree, struct rw_packed_step *to)
{
    const struct rw_flat *flat = m->flat;
    const struct rw_walk_node *nodes = flat->node + flat->first_node[tree];
    int32_t *queue = m->stack; /* the node or leaf of each step */
    uint32_t n = 0;
    queue[n++] = rw_flat_root(flat, tree);
    for (uint32_t i = 0; i < n; i++) {
        const int32_t at = queue[i];
        if (at < 0) {
            to[i] = (struct rw_packed_step){0, UINT32_MAX, i, (uint32_t)~at};
            continue;
        }
        const uint32_t column = m->column_of[nodes[at].slot];
        to[i] = (struct rw_packed_step){column * RW_PACKED_DOCS * m->packed->code_bytes,
                                        rw_threshold_of(&m->thresholds, &nodes[at]), n, 0};
        queue[n++] = nodes[at].left;
        queue[n++] = nodes[at].right;
    }
}

/* Computes where the nodes or steps and the leaves of each tree begin, divides the trees into
 * batches, and allocates. Returns 1, or 0 if a tree is too large. */
static int lay_out(struct maker *m)
{
    struct rw_packed *p = m->packed;
    const struct rw_flat *flat = m->flat;
    uint64_t n_nodes = 0, n_steps = 0, n_leaves = 0, batch_bytes = 0;
    const size_t most = flat->most_leaves;
    RW_TRY(RW_ARENA_NEW(m->ctx, rw_result_arena(p), p->tree, (size_t)p->n_trees));
    RW_TRY(RW_ARENA_NEW(m->ctx, rw_result_arena(p), p->batch, (size_t)p->n_trees + 1));
    for (int32_t i = 0; i < p->n_trees; i++) {
        struct rw_packed_tree *tree = &p->tree[i];
        const uint64_t n = flat->first_leaf[i + 1] - flat->first_leaf[i];
        if (n > MOST_STEPS / 2)
            return 0;
        tree->n_leaves = (uint32_t)n;
        tree->n_nodes = flat->levels[i] ? flat->levels[i] : (uint32_t)n - 1;
        tree->walked =
            n > (flat->levels[i] ? 1u << 8 * p->code_bytes : p->ops->most[p->code_bytes - 1]);
        tree->first = tree->walked ? n_steps : n_nodes;
        tree->first_leaf = n_leaves;
        const uint64_t bytes = tree->walked ? (2 * n - 1) * sizeof(*p->step) + n * sizeof(float)
                                            : tree->n_nodes * sizeof(*p->node) + n * sizeof(float);
        *(tree->walked ? &n_steps : &n_nodes) += tree->walked ? 2 * n - 1 : tree->n_nodes;
        n_leaves += (n + RW_PACKED_SMALL - 1) / RW_PACKED_SMALL * RW_PACKED_SMALL;
        if (i > 0 && batch_bytes + bytes > BATCH_BYTES) {
            p->batch[++p->n_batches] = i;
            batch_bytes = 0;
        }
        batch_bytes += bytes;
    }
    if (p->n_trees > 0)
        p->batch[++p->n_batches] = p->n_trees;
    RW_TRY(RW_ARENA_NEW(m->ctx, rw_result_arena(p), p->node, n_nodes));
    RW_TRY(RW_ARENA_NEW(m->ctx, rw_result_arena(p), p->step, n_steps));
    RW_TRY(RW_ARENA_NEW(m->ctx, rw_result_arena(p), p->leaf, n_leaves));
    const size_t n_threads = (size_t)rw_flat_threads(m->ctx, flat);
    RW_TRY(RW_ARENA_NEW(m->ctx, &m->arena, m->below, n_threads * most));
    RW_TRY(RW_ARENA_NEW(m->ctx, &m->arena, m->last, n_threads * most));
    RW_TRY(RW_ARENA_NEW(m->ctx, &m->arena, m->stack, n_threads * (3 * most + 3)));
    return 1;
}

static void make_tree(struct maker *m, int32_t i)
{
    struct rw_packed_node *node = m->packed->node + m->packed->tree[i].first;
    const struct rw_flat *flat = m->flat;
    const struct rw_walk_node *nodes = flat->node + flat->first_node[i];
    struct rw_packed_tree *tree = &m->packed->tree[i];
    float *leaf = m->packed->leaf + tree->first_leaf;
    if (tree->walked) {
        order_steps(m, i, m->packed->step + tree->first);
        memcpy(leaf, flat->leaf + flat->first_leaf[i], tree->n_leaves * sizeof(*leaf));
        return;
    }
    for (int32_t at = (int32_t)tree->n_leaves - 2; at >= 0; at--)
        m->below[at] = leaves_below(m, nodes[at].left) + leaves_below(m, nodes[at].right);
    tree->n_last = flat->levels[i] ? 1 : order_last(m, i, node);
    if (flat->levels[i])
        order_levels(m, i, node);
    else if (tree->n_leaves > 1)
        order_nodes(m, i, node + tree->n_last);
    order_leaves(m, i, leaf);
}

static int make_trees(void *user, struct rw_share *share)
{
    struct maker m = *(const struct maker *)user;
    const size_t most = m.flat->most_leaves, thread = (size_t)share->thread;
    m.below += thread * most;
    m.last += thread * most;
    m.stack += thread * (3 * most + 3);
    for (uint64_t tree, end; rw_share_next(share, &tree, &end);)
        make_tree(&m, (int32_t)tree);
    return RW_OK;
}

static void release(struct maker *m)
{
    rw_arena_free(&m->arena);
    rw_result_free(m->packed);
}

int rw_packed_new(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_packed_ops *ops,
                  struct rw_packed **out)
{
    RW_RELEASED(release) struct maker m = {.ctx = ctx, .flat = flat};
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&m.packed, sizeof(*m.packed)));
    m.packed->flat = flat;
    m.packed->ops = ops;
    m.packed->n_trees = flat->n_trees;
    m.packed->doc_ns = rw_packed_doc_ns(flat, ops);
    int is_possible = make_columns(&m);
    if (is_possible > 0)
        is_possible = lay_out(&m);
    if (is_possible <= 0)
        return is_possible;
    (void)rw_parallel(ctx, rw_flat_threads(ctx, flat), (uint64_t)flat->n_trees, 1, make_trees, &m);
    *out = RW_TAKE(m.packed);
    return RW_OK;
}

/* Nanoseconds of one thread of a server of 2023. */
#define MAKE_NODE_NS 115.0 /* to pack a node of the flat model */
#define WALK_STEP_NS 1.0   /* for a document to pass a node in a walk */

enum { LEAF_NODES = 14 }; /* nodes that take as long as adding the leaf of a symmetric tree */

double rw_packed_make_ns(const struct rw_flat *flat)
{
    return MAKE_NODE_NS * (double)flat->first_leaf[flat->n_trees];
}

double rw_packed_doc_ns(const struct rw_flat *flat, const struct rw_packed_ops *ops)
{
    double ns = ops->column_ns * flat->n_used;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const uint64_t n_leaves = flat->first_leaf[i + 1] - flat->first_leaf[i];
        const double n = flat->levels[i] ? flat->levels[i] + LEAF_NODES : (double)n_leaves;
        ns += n <= ops->most[0] ? ops->node_ns * n : WALK_STEP_NS * rw_flat_tree_steps(n);
    }
    return ns;
}

/* ---- scoring ---- */

/* Several blocks of documents are encoded and then go through the trees, one batch of trees at a
 * time. A batch stays in the second-level cache for all blocks. A block's codes stay in the
 * first-level cache for all trees of the batch. */
enum {
    MOST_BLOCKS = 8,            /* most blocks that are encoded together: a run */
    MOST_CODES_BYTES = 1 << 19, /* most bytes of a run's codes, unless one block needs more */
    PARTS = 4 /* least runs per thread if there are many documents, so that no thread waits long */
};

const struct rw_packed_ops *rw_packed_ops(enum rw_isa isa)
{
    static const struct rw_packed_ops ops[] =
    { [RW_ISA_PLAIN] = {"plain", {256, 128}, 5.0, 0.043, {&rw_packed_plain_8, &rw_packed_plain_16}},
#if RW_HAS_X86
      [RW_ISA_AVX2] = {"avx2", {256, 160}, 2.2, 0.033, {&rw_packed_avx2_8, &rw_packed_avx2_16}},
      [RW_ISA_AVX512] =
          {"avx512", {256, 320}, 0.9, 0.0175, {&rw_packed_avx512_8, &rw_packed_avx512_16}},
#endif
    };
    return &ops[isa];
}

static struct rw_packed_room room_of(const struct rw_packed_job *job, int thread)
{
    struct rw_packed_room room;
    room.codes = job->room + (size_t)thread * job->room_bytes;
    room.buffers = room.codes + job->n_blocks * rw_packed_codes_bytes(job->packed);
    room.score = (double *)(room.buffers + rw_packed_buffers_bytes(job->packed));
    room.value = (float *)(room.score + (size_t)job->n_blocks * RW_PACKED_DOCS);
    return room;
}

/* Transposes a block of rows, DOCS documents at a time. Their values stay in the first-level cache
 * until all features are read. */
static void transpose_rows(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                           float *value)
{
    enum { DOCS = 16 };
    const struct rw_flat *flat = job->packed->flat;
    const struct rw_rows *rows = job->rows;
    for (uint32_t from = begin; from < end; from += DOCS) {
        const uint32_t n = end - from < DOCS ? end - from : DOCS;
        const float *row = rows->value + (size_t)from * rows->n_features;
        for (uint32_t slot = 0; slot < flat->n_used; slot++) {
            const uint32_t f = flat->feature[slot] -
                               rows->first; /* features before the first give a very large number */
            float *to = value + (size_t)slot * RW_PACKED_DOCS + (from - begin);
            if (f >= rows->n_features)
                for (uint32_t d = 0; d < n; d++)
                    to[d] = flat->absent;
            else if (n == DOCS)
                for (uint32_t d = 0; d < DOCS; d++)
                    to[d] = row[(size_t)d * rows->n_features + f];
            else
                for (uint32_t d = 0; d < n; d++)
                    to[d] = row[(size_t)d * rows->n_features + f];
            for (uint32_t d = 0; flat->set_of && d < n; d++)
                to[d] = rw_flat_of_row(flat, slot, to[d]);
        }
    }
}

void rw_packed_encode_transposed(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                                 const struct rw_packed_room *room)
{
    const struct rw_packed *p = job->packed;
    const struct rw_packed_width *width = p->ops->width[p->code_bytes - 1];
    const size_t column_bytes = (size_t)RW_PACKED_DOCS * p->code_bytes;
    char *codes = room->codes;
    for (uint32_t from = begin; from < end; from += RW_PACKED_DOCS) {
        job->transpose(job, from, end - from < RW_PACKED_DOCS ? end : from + RW_PACKED_DOCS,
                       room->value);
        for (uint32_t i = 0; i < p->n_columns; i++, codes += column_bytes)
            width->encode(p, &p->column[i],
                          room->value + (size_t)p->column[i].slot * RW_PACKED_DOCS, codes);
    }
}

/* Scores a run of blocks. */
static void score_blocks(const struct rw_packed_job *job, uint32_t begin, uint32_t end, int thread,
                         double *scores)
{
    const struct rw_packed *p = job->packed;
    const struct rw_packed_width *width = p->ops->width[p->code_bytes - 1];
    const struct rw_packed_room room = room_of(job, thread);
    const size_t codes_bytes = rw_packed_codes_bytes(p);
    const uint32_t n_blocks = (end - begin + RW_PACKED_DOCS - 1) / RW_PACKED_DOCS;
    job->encode(job, begin, end, &room);
    memset(room.score, 0, (size_t)n_blocks * RW_PACKED_DOCS * sizeof(*room.score));
    for (int32_t i = 0; i < p->n_batches; i++) {
        for (uint32_t b = 0; b < n_blocks; b++)
            width->add(p, p->batch[i], p->batch[i + 1], room.codes + b * codes_bytes, room.buffers,
                       room.score + (size_t)b * RW_PACKED_DOCS, end - begin - b * RW_PACKED_DOCS);
    }
    memcpy(scores + begin, room.score, (end - begin) * sizeof(*scores));
}

/* The runs of a job, which threads take one by one. */
struct runs {
    struct rw_packed_job *job;
    uint32_t n_docs, docs; /* documents of the job, and of each run but the last */
    double *scores;        /* [n_docs] */
};

static int score_runs(void *user, struct rw_share *share)
{
    const struct runs *runs = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        const uint32_t first = (uint32_t)i * runs->docs, left = runs->n_docs - first;
        score_blocks(runs->job, first, left < runs->docs ? runs->n_docs : first + runs->docs,
                     share->thread, runs->scores);
    }
    return RW_OK;
}

/* Returns the number of blocks of a run, 1 to MOST_BLOCKS. */
static uint32_t blocks_at_once(const struct rw_packed *packed, uint32_t n_docs, int n_threads)
{
    const size_t bytes = rw_packed_codes_bytes(packed);
    const uint64_t docs = (uint64_t)RW_PACKED_DOCS * (n_threads > 1 ? n_threads * PARTS : 1);
    uint64_t n = bytes ? MOST_CODES_BYTES / bytes : MOST_BLOCKS;
    n = n > MOST_BLOCKS ? MOST_BLOCKS : n;
    const uint64_t parts = n_threads > 1 ? n_docs / docs : (n_docs + docs - 1) / docs;
    n = n > parts ? parts : n;
    return n < 1 ? 1 : (uint32_t)n;
}

int rw_packed_run(struct rw_ctx *ctx, struct rw_packed_job *job, uint32_t n_docs, double *scores)
{
    const struct rw_packed *packed = job->packed;
    const int most_threads = ctx ? ctx->n_threads : 1;
    job->n_blocks = blocks_at_once(packed, n_docs, most_threads);
    const uint32_t docs = job->n_blocks * RW_PACKED_DOCS;
    const int64_t n_jobs = ((int64_t)n_docs + docs - 1) / docs;
    const int n_threads = most_threads < n_jobs ? most_threads : (int)n_jobs;
    if (n_jobs == 0)
        return RW_OK;
    job->room_bytes = job->n_blocks * rw_packed_codes_bytes(packed) +
                      rw_packed_buffers_bytes(packed) + docs * sizeof(double) +
                      (docs + job->more_values) * sizeof(float);
    RW_FREED char *room = NULL;
    RW_TRY(RW_NEW(ctx, room, (size_t)n_threads * job->room_bytes));
    job->room = room;
    struct runs runs = {job, n_docs, docs, scores};
    return rw_parallel_long(ctx, n_threads, (uint64_t)n_jobs, 1, score_runs, &runs);
}

int rw_packed_rows(struct rw_ctx *ctx, const struct rw_packed *packed, const struct rw_rows *rows,
                   double *scores)
{
    struct rw_packed_job job = {.packed = packed,
                                .encode = rw_packed_encode_transposed,
                                .transpose = transpose_rows,
                                .rows = rows,
                                .more_values = (size_t)packed->flat->n_used * RW_PACKED_DOCS};
    return rw_packed_run(ctx, &job, rows->n_docs, scores);
}
