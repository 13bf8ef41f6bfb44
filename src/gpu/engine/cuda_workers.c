/* Implements cuda_workers.h. Between peers no messages are needed. Each GPU tells the others that
 * its sums are complete, and each worker's host polls the replies of all searches. A worker that
 * fails does not take away memory that another GPU still reads. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/engine/cuda_workers.h"

/* Most bytes of the buffers and messages of one call. They limit the number of its nodes. */
enum { CALL_BYTES = 1 << 28 };

/* Memory of a worker that the GPUs and hosts of its peers read. */
struct rw_cuda_peer {
    struct rw_arena arena; /* of the memory below */
    struct rw_cuda_open open;
    const struct rw_cuda_reply *reply; /* [2], like reply_set as in struct rw_cuda_replies */
    const struct rw_code_set *reply_set;
    int searches;      /* 1: the worker owns features, so it replies */
    atomic_uint n_met; /* meetings at which it has arrived */
};

struct rw_cuda_peers {
    atomic_int n_users; /* workers that have not left */
    int n_workers;
    struct rw_cuda_peer peer[]; /* [n_workers] */
};

/* ---- the connection ---- */

/* Lets this worker's GPU read the memory of all others. Sets *cannot to 1 if it cannot. device: [n]
 * the workers' GPUs. */
static int enable_access(struct rw_cuda_workers *workers, const int32_t *device, int n,
                         uint64_t *cannot)
{
    for (int r = 0; r < n; r++) {
        const cudaError_t error = device[r] == workers->device->number
                                      ? cudaSuccess
                                      : cudaDeviceEnablePeerAccess(device[r], 0);
        if (error == cudaErrorPeerAccessUnsupported)
            *cannot = 1;
        else if (error != cudaSuccess && error != cudaErrorPeerAccessAlreadyEnabled)
            return rw_cu_fail(workers->device->ctx, error, "access to a peer's memory");
        (void)cudaGetLastError();
    }
    return RW_OK;
}

/* Sets workers->peers if all workers are threads of this process and their GPUs can read each
 * other's memory. All workers call it. */
static int connect_peers(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->device->ctx;
    const int n = rw_n_workers(ctx);
    const int32_t own = workers->device->number;
    uint64_t cannot = 0;
    struct rw_cuda_peers *peers = NULL;
    RW_FREED int32_t *device = NULL;
    RW_FREED struct rw_cuda_peers **from = NULL;
    const char *nccl = getenv("RANKWOOD_NCCL");
    if (!rw_comm_has_threads(ctx->comm) || (nccl && nccl[0])) /* NCCL is wanted */
        return RW_OK;
    int status = RW_NEW(ctx, device, (size_t)n);
    status = status < 0 ? status : RW_NEW(ctx, from, (size_t)n);
    RW_TRY(rw_comm_agree(ctx, status));
    RW_TRY(rw_comm_all_gather(ctx, &own, device, sizeof(own)));
    RW_TRY(rw_comm_agree(ctx, enable_access(workers, device, n, &cannot)));
    RW_TRY(rw_comm_max(ctx, &cannot, 1));
    if (cannot)
        return RW_OK;
    if (rw_worker(ctx) == 0)
        status = rw_mem_new(ctx, (void **)&peers, 1,
                            sizeof(*peers) + (size_t)n * sizeof(peers->peer[0]));
    if (peers)
        peers->n_users = peers->n_workers = n;
    status = rw_comm_agree(ctx, status);
    if (status >= 0)
        status = rw_comm_all_gather(ctx, &peers, from, sizeof(*from));
    if (status < 0) {
        rw_mem_free(peers);
        return status;
    }
    workers->peers = from[0];
    return RW_OK;
}

int rw_cuda_workers_connect(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->device->ctx;
    if (!rw_cuda_are_many(workers))
        return RW_OK;
    RW_TRY(connect_peers(workers));
    if (workers->peers)
        return RW_OK;
    const int status = rw_nccl_open(ctx, workers->device, &workers->device->comm);
    if (status == RW_ERR_UNSUPPORTED) {
        rw_log(ctx, RW_LOG_WARNING,
               "histograms go from GPU to GPU through the hosts, which is slow: %s",
               rw_last_error(ctx));
        return RW_OK;
    }
    return status;
}

/* If NCCL connects two GPUs, allocating and freeing on one may wait for the other, which would wait
 * for this worker in turn if it were in an NCCL call. */
int rw_cuda_workers_ready(struct rw_cuda_workers *workers)
{
    return workers->device->comm ? rw_comm_agree(workers->device->ctx, RW_OK) : RW_OK;
}

