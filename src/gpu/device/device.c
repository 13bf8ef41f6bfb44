/* Implements cu_check.h and device.h, except for device_tuning.c and nccl.c. */
#include "gpu/device/device.h"

#include <stdatomic.h>

#include "gpu/device/cu_check.h"
#include "gpu/device/tuning.h"

/* The oldest compute capability that the kernels are compiled for. */
enum { LEAST_MAJOR = 7, LEAST_MINOR = 5 };
/* Memory that CUDA itself uses on a GPU per process, approximately. */
#define CONTEXT_BYTES ((size_t)600000000)

/* Returns 1 for errors that this GPU or driver will always report. */
static int is_unsupported(cudaError_t error)
{
    return error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ||
           error == cudaErrorInvalidDevice || error == cudaErrorNoKernelImageForDevice ||
           error == cudaErrorUnsupportedPtxVersion || error == cudaErrorInvalidDeviceFunction ||
           error == cudaErrorCompatNotSupportedOnDevice || error == cudaErrorNotSupported;
}

/* Reports a lack of device memory. what: the operation or thing that needs `needed` bytes of it; 0:
 * unknown. is_open: the device is the thread's current one. */
static int fail_full(struct rw_ctx *ctx, int number, int is_open, size_t needed, const char *what)
{
    size_t free_bytes = 0, all_bytes = 0;
    char bytes[64] = "more memory", there[96] = "";
    if (needed)
        snprintf(bytes, sizeof(bytes), "%.1f MB", (double)needed / 1e6);
    if (is_open && cudaMemGetInfo(&free_bytes, &all_bytes) == cudaSuccess)
        snprintf(there, sizeof(there), ", and %.1f of its %.1f MB are free",
                 (double)free_bytes / 1e6, (double)all_bytes / 1e6);
    (void)cudaGetLastError();
    return rw_fail(
        ctx, RW_ERR_MEMORY,
        "out of device memory: %s needs %s of cuda:%d%s\nhint: if other programs use the "
        "memory, another GPU ('--device cuda:N') or the CPU ('--device cpu') trains the "
        "same model",
        what, bytes, number, there);
}

int rw_cu_fail(struct rw_ctx *ctx, cudaError_t error, const char *what)
{
    int number = 0;
    (void)cudaGetLastError(); /* clears the error */
    if (error == cudaErrorMemoryAllocation && cudaGetDevice(&number) == cudaSuccess)
        return fail_full(ctx, number, 1, 0, what);
    return rw_fail(ctx,
                   error == cudaErrorMemoryAllocation ? RW_ERR_MEMORY
                   : is_unsupported(error)            ? RW_ERR_UNSUPPORTED
                                                      : RW_ERR_MACHINE,
                   "CUDA: %s (%s)", cudaGetErrorString(error), what);
}

static struct rw_tuning_facts facts_of(const struct cudaDeviceProp *p)
{
    return (struct rw_tuning_facts){10 * p->major + p->minor, p->multiProcessorCount,
                                    p->maxThreadsPerMultiProcessor, p->sharedMemPerBlockOptin};
}

/* If the build has no machine code for this GPU, prints a notice, once per process, even if the
 * driver's cache already has the kernels. */
static void announce_compilation(struct rw_ctx *ctx, const struct cudaDeviceProp *properties)
{
    static atomic_flag is_announced = ATOMIC_FLAG_INIT;
    const int major = properties->major, minor = properties->minor;
    if (!rw_has_gpu_code(RW_GPU_ARCHS, major, minor) && !atomic_flag_test_and_set(&is_announced))
        rw_log(ctx, RW_LOG_NOTE,
               "the driver compiles the kernels for this GPU (%d.%d) on first use, up to a minute, "
               "and keeps them: this build is for %s; one with -Dgpu_arch=sm_%d%d need not",
               major, minor, RW_GPU_ARCHS, major, minor);
}

