/* Communication among workers: sums and exchanges over all of them. A worker is a thread or a
 * process that runs the whole program on its shard of the data. Its context holds its communicator
 * (rw_ctx_set_comm). Without a communicator, functions that communicate return at once with the
 * result for a single worker.
 *
 * Every worker makes the same calls in the same order. The sizes that a call passes are the same on
 * all workers, except with rw_comm_all_gatherv and rw_comm_exchange. A worker that detects an error
 * keeps it until all workers call rw_comm_agree, so that all of them end with the same message. A
 * failure that cannot wait that long (rw_comm_give_up) makes the other workers' calls fail.
 *
 * To add a transport, implement a struct rw_comm_functions (rankwood.h) like thread_functions in
 * comm.c. The transport may also be a separate library with a struct rw_comm_module (below), which
 * rw_comm_open must then find as it finds the library for MPI. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_comm {
    struct rw_comm_functions functions;
    void *user; /* argument of the functions; owned if `close` is set */
    /* Called by rw_comm_free, unless NULL. exit_status: 0, or the exit status of this process if a
     * failure may be unknown to other workers. If it is not 0, `close` must end them, and their
     * launcher must report this status. */
    void (*close)(void *user, int exit_status);
    int worker, n_workers; /* this worker's number, from 0; number of workers */
    int local_worker; /* number among the workers of the same machine, from 0; `worker` if unknown
                       */
    int has_failed;   /* 1: a call or a worker has failed; further calls fail at once */
    int knows_cause;  /* 1: the context's message says which worker failed, and why */
    int all_know;     /* 1: all workers know that message */
    int failure;      /* if has_failed: the status of the failure, below 0 */
    /* bytes sent by this worker: see rw_comm_bytes_sent */
    uint64_t bytes_sent;
};

static inline int rw_n_workers(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->n_workers : 1;
}

/* Returns 1 if the workers are threads of this process (rw_workers_run). */
int rw_comm_has_threads(const struct rw_comm *comm);

static inline int rw_worker(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->worker : 0;
}

static inline int rw_local_worker(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->local_worker : 0;
}

/* Returns a suffix for a document number that counts from this worker's first document: " of worker
 * 2's shard". It is "" on worker 0, whose first document is the first of all. ctx may be NULL. */
enum { RW_SHARD_TEXT = 40 };
static inline const char *rw_comm_shard(const struct rw_ctx *ctx, char buffer[RW_SHARD_TEXT])
{
    buffer[0] = 0;
    if (ctx && rw_worker(ctx) > 0)
        snprintf(buffer, RW_SHARD_TEXT, " of worker %d's shard", rw_worker(ctx));
    return buffer;
}

/* Returns an estimate of the bytes that this worker has sent to others. Each call counts as if it
 * used the algorithm that sends the fewest bytes. */
static inline uint64_t rw_comm_bytes_sent(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->bytes_sent : 0;
}

/* Combines the workers' buffers element by element, and stores the sums, minima or maxima in each
 * of them. Sums wrap modulo 2^32 or 2^64, so signed integers can be summed as unsigned ones.
 * buffer: [n]. */
int rw_comm_all_reduce(struct rw_ctx *ctx, void *buffer, size_t n, enum rw_comm_type type,
                       enum rw_comm_op op);
static inline int rw_comm_sum(struct rw_ctx *ctx, uint64_t *buffer, size_t n)
{
    return rw_comm_all_reduce(ctx, buffer, n, RW_COMM_U64, RW_COMM_SUM);
}
static inline int rw_comm_max(struct rw_ctx *ctx, uint64_t *buffer, size_t n)
{
    return rw_comm_all_reduce(ctx, buffer, n, RW_COMM_U64, RW_COMM_MAX);
}
/* Stores the maximum over all workers of each of n non-negative numbers, in place. */
int rw_comm_max_doubles(struct rw_ctx *ctx, double *numbers, size_t n);
/* Sums over all workers and gives each worker its part of the result. send: [n_workers][n_each];
 * recv: [n_each], the sums of this worker's part. */
int rw_comm_reduce_scatter(struct rw_ctx *ctx, const void *send, void *recv, size_t n_each,
                           enum rw_comm_type type);
/* Gathers `bytes` bytes of each worker. recv: [n_workers][bytes], written. */
int rw_comm_all_gather(struct rw_ctx *ctx, const void *send, void *recv, size_t bytes);
/* Gathers any number of bytes from each worker. *out: the bytes, worker after worker; *begin:
 * [n_workers + 1], the offset of each worker's bytes. The caller frees both (rw_mem_free). They are
 * NULL after a failure. */
