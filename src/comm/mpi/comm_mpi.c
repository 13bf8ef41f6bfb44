/* Workers that are the processes of MPI_COMM_WORLD. This file is a separate library, the only one
 * linked to MPI, and rw_comm_open (comm.c) opens it.
 *
 * A waiting worker yields its processor: calls are started without blocking and then tested at
 * growing intervals. Large buffers are sent in parts, which keeps counts under 2^31 and shows a
 * waiting worker that there is progress.
 *
 * When a worker fails by itself, the others wait for it inside MPI, which cannot notify them. Its
 * communicator therefore ends with MPI_Abort, after the message has been printed. */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>

#include "comm/comm.h"

#ifndef RW_MPI_PART /* a test sets a small one */
#define RW_MPI_PART ((size_t)1 << 18)
#endif
/* PART: most bytes of a message, a multiple of 8. PARTS: most messages in flight in one direction.
 * WINDOW: most bytes in flight in one direction. */
enum { PART = RW_MPI_PART, PARTS = 8, WINDOW = PART * PARTS };

struct mpi {
    MPI_Comm comm;
    int worker, n_workers;
    char *window; /* [WINDOW] bytes: received elements, which are then added to sums; owned */
};

/* Number of communicators that were opened and not closed, for example after a failure. While there
 * are any, MPI must not be finalised: other workers may wait for this process, and the launcher
 * ends them when this process exits. */
static int n_open;

/* ---- waiting ---- */

/* How long a waiting worker yields before it sleeps, and the longest sleep, in microseconds. */
enum { WATCHFUL_US = 200, MOST_SLEEP_US = 1000 };

static double now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* Yields, or sleeps a little after a longer wait. Sleeping makes a wait at most an eighth longer.
 */
static void rest(double waited_us)
{
    if (waited_us < WATCHFUL_US) {
        sched_yield();
        return;
    }
    const double us = waited_us / 8 < MOST_SLEEP_US ? waited_us / 8 : MOST_SLEEP_US;
    nanosleep(&(struct timespec){.tv_nsec = (long)(us * 1000)}, NULL);
}

/* Waits until all n requests are complete. Returns 1 if one failed. */
static int wait_for(int n, MPI_Request *request)
{
    double begin = now_us();
    int index[2 * PARTS], n_left = 0;
    for (int i = 0; i < n; i++)
        n_left += request[i] != MPI_REQUEST_NULL;
    while (n_left > 0) {
        int n_done;
        if (MPI_Testsome(n, request, &n_done, index, MPI_STATUSES_IGNORE) != MPI_SUCCESS)
            return 1;
        if (n_done == MPI_UNDEFINED)
            break;
        n_left -= n_done;
        if (n_done > 0)
            begin = now_us();
        else
            rest(now_us() - begin);
    }
    return 0;
}

/* ---- pairs of workers ---- */

static size_t lesser(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sends up to WINDOW bytes to one worker while it receives as many from another. Sender and
 * receiver know the size of each message. */
static int swap_window(const struct mpi *mpi, int to, const char *send, size_t n_send, int from,
                       char *recv, size_t n_recv)
{
    MPI_Request request[2 * PARTS];
    int n = 0, failed = 0;
    for (size_t at = 0; at < n_recv; at += PART)
        failed |= MPI_Irecv(recv + at, (int)lesser(PART, n_recv - at), MPI_BYTE, from, 0, mpi->comm,
                            &request[n++]);
    for (size_t at = 0; at < n_send; at += PART)
        failed |= MPI_Isend(send + at, (int)lesser(PART, n_send - at), MPI_BYTE, to, 0, mpi->comm,
                            &request[n++]);
    return failed || wait_for(n, request);
}

static int swap(const struct mpi *mpi, int to, const char *send, size_t n_send, int from,
                char *recv, size_t n_recv)
{
    while (n_send > 0 || n_recv > 0) {
        const size_t some_send = lesser(WINDOW, n_send), some_recv = lesser(WINDOW, n_recv);
        if (swap_window(mpi, to, send, some_send, from, recv, some_recv))
            return 1;
        send += some_send;
        recv += some_recv;
        n_send -= some_send;
        n_recv -= some_recv;
    }
    return 0;
}

/* An exchange among all workers has the steps k = 1 to n_workers - 1. In step k, each worker sends
 * to worker_to and receives from worker_from. */
static int worker_to(const struct mpi *mpi, int k)
{
    return (mpi->worker + k) % mpi->n_workers;
}
static int worker_from(const struct mpi *mpi, int k)
{
    return (mpi->worker + mpi->n_workers - k) % mpi->n_workers;
}

/* ---- functions of the communicator ---- */

static int mpi_all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type,
                          enum rw_comm_op op, void *stream)
{
    const struct mpi *mpi = user;
    const size_t bytes = type == RW_COMM_U64 ? 8 : 4, most = PART / bytes;
    const MPI_Op mpi_op = op == RW_COMM_SUM ? MPI_SUM : op == RW_COMM_MIN ? MPI_MIN : MPI_MAX;
    (void)stream;
    for (size_t at = 0; at < n; at += most) {
        MPI_Request request;
        if (MPI_Iallreduce(MPI_IN_PLACE, (char *)buffer + at * bytes, (int)lesser(most, n - at),
                           type == RW_COMM_U64 ? MPI_UINT64_T : MPI_UINT32_T, mpi_op, mpi->comm,
                           &request) != MPI_SUCCESS ||
            wait_for(1, &request))
            return 1;
    }
    return 0;
}

/* Every worker receives its part from each of the others and adds it up, so nothing is sent twice.
 */
