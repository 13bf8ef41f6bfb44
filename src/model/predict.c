/* Scores on the CPU: which way documents go, and the plain one. Documents are taken in blocks: the
 * values of the features that the model uses are gathered row by row, so that memory does not grow
 * with the data and a document's values lie together; then each tree sends the block's documents
 * down, in tree order. */
#include "model/predict.h"

#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "model/packed.h"
#include "model/single.h"

/* One thread of a server of 2023: a node that a document passes takes 1.3 to 3 ns, more in a model
 * that is larger than the caches or splits what is hard to foresee; and a value that is gathered.
 */
#define WALK_STEP_NS  2.0
#define WALK_VALUE_NS 1.0

enum {
    BLOCK_FLOATS = 32768, /* 128 KiB a thread: stays in the second-level cache beside a tree */
    BLOCK_DOCS_LEAST = 16,
    BLOCK_DOCS_MOST = 1024
};

struct scorer {
    const struct rw_flat *flat;      /* borrowed, for the call; so are the columns */
    const struct rw_column **column; /* [n_used]; NULL: the data does not have it; owned */
    uint32_t block_docs;
    size_t buffer_floats; /* of a thread */
    float *buffer;        /* [n_threads][buffer_floats]: [block_docs][n_used], a column; owned */
};

static float absent_value(const struct rw_model *model)
{
    return model->absent_missing ? rw_float_of_bits(RW_MISSING_BITS) : 0.0f;
}

double rw_model_score(const struct rw_model *model, int n_trees, const float *values,
                      size_t n_values)
{
    const float absent = absent_value(model);
    double score = 0.0;
    for (int i = 0; i < n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        score += (double)tree->leaf[rw_tree_leaf(tree, values, n_values, absent)];
    }
    return score;
}

double rw_predict_one(const struct rw_model *model, const float *values, size_t n_values)
{
    RW_DEFAULT_FPENV;
    return rw_model_score(model, model->n_trees, values, n_values);
}

static void mark_used(const struct rw_model *model, int n_trees, uint8_t *used)
{
    memset(used, 0, RW_FEATURE_IDS);
    for (int i = 0; i < n_trees; i++)
        for (int32_t node = 0; node < model->tree[i].n_leaves - 1; node++)
            used[model->tree[i].feature[node] & RW_MAX_FEATURE] = 1;
}

static void scorer_release(struct scorer *scorer)
{
    rw_mem_free(scorer->column);
    rw_mem_free(scorer->buffer);
}

int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out)
{
    const struct rw_column **column;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, column, flat->n_used));
    for (uint32_t slot = 0; slot < flat->n_used; slot++)
        column[slot] = rw_dataset_column(dataset, flat->feature[slot]);
    *out = column;
    return RW_OK;
}

static int scorer_init(struct rw_ctx *ctx, struct scorer *scorer, const struct rw_flat *flat,
                       const struct rw_dataset *dataset)
{
    const uint32_t n_used = flat->n_used;
    scorer->flat = flat;
    RW_TRY(rw_flat_columns(ctx, flat, dataset, &scorer->column));
    uint32_t docs = n_used ? BLOCK_FLOATS / n_used : BLOCK_DOCS_MOST;
    docs = docs < BLOCK_DOCS_LEAST ? BLOCK_DOCS_LEAST : docs;
    docs = docs > BLOCK_DOCS_MOST ? BLOCK_DOCS_MOST : docs;
    scorer->block_docs = docs;
    /* The last 16 floats keep two threads out of one cache line. */
    scorer->buffer_floats = (size_t)docs * n_used + docs + 16;
    return RW_OK;
}

/* Fills rows [end - begin][n_used]; column: scratch of block_docs floats. */
static void gather(const struct scorer *scorer, uint32_t begin, uint32_t end, float *rows,
                   float *column)
{
    const size_t n_used = scorer->flat->n_used;
    for (size_t slot = 0; slot < n_used; slot++) {
        if (!scorer->column[slot]) {
            for (uint32_t doc = begin; doc < end; doc++)
                rows[(doc - begin) * n_used + slot] = scorer->flat->absent;
            continue;
        }
        rw_column_values(scorer->column[slot], begin, end, scorer->flat->absent, column);
        for (uint32_t doc = begin; doc < end; doc++)
            rows[(doc - begin) * n_used + slot] = column[doc - begin];
    }
}

