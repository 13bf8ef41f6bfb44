#include "comm/comm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const size_t type_bytes[] = {[RW_COMM_U32] = 4, [RW_COMM_U64] = 8};

/* What launchers say; 0 or more, or -1. */
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

int rw_comm_new(struct rw_ctx *ctx, const struct rw_comm_functions *functions, void *user, int rank,
                int n_ranks, struct rw_comm **out)
{
    *out = NULL;
    if (n_ranks < 1 || n_ranks > RW_MAX_RANKS || rank < 0 || rank >= n_ranks)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "rank %d of %d; expected 1 to %d ranks, numbered from 0", rank, n_ranks,
                       RW_MAX_RANKS);
    if (!functions->all_reduce || !functions->reduce_scatter || !functions->all_gather ||
        (!functions->device && !functions->all_to_all))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a communicator lacks one of its functions");
    RW_TRY(RW_NEW(ctx, *out, 1));
    (*out)->functions = *functions;
    (*out)->user = user;
    (*out)->rank = rank;
    (*out)->n_ranks = n_ranks;
    (*out)->local_rank = launched_as() >= 0 ? launched_as() : rank;
    return RW_OK;
}

/* For rw_comm.close. The program's own are the same: 1, or 3 if trying again may help. */
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
                       "a context's communicator must be the host's, not a device's");
    ctx->comm = comm;
    return RW_OK;
}

/* ---- a call ---- */

/* Is there anybody to talk to? */
static int is_alone(const struct rw_ctx *ctx)
{
    return rw_n_ranks(ctx) == 1;
}

/* No more calls. */
static int fail(struct rw_comm *comm, int status)
{
    comm->has_failed = 1;
    comm->failure = status;
    return status;
}

/* The result of a function of the communicator as a status. */
static int ended(struct rw_ctx *ctx, int result)
{
    struct rw_comm *comm = ctx->comm;
    if (result == 0)
        return RW_OK;
    return fail(comm, rw_fail(ctx, RW_ERR_MACHINE,
                              "another of the %d ranks failed, or cannot be reached (%s)",
                              comm->n_ranks, comm->functions.name));
}

/* A rank that was told of a failure may not go on; the message stands if it says why. */
static int begun(struct rw_ctx *ctx)
{
    const struct rw_comm *comm = ctx->comm;
    if (!comm->has_failed)
        return RW_OK;
    return comm->knows_cause ? comm->failure : ended(ctx, 1);
}

int rw_comm_all_reduce(struct rw_ctx *ctx, void *buffer, size_t n, enum rw_comm_type type,
                       enum rw_comm_op op)
{
    if (is_alone(ctx) || n == 0)
        return RW_OK;
    struct rw_comm *comm = ctx->comm;
    RW_TRY(begun(ctx));
    comm->bytes_sent +=
        2 * n * type_bytes[type] * (size_t)(comm->n_ranks - 1) / (size_t)comm->n_ranks;
    return ended(ctx, comm->functions.all_reduce(comm->user, buffer, n, type, op, NULL));
}

int rw_comm_max_doubles(struct rw_ctx *ctx, double *numbers, size_t n)
{
    _Static_assert(sizeof(double) == sizeof(uint64_t), "such doubles order as their bits do");
    return rw_comm_max(ctx, (uint64_t *)(void *)numbers, n);
}

int rw_comm_reduce_scatter(struct rw_ctx *ctx, const void *send, void *recv, size_t n_each,
                           enum rw_comm_type type)
{
    if (n_each == 0)
        return RW_OK;
    if (is_alone(ctx)) {
        memcpy(recv, send, n_each * type_bytes[type]);
        return RW_OK;
    }
    struct rw_comm *comm = ctx->comm;
    RW_TRY(begun(ctx));
    comm->bytes_sent += n_each * type_bytes[type] * (size_t)(comm->n_ranks - 1);
    return ended(ctx, comm->functions.reduce_scatter(comm->user, send, recv, n_each, type, NULL));
}

