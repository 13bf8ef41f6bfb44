/* Workers that are threads of one process, with GPUs that can read each other's memory (peers). A
 * worker then reads the cells of the features that it owns from the sums of the other workers,
 * where these were built. No messages are needed. An event on each GPU tells the others that its
 * sums are complete. Each worker's host polls the replies of all searches, so no call of the
 * communicator is needed either.
 *
 * The last worker that leaves frees the memory that peers read. So a worker that fails does not
 * take away memory that another GPU still reads. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/engine/cuda_workers.h"

/* The events of a worker: its sums were built; it has read those of its peers. */
enum event { BUILT, READ };

/* Memory of a worker that the GPUs and hosts of the other workers of its process read. */
struct rw_cuda_peer {
    struct rw_arena arena; /* of the memory below, freed by the last worker that leaves */
    struct rw_cuda_built built[RW_CUDA_GROUPS];
    const struct rw_cuda_reply *reply;   /* [2] as in struct rw_cuda_replies */
    const struct rw_code_set *reply_set; /* like reply; NULL: no categorical features */
    int searches;                        /* 1: the worker owns features, so it replies */
    void *event[2];                      /* cudaEvent_t, by enum event */
    atomic_uint n_records[2];            /* of each event so far */
};

/* The workers of a process whose GPUs can read each other's memory (engine_cuda_peers.c). */
struct rw_cuda_peers {
    atomic_int n_users; /* workers that have not left */
    int n_workers;
    struct rw_cuda_peer peer[]; /* [n_workers] */
};

/* ---- the beginning and the end ---- */

/* Checks that this worker's GPU can read the memory of all others. *cannot: 1 if it cannot. device:
 * [n] the workers' GPUs. */
static int check_access(struct rw_cuda_workers *workers, const int32_t *device, int n,
                        uint64_t *cannot)
{
    for (int r = 0; r < n; r++) {
        int can = 1;
        if (device[r] != workers->device->number)
            RW_CU(workers->host->base.ctx,
                  cudaDeviceCanAccessPeer(&can, workers->device->number, device[r]));
        *cannot |= !can;
    }
    return RW_OK;
}

static int enable_access(struct rw_cuda_workers *workers, const int32_t *device, int n)
{
    for (int r = 0; r < n; r++) {
        if (device[r] == workers->device->number)
            continue;
        const cudaError_t error = cudaDeviceEnablePeerAccess(device[r], 0);
        if (error != cudaErrorPeerAccessAlreadyEnabled)
            RW_CU(workers->host->base.ctx, error);
        (void)cudaGetLastError();
    }
    return RW_OK;
}

