/* Scores and leaves as lines of text. */
#include "base/fpenv.h"
#include "base/lines.h"
#include "base/mem.h"
#include "base/number.h"
#include "dataset/dataset.h"
#include "model/predict.h"

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
