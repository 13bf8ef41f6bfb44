#include <criterion/criterion.h>
#include <stdatomic.h>
#include <unistd.h>

#include "../check/comm_calls.h"
#include "base/mem.h"
#include "each.h"

/* A call that never ends fails the test. */
TestSuite(comm, .timeout = 60);

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_ctx_set_threads(ctx, 5), RW_OK);
}

static void teardown(void)
{
    cr_assert_null(ctx->comm);
    cr_assert_eq(ctx->n_threads, 5);
    rw_ctx_free(ctx);
}

/* ---- what ranks have together ---- */

struct checked {
    int n_wrong[8];
    char what[8][100];
};

static int check_calls(void *user, struct rw_ctx *mine, int rank)
{
    struct checked *checked = user;
    checked->n_wrong[rank] = comm_calls(mine, checked->what[rank], sizeof(checked->what[rank]));
    return checked->n_wrong[rank] < 0 ? checked->n_wrong[rank] : RW_OK;
}

Test(comm, calls_of_one_to_eight_threads, .init = setup, .fini = teardown)
{
    for (int n_workers = 1; n_workers <= 8; n_workers += EACH(3)) {
        struct checked checked = {.n_wrong = {0}};
        cr_assert_eq(rw_workers_run(ctx, n_workers, check_calls, &checked), RW_OK, "%s",
                     rw_last_error(ctx));
        for (int r = 0; r < n_workers; r++)
            cr_assert_eq(checked.n_wrong[r], 0, "%s", checked.what[r]);
    }
}

Test(comm, without_a_communicator_a_rank_is_alone, .init = setup, .fini = teardown)
{
    struct checked checked = {.n_wrong = {0}};
    cr_assert_eq(check_calls(&checked, ctx, 0), RW_OK);
    cr_assert_eq(checked.n_wrong[0], 0, "%s", checked.what[0]);
    cr_assert_eq(rw_worker(ctx), 0);
    cr_assert_eq(rw_n_workers(ctx), 1);
    rw_fail(ctx, RW_ERR_DATA, "bad data");
    cr_assert_eq(rw_comm_agree(ctx, RW_ERR_DATA), RW_ERR_DATA);
    cr_assert_eq(rw_comm_give_up(ctx, RW_ERR_DATA), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(ctx), "bad data");
}

static int count_bytes(void *user, struct rw_ctx *mine, int rank)
{
    uint64_t *sent = user, buffer[4 * 100];
    memset(buffer, 0, sizeof(buffer));
    RW_TRY(rw_comm_sum(mine, buffer, 100));
    RW_TRY(rw_comm_reduce_scatter(mine, buffer, buffer + 100, 10, RW_COMM_U64));
    RW_TRY(rw_comm_all_gather(mine, buffer, buffer + 100, 7));
    sent[rank] = mine->comm->bytes_sent;
    return RW_OK;
}

Test(comm, bytes_sent_are_counted, .init = setup, .fini = teardown)
{
    uint64_t sent[4] = {0};
    cr_assert_eq(rw_workers_run(ctx, 4, count_bytes, sent), RW_OK);
    for (int r = 0; r < 4; r++)
        cr_assert_eq(sent[r], 2 * 800 * 3 / 4 + 3 * 80 + 3 * 7);
}

/* ---- failures ---- */

struct failure {
    unsigned failing; /* bit r: rank r fails */
    int how;          /* 0: meets the others in rw_comm_agree; 1: ends at once; 2: gives up */
    int status[8];
    char message[8][200];
};

static int fail_some(void *user, struct rw_ctx *mine, int rank)
{
    struct failure *failure = user;
    uint64_t one = 1;
    int status = rw_comm_sum(mine, &one, 1);
    if (status == RW_OK && failure->failing >> rank & 1)
        status = rw_fail(mine, RW_ERR_DATA - rank % 2, "label %d is bad", rank);
    if (failure->how == 0)
        status = rw_comm_agree(mine, status);
    else if (failure->how == 1 && status < 0)
        return status;
    else
        status = rw_comm_give_up(mine, status);
    /* all calls fail from now on */
    for (int i = 0; i < 3 && failure->failing; i++) {
        const int sum = rw_comm_sum(mine, &one, 1);
        cr_assert_lt(sum, 0);
        status = status < 0 ? status : sum;
        cr_assert_lt(rw_comm_agree(mine, RW_OK), 0);
    }
    failure->status[rank] = status;
    snprintf(failure->message[rank], sizeof(failure->message[rank]), "%s", rw_last_error(mine));
    return status;
}

