/* The GPU engine with many workers (more than one): their connection, the division of features
 * among them, their memory, and the combination of samples, root sums and histograms.
 *
 * Each worker has the codes of its documents on its GPU. Of the histograms it keeps the cells of
 * the features that it owns, summed over the documents of all workers.
 *
 * A worker builds histograms of its documents of the requested nodes, in buffers that serve one
 * call. Each worker then adds up the cells of the features that it owns, over all workers, and
 * subtracts the sums from its cells of the parents. Between threads of one process, GPUs read these
 * cells from each other's memory (engine_cuda_peers.c). Otherwise NCCL carries messages between
 * GPUs. If the library is missing or two processes share a GPU, the messages go through the hosts.
 */
#include "gpu/engine/engine_cuda.h"

/* Most bytes of the buffers and messages of one call. They limit the number of its nodes. */
enum { CALL_BYTES = 1 << 28 };

static struct rw_ctx *ctx_of(const struct rw_cuda *cuda)
{
    return cuda->host.base.ctx;
}

/* ---- the connection: NCCL or the hosts ---- */

int rw_cuda_workers_connect(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = ctx_of(cuda);
    if (rw_n_workers(ctx) == 1)
        return RW_OK;
    RW_TRY(rw_cuda_peers_connect(cuda));
    if (cuda->peers)
        return RW_OK;
    const int status = rw_nccl_open(ctx, cuda->device, &cuda->comm);
    if (status == RW_ERR_UNSUPPORTED) {
        rw_log(ctx, RW_LOG_WARNING,
               "histograms go from GPU to GPU through the hosts, which is slow: %s",
               rw_last_error(ctx));
        return RW_OK;
    }
    RW_TRY(status);
    cuda->device->comm = cuda->comm;
    return RW_OK;
}

void rw_cuda_workers_part(struct rw_cuda *cuda)
{
    if (cuda->device)
        cuda->device->comm = NULL;
    if (cuda->comm && ctx_of(cuda)->comm && ctx_of(cuda)->comm->has_failed)
        cuda->comm->has_failed = 1;
    rw_comm_free(cuda->comm);
}

/* Synchronises the workers. If NCCL connects two GPUs, allocating and freeing on one may wait for
 * the other. If the other were in an NCCL call, it would wait for this worker in turn. So no worker
 * starts an NCCL call before all have reached this point. */
int rw_cuda_workers_ready(struct rw_cuda *cuda)
{
    return cuda->comm ? rw_comm_agree(ctx_of(cuda), RW_OK) : RW_OK;
}

int rw_cuda_workers_max(void *user, uint64_t *d_numbers, uint32_t n)
{
    struct rw_cuda *cuda = user;
    struct rw_ctx *ctx = ctx_of(cuda);
    if (cuda->comm)
        return rw_comm_status(ctx, cuda->comm,
                              cuda->comm->functions.all_reduce(cuda->comm->user, d_numbers, n,
                                                               RW_COMM_U64, RW_COMM_MAX,
                                                               rw_cuda_stream(cuda)));
    uint64_t numbers[4];
    const size_t bytes = n * sizeof(*numbers);
    RW_TRY(rw_transfer_read(cuda->device, numbers, d_numbers, bytes));
    RW_TRY(rw_comm_max(ctx, numbers, n));
    return rw_transfer_write(cuda->device, d_numbers, numbers, bytes);
}

/* Adds up the messages of all workers. Each worker receives the sums of its part, of n_each
 * numbers. */
