/* Data sets of tables in memory. */
#include <stdio.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "dataset/query_ids.h"
#include "dataset/table.h"

/* ---- documents ---- */

static int take_labels(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset *dataset)
{
    RW_TRY(RW_NEW(ctx, dataset->label, table->n_docs));
    for (uint32_t i = 0; table->label && i < table->n_docs; i++) {
        const float label = table->label[i];
        char shard[RW_SHARD_TEXT];
        if (!(label >= 0) || isinf(label))
            return rw_fail(ctx, RW_ERR_DATA,
                           "label of document %u (from 0)%s is %g; expected 0 or more", i,
                           rw_comm_shard(ctx, shard), (double)label);
        dataset->label[i] = label == 0 ? 0.0f : label;
    }
    return RW_OK;
}

/* The numbers from 0 as ids. */
static int number_queries(struct rw_ctx *ctx, uint32_t n_queries, char **text, uint64_t *offset)
{
    enum { ID_BYTES = 11 };
    RW_TRY(RW_NEW_RAW(ctx, *text, (size_t)n_queries * ID_BYTES));
    offset[0] = 0;
    for (uint32_t q = 0; q < n_queries; q++)
        offset[q + 1] = offset[q] + (uint64_t)snprintf(*text + offset[q], ID_BYTES, "%u", q) + 1;
    return RW_OK;
}

static int take_ids(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset *dataset)
{
    const uint32_t n_queries = table->n_queries;
    struct rw_query_ids ids = {.slot = NULL};
    uint64_t *offset;
    int status = RW_OK;
    RW_TRY(RW_NEW(ctx, dataset->query_id_offset, (size_t)n_queries + 1));
    offset = dataset->query_id_offset;
    if (!table->query_id_offset)
        return number_queries(ctx, n_queries, &dataset->query_id_text, offset);
    for (uint32_t q = 0; q < n_queries; q++) {
        const char *id = table->query_id_text + table->query_id_offset[q];
        size_t first;
        RW_TRY_OUT(rw_query_ids_add(ctx, &ids, id, &first));
        if (status > 0) {
            status = rw_fail(ctx, RW_ERR_DATA,
                             "query '%.200s' comes back after another query\n"
                             "hint: its documents are %u to %u and from %u on (from 0); a query's "
                             "documents must stand together",
                             id, table->query_offset[first], table->query_offset[first + 1] - 1,
                             table->query_offset[q]);
            goto out;
        }
        offset[q + 1] = offset[q] + strlen(id) + 1;
    }
    RW_TRY_OUT(RW_NEW_RAW(ctx, dataset->query_id_text, offset[n_queries]));
    for (uint32_t q = 0; q < n_queries; q++)
        memcpy(dataset->query_id_text + offset[q], table->query_id_text + table->query_id_offset[q],
               offset[q + 1] - offset[q]);
out:
    rw_query_ids_release(&ids);
    return status;
}

int rw_table_documents(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out)
{
    const uint32_t n_queries = table->n_queries;
    struct rw_dataset *dataset;
    int status;
    *out = NULL;
    RW_TRY(rw_dataset_new(ctx, &dataset));
    dataset->n_docs = table->n_docs;
    dataset->n_queries = n_queries;
    dataset->width = table->feature ? 0 : table->n_columns;
    RW_TRY_OUT(take_labels(ctx, table, dataset));
    RW_TRY_OUT(RW_NEW_RAW(ctx, dataset->query_offset, (size_t)n_queries + 1));
    memcpy(dataset->query_offset, table->query_offset,
           ((size_t)n_queries + 1) * sizeof(*dataset->query_offset));
    RW_TRY_OUT(take_ids(ctx, table, dataset));
    *out = dataset;
    return RW_OK;
out:
    rw_dataset_free(dataset);
    return status;
}

/* ---- values ---- */

struct copy_job {
    struct rw_table_reader *reader;
    struct rw_dataset *dataset;
    uint32_t *dense, *sparse; /* [n_dense], [n_sparse] columns; owned */
    uint32_t n_dense, n_sparse, n_groups;
    size_t stride;       /* floats from one dense column to the next */
    uint32_t first, end; /* documents at hand */
};

