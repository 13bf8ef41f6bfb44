/* Ranks that each have a GPU of their own, through NCCL: a communicator of the device. The library
 * is opened when it is wanted, so that nothing here is linked to it; what is known of it stands in
 * its documentation (docs.nvidia.com/deeplearning/nccl), "API" and "types".
 *
 * NCCL waits for ranks that are gone. So all waits are bounded: the beginning by a time, and what
 * is enqueued by rw_nccl_watch, which whoever waits for the device asks from time to time. */
#ifndef RW_GPU_NCCL_H
#define RW_GPU_NCCL_H

#include "comm/comm.h"
#include "gpu/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All ranks of the context's communicator call it, each with its device, on the thread that uses
 * the device. RW_ERR_UNSUPPORTED, on all of them: a rank has no NCCL, or two have one GPU. NVLink
 * multicast stays off unless NCCL_NVLS_ENABLE is set. RANKWOOD_NCCL=FILE: the library. */
int rw_nccl_open(struct rw_ctx *ctx, const struct rw_device *device, struct rw_comm **out);

/* For a wait that has taken so long: RW_OK, or, once a rank is known to have failed, or too much
 * time has passed, RW_ERR_MACHINE, after which nothing that was enqueued is waited for any more. */
int rw_nccl_watch(struct rw_ctx *ctx, struct rw_comm *comm, double waited_s);

/* Is there an NCCL? text: the file that it was read from, or why there is none. */
int rw_nccl_find(char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