int rw_comm_all_gatherv(struct rw_ctx *ctx, const void *send, size_t bytes, void **out,
                        size_t **begin);
/* Sends bytes to every worker and receives bytes from every worker. Both send and *out are ordered
 * by worker: worker r receives the bytes of `send` from send_begin[r] to before send_begin[r + 1].
 * send_begin: [n_workers + 1]; send_begin[0] is 0. For *out and *begin see rw_comm_all_gatherv. */
int rw_comm_exchange(struct rw_ctx *ctx, const void *send, const size_t *send_begin, void **out,
                     size_t **begin);

/* Synchronises all workers. Returns `status` if no worker has passed a status below 0. Otherwise it
 * returns the status of the failed worker with the lowest number, copies its message into all
 * contexts ("worker 2: ..."), and the communicator has failed. If it had failed before, returns
 * `status` if that is below 0, or the earlier failure. Call it after any step that can fail on one
 * worker, and before any step that needs all workers. */
int rw_comm_agree(struct rw_ctx *ctx, int status);
/* Reports a failure without waiting for rw_comm_agree. Other workers' calls fail from now on, if
 * the transport has an `abort`; otherwise once rw_comm_free ends these workers. Does nothing if
 * status is not below 0, if there is one worker, or if this communicator has already failed. If
 * the transport knows that another worker failed first, marks only this communicator as failed.
 * Returns `status`. */
int rw_comm_give_up(struct rw_ctx *ctx, int status);

/* Sets the message that another worker sent invalid data. `what` names the data, such as "names of
 * features". Returns RW_ERR_MACHINE. */
int rw_comm_nonsense(struct rw_ctx *ctx, const char *what);

/* Finds a text in n bytes sent by another worker. The text begins `head` bytes after offset `at`
 * (at most n) and ends with a byte 0. Returns the offset after this byte, or 0 if it is missing. */
static inline size_t rw_received_end(const char *bytes, size_t n, size_t at, size_t head)
{
    const char *end =
        n - at > head ? (const char *)memchr(bytes + at + head, 0, n - at - head) : NULL;
    return end ? (size_t)(end - bytes) + 1 : 0;
}

/* Returns the status for `result`, which a communicator's function returned. If the function failed
 * (not 0), marks the communicator as failed and returns RW_ERR_MACHINE with a message. */
int rw_comm_status(struct rw_ctx *ctx, struct rw_comm *comm, int result);

/* Returns 1 if this communicator has failed, or if the transport knows without communication that
 * another worker has failed. Returns 0 if there is one worker. */
int rw_comm_has_failed(const struct rw_ctx *ctx);

/* Adds up the numbers `own` of the workers. *before: the sum over the workers with lower numbers
 * than this one; *all: the sum over all workers. Fails with RW_ERR_MACHINE if the sum over all
 * exceeds PTRDIFF_MAX. */
int rw_comm_before(struct rw_ctx *ctx, uint64_t own, uint64_t *before, uint64_t *all);

/* Returns the number of workers that the launcher of this process started, according to the
 * environment; 1: a single one, or no known launcher. */
int rw_comm_launched(void);
/* Finds the library of the MPI communicator that rw_comm_open would open. Returns 1 and its path,
 * or 0 if it is not found or `path`, [size], is too small. A path from the environment variable
 * RANKWOOD_COMM_MPI is returned even if there is no such file. */
int rw_comm_find(char *path, size_t size);

/* ---- the interface of a transport library, which rw_comm_open opens at run time ----
 *
 * Such a library is linked to an MPI, for example, but not to Rankwood. */
/* A communicator as made by the library; see struct rw_comm. */
struct rw_comm_module {
    struct rw_comm_functions functions;
    void *user;
    void (*close)(void *user, int exit_status);
    int worker, n_workers, local_worker;
};

/* The function that the library exports. Its name changes whenever struct rw_comm_module changes.
 * Returns 0, or 1 with the reason in `why`, [size]. */
#define RW_COMM_MODULE_OPEN rankwood_comm_open_1
typedef int rw_comm_module_fn(struct rw_comm_module *out, char *why, size_t size);
RW_API rw_comm_module_fn RW_COMM_MODULE_OPEN;

#ifdef __cplusplus
}
#endif
