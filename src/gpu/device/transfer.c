/* Copies between the host and a GPU, which are counted. A pipe sends large arrays in chunks, so
 * that the copy of one chunk and the kernels of another overlap. */
#include "gpu/device/device.h"

#include <string.h>

#include "base/mem.h"
#include "gpu/device/cu_check.h"

/* Bytes that one thread copies to a pinned buffer at a time. */
enum { PIECE = 1 << 20 };

/* ---- Counted copies ---- */

/* Enqueues a copy. 0 bytes: does nothing. */
static int enqueue(struct rw_ctx *ctx, const struct rw_device *device, void *to, const void *from,
                   size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
    if (bytes == 0)
        return RW_OK;
    RW_CU(ctx, cudaMemcpyAsync(to, from, bytes, kind, stream));
    device->counts->copies++;
    if (kind == cudaMemcpyHostToDevice)
        device->counts->bytes_to_device += bytes;
    else
        device->counts->bytes_to_host += bytes;
    return RW_OK;
}

int rw_transfer_write_pinned(struct rw_ctx *ctx, const struct rw_device *device, void *d_to,
                             const void *from, size_t bytes)
{
    return enqueue(ctx, device, d_to, from, bytes, cudaMemcpyHostToDevice, device->stream);
}

int rw_transfer_read_pinned(struct rw_ctx *ctx, const struct rw_device *device, void *to,
                            const void *d_from, size_t bytes)
{
    return enqueue(ctx, device, to, d_from, bytes, cudaMemcpyDeviceToHost, device->stream);
}

int rw_transfer_write(struct rw_ctx *ctx, const struct rw_device *device, void *d_to,
                      const void *from, size_t bytes)
{
    RW_TRY(rw_transfer_write_pinned(ctx, device, d_to, from, bytes));
    return bytes ? rw_transfer_wait(ctx, device) : RW_OK;
}

int rw_transfer_read(struct rw_ctx *ctx, const struct rw_device *device, void *to,
                     const void *d_from, size_t bytes)
{
    RW_TRY(rw_transfer_read_pinned(ctx, device, to, d_from, bytes));
    return bytes ? rw_transfer_wait(ctx, device) : RW_OK;
}

/* A wait during which the device's `watch` is called. */
struct watch {
    struct rw_ctx *ctx;
    const struct rw_device *device;
    double begin_ms, polled_ms;
};

static int poll_watch(struct watch *watch)
{
    enum { EVERY_MS = 20 };
    if (!watch->device->watch)
        return RW_OK;
    const double now = rw_clock_ms();
    if (watch->begin_ms == 0.0)
        watch->begin_ms = watch->polled_ms = now;
    if (now - watch->polled_ms < EVERY_MS)
        return RW_OK;
    watch->polled_ms = now;
    return watch->device->watch(watch->device->watch_user, watch->ctx,
                                (now - watch->begin_ms) * 1e-3);
}

int rw_transfer_wait(struct rw_ctx *ctx, const struct rw_device *device)
{
    struct watch watch = {.ctx = ctx, .device = device};
    while (device->watch) {
        const cudaError_t error = cudaStreamQuery(device->stream);
        if (error != cudaErrorNotReady) {
            RW_CU(ctx, error);
            return RW_OK;
        }
        RW_TRY(poll_watch(&watch));
    }
    RW_CU(ctx, cudaStreamSynchronize(device->stream));
    return RW_OK;
}

/* Returns how many of the words have arrived, from `first` on. */
static size_t words_arrived(const struct rw_transfer_reply *reply, size_t first)
{
    for (; first < reply->n; first++) {
        if (__atomic_load_n(&reply->word[first * reply->step], __ATOMIC_ACQUIRE) != reply->value)
            break;
    }
    return first;
}

