/* Tables whose values come in batches, again in each pass. */
#include "dataset/table.h"

int rw_table_open_batches(struct rw_ctx *ctx, struct rw_table_reader *r,
                          const struct rw_table *table)
{
    RW_TRY(rw_table_open_documents(ctx, r, table));
    if (table->order)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "documents in batches cannot be put in another order");
    for (; r->n_columns < table->n_columns; r->n_columns++)
        r->column[r->n_columns] = (struct rw_table_column){
            .feature = table->feature ? table->feature[r->n_columns] : r->n_columns,
            .index = r->n_columns};
    r->batch = *table;
    r->batch.n_chunks = 0;
    r->table = &r->batch;
    return RW_OK;
}

int rw_table_rewind(struct rw_ctx *ctx, const struct rw_batches *batches)
{
    if (batches->rewind(batches->user))
        return rw_fail(ctx, RW_ERR_INTERRUPTED, "a pass over the batches could not begin");
    return RW_OK;
}

int rw_table_next_batch(struct rw_ctx *ctx, struct rw_table_reader *r,
                        const struct rw_batches *batches, uint32_t n_docs, uint32_t done,
                        struct rw_array *column, uint32_t *n)
{
    memset(column, 0, r->batch.n_columns * sizeof(*column));
    *n = 0;
    if (batches->next(batches->user, column, n))
        return rw_fail(ctx, RW_ERR_INTERRUPTED,
                       "the batch that begins with document %u was not given", done);
    if (*n > n_docs - done)
        return rw_fail(ctx, RW_ERR_DATA,
                       "a pass over the batches gives more than %u documents; expected the same "
                       "ones in every pass",
                       n_docs);
    if (*n == 0 && done < n_docs)
        return rw_fail(
            ctx, RW_ERR_DATA,
            "a pass over the batches gives %u documents, of %u; expected the same ones in "
            "every pass",
            done, n_docs);
    r->first_doc = done;
    r->batch.n_docs = *n;
    r->batch.column = column;
    for (uint32_t i = 0; *n && i < r->batch.n_columns; i++) {
        if (column[i].index)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "column of feature %u is sparse, in a batch; expected a value for each "
                           "document",
                           r->column[i].feature);
    }
    return *n ? rw_table_check_columns(ctx, &r->batch) : RW_OK;
}
