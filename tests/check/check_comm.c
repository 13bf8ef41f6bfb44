/* Tests the calls of workers: threads of this process, or this process as one of several workers.
 *
 *   check_comm                      1 to 8 threads
 *   mpirun -n N check_comm mpi      every call, twice over
 *   mpirun -n N check_comm agree    worker 1 fails before an exchange: exit 1, one message
 *   mpirun -n N check_comm give-up  worker 1 fails while others wait for it: exit 1
 *   mpirun -n N check_comm leave    worker 1 exits without a report: the launcher ends the others
 *   mpirun -n N check_comm killed   the same by SIGKILL
 *   mpirun -n N check_comm rest     a waiting worker does not keep its processor busy
 *   mpirun -n N check_comm over     MPI that the program has finalized cannot start again
 *   check_comm launched             the number of workers that the launcher has started
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/ctx.h"
#include "comm_calls.h"

static struct rw_ctx *ctx;

static int complain(int status)
{
    fprintf(stderr, "error: %s\n", rw_last_error(ctx));
    return status < 0 ? 1 : status;
}

/* ---- threads ---- */

struct checked {
    int n_wrong[8];
    char what[8][100];
};

static int check_worker(void *user, struct rw_ctx *mine, int worker)
{
    struct checked *checked = user;
    checked->n_wrong[worker] =
        comm_calls(mine, checked->what[worker], sizeof(checked->what[worker]));
    return checked->n_wrong[worker] < 0 ? checked->n_wrong[worker] : RW_OK;
}

/* One worker gives up while the others are somewhere in their calls. */
static int give_up_at(void *user, struct rw_ctx *mine, int worker)
{
    uint64_t one[3] = {1, 2, 3};
    const int last = *(int *)user;
    for (int i = 0; i < 20; i++) {
        if (worker == 1 && i == last)
            return rw_comm_give_up(mine, rw_fail(mine, RW_ERR_DATA, "bad data"));
        RW_TRY(rw_comm_sum(mine, one, 3));
    }
    return RW_OK;
}

static int check_threads(void)
{
    for (int n_workers = 1; n_workers <= 8; n_workers++) {
        struct checked checked = {.n_wrong = {0}};
        if (rw_workers_run(ctx, n_workers, check_worker, &checked) < 0)
            return complain(1);
        for (int r = 0; r < n_workers; r++) {
            if (checked.n_wrong[r] != 0) {
                printf("not ok: %s\n", checked.what[r]);
                return 1;
            }
        }
        for (int i = 0; i < 20 && n_workers > 1; i++) {
            if (rw_workers_run(ctx, n_workers, give_up_at, &i) != RW_ERR_DATA ||
                strcmp(rw_last_error(ctx), "worker 1: bad data") != 0)
                return complain(1);
        }
    }
    printf("threads: all calls of 1 to 8 workers\n");
    return 0;
}

/* ---- MPI ---- */

static int check_mpi(struct rw_comm *comm)
{
    char what[100];
    uint64_t n_wrong = 0;
    for (int i = 0; i < 2; i++) {
        const int status = comm_calls(ctx, what, sizeof(what));
        if (status < 0)
            return complain(status);
        if (status > 0)
            printf("not ok: %s\n", what);
        n_wrong += (uint64_t)status;
    }
    if (rw_comm_sum(ctx, &n_wrong, 1) < 0)
        return complain(1);
    if (comm->worker == 0 && n_wrong == 0)
        printf("mpi: all calls of %d workers\n", comm->n_workers);
    return n_wrong != 0;
}

/* In the middle of the others' calls. */
static int fail(struct rw_comm *comm, const char *how)
{
    uint64_t one = 1;
    if (rw_comm_sum(ctx, &one, 1) < 0)
        return complain(1);
    const int fails = comm->worker == 1;
    int status = fails ? rw_fail(ctx, RW_ERR_DATA, "label 7 is bad") : RW_OK;
    if (strcmp(how, "agree") == 0) {
        status = rw_comm_agree(ctx, status);
        return status < 0 && comm->worker == 0 ? complain(1) : 1;
    }
    if (fails && strcmp(how, "leave") == 0)
        _exit(4);
    if (fails && strcmp(how, "killed") == 0)
        raise(SIGKILL);
    if (fails)
        return complain(rw_comm_give_up(ctx, status));
    status = rw_comm_sum(ctx, &one, 1);
    return status < 0 ? complain(status) : 0;
}

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
}

static int rest(struct rw_comm *comm)
{
    uint64_t one = 1;
    if (rw_comm_sum(ctx, &one, 1) < 0)
        return complain(1);
    const double before = cpu_seconds();
    if (comm->worker == 0)
        sleep(2);
    if (rw_comm_sum(ctx, &one, 1) < 0)
        return complain(1);
    const double used = cpu_seconds() - before;
    if (used > 0.4)
        printf("not ok: worker %d used %.2f s of its processor in 2 s of waiting\n", comm->worker,
               used);
    return used > 0.4;
}

/* The communicator is closed, and MPI with it. */
static int over(struct rw_comm *comm)
{
    static const char expected[] = "MPI has been finalised in this process and cannot begin again";
    int (*finalise)(void);
    void *symbol = dlsym(RTLD_DEFAULT, "MPI_Finalize"); /* the module's */
    rw_comm_free(comm);
    memcpy(&finalise, &symbol, sizeof(finalise));
    if (!symbol || finalise() != 0)
        return 1;
    return rw_comm_open(ctx, "mpi", &comm) >= 0 || strcmp(rw_last_error(ctx), expected) != 0;
}

static int check_process(const char *what)
{
    struct rw_comm *comm;
    if (rw_comm_open(ctx, "mpi", &comm) < 0)
        return complain(1);
    if (strcmp(what, "over") == 0)
        return over(comm);
    rw_ctx_set_comm(ctx, comm);
    const int result = strcmp(what, "mpi") == 0    ? check_mpi(comm)
                       : strcmp(what, "rest") == 0 ? rest(comm)
                                                   : fail(comm, what);
    rw_ctx_set_comm(ctx, NULL);
    rw_comm_free(comm);
    return result;
}

int main(int argc, char **argv)
{
    int result;
    const char *what = argc > 1 ? argv[1] : "threads";
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    if (strcmp(what, "threads") == 0) {
        result = check_threads();
    } else if (strcmp(what, "launched") == 0) {
        printf("%d\n", rw_comm_launched());
        result = 0;
    } else {
        result = check_process(what);
        if (result == 0 && strcmp(what, "mpi") == 0) /* a process may do so again */
            result = check_process(what);
    }
    rw_ctx_free(ctx);
    return result;
}