/* Adds up the messages of all workers. Each receives the sums of its part, of n_each numbers. */
static int reduce_scatter(struct rw_cuda_workers *workers, const void *d_send, void *d_recv,
                          size_t n_each, enum rw_comm_type type)
{
    struct rw_ctx *ctx = workers->device->ctx;
    struct rw_comm *comm = workers->device->comm;
    const size_t bytes = n_each * (type == RW_COMM_U64 ? 8 : 4);
    const size_t all_bytes = bytes * (size_t)rw_n_workers(ctx);
    if (n_each == 0)
        return RW_OK;
    if (comm) {
        ctx->comm->bytes_sent += all_bytes - bytes;
        return rw_comm_status(ctx, comm,
                              comm->functions.reduce_scatter(comm->user, d_send, d_recv, n_each,
                                                             type, workers->device->stream));
    }
    char *const sums = (char *)workers->staged + all_bytes;
    RW_TRY(rw_transfer_read(workers->device, workers->staged, d_send, all_bytes));
    RW_TRY(rw_comm_reduce_scatter(ctx, workers->staged, sums, n_each, type));
    return rw_transfer_write(workers->device, d_recv, sums, bytes);
}

static struct rw_cuda_peer *own_of(const struct rw_cuda_workers *workers)
{
    return &workers->peers->peer[rw_worker(workers->device->ctx)];
}

/* Lets this GPU wait no longer: sets all words to a number that no meeting has reached. */
static void end_waiting(const struct rw_cuda_workers *workers)
{
    uint32_t *const d_met = own_of(workers)->open.d_met;
    const size_t bytes = (size_t)workers->peers->n_workers * sizeof(*d_met);
    cudaStream_t stream;
    if (!d_met || cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, 0) != cudaSuccess)
        return;
    RW_CU_MAY_FAIL(cudaMemsetAsync(d_met, 0x7f, bytes, stream));
    RW_CU_MAY_FAIL(cudaStreamSynchronize(stream));
    RW_CU_MAY_FAIL(cudaStreamDestroy(stream));
}

void rw_cuda_workers_part(struct rw_cuda_workers *workers)
{
    struct rw_device *device = workers->device;
    if (workers->peers && rw_comm_has_failed(device->ctx))
        end_waiting(workers);
    if (device->comm && device->ctx->comm && device->ctx->comm->has_failed)
        device->comm->has_failed = 1;
    rw_comm_free(device->comm);
    device->comm = NULL;
}

void rw_cuda_peers_leave(struct rw_cuda_workers *workers)
{
    struct rw_cuda_peers *peers = workers->peers;
    workers->peers = NULL;
    if (!peers || atomic_fetch_sub(&peers->n_users, 1) > 1)
        return;
    for (int r = 0; r < peers->n_workers; r++)
        rw_arena_free(&peers->peer[r].arena);
    rw_mem_free(peers);
}

struct rw_arena *rw_cuda_peers_arena(const struct rw_cuda_workers *workers)
{
    return workers->peers ? &own_of(workers)->arena : NULL;
}

int rw_cuda_peers_publish(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->device->ctx;
    const struct rw_cuda_exchange *exchange = &workers->exchange;
    struct rw_cuda_peer *own = own_of(workers);
    for (int g = 0; g < exchange->n_groups; g++) {
        own->open.built[g] = exchange->built[g];
        own->searches |= exchange->own[g].n_features > 0;
    }
    own->reply = workers->replies->reply;
    own->reply_set = workers->replies->set;
    const size_t bytes = (size_t)workers->peers->n_workers * sizeof(*own->open.d_met);
    void *d;
    RW_TRY(rw_device_alloc_in(ctx, &own->arena, &d, bytes));
    own->open.d_met = d;
    RW_CU(ctx, cudaMemsetAsync(d, 0, bytes, workers->device->stream));
    return rw_transfer_wait(workers->device); /* a peer may be first to write to it */
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
                           const uint32_t *row, uint32_t *first_own)
{
    struct rw_ctx *ctx = workers->device->ctx;
    struct rw_cuda_exchange *exchange = &workers->exchange;
    const struct rw_cuda_cells *built = &exchange->built[g];
    struct rw_cuda_cells *own = &exchange->own[g];
    const uint32_t n_workers = (uint32_t)rw_n_workers(ctx), worker = (uint32_t)rw_worker(ctx);
    RW_FREED uint32_t *first = NULL, *cell = NULL;
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
    *first_own = first[worker];
    own->n_features = first[worker + 1] - first[worker];
    own->n_cells = cell[worker + 1] - cell[worker];
    own->d_feature += first[worker];
    exchange->begin[g] = exchange->n_cells;
    exchange->first[g] = cell[worker];
    exchange->n_cells += workers->peers ? own->n_cells : most;
    for (uint32_t f = first[worker]; f <= first[worker + 1]; f++)
        cell[f - first[worker]] = row[f] - row[first[worker]];
    return RW_CUDA_TABLE(memory, own->d_row, cell, (size_t)own->n_features + 1);
}

