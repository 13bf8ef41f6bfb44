/* Implements cuda_workers.h, except cuda_peers.c. */
#include "gpu/engine/cuda_workers.h"

/* Most bytes of the buffers and messages of one call. They limit the number of its nodes. */
enum { CALL_BYTES = 1 << 28 };

static struct rw_ctx *ctx_of(const struct rw_cuda_workers *workers)
{
    return workers->host->base.ctx;
}

/* ---- the connection: NCCL or the hosts ---- */

int rw_cuda_workers_connect(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = ctx_of(workers);
    if (!rw_cuda_are_many(workers))
        return RW_OK;
    RW_TRY(rw_cuda_peers_connect(workers));
    if (workers->peers)
        return RW_OK;
    const int status = rw_nccl_open(ctx, workers->device, &workers->comm);
    if (status == RW_ERR_UNSUPPORTED) {
        rw_log(ctx, RW_LOG_WARNING,
               "histograms go from GPU to GPU through the hosts, which is slow: %s",
               rw_last_error(ctx));
        return RW_OK;
    }
    RW_TRY(status);
    workers->device->comm = workers->comm;
    return RW_OK;
}

void rw_cuda_workers_part(struct rw_cuda_workers *workers)
{
    workers->device->comm = NULL;
    if (workers->comm && ctx_of(workers)->comm && ctx_of(workers)->comm->has_failed)
        workers->comm->has_failed = 1;
    rw_comm_free(workers->comm);
}

/* If NCCL connects two GPUs, allocating and freeing on one may wait for the other. If the other
 * were in an NCCL call, it would wait for this worker in turn. So no worker starts an NCCL call
 * before all have reached this point. */
int rw_cuda_workers_ready(struct rw_cuda_workers *workers)
{
    return workers->comm ? rw_comm_agree(ctx_of(workers), RW_OK) : RW_OK;
}

int rw_cuda_workers_max(void *user, uint64_t *d_numbers, uint32_t n)
{
    struct rw_cuda_workers *workers = user;
    struct rw_comm *comm = workers->comm;
    uint64_t numbers[4];
    const size_t bytes = n * sizeof(*numbers);
    if (comm)
        return rw_comm_status(ctx_of(workers), comm,
                              comm->functions.all_reduce(comm->user, d_numbers, n, RW_COMM_U64,
                                                         RW_COMM_MAX, workers->device->stream));
    RW_TRY(rw_transfer_read(workers->device, numbers, d_numbers, bytes));
    RW_TRY(rw_comm_max(ctx_of(workers), numbers, n));
    return rw_transfer_write(workers->device, d_numbers, numbers, bytes);
}

/* Adds up the messages of all workers. Each worker receives the sums of its part, of n_each
 * numbers. */
static int reduce_scatter(struct rw_cuda_workers *workers, const void *d_send, void *d_recv,
                          size_t n_each, enum rw_comm_type type)
{
    struct rw_ctx *ctx = ctx_of(workers);
    struct rw_comm *comm = workers->comm;
    const size_t bytes = n_each * (type == RW_COMM_U64 ? 8 : 4);
    const size_t all_bytes = bytes * (size_t)rw_n_workers(ctx);
    void *const sums = (char *)workers->staged + all_bytes;
    if (n_each == 0)
        return RW_OK;
    if (comm) {
        ctx->comm->bytes_sent += all_bytes - bytes;
        return rw_comm_status(ctx, comm,
                              comm->functions.reduce_scatter(comm->user, d_send, d_recv, n_each,
                                                             type, workers->device->stream));
    }
    RW_TRY(rw_transfer_read(workers->device, workers->staged, d_send, all_bytes));
    RW_TRY(rw_comm_reduce_scatter(ctx, workers->staged, sums, n_each, type));
    return rw_transfer_write(workers->device, d_recv, sums, bytes);
}

/* ---- the division of features ---- */

/* Divides a group's features into ranges of about equal numbers of cells. row: [n_features + 1];
 * first: [n_workers + 1], written. */