static int reduce_scatter(struct rw_cuda *cuda, const void *d_send, void *d_recv, size_t n_each,
                          enum rw_comm_type type)
{
    struct rw_ctx *ctx = ctx_of(cuda);
    struct rw_cuda_workers *workers = cuda->workers;
    const size_t bytes = n_each * (type == RW_COMM_U64 ? 8 : 4);
    const size_t all_bytes = bytes * (size_t)rw_n_workers(ctx);
    if (n_each == 0)
        return RW_OK;
    if (cuda->comm) {
        ctx->comm->bytes_sent += all_bytes - bytes;
        return rw_comm_status(ctx, cuda->comm,
                              cuda->comm->functions.reduce_scatter(cuda->comm->user, d_send, d_recv,
                                                                   n_each, type,
                                                                   rw_cuda_stream(cuda)));
    }
    RW_TRY(rw_transfer_read(cuda->device, workers->staged, d_send, all_bytes));
    RW_TRY(rw_comm_reduce_scatter(ctx, workers->staged, (char *)workers->staged + all_bytes, n_each,
                                  type));
    return rw_transfer_write(cuda->device, d_recv, (char *)workers->staged + all_bytes, bytes);
}

/* ---- the division of features among workers ---- */

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

int rw_cuda_workers_divide(struct rw_cuda *cuda, int g, const uint32_t *row)
{
    struct rw_ctx *ctx = ctx_of(cuda);
    struct rw_cuda_group *group = &cuda->group[g];
    const uint32_t n_workers = (uint32_t)rw_n_workers(ctx), worker = (uint32_t)rw_worker(ctx);
    RW_FREED uint32_t *first = NULL;
    RW_FREED uint32_t *cell = NULL;
    group->cells = group->built;
    if (n_workers == 1)
        return RW_OK;
    if (!cuda->workers)
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->memory.arena, cuda->workers, 1));
    struct rw_cuda_exchange *exchange = &cuda->workers->exchange;
    RW_TRY(RW_NEW(ctx, first, (size_t)n_workers + 1));
    RW_TRY(RW_NEW(ctx, cell, (size_t)group->n_features + n_workers + 2));
    divide(row, group->n_features, n_workers, first);
    uint32_t most = 0;
    for (uint32_t r = 0; r <= n_workers; r++) {
        cell[r] = row[first[r]];
        most = r > 0 && cell[r] - cell[r - 1] > most ? cell[r] - cell[r - 1] : most;
    }
    RW_TRY(RW_CUDA_TABLE(&cuda->memory, exchange->d_first[g], cell, (size_t)n_workers + 1));
    exchange->begin[g] = exchange->n_cells;
    exchange->n_cells += most;
    /* group->cells: this worker's features, as a separate histogram. */
    group->first_own = first[worker];
    group->cells.n_features = first[worker + 1] - first[worker];
    group->cells.n_cells = cell[worker + 1] - cell[worker];
    group->cells.d_feature += group->first_own;
    struct rw_cuda_gather *gather = &cuda->workers->gather;
    gather->begin[g] = gather->n_cells;
    gather->first[g] = cell[worker];
    gather->n_cells += group->cells.n_cells;
    for (uint32_t f = first[worker]; f <= first[worker + 1]; f++)
        cell[f - first[worker]] = row[f] - row[first[worker]];
    return RW_CUDA_TABLE(&cuda->memory, group->cells.d_row, cell,
                         (size_t)group->cells.n_features + 1);
}

/* ---- memory ---- */

/* Allocates sums of this worker's documents. Peers may read them until the last worker leaves. */
static int new_built(struct rw_cuda *cuda, struct rw_cuda_cells *built, uint64_t n)
{
    cuda->memory.shared =
        cuda->peers && !rw_cuda_is_dry(&cuda->memory) ? rw_cuda_peers_arena(cuda) : NULL;
    const int status = rw_cuda_new_cells(cuda, built, n);
    cuda->memory.shared = NULL;
    return status;
}