Test(comm, all_agree_on_the_lowest_rank_that_failed, .init = setup, .fini = teardown)
{
    for (int n_workers = 2; n_workers <= 8; n_workers++) {
        for (int lowest = 0; lowest < n_workers; lowest++) {
            struct failure failure = {.failing = 1u << lowest | 1u << (n_workers - 1), .how = 0};
            char message[200];
            snprintf(message, sizeof(message), "worker %d: label %d is bad", lowest, lowest);
            cr_assert_eq(rw_workers_run(ctx, n_workers, fail_some, &failure),
                         RW_ERR_DATA - lowest % 2);
            cr_assert_str_eq(rw_last_error(ctx), message);
            for (int r = 0; r < n_workers; r++) {
                cr_assert_eq(failure.status[r], RW_ERR_DATA - lowest % 2);
                cr_assert_str_eq(failure.message[r], message);
            }
        }
    }
}

Test(comm, no_worker_waits_for_a_failed_worker, .init = setup, .fini = teardown)
{
    for (int n_workers = 2; n_workers <= 8; n_workers++) {
        for (int lost = 0; lost < 2 * n_workers; lost++) {
            const int rank = lost / 2;
            struct failure failure = {.failing = 1u << rank, .how = 1 + lost % 2};
            char message[200];
            snprintf(message, sizeof(message), "worker %d: label %d is bad", rank, rank);
            cr_assert_eq(rw_workers_run(ctx, n_workers, fail_some, &failure),
                         RW_ERR_DATA - rank % 2);
            cr_assert_str_eq(rw_last_error(ctx), message);
            for (int r = 0; r < n_workers; r++) {
                if (r == rank)
                    continue;
                cr_assert_eq(failure.status[r], RW_ERR_MACHINE);
                snprintf(message, sizeof(message),
                         "another worker failed or cannot be reached (%d workers, threads)",
                         n_workers);
                cr_assert_str_eq(failure.message[r], message);
            }
        }
    }
}

/* Rank 1 fails; the others look, and make no calls. */
static int look(void *user, struct rw_ctx *mine, int rank)
{
    atomic_int *n_looking = user;
    cr_assert_eq(rw_local_worker(mine), rank);
    cr_assert_eq(rw_comm_has_failed(mine), 0);
    ++*n_looking;
    while (rank == 1 && *n_looking < 3)
        usleep(100);
    if (rank == 1)
        return rw_fail(mine, RW_ERR_DATA, "bad data");
    while (!rw_comm_has_failed(mine))
        usleep(100);
    return RW_OK;
}

Test(comm, a_failure_is_seen_without_a_call, .init = setup, .fini = teardown)
{
    atomic_int n_looking = 0;
    cr_assert_eq(rw_workers_run(ctx, 3, look, &n_looking), RW_ERR_DATA);
    cr_assert_str_eq(rw_last_error(ctx), "worker 1: bad data");
    cr_assert_eq(rw_comm_has_failed(ctx), 0);
}

/* Rank 1 ends without a failure while the others have calls to make. */
static int end_early(void *user, struct rw_ctx *mine, int rank)
{
    uint64_t one = 1;
    (void)user;
    for (int i = 0; i < 3 && !(rank == 1 && i == 1); i++)
        RW_TRY(rw_comm_sum(mine, &one, 1));
    return RW_OK;
}

Test(comm, no_worker_waits_for_a_worker_that_has_ended, .init = setup, .fini = teardown)
{
    cr_assert_eq(rw_workers_run(ctx, 3, end_early, NULL), RW_ERR_MACHINE);
    cr_assert_not_null(strstr(rw_last_error(ctx), "another worker failed or cannot be reached (3 workers"));
}

/* ---- runs ---- */

struct seen {
    atomic_int n_bodies, n_logs;
    struct rw_ctx *ctx[3];
    int n_threads[3];
};

static int see(void *user, struct rw_ctx *mine, int rank)
{
    struct seen *seen = user;
    seen->ctx[rank] = mine;
    seen->n_threads[rank] = mine->n_threads;
    seen->n_bodies++;
    rw_log(mine, RW_LOG_NOTE, "here");
    cr_assert_eq(rw_workers_number(mine), rank);
    cr_assert_eq(rw_workers_count(mine), 3);
    return rank; /* more than 0 is no failure */
}

static void count_logs(void *user, enum rw_log_level level, const char *line)
{
    (void)level, (void)line;
    ((struct seen *)user)->n_logs++;
}

