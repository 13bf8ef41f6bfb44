/* Many ranks: each has its documents' codes on its GPU, and of histograms the cells of the features
 * that are its own, of all ranks' documents.
 *
 * A rank adds up its documents of the nodes asked for, in buffers that serve one call; ranks send
 * each other what is not their own, and each takes the sums from its own part of the parents'.
 * Between GPUs, NCCL carries them; where it cannot (a library that is missing, a GPU that two ranks
 * share), they go through the hosts. */
#include <string.h>

#include "base/mem.h"
#include "gpu/device/nccl.h"
#include "gpu/device/tuning.h"
#include "gpu/engine/engine_cuda.h"
#include "tree/engine.h"

/* Bytes that the buffers of one call may take, and so how many nodes it has. */
enum { CALL_BYTES = 1 << 28 };

static struct rw_ctx *ctx_of(const struct rw_cuda *cuda)
{
    return cuda->host.base.ctx;
}

/* ---- NCCL or the hosts ---- */

static int watch(void *user, struct rw_ctx *ctx, double waited_s)
{
    return rw_nccl_watch(ctx, user, waited_s);
}

/* One of its own, where there are as many. */
int rw_cuda_device_of_rank(const struct rw_ctx *ctx)
{
    const int n_devices = rw_gpu_count();
    return n_devices > 0 ? rw_local_rank(ctx) % n_devices : 0;
}

int rw_cuda_ranks_meet(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = ctx_of(cuda);
    if (rw_n_ranks(ctx) == 1)
        return RW_OK;
    const int status = rw_nccl_open(ctx, cuda->device, &cuda->comm);
    if (status == RW_ERR_UNSUPPORTED) {
        rw_log(ctx, RW_LOG_WARNING,
               "histograms go from GPU to GPU through the hosts, which is slow: %s",
               rw_last_error(ctx));
        return RW_OK;
    }
    RW_TRY(status);
    cuda->device->watch = watch;
    cuda->device->watch_user = cuda->comm;
    return RW_OK;
}

void rw_cuda_ranks_part(struct rw_cuda *cuda)
{
    if (cuda->device)
        cuda->device->watch = NULL;
    if (cuda->comm && ctx_of(cuda)->comm && ctx_of(cuda)->comm->has_failed)
        cuda->comm->has_failed = 1;
    rw_comm_free(cuda->comm);
}

/* Allocating and freeing may wait for another rank's GPU, if NCCL connects the two; and that would
 * wait for this rank, if it were in a call of NCCL's. So nobody calls it before all have come here.
 */
int rw_cuda_ranks_ready(struct rw_cuda *cuda)
{
    return cuda->comm ? rw_comm_agree(ctx_of(cuda), RW_OK) : RW_OK;
}

/* What a call of the device's communicator says. */
static int called(struct rw_cuda *cuda, int result)
{
    if (result == 0)
        return RW_OK;
    cuda->comm->has_failed = 1;
    return rw_fail(ctx_of(cuda), RW_ERR_MACHINE,
                   "another of the %d ranks failed, or cannot be reached (nccl)",
                   cuda->comm->n_ranks);
}

int rw_cuda_ranks_max(void *user, uint64_t *d_numbers, uint32_t n)
{
    struct rw_cuda *cuda = user;
    struct rw_ctx *ctx = ctx_of(cuda);
    if (cuda->comm)
        return called(cuda,
                      cuda->comm->functions.all_reduce(cuda->comm->user, d_numbers, n, RW_COMM_U64,
                                                       RW_COMM_MAX, rw_cuda_stream(cuda)));
    uint64_t numbers[4];
    const size_t bytes = n * sizeof(*numbers);
    RW_TRY(rw_transfer_read(ctx, cuda->device, numbers, d_numbers, bytes));
    RW_TRY(rw_comm_max(ctx, numbers, n));
    return rw_transfer_write(ctx, cuda->device, d_numbers, numbers, bytes);
}

