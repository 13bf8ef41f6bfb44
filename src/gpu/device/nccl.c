/* Sums among workers with one GPU each, by NCCL (device.h). The library is loaded when it is first
 * needed, so the program also runs without it. */
#include "gpu/device/device.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "gpu/device/cu_check.h"

enum { BEGIN_S = 60, WAIT_S = 25 }; /* upper limits, in seconds, for the start and for a wait */

/* ---- the library ---- */

struct nccl_id {
    char internal[128];
};
enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7 };
enum { NCCL_UINT32 = 3, NCCL_UINT64 = 5 };
enum { NCCL_SUM = 0, NCCL_MAX = 2, NCCL_MIN = 3 };

/* Functions of the library. Handles are pointers; results, types and operations are ints. */
static struct {
    int (*get_id)(struct nccl_id *out);
    int (*init)(void **out, int n_workers, struct nccl_id id, int worker);
    int (*destroy)(void *comm);
    int (*abort)(void *comm);
    int (*async_error)(void *comm, int *out);
    const char *(*error_text)(int result);
    int (*all_reduce)(const void *send, void *recv, size_t n, int type, int op, void *comm,
                      cudaStream_t stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t n_each, int type, int op, void *comm,
                          cudaStream_t stream);
    char why_not[512]; /* empty: the library is available */
} nccl;

static const struct {
    const char *name;
    void *to; /* of a function pointer */
} symbols[] = {
    {"ncclGetUniqueId", &nccl.get_id},
    {"ncclCommInitRank", &nccl.init},
    {"ncclCommDestroy", &nccl.destroy},
    {"ncclCommAbort", &nccl.abort},
    {"ncclCommGetAsyncError", &nccl.async_error},
    {"ncclGetErrorString", &nccl.error_text},
    {"ncclAllReduce", &nccl.all_reduce},
    {"ncclReduceScatter", &nccl.reduce_scatter},
};

/* Opens the library and finds its functions, or writes to nccl.why_not. */
static void load(void)
{
    const char *named = getenv("RANKWOOD_NCCL");
    const int is_named = named && named[0];
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    void *library = dlopen(is_named ? named : "libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library && !is_named)
        library = dlopen("/usr/local/cuda/lib64/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(nccl.why_not, sizeof(nccl.why_not), "%s", why ? why : "libnccl.so.2 is not there");
        return;
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);
        if (!symbol)
            snprintf(nccl.why_not, sizeof(nccl.why_not), "the library lacks %s", symbols[i].name);
        memcpy(symbols[i].to, &symbol, sizeof(symbol));
    }
}

static int has_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return nccl.why_not[0] == 0;
}

int rw_nccl_find(char *text, size_t size)
{
    Dl_info info;
    void *symbol;
    const int found = has_library();
    memcpy(&symbol, symbols[0].to, sizeof(symbol)); /* NULL without the library */
    const int known = symbol && dladdr(symbol, &info) && info.dli_fname;
    snprintf(text, size, "%s", !found ? nccl.why_not : known ? info.dli_fname : "libnccl.so.2");
    return found;
}

/* ---- the functions of the communicator ----
 *
 * They are those of struct rw_comm_functions, and return 0, or 1 after a failure. `user` is NCCL's
 * communicator; NULL: rw_nccl_watch has aborted it. */

static const int types[] = {[RW_COMM_U32] = NCCL_UINT32, [RW_COMM_U64] = NCCL_UINT64};
static const int ops[] = {
    [RW_COMM_SUM] = NCCL_SUM, [RW_COMM_MIN] = NCCL_MIN, [RW_COMM_MAX] = NCCL_MAX};

static int nccl_all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type,
                           enum rw_comm_op op, void *stream)
{
    return !user || nccl.all_reduce(buffer, buffer, n, types[type], ops[op], user, stream);
}

static int nccl_reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                               enum rw_comm_type type, void *stream)
{
    return !user || nccl.reduce_scatter(send, recv, n_each, types[type], NCCL_SUM, user, stream);
}

static void nccl_close(void *user, int exit_status)
{
    if (user)
        (void)(exit_status ? nccl.abort : nccl.destroy)(user);
}

static const struct rw_comm_functions nccl_functions = {
    .name = "nccl",
    .device = 1,
    .all_reduce = nccl_all_reduce,
    .reduce_scatter = nccl_reduce_scatter,
};

