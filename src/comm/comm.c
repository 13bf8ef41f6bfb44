/* The communicator of a context (comm/comm.h): making one, the calls that communicate, failures,
 * the library for workers connected through MPI, and workers that are threads of one process. */
#include "comm/comm.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

static const size_t type_bytes[] = {[RW_COMM_U32] = 4, [RW_COMM_U64] = 8};

/* Returns this worker's number on its machine, as the launcher set it in the environment, or -1. */
static int launched_as(void)
{
    static const char *const variables[] = {"LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK",
                                            "MPI_LOCALRANKID", "SLURM_LOCALID"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *text = getenv(variables[i]);
        if (text && text[0] >= '0' && text[0] <= '9')
            return atoi(text);
    }
    return -1;
}

int rw_comm_new(struct rw_ctx *ctx, const struct rw_comm_functions *functions, void *user,
                int worker, int n_workers, struct rw_comm **out)
{
    *out = NULL;
    if (n_workers < 1 || n_workers > RW_MAX_WORKERS || worker < 0 || worker >= n_workers)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "invalid worker %d of %d: expected 1 to %d workers, numbered from 0", worker,
                       n_workers, RW_MAX_WORKERS);
    if (!functions->all_reduce || !functions->reduce_scatter ||
        (!functions->device && (!functions->all_gather || !functions->all_to_all)))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a function of the communicator is missing");
    RW_TRY(RW_NEW(ctx, *out, 1));
    (*out)->functions = *functions;
    (*out)->user = user;
    (*out)->worker = worker;
    (*out)->n_workers = n_workers;
    (*out)->local_worker = launched_as() >= 0 ? launched_as() : worker;
    return RW_OK;
}

/* Returns the argument for rw_comm.close: 0 if there is no failure, or all workers know it.
 * Otherwise the exit status of the program, 1, or 3 if a retry may help. */
static int exit_status(const struct rw_comm *comm)
{
    if (!comm->has_failed || comm->all_know)
        return 0;
    return comm->failure == RW_ERR_MEMORY || comm->failure == RW_ERR_MACHINE ? 3 : 1;
}

void rw_comm_free(struct rw_comm *comm)
{
    if (!comm)
        return;
    if (comm->close)
        comm->close(comm->user, exit_status(comm));
    rw_mem_free(comm);
}

int rw_ctx_set_comm(struct rw_ctx *ctx, struct rw_comm *comm)
{
    if (comm && comm->functions.device)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the communicator of a context must work on host memory, not on a device");
    ctx->comm = comm;
    return RW_OK;
}

/* ---- starting and ending a call ---- */

/* Returns 1 if this is the only worker. */
static int is_alone(const struct rw_ctx *ctx)
{
    return rw_n_workers(ctx) == 1;
}

/* Marks the communicator as failed, so no further calls are made. Returns `status`. */
static int fail(struct rw_comm *comm, int status)
{
    comm->has_failed = 1;
    comm->failure = status;
    return status;
}

int rw_comm_status(struct rw_ctx *ctx, struct rw_comm *comm, int result)
{
    if (result == 0)
        return RW_OK;
    return fail(comm, rw_fail(ctx, RW_ERR_MACHINE,
                              "another worker failed or cannot be reached (%d workers, %s)",
                              comm->n_workers, comm->functions.name));
}

static int status_of(struct rw_ctx *ctx, int result)
{
    return rw_comm_status(ctx, ctx->comm, result);
}

/* Starts a call that sends `bytes` bytes, and adds them to bytes_sent. Fails if the communicator
 * has failed. The context's message is then unchanged if it already gives the cause. */
static int begin_call(struct rw_ctx *ctx, size_t bytes)
{
    struct rw_comm *comm = ctx->comm;
    comm->bytes_sent += comm->has_failed ? 0 : bytes;
    if (!comm->has_failed)
        return RW_OK;
    return comm->knows_cause ? comm->failure : status_of(ctx, 1);
}

