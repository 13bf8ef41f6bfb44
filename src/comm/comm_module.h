/* What a library that carries bytes, one that rw_comm_open opens at run time, has in common with
 * this one. It is linked to an MPI, say, and not to Rankwood. */
#ifndef RW_COMM_COMM_MODULE_H
#define RW_COMM_COMM_MODULE_H

#include "rankwood.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A communicator as the library makes it: see struct rw_comm. */
struct rw_comm_module {
    struct rw_comm_functions functions;
    void *user;
    void (*close)(void *user, int exit_status);
    int rank, n_ranks, local_rank;
};

/* What the library exports, under a name that changes with struct rw_comm_module. Returns 0, or 1
 * with the reason in `why`, [size]. */
#define RW_COMM_MODULE_OPEN rankwood_comm_open_1
typedef int rw_comm_module_fn(struct rw_comm_module *out, char *why, size_t size);
RW_API rw_comm_module_fn RW_COMM_MODULE_OPEN;

#ifdef __cplusplus
}
#endif
#endif