int rw_device_open(struct rw_ctx *ctx, int number, struct rw_device **out)
{
    RW_SCOPED(rw_device_close) struct rw_device *device = NULL;
    struct cudaDeviceProp properties;
    *out = NULL;
    RW_TRY(rw_device_check_cuda(ctx, number));
    RW_CU(ctx, cudaGetDeviceProperties(&properties, number));
    struct rw_tuning_facts facts = facts_of(&properties);
    if (facts.capability < 10 * LEAST_MAJOR + LEAST_MINOR)
        return rw_fail(
            ctx, RW_ERR_UNSUPPORTED,
            "GPU '%s' is too old: its compute capability is %d.%d; expected %d.%d or newer",
            properties.name, properties.major, properties.minor, LEAST_MAJOR, LEAST_MINOR);
    announce_compilation(ctx, &properties);
    /* This makes it the thread's current device, which allocates CUDA's own memory there. */
    const cudaError_t error = cudaSetDevice(number);
    if (error == cudaErrorMemoryAllocation)
        return fail_full(ctx, number, 0, CONTEXT_BYTES, "CUDA itself");
    if (error != cudaSuccess)
        return rw_cu_fail(ctx, error, "cudaSetDevice");
    RW_TRY(RW_NEW(ctx, device, 1));
    RW_TRY(rw_tuning_find(ctx, &facts, &device->tuning));
    device->ctx = ctx;
    device->number = number;
    snprintf(device->name, sizeof(device->name), "%.127s", properties.name);
    device->n_multiprocessors = facts.n_multiprocessors;
    device->n_threads = facts.n_threads;
    device->shared_bytes = facts.shared_bytes;
    RW_TRY(rw_device_stream(ctx, &device->arena, 0, &device->stream));
    *out = RW_TAKE(device);
    return RW_OK;
}

void rw_device_close(struct rw_device *device)
{
    if (!device)
        return;
    rw_arena_free(&device->arena);
    rw_mem_free(device);
}

static int (*_Atomic evict)(int device);

void rw_device_set_evict(int (*function)(int device))
{
    evict = function;
}

/* Returns 1 if a call lacked memory and may be repeated, since unused memory was freed. */
static int may_repeat(cudaError_t error)
{
    int number = 0;
    if (error != cudaErrorMemoryAllocation)
        return 0;
    (void)cudaGetLastError();
    RW_CU_MAY_FAIL(cudaGetDevice(&number));
    return evict && evict(number);
}

int rw_device_alloc(struct rw_ctx *ctx, void **out, size_t bytes)
{
    cudaError_t error;
    int number = 0;
    do
        error = cudaMalloc(out, bytes ? bytes : 1);
    while (may_repeat(error));
    if (error == cudaSuccess)
        return RW_OK;
    *out = NULL;
    if (error != cudaErrorMemoryAllocation) /* a lost GPU, for example */
        return rw_cu_fail(ctx, error, "cudaMalloc");
    RW_CU_MAY_FAIL(cudaGetDevice(&number));
    return fail_full(ctx, number, 1, bytes, "an array");
}

void rw_device_free(void *p)
{
    if (p)
        RW_CU_MAY_FAIL(cudaFree(p));
}

int rw_device_alloc_in(struct rw_ctx *ctx, struct rw_arena *arena, void **out, size_t bytes)
{
    void *p;
    RW_TRY(rw_device_alloc(ctx, &p, bytes));
    RW_TRY(rw_arena_own(ctx, arena, p, rw_device_free));
    *out = p;
    return RW_OK;
}

static void free_stream(void *stream)
{
    RW_CU_MAY_FAIL(cudaStreamDestroy(stream));
}

int rw_device_stream(struct rw_ctx *ctx, struct rw_arena *arena, int urgent, void **out)
{
    int least = 0, most = 0;
    cudaStream_t stream; /* a call that fails for lack of memory may still write to it */
    cudaError_t error;
    if (urgent)
        RW_CU(ctx, cudaDeviceGetStreamPriorityRange(&least, &most));
    do
        error = cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, most);
    while (may_repeat(error));
    if (error != cudaSuccess)
        return rw_cu_fail(ctx, error, "cudaStreamCreateWithPriority");
    RW_TRY(rw_arena_own(ctx, arena, stream, free_stream));
    *out = stream;
    return RW_OK;
}

