#include "gpu/metric/rank_cuda.h"

#include <string.h>

#include "base/mem.h"
#include "gpu/device/transfer.h"

int rw_cuda_upload(struct rw_ctx *ctx, const struct rw_device *device, void **out, const void *from,
                   size_t bytes, uint64_t *held)
{
    RW_TRY(rw_device_alloc(ctx, out, bytes));
    *held += bytes;
    return from ? rw_transfer_write(ctx, device, *out, from, bytes) : RW_OK;
}

static uint32_t size_of(const uint32_t *query_offset, uint32_t q)
{
    return query_offset[q + 1] - query_offset[q];
}

/* query: [n_queries], written; may be NULL. Counting sort: the sizes that differ are small ones. */
static void sort_by_size(const uint32_t *query_offset, uint32_t n_queries,
                         struct rw_cuda_rank *rank, uint32_t *query)
{
    uint32_t place[RW_RANK_BLOCK_DOCS + 3] = {0}; /* of large ones, then of falling size, to 0 */
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = size_of(query_offset, q);
        place[n > RW_RANK_BLOCK_DOCS ? 1 : RW_RANK_BLOCK_DOCS - n + 2]++;
        rank->n_block += n > RW_RANK_WARP_DOCS && n <= RW_RANK_BLOCK_DOCS;
        rank->n_warp += n >= 1 && n <= RW_RANK_WARP_DOCS;
        rank->large.n += n > RW_RANK_BLOCK_DOCS;
        rank->large.n_docs += n > RW_RANK_BLOCK_DOCS ? n : 0;
    }
    for (uint32_t i = 1; i <= RW_RANK_BLOCK_DOCS + 1; i++)
        place[i] += place[i - 1];
    for (uint32_t q = 0; query && q < n_queries; q++) {
        const uint32_t n = size_of(query_offset, q);
        query[place[n > RW_RANK_BLOCK_DOCS ? 0 : RW_RANK_BLOCK_DOCS - n + 1]++] = q;
    }
}

static int init_large(struct rw_ctx *ctx, const struct rw_device *device, uint32_t n_queries,
                      const uint32_t *query_offset, struct rw_cuda_rank *rank)
{
    struct rw_cuda_rank_large *large = &rank->large;
    int status = RW_OK;
    uint32_t *begin = NULL, *first = NULL, k = 0;
    if (large->n == 0)
        return RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, begin, (size_t)large->n + 1));
    RW_TRY_OUT(RW_NEW(ctx, first, large->n));
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = size_of(query_offset, q);
        if (n <= RW_RANK_BLOCK_DOCS)
            continue;
        first[k] = query_offset[q];
        begin[k + 1] = begin[k] + n;
        k++;
    }
    const size_t n = large->n_docs;
    RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&large->d_begin, begin,
                              ((size_t)large->n + 1) * sizeof(*begin), &rank->bytes));
    RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&large->d_first, first,
                              large->n * sizeof(*first), &rank->bytes));
    for (int i = 0; i < 2; i++) {
        RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&large->d_key[i], NULL,
                                  n * sizeof(uint64_t), &rank->bytes));
        RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&large->d_doc[i], NULL,
                                  n * sizeof(uint32_t), &rank->bytes));
        if (large->n > 1)
            RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&large->d_part[i], NULL,
                                      n * sizeof(uint32_t), &rank->bytes));
    }
    large->scratch_bytes = rw_cuda_rank_scratch_bytes(large->n_docs, large->n);
    RW_TRY_OUT(
        rw_cuda_upload(ctx, device, &large->d_scratch, NULL, large->scratch_bytes, &rank->bytes));
out:
    rw_mem_free(begin);
    rw_mem_free(first);
    return status;
}

int rw_cuda_rank_init(struct rw_ctx *ctx, const struct rw_device *device, uint32_t n_docs,
                      uint32_t n_queries, const uint32_t *query_offset, struct rw_cuda_rank *rank)
{
    int status = RW_OK;
    uint32_t *query = NULL;
    memset(rank, 0, sizeof(*rank));
    rank->n_docs = n_docs;
    rank->n_queries = n_queries;
    RW_TRY_OUT(RW_NEW(ctx, query, n_queries));
    sort_by_size(query_offset, n_queries, rank, query);
    RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&rank->d_offset, query_offset,
                              ((size_t)n_queries + 1) * sizeof(*query_offset), &rank->bytes));
    RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&rank->d_by_size, query,
                              n_queries * sizeof(*query), &rank->bytes));
    rank->d_query = rank->d_by_size + rank->large.n;
    RW_TRY_OUT(rw_cuda_upload(ctx, device, (void **)&rank->d_order, NULL,
                              (size_t)n_docs * sizeof(uint32_t), &rank->bytes));
    RW_TRY_OUT(init_large(ctx, device, n_queries, query_offset, rank));
out:
    rw_mem_free(query);
    if (status < 0)
        rw_cuda_rank_release(rank);
    return status;
}

void rw_cuda_rank_release(struct rw_cuda_rank *rank)
{
    struct rw_cuda_rank_large *large = &rank->large;
    rw_device_free(rank->d_offset);
    rw_device_free(rank->d_by_size);
    rw_device_free(rank->d_order);
    rw_device_free(large->d_begin);
    rw_device_free(large->d_first);
    for (int i = 0; i < 2; i++) {
        rw_device_free(large->d_key[i]);
        rw_device_free(large->d_doc[i]);
        rw_device_free(large->d_part[i]);
    }
    rw_device_free(large->d_scratch);
    memset(rank, 0, sizeof(*rank));
}

uint64_t rw_cuda_rank_plan_bytes(uint32_t n_docs, uint32_t n_queries, const uint32_t *query_offset)
{
    struct rw_cuda_rank rank = {0};
    sort_by_size(query_offset, n_queries, &rank, NULL);
    uint64_t bytes = 4 * (2 * (uint64_t)n_queries + 1 + n_docs);
    if (rank.large.n)
        bytes += 8 * (uint64_t)rank.large.n + 4 +
                 (uint64_t)rank.large.n_docs * (rank.large.n > 1 ? 32 : 24) +
                 rw_cuda_rank_scratch_bytes(rank.large.n_docs, rank.large.n);
    return bytes;
}

uint32_t rw_cuda_rank_launches(const struct rw_cuda_rank *rank)
{
    const uint32_t large = rank->large.n == 0 ? 0 : rank->large.n == 1 ? 3 : 5;
    return (rank->n_block + rank->n_warp > 0) + large;
}