static void divide(const uint32_t *row, uint32_t n_features, uint32_t n_workers, uint32_t *first)
{
    uint32_t f = 0;
    first[0] = 0;
    for (uint32_t r = 1; r <= n_workers; r++) {
        const uint64_t up_to = (uint64_t)row[n_features] * r / n_workers;
        while (f < n_features && ((uint64_t)row[f] + row[f + 1]) / 2 < up_to)
            f++;
        first[r] = r == n_workers ? n_features : f;
    }
}

int rw_cuda_workers_divide(struct rw_cuda_workers *workers, struct rw_cuda_memory *memory, int g,
                           const uint32_t *row, const struct rw_cuda_cells *built,
                           struct rw_cuda_cells *own, uint32_t *first_own)
{
    struct rw_ctx *ctx = ctx_of(workers);
    struct rw_cuda_exchange *exchange = &workers->exchange;
    struct rw_cuda_gather *gather = &workers->gather;
    const uint32_t n_workers = (uint32_t)rw_n_workers(ctx), worker = (uint32_t)rw_worker(ctx);
    RW_FREED uint32_t *first = NULL;
    RW_FREED uint32_t *cell = NULL;
    *own = *built;
    if (n_workers == 1)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, first, (size_t)n_workers + 1));
    RW_TRY(RW_NEW(ctx, cell, (size_t)built->n_features + n_workers + 2));
    divide(row, built->n_features, n_workers, first);
    uint32_t most = 0;
    for (uint32_t r = 0; r <= n_workers; r++) {
        cell[r] = row[first[r]];
        most = r > 0 && cell[r] - cell[r - 1] > most ? cell[r] - cell[r - 1] : most;
    }
    RW_TRY(RW_CUDA_TABLE(memory, exchange->d_first[g], cell, (size_t)n_workers + 1));
    exchange->begin[g] = exchange->n_cells;
    exchange->n_cells += most;
    *first_own = first[worker];
    own->n_features = first[worker + 1] - first[worker];
    own->n_cells = cell[worker + 1] - cell[worker];
    own->d_feature += first[worker];
    gather->begin[g] = gather->n_cells;
    gather->first[g] = cell[worker];
    gather->n_cells += own->n_cells;
    for (uint32_t f = first[worker]; f <= first[worker + 1]; f++)
        cell[f - first[worker]] = row[f] - row[first[worker]];
    return RW_CUDA_TABLE(memory, own->d_row, cell, (size_t)own->n_features + 1);
}

int rw_cuda_workers_allocate(struct rw_cuda_workers *workers, struct rw_cuda_memory *memory,
                             int n_groups, struct rw_cuda_cells *built,
                             const struct rw_cuda_cells *own)
{
    enum { WORDS = 3 }; /* per cell, at most */
    struct rw_cuda_exchange *exchange = &workers->exchange;
    struct rw_cuda_gather *gather = &workers->gather;
    const size_t n_workers = (size_t)rw_n_workers(ctx_of(workers));
    const int newton = workers->host->base.rules.newton;
    uint64_t node_bytes = 1;
    if (n_workers == 1)
        return RW_OK;
    gather->n_groups = exchange->n_groups = n_groups;
    gather->newton = exchange->newton = newton;
    gather->n_workers = exchange->n_workers = (uint32_t)n_workers;
    for (int g = 0; g < n_groups; g++)
        node_bytes += built[g].n_cells * rw_hist_cell_bytes(newton, built[g].narrow);
    if (!workers->peers)
        node_bytes += (n_workers + 1) * exchange->n_cells * (WORDS * 8 + 4);
    const uint64_t n = CALL_BYTES / node_bytes;
    workers->most_nodes = n < 1 ? 1 : n < RW_TUNE_ENGINE_NODES ? (uint32_t)n : RW_TUNE_ENGINE_NODES;
    memory->host->memory.part = "histograms";
    memory->shared = rw_cuda_peers_arena(workers);
    int status = RW_OK;
    for (int g = 0; g < n_groups && status >= 0; g++) {
        status = rw_cuda_new_cells(memory, &built[g], workers->most_nodes);
        gather->built[g] = exchange->built[g] = built[g];
        gather->own[g] = exchange->own[g] = own[g];
    }
    memory->shared = NULL;
    if (status < 0 || workers->peers)
        return status;
    const uint64_t n_each = (uint64_t)workers->most_nodes * exchange->n_cells;
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_send64, n_workers * n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_recv64, n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_send32, n_workers * n_each));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_recv32, n_each));
    return workers->comm ? RW_OK
                         : rw_cuda_pinned(memory, &memory->arena, &workers->staged,
                                          (n_workers + 1) * n_each * WORDS * 8);
}