int rw_cuda_workers_allocate(struct rw_cuda_workers *workers, struct rw_cuda_memory *memory,
                             int n_groups)
{
    enum { WORDS = 3 }; /* per cell, at most */
    struct rw_cuda_exchange *exchange = &workers->exchange;
    const size_t n_workers = (size_t)rw_n_workers(workers->device->ctx);
    const int newton = workers->host->base.rules.newton;
    uint64_t node_bytes = 1;
    if (n_workers == 1)
        return RW_OK;
    exchange->n_groups = n_groups;
    exchange->newton = newton;
    exchange->n_workers = (uint32_t)n_workers;
    for (int g = 0; g < n_groups; g++)
        node_bytes +=
            exchange->built[g].n_cells * rw_hist_cell_bytes(newton, exchange->built[g].narrow);
    if (!workers->peers)
        node_bytes += (n_workers + 1) * exchange->n_cells * (WORDS * 8 + 4);
    const uint64_t n = CALL_BYTES / node_bytes;
    workers->most_nodes = n < 1 ? 1 : n < RW_TUNE_ENGINE_NODES ? (uint32_t)n : RW_TUNE_ENGINE_NODES;
    memory->host->memory.part = "histograms";
    memory->peers = rw_cuda_peers_arena(workers);
    int status = RW_OK;
    for (int g = 0; g < n_groups && status >= 0; g++)
        status = rw_cuda_new_cells(memory, &exchange->built[g], workers->most_nodes);
    memory->peers = NULL;
    if (status < 0 || workers->peers)
        return status;
    const uint64_t n_each = (uint64_t)workers->most_nodes * exchange->n_cells;
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_send64, n_workers * n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_recv64, n_each * WORDS));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_send32, n_workers * n_each));
    RW_TRY(RW_HOST_NEW_RAW(memory->host, exchange->d_recv32, n_each));
    return workers->device->comm ? RW_OK
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

/* ---- waiting for other workers ---- */

/* Pauses after a look for another worker, and counts it in *n_looks. Fails if a worker has failed.
 */
static int pause_for(struct rw_ctx *ctx, uint32_t *n_looks)
{
    enum { LOOKS = 1 << 14 }; /* some hundred microseconds; after that, other threads may run */
    rw_pause();
    if (++*n_looks < LOOKS)
        return RW_OK;
    (void)sched_yield();
    return rw_comm_has_failed(ctx) ? rw_comm_status(ctx, ctx->comm, 1) : RW_OK;
}

/* Sends the addresses that all workers have published to this GPU. */
static int send_addresses(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->device->ctx;
    const struct rw_cuda_peers *peers = workers->peers;
    const size_t n = (size_t)peers->n_workers;
    RW_FREED struct rw_cuda_open *open = NULL;
    void *d;
    RW_TRY(RW_NEW(ctx, open, n));
    for (size_t r = 0; r < n; r++)
        open[r] = peers->peer[r].open;
    RW_TRY(rw_device_alloc_in(ctx, &own_of(workers)->arena, &d, n * sizeof(*open)));
    workers->exchange.d_open = d;
    return rw_transfer_write(workers->device, d, open, n * sizeof(*open));
}

/* A meeting: work that this worker enqueues afterwards begins once the work that all workers
 * enqueued before it is complete. */
static int meet(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->device->ctx;
    struct rw_cuda_peers *peers = workers->peers;
    struct rw_cuda_peer *own = own_of(workers);
    const uint32_t n = (uint32_t)peers->n_workers, worker = (uint32_t)rw_worker(ctx);
    const uint32_t number = atomic_load(&own->n_met) + 1;
    if (!workers->exchange.d_open) /* once */
        RW_TRY(send_addresses(workers));
    RW_CUDA_LAUNCH(workers, rw_cuda_workers_meet, RW_CUDA_ARRIVE, workers->exchange.d_open, n,
                   worker, number);
    atomic_store_explicit(&own->n_met, number, memory_order_release);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t n_looks = 0;
        while ((int32_t)(atomic_load_explicit(&peers->peer[r].n_met, memory_order_acquire) -
                         number) < 0)
            RW_TRY(pause_for(ctx, &n_looks));
    }
    RW_CUDA_LAUNCH(workers, rw_cuda_workers_meet, RW_CUDA_AWAIT, workers->exchange.d_open, n,
                   worker, number);
    return RW_OK;
}

/* ---- splits ---- */