int rw_cuda_peers_connect(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->host->base.ctx;
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
    RW_TRY(rw_comm_agree(ctx, check_access(workers, device, n, &cannot)));
    RW_TRY(rw_comm_max(ctx, &cannot, 1));
    if (cannot)
        return RW_OK;
    status = enable_access(workers, device, n);
    if (status >= 0 && rw_worker(ctx) == 0)
        status = rw_mem_new(ctx, (void **)&peers, 1,
                            sizeof(*peers) + (size_t)n * sizeof(peers->peer[0]));
    if (peers) {
        peers->n_users = n;
        peers->n_workers = n;
    }
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

static struct rw_cuda_peer *own_of(const struct rw_cuda_workers *workers)
{
    return &workers->peers->peer[rw_worker(workers->host->base.ctx)];
}

struct rw_arena *rw_cuda_peers_arena(const struct rw_cuda_workers *workers)
{
    return workers->peers ? &own_of(workers)->arena : NULL;
}

int rw_cuda_peers_publish(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->host->base.ctx;
    const struct rw_cuda_gather *gather = &workers->gather;
    struct rw_cuda_peer *own = own_of(workers);
    for (int g = 0; g < gather->n_groups; g++) {
        const struct rw_cuda_cells *built = &gather->built[g];
        own->built[g] = (struct rw_cuda_built){built->d_count, built->d_lambda, built->d_hess};
        own->searches |= gather->own[g].n_features > 0;
    }
    own->reply = workers->replies->reply;
    own->reply_set = workers->replies->set;
    RW_TRY(rw_device_event(ctx, &own->arena, 0, &own->event[BUILT]));
    return rw_device_event(ctx, &own->arena, 0, &own->event[READ]);
}

/* ---- waiting for other workers ---- */

/* The state of a wait of this host for another. */
struct patience {
    struct rw_ctx *ctx;
    uint32_t n_looks;
};

/* Pauses between two looks. Fails if another worker has failed. */
static int pause_for(struct patience *patience)
{
    enum { LOOKS = 1 << 14 }; /* some hundred microseconds; after that, other threads may run */
    rw_pause();
    if (++patience->n_looks < LOOKS)
        return RW_OK;
    (void)sched_yield();
    return rw_comm_has_failed(patience->ctx) ? rw_comm_status(patience->ctx, patience->ctx->comm, 1)
                                             : RW_OK;
}

/* Records an event of this worker. Work that it enqueues afterwards follows the same record of all
 * peers. */
static int meet(struct rw_cuda_workers *workers, enum event which)
{
    struct rw_ctx *ctx = workers->host->base.ctx;
    struct rw_cuda_peers *peers = workers->peers;
    struct rw_cuda_peer *own = own_of(workers);
    RW_CU(ctx, cudaEventRecord(own->event[which], workers->device->stream));
    const unsigned n =
        atomic_fetch_add_explicit(&own->n_records[which], 1, memory_order_release) + 1;
    for (int r = 0; r < peers->n_workers; r++) {
        struct rw_cuda_peer *peer = &peers->peer[r];
        struct patience patience = {ctx, 0};
        if (peer == own)
            continue;
        while ((int)(atomic_load_explicit(&peer->n_records[which], memory_order_acquire) - n) < 0)
            RW_TRY(pause_for(&patience));
        RW_CU(ctx, cudaStreamWaitEvent(workers->device->stream, peer->event[which], 0));
    }
    return RW_OK;
}

/* ---- histograms ---- */

/* The replies of a search show that all workers have read the sums of the calls before it. Only
 * calls without a search between them get here with is_unread. */
int rw_cuda_peers_finish_reads(struct rw_cuda_workers *workers)
{
    if (!workers->is_unread)
        return RW_OK;
    workers->is_unread = 0;
    return meet(workers, READ);
}

/* Sends the addresses of all workers' sums to this GPU, once. */
static int send_addresses(struct rw_cuda_workers *workers)
{
    struct rw_ctx *ctx = workers->host->base.ctx;
    const struct rw_cuda_peers *peers = workers->peers;
    const size_t n_groups = (size_t)workers->gather.n_groups;
    const size_t n = (size_t)peers->n_workers * n_groups;
    RW_FREED struct rw_cuda_built *built = NULL;
    void *d;
    RW_TRY(RW_NEW(ctx, built, n));
    for (size_t r = 0; r < (size_t)peers->n_workers; r++)
        memcpy(built + r * n_groups, peers->peer[r].built, n_groups * sizeof(*built));
    RW_TRY(rw_device_alloc_in(ctx, &own_of(workers)->arena, &d, n * sizeof(*built)));
    workers->gather.d_built = d;
    return rw_transfer_write(workers->device, d, built, n * sizeof(*built));
}

int rw_cuda_peers_gather(struct rw_cuda_workers *workers)
{
    const struct rw_cuda_gather *gather = &workers->gather;
    const size_t cell_bytes = rw_hist_cell_bytes(gather->newton, gather->built[0].narrow);
    if (!gather->d_built)
        RW_TRY(send_addresses(workers));
    RW_TRY(meet(workers, BUILT));
    RW_CU(workers->host->base.ctx, rw_cuda_workers_gather(gather, workers->device->stream));
    workers->is_unread = 1;
    workers->host->base.ctx->comm->bytes_sent +=
        cell_bytes * gather->n_nodes * gather->n_cells * (gather->n_workers - 1);
    return RW_OK;
}

/* ---- splits ---- */

/* Waits for a peer's replies to the current search. */
static int await(struct rw_cuda_workers *workers, const struct rw_cuda_reply *reply, uint32_t n)
{
    const uint32_t *const word = (const uint32_t *)(const void *)reply;
    struct patience patience = {workers->host->base.ctx, 0};
    for (size_t i = 0; i < (size_t)n * RW_CUDA_REPLY_WORDS; i++) {
        while (__atomic_load_n(&word[2 * i], __ATOMIC_ACQUIRE) != workers->replies->n_searches)
            RW_TRY(pause_for(&patience));
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
        RW_TRY(await(workers, reply, n));
        for (uint32_t i = 0; i < n; i++) {
            const struct rw_cuda_found found = rw_cuda_found_of(reply, i);
            struct rw_split split;
            rw_cuda_split_of(workers->host, slots[i], &found,
                             peer->reply_set ? peer->reply_set + which * RW_CUDA_MOST_SEARCHED + i
                                             : NULL,
                             &split);
            if (rw_split_is_better(&split, &out[i]))
                rw_split_copy(&out[i], &split);
        }
    }
    workers->is_unread = 0;
    return RW_OK;
}