int rw_comm_all_gather(struct rw_ctx *ctx, const void *send, void *recv, size_t bytes)
{
    if (bytes == 0)
        return RW_OK;
    if (is_alone(ctx)) {
        memcpy(recv, send, bytes);
        return RW_OK;
    }
    struct rw_comm *comm = ctx->comm;
    RW_TRY(begun(ctx));
    comm->bytes_sent += bytes * (size_t)(comm->n_ranks - 1);
    return ended(ctx, comm->functions.all_gather(comm->user, send, recv, bytes, NULL));
}

int rw_comm_offsets(struct rw_ctx *ctx, uint64_t own, uint64_t *offset)
{
    const int n_ranks = rw_n_ranks(ctx);
    RW_TRY(rw_comm_all_gather(ctx, &own, offset + 1, sizeof(own)));
    offset[0] = 0;
    int fits = offset[rw_rank(ctx) + 1] == own;
    for (int r = 0; r < n_ranks; r++) {
        fits &= offset[r + 1] <= PTRDIFF_MAX - offset[r];
        offset[r + 1] += offset[r];
    }
    return fits ? RW_OK : rw_comm_nonsense(ctx, "numbers");
}

/* The sizes that rw_comm_exchange finds, as its functions want them. */
static int exchange_bytes(struct rw_ctx *ctx, const void *send, const size_t *n_send, void *recv,
                          const size_t *n_recv)
{
    struct rw_comm *comm = ctx->comm;
    for (int r = 0; r < comm->n_ranks; r++)
        comm->bytes_sent += r == comm->rank ? 0 : n_send[r];
    return ended(ctx, comm->functions.all_to_all(comm->user, send, n_send, recv, n_recv));
}

int rw_comm_exchange(struct rw_ctx *ctx, const void *send, const size_t *send_begin, void **out,
                     size_t *begin)
{
    const size_t n = (size_t)rw_n_ranks(ctx), rank = (size_t)rw_rank(ctx);
    int status;
    size_t *sizes = NULL, *n_send = NULL, *n_recv = NULL;
    *out = NULL;
    status = RW_NEW(ctx, n_send, n);
    status = status < 0 ? status : RW_NEW(ctx, n_recv, n);
    status = status < 0 ? status : RW_NEW(ctx, sizes, n * n);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    for (size_t r = 0; r < n; r++)
        n_send[r] = send_begin[r + 1] - send_begin[r];
    RW_TRY_OUT(rw_comm_all_gather(ctx, n_send, sizes, n * sizeof(*sizes)));
    begin[0] = 0;
    int fits = memcmp(sizes + rank * n, n_send, n * sizeof(*n_send)) == 0;
    for (size_t r = 0; r < n; r++) {
        n_recv[r] = sizes[r * n + rank];
        fits &= n_recv[r] <= PTRDIFF_MAX - begin[r];
        begin[r + 1] = begin[r] + n_recv[r];
    }
    status = fits ? rw_mem_new_raw(ctx, out, begin[n], 1) : rw_comm_nonsense(ctx, "sizes");
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    if (!is_alone(ctx))
        RW_TRY_OUT(exchange_bytes(ctx, send, n_send, *out, n_recv));
    else if (begin[n] > 0)
        memcpy(*out, send, begin[n]);
out:
    rw_mem_free(sizes);
    rw_mem_free(n_send);
    rw_mem_free(n_recv);
    if (status < 0) {
        rw_mem_free(*out);
        *out = NULL;
    }
    return status;
}