int rw_transfer_await(struct rw_ctx *ctx, const struct rw_device *device,
                      const struct rw_transfer_reply *reply)
{
    enum {
        LOOKS = 1 << 16
    }; /* polls between two queries of the driver, which reports failed kernels */
    struct watch watch = {.ctx = ctx, .device = device};
    size_t n_arrived = 0;
    device->counts->bytes_to_host += reply->bytes;
    for (;;) {
        for (int look = 0; look < LOOKS; look++) {
            n_arrived = words_arrived(reply, n_arrived);
            if (n_arrived == reply->n)
                return RW_OK;
        }
        const cudaError_t error = cudaStreamQuery(device->stream);
        if (error == cudaErrorNotReady) {
            RW_TRY(poll_watch(&watch));
            continue;
        }
        RW_CU(ctx, error);
        if (words_arrived(reply, n_arrived) < reply->n)
            return rw_fail(ctx, RW_ERR_INTERNAL, "a kernel did not reply");
        return RW_OK;
    }
}

int rw_transfer_pinned_alloc(struct rw_ctx *ctx, void **out, size_t bytes)
{
    *out = NULL;
    const cudaError_t error = cudaHostAlloc(out, bytes ? bytes : 1, cudaHostAllocDefault);
    if (error == cudaSuccess)
        return RW_OK;
    *out = NULL;
    if (error != cudaErrorMemoryAllocation)
        return rw_cu_fail(ctx, error, "cudaHostAlloc");
    (void)cudaGetLastError();
    return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: %zu bytes of page-locked memory", bytes);
}

void rw_transfer_pinned_free(void *p)
{
    if (p)
        RW_CU_MAY_FAIL(cudaFreeHost(p));
}

int rw_transfer_pinned_in(struct rw_ctx *ctx, struct rw_arena *arena, void *out, size_t bytes)
{
    void *p;
    RW_TRY(rw_transfer_pinned_alloc(ctx, &p, bytes));
    RW_TRY(rw_arena_own(ctx, arena, p, rw_transfer_pinned_free));
    memcpy(out, &p, sizeof(p));
    return RW_OK;
}

/* ---- Tables ---- */

int rw_device_table(struct rw_device_tables *tables, void *d, const void *from, size_t bytes)
{
    void *table = tables; /* without a device */
    tables->bytes += bytes;
    if (tables->device)
        RW_TRY(rw_device_alloc_in(tables->ctx, &tables->arena, &table, bytes));
    memcpy(d, &table, sizeof(table));
    return tables->device && from
               ? rw_transfer_write(tables->ctx, tables->device, table, from, bytes)
               : RW_OK;
}

/* ---- Pipes ---- */

struct slot {
    void *stream;  /* a cudaStream_t */
    void *copied;  /* a cudaEvent_t: the last copy out of `pinned` is done */
    void *pinned;  /* [chunk_bytes]; allocated at its first use */
    void *d_chunk; /* [chunk_bytes] */
};

struct rw_transfer_pipe {
    struct rw_ctx *ctx;
    const struct rw_device *device;
    size_t chunk_bytes;
    uint64_t offset;
    uint32_t n_slots, next;
    struct rw_arena arena; /* owns the memory of slots, and `order` */
    void *order;           /* a cudaEvent_t: between the device's stream and the pipe's */
    struct slot slot[RW_TRANSFER_MOST_STREAMS];
};

static int slot_init(struct rw_transfer_pipe *pipe, struct slot *slot)
{
    RW_TRY(rw_device_stream(pipe->ctx, &pipe->arena, 0, &slot->stream));
    RW_TRY(rw_device_event(pipe->ctx, &pipe->arena, 0, &slot->copied));
    return rw_device_alloc_in(pipe->ctx, &pipe->arena, &slot->d_chunk, pipe->chunk_bytes);
}

int rw_transfer_pipe_new(struct rw_ctx *ctx, const struct rw_device *device, size_t chunk_bytes,
                         uint32_t n_streams, struct rw_transfer_pipe **out)
{
    RW_SCOPED(rw_transfer_pipe_free) struct rw_transfer_pipe *pipe = NULL;
    *out = NULL;
    if (chunk_bytes < 1 || n_streams < 1 || n_streams > RW_TRANSFER_MOST_STREAMS)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "a pipe of %u streams and chunks of %zu bytes; expected 1 to %d streams",
                       n_streams, chunk_bytes, RW_TRANSFER_MOST_STREAMS);
    RW_TRY(RW_NEW(ctx, pipe, 1));
    pipe->ctx = ctx;
    pipe->device = device;
    pipe->chunk_bytes = chunk_bytes;
    for (; pipe->n_slots < n_streams; pipe->n_slots++)
        RW_TRY(slot_init(pipe, &pipe->slot[pipe->n_slots]));
    RW_TRY(rw_device_event(ctx, &pipe->arena, 0, &pipe->order));
    *out = RW_TAKE(pipe);
    return RW_OK;
}