/* If this is the only worker, copies its bytes from `send` to `recv`. Returns 1 if no communication
 * is needed: this is the only worker, or there are no bytes. */
static int copy_if_alone(const struct rw_ctx *ctx, const void *send, void *recv, size_t bytes)
{
    if (is_alone(ctx) && bytes > 0)
        memcpy(recv, send, bytes);
    return is_alone(ctx) || bytes == 0;
}

int rw_comm_all_reduce(struct rw_ctx *ctx, void *buffer, size_t n, enum rw_comm_type type,
                       enum rw_comm_op op)
{
    if (is_alone(ctx) || n == 0)
        return RW_OK;
    const struct rw_comm *comm = ctx->comm;
    const size_t n_workers = (size_t)comm->n_workers;
    RW_TRY(begin_call(ctx, 2 * n * type_bytes[type] * (n_workers - 1) / n_workers));
    return status_of(ctx, comm->functions.all_reduce(comm->user, buffer, n, type, op, NULL));
}

int rw_comm_max_doubles(struct rw_ctx *ctx, double *numbers, size_t n)
{
    _Static_assert(sizeof(double) == sizeof(uint64_t), "a double has as many bits as a uint64_t");
    return rw_comm_max(ctx, (uint64_t *)(void *)numbers, n);
}

int rw_comm_reduce_scatter(struct rw_ctx *ctx, const void *send, void *recv, size_t n_each,
                           enum rw_comm_type type)
{
    const struct rw_comm *comm = ctx->comm;
    const size_t bytes = n_each * type_bytes[type];
    if (copy_if_alone(ctx, send, recv, bytes))
        return RW_OK;
    RW_TRY(begin_call(ctx, bytes * (size_t)(comm->n_workers - 1)));
    return status_of(ctx,
                     comm->functions.reduce_scatter(comm->user, send, recv, n_each, type, NULL));
}

int rw_comm_all_gather(struct rw_ctx *ctx, const void *send, void *recv, size_t bytes)
{
    const struct rw_comm *comm = ctx->comm;
    if (copy_if_alone(ctx, send, recv, bytes))
        return RW_OK;
    RW_TRY(begin_call(ctx, bytes * (size_t)(comm->n_workers - 1)));
    return status_of(ctx, comm->functions.all_gather(comm->user, send, recv, bytes, NULL));
}

int rw_comm_before(struct rw_ctx *ctx, uint64_t own, uint64_t *before, uint64_t *all)
{
    RW_FREED uint64_t *of = NULL;
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, of, (size_t)rw_n_workers(ctx))));
    RW_TRY(rw_comm_all_gather(ctx, &own, of, sizeof(own)));
    int fits = of[rw_worker(ctx)] == own;
    *before = *all = 0;
    for (int r = 0; r < rw_n_workers(ctx); r++) {
        *before += r < rw_worker(ctx) ? of[r] : 0;
        fits &= of[r] <= PTRDIFF_MAX - *all;
        *all += of[r];
    }
    return fits ? RW_OK : rw_comm_nonsense(ctx, "numbers");
}