static int mpi_reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                              enum rw_comm_type type, void *stream)
{
    const struct mpi *mpi = user;
    const size_t width = type == RW_COMM_U64 ? 8 : 4, bytes = n_each * width;
    const char *parts = send;
    (void)stream;
    memcpy(recv, parts + bytes * (size_t)mpi->worker, bytes);
    for (int k = 1; k < mpi->n_workers; k++) {
        const int to = worker_to(mpi, k), from = worker_from(mpi, k);
        for (size_t at = 0; at < bytes; at += WINDOW) {
            const size_t some = lesser(WINDOW, bytes - at);
            if (swap_window(mpi, to, parts + bytes * (size_t)to + at, some, from, mpi->window,
                            some))
                return 1;
            if (MPI_Reduce_local(mpi->window, (char *)recv + at, (int)(some / width),
                                 type == RW_COMM_U64 ? MPI_UINT64_T : MPI_UINT32_T,
                                 MPI_SUM) != MPI_SUCCESS)
                return 1;
        }
    }
    return 0;
}

static int mpi_all_gather(void *user, const void *send, void *recv, size_t bytes, void *stream)
{
    const struct mpi *mpi = user;
    char *all = recv;
    (void)stream;
    if (bytes <= PART) {
        MPI_Request request;
        return MPI_Iallgather(send, (int)bytes, MPI_BYTE, recv, (int)bytes, MPI_BYTE, mpi->comm,
                              &request) != MPI_SUCCESS ||
               wait_for(1, &request);
    }
    memcpy(all + bytes * (size_t)mpi->worker, send, bytes);
    for (int k = 1; k < mpi->n_workers; k++) {
        const int from = worker_from(mpi, k);
        if (swap(mpi, worker_to(mpi, k), send, bytes, from, all + bytes * (size_t)from, bytes))
            return 1;
    }
    return 0;
}

/* Returns the offset of a worker's bytes in a buffer ordered by worker. n_bytes: [n_workers]. */
static size_t begin_of(const size_t *n_bytes, int worker)
{
    size_t begin = 0;
    for (int r = 0; r < worker; r++)
        begin += n_bytes[r];
    return begin;
}

static int mpi_all_to_all(void *user, const void *send, const size_t *n_send, void *recv,
                          const size_t *n_recv)
{
    const struct mpi *mpi = user;
    const char *parts = send;
    char *all = recv;
    if (n_send[mpi->worker] > 0)
        memcpy(all + begin_of(n_recv, mpi->worker), parts + begin_of(n_send, mpi->worker),
               n_send[mpi->worker]);
    for (int k = 1; k < mpi->n_workers; k++) {
        const int to = worker_to(mpi, k), from = worker_from(mpi, k);
        if (swap(mpi, to, parts + begin_of(n_send, to), n_send[to], from,
                 all + begin_of(n_recv, from), n_recv[from]))
            return 1;
    }
    return 0;
}

/* ---- initialisation and end ---- */

static void finalise(void)
{
    int is_over = 0;
    if (n_open == 0 && MPI_Finalized(&is_over) == MPI_SUCCESS && !is_over)
        MPI_Finalize();
}

static void mpi_close(void *user, int exit_status)
{
    struct mpi *mpi = user;
    if (exit_status)
        MPI_Abort(MPI_COMM_WORLD, exit_status);
    MPI_Comm_free(&mpi->comm);
    free(mpi->window);
    free(mpi);
    n_open--;
}

/* Initialises MPI once per process, unless the program has done so. */
static int begin_mpi(char *why, size_t size)
{
    int is_begun = 0, is_over = 0, provided;
    MPI_Initialized(&is_begun);
    MPI_Finalized(&is_over);
    if (is_over) {
        snprintf(why, size, "MPI has been finalised in this process and cannot begin again");
        return 1;
    }
    if (is_begun)
        return 0;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        snprintf(why, size, "cannot start MPI");
        return 1;
    }
    atexit(finalise);
    return 0;
}

static int local_worker(MPI_Comm comm, int worker)
{
    MPI_Comm machine;
    int local = worker;
    if (MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, worker, MPI_INFO_NULL, &machine) ==
        MPI_SUCCESS) {
        MPI_Comm_rank(machine, &local);
        MPI_Comm_free(&machine);
    }
    return local;
}

int RW_COMM_MODULE_OPEN(struct rw_comm_module *out, char *why, size_t size)
{
    struct mpi *mpi = calloc(1, sizeof(*mpi));
    char *window = malloc(WINDOW);
    if (!mpi || !window) {
        snprintf(why, size, "out of memory for MPI's messages");
        goto fail;
    }
    mpi->window = window;
    if (begin_mpi(why, size))
        goto fail;
    if (MPI_Comm_dup(MPI_COMM_WORLD, &mpi->comm) != MPI_SUCCESS) {
        snprintf(why, size, "cannot create an MPI communicator");
        goto fail;
    }
    MPI_Comm_set_errhandler(mpi->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(mpi->comm, &mpi->worker);
    MPI_Comm_size(mpi->comm, &mpi->n_workers);
    n_open++;
    *out = (struct rw_comm_module){.functions = {.name = "mpi",
                                                 .all_reduce = mpi_all_reduce,
                                                 .reduce_scatter = mpi_reduce_scatter,
                                                 .all_gather = mpi_all_gather,
                                                 .all_to_all = mpi_all_to_all},
                                   .user = mpi,
                                   .close = mpi_close,
                                   .worker = mpi->worker,
                                   .n_workers = mpi->n_workers,
                                   .local_worker = local_worker(mpi->comm, mpi->worker)};
    return 0;
fail:
    free(window);
    free(mpi);
    return 1;
}
