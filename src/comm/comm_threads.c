/* Ranks that are threads of one process. They see each other's buffers; a call is three steps with
 * a barrier between them: all buffers are shown, each rank computes its part, all parts are there.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"

/* Some 50 to 150 microseconds: between the calls of a tree others are done sooner, as a rule. */
enum { SPINS = 3000 };

/* What all ranks have together. */
struct group {
    int n_ranks;
    int spins;             /* looks of a rank that waits before it sleeps */
    struct member *member; /* [n_ranks] */
    /* the barrier */
    pthread_mutex_t mutex;
    pthread_cond_t all_came;
    int n_waiting;
    atomic_int is_broken;
    atomic_uint turn;
};

struct member {
    struct group *group;
    struct rw_ctx *ctx; /* rank 0's is the caller's */
    struct rw_comm *comm;
    pthread_t thread;
    int rank, is_started;
    int status; /* of the body */
    /* the call at hand */
    const void *send;
    void *recv;
    const size_t *n_send;
    /* of a group's run */
    rw_rank_fn body;
    void *user;
};

/* 0 once all ranks are here; 1: one of them will not come. */
static int meet(struct group *group)
{
    pthread_mutex_lock(&group->mutex);
    const unsigned turn = group->turn;
    if (!group->is_broken && ++group->n_waiting == group->n_ranks) {
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

/* `own`, [n], into `out`, [n]. */
static void combine(void *out, const void *own, size_t n, enum rw_comm_type type,
                    enum rw_comm_op op)
{
    if (type == RW_COMM_U64)
        COMBINE(uint64_t);
    else
        COMBINE(uint32_t);
}

/* Elements [first, first + n) of all ranks' buffers together: out, [n]. */
static void reduce(const struct group *group, size_t first, size_t n, enum rw_comm_type type,
                   enum rw_comm_op op, void *out)
{
    const size_t bytes = type == RW_COMM_U64 ? 8 : 4;
    for (int r = 0; r < group->n_ranks; r++) {
        const char *own = (const char *)group->member[r].send + first * bytes;
        if (r == 0)
            memcpy(out, own, n * bytes);
        else
            combine(out, own, n, type, op);
    }
}

/* Each rank writes its part of the elements into the buffers of all: nobody reads them any more. */
static int thread_all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type,
                             enum rw_comm_op op, void *stream)
{
    enum { BLOCK = 512 };
    struct member *me = user;
    struct group *group = me->group;
    const size_t bytes = type == RW_COMM_U64 ? 8 : 4, n_ranks = (size_t)group->n_ranks;
    const size_t part = (n + n_ranks - 1) / n_ranks;
    const size_t first = part * (size_t)me->rank < n ? part * (size_t)me->rank : n;
    const size_t end = first + part < n ? first + part : n;
    uint64_t sums[BLOCK];
    (void)stream;
    me->send = me->recv = buffer;
    if (meet(group))
        return 1;
    for (size_t at = first; at < end; at += BLOCK) {
        const size_t some = end - at < BLOCK ? end - at : BLOCK;
        reduce(group, at, some, type, op, sums);
        for (int r = 0; r < group->n_ranks; r++)
            memcpy((char *)group->member[r].recv + at * bytes, sums, some * bytes);
    }
    return meet(group);
}

static int thread_reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                                 enum rw_comm_type type, void *stream)
{
    struct member *me = user;
    (void)stream;
    me->send = send;
    if (meet(me->group))
        return 1;
    reduce(me->group, n_each * (size_t)me->rank, n_each, type, RW_COMM_SUM, recv);
    return meet(me->group);
}

static int thread_all_gather(void *user, const void *send, void *recv, size_t bytes, void *stream)
{
    struct member *me = user;
    (void)stream;
    me->send = send;
    if (meet(me->group))
        return 1;
    for (int r = 0; r < me->group->n_ranks; r++)
        memcpy((char *)recv + (size_t)r * bytes, me->group->member[r].send, bytes);
    return meet(me->group);
}