int rw_comm_exchange(struct rw_ctx *ctx, const void *send, const size_t *send_begin, void **out,
                     size_t **recv_begin)
{
    const size_t n = (size_t)rw_n_workers(ctx), worker = (size_t)rw_worker(ctx);
    RW_FREED size_t *n_send = NULL, *begin = NULL;
    RW_FREED void *got = NULL;
    *out = NULL;
    *recv_begin = NULL;
    int status = RW_NEW(ctx, begin, n + 1);
    RW_TRY(rw_comm_agree(ctx, status < 0 ? status : RW_NEW(ctx, n_send, n * (n + 2))));
    size_t *n_recv = n_send + n, *sizes = n_recv + n; /* [n][n] by sender and receiver */
    for (size_t r = 0; r < n; r++)
        n_send[r] = send_begin[r + 1] - send_begin[r];
    RW_TRY(rw_comm_all_gather(ctx, n_send, sizes, n * sizeof(*sizes)));
    int fits = memcmp(sizes + worker * n, n_send, n * sizeof(*n_send)) == 0;
    for (size_t r = 0; r < n; r++) {
        n_recv[r] = sizes[r * n + worker];
        fits &= n_recv[r] <= PTRDIFF_MAX - begin[r];
        begin[r + 1] = begin[r] + n_recv[r];
    }
    status = fits ? rw_mem_new_raw(ctx, &got, begin[n], 1) : rw_comm_nonsense(ctx, "sizes");
    RW_TRY(rw_comm_agree(ctx, status));
    if (!copy_if_alone(ctx, send, got, is_alone(ctx) ? begin[n] : 1)) {
        RW_TRY(begin_call(ctx, send_begin[n] - send_begin[0] - n_send[worker]));
        RW_TRY(status_of(
            ctx, ctx->comm->functions.all_to_all(ctx->comm->user, send, n_send, got, n_recv)));
    }
    *out = RW_TAKE(got);
    *recv_begin = RW_TAKE(begin);
    return RW_OK;
}

int rw_comm_all_gatherv(struct rw_ctx *ctx, const void *send, size_t bytes, void **out,
                        size_t **begin)
{
    const size_t n = (size_t)rw_n_workers(ctx);
    RW_FREED size_t *send_begin = NULL;
    RW_FREED char *copies = NULL; /* one for each worker */
    *out = NULL;
    *begin = NULL;
    int status = RW_NEW_RAW(ctx, send_begin, n + 1);
    status = status < 0 ? status : rw_mem_new_raw(ctx, (void **)&copies, n, bytes);
    RW_TRY(rw_comm_agree(ctx, status));
    for (size_t r = 0; r <= n; r++)
        send_begin[r] = r * bytes;
    for (size_t r = 0; bytes && r < n; r++)
        memcpy(copies + send_begin[r], send, bytes);
    return rw_comm_exchange(ctx, copies, send_begin, out, begin);
}

/* ---- failures ---- */

int rw_comm_nonsense(struct rw_ctx *ctx, const char *what)
{
    return rw_fail(ctx, RW_ERR_MACHINE,
                   "one of the %d workers sent invalid %s\nhint: all workers must run the same "
                   "program, on machines of the same kind",
                   rw_n_workers(ctx), what);
}

/* The status and message that a worker reports to the others. */
struct outcome {
    int32_t status;
    char message[sizeof(((struct rw_ctx *)0)->error)];
};

int rw_comm_agree(struct rw_ctx *ctx, int status)
{
    if (is_alone(ctx))
        return status;
    struct rw_comm *comm = ctx->comm;
    if (comm->has_failed)
        return status < 0 ? status : begin_call(ctx, 0);
    uint32_t failed = status < 0 ? (uint32_t)comm->worker : UINT32_MAX;
    RW_TRY(rw_comm_all_reduce(ctx, &failed, 1, RW_COMM_U32, RW_COMM_MIN));
    if (failed == UINT32_MAX)
        return status;
    /* all workers but number `failed` send zeros, so the sum over all is the outcome of this one */
    struct outcome sent = {0};
    if (failed == (uint32_t)comm->worker) {
        sent.status = status;
        snprintf(sent.message, sizeof(sent.message), "worker %d: %.4000s", comm->worker,
                 ctx->error);
    }
    const int heard = rw_comm_all_reduce(ctx, &sent, sizeof(sent) / 4, RW_COMM_U32, RW_COMM_SUM);
    if (heard < 0)
        return heard;
    comm->knows_cause = comm->all_know = 1;
    sent.message[sizeof(sent.message) - 1] = 0;
    const int is_failure = sent.status < 0 && sent.message[0];
    return fail(comm, is_failure ? rw_fail(ctx, sent.status, "%s", sent.message)
                                 : rw_comm_nonsense(ctx, "a failure"));
}