void rw_transfer_pipe_free(struct rw_transfer_pipe *pipe)
{
    if (!pipe)
        return;
    for (uint32_t i = 0; i < pipe->n_slots; i++) {
        if (pipe->slot[i].stream)
            RW_CU_MAY_FAIL(cudaStreamSynchronize(pipe->slot[i].stream));
    }
    rw_arena_free(&pipe->arena);
    rw_mem_free(pipe);
}

int rw_transfer_pipe_begin(struct rw_transfer_pipe *pipe)
{
    pipe->offset = 0;
    RW_CU(pipe->ctx, cudaEventRecord(pipe->order, pipe->device->stream));
    for (uint32_t i = 0; i < pipe->n_slots; i++)
        RW_CU(pipe->ctx, cudaStreamWaitEvent(pipe->slot[i].stream, pipe->order, 0));
    return RW_OK;
}

int rw_transfer_pipe_end(struct rw_transfer_pipe *pipe)
{
    /* Waiting for an event means waiting for its last record at the time of the call, so one event
     * serves all streams in turn. */
    for (uint32_t i = 0; i < pipe->n_slots; i++) {
        RW_CU(pipe->ctx, cudaEventRecord(pipe->order, pipe->slot[i].stream));
        RW_CU(pipe->ctx, cudaStreamWaitEvent(pipe->device->stream, pipe->order, 0));
    }
    return RW_OK;
}

int rw_transfer_pipe_room(struct rw_transfer_pipe *pipe, void **chunk)
{
    struct slot *slot = &pipe->slot[pipe->next];
    *chunk = NULL;
    if (!slot->pinned)
        RW_TRY(rw_transfer_pinned_in(pipe->ctx, &pipe->arena, &slot->pinned, pipe->chunk_bytes));
    RW_CU(pipe->ctx,
          cudaEventSynchronize(slot->copied)); /* returns at once if it was never recorded */
    *chunk = slot->pinned;
    return RW_OK;
}

int rw_transfer_pipe_send(struct rw_transfer_pipe *pipe, const void *from, size_t bytes,
                          rw_transfer_use_fn use, void *user, const void *note)
{
    struct slot *slot = &pipe->slot[pipe->next];
    const struct rw_transfer_chunk chunk = {.d_data = slot->d_chunk,
                                            .bytes = bytes,
                                            .offset = pipe->offset,
                                            .place = pipe->next,
                                            .stream = slot->stream,
                                            .note = note};
    if (bytes > pipe->chunk_bytes)
        return rw_fail(pipe->ctx, RW_ERR_ARGUMENT, "a chunk of %zu bytes; expected at most %zu",
                       bytes, pipe->chunk_bytes);
    RW_TRY(enqueue(pipe->ctx, pipe->device, slot->d_chunk, from, bytes, cudaMemcpyHostToDevice,
                   slot->stream));
    RW_CU(pipe->ctx, cudaEventRecord(slot->copied, slot->stream));
    pipe->offset += bytes;
    pipe->next = (pipe->next + 1) % pipe->n_slots;
    return use(user, &chunk);
}

struct copy_job {
    char *to;
    const char *from;
    size_t bytes;
};

static int copy_pieces(void *user, struct rw_share *share)
{
    const struct copy_job *job = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        const size_t at = i * PIECE, last = end * PIECE;
        memcpy(job->to + at, job->from + at, (last < job->bytes ? last : job->bytes) - at);
    }
    return RW_OK;
}

void rw_transfer_copy_host(struct rw_ctx *ctx, void *to, const void *from, size_t bytes)
{
    struct copy_job job = {to, from, bytes};
    rw_parallel(ctx, ctx->n_threads, (bytes + PIECE - 1) / PIECE, 0, copy_pieces, &job);
}
