#include "tree/ranks.h"

#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"

int rw_ranks_place(struct rw_engine *engine, const struct rw_dataset *train)
{
    struct rw_ctx *ctx = engine->ctx;
    const int n_ranks = rw_n_ranks(ctx), rank = rw_rank(ctx);
    uint64_t *docs = NULL, *queries = NULL;
    int status = RW_NEW(ctx, docs, (size_t)n_ranks + 1);
    status = status < 0 ? status : RW_NEW(ctx, queries, (size_t)n_ranks + 1);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_comm_offsets(ctx, train->n_docs, docs));
    RW_TRY_OUT(rw_comm_offsets(ctx, train->n_queries, queries));
    if (docs[n_ranks] > RW_MAX_DOCS) {
        status = rw_fail(ctx, RW_ERR_DATA, "%llu documents on %d ranks; expected at most %u",
                         (unsigned long long)docs[n_ranks], n_ranks, RW_MAX_DOCS);
        goto out;
    }
    engine->first_doc = (uint32_t)docs[rank];
    engine->first_query = (uint32_t)queries[rank];
    engine->all_docs = (uint32_t)docs[n_ranks];
out:
    rw_mem_free(docs);
    rw_mem_free(queries);
    return status;
}

int rw_ranks_keep_one(struct rw_engine *engine, uint32_t n_kept, uint32_t lowest, uint32_t number,
                      int *keep)
{
    struct rw_ctx *ctx = engine->ctx;
    uint64_t all_kept = n_kept;
    /* by random number, then by its number among all; a rank without queries comes last,
     * and if it has the number of one, it has none to keep */
    const uint64_t own = (uint64_t)lowest << 32 | number;
    uint64_t least = own;
    *keep = 0;
    RW_TRY(rw_comm_sum(ctx, &all_kept, 1));
    if (all_kept > 0)
        return RW_OK;
    RW_TRY(rw_comm_all_reduce(ctx, &least, 1, RW_COMM_U64, RW_COMM_MIN));
    *keep = least == own;
    return RW_OK;
}

int rw_ranks_extent(struct rw_engine *engine, struct rw_extent *extent)
{
    struct rw_ctx *ctx = engine->ctx;
    const struct rw_extent own = *extent;
    struct rw_sum *sum = &extent->sum;
    uint64_t largest[2] = {(uint64_t)extent->lambda, (uint64_t)extent->hess};
    if (rw_n_ranks(ctx) == 1)
        return RW_OK;
    RW_TRY(rw_comm_max(ctx, largest, 2));
    extent->lambda = (int64_t)largest[0];
    extent->hess = (int64_t)largest[1];
    RW_TRY(rw_ranks_leaf_sums(ctx, sum, 1));
    return extent->lambda >= own.lambda && extent->hess >= own.hess && sum->n >= own.sum.n &&
                   sum->n <= engine->all_docs
               ? RW_OK
               : rw_comm_nonsense(ctx, "sums of gradients");
}

int rw_ranks_leaf_sums(struct rw_ctx *ctx, struct rw_sum *sums, int n)
{
    _Static_assert(sizeof(*sums) == 5 * sizeof(uint64_t), "sums are 64-bit words");
    return rw_comm_sum(ctx, (uint64_t *)(void *)sums, 5 * (size_t)n);
}

/* Higher gain, then lower feature; of a feature one rank's found counts, or all have the same. */
static int is_better(const struct rw_split *a, const struct rw_split *b)
{
    if (a->column < 0 || b->column < 0)
        return a->column >= 0 && b->column < 0;
    return a->gain > b->gain || (a->gain == b->gain && a->column < b->column);
}

int rw_ranks_best(struct rw_ctx *ctx, struct rw_split *splits, int n)
{
    const int n_ranks = rw_n_ranks(ctx);
    struct rw_split *all = NULL;
    if (n_ranks == 1)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(ctx, all, (size_t)n * (size_t)n_ranks));
    const int status = rw_comm_all_gather(ctx, splits, all, (size_t)n * sizeof(*splits));
    for (int i = 0; status >= 0 && i < n; i++) {
        splits[i] = all[i];
        for (int r = 1; r < n_ranks; r++) {
            if (is_better(&all[r * n + i], &splits[i]))
                splits[i] = all[r * n + i];
        }
    }
    rw_mem_free(all);
    return status;
}
