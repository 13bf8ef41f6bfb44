/* Implements cuda_memory.h. */
#include "gpu/engine/cuda_memory.h"

#include "base/machine.h"

int rw_cuda_table(struct rw_cuda_memory *memory, void *out, const void *from, size_t bytes)
{
    struct rw_host *host = memory->host;
    const char *const part = host->memory.part;
    void *d;
    if (from)
        host->memory.part = "tables";
    RW_TRY(rw_host_new(host, &d, bytes, 1, 1));
    host->memory.part = part;
    memcpy(out, &d, sizeof(d));
    if (rw_cuda_is_dry(memory))
        return RW_OK;
    if (from)
        return rw_transfer_write(memory->device, d, from, bytes);
    RW_CU(host->base.ctx, cudaMemsetAsync(d, 0, bytes, memory->device->stream));
    return RW_OK;
}

int rw_cuda_new_cells(struct rw_cuda_memory *memory, struct rw_cuda_cells *cells, uint64_t n)
{
    const uint64_t n_cells = n * cells->n_cells, bytes = n_cells * rw_hist_sum_bytes(cells->narrow);
    RW_TRY(RW_CUDA_ZEROS(memory, cells->d_count, n_cells));
    RW_TRY(rw_cuda_table(memory, &cells->d_lambda, NULL, bytes));
    return memory->host->base.rules.newton ? rw_cuda_table(memory, &cells->d_hess, NULL, bytes)
                                           : RW_OK;
}

int rw_cuda_pinned(struct rw_cuda_memory *memory, struct rw_arena *arena, void *out, size_t bytes)
{
    void *p = memory;
    if (!rw_cuda_is_dry(memory)) {
        RW_TRY(rw_transfer_pinned_in(memory->host->base.ctx, arena, &p, bytes));
        memset(p, 0, bytes);
    }
    memcpy(out, &p, sizeof(p));
    return RW_OK;
}

int rw_cuda_pinned_codes(struct rw_cuda_memory *memory, void *out, uint64_t bytes)
{
    struct rw_ctx *ctx = memory->host->base.ctx;
    char lack[RW_LIMIT_TEXT];
    if (rw_cuda_is_dry(memory)) {
        memory->host->memory.plan->far_bytes += bytes;
        return RW_OK;
    }
    if (rw_memory_lacks(bytes, lack))
        return rw_fail(ctx, RW_ERR_MEMORY,
                       "out of memory: codes that do not fit cuda:%d need host memory of %s",
                       memory->device->number, lack);
    return rw_transfer_pinned_alloc(ctx, out, bytes);
}