Test(comm, workers_have_contexts_and_threads, .init = setup, .fini = teardown)
{
    struct seen seen = {.n_bodies = 0};
    rw_ctx_set_log(ctx, count_logs, &seen);
    for (int threads = 1; threads <= 7; threads++) {
        cr_assert_eq(rw_ctx_set_threads(ctx, threads), RW_OK);
        cr_assert_eq(rw_workers_run(ctx, 3, see, &seen), RW_OK);
        cr_assert_eq(ctx->n_threads, threads);
        for (int r = 0; r < 3; r++)
            cr_assert_eq(seen.n_threads[r], threads < 3 ? 1 : threads / 3);
    }
    cr_assert_eq(seen.n_bodies, 21);
    cr_assert_eq(seen.n_logs, 7);
    cr_assert(seen.ctx[0] == ctx);
    cr_assert(seen.ctx[1] != ctx && seen.ctx[2] != ctx && seen.ctx[1] != seen.ctx[2]);
    rw_ctx_set_threads(ctx, 5);
}

Test(comm, numbers_of_workers, .init = setup, .fini = teardown)
{
    struct seen seen = {.n_bodies = 0};
    cr_assert_eq(rw_workers_run(ctx, 0, see, &seen), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_workers_run(ctx, RW_MAX_WORKERS + 1, see, &seen), RW_ERR_ARGUMENT);
    cr_assert_eq(seen.n_bodies, 0);
    cr_assert_str_eq(rw_last_error(ctx), "invalid number of workers 65537: expected 1 to 65536");
}

static int end_well(void *user, struct rw_ctx *mine, int rank)
{
    (void)rank;
    ++*(atomic_int *)user;
    return rw_comm_agree(mine, RW_OK);
}

Test(comm, no_memory_for_workers, .init = setup, .fini = teardown)
{
    atomic_int n_bodies = 0;
    int status = RW_ERR_MEMORY;
    long n = 0;
    while (status == RW_ERR_MEMORY) {
        rw_mem_fail_from(++n);
        status = rw_workers_run(ctx, 4, end_well, &n_bodies);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || n_bodies == 0);
    }
    cr_assert_eq(status, RW_OK);
    cr_assert_eq(n_bodies, 4);
    cr_assert_gt(n, 4);
}

/* ---- the caller's own functions ---- */

/* A caller's functions: those of another communicator, with a count of calls and a failing call. */
struct own {
    struct rw_comm *inner;
    int n_calls, failing;
};

static int failed(struct own *own)
{
    return ++own->n_calls == own->failing;
}

static int own_all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type,
                          enum rw_comm_op op, void *stream)
{
    struct own *own = user;
    struct rw_comm *inner = own->inner;
    cr_assert_null(stream);
    return failed(own) ||
           inner->functions.all_reduce(inner->user, buffer, n, type, op, stream) != 0;
}

static int own_reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                              enum rw_comm_type type, void *stream)
{
    struct own *own = user;
    struct rw_comm *inner = own->inner;
    return failed(own) ||
           inner->functions.reduce_scatter(inner->user, send, recv, n_each, type, stream) != 0;
}

static int own_all_gather(void *user, const void *send, void *recv, size_t bytes, void *stream)
{
    struct own *own = user;
    struct rw_comm *inner = own->inner;
    return failed(own) || inner->functions.all_gather(inner->user, send, recv, bytes, stream) != 0;
}

static int own_all_to_all(void *user, const void *send, const size_t *n_send, void *recv,
                          const size_t *n_recv)
{
    struct own *own = user;
    struct rw_comm *inner = own->inner;
    return failed(own) || inner->functions.all_to_all(inner->user, send, n_send, recv, n_recv) != 0;
}

static const struct rw_comm_functions own_functions = {.name = "own",
                                                       .all_reduce = own_all_reduce,
                                                       .reduce_scatter = own_reduce_scatter,
                                                       .all_gather = own_all_gather,
                                                       .all_to_all = own_all_to_all};

/* A context of its own, too, with the caller's communicator over the rank's. */
static int run_own(void *user, struct rw_ctx *mine, int rank)
{
    struct checked *checked = user;
    struct own own = {.inner = mine->comm};
    struct rw_ctx *other;
    struct rw_comm *comm;
    cr_assert_eq(rw_ctx_new(&other), RW_OK);
    cr_assert_eq(rw_comm_new(other, &own_functions, &own, rank, rw_n_workers(mine), &comm), RW_OK);
    cr_assert_eq(rw_ctx_set_comm(other, comm), RW_OK);
    const int status = check_calls(checked, other, rank);
    cr_assert_eq(rw_ctx_set_comm(other, NULL), RW_OK);
    rw_comm_free(comm);
    rw_ctx_free(other);
    cr_assert_gt(own.n_calls, 100);
    return status;
}

