/* How fast the device reads the host's memory. */
#include "gpu/device/link.h"

#include <string.h>

#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"
#include "gpu/device/transfer.h"

enum { RUNS = 5 };
#define COPIED_BYTES   ((size_t)1 << 25)
#define GATHERED_BYTES ((size_t)1 << 30)

struct link_run {
    struct rw_ctx *ctx;
    const struct rw_device *device;
    void *from, *d_to;
    size_t bytes;
};

static int copy(void *user)
{
    const struct link_run *run = user;
    return rw_transfer_write_pinned(run->ctx, run->device, run->d_to, run->from, run->bytes);
}

static int gather(void *user)
{
    const struct link_run *run = user;
    RW_CU(run->ctx, (cudaError_t)rw_cuda_link_gather(
                        run->from, run->bytes / RW_LINK_ROW_BYTES / RW_LINK_STEP,
                        run->device->n_multiprocessors, run->d_to, run->device->stream));
    return RW_OK;
}

/* from_bytes: of the host's memory; bytes: that a run reads of them. */
static int time_link(struct rw_ctx *ctx, const struct rw_device *device, size_t from_bytes,
                     size_t bytes, size_t to_bytes, int (*run)(void *user), double *rate)
{
    struct link_run link = {.ctx = ctx, .device = device, .bytes = from_bytes};
    double ms = 0.0, least, most;
    int status = RW_OK;
    RW_TRY_OUT(rw_transfer_pinned_alloc(ctx, &link.from, from_bytes));
    memset(link.from, 1, from_bytes);
    RW_TRY_OUT(rw_device_alloc(ctx, &link.d_to, to_bytes));
    RW_TRY_OUT(rw_device_time(ctx, device, RUNS, run, &link, &ms, &least, &most));
    *rate = (double)bytes / (ms / 1e3);
out:
    rw_transfer_pinned_free(link.from);
    rw_device_free(link.d_to);
    return status;
}

int rw_device_link_rate(struct rw_ctx *ctx, const struct rw_device *device, double *rate)
{
    *rate = 0.0;
    return time_link(ctx, device, COPIED_BYTES, COPIED_BYTES, COPIED_BYTES, copy, rate);
}

int rw_device_link(struct rw_ctx *ctx, int number, double *copied, double *gathered)
{
    struct rw_device *device;
    *copied = *gathered = 0.0;
    RW_TRY(rw_device_open(ctx, number, &device));
    int status = rw_device_link_rate(ctx, device, copied);
    if (status >= 0)
        status = time_link(ctx, device, GATHERED_BYTES, GATHERED_BYTES / RW_LINK_STEP,
                           rw_cuda_link_bytes(device->n_multiprocessors), gather, gathered);
    rw_device_close(device);
    return status;
}