static int reduce_scatter(struct rw_cuda *cuda, const void *d_send, void *d_recv, size_t n_each,
                          enum rw_comm_type type)
{
    struct rw_ctx *ctx = ctx_of(cuda);
    struct rw_cuda_ranks *ranks = cuda->ranks;
    const size_t bytes = n_each * (type == RW_COMM_U64 ? 8 : 4);
    const size_t all_bytes = bytes * (size_t)rw_n_ranks(ctx);
    if (n_each == 0)
        return RW_OK;
    if (cuda->comm) {
        ctx->comm->bytes_sent += all_bytes - bytes;
        return called(cuda,
                      cuda->comm->functions.reduce_scatter(cuda->comm->user, d_send, d_recv, n_each,
                                                           type, rw_cuda_stream(cuda)));
    }
    RW_TRY(rw_transfer_read(ctx, cuda->device, ranks->staged, d_send, all_bytes));
    RW_TRY(rw_comm_reduce_scatter(ctx, ranks->staged, (char *)ranks->staged + all_bytes, n_each,
                                  type));
    return rw_transfer_write(ctx, cuda->device, d_recv, (char *)ranks->staged + all_bytes, bytes);
}

/* ---- whose features are whose ---- */

/* Each group's, in runs of about as many cells. row: [n_features + 1]; first: [n_ranks + 1],
 * written. */
static void divide(const uint32_t *row, uint32_t n_features, uint32_t n_ranks, uint32_t *first)
{
    uint32_t f = 0;
    first[0] = 0;
    for (uint32_t r = 1; r <= n_ranks; r++) {
        const uint64_t up_to = (uint64_t)row[n_features] * r / n_ranks;
        while (f < n_features && ((uint64_t)row[f] + row[f + 1]) / 2 < up_to)
            f++;
        first[r] = r == n_ranks ? n_features : f;
    }
}

int rw_cuda_ranks_divide(struct rw_cuda *cuda, int g, const uint32_t *row)
{
    struct rw_ctx *ctx = ctx_of(cuda);
    struct rw_cuda_group *group = &cuda->group[g];
    const uint32_t n_ranks = (uint32_t)rw_n_ranks(ctx), rank = (uint32_t)rw_rank(ctx);
    uint32_t *first = NULL, *cell = NULL;
    int status = RW_OK;
    void *d;
    group->cells = group->built;
    if (n_ranks == 1)
        return RW_OK;
    if (!cuda->ranks)
        RW_TRY(RW_NEW(ctx, cuda->ranks, 1));
    struct rw_cuda_exchange *exchange = &cuda->ranks->exchange;
    RW_TRY_OUT(RW_NEW(ctx, first, (size_t)n_ranks + 1));
    RW_TRY_OUT(RW_NEW(ctx, cell, (size_t)group->n_features + n_ranks + 2));
    divide(row, group->n_features, n_ranks, first);
    uint32_t most = 0;
    for (uint32_t r = 0; r <= n_ranks; r++) {
        cell[r] = row[first[r]];
        most = r > 0 && cell[r] - cell[r - 1] > most ? cell[r] - cell[r - 1] : most;
    }
    RW_TRY_OUT(rw_cuda_send_table(cuda, &d, cell, (size_t)n_ranks + 1, sizeof(*cell)));
    exchange->d_first[g] = d;
    exchange->begin[g] = exchange->n_cells;
    exchange->n_cells += most;
    /* this rank's, as a histogram of its own */
    group->first_own = first[rank];
    group->cells.n_features = first[rank + 1] - first[rank];
    group->cells.n_cells = cell[rank + 1] - cell[rank];
    group->cells.d_feature += group->first_own;
    for (uint32_t f = first[rank]; f <= first[rank + 1]; f++)
        cell[f - first[rank]] = row[f] - row[first[rank]];
    RW_TRY_OUT(
        rw_cuda_send_table(cuda, &d, cell, (size_t)group->cells.n_features + 1, sizeof(*cell)));
    group->cells.d_row = d;
out:
    rw_mem_free(first);
    rw_mem_free(cell);
    return status;
}

/* ---- memory ---- */