Test(comm, functions_of_the_callers, .init = setup, .fini = teardown)
{
    struct checked checked = {.n_wrong = {0}};
    cr_assert_eq(rw_workers_run(ctx, 3, run_own, &checked), RW_OK, "%s", rw_last_error(ctx));
    for (int r = 0; r < 3; r++)
        cr_assert_eq(checked.n_wrong[r], 0, "%s", checked.what[r]);
}

static int fail_own(void *user, struct rw_ctx *mine, int rank)
{
    struct own own = {.inner = mine->comm, .failing = rank == 1 ? *(int *)user : 0};
    struct rw_comm *comm;
    struct rw_ctx *other;
    uint64_t one = 1;
    int status = RW_OK;
    cr_assert_eq(rw_ctx_new(&other), RW_OK);
    cr_assert_eq(rw_comm_new(other, &own_functions, &own, rank, 2, &comm), RW_OK);
    cr_assert_eq(rw_ctx_set_comm(other, comm), RW_OK);
    for (int i = 0; i < 5 && status == RW_OK; i++)
        status = rw_comm_sum(other, &one, 1);
    cr_assert_eq(status, RW_ERR_MACHINE);
    cr_assert_eq(rank == 1 ? own.n_calls : *(int *)user, *(int *)user); /* and no more of them */
    rw_fail(mine, status, "%s", rw_last_error(other));
    rw_comm_free(comm);
    rw_ctx_free(other);
    return status;
}

Test(comm, functions_of_the_callers_that_fail, .init = setup, .fini = teardown)
{
    for (int failing = 1; failing <= 5; failing++) {
        cr_assert_eq(rw_workers_run(ctx, 2, fail_own, &failing), RW_ERR_MACHINE);
        cr_assert_not_null(strstr(rw_last_error(ctx), "another worker failed or cannot be reached (2 workers"));
    }
}

Test(comm, functions_that_lack_one, .init = setup, .fini = teardown)
{
    struct rw_comm_functions functions = own_functions;
    struct rw_comm *comm;
    functions.all_to_all = NULL;
    cr_assert_eq(rw_comm_new(ctx, &functions, NULL, 0, 2, &comm), RW_ERR_ARGUMENT);
    cr_assert_null(comm);
    functions.all_to_all = own_functions.all_to_all;
    functions.all_gather = NULL;
    cr_assert_eq(rw_comm_new(ctx, &functions, NULL, 0, 2, &comm), RW_ERR_ARGUMENT);
    functions.all_to_all = NULL;
    functions.device = 1; /* needs neither */
    cr_assert_eq(rw_comm_new(ctx, &functions, NULL, 0, 2, &comm), RW_OK);
    cr_assert_eq(rw_ctx_set_comm(ctx, comm), RW_ERR_ARGUMENT);
    rw_comm_free(comm);
    cr_assert_eq(rw_comm_new(ctx, &own_functions, NULL, 2, 2, &comm), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_comm_new(ctx, &own_functions, NULL, -1, 2, &comm), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_comm_new(ctx, &own_functions, NULL, 0, 0, &comm), RW_ERR_ARGUMENT);
}

static void keep_status(void *user, int exit_status)
{
    *(int *)user = exit_status;
}

/* The exit status for a launcher: 3 if trying again may help, 0 if each worker ends on its own. */
Test(comm, exit_statuses, .init = setup, .fini = teardown)
{
    static const int cases[][4] = {/* has_failed, all_know, failure, status */
                                   {0, 0, 0, 0},
                                   {1, 1, RW_ERR_MEMORY, 0},
                                   {1, 0, RW_ERR_DATA, 1},
                                   {1, 0, RW_ERR_MEMORY, 3},
                                   {1, 0, RW_ERR_MACHINE, 3}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int status = -1;
        struct rw_comm *comm;
        cr_assert_eq(rw_comm_new(ctx, &own_functions, &status, 0, 2, &comm), RW_OK);
        comm->close = keep_status;
        comm->has_failed = cases[i][0];
        comm->all_know = cases[i][1];
        comm->failure = cases[i][2];
        rw_comm_free(comm);
        cr_assert_eq(status, cases[i][3], "case %zu: %d", i, status);
    }
}
