/* An NCCL whose communicators begin, and whose first sum fails: RANKWOOD_NCCL names it. */
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INTERNAL_ERROR = 3 };

struct id {
    char internal[128];
};

int ncclGetUniqueId(struct id *out);
int ncclCommInitRank(void **out, int n_workers, struct id id, int rank);
int ncclCommDestroy(void *comm);
int ncclCommAbort(void *comm);
int ncclCommGetAsyncError(void *comm, int *out);
const char *ncclGetErrorString(int result);
int ncclAllReduce(void);
int ncclReduceScatter(void);

int ncclGetUniqueId(struct id *out)
{
    memset(out, 1, sizeof(*out));
    return SUCCESS;
}

int ncclCommInitRank(void **out, int n_workers, struct id id, int rank)
{
    (void)n_workers;
    (void)id;
    (void)rank;
    *out = malloc(64);
    return SUCCESS;
}

/* Twice for the same: the C library ends the process. */
int ncclCommAbort(void *comm)
{
    free(comm);
    return SUCCESS;
}

int ncclCommDestroy(void *comm)
{
    return ncclCommAbort(comm);
}

int ncclCommGetAsyncError(void *comm, int *out)
{
    (void)comm;
    *out = SUCCESS;
    return SUCCESS;
}

const char *ncclGetErrorString(int result)
{
    (void)result;
    return "the stub adds nothing";
}

int ncclAllReduce(void)
{
    return INTERNAL_ERROR;
}

int ncclReduceScatter(void)
{
    return INTERNAL_ERROR;
}