/* One of scores [n_docs] and leaves [n_docs][n_trees] is written, the other one NULL. */
static void score_block(const struct scorer *scorer, uint32_t begin, uint32_t end, float *buffer,
                        double *scores, int32_t *leaves)
{
    const struct rw_flat *flat = scorer->flat;
    const size_t n_used = flat->n_used, n_trees = (size_t)flat->n_trees;
    gather(scorer, begin, end, buffer, buffer + (size_t)scorer->block_docs * n_used);
    for (uint32_t doc = begin; scores && doc < end; doc++)
        scores[doc] = 0.0;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const struct rw_walk_node *nodes = flat->node + flat->first_node[i];
        const float *values = flat->leaf + flat->first_leaf[i];
        const int32_t root = rw_flat_root(flat, i);
        for (uint32_t doc = begin; doc < end; doc++) {
            const float *row = buffer + (size_t)(doc - begin) * n_used;
            const int32_t leaf = rw_walk(nodes, root, row, 1);
            if (scores)
                scores[doc] += (double)values[leaf];
            else
                leaves[(size_t)doc * n_trees + (size_t)i] = leaf;
        }
    }
}

struct walk_job {
    const struct scorer *scorer;
    uint32_t n_docs;
    double *scores;
    int32_t *leaves;
};

static int walk_blocks(void *user, struct rw_share *share)
{
    const struct walk_job *job = user;
    const uint32_t block_docs = job->scorer->block_docs;
    float *buffer = job->scorer->buffer + (size_t)share->thread * job->scorer->buffer_floats;
    for (uint64_t block, end; rw_share_next(share, &block, &end);) {
        const uint32_t first = (uint32_t)block * block_docs;
        score_block(job->scorer, first,
                    job->n_docs - first < block_docs ? job->n_docs : first + block_docs, buffer,
                    job->scores, job->leaves);
    }
    return RW_OK;
}

static int run(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
               double *scores, int32_t *leaves)
{
    struct scorer scorer = {0};
    int status = RW_OK;
    RW_TRY_OUT(scorer_init(ctx, &scorer, flat, dataset));
    const uint32_t n_docs = dataset->n_docs, block_docs = scorer.block_docs;
    const int64_t n_blocks = ((int64_t)n_docs + block_docs - 1) / block_docs;
    const int n_threads = ctx->n_threads < n_blocks ? ctx->n_threads : (int)n_blocks;
    RW_TRY_OUT(RW_NEW_RAW(ctx, scorer.buffer, (size_t)n_threads * scorer.buffer_floats));
    struct walk_job job = {&scorer, n_docs, scores, leaves};
    rw_parallel(ctx, n_threads, (uint64_t)n_blocks, 1, walk_blocks, &job);
out:
    scorer_release(&scorer);
    return status;
}

int rw_flat_scores(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                   double *scores)
{
    return run(ctx, flat, dataset, scores, NULL);
}

static double walk_doc_ns(const struct rw_flat *flat)
{
    return WALK_STEP_NS * rw_flat_steps(flat) + WALK_VALUE_NS * (double)flat->n_used;
}

double rw_way_doc_ns(const struct rw_flat *flat)
{
    const double walk_ns = walk_doc_ns(flat), ns = rw_packed_doc_ns(flat, rw_packed_ops(rw_isa()));
    return ns < walk_ns ? ns : walk_ns;
}