static void free_event(void *event)
{
    RW_CU_MAY_FAIL(cudaEventDestroy(event));
}

int rw_device_event(struct rw_ctx *ctx, struct rw_arena *arena, int timed, void **out)
{
    cudaEvent_t event; /* a call that fails may still write to it */
    RW_CU(ctx, cudaEventCreateWithFlags(&event, timed ? 0 : cudaEventDisableTiming));
    RW_TRY(rw_arena_own(ctx, arena, event, free_event));
    *out = event;
    return RW_OK;
}

uint64_t rw_device_free_bytes(int number)
{
    size_t free_bytes = 0, all_bytes = 0;
    int before;
    if (cudaGetDevice(&before) == cudaSuccess && cudaSetDevice(number) == cudaSuccess) {
        RW_CU_MAY_FAIL(cudaMemGetInfo(&free_bytes, &all_bytes));
        RW_CU_MAY_FAIL(cudaSetDevice(before));
    } else {
        (void)cudaGetLastError();
    }
    return free_bytes;
}

int rw_device_time_once(const struct rw_device *device, int (*run)(void *user), void *user,
                        double *ms)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {NULL};
    cudaStream_t stream = device->stream;
    void *begin = NULL, *end = NULL;
    float one = 0.0f;
    *ms = 0.0;
    RW_TRY(rw_device_event(device->ctx, &arena, 1, &begin));
    RW_TRY(rw_device_event(device->ctx, &arena, 1, &end));
    RW_CU(device->ctx, cudaEventRecord(begin, stream));
    RW_TRY(run(user));
    RW_CU(device->ctx, cudaEventRecord(end, stream));
    RW_CU(device->ctx, cudaEventSynchronize(end));
    RW_CU(device->ctx, cudaEventElapsedTime(&one, begin, end));
    *ms = (double)one;
    return RW_OK;
}

static int attribute(enum cudaDeviceAttr which, int number)
{
    int value = 0;
    if (cudaDeviceGetAttribute(&value, which, number) == cudaSuccess)
        return value;
    (void)cudaGetLastError();
    return 0;
}

double rw_device_bandwidth(const struct rw_device *device)
{
    const int clock_khz = attribute(cudaDevAttrMemoryClockRate, device->number);
    const int bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device->number);
    const double bandwidth = 2e3 * clock_khz * bus_bits / 8; /* two transfers per clock and wire */
    return bandwidth > 0.0 ? bandwidth : RW_TUNE_PLAN_BANDWIDTH;
}

/* The oldest driver that runs all programs of a CUDA major version, by NVIDIA's "CUDA
 * Compatibility". A GPU for which the build has no machine code needs one as new as the build's
 * CUDA, to compile the kernels. */
static const int oldest_driver[] = {[11] = 450, [12] = 525, [13] = 580, [99] = 0};

int rw_cuda_runtime(void)
{
    return CUDART_VERSION;
}

void rw_cuda_find(struct rw_cuda_facts *out)
{
    *out = (struct rw_cuda_facts){.runtime = CUDART_VERSION,
                                  .oldest_driver = oldest_driver[CUDART_VERSION / 1000]};
    if (cudaDriverGetVersion(&out->driver) != cudaSuccess)
        out->driver = 0;
    const cudaError_t error = cudaGetDeviceCount(&out->n_devices);
    (void)cudaGetLastError();
    if (error != cudaSuccess)
        out->n_devices = 0;
    if (out->n_devices > 0)
        return;
    snprintf(out->why_not, sizeof(out->why_not), "%s",
             out->driver == 0                           ? "there is no NVIDIA driver"
             : out->driver / 1000 < out->runtime / 1000 ? "the driver is too old for this program"
             : error != cudaSuccess                     ? cudaGetErrorString(error)
                                                        : "the driver reports no GPU");
}