/* ---- the start of a tree ---- */

int rw_cuda_workers_keep_one(struct rw_cuda_workers *workers, const struct rw_cuda_sample *sample)
{
    unsigned long long low[2];
    const unsigned long long some = 1;
    int keep;
    if (!rw_cuda_are_many(workers))
        return RW_OK;
    RW_TRY(rw_cuda_ask(workers->replies, sample->d_lowest, sizeof(low), 0));
    RW_TRY(rw_cuda_take(workers->replies));
    memcpy(low, workers->replies->answer, sizeof(low));
    RW_TRY(rw_workers_keep_one(&workers->host->base, (uint32_t)low[1], (uint32_t)(low[0] >> 32),
                               sample->first + (low[0] == ~0ull ? 0 : (uint32_t)low[0]), &keep));
    /* If this worker has neither kept items nor the replacement, another one has. d_lowest then
     * pretends that this worker kept an item, so it chooses no replacement. */
    return keep || low[1] > 0
               ? RW_OK
               : rw_transfer_write(workers->device, &sample->d_lowest[1], &some, sizeof(some));
}

/* ---- histograms ---- */

int rw_cuda_workers_begin_sums(struct rw_cuda_workers *workers, uint32_t n, uint32_t to,
                               const uint32_t *parent)
{
    workers->gather.n_nodes = n;
    workers->gather.to = to;
    memcpy(workers->gather.parent, parent, n * sizeof(*parent));
    return workers->peers ? rw_cuda_peers_finish_reads(workers) : RW_OK;
}

/* Adds up the sums of all workers by messages. */
static int send_messages(struct rw_cuda_workers *workers, const struct rw_sibling *siblings,
                         const uint32_t *all_n)
{
    const struct rw_engine_rules *rules = &workers->host->base.rules;
    const struct rw_cuda_gather *gather = &workers->gather;
    struct rw_cuda_exchange *exchange = &workers->exchange;
    const size_t bytes = gather->n_nodes * sizeof(struct rw_cuda_wire);
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(workers->replies, bytes, &piece));
    exchange->d_wire = piece.d;
    exchange->n_nodes = gather->n_nodes;
    exchange->n_each64 = exchange->n_each32 = 0;
    for (uint32_t i = 0; i < gather->n_nodes; i++) {
        struct rw_cuda_wire wire =
            rw_cuda_wire_of(rules->newton, rules->bits, all_n[siblings[i].smaller]);
        wire.at64 = (uint32_t)exchange->n_each64;
        wire.at32 = (uint32_t)exchange->n_each32;
        wire.to = gather->to + i;
        wire.parent = gather->parent[i];
        exchange->n_each64 += (uint64_t)wire.words * exchange->n_cells;
        exchange->n_each32 += wire.words == 0 || wire.separate_hess ? exchange->n_cells : 0;
        ((struct rw_cuda_wire *)piece.host)[i] = wire;
    }
    RW_TRY(rw_cuda_send(workers->replies, &piece, bytes));
    RW_CU(ctx_of(workers), rw_cuda_workers_pack(exchange, workers->device->stream));
    RW_TRY(reduce_scatter(workers, exchange->d_send64, exchange->d_recv64, exchange->n_each64,
                          RW_COMM_U64));
    RW_TRY(reduce_scatter(workers, exchange->d_send32, exchange->d_recv32, exchange->n_each32,
                          RW_COMM_U32));
    RW_CU(ctx_of(workers), rw_cuda_workers_unpack(exchange, workers->device->stream));
    return RW_OK;
}

int rw_cuda_workers_end_sums(struct rw_cuda_workers *workers, const struct rw_sibling *siblings,
                             const uint32_t *all_n)
{
    if (siblings[0].parent < 0) /* the choice of methods may have (de)allocated memory */
        RW_TRY(rw_cuda_workers_ready(workers));
    return workers->peers ? rw_cuda_peers_gather(workers) : send_messages(workers, siblings, all_n);
}