static int settle(struct rw_ctx *ctx, struct rw_way *way, const struct rw_flat *flat,
                  uint32_t n_docs)
{
    const double walk_ns = walk_doc_ns(flat);
    /* Documents are shared by threads, packing is not. */
    way->walked_ns += n_docs * walk_ns / ctx->n_threads;
    if (way->walked_ns < rw_packed_make_ns(flat))
        return RW_OK;
    const struct rw_packed_ops *ops = rw_packed_ops(rw_isa());
    const double packed_ns = rw_packed_doc_ns(flat, ops);
    way->settled = 1;
    if (packed_ns >= walk_ns)
        return RW_OK;
    RW_TRY(rw_packed_new(ctx, flat, ops, &way->packed));
    rw_log(ctx, RW_LOG_DEBUG,
           "scores by %s: %.3g us a document expected of a thread, %.3g us down the trees",
           way->packed ? ops->name : "walking", packed_ns / 1e3, walk_ns / 1e3);
    return RW_OK;
}

int rw_way_scores(struct rw_ctx *ctx, struct rw_way *way, const struct rw_flat *flat,
                  const struct rw_dataset *dataset, double *scores)
{
    if (!way->settled)
        RW_TRY(settle(ctx, way, flat, dataset->n_docs));
    return way->packed ? rw_packed_scores(ctx, way->packed, dataset, scores)
                       : rw_flat_scores(ctx, flat, dataset, scores);
}

struct rows_job {
    const struct rw_flat *flat;
    const struct rw_single *single; /* NULL: down the trees */
    const struct rw_rows *rows;
    double *scores;
};

static int score_rows(void *user, struct rw_share *share)
{
    const struct rows_job *job = user;
    const struct rw_rows *rows = job->rows;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++) {
            const float *row = rows->value + doc * rows->n_features;
            job->scores[doc] =
                job->single ? rw_single_score(job->single, row, rows->n_features, rows->first)
                            : rw_flat_score(job->flat, row, rows->n_features, rows->first);
        }
    }
    return RW_OK;
}

int rw_way_rows(struct rw_ctx *ctx, struct rw_way *way, const struct rw_flat *flat,
                const struct rw_single *single, const struct rw_rows *rows, double *scores)
{
    if (!way->settled)
        RW_TRY(settle(ctx, way, flat, rows->n_docs));
    if (way->packed)
        return rw_packed_rows(ctx, way->packed, rows, scores);
    struct rows_job job = {flat, single, rows, scores};
    return rw_parallel(ctx, ctx->n_threads, rows->n_docs, 0, score_rows, &job);
}

void rw_way_release(struct rw_way *way)
{
    rw_packed_free(way->packed);
    memset(way, 0, sizeof(*way));
}

int rw_predict(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_dataset *dataset,
               int n_trees, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_flat flat;
    struct rw_way way = {0};
    RW_TRY(rw_flat_init(ctx, &flat, model, n_trees));
    const int status = rw_way_scores(ctx, &way, &flat, dataset, scores);
    rw_way_release(&way);
    rw_flat_release(&flat);
    return status;
}

int rw_predict_leaves(struct rw_ctx *ctx, const struct rw_model *model,
                      const struct rw_dataset *dataset, int n_trees, int32_t *leaves)
{
    RW_DEFAULT_FPENV;
    struct rw_flat flat;
    RW_TRY(rw_flat_init(ctx, &flat, model, n_trees));
    const int status = run(ctx, &flat, dataset, NULL, leaves);
    rw_flat_release(&flat);
    return status;
}

void rw_model_unmatched(const struct rw_model *model, const struct rw_dataset *dataset,
                        uint32_t *n_missing, uint32_t *n_unknown)
{
    uint8_t used[RW_FEATURE_IDS];
    mark_used(model, model->n_trees, used);
    *n_missing = 0;
    *n_unknown = 0;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        *n_missing += used[f] && !rw_dataset_column(dataset, f);
    uint32_t at = 0; /* both lists ascend */
    for (uint32_t i = 0; i < dataset->n_columns; i++) {
        const uint32_t id = dataset->column[i].feature;
        while (at < model->n_features && model->feature[at] < id)
            at++;
        *n_unknown += at == model->n_features || model->feature[at] != id;
    }
}
