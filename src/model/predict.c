/* Scores on the CPU by the plain walk, which takes documents in blocks: the values of the features
 * that the model uses are gathered row by row, so that memory does not grow with the data and a
 * document's values lie together; then each tree sends the block's documents down, in tree order.
 */
#include "model/predict.h"

#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/number.h"
#include "dataset/dataset.h"

enum {
    BLOCK_FLOATS = 32768, /* 128 KiB a thread: stays in the second-level cache beside a tree */
    BLOCK_DOCS_LEAST = 16,
    BLOCK_DOCS_MOST = 1024
};

double rw_model_score(const struct rw_model *model, int n_trees, const float *values,
                      size_t n_values)
{
    const float absent = rw_model_absent(model);
    double score = 0.0;
    for (int i = 0; i < n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        score += (double)tree->leaf[rw_tree_leaf(tree, values, n_values, absent)];
    }
    return score;
}

/* The leaf of a document whose categories are numbers. */
static int32_t leaf_of_row(const struct rw_model *model, const struct rw_tree *tree,
                           const float *values, size_t n_values, float absent)
{
    int32_t node = tree->n_leaves == 1 ? ~0 : 0;
    while (node >= 0) {
        const uint32_t f = tree->feature[node];
        float value = f < n_values ? values[f] : absent;
        if (rw_tree_by_set(tree, node) && value == value)
            value = (float)rw_category_of_number(rw_categories_find(&model->categories, f), value);
        node = rw_tree_goes_left(tree, node, value) ? tree->left[node] : tree->right[node];
    }
    return ~node;
}

double rw_predict_one(const struct rw_model *model, const float *values, size_t n_values)
{
    RW_DEFAULT_FPENV;
    const float absent = rw_model_absent(model);
    double score = 0.0;
    if (!model->categories.n)
        return rw_model_score(model, model->n_trees, values, n_values);
    for (int i = 0; i < model->n_trees; i++)
        score += (double)model->tree[i]
                     .leaf[leaf_of_row(model, &model->tree[i], values, n_values, absent)];
    return score;
}

/* ---- down every tree ---- */

int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out)
{
    const struct rw_column **column;
    const uint32_t n_codes = flat->categories.n;
    const size_t first = (size_t)flat->n_used * sizeof(*column);
    const size_t bytes = sizeof(struct rw_column) + dataset->n_docs * sizeof(float);
    *out = NULL;
    const struct rw_column_view view = rw_column_view_of(dataset);
    RW_TRY(rw_column_rule_check(ctx, &flat->columns, &view));
    RW_TRY(rw_mem_new(ctx, (void **)&column, first + n_codes * bytes, 1));
    struct rw_column *made = (struct rw_column *)(void *)(column + flat->n_used);
    float *value = (float *)(void *)(made + n_codes);
    int status = RW_OK;
    for (uint32_t i = 0; i < n_codes; i++, value += dataset->n_docs) {
        const struct rw_feature_categories *of = &flat->categories.of[i];
        made[i] = (struct rw_column){.feature = of->feature, .n = dataset->n_docs, .value = value};
        RW_TRY_OUT(rw_categories_codes(ctx, of, dataset, flat->absent != flat->absent, value));
    }
    for (uint32_t slot = 0, i = 0; slot < flat->n_used; slot++) {
        if (!flat->set_of || !flat->set_of[slot])
            RW_TRY_OUT(rw_categories_check_numbers(ctx, dataset, flat->feature[slot]));
        while (i < n_codes && made[i].feature < flat->feature[slot])
            i++;
        column[slot] = i < n_codes && made[i].feature == flat->feature[slot]
                           ? &made[i]
                           : rw_dataset_column(dataset, flat->feature[slot]);
    }
    *out = column;
    return RW_OK;
out:
    rw_mem_free(column);
    return status;
}

void rw_flat_gather(const struct rw_flat *flat, const struct rw_column *const *columns,
                    uint32_t begin, uint32_t end, float *rows, float *scratch)
{
    const size_t n_used = flat->n_used;
    for (size_t slot = 0; slot < n_used; slot++) {
        for (uint32_t doc = begin; !columns[slot] && doc < end; doc++)
            rows[(doc - begin) * n_used + slot] = flat->absent;
        if (!columns[slot])
            continue;
        rw_column_values(columns[slot], begin, end, flat->absent, scratch);
        for (uint32_t doc = begin; doc < end; doc++)
            rows[(doc - begin) * n_used + slot] =
                rw_flat_of_code(flat, (uint32_t)slot, scratch[doc - begin]);
    }
}