int rw_device_check_cuda(struct rw_ctx *ctx, int number)
{
    struct rw_cuda_facts facts;
    char there[64] = "cuda:0 alone";
    rw_cuda_find(&facts);
    if (facts.n_devices == 0)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "no GPU can be used: %s\nhint: device cpu gives the same model; "
                       "'rankwood doctor' describes this machine",
                       facts.why_not);
    if (number < facts.n_devices)
        return RW_OK;
    if (facts.n_devices > 1)
        snprintf(there, sizeof(there), "cuda:0 %s cuda:%d", facts.n_devices == 2 ? "and" : "to",
                 facts.n_devices - 1);
    return rw_fail(ctx, RW_ERR_UNSUPPORTED, "no device cuda:%d; this machine has %s", number,
                   there);
}

int rw_device_find(int number, struct rw_device_facts *out)
{
    struct cudaDeviceProp properties;
    memset(out, 0, sizeof(*out));
    if (cudaGetDeviceProperties(&properties, number) != cudaSuccess) {
        (void)cudaGetLastError();
        return 0;
    }
    snprintf(out->name, sizeof(out->name), "%.127s", properties.name);
    out->major = properties.major;
    out->minor = properties.minor;
    out->memory_bytes = properties.totalGlobalMem;
    out->n_multiprocessors = properties.multiProcessorCount;
    out->shared_bytes = properties.sharedMemPerBlockOptin;
    struct rw_tuning_facts facts = facts_of(&properties);
    const struct rw_tuning_row *row;
    if (rw_tuning_find(NULL, &facts, &row) >= 0) {
        out->tuning = row->name;
        out->is_tuning_measured = row->is_measured;
    }
    out->clock_mhz = attribute(cudaDevAttrClockRate, number) / 1000;
    out->memory_clock_mhz = attribute(cudaDevAttrMemoryClockRate, number) / 1000;
    out->is_mig = strstr(out->name, " MIG ") != NULL; /* the driver names them so */
    return 1;
}

/* ---- how fast the device reads host memory ---- */
enum { LINK_COPIES = 10, LINK_BYTES = 1 << 25 };

int rw_device_link_rate(const struct rw_device *device, double *rate)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {NULL};
    void *from, *d_to;
    *rate = 0.0;
    RW_TRY(rw_transfer_pinned_in(device->ctx, &arena, &from, LINK_BYTES));
    memset(from, 1, LINK_BYTES);
    RW_TRY(rw_device_alloc_in(device->ctx, &arena, &d_to, LINK_BYTES));
    for (int run = 0; run < 2; run++) { /* the first is a warm-up */
        const double start = rw_clock_ms();
        for (int i = 0; i < LINK_COPIES; i++)
            RW_TRY(rw_transfer_write_pinned(device, d_to, from, LINK_BYTES));
        RW_TRY(rw_transfer_wait(device));
        *rate = (double)LINK_COPIES * LINK_BYTES / ((rw_clock_ms() - start) / 1e3);
    }
    return RW_OK;
}

int rw_device_link(struct rw_ctx *ctx, int number, double *rate)
{
    RW_SCOPED(rw_device_close) struct rw_device *device = NULL;
    *rate = 0.0;
    RW_TRY(rw_device_open(ctx, number, &device));
    return rw_device_link_rate(device, rate);
}

/* ---- copies between the host and a GPU, and waits ---- */

int rw_transfer_write_pinned(const struct rw_device *device, void *d_to, const void *from,
                             size_t bytes)
{
    RW_CU(device->ctx, cudaMemcpyAsync(d_to, from, bytes, cudaMemcpyHostToDevice, device->stream));
    return RW_OK;
}

int rw_transfer_write(const struct rw_device *device, void *d_to, const void *from, size_t bytes)
{
    if (bytes == 0)
        return RW_OK;
    RW_TRY(rw_transfer_write_pinned(device, d_to, from, bytes));
    return rw_transfer_wait(device);
}