static int thread_all_to_all(void *user, const void *send, const size_t *n_send, void *recv,
                             const size_t *n_recv)
{
    struct member *me = user;
    me->send = send;
    me->n_send = n_send;
    if (meet(me->group))
        return 1;
    for (int r = 0; r < me->group->n_ranks; r++) {
        const struct member *other = &me->group->member[r];
        size_t from = 0;
        for (int k = 0; k < me->rank; k++)
            from += other->n_send[k];
        if (n_recv[r] > 0) /* else there may be no buffer */
            memcpy(recv, (const char *)other->send + from, n_recv[r]);
        recv = (char *)recv + n_recv[r];
    }
    return meet(me->group);
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

/* ---- a run ---- */

/* The rank's part, from its first call to its end. Whoever waits for it then, waits in vain. */
static void *run_member(void *user)
{
    struct member *me = user;
    me->status = rw_comm_give_up(me->ctx, me->body(me->user, me->ctx, me->rank));
    thread_abort(me);
    return NULL;
}

/* Contexts and communicators. */
static int make_members(struct group *group, struct rw_ctx *ctx, int n_threads)
{
    for (int r = 0; r < group->n_ranks; r++) {
        struct member *member = &group->member[r];
        member->ctx = ctx;
        if (r > 0 && rw_ctx_new(&member->ctx) < 0)
            return rw_fail(ctx, RW_ERR_MEMORY, "out of memory for %d ranks", group->n_ranks);
        RW_TRY(rw_ctx_set_threads(member->ctx, n_threads));
        RW_TRY(rw_comm_new(ctx, &thread_functions, member, r, group->n_ranks, &member->comm));
        member->comm->local_rank = r;
        RW_TRY(rw_ctx_set_comm(member->ctx, member->comm));
    }
    return RW_OK;
}

static int start_members(struct group *group, struct rw_ctx *ctx)
{
    for (int r = 1; r < group->n_ranks; r++) {
        struct member *member = &group->member[r];
        const int why = pthread_create(&member->thread, NULL, run_member, member);
        if (why)
            return rw_fail_io(ctx, why, "a thread for rank %d of %d: no memory for it, or too many",
                              r, group->n_ranks);
        member->is_started = 1;
    }
    return RW_OK;
}

/* The lowest rank's that knows its cause: the others failed because of it. */
static int find_failure(const struct group *group, struct rw_ctx *ctx)
{
    const struct member *found = NULL;
    for (int r = 0; r < group->n_ranks; r++) {
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
    for (int r = 0; r < group->n_ranks; r++) {
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

int rw_ranks_run(struct rw_ctx *ctx, int n_ranks, rw_rank_fn body, void *user)
{
    const int n_threads = ctx->n_threads;
    struct rw_comm *comm = ctx->comm;
    /* where each rank has a processor */
    struct group group = {.n_ranks = n_ranks, .spins = n_ranks <= rw_processors() ? SPINS : 0};
    if (n_ranks < 1 || n_ranks > RW_MAX_RANKS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d ranks; expected 1 to %d", n_ranks, RW_MAX_RANKS);
    int status;
    RW_TRY(RW_NEW(ctx, group.member, (size_t)n_ranks));
    pthread_mutex_init(&group.mutex, NULL);
    pthread_cond_init(&group.all_came, NULL);
    for (int r = 0; r < n_ranks; r++)
        group.member[r] = (struct member){.group = &group, .rank = r, .body = body, .user = user};
    RW_TRY_OUT(make_members(&group, ctx, n_threads / n_ranks > 1 ? n_threads / n_ranks : 1));
    status = start_members(&group, ctx);
    if (status < 0)
        thread_abort(&group.member[0]);
    else
        run_member(&group.member[0]);
    for (int r = 1; r < n_ranks; r++) {
        if (group.member[r].is_started)
            pthread_join(group.member[r].thread, NULL);
    }
    status = status < 0 ? status : find_failure(&group, ctx);
out:
    release_members(&group, ctx, n_threads, comm);
    return status;
}