static int await(struct rw_cuda_workers *workers, const struct rw_cuda_reply *reply, uint32_t i)
{
    const uint32_t *const word = (const uint32_t *)(const void *)reply->word[i];
    uint32_t n_looks = 0;
    for (int k = 0; k < RW_CUDA_REPLY_WORDS; k++) {
        while (__atomic_load_n(&word[2 * k], __ATOMIC_ACQUIRE) != workers->replies->n_searches)
            RW_TRY(pause_for(workers->device->ctx, &n_looks));
    }
    return RW_OK;
}

int rw_cuda_peers_best(struct rw_cuda_workers *workers, const int32_t *slots, uint32_t n,
                       struct rw_split *out)
{
    const size_t which = workers->replies->n_searches % 2;
    for (int r = 0; r < workers->peers->n_workers; r++) {
        const struct rw_cuda_peer *peer = &workers->peers->peer[r];
        if (peer == own_of(workers) || !peer->searches)
            continue;
        const struct rw_cuda_reply *reply = peer->reply + which;
        const struct rw_code_set *set =
            peer->reply_set ? peer->reply_set + which * RW_CUDA_MOST_SEARCHED : NULL;
        for (uint32_t i = 0; i < n; i++) {
            struct rw_split split;
            RW_TRY(await(workers, reply, i));
            rw_cuda_read_reply(workers->host, reply, set, i, slots[i], &split);
            if (rw_split_is_better(&split, &out[i]))
                rw_split_copy(&out[i], &split);
        }
    }
    workers->is_unread = 0;
    return RW_OK;
}

/* ---- sums of histograms ---- */

int rw_cuda_workers_begin_sums(struct rw_cuda_workers *workers, uint32_t n, uint32_t to,
                               const uint32_t *parent)
{
    workers->exchange.n_nodes = n;
    workers->exchange.to = to;
    memcpy(workers->exchange.parent, parent, n * sizeof(*parent));
    /* The replies of a search show that all workers have read the sums of the calls before it. Only
     * calls without a search between them get here with is_unread. */
    if (!workers->is_unread)
        return RW_OK;
    workers->is_unread = 0;
    return meet(workers);
}

static int send_messages(struct rw_cuda_workers *workers, const struct rw_sibling *siblings,
                         const uint32_t *all_n)
{
    const struct rw_engine_rules *rules = &workers->host->base.rules;
    struct rw_cuda_exchange *exchange = &workers->exchange;
    const size_t bytes = exchange->n_nodes * sizeof(struct rw_cuda_wire);
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(workers->replies, bytes, &piece));
    exchange->d_wire = piece.d;
    exchange->n_each64 = exchange->n_each32 = 0;
    for (uint32_t i = 0; i < exchange->n_nodes; i++) {
        struct rw_cuda_wire wire =
            rw_cuda_wire_of(rules->newton, rules->bits, all_n[siblings[i].smaller]);
        wire.at64 = (uint32_t)exchange->n_each64;
        wire.at32 = (uint32_t)exchange->n_each32;
        exchange->n_each64 += (uint64_t)wire.words * exchange->n_cells;
        exchange->n_each32 += wire.words == 0 || wire.separate_hess ? exchange->n_cells : 0;
        ((struct rw_cuda_wire *)piece.host)[i] = wire;
    }
    RW_TRY(rw_cuda_send(workers->replies, &piece, bytes));
    RW_CUDA_LAUNCH(workers, rw_cuda_workers_pack, exchange);
    RW_TRY(reduce_scatter(workers, exchange->d_send64, exchange->d_recv64, exchange->n_each64,
                          RW_COMM_U64));
    RW_TRY(reduce_scatter(workers, exchange->d_send32, exchange->d_recv32, exchange->n_each32,
                          RW_COMM_U32));
    RW_CUDA_LAUNCH(workers, rw_cuda_workers_unpack, exchange);
    return RW_OK;
}

int rw_cuda_workers_end_sums(struct rw_cuda_workers *workers, const struct rw_sibling *siblings,
                             const uint32_t *all_n)
{
    const struct rw_cuda_exchange *exchange = &workers->exchange;
    if (siblings[0].parent < 0) /* the choice of methods may have (de)allocated memory */
        RW_TRY(rw_cuda_workers_ready(workers));
    if (!workers->peers)
        return send_messages(workers, siblings, all_n);
    const size_t cell_bytes = rw_hist_cell_bytes(exchange->newton, exchange->built[0].narrow);
    RW_TRY(meet(workers));
    RW_CUDA_LAUNCH(workers, rw_cuda_workers_gather, exchange);
    workers->is_unread = 1;
    workers->device->ctx->comm->bytes_sent +=
        cell_bytes * exchange->n_nodes * exchange->n_cells * (exchange->n_workers - 1);
    return RW_OK;
}