int rw_transfer_read(const struct rw_device *device, void *to, const void *d_from, size_t bytes)
{
    if (bytes == 0)
        return RW_OK;
    RW_CU(device->ctx, cudaMemcpyAsync(to, d_from, bytes, cudaMemcpyDeviceToHost, device->stream));
    return rw_transfer_wait(device);
}

/* A wait that ends if rw_nccl_watch fails or, without NCCL, a worker has failed. begin_ms: of its
 * first poll; 0: not polled yet. */
struct watch {
    const struct rw_device *device;
    double begin_ms, polled_ms;
};

static int poll_watch(struct watch *watch)
{
    enum { EVERY_MS = 20 };
    struct rw_ctx *ctx = watch->device->ctx;
    if (!watch->device->comm)
        return rw_comm_has_failed(ctx) ? rw_comm_status(ctx, ctx->comm, 1) : RW_OK;
    const double now = rw_clock_ms();
    if (watch->begin_ms == 0.0)
        watch->begin_ms = watch->polled_ms = now;
    if (now - watch->polled_ms < EVERY_MS)
        return RW_OK;
    watch->polled_ms = now;
    return rw_nccl_watch(ctx, watch->device->comm, (now - watch->begin_ms) * 1e-3);
}

int rw_transfer_wait(const struct rw_device *device)
{
    struct watch watch = {.device = device};
    while (device->comm) {
        const cudaError_t error = cudaStreamQuery(device->stream);
        if (error != cudaErrorNotReady) {
            RW_CU(device->ctx, error);
            return RW_OK;
        }
        RW_TRY(poll_watch(&watch));
    }
    RW_CU(device->ctx, cudaStreamSynchronize(device->stream));
    return RW_OK;
}

int rw_transfer_await(const struct rw_device *device, const uint32_t *word, size_t step, size_t n,
                      uint32_t value)
{
    enum { LOOKS = 1 << 16 }; /* polls between two queries of the driver */
    const uint32_t *const end = word + n * step;
    struct watch watch = {.device = device};
    cudaError_t error = cudaErrorNotReady;
    for (;;) {
        for (int look = 0; look < LOOKS; look++) {
            while (word < end && __atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
                word += step;
            if (word == end)
                return RW_OK;
        }
        if (error == cudaSuccess) /* the work was complete before these looks */
            return rw_fail(device->ctx, RW_ERR_INTERNAL, "a kernel did not reply");
        error = cudaStreamQuery(device->stream);
        if (error == cudaErrorNotReady)
            RW_TRY(poll_watch(&watch));
        else
            RW_CU(device->ctx, error);
    }
}

int rw_transfer_pinned_alloc(struct rw_ctx *ctx, void **out, size_t bytes)
{
    const cudaError_t error = cudaHostAlloc(out, bytes ? bytes : 1, cudaHostAllocDefault);
    if (error == cudaSuccess)
        return RW_OK;
    *out = NULL;
    if (error != cudaErrorMemoryAllocation)
        return rw_cu_fail(ctx, error, "cudaHostAlloc");
    (void)cudaGetLastError();
    return rw_fail(ctx, RW_ERR_MEMORY,
                   "out of memory: the system refuses %.1f MB of page-locked host memory",
                   (double)bytes / 1e6);
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
    return tables->device && from ? rw_transfer_write(tables->device, table, from, bytes) : RW_OK;
}

/* ---- Pipes ---- */

/* A stream of a pipe, with its buffers. */
struct slot {
    void *stream;  /* a cudaStream_t */
    void *copied;  /* a cudaEvent_t: the last copy from the host to d_chunk is complete */
    void *pinned;  /* [chunk_bytes]; allocated at its first use */
    void *d_chunk; /* [chunk_bytes] */
};

struct rw_transfer_pipe {
    const struct rw_device *device;
    size_t chunk_bytes;
    uint32_t n_slots, next;
    struct rw_arena arena; /* owns the memory of slots, and `order` */
    void *order;           /* a cudaEvent_t that orders the device's stream and the slots' */
    struct slot slot[RW_TRANSFER_MOST_STREAMS];
};

int rw_transfer_pipe_new(const struct rw_device *device, size_t chunk_bytes, uint32_t n_streams,
                         struct rw_transfer_pipe **out)
{
    struct rw_ctx *ctx = device->ctx;
    RW_SCOPED(rw_transfer_pipe_free) struct rw_transfer_pipe *pipe = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, pipe, 1));
    pipe->device = device;
    pipe->chunk_bytes = chunk_bytes;
    for (; pipe->n_slots < n_streams; pipe->n_slots++) {
        struct slot *slot = &pipe->slot[pipe->n_slots];
        RW_TRY(rw_device_stream(ctx, &pipe->arena, 0, &slot->stream));
        RW_TRY(rw_device_event(ctx, &pipe->arena, 0, &slot->copied));
        RW_TRY(rw_device_alloc_in(ctx, &pipe->arena, &slot->d_chunk, chunk_bytes));
    }
    RW_TRY(rw_device_event(ctx, &pipe->arena, 0, &pipe->order));
    *out = RW_TAKE(pipe);
    return RW_OK;
}

