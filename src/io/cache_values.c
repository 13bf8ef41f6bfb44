/* A cache's values straight into its file, in any order; the rest is written behind them. */
#include <errno.h>
#include <unistd.h>

#include "base/mem.h"
#include "io/cache.h"

struct rw_cache_values {
    struct rw_out_file file;
    uint32_t n_docs, n_columns;
    uint64_t at;         /* of the values in the file */
    uint32_t *column_of; /* [RW_FEATURE_IDS] UINT32_MAX: not expected; owned */
    uint64_t n_taken;    /* values, by all threads */
    int write_errno;     /* of a write that failed */
};

int rw_cache_values_open(struct rw_ctx *ctx, const char *path, struct rw_cache_values **out)
{
    struct rw_cache_values *values;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, values, 1));
    RW_TRY_OUT(rw_out_file_open(ctx, &values->file, path));
    if (!values->file.temporary)
        goto out;
    *out = values;
    return RW_OK;
out:
    rw_cache_values_close(values);
    return status;
}

int rw_cache_values_fail(struct rw_ctx *ctx, const struct rw_cache_values *values)
{
    if (!values->write_errno)
        return rw_fail(ctx, RW_ERR_MACHINE, "cannot read what goes into '%s'", values->file.path);
    return rw_fail_io(ctx, values->write_errno, "cannot write '%s'", values->file.path);
}

void rw_cache_values_close(struct rw_cache_values *values)
{
    if (!values)
        return;
    rw_out_file_abandon(&values->file);
    rw_mem_free(values->column_of);
    rw_mem_free(values);
}

int rw_cache_values_begin(struct rw_ctx *ctx, struct rw_cache_values *values,
                          const uint16_t *feature, uint32_t n_columns, uint32_t n_docs)
{
    const struct rw_cache_header header = {
        .n_docs = n_docs, .n_columns = n_columns, .n_values = (uint64_t)n_docs * n_columns};
    struct rw_cache_layout layout;
    RW_TRY(rw_cache_layout(&header, UINT64_MAX / 2, &layout));
    values->at = layout.offset[RW_CACHE_VALUE];
    values->n_docs = n_docs;
    values->n_columns = n_columns;
    RW_TRY(RW_NEW_RAW(ctx, values->column_of, RW_FEATURE_IDS));
    memset(values->column_of, 0xff, (RW_FEATURE_IDS) * sizeof(*values->column_of));
    for (uint32_t c = 0; c < n_columns; c++)
        values->column_of[feature[c]] = c;
    return RW_OK;
}

int rw_cache_values_take(void *user, uint32_t feature, uint32_t doc, const float *value, uint32_t n)
{
    struct rw_cache_values *values = user;
    const uint32_t column = values->column_of[feature];
    const char *from = (const char *)value;
    size_t left = n * sizeof(*value);
    if (column == UINT32_MAX)
        return RW_OK;
    uint64_t at = values->at + ((uint64_t)column * values->n_docs + doc) * sizeof(*value);
    while (left) {
        const ssize_t done = pwrite(fileno(values->file.file), from, left, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            __atomic_store_n(&values->write_errno, done < 0 ? errno : EIO, __ATOMIC_RELAXED);
            return RW_ERR_IO;
        }
        from += done;
        at += (uint64_t)done;
        left -= (size_t)done;
    }
    __atomic_fetch_add(&values->n_taken, n, __ATOMIC_RELAXED);
    return RW_OK;
}

int rw_cache_values_are_whole(const struct rw_cache_values *values, uint32_t n_features)
{
    return values->n_columns == n_features &&
           values->n_taken == (uint64_t)values->n_columns * values->n_docs;
}

int rw_cache_values_finish(struct rw_ctx *ctx, struct rw_cache_values *values,
                           const struct rw_binned *binned)
{
    struct rw_dataset dataset = *binned->documents;
    RW_TRY(RW_NEW(ctx, dataset.column, binned->n_features));
    for (; dataset.n_columns < binned->n_features; dataset.n_columns++)
        dataset.column[dataset.n_columns] =
            (struct rw_column){.feature = binned->feature[dataset.n_columns], .n = dataset.n_docs};
    const int status = rw_cache_write_file(ctx, &dataset, binned->bins, &values->file);
    rw_mem_free(dataset.column);
    return status;
}