int rw_cuda_workers_allocate(struct rw_cuda *cuda)
{
    enum { WORDS = 3 }; /* per cell, at most */
    struct rw_ctx *ctx = ctx_of(cuda);
    struct rw_host *host = &cuda->host;
    struct rw_cuda_workers *workers = cuda->workers;
    struct rw_cuda_exchange *exchange = &workers->exchange;
    struct rw_cuda_gather *gather = &workers->gather;
    const int newton = host->base.rules.newton;
    const size_t n_workers = (size_t)rw_n_workers(ctx);
    uint64_t n_built = 0;
    gather->n_groups = exchange->n_groups = cuda->n_groups;
    gather->newton = exchange->newton = newton;
    gather->n_workers = exchange->n_workers = (uint32_t)n_workers;
    for (int g = 0; g < cuda->n_groups; g++)
        n_built += cuda->group[g].built.n_cells;
    const uint64_t node_bytes =
        n_built * rw_hist_cell_bytes(newton, rw_cuda_has_narrow_cells(cuda)) +
        (n_workers + 1) * exchange->n_cells * (WORDS * 8 + 4) + 1;
    const uint64_t n = CALL_BYTES / node_bytes;
    workers->most_nodes = n < 1 ? 1 : n < RW_TUNE_ENGINE_NODES ? (uint32_t)n : RW_TUNE_ENGINE_NODES;
    host->memory.part = "histograms";
    for (int g = 0; g < cuda->n_groups; g++) {
        struct rw_cuda_cells *built = &cuda->group[g].built;
        RW_TRY(new_built(cuda, built, (uint64_t)workers->most_nodes * built->n_cells));
        gather->built[g] = exchange->built[g] = *built;
        gather->own[g] = exchange->own[g] = cuda->group[g].cells;
    }
    if (cuda->peers)
        return rw_cuda_is_dry(&cuda->memory) ? RW_OK : rw_cuda_peers_allocate(cuda);
    const uint64_t n_each = (uint64_t)workers->most_nodes * exchange->n_cells;
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_send64, n_workers * n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_recv64, n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_send32, n_workers * n_each));
    RW_TRY(RW_HOST_NEW_RAW(host, exchange->d_recv32, n_each));
    return rw_cuda_is_dry(&cuda->memory) || cuda->comm
               ? RW_OK
               : rw_transfer_pinned_in(ctx, &cuda->memory.arena, &workers->staged,
                                       (n_workers + 1) * n_each * WORDS * 8);
}

/* ---- the start of a tree ---- */

int rw_cuda_workers_keep_one(struct rw_cuda *cuda, uint32_t first)
{
    struct rw_engine *engine = &cuda->host.base;
    unsigned long long low[2];
    const unsigned long long some = 1;
    int keep;
    if (!cuda->workers)
        return RW_OK;
    RW_TRY(rw_cuda_ask(&cuda->replies, cuda->nodes.sample.d_lowest, sizeof(low), 0));
    RW_TRY(rw_cuda_take(&cuda->replies));
    memcpy(low, cuda->replies.answer, sizeof(low));
    RW_TRY(rw_workers_keep_one(engine, (uint32_t)low[1], (uint32_t)(low[0] >> 32),
                               first + (low[0] == ~0ull ? 0 : (uint32_t)low[0]), &keep));
    /* If this worker has neither kept items nor the replacement, another one has. d_lowest then
     * pretends that this worker kept an item, so it chooses no replacement. */
    return keep || low[1] > 0 ? RW_OK
                              : rw_transfer_write(cuda->device, &cuda->nodes.sample.d_lowest[1],
                                                  &some, sizeof(some));
}

int rw_cuda_workers_begin(struct rw_cuda *cuda, struct rw_cuda_begin *begin)
{
    if (!cuda->workers)
        return RW_OK;
    RW_TRY(rw_comm_sum(ctx_of(cuda), (uint64_t *)(void *)begin,
                       offsetof(struct rw_cuda_begin, info) / sizeof(begin->sum.n)));
    cuda->nodes.all_n[0] = (uint32_t)begin->sum.n;
    return RW_OK;
}

/* ---- histograms ---- */

int rw_cuda_workers_estimates(const struct rw_cuda *cuda, const struct rw_sibling *siblings,
                              uint32_t n)
{
    for (int g = 0; g < cuda->n_groups; g++) {
        if (!cuda->group[g].chosen || !cuda->group[g].choice.method->takes_estimates)
            return 0;
    }
    return !cuda->place.is_far && rw_cuda_nodes_are_pending(&cuda->nodes, siblings, n);
}