struct walk_job {
    const struct rw_flat *flat; /* borrowed, for the call */
    const struct rw_column *const *column;
    uint32_t begin, end; /* documents */
    uint32_t block_docs;
    size_t buffer_floats; /* of a thread */
    float *buffer;        /* [n_threads][buffer_floats]: [block_docs][n_used], a column */
    /* where the leaves go: two are NULL */
    double *scores;
    int32_t *leaves; /* [end - begin][n_trees] */
    uint32_t *counts;
};

static void walk_block(const struct walk_job *job, uint32_t begin, uint32_t end, float *buffer)
{
    const struct rw_flat *flat = job->flat;
    const size_t n_used = flat->n_used, n_trees = (size_t)flat->n_trees;
    rw_flat_gather(flat, job->column, begin, end, buffer, buffer + job->block_docs * n_used);
    for (uint32_t doc = begin; job->scores && doc < end; doc++)
        job->scores[doc] = 0.0;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const struct rw_walk_node *nodes = flat->node + flat->first_node[i];
        const uint64_t first_leaf = flat->first_leaf[i];
        const int32_t root = rw_flat_root(flat, i);
        for (uint32_t doc = begin; doc < end; doc++) {
            const float *row = buffer + (size_t)(doc - begin) * n_used;
            const int32_t leaf = rw_walk(nodes, root, row, 1);
            if (job->scores)
                job->scores[doc] += (double)flat->leaf[first_leaf + (uint64_t)leaf];
            else if (job->leaves)
                job->leaves[(size_t)(doc - job->begin) * n_trees + (size_t)i] = leaf;
            else
                __atomic_fetch_add(&job->counts[first_leaf + (uint64_t)leaf], 1, __ATOMIC_RELAXED);
        }
    }
}

static int walk_blocks(void *user, struct rw_share *share)
{
    const struct walk_job *job = user;
    float *buffer = job->buffer + (size_t)share->thread * job->buffer_floats;
    for (uint64_t block, end; rw_share_next(share, &block, &end);) {
        const uint32_t first = job->begin + (uint32_t)block * job->block_docs;
        const uint32_t left = job->end - first;
        walk_block(job, first, left < job->block_docs ? job->end : first + job->block_docs, buffer);
    }
    return RW_OK;
}

static int walk(struct rw_ctx *ctx, struct walk_job *job)
{
    const uint32_t n_used = job->flat->n_used;
    uint32_t docs = n_used ? BLOCK_FLOATS / n_used : BLOCK_DOCS_MOST;
    docs = docs < BLOCK_DOCS_LEAST ? BLOCK_DOCS_LEAST : docs;
    docs = docs > BLOCK_DOCS_MOST ? BLOCK_DOCS_MOST : docs;
    const int64_t n_blocks = ((int64_t)(job->end - job->begin) + docs - 1) / docs;
    const int n_threads = ctx->n_threads < n_blocks ? ctx->n_threads : (int)n_blocks;
    job->block_docs = docs;
    /* The last 16 floats keep two threads out of one cache line. */
    job->buffer_floats = (size_t)docs * n_used + docs + 16;
    int status = RW_NEW_RAW(ctx, job->buffer, (size_t)n_threads * job->buffer_floats);
    if (status >= 0)
        status = rw_parallel_long(ctx, n_threads, (uint64_t)n_blocks, 1, walk_blocks, job);
    rw_mem_free(job->buffer);
    return status;
}

static int walk_all(struct rw_ctx *ctx, struct walk_job *job, const struct rw_dataset *dataset)
{
    const struct rw_column **column;
    RW_TRY(rw_flat_columns(ctx, job->flat, dataset, &column));
    job->column = column;
    job->end = dataset->n_docs;
    const int status = walk(ctx, job);
    rw_mem_free(column);
    return status;
}

int rw_flat_scores(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                   double *scores)
{
    struct walk_job job = {.flat = flat, .scores = scores};
    return walk_all(ctx, &job, dataset);
}