int rw_comm_give_up(struct rw_ctx *ctx, int status)
{
    struct rw_comm *comm = ctx->comm;
    if (status >= 0 || is_alone(ctx) || comm->has_failed)
        return status;
    if (rw_comm_has_failed(ctx)) { /* another worker failed first, and this failure follows from
                                      it */
        fail(comm, status);
        return status;
    }
    comm->knows_cause = 1;
    char message[sizeof(ctx->error)];
    snprintf(message, sizeof(message), "worker %d: %.4000s", comm->worker, ctx->error);
    fail(comm, rw_fail(ctx, status, "%s", message));
    if (comm->functions.abort)
        comm->functions.abort(comm->user);
    return status;
}

int rw_comm_has_failed(const struct rw_ctx *ctx)
{
    const struct rw_comm *comm = ctx->comm;
    if (is_alone(ctx))
        return 0;
    return comm->has_failed ||
           (comm->functions.has_failed && comm->functions.has_failed(comm->user));
}

/* ---- functions of rankwood.h ---- */

int rw_workers_count(const struct rw_ctx *ctx)
{
    return rw_n_workers(ctx);
}

int rw_workers_number(const struct rw_ctx *ctx)
{
    return rw_worker(ctx);
}

int rw_workers_sum(struct rw_ctx *ctx, uint64_t *numbers, size_t n)
{
    return rw_comm_sum(ctx, numbers, n);
}

int rw_workers_agree(struct rw_ctx *ctx, int status)
{
    return rw_comm_agree(ctx, status);
}

void rw_workers_end(struct rw_ctx *ctx)
{
    rw_comm_give_up(ctx, RW_ERR_INTERRUPTED);
}

int rw_workers_should_print(const struct rw_ctx *ctx)
{
    const struct rw_comm *comm = ctx->comm;
    if (!comm || comm->n_workers == 1 || !comm->has_failed)
        return rw_worker(ctx) == 0;
    return comm->all_know ? comm->worker == 0 : comm->knows_cause;
}

/* ---- the library that connects workers through MPI ----
 *
 * It is opened at run time, so Rankwood itself is not linked to an MPI. */
static const char mpi_file[] = "rankwood_comm_mpi.so";
#define MPI_HINT                                                                             \
    "hint: install an MPI with headers (libopenmpi-dev or libmpich-dev) and build Rankwood " \
    "with -Dmpi=enabled, or set RANKWOOD_COMM_MPI to the path of the library"

enum { PATH_SIZE = 4096 };

/* Finds the library near `file`, and truncates this path to its folder. Searches this folder and,
 * in case it is a library or program folder of an installation or a build, folders next to it. */
static int find_near(char *file, char *path, size_t size)
{
    static const char *const beside[] = {"", "/rankwood", "/..", "/../" RW_LIBRARY_DIR "/rankwood"};
    char *slash = strrchr(file, '/');
    for (size_t i = 0; slash && i < sizeof(beside) / sizeof(beside[0]); i++) {
        *slash = 0;
        const int n = snprintf(path, size, "%s%s/%s", file, beside[i], mpi_file);
        if ((size_t)n < size && access(path, R_OK) == 0)
            return 1;
    }
    return 0;
}

int rw_comm_find(char *path, size_t size)
{
    char file[PATH_SIZE];
    Dl_info own; /* the file that contains this function: the shared library or the program */
    const char *named = getenv("RANKWOOD_COMM_MPI");
    if (named && named[0])
        return (size_t)snprintf(path, size, "%s", named) < size;
    snprintf(file, sizeof(file), "%s",
             dladdr(mpi_file, &own) && own.dli_fname ? own.dli_fname : "");
    if (find_near(file, path, size))
        return 1;
    const ssize_t n = readlink("/proc/self/exe", file, sizeof(file) - 1);
    file[n > 0 ? n : 0] = 0;
    if (find_near(file, path, size))
        return 1;
    return (size_t)snprintf(path, size, "%s/%s", RW_INSTALLED_MODULES, mpi_file) < size &&
           access(path, R_OK) == 0;
}