enum { DOCS_AT_A_TIME = 1 << 14 };

static int copy_dense(void *user, struct rw_share *share)
{
    const struct copy_job *job = user;
    const uint32_t n_docs = job->end - job->first;
    for (uint64_t item, end; rw_share_next(share, &item, &end);) {
        const uint32_t group = (uint32_t)(item % job->n_groups) * RW_TABLE_COLUMNS;
        const uint32_t first = (uint32_t)(item / job->n_groups) * DOCS_AT_A_TIME;
        const uint32_t left = job->n_dense - group;
        rw_table_values(
            job->reader, job->dense + group, left < RW_TABLE_COLUMNS ? left : RW_TABLE_COLUMNS,
            NULL, first, n_docs - first < DOCS_AT_A_TIME ? n_docs - first : DOCS_AT_A_TIME,
            job->dataset->column[job->dense[group]].value + job->first + first, job->stride);
    }
    return RW_OK;
}

static int copy_sparse(void *user, struct rw_share *share)
{
    const struct copy_job *job = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        const struct rw_column *column = &job->dataset->column[job->sparse[i]];
        RW_TRY(rw_table_entries(job->reader, job->sparse[i], column->row, column->value));
    }
    return RW_OK;
}

/* Columns in one block: the dense ones' values, then entries of the others. */
static int make_columns(struct rw_ctx *ctx, struct copy_job *job)
{
    const struct rw_table_reader *reader = job->reader;
    struct rw_dataset *dataset = job->dataset;
    const uint32_t n_columns = reader->n_columns;
    RW_TRY(RW_NEW(ctx, dataset->column, n_columns));
    RW_TRY(RW_NEW_RAW(ctx, job->dense, n_columns));
    RW_TRY(RW_NEW_RAW(ctx, job->sparse, n_columns));
    size_t room = 0;
    for (uint32_t c = 0; c < n_columns; c++) {
        const int is_sparse = reader->column[c].is_sparse;
        dataset->column[c] =
            (struct rw_column){.feature = reader->column[c].feature,
                               .n = is_sparse ? rw_table_n_entries(reader, c) : dataset->n_docs};
        if (is_sparse)
            job->sparse[job->n_sparse++] = c;
        else
            job->dense[job->n_dense++] = c;
        room += is_sparse ? 2 * (size_t)dataset->column[c].n : 0;
    }
    job->stride = ((size_t)dataset->n_docs + 15) / 16 * 16; /* whole cache lines */
    job->n_groups = (job->n_dense + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    room += job->n_dense * job->stride;
    dataset->column_block_bytes = room * sizeof(float);
    RW_TRY(rw_mem_new_large(ctx, &dataset->column_block, dataset->column_block_bytes, 0));
    float *at = dataset->column_block;
    for (uint32_t k = 0; k < job->n_dense; k++, at += job->stride)
        dataset->column[job->dense[k]].value = at;
    for (uint32_t k = 0; k < job->n_sparse; k++) {
        struct rw_column *column = &dataset->column[job->sparse[k]];
        column->value = at;
        column->row = (uint32_t *)(void *)(at + column->n);
        at += 2 * (size_t)column->n;
    }
    dataset->n_columns = n_columns;
    return RW_OK;
}

static int copy_values(struct rw_ctx *ctx, struct copy_job *job)
{
    enum { FEW = 1 << 15 }; /* values: waking threads up costs more */
    const uint32_t n_docs = job->end - job->first;
    const uint64_t n_ranges = ((uint64_t)n_docs + DOCS_AT_A_TIME - 1) / DOCS_AT_A_TIME;
    const int n_threads = (uint64_t)n_docs * job->n_dense < FEW ? 1 : ctx->n_threads;
    RW_TRY(rw_parallel_long(ctx, n_threads, n_ranges * job->n_groups, 1, copy_dense, job));
    const int status = rw_parallel_long(ctx, ctx->n_threads, job->n_sparse, 1, copy_sparse, job);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while reading a table");
    return rw_table_check(ctx, job->reader);
}

static int copy_batches(struct rw_ctx *ctx, struct copy_job *job, const struct rw_batches *batches)
{
    const uint32_t n_docs = job->dataset->n_docs;
    struct rw_array *column;
    int status;
    RW_TRY(RW_NEW(ctx, column, job->reader->batch.n_columns));
    RW_TRY_OUT(rw_table_rewind(ctx, batches));
    for (uint32_t n; job->n_dense; job->first += n) {
        RW_TRY_OUT(rw_table_next_batch(ctx, job->reader, batches, n_docs, job->first, column, &n));
        if (n == 0)
            break;
        job->end = job->first + n;
        RW_TRY_OUT(copy_values(ctx, job));
    }
out:
    rw_mem_free(column);
    return status;
}

/* batches: NULL: the table has the values. */
static int from_values(struct rw_ctx *ctx, const struct rw_table *table,
                       const struct rw_batches *batches, struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    struct rw_table_reader reader;
    struct copy_job job = {.reader = &reader, .end = table->n_docs};
    int status;
    *out = NULL;
    RW_TRY_OUT(batches ? rw_table_open_batches(ctx, &reader, table)
                       : rw_table_open(ctx, &reader, table));
    RW_TRY_OUT(rw_table_documents(ctx, table, &job.dataset));
    RW_TRY_OUT(make_columns(ctx, &job));
    RW_TRY_OUT(batches ? copy_batches(ctx, &job, batches) : copy_values(ctx, &job));
    rw_table_tell(ctx, &reader);
    *out = job.dataset;
    job.dataset = NULL;
out:
    rw_dataset_free(job.dataset);
    rw_mem_free(job.dense);
    rw_mem_free(job.sparse);
    rw_table_close(&reader);
    return status;
}

int rw_dataset_from_table(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out)
{
    return from_values(ctx, table, NULL, out);
}

int rw_dataset_from_batches(struct rw_ctx *ctx, const struct rw_table *table,
                            const struct rw_batches *batches, struct rw_dataset **out)
{
    return from_values(ctx, table, batches, out);
}

int rw_dataset_from_memory(struct rw_ctx *ctx, const float *values, const float *labels,
                           const uint32_t *query_offsets, uint32_t n_docs, uint32_t n_features,
                           uint32_t n_queries, uint32_t first_feature, struct rw_dataset **out)
{
    struct rw_array *column = NULL;
    uint32_t *feature = NULL;
    char *text = NULL;
    uint64_t *offset = NULL;
    int status;
    *out = NULL;
    if (first_feature > RW_MAX_FEATURE || n_features > RW_FEATURE_IDS - first_feature)
        return rw_fail(ctx, RW_ERR_DATA, "%u features from %u on; expected ids 0 to %d", n_features,
                       first_feature, RW_MAX_FEATURE);
    RW_TRY_OUT(RW_NEW(ctx, column, n_features));
    RW_TRY_OUT(RW_NEW_RAW(ctx, feature, n_features));
    RW_TRY_OUT(RW_NEW_RAW(ctx, offset, (size_t)n_queries + 2));
    RW_TRY_OUT(number_queries(ctx, n_queries + 1, &text, offset));
    for (uint32_t f = 0; f < n_features; f++) {
        feature[f] = first_feature + f;
        column[f] = (struct rw_array){.data = values + f,
                                      .type = RW_VALUE_F32,
                                      .stride = (ptrdiff_t)(n_features * sizeof(float))};
    }
    const struct rw_table table = {.n_docs = n_docs,
                                   .n_columns = n_features,
                                   .column = column,
                                   .feature = first_feature ? feature : NULL,
                                   .missing = NAN,
                                   .label = labels,
                                   .n_queries = n_queries,
                                   .query_offset = query_offsets,
                                   .query_id_text = text,
                                   .query_id_offset = offset + 1}; /* from "1" on */
    status = rw_dataset_from_table(ctx, &table, out);
out:
    rw_mem_free(column);
    rw_mem_free(feature);
    rw_mem_free(text);
    rw_mem_free(offset);
    return status;
}
