/* What workers do together: sums and exchanges over all of them. A worker is a thread or a process
 * that runs the whole program on its own part of the data; a context has the worker's communicator
 * (rw_ctx_set_comm), or none, and then all of these do what one worker alone would, at once.
 *
 * Every worker makes the same calls in the same order, with the same sizes. What a worker finds
 * wrong it keeps until all workers meet in rw_comm_agree, so that one message ends all of them; a
 * failure that cannot wait so long (rw_comm_give_up) makes the calls of the others fail.
 *
 * To add what carries the bytes: a struct rw_comm_functions, like those of threads in comm.c; or a
 * library of its own with a struct rw_comm_module (below), which rw_comm_open finds as it does
 * MPI's. */
#pragma once

#include <stdio.h>
#include <string.h>

#include "base/ctx.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_comm {
    struct rw_comm_functions functions;
    void *user; /* of the functions; owned if there is a `close` */
    /* NULL: nothing is to be done at the end. exit_status: 0; or there was a failure that other
     * workers may not know of, so that they have to be ended, their launcher with this status. */
    void (*close)(void *user, int exit_status);
    int worker, n_workers;
    int local_rank;      /* its number among those of this machine */
    int has_failed;      /* no more calls */
    int knows_cause;     /* and the context's message says which worker failed, and why */
    int all_know;        /* so do all workers */
    int failure;         /* the status, below 0 */
    uint64_t bytes_sent; /* by this worker, as the algorithms that need fewest would */
};

static inline int rw_n_workers(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->n_workers : 1;
}

static inline int rw_worker(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->worker : 0;
}

static inline int rw_local_rank(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->local_rank : 0;
}

/* Follows the number of a document that is counted from this worker's first one: " of worker 2's
 * shard", or "" on worker 0, whose first document is the first of all. ctx may be NULL. */
enum { RW_SHARD_TEXT = 40 };
static inline const char *rw_comm_shard(const struct rw_ctx *ctx, char buffer[RW_SHARD_TEXT])
{
    buffer[0] = 0;
    if (ctx && rw_worker(ctx) > 0)
        snprintf(buffer, RW_SHARD_TEXT, " of worker %d's shard", rw_worker(ctx));
    return buffer;
}

/* By this worker to others, so far. */
static inline uint64_t rw_comm_bytes_sent(const struct rw_ctx *ctx)
{
    return ctx->comm ? ctx->comm->bytes_sent : 0;
}

/* Each element of the workers' buffers, [n], summed, or the least or greatest of them; in place.
 * Sums of signed integers wrap as two's complement. */
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
/* The greatest of the workers' numbers, [n], none of which is negative; in place. */
int rw_comm_max_doubles(struct rw_ctx *ctx, double *numbers, size_t n);
/* send: [n_workers][n_each]; recv: [n_each], worker r's part of the sums over all workers' send. */
int rw_comm_reduce_scatter(struct rw_ctx *ctx, const void *send, void *recv, size_t n_each,
                           enum rw_comm_type type);
/* send: `bytes` bytes; recv: [n_workers][bytes], written. */
int rw_comm_all_gather(struct rw_ctx *ctx, const void *send, void *recv, size_t bytes);
/* The same of any number of bytes from each worker. *out: all of them, worker after worker; *begin:
 * [n_workers + 1] where each one's are. Both are the caller's (rw_mem_free), NULL after a failure.
 */
int rw_comm_gather_all(struct rw_ctx *ctx, const void *send, size_t bytes, void **out,
                       size_t **begin);
/* Bytes to every worker and from every worker: send and *out stand by worker. Worker r gets
 * send[send_begin[r]] to send[send_begin[r + 1]]. send_begin: [n_workers + 1]; *out and *begin as
 * of rw_comm_gather_all. */
int rw_comm_exchange(struct rw_ctx *ctx, const void *send, const size_t *send_begin, void **out,
                     size_t **begin);

/* All workers meet. Returns `status` if no worker has failed; else the status of the lowest worker
 * that has, and its message in all contexts, "worker 2: ...". Called before anything that needs all
 * workers after anything that can fail on one. */
int rw_comm_agree(struct rw_ctx *ctx, int status);
/* A failure in the middle: other workers' calls fail from now on. Does nothing if status is not
 * below 0, or all workers know. Returns status. */
int rw_comm_give_up(struct rw_ctx *ctx, int status);

/* What another worker sent cannot be: "names of features", say. Returns RW_ERR_MACHINE. */
int rw_comm_nonsense(struct rw_ctx *ctx, const char *what);

/* Of what another worker sent, [n] bytes: behind the text, ended by 0, that follows `head` bytes
 * from `at` on. 0: it has no end. */
static inline size_t rw_told_end(const char *bytes, size_t n, size_t at, size_t head)
{
    const char *end =
        n - at > head ? (const char *)memchr(bytes + at + head, 0, n - at - head) : NULL;
    return end ? (size_t)(end - bytes) + 1 : 0;
}

/* Has another worker failed, as far as is known without a call? */
int rw_comm_has_failed(const struct rw_ctx *ctx);

/* How many of something the workers before this one have, and all of them. RW_ERR_MACHINE: the sum
 * has no place in a size_t. */
int rw_comm_before(struct rw_ctx *ctx, uint64_t own, uint64_t *before, uint64_t *all);

/* How many workers the launcher that started this process means it to be one of, by the
 * environment; 1: there is none. */
int rw_comm_launched(void);
/* Where the library of MPI's communicator is, as rw_comm_open looks for it; 0: nowhere. */
int rw_comm_find(char *path, size_t size);

/* What a library that carries bytes, one that rw_comm_open opens at run time, has in common with
 * this one. It is linked to an MPI, say, and not to Rankwood. */
/* A communicator as the library makes it: see struct rw_comm. */
struct rw_comm_module {
    struct rw_comm_functions functions;
    void *user;
    void (*close)(void *user, int exit_status);
    int worker, n_workers, local_rank;
};

/* What the library exports, under a name that changes with struct rw_comm_module. Returns 0, or 1
 * with the reason in `why`, [size]. */
#define RW_COMM_MODULE_OPEN rankwood_comm_open_1
typedef int rw_comm_module_fn(struct rw_comm_module *out, char *why, size_t size);
RW_API rw_comm_module_fn RW_COMM_MODULE_OPEN;

#ifdef __cplusplus
}
#endif
