#include "evaluate/query_subset.h"

#include "base/mem.h"
#include "dataset/dataset.h"

/* Start scores and positions. */
static int select_numbers(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                          struct rw_dataset *out)
{
    uint32_t at = 0;
    if (dataset->start_score)
        RW_TRY(RW_NEW_RAW(ctx, out->start_score, out->n_docs));
    if (dataset->position)
        RW_TRY(RW_NEW_RAW(ctx, out->position, out->n_docs));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        if (!keep[q])
            continue;
        if (dataset->start_score)
            memcpy(out->start_score + at, dataset->start_score + begin, n * sizeof(double));
        if (dataset->position)
            memcpy(out->position + at, dataset->position + begin, n * sizeof(uint16_t));
        at += n;
    }
    return RW_OK;
}

/* With the numbers that the documents have now. */
static int select_pairs(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                        struct rw_dataset *out)
{
    struct rw_given_pair *pairs = NULL;
    size_t n = 0;
    uint32_t at = 0;
    if (!dataset->pair)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, pairs, dataset->pair_offset[dataset->n_queries]));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q];
        for (size_t k = dataset->pair_offset[q]; keep[q] && k < dataset->pair_offset[q + 1]; k++) {
            pairs[n] = dataset->pair[k];
            pairs[n].better += at - begin;
            pairs[n++].worse += at - begin;
        }
        at += keep[q] ? dataset->query_offset[q + 1] - begin : 0;
    }
    const int status = rw_dataset_set_pairs(ctx, out, pairs, n);
    rw_mem_free(pairs);
    return status;
}

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
    (*out)->weight_by_query = dataset->weight_by_query;
    RW_TRY_OUT(select_numbers(ctx, dataset, keep, *out));
    RW_TRY_OUT(select_pairs(ctx, dataset, keep, *out));
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