void rw_transfer_pipe_free(struct rw_transfer_pipe *pipe)
{
    if (!pipe)
        return;
    for (uint32_t i = 0; i < pipe->n_slots; i++)
        RW_CU_MAY_FAIL(cudaStreamSynchronize(pipe->slot[i].stream));
    rw_arena_free(&pipe->arena);
    rw_mem_free(pipe);
}

int rw_transfer_pipe_begin(struct rw_transfer_pipe *pipe)
{
    RW_CU(pipe->device->ctx, cudaEventRecord(pipe->order, pipe->device->stream));
    for (uint32_t i = 0; i < pipe->n_slots; i++)
        RW_CU(pipe->device->ctx, cudaStreamWaitEvent(pipe->slot[i].stream, pipe->order, 0));
    return RW_OK;
}

int rw_transfer_pipe_end(struct rw_transfer_pipe *pipe)
{
    /* Waiting for an event means waiting for its last record at the time of the call, so one event
     * serves all streams in turn. */
    for (uint32_t i = 0; i < pipe->n_slots; i++) {
        RW_CU(pipe->device->ctx, cudaEventRecord(pipe->order, pipe->slot[i].stream));
        RW_CU(pipe->device->ctx, cudaStreamWaitEvent(pipe->device->stream, pipe->order, 0));
    }
    return RW_OK;
}

int rw_transfer_pipe_room(struct rw_transfer_pipe *pipe, void **chunk)
{
    struct slot *slot = &pipe->slot[pipe->next];
    *chunk = NULL;
    if (!slot->pinned)
        RW_TRY(rw_transfer_pinned_in(pipe->device->ctx, &pipe->arena, &slot->pinned,
                                     pipe->chunk_bytes));
    /* returns at once if it was never recorded */
    RW_CU(pipe->device->ctx, cudaEventSynchronize(slot->copied));
    *chunk = slot->pinned;
    return RW_OK;
}

int rw_transfer_pipe_send(struct rw_transfer_pipe *pipe, const void *from, size_t bytes,
                          struct rw_transfer_chunk *out)
{
    struct slot *slot = &pipe->slot[pipe->next];
    *out = (struct rw_transfer_chunk){slot->d_chunk, bytes, pipe->next, slot->stream};
    if (bytes > pipe->chunk_bytes)
        return rw_fail(pipe->device->ctx, RW_ERR_ARGUMENT,
                       "a chunk of %zu bytes; expected at most %zu", bytes, pipe->chunk_bytes);
    if (bytes > 0)
        RW_CU(pipe->device->ctx,
              cudaMemcpyAsync(slot->d_chunk, from, bytes, cudaMemcpyHostToDevice, slot->stream));
    RW_CU(pipe->device->ctx, cudaEventRecord(slot->copied, slot->stream));
    pipe->next = (pipe->next + 1) % pipe->n_slots;
    return RW_OK;
}

enum { PIECE = 1 << 20 }; /* bytes that one thread copies at a time */

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
