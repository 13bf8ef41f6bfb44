#include "evaluate/query_subset.h"

#include "dataset/side_columns.h"

int rw_dataset_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                      struct rw_dataset **out)
{
    struct rw_builder builder = {0};
    int status = RW_OK;
    uint32_t n = 0;
    *out = NULL;
    /* Queries that stand together are copied together. */
    for (uint32_t q = 0, end; q < dataset->n_queries; q = end) {
        end = q + 1;
        if (!keep[q])
            continue;
        while (end < dataset->n_queries && keep[end])
            end++;
        n += end - q;
        RW_TRY_OUT(rw_builder_copy(ctx, &builder, dataset, dataset->query_offset[q],
                                   dataset->query_offset[end]));
    }
    if (n == 0) {
        status = rw_fail(ctx, RW_ERR_DATA, "no query is left");
        goto out;
    }
    RW_TRY_OUT(rw_builder_finish(ctx, &builder, 1, out));
    RW_TRY_OUT(rw_side_columns_select(ctx, dataset, keep, *out));
    RW_TRY_OUT(rw_names_copy(ctx, dataset->name, dataset->n_names, &(*out)->name));
    (*out)->n_names = dataset->n_names;
out:
    rw_builder_release(&builder);
    if (status < 0) {
        rw_dataset_free(*out);
        *out = NULL;
    }
    return status;
}
