#include "gpu/metric/rank_cuda.h"

#include <string.h>

#include "base/mem.h"

static uint32_t size_of(const uint32_t *query_offset, uint32_t q)
{
    return query_offset[q + 1] - query_offset[q];
}

/* query: [n_queries], written. Counting sort: the sizes that differ are small ones. */
static void sort_by_size(const uint32_t *query_offset, uint32_t n_queries,
                         struct rw_cuda_rank *rank, uint32_t *query)
{
    uint32_t position[RW_RANK_BLOCK_DOCS + 3] = {0}; /* of large ones, then of falling size, to 0 */
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = size_of(query_offset, q);
        position[n > RW_RANK_BLOCK_DOCS ? 1 : RW_RANK_BLOCK_DOCS - n + 2]++;
        rank->n_block += n > RW_RANK_WARP_DOCS && n <= RW_RANK_BLOCK_DOCS;
        rank->n_warp += n >= 1 && n <= RW_RANK_WARP_DOCS;
        rank->large.n += n > RW_RANK_BLOCK_DOCS;
        rank->large.n_docs += n > RW_RANK_BLOCK_DOCS ? n : 0;
    }
    for (uint32_t i = 1; i <= RW_RANK_BLOCK_DOCS + 1; i++)
        position[i] += position[i - 1];
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = size_of(query_offset, q);
        query[position[n > RW_RANK_BLOCK_DOCS ? 0 : RW_RANK_BLOCK_DOCS - n + 1]++] = q;
    }
}

static int init_large(struct rw_device_tables *tables, const uint32_t *query_offset,
                      struct rw_cuda_rank *rank)
{
    struct rw_cuda_rank_large *large = &rank->large;
    int status = RW_OK;
    uint32_t *begin = NULL, *first = NULL, k = 0;
    if (large->n == 0)
        return RW_OK;
    RW_TRY_OUT(RW_NEW(tables->ctx, begin, (size_t)large->n + 1));
    RW_TRY_OUT(RW_NEW(tables->ctx, first, large->n));
    for (uint32_t q = 0; q < rank->n_queries; q++) {
        const uint32_t n = size_of(query_offset, q);
        if (n <= RW_RANK_BLOCK_DOCS)
            continue;
        first[k] = query_offset[q];
        begin[k + 1] = begin[k] + n;
        k++;
    }
    const size_t n = large->n_docs;
    RW_TRY_OUT(RW_DEVICE_TABLE(tables, large->d_begin, begin, (size_t)large->n + 1));
    RW_TRY_OUT(RW_DEVICE_TABLE(tables, large->d_first, first, large->n));
    for (int i = 0; i < 2; i++) {
        RW_TRY_OUT(RW_DEVICE_TABLE(tables, large->d_key[i], NULL, n));
        RW_TRY_OUT(RW_DEVICE_TABLE(tables, large->d_doc[i], NULL, n));
        if (large->n > 1)
            RW_TRY_OUT(RW_DEVICE_TABLE(tables, large->d_part[i], NULL, n));
    }
    large->scratch_bytes = rw_cuda_rank_scratch_bytes(large->n_docs, large->n);
    RW_TRY_OUT(rw_device_table(tables, &large->d_scratch, NULL, large->scratch_bytes));
out:
    rw_mem_free(begin);
    rw_mem_free(first);
    return status;
}

int rw_cuda_rank_init(struct rw_device_tables *tables, uint32_t n_docs, uint32_t n_queries,
                      const uint32_t *query_offset, struct rw_cuda_rank *rank)
{
    int status = RW_OK;
    uint32_t *query = NULL;
    memset(rank, 0, sizeof(*rank));
    rank->n_docs = n_docs;
    rank->n_queries = n_queries;
    RW_TRY_OUT(RW_NEW(tables->ctx, query, n_queries));
    sort_by_size(query_offset, n_queries, rank, query);
    RW_TRY_OUT(RW_DEVICE_TABLE(tables, rank->d_offset, query_offset, (size_t)n_queries + 1));
    RW_TRY_OUT(RW_DEVICE_TABLE(tables, rank->d_by_size, query, n_queries));
    rank->d_query = rank->d_by_size + rank->large.n;
    RW_TRY_OUT(RW_DEVICE_TABLE(tables, rank->d_order, NULL, n_docs));
    RW_TRY_OUT(init_large(tables, query_offset, rank));
out:
    rw_mem_free(query);
    return status;
}

uint64_t rw_cuda_rank_plan_bytes(uint32_t n_docs, uint32_t n_queries, const uint32_t *query_offset)
{
    struct rw_device_tables none = {.device = NULL};
    struct rw_cuda_rank rank;
    (void)rw_cuda_rank_init(&none, n_docs, n_queries, query_offset, &rank);
    return none.bytes;
}

uint32_t rw_cuda_rank_launches(const struct rw_cuda_rank *rank)
{
    const uint32_t large = rank->large.n == 0 ? 0 : rank->large.n == 1 ? 3 : 5;
    return (rank->n_block + rank->n_warp > 0) + large;
}