int rw_nccl_watch(struct rw_ctx *ctx, struct rw_comm *comm, double waited_s)
{
    int of_work = NCCL_SUCCESS;
    if (!comm->user)
        return rw_comm_status(ctx, comm, 1);
    const int of_call = nccl.async_error(comm->user, &of_work);
    const int result = of_call != NCCL_SUCCESS ? of_call : of_work;
    const int is_bad = result != NCCL_SUCCESS && result != NCCL_IN_PROGRESS;
    if (!is_bad && waited_s < WAIT_S && !rw_comm_has_failed(ctx))
        return RW_OK;
    comm->has_failed = 1;
    (void)nccl.abort(comm->user);
    comm->user = NULL;
    if (is_bad)
        return rw_fail(ctx, RW_ERR_MACHINE, "NCCL: %s", nccl.error_text(result));
    if (waited_s >= WAIT_S)
        return rw_fail(ctx, RW_ERR_MACHINE, "NCCL does not answer for %d s", WAIT_S);
    return rw_comm_status(ctx, comm, 1);
}

/* ---- the beginning ---- */

/* The start of NCCL, in a separate thread, since it may never end. The thread sets `state` to DONE,
 * and the caller to LEFT when it no longer waits. The second of the two owns the struct. */
struct beginning {
    _Atomic enum { RUNNING, DONE, LEFT } state;
    int device, worker, n_workers;
    struct nccl_id id;
    void *comm;
    int result; /* NCCL's */
    cudaError_t error;
};

enum { WARM_WORDS = 1024 };

/* Connects to the other workers. Memory is allocated before workers wait for each other, since
 * allocating could wait for another worker's GPU. The first call of each kind makes connections, so
 * it is made here, with few words. */
static void connect_workers(struct beginning *b)
{
    const size_t n = (size_t)b->n_workers * WARM_WORDS, bytes = (n + WARM_WORDS) * sizeof(uint64_t);
    uint64_t *d = NULL; /* [n] to send, [WARM_WORDS] received */
    cudaStream_t stream = NULL;
    b->error = cudaSetDevice(b->device);
    if (b->error == cudaSuccess)
        b->error = cudaMalloc((void **)&d, bytes);
    if (b->error == cudaSuccess)
        b->error = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    if (b->error == cudaSuccess)
        b->error = cudaMemsetAsync(d, 0, bytes, stream);
    if (b->error == cudaSuccess)
        b->result = nccl.init(&b->comm, b->n_workers, b->id, b->worker);
    if (b->error == cudaSuccess && b->result == NCCL_SUCCESS) {
        b->result =
            nccl.reduce_scatter(d, d + n, WARM_WORDS, NCCL_UINT64, NCCL_SUM, b->comm, stream);
        if (b->result == NCCL_SUCCESS)
            b->result = nccl.all_reduce(d, d, 2, NCCL_UINT64, NCCL_MAX, b->comm, stream);
        b->error = cudaStreamSynchronize(stream);
    }
    if (stream)
        (void)cudaStreamDestroy(stream);
    if (d)
        (void)cudaFree(d);
}

static void *begin(void *user)
{
    struct beginning *b = user;
    connect_workers(b);
    if (atomic_exchange(&b->state, DONE) == LEFT)
        rw_mem_free(b);
    return NULL;
}

/* Makes NCCL's communicator in a separate thread. *out may be set even after a failure. Waits for
 * the thread at most BEGIN_S seconds, and while no worker has failed. */
static int make(struct rw_ctx *ctx, const struct rw_device *device, const struct nccl_id *id,
                void **out)
{
    struct beginning *b;
    pthread_t thread;
    RW_TRY(RW_NEW(ctx, b, 1));
    *b = (struct beginning){RUNNING, device->number, rw_worker(ctx), rw_n_workers(ctx), .id = *id};
    const int why = pthread_create(&thread, NULL, begin, b);
    if (why) {
        rw_mem_free(b);
        return rw_fail_io(ctx, why, "a thread for NCCL: no memory for it, or too many");
    }
    pthread_detach(thread);
    const double until = rw_clock_ms() + 1e3 * BEGIN_S;
    while (atomic_load(&b->state) != DONE && rw_clock_ms() < until && !rw_comm_has_failed(ctx))
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    if (atomic_exchange(&b->state, LEFT) != DONE) /* the thread frees `b` when it ends */
        return rw_fail(ctx, RW_ERR_MACHINE, "NCCL did not begin: a worker failed, or it took %d s",
                       BEGIN_S);
    int status = RW_OK;
    if (b->error != cudaSuccess)
        status = rw_cu_fail(ctx, b->error, "NCCL's beginning");
    else if (b->result != NCCL_SUCCESS)
        status = rw_fail(ctx, RW_ERR_MACHINE,
                         "NCCL does not begin: %s\nhint: NCCL_DEBUG=WARN has it say more",
                         nccl.error_text(b->result));
    *out = b->comm; /* even after a failure: the caller gives it up, once */
    rw_mem_free(b);
    return status;
}