int rw_comm_gather_all(struct rw_ctx *ctx, const void *send, size_t bytes, void **out,
                       size_t *begin)
{
    const int n = rw_n_ranks(ctx);
    int status;
    uint64_t *offset = NULL;
    char *padded = NULL, *all = NULL;
    *out = NULL;
    RW_TRY_OUT(rw_comm_agree(ctx, RW_NEW(ctx, offset, (size_t)n + 1)));
    RW_TRY_OUT(rw_comm_offsets(ctx, bytes, offset));
    size_t most = 0;
    for (int r = 0; r <= n; r++) {
        begin[r] = offset[r];
        most = r && begin[r] - begin[r - 1] > most ? begin[r] - begin[r - 1] : most;
    }
    status = RW_NEW_RAW(ctx, padded, most);
    status = status < 0 ? status : rw_mem_new_raw(ctx, (void **)&all, most, (size_t)n);
    status = status < 0 ? status : rw_mem_new_raw(ctx, out, begin[n], 1);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    if (bytes)
        memcpy(padded, send, bytes);
    memset(padded + bytes, 0, most - bytes);
    RW_TRY_OUT(rw_comm_all_gather(ctx, padded, all, most));
    for (int r = 0; r < n; r++)
        memcpy((char *)*out + begin[r], all + (size_t)r * most, begin[r + 1] - begin[r]);
out:
    rw_mem_free(offset);
    rw_mem_free(padded);
    rw_mem_free(all);
    if (status < 0) {
        rw_mem_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- failures ---- */

int rw_comm_nonsense(struct rw_ctx *ctx, const char *what)
{
    return rw_fail(ctx, RW_ERR_MACHINE,
                   "another of the %d ranks sent %s that cannot be\n"
                   "hint: all ranks have to run the same program, on machines of the same kind",
                   rw_n_ranks(ctx), what);
}

/* What a rank tells of itself. */
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
        return status < 0 ? status : begun(ctx);
    uint32_t failed = status < 0 ? (uint32_t)comm->rank : UINT32_MAX;
    RW_TRY(rw_comm_all_reduce(ctx, &failed, 1, RW_COMM_U32, RW_COMM_MIN));
    if (failed == UINT32_MAX)
        return status;
    /* the others are silent, so that the sum of all is the message of one */
    struct outcome told = {0};
    if (failed == (uint32_t)comm->rank) {
        told.status = status;
        snprintf(told.message, sizeof(told.message), "rank %d: %.4000s", comm->rank, ctx->error);
    }
    const int heard = rw_comm_all_reduce(ctx, &told, sizeof(told) / 4, RW_COMM_U32, RW_COMM_SUM);
    if (heard < 0)
        return heard;
    comm->knows_cause = comm->all_know = 1;
    told.message[sizeof(told.message) - 1] = 0;
    const int is_failure = told.status < 0 && told.message[0];
    return fail(comm, is_failure ? rw_fail(ctx, told.status, "%s", told.message)
                                 : rw_comm_nonsense(ctx, "a failure"));
}

int rw_comm_give_up(struct rw_ctx *ctx, int status)
{
    struct rw_comm *comm = ctx->comm;
    if (status >= 0 || is_alone(ctx) || comm->has_failed)
        return status;
    if (rw_comm_has_failed(ctx)) { /* another rank was first: this is what it led to here */
        fail(comm, status);
        return status;
    }
    comm->knows_cause = 1;
    char message[sizeof(ctx->error)];
    snprintf(message, sizeof(message), "rank %d: %.4000s", comm->rank, ctx->error);
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

/* ---- for callers of the library ---- */

int rw_ranks_count(const struct rw_ctx *ctx)
{
    return rw_n_ranks(ctx);
}

int rw_ranks_number(const struct rw_ctx *ctx)
{
    return rw_rank(ctx);
}

int rw_ranks_sum(struct rw_ctx *ctx, uint64_t *numbers, size_t n)
{
    return rw_comm_sum(ctx, numbers, n);
}

int rw_ranks_agree(struct rw_ctx *ctx, int status)
{
    return rw_comm_agree(ctx, status);
}

void rw_ranks_end(struct rw_ctx *ctx)
{
    rw_comm_give_up(ctx, RW_ERR_INTERRUPTED);
}

int rw_ranks_tells(const struct rw_ctx *ctx)
{
    const struct rw_comm *comm = ctx->comm;
    if (!comm || comm->n_ranks == 1 || !comm->has_failed)
        return rw_rank(ctx) == 0;
    return comm->all_know ? comm->rank == 0 : comm->knows_cause;
}