/* Lists the layouts of the messages of n nodes. Their sums over all workers will be in the buffers
 * from n_used on. */
static void list_wires(struct rw_cuda *cuda, const struct rw_sibling *siblings, uint32_t n,
                       struct rw_cuda_wire *wire)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    struct rw_cuda_exchange *exchange = &cuda->workers->exchange;
    uint64_t at64 = 0, at32 = 0;
    for (uint32_t i = 0; i < n; i++) {
        wire[i] =
            rw_cuda_wire_of(rules->newton, rules->bits, cuda->nodes.all_n[siblings[i].smaller]);
        wire[i].at64 = (uint32_t)at64;
        wire[i].at32 = (uint32_t)at32;
        at64 += (uint64_t)wire[i].words * exchange->n_cells;
        at32 += wire[i].words == 0 || wire[i].separate_hess ? exchange->n_cells : 0;
        wire[i].to = (uint32_t)cuda->n_used + i;
        wire[i].parent = cuda->parent[i];
    }
    exchange->n_nodes = n;
    exchange->n_each64 = at64;
    exchange->n_each32 = at32;
}

/* Adds up the sums of all workers by messages. */
static int send_messages(struct rw_cuda *cuda, const struct rw_cuda_wire *wire)
{
    struct rw_cuda_exchange *exchange = &cuda->workers->exchange;
    const size_t bytes = exchange->n_nodes * sizeof(*wire);
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(&cuda->replies, bytes, &piece));
    memcpy(piece.host, wire, bytes);
    RW_TRY(rw_cuda_send(&cuda->replies, &piece, bytes));
    exchange->d_wire = piece.d;
    RW_CUDA_TRY(cuda, rw_cuda_workers_pack(exchange, rw_cuda_stream(cuda)));
    RW_TRY(reduce_scatter(cuda, exchange->d_send64, exchange->d_recv64, exchange->n_each64,
                          RW_COMM_U64));
    RW_TRY(reduce_scatter(cuda, exchange->d_send32, exchange->d_recv32, exchange->n_each32,
                          RW_COMM_U32));
    RW_CUDA_TRY(cuda, rw_cuda_workers_unpack(exchange, rw_cuda_stream(cuda)));
    return RW_OK;
}

int rw_cuda_workers_histograms(struct rw_cuda *cuda, const struct rw_sibling *siblings, uint32_t n,
                               const uint32_t *d_list)
{
    struct rw_cuda_workers *workers = cuda->workers;
    struct rw_cuda_wire wire[RW_TUNE_ENGINE_NODES];
    const struct rw_hist_node *d_node = NULL;
    if (workers->exchange.n_cells == 0) { /* no features */
        cuda->n_used += (int32_t)n;
        return RW_OK;
    }
    if (rw_cuda_workers_estimates(cuda, siblings, n))
        RW_TRY(rw_cuda_nodes_estimate(&cuda->nodes, siblings, n, cuda->node, &cuda->most_docs,
                                      &d_node));
    list_wires(cuda, siblings, n, wire);
    workers->gather.n_nodes = n;
    workers->gather.to = (uint32_t)cuda->n_used;
    memcpy(workers->gather.parent, cuda->parent, n * sizeof(*cuda->parent));
    if (cuda->peers)
        RW_TRY(rw_cuda_peers_finish_reads(cuda));
    RW_TRY(rw_cuda_build(cuda, n, d_list, 0, 0, d_node));
    cuda->most_docs = 0;
    if (siblings[0].parent < 0) /* the choice of methods may have (de)allocated memory */
        RW_TRY(rw_cuda_workers_ready(cuda));
    RW_TRY(cuda->peers ? rw_cuda_peers_gather(cuda) : send_messages(cuda, wire));
    cuda->n_used += (int32_t)n;
    return RW_OK;
}