int rw_cuda_ranks_allocate(struct rw_cuda *cuda)
{
    enum { WORDS = 3 }; /* of a cell, at most */
    struct rw_ctx *ctx = ctx_of(cuda);
    struct rw_host *host = &cuda->host;
    struct rw_cuda_ranks *ranks = cuda->ranks;
    struct rw_cuda_exchange *exchange = &ranks->exchange;
    const int newton = host->base.rules.newton;
    const size_t n_ranks = (size_t)rw_n_ranks(ctx);
    uint64_t n_built = 0;
    exchange->n_groups = cuda->n_groups;
    exchange->newton = newton;
    exchange->n_ranks = (uint32_t)n_ranks;
    for (int g = 0; g < cuda->n_groups; g++)
        n_built += cuda->group[g].built.n_cells;
    const uint64_t node_bytes =
        n_built * rw_hist_cell_bytes(newton, rw_cuda_has_narrow_cells(cuda)) +
        (n_ranks + 1) * exchange->n_cells * (WORDS * 8 + 4) + 1;
    const uint64_t n = CALL_BYTES / node_bytes;
    ranks->most_nodes = n < 1 ? 1 : n < RW_TUNE_ENGINE_NODES ? (uint32_t)n : RW_TUNE_ENGINE_NODES;
    host->part = "histograms";
    for (int g = 0; g < cuda->n_groups; g++) {
        struct rw_cuda_cells *built = &cuda->group[g].built;
        const uint64_t cells = (uint64_t)ranks->most_nodes * built->n_cells;
        RW_TRY(rw_cuda_new_cells(cuda, built, cells));
        exchange->built[g] = *built;
        exchange->own[g] = cuda->group[g].cells;
    }
    const uint64_t n_each = (uint64_t)ranks->most_nodes * exchange->n_cells;
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_send64, n_ranks * n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_recv64, n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_send32, n_ranks * n_each));
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_recv32, n_each));
    if (rw_cuda_is_dry(cuda))
        return RW_OK;
    RW_TRY(RW_NEW(ctx, ranks->all_n, host->base.rules.max_slots));
    return cuda->comm
               ? RW_OK
               : rw_transfer_pinned_alloc(ctx, &ranks->staged, (n_ranks + 1) * n_each * WORDS * 8);
}

void rw_cuda_ranks_release(struct rw_cuda *cuda)
{
    if (!cuda->ranks)
        return;
    rw_mem_free(cuda->ranks->all_n);
    rw_transfer_pinned_free(cuda->ranks->staged);
    rw_mem_free(cuda->ranks);
}

/* ---- the start of a tree ---- */

int rw_cuda_ranks_keep_one(struct rw_cuda *cuda, uint32_t first)
{
    struct rw_engine *engine = &cuda->host.base;
    unsigned long long low[2];
    const unsigned long long some = 1;
    int keep;
    if (!cuda->ranks)
        return RW_OK;
    RW_TRY(rw_cuda_answer(cuda, cuda->d_low, sizeof(low)));
    memcpy(low, cuda->answer, sizeof(low));
    RW_TRY(rw_ranks_keep_one(engine, (uint32_t)low[1], (uint32_t)(low[0] >> 32),
                             first + (low[0] == ~0ull ? 0 : (uint32_t)low[0]), &keep));
    /* another rank's are kept, or one of its is: nothing stands in for a sample of none here */
    return keep || low[1] > 0
               ? RW_OK
               : rw_transfer_write(engine->ctx, cuda->device, &cuda->d_low[1], &some, sizeof(some));
}

int rw_cuda_ranks_begin(struct rw_cuda *cuda, struct rw_root *root,
                        struct rw_quantised_sums *quantised)
{
    enum {
        SUM_WORDS = sizeof(root->sum) / sizeof(uint64_t),
        WORDS = SUM_WORDS + sizeof(*quantised) / sizeof(uint64_t)
    };
    uint64_t words[WORDS];
    if (!cuda->ranks)
        return RW_OK;
    memcpy(words, &root->sum, sizeof(root->sum));
    memcpy(words + SUM_WORDS, quantised, sizeof(*quantised));
    RW_TRY(rw_comm_sum(ctx_of(cuda), words, WORDS));
    memcpy(&root->sum, words, sizeof(root->sum));
    memcpy(quantised, words + SUM_WORDS, sizeof(*quantised));
    cuda->ranks->all_n[0] = (uint32_t)root->sum.n;
    return RW_OK;
}