static int open_library(struct rw_ctx *ctx, rw_comm_module_fn **out)
{
    char path[PATH_SIZE];
    if (!rw_comm_find(path, sizeof(path)))
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "cannot connect workers through MPI: '%s' was not found\n" MPI_HINT,
                       mpi_file);
    /* MPI opens components that look up its names among all global symbols */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        const char *why = dlerror();
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "cannot open '%s': %s\n" MPI_HINT, path,
                       why ? why : "no reason given");
    }
    void *symbol = dlsym(library, RW_TEXT(RW_COMM_MODULE_OPEN));
    if (!symbol) {
        dlclose(library);
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "'%s' belongs to a different version of Rankwood\n" MPI_HINT, path);
    }
    memcpy(out, &symbol, sizeof(symbol));
    return RW_OK; /* MPI cannot be initialised twice, so the library stays open */
}

int rw_comm_launched(void)
{
    /* In this order, the variables of Open MPI, of MPICH and Intel MPI, of MVAPICH, and of srun.
     * SLURM_NTASKS would not do: it is also set in a batch script, which is one process. */
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                            "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *text = getenv(variables[i]);
        const long n = text ? strtol(text, NULL, 10) : 0;
        if (n > 1 && n <= RW_MAX_WORKERS)
            return (int)n;
    }
    return 1;
}

/* Fails if the launcher has started several processes that the library does not connect, as srun
 * does with the wrong --mpi, and the mpirun of a different MPI. Each of them would train alone, and
 * all would write the same model file. */
static int check_meeting(struct rw_ctx *ctx, const struct rw_comm_module *met)
{
    if (met->n_workers > 1 || rw_comm_launched() <= 1)
        return RW_OK;
    return rw_fail(
        ctx, RW_ERR_UNSUPPORTED,
        "%d processes were started, but %s connects only one\nhint: use the mpirun of the MPI that "
        "rankwood_comm_mpi.so was built with; srun needs --mpi=pmix or --mpi=pmi2",
        rw_comm_launched(), met->functions.name);
}