int rw_flat_count(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                  uint32_t *counts)
{
    struct walk_job job = {.flat = flat, .counts = counts};
    return walk_all(ctx, &job, dataset);
}

int rw_flat_leaves(struct rw_ctx *ctx, const struct rw_flat *flat,
                   const struct rw_column *const *column, uint32_t begin, uint32_t end,
                   int32_t *leaves)
{
    struct walk_job job = {
        .flat = flat, .column = column, .begin = begin, .end = end, .leaves = leaves};
    return walk(ctx, &job);
}

int rw_predict_leaves(struct rw_ctx *ctx, const struct rw_model *model,
                      const struct rw_dataset *dataset, int n_trees, int32_t *leaves)
{
    RW_DEFAULT_FPENV;
    struct rw_flat flat;
    RW_TRY(rw_flat_init(ctx, &flat, model, n_trees));
    struct walk_job job = {.flat = &flat, .leaves = leaves};
    const int status = walk_all(ctx, &job, dataset);
    rw_flat_release(&flat);
    return status;
}

/* Scores and leaves as lines of text. */
enum {
    NUMBER_BYTES = 32,     /* of a double, with its newline */
    LEAF_BYTES = 11,       /* of a leaf's number and what parts it from the next */
    BLOCK_LEAVES = 1 << 22 /* of a block of documents */
};

int rw_exact_text(double value, char buffer[RW_EXACT_ROOM])
{
    RW_DEFAULT_FPENV;
    return rw_number_write_exact(value, buffer);
}

static size_t number_line(const void *user, uint64_t i, char *to)
{
    const double *values = user;
    const int length = rw_number_write_exact(values[i], to);
    to[length] = '\n';
    return (size_t)length + 1;
}

int rw_exact_lines(struct rw_ctx *ctx, const double *values, size_t n, struct rw_out_file *out)
{
    return rw_lines_write(ctx, out, n, NUMBER_BYTES, number_line, values);
}

struct leaves {
    const int32_t *leaf; /* [docs][n_trees] */
    size_t n_trees;
};

static size_t leaves_line(const void *user, uint64_t i, char *to)
{
    const struct leaves *leaves = user;
    const int32_t *leaf = leaves->leaf + i * leaves->n_trees;
    char *p = to;
    for (size_t t = 0; t < leaves->n_trees; t++) {
        char digits[LEAF_BYTES], *first = digits + sizeof(digits);
        uint32_t left = (uint32_t)leaf[t];
        do
            *--first = (char)('0' + left % 10);
        while (left /= 10);
        while (first < digits + sizeof(digits))
            *p++ = *first++;
        *p++ = t + 1 < leaves->n_trees ? ' ' : '\n';
    }
    if (leaves->n_trees == 0)
        *p++ = '\n';
    return (size_t)(p - to);
}

int rw_leaf_lines(struct rw_ctx *ctx, const struct rw_model *model,
                  const struct rw_dataset *dataset, int n_trees, struct rw_out_file *out)
{
    RW_DEFAULT_FPENV;
    struct rw_flat flat;
    const struct rw_column **column = NULL;
    int32_t *leaf = NULL;
    int status;
    RW_TRY(rw_flat_init(ctx, &flat, model, n_trees));
    const size_t trees = (size_t)flat.n_trees;
    uint32_t docs = (uint32_t)(BLOCK_LEAVES / (trees + 1)) + 1;
    docs = docs < dataset->n_docs ? docs : dataset->n_docs;
    RW_TRY_OUT(rw_flat_columns(ctx, &flat, dataset, &column));
    RW_TRY_OUT(RW_NEW_RAW(ctx, leaf, docs * trees));
    for (uint32_t begin = 0; begin < dataset->n_docs; begin += docs) {
        const uint32_t left = dataset->n_docs - begin, n = left < docs ? left : docs;
        const struct leaves leaves = {leaf, trees};
        RW_TRY_OUT(rw_flat_leaves(ctx, &flat, column, begin, begin + n, leaf));
        RW_TRY_OUT(rw_lines_write(ctx, out, n, trees * LEAF_BYTES + 1, leaves_line, &leaves));
    }
    status = RW_OK;
out:
    rw_mem_free(leaf);
    rw_mem_free(column);
    rw_flat_release(&flat);
    return status;
}