/* ---- histograms ---- */

/* What is sent of the n nodes in cuda->node, whose sums go into the next buffers. Returns how many
 * of them this rank has documents of; those come first in cuda->node afterwards. */
static uint32_t list_wires(struct rw_cuda *cuda, const struct rw_sibling *siblings, uint32_t n,
                           struct rw_cuda_wire *wire)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    struct rw_cuda_exchange *exchange = &cuda->ranks->exchange;
    uint64_t at64 = 0, at32 = 0;
    uint32_t n_built = 0;
    for (uint32_t i = 0; i < n; i++) {
        wire[i] =
            rw_cuda_wire_of(rules->newton, rules->bits, cuda->ranks->all_n[siblings[i].smaller]);
        wire[i].at64 = (uint32_t)at64;
        wire[i].at32 = (uint32_t)at32;
        at64 += (uint64_t)wire[i].words * exchange->n_cells;
        at32 += wire[i].words == 0 || wire[i].hess_apart ? exchange->n_cells : 0;
        wire[i].to = (uint32_t)cuda->n_used + i;
        wire[i].parent = cuda->parent[i];
        wire[i].built = RW_CUDA_NOT_BUILT;
        if (cuda->node[i].n > 0) {
            wire[i].built = n_built;
            cuda->node[n_built++] = cuda->node[i];
        }
    }
    exchange->n_nodes = n;
    exchange->n_each64 = at64;
    exchange->n_each32 = at32;
    return n_built;
}

int rw_cuda_ranks_histograms(struct rw_cuda *cuda, const struct rw_sibling *siblings, uint32_t n,
                             const uint32_t *d_list)
{
    struct rw_cuda_exchange *exchange = &cuda->ranks->exchange;
    struct rw_cuda_wire wire[RW_TUNE_ENGINE_NODES];
    void *d;
    if (exchange->n_cells > 0) {
        const uint32_t n_built = list_wires(cuda, siblings, n, wire);
        RW_TRY(rw_cuda_build_own(cuda, n_built, d_list));
        if (siblings[0].parent < 0) /* methods were chosen, or may have been */
            RW_TRY(rw_cuda_ranks_ready(cuda));
        RW_TRY(rw_cuda_send_two(cuda, wire, n * sizeof(*wire), "", 0, &d));
        exchange->d_wire = d;
        RW_CUDA_TRY(cuda, 1, rw_cuda_ranks_pack(exchange, rw_cuda_stream(cuda)));
        RW_TRY(reduce_scatter(cuda, exchange->d_send64, exchange->d_recv64, exchange->n_each64,
                              RW_COMM_U64));
        RW_TRY(reduce_scatter(cuda, exchange->d_send32, exchange->d_recv32, exchange->n_each32,
                              RW_COMM_U32));
        RW_CUDA_TRY(cuda, 1, rw_cuda_ranks_unpack(exchange, rw_cuda_stream(cuda)));
    }
    cuda->n_used += (int32_t)n;
    return RW_OK;
}

/* ---- partition ---- */

int rw_cuda_ranks_flush(struct rw_cuda *cuda, const struct rw_split *splits)
{
    const uint32_t n = cuda->partition.n_parts, n_chunks = cuda->partition.n_chunks;
    uint32_t *all_n = cuda->ranks->all_n;
    unsigned long long placed[RW_CUDA_MOST_PARTS] = {0};
    RW_TRY(rw_cuda_flush(cuda));
    if (n_chunks > 0) {
        RW_TRY(rw_cuda_answer(cuda, cuda->d_placed + cuda->n_partitions % 2 * RW_CUDA_MOST_PARTS,
                              n * sizeof(*placed)));
        memcpy(placed, cuda->answer, n * sizeof(*placed));
    }
    for (uint32_t i = 0; i < n; i++) {
        rw_cuda_take_children(cuda, &splits[i], (uint32_t)placed[i]);
        all_n[splits[i].left] = splits[i].n_left;
        all_n[splits[i].right] = all_n[splits[i].slot] - splits[i].n_left;
    }
    return RW_OK;
}