int rw_comm_open(struct rw_ctx *ctx, const char *name, struct rw_comm **out)
{
    rw_comm_module_fn *open = NULL;
    struct rw_comm_module met;
    char why[512];
    *out = NULL;
    if (!name && rw_comm_launched() == 1)
        return RW_OK;
    if (name && strcmp(name, "mpi") != 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown communicator '%s'; expected mpi", name);
    RW_TRY(open_library(ctx, &open));
    if (open(&met, why, sizeof(why)) != 0)
        return rw_fail(ctx, RW_ERR_MACHINE, "%s", why);
    const int status = check_meeting(ctx, &met);
    if (status < 0) {
        met.close(met.user, 0);
        return status;
    }
    /* on failure the communicator stays open: the launcher detects that the process exits, and ends
     * the others */
    RW_TRY(rw_comm_new(ctx, &met.functions, met.user, met.worker, met.n_workers, out));
    (*out)->close = met.close;
    (*out)->local_worker = met.local_worker;
    return RW_OK;
}

/* ---- workers that are threads of one process ----
 *
 * These workers read each other's buffers; all_reduce also writes to them. A call has three steps
 * with barriers between them: each worker publishes its buffer, each worker computes its part, and
 * all parts are complete. */

/* Number of checks before a waiting worker sleeps, some 50 to 150 microseconds. Between the calls
 * of a tree the other workers usually arrive sooner. */
enum { SPINS = 3000 };

/* State shared by all workers. */
struct group {
    int n_workers;
    int spins;             /* number of checks before a waiting worker sleeps */
    struct member *member; /* [n_workers] */
    /* the barrier; all_came is signalled when all workers have arrived, and at is_broken */
    pthread_mutex_t mutex;
    pthread_cond_t all_came;
    int n_waiting;        /* number of workers that wait at the barrier */
    atomic_int is_broken; /* 1: a worker has failed or ended, so others must not wait for it */
    atomic_uint turn;     /* number of times that all workers have met at the barrier */
};

struct member {
    struct group *group;
    struct rw_ctx *ctx; /* worker 0 uses the caller's */
    struct rw_comm *comm;
    pthread_t thread;
    int worker, is_started; /* is_started: 1: `thread` exists */
    int status;             /* returned by the body */
    atomic_int has_ended;
    /* arguments of the current call, for the other workers to read and write */
    const void *send;
    void *recv;
    const size_t *n_send;
    /* the function that the group runs */
    rw_worker_fn body;
    void *user;
};

/* Waits at the barrier. Returns 0 once all workers have arrived, and 1 if one of them will not. */
static int wait_at_barrier(struct group *group)
{
    pthread_mutex_lock(&group->mutex);
    const unsigned turn = group->turn;
    if (!group->is_broken && ++group->n_waiting == group->n_workers) {
        group->n_waiting = 0;
        group->turn++;
        pthread_cond_broadcast(&group->all_came);
    }
    pthread_mutex_unlock(&group->mutex);
    for (int i = 0; i < group->spins && turn == group->turn && !group->is_broken; i++)
        rw_pause();
    if (turn != group->turn)
        return 0;
    pthread_mutex_lock(&group->mutex);
    while (turn == group->turn && !group->is_broken)
        pthread_cond_wait(&group->all_came, &group->mutex);
    const int is_met = turn != group->turn;
    pthread_mutex_unlock(&group->mutex);
    return !is_met;
}

static void thread_abort(void *user)
{
    struct group *group = ((struct member *)user)->group;
    pthread_mutex_lock(&group->mutex);
    group->is_broken = 1;
    pthread_cond_broadcast(&group->all_came);
    pthread_mutex_unlock(&group->mutex);
}

static int thread_has_failed(void *user)
{
    return ((struct member *)user)->group->is_broken;
}

#define COMBINE(type)                                                       \
    do {                                                                    \
        type *to = out;                                                     \
        const type *from = own;                                             \
        for (size_t i = 0; i < n; i++) {                                    \
            if (op == RW_COMM_SUM)                                          \
                to[i] += from[i];                                           \
            else if (op == RW_COMM_MIN ? from[i] < to[i] : from[i] > to[i]) \
                to[i] = from[i];                                            \
        }                                                                   \
    } while (0)

/* Combines each element of `own` with that of `out`, and stores it there. own, out: [n]. */
static void combine(void *out, const void *own, size_t n, enum rw_comm_type type,
                    enum rw_comm_op op)
{
    if (type == RW_COMM_U64)
        COMBINE(uint64_t);
    else
        COMBINE(uint32_t);
}

/* Combines the elements [first, first + n) of all workers' buffers. out: [n], the results. */
static void reduce(const struct group *group, size_t first, size_t n, enum rw_comm_type type,
                   enum rw_comm_op op, void *out)
{
    const size_t bytes = type_bytes[type];
    for (int r = 0; r < group->n_workers; r++) {
        const char *own = (const char *)group->member[r].send + first * bytes;
        if (r == 0)
            memcpy(out, own, n * bytes);
        else
            combine(out, own, n, type, op);
    }
}

/* Between the barriers, each worker combines its part of the elements, and writes the result into
 * all buffers. No other worker reads these elements. */
static int thread_all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type,
                             enum rw_comm_op op, void *stream)
{
    enum { BLOCK = 512 };
    struct member *me = user;
    struct group *group = me->group;
    const size_t bytes = type_bytes[type], n_workers = (size_t)group->n_workers;
    const size_t part = (n + n_workers - 1) / n_workers;
    const size_t first = part * (size_t)me->worker < n ? part * (size_t)me->worker : n;
    const size_t end = first + part < n ? first + part : n;
    uint64_t sums[BLOCK];
    (void)stream;
    me->send = me->recv = buffer;
    if (wait_at_barrier(group))
        return 1;
    for (size_t at = first; at < end; at += BLOCK) {
        const size_t some = end - at < BLOCK ? end - at : BLOCK;
        reduce(group, at, some, type, op, sums);
        for (int r = 0; r < group->n_workers; r++)
            memcpy((char *)group->member[r].recv + at * bytes, sums, some * bytes);
    }
    return wait_at_barrier(group);
}