/* ---- the workers' libraries and GPUs ---- */

/* A message between workers about their library and GPU. */
struct card {
    int32_t has_nccl, unused;
    char gpu[16]; /* its UUID */
    struct nccl_id id;
};

/* Fills this worker's card. Worker 0 also writes the id with which all workers join NCCL's
 * communicator. */
static int fill_card(struct rw_ctx *ctx, const struct rw_device *device, struct card *card)
{
    struct cudaDeviceProp properties;
    card->has_nccl = has_library();
    RW_CU(ctx, cudaGetDeviceProperties(&properties, device->number));
    memcpy(card->gpu, properties.uuid.bytes, sizeof(card->gpu));
    if (rw_worker(ctx) > 0 || !card->has_nccl)
        return RW_OK;
    const int result = nccl.get_id(&card->id);
    if (result != NCCL_SUCCESS)
        return rw_fail(ctx, RW_ERR_MACHINE, "NCCL gives no id: %s", nccl.error_text(result));
    return RW_OK;
}

/* Checks all cards; has the same result on all workers. */
static int check_cards(struct rw_ctx *ctx, const struct card *card)
{
    const int n = rw_n_workers(ctx);
    for (int r = 0; r < n; r++) {
        if (!card[r].has_nccl)
            return rw_fail(ctx, RW_ERR_UNSUPPORTED, "worker %d cannot open NCCL%s%s", r,
                           nccl.why_not[0] ? ": " : "", nccl.why_not);
        for (int other = 0; other < r; other++) {
            if (memcmp(card[r].gpu, card[other].gpu, sizeof(card[r].gpu)) == 0)
                return rw_fail(ctx, RW_ERR_UNSUPPORTED, "workers %d and %d have the same GPU",
                               other, r);
        }
    }
    return RW_OK;
}

int rw_nccl_open(struct rw_ctx *ctx, const struct rw_device *device, struct rw_comm **out)
{
    struct card mine = {0, 0, {0}, {{0}}};
    RW_FREED struct card *card = NULL;
    void *worker = NULL;
    *out = NULL;
    int status = RW_NEW(ctx, card, (size_t)rw_n_workers(ctx));
    status = status < 0 ? status : fill_card(ctx, device, &mine);
    RW_TRY(rw_comm_agree(ctx, status));
    RW_TRY(rw_comm_all_gather(ctx, &mine, card, sizeof(mine)));
    RW_TRY(check_cards(ctx, card));
    status = make(ctx, device, &card[0].id, &worker);
    status = rw_comm_give_up(ctx, status); /* other workers may wait for this one in NCCL */
    if (status >= 0)
        status = rw_comm_agree(
            ctx, rw_comm_new(ctx, &nccl_functions, worker, rw_worker(ctx), rw_n_workers(ctx), out));
    if (status >= 0) {
        (*out)->close = nccl_close;
        return RW_OK;
    }
    nccl_close(worker, 1);
    rw_comm_free(*out); /* it has no `close` yet */
    *out = NULL;
    return status;
}

int rw_device_max(const struct rw_device *device, uint64_t *d_numbers, uint32_t n)
{
    struct rw_comm *comm = device->comm;
    uint64_t numbers[4];
    const size_t bytes = n * sizeof(*numbers);
    if (rw_n_workers(device->ctx) == 1)
        return RW_OK;
    if (comm)
        return rw_comm_status(
            device->ctx, comm,
            nccl_all_reduce(comm->user, d_numbers, n, RW_COMM_U64, RW_COMM_MAX, device->stream));
    RW_TRY(rw_transfer_read(device, numbers, d_numbers, bytes));
    RW_TRY(rw_comm_max(device->ctx, numbers, n));
    return rw_transfer_write(device, d_numbers, numbers, bytes);
}