static int thread_reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                                 enum rw_comm_type type, void *stream)
{
    struct member *me = user;
    (void)stream;
    me->send = send;
    if (wait_at_barrier(me->group))
        return 1;
    reduce(me->group, n_each * (size_t)me->worker, n_each, type, RW_COMM_SUM, recv);
    return wait_at_barrier(me->group);
}

static int thread_all_gather(void *user, const void *send, void *recv, size_t bytes, void *stream)
{
    struct member *me = user;
    (void)stream;
    me->send = send;
    if (wait_at_barrier(me->group))
        return 1;
    for (int r = 0; r < me->group->n_workers; r++)
        memcpy((char *)recv + (size_t)r * bytes, me->group->member[r].send, bytes);
    return wait_at_barrier(me->group);
}

static int thread_all_to_all(void *user, const void *send, const size_t *n_send, void *recv,
                             const size_t *n_recv)
{
    struct member *me = user;
    me->send = send;
    me->n_send = n_send;
    if (wait_at_barrier(me->group))
        return 1;
    for (int r = 0; r < me->group->n_workers; r++) {
        const struct member *other = &me->group->member[r];
        size_t from = 0;
        for (int k = 0; k < me->worker; k++)
            from += other->n_send[k];
        if (n_recv[r] > 0) /* otherwise the buffer may be NULL */
            memcpy(recv, (const char *)other->send + from, n_recv[r]);
        recv = (char *)recv + n_recv[r];
    }
    return wait_at_barrier(me->group);
}

int rw_comm_has_threads(const struct rw_comm *comm)
{
    return comm && comm->functions.all_gather == thread_all_gather;
}

static const struct rw_comm_functions thread_functions = {
    .name = "threads",
    .all_reduce = thread_all_reduce,
    .reduce_scatter = thread_reduce_scatter,
    .all_gather = thread_all_gather,
    .all_to_all = thread_all_to_all,
    .abort = thread_abort,
    .has_failed = thread_has_failed,
};

/* ---- running a group ---- */

/* Runs a worker from its first call to its end. Afterwards the other workers must not wait for it.
 */
static void *run_member(void *user)
{
    struct member *me = user;
    me->status = rw_comm_give_up(me->ctx, me->body(me->user, me->ctx, me->worker));
    me->has_ended = 1;
    thread_abort(me);
    return NULL;
}

/* Makes the members' contexts and communicators. */
static int make_members(struct group *group, struct rw_ctx *ctx, int n_threads)
{
    for (int r = 0; r < group->n_workers; r++) {
        struct member *member = &group->member[r];
        member->ctx = ctx;
        if (r > 0 && rw_ctx_new(&member->ctx) < 0)
            return rw_fail(ctx, RW_ERR_MEMORY, "out of memory for %d workers", group->n_workers);
        RW_TRY(rw_ctx_set_threads(member->ctx, n_threads));
        RW_TRY(rw_comm_new(ctx, &thread_functions, member, r, group->n_workers, &member->comm));
        member->comm->local_worker = r;
        RW_TRY(rw_ctx_set_comm(member->ctx, member->comm));
    }
    return RW_OK;
}

static int start_members(struct group *group, struct rw_ctx *ctx)
{
    for (int r = 1; r < group->n_workers; r++) {
        struct member *member = &group->member[r];
        const int why = pthread_create(&member->thread, NULL, run_member, member);
        if (why)
            return rw_fail_io(
                ctx, why,
                "cannot start a thread for worker %d of %d: out of memory, or too many threads", r,
                group->n_workers);
        member->is_started = 1;
    }
    return RW_OK;
}

/* Returns the status to report, with its message in ctx: that of the failed worker with the lowest
 * number among those that know the cause, since the others failed as a consequence. If no failed
 * worker knows the cause, that of the failed worker with the lowest number. Returns RW_OK if no
 * worker has failed. */
static int find_failure(const struct group *group, struct rw_ctx *ctx)
{
    const struct member *found = NULL;
    for (int r = 0; r < group->n_workers; r++) {
        const struct member *member = &group->member[r];
        if (member->status < 0 && (!found || member->comm->knows_cause > found->comm->knows_cause))
            found = member;
    }
    if (!found || found->ctx == ctx)
        return found ? found->status : RW_OK;
    return rw_fail(ctx, found->status, "%s", found->ctx->error);
}

static void release_members(struct group *group, struct rw_ctx *ctx, int n_threads,
                            struct rw_comm *comm)
{
    for (int r = 0; r < group->n_workers; r++) {
        rw_comm_free(group->member[r].comm);
        if (group->member[r].ctx != ctx)
            rw_ctx_free(group->member[r].ctx);
    }
    ctx->comm = comm;
    ctx->n_threads = n_threads;
    rw_mem_free(group->member);
    pthread_cond_destroy(&group->all_came);
    pthread_mutex_destroy(&group->mutex);
}

/* Waits until a thread has ended. Meanwhile it polls the caller of the library, which may record
 * an interruption in `ctx`. */
static void join(struct rw_ctx *ctx, struct member *member)
{
    enum { TENTH = 100000000, SECOND = 1000000000 }; /* ns */
    struct group *group = member->group;
    struct timespec until;
    pthread_mutex_lock(&group->mutex);
    while (!member->has_ended) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += (until.tv_nsec + TENTH) / SECOND;
        until.tv_nsec = (until.tv_nsec + TENTH) % SECOND;
        pthread_cond_timedwait(&group->all_came, &group->mutex, &until);
        pthread_mutex_unlock(&group->mutex);
        (void)rw_poll(ctx);
        pthread_mutex_lock(&group->mutex);
    }
    pthread_mutex_unlock(&group->mutex);
    pthread_join(member->thread, NULL);
}

int rw_workers_run(struct rw_ctx *ctx, int n_workers, rw_worker_fn body, void *user)
{
    const int n_threads = ctx->n_threads;
    struct rw_comm *comm = ctx->comm;
    /* spinning helps only if each worker has a processor */
    struct group group = {.n_workers = n_workers,
                          .spins = n_workers <= rw_processors() ? SPINS : 0};
    if (n_workers < 1 || n_workers > RW_MAX_WORKERS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "invalid number of workers %d: expected 1 to %d",
                       n_workers, RW_MAX_WORKERS);
    char error[sizeof(ctx->error)];
    int status;
    RW_TRY(RW_NEW(ctx, group.member, (size_t)n_workers));
    pthread_mutex_init(&group.mutex, NULL);
    pthread_cond_init(&group.all_came, NULL);
    for (int r = 0; r < n_workers; r++)
        group.member[r] = (struct member){.group = &group, .worker = r, .body = body, .user = user};
    RW_TRY_OUT(make_members(&group, ctx, n_threads / n_workers > 1 ? n_threads / n_workers : 1));
    status = start_members(&group, ctx);
    if (status < 0)
        thread_abort(&group.member[0]);
    else
        run_member(&group.member[0]);
    memcpy(error, ctx->error, sizeof(error)); /* an interruption would overwrite the message */
    for (int r = 1; r < n_workers; r++) {
        if (group.member[r].is_started)
            join(ctx, &group.member[r]);
    }
    memcpy(ctx->error, error, sizeof(error));
    status = status < 0 ? status : find_failure(&group, ctx);
out:
    release_members(&group, ctx, n_threads, comm);
    return status;
}
